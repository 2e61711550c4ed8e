//! The ladder: one stage after another of what makes a program's time steady, each idle and under load.

use crate::{BenchComparison, BenchEnd, BenchRun, Figures, Isolation, Limits, Reading};
use serde::{Deserialize, Serialize};

/// A rung of the ladder. Each holds what those before it hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// As any program is started.
    Untouched,
    /// Bound to one CPU, which others may use too.
    Bound,
    /// In a slot, which others are kept off.
    Slot,
    /// The frequency is held.
    Frequency,
    /// Memory of the slot's own node.
    Node,
}

impl Rung {
    /// From the lowest.
    pub const ALL: [Rung; 5] = [Rung::Untouched, Rung::Bound, Rung::Slot, Rung::Frequency, Rung::Node];

    /// As in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Rung::Untouched => "untouched",
            Rung::Bound => "bound",
            Rung::Slot => "slot",
            Rung::Frequency => "frequency",
            Rung::Node => "node",
        }
    }
}

/// What else the machine does meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LadderLoad {
    /// Nothing of ours.
    Idle,
    /// Busy threads: one on each CPU that is not kept for the program.
    Cpu,
}

impl LadderLoad {
    /// Both.
    pub const ALL: [LadderLoad; 2] = [LadderLoad::Idle, LadderLoad::Cpu];

    /// As in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            LadderLoad::Idle => "idle",
            LadderLoad::Cpu => "cpu",
        }
    }
}

/// A stage: a rung with or without load.
#[derive(Clone, Debug, PartialEq)]
pub struct LadderStage {
    /// The rung.
    pub rung: Rung,
    /// With load or without.
    pub load: LadderLoad,
    /// What this stage is on this machine, in words: CPUs, load, tuning. Why it cannot be had, where it cannot.
    pub made: Result<String, String>,
    /// The weakest isolation of any of its runs.
    pub isolation: Reading<Isolation>,
    /// Every run, in order. All count: how far they vary is what is looked for. `void` are those whose evidence would have a
    /// judge repeat them.
    pub runs: Vec<BenchRun>,
    /// CPU time of all runs.
    pub cpu: Reading<Figures>,
    /// Wall time of all runs.
    pub wall: Reading<Figures>,
    /// CPU time of the runs that are not discarded.
    pub valid: Reading<Figures>,
    /// CPU time under load against that of the same rung idle; none on idle stages, or where there are too few runs.
    pub under_load: Option<BenchComparison>,
}

impl LadderStage {
    /// Runs whose evidence would have a judge repeat them.
    pub fn void_runs(&self) -> usize {
        self.runs.iter().filter(|run| run.void).count()
    }
}

/// What a rung bought against the one below it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LadderStep {
    /// The rung below, the nearest that this machine has.
    pub from: Rung,
    /// The rung.
    pub to: Rung,
    /// With load or without.
    pub load: LadderLoad,
    /// Spread of CPU time on the rung below, in percent of the median.
    pub from_spread_pct: f64,
    /// The same on this one.
    pub to_spread_pct: f64,
    /// Median of CPU time over that on the rung below.
    pub median_ratio: f64,
    /// How often chance alone makes two stages vary so differently; unknown where there are too few runs.
    pub p: Reading<f64>,
    /// They do vary differently: p is below 5 % over the number of steps.
    pub differs: bool,
}

/// A published figure of the same experiment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PublishedStage {
    /// The rung.
    pub name: Rung,
    /// With load or without.
    pub load: LadderLoad,
    /// Greatest less least CPU time of 20 runs, in milliseconds.
    pub spread_ms: u32,
    /// What was done there, in words.
    pub stage: &'static str,
}

/// Yandex.Contest's figures of a sieve over 500 000 000 integers, about 10 s long, 20 runs (habr.com/ru/companies/yandex/articles/515544).
/// With turbo off the mean time grew by about 25 %; the last is 0.5 %.
pub const PUBLISHED_LADDER: [PublishedStage; 5] = [
    published(Rung::Untouched, LadderLoad::Idle, 2230, "untouched"),
    published(Rung::Slot, LadderLoad::Idle, 375, "isolated core, idle"),
    published(Rung::Slot, LadderLoad::Cpu, 1354, "isolated core, neighbours loaded"),
    published(Rung::Frequency, LadderLoad::Cpu, 252, "turbo off, loaded"),
    published(Rung::Node, LadderLoad::Cpu, 48, "memory of the own node, loaded"),
];

const fn published(name: Rung, load: LadderLoad, spread_ms: u32, stage: &'static str) -> PublishedStage {
    PublishedStage { name, load, spread_ms, stage }
}

/// A climb of the ladder.
#[derive(Clone, Debug, PartialEq)]
pub struct LadderReport {
    /// The program as it was typed.
    pub command: String,
    /// Each rung idle and loaded, from the lowest.
    pub stages: Vec<LadderStage>,
    /// What each rung bought.
    pub steps: Vec<LadderStep>,
    /// What all of them bought together: the highest rung against the lowest.
    pub whole: Vec<LadderStep>,
    /// What to know about how it was done on this machine, a sentence each.
    pub notes: Vec<String>,
    /// Limits of each run.
    pub limits: Limits,
    /// How it ended.
    pub end: BenchEnd,
    /// The machine, in words: name and value.
    pub machine: Vec<(String, String)>,
}
