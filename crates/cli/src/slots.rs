//! `tauto slots`: how this machine's CPUs are divided.

use crate::Done;
use crate::config::Config;
use crate::isolation::IsolationArgs;
use crate::noise_floor;
use crate::progress::Progress;
use crate::reservation::{in_slot, planned, slots_config};
use crate::terminal::{self, Failure, print, tell_warning};
use clap::Args;
use host::busy;
use host::machine::Machine;
use lab::bench::machine_warnings;
use model::{Clock, MeasuredSlot, MeasuredSlots, Nanos, Reading, Slot, SlotPlan};
use report::json::to_text;
use report::text::slots_table;
use report::warning_words;
use sandbox::Launcher;
use settle::{NoiseFloor, Policy, Spread};
use std::io;
use std::path::PathBuf;
use std::time::Instant;

#[derive(Args, Debug)]
pub(crate) struct SlotsArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Plan for a recorded machine: a file of `tauto audit --record`, or a directory with its /proc and /sys
    #[arg(long, value_name = "PATH")]
    root: Option<PathBuf>,
    /// Measure and store the noise floor of each slot; until the next reboot, tauto uses it for times near a limit
    #[arg(long, conflicts_with = "root")]
    measure: bool,
}

pub(crate) fn main(args: SlotsArgs) -> Result<Done, Failure> {
    let machine = match &args.root {
        Some(root) => Machine::at(root).map_err(|e| Failure::usage(format!("{}: {e}", root.display())))?,
        None => Machine::this().map_err(Failure::system)?,
    };
    let mut plan = planned(&machine, &slots_config(args.root.as_deref())?)?;
    if args.measure {
        measure(&plan)?;
    }
    if args.root.is_none() {
        let isolation_mode = IsolationArgs::default().isolation_mode(&Config::read()?);
        plan.slots = plan.slots.iter().map(|slot| isolation_mode.slot(slot)).collect();
    }
    match args.json {
        true => print(&to_text(&measured(&plan, args.root.is_none()))),
        false => {
            let floors = measured(&plan, args.root.is_none()).slots.into_iter().map(|slot| slot.noise_floor);
            print(&slots_table(&plan, &floors.map(lines).collect::<Vec<_>>(), terminal::style()));
        }
    }
    Ok(Done::Good)
}

/// The plan with the floors that were measured on this machine; with none where it is another's.
pub(crate) fn measured(plan: &SlotPlan, here: bool) -> MeasuredSlots {
    let floor = |slot: &Slot| Some(noise_floor::of_slot(Some(slot))).filter(|floor| here && !floor.assumed);
    let slots = plan.slots.iter().map(|slot| MeasuredSlot { slot: slot.clone(), noise_floor: floor(slot) });
    MeasuredSlots { housekeeping: plan.housekeeping.clone(), slots: slots.collect() }
}

/// A floor in a line.
fn lines(floor: Option<NoiseFloor>) -> Option<String> {
    let floor = floor?;
    let percent = |spread: Spread| {
        format!("{:.2} % + {:.2} %", 100.0 * spread.median_excess, 100.0 * spread.tail_scale)
    };
    let band = 100.0 * settle::band(floor.spread(), &Policy::PUBLISHED);
    Some(format!(
        "compute {}, memory {}, decisive margin {band:.1} %",
        percent(floor.compute.spread),
        percent(floor.memory.spread)
    ))
}

fn look() -> io::Result<busy::BusySnapshot> {
    busy::snapshot(&Machine::this()?, std::process::id())
}

fn measure(plan: &SlotPlan) -> Result<(), Failure> {
    for slot in &plan.slots {
        let reservation = in_slot(slot)?;
        let launcher = Launcher::start(&reservation.launcher()?)?;
        let progress = Progress::new(noise_floor::STEPS, false);
        let (before, start) = (look(), Instant::now());
        let floor = noise_floor::measure(&launcher, slot, &reservation.placement, &|| progress.step());
        let elapsed = Nanos::from(start.elapsed());
        progress.finish();
        let floor = floor?;
        let load = before.and_then(|before| Ok(busy::between(&before, &look()?, elapsed, &slot.cpus)));
        let busy = machine_warnings(&Reading::from_result(load), &slot.cpus);
        for warning in &busy {
            let warning = warning_words(warning, Clock::Cpu);
            tell_warning(format!("slot {}, measured on a busy machine: {warning}", slot.id));
        }
        let known = noise_floor::of_slot(Some(slot));
        if !busy.is_empty() && !known.assumed && noise_floor::is_better(&known, &floor) {
            tell_warning(format!(
                "slot {} keeps its earlier noise floor, which is lower\n\
                 hint: `tauto slots --measure` on an idle machine",
                slot.id
            ));
            continue;
        }
        noise_floor::keep(slot, floor)?;
    }
    Ok(())
}
