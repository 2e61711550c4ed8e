//! tauto
fn main() {}
