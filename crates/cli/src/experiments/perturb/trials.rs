//! What each perturbation is on this machine, or why it cannot be had.

use super::super::disturber::{Disturbance, Disturber};
use super::super::reserved_machine::ReservedMachine;
use super::DROP_CACHES;
use host::cpulist::to_list;
use host::machine::Machine;
use host::tune::{Change, Form, Target};
use model::{Perturbation, Placement, Sched};

/// Priority of program and load in the real-time trial: the lowest, above all ordinary tasks.
const PRIORITY: u8 = 1;

/// How a run is disturbed.
#[derive(Clone, Debug)]
pub(super) enum Method {
    /// By a load beside it.
    Load(Disturbance),
    /// By a change of the machine.
    Change(Change),
    /// By emptying the page cache before it.
    DropCaches,
}

/// A perturbation as it is here.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    pub(super) perturbation: Perturbation,
    pub(super) method: Result<Method, String>,
    /// In words.
    pub(super) made: String,
    /// Instructions can be counted without changing what is measured.
    pub(super) counted: bool,
    /// Where both the disturbed runs and their controls are.
    pub(super) placement: Placement,
}

/// Where the program is, but for trials that say otherwise.
pub(super) fn placement(reserved: &ReservedMachine, sched: Sched) -> Placement {
    Placement { cpus: reserved.bound(), mem_node: reserved.reservation.placement.mem_node, sched }
}

/// Those that are chosen by name. Each load is tried: what cannot be started says why.
pub(super) fn trials(reserved: &ReservedMachine, sched: Sched, chosen: impl Fn(&str) -> bool) -> Vec<Trial> {
    let chosen = Perturbation::ALL.into_iter().filter(|of| chosen(of.name()));
    let trial = |perturbation: Perturbation| {
        let mut placement = placement(reserved, sched);
        if perturbation == Perturbation::RtLoad {
            placement.sched = Sched::RoundRobin(PRIORITY);
        }
        let (method, made) =
            match method(reserved, perturbation).and_then(|(method, made)| Ok((tried(method)?, made))) {
                Ok((method, made)) => (Ok(method), made),
                Err(why) => (Err(why), String::new()),
            };
        // The kernel's own work for the counters waits for ordinary tasks' turn, and comes out of the program's time.
        let counted = perturbation != Perturbation::RtLoad;
        Trial { perturbation, method, made, counted, placement }
    };
    chosen.map(trial).collect()
}

fn tried(method: Method) -> Result<Method, String> {
    if let Method::Load(load) = &method {
        Disturber::start(load).map_err(|e| e.to_string())?;
    }
    Ok(method)
}

fn method(reserved: &ReservedMachine, of: Perturbation) -> Result<(Method, String), String> {
    let own = reserved.bound();
    let alone = |what: &str| match reserved.walled_in() {
        Some(why) => Err(why),
        None => Ok(format!("{what} on the program's own CPU {}", list(&own))),
    };
    match of {
        Perturbation::SameCpuLoad => Ok((load("cpu", own.clone(), None), alone("a busy thread")?)),
        Perturbation::RtLoad => {
            let what =
                format!("a busy thread of the program's own class and priority (SCHED_RR, {PRIORITY})");
            Ok((load("rt", own.clone(), Some(PRIORITY)), alone(&what)?))
        }
        Perturbation::InterruptLoad => {
            let words = format!("50 000 interrupts a second on the program's own CPU {}", list(&own));
            Ok((load("irq", own, None), words))
        }
        Perturbation::CacheLoad => match sharing(reserved) {
            Some(cpu) => {
                let words = format!("reads all over the last-level cache from CPU {cpu}, which shares it");
                Ok((load("cache", vec![cpu], None), words))
            }
            None => Ok((load("cache", own.clone(), None), alone("reads all over the last-level cache")?)),
        },
        Perturbation::MemoryLoad => match reserved.outside() {
            none if none.is_empty() => Err("this machine has no CPU other than the program's".into()),
            outside => {
                let several = if outside.len() > 1 { "s" } else { "" };
                let words = format!("memory read and written from the CPU{several} {}", list(&outside));
                Ok((load("memory", outside, None), words))
            }
        },
        Perturbation::SiblingLoad => sibling(reserved),
        Perturbation::Frequency => frequency(&reserved.machine, &own),
        Perturbation::PageCacheDrop => drop_caches(),
    }
}

fn load(kind: &'static str, cpus: Vec<u32>, priority: Option<u8>) -> Method {
    Method::Load(Disturbance { kind, cpus, priority })
}

/// A CPU outside the slot that shares the last-level cache with it.
fn sharing(reserved: &ReservedMachine) -> Option<u32> {
    let own = reserved.topology.cpus.get(reserved.bound().first()?)?;
    let shared = &own.caches.last()?.shared;
    reserved.outside().into_iter().find(|cpu| shared.contains(cpu))
}

fn sibling(reserved: &ReservedMachine) -> Result<(Method, String), String> {
    let own = reserved.bound();
    let siblings: Vec<u32> = own
        .iter()
        .filter_map(|cpu| reserved.topology.cpus.get(cpu))
        .flat_map(|cpu| cpu.siblings.iter().copied())
        .filter(|cpu| !own.contains(cpu))
        .collect();
    if siblings.is_empty() {
        return Err(
            "the program's core has no other hyper-thread online, as far as this machine reports".into()
        );
    }
    if let Some(why) = reserved.walled_in() {
        return Err(why);
    }
    let words =
        format!("a busy thread on CPU {}, the other hyper-thread of the program's core", list(&siblings));
    Ok((load("cpu", siblings, None), words))
}

fn frequency(machine: &Machine, own: &[u32]) -> Result<(Method, String), String> {
    let (change, words) = lowered(machine, own)?;
    match rustix::process::geteuid().is_root() {
        true => Ok((Method::Change(change), words)),
        false => Err("lowering the frequency needs root".into()),
    }
}

/// The most that the CPUs may run at becomes the least that they may.
fn lowered(machine: &Machine, own: &[u32]) -> Result<(Change, String), String> {
    let directory =
        own.first().map(|cpu| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq")).unwrap_or_default();
    let read = |name: &str| machine.number::<u64>(&format!("{directory}/{name}"));
    let (Ok(least), Ok(most)) = (read("scaling_min_freq"), read("scaling_max_freq")) else {
        return Err("no cpufreq here, as in most virtual machines".into());
    };
    if least >= most {
        return Err(format!("the frequency is held already, at {} MHz", most / 1000));
    }
    let change = Change {
        id: "frequency_range".into(),
        target: Target::File { path: format!("{directory}/scaling_max_freq"), form: Form::Text },
        found: most.to_string(),
        want: least.to_string(),
    };
    let words =
        format!("the most CPU {} may run at lowered from {} to {} MHz", list(own), most / 1000, least / 1000);
    Ok((change, words))
}

fn drop_caches() -> Result<(Method, String), String> {
    // What can be opened can be written.
    match std::fs::File::options().write(true).open(DROP_CACHES) {
        Ok(_) => Ok((Method::DropCaches, "the page cache emptied before the run".into())),
        Err(e) => Err(format!("{DROP_CACHES}: {e}; it needs root, and no container that keeps it read-only")),
    }
}

/// What to know about how it was done.
pub(super) fn notes(reserved: &ReservedMachine, uncounted: Option<&String>) -> Vec<String> {
    let mut notes = vec![format!(
        "The program is bound to CPU {}. A disturbed run and its control run back to back, in random order. Every round has one pair of each trial.",
        list(&reserved.bound())
    )];
    notes.extend(
        uncounted.map(|why| format!("Instructions are not counted here: {}.", model::hint::in_one_line(why))),
    );
    notes
}

fn list(cpus: &[u32]) -> String {
    to_list(&cpus.iter().copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_that_move_are_lowered() {
        let machine = |least: u64, most: u64| {
            let directory = "/sys/devices/system/cpu/cpu1/cpufreq";
            let file = |name: &str, value: u64| format!("{directory}/{name}\n\t{value}\n");
            let files = file("scaling_min_freq", least) + &file("scaling_max_freq", most);
            Machine::parse(&format!("tauto recording 1\n{files}")).unwrap()
        };
        let (change, words) = lowered(&machine(800_000, 3_000_000), &[1]).unwrap();
        assert_eq!((change.found.as_str(), change.want.as_str()), ("3000000", "800000"));
        assert_eq!(words, "the most CPU 1 may run at lowered from 3000 to 800 MHz");
        let held = lowered(&machine(3_000_000, 3_000_000), &[1]).unwrap_err();
        assert_eq!(held, "the frequency is held already, at 3000 MHz");
        assert!(lowered(&machine(800_000, 3_000_000), &[0]).unwrap_err().starts_with("no cpufreq"));
    }
}
