//! The map of memory nodes: from facts to what lies where, and what is worth knowing about it. Pure.

use crate::cpulist::{self, Set};
use crate::facts::{Cache, Node, Nodes, Topology};
use model::{NumaCache, NumaCore, NumaMap, NumaNode, Reading};
use std::collections::{BTreeMap, BTreeSet};

/// The map. `guest`: what shows a hypervisor below the kernel, if anything does.
pub fn map(topology: &Topology, nodes: &Nodes, guest: Option<&str>) -> NumaMap {
    let found = match &nodes.nodes {
        Reading::Known(nodes) => nodes.clone(),
        Reading::Unknown(_) => BTreeMap::from([(0, whole(topology, nodes))]),
    };
    let distances = match &nodes.nodes {
        Reading::Known(nodes) => distances(nodes),
        Reading::Unknown(why) => Reading::Unknown(why.clone()),
    };
    let packages = |cpus: &Set| -> Vec<u32> {
        let packages: Set =
            cpus.iter().filter_map(|cpu| topology.cpus.get(cpu)).map(|cpu| cpu.package).collect();
        packages.into_iter().collect()
    };
    let node = |(id, node): (&u32, &Node)| NumaNode {
        id: *id,
        cpus: node.cpus.iter().copied().collect(),
        packages: packages(&node.cpus),
        memory: node.memory.clone(),
        free: node.free.clone(),
    };
    let mut map = NumaMap {
        nodes: found.iter().map(node).collect(),
        distances,
        cores: cores(topology, &found),
        offline: topology.offline.iter().copied().collect(),
        notes: Vec::new(),
    };
    map.notes = notes(&map, nodes, guest);
    map
}

/// A kernel without nodes has one, to whoever runs on it.
fn whole(topology: &Topology, nodes: &Nodes) -> Node {
    let [memory, free] = nodes.whole.clone();
    Node { cpus: topology.online(), memory, free, distances: BTreeMap::new() }
}

fn distances(nodes: &BTreeMap<u32, Node>) -> Reading<Vec<Vec<u32>>> {
    let row = |node: &Node| -> Option<Vec<u32>> {
        nodes.keys().map(|to| node.distances.get(to).copied()).collect()
    };
    let rows: Option<Vec<Vec<u32>>> = nodes.values().map(row).collect();
    Reading::from_option(rows, || {
        "no distance for each two nodes in /sys/devices/system/node/node*/distance".into()
    })
}

fn cores(topology: &Topology, nodes: &BTreeMap<u32, Node>) -> Vec<NumaCore> {
    let list = |set: &Set| set.iter().copied().collect::<Vec<u32>>();
    let cache =
        |cache: &Cache| NumaCache { level: cache.level, size: cache.size.clone(), cpus: list(&cache.shared) };
    let core = |cpus: Set| {
        let first = *cpus.first()?;
        let cpu = topology.cpus.get(&first)?;
        Some(NumaCore {
            cpus: list(&cpus),
            package: cpu.package,
            node: nodes.iter().find(|(_, node)| node.cpus.contains(&first)).map(|(id, _)| *id),
            caches: cpu.caches.iter().map(cache).collect(),
        })
    };
    topology.cores().into_iter().filter_map(core).collect()
}

fn notes(map: &NumaMap, nodes: &Nodes, guest: Option<&str>) -> Vec<String> {
    let mut notes = Vec::new();
    let has_memory = |node: &&NumaNode| node.memory.known().is_none_or(|bytes| bytes.0 > 0);
    let with_memory: Vec<&NumaNode> = map.nodes.iter().filter(has_memory).collect();
    if let Reading::Unknown(why) = &nodes.nodes {
        notes.push(format!("the kernel reports no memory nodes ({why}); all memory counts as one node"));
    }
    if with_memory.len() < 2 {
        notes.push("one memory node: every access is to own memory, there is nothing to diagnose".into());
    }
    if let Some(why) = guest {
        notes.push(format!(
            "in a virtual machine ({why}): the hypervisor says which nodes there are, and may show fewer, or others, than the hardware has"
        ));
    }
    let with_cpus: BTreeSet<u32> = map.nodes.iter().filter(|n| !n.cpus.is_empty()).map(|n| n.id).collect();
    for node in &map.nodes {
        let cpus = !node.cpus.is_empty();
        match (cpus, has_memory(&node)) {
            (false, true) => notes.push(format!(
                "node {} has memory and no CPU, as expansion memory, memory on the package or persistent memory have: it is remote to every \
                 program{}",
                node.id,
                nearest(map, node.id, |n| with_cpus.contains(&n.id))
            )),
            (true, false) => notes.push(format!(
                "node {} has CPUs and no memory: programs that run there have all their memory on other nodes{}",
                node.id,
                nearest(map, node.id, |n| has_memory(&n))
            )),
            (false, false) => notes.push(format!("node {} has neither CPU nor memory", node.id)),
            (true, true) => {}
        }
    }
    notes.extend(clusters(map));
    if !map.offline.is_empty() {
        let offline: Set = map.offline.iter().copied().collect();
        notes.push(format!("CPUs {} are switched off", cpulist::to_list(&offline)));
    }
    notes
}

/// `, nearest is node 0 at 17`: the nearest of some other nodes.
fn nearest(map: &NumaMap, from: u32, wanted: impl Fn(&NumaNode) -> bool) -> String {
    let row = map.nodes.iter().position(|node| node.id == from);
    let row = row.and_then(|row| map.distances.known()?.get(row));
    let others = map.nodes.iter().zip(row.into_iter().flatten());
    let nearest =
        others.filter(|(node, _)| node.id != from && wanted(node)).min_by_key(|(_, distance)| **distance);
    nearest
        .map_or_else(String::new, |(node, distance)| format!(", nearest is node {} at {distance}", node.id))
}

/// Packages of several nodes, and nodes of several packages.
fn clusters(map: &NumaMap) -> Vec<String> {
    let mut of_package: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for node in &map.nodes {
        node.packages.iter().for_each(|package| of_package.entry(*package).or_default().push(node.id));
    }
    let several: Vec<String> = of_package
        .iter()
        .filter(|(_, nodes)| nodes.len() > 1)
        .map(|(package, nodes)| {
            let nodes: Set = nodes.iter().copied().collect();
            format!("package {package} is nodes {}", cpulist::to_list(&nodes))
        })
        .collect();
    let mut notes = Vec::new();
    if !several.is_empty() {
        notes.push(format!(
            "packages are divided (sub-NUMA clusters, or nodes per socket): {}",
            several.join("; ")
        ));
    }
    for node in map.nodes.iter().filter(|node| node.packages.len() > 1) {
        let packages: Set = node.packages.iter().copied().collect();
        notes.push(format!(
            "node {} spans packages {}: memory of the packages is interleaved, or the kernel was told nothing of nodes (firmware setting, \
             numa=off), so no process can be bound to near memory",
            node.id,
            cpulist::to_list(&packages)
        ));
    }
    notes
}
