//! Questions of workers. Who asks is believed from the subject; that a worker speaks of a job that it has is looked at.

use crate::errors::Refusal;
use crate::moment::now;
use crate::service::Service;
use crate::work::desk::{self, lease_end, of_store};
use fleet::nats::{Ask, Body, Nats, NatsError, NotBegun, Question, Reply, WorkerId};
use fleet::{Lease, Outcome, PROTOCOL, TimeLimit};
use futures_util::StreamExt;
use std::sync::Arc;
use std::time::Duration;
use store::{Begun, Job, JobState, Moment};
use tokio::sync::Semaphore;

/// Questions that are being answered at one time. More wait at this server; who asked asks again, of any server.
const AT_ONCE: usize = 256;
/// A ticket that is for another node, or whose job another worker has as far as is known, is put back for so long.
const LATER: Duration = Duration::from_millis(500);

/// The name of a worker in jobs.
pub(super) fn worker(from: &WorkerId) -> String {
    format!("{}/{}", from.node, from.slot)
}

/// Answers questions until it is dropped.
pub(super) async fn serve(service: Arc<Service>, nats: Nats) {
    let room = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        match nats.questions().await {
            Ok(mut questions) => {
                while let Some(question) = questions.next().await {
                    let Ok(seat) = room.clone().acquire_owned().await else { return };
                    let (service, nats) = (service.clone(), nats.clone());
                    tokio::spawn(async move {
                        one(&service, &nats, question).await;
                        drop(seat);
                    });
                }
            }
            Err(error) => tracing::warn!(%error, "hearing what workers ask"),
        }
        tokio::time::sleep(super::AGAIN).await;
    }
}

async fn one(service: &Service, nats: &Nats, question: Question) {
    let from = question.from.clone();
    let reply = match &question.ask {
        Ok(ask) => answer(service, nats, &from, ask).await,
        Err(why) => {
            let why = format!(
                "this service speaks version {PROTOCOL} with workers and did not understand the question: {why}; install the same tauto on both"
            );
            crate::fleet::refuse(service, &from, &why).await
        }
    };
    let reply = reply.unwrap_or_else(|refusal| {
        tracing::warn!(worker = worker(&from), %refusal, "a question cannot be answered now");
        Reply::Unavailable { why: refusal.to_string() }
    });
    if let Err(error) = question.answer(&reply).await {
        tracing::debug!(%error, "answering");
    }
}

impl From<NatsError> for Refusal {
    fn from(error: NatsError) -> Refusal {
        Refusal::Unavailable(error.to_string())
    }
}

async fn answer(service: &Service, nats: &Nats, from: &WorkerId, ask: &Ask) -> Result<Reply, Refusal> {
    match ask {
        Ask::Hello(greeting) => {
            if greeting.fresh {
                desk::left_behind(service, &worker(from), &from.pool).await?;
            }
            let reply = crate::fleet::standing(service, from, greeting).await?;
            if let (Reply::Standing(fleet::nats::Standing::Works { .. }), Some(brokers)) =
                (&reply, &service.brokers)
            {
                brokers.provision_pool(&from.pool).await?;
                if brokers.works(from) {
                    service.work_came.room();
                }
            }
            Ok(reply)
        }
        Ask::Node { facts } => {
            desk::node_news(service, &from.node, &from.pool, facts).await?;
            Ok(Reply::Heard)
        }
        Ask::Probe { probe } => {
            crate::fleet::probed(service, from, probe).await?;
            Ok(Reply::Heard)
        }
        Ask::Begin { ticket } => begin(service, nats, from, *ticket).await,
        Ask::Keep { lease } => keep(service, from, *lease).await,
        Ask::Package { hash, damaged } => package(service, nats, from, hash, *damaged).await,
        Ask::TimeLimit { lease, found } => time_limit(service, from, *lease, found).await,
        Ask::Done { lease, outcome } => done(service, nats, from, *lease, outcome).await,
    }
}

/// The job of a lease, where this worker has it or has done it.
async fn own_job(service: &Service, from: &WorkerId, lease: Lease) -> Result<Option<Job>, Refusal> {
    let lease = of_store(lease);
    let job = match service.store.job(lease.job).await {
        Ok(job) => job,
        Err(store::Error::NotFound(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let own = match &job.state {
        JobState::Claimed { worker: has, .. } | JobState::Judged { worker: has } => {
            *has == worker(from) && job.pool.as_deref() == Some(&from.pool)
        }
        JobState::Queued | JobState::Cancelled { .. } => false,
    };
    Ok(Some(job).filter(|job| own && job.attempt == lease.attempt))
}

async fn begin(service: &Service, nats: &Nats, from: &WorkerId, ticket: Lease) -> Result<Reply, Refusal> {
    let not = |why| Ok(Reply::NotBegun(why));
    let stopped = crate::fleet::stopped(service, from).await?;
    if !stopped.is_empty() {
        return not(NotBegun::Stopped { reasons: stopped });
    }
    if let Some(brokers) = &service.brokers {
        brokers.works(from);
    }
    let name = worker(from);
    let lease = of_store(ticket);
    let later = NotBegun::Later { millis: u32::try_from(LATER.as_millis()).unwrap_or(u32::MAX) };
    let begun = service.store.begin(lease, &name, &from.node, &from.pool, lease_end(), now()).await?;
    // One ticket is out no more, whatever became of it.
    service.work_came.room();
    let job = match begun {
        Begun::Go(job) => job,
        Begun::NotHere | Begun::Held => return not(later),
        Begun::Over(why) => {
            tracing::debug!(job = ticket.job, attempt = ticket.attempt, why, "a ticket that is over");
            return not(NotBegun::Over);
        }
    };
    match desk::begin(service, &name, &job).await? {
        Some(task) => Ok(Reply::Begun { task: nats.body(&task).await?, submission: job.submission.0 }),
        None => not(NotBegun::Over),
    }
}

async fn keep(service: &Service, from: &WorkerId, lease: Lease) -> Result<Reply, Refusal> {
    let own = own_job(service, from, lease).await?.is_some();
    match own && desk::keep(service, of_store(lease)).await? {
        true => Ok(Reply::Heard),
        false => Ok(Reply::Cancel),
    }
}

async fn package(
    service: &Service,
    nats: &Nats,
    from: &WorkerId,
    hash: &str,
    damaged: bool,
) -> Result<Reply, Refusal> {
    let (Some(brokers), Ok(hash)) = (&service.brokers, hash.parse::<store::Hash>()) else {
        return Ok(Reply::Package { there: false });
    };
    if damaged {
        tracing::warn!(
            worker = worker(from),
            package = hash.as_str(),
            "a package came damaged from the object store"
        );
    }
    Ok(Reply::Package { there: brokers.packages.ensure(service, nats, &hash, true).await? })
}

async fn time_limit(
    service: &Service,
    from: &WorkerId,
    lease: Lease,
    found: &TimeLimit,
) -> Result<Reply, Refusal> {
    match own_job(service, from, lease).await? {
        Some(job) => {
            let limit = desk::limit_in_force(service, job.version, found.clone()).await?;
            Ok(Reply::TimeLimit { limit })
        }
        None => Ok(Reply::Cancel),
    }
}

async fn done(
    service: &Service,
    nats: &Nats,
    from: &WorkerId,
    lease: Lease,
    outcome: &Body<Outcome>,
) -> Result<Reply, Refusal> {
    let Some(job) = own_job(service, from, lease).await? else {
        tracing::warn!(worker = worker(from), job = lease.job, "a late result was dropped");
        // It was not the job that silenced it.
        if !matches!(nats.read_body(outcome.clone()).await, Ok(Outcome::Failed { .. }) | Err(_)) {
            service.store.pardon(of_store(lease), &worker(from)).await?;
        }
        return Ok(Reply::Heard);
    };
    let outcome = nats.read_body(outcome.clone()).await?;
    if let (JobState::Claimed { .. }, Some(started)) = (&job.state, job.started) {
        service.metrics.judging_took(since(started));
    }
    desk::conclude(service, of_store(lease), &outcome).await?;
    service.work_came.room();
    Ok(Reply::Heard)
}

fn since(moment: Moment) -> Duration {
    Duration::from_micros(u64::try_from(now().0.saturating_sub(moment.0)).unwrap_or(0))
}
