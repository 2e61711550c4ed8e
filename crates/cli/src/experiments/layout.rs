//! `tauto lab layout`: does the place of a program's memory move its time?

use super::lines::LayoutRun;
use super::reserved_machine::Watch;
use super::session::{Forms, Session, SessionArgs, outcome};
use super::subject_facts;
use crate::Done;
use crate::interrupt::Interrupt;
use crate::measured_program::{MeasuredProgramArgs, ended_well};
use crate::options::{OnOff, PlacementArgs, SlotChoice};
use crate::reservation::{Reservation, reserve};
use crate::terminal::{self, Failure};
use clap::{Args, ValueEnum};
use layouts::{Plan, Sweep, find};
use model::{BenchEnd, Layout, LayoutClock, LayoutReport, Observation, Reading, Vary};
use report::csv::layout_csv;
use report::html::layout_page;
use report::json::to_text;
use report::text::layout_report;
use sandbox::Launcher;
use serde_json::json;
use settle::NoiseFloor;
use std::path::PathBuf;

/// The greatest layout, in bytes: an environment must leave room in what exec allows (execve(2), a quarter of the stack).
const MOST: i64 = 1 << 20;
/// Seed of the order of runs.
const SEED: u64 = 20_261_121;

#[derive(Args, Debug)]
pub(crate) struct LayoutArgs {
    /// Padding of the first layout in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=MOST))]
    from: u32,
    /// Padding of the last layout in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 8192, value_parser = clap::value_parser!(u32).range(0..=MOST))]
    to: u32,
    /// Bytes between two layouts [default: 1; 16 for the stack]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    step: Option<u32>,
    /// Number of measured runs of each layout
    #[arg(short = 'n', long, visible_short_alias = 'r', value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: u32,
    /// Sample coarsely and refine only where the time changes: minutes instead of hours
    #[arg(long)]
    quick: bool,
    /// What to pad
    #[arg(long, value_enum, default_value = "environment")]
    vary: VaryName,
    /// Plot curves of other machines (files of --json) beside this one's
    #[arg(long, value_name = "FILE", num_args = 1..)]
    environments: Vec<PathBuf>,
    /// Command, as for `tauto run` [default: a loop that increments three static counters]
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
    #[command(flatten)]
    pub(super) session: SessionArgs,
    // Last, since their headings hold for what comes after them too.
    #[command(flatten)]
    subject: MeasuredProgramArgs,
    #[command(flatten)]
    placement: PlacementArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum VaryName {
    /// An additional environment variable that grows
    Environment,
    /// The program's name (argv[0]), with leading slashes
    Argv0,
    /// The start of the stack, in steps of 16 bytes
    Stack,
}

pub(crate) fn main(args: &LayoutArgs) -> Result<Done, Failure> {
    let plan = plan(args)?;
    let argv = super::command_or(&args.command, "toy")?;
    let others = args.environments.iter().map(other).collect::<Result<Vec<LayoutReport>, Failure>>()?;
    let reservation = reserve(&args.placement, SlotChoice::Auto, 1)?.pop().unwrap_or_default();
    // What cannot be run is told before anything is.
    args.subject.prepared(&argv, &reservation.placement, layout(args, 0))?;
    let counted = sandbox::cycle_counter();
    let clock = if counted.is_ok() { LayoutClock::Cycles } else { LayoutClock::CpuNs };
    let asked = json!({
        "program": subject_facts(&argv, &args.subject)?, "placement": reservation.placement, "aslr": args.placement.aslr == OnOff::On,
        "vary": args.vary.vary(), "from": plan.from, "to": plan.to, "step": plan.step, "runs": plan.runs,
        "quick": plan.quick, "clock": clock, "machine": super::machine_facts(),
    });
    let (mut session, kept) = Session::open::<LayoutRun>(&args.session, "layout", asked)?;
    let mut sweep = resumed(plan, &kept)?;
    if sweep.next().is_none() && session.again()? {
        sweep = Sweep::new(plan);
    }
    session.tell_resumed(sweep.made());
    let (watch, before) = (Watch::begin(), sweep.made());
    let (end, failure) = conduct(args, &argv, &reservation, clock, &mut session, &mut sweep);
    let warnings = watch.told_if(sweep.made() > before, &reservation.placement.cpus);
    if sweep.made() == 0
        && let Some(failure) = failure
    {
        return Err(failure);
    }
    let report =
        LayoutReport { warnings, ..drawn_up(args, &argv, clock, counted.err(), &sweep, end.clone()) };
    let forms = Forms {
        json: to_text(&report),
        csv: layout_csv(&report),
        html: layout_page(&report, &others),
        text: layout_report(&report, terminal::style()),
    };
    session.finish(&end, failure, forms)
}

fn plan(args: &LayoutArgs) -> Result<Plan, Failure> {
    let stack = matches!(args.vary, VaryName::Stack);
    let step = args.step.unwrap_or(if stack { 16 } else { 1 });
    if args.from > args.to {
        return Err(Failure::usage(format!("--from {}: must not be above --to {}", args.from, args.to)));
    }
    if stack && (!step.is_multiple_of(16) || !args.from.is_multiple_of(16)) {
        return Err(Failure::usage(
            "--vary stack: --from and --step must be multiples of 16, as stacks begin at those",
        ));
    }
    Ok(Plan { from: args.from, to: args.to, step, runs: args.runs as usize, quick: args.quick, seed: SEED })
}

/// The sweep as far as the record goes.
fn resumed(plan: Plan, kept: &[LayoutRun]) -> Result<Sweep, Failure> {
    let mut sweep = Sweep::new(plan);
    for (n, run) in kept.iter().enumerate() {
        if sweep.next() != Some(run.at) {
            let why = format!(
                "run {} of the record does not match this experiment\nhint: --fresh restarts from scratch",
                n + 1
            );
            return Err(Failure::usage(why));
        }
        sweep.put(run.value as f64, run.disturbed.is_empty());
    }
    Ok(sweep)
}

/// Makes the runs that are left.
fn conduct(
    args: &LayoutArgs,
    argv: &[String],
    reservation: &Reservation,
    clock: LayoutClock,
    session: &mut Session,
    sweep: &mut Sweep,
) -> (BenchEnd, Option<Failure>) {
    let mut measure = || -> Result<BenchEnd, Failure> {
        if sweep.next().is_none() {
            return Ok(BenchEnd::Complete);
        }
        let (floor, launcher) = (reservation.floor(), Launcher::start(&reservation.launcher()?)?);
        let interrupt = Interrupt::ending(vec![launcher.ender()])?;
        session.begin(sweep.made());
        while let Some(at) = sweep.next() {
            session.progress(
                sweep.made(),
                sweep.left(),
                &format!("{} + {at} bytes", args.vary.vary().words()),
            );
            if interrupt.came() {
                return Ok(BenchEnd::Interrupted);
            }
            let (mut spec, fds) = args.subject.prepared(argv, &reservation.placement, layout(args, at))?;
            spec.count_instructions = clock == LayoutClock::Cycles;
            let observation = launcher.run(&spec, fds)?;
            if interrupt.came() {
                return Ok(BenchEnd::Interrupted);
            }
            ended_well(&observation, &spec.limits)
                .map_err(|e| Failure::usage(format!("run {} (at {at} bytes): {e}", sweep.made() + 1)))?;
            let run = kept(at, &observation, clock, &floor)?;
            session.keep(&run)?;
            sweep.put(run.value as f64, run.disturbed.is_empty());
        }
        Ok(BenchEnd::Complete)
    };
    outcome(measure())
}

fn kept(at: u32, run: &Observation, clock: LayoutClock, floor: &NoiseFloor) -> Result<LayoutRun, Failure> {
    // What disturbs a run takes CPU time; cycles of the program itself are taken by what empties its caches.
    let disturbed = crate::noise_floor::disturbed(run, floor);
    let value = match (clock, &run.cycles) {
        (LayoutClock::CpuNs, _) => run.time.cpu.0,
        (LayoutClock::Cycles, Reading::Known(cycles)) => *cycles,
        (LayoutClock::Cycles, Reading::Unknown(why)) => {
            return Err(Failure::system(format!("run at {at} bytes: its cycles were not counted: {why}")));
        }
    };
    Ok(LayoutRun { at, value, disturbed })
}

fn layout(args: &LayoutArgs, at: u32) -> Layout {
    let usual = args.placement.layout();
    match args.vary {
        VaryName::Environment => Layout { env_padding: at, ..usual },
        VaryName::Argv0 => Layout { argv0_padding: at, ..usual },
        VaryName::Stack => Layout { stack_padding: at, ..usual },
    }
}

impl VaryName {
    fn vary(self) -> Vary {
        match self {
            VaryName::Environment => Vary::Environment,
            VaryName::Argv0 => Vary::Argv0,
            VaryName::Stack => Vary::Stack,
        }
    }
}

fn drawn_up(
    args: &LayoutArgs,
    argv: &[String],
    clock: LayoutClock,
    why_clock: Option<String>,
    sweep: &Sweep,
    end: BenchEnd,
) -> LayoutReport {
    let found = find(sweep.seen(), sweep.second());
    let known = |figure: Option<f64>| Reading::from_option(figure, || "too few runs".into());
    let [_, void_runs] = sweep.seen().runs();
    LayoutReport {
        command: super::shown(&args.command, argv),
        vary: args.vary.vary(),
        clock,
        why_clock,
        aslr: args.placement.aslr == OnOff::On,
        quick: args.quick,
        points: found.points,
        mean: known(found.mean),
        distances: found.peaks.windows(2).map(|pair| pair[1].from - pair[0].from).collect(),
        peaks: found.peaks,
        unconfirmed: found.unconfirmed,
        sensitivity_pct: known(found.sensitivity_pct),
        chance_pct: known(found.chance_pct),
        runs: sweep.made(),
        void_runs,
        warnings: vec![],
        end,
        machine: super::machine_facts(),
    }
}

/// What another machine saved.
fn other(path: &PathBuf) -> Result<LayoutReport, Failure> {
    let fail = |e: &dyn std::fmt::Display| Failure::usage(format!("--environments {}: {e}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| fail(&e))?;
    serde_json::from_str(&text).map_err(|e| {
        fail(&e).hint("name a file with what `tauto lab layout --json` printed on the other machine")
    })
}
