//! What has to be looked at from time to time, by any server.

use super::{TRIES, health, rounds};
use crate::service::Service;
use crate::timestamp::now;
use std::sync::Arc;
use std::time::Duration;
use store::{Error, NodeChange, NodeState};

/// How often nodes that are being drained are looked at.
const EVERY: Duration = Duration::from_secs(1);
/// Of so many looks one is at rounds, and at nodes that are watched.
const SELDOM: u32 = 30;

/// Looks for as long as the service runs.
pub(crate) async fn serve(service: Arc<Service>) {
    let mut every = tokio::time::interval(EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut looks = 0u32;
    loop {
        every.tick().await;
        looks = looks.wrapping_add(1);
        if let Err(error) = look(&service, looks.is_multiple_of(SELDOM)).await {
            tracing::error!(%error, "looking after nodes and rounds");
        }
    }
}

pub(super) async fn look(service: &Service, seldom: bool) -> Result<(), Error> {
    drained(service).await?;
    if seldom {
        health::tell_quiet(service).await?;
        rounds::settle_alone(service).await?;
    }
    Ok(())
}

/// Nodes that were to end what they had and have ended it.
async fn drained(service: &Service) -> Result<(), Error> {
    let roster = service.fleet.roster(&service.store).await?;
    for known in roster.nodes.values().filter(|known| known.node.state == NodeState::Draining) {
        for _ in 0..TRIES {
            let node = service.store.node(&known.node.name).await?;
            if node.state != NodeState::Draining {
                break;
            }
            let running = service.store.in_pool(&node.pool).await?.running;
            if running.get(&node.name).is_some_and(|running| *running > 0) {
                break;
            }
            let event = Some(("out_of_service".to_string(), "it has ended what it had".to_string(), None));
            let change = NodeChange { state: NodeState::Drained, event, ..NodeChange::none(&node) };
            if service.store.change_node(&node, &change, now()).await? {
                service.fleet.changed();
                break;
            }
        }
    }
    Ok(())
}
