//! Two fixed programs whose runs tell how far times stray in a slot: one that only computes, one that waits for memory.
//! They run in the sandbox as submissions do, so that what is measured is what submissions meet.

use std::hint::black_box;

/// Rounds of the computing one: about a tenth of a second at 3 GHz.
const ROUNDS: u64 = 75_000_000;
/// Numbers of the sieve of the other: 64 MiB, more than the last-level cache share of most cores.
const NUMBERS: usize = 16 << 20;

/// Multiplies and shifts without touching memory (xorshift64*; Vigna, 2016). Returns a number that depends on all rounds.
pub fn compute() -> u64 {
    let mut x = black_box(88_172_645_463_325_252_u64);
    for _ in 0..ROUNDS {
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        x = x.wrapping_mul(2_685_821_657_736_338_717);
    }
    x
}

/// A sieve of Eratosthenes over integers of four bytes: strides through memory that caches do not help. Returns the number
/// of primes.
pub fn memory() -> u64 {
    let mut sieve = vec![1u32; black_box(NUMBERS)];
    for i in (2..).take_while(|i| i * i < NUMBERS) {
        if sieve[i] == 1 {
            (i * i..NUMBERS).step_by(i).for_each(|j| sieve[j] = 0);
        }
    }
    sieve[2..].iter().map(|prime| u64::from(*prime)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_do_what_they_say() {
        // Primes below 2^24: OEIS A007053.
        assert_eq!(memory(), 1_077_871);
        assert_eq!(compute(), compute());
        assert_ne!(compute(), 88_172_645_463_325_252);
    }
}
