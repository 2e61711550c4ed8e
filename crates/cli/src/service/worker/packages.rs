//! Packages a worker has: files by their hash, opened ones, and what was compiled of them.

use super::transport::{TaskService, TransportError};
use crate::judging::{self, Opened};
use crate::terminal::Failure;
use engine::prepared_slot::Programs;
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Packages kept open with their validators compiled. Each holds a box or two in the launcher's memory.
const OPEN: usize = 8;
/// Bytes of packages kept as files.
const KEPT_BYTES: u64 = 8 << 30;

/// As often a package that could not be taken is tried again.
const TROUBLE_FOR: Duration = Duration::from_secs(3);

/// A package and what was compiled of it.
pub(super) struct Ready {
    pub(super) hash: String,
    pub(super) opened: Opened,
    pub(super) programs: std::cell::OnceCell<Arc<Programs<'static>>>,
}

pub(super) struct Packages {
    directory: PathBuf,
    /// The one used last comes last.
    open: VecDeque<Rc<Ready>>,
    trouble: Option<Trouble>,
}

/// A package could not be taken for a reason that lies here.
struct Trouble {
    hash: String,
    why: String,
    since: Instant,
}

/// Why a package cannot be had.
pub(super) enum Missing {
    Transport(TransportError),
    /// It cannot be read.
    Bad(String),
}

impl From<TransportError> for Missing {
    fn from(broken: TransportError) -> Missing {
        Missing::Transport(broken)
    }
}

impl Packages {
    pub(super) fn new(directory: PathBuf) -> Result<Packages, Failure> {
        fs::create_dir_all(&directory)
            .map_err(|e| Failure::system(format!("{}: {e}", directory.display())))?;
        Ok(Packages { directory, open: VecDeque::new(), trouble: None })
    }

    /// A package by its hash, asked for where it is not here.
    pub(super) fn get(
        &mut self,
        service: &dyn TaskService,
        hash: &str,
        problem: &str,
    ) -> Result<Rc<Ready>, Missing> {
        if let Some(at) = self.open.iter().position(|ready| ready.hash == hash) {
            if let Some(ready) = self.open.remove(at) {
                self.open.push_back(ready);
            }
        } else {
            let opened = self.opened(service, hash, problem)?;
            if self.open.len() >= OPEN {
                self.open.pop_front();
            }
            let programs = std::cell::OnceCell::new();
            self.open.push_back(Rc::new(Ready { hash: hash.to_string(), opened, programs }));
        }
        self.open.back().cloned().ok_or_else(|| Missing::Bad("no package is open".into()))
    }

    fn opened(&mut self, service: &dyn TaskService, hash: &str, problem: &str) -> Result<Opened, Missing> {
        let path = self.file(service, hash)?;
        let open = |path: &Path| judging::open_as(path, problem).map_err(|e| Missing::Bad(e.to_string()));
        let opened = open(&path);
        // A file that was kept may not be what it was: a disk that failed, a machine that lost its power.
        if opened.is_err() && hash_of(&path).is_ok_and(|found| found != hash) {
            tracing::warn!(file = %path.display(), "a cached package is damaged; fetching it again");
            drop(fs::remove_file(&path));
            return open(&self.file(service, hash)?);
        }
        opened
    }

    /// The file of a package.
    fn file(&mut self, service: &dyn TaskService, hash: &str) -> Result<PathBuf, Missing> {
        if hash.len() != 64 || !hash.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(Missing::Bad(format!("`{hash}` is not a hash")));
        }
        let path = self.directory.join(format!("{hash}.zip"));
        if path.exists() {
            return Ok(path);
        }
        self.make_room();
        let fetched = self.fetch(service, hash, &path);
        match &fetched {
            Err(Missing::Transport(TransportError::Here(why))) => {
                self.trouble = Some(Trouble { hash: hash.into(), why: why.clone(), since: Instant::now() });
            }
            // Whether it could be kept is not known.
            Err(Missing::Transport(_)) => {}
            // One that is wanted no more troubles nobody.
            Ok(()) | Err(Missing::Bad(_)) => self.trouble = None,
        }
        fetched.map(|()| path)
    }

    /// Gets a package from the service, and once more where it came as another one.
    fn fetch(&self, service: &dyn TaskService, hash: &str, path: &Path) -> Result<(), Missing> {
        let here = |why: String| {
            Missing::Transport(TransportError::Here(format!(
                "keeping a package: {}: {why}",
                self.directory.display()
            )))
        };
        let full = |e: std::io::Error| here(e.to_string());
        let mut came_as = None;
        loop {
            let mut fresh = tempfile::NamedTempFile::new_in(&self.directory).map_err(full)?;
            let there = service.package(hash, fresh.as_file_mut()).map_err(|broken| match broken {
                TransportError::Here(why) => here(why),
                other => Missing::Transport(other),
            })?;
            if !there {
                return Err(Missing::Bad(format!("the service has no package {hash}")));
            }
            let found = hash_of(fresh.path()).map_err(full)?;
            if found == hash {
                fresh.persist(path).map_err(|e| full(e.error))?;
                return Ok(());
            }
            tracing::warn!(hash, found, "a fetched package has another hash");
            if came_as.is_some() {
                let why = format!("package {hash} came as {found}, twice");
                return Err(Missing::Transport(TransportError::Here(why)));
            }
            service.damaged(hash, &found)?;
            came_as = Some(found);
        }
    }

    /// What keeps this machine from taking packages, if anything did the last time and does still: the package it could not take is
    /// tried again.
    pub(super) fn trouble(&mut self, service: &dyn TaskService) -> Option<String> {
        let Trouble { hash, since, .. } = self.trouble.as_ref()?;
        if since.elapsed() > TROUBLE_FOR {
            let hash = hash.clone();
            if self.file(service, &hash).is_ok() {
                tracing::info!("packages can be taken again");
            }
        }
        self.trouble.as_ref().map(|trouble| trouble.why.clone())
    }

    /// Removes the files that were not used for longest. Those that are open stay readable.
    fn make_room(&self) {
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        let mut files: Vec<_> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let metadata = entry.metadata().ok()?;
                Some((metadata.accessed().ok()?, metadata.len(), entry.path()))
            })
            .collect();
        files.sort();
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in files {
            if total <= KEPT_BYTES {
                return;
            }
            // Another worker of this machine may have been quicker.
            drop(fs::remove_file(path));
            total -= size;
        }
    }
}

fn hash_of(path: &Path) -> std::io::Result<String> {
    let mut digest = Sha256::new();
    let mut from = fs::File::open(path)?;
    let mut part = vec![0; 256 << 10];
    loop {
        match from.read(&mut part)? {
            0 => return Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            n => digest.update(&part[..n]),
        }
    }
}
