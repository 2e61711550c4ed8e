//! Pools, and contests, which are bound to them. What a pool is, and how a contest is judged, are documents of those who schedule.

use crate::db::{Row, Tx, values};
use crate::queue::take_turn;
use crate::{ContestId, Error, Result, Store, Timestamp};
use serde_json::Value as Json;

/// A set of nodes.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Pool {
    /// Its name; no other pool has it.
    pub name: String,
    /// What it is.
    pub form: Json,
    /// When it was first set.
    pub created: Timestamp,
}

/// A contest to be set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewContest<'a> {
    /// Its name; no other contest has it.
    pub name: &'a str,
    /// The pool it is bound to: what confirms is judged there.
    pub pool: &'a str,
    /// The pool where everything else of it is judged; `None`: anywhere.
    pub usual: Option<&'a str>,
    /// The number of its jobs at a time; `None`: no bound.
    pub at_once: Option<u32>,
    /// How it is judged.
    pub policy: &'a Json,
}

/// A contest.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Contest {
    /// Its number.
    pub id: ContestId,
    /// Its name.
    pub name: String,
    /// The pool it is bound to.
    pub pool: String,
    /// The pool where its jobs wait that confirm nothing; `None`: anywhere.
    pub usual: Option<String>,
    /// At most so many of its jobs at a time.
    pub at_once: Option<u64>,
    /// How it is judged.
    pub policy: Json,
    /// When it was first set.
    pub created: Timestamp,
}

fn pool(row: &Row) -> Result<Pool> {
    Ok(Pool { name: row.get("name")?, form: row.json("form")?, created: Timestamp(row.get("created")?) })
}

fn contest(row: &Row) -> Result<Contest> {
    let bound = row.get::<Option<i64>>("at_once")?;
    Ok(Contest {
        id: ContestId(row.get("id")?),
        name: row.get("name")?,
        pool: row.get("pool")?,
        usual: row.get("usual")?,
        at_once: bound.map(|_| row.count("at_once")).transpose()?,
        policy: row.json("policy")?,
        created: Timestamp(row.get("created")?),
    })
}

impl Store {
    /// Sets a pool, new or not.
    pub async fn set_pool(&self, name: &str, form: &Json, now: Timestamp) -> Result<()> {
        let mut tx = self.db.write().await?;
        tx.run(
            "INSERT INTO pools (name, form, created) VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE SET form = excluded.form",
            values![name, form.to_string(), now],
        )
        .await?;
        tx.commit().await
    }

    /// Changes a pool that was read before; whether it did. `false`: somebody else has changed it since it was read.
    pub async fn change_pool(&self, read: &Pool, form: &Json) -> Result<bool> {
        let mut tx = self.db.write().await?;
        // As it is kept, since the same document can be written in several ways.
        let row = tx.row("SELECT form FROM pools WHERE name = $1", values![read.name.as_str()]).await?;
        let Some(row) = row.filter(|row| row.json("form").is_ok_and(|kept: Json| kept == read.form)) else {
            return Ok(false);
        };
        let kept: String = row.get("form")?;
        let changed = tx
            .run(
                "UPDATE pools SET form = $3 WHERE name = $1 AND form = $2",
                values![read.name.as_str(), kept, form.to_string()],
            )
            .await?;
        tx.commit().await?;
        Ok(changed > 0)
    }

    /// One pool.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn pool(&self, name: &str) -> Result<Pool> {
        let mut tx = self.db.read().await?;
        let row = tx.row("SELECT * FROM pools WHERE name = $1", values![name]).await?;
        pool(&row.ok_or_else(|| missing_pool(name))?)
    }

    /// All pools, by name.
    pub async fn pools(&self) -> Result<Vec<Pool>> {
        let mut tx = self.db.read().await?;
        tx.rows("SELECT * FROM pools ORDER BY name", []).await?.iter().map(pool).collect()
    }

    /// Removes a pool.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Conflict`] where a contest is bound to it, a node belongs to it or a job waits for it.
    pub async fn remove_pool(&self, name: &str) -> Result<()> {
        let uses = [
            (
                "contest",
                "SELECT name AS used_by FROM contests WHERE pool = $1 OR usual = $1 ORDER BY name LIMIT 1",
            ),
            ("node", "SELECT name AS used_by FROM nodes WHERE pool = $1 ORDER BY name LIMIT 1"),
            (
                "job",
                "SELECT CAST(id AS TEXT) AS used_by FROM jobs WHERE state <> 'judged' AND place = $1 ORDER BY id LIMIT 1",
            ),
        ];
        let mut tx = self.db.write().await?;
        take_turn(&mut tx).await?;
        for (what, used) in uses {
            if let Some(row) = tx.row(used, values![name]).await? {
                let user: String = row.get("used_by")?;
                return Err(in_use(name, &format!("{what} {user}")));
            }
        }
        let removed = tx.run("DELETE FROM pools WHERE name = $1", values![name]).await;
        let taken = || format!("pool {name}: a contest uses it; bind that to another pool first");
        if removed.map_err(|e| e.in_words(taken, || "a contest".into()))? == 0 {
            return Err(missing_pool(name));
        }
        tx.commit().await
    }

    /// Sets a contest, new or not. Where it is bound to another pool than before, its jobs that nobody has begun move there.
    ///
    /// # Errors
    /// [`Error::NotFound`] where a pool is not there.
    pub async fn set_contest(&self, new: &NewContest<'_>, now: Timestamp) -> Result<ContestId> {
        let mut tx = self.db.write().await?;
        take_turn(&mut tx).await?;
        let before = tx.row("SELECT * FROM contests WHERE name = $1", values![new.name]).await?;
        let row = tx
            .one(
                "INSERT INTO contests (name, pool, usual, at_once, policy, created) VALUES ($1, $2, $3, $4, $5, $6)
                 ON CONFLICT (name) DO UPDATE SET pool = excluded.pool, usual = excluded.usual,
                     at_once = excluded.at_once, policy = excluded.policy
                 RETURNING id",
                values![new.name, new.pool, new.usual, new.at_once, new.policy.to_string(), now],
            )
            .await
            .map_err(|e| {
                let pools = [Some(new.pool), new.usual.filter(|usual| *usual != new.pool)];
                let pools: Vec<&str> = pools.into_iter().flatten().collect();
                e.in_words(|| format!("contest {}", new.name), || format!("pool {}", pools.join(" or ")))
            })?;
        let id = ContestId(row.get("id")?);
        if let Some(before) = before.as_ref().map(contest).transpose()? {
            let usual = (before.usual.as_deref().unwrap_or(""), new.usual.unwrap_or(""));
            // Whoever begins one looks whether its time limit is there.
            let waits = "UPDATE jobs SET awaits = NULL WHERE awaits IS NOT NULL AND contest = $1";
            tx.run(waits, values![id]).await?;
            move_jobs(&mut tx, id, false, usual).await?;
            move_jobs(&mut tx, id, true, (&before.pool, new.pool)).await?;
        }
        tx.commit().await?;
        Ok(id)
    }

    /// All contests, newest first.
    pub async fn contests(&self) -> Result<Vec<Contest>> {
        let mut tx = self.db.read().await?;
        tx.rows("SELECT * FROM contests ORDER BY id DESC", []).await?.iter().map(contest).collect()
    }

    /// Removes a contest.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Conflict`] where something was submitted for it.
    pub async fn remove_contest(&self, name: &str) -> Result<()> {
        let mut tx = self.db.write().await?;
        take_turn(&mut tx).await?;
        let removed =
            tx.run("DELETE FROM contests WHERE name = $1", values![name]).await.map_err(|e| match e {
                Error::NotFound(_) => {
                    Error::Conflict(format!("contest {name}: submissions belong to it, so it stays"))
                }
                other => other,
            })?;
        match removed {
            0 => Err(Error::NotFound(format!("contest {name}"))),
            _ => tx.commit().await,
        }
    }

    /// The contest of this name.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn contest(&self, name: &str) -> Result<Contest> {
        let mut tx = self.db.read().await?;
        let row = tx.row("SELECT * FROM contests WHERE name = $1", values![name]).await?;
        contest(&row.ok_or_else(|| Error::NotFound(format!("contest {name}")))?)
    }

    /// The contest of this number.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn contest_by_id(&self, id: ContestId) -> Result<Contest> {
        let mut tx = self.db.read().await?;
        let row = tx.row("SELECT * FROM contests WHERE id = $1", values![id]).await?;
        contest(&row.ok_or_else(|| Error::NotFound(format!("contest {id}")))?)
    }
}

/// Moves those jobs of a contest that nobody has begun, and that confirm or do not, to another place; tickets for them are good for nothing
/// then. The row of [`take_turn`] is held.
async fn move_jobs(tx: &mut Tx, contest: ContestId, confirm: bool, (from, to): (&str, &str)) -> Result<()> {
    if from == to {
        return Ok(());
    }
    tx.run(
        "UPDATE jobs SET place = NULLIF($4, ''), state = 'queued', worker = NULL, lease = NULL, pool = NULL WHERE id IN
         (SELECT id FROM jobs WHERE state = 'queued' AND awaits IS NULL AND COALESCE(place, '') = $3 AND urgency BETWEEN 0 AND 3
              AND contest = $1 AND confirm = $2
          UNION ALL
          SELECT id FROM jobs WHERE state = 'claimed' AND contest = $1 AND started IS NULL AND COALESCE(place, '') = $3
              AND confirm = $2)",
        values![contest, confirm, from, to],
    )
    .await?;
    // Their tickets were drawn in the old line: whoever comes now draws a higher one.
    tx.run(
        "INSERT INTO contest_turns (place, urgency, contest, tag, served, served_again)
         SELECT $3, urgency, contest, NULL, MAX(served), MAX(served_again)
         FROM contest_turns WHERE contest = $1 AND place IN ($2, $3) GROUP BY urgency, contest
         ON CONFLICT (place, urgency, contest) DO UPDATE SET served = excluded.served, served_again = excluded.served_again",
        values![contest, from, to],
    )
    .await
    .map(drop)
}

/// The contest, and where its jobs wait that begin a round; that stays so until the end of the transaction.
pub(crate) async fn usual(
    tx: &mut Tx,
    contest: Option<ContestId>,
) -> Result<Option<(ContestId, Option<String>)>> {
    let Some(id) = contest else { return Ok(None) };
    // It is not bound to another pool before its job is there to be moved.
    let usual = format!("SELECT usual FROM contests WHERE id = $1{}", tx.for_share());
    let row = tx.row(sqlx::AssertSqlSafe(usual), values![id]).await?;
    let row = row.ok_or_else(|| Error::NotFound(format!("contest {id}")))?;
    Ok(Some((id, row.get("usual")?)))
}

fn missing_pool(name: &str) -> Error {
    Error::NotFound(format!("pool {name}"))
}

fn in_use(pool: &str, user: &str) -> Error {
    Error::Conflict(format!("pool {pool}: {user} uses it; move that to another pool first"))
}
