//! Content by its hash: packages, and what is too large for a message.

use super::error::NatsError;
use super::options::{API_WAIT, Nats};
use super::{Body, name};
use async_nats::jetstream::object_store::{InfoErrorKind, ObjectStore};
use async_nats::jetstream::stream::DirectGetErrorKind;
use futures_util::TryStreamExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

/// Bytes a value may have within a message. Brokers take messages of 1 MiB unless they are told otherwise.
const INLINE: usize = 512 << 10;
/// Bytes of packages that are kept. What is beyond it goes, oldest first; who needs it asks for it.
pub const PACKAGES_BYTES: u64 = 16 << 30;
/// The next part of an object comes within that, or reading it has failed.
const PART_WAIT: Duration = Duration::from_secs(5);
/// Rest before a part is asked for again.
const REST: Duration = Duration::from_millis(50);

impl Nats {
    async fn store<'a>(&'a self, bucket: &'static str) -> Result<&'a ObjectStore, NatsError> {
        let stream = self.stream(API_WAIT).await?;
        let cell = if bucket == name::PACKAGES { &self.shared.packages } else { &self.shared.bodies };
        let found = cell.get_or_try_init(|| stream.get_object_store(bucket)).await;
        found.map_err(|e| self.or_denied(NatsError::failed(format!("object store {bucket}"))(e.into())))
    }

    async fn has(&self, bucket: &'static str, hash: &str) -> Result<bool, NatsError> {
        match self.store(bucket).await?.info(hash).await {
            Ok(info) => Ok(!info.deleted),
            Err(error) if error.kind() == InfoErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.or_denied(NatsError::failed(format!("looking for {hash}"))(error.into()))),
        }
    }

    async fn put(
        &self,
        bucket: &'static str,
        hash: &str,
        bytes: &mut (impl AsyncRead + Unpin),
    ) -> Result<(), NatsError> {
        let put = self.store(bucket).await?.put(hash, bytes).await;
        put.map(|_| ())
            .map_err(|e| self.or_denied(NatsError::failed(format!("storing {hash} in {bucket}"))(e.into())))
    }

    /// The parts of an object, one after another, each asked for: so it takes no consumer, which would give who reads the right to have
    /// the broker publish what it likes where it may not itself. Whether it is the right object is for the caller to see.
    async fn get(
        &self,
        bucket: &'static str,
        hash: &str,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> Result<(), NatsError> {
        let info = match self.store(bucket).await?.info(hash).await {
            Ok(info) if !info.deleted => info,
            Err(error) if error.kind() != InfoErrorKind::NotFound => {
                return Err(self.not_got(bucket, hash, error.to_string()));
            }
            _ => return Err(NatsError::Missing { what: hash.into(), bucket }),
        };
        let stream = self.stream(API_WAIT).await?.get_stream_no_info(format!("OBJ_{bucket}")).await;
        let stream = stream.map_err(|e| self.not_got(bucket, hash, e.to_string()))?;
        let subject = format!("$O.{bucket}.C.{}", info.nuid);
        let (mut size, mut next) = (0, 1);
        let mut until = Instant::now() + PART_WAIT;
        while size < info.size {
            match stream.direct_get_next_for_subject(subject.as_str(), Some(next)).await {
                Ok(part) => {
                    size += part.payload.len();
                    next = part.sequence + 1;
                    until = Instant::now() + PART_WAIT;
                    to.write_all(&part.payload).await.map_err(NatsError::Local)?;
                }
                // A broker that has not all of it yet says that there is no more.
                Err(_) if Instant::now() < until => tokio::time::sleep(REST).await,
                // All of them had the time to have it.
                Err(error) if error.kind() == DirectGetErrorKind::NotFound => {
                    let why = format!("it ends after {size} of {} bytes", info.size);
                    return Err(NatsError::Damaged { what: hash.into(), bucket, why });
                }
                Err(error) => return Err(self.not_got(bucket, hash, error.to_string())),
            }
        }
        to.flush().await.map_err(NatsError::Local)
    }

    fn not_got(&self, bucket: &'static str, hash: &str, why: String) -> NatsError {
        self.or_denied(NatsError::Failed { what: format!("getting {hash} from {bucket}"), why })
    }

    /// Whether a package is in the object store.
    pub async fn has_package(&self, hash: &str) -> Result<bool, NatsError> {
        self.has(name::PACKAGES, hash).await
    }

    /// Puts a package into the object store, in the place of what is there by that name, and removes the oldest ones beyond
    /// [`PACKAGES_BYTES`].
    pub async fn put_package(&self, hash: &str, mut bytes: impl AsyncRead + Unpin) -> Result<(), NatsError> {
        self.put(name::PACKAGES, hash, &mut bytes).await?;
        self.bound_packages(PACKAGES_BYTES, hash).await
    }

    /// Removes the packages that were put longest ago, until those that are left have no more than so many bytes; never that one.
    pub async fn bound_packages(&self, bytes: u64, but: &str) -> Result<(), NatsError> {
        let failed = || NatsError::failed("bounding the store of packages");
        let store = self.store(name::PACKAGES).await?;
        let listed = store.list().await.map_err(|e| failed()(e.into()))?;
        let mut all: Vec<_> = listed.try_collect().await.map_err(|e| failed()(e.into()))?;
        all.sort_by_key(|info| info.modified);
        let mut total: u64 = all.iter().map(|info| info.size as u64).sum();
        for info in all.iter().filter(|info| info.name != but) {
            if total <= bytes {
                break;
            }
            // Another server may have been quicker.
            if let Err(error) = store.delete(&info.name).await {
                tracing::debug!(package = info.name, %error, "not removed");
            }
            total -= info.size as u64;
        }
        Ok(())
    }

    /// Gets a package. Whether it is the one of that hash is for the caller to see.
    pub async fn get_package(&self, hash: &str, to: &mut (impl AsyncWrite + Unpin)) -> Result<(), NatsError> {
        self.get(name::PACKAGES, hash, to).await
    }

    /// A value for a message: itself, or, where it is large, where it lies.
    pub async fn body<T: Serialize + Clone>(&self, value: &T) -> Result<Body<T>, NatsError> {
        let json = serde_json::to_vec(value).map_err(|e| NatsError::failed("a message")(e.into()))?;
        if json.len() <= INLINE.min(self.broker().max_payload / 2) {
            return Ok(Body::Inline(Box::new(value.clone())));
        }
        let hash = hash_of(&json);
        if !self.has(name::BODIES, &hash).await? {
            self.put(name::BODIES, &hash, &mut &json[..]).await?;
        }
        Ok(Body::Stored { hash })
    }

    /// The value that a message carries or names.
    pub async fn read_body<T: DeserializeOwned>(&self, body: Body<T>) -> Result<T, NatsError> {
        let hash = match body {
            Body::Inline(value) => return Ok(*value),
            Body::Stored { hash } => hash,
        };
        let mut json = Vec::new();
        self.get(name::BODIES, &hash, &mut json).await?;
        let damaged = |why: String| NatsError::Damaged { what: hash.clone(), bucket: name::BODIES, why };
        let found = hash_of(&json);
        if found != hash {
            return Err(damaged(format!("it came as {found}")));
        }
        serde_json::from_slice(&json).map_err(|e| damaged(e.to_string()))
    }
}

fn hash_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
