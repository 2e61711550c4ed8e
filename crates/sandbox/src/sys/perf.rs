//! Counters of the kernel's performance events, perf_event_open(2) and include/uapi/linux/perf_event.h.

use super::kernel::{check, owned, secret};
use std::io;
use std::os::fd::{OwnedFd, RawFd};

const PERF_TYPE_HARDWARE: u32 = 0;
const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_TYPE_RAW: u32 = 4;
const PERF_COUNT_HW_CPU_CYCLES: u64 = 0;
const PERF_COUNT_HW_INSTRUCTIONS: u64 = 1;
const PERF_COUNT_SW_CPU_CLOCK: u64 = 0;
const PERF_COUNT_SW_TASK_CLOCK: u64 = 1;
const PERF_COUNT_SW_PAGE_FAULTS: u64 = 2;
const PERF_SAMPLE_IP: u64 = 1 << 0;
const PERF_SAMPLE_TID: u64 = 1 << 1;
const PERF_SAMPLE_TIME: u64 = 1 << 2;
const PERF_SAMPLE_ADDR: u64 = 1 << 3;
const PERF_FORMAT_TOTAL_TIME_ENABLED: u64 = 1 << 0;
const PERF_FORMAT_TOTAL_TIME_RUNNING: u64 = 1 << 1;
const PERF_FLAG_FD_CLOEXEC: usize = 1 << 3;

/// Bits of the flag word of `struct perf_event_attr`.
const DISABLED: u64 = 1 << 0;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_USER: u64 = 1 << 4;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HV: u64 = 1 << 6;
const ENABLE_ON_EXEC: u64 = 1 << 12;
const WATERMARK: u64 = 1 << 14;
const USE_CLOCKID: u64 = 1 << 25;

/// `struct perf_event_attr` as of its first version, PERF_ATTR_SIZE_VER0: every kernel takes it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PerfEventAttr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

impl PerfEventAttr {
    /// Instructions in user space, of a task and all that it forks.
    pub(crate) fn instructions() -> PerfEventAttr {
        PerfEventAttr::new(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS)
    }

    /// Cycles in user space, likewise: of the core's real clock, not of one that ticks evenly.
    pub(crate) fn cycles() -> PerfEventAttr {
        PerfEventAttr::new(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES)
    }

    /// Nanoseconds on a CPU, likewise. The kernel makes them up without a counter of the processor.
    pub(crate) fn task_clock() -> PerfEventAttr {
        PerfEventAttr::new(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK)
    }

    /// Nanoseconds of a CPU, with an interrupt there each time that so many have passed (kernel/events/core.c,
    /// `perf_swevent_start_hrtimer`: a timer of its own, 10 000 ns at least). No sample is to be taken of anything, so that the bound for
    /// samples (kernel.perf_event_max_sample_rate) is none for the interrupts (`perf_swevent_hrtimer`).
    pub(crate) fn interrupts(period_ns: u64) -> PerfEventAttr {
        let clock = PerfEventAttr::new(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
        PerfEventAttr { sample_period: period_ns, flags: EXCLUDE_USER | EXCLUDE_KERNEL, ..clock }
    }

    /// A raw event of the cores, in user space, of a task and all that it forks.
    pub(crate) fn raw(config: u64, config1: u64) -> PerfEventAttr {
        PerfEventAttr { config1, ..PerfEventAttr::new(PERF_TYPE_RAW, config) }
    }

    fn new(kind: u32, config: u64) -> PerfEventAttr {
        PerfEventAttr {
            kind,
            size: size_of::<PerfEventAttr>() as u32,
            config,
            sample_period: 0,
            sample_type: 0,
            read_format: PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
            flags: INHERIT | EXCLUDE_KERNEL | EXCLUDE_HV,
            wakeup_events: 0,
            breakpoint_type: 0,
            config1: 0,
        }
    }

    /// Counting begins when it is switched on.
    pub(crate) fn disabled(self) -> PerfEventAttr {
        PerfEventAttr { flags: self.flags | DISABLED, ..self }
    }

    /// Counting begins, in each child that inherits it, with the child's exec.
    pub(crate) fn enabled_on_exec(self) -> PerfEventAttr {
        PerfEventAttr { flags: self.flags | DISABLED | ENABLE_ON_EXEC, ..self }
    }
}

/// `struct perf_event_attr` as far as the clock that samples are stamped by, PERF_ATTR_SIZE_VER3 (Linux 4.1).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PerfSampleAttr {
    first: PerfEventAttr,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clockid: i32,
}

impl PerfSampleAttr {
    /// A sample of each page fault: the code's address, process and thread, CLOCK_MONOTONIC, and the address that was touched, in this
    /// order (perf_event_open(2), PERF_RECORD_SAMPLE). `kernel`: of those too that the kernel has when it copies to the program's
    /// memory. Whoever polls is woken when `watermark` bytes are there.
    pub(crate) fn page_faults(kernel: bool, watermark: u32) -> PerfSampleAttr {
        let counted = PerfEventAttr::new(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
        let excluded = if kernel { 0 } else { EXCLUDE_KERNEL };
        let first = PerfEventAttr {
            size: size_of::<PerfSampleAttr>() as u32,
            sample_period: 1,
            sample_type: PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR,
            read_format: 0,
            flags: INHERIT | EXCLUDE_HV | WATERMARK | USE_CLOCKID | excluded,
            wakeup_events: watermark,
            ..counted
        };
        PerfSampleAttr {
            first,
            config2: 0,
            branch_sample_type: 0,
            sample_regs_user: 0,
            sample_stack_user: 0,
            clockid: libc::CLOCK_MONOTONIC,
        }
    }

    /// Sampling begins with the task's exec.
    pub(crate) fn enabled_on_exec(self) -> PerfSampleAttr {
        PerfSampleAttr { first: self.first.enabled_on_exec(), ..self }
    }
}

/// Opens a counter on the calling thread and what it forks from now on, on whatever CPU.
pub(crate) fn perf_event_open(attr: &PerfEventAttr) -> io::Result<OwnedFd> {
    const THIS_THREAD: usize = 0;
    const ANY_CPU: usize = usize::MAX;
    open(attr, THIS_THREAD, ANY_CPU)
}

/// Opens a counter of what a process, and all that it forks from now on, does on a CPU.
pub(crate) fn perf_event_open_on(attr: &PerfEventAttr, pid: u32, cpu: u32) -> io::Result<OwnedFd> {
    open(attr, pid as usize, cpu as usize)
}

/// Opens a sampler on a thread and what it forks from now on, while they run on this CPU.
pub(crate) fn perf_event_open_of(attr: &PerfSampleAttr, thread: u32, cpu: u32) -> io::Result<OwnedFd> {
    open(attr, thread as usize, cpu as usize)
}

/// Opens a counter of all that happens on a CPU.
pub(crate) fn perf_event_open_on_cpu(attr: &PerfEventAttr, cpu: u32) -> io::Result<OwnedFd> {
    const ALL_TASKS: usize = usize::MAX;
    open(attr, ALL_TASKS, cpu as usize)
}

/// `attr` is one of the two forms of the kernel's structure.
fn open<Attr>(attr: &Attr, task: usize, cpu: usize) -> io::Result<OwnedFd> {
    const NO_GROUP: usize = usize::MAX;
    // SAFETY: reads one live structure that names its own size, as both forms do; the rest are integers.
    let fd = check(unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            std::ptr::from_ref(attr),
            task,
            cpu,
            NO_GROUP,
            PERF_FLAG_FD_CLOEXEC,
            secret(),
        )
    })?;
    Ok(owned(fd as RawFd))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers are those of a C program that uses the kernel's header.
    #[test]
    fn the_kernel_is_asked_for_the_users_instructions_of_all_that_is_forked() {
        let attr = PerfEventAttr::instructions().enabled_on_exec();
        assert_eq!((attr.kind, attr.config, attr.size), (0, 1, 64));
        assert_eq!(
            attr.flags, 0b1_0000_0110_0011,
            "disabled inherit exclude_kernel exclude_hv enable_on_exec"
        );
        assert_eq!(attr.read_format, 3);
        assert_eq!((attr.sample_period, attr.sample_type, attr.config1), (0, 0, 0));
        assert_eq!(PerfEventAttr::instructions().flags, 0b110_0010);
        assert_eq!(std::mem::offset_of!(PerfEventAttr, flags), 40);
        assert_eq!(PerfEventAttr { config: 0, ..attr }, PerfEventAttr::cycles().enabled_on_exec());
        let clock = PerfEventAttr { kind: 1, sample_period: 20_000, flags: 0b11_0000, config: 0, ..attr };
        assert_eq!(clock, PerfEventAttr::interrupts(20_000));
        assert_eq!(PerfEventAttr { kind: 1, ..attr }, PerfEventAttr::task_clock().enabled_on_exec());
        let faults = PerfSampleAttr::page_faults(false, 7).enabled_on_exec();
        let PerfEventAttr { kind, size, config, sample_period, sample_type, flags, .. } = faults.first;
        assert_eq!((kind, size, config, sample_period, sample_type), (1, 96, 2, 1, 0b1111));
        assert_eq!(flags, 0b10_0000_0000_0101_0000_0110_0011, "as above, watermark and use_clockid");
        assert_eq!(std::mem::offset_of!(PerfSampleAttr, clockid), 92);
        assert_eq!(PerfSampleAttr::page_faults(true, 7).first.flags & EXCLUDE_KERNEL, 0);
    }
}
