//! Callbacks: addresses that are told, at least once, that a submission has its first verdict. Who calls them, and how often it
//! is tried, is the caller's affair.

use crate::db::{Row, Tx, Value, values};
use crate::submissions::missing;
use crate::{CallbackId, Error, Result, Store, SubmissionId, Timestamp};

/// How far a callback has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallbackState {
    /// There is no verdict yet.
    Waiting,
    /// It is to be delivered.
    Due,
    /// It was delivered.
    Done,
    /// It was given up.
    Failed,
}

/// A callback.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Callback {
    /// Its number.
    pub id: CallbackId,
    /// The submission it tells about.
    pub submission: SubmissionId,
    /// The address to be told.
    pub url: String,
    /// How far it has come.
    pub state: CallbackState,
    /// How often delivering it has failed.
    pub attempts: u64,
    /// When it is to be tried next, while it is due.
    pub due: Option<Timestamp>,
    /// Why it failed the last time, if it ever did.
    pub last_error: Option<String>,
}

/// A statement that reads callbacks.
macro_rules! callbacks {
    ($rest:literal) => {
        concat!("SELECT id, submission, url, state, attempts, due, last_error FROM callbacks ", $rest)
    };
}

fn callback(row: &Row) -> Result<Callback> {
    Ok(Callback {
        id: CallbackId(row.get("id")?),
        submission: SubmissionId(row.get("submission")?),
        url: row.get("url")?,
        state: row.parse("state", |state| match state {
            "waiting" => Ok(CallbackState::Waiting),
            "due" => Ok(CallbackState::Due),
            "done" => Ok(CallbackState::Done),
            "failed" => Ok(CallbackState::Failed),
            other => Err(format!("`{other}` is not a state of a callback")),
        })?,
        attempts: row.count("attempts")?,
        due: row.get::<Option<i64>>("due")?.map(Timestamp),
        last_error: row.get("last_error")?,
    })
}

/// Adds a callback; `due` is when there is a verdict already.
pub(crate) async fn add(
    tx: &mut Tx,
    submission: SubmissionId,
    url: &str,
    due: Option<Timestamp>,
) -> Result<CallbackId> {
    let state = if due.is_some() { "due" } else { "waiting" };
    let row = tx
        .one(
            "INSERT INTO callbacks (submission, url, state, due) VALUES ($1, $2, $3, $4) RETURNING id",
            values![submission, url, state, due],
        )
        .await?;
    Ok(CallbackId(row.get("id")?))
}

/// A verdict is there: what waited for it is due.
pub(crate) async fn verdict_is_there(tx: &mut Tx, submission: SubmissionId, now: Timestamp) -> Result<()> {
    let due = "UPDATE callbacks SET state = 'due', due = $1 WHERE submission = $2 AND state = 'waiting'";
    tx.run(due, values![now, submission]).await.map(drop)
}

impl Store {
    /// Asks for this address to be told of the first verdict of a submission; at once, from `now` on, where there is one.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn add_callback(
        &self,
        submission: SubmissionId,
        url: &str,
        now: Timestamp,
    ) -> Result<CallbackId> {
        let mut tx = self.db.write().await?;
        // Locks the row: a verdict comes before this or after it, and is not missed.
        let locked = "UPDATE submissions SET judgements = judgements WHERE id = $1";
        if tx.run(locked, values![submission]).await? == 0 {
            return Err(missing(submission));
        }
        let judged = "SELECT id FROM judgements WHERE submission = $1 AND current = 1";
        let judged = tx.row(judged, values![submission]).await?.is_some();
        let id = add(&mut tx, submission, url, judged.then_some(now)).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// The callbacks to be delivered at `now`, those first that wait longest; at most so many. Each comes again until
    /// [`Store::callback_done`] or [`Store::callback_failed`] is called for it.
    pub async fn due_callbacks(&self, now: Timestamp, limit: u32) -> Result<Vec<Callback>> {
        let due = callbacks!("WHERE state = 'due' AND due <= $1 ORDER BY due, id LIMIT $2");
        let mut tx = self.db.read().await?;
        tx.rows(due, values![now, limit]).await?.iter().map(callback).collect()
    }

    /// Takes a callback to deliver it: it is not due before `until`. False: somebody else has taken it since it was read. Of several who
    /// try, one succeeds; one that ends without a word leaves it due then.
    pub async fn take_callback(&self, callback: &Callback, until: Timestamp) -> Result<bool> {
        let mut tx = self.db.write().await?;
        let take = "UPDATE callbacks SET due = $1 WHERE id = $2 AND state = 'due' AND due = $3";
        let taken = tx.run(take, values![until, callback.id, callback.due]).await?;
        tx.commit().await?;
        Ok(taken > 0)
    }

    /// All callbacks of a submission, oldest first.
    pub async fn callbacks(&self, submission: SubmissionId) -> Result<Vec<Callback>> {
        let mut tx = self.db.read().await?;
        let all = callbacks!("WHERE submission = $1 ORDER BY id");
        tx.rows(all, values![submission]).await?.iter().map(callback).collect()
    }

    /// A callback was delivered. May be repeated.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Conflict`] where it was not to be delivered.
    pub async fn callback_done(&self, id: CallbackId) -> Result<()> {
        let done =
            "UPDATE callbacks SET state = 'done', due = NULL WHERE id = $1 AND state IN ('due', 'done')";
        self.end(id, done, values![id]).await
    }

    /// Delivering a callback failed, for this reason: it is to be tried again at `next`, or given up.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Conflict`] where it was not to be delivered, or somebody else has done so.
    pub async fn callback_failed(&self, id: CallbackId, why: &str, next: Option<Timestamp>) -> Result<()> {
        let state = if next.is_some() { "due" } else { "failed" };
        let failed = "UPDATE callbacks SET state = $2, due = $3, last_error = $4, attempts = attempts + 1
                      WHERE id = $1 AND state = 'due'";
        self.end(id, failed, values![id, state, next, why]).await
    }

    async fn end(&self, id: CallbackId, statement: &'static str, values: Vec<Value>) -> Result<()> {
        let mut tx = self.db.write().await?;
        if tx.run(statement, values).await? > 0 {
            return tx.commit().await;
        }
        let there = tx.row("SELECT id FROM callbacks WHERE id = $1", values![id]).await?;
        there.ok_or_else(|| Error::NotFound(format!("callback {id}")))?;
        Err(Error::Conflict(format!("callback {id}: it is not due")))
    }
}
