//! Whether two samples vary differently far.

use crate::Random;
use crate::summary::{all_finite, median};

/// Rearrangements of the permutation test.
const ROUNDS: usize = 1999;
/// Fewer values on a side do not say how far values vary.
const LEAST: usize = 6;

/// How often chance alone makes two samples vary so differently, each around its own median and in proportion to it: the
/// deviations of logarithms are mixed at random, and their means compared (the statistic of Brown and Forsythe, "Robust tests for
/// the equality of variances", 1974, as a permutation test). Where one sample is only slower than the other, nothing differs.
///
/// `None` where one has fewer than six values, or one that is not above 0.
pub fn spreads_differ(a: &[f64], b: &[f64], seed: u64) -> Option<f64> {
    let (of_a, of_b) = (deviations(a)?, deviations(b)?);
    let mut pool: Vec<f64> = of_a.iter().chain(&of_b).copied().collect();
    let sum: f64 = pool.iter().sum();
    let apart = |of_a: &[f64]| {
        let part: f64 = of_a.iter().sum();
        (part / of_a.len() as f64 - (sum - part) / of_b.len() as f64).abs()
    };
    // Rounding is no difference.
    let seen = apart(&of_a) - 1e-12 * sum.abs();
    let mut random = Random::new(seed);
    let as_far = (0..ROUNDS).filter(|_| {
        random.shuffle(&mut pool);
        apart(&pool[..of_a.len()]) >= seen
    });
    // The arrangement that was seen is one of them (Phipson and Smyth, 2010).
    Some((as_far.count() + 1) as f64 / (ROUNDS + 1) as f64)
}

/// How far a sample varies around its median, in proportion to it: the mean deviation of its logarithms, as [`spreads_differ`] compares it.
/// `None` as there.
pub fn spread(sample: &[f64]) -> Option<f64> {
    deviations(sample).map(|deviations| deviations.iter().sum::<f64>() / deviations.len() as f64)
}

fn deviations(sample: &[f64]) -> Option<Vec<f64>> {
    if sample.len() < LEAST || !all_finite(sample) || sample.iter().any(|x| *x <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = sample.iter().map(|x| x.ln()).collect();
    let middle = median(&logs)?;
    Some(logs.iter().map(|x| (x - middle).abs()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOISES: [fn(&mut Random) -> f64; 4] = [
        |random| random.unit(),
        |random| random.normal(),
        |random| random.exponential(),
        |random| random.normal() * if random.below(10) == 0 { 8.0 } else { 1.0 },
    ];

    fn sample(random: &mut Random, noise: usize, n: usize, level: f64, percent: f64) -> Vec<f64> {
        (0..n).map(|_| level * (1.0 + percent / 100.0 * NOISES[noise](random))).collect()
    }

    #[test]
    fn equal_spreads_are_told_apart_no_more_often_than_stated() {
        let mut random = Random::new(31);
        for (noise, n, m) in [(0, 20, 20), (1, 10, 10), (1, 20, 20), (2, 20, 20), (3, 20, 20), (2, 20, 15)] {
            let wrong = (0..400)
                .filter(|seed| {
                    let a = sample(&mut random, noise, n, 100.0, 1.0);
                    let b = sample(&mut random, noise, m, 130.0, 1.0);
                    spreads_differ(&a, &b, *seed).unwrap() < 0.05
                })
                .count();
            // 20 are expected; 14 more are three deviations.
            assert!(wrong <= 34, "noise {noise}: {wrong} of 400");
        }
    }

    #[test]
    fn different_spreads_are_told_apart() {
        let mut random = Random::new(37);
        for noise in 0..3 {
            let found = (0..100)
                .filter(|seed| {
                    let a = sample(&mut random, noise, 20, 100.0, 1.0);
                    let b = sample(&mut random, noise, 20, 100.0, 4.0);
                    spreads_differ(&a, &b, *seed).unwrap() < 0.02
                })
                .count();
            assert!(found >= 85, "noise {noise}: {found} of 100");
        }
        let steady = vec![5.0; 8];
        assert_eq!(spreads_differ(&steady, &steady, 1), Some(1.0));
        assert_eq!(spreads_differ(&steady[..5], &steady, 1), None);
        assert_eq!(spreads_differ(&[0.0; 8], &steady, 1), None);
    }
}
