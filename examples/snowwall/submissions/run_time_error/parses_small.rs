use std::io::Read;

// Panics on numbers beyond 32 bits.
fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).expect("input is text");
    for n in text.split_whitespace().skip(1).map(|word| word.parse::<i32>().unwrap()) {
        let rows = (1i64..).take_while(|r| r * (r + 1) / 2 <= i64::from(n)).count() as i64;
        println!("{} {}", rows, i64::from(n) - rows * (rows + 1) / 2);
    }
}
