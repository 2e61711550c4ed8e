//! The probe of a CPU's clock: a child, started as by vfork into the run's group, that binds itself to the CPU and times
//! slices of dependent multiplies. Of the group, since a CPU of an isolated partition takes nobody else.

use super::child::{InitStack, clone_flags, finish_clone};
use super::kernel::{reap, secret};
use super::raw::{CloneArgs, clone3, syscall};
use std::arch::x86_64::{__cpuid, _rdtsc};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Slices of one probe: enough for a median that some interrupts do not move, few enough for evidence to cost below 0.3 ms.
pub(crate) const SLICES: usize = 12;
/// Multiplies of one slice: each takes 3 cycles and waits for the one before, so about 5 µs at 3 GHz.
const MULTIPLIES: u64 = 5000;
/// Most CPUs a mask of ours can name.
const CPUS: usize = 1024;

/// What a probe saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Probed {
    /// Ticks of the time stamp counter for each slice.
    pub(crate) ticks: [u64; SLICES],
    /// Times the CPU was given away or taken meanwhile.
    pub(crate) switches: u64,
}

#[repr(C)]
struct Errand {
    mask: [usize; CPUS / 64],
    secret: usize,
    short: SchedAttr,
    warm_up: u32,
    usage: [[u64; size_of::<libc::rusage>() / 8]; 2],
    ticks: [u64; SLICES],
    errno: i32,
}

/// `struct sched_attr` of sched_setattr(2), in its first version, for SCHED_OTHER.
#[repr(C)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    /// Time it asks for at once, in ns, 100 000 at least (since Linux 6.12; others ignore it).
    runtime: u64,
    deadline: u64,
    period: u64,
}

impl SchedAttr {
    /// An ordinary task that asks for little time at once goes ahead of others, from Linux 6.12 on; elsewhere it waits for
    /// milliseconds where others run. Not of a real-time class: behind a task of one that does not end, ordinary tasks get some
    /// time, others none. Not of a higher priority: where sessions are groups (sched_autogroup), a heavy task that
    /// ends leaves its group so deep in debt that the run waited for seconds (seen on 6.18).
    fn short() -> SchedAttr {
        let size = size_of::<SchedAttr>() as u32;
        SchedAttr {
            size,
            policy: 0,
            flags: 0,
            nice: 0,
            priority: 0,
            runtime: 100_000,
            deadline: 0,
            period: 0,
        }
    }
}

/// A slice, in ticks. No memory is touched.
#[inline(always)]
fn slice() -> u64 {
    // SAFETY: every x86_64 has these instructions.
    unsafe {
        let begun = _rdtsc();
        super::pace::multiply(MULTIPLIES);
        // Serialising, so that the counter is not read ahead of the multiplies.
        std::arch::x86_64::_mm_lfence();
        _rdtsc() - begun
    }
}

extern "C" fn entry(arg: usize) -> ! {
    // SAFETY: `arg` is the `Errand` on the stack of `probe_cpu`, which stands still until we exit (CLONE_VFORK); pointers
    // are of its fields.
    unsafe {
        let errand = &mut *(arg as *mut Errand);
        let mask = errand.mask.as_ptr() as usize;
        // Where it is refused the probe waits its turn.
        let short = &raw const errand.short as usize;
        syscall(libc::SYS_sched_setattr, &[0, short, 0, 0, 0, 0]);
        let bound = syscall(libc::SYS_sched_setaffinity, &[0, CPUS / 8, mask, 0, 0, errand.secret]);
        if bound < 0 {
            errand.errno = -bound as i32;
        } else {
            for _ in 0..errand.warm_up {
                slice();
            }
            let this_thread = libc::RUSAGE_THREAD as usize;
            syscall(libc::SYS_getrusage, &[this_thread, errand.usage[0].as_mut_ptr() as usize, 0, 0, 0, 0]);
            for ticks in &mut errand.ticks {
                *ticks = slice();
            }
            syscall(libc::SYS_getrusage, &[this_thread, errand.usage[1].as_mut_ptr() as usize, 0, 0, 0, 0]);
        }
        loop {
            syscall(libc::SYS_exit_group, &[0; 6]);
        }
    }
}

/// Probes a CPU, after `warm_up` slices that are not counted. Takes about 0.1 ms on a CPU that is free; on one that is not, as
/// long as it takes to get it.
pub(crate) fn probe_cpu(
    cpu: u32,
    warm_up: u32,
    stack: &mut InitStack,
    cgroup: Option<BorrowedFd<'_>>,
) -> io::Result<Probed> {
    let mut errand = Errand {
        mask: [0; CPUS / 64],
        secret: secret(),
        short: SchedAttr::short(),
        warm_up,
        usage: Default::default(),
        ticks: [0; SLICES],
        errno: 0,
    };
    let word = errand.mask.get_mut(cpu as usize / 64);
    *word.ok_or_else(|| io::Error::other(format!("CPU {cpu} is beyond {CPUS}")))? = 1 << (cpu % 64);
    let mut pidfd: i32 = -1;
    let (place, size) = stack.place();
    let args = CloneArgs {
        flags: clone_flags(cgroup.is_some()),
        pidfd: &raw mut pidfd as u64,
        exit_signal: libc::SIGCHLD as u64,
        stack: place,
        stack_size: size,
        cgroup: cgroup.map_or(0, |fd| fd.as_raw_fd() as u64),
        ..CloneArgs::default()
    };
    // SAFETY: CLONE_VFORK keeps us here, and with us `errand` and the stack, until the child has exited; `entry` makes bare
    // calls only and never returns.
    let ret = unsafe { clone3(&args, entry, &raw mut errand as usize) };
    let (_, child) = finish_clone(ret, pidfd)?;
    reap(child.as_fd())?;
    match errand.errno {
        0 => Ok(Probed { ticks: errand.ticks, switches: switches(&errand.usage) }),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

fn switches(usage: &[[u64; size_of::<libc::rusage>() / 8]; 2]) -> u64 {
    let both = [std::mem::offset_of!(libc::rusage, ru_nvcsw), std::mem::offset_of!(libc::rusage, ru_nivcsw)];
    both.iter().map(|at| usage[1][at / 8].saturating_sub(usage[0][at / 8])).sum()
}

/// Whether the time stamp counter ticks evenly whatever the clock of the CPU does: CPUID 8000_0007h, EDX bit 8 (both
/// vendors' manuals, "Invariant TSC").
pub(crate) fn ticks_evenly() -> bool {
    const POWER: u32 = 0x8000_0007;
    __cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx & (1 << 8) != 0
}
