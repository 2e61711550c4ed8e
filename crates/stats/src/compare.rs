//! Whether two programs differ.

use crate::summary::{median, quantile_sorted, sorted};
use crate::{Interval, Random};

/// Rearrangements of a permutation test: p-values are exact to about a tenth of a percent at 1 %.
const ROUNDS: usize = 5000;

/// B against A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Median of B over median of A.
    pub ratio: f64,
    /// 95 % interval of that ratio, by bootstrap.
    pub ratio_interval: Interval,
    /// How often chance alone makes medians differ as much (permutation test, both sides).
    pub p: f64,
}

/// Compares two samples measured in turn, A B A B …; `None` where one has fewer than three values or a median of 0.
pub fn compare(a: &[f64], b: &[f64], seed: u64) -> Option<Comparison> {
    if a.len() < 3 || b.len() < 3 {
        return None;
    }
    let (middle_a, middle_b) = (median(a)?, median(b)?);
    if middle_a == 0.0 {
        return None;
    }
    let mut random = Random::new(seed);
    let mut pooled: Vec<f64> = a.iter().chain(b).copied().collect();
    // Means of the middle half tell more finely than medians of few values, and mind outliers as little.
    let observed = (centre(b) - centre(a)).abs();
    let mut as_far = 0;
    for _ in 0..ROUNDS {
        for i in (1..pooled.len()).rev() {
            pooled.swap(i, random.below(i + 1));
        }
        let (first, second) = pooled.split_at(a.len());
        as_far += usize::from((centre(second) - centre(first)).abs() >= observed * (1.0 - 1e-12));
    }
    let mut ratios: Vec<f64> = (0..ROUNDS / 2)
        .filter_map(|_| {
            let mut again = |sample: &[f64]| {
                let values: Vec<f64> =
                    (0..sample.len()).map(|_| sample[random.below(sample.len())]).collect();
                median(&values)
            };
            let (a, b) = (again(a)?, again(b)?);
            (a != 0.0).then(|| b / a)
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    Some(Comparison {
        ratio: middle_b / middle_a,
        ratio_interval: Interval {
            low: quantile_sorted(&ratios, 0.025),
            high: quantile_sorted(&ratios, 0.975),
        },
        // The arrangement that was seen is one of them (Phipson and Smyth, 2010).
        p: (as_far + 1) as f64 / (ROUNDS + 1) as f64,
    })
}

/// The mean of the middle half (midmean; Tukey, 1977).
fn centre(sample: &[f64]) -> f64 {
    let sorted = sorted(sample);
    let cut = sorted.len() / 4;
    let middle = &sorted[cut..sorted.len() - cut];
    middle.iter().sum::<f64>() / middle.len() as f64
}

/// The median of the differences of pairs, b − a, with its 95 % interval by bootstrap; `None` below three pairs.
pub fn paired_difference(pairs: &[(f64, f64)], seed: u64) -> Option<(f64, Interval)> {
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
    Some((median(&differences)?, crate::median_interval(&differences, seed)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skewed(random: &mut Random, n: usize, shift: f64) -> Vec<f64> {
        (0..n).map(|_| shift + random.exponential()).collect()
    }

    #[test]
    fn equal_programs_are_told_apart_no_more_often_than_stated() {
        let mut random = Random::new(11);
        let rounds = 120;
        let wrong = (0..rounds)
            .filter(|seed| {
                let (a, b) = (skewed(&mut random, 15, 100.0), skewed(&mut random, 15, 100.0));
                compare(&a, &b, *seed).unwrap().p < 0.05
            })
            .count();
        // 6 expected; 14 is more than three deviations above.
        assert!(wrong <= 14, "{wrong} of {rounds}");
    }

    #[test]
    fn different_programs_are_told_apart() {
        let mut random = Random::new(13);
        let (a, b) = (skewed(&mut random, 20, 100.0), skewed(&mut random, 20, 103.0));
        let c = compare(&a, &b, 1).unwrap();
        assert!(c.p < 0.001 && c.ratio > 1.02 && c.ratio_interval.low > 1.01, "{c:?}");
        assert!(compare(&a[..2], &b, 1).is_none());
        let pairs: Vec<(f64, f64)> = a.iter().copied().zip(b).collect();
        let (difference, interval) = paired_difference(&pairs, 2).unwrap();
        assert!(interval.low <= difference && difference <= interval.high && interval.low > 1.0);
    }
}
