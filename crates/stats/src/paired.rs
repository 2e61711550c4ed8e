//! By how much the second of two paired values is above the first, and how small a difference would have been seen.

use crate::summary::{all_finite, sorted};
use crate::{Interval, median, normal_beyond};

/// Up to so many pairs the distribution of the signed-rank sum is counted out; beyond, it is normal to three digits.
const COUNTED: usize = 60;
/// Fewer pairs do not tell how far the differences of each half vary.
const LEAST_TO_DETECT: usize = 20;
/// How often an effect that is called detectable is found.
const POWER: f64 = 0.8;

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

/// Whether a shift is found: 0 is outside the interval of all differences, and outside those of both halves, on the same side. The
/// differences are in the order in which they were measured, so the second half is an independent sample that confirms the first. `None`
/// below twelve differences, or where one is not finite.
pub fn finds_shift(differences: &[f64]) -> Option<bool> {
    let side = |part: &[f64]| shift_interval(part).map(|i| i32::from(i.low > 0.0) - i32::from(i.high < 0.0));
    let (first, second) = differences.split_at(differences.len() / 2);
    let sides = [side(differences)?, side(first)?, side(second)?];
    Some(sides[0] != 0 && sides.iter().all(|side| *side == sides[0]))
}

/// The smallest true shift that [`finds_shift`] would have found in 80 % of such experiments, which is in √0.8 of their halves. Half an
/// interval is z₀.₉₇₅ standard errors of the shift, whatever the shape of the noise (Lehmann, "Nonparametric confidence intervals for a
/// shift parameter", 1963), and a shift of z₀.₉₇₅ + z₀.₈₉ of them is found so often: so it is 1 + z₀.₈₉ / z₀.₉₇₅ = 1.64 times half the
/// interval of a half, here of the wider one. A deviation by the median of absolute deviations would promise too much where noise has long tails. `None` below
/// twenty differences, or where one is not finite.
pub fn detectable_shift(differences: &[f64]) -> Option<f64> {
    let (first, second) = differences.split_at(differences.len() / 2);
    let width = |half: &[f64]| shift_interval(half).map(|interval| (interval.high - interval.low) / 2.0);
    let width = width(first)?.max(width(second)?);
    let (level, power) = (normal_beyond(0.025)?, normal_beyond(1.0 - POWER.sqrt())?);
    (differences.len() >= LEAST_TO_DETECT).then_some((1.0 + power / level) * width)
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
        assert_eq!((shift_interval(&[1.0; 5]), detectable_shift(&[1.0; 19])), (None, None));
        assert_eq!(detectable_shift(&[1.0; 20]), Some(0.0));
        assert_eq!((finds_shift(&[1.0; 11]), finds_shift(&[1.0; 12])), (None, Some(true)));
        assert_eq!(finds_shift(&[[1.0; 10], [-1.0; 10]].concat()), Some(false), "the halves disagree");
        assert_eq!(
            finds_shift(&[[9.0; 10], [0.0; 10]].concat()),
            Some(false),
            "only the first half shows it"
        );
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
        finds_shift(differences) == Some(true)
    }

    #[test]
    fn without_an_effect_one_is_found_no_more_often_than_stated() {
        let mut random = Random::new(23);
        for (noise, n) in [(0, 12), (0, 20), (1, 14), (1, 20), (2, 20), (2, 100)] {
            let outside = |found: &[f64]| shift_interval(found).is_some_and(|i| i.low > 0.0 || i.high < 0.0);
            let all: Vec<_> = (0..1000).map(|_| differences(&mut random, noise, n, 0.0)).collect();
            let rejected = all.iter().filter(|differences| outside(differences)).count();
            // 50 at most are expected; 20 more are three deviations.
            assert!(rejected <= 70, "noise {noise}, n = {n}: {rejected} of 1000");
            // Of two halves on one side 1.25.
            let found = all.iter().filter(|differences| is_found(differences)).count();
            assert!(found <= 6, "noise {noise}, n = {n}: {found} of 1000");
        }
    }

    #[test]
    fn what_is_called_detectable_is_found_in_four_of_five_experiments() {
        let mut random = Random::new(29);
        // Few runs that are far off make intervals of ten differences wide.
        for (noise, n, least) in [
            (0, 20, 780),
            (0, 30, 780),
            (0, 40, 780),
            (1, 20, 780),
            (2, 20, 640),
            (2, 40, 700),
            (0, 100, 780),
        ] {
            let mut told: Vec<f64> = Vec::new();
            for _ in 0..400 {
                told.extend(detectable_shift(&differences(&mut random, noise, n, 0.3)));
            }
            let effect = median(&told).unwrap();
            let found = (0..1000).filter(|_| is_found(&differences(&mut random, noise, n, effect))).count();
            assert!((least..=930).contains(&found), "noise {noise}, n = {n}: {found} of 1000 at {effect}");
        }
    }
}
