//! Single calls that rustix leaves out or marks as needing care.

use model::{Exit, Nanos};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

fn check(ret: libc::c_long) -> io::Result<libc::c_long> {
    if ret < 0 { Err(io::Error::last_os_error()) } else { Ok(ret) }
}

/// Takes ownership of a descriptor received as a number.
///
/// The caller hands over a number the kernel gave to this process and nobody else closes.
pub(crate) fn owned(fd: RawFd) -> OwnedFd {
    // SAFETY: see above; used for descriptors that a system call or SCM_RIGHTS just created.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// What to change on a mount, mount_setattr(2).
#[derive(Clone, Copy, Default)]
pub(crate) struct MountAttr {
    pub(crate) set: u64,
    pub(crate) propagation: u64,
}

/// Applies attributes to the mount at `fd` and all mounts below it.
pub(crate) fn mount_setattr(fd: BorrowedFd<'_>, attr: MountAttr) -> io::Result<()> {
    let a = libc::mount_attr { attr_set: attr.set, attr_clr: 0, propagation: attr.propagation, userns_fd: 0 };
    // SAFETY: an empty C string and a live, correctly sized structure.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            fd.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
            &raw const a,
            size_of::<libc::mount_attr>(),
        )
    })
    .map(drop)
}

/// Moves this (single-threaded) process into the namespaces of `flags` that `fd` refers to.
pub(crate) fn setns(fd: BorrowedFd<'_>, flags: i32) -> io::Result<()> {
    // SAFETY: takes integers only.
    check(unsafe { libc::setns(fd.as_raw_fd(), flags) }.into()).map(drop)
}

/// Gives this (single-threaded) process new namespaces.
pub(crate) fn unshare(flags: i32) -> io::Result<()> {
    // SAFETY: takes integers only. CLONE_FILES and CLONE_FS are not among the flags used here, so no other
    // code's assumption about shared descriptors changes.
    check(unsafe { libc::unshare(flags) }.into()).map(drop)
}

/// A BPF program as seccomp(2) takes it.
#[repr(C)]
pub(crate) struct SockFprog {
    pub(crate) len: u16,
    pub(crate) filter: *const libc::c_void,
}

/// How a process ended and what it used, itself and the children it waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Death {
    pub(crate) exit: Exit,
    pub(crate) user: Nanos,
    pub(crate) system: Nanos,
    pub(crate) max_rss_kib: u64,
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    pub(crate) voluntary_switches: u64,
    pub(crate) involuntary_switches: u64,
}

/// Looks at a dead child without reaping it; `None` while it lives. The raw system call gives the usage as
/// well (waitid(2), "C library/kernel differences").
pub(crate) fn peek_death(pidfd: BorrowedFd<'_>) -> io::Result<Option<Death>> {
    // SAFETY: both structures are plain data for which zero is valid; the kernel fills them.
    let (info, usage) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let mut usage: libc::rusage = std::mem::zeroed();
        check(libc::syscall(
            libc::SYS_waitid,
            libc::P_PIDFD,
            pidfd.as_raw_fd(),
            &raw mut info,
            libc::WEXITED | libc::WNOWAIT | libc::WNOHANG,
            &raw mut usage,
        ))?;
        (info, usage)
    };
    // SAFETY: waitid fills these fields; with nothing to report si_pid is 0.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    if pid == 0 {
        return Ok(None);
    }
    let time = |t: libc::timeval| Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000);
    let count = |n: libc::c_long| n.max(0) as u64;
    Ok(Some(Death {
        exit: if info.si_code == libc::CLD_EXITED { Exit::Code(status) } else { Exit::Signal(status) },
        user: time(usage.ru_utime),
        system: time(usage.ru_stime),
        max_rss_kib: count(usage.ru_maxrss),
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
    }))
}

/// Waits for a child and reaps it.
pub(crate) fn reap(pidfd: BorrowedFd<'_>) -> io::Result<()> {
    loop {
        // SAFETY: null for both results is allowed.
        let r = check(unsafe {
            libc::syscall(libc::SYS_waitid, libc::P_PIDFD, pidfd.as_raw_fd(), 0usize, libc::WEXITED, 0usize)
        });
        match r {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            other => return other.map(drop),
        }
    }
}

/// CPU time of all threads of a process, up to date even while they run. The clock id is built as
/// clock_getcpuclockid(3) does.
pub(crate) fn process_cpu_time(pid: u32) -> io::Result<Nanos> {
    const CPUCLOCK_SCHED: libc::clockid_t = 2;
    let clock = (!(pid as libc::clockid_t)) << 3 | CPUCLOCK_SCHED;
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one live timespec.
    check(unsafe { libc::clock_gettime(clock, &raw mut t) }.into())?;
    Ok(Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64))
}

/// Takes every capability out of the bounding and ambient sets, so that no exec can bring one back.
pub(crate) fn bounding_set_drop_all() -> io::Result<()> {
    // SAFETY: prctl with integers only.
    unsafe {
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        for capability in 0..64 {
            if libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 {
                let e = io::Error::last_os_error();
                // EINVAL: past the last capability this kernel knows.
                return if e.raw_os_error() == Some(libc::EINVAL) { Ok(()) } else { Err(e) };
            }
        }
    }
    Ok(())
}

/// A counter that becomes readable when the kernel adds to it.
pub(crate) fn eventfd() -> io::Result<OwnedFd> {
    // SAFETY: takes integers only and returns a new descriptor.
    let fd = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) }.into())?;
    Ok(owned(fd as RawFd))
}

/// Sets dumpable off, signals to their defaults: what a launcher needs before it serves hostile programs.
pub(crate) fn harden_self() {
    // SAFETY: integers, and SIG_DFL as a handler.
    unsafe {
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
        for signal in 1..=libc::SIGRTMAX() {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}
