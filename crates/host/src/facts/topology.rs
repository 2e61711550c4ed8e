//! Processors, cores, packages, memory nodes and caches.
//!
//! Sources: Documentation/admin-guide/cputopology.rst, Documentation/ABI/stable/sysfs-devices-system-cpu and
//! sysfs-devices-node.

use crate::cpulist::{self, Set};
use crate::machine::Machine;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

/// A logical processor that is online.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Its number.
    pub id: u32,
    /// Hyper-threads of its core, itself included, as far as online.
    pub siblings: Set,
    /// The package (socket).
    pub package: u32,
    /// The memory node; `None` where the kernel names none.
    pub node: Option<u32>,
    /// Its speed among unequal ones, 1024 for the fastest; `None` where all are equal. From `cpu_capacity`, or from
    /// `cpu_core` and `cpu_atom` of hybrid x86 processors (512 stands for the slower kind there).
    pub capacity: Option<u32>,
    /// Its caches, innermost first.
    pub caches: Vec<Cache>,
}

/// A cache of data or of data and instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1, 2, 3 …
    pub level: u32,
    /// Size as the kernel writes it, such as `32K`.
    pub size: String,
    /// Processors that share it.
    pub shared: Set,
}

/// The machine's processors and memory nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Online processors by number.
    pub cpus: BTreeMap<u32, Cpu>,
    /// Processors that are there but switched off.
    pub offline: Set,
    /// The switch of simultaneous multithreading: `on`, `off`, `forceoff`, or `notsupported` where the processor, or the
    /// one that a hypervisor shows, has none (Documentation/ABI/testing/sysfs-devices-system-cpu).
    pub smt_control: Option<String>,
    /// Memory nodes with memory, and the distance to each node as the firmware tells it (10 is the node itself).
    pub nodes: BTreeMap<u32, Vec<u32>>,
}

impl Topology {
    /// Reads it.
    ///
    /// # Errors
    /// The list of online processors cannot be read.
    pub fn read(machine: &Machine) -> io::Result<Topology> {
        let set = |path: &str| machine.read(path).ok().and_then(|list| cpulist::parse(&list));
        let online = machine.read(&format!("{CPUS}/online"))?;
        let online = cpulist::parse(&online).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{CPUS}/online: `{online}` is not a list"))
        })?;
        let of_node = nodes_of_cpus(machine);
        let (fast, slow) = (set("/sys/devices/cpu_core/cpus"), set("/sys/devices/cpu_atom/cpus"));
        let cpu = |id: u32| {
            let topology = |name: &str| format!("{CPUS}/cpu{id}/topology/{name}");
            let mut siblings = set(&topology("thread_siblings_list")).unwrap_or_default();
            siblings.insert(id);
            let hybrid = match (&fast, &slow) {
                (Some(fast), Some(slow)) if !slow.is_empty() => {
                    Some(if fast.contains(&id) { 1024 } else { 512 })
                }
                _ => None,
            };
            Cpu {
                id,
                siblings: siblings.intersection(&online).copied().collect(),
                // -1 where the architecture names none.
                package: machine
                    .number::<i64>(&topology("physical_package_id"))
                    .ok()
                    .and_then(|p| p.try_into().ok())
                    .unwrap_or(0),
                node: of_node.get(&id).copied(),
                capacity: hybrid.or_else(|| machine.number(&format!("{CPUS}/cpu{id}/cpu_capacity")).ok()),
                caches: caches(machine, id),
            }
        };
        let mut cpus: BTreeMap<u32, Cpu> = online.iter().map(|id| (*id, cpu(*id))).collect();
        let capacities: BTreeSet<Option<u32>> = cpus.values().map(|cpu| cpu.capacity).collect();
        if capacities.len() == 1 {
            cpus.values_mut().for_each(|cpu| cpu.capacity = None);
        }
        let offline = set(&format!("{CPUS}/offline")).unwrap_or_default();
        let present = set(&format!("{CPUS}/present"));
        let offline =
            offline.into_iter().filter(|cpu| present.as_ref().is_none_or(|p| p.contains(cpu))).collect();
        let smt_control = machine.read(&format!("{CPUS}/smt/control")).ok();
        Ok(Topology { cpus, offline, smt_control, nodes: nodes(machine) })
    }

    /// Online processors.
    pub fn online(&self) -> Set {
        self.cpus.keys().copied().collect()
    }

    /// Physical cores, as the sets of their online hyper-threads, by lowest number.
    pub fn cores(&self) -> Vec<Set> {
        let cores: BTreeSet<(Option<u32>, Set)> =
            self.cpus.values().map(|cpu| (cpu.siblings.first().copied(), cpu.siblings.clone())).collect();
        cores.into_iter().map(|(_, siblings)| siblings).collect()
    }

    /// Whether some core has more than one hyper-thread online.
    pub fn has_smt(&self) -> bool {
        self.cpus.values().any(|cpu| cpu.siblings.len() > 1)
    }

    /// Whether the processor, or the one that a hypervisor shows, has hyper-threads, online or not.
    pub fn shows_smt(&self) -> bool {
        let switch = self.smt_control.as_deref();
        self.has_smt() || matches!(switch, Some("on" | "off" | "forceoff"))
    }

    /// Distance between two nodes as the firmware tells it; 10 to itself (ACPI SLIT).
    pub fn distance(&self, from: u32, to: u32) -> Option<u32> {
        let at = self.nodes.keys().position(|node| *node == to)?;
        self.nodes.get(&from)?.get(at).copied()
    }
}

fn nodes_of_cpus(machine: &Machine) -> BTreeMap<u32, u32> {
    let ids = machine
        .read(&format!("{NODES}/online"))
        .ok()
        .and_then(|list| cpulist::parse(&list))
        .unwrap_or_default();
    let cpus = |node: &u32| {
        machine.read(&format!("{NODES}/node{node}/cpulist")).ok().and_then(|l| cpulist::parse(&l))
    };
    ids.iter().flat_map(|node| cpus(node).unwrap_or_default().into_iter().map(|cpu| (cpu, *node))).collect()
}

fn nodes(machine: &Machine) -> BTreeMap<u32, Vec<u32>> {
    let with_memory =
        machine.read(&format!("{NODES}/has_memory")).or_else(|_| machine.read(&format!("{NODES}/online")));
    let ids = with_memory.ok().and_then(|list| cpulist::parse(&list)).unwrap_or_default();
    // A row has a number for each node that is online, also for those without memory.
    let online = machine.read(&format!("{NODES}/online")).ok().and_then(|list| cpulist::parse(&list));
    let online = online.unwrap_or_else(|| ids.clone());
    let distances = |node: u32| {
        let text = machine.read(&format!("{NODES}/node{node}/distance")).unwrap_or_default();
        let row = text.split_whitespace().filter_map(|d| d.parse().ok());
        online.iter().zip(row).filter(|(to, _)| ids.contains(to)).map(|(_, distance)| distance).collect()
    };
    ids.iter().map(|node| (*node, distances(*node))).collect()
}

fn caches(machine: &Machine, cpu: u32) -> Vec<Cache> {
    let directory = format!("{CPUS}/cpu{cpu}/cache");
    let indexes = machine.list(&directory).unwrap_or_default();
    let cache = |index: &String| {
        let file = |name: &str| machine.read(&format!("{directory}/{index}/{name}")).ok();
        let data = file("type").is_none_or(|kind| kind != "Instruction");
        let level = file("level")?.parse().ok()?;
        let shared = file("shared_cpu_list").and_then(|list| cpulist::parse(&list))?;
        data.then(|| Cache { level, size: file("size").unwrap_or_default(), shared })
    };
    let mut caches: Vec<Cache> =
        indexes.iter().filter(|index| index.starts_with("index")).filter_map(cache).collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}
