//! Making a machine quiet, and putting it back.
//!
//! [`plan`] lists what would be changed; it only reads. [`apply`] notes each value found in the [`Journal`], on disk,
//! before it writes, reads back what it wrote, and goes on when one change is refused. [`undo`] restores what was found,
//! in reverse, whenever and however `apply` ended. Everything that is changed is a [`Target`]: something with a text as
//! its value.

mod apply;
mod boot;
pub(crate) mod cache;
mod config;
mod cpu;
mod interrupts;
mod journal;
mod kernel;
mod knobs;
mod partition;
mod plan;
mod target;
mod tasks;
#[cfg(test)]
mod tests;
mod undo;

pub use apply::apply;
pub use boot::{Boot, boot};
pub use config::{Profile, ProfileError, TuneConfig, known};
pub use journal::{Journal, JournalError, Record, Standing};
pub use knobs::{Knobs, Writer, hold_cpu_dma_latency};
pub use partition::group_of;
pub use plan::plan;
pub use target::{Form, Target};
pub use undo::{present, undo};

use crate::machine::Machine;
use serde::{Deserialize, Serialize};
use std::io;
use std::ops::ControlFlow;

/// Which start of the system this is; the same until it is restarted.
///
/// # Errors
/// The kernel does not tell.
pub fn boot_id(machine: &Machine) -> io::Result<String> {
    machine.read("/proc/sys/kernel/random/boot_id")
}

/// One change, as planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The audit's id of what it quietens.
    pub id: String,
    /// What is changed.
    pub target: Target,
    /// Its value before.
    pub found: String,
    /// Its value after.
    pub want: String,
}

/// Asked before each change with the number of those already made: shows progress, and may stop between two changes.
pub type Between<'a> = &'a mut dyn FnMut(usize, &Change) -> ControlFlow<()>;

/// What came of applying or undoing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The records of the journal that were worked on, in the order of the changes.
    pub records: Vec<Record>,
    /// It was stopped between two changes.
    pub stopped: bool,
}
