//! Interrupts, and the network's work that follows them, off the slots' CPUs.
//!
//! Sources: Documentation/core-api/irq/irq-affinity.rst, Documentation/networking/scaling.rst.

use super::plan::{View, change};
use super::target::{ACTIVE, INACTIVE};
use super::{Change, Form, Target};
use crate::cpulist::{self, Set};

/// The service that moves interrupts back again; stopped before anything is moved.
const BALANCER: &str = "irqbalance";

pub(super) fn changes(view: &View<'_>) -> Vec<Change> {
    [balancer, default, affinity, steering].into_iter().flat_map(|part| part(view)).collect()
}

fn balancer(view: &View<'_>) -> Vec<Change> {
    let running = !view.quiet.is_empty() && super::tasks::is_running(view.machine, BALANCER);
    let target = Target::Service(BALANCER.into());
    running.then(|| change("irq_affinity", target, ACTIVE, INACTIVE)).into_iter().collect()
}

/// Where interrupts go that are yet to come.
fn default(view: &View<'_>) -> Vec<Change> {
    Vec::from_iter(view.keep_off("irq_affinity", "/proc/irq/default_smp_affinity", Form::Mask))
}

fn affinity(view: &View<'_>) -> Vec<Change> {
    let names = view.machine.list("/proc/irq").unwrap_or_default();
    let numbers = names.iter().filter(|name| name.parse::<u32>().is_ok() && !is_fixed(view, name));
    let file = |number: &String| format!("/proc/irq/{number}/smp_affinity_list");
    numbers.filter_map(|number| view.keep_off("irq_affinity", &file(number), Form::Cpus)).collect()
}

/// Whether an interrupt cannot be moved, and need not be: no device has it (it will go where new ones go), or it is the
/// machine's timer (IRQF_TIMER) or the cascade of the old controllers, which stay where they are.
fn is_fixed(view: &View<'_>, number: &str) -> bool {
    let devices = view.value(&format!("/sys/kernel/irq/{number}/actions"), Form::Text);
    devices.is_some_and(|devices| ["", "timer", "cascade"].contains(&devices.as_str()))
}

/// Packets that software spreads over CPUs (RPS on the way in, XPS on the way out). Without any CPU left it is switched
/// off: what an interrupt brings stays on the interrupt's CPU.
fn steering(view: &View<'_>) -> Vec<Change> {
    let list = |path: &str| view.machine.list(path).unwrap_or_default();
    let mut changes = Vec::new();
    for device in list("/sys/class/net") {
        let queues = format!("/sys/class/net/{device}/queues");
        for queue in list(&queues) {
            let name = if queue.starts_with("rx-") { "rps_cpus" } else { "xps_cpus" };
            let path = format!("{queues}/{queue}/{name}");
            let Some(found) = view.value(&path, Form::Mask) else { continue };
            let cpus = cpulist::parse_mask(&found).unwrap_or_default();
            let rest: Set = cpus.difference(&view.quiet).copied().collect();
            if rest != cpus {
                let target = Target::File { path, form: Form::Mask };
                changes.push(change("softirq_rps", target, &found, &cpulist::to_mask(&rest)));
            }
        }
    }
    changes
}
