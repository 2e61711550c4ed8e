//! The way by the brokers of a fleet: tickets from the pool's consumer, questions to whichever server answers.
//!
//! The process's first thread judges; one more, kept off the slot's CPUs where there are others, talks to the brokers. Launchers are
//! forked before it is started (`Site::start`), and from then on nothing here forks without executing another program at once:
//! a launcher that is lost ends this process, and another one is started in its place.

mod greeting;
mod lease_keeper;
mod service;
mod shared;

use super::brokers::Brokers;
use super::job_loop::run_jobs;
use super::statement::statement;
use super::transport::{ClaimedJob, TaskService, Transport, WorkerStanding};
use super::{Cpus, Worker};
use crate::Done;
use crate::terminal::Failure;
use fleet::nats::{Ask, Nats, NatsError, NotBegun, Reply, Ticket, Tickets, WorkerId, connect};
use fleet::{Lease, Outcome, Probe};
use lease_keeper::{LeaseKeeper, OutcomeDelivery};
use rustix::thread::{CpuSet, sched_setaffinity};
use service::{Asking, Events};
use shared::Shared;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// It is looked as often whether this process is to end; a ticket that is on its way to a worker which leaves has come within that.
const PAUSE: Duration = Duration::from_millis(50);
/// A server answers within that who wants to begin. Shorter than the stream waits for a sign of its ticket.
const BEGIN: Duration = Duration::from_secs(8);
/// A ticket that cannot be begun now is put back for so long.
const LATER: Duration = Duration::from_secs(1);
/// The shortest and the longest wait between attempts to connect.
const WAITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// A worker that ends waits so long for the brokers.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Works until this process is to end.
pub(super) fn work(worker: &mut Worker, brokers: &Brokers, cpus: &Cpus) -> Result<Done, Failure> {
    let runtime = runtime(&cpus.all)?;
    let from =
        WorkerId { pool: brokers.pool.clone(), node: worker.hello.node.clone(), slot: worker.hello.slot.id };
    let Some(nats) = connected(worker, &runtime, brokers, &from)? else { return Ok(Done::Interrupted) };
    // Whatever is begun or dropped on this thread finds the runtime.
    let inside = runtime.enter();
    let shared = Arc::new(Shared::new(nats, from, worker));
    let asking = Asking {
        shared: shared.clone(),
        runtime: runtime.handle().clone(),
        events: Events::begin(&shared),
        submission: 0,
    };
    let mut transport = Fleet {
        runtime: &runtime,
        shared,
        asking,
        tickets: None,
        kept: None,
        telling: None,
        told: String::new(),
    };
    // The first greeting has it already.
    worker.news().into_iter().for_each(|facts| transport.node(facts));
    runtime.spawn(greeting::greet(transport.shared.clone()));
    runtime.spawn(greeting::be_present(transport.shared.clone()));
    let worker_state = transport.shared.worker_state.clone();
    let done = run_jobs(worker, &mut transport, &worker_state, cpus.first);
    drop(transport);
    drop(inside);
    runtime.shutdown_timeout(PAUSE);
    done
}

/// A runtime with one thread, off those CPUs if it may be on others.
fn runtime(slot: &BTreeSet<u32>) -> Result<Runtime, Failure> {
    let others: Vec<u32> = loads::allowed().unwrap_or_default().difference(slot).copied().collect();
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
                    tracing::warn!(why, "no brokers yet; retrying");
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

/// The way by the brokers.
struct Fleet<'a> {
    runtime: &'a Runtime,
    shared: Arc<Shared>,
    asking: Asking,
    tickets: Option<Tickets>,
    /// The task that is being done.
    kept: Option<LeaseKeeper>,
    /// The outcome before that.
    telling: Option<OutcomeDelivery>,
    /// What was said last about tickets.
    told: String,
}

impl Fleet<'_> {
    fn next_ticket(&mut self, within: Duration) -> Option<Ticket> {
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
                ticket
            }
            Err(error) => {
                let why = error.to_string();
                if why != self.told {
                    tracing::warn!(why, "no tickets; retrying");
                    self.told = why;
                }
                std::thread::sleep(within);
                None
            }
        }
    }

    /// A ticket is not good for a task now: what becomes of it.
    fn not_begun(&mut self, ticket: Ticket, reply: Result<Reply, NatsError>) {
        let (put_back, why) = match reply {
            Ok(Reply::NotBegun(NotBegun::Over)) => (None, None),
            Ok(Reply::NotBegun(NotBegun::Later { millis })) => {
                (Some(Duration::from_millis(millis.into())), None)
            }
            Ok(Reply::NotBegun(NotBegun::Stopped { reasons })) => {
                self.tickets = None;
                self.shared.standing.send_replace(WorkerStanding::Unknown);
                self.shared.news.notify_one();
                (Some(Duration::ZERO), Some(reasons.join("; ")))
            }
            Ok(Reply::Refused { why }) => {
                self.shared.standing.send_replace(WorkerStanding::Refused(why.clone()));
                (Some(Duration::ZERO), Some(why))
            }
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
    }
}

impl Transport for Fleet<'_> {
    fn stands(&mut self) -> WorkerStanding {
        self.shared.standing.borrow().clone()
    }

    fn claim(&mut self, within: Duration) -> Option<ClaimedJob> {
        let ticket = self.next_ticket(within)?;
        let lease = ticket.lease;
        let begin = Ask::Begin { ticket: lease, infers: true };
        let reply = self.runtime.block_on(self.shared.nats.ask(&self.shared.from, &begin, BEGIN));
        let (task, submission) = match reply {
            Ok(Reply::Begun { task, submission }) => (task, submission),
            other => {
                self.not_begun(ticket, other);
                return None;
            }
        };
        self.shared.worker_state.state().claimed(lease);
        self.kept = Some(LeaseKeeper::begin(&self.shared, ticket));
        self.asking.submission = submission;
        self.shared.state().judging = Some(submission);
        self.shared.change.notify_one();
        let task = self.runtime.block_on(self.shared.nats.read_body(task)).map_err(|error| error.to_string());
        Some(ClaimedJob { lease, task })
    }

    fn service(&self) -> &dyn TaskService {
        &self.asking
    }

    fn tell(&mut self, _: Lease, outcome: Outcome) {
        self.telling = self.kept.take().map(|kept| kept.done(outcome));
        let mut state = self.shared.state();
        (state.judging, state.finished) = (None, state.finished + 1);
        drop(state);
        self.shared.change.notify_one();
    }

    fn attend(&mut self, within: Duration) -> bool {
        match &mut self.telling {
            Some(telling) => {
                if self.runtime.block_on(telling.arrives(within)) {
                    self.telling = None;
                    self.shared.worker_state.state().give_up();
                }
            }
            None => std::thread::sleep(within),
        }
        true
    }

    fn pause(&mut self, time: Duration) {
        self.tickets = None;
        std::thread::sleep(time);
    }

    fn node(&mut self, facts: Box<model::NodeFacts>) {
        let stated = statement(&self.shared.from, &self.shared.isolation);
        let mut state = self.shared.state();
        state.facts = Some(facts);
        match stated {
            Ok(stated) => state.statement = Some(stated),
            Err(error) => tracing::warn!(error, "the features of this machine cannot be read"),
        }
        drop(state);
        self.shared.news.notify_one();
    }

    fn troubles(&mut self, troubles: &[String]) {
        self.shared.state().troubles = troubles.to_vec();
        self.shared.news.notify_one();
    }

    fn probed(&mut self, probe: Probe) {
        let shared = self.shared.clone();
        self.runtime.spawn(async move {
            if let Err(error) = shared.nats.ask(&shared.from, &Ask::Probe { probe }, BEGIN).await {
                tracing::debug!(%error, "a probe was not reported");
            }
        });
    }

    /// Puts back what comes still, has the last outcome told, and is there no more.
    fn leave(&mut self) {
        if let Some(mut tickets) = self.tickets.take()
            && let Ok(Some(ticket)) = self.runtime.block_on(tickets.next(PAUSE))
        {
            let _ = self.runtime.block_on(ticket.later(Duration::ZERO));
        }
        if self.shared.worker_state.state().is_telling() {
            self.attend(LAST_WORDS);
        }
        let gone = async {
            let _ = self.shared.nats.be_gone(&self.shared.from).await;
            let _ = self.shared.nats.flush().await;
        };
        let _ = self.runtime.block_on(async { tokio::time::timeout(LAST_WORDS, gone).await });
    }
}
