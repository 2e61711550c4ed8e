//! What each rung of the ladder is on this machine, or why it has none.

use super::super::disturber::Disturbance;
use super::super::ground::Ground;
use crate::loan;
use host::cpulist::to_list;
use host::facts::Frequency;
use host::tune::{Change, Outcome, Standing};
use lab::ladder::Planned;
use model::{Placement, Rung, Sched};

/// Ids that hold the frequency.
const FREQUENCY: [&str; 4] = ["governor", "turbo", "frequency_range", "uncore"];

/// How runs of a rung are made.
#[derive(Clone, Default)]
pub(super) struct Seat {
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
pub(super) fn seats(ground: &Ground, sched: Sched) -> (Vec<Seat>, Vec<Planned>) {
    let (mut seats, mut planned) = (Vec::new(), Vec::new());
    let everywhere = Disturbance { kind: "cpu", cpus: ground.cpus.iter().copied().collect(), priority: None };
    let placement = Placement { sched, ..Placement::default() };
    let mut seat = Seat { placement, load: everywhere, ..Seat::default() };
    let mut phase = 0;
    for rung in Rung::ALL {
        let next = match rung {
            Rung::Untouched => Ok((seat.clone(), "on any CPU".to_string())),
            Rung::Bound => bound(ground, &seat),
            Rung::Slot => slot(ground, &seat),
            Rung::Frequency => frequency(ground, &seat),
            Rung::Node => node(ground, &seat),
        };
        let made = next.map(|(next, words)| {
            phase += usize::from(!next.changes.is_empty());
            seat = Seat { changes: vec![], needs_changes: false, ..next.clone() };
            seats.push(next);
            let load = busy(&seat.load.cpus);
            [words.clone(), format!("{words}, {load}")]
        });
        if made.is_err() {
            seats.push(seat.clone());
        }
        planned.push(Planned { rung, made, phase });
    }
    (seats, planned)
}

type Next = Result<(Seat, String), String>;

fn bound(ground: &Ground, below: &Seat) -> Next {
    if let Some(why) = ground.walled_in() {
        return Err(why);
    }
    let mut seat = below.clone();
    seat.placement.cpus = ground.bound();
    let words = format!("bound to CPU {}", list(&seat.placement.cpus));
    Ok((seat, words))
}

fn slot(ground: &Ground, below: &Seat) -> Next {
    let slot = ground.slot().ok_or("no core can be reserved: this machine has too few")?;
    let mut seat = below.clone();
    seat.placement.cpus.clone_from(&slot.cpus);
    (seat.in_slot, seat.load.cpus) = (true, ground.outside());
    let empty = match slot.idle_siblings.is_empty() {
        true => String::new(),
        false => format!(", its hyper-threads {} left empty", list(&slot.idle_siblings)),
    };
    let mut words = format!("in slot {}: CPU {}{empty}, reserved", slot.id, list(&slot.cpus));
    if let Ok(changes) = loan::wanted(&ground.machine, slot, &["isolated_cpus"]) {
        seat.changes = changes;
        words.push_str(" by an isolated partition");
    }
    Ok((seat, words))
}

fn frequency(ground: &Ground, below: &Seat) -> Next {
    let facts = Frequency::read(&ground.machine, &ground.topology);
    if facts.cpus.is_empty() && facts.turbo.is_empty() && facts.uncore.is_empty() {
        return Err(
            "no cpufreq, no switch of turbo and no limit of the uncore here, as in most virtual machines"
                .into(),
        );
    }
    let slot = ground.slot().ok_or("there is no slot to hold the frequency of")?;
    let mut seat = below.clone();
    seat.changes = loan::wanted(&ground.machine, slot, &FREQUENCY).map_err(|why| {
        if why == "nothing to change" { "the frequency is held already".into() } else { why }
    })?;
    seat.needs_changes = true;
    let mut ids: Vec<&str> = seat.changes.iter().map(|change| change.id.as_str()).collect();
    ids.dedup();
    let words = format!("the frequency held ({})", ids.join(", "));
    Ok((seat, words))
}

fn node(ground: &Ground, below: &Seat) -> Next {
    if ground.topology.nodes.len() < 2 {
        return Err("one memory node: all memory is equally near".into());
    }
    let node =
        ground.slot().and_then(|slot| slot.mem_nodes.first()).ok_or("the slot's memory node is not known")?;
    let mut seat = below.clone();
    seat.placement.mem_node = Some(*node);
    Ok((seat, format!("memory bound to node {node}")))
}

/// What to know about how it was done.
pub(super) fn notes(ground: &Ground, seats: &[Seat], planned: &[Planned]) -> Vec<String> {
    let mut notes = vec![];
    if ground.slot().is_some() {
        notes.push(format!(
            "Under load every CPU has a busy thread ({} in all). From the stages with a slot on, the slot's own CPUs have none.",
            ground.cpus.len()
        ));
    }
    notes.extend(ground.walled_in().map(|why| format!("This machine was tuned before: {why}.")));
    let phases = planned.last().map_or(0, |last| last.phase);
    if phases > 0 {
        notes.push(
            "Stages that change the machine run after those that do not, so time passes between them. Previous values are restored."
                .into(),
        );
    }
    for (seat, rung) in seats.iter().zip(planned).filter(|(seat, _)| !seat.refused.is_empty()) {
        notes.push(format!("{}: the machine refused {}.", rung.rung.name(), seat.refused.join("; ")));
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
