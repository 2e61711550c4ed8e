//! What languages compile once for all their programs, kept on disk from one process to the next; and tests that packages' generators made,
//! under names of their own, which nothing but the making of tests reads.
//!
//! Every later compilation trusts it. So it is written by us alone, from a box in which nothing but our own source was compiled, into a directory
//! that nobody else may write and that no program of a submission or package ever sees; and it is read only where all that still holds.

use crate::build_plan::BuildPlan;
use crate::{Runner, files};
use judge::language::WarmUp;
use model::{BoxId, Found};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, mkdir, open, openat};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A box lists no more files: what may be incomplete is not kept.
const FILES: usize = 4096;
/// Bytes of what is kept of one language.
const LARGEST: u64 = 512 << 20;
/// What the names of files that packages' programs made begin with.
pub(crate) const MADE: &str = "test-";
/// Bytes of all of these together.
const MADE_TOTAL: u64 = 4 << 30;
/// How long a process waits for another one that compiles the same. It takes some seconds on an idle machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// Between two attempts to take the lock.
const RETRY: Duration = Duration::from_millis(20);
/// Changes with the form of the files.
const FORM: &str = "1";

/// A directory of such files.
#[derive(Debug)]
pub struct ArtifactCache {
    directory: PathBuf,
}

impl ArtifactCache {
    /// A cache in this directory, which is created when something is stored.
    pub fn new(directory: PathBuf) -> ArtifactCache {
        ArtifactCache { directory }
    }

    /// Whether this is kept.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.read(name).is_ok()
    }

    /// Fills a box; false: it is not kept, or not as it was.
    pub(crate) fn fill(&self, name: &str, runner: &dyn Runner, id: BoxId) -> bool {
        let Ok(kept) = self.read(name) else { return false };
        let mut rest = kept.as_slice();
        while !rest.is_empty() {
            let Some((path, content, after)) = entry(rest) else { return false };
            let put =
                files::in_memory_with(path, content).and_then(|file| runner.put(id, path, false, &file));
            if put.is_err() {
                return false;
            }
            rest = after;
        }
        true
    }

    /// Waits while another process compiles for this language, and holds others off until the result is dropped. `None`: nothing can be kept
    /// here, the wait was cancelled, or the other process takes too long. The caller then compiles by itself.
    pub(crate) fn lock(&self, language: &str, cancel: &AtomicBool) -> Option<OwnedFd> {
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = self.made_directory().ok()?;
        let lock = openat(directory, format!("lock.{language}"), flags, Mode::RUSR | Mode::WUSR).ok()?;
        let end = Instant::now() + PATIENCE;
        while let Err(e) = flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            if e != rustix::io::Errno::WOULDBLOCK || cancel.load(Ordering::Relaxed) || Instant::now() > end {
                return None;
            }
            thread::sleep(RETRY);
        }
        Some(lock)
    }

    /// Keeps what is in a box, in place of what was kept of the language before.
    pub(crate) fn keep(&self, name: &str, runner: &dyn Runner, id: BoxId) -> io::Result<()> {
        let broken = |e: crate::SystemError| io::Error::other(e.to_string());
        let names = runner.list(id).map_err(broken)?;
        if names.len() >= FILES {
            return Err(io::Error::other("too many files"));
        }
        let mut content = Vec::new();
        for path in names {
            let Found::File(mut file) = runner.fetch(id, &path).map_err(broken)? else { continue };
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            content.extend((path.len() as u64).to_le_bytes());
            content.extend((bytes.len() as u64).to_le_bytes());
            content.extend(path.as_bytes());
            content.extend(bytes);
        }
        self.write(name, &content)?;
        self.forget_others(name);
        Ok(())
    }

    /// Bytes that are kept by themselves.
    pub(crate) fn content(&self, name: &str) -> Option<Vec<u8>> {
        self.read(name).ok()
    }

    /// Keeps bytes by themselves.
    pub(crate) fn keep_content(&self, name: &str, content: &[u8]) -> io::Result<()> {
        if content.len() as u64 >= LARGEST {
            return Err(io::Error::other("too large"));
        }
        self.write(name, content)?;
        self.forget_oldest(MADE, MADE_TOTAL);
        Ok(())
    }

    /// Removes the oldest of the files whose names begin so, until they have at most this many bytes together.
    fn forget_oldest(&self, beginning: &str, most: u64) {
        let made = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok().filter(|name| name.starts_with(beginning))?;
            let facts = entry.metadata().ok()?;
            Some((facts.modified().ok()?, facts.len(), name))
        };
        let mut all: Vec<_> =
            fs::read_dir(&self.directory).into_iter().flatten().flatten().filter_map(made).collect();
        all.sort();
        let mut total: u64 = all.iter().map(|(_, size, _)| size).sum();
        for (_, size, name) in all {
            if total <= most {
                return;
            }
            // Somebody else may have been quicker.
            let _ = fs::remove_file(self.directory.join(name));
            total -= size;
        }
    }

    fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.made_directory()?;
        let mut fresh = tempfile::NamedTempFile::new_in(&self.directory)?;
        fresh.write_all(&Sha256::digest(content))?;
        fresh.write_all(content)?;
        fresh.as_file().sync_all()?;
        fresh.persist(self.directory.join(name))?;
        Ok(())
    }

    /// Removes what was kept of a language by other tools.
    fn forget_others(&self, name: &str) {
        let of_language = name.rsplit_once('-').map_or(name, |(language, _)| language);
        for other in fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            let known = other.file_name();
            let same = known
                .to_str()
                .and_then(|known| known.rsplit_once('-'))
                .is_some_and(|(l, _)| l == of_language);
            if same && known != *name {
                // Somebody else may have been quicker.
                let _ = fs::remove_file(other.path());
            }
        }
    }

    /// The directory, created if it is absent.
    fn made_directory(&self) -> io::Result<OwnedFd> {
        self.directory.parent().map_or(Ok(()), fs::create_dir_all)?;
        match mkdir(&self.directory, Mode::from_raw_mode(0o700)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => self.directory(),
            Err(e) => Err(e.into()),
        }
    }

    /// The directory, where it is ours alone.
    fn directory(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = open(&self.directory, flags, Mode::empty())?;
        ours(&directory)?;
        Ok(directory)
    }

    /// What is kept, proved to be as it was.
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(self.directory()?, name, flags, Mode::empty())?;
        ours(&file)?;
        let (mut digest, mut content) = ([0; 32], Vec::new());
        let mut file = File::from(file).take(LARGEST);
        file.read_exact(&mut digest)?;
        file.read_to_end(&mut content)?;
        match Sha256::digest(&content)[..] == digest {
            true => Ok(content),
            false => Err(io::Error::other("it is damaged")),
        }
    }
}

/// Nobody else may have written it.
pub(crate) fn ours(file: &OwnedFd) -> io::Result<()> {
    let stat = fstat(file)?;
    match stat.st_uid == rustix::process::geteuid().as_raw() && stat.st_mode & 0o022 == 0 {
        true => Ok(()),
        false => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
    }
}

/// The first file: its path, its bytes, and what comes after it.
fn entry(from: &[u8]) -> Option<(&str, &[u8], &[u8])> {
    let number = |from: &[u8]| from.first_chunk().map(|bytes| u64::from_le_bytes(*bytes) as usize);
    let (path, content, rest) = (number(from)?, number(from.get(8..)?)?, from.get(16..)?);
    let (path, rest) = rest.split_at_checked(path)?;
    let (content, rest) = rest.split_at_checked(content)?;
    Some((std::str::from_utf8(path).ok()?, content, rest))
}

/// The name of what a language compiles by this build plan: another one where the source, the commands, what they see or their tools differ.
pub(crate) fn name_of(build_plan: &BuildPlan, warm_up: &WarmUp) -> String {
    let mut hasher = Sha256::new();
    let mut add = |text: &str| {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    };
    for text in [FORM, &warm_up.name, &warm_up.text, &format!("{:?}", build_plan.compile_view)] {
        add(text);
    }
    for command in &warm_up.commands {
        add(&format!("{:?} {:?}", command.argv, command.env));
        let tool = command.argv.first().and_then(|tool| fs::metadata(tool).ok());
        add(&tool.map_or_else(String::new, |tool| {
            format!("{} {} {}", tool.len(), tool.mtime(), tool.mtime_nsec())
        }));
    }
    let digest: String = hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{digest}", build_plan.language)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulated;
    use model::Bytes;
    use std::os::unix::fs::PermissionsExt;

    fn content(runner: &dyn Runner, id: BoxId) -> Vec<(String, Vec<u8>)> {
        let read = |path: String| {
            let mut bytes = Vec::new();
            let Found::File(mut file) = runner.fetch(id, &path).unwrap() else { panic!("{path}") };
            file.read_to_end(&mut bytes).unwrap();
            (path, bytes)
        };
        runner.list(id).unwrap().into_iter().map(read).collect()
    }

    #[test]
    fn what_is_kept_comes_back_only_as_it_was_and_from_us() {
        let top = tempfile::tempdir().unwrap();
        let artifacts = ArtifactCache::new(top.path().join("data/caches"));
        let runner = Simulated::new(|_| unreachable!("nothing runs"));
        let full = runner.create_box(Bytes::from_mib(1)).unwrap();
        for (path, bytes) in [("00/a-d", &b"\0\xff"[..]), ("empty", b"")] {
            runner.put(full, path, false, &files::in_memory_with("x", bytes).unwrap()).unwrap();
        }
        let fill = |name: &str| {
            let id = runner.create_box(Bytes::from_mib(1)).unwrap();
            artifacts.fill(name, &runner, id).then(|| content(&runner, id))
        };
        assert_eq!(fill("go-1"), None);
        artifacts.keep("go-1", &runner, full).unwrap();
        artifacts.keep("hs-1", &runner, full).unwrap();
        assert_eq!(fill("go-1"), Some(content(&runner, full)));
        artifacts.keep_content("test-1", b"made").unwrap();
        assert_eq!(artifacts.content("test-1").as_deref(), Some(&b"made"[..]));
        assert_eq!(artifacts.content("test-2"), None);
        artifacts.keep_content("test-2", b"made later").unwrap();
        // With their digests they have 36 and 42 bytes.
        artifacts.forget_oldest(MADE, 78);
        assert!(artifacts.has("test-1") && artifacts.has("test-2"));
        artifacts.forget_oldest(MADE, 77);
        assert!(!artifacts.has("test-1") && artifacts.has("test-2") && artifacts.has("go-1"));
        // A newer one takes the place of that of the same language.
        artifacts.keep("go-2", &runner, full).unwrap();
        assert_eq!((fill("go-1"), artifacts.has("go-2"), artifacts.has("hs-1")), (None, true, true));
        // Damaged, another's to write, or a link: as good as none.
        let file = artifacts.directory.join("go-2");
        let whole = fs::read(&file).unwrap();
        fs::write(&file, &whole[..whole.len() - 1]).unwrap();
        assert_eq!(fill("go-2"), None);
        fs::write(&file, &whole).unwrap();
        assert!(artifacts.has("go-2"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(!artifacts.has("go-2"));
        std::os::unix::fs::symlink("hs-1", artifacts.directory.join("go-3")).unwrap();
        assert!(!artifacts.has("go-3"));
        assert!(artifacts.has("hs-1"));
        fs::set_permissions(&artifacts.directory, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(!artifacts.has("hs-1") && artifacts.keep("hs-1", &runner, full).is_err());
    }
}
