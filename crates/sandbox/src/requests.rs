//! Counting raw events of a processor's cores, for whoever knows what they mean there (perf_event_open(2), PERF_TYPE_RAW).

use crate::counter::{Count, read_count, refusal};
use crate::sys::{self, PerfEventAttr};
use rustix::fd::OwnedFd;

/// A raw event, as the processor's manual has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RawEvent {
    /// Event code and unit mask.
    pub config: u64,
    /// What a register of its own takes, such as an offcore-response mask.
    pub config1: u64,
}

/// A counter of such an event, on one CPU.
#[derive(Debug)]
pub struct RawCounter(OwnedFd);

impl RawCounter {
    /// Counts in user space what a process, and all that it forks from now on, does on this CPU: from its next exec on, or
    /// (`at_once` false) from when it is switched on.
    ///
    /// # Errors
    /// Why not, in words that name the remedy: lower case, no full stop.
    pub fn of_process(event: RawEvent, pid: u32, cpu: u32, at_once: bool) -> Result<RawCounter, String> {
        let attr = PerfEventAttr::raw(event.config, event.config1);
        open(if at_once { attr.enabled_on_exec() } else { attr.disabled() }, pid, cpu)
    }

    /// Counts in the same way how long they run on this CPU: `running` of its readings is that time.
    ///
    /// # Errors
    /// As above.
    pub fn time_of_process(pid: u32, cpu: u32) -> Result<RawCounter, String> {
        open(PerfEventAttr::task_clock().enabled_on_exec(), pid, cpu)
    }

    /// Switches counting on or off, in all processes it counts.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn switch(&self, on: bool) -> std::io::Result<()> {
        sys::switch(&self.0, on)
    }

    /// What it has counted so far. `enabled` is the time they ran on any CPU (kernel/events/core.c, `event_filter_match`);
    /// `running` the part of it that this was counted, on this one: less than they ran there where it took turns with others.
    ///
    /// # Errors
    /// The kernel gives no reading.
    pub fn read(&self) -> std::io::Result<Count> {
        read_count(&self.0)
    }
}

fn open(attr: PerfEventAttr, pid: u32, cpu: u32) -> Result<RawCounter, String> {
    let paranoid = || std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    let opened = sys::perf_event_open_on(&attr, pid, cpu);
    opened.map(RawCounter).map_err(|e| refusal(&e, paranoid))
}
