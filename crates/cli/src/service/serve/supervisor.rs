//! Processes that are started, started again when they end, and ended together.

use crate::Done;
use crate::config::NATS;
use crate::terminal::Failure;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// A process to be kept alive: this program again, with other arguments, to which `--parent` and our number are added.
pub(crate) struct SupervisedCommand {
    pub(crate) name: String,
    pub(crate) args: Vec<OsString>,
    /// Variables it gets beside ours.
    pub(crate) env: Vec<(&'static str, OsString)>,
    /// What it gets as standard input; nothing where `None`.
    pub(crate) stdin: Option<OwnedFd>,
}

/// A process that is looked after.
pub(crate) struct SupervisedProcess {
    pub(crate) name: String,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    pid: Option<Pid>,
    gone: bool,
}

impl SupervisedProcess {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the pid of a started process. If shutdown began before the pid was known, the process is signalled here.
    fn began(&self, pid: u32, ending: &AtomicBool) {
        self.state().pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        if ending.load(Ordering::SeqCst) {
            self.tell(Signal::TERM);
        }
    }

    /// Sends it a signal, if it is there.
    pub(crate) fn tell(&self, signal: Signal) {
        if let Some(pid) = self.state().pid {
            // It may have ended; nobody else has its number until it is waited for, and that takes the lock.
            let _ = kill_process(pid, signal);
        }
    }

    /// Waits until it is there no more, and will not be started again.
    pub(crate) fn wait(&self) {
        let mut state = self.state();
        while !state.gone {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The processes.
pub(crate) struct Supervisor {
    children: Vec<Arc<SupervisedProcess>>,
    ending: Arc<AtomicBool>,
    ends: mpsc::Receiver<End>,
}

enum End {
    /// Somebody wants everything to end.
    Asked,
    /// A process says that starting it again is no use.
    Hopeless(String),
}

/// The shortest and the longest wait before a process is started again. Others wait meanwhile for what it does, so that the longest is short.
const WAITS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));
/// A process that lived this long did begin to work, whatever it died of: it is started again at once.
const LIVED: Duration = Duration::from_secs(3);

impl Supervisor {
    /// Starts them all.
    pub(crate) fn start(children: Vec<SupervisedCommand>) -> Result<Supervisor, Failure> {
        let (tell, ends) = mpsc::channel();
        let ending = Arc::new(AtomicBool::new(false));
        let asked = tell.clone();
        ctrlc::set_handler(move || drop(asked.send(End::Asked))).map_err(Failure::system)?;
        let supervise = |child: SupervisedCommand| {
            let supervised = Arc::new(SupervisedProcess {
                name: child.name.clone(),
                state: Mutex::default(),
                changed: Condvar::new(),
            });
            let (own, ending, tell) = (supervised.clone(), ending.clone(), tell.clone());
            // This thread lives as long as the process: it is the parent whose death the process is told of.
            thread::spawn(move || look_after(&child, &own, &ending, &tell));
            supervised
        };
        let children = children.into_iter().map(supervise).collect();
        Ok(Supervisor { children, ending, ends })
    }

    /// Waits until somebody wants an end or a process is hopeless; `end` then tells the processes, in its order, and all are waited
    /// for.
    pub(crate) fn attend(self, end: impl Fn(&[Arc<SupervisedProcess>])) -> Result<Done, Failure> {
        let why = self.ends.recv().unwrap_or(End::Asked);
        self.ending.store(true, Ordering::SeqCst);
        end(&self.children);
        for child in &self.children {
            child.tell(Signal::TERM);
            child.wait();
        }
        match why {
            End::Asked => Ok(Done::Good),
            End::Hopeless(why) => Err(Failure::usage(why)),
        }
    }
}

fn look_after(
    child: &SupervisedCommand,
    supervised: &SupervisedProcess,
    ending: &AtomicBool,
    tell: &mpsc::Sender<End>,
) {
    let mut wait = WAITS.0;
    while !ending.load(Ordering::SeqCst) {
        let begun = Instant::now();
        match once(child, supervised, ending) {
            Ok(status) if ending.load(Ordering::SeqCst) => tracing::debug!(child.name, %status, "ended"),
            // It has said why; that will not change by itself.
            Ok(status) if status.code() == Some(2) => {
                drop(tell.send(End::Hopeless(format!(
                    "the process `{}` cannot work\nhint: see the messages above",
                    child.name
                ))));
                break;
            }
            Ok(status) => tracing::warn!(child.name, %status, "ended; starting it again"),
            Err(error) => tracing::error!(child.name, %error, "cannot be started"),
        }
        if begun.elapsed() > LIVED {
            wait = WAITS.0;
        }
        let until = Instant::now() + wait;
        while Instant::now() < until && !ending.load(Ordering::SeqCst) {
            thread::sleep(WAITS.0);
        }
        wait = (wait * 2).min(WAITS.1);
    }
    supervised.state().gone = true;
    supervised.changed.notify_all();
}

fn once(
    child: &SupervisedCommand,
    supervised: &SupervisedProcess,
    ending: &AtomicBool,
) -> std::io::Result<ExitStatus> {
    let stdin = match &child.stdin {
        Some(fd) => Stdio::from(fd.try_clone()?),
        None => Stdio::null(),
    };
    let mut process = Command::new("/proc/self/exe");
    process.arg0_of(&child.name).args(&child.args).arg("--parent").arg(std::process::id().to_string());
    // What is secret is for the one it is meant for.
    process.env_remove(NATS).envs(child.env.iter().cloned());
    let mut process = process.stdin(stdin).spawn()?;
    supervised.began(process.id(), ending);
    // Its number is its own until it is reaped, which happens under the lock.
    let status = loop {
        {
            let mut state = supervised.state();
            if let Some(status) = process.try_wait()? {
                state.pid = None;
                break status;
            }
        }
        wait_for_end(process.id());
    };
    Ok(status)
}

/// Waits until a child has ended, without reaping it.
fn wait_for_end(pid: u32) {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return };
    // However that ended, the caller looks again.
    let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
}

trait Named {
    fn arg0_of(&mut self, name: &str) -> &mut Self;
}

impl Named for Command {
    /// What `ps` shows.
    fn arg0_of(&mut self, name: &str) -> &mut Self {
        use std::os::unix::process::CommandExt;
        self.arg0(format!("tauto: {name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_process_that_starts_while_all_end_is_told_so() {
        let supervised =
            SupervisedProcess { name: "one".into(), state: Mutex::default(), changed: Condvar::new() };
        let mut process = Command::new("sleep").arg("20").spawn().expect("it starts");
        supervised.began(process.id(), &AtomicBool::new(true));
        assert_eq!(process.wait().expect("it ends").signal(), Some(Signal::TERM.as_raw()));
    }
}
