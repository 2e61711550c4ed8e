//! Tickets to the pools: as many as they have free slots and one more, so that the order stays the store's.

use super::Brokers;
use crate::service::{Service, ended};
use crate::timestamp::now;
use fleet::nats::{Nats, NatsError};
use fleet::{Pool, PoolKind};
use futures_util::future::join_all;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use store::{Anywhere, Claim, Job, Timestamp};

/// It is looked this often even when nobody tells: another server may have queued something.
const LOOK: Duration = Duration::from_millis(250);
/// After something failed.
const REST: Duration = Duration::from_secs(1);
/// A ticket that nobody has begun is taken back after this. Longer than brokers take to elect a leader, or to give the ticket of a worker
/// that died to another one ([`fleet::nats::ACK_WAIT`]).
const TICKET: Duration = Duration::from_secs(30);
/// What claims for a ticket are called by.
const CARRIER: &str = "ticket";

/// Why no more tickets go out for now.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stuck {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Nats(#[from] NatsError),
    #[error("the brokers are away")]
    Away,
}

/// Hands out tickets until the service is to end.
pub(super) async fn serve(service: Arc<Service>, nats: Nats) {
    let Some(brokers) = &service.brokers else { return };
    let mut ending = pin!(ended(service.ending.subscribe()));
    let mut said = false;
    loop {
        // To its end: what was claimed is handed out.
        let Err(stuck) = round(&service, brokers, &nats).await else {
            if std::mem::take(&mut said) {
                tracing::info!("tickets go out again");
                brokers.state().trouble = None;
            }
            tokio::select! {
                () = &mut ending => return,
                () = service.work_came.fleet() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
            continue;
        };
        if !std::mem::replace(&mut said, true) {
            tracing::error!(%stuck, "no tickets go out; trying again");
        }
        brokers.state().trouble = Some(stuck.to_string());
        tokio::select! {
            () = &mut ending => return,
            () = tokio::time::sleep(REST) => {}
        }
        if matches!(stuck, Stuck::Nats(_))
            && nats.is_connected()
            && let Err(error) = brokers.provision(&service).await
        {
            tracing::debug!(%error, "making what is needed at the brokers");
        }
    }
}

/// Hands out what can be, to all pools at the same time.
async fn round(service: &Service, brokers: &Brokers, nats: &Nats) -> Result<(), Stuck> {
    let slots = brokers.slots();
    if slots.is_empty() {
        return Ok(());
    }
    if !nats.is_connected() {
        return Err(Stuck::Away);
    }
    let pools = service.store.pools().await?;
    let each = slots.iter().map(|(name, slots)| {
        let known = pools.iter().find(|pool| pool.name == *name);
        let pool: Option<Pool> = known.and_then(|pool| serde_json::from_value(pool.form.clone()).ok());
        async move {
            match pool {
                Some(pool) => fill(service, brokers, nats, &pool, *slots).await,
                // Removed, while nodes of it are there.
                None => Ok(()),
            }
        }
    });
    join_all(each).await.into_iter().collect()
}

/// Hands out tickets to a pool until it has enough or nothing waits for it.
async fn fill(
    service: &Service,
    brokers: &Brokers,
    nats: &Nats,
    pool: &Pool,
    slots: u64,
) -> Result<(), Stuck> {
    while !*service.ending.borrow() {
        let Some(job) = claim(service, pool, slots).await? else { return Ok(()) };
        publish(service, brokers, nats, &pool.name, &job).await?;
    }
    Ok(())
}

async fn claim(service: &Service, pool: &Pool, slots: u64) -> Result<Option<Job>, store::Error> {
    let now = now();
    let micros = i64::try_from(TICKET.as_micros()).unwrap_or(i64::MAX);
    let claim = Claim {
        worker: CARRIER,
        node: None,
        pool: &pool.name,
        anywhere: anywhere(pool, now),
        until: now.plus_micros(micros),
        now,
        // Who begins it says.
        infers: true,
        slots: Some(slots),
    };
    service.store.claim(claim).await
}

/// Whether a pool takes work that may be done anywhere: a strict one only where it helps, after all its own.
fn anywhere(pool: &Pool, now: Timestamp) -> Anywhere {
    match (pool.kind, pool.helps_after_secs) {
        (PoolKind::Relaxed, _) => Anywhere::Equally,
        (PoolKind::Strict, Some(secs)) => Anywhere::After(now.plus_micros(-i64::from(secs) * 1_000_000)),
        (PoolKind::Strict, None) => Anywhere::Never,
    }
}

/// Hands a job's ticket to its pool. Where that fails the job goes back to its place in the line; the ticket may be there all the same, and is
/// then good for nothing.
async fn publish(
    service: &Service,
    brokers: &Brokers,
    nats: &Nats,
    pool: &str,
    job: &Job,
) -> Result<(), Stuck> {
    let published = async {
        if let Some(version) = job.version {
            brokers.packages.ensure_version(service, nats, version).await?;
        }
        brokers.provision_pool(pool).await?;
        Ok::<_, Stuck>(nats.publish_ticket(pool, job.lease()).await?)
    };
    let published = published.await;
    if let Err(error) = &published {
        let why = format!("its ticket could not be handed out: {error}");
        if let Err(error) = service.store.give_back(job.lease(), &why).await {
            // Its lease will end by itself.
            tracing::warn!(%error, job = job.id.0, "giving a ticket back");
        }
    }
    published
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_take_work_of_no_pool_as_their_kind_says() {
        let pool = |kind, helps| Pool { helps_after_secs: helps, ..Pool::new("a", kind).unwrap() };
        for (kind, helps, expected) in [
            (PoolKind::Relaxed, None, Anywhere::Equally),
            (PoolKind::Strict, None, Anywhere::Never),
            (PoolKind::Strict, Some(30), Anywhere::After(Timestamp(70_000_000))),
        ] {
            assert_eq!(anywhere(&pool(kind, helps), Timestamp(100_000_000)), expected);
        }
    }
}
