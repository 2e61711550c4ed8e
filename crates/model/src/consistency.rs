//! How far the times and verdicts of a machine can be believed.

use crate::{BenchEnd, Clock, Reading};
use serde::{Deserialize, Serialize};

/// What several programs took, run again and again with nothing beside them and under load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConsistencyReport {
    /// The machine or the judge, as people call it.
    pub name: String,
    /// Each program under each load by each clock.
    pub cells: Vec<ConsistencyCell>,
    /// How it was done, and what is missing, a sentence each.
    pub notes: Vec<String>,
    /// The machine: name and value.
    pub machine: Vec<(String, String)>,
    /// How it ended.
    pub end: BenchEnd,
}

/// The runs of one program under one load by one clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConsistencyCell {
    /// The program.
    pub program: String,
    /// What went on beside it; `idle`: nothing of ours.
    pub load: String,
    /// The clock; of times from elsewhere `cpu`.
    pub clock: Clock,
    /// Every run in the order in which they were made, in the clock's unit ([`Clock::unit`]).
    pub runs: Vec<u64>,
    /// The median.
    pub median: u64,
    /// The median of the program's idle runs (of its first load, where it has none), above which limits are put.
    pub usual: u64,
    /// Greatest less least, in percent of the median.
    pub spread_pct: f64,
    /// Standard deviation in percent of the mean; unknown of a single run.
    pub cv_pct: Reading<f64>,
    /// What verdicts come to, by how far the limit lies above the usual time.
    pub verdicts: Vec<ConsistencyVerdicts>,
}

/// Verdicts of a program whose usual time keeps the limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConsistencyVerdicts {
    /// So far the limit lies above the usual time, in percent.
    pub above_pct: f64,
    /// Of 100 single runs so many are above the limit.
    pub single_pct: f64,
    /// Of 100 judgements by the settle rule so many fail.
    pub settled_pct: f64,
}
