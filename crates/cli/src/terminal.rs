//! Errors for people, and their exit codes.

use std::fmt;
use std::process::ExitCode;

/// Why a command could not be carried out.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Wrong usage or bad input: exit code 2.
    Usage(anyhow::Error),
    /// The system failed, or we did: exit code 3.
    System(anyhow::Error),
}

impl Failure {
    pub(crate) fn usage(e: impl fmt::Display) -> Failure {
        Failure::Usage(anyhow::anyhow!("{e}"))
    }

    pub(crate) fn system(e: impl fmt::Display) -> Failure {
        Failure::System(anyhow::anyhow!("{e}"))
    }
}

impl From<sandbox::SandboxError> for Failure {
    fn from(e: sandbox::SandboxError) -> Failure {
        use sandbox::ErrorKind;
        match e.kind {
            ErrorKind::CannotExec | ErrorKind::BadRequest => Failure::usage(e),
            ErrorKind::System | ErrorKind::LauncherGone => Failure::system(e),
        }
    }
}

#[allow(clippy::print_stderr)]
pub(crate) fn report_failure(failure: &Failure) -> ExitCode {
    let (error, code) = match failure {
        Failure::Usage(e) => (e, 2),
        Failure::System(e) => (e, 3),
    };
    eprintln!("tauto: {error:#}");
    ExitCode::from(code)
}
