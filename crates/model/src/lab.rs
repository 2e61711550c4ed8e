//! What experiments came to. Plain data that the lab, reports and stores share.

mod ladder;
mod perturb;

pub use ladder::{LadderLoad, LadderReport, LadderStage, LadderStep, PUBLISHED_LADDER, PublishedStage, Rung};
pub use perturb::{Effect, PerturbReport, PerturbRun, PerturbTrial, Perturbation};

use crate::{BenchEnd, Reading};
use serde::{Deserialize, Serialize};

/// What of a program's memory layout a sweep varies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vary {
    /// The size of the environment: one more variable, longer and longer.
    #[default]
    Environment,
    /// The length of argv\[0\].
    Argv0,
    /// Where the stack begins.
    Stack,
}

impl Vary {
    /// What is varied, in words.
    pub fn words(self) -> &'static str {
        match self {
            Vary::Environment => "size of the environment",
            Vary::Argv0 => "length of argv[0]",
            Vary::Stack => "offset of the stack",
        }
    }
}

/// What the runs of a sweep are measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayoutClock {
    /// Cycles in user space, by the processor's counter.
    Cycles,
    /// CPU time in nanoseconds.
    CpuNs,
}

/// The runs of one layout.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayoutPoint {
    /// Bytes by which the environment (or what else is varied) is grown.
    #[serde(rename = "env_bytes")]
    pub at: u32,
    /// The middle run, in cycles or nanoseconds, as the others.
    pub median: u64,
    /// The least.
    pub min: u64,
    /// The greatest.
    pub max: u64,
    /// Runs that count.
    pub n: usize,
}

/// Layouts in a row that are slower than the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayoutPeak {
    /// The first of them, in bytes.
    pub from: u32,
    /// The last of them.
    pub to: u32,
    /// How many bytes wide: to the next layout that is not slow.
    pub width_bytes: u32,
    /// Median of theirs over the mean of the layouts in no peak, less one, in percent.
    pub height_pct: f64,
    /// How often chance alone makes runs of one layout differ as much.
    pub p: f64,
}

/// A sweep of a program's memory layout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayoutReport {
    /// The program as it was typed.
    pub command: String,
    /// What is varied.
    pub vary: Vary,
    /// What is measured.
    pub clock: LayoutClock,
    /// Why it is not cycles.
    pub why_clock: Option<String>,
    /// Address space layout randomisation was on.
    pub aslr: bool,
    /// Layouts were sampled, and looked at closely only where something moves.
    pub quick: bool,
    /// Layouts, ascending.
    pub points: Vec<LayoutPoint>,
    /// Mean of the medians of the layouts that do not stand out.
    pub mean: Reading<f64>,
    /// What stands out, confirmed by a second sample.
    pub peaks: Vec<LayoutPeak>,
    /// What stands out in the first sample alone.
    #[serde(default)]
    pub unconfirmed: Vec<LayoutPeak>,
    /// From the begin of each peak to that of the next, in bytes.
    pub distances: Vec<u32>,
    /// Greatest less least median, in percent of the mean: how much the layout alone moves this program.
    pub sensitivity_pct: Reading<f64>,
    /// What the same figure comes to in 19 of 20 cases when the layout changes nothing, with as many outlying runs as much.
    pub chance_pct: Reading<f64>,
    /// All runs.
    pub runs: usize,
    /// Those of them that do not count.
    pub void_runs: usize,
    /// What to know of other work on the machine meanwhile, a sentence each.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// How it ended.
    pub end: BenchEnd,
    /// The machine, in words: name and value.
    pub machine: Vec<(String, String)>,
}
