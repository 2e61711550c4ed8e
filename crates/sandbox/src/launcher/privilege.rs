//! Where the launcher's power comes from: root, or a user namespace of its own.

use crate::SandboxError;
use crate::error::During;
use crate::sys;
use rustix::fd::AsFd;
use rustix::fs::{Mode, OFlags};
use std::io::{self, Write};

/// Namespaces of the slot; those of a run are made per run.
const SLOT_NAMESPACES: i32 =
    libc::CLONE_NEWNS | libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | libc::CLONE_NEWCGROUP;

const USERNS_KNOBS: &str = "sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, \
     kernel.apparmor_restrict_unprivileged_userns";

/// The user a run has inside a user namespace.
const INNER_UID: u32 = 1000;

/// First uid of runs under root; the keeper's pid is added, so that no two launchers share one. Far above the ids that
/// distributions and container managers hand out.
const FIRST_UID: u32 = 0x7000_0000;
/// The same where a container maps only 16 bits of ids.
const FIRST_UID_16: u32 = 40_000;

pub(super) struct Privilege {
    root: bool,
    uid: u32,
    uid_on_host: u32,
}

impl Privilege {
    /// Finds where our power comes from and makes a pid namespace for our children: the caller's next step is to fork.
    pub(super) fn acquire() -> Result<Privilege, SandboxError> {
        if sys::unshare(libc::CLONE_NEWPID).is_ok() {
            let uid = root_uid();
            return Ok(Privilege { root: true, uid, uid_on_host: uid });
        }
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        sys::unshare(libc::CLONE_NEWUSER).map_err(|e| {
            SandboxError::system(
                "making a user namespace",
                format!("{e}\nhint: start as root, or allow user namespaces ({USERNS_KNOBS})"),
            )
        })?;
        // user_namespaces(7), "Defining user and group ID mappings": setgroups must be denied first.
        let write = |name: &str, text: String| {
            let path = format!("/proc/self/{name}");
            std::fs::write(&path, text).during(|| format!("writing {path}"))
        };
        write("setgroups", "deny".into())?;
        write("uid_map", format!("{INNER_UID} {uid} 1"))?;
        write("gid_map", format!("{INNER_UID} {gid} 1"))?;
        sys::unshare(libc::CLONE_NEWPID).during(|| "making a pid namespace".into())?;
        Ok(Privilege { root: false, uid: INNER_UID, uid_on_host: uid })
    }

    /// Makes the namespaces of the slot, from inside the pid namespace, and mounts its /proc.
    pub(super) fn enter_slot(&self) -> Result<(), SandboxError> {
        sys::unshare(SLOT_NAMESPACES).during(|| "making the slot's namespaces".into())?;
        let root = rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        let private = sys::MountAttr { set: 0, propagation: libc::MS_PRIVATE };
        root.map_err(std::io::Error::from)
            .and_then(|root| sys::mount_setattr(root.as_fd(), private))
            .during(|| "taking over the mount namespace".into())?;
        sys::mount_proc("/proc")
            .during(|| "mounting /proc (a container that masks parts of /proc forbids it)".into())
    }

    pub(super) fn is_root(&self) -> bool {
        self.root
    }

    /// User and group of the runs, as this process writes them.
    pub(super) fn uid(&self) -> u32 {
        self.uid
    }

    pub(super) fn uid_on_host(&self) -> u32 {
        self.uid_on_host
    }

    pub(super) fn weaker(&self) -> Vec<String> {
        let uid = "runs have the caller's uid (user namespace); as root they have a uid of their own";
        let landlock = "no Landlock (Linux 5.13, and `landlock` among the boot parameter lsm=); the mounts alone hide files";
        let lacks = [(!self.root, uid), (sys::Rules::version().is_err(), landlock)];
        lacks.into_iter().filter(|(lacks, _)| *lacks).map(|(_, what)| what.into()).collect()
    }
}

fn root_uid() -> u32 {
    let wanted = FIRST_UID + std::process::id();
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let covered = map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u64>);
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(Ok(inside)), Some(Ok(_)), Some(Ok(count))) => {
                (inside..inside + count).contains(&u64::from(wanted))
            }
            _ => false,
        }
    });
    if covered { wanted } else { FIRST_UID_16 + std::process::id() % 20_000 }
}

/// A short file of /proc or of a cgroup in one read; longer ones are cut at 4 KiB.
pub(super) fn read_at(dir: impl AsFd, path: &str) -> io::Result<String> {
    let fd = rustix::fs::openat(dir, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut buffer = [0; 4096];
    let n = rustix::io::read(&fd, &mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..n]).into_owned())
}

pub(super) fn write_at(dir: impl AsFd, path: &str, text: &str) -> io::Result<()> {
    let fd = rustix::fs::openat(dir, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    std::fs::File::from(fd).write_all(text.as_bytes())
}
