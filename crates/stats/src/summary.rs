//! Centre and spread.

/// The figures of one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many.
    pub n: usize,
    /// The least: what the machine can do.
    pub min: f64,
    /// The middle one; the mean of both middle ones.
    pub median: f64,
    /// The greatest.
    pub max: f64,
    /// Greatest minus least.
    pub spread: f64,
    /// The spread over the median, in percent; 0 for a median of 0.
    pub spread_pct: f64,
    /// Standard deviation over mean, in percent; 0 for one value.
    pub cv_pct: f64,
    /// 1.4826 times the median absolute deviation, over the median, in percent: the same for normal data, but it does not
    /// mind outliers (Rousseeuw and Croux, 1993).
    pub mad_pct: f64,
}

impl Summary {
    /// Of a sample; `None` for an empty one, or where a value is not finite.
    pub fn from_sample(sample: &[f64]) -> Option<Summary> {
        if !all_finite(sample) {
            return None;
        }
        let sorted = sorted(sample);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let (n, median) = (sorted.len(), quantile_sorted(&sorted, 0.5));
        let mean = sorted.iter().sum::<f64>() / n as f64;
        let squares: f64 = sorted.iter().map(|x| (x - mean).powi(2)).sum();
        let deviation = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 };
        let percent = |part: f64, of: f64| if of == 0.0 { 0.0 } else { 100.0 * part / of };
        Some(Summary {
            n,
            min,
            median,
            max,
            spread: max - min,
            spread_pct: percent(max - min, median),
            cv_pct: percent(deviation, mean),
            mad_pct: percent(1.4826 * deviation_of(&sorted, median), median),
        })
    }
}

/// The middle of a sample; `None` for an empty one, or where a value is not finite.
pub fn median(sample: &[f64]) -> Option<f64> {
    quantile(sample, 0.5)
}

/// A quantile, 0 to 1, between order statistics as R's type 7 (Hyndman and Fan, 1996); `None` for an empty
/// sample, or where a value or `q` is not finite.
pub fn quantile(sample: &[f64], q: f64) -> Option<f64> {
    (!sample.is_empty() && all_finite(sample) && q.is_finite()).then(|| quantile_sorted(&sorted(sample), q))
}

pub(crate) fn all_finite(sample: &[f64]) -> bool {
    sample.iter().all(|x| x.is_finite())
}

pub(crate) fn sorted(sample: &[f64]) -> Vec<f64> {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Of a sorted sample that is not empty.
pub(crate) fn quantile_sorted(sorted: &[f64], q: f64) -> f64 {
    let at = q.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let (low, part) = (at.floor() as usize, at.fract());
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + part * (sorted[high] - sorted[low])
}

/// The median absolute deviation from a centre.
pub(crate) fn deviation_of(sample: &[f64], centre: f64) -> f64 {
    let deviations: Vec<f64> = sample.iter().map(|x| (x - centre).abs()).collect();
    median(&deviations).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn figures_of_a_small_sample() {
        let s = Summary::from_sample(&[4.0, 1.0, 3.0, 2.0, 100.0]).unwrap();
        assert_eq!((s.n, s.min, s.median, s.max, s.spread, s.spread_pct), (5, 1.0, 3.0, 100.0, 99.0, 3300.0));
        assert!((s.mad_pct - 100.0 * 1.4826 / 3.0).abs() < 1e-9);
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.25), Some(1.75));
        assert_eq!(Summary::from_sample(&[]), None);
        assert_eq!(Summary::from_sample(&[7.0]).unwrap().cv_pct, 0.0);
    }

    proptest! {
        #[test]
        fn scale_changes_no_percentage(sample in proptest::collection::vec(1.0f64..1e6, 2..40), by in 0.1f64..100.0) {
            let scaled: Vec<f64> = sample.iter().map(|x| x * by).collect();
            let (a, b) = (Summary::from_sample(&sample).unwrap(), Summary::from_sample(&scaled).unwrap());
            for (a, b) in [(a.spread_pct, b.spread_pct), (a.cv_pct, b.cv_pct), (a.mad_pct, b.mad_pct), (a.median * by, b.median)] {
                prop_assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs()), "{} {}", a, b);
            }
            prop_assert!(a.min <= a.median && a.median <= a.max);
        }
    }
}
