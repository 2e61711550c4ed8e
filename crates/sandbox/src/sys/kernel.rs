//! Single calls that rustix leaves out or marks as needing care.

use crate::seccomp::Instruction;
use model::{Exit, Nanos};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) fn check(ret: libc::c_long) -> io::Result<libc::c_long> {
    if ret < 0 { Err(io::Error::last_os_error()) } else { Ok(ret) }
}

/// Takes ownership of a descriptor received as a number.
///
/// The caller hands over a number the kernel gave to this process and nobody else closes.
pub(crate) fn owned(fd: RawFd) -> OwnedFd {
    // SAFETY: see above; used for descriptors that a system call or SCM_RIGHTS just created.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Puts this process and all its children under a filter, seccomp(2). Without SPEC_ALLOW it would slow every program by
/// the mitigation of speculative store bypass.
pub(crate) fn install_filter(program: &[Instruction]) -> io::Result<()> {
    let fprog = SockFprog { len: program.len() as u16, filter: program.as_ptr().cast() };
    // SAFETY: integers, and a live structure that refers to a live program of that length.
    unsafe {
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())?;
        let flags = libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
        check(libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const fprog))
            .map(drop)
    }
}

/// Draws the launcher's secret, getrandom(2). To be called once, before a filter is made of it.
pub(crate) fn draw_secret() -> io::Result<u64> {
    let mut secret = 0u64;
    // SAFETY: writes the eight bytes of a live integer.
    let n = check(unsafe { libc::syscall(libc::SYS_getrandom, &raw mut secret, size_of::<u64>(), 0) })?;
    if n != 8 {
        return Err(io::Error::other("getrandom gave less than it was asked for"));
    }
    SECRET.store(secret, Ordering::Relaxed);
    Ok(secret)
}

/// What lets a call of the launcher's through its own filter; 0 before there is one.
pub(crate) fn secret() -> usize {
    SECRET.load(Ordering::Relaxed) as usize
}

static SECRET: AtomicU64 = AtomicU64::new(0);

/// Splits this single-threaded process in two. The child gets `None` and is killed when the parent ends; the
/// parent gets the child's pid.
pub(crate) fn fork() -> io::Result<Option<u32>> {
    // SAFETY: the launcher is single-threaded, so the child's memory is consistent, locks included.
    let pid = check(unsafe { libc::fork() }.into())?;
    if pid == 0 {
        // SAFETY: prctl with integers only.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) };
    }
    Ok((pid != 0).then_some(pid as u32))
}

/// Waits for a child to end and reaps it: its exit code, or 3 when a signal ended it.
pub(crate) fn wait_for(pid: u32) -> u8 {
    let mut status = 0;
    loop {
        // SAFETY: writes one live integer.
        let r = check(unsafe { libc::waitpid(pid as i32, &raw mut status, 0) }.into());
        match r {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) if libc::WIFEXITED(status) => return libc::WEXITSTATUS(status) as u8,
            _ => return 3,
        }
    }
}

/// A BPF program as seccomp(2) takes it.
#[repr(C)]
struct SockFprog {
    len: u16,
    filter: *const libc::c_void,
}

/// What the kernel counts of a process (getrusage(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    pub(crate) voluntary_switches: u64,
    pub(crate) involuntary_switches: u64,
}

impl Counts {
    /// What was counted since.
    pub(crate) fn since(self, then: Counts) -> Counts {
        Counts {
            minor_faults: self.minor_faults.saturating_sub(then.minor_faults),
            major_faults: self.major_faults.saturating_sub(then.major_faults),
            voluntary_switches: self.voluntary_switches.saturating_sub(then.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(then.involuntary_switches),
        }
    }
}

/// How a process ended and what it used, itself and the children it waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Death {
    pub(crate) exit: Exit,
    pub(crate) user: Nanos,
    pub(crate) system: Nanos,
    pub(crate) max_rss_kib: u64,
    pub(crate) counts: Counts,
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
        counts: Counts {
            minor_faults: count(usage.ru_minflt),
            major_faults: count(usage.ru_majflt),
            voluntary_switches: count(usage.ru_nvcsw),
            involuntary_switches: count(usage.ru_nivcsw),
        },
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

/// Puts the calling thread, and those it starts afterwards, into the class SCHED_FIFO, sched_setscheduler(2), with a
/// priority from 1 to 99.
///
/// # Errors
/// EPERM without CAP_SYS_NICE, and in a version 1 cpu group that has no real-time bandwidth.
pub fn become_fifo(priority: u8) -> io::Result<()> {
    become_realtime(libc::SCHED_FIFO, priority)
}

/// The same with the class SCHED_RR, in which threads of equal priority take turns.
///
/// # Errors
/// The same.
pub fn become_round_robin(priority: u8) -> io::Result<()> {
    become_realtime(libc::SCHED_RR, priority)
}

fn become_realtime(class: libc::c_int, priority: u8) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority.into() };
    // SAFETY: 0 is the calling thread; reads one live structure.
    check(unsafe { libc::sched_setscheduler(0, class, &raw const parameters) }.into()).map(drop)
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

/// The soft and the hard limit of this process for a resource of setrlimit(2).
pub(crate) fn limits(resource: u32) -> io::Result<[u64; 2]> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes one live structure.
    check(unsafe { libc::getrlimit(resource, &raw mut limit) }.into())?;
    Ok([limit.rlim_cur, limit.rlim_max])
}

/// A counter that becomes readable when the kernel adds to it.
pub(crate) fn eventfd() -> io::Result<OwnedFd> {
    // SAFETY: takes integers only and returns a new descriptor.
    let fd = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) }.into())?;
    Ok(owned(fd as RawFd))
}

/// Keeps others of our uid from reading or tracing us: init and a program before its exec share our memory.
/// Hides our own /proc files from ourselves too, so it comes after the user namespace's maps are written.
pub(crate) fn make_undumpable() {
    // SAFETY: prctl with integers only.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
}

/// Puts signals back to their defaults: what is ignored or blocked here would be so in every run. By bare calls, since
/// the C library keeps two real-time signals to itself (nptl(7)).
pub(crate) fn reset_signals() {
    // `struct sigaction` and `sigset_t` of the kernel: all zero is the default action and the empty set.
    let (action, none) = ([0u64; 4], 0u64);
    let (action, none, size) = (&raw const action as usize, &raw const none as usize, size_of::<u64>());
    // SAFETY: live structures of the kernel's sizes, null for the old ones. Two signals refuse to be changed.
    unsafe {
        for signal in 1..=64 {
            super::raw::syscall(libc::SYS_rt_sigaction, &[signal, action, 0, size, 0, 0]);
        }
        super::raw::syscall(libc::SYS_rt_sigprocmask, &[libc::SIG_SETMASK as usize, none, 0, size, 0, 0]);
    }
}
