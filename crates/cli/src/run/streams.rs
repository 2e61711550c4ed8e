//! The standard streams of the command.

use super::RunArgs;
use crate::isolation::{ProgramRunner, RunEnder};
use crate::terminal::{self, Failure, Stream};
use model::{Bytes, RunSpec, Stdio};
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How long a reader may pause before the output of a command that was ended is given up.
const GRACE: Duration = Duration::from_secs(1);

/// Connects the standard streams: to files that were named, else through pipes to our own.
pub(super) fn connect(
    args: &RunArgs,
    spec: &mut RunSpec,
    fds: &mut Vec<OwnedFd>,
    launcher: &ProgramRunner,
) -> Result<Relays, Failure> {
    let (done, relays) = channel();
    let mut running = 0;
    let input = match &args.stdin {
        Some(path) => {
            File::open(path).map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?.into()
        }
        None => std::io::stdin().as_fd().try_clone_to_owned().map_err(Failure::system)?,
    };
    spec.stdio[0] = push(fds, input);
    let written = Arc::new(AtomicU64::new(0));
    let mut opened: Option<(Stdio, Metadata)> = None;
    for (n, file) in [(1, &args.stdout), (2, &args.stderr)] {
        spec.stdio[n] = match file {
            Some(path) => {
                let fail = |e| Failure::usage(format!("{}: {e}", path.display()));
                let file = File::create(path).map_err(fail)?;
                let facts = file.metadata().map_err(fail)?;
                match &opened {
                    // Both have one place in it, as after `>FILE 2>&1`; with two they would write over each other.
                    Some((first, of)) if (of.dev(), of.ino()) == (facts.dev(), facts.ino()) => *first,
                    _ => {
                        let stdio = push(fds, file.into());
                        opened = Some((stdio, facts));
                        stdio
                    }
                }
            }
            None => {
                let (read, write) = std::io::pipe().map_err(Failure::system)?;
                let to = if n == 1 && !args.json { Stream::Output } else { Stream::Error };
                let relay = Relay {
                    from: File::from(OwnedFd::from(read)),
                    to,
                    written: written.clone(),
                    limit: spec.limits.output,
                    ender: launcher.ender(),
                };
                let done = done.clone();
                std::thread::spawn(move || {
                    relay.work();
                    // Nobody waits any more once the command has been given up.
                    let _ = done.send(());
                });
                running += 1;
                push(fds, write.into())
            }
        };
    }
    Ok(Relays { done: relays, running, written })
}

fn push(fds: &mut Vec<OwnedFd>, fd: OwnedFd) -> Stdio {
    fds.push(fd);
    Stdio::Fd(fds.len() as u8 - 1)
}

/// The threads that pass on what the command writes.
pub(super) struct Relays {
    done: Receiver<()>,
    running: u32,
    written: Arc<AtomicU64>,
}

impl Relays {
    /// Waits until everything is passed on and says how many bytes that were. `patient`: for as long as the reader needs;
    /// otherwise the rest of a command that was ended is dropped once its reader stops reading.
    pub(super) fn finish(&self, patient: bool) -> Bytes {
        for _ in 0..self.running {
            let mut seen = self.written.load(Ordering::SeqCst);
            loop {
                let waited = if patient {
                    self.done.recv().map_err(|_| RecvTimeoutError::Disconnected)
                } else {
                    self.done.recv_timeout(GRACE)
                };
                let now = self.written.load(Ordering::SeqCst);
                match waited {
                    Err(RecvTimeoutError::Timeout) if now != seen => seen = now,
                    _ => break,
                }
            }
        }
        Bytes(self.written.load(Ordering::SeqCst))
    }
}

/// Passes on what the command writes, and ends it when that is too much.
struct Relay {
    from: File,
    to: Stream,
    written: Arc<AtomicU64>,
    limit: Option<Bytes>,
    ender: RunEnder,
}

impl Relay {
    fn work(mut self) {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(n @ 1..) = self.from.read(&mut buffer) {
            let total = self.written.fetch_add(n as u64, Ordering::SeqCst) + n as u64;
            if self.limit.is_some_and(|l| total > l.0) {
                self.ender.end_run(true);
                continue;
            }
            // Where the caller's end is closed or full, the command goes on all the same; we say at the end that its output was lost.
            terminal::output(self.to, &buffer[..n]);
        }
    }
}
