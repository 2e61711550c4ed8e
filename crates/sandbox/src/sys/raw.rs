//! Bare system calls: no errno, no thread-local storage, so that they may be used by a child that shares
//! the launcher's memory.

use std::arch::asm;

/// Issues a system call and returns what the kernel returns: a value, or a negative errno.
///
/// # Safety
/// The arguments must be valid for this system call: pointers live and of the right size.
#[inline(always)]
pub(super) unsafe fn syscall(nr: i64, a: &[usize; 6]) -> isize {
    let ret: isize;
    // SAFETY: the x86_64 convention (syscall(2), "Architecture calling conventions"): number in rax, arguments in
    // rdi rsi rdx r10 r8 r9, result in rax; rcx and r11 are overwritten. The caller vouches for the arguments.
    unsafe {
        asm!("syscall",
            inlateout("rax") nr as isize => ret,
            in("rdi") a[0], in("rsi") a[1], in("rdx") a[2], in("r10") a[3], in("r8") a[4], in("r9") a[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack));
    }
    ret
}

/// `struct clone_args` of clone3(2).
#[repr(C)]
#[derive(Default)]
pub(super) struct CloneArgs {
    pub(super) flags: u64,
    pub(super) pidfd: u64,
    pub(super) child_tid: u64,
    pub(super) parent_tid: u64,
    pub(super) exit_signal: u64,
    pub(super) stack: u64,
    pub(super) stack_size: u64,
    pub(super) tls: u64,
    pub(super) set_tid: u64,
    pub(super) set_tid_size: u64,
    pub(super) cgroup: u64,
}

/// clone3 of a child that runs `entry(arg)` on the stack named in `args`.
///
/// # Safety
/// `args` names a stack of at least 16 KiB, aligned to 16 bytes, that nothing else uses while the child lives.
/// `entry` never returns, makes bare system calls only, and `arg` outlives its use of it.
pub(super) unsafe fn clone3(args: &CloneArgs, entry: extern "C" fn(usize) -> !, arg: usize) -> isize {
    let secret = super::secret();
    let ret: isize;
    // SAFETY: as for `syscall`. In the child rax is 0 and rsp is the top of the new stack; r12 and r13 keep their
    // values across the call, so the child calls entry(arg) and never comes back here.
    unsafe {
        asm!("syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r13",
            "call r12",
            "ud2",
            "2:",
            inlateout("rax") libc::SYS_clone3 as isize => ret,
            in("rdi") std::ptr::from_ref(args), in("rsi") size_of::<CloneArgs>(),
            in("r9") secret, in("r12") entry, in("r13") arg,
            lateout("rcx") _, lateout("r11") _);
    }
    ret
}
