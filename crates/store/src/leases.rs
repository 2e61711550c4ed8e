//! What becomes of a claim. It is known by job and attempt. Whoever lost it, because the lease passed and the job was taken back, can neither
//! extend nor finish it. Time alone takes nothing away: a late worker whose job nobody took back is still heard.
//!
//! A claim is by the worker itself, or it is a ticket, which somebody carries to the nodes of a pool: the worker that gets it begins the job.

use crate::db::{Row, Tx, Value, values};
use crate::jobs::{columns, job, missing};
use crate::queue::{refund, take_turn};
use crate::{Error, Job, JobId, JobState, Lease, Result, Store, Timestamp};

/// What comes of beginning a job by its ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum Begun {
    /// The worker has it.
    Go(Job),
    /// It is not for this node, or for another pool: the ticket is for somebody else.
    NotHere,
    /// Another worker has it, and its lease is good.
    Held,
    /// The ticket is good for nothing any more, for this reason.
    Over(String),
}

/// Sets what a job is again that was put back. A job of a contest that was bound to another pool meanwhile waits there.
macro_rules! back {
    () => {
        "state = 'queued', worker = NULL, lease = NULL, node = NULL, pool = NULL, started = NULL,
         place = CASE WHEN contest = 0 OR (round IS NOT NULL AND confirm = 0) THEN place
                      WHEN confirm = 1 THEN (SELECT c.pool FROM contests c WHERE c.id = jobs.contest)
                      ELSE (SELECT c.usual FROM contests c WHERE c.id = jobs.contest) END"
    };
}
pub(crate) use back;

/// Of what is taken back: what is told of it, and what its turn is found by.
const TAKEN: &str = " RETURNING id, attempt, failed, COALESCE(place, '') AS place, urgency, contest";

impl Store {
    /// A worker begins the job it got a ticket for, and has it until `until`. May be repeated by the same worker.
    ///
    /// It may be undone where the database's machine fails within the next second, which PostgreSQL does not wait for: the job is a ticket again
    /// then, this worker's result is nobody's, and whoever begins it next is asked for another one.
    #[expect(clippy::too_many_arguments, reason = "each is of another kind")]
    pub async fn begin(
        &self,
        lease: Lease,
        worker: &str,
        node: &str,
        pool: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Begun> {
        let mut tx = self.db.write_fleetingly().await?;
        let begun = tx
            .row(
                concat!(
                    "UPDATE jobs SET worker = $3, node = $4, lease = $6, started = COALESCE(started, $7)
                     WHERE id = $1 AND attempt = $2 AND state = 'claimed' AND pool = $5 AND (place IS NULL OR place = $5)
                     AND (started IS NULL OR worker = $3) AND (not_on IS NULL OR REPLACE(not_on, $8, '') = not_on)
                     RETURNING ",
                    columns!()
                ),
                values![lease.job, lease.attempt, worker, node, pool, until, now, quoted(node)],
            )
            .await?;
        if let Some(begun) = begun {
            let begun = job(&begun)?;
            tx.commit().await?;
            return Ok(Begun::Go(begun));
        }
        let found = find(&mut tx, lease.job).await?;
        drop(tx);
        let Some(found) = found else { return Ok(Begun::Over("the job was deleted".into())) };
        match &found.state {
            JobState::Claimed { until, .. } if found.attempt == lease.attempt => {
                if found.started.is_none() {
                    return Ok(Begun::NotHere);
                }
                if *until > now {
                    return Ok(Begun::Held);
                }
                // Nobody takes over within an attempt, or two could finish it.
                self.reap(now).await?;
                Ok(Begun::Over("the worker that had it was lost; it waits to be claimed again".into()))
            }
            _ => Ok(Begun::Over(stands(&found))),
        }
    }

    /// Lets a worker keep its job until `until`. Where the database's machine fails within the next second it may be the time before still.
    ///
    /// # Errors
    /// [`Error::Conflict`] where the lease is lost: the worker should stop.
    pub async fn extend(&self, lease: Lease, until: Timestamp) -> Result<()> {
        let mut tx = self.db.write_fleetingly().await?;
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

    /// Puts a job back to where it was in the line, for this reason, which is nobody's fault: the worker stops in good order, or a ticket
    /// cannot be delivered.
    ///
    /// # Errors
    /// [`Error::Conflict`] where the lease is lost: there is nothing to give back.
    pub async fn give_back(&self, lease: Lease, why: &str) -> Result<()> {
        self.put_back(lease, why, 0).await.map(drop)
    }

    /// Puts a job back because this attempt at it failed, behind all that wait in its line by now, and counts that: the number of attempts
    /// that failed. Whatever it does to workers, others go first. Who finds it too many does not call this, but [`Store::finish`] with a judgement that is a fault of ours (JE).
    ///
    /// # Errors
    /// [`Error::Conflict`] where the lease is lost: there is nothing to give back.
    pub async fn fail(&self, lease: Lease, why: &str) -> Result<u64> {
        self.put_back(lease, why, 1).await
    }

    /// Puts a job back, for this reason, if another one waits that goes first then: as urgent, in its line or with a ticket for its pool.
    /// Whether it did. The job waits behind one job of each author of its contest, and its contest behind the others.
    pub async fn postpone(&self, lease: Lease, why: &str) -> Result<bool> {
        let mut tx = self.db.write().await?;
        take_turn(&mut tx).await?;
        let put_back = concat!(
            "UPDATE jobs SET returned = $1, ",
            back!(),
            " WHERE id = $2 AND attempt = $3 AND state = 'claimed' AND (EXISTS
             (SELECT 1 FROM jobs o WHERE o.state = 'queued' AND o.awaits IS NULL AND COALESCE(o.place, '') = COALESCE(jobs.place, '')
              AND (o.urgency < jobs.urgency OR (o.urgency = jobs.urgency AND (o.contest <> jobs.contest OR o.fresh <= jobs.fresh))))
             OR EXISTS (SELECT 1 FROM jobs o WHERE o.state = 'claimed' AND o.started IS NULL AND o.pool = jobs.pool AND o.urgency <= jobs.urgency))"
        );
        if tx.run(put_back, values![why, lease.job, lease.attempt]).await? == 0 {
            return Ok(false);
        }
        tx.run(
            "UPDATE jobs SET ticket = 1 + COALESCE((SELECT MIN(o.ticket) FROM jobs o WHERE o.state = 'queued' AND o.awaits IS NULL
             AND o.urgency = jobs.urgency AND o.contest = jobs.contest AND COALESCE(o.place, '') = COALESCE(jobs.place, '')
             AND o.fresh = jobs.fresh AND o.ticket >= jobs.ticket AND o.id <> jobs.id), ticket) WHERE id = $1",
            values![lease.job],
        )
        .await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn put_back(&self, lease: Lease, why: &str, failed: u32) -> Result<u64> {
        let mut tx = self.db.write().await?;
        take_turn(&mut tx).await?;
        let returned = tx
            .row(
                concat!(
                    "UPDATE jobs SET returned = $1, failed = failed + $2, ",
                    back!(),
                    " WHERE id = $3 AND attempt = $4 AND state = 'claimed'
                     RETURNING failed, COALESCE(place, '') AS place, urgency, contest"
                ),
                values![why, failed, lease.job, lease.attempt],
            )
            .await?;
        let Some(returned) = returned else { return Err(lost(&mut tx, lease).await?) };
        match failed {
            0 => refund(&mut tx, std::slice::from_ref(&returned)).await?,
            _ => to_the_end(&mut tx, lease.job).await?,
        }
        tx.commit().await?;
        returned.count("failed")
    }

    /// Takes back every job whose lease ended at `now` or before, counts the attempt as failed where it was begun, and returns what was taken.
    /// A lease is over only through this and [`Store::take_back`].
    pub async fn reap(&self, now: Timestamp) -> Result<Vec<Lease>> {
        let due = "SELECT id FROM jobs WHERE state = 'claimed' AND lease <= $1 LIMIT 1";
        if self.db.read().await?.row(due, values![now]).await?.is_none() {
            return Ok(Vec::new());
        }
        let take = concat!(
            "UPDATE jobs SET failed = failed + CASE WHEN started IS NULL THEN 0 ELSE 1 END,
             returned = CASE WHEN started IS NULL THEN 'nobody of pool ' || pool || ' took it up'
                             ELSE 'the lease of ' || worker || ' ended' END, ",
            back!(),
            " WHERE state = 'claimed' AND lease <= $1"
        );
        self.take(take, values![now]).await
    }

    /// Counts an attempt as failed no more whose lease was the last that ended ([`Store::reap`]): its worker speaks again, so that the job did
    /// not end it.
    pub async fn pardon(&self, lease: Lease, worker: &str) -> Result<()> {
        let mut tx = self.db.write().await?;
        tx.run(
            "UPDATE jobs SET failed = failed - 1, returned = returned || '; it was only cut off'
             WHERE id = $1 AND attempt >= $2 AND failed > 0 AND returned = 'the lease of ' || $3 || ' ended'",
            values![lease.job, lease.attempt, worker],
        )
        .await?;
        tx.commit().await
    }

    /// The jobs that a worker of a pool has begun and not finished.
    pub async fn begun_by(&self, worker: &str, pool: &str) -> Result<Vec<Job>> {
        let mut tx = self.db.read().await?;
        let begun = concat!(
            "SELECT ",
            columns!(),
            " FROM jobs WHERE state = 'claimed' AND worker = $1 AND pool = $2 AND started IS NOT NULL ORDER BY id"
        );
        tx.rows(begun, values![worker, pool]).await?.iter().map(job).collect()
    }

    /// Takes back every job of the workers whose names begin so, whatever their leases, and returns what was taken. For a server that
    /// starts: what an earlier self had claimed nobody works at. Not counted as failed attempts.
    pub async fn take_back(&self, worker: &str, why: &str) -> Result<Vec<Lease>> {
        let take = concat!(
            "UPDATE jobs SET returned = $2, ",
            back!(),
            " WHERE state = 'claimed' AND substr(worker, 1, length($1)) = $1"
        );
        self.take(take, values![worker, why]).await
    }

    async fn take(&self, take: &'static str, values: Vec<Value>) -> Result<Vec<Lease>> {
        let mut tx = self.db.write().await?;
        take_turn(&mut tx).await?;
        let rows = tx.rows(sqlx::AssertSqlSafe(format!("{take}{TAKEN}")), values).await?;
        let lease = |row: &Row| Ok(Lease { job: JobId(row.get("id")?), attempt: row.count("attempt")? });
        let taken = rows.iter().map(lease).collect::<Result<Vec<_>>>()?;
        refund(&mut tx, &rows).await?;
        tx.commit().await?;
        Ok(taken)
    }
}

/// Puts a job that waits behind all others of its contest in its line.
async fn to_the_end(tx: &mut Tx, job: JobId) -> Result<()> {
    tx.run(
        "UPDATE jobs SET ticket = (SELECT MAX(o.ticket) + 1 FROM jobs o WHERE o.state = 'queued' AND o.awaits IS NULL AND o.urgency = jobs.urgency
         AND o.contest = jobs.contest AND COALESCE(o.place, '') = COALESCE(jobs.place, '') AND o.fresh = jobs.fresh) WHERE id = $1",
        values![job],
    )
    .await
    .map(drop)
}

/// The name of a node as it stands in a list of them.
pub(crate) fn quoted(node: &str) -> String {
    serde_json::Value::from(node).to_string()
}

async fn find(tx: &mut Tx, id: JobId) -> Result<Option<Job>> {
    let row = tx.row(concat!("SELECT ", columns!(), " FROM jobs WHERE id = $1"), values![id]).await?;
    row.as_ref().map(job).transpose()
}

/// Where a job stands, in words.
fn stands(job: &Job) -> String {
    match &job.state {
        JobState::Queued => "it waits to be claimed again".to_string(),
        JobState::Claimed { worker, .. } => format!("{worker} has it, attempt {}", job.attempt),
        JobState::Judged { worker } => format!("{worker} has finished it, attempt {}", job.attempt),
        JobState::Cancelled { why } => format!("it was cancelled: {why}"),
    }
}

/// Why a lease is good for nothing.
pub(crate) async fn lost(tx: &mut Tx, lease: Lease) -> Result<Error> {
    let Lease { job: id, attempt } = lease;
    let Some(job) = find(tx, id).await? else { return Ok(missing(id)) };
    let now = stands(&job);
    Ok(Error::Conflict(format!(
        "job {id}: the lease of attempt {attempt} is lost: {now}, so what came of it is dropped"
    )))
}
