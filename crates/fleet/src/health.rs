//! Whether a node is as it was when it was admitted: sequential statistics over what is seen of it between and in jobs.
//!
//! Eight tests run on each node for ever: three groups of index parts, each for slower and for faster, by cumulative sums
//! over probes; charges of cross-checks and disturbed jobs, by tallies. Each is allowed an eighth of a false alarm in a
//! node-year. In plain words with every constant: docs/fleet.md.

mod baseline;
mod charts;
mod learning;
mod policy;
#[cfg(test)]
mod tests;

pub use baseline::Probe;
pub use charts::ChartState;
pub use policy::{HealthPolicy, Rates};

use crate::Timestamp;
use baseline::Baseline;
pub(crate) use baseline::cost;
use model::IndexGroup;
use serde::{Deserialize, Serialize};
use stats::EventCusum;

/// What a test of a node looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "chart", rename_all = "snake_case")]
pub enum Chart {
    /// Probes of a group of index parts.
    Power {
        /// The group.
        group: IndexGroup,
        /// For slower; else for faster.
        slower: bool,
    },
    /// Charges of cross-checks.
    Charges,
    /// Jobs that were disturbed.
    Disturbed,
}

/// What speaks against a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What was looked at.
    #[serde(flatten)]
    pub chart: Chart,
    /// In words: lower case, no full stop.
    pub reason: String,
    /// The last moment at which nothing spoke against it: what was judged later is to be judged again.
    pub since: Timestamp,
    /// When it was found.
    pub found: Timestamp,
}

/// How a node is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "condition", rename_all = "snake_case")]
pub enum Condition {
    /// So many probes are missing until its power can be tested. The other tests run.
    Learning {
        /// How many.
        left: u32,
    },
    /// Nothing speaks against it.
    Healthy,
    /// Some test is half way to an alarm: it is probed more often, and every job of it is cross-checked.
    Watched,
    /// It is to be drained.
    Suspected {
        /// Why: each test that alarmed, the first one first.
        findings: Vec<Finding>,
    },
}

/// A sum, and what it came from since it was last 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Sum {
    value: f64,
    /// When it was last 0.
    since: Timestamp,
    /// Values since then.
    n: u32,
    /// What they add up to: deviations as logarithms, or events.
    total: f64,
}

impl Sum {
    fn at(since: Timestamp) -> Sum {
        Sum { since, ..Sum::default() }
    }

    fn take(&mut self, next: f64, amount: f64, at: Timestamp) {
        match next > 0.0 {
            true => {
                *self = Sum {
                    value: next,
                    since: self.since,
                    n: self.n.saturating_add(1),
                    total: self.total + amount,
                };
            }
            false => *self = Sum::at(at),
        }
    }
}

/// What is known of a node's health. Kept with the node, and begun again when it is admitted (again).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// The first probes, until there are enough.
    learning: Vec<Probe>,
    /// Its level before it was restarted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Baseline>,
    baseline: Option<Baseline>,
    /// Slower and faster, by group in the order of [`IndexGroup::ALL`].
    power: [[Sum; 2]; 3],
    charges: Sum,
    voids: Sum,
    findings: Vec<Finding>,
}

impl Health {
    /// Of a node that was admitted just now.
    pub fn new(now: Timestamp) -> Health {
        let sum = Sum::at(now);
        Health {
            learning: Vec::new(),
            before: None,
            baseline: None,
            power: [[sum; 2]; 3],
            charges: sum,
            voids: sum,
            findings: Vec::new(),
        }
    }

    /// The same of one that was a member before and was only started again: what it learns now must not be far from its level then.
    pub fn again(self, now: Timestamp) -> Health {
        Health { before: self.baseline.or(self.before), ..Health::new(now) }
    }

    /// The index was probed between jobs. Probes that were disturbed are not to be given.
    pub fn probe(&mut self, policy: &HealthPolicy, probe: Probe) {
        let Some(baseline) = &self.baseline else {
            return self.learn(policy, probe);
        };
        let mut alarms = Vec::new();
        for (group, sums) in IndexGroup::ALL.into_iter().zip(&mut self.power) {
            let Some((difference, z)) = baseline.deviation(group, &probe) else { continue };
            for (sum, sign) in sums.iter_mut().zip([1.0, -1.0]) {
                let step = (sign * z - policy.allowance).min(policy.most_step());
                sum.take(sum.value + step, difference, probe.at);
                if sum.value > policy.threshold {
                    alarms.push((Chart::Power { group, slower: sign > 0.0 }, *sum));
                }
            }
        }
        for (chart, sum) in alarms {
            self.alarm(chart, sum, policy, probe.at);
        }
    }

    fn learn(&mut self, policy: &HealthPolicy, probe: Probe) {
        let at = probe.at;
        self.learning.push(probe);
        let started = self.power[0][0].since;
        for shift in learning::shifts(&self.learning, self.before.as_ref(), started, policy) {
            let chart = Chart::Power { group: shift.group, slower: shift.slower };
            let reason = power(shift.group, shift.slower, &shift.sum, shift.than);
            self.find(chart, reason, shift.sum.since, at);
        }
        if self.learning.len() >= policy.learn as usize {
            self.baseline = Some(Baseline::from_probes(&self.learning, policy.least));
            self.learning = Vec::new();
            self.power = [[Sum::at(at); 2]; 3];
        }
    }

    /// A job of it was cross-checked, and it was charged or not.
    pub fn checked(&mut self, policy: &HealthPolicy, at: Timestamp, charged: bool) {
        tally(&policy.charges, &mut self.charges, charged, at);
        if self.charges.value >= f64::from(policy.charges.threshold) {
            self.alarm(Chart::Charges, self.charges, policy, at);
        }
    }

    /// It judged a job. Disturbed is one with a run whose evidence names a disturbance: above a limit, it is discarded.
    pub fn judged(&mut self, policy: &HealthPolicy, at: Timestamp, disturbed: bool) {
        tally(&policy.voids, &mut self.voids, disturbed, at);
        if self.voids.value >= f64::from(policy.voids.threshold) {
            self.alarm(Chart::Disturbed, self.voids, policy, at);
        }
    }

    /// Jobs and cross-checks until then had nothing against it, and were not told one by one: what comes next begins after them.
    pub fn quiet_jobs_until(&mut self, at: Timestamp) {
        for sum in [&mut self.charges, &mut self.voids] {
            if sum.value == 0.0 {
                sum.since = sum.since.max(at);
            }
        }
    }

    /// The first alarm of a test stays until the node is admitted again.
    fn alarm(&mut self, chart: Chart, sum: Sum, policy: &HealthPolicy, found: Timestamp) {
        self.find(chart, reason(chart, &sum, policy), sum.since, found);
    }

    fn find(&mut self, chart: Chart, reason: String, since: Timestamp, found: Timestamp) {
        if !self.findings.iter().any(|finding| finding.chart == chart) {
            self.findings.push(Finding { chart, reason, since, found });
        }
    }

    /// How the node is.
    pub fn condition(&self, policy: &HealthPolicy) -> Condition {
        if self.is_suspected() {
            return Condition::Suspected { findings: self.findings.clone() };
        }
        match self.baseline {
            _ if self.is_watched(policy) => Condition::Watched,
            Some(_) => Condition::Healthy,
            None => Condition::Learning { left: policy.learn.saturating_sub(self.learning.len() as u32) },
        }
    }

    /// Some test has alarmed.
    pub fn is_suspected(&self) -> bool {
        !self.findings.is_empty()
    }

    /// Some test is half way to an alarm, or beyond.
    pub fn is_watched(&self, policy: &HealthPolicy) -> bool {
        let power = self.power.iter().flatten().map(|sum| sum.value / policy.threshold);
        let tallies = [(self.charges, policy.charges), (self.voids, policy.voids)];
        let tallies = tallies.map(|(sum, tally)| sum.value / f64::from(tally.threshold));
        power.chain(tallies).any(|share| share >= 0.5)
    }

    /// Since when the node is to be doubted: the earliest of its findings.
    pub fn doubted_since(&self) -> Option<Timestamp> {
        self.findings.iter().map(|finding| finding.since).min()
    }

    /// The last moment at which no test of its power had anything against it. A node that died before it was found, and is not
    /// admitted any more: what it judged later is in doubt.
    pub fn quiet_until(&self) -> Timestamp {
        self.power.iter().flatten().map(|sum| sum.since).min().unwrap_or_default()
    }

    /// Seconds until it should be probed again: soon while its level is learned, too.
    pub fn next_probe_secs(&self, policy: &HealthPolicy) -> u32 {
        if self.is_watched(policy) || self.baseline.is_none() { policy.watched_every } else { policy.every }
    }
}

fn tally(tally: &EventCusum, sum: &mut Sum, event: bool, at: Timestamp) {
    let next = tally.next(sum.value as u32, event);
    sum.take(f64::from(next), f64::from(u8::from(event)), at);
}

/// What a node's probes are set against, in words.
const ADMITTED: &str = "after it was admitted";

fn power(group: IndexGroup, slower: bool, sum: &Sum, than: &str) -> String {
    let way = if slower { "slower" } else { "faster" };
    let percent = 100.0 * (sum.total / f64::from(sum.n.max(1))).abs().exp_m1();
    format!("{}: {percent:.1} % {way} than {than}, by the mean of {} probes", group.name(), sum.n)
}

fn reason(chart: Chart, sum: &Sum, policy: &HealthPolicy) -> String {
    let n = sum.n;
    match chart {
        Chart::Power { group, slower } => power(group, slower, sum, ADMITTED),
        Chart::Charges => format!(
            "odd one out in {} of {n} cross-checks; a healthy node is in one of {:.0}",
            sum.total,
            1.0 / policy.usual_charges
        ),
        Chart::Disturbed => format!(
            "disturbed in {} of {n} jobs; a healthy node is in one of {:.0}",
            sum.total,
            1.0 / policy.usual_voids
        ),
    }
}
