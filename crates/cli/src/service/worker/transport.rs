//! The boundary between a worker and the transports to a service. What a worker does, and when, is in [`super::job_loop`] alone; a transport knows how that is said:
//! by frames over a socket ([`super::socket`]), by questions over brokers ([`super::nats`]). Another one needs these two traits.

use fleet::nats::Standing;
use fleet::{Lease, Outcome, Probe, Task};
use model::{Event, NodeFacts};
use std::fs::File;
use std::time::Duration;

/// Why something could not be had of the service.
#[derive(Debug)]
pub(super) enum TransportError {
    /// Another connection, or a later attempt, may do.
    Connection(String),
    /// The service does not want this worker.
    Refused(String),
    /// This process is not to be trusted any more.
    Worker(String),
    /// This machine cannot take it, such as one whose disk is full.
    Here(String),
}

impl TransportError {
    /// In words.
    pub(super) fn why(self) -> String {
        match self {
            TransportError::Connection(why)
            | TransportError::Refused(why)
            | TransportError::Worker(why)
            | TransportError::Here(why) => why,
        }
    }
}

/// The service, as a task sees it.
pub(super) trait TaskService: Sync {
    /// Tells those who watch what happens. Judging neither waits for it nor depends on it.
    fn event(&self, lease: Lease, event: Event);

    /// Tells the service that the task waits for a calm machine. The service may then want it to be left, so that others go first.
    fn waits(&self, lease: Lease);

    /// Writes a package to a file that is empty. False: the service has it no more.
    fn package(&self, hash: &str, to: &mut File) -> Result<bool, TransportError>;

    /// What came as that package was another one. Without an error it may be got once more.
    fn damaged(&self, hash: &str, found: &str) -> Result<(), TransportError>;
}

/// How this worker stands, as far as it was told.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum WorkerStanding {
    /// Nobody has said yet, or there is nobody.
    Unknown,
    /// This.
    Told(Standing),
    /// It cannot be used.
    Refused(String),
}

/// A job that this worker claimed.
pub(super) struct ClaimedJob {
    /// The right to it.
    pub(super) lease: Lease,
    /// What is to be done; or why that could not be had.
    pub(super) task: Result<Task, String>,
}

/// A transport to a service. It recovers from its own failures: it reconnects, asks again and reports outcomes again, and
/// [`super::worker_state::SharedWorkerState`] is told what the service said of a job.
pub(super) trait Transport {
    /// How this worker stands. Connects and greets where that is still to be done; without a service it takes a while.
    fn stands(&mut self) -> WorkerStanding;

    /// The next job, if one comes within that time. From here on the service keeps it for this worker, until [`Transport::tell`].
    fn claim(&mut self, within: Duration) -> Option<ClaimedJob>;

    /// The service, for the task that was claimed last.
    fn service(&self) -> &dyn TaskService;

    /// Begins to tell what came of the job that was claimed last. That is told until it is heard, over whatever connection.
    fn tell(&mut self, lease: Lease, outcome: Outcome);

    /// Lets what is told be heard, for so long at most. False: as things are it will not be.
    fn attend(&mut self, within: Duration) -> bool;

    /// Nothing is to be claimed for a while.
    fn pause(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    /// Tells of the machine.
    fn node(&mut self, facts: Box<NodeFacts>);

    /// Tells what keeps this worker from working, in words, where that is told.
    fn troubles(&mut self, _: &[String]) {}

    /// Tells of a probe, where somebody asked for it.
    fn probed(&mut self, _: Probe) {}

    /// This worker ends. What comes still is given back.
    fn leave(&mut self);
}
