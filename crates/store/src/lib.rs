//! What a judging service remembers: problems, submissions, the queue of jobs, judgements with every run, nodes,
//! callbacks and accounts. In SQLite, a file, or in PostgreSQL, by the same statements.
//!
//! Each operation of [`Store`] is one transaction: when it returns, what it did is on disk, and when it fails, nothing
//! was done (but nobody knows when the connection to PostgreSQL breaks during a commit: [`Store::submit`] and
//! [`Store::finish`] can be repeated). Deliberately absent: clocks and randomness (times and secrets are arguments), and any decision about a
//! verdict but which of several judgements is the current one.

mod accounts;
mod blobs;
mod callbacks;
mod checks;
mod contests;
mod db;
mod error;
mod evidence;
mod facts;
mod figures;
mod filter;
mod ids;
mod jobs;
mod judgements;
mod leases;
mod nodes;
mod outputs;
mod problems;
mod queue;
mod reference_scales;
mod rejudgings;
mod removal;
mod retention;
mod rounds;
mod schema;
mod settings;
mod submissions;
mod time_limits;
mod upkeep;

pub use accounts::{ApiToken, NewToken, NewUser, Role, Session, User};
pub use blobs::{Hash, PIECE};
pub use callbacks::{Callback, CallbackState};
pub use contests::{Contest, NewContest, Pool};
pub use error::Error;
pub use figures::{InPool, LineCount, Throughput};
pub use filter::{Filter, Page};
pub use jobs::{Finished, Job, JobState, Purpose, Urgency};
pub use judgements::{JudgementSummary, StoredJudgement};
pub use leases::Begun;
pub use model::{
    CallbackId, ContestId, JobId, JudgementId, Lease, ProblemId, RejudgingId, SubmissionId, Timestamp,
    TokenId, UserId, VersionId,
};
pub use nodes::{Node, NodeChange, NodeEvent, NodeState, Sample};
pub use outputs::Output;
pub use problems::{NewVersion, Problem, Version};
pub use queue::{Anywhere, Claim, DEFAULT_POOL};
pub use reference_scales::StoredScales;
pub use rejudgings::{Rejudge, Rejudged, Rejudging};
pub use retention::Forgotten;
pub use rounds::{Conclusion, JobAnswer, RoundJob, RoundStep};
pub use schema::SCHEMA;
pub use submissions::{NewSubmission, PARTICIPANT, RUN, State, StoredFile, Submission};
pub use time_limits::{AskLimit, Found, FoundLimit, Inferred, LIMITS, LimitOf, StoredLimit};
pub use upkeep::Counts;

use db::Database;
use std::path::Path;

/// An open database. Cheap to clone; clones share its connections.
#[derive(Clone, Debug)]
pub struct Store {
    db: Database,
}

/// What every operation returns.
pub type Result<T> = std::result::Result<T, Error>;

impl Store {
    /// Opens a database, and brings its schema up to [`SCHEMA`].
    ///
    /// `url` is `postgres://…`, or the path of an SQLite file, with or without `sqlite:` before it. A file that is not there
    /// is made, readable by its owner alone; its directory must be there.
    ///
    /// # Errors
    /// [`Error::NewerSchema`] where a later version of this program has been at it, [`Error::Connection`] where nothing
    /// answers or something else lies there.
    pub async fn open(url: &str) -> Result<Store> {
        // SQLite does not wait for others while it makes a new file a log (<https://www.sqlite.org/wal.html>, "Sometimes Queries Return
        // SQLITE_BUSY In WAL Mode").
        let since = std::time::Instant::now();
        loop {
            let opened = async {
                let db = Database::open(url).await?;
                schema::migrate(&db, schema::MIGRATIONS).await?;
                Ok(Store { db })
            };
            match opened.await {
                Err(Error::Busy { .. }) if since.elapsed() < db::PATIENCE => {
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                }
                other => return other,
            }
        }
    }

    /// Opens a database that is there and leaves its schema alone; also the version of that. Where the version is not [`SCHEMA`],
    /// only [`Store::backup`] is sure to work: a copy from before an upgrade.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is none, [`Error::Connection`] where something else lies there.
    pub async fn open_as_is(url: &str) -> Result<(Store, i64)> {
        let db = Database::open_there(url).await?;
        let version = schema::found(&db).await?;
        match version {
            0 => Err(Error::NotFound(format!("{}: a database of this program", db.place()))),
            _ => Ok((Store { db }, version)),
        }
    }

    /// The file that an address names; `None`: it is one of PostgreSQL.
    ///
    /// # Errors
    /// [`Error::Connection`] where it is neither.
    pub fn file_of(url: &str) -> Result<Option<&Path>> {
        db::file_of(url)
    }

    /// Ends all connections, after what is going on in them. An SQLite file is then complete without the files beside it.
    pub async fn close(&self) {
        self.db.close().await;
    }

    /// Where it is: the path, or the address without the password.
    pub fn place(&self) -> &str {
        self.db.place()
    }
}
