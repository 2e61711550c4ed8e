//! What repeated runs of programs came to. Plain data that the bench, reports and stores share.

use crate::{Clock, Limits, Nanos, Observation, Reading};
use serde::{Deserialize, Serialize};

/// Figures of one clock over the runs that count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The least.
    #[serde(rename = "min_ns")]
    pub min: Nanos,
    /// The middle one.
    #[serde(rename = "median_ns")]
    pub median: Nanos,
    /// The greatest.
    #[serde(rename = "max_ns")]
    pub max: Nanos,
    /// Greatest minus least.
    #[serde(rename = "spread_ns")]
    pub spread: Nanos,
    /// The spread over the median, in percent.
    pub spread_pct: f64,
    /// Standard deviation over mean, in percent.
    pub cv_pct: f64,
    /// 1.4826 times the median absolute deviation, over the median, in percent.
    pub mad_pct: f64,
    /// 95 % interval of the median; unknown below six runs.
    #[serde(rename = "median_ci95_ns")]
    pub median_ci95: Reading<[Nanos; 2]>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchRun {
    /// What was seen.
    pub observation: Observation,
    /// What its evidence says disturbed it.
    pub disturbed: Vec<String>,
    /// Disturbed, and slower than the others by far: it does not count.
    pub void: bool,
}

/// A run that stands apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchOutlier {
    /// Which one, from 1, discarded runs included.
    pub run: usize,
    /// What it is charged above the median of the runs that count, as a time in nanoseconds; negative below.
    pub excess_ns: i64,
    /// What of it each disturbance can explain: name and time, the greatest first.
    pub explained_by: Vec<(String, Nanos)>,
    /// What nothing in the evidence explains.
    pub unexplained_ns: i64,
}

/// Something a reader should know before believing the figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BenchWarning {
    /// CPUs were busy with other work while the programs ran.
    SaturatedCores {
        /// Those that were, with what part of the time, in percent.
        busy: Vec<CpuLoad>,
        /// The machine's CPUs.
        of: usize,
        /// Runs took place on some of the busy ones.
        ours: bool,
        /// Tasks that wanted to run, on average over the last minute.
        load_average: Reading<f64>,
    },
    /// The runs waited for their CPU.
    Waiting {
        /// Percent of the wall time.
        percent: f64,
    },
    /// Whether CPUs were busy could not be read.
    UnknownLoad {
        /// Why.
        why: String,
    },
    /// The first run was far slower than all others.
    SlowStart {
        /// Its time over the median of the others.
        ratio: f64,
    },
    /// Times rose or fell during the bench.
    Trend {
        /// By so many percent of the median.
        percent: f64,
    },
    /// Two groups of times with a gap between them.
    TwoModes {
        /// Middle of the lower group.
        #[serde(rename = "low_ns")]
        low: Nanos,
        /// Middle of the upper group.
        #[serde(rename = "high_ns")]
        high: Nanos,
    },
    /// From one run on another level holds.
    Shift {
        /// The first run of the new level, from 1.
        run: usize,
        /// New level over the old one.
        ratio: f64,
    },
    /// Runs are like those before them, so the interval of the median is narrower than it should be.
    Correlated {
        /// Correlation of the times of neighbouring runs, 0 to 1.
        correlation: f64,
    },
    /// More discarded runs than are repeated.
    TooManyVoid {
        /// Runs that were discarded.
        void: usize,
        /// Runs that count.
        counted: usize,
    },
    /// The interval of the median did not become as narrow as asked.
    IntervalTooWide {
        /// Asked, in percent of the median to each side.
        asked_pct: f64,
        /// Reached.
        reached_pct: Reading<f64>,
    },
    /// Runs are so short that starting a program matters.
    Short {
        /// The median.
        #[serde(rename = "median_ns")]
        median: Nanos,
    },
    /// Runs that did not end well were counted.
    Failing {
        /// How many.
        runs: usize,
        /// How the first of them ended, in words.
        how: String,
    },
}

/// How busy a CPU was with work that was not ours.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuLoad {
    /// Which one.
    pub cpu: u32,
    /// Percent of the time.
    pub busy_pct: f64,
}

/// How busy the machine was with other work while a bench went on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostLoad {
    /// All its CPUs.
    pub cpus: Vec<CpuLoad>,
    /// Tasks that wanted to run, on average over the last minute.
    pub load_average: Reading<f64>,
}

/// A program against the first one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchComparison {
    /// Median of its CPU time over that of the first.
    pub ratio: f64,
    /// 95 % interval of the ratio.
    pub ratio_ci95: [f64; 2],
    /// How often chance alone makes two programs differ as much.
    pub p: f64,
    /// They differ: p is below 5 % over the number of comparisons, and the interval does not hold 1.
    pub different: bool,
}

/// A program and what its runs came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Benched {
    /// As it was typed, parameters filled in.
    pub command: String,
    /// Name and value of each parameter.
    pub parameters: Vec<(String, String)>,
    /// Every run, in order.
    pub runs: Vec<BenchRun>,
    /// What those that count are charged by the clock of the report, as times ([`crate::Charge::as_time`]).
    pub charged: Reading<Figures>,
    /// Wall time of those that count.
    pub wall: Reading<Figures>,
    /// Runs that stand apart, discarded ones among them.
    pub outliers: Vec<BenchOutlier>,
    /// What to know about it.
    pub warnings: Vec<BenchWarning>,
    /// Against the first program; none for that one itself, or where there are too few runs.
    pub comparison: Option<BenchComparison>,
}

impl Benched {
    /// Runs that count.
    pub fn counted(&self) -> usize {
        self.runs.iter().filter(|run| !run.void).count()
    }

    /// Runs that do not.
    pub fn void_runs(&self) -> usize {
        self.runs.len() - self.counted()
    }
}

/// How a bench came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BenchEnd {
    /// All runs were made.
    Complete,
    /// The user ended it.
    Interrupted,
    /// A run could not be made or did not end well, for this reason.
    Failed(String),
}

/// A bench: one program, or several that were run in turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchReport {
    /// What runs are charged by.
    pub clock: Clock,
    /// What counted, and in which version, under clocks that count.
    pub counted_by: Option<String>,
    /// In the order in which they took turns. At least one.
    pub programs: Vec<Benched>,
    /// Limits of each run.
    pub limits: Limits,
    /// What to know about the machine meanwhile.
    pub warnings: Vec<BenchWarning>,
    /// How it ended.
    pub end: BenchEnd,
}
