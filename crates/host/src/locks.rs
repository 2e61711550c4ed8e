//! Locks of slots: two runs never share a physical core, across processes and users.
//!
//! One file per core; the lock is flock(2)'s, so that it dies with its holder however that ends. The descriptors are
//! handed to the keeper of the slot, which outlives whatever runs on it. Whoever may read the files may lock them: they
//! keep honest users apart; submissions never see them.

use model::Slot;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A wait that is shorter is nothing to tell: the run before may have ended, and its keeper not yet.
const SAID_AFTER: Duration = Duration::from_millis(300);
/// How often a slot that is taken is looked at again.
const STEP: Duration = Duration::from_millis(20);

/// Below the data directory.
const DIRECTORY: &str = "locks";

/// A slot that is ours until this is dropped, and every descriptor of it closed.
#[derive(Debug)]
pub struct Held {
    files: Vec<File>,
}

impl Held {
    /// Descriptors that hold the same lock.
    ///
    /// # Errors
    /// No more descriptors are to be had.
    pub fn descriptors(&self) -> io::Result<Vec<OwnedFd>> {
        self.files.iter().map(|file| Ok(file.try_clone()?.into())).collect()
    }
}

/// Whether a slot could be taken.
#[derive(Debug)]
pub enum Taken {
    /// It is ours.
    Ours(Held),
    /// Somebody has it: the process, where it has said so.
    Theirs(Option<u32>),
}

/// Takes a slot if nobody has it. `data` are the data directories to lock in: our own, and those of others that are
/// there; in the first the files are made.
///
/// # Errors
/// The first directory cannot be written to, or a lock file is no regular file.
pub fn take(data: &[PathBuf], slot: &Slot) -> io::Result<Taken> {
    let mut files = Vec::new();
    for (n, directory) in data.iter().enumerate() {
        let directory = directory.join(DIRECTORY);
        if n == 0 {
            DirBuilder::new()
                .recursive(true)
                .mode(0o755)
                .create(&directory)
                .map_err(|e| named(&directory, &e))?;
        }
        let mut cores = slot.cpus.clone();
        cores.sort_unstable();
        for core in cores {
            let path = directory.join(format!("core-{core}"));
            let Some(mut file) = open(&path, n == 0).map_err(|e| named(&path, &e))? else { continue };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(Taken::Theirs(holder(&path))),
                Err(TryLockError::Error(e)) => return Err(named(&path, &e)),
            }
            // For the message of whoever waits; it matters to nobody else.
            let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
            files.push(file);
        }
    }
    Ok(Taken::Ours(Held { files }))
}

/// Takes `n` of these slots, the first that are free, all at one time: who held some while waiting for more could wait
/// for ever. Whoever has waited longest is served first. Where there are too few, waits, and soon tells `waiting` once who has the first that is taken.
///
/// # Errors
/// As [`take`]; there are fewer than `n` slots.
pub fn wait_for<'a>(
    data: &[PathBuf],
    slots: &[&'a Slot],
    n: usize,
    waiting: &mut dyn FnMut(&Slot, Option<u32>),
) -> io::Result<Vec<(&'a Slot, Held)>> {
    let (mut told, begun) = (false, Instant::now());
    if slots.len() < n {
        return Err(io::Error::other(format!("{n} slots are wanted, and there are {}", slots.len())));
    }
    let turn = data.first().and_then(|directory| turn(directory).ok().flatten());
    if let (Some(turn), Some(slot)) = (&turn, slots.first())
        && turn.try_lock().is_err()
    {
        let core = slot.cpus.first().map(|core| data[0].join(DIRECTORY).join(format!("core-{core}")));
        waiting(slot, core.and_then(|path| holder(&path)));
        told = true;
        // The kernel serves those who wait for one lock in the order in which they came.
        turn.lock()?;
    }
    loop {
        let (mut ours, mut taken) = (Vec::new(), None);
        for slot in slots {
            if ours.len() == n {
                break;
            }
            match take(data, slot)? {
                Taken::Ours(held) => ours.push((*slot, held)),
                Taken::Theirs(who) => taken = taken.or(Some((*slot, who))),
            }
        }
        if ours.len() == n {
            return Ok(ours);
        }
        drop(ours);
        if let (false, Some((slot, who))) = (told || begun.elapsed() < SAID_AFTER, taken) {
            waiting(slot, who);
            told = true;
        }
        std::thread::sleep(STEP);
    }
}

/// The place at the head of the queue.
fn turn(data: &Path) -> io::Result<Option<File>> {
    let directory = data.join(DIRECTORY);
    DirBuilder::new().recursive(true).mode(0o755).create(&directory)?;
    open(&directory.join("turn"), true)
}

/// Makes the lock files of all slots in a data directory, so that users who mind it find them. What cannot be made is
/// made by whoever takes the slot.
pub fn prepare(data: &Path, slots: &[Slot]) {
    let directory = data.join(DIRECTORY);
    let _ = DirBuilder::new().recursive(true).mode(0o755).create(&directory);
    for core in slots.iter().flat_map(|slot| &slot.cpus) {
        let _ = open(&directory.join(format!("core-{core}")), true);
    }
}

/// Opens a lock file, making it where we may. One of others that is not there, or not for us, locks nothing.
fn open(path: &Path, ours: bool) -> io::Result<Option<File>> {
    let usual = OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let open = |flags| rustix::fs::open(path, usual | flags, Mode::from_raw_mode(0o644));
    let opened = if ours { open(OFlags::RDWR | OFlags::CREATE) } else { open(OFlags::RDWR) };
    let opened = match opened {
        // flock asks for no write access.
        Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => open(OFlags::RDONLY),
        other => other,
    };
    match opened {
        Err(Errno::NOENT | Errno::ACCESS) if !ours => Ok(None),
        Err(e) => Err(e.into()),
        Ok(fd) => {
            let file = File::from(fd);
            match file.metadata()?.is_file() {
                true => Ok(Some(file)),
                false => Err(io::Error::other("is not a regular file")),
            }
        }
    }
}

fn holder(path: &Path) -> Option<u32> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn named(path: &Path, e: &io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Isolation;

    fn slot(cpus: &[u32]) -> Slot {
        let isolation = Isolation::Affinity;
        Slot { id: 0, cpus: cpus.into(), idle_siblings: vec![], mem_nodes: vec![], package: 0, isolation }
    }

    fn ours(taken: Taken) -> Option<Held> {
        match taken {
            Taken::Ours(held) => Some(held),
            Taken::Theirs(who) => {
                assert_eq!(who, Some(std::process::id()));
                None
            }
        }
    }

    #[test]
    fn a_core_has_one_holder() {
        let dir = tempfile::tempdir().unwrap();
        let data = [dir.path().join("data")];
        let held = ours(take(&data, &slot(&[2, 3])).unwrap()).unwrap();
        assert!(ours(take(&data, &slot(&[3])).unwrap()).is_none(), "core 3 is part of the slot");
        assert!(ours(take(&data, &slot(&[4, 1])).unwrap()).is_some());
        let copy = held.descriptors().unwrap();
        drop(held);
        assert!(ours(take(&data, &slot(&[2])).unwrap()).is_none(), "a descriptor still holds it");
        drop(copy);
        assert!(ours(take(&data, &slot(&[2])).unwrap()).is_some());
    }

    #[test]
    fn one_who_fails_halfway_holds_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let data = [dir.path().to_path_buf()];
        let held = ours(take(&data, &slot(&[3])).unwrap()).unwrap();
        assert!(ours(take(&data, &slot(&[2, 3])).unwrap()).is_none());
        drop(held);
        assert!(ours(take(&data, &slot(&[2, 3])).unwrap()).is_some());
    }

    #[test]
    fn locks_of_others_count_where_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let (mine, theirs) = (dir.path().join("mine"), dir.path().join("theirs"));
        let held = ours(take(std::slice::from_ref(&theirs), &slot(&[1])).unwrap()).unwrap();
        let both = [mine.clone(), theirs];
        assert!(ours(take(&both, &slot(&[1])).unwrap()).is_none());
        assert!(ours(take(&both, &slot(&[2])).unwrap()).is_some(), "nobody has a file for core 2 there");
        drop(held);
        assert!(ours(take(&both, &slot(&[1])).unwrap()).is_some());
    }

    #[test]
    fn a_link_in_place_of_a_lock_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("locks")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", dir.path().join("locks/core-1")).unwrap();
        let why = take(&[dir.path().to_path_buf()], &slot(&[1])).unwrap_err().to_string();
        assert!(why.contains("core-1"), "{why}");
    }

    #[test]
    fn the_first_free_slot_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let data = [dir.path().to_path_buf()];
        let (a, b) = (slot(&[1]), slot(&[2]));
        let mut never = |_: &Slot, _| panic!("one is free");
        let first = wait_for(&data, &[&a, &b], 1, &mut never).unwrap().remove(0);
        let second = wait_for(&data, &[&a, &b], 1, &mut never).unwrap().remove(0);
        assert_eq!((&first.0.cpus[..], &second.0.cpus[..]), (&[1][..], &[2][..]));
        let (mut told, mut second) = (0, Some(second));
        let third = wait_for(&data, &[&a, &b], 1, &mut |_, who| {
            assert_eq!(who, Some(std::process::id()));
            told += 1;
            drop(second.take());
        });
        assert_eq!((third.unwrap()[0].0.cpus[0], told), (2, 1));
        assert!(wait_for(&data, &[], 1, &mut never).is_err());
    }

    #[test]
    fn who_waits_for_several_holds_none() {
        let dir = tempfile::tempdir().unwrap();
        let data = [dir.path().to_path_buf()];
        prepare(&data[0], &[slot(&[1]), slot(&[2])]);
        assert!(dir.path().join("locks/core-2").is_file());
        let (a, b) = (slot(&[1]), slot(&[2]));
        let mut other = ours(take(&data, &b).unwrap());
        let both = wait_for(&data, &[&a, &b], 2, &mut |_, _| {
            assert!(ours(take(&data, &a).unwrap()).is_some(), "the first is free meanwhile");
            drop(other.take());
        });
        assert_eq!(both.unwrap().len(), 2);
    }
}
