//! What a node states of itself to be admitted to a pool.

use crate::config::Config;
use crate::index;
use crate::isolation::IsolationArgs;
use crate::reservation::slots_config;
use fleet::nats::WorkerId;
use fleet::{PROTOCOL, STATEMENT_FORM, StatedIndex, StatedPart, Statement, Timestamp};
use host::facts::{Facts, Topology};
use host::machine::Machine;
use host::{audit, identity, slots};
use model::{FindingState, Index, MachineKind, Reading};
use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

/// Findings of the audit that are settings: equal on machines that were made equal, and the same tomorrow. What is counted, such as
/// background load, is none.
const SETTINGS: [&str; 20] = [
    "smt",
    "turbo",
    "governor",
    "frequency_range",
    "uncore",
    "c_states",
    "isolated_cpus",
    "nohz_full",
    "rcu_nocbs",
    "irq_affinity",
    "managed_irq",
    "softirq_rps",
    "workqueues",
    "aslr",
    "thp",
    "ksm",
    "swap",
    "numa_balancing",
    "cache_partition",
    "clocksource",
];

/// Now, by this machine's clock.
pub(super) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// What this machine states. An error says what of it cannot be read.
pub(super) fn statement(from: &WorkerId, isolation: &IsolationArgs) -> Result<Statement, String> {
    let isolation_mode = isolation.isolation_mode(&Config::read().map_err(|e| e.to_string())?);
    let machine = Machine::this().map_err(|e| e.to_string())?;
    let facts = Facts::gather(&machine).map_err(|e| e.to_string())?;
    let slots_config = slots_config(None).map_err(|e| e.to_string())?;
    let plan = slots::plan_with(&facts.topology, &facts.cgroups, &slots_config);
    let audit = audit::assess(&facts, &plan);
    let settings = audit.findings.iter().filter(|finding| SETTINGS.contains(&finding.id.as_str()));
    let platform = &facts.platform;
    let known = |(name, text): &(String, Reading<String>)| {
        Some((name.clone(), text.known().cloned().unwrap_or_else(|| "unknown".into())))
    };
    let kind = match platform.kind() {
        MachineKind::BareMetal => "bare_metal",
        MachineKind::Vm => "vm",
        MachineKind::Container => "container",
    };
    let microcode = platform.microcode.iter().cloned().collect::<Vec<_>>().join(" ");
    let told = |text: String, what: &'static str| {
        Reading::from_option(Some(text).filter(|text| !text.is_empty()), || {
            format!("/proc/cpuinfo names no {what}")
        })
    };
    Ok(Statement {
        form: STATEMENT_FORM,
        node: from.node.clone(),
        pool: from.pool.clone(),
        version: crate::VERSION.into(),
        protocol: PROTOCOL,
        at: now(),
        boot_id: Reading::from_result(host::tune::boot_id(&machine)),
        fingerprint: identity::fingerprint(&facts),
        kind: Reading::Known(kind.into()),
        cpu_model: platform.cpu_model.clone(),
        cpu_version: told(platform.cpu_version.clone(), "version"),
        microcode: told(microcode, "microcode"),
        topology: Reading::Known(topology(&facts.topology)),
        memory_bytes: identity::memory(&machine).1,
        kernel: platform.kernel.clone(),
        mitigations: platform.vulnerabilities.iter().filter_map(known).collect(),
        tuning: settings.map(|finding| (finding.id.clone(), state(finding.state).into())).collect(),
        isolation: isolation.stated(),
        slots: plan.slots.iter().map(|slot| isolation_mode.slot(slot)).collect(),
        index: index::kept().known().and_then(stated),
    })
}

fn state(state: FindingState) -> &'static str {
    match state {
        FindingState::Ok => "quiet",
        FindingState::Bad => "not quiet",
        FindingState::Unknown => "unknown",
        FindingState::NotApplicable => "none here",
    }
}

/// `2 × 20 cores × 2, L1 32K L2 1024K L3 28160K`.
fn topology(topology: &Topology) -> String {
    let packages: BTreeSet<u32> = topology.cpus.values().map(|cpu| cpu.package).collect();
    let (packages, cores) = (packages.len().max(1), topology.cores().len().max(1));
    let caches = topology.cpus.values().next().map_or(&[][..], |cpu| &cpu.caches);
    let caches: Vec<String> = caches.iter().map(|cache| format!("L{} {}", cache.level, cache.size)).collect();
    let threads = topology.cpus.len() / cores;
    format!("{packages} × {} cores × {threads}, {}", cores / packages, caches.join(" "))
}

/// What is compared of an index.
fn stated(index: &Index) -> Option<StatedIndex> {
    let parts = index.figures().filter_map(|(part, figure)| {
        let figure = figure.known()?;
        Some(StatedPart { part, value: figure.value, repeatability_pct: figure.repeatability_pct })
    });
    let taken_at = Timestamp(i64::try_from(index.taken_at).ok()?.saturating_mul(1_000_000));
    let parts: Vec<StatedPart> = parts.collect();
    (!parts.is_empty()).then_some(StatedIndex { taken_at, parts })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::IndexPart;

    #[test]
    fn this_machine_states_what_it_is() {
        let from = WorkerId { pool: "metal".into(), node: "n1".into(), slot: 0 };
        let typed = IsolationArgs::default();
        let stated = statement(&from, &typed).expect("it can be read");
        assert_eq!((stated.node.as_str(), stated.pool.as_str()), ("n1", "metal"));
        assert_eq!(stated.tuning.len(), SETTINGS.len(), "every setting is a finding of the audit");
        assert_eq!(stated.fingerprint.len(), 16);
        let Reading::Known(shape) = &stated.topology else { panic!("{:?}", stated.topology) };
        assert!(shape.contains(" cores × "), "{shape}");
        // Twice the same, but for the moment.
        let again = statement(&from, &typed).expect("it can be read");
        assert_eq!(Statement { at: stated.at, ..again }, stated);
    }

    #[test]
    fn an_index_is_stated_as_far_as_it_is_known() {
        let told = include_str!("../../../../store/tests/forms/facts-1.json");
        let told: model::NodeFacts = serde_json::from_str(told).expect("facts");
        let Reading::Known(mut index) = told.index else { panic!("{:?}", told.index) };
        index.taken_at = 1_700_000_000;
        index.parts.retain(|part, _| [IndexPart::L1, IndexPart::Dram].contains(part));
        index.parts.insert(IndexPart::Dram, Reading::unknown("disturbed"));
        let stated = stated(&index).expect("an index");
        assert_eq!(stated.taken_at, Timestamp(1_700_000_000_000_000));
        let found: Vec<_> = stated.parts.iter().map(|one| one.part).collect();
        assert_eq!(found, [IndexPart::Rounds, IndexPart::L1]);
        assert!(stated.parts.iter().all(|one| one.value > 0.0), "{stated:?}");
        index.rounds_per_second = Reading::unknown("disturbed");
        index.parts.clear();
        assert_eq!(super::stated(&index), None);
    }
}
