//! What reaches the caller's streams: documents, lines, errors for people and their exit codes.

use report::text::Style;
use std::fmt;
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
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

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Usage(e) | Failure::System(e)) = self;
        write!(f, "{e:#}")
    }
}

impl From<engine::SystemError> for Failure {
    fn from(e: engine::SystemError) -> Failure {
        Failure::system(e)
    }
}

impl From<engine::SourceError> for Failure {
    fn from(e: engine::SourceError) -> Failure {
        Failure::usage(e)
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

/// What may be shown on a stream.
pub(crate) fn style_of(stream: &(impl IsTerminal + AsFd)) -> Style {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if !stream.is_terminal() {
        return Style::default();
    }
    let width =
        rustix::termios::tcgetwinsize(stream).ok().map(|size| size.ws_col).filter(|columns| *columns > 0);
    Style { colour: !set("NO_COLOR") && !dumb, width }
}

/// Writes to standard output. A reader that has gone away is no fault of ours.
pub(crate) fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Writes to standard error, likewise.
pub(crate) fn print_error(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
