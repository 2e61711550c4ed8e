//! What is set apart when the kernel starts, and what stands in for it at run time.

use super::{Judged, Seen, at_boot_by, at_run_time, finding};
use crate::cpulist::{self, Set};
use model::{Finding, Reading, Remedy, Severity, Slot};

const SYSTEM: &str = "/sys/devices/system/cpu";

pub(super) fn isolated_cpus(seen: &Seen) -> Finding {
    let f = finding(
        "isolated_cpus",
        Severity::High,
        "the scheduler puts other tasks on the run's CPU: 229 ms became 372 ms on a busy machine and 230 ms when isolated (Stinner, \
         FOSDEM 2017)",
    )
    .read_from(format!("{SYSTEM}/isolated, cpuset.cpus.partition of the slots"));
    let quiet = seen.quiet_cpus();
    if quiet.is_empty() {
        return f.not_applicable(ONE_CORE);
    }
    let open: Set = quiet.difference(&isolated(seen)).copied().collect();
    if open.is_empty() {
        return f.ok(format!("CPUs {} are isolated", cpulist::to_list(&quiet)));
    }
    match &seen.facts.boot.isolated {
        Some(Reading::Unknown(why)) => f.unknown(why.clone()),
        _ => f.bad(
            format!("CPUs {} of slots are not isolated", cpulist::to_list(&open)),
            isolating(seen, &quiet),
        ),
    }
}

/// Why a row has nothing to say of a machine that keeps no core free.
pub(super) const ONE_CORE: &str = "the machine has one core, which cannot be isolated";

/// CPUs on which the scheduler puts nobody who did not ask for them.
pub(super) fn isolated(seen: &Seen) -> Set {
    let by_boot = seen.facts.boot.isolated.as_ref().and_then(Reading::known).cloned().unwrap_or_default();
    let partition = |slot: &Slot| seen.facts.cgroups.partitions.get(slot.cpus.first()?);
    let partitions = seen.slots.slots.iter().filter_map(partition).filter(|p| p.state == "isolated");
    by_boot.into_iter().chain(partitions.flat_map(|p| p.cpus.clone())).collect()
}

/// A partition where there can be one, else the kernel's parameter.
fn isolating(seen: &Seen, quiet: &Set) -> Option<Remedy> {
    let cpuset = seen.facts.cgroups.controllers.known().is_some_and(|all| all.contains("cpuset"));
    match cpuset {
        true => at_run_time("tauto tune apply --only isolated_cpus"),
        false => {
            at_boot_by("isolated_cpus", &format!("isolcpus=managed_irq,domain,{}", cpulist::to_list(quiet)))
        }
    }
}

pub(super) fn nohz_full(seen: &Seen) -> Finding {
    let file = format!("{SYSTEM}/nohz_full");
    let f = finding(
        "nohz_full",
        Severity::Medium,
        "the tick interrupts a program 100 to 1000 times a second: 1 to 2 % of the time went in gaps of more than 10 µs \
         (measured, with other jobs)",
    )
    .read_from(file);
    let quiet = seen.quiet_cpus();
    let list = cpulist::to_list(&quiet);
    match &seen.facts.boot.nohz_full {
        _ if quiet.is_empty() => f.not_applicable(ONE_CORE),
        None => f.bad("this kernel is built without it (CONFIG_NO_HZ_FULL)", None),
        Some(Reading::Unknown(why)) => f.unknown(why.clone()),
        Some(Reading::Known(cpus)) if cpus.is_superset(&quiet) => f.ok(format!("in force on CPUs {list}")),
        Some(Reading::Known(_)) => {
            let parameter = format!("nohz_full={list}");
            f.bad(format!("not in force on CPUs {list}"), at_boot_by("nohz_full", &parameter))
        }
    }
}

pub(super) fn rcu_nocbs(seen: &Seen) -> Finding {
    let f = finding(
        "rcu_nocbs",
        Severity::Low,
        "the kernel frees memory later, on the CPU that used it: microseconds at a time",
    )
    .read_from("/proc/cmdline");
    let quiet = seen.quiet_cpus();
    let (nocbs, nohz) = (seen.facts.boot.cpus_of("rcu_nocbs"), seen.facts.boot.cpus_of("nohz_full"));
    match (nocbs, nohz) {
        _ if quiet.is_empty() => f.not_applicable(ONE_CORE),
        // nohz_full brings it along (Documentation/timers/no_hz.rst).
        (Reading::Known(a), Reading::Known(b))
            if a.union(&b).copied().collect::<Set>().is_superset(&quiet) =>
        {
            f.ok(format!("callbacks of CPUs {} run elsewhere", cpulist::to_list(&quiet)))
        }
        (Reading::Known(_), Reading::Known(_)) => {
            let list = cpulist::to_list(&quiet);
            f.bad(
                format!("CPUs {list} run their own callbacks"),
                at_boot_by("rcu_nocbs", &format!("rcu_nocbs={list}")),
            )
        }
        (Reading::Unknown(why), _) | (_, Reading::Unknown(why)) => f.unknown(why),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, command};
    use model::FindingState::{Bad, NotApplicable, Ok, Unknown};

    const ONE: &str = "/sys/devices/system/cpu/online\n\t0\n";
    const V2: &str = "/proc/self/mountinfo\n\t30 29 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n\
                      /sys/fs/cgroup/cgroup.controllers\n\tcpu cpuset memory pids\n";

    #[test]
    fn isolated_cpus() {
        let part = |state: &str| {
            format!(
                "{V2}/sys/fs/cgroup/tauto-slot-1/cpuset.cpus\n\t1\n/sys/fs/cgroup/tauto-slot-1/cpuset.cpus.partition\n\t{state}\n"
            )
        };
        check(
            "isolated_cpus",
            &[
                ("/sys/devices/system/cpu/isolated\n\t1\n", Ok, "CPUs 1 are isolated"),
                ("/sys/devices/system/cpu/isolated\n\t\n", Bad, "CPUs 1 of slots"),
                ("/sys/devices/system/cpu/isolated ! 13 Permission denied\n", Unknown, "may not be read"),
                (&part("isolated"), Ok, "isolated"),
                (&part("isolated invalid (x)"), Bad, "not isolated"),
                (ONE, NotApplicable, "one core"),
            ],
        );
        assert_eq!(command("isolated_cpus", V2), "tauto tune apply --only isolated_cpus");
        assert!(command("isolated_cpus", "").contains("isolcpus=managed_irq,domain,1\""));
    }

    #[test]
    fn without_a_tick_and_callbacks() {
        let line = |parameters: &str| format!("/proc/cmdline\n\t{parameters}\n");
        check(
            "nohz_full",
            &[
                ("/sys/devices/system/cpu/nohz_full\n\t1\n", Ok, "CPUs 1"),
                ("/sys/devices/system/cpu/nohz_full\n\t  (null)\n", Bad, "not in force"),
                ("", Bad, "built without"),
                ("/sys/devices/system/cpu/nohz_full ! 13 Permission denied\n", Unknown, "may not be read"),
                (ONE, NotApplicable, "one core"),
            ],
        );
        check(
            "rcu_nocbs",
            &[
                (&line("rcu_nocbs=1"), Ok, "CPUs 1"),
                (&line("nohz_full=1-7"), Ok, "CPUs 1"),
                (&line("quiet"), Bad, "CPUs 1"),
                ("", Unknown, "no /proc/cmdline"),
                (ONE, NotApplicable, "one core"),
            ],
        );
        assert!(command("nohz_full", "/sys/devices/system/cpu/nohz_full\n\t\n").contains("nohz_full=1"));
        assert!(command("rcu_nocbs", &line("quiet")).contains("rcu_nocbs=1"));
    }
}
