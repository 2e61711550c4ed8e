//! What stands out among layouts, and whether chance alone could have made it. Pure.

use model::{LayoutPeak, LayoutPoint};
use stats::{chance, range};
use std::collections::{BTreeMap, BTreeSet};

/// Chance of finding anything where there is nothing, over all layouts together.
const FALSE_ALARM: f64 = 0.01;
/// Less than this above the others is no peak, however sure.
const LEAST: f64 = 0.005;
/// A peak reaches as far as half of its height.
const HALF: f64 = 0.5;
/// Deviation of the median of n normal values: sqrt(π/2) of that of their mean.
const OF_MEDIAN: f64 = 1.2533;
/// A median absolute deviation, as a standard deviation of normal values.
const OF_DEVIATION: f64 = 1.4826;
/// Differences between neighbours from so many deviations on are looked into, in the quick way: too many do little harm
/// there, since all are measured again.
const MOVES: f64 = 3.5;
/// Number of runs before and after a run that show how slow the machine was at that time.
const ABOUT: usize = 15;
/// Runs of other layouts a peak is held against.
const OTHERS: usize = 2000;

/// Runs of layouts, in the order in which they were made: the layout, the value, and whether it counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layouts {
    runs: Vec<(u32, f64, bool)>,
}

impl Layouts {
    /// Notes a run of a layout.
    pub fn add(&mut self, at: u32, value: f64, counts: bool) {
        self.runs.push((at, value, counts));
    }

    pub(crate) fn forget(&mut self, layouts: &BTreeSet<u32>) {
        self.runs.retain(|(at, _, _)| !layouts.contains(at));
    }

    /// Each layout with its runs that count. Where fewer than half of them do, what disturbed them disturbs always: all count.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Vec<f64>)> {
        self.grouped(|n| self.runs[n].1)
    }

    fn grouped(&self, value: impl Fn(usize) -> f64) -> impl Iterator<Item = (u32, Vec<f64>)> {
        let mut of: BTreeMap<u32, Vec<(f64, bool)>> = BTreeMap::new();
        for (n, (at, _, counts)) in self.runs.iter().enumerate() {
            of.entry(*at).or_default().push((value(n), *counts));
        }
        of.into_iter().map(|(at, runs)| {
            let counted: Vec<f64> = runs.iter().filter(|run| run.1).map(|run| run.0).collect();
            let enough = 2 * counted.len() >= runs.len();
            (at, if enough { counted } else { runs.iter().map(|run| run.0).collect() })
        })
    }

    /// The same without what slowed all layouts at a time: drift, and neighbours that come and go.
    ///
    /// Each run is divided by the median of its layout. The median of these ratios over the runs just before and after it, most of them of
    /// other layouts, is the slowdown at that time (one step of Tukey's median polish, Exploratory Data Analysis, 1977).
    fn detrended(&self) -> Vec<(u32, Vec<f64>)> {
        let usual: BTreeMap<u32, f64> =
            self.iter().filter_map(|(at, runs)| Some((at, stats::median(&runs)?))).collect();
        let above = |(at, value, _): &(u32, f64, bool)| {
            let ratio = value / usual.get(at)?;
            (ratio > 0.0 && ratio.is_finite()).then(|| ratio.ln())
        };
        let above: Vec<Option<f64>> = self.runs.iter().map(above).collect();
        let slowed = |n: usize| {
            let about = n.saturating_sub(ABOUT)..(n + ABOUT + 1).min(above.len());
            let near: Vec<f64> = above[about].iter().copied().flatten().collect();
            stats::median(&near).map_or(1.0, f64::exp)
        };
        let detrended: Vec<f64> = (0..self.runs.len()).map(|n| self.runs[n].1 / slowed(n)).collect();
        self.grouped(|n| detrended[n]).filter(|(_, runs)| !runs.is_empty()).collect()
    }

    /// All runs, and those that do not count.
    pub fn runs(&self) -> [usize; 2] {
        let all = self.runs.len();
        let counted: usize = self.iter().map(|(_, runs)| runs.len()).sum();
        [all, all - counted]
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The layouts, ascending.
    pub points: Vec<LayoutPoint>,
    /// Mean of the medians of those that do not stand out; `None` without layouts.
    pub mean: Option<f64>,
    /// What stands out, in both samples.
    pub peaks: Vec<LayoutPeak>,
    /// What stands out in the first sample, and either not in the second or was not run again.
    pub unconfirmed: Vec<LayoutPeak>,
    /// Greatest less least median, in percent of the mean.
    pub sensitivity_pct: Option<f64>,
    /// What that figure comes to in 19 of 20 cases by chance.
    pub chance_pct: Option<f64>,
}

/// A layout: where, its median and how far that may vary, both on a logarithmic scale.
struct Level {
    at: u32,
    y: f64,
    error: f64,
}

/// Layouts with their levels; how far medians of neighbours differ without reason.
///
/// That noise is taken from the differences of neighbours, which few edges do not change, however high what lies between
/// them is.
fn levels(runs: &[(u32, Vec<f64>)]) -> Vec<Level> {
    let of = |(at, runs): &(u32, Vec<f64>)| {
        let logs: Vec<f64> = runs.iter().filter(|value| **value > 0.0).map(|value| value.ln()).collect();
        let y = stats::median(&logs)?;
        let away: Vec<f64> = logs.iter().map(|log| (log - y).abs()).collect();
        let deviation = OF_DEVIATION * stats::median(&away)?;
        Some(Level { at: *at, y, error: OF_MEDIAN * deviation / (logs.len() as f64).sqrt() })
    };
    let mut levels: Vec<Level> = runs.iter().filter_map(of).collect();
    let steps: Vec<f64> = levels.windows(2).map(|pair| (pair[1].y - pair[0].y).abs()).collect();
    let noise = stats::median(&steps).map_or(0.0, |step| OF_DEVIATION * step / std::f64::consts::SQRT_2);
    levels.iter_mut().for_each(|level| level.error = level.error.max(noise));
    levels
}

/// Neighbours between which something moves, the greatest moves first, at most so many.
pub(crate) fn moves(layouts: &Layouts, most: usize) -> Vec<(u32, u32)> {
    let levels = levels(&layouts.detrended());
    let step = |pair: &[Level]| {
        let size = (pair[1].y - pair[0].y).abs();
        let error = pair[0].error.hypot(pair[1].error);
        (size > (MOVES * error).max(LEAST)).then_some((size, pair[0].at, pair[1].at))
    };
    let mut moves: Vec<(f64, u32, u32)> = levels.windows(2).filter_map(step).collect();
    moves.sort_by(|a, b| b.0.total_cmp(&a.0));
    moves.into_iter().take(most).map(|(_, from, to)| (from, to)).collect()
}

/// Finds what stands out.
///
/// A peak is a row of layouts whose medians reach half the height of the greatest of them, which lies above the middle of all
/// layouts by more than chance does to any of them in one sweep of a hundred (normal tail over the number of layouts), and
/// by half a percent at least; and whose runs are slower than those of the other layouts by the rank test of Mann and
/// Whitney, at the same level.
///
/// The first condition assumes normal noise, which neighbours that come and go do not cause. So a second, independent sample must confirm the
/// peak: by the same rank test, its level divided by the number of peaks, and with at least half of the height. Its runs are made in rounds
/// of random order, so the test is valid for any noise.
pub fn find(first: &Layouts, second: &Layouts) -> Found {
    let (mean, found) = standing_out(&first.detrended());
    let second = second.detrended();
    let (peaks, unconfirmed) = found.iter().partition(|peak| is_confirmed(peak, &found, &second));
    let runs: Vec<(u32, Vec<f64>)> = first.iter().filter(|(_, runs)| !runs.is_empty()).collect();
    let samples: Vec<&[f64]> = runs.iter().map(|(_, runs)| &**runs).collect();
    let percent = |range: f64| Some(100.0 * range / mean?);
    Found {
        points: runs.iter().filter_map(point).collect(),
        mean,
        peaks,
        unconfirmed,
        sensitivity_pct: range(&samples).and_then(percent),
        chance_pct: chance(&samples).and_then(percent),
    }
}

/// What stands out in one sample.
pub(crate) fn candidates(layouts: &Layouts) -> Vec<LayoutPeak> {
    standing_out(&layouts.detrended()).1
}

/// The mean of the layouts that do not stand out, and the peaks of those that do.
fn standing_out(runs: &[(u32, Vec<f64>)]) -> (Option<f64>, Vec<LayoutPeak>) {
    let levels = levels(runs);
    let rows = rows(&levels);
    let inside = |n: usize| rows.iter().any(|row| row.contains(&n));
    let outside: Vec<usize> = (0..levels.len()).filter(|n| !inside(*n)).collect();
    let medians: Vec<f64> = outside.iter().map(|n| levels[*n].y.exp()).collect();
    let mean = Some(medians.iter().sum::<f64>() / medians.len() as f64).filter(|mean| *mean > 0.0);
    let level = FALSE_ALARM / levels.len().max(1) as f64;
    let others = sample(&outside.iter().flat_map(|n| runs[*n].1.iter().copied()).collect::<Vec<f64>>());
    let peak = |row: &Vec<usize>| {
        let (first, last) = (*row.first()?, *row.last()?);
        let own: Vec<f64> = row.iter().flat_map(|n| runs[*n].1.iter().copied()).collect();
        let p = stats::mann_whitney(&others, &own)?.p;
        let heights: Vec<f64> = row.iter().map(|n| levels[*n].y.exp()).collect();
        let height_pct = 100.0 * (stats::median(&heights)? / mean? - 1.0);
        // To the next layout; behind the last one as far as before it.
        let next = levels.get(last + 1).map(|level| level.at - levels[last].at);
        let before = || last.checked_sub(1).map(|n| levels[last].at - levels[n].at);
        let width_bytes = levels[last].at - levels[first].at + next.or_else(before).unwrap_or(1);
        let (from, to) = (levels[first].at, levels[last].at);
        (p < level).then_some(LayoutPeak { from, to, width_bytes, height_pct, p })
    };
    let peaks = rows.iter().filter_map(peak).collect();
    (mean, peaks)
}

/// Whether a second sample shows a peak that was found in the first, beside others.
fn is_confirmed(peak: &LayoutPeak, found: &[LayoutPeak], second: &[(u32, Vec<f64>)]) -> bool {
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for (at, runs) in second {
        if (peak.from..=peak.to).contains(at) {
            own.extend(runs);
        } else if found.iter().all(|other| !(other.from..=other.to).contains(at)) {
            others.extend(runs);
        }
    }
    let height = || Some(100.0 * (stats::median(&own)? / stats::median(&others)? - 1.0));
    let test = stats::mann_whitney(&others, &own);
    test.is_some_and(|test| test.p < FALSE_ALARM / found.len() as f64)
        && height().is_some_and(|height| height >= HALF * peak.height_pct)
}

fn point((at, runs): &(u32, Vec<f64>)) -> Option<LayoutPoint> {
    let whole = |value: f64| value.round().max(0.0) as u64;
    let [least, most] = [f64::min, f64::max].map(|pick| runs.iter().copied().reduce(pick));
    Some(LayoutPoint {
        at: *at,
        median: whole(stats::median(runs)?),
        min: whole(least?),
        max: whole(most?),
        n: runs.len(),
    })
}

/// Rows of layouts that stand out, by their places.
fn rows(levels: &[Level]) -> Vec<Vec<usize>> {
    let logs: Vec<f64> = levels.iter().map(|level| level.y).collect();
    let Some(middle) = stats::median(&logs) else { return Vec::new() };
    let Some(far) = stats::normal_beyond(FALSE_ALARM / levels.len() as f64) else { return Vec::new() };
    let above = |n: usize| levels[n].y - middle;
    let stands_out = |n: &usize| above(*n) > (far * levels[*n].error).max(LEAST);
    let mut rows: Vec<Vec<usize>> = Vec::new();
    let mut places: Vec<usize> = (0..levels.len()).filter(stands_out).collect();
    places.sort_by(|a, b| above(*b).total_cmp(&above(*a)));
    for top in places {
        if rows.iter().any(|row| row.contains(&top)) {
            continue;
        }
        let belongs = |n: &usize| above(*n) > HALF * above(top) && !rows.iter().any(|row| row.contains(n));
        let left = (0..top).rev().take_while(belongs).last().unwrap_or(top);
        let right = (top + 1..levels.len()).take_while(belongs).last().unwrap_or(top);
        rows.push((left..=right).collect());
    }
    rows.sort();
    rows
}

/// At most [`OTHERS`] of the values, evenly taken.
fn sample(values: &[f64]) -> Vec<f64> {
    values.iter().copied().step_by(values.len().div_ceil(OTHERS).max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Plan, Sweep};
    use stats::Random;

    /// Noise as times have it: bounded below, a long tail, one in a hundred far off.
    fn noisy(base: f64, random: &mut Random) -> f64 {
        let far = if random.below(100) == 0 { 0.2 * random.exponential() } else { 0.0 };
        base * (1.0 + 0.01 * random.exponential() + far)
    }

    /// The peaks of issue and notebook: 16 wide, 4093 apart.
    fn planted(at: u32) -> f64 {
        match at {
            1811..=1826 => 1.14e6,
            5904..=5919 => 1.30e6,
            _ => 1e6,
        }
    }

    fn swept(quick: bool, runs: usize, seed: u64, machine: impl Fn(u32) -> f64) -> (Found, usize) {
        let mut sweep = Sweep::new(Plan { from: 0, to: 8192, step: 1, runs, quick, seed });
        let (mut random, mut made) = (Random::new(seed), 0);
        while let Some(at) = sweep.next() {
            sweep.put(noisy(machine(at), &mut random), true);
            made += 1;
        }
        (find(sweep.seen(), sweep.second()), made)
    }

    fn exactly_the_planted(found: &Found, what: &str) {
        let ends: Vec<(u32, u32, u32)> =
            found.peaks.iter().map(|peak| (peak.from, peak.to, peak.width_bytes)).collect();
        assert_eq!(ends, [(1811, 1826, 16), (5904, 5919, 16)], "{what}");
        for (peak, height) in found.peaks.iter().zip([14.0, 30.0]) {
            assert!((peak.height_pct - height).abs() < 0.7, "{what}: {peak:?}");
        }
        let sensitivity = found.sensitivity_pct.unwrap();
        assert!((sensitivity - 30.0).abs() < 3.0, "{what}: {sensitivity}");
    }

    #[test]
    fn planted_peaks_are_found_exactly_and_nothing_else() {
        for seed in 0..3 {
            exactly_the_planted(&swept(false, 30, seed, planted).0, "all layouts");
        }
        for seed in 0..20 {
            let (found, made) = swept(true, 100, seed, planted);
            exactly_the_planted(&found, "quick");
            assert!(made < 16_000, "{made}");
        }
    }

    #[test]
    fn there_is_nothing_in_flat_noise() {
        for seed in 0..20 {
            for (found, _) in [swept(true, 100, 100 + seed, |_| 1e6), swept(false, 10, 200 + seed, |_| 1e6)] {
                assert_eq!(found.peaks, [], "seed {seed}");
                let (seen, chance) = (found.sensitivity_pct.unwrap(), found.chance_pct.unwrap());
                assert!(seen < 1.3 * chance, "seed {seed}: {seen} {chance}");
            }
        }
    }

    /// A neighbour on the core's other hyper-thread: it comes and goes, and slows three runs in four while it is there.
    fn neighbour(seed: u64) -> impl FnMut() -> f64 {
        let (mut random, mut left, mut there) = (Random::new(seed), 0usize, false);
        move || {
            if left == 0 {
                (there, left) = (!there, 20 + random.below(2000));
            }
            left -= 1;
            if there && random.below(4) > 0 { 1.12 + 0.08 * random.unit() } else { 1.0 }
        }
    }

    const IDLE: &str = include_str!("../../settle/data/epochs-idle.csv");
    const LOADED: &str = include_str!("../../settle/data/epochs-loaded.csv");

    /// Neighbours on the host that slow it for seconds, as recorded by a program that runs for a third of a second. `runs` of the program here
    /// take as long.
    fn epochs(text: &str, runs: usize, seed: u64) -> impl FnMut() -> f64 + use<> {
        let lines = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
        let times: Vec<f64> = lines.map(|line| line.parse().unwrap()).collect();
        let mut n = runs * Random::new(seed).below(times.len());
        move || {
            n += 1;
            times[n / runs % times.len()] / times[0]
        }
    }

    fn swept_beside(seed: u64, machine: impl Fn(u32) -> f64, mut noise: impl FnMut() -> f64) -> Found {
        let mut sweep = Sweep::new(Plan { from: 0, to: 8192, step: 1, runs: 100, quick: true, seed });
        let mut random = Random::new(seed);
        while let Some(at) = sweep.next() {
            sweep.put(noise() * noisy(machine(at), &mut random), true);
        }
        find(sweep.seen(), sweep.second())
    }

    #[test]
    fn neighbours_that_come_and_go_are_no_peaks() {
        let mut unconfirmed = 0;
        for seed in 0..40 {
            let beside = |noise: &mut dyn FnMut() -> f64| swept_beside(seed, |_| 1e6, noise);
            let found = [
                beside(&mut neighbour(seed)),
                beside(&mut epochs(IDLE, 1, seed)),
                beside(&mut epochs(LOADED, 1, seed)),
                beside(&mut epochs(IDLE, 180, seed)),
                beside(&mut epochs(LOADED, 180, seed)),
            ];
            for found in found {
                assert_eq!(found.peaks, [], "seed {seed}");
                unconfirmed += found.unconfirmed.len();
            }
        }
        assert!(unconfirmed > 0, "a sample alone shows some");
    }

    #[test]
    fn peaks_of_5_percent_are_found_beside_neighbours() {
        let planted = |at| if (3000..3064).contains(&at) { 1.05e6 } else { 1e6 };
        let found = |seed: u64, noise: &mut dyn FnMut() -> f64| {
            let found = swept_beside(seed, planted, noise).peaks;
            assert!(found.iter().all(|peak| peak.from <= 3063 && 2990 <= peak.to), "{found:?}");
            usize::from(!found.is_empty())
        };
        let count = |noise: &dyn Fn(u64) -> Box<dyn FnMut() -> f64>| -> usize {
            (0..20).map(|seed| found(seed, &mut noise(seed))).sum()
        };
        let seen = [
            count(&|seed| Box::new(epochs(IDLE, 180, seed))),
            count(&|seed| Box::new(epochs(LOADED, 180, seed))),
            count(&|seed| Box::new(neighbour(seed))),
        ];
        assert!(seen[0] == 20 && seen[1] == 20 && seen[2] >= 10, "{seen:?}");
    }

    #[test]
    fn a_wide_level_is_one_peak_and_ends_where_it_ends() {
        let (found, _) = swept(true, 100, 1, |at| if (3000..5000).contains(&at) { 1.05e6 } else { 1e6 });
        let ends: Vec<(u32, u32)> = found.peaks.iter().map(|peak| (peak.from, peak.to)).collect();
        assert_eq!(ends, [(3000, 4999)]);
    }

    #[test]
    fn few_layouts_and_odd_values_are_no_trouble() {
        let find = |layouts: &Layouts| find(layouts, &Layouts::default());
        assert_eq!(find(&Layouts::default()).peaks, []);
        let mut layouts = Layouts::default();
        layouts.add(0, 5.0, true);
        assert_eq!(find(&layouts).mean.map(f64::round), Some(5.0));
        (0..20).for_each(|_| layouts.add(1, 5.0, false));
        (0..20).for_each(|_| layouts.add(2, 0.0, true));
        let found = find(&layouts);
        assert_eq!((found.points.len(), layouts.runs()), (3, [41, 0]));
    }
}
