//! The noise floor of a slot: how far runs of fixed programs stray there, and what a quiet run's evidence looks like.

use crate::disturbances;
use model::{Evidence, Nanos, Observation, Reading};
use serde::{Deserialize, Serialize};

/// Bounds of both figures of a [`Stray`]: below, no measurement of few runs can be believed; above, the slot is not fit
/// to judge, and the grey band would be as wide as the limit.
const BOUNDS: [f64; 2] = [0.002, 0.07];
/// Of a slot that was not measured: a memory-bound program on a lightly loaded virtual machine.
const ASSUMED: Stray = Stray { reach: 0.05, tail: 0.02 };

/// How far runs of a program stray, as fractions of its time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Stray {
    /// The median above the least.
    pub reach: f64,
    /// Mean excess over the median of those above it: a run lies further above than x with probability ½·exp(−x/tail).
    pub tail: f64,
}

/// How far runs of one fixed program stray.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Noise {
    /// How many runs.
    pub n: u32,
    /// CPU time of the fastest.
    #[serde(rename = "min_ns")]
    pub least: Nanos,
    /// CPU time of the middle one.
    #[serde(rename = "median_ns")]
    pub median: Nanos,
    /// How far they stray, with an allowance for their number.
    pub stray: Stray,
}

/// A quiet run shows no more than this share of any disturbance, whatever was measured: a floor that was taken on a busy
/// machine must not pass disturbance off as quiet.
const LOUD: f64 = 0.05;
/// The same of switches, per second.
const LOUD_SWITCHES: f64 = 50.0;

/// What evidence shows of runs that nothing disturbed: for each reading a part for each run and a part for each second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Quiet {
    /// Waiting for a CPU, per second of the run.
    pub wait_per_second: f64,
    /// Stolen time, likewise.
    pub steal_per_second: f64,
    /// Interrupts, likewise.
    pub irq_per_second: f64,
    /// Other work on the slot's CPUs, likewise.
    pub foreign_per_second: f64,
    /// Times the CPU was taken from it, per second.
    pub switches_per_second: f64,
}

/// The noise floor of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = NoiseFloor))]
pub struct Floor {
    /// Of a program that only computes.
    pub compute: Noise,
    /// Of a program that waits for memory.
    pub memory: Noise,
    /// What quiet runs show.
    pub quiet: Quiet,
    /// Nothing was measured: these are numbers for a lightly loaded virtual machine.
    pub assumed: bool,
}

impl Floor {
    /// How far submissions are taken to stray: as the worse of both programs, since nobody can know what a submission
    /// is.
    pub fn stray(&self) -> Stray {
        let (a, b) = (self.memory.stray, self.compute.stray);
        Stray { reach: a.reach.max(b.reach), tail: a.tail.max(b.tail) }
    }

    /// The slowdown of the memory-bound program, against the fastest run of it that is known, from which on the machine is
    /// taken to be slower than it can be. One run in five is as slow by chance; where it is, it costs some more runs.
    pub fn slow_from(&self) -> f64 {
        1.0 + self.memory.stray.reach + self.memory.stray.tail
    }

    /// The same floor, by the fastest run of the memory-bound program that both know. Machines are slow for minutes when
    /// others use their memory, the one that was measured first perhaps just then.
    pub fn knowing(mut self, earlier: &Floor) -> Floor {
        if !earlier.assumed {
            self.memory.least = self.memory.least.min(earlier.memory.least);
        }
        self
    }

    /// From runs of both programs on the slot, in the order in which they were made. Runs that were disturbed are left out
    /// where enough others are left: what disturbs is told run by run. `None` where one program has fewer than five.
    pub fn from_runs(compute: &[Observation], memory: &[Observation]) -> Option<Floor> {
        let (compute, memory) = (&undisturbed(compute)[..], &undisturbed(memory)[..]);
        let all: Vec<&Observation> = compute.iter().chain(memory).collect();
        Some(Floor {
            compute: Noise::of(compute)?,
            memory: Noise::of(memory)?,
            quiet: Quiet::of(&all),
            assumed: false,
        })
    }

    /// Where nothing was measured.
    pub fn assumed() -> Floor {
        let noise = Noise { n: 0, least: Nanos::ZERO, median: Nanos::ZERO, stray: ASSUMED };
        let quiet = Quiet {
            wait_per_second: 0.02,
            steal_per_second: 0.01,
            irq_per_second: 0.01,
            foreign_per_second: 0.02,
            switches_per_second: 20.0,
        };
        Floor { compute: noise, memory: noise, quiet, assumed: true }
    }
}

/// At least this many runs make a floor.
const FEWEST: usize = 5;

fn undisturbed(runs: &[Observation]) -> Vec<Observation> {
    let usual = Floor::assumed();
    let quiet: Vec<Observation> =
        runs.iter().filter(|run| disturbances(run, &usual).is_empty()).cloned().collect();
    if quiet.len() >= FEWEST { quiet } else { runs.to_vec() }
}

impl Noise {
    fn of(runs: &[Observation]) -> Option<Noise> {
        let mut times: Vec<f64> = runs.iter().map(|run| run.time.cpu.0 as f64).collect();
        times.sort_by(f64::total_cmp);
        let least = *times.first().filter(|least| **least > 0.0 && times.len() >= FEWEST)?;
        let median = stats::median(&times)?;
        let above: Vec<f64> =
            times.iter().filter(|time| **time > median).map(|time| time / median - 1.0).collect();
        let n = above.len().max(1) as f64;
        // The mean of n exponential values is below the true one by up to two deviations, 2/√n of it.
        let tail = above.iter().sum::<f64>() / n * (1.0 + 2.0 / n.sqrt());
        let bounded = |x: f64| x.clamp(BOUNDS[0], BOUNDS[1]);
        Some(Noise {
            n: runs.len() as u32,
            least: Nanos(least as u64),
            median: Nanos(median as u64),
            stray: Stray { reach: bounded(median / least - 1.0), tail: bounded(tail) },
        })
    }
}

impl Quiet {
    /// The 95th percentile of each reading among the runs, per second. Unknown readings say nothing.
    fn of(runs: &[&Observation]) -> Quiet {
        let per_second = |read: &dyn Fn(&Evidence) -> Option<f64>| {
            let shares: Vec<f64> = runs
                .iter()
                .filter_map(|run| Some(read(&run.evidence)? / (run.time.wall.0.max(1) as f64 / 1e9)))
                .collect();
            stats::quantile(&shares, 0.95).unwrap_or(0.0)
        };
        let time = |read: fn(&Evidence) -> &Reading<Nanos>| {
            per_second(&|evidence: &Evidence| Some(read(evidence).known()?.0 as f64 / 1e9)).min(LOUD)
        };
        Quiet {
            wait_per_second: time(|e| &e.run_queue_wait),
            steal_per_second: time(|e| &e.steal),
            irq_per_second: time(|e| &e.irq),
            foreign_per_second: time(|e| &e.foreign),
            switches_per_second: per_second(&|e| Some(*e.involuntary_switches.known()? as f64))
                .min(LOUD_SWITCHES),
        }
    }
}
