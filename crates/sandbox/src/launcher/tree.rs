//! The run's processes as its own /proc shows them: what is left to measure a tree by where no cgroup counts it.
//!
//! The launcher is in the run's mount namespace while the run goes on, so /proc here lists the run's processes and its
//! init, and nothing else.

use super::run::used_by_files;
use model::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::fs::{self, DirEntry};
use std::os::unix::fs::MetadataExt;

/// Ticks of /proc/PID/stat per second: USER_HZ (proc(5)).
const TICK: u64 = 10_000_000;
/// Unit of `st_blocks` (stat(3type)).
const BLOCK: u64 = 512;

/// CPU time of the tree, to the tick: of those alive, and of the dead that somebody, init included, waited for.
pub(super) fn cpu_time() -> Nanos {
    let ticks: u64 = processes().map(|p| fields(&p, 11, 4)).sum();
    Nanos(ticks.saturating_mul(TICK))
}

/// Memory of the tree: what its processes map, and files in memory, mapped or not: its own file system, and those that are open.
/// Pages shared between processes count once: where the plain sum is above `limit`, each process is asked for its proportional
/// share. What only sockets hold, or mappings of which the pages were let go, is not seen.
pub(super) fn memory(limit: Bytes) -> Bytes {
    // Init's memory is the launcher's, which it shares.
    let processes: Vec<DirEntry> = processes().filter(|p| p.file_name() != "1").collect();
    let own = used_by_files().unwrap_or_default();
    let files = own.0.saturating_add(open_in_memory(&processes));
    let resident = processes.iter().map(|p| Mapped::read(p, "status", RESIDENT)).sum::<Mapped>();
    if resident.with(0) <= limit.0.saturating_sub(files) {
        return Bytes(resident.with(files));
    }
    Bytes(processes.iter().map(|p| Mapped::read(p, "smaps_rollup", SHARES)).sum::<Mapped>().with(files))
}

/// Fields of /proc/PID/status and of /proc/PID/smaps_rollup: anonymous pages, those of files on disk, those of files in memory.
const RESIDENT: [&str; 3] = ["RssAnon:", "RssFile:", "RssShmem:"];
const SHARES: [&str; 3] = ["Pss_Anon:", "Pss_File:", "Pss_Shmem:"];

/// Bytes that processes map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mapped {
    private: u64,
    in_memory: u64,
}

impl std::iter::Sum for Mapped {
    fn sum<I: Iterator<Item = Mapped>>(all: I) -> Mapped {
        all.fold(Mapped::default(), |a, b| Mapped {
            private: a.private.saturating_add(b.private),
            in_memory: a.in_memory.saturating_add(b.in_memory),
        })
    }
}

impl Mapped {
    fn read(process: &DirEntry, file: &str, fields: [&str; 3]) -> Mapped {
        Mapped::parse(&fs::read_to_string(process.path().join(file)).unwrap_or_default(), fields)
    }

    fn parse(text: &str, fields: [&str; 3]) -> Mapped {
        let [anonymous, disk, in_memory] = fields.map(|field| {
            let line = text.lines().find_map(|line| line.strip_prefix(field));
            let kib = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
            kib.unwrap_or(0) << 10
        });
        Mapped { private: anonymous.saturating_add(disk), in_memory }
    }

    /// All of it where there are so many bytes of files in memory, which may be mapped, wholly or in part, or not.
    fn with(self, files: u64) -> u64 {
        self.private.saturating_add(self.in_memory.max(files))
    }
}

/// Bytes of the files in memory that processes hold open (memfd_create(2)); each file counts once.
fn open_in_memory(processes: &[DirEntry]) -> u64 {
    let mut found = BTreeMap::new();
    for process in processes {
        for entry in fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            let is_one =
                fs::read_link(entry.path()).is_ok_and(|at| at.to_string_lossy().starts_with("/memfd:"));
            if is_one && let Ok(facts) = fs::metadata(entry.path()) {
                found.insert((facts.dev(), facts.ino()), facts.blocks().saturating_mul(BLOCK));
            }
        }
    }
    found.values().sum()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_memory_count_once_mapped_or_not() {
        let text = "VmRSS:\t 300 kB\nRssAnon:\t 100 kB\nRssFile:\t 40 kB\nRssShmem:\t 160 kB\n";
        let one = Mapped::parse(text, RESIDENT);
        assert_eq!(one, Mapped { private: 140 << 10, in_memory: 160 << 10 });
        assert_eq!(
            [one.with(0), one.with(100 << 10), one.with(200 << 10)],
            [300 << 10, 300 << 10, 340 << 10]
        );
        assert_eq!([one, one].into_iter().sum::<Mapped>().with(0), 600 << 10);
        assert_eq!(Mapped::parse("", SHARES).with(0), 0);
    }
}
