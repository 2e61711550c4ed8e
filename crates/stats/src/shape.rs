//! What a series of runs looks like in the order in which they were made.

use crate::Random;
use crate::rank::ranks;
use crate::summary::{all_finite, median, quantile_sorted, sorted};

/// Rearrangements of each test.
const ROUNDS: usize = 999;
/// Fewer values say nothing of a shape.
const LEAST: usize = 8;
/// Each of five tests may be wrong in seven series of a thousand, so that one of them is in three of a hundred at most.
const LEVEL: f64 = 0.007;
/// How far above the greatest of the others a slow first value lies, in distances from their median to that, times the
/// number of values: the more there are, the more rarely chance puts the greatest first. Found by simulation for
/// exponentials of normal values: those go so far in at most one series of a hundred, less skewed noise more rarely.
const SLOW: f64 = 55.0;

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

/// Looks at a series in the order in which it was measured, of readings so fine that none are equal. See [`shape_of`].
pub fn shape(series: &[f64], seed: u64) -> Shape {
    shape_of(series, 0.0, seed)
}

/// Looks at a series in the order in which it was measured. `unit` is the step of the clock or counter that was read, in
/// the unit of the values (such as 10 ms for a time in ticks; 0: finer than the noise): a gap of one step is none.
///
/// Values that are not finite are left out, though they count for the place of a shift. Below eight others there are no
/// warnings. Of noise alone that is no more skewed than exponentials of normal values, each warning comes in at most one
/// series of a hundred, and any in at most three, [`correlated`] included.
pub fn shape_of(series: &[f64], unit: f64, seed: u64) -> Shape {
    let (places, values): (Vec<usize>, Vec<f64>) =
        series.iter().copied().enumerate().filter(|(_, x)| x.is_finite()).unzip();
    let unit = if unit.is_finite() { unit.max(0.0) } else { 0.0 };
    let mut random = Random::new(seed);
    let mut warnings = Vec::new();
    if values.len() >= LEAST {
        warnings.extend(slow_start(&values, unit));
        // A slow start is told once, not as a trend and a second mode as well.
        let skipped = warnings.len();
        let rest = &values[skipped..];
        let shift =
            shift(rest, &mut random).map(|(at, ratio)| Warning::Shift { at: places[at + skipped], ratio });
        warnings.extend(shift.or_else(|| trend(rest, &mut random)));
        warnings.extend(two_modes(rest, unit, &mut random).filter(|_| shift.is_none()));
    }
    Shape { warnings }
}

/// How much a value says of the next: the correlation of neighbours, −1 to 1 (lag 1; each taken from the mean of all).
/// Far from 0, beyond about 2/√n, runs are no independent looks, and intervals are too narrow (above 0) or too wide.
/// `None` below eight values, where all are equal, or one is not finite.
pub fn autocorrelation(series: &[f64]) -> Option<f64> {
    if series.len() < LEAST || !all_finite(series) {
        return None;
    }
    let mean = series.iter().sum::<f64>() / series.len() as f64;
    let squares: f64 = series.iter().map(|x| (x - mean).powi(2)).sum();
    let products: f64 = series.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let equal = series.iter().all(|x| *x == series[0]);
    (!equal && squares > 0.0).then(|| products / squares)
}

/// [`autocorrelation`] where it is above 0 and so high by chance in at most one series of a hundred: runs are no
/// independent looks, and the interval of the median is too narrow. A trend and a shift correlate neighbours too, so this
/// is worth telling where [`shape_of`] finds neither. Values that are not finite are left out.
pub fn correlated(series: &[f64], seed: u64) -> Option<f64> {
    let mut values: Vec<f64> = series.iter().copied().filter(|x| x.is_finite()).collect();
    let seen = autocorrelation(&values).filter(|seen| *seen > 0.0)?;
    let mut random = Random::new(seed);
    let rarely = rare(|| {
        random.shuffle(&mut values);
        autocorrelation(&values).is_some_and(|chance| chance >= seen)
    });
    rarely.then_some(seen)
}

fn slow_start(series: &[f64], unit: f64) -> Option<Warning> {
    let (first, others) = series.split_first()?;
    let (middle, greatest) = (median(others)?, others.iter().copied().fold(f64::MIN, f64::max));
    let reach = greatest - middle + unit;
    let ratio = first / middle;
    let far = (SLOW / series.len() as f64).max(1.0);
    (reach > 0.0 && first - greatest - unit > far * reach && ratio.is_finite())
        .then_some(Warning::SlowStart { ratio })
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
    let percent = 100.0 * slope * (series.len() - 1) as f64 / median(series)?;
    percent.is_finite().then_some(Warning::Trend { percent })
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
    let ratio = median(after)? / median(before)?;
    (ratio.is_finite() && flat(before, random) && flat(after, random)).then_some((at, ratio))
}

/// The widest gap between two groups of a quarter of the values or more, beyond one step of the reading, against the
/// same of samples from one group: both of a flat one, whose gaps are the widest of those in the midst of a single mode
/// (Hartigan and Hartigan, 1985), and of a skewed one, whose gaps are the widest towards a tail.
fn two_modes(series: &[f64], unit: f64, random: &mut Random) -> Option<Warning> {
    let share = |sorted: &[f64], unit: f64| {
        let quarter = (sorted.len() / 4).max(2);
        let range = quantile_sorted(sorted, 0.95) - quantile_sorted(sorted, 0.05);
        let gaps = (quarter..=sorted.len() - quarter).map(|i| (i, sorted[i] - sorted[i - 1] - unit));
        gaps.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| range > 0.0).map(|(at, gap)| (at, gap / range))
    };
    let sorted_series = sorted(series);
    let (at, seen) = share(&sorted_series, unit).filter(|(_, gap)| *gap > 0.0)?;
    let noises: [fn(&mut Random) -> f64; 2] = [Random::unit, |random| random.normal().exp()];
    let rarely = noises.iter().all(|noise| {
        rare(|| {
            let one: Vec<f64> = series.iter().map(|_| noise(random)).collect();
            share(&sorted(&one), 0.0).is_some_and(|(_, gap)| gap >= seen)
        })
    });
    let (low, high) = sorted_series.split_at(at);
    rarely.then(|| Some(Warning::TwoModes { low: median(low)?, high: median(high)? }))?
}

/// Whether what was seen is rarer than [`LEVEL`] among rearrangements of the series.
fn rarer(series: &[f64], random: &mut Random, as_far: impl Fn(&[f64]) -> bool) -> bool {
    let mut shuffled = series.to_vec();
    rare(|| {
        random.shuffle(&mut shuffled);
        as_far(&shuffled)
    })
}

/// Whether chance goes as far as what was seen, which counts as one try, in at most [`LEVEL`] of tries.
fn rare(mut chance: impl FnMut() -> bool) -> bool {
    let most = (LEVEL * (ROUNDS + 1) as f64) as usize;
    let mut seen = 1;
    for _ in 0..ROUNDS {
        seen += usize::from(chance());
        if seen > most {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    #[test]
    fn values_that_are_not_finite_are_left_out() {
        let mut random = Random::new(23);
        let mut stepped: Vec<f64> = noise(&mut random, 30)
            .iter()
            .enumerate()
            .map(|(i, x)| x + f64::from(u8::from(i >= 12)) * 10.0)
            .collect();
        stepped[3] = f64::NAN;
        stepped[20] = f64::INFINITY;
        let found = shape(&stepped, 1).warnings;
        assert!(matches!(found[..], [Warning::Shift { at: 12, .. }]), "{found:?}");
        assert_eq!(shape_of(&stepped, f64::NAN, 1).warnings, found);
    }

    #[test]
    fn neighbours_that_are_alike_correlate() {
        let rising: Vec<f64> = (0..20).map(f64::from).collect();
        let alternating: Vec<f64> = (0..20).map(|i| f64::from(i % 2)).collect();
        assert!((autocorrelation(&rising).unwrap() - 0.85).abs() < 1e-9);
        assert!((autocorrelation(&alternating).unwrap() + 0.95).abs() < 1e-9);
        let mut random = Random::new(24);
        let mut last = 0.0;
        let varying: Vec<f64> = (0..60)
            .map(|_| {
                last = 0.7 * last + random.normal();
                100.0 + last
            })
            .collect();
        assert!(correlated(&varying, 1).is_some_and(|lag| (0.4..0.9).contains(&lag)));
        assert!(correlated(&rising, 1).is_some() && correlated(&alternating, 1).is_none());
        assert!(autocorrelation(&[5.1; 20]).is_none() && autocorrelation(&rising[..7]).is_none());
        assert!(autocorrelation(&[&rising[..], &[f64::NAN]].concat()).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn the_level_is_no_part_of_the_shape(
            series in proptest::collection::vec(0i32..1000, 8..24), by in 0i32..1000, slow in 0i32..3,
        ) {
            let of = |by: i32| -> Vec<f64> {
                let slow = (0..series.len()).map(|i| if i == 0 { 4000 * slow } else { 0 });
                series.iter().zip(slow).map(|(x, slow)| f64::from(x + slow + by + 1)).collect()
            };
            let kinds = |s: &[f64]| -> Vec<_> {
                shape_of(s, 1.0, 9).warnings.iter().map(std::mem::discriminant).collect()
            };
            prop_assert_eq!(kinds(&of(by)), kinds(&of(0)));
            let (a, b) = (autocorrelation(&of(by)), autocorrelation(&of(0)));
            prop_assert!((a.unwrap_or(0.0) - b.unwrap_or(0.0)).abs() < 1e-9);
        }
    }
}
