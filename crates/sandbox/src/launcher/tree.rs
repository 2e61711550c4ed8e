//! The run's processes as its own /proc shows them: what is left to measure a tree by where no cgroup counts it.
//!
//! The launcher is in the run's mount namespace while the run goes on, so /proc here lists the run's processes and its
//! init, and nothing else.

use model::{Bytes, Nanos};
use std::fs::{self, DirEntry};
use std::io;

/// Ticks of /proc/PID/stat per second: USER_HZ (proc(5)).
const TICK: u64 = 10_000_000;
const PAGE: u64 = 4096;

/// CPU time of the tree, to the tick: of those alive, and of the dead that somebody, init included, waited for.
pub(super) fn cpu_time() -> Nanos {
    let ticks: u64 = processes().map(|p| fields(&p, 11, 4)).sum();
    Nanos(ticks.saturating_mul(TICK))
}

/// Memory of the tree. Pages shared between processes count once: where the plain sum is above `limit`, each process is
/// asked for its proportional share.
pub(super) fn memory(limit: Bytes) -> Bytes {
    // Init's memory is the launcher's, which it shares.
    let processes: Vec<DirEntry> = processes().filter(|p| p.file_name() != "1").collect();
    // Field 24 of /proc/PID/stat: the resident set in pages.
    let resident = processes.iter().map(|p| fields(p, 21, 1)).sum::<u64>().saturating_mul(PAGE);
    if resident <= limit.0 {
        return Bytes(resident);
    }
    Bytes(processes.iter().map(proportional).sum())
}

fn processes() -> impl Iterator<Item = DirEntry> {
    let numeric = |e: &DirEntry| e.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit());
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter(numeric)
}

/// Sum of `count` fields of /proc/PID/stat; `skip` counts from the one behind the name, which may hold anything.
fn fields(process: &DirEntry, skip: usize, count: usize) -> u64 {
    let text = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
    let behind = text.rsplit_once(") ").map_or("", |p| p.1);
    behind.split(' ').skip(skip).take(count).filter_map(|w| w.parse::<u64>().ok()).sum()
}

fn proportional(process: &DirEntry) -> u64 {
    let share = |text: io::Result<String>| -> Option<u64> {
        let text = text.ok()?;
        let line = text.lines().find_map(|l| l.strip_prefix("Pss:"))?;
        line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()
    };
    share(fs::read_to_string(process.path().join("smaps_rollup"))).unwrap_or(0) << 10
}
