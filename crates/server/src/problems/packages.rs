//! Packages of problems, read for what the service itself must know: titles, statements, samples, limits, jury submissions.
//! They are kept as files by their hash, beside the database, and opened as they are needed.

use crate::errors::Refusal;
use judge::package::Package;
use source::{Source, SourceLimits};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::{Hash, Problem, Store};

/// A package that was read.
pub(crate) struct Opened {
    pub(crate) source: Source,
    pub(crate) package: Package,
    /// What is untidy about it: place and message.
    pub(crate) warnings: Vec<(String, String)>,
}

/// Packages by their hash.
#[derive(Debug)]
pub(crate) struct Packages {
    directory: PathBuf,
    open: Mutex<HashMap<Hash, Arc<Opened>>>,
    problems: Mutex<HashMap<String, (Instant, Problem)>>,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Opened({})", self.package.short_name)
    }
}

/// Packages kept open. A service has some dozens of problems at a time.
const OPEN: usize = 64;
/// How long a problem is remembered: another service on the same database may add a version.
const FRESH: Duration = Duration::from_secs(2);

impl Packages {
    pub(crate) fn new(directory: PathBuf) -> Packages {
        Packages { directory, open: Mutex::default(), problems: Mutex::default() }
    }

    /// A package of the store. `name` is the problem's short name.
    pub(crate) async fn get(&self, store: &Store, hash: &Hash, name: &str) -> Result<Arc<Opened>, Refusal> {
        if let Some(known) = self.open.lock().unwrap_or_else(PoisonError::into_inner).get(hash) {
            return Ok(known.clone());
        }
        let path = self.directory.join(format!("{}.zip", hash.as_str()));
        if !path.exists() {
            let bytes = store.blob(hash).await?;
            self.keep(&path, bytes).await?;
        }
        let name = name.to_string();
        let opened = tokio::task::spawn_blocking(move || read(&path, &name))
            .await
            .map_err(|e| Refusal::Fault(format!("reading a package: {e}")))??;
        let opened = Arc::new(opened);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= OPEN {
            // Whoever uses one keeps it; which are opened again does not matter.
            open.clear();
        }
        open.insert(hash.clone(), opened.clone());
        Ok(opened)
    }

    /// Reads a package that comes in, and keeps its file, which nothing refers to where it then is not stored.
    pub(super) async fn check(&self, hash: &Hash, name: &str, bytes: &[u8]) -> Result<Arc<Opened>, Refusal> {
        let path = self.directory.join(format!("{}.zip", hash.as_str()));
        if !path.exists() {
            self.keep(&path, bytes.to_vec()).await?;
        }
        let (name, from) = (name.to_string(), path.clone());
        let opened = tokio::task::spawn_blocking(move || read(&from, &name))
            .await
            .map_err(|e| Refusal::Fault(format!("reading a package: {e}")))?;
        if opened.is_err() && !self.open.lock().unwrap_or_else(PoisonError::into_inner).contains_key(hash) {
            drop(std::fs::remove_file(&path));
        }
        opened.map(Arc::new)
    }

    /// The newest version of a problem, from memory where it was asked for lately.
    pub(crate) async fn newest(&self, store: &Store, name: &str) -> Result<Problem, Refusal> {
        let known = self.problems.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        if let Some((_, problem)) = known.filter(|(at, _)| at.elapsed() < FRESH) {
            return Ok(problem);
        }
        let problem = store.problem(name).await?;
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        if problems.len() >= OPEN {
            problems.clear();
        }
        problems.insert(name.to_string(), (Instant::now(), problem.clone()));
        Ok(problem)
    }

    /// A problem has a new version.
    pub(super) fn forget_name(&self, name: &str) {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    /// Writes a package where it is opened from; whole or not at all.
    async fn keep(&self, path: &std::path::Path, bytes: Vec<u8>) -> Result<(), Refusal> {
        let (directory, path) = (self.directory.clone(), path.to_owned());
        let fail = |e: std::io::Error| Refusal::Unavailable(format!("keeping a package: {e}"));
        tokio::task::spawn_blocking(move || {
            std::fs::create_dir_all(&directory)?;
            let fresh =
                directory.join(format!("{}.new", crate::secret::uuid().map_err(std::io::Error::other)?));
            std::fs::write(&fresh, bytes).and_then(|()| std::fs::rename(&fresh, &path))
        })
        .await
        .map_err(|e| Refusal::Fault(format!("keeping a package: {e}")))?
        .map_err(fail)
    }
}

/// Reads a package from a zip archive.
pub(crate) fn read(path: &std::path::Path, name: &str) -> Result<Opened, Refusal> {
    let inside = |message: String| Refusal::Bad(message.replace(&path.display().to_string(), name));
    let mut source = Source::open(path, SourceLimits::USUAL).map_err(|e| inside(e.to_string()))?;
    source.rename(name);
    let (package, warnings) = judge::package::read(source.tree())
        .map_err(|e| Refusal::Bad(format!("{}: {}", e.place, e.message)))?;
    let left_out = source.left_out().iter().map(|left| (left.path.clone(), left.why.clone()));
    let warnings = left_out.chain(warnings.into_iter().map(|w| (w.place, w.message))).collect();
    Ok(Opened { source, package, warnings })
}
