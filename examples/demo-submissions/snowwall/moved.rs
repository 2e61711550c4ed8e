fn main() {
    let wall = vec![1u64, 3, 6];
    let garage = wall;
    println!("{}", wall.len() + garage.len());
}
