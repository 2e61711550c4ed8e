//! Boxes: tmpfs directories of bounded size in the launcher's own mount namespace. They vanish with it.
//!
//! A box may have been written by a hostile program. Everything in it is reached through its held root directory,
//! beneath it and without following a link (openat2(2), RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS).

use super::files;
use super::privilege::Privilege;
use super::view::STAGING;
use crate::error::During;
use crate::sys;
use crate::{ErrorKind, SandboxError};
use model::{BoxId, Bytes, Found};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, ResolveFlags, Uid};
use std::collections::BTreeMap;
use std::io;

/// Deepest directory and most files that `list` walks.
const DEPTH: usize = 32;
const FILES: usize = 4096;

pub(super) struct Boxes {
    owner: u32,
    next: u32,
    roots: BTreeMap<BoxId, OwnedFd>,
}

impl Boxes {
    pub(super) fn new(privilege: &Privilege) -> Boxes {
        Boxes { owner: privilege.uid(), next: 0, roots: BTreeMap::new() }
    }

    pub(super) fn create(&mut self, size: Bytes) -> Result<BoxId, SandboxError> {
        let id = BoxId(self.next);
        let path = path_of(id);
        let making = || format!("making box {}", id.0);
        rustix::fs::mkdir(&*path, Mode::from_raw_mode(0o755)).during(making)?;
        let uid = self.owner;
        let options = format!("size={},nr_inodes=65536,mode=0755,uid={uid},gid={uid}", size.0.max(4096));
        sys::mount_tmpfs(&path, &options).during(making)?;
        let root =
            rustix::fs::open(&*path, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        self.roots.insert(id, root.during(making)?);
        self.next += 1;
        Ok(id)
    }

    pub(super) fn remove(&mut self, id: BoxId) -> Result<(), SandboxError> {
        self.root(id)?;
        self.roots.remove(&id);
        let path = path_of(id);
        sys::detach(&path)
            .and_then(|()| Ok(rustix::fs::rmdir(&*path)?))
            .during(|| format!("removing box {}", id.0))
    }

    /// A detached mount of the box, to be attached in a run's namespace.
    pub(super) fn mount_of(&self, id: BoxId) -> Result<OwnedFd, SandboxError> {
        sys::clone_tree(self.root(id)?, "").during(|| format!("mounting box {}", id.0))
    }

    pub(super) fn put(
        &self,
        id: BoxId,
        path: &str,
        executable: bool,
        content: BorrowedFd<'_>,
    ) -> Result<(), SandboxError> {
        let root = self.root(id)?;
        let parts = split(path)?;
        let (name, directories) = parts.split_last().ok_or_else(|| SandboxError::content("path", "empty"))?;
        let written = self.write(root, directories, name, executable, content);
        written.during(|| format!("writing {path} into a box")).map_err(|e| match e.errno {
            Some(errno) if of_content(errno) => SandboxError { kind: ErrorKind::Content, ..e },
            _ => e,
        })
    }

    fn write(
        &self,
        root: BorrowedFd<'_>,
        directories: &[&str],
        name: &str,
        executable: bool,
        content: BorrowedFd<'_>,
    ) -> io::Result<()> {
        let mut dir = root.try_clone_to_owned()?;
        for part in directories {
            match rustix::fs::mkdirat(&dir, *part, Mode::from_raw_mode(0o755)) {
                Ok(()) => self.give(&dir, part)?,
                Err(rustix::io::Errno::EXIST) => {}
                Err(e) => return Err(e.into()),
            }
            dir = beneath(&dir, part, OFlags::DIRECTORY | OFlags::RDONLY)?;
        }
        // A fresh inode: nothing a program left there, link or pipe, is ever written through.
        match rustix::fs::unlinkat(&dir, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => {}
            Err(e) => return Err(e.into()),
        }
        let mode = Mode::from_raw_mode(if executable { 0o755 } else { 0o644 });
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&dir, name, flags, mode)?;
        let owner = (Some(Uid::from_raw(self.owner)), Some(Gid::from_raw(self.owner)));
        rustix::fs::fchown(&file, owner.0, owner.1)?;
        rustix::fs::fchmod(&file, mode)?;
        files::copy(content, file.as_fd())
    }

    pub(super) fn fetch(&self, id: BoxId, path: &str) -> Result<Found<OwnedFd>, SandboxError> {
        let root = self.root(id)?;
        split(path)?;
        // NONBLOCK: a pipe in the way must not stop us.
        let file = match beneath(root, path, OFlags::RDONLY | OFlags::NONBLOCK) {
            Ok(file) => file,
            Err(rustix::io::Errno::NOENT) => return Ok(Found::Nothing),
            Err(_) => return Ok(Found::Other),
        };
        let stat = rustix::fs::fstat(&file).during(|| format!("reading {path} from a box"))?;
        let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        Ok(if regular { Found::File(file) } else { Found::Other })
    }

    pub(super) fn unlink(&self, id: BoxId, path: &str) -> Result<(), SandboxError> {
        let unlinking = || format!("removing {path} from a box");
        let root = self.root(id)?;
        split(path)?;
        let (parent, name) = path.rsplit_once('/').unwrap_or((".", path));
        let dir = match beneath(root, parent, OFlags::DIRECTORY | OFlags::RDONLY) {
            Err(rustix::io::Errno::NOENT) => return Ok(()),
            other => other.during(unlinking)?,
        };
        match rustix::fs::unlinkat(&dir, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(e) => Err(e).during(unlinking),
        }
    }

    pub(super) fn list(&self, id: BoxId) -> Result<Vec<String>, SandboxError> {
        let root = self.root(id)?.try_clone_to_owned().during(|| "listing a box".into())?;
        let mut names = Vec::new();
        walk(root, "", 0, &mut names).during(|| "listing a box".into())?;
        names.sort();
        Ok(names)
    }

    fn root(&self, id: BoxId) -> Result<BorrowedFd<'_>, SandboxError> {
        let root = self.roots.get(&id).map(AsFd::as_fd);
        root.ok_or_else(|| SandboxError::bad_request(format!("box {}", id.0), "there is none of this number"))
    }

    fn give(&self, dir: &OwnedFd, name: &str) -> rustix::io::Result<()> {
        let (uid, gid) = (Uid::from_raw(self.owner), Gid::from_raw(self.owner));
        rustix::fs::chownat(dir, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)
    }
}

fn path_of(id: BoxId) -> String {
    format!("{STAGING}/{}", id.0)
}

fn beneath(dir: impl AsFd, path: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(dir, path, flags | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty(), resolve)
}

fn split(path: &str) -> Result<Vec<&str>, SandboxError> {
    let parts: Vec<&str> = path.split('/').collect();
    let sane = |p: &&str| !p.is_empty() && *p != "." && *p != ".." && !p.contains('\0') && p.len() < 256;
    if parts.len() <= DEPTH && parts.iter().all(sane) {
        Ok(parts)
    } else {
        Err(SandboxError::content(
            format!("path `{}`", path.escape_debug()),
            "must be relative, plain and short",
        ))
    }
}

/// Whether writing into a box failed for what is written: a box is a file system of bounded size that nobody else uses.
fn of_content(errno: i32) -> bool {
    use rustix::io::Errno;
    [
        Errno::NOTDIR,
        Errno::ISDIR,
        Errno::EXIST,
        Errno::LOOP,
        Errno::XDEV,
        Errno::NAMETOOLONG,
        Errno::INVAL,
        Errno::NOSPC,
        Errno::DQUOT,
    ]
    .iter()
    .any(|known| known.raw_os_error() == errno)
}

fn walk(dir: OwnedFd, prefix: &str, depth: usize, names: &mut Vec<String>) -> io::Result<()> {
    for entry in Dir::read_from(&dir)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        if name == "." || name == ".." || names.len() >= FILES {
            continue;
        }
        let full = format!("{prefix}{name}");
        match entry.file_type() {
            FileType::RegularFile => names.push(full),
            FileType::Directory if depth < DEPTH => {
                if let Ok(below) = beneath(&dir, name, OFlags::DIRECTORY | OFlags::RDONLY) {
                    walk(below, &format!("{full}/"), depth + 1, names)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}
