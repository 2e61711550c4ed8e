//! Interrupts, and the network's work that follows them, off the slots' CPUs.
//!
//! Sources: Documentation/core-api/irq/irq-affinity.rst, Documentation/networking/scaling.rst.

use super::plan::{View, change};
use super::target::{ACTIVE, INACTIVE};
use super::{Change, Form, Target};
use crate::cpulist::{self, Set};
use crate::facts::{Interrupt, Interrupts};

/// The service that moves interrupts back again; stopped before anything is moved.
const BALANCER: &str = "irqbalance";

pub(super) fn changes(view: &View<'_>) -> Vec<Change> {
    let interrupts = Interrupts::read(view.machine);
    let parts = [balancer(view), default(view), affinity(view, &interrupts), steering(view, &interrupts)];
    parts.into_iter().flatten().collect()
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

fn affinity(view: &View<'_>, interrupts: &Interrupts) -> Vec<Change> {
    let devices = interrupts.devices.known().map(Vec::as_slice).unwrap_or_default();
    let file = |irq: &Interrupt| format!("/proc/irq/{}/smp_affinity_list", irq.number);
    let movable = devices.iter().filter(|irq| is_movable(irq));
    movable.filter_map(|irq| view.keep_off("irq_affinity", &file(irq), Form::Cpus)).collect()
}

/// Not what no device has (it will go where new ones go), nor the machine's timer (IRQF_TIMER) and the cascade of the old
/// controllers, which stay where they are.
fn is_movable(irq: &Interrupt) -> bool {
    !["", "timer", "cascade"].contains(&irq.name.as_str())
}

/// Packets that software spreads over CPUs (RPS on the way in, XPS on the way out). Without any CPU left it is switched
/// off: what an interrupt brings stays on the interrupt's CPU.
fn steering(view: &View<'_>, interrupts: &Interrupts) -> Vec<Change> {
    let off = |(path, cpus): &(String, Set)| {
        let rest: Set = cpus.difference(&view.quiet).copied().collect();
        view.file("softirq_rps", path, Form::Mask, &cpulist::to_mask(&rest))
    };
    interrupts.spread.iter().filter_map(off).collect()
}
