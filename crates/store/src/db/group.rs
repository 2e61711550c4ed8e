//! Writing to SQLite. One connection writes, and those who want to stand in line for it, first come first served. Making a commit
//! durable takes far longer than most of what is written, so that it is shared: each transaction is a savepoint in an outer
//! one, and the outer one is committed for all who were in line when the first of them was done. Nobody is told of success
//! before that. Whoever fails is rolled back alone; where the commit fails, or SQLite has rolled back everything, all of the
//! group are told so.
//!
//! A future can be dropped at any await, as those of a client that hangs up are, and nobody knows then how far its last statement has
//! come. What it leaves behind is tidied up before the next goes on, and commits are made, in tasks of their own, which nobody drops.

use crate::Error;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};
use tokio::task::JoinHandle;

/// The line of those who want to write.
#[derive(Clone, Debug)]
pub(super) struct Line(Arc<Mutex<Group>>);

#[derive(Debug)]
struct Group {
    /// `None` when it was closed.
    connection: Option<SqliteConnection>,
    place: Arc<str>,
    /// The outer transaction may be open.
    open: bool,
    /// A member's savepoint may be open.
    inside: bool,
    /// Who is done and waits for the commit.
    members: Vec<oneshot::Sender<Result<(), Error>>>,
    /// The last error of a member: what they are told whom it took with it.
    error: Option<Error>,
    /// What will commit.
    committer: Option<JoinHandle<()>>,
}

/// A transaction of one who writes; rolled back when dropped.
pub(super) struct Member {
    group: OwnedMutexGuard<Group>,
    line: Line,
}

impl Line {
    pub(super) async fn open(options: &SqliteConnectOptions, place: &Arc<str>) -> Result<Line, Error> {
        let connection = options.connect().await.map_err(|e| Error::at(place, e))?;
        Ok(Line(Arc::new(Mutex::new(Group {
            connection: Some(connection),
            place: Arc::clone(place),
            open: false,
            inside: false,
            members: Vec::new(),
            error: None,
            committer: None,
        }))))
    }

    /// Waits for its turn, but no longer than this, and begins.
    pub(super) async fn begin(&self, patience: Duration, place: &str) -> Result<Member, Error> {
        let turn = tokio::time::timeout(patience, Arc::clone(&self.0).lock_owned()).await;
        let Ok(mut group) = turn else {
            return Err(Error::at(place, sqlx::Error::PoolTimedOut));
        };
        if group.inside {
            let tidied = tokio::spawn(async move {
                group.tidy().await;
                group
            });
            group = tidied.await.map_err(|_| Error::at(place, sqlx::Error::WorkerCrashed))?;
        }
        let mut member = Member { group, line: self.clone() };
        member.group.enter().await?;
        Ok(member)
    }

    /// Ends the connection, after what is going on in it.
    pub(super) async fn close(&self) {
        let line = self.clone();
        let closed = tokio::spawn(async move {
            let mut group = line.0.lock().await;
            group.tidy().await;
            group.commit().await;
            if let Some(connection) = group.connection.take() {
                // A file that cannot be put in order now is put in order when it is opened again.
                drop(connection.close().await);
            }
        });
        drop(closed.await);
    }
}

impl Group {
    async fn run(&mut self, sql: &'static str) -> Result<(), Error> {
        let Some(connection) = &mut self.connection else {
            return Err(Error::at(&self.place, sqlx::Error::PoolClosed));
        };
        sqlx::raw_sql(sql).execute(connection).await.map(drop).map_err(|e| Error::at(&self.place, e))
    }

    async fn enter(&mut self) -> Result<(), Error> {
        self.inside = true;
        if !self.open {
            self.open = true;
            if let Err(error) = self.run("BEGIN IMMEDIATE").await {
                (self.open, self.inside) = (false, false);
                return Err(error);
            }
        }
        self.run("SAVEPOINT member").await
    }

    /// Rolls back what a member left unfinished. Not to be dropped before its end.
    ///
    /// Its savepoint may not be there: it was not made yet, or was released, and then what was done is whole and is kept. Or
    /// SQLite has rolled back everything, as it does when the disk is full.
    async fn tidy(&mut self) {
        let rolled_back = !self.inside || self.run("ROLLBACK TO member; RELEASE member").await.is_ok();
        // To begin is possible only where no transaction is open.
        if !rolled_back && self.run("BEGIN").await.is_ok() {
            let error = self.error.take().unwrap_or_else(|| Error::Busy {
                place: self.place.to_string(),
                why: "what was written together was rolled back".to_string(),
            });
            self.roll_back(&error).await;
        }
        self.inside = false;
        self.error = None;
    }

    /// Makes durable what the members have done, and tells them. Not to be dropped before its end.
    async fn commit(&mut self) {
        if !self.open {
            return;
        }
        match self.run("COMMIT").await {
            Ok(()) => self.end(&Ok(())),
            Err(error) => self.roll_back(&error).await,
        }
    }

    async fn roll_back(&mut self, error: &Error) {
        // It fails where nothing is left to be rolled back.
        drop(self.run("ROLLBACK").await);
        self.end(&Err(error.clone()));
    }

    fn end(&mut self, how: &Result<(), Error>) {
        self.open = false;
        for member in self.members.drain(..) {
            // Who does not listen any more does not want to know.
            drop(member.send(how.clone()));
        }
    }
}

impl Member {
    /// Ends the transaction: on disk when this returns.
    pub(super) async fn commit(mut self) -> Result<(), Error> {
        let group = &mut *self.group;
        group.run("RELEASE member").await?;
        group.inside = false;
        let (tell, told) = oneshot::channel();
        group.members.push(tell);
        let place = Arc::clone(&group.place);
        drop(self);
        told.await.unwrap_or_else(|_| Err(Error::at(&place, sqlx::Error::PoolClosed)))
    }

    /// Notes why a statement failed.
    pub(super) fn failed(&mut self, error: &Error) {
        self.group.error = Some(error.clone());
    }

    /// The connection, to be used within this transaction.
    pub(super) fn connection(&mut self) -> Result<&mut SqliteConnection, sqlx::Error> {
        self.group.connection.as_mut().ok_or(sqlx::Error::PoolClosed)
    }
}

impl Drop for Member {
    /// Has the group committed, behind those who are in line by now.
    fn drop(&mut self) {
        if self.group.committer.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        // Without a runtime nobody waits for an answer, and whoever comes next goes on with the group.
        let Ok(runtime) = Handle::try_current() else { return };
        let line = self.line.clone();
        self.group.committer = Some(runtime.spawn(async move {
            let mut group = line.0.lock().await;
            group.tidy().await;
            group.commit().await;
            group.committer = None;
        }));
    }
}
