//! What is taken out of a fleet again: nodes and contests that nothing needs any more. (Pools: [`Store::remove_pool`].)

use crate::db::values;
use crate::turns::take_turn;
use crate::{Error, JobId, Moment, Result, Store, SubmissionId};

impl Store {
    /// What a node is at: submission, job, and since when; the longest first.
    pub async fn running_on(&self, node: &str) -> Result<Vec<(SubmissionId, JobId, Moment)>> {
        let mut tx = self.db.read().await?;
        let running = "SELECT submission, id, started FROM jobs
             WHERE state = 'claimed' AND started IS NOT NULL AND node = $1 ORDER BY started, id";
        let rows = tx.rows(running, values![node]).await?;
        let job = |row: &crate::db::Row| {
            Ok((SubmissionId(row.get("submission")?), JobId(row.get("id")?), Moment(row.get("started")?)))
        };
        rows.iter().map(job).collect()
    }

    /// Forgets a node, what was measured on it and what happened to it. What it judged stays.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Conflict`] where it is judging.
    pub async fn remove_node(&self, name: &str) -> Result<()> {
        let mut tx = self.db.write().await?;
        take_turn(&mut tx).await?;
        let at = "SELECT id FROM jobs WHERE state = 'claimed' AND started IS NOT NULL AND node = $1 LIMIT 1";
        if let Some(row) = tx.row(at, values![name]).await? {
            let job: i64 = row.get("id")?;
            return Err(Error::Conflict(format!(
                "node {name}: it is at job {job}; drain it, and wait until that is done"
            )));
        }
        tx.run("DELETE FROM node_samples WHERE node = $1", values![name]).await?;
        tx.run("DELETE FROM node_events WHERE node = $1", values![name]).await?;
        if tx.run("DELETE FROM nodes WHERE name = $1", values![name]).await? == 0 {
            return Err(Error::NotFound(format!("node {name}")));
        }
        tx.commit().await
    }

    /// Removes a contest nothing was handed in to.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Conflict`] where it has submissions.
    pub async fn remove_contest(&self, name: &str) -> Result<()> {
        let mut tx = self.db.write().await?;
        take_turn(&mut tx).await?;
        let row = tx.row("SELECT id FROM contests WHERE name = $1", values![name]).await?;
        let row = row.ok_or_else(|| Error::NotFound(format!("contest {name}")))?;
        let id: i64 = row.get("id")?;
        let used = || Error::Conflict(format!("contest {name}: it has submissions, which need it"));
        let first = "SELECT id FROM submissions WHERE contest = $1 LIMIT 1";
        if tx.row(first, values![id]).await?.is_some() {
            return Err(used());
        }
        tx.run("DELETE FROM contest_turns WHERE contest = $1", values![id]).await?;
        let removed = tx.run("DELETE FROM contests WHERE id = $1", values![id]).await;
        removed.map_err(|e| e.in_words(|| format!("contest {name}"), || format!("contest {name}")))?;
        tx.commit().await
    }
}
