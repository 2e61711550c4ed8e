//! `tauto`: the command line. Reads arguments, calls the engine, prints; decides nothing about programs.

mod audit;
mod bench;
mod clocks;
mod config;
mod database;
mod doctor;
mod experiments;
mod exports;
mod floor;
mod index;
mod inputs;
mod interrupt;
mod judge;
mod judging;
mod languages;
mod load;
mod loan;
mod log;
mod manage;
mod manual;
mod new;
mod numa;
mod options;
mod place;
mod probe;
mod progress;
mod run;
mod serve;
mod settings;
mod slots;
mod subject;
mod terminal;
mod tune;
#[cfg(test)]
mod units;
mod verify;
mod worker;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

const EXIT_CODES: &str = "\
Exit codes: 0 done and the answer is good; 1 done and the answer is bad (a promise of the package for verify, a spread above --max-spread for bench, a bad finding for audit, a refused change for tune, a machine that strays for index --compare, a mask that counts nothing for numa, damage for database check); 2 wrong usage or bad input; \
3 the system failed, or a package's own program did; 130 interrupted.";

/// The release, and the commit it was built from: what strict pools compare .
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("TAUTO_BUILD"));

/// Judge and measuring instrument for programs: same code, same time, same verdict.
#[derive(Parser)]
#[command(name = "tauto", version = VERSION, propagate_version = true, max_term_width = 110, after_help = EXIT_CODES)]
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
    /// Judge every jury submission of packages and compare with what they promise
    Verify(verify::VerifyArgs),
    /// Make a problem package that verifies at once, to start from
    New(new::NewArgs),
    /// Show the configured languages and the tools found for them
    Languages(languages::LanguagesArgs),
    /// Run commands again and again: how far their times wander, and why
    Bench(bench::BenchArgs),
    /// Show what on this host makes time wander, and what would make it quiet
    Audit(audit::AuditArgs),
    /// Show the slots planned on this host: CPUs, siblings left empty, memory nodes, isolation
    Slots(slots::SlotsArgs),
    /// Show the clocks that work on this host, and what is missing for others
    Clocks(clocks::ClocksArgs),
    /// Make this host quiet, every value noted before it is changed, and put it back
    Tune(tune::TuneArgs),
    /// Memory nodes, and whether a program works on its own
    Numa(numa::NumaArgs),
    /// Experiments on what makes time wander: each is one command that can be stopped and gone on with
    Lab(experiments::LabArgs),
    /// Keep CPUs, caches, memory, the kernel or a disk busy for a bounded time
    Load(load::LoadArgs),
    /// Run a fixed program of the noise floor
    #[command(hide = true)]
    Probe(probe::ProbeArgs),
    /// Measure the machine's power: clock, caches, memory, branches, kernel; or compare machines
    Index(index::IndexArgs),
    /// Serve: pages in the browser, an API, and judging on this machine's slots
    Serve(serve::ServeArgs),
    /// Check this installation: sandbox, toolchains, slots, clocks, service; and show the command that mends what is missing
    Doctor(doctor::DoctorArgs),
    /// The site's configuration: show every value and where it comes from, or check the file
    Config(settings::ConfigArgs),
    /// Judge for a service that runs elsewhere
    Worker(worker::WorkerArgs),
    /// The service's database: copy it, look whether all is well, delete what is old
    Database(database::DatabaseArgs),
    /// The pools of a fleet: nodes on which a time means the same
    Pool(manage::PoolArgs),
    /// The nodes of a fleet: how each stands and why, draining and returning
    Node(manage::NodeArgs),
    /// Contests: to which pool each is bound, and how strictly it is judged
    Contest(manage::ContestArgs),
    /// Write the manual pages to a directory
    Manual(manual::ManualArgs),
    /// Print completions for a shell
    Completions(manual::CompletionsArgs),
}

impl Command {
    /// It measures, or changes the machine: what an experiment that was killed has left changed is put back first.
    fn minds_the_machine(&self) -> bool {
        match self {
            Command::Run(_) | Command::Judge(_) | Command::Verify(_) | Command::Bench(_) => true,
            Command::Audit(_) | Command::Slots(_) | Command::Tune(_) | Command::Lab(_) => true,
            Command::Index(_) | Command::Numa(_) | Command::Doctor(_) => true,
            Command::Languages(_) | Command::Clocks(_) | Command::Load(_) | Command::Probe(_) => false,
            Command::Serve(_) | Command::Worker(_) | Command::Database(_) | Command::Config(_) => false,
            Command::Pool(_) | Command::Node(_) | Command::Contest(_) => false,
            Command::Manual(_) | Command::Completions(_) | Command::New(_) => false,
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
    if name == lab::NOTHING {
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
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(told) => return terminal::tell_reader(&told),
    };
    if cli.command.minds_the_machine() {
        loan::recover();
    }
    let result = match cli.command {
        Command::Run(args) => run::main(args),
        Command::Judge(args) => judge::main(args),
        Command::Verify(args) => verify::main(args),
        Command::Languages(args) => languages::main(args),
        Command::Bench(args) => bench::main(args),
        Command::Clocks(args) => clocks::main(&args),
        Command::Doctor(args) => doctor::main(args),
        Command::New(args) => new::main(&args),
        Command::Config(args) => settings::main(&args),
        Command::Tune(args) => tune::main(args),
        Command::Audit(args) => audit::main(args),
        Command::Slots(args) => slots::main(args),
        Command::Numa(args) => numa::main(args),
        Command::Lab(args) => experiments::main(args),
        Command::Load(args) => load::main(args),
        Command::Index(args) => index::main(&args),
        Command::Probe(args) => probe::main(&args),
        Command::Serve(args) => serve::main(args),
        Command::Worker(args) => worker::main(args),
        Command::Database(args) => database::main(&args),
        Command::Pool(args) => manage::pool(&args),
        Command::Node(args) => manage::node(&args),
        Command::Contest(args) => manage::contest(&args),
        Command::Manual(args) => manual::manual(&args),
        Command::Completions(args) => manual::completions(&args),
    };
    terminal::exit_code(result)
}
