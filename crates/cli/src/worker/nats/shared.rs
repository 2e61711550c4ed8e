//! What the one who judges and those who talk to the brokers know of each other.

use engine::slot::Slot;
use fleet::nats::{Nats, Standing, WorkerId};
use fleet::{Hello, Lease, Moment, Statement};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, watch};

/// Shared by all of them.
pub(super) struct Shared {
    pub(super) nats: Nats,
    pub(super) from: WorkerId,
    pub(super) since: Moment,
    pub(super) standing: watch::Sender<Stands>,
    /// Something is to be told to the service, or to whoever looks which workers are there.
    pub(super) news: Notify,
    pub(super) change: Notify,
    state: Mutex<State>,
    slot: &'static Slot,
    cancel: &'static AtomicBool,
    ending: &'static AtomicBool,
}

/// How this worker stands, as far as it was told.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stands {
    /// Nobody has said yet.
    Unknown,
    /// This.
    Told(Standing),
    /// It cannot be used.
    Refused(String),
}

/// What is told.
pub(super) struct State {
    pub(super) hello: Hello,
    /// Not told yet.
    pub(super) statement: Option<Statement>,
    pub(super) facts: Option<Box<model::NodeFacts>>,
    pub(super) troubles: Vec<String>,
    /// The submission that is being judged.
    pub(super) judging: Option<i64>,
    /// Its task, as long as it may be left.
    at: Option<Lease>,
    pub(super) finished: u64,
}

impl Shared {
    pub(super) fn new(nats: Nats, from: WorkerId, worker: &super::Worker) -> Shared {
        let state = State {
            hello: worker.hello.clone(),
            statement: None,
            facts: None,
            troubles: Vec::new(),
            judging: None,
            at: None,
            finished: 0,
        };
        Shared {
            nats,
            from,
            since: super::statement::now(),
            standing: watch::channel(Stands::Unknown).0,
            news: Notify::new(),
            change: Notify::new(),
            state: Mutex::new(state),
            slot: worker.slot,
            cancel: worker.cancel,
            ending: worker.ending,
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// That statement was told.
    pub(super) fn stated(&self, told: Option<&Statement>) {
        let mut state = self.state();
        // Unless there is a newer one by now.
        if state.statement.as_ref() == told {
            state.statement = None;
        }
    }

    /// A task begins. It may be left until [`Shared::ends`].
    pub(super) fn begins(&self, lease: Lease, submission: i64) {
        let mut state = self.state();
        (state.at, state.judging, state.hello.holding) = (Some(lease), Some(submission), Some(lease));
        drop(state);
        self.change.notify_one();
    }

    /// Nothing is being judged any more.
    pub(super) fn ends(&self) {
        let mut state = self.state();
        (state.at, state.judging) = (None, None);
        state.finished += 1;
        // Within the lock: whoever is about to leave the task sees that it is over, or was before this. A process that is to end has
        // its flag set again (`Site::end_on_signals`).
        self.cancel.store(self.ending.load(Ordering::SeqCst), Ordering::SeqCst);
        drop(state);
        self.change.notify_one();
    }

    /// The outcome of a task is stored.
    pub(super) fn told(&self, lease: Lease) {
        let holding = &mut self.state().hello.holding;
        if *holding == Some(lease) {
            *holding = None;
        }
    }

    /// Ends the runs of a task that is to be left. False: it is over.
    pub(super) fn leave(&self, lease: Lease) -> bool {
        let state = self.state();
        let on = state.at == Some(lease);
        if on {
            self.cancel.store(true, Ordering::SeqCst);
            self.slot.end_runs();
        }
        on
    }
}
