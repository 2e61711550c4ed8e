//! Which layout is run next.

use crate::peaks::{Layouts, candidates, moves};
use stats::{Random, Rounds};
use std::collections::BTreeSet;

/// The stack begins at a multiple of so many bytes (System V ABI for x86-64, 3.2.2), so that layouts between two of those
/// differ in little. The quick way looks at one of them.
const STACK: u32 = 16;
/// Runs of each layout at first, in the quick way.
const FIRST: usize = 15;
/// Runs of each layout that is looked at closely, in the quick way.
const CLOSE: usize = 25;
/// Gaps between two layouts that are looked into, in the quick way.
const GAPS: usize = 40;
/// Layouts where nothing moves that are run beside those, so that there is something to hold them against.
const CONTROLS: usize = 24;
/// Layouts of each peak in its second sample, at most.
const OF_PEAK: usize = 8;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The first layout, in bytes.
    pub from: u32,
    /// The last one.
    pub to: u32,
    /// Bytes from one to the next, at least 1.
    pub step: u32,
    /// Runs of each that count, at least 1.
    pub runs: usize,
    /// Sample, and look closely only where something moves.
    pub quick: bool,
    /// Seed of the order.
    pub seed: u64,
}

/// A sweep under way. What is run next follows from the plan and from the runs so far alone.
#[derive(Clone, Debug)]
pub struct Sweep {
    plan: Plan,
    stage: Stage,
    /// The layouts of this stage.
    at: Vec<u32>,
    rounds: Rounds,
    seen: Layouts,
    second: Layouts,
    made: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// More may follow.
    Coarse,
    /// The layouts among which peaks are looked for.
    Fine,
    /// The second sample: the peaks that were found, and layouts to compare them to.
    Confirming,
}

impl Sweep {
    /// The begin of a sweep.
    pub fn new(plan: Plan) -> Sweep {
        let step = if plan.quick { plan.step.max(STACK) } else { plan.step };
        let at: Vec<u32> = (plan.from..=plan.to).step_by(step.max(1) as usize).collect();
        let (stage, runs) = match plan.quick && step > plan.step {
            true => (Stage::Coarse, plan.runs.min(FIRST)),
            false => (Stage::Fine, if plan.quick { plan.runs.min(CLOSE) } else { plan.runs }),
        };
        let rounds = Rounds::new(at.len(), runs, plan.seed);
        Sweep { plan, stage, at, rounds, seen: Layouts::default(), second: Layouts::default(), made: 0 }
    }

    /// The layout that is run next; `None`: all is done.
    pub fn next(&self) -> Option<u32> {
        Some(self.at[self.rounds.next()?])
    }

    /// Notes the run of the next one: what was measured, and whether it counts.
    pub fn put(&mut self, value: f64, counts: bool) {
        let Some(at) = self.next() else { return };
        self.made += 1;
        self.rounds.put(counts);
        let sample = if self.stage == Stage::Confirming { &mut self.second } else { &mut self.seen };
        sample.add(at, value, counts);
        if self.rounds.next().is_none() && self.stage == Stage::Coarse {
            self.look_closely();
        }
        if self.rounds.next().is_none() && self.stage == Stage::Fine {
            self.confirm();
        }
    }

    /// Runs that were made.
    pub fn made(&self) -> usize {
        self.made
    }

    /// Runs that are still to be made, as far as is known.
    pub fn left(&self) -> usize {
        self.rounds.left()
    }

    /// What was measured, without the second sample.
    pub fn seen(&self) -> &Layouts {
        &self.seen
    }

    /// The second sample: independent runs of peaks and of other layouts.
    pub fn second(&self) -> &Layouts {
        &self.second
    }

    /// Between two neighbours that differ something moves: the layouts between them are run, and the two again. What they
    /// showed before is forgotten, since they were chosen by it.
    fn look_closely(&mut self) {
        self.stage = Stage::Fine;
        let moves = moves(&self.seen, GAPS);
        let mut at: BTreeSet<u32> = BTreeSet::new();
        for (from, to) in moves {
            at.extend((from..=to).filter(|at| (at - self.plan.from).is_multiple_of(self.plan.step)));
            at.extend([from, to]);
        }
        if at.is_empty() {
            return;
        }
        let still = self.at.iter().copied().filter(|other| !at.contains(other)).collect();
        at.extend(self.controls(still, 1));
        self.seen.forget(&at);
        self.run_these(at, 2);
    }

    /// What stands out is run again, beside layouts that do not. A neighbour that slowed a layout by chance is unlikely to slow the same one
    /// again.
    fn confirm(&mut self) {
        self.stage = Stage::Confirming;
        let peaks = candidates(&self.seen);
        let (mut at, mut outside) = (BTreeSet::new(), Vec::new());
        for peak in &peaks {
            let row: Vec<u32> =
                self.seen.iter().map(|(at, _)| at).filter(|at| (peak.from..=peak.to).contains(at)).collect();
            at.extend(row.iter().copied().step_by(row.len().div_ceil(OF_PEAK).max(1)));
        }
        if at.is_empty() {
            return;
        }
        for (other, _) in self.seen.iter() {
            if peaks.iter().all(|peak| !(peak.from..=peak.to).contains(&other)) {
                outside.push(other);
            }
        }
        at.extend(self.controls(outside, 3));
        self.run_these(at, 4);
    }

    /// A random choice of these layouts.
    fn controls(&self, mut from: Vec<u32>, stream: u64) -> impl Iterator<Item = u32> + use<> {
        Random::new(self.plan.seed ^ stream).shuffle(&mut from);
        from.into_iter().take(CONTROLS)
    }

    fn run_these(&mut self, at: BTreeSet<u32>, stream: u64) {
        self.at = at.into_iter().collect();
        self.rounds = Rounds::new(self.at.len(), self.plan.runs.min(CLOSE), self.plan.seed ^ stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(quick: bool) -> Plan {
        Plan { from: 0, to: 400, step: 1, runs: 12, quick, seed: 3 }
    }

    /// Runs it against a machine, and gives the layouts in order.
    fn run(plan: Plan, machine: impl Fn(u32, usize) -> f64) -> (Sweep, Vec<u32>) {
        let mut sweep = Sweep::new(plan);
        let mut made = Vec::new();
        while let Some(at) = sweep.next() {
            sweep.put(machine(at, made.len()), true);
            made.push(at);
        }
        assert_eq!(sweep.left(), 0);
        (sweep, made)
    }

    fn noise(n: usize) -> f64 {
        1.0 + 0.001 * Random::new(n as u64).normal()
    }

    #[test]
    fn all_layouts_have_their_runs() {
        let (_, made) = run(plan(false), |_, n| noise(n));
        assert_eq!(made.len(), 401 * 12);
        let first: BTreeSet<u32> = made[..401].iter().copied().collect();
        assert_eq!(first.len(), 401, "every round has all of them");
    }

    #[test]
    fn the_quick_way_looks_closely_where_something_moves() {
        let peak = |at: u32| if (100..116).contains(&at) { 1.2 } else { 1.0 };
        let (sweep, made) = run(plan(true), |at, n| peak(at) * noise(n));
        assert!(made.len() < 401 * 4, "{}", made.len());
        let seen: Vec<u32> = sweep.seen().iter().map(|(at, _)| at).collect();
        assert!((97..=127).all(|at| seen.contains(&at)), "{seen:?}");
        let (_, flat) = run(plan(true), |_, n| noise(n));
        assert_eq!(flat.len(), 26 * 12, "nothing moves");
    }

    /// A sweep that is stopped and told again of the runs so far goes on as it would have.
    #[test]
    fn what_follows_depends_on_the_runs_alone() {
        let machine = |at: u32, n: usize| if (200..216).contains(&at) { 1.3 * noise(n) } else { noise(n) };
        let (_, whole) = run(plan(true), machine);
        for stop in [0, 1, 100, 312, 313, whole.len() - 1] {
            let mut sweep = Sweep::new(plan(true));
            for (n, at) in whole[..stop].iter().enumerate() {
                assert_eq!(sweep.next(), Some(*at));
                sweep.put(machine(*at, n), true);
            }
            let mut rest = Vec::new();
            while let Some(at) = sweep.next() {
                sweep.put(machine(at, sweep.made()), true);
                rest.push(at);
            }
            assert_eq!(rest, whole[stop..], "after {stop}");
        }
    }
}
