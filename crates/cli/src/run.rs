//! `tauto run`: one sandboxed, measured run of a command.

pub(crate) mod command;
mod streams;

use crate::Done;
use crate::clocks;
use crate::isolation::{IsolationArgs, ProgramRunner, RunEnder};
use crate::noise_floor;
use crate::options::{ClockArgs, LimitArgs, PlacementArgs, SlotChoice};
use crate::reservation::reserve;
use crate::terminal::{self, Failure, Stream, print};
use clap::Args;
use model::{Ledger, Observation, Reading, RunSpec, Status, View, ViewMount};
use report::json::{FaultDocument, Judged, RunDocument, to_text};
use settle::NoiseFloor;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Show where the elapsed time went (CPU, waiting for a CPU, blocked, steal time, unexplained) and what disturbed the run
    #[arg(long)]
    explain: bool,
    /// Read standard input from FILE
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// Write the command's standard output to FILE
    #[arg(long, value_name = "FILE")]
    stdout: Option<PathBuf>,
    /// Write the command's standard error to FILE
    #[arg(long, value_name = "FILE")]
    stderr: Option<PathBuf>,
    /// Set an environment variable; the caller's environment is not passed on
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    env: Vec<(String, String)>,
    /// Make a directory or file of the host readable by the command, at the same path or at INSIDE
    #[arg(long, value_name = "PATH[:INSIDE]", value_parser = shown)]
    show: Vec<ViewMount>,
    /// Command to run in an empty writable directory. It can read /usr and its own program or script; if that is outside
    /// /usr, it appears in /program. --show makes other files readable
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
    // Last, since their headings hold for what comes after them too.
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    clock: ClockArgs,
    #[command(flatten)]
    placement: PlacementArgs,
    #[command(flatten)]
    isolation: IsolationArgs,
}

pub(crate) fn main(args: RunArgs) -> Result<Done, Failure> {
    let json = args.json;
    let done = run(args);
    if let (true, Err(Failure::System(e))) = (json, &done) {
        print(&to_text(&FaultDocument::new(format!("{e:#}"))));
    }
    done
}

fn run(args: RunArgs) -> Result<Done, Failure> {
    let mut fds = Vec::new();
    let mut spec = RunSpec {
        env: command::environment(&args.env),
        view: View { mounts: args.show.clone(), ..View::default() },
        limits: args.limits.limits(),
        layout: args.placement.layout(),
        ..RunSpec::bare()
    };
    let meter = clocks::meter(args.clock, None)?;
    clocks::check(meter, &args.command[0])?;
    command::show(&args.command, &mut spec, &mut fds)?;
    let mut reservations = reserve(&args.placement, SlotChoice::None, 1)?;
    let shown = || args.show.iter().map(|mount| mount.host.clone()).collect();
    args.isolation.apply(&mut reservations, false, shown)?;
    let reservation = reservations.pop().unwrap_or_default();
    spec.placement = reservation.placement.clone();
    let launcher = ProgramRunner::take(&reservation)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    end_on_signals(launcher.ender(), interrupted.clone())?;
    let relays = streams::connect(&args, &mut spec, &mut fds, &launcher)?;
    let counting = meter.begin(&mut spec, &mut fds).map_err(Failure::system)?;
    let observed = launcher.run(&spec, fds);
    let normal =
        observed.as_ref().is_ok_and(|o| matches!(o.status(&spec.limits), Status::Ok | Status::NonzeroExit));
    let written = relays.finish(normal);
    if interrupted.load(Ordering::SeqCst) {
        return Ok(Done::Interrupted);
    }
    let observed = counting.end(observed?).map_err(Failure::system)?;
    let output = match observed.output {
        Reading::Known(files) => Reading::Known(files + written),
        unknown => unknown,
    };
    let observed = Observation { output, ..observed };
    show(&args, &spec, &observed, &reservation.floor(), meter.versions());
    Ok(Done::Good)
}

fn end_on_signals(ender: RunEnder, interrupted: Arc<AtomicBool>) -> Result<(), Failure> {
    ctrlc::set_handler(move || {
        interrupted.store(true, Ordering::SeqCst);
        ender.end_run(false);
    })
    .map_err(Failure::system)
}

fn show(
    args: &RunArgs,
    spec: &RunSpec,
    observation: &Observation,
    floor: &NoiseFloor,
    counted_by: Option<String>,
) {
    let causes = &settle::disturbances(observation, floor)[..];
    let disturbed = noise_floor::names(causes);
    if args.json {
        let document = RunDocument { counted_by, ..RunDocument::new(observation, &spec.limits, disturbed) };
        let document = match args.explain {
            true => document.explained(observation, causes),
            false => document,
        };
        print(&to_text(&Judged { document, thresholds: settle::thresholds(floor) }));
    } else {
        let style = terminal::error_style();
        let mut text = report::text::run_summary(observation, &spec.limits, &disturbed, style);
        if args.explain {
            text += &report::text::ledger_lines(&Ledger::for_run(observation), causes, style);
        }
        terminal::output(Stream::Error, text.as_bytes());
    }
}

pub(crate) fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err("must be NAME=VALUE".into()),
    }
}

pub(crate) fn shown(text: &str) -> Result<ViewMount, String> {
    let (host, inside) = text.split_once(':').unwrap_or((text, text));
    let host = std::path::absolute(host).map_err(|e| e.to_string())?;
    let host = host.to_str().ok_or("the path is not UTF-8")?.to_string();
    let inside = if text.contains(':') { inside.to_string() } else { host.clone() };
    if !inside.starts_with('/')
        || Path::new(&inside).components().any(|c| c == std::path::Component::ParentDir)
    {
        return Err("the place inside must be an absolute path without `..`".into());
    }
    let mount = ViewMount { host, inside, optional: false };
    sandbox::covered(&mount).map_or(Ok(mount), Err)
}
