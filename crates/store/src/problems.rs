//! Problems and their versions. A version is one package, and is never changed.

use crate::db::{Row, Tx, values};
use crate::{Error, Hash, ProblemId, Result, Store, Timestamp, UserId, VersionId, blobs};

/// A problem.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// Its number.
    pub id: ProblemId,
    /// Its short name, such as `sieve`; no other problem has it.
    pub name: String,
    /// Its title, of the newest version.
    pub title: String,
    /// When its first version came.
    pub created: Timestamp,
    /// What it is judged by.
    pub newest: Version,
}

/// One version of a problem.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Version {
    /// Its number among all versions of all problems.
    pub id: VersionId,
    /// Its problem.
    pub problem: ProblemId,
    /// 1 for the first version of a problem.
    pub number: u32,
    /// The package, to be read with [`Store::blob`].
    pub package: Hash,
    /// Who handed it in.
    pub author: Option<UserId>,
    /// When.
    pub created: Timestamp,
    /// Whether it states its time limit; `None`: nobody has looked ([`Store::set_states_limit`]).
    pub states_limit: Option<bool>,
}

/// A package to be kept as the newest version of a problem.
#[derive(Clone, Copy, Debug)]
pub struct NewVersion<'a> {
    /// The problem's short name. A problem of this name is made where there is none.
    pub name: &'a str,
    /// The problem's title from now on.
    pub title: &'a str,
    /// The package, as it was submitted.
    pub package: &'a [u8],
    /// Who hands it in.
    pub author: Option<UserId>,
    /// When.
    pub created: Timestamp,
}

/// A statement that reads versions, with more columns before them.
macro_rules! versions {
    ($columns:literal, $rest:expr) => {
        concat!(
            "SELECT ",
            $columns,
            " v.id, v.problem, v.number, v.package, v.author, v.created, v.stated ",
            $rest
        )
    };
}

/// A statement that reads problems with their newest version.
macro_rules! problems {
    ($rest:literal) => {
        versions!(
            "p.name, p.title, p.created AS problem_created,",
            concat!(
                "FROM problems p JOIN problem_versions v ON v.problem = p.id AND v.number =
                 (SELECT MAX(number) FROM problem_versions WHERE problem = p.id) ",
                $rest
            )
        )
    };
}

const VERSIONS_OF_PROBLEM: &str =
    versions!("", "FROM problem_versions v WHERE v.problem = $1 ORDER BY v.number DESC");

fn version(row: &Row) -> Result<Version> {
    let number = row.get::<i64>("number")?;
    Ok(Version {
        id: VersionId(row.get("id")?),
        problem: ProblemId(row.get("problem")?),
        number: u32::try_from(number).map_err(|_| row.damaged(format!("version number {number}")))?,
        package: row.parse("package", str::parse)?,
        author: row.get::<Option<i64>>("author")?.map(UserId),
        created: Timestamp(row.get("created")?),
        states_limit: row.get::<Option<i64>>("stated")?.map(|stated| stated == 1),
    })
}

fn problem(row: &Row) -> Result<Problem> {
    Ok(Problem {
        id: ProblemId(row.get("problem")?),
        name: row.get("name")?,
        title: row.get("title")?,
        created: Timestamp(row.get("problem_created")?),
        newest: version(row)?,
    })
}

impl Store {
    /// Adds a version to a problem. Where the newest version is this very package, nothing is added and it is returned.
    pub async fn add_version(&self, new: NewVersion<'_>) -> Result<Version> {
        let package = Hash::digest(new.package);
        let mut tx = self.db.write().await?;
        // Holds the problem's row, so that versions are added one after the other.
        let row = tx
            .one(
                "INSERT INTO problems (name, title, created) VALUES ($1, $2, $3)
                 ON CONFLICT (name) DO UPDATE SET title = excluded.title RETURNING id",
                values![new.name, new.title, new.created],
            )
            .await?;
        let problem = ProblemId(row.get("id")?);
        let newest = newest(&mut tx, problem).await?;
        if let Some(newest) = newest.as_ref().filter(|newest| newest.package == package) {
            let same = newest.clone();
            tx.commit().await?;
            return Ok(same);
        }
        blobs::keep(&mut tx, &package, new.package).await?;
        let number = newest.map_or(1, |newest| newest.number + 1);
        let author = || format!("user {}", new.author.map_or(0, |author| author.0));
        let row = tx
            .one(
                "INSERT INTO problem_versions (problem, number, package, author, created)
                 VALUES ($1, $2, $3, $4, $5) RETURNING id",
                values![problem, number, &package, new.author, new.created],
            )
            .await
            .map_err(|e| e.in_words(|| "this version is there".into(), author))?;
        let id = VersionId(row.get("id")?);
        tx.commit().await?;
        let (author, created) = (new.author, new.created);
        Ok(Version { id, problem, number, package, author, created, states_limit: None })
    }

    /// All problems, by name.
    pub async fn problems(&self) -> Result<Vec<Problem>> {
        let mut tx = self.db.read().await?;
        let rows = tx.rows(problems!("ORDER BY p.name"), []).await?;
        rows.iter().map(problem).collect()
    }

    /// The problem of this name.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn problem(&self, name: &str) -> Result<Problem> {
        let mut tx = self.db.read().await?;
        let row = tx.row(problems!("WHERE p.name = $1"), values![name]).await?;
        problem(&row.ok_or_else(|| Error::NotFound(format!("problem {name}")))?)
    }

    /// All versions of a problem, newest first.
    pub async fn versions(&self, problem: ProblemId) -> Result<Vec<Version>> {
        let mut tx = self.db.read().await?;
        let rows = tx.rows(VERSIONS_OF_PROBLEM, values![problem]).await?;
        rows.iter().map(version).collect()
    }

    /// One version.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn version(&self, id: VersionId) -> Result<Version> {
        let mut tx = self.db.read().await?;
        let row = tx.row(versions!("", "FROM problem_versions v WHERE v.id = $1"), values![id]).await?;
        version(&row.ok_or_else(|| Error::NotFound(format!("problem version {id}")))?)
    }
}

async fn newest(tx: &mut Tx, problem: ProblemId) -> Result<Option<Version>> {
    let rows = tx.rows(VERSIONS_OF_PROBLEM, values![problem]).await?;
    rows.first().map(version).transpose()
}
