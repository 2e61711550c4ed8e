//! Questions of workers. Who asks is believed from the subject.

use crate::errors::Refusal;
use crate::service::Service;
use crate::timestamp::now;
use crate::work::worker_messages;
use fleet::nats::{Ask, Nats, NatsError, NotBegun, Question, Reply, WorkerId};
use fleet::{Lease, PROTOCOL};
use futures_util::StreamExt;
use std::sync::Arc;
use std::time::Duration;
use store::{Begun, Timestamp};
use tokio::sync::Semaphore;

/// Questions that are being answered at one time. More wait at this server; who asked asks again, of any server.
const AT_ONCE: usize = 256;
/// A ticket that is for another node, or whose job another worker has as far as is known, is put back for so long.
const LATER: Duration = Duration::from_millis(500);

/// Answers questions until it is dropped.
pub(super) async fn serve(service: Arc<Service>, nats: Nats) {
    let room = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        match nats.questions().await {
            Ok(mut questions) => {
                while let Some(question) = questions.next().await {
                    let came = now();
                    let Ok(seat) = room.clone().acquire_owned().await else { return };
                    let (service, nats) = (service.clone(), nats.clone());
                    tokio::spawn(async move {
                        one(&service, &nats, question, came).await;
                        drop(seat);
                    });
                }
            }
            Err(error) => tracing::warn!(%error, "hearing what workers ask"),
        }
        tokio::time::sleep(super::AGAIN).await;
    }
}

async fn one(service: &Service, nats: &Nats, question: Question, came: Timestamp) {
    let from = question.from.clone();
    let reply = match &question.ask {
        Ok(ask) => answer(service, nats, &from, ask, came).await,
        Err(why) => {
            let why = format!(
                "this service speaks version {PROTOCOL} with workers and did not understand the question: {why}\n\
                 hint: install the same tauto on both"
            );
            crate::fleet::refuse(service, &from, &why).await
        }
    };
    let reply = reply.unwrap_or_else(|refusal| {
        tracing::warn!(worker = from.worker(), %refusal, "a question cannot be answered now");
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

async fn answer(
    service: &Service,
    nats: &Nats,
    from: &WorkerId,
    ask: &Ask,
    came: Timestamp,
) -> Result<Reply, Refusal> {
    match ask {
        Ask::Hello(greeting) => {
            if greeting.fresh {
                worker_messages::left_behind(service, from).await?;
            }
            let reply = crate::fleet::standing(service, from, greeting, came).await?;
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
            worker_messages::node(service, from, facts).await?;
            Ok(Reply::Heard)
        }
        Ask::Probe { probe } => {
            crate::fleet::probed(service, from, probe).await?;
            Ok(Reply::Heard)
        }
        Ask::Begin { ticket, infers } => begin(service, nats, from, *ticket, *infers).await,
        Ask::Package { hash, damaged } => package(service, nats, from, hash, *damaged).await,
        Ask::Keep { lease } => {
            let kept = worker_messages::keep(service, from, *lease).await?;
            Ok(kept.map_or(Reply::Cancel, |_| Reply::Heard))
        }
        Ask::Waits { lease } => {
            let waits = worker_messages::waits(service, from, *lease).await?;
            Ok(waits.map_or(Reply::Cancel, |_| Reply::Heard))
        }
        Ask::TimeLimit { lease, .. } => {
            let limit = worker_messages::time_limit(service, from, *lease).await?;
            Ok(limit.map_or(Reply::Cancel, |limit| Reply::TimeLimit { limit }))
        }
        Ask::Done { lease, outcome } => {
            let outcome = nats.read_body(outcome.clone()).await?;
            worker_messages::done(service, from, *lease, &outcome).await?;
            Ok(Reply::Heard)
        }
    }
}

async fn begin(
    service: &Service,
    nats: &Nats,
    from: &WorkerId,
    ticket: Lease,
    infers: bool,
) -> Result<Reply, Refusal> {
    let not = |why| Ok(Reply::NotBegun(why));
    let stopped = crate::fleet::stopped(service, from).await?;
    if !stopped.is_empty() {
        return not(NotBegun::Stopped { reasons: stopped });
    }
    if let Some(brokers) = &service.brokers {
        brokers.works(from);
    }
    let later = NotBegun::Later { millis: u32::try_from(LATER.as_millis()).unwrap_or(u32::MAX) };
    if !infers && worker_messages::is_inference(service, ticket).await? {
        return not(later);
    }
    let job = match worker_messages::take(service, from, ticket).await? {
        Begun::Go(job) => job,
        Begun::NotHere | Begun::Held => return not(later),
        Begun::Over(why) => {
            tracing::debug!(job = ticket.job.0, attempt = ticket.attempt, why, "a ticket that is over");
            return not(NotBegun::Over);
        }
    };
    match worker_messages::begin(service, from, &job).await? {
        Some(task) => Ok(Reply::Begun { task: nats.body(&task).await?, submission: job.submission.0 }),
        None => not(NotBegun::Over),
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
            worker = from.worker(),
            package = hash.as_str(),
            "a package came damaged from the object store"
        );
    }
    Ok(Reply::Package { there: brokers.packages.ensure(service, nats, &hash, true).await? })
}
