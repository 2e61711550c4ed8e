//! Why a run did not take place: a fault of ours, of the request, or of the machine.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The program does not exist or cannot be executed.
    CannotExec,
    /// The request asks for something impossible.
    BadRequest,
    /// What was brought cannot be taken: a file's name, the number or size of files, the arguments of a program.
    Content,
    /// The machine refused something, or we are at fault.
    System,
    /// The launcher is gone.
    LauncherGone,
}

/// A run that did not take place, or of which nothing can be said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub struct SandboxError {
    /// Whose fault.
    pub kind: ErrorKind,
    /// What was being done, with the path or name it was done to.
    pub what: String,
    /// What went wrong.
    pub why: String,
    /// The error number of the system call, if one failed.
    pub errno: Option<i32>,
}

impl fmt::Display for SandboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

impl SandboxError {
    pub(crate) fn system(what: impl Into<String>, why: impl fmt::Display) -> SandboxError {
        SandboxError { kind: ErrorKind::System, what: what.into(), why: why.to_string(), errno: None }
    }

    pub(crate) fn content(what: impl Into<String>, why: impl fmt::Display) -> SandboxError {
        SandboxError { kind: ErrorKind::Content, what: what.into(), why: why.to_string(), errno: None }
    }

    pub(crate) fn bad_request(what: impl Into<String>, why: impl fmt::Display) -> SandboxError {
        SandboxError { kind: ErrorKind::BadRequest, what: what.into(), why: why.to_string(), errno: None }
    }
}

/// Names what was being done when an I/O error came back.
pub(crate) trait During<T> {
    fn during(self, what: impl FnOnce() -> String) -> Result<T, SandboxError>;
}

impl<T, E: Into<io::Error>> During<T> for Result<T, E> {
    fn during(self, what: impl FnOnce() -> String) -> Result<T, SandboxError> {
        self.map_err(|e| {
            let e: io::Error = e.into();
            SandboxError { errno: e.raw_os_error(), ..SandboxError::system(what(), e) }
        })
    }
}
