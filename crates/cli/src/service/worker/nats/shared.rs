//! What the one who judges and those who talk to the brokers know of each other.

use crate::isolation::IsolationArgs;
use crate::service::worker::Worker;
use crate::service::worker::transport::WorkerStanding;
use crate::service::worker::worker_state::SharedWorkerState;
use fleet::nats::{Nats, WorkerId};
use fleet::{Hello, Statement, Timestamp};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, watch};

/// Shared by all of them.
pub(super) struct Shared {
    pub(super) nats: Nats,
    pub(super) from: WorkerId,
    pub(super) worker_state: Arc<SharedWorkerState>,
    pub(super) since: Timestamp,
    pub(super) standing: watch::Sender<WorkerStanding>,
    /// Something is to be told to the service, or to whoever looks which workers are there.
    pub(super) news: Notify,
    pub(super) change: Notify,
    hello: Hello,
    pub(super) isolation: IsolationArgs,
    state: Mutex<State>,
}

/// What is told.
#[derive(Default)]
pub(super) struct State {
    /// Not told yet.
    pub(super) statement: Option<Statement>,
    pub(super) facts: Option<Box<model::NodeFacts>>,
    pub(super) troubles: Vec<String>,
    /// The submission that is being judged.
    pub(super) judging: Option<i64>,
    pub(super) finished: u64,
}

impl Shared {
    pub(super) fn new(nats: Nats, from: WorkerId, worker: &Worker) -> Shared {
        Shared {
            nats,
            from,
            worker_state: SharedWorkerState::for_worker(worker),
            since: crate::service::worker::statement::now(),
            standing: watch::channel(WorkerStanding::Unknown).0,
            news: Notify::new(),
            change: Notify::new(),
            hello: worker.hello.clone(),
            isolation: worker.isolation.clone(),
            state: Mutex::default(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who this worker is, and what it has.
    pub(super) fn hello(&self) -> Hello {
        Hello { holding: self.worker_state.state().holding(), ..self.hello.clone() }
    }

    /// That statement was told.
    pub(super) fn stated(&self, told: Option<&Statement>) {
        let mut state = self.state();
        // Unless there is a newer one by now.
        if state.statement.as_ref() == told {
            state.statement = None;
        }
    }
}
