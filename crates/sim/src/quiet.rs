//! Nodes that nothing ails, for years: how often they are taken for degraded.

use super::node::Node;
use super::world;
use fleet::{Health, HealthPolicy, PoolKind, Timestamp};
use serde::Serialize;
use stats::Random;

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quiet {
    /// Node-years.
    pub node_years: f64,
    /// Alarms, all of them false.
    pub alarms: u64,
    /// Alarms in a node-year.
    pub a_year: f64,
    /// How many are allowed.
    pub allowed: f64,
}

/// So many nodes, each for a tenth of a year, half of them strict and half relaxed, with jobs and checks at the rates of the
/// published policy: but for chance nothing happens.
pub fn quiet(nodes: u32, seed: u64) -> Quiet {
    let policies = [PoolKind::Relaxed, PoolKind::Strict].map(HealthPolicy::published);
    let mut random = Random::new(seed);
    let alarms = (0..nodes).map(|n| alarms(n, &policies[n as usize % 2], &mut random)).sum();
    let node_years = f64::from(nodes) / 10.0;
    Quiet { node_years, alarms, a_year: alarms as f64 / node_years, allowed: policies[0].false_alarms }
}

fn alarms(number: u32, policy: &HealthPolicy, random: &mut Random) -> u64 {
    let mut node = Node::healthy(world::statement(number, 0), 0, 1.0, number % 2 == 1);
    let probes = (0.1 * 365.0 * 86_400.0 / f64::from(policy.every)) as u32;
    let per_probe = |a_year: f64| (0.1 * a_year / f64::from(probes)) as u32;
    let (jobs, checks) = (per_probe(policy.rates.jobs), per_probe(policy.rates.checks).max(1));
    let (mut now, mut alarms) = (Timestamp(0), 0);
    for _ in 0..probes {
        now = now.plus_secs(i64::from(node.health.next_probe_secs(policy)));
        let probe = node.probe(now, random);
        node.health.probe(policy, probe);
        (0..jobs).for_each(|_| node.health.judged(policy, now, random.unit() < policy.usual_voids));
        (0..checks).for_each(|_| node.health.checked(policy, now, random.unit() < policy.usual_charges));
        if node.health.is_suspected() {
            alarms += 1;
            node.health = Health::new(now);
        }
    }
    alarms
}
