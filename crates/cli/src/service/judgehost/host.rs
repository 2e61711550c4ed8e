//! What a host does, and when: what is in hand first, then asking for more.

use super::batch::{Judging, Stop};
use super::bundles::Bundles;
use super::report_sender::ReportSender;
use super::testcases::Tests;
use super::workdirs::Workdirs;
use crate::Done;
use crate::terminal::Failure;
use engine::bundle::BundleRunner;
use judge::domjudge::MemoryVerdict;
use judgehost::journal::{Entry, Journal};
use judgehost::report::{Disabled, InternalError};
use judgehost::server::{NotDone, Server};
use judgehost::task::{Task, Work};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Waits between requests for work while there is none: the shortest, doubled up to the longest, as DOMjudge's own judgehost waits.
const IDLE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// Waits while the server cannot be reached.
const TROUBLE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(30));
/// For another process to let go of the journal.
const HELD: Duration = Duration::from_secs(10);
/// As often a wait looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

pub(super) struct Host {
    pub(super) server: Server,
    /// Who reports results.
    pub(super) report_sender: ReportSender,
    pub(super) url: String,
    pub(super) name: String,
    pub(super) journal: Journal,
    pub(super) runner: BundleRunner<'static>,
    /// What is in hand is to be finished, and then this process ends.
    pub(super) ending: &'static AtomicBool,
    pub(super) tests: Tests,
    pub(super) bundles: Bundles,
    /// What was compiled last.
    pub(super) judging: Option<Rc<Judging>>,
    /// What is kept for a jury that asks for more.
    pub(super) workdirs: Workdirs,
    /// What commands told of versions.
    pub(super) versions: BTreeMap<String, Vec<u8>>,
    pub(super) memory: MemoryVerdict,
    pub(super) batch: Option<u32>,
    pub(super) once: bool,
}

/// Opens the journal of a host. A process that was just killed holds it for a moment longer.
pub(super) fn journal(directory: &Path, name: &str) -> Result<Journal, Failure> {
    let told = |e: io::Error| match e.kind() {
        io::ErrorKind::WouldBlock => Failure::usage(format!(
            "another process is the judgehost {name}\n\
             hint: give this one another --name, or stop the other"
        )),
        _ => Failure::system(format!("{}: {e}", directory.display())),
    };
    std::fs::create_dir_all(directory.join("work")).map_err(told)?;
    // Other users of this machine read no submissions.
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700)).map_err(told)?;
    let until = Instant::now() + HELD;
    loop {
        match Journal::open(&directory.join("journal")) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && Instant::now() < until => sleep(LOOK),
            opened => return opened.map_err(told),
        }
    }
}

impl Host {
    /// Works until an end is asked for, or nothing is left to do.
    pub(super) fn live(&mut self) -> Result<Done, Failure> {
        let state = self.journal.state();
        if !state.tasks.is_empty() && state.server != self.url {
            tracing::warn!(
                server = state.server,
                "the journal has tasks of another server; they are dropped"
            );
            self.journal.clear().map_err(Failure::system)?;
        }
        tracing::info!(name = self.name, tasks = self.journal.state().tasks.len(), "the judgehost begins");
        let mut registered = false;
        let (mut idle, mut trouble) = (IDLE.0, TROUBLE.0);
        loop {
            if self.is_ending() && self.journal.state().tasks.is_empty() {
                return Ok(Done::Good);
            }
            match self.turn(&mut registered) {
                Ok(true) => (idle, trouble) = (IDLE.0, TROUBLE.0),
                Ok(false) if self.once => return Ok(Done::Good),
                Ok(false) => {
                    trouble = TROUBLE.0;
                    self.wait(idle);
                    idle = (idle * 2).min(IDLE.1);
                }
                Err(Stop::Server(NotDone::Unauthorized)) => {
                    return Err(Failure::usage(format!("{}: {}", self.url, NotDone::Unauthorized)));
                }
                Err(Stop::Cancelled) => {
                    tracing::info!(
                        tasks = self.journal.state().tasks.len(),
                        "left; the next start resumes it"
                    );
                    return Ok(Done::Good);
                }
                Err(Stop::Journal(why)) => {
                    return Err(Failure::system(format!("the journal of {}: {why}", self.name)));
                }
                Err(stop) => {
                    tracing::warn!(why = %stop, seconds = trouble.as_secs_f64(), "not now");
                    // Whoever is to end does not wait for a server that is not there: the journal has it all.
                    if self.is_ending() {
                        return Ok(Done::Good);
                    }
                    registered = false;
                    self.wait(trouble);
                    trouble = (trouble * 2).min(TROUBLE.1);
                }
            }
        }
    }

    /// One thing to do; false: there is none.
    fn turn(&mut self, registered: &mut bool) -> Result<bool, Stop> {
        if !self.journal.state().tasks.is_empty() {
            self.do_batch(registered)?;
            return Ok(true);
        }
        // After what is in hand: with it the server gives everything without a result to others.
        if !*registered {
            self.server.register()?;
            *registered = true;
        }
        match self.server.fetch(self.batch)? {
            Work::None => Ok(false),
            Work::TryAgain => Ok(true),
            Work::Tasks(tasks) => {
                self.journal.note(Entry::Batch { server: self.url.clone(), tasks })?;
                self.do_batch(registered)?;
                Ok(true)
            }
        }
    }

    /// What is in hand, to its end: done, or the server told why not.
    fn do_batch(&mut self, registered: &mut bool) -> Result<(), Stop> {
        let values = self.journal.state().tasks.clone();
        let read = values.iter().map(Task::read).collect::<Result<Vec<Task>, String>>();
        let done = match &read {
            Ok(tasks) => self.perform(tasks),
            Err(why) => Err(Stop::Machine(why.clone())),
        };
        let left = match done {
            Ok(all) => !all,
            Err(Stop::Told { error, task }) => {
                tracing::error!(error.description, "an internal error");
                self.server.internal_error(&error, task)?;
                true
            }
            Err(Stop::Machine(why)) => {
                tracing::error!(why, "a fault of this machine");
                let error = InternalError {
                    description: format!("tauto judgehost {}: {why}", self.name),
                    log: why,
                    disabled: Disabled::Host(self.name.clone()),
                };
                let task = values.first().and_then(|task| task["judgetaskid"].as_u64());
                self.server.internal_error(&error, task)?;
                true
            }
            Err(Stop::Server(NotDone::Refused(why))) => {
                tracing::warn!(why, "the server has cancelled this task");
                true
            }
            Err(other) => return Err(other),
        };
        self.journal.clear()?;
        // What is left of it goes to others.
        *registered &= !left;
        Ok(())
    }

    pub(super) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    fn wait(&self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until && !self.is_ending() {
            sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
        }
    }
}
