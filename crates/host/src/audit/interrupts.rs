//! Interrupts and network work on the slots' CPUs.

use super::boot::ONE_CORE;
use super::{Judged, Seen, at_boot_by, at_run_time, finding, unless_hidden};
use crate::cpulist::{self, Set};
use crate::facts::Interrupt;
use model::{Finding, Reading, Severity};

/// Names told of one finding.
const NAMES: usize = 20;
/// Words in the names of devices whose queues have interrupts that the kernel itself places
/// (PCI_IRQ_AFFINITY in their drivers): NVMe drives, virtio and RAID block devices, Mellanox's completion queues.
const MANAGED: [&str; 6] = ["nvme", "-req.", "megasas", "mpt3sas", "mlx5_comp", "hisi_sas"];

pub(super) fn irq_affinity(seen: &Seen) -> Finding {
    let f = finding(
        "irq_affinity",
        Severity::Medium,
        "an interrupt takes microseconds from the program on the CPU that serves it, each time the device has work",
    )
    .read_from("/proc/interrupts, /proc/irq/*/smp_affinity_list, /proc/irq/default_smp_affinity");
    let quiet = seen.quiet_cpus();
    let interrupts = &seen.facts.interrupts;
    let devices = match &interrupts.devices {
        _ if quiet.is_empty() => return f.not_applicable(ONE_CORE),
        Reading::Unknown(why) => return f.unknown(why.clone()),
        Reading::Known(devices) => devices,
    };
    let unread = devices.iter().find_map(|irq| match &irq.allowed {
        Reading::Unknown(why) if is_movable(irq) => Some(why.clone()),
        _ => None,
    });
    let here = |irq: &&Interrupt| irq.allowed.known().is_some_and(|cpus| !cpus.is_disjoint(&quiet));
    let open: Vec<&Interrupt> = devices.iter().filter(|irq| is_movable(irq)).filter(here).collect();
    let to_come = interrupts.default.known().is_some_and(|cpus| !cpus.is_disjoint(&quiet));
    if open.is_empty() && !to_come {
        return match unread {
            Some(why) => f.unknown(why),
            None => f.ok(format!("no device's interrupt may be served on CPUs {}", cpulist::to_list(&quiet))),
        };
    }
    let observed = match (open.len(), to_come) {
        (0, _) => "new interrupts may be served on slot CPUs (default_smp_affinity)".into(),
        (n, _) => format!("{n} interrupts of devices may be served on CPUs {}", cpulist::to_list(&quiet)),
    };
    let mut f = f.bad(observed, at_run_time("tauto tune apply --only irq_affinity"));
    f.who = bounded(open.iter().map(|irq| shown(irq, &quiet)));
    f
}

/// The timer and the cascade of the old controllers belong to one CPU and refuse to be moved; they serve nobody since
/// CPUs have timers of their own. Without a device's name nobody asks for it.
fn is_movable(irq: &Interrupt) -> bool {
    !irq.name.is_empty() && !["timer", "cascade"].contains(&irq.name.as_str())
}

fn shown(irq: &Interrupt, quiet: &Set) -> String {
    let served: u64 = irq.counts.iter().filter(|(cpu, _)| quiet.contains(cpu)).map(|(_, n)| n).sum();
    let cpus = irq.allowed.known().map(cpulist::to_list).unwrap_or_default();
    format!("interrupt {} {}: may use {cpus}, served {served} times on slot CPUs", irq.number, irq.name)
}

pub(super) fn bounded(names: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let more = names.len().saturating_sub(NAMES);
    let mut shown: Vec<String> = names.take(NAMES).collect();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown
}

/// Nothing tells whether the kernel manages an interrupt but a refusal to move it, which an audit does not try.
pub(super) fn managed_irq(seen: &Seen) -> Finding {
    let f = finding(
        "managed_irq",
        Severity::Medium,
        "the queues of drives and network cards have an interrupt for each CPU, which cannot be moved: bursts of \
         microseconds",
    )
    .read_from("/proc/interrupts, /proc/irq/*/effective_affinity_list, /proc/cmdline");
    let quiet = seen.quiet_cpus();
    let boot = &seen.facts.boot;
    let devices = match &seen.facts.interrupts.devices {
        _ if quiet.is_empty() => return f.not_applicable(ONE_CORE),
        Reading::Unknown(why) => return f.unknown(why.clone()),
        Reading::Known(devices) => devices,
    };
    let kept_off = boot.without_managed_interrupts();
    let list = cpulist::to_list(&quiet);
    if kept_off.known().is_some_and(|cpus| cpus.is_superset(&quiet)) {
        return f.ok(format!("isolcpus=managed_irq keeps them off CPUs {list} where it can"));
    }
    let managed = |irq: &&Interrupt| MANAGED.iter().any(|word| irq.name.contains(word));
    let on_slots = |irq: &&Interrupt| irq.effective.as_ref().is_some_and(|cpus| !cpus.is_disjoint(&quiet));
    let likely: Vec<&Interrupt> = devices.iter().filter(managed).collect();
    let here: Vec<&&Interrupt> = likely.iter().filter(|irq| on_slots(irq)).collect();
    if !here.is_empty() {
        let observed = format!("{} queues of devices are served on CPUs {list}", here.len());
        let parameter = format!("isolcpus=managed_irq,domain,{list}");
        let mut f = f.bad(observed, at_boot_by("managed_irq", &parameter));
        f.who = bounded(here.iter().map(|irq| shown(irq, &quiet)));
        return f;
    }
    match likely.is_empty() {
        true => f.unknown("no device with such interrupts is known here; only an attempt to move them shows whether a device has them"),
        false => unless_hidden(seen, f.ok(format!("no such queue is served on CPUs {list} now"))),
    }
}

pub(super) fn softirq_rps(seen: &Seen) -> Finding {
    let f = finding(
        "softirq_rps",
        Severity::Low,
        "packets may be handled on other CPUs than the one that was interrupted",
    )
    .read_from("/sys/class/net/*/queues/*/{rps_cpus,xps_cpus}");
    let quiet = seen.quiet_cpus();
    let interrupts = &seen.facts.interrupts;
    let open: Vec<&(String, Set)> =
        interrupts.spread.iter().filter(|(_, cpus)| !cpus.is_disjoint(&quiet)).collect();
    if quiet.is_empty() {
        f.not_applicable(ONE_CORE)
    } else if !open.is_empty() {
        let list = cpulist::to_list(&quiet);
        let mut f = f.bad(
            format!("{} queues spread packets over CPUs {list}", open.len()),
            at_run_time("tauto tune apply --only softirq_rps"),
        );
        f.who = bounded(open.iter().map(|(file, cpus)| format!("{file}: {}", cpulist::to_list(cpus))));
        f
    } else if let Some(why) = &interrupts.spread_unknown {
        f.unknown(why.clone())
    } else if interrupts.queues == 0 {
        f.not_applicable("no network device has queues to spread")
    } else {
        f.ok(format!("none of {} queues spreads packets over slot CPUs", interrupts.queues))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CONTAINER, GUEST, check, judged};
    use model::FindingState::{Bad, NotApplicable, Ok, Unknown};

    /// An interrupt of a device on two CPUs.
    fn irq(name: &str, allowed: &str, effective: &str) -> String {
        format!(
            "/proc/interrupts\n\t           CPU0       CPU1\n\t  0:  9  0  IO-APIC   2-edge      timer\n\
             \t 36:          0     889105 PCI-MSIX-0000:00:02.0   1-edge      {name}\n\tNMI:  0  0  Non-maskable\n\
             /proc/irq/0/smp_affinity_list\n\t0-1\n\
             /proc/irq/36/smp_affinity_list\n\t{allowed}\n/proc/irq/36/effective_affinity_list\n\t{effective}\n"
        )
    }

    const DEFAULT_OFF: &str = "/proc/irq/default_smp_affinity\n\t1\n";

    #[test]
    fn irq_affinity() {
        let off = format!("{}{DEFAULT_OFF}", irq("eth0", "0", "0"));
        let to_come = format!("{}/proc/irq/default_smp_affinity\n\t3\n", irq("eth0", "0", "0"));
        let denied = format!("{}{DEFAULT_OFF}", irq("eth0", "0", "0")).replace(
            "/proc/irq/36/smp_affinity_list\n\t0\n",
            "/proc/irq/36/smp_affinity_list ! 13 Permission denied\n",
        );
        check(
            "irq_affinity",
            &[
                (&irq("eth0", "0-1", "1"), Bad, "1 interrupts of devices may be served on CPUs 1"),
                (&off, Ok, "no device's interrupt"),
                (&to_come, Bad, "new interrupts may be served"),
                (&denied, Unknown, "may not be read"),
                ("", Unknown, "no /proc/interrupts"),
                ("/sys/devices/system/cpu/online\n\t0\n", NotApplicable, "one core"),
            ],
        );
        let finding = judged("irq_affinity", &irq("eth0", "0-1", "1"));
        assert_eq!(finding.who, ["interrupt 36 eth0: may use 0-1, served 889105 times on slot CPUs"]);
        let container = judged("irq_affinity", &format!("{CONTAINER}{}", irq("eth0", "0-1", "1")));
        assert!(container.remedy.unwrap().command.ends_with("# on the host, not in this container"));
    }

    #[test]
    fn managed_irq() {
        let booted = format!("{}/proc/cmdline\n\tisolcpus=managed_irq,domain,1\n", irq("nvme0q2", "1", "1"));
        check(
            "managed_irq",
            &[
                (&irq("nvme0q2", "1", "1"), Bad, "1 queues of devices"),
                (&booted, Ok, "isolcpus=managed_irq"),
                (&irq("nvme0q1", "0", "0"), Ok, "now"),
                (&format!("{GUEST}{}", irq("virtio1-req.0", "0", "0")), Unknown, "hypervisor"),
                (&irq("eth0", "0", "0"), Unknown, "attempt to move"),
            ],
        );
    }

    #[test]
    fn softirq_rps() {
        let queue = |mask: &str| format!("/sys/class/net/eth0/queues/rx-0/rps_cpus\n\t{mask}\n");
        check(
            "softirq_rps",
            &[
                (&queue("3"), Bad, "1 queues spread packets over CPUs 1"),
                (&queue("1"), Ok, "none of 1 queues"),
                (&queue("0"), Ok, "none of 1 queues"),
                (
                    "/sys/class/net/eth0/queues/rx-0/rps_cpus ! 13 Permission denied\n",
                    Unknown,
                    "may not be read",
                ),
                ("", NotApplicable, "no network device"),
            ],
        );
    }
}
