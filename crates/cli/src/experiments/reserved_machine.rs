//! What the experiments that disturb the whole machine have in common: all its slots, its CPUs, and the built-in program.

use crate::options::{PlacementArgs, SlotChoice};
use crate::reservation::{Reservation, whole_machine};
use crate::terminal::Failure;
use host::busy;
use host::cpulist::Set;
use host::facts::Topology;
use host::machine::Machine;
use model::{Clock, Isolation, Reading, Slot};
use report::warning_words;
use std::io;
use std::time::Instant;

/// The machine, ours as long as this lives: one slot for the program, and no other tauto in the rest.
pub(super) struct ReservedMachine {
    pub(super) machine: Machine,
    pub(super) topology: Topology,
    /// Where the program runs. Idle CPUs may sleep here.
    pub(super) reservation: Reservation,
    /// CPUs that loads can use.
    pub(super) cpus: Set,
    /// The other slots, which stay empty.
    _others: Vec<Reservation>,
}

impl ReservedMachine {
    /// Waits until the machine is free.
    pub(super) fn take(typed: &PlacementArgs) -> Result<ReservedMachine, Failure> {
        if typed.cpu.is_some() || typed.mem_node.is_some() || typed.slot == Some(SlotChoice::None) {
            return Err(Failure::usage(
                "--cpu, --mem-node, --slot none: this experiment places the program itself, in a slot\n\
                 hint: choose a slot with --slot N; `tauto slots` lists them",
            ));
        }
        let mut reservations = whole_machine(typed)?;
        reservations.iter_mut().for_each(Reservation::let_sleep);
        let reservation = reservations.remove(0);
        let machine = Machine::this().map_err(Failure::system)?;
        let topology = Topology::read(&machine).map_err(Failure::system)?;
        let cpus = loads::allowed().map_err(Failure::system)?;
        let cpus = cpus.intersection(&topology.online()).copied().collect();
        Ok(ReservedMachine { machine, topology, reservation, cpus, _others: reservations })
    }

    pub(super) fn slot(&self) -> Option<&Slot> {
        self.reservation.slot()
    }

    /// The CPUs the program is bound to: those of its slot, or the last one.
    pub(super) fn bound(&self) -> Vec<u32> {
        let last = self.cpus.last().copied().into_iter().collect();
        self.slot().map_or(last, |slot| slot.cpus.clone())
    }

    /// CPUs outside the slot and its empty siblings.
    pub(super) fn outside(&self) -> Vec<u32> {
        let kept = self.slot().map_or_else(|| self.bound(), Slot::all_cpus);
        self.cpus.iter().filter(|cpu| !kept.contains(cpu)).copied().collect()
    }

    /// Why nobody else can be bound to the slot's CPU.
    pub(super) fn walled_in(&self) -> Option<String> {
        let walled = self.slot().filter(|slot| slot.isolation == Isolation::Partition)?;
        let cpus = host::cpulist::to_list(&walled.cpus.iter().copied().collect());
        Some(format!(
            "CPU {cpus} is in an isolated partition, to which no other process can be bound; `tauto tune undo --only isolated_cpus` returns it"
        ))
    }
}

/// The command and its name for people: what was typed, or the built-in sieve over so many numbers, by default as many as fit
/// the machine.
pub(super) fn program(command: &[String], numbers: Option<u64>) -> Result<(Vec<String>, String), Failure> {
    if !command.is_empty() {
        return Ok((command.to_vec(), crate::bench::words::join(command)));
    }
    let machine = Machine::this().map_err(Failure::system)?;
    let numbers = numbers.unwrap_or_else(|| {
        let topology = Topology::read(&machine).unwrap_or_default();
        let cache = topology.cpus.keys().filter_map(|cpu| loads::last_level_bytes(&topology, *cpu)).max();
        loads::probe::sieve_numbers(cache.map(|bytes| bytes as u64), memory(&machine, "MemTotal"))
    });
    // Rather than that it is killed in the middle.
    if let Some(free) = memory(&machine, "MemAvailable").filter(|free| 4 * numbers > free / 2) {
        let most = free / 8;
        return Err(Failure::usage(format!(
            "a sieve over {numbers} numbers takes {} MiB, more than half of the memory that is free\n\
             hint: --numbers {most} or less",
            (4 * numbers) >> 20
        )));
    }
    let mut argv = super::command_or(&[], "sieve")?;
    argv.push(numbers.to_string());
    Ok((argv, format!("built-in sieve over {numbers} numbers ({} MiB)", (4 * numbers) >> 20)))
}

/// A line of /proc/meminfo in bytes.
fn memory(machine: &Machine, name: &str) -> Option<u64> {
    let text = machine.read("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

/// Looks at what else the machine does meanwhile.
pub(super) struct Watch(io::Result<busy::BusySnapshot>, Instant);

impl Watch {
    pub(super) fn begin() -> Watch {
        Watch(look(), Instant::now())
    }

    /// The same, where any run was made.
    pub(super) fn told_if(self, ran: bool, ours: &[u32]) -> Vec<String> {
        if ran { self.told(ours) } else { vec![] }
    }

    /// What to know of work that was not ours, in words. `ours`: the CPUs we worked on.
    pub(super) fn told(self, ours: &[u32]) -> Vec<String> {
        let Watch(before, start) = self;
        let load =
            before.and_then(|before| Ok(busy::between(&before, &look()?, start.elapsed().into(), ours)));
        let warnings = lab::bench::machine_warnings(&Reading::from_result(load), ours);
        let words = |warning| {
            let told = warning_words(warning, Clock::Cpu);
            let (fact, hints) = model::hint::split(&told);
            let remedies: String = hints.iter().map(|hint| format!(" {}.", capitalised(hint))).collect();
            format!("Warning: {fact}.{remedies}")
        };
        warnings.iter().map(words).collect()
    }
}

fn capitalised(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or(String::new(), |first| first.to_uppercase().chain(rest).collect())
}

fn look() -> io::Result<busy::BusySnapshot> {
    busy::snapshot(&Machine::this()?, std::process::id())
}

/// A failure with the run it came in.
pub(super) fn in_run(failure: &Failure, run: usize, of: &str) -> Failure {
    let told = format!("run {run} ({of}): {failure}");
    match failure {
        Failure::Usage(_) => Failure::usage(told),
        Failure::System(_) => Failure::system(told),
    }
}
