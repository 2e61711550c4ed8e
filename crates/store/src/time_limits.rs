//! Time limits of versions that state none. One is inferred for each version and pool, by a job like any other: that of a submission of origin
//! [`LIMITS`], which waits in that pool. What needs a limit that is not there yet waits in the queue, where nobody gets it.
//! What limits are in reference time is found in the same way ([`crate::reference_scales`]).
//!
//! The stored forms, as in [`crate::evidence`]: 1 had limit and source alone, 2 is an [`InferredLimit`].

use crate::db::{Row, Tx, values};
use crate::jobs::{self, NewJob};
use crate::leases::{self, lost};
use crate::queue::{refund, take_turn};
use crate::reference_scales;
use crate::submissions::{self, NewSubmission};
use crate::{Error, JobId, Lease, Purpose, Result, Store, SubmissionId, Timestamp, Urgency, VersionId};
use model::{Forms, InferredLimit, InferredScales, Nanos};
use serde_json::Value as Json;

/// The origin of what infers time limits and scales.
pub const LIMITS: &str = "limits";

const FORMS: Forms = Forms::kept("a time limit", 2);
const FORM: i64 = FORMS.newest as i64;

/// What is inferred of a version, each in a table of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inferred {
    /// Its time limit, for which submissions wait.
    TimeLimit,
    /// What its limits are in reference time. Nobody waits for it, so it is done when nothing else is waiting.
    Scales,
}

impl Inferred {
    fn table(self) -> &'static str {
        match self {
            Inferred::TimeLimit => "time_limits",
            Inferred::Scales => "reference_scales",
        }
    }

    fn urgency(self) -> Urgency {
        match self {
            Inferred::TimeLimit => Urgency::Contest,
            Inferred::Scales => Urgency::Background,
        }
    }
}

/// Whose time limit: that of a version of a problem in a pool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LimitOf {
    /// The version.
    pub version: VersionId,
    /// The pool that contests are bound to; `None`: for what is of no contest, inferred anywhere.
    pub pool: Option<String>,
}

impl LimitOf {
    fn pool(&self) -> &str {
        self.pool.as_deref().unwrap_or("")
    }
}

/// How a time limit stands.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredLimit {
    /// Whose it is.
    pub of: LimitOf,
    /// What infers it; `None`: it was found by a version before.
    pub submission: Option<SubmissionId>,
    /// The limit in force, where it is there.
    pub limit: Option<FoundLimit>,
}

/// A time limit in force, and what it was inferred from.
pub type FoundLimit = Found<InferredLimit>;

/// What was inferred and is in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Found<T> {
    /// What it is.
    pub inferred: T,
    /// When it was stored.
    pub found: Timestamp,
    /// The node that inferred it; `None`: not recorded then.
    pub node: Option<String>,
    /// The pool of that.
    pub node_pool: Option<String>,
}

/// A request for a time limit, or for scales.
#[derive(Clone, Copy, Debug)]
pub struct AskLimit<'a> {
    /// Which of both.
    pub what: Inferred,
    /// Whose.
    pub of: &'a LimitOf,
    /// Again, where it is there or could not be inferred.
    pub again: bool,
    /// A name that nobody can guess, for the submission where one is made.
    pub token: &'a str,
    /// What is noted with that.
    pub details: &'a Json,
    /// When.
    pub now: Timestamp,
}

fn written(limit: &InferredLimit) -> serde_json::Result<String> {
    serde_json::to_string(limit)
}

fn read(form: i64, body: &str) -> std::result::Result<InferredLimit, String> {
    #[derive(serde::Deserialize)]
    struct First {
        limit_ns: Nanos,
        source: String,
    }
    let first = |First { limit_ns, source }| InferredLimit::bare(limit_ns, source);
    match FORMS.read(form)? {
        1 => serde_json::from_str(body).map(first).map_err(|e| e.to_string()),
        _ => serde_json::from_str(body).map_err(|e| e.to_string()),
    }
}

fn stored(row: &Row) -> Result<StoredLimit> {
    let (of, submission, limit) = stored_by(row, read)?;
    Ok(StoredLimit { of, submission, limit })
}

/// Whose it is, what infers it, and what is in force.
pub(crate) type Standing<T> = (LimitOf, Option<SubmissionId>, Option<Found<T>>);

/// A row of either table.
pub(crate) fn stored_by<T>(
    row: &Row,
    read: fn(i64, &str) -> std::result::Result<T, String>,
) -> Result<Standing<T>> {
    let pool: String = row.get("pool")?;
    let found = match row.get::<Option<String>>("body")? {
        Some(body) => Some(Found {
            inferred: read(row.get("form")?, &body).map_err(|why| row.damaged(why))?,
            found: Timestamp(row.get("found")?),
            node: row.get("node")?,
            node_pool: row.get("node_pool")?,
        }),
        None => None,
    };
    let version = VersionId(row.get("version")?);
    let of = LimitOf { version, pool: Some(pool).filter(|pool| !pool.is_empty()) };
    Ok((of, row.get::<Option<i64>>("submission")?.map(SubmissionId), found))
}

impl Store {
    /// Notes whether a version states its time limit.
    pub async fn set_states_limit(&self, version: VersionId, stated: bool) -> Result<()> {
        let mut tx = self.db.write().await?;
        let set = "UPDATE problem_versions SET stated = $2 WHERE id = $1";
        tx.run(set, values![version, stated]).await?;
        tx.commit().await
    }

    /// The time limits of a version, by pool; what is of no contest first.
    pub async fn time_limits(&self, version: VersionId) -> Result<Vec<StoredLimit>> {
        let mut tx = self.db.read().await?;
        let all = "SELECT * FROM time_limits WHERE version = $1 ORDER BY pool";
        tx.rows(all, values![version]).await?.iter().map(stored).collect()
    }

    /// One of them.
    pub async fn time_limit(&self, of: &LimitOf) -> Result<Option<StoredLimit>> {
        let mut tx = self.db.read().await?;
        let one = "SELECT * FROM time_limits WHERE version = $1 AND pool = $2";
        tx.row(one, values![of.version, of.pool()]).await?.as_ref().map(stored).transpose()
    }

    /// Has a time limit or scales inferred, unless somebody has asked before; asked for again, unless that is under way. Its submission, and whether
    /// there is a new job.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a version that is not there.
    pub async fn ask_limit(&self, ask: AskLimit<'_>) -> Result<(Option<SubmissionId>, bool)> {
        let AskLimit { what, of, again, token, details, now } = ask;
        let (table, urgency) = (what.table(), what.urgency());
        let mut tx = self.db.write().await?;
        // Of several who ask the others wait here.
        let row = tx
            .one(
                sqlx::AssertSqlSafe(format!(
                    "INSERT INTO {table} (version, pool) VALUES ($1, $2)
                     ON CONFLICT (version, pool) DO UPDATE SET version = excluded.version RETURNING submission, body"
                )),
                values![of.version, of.pool()],
            )
            .await
            .map_err(|e| e.in_words(String::new, || format!("problem version {}", of.version)))?;
        let known = row.get::<Option<i64>>("submission")?.map(SubmissionId);
        let there = row.get::<Option<String>>("body")?.is_some();
        let submission = match known {
            _ if (there || known.is_some()) && !again => return Ok((known, false)),
            Some(known) => {
                let open = "SELECT id FROM jobs WHERE submission = $1 AND purpose = 'verdict' AND state <> 'judged' LIMIT 1";
                if tx.row(open, values![known]).await?.is_some() {
                    return Ok((Some(known), false));
                }
                let first = NewJob::first(known, Some(of.version), None, (Purpose::Verdict, urgency), now);
                jobs::enqueue(&mut tx, &[NewJob { place: of.pool.clone(), ..first }]).await?;
                known
            }
            None => {
                let new = NewSubmission {
                    token,
                    version: Some(of.version),
                    author: None,
                    origin: LIMITS,
                    visitor: None,
                    language: "",
                    files: Vec::new(),
                    details: details.clone(),
                    created: now,
                    urgency,
                    contest: None,
                    callback: None,
                };
                let (submission, _) = submissions::add(&mut tx, &new, of.pool.clone()).await?;
                tx.run(
                    sqlx::AssertSqlSafe(format!(
                        "UPDATE {table} SET submission = $3 WHERE version = $1 AND pool = $2"
                    )),
                    values![of.version, of.pool(), submission],
                )
                .await?;
                submission
            }
        };
        tx.commit().await?;
        Ok((Some(submission), true))
    }

    /// Puts a job back, which is nobody's fault, until this time limit is there; at once into its line, where it is there by now.
    ///
    /// # Errors
    /// [`Error::Conflict`] where the lease is lost.
    pub async fn await_limit(&self, lease: Lease, of: &LimitOf) -> Result<()> {
        let mut tx = self.db.write().await?;
        // A limit is stored in this order too.
        take_turn(&mut tx).await?;
        let returned = tx
            .row(
                concat!(
                    "UPDATE jobs SET awaits = CASE WHEN EXISTS
                         (SELECT 1 FROM time_limits WHERE version = $3 AND pool = $4 AND body IS NOT NULL) THEN NULL ELSE 1 END, ",
                    leases::back!(),
                    " WHERE id = $1 AND attempt = $2 AND state = 'claimed'
                     RETURNING COALESCE(place, '') AS place, urgency, contest"
                ),
                values![lease.job, lease.attempt, of.version, of.pool()],
            )
            .await?;
        let Some(returned) = returned else { return Err(lost(&mut tx, lease).await?) };
        refund(&mut tx, std::slice::from_ref(&returned)).await?;
        tx.commit().await
    }

    /// How many jobs wait for time limits of a version.
    pub async fn awaiting(&self, version: VersionId) -> Result<u64> {
        let mut tx = self.db.read().await?;
        let waiting =
            "SELECT COUNT(*) AS n FROM jobs WHERE version = $1 AND awaits IS NOT NULL AND state = 'queued'";
        tx.one(waiting, values![version]).await?.count("n")
    }
}

/// What a job inferred.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InferredResult<'a> {
    TimeLimit(&'a InferredLimit),
    Scales(&'a InferredScales),
}

impl InferredResult<'_> {
    /// Which table has it, and its form and body there.
    fn written(self) -> serde_json::Result<(Inferred, i64, String)> {
        Ok(match self {
            InferredResult::TimeLimit(limit) => (Inferred::TimeLimit, FORM, written(limit)?),
            InferredResult::Scales(scales) => {
                (Inferred::Scales, reference_scales::FORM, reference_scales::written(scales)?)
            }
        })
    }
}

/// Keeps what a job inferred, and lets go who waited for it. The row of [`take_turn`] is held.
pub(crate) async fn keep(
    tx: &mut Tx,
    job: JobId,
    inferred: InferredResult<'_>,
    now: Timestamp,
) -> Result<()> {
    let unfit = |e: serde_json::Error| Error::Conflict(format!("what job {job} inferred: {e}"));
    let (what, form, body) = inferred.written().map_err(unfit)?;
    let kept = tx
        .row(
            sqlx::AssertSqlSafe(format!(
                "UPDATE {} SET found = $2, form = $3, body = $4,
                     node = (SELECT node FROM jobs WHERE id = $1), node_pool = (SELECT pool FROM jobs WHERE id = $1)
                 WHERE submission = (SELECT submission FROM jobs WHERE id = $1) RETURNING version, pool",
                what.table()
            )),
            values![job, now, form, body],
        )
        .await?;
    let Some(kept) = kept.filter(|_| what == Inferred::TimeLimit) else { return Ok(()) };
    tx.run(
        "UPDATE jobs SET awaits = NULL WHERE awaits IS NOT NULL AND version = $1
         AND COALESCE((SELECT c.pool FROM contests c WHERE c.id = jobs.contest), '') = $2",
        values![kept.get::<i64>("version")?, kept.get::<String>("pool")?],
    )
    .await
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Clock, Inference, LimitSide, Reading, TimedProgram};
    use serde_json::Value;

    /// With something in every part.
    fn sample() -> InferredLimit {
        let program = TimedProgram {
            path: "submissions/accepted/a.py".into(),
            language: "python3".into(),
            side: LimitSide::Passes,
            time: Nanos(400_000_000),
            ended: false,
        };
        InferredLimit {
            limit: Nanos(2_000_000_000),
            source: "inferred: the slowest".into(),
            rule: Reading::Known(Inference::Legacy { multiplier: 5.0, safety_margin: 2.0 }),
            clock: Reading::Known(Clock::Cpu),
            programs: vec![program],
            warnings: vec!["b.py: does not compile".into()],
        }
    }

    fn kept() -> [&'static str; 2] {
        [include_str!("../tests/forms/limit-1.json"), include_str!("../tests/forms/limit-2.json")]
    }

    #[test]
    fn what_is_written_changes_only_with_the_number_of_its_form() {
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        FORMS.hold(&value(&written(&sample()).unwrap()), &kept().map(value), Value::eq);
    }

    #[test]
    fn every_form_there_was_is_read() {
        let bare = InferredLimit::bare(sample().limit, sample().source);
        assert_eq!(read(1, kept()[0]), Ok(bare));
        assert_eq!(read(FORM, kept()[1]), Ok(sample()));
        assert!(read(FORM + 1, "{}").is_err());
    }
}
