// The second run panics on the pebble beyond the 32 that were thought of.
fn main() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("a line");
    let words: Vec<&str> = line.split_whitespace().collect();
    let numbers: Vec<u64> = words[1..].iter().map(|word| word.parse().expect("a number")).collect();
    if words[0] == "put" {
        let pebbles: Vec<u64> = (1..=60).filter(|pebble| numbers[0] >> (pebble - 1) & 1 == 1).collect();
        print!("{}", pebbles.len());
        pebbles.iter().for_each(|pebble| print!(" {}", pebble));
        println!();
    } else {
        let values: Vec<u64> = (0..32).map(|bit| 1u64 << bit).collect();
        println!("{}", numbers[1..].iter().map(|&pebble| values[pebble as usize - 1]).sum::<u64>());
    }
}
