//! Memory nodes: how much memory each has, which CPUs, and how far they are from each other.
//!
//! Sources: Documentation/ABI/stable/sysfs-devices-node; Documentation/filesystems/proc.rst (meminfo) where the kernel knows no
//! nodes.

use super::why;
use crate::cpulist::{self, Set};
use crate::machine::Machine;
use model::{Bytes, Reading};
use std::collections::BTreeMap;

const NODES: &str = "/sys/devices/system/node";

/// All nodes that are online, also those without CPUs and those without memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Nodes {
    /// By number; or why the kernel tells of none, as where it is built without them.
    pub nodes: Reading<BTreeMap<u32, Node>>,
    /// Memory of the whole machine, and how much of it is free.
    pub whole: [Reading<Bytes>; 2],
}

/// A memory node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its CPUs that are online.
    pub cpus: Set,
    /// Its memory.
    pub memory: Reading<Bytes>,
    /// How much of it is free.
    pub free: Reading<Bytes>,
    /// To each node, by its number: 10 is the node itself (ACPI, System Locality Information Table).
    pub distances: BTreeMap<u32, u32>,
}

impl Nodes {
    /// Reads it.
    pub fn read(machine: &Machine) -> Nodes {
        let online = format!("{NODES}/online");
        let list = machine.read(&online).map_err(|e| why(&online, &e));
        let ids = list.and_then(|list| {
            cpulist::parse(&list).ok_or_else(|| format!("{online}: `{list}` is not a list of nodes"))
        });
        let nodes = ids.map(|ids| ids.iter().map(|id| (*id, node(machine, *id, &ids))).collect());
        Nodes { nodes: Reading::from_result(nodes), whole: meminfo(machine, "/proc/meminfo") }
    }
}

fn node(machine: &Machine, id: u32, all: &Set) -> Node {
    let file = |name: &str| machine.read(&format!("{NODES}/node{id}/{name}")).ok();
    let row = file("distance").unwrap_or_default();
    let row: Vec<u32> = row.split_whitespace().filter_map(|d| d.parse().ok()).collect();
    // One for each node that is online, in their order.
    let whole = row.len() == all.len();
    let [memory, free] = meminfo(machine, &format!("{NODES}/node{id}/meminfo"));
    Node {
        cpus: file("cpulist").and_then(|list| cpulist::parse(&list)).unwrap_or_default(),
        memory,
        free,
        distances: all.iter().copied().zip(row).filter(|_| whole).collect(),
    }
}

/// `MemTotal` and `MemFree`, which stand behind `Node 0` in the file of a node.
fn meminfo(machine: &Machine, path: &str) -> [Reading<Bytes>; 2] {
    let text = machine.read(path).map_err(|e| why(path, &e));
    ["MemTotal:", "MemFree:"].map(|field| {
        let text = match &text {
            Ok(text) => text,
            Err(why) => return Reading::unknown(why.clone()),
        };
        let kib = text.lines().find_map(|line| {
            let (_, value) = line.split_once(field)?;
            value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
        });
        let bytes = kib.and_then(|kib| kib.checked_mul(1024)).map(Bytes);
        Reading::from_option(bytes, || format!("{path} has no `{field}` in kB"))
    })
}
