//! What doing a task needs of the service, whichever way leads there.

use fleet::{Lease, TimeLimit};
use model::Event;
use std::fs::File;

/// Why something could not be had of the service.
#[derive(Debug)]
pub(super) enum Broken {
    /// Another connection, or a later attempt, may do.
    Connection(String),
    /// The service does not want this worker.
    Refused(String),
    /// This process is not to be trusted any more.
    Worker(String),
    /// This machine cannot take it, such as one whose disk is full.
    Here(String),
}

/// The service, as a task sees it.
pub(super) trait Service: Sync {
    /// Tells those who watch what happens. Judging neither waits for it nor depends on it.
    fn event(&self, lease: Lease, event: Event);

    /// Makes a limit that was found here the one in force, unless there is one already; gives the one in force.
    fn time_limit(&self, lease: Lease, found: TimeLimit) -> Result<TimeLimit, Broken>;

    /// Writes a package to a file that is empty. False: the service has it no more.
    fn package(&self, hash: &str, to: &mut File) -> Result<bool, Broken>;

    /// What came as that package was another one. Without an error it may be got once more.
    fn damaged(&self, hash: &str, found: &str) -> Result<(), Broken>;
}
