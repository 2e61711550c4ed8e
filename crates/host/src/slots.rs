//! Dividing a machine's CPUs into slots: a pure function of its topology and the site's configuration.
//!
//! Whole physical cores, hyper-threads of a slot's core left empty, memory of the core's own node, and housekeeping
//! CPUs for everything else.

use crate::cpulist::Set;
use crate::facts::{Cgroups, Cpu, Topology};
use model::{Isolation, Slot, SlotPlan};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// From how many cores on housekeeping gets a second CPU where cores have but one hyper-thread.
const CORES_FOR_TWO: usize = 4;

/// Cores of a slot at most: its locks are handed over in one message.
const MOST_CORES: u32 = 16;

/// What a site wants of its slots: section `[slots]` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct SlotsConfig {
    /// Cores of a slot, 1 or more; they share a package.
    pub cores: u32,
    /// CPUs that are in no slot, as a list such as `0-3`; a core of which one CPU is named is in no slot. Empty: chosen.
    pub housekeeping: String,
    /// At most so many slots.
    pub most: Option<u32>,
}

impl Default for SlotsConfig {
    fn default() -> SlotsConfig {
        SlotsConfig { cores: 1, housekeeping: String::new(), most: None }
    }
}

/// Divides the CPUs; `rung` is the best isolation that can be had.
///
/// Housekeeping gets CPU 0's core, the slower kind of unequal cores, and, where that makes but one CPU of four or more
/// cores, one more core. A slot's CPUs are the first hyper-threads of its cores. Slots far from CPU 0 come first, since
/// interrupts and the rest of the system are near it. A machine with a single core has one slot on it and no isolation.
pub fn plan(topology: &Topology, config: &SlotsConfig, rung: Isolation) -> SlotPlan {
    let cores = topology.cores();
    let housekeeping = housekeeping(topology, &cores, &asked(config));
    let mut free: Vec<&Set> = cores.iter().filter(|core| core.is_disjoint(&housekeeping)).collect();
    let alone = free.is_empty();
    if alone {
        free = cores.iter().take(1).collect();
    }
    free.sort_by_key(|core| nearness(topology, core));
    let rung = if alone { Isolation::None } else { rung };
    let mut slots = Vec::new();
    let size = config.cores.max(1) as usize;
    while let Some(members) = take(topology, &mut free, size) {
        if config.most.is_some_and(|most| slots.len() >= most as usize) {
            break;
        }
        slots.push(slot(topology, slots.len() as u32, &members, rung));
    }
    let taken: Set = if alone { Set::new() } else { slots.iter().flat_map(Slot::all_cpus).collect() };
    SlotPlan { housekeeping: topology.online().difference(&taken).copied().collect(), slots }
}

/// Divides the CPUs and says of each slot which isolation is to be had now: the partition that tuning has made for it;
/// else a cpuset where version 2 groups have the controller; else affinity.
pub fn plan_with(topology: &Topology, cgroups: &Cgroups, config: &SlotsConfig) -> SlotPlan {
    let cpuset = cgroups.controllers.known().is_some_and(|controllers| controllers.contains("cpuset"));
    let mut plan = plan(topology, config, if cpuset { Isolation::Cpuset } else { Isolation::Affinity });
    for slot in plan.slots.iter_mut().filter(|slot| slot.isolation != Isolation::None) {
        let partition = slot.cpus.first().and_then(|first| cgroups.partitions.get(first));
        let all = slot.all_cpus();
        if partition.is_some_and(|p| p.state == "isolated" && all.iter().all(|cpu| p.cpus.contains(cpu))) {
            slot.isolation = Isolation::Partition;
        }
    }
    plan
}

impl SlotsConfig {
    /// What is wrong with them, naming the field.
    ///
    /// # Errors
    /// `cores` is 0 or too many, or `housekeeping` is no list of CPUs.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=MOST_CORES).contains(&self.cores) {
            return Err(format!("slots.cores must be 1 to {MOST_CORES}"));
        }
        match crate::cpulist::parse(&self.housekeeping) {
            Some(_) => Ok(()),
            None => Err(format!(
                "slots.housekeeping: `{}` is not a list of CPUs such as 0-1,8",
                self.housekeeping
            )),
        }
    }
}

/// The slots at each last cache. `None` where the machine does not tell which CPUs share one.
pub(crate) fn by_last_cache<'a>(
    topology: &Topology,
    slots: impl Iterator<Item = &'a Slot>,
) -> Option<Vec<Vec<&'a Slot>>> {
    let mut at_cache: BTreeMap<&Set, Vec<&Slot>> = BTreeMap::new();
    for slot in slots {
        let cpu = slot.cpus.first().and_then(|cpu| topology.cpus.get(cpu))?;
        at_cache.entry(&cpu.caches.last()?.shared).or_default().push(slot);
    }
    Some(at_cache.into_values().collect())
}

fn asked(config: &SlotsConfig) -> Set {
    crate::cpulist::parse(&config.housekeeping).unwrap_or_default()
}

fn housekeeping(topology: &Topology, cores: &[Set], asked: &Set) -> Set {
    let whole =
        |cpus: &Set| cores.iter().filter(|core| !core.is_disjoint(cpus)).flatten().copied().collect::<Set>();
    if !asked.is_empty() {
        return whole(asked);
    }
    let fastest = topology.cpus.values().filter_map(|cpu| cpu.capacity).max();
    let slow = topology.cpus.values().filter(|cpu| cpu.capacity < fastest).map(|cpu| cpu.id);
    let mut keep: Set = cores.first().into_iter().flatten().copied().chain(slow).collect();
    if keep.len() == 1 && cores.len() >= CORES_FOR_TWO {
        keep.extend(cores.get(1).into_iter().flatten());
    }
    whole(&keep)
}

/// Takes the first so many cores of one package, or nothing.
fn take<'a>(topology: &Topology, free: &mut Vec<&'a Set>, size: usize) -> Option<Vec<&'a Set>> {
    let package = |core: &Set| first(topology, core).map(|cpu| cpu.package);
    let enough = |at: &&&Set| free.iter().filter(|core| package(core) == package(at)).count() >= size;
    let of = package(free.iter().find(enough)?);
    let mut members = Vec::new();
    free.retain(|core| {
        let mine = members.len() < size && package(core) == of;
        if mine {
            members.push(*core);
        }
        !mine
    });
    Some(members)
}

fn first<'a>(topology: &'a Topology, core: &Set) -> Option<&'a Cpu> {
    topology.cpus.get(core.first()?)
}

/// Far from CPU 0 first: by distance of the memory node, then other packages, then number.
fn nearness(topology: &Topology, core: &Set) -> (Reverse<u32>, bool, u32) {
    let zero = topology.cpus.values().next();
    let cpu = first(topology, core);
    let node = |cpu: Option<&Cpu>| cpu.and_then(|cpu| cpu.node);
    let distance = match (node(zero), node(cpu)) {
        (Some(from), Some(to)) => topology.distance(from, to).unwrap_or(0),
        _ => 0,
    };
    let same_package = zero.map(|z| z.package) == cpu.map(|c| c.package);
    (Reverse(distance), same_package, cpu.map_or(0, |c| c.id))
}

fn slot(topology: &Topology, id: u32, members: &[&Set], isolation: Isolation) -> Slot {
    let cpus: Vec<u32> = members.iter().filter_map(|core| core.first().copied()).collect();
    let siblings: Set = members.iter().flat_map(|core| core.iter().skip(1)).copied().collect();
    let of = |cpu: &u32| topology.cpus.get(cpu);
    let nodes: Set = cpus.iter().filter_map(|cpu| of(cpu)?.node).collect();
    let package = cpus.first().and_then(of).map_or(0, |cpu| cpu.package);
    Slot {
        id,
        cpus,
        idle_siblings: siblings.into_iter().collect(),
        mem_nodes: nodes.into_iter().collect(),
        package,
        isolation,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cores as lists of (hyper-threads, package, node, capacity).
    fn topology(cores: &[(&[u32], u32, u32, Option<u32>)]) -> Topology {
        let mut t = Topology::default();
        for (siblings, package, node, capacity) in cores {
            for id in *siblings {
                let cpu = Cpu {
                    id: *id,
                    siblings: siblings.iter().copied().collect(),
                    package: *package,
                    node: Some(*node),
                    capacity: *capacity,
                    caches: vec![],
                };
                t.cpus.insert(*id, cpu);
            }
        }
        let nodes: Set = cores.iter().map(|c| c.2).collect();
        t.nodes = nodes
            .iter()
            .map(|a| (*a, nodes.iter().map(|b| if a == b { 10 } else { 20 }).collect()))
            .collect();
        t
    }

    /// `housekeeping | cpus+siblings@node …`
    fn shown(plan: &SlotPlan) -> String {
        let list = |cpus: &[u32]| cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let slot = |s: &Slot| format!("{}+{}@{}", list(&s.cpus), list(&s.idle_siblings), list(&s.mem_nodes));
        let slots: Vec<String> = plan.slots.iter().map(slot).collect();
        format!("{} | {}", list(&plan.housekeeping), slots.join(" "))
    }

    fn check(cores: &[(&[u32], u32, u32, Option<u32>)], config: &SlotsConfig, expected: &str) {
        let plan = plan(&topology(cores), config, Isolation::Partition);
        assert_eq!(shown(&plan), expected);
        let all: Vec<u32> = plan.slots.iter().flat_map(Slot::all_cpus).collect();
        assert_eq!(all.len(), all.iter().copied().collect::<Set>().len(), "slots overlap");
    }

    #[test]
    fn shapes() {
        let usual = SlotsConfig::default();
        check(&[(&[0], 0, 0, None)], &usual, "0 | 0+@0");
        check(&[(&[0], 0, 0, None), (&[1], 0, 0, None)], &usual, "0 | 1+@0");
        let four: Vec<(&[u32], u32, u32, Option<u32>)> =
            vec![(&[0], 0, 0, None), (&[1], 0, 0, None), (&[2], 0, 0, None), (&[3], 0, 0, None)];
        check(&four, &usual, "0,1 | 2+@0 3+@0");
        // Two packages, hyper-threads adjacent.
        let server: Vec<(&[u32], u32, u32, Option<u32>)> =
            vec![(&[0, 1], 0, 0, None), (&[2, 3], 0, 0, None), (&[4, 5], 1, 1, None), (&[6, 7], 1, 1, None)];
        check(&server, &usual, "0,1 | 4+5@1 6+7@1 2+3@0");
        // CPUs numbered alternately over the packages, hyper-threads far apart.
        let alternating: Vec<(&[u32], u32, u32, Option<u32>)> =
            vec![(&[0, 4], 0, 0, None), (&[1, 5], 1, 1, None), (&[2, 6], 0, 0, None), (&[3, 7], 1, 1, None)];
        check(&alternating, &usual, "0,4 | 1+5@1 3+7@1 2+6@0");
        // Two fast cores with hyper-threads, two slow ones.
        let hybrid: Vec<(&[u32], u32, u32, Option<u32>)> = vec![
            (&[0, 1], 0, 0, Some(1024)),
            (&[2, 3], 0, 0, Some(1024)),
            (&[4], 0, 0, Some(512)),
            (&[5], 0, 0, Some(512)),
        ];
        check(&hybrid, &usual, "0,1,4,5 | 2+3@0");
        check(&server, &SlotsConfig { cores: 2, ..usual.clone() }, "0,1,2,3 | 4,6+5,7@1");
        check(&server, &SlotsConfig { housekeeping: "6".into(), ..usual.clone() }, "6,7 | 4+5@1 0+1@0 2+3@0");
        check(&server, &SlotsConfig { most: Some(1), ..usual }, "0,1,2,3,6,7 | 4+5@1");
    }

    #[test]
    fn a_single_core_is_shared() {
        let plan = plan(&topology(&[(&[0, 1], 0, 0, None)]), &SlotsConfig::default(), Isolation::Partition);
        assert_eq!((shown(&plan).as_str(), plan.slots[0].isolation), ("0,1 | 0+1@0", Isolation::None));
    }
}
