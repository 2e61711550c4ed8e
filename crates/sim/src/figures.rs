//! What a simulation came to.

use super::scenario::Scenario;
use super::world::{Sub, World};
use crate::Urgency;
use fleet::Strictness;
use model::Verdict;
use serde::Serialize;
use std::collections::BTreeMap;

/// Percentiles, of times in seconds or of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// How many values.
    pub n: usize,
    /// The median.
    pub p50: f64,
    /// Of 95 in a hundred no more.
    pub p95: f64,
    /// Of 99.
    pub p99: f64,
    /// The greatest.
    pub max: f64,
}

/// Waiting, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Queueing {
    /// From coming to the first start on a node.
    pub start: Percentiles,
    /// From coming to the first verdict, cross-checks included.
    pub verdict: Percentiles,
}

/// Verdicts that are not the true ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Wrong {
    /// Submissions whose verdict is beyond doubt: in contests that are judged strictly in the end, 2 % and more away from the limit.
    pub certain: u64,
    /// Wrong verdicts among them, in the end.
    pub wrong: u64,
    /// Wrong verdicts that were the first ones and were put right by judging again what a drained node had judged.
    pub put_right: u64,
    /// Submissions nearer to the limit.
    pub at_limit: u64,
    /// Submissions of relaxed contests whose verdict is another than on a nominal strict machine, as is in the nature of it.
    pub relaxed_differing: u64,
    /// Of so many.
    pub relaxed: u64,
}

/// How nodes that became slower were found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Detection {
    /// By how much, in percent.
    pub slower_pct: u32,
    /// How many became so while submissions came, and lived.
    pub ailing: u64,
    /// How many were drained.
    pub found: u64,
    /// Seconds from its beginning until they were.
    pub seconds: Percentiles,
    /// What they judged in that time.
    pub jobs: Percentiles,
}

/// Judgements beyond the first of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Extra {
    /// How many.
    pub judgements: u64,
    /// Share of all node time, in percent.
    pub time_pct: f64,
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// What was played.
    pub scenario: Scenario,
    /// Submissions without a verdict in the end.
    pub lost: u64,
    /// Verdicts stored more often than they were asked for.
    pub doubled: u64,
    /// Jobs that had to stay in a pool and were handed to a node outside.
    pub outside_pool: u64,
    /// How often a node that asked for admission had to wait, by what was wrong with it.
    pub waiting_nodes: BTreeMap<String, u64>,
    /// Waiting, by urgency.
    pub queue: BTreeMap<Urgency, Queueing>,
    /// Of those that came in the last five minutes.
    pub burst: Queueing,
    /// Verdicts.
    pub wrong: Wrong,
    /// Slow nodes.
    pub detection: Vec<Detection>,
    /// Healthy nodes that were drained.
    pub false_alarms: u64,
    /// Node-years of the simulation.
    pub node_years: f64,
    /// Charges of healthy nodes.
    pub charged_healthy: u64,
    /// Judgements in all.
    pub judgements: u64,
    /// Judgements beyond the first, by why.
    pub checks: BTreeMap<&'static str, Extra>,
    /// Share of all node time that went into judging on a second or third node, confirmations on strict hardware left out, in percent.
    pub checks_cost_pct: f64,
    /// Of relaxed-then-strict submissions so many in a hundred reached strict hardware.
    pub reached_strict_pct: f64,
    /// Judged again since a node was drained.
    pub rejudged: u64,
    /// Verdicts that changed by it.
    pub changed: u64,
    /// Jobs that were handed out again since their node was not heard of.
    pub redelivered: u64,
    /// Results that came after their job was handed to another node, and did not count.
    pub too_late: u64,
    /// Results that were told twice, and counted once.
    pub repeated: u64,
    /// How busy all slots were on average, in percent.
    pub busy_pct: f64,
    /// Events that were played.
    pub events: u64,
}

impl Percentiles {
    fn from_values(mut values: Vec<f64>) -> Percentiles {
        values.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (share * values.len().saturating_sub(1) as f64).round() as usize;
            values.get(place).copied().unwrap_or(0.0)
        };
        Percentiles { n: values.len(), p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1.0) }
    }
}

impl Queueing {
    fn from_submissions<'a>(subs: impl Iterator<Item = &'a Sub> + Clone) -> Queueing {
        let start = subs.clone().filter_map(|sub| Some(sub.started?.secs_since(sub.came)));
        let verdict = subs.filter_map(|sub| Some(sub.first?.0.secs_since(sub.came)));
        Queueing {
            start: Percentiles::from_values(start.collect()),
            verdict: Percentiles::from_values(verdict.collect()),
        }
    }
}

impl Figures {
    pub(super) fn from_world(world: &World) -> Figures {
        let (scenario, counts) = (&world.scenario, &world.counts);
        let of_urgency = |urgency: Urgency| {
            (urgency, Queueing::from_submissions(world.subs.iter().filter(move |sub| sub.urgency == urgency)))
        };
        let last = f64::from(scenario.seconds) * 59.0 / 60.0;
        let late = |sub: &&Sub| sub.came.0 as f64 / 1e6 >= last;
        let node_time = counts.node_seconds.max(1.0);
        let extra: f64 =
            counts.checks.iter().filter(|(why, _)| **why != "confirm").map(|(_, (_, s))| s).sum();
        let extra_of = |judgements, seconds| Extra { judgements, time_pct: 100.0 * seconds / node_time };
        let seconds = f64::from(scenario.seconds);
        let slots = f64::from(scenario.nodes) * f64::from(scenario.slots);
        Figures {
            scenario: scenario.clone(),
            lost: world.subs.iter().filter(|sub| sub.finals < sub.rounds).count() as u64,
            doubled: counts.doubled,
            outside_pool: counts.outside_pool,
            waiting_nodes: counts.waits.clone(),
            queue: [Urgency::Contest, Urgency::Rejudge, Urgency::Live].map(of_urgency).into(),
            burst: Queueing::from_submissions(world.subs.iter().filter(late)),
            wrong: wrong(world),
            detection: detection(world),
            false_alarms: counts.false_alarms,
            node_years: f64::from(scenario.nodes) * seconds / (365.0 * 86_400.0),
            charged_healthy: counts.charged_healthy,
            judgements: counts.judgements,
            checks: counts
                .checks
                .iter()
                .map(|(why, (judgements, s))| (*why, extra_of(*judgements, *s)))
                .collect(),
            checks_cost_pct: 100.0 * extra / node_time,
            reached_strict_pct: 100.0 * counts.confirm.1 as f64 / counts.confirm.0.max(1) as f64,
            rejudged: counts.rejudged,
            changed: counts.changed,
            redelivered: counts.redelivered,
            too_late: counts.too_late,
            repeated: counts.repeated,
            busy_pct: 100.0 * counts.busy / (slots * seconds),
            events: counts.events,
        }
    }
}

/// The verdict on a nominal machine of the contest's pool; `None`: too near the limit to say. Members of a pool are equal to
/// about a percent, and another one is the reach of a slot.
fn truth(sub: &Sub) -> Option<Verdict> {
    match (sub.program.wrong, sub.program.ratio) {
        (Some(wrong), _) => Some(wrong),
        (None, ratio) if ratio <= 0.98 => Some(Verdict::Accepted),
        (None, ratio) if ratio >= 1.02 => Some(Verdict::TimeLimit),
        (None, _) => None,
    }
}

fn wrong(world: &World) -> Wrong {
    let mut wrong = Wrong::default();
    for sub in &world.subs {
        let relaxed = world.contests[sub.contest as usize].0.strictness == Strictness::Relaxed;
        let (Some(truth), Some(verdict)) = (truth(sub), sub.verdict) else {
            wrong.at_limit += u64::from(!relaxed);
            continue;
        };
        if relaxed {
            wrong.relaxed += 1;
            wrong.relaxed_differing += u64::from(verdict != truth);
            continue;
        }
        wrong.certain += 1;
        wrong.wrong += u64::from(verdict != truth);
        wrong.put_right += u64::from(verdict == truth && sub.first.is_some_and(|(_, first)| first != truth));
    }
    wrong
}

fn detection(world: &World) -> Vec<Detection> {
    let mut ailing: BTreeMap<u32, u64> = BTreeMap::new();
    for node in &world.nodes {
        if let Some(ailment) = &node.planned {
            *ailing.entry((100.0 * (ailment.factor - 1.0)).round() as u32).or_default() += 1;
        }
    }
    let of = |(slower_pct, ailing): (u32, u64)| {
        let found = world.counts.found.get(&slower_pct).cloned().unwrap_or_default();
        Detection {
            slower_pct,
            ailing,
            found: found.len() as u64,
            seconds: Percentiles::from_values(found.iter().map(|(seconds, _)| *seconds).collect()),
            jobs: Percentiles::from_values(found.iter().map(|(_, jobs)| f64::from(*jobs)).collect()),
        }
    };
    ailing.into_iter().map(of).collect()
}
