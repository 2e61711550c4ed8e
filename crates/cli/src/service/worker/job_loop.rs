//! The job loop of a worker: it claims a job, does it, tells what came of it, and claims the next, whichever transport leads to the service.

use super::transport::{ClaimedJob, Transport, WorkerStanding};
use super::worker_state::SharedWorkerState;
use super::{Worker, probe, task};
use crate::Done;
use crate::terminal::Failure;
use fleet::nats::Standing;
use fleet::{OLDEST, Outcome, PROTOCOL, SPOKEN, Step};
use std::time::{Duration, Instant};

/// It is looked as often whether something else is to be done than waiting for a job.
const LOOK: Duration = Duration::from_millis(200);
/// A job that waits has come within that.
const MOMENT: Duration = Duration::from_millis(20);
/// It is looked as often whether a worker works that has nothing to wait for.
const PAUSE: Duration = Duration::from_millis(50);
/// A worker that ends waits so long for the service to hear of its last task.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Works until this process is to end. A probe is of `cpu`.
pub(super) fn run_jobs(
    worker: &mut Worker,
    transport: &mut dyn Transport,
    worker_state: &SharedWorkerState,
    cpu: Option<u32>,
) -> Result<Done, Failure> {
    let mut job_loop = JobLoop {
        worker,
        transport,
        worker_state,
        cpu,
        probed: Instant::now(),
        ended: None,
        troubles: Vec::new(),
    };
    let done = job_loop.run();
    job_loop.transport.leave();
    done
}

struct JobLoop<'a> {
    worker: &'a mut Worker,
    transport: &'a mut dyn Transport,
    worker_state: &'a SharedWorkerState,
    cpu: Option<u32>,
    probed: Instant,
    /// Since when it is to end.
    ended: Option<Instant>,
    troubles: Vec<String>,
}

impl JobLoop<'_> {
    fn run(&mut self) -> Result<Done, Failure> {
        loop {
            let step = {
                let mut state = self.worker_state.state();
                if self.worker.ending() {
                    state.drain();
                }
                state.next()
            };
            match step {
                Step::End(None) => return Ok(Done::Interrupted),
                // What failed may be this process itself; a new one is started in its place.
                Step::End(Some(why)) => return Err(Failure::system(why)),
                Step::Wait => self.wait()?,
                Step::Claim => {
                    let stands = self.transport.stands();
                    if let Some(facts) = self.worker.news() {
                        self.transport.node(facts);
                    }
                    // Whatever the service says: it may say so because of this, and hears when it has passed.
                    let troubled = self.is_troubled();
                    match stands {
                        WorkerStanding::Refused(why) => return Err(Failure::usage(why)),
                        WorkerStanding::Told(Standing::Works { protocol, .. })
                            if SPOKEN.read(protocol).is_err() =>
                        {
                            let upgrade = if protocol < OLDEST { "the service" } else { "this node" };
                            return Err(Failure::usage(format!(
                                "the service speaks protocol {protocol}, and tauto {} speaks {OLDEST} to {PROTOCOL} \
                                 here\n\
                                 hint: upgrade {upgrade}",
                                crate::VERSION
                            )));
                        }
                        WorkerStanding::Told(Standing::Works { probe_every_secs, .. }) if !troubled => {
                            self.go_on(probe_every_secs)?;
                        }
                        _ => self.transport.pause(PAUSE),
                    }
                }
            }
        }
    }

    /// Whether something here keeps it from working.
    fn is_troubled(&mut self) -> bool {
        let troubles: Vec<String> =
            self.worker.packages.trouble(self.transport.service()).into_iter().collect();
        if self.troubles != troubles {
            if let Some(why) = troubles.first() {
                tracing::warn!(why, "no task is taken until this has passed");
            }
            self.transport.troubles(&troubles);
            self.troubles = troubles;
        }
        !self.troubles.is_empty()
    }

    /// Claims a job, or probes the slot.
    fn go_on(&mut self, probe_every_secs: Option<u32>) -> Result<(), Failure> {
        let every = probe_every_secs.map(|secs| Duration::from_secs(secs.into()));
        match turn(self.probed.elapsed(), every) {
            Turn::Probe => self.probe(),
            Turn::Claim { within, else_probe } => match self.transport.claim(within) {
                Some(claimed) => self.attempt(claimed)?,
                None if else_probe => self.probe(),
                None => {}
            },
        }
        Ok(())
    }

    fn probe(&mut self) {
        self.probed = Instant::now();
        if let Some(probe) = probe::taken(self.cpu, self.worker.cancel) {
            self.transport.probed(probe);
        }
    }

    /// Does a task and has its outcome told, while the next one may begin.
    fn attempt(&mut self, ClaimedJob { lease, task }: ClaimedJob) -> Result<(), Failure> {
        let goes = self.worker_state.state().begin();
        let outcome = match task {
            Ok(task) if goes => task::perform(self.worker, self.transport.service(), &task),
            Ok(_) => Outcome::Returned { why: String::new() },
            Err(why) => Outcome::Returned { why },
        };
        let outcome = self.worker_state.ended(outcome);
        if let Outcome::Returned { why } = &outcome {
            tracing::warn!(job = lease.job.0, why, "a task was given back");
        }
        // One may be on its way while the next one is done; not more.
        while self.worker_state.state().is_telling() {
            self.wait()?;
        }
        self.worker_state.state().tell(lease, &outcome);
        self.transport.tell(lease, outcome);
        Ok(())
    }

    /// Waits for what is told to be heard, unless this process is to end and has waited long enough.
    fn wait(&mut self) -> Result<(), Failure> {
        if let WorkerStanding::Refused(why) = self.transport.stands() {
            return Err(Failure::usage(why));
        }
        let hope = self.transport.attend(LOOK);
        let ended = self.worker.ending().then(|| *self.ended.get_or_insert_with(Instant::now));
        if ended.is_some_and(|since| !hope || since.elapsed() > LAST_WORDS) {
            tracing::warn!("the service did not get the last result; the task runs again elsewhere");
            self.worker_state.state().give_up();
        }
        Ok(())
    }
}

/// What an idle worker does next.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    Probe,
    /// Waits for a job; if none comes within this time, it may probe.
    Claim {
        within: Duration,
        else_probe: bool,
    },
}

/// A probe that is due makes nobody wait: it is put off while there are jobs, but by no more than probes are apart (`every`; `None`:
/// the service asks for no probes). `since`: the time since the last one.
fn turn(since: Duration, every: Option<Duration>) -> Turn {
    match every {
        Some(every) if since >= 2 * every => Turn::Probe,
        Some(every) if since >= every => Turn::Claim { within: MOMENT, else_probe: true },
        _ => Turn::Claim { within: LOOK, else_probe: false },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_that_is_due_is_put_off_while_there_are_jobs_but_not_for_ever() {
        let at = |millis| turn(Duration::from_millis(millis), Some(Duration::from_secs(2)));
        let claims = |within, else_probe| Turn::Claim { within, else_probe };
        assert_eq!([at(0), at(1999)], [claims(LOOK, false), claims(LOOK, false)]);
        assert_eq!([at(2000), at(3999)], [claims(MOMENT, true), claims(MOMENT, true)]);
        assert_eq!(at(4000), Turn::Probe);
        assert_eq!(turn(Duration::from_secs(3600), None), claims(LOOK, false));
    }
}
