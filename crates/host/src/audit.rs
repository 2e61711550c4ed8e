//! What the facts mean for time: findings for each source of noise.
//!
//! Rules are pure functions. Where kinds of machine differ, a rule says so itself: in a guest, what the hypervisor hides
//! is unknown, never ok. The published effects are from docs/noise.md.

use crate::facts::Facts;
use model::{Audit, Finding, FindingState, MachineKind, Remedy, Scope, Severity, SlotPlan};

/// Every id an audit may tell, in the order in which it tells them.
pub const IDS: [&str; 35] = [
    "smt",
    "turbo",
    "governor",
    "frequency_range",
    "uncore",
    "c_states",
    "thermal_throttle",
    "hybrid_cores",
    "isolated_cpus",
    "nohz_full",
    "rcu_nocbs",
    "irq_affinity",
    "managed_irq",
    "softirq_rps",
    "workqueues",
    "kernel_threads",
    "watchdog",
    "vmstat_interval",
    "perf_sample_rate",
    "rt_starvation_guard",
    "background_load",
    "steal",
    "quota_throttling",
    "cgroup_layout",
    "aslr",
    "thp",
    "ksm",
    "compaction",
    "swap",
    "numa_balancing",
    "numa_placement",
    "cache_partition",
    "clocksource",
    "mitigations",
    "microcode",
];

/// What rules look at.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) slots: &'a SlotPlan,
    pub(crate) kind: MachineKind,
}

/// Judges a machine; `slots` are those that were planned on it.
pub fn assess(facts: &Facts, slots: &SlotPlan) -> Audit {
    let _ = (facts, slots);
    unreachable!("rules are on their way")
}

/// A finding without remedy.
pub(crate) fn finding(id: &str, severity: Severity, why: &str) -> Finding {
    Finding {
        id: id.into(),
        state: FindingState::Unknown,
        severity,
        observed: String::new(),
        source: String::new(),
        why: why.into(),
        who: vec![],
        remedy: None,
    }
}

/// A remedy at run time, by root, that can be put back.
pub(crate) fn at_run_time(command: impl Into<String>) -> Option<Remedy> {
    Some(Remedy {
        command: command.into(),
        scope: Scope::Runtime,
        root: true,
        reboot: false,
        reversible: true,
    })
}
