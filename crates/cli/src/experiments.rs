//! `tauto lab`: experiments. Each is one command that shows how long it will take, can be stopped at any time and goes on where
//! it was when it is started again.

mod consistency;
mod disturber;
mod ladder;
mod layout;
mod lines;
mod link_order;
mod perturb;
mod reserved_machine;
mod session;

pub(crate) use disturber::{Disturbance, Disturber};

use crate::Done;
use crate::bench::words;
use crate::measured_program::MeasuredProgramArgs;
use crate::run::command::find_program;
use crate::terminal::{Failure, print};
use clap::{Args, Subcommand};
use host::facts::{Facts, Topology};
use host::identity;
use host::machine::Machine;
use report::json::{FaultDocument, to_text};
use serde_json::{Value, json};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[derive(Args, Debug)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Subcommand, Debug)]
enum Experiment {
    /// Measure how consistent times and verdicts are on this machine: programs × loads × clocks
    Consistency(consistency::ConsistencyArgs),
    /// Measure how each isolation step, from none to a quiet slot, reduces variation, idle and under load
    Ladder(ladder::LadderArgs),
    /// Measure how much each disturbance (loads, interrupts, frequency) slows a program, against interleaved controls
    Perturb(perturb::PerturbArgs),
    /// Measure how memory layout (environment size, argv[0] length, stack offset) affects a program's time
    Layout(layout::LayoutArgs),
    /// Measure how the link order of a program's objects affects its time
    LinkOrder(link_order::LinkOrderArgs),
}

pub(crate) fn main(args: LabArgs) -> Result<Done, Failure> {
    let (json, done) = match args.experiment {
        Experiment::Consistency(args) => (args.json, consistency::main(&args)),
        Experiment::Ladder(args) => (args.session.json, ladder::main(&args)),
        Experiment::Perturb(args) => (args.session.json, perturb::main(&args)),
        Experiment::Layout(args) => (args.session.json, layout::main(&args)),
        Experiment::LinkOrder(args) => (args.session.json, link_order::main(&args)),
    };
    if let (true, Err(Failure::System(e))) = (json, &done) {
        print(&to_text(&FaultDocument::new(format!("{e:#}"))));
    }
    done
}

/// The command, or this very program as one of the built-in ones.
fn command_or(command: &[String], built_in: &str) -> Result<Vec<String>, Failure> {
    if !command.is_empty() {
        return Ok(command.to_vec());
    }
    let own = std::env::current_exe().map_err(Failure::system)?;
    Ok(vec![own.to_string_lossy().into_owned(), "probe".into(), built_in.into()])
}

/// The command as people know it.
fn shown(command: &[String], argv: &[String]) -> String {
    match command.is_empty() {
        true => format!("built-in {}", argv.last().map_or("", |name| name)),
        false => words::join(command),
    }
}

/// What makes two programs the same, for a record: words, input, environment, limits, and the program's file.
fn subject_facts(argv: &[String], subject: &MeasuredProgramArgs) -> Result<Value, Failure> {
    let file = |path: &Path| {
        let facts = std::fs::metadata(path).ok()?;
        Some(json!([facts.len(), facts.mtime(), facts.mtime_nsec()]))
    };
    let program = file(&find_program(&argv[0])?);
    let stdin = subject.stdin.as_ref().map(|path| json!([path, file(path)]));
    Ok(json!({
        "argv": argv, "file": program, "stdin": stdin, "env": subject.env, "show": subject.show,
        "limits": subject.limits.limits(),
    }))
}

/// The machine, in words: name and value.
pub(crate) fn machine_facts() -> Vec<(String, String)> {
    let Ok(machine) = Machine::this() else { return Vec::new() };
    let field = |path: &str, name: &str| {
        let text = machine.read(path).ok()?;
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_string())
    };
    let read = |path: &str| machine.read(path).ok().map(|text| text.trim().to_string());
    let cpus = Topology::read(&machine).ok().map(|topology| topology.online().len().to_string());
    let fingerprint = Facts::gather(&machine).ok().map(|facts| identity::fingerprint(&facts));
    [
        ("fingerprint", fingerprint),
        ("processor", field("/proc/cpuinfo", "model name")),
        ("microcode", field("/proc/cpuinfo", "microcode")),
        ("CPUs", cpus),
        ("memory", field("/proc/meminfo", "MemTotal")),
        ("kernel", read("/proc/sys/kernel/osrelease")),
        ("huge pages", read("/sys/kernel/mm/transparent_hugepage/enabled")),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_string(), value?)))
    .collect()
}
