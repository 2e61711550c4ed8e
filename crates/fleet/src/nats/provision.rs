//! Streams, buckets and stores of the cluster. Servers create what is missing when they start.

use super::error::{Failure, NatsError};
use super::name;
use super::options::{API_WAIT, Nats};
use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::context::{CreateStreamError, CreateStreamErrorKind};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use async_nats::jetstream::{ErrorCode, kv};
use std::time::{Duration, Instant};

/// A ticket that is neither acknowledged nor said to be in progress for so long comes to another worker.
pub const ACK_WAIT: Duration = Duration::from_secs(15);
/// Within that time a ticket published twice is taken once.
const DUPLICATES: Duration = Duration::from_secs(120);
/// A worker that was not heard of for so long is not there.
pub const PRESENCE_FOR: Duration = Duration::from_secs(30);
/// What was too large for a message is kept for so long.
const BODIES_FOR: Duration = Duration::from_secs(3600);
/// Tickets that may be with workers at once, and workers that may wait for one, in a pool.
const AT_ONCE: i64 = 65_536;
/// How long a cluster may take to come up.
const PATIENCE: Duration = Duration::from_secs(15);
/// Between two attempts meanwhile.
const RETRY: Duration = Duration::from_millis(250);
/// What fails if the owner of a cluster cannot be read.
const LOOKING: &str = "looking whose cluster it is";

/// How long things are kept, where tests want it shorter.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Time after which an unacknowledged ticket goes to another worker.
    pub ack_wait: Duration,
    /// Until a worker that was not heard of is not there.
    pub presence: Duration,
}

impl Default for Times {
    fn default() -> Times {
        Times { ack_wait: ACK_WAIT, presence: PRESENCE_FOR }
    }
}

impl Nats {
    /// Makes what is not there: the stream of tickets, buckets, object stores; and finds out whose cluster it is. `service` is the
    /// service's UUID. `replicas`: how many brokers keep everything; `None`: 3 in a cluster that has so many, else 1.
    pub async fn provision(&self, service: &str, replicas: Option<usize>) -> Result<(), NatsError> {
        self.provision_with(service, replicas, Times::default()).await
    }

    /// As [`Nats::provision`], with other times.
    pub async fn provision_with(
        &self,
        service: &str,
        replicas: Option<usize>,
        times: Times,
    ) -> Result<(), NatsError> {
        let replicas = self.owned(service, replicas).await?;
        let jobs = Config {
            name: name::JOBS.into(),
            subjects: vec![name::ALL_TICKETS.into()],
            retention: RetentionPolicy::WorkQueue,
            duplicate_window: DUPLICATES,
            ..file(replicas)
        };
        for config in [
            jobs,
            bucket(name::WORKERS, times.presence, replicas),
            objects(name::PACKAGES, Duration::ZERO, replicas),
            objects(name::BODIES, BODIES_FOR, replicas),
        ] {
            self.made(config, Instant::now() + PATIENCE).await?;
        }
        Ok(())
    }

    /// Writes down whose cluster this is, where nobody has. Gives the number of replicas the cluster bears.
    async fn owned(&self, service: &str, replicas: Option<usize>) -> Result<usize, NatsError> {
        let config = |replicas| bucket(name::SERVICE, Duration::ZERO, replicas);
        let clustered = self.broker().cluster.is_some();
        let wanted = replicas.unwrap_or(if clustered { 3 } else { 1 });
        let replicas = match (self.made(config(wanted), Instant::now() + PATIENCE).await, replicas) {
            (Ok(found), _) => found,
            // A cluster of two.
            (Err(NatsError::Failed { why, .. }), None) if wanted > 1 => {
                tracing::warn!(why, "the cluster does not accept three replicas; streams have one");
                self.made(config(1), Instant::now() + PATIENCE).await?
            }
            (Err(error), _) => return Err(error),
        };
        let found = self.owner(service, Instant::now() + PATIENCE).await?;
        if found != service {
            return Err(NatsError::WrongCluster { found, own: service.into() });
        }
        Ok(replicas)
    }

    /// Reads whose cluster this is. Who comes first writes it; all others read. A bucket that was just created may have no leader yet, and a
    /// replica may answer that does not have what was written.
    async fn owner(&self, service: &str, until: Instant) -> Result<String, NatsError> {
        let bucket = self.bucket(name::SERVICE).await?;
        loop {
            let written = bucket.create("id", service.to_string().into()).await;
            let found = bucket.get("id").await.map_err(|e| NatsError::failed(LOOKING)(e.into()))?;
            match found {
                Some(found) => return Ok(String::from_utf8_lossy(&found).into_owned()),
                None if Instant::now() > until => {
                    let why = written.map_or_else(|e| e.to_string(), |_| "nothing is written there".into());
                    return Err(NatsError::failed(LOOKING)(Failure(why)));
                }
                None => tokio::time::sleep(RETRY).await,
            }
        }
    }

    /// Makes a stream, or brings the one that is there to this form. Gives its replicas.
    async fn made(&self, config: Config, until: Instant) -> Result<usize, NatsError> {
        loop {
            let why = match self.stream(API_WAIT).await?.create_stream(config.clone()).await {
                Ok(stream) => return Ok(stream.cached_info().config.num_replicas),
                Err(error) => match code(&error) {
                    Some(ErrorCode::STREAM_NAME_EXIST) => return self.changed(&config).await,
                    Some(ErrorCode::JETSTREAM_NOT_ENABLED | ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT) => {
                        return Err(NatsError::NoJetStream { at: self.shared.at.clone() });
                    }
                    _ if !self.broker().jetstream => {
                        return Err(NatsError::NoJetStream { at: self.shared.at.clone() });
                    }
                    _ => error.to_string(),
                },
            };
            if let Some(why) = self.denied() {
                return Err(NatsError::Denied(why));
            }
            if Instant::now() > until {
                return Err(NatsError::Failed { what: format!("making stream {}", config.name), why });
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Brings a stream that is there to this form. One that cannot be changed now, such as in a cluster that misses a broker,
    /// does its work as it is.
    async fn changed(&self, config: &Config) -> Result<usize, NatsError> {
        let failed = || NatsError::failed(format!("stream {}", config.name));
        let stream = self.stream(API_WAIT).await?;
        let there = stream.get_stream(&config.name).await.map_err(|e| failed()(e.into()))?;
        let there = there.cached_info().config.clone();
        let wanted = config.num_replicas.max(there.num_replicas);
        let fresh = Config { num_replicas: wanted, ..config.clone() };
        if there.num_replicas == wanted
            && there.subjects == fresh.subjects
            && there.max_age == fresh.max_age
            && there.duplicate_window >= fresh.duplicate_window
        {
            return Ok(wanted);
        }
        match stream.update_stream(&fresh).await {
            Ok(info) => Ok(info.config.num_replicas),
            Err(error) => {
                tracing::warn!(stream = config.name, %error, "stream stays as it is");
                Ok(there.num_replicas)
            }
        }
    }

    /// Makes the consumer by which the nodes of a pool get their tickets.
    pub async fn provision_pool(&self, pool: &str) -> Result<(), NatsError> {
        self.provision_pool_with(pool, Times::default()).await
    }

    /// As [`Nats::provision_pool`], with other times.
    pub async fn provision_pool_with(&self, pool: &str, times: Times) -> Result<(), NatsError> {
        let config = pull::Config {
            durable_name: Some(name::consumer(pool)),
            ack_policy: AckPolicy::Explicit,
            ack_wait: times.ack_wait,
            max_deliver: -1,
            filter_subject: name::tickets(pool),
            max_ack_pending: AT_ONCE,
            max_waiting: AT_ONCE,
            ..pull::Config::default()
        };
        let made = self.stream(API_WAIT).await?.create_consumer_on_stream(config, name::JOBS).await;
        made.map(|_| ()).map_err(|e| {
            self.or_denied(NatsError::failed(format!("making the consumer of pool {pool}"))(e.into()))
        })
    }

    /// Removes the consumer of a pool that is no more. Its tickets are lost with it; the store's leases bring their jobs back.
    pub async fn remove_pool(&self, pool: &str) -> Result<(), NatsError> {
        let removed =
            self.stream(API_WAIT).await?.delete_consumer_from_stream(name::consumer(pool), name::JOBS).await;
        removed
            .map(|_| ())
            .map_err(|e| NatsError::failed(format!("removing the consumer of pool {pool}"))(e.into()))
    }

    pub(super) async fn bucket(&self, name: &str) -> Result<kv::Store, NatsError> {
        let found = self.stream(API_WAIT).await?.get_key_value(name).await;
        found.map_err(|e| self.or_denied(NatsError::failed(format!("bucket {name}"))(e.into())))
    }
}

fn file(replicas: usize) -> Config {
    Config { storage: StorageType::File, num_replicas: replicas, ..Config::default() }
}

/// The stream of a bucket (ADR-8 of NATS).
fn bucket(name: &str, keep: Duration, replicas: usize) -> Config {
    Config {
        name: format!("KV_{name}"),
        subjects: vec![format!("$KV.{name}.>")],
        max_messages_per_subject: 1,
        max_age: keep,
        discard: DiscardPolicy::New,
        allow_rollup: true,
        allow_direct: true,
        deny_delete: true,
        ..file(replicas)
    }
}

/// The stream of an object store (ADR-20 of NATS).
fn objects(name: &str, keep: Duration, replicas: usize) -> Config {
    Config {
        name: format!("OBJ_{name}"),
        subjects: vec![format!("$O.{name}.C.>"), format!("$O.{name}.M.>")],
        max_age: keep,
        discard: DiscardPolicy::New,
        allow_rollup: true,
        allow_direct: true,
        ..file(replicas)
    }
}

fn code(error: &CreateStreamError) -> Option<ErrorCode> {
    match error.kind() {
        CreateStreamErrorKind::JetStream(error) => Some(error.error_code()),
        _ => None,
    }
}
