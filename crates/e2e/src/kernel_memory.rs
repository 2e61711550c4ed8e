//! How much the kernel's own memory on this machine grows while something happens.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often it is read.
const APART: Duration = Duration::from_millis(10);
/// Objects, stacks, page tables and what is mapped or kept by CPU: lines of /proc/meminfo (proc(5)).
const PARTS: [&str; 5] = ["Slab", "KernelStack", "PageTables", "VmallocUsed", "Percpu"];

/// What the kernel uses now, in KiB.
///
/// # Errors
/// /proc/meminfo cannot be read or lacks a line.
pub fn now() -> Result<u64, String> {
    sum(&PARTS)
}

/// The kernel's objects that it cannot give back by itself, in KiB.
///
/// # Errors
/// See [`now`].
pub fn objects() -> Result<u64, String> {
    sum(&["SUnreclaim"])
}

fn sum(parts: &[&str]) -> Result<u64, String> {
    let text = fs::read_to_string("/proc/meminfo").map_err(|error| format!("/proc/meminfo: {error}"))?;
    let part = |name: &&str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let kib = rest.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
        kib.ok_or_else(|| format!("/proc/meminfo has no line {name} in kB"))
    };
    parts.iter().map(part).sum()
}

/// The machine's kernel memory, read again and again until it is asked for its growth.
#[derive(Debug)]
pub struct Growth {
    before: u64,
    over: Arc<AtomicBool>,
    reader: JoinHandle<Result<u64, String>>,
}

impl Growth {
    /// Begins to watch.
    ///
    /// # Errors
    /// See [`now`].
    pub fn watch() -> Result<Growth, String> {
        let (before, over) = (now()?, Arc::new(AtomicBool::new(false)));
        let told = Arc::clone(&over);
        let reader = thread::spawn(move || {
            let mut most = 0;
            while !told.load(Ordering::Relaxed) {
                most = most.max(now()?);
                thread::sleep(APART);
            }
            Ok(most)
        });
        Ok(Growth { before, over, reader })
    }

    /// The most by which it had grown at any time, in KiB.
    ///
    /// # Errors
    /// See [`now`].
    pub fn most(self) -> Result<u64, String> {
        self.over.store(true, Ordering::Relaxed);
        let most = self.reader.join().map_err(|_| "the reader of /proc/meminfo panicked".to_string())??;
        Ok(most.saturating_sub(self.before))
    }
}
