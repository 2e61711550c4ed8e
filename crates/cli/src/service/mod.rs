//! The commands of the service and of fleets, and the few items that other commands use. Without the feature `service`,
//! `no_service.rs` replaces this module.

mod checks;
mod database;
mod export;
mod judgehost;
mod log;
mod manage;
mod serve;
mod shadow;
mod strangers;
#[cfg(test)]
mod units;
mod worker;

use crate::Done;
use crate::terminal::Failure;
pub(crate) use checks::checks;
use clap::Subcommand;
pub(crate) use serve::config::ServeConfig;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run the service: web pages, API, and judging on this machine's slots
    Serve(serve::ServeArgs),
    /// Judge for a service on this machine or in a fleet
    Worker(worker::WorkerArgs),
    /// Judge for a DOMjudge server, in place of DOMjudge's own judgehost
    Judgehost(judgehost::JudgehostArgs),
    /// Judge another system's contest in parallel and show which verdicts differ
    Shadow(shadow::ShadowArgs),
    /// Export the service's data in formats of other systems
    Export(export::ExportArgs),
    /// Back up, check and clean the service's database
    Database(database::DatabaseArgs),
    /// Manage pools: nodes whose times are comparable
    Pool(manage::PoolArgs),
    /// Manage the nodes of a fleet: list, drain, return
    Node(manage::NodeArgs),
    /// Manage contests: their pools and strictness
    Contest(manage::ContestArgs),
}

pub(crate) fn main(command: Command) -> Result<Done, Failure> {
    match command {
        Command::Serve(args) => serve::main(args),
        Command::Worker(args) => worker::main(args),
        Command::Judgehost(args) => judgehost::main(&args),
        Command::Shadow(args) => shadow::main(&args),
        Command::Export(args) => export::main(&args),
        Command::Database(args) => database::main(&args),
        Command::Pool(args) => manage::pool(&args),
        Command::Node(args) => manage::node(&args),
        Command::Contest(args) => manage::contest(&args),
    }
}
