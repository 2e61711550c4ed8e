//! `tauto`: the command line. Reads arguments, calls the engine, prints; decides nothing about programs.

// Only commands in `service` use some of the helpers.
#![cfg_attr(not(feature = "service"), allow(dead_code))]

mod audit;
mod bench;
mod clocks;
mod config;
mod convert;
mod doctor;
mod experiments;
mod exports;
mod help;
mod index;
mod inputs;
mod interrupt;
mod isolation;
mod judge;
mod judging;
mod languages;
mod limits;
mod load;
mod manual;
mod measured_program;
mod new;
mod noise_floor;
mod numa;
mod options;
mod probe;
mod progress;
mod reservation;
mod run;
#[cfg_attr(not(feature = "service"), path = "no_service.rs")]
mod service;
mod settings;
mod slots;
mod temporary_changes;
mod terminal;
mod tune;
mod verify;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// The release, and the commit it was built from: what strict pools compare.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("TAUTO_BUILD"));

/// Judge and measuring instrument for programs: same code, same time, same verdict.
#[derive(Parser)]
#[command(name = "tauto", version = VERSION, propagate_version = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run one command in the sandbox and measure it
    Run(run::RunArgs),
    /// Compile and judge one submission
    Judge(judge::JudgeArgs),
    /// Judge all jury submissions of packages and compare with the expected verdicts
    Verify(verify::VerifyArgs),
    /// Measure suitable time limits for packages on this machine, with margins, idle and under load
    Limits(limits::LimitsArgs),
    /// Create a problem package that passes `tauto verify`, as a starting point
    New(new::NewArgs),
    /// Convert a package of any format to the Kattis/ICPC format 2025-09
    Convert(convert::ConvertArgs),
    /// List the configured languages and the tools found for them
    Languages(languages::LanguagesArgs),
    /// Benchmark commands: run-to-run variation and its causes
    Bench(bench::BenchArgs),
    /// Check this host for sources of timing noise and list the fixes
    Audit(audit::AuditArgs),
    /// Show the slots of this host: CPUs, idle siblings, NUMA nodes, isolation
    Slots(slots::SlotsArgs),
    /// List the clocks and what each needs on this host
    Clocks(clocks::ClocksArgs),
    /// Apply timing-noise fixes, and undo them exactly
    Tune(tune::TuneArgs),
    /// Show NUMA topology and diagnose remote memory access
    Numa(numa::NumaArgs),
    /// Run timing experiments; each can be interrupted and resumed
    Lab(experiments::LabArgs),
    /// Load CPUs, caches, memory, the kernel or a disk for a limited time
    Load(load::LoadArgs),
    /// Run a fixed program of the noise floor
    #[command(hide = true)]
    Probe(probe::ProbeArgs),
    /// Measure this machine's speed (clock, caches, memory, branches, kernel), or compare machines
    Index(index::IndexArgs),
    /// Check this installation and show the command that fixes each problem
    Doctor(doctor::DoctorArgs),
    /// Show or check the site's configuration
    Config(settings::ConfigArgs),
    #[command(flatten)]
    Service(service::Command),
    /// Write the manual pages to a directory
    Manual(manual::ManualArgs),
    /// Print shell completions
    Completions(manual::CompletionsArgs),
}

impl Command {
    /// It measures, or changes the machine: what an experiment that was killed has left changed is put back first.
    fn minds_the_machine(&self) -> bool {
        match self {
            Command::Run(_) | Command::Judge(_) | Command::Verify(_) | Command::Bench(_) => true,
            Command::Limits(_) => true,
            Command::Audit(_) | Command::Slots(_) | Command::Tune(_) | Command::Lab(_) => true,
            Command::Index(_) | Command::Numa(_) | Command::Doctor(_) => true,
            Command::Languages(_) | Command::Clocks(_) | Command::Load(_) | Command::Probe(_) => false,
            Command::Service(_) | Command::Config(_) => false,
            Command::Manual(_) | Command::Completions(_) | Command::New(_) | Command::Convert(_) => false,
        }
    }
}

/// How a command ended; the numbers are part of the command line's contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Done {
    /// The answer is good.
    Good = 0,
    /// The answer is bad.
    Bad = 1,
    /// The system failed, or a package's program did, and all was told.
    Fault = 3,
    /// The user interrupted.
    Interrupted = 130,
}

fn main() -> ExitCode {
    let name = std::env::args_os().next().unwrap_or_default();
    if name == sandbox::ARGV0 {
        return ExitCode::from(sandbox::launcher_main());
    }
    if name == vm::GUEST {
        return ExitCode::from(vm::guest_main());
    }
    if name == vm::KEEPER {
        return ExitCode::from(vm::keeper_main());
    }
    if name == vm::QEMU {
        return ExitCode::from(vm::qemu_main());
    }
    if name == loads::NOTHING {
        return ExitCode::SUCCESS;
    }
    if numa::trace::is_gate() {
        return numa::trace::gate();
    }
    // Before anything else is touched: what the toy is measured for must not be lost among arguments.
    if probe::is_toy() {
        return probe::toy();
    }
    // The caller's limits would become verdicts, or end us in the middle.
    if let Err(failure) = sandbox::lift() {
        return terminal::exit_code(Err(failure.into()));
    }
    let cli = match help::parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(told) => return terminal::tell_reader(&told),
    };
    if cli.command.minds_the_machine() {
        temporary_changes::recover();
    }
    let result = match cli.command {
        Command::Run(args) => run::main(args),
        Command::Judge(args) => judge::main(args),
        Command::Verify(args) => verify::main(args),
        Command::Limits(args) => limits::main(args),
        Command::Languages(args) => languages::main(args),
        Command::Bench(args) => bench::main(args),
        Command::Clocks(args) => clocks::main(&args),
        Command::Doctor(args) => doctor::main(args),
        Command::New(args) => new::main(&args),
        Command::Convert(args) => convert::main(args),
        Command::Config(args) => settings::main(&args),
        Command::Tune(args) => tune::main(args),
        Command::Audit(args) => audit::main(args),
        Command::Slots(args) => slots::main(args),
        Command::Numa(args) => numa::main(args),
        Command::Lab(args) => experiments::main(args),
        Command::Load(args) => load::main(args),
        Command::Index(args) => index::main(&args),
        Command::Probe(args) => probe::main(&args),
        Command::Service(command) => service::main(command),
        Command::Manual(args) => manual::manual(&args),
        Command::Completions(args) => manual::completions(&args),
    };
    terminal::exit_code(result)
}
