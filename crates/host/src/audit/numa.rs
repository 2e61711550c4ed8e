//! Memory nodes and shared caches.

use super::cpu::keep_house;
use super::{Judged, Seen, at_run_time, finding, setting, unless_hidden};
use crate::cpulist::Set;
use crate::facts::CacheGroup;
use crate::{slots, tune};
use model::{Finding, Severity, Slot};
use std::collections::BTreeSet;

pub(super) fn numa_balancing(seen: &Seen) -> Finding {
    let f = finding(
        "numa_balancing",
        Severity::Medium,
        "the kernel unmaps pages to see by the faults who uses them, and then moves them: extra faults during the run",
    )
    .read_from("/proc/sys/kernel/numa_balancing");
    let off = at_run_time("sysctl -w kernel.numa_balancing=0");
    setting(f, &seen.facts.memory.numa_balancing, |value| value == "0", off)
}

/// The sandbox binds a run's memory to the nodes of its slot (set_mempolicy(2), or `cpuset.mems`): one node, with memory.
pub(super) fn numa_placement(seen: &Seen) -> Finding {
    let f = finding(
        "numa_placement",
        Severity::High,
        "memory of another node is slower to reach: 2.5 % of a run's time, 0.5 % once memory was bound (Yandex.Contest)",
    )
    .read_from("/sys/devices/system/node/has_memory, node*/cpulist");
    let nodes = &seen.facts.topology.nodes;
    if nodes.len() < 2 {
        return unless_hidden(seen, f.not_applicable("one memory node"));
    }
    let bad = |slot: &&Slot| match &slot.mem_nodes[..] {
        [node] => !nodes.contains_key(node),
        _ => true,
    };
    let all: Vec<String> =
        seen.slots.slots.iter().map(|s| format!("slot {} on {:?}", s.id, s.mem_nodes)).collect();
    let stray: Set = seen.slots.slots.iter().filter(bad).flat_map(Slot::all_cpus).collect();
    if stray.is_empty() {
        return unless_hidden(
            seen,
            f.ok(format!("each slot's memory is bound to its own node: {}", all.join(", "))),
        );
    }
    let housekeeping: Set = seen.slots.housekeeping.iter().copied().chain(stray).collect();
    f.bad(
        format!("slots of several nodes, or of one without memory: {}", all.join(", ")),
        keep_house(&housekeeping),
    )
}

/// Ok where each slot has a part of the last cache, or is the only slot at one.
pub(super) fn cache_partition(seen: &Seen) -> Finding {
    let f = finding(
        "cache_partition",
        Severity::High,
        "programs on other cores evict this one's lines and take memory bandwidth: CPU time rose 3.6 to 5.1 % with one \
         other program (measured), linearly with their number in cache-hostile ones",
    )
    .read_from("/sys/devices/system/cpu/cpu*/cache/index*/shared_cpu_list, /sys/fs/resctrl");
    let memory = &seen.facts.memory;
    let Some(at_cache) = slots::by_last_cache(&seen.facts.topology, seen.slots.slots.iter()) else {
        return unless_hidden(seen, f.unknown("which CPUs share a cache is not reported"));
    };
    let most = at_cache.iter().map(Vec::len).max().unwrap_or(0);
    if most < 2 {
        return unless_hidden(
            seen,
            f.ok("no two slots share their last cache; housekeeping CPUs may share it"),
        );
    }
    let groups = memory.cache_groups.as_deref().unwrap_or(&[]);
    let group = |slot: &&Slot| {
        let holds = |group: &CacheGroup| slot.cpus.iter().all(|cpu| group.cpus.contains(cpu));
        groups.iter().position(|group| group.exclusive && holds(group))
    };
    let partitioned = |slots: &Vec<&Slot>| {
        let distinct: BTreeSet<usize> = slots.iter().filter_map(group).collect();
        slots.len() < 2 || distinct.len() == slots.len()
    };
    if at_cache.iter().all(partitioned) {
        return unless_hidden(seen, f.ok("each slot has a partition of its last cache"));
    }
    let observed = format!("up to {most} slots share a last cache");
    let tune = "tauto tune apply --only cache_partition";
    if tune::cache::shares(memory, most).is_some() {
        return f.bad(observed, at_run_time(tune));
    }
    if memory.cache_groups.is_none() && seen.facts.platform.features.contains("cat_l3") {
        let mount = format!("mount -t resctrl resctrl /sys/fs/resctrl; {tune}");
        return f.bad(format!("{observed}; the processor can partition it (cat_l3)"), at_run_time(mount));
    }
    // One slot for each cache is left.
    let given_up = at_cache.iter().flat_map(|slots| &slots[1..]).flat_map(|slot| slot.all_cpus());
    let housekeeping: Set = seen.slots.housekeeping.iter().copied().chain(given_up).collect();
    f.bad(observed, keep_house(&housekeeping))
}

#[cfg(test)]
mod tests {
    use crate::audit::testing::{GUEST, check, command, judged, judged_with};
    use crate::slots::SlotsConfig;
    use model::FindingState::{Bad, NotApplicable, Ok, Unknown};

    /// Four cores; two nodes.
    const TWO: &str = "/sys/devices/system/cpu/online\n\t0-3\n\
        /sys/devices/system/node/online\n\t0-1\n/sys/devices/system/node/has_memory\n\t0-1\n\
        /sys/devices/system/node/node0/cpulist\n\t0-1\n/sys/devices/system/node/node1/cpulist\n\t2-3\n\
        /sys/devices/system/node/node0/distance\n\t10 20\n/sys/devices/system/node/node1/distance\n\t20 10\n";

    #[test]
    fn numa_balancing() {
        let file = |value: &str| format!("/proc/sys/kernel/numa_balancing\n\t{value}\n");
        check(
            "numa_balancing",
            &[
                (&file("0"), Ok, "is 0"),
                (&file("1"), Bad, "is 1"),
                (&file("2"), Bad, "is 2"),
                ("", NotApplicable, "no /proc/sys/kernel/numa_balancing"),
            ],
        );
    }

    #[test]
    fn numa_placement() {
        let one = "/sys/devices/system/node/online\n\t0\n/sys/devices/system/node/node0/cpulist\n\t0-1\n";
        let third = TWO
            .replace("online\n\t0-1\n", "online\n\t0-2\n")
            .replace("has_memory\n\t0-1\n", "has_memory\n\t0,2\n");
        check(
            "numa_placement",
            &[
                (one, NotApplicable, "one memory node"),
                ("", NotApplicable, "one memory node"),
                (&format!("{GUEST}{one}"), Unknown, "hypervisor"),
                (TWO, Ok, "slot 0 on [1], slot 1 on [1]"),
                (&format!("{GUEST}{TWO}"), Unknown, "hypervisor"),
                (&third, Bad, "without memory"),
            ],
        );
        assert!(judged("numa_placement", &third).remedy.unwrap().command.ends_with("housekeeping = \"0-3\""));
    }

    #[test]
    fn cache_partition() {
        let cache = |cpu: u32, shared: &str| {
            let at = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index3");
            format!("{at}/level\n\t3\n{at}/type\n\tUnified\n{at}/shared_cpu_list\n\t{shared}\n")
        };
        let four = "/sys/devices/system/cpu/online\n\t0-3\n";
        let shared: String = (0..4).map(|cpu| cache(cpu, "0-3")).collect();
        let shared = format!("{four}{shared}");
        let apart = format!("{four}{}{}{}{}", cache(0, "0"), cache(1, "1"), cache(2, "2"), cache(3, "3"));
        let can = format!("{shared}/proc/cpuinfo\n\tflags : fpu cat_l3\n");
        let group = |name: &str, cpus: &str, mode: &str| {
            let at = format!("/sys/fs/resctrl/{name}");
            format!("{at}/cpus_list\n\t{cpus}\n{at}/mode\n\t{mode}\n")
        };
        let info = |name: &str, value: &str| format!("/sys/fs/resctrl/info/L3/{name}\n\t{value}\n");
        let bare = format!("{can}/sys/fs/resctrl/schemata\n\tL3:0=fff\n");
        let limits = [("cbm_mask", "fff"), ("min_cbm_bits", "1"), ("num_closids", "4")];
        let limits: String = limits.iter().map(|(name, value)| info(name, value)).collect();
        let mounted = format!("{bare}{limits}");
        let groups = |mode| format!("{mounted}{}{}", group("a", "2", mode), group("b", "3", mode));
        let one_group = format!("{mounted}{}", group("a", "2-3", "exclusive"));
        check(
            "cache_partition",
            &[
                (&shared, Bad, "up to 2 slots share a last cache"),
                (&can, Bad, "the processor can partition it"),
                (&mounted, Bad, "up to 2"),
                (&groups("exclusive"), Ok, "a partition of its last cache"),
                (&groups("shareable"), Bad, "up to 2"),
                (&one_group, Bad, "up to 2"),
                (&apart, Ok, "no two slots"),
                (&format!("{GUEST}{apart}"), Unknown, "hypervisor"),
                (&format!("{GUEST}{shared}"), Bad, "up to 2"),
                (four, Unknown, "not reported"),
            ],
        );
        let tune = "tauto tune apply --only cache_partition";
        assert_eq!(command("cache_partition", &mounted), tune);
        let mount = "mount -t resctrl resctrl /sys/fs/resctrl";
        assert_eq!(command("cache_partition", &can), format!("{mount}; {tune}"));
        // Where `tune` would change nothing, it is not named.
        for machine in [&shared, &bare, &groups("shareable")] {
            assert!(command("cache_partition", machine).ends_with("housekeeping = \"0-1,3\""), "{machine}");
        }
        let one = SlotsConfig { most: Some(1), ..SlotsConfig::default() };
        assert_eq!(judged_with("cache_partition", &shared, &one).state, Ok);
    }
}
