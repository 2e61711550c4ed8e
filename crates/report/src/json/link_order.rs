//! `tauto lab link-order --json`.

use model::{BenchEnd, Figures, LayoutClock, LinkOrder, LinkOrderReport, Nanos, OrderComparison, Reading};
use serde::Serialize;

/// A program linked in several orders.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkOrderDocument {
    /// What was linked, and with what the program was started.
    pub command: String,
    /// Names of the objects, in the order in which they were given.
    pub objects: Vec<String>,
    /// The orders.
    pub orders: Vec<OrderDocument>,
    /// What they are compared by.
    pub clock: LayoutClock,
    /// Every run of every order wrote the same.
    pub outputs_agree: bool,
    /// Greatest less least median, in percent of the mean of all medians.
    pub sensitivity_pct: Reading<f64>,
    /// What that comes to in 19 of 20 cases when the order changes nothing.
    pub chance_pct: Reading<f64>,
    /// What to know of other work on the machine meanwhile.
    pub warnings: Vec<String>,
    /// `complete`, `interrupted` or `{"failed": why}`.
    pub end: BenchEnd,
    /// The machine: name and value.
    pub machine: Vec<(String, String)>,
}

/// An order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OrderDocument {
    /// Its seed; 0 is the order as given.
    pub seed: u64,
    /// The objects' places, as they are linked.
    pub order: Vec<usize>,
    /// Median of the CPU time.
    pub median_ns: Reading<Nanos>,
    /// CPU time.
    pub cpu: Reading<Figures>,
    /// Median of the cycles in user space.
    pub cycles: Reading<u64>,
    /// Runs that count.
    pub n: usize,
    /// CPU time of every run that was made, in order.
    pub runs_ns: Vec<Nanos>,
    /// Against the order as given.
    pub against_given: Option<OrderComparison>,
}

impl LinkOrderDocument {
    /// Of a report.
    pub fn new(report: &LinkOrderReport) -> LinkOrderDocument {
        LinkOrderDocument {
            command: report.command.clone(),
            objects: report.objects.clone(),
            orders: report.orders.iter().map(order).collect(),
            clock: report.clock,
            outputs_agree: report.outputs_agree,
            sensitivity_pct: report.sensitivity_pct.clone(),
            chance_pct: report.chance_pct.clone(),
            warnings: report.warnings.clone(),
            end: report.end.clone(),
            machine: report.machine.clone(),
        }
    }
}

fn order(of: &LinkOrder) -> OrderDocument {
    let median_ns = match &of.cpu {
        Reading::Known(figures) => Reading::Known(figures.median),
        Reading::Unknown(why) => Reading::Unknown(why.clone()),
    };
    OrderDocument {
        seed: of.seed,
        order: of.order.clone(),
        median_ns,
        cpu: of.cpu.clone(),
        cycles: of.cycles.clone(),
        n: of.n,
        runs_ns: of.runs.iter().map(|(run, _)| run.time.cpu).collect(),
        against_given: of.against_given,
    }
}
