//! How much what is varied moves the median, and how much chance alone does. Pure.

use crate::{Random, median, median_interval, quantile};

/// Made-up experiments in which nothing moves.
const DEALS: usize = 200;
/// So wide is a 95 % interval of a normal value, in deviations.
const WIDE: f64 = 2.0 * 1.959_964;
const SEED: u64 = 20_261_121;

/// Greatest less least median of the samples; `None` where one is empty.
pub fn range(samples: &[&[f64]]) -> Option<f64> {
    let medians: Vec<f64> = samples.iter().map(|sample| median(sample)).collect::<Option<_>>()?;
    let [least, most] = [f64::min, f64::max].map(|pick| medians.iter().copied().reduce(pick));
    Some(most? - least?)
}

/// What [`range`] comes to at most in 19 of 20 cases where what is varied changes nothing. How far a median varies is taken
/// from the intervals of the samples' medians, which hold whatever the shape of the noise, all samples together; medians that
/// vary so are then made up. `None` where a sample is too small for an interval (below six runs).
pub fn chance(samples: &[&[f64]]) -> Option<f64> {
    let errors: Vec<f64> = samples
        .iter()
        .map(|sample| median_interval(sample, 1).map(|i| (i.high - i.low) / WIDE))
        .collect::<Option<_>>()?;
    let error = (errors.iter().map(|e| e * e).sum::<f64>() / errors.len().max(1) as f64).sqrt();
    let mut random = Random::new(SEED);
    let mut deal = || {
        let medians = (0..samples.len()).map(|_| random.normal());
        let (low, high) = medians.fold((f64::MAX, f64::MIN), |(low, high), z| (low.min(z), high.max(z)));
        (high - low) * error
    };
    let deals: Vec<f64> = (0..DEALS).map(|_| deal()).collect();
    quantile(&deals, 0.95)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight samples of which one is that much higher.
    fn ratio(seed: u64, higher: f64) -> f64 {
        let mut random = Random::new(seed);
        let sample = |n: usize| {
            let base = if n == 3 { 100.0 + higher } else { 100.0 };
            (0..20).map(|_| base + random.exponential()).collect::<Vec<f64>>()
        };
        let samples: Vec<Vec<f64>> = (0..8).map(sample).collect();
        let samples: Vec<&[f64]> = samples.iter().map(|s| &**s).collect();
        range(&samples).unwrap() / chance(&samples).unwrap()
    }

    #[test]
    fn what_is_moved_stands_out_and_chance_does_not() {
        assert!((0..20).all(|seed| ratio(seed, 3.0) > 1.5));
        let alarms = [1.0, 1.3].map(|above| (0..400).filter(|seed| ratio(*seed, 0.0) > above).count());
        assert!(alarms[0] <= 28 && alarms[1] <= 4, "{alarms:?} of 400");
    }

    #[test]
    fn empty_samples_say_nothing() {
        assert_eq!((range(&[]), range(&[&[1.0], &[]]), chance(&[&[1.0; 5]])), (None, None, None));
        assert_eq!(range(&[&[1.0, 2.0, 3.0], &[5.0]]), Some(3.0));
    }
}
