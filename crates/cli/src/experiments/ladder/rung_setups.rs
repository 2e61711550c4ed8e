//! What each rung of the ladder is on this machine, or why it has none.

use super::super::disturber::Disturbance;
use super::super::reserved_machine::ReservedMachine;
use crate::temporary_changes;
use host::cpulist::to_list;
use host::facts::Frequency;
use host::tune::{Change, Outcome, Standing};
use lab::ladder::Planned;
use model::{Placement, Rung, Sched};

/// Ids that hold the frequency.
const FREQUENCY: [&str; 4] = ["governor", "turbo", "frequency_range", "uncore"];

/// How runs of a rung are made.
#[derive(Clone, Default)]
pub(super) struct RungSetup {
    pub(super) placement: Placement,
    /// By the slot's launcher.
    pub(super) in_slot: bool,
    /// What keeps the machine busy in the loaded stage.
    pub(super) load: Disturbance,
    /// What is changed for it, beyond what the rungs below need.
    pub(super) changes: Vec<Change>,
    /// Without any of these changes it is no such rung.
    pub(super) needs_changes: bool,
    /// Changes that the machine refused.
    pub(super) refused: Vec<String>,
}

/// What would be refused, in words.
pub(super) fn refused(outcome: &Outcome) -> Vec<String> {
    let told = outcome.records.iter().filter_map(|record| match &record.standing {
        Standing::Refused(why) | Standing::Otherwise(why) => Some(format!("{}: {why}", record.change.target)),
        _ => None,
    });
    told.collect()
}

/// The rungs in order, each upon those below it that can be had.
pub(super) fn setups(reserved: &ReservedMachine, sched: Sched) -> (Vec<RungSetup>, Vec<Planned>) {
    let (mut setups, mut planned) = (Vec::new(), Vec::new());
    let everywhere =
        Disturbance { kind: "cpu", cpus: reserved.cpus.iter().copied().collect(), priority: None };
    let placement = Placement { sched, ..Placement::default() };
    let mut setup = RungSetup { placement, load: everywhere, ..RungSetup::default() };
    let mut phase = 0;
    for rung in Rung::ALL {
        let next = match rung {
            Rung::Untouched => Ok((setup.clone(), "on any CPU".to_string())),
            Rung::Bound => bound(reserved, &setup),
            Rung::Slot => slot(reserved, &setup),
            Rung::Frequency => frequency(reserved, &setup),
            Rung::Node => node(reserved, &setup),
        };
        let made = next.map(|(next, words)| {
            phase += usize::from(!next.changes.is_empty());
            setup = RungSetup { changes: vec![], needs_changes: false, ..next.clone() };
            setups.push(next);
            let load = busy(&setup.load.cpus);
            [words.clone(), format!("{words}, {load}")]
        });
        if made.is_err() {
            setups.push(setup.clone());
        }
        planned.push(Planned { rung, made, phase });
    }
    (setups, planned)
}

type Next = Result<(RungSetup, String), String>;

fn bound(reserved: &ReservedMachine, below: &RungSetup) -> Next {
    if let Some(why) = reserved.walled_in() {
        return Err(why);
    }
    let mut setup = below.clone();
    setup.placement.cpus = reserved.bound();
    let words = format!("bound to CPU {}", list(&setup.placement.cpus));
    Ok((setup, words))
}

fn slot(reserved: &ReservedMachine, below: &RungSetup) -> Next {
    let slot = reserved.slot().ok_or("no core can be reserved: this machine has too few")?;
    let mut setup = below.clone();
    setup.placement.cpus.clone_from(&slot.cpus);
    (setup.in_slot, setup.load.cpus) = (true, reserved.outside());
    let empty = match slot.idle_siblings.is_empty() {
        true => String::new(),
        false => format!(", its hyper-threads {} left empty", list(&slot.idle_siblings)),
    };
    let mut words = format!("in slot {}: CPU {}{empty}, reserved", slot.id, list(&slot.cpus));
    if let Ok(changes) = temporary_changes::wanted(&reserved.machine, slot, &["isolated_cpus"]) {
        setup.changes = changes;
        words.push_str(" by an isolated partition");
    }
    Ok((setup, words))
}

fn frequency(reserved: &ReservedMachine, below: &RungSetup) -> Next {
    let facts = Frequency::read(&reserved.machine, &reserved.topology);
    if facts.cpus.is_empty() && facts.turbo.is_empty() && facts.uncore.is_empty() {
        return Err(
            "no cpufreq, no switch of turbo and no limit of the uncore here, as in most virtual machines"
                .into(),
        );
    }
    let slot = reserved.slot().ok_or("there is no slot to hold the frequency of")?;
    let mut setup = below.clone();
    setup.changes = temporary_changes::wanted(&reserved.machine, slot, &FREQUENCY).map_err(|why| {
        if why == "nothing to change" { "the frequency is held already".into() } else { why }
    })?;
    setup.needs_changes = true;
    let mut ids: Vec<&str> = setup.changes.iter().map(|change| change.id.as_str()).collect();
    ids.dedup();
    let words = format!("the frequency held ({})", ids.join(", "));
    Ok((setup, words))
}

fn node(reserved: &ReservedMachine, below: &RungSetup) -> Next {
    if reserved.topology.nodes.len() < 2 {
        return Err("one memory node: all memory is equally near".into());
    }
    let node = reserved
        .slot()
        .and_then(|slot| slot.mem_nodes.first())
        .ok_or("the slot's memory node is not known")?;
    let mut setup = below.clone();
    setup.placement.mem_node = Some(*node);
    Ok((setup, format!("memory bound to node {node}")))
}

/// What to know about how it was done.
pub(super) fn notes(reserved: &ReservedMachine, setups: &[RungSetup], planned: &[Planned]) -> Vec<String> {
    let mut notes = vec![];
    if reserved.slot().is_some() {
        notes.push(format!(
            "Under load every CPU has a busy thread ({} in all). From the stages with a slot on, the slot's own CPUs have none.",
            reserved.cpus.len()
        ));
    }
    notes.extend(reserved.walled_in().map(|why| format!("This machine was tuned before: {why}.")));
    let phases = planned.last().map_or(0, |last| last.phase);
    if phases > 0 {
        notes.push(
            "Stages that change the machine run after those that do not, so time passes between them. Previous values are restored."
                .into(),
        );
    }
    for (setup, rung) in setups.iter().zip(planned).filter(|(setup, _)| !setup.refused.is_empty()) {
        notes.push(format!("{}: the machine refused {}.", rung.rung.name(), setup.refused.join("; ")));
    }
    notes
}

fn busy(cpus: &[u32]) -> String {
    match cpus {
        [one] => format!("a busy thread on CPU {one}"),
        _ => format!("a busy thread on each of the CPUs {}", list(cpus)),
    }
}

fn list(cpus: &[u32]) -> String {
    to_list(&cpus.iter().copied().collect())
}
