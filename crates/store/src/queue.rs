//! The queue: who gets which job next.
//!
//! Jobs wait in lines, each of a place (a pool, or anywhere) and an [`Urgency`]. Within a line contests take turns, and within a contest the
//! authors; what is of no contest is one contest among them. Both by start-time fair queueing (Goyal, Vin and Cheng, 1996), with jobs of
//! one size: the lowest number is next.
//!
//! - A contest has a tag, which goes up by one with each of its jobs that is taken. Having had nothing to wait for, it starts again at the tag
//!   that was served last, so that nobody saves up turns.
//! - A job draws a ticket when it is queued: one more than the last its author still waits with in this contest and line, or than the last that
//!   was served, whichever is higher.
//!
//! So a thousand submissions of one contest delay another contest's by one, and a thousand of one author another author's of the same contest. Jobs
//! that go on with a round come before those of their contest that begin one.

use crate::db::{Row, Tx, numbered, values};
use crate::jobs::{Flow, columns, job, urgency_number};
use crate::leases::quoted;
use crate::{Error, Job, JobId, Result, Store, Timestamp, Urgency, UserId};
use sqlx::AssertSqlSafe;
use std::collections::BTreeSet;

/// The pool of workers without a fleet.
pub const DEFAULT_POOL: &str = "default";

/// Whether a pool takes jobs that may be judged anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anywhere {
    /// Never.
    Never,
    /// Like its own; its own first where both are equally urgent.
    Equally,
    /// After all its own, those that were asked for then or before.
    After(Timestamp),
}

/// A request for the next job.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// Who is to have it.
    pub worker: &'a str,
    /// The node it is judged on; `None`: this is a ticket, and nobody knows yet. [`Store::begin`] is then to follow.
    pub node: Option<&'a str>,
    /// The pool it is judged in.
    pub pool: &'a str,
    /// Whether that takes jobs that may be judged anywhere.
    pub anywhere: Anywhere,
    /// When the job may be taken back.
    pub until: Timestamp,
    /// Now.
    pub now: Timestamp,
    /// The worker infers time limits ([`crate::LIMITS`]).
    pub infers: bool,
    /// The pool has so many slots: none, where as many of its tickets are under way that nobody has begun as it has free slots, and one more.
    pub slots: Option<u64>,
}

impl<'a> Claim<'a> {
    /// By a worker without a fleet; its name is that of its node, a slash, and a number.
    pub fn local(worker: &'a str, until: Timestamp, now: Timestamp) -> Claim<'a> {
        let node = worker.rsplit_once('/').map_or(worker, |(node, _)| node);
        let (pool, anywhere) = (DEFAULT_POOL, Anywhere::Equally);
        Claim { worker, node: Some(node), pool, anywhere, until, now, infers: true, slots: None }
    }
}

/// Makes everyone else who claims, takes back or cancels wait until this transaction has ended. Whoever locks this row and others locks
/// it first; then submissions, then jobs.
pub(crate) async fn take_turn(tx: &mut Tx) -> Result<()> {
    tx.run("UPDATE lines SET served = served WHERE place = '' AND urgency = 0", []).await.map(drop)
}

/// The highest ticket of an author that is waited with or was served, of jobs that begin a round (`fresh`) or that go on with one.
pub(crate) async fn last_ticket(tx: &mut Tx, flow: &Flow, fresh: bool, author: i64) -> Result<i64> {
    let row = tx
        .one(
            "SELECT (SELECT CASE WHEN CAST($4 AS BIGINT) = 1 THEN served ELSE served_again END FROM contest_turns
                     WHERE place = $1 AND urgency = $2 AND contest = $3) AS served,
                    (SELECT MAX(ticket) FROM jobs WHERE state = 'queued' AND author = $5 AND urgency = $2 AND contest = $3
                     AND COALESCE(place, '') = $1 AND fresh = $4) AS last",
            values![flow.place.as_str(), flow.urgency, flow.contest, fresh, author],
        )
        .await?;
    let known = |name| Ok::<_, Error>(row.get::<Option<i64>>(name)?.unwrap_or(0));
    Ok(known("served")?.max(known("last")?))
}

/// Gives contests back the turns whose jobs came back. The row of [`take_turn`] is held.
pub(crate) async fn refund(tx: &mut Tx, returned: &[Row]) -> Result<()> {
    for row in returned {
        let flow =
            Flow { place: row.get("place")?, urgency: row.get("urgency")?, contest: row.get("contest")? };
        let back =
            "UPDATE contest_turns SET tag = tag - 1 WHERE place = $1 AND urgency = $2 AND contest = $3";
        tx.run(back, values![flow.place, flow.urgency, flow.contest]).await?;
    }
    Ok(())
}

/// The contests that wait in two places, at each urgency. The index is read at one place for each, however many jobs they have. Urgency and
/// contest are in one number, since neither database can carry two from a row of a subquery but by a join, and PostgreSQL joins by reading all jobs
/// as long as it has not looked at how many there are. No index other than `jobs_next` may serve a read that names no author: where the statistics
/// are of a time at which no job waited, PostgreSQL takes any for the same (migration 7).
const WAITING: &str = "
    WITH RECURSIVE waiting (at, flow) AS (
        SELECT at, (SELECT urgency * 1099511627776 + contest FROM jobs WHERE state = 'queued' AND awaits IS NULL AND COALESCE(place, '') = at
                    ORDER BY urgency, contest LIMIT 1)
        FROM (SELECT $1 AS at UNION SELECT $2) AS places
        UNION ALL
        SELECT at, COALESCE(
            (SELECT urgency * 1099511627776 + contest FROM jobs WHERE state = 'queued' AND awaits IS NULL AND COALESCE(place, '') = at
             AND urgency = flow / 1099511627776 AND contest > flow % 1099511627776 ORDER BY contest LIMIT 1),
            (SELECT urgency * 1099511627776 + contest FROM jobs WHERE state = 'queued' AND awaits IS NULL AND COALESCE(place, '') = at
             AND urgency > flow / 1099511627776 ORDER BY urgency, contest LIMIT 1))
        FROM waiting WHERE flow IS NOT NULL
    )
    SELECT at, flow / 1099511627776 AS urgency, flow % 1099511627776 AS contest, COALESCE(l.served, 0) AS line_served, t.tag,
        COALESCE(t.served, 0) AS served, COALESCE(t.served_again, 0) AS served_again
    FROM waiting LEFT JOIN lines l ON l.place = at AND l.urgency = flow / 1099511627776
    LEFT JOIN contest_turns t ON t.place = at AND t.urgency = flow / 1099511627776 AND t.contest = flow % 1099511627776
    WHERE flow IS NOT NULL";

/// A contest that waits in a line.
struct Turn {
    flow: Flow,
    /// Of the contest.
    tag: i64,
    /// The highest tag that was served in its line.
    line_served: i64,
    /// The highest tickets of the contest that were served, of jobs that begin a round and of others.
    served: i64,
    served_again: i64,
}

impl Turn {
    fn read(row: &Row) -> Result<Turn> {
        let line_served = row.get("line_served")?;
        Ok(Turn {
            flow: Flow { place: row.get("at")?, urgency: row.get("urgency")?, contest: row.get("contest")? },
            tag: row.get::<Option<i64>>("tag")?.unwrap_or(line_served),
            line_served,
            served: row.get("served")?,
            served_again: row.get("served_again")?,
        })
    }
}

/// A job to be claimed, its contest's turn, and the contests that wait in its line.
struct Chosen {
    id: JobId,
    fresh: bool,
    ticket: i64,
    turn: Turn,
    waiting: Vec<i64>,
}

impl Store {
    /// Gives out the next job, until `claim.until`; `None` when there is none for this one. No two get the same.
    ///
    /// The most urgent first, and by turns between contests and authors; no more of a contest at a time than it may have; none on a node that
    /// must not judge it. A ticket is for any node of the pool, so that there is none for a job that no node of the pool may judge that gets work.
    pub async fn claim(&self, claim: Claim<'_>) -> Result<Option<Job>> {
        // Idle workers ask often, and should not hold up those who write.
        if choose(&mut self.db.read().await?, &claim).await?.is_none() {
            return Ok(None);
        }
        let mut tx = self.db.write().await?;
        take_turn(&mut tx).await?;
        // Again where it was cancelled meanwhile.
        while let Some(chosen) = choose(&mut tx, &claim).await? {
            let started = claim.node.map(|_| claim.now);
            let claimed = tx
                .row(
                    concat!(
                        "UPDATE jobs SET state = 'claimed', attempt = attempt + 1, worker = $1, lease = $2, node = $3, pool = $4,
                         started = $5 WHERE id = $6 AND state = 'queued' RETURNING ",
                        columns!()
                    ),
                    values![claim.worker, claim.until, claim.node, claim.pool, started, chosen.id],
                )
                .await?;
            if let Some(claimed) = claimed {
                take_tag(&mut tx, &chosen).await?;
                let claimed = job(&claimed)?;
                tx.commit().await?;
                return Ok(Some(claimed));
            }
        }
        Ok(None)
    }

    /// How many jobs of its place would be given to workers before this one, as things stand; 0 when it does not wait.
    pub async fn ahead(&self, job: JobId) -> Result<u64> {
        let mut tx = self.db.read().await?;
        let own = "SELECT COALESCE(place, '') AS place, urgency, contest, fresh, ticket FROM jobs WHERE id = $1 AND state = 'queued' AND awaits IS NULL";
        let Some(own) = tx.row(own, values![job]).await? else { return Ok(0) };
        let (urgency, contest): (i64, i64) = (own.get("urgency")?, own.get("contest")?);
        let place: String = own.get("place")?;
        let before = tx
            .one(
                "SELECT (SELECT COUNT(*) FROM jobs WHERE state = 'queued' AND awaits IS NULL AND COALESCE(place, '') = $1 AND urgency < $2) AS urgent,
                 (SELECT COUNT(*) FROM jobs WHERE state = 'queued' AND awaits IS NULL AND COALESCE(place, '') = $1 AND urgency = $2 AND contest = $3
                  AND (fresh, ticket, id) < ($4, $5, $6)) AS same",
                values![
                    place.as_str(),
                    urgency,
                    contest,
                    own.get::<i64>("fresh")?,
                    own.get::<i64>("ticket")?,
                    job
                ],
            )
            .await?;
        let (urgent, same) = (before.count("urgent")?, before.count("same")?);
        let counted = "SELECT contest, COUNT(*) AS n FROM jobs WHERE state = 'queued' AND awaits IS NULL AND COALESCE(place, '') = $1 AND urgency = $2
                       GROUP BY contest";
        let turns = turns(&mut tx, &place, &place).await?;
        let tag = |contest: i64| {
            let turn = turns.iter().find(|turn| turn.flow.urgency == urgency && turn.flow.contest == contest);
            turn.map_or(0, |turn| turn.tag)
        };
        // The contest takes it by this tag.
        let turn = (tag(contest) + i64::try_from(same).unwrap_or(i64::MAX), contest);
        let mut others = 0;
        for row in tx.rows(counted, values![place.as_str(), urgency]).await? {
            let other: i64 = row.get("contest")?;
            let first = tag(other);
            let before = turn.0 - first + i64::from(other < contest);
            if other != contest {
                others += row.count("n")?.min(u64::try_from(before).unwrap_or(0));
            }
        }
        Ok(urgent + same + others)
    }

    /// How many jobs of an author wait that somebody waits for; `None`: of all submissions without one. Counts to `most` and no further.
    pub async fn waiting_of(&self, author: Option<UserId>, most: u32) -> Result<u64> {
        let mut tx = self.db.read().await?;
        let author = author.map_or(0, |author| author.0);
        let waiting = tx
            .one(
                "SELECT COUNT(*) AS n FROM
                 (SELECT 1 FROM jobs WHERE state = 'queued' AND author = $1 AND urgency IN ($2, $3) LIMIT $4) AS waiting",
                values![author, urgency_number(Urgency::Contest), urgency_number(Urgency::Live), most],
            )
            .await?;
        waiting.count("n")
    }
}

async fn turns(tx: &mut Tx, place: &str, other: &str) -> Result<Vec<Turn>> {
    tx.rows(WAITING, values![place, other]).await?.iter().map(Turn::read).collect()
}

/// The job that is next for this one.
async fn choose(tx: &mut Tx, claim: &Claim<'_>) -> Result<Option<Chosen>> {
    if let Some(slots) = claim.slots {
        let under_way =
            "SELECT COUNT(*) AS n, COUNT(started) AS begun FROM jobs WHERE state = 'claimed' AND pool = $1";
        let under_way = tx.one(under_way, values![claim.pool]).await?;
        let (all, begun) = (under_way.count("n")?, under_way.count("begun")?);
        if all - begun > slots.saturating_sub(begun) {
            return Ok(None);
        }
    }
    let anywhere = if claim.anywhere == Anywhere::Never { claim.pool } else { "" };
    let mut all = turns(tx, claim.pool, anywhere).await?;
    all.sort_by_key(|turn| {
        let Flow { place, urgency, contest } = &turn.flow;
        let anywhere = place.is_empty();
        (anywhere && matches!(claim.anywhere, Anywhere::After(_)), *urgency, anywhere, turn.tag, *contest)
    });
    let full = full(tx, &all).await?;
    for at in 0..all.len() {
        let flow = &all[at].flow;
        if full.contains(&flow.contest) {
            continue;
        }
        let Some(first) = first_of(tx, flow, claim).await? else { continue };
        let same = |other: &&Turn| (&other.flow.place, other.flow.urgency) == (&flow.place, flow.urgency);
        return Ok(Some(Chosen {
            id: JobId(first.get("id")?),
            fresh: first.get::<i64>("fresh")? == 1,
            ticket: first.get("ticket")?,
            waiting: all.iter().filter(same).map(|other| other.flow.contest).collect(),
            turn: all.swap_remove(at),
        }));
    }
    Ok(None)
}

/// The contests that have as many jobs under way as they may.
async fn full(tx: &mut Tx, turns: &[Turn]) -> Result<BTreeSet<i64>> {
    if turns.iter().all(|turn| turn.flow.contest == 0) {
        return Ok(BTreeSet::new());
    }
    let full = "SELECT id FROM contests WHERE at_once IS NOT NULL
                AND (SELECT COUNT(*) FROM jobs WHERE state = 'claimed' AND contest = contests.id) >= at_once";
    tx.rows(full, []).await?.iter().map(|row| row.get("id")).collect()
}

/// Of a contest's jobs that may be too young for who helps out so many are looked at: those behind them will soon be old enough.
const LOOK: u32 = 32;

/// The first job of a contest in a line that this one may have.
async fn first_of(tx: &mut Tx, flow: &Flow, claim: &Claim<'_>) -> Result<Option<Row>> {
    let (oldest, look) = match claim.anywhere {
        Anywhere::After(then) if flow.place.is_empty() => (then, LOOK),
        _ => (Timestamp(i64::MAX), 1),
    };
    let (may, whom) = match claim.node {
        Some(node) => ("REPLACE(not_on, $4, '') = not_on", quoted(node)),
        None => (
            "EXISTS (SELECT 1 FROM nodes n WHERE n.pool = $4 AND n.state = 'active' AND n.waits IS NULL
                     AND REPLACE(not_on, '\"' || n.name || '\"', '') = not_on)",
            claim.pool.to_string(),
        ),
    };
    let kind = match claim.infers {
        true => "",
        false => {
            "AND NOT EXISTS (SELECT 1 FROM submissions s WHERE s.id = jobs.submission AND s.origin = 'limits')"
        }
    };
    let first = format!(
        "SELECT id, fresh, ticket FROM
         (SELECT id, fresh, ticket, created FROM jobs WHERE state = 'queued' AND awaits IS NULL AND COALESCE(place, '') = $1 AND urgency = $2
          AND contest = $3 AND (not_on IS NULL OR {may}) {kind} ORDER BY fresh, ticket, id LIMIT $5) AS first
         WHERE created <= $6 ORDER BY fresh, ticket, id LIMIT 1"
    );
    let values = values![flow.place.as_str(), flow.urgency, flow.contest, whom, look, oldest];
    tx.row(AssertSqlSafe(first), values).await
}

/// A job is taken: counts its contest's and its author's turn. The row of [`take_turn`] is held.
async fn take_tag(tx: &mut Tx, chosen: &Chosen) -> Result<()> {
    let Chosen { fresh, ticket, turn, waiting, .. } = chosen;
    let Flow { place, urgency, contest } = &turn.flow;
    let place = place.as_str();
    if turn.tag > turn.line_served {
        tx.run(
            "INSERT INTO lines (place, urgency, served) VALUES ($1, $2, $3)
             ON CONFLICT (place, urgency) DO UPDATE SET served = excluded.served",
            values![place, *urgency, turn.tag],
        )
        .await?;
    }
    let (served, served_again) = match fresh {
        true => (turn.served.max(*ticket), turn.served_again),
        false => (turn.served, turn.served_again.max(*ticket)),
    };
    tx.run(
        "INSERT INTO contest_turns (place, urgency, contest, tag, served, served_again) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (place, urgency, contest) DO UPDATE
         SET tag = excluded.tag, served = excluded.served, served_again = excluded.served_again",
        values![place, *urgency, *contest, turn.tag + 1, served, served_again],
    )
    .await?;
    // Who has nothing to wait for, and would be behind by now, starts again.
    let idle = format!(
        "UPDATE contest_turns SET tag = NULL WHERE place = $1 AND urgency = $2 AND tag <= $3 AND contest NOT IN {}",
        numbered(4, waiting.len())
    );
    let mut values = values![place, *urgency, turn.tag.max(turn.line_served)];
    values.extend(waiting.iter().map(|contest| (*contest).into()));
    tx.run(AssertSqlSafe(idle), values).await.map(drop)
}
