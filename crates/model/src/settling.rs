//! Thresholds of the settle rule and the noise floor of a slot, as stored with a judgement.

use crate::Nanos;
use serde::{Deserialize, Serialize};

/// Of a slot that was not measured: a memory-bound program on a lightly loaded virtual machine.
const ASSUMED: Spread = Spread { median_excess: 0.05, tail_scale: 0.02 };

/// How far runs of a program vary, as fractions of its time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Spread {
    /// The median above the least.
    #[serde(rename = "reach")]
    pub median_excess: f64,
    /// Mean excess over the median of those above it: a run lies further above than x with probability ½·exp(−x/tail).
    #[serde(rename = "tail")]
    pub tail_scale: f64,
}

/// How far runs of one fixed program vary.
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
    /// How far they vary, with an allowance for their number.
    #[serde(rename = "stray")]
    pub spread: Spread,
}

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
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct NoiseFloor {
    /// Of a program that only computes.
    pub compute: Noise,
    /// Of a program that waits for memory.
    pub memory: Noise,
    /// What quiet runs show.
    pub quiet: Quiet,
    /// Nothing was measured: these are numbers for a lightly loaded virtual machine.
    pub assumed: bool,
}

impl NoiseFloor {
    /// The assumed variation of submissions: the worse of both programs, since a submission may compute or wait for memory.
    pub fn spread(&self) -> Spread {
        let (a, b) = (self.memory.spread, self.compute.spread);
        Spread {
            median_excess: a.median_excess.max(b.median_excess),
            tail_scale: a.tail_scale.max(b.tail_scale),
        }
    }

    /// The slowdown of the memory-bound program, relative to its fastest known run, from which the machine counts as slow. One
    /// run in five is this slow by chance; that costs a few more runs.
    pub fn slow_from(&self) -> f64 {
        1.0 + self.memory.spread.median_excess + self.memory.spread.tail_scale
    }

    /// This floor with the fastest run of the memory-bound program that either has. A machine can be slow for minutes while
    /// others use its memory, perhaps while one of the floors was measured.
    pub fn knowing(mut self, earlier: &NoiseFloor) -> NoiseFloor {
        if !earlier.assumed {
            self.memory.least = self.memory.least.min(earlier.memory.least);
        }
        self
    }

    /// The floor of a slot that was not measured.
    pub fn assumed() -> NoiseFloor {
        let noise = Noise { n: 0, least: Nanos::ZERO, median: Nanos::ZERO, spread: ASSUMED };
        let quiet = Quiet {
            wait_per_second: 0.02,
            steal_per_second: 0.01,
            irq_per_second: 0.01,
            foreign_per_second: 0.02,
            switches_per_second: 20.0,
        };
        NoiseFloor { compute: noise, memory: noise, quiet, assumed: true }
    }
}

/// The numbers of the rule. They are part of every published result; changing them changes verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Policy {
    /// At most so many runs, discarded ones included.
    pub runs: u32,
    /// So many runs at or below the limit settle a pass.
    pub passes: u32,
    /// One run is enough for a pass only where the limit is further above it than this part of it. Nearer, the verdict may be
    /// certain but people compare times.
    pub close: f64,
    /// How often noise alone may look like a program that is too slow: one in 1/error.
    pub error: f64,
    /// How much further a disturbed run varies than an undisturbed one.
    pub disturbed: f64,
}

impl Policy {
    /// The most checks per submission for whether a slow machine has become quiet.
    pub const CALM_LOOKS: u32 = 40;

    /// The published rule.
    pub const PUBLISHED: Policy = Policy { runs: 10, passes: 3, close: 0.1, error: 1e-4, disturbed: 3.0 };
}

/// All numbers that went into a decision besides the runs themselves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Thresholds {
    /// The numbers of the rule.
    pub policy: Policy,
    /// The noise floor of the slot, or of the noisiest of several.
    pub floor: NoiseFloor,
    /// How far submissions are taken to vary by it.
    #[serde(rename = "stray")]
    pub spread: Spread,
    /// The grey band: how far above the limit one undisturbed run must be to decide, in percent of the limit.
    pub band_pct: f64,
    /// The slowdown of the control program from which on the machine counts as slow.
    pub slow_from: f64,
}
