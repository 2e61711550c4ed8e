//! What the orders in which a program's objects are linked came to.

use crate::{BenchEnd, Figures, LayoutClock, Observation, Reading};
use serde::{Deserialize, Serialize};

/// The runs of one link order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkOrder {
    /// Seed of the order; 0 is the order in which the objects were given.
    pub seed: u64,
    /// The objects' places in the order in which they were given, as they are linked.
    pub order: Vec<usize>,
    /// CPU time of the runs that count.
    pub cpu: Reading<Figures>,
    /// Median of the cycles in user space, where they were counted.
    pub cycles: Reading<u64>,
    /// Runs that count.
    pub n: usize,
    /// Median, by the clock of the comparison, over that of the order as given, and the 95 % interval of that ratio; none for that order itself, or where there
    /// are too few runs.
    pub against_given: Option<OrderComparison>,
    /// Every run, with whether it counts.
    pub runs: Vec<(Observation, bool)>,
}

/// An order against the one in which the objects were given.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrderComparison {
    /// Median over median.
    pub ratio: f64,
    /// 95 % interval of it.
    pub ratio_ci95: [f64; 2],
    /// They differ, at 5 % over all orders together.
    pub different: bool,
}

/// A program linked in several orders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkOrderReport {
    /// What was linked, and with what the program was started.
    pub command: String,
    /// Names of the objects, in the order in which they were given.
    pub objects: Vec<String>,
    /// The orders, by seed.
    pub orders: Vec<LinkOrder>,
    /// What they are compared by.
    pub clock: LayoutClock,
    /// Every run of every order wrote the same.
    pub outputs_agree: bool,
    /// Greatest less least median, in percent of the mean of all medians.
    pub sensitivity_pct: Reading<f64>,
    /// What the same figure comes to in 19 of 20 cases when the order changes nothing.
    pub chance_pct: Reading<f64>,
    /// What to know of other work on the machine meanwhile, a sentence each.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// How it ended.
    pub end: BenchEnd,
    /// The machine, in words: name and value.
    pub machine: Vec<(String, String)>,
}
