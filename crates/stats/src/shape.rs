//! What a series of runs looks like in the order in which they were made.

use crate::summary::{median, quantile_sorted, sorted};
use crate::{Random, robust_z};

/// Rearrangements of each test.
const ROUNDS: usize = 999;
/// Fewer values say nothing of a shape.
const LEAST: usize = 8;
/// Each of three tests may be wrong once in a hundred samples: one of them in thirty-three.
const LEVEL: f64 = 0.01;

/// Something a reader should know before believing a median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Warning {
    /// The first value is far above all others: warm-up.
    SlowStart {
        /// First value over the median of the others.
        ratio: f64,
    },
    /// Values rise or fall with time: heat, memory, a neighbour.
    Trend {
        /// Change over the whole series, in percent of the median.
        percent: f64,
    },
    /// Two groups of values with a gap between them.
    TwoModes {
        /// Middle of the lower group.
        low: f64,
        /// Middle of the upper group.
        high: f64,
    },
    /// From one value on another level holds.
    Shift {
        /// The first value of the new level.
        at: usize,
        /// New level over the old one.
        ratio: f64,
    },
}

/// The shape of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// What to know about it.
    pub warnings: Vec<Warning>,
}

/// Looks at a series in the order in which it was measured.
pub fn shape(series: &[f64], seed: u64) -> Shape {
    let mut random = Random::new(seed);
    let mut warnings = Vec::new();
    if series.len() >= LEAST {
        warnings.extend(slow_start(series));
        // A slow start is told once, not as a trend and a second mode as well.
        let rest = if warnings.is_empty() { series } else { &series[1..] };
        let shift = shift(rest, &mut random)
            .map(|(at, ratio)| Warning::Shift { at: at + series.len() - rest.len(), ratio });
        warnings.extend(shift.or_else(|| trend(rest, &mut random)));
        warnings.extend(two_modes(rest, &mut random).filter(|_| shift.is_none()));
    }
    Shape { warnings }
}

fn slow_start(series: &[f64]) -> Option<Warning> {
    let z = robust_z(series)?;
    let others = median(&series[1..])?;
    let slower_than_all = series[1..].iter().all(|x| *x < series[0]);
    // Among n equal values the first is the greatest once in n; far beyond that it is no chance.
    (slower_than_all && z[0] > 5.0).then(|| Warning::SlowStart { ratio: series[0] / others })
}

/// Mann's test (1945) with its significance from rearrangements; the slope is Theil's (1950).
fn trend(series: &[f64], random: &mut Random) -> Option<Warning> {
    let score = |s: &[f64]| {
        let pairs = (0..s.len()).flat_map(|i| (i + 1..s.len()).map(move |j| (i, j)));
        pairs.map(|(i, j)| f64::from(i8::from(s[j] > s[i]) - i8::from(s[j] < s[i]))).sum::<f64>()
    };
    let seen = score(series).abs();
    if !rarer(series, random, |s| score(s).abs() >= seen) {
        return None;
    }
    let slopes = (0..series.len())
        .flat_map(|i| (i + 1..series.len()).map(move |j| (series[j] - series[i]) / (j - i) as f64));
    let slope = median(&slopes.collect::<Vec<_>>())?;
    Some(Warning::Trend { percent: 100.0 * slope * (series.len() - 1) as f64 / median(series)? })
}

/// The best split into two levels by ranks (Pettitt, 1979), its significance from rearrangements.
fn shift(series: &[f64], random: &mut Random) -> Option<(usize, f64)> {
    let best = |s: &[f64]| {
        let ranks = ranks(s);
        let n = s.len() as f64;
        let mut sum = 0.0;
        let mut best = (0, 0.0);
        for (i, rank) in ranks.iter().enumerate().take(s.len() - 1) {
            sum += rank;
            let k = (i + 1) as f64;
            let u = (2.0 * sum - k * (n + 1.0)).abs();
            if u > best.1 {
                best = (i + 1, u);
            }
        }
        best
    };
    let (at, seen) = best(series);
    if at < 3 || series.len() - at < 3 || !rarer(series, random, |s| best(s).1 >= seen) {
        return None;
    }
    let (before, after) = series.split_at(at);
    // A level, not a slope: within each part nothing is left to explain.
    let flat = |part: &[f64], random: &mut Random| part.len() < LEAST || trend(part, random).is_none();
    (flat(before, random) && flat(after, random)).then(|| Some((at, median(after)? / median(before)?)))?
}

fn ranks(series: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..series.len()).collect();
    order.sort_by(|a, b| series[*a].total_cmp(&series[*b]));
    let mut ranks = vec![0.0; series.len()];
    let mut i = 0;
    while i < order.len() {
        let tied = order[i..].iter().take_while(|at| series[**at] == series[order[i]]).count();
        for at in &order[i..i + tied] {
            ranks[*at] = i as f64 + (tied as f64 + 1.0) / 2.0;
        }
        i += tied;
    }
    ranks
}

/// The widest gap between two groups of a quarter of the values or more, against the same of samples from one group: a
/// lognormal one with the same median and spread, which is what a single mode of times looks like.
fn two_modes(series: &[f64], random: &mut Random) -> Option<Warning> {
    let share = |sorted: &[f64]| {
        let quarter = (sorted.len() / 4).max(2);
        let range = quantile_sorted(sorted, 0.95) - quantile_sorted(sorted, 0.05);
        let gaps = (quarter..=sorted.len() - quarter).map(|i| (i, sorted[i] - sorted[i - 1]));
        let (at, gap) = gaps.max_by(|a, b| a.1.total_cmp(&b.1))?;
        (range > 0.0).then(|| (at, gap / range))
    };
    let sorted_series = sorted(series);
    let (at, seen) = share(&sorted_series)?;
    let as_wide = (0..ROUNDS)
        .filter(|_| {
            let one: Vec<f64> = (0..series.len()).map(|_| (0.5 * random.normal()).exp()).collect();
            share(&sorted(&one)).is_some_and(|(_, gap)| gap >= seen)
        })
        .count();
    let (low, high) = sorted_series.split_at(at);
    let level = LEVEL;
    ((as_wide + 1) as f64 / (ROUNDS + 1) as f64 <= level)
        .then(|| Some(Warning::TwoModes { low: median(low)?, high: median(high)? }))?
}

/// Whether what was seen is rarer than [`LEVEL`] among rearrangements of the series.
fn rarer(series: &[f64], random: &mut Random, as_far: impl Fn(&[f64]) -> bool) -> bool {
    let mut shuffled = series.to_vec();
    let most = (LEVEL * (ROUNDS + 1) as f64) as usize;
    let mut seen = 1;
    for _ in 0..ROUNDS {
        for i in (1..shuffled.len()).rev() {
            shuffled.swap(i, random.below(i + 1));
        }
        seen += usize::from(as_far(&shuffled));
        if seen > most {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(random: &mut Random, n: usize) -> Vec<f64> {
        (0..n).map(|_| 100.0 + random.exponential()).collect()
    }

    #[test]
    fn noise_alone_is_rarely_warned_of() {
        let mut random = Random::new(21);
        let rounds = 100;
        let wrong =
            (0..rounds).filter(|seed| !shape(&noise(&mut random, 20), *seed).warnings.is_empty()).count();
        assert!(wrong <= 9, "{wrong} of {rounds}");
        assert!(shape(&[1.0, 2.0], 0).warnings.is_empty() && shape(&[5.0; 20], 0).warnings.is_empty());
    }

    #[test]
    fn what_was_planted_is_found() {
        let mut random = Random::new(22);
        let found = |series: &[f64]| shape(series, 1).warnings;
        let mut slow = noise(&mut random, 20);
        slow[0] = 140.0;
        assert!(
            matches!(found(&slow)[..], [Warning::SlowStart { ratio }] if ratio > 1.3),
            "{:?}",
            found(&slow)
        );
        let rising: Vec<f64> =
            noise(&mut random, 30).iter().enumerate().map(|(i, x)| x + 0.3 * i as f64).collect();
        assert!(
            matches!(found(&rising)[..], [Warning::Trend { percent }] if (5.0..13.0).contains(&percent)),
            "{:?}",
            found(&rising)
        );
        let stepped: Vec<f64> = noise(&mut random, 30)
            .iter()
            .enumerate()
            .map(|(i, x)| if i < 12 { *x } else { x + 10.0 })
            .collect();
        assert!(
            matches!(found(&stepped)[..], [Warning::Shift { at: 11..=13, ratio }] if ratio > 1.08),
            "{:?}",
            found(&stepped)
        );
        let two: Vec<f64> =
            noise(&mut random, 40).iter().map(|x| if random.unit() < 0.5 { *x } else { x + 15.0 }).collect();
        assert!(found(&two).iter().any(|w| matches!(w, Warning::TwoModes { .. })), "{:?}", found(&two));
    }
}
