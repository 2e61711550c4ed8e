//! Repeated runs of one program, or of several in turn, until there are enough that count.
//!
//! What is run next, which runs are discarded and when it is enough are decided here; running is the caller's, so that all of it
//! can be tried on made-up runs.

mod analysis;
mod sweep;

pub use analysis::{BenchTargets, Program, benched, figures, how_it_ended, machine_warnings};
pub use sweep::{Parameter, ParameterError, fill, parse_parameter, places, sweep};

use model::{BenchRun, Charge, Clock, Observation};
use settle::{NoiseFloor, disturbances};

/// Seed of every resampling: the same runs give the same figures.
const SEED: u64 = 20_260_214;

/// What is to be run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// What runs are charged by.
    pub clock: Clock,
    /// Programs, which take turns.
    pub programs: usize,
    /// Runs of each that count.
    pub runs: usize,
    /// Runs of each before them, of which nothing is kept.
    pub warmup: usize,
    /// Go on until the 95 % interval of each median reaches at most so many percent of it to each side.
    pub until_ci: Option<f64>,
    /// With `until_ci`: at most so many runs of each, discarded ones included; no fewer than `runs`.
    pub max_runs: usize,
}

impl Plan {
    /// How often the intervals are looked at, at most.
    pub fn looks(&self) -> usize {
        let bigger = |runs: &usize| Some(grown(*runs)).filter(|_| *runs < self.max_runs);
        self.until_ci.map_or(1, |_| std::iter::successors(Some(self.runs.max(1)), bigger).count())
    }
}

/// So many runs there are at most at the next look: half as many again. Estimates of how many are needed are rough.
fn grown(runs: usize) -> usize {
    runs + runs.div_ceil(2)
}

/// What is done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// The program.
    pub program: usize,
    /// Nothing of this run is kept.
    pub warmup: bool,
    /// Runs that are done, warm-ups and discarded runs included.
    pub done: usize,
    /// Runs there will be, as far as is known.
    pub expected: usize,
}

/// How the runs came to an end.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop<E> {
    /// There are enough.
    Enough,
    /// The caller wanted no more.
    BenchTargets,
    /// A run could not be made; those before it are kept.
    Failed {
        /// Which program.
        program: usize,
        /// The number of the run among those of its program that are kept, from 1; 0 in a warm-up.
        run: usize,
        /// Why.
        error: E,
    },
}

/// Makes the runs: programs in turn, A B A B …, so that whatever changes with time meets all of them alike. Discarded runs are
/// made again, for each program at most as many as runs were asked for. `run` makes one; `None`: it was ended because the
/// caller wants no more. Gives the kept runs of each program.
pub fn bench<E>(
    plan: &Plan,
    floor: &NoiseFloor,
    mut run: impl FnMut(Next) -> Result<Option<Observation>, E>,
) -> (Vec<Vec<BenchRun>>, Stop<E>) {
    let mut kept: Vec<Vec<BenchRun>> = vec![Vec::new(); plan.programs];
    let mut progress = Progress { plan, target: plan.runs, done: 0 };
    let stop = make(plan, floor, &mut kept, &mut progress, &mut run);
    for runs in kept.iter_mut().filter(|runs| runs.len() < plan.runs) {
        condemn(runs, plan.clock);
    }
    (kept, stop)
}

fn make<E>(
    plan: &Plan,
    floor: &NoiseFloor,
    kept: &mut [Vec<BenchRun>],
    progress: &mut Progress,
    run: &mut impl FnMut(Next) -> Result<Option<Observation>, E>,
) -> Stop<E> {
    for number in 0..plan.warmup * plan.programs {
        let program = number % plan.programs;
        match run(progress.next(program, true, kept)) {
            Ok(Some(_)) => progress.done += 1,
            Ok(None) => return Stop::BenchTargets,
            Err(error) => return Stop::Failed { program, run: 0, error },
        }
    }
    loop {
        let round: Vec<usize> = (0..plan.programs).filter(|p| progress.wants(&kept[*p])).collect();
        if round.is_empty() && !progress.goes_on(kept) {
            return Stop::Enough;
        }
        for program in round {
            match run(progress.next(program, false, kept)) {
                Ok(Some(observation)) => keep(&mut kept[program], observation, plan, floor),
                Ok(None) => return Stop::BenchTargets,
                Err(error) => return Stop::Failed { program, run: kept[program].len() + 1, error },
            }
            progress.done += 1;
        }
    }
}

/// Keeps a run. Which runs are discarded shows only among all of them, so it is looked at when there are as many as were asked
/// for; from then on each is judged when it comes, and no judgement is taken back.
fn keep(runs: &mut Vec<BenchRun>, observation: Observation, plan: &Plan, floor: &NoiseFloor) {
    let disturbed = disturbances(&observation, floor).iter().map(|cause| cause.name.to_string()).collect();
    runs.push(BenchRun { observation, disturbed, void: false });
    if runs.len() == plan.runs {
        condemn(runs, plan.clock);
    } else if runs.len() > plan.runs {
        let from = analysis::void_from(runs, plan.clock);
        runs.iter_mut().rev().take(1).for_each(|run| run.void = is_void(run, plan.clock, from));
    }
}

/// Says of each run whether it is discarded.
pub(crate) fn condemn(runs: &mut [BenchRun], clock: Clock) {
    let from = analysis::void_from(runs, clock);
    runs.iter_mut().for_each(|run| run.void = is_void(run, clock, from));
}

/// What disturbs a run adds time, and no counts.
fn is_void(run: &BenchRun, clock: Clock, from: Option<f64>) -> bool {
    clock.varies() && !run.disturbed.is_empty() && from.is_some_and(|from| charge(run, clock) > Some(from))
}

/// What a run is charged.
fn charge(run: &BenchRun, clock: Clock) -> Option<f64> {
    Charge::measured(clock, &run.observation).known().map(|charge| charge.amount as f64)
}

fn void(runs: &[BenchRun]) -> usize {
    runs.iter().filter(|run| run.void).count()
}

/// How far a bench has come.
struct Progress<'a> {
    plan: &'a Plan,
    /// Runs that are wanted of each program now.
    target: usize,
    done: usize,
}

impl Progress<'_> {
    fn next(&self, program: usize, warmup: bool, kept: &[Vec<BenchRun>]) -> Next {
        let void: usize = kept.iter().map(|runs| void(runs).min(self.plan.runs)).sum();
        let expected = (self.plan.warmup + self.target) * self.plan.programs + void;
        Next { program, warmup, done: self.done, expected: expected.max(self.done + 1) }
    }

    /// Whether a program needs one more run to have as many that count as are wanted. More discarded runs than runs were asked
    /// for are no bad luck; the report will say so.
    fn wants(&self, runs: &[BenchRun]) -> bool {
        let most = self.plan.until_ci.map_or(usize::MAX, |_| self.plan.max_runs);
        runs.len() < (self.target + void(runs).min(self.plan.runs)).min(most)
    }

    /// Raises the target where an interval is still too wide.
    fn goes_on(&mut self, kept: &[Vec<BenchRun>]) -> bool {
        let Some(percent) = self.plan.until_ci else { return false };
        // Too few for an interval: one more will do.
        let more = kept.iter().map(|runs| {
            stats::more_runs(&analysis::counted(runs, self.plan.clock), percent, self.plan.looks())
                .unwrap_or(1)
        });
        let more = more.max().unwrap_or(0).min(grown(self.target) - self.target);
        let target = (self.target + more).min(self.plan.max_runs);
        let goes_on = target > self.target;
        self.target = target.max(self.target);
        goes_on
    }
}

#[cfg(test)]
mod tests;
