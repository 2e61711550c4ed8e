//! By how much the second of two paired values is above the first, and how small a difference would have been seen.

use crate::summary::{all_finite, sorted};
use crate::{Interval, median, normal_beyond};

/// Up to so many pairs the distribution of the signed-rank sum is counted out; beyond, it is normal to three digits.
const COUNTED: usize = 60;
/// Fewer pairs do not tell how far differences vary.
const LEAST_TO_DETECT: usize = 10;

/// The shift of a sample of differences: the median of all averages of two of them, each with itself included (Hodges and
/// Lehmann, 1963). As efficient as the mean where noise is normal (95 %), and it minds outliers little. `None` for none, or
/// where one is not finite.
pub fn shift(differences: &[f64]) -> Option<f64> {
    (all_finite(differences)).then(|| median(&averages(differences)))?
}

/// The 95 % interval of [`shift`]: exact where differences are as likely above the shift as below it, as those of a pair
/// are whose order was drawn by lot (Tukey, 1949; Wilcoxon's signed-rank test). 0 lies outside just where that test
/// rejects. `None` below six differences, or where one is not finite.
pub fn shift_interval(differences: &[f64]) -> Option<Interval> {
    let rank = critical(differences.len())?;
    if !all_finite(differences) {
        return None;
    }
    let averages = sorted(&averages(differences));
    Some(Interval { low: averages[rank - 1], high: averages[averages.len() - rank] })
}

/// The smallest true shift that [`shift_interval`] would have told from 0 in 80 % of such experiments. Half the interval is
/// z₀.₉₇₅ standard errors of the shift, whatever the shape of the noise (Lehmann, "Nonparametric confidence intervals for a
/// shift parameter", 1963), and a shift of z₀.₉₇₅ + z₀.₈₀ of them is found so often: so it is 1 + z₀.₈₀ / z₀.₉₇₅ = 1.43 times that
/// half. A deviation by the median of absolute deviations would promise too much where noise has long tails. `None` below
/// ten differences, or where one is not finite.
pub fn detectable_shift(differences: &[f64]) -> Option<f64> {
    let interval = shift_interval(differences).filter(|_| differences.len() >= LEAST_TO_DETECT)?;
    let (level, power) = (normal_beyond(0.025)?, normal_beyond(0.2)?);
    Some((1.0 + power / level) * (interval.high - interval.low) / 2.0)
}

fn averages(values: &[f64]) -> Vec<f64> {
    let pairs = values.iter().enumerate().flat_map(|(i, a)| values[i..].iter().map(move |b| (a + b) / 2.0));
    pairs.collect()
}

/// Which of the averages, from below and from above, are the ends of the interval.
fn critical(n: usize) -> Option<usize> {
    let sums = n * (n + 1) / 2;
    if n > COUNTED {
        let deviation = (n as f64 * (n + 1) as f64 * (2 * n + 1) as f64 / 24.0).sqrt();
        return Some((sums as f64 / 2.0 - normal_beyond(0.025)? * deviation).floor() as usize);
    }
    // The chance of each sum of ranks 1 to n, each of which is in it or not.
    let mut chances = vec![0.0; sums + 1];
    chances[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..=sums).rev() {
            let with = if sum >= rank { chances[sum - rank] } else { 0.0 };
            chances[sum] = (chances[sum] + with) / 2.0;
        }
    }
    let mut below = 0.0;
    let rejected = chances.iter().take_while(|chance| {
        below += **chance;
        2.0 * below <= 0.05
    });
    Some(rejected.count()).filter(|rank| *rank > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    /// Tables of the signed-rank test, 5 % on both sides (Wilcoxon and Wilcox, 1964): sums up to these are rejected.
    #[test]
    fn critical_sums_are_those_of_the_tables() {
        for (n, sum) in [(6, 0), (8, 3), (10, 8), (12, 13), (15, 25), (20, 52), (25, 89), (50, 434)] {
            assert_eq!(critical(n), Some(sum + 1), "n = {n}");
        }
        assert_eq!(critical(5), None);
        // Counted out and approximated they go on alike.
        let (last, next) = (critical(COUNTED).unwrap(), critical(COUNTED + 1).unwrap());
        assert!((20..=32).contains(&(next - last)), "{last} {next}");
    }

    #[test]
    fn shifts_of_small_samples() {
        assert_eq!(shift(&[1.0, 2.0, 9.0]), Some(3.5));
        assert_eq!((shift(&[]), shift(&[f64::NAN])), (None, None));
        let i = shift_interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 60.0]).unwrap();
        assert_eq!((i.low, i.high), (1.0, 60.0));
        assert_eq!((shift_interval(&[1.0; 5]), detectable_shift(&[1.0; 9])), (None, None));
        assert_eq!(detectable_shift(&[1.0; 10]), Some(0.0));
    }

    const NOISES: [fn(&mut Random) -> f64; 3] = [
        |random| random.normal(),
        |random| random.exponential() - random.exponential(),
        // One run in ten is disturbed by much.
        |random| random.normal() * if random.below(10) == 0 { 10.0 } else { 1.0 },
    ];

    fn differences(random: &mut Random, noise: usize, n: usize, shift: f64) -> Vec<f64> {
        (0..n).map(|_| shift + NOISES[noise](random)).collect()
    }

    fn is_found(differences: &[f64]) -> bool {
        shift_interval(differences).is_some_and(|i| i.low > 0.0 || i.high < 0.0)
    }

    #[test]
    fn without_an_effect_one_is_found_no_more_often_than_stated() {
        let mut random = Random::new(23);
        for (noise, n) in [(0, 6), (0, 20), (1, 10), (1, 20), (2, 20), (2, 100)] {
            let found = (0..1000).filter(|_| is_found(&differences(&mut random, noise, n, 0.0))).count();
            // 50 at most are expected; 20 more are three deviations.
            assert!(found <= 70, "noise {noise}, n = {n}: {found} of 1000");
        }
    }

    #[test]
    fn what_is_called_detectable_is_found_in_four_of_five_experiments() {
        let mut random = Random::new(29);
        for (noise, n) in [(0, 10), (0, 20), (0, 40), (1, 20), (2, 20), (0, 100)] {
            let mut told: Vec<f64> = Vec::new();
            for _ in 0..400 {
                told.extend(detectable_shift(&differences(&mut random, noise, n, 0.3)));
            }
            let effect = median(&told).unwrap();
            let found = (0..1000).filter(|_| is_found(&differences(&mut random, noise, n, effect))).count();
            assert!((740..=880).contains(&found), "noise {noise}, n = {n}: {found} of 1000 at {effect}");
        }
    }
}
