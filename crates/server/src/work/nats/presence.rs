//! Who is there.

use crate::service::Service;
use crate::work::Worker;
use fleet::nats::{Nats, Presence, WorkerId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;
use store::{Moment, SubmissionId};

/// How often it is looked.
const LOOK: Duration = Duration::from_secs(2);

/// Keeps what is known of the workers fresh.
pub(super) async fn look(service: Arc<Service>, nats: Nats) {
    let mut every = tokio::time::interval(LOOK);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        let present = match nats.present().await {
            Ok(present) => present,
            // Those who were there stay: they work on while brokers are away, and a ticket too many does no harm.
            Err(error) => {
                tracing::debug!(%error, "looking who is there");
                continue;
            }
        };
        match service.store.working_nodes().await {
            Ok(working) => keep(&service, &present, &working),
            Err(error) => tracing::warn!(%error, "looking which nodes get work"),
        }
    }
}

fn keep(service: &Service, present: &[(WorkerId, Presence)], working: &[(String, String)]) {
    let Some(brokers) = &service.brokers else { return };
    brokers.state().slots = slots(present, working);
    let workers = present.iter().map(|(from, presence)| (super::answer::worker(from), shown(from, presence)));
    service.workers.set_fleet(workers.collect());
    service.work_came.room();
}

/// The slots that are there and get work, by pool: those of nodes that do, where they belong.
fn slots(
    present: &[(WorkerId, Presence)],
    working: &[(String, String)],
) -> BTreeMap<String, BTreeSet<(String, u32)>> {
    let pools: HashMap<&str, &str> = working.iter().map(|(node, pool)| (&**node, &**pool)).collect();
    let mut slots: BTreeMap<String, BTreeSet<_>> = BTreeMap::new();
    for (from, _) in present.iter().filter(|(from, _)| pools.get(&*from.node) == Some(&&*from.pool)) {
        slots.entry(from.pool.clone()).or_default().insert((from.node.clone(), from.slot));
    }
    slots
}

fn shown(from: &WorkerId, presence: &Presence) -> Worker {
    Worker {
        node: from.node.clone(),
        slot: presence.hello.slot.clone(),
        version: presence.hello.version.clone(),
        since: Moment(presence.since.0),
        judging: presence.judging.map(SubmissionId),
        finished: presence.finished,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::tests::hello;

    #[test]
    fn slots_count_where_their_node_belongs_and_gets_work() {
        let there = |pool: &str, node: &str, slot: u32| {
            let from = WorkerId { pool: pool.into(), node: node.into(), slot };
            let presence =
                Presence { hello: hello(node, slot), since: fleet::Moment(0), judging: None, finished: 0 };
            (from, presence)
        };
        let present = [
            there("metal", "a", 0),
            there("metal", "a", 1),
            there("metal", "waits", 0),
            there("cloud", "a", 7),
            there("cloud", "b", 0),
        ];
        let working = [("a", "metal"), ("b", "cloud"), ("gone", "metal")];
        let working = working.map(|(node, pool)| (node.to_string(), pool.to_string()));
        let slots = slots(&present, &working);
        let count = |pool: &str| slots.get(pool).map_or(0, BTreeSet::len);
        assert_eq!((count("metal"), count("cloud"), slots.len()), (2, 1, 2));
    }
}
