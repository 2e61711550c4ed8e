//! Versions of the schema, and the way from one to the next.

use crate::db::{Database, Engine, Tx, values};
use crate::{Error, Result};
use sqlx::AssertSqlSafe;

/// The statements that lead from one version to the next, oldest first; the first makes version 1. Those that were
/// released are never changed. `{id}` stands for a column that numbers the rows, never twice the same.
pub(crate) const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/1.sql"),
    include_str!("../migrations/2.sql"),
    include_str!("../migrations/3.sql"),
    include_str!("../migrations/4.sql"),
    include_str!("../migrations/5.sql"),
    include_str!("../migrations/6.sql"),
    include_str!("../migrations/7.sql"),
];

/// The version of the schema this program works with.
pub const SCHEMA: i64 = MIGRATIONS.len() as i64;

/// Brings the schema up to the newest of these versions, all or nothing. Programs that start together wait for each
/// other.
pub(crate) async fn migrate(db: &Database, migrations: &[&str]) -> Result<()> {
    // A look first: an up-to-date database is then opened also where it cannot be written.
    let known = migrations.len() as i64;
    let found = found(db).await?;
    if found == known {
        return Ok(());
    }
    if found > known {
        return Err(Error::NewerSchema { place: db.place().to_string(), found, known });
    }
    let mut tx = db.write().await?;
    if db.engine() == Engine::Postgres {
        tx.run("SELECT pg_advisory_xact_lock(8388331904017852271)", []).await?;
    }
    let found = version(&mut tx, db.engine()).await?;
    if found == 0 {
        tx.script("CREATE TABLE IF NOT EXISTS schema_versions (version BIGINT PRIMARY KEY)").await?;
    }
    let steps = migrations.iter().zip(1i64..).filter(|(_, version)| *version > found);
    for (migration, version) in steps {
        tx.script(AssertSqlSafe(in_words_of(db.engine(), migration))).await?;
        tx.run("INSERT INTO schema_versions (version) VALUES ($1)", values![version]).await?;
    }
    tx.commit().await
}

/// The version of the schema that is there, 0 in an empty database.
pub(crate) async fn found(db: &Database) -> Result<i64> {
    version(&mut db.read().await?, db.engine()).await
}

fn in_words_of(engine: Engine, migration: &str) -> String {
    let id = match engine {
        Engine::Sqlite => "INTEGER PRIMARY KEY AUTOINCREMENT",
        Engine::Postgres => "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    };
    migration.replace("{id}", id)
}

async fn version(tx: &mut Tx, engine: Engine) -> Result<i64> {
    let tables = match engine {
        Engine::Sqlite => "SELECT name FROM sqlite_master WHERE type = 'table'",
        Engine::Postgres => {
            "SELECT CAST(tablename AS TEXT) AS name FROM pg_tables WHERE schemaname = current_schema()"
        }
    };
    let tables = tx.rows(tables, []).await?;
    let names = tables.iter().map(|row| row.get::<String>("name")).collect::<Result<Vec<_>>>()?;
    if names.iter().any(|name| name == "schema_versions") {
        let row = tx.one("SELECT COALESCE(MAX(version), 0) AS version FROM schema_versions", []).await?;
        return row.get("version");
    }
    match names.first() {
        None => Ok(0),
        Some(name) => {
            let why = format!(
                "it has a table {name} and none of ours: this is another program's database\n\
                 hint: name a database of its own with --database"
            );
            Err(Error::Connection { place: tx.place().to_string(), why })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "CREATE TABLE a (id {id}, n BIGINT); INSERT INTO a (n) VALUES (7);";
    const SECOND: &str = "CREATE TABLE b (n BIGINT); INSERT INTO b SELECT n + 1 FROM a;";
    const BROKEN: &str = "DROP TABLE a; CREATE TABLE c (n BIGINT); INSERT INTO nowhere VALUES (1);";

    /// Migrates an empty file by one list of migrations after the other; what became of each, and what is then there.
    fn after(lists: &[&[&str]]) -> (Vec<bool>, Vec<String>) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.db").display().to_string();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let db = Database::open(&path).await.expect("it opens");
            let mut done = Vec::new();
            for list in lists {
                done.push(migrate(&db, list).await.is_ok());
            }
            let mut tx = db.read().await.expect("it is read");
            let names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name";
            let mut there: Vec<String> =
                tx.rows(names, []).await.expect("names").iter().map(|row| row.get("name").expect("text")).collect();
            if there.iter().any(|name| name == "b") {
                let n: i64 = tx.one("SELECT n FROM b", []).await.expect("a row").get("n").expect("a number");
                there.push(n.to_string());
            }
            (done, there)
        })
    }

    #[test]
    fn each_step_is_done_once_and_whole() {
        let check = |lists: &[&[&str]], done: &[bool], there: &[&str]| {
            let found = after(lists);
            assert_eq!(found, (done.to_vec(), there.iter().map(|name| name.to_string()).collect()));
        };
        check(&[&[FIRST]], &[true], &["a", "schema_versions"]);
        check(&[&[FIRST], &[FIRST, SECOND]], &[true, true], &["a", "b", "schema_versions", "8"]);
        check(&[&[FIRST, SECOND], &[FIRST, SECOND]], &[true, true], &["a", "b", "schema_versions", "8"]);
        check(&[&[FIRST, SECOND], &[FIRST]], &[true, false], &["a", "b", "schema_versions", "8"]);
        // A step that fails leaves all as it was, the steps before it included.
        check(&[&[FIRST], &[FIRST, SECOND, BROKEN]], &[true, false], &["a", "schema_versions"]);
        check(&[&[BROKEN], &[FIRST]], &[false, true], &["a", "schema_versions"]);
    }
}
