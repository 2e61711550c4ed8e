//! `tauto bench`: repeated, measured runs of commands.

pub(crate) mod words;

use crate::Done;
use crate::clocks;
use crate::exports::Exports;
use crate::interrupt::Interrupt;
use crate::isolation::{IsolationArgs, ProgramRunner};
use crate::measured_program::{MeasuredProgramArgs, ended_well};
use crate::options::{ClockArgs, PlacementArgs, SlotChoice};
use crate::reservation::{Reservation, reserve};
use crate::terminal::{self, Failure, print, tell_error};
use clap::Args;
use engine::clocks::Meter;
use host::busy;
use host::machine::Machine;
use indicatif::{ProgressBar, ProgressStyle};
use lab::bench::{self, BenchTargets, Next, Parameter, Plan, Program, Stop, benched, machine_warnings};
use model::{BenchEnd, BenchReport, Benched, HostLoad, Limits, Nanos, Observation, Reading, RunSpec};
use report::csv::bench_csv;
use report::html::bench_page;
use report::json::{BenchDocument, FaultDocument, Judged, to_text};
use report::text::bench_report;
use settle::NoiseFloor;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    /// Commands to compare, each in quotes, such as './a 1' './b 1'; their runs are interleaved. tauto splits words as a
    /// shell does, without running a shell
    #[arg(value_name = "COMMAND")]
    commands: Vec<String>,
    /// One command, as for `tauto run`
    #[arg(last = true, value_name = "CMD", conflicts_with = "commands")]
    command: Vec<String>,
    /// Number of measured runs of each command
    #[arg(short = 'n', long, visible_short_alias = 'r', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: u32,
    /// Number of warm-up runs of each command; they are not counted
    #[arg(short = 'w', long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    warmup: u32,
    /// Keep running until the 95 % confidence interval of the median is within ±PCT percent
    #[arg(long, value_name = "PCT", value_parser = percent, allow_negative_numbers = true)]
    until_ci: Option<f64>,
    /// With --until-ci, run each command at most N times, including discarded runs; a larger --runs is reduced to N
    #[arg(long, value_name = "N", requires = "until_ci", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    max_runs: u32,
    /// Exit with status 1 if the spread of CPU time (max − min) exceeds PCT percent of the median
    #[arg(long, value_name = "PCT", value_parser = percent, allow_negative_numbers = true)]
    max_spread: Option<f64>,
    /// Values for {NAME} in the command: NAME=V1,V2 or NAME=FROM..TO or NAME=FROM..TO:STEP; several parameters give every
    /// combination
    #[arg(short = 'p', long, visible_aliases = ["parameter-list", "parameter-range"], value_name = "NAME=VALUES", value_parser = bench::parse_parameter)]
    parameter: Vec<Parameter>,
    /// Count runs with a nonzero exit status too [default: the first such run stops the benchmark]
    #[arg(short = 'i', long)]
    ignore_failure: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Write every run with all its evidence to FILE; - is standard output
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write a page with a scatter plot of all runs to FILE; - is standard output
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    // Last, since their headings hold for what comes after them too.
    #[command(flatten)]
    subject: MeasuredProgramArgs,
    #[command(flatten)]
    clock: ClockArgs,
    #[command(flatten)]
    placement: PlacementArgs,
    #[command(flatten)]
    isolation: IsolationArgs,
}

pub(crate) fn main(args: BenchArgs) -> Result<Done, Failure> {
    let json = args.json;
    let done = measure(&args);
    if let (true, Err(Failure::System(e))) = (json, &done) {
        print(&to_text(&FaultDocument::new(format!("{e:#}"))));
    }
    done
}

fn measure(args: &BenchArgs) -> Result<Done, Failure> {
    let programs = programs(args)?;
    let exports = Exports::open(args.json, [("--csv", args.csv.as_ref()), ("--html", args.html.as_ref())])?;
    let mut reservations = reserve(&args.placement, SlotChoice::Auto, 1)?;
    args.isolation.apply(&mut reservations, false, || args.subject.shown())?;
    let reservation = reservations.pop().unwrap_or_default();
    let meter = clocks::meter(args.clock, None)?;
    // What cannot be run is told before anything is.
    programs.iter().try_for_each(|program| prepared(args, &reservation, program).map(drop))?;
    programs.iter().try_for_each(|program| clocks::check(meter, &program.argv[0]))?;
    let launcher = ProgramRunner::take(&reservation)?;
    let interrupted = Interrupt::ending(vec![launcher.ender()])?;
    let run = |n: usize| {
        if interrupted.came() {
            return Ok(None);
        }
        let (mut spec, mut fds) = prepared(args, &reservation, &programs[n])?;
        let counting = meter.begin(&mut spec, &mut fds).map_err(Failure::system)?;
        let observation = launcher.run(&spec, fds)?;
        if interrupted.came() {
            return Ok(None);
        }
        let observation = check(args, &spec.limits, counting.end(observation).map_err(Failure::system)?)?;
        meter.charge(&observation).map_err(Failure::system)?;
        Ok(Some(observation))
    };
    let floor = reservation.floor();
    let (report, failure) = conduct(args, &programs, meter, &floor, run);
    match failure {
        Some(failure) if report.programs.iter().all(|program| program.runs.is_empty()) => Err(failure),
        failure => {
            tell(args, &report, &floor, &exports);
            exports.write([&|| bench_csv(&report), &|| bench_page(&report)]);
            answer(args, &report, failure)
        }
    }
}

/// Makes the runs and draws up the report of those that were made, with what ended them if that was a failure.
fn conduct(
    args: &BenchArgs,
    programs: &[Program],
    meter: Meter,
    floor: &NoiseFloor,
    mut run: impl FnMut(usize) -> Result<Option<Observation>, Failure>,
) -> (BenchReport, Option<Failure>) {
    let most = args.until_ci.map(|_| args.max_runs as usize);
    let plan = Plan {
        clock: meter.clock(),
        programs: programs.len(),
        runs: most.unwrap_or(usize::MAX).min(args.runs as usize),
        warmup: args.warmup as usize,
        until_ci: args.until_ci,
        max_runs: most.unwrap_or(args.runs as usize),
    };
    let bar = progress();
    let (before, start) = (look(), Instant::now());
    let (kept, stop) = bench::bench(&plan, floor, |next: Next| {
        bar.set_length(next.expected as u64);
        bar.set_position(next.done as u64);
        bar.set_message(programs[next.program].shown.chars().take(60).collect::<String>());
        run(next.program)
    });
    let elapsed = Nanos::from(start.elapsed());
    bar.finish_and_clear();
    let ours: BTreeSet<u32> =
        kept.iter().flatten().flat_map(|run| run.observation.evidence.cpus.clone()).collect();
    let ours: Vec<u32> = ours.into_iter().collect();
    let load: Reading<HostLoad> =
        Reading::from_result(before.and_then(|before| Ok(busy::between(&before, &look()?, elapsed, &ours))));
    let (end, failure) = match stop {
        Stop::Enough => (BenchEnd::Complete, None),
        Stop::BenchTargets => (BenchEnd::Interrupted, None),
        Stop::Failed { program, run, error } => {
            let failure = in_run(error, &programs[program], run);
            (BenchEnd::Failed(format!("{failure}")), Some(failure))
        }
    };
    let limits = meter.judged_by(args.subject.limits.limits());
    let complete = end == BenchEnd::Complete;
    let asked = BenchTargets {
        runs: Some(plan.runs).filter(|_| complete),
        ci: args.until_ci.filter(|_| complete),
        looks: plan.looks(),
    };
    let programs = benched(programs, kept, meter.clock(), &limits, floor, asked);
    // A busy machine changes no count.
    let warnings = if meter == Meter::Kernel { machine_warnings(&load, &ours) } else { Vec::new() };
    let (clock, counted_by) = (meter.clock(), meter.versions());
    (BenchReport { clock, counted_by, programs, limits, warnings, end }, failure)
}

fn look() -> io::Result<busy::BusySnapshot> {
    busy::snapshot(&Machine::this()?, std::process::id())
}

/// A bar with the time that is left, on a terminal.
fn progress() -> ProgressBar {
    let bar = ProgressBar::new(0);
    let template = "{spinner} run {pos} of {len}, {eta} left  {msg}";
    // A template that does not parse leaves the usual look.
    bar.set_style(
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// What is to be run: each command with each combination of parameters.
fn programs(args: &BenchArgs) -> Result<Vec<Program>, Failure> {
    let commands: Vec<Vec<String>> = match args.commands.is_empty() {
        true => vec![args.command.clone()],
        false => {
            let split =
                |text: &String| words::split(text).map_err(|why| Failure::usage(format!("`{text}`: {why}")));
            args.commands.iter().map(split).collect::<Result<_, _>>()?
        }
    };
    if commands.iter().any(Vec::is_empty) {
        return Err(Failure::usage(
            "no command\nhint: give one after `--`, as in `tauto bench -- ./a.out`, or several in quotes",
        ));
    }
    for parameter in &args.parameter {
        let place = format!("{{{}}}", parameter.name);
        if !commands.iter().flatten().any(|word| word.contains(&place)) {
            return Err(Failure::usage(format!(
                "--parameter {}: no command has {place} in it\n\
                 hint: write {place} into a command where its value belongs",
                parameter.name
            )));
        }
    }
    let named = |name: &str| args.parameter.iter().any(|parameter| parameter.name == name);
    let words = commands.iter().flatten();
    if let Some(name) = words.flat_map(|word| bench::places(word)).find(|name| !named(name)) {
        return Err(Failure::usage(format!(
            "{{{name}}}: no parameter has this name\n\
             hint: give its values with --parameter {name}=V1,V2, or write {{ {name} }} where it is not a parameter"
        )));
    }
    let combinations =
        bench::sweep(&args.parameter).map_err(|why| Failure::usage(format!("--parameter: {why}")))?;
    let program = |command: &Vec<String>, parameters: &Vec<(String, String)>| {
        let argv: Vec<String> = command.iter().map(|word| bench::fill(word, parameters)).collect();
        Program { shown: words::join(&argv), argv, parameters: parameters.clone() }
    };
    let each =
        |command: &Vec<String>| combinations.iter().map(|with| program(command, with)).collect::<Vec<_>>();
    Ok(commands.iter().flat_map(each).collect())
}

/// The specification of one run and its descriptors.
fn prepared(
    args: &BenchArgs,
    reservation: &Reservation,
    program: &Program,
) -> Result<(RunSpec, Vec<OwnedFd>), Failure> {
    let prepared = args.subject.prepared(&program.argv, &reservation.placement, args.placement.layout());
    prepared.map_err(|failure| forgotten_dashes(args, failure))
}

/// `tauto bench sleep 1` names two commands.
fn forgotten_dashes(args: &BenchArgs, failure: Failure) -> Failure {
    let single_words = args.commands.len() > 1 && args.commands.iter().all(|c| !c.contains(' '));
    match failure {
        failure @ Failure::Usage(_) if single_words => failure
            .hint("each of several commands is one argument in quotes, and `--` stands before a single one"),
        other => other,
    }
}

/// A run that did not end well is no measurement, unless the user says so.
fn check(args: &BenchArgs, limits: &Limits, observation: Observation) -> Result<Observation, Failure> {
    match ended_well(&observation, limits) {
        Err(failure @ Failure::Usage(_)) if !args.ignore_failure => {
            Err(failure.hint("--ignore-failure counts such runs, too"))
        }
        _ => Ok(observation),
    }
}

fn in_run(failure: Failure, program: &Program, run: usize) -> Failure {
    let which = if run == 0 { "warm-up".into() } else { format!("run {run}") };
    let told = format!("{which} of `{}`: {failure}", program.shown);
    match failure {
        Failure::Usage(_) => Failure::usage(told),
        Failure::System(_) => Failure::system(told),
    }
}

fn tell(args: &BenchArgs, report: &BenchReport, floor: &NoiseFloor, exports: &Exports<2>) {
    match args.json {
        true => {
            let document = BenchDocument::new(report);
            print(&to_text(&Judged { document, thresholds: settle::thresholds(floor) }));
        }
        false => exports.print(&bench_report(report, terminal::style())),
    }
}

/// The exit code. The report was told, so a failure of the system is no second document.
fn answer(args: &BenchArgs, report: &BenchReport, failure: Option<Failure>) -> Result<Done, Failure> {
    let spread = |program: &Benched| program.charged.known().map(|figures| figures.spread_pct);
    let beyond = |most: f64| {
        let beyond = report.programs.iter().find(|p| spread(p).is_none_or(|spread| spread > most))?;
        Some(match spread(beyond) {
            Some(spread) => format!(
                "{}: the spread of its time is {spread:.3} % of the median, above --max-spread {most} %\n\
                 hint: `tauto audit` lists this machine's sources of noise",
                beyond.command
            ),
            None => format!(
                "{}: the spread of its time is unknown, and --max-spread asks for {most} %",
                beyond.command
            ),
        })
    };
    match (failure, &report.end) {
        (Some(Failure::System(e)), _) => {
            tell_error(format!("{e:#}"));
            Ok(Done::Fault)
        }
        (Some(failure), _) => Err(failure),
        (None, BenchEnd::Interrupted) => Ok(Done::Interrupted),
        (None, _) => Ok(match args.max_spread.and_then(beyond) {
            Some(why) => {
                tell_error(why);
                Done::Bad
            }
            None => Done::Good,
        }),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if percent.is_finite() && percent > 0.0 => Ok(percent),
        _ => Err("must be a positive number of percent".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_positive() {
        assert_eq!((percent("0.5"), percent("3%")), (Ok(0.5), Ok(3.0)));
        for bad in ["0", "-1", "x", "inf", "NaN", "", "%"] {
            assert!(percent(bad).is_err(), "{bad}");
        }
    }
}
