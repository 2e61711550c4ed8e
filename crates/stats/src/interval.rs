//! How far a figure can be trusted.

use crate::summary::{all_finite, sorted};
use statrs::distribution::{Beta, Binomial, ContinuousCDF, DiscreteCDF};

/// More runs than that are no advice.
const MANY: f64 = 1e6;

/// An interval with its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A 95 % interval of the median: the order statistics that hold it with at least that confidence whatever the shape of
/// the noise (binomial; Thompson, 1936). `None` where there are too few values for that, below six at one look, or where
/// one is not finite.
///
/// `looks` is how often the interval of one growing sample is looked at, at most, before it is shown (0 counts as 1).
/// Who measures until the interval is narrow stops where it is narrow by chance, so that it holds the median less often
/// than it says. Looks at one sample are much alike: each is allowed to miss in 5 % over 1 + ln looks, which simulation
/// found to suffice (the interval at the stop holds in 95 to 99 % for normal and skewed noise).
pub fn median_interval(sample: &[f64], looks: usize) -> Option<Interval> {
    order_interval(sample, 0.5, 0.05 / (1.0 + (looks.max(1) as f64).ln()))
}

/// A 95 % interval of a quantile between 0 and 1, as [`median_interval`] at one look (Conover, 1999, section 3.2). `None` where
/// there are too few values for that (of the upper quartile below 13), where one is not finite, and for 0 and 1.
pub fn quantile_interval(sample: &[f64], q: f64) -> Option<Interval> {
    order_interval(sample, q, 0.05)
}

/// The narrowest interval between order statistics that misses the quantile with at most half this probability on each side.
fn order_interval(sample: &[f64], q: f64, miss: f64) -> Option<Interval> {
    if !(all_finite(sample) && q > 0.0 && q < 1.0) {
        return None;
    }
    let sorted = sorted(sample);
    let low = sorted.get(rank_below(sample.len(), q, miss)? - 1)?;
    let high = sorted.get(sample.len() - rank_below(sample.len(), 1.0 - q, miss)?)?;
    Some(Interval { low: *low, high: *high })
}

/// The greatest rank, from 1, of a value among `n` that is above the quantile with at most half this probability: the k-th least
/// is where fewer than k values are below it.
fn rank_below(n: usize, q: f64, miss: f64) -> Option<usize> {
    let below = Binomial::new(q, n as u64).ok()?;
    usize::try_from(below.inverse_cdf(miss / 2.0)).ok().filter(|k| *k > 0)
}

/// The interval of a share of `hits` among `n` at this confidence, such as 0.95, exact (Clopper and Pearson, 1934).
/// `None` for n = 0 or more hits than n.
pub fn binomial_interval(hits: u64, n: u64, confidence: f64) -> Option<Interval> {
    if n == 0 || hits > n {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    let (hit, missed) = (hits as f64, (n - hits) as f64);
    let low = Beta::new(hit, missed + 1.0).map_or(0.0, |least| least.inverse_cdf(tail));
    let high = Beta::new(hit + 1.0, missed).map_or(1.0, |most| most.inverse_cdf(1.0 - tail));
    Some(Interval { low, high })
}

/// About how many more values make the interval of the median at most `percent` of the median to each side: its width
/// falls with the root of their number. 0: it is narrow enough. `None` while there is no interval, for a median of 0, a
/// percentage that is not above 0, and where it would be more than a million. `looks` as for [`median_interval`].
pub fn more_runs(sample: &[f64], percent: f64, looks: usize) -> Option<usize> {
    let half = half_width(median_interval(sample, looks)?, sample, percent)?;
    if half <= percent {
        return Some(0);
    }
    let more = sample.len() as f64 * ((half / percent).powi(2) - 1.0);
    (more <= MANY).then(|| (more.ceil() as usize).max(1))
}

/// Half the width of an interval in percent of the median; `None` where that means nothing.
fn half_width(interval: Interval, sample: &[f64], percent: f64) -> Option<f64> {
    let median = crate::median(sample)?.abs();
    (percent > 0.0 && median > 0.0).then(|| 50.0 * (interval.high - interval.low) / median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use proptest::prelude::*;

    #[test]
    fn the_interval_is_that_of_the_tables() {
        // Ranks of the 95 % interval of the median as printed in tables (Conover, 1999, "Practical Nonparametric
        // Statistics", by the binomial table).
        for (n, rank) in [(6, 1), (8, 1), (9, 2), (12, 3), (15, 4), (20, 6), (25, 8), (50, 18), (100, 40)] {
            let sample: Vec<f64> = (1..=n).rev().map(f64::from).collect();
            let expected = Interval { low: f64::from(rank), high: f64::from(n + 1 - rank) };
            assert_eq!(median_interval(&sample, 1), Some(expected), "n = {n}");
        }
        assert_eq!(median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 1), None);
        let many: Vec<f64> = (0..100_000).map(f64::from).collect();
        let i = median_interval(&many, 1).unwrap();
        assert!((49_680.0..49_700.0).contains(&i.low) && (50_300.0..50_320.0).contains(&i.high), "{i:?}");
    }

    #[test]
    fn quantiles_have_intervals_of_their_own() {
        let sample = |n: u32| -> Vec<f64> { (1..=n).rev().map(f64::from).collect() };
        for n in [5, 6, 8, 9, 12, 20, 100] {
            assert_eq!(quantile_interval(&sample(n), 0.5), median_interval(&sample(n), 1), "n = {n}");
        }
        // By the binomial table: of 20 values at most 10 lie below the upper quartile with 1.4 %, at most 11 with 4.1 %, at
        // least 19 with 2.4 %, at least 18 with 9.1 %.
        assert_eq!(quantile_interval(&sample(20), 0.75), Some(Interval { low: 11.0, high: 19.0 }));
        let low = quantile_interval(&sample(20), 0.25);
        assert_eq!(low, Some(Interval { low: 2.0, high: 10.0 }));
        assert_eq!((quantile_interval(&sample(12), 0.75), quantile_interval(&[1.0; 50], 1.1)), (None, None));
        assert!(quantile_interval(&sample(13), 0.75).is_some());
    }

    proptest! {
        #[test]
        fn an_interval_moves_with_its_sample(
            sample in proptest::collection::vec(-1000i32..1000, 6..60), by in -1000i32..1000, turn in 0usize..6,
        ) {
            let of = |s: &[i32], by: i32| -> Vec<f64> { s.iter().map(|x| f64::from(x + by)).collect() };
            let Interval { low, high } = median_interval(&of(&sample, 0), 1).unwrap();
            let mut turned = sample.clone();
            turned.rotate_left(turn);
            let (low, high) = (low + f64::from(by), high + f64::from(by));
            prop_assert_eq!(median_interval(&of(&turned, by), 1), Some(Interval { low, high }));
        }
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
        assert_eq!(more_runs(&sample, 50.0, 1), Some(0));
        assert!(more_runs(&sample, 0.1, 1).unwrap() > 100);
    }
}
