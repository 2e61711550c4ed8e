//! Thresholds of the settle rule and the noise floor of a slot, as stored with a judgement.

use crate::Nanos;
use serde::{Deserialize, Serialize};

/// For a slot that was not measured: a memory-bound program on a lightly loaded virtual machine.
const ASSUMED: Spread = Spread { median_excess: 0.05, tail_scale: 0.02 };

/// Run-to-run variation of a program, as fractions of its time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Spread {
    /// Median excess: median over minimum, minus 1.
    #[serde(rename = "reach")]
    pub median_excess: f64,
    /// Tail scale: mean excess over the median of the runs above it. A run exceeds the median by more than x with probability
    /// ½·exp(−x/tail).
    #[serde(rename = "tail")]
    pub tail_scale: f64,
}

/// Run-to-run variation of a control program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Noise {
    /// Number of runs.
    pub n: u32,
    /// Minimum CPU time.
    #[serde(rename = "min_ns")]
    pub least: Nanos,
    /// Median CPU time.
    #[serde(rename = "median_ns")]
    pub median: Nanos,
    /// Variation, with an allowance for the number of runs.
    #[serde(rename = "stray")]
    pub spread: Spread,
}

/// Evidence of undisturbed runs: rates per second of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Quiet {
    /// Time spent waiting for a CPU, in seconds.
    pub wait_per_second: f64,
    /// Steal time, in seconds.
    pub steal_per_second: f64,
    /// Time spent on interrupts, in seconds.
    pub irq_per_second: f64,
    /// Time spent on other work on the slot's CPUs, in seconds.
    pub foreign_per_second: f64,
    /// Number of involuntary context switches.
    pub switches_per_second: f64,
}

/// Noise floor of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct NoiseFloor {
    /// Variation of a compute-bound program.
    pub compute: Noise,
    /// Variation of a memory-bound program.
    pub memory: Noise,
    /// Evidence of undisturbed runs.
    pub quiet: Quiet,
    /// Whether it was not measured. Then these are the figures of a lightly loaded virtual machine.
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

    /// The slowdown of the memory-bound program up to which the machine counts as calm enough to repeat a test. A floor is measured in
    /// seconds. Over minutes even a quiet machine varies by more, and waiting for its best moments would only take time.
    pub fn calm_until(&self) -> f64 {
        self.slow_from().max(1.0 + Policy::CALM_WITHIN)
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

/// Constants of the settle rule (docs/settling.md). They are part of every published result: other constants give other verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Policy {
    /// Maximum number of runs, including discarded ones.
    pub runs: u32,
    /// Number of runs within the limit that settle a pass.
    pub passes: u32,
    /// Margin for a pass by one run, as a fraction of its time. A closer run is repeated, because people compare times even if the
    /// verdict is certain.
    pub close: f64,
    /// Probability that noise alone makes a program look too slow.
    pub error: f64,
    /// Factor by which a disturbed run varies more than an undisturbed one.
    pub disturbed: f64,
}

impl Policy {
    /// A control program that takes longer than its best time by at most this part shows a calm machine. The assumed floor has the same
    /// figure, and with it the rule was simulated (docs/settling.md).
    pub const CALM_WITHIN: f64 = 0.07;

    /// The most checks per submission for whether a slow machine has become calm: about two minutes, longer than most slow periods
    /// recorded on a shared host.
    pub const CALM_LOOKS: u32 = 300;

    /// On a machine that stays slow, the fastest 1 / `CALM_PART` of the recent checks count as calm.
    pub const CALM_PART: usize = 5;

    /// The number of recent checks that this needs.
    pub const CALM_KNOWN: usize = 50;

    /// The number of checked runs from which a program can be seen to be unaffected by a slow machine.
    pub const UNAFFECTED_RUNS: usize = 4;

    /// That the machine's speed varied so much between these runs is required for it.
    pub const UNAFFECTED_FROM: f64 = 0.1;

    /// The times of a program that is unaffected vary by at most this part of what the machine's speed varied.
    pub const UNAFFECTED_PART: f64 = 0.25;

    /// The most checks for calm before one repeat, as long as fewer than [`Policy::UNAFFECTED_RUNS`] runs were checked: about four seconds.
    pub const FIRST_LOOKS: u32 = 8;

    /// The fewest runs, on a machine that is not slow, that settle a pass near the limit.
    pub const CALM_RUNS: u32 = 5;

    /// The published rule.
    pub const PUBLISHED: Policy = Policy { runs: 10, passes: 3, close: 0.1, error: 1e-4, disturbed: 3.0 };
}

/// All numbers that a decision depends on, apart from the runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Thresholds {
    /// Constants of the settle rule.
    pub policy: Policy,
    /// Noise floor of the slot, or of the noisiest of several slots.
    pub floor: NoiseFloor,
    /// Variation that is assumed for submissions.
    #[serde(rename = "stray")]
    pub spread: Spread,
    /// Decisive margin: how far above the limit one undisturbed run must be to decide, in percent of the limit.
    pub band_pct: f64,
    /// Slowdown of the control program from which the machine counts as slow.
    pub slow_from: f64,
}
