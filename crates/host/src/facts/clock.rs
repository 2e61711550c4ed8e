//! By which clock the kernel tells time, and how much time a hypervisor has taken.
//!
//! Sources: Documentation/timers/timekeeping.rst, Documentation/filesystems/proc.rst (stat).

use super::text;
use crate::machine::Machine;
use model::Reading;
use std::collections::BTreeMap;

const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0";

/// By which clock the kernel tells time, and how much time a hypervisor has taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Clock {
    /// The clock in use.
    pub source: Reading<String>,
    /// Those that could be used.
    pub available: Vec<String>,
    /// Time since the start by CPU.
    pub stolen: Reading<BTreeMap<u32, Stolen>>,
}

/// What a hypervisor has taken of a CPU since the start, in ticks of USER_HZ (1/100 s).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stolen {
    /// The CPU had work and was not run.
    pub steal: u64,
    /// All time, that included.
    pub total: u64,
}

impl Clock {
    /// Reads it.
    pub fn read(machine: &Machine) -> Clock {
        let available = machine.read(&format!("{SOURCE}/available_clocksource")).unwrap_or_default();
        Clock {
            source: text(machine, &format!("{SOURCE}/current_clocksource")),
            available: available.split_whitespace().map(String::from).collect(),
            stolen: text(machine, "/proc/stat").map(|stat| stat.lines().filter_map(stolen).collect()),
        }
    }
}

/// Of a line `cpuN user nice system idle iowait irq softirq steal guest guest_nice`; the last two are within the first.
fn stolen(line: &str) -> Option<(u32, Stolen)> {
    let mut words = line.split_whitespace();
    let cpu = words.next()?.strip_prefix("cpu")?.parse().ok()?;
    let ticks: Vec<u64> = words.take(8).filter_map(|n| n.parse().ok()).collect();
    Some((cpu, Stolen { steal: *ticks.get(7)?, total: ticks.iter().sum() }))
}
