//! The queue. A job asks for one judgement of one submission: queued → claimed by a worker, with a lease → judged.
//!
//! Who gets a turn: [`Urgency::Live`] before [`Urgency::Background`], and within one urgency the authors by turns. A job
//! draws a ticket when it is queued: one more than the last ticket its author still waits with, or than the last one that was
//! served, whichever is higher; the lowest ticket is next. So a thousand submissions of one author delay another author's by
//! one, and who has not submitted for a while has saved up nothing (start-time fair queueing).
//!
//! A claim is known by job and attempt. Whoever lost it, because the lease passed and the job was taken back, can neither
//! extend nor finish it. Time alone takes nothing away: a late worker whose job nobody took back is still heard.

use crate::db::{Row, Tx, values};
use crate::submissions::missing;
use crate::{Error, JobId, JudgementId, Moment, Result, Store, SubmissionId, UserId, VersionId};

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
    /// Where it stands.
    pub state: JobState,
    /// Why it came back the last time, if it ever did.
    pub returned: Option<String>,
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

/// Judgements to be asked for of a submission that was judged, or waits to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejudge {
    /// What to judge it by; `None`: what it was handed in for.
    pub version: Option<VersionId>,
    /// What for.
    pub purpose: Purpose,
    /// How many.
    pub times: u32,
    /// Which line they wait in.
    pub urgency: Urgency,
    /// When this is asked for.
    pub created: Moment,
}

pub(crate) struct NewJob {
    pub(crate) submission: SubmissionId,
    pub(crate) version: Option<VersionId>,
    pub(crate) author: Option<UserId>,
    pub(crate) purpose: Purpose,
    pub(crate) urgency: Urgency,
    pub(crate) created: Moment,
}

/// Columns of a job, for SELECT and RETURNING.
macro_rules! columns {
    () => {
        "id, submission, version, purpose, state, attempt, worker, lease, returned, created"
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
        state,
        returned: row.get("returned")?,
        created: Moment(row.get("created")?),
    })
}

/// Adds a job at the end of its author's part of the line.
pub(crate) async fn enqueue(tx: &mut Tx, new: &NewJob) -> Result<JobId> {
    let author = new.author.map_or(0, |author| author.0);
    let urgency = new.urgency.number();
    let served = tx.one("SELECT served FROM turns WHERE urgency = $1", values![urgency]).await?;
    let last = tx
        .one(
            "SELECT COALESCE(MAX(ticket), 0) AS last FROM jobs
             WHERE state = 'queued' AND author = $1 AND urgency = $2",
            values![author, urgency],
        )
        .await?;
    let ticket = served.get::<i64>("served")?.max(last.get("last")?) + 1;
    let row = tx
        .one(
            "INSERT INTO jobs (submission, version, author, purpose, urgency, ticket, state, created)
             VALUES ($1, $2, $3, $4, $5, $6, 'queued', $7) RETURNING id",
            values![new.submission, new.version, author, new.purpose.name(), urgency, ticket, new.created],
        )
        .await
        .map_err(|e| e.in_words(|| "the job is there".into(), || "the problem version".into()))?;
    Ok(JobId(row.get("id")?))
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

    /// Puts a job back to where it was in the line, for this reason.
    ///
    /// # Errors
    /// [`Error::Conflict`] where the lease is lost: there is nothing to give back.
    pub async fn give_back(&self, lease: Lease, why: &str) -> Result<()> {
        let mut tx = self.db.write().await?;
        let returned = tx
            .run(
                "UPDATE jobs SET state = 'queued', worker = NULL, lease = NULL, returned = $1
                 WHERE id = $2 AND attempt = $3 AND state = 'claimed'",
                values![why, lease.job, lease.attempt],
            )
            .await?;
        if returned == 0 {
            return Err(lost(&mut tx, lease).await?);
        }
        tx.commit().await
    }

    /// Takes back every job whose lease ended at `now` or before, and returns what was taken. A lease is over only through
    /// this.
    pub async fn reap(&self, now: Moment) -> Result<Vec<Lease>> {
        let due = "SELECT id FROM jobs WHERE state = 'claimed' AND lease <= $1 LIMIT 1";
        if self.db.read().await?.row(due, values![now]).await?.is_none() {
            return Ok(Vec::new());
        }
        let mut tx = self.db.write().await?;
        take_turn(&mut tx).await?;
        let rows = tx
            .rows(
                "UPDATE jobs SET state = 'queued', lease = NULL, worker = NULL,
                 returned = 'the lease of ' || worker || ' ended'
                 WHERE state = 'claimed' AND lease <= $1 RETURNING id, attempt",
                values![now],
            )
            .await?;
        let lease = |row: &Row| Ok(Lease { job: JobId(row.get("id")?), attempt: row.count("attempt")? });
        let taken = rows.iter().map(lease).collect::<Result<Vec<_>>>()?;
        tx.commit().await?;
        Ok(taken)
    }

    /// Asks for more judgements of a submission. What was judged before stays.
    ///
    /// # Errors
    /// [`Error::NotFound`], and [`Error::Conflict`] where its sources were deleted.
    pub async fn rejudge(&self, submission: SubmissionId, ask: Rejudge) -> Result<Vec<JobId>> {
        let mut tx = self.db.write().await?;
        // Locks the row: retention must not delete the sources meanwhile.
        let row = tx
            .row(
                "UPDATE submissions SET judgements = judgements WHERE id = $1
                 RETURNING version, author, forgotten",
                values![submission],
            )
            .await?;
        let row = row.ok_or_else(|| missing(submission))?;
        if row.get::<Option<i64>>("forgotten")?.is_some() {
            let why = format!("submission {submission}: its sources were deleted; it cannot be judged again");
            return Err(Error::Conflict(why));
        }
        let new = NewJob {
            submission,
            version: ask.version.or(row.get::<Option<i64>>("version")?.map(VersionId)),
            author: row.get::<Option<i64>>("author")?.map(UserId),
            purpose: ask.purpose,
            urgency: ask.urgency,
            created: ask.created,
        };
        let mut jobs = Vec::new();
        for _ in 0..ask.times {
            jobs.push(enqueue(&mut tx, &new).await?);
        }
        tx.commit().await?;
        Ok(jobs)
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
