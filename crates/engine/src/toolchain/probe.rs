//! Asks a trusted tool of the host a question: bounded in time and in what it may say.

use os::retry::{PATIENCE, STARTING, repeat};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const TIME: Duration = Duration::from_secs(10);
const MOST_OUTPUT: usize = 64 << 10;

/// The first line of standard output of a command that succeeds.
pub(super) fn first_line(argv: &[String]) -> Result<String, String> {
    let answer = ask(argv)?;
    line(&answer.stdout).ok_or_else(|| format!("`{}` prints nothing", argv.join(" ")))
}

/// The line that tells a tool's version, on standard output or, as some tools do, on standard error.
pub(super) fn version_line(argv: &[String]) -> Result<String, String> {
    let answer = ask(argv)?;
    let outputs = [&answer.stdout, &answer.stderr].map(|output| String::from_utf8_lossy(output).into_owned());
    telling(&outputs.join("\n")).ok_or_else(|| format!("`{}` prints nothing", argv.join(" ")))
}

/// Of what a tool says of itself the first line with a number such as `1.3` in it, no warning: a runtime may have something to say before
/// the tool does. Else the first line.
fn telling(said: &str) -> Option<String> {
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let numbered = |line: &&str| {
        let bytes = line.as_bytes();
        bytes.windows(3).any(|w| w[0].is_ascii_digit() && w[1] == b'.' && w[2].is_ascii_digit())
    };
    let warning = |line: &&str| line.to_ascii_lowercase().contains("warning");
    let told = lines().find(|line| numbered(line) && !warning(line));
    let told = told.or_else(|| lines().find(|line| !warning(line))).or_else(|| lines().next())?;
    Some(told.strip_prefix("info: ").unwrap_or(told).to_owned())
}

fn line(output: &[u8]) -> Option<String> {
    String::from_utf8_lossy(output).lines().map(str::trim).find(|l| !l.is_empty()).map(str::to_owned)
}

#[derive(Default)]
struct Answer {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

fn ask(argv: &[String]) -> Result<Answer, String> {
    let (program, arguments) = argv.split_first().ok_or("the command is empty")?;
    let told = argv.join(" ");
    // A group of its own, so that a shim's children end with it; `/`, so that no project file there changes the answer.
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = repeat(STARTING, PATIENCE, || command.spawn())
        .map_err(|e| format!("`{told}` cannot be started: {e}"))?;
    let deadline = Instant::now() + TIME;
    let answer = listen(&mut child, deadline);
    let status = wait(&mut child, deadline);
    let Some(status) = status else {
        // Not waited for yet, so the number still is this group's.
        if let Some(pid) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
        let _ = child.wait();
        return Err(format!("`{told}` did not end within {} s", TIME.as_secs()));
    };
    let answer = answer.map_err(|e| format!("`{told}`: {e}"))?;
    match status.success() {
        true => Ok(answer),
        false => {
            Err(format!("`{told}` fails: {}", line(&answer.stderr).unwrap_or_else(|| status.to_string())))
        }
    }
}

/// Reads both outputs until they end, are full, or time is up.
fn listen(child: &mut Child, deadline: Instant) -> std::io::Result<Answer> {
    let mut answer = Answer::default();
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    while out.is_some() || err.is_some() {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout =
            Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: i64::from(left.subsec_nanos()) };
        let open = [out.as_ref().map(AsFd::as_fd), err.as_ref().map(AsFd::as_fd)];
        let mut fds: Vec<PollFd<'_>> =
            open.into_iter().flatten().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) => break,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        let mut ready = fds.iter().map(|fd| !fd.revents().is_empty()).collect::<Vec<_>>().into_iter();
        let ready =
            (out.is_some() && ready.next() == Some(true), err.is_some() && ready.next() == Some(true));
        if ready.0 {
            read_some(&mut out, &mut answer.stdout)?;
        }
        if ready.1 {
            read_some(&mut err, &mut answer.stderr)?;
        }
    }
    Ok(answer)
}

/// Reads what is there; closes the stream at its end and when enough was read.
fn read_some(stream: &mut Option<impl Read>, into: &mut Vec<u8>) -> std::io::Result<()> {
    let Some(open) = stream else { return Ok(()) };
    let mut buffer = [0; 4096];
    let count = match open.read(&mut buffer) {
        Err(e) if e.kind() == ErrorKind::Interrupted => return Ok(()),
        result => result?,
    };
    into.extend_from_slice(&buffer[..count]);
    if count == 0 || into.len() >= MOST_OUTPUT {
        *stream = None;
    }
    Ok(())
}

fn wait(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
            _ => return None,
        }
    }
}
