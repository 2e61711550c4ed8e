// u64 modular arithmetic: factorials, inverses and binomial sums modulo a prime.
const P: u64 = 998_244_353;

fn power(mut b: u64, mut e: u64) -> u64 {
    let mut r = 1;
    b %= P;
    while e > 0 {
        if e & 1 == 1 {
            r = r * b % P;
        }
        b = b * b % P;
        e >>= 1;
    }
    r
}

fn main() {
    let n = 2_000_000usize;
    let mut fact = vec![1u64; n + 1];
    for i in 1..=n {
        fact[i] = fact[i - 1] * i as u64 % P;
    }
    let mut inv = vec![1u64; n + 1];
    inv[n] = power(fact[n], P - 2);
    for i in (0..n).rev() {
        inv[i] = inv[i + 1] * (i as u64 + 1) % P;
    }
    let mut h = 0u64;
    for row in 0..60 {
        let m = n - row * 1000;
        for k in 0..=m {
            let c = fact[m] * inv[k] % P * inv[m - k] % P;
            h = (h * 3 + c * c) % P;
        }
    }
    println!("{}", h);
}
