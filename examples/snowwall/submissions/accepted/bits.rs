use std::io::Read;

fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).expect("input is text");
    for n in text.split_whitespace().skip(1).map(|word| word.parse::<u64>().expect("a number")) {
        let rows = (0..31).rev().fold(0u64, |rows, bit| {
            let tried = rows | 1 << bit;
            if tried * (tried + 1) / 2 <= n { tried } else { rows }
        });
        println!("{} {}", rows, n - rows * (rows + 1) / 2);
    }
}
