//! Runs one hostile program at a time, measured and confined.
//!
//! # Theory of operation
//!
//! Four kinds of processes, from most to least trusted:
//!
//! 1. The **caller** (engine, command line) holds a [`Launcher`] handle. It may be multi-threaded; it never forks.
//! 2. The **launcher** is this binary executed again: single-threaded, one per slot, spoken to over one
//!    `SOCK_SEQPACKET` pair. It holds the privilege (root, or that of a user namespace), the slot's cgroups and the
//!    prepared views of the file system, and is the constant parent of every measured process. It ends, and cleans up,
//!    when the caller's end of the socket closes, however the caller ended.
//! 3. **init** is pid 1 of a run's pid namespace: a thread-like child that only reaps orphans. It dies with the launcher,
//!    and everything in the namespace dies with it.
//! 4. The **program**. Between clone and exec it is ours: it makes the system calls of a prepared [`plan`] and nothing
//!    else, the last ones being the readings against which the run is measured. After exec it is hostile.
//!
//! A request carries a `RunSpec` and descriptors; the answer is an `Observation` or a [`SandboxError`], never a verdict.
//!
//! What crosses from the program to us: its exit status, counters kept by the kernel, bytes in files and pipes that were
//! handed over, and the files in its boxes, which are opened through held directories without following links.

mod cgroup;
mod client;
mod counter;
mod error;
mod faults;
mod interrupts;
mod launcher;
mod message;
mod plan;
mod requests;
mod seccomp;
mod sys;
mod ulimits;

pub use client::{Ender, Launcher, LauncherOptions};
pub use counter::{Begin, Count, Counted, Events, counters, cycle_counter};
pub use error::{ErrorKind, SandboxError};
pub use faults::{Fault, Faults};
pub use interrupts::Interrupts;
pub use launcher::{ARGV0, covered, launcher_main};
pub use message::Capabilities;
pub use requests::{RawCounter, RawEvent};
pub use sys::stdout_was_closed;
pub use ulimits::lift;

/// Scheduling of the calling thread.
pub mod sched {
    pub use crate::sys::{become_fifo, become_round_robin};
}

/// Processes beside those of a launcher.
pub mod processes {
    pub use crate::sys::tie;
}

/// Chains of instructions whose cycles are known, and CPU time of children: for the machine's power index.
pub mod pace {
    pub use crate::sys::{add, multiply, reaped_cpu_time};
}
