//! Page faults of a program, one by one, as the kernel has them: who touched which address, on which CPU, from where in its code.
//!
//! Sampled by perf_event_open(2), PERF_COUNT_SW_PAGE_FAULTS, which needs no counter of the processor. An event that children inherit can
//! hand over its samples only if it is bound to a CPU, so there is one for each CPU, with memory of its own.

use crate::counter::{Begin, refusal};
use crate::sys::{self, PerfSampleAttr, Ring};
use model::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use std::io;

/// Bytes for the samples of one CPU: 13 000 of them, which are some milliseconds of nothing but faults. An ordinary user may have as
/// much on each CPU, of which this is the largest power of two (kernel.perf_event_mlock_kb, 516 by default: a page is ours).
const MOST: usize = 512 << 10;
/// On large machines the CPUs share this.
const ALTOGETHER: usize = 16 << 20;
/// Less than this is not worth it.
const LEAST: usize = 16 << 10;

/// Kinds of records (perf_event_open(2), "MMAP layout").
const PERF_RECORD_LOST: u32 = 2;
const PERF_RECORD_SAMPLE: u32 = 9;

/// A page fault. It may have been a read, and it may have found the page there after all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The process, and the thread, by their numbers in the caller's pid namespace.
    pub pid: u32,
    /// See there.
    pub tid: u32,
    /// The CPU it was on.
    pub cpu: u32,
    /// What it touched.
    pub address: u64,
    /// The instruction that did; in the upper half of all addresses: the kernel's, in a system call.
    pub code: u64,
    /// CLOCK_MONOTONIC.
    pub time: Nanos,
}

/// The events of one CPU, which all write to the memory of the first.
#[derive(Debug)]
struct Lane {
    cpu: u32,
    events: Vec<OwnedFd>,
    ring: Ring,
    /// All whom it watched have ended.
    over: bool,
}

/// Watches the page faults of some threads and of all that they start. It ends when this is dropped.
#[derive(Debug)]
pub struct Faults {
    lanes: Vec<Lane>,
    in_system_calls: bool,
    records: Vec<u8>,
}

impl Faults {
    /// Watches these threads of other processes, on these CPUs; those that are not there are left out. With [`Begin::Exec`] faults
    /// before a thread's exec are not seen.
    ///
    /// # Errors
    /// Why faults cannot be seen, with the remedy.
    pub fn watch(threads: &[u32], cpus: &[u32], begin: Begin) -> Result<Faults, String> {
        let first = Faults::open(threads, cpus, begin, true);
        let (lanes, in_system_calls) = match first {
            Ok(lanes) => (lanes, true),
            // kernel.perf_event_paranoid 2, the usual one, allows ordinary users to watch their programs outside of the kernel.
            Err(_) => (Faults::open(threads, cpus, begin, false)?, false),
        };
        if lanes.is_empty() {
            return Err("the program had ended, or none of the CPUs is online".into());
        }
        Ok(Faults { lanes, in_system_calls, records: Vec::new() })
    }

    fn open(threads: &[u32], cpus: &[u32], begin: Begin, kernel: bool) -> Result<Vec<Lane>, String> {
        let paranoid = || std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
        let mut size = MOST.min(ALTOGETHER / cpus.len().max(1).next_power_of_two()).max(LEAST);
        let attr = PerfSampleAttr::page_faults(kernel, (size / 2) as u32);
        let attr = if begin == Begin::Exec { attr.enabled_on_exec() } else { attr };
        let mut lanes = Vec::new();
        for cpu in cpus {
            let mut events = Vec::new();
            for thread in threads {
                match sys::perf_event_open_of(&attr, *thread, *cpu) {
                    Ok(event) => events.push(event),
                    Err(e) if matches!(e.raw_os_error(), Some(libc::ESRCH)) => {}
                    // Taken offline since.
                    Err(e) if matches!(e.raw_os_error(), Some(libc::ENODEV)) && cpus.len() > 1 => break,
                    Err(e) => return Err(refusal(&e, paranoid)),
                }
            }
            let Some((first, others)) = events.split_first() else { continue };
            let ring = mapped(first, &mut size)?;
            for event in others {
                sys::share_output(event, first).map_err(|e| format!("perf_event_open: {e}"))?;
            }
            lanes.push(Lane { cpu: *cpu, events, ring, over: false });
        }
        Ok(lanes)
    }

    /// Whether faults are seen too that the kernel has in the program's system calls, as when read(2) fills new memory. Root sees them, and
    /// others where kernel.perf_event_paranoid is 1 or less.
    pub fn in_system_calls(&self) -> bool {
        self.in_system_calls
    }

    /// Adds the faults since the last time, in the order of their CPUs, and on each in the order of time. Gives how many were lost, because
    /// there were more than memory for them.
    pub fn drain(&mut self, to: &mut Vec<Fault>) -> u64 {
        let mut lost = 0;
        for lane in &mut self.lanes {
            self.records.clear();
            lane.ring.take(&mut self.records);
            lost += parse(&self.records, lane.cpu, to);
        }
        lost
    }

    /// Sleeps so long, or until much is to be drained.
    pub fn wait(&mut self, most: Nanos) {
        let mut fds: Vec<PollFd<'_>> = self
            .lanes
            .iter()
            .filter(|lane| !lane.over)
            .filter_map(|lane| Some(PollFd::new(lane.events.first()?, PollFlags::IN)))
            .collect();
        let most =
            Timespec { tv_sec: (most.0 / 1_000_000_000) as i64, tv_nsec: (most.0 % 1_000_000_000) as i64 };
        // Interrupted is as good as over.
        let _ = poll(&mut fds, Some(&most));
        let over: Vec<bool> = fds.iter().map(|fd| fd.revents().contains(PollFlags::HUP)).collect();
        for (lane, over) in self.lanes.iter_mut().filter(|lane| !lane.over).zip(over) {
            lane.over = over;
        }
    }

    /// Goes on watching, or looks away for a while, so that a program with many faults is not slowed down.
    ///
    /// # Errors
    /// As the kernel says; there is no reason for it to.
    pub fn switch(&self, on: bool) -> io::Result<()> {
        self.lanes.iter().flat_map(|lane| &lane.events).try_for_each(|event| sys::switch(event, on))
    }
}

/// Memory for an event's samples, as much as is allowed: `size` becomes smaller if it must.
fn mapped(event: &OwnedFd, size: &mut usize) -> Result<Ring, String> {
    loop {
        match Ring::map(event, *size) {
            Ok(ring) => return Ok(ring),
            Err(_) if *size > LEAST => *size /= 2,
            Err(e) => {
                return Err(format!(
                    "no memory for samples: {e}\n\
                     hint: raise kernel.perf_event_mlock_kb, or the limit of locked memory (ulimit -l)"
                ));
            }
        }
    }
}

/// Reads records: those of faults are added, those of losses summed up, others skipped. What is cut short ends it.
fn parse(records: &[u8], cpu: u32, to: &mut Vec<Fault>) -> u64 {
    let (mut rest, mut lost) = (records, 0);
    // `struct perf_event_header`: kind (32 bits), flags (16), length of the record with this header (16).
    while let (Some(kind), Some(length)) = (word32(rest, 0), word32(rest, 4)) {
        let length = (length >> 16) as usize;
        let Some(record) = rest.get(..length).filter(|_| length >= 8) else { break };
        match kind {
            PERF_RECORD_SAMPLE => to.extend(sample(record, cpu)),
            PERF_RECORD_LOST => lost += word64(record, 16).unwrap_or(0),
            _ => {}
        }
        rest = &rest[length..];
    }
    lost
}

/// Fields in the order of [`PerfSampleAttr::page_faults`].
fn sample(record: &[u8], cpu: u32) -> Option<Fault> {
    Some(Fault {
        code: word64(record, 8)?,
        pid: word32(record, 16)?,
        tid: word32(record, 20)?,
        cpu,
        time: Nanos(word64(record, 24)?),
        address: word64(record, 32)?,
    })
}

fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_ne_bytes)
}

fn word64(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().copied().map(u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, words: &[u64]) -> Vec<u8> {
        let length = 8 + 8 * words.len() as u64;
        let head = u64::from(kind) | length << 48;
        [&[head], words].concat().iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn fault(n: u64) -> (Vec<u8>, Fault) {
        let (pid, tid) = (100, 100 + n as u32);
        let words = [0x40_0000 + n, u64::from(pid) | u64::from(tid) << 32, 1000 + n, 0x7000_0000 + n];
        let fault = Fault { pid, tid, cpu: 3, address: words[3], code: words[0], time: Nanos(1000 + n) };
        (record(PERF_RECORD_SAMPLE, &words), fault)
    }

    fn parsed(records: &[u8]) -> (Vec<Fault>, u64) {
        let mut faults = Vec::new();
        let lost = parse(records, 3, &mut faults);
        (faults, lost)
    }

    #[test]
    fn records_are_read_and_losses_counted() {
        let (one, two) = (fault(1), fault(2));
        let lost = |count| record(PERF_RECORD_LOST, &[7, count]);
        let unknown = record(4711, &[1, 2, 3]);
        let all = [&one.0[..], &lost(5), &unknown, &two.0, &lost(6)].concat();
        assert_eq!(parsed(&all), (vec![one.1, two.1], 11));
        assert_eq!(parsed(&[]), (vec![], 0));
    }

    #[test]
    fn what_is_cut_short_is_left() {
        let (one, two) = (fault(1), fault(2));
        let all = [&one.0[..], &two.0].concat();
        for cut in one.0.len()..all.len() {
            assert_eq!(parsed(&all[..cut]), (vec![one.1], 0), "{cut}");
        }
        // A record that is shorter than its header would be read for ever; one without all fields is none.
        assert_eq!(parsed(&[&one.0[..], &[0; 16]].concat()), (vec![one.1], 0));
        assert_eq!(parsed(&record(PERF_RECORD_SAMPLE, &[1, 2])), (vec![], 0));
        assert_eq!(parsed(&record(PERF_RECORD_LOST, &[1])), (vec![], 0));
    }

    /// `dd` reads into a buffer that it has never written: one of the program's own pages for each 4 KiB, and its process is named.
    #[test]
    fn faults_of_a_program_are_seen_with_their_addresses() {
        use std::io::Write;
        let command = "read line; exec dd if=/dev/zero of=/dev/null bs=4M count=1";
        let mut child = std::process::Command::new("/bin/sh")
            .args(["-c", command])
            .stdin(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let cpus: Vec<u32> = (0..64).collect();
        let watched = Faults::watch(&[child.id()], &cpus, Begin::Exec);
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        let pid = child.id();
        child.wait().unwrap();
        let mut watched = match watched {
            Ok(watched) => watched,
            // Where it is refused, that is told with a remedy.
            Err(why) => return assert!(why.contains("perf_event"), "{why}"),
        };
        let mut faults = Vec::new();
        assert_eq!(watched.drain(&mut faults), 0);
        assert!(faults.iter().all(|fault| fault.pid == pid && fault.tid == pid), "{faults:?}");
        assert!(faults.len() > 20, "{}", faults.len());
        let of_kernel = faults.iter().filter(|fault| fault.code >> 63 == 1).count();
        assert_eq!(of_kernel > 0, watched.in_system_calls(), "{of_kernel} of {}", faults.len());
        // All have ended: nothing keeps it from sleeping, and nothing is left.
        watched.wait(Nanos(1_000_000));
        assert!(watched.lanes.iter().all(|lane| lane.over));
        assert_eq!(watched.drain(&mut faults), 0);
    }

    #[test]
    fn nothing_is_watched_where_nothing_is() {
        let why = Faults::watch(&[i32::MAX as u32], &[0], Begin::Now).unwrap_err();
        assert!(why.contains("had ended") || why.contains("perf_event"), "{why}");
    }
}
