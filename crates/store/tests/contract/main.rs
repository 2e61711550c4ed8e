//! What a store promises, on both databases: one test body for SQLite and PostgreSQL.

#[path = "../common/mod.rs"]
mod common;

mod accounts;
mod checks;
mod content;
mod filled;
mod fleet;
mod interleavings;
mod judging;
mod limits;
mod lists;
mod order;
mod queue;
mod rounds;
mod schemas;
mod service;
mod tickets;
mod turns;
mod upkeep;

use common::cluster::Cluster;
use common::{Database, Engine};
use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;
use std::sync::Arc;

/// A test: an empty database, and what must hold of it.
type Body = fn(&Database);

/// The server, or why there is none.
type Server = Arc<Result<Cluster, String>>;

fn trials(shared: &Server) -> Vec<Trial> {
    let all = [
        accounts::TESTS,
        checks::TESTS,
        content::TESTS,
        fleet::TESTS,
        interleavings::TESTS,
        judging::TESTS,
        limits::TESTS,
        lists::TESTS,
        order::TESTS,
        queue::TESTS,
        rounds::TESTS,
        schemas::TESTS,
        service::TESTS,
        tickets::TESTS,
        turns::TESTS,
        upkeep::TESTS,
    ];
    let both = |(name, body): (&'static str, Body)| {
        [Engine::Sqlite, Engine::Postgres].map(|engine| {
            let shared = Arc::clone(shared);
            Trial::test(format!("{name} ({engine:?})"), move || {
                let database = match engine {
                    Engine::Sqlite => Database::sqlite(),
                    Engine::Postgres => Database::postgres(shared.as_ref().as_ref()?),
                };
                body(&database);
                Ok(())
            })
        })
    };
    all.into_iter().flatten().copied().flat_map(both).collect()
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    // By this thread, with which the server would end.
    let server = if arguments.list { Err("not to be run".to_string()) } else { Cluster::start() };
    let server = Arc::new(server);
    let conclusion = libtest_mimic::run(&arguments, trials(&server));
    // The last reference: the server ends here, not with the process.
    drop(server);
    conclusion.exit_code()
}
