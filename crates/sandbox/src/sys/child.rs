//! The two children of a run.
//!
//! *init* is pid 1 of the run's pid namespace. It shares the launcher's memory, runs on a stack of its own, and
//! does nothing but reap orphans; killing it ends everything in the namespace
//! (pid_namespaces(7), "The namespace init process"). It ends with the launcher, whose namespace is around its own.
//!
//! The *program* is started as by vfork: it shares the launcher's memory, and the launcher stands still until
//! it has called exec or exited. It interprets a list of system calls prepared beforehand, allocates nothing,
//! and leaves one fixed record behind when a call fails.

use super::raw::{CloneArgs, clone3, syscall};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const STACK: usize = 64 << 10;
/// clone3(2), since Linux 5.7; the constant of the libc crate is too narrow.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// A stack for a child that shares our memory.
#[repr(C, align(64))]
pub(crate) struct InitStack([u8; STACK]);

impl InitStack {
    /// Zeroed, on the heap, for good: the child may outlive whoever started it.
    pub(crate) fn leaked() -> &'static mut InitStack {
        // The pages are touched by the first child only.
        Box::leak(Box::new(InitStack([0; STACK])))
    }

    /// Where it begins, and its size.
    pub(super) fn place(&mut self) -> (u64, u64) {
        (self.0.as_mut_ptr() as u64, STACK as u64)
    }
}

/// One prepared system call of the program's way to exec.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    /// What it is for, as an index into the plan's step names.
    pub(crate) step: u8,
    /// The program starts without it, and the failure is told.
    pub(crate) optional: bool,
    /// Number.
    pub(crate) nr: i64,
    /// Arguments; pointers refer to buffers the plan owns.
    pub(crate) args: [usize; 6],
}

/// Where the child stopped, written to shared memory before it exits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChildFailure {
    /// The step that failed.
    pub(crate) step: u8,
    /// Errno; 0: nothing failed.
    pub(crate) errno: i32,
    /// Steps of which an optional call failed, as bits.
    pub(crate) forgone: u32,
}

struct Errand {
    ops: *const Op,
    count: usize,
    failure: *mut ChildFailure,
}

extern "C" fn program_entry(arg: usize) -> ! {
    // SAFETY: `arg` is the `Errand` on the stack of `spawn_program`, which stands still until we exec or exit
    // (CLONE_VFORK); its pointers come from a live slice and a live record.
    unsafe {
        let errand = &*(arg as *const Errand);
        let mut i = 0;
        while i < errand.count {
            let op = &*errand.ops.add(i);
            let r = syscall(op.nr, &op.args);
            if r < 0 && op.optional {
                (*errand.failure).forgone |= 1 << op.step;
            } else if r < 0 {
                (*errand.failure).step = op.step;
                (*errand.failure).errno = -r as i32;
                break;
            }
            i += 1;
        }
        loop {
            syscall(libc::SYS_exit_group, &[127, 0, 0, 0, 0, 0]);
        }
    }
}

extern "C" fn init_entry(_: usize) -> ! {
    let chld: u64 = 1 << (libc::SIGCHLD - 1);
    let set = &raw const chld as usize;
    // SAFETY: every pointer refers to `chld`, alive for ever on this stack; null where the call takes null.
    // No call touches memory of the launcher.
    unsafe {
        // Pipes of the run must end with the program, not with us.
        syscall(libc::SYS_close_range, &[0, u32::MAX as usize, 0, 0, 0, 0]);
        syscall(libc::SYS_rt_sigprocmask, &[libc::SIG_BLOCK as usize, set, 0, 8, 0, 0]);
        loop {
            while syscall(libc::SYS_wait4, &[usize::MAX, 0, libc::WNOHANG as usize, 0, 0, 0]) > 0 {}
            syscall(libc::SYS_rt_sigtimedwait, &[set, 0, 0, 8, 0, 0]);
        }
    }
}

/// Of a child that is started as by vfork, with a pidfd.
pub(super) fn clone_flags(into_cgroup: bool) -> u64 {
    let into = if into_cgroup { CLONE_INTO_CGROUP } else { 0 };
    (libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD) as u64 | into
}

pub(super) fn finish_clone(ret: isize, pidfd: i32) -> io::Result<(u32, OwnedFd)> {
    if ret < 0 {
        return Err(io::Error::from_raw_os_error(-ret as i32));
    }
    // SAFETY: clone3 succeeded with CLONE_PIDFD, so `pidfd` is a new descriptor that nothing else owns.
    Ok((ret as u32, unsafe { OwnedFd::from_raw_fd(pidfd) }))
}

/// Starts pid 1 of the pid namespace this process has unshared. Returns its pid here and a pidfd.
///
/// The stack must stay untouched until init has been reaped.
pub(crate) fn spawn_init(stack: &mut InitStack) -> io::Result<(u32, OwnedFd)> {
    let mut pidfd: i32 = -1;
    let args = CloneArgs {
        flags: (libc::CLONE_VM | libc::CLONE_PIDFD) as u64,
        pidfd: &raw mut pidfd as u64,
        exit_signal: libc::SIGCHLD as u64,
        stack: stack.0.as_mut_ptr() as u64,
        stack_size: STACK as u64,
        ..CloneArgs::default()
    };
    // SAFETY: the launcher keeps the stack for good and starts one init at a time, after reaping the one before; `init_entry` makes bare calls only, uses no
    // argument and never returns.
    let ret = unsafe { clone3(&args, init_entry, 0) };
    finish_clone(ret, pidfd)
}

/// Starts the program: the calls of `ops` in order, the last of which is an exec. Returns its pid here and a
/// pidfd once it has called exec or failed; `failure.errno` tells which.
pub(crate) fn spawn_program(
    ops: &[Op],
    stack: &mut InitStack,
    cgroup: Option<BorrowedFd<'_>>,
    failure: &mut ChildFailure,
) -> io::Result<(u32, OwnedFd)> {
    let mut pidfd: i32 = -1;
    let args = CloneArgs {
        flags: clone_flags(cgroup.is_some()),
        pidfd: &raw mut pidfd as u64,
        exit_signal: libc::SIGCHLD as u64,
        stack: stack.0.as_mut_ptr() as u64,
        stack_size: STACK as u64,
        cgroup: cgroup.map_or(0, |fd| fd.as_raw_fd() as u64),
        ..CloneArgs::default()
    };
    let errand = Errand { ops: ops.as_ptr(), count: ops.len(), failure };
    // SAFETY: CLONE_VFORK keeps us here, and with us `errand`, `ops` and the stack, until the child has left our
    // memory; `program_entry` makes bare calls only and never returns. The plan vouches for the arguments.
    let ret = unsafe { clone3(&args, program_entry, &raw const errand as usize) };
    finish_clone(ret, pidfd)
}
