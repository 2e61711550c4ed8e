//! Versions of the schema, and the way from one to the next.

use crate::db::{Database, Engine, Tx, values};
use crate::{Error, Result};
use sqlx::AssertSqlSafe;

/// The statements that lead from one version to the next, oldest first; the first makes version 1. Those that were
/// released are never changed. `{id}` stands for a column that numbers the rows, never twice the same.
pub(crate) const MIGRATIONS: &[&str] = &[include_str!("../migrations/1.sql")];

/// The version of the schema this program works with.
pub const SCHEMA: i64 = MIGRATIONS.len() as i64;

/// Brings the schema up to the newest of these versions, all or nothing. Programs that start together wait for each
/// other.
pub(crate) async fn migrate(db: &Database, migrations: &[&str]) -> Result<()> {
    // A look first: an up-to-date database is then opened also where it cannot be written.
    let known = migrations.len() as i64;
    let mut tx = db.read().await?;
    let found = version(&mut tx, db.engine()).await?;
    drop(tx);
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

fn in_words_of(engine: Engine, migration: &str) -> String {
    let id = match engine {
        Engine::Sqlite => "INTEGER PRIMARY KEY AUTOINCREMENT",
        Engine::Postgres => "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    };
    migration.replace("{id}", id)
}

/// The version of the schema that is there, 0 in an empty database.
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
            let why = format!("it has a table {name} and none of ours: this is another program's database");
            Err(Error::Connection { place: tx.place().to_string(), why })
        }
    }
}
