//! Submissions: what was handed in, and how they stand.

use crate::db::{Row, Tx, values};
use crate::filter::{Filter, Page};
use crate::jobs::{self, NewJob};
use crate::judgements::JudgementSummary;
use crate::{
    Error, Hash, JobId, Moment, ProblemId, Purpose, Result, Store, SubmissionId, Urgency, UserId, VersionId,
    blobs,
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
    /// The language's short name.
    pub language: &'a str,
    /// Names and contents, in the order in which they are compiled. The names differ.
    pub files: Vec<(&'a str, &'a [u8])>,
    /// Whatever else the one who takes it in wants to know later.
    pub details: Json,
    /// When it is handed in.
    pub created: Moment,
    /// Which line it waits in.
    pub urgency: Urgency,
}

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
}

/// A submission, and its current verdict.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Submission {
    /// Its number.
    pub id: SubmissionId,
    /// The name it was given.
    pub token: String,
    /// Problem, its short name, and the version it was handed in for.
    pub problem: Option<SubmittedFor>,
    /// Who handed it in.
    pub author: Option<UserId>,
    /// The language's short name.
    pub language: String,
    /// What the one who took it in noted.
    pub details: Json,
    /// When it was handed in.
    pub created: Moment,
    /// When its sources and runs were deleted ([`Store::forget`]); it cannot be judged again.
    pub forgotten: Option<Moment>,
    /// How far judging it has come. Trials do not count.
    pub state: State,
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

/// What is read of submissions.
const SELECT: &str = "
    SELECT s.id, s.token, s.version, s.author, s.language, s.details, s.created, s.forgotten,
        v.problem, v.number AS version_number, p.name AS problem_name,
        (SELECT state FROM jobs WHERE submission = s.id AND purpose = 'verdict' ORDER BY id DESC LIMIT 1) AS state,
        j.id AS judgement, j.job, j.number, j.current, j.finished, j.verdict, j.score, j.cpu_ns, j.memory_bytes,
        j.confidence, j.runs, j.void_runs, 'verdict' AS purpose
    FROM submissions s
    LEFT JOIN problem_versions v ON v.id = s.version
    LEFT JOIN problems p ON p.id = v.problem
    LEFT JOIN judgements j ON j.submission = s.id AND j.current = 1";

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
        language: row.get("language")?,
        details: row.json("details")?,
        created: Moment(row.get("created")?),
        forgotten: row.get::<Option<i64>>("forgotten")?.map(Moment),
        state: row.parse("state", |state| match state {
            "queued" => Ok(State::Waiting),
            "claimed" => Ok(State::Judging),
            "judged" => Ok(State::Judged),
            other => Err(format!("`{other}` is no state")),
        })?,
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
        let row = tx
            .one(
                "INSERT INTO submissions (token, version, author, language, details, created)
                 VALUES ($1, $2, $3, $4, $5, $6) RETURNING id",
                values![
                    new.token,
                    new.version,
                    new.author,
                    new.language,
                    new.details.to_string(),
                    new.created
                ],
            )
            .await
            .map_err(|e| {
                let token = new.token;
                let taken = || format!("submission {token}: there is one of this name; ask for it instead");
                e.in_words(taken, || format!("the problem version or the author of submission {token}"))
            })?;
        let submission = SubmissionId(row.get("id")?);
        add_files(&mut tx, submission, &new.files).await?;
        let job = NewJob {
            submission,
            version: new.version,
            author: new.author,
            purpose: Purpose::Verdict,
            urgency: new.urgency,
            created: new.created,
        };
        let job = jobs::enqueue(&mut tx, &job).await?;
        tx.commit().await?;
        Ok((submission, job))
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
        let order = format!("ORDER BY s.id DESC LIMIT ${limit} OFFSET ${}", limit + 1);
        values.extend(values![page.limit, page.skip]);
        let mut tx = self.db.read().await?;
        let rows = tx.rows(AssertSqlSafe(format!("{SELECT} {conditions} {order}")), values).await?;
        rows.iter().map(submission).collect()
    }

    /// How many submissions a filter lets through.
    pub async fn count_submissions(&self, filter: &Filter) -> Result<u64> {
        let (conditions, values) = filter.conditions(None);
        let statement = format!(
            "SELECT COUNT(*) AS n FROM submissions s
             LEFT JOIN judgements j ON j.submission = s.id AND j.current = 1 {conditions}"
        );
        let mut tx = self.db.read().await?;
        tx.one(AssertSqlSafe(statement), values).await?.count("n")
    }
}

pub(crate) fn missing(id: SubmissionId) -> Error {
    Error::NotFound(format!("submission {id}"))
}

async fn add_files(tx: &mut Tx, submission: SubmissionId, files: &[(&str, &[u8])]) -> Result<()> {
    let mut hashed: Vec<_> = files.iter().map(|(_, bytes)| (Hash::of(bytes), *bytes)).collect();
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
            let taken = || format!("file {name}: two files of the submission have this name; rename one");
            e.in_words(taken, || format!("the content of file {name}"))
        })?;
    }
    Ok(())
}
