//! Sequential tests: cumulative sums (Page, "Continuous inspection schemes", 1954), and how rarely they alarm by chance.
//!
//! A sum grows with what speaks for a change and shrinks with what speaks against it, never below 0; above its threshold
//! it alarms. How many values it takes on average until then, while nothing has changed, is the *run length in control*:
//! the only measure of false alarms of a test that never ends.

/// What a continuous sum's discrete steps overshoot its threshold by, on both ends (Siegmund, "Sequential Analysis", 1985,
/// chapter X: twice 0.583).
const OVERSHOOT: f64 = 1.166;
/// Steps from 0 to the threshold in which a sum of continuous values is followed by [`run_length`].
const CELLS: usize = 160;

/// Run length of a sum of z − `allowance` with normal z of mean `shift` and deviation 1, until it is above `threshold`:
/// Siegmund's approximation (the same book). With a shift of 0 it is that in control.
pub fn siegmund_run_length(allowance: f64, threshold: f64, shift: f64) -> f64 {
    let (drift, b) = (shift - allowance, threshold + OVERSHOOT);
    if drift.abs() < 1e-9 {
        return b * b;
    }
    let exponent = -2.0 * drift * b;
    (exponent.exp() - exponent - 1.0) / (2.0 * drift * drift)
}

/// The least threshold whose run length in control is `values` or more, by the same approximation. `allowance` above 0.
pub fn threshold_for(allowance: f64, values: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while siegmund_run_length(allowance, high, 0.0) < values && high < 1e6 {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if siegmund_run_length(allowance, middle, 0.0) < values { low = middle } else { high = middle }
    }
    high
}

/// Run length of a sum of independent steps by a Markov chain over cells of its range (Brook and Evans, "An approach to the
/// probability distribution of cusum run length", 1972). `below(x)` is the chance of a step of at most x.
pub fn run_length(threshold: f64, below: impl Fn(f64) -> f64) -> f64 {
    // The first cell, half as wide, is the sum at 0; the others have their centres at whole widths.
    let width = 2.0 * threshold / (2 * CELLS - 1) as f64;
    let chance = |from: usize, to: usize| {
        let at = |to: f64| below((to - from as f64) * width);
        match to {
            0 => at(0.5),
            to => at(to as f64 + 0.5) - at(to as f64 - 0.5),
        }
    };
    first_of_solution(CELLS, chance)
}

/// Run length of a [`EventCusum`] whose events come with this chance, independently: exact.
pub fn tally_run_length(up: u32, threshold: u32, chance: f64) -> f64 {
    let threshold = threshold as usize;
    let step = |from: usize, to: usize| {
        let down = if from.saturating_sub(1) == to { 1.0 - chance } else { 0.0 };
        let up = if from + up as usize == to { chance } else { 0.0 };
        down + up
    };
    first_of_solution(threshold, step)
}

/// The mean number of steps from state 0 until states 0..n are left, from the chances of one step: the first unknown of
/// (1 − P) L = 1.
fn first_of_solution(n: usize, chance: impl Fn(usize, usize) -> f64) -> f64 {
    // The first unknown last, so that it is found without going back.
    let place = |unknown: usize| n - 1 - unknown;
    let mut rows: Vec<Vec<f64>> = (0..n)
        .map(|row| {
            let of = |column| f64::from(row == column) - chance(place(row), place(column));
            (0..n).map(of).chain([1.0]).collect()
        })
        .collect();
    for pivot in 0..n {
        let (above, below) = rows.split_at_mut(pivot + 1);
        let top = &above[pivot];
        for row in below.iter_mut().filter(|row| row[pivot] != 0.0) {
            let factor = row[pivot] / top[pivot];
            row[pivot..].iter_mut().zip(&top[pivot..]).for_each(|(x, y)| *x -= factor * y);
        }
    }
    rows.last().map_or(0.0, |row| row[n] / row[n - 1])
}

/// A sum over events that should be rare: it goes up by `up` with each, down by one where there was none, never below 0.
/// The likelihood ratio test of a chance of `usual` against one of `bad` has steps of that form (Reynolds and Stoumbos,
/// "A CUSUM chart for monitoring a proportion when inspecting continuously", 1999).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventCusum {
    /// What an event adds.
    pub up: u32,
    /// From where on it alarms.
    pub threshold: u32,
}

impl EventCusum {
    /// For events of these chances, 0 < `usual` < `bad` < 1; the least threshold with a run length in control of `values` or
    /// more.
    pub fn for_rates(usual: f64, bad: f64, values: f64) -> EventCusum {
        let down = -((1.0 - bad) / (1.0 - usual)).ln();
        let up = ((bad / usual).ln() / down).round().max(1.0) as u32;
        let enough = |threshold: u32| tally_run_length(up, threshold, usual) >= values;
        // Doubled until it is enough, then halved between.
        let (mut low, mut high) = (1, up);
        while !enough(high) {
            (low, high) = (high, 2 * high);
        }
        while high - low > 1 {
            let middle = low.midpoint(high);
            if enough(middle) { high = middle } else { low = middle }
        }
        EventCusum { up, threshold: high }
    }

    /// The sum after one more value.
    pub fn next(&self, sum: u32, event: bool) -> u32 {
        if event { sum.saturating_add(self.up) } else { sum.saturating_sub(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Random, normal_below};

    fn normal_run_length(allowance: f64, threshold: f64, shift: f64) -> f64 {
        run_length(threshold, |x| normal_below(x + allowance - shift))
    }

    /// Values of tables: Lucas, "Combined Shewhart-CUSUM quality control schemes", 1982; Hawkins, 1993; twice the
    /// two-sided values.
    #[test]
    fn run_lengths_are_those_of_tables() {
        for (allowance, threshold, shift, table) in [
            (0.5, 4.0, 0.0, 335.0),
            (0.5, 5.0, 0.0, 930.0),
            (0.5, 4.0, 1.0, 8.38),
            (0.5, 5.0, 1.0, 10.4),
            (0.5, 5.0, 2.0, 4.01),
        ] {
            let chain = normal_run_length(allowance, threshold, shift);
            assert!((chain / table - 1.0).abs() < 0.015, "{allowance} {threshold} {shift}: {chain}");
            let approximation = siegmund_run_length(allowance, threshold, shift);
            assert!((approximation / table - 1.0).abs() < 0.05, "{allowance} {threshold}: {approximation}");
        }
    }

    #[test]
    fn thresholds_give_the_run_length_that_is_asked_for() {
        for values in [1e3, 1e5, 1e6] {
            let threshold = threshold_for(0.5, values);
            let chain = normal_run_length(0.5, threshold, 0.0);
            assert!((0.95..1.1).contains(&(chain / values)), "{values}: {threshold} {chain}");
        }
        for (usual, bad) in [(0.005, 0.1), (0.03, 0.2)] {
            let tally = EventCusum::for_rates(usual, bad, 1e5);
            assert!(tally_run_length(tally.up, tally.threshold, usual) >= 1e5);
            assert!(tally_run_length(tally.up, tally.threshold - 1, usual) < 1e5, "{tally:?}");
        }
    }

    /// By simulation: of tallies, which are exact, and of sums of normal values.
    #[test]
    fn run_lengths_are_those_of_simulation() {
        let mut random = Random::new(11);
        let tally = EventCusum::for_rates(0.05, 0.3, 1000.0);
        let mean =
            |lengths: Vec<u32>| lengths.iter().map(|n| f64::from(*n)).sum::<f64>() / lengths.len() as f64;
        for chance in [0.05, 0.3] {
            let lengths = (0..2000).map(|_| {
                let (mut sum, mut n) = (0, 0);
                while sum < tally.threshold {
                    (sum, n) = (tally.next(sum, random.unit() < chance), n + 1);
                }
                n
            });
            let (found, exact) =
                (mean(lengths.collect()), tally_run_length(tally.up, tally.threshold, chance));
            assert!((found / exact - 1.0).abs() < 0.1, "{chance}: {found} {exact}");
        }
        let lengths = (0..2000).map(|_| {
            let (mut sum, mut n) = (0.0f64, 0);
            while sum <= 5.0 {
                (sum, n) = ((sum + random.normal() - 0.5).max(0.0), n + 1);
            }
            n
        });
        let found = mean(lengths.collect());
        assert!((found / 930.0 - 1.0).abs() < 0.1, "{found}");
    }
}
