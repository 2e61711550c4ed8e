//! How far a figure can be trusted.

use crate::Random;
use crate::summary::{quantile_sorted, sorted};

/// Resamples of a bootstrap: the ends of a 95 % interval then move by a few percent of its width between seeds.
const RESAMPLES: usize = 2000;

/// An interval with its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A 95 % interval of the median: percentile bootstrap (Efron, 1979), not narrower than the order statistics that hold
/// the median with that confidence (binomial, no assumption at all) would allow for the sample's ends. `None` below
/// three values.
pub fn median_interval(sample: &[f64], seed: u64) -> Option<Interval> {
    if sample.len() < 3 {
        return None;
    }
    let mut random = Random::new(seed);
    let sorted_sample = sorted(sample);
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let mut again: Vec<f64> =
                (0..sample.len()).map(|_| sorted_sample[random.below(sample.len())]).collect();
            again.sort_by(f64::total_cmp);
            quantile_sorted(&again, 0.5)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    Some(Interval { low: quantile_sorted(&medians, 0.025), high: quantile_sorted(&medians, 0.975) })
}

/// The interval of a share of `hits` among `n` at this confidence, such as 0.95, exact (Clopper and Pearson, 1934).
/// `None` for n = 0 or more hits than n.
pub fn binomial_interval(hits: u64, n: u64, confidence: f64) -> Option<Interval> {
    if n == 0 || hits > n {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    // The chance of at least `hits` grows with p, so both ends are found by halving.
    let solve = |too_low: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if too_low(middle) { low = middle } else { high = middle }
        }
        (low + high) / 2.0
    };
    let low = if hits == 0 { 0.0 } else { solve(&|p| at_least(hits, n, p) < tail) };
    let high = if hits == n { 1.0 } else { solve(&|p| 1.0 - at_least(hits + 1, n, p) > tail) };
    Some(Interval { low, high })
}

/// The chance of at least `k` of `n` at probability `p`.
fn at_least(k: u64, n: u64, p: f64) -> f64 {
    if p <= 0.0 {
        return if k == 0 { 1.0 } else { 0.0 };
    }
    let log = |x: f64| x.max(f64::MIN_POSITIVE).ln();
    let mut log_choose = 0.0;
    let mut sum = 0.0;
    for i in 0..=n {
        if i > 0 {
            log_choose += log((n - i + 1) as f64) - log(i as f64);
        }
        if i >= k {
            sum += (log_choose + i as f64 * log(p) + (n - i) as f64 * log(1.0 - p)).exp();
        }
    }
    sum.min(1.0)
}

/// About how many more values make the interval of the median at most `percent` of the median to each side: its width
/// falls with the root of their number. 0: it is narrow enough. `None` while there is no interval.
pub fn more_runs(sample: &[f64], percent: f64, seed: u64) -> Option<usize> {
    let interval = median_interval(sample, seed)?;
    let median = crate::median(sample)?;
    let half = 100.0 * (interval.high - interval.low) / 2.0 / median;
    if half <= percent {
        return Some(0);
    }
    let wanted = sample.len() as f64 * (half / percent).powi(2);
    Some((wanted.ceil() as usize).saturating_sub(sample.len()).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_the_median_as_often_as_it_says() {
        let mut random = Random::new(1);
        let mut held = 0;
        let rounds = 400;
        for seed in 0..rounds {
            let sample: Vec<f64> = (0..20).map(|_| (0.5 * random.normal()).exp()).collect();
            let interval = median_interval(&sample, seed).unwrap();
            held += u64::from(interval.low <= 1.0 && 1.0 <= interval.high);
        }
        // 93 % of 400 within three deviations.
        assert!(held >= 357, "{held} of {rounds}");
        assert_eq!(median_interval(&[1.0, 2.0], 0), None);
    }

    #[test]
    fn shares_have_exact_intervals() {
        // Clopper and Pearson's example: 3 of 10.
        let i = binomial_interval(3, 10, 0.95).unwrap();
        assert!((i.low - 0.0667).abs() < 1e-3 && (i.high - 0.6525).abs() < 1e-3, "{i:?}");
        let none = binomial_interval(0, 100_000, 0.95).unwrap();
        assert!(none.low == 0.0 && (none.high - 3.69e-5).abs() < 1e-6, "{none:?}");
        assert_eq!(binomial_interval(2, 1, 0.95), None);
    }

    #[test]
    fn more_runs_are_asked_for_until_it_is_narrow() {
        let mut random = Random::new(3);
        let sample: Vec<f64> = (0..20).map(|_| 100.0 + 10.0 * random.unit()).collect();
        assert_eq!(more_runs(&sample, 50.0, 0), Some(0));
        assert!(more_runs(&sample, 0.1, 0).unwrap() > 100);
    }
}
