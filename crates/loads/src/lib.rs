//! The load generator: keeps chosen CPUs, caches, memory, the kernel or a disk busy for a bounded time. And programs whose work is
//! always the same ([`probe`]).
//!
//! One process with one thread for each CPU, and for some kinds another beside it. Every thread looks at the clock itself after some microseconds of work, so
//! that the load ends on time even where it lets nobody else run.

mod disk;
mod pipeline;
pub mod probe;
mod work;

use host::cpulist::Set;
use host::facts::{Cache, Topology};
use model::Nanos;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use work::Work;

/// The name under which the binary ends at once: what starting a process costs, and nothing else.
pub const NOTHING: &str = "tauto-nothing";
/// The longest a load may last.
pub const LONGEST: Duration = Duration::from_secs(3600);
/// Priorities of [`Kind::Realtime`]: those of SCHED_RR (sched(7)), less one that is kept for the thread that can end
/// the load.
pub const PRIORITIES: std::ops::RangeInclusive<u8> = 1..=98;
/// Of [`Kind::Interrupts`]: 50 000 a second.
pub const INTERRUPT_PERIOD: Nanos = Nanos(20_000);
/// Taken for the last-level cache where the machine tells none, in bytes.
const USUAL_CACHE: usize = 32 << 20;
/// A streamed buffer is so many times as large as the share of the cache, and so does not stay in it.
const BEYOND_CACHE: usize = 8;

/// What is kept busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The arithmetic unit: integer multiplications, each of which needs the one before.
    Cpu,
    /// The last-level cache: dependent reads at random places of a buffer of its size.
    Cache,
    /// The memory: a buffer far larger than the caches is read and written from one end to the other.
    Memory,
    /// The scheduler: as [`Kind::Cpu`] in the class SCHED_RR, with this priority. Tasks of the same priority share the CPU with
    /// it. There are no gaps: ordinary tasks get of these CPUs what the kernel sets aside for them (about 5 %), and nothing
    /// where that is switched off.
    Realtime(u8),
    /// Two threads and a pipe, as in real life: one writes text, the other compresses it (deflate, level 6).
    Compress,
    /// The kernel's tables of processes: one is started and reaped after the other. The binary must end at once under the
    /// name [`crate::NOTHING`].
    Fork,
    /// A disk: a file without a name in [`Load::directory`], 64 MiB at most for each CPU, is written, synchronised and read
    /// back.
    Disk,
    /// A CPU that is interrupted once in each [`INTERRUPT_PERIOD`], with no task of ours on it ([`sandbox::Interrupts`]).
    Interrupts,
}

impl Kind {
    /// What work is counted in: `multiplications`, `accesses`, `bytes`, `processes` or `interrupts`.
    pub fn unit(self) -> &'static str {
        match self {
            Kind::Cpu | Kind::Realtime(_) => "multiplications",
            Kind::Cache => "accesses",
            Kind::Memory | Kind::Compress | Kind::Disk => "bytes",
            Kind::Fork => "processes",
            Kind::Interrupts => "interrupts",
        }
    }
}

/// A load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// What is kept busy.
    pub kind: Kind,
    /// On which CPUs.
    pub cpus: Set,
    /// For how long, at most [`LONGEST`].
    pub time: Duration,
    /// Where [`Kind::Disk`] has its files.
    pub directory: PathBuf,
}

impl Load {
    /// With files where temporary files are.
    pub fn new(kind: Kind, cpus: Set, time: Duration) -> Load {
        Load { kind, cpus, time, directory: std::env::temp_dir() }
    }
}

/// What was done on one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Which one.
    pub cpu: u32,
    /// In the kind's unit, [`Kind::unit`].
    pub work: u64,
    /// CPU time of the threads that were bound there. That of processes which they started is not in it.
    pub cpu_time: Duration,
}

/// Why there is no load.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A thread cannot be bound to a CPU.
    #[error(
        "CPU {cpu} cannot be used: {source}\n\
         hint: name CPUs that are online and allowed to this process, as `taskset -pc $$` prints them"
    )]
    Cpu {
        /// Which one.
        cpu: u32,
        /// What the kernel says.
        source: io::Error,
    },
    /// The real-time class is denied.
    #[error(
        "the scheduling class SCHED_RR is denied: {0}\n\
         hint: start as root (CAP_SYS_NICE), outside of control groups that set real-time tasks aside"
    )]
    Realtime(io::Error),
    /// No memory for a buffer.
    #[error("no memory for a buffer of {0} bytes\nhint: name fewer CPUs")]
    Memory(usize),
    /// Interrupts on a CPU are denied.
    #[error(
        "interrupts of CPU {cpu} are denied: {source}\n\
         hint: start as root (CAP_PERFMON), or set kernel.perf_event_paranoid to 0; in a container, allow \
         perf_event_open"
    )]
    Interrupts {
        /// Which one.
        cpu: u32,
        /// What the kernel says.
        source: io::Error,
    },
    /// No file can be made.
    #[error("{0}: no temporary file can be made: {1}\nhint: name another directory")]
    Directory(PathBuf, io::Error),
    /// It began, and then went wrong.
    #[error("the load on CPU {cpu} failed: {source}")]
    Work {
        /// Where.
        cpu: u32,
        /// What the system says.
        source: io::Error,
    },
    /// The system refuses something else.
    #[error("{0}")]
    System(#[from] io::Error),
}

impl LoadError {
    fn interrupts(cpu: u32, source: io::Error) -> LoadError {
        match source.kind() {
            io::ErrorKind::PermissionDenied => LoadError::Interrupts { cpu, source },
            _ => LoadError::Cpu { cpu, source },
        }
    }
}

/// The CPUs this process may use.
///
/// # Errors
/// The kernel does not tell.
pub fn allowed() -> io::Result<Set> {
    let mask = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| mask.is_set(*cpu)).filter_map(|cpu| cpu.try_into().ok()).collect())
}

/// Keeps the calling thread, and the threads it starts from here on, able to end a load of this kind: to be called before
/// a handler of signals is installed. They get a higher priority than the load, and sleep.
///
/// # Errors
/// [`LoadError::Realtime`].
pub fn stay_awake(kind: Kind) -> Result<(), LoadError> {
    match kind {
        Kind::Realtime(priority) => {
            sandbox::sched::become_round_robin(priority + 1).map_err(LoadError::Realtime)
        }
        _ => Ok(()),
    }
}

/// Runs a load until its time is over or `stop` is set. Nothing is kept busy before every CPU's thread is ready; `begun` is called once
/// each of them has done some work.
///
/// # Errors
/// No load was made at all, or it failed on one CPU and was ended on all.
pub fn run(
    load: &Load,
    topology: &Topology,
    stop: &AtomicBool,
    begun: impl FnOnce(),
) -> Result<Vec<Share>, LoadError> {
    let broken = AtomicBool::new(false);
    thread::scope(|scope| {
        let (ready, answers) = channel();
        let (working, first_work) = channel();
        let mut workers = Vec::new();
        for &cpu in &load.cpus {
            let (begin, deadline) = channel();
            let worker = Worker { load, cpu, buffer: buffer(load, cpu, topology), stop, broken: &broken };
            let (ready, working) = (ready.clone(), working.clone());
            let thread = thread::Builder::new()
                .name(format!("load-{cpu}"))
                .spawn_scoped(scope, move || worker.serve(&ready, &deadline, working))?;
            workers.push((begin, thread));
        }
        drop(working);
        // Where one cannot begin, `begin` is dropped for all.
        answers.iter().take(workers.len()).collect::<Result<(), LoadError>>()?;
        let deadline = Instant::now() + load.time.min(LONGEST);
        for (begin, _) in &workers {
            let _ = begin.send(deadline);
        }
        // Fewer, where some end before they have done any.
        if first_work.iter().take(workers.len()).count() == workers.len() {
            begun();
        }
        let shares = workers.into_iter().map(|(_, thread)| thread.join());
        shares.filter_map(|share| share.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

/// Bytes of the last cache a CPU has, as far as the machine tells.
pub fn last_level_bytes(topology: &Topology, cpu: u32) -> Option<usize> {
    topology.cpus.get(&cpu).and_then(|cpu| cpu.caches.last()).and_then(cache_bytes)
}

/// Bytes a worker's buffer has. The workers that share a cache fill it together.
fn buffer(load: &Load, cpu: u32, topology: &Topology) -> usize {
    let last = topology.cpus.get(&cpu).and_then(|cpu| cpu.caches.last());
    let all = last.and_then(cache_bytes).unwrap_or(USUAL_CACHE);
    let sharing = last.map_or(&load.cpus, |cache| &cache.shared).intersection(&load.cpus).count();
    let share = all / sharing.max(1);
    match load.kind {
        Kind::Cache => share,
        Kind::Memory => share * BEYOND_CACHE,
        _ => 0,
    }
}

/// Bytes of a cache, of `32768K` or `32M`, as the kernel writes it; `None` for anything else.
pub fn cache_bytes(cache: &Cache) -> Option<usize> {
    let (digits, shift) = match cache.size.strip_suffix('K') {
        Some(digits) => (digits, 10),
        None => (cache.size.strip_suffix('M')?, 20),
    };
    digits.parse::<usize>().ok()?.checked_mul(1 << shift).filter(|bytes| *bytes > 0)
}

/// One thread's part.
struct Worker<'a> {
    load: &'a Load,
    cpu: u32,
    buffer: usize,
    stop: &'a AtomicBool,
    /// One of them has failed.
    broken: &'a AtomicBool,
}

impl Worker<'_> {
    /// Says whether it can begin, waits until all can, and works.
    fn serve(
        &self,
        ready: &Sender<Result<(), LoadError>>,
        deadline: &Receiver<Instant>,
        working: Sender<()>,
    ) -> Option<Result<Share, LoadError>> {
        let prepared = self.prepare();
        let (work, answer) = match prepared {
            Ok(work) => (Some(work), Ok(())),
            Err(error) => (None, Err(error)),
        };
        ready.send(answer).ok()?;
        let (mut work, deadline) = (work?, deadline.recv().ok()?);
        let before = cpu_time();
        let done = self.work(&mut work, deadline, working);
        let cpu_time = cpu_time().saturating_sub(before) + work.end();
        let share = done.map(|work| Share { cpu: self.cpu, work, cpu_time });
        Some(share.map_err(|source| LoadError::Work { cpu: self.cpu, source }))
    }

    /// Works to the end, and says how much it was.
    fn work(&self, work: &mut Work, deadline: Instant, working: Sender<()>) -> io::Result<u64> {
        let mut working = Some(working);
        let mut done = 0;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let told = [self.stop, self.broken].iter().any(|flag| flag.load(Ordering::Relaxed));
            if left.is_zero() || told {
                return Ok(done);
            }
            done += work.batch(left).inspect_err(|_| self.broken.store(true, Ordering::Relaxed))?;
            if let Some(working) = working.take() {
                let _ = working.send(());
            }
        }
    }

    /// Bound first, so that the buffer comes from the CPU's own memory node.
    fn prepare(&self) -> Result<Work, LoadError> {
        match self.load.kind {
            Kind::Interrupts => stay_away(&self.load.cpus)?,
            _ => bind(&[self.cpu].into()).map_err(|source| LoadError::Cpu { cpu: self.cpu, source })?,
        }
        let work = Work::new(self.load, self.cpu, self.buffer)?;
        if let Kind::Realtime(priority) = self.load.kind {
            sandbox::sched::become_round_robin(priority).map_err(LoadError::Realtime)?;
        }
        Ok(work)
    }
}

/// Binds the calling thread, and those it starts.
///
/// # Errors
/// There is no such CPU, or this process may not use it.
pub fn bind(cpus: &Set) -> io::Result<()> {
    let mut mask = CpuSet::new();
    for cpu in cpus {
        let number = usize::try_from(*cpu).unwrap_or(usize::MAX);
        if number >= CpuSet::MAX_CPU {
            return Err(io::Error::other("there is no such CPU"));
        }
        mask.set(number);
    }
    Ok(sched_setaffinity(None, &mask)?)
}

/// Keeps the calling thread off these CPUs, if there are others.
fn stay_away(cpus: &Set) -> io::Result<()> {
    let others: Set = allowed()?.difference(cpus).copied().collect();
    if others.is_empty() { Ok(()) } else { bind(&others) }
}

/// Of the calling thread.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let [seconds, nanos] = [time.tv_sec, time.tv_nsec].map(|part| part.try_into().unwrap_or(0));
    Duration::from_secs(seconds) + Duration::from_nanos(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::facts::Cpu;

    fn load(kind: Kind, cpus: &[u32], millis: u64) -> Load {
        Load::new(kind, cpus.iter().copied().collect(), Duration::from_millis(millis))
    }

    /// Four CPUs in pairs that share a cache.
    fn pairs(size: &str) -> Topology {
        let cpu = |id: u32| Cpu {
            id,
            siblings: [id].into(),
            package: 0,
            node: None,
            capacity: None,
            caches: vec![Cache {
                level: 3,
                size: size.into(),
                shared: if id < 2 { [0, 1].into() } else { [2, 3].into() },
            }],
        };
        Topology { cpus: (0..4).map(|id| (id, cpu(id))).collect(), ..Topology::default() }
    }

    #[test]
    fn workers_fill_each_cache_together() {
        const MIB: usize = 1 << 20;
        for (size, kind, cpus, cpu, bytes) in [
            ("16384K", Kind::Cache, &[0, 1, 2][..], 0, 8 * MIB),
            ("16384K", Kind::Cache, &[0, 1, 2], 2, 16 * MIB),
            ("16M", Kind::Memory, &[2, 3], 3, 64 * MIB),
            ("16M", Kind::Cpu, &[2, 3], 3, 0),
            ("", Kind::Cache, &[0, 1, 2], 2, 32 * MIB),
            // A CPU nothing is known of.
            ("16M", Kind::Cache, &[0, 9], 9, 16 * MIB),
        ] {
            let bytes_had = buffer(&load(kind, cpus, 1), cpu, &pairs(size));
            assert_eq!(bytes_had, bytes, "{size} {kind:?} {cpus:?} {cpu}");
        }
    }

    #[test]
    fn every_kind_works_where_it_is_told_to() {
        let cpus: Vec<u32> = allowed().unwrap().into_iter().collect();
        for kind in [Kind::Cpu, Kind::Cache, Kind::Memory, Kind::Compress, Kind::Disk] {
            let mut begun = false;
            let stop = AtomicBool::new(false);
            let shares = run(&load(kind, &cpus, 200), &pairs("64K"), &stop, || begun = true).unwrap();
            assert!(begun, "{kind:?}");
            assert_eq!(shares.iter().map(|share| share.cpu).collect::<Vec<_>>(), cpus, "{kind:?}");
            assert!(shares.iter().all(|share| share.work > 0), "{kind:?}: {shares:?}");
        }
    }

    #[test]
    fn a_load_that_is_stopped_does_nothing() {
        let cpu = *allowed().unwrap().first().unwrap();
        let long = load(Kind::Cpu, &[cpu], 3_600_000);
        let begun = || panic!("nothing has begun");
        let shares = run(&long, &Topology::default(), &AtomicBool::new(true), begun).unwrap();
        assert_eq!((shares.len(), shares[0].work), (1, 0));
    }

    #[test]
    fn one_unusable_cpu_and_nothing_begins() {
        let cpu = *allowed().unwrap().first().unwrap();
        for absent in [1023, 1024, u32::MAX] {
            let long = load(Kind::Cpu, &[cpu, absent], 3_600_000);
            let refused =
                run(&long, &Topology::default(), &AtomicBool::new(false), || ()).unwrap_err().to_string();
            assert!(refused.starts_with(&format!("CPU {absent} cannot be used")), "{refused}");
        }
    }

    #[test]
    fn files_have_a_place_or_nothing_begins() {
        let cpu = *allowed().unwrap().first().unwrap();
        let nowhere = Load { directory: "/nonexistent".into(), ..load(Kind::Disk, &[cpu], 3_600_000) };
        let refused =
            run(&nowhere, &Topology::default(), &AtomicBool::new(false), || ()).unwrap_err().to_string();
        assert!(refused.starts_with("/nonexistent: no temporary file can be made"), "{refused}");
    }
}
