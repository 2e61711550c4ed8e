//! The descriptors that a run gets in place of the caller's: through read-only mounts, or copies.
//!
//! A descriptor is more than its bytes. Through it the owner of a file changes mode, times and attributes; its flags, position
//! and locks belong to the open file, which all holders share. As an ordinary user the run *is* the owner, and a device that
//! everyone may write can be touched by everyone. So no open file of the caller's reaches a run, but pipes, sockets and
//! the files its output goes to.

use super::files;
use super::privilege::Privilege;
use super::view::readonly_tree;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, Gid, MemfdFlags, Mode, OFlags, SeekFrom, Stat, Uid};
use std::collections::BTreeSet;
use std::io;

/// Permission bits, set-uid and its like included.
const MODE: u32 = 0o7777;
/// Majors of devices of which every open gives the same device: memory, consoles, terminals (Documentation/admin-guide/devices.txt).
const REOPENED: [u32; 10] = [1, 4, 136, 137, 138, 139, 140, 141, 142, 143];
/// Most of a list of attribute names: what the kernel gives (XATTR_LIST_MAX).
const NAMES: usize = 64 << 10;

/// Opens streams again.
pub(super) struct Streams {
    proc: OwnedFd,
    /// The host's /dev/null, mounted read-only.
    null: OwnedFd,
    root: bool,
    uid: u32,
    /// Device number of files in memory, which are on no mount.
    memory: u64,
    /// Mounts that were opened through. Letting go of one waits for all CPUs, which no run should wait for.
    spent: Vec<OwnedFd>,
}

impl Streams {
    /// To be made while the host's files are in reach.
    pub(super) fn new(proc: BorrowedFd<'_>, privilege: &Privilege) -> io::Result<Streams> {
        let null = rustix::fs::open("/dev/null", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let null = readonly_tree(proc, null.as_fd())
            .ok_or_else(|| io::Error::other("/dev/null cannot be mounted read-only"))?;
        let memory = rustix::fs::fstat(in_memory()?)?.st_dev;
        let (root, uid) = (privilege.is_root(), privilege.uid());
        Ok(Streams { proc: proc.try_clone_to_owned()?, null, root, uid, memory, spent: Vec::new() })
    }

    /// Lets go of what earlier runs were opened through.
    pub(super) fn tidy(&mut self) {
        self.spent.clear();
    }

    /// /dev/null, opened again: its flags and locks would be seen by the next run.
    pub(super) fn null(&self) -> io::Result<OwnedFd> {
        self.open(&self.null, OFlags::RDWR)
    }

    /// What a run gets as its standard input.
    pub(super) fn input(&mut self, fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
        let stat = rustix::fs::fstat(fd)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return self.stream(fd, &stat);
        }
        let reopened = match self.readonly(fd, OFlags::RDONLY) {
            Some(reopened) => reopened,
            None if self.root && stat.st_mode & 0o022 == 0 => return fd.try_clone_to_owned(),
            None => {
                let copy = in_memory()?;
                files::copy(fd, copy.as_fd())?;
                self.open(&copy, OFlags::RDONLY)?
            }
        };
        let at = rustix::fs::seek(fd, SeekFrom::Current(0))?;
        rustix::fs::seek(&reopened, SeekFrom::Start(at))?;
        Ok(reopened)
    }

    /// What a run gets as its standard output or error.
    pub(super) fn output(&mut self, fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
        let stat = rustix::fs::fstat(fd)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => fd.try_clone_to_owned(),
            _ => self.stream(fd, &stat),
        }
    }

    /// Whether Landlock has rules for a file: it has none for files in memory, and refuses to be told of them.
    pub(super) fn on_mount(&self, stat: &Stat) -> bool {
        stat.st_dev != self.memory
    }

    /// A device or a pipe with a name is opened again through a read-only mount, which writing into it does not need. A pipe
    /// without one belongs to the run's user from now on, so that it can be opened again through /dev/stdin and its like; one
    /// that another user made stays theirs.
    fn stream(&mut self, fd: BorrowedFd<'_>, stat: &Stat) -> io::Result<OwnedFd> {
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind == FileType::CharacterDevice && stat.st_rdev == rustix::fs::makedev(1, 3) {
            return self.null();
        }
        let device = kind == FileType::CharacterDevice && REOPENED.contains(&rustix::fs::major(stat.st_rdev));
        if device || kind == FileType::Fifo {
            let access = rustix::fs::fcntl_getfl(fd)? & OFlags::RWMODE;
            if let Some(reopened) = self.readonly(fd, access) {
                return Ok(reopened);
            }
        }
        if kind == FileType::Fifo && self.root && stat.st_uid == rustix::process::geteuid().as_raw() {
            rustix::fs::fchown(fd, Some(Uid::from_raw(self.uid)), Some(Gid::from_raw(self.uid)))?;
        }
        fd.try_clone_to_owned()
    }

    fn readonly(&mut self, fd: BorrowedFd<'_>, access: OFlags) -> Option<OwnedFd> {
        let tree = readonly_tree(self.proc.as_fd(), fd)?;
        // Without blocking: a named pipe may have lost its other end by now.
        let opened = self.open(&tree, access | OFlags::NOCTTY | OFlags::NONBLOCK).ok()?;
        self.spent.push(tree);
        rustix::fs::fcntl_setfl(&opened, OFlags::empty()).ok()?;
        Some(opened)
    }

    /// Opens the file of a descriptor once more.
    fn open(&self, fd: &OwnedFd, flags: OFlags) -> io::Result<OwnedFd> {
        let path = format!("self/fd/{}", fd.as_raw_fd());
        Ok(rustix::fs::openat(&self.proc, path, flags | OFlags::CLOEXEC, Mode::empty())?)
    }
}

fn in_memory() -> rustix::io::Result<OwnedFd> {
    rustix::fs::memfd_create("standard input", MemfdFlags::CLOEXEC)
}

/// A file that a run's output goes to, as it was before. The content is the run's to change and nothing else.
pub(super) struct Output {
    fd: OwnedFd,
    mode: u32,
    names: BTreeSet<Vec<u8>>,
}

impl Output {
    pub(super) fn before(fd: BorrowedFd<'_>) -> io::Result<Output> {
        let stat = rustix::fs::fstat(fd)?;
        Ok(Output { fd: fd.try_clone_to_owned()?, mode: stat.st_mode & MODE, names: names(fd) })
    }

    /// Puts back the mode, so that it can be read again, and takes away the attributes that were added.
    pub(super) fn restore(&self) -> io::Result<()> {
        if rustix::fs::fstat(&self.fd)?.st_mode & MODE != self.mode {
            rustix::fs::fchmod(&self.fd, Mode::from_raw_mode(self.mode))?;
        }
        for name in names(self.fd.as_fd()).difference(&self.names) {
            rustix::fs::fremovexattr(&self.fd, &**name)?;
        }
        Ok(())
    }
}

/// Names of the attributes of a file that its user may change; none where the file system has none.
fn names(fd: BorrowedFd<'_>) -> BTreeSet<Vec<u8>> {
    let mut few = [0u8; 256];
    let list = match rustix::fs::flistxattr(fd, &mut few[..]) {
        Ok(0) => return BTreeSet::new(),
        Ok(n) => few[..n].to_vec(),
        Err(rustix::io::Errno::RANGE) => {
            let mut many = vec![0u8; NAMES];
            let n = rustix::fs::flistxattr(fd, &mut many[..]).unwrap_or(0);
            many.truncate(n);
            many
        }
        Err(_) => return BTreeSet::new(),
    };
    let own = |name: &&[u8]| name.starts_with(b"user.") || name.starts_with(b"system.posix_acl");
    list.split(|b| *b == 0).filter(own).map(<[u8]>::to_vec).collect()
}
