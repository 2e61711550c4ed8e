//! What workers say to the service, whatever they say it by: one function for each message. The transports ([`super::connection`],
//! [`super::nats`]) know who speaks and how it is written; what is believed, and what becomes of a job, is known here alone.

use super::assign::Assignment;
use super::{LEASE, assign, node, result};
use crate::errors::Refusal;
use crate::live::LiveEvent;
use crate::problems::limits;
use crate::service::Service;
use crate::timestamp::now;
use fleet::nats::WorkerId;
use fleet::{Hello, Outcome, SPOKEN, Task, TimeLimit, Work};
use model::NodeFacts;
use std::time::Duration;
use store::{Begun, Claim, Error, Inferred, Job, JobState, LIMITS, Lease, LimitOf, SubmissionId, Timestamp};

/// When a job may be taken back from a worker that is heard of now.
pub(crate) fn lease_end() -> Timestamp {
    now().plus_micros(i64::try_from(LEASE.as_micros()).unwrap_or(i64::MAX))
}

/// The version of the messages that is spoken with a worker.
///
/// # Errors
/// Why it cannot be used, with the remedy.
pub(crate) fn spoken(hello: &Hello) -> Result<u32, String> {
    fleet::agreed(SPOKEN, hello).map_err(|unlike| unlike.to_string())
}

/// The job of a lease, where this worker has it or has done it.
async fn own(service: &Service, from: &WorkerId, lease: Lease) -> Result<Option<Job>, Refusal> {
    let job = match service.store.job(lease.job).await {
        Ok(job) => job,
        Err(Error::NotFound(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let own = match &job.state {
        JobState::Claimed { worker: has, .. } | JobState::Judged { worker: has } => {
            *has == from.worker() && job.pool.as_deref() == Some(&from.pool)
        }
        JobState::Queued | JobState::Cancelled { .. } => false,
    };
    Ok(Some(job).filter(|job| own && job.attempt == lease.attempt))
}

/// The next job for a worker of this machine's own pool, if there is one and its node gets work. Whether it `infers` limits it has said.
pub(crate) async fn next(service: &Service, from: &WorkerId, infers: bool) -> Result<Option<Job>, Error> {
    match service.store.node(&from.node).await {
        Ok(node) if !node.gets_work() => return Ok(None),
        // It works before it has told of itself.
        Ok(_) | Err(Error::NotFound(_)) => {}
        Err(error) => return Err(error),
    }
    let worker = from.worker();
    service.store.claim(Claim { infers, ..Claim::local(&worker, lease_end(), now()) }).await
}

/// What a ticket is good for in the hands of a worker.
pub(crate) async fn take(service: &Service, from: &WorkerId, ticket: Lease) -> Result<Begun, Error> {
    let (worker, until) = (from.worker(), lease_end());
    let begun = service.store.begin(ticket, &worker, &from.node, &from.pool, until, now()).await;
    // One ticket is out no more, whatever became of it.
    service.work_came.room();
    begun
}

/// The worker begins with a job that it has: its task. `None`: nothing is to be done: it waits for its time limit; or it was begun too often or
/// cannot be done by anybody, and what came of it is stored.
///
/// # Errors
/// [`Refusal::Unavailable`]: the worker has the job still.
pub(crate) async fn begin(service: &Service, from: &WorkerId, job: &Job) -> Result<Option<Task>, Refusal> {
    let started = LiveEvent::Started { job: job.id, worker: from.worker(), attempt: job.attempt };
    service.live.tell(job.submission, started);
    let why = if job.failed >= service.settings.attempts {
        let last = job.returned.as_deref().unwrap_or("no reason is known");
        let failed = job.failed;
        format!(
            "set aside: {failed} workers failed or died while they judged it; the last: {last}\n\
             hint: mend that, then rejudge it"
        )
    } else {
        match assign::task(service, job).await {
            Ok(Assignment::Task(task)) => {
                service.metrics.fleet.begun(job.created);
                return Ok(Some(*task));
            }
            Ok(Assignment::Awaits(of)) => {
                await_limit(service, job, &of).await?;
                return Ok(None);
            }
            Err(refusal @ Refusal::Unavailable(_)) => return Err(refusal),
            Err(refusal) => refusal.to_string(),
        }
    };
    conclude(service, job.lease(), &Outcome::Refused { why }).await?;
    Ok(None)
}

/// A worker begins its life: what an earlier one of its name had begun ended with that.
pub(crate) async fn left_behind(service: &Service, from: &WorkerId) -> Result<(), Error> {
    let worker = from.worker();
    for job in service.store.begun_by(&worker, &from.pool).await? {
        put_back(service, job.lease(), job.submission, &format!("worker {worker} died"), false).await;
    }
    Ok(())
}

/// Keeps a job for its worker; `None`: it is not the worker's any more, who is to leave it.
pub(crate) async fn keep(service: &Service, from: &WorkerId, lease: Lease) -> Result<Option<Job>, Refusal> {
    let Some(job) = own(service, from, lease).await? else { return Ok(None) };
    match service.store.extend(lease, lease_end()).await {
        Ok(()) => Ok(Some(job)),
        Err(Error::Conflict(_) | Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// At most the first two attempts at a job are postponed. The third waits in its slot, so the job gets a result even if machines stay slow.
const POSTPONED: u64 = 2;

/// Whether others may go first while the worker of this job waits for a calm machine.
pub(crate) fn may_be_postponed(job: &Job) -> bool {
    job.attempt <= POSTPONED
}

/// A worker reports that its job waits for a calm machine. `None`: the worker must abandon the job, because it lost the job or other jobs go
/// first.
pub(crate) async fn waits(service: &Service, from: &WorkerId, lease: Lease) -> Result<Option<Job>, Refusal> {
    let Some(job) = own(service, from, lease).await? else { return Ok(None) };
    let why = "others go first while its machine is slow";
    if !may_be_postponed(&job) || !service.store.postpone(lease, why).await? {
        return Ok(Some(job));
    }
    service.live.tell(job.submission, LiveEvent::Returned { why: why.into() });
    service.work_came.one();
    Ok(None)
}

/// Whether the job of a ticket is to infer a time limit, which workers before cannot.
pub(crate) async fn is_inference(service: &Service, ticket: Lease) -> Result<bool, Refusal> {
    let job = match service.store.job(ticket.job).await {
        Err(Error::NotFound(_)) => return Ok(false),
        other => other?,
    };
    Ok(service.store.submission(job.submission).await?.origin == LIMITS)
}

/// Puts a job back until its time limit is there, which is asked for.
async fn await_limit(service: &Service, job: &Job, of: &LimitOf) -> Result<(), Refusal> {
    limits::ask(service, Inferred::TimeLimit, of, false).await?;
    service.store.await_limit(job.lease(), of).await?;
    let why = "its time limit is not there yet".to_string();
    service.live.tell(job.submission, LiveEvent::Returned { why });
    service.work_came.one();
    Ok(())
}

/// A worker of the version before, which began its job when every worker found limits, found one: the one in force. `None`: the worker is to
/// leave the job, which is not its own any more, or waits now for its limit.
pub(crate) async fn time_limit(
    service: &Service,
    from: &WorkerId,
    lease: Lease,
) -> Result<Option<TimeLimit>, Refusal> {
    let Some(job) = own(service, from, lease).await? else { return Ok(None) };
    match assign::task(service, &job).await? {
        Assignment::Task(task) => match task.work {
            Work::Judge { time_limit, .. } => Ok(time_limit),
            Work::Infer { .. } | Work::Execute(_) => Ok(None),
        },
        Assignment::Awaits(of) => {
            await_limit(service, &job, &of).await?;
            Ok(None)
        }
    }
}

/// A worker tells what came of its job, which is stored, or puts the job back. What comes late, when somebody else has the job or has
/// done it, is dropped.
pub(crate) async fn done(
    service: &Service,
    from: &WorkerId,
    lease: Lease,
    outcome: &Outcome,
) -> Result<(), Refusal> {
    let Some(job) = own(service, from, lease).await? else {
        tracing::warn!(worker = from.worker(), job = lease.job.0, "a late result was dropped");
        // It was not the job that silenced it.
        if !matches!(outcome, Outcome::Failed { .. }) {
            service.store.pardon(lease, &from.worker()).await?;
        }
        return Ok(());
    };
    if let (JobState::Claimed { .. }, Some(started)) = (&job.state, job.started) {
        let took = u64::try_from(now().0.saturating_sub(started.0)).unwrap_or(0);
        service.metrics.judging_took(Duration::from_micros(took));
    }
    conclude(service, lease, outcome).await?;
    service.work_came.room();
    Ok(())
}

async fn conclude(service: &Service, lease: Lease, outcome: &Outcome) -> Result<(), Error> {
    match result::conclude(service, lease, outcome).await {
        Err(Error::Conflict(why)) => {
            tracing::warn!(job = lease.job.0, why, "a late result was dropped");
            Ok(())
        }
        Err(Error::NotFound(_)) => Ok(()),
        other => other,
    }
}

/// Keeps what a node tells of itself.
pub(crate) async fn node(service: &Service, from: &WorkerId, facts: &NodeFacts) -> Result<(), Error> {
    node::keep(&service.store, &from.node, &from.pool, facts, now()).await
}

/// Puts back what a worker had not finished. Not `innocent`: it went away by itself, and may have been ended by the job.
pub(crate) async fn put_back(
    service: &Service,
    lease: Lease,
    submission: SubmissionId,
    why: &str,
    innocent: bool,
) {
    let back = match innocent {
        true => service.store.give_back(lease, why).await,
        false => service.store.fail(lease, why).await.map(drop),
    };
    match back {
        Ok(()) => {
            service.live.tell(submission, LiveEvent::Returned { why: why.to_string() });
            service.work_came.one();
        }
        // The lease will end by itself.
        Err(error) => tracing::warn!(%error, job = lease.job.0, "giving a job back"),
    }
}
