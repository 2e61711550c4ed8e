//! The queue. A job asks for one judgement of one submission: queued → claimed by a worker, with a lease → judged.
//!
//! Who gets a turn: [`Urgency::Live`] before [`Urgency::Background`], and within one urgency the authors by turns. A job
//! draws a ticket when it is queued: one more than the last ticket its author still waits with, or than the last one that was
//! served, whichever is higher; the lowest ticket is next. So a thousand submissions of one author delay another author's by
//! one, and who has not submitted for a while has saved up nothing (start-time fair queueing).
//!
//! A claim is known by job and attempt. Whoever lost it, because the lease passed and the job was taken back, can neither
//! extend nor finish it. Time alone takes nothing away: a late worker whose job nobody took back is still heard.

use crate::db::{Row, Tx, Value, numbered, values};
use crate::{Error, JobId, JudgementId, Moment, RejudgingId, Result, Store, SubmissionId, UserId, VersionId};
use sqlx::AssertSqlSafe;
use std::collections::BTreeMap;

/// Which line a job waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    /// Somebody waits for it.
    Live,
    /// When nothing live is waiting.
    Background,
}

impl Urgency {
    const fn number(self) -> i64 {
        match self {
            Urgency::Live => 0,
            Urgency::Background => 1,
        }
    }
}

/// What a judgement is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To be the submission's verdict.
    Verdict,
    /// To see how far times wander. Never the submission's verdict.
    Trial,
}

impl Purpose {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Purpose::Verdict => "verdict",
            Purpose::Trial => "trial",
        }
    }

    pub(crate) fn of(name: &str) -> std::result::Result<Purpose, String> {
        let all = [Purpose::Verdict, Purpose::Trial];
        all.into_iter().find(|p| p.name() == name).ok_or_else(|| format!("`{name}` is no purpose"))
    }
}

/// Where a job stands.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It waits for a worker.
    Queued,
    /// This worker has it.
    Claimed {
        /// Its name.
        worker: String,
        /// When the job may be taken back from it.
        until: Moment,
    },
    /// Its judgement is stored.
    Judged {
        /// The worker that did it.
        worker: String,
    },
}

/// A request for one judgement.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Job {
    /// Its number.
    pub id: JobId,
    /// What is to be judged.
    pub submission: SubmissionId,
    /// What it is to be judged by.
    pub version: Option<VersionId>,
    /// What for.
    pub purpose: Purpose,
    /// How often it was claimed.
    pub attempt: u64,
    /// How many attempts failed: given back by [`Store::fail`], or their lease ended. A worker that stopped in good order does not
    /// count.
    pub failed: u64,
    /// Where it stands.
    pub state: JobState,
    /// Why it came back the last time, if it ever did.
    pub returned: Option<String>,
    /// The rejudging of many submissions it belongs to.
    pub rejudging: Option<RejudgingId>,
    /// When it was asked for.
    pub created: Moment,
}

/// A worker's right to a job, good for one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Lease {
    /// The job.
    pub job: JobId,
    /// Which attempt at it.
    pub attempt: u64,
}

/// What came of finishing a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    /// The judgement was stored.
    Stored(JudgementId),
    /// This attempt had stored one before, and it stays as it was.
    Already(JudgementId),
}

#[derive(Clone, Copy)]
pub(crate) struct NewJob {
    pub(crate) submission: SubmissionId,
    pub(crate) version: Option<VersionId>,
    pub(crate) author: Option<UserId>,
    pub(crate) purpose: Purpose,
    pub(crate) urgency: Urgency,
    pub(crate) created: Moment,
    pub(crate) rejudging: Option<RejudgingId>,
}

/// Columns of a job, for SELECT and RETURNING.
macro_rules! columns {
    () => {
        "id, submission, version, purpose, state, attempt, failed, worker, lease, returned, rejudging, created"
    };
}

fn job(row: &Row) -> Result<Job> {
    let worker = || Ok::<_, Error>(row.get::<Option<String>>("worker")?.unwrap_or_default());
    let state: String = row.get("state")?;
    let state = match (state.as_str(), row.get::<Option<i64>>("lease")?) {
        ("queued", None) => JobState::Queued,
        ("claimed", Some(until)) => JobState::Claimed { worker: worker()?, until: Moment(until) },
        ("judged", None) => JobState::Judged { worker: worker()? },
        (state, lease) => return Err(row.damaged(format!("a job is {state} with lease {lease:?}"))),
    };
    Ok(Job {
        id: JobId(row.get("id")?),
        submission: SubmissionId(row.get("submission")?),
        version: row.get::<Option<i64>>("version")?.map(VersionId),
        purpose: row.parse("purpose", Purpose::of)?,
        attempt: row.count("attempt")?,
        failed: row.count("failed")?,
        state,
        returned: row.get("returned")?,
        rejudging: row.get::<Option<i64>>("rejudging")?.map(RejudgingId),
        created: Moment(row.get("created")?),
    })
}

/// Jobs that go into one statement.
const AT_ONCE: usize = 200;

/// Adds jobs, each at the end of its author's part of the line; their numbers, lowest first.
pub(crate) async fn enqueue(tx: &mut Tx, new: &[NewJob]) -> Result<Vec<JobId>> {
    let mut tickets = BTreeMap::new();
    let mut ids = Vec::with_capacity(new.len());
    for some in new.chunks(AT_ONCE) {
        let mut values = Vec::new();
        for job in some {
            let (author, urgency) = (job.author.map_or(0, |author| author.0), job.urgency.number());
            let last = match tickets.get(&(author, urgency)) {
                Some(last) => *last,
                None => last_ticket(tx, author, urgency).await?,
            };
            tickets.insert((author, urgency), last + 1);
            values.extend(values![job.submission, job.version, author, job.purpose.name(), urgency]);
            values.extend(values![last + 1, "queued", job.created, job.rejudging]);
        }
        let rows: Vec<_> = (0..some.len()).map(|n| numbered(n * 9 + 1, 9)).collect();
        let insert = format!(
            "INSERT INTO jobs (submission, version, author, purpose, urgency, ticket, state, created, rejudging)
             VALUES {} RETURNING id",
            rows.join(", ")
        );
        let rows = tx.rows(AssertSqlSafe(insert), values).await;
        let rows =
            rows.map_err(|e| e.in_words(|| "the job is there".into(), || "the problem version".into()))?;
        for row in rows {
            ids.push(JobId(row.get("id")?));
        }
    }
    ids.sort();
    Ok(ids)
}

/// The highest ticket of an author that is waited with or was served.
async fn last_ticket(tx: &mut Tx, author: i64, urgency: i64) -> Result<i64> {
    let row = tx
        .one(
            "SELECT served, (SELECT MAX(ticket) FROM jobs WHERE state = 'queued' AND author = $1 AND urgency = $2) AS last
             FROM turns WHERE urgency = $2",
            values![author, urgency],
        )
        .await?;
    Ok(row.get::<i64>("served")?.max(row.get::<Option<i64>>("last")?.unwrap_or(0)))
}

/// Makes everyone else who claims or takes back wait until this transaction has ended.
async fn take_turn(tx: &mut Tx) -> Result<()> {
    tx.run("UPDATE turns SET served = served WHERE urgency = 0", []).await.map(drop)
}

const NEXT: &str =
    "SELECT id, urgency, ticket FROM jobs WHERE state = 'queued' ORDER BY urgency, ticket, id LIMIT 1";

impl Store {
    /// Gives the next job to a worker, until `until`; `None` when nothing waits. No two workers get the same.
    pub async fn claim(&self, worker: &str, until: Moment) -> Result<Option<Job>> {
        // Idle workers ask often, and should not hold up those who write.
        if self.db.read().await?.row(NEXT, []).await?.is_none() {
            return Ok(None);
        }
        let mut tx = self.db.write().await?;
        take_turn(&mut tx).await?;
        let Some(next) = tx.row(NEXT, []).await? else { return Ok(None) };
        let (urgency, ticket): (i64, i64) = (next.get("urgency")?, next.get("ticket")?);
        let claimed = tx
            .one(
                concat!(
                    "UPDATE jobs SET state = 'claimed', attempt = attempt + 1, worker = $1, lease = $2
                     WHERE id = $3 AND state = 'queued' RETURNING ",
                    columns!()
                ),
                values![worker, until, next.get::<i64>("id")?],
            )
            .await?;
        tx.run("UPDATE turns SET served = $1 WHERE urgency = $2 AND served < $1", values![ticket, urgency])
            .await?;
        let claimed = job(&claimed)?;
        tx.commit().await?;
        Ok(Some(claimed))
    }

    /// Lets a worker keep its job until `until`.
    ///
    /// # Errors
    /// [`Error::Conflict`] where the lease is lost: the worker should stop.
    pub async fn extend(&self, lease: Lease, until: Moment) -> Result<()> {
        let mut tx = self.db.write().await?;
        let extended = tx
            .run(
                "UPDATE jobs SET lease = $1 WHERE id = $2 AND attempt = $3 AND state = 'claimed'",
                values![until, lease.job, lease.attempt],
            )
            .await?;
        if extended == 0 {
            return Err(lost(&mut tx, lease).await?);
        }
        tx.commit().await
    }

    /// Puts a job back to where it was in the line, for this reason, which is nobody's fault: the worker stops in good order.
    ///
    /// # Errors
    /// [`Error::Conflict`] where the lease is lost: there is nothing to give back.
    pub async fn give_back(&self, lease: Lease, why: &str) -> Result<()> {
        self.put_back(lease, why, 0).await.map(drop)
    }

    /// Puts a job back to where it was in the line because this attempt at it failed, and counts that: the number of attempts that
    /// failed. Who finds it too many does not call this, but [`Store::finish`] with a judgement that is a fault of ours (JE).
    ///
    /// # Errors
    /// [`Error::Conflict`] where the lease is lost: there is nothing to give back.
    pub async fn fail(&self, lease: Lease, why: &str) -> Result<u64> {
        self.put_back(lease, why, 1).await
    }

    async fn put_back(&self, lease: Lease, why: &str, failed: u32) -> Result<u64> {
        let mut tx = self.db.write().await?;
        let returned = tx
            .row(
                "UPDATE jobs SET state = 'queued', worker = NULL, lease = NULL, returned = $1, failed = failed + $2
                 WHERE id = $3 AND attempt = $4 AND state = 'claimed' RETURNING failed",
                values![why, failed, lease.job, lease.attempt],
            )
            .await?;
        let Some(returned) = returned else { return Err(lost(&mut tx, lease).await?) };
        tx.commit().await?;
        returned.count("failed")
    }

    /// Takes back every job whose lease ended at `now` or before, counts the attempt as failed, and returns what was taken. A lease
    /// is over only through this and [`Store::take_back`].
    pub async fn reap(&self, now: Moment) -> Result<Vec<Lease>> {
        let due = "SELECT id FROM jobs WHERE state = 'claimed' AND lease <= $1 LIMIT 1";
        if self.db.read().await?.row(due, values![now]).await?.is_none() {
            return Ok(Vec::new());
        }
        let take = "UPDATE jobs SET state = 'queued', lease = NULL, worker = NULL, failed = failed + 1,
                    returned = 'the lease of ' || worker || ' ended'
                    WHERE state = 'claimed' AND lease <= $1 RETURNING id, attempt";
        self.take(take, values![now]).await
    }

    /// Takes back every job of the workers whose names begin so, whatever their leases, and returns what was taken. For a server that
    /// starts: what an earlier self had claimed nobody works at. Not counted as failed attempts.
    pub async fn take_back(&self, worker: &str, why: &str) -> Result<Vec<Lease>> {
        let take = "UPDATE jobs SET state = 'queued', lease = NULL, worker = NULL, returned = $2
                    WHERE state = 'claimed' AND substr(worker, 1, length($1)) = $1 RETURNING id, attempt";
        self.take(take, values![worker, why]).await
    }

    async fn take(&self, take: &'static str, values: Vec<Value>) -> Result<Vec<Lease>> {
        let mut tx = self.db.write().await?;
        take_turn(&mut tx).await?;
        let rows = tx.rows(take, values).await?;
        let lease = |row: &Row| Ok(Lease { job: JobId(row.get("id")?), attempt: row.count("attempt")? });
        let taken = rows.iter().map(lease).collect::<Result<Vec<_>>>()?;
        tx.commit().await?;
        Ok(taken)
    }

    /// How many jobs would be given to workers before this one, as things stand; 0 when it does not wait.
    pub async fn ahead(&self, job: JobId) -> Result<u64> {
        let mut tx = self.db.read().await?;
        let before = tx
            .one(
                "SELECT COUNT(*) AS n FROM jobs WHERE state = 'queued' AND (urgency, ticket, id) <
                 (SELECT urgency, ticket, id FROM jobs WHERE id = $1 AND state = 'queued')",
                values![job],
            )
            .await?;
        before.count("n")
    }

    /// How many live jobs of an author wait; `None`: of all submissions without one. Counts to `most` and no further.
    pub async fn waiting_of(&self, author: Option<UserId>, most: u32) -> Result<u64> {
        let mut tx = self.db.read().await?;
        let waiting = tx
            .one(
                "SELECT COUNT(*) AS n FROM
                 (SELECT 1 FROM jobs WHERE state = 'queued' AND author = $1 AND urgency = $2 LIMIT $3) AS waiting",
                values![author.map_or(0, |author| author.0), Urgency::Live.number(), most],
            )
            .await?;
        waiting.count("n")
    }

    /// One job.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn job(&self, id: JobId) -> Result<Job> {
        let mut tx = self.db.read().await?;
        let row = tx.row(concat!("SELECT ", columns!(), " FROM jobs WHERE id = $1"), values![id]).await?;
        job(&row.ok_or_else(|| Error::NotFound(format!("job {id}")))?)
    }

    /// All jobs of a submission, oldest first.
    pub async fn jobs(&self, submission: SubmissionId) -> Result<Vec<Job>> {
        let mut tx = self.db.read().await?;
        let statement = concat!("SELECT ", columns!(), " FROM jobs WHERE submission = $1 ORDER BY id");
        let rows = tx.rows(statement, values![submission]).await?;
        rows.iter().map(job).collect()
    }
}

/// Why a lease is good for nothing.
pub(crate) async fn lost(tx: &mut Tx, lease: Lease) -> Result<Error> {
    let Lease { job: id, attempt } = lease;
    let row = tx.row(concat!("SELECT ", columns!(), " FROM jobs WHERE id = $1"), values![id]).await?;
    let Some(row) = row else { return Ok(Error::NotFound(format!("job {id}"))) };
    let job = job(&row)?;
    let now = match job.state {
        JobState::Queued => "it waits to be claimed again".to_string(),
        JobState::Claimed { worker, .. } => format!("{worker} has it, attempt {}", job.attempt),
        JobState::Judged { worker } => format!("{worker} has finished it, attempt {}", job.attempt),
    };
    Ok(Error::Conflict(format!(
        "job {id}: the lease of attempt {attempt} is lost: {now}; drop what came of it"
    )))
}
