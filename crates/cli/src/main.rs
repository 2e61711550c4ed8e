//! `tauto`: the command line. Reads arguments, calls the engine, prints; decides nothing about programs.

mod judge;
mod judging;
mod languages;
mod manual;
mod options;
mod progress;
mod run;
mod terminal;
mod tune;
mod verify;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

const EXIT_CODES: &str = "\
Exit codes: 0 done and the answer is good; 1 done and the answer is bad (verify: a broken promise; tune: a \
refused change); 2 wrong usage or bad input; \
3 the system failed, or a package's own program did; 130 interrupted.";

/// Judge and measuring instrument for programs: same code, same time, same verdict.
#[derive(Parser)]
#[command(name = "tauto", version, propagate_version = true, max_term_width = 110, after_help = EXIT_CODES)]
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
    /// Show the configured languages and the tools found for them
    Languages(languages::LanguagesArgs),
    /// Make the host quiet, journalled and reversible
    Tune(tune::TuneArgs),
    /// Write the manual pages to a directory
    #[command(hide = true)]
    Manual(manual::ManualArgs),
    /// Print completions for a shell
    #[command(hide = true)]
    Completions(manual::CompletionsArgs),
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
    if std::env::args_os().next().is_some_and(|name| name == sandbox::ARGV0) {
        return ExitCode::from(sandbox::launcher_main());
    }
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Run(args) => run::main(args),
        Command::Judge(args) => judge::main(args),
        Command::Verify(args) => verify::main(args),
        Command::Languages(args) => languages::main(args),
        Command::Tune(args) => tune::main(args),
        Command::Manual(args) => manual::manual(&args),
        Command::Completions(args) => manual::completions(&args),
    };
    match result {
        Ok(done) => ExitCode::from(done as u8),
        Err(failure) => terminal::report_failure(&failure),
    }
}
