//! Repeated runs of one program, or of several in turn, until there are enough that count.
//!
//! What is run next, which runs are void and when it is enough are decided here; running is the caller's, so that all of it
//! can be tried on made-up runs.

mod analysis;
mod sweep;

pub use analysis::{Asked, Program, benched, how_it_ended, machine_warnings};
pub use sweep::{Parameter, ParameterError, fill, parse_parameter, sweep};

use analysis::void_runs;
use model::Observation;
use settle::Floor;

/// Seed of every resampling: the same runs give the same figures.
const SEED: u64 = 20_260_214;

/// What is to be run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Programs, which take turns.
    pub programs: usize,
    /// Runs of each that count.
    pub runs: usize,
    /// Runs of each before them, of which nothing is kept.
    pub warmup: usize,
    /// Go on until the 95 % interval of each median reaches at most so many percent of it to each side.
    pub until_ci: Option<f64>,
    /// With `until_ci`: at most so many runs of each that count.
    pub max_runs: usize,
}

/// What is done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// The program.
    pub program: usize,
    /// Nothing of this run is kept.
    pub warmup: bool,
    /// Runs that are done, warm-ups and void runs included.
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
    Asked,
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

/// Makes the runs: programs in turn, A B A B …, so that whatever changes with time meets all of them alike. Void runs are
/// made again, for each program at most as many as runs were asked for. `run` makes one; `None`: it was ended because the
/// caller wants no more. Gives the kept runs of each program.
pub fn bench<E>(
    plan: &Plan,
    floor: &Floor,
    mut run: impl FnMut(Next) -> Result<Option<Observation>, E>,
) -> (Vec<Vec<Observation>>, Stop<E>) {
    let mut kept: Vec<Vec<Observation>> = vec![Vec::new(); plan.programs];
    let mut progress = Progress::new(plan);
    for number in 0..plan.warmup * plan.programs {
        let program = number % plan.programs;
        match run(progress.next(program, true)) {
            Ok(Some(_)) => progress.done += 1,
            Ok(None) => return (kept, Stop::Asked),
            Err(error) => return (kept, Stop::Failed { program, run: 0, error }),
        }
    }
    loop {
        let round: Vec<usize> = (0..plan.programs).filter(|p| progress.wants(&kept[*p], *p, floor)).collect();
        if round.is_empty() && !progress.goes_on(&kept, floor) {
            return (kept, Stop::Enough);
        }
        for program in round {
            match run(progress.next(program, false)) {
                Ok(Some(observation)) => kept[program].push(observation),
                Ok(None) => return (kept, Stop::Asked),
                Err(error) => {
                    let run = kept[program].len() + 1;
                    return (kept, Stop::Failed { program, run, error });
                }
            }
            progress.done += 1;
        }
    }
}

/// How far a bench has come.
struct Progress<'a> {
    plan: &'a Plan,
    /// Runs that are wanted of each program now.
    target: usize,
    done: usize,
    void: Vec<usize>,
}

impl<'a> Progress<'a> {
    fn new(plan: &'a Plan) -> Progress<'a> {
        Progress { plan, target: plan.runs, done: 0, void: vec![0; plan.programs] }
    }

    fn next(&self, program: usize, warmup: bool) -> Next {
        let expected =
            (self.plan.warmup + self.target) * self.plan.programs + self.void.iter().sum::<usize>();
        Next { program, warmup, done: self.done, expected: expected.max(self.done + 1) }
    }

    /// Whether a program needs one more run to have as many that count as are wanted. Which runs are void is looked at
    /// when there are enough in all: only among all of them it shows.
    fn wants(&mut self, runs: &[Observation], program: usize, floor: &Floor) -> bool {
        if runs.len() < self.target {
            return true;
        }
        let void = void_runs(runs, floor).iter().filter(|void| **void).count();
        self.void[program] = void;
        // So many void runs are not bad luck; the report will say so.
        let repeated = runs.len() - self.target;
        runs.len() - void < self.target && repeated < self.plan.runs
    }

    /// Raises the target where an interval is still too wide.
    fn goes_on(&mut self, kept: &[Vec<Observation>], floor: &Floor) -> bool {
        let Some(percent) = self.plan.until_ci else { return false };
        let more = kept.iter().filter_map(|runs| {
            let counted = analysis::counted(runs, floor);
            // Too few for an interval: one more will do.
            stats::more_runs(&counted, percent, SEED).or(Some(1))
        });
        // The estimate is rough, so no more than half as many again are made before the next look.
        let more = more.max().unwrap_or(0).min(self.target.div_ceil(2));
        let target = (self.target + more).min(self.plan.max_runs);
        let goes_on = target > self.target;
        self.target = target.max(self.target);
        goes_on
    }
}

#[cfg(test)]
mod tests;
