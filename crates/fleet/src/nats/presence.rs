//! Which workers are there.

use super::error::NatsError;
use super::options::{API_WAIT, Nats};
use super::{Presence, WorkerId, name};
use async_nats::HeaderMap;
use async_nats::jetstream::consumer::{DeliverPolicy, ReplayPolicy, push};
use futures_util::StreamExt;
use std::time::Duration;

/// The next of the workers is told within that.
const WAIT: Duration = Duration::from_secs(3);

impl Nats {
    /// Says that a worker is there, for as long as the bucket keeps it.
    pub async fn be_present(&self, from: &WorkerId, presence: &Presence) -> Result<(), NatsError> {
        let failed = || NatsError::failed("telling that this worker is there");
        let body = serde_json::to_vec(presence).map_err(|e| failed()(e.into()))?;
        // As the bucket's own put does, without asking first what the bucket is like.
        let subject = format!("$KV.{}.{}", name::WORKERS, name::presence(from));
        let stream = self.stream(API_WAIT).await?;
        let sent = stream.publish(subject, body.into()).await.map_err(|e| failed()(e.into()))?;
        sent.await.map(|_| ()).map_err(|e| self.or_denied(failed()(e.into())))
    }

    /// Says that a worker is there no more, sooner than the bucket forgets it.
    pub async fn be_gone(&self, from: &WorkerId) -> Result<(), NatsError> {
        let failed = || NatsError::failed("telling that this worker leaves");
        let subject = format!("$KV.{}.{}", name::WORKERS, name::presence(from));
        let mut headers = HeaderMap::new();
        headers.insert("KV-Operation", "DEL");
        let sent = self.stream(API_WAIT).await?.publish_with_headers(subject, headers, "".into()).await;
        sent.map_err(|e| failed()(e.into()))?.await.map(|_| ()).map_err(|e| failed()(e.into()))
    }

    /// All workers that are there.
    pub async fn present(&self) -> Result<Vec<(WorkerId, Presence)>, NatsError> {
        let failed = || NatsError::failed("asking which workers are there");
        let bucket = self.bucket(name::WORKERS).await?;
        let latest = push::OrderedConfig {
            deliver_subject: self.client(WAIT).await?.new_inbox(),
            filter_subject: format!("$KV.{}.>", name::WORKERS),
            replay_policy: ReplayPolicy::Instant,
            deliver_policy: DeliverPolicy::LastPerSubject,
            ..push::OrderedConfig::default()
        };
        let consumer = bucket.stream.create_consumer(latest).await.map_err(|e| failed()(e.into()))?;
        let mut present = Vec::new();
        if consumer.cached_info().num_pending == 0 {
            return Ok(present);
        }
        let mut messages = consumer.messages().await.map_err(|e| failed()(e.into()))?;
        // What is put aside while it is read may leave fewer than were announced: then nothing more comes.
        while let Ok(Some(message)) = tokio::time::timeout(WAIT, messages.next()).await {
            let message = message.map_err(|e| failed()(e.into()))?;
            let pending = message.info().map_err(|e| failed()(e.into()))?.pending;
            present.extend(entry(&message.subject, &message.payload));
            if pending == 0 {
                break;
            }
        }
        present.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(present)
    }
}

fn entry(subject: &str, payload: &[u8]) -> Option<(WorkerId, Presence)> {
    let key = subject.strip_prefix("$KV.")?.strip_prefix(name::WORKERS)?;
    let from = name::asker(&format!("tauto.ask{key}"))?;
    Some((from, serde_json::from_slice(payload).ok()?))
}
