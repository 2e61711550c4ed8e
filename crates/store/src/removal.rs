//! What is taken out of a fleet again: nodes. (Pools: [`Store::remove_pool`]; contests: [`Store::remove_contest`].)

use crate::db::values;
use crate::queue::take_turn;
use crate::{Error, JobId, Result, Store, SubmissionId, Timestamp};

impl Store {
    /// What a node is at: submission, job, and since when; the longest first.
    pub async fn running_on(&self, node: &str) -> Result<Vec<(SubmissionId, JobId, Timestamp)>> {
        let mut tx = self.db.read().await?;
        let running = "SELECT submission, id, started FROM jobs
             WHERE state = 'claimed' AND started IS NOT NULL AND node = $1 ORDER BY started, id";
        let rows = tx.rows(running, values![node]).await?;
        let job = |row: &crate::db::Row| {
            Ok((SubmissionId(row.get("submission")?), JobId(row.get("id")?), Timestamp(row.get("started")?)))
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
                "node {name}: it is at job {job}\n\
                 hint: `tauto node drain {name} --reason TEXT`, and wait until the job is done"
            )));
        }
        tx.run("DELETE FROM node_samples WHERE node = $1", values![name]).await?;
        tx.run("DELETE FROM node_events WHERE node = $1", values![name]).await?;
        if tx.run("DELETE FROM nodes WHERE name = $1", values![name]).await? == 0 {
            return Err(Error::NotFound(format!("node {name}")));
        }
        tx.commit().await
    }
}
