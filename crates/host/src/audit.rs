//! What the facts mean for time: findings for each source of noise.
//!
//! Rules are pure functions. Where kinds of machine differ, a rule says so itself: in a guest, what the hypervisor hides
//! is unknown, never ok. The published effects are from docs/noise.md.

mod fingerprint;
mod machine;

use crate::facts::Facts;
use model::{Audit, Finding, FindingState, MachineId, MachineKind, Remedy, Scope, Severity, SlotPlan};

/// What is told of one source of noise.
type Rule = fn(&Seen) -> Finding;

/// Every rule, in the order in which an audit tells its findings.
const RULES: &[(&str, Rule)] = &[("mitigations", machine::mitigations), ("microcode", machine::microcode)];

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
}

/// Judges a machine; `slots` are those that were planned on it.
pub fn assess(facts: &Facts, slots: &SlotPlan) -> Audit {
    let seen = Seen { facts, slots, kind: facts.platform.kind() };
    let machine = MachineId {
        kind: seen.kind,
        cpu_model: facts.platform.cpu_model.clone(),
        fingerprint: fingerprint::of(facts),
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
    /// It makes time wander.
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

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::machine::Machine;
    use crate::slots::{Wishes, plan};
    use model::Isolation;

    /// One rule's finding on a machine given as the lines of a recording below its head; what is not given of a machine
    /// with two CPUs on two cores is added.
    pub(crate) fn judged(id: &str, files: &str) -> Finding {
        let mut text = format!("tauto recording 1\n{files}\n");
        if !files.contains("/sys/devices/system/cpu/online\n") {
            text.push_str("/sys/devices/system/cpu/online\n\t0-1\n");
        }
        let facts = Facts::gather(&Machine::parse(&text).unwrap()).unwrap();
        let slots = plan(&facts.topology, &Wishes::default(), Isolation::Partition);
        let audit = assess(&facts, &slots);
        audit.findings.into_iter().find(|finding| finding.id == id).unwrap()
    }

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
