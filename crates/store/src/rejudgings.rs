//! Judging again: one submission, or many for one reason, with what counted before and what came of it.

use crate::db::{Row, Tx, numbered, values};
use crate::jobs::{self, NewJob};
use crate::judgements::{JudgementSummary, summaries};
use crate::submissions::missing;
use crate::{
    ContestId, Error, JobId, Purpose, RejudgingId, Result, Store, SubmissionId, Timestamp, Urgency, UserId,
    VersionId, contests,
};
use sqlx::AssertSqlSafe;
use std::collections::BTreeMap;

/// Judgements to be asked for of a submission that was judged, or waits to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejudge {
    /// What to judge it by; `None`: what it was submitted for.
    pub version: Option<VersionId>,
    /// What for.
    pub purpose: Purpose,
    /// How many.
    pub times: u32,
    /// Which line they wait in; to be the verdict of a submission of a contest, [`Urgency::Contest`] instead of [`Urgency::Live`], and
    /// [`Urgency::Rejudge`] instead of [`Urgency::Background`].
    pub urgency: Urgency,
    /// When this is asked for.
    pub created: Timestamp,
}

/// A request to judge many submissions again.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Rejudging {
    /// Its number.
    pub id: RejudgingId,
    /// Why.
    pub reason: String,
    /// Who asked for it.
    pub by: Option<UserId>,
    /// What for.
    pub purpose: Purpose,
    /// What to judge by; `None`: what each was submitted for.
    pub version: Option<VersionId>,
    /// When it was asked for.
    pub created: Timestamp,
    /// How many submissions are to be judged again.
    pub submissions: u64,
    /// How many judgements were asked for, without those that were cancelled.
    pub jobs: u64,
    /// How many of these stand.
    pub judged: u64,
}

/// What became of one submission in a rejudging.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Rejudged {
    /// The submission.
    pub submission: SubmissionId,
    /// The judgement that was current when the rejudging was asked for. It stands here as it is now: whether it still counts is in it.
    pub before: Option<JudgementSummary>,
    /// The judgements of this rejudging that stand, in the order they came.
    pub after: Vec<JudgementSummary>,
}

/// Submissions that go into one statement.
const AT_ONCE: usize = 200;

/// A statement that reads rejudgings.
macro_rules! rejudgings {
    ($rest:literal) => {
        concat!(
            "SELECT r.id, r.reason, r.author, r.purpose, r.version, r.created,
             (SELECT COUNT(*) FROM rejudged WHERE rejudging = r.id) AS submissions,
             (SELECT COUNT(*) FROM jobs f WHERE f.rejudging = r.id AND f.round IS NULL AND f.cancelled IS NULL AND NOT EXISTS
              (SELECT 1 FROM jobs l WHERE l.round = f.id AND l.cancelled IS NOT NULL)) AS jobs,
             (SELECT COUNT(*) FROM jobs JOIN judgements j ON j.job = jobs.id
              WHERE jobs.rejudging = r.id AND j.stands = 1) AS judged
             FROM rejudgings r ",
            $rest
        )
    };
}

fn rejudging(row: &Row) -> Result<Rejudging> {
    Ok(Rejudging {
        id: RejudgingId(row.get("id")?),
        reason: row.get("reason")?,
        by: row.get::<Option<i64>>("author")?.map(UserId),
        purpose: row.parse("purpose", Purpose::from_name)?,
        version: row.get::<Option<i64>>("version")?.map(VersionId),
        created: Timestamp(row.get("created")?),
        submissions: row.count("submissions")?,
        jobs: row.count("jobs")?,
        judged: row.count("judged")?,
    })
}

impl Store {
    /// Asks for more judgements of a submission. What was judged before stays.
    ///
    /// # Errors
    /// [`Error::NotFound`], and [`Error::Conflict`] where its sources were deleted.
    pub async fn rejudge(&self, submission: SubmissionId, ask: Rejudge) -> Result<Vec<JobId>> {
        let mut tx = self.db.write().await?;
        let jobs = ask_again(&mut tx, &[submission], ask, None).await?;
        tx.commit().await?;
        Ok(jobs)
    }

    /// Asks for more judgements of many submissions, for one reason. One that is named twice is judged again once.
    ///
    /// # Errors
    /// [`Error::NotFound`], and [`Error::Conflict`] where the sources of one were deleted; then none is judged again.
    pub async fn add_rejudging(
        &self,
        reason: &str,
        by: Option<UserId>,
        submissions: &[SubmissionId],
        ask: Rejudge,
    ) -> Result<RejudgingId> {
        // In one order everywhere, so that two who lock the same two rows do not wait for each other.
        let mut submissions = submissions.to_vec();
        submissions.sort();
        submissions.dedup();
        let mut tx = self.db.write().await?;
        let row = tx
            .one(
                "INSERT INTO rejudgings (reason, author, purpose, version, created)
                 VALUES ($1, $2, $3, $4, $5) RETURNING id",
                values![reason, by, ask.purpose.name(), ask.version, ask.created],
            )
            .await
            .map_err(|e| {
                e.in_words(|| "the rejudging".into(), || "the problem version, or who rejudges".into())
            })?;
        let id = RejudgingId(row.get("id")?);
        for some in submissions.chunks(AT_ONCE) {
            ask_again(&mut tx, some, ask, Some(id)).await?;
            let mut values = values![id];
            values.extend(some.iter().map(|id| (*id).into()));
            let before = format!(
                "INSERT INTO rejudged (rejudging, submission, before)
                 SELECT CAST($1 AS BIGINT), s.id, (SELECT id FROM judgements WHERE submission = s.id AND current = 1)
                 FROM submissions s WHERE s.id IN {}",
                numbered(2, some.len())
            );
            tx.run(AssertSqlSafe(before), values).await?;
        }
        tx.commit().await?;
        Ok(id)
    }

    /// Rejudgings of many submissions, newest first: those older than `before`, at most so many.
    pub async fn rejudgings(&self, before: Option<RejudgingId>, limit: u32) -> Result<Vec<Rejudging>> {
        let before = before.unwrap_or(RejudgingId(i64::MAX));
        let mut tx = self.db.read().await?;
        let page = rejudgings!("WHERE r.id < $1 ORDER BY r.id DESC LIMIT $2");
        tx.rows(page, values![before, limit]).await?.iter().map(rejudging).collect()
    }

    /// One rejudging, and what became of each of its submissions, in the order of their numbers. Submissions that were deleted
    /// since are left out.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn rejudging(&self, id: RejudgingId) -> Result<(Rejudging, Vec<Rejudged>)> {
        let mut tx = self.db.read().await?;
        let row = tx.row(rejudgings!("WHERE r.id = $1"), values![id]).await?;
        let row = row.ok_or_else(|| Error::NotFound(format!("rejudging {id}")))?;
        let of = |row: &Row| row.get("submission").map(SubmissionId);
        let listed = "SELECT submission FROM rejudged WHERE rejudging = $1";
        let mut all = BTreeMap::new();
        for row in tx.rows(listed, values![id]).await? {
            let submission = of(&row)?;
            all.insert(submission, Rejudged { submission, before: None, after: Vec::new() });
        }
        let before = summaries!("j.submission,", "JOIN rejudged r ON r.before = j.id WHERE r.rejudging = $1");
        for row in tx.rows(before, values![id]).await? {
            if let Some(one) = all.get_mut(&of(&row)?) {
                one.before = Some(JudgementSummary::read(&row)?);
            }
        }
        let after =
            summaries!("j.submission,", "WHERE jobs.rejudging = $1 AND j.stands = 1 ORDER BY j.number");
        for row in tx.rows(after, values![id]).await? {
            if let Some(one) = all.get_mut(&of(&row)?) {
                one.after.push(JudgementSummary::read(&row)?);
            }
        }
        Ok((rejudging(&row)?, all.into_values().collect()))
    }
}

/// Queues more judgements of these submissions; the numbers of the jobs, lowest first.
async fn ask_again(
    tx: &mut Tx,
    submissions: &[SubmissionId],
    ask: Rejudge,
    rejudging: Option<RejudgingId>,
) -> Result<Vec<JobId>> {
    // Locks the rows: retention must not delete the sources meanwhile.
    let lock = format!(
        "UPDATE submissions SET judgements = judgements WHERE id IN {} RETURNING id, version, author, contest, forgotten",
        numbered(1, submissions.len())
    );
    let ids: Vec<_> = submissions.iter().map(|id| (*id).into()).collect();
    let mut found = BTreeMap::new();
    for row in tx.rows(AssertSqlSafe(lock), ids).await? {
        found.insert(SubmissionId(row.get("id")?), row);
    }
    let mut new = Vec::new();
    for submission in submissions {
        let row = found.get(submission).ok_or_else(|| missing(*submission))?;
        if row.get::<Option<i64>>("forgotten")?.is_some() {
            let why =
                format!("submission {submission}: its sources were deleted, so it cannot be judged again");
            return Err(Error::Conflict(why));
        }
        let version = ask.version.or(row.get::<Option<i64>>("version")?.map(VersionId));
        let author = row.get::<Option<i64>>("author")?.map(UserId);
        let job = NewJob::first(*submission, version, author, (ask.purpose, ask.urgency), ask.created);
        let contest = row.get::<Option<i64>>("contest")?.map(ContestId);
        let job = NewJob { rejudging, ..job.in_contest(contests::usual(tx, contest).await?) };
        new.extend((0..ask.times).map(|_| job.clone()));
    }
    jobs::enqueue(tx, &new).await
}
