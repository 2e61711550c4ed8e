//! `tauto`: the command line. Reads arguments, calls the engine, prints; decides nothing about programs.

mod judge;
mod judging;
mod languages;
mod options;
mod progress;
mod run;
mod terminal;
mod verify;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Judge and measuring instrument for programs: same code, same time, same verdict.
#[derive(Parser)]
#[command(name = "tauto", version, propagate_version = true, max_term_width = 110)]
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
    };
    match result {
        Ok(done) => ExitCode::from(done as u8),
        Err(failure) => terminal::report_failure(&failure),
    }
}
