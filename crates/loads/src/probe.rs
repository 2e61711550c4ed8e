//! Two fixed programs whose runs tell how far times vary in a slot: one that only computes, one that waits for memory.
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

/// [`sieve`] over [`NUMBERS`].
pub fn memory() -> u64 {
    sieve(NUMBERS)
}

/// A sieve of Eratosthenes over integers of four bytes: strides through memory that caches do not help. Returns the number
/// of primes below `numbers`.
pub fn sieve(numbers: usize) -> u64 {
    let numbers = black_box(numbers);
    let mut sieve = vec![1u32; numbers];
    for i in (2..).take_while(|i| i * i < numbers) {
        if sieve[i] == 1 {
            (i * i..numbers).step_by(i).for_each(|j| sieve[j] = 0);
        }
    }
    sieve.iter().skip(2).map(|prime| u64::from(*prime)).sum()
}

/// Numbers of the sieve that fits a machine with so many bytes of last-level cache and of memory: sixteen times the cache, so that
/// it lives in memory, from 64 MiB (a tenth of a second) to 2 GB, which is the published experiment (500 000 000 numbers);
/// and at most an eighth of the memory.
pub fn sieve_numbers(cache: Option<u64>, memory: Option<u64>) -> u64 {
    const LEAST: u64 = 64 << 20;
    const MOST: u64 = 2_000_000_000;
    let wanted = (16 * cache.unwrap_or(0)).clamp(LEAST, MOST);
    wanted.min(memory.map_or(LEAST, |bytes| bytes / 8)) / 4
}

/// Rounds of [`allocation`], each of which maps and touches so many bytes again and makes so many small objects: about a tenth of a second.
const FRESH_ROUNDS: usize = 6;
const FRESH_BYTES: usize = 32 << 20;
const OBJECTS: usize = 100_000;
/// Calls of [`system_calls`]: about a tenth of a second.
const CALLS: u32 = 500_000;

/// Asks for memory, touches each page of it and gives it back; and makes many small objects, every other one of which ends first, so that the
/// allocator has holes to fill. Returns the bytes that were asked for.
pub fn allocation() -> u64 {
    let mut bytes = 0;
    for round in 0..FRESH_ROUNDS {
        let mut fresh = vec![0u8; black_box(FRESH_BYTES)];
        fresh.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        bytes += black_box(fresh).len();
        let mut objects: Vec<Option<Vec<u8>>> =
            (0..OBJECTS).map(|n| Some(Vec::with_capacity(black_box(16 + (n * 7 + round) % 240)))).collect();
        objects.iter_mut().step_by(2).for_each(|object| *object = None);
        objects.iter_mut().step_by(2).for_each(|object| *object = Some(Vec::with_capacity(black_box(96))));
        bytes += objects.iter().flatten().map(Vec::capacity).sum::<usize>();
    }
    bytes as u64
}

/// Enters the kernel and leaves it again, which does next to nothing there. Returns how often.
pub fn system_calls() -> u64 {
    let mut made = 0;
    for _ in 0..black_box(CALLS) {
        black_box(rustix::process::getppid());
        made += 1;
    }
    made
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
        // OEIS A006880.
        assert_eq!([10, 1000, 1_000_000].map(sieve), [4, 168, 78_498]);
        assert_eq!(toy(), 3_000_000);
        assert!(allocation() > (FRESH_ROUNDS * FRESH_BYTES) as u64);
        assert_eq!(system_calls(), u64::from(CALLS));
        assert_eq!(compute(), compute());
        assert_ne!(compute(), 88_172_645_463_325_252);
    }

    #[test]
    fn sieves_fit_their_machine() {
        const MIB: u64 = 1 << 20;
        for (cache, memory, numbers) in [
            (Some(32 * MIB), Some(24_000 * MIB), 128 * MIB),
            (Some(2 * MIB), Some(24_000 * MIB), 16 * MIB),
            (None, Some(24_000 * MIB), 16 * MIB),
            (Some(1024 * MIB), Some(512_000 * MIB), 500_000_000),
            (Some(32 * MIB), Some(1024 * MIB), 32 * MIB),
            (None, None, 16 * MIB),
        ] {
            assert_eq!(sieve_numbers(cache, memory), numbers, "{cache:?} {memory:?}");
        }
    }
}
