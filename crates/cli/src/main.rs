//! `tauto`: the command line. Reads arguments, calls the engine, prints; decides nothing about programs.

mod options;
mod run;
mod terminal;

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
}

/// How a command ended; the numbers are part of the command line's contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Done {
    /// The answer is good.
    Good = 0,
    /// The answer is bad.
    #[allow(dead_code)]
    Bad = 1,
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
    };
    match result {
        Ok(done) => ExitCode::from(done as u8),
        Err(failure) => terminal::report_failure(&failure),
    }
}
