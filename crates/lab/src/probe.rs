//! Two fixed programs whose runs tell how far times stray in a slot: one that only computes, one that waits for memory.
//! They run in the sandbox as submissions do, so that what is measured is what submissions meet.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Rounds of the computing one: about a tenth of a second at 3 GHz.
const ROUNDS: u64 = 75_000_000;
/// Numbers of the sieve of the other: 64 MiB, more than the last-level cache share of most cores.
const NUMBERS: usize = 16 << 20;

/// Turns of the loop over counters: a few milliseconds.
const TURNS: u32 = 1_000_000;

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

/// Counters of [`toy`], side by side as in the published program.
static COUNTERS: [AtomicU32; 3] = [const { AtomicU32::new(0) }; 3];

/// Adds a step on the stack to three static counters, again and again, every value read from memory and written back, as
/// compilers do it without optimisation. A processor that takes an address for another one with the same last twelve bits
/// makes the loop wait where the stack comes to lie like the counters (Mytkowicz et al., ASPLOS 2009, section 4). Returns the sum.
pub fn toy() -> u64 {
    let (turn, step) = (AtomicU32::new(0), AtomicU32::new(1));
    // Somebody else might look: so they stay in memory.
    black_box((&turn, &step));
    while turn.load(Relaxed) < TURNS {
        for counter in &COUNTERS {
            counter.store(counter.load(Relaxed) + step.load(Relaxed), Relaxed);
        }
        turn.store(turn.load(Relaxed) + 1, Relaxed);
    }
    COUNTERS.iter().map(|counter| u64::from(counter.load(Relaxed))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_do_what_they_say() {
        // Primes below 2^24: OEIS A007053.
        assert_eq!(memory(), 1_077_871);
        assert_eq!(toy(), 3_000_000);
        assert_eq!(compute(), compute());
        assert_ne!(compute(), 88_172_645_463_325_252);
    }
}
