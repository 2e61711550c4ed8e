//! Views: what of the host's files a run can read, as mount namespaces prepared once and copied per run.
//!
//! A view's root is a small read-only tmpfs with the system directories of the host, or of another tree, and the mounts a spec names, all
//! read-only, without set-uid and devices. The per-run copy gets its own /run (behind /w, /tmp and /dev/shm), /proc,
//! boxes and single files.

use super::files;
use crate::SandboxError;
use crate::error::During;
use crate::sys::{self, MountAttr};
use model::{Bytes, View, ViewMount};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, FileType, Gid, Mode, OFlags, Uid};
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::Path;

/// Where the launcher keeps its own mounts, in its own namespace: a directory every /proc has and nobody looks into.
pub(super) const STAGING: &str = "/proc/fs";
/// Mount point of a run's fresh file system.
const RUN: &str = "/run";
/// An empty directory to cover it with.
const EMPTY: &str = "/dev/pts";
/// Parts of a run's fresh file system and where they appear.
pub(super) const RUN_PARTS: [(&str, &str); 3] =
    [("/run/w", "/w"), ("/run/tmp", "/tmp"), ("/run/shm", "/dev/shm")];

/// System directories; symbolic links among them are kept as such (merged /usr).
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Files of /etc that dynamic linking and installed alternatives need.
const SYSTEM_FILES: [&str; 2] = ["/etc/ld.so.cache", "/etc/alternatives"];
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Links of /dev, as makedev(8) has them.
const DEVICE_LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

/// Places whose content is the run's own: what is shown there is covered.
const COVERED: [&str; 6] = ["/w", "/tmp", "/dev/shm", "/dev/pts", "/run", "/proc"];

/// Why a run would not see this mount; `None`: it does.
pub fn covered(mount: &ViewMount) -> Option<String> {
    let (host, inside) = (mount.host.as_str(), mount.inside.as_str());
    if inside == "/" {
        return Some("nothing can be shown in place of the root\nhint: name a directory below it".into());
    }
    if SYSTEM.contains(&inside) && host != inside {
        return Some(format!(
            "every run sees the host's own {inside} there\n\
             hint: name another place, as in {host}:/data"
        ));
    }
    let place = COVERED.into_iter().find(|place| Path::new(inside).starts_with(place))?;
    Some(format!("what a run sees in {place} is its own\nhint: name another place, as in {host}:/data"))
}

type Key = (View, BTreeSet<String>);
/// All that distinguishes the file systems of two runs before their own boxes and files come in.
type Kind = (Key, Bytes);

pub(super) struct Views {
    proc: OwnedFd,
    home: OwnedFd,
    ready: HashMap<Key, OwnedFd>,
    away: bool,
    /// Kinds of the last two runs, the latest first.
    recent: [Option<Kind>; 2],
    spare: Option<(Kind, OwnedFd)>,
    uid: u32,
}

impl Views {
    /// Sets up the launcher's own mounts in the slot's namespace.
    pub(super) fn new(proc: BorrowedFd<'_>, uid: u32) -> Result<Views, SandboxError> {
        let what = || "setting up the launcher's mounts".to_string();
        sys::mount_tmpfs(STAGING, "mode=0700").during(what)?;
        Ok(Views {
            home: mount_namespace(proc).during(what)?,
            proc: proc.try_clone_to_owned().during(what)?,
            ready: HashMap::new(),
            away: false,
            recent: [None, None],
            spare: None,
            uid,
        })
    }

    /// Enters the launcher's own namespace, if it is in another.
    pub(super) fn go_home(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.away) {
            sys::setns(self.home.as_fd(), libc::CLONE_NEWNS)?;
        }
        Ok(())
    }

    /// Enters a file system for one run: a private copy of the view, whose root has the mount points `points` (one
    /// component each), with a fresh file system of bounded size behind the run's own directories.
    pub(super) fn enter_run(
        &mut self,
        view: &View,
        points: BTreeSet<String>,
        size: Bytes,
    ) -> Result<(), SandboxError> {
        let wanted = ((view.clone(), points), size);
        let spare = self.spare.take().filter(|(kind, _)| *kind == wanted);
        if let Some((_, namespace)) = &spare {
            self.away = true;
            sys::setns(namespace.as_fd(), libc::CLONE_NEWNS)
                .during(|| "entering the prepared file system".into())?;
        } else {
            self.make_run(&wanted)?;
        }
        self.recent = [Some(wanted), self.recent[0].take()];
        Ok(())
    }

    /// Goes home after a run and, where the last two were alike, makes ready for a third: it costs the next run nothing.
    pub(super) fn tidy(&mut self) -> Result<(), SandboxError> {
        let what = || "returning to the launcher's mounts".to_string();
        if !self.away {
            return Ok(());
        }
        self.go_home().during(what)?;
        let [Some(last), before] = &self.recent else { return Ok(()) };
        if before.as_ref() == Some(last) && self.spare.is_none() {
            let kind = last.clone();
            self.make_run(&kind)?;
            let namespace = mount_namespace(self.proc.as_fd()).during(what)?;
            self.go_home().during(what)?;
            self.spare = Some((kind, namespace));
        }
        Ok(())
    }

    fn make_run(&mut self, (key, size): &Kind) -> Result<(), SandboxError> {
        if !self.ready.contains_key(key) {
            self.away = true;
            let built = self.build(key);
            self.go_home().during(|| "returning to the launcher's mounts".into())?;
            self.ready.insert(key.clone(), built?);
        }
        self.away = true;
        sys::setns(self.ready[key].as_fd(), libc::CLONE_NEWNS)
            .and_then(|()| sys::unshare(libc::CLONE_NEWNS))
            .during(|| "copying the prepared view".into())?;
        mount_run(*size, self.uid).during(|| "the run's own file system".into())
    }

    fn build(&self, (view, points): &Key) -> Result<OwnedFd, SandboxError> {
        let mut sources = Vec::new();
        for path in SYSTEM_FILES.iter().chain(&SYSTEM) {
            let root = view.root.as_deref().unwrap_or_default().trim_end_matches('/');
            let mount = ViewMount { host: format!("{root}{path}"), inside: path.to_string(), optional: true };
            sources.extend(Source::open(mount)?);
        }
        for mount in view.mounts.iter().filter(|m| !SYSTEM.contains(&m.inside.as_str())) {
            sources.extend(Source::open(mount.clone())?);
        }
        for device in DEVICES {
            sources.push(Source::device(device)?);
        }
        let what = || "building a view".to_string();
        sys::unshare(libc::CLONE_NEWNS).during(what)?;
        sys::mount_tmpfs_for_devices(STAGING, "mode=0755,size=1m").during(what)?;
        std::env::set_current_dir(STAGING).during(what)?;
        for dir in ["dev", "dev/pts", "dev/shm", "etc", "proc", "run", "tmp", "w"] {
            make_dirs(Path::new(dir)).during(what)?;
        }
        points.iter().try_for_each(|p| make_dirs(Path::new(relative(p)))).during(what)?;
        write_accounts(self.uid).during(what)?;
        for (name, target) in DEVICE_LINKS {
            rustix::fs::symlink(target, format!("dev/{name}")).during(what)?;
        }
        for source in sources {
            source.attach()?;
        }
        // Each run mounts its own on top. In a user namespace the kernel allows that only where one can be seen already
        // (mount_too_revealing in fs/namespace.c).
        sys::mount_proc("proc").during(what)?;
        enter_root(Path::new(STAGING)).during(what)?;
        sys::remount_readonly("/").during(what)?;
        mount_namespace(self.proc.as_fd()).during(what)
    }
}

/// Mounts the run's own file system and shows its parts where they belong.
fn mount_run(size: Bytes, uid: u32) -> io::Result<()> {
    // Room for the directories themselves, so that a run may fill exactly what it is allowed.
    let size = size.0.saturating_add(64 << 10);
    sys::mount_tmpfs(RUN, &format!("size={size},nr_inodes=65536,mode=0711"))?;
    for (part, at) in RUN_PARTS {
        rustix::fs::mkdir(part, Mode::from_raw_mode(0o700))?;
        rustix::fs::chown(part, Some(Uid::from_raw(uid)), Some(Gid::from_raw(uid)))?;
        if at != "/w" {
            rustix::fs::chmod(part, Mode::from_raw_mode(0o1777))?;
        }
        sys::mount_bind(part, at)?;
    }
    // The parts are all a run should see of it.
    sys::mount_bind(EMPTY, RUN)
}

/// A part of the host on its way into a view.
enum Source {
    Mount { tree: OwnedFd, inside: String, directory: bool },
    Link { target: String, inside: String },
}

impl Source {
    fn open(m: ViewMount) -> Result<Option<Source>, SandboxError> {
        let what = || format!("showing {} to a run", m.host);
        let stat = match rustix::fs::lstat(&*m.host) {
            Err(rustix::io::Errno::NOENT) if m.optional => return Ok(None),
            other => other.during(what)?,
        };
        let system = [&m.host, &m.inside].iter().any(|path| SYSTEM.contains(&path.as_str()));
        if system && FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            let target = rustix::fs::readlink(&*m.host, Vec::new()).during(what)?;
            return Ok(Some(Source::Link {
                target: target.to_string_lossy().into_owned(),
                inside: m.inside,
            }));
        }
        let tree = sys::clone_tree(CWD, &m.host).during(what)?;
        let attributes = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
        sys::mount_setattr(tree.as_fd(), MountAttr { set: attributes, propagation: libc::MS_PRIVATE })
            .during(what)?;
        let stat = rustix::fs::fstat(&tree).during(what)?;
        let directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        Ok(Some(Source::Mount { tree, inside: m.inside, directory }))
    }

    /// Read-only: that keeps its times and attributes, which everybody else sees, and a device can be written all the same.
    fn device(name: &str) -> Result<Source, SandboxError> {
        let host = format!("/dev/{name}");
        let what = || format!("showing {host} to a run");
        let tree = sys::clone_tree(CWD, &host).during(what)?;
        let attributes = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID;
        sys::mount_setattr(tree.as_fd(), MountAttr { set: attributes, propagation: libc::MS_PRIVATE })
            .during(what)?;
        Ok(Source::Mount { tree, inside: host, directory: false })
    }

    fn attach(self) -> Result<(), SandboxError> {
        match self {
            Source::Link { target, inside } => {
                let at = relative(&inside);
                rustix::fs::symlink(&*target, at).during(|| format!("linking {inside} in a view"))
            }
            Source::Mount { tree, inside, directory } => {
                let at = relative(&inside);
                let what = || format!("mounting {inside} in a view");
                if Path::new(at).symlink_metadata().is_err() {
                    let parent = Path::new(at).parent().unwrap_or(Path::new(""));
                    make_dirs(parent).during(what)?;
                    if directory {
                        make_dirs(Path::new(at)).during(what)?;
                    } else {
                        make_file(at).during(what)?;
                    }
                }
                sys::attach_tree(tree.as_fd(), at).during(what)
            }
        }
    }
}

pub(super) fn make_file(path: &str) -> rustix::io::Result<()> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::from_raw_mode(0o444)).map(drop)
}

/// Shows one regular file read-only at `at`, whose directory is a fresh mount of ours. The file itself where the
/// launcher's mounts reach it and the run's user may read it, else a copy. The copy of an executable is executable.
pub(super) fn attach_file(tree: Option<OwnedFd>, file: BorrowedFd<'_>, at: &str) -> io::Result<()> {
    if let Some(tree) = tree {
        make_file(at)?;
        return sys::attach_tree(tree.as_fd(), at);
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let executable = rustix::fs::fstat(file)?.st_mode & 0o111 != 0;
    let copy = rustix::fs::open(at, flags, Mode::from_raw_mode(if executable { 0o555 } else { 0o444 }))?;
    files::copy(file, copy.as_fd())
}

/// A read-only mount of the very file `file` refers to, for the run's user to open; `None` when it has no path or the user
/// could not read it.
pub(super) fn tree_of_file(proc: BorrowedFd<'_>, file: BorrowedFd<'_>) -> Option<OwnedFd> {
    let readable = rustix::fs::fstat(file).ok()?.st_mode & 0o004 != 0;
    readable.then(|| readonly_tree(proc, file)).flatten()
}

/// A read-only mount of the very file `file` refers to, found by its path in the launcher's namespace and proved by its
/// inode; `None` when it has no path there.
pub(super) fn readonly_tree(proc: BorrowedFd<'_>, file: BorrowedFd<'_>) -> Option<OwnedFd> {
    let stat = rustix::fs::fstat(file).ok()?;
    let link = format!("self/fd/{}", rustix::fd::AsRawFd::as_raw_fd(&file));
    let path = rustix::fs::readlinkat(proc, link, Vec::new()).ok()?;
    let tree = sys::clone_tree(CWD, path.to_str().ok()?).ok()?;
    let found = rustix::fs::fstat(&tree).ok()?;
    if (found.st_dev, found.st_ino) != (stat.st_dev, stat.st_ino) {
        return None;
    }
    // A device without its mount's leave to be one could not be opened.
    let device = FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
    let nodev = if device { 0 } else { libc::MOUNT_ATTR_NODEV };
    let attributes = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | nodev;
    sys::mount_setattr(tree.as_fd(), MountAttr { set: attributes, propagation: 0 }).ok()?;
    Some(tree)
}

fn mount_namespace(proc: BorrowedFd<'_>) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(proc, "self/ns/mnt", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// Makes `new_root` the root and lets go of the old one (pivot_root(2), "pivot_root(".", ".")").
fn enter_root(new_root: &Path) -> io::Result<()> {
    std::env::set_current_dir(new_root)?;
    sys::pivot_here()?;
    sys::detach(".")?;
    std::env::set_current_dir("/")
}

fn relative(path: &str) -> &str {
    path.trim_start_matches('/')
}

/// Directories of our own making are open to read for everyone, whatever the host's are (a toolchain below root's home).
fn make_dirs(path: &Path) -> io::Result<()> {
    let mut so_far = std::path::PathBuf::new();
    for part in path.components() {
        so_far.push(part);
        match rustix::fs::mkdir(&so_far, Mode::from_raw_mode(0o755)) {
            Ok(()) => rustix::fs::chmod(&so_far, Mode::from_raw_mode(0o755))?,
            Err(rustix::io::Errno::EXIST) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

/// Runtimes look up their own user; it has no home.
fn write_accounts(uid: u32) -> io::Result<()> {
    std::fs::write("etc/passwd", format!("root:x:0:0::/:/bin/false\nrun:x:{uid}:{uid}::/w:/bin/false\n"))?;
    std::fs::write("etc/group", format!("root:x:0:\nrun:x:{uid}:\n"))?;
    std::fs::write("etc/hosts", "127.0.0.1 localhost\n")
}
