//! Jobs that go on with a round and for which nobody is there any more: the round ends with what there is.

use crate::db::{Row, values};
use crate::jobs::{columns, job};
use crate::judgements::make_stand;
use crate::queue::take_turn;
use crate::rounds::Ended;
use crate::{Job, JobId, JudgementId, Purpose, Result, Store, Timestamp, callbacks};

impl Store {
    /// Jobs that go on with a round and that nobody has begun, the oldest first; at most so many, from the one after `after` on.
    pub async fn continuing(&self, after: JobId, limit: u32) -> Result<Vec<Job>> {
        let mut tx = self.db.read().await?;
        let statement = concat!(
            "SELECT ",
            columns!(),
            " FROM jobs WHERE round IS NOT NULL AND id > $1 AND (state = 'queued' OR state = 'claimed' AND started IS NULL)
             ORDER BY id LIMIT $2"
        );
        tx.rows(statement, values![after, limit]).await?.iter().map(job).collect()
    }

    /// Ends a round whose last job nobody has begun: that is cancelled for this reason, and an earlier judgement of the round counts. Whether it
    /// was so; `false`: somebody has begun meanwhile, or there is nothing to end any more.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict) where the judgement is none of the round.
    pub async fn settle(&self, open: JobId, counts: JudgementId, why: &str, now: Timestamp) -> Result<bool> {
        let mut tx = self.db.write().await?;
        take_turn(&mut tx).await?;
        let lock = "UPDATE submissions SET judgements = judgements WHERE id = (SELECT submission FROM jobs WHERE id = $1)";
        tx.run(lock, values![open]).await?;
        let row: Option<Row> = tx
            .row(
                "UPDATE jobs SET state = 'judged', lease = NULL, cancelled = $2, finished = $3
                 WHERE id = $1 AND round IS NOT NULL AND (state = 'queued' OR state = 'claimed' AND started IS NULL)
                 RETURNING submission, purpose, round, version, author, urgency, rejudging, contest",
                values![open, why, now],
            )
            .await?;
        let Some(row) = row else { return Ok(false) };
        let ended = Ended::read(&row, open)?;
        make_stand(&mut tx, &ended, counts).await?;
        if ended.purpose == Purpose::Verdict {
            callbacks::verdict_is_there(&mut tx, ended.submission, now).await?;
        }
        tx.commit().await?;
        Ok(true)
    }
}
