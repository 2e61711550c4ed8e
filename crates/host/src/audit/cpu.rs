//! Cores: hyper-threads, idle states, cores of unequal kinds.

use super::{Judged, Seen, at_run_time, by_value, finding, on_each, unless_hidden};
use crate::cpulist::{self, Set};
use model::{Finding, Remedy, Scope, Severity, Slot};
use std::collections::BTreeSet;

const CPUS: &str = "/sys/devices/system/cpu";

/// Microseconds that waking may take: C1 and C1E take 1 to 10 on the processors the kernel has tables for
/// (drivers/idle/intel_idle.c), all deeper states more.
const SHALLOW_US: u64 = 10;

pub(super) fn smt(seen: &Seen) -> Finding {
    let f = finding(
        "smt",
        Severity::High,
        "a hyper-thread shares its core's units and caches with its sibling; with SMT and turbo off the variance of wall \
         time fell substantially (rustc-perf #1450)",
    )
    .read_from(format!("{CPUS}/smt/active, cpu*/topology/thread_siblings_list"));
    let open: Vec<(&Slot, Set)> = seen
        .slots
        .slots
        .iter()
        .map(|slot| (slot, siblings(seen, slot)))
        .filter(|(slot, siblings)| !siblings.is_empty() && !held(seen, slot))
        .collect();
    if !open.is_empty() {
        let exposed: Set = open.iter().flat_map(|(_, siblings)| siblings).copied().collect();
        let mut observed = format!("siblings of slot CPUs are online: {}", cpulist::to_list(&exposed));
        let partition = |slot: &Slot| seen.facts.cgroups.partitions.get(slot.cpus.first()?);
        if let Some(broken) = open.iter().find_map(|(slot, _)| partition(slot)) {
            observed.push_str(&format!("; a partition is there but reads `{}`", broken.state));
        }
        let off = on_each(&exposed, &format!("echo 0 > {CPUS}/cpu$cpu/online"));
        return f.bad(observed, at_run_time(off));
    }
    let quiet = if !seen.facts.topology.has_smt() {
        "no core has more than one hyper-thread online"
    } else if seen.slots.slots.iter().all(|slot| siblings(seen, slot).is_empty()) {
        "SMT is on; the siblings of slot CPUs are offline"
    } else {
        "SMT is on; isolated partitions keep the siblings of slot CPUs empty"
    };
    match seen.is_guest() && seen.facts.topology.shows_smt() {
        // Taken at its word, as for which CPUs are siblings.
        true => f.ok(format!("{quiet}, as far as the hypervisor shows this guest its hyper-threads")),
        false => unless_hidden(seen, f.ok(quiet)),
    }
}

/// Online siblings that are not themselves CPUs on which the slot runs.
fn siblings(seen: &Seen, slot: &Slot) -> Set {
    let cpus = slot.cpus.iter().filter_map(|cpu| seen.facts.topology.cpus.get(cpu));
    cpus.flat_map(|cpu| &cpu.siblings).filter(|cpu| !slot.cpus.contains(cpu)).copied().collect()
}

/// Whether an isolated partition of the slot's own holds all its CPUs.
fn held(seen: &Seen, slot: &Slot) -> bool {
    let partition = slot.cpus.first().and_then(|first| seen.facts.cgroups.partitions.get(first));
    let all: Set = slot.all_cpus().into_iter().chain(siblings(seen, slot)).collect();
    partition.is_some_and(|partition| partition.state == "isolated" && partition.cpus.is_superset(&all))
}

pub(super) fn c_states(seen: &Seen) -> Finding {
    let f = finding(
        "c_states",
        Severity::Low,
        "a core in a deep idle state wakes up late and with cold caches: this affects mainly the first milliseconds of a run",
    )
    .read_from(format!("{CPUS}/cpuidle/current_driver, cpu*/cpuidle/state*/disable"));
    let idle = &seen.facts.idle;
    // A sibling left empty may sleep as it likes: its core stays awake.
    let slots: Set = seen.slots.slots.iter().flat_map(|slot| slot.cpus.iter().copied()).collect();
    let deep = |cpu: &u32| {
        let states = idle.states.get(cpu)?;
        let deep: BTreeSet<u32> =
            states.iter().filter(|s| s.enabled && s.latency > SHALLOW_US).map(|s| s.number).collect();
        let deepest = states.iter().rfind(|s| s.enabled && s.latency > SHALLOW_US)?;
        Some((*cpu, deep, format!("down to {} ({} µs)", deepest.name, deepest.latency)))
    };
    let sleepers: Vec<(u32, BTreeSet<u32>, String)> = slots.iter().filter_map(deep).collect();
    if !sleepers.is_empty() {
        let cpus: Set = sleepers.iter().map(|(cpu, ..)| *cpu).collect();
        let states: Set = sleepers.iter().flat_map(|(_, states, _)| states).copied().collect();
        let states: Vec<String> = states.iter().map(u32::to_string).collect();
        let write = format!(
            "for state in {}; do echo 1 > {CPUS}/cpu$cpu/cpuidle/state$state/disable; done",
            states.join(" ")
        );
        let observed = by_value(sleepers.into_iter().map(|(cpu, _, deepest)| (cpu, deepest)));
        return f.bad(observed, at_run_time(on_each(&cpus, &write)));
    }
    let quiet = match idle.driver.known().map(String::as_str) {
        _ if !slots.is_empty() && slots.iter().all(|cpu| idle.states.contains_key(cpu)) => {
            f.ok(format!("no state of the slots' CPUs takes more than {SHALLOW_US} µs to wake from"))
        }
        Some(driver) => {
            f.unknown(format!("driver `{driver}` names no states: what halting does is not reported"))
        }
        None => f.unknown(format!("no driver of idle states ({CPUS}/cpuidle)")),
    };
    unless_hidden(seen, quiet)
}

pub(super) fn hybrid_cores(seen: &Seen) -> Finding {
    let f = finding(
        "hybrid_cores",
        Severity::High,
        "the same program takes a different time on another kind of core; isolate only warns about it",
    )
    .read_from(
        "/sys/devices/cpu_core/cpus, /sys/devices/cpu_atom/cpus, /sys/devices/system/cpu/cpu*/cpu_capacity",
    );
    let capacity = |cpu: u32| seen.facts.topology.cpus.get(&cpu).and_then(|cpu| cpu.capacity);
    let fastest = seen.facts.topology.cpus.values().filter_map(|cpu| cpu.capacity).max();
    let Some(fastest) = fastest else {
        return unless_hidden(seen, f.not_applicable("all cores are of one kind"));
    };
    let used = seen.slot_cpus();
    let kinds: BTreeSet<Option<u32>> = used.iter().map(|cpu| capacity(*cpu)).collect();
    if kinds.len() < 2 {
        let kind = if kinds.contains(&Some(fastest)) { "the fastest" } else { "one" };
        return unless_hidden(seen, f.ok(format!("all slots are on cores of {kind} kind")));
    }
    let slow = seen.facts.topology.cpus.values().filter(|cpu| cpu.capacity < Some(fastest)).map(|cpu| cpu.id);
    let housekeeping: Set = seen.slots.housekeeping.iter().copied().chain(slow).collect();
    let shown = used.iter().map(|cpu| (*cpu, format!("capacity {}", capacity(*cpu).unwrap_or(0))));
    f.bad(format!("slots are on cores of several kinds: {}", by_value(shown)), keep_house(&housekeeping))
}

/// The site's configuration with these CPUs in no slot.
pub(super) fn keep_house(cpus: &Set) -> Option<Remedy> {
    Some(Remedy {
        command: format!(
            "in the configuration (/etc/tautochrone.toml), section [slots]: housekeeping = \"{}\"",
            cpulist::to_list(cpus)
        ),
        scope: Scope::Process,
        root: false,
        reboot: false,
        reversible: true,
    })
}

#[cfg(test)]
mod tests {
    use crate::audit::testing::{GUEST, check, command, judged, judged_with};
    use crate::slots::SlotsConfig;
    use model::FindingState::{Bad, NotApplicable, Ok, Unknown};

    const CPUS: &str = "/sys/devices/system/cpu";
    /// Two cores, two hyper-threads each; the slot is on CPU 2.
    const FOUR: &str = "/sys/devices/system/cpu/online\n\t0-3\n\
        /sys/devices/system/cpu/cpu0/topology/thread_siblings_list\n\t0-1\n\
        /sys/devices/system/cpu/cpu1/topology/thread_siblings_list\n\t0-1\n\
        /sys/devices/system/cpu/cpu2/topology/thread_siblings_list\n\t2-3\n\
        /sys/devices/system/cpu/cpu3/topology/thread_siblings_list\n\t2-3\n";

    fn partition(name: &str, cpus: &str, state: &str) -> String {
        let at = format!("/sys/fs/cgroup/{name}");
        format!("{FOUR}{at}/cpuset.cpus\n\t{cpus}\n{at}/cpuset.cpus.partition\n\t{state}\n")
    }

    #[test]
    fn smt() {
        let guest_with = format!("{GUEST}{FOUR}");
        let sibling_off = FOUR.replace("\t0-3\n", "\t0-2\n");
        check(
            "smt",
            &[
                ("", Ok, "no core has more than one"),
                (GUEST, Unknown, "hypervisor"),
                (FOUR, Bad, "online: 3"),
                (&guest_with, Bad, "online: 3"),
                (&sibling_off, Ok, "siblings of slot CPUs are offline"),
                (&partition("tauto-slot-2", "2-3", "isolated"), Ok, "isolated partitions keep the siblings"),
                (&format!("{GUEST}{}", partition("tauto-slot-2", "2-3", "isolated")), Ok, "hypervisor shows"),
                (&format!("{GUEST}{CPUS}/smt/control\n\toff\n"), Ok, "hypervisor shows"),
                (&format!("{GUEST}{CPUS}/smt/control\n\tnotsupported\n"), Unknown, "hypervisor"),
                (&partition("tauto-slot-2", "2", "isolated"), Bad, "online: 3"),
                (&partition("tauto-slot-0", "2-3", "isolated"), Bad, "online: 3"),
                (
                    &partition("tauto-slot-2", "2-3", "isolated invalid (x)"),
                    Bad,
                    "reads `isolated invalid (x)`",
                ),
            ],
        );
        assert_eq!(command("smt", FOUR), "echo 0 > /sys/devices/system/cpu/cpu3/online");
    }

    #[test]
    fn c_states() {
        let state = |cpu: u32, n: u32, name: &str, latency: u32, disable: u32| {
            let at = format!("{CPUS}/cpu{cpu}/cpuidle/state{n}");
            format!("{at}/name\n\t{name}\n{at}/latency\n\t{latency}\n{at}/disable\n\t{disable}\n")
        };
        let driver = |name: &str| format!("{CPUS}/cpuidle/current_driver\n\t{name}\n");
        let shallow = format!("{}{}", state(1, 0, "POLL", 0, 0), state(1, 1, "C1E", 10, 0));
        let deep = format!("{shallow}{}{}", state(1, 2, "C1E", 11, 0), state(1, 3, "C6", 133, 0));
        let disabled = format!("{shallow}{}", state(1, 2, "C6", 133, 1));
        // The other CPU's are nobody's business.
        let other = format!("{shallow}{}", state(0, 0, "C6", 133, 0));
        check(
            "c_states",
            &[
                (&deep, Bad, "down to C6 (133 µs) on 1"),
                (&shallow, Ok, "more than 10 µs"),
                (&disabled, Ok, ""),
                (&other, Ok, ""),
                (&format!("{GUEST}{shallow}"), Unknown, "hypervisor"),
                (&driver("none"), Unknown, "`none` names no states"),
                (&format!("{GUEST}{}", driver("haltpoll")), Unknown, "haltpoll"),
                ("", Unknown, "no driver"),
            ],
        );
        assert_eq!(
            command("c_states", &deep),
            "for state in 2 3; do echo 1 > /sys/devices/system/cpu/cpu1/cpuidle/state$state/disable; done"
        );
    }

    #[test]
    fn hybrid_cores() {
        let hybrid = "/sys/devices/system/cpu/online\n\t0-3\n/sys/devices/cpu_core/cpus\n\t0-1\n\
            /sys/devices/cpu_atom/cpus\n\t2-3\n";
        check(
            "hybrid_cores",
            &[
                ("", NotApplicable, "one kind"),
                (GUEST, Unknown, "hypervisor"),
                (hybrid, Ok, "the fastest kind"),
                (&format!("{GUEST}{hybrid}"), Unknown, ""),
            ],
        );
        let config = SlotsConfig { housekeeping: "0".into(), ..SlotsConfig::default() };
        let mixed = judged_with("hybrid_cores", hybrid, &config);
        assert_eq!(
            (mixed.state, &*mixed.observed),
            (Bad, "slots are on cores of several kinds: capacity 1024 on 1, capacity 512 on 2-3")
        );
        assert!(mixed.remedy.unwrap().command.ends_with("housekeeping = \"0,2-3\""));
        let slow = SlotsConfig { housekeeping: "0-1".into(), ..SlotsConfig::default() };
        assert_eq!(judged_with("hybrid_cores", hybrid, &slow).observed, "all slots are on cores of one kind");
        assert!(judged("hybrid_cores", hybrid).remedy.is_none());
    }
}
