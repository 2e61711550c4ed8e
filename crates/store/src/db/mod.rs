//! A thin layer over both drivers, so that everything above it is written once: `$1` parameters, rows read by name, and
//! transactions. What the databases do differently is in this module and in [`crate::schema`]'s few words.

mod group;
mod open;
mod value;

pub(crate) use open::file_of;
pub(crate) use value::{Row, Value, numbered, values};

use crate::{Error, Result};
use group::{Line, Member};
pub(crate) use open::PATIENCE;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{PgPool, Postgres, SqlSafeStr, SqlStr, Sqlite, SqlitePool, Transaction};
use std::pin::Pin;
use std::sync::Arc;

/// An operation of the database. Boxed, because the compiler checks many times that each handler's future is `Send`. Without the box, each check
/// walks through the drivers' futures, which took a third of the server's build time.
type Step<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// An open database.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    pools: Pools,
    place: Arc<str>,
}

#[derive(Clone, Debug)]
enum Pools {
    Sqlite { writers: Line, readers: SqlitePool, options: Box<SqliteConnectOptions> },
    Postgres(PgPool),
}

/// Which database it is, for the few words that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

/// An open transaction; rolled back when dropped.
pub(crate) struct Tx {
    inner: Inner,
    place: Arc<str>,
}

enum Inner {
    /// Of one who reads.
    Sqlite(Transaction<'static, Sqlite>),
    /// Of one who writes.
    Member(Member),
    Postgres(Transaction<'static, Postgres>),
}

impl Database {
    pub(crate) fn engine(&self) -> Engine {
        match self.pools {
            Pools::Sqlite { .. } => Engine::Sqlite,
            Pools::Postgres(_) => Engine::Postgres,
        }
    }

    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    fn fails(&self, error: sqlx::Error) -> Error {
        Error::at(&self.place, error)
    }

    /// Begins to write. In PostgreSQL at READ COMMITTED: what must not change is locked by updating it first.
    pub(crate) fn write(&self) -> Step<'_, Tx> {
        self.write_after("BEGIN")
    }

    /// Begins to write what may be undone where the database's machine fails at once after it: PostgreSQL does not wait for the disk,
    /// and loses what was committed in the last 0.6 s at most, in order (its manual, "Asynchronous Commit"). SQLite waits all the same.
    pub(crate) fn write_fleetingly(&self) -> Step<'_, Tx> {
        self.write_after("BEGIN; SET LOCAL synchronous_commit TO OFF")
    }

    fn write_after(&self, begin: &'static str) -> Step<'_, Tx> {
        Box::pin(async move {
            let inner = match &self.pools {
                Pools::Sqlite { writers, .. } => Inner::Member(writers.begin(PATIENCE, &self.place).await?),
                Pools::Postgres(pool) => {
                    Inner::Postgres(pool.begin_with(begin).await.map_err(|e| self.fails(e))?)
                }
            };
            Ok(Tx { inner, place: Arc::clone(&self.place) })
        })
    }

    /// Begins to read one unchanging state.
    pub(crate) fn read(&self) -> Step<'_, Tx> {
        const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        Box::pin(async move {
            let inner = match &self.pools {
                Pools::Sqlite { readers, .. } => readers.begin().await.map(Inner::Sqlite),
                Pools::Postgres(pool) => pool.begin_with(BEGIN).await.map(Inner::Postgres),
            };
            Ok(Tx { inner: inner.map_err(|e| self.fails(e))?, place: Arc::clone(&self.place) })
        })
    }

    pub(crate) async fn close(&self) {
        match &self.pools {
            Pools::Sqlite { writers, readers, .. } => {
                readers.close().await;
                writers.close().await;
            }
            Pools::Postgres(pool) => pool.close().await,
        }
    }
}

/// The query with its arguments bound, for either driver.
macro_rules! bound {
    ($sql:expr, $values:expr) => {{
        let mut query = sqlx::query($sql);
        for value in $values {
            query = match value {
                Value::Int(v) => query.bind(v),
                Value::Real(v) => query.bind(v),
                Value::Text(v) => query.bind(v),
                Value::Bytes(v) => query.bind(v),
            };
        }
        query
    }};
}

/// Runs a statement with its arguments by a method of the driver, on whichever connection it is.
macro_rules! by {
    ($method:ident, $tx:expr, $sql:expr, $values:expr, $row:ident => $sqlite:expr, $postgres:expr) => {
        match &mut $tx.inner {
            Inner::Sqlite(tx) => bound!($sql, $values).$method(&mut **tx).await.map(|$row| $sqlite),
            Inner::Member(tx) => match tx.connection() {
                Ok(connection) => bound!($sql, $values).$method(connection).await.map(|$row| $sqlite),
                Err(closed) => Err(closed),
            },
            Inner::Postgres(tx) => bound!($sql, $values).$method(&mut **tx).await.map(|$row| $postgres),
        }
    };
}

impl Tx {
    fn fails(&mut self, error: sqlx::Error) -> Error {
        let error = Error::at(&self.place, error);
        if let Inner::Member(member) = &mut self.inner {
            member.failed(&error);
        }
        error
    }

    pub(crate) fn place(&self) -> &Arc<str> {
        &self.place
    }

    /// Ends a SELECT whose rows are not to change before this transaction has ended. In SQLite nobody else writes meanwhile.
    pub(crate) const fn for_share(&self) -> &'static str {
        match self.inner {
            Inner::Sqlite(_) | Inner::Member(_) => "",
            Inner::Postgres(_) => " FOR SHARE",
        }
    }

    /// Runs a statement; the number of rows it concerned.
    pub(crate) fn run(&mut self, sql: impl SqlSafeStr, values: impl Into<Vec<Value>>) -> Step<'_, u64> {
        self.run_text(sql.into_sql_str(), values.into())
    }

    fn run_text(&mut self, sql: SqlStr, values: Vec<Value>) -> Step<'_, u64> {
        Box::pin(async move {
            let done = by!(execute, self, sql, values, done => done.rows_affected(), done.rows_affected());
            done.map_err(|e| self.fails(e))
        })
    }

    /// All rows.
    pub(crate) fn rows(&mut self, sql: impl SqlSafeStr, values: impl Into<Vec<Value>>) -> Step<'_, Vec<Row>> {
        self.rows_of_text(sql.into_sql_str(), values.into())
    }

    fn rows_of_text(&mut self, sql: SqlStr, values: Vec<Value>) -> Step<'_, Vec<Row>> {
        Box::pin(async move {
            let place = Arc::clone(&self.place);
            let rows: sqlx::Result<Vec<Row>> = by!(fetch_all, self, sql, values, rows =>
                rows.into_iter().map(|row| Row::sqlite(row, &place)).collect(),
                rows.into_iter().map(|row| Row::postgres(row, &place)).collect());
            rows.map_err(|e| self.fails(e))
        })
    }

    /// The first row, if there is one.
    pub(crate) async fn row(
        &mut self,
        sql: impl SqlSafeStr,
        values: impl Into<Vec<Value>>,
    ) -> Result<Option<Row>> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// The one row that a statement always has.
    pub(crate) async fn one(&mut self, sql: impl SqlSafeStr, values: impl Into<Vec<Value>>) -> Result<Row> {
        let row = self.row(sql, values).await?;
        row.ok_or_else(|| self.fails(sqlx::Error::RowNotFound))
    }

    /// Runs several statements without parameters.
    pub(crate) fn script(&mut self, sql: impl SqlSafeStr) -> Step<'_, ()> {
        let sql = sql.into_sql_str();
        Box::pin(async move {
            let done = match &mut self.inner {
                Inner::Sqlite(tx) => sqlx::raw_sql(sql).execute(&mut **tx).await.map(drop),
                Inner::Member(tx) => match tx.connection() {
                    Ok(connection) => sqlx::raw_sql(sql).execute(connection).await.map(drop),
                    Err(closed) => Err(closed),
                },
                Inner::Postgres(tx) => sqlx::raw_sql(sql).execute(&mut **tx).await.map(drop),
            };
            done.map_err(|e| self.fails(e))
        })
    }

    /// Makes it durable: on disk when this returns.
    pub(crate) fn commit(self) -> Step<'static, ()> {
        Box::pin(async move {
            let done = match self.inner {
                Inner::Sqlite(tx) => tx.commit().await,
                Inner::Member(member) => return member.commit().await,
                Inner::Postgres(tx) => tx.commit().await,
            };
            done.map_err(|e| Error::at(&self.place, e))
        })
    }
}
