//! Handing work to judge nodes: who is connected, what each has, and what comes back.

mod assign;
mod connection;
pub(crate) mod nats;
mod node;
mod result;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod worker_messages;

pub(crate) use assign::details;
#[cfg(test)]
pub(crate) use assign::{Assignment, task};
pub(crate) use node::indices;

#[cfg(test)]
pub(crate) use result::conclude;

use crate::live::LiveEvent;
use crate::service::{Service, ended};
use crate::timestamp::now;
use fleet::SlotFacts;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::{SubmissionId, Timestamp};
use tokio::net::UnixListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// How long a job stays with a worker that is not heard of. Extended while it is connected.
pub(crate) const LEASE: Duration = Duration::from_secs(15);

/// A job at which this many attempts failed is set aside, unless the site says otherwise: what it does to workers it would do to the next.
pub const ATTEMPTS: u64 = 2;

/// The pool of this machine's own workers, by the Unix socket: a relaxed one.
pub(crate) const LOCAL_POOL: &str = "default";

/// Says that a job was queued: to this machine's workers and to whoever hands tickets to a fleet's.
#[derive(Debug, Default)]
pub(crate) struct WorkCame {
    here: Notify,
    fleet: Notify,
}

impl WorkCame {
    /// One job.
    pub(crate) fn one(&self) {
        self.here.notify_one();
        self.fleet.notify_one();
    }

    /// Many.
    pub(crate) fn many(&self) {
        self.here.notify_waiters();
        self.fleet.notify_one();
    }

    /// There is room for another ticket.
    pub(crate) fn room(&self) {
        self.fleet.notify_one();
    }

    async fn here(&self) {
        self.here.notified().await;
    }

    async fn fleet(&self) {
        self.fleet.notified().await;
    }
}

/// The workers that are connected, by node and slot.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    all: Mutex<BTreeMap<String, Worker>>,
    /// Those of a fleet, as they were last told.
    fleet: Mutex<BTreeMap<String, Worker>>,
}

/// A worker, as it is shown.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Worker {
    /// The machine.
    pub(crate) node: String,
    /// The slot it serves.
    pub(crate) slot: SlotFacts,
    /// Version of its program.
    pub(crate) version: String,
    /// Since when it is connected.
    pub(crate) since: Timestamp,
    /// The submission it is at.
    pub(crate) judging: Option<SubmissionId>,
    /// Tasks it has finished since then.
    pub(crate) finished: u64,
}

impl Workers {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Worker>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fleet(&self) -> MutexGuard<'_, BTreeMap<String, Worker>> {
        self.fleet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those that are connected now, here and over NATS.
    pub(crate) fn connected(&self) -> Vec<Worker> {
        let here = self.all().clone();
        let fleet = self.fleet();
        let elsewhere = fleet.iter().filter(|(name, _)| !here.contains_key(*name)).map(|(_, worker)| worker);
        here.values().chain(elsewhere).cloned().collect()
    }

    pub(crate) fn set_fleet(&self, workers: BTreeMap<String, Worker>) {
        *self.fleet() = workers;
    }

    /// The slots of a node of the fleet whose workers are connected; `None` as long as nobody of the fleet is known to be.
    pub(crate) fn slots_of(&self, node: &str) -> Option<BTreeSet<u32>> {
        let fleet = self.fleet();
        let own = fleet.values().filter(|worker| worker.node == node).map(|worker| worker.slot.id);
        (!fleet.is_empty()).then(|| own.collect())
    }

    fn enter(&self, name: &str, worker: Worker) {
        self.all().insert(name.to_string(), worker);
    }

    /// One that has connected again since then stays.
    fn leave(&self, name: &str, since: Timestamp) {
        let mut all = self.all();
        if all.get(name).is_some_and(|worker| worker.since == since) {
            all.remove(name);
        }
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Worker)) {
        if let Some(worker) = self.all().get_mut(name) {
            change(worker);
        }
    }
}

/// Serves workers until the service is to end and each has finished or given back its work.
pub(crate) async fn serve(service: Arc<Service>, listener: UnixListener) {
    let mut ending = pin!(ended(service.ending.subscribe()));
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = &mut ending => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if connection::is_trusted(&stream) => {
                    connections.spawn(connection::serve(service.clone(), stream));
                }
                Ok(_) => tracing::warn!("a worker of another user was refused"),
                Err(error) => {
                    tracing::error!(%error, "workers cannot connect");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
    // New connections are refused from here.
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Takes jobs back from workers that were not heard of.
pub(crate) async fn take_back_lost(service: Arc<Service>) {
    let mut every = tokio::time::interval(Duration::from_secs(1));
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        match service.store.reap(now()).await {
            Ok(lost) => {
                for lease in lost {
                    service.metrics.fleet.lapsed();
                    tracing::warn!(
                        job = lease.job.0,
                        attempt = lease.attempt,
                        "a worker is silent; its job is queued again"
                    );
                    if let Ok(job) = service.store.job(lease.job).await {
                        let why = "the worker is silent".to_string();
                        service.live.tell(job.submission, LiveEvent::Returned { why });
                    }
                    service.work_came.one();
                }
            }
            Err(error) => tracing::error!(%error, "taking back jobs"),
        }
    }
}
