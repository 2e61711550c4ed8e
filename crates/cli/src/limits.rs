//! `tauto limits`: what the time limit of packages should be here, and how far the jury's programs stay away from it.

use crate::Done;
use crate::clocks;
use crate::experiments::{Disturbance, Disturber};
use crate::exports::Exports;
use crate::judging::{LimitDirectory, Opened, Site, failure, languages, open, options, worst_floor};
use crate::options::{ClockArgs, KeepArgs, LimitArgs, PlacementArgs, SlotChoice, clock, counter};
use crate::progress::Progress;
use crate::reservation::reserve;
use crate::terminal::{Failure, print};
use clap::Args;
use engine::calibrate::{CalibrationOptions, calibrate};
use engine::clocks::{Counter, Meter};
use engine::job::Job;
use engine::languages::Languages;
use engine::opinion::Opinions;
use engine::prepared_slot::PreparedSlot;
use engine::slot::needs_auxiliary;
use engine::{Fault, SystemError};
use judge::scoring::JudgeMode;
use model::{Calibration, Clock, Event};
use report::html::limits_page;
use report::json::{LimitsDocument, to_text};
use report::text::limits_report;
use settle::NoiseFloor;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub(crate) struct LimitsArgs {
    /// Problem packages: directories or zip archives
    #[arg(required = true, value_name = "PACKAGE")]
    packages: Vec<PathBuf>,
    /// Clock: cpu, instructions, reference, or all of them one after the other [default: the setting of the package, else
    /// of the configuration]
    #[arg(long, value_name = "cpu|instructions|reference|all", value_parser = clocks_of)]
    clock: Option<Clocks>,
    /// Instruction counter: emulator or processor (the processor's own counter)
    #[arg(long, value_name = "emulator|processor", value_parser = counter)]
    counter: Option<Counter>,
    /// Measure each test with all CPUs busy too, as in a contest
    #[arg(long)]
    load: bool,
    /// Number of runs of each test by CPU time, and again under load; the other clocks need one
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    #[command(flatten)]
    keep: KeepArgs,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Write a page with a chart to FILE
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Merge this language table over the built-in one
    #[arg(long, value_name = "FILE", env = "TAUTO_LANGUAGES")]
    languages: Option<PathBuf>,
    #[command(flatten)]
    placement: PlacementArgs,
}

/// The clocks that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clocks {
    One(Clock),
    All,
}

fn clocks_of(text: &str) -> Result<Clocks, String> {
    match text {
        "all" => Ok(Clocks::All),
        name => clock(name).map(Clocks::One).map_err(|why| format!("{why}, all")),
    }
}

pub(crate) fn main(args: LimitsArgs) -> Result<Done, Failure> {
    let languages = languages(args.languages.as_ref())?;
    let packages = args.packages.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>()?;
    let meter: Vec<Vec<Meter>> =
        packages.iter().map(|opened| meters(&args, opened)).collect::<Result<_, _>>()?;
    let exports = Exports::open(args.json, [("--html", args.html.as_ref())])?;
    let reservations = reserve(&args.placement, SlotChoice::Auto, 1)?;
    let floor = worst_floor(&reservations);
    let site = Site::start(reservations, packages.iter().any(|opened| needs_auxiliary(&opened.package)))?;
    let kept = LimitDirectory::here(args.keep)?;
    let total: usize = meter.iter().map(Vec::len).sum();
    let progress = Progress::new(total as u64, false);
    let mut calibrations: Vec<(String, Calibration)> = Vec::new();
    for ((opened, path), meter) in packages.iter().zip(&args.packages).zip(meter) {
        opened.warnings.iter().for_each(|warning| progress.tell(warning));
        for meter in meter {
            let asked = MeasureRequest { args: &args, languages: &languages, floor, meter, kept: &kept };
            match measure(&asked, opened, &site, &progress) {
                Ok(calibration) => calibrations.push((path.display().to_string(), calibration)),
                Err(Fault::Cancelled) => {
                    progress.finish();
                    return Ok(Done::Interrupted);
                }
                Err(fault) => {
                    progress.finish();
                    return Err(told(path, fault));
                }
            }
            progress.step();
        }
    }
    progress.finish();
    let machine = crate::experiments::machine_facts();
    match args.json {
        true => print(&to_text(&LimitsDocument::new(&calibrations))),
        false => exports.print(&limits_report(&calibrations, progress.style)),
    }
    exports.write([&|| limits_page(&calibrations, &machine)]);
    let clash = calibrations.iter().any(|(_, calibration)| calibration.suggestion.clash.is_some());
    Ok(if clash { Done::Bad } else { Done::Good })
}

/// By what a package is measured.
fn meters(args: &LimitsArgs, opened: &Opened) -> Result<Vec<Meter>, Failure> {
    let of = |clock, counter| clocks::meter(ClockArgs { clock, counter }, opened.clock);
    match args.clock {
        // What is said of the counter is for the clock of instructions alone.
        Some(Clocks::All) => Clock::ALL
            .into_iter()
            .map(|clock| of(Some(clock), args.counter.filter(|_| clock == Clock::Instructions)))
            .collect(),
        Some(Clocks::One(clock)) => of(Some(clock), args.counter).map(|meter| vec![meter]),
        None => of(None, args.counter).map(|meter| vec![meter]),
    }
}

/// What is asked of one package.
struct MeasureRequest<'a> {
    args: &'a LimitsArgs,
    languages: &'a Languages,
    floor: NoiseFloor,
    meter: Meter,
    kept: &'a LimitDirectory,
}

fn measure(
    asked: &MeasureRequest,
    opened: &Opened,
    site: &Site,
    progress: &Progress,
) -> Result<Calibration, Fault> {
    let MeasureRequest { args, meter, .. } = *asked;
    let emit = |event: Event| {
        // What is measured next is told with its round.
        if !matches!(event, Event::Phase { .. }) {
            progress.tell(&event);
        }
    };
    let opinions = Opinions::none();
    let options = options(&LimitArgs::default(), &args.placement, JudgeMode::AllTests, asked.floor, meter);
    let job = Job {
        package: &opened.package,
        source: &opened.source,
        languages: asked.languages,
        options,
        opinions: &opinions,
        limit_cache: asked.kept.limit_cache(),
        cancel: &site.cancel,
        emit: &emit,
    };
    let slot = site.slots.first().ok_or_else(|| SystemError::new("measuring", "there is no slot"))?;
    let bench = PreparedSlot::new(job, slot)?;
    let name = &opened.package.short_name;
    let runs = if meter.clock().varies() { args.runs } else { 1 };
    let tell = |round: u32, what: &str| {
        let clock = meter.clock().name();
        progress.at(&format!("{name}, clock {clock}, run {round} of {runs}: {what}"));
    };
    let busy: RefCell<Option<Disturber>> = RefCell::new(None);
    let load = |on: bool| -> Result<(), Fault> {
        let none = busy.replace(None);
        drop(none);
        if on {
            *busy.borrow_mut() =
                Some(all_busy().map_err(|e| SystemError::new("loading the machine", e.to_string()))?);
        }
        Ok(())
    };
    let load: Option<&dyn Fn(bool) -> Result<(), Fault>> = if args.load { Some(&load) } else { None };
    calibrate(&bench, &CalibrationOptions { runs, load, tell: &tell })
}

/// A load on every CPU that this process may use, until it is dropped.
fn all_busy() -> Result<Disturber, Failure> {
    let cpus = loads::allowed().map_err(Failure::system)?;
    Disturber::start(&Disturbance { kind: "cpu", cpus: cpus.into_iter().collect(), priority: None })
}

/// A fault of a package, which may be one of several.
fn told(path: &Path, fault: Fault) -> Failure {
    match fault {
        Fault::Package { place, why } => Failure::system(format!("{}: {place}: {why}", path.display())),
        Fault::Input { place, why } => Failure::usage(format!("{}: {place}: {why}", path.display())),
        other => failure(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_one_or_all() {
        assert_eq!(clocks_of("all"), Ok(Clocks::All));
        assert_eq!(clocks_of("reference"), Ok(Clocks::One(Clock::Reference)));
        assert_eq!(clocks_of("wall"), Err("must be one of cpu, instructions, reference, all".into()));
    }
}
