//! Facts about a machine: read here, judged elsewhere. What could not be read says why.

mod boot;
mod cgroups;
mod clock;
mod frequency;
mod grants;
mod idle;
mod interrupts;
mod kernel;
mod memory;
mod nodes;
mod platform;
mod tasks;
mod topology;

pub use boot::Boot;
pub use cgroups::{Cgroups, Mounts, PARTITION, Partition, Quota, Tree};
pub use clock::{Clock, Stolen};
pub use frequency::{Frequency, PowerLimit, Range, TurboSwitch, Uncore};
pub use grants::Grants;
pub use idle::{Idle, State};
pub use interrupts::{Interrupt, Interrupts};
pub use kernel::Kernel;
pub(crate) use memory::{CACHE_GROUP, GUEST_PAGES_RECOVERY, RESCTRL};
pub use memory::{CacheGroup, CacheLimits, Memory};
pub use nodes::{Node, Nodes};
pub use platform::Platform;
pub use tasks::{Task, Tasks};
pub use topology::{Cache, Cpu, Topology};

use crate::machine::Machine;
use model::Reading;
use std::io;

/// Everything an audit, a slot plan and a tuning plan are derived from.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Processors, cores, packages, memory nodes, caches.
    pub topology: Topology,
    /// What kind of machine it is: hypervisor, container, processor, kernel, firmware.
    pub platform: Platform,
    /// What this process is allowed.
    pub grants: Grants,
    /// How fast the processors run.
    pub frequency: Frequency,
    /// How deep idle processors sleep.
    pub idle: Idle,
    /// Memory nodes, and how much each has.
    pub nodes: Nodes,
    /// What the kernel does with memory by itself.
    pub memory: Memory,
    /// Control groups.
    pub cgroups: Cgroups,
    /// Clock source and stolen time.
    pub clock: Clock,
    /// What the kernel was told when it started.
    pub boot: Boot,
    /// Interrupts of devices, and what follows them.
    pub interrupts: Interrupts,
    /// The kernel's periodic and deferred work.
    pub kernel: Kernel,
    /// Processes and threads of the kernel.
    pub tasks: Tasks,
}

impl Facts {
    /// Reads everything.
    ///
    /// # Errors
    /// Where even the processors cannot be read, nothing can be said of the machine.
    pub fn gather(machine: &Machine) -> io::Result<Facts> {
        let topology = Topology::read(machine)?;
        Ok(Facts {
            platform: Platform::read(machine),
            grants: Grants::read(machine),
            frequency: Frequency::read(machine, &topology),
            idle: Idle::read(machine, &topology),
            nodes: Nodes::read(machine),
            memory: Memory::read(machine),
            cgroups: Cgroups::read(machine),
            clock: Clock::read(machine),
            boot: Boot::read(machine),
            interrupts: Interrupts::read(machine),
            kernel: Kernel::read(machine, &topology.online()),
            tasks: Tasks::read(machine),
            topology,
        })
    }
}

/// A file's text as a reading whose reason names the file.
pub(crate) fn text(machine: &Machine, path: &str) -> Reading<String> {
    match machine.read(path) {
        Ok(text) => Reading::Known(text),
        Err(e) => Reading::unknown(why(path, &e)),
    }
}

/// The same, or `None` where there is no such file: what is not there is another thing than what may not be read.
pub(crate) fn text_if_any(machine: &Machine, path: &str) -> Option<Reading<String>> {
    match machine.read(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        Ok(text) => Some(Reading::Known(text)),
        Err(e) => Some(Reading::unknown(why(path, &e))),
    }
}

/// A file's number as a reading whose reason names the file.
pub(crate) fn number<T: std::str::FromStr>(machine: &Machine, path: &str) -> Reading<T> {
    match machine.number(path) {
        Ok(number) => Reading::Known(number),
        Err(e) => Reading::unknown(why(path, &e)),
    }
}

/// Why a file could not be read, naming it.
pub(crate) fn why(path: &str, e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::NotFound => format!("no {path}"),
        io::ErrorKind::PermissionDenied => format!("{path} may not be read by this user"),
        _ if e.to_string().contains(path) => e.to_string(),
        _ => format!("{path}: {e}"),
    }
}
