//! What workers ask of the service, whatever they ask it by: to begin, to keep what they are at, the time limit in force, and to
//! hear what came of it. The transports ([`super::connection`], [`super::nats`]) know who asks; nothing about messages is known here.

use super::{LEASE, assign, node, result};
use crate::errors::Refusal;
use crate::live::LiveEvent;
use crate::moment::now;
use crate::service::Service;
use fleet::{Outcome, Task, TimeLimit};
use model::NodeFacts;
use store::{Claim, Error, Job, JobId, Lease, Moment, SubmissionId, VersionId};

/// When a job may be taken back from a worker that is heard of now.
pub(crate) fn lease_end() -> Moment {
    now().plus_micros(i64::try_from(LEASE.as_micros()).unwrap_or(i64::MAX))
}

/// The lease of a message.
pub(crate) fn of_store(lease: fleet::Lease) -> Lease {
    Lease { job: JobId(lease.job), attempt: lease.attempt }
}

/// And for one.
pub(crate) fn of_fleet(lease: Lease) -> fleet::Lease {
    fleet::Lease { job: lease.job.0, attempt: lease.attempt }
}

/// The next job for a worker of this machine's own pool, if there is one and its node gets work.
pub(crate) async fn next(service: &Service, worker: &str, node: &str) -> Result<Option<Job>, Error> {
    match service.store.node(node).await {
        Ok(node) if !node.gets_work() => return Ok(None),
        // It works before it has told of itself.
        Ok(_) | Err(Error::NotFound(_)) => {}
        Err(error) => return Err(error),
    }
    service.store.claim(Claim::local(worker, lease_end(), now())).await
}

/// The worker begins with a job that it has: its task. `None`: nothing is to be done, and what came of the job is stored: it was begun too
/// often, or cannot be done by anybody.
///
/// # Errors
/// [`Refusal::Unavailable`]: the worker has the job still.
pub(crate) async fn begin(service: &Service, worker: &str, job: &Job) -> Result<Option<Task>, Refusal> {
    let lease = Lease { job: job.id, attempt: job.attempt };
    let started = LiveEvent::Started { job: job.id, worker: worker.to_string(), attempt: job.attempt };
    service.live.tell(job.submission, started);
    let why = if job.failed >= service.settings.attempts {
        let last = job.returned.as_deref().unwrap_or("no reason is known");
        let failed = job.failed;
        format!(
            "set aside: {failed} workers failed or died while they judged it; the last: {last}; rejudge it once that is mended"
        )
    } else {
        match assign::task(service, job).await {
            Ok(task) => {
                service.metrics.fleet.begun(job.created);
                return Ok(Some(task));
            }
            Err(refusal @ Refusal::Unavailable(_)) => return Err(refusal),
            Err(refusal) => refusal.to_string(),
        }
    };
    conclude(service, lease, &Outcome::Refused { why }).await?;
    Ok(None)
}

/// A worker of that name begins its life: what an earlier one had begun ended with that.
pub(crate) async fn left_behind(service: &Service, worker: &str, pool: &str) -> Result<(), Error> {
    for job in service.store.begun_by(worker, pool).await? {
        put_back(service, job.lease(), job.submission, &format!("worker {worker} died"), false).await;
    }
    Ok(())
}

/// Keeps a job for its worker; false: it is not the worker's any more.
pub(crate) async fn keep(service: &Service, lease: Lease) -> Result<bool, Error> {
    match service.store.extend(lease, lease_end()).await {
        Ok(()) => Ok(true),
        Err(Error::Conflict(_) | Error::NotFound(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The first limit that was found for a version is everybody's.
pub(crate) async fn limit_in_force(
    service: &Service,
    version: Option<VersionId>,
    found: TimeLimit,
) -> Result<TimeLimit, Error> {
    let Some(version) = version else { return Ok(found) };
    let Ok(json) = serde_json::to_value(&found) else { return Ok(found) };
    let kept = service.store.setting_or(&assign::limit_setting(version), &json).await?;
    Ok(serde_json::from_value(kept).unwrap_or(found))
}

/// Stores what came of a job, or puts it back. What comes late, when somebody else has the job or has done it, is dropped.
pub(crate) async fn conclude(service: &Service, lease: Lease, outcome: &Outcome) -> Result<(), Error> {
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
pub(crate) async fn node_news(
    service: &Service,
    node: &str,
    pool: &str,
    facts: &NodeFacts,
) -> Result<(), Error> {
    node::keep(&service.store, node, pool, facts, now()).await
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
