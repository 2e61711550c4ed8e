//! Whether a node still performs as when it was admitted: sequential tests over probes, cross-checks and jobs.
//!
//! Eight tests run on each node as long as it is a member: three groups of index parts, each for slower and for faster, by
//! cumulative sums over probes; disagreements in cross-checks and disturbed jobs, by cumulative sums over events. Each may
//! give an eighth of a false alarm in a node-year. Every constant: docs/fleet.md.

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

/// What a test of a node observes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "chart", rename_all = "snake_case")]
pub enum Chart {
    /// Probes of a group of index parts.
    Power {
        /// The group.
        group: IndexGroup,
        /// True: the test is for slower; false: for faster.
        slower: bool,
    },
    /// Disagreements in cross-checks.
    Charges,
    /// Jobs that were disturbed.
    Disturbed,
}

/// An alarm of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What the test observes.
    #[serde(flatten)]
    pub chart: Chart,
    /// In words: lower case, no full stop.
    pub reason: String,
    /// The last time without suspicion: what the node judged later should be rejudged.
    pub since: Timestamp,
    /// When it was found.
    pub found: Timestamp,
}

/// The condition of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "condition", rename_all = "snake_case")]
pub enum Condition {
    /// Its level is still being learned; the tests that need no level run.
    Learning {
        /// The number of probes that are missing.
        left: u32,
    },
    /// No test suspects it.
    Healthy,
    /// Some test is half way to an alarm: it is probed more often, and every job of it is cross-checked.
    Watched,
    /// A test alarmed: drain it.
    Suspected {
        /// Each test that alarmed, the first one first.
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

/// The state of a node's tests. Stored with the node, and reset when it is admitted again.
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
    /// The state of a node that was just admitted.
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

    /// The state of a member that was restarted: its new level must be close to the old one.
    pub fn again(self, now: Timestamp) -> Health {
        Health { before: self.baseline.or(self.before), ..Health::new(now) }
    }

    /// Adds a probe of the index. The caller leaves out disturbed probes.
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

    /// Adds a cross-check, with or without a disagreement of this node.
    pub fn checked(&mut self, policy: &HealthPolicy, at: Timestamp, charged: bool) {
        tally(&policy.charges, &mut self.charges, charged, at);
        if self.charges.value >= f64::from(policy.charges.threshold) {
            self.alarm(Chart::Charges, self.charges, policy, at);
        }
    }

    /// Adds a judged job. It is disturbed if the evidence of a run shows a disturbance.
    pub fn judged(&mut self, policy: &HealthPolicy, at: Timestamp, disturbed: bool) {
        tally(&policy.voids, &mut self.voids, disturbed, at);
        if self.voids.value >= f64::from(policy.voids.threshold) {
            self.alarm(Chart::Disturbed, self.voids, policy, at);
        }
    }

    /// Notes that all jobs and cross-checks until then were good, without adding each of them.
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

    /// The condition of the node.
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

    /// Since when the node is suspect: the earliest of its findings.
    pub fn doubted_since(&self) -> Option<Timestamp> {
        self.findings.iter().map(|finding| finding.since).min()
    }

    /// The last moment at which no test of its power had anything against it. A node that died before it was found, and is not
    /// admitted any more: what it judged later is in doubt.
    pub fn quiet_until(&self) -> Timestamp {
        self.power.iter().flatten().map(|sum| sum.since).min().unwrap_or_default()
    }

    /// Seconds until the next probe; shorter while its level is learned or a test is half way to an alarm.
    pub fn next_probe_secs(&self, policy: &HealthPolicy) -> u32 {
        if self.is_watched(policy) || self.baseline.is_none() { policy.watched_every } else { policy.every }
    }
}

fn tally(tally: &EventCusum, sum: &mut Sum, event: bool, at: Timestamp) {
    let next = tally.next(sum.value as u32, event);
    sum.take(f64::from(next), f64::from(u8::from(event)), at);
}

/// The level that a node's probes are compared with, in words.
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
