//! One control group, reached through held directories: the launcher enters mount namespaces in which the cgroup file
//! systems cannot be seen.

use super::file::CgroupFile;
use super::layout::other_name;
use super::named;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags};
use std::io;
use std::path::{Path, PathBuf};

pub(super) struct Group {
    parent: OwnedFd,
    dir: OwnedFd,
    path: PathBuf,
    name: String,
}

impl Group {
    /// Makes the group `name` below `parent`; one that a killed predecessor of the same name left is taken over.
    pub(super) fn create(parent: &Path, name: &str) -> io::Result<Group> {
        let path = parent.join(name);
        let parent = directory(rustix::fs::CWD, parent).map_err(|e| named(parent, e))?;
        let dir = make(parent.as_fd(), name).map_err(|e| named(&path, e))?;
        Ok(Group { parent, dir, path, name: name.to_string() })
    }

    /// Replaces the group by a new one. Nothing may live in it. The new one is made first, so that the slot's place is
    /// always seen to be taken.
    pub(super) fn recreate(&mut self) -> io::Result<()> {
        let name = other_name(&self.name);
        let path = self.path.with_file_name(&name);
        self.dir = make(self.parent.as_fd(), &name).map_err(|e| named(&path, e))?;
        let (name, path) = (std::mem::replace(&mut self.name, name), std::mem::replace(&mut self.path, path));
        rustix::fs::unlinkat(&self.parent, &name, AtFlags::REMOVEDIR).map_err(|e| named(&path, e.into()))
    }

    /// Moves this process into the group.
    pub(super) fn join(&self) -> io::Result<()> {
        self.write_only("cgroup.procs")?.write("0")
    }

    /// Moves this process into the parent group.
    pub(super) fn leave(&self) -> io::Result<()> {
        let path = self.path.parent().unwrap_or(Path::new("/"));
        CgroupFile::open(self.parent.as_fd(), path, "cgroup.procs", OFlags::WRONLY)?.write("0")
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// A file of the group around this one, for reading.
    pub(super) fn parents(&self, name: &str) -> io::Result<CgroupFile> {
        let path = self.path.parent().unwrap_or(Path::new("/"));
        CgroupFile::open(self.parent.as_fd(), path, name, OFlags::RDONLY)
    }

    pub(super) fn read_only(&self, name: &str) -> io::Result<CgroupFile> {
        CgroupFile::open(self.fd(), &self.path, name, OFlags::RDONLY)
    }

    pub(super) fn write_only(&self, name: &str) -> io::Result<CgroupFile> {
        CgroupFile::open(self.fd(), &self.path, name, OFlags::WRONLY)
    }

    pub(super) fn read_write(&self, name: &str) -> io::Result<CgroupFile> {
        CgroupFile::open(self.fd(), &self.path, name, OFlags::RDWR)
    }
}

fn make(parent: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
    match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => directory(parent, Path::new(name)),
        Err(e) => Err(e.into()),
    }
}

fn directory(at: BorrowedFd<'_>, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(at, path, flags, Mode::empty())?)
}
