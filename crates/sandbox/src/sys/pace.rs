//! Chains of instructions whose cycles are known, and the processor's account of who used time: what a machine's power
//! index is measured with.

use std::arch::asm;
use std::io;
use std::time::Duration;

/// Instructions of the chain in one turn of its loop: with fewer, counting the additions' turns would take as long as they do.
/// The loops begin at a line of the cache: one of three instructions across the end of a line took 4 cycles for 3 in some runs
/// of one program (Zen 4).
const TURN: u64 = 16;

/// Multiplies so often, rounded down to a multiple of 16, each time by the result of the time before. On x86-64 a
/// multiplication of 64 bits takes 3 cycles (Intel since Nehalem, AMD since Zen) or 5 (Intel's small cores), which comparing
/// with [`add`] tells. No memory is touched.
#[inline(always)]
pub fn multiply(times: u64) {
    // SAFETY: the loop changes the two registers it names and the flags; 0 turns would be 2^64.
    unsafe {
        asm!(".p2align 6",
            "2:",
            ".rept 16",
            "imul {x}, {x}",
            ".endr",
            "dec {n}",
            "jnz 2b",
            x = inout(reg) 3u64 => _, n = inout(reg) (times / TURN).max(1) => _,
            options(nomem, nostack));
    }
}

/// Adds as often, rounded down to a multiple of 16, each time to the result of the time before: 1 cycle each on every
/// x86-64. No memory is touched.
#[inline(always)]
pub fn add(times: u64) {
    // SAFETY: the loop changes the two registers it names as outputs and the flags; 0 turns would be 2^64.
    unsafe {
        asm!(".p2align 6",
            "2:",
            ".rept 16",
            "add {x}, {y}",
            ".endr",
            "dec {n}",
            "jnz 2b",
            x = inout(reg) 3u64 => _, y = in(reg) 5u64, n = inout(reg) (times / TURN).max(1) => _,
            options(nomem, nostack));
    }
}

/// CPU time of the children that this process has reaped, and of theirs, getrusage(2), to the microsecond.
///
/// # Errors
/// As the kernel says; there is no reason for it to.
pub fn reaped_cpu_time() -> io::Result<Duration> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: writes one live structure, of which every bit pattern is a value.
    let (refused, usage) =
        unsafe { (libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()), usage.assume_init()) };
    if refused != 0 {
        return Err(io::Error::last_os_error());
    }
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    Ok(time(usage.ru_utime) + time(usage.ru_stime))
}
