//! Rounds: the jobs that come to one verdict together. A round begins with a job that was asked for, and each of its jobs either stands, which
//! ends the round, or asks for one more: on other hardware, to confirm, or on another node, to check. Which of both is not decided here.

use crate::db::{Row, Tx, values};
use crate::jobs::{NewJob, Next, Purpose, Urgency, enqueue, missing};
use crate::queue::take_turn;
use crate::submissions;
use crate::{
    ContestId, JobId, JudgementId, Lease, RejudgingId, Result, Store, SubmissionId, Timestamp, VersionId,
};
use serde_json::Value as Json;

/// What follows from a judgement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conclusion<'a> {
    /// What the next jobs of the round are to know of it; see [`Store::answers`].
    pub answer: Option<&'a Json>,
    /// Whether the round is at its end.
    pub then: RoundStep<'a>,
}

/// Whether a round is at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RoundStep<'a> {
    /// It is.
    Stand {
        /// The judgement of this round that counts; `None`: the one that is stored now.
        counts: Option<JudgementId>,
    },
    /// One more job is to be done.
    Continue(RoundJob<'a>),
}

/// One more job of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundJob<'a> {
    /// The pool that must do it; `None`: any.
    pub place: Option<&'a str>,
    /// It confirms on strict hardware.
    pub confirm: bool,
    /// Nodes that must not do it.
    pub not_on: &'a [String],
    /// What it is for.
    pub why: &'a str,
}

impl Conclusion<'_> {
    /// The judgement that is stored now is what the round comes to.
    pub const fn stands() -> Conclusion<'static> {
        Conclusion { answer: None, then: RoundStep::Stand { counts: None } }
    }
}

/// What came of a job of a round.
#[derive(Clone, Debug, PartialEq)]
pub struct JobAnswer {
    /// The job.
    pub job: JobId,
    /// Its judgement.
    pub judgement: JudgementId,
    /// The node that did it.
    pub node: Option<String>,
    /// The pool of that.
    pub pool: Option<String>,
    /// [`Conclusion::answer`].
    pub answer: Option<Json>,
    /// It was to confirm.
    pub confirm: bool,
}

/// The job that ended, and what the next of its round is like it in.
pub(crate) struct Ended {
    pub(crate) submission: SubmissionId,
    pub(crate) purpose: Purpose,
    pub(crate) round: JobId,
    version: Option<VersionId>,
    author: i64,
    urgency: Urgency,
    rejudging: Option<RejudgingId>,
    contest: Option<ContestId>,
}

impl Ended {
    pub(crate) fn read(row: &Row, job: JobId) -> Result<Ended> {
        Ok(Ended {
            submission: SubmissionId(row.get("submission")?),
            purpose: row.parse("purpose", Purpose::from_name)?,
            round: row.get::<Option<i64>>("round")?.map_or(job, JobId),
            version: row.get::<Option<i64>>("version")?.map(VersionId),
            author: row.get("author")?,
            urgency: crate::jobs::urgency(row)?,
            rejudging: row.get::<Option<i64>>("rejudging")?.map(RejudgingId),
            contest: Some(ContestId(row.get("contest")?)).filter(|contest| contest.0 != 0),
        })
    }
}

/// Ends a job; `None` where the lease is lost. The row of its submission is locked from here: its judgements are added one after the other,
/// each under a number of its own.
pub(crate) async fn end(
    tx: &mut Tx,
    lease: Lease,
    answer: Option<&Json>,
    now: Timestamp,
) -> Result<Option<(Ended, i64)>> {
    let number = tx
        .row(
            "UPDATE submissions SET judgements = judgements + 1 WHERE id =
             (SELECT submission FROM jobs WHERE id = $1 AND attempt = $2 AND state = 'claimed') RETURNING judgements",
            values![lease.job, lease.attempt],
        )
        .await?;
    let Some(number) = number else { return Ok(None) };
    let ended = tx
        .row(
            "UPDATE jobs SET state = 'judged', lease = NULL, finished = $3, answer = $4
             WHERE id = $1 AND attempt = $2 AND state = 'claimed'
             RETURNING submission, purpose, round, version, author, urgency, rejudging, contest",
            values![lease.job, lease.attempt, now, answer.map(Json::to_string)],
        )
        .await?;
    let number = number.get("judgements")?;
    let Some(row) = ended else {
        // It was taken back since the first look.
        let back = "UPDATE submissions SET judgements = judgements - 1 WHERE id = (SELECT submission FROM jobs WHERE id = $1)";
        tx.run(back, values![lease.job]).await?;
        return Ok(None);
    };
    let ended = Ended::read(&row, lease.job)?;
    Ok(Some((ended, number)))
}

/// Queues the next job of a round.
pub(crate) async fn ask(tx: &mut Tx, ended: &Ended, ask: RoundJob<'_>, now: Timestamp) -> Result<()> {
    let not_on =
        Some(ask.not_on).filter(|nodes| !nodes.is_empty()).map(|nodes| Json::from(nodes).to_string());
    let next = Next { round: ended.round, confirm: ask.confirm, not_on, why: ask.why.to_string() };
    let job = NewJob {
        submission: ended.submission,
        version: ended.version,
        author: ended.author,
        purpose: ended.purpose,
        urgency: ended.urgency,
        created: now,
        rejudging: ended.rejudging,
        contest: ended.contest,
        place: ask.place.map(str::to_string),
        next: Some(next),
    };
    enqueue(tx, &[job]).await.map(drop)
}

impl Store {
    /// What came of the jobs of a round so far, in the order they were asked for; nothing of those that were cancelled.
    pub async fn answers(&self, round: JobId) -> Result<Vec<JobAnswer>> {
        let mut tx = self.db.read().await?;
        let rows = tx
            .rows(
                "SELECT jobs.id, jobs.node, jobs.pool, jobs.answer, jobs.confirm, j.id AS judgement
                 FROM jobs JOIN judgements j ON j.job = jobs.id WHERE jobs.id = $1 OR jobs.round = $1 ORDER BY jobs.id",
                values![round],
            )
            .await?;
        let answered = |row: &Row| {
            let answer = row.get::<Option<String>>("answer")?;
            Ok(JobAnswer {
                job: JobId(row.get("id")?),
                judgement: JudgementId(row.get("judgement")?),
                node: row.get("node")?,
                pool: row.get("pool")?,
                answer: answer.map(|_| row.json("answer")).transpose()?,
                confirm: row.get::<i64>("confirm")? == 1,
            })
        };
        rows.iter().map(answered).collect()
    }

    /// Nobody wants the verdict of a submission any more, for this reason: its jobs that are open and not trials are cancelled, and whoever
    /// has one loses it. How many there were. It can be judged again later.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn cancel(&self, submission: SubmissionId, why: &str, now: Timestamp) -> Result<u64> {
        let mut tx = self.db.write().await?;
        take_turn(&mut tx).await?;
        // A job that is asked for by the end of another is seen.
        let locked = "UPDATE submissions SET judgements = judgements WHERE id = $1";
        if tx.run(locked, values![submission]).await? == 0 {
            return Err(submissions::missing(submission));
        }
        let cancelled = tx
            .run(
                "UPDATE jobs SET state = 'judged', lease = NULL, cancelled = $2, finished = $3
                 WHERE submission = $1 AND purpose = 'verdict' AND state <> 'judged'",
                values![submission, why, now],
            )
            .await?;
        tx.commit().await?;
        Ok(cancelled)
    }
}

/// The round of a judgement, where the judgement is one of this submission.
pub(crate) async fn round_of(
    tx: &mut Tx,
    judgement: JudgementId,
    submission: SubmissionId,
) -> Result<Option<JobId>> {
    let row = tx
        .row(
            "SELECT COALESCE(jobs.round, jobs.id) AS round FROM judgements j JOIN jobs ON jobs.id = j.job
             WHERE j.id = $1 AND j.submission = $2",
            values![judgement, submission],
        )
        .await?;
    row.map(|row| row.get("round").map(JobId)).transpose()
}

/// The round of a job.
///
/// # Errors
/// [`Error::NotFound`].
pub(crate) async fn round_of_job(tx: &mut Tx, job: JobId) -> Result<JobId> {
    let row = tx.row("SELECT COALESCE(round, id) AS round FROM jobs WHERE id = $1", values![job]).await?;
    row.ok_or_else(|| missing(job)).and_then(|row: Row| row.get("round").map(JobId))
}
