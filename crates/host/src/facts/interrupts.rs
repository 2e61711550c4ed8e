//! Interrupts of devices and the network work that follows them: where they may be served.
//!
//! Sources: Documentation/core-api/irq/irq-affinity.rst, Documentation/networking/scaling.rst, proc(5) on
//! /proc/interrupts.

use super::text;
use crate::cpulist::{self, Set};
use crate::machine::Machine;
use model::Reading;
use std::collections::BTreeMap;

/// Interrupts and what follows them.
#[derive(Clone, Debug, PartialEq)]
pub struct Interrupts {
    /// Those of devices, by number.
    pub devices: Reading<Vec<Interrupt>>,
    /// Where those that are yet to come will be served.
    pub default: Reading<Set>,
    /// Queues of network devices whose packets software spreads over CPUs: the file, and the CPUs. Others are not named.
    pub spread: Vec<(String, Set)>,
    /// Queues whose file may not be read.
    pub spread_unknown: Option<String>,
    /// Queues that were looked at.
    pub queues: usize,
}

/// An interrupt of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// Its number.
    pub number: u32,
    /// Its device or devices.
    pub name: String,
    /// How often each CPU has served it since the start.
    pub counts: BTreeMap<u32, u64>,
    /// Where it may be served.
    pub allowed: Reading<Set>,
    /// Where it is served now; `None` where this kernel does not say.
    pub effective: Option<Set>,
}

impl Interrupts {
    /// Reads it.
    pub fn read(machine: &Machine) -> Interrupts {
        let set = |path: &str| {
            let parsed = |list: String| {
                Reading::from_option(cpulist::parse(&list), || format!("{path}: `{list}` is not a list"))
            };
            text(machine, path).and_then(parsed)
        };
        let complete = |irq: Interrupt| {
            let at = format!("/proc/irq/{}", irq.number);
            let effective = machine.read(&format!("{at}/effective_affinity_list")).ok();
            Interrupt {
                allowed: set(&format!("{at}/smp_affinity_list")),
                effective: effective.and_then(|list| cpulist::parse(&list)).filter(|cpus| !cpus.is_empty()),
                ..irq
            }
        };
        let default = text(machine, "/proc/irq/default_smp_affinity").and_then(|mask| {
            Reading::from_option(cpulist::parse_mask(&mask), || format!("`{mask}` is not a mask"))
        });
        let devices = text(machine, "/proc/interrupts")
            .map(|table| devices(&table).into_iter().map(complete).collect());
        let mut all = Interrupts { devices, default, spread: vec![], spread_unknown: None, queues: 0 };
        all.look_at_queues(machine);
        all
    }

    fn look_at_queues(&mut self, machine: &Machine) {
        for device in machine.list("/sys/class/net").unwrap_or_default() {
            let queues = format!("/sys/class/net/{device}/queues");
            for queue in machine.list(&queues).unwrap_or_default() {
                let name = if queue.starts_with("rx-") { "rps_cpus" } else { "xps_cpus" };
                let file = format!("{queues}/{queue}/{name}");
                match machine.read(&file).map(|mask| cpulist::parse_mask(&mask)) {
                    Ok(Some(cpus)) => {
                        self.queues += 1;
                        if !cpus.is_empty() {
                            self.spread.push((file, cpus));
                        }
                    }
                    Ok(None) => self.spread_unknown = Some(format!("{file} holds no mask")),
                    Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
                        self.spread_unknown = Some(super::why(&file, &e));
                    }
                    // A queue that has no such file, or of a device without several queues.
                    Err(_) => {}
                }
            }
        }
    }
}

/// The numbered lines of /proc/interrupts: a number, a count for each CPU of the header, then chip and devices.
fn devices(table: &str) -> Vec<Interrupt> {
    let mut lines = table.lines();
    let header = lines.next().unwrap_or_default();
    let cpus: Vec<u32> =
        header.split_whitespace().filter_map(|word| word.strip_prefix("CPU")?.parse().ok()).collect();
    let interrupt = |line: &str| {
        let (number, rest) = line.split_once(':')?;
        let number = number.trim().parse().ok()?;
        let mut words = rest.split_whitespace();
        let counts: Option<BTreeMap<u32, u64>> =
            cpus.iter().map(|cpu| Some((*cpu, words.next()?.parse().ok()?))).collect();
        let name = device(&words.collect::<Vec<_>>());
        Some(Interrupt {
            number,
            name,
            counts: counts?,
            allowed: Reading::unknown("not read"),
            effective: None,
        })
    };
    lines.filter_map(interrupt).collect()
}

/// What stands behind the chip and the kind of trigger: `IO-APIC 2-edge timer`, `PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0`.
fn device(words: &[&str]) -> String {
    let trigger =
        |word: &&str| word.contains("-edge") || word.contains("-fasteoi") || word.contains("-level");
    let behind = words.iter().position(trigger).map_or(1, |at| at + 1);
    words.get(behind..).unwrap_or_default().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_interrupts() {
        let table = "           CPU0       CPU2\n  0:   23  0  IO-APIC   2-edge      timer\n  8:    1  0  IO-APIC   8-edge\n\
                     \x2036:  0  889105 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n\
                     NMI:  0  0   Non-maskable interrupts\nERR:  0\n";
        let all = devices(table);
        let short: Vec<(u32, &str, u64)> = all.iter().map(|i| (i.number, &*i.name, i.counts[&2])).collect();
        assert_eq!(short, [(0, "timer", 0), (8, "", 0), (36, "virtio1-req.0", 889_105)]);
    }
}
