//! The caller's streams, and the only place that writes to them: documents, lines, errors for people, and exit codes.

use crate::Done;
use report::text::Style;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

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

    /// The same failure with a line on what mends it.
    pub(crate) fn hint(self, hint: impl fmt::Display) -> Failure {
        match self {
            Failure::Usage(e) => Failure::usage(format!("{e:#}\nhint: {hint}")),
            Failure::System(e) => Failure::system(format!("{e:#}\nhint: {hint}")),
        }
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
            ErrorKind::CannotExec => Failure::usage(cannot_execute(&e)),
            ErrorKind::BadRequest | ErrorKind::Content => Failure::usage(e),
            ErrorKind::System | ErrorKind::LauncherGone => Failure::system(e),
        }
    }
}

/// Why a program cannot be executed, without the directory in which a run sees programs of the user.
fn cannot_execute(e: &sandbox::SandboxError) -> String {
    let program = e.what.strip_prefix("executing ").unwrap_or(&e.what);
    let name = program.strip_prefix("/program/").unwrap_or(program);
    let hint = match e.errno.map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::NOENT) => {
            "\nhint: the interpreter that its first line names, or its dynamic loader, must exist below /usr or /bin"
        }
        _ => "",
    };
    format!("{name}: cannot be executed: {}{hint}", e.why)
}

/// The exit code of a command, once all that is left to say is said. A good or bad answer that did not reach its reader is none.
pub(crate) fn exit_code(result: Result<Done, Failure>) -> ExitCode {
    let lost = LOST.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(lost) = &lost {
        tell_error(lost);
    }
    let code = match result {
        Ok(Done::Good | Done::Bad) if lost.is_some() => Done::Fault as u8,
        Ok(done) => done as u8,
        Err(failure) => {
            tell_error(&failure);
            match failure {
                Failure::Usage(_) => 2,
                Failure::System(_) => 3,
            }
        }
    };
    ExitCode::from(code)
}

/// What the command line's parser says instead of a command: help and the version on standard output, or what is wrong, with its
/// suggestions in the form of our hints.
pub(crate) fn tell_reader(told: &clap::Error) -> ExitCode {
    let text = told.render();
    let shown = |style: Style| match style.colour {
        true => {
            let hint = format!("\n{} ", painted("hint:", HINT, style));
            tips_as_hints(&text.ansi().to_string()).replace("\nhint: ", &hint)
        }
        false => tips_as_hints(&text.to_string()),
    };
    if told.use_stderr() {
        print_error(&shown(error_style()));
        return ExitCode::from(2);
    }
    print(&shown(style()));
    exit_code(Ok(Done::Good))
}

/// Parser errors with `hint:` in place of the parser's `tip:`, which may be painted.
fn tips_as_hints(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let tip = line.strip_prefix("  ").and_then(|rest| rest.split_once("tip:"));
        match tip {
            Some((paint, rest)) if paint.is_empty() || paint.starts_with('\u{1b}') => {
                if lines.last().is_some_and(String::is_empty) {
                    lines.pop();
                }
                let rest = rest.strip_prefix("\u{1b}[0m").unwrap_or(rest);
                lines.push(format!("hint:{rest}"));
            }
            // Where a suggestion was taken out.
            _ if line.is_empty() && lines.last().is_some_and(String::is_empty) => {}
            _ => lines.push(line.to_owned()),
        }
    }
    lines.join("\n") + "\n"
}

/// Where a command's output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Output,
    Error,
}

/// What may be shown on standard output.
pub(crate) fn style() -> Style {
    style_of(&io::stdout())
}

/// What may be shown on standard error.
pub(crate) fn error_style() -> Style {
    style_of(&io::stderr())
}

fn style_of(stream: &(impl IsTerminal + AsFd)) -> Style {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if !stream.is_terminal() {
        return Style::default();
    }
    let width =
        rustix::termios::tcgetwinsize(stream).ok().map(|size| size.ws_col).filter(|columns| *columns > 0);
    Style { colour: !set("NO_COLOR") && !dumb, width }
}

/// The first output of this process that could not be written, and why: it decides the exit code.
static LOST: Mutex<Option<String>> = Mutex::new(None);

/// Notes that output was lost.
pub(crate) fn lose(place: impl fmt::Display, why: impl fmt::Display) {
    let mut lost = LOST.lock().unwrap_or_else(PoisonError::into_inner);
    lost.get_or_insert_with(|| format!("cannot write to {place}: {why}; the output is lost or incomplete"));
}

/// Writes output. What cannot be written makes the command fail in the end.
pub(crate) fn output(stream: Stream, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let written = match stream {
        // The runtime has put /dev/null in its place.
        Stream::Output if sandbox::stdout_was_closed() => Err(io::Error::other("it is closed")),
        Stream::Output => {
            let mut stdout = io::stdout().lock();
            stdout.write_all(bytes).and_then(|()| stdout.flush())
        }
        Stream::Error => io::stderr().lock().write_all(bytes),
    };
    if let Err(e) = written {
        let place = if stream == Stream::Output { "standard output" } else { "standard error" };
        lose(place, e);
    }
}

/// Writes to standard output.
pub(crate) fn print(text: &str) {
    output(Stream::Output, text.as_bytes());
}

/// SGR parameters of the words before what is said, as clap has them in its own errors.
const ERROR: &str = "1;31";
const WARNING: &str = "1;33";
const HINT: &str = "36";

fn painted(word: &str, colour: &str, style: Style) -> String {
    if style.colour { format!("\u{1b}[{colour}m{word}\u{1b}[0m") } else { word.into() }
}

/// Tells what failed, and on lines of their own what mends it.
pub(crate) fn tell_error(error: impl fmt::Display) {
    print_error(&lines("error:", ERROR, &error.to_string(), error_style()));
}

/// Tells what is not as it should be and keeps nothing from going on.
pub(crate) fn tell_warning(warning: impl fmt::Display) {
    print_error(&lines("warning:", WARNING, &warning.to_string(), error_style()));
}

fn lines(kind: &str, colour: &str, text: &str, style: Style) -> String {
    // Names of files, in packages and on the command line, are anybody's.
    let text = without_numbers(&report::text::harmless(text));
    let (fact, hints) = model::hint::split(&text);
    let hint = painted("hint:", HINT, style);
    let hints: String = hints.iter().map(|what| format!("{hint} {what}\n")).collect();
    format!("{} {fact}\n{hints}", painted(kind, colour, style))
}

/// The text without the numbers that Rust writes behind what an error of the system means: `No such file or directory (os error 2)`.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |told, part| match part.split_once(')') {
        Some((number, rest)) if number.bytes().all(|digit| digit.is_ascii_digit()) => told + rest,
        _ => told + " (os error " + part,
    })
}

/// Says something besides the output. Where nobody can hear it, nothing is lost.
pub(crate) fn print_error(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tips_of_the_parser_become_hints() {
        for (tip, hint) in [("  tip: ", "hint: "), ("  \u{1b}[32mtip:\u{1b}[0m ", "hint: ")] {
            let told = format!("error: no x\n\n{tip}a y exists\n\nUsage: z\n");
            assert_eq!(tips_as_hints(&told), format!("error: no x\n{hint}a y exists\n\nUsage: z\n"));
        }
        assert_eq!(tips_as_hints("  a tip: none\n"), "  a tip: none\n");
        assert_eq!(tips_as_hints("error: no x\n\n\nUsage: z\n"), "error: no x\n\nUsage: z\n");
    }

    #[test]
    fn no_place_inside_is_told() {
        let error = |what: &str, errno| sandbox::SandboxError {
            kind: sandbox::ErrorKind::CannotExec,
            what: what.into(),
            why: "no".into(),
            errno,
        };
        let told = |what, errno| Failure::from(error(what, errno)).to_string();
        assert_eq!(told("executing /program/x", None), "x: cannot be executed: no");
        assert!(
            told("executing /usr/bin/x", Some(2)).starts_with("/usr/bin/x: cannot be executed: no\nhint: ")
        );
    }

    #[test]
    fn an_error_is_a_fact_and_a_hint() {
        let failure =
            Failure::usage("--slot 9: this machine has no such slot").hint("`tauto slots` lists them");
        let plain = lines("error:", ERROR, &failure.to_string(), Style::default());
        assert_eq!(plain, "error: --slot 9: this machine has no such slot\nhint: `tauto slots` lists them\n");
        let bright = Style { colour: true, ..Style::default() };
        assert_eq!(
            lines("error:", ERROR, "a: b\nhint: c", bright),
            "\u{1b}[1;31merror:\u{1b}[0m a: b\n\u{1b}[36mhint:\u{1b}[0m c\n"
        );
        assert_eq!(lines("warning:", WARNING, "a", Style::default()), "warning: a\n");
        let missing = std::fs::read("/nowhere").unwrap_err();
        let told = lines("error:", ERROR, &format!("/nowhere: {missing}; b: {missing}"), Style::default());
        assert_eq!(told, "error: /nowhere: No such file or directory; b: No such file or directory\n");
        assert_eq!(without_numbers("a (os error x) (os error "), "a (os error x) (os error ");
        assert_eq!(lines("warning:", WARNING, "\u{1b}[31ma", Style::default()), "warning: ·[31ma\n");
    }
}
