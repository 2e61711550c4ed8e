//! What is deleted, and what of it stays.

use crate::db::{Row, Tx, values};
use crate::submissions::missing;
use crate::{Error, Result, Store, SubmissionId, Timestamp, blobs};

/// What retention has deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Submissions whose sources, runs and outputs are gone.
    pub submissions: u64,
    /// Contents nothing refers to any more.
    pub contents: u64,
    /// Samples of nodes.
    pub samples: u64,
    /// What happened to nodes.
    pub events: u64,
}

/// Everything that refers to a submission `$1`, in an order in which it can be deleted.
const EVERYTHING: [&str; 9] = [
    "DELETE FROM callbacks WHERE submission = $1",
    "DELETE FROM rejudged WHERE submission = $1",
    "DELETE FROM outputs WHERE judgement IN (SELECT id FROM judgements WHERE submission = $1)",
    "DELETE FROM runs WHERE judgement IN (SELECT id FROM judgements WHERE submission = $1)",
    "DELETE FROM test_results WHERE judgement IN (SELECT id FROM judgements WHERE submission = $1)",
    "DELETE FROM judgements WHERE submission = $1",
    "DELETE FROM jobs WHERE submission = $1",
    "DELETE FROM files WHERE submission = $1",
    "DELETE FROM submissions WHERE id = $1",
];

impl Forgotten {
    /// Whether there was nothing to delete any more, but for contents, which go with what refers to them.
    pub const fn is_nothing(&self) -> bool {
        self.submissions == 0 && self.samples == 0 && self.events == 0
    }
}

impl Store {
    /// Deletes the sources, runs, outputs and ended callbacks of submissions submitted before `before`, of at most `most` of them,
    /// oldest first; those that are still to be judged are left alone. Their judgements stay, test by test. Deletes also at most
    /// `most` samples of nodes from before then, and as many events. To be called until nothing is left, so that nobody waits long.
    pub async fn forget(&self, before: Timestamp, most: u32, now: Timestamp) -> Result<Forgotten> {
        let mut tx = self.db.write().await?;
        let rows = tx
            .rows(
                "SELECT id FROM submissions WHERE forgotten IS NULL AND created < $1
                 AND NOT EXISTS (SELECT 1 FROM jobs WHERE submission = submissions.id AND state <> 'judged')
                 ORDER BY created, id LIMIT $2",
                values![before, most],
            )
            .await?;
        let mut done = Forgotten::default();
        let mut hashes = Vec::new();
        for row in &rows {
            if let Some(files) = forget_one(&mut tx, SubmissionId(row.get("id")?), now).await? {
                done.submissions += 1;
                hashes.extend(files);
            }
        }
        done.contents = self.drop_contents(&mut tx, hashes).await?;
        let samples = "DELETE FROM node_samples WHERE id IN
                       (SELECT id FROM node_samples WHERE at < $1 ORDER BY at LIMIT $2)";
        done.samples = tx.run(samples, values![before, most]).await?;
        let events = "DELETE FROM node_events WHERE id IN
                      (SELECT id FROM node_events WHERE at < $1 ORDER BY id LIMIT $2)";
        done.events = tx.run(events, values![before, most]).await?;
        tx.commit().await?;
        Ok(done)
    }

    /// Deletes a submission and everything that came of it.
    ///
    /// # Errors
    /// [`Error::NotFound`], and [`Error::Conflict`] while a judgement of it is asked for that is not there yet.
    pub async fn delete_submission(&self, id: SubmissionId) -> Result<()> {
        let mut tx = self.db.write().await?;
        if !lock(&mut tx, id).await? {
            return Err(missing(id));
        }
        let open = "SELECT id FROM jobs WHERE submission = $1 AND state <> 'judged' LIMIT 1";
        if let Some(job) = tx.row(open, values![id]).await? {
            let job = job.get::<i64>("id")?;
            let why = format!("submission {id}: job {job} is still to be judged\nhint: delete it afterwards");
            return Err(Error::Conflict(why));
        }
        let files = tx.rows("SELECT hash FROM files WHERE submission = $1", values![id]).await?;
        for statement in EVERYTHING {
            tx.run(statement, values![id]).await?;
        }
        self.drop_contents(&mut tx, hashes(&files)?).await?;
        tx.commit().await
    }

    /// Deletes those of these contents that nothing refers to any more.
    async fn drop_contents(&self, tx: &mut Tx, mut hashes: Vec<String>) -> Result<u64> {
        hashes.sort();
        hashes.dedup();
        let mut dropped = 0;
        for hash in &hashes {
            dropped += blobs::drop_unused(tx, hash).await.map_err(|e| self.in_use(e, hash))?;
        }
        Ok(dropped)
    }

    /// Somebody began to refer to it at this moment.
    fn in_use(&self, error: Error, hash: &str) -> Error {
        match error {
            Error::NotFound(_) => Error::Busy {
                place: self.place().to_string(),
                why: format!("content {hash} is submitted again"),
            },
            other => other,
        }
    }
}

/// Locks the row of a submission, where it is there: what is looked at afterwards stays.
async fn lock(tx: &mut Tx, id: SubmissionId) -> Result<bool> {
    let locked = tx.run("UPDATE submissions SET judgements = judgements WHERE id = $1", values![id]).await?;
    Ok(locked > 0)
}

fn hashes(rows: &[Row]) -> Result<Vec<String>> {
    rows.iter().map(|row| row.get("hash")).collect()
}

/// Deletes sources, runs and outputs of one submission; the hashes of its files, or `None` when it is to be judged again after all.
async fn forget_one(tx: &mut Tx, id: SubmissionId, now: Timestamp) -> Result<Option<Vec<String>>> {
    // A rejudge that came in between is seen.
    lock(tx, id).await?;
    let forgotten = tx
        .run(
            "UPDATE submissions SET forgotten = $1 WHERE id = $2 AND forgotten IS NULL
             AND NOT EXISTS (SELECT 1 FROM jobs WHERE submission = $2 AND state <> 'judged')",
            values![now, id],
        )
        .await?;
    if forgotten == 0 {
        return Ok(None);
    }
    let files = tx.rows("DELETE FROM files WHERE submission = $1 RETURNING hash", values![id]).await?;
    for statement in [
        "DELETE FROM runs WHERE judgement IN (SELECT id FROM judgements WHERE submission = $1)",
        "DELETE FROM outputs WHERE judgement IN (SELECT id FROM judgements WHERE submission = $1)",
        "DELETE FROM callbacks WHERE submission = $1 AND state IN ('done', 'failed')",
    ] {
        tx.run(statement, values![id]).await?;
    }
    hashes(&files).map(Some)
}
