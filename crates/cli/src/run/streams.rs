//! The standard streams of the command.

use super::RunArgs;
use crate::terminal::Failure;
use model::{Bytes, RunSpec, Stdio};
use sandbox::{Ender, Launcher};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
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
    launcher: &Launcher,
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
    for (n, file) in [(1, &args.stdout), (2, &args.stderr)] {
        spec.stdio[n] = match file {
            Some(path) => {
                let file =
                    File::create(path).map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?;
                push(fds, file.into())
            }
            None => {
                let (read, write) = std::io::pipe().map_err(Failure::system)?;
                let to_stdout = n == 1 && !args.json;
                let relay = Relay {
                    from: File::from(OwnedFd::from(read)),
                    to_stdout,
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
    to_stdout: bool,
    written: Arc<AtomicU64>,
    limit: Option<Bytes>,
    ender: Ender,
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
            // The caller's end may be closed; the command goes on as it would with a closed pipe of its own.
            let _ = if self.to_stdout {
                std::io::stdout().write_all(&buffer[..n]).and_then(|()| std::io::stdout().flush())
            } else {
                std::io::stderr().write_all(&buffer[..n])
            };
        }
    }
}
