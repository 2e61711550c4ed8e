//! Work over the brokers of a fleet: tickets from the pool's consumer, questions to whichever server answers.
//!
//! The process's first thread judges; one more, kept off the slot's CPUs where there are others, talks to the brokers. Launchers are
//! forked before it is started (`Site::start`), and from then on nothing here forks without executing another program at once:
//! a launcher that is lost ends this process, and another one is started in its place.

mod greeting;
mod keeping;
mod service;
mod shared;

use super::brokers::Brokers;
use super::statement::{self, statement};
use super::{Cpus, Worker, probe, task};
use crate::Done;
use crate::terminal::Failure;
use crate::worker::facts::Speaker;
use fleet::nats::{Ask, Nats, NatsError, NotBegun, Reply, Standing, Ticket, Tickets, WorkerId, connect};
use fleet::{Outcome, Task};
use keeping::{Kept, Telling};
use rustix::thread::{CpuSet, sched_setaffinity};
use service::{Events, Fleet};
use shared::{Shared, Stands};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// It is looked as often whether something else is to be done than waiting for a ticket.
const LOOK: Duration = Duration::from_millis(200);
/// A ticket that waits has come within that.
const MOMENT: Duration = Duration::from_millis(20);
/// It is looked as often whether a worker works that has nothing to wait for.
const PAUSE: Duration = Duration::from_millis(50);
/// A server answers within that who wants to begin. Shorter than the stream waits for a sign of its ticket.
const BEGIN: Duration = Duration::from_secs(8);
/// A ticket that cannot be begun now is put back for so long.
const LATER: Duration = Duration::from_secs(1);
/// The shortest and the longest wait between attempts to connect.
const WAITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// A worker that ends waits so long for the service to hear of its last task.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Why a task that was cancelled was given back.
const LEFT: &str = "the service wanted it to be left";

/// Works until this process is to end.
pub(super) fn work(worker: &mut Worker, brokers: &Brokers, cpus: &Cpus) -> Result<Done, Failure> {
    let runtime = runtime(&cpus.all)?;
    let from =
        WorkerId { pool: brokers.pool.clone(), node: worker.hello.node.clone(), slot: worker.hello.slot.id };
    let Some(nats) = connected(worker, &runtime, brokers, &from)? else { return Ok(Done::Interrupted) };
    // Whatever is begun or dropped on this thread finds the runtime.
    let inside = runtime.enter();
    let shared = Arc::new(Shared::new(nats, from, worker));
    let events = Events::begin(&shared);
    let mut life = Life {
        worker,
        cpu: cpus.first,
        runtime: &runtime,
        shared,
        events,
        tickets: None,
        telling: None,
        probed: Instant::now(),
        told: String::new(),
    };
    life.worker.speaker.iter_mut().for_each(Speaker::begin);
    life.tell_of_node();
    runtime.spawn(greeting::greet(life.shared.clone()));
    runtime.spawn(greeting::be_present(life.shared.clone()));
    let done = life.live();
    life.leave();
    drop(inside);
    runtime.shutdown_timeout(PAUSE);
    done
}

/// A runtime with one thread, off those CPUs if it may be on others.
fn runtime(slot: &BTreeSet<u32>) -> Result<Runtime, Failure> {
    let others: Vec<u32> = lab::load::allowed().unwrap_or_default().difference(slot).copied().collect();
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).max_blocking_threads(2).thread_name("brokers").enable_all();
    builder.on_thread_start(move || {
        let mut cpus = CpuSet::new();
        others.iter().for_each(|cpu| cpus.set(*cpu as usize));
        // Refused, it stays where it is.
        let _ = if others.is_empty() { Ok(()) } else { sched_setaffinity(None, &cpus) };
    });
    builder.build().map_err(Failure::system)
}

/// Connects, as often as it may be of use. `None`: this process is to end.
fn connected(
    worker: &Worker,
    runtime: &Runtime,
    brokers: &Brokers,
    from: &WorkerId,
) -> Result<Option<Nats>, Failure> {
    let options = brokers.options(format!("tauto worker {} slot {}", from.node, from.slot));
    let (mut told, mut wait) = (String::new(), WAITS.0);
    while !worker.ending() {
        match runtime.block_on(connect(&options)) {
            Ok(nats) => return Ok(Some(nats)),
            Err(error) if error.is_lasting() => return Err(Failure::usage(error)),
            Err(error) => {
                let why = error.to_string();
                if why != told {
                    tracing::warn!(why, "no brokers yet; trying on");
                    told = why;
                }
            }
        }
        let until = Instant::now() + wait;
        while Instant::now() < until && !worker.ending() {
            std::thread::sleep(PAUSE);
        }
        wait = (wait * 2).min(WAITS.1);
    }
    Ok(None)
}

/// A worker at its brokers.
struct Life<'a> {
    worker: &'a mut Worker,
    cpu: Option<u32>,
    runtime: &'a Runtime,
    shared: Arc<Shared>,
    events: Events,
    tickets: Option<Tickets>,
    /// The outcome before the one that comes next.
    telling: Option<Telling>,
    probed: Instant,
    /// What was said last about tickets.
    told: String,
}

impl Life<'_> {
    fn live(&mut self) -> Result<Done, Failure> {
        while !self.worker.ending() {
            self.tell_of_node();
            let trouble = self.trouble();
            let stands = self.shared.standing.borrow().clone();
            match stands {
                Stands::Refused(why) => return Err(Failure::usage(why)),
                Stands::Told(Standing::Works { probe_every_secs }) if !trouble => {
                    self.go_on(probe_every_secs)?;
                }
                _ => {
                    self.tickets = None;
                    std::thread::sleep(PAUSE);
                }
            }
        }
        Ok(Done::Interrupted)
    }

    /// Has what is new about the machine told. Nothing runs in this slot meanwhile.
    fn tell_of_node(&mut self) {
        let Some(facts) =
            self.worker.speaker.as_mut().and_then(|speaker| speaker.news(&self.worker.languages))
        else {
            return;
        };
        let stated = statement(&self.shared.from);
        let mut state = self.shared.state();
        state.facts = Some(facts);
        match stated {
            Ok(stated) => state.statement = Some(stated),
            Err(error) => tracing::warn!(error, "this machine cannot state what it is"),
        }
        drop(state);
        self.shared.news.notify_one();
    }

    /// Whether something here keeps it from working. The service is told when that changes.
    fn trouble(&mut self) -> bool {
        let service = Fleet {
            shared: &self.shared,
            runtime: self.runtime.handle(),
            events: &self.events,
            submission: 0,
            left: None,
            ending: self.worker.ending,
        };
        let troubles: Vec<String> = self.worker.packages.trouble(&service).into_iter().collect();
        let mut state = self.shared.state();
        if state.troubles != troubles {
            if let Some(why) = troubles.first() {
                tracing::warn!(why, "no task is taken until this has passed");
            }
            state.troubles = troubles;
            self.shared.news.notify_one();
        }
        !state.troubles.is_empty()
    }

    /// Takes a ticket, or probes the slot. A probe that is due makes nobody wait: it is put off while there are tickets, but by no more than
    /// probes are apart.
    fn go_on(&mut self, probe_every_secs: Option<u32>) -> Result<(), Failure> {
        let since = self.probed.elapsed();
        let every = probe_every_secs.map(|secs| Duration::from_secs(secs.into()));
        if every.is_some_and(|every| since >= 2 * every) {
            self.probe();
            return Ok(());
        }
        let due = every.is_some_and(|every| since >= every);
        match self.next_ticket(if due { MOMENT } else { LOOK })? {
            Some(ticket) => self.attend(ticket)?,
            None if due => self.probe(),
            None => {}
        }
        Ok(())
    }

    /// Probes the slot.
    fn probe(&mut self) {
        self.probed = Instant::now();
        let Some(probe) = probe::taken(self.cpu, self.worker.cancel) else { return };
        let shared = self.shared.clone();
        self.runtime.spawn(async move {
            if let Err(error) = shared.nats.ask(&shared.from, &Ask::Probe { probe }, BEGIN).await {
                tracing::debug!(%error, "a probe was not told");
            }
        });
    }

    fn next_ticket(&mut self, within: Duration) -> Result<Option<Ticket>, Failure> {
        let pool = &self.shared.from.pool;
        let taken = self.runtime.block_on(async {
            if self.tickets.is_none() {
                self.tickets = Some(self.shared.nats.tickets(pool).await?);
            }
            match &mut self.tickets {
                Some(tickets) => tickets.next(within).await,
                None => Ok(None),
            }
        });
        match taken {
            Ok(ticket) => {
                self.told.clear();
                Ok(ticket)
            }
            Err(error) => {
                let why = error.to_string();
                if why != self.told {
                    tracing::warn!(why, "no tickets; trying on");
                    self.told = why;
                }
                std::thread::sleep(LOOK);
                Ok(None)
            }
        }
    }

    /// Does what a ticket is for, or says what else becomes of it.
    fn attend(&mut self, ticket: Ticket) -> Result<(), Failure> {
        let begin = Ask::Begin { ticket: ticket.lease };
        let reply = self.runtime.block_on(self.shared.nats.ask(&self.shared.from, &begin, BEGIN));
        let (put_back, why) = match reply {
            Ok(Reply::Begun { task, submission }) => {
                let kept = Kept::begin(&self.shared, ticket);
                let task = self.runtime.block_on(self.shared.nats.read_body(task));
                return self.perform(kept, task, submission);
            }
            Ok(Reply::NotBegun(NotBegun::Over)) => (None, None),
            Ok(Reply::NotBegun(NotBegun::Later { millis })) => {
                (Some(Duration::from_millis(millis.into())), None)
            }
            Ok(Reply::NotBegun(NotBegun::Stopped { reasons })) => {
                self.tickets = None;
                self.shared.standing.send_replace(Stands::Unknown);
                self.shared.news.notify_one();
                (Some(Duration::ZERO), Some(reasons.join("; ")))
            }
            Ok(Reply::Refused { why }) => return Err(Failure::usage(why)),
            Ok(other) => (Some(LATER), Some(format!("{other:?}"))),
            Err(error) => (Some(LATER), Some(error.to_string())),
        };
        if let Some(why) = why {
            tracing::warn!(job = ticket.lease.job.0, why, "a task is not begun");
        }
        let said = self.runtime.block_on(async {
            match put_back {
                Some(after) => ticket.later(after).await,
                None => ticket.throw_away().await,
            }
        });
        said.unwrap_or_else(|error| tracing::debug!(%error, "a ticket comes again"));
        Ok(())
    }

    /// Does a task and has its outcome told, while the next one may begin.
    fn perform(&mut self, kept: Kept, task: Result<Task, NatsError>, submission: i64) -> Result<(), Failure> {
        let outcome = match task {
            Ok(task) => self.judged(&kept, &task, submission),
            Err(error) => Outcome::Returned { why: error.to_string() },
        };
        let (failed, returned) = match &outcome {
            Outcome::Failed { why } => (Some(why.clone()), false),
            Outcome::Returned { why } => {
                tracing::warn!(why, "a task was given back");
                (None, true)
            }
            _ => (None, false),
        };
        let before = self.telling.replace(kept.done(outcome));
        // One may be on its way while the next one is done; not more.
        before.into_iter().for_each(|before| self.wait_for(before));
        if failed.is_some() || returned {
            self.telling.take().into_iter().for_each(|telling| self.wait_for(telling));
        }
        // What failed may be this process itself; a new one is started in its place.
        failed.map_or(Ok(()), |why| Err(Failure::system(why)))
    }

    fn judged(&mut self, kept: &Kept, task: &Task, submission: i64) -> Outcome {
        self.shared.begins(task.lease, submission);
        if kept.is_left() {
            self.shared.ends();
            return Outcome::Returned { why: LEFT.into() };
        }
        let shared = self.shared.clone();
        let service = Fleet {
            shared: &shared,
            runtime: self.runtime.handle(),
            events: &self.events,
            submission,
            left: Some(kept.left()),
            ending: self.worker.ending,
        };
        let outcome = task::perform(self.worker, &service, task);
        self.shared.ends();
        match outcome {
            Outcome::Returned { .. } if kept.is_left() => Outcome::Returned { why: LEFT.into() },
            other => other,
        }
    }

    /// Waits until an outcome is heard, or this process is to end and has waited long enough.
    fn wait_for(&self, mut telling: Telling) {
        let mut until = None;
        while !self.runtime.block_on(telling.arrives(LOOK)) {
            if self.worker.ending()
                && *until.get_or_insert_with(|| Instant::now() + LAST_WORDS) < Instant::now()
            {
                tracing::warn!("the service does not hear of the last task; it is done again elsewhere");
                return;
            }
        }
    }

    /// Puts back what comes still, has the last outcome told, and is there no more.
    fn leave(&mut self) {
        if let Some(mut tickets) = self.tickets.take()
            && let Ok(Some(ticket)) = self.runtime.block_on(tickets.next(PAUSE))
        {
            let _ = self.runtime.block_on(ticket.later(Duration::ZERO));
        }
        self.telling.take().into_iter().for_each(|telling| self.wait_for(telling));
        let gone = async {
            let _ = self.shared.nats.be_gone(&self.shared.from).await;
            let _ = self.shared.nats.flush().await;
        };
        let _ = self.runtime.block_on(async { tokio::time::timeout(LAST_WORDS, gone).await });
    }
}
