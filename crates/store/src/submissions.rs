//! Submissions: what was submitted, and how they stand.

use crate::db::{Row, Tx, values};
use crate::filter::{Filter, Page};
use crate::jobs::{self, NewJob};
use crate::judgements::JudgementSummary;
use crate::{
    ContestId, Error, Hash, JobId, ProblemId, Purpose, Result, Store, SubmissionId, Timestamp, Urgency,
    UserId, VersionId, blobs, callbacks, contests,
};
use serde_json::Value as Json;
use sqlx::AssertSqlSafe;

/// A submission to be kept and judged.
#[derive(Clone, Debug)]
pub struct NewSubmission<'a> {
    /// A name for it that nobody can guess; no other submission has it.
    pub token: &'a str,
    /// What it is judged by, where it is for a problem.
    pub version: Option<VersionId>,
    /// Who hands it in, where that is known.
    pub author: Option<UserId>,
    /// Where it comes from: [`PARTICIPANT`], or another short name.
    pub origin: &'a str,
    /// Whose it is, where nobody has signed in.
    pub visitor: Option<&'a str>,
    /// The language's short name.
    pub language: &'a str,
    /// Names and contents, in the order in which they are compiled. The names differ.
    pub files: Vec<(&'a str, &'a [u8])>,
    /// Whatever else the one who takes it in wants to know later.
    pub details: Json,
    /// When it is submitted.
    pub created: Timestamp,
    /// Which line it waits in; of a contest, [`Urgency::Contest`] instead of [`Urgency::Live`], and [`Urgency::Rejudge`] instead of
    /// [`Urgency::Background`].
    pub urgency: Urgency,
    /// What it is submitted for; its jobs wait where those of the contest do.
    pub contest: Option<ContestId>,
    /// An address to be told of its first verdict.
    pub callback: Option<&'a str>,
}

/// The origin of what somebody submitted to be judged; everything before there were origins is of this one.
pub const PARTICIPANT: &str = "participant";

/// The origin of what is run on tests of its own, or on samples: no submission to a problem, and listed only where it is asked for.
pub const RUN: &str = "run";

/// How far judging a submission has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It waits to be judged, or to be judged again.
    Waiting,
    /// A worker is at it.
    Judging,
    /// There is nothing to wait for.
    Judged,
    /// There is no verdict, and nothing to wait for: it was cancelled.
    Cancelled,
}

/// A submission, and its current verdict.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Submission {
    /// Its number.
    pub id: SubmissionId,
    /// The name it was given.
    pub token: String,
    /// Problem, its short name, and the version it was submitted for.
    pub problem: Option<SubmittedFor>,
    /// Who handed it in.
    pub author: Option<UserId>,
    /// Where it came from.
    pub origin: String,
    /// Whose it is, where nobody had signed in.
    pub visitor: Option<String>,
    /// What it was submitted for.
    pub contest: Option<ContestId>,
    /// The language's short name.
    pub language: String,
    /// What the one who took it in noted.
    pub details: Json,
    /// When it was submitted.
    pub created: Timestamp,
    /// When its sources and runs were deleted ([`Store::forget`]); it cannot be judged again.
    pub forgotten: Option<Timestamp>,
    /// How far judging it has come. Trials do not count.
    pub state: State,
    /// It waits for its time limit ([`Store::await_limit`]).
    pub awaits_limit: bool,
    /// The judgement that counts, where there is one yet.
    pub current: Option<JudgementSummary>,
}

/// What a submission is for.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SubmittedFor {
    /// The problem.
    pub problem: ProblemId,
    /// Its short name.
    pub name: String,
    /// The version that was the newest then.
    pub version: VersionId,
    /// The number of that version.
    pub number: u64,
}

/// A file of a submission.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct StoredFile {
    /// Its name.
    pub name: String,
    /// Its content, to be read with [`Store::blob`].
    pub hash: Hash,
    /// Its size in bytes.
    pub size: u64,
}

/// What is read of submissions. `state` is that of its open jobs: `claimed`, which comes first in the alphabet, where one was begun.
const SELECT: &str = "
    SELECT s.id, s.token, s.version, s.author, s.origin, s.visitor, s.contest, s.language, s.details, s.created, s.forgotten,
        v.problem, v.number AS version_number, p.name AS problem_name,
        (SELECT MIN(CASE WHEN started IS NULL THEN 'queued' ELSE state END) FROM jobs
         WHERE submission = s.id AND purpose = 'verdict' AND state <> 'judged') AS state,
        (SELECT MAX(awaits) FROM jobs WHERE submission = s.id AND purpose = 'verdict' AND state <> 'judged') AS awaits,
        j.id AS judgement, j.job, j.number, j.current, j.finished, j.verdict, j.score, j.clock, j.cpu_ns, j.memory_bytes,
        j.stands, j.confidence, j.runs, j.void_runs, 'verdict' AS purpose,
        done.node, done.pool, done.confirm, done.why
    FROM submissions s
    LEFT JOIN problem_versions v ON v.id = s.version
    LEFT JOIN problems p ON p.id = v.problem
    LEFT JOIN judgements j ON j.submission = s.id AND j.current = 1
    LEFT JOIN jobs done ON done.id = j.job";

fn submission(row: &Row) -> Result<Submission> {
    let version: Option<i64> = row.get("version")?;
    let problem = version.map(|version| {
        Ok::<_, Error>(SubmittedFor {
            problem: ProblemId(row.get("problem")?),
            name: row.get("problem_name")?,
            version: VersionId(version),
            number: row.count("version_number")?,
        })
    });
    let judged = row.get::<Option<i64>>("judgement")?.is_some();
    Ok(Submission {
        id: SubmissionId(row.get("id")?),
        token: row.get("token")?,
        problem: problem.transpose()?,
        author: row.get::<Option<i64>>("author")?.map(UserId),
        origin: row.get("origin")?,
        visitor: row.get("visitor")?,
        contest: row.get::<Option<i64>>("contest")?.map(ContestId),
        language: row.get("language")?,
        details: row.json("details")?,
        created: Timestamp(row.get("created")?),
        forgotten: row.get::<Option<i64>>("forgotten")?.map(Timestamp),
        state: match row.get::<Option<String>>("state")?.as_deref() {
            None if judged => State::Judged,
            None => State::Cancelled,
            Some("queued") => State::Waiting,
            Some("claimed") => State::Judging,
            Some(other) => return Err(row.damaged(format!("`{other}` is not a state"))),
        },
        awaits_limit: row.get::<Option<i64>>("awaits")?.is_some(),
        current: judged.then(|| JudgementSummary::read(row)).transpose()?,
    })
}

impl Store {
    /// Keeps a submission with a job to judge it. Both are on disk when this returns.
    ///
    /// # Errors
    /// [`Error::Conflict`] where the token, or a file's name, is taken (a call whose answer was lost can so be repeated);
    /// [`Error::NotFound`] for a version or an author that is not there.
    pub async fn submit(&self, new: &NewSubmission<'_>) -> Result<(SubmissionId, JobId)> {
        let mut tx = self.db.write().await?;
        let ids = add(&mut tx, new, None).await?;
        tx.commit().await?;
        Ok(ids)
    }

    /// Keeps several submissions, all or none, in this order.
    ///
    /// # Errors
    /// As [`Store::submit`].
    pub async fn submit_many(&self, new: &[NewSubmission<'_>]) -> Result<Vec<(SubmissionId, JobId)>> {
        let mut tx = self.db.write().await?;
        let mut ids = Vec::with_capacity(new.len());
        for new in new {
            ids.push(add(&mut tx, new, None).await?);
        }
        tx.commit().await?;
        Ok(ids)
    }

    /// One submission.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn submission(&self, id: SubmissionId) -> Result<Submission> {
        let mut tx = self.db.read().await?;
        let row = tx.row(AssertSqlSafe(format!("{SELECT} WHERE s.id = $1")), values![id]).await?;
        submission(&row.ok_or_else(|| missing(id))?)
    }

    /// The submission of this name.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn submission_of_token(&self, token: &str) -> Result<Submission> {
        let mut tx = self.db.read().await?;
        let row = tx.row(AssertSqlSafe(format!("{SELECT} WHERE s.token = $1")), values![token]).await?;
        submission(&row.ok_or_else(|| Error::NotFound(format!("submission {token}")))?)
    }

    /// Its files, in the order they were given; none when they were deleted.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn files(&self, id: SubmissionId) -> Result<Vec<StoredFile>> {
        let mut tx = self.db.read().await?;
        tx.row("SELECT id FROM submissions WHERE id = $1", values![id]).await?.ok_or_else(|| missing(id))?;
        let rows = tx
            .rows(
                "SELECT f.name, f.hash, b.size FROM files f JOIN blobs b ON b.hash = f.hash
                 WHERE f.submission = $1 ORDER BY f.position",
                values![id],
            )
            .await?;
        let file = |row: &Row| {
            Ok(StoredFile {
                name: row.get("name")?,
                hash: row.parse("hash", str::parse)?,
                size: row.count("size")?,
            })
        };
        rows.iter().map(file).collect()
    }

    /// The submissions that a filter lets through, newest first: one page of them.
    pub async fn submissions(&self, filter: &Filter, page: Page) -> Result<Vec<Submission>> {
        let (conditions, mut values) = filter.conditions(page.before);
        let limit = values.len() + 1;
        let order = format!("ORDER BY {} DESC LIMIT ${limit} OFFSET ${}", filter.number(), limit + 1);
        values.extend(values![page.limit, page.skip]);
        let mut tx = self.db.read().await?;
        let rows = tx.rows(AssertSqlSafe(format!("{SELECT} {conditions} {order}")), values).await?;
        rows.iter().map(submission).collect()
    }

    /// How many submissions a filter lets through; counts to `most` and no further.
    pub async fn count_submissions(&self, filter: &Filter, most: u32) -> Result<u64> {
        let (conditions, mut values) = filter.conditions(None);
        values.extend(values![most]);
        let join = if filter.verdict.is_some() {
            "JOIN judgements j ON j.submission = s.id AND j.current = 1"
        } else {
            ""
        };
        let statement = format!(
            "SELECT COUNT(*) AS n FROM (SELECT s.id FROM submissions s {join} {conditions} LIMIT ${}) AS found",
            values.len()
        );
        let mut tx = self.db.read().await?;
        tx.one(AssertSqlSafe(statement), values).await?.count("n")
    }
}

pub(crate) fn missing(id: SubmissionId) -> Error {
    Error::NotFound(format!("submission {id}"))
}

/// Keeps a submission, its files, its callback and its job. Of no contest, that waits in `place`.
pub(crate) async fn add(
    tx: &mut Tx,
    new: &NewSubmission<'_>,
    place: Option<String>,
) -> Result<(SubmissionId, JobId)> {
    let contest = contests::usual(tx, new.contest).await?;
    let row = tx
        .one(
            "INSERT INTO submissions (token, version, author, origin, visitor, language, details, created, contest)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id",
            values![
                new.token,
                new.version,
                new.author,
                new.origin,
                new.visitor,
                new.language,
                new.details.to_string(),
                new.created,
                new.contest
            ],
        )
        .await
        .map_err(|e| {
            let token = new.token;
            let taken = || format!("submission {token}: there is one of this name");
            e.in_words(taken, || format!("the problem version or the author of submission {token}"))
        })?;
    let submission = SubmissionId(row.get("id")?);
    add_files(tx, submission, &new.files).await?;
    if let Some(url) = new.callback {
        callbacks::add(tx, submission, url, None).await?;
    }
    let job =
        NewJob::first(submission, new.version, new.author, (Purpose::Verdict, new.urgency), new.created);
    let job = NewJob { place, ..job }.in_contest(contest);
    let jobs = jobs::enqueue(tx, &[job]).await?;
    let job = jobs.first().ok_or_else(|| missing(submission))?;
    Ok((submission, *job))
}

async fn add_files(tx: &mut Tx, submission: SubmissionId, files: &[(&str, &[u8])]) -> Result<()> {
    let mut hashed: Vec<_> = files.iter().map(|(_, bytes)| (Hash::digest(bytes), *bytes)).collect();
    let named: Vec<_> =
        files.iter().zip(&hashed).map(|((name, _), (hash, _))| (*name, hash.clone())).collect();
    // In one order everywhere, so that two who keep the same two files do not wait for each other.
    hashed.sort();
    for (hash, bytes) in &hashed {
        blobs::keep(tx, hash, bytes).await?;
    }
    for (position, (name, hash)) in (0u32..).zip(&named) {
        tx.run(
            "INSERT INTO files (submission, name, position, hash) VALUES ($1, $2, $3, $4)",
            values![submission, *name, position, hash],
        )
        .await
        .map_err(|e| {
            let taken =
                || format!("file {name}: two files of the submission have this name\nhint: rename one");
            e.in_words(taken, || format!("the content of file {name}"))
        })?;
    }
    Ok(())
}
