//! `tauto pool`, `tauto node`, `tauto contest`: what whoever runs a fleet does with it. They work on the service's database, whether servers run or
//! not; those that do notice within a second or two.

mod contest;
mod node;
mod pool;

pub(crate) use contest::{ContestArgs, contest};
pub(crate) use node::{NodeArgs, node};
pub(crate) use pool::{PoolArgs, pool};

use crate::service::database::{address, become_keeper, failure, open, wait_for};
use crate::terminal::{self, Failure, print};
use clap::Args;
use report::json::to_text;
use report::text::plain_table;
use serde::Serialize;
use server::Refusal;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use store::{Store, Timestamp};

/// Where, and how it is told.
#[derive(Args, Debug)]
struct Where {
    /// Database: a file or postgres://… [default: from the configuration, else the file in the data directory]
    #[arg(long, value_name = "URL", global = true)]
    database: Option<String>,
    /// Print one JSON document
    #[arg(long, global = true)]
    json: bool,
}

impl Where {
    /// Does something with the store.
    fn with<T>(&self, work: impl AsyncFnOnce(&Store) -> Result<T, Refusal>) -> Result<T, Failure> {
        let address = address(self.database.as_deref())?;
        become_keeper(&address)?;
        wait_for(async {
            let store = open(&address).await.map_err(failure)?;
            let done = work(&store).await.map_err(refused);
            store.close().await;
            done
        })?
    }

    /// Tells what came of it: as a document, or in words.
    fn tell(&self, document: &impl Serialize, words: impl FnOnce() -> String) {
        print(&if self.json { to_text(document) } else { words() });
    }
}

/// The refusal as the operator's fault or the system's.
fn refused(refusal: Refusal) -> Failure {
    match refusal {
        Refusal::Unavailable(_) | Refusal::Fault(_) => Failure::system(refusal),
        refusal => Failure::usage(refusal),
    }
}

pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Who does it, for the events of nodes.
fn who() -> String {
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let user = named("SUDO_USER").or_else(|| named("USER")).or_else(|| named("LOGNAME"));
    let user = user.unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()));
    format!("{user} (command line)")
}

fn read_file(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|e| Failure::usage(format!("{}: {e}", path.display())))
}

fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    plain_table(head, rows, terminal::style())
}

/// A moment as it is told on a terminal: to the second.
fn short(moment: &str) -> String {
    moment.split('.').next().unwrap_or_default().replace('T', " ")
}
