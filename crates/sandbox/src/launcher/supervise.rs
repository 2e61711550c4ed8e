//! Watches a run: sleeps until a limit could have been passed, never on a period.
//!
//! On some layouts the launcher shares the run's memory group, and a run may fill that with data that outlives it. So until the run is
//! over, the launcher makes no call for which the kernel allocates memory: it reads only files that are open and were read
//! before. Where no group limits memory, it also opens the run's files in /proc.

use super::Launcher;
use super::evidence::{Schedstat, parse_cpu_stat};
use super::tree;
use crate::counter::{self, Counter};
use crate::message::{self, Request};
use crate::plan::Readings;
use crate::sys;
use model::{Bytes, Limits, Nanos, NodePages, WallLimit};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::time::{ClockId, clock_gettime};
use std::io;

/// Shortest sleep between two looks at the CPU time: with less, a program that crawls towards its limit would
/// keep the launcher busy.
const SHORTEST: Nanos = Nanos(200_000);
/// Fastest that a CPU can touch fresh memory, in bytes per nanosecond: page faults cost more than the copying. Without a
/// memory cgroup nobody wakes us when memory runs out, so we wake when it could have.
const TOUCHED: u64 = 8;

/// When a run's pages are first looked at, on machines with several memory nodes. They are gone when it has ended.
const FIRST_LOOK: Nanos = Nanos(10_000_000);
/// Each look comes when the run is so many times as old: a run of ten seconds sees six.
const LOOKS_APART: u64 = 4;

/// When the kernel's memory is first read; each later look comes when the run is twice as old. Shorter runs pay nothing.
const KERNEL_FIRST: Nanos = Nanos(10_000_000);
const KERNEL_APART: u64 = 2;

/// The kernel's memory over a run.
#[derive(Clone, Copy, Debug, Default)]
struct KernelMemory {
    first: Option<Bytes>,
    most: Bytes,
    /// When it is to be read next, in time since the run's start; 0: not yet settled.
    look: Nanos,
}

/// The run being watched.
pub(super) struct Watched<'a> {
    pub(super) serial: u64,
    pub(super) pid: u32,
    pub(super) pidfd: BorrowedFd<'a>,
    pub(super) init: BorrowedFd<'a>,
    pub(super) limits: &'a Limits,
    pub(super) start: &'a Readings,
    /// CPUs it can use at one time.
    pub(super) cpus: u64,
    /// What counts its instructions.
    pub(super) counter: Option<&'a Counter>,
    /// What counts its CPU time, where no group does.
    pub(super) clock: Option<&'a Counter>,
    /// Run-queue wait of its main thread, where no group counts it.
    pub(super) waits: Option<&'a Schedstat>,
}

/// Why the launcher ended a run, if it did.
#[derive(Clone, Debug, Default)]
pub(super) struct Ended {
    pub(super) out_of_memory: bool,
    pub(super) wall: bool,
    pub(super) output: bool,
    pub(super) cancelled: bool,
    pub(super) instructions: bool,
    /// Why its instructions could not be held to their limit any more.
    pub(super) uncounted: Option<String>,
    /// Instructions at the last look.
    counted: u64,
    /// Most CPU time seen while it ran; for machines where the tree's end cannot be read.
    pub(super) cpu_seen: Nanos,
    /// Most memory seen; likewise.
    pub(super) memory_seen: Bytes,
    kernel: KernelMemory,
    /// Where its pages were when they were last looked at.
    pub(super) pages: Vec<NodePages>,
    /// When they are to be looked at next, in time since its start; 0: not yet settled.
    look: Nanos,
}

impl Ended {
    /// By how much the kernel's memory grew, from its first look on.
    pub(super) fn kernel_grown(&self) -> Bytes {
        self.kernel.first.map_or(Bytes(0), |first| Bytes(self.kernel.most.0.saturating_sub(first.0)))
    }

    /// Notes the memory of the tree at a look.
    fn see_memory(&mut self, now: Bytes, limit: Bytes) {
        self.memory_seen = self.memory_seen.max(now);
        self.out_of_memory |= self.memory_seen > limit;
    }

    /// A limit was passed at the last look, or can be looked after no longer.
    fn passed(&self, limits: &Limits) -> bool {
        let counted_out = self.instructions || self.uncounted.is_some();
        self.wall || self.out_of_memory || counted_out || self.cpu_seen > cpu_kill_line(limits)
    }
}

pub(super) fn monotonic() -> Nanos {
    let t = clock_gettime(ClockId::Monotonic);
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

impl Launcher {
    /// Returns when the main process is dead, having ended the whole tree if a limit was passed.
    pub(super) fn supervise(&mut self, run: &Watched<'_>) -> io::Result<Ended> {
        let mut ended = Ended::default();
        let mut killed = false;
        loop {
            let sleep = if killed { None } else { self.check_limits(run, &mut ended)? };
            if !killed && ended.passed(run.limits) {
                self.kill_tree(run);
                killed = true;
                continue;
            }
            let [dead, memory, caller] = self.wait(run, sleep, !ended.out_of_memory)?;
            if memory {
                ended.out_of_memory = true;
                self.kill_tree(run);
                killed = true;
            }
            if dead {
                // Surviving processes would fill the group again.
                self.kill_tree(run);
                self.groups.lift_memory_limit();
                return Ok(ended);
            }
            if caller {
                self.hear_caller(run, &mut ended);
            }
            if !killed && (ended.out_of_memory || ended.output || ended.cancelled) {
                self.kill_tree(run);
                killed = true;
            }
        }
    }

    /// Kills every process of the run at once: with its init, the kernel ends the whole namespace, and nothing can be
    /// forked in it any more (pid_namespaces(7)).
    pub(super) fn kill_tree(&self, run: &Watched<'_>) {
        let _ = rustix::process::pidfd_send_signal(run.init, rustix::process::Signal::KILL);
    }

    /// Looks at what was used and returns how long nothing can have been passed; `None`: for ever.
    fn check_limits(&self, run: &Watched<'_>, ended: &mut Ended) -> io::Result<Option<Nanos>> {
        let mut sleep: Option<Nanos> = None;
        let mut at_most = |n: Nanos| sleep = Some(sleep.map_or(n, |s: Nanos| s.min(n)));
        if let Some(limit) = run.limits.cpu {
            ended.cpu_seen = ended.cpu_seen.max(self.cpu_used(run));
            at_most(Nanos((limit - ended.cpu_seen).0 / run.cpus).max(SHORTEST));
        }
        if let Some(wall) = run.limits.wall {
            let elapsed = monotonic() - run.start.monotonic();
            let deadline = wall_deadline(wall, elapsed, || self.waited(run));
            ended.wall = elapsed > deadline;
            at_most((deadline - elapsed).max(SHORTEST));
        }
        if let Some(limit) = run.limits.memory.filter(|_| !self.groups.limits_memory()) {
            ended.see_memory(tree::memory(limit), limit);
            at_most(Nanos(limit.saturating_sub(ended.memory_seen).0 / TOUCHED / run.cpus).max(SHORTEST));
        }
        if let Some(next) = look_at_count(run, ended) {
            at_most(next);
        }
        at_most(self.look_at_kernel(run, ended).max(SHORTEST));
        if let Some(next) = self.look_at_pages(run, ended) {
            at_most(next.max(SHORTEST));
        }
        Ok(sleep)
    }

    /// Reads the kernel's memory, if that is due, and returns how long until it is again.
    fn look_at_kernel(&self, run: &Watched<'_>, ended: &mut Ended) -> Nanos {
        let elapsed = monotonic() - run.start.monotonic();
        let kernel = &mut ended.kernel;
        kernel.look = kernel.look.max(KERNEL_FIRST);
        if elapsed >= kernel.look {
            if let Ok(now) = self.host.kernel_memory() {
                kernel.first = kernel.first.or(Some(now));
                kernel.most = kernel.most.max(now);
            }
            kernel.look = Nanos(elapsed.0.saturating_mul(KERNEL_APART));
        }
        kernel.look - elapsed
    }

    /// Looks where the run's pages are, if that is due, and returns how long until it is again.
    fn look_at_pages(&self, run: &Watched<'_>, ended: &mut Ended) -> Option<Nanos> {
        if !self.host.has_several_nodes() || !self.groups.tells_nodes() {
            return None;
        }
        let elapsed = monotonic() - run.start.monotonic();
        ended.look = ended.look.max(FIRST_LOOK);
        if elapsed >= ended.look {
            // A look after the end sees nothing, and takes nothing back.
            if let Some(pages) = self.groups.pages_by_node().filter(|pages| !pages.is_empty()) {
                ended.pages = pages;
            }
            ended.look = Nanos(elapsed.0.saturating_mul(LOOKS_APART));
        }
        Some(ended.look - elapsed)
    }

    /// CPU time of the tree so far. The group's counter lags by up to a tick while a program runs undisturbed; the
    /// main process's own clock does not.
    fn cpu_used(&self, run: &Watched<'_>) -> Nanos {
        let main = sys::process_cpu_time(run.pid).map_or(Nanos::ZERO, |t| t - run.start.process());
        let tree = match self.groups.cpu_stat() {
            Some(fd) => self.usage_since(fd, run.start).map_or(Nanos::ZERO, |t| t[0]),
            None => match run.clock.map(Counter::read) {
                Some(Ok(count)) => Nanos(count.value),
                _ => tree::cpu_time(),
            },
        };
        main.max(tree)
    }

    /// Usage, user and system time of the leaf since the start.
    pub(super) fn usage_since(&self, cpu_stat: BorrowedFd<'_>, start: &Readings) -> Option<[Nanos; 3]> {
        let mut buffer = [0; 512];
        let n = rustix::io::pread(cpu_stat, &mut buffer, 0).ok()?;
        let now = parse_cpu_stat(&String::from_utf8_lossy(&buffer[..n]))?;
        let then = parse_cpu_stat(&start.cpu_stat())?;
        Some([now[0] - then[0], now[1] - then[1], now[2] - then[2]])
    }

    /// Time since the leaf was made in which some task of it waited for a CPU: from its pressure file
    /// (Documentation/accounting/psi.rst).
    pub(super) fn pressure(&self) -> Option<Nanos> {
        let text = self.groups.pressure()?;
        let some = text.lines().find(|l| l.starts_with("some "))?;
        some.rsplit_once("total=")?.1.trim().parse().ok().map(Nanos::from_micros)
    }

    /// Time in which some task of the run waited for a CPU; without pressure accounting that of the main thread.
    fn waited(&self, run: &Watched<'_>) -> Nanos {
        match self.pressure() {
            Some(group) => group - self.pressure_before,
            None => run.waits.and_then(|file| file.read().ok()).map_or(Nanos::ZERO, |[_, waited]| waited),
        }
    }

    /// Returns whether the main process is dead, memory has run out, and the caller has sent something. Without `memory` the event
    /// of memory is not watched: it stays set once it has come.
    fn wait(&self, run: &Watched<'_>, sleep: Option<Nanos>, memory: bool) -> io::Result<[bool; 3]> {
        let timeout = sleep.map(|s| Timespec {
            tv_sec: (s.0 / 1_000_000_000) as i64,
            tv_nsec: (s.0 % 1_000_000_000) as i64,
        });
        let mut fds = vec![PollFd::from_borrowed_fd(run.pidfd, PollFlags::IN)];
        fds.push(PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN));
        if let Some((fd, events)) = self.groups.out_of_memory_event().filter(|_| memory) {
            fds.push(PollFd::from_borrowed_fd(fd, events));
        }
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        let ready = |i: usize| fds.get(i).is_some_and(|f: &PollFd<'_>| !f.revents().is_empty());
        Ok([ready(0), ready(2), ready(1)])
    }

    /// During a run the caller only ever ends it, by saying so or by going away.
    fn hear_caller(&mut self, run: &Watched<'_>, ended: &mut Ended) {
        let mut buffer = [0; 4096];
        match message::receive::<Request>(&self.socket, &mut buffer) {
            Ok(Some((Request::EndRun { serial, output }, _))) if serial == run.serial => {
                ended.output |= output;
                ended.cancelled |= !output;
            }
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => ended.cancelled = true,
        }
    }
}

/// Looks at the counter of a run that is held to a number of instructions, and returns how long it cannot have passed it.
fn look_at_count(run: &Watched<'_>, ended: &mut Ended) -> Option<Nanos> {
    let (counter, limit) = (run.counter?, run.limits.instructions?);
    match counter.read() {
        Err(e) => ended.uncounted = Some(e.to_string()),
        Ok(count) => {
            let idle = count.value == ended.counted;
            ended.counted = count.value;
            ended.instructions = count.value > limit;
            ended.uncounted = count.shared();
            return Some(counter::next_look(limit, count.value, run.cpus, idle));
        }
    }
    None
}

/// Where the tree is killed: a little past the limit, so that what is read at the end has passed it too.
fn cpu_kill_line(limits: &Limits) -> Nanos {
    limits.cpu.map_or(Nanos(u64::MAX), |l| l + Nanos::from_micros(100))
}

/// The elapsed time at which a run is ended. The time that it waited for a CPU is asked for only when that can matter.
fn wall_deadline(wall: WallLimit, elapsed: Nanos, waited: impl FnOnce() -> Nanos) -> Nanos {
    if elapsed <= wall.time || !wall.excuse_waiting {
        return wall.time;
    }
    wall.time + waited().min(Nanos(wall.time.0.saturating_mul(WallLimit::EXCUSED_AT_MOST.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_cpu_is_excused_up_to_nine_times_the_limit() {
        let secs = Nanos::from_secs;
        let wall = WallLimit { time: secs(2), excuse_waiting: true };
        let unasked = || panic!("asked for before it matters");
        assert_eq!(wall_deadline(wall, secs(2), unasked), secs(2));
        assert_eq!(wall_deadline(WallLimit { excuse_waiting: false, ..wall }, secs(9), unasked), secs(2));
        assert_eq!(wall_deadline(wall, secs(3), || secs(5)), secs(7));
        assert_eq!(wall_deadline(wall, secs(3), || secs(50)), secs(20));
    }

    #[test]
    fn the_most_memory_that_was_seen_counts() {
        let limit = Bytes::from_mib(64);
        let mut ended = Ended::default();
        ended.see_memory(limit, limit);
        assert!(!ended.out_of_memory);
        ended.see_memory(Bytes(limit.0 + 1), limit);
        ended.see_memory(Bytes(0), limit);
        assert_eq!((ended.out_of_memory, ended.memory_seen), (true, Bytes(limit.0 + 1)));
    }
}
