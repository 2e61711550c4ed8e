//! Counting a run's instructions and cycles by the processor's own counters, perf_event_open(2).
//!
//! The launcher opens each counter on *itself*, switched off, to be inherited and to be switched on by exec: each run's
//! program is cloned with it, so that there is no moment between clone and exec at which it would have to be attached. The
//! descriptor reads the sum over all that was cloned; the launcher, which never calls exec, adds nothing. A counter that the
//! program opened before its exec would be the program's own, and it could switch it off
//! (prctl(2), PR_TASK_PERF_EVENTS_DISABLE: counters opened by the caller).

use crate::sys::{self, PerfEventAttr};
use model::{Nanos, Reading};
use rustix::fd::OwnedFd;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::hint::black_box;
use std::io;

/// Most instructions in a nanosecond on one CPU: 8 in a cycle at 6 GHz, more than any processor has.
const RATE: u64 = 48;
/// Share of a limit, as a divisor, by which a look may come late: half of the 0.1 % within which a run is ended.
const LATE: u64 = 2000;
/// Shortest sleep between two looks. At [`RATE`] 0.1 % of 10⁹ instructions take as long.
const SHORTEST: Nanos = Nanos(20_000);
/// The same while nothing was counted: a program that sleeps right below its limit must not keep the launcher busy.
const SHORTEST_IDLE: Nanos = Nanos(200_000);
/// By how much user time may seem longer than the counter was on: the kernel divides CPU time into user and system time by
/// what it finds at ticks, 1 to 10 ms apart (kernel/sched/cputime.c, `cputime_adjust`).
const TICKS: Nanos = Nanos(20_000_000);
const TICKS_SHARE: u64 = 8;
/// Passes of the loop that tries a counter: each is one instruction at least.
const TRIED: u64 = 1_000_000;
/// Most passes of it in one cycle, more than any processor makes.
const PASSES_PER_CYCLE: u64 = 8;

/// What is counted where a run asks for it ([`model::RunSpec::count_instructions`]): each by a counter of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// For [`model::Observation::instructions`].
    pub instructions: Events,
    /// For [`model::Observation::cycles`].
    pub cycles: Events,
    /// For CPU time, where no control group counts it, asked for or not.
    pub time: Events,
}

impl Default for Counted {
    fn default() -> Counted {
        Counted { instructions: Events::Instructions, cycles: Events::Cycles, time: Events::TaskClock }
    }
}

/// What one counter counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Events {
    /// Instructions in user space, by the processor.
    Instructions,
    /// Cycles in user space, by the processor.
    Cycles,
    /// Nanoseconds on a CPU, by the kernel, opened and inherited in the same way. Stands in for instructions in tests, too, since
    /// every machine has it.
    TaskClock,
    /// What these readings say, one for each look and then the last one again: for tests.
    Script(Vec<Count>),
    /// Opening fails with this errno: for tests.
    Refused(i32),
}

/// One reading of a counter (perf_event_open(2), "Reading results").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Events.
    pub value: u64,
    /// Time on a CPU, of all tasks together, since the counter was switched on.
    pub enabled: Nanos,
    /// The part of it in which the processor really counted.
    pub running: Nanos,
}

impl Count {
    /// Why it is not all of what there was to count, if it is not. A scaled count would be a guess.
    pub(crate) fn shared(self) -> Option<String> {
        if self.running == self.enabled {
            None
        } else if self.running == Nanos::ZERO {
            Some(
                "another user holds the counter (a profiler, or the NMI watchdog: kernel.nmi_watchdog), or the program ran on \
                 cores of a kind that it does not count on"
                    .into(),
            )
        } else {
            // Rounded down, so that nothing incomplete reads as 100 %.
            let share = u128::from(self.running.0) * 1000 / u128::from(self.enabled.0.max(1));
            Some(format!(
                "the counter was shared with others: it counted {}.{} % of the time; scaled counts are not accepted",
                share / 10,
                share % 10
            ))
        }
    }

    /// The count of a run that is over and took so much user time, or why there is none.
    ///
    /// A program that executes a file which it may not read is taken off its counter (fs/exec.c, `begin_new_exec`: the new
    /// image is not dumpable). Then it has user time beyond the time that the counter was on.
    pub(crate) fn judge(self, user: Nanos) -> Reading<u64> {
        let seen = self.enabled + Nanos(self.enabled.0 / TICKS_SHARE) + TICKS;
        if self.enabled == Nanos::ZERO {
            Reading::unknown("the counter was not switched on")
        } else if let Some(why) = self.shared() {
            Reading::unknown(why)
        } else if self.value == 0 {
            Reading::unknown(
                "the counter counts nothing, as under a hypervisor that shows one without having it",
            )
        } else if user > seen {
            Reading::unknown(format!(
                "the program left its counter, as by executing a file that it may not read: {} ms of {} ms were counted",
                self.enabled.0 / 1_000_000,
                user.0 / 1_000_000
            ))
        } else {
            Reading::Known(self.value)
        }
    }
}

/// How long a run that is held to `limit` instructions cannot have passed it by more than its share, having `counted` so
/// many on `cpus` CPUs. `idle`: none were added since the look before.
pub(crate) fn next_look(limit: u64, counted: u64, cpus: u64, idle: bool) -> Nanos {
    let left = limit.saturating_sub(counted).saturating_add(limit / LATE);
    let shortest = if idle { SHORTEST_IDLE } else { SHORTEST };
    Nanos(left / RATE / cpus.max(1)).max(shortest)
}

/// When counting, or sampling, begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// With the exec of the thread, or of what it clones from now on.
    Exec,
    /// At once.
    Now,
}

/// An open counter.
#[derive(Debug)]
pub(crate) enum Counter {
    Kernel(OwnedFd),
    Script { counts: Vec<Count>, at: Cell<usize> },
}

impl Counter {
    /// Opens one on the calling thread and all that it forks. `paranoid` reads the value of kernel.perf_event_paranoid.
    ///
    /// # Errors
    /// Why there is none, with the remedy.
    pub(crate) fn open(
        events: &Events,
        begin: Begin,
        paranoid: impl FnOnce() -> io::Result<String>,
    ) -> Result<Counter, String> {
        let attr = match events {
            Events::Instructions => PerfEventAttr::instructions(),
            Events::Cycles => PerfEventAttr::cycles(),
            Events::TaskClock => PerfEventAttr::task_clock(),
            Events::Script(counts) => {
                return Ok(Counter::Script { counts: counts.clone(), at: Cell::new(0) });
            }
            Events::Refused(errno) => return Err(refusal(&io::Error::from_raw_os_error(*errno), paranoid)),
        };
        let attr = if begin == Begin::Exec { attr.enabled_on_exec() } else { attr };
        sys::perf_event_open(&attr).map(Counter::Kernel).map_err(|e| refusal(&e, paranoid))
    }

    /// What it has counted so far, in tasks that live and in those that ended.
    ///
    /// # Errors
    /// The kernel gives no reading: it has put the counter into its error state.
    pub(crate) fn read(&self) -> io::Result<Count> {
        match self {
            Counter::Kernel(fd) => read_count(fd),
            Counter::Script { counts, at } => {
                let n = at.replace(at.get().saturating_add(1));
                let count = counts.get(n).or(counts.last()).copied();
                count.ok_or_else(|| io::Error::other("the script is empty"))
            }
        }
    }
}

/// Reads a counter of the kernel.
pub(crate) fn read_count(counter: &OwnedFd) -> io::Result<Count> {
    let mut bytes = [0; 24];
    if rustix::io::read(counter, &mut bytes)? != bytes.len() {
        return Err(io::Error::other("the kernel has given up the counter"));
    }
    let (words, _) = bytes.as_chunks::<8>();
    let [value, enabled, running] = [0, 1, 2].map(|n| u64::from_ne_bytes(words[n]));
    Ok(Count { value, enabled: Nanos(enabled), running: Nanos(running) })
}

/// Why a counter cannot be opened, in words that name the remedy (perf_event_open(2), "ERRORS").
pub(crate) fn refusal(error: &io::Error, paranoid: impl FnOnce() -> io::Result<String>) -> String {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
            "this machine has no such counter, as virtual machines often do not\n\
             hint: have the hypervisor pass it on (QEMU: -cpu host,pmu=on), or take a machine of its own"
                .into()
        }
        Some(libc::EACCES | libc::EPERM) => {
            let paranoid = paranoid().map(|text| text.trim().to_string());
            match paranoid.as_ref().map(|text| text.parse::<i32>()) {
                Ok(Ok(level)) if level > 2 => format!(
                    "kernel.perf_event_paranoid is {level}, which keeps counters to root\n\
                     hint: sysctl -w kernel.perf_event_paranoid=2, or start as root"
                ),
                Ok(Ok(level)) => format!(
                    "perf_event_open is refused although kernel.perf_event_paranoid is {level}: a container's \
                     system call filter or a security module does so\n\
                     hint: allow it there, or start as root"
                ),
                _ => "perf_event_open is refused, and kernel.perf_event_paranoid cannot be read\n\
                      hint: set it to 2, allow the call in the container's system call filter, or start as root"
                    .into(),
            }
        }
        Some(libc::EBUSY) => "another user holds the counter for itself alone\n\
                              hint: end the profiler that does so"
            .into(),
        Some(libc::EMFILE) => {
            "no file descriptor is free for the counter\nhint: raise the limit of open files (ulimit -n)"
                .into()
        }
        Some(libc::ENOSYS) => "this kernel has no performance events\n\
                               hint: start a kernel that is built with CONFIG_PERF_EVENTS"
            .into(),
        _ => format!("perf_event_open: {error}"),
    }
}

/// Whether a run's instructions can be counted here by the processor's own counter: one is opened on the calling thread, as
/// it would be for a run, and tried.
///
/// # Errors
/// Why not, in words that name the remedy: lower case, no full stop.
pub fn counters() -> Result<(), String> {
    try_out(&Events::Instructions, TRIED)
}

/// The same of a run's cycles.
///
/// # Errors
/// Why not, likewise.
pub fn cycle_counter() -> Result<(), String> {
    try_out(&Events::Cycles, TRIED / PASSES_PER_CYCLE)
}

/// Tries a counter on work of at least so many events.
fn try_out(events: &Events, least: u64) -> Result<(), String> {
    let paranoid = || std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    let counter = Counter::open(events, Begin::Now, paranoid)?;
    for n in 0..TRIED {
        black_box(n);
    }
    let count = counter.read().map_err(|e| format!("reading the counter: {e}"))?;
    match count.judge(Nanos::ZERO) {
        Reading::Unknown(why) => Err(why.into_owned()),
        Reading::Known(value) if value < least => {
            Err(format!("the counter miscounts: {value} of at least {least}, under a hypervisor most likely"))
        }
        Reading::Known(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
