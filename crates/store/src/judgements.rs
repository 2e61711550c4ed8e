//! Judgements. Each job adds one and none is ever overwritten. At most one of each round stands, and of those that were to be a submission's
//! verdict, the one that was asked for last is current; but a fault of ours (JE) never takes the place of a verdict.

use crate::db::{Row, Tx, values};
use crate::evidence::{self, FORM, Packed};
use crate::leases::lost;
use crate::queue::take_turn;
use crate::rounds::{self, Conclusion, Ended, RoundStep};
use crate::submissions::missing;
use crate::{
    Error, Finished, JobId, JudgementId, Lease, Output, Purpose, Result, Store, SubmissionId, Timestamp,
    callbacks, outputs,
    time_limits::{self, InferredResult},
};
use model::{Bytes, Charge, Clock, Confidence, InferredLimit, InferredScales, Judgement, Verdict};

/// A judgement in short.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct JudgementSummary {
    /// Its number among all judgements.
    pub id: JudgementId,
    /// The job it came of.
    pub job: JobId,
    /// 1 for the first judgement of a submission.
    pub number: u64,
    /// What it was made for.
    pub purpose: Purpose,
    /// It is the submission's verdict.
    pub current: bool,
    /// It is what its round came to.
    pub stands: bool,
    /// When it was stored.
    pub finished: Timestamp,
    /// What was earned.
    pub verdict: Verdict,
    /// Points, in scoring problems.
    pub score: Option<f64>,
    /// The charge of the slowest test that was run.
    pub charge: Option<Charge>,
    /// Most memory of any test, where it is known of all of them.
    #[serde(rename = "memory_bytes")]
    pub memory: Option<Bytes>,
    /// How firmly the verdict stands.
    pub confidence: Confidence,
    /// Runs that were made.
    pub runs: u64,
    /// Runs of these that were discarded.
    pub void_runs: u64,
    /// The node that judged.
    pub node: Option<String>,
    /// The pool of that.
    pub pool: Option<String>,
    /// It confirms on strict hardware what was judged before.
    pub confirm: bool,
    /// Why its round was not at its end before it.
    pub why: Option<String>,
}

/// A judgement whole.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredJudgement {
    /// In short.
    pub summary: JudgementSummary,
    /// The submission.
    pub submission: SubmissionId,
    /// Everything. The tests are without their runs where those were deleted.
    pub judgement: Judgement,
    /// Its runs were deleted ([`Store::forget`]).
    pub forgotten: bool,
}

/// A statement that reads judgements in short, with more columns.
macro_rules! summaries {
    ($columns:literal, $rest:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " j.id AS judgement, j.job, j.number, j.current, j.finished, j.verdict, j.score, j.clock, j.cpu_ns, j.memory_bytes,
             j.stands, j.confidence, j.runs, j.void_runs, jobs.purpose, jobs.node, jobs.pool, jobs.confirm, jobs.why
             FROM judgements j JOIN jobs ON jobs.id = j.job ",
            $rest
        )
    };
}
pub(crate) use summaries;

impl JudgementSummary {
    pub(crate) fn read(row: &Row) -> Result<JudgementSummary> {
        let unsigned = |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok());
        let clock = row.parse("clock", clock)?;
        Ok(JudgementSummary {
            id: JudgementId(row.get("judgement")?),
            job: JobId(row.get("job")?),
            number: row.count("number")?,
            purpose: row.parse("purpose", Purpose::from_name)?,
            current: row.get::<i64>("current")? == 1,
            stands: row.get::<i64>("stands")? == 1,
            finished: Timestamp(row.get("finished")?),
            verdict: row.parse("verdict", str::parse)?,
            score: row.get("score")?,
            charge: unsigned(row.get("cpu_ns")?).map(|amount| Charge { clock, amount }),
            memory: unsigned(row.get("memory_bytes")?).map(Bytes),
            confidence: row.parse("confidence", confidence)?,
            runs: row.count("runs")?,
            void_runs: row.count("void_runs")?,
            node: row.get("node")?,
            pool: row.get("pool")?,
            confirm: row.get::<i64>("confirm")? == 1,
            why: row.get("why")?,
        })
    }
}

const CONFIDENCES: [(Confidence, &str); 4] = [
    (Confidence::Clear, "clear"),
    (Confidence::Settled, "settled"),
    (Confidence::Confirmed, "confirmed"),
    (Confidence::Open, "open"),
];

fn confidence(name: &str) -> std::result::Result<Confidence, String> {
    let found = CONFIDENCES.into_iter().find(|(_, known)| *known == name);
    found.map(|(confidence, _)| confidence).ok_or_else(|| format!("`{name}` is not a confidence"))
}

fn clock(name: &str) -> std::result::Result<Clock, String> {
    let found = Clock::ALL.into_iter().find(|clock| clock.name() == name);
    found.ok_or_else(|| format!("`{name}` is not a clock"))
}

impl Store {
    /// Stores what came of a job, with what was written where that is to be kept, and ends the job; what it means for its round is in
    /// `conclusion`. On disk when this returns. May be repeated: what the same attempt stored before stays as it was.
    ///
    /// The submission's verdict is what counts in a round that stands: of several rounds, in that which was asked for last.
    ///
    /// # Errors
    /// [`Error::Conflict`] where the lease is lost: the judgement is not stored, and whoever has the job now judges again; or where the judgement
    /// that is to count is none of the round.
    pub async fn finish(
        &self,
        lease: Lease,
        judgement: &Judgement,
        output: Option<&Output>,
        now: Timestamp,
        conclusion: Conclusion<'_>,
    ) -> Result<Finished> {
        self.finish_with(lease, judgement, output, now, (conclusion, None)).await
    }

    /// The same of a job that inferred a time limit, which is in force from now on, unless that was a trial. Who waited for it is let go.
    ///
    /// # Errors
    /// As [`Store::finish`].
    pub async fn finish_limit(
        &self,
        lease: Lease,
        judgement: &Judgement,
        limit: &InferredLimit,
        now: Timestamp,
    ) -> Result<Finished> {
        self.finish_with(
            lease,
            judgement,
            None,
            now,
            (Conclusion::stands(), Some(InferredResult::TimeLimit(limit))),
        )
        .await
    }

    /// The same of a job that inferred scales.
    ///
    /// # Errors
    /// As [`Store::finish`].
    pub async fn finish_scales(
        &self,
        lease: Lease,
        judgement: &Judgement,
        scales: &InferredScales,
        now: Timestamp,
    ) -> Result<Finished> {
        self.finish_with(
            lease,
            judgement,
            None,
            now,
            (Conclusion::stands(), Some(InferredResult::Scales(scales))),
        )
        .await
    }

    async fn finish_with(
        &self,
        lease: Lease,
        judgement: &Judgement,
        output: Option<&Output>,
        now: Timestamp,
        (conclusion, inferred): (Conclusion<'_>, Option<InferredResult<'_>>),
    ) -> Result<Finished> {
        let unfit = |why| Error::Conflict(format!("judgement of job {}: {why}", lease.job));
        let packed = evidence::pack(judgement).map_err(unfit)?;
        let output = output.map(outputs::pack).transpose().map_err(unfit)?;
        let mut tx = self.db.write().await?;
        if inferred.is_some() {
            take_turn(&mut tx).await?;
        }
        let Some((ended, number)) = rounds::end(&mut tx, lease, conclusion.answer, now).await? else {
            let before = already(&mut tx, lease).await?;
            // What was stored before may wait for the same commit.
            tx.commit().await?;
            return Ok(before);
        };
        let submission = ended.submission;
        let stands = matches!(conclusion.then, RoundStep::Stand { counts: None });
        let verdict = ended.purpose == Purpose::Verdict;
        let current = stands && verdict && becomes_current(&mut tx, &ended, judgement.verdict).await?;
        if current {
            none_is_current(&mut tx, submission).await?;
        }
        let place = JudgementRow { submission, number, job: lease.job, current, stands, finished: now };
        let id = insert(&mut tx, &place, judgement, &packed).await?;
        if let Some(output) = output {
            outputs::insert(&mut tx, id, output).await?;
        }
        match conclusion.then {
            RoundStep::Stand { counts: Some(counts) } => make_stand(&mut tx, &ended, counts).await?,
            RoundStep::Stand { counts: None } => {}
            RoundStep::Continue(ask) => rounds::ask(&mut tx, &ended, ask, now).await?,
        }
        if verdict && matches!(conclusion.then, RoundStep::Stand { .. }) {
            callbacks::verdict_is_there(&mut tx, submission, now).await?;
        }
        if let Some(inferred) = inferred.filter(|_| verdict) {
            time_limits::keep(&mut tx, lease.job, inferred, now).await?;
        }
        tx.commit().await?;
        Ok(Finished::Stored(id))
    }

    /// All judgements of a submission in short, in the order they came.
    pub async fn history(&self, submission: SubmissionId) -> Result<Vec<JudgementSummary>> {
        let mut tx = self.db.read().await?;
        let statement = summaries!("", "WHERE j.submission = $1 ORDER BY j.number");
        let rows = tx.rows(statement, values![submission]).await?;
        rows.iter().map(JudgementSummary::read).collect()
    }

    /// One judgement whole, with every run and its evidence.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn judgement(&self, id: JudgementId) -> Result<StoredJudgement> {
        let mut tx = self.db.read().await?;
        let statement = summaries!("j.submission, j.form, j.body,", "WHERE j.id = $1");
        let row = tx.row(statement, values![id]).await?;
        let row = row.ok_or_else(|| Error::NotFound(format!("judgement {id}")))?;
        let mut judgement = evidence::judgement(&row)?;
        let tests = tx
            .rows("SELECT form, body FROM test_results WHERE judgement = $1 ORDER BY position", values![id])
            .await?;
        judgement.tests =
            tests.iter().map(|test| evidence::test(test, judgement.clock)).collect::<Result<_>>()?;
        let runs = tx.row("SELECT form, bytes FROM runs WHERE judgement = $1", values![id]).await?;
        if let Some(runs) = &runs {
            let by_test = evidence::runs(runs, judgement.clock)?;
            if by_test.len() != judgement.tests.len() {
                return Err(row.damaged(format!("judgement {id}: runs of {} tests", by_test.len())));
            }
            for (test, runs) in judgement.tests.iter_mut().zip(by_test) {
                test.runs = runs;
            }
        }
        Ok(StoredJudgement {
            summary: JudgementSummary::read(&row)?,
            submission: SubmissionId(row.get("submission")?),
            judgement,
            forgotten: runs.is_none(),
        })
    }

    /// The judgement of a submission that counts, whole.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the submission, and while it has none.
    pub async fn current_judgement(&self, submission: SubmissionId) -> Result<StoredJudgement> {
        let current = self.submission(submission).await?.current;
        let current =
            current.ok_or_else(|| Error::NotFound(format!("a judgement of submission {submission}")))?;
        self.judgement(current.id).await
    }
}

/// The judgement this very attempt has stored, or that the lease is lost.
async fn already(tx: &mut Tx, lease: Lease) -> Result<Finished> {
    let stored = tx
        .row(
            "SELECT j.id FROM judgements j JOIN jobs ON jobs.id = j.job WHERE jobs.id = $1 AND jobs.attempt = $2",
            values![lease.job, lease.attempt],
        )
        .await?;
    match stored {
        Some(row) => Ok(Finished::Already(JudgementId(row.get("id")?))),
        None => Err(lost(tx, lease).await?),
    }
}

/// Whether the verdict of this round is to take the place of the current one.
async fn becomes_current(tx: &mut Tx, ended: &Ended, verdict: Verdict) -> Result<bool> {
    let current = "SELECT job, verdict FROM judgements WHERE submission = $1 AND current = 1";
    let Some(current) = tx.row(current, values![ended.submission]).await? else { return Ok(true) };
    let round = rounds::round_of_job(tx, JobId(current.get("job")?)).await?;
    let rank = |verdict, round| (verdict != Verdict::JudgeError, round);
    Ok(rank(verdict, ended.round) > rank(current.parse("verdict", str::parse)?, round))
}

async fn none_is_current(tx: &mut Tx, submission: SubmissionId) -> Result<()> {
    let none = "UPDATE judgements SET current = 0 WHERE submission = $1 AND current = 1";
    tx.run(none, values![submission]).await.map(drop)
}

/// An earlier judgement is what the round comes to.
pub(crate) async fn make_stand(tx: &mut Tx, ended: &Ended, counts: JudgementId) -> Result<()> {
    if rounds::round_of(tx, counts, ended.submission).await? != Some(ended.round) {
        let why = format!("judgement {counts}: it is not one of the round of job {}", ended.round);
        return Err(Error::Conflict(why));
    }
    let row =
        tx.one("UPDATE judgements SET stands = 1 WHERE id = $1 RETURNING verdict", values![counts]).await?;
    let verdict = row.parse("verdict", str::parse)?;
    if ended.purpose == Purpose::Verdict && becomes_current(tx, ended, verdict).await? {
        none_is_current(tx, ended.submission).await?;
        tx.run("UPDATE judgements SET current = 1 WHERE id = $1", values![counts]).await?;
    }
    Ok(())
}

/// Where a judgement belongs.
struct JudgementRow {
    submission: SubmissionId,
    number: i64,
    job: JobId,
    current: bool,
    stands: bool,
    finished: Timestamp,
}

async fn insert(
    tx: &mut Tx,
    place: &JudgementRow,
    judgement: &Judgement,
    packed: &Packed,
) -> Result<JudgementId> {
    let settled = judgement.settled;
    let confidence = CONFIDENCES.into_iter().find(|(known, _)| *known == settled.confidence);
    let row = tx
        .one(
            "INSERT INTO judgements (submission, number, job, current, finished, verdict, score, cpu_ns, memory_bytes,
                 confidence, runs, void_runs, form, body, stands, clock)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) RETURNING id",
            values![
                place.submission,
                place.number,
                place.job,
                place.current,
                place.finished,
                judgement.verdict.code(),
                judgement.score,
                judgement.slowest().known().map(|charge| charge.amount),
                judgement.memory_peak().known().map(|memory| memory.0),
                confidence.map_or("", |(_, name)| name),
                settled.runs,
                settled.void_runs,
                FORM,
                packed.body.as_str(),
                place.stands,
                judgement.clock.name(),
            ],
        )
        .await
        .map_err(|e| e.in_words(|| format!("job {}: it has a judgement", place.job), || missing(place.submission).to_string()))?;
    let id = JudgementId(row.get("id")?);
    for (position, (test, body)) in (0u32..).zip(judgement.tests.iter().zip(&packed.tests)) {
        tx.run(
            "INSERT INTO test_results (judgement, position, name, verdict, cpu_ns, memory_bytes, form, body)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            values![
                id,
                position,
                test.name.as_str(),
                test.verdict.code(),
                test.charge.amount,
                test.memory_peak.known().map(|memory| memory.0),
                FORM,
                body.as_str(),
            ],
        )
        .await?;
    }
    tx.run(
        "INSERT INTO runs (judgement, form, bytes) VALUES ($1, $2, $3)",
        values![id, FORM, packed.runs.clone()],
    )
    .await?;
    Ok(id)
}
