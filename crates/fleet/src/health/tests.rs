use super::*;
use crate::PoolKind;
use model::IndexPart;
use stats::{Random, normal_below, run_length};

const PARTS: [(IndexPart, f64); 4] = [
    (IndexPart::Rounds, 374.0),
    (IndexPart::Clock, 3.6),
    (IndexPart::Dram, 90.0),
    (IndexPart::Syscall, 44.0),
];

/// A node whose probes vary by `noise`, one in `odd` by ten times that.
struct Node {
    random: Random,
    noise: f64,
    odd: f64,
    at: Timestamp,
    health: Health,
}

impl Node {
    fn new(seed: u64, noise: f64, odd: f64) -> Node {
        let at = Timestamp(0);
        Node { random: Random::new(seed), noise, odd, at, health: Health::new(at) }
    }

    /// A probe at which parts of a group cost `slower` times as much.
    fn probe(&mut self, policy: &HealthPolicy, group: Option<IndexGroup>, slower: f64) {
        self.at = self.at.plus_secs(i64::from(self.health.next_probe_secs(policy)));
        let parts = PARTS.map(|(part, usual)| {
            let odd = if self.random.unit() < self.odd { 10.0 } else { 1.0 };
            let change = if group.is_none_or(|group| part.group() == group) { slower } else { 1.0 };
            let cost = change * (odd * self.noise * self.random.normal()).exp();
            (part, if part.more_is_better() { usual / cost } else { usual * cost })
        });
        self.health.probe(policy, Probe { at: self.at, parts: parts.to_vec() });
    }

    fn learned(mut self, policy: &HealthPolicy) -> Node {
        (0..policy.learn).for_each(|_| self.probe(policy, None, 1.0));
        assert_eq!(self.health.condition(policy), Condition::Healthy);
        self
    }

    /// Probes until it is suspected.
    fn found_after(&mut self, policy: &HealthPolicy, group: Option<IndexGroup>, slower: f64) -> u32 {
        (1..10_000)
            .find(|_| {
                self.probe(policy, group, slower);
                self.health.is_suspected()
            })
            .unwrap_or(u32::MAX)
    }
}

/// The share of a hundred nodes found within so many probes, at this noise of a probe.
#[track_caller]
fn check_found(noise: f64, slower: f64, within: u32) {
    let policy = HealthPolicy::published(PoolKind::Strict);
    let found = (0..100).filter(|seed| {
        let mut node = Node::new(*seed, noise, 0.002).learned(&policy);
        (0..node.random.below(50)).for_each(|_| node.probe(&policy, None, 1.0));
        node.found_after(&policy, Some(IndexGroup::Core), slower) <= within
    });
    let found = found.count();
    assert!(found >= 95, "{noise} {slower}: {found} of 100 within {within} probes");
}

/// The figures of docs/fleet.md.
#[test]
fn slow_nodes_are_found_soon() {
    for (noise, slower, within) in [
        (0.003, 1.02, 7),
        (0.003, 1.05, 4),
        (0.003, 1.20, 4),
        (0.01, 1.02, 40),
        (0.01, 1.05, 6),
        (0.01, 1.20, 4),
    ] {
        check_found(noise, slower, within);
    }
    check_found(0.003, 0.95, 4);
}

/// The bound holds for a node whose level is known as badly as is allowed for, by both computations.
#[test]
fn false_alarms_are_as_rare_as_stated() {
    for kind in [PoolKind::Strict, PoolKind::Relaxed] {
        check_false_alarms(&HealthPolicy::published(kind));
    }
}

#[track_caller]
fn check_false_alarms(policy: &HealthPolicy) {
    let years = |values: f64, a_year: f64| values / a_year;
    let worst = policy.allowance - policy.uncertain;
    let probes = run_length(policy.threshold, |x| normal_below(x + worst));
    let power = years(probes, 365.0 * 86_400.0 / f64::from(policy.every));
    let tally = |tally: &EventCusum, usual| stats::tally_run_length(tally.up, tally.threshold, usual);
    let charges = years(tally(&policy.charges, policy.usual_charges), policy.rates.checks);
    let voids = years(tally(&policy.voids, policy.usual_voids), policy.rates.jobs);
    let alarms = 6.0 / power + 1.0 / charges + 1.0 / voids;
    assert!(alarms <= 1.02 * policy.false_alarms && alarms > 0.5, "{alarms} in a node-year");
}

/// 14 node-years of probes, in which 14 false alarms are allowed; half of them with outliers.
#[test]
fn quiet_nodes_are_left_alone() {
    let policy = HealthPolicy::published(PoolKind::Strict);
    for odd in [0.0, 0.002] {
        let alarms = (0..150).filter(|seed| {
            let mut node = Node::new(1000 + seed, 0.008, odd).learned(&policy);
            (0..5_000).any(|_| {
                node.probe(&policy, None, 1.0);
                node.health.is_suspected()
            })
        });
        let alarms = alarms.count();
        assert!(alarms <= 3, "{odd}: {alarms} alarms in 7 node-years");
    }
}

/// A node that becomes slower while its level is learned would be taken to be so: it is found by the probes before, after eight
/// of them, and by its level before it was restarted from the first one on.
#[test]
fn a_node_that_is_slow_before_its_level_is_known_is_found() {
    let policy = HealthPolicy::published(PoolKind::Strict);
    for (noise, slower, first) in [(0.003, 1.05, 8), (0.003, 1.2, 23), (0.01, 1.2, 30), (0.003, 0.9, 50)] {
        for seed in 0..50 {
            let mut node = Node::new(seed, noise, 0.0);
            (0..first).for_each(|_| node.probe(&policy, None, 1.0));
            let good = node.at;
            let needed = node.found_after(&policy, Some(IndexGroup::Core), slower);
            assert!(needed <= 8, "{noise} {slower} after {first}: {needed}");
            assert!(node.health.doubted_since().unwrap() <= good);
        }
    }
    for (slower, found) in [(1.15, true), (1.05, false)] {
        let mut node = Node::new(7, 0.003, 0.0).learned(&policy);
        let started = node.at;
        node.health = node.health.again(started);
        (0..4).for_each(|_| node.probe(&policy, Some(IndexGroup::Memory), slower));
        assert_eq!(node.health.is_suspected(), found, "{slower}");
        assert_eq!(node.health.doubted_since(), found.then_some(started));
        if let Condition::Suspected { findings } = node.health.condition(&policy) {
            let reason = &findings[0].reason;
            assert!(reason.contains(" slower than before it was restarted, by the mean of 4"), "{reason}");
        }
    }
}

/// A thousand times learning, a tenth of it on nodes with outliers: none is taken for ill. A node learns a few times in a year.
#[test]
fn learning_alarms_hardly_ever() {
    let policy = HealthPolicy::published(PoolKind::Strict);
    let alarms = (0..1000).filter(|seed| {
        let mut node = Node::new(*seed, 0.008, if seed % 10 == 0 { 0.02 } else { 0.0 });
        (0..policy.learn).for_each(|_| node.probe(&policy, None, 1.0));
        node.health.is_suspected()
    });
    assert_eq!(alarms.count(), 0);
}

#[test]
fn one_bad_probe_is_no_alarm_and_four_are() {
    let policy = HealthPolicy::published(PoolKind::Strict);
    let mut node = Node::new(1, 0.001, 0.0).learned(&policy);
    for bad in 1..=3 {
        node.probe(&policy, None, 3.0);
        assert!(!node.health.is_suspected(), "{bad}");
    }
    assert_eq!(node.health.condition(&policy), Condition::Watched);
    assert_eq!(node.health.next_probe_secs(&policy), 60);
    node.probe(&policy, None, 3.0);
    let Condition::Suspected { findings } = node.health.condition(&policy) else { panic!("suspected") };
    assert_eq!(findings.len(), 3, "{findings:?}");
    let reason = &findings[0].reason;
    assert!(
        (reason.starts_with("core: 199.") || reason.starts_with("core: 200."))
            && reason.ends_with("mean of 4 probes"),
        "{reason}"
    );
}

/// What was judged after the last good probe is listed, and what was judged before the one ahead of it is not.
#[test]
fn the_beginning_is_found() {
    let policy = HealthPolicy::published(PoolKind::Strict);
    for seed in 0..50 {
        let mut node = Node::new(seed, 0.003, 0.0).learned(&policy);
        (0..20).for_each(|_| node.probe(&policy, None, 1.0));
        let good = node.at;
        node.probe(&policy, Some(IndexGroup::Memory), 1.08);
        assert!(node.health.quiet_until() <= good && !node.health.is_suspected());
        assert!(node.found_after(&policy, Some(IndexGroup::Memory), 1.08) < 10);
        let since = node.health.doubted_since().unwrap();
        assert!(since <= good && good.secs_since(since) <= 1500.0, "{seed}: {since:?} {good:?}");
        let Condition::Suspected { findings } = node.health.condition(&policy) else { panic!("suspected") };
        assert_eq!(findings[0].chart, Chart::Power { group: IndexGroup::Memory, slower: true });
    }
}

#[test]
fn charges_and_void_runs_add_up() {
    let policy = HealthPolicy::published(PoolKind::Strict);
    let at = |n: i64| Timestamp(0).plus_secs(n);
    let mut health = Health::new(at(0));
    (1..500).for_each(|n| health.checked(&policy, at(n), false));
    let needed = (500..600).find(|n| {
        health.checked(&policy, at(*n), true);
        health.is_suspected()
    });
    let needed = needed.unwrap() - 499;
    assert!((4..=8).contains(&needed), "{needed}");
    let Condition::Suspected { findings } = health.condition(&policy) else { panic!("suspected") };
    assert_eq!(findings[0].since, at(499));
    assert_eq!(
        findings[0].reason,
        format!("odd one out in {needed} of {needed} cross-checks; a healthy node is in one of 200")
    );
    let mut health = Health::new(at(0));
    let found = (0..2000).find(|n| {
        health.judged(&policy, at(*n), n % 3 == 0);
        health.is_suspected()
    });
    assert!(found.unwrap() < 120, "{found:?}");
    let mut health = Health::new(at(0));
    (0..20_000).for_each(|n| health.judged(&policy, at(n), n % 33 == 0));
    assert!(!health.is_suspected() && !health.is_watched(&policy));
}

#[test]
fn health_is_kept_as_text() {
    let policy = HealthPolicy::published(PoolKind::Strict);
    let mut node = Node::new(3, 0.003, 0.0).learned(&policy);
    node.found_after(&policy, None, 1.1);
    let text = serde_json::to_string(&node.health).unwrap();
    assert_eq!(serde_json::from_str::<Health>(&text).unwrap(), node.health);
}
