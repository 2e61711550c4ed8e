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
        println!("{}", numbers[1..].iter().map(|pebble| 1u64 << (pebble - 1)).sum::<u64>());
    }
}
