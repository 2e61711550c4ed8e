//! Recorded machines: what is planned on each, and what an audit says of it.

use host::audit::assess;
use host::cpulist;
use host::facts::Facts;
use host::machine::Machine;
use host::slots::{SlotsConfig, plan, plan_with};
use host::tune;
use model::{FindingState, Isolation, SlotPlan};

const MACHINES: [(&str, &str); 6] = [
    ("two-socket-alternating", include_str!("../machines/two-socket-alternating.txt")),
    ("desktop-turbo", include_str!("../machines/desktop-turbo.txt")),
    ("amd-boost", include_str!("../machines/amd-boost.txt")),
    ("hybrid-cores", include_str!("../machines/hybrid-cores.txt")),
    ("vm", include_str!("../machines/vm.txt")),
    ("container", include_str!("../machines/container.txt")),
];

fn shown(plan: &SlotPlan) -> String {
    let list = |cpus: &[u32]| cpulist::to_list(&cpus.iter().copied().collect());
    let slot = |slot: &model::Slot| {
        let (cpus, siblings, nodes) = (list(&slot.cpus), list(&slot.idle_siblings), list(&slot.mem_nodes));
        format!("slot {}: {cpus} + {siblings}, node {nodes}, {:?}\n", slot.id, slot.isolation)
    };
    format!("housekeeping {}\n{}", list(&plan.housekeeping), plan.slots.iter().map(slot).collect::<String>())
}

/// What tuning would change, a line for each.
fn changes(machine: &Machine, facts: &Facts) -> String {
    let slots = plan(&facts.topology, &SlotsConfig::default(), Isolation::Partition);
    let line = |change: tune::Change| {
        format!("tune {}: {}: {} -> {}\n", change.id, change.target, change.found, change.want)
    };
    tune::plan(machine, &slots, &tune::TuneConfig::default()).into_iter().map(line).collect()
}

/// The whole of what is said of a machine, a line for each finding and for each change.
fn report(recording: &str) -> String {
    let machine = Machine::parse(recording).expect("a recording");
    let facts = Facts::gather(&machine).expect("facts");
    let plan = plan_with(&facts.topology, &facts.cgroups, &SlotsConfig::default());
    let audit = assess(&facts, &plan);
    let mut text = format!("{:?}, {:?}\n{}", audit.machine.kind, audit.machine.cpu_model, shown(&plan));
    for finding in &audit.findings {
        let state = match finding.state {
            FindingState::Bad => "BAD ",
            FindingState::Unknown => "?   ",
            FindingState::Ok => "ok  ",
            FindingState::NotApplicable => "n/a ",
        };
        text.push_str(&format!("{state} {}: {}\n", finding.id, finding.observed));
        if let Some(remedy) = &finding.remedy {
            text.push_str(&format!("      > {}\n", remedy.command));
        }
    }
    text + &changes(&machine, &facts)
}

#[test]
fn machines() {
    for (name, recording) in MACHINES {
        insta::assert_snapshot!(name, report(recording));
    }
}

/// A guest and a container must not be told that the hardware is quiet.
#[test]
fn what_is_hidden_is_never_ok() {
    let hardware =
        ["turbo", "governor", "frequency_range", "uncore", "thermal_throttle", "power_cap", "c_states"];
    let (_, recording) = MACHINES[4];
    let machine = Machine::parse(recording).expect("a recording");
    let facts = Facts::gather(&machine).expect("facts");
    let audit = assess(&facts, &plan_with(&facts.topology, &facts.cgroups, &SlotsConfig::default()));
    for id in hardware.into_iter().chain(["smt"]) {
        let finding = audit.findings.iter().find(|finding| finding.id == id).expect("a finding of each id");
        assert_eq!(finding.state, FindingState::Unknown, "{finding:?}");
    }
}
