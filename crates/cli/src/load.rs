//! `tauto load`: keeps CPUs, caches, memory, the kernel or a disk busy, so that what stands against it can be seen.

use crate::Done;
use crate::options::{CpuList, cpu_list, seconds};
use crate::terminal::{Failure, print, print_error};
use clap::{Args, ValueEnum};
use host::cpulist::{Set, to_list};
use host::facts::Topology;
use host::machine::Machine;
use loads::{Kind, LONGEST, Load, LoadError};
use model::Nanos;
use report::json::{LoadDocument, WorkerDocument, to_text};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal, setsid};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[derive(Args, Debug)]
pub(crate) struct LoadArgs {
    /// What to load
    #[arg(long, value_enum, default_value = "cpu")]
    kind: KindName,
    /// CPUs to load, such as 1 or 2-3,6, with one thread on each [default: all that this process may use]
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    cpus: Option<CpuList>,
    /// Duration in seconds, at most 3600
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = bounded, allow_negative_numbers = true)]
    seconds: Nanos,
    /// Real-time priority of the kind rt (1-98) [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(priorities()))]
    priority: Option<u8>,
    /// Directory for the files of the kind io; they are never visible there [default: TMPDIR, or /tmp]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Print one JSON document at the end
    #[arg(long)]
    json: bool,
    /// End at once when the process PID ends, however it does; it must be the parent. The kernel counts the end of the thread that
    /// started this process as the parent's
    #[arg(long, value_name = "PID", hide = true)]
    of: Option<u32>,
    /// Print the line `ready` when every CPU is kept busy
    #[arg(long, hide = true, conflicts_with = "json")]
    tell: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KindName {
    /// Multiplications that each depend on the previous one
    Cpu,
    /// Random reads in a buffer as large as the last-level cache
    Cache,
    /// Reads and writes in a buffer much larger than the last-level cache
    Memory,
    /// As cpu, in the class SCHED_RR: other tasks get only the time that the kernel reserves for them, or none (needs
    /// root)
    Rt,
    /// A pipeline: one process writes text to a pipe, another compresses it
    Compress,
    /// Processes that start and exit immediately, one after the other
    Fork,
    /// Writing, syncing and reading back a file of up to 64 MiB for each CPU
    Io,
    /// 50 000 interrupts per second without a task on the CPU (needs root)
    Irq,
}

impl KindName {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default()
    }
}

pub(crate) fn main(args: LoadArgs) -> Result<Done, Failure> {
    if let Some(parent) = args.of {
        end_with(parent)?;
    }
    let only = |option: &str, kind: KindName, given: bool| match given && args.kind != kind {
        true => Err(Failure::usage(format!(
            "{option} has no effect on the kind {}\nhint: leave out {option}, or give --kind {}",
            args.kind.name(),
            kind.name()
        ))),
        false => Ok(()),
    };
    only("--priority", KindName::Rt, args.priority.is_some())?;
    only("--directory", KindName::Io, args.directory.is_some())?;
    let cpus: Set = match &args.cpus {
        Some(CpuList(cpus)) => cpus.iter().copied().collect(),
        None => loads::allowed().map_err(Failure::system)?,
    };
    let kind = match args.kind {
        KindName::Cpu => Kind::Cpu,
        KindName::Cache => Kind::Cache,
        KindName::Memory => Kind::Memory,
        KindName::Rt => Kind::Realtime(args.priority.unwrap_or(1)),
        KindName::Compress => Kind::Compress,
        KindName::Fork => Kind::Fork,
        KindName::Io => Kind::Disk,
        KindName::Irq => Kind::Interrupts,
    };
    let mut load = Load::new(kind, cpus, Duration::from_nanos(args.seconds.0));
    if let Some(directory) = &args.directory {
        load.directory.clone_from(directory);
    }
    let topology = Machine::this().and_then(|machine| Topology::read(&machine)).map_err(Failure::system)?;
    let stop = Arc::new(AtomicBool::new(false));
    loads::stay_awake(kind)?;
    let told = stop.clone();
    ctrlc::set_handler(move || told.store(true, Ordering::Relaxed)).map_err(Failure::system)?;
    print_error(&announcement(&args, &load));
    let start = Instant::now();
    let begun = || {
        if args.tell {
            print("ready\n");
        }
    };
    let shares = loads::run(&load, &topology, &stop, begun)?;
    if stop.load(Ordering::Relaxed) {
        return Ok(Done::Interrupted);
    }
    if args.json {
        print(&to_text(&document(&args, &load, &shares, start.elapsed())));
    }
    Ok(Done::Good)
}

/// Has the kernel end this process when its parent ends.
fn end_with(parent: u32) -> Result<(), Failure> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(Failure::system)?;
    // In a session of its own: interrupts from a terminal are the parent's to deal with, and where sessions are scheduling
    // groups (sched_autogroup) this one does not share the parent's.
    setsid().map_err(Failure::system)?;
    // It may have ended before that.
    let own = getppid().map(Pid::as_raw_nonzero).and_then(|pid| u32::try_from(pid.get()).ok());
    if own == Some(parent) {
        Ok(())
    } else {
        Err(Failure::usage(format!(
            "--of {parent}: that process is not the parent of this one, or has ended"
        )))
    }
}

fn announcement(args: &LoadArgs, load: &Load) -> String {
    let time = load.time.as_secs_f64();
    format!("load: {} on CPUs {} for {time} s\n", args.kind.name(), to_list(&load.cpus))
}

fn document(args: &LoadArgs, load: &Load, shares: &[loads::Share], took: Duration) -> LoadDocument {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let worker = |share: &loads::Share| WorkerDocument {
        cpu: share.cpu,
        cpu_ns: nanos(share.cpu_time),
        work: share.work,
    };
    LoadDocument {
        kind: args.kind.name(),
        cpus: load.cpus.iter().copied().collect(),
        wall_ns: nanos(took),
        unit: load.kind.unit().into(),
        workers: shares.iter().map(worker).collect(),
    }
}

impl From<LoadError> for Failure {
    fn from(e: LoadError) -> Failure {
        match e {
            LoadError::Cpu { .. } | LoadError::Directory(..) => Failure::usage(e),
            _ => Failure::system(e),
        }
    }
}

fn bounded(text: &str) -> Result<Nanos, String> {
    let longest = LONGEST.as_secs();
    seconds(text).and_then(|n| {
        if n <= Nanos::from_secs(longest) { Ok(n) } else { Err(format!("must be at most {longest}")) }
    })
}

fn priorities() -> std::ops::RangeInclusive<i64> {
    i64::from(*loads::PRIORITIES.start())..=i64::from(*loads::PRIORITIES.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_bounded() {
        for (text, nanos) in [("0.5", 500_000_000), ("3600", 3_600_000_000_000)] {
            assert_eq!(bounded(text), Ok(Nanos(nanos)), "{text}");
        }
        for bad in ["0", "-1", "3601", "inf", "NaN", "x", ""] {
            assert!(bounded(bad).is_err(), "{bad}");
        }
    }
}
