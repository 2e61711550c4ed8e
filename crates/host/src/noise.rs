//! How quiet a CPU is: a thread that does nothing but read the clock finds out when it was away.
//!
//! What it finds is everything that takes time from a program there: interrupts, kernel threads, other programs, the
//! hypervisor. It needs no rights and no counters.

use crate::machine::Machine;
use crate::tune::group_of;
use model::{CpuNoise, Nanos, Reading, Slot};
use rustix::thread::CpuSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longer than any cache miss or page fault of the loop itself, shorter than a timer interrupt with its work.
const GAP: Duration = Duration::from_micros(10);

/// Measures a slot's first CPU for this long. Where the slot's partition is there, this process enters it meanwhile:
/// from outside nobody can run on its CPUs.
pub fn measure(machine: &Machine, slot: &Slot, time: Duration) -> CpuNoise {
    let cpu = slot.cpus.first().copied().unwrap_or_default();
    let group = group_of(machine, slot).filter(|group| Path::new(group).is_dir());
    let guest = group.map(|group| Guest::enter(machine, &group));
    let watched = match guest {
        Some(Err(e)) => Err(io::Error::other(format!("the slot's control group cannot be entered: {e}"))),
        _ => watch(cpu, time),
    };
    match watched {
        Ok(seen) => CpuNoise {
            cpu,
            gaps_per_second: Reading::Known(f64::from(seen.gaps) / seen.time.as_secs_f64()),
            lost_pct: Reading::Known(100.0 * seen.lost.as_secs_f64() / seen.time.as_secs_f64()),
            longest_ns: Reading::Known(Nanos(seen.longest.as_nanos() as u64)),
        },
        Err(e) => CpuNoise {
            cpu,
            gaps_per_second: Reading::unknown(e.to_string()),
            lost_pct: Reading::unknown(e.to_string()),
            longest_ns: Reading::unknown(e.to_string()),
        },
    }
}

struct Seen {
    gaps: u32,
    lost: Duration,
    longest: Duration,
    time: Duration,
}

/// On a thread of its own, so that the caller stays where it is.
fn watch(cpu: u32, time: Duration) -> io::Result<Seen> {
    let watch = move || -> io::Result<Seen> {
        let mut set = CpuSet::new();
        let number = cpu as usize;
        if number >= CpuSet::MAX_CPU {
            return Err(io::Error::other(format!("CPU {cpu} is beyond what can be bound to")));
        }
        set.set(number);
        rustix::thread::sched_setaffinity(None, &set)
            .map_err(|e| io::Error::other(format!("cannot run on CPU {cpu}: {e}")))?;
        Ok(look(time))
    };
    let thread = std::thread::Builder::new().name("noise".into()).spawn(watch)?;
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the measuring thread failed")))
}

fn look(time: Duration) -> Seen {
    let start = Instant::now();
    let mut seen = Seen { gaps: 0, lost: Duration::ZERO, longest: Duration::ZERO, time: Duration::ZERO };
    let mut last = start;
    while seen.time < time {
        let now = Instant::now();
        let gap = now - last;
        if gap > GAP {
            seen.gaps += 1;
            seen.lost += gap;
            seen.longest = seen.longest.max(gap);
        }
        last = now;
        seen.time = now - start;
    }
    seen
}

/// This process in a slot's group; it goes back when this is dropped.
struct Guest {
    home: PathBuf,
}

impl Guest {
    fn enter(machine: &Machine, group: &str) -> io::Result<Guest> {
        let own = machine.read("/proc/self/cgroup")?;
        let own = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
        let root = Path::new(group).parent().unwrap_or(Path::new("/"));
        let home = root.join(own.trim_start_matches('/')).join("cgroup.procs");
        std::fs::write(Path::new(group).join("cgroup.procs"), "0")?;
        Ok(Guest { home })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // Where it fails, the end of this process empties the group as well.
        let _ = std::fs::write(&self.home, "0");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Isolation;

    fn slot(cpu: u32) -> Slot {
        Slot {
            id: 0,
            cpus: vec![cpu],
            idle_siblings: vec![],
            mem_nodes: vec![],
            package: 0,
            isolation: Isolation::None,
        }
    }

    #[test]
    fn what_is_lost_lies_within_the_time() {
        let machine = Machine::this().unwrap();
        let allowed = rustix::thread::sched_getaffinity(None).unwrap();
        let cpu = (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).unwrap() as u32;
        let noise = measure(&machine, &slot(cpu), Duration::from_millis(30));
        let lost = *noise.lost_pct.known().unwrap();
        assert!((0.0..=100.0).contains(&lost), "{lost}");
        let gaps = *noise.gaps_per_second.known().unwrap();
        assert_eq!(gaps > 0.0, noise.longest_ns.known().unwrap().0 > 0, "{noise:?}");
    }

    #[test]
    fn a_cpu_that_is_not_there_is_unknown() {
        let machine = Machine::this().unwrap();
        let noise = measure(&machine, &slot(5000), Duration::from_millis(1));
        assert_eq!(noise.lost_pct.known(), None);
    }
}
