//! What the engine needs of a sandbox, so that judging can be tested on a simulated one.

use model::{BoxId, Bytes, Found, Observation, RunSpec};
use std::fs::File;
use std::os::fd::OwnedFd;

/// A fault of ours or of the machine: never a verdict.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {why}")]
pub struct SystemError {
    /// What was being done, with the path or name it was done to.
    pub what: String,
    /// What went wrong.
    pub why: String,
    /// Who is to blame.
    pub blame: Blame,
}

/// Who is to blame for a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The machine's, or ours: another attempt may do better.
    Machine,
    /// Of what was brought: the name of a file, the number or size of files, the arguments of a program. No attempt does better.
    Content,
    /// The program to be run does not exist or cannot be executed.
    CannotExec,
}

impl SystemError {
    /// A fault met while doing `what`.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> SystemError {
        SystemError { what: what.into(), why: why.into(), blame: Blame::Machine }
    }
}

/// Runs programs, one at a time, and keeps boxes for them. A runner stands for one slot: two runners may run at
/// the same time (a submission and its interactor do), one runner never runs two programs.
pub trait Runner: Send + Sync {
    /// Makes an empty box of bounded size. Everything in it belongs to the run's user.
    fn create_box(&self, size: Bytes) -> Result<BoxId, SystemError>;
    /// Writes a file into a box, with the directories it needs; `content` is read from its start.
    /// `path` is relative, without `..`; existing entries that are no directories or regular files are an error.
    fn put(&self, id: BoxId, path: &str, executable: bool, content: &File) -> Result<(), SystemError>;
    /// Opens a regular file of a box for reading; `None` when there is none (symbolic links are not followed).
    fn fetch(&self, id: BoxId, path: &str) -> Result<Found<File>, SystemError>;
    /// Names of all regular files in a box, `/` between parts, sorted.
    fn list(&self, id: BoxId) -> Result<Vec<String>, SystemError>;
    /// Removes a regular file from a box; it is no fault when there is none.
    fn remove(&self, id: BoxId, path: &str) -> Result<(), SystemError>;
    /// Removes a box.
    fn drop_box(&self, id: BoxId) -> Result<(), SystemError>;
    /// Runs a program to its end. `fds` are what the spec's `Stdio::Fd` and `FileMount` refer to; they are closed here
    /// when the run has started, so that a pipe ends when the program ends.
    fn run(&self, spec: &RunSpec, fds: Vec<OwnedFd>) -> Result<Observation, SystemError>;
    /// Ends the run in progress, if any, from another thread: its observation comes back with
    /// `cancelled`, or with `output_cut` when `output` is given.
    fn end_run(&self, output: bool);
    /// Whether everything is thrown away with the last box of a submission: nothing can be kept for the next one,
    /// and what languages compile once is copied in.
    fn throws_away(&self) -> bool {
        false
    }
}
