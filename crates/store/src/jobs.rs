//! Jobs. A job asks for one judgement of one submission: queued → claimed by a worker, with a lease → judged, or cancelled. Who gets
//! which is in [`crate::queue`], what becomes of a claim in [`crate::leases`], and what several jobs come to together in [`crate::rounds`].

use crate::db::{Row, Tx, Value, numbered, values};
use crate::queue::last_ticket;
use crate::{
    ContestId, Error, JobId, JudgementId, Lease, RejudgingId, Result, Store, SubmissionId, Timestamp, UserId,
    VersionId,
};
pub use model::Urgency;
use sqlx::AssertSqlSafe;
use std::collections::BTreeMap;

/// Its number in the database, and what is read from there.
pub(crate) const fn urgency_number(urgency: Urgency) -> i64 {
    match urgency {
        Urgency::Contest => 0,
        Urgency::Rejudge => 1,
        Urgency::Live => 2,
        Urgency::Background => 3,
    }
}

/// The inverse of [`urgency_number`], of the column `urgency`.
pub(crate) fn urgency(row: &Row) -> Result<Urgency> {
    let number = row.get::<i64>("urgency")?;
    let found = Urgency::ALL.into_iter().find(|urgency| urgency_number(*urgency) == number);
    found.ok_or_else(|| row.damaged(format!("`{number}` is not an urgency")))
}

/// The line of a submission of a contest, by that of one that is of none.
const fn in_contest(urgency: Urgency) -> Urgency {
    match urgency {
        Urgency::Live => Urgency::Contest,
        Urgency::Background => Urgency::Rejudge,
        Urgency::Contest | Urgency::Rejudge => urgency,
    }
}

/// What a judgement is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To be the submission's verdict.
    Verdict,
    /// To see how far times vary. Never the submission's verdict.
    Trial,
}

impl Purpose {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Purpose::Verdict => "verdict",
            Purpose::Trial => "trial",
        }
    }

    pub(crate) fn from_name(name: &str) -> std::result::Result<Purpose, String> {
        let all = [Purpose::Verdict, Purpose::Trial];
        all.into_iter().find(|p| p.name() == name).ok_or_else(|| format!("`{name}` is not a purpose"))
    }
}

/// Where a job stands.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It waits for a worker.
    Queued,
    /// This worker has it, or, where it was not begun ([`Job::started`]), whoever carries the ticket to one.
    Claimed {
        /// Its name.
        worker: String,
        /// When the job may be taken back from it.
        until: Timestamp,
    },
    /// Its judgement is stored.
    Judged {
        /// The worker that did it.
        worker: String,
    },
    /// It is wanted no more; there is no judgement.
    Cancelled {
        /// Why.
        why: String,
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
    /// Which line it waits in.
    pub urgency: Urgency,
    /// How often it was claimed.
    pub attempt: u64,
    /// How many attempts failed: given back by [`Store::fail`], or their lease ended after they were begun. A worker that stopped in
    /// good order does not count.
    pub failed: u64,
    /// Where it stands.
    pub state: JobState,
    /// Why it came back the last time, if it ever did.
    pub returned: Option<String>,
    /// The rejudging of many submissions it belongs to.
    pub rejudging: Option<RejudgingId>,
    /// When it was asked for.
    pub created: Timestamp,
    /// The contest it is for.
    pub contest: Option<ContestId>,
    /// The pool that must judge it; `None`: any.
    pub place: Option<String>,
    /// Nodes that must not judge it.
    pub not_on: Vec<String>,
    /// The first job of its round, itself where it is that: what the jobs of a round come to, together, is one verdict.
    pub round: JobId,
    /// It confirms on strict hardware what was judged before.
    pub confirm: bool,
    /// Why the round was not at its end before this job.
    pub why: Option<String>,
    /// The node that has it, or had it last.
    pub node: Option<String>,
    /// The pool of that node; of a ticket, the pool it is for.
    pub pool: Option<String>,
    /// When a worker began it; `None` while it waits and while a ticket is under way.
    pub started: Option<Timestamp>,
    /// When its judgement was stored, or it was cancelled.
    pub finished: Option<Timestamp>,
}

impl Job {
    /// Whether a judgement is still to come of it.
    pub const fn is_open(&self) -> bool {
        matches!(self.state, JobState::Queued | JobState::Claimed { .. })
    }

    /// The right to it that its last claim gave.
    pub const fn lease(&self) -> Lease {
        Lease { job: self.id, attempt: self.attempt }
    }
}

/// What came of finishing a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    /// The judgement was stored.
    Stored(JudgementId),
    /// This attempt had stored one before, and it stays as it was.
    Already(JudgementId),
}

#[derive(Clone)]
pub(crate) struct NewJob {
    pub(crate) submission: SubmissionId,
    pub(crate) version: Option<VersionId>,
    pub(crate) author: i64,
    pub(crate) purpose: Purpose,
    pub(crate) urgency: Urgency,
    pub(crate) created: Timestamp,
    pub(crate) rejudging: Option<RejudgingId>,
    pub(crate) contest: Option<ContestId>,
    pub(crate) place: Option<String>,
    pub(crate) next: Option<Next>,
}

/// What sets a job apart that goes on with a round.
#[derive(Clone)]
pub(crate) struct Next {
    pub(crate) round: JobId,
    pub(crate) confirm: bool,
    pub(crate) not_on: Option<String>,
    pub(crate) why: String,
}

impl NewJob {
    /// A job that begins a round.
    pub(crate) fn first(
        submission: SubmissionId,
        version: Option<VersionId>,
        author: Option<UserId>,
        (purpose, urgency): (Purpose, Urgency),
        created: Timestamp,
    ) -> NewJob {
        let author = author.map_or(0, |author| author.0);
        NewJob {
            submission,
            version,
            author,
            purpose,
            urgency,
            created,
            rejudging: None,
            contest: None,
            place: None,
            next: None,
        }
    }

    /// The same for a contest, whose jobs wait there.
    pub(crate) fn in_contest(self, contest: Option<(ContestId, Option<String>)>) -> NewJob {
        let Some((contest, place)) = contest else { return self };
        let urgency = match self.purpose {
            Purpose::Verdict => in_contest(self.urgency),
            Purpose::Trial => self.urgency,
        };
        NewJob { contest: Some(contest), place, urgency, ..self }
    }

    /// Who takes turns with whom.
    fn flow(&self) -> Flow {
        Flow {
            place: self.place.clone().unwrap_or_default(),
            urgency: urgency_number(self.urgency),
            contest: self.contest.map_or(0, |contest| contest.0),
        }
    }
}

/// The jobs of a contest (0: of none) in a line: of a place (empty: anywhere) and an urgency.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Flow {
    pub(crate) place: String,
    pub(crate) urgency: i64,
    pub(crate) contest: i64,
}

/// Columns of a job, for SELECT and RETURNING.
macro_rules! columns {
    () => {
        "id, submission, version, purpose, urgency, state, attempt, failed, worker, lease, returned, rejudging, created, contest,
         place, not_on, round, confirm, why, node, pool, started, finished, cancelled"
    };
}
pub(crate) use columns;

pub(crate) fn job(row: &Row) -> Result<Job> {
    let worker = || Ok::<_, Error>(row.get::<Option<String>>("worker")?.unwrap_or_default());
    let moment = |name| Ok::<_, Error>(row.get::<Option<i64>>(name)?.map(Timestamp));
    let state: String = row.get("state")?;
    let cancelled: Option<String> = row.get("cancelled")?;
    let state = match (state.as_str(), row.get::<Option<i64>>("lease")?, cancelled) {
        ("queued", None, None) => JobState::Queued,
        ("claimed", Some(until), None) => JobState::Claimed { worker: worker()?, until: Timestamp(until) },
        ("judged", None, None) => JobState::Judged { worker: worker()? },
        ("judged", None, Some(why)) => JobState::Cancelled { why },
        (state, lease, _) => return Err(row.damaged(format!("a job is {state} with lease {lease:?}"))),
    };
    let id = JobId(row.get("id")?);
    let not_on = row.get::<Option<String>>("not_on")?;
    Ok(Job {
        id,
        submission: SubmissionId(row.get("submission")?),
        version: row.get::<Option<i64>>("version")?.map(VersionId),
        purpose: row.parse("purpose", Purpose::from_name)?,
        urgency: urgency(row)?,
        attempt: row.count("attempt")?,
        failed: row.count("failed")?,
        state,
        returned: row.get("returned")?,
        rejudging: row.get::<Option<i64>>("rejudging")?.map(RejudgingId),
        created: Timestamp(row.get("created")?),
        contest: Some(ContestId(row.get("contest")?)).filter(|contest| contest.0 != 0),
        place: row.get("place")?,
        not_on: not_on.map(|_| row.json("not_on")).transpose()?.unwrap_or_default(),
        round: row.get::<Option<i64>>("round")?.map_or(id, JobId),
        confirm: row.get::<i64>("confirm")? == 1,
        why: row.get("why")?,
        node: row.get("node")?,
        pool: row.get("pool")?,
        started: moment("started")?,
        finished: moment("finished")?,
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
        let mut columns = 0;
        for job in some {
            let who = (job.flow(), job.next.is_none(), job.author);
            let last = match tickets.get(&who) {
                Some(last) => *last,
                None => last_ticket(tx, &who.0, who.1, who.2).await?,
            };
            tickets.insert(who, last + 1);
            let row = row(job, last + 1);
            columns = row.len();
            values.extend(row);
        }
        let rows: Vec<_> = (0..some.len()).map(|n| numbered(n * columns + 1, columns)).collect();
        let insert = format!(
            "INSERT INTO jobs (submission, version, author, purpose, urgency, ticket, state, created, rejudging,
                 contest, place, fresh, round, confirm, not_on, why)
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

/// A job, in the order of the columns it is inserted into.
fn row(job: &NewJob, ticket: i64) -> Vec<Value> {
    let (contest, next) = (job.contest.map_or(0, |contest| contest.0), job.next.as_ref());
    let mut values =
        values![job.submission, job.version, job.author, job.purpose.name(), urgency_number(job.urgency)];
    values.extend(values![ticket, "queued", job.created, job.rejudging, contest, job.place.clone()]);
    values.extend(values![
        next.is_none(),
        next.map(|next| next.round),
        next.is_some_and(|next| next.confirm)
    ]);
    values.extend(values![next.and_then(|next| next.not_on.clone()), next.map(|next| next.why.clone())]);
    values
}

impl Store {
    /// One job.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn job(&self, id: JobId) -> Result<Job> {
        let mut tx = self.db.read().await?;
        let row = tx.row(concat!("SELECT ", columns!(), " FROM jobs WHERE id = $1"), values![id]).await?;
        job(&row.ok_or_else(|| missing(id))?)
    }

    /// All jobs of a submission, oldest first.
    pub async fn jobs(&self, submission: SubmissionId) -> Result<Vec<Job>> {
        let mut tx = self.db.read().await?;
        let statement = concat!("SELECT ", columns!(), " FROM jobs WHERE submission = $1 ORDER BY id");
        let rows = tx.rows(statement, values![submission]).await?;
        rows.iter().map(job).collect()
    }
}

pub(crate) fn missing(id: JobId) -> Error {
    Error::NotFound(format!("job {id}"))
}
