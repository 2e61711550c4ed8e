//! What this worker has in hand, as the one who judges and those who speak with the service know of it.

use engine::slot::Slot;
use fleet::{Lease, Outcome, WorkerState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// As often the runs of a task that is to be left are ended: one may be about to start.
const LEAVING: Duration = Duration::from_millis(20);

/// Shared by all of them.
pub(super) struct SharedWorkerState {
    state: Mutex<WorkerState>,
    slot: &'static Slot,
    /// What is being done is to be left.
    cancel: &'static AtomicBool,
    /// This process is to end.
    ending: &'static AtomicBool,
}

impl SharedWorkerState {
    pub(super) fn for_worker(worker: &super::Worker) -> Arc<SharedWorkerState> {
        let (slot, cancel, ending) = (worker.slot, worker.cancel, worker.ending);
        Arc::new(SharedWorkerState { state: Mutex::default(), slot, cancel, ending })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, WorkerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this process is to end.
    pub(super) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    /// Whether what is asked for a task is asked in vain.
    pub(super) fn is_vain(&self) -> bool {
        self.is_ending() || self.state().is_left()
    }

    /// The service wants a task to be left: its runs are ended until it is over.
    pub(super) fn lose(self: &Arc<Self>, lease: Lease) {
        if !self.state().lose(lease) {
            return;
        }
        tracing::info!(job = lease.job.0, "the service has cancelled this task");
        let worker_state = self.clone();
        std::thread::spawn(move || {
            while worker_state.leave(lease) {
                std::thread::sleep(LEAVING);
            }
        });
    }

    /// Ends the runs of a task that is to be left. False: it is over.
    fn leave(&self, lease: Lease) -> bool {
        let state = self.state();
        let on = state.is_left() && state.holding() == Some(lease);
        if on && state.is_leaving() {
            self.cancel.store(true, Ordering::SeqCst);
            self.slot.end_runs();
        }
        on
    }

    /// Nothing is being judged any more. What is told of it.
    pub(super) fn ended(&self, outcome: Outcome) -> Outcome {
        let mut state = self.state();
        let outcome = state.ended(outcome);
        // Within the lock: whoever is about to leave the task sees that it is over, or was before this. A process that is to end has
        // its flag set again (`Site::end_on_signals`).
        self.cancel.store(self.is_ending(), Ordering::SeqCst);
        outcome
    }
}
