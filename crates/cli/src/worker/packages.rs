//! Packages a worker has: files by their hash, opened ones, and what was compiled of them.

use super::link::{Broken, Link};
use crate::judging::{self, Opened};
use crate::terminal::Failure;
use engine::bench::Programs;
use fleet::{FromWorker, ToWorker};
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// Packages kept open with their validators compiled. Each holds a box or two in the launcher's memory.
const OPEN: usize = 8;
/// Bytes of packages kept as files.
const KEPT_BYTES: u64 = 8 << 30;

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
}

/// Why a package cannot be had.
pub(super) enum Missing {
    Broken(Broken),
    /// It cannot be read.
    Bad(String),
}

impl From<Broken> for Missing {
    fn from(broken: Broken) -> Missing {
        Missing::Broken(broken)
    }
}

impl Packages {
    pub(super) fn new(directory: PathBuf) -> Result<Packages, Failure> {
        fs::create_dir_all(&directory)
            .map_err(|e| Failure::system(format!("{}: {e}", directory.display())))?;
        Ok(Packages { directory, open: VecDeque::new() })
    }

    /// A package by its hash, asked for where it is not here.
    pub(super) fn get(&mut self, link: &Link, hash: &str, problem: &str) -> Result<Rc<Ready>, Missing> {
        if let Some(at) = self.open.iter().position(|ready| ready.hash == hash) {
            if let Some(ready) = self.open.remove(at) {
                self.open.push_back(ready);
            }
        } else {
            let path = self.file(link, hash)?;
            let opened = judging::open_as(&path, problem).map_err(|e| Missing::Bad(e.to_string()))?;
            if self.open.len() >= OPEN {
                self.open.pop_front();
            }
            let programs = std::cell::OnceCell::new();
            self.open.push_back(Rc::new(Ready { hash: hash.to_string(), opened, programs }));
        }
        self.open.back().cloned().ok_or_else(|| Missing::Bad("no package is open".into()))
    }

    /// The file of a package.
    fn file(&self, link: &Link, hash: &str) -> Result<PathBuf, Missing> {
        if hash.len() != 64 || !hash.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(Missing::Bad(format!("`{hash}` is no hash")));
        }
        let path = self.directory.join(format!("{hash}.zip"));
        if path.exists() {
            return Ok(path);
        }
        self.make_room();
        link.say(&FromWorker::NeedPackage { hash: hash.to_string() })?;
        let size = loop {
            match link.hear()? {
                ToWorker::Package { hash: sent, bytes } if sent == hash => break bytes,
                _ => {}
            }
        };
        let size = size.ok_or_else(|| Missing::Bad(format!("the service has no package {hash}")))?;
        // A full disk is nothing against this process, nor against the task: it goes back, and this connection with it.
        let fail = |e: std::io::Error| {
            Missing::Broken(Broken::Connection(format!(
                "keeping a package: {}: {e}",
                self.directory.display()
            )))
        };
        let mut fresh = tempfile::NamedTempFile::new_in(&self.directory).map_err(fail)?;
        let mut digest = Sha256::new();
        link.bytes(size, |bytes| {
            digest.update(bytes);
            fresh.write_all(bytes)
        })?;
        let found: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        if found != hash {
            return Err(Missing::Broken(Broken::Worker(format!("package {hash} came as {found}"))));
        }
        fresh.persist(&path).map_err(|e| fail(e.error))?;
        Ok(path)
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
