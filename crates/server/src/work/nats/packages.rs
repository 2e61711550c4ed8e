//! Packages in the object store, from which workers get them.

use super::dispatch::Stuck;
use crate::service::Service;
use fleet::nats::{Nats, NatsError};
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::{Hash, VersionId};

/// A package that was put there is not put there again before this has passed, whatever workers say of it.
const REST: Duration = Duration::from_secs(5);

/// What is known to be there.
#[derive(Debug, Default)]
pub(super) struct There {
    known: Mutex<HashMap<String, Instant>>,
    /// Versions whose packages are.
    versions: Mutex<HashSet<VersionId>>,
    /// Packages are large: one at a time.
    putting: tokio::sync::Mutex<()>,
}

impl There {
    /// Nothing is known any more.
    pub(super) fn forget(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.versions().clear();
    }

    fn versions(&self) -> MutexGuard<'_, HashSet<VersionId>> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn since(&self, hash: &str) -> Option<Duration> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(hash).map(Instant::elapsed)
    }

    fn note(&self, hash: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(hash.to_string(), Instant::now());
    }

    /// Sees to it that the package of a version was put into the object store.
    pub(super) async fn ensure_version(
        &self,
        service: &Service,
        nats: &Nats,
        version: VersionId,
    ) -> Result<(), Stuck> {
        if self.versions().contains(&version) {
            return Ok(());
        }
        let package = service.store.version(version).await?.package;
        if self.ensure(service, nats, &package, false).await? {
            self.versions().insert(version);
        }
        Ok(())
    }

    /// Sees to it that a package is in the object store; false: the service has it no more. `again`: a worker did not find it there, or found
    /// it damaged.
    pub(super) async fn ensure(
        &self,
        service: &Service,
        nats: &Nats,
        hash: &Hash,
        again: bool,
    ) -> Result<bool, NatsError> {
        let good = |since: Duration| !again || since < REST;
        if self.since(hash.as_str()).is_some_and(good) {
            return Ok(true);
        }
        let _one = self.putting.lock().await;
        if self.since(hash.as_str()).is_some_and(good) {
            return Ok(true);
        }
        if again || !nats.has_package(hash.as_str()).await? {
            let bytes = match service.store.blob(hash).await {
                Ok(bytes) => bytes,
                Err(store::Error::NotFound(_)) => return Ok(false),
                Err(error) => {
                    return Err(NatsError::Failed {
                        what: "reading a package".into(),
                        why: error.to_string(),
                    });
                }
            };
            nats.put_package(hash.as_str(), &bytes[..]).await?;
            tracing::info!(package = hash.as_str(), again, "a package was put into the object store");
        }
        self.note(hash.as_str());
        Ok(true)
    }
}
