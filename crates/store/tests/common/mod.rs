//! Databases to test with, and things to put into them.

#![allow(dead_code, unreachable_pub)] // Each test binary uses its part of this.

pub mod cluster;
pub mod samples;

use cluster::Cluster;
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};
use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use store::Store;
use tempfile::TempDir;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// A database of its own, empty at first; gone when dropped.
pub struct Database {
    pub engine: Engine,
    pub url: String,
    pub directory: TempDir,
}

/// Runs asynchronous code on several threads.
pub fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(work)
}

impl Database {
    pub fn sqlite() -> Database {
        let directory = TempDir::with_prefix("store-").expect("a directory");
        let url = directory.path().join("judge.db").display().to_string();
        Database { engine: Engine::Sqlite, url, directory }
    }

    pub fn postgres(cluster: &Cluster) -> Database {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("t{}", COUNT.fetch_add(1, Ordering::Relaxed));
        run(execute(&cluster.url("postgres"), &format!("CREATE DATABASE {name}")));
        let directory = TempDir::with_prefix("store-").expect("a directory");
        Database { engine: Engine::Postgres, url: cluster.url(&name), directory }
    }

    /// Another empty one beside it, of the same engine and on the same server.
    pub async fn another(&self) -> Database {
        match (self.engine, self.url.rsplit_once('/')) {
            (Engine::Postgres, Some((server, own))) => {
                self.execute(&format!("CREATE DATABASE {own}b")).await;
                let directory = TempDir::with_prefix("store-").expect("a directory");
                Database { engine: self.engine, url: format!("{server}/{own}b"), directory }
            }
            _ => Database::sqlite(),
        }
    }

    pub async fn open(&self) -> Store {
        Store::open(&self.url).await.expect("the database opens")
    }

    /// Empties it; nobody has it open.
    pub async fn clear(&self) {
        match self.engine {
            Engine::Sqlite => ["", "-wal", "-shm"].iter().for_each(|end| {
                let _ = std::fs::remove_file(format!("{}{end}", self.url));
            }),
            Engine::Postgres => self.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public").await,
        }
    }

    /// Runs statements behind the store's back.
    pub async fn execute(&self, sql: &str) {
        execute(&self.url, sql).await;
    }
}

/// Runs statements without a store.
pub async fn execute(url: &str, sql: &str) {
    let sql = AssertSqlSafe(sql.to_string());
    let done = if url.starts_with("postgres") {
        let mut connection = PgConnection::connect(url).await.expect("a connection");
        sqlx::raw_sql(sql).execute(&mut connection).await.map(drop)
    } else {
        let mut connection =
            SqliteConnection::connect(&format!("sqlite:{url}?mode=rwc")).await.expect("a connection");
        sqlx::raw_sql(sql).execute(&mut connection).await.map(drop)
    };
    done.expect("the statement runs");
}
