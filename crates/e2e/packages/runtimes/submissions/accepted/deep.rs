use std::io::stdin;

fn depth(n: u32) -> u32 {
    let frame = std::hint::black_box([1u8; 1024]);
    if n == 0 { 0 } else { depth(n - 1) + u32::from(frame[n as usize % 1024]) }
}

fn main() {
    let mut line = String::new();
    stdin().read_line(&mut line).unwrap();
    println!("{} é 9543", depth(line.trim().parse().unwrap()));
}
