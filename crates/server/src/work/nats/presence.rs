//! Who is there.

use crate::service::Service;
use crate::work::Worker;
use fleet::nats::{Nats, Presence, WorkerId};
use std::sync::Arc;
use std::time::Duration;
use store::SubmissionId;

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
            Ok(working) => keep(&service, &present, working),
            Err(error) => tracing::warn!(%error, "looking which nodes get work"),
        }
    }
}

fn keep(service: &Service, present: &[(WorkerId, Presence)], working: Vec<(String, String)>) {
    let Some(brokers) = &service.brokers else { return };
    brokers.found(present.iter().map(|(from, _)| from.clone()).collect(), working.into_iter().collect());
    let workers = present.iter().map(|(from, presence)| (from.worker(), shown(from, presence)));
    service.workers.set_fleet(workers.collect());
    service.work_came.room();
}

fn shown(from: &WorkerId, presence: &Presence) -> Worker {
    Worker {
        node: from.node.clone(),
        slot: presence.hello.slot.clone(),
        version: presence.hello.version.clone(),
        since: presence.since,
        judging: presence.judging.map(SubmissionId),
        finished: presence.finished,
    }
}
