//! Where runs take place: the slot or the CPUs that were asked for, and its lock.

use crate::config::{Config, lock_directories};
use crate::options::{PlacementArgs, SlotChoice};
use crate::terminal::{Failure, print_error};
use host::cpulist;
use host::facts::{Cgroups, Topology};
use host::locks::{self, Held};
use host::machine::Machine;
use host::slots::SlotsConfig;
use model::{Isolation, Placement, Sched, Slot, SlotPlan};
use rustix::process::{Resource, geteuid, getrlimit};
use sandbox::LauncherOptions;
use std::fs::File;
use std::io;
use std::path::Path;

/// A slot, or CPUs, held until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Reservation {
    /// Where runs are placed.
    pub(crate) placement: Placement,
    /// The slot; `None`: no slot was asked for, or the machine has but one core.
    slot: Option<Slot>,
    /// Where everything else stays; empty: anywhere.
    housekeeping: Vec<u32>,
    held: Option<Held>,
    /// Keeps idle CPUs awake while it is there (/dev/cpu_dma_latency); nobody without the right to it.
    awake: Option<File>,
    /// The virtual machines that hold its programs; `None`: the sandbox alone does.
    machine: Option<vm::Settings>,
}

impl Reservation {
    /// How the launcher is started whose runs take place here.
    pub(crate) fn launcher(&self) -> Result<LauncherOptions, Failure> {
        let held = self.held.as_ref().map(Held::descriptors).transpose().map_err(Failure::system)?;
        Ok(LauncherOptions {
            housekeeping: self.housekeeping.clone(),
            slot: self.slot.clone(),
            held: held.unwrap_or_default(),
            ..LauncherOptions::default()
        })
    }

    /// Lets idle CPUs sleep again.
    pub(crate) fn let_sleep(&mut self) {
        self.awake = None;
    }

    /// The slot, where runs are in one.
    pub(crate) fn slot(&self) -> Option<&Slot> {
        self.slot.as_ref()
    }

    /// Has its programs held in virtual machines.
    pub(crate) fn hold_in(&mut self, machine: vm::Settings) {
        self.machine = Some(machine);
    }

    /// The virtual machines that hold its programs, if any do.
    pub(crate) fn machine(&self) -> Option<&vm::Settings> {
        self.machine.as_ref()
    }

    /// Where everything else stays.
    pub(crate) fn housekeeping(&self) -> &[u32] {
        &self.housekeeping
    }

    /// How far times vary here. What was measured outside of a virtual machine says nothing of the times in it.
    pub(crate) fn floor(&self) -> settle::NoiseFloor {
        match self.machine {
            Some(_) => settle::NoiseFloor::assumed(),
            None => crate::noise_floor::of_slot(self.slot()),
        }
    }

    /// How the launcher beside it is started, and where its runs are placed: off the slot.
    pub(crate) fn beside(&self) -> (LauncherOptions, Placement) {
        let options =
            LauncherOptions { housekeeping: self.housekeeping.clone(), ..LauncherOptions::default() };
        (options, Placement { cpus: self.housekeeping.clone(), ..Placement::default() })
    }
}

/// What the site wishes of its slots; nothing on a machine that is recorded elsewhere.
pub(crate) fn slots_config(root: Option<&Path>) -> Result<SlotsConfig, Failure> {
    if root.is_some() { Ok(SlotsConfig::default()) } else { Ok(Config::read()?.slots) }
}

/// The slots planned on a machine.
pub(crate) fn planned(machine: &Machine, slots_config: &SlotsConfig) -> Result<SlotPlan, Failure> {
    let topology = Topology::read(machine).map_err(Failure::system)?;
    Ok(host::slots::plan_with(&topology, &Cgroups::read(machine), slots_config))
}

/// Reserves `jobs` slots or sets of CPUs: what was typed, else `usual`. Waits while others hold the slots.
pub(crate) fn reserve(
    typed: &PlacementArgs,
    usual: SlotChoice,
    jobs: usize,
) -> Result<Vec<Reservation>, Failure> {
    possible(typed)?;
    match typed.slot_choice(usual)? {
        SlotChoice::None => Ok(without_slot(typed.placement(), jobs)?),
        choice => in_slots(typed, choice, jobs),
    }
}

/// Refuses what this machine has not, or this user may not.
fn possible(typed: &PlacementArgs) -> Result<(), Failure> {
    let wanted = typed.placement();
    let nowhere = wanted.cpus.is_empty() && wanted.mem_node.is_none();
    if !nowhere {
        let machine = Machine::this().map_err(Failure::system)?;
        let topology = Topology::read(&machine).map_err(Failure::system)?;
        there(&wanted, &topology).map_err(Failure::usage)?;
    }
    let (Sched::Fifo(priority) | Sched::RoundRobin(priority)) = wanted.sched else { return Ok(()) };
    let most = getrlimit(Resource::Rtprio).current.unwrap_or(u64::MAX);
    if geteuid().is_root() || most >= u64::from(priority) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "--sched: priority {priority} is above this user's limit of {most} (ulimit -r)\n\
         hint: start as root, or raise rtprio in limits.conf(5)"
    )))
}

fn there(wanted: &Placement, topology: &Topology) -> Result<(), String> {
    let list = |numbers: Vec<u32>| cpulist::to_list(&numbers.into_iter().collect());
    if let Some(cpu) = wanted.cpus.iter().find(|cpu| !topology.cpus.contains_key(*cpu)) {
        let there = list(topology.cpus.keys().copied().collect());
        let off = if topology.offline.contains(cpu) { "is switched off" } else { "is not on this machine" };
        return Err(format!("--cpu {cpu}: CPU {cpu} {off}\nhint: CPUs {there} are online"));
    }
    if let Some(node) = wanted.mem_node.filter(|node| !topology.nodes.contains_key(node)) {
        let there = list(topology.nodes.keys().copied().collect());
        return Err(format!("--mem-node {node}: this machine has no such memory node\nhint: it has {there}"));
    }
    Ok(())
}

/// One slot, waited for.
pub(crate) fn in_slot(slot: &Slot) -> Result<Reservation, Failure> {
    let typed = PlacementArgs { slot: Some(SlotChoice::Number(slot.id)), ..PlacementArgs::default() };
    reserve(&typed, SlotChoice::None, 1)?.pop().ok_or_else(|| Failure::system("no slot is left"))
}

/// The slot that was typed or the first, and all others with it, which stay empty: for experiments that disturb the whole machine.
/// The reservation of the slot comes first; on a machine without one it has none.
pub(crate) fn whole_machine(typed: &PlacementArgs) -> Result<Vec<Reservation>, Failure> {
    possible(typed)?;
    let choice = typed.slot_choice(SlotChoice::Auto)?;
    let machine = Machine::this().map_err(Failure::system)?;
    let plan = planned(&machine, &slots_config(None)?)?;
    let mut slots = chosen(usable(&machine, &plan), choice)?;
    let others: Vec<&Slot> = plan.slots.iter().filter(|slot| slots.iter().all(|s| s.id != slot.id)).collect();
    slots.extend(others);
    if slots.is_empty() {
        return Ok(vec![Reservation { placement: typed.placement(), ..Reservation::default() }]);
    }
    let jobs = slots.len();
    taken(&machine, &plan, &slots, jobs, typed)
}

fn in_slots(typed: &PlacementArgs, choice: SlotChoice, jobs: usize) -> Result<Vec<Reservation>, Failure> {
    let machine = Machine::this().map_err(Failure::system)?;
    let plan = planned(&machine, &slots_config(None)?)?;
    let free = chosen(usable(&machine, &plan), choice)?;
    // Kept to CPUs outside every slot: there is nothing to choose from.
    if free.is_empty() && jobs == 1 {
        return Ok(vec![Reservation { placement: typed.placement(), ..Reservation::default() }]);
    }
    if jobs > free.len() {
        let most = free.len().max(1);
        let why = format!(
            "--jobs {jobs}: this machine has slots for {most} at a time\nhint: give --jobs {most}, or --slot none"
        );
        return Err(Failure::usage(why));
    }
    taken(&machine, &plan, &free, jobs, typed)
}

/// Of the usable slots those that were asked for.
fn chosen(usable: Vec<&Slot>, choice: SlotChoice) -> Result<Vec<&Slot>, Failure> {
    let SlotChoice::Number(n) = choice else { return Ok(usable) };
    let known: Vec<&Slot> = usable.iter().filter(|slot| slot.id == n).copied().collect();
    if known.is_empty() {
        let last = usable.iter().map(|slot| slot.id).max();
        let there = last.map_or("it has none".into(), |last| format!("its slots are 0 to {last}"));
        return Err(Failure::usage(format!(
            "--slot {n}: this machine has no such slot, {there}\nhint: `tauto slots` lists them"
        )));
    }
    Ok(known)
}

/// So many of these slots, once they are free.
fn taken(
    machine: &Machine,
    plan: &SlotPlan,
    slots: &[&Slot],
    jobs: usize,
    typed: &PlacementArgs,
) -> Result<Vec<Reservation>, Failure> {
    let several_nodes = Topology::read(machine).is_ok_and(|topology| topology.nodes.len() > 1);
    let directories = lock_directories()?;
    locks::prepare(&directories[0], &plan.slots);
    let taken = locks::wait_for(&directories, slots, jobs, &mut tell_waiting).map_err(unlockable)?;
    let reservation = |(slot, held): (&Slot, Held)| {
        let isolated = slot.isolation != Isolation::None;
        let typed = typed.placement();
        let node = slot.mem_nodes.first().copied().filter(|_| several_nodes);
        let placement = Placement {
            cpus: if isolated { slot.cpus.clone() } else { vec![] },
            mem_node: typed.mem_node.or(node),
            sched: typed.sched,
        };
        let housekeeping = if isolated { plan.housekeeping.clone() } else { vec![] };
        let (slot, awake) =
            (Some(slot.clone()).filter(|_| isolated), host::tune::hold_cpu_dma_latency().ok());
        Reservation { placement, slot, housekeeping, held: Some(held), awake, machine: None }
    };
    Ok(taken.into_iter().map(reservation).collect())
}

/// Slots whose CPUs this process may use: those it is allowed on now, and those that are kept from everybody who does
/// not ask for them.
fn usable<'a>(machine: &Machine, plan: &'a SlotPlan) -> Vec<&'a Slot> {
    let list = |text: Option<String>| text.and_then(|list| cpulist::parse(&list)).unwrap_or_default();
    let status = machine.read("/proc/self/status").unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let mut allowed = list(allowed.map(String::from));
    allowed.extend(list(machine.read("/sys/devices/system/cpu/isolated").ok()));
    let may = |slot: &&Slot| {
        slot.isolation == Isolation::Partition || slot.cpus.iter().all(|cpu| allowed.contains(cpu))
    };
    plan.slots.iter().filter(may).collect()
}

fn tell_waiting(slot: &Slot, who: Option<u32>) {
    let who = who.map_or_else(String::new, |pid| format!(", held by process {pid}"));
    print_error(&format!("tauto: waiting for slot {}{who}\n", slot.id));
}

fn unlockable(e: io::Error) -> Failure {
    Failure::usage(format!(
        "cannot lock a slot: {e}\n\
         hint: set TAUTO_DATA_DIR to a directory that this user may write to, or give --slot none"
    ))
}

/// Without slots several jobs need a CPU each, and one more that is left to everything else.
fn without_slot(typed: Placement, jobs: usize) -> Result<Vec<Reservation>, Failure> {
    let reservation = |placement: Placement| Reservation { placement, ..Reservation::default() };
    if jobs == 1 {
        return Ok(vec![reservation(typed)]);
    }
    let cpus = if typed.cpus.is_empty() { allowed_cpus()? } else { typed.cpus.clone() };
    // Typed CPUs are all for jobs; of the machine's own, the first stays free.
    let free = usize::from(typed.cpus.is_empty());
    let most = cpus.len().saturating_sub(free).max(1);
    if jobs > most {
        let why =
            format!("--jobs {jobs}: this machine has CPUs for {most} at a time\nhint: give --jobs {most}");
        return Err(Failure::usage(why));
    }
    let each = cpus.iter().skip(free).take(jobs);
    Ok(each.map(|cpu| reservation(Placement { cpus: vec![*cpu], ..typed.clone() })).collect())
}

/// The CPUs this process may run on.
fn allowed_cpus() -> Result<Vec<u32>, Failure> {
    let set = rustix::thread::sched_getaffinity(None).map_err(Failure::system)?;
    let most = rustix::thread::CpuSet::MAX_CPU;
    Ok((0..most).filter(|cpu| set.is_set(*cpu)).filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}
