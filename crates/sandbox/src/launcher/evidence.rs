//! Readings around a run, from the host's /proc, which the launcher keeps open: no path is looked up per run.

use super::privilege::{read_at, write_at};
use crate::sys::Counts;
use model::{Bytes, Evidence, Isolation, Nanos, NodePages, Placement, Reading, cpulist};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Ticks of /proc/stat per second, USER_HZ: 100 on every architecture we run on (proc(5)).
const TICK: Nanos = Nanos(10_000_000);

/// The host's /proc and what is read from it before and after each run.
pub(super) struct Host {
    proc: OwnedFd,
    stat: File,
    meminfo: File,
    /// /proc/vmstat, where the machine has swap.
    vmstat: Option<File>,
    cpus: Vec<u32>,
    /// Memory nodes with their CPUs.
    nodes: Vec<(u32, Vec<u32>)>,
}

/// What the machine has counted at one moment. A run has the growth since it began.
pub(super) struct Counted {
    /// Pages read back from swap.
    swapped: io::Result<u64>,
}

/// State of the slot's CPUs at one moment.
pub(super) struct CpuTimes {
    steal: Nanos,
    irq: Nanos,
    busy: Nanos,
}

impl Host {
    pub(super) fn open() -> io::Result<Host> {
        let sys = |name: &str| {
            let path = Path::new("/sys/devices/system").join(name);
            let list = std::fs::read_to_string(path).unwrap_or_default();
            cpulist::parse(&list).unwrap_or_default().into_iter().collect::<Vec<u32>>()
        };
        let nodes =
            sys("node/online").into_iter().map(|node| (node, sys(&format!("node/node{node}/cpulist"))));
        Host::at(Path::new("/proc"), sys("cpu/online"), nodes.collect())
    }

    fn at(proc: &Path, cpus: Vec<u32>, nodes: Vec<(u32, Vec<u32>)>) -> io::Result<Host> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // /proc/swaps has a line for each area in use behind its head.
        let swaps = std::fs::read_to_string(proc.join("swaps")).map_or(0, |text| text.lines().count());
        let host = Host {
            proc: rustix::fs::open(proc, flags, Mode::empty())?,
            stat: File::open(proc.join("stat"))?,
            meminfo: File::open(proc.join("meminfo"))?,
            vmstat: (swaps > 1).then(|| File::open(proc.join("vmstat"))).transpose()?,
            cpus,
            nodes,
        };
        // The next read is during a run and must allocate nothing (CgroupFile::read_once).
        let _ = host.kernel_memory();
        Ok(host)
    }

    pub(super) fn proc(&self) -> BorrowedFd<'_> {
        self.proc.as_fd()
    }

    /// Where memory runs out, the run must go, not its launcher. Refused to ordinary users, who have no group
    /// that the launcher shares with a run, and to root without CAP_SYS_RESOURCE.
    pub(super) fn exempt_from_oom(&self) -> io::Result<()> {
        write_at(&self.proc, "self/oom_score_adj", "-1000")
    }

    /// Bounds what a thread that waits in sendmsg(2) holds of the kernel's memory, which no group is charged for: its control
    /// data. Per network namespace since Linux 6.8, before which 20 KiB were usual everywhere.
    pub(super) fn bound_control_data(&self) {
        let _ = write_at(&self.proc, "sys/net/core/optmem_max", "8192");
    }

    /// What the kernel uses for itself and cannot give back at once: objects, stacks, and what is mapped or kept by CPU.
    pub(super) fn kernel_memory(&self) -> io::Result<Bytes> {
        let mut buffer = [0; 4096];
        let n = self.meminfo.read_at(&mut buffer, 0)?;
        kernel_memory(&String::from_utf8_lossy(&buffer[..n]))
            .ok_or_else(|| io::Error::other("/proc/meminfo has no SUnreclaim"))
    }

    pub(super) fn has_several_nodes(&self) -> bool {
        self.nodes.len() > 1
    }

    fn nodes_where(&self, with: impl Fn(&[u32]) -> bool) -> Vec<u32> {
        self.nodes.iter().filter(|(_, cpus)| with(cpus)).map(|(node, _)| *node).collect()
    }

    /// CPUs a run may use.
    pub(super) fn cpus_of(&self, placement: &Placement) -> Vec<u32> {
        if placement.cpus.is_empty() { self.cpus.clone() } else { placement.cpus.clone() }
    }

    /// Reads /proc/stat for these CPUs.
    pub(super) fn cpu_times(&self, cpus: &[u32]) -> io::Result<CpuTimes> {
        let mut buffer = [0; 32 << 10];
        let n = self.stat.read_at(&mut buffer, 0)?;
        let text = String::from_utf8_lossy(&buffer[..n]);
        Ok(parse_stat(&text, cpus))
    }

    /// Reads what the machine counts.
    pub(super) fn counted(&self) -> Counted {
        Counted { swapped: self.swapped_in() }
    }

    /// Pages the machine has read back from swap (`pswpin` of /proc/vmstat); 0 on a machine without swap.
    fn swapped_in(&self) -> io::Result<u64> {
        let Some(file) = &self.vmstat else { return Ok(0) };
        let mut buffer = vec![0; 32 << 10];
        let n = file.read_at(&mut buffer, 0)?;
        let text = String::from_utf8_lossy(&buffer[..n]);
        let pages = text.lines().find_map(|line| line.strip_prefix("pswpin ")?.parse().ok());
        pages.ok_or_else(|| io::Error::other("/proc/vmstat has no pswpin"))
    }

    /// Time the main thread ran, and time it was ready but not running, in its whole life so far.
    pub(super) fn schedstat(&self, pid: u32) -> io::Result<[Nanos; 2]> {
        self.open_schedstat(pid)?.read()
    }

    /// Opens what [`Schedstat::read`] reads.
    pub(super) fn open_schedstat(&self, pid: u32) -> io::Result<Schedstat> {
        let (path, flags) = (format!("{pid}/schedstat"), OFlags::RDONLY | OFlags::CLOEXEC);
        Ok(Schedstat(File::from(rustix::fs::openat(&self.proc, path, flags, Mode::empty())?)))
    }

    /// The number that was given last to a process or thread, in the launcher's namespace, where all of a run have one
    /// (the last field of /proc/loadavg).
    pub(super) fn last_pid(&self) -> io::Result<u32> {
        let text = read_at(&self.proc, "loadavg")?;
        let last = text.trim().rsplit(' ').next().and_then(|word| word.parse().ok());
        last.ok_or_else(|| io::Error::other("/proc/loadavg has no last field"))
    }

    /// Moves of the main thread between CPUs, from /proc/PID/sched (absent without CONFIG_SCHED_DEBUG).
    fn migrations(&self, pid: u32) -> io::Result<u64> {
        let text = read_at(&self.proc, &format!("{pid}/sched"))?;
        let line = text.lines().find(|l| l.starts_with("se.nr_migrations"));
        let number = line.and_then(|l| l.rsplit(':').next()?.trim().parse().ok());
        number.ok_or_else(|| io::Error::other("/proc/PID/sched has no se.nr_migrations"))
    }

    fn pages_by_node(&self, run: &Finished<'_>) -> Reading<Vec<NodePages>> {
        if !self.has_several_nodes() {
            Reading::unknown("one memory node")
        } else if !run.tells_nodes {
            Reading::unknown("no memory controller of version 2 counts the run's pages by node")
        } else if run.pages.is_empty() {
            Reading::unknown("it ended before its pages were looked at, or had too few to be counted")
        } else {
            Reading::Known(run.pages.to_vec())
        }
    }

    /// Everything that is read while the main process is a zombie.
    pub(super) fn evidence(&self, run: &Finished<'_>) -> Evidence {
        let after = self.cpu_times(run.cpus);
        let slot = |f: fn(&CpuTimes) -> Nanos| match (run.before, &after) {
            (Ok(b), Ok(a)) => Reading::Known(f(a) - f(b)),
            (Err(e), _) | (_, Err(e)) => Reading::unknown(format!("/proc/stat: {e}")),
        };
        let busy = slot(|t| t.busy);
        let (then, now) = (run.counted, self.counted());
        let own = Reading::from_result(self.schedstat(run.pid));
        Evidence {
            isolation: run.isolation,
            cpus: run.cpus.to_vec(),
            cpu_nodes: self.nodes_where(|cpus| cpus.iter().any(|cpu| run.cpus.contains(cpu))),
            mem_nodes: run.placement.mem_node.map_or_else(|| self.nodes_where(|_| true), |n| vec![n]),
            main_cpu: own.clone().map(|[ran, _]| ran - run.process),
            run_queue_wait: own.map(|[_, wait]| wait - schedstat(&run.schedstat).unwrap_or_default()[1]),
            steal: slot(|t| t.steal),
            irq: slot(|t| t.irq),
            foreign: busy.map(|b| b - run.cpu),
            throttled: Reading::from_result(run.throttled.as_ref().map(|time| *time)),
            migrations: if run.cpus.len() == 1 {
                Reading::Known(0)
            } else {
                Reading::from_result(self.migrations(run.pid))
            },
            voluntary_switches: Reading::Known(run.counts.voluntary_switches),
            involuntary_switches: Reading::Known(run.counts.involuntary_switches),
            minor_faults: Reading::Known(run.counts.minor_faults),
            major_faults: Reading::Known(run.counts.major_faults),
            // Known when the tree is gone, like the whole cost.
            frequency_ratio: Reading::unknown("not probed yet"),
            cost: Nanos::ZERO,
            slowdown: Reading::unknown("looked at only where it can decide a verdict"),
            swapped_pages: Reading::from_result(since(&then.swapped, now.swapped, u64::saturating_sub)),
            pages_by_node: self.pages_by_node(run),
            weaker: run.weaker.to_vec(),
            machine: None,
        }
    }
}

/// /proc/PID/schedstat, kept open.
pub(super) struct Schedstat(File);

impl Schedstat {
    /// Time the main thread ran, and time it was ready but not running, in its whole life so far.
    pub(super) fn read(&self) -> io::Result<[Nanos; 2]> {
        let mut buffer = [0; 128];
        let n = self.0.read_at(&mut buffer, 0)?;
        schedstat(&String::from_utf8_lossy(&buffer[..n]))
            .ok_or_else(|| io::Error::other("schedstat has no second field"))
    }
}

/// A run whose main process is a zombie.
pub(super) struct Finished<'a> {
    pub(super) pid: u32,
    pub(super) placement: &'a Placement,
    pub(super) isolation: Isolation,
    pub(super) cpus: &'a [u32],
    pub(super) before: &'a io::Result<CpuTimes>,
    pub(super) cpu: Nanos,
    /// CPU time of the process before exec, ours.
    pub(super) process: Nanos,
    /// Since exec.
    pub(super) counts: Counts,
    /// For how long quotas held the run back.
    pub(super) throttled: io::Result<Nanos>,
    /// What the machine had counted before the run.
    pub(super) counted: &'a Counted,
    /// The run's group counts pages by node.
    pub(super) tells_nodes: bool,
    /// Where they were when they were last looked at.
    pub(super) pages: &'a [NodePages],
    /// The main thread's schedstat right before exec.
    pub(super) schedstat: String,
    pub(super) weaker: &'a [String],
}

/// The growth of a reading since the run began.
pub(super) fn since<T: Copy>(
    then: &io::Result<T>,
    now: io::Result<T>,
    growth: impl FnOnce(T, T) -> T,
) -> io::Result<T> {
    match then {
        Ok(then) => now.map(|now| growth(now, *then)),
        Err(e) => Err(io::Error::new(e.kind(), e.to_string())),
    }
}

/// Sums lines of /proc/meminfo (proc(5)). Reclaimable objects are left out, since they come and go with everybody's files.
fn kernel_memory(text: &str) -> Option<Bytes> {
    let field = |name: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()
    };
    let rest: u64 = ["KernelStack", "VmallocUsed", "Percpu"].into_iter().filter_map(field).sum();
    Some(Bytes::from_kib(field("SUnreclaim")?.saturating_add(rest)))
}

/// Kernel memory of the machine that may come and go beside a run, without a word.
const BESIDE: Bytes = Bytes::from_mib(64);

/// What to say of a run during which the kernel's memory grew by so much, and which was charged so much in all.
pub(super) fn uncharged(grown: Bytes, charged: &Reading<Bytes>) -> Option<String> {
    let charged = match charged {
        Reading::Known(bytes) => *bytes,
        Reading::Unknown(_) => Bytes(0),
    };
    (grown > charged + BESIDE).then(|| {
        let mib = |bytes: Bytes| bytes.0 >> 20;
        format!(
            "the kernel's own memory grew by {} MiB during the run, which was charged {} MiB in all: the run made it use memory outside \
             the limit, or others on this machine did",
            mib(grown),
            mib(charged)
        )
    })
}

/// The first two numbers of schedstat, in nanoseconds: time spent running, and ready but not running
/// (Documentation/scheduler/sched-stats.rst).
fn schedstat(text: &str) -> Option<[Nanos; 2]> {
    let mut numbers = text.split_whitespace().map(|word| word.parse().ok().map(Nanos));
    Some([numbers.next()??, numbers.next()??])
}

/// `usage_usec`, `user_usec` and `system_usec` of a cgroup's cpu.stat.
pub(super) fn parse_cpu_stat(text: &str) -> Option<[Nanos; 3]> {
    let field = |name: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(' '));
        line?.parse().ok().map(Nanos::from_micros)
    };
    Some([field("usage_usec")?, field("user_usec")?, field("system_usec")?])
}

/// Sums the lines `cpuN` of /proc/stat: user nice system idle iowait irq softirq steal guest guest_nice (proc(5)).
fn parse_stat(text: &str, cpus: &[u32]) -> CpuTimes {
    let mut t = [0u64; 8];
    for line in text.lines().skip(1) {
        let Some(rest) = line.strip_prefix("cpu") else { break };
        let mut words = rest.split(' ');
        let Some(cpu) = words.next().and_then(|w| w.parse::<u32>().ok()) else { continue };
        if cpus.contains(&cpu) {
            words.zip(&mut t).for_each(|(w, sum)| *sum += w.parse::<u64>().unwrap_or(0));
        }
    }
    let ticks = |n: u64| Nanos(n.saturating_mul(TICK.0));
    CpuTimes {
        steal: ticks(t[7]),
        irq: ticks(t[5] + t[6]),
        busy: ticks(t[0] + t[1] + t[2] + t[5] + t[6] + t[7]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_stat_is_in_microseconds() {
        let text = "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\nnice_usec 0\n";
        assert_eq!(parse_cpu_stat(text), Some([Nanos(1_500_000), Nanos(1_000_000), Nanos(500_000)]));
        assert_eq!(parse_cpu_stat("usage_usec 1\n"), None);
    }

    #[test]
    fn only_the_slots_cpus_are_summed() {
        let text =
            "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 0 0 5 0 1 1 1 0 0\ncpu1 10 0 0 5 0 10 10 10 0 0\nintr 5\n";
        let t = parse_stat(text, &[1]);
        assert_eq!((t.steal, t.irq, t.busy), (Nanos(100_000_000), Nanos(200_000_000), Nanos(400_000_000)));
    }

    /// What no test can do to a machine is done to a /proc of its own.
    #[test]
    fn what_happens_to_the_machine_during_a_run_is_told() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(root.path().join(name), text).unwrap();
        let stat = |user: u64, irq: u64, steal: u64| {
            write("stat", &format!("cpu  0 0 0 0\ncpu1 {user} 0 0 900 0 {irq} 0 {steal} 0 0\nintr 5\n"));
        };
        stat(100, 3, 7);
        write("vmstat", "pgpgin 9\npswpin 40\npswpout 50\n");
        write("meminfo", "MemTotal: 9 kB\n");
        write("swaps", "Filename Type Size Used Priority\n/dev/vdb partition 4194300 0 -2\n");
        let host = Host::at(root.path(), vec![0, 1], vec![(0, vec![0]), (1, vec![1])]).unwrap();
        let (before, counted) = (host.cpu_times(&[1]), host.counted());
        stat(200, 28, 57);
        write("vmstat", "pgpgin 9\npswpin 340\npswpout 50\n");
        let placement = Placement { cpus: vec![1], ..Placement::default() };
        let evidence = host.evidence(&Finished {
            pid: 1,
            placement: &placement,
            isolation: Isolation::Affinity,
            cpus: &[1],
            before: &before,
            cpu: Nanos::from_millis(900),
            process: Nanos::ZERO,
            counts: Counts::default(),
            throttled: Ok(Nanos::ZERO),
            counted: &counted,
            tells_nodes: false,
            pages: &[],
            schedstat: String::new(),
            weaker: &[],
        });
        assert_eq!(evidence.steal, Reading::Known(Nanos::from_millis(500)));
        assert_eq!(evidence.irq, Reading::Known(Nanos::from_millis(250)));
        // 1.75 s of the CPU were not idle, and the run had 0.9 of them.
        assert_eq!(evidence.foreign, Reading::Known(Nanos::from_millis(850)));
        assert_eq!(evidence.swapped_pages, Reading::Known(300));
        assert_eq!((evidence.cpu_nodes, evidence.mem_nodes), (vec![1], vec![0, 1]));
    }

    #[test]
    fn kernel_memory_beyond_what_was_charged_is_told() {
        let text = "MemTotal: 99 kB\nSReclaimable: 50 kB\nSUnreclaim:      1024 kB\nKernelStack:  16 kB\nVmallocUsed:  8 kB\nPercpu: 4 kB\n";
        assert_eq!(kernel_memory(text), Some(Bytes::from_kib(1052)));
        assert_eq!(kernel_memory("MemTotal: 99 kB\n"), None);
        let (mib, known) = (Bytes::from_mib, |n| Reading::Known(Bytes::from_mib(n)));
        assert_eq!(uncharged(mib(90), &known(30)), None, "charged, and a little of others");
        let told = uncharged(mib(193), &known(1)).unwrap();
        assert!(told.contains("grew by 193 MiB") && told.contains("charged 1 MiB"), "{told}");
        assert!(uncharged(mib(193), &Reading::unknown("no group")).is_some());
    }
}
