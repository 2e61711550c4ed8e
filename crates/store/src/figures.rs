//! What those who schedule look at: how long the lines are, what is under way, what was done where.

use crate::db::{Row, values};
use crate::{JobId, Result, Store, SubmissionId, Timestamp, Urgency};
use std::collections::BTreeMap;

/// How many wait in a line.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LineCount {
    /// The pool they wait for; `None`: any.
    pub place: Option<String>,
    /// How urgent they are.
    pub urgency: Urgency,
    /// How many.
    pub waiting: u64,
    /// When the first of them was asked for.
    pub oldest: Timestamp,
}

/// What is under way in a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct InPool {
    /// Tickets that no worker has started.
    pub tickets: u64,
    /// Jobs that were begun, by node.
    pub running: BTreeMap<String, u64>,
}

/// What was done in a pool.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Throughput {
    /// Its name; `None`: before there were pools.
    pub pool: Option<String>,
    /// Jobs that were judged.
    pub finished: u64,
    /// How many of these confirmed what was judged before.
    pub confirmed: u64,
    /// How many of these went on with a round for another reason.
    pub checked: u64,
}

impl Store {
    /// The lines in which jobs wait, by place and urgency; anywhere comes first.
    pub async fn lines(&self) -> Result<Vec<LineCount>> {
        let mut tx = self.db.read().await?;
        let rows = tx
            .rows(
                "SELECT COALESCE(place, '') AS place, urgency, COUNT(*) AS n, MIN(created) AS oldest FROM jobs
                 WHERE state = 'queued' GROUP BY COALESCE(place, ''), urgency ORDER BY 1, 2",
                [],
            )
            .await?;
        let line = |row: &Row| {
            Ok(LineCount {
                place: Some(row.get("place")?).filter(|place: &String| !place.is_empty()),
                urgency: crate::jobs::urgency(row)?,
                waiting: row.count("n")?,
                oldest: Timestamp(row.get("oldest")?),
            })
        };
        rows.iter().map(line).collect()
    }

    /// What is under way in a pool.
    pub async fn in_pool(&self, pool: &str) -> Result<InPool> {
        let mut tx = self.db.read().await?;
        let rows = tx
            .rows(
                "SELECT CASE WHEN started IS NULL THEN NULL ELSE node END AS node, COUNT(*) AS n FROM jobs
                 WHERE state = 'claimed' AND pool = $1 GROUP BY 1",
                values![pool],
            )
            .await?;
        let mut found = InPool::default();
        for row in &rows {
            match row.get::<Option<String>>("node")? {
                Some(node) => drop(found.running.insert(node, row.count("n")?)),
                None => found.tickets = row.count("n")?,
            }
        }
        Ok(found)
    }

    /// What was done since then, by pool.
    pub async fn throughput(&self, since: Timestamp) -> Result<Vec<Throughput>> {
        let mut tx = self.db.read().await?;
        let rows = tx
            .rows(
                "SELECT COALESCE(pool, '') AS pool, COUNT(*) AS n, CAST(SUM(confirm) AS BIGINT) AS confirmed,
                 CAST(SUM(CASE WHEN round IS NOT NULL AND confirm = 0 THEN 1 ELSE 0 END) AS BIGINT) AS checked FROM jobs
                 WHERE state = 'judged' AND finished >= $1 AND cancelled IS NULL GROUP BY COALESCE(pool, '') ORDER BY 1",
                values![since],
            )
            .await?;
        let done = |row: &Row| {
            Ok(Throughput {
                pool: Some(row.get("pool")?).filter(|pool: &String| !pool.is_empty()),
                finished: row.count("n")?,
                confirmed: row.count("confirmed")?,
                checked: row.count("checked")?,
            })
        };
        rows.iter().map(done).collect()
    }

    /// What a node has judged from `since` on and before `until`, in the order it ended; at most so many.
    pub async fn judged_on(
        &self,
        node: &str,
        since: Timestamp,
        until: Timestamp,
        limit: u32,
    ) -> Result<Vec<(SubmissionId, JobId, Timestamp)>> {
        let mut tx = self.db.read().await?;
        let rows = tx
            .rows(
                "SELECT submission, id, finished FROM jobs WHERE state = 'judged' AND node = $1 AND finished >= $2 AND finished < $3
                 AND cancelled IS NULL ORDER BY finished, id LIMIT $4",
                values![node, since, until, limit],
            )
            .await?;
        let judged = |row: &Row| {
            Ok((SubmissionId(row.get("submission")?), JobId(row.get("id")?), Timestamp(row.get("finished")?)))
        };
        rows.iter().map(judged).collect()
    }
}
