//! What the facts mean for time: findings for each source of noise.
//!
//! Rules are pure functions. Where kinds of machine differ, a rule says so itself: in a guest, what the hypervisor hides
//! is unknown, never ok. The published effects are from docs/noise.md.

mod boot;
mod cgroups;
mod clock;
mod container;
mod cpu;
pub(crate) mod fingerprint;
mod frequency;
mod interrupts;
mod kernel;
mod machine;
mod memory;
mod numa;
mod tasks;

use crate::cpulist::{self, Set};
use crate::facts::Facts;
use model::{
    Audit, Finding, FindingState, MachineId, MachineKind, Reading, Remedy, Scope, Severity, Slot, SlotPlan,
};
use std::collections::BTreeMap;

/// What is told of one source of noise.
type Rule = fn(&Seen) -> Finding;

/// Every rule, in the order in which an audit tells its findings.
const RULES: &[(&str, Rule)] = &[
    ("smt", cpu::smt),
    ("turbo", frequency::turbo),
    ("governor", frequency::governor),
    ("frequency_range", frequency::frequency_range),
    ("uncore", frequency::uncore),
    ("power_cap", frequency::power_cap),
    ("c_states", cpu::c_states),
    ("thermal_throttle", frequency::thermal_throttle),
    ("hybrid_cores", cpu::hybrid_cores),
    ("isolated_cpus", boot::isolated_cpus),
    ("nohz_full", boot::nohz_full),
    ("rcu_nocbs", boot::rcu_nocbs),
    ("irq_affinity", interrupts::irq_affinity),
    ("managed_irq", interrupts::managed_irq),
    ("softirq_rps", interrupts::softirq_rps),
    ("workqueues", kernel::workqueues),
    ("kernel_threads", tasks::kernel_threads),
    ("watchdog", kernel::watchdog),
    ("vmstat_interval", kernel::vmstat_interval),
    ("perf_sample_rate", kernel::perf_sample_rate),
    ("rt_starvation_guard", kernel::rt_starvation_guard),
    ("background_load", tasks::background_load),
    ("steal", clock::steal),
    ("quota_throttling", cgroups::quota_throttling),
    ("container", container::container),
    ("cgroup_layout", cgroups::cgroup_layout),
    ("cgroup_locks", cgroups::cgroup_locks),
    ("aslr", memory::aslr),
    ("thp", memory::thp),
    ("ksm", memory::ksm),
    ("damon", memory::damon),
    ("compaction", memory::compaction),
    ("swap", memory::swap),
    ("balloon", memory::balloon),
    ("guest_polling", memory::guest_polling),
    ("guest_pages", memory::guest_pages),
    ("numa_balancing", numa::numa_balancing),
    ("numa_placement", numa::numa_placement),
    ("cache_partition", numa::cache_partition),
    ("clocksource", clock::clocksource),
    ("mitigations", machine::mitigations),
    ("microcode", machine::microcode),
];

/// Every id an audit may tell, in the order in which it tells them.
pub const IDS: [&str; RULES.len()] = {
    let mut ids = [""; RULES.len()];
    let mut n = 0;
    while n < ids.len() {
        ids[n] = RULES[n].0;
        n += 1;
    }
    ids
};

/// What rules look at.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) slots: &'a SlotPlan,
    pub(crate) kind: MachineKind,
}

impl Seen<'_> {
    /// Whether a hypervisor may hide the hardware. A container can be on top of one.
    pub(crate) fn is_guest(&self) -> bool {
        self.facts.platform.guest.is_some()
    }

    /// The CPUs of all slots, and every hyper-thread of their cores that is online: a sibling left as it is takes part
    /// in whatever its core does.
    pub(crate) fn slot_cpus(&self) -> Set {
        let cpus = self.slots.slots.iter().flat_map(Slot::all_cpus);
        let cpus = cpus.filter_map(|cpu| self.facts.topology.cpus.get(&cpu));
        cpus.flat_map(|cpu| &cpu.siblings).copied().collect()
    }
}

impl Seen<'_> {
    /// The CPUs that are to be kept free: those of slots, siblings included, but for a slot that shares its core with
    /// everything else because there is no other.
    pub(crate) fn quiet_cpus(&self) -> Set {
        self.slot_cpus().into_iter().filter(|cpu| !self.slots.housekeeping.contains(cpu)).collect()
    }
}

/// Judges a machine; `slots` are those that were planned on it.
pub fn assess(facts: &Facts, slots: &SlotPlan) -> Audit {
    let seen = Seen { facts, slots, kind: facts.platform.kind() };
    let machine = MachineId {
        kind: seen.kind,
        cpu_model: facts.platform.cpu_model.clone(),
        fingerprint: fingerprint::hash_of(facts),
    };
    Audit { machine, findings: RULES.iter().map(|(_, rule)| reachable(&seen, rule(&seen))).collect() }
}

/// From within a container only the measured process can be changed: the rest is for whoever owns the host.
fn reachable(seen: &Seen, mut finding: Finding) -> Finding {
    if let Some(remedy) = &mut finding.remedy
        && seen.kind == MachineKind::Container
        && remedy.scope != Scope::Process
    {
        remedy.command.push_str("  # on the host, not in this container");
    }
    finding
}

/// What looks quiet, or is not there, is not known where a hypervisor lies between; what looks bad is.
pub(crate) fn unless_hidden(seen: &Seen, finding: Finding) -> Finding {
    if !seen.is_guest() || finding.state == FindingState::Bad {
        return finding;
    }
    let observed = format!("{}; the hypervisor may hide what the hardware does", finding.observed);
    finding.unknown(observed)
}

/// A file that should hold a value: `quiet` says which are, `None` is a kernel without that file.
pub(crate) fn setting(
    finding: Finding,
    value: &Option<Reading<String>>,
    quiet: impl Fn(&str) -> bool,
    remedy: Option<Remedy>,
) -> Finding {
    let observed = |value: &str| format!("{} is {value}", finding.source);
    match value {
        None => {
            let why = format!("this kernel has no {}", finding.source);
            finding.not_applicable(why)
        }
        Some(Reading::Unknown(why)) => finding.unknown(why.clone()),
        Some(Reading::Known(value)) if quiet(value) => {
            let observed = observed(value);
            finding.ok(observed)
        }
        Some(Reading::Known(value)) => {
            let observed = observed(value);
            finding.bad(observed, remedy)
        }
    }
}

/// `performance on 2-3, powersave on 6`.
pub(crate) fn by_value(values: impl IntoIterator<Item = (u32, String)>) -> String {
    let mut cpus: BTreeMap<String, Set> = BTreeMap::new();
    for (cpu, value) in values {
        cpus.entry(value).or_default().insert(cpu);
    }
    let shown = cpus.iter().map(|(value, cpus)| format!("{value} on {}", cpulist::to_list(cpus)));
    shown.collect::<Vec<_>>().join(", ")
}

/// A shell loop over CPUs, or the command alone; `$cpu` in it stands for the number.
pub(crate) fn on_each(cpus: &Set, command: &str) -> String {
    let list: Vec<String> = cpus.iter().map(u32::to_string).collect();
    match &list[..] {
        [one] => command.replace("$cpu", one),
        _ => format!("for cpu in {}; do {command}; done", list.join(" ")),
    }
}

/// A finding of which nothing is known yet.
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

/// How a rule ends.
pub(crate) trait Judged: Sized {
    /// Where it was read, or would be.
    fn read_from(self, source: impl Into<String>) -> Finding;
    /// It is quiet.
    fn ok(self, observed: impl Into<String>) -> Finding;
    /// It makes time vary.
    fn bad(self, observed: impl Into<String>, remedy: Option<Remedy>) -> Finding;
    /// It cannot be known, for this reason.
    fn unknown(self, why: impl Into<String>) -> Finding;
    /// This machine has no such thing, for this reason.
    fn not_applicable(self, why: impl Into<String>) -> Finding;
}

impl Judged for Finding {
    fn read_from(self, source: impl Into<String>) -> Finding {
        Finding { source: source.into(), ..self }
    }

    fn ok(self, observed: impl Into<String>) -> Finding {
        Finding { state: FindingState::Ok, observed: observed.into(), ..self }
    }

    fn bad(self, observed: impl Into<String>, remedy: Option<Remedy>) -> Finding {
        Finding { state: FindingState::Bad, observed: observed.into(), remedy, ..self }
    }

    fn unknown(self, why: impl Into<String>) -> Finding {
        Finding { state: FindingState::Unknown, observed: why.into(), ..self }
    }

    fn not_applicable(self, why: impl Into<String>) -> Finding {
        Finding { state: FindingState::NotApplicable, observed: why.into(), ..self }
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

/// A remedy at the next start of the system, by root, that can be put back.
pub(crate) fn at_boot(command: impl Into<String>) -> Option<Remedy> {
    Some(Remedy { command: command.into(), scope: Scope::Boot, root: true, reboot: true, reversible: true })
}

/// The same by parameters of the kernel, as a drop-in of GRUB's configuration (Debian's /etc/default/grub.d).
pub(crate) fn at_boot_by(id: &str, parameters: &str) -> Option<Remedy> {
    at_boot(format!(
        "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {parameters}\"' > /etc/default/grub.d/50-tautochrone-{id}.cfg \
         && update-grub"
    ))
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::machine::Machine;
    use crate::slots::{SlotsConfig, plan};
    use model::Isolation;

    /// One rule's finding on a machine given as the lines of a recording below its head; what is not given of a machine
    /// with two CPUs on two cores is added.
    pub(crate) fn judged(id: &str, files: &str) -> Finding {
        judged_with(id, files, &SlotsConfig::default())
    }

    /// The same with other slots than are usual.
    pub(crate) fn judged_with(id: &str, files: &str, config: &SlotsConfig) -> Finding {
        let mut text = format!("tauto recording 1\n{files}\n");
        if !files.contains("/sys/devices/system/cpu/online\n") {
            text.push_str("/sys/devices/system/cpu/online\n\t0-1\n");
        }
        let facts = Facts::gather(&Machine::parse(&text).unwrap()).unwrap();
        let slots = plan(&facts.topology, config, Isolation::Partition);
        let audit = assess(&facts, &slots);
        audit.findings.into_iter().find(|finding| finding.id == id).unwrap()
    }

    /// The command that a rule gives.
    pub(crate) fn command(id: &str, files: &str) -> String {
        judged(id, files).remedy.unwrap().command
    }

    /// Lines that make a machine a guest.
    pub(crate) const GUEST: &str = "/proc/cpuinfo\n\tflags\t: fpu hypervisor\n";
    /// Lines that make a machine a container.
    pub(crate) const CONTAINER: &str = "/run/systemd/container\n\tdocker\n";

    /// Checks one rule on several machines: files, state, and what the observation says.
    pub(crate) fn check(id: &str, cases: &[(&str, FindingState, &str)]) {
        for (files, state, observed) in cases {
            let finding = judged(id, files);
            assert_eq!(finding.state, *state, "{id}: {finding:?} on\n{files}");
            assert!(finding.observed.contains(observed), "{id}: {finding:?}, not `{observed}`, on\n{files}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_bears_the_id_of_its_rule_and_says_why() {
        for (id, _) in RULES {
            let finding = testing::judged(id, "");
            assert!(!finding.why.is_empty() && !finding.source.is_empty(), "{id}");
            assert!(!finding.observed.is_empty(), "{id}");
        }
    }
}
