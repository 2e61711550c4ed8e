//! What an operator does: counts, backup, and looking whether all is well.

use crate::db::{Engine, Tx, values};
use crate::{Error, Hash, Result, Store, Timestamp, Urgency};
use model::Verdict;
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// How much there is of everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Submissions.
    pub submissions: u64,
    /// Jobs of contests that somebody waits for.
    pub contest: u64,
    /// Jobs that judge again what counts in a contest.
    pub rejudge: u64,
    /// Other jobs that somebody waits for.
    pub live: u64,
    /// Jobs that wait in the background.
    pub background: u64,
    /// Jobs a worker has.
    pub claimed: u64,
    /// When the job that waits longest was asked for.
    pub oldest: Option<Timestamp>,
    /// Submissions by their current verdict.
    pub verdicts: Vec<(Verdict, u64)>,
    /// Bytes of packages and sources.
    pub content_bytes: u64,
}

/// Rules that hold between the tables, each as a statement that finds what breaks it, and what to say of that.
const RULES: &[(&str, &str)] = &[
    (
        "submission {}: no job asks for its verdict",
        "SELECT s.id FROM submissions s WHERE NOT EXISTS
         (SELECT 1 FROM jobs WHERE submission = s.id AND purpose = 'verdict') ORDER BY s.id LIMIT 20",
    ),
    (
        "submission {}: judged, and no judgement is current",
        "SELECT s.id FROM submissions s
         WHERE EXISTS (SELECT 1 FROM judgements j JOIN jobs ON jobs.id = j.job
                       WHERE j.submission = s.id AND j.stands = 1 AND jobs.purpose = 'verdict')
         AND NOT EXISTS (SELECT 1 FROM judgements WHERE submission = s.id AND current = 1) ORDER BY s.id LIMIT 20",
    ),
    (
        "submission {}: it counts other judgements than there are",
        "SELECT s.id FROM submissions s WHERE s.judgements <>
         (SELECT COUNT(*) FROM judgements WHERE submission = s.id) ORDER BY s.id LIMIT 20",
    ),
    (
        "submission {}: its sources were deleted, and are there",
        "SELECT s.id FROM submissions s WHERE s.forgotten IS NOT NULL
         AND EXISTS (SELECT 1 FROM files WHERE submission = s.id) ORDER BY s.id LIMIT 20",
    ),
    (
        "job {}: judged, and without a judgement",
        "SELECT id FROM jobs WHERE state = 'judged' AND cancelled IS NULL
         AND NOT EXISTS (SELECT 1 FROM judgements WHERE job = jobs.id) ORDER BY id LIMIT 20",
    ),
    (
        "judgement {}: its job is not judged, or of another submission",
        "SELECT j.id FROM judgements j JOIN jobs ON jobs.id = j.job
         WHERE jobs.state <> 'judged' OR jobs.cancelled IS NOT NULL OR jobs.submission <> j.submission ORDER BY j.id LIMIT 20",
    ),
    (
        "judgement {}: a trial is current",
        "SELECT j.id FROM judgements j JOIN jobs ON jobs.id = j.job
         WHERE j.current = 1 AND jobs.purpose <> 'verdict' ORDER BY j.id LIMIT 20",
    ),
    (
        "judgement {}: current, though a later one should be",
        "SELECT c.id FROM judgements c JOIN jobs o ON o.id = c.job WHERE c.current = 1 AND EXISTS
         (SELECT 1 FROM judgements j JOIN jobs ON jobs.id = j.job
          WHERE j.submission = c.submission AND jobs.purpose = 'verdict' AND j.stands = 1
          AND ((COALESCE(jobs.round, jobs.id) > COALESCE(o.round, o.id) AND (j.verdict <> 'JE' OR c.verdict = 'JE'))
               OR (j.verdict <> 'JE' AND c.verdict = 'JE')))
         ORDER BY c.id LIMIT 20",
    ),
    (
        "judgement {}: current, and its round came to something else or to nothing",
        "SELECT id FROM judgements WHERE current = 1 AND stands = 0 ORDER BY id LIMIT 20",
    ),
    (
        "job {}: its round came to several judgements",
        "SELECT COALESCE(jobs.round, jobs.id) AS id FROM judgements j JOIN jobs ON jobs.id = j.job WHERE j.stands = 1
         GROUP BY COALESCE(jobs.round, jobs.id) HAVING COUNT(*) > 1 ORDER BY 1 LIMIT 20",
    ),
    (
        "job {}: of its round several jobs are open, or one is though the round is at its end",
        "SELECT r.id FROM jobs r WHERE r.round IS NULL AND
         (SELECT COUNT(*) FROM jobs WHERE (id = r.id OR round = r.id) AND state <> 'judged') +
         (SELECT COUNT(*) FROM judgements j JOIN jobs ON jobs.id = j.job
          WHERE (jobs.id = r.id OR jobs.round = r.id) AND jobs.state = 'judged' AND j.stands = 1) > 1 ORDER BY r.id LIMIT 20",
    ),
    (
        "job {}: its round came to nothing, and nothing of it is open or was cancelled",
        "SELECT r.id FROM jobs r WHERE r.round IS NULL AND EXISTS (SELECT 1 FROM judgements WHERE job = r.id) AND NOT EXISTS
         (SELECT 1 FROM jobs WHERE (id = r.id OR round = r.id) AND (state <> 'judged' OR cancelled IS NOT NULL))
         AND NOT EXISTS (SELECT 1 FROM judgements j JOIN jobs ON jobs.id = j.job
          WHERE (jobs.id = r.id OR jobs.round = r.id) AND j.stands = 1) ORDER BY r.id LIMIT 20",
    ),
    (
        "job {}: of another submission or purpose than the first of its round",
        "SELECT jobs.id FROM jobs JOIN jobs r ON r.id = jobs.round
         WHERE jobs.submission <> r.submission OR jobs.purpose <> r.purpose OR r.round IS NOT NULL ORDER BY jobs.id LIMIT 20",
    ),
    (
        "job {}: judged, or being judged, in another pool than it must be",
        "SELECT id FROM jobs WHERE place IS NOT NULL AND cancelled IS NULL AND state <> 'queued'
         AND (pool IS NULL OR pool <> place) ORDER BY id LIMIT 20",
    ),
    (
        "job {}: judged on a node that must not do it",
        "SELECT id FROM jobs WHERE not_on IS NOT NULL AND node IS NOT NULL
         AND REPLACE(not_on, '\"' || node || '\"', '') <> not_on ORDER BY id LIMIT 20",
    ),
    (
        "judgement {}: its runs are missing",
        "SELECT j.id FROM judgements j JOIN submissions s ON s.id = j.submission WHERE s.forgotten IS NULL
         AND NOT EXISTS (SELECT 1 FROM runs WHERE judgement = j.id) ORDER BY j.id LIMIT 20",
    ),
    (
        "judgement {}: its output was deleted, and is there",
        "SELECT o.judgement AS id FROM outputs o WHERE NOT EXISTS
         (SELECT 1 FROM runs WHERE judgement = o.judgement) ORDER BY o.judgement LIMIT 20",
    ),
    (
        "callback {}: it waits for a verdict that is there, or does not wait for one that is not",
        "SELECT c.id FROM callbacks c WHERE (c.state = 'waiting') =
         EXISTS (SELECT 1 FROM judgements WHERE submission = c.submission AND current = 1) ORDER BY c.id LIMIT 20",
    ),
    (
        "job {}: its rejudging does not name its submission",
        "SELECT jobs.id FROM jobs WHERE rejudging IS NOT NULL AND NOT EXISTS
         (SELECT 1 FROM rejudged r WHERE r.rejudging = jobs.rejudging AND r.submission = jobs.submission)
         ORDER BY jobs.id LIMIT 20",
    ),
];

impl Store {
    /// Counts, all of one moment.
    pub async fn counts(&self) -> Result<Counts> {
        let mut tx = self.db.read().await?;
        let mut counts = Counts {
            submissions: tx
                .one("SELECT COUNT(*) AS n FROM submissions WHERE origin <> 'limits'", [])
                .await?
                .count("n")?,
            claimed: tx
                .one("SELECT COUNT(*) AS n FROM jobs WHERE state = 'claimed'", [])
                .await?
                .count("n")?,
            ..Counts::default()
        };
        let waiting = "SELECT urgency, COUNT(*) AS n, MIN(created) AS oldest FROM jobs WHERE state = 'queued' GROUP BY urgency";
        for row in tx.rows(waiting, []).await? {
            let n = row.count("n")?;
            match crate::jobs::urgency(&row)? {
                Urgency::Contest => counts.contest = n,
                Urgency::Rejudge => counts.rejudge = n,
                Urgency::Live => counts.live = n,
                Urgency::Background => counts.background = n,
            }
            let oldest = Timestamp(row.get("oldest")?);
            counts.oldest = Some(counts.oldest.map_or(oldest, |known| known.min(oldest)));
        }
        let verdicts = "SELECT verdict, COUNT(*) AS n FROM judgements WHERE current = 1 GROUP BY verdict ORDER BY verdict";
        for row in tx.rows(verdicts, []).await? {
            counts.verdicts.push((row.parse("verdict", str::parse)?, row.count("n")?));
        }
        let content = "SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) AS n FROM blobs";
        counts.content_bytes = tx.one(content, []).await?.count("n")?;
        Ok(counts)
    }

    /// Copies the database, as it is at this moment, to a new file, which is on disk when this returns. Work goes on meanwhile.
    /// The copy is a database like any other, and is readable by its owner alone.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for PostgreSQL, which has its own tool; [`Error::Conflict`] where the file is there.
    pub async fn backup(&self, to: &Path) -> Result<()> {
        if self.db.engine() == Engine::Postgres {
            let place = self.place();
            return Err(Error::Unsupported(format!(
                "{place}: PostgreSQL has a tool of its own for backups\n\
                 hint: back it up with pg_dump --format=custom"
            )));
        }
        let partial = PathBuf::from(format!("{}.partial", to.display()));
        let fails = |what: &Path, error: io::Error| {
            Error::of_file(&what.display().to_string(), "writing the backup", &error)
        };
        if fs::exists(to).map_err(|e| fails(to, e))? {
            return Err(Error::Conflict(format!(
                "{}: a file is there\nhint: name another file",
                to.display()
            )));
        }
        match fs::remove_file(&partial) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fails(&partial, error)),
            _ => {}
        }
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial);
        made.map_err(|e| fails(&partial, e))?;
        let copied = self.db.copy_to(&partial).await;
        let kept = match copied {
            Ok(()) => {
                let (from, name) = (partial.clone(), to.to_path_buf());
                let kept = tokio::task::spawn_blocking(move || keep_as(&from, &name)).await;
                kept.unwrap_or_else(|e| Err(io::Error::other(e))).map_err(|e| fails(to, e))
            }
            Err(error) => Err(error),
        };
        if kept.is_err() {
            // What is left of it is of no use, and the error that made it so is the one to tell.
            drop(fs::remove_file(&partial));
        }
        kept
    }

    /// Everything that is not as it should be, in words; nothing when all is well. Reads all contents, which takes a while.
    pub async fn check(&self) -> Result<Vec<String>> {
        let mut tx = self.db.read().await?;
        let mut wrong = Vec::new();
        if self.db.engine() == Engine::Sqlite {
            for row in tx.rows("PRAGMA integrity_check(20)", []).await? {
                let line: String = row.get("integrity_check")?;
                wrong.extend((line != "ok").then_some(line));
            }
            for row in tx.rows("PRAGMA foreign_key_check", []).await? {
                let (table, parent): (String, String) = (row.get("table")?, row.get("parent")?);
                wrong.push(format!("table {table}: a row refers to one of {parent} that is not there"));
            }
        }
        for (words, statement) in RULES {
            let rows = tx.rows(*statement, []).await?;
            let ids = rows.iter().map(|row| row.get::<i64>("id")).collect::<Result<Vec<_>>>()?;
            wrong.extend(ids.into_iter().map(|id| words.replace("{}", &id.to_string())));
        }
        for row in tx.rows("SELECT hash FROM blobs ORDER BY hash", []).await? {
            let hash: String = row.get("hash")?;
            if content(&mut tx, &hash).await?.as_str() != hash {
                wrong.push(format!("content {hash}: it has changed"));
            }
        }
        Ok(wrong)
    }
}

/// Hashes what is kept under this name, piece by piece.
async fn content(tx: &mut Tx, hash: &str) -> Result<Hash> {
    let mut hasher = Sha256::new();
    for piece in 0u32.. {
        let row = tx
            .row("SELECT bytes FROM blob_pieces WHERE hash = $1 AND piece = $2", values![hash, piece])
            .await?;
        let Some(row) = row else { break };
        hasher.update(row.get::<Vec<u8>>("bytes")?);
    }
    Ok(Hash::finish(hasher))
}

/// Makes the copy durable, and only then known by its name, which must be free.
fn keep_as(partial: &Path, to: &Path) -> io::Result<()> {
    File::open(partial)?.sync_all()?;
    fs::hard_link(partial, to)?;
    fs::remove_file(partial)?;
    let directory = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}
