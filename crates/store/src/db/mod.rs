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
use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;

/// An operation of the database. Boxed, because the compiler checks many times that each handler's future is `Send`. Without the box, each check
/// walks through the drivers' futures, which took a third of the server's build time. Drivers and transactions are boxed for the same reason.
type Step<'a, T, E = Error> = Pin<Box<dyn Future<Output = std::result::Result<T, E>> + Send + 'a>>;

/// An open database.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    driver: Arc<dyn Driver>,
    place: Arc<str>,
}

/// Connections to a database.
trait Driver: Debug + Send + Sync {
    fn engine(&self) -> Engine;
    /// Begins to read one unchanging state.
    fn read(&self) -> Step<'_, Box<dyn Transact>>;
    /// Begins to write. `durable`: what is committed is on disk, even if the machine fails at once after it.
    fn write(&self, durable: bool) -> Step<'_, Box<dyn Transact>>;
    /// The options that an SQLite file was opened with; `None` for a server.
    fn file(&self) -> Option<&SqliteConnectOptions> {
        None
    }
    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

#[derive(Debug)]
struct SqliteFile {
    writers: Line,
    readers: SqlitePool,
    options: SqliteConnectOptions,
    place: Arc<str>,
}

#[derive(Debug)]
struct PostgresServer {
    pool: PgPool,
    place: Arc<str>,
}

/// Which database it is, for the few words that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

/// An open transaction; rolled back when dropped.
pub(crate) struct Tx {
    inner: Box<dyn Transact>,
    engine: Engine,
    place: Arc<str>,
}

/// What a driver does in a transaction.
trait Transact: Send {
    /// Runs a statement; the number of rows it concerned.
    fn run(&mut self, sql: SqlStr, values: Vec<Value>) -> Step<'_, u64, sqlx::Error>;
    /// Runs a statement; its rows, which name this place in their errors.
    fn rows(&mut self, sql: SqlStr, values: Vec<Value>, place: Arc<str>) -> Step<'_, Vec<Row>, sqlx::Error>;
    /// Runs several statements without parameters.
    fn script(&mut self, sql: SqlStr) -> Step<'_, (), sqlx::Error>;
    /// Notes why a statement failed.
    fn failed(&mut self, _: &Error) {}
    /// Makes it durable: on disk when this returns.
    fn commit(self: Box<Self>, place: Arc<str>) -> Step<'static, ()>;
}

fn begun(transaction: impl Transact + 'static) -> Result<Box<dyn Transact>> {
    Ok(Box::new(transaction))
}

impl Driver for SqliteFile {
    fn engine(&self) -> Engine {
        Engine::Sqlite
    }

    fn read(&self) -> Step<'_, Box<dyn Transact>> {
        Box::pin(async { begun(self.readers.begin().await.map_err(|e| Error::at(&self.place, e))?) })
    }

    fn write(&self, _: bool) -> Step<'_, Box<dyn Transact>> {
        Box::pin(async { begun(self.writers.begin(PATIENCE, &self.place).await?) })
    }

    fn file(&self) -> Option<&SqliteConnectOptions> {
        Some(&self.options)
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            self.readers.close().await;
            self.writers.close().await;
        })
    }
}

impl PostgresServer {
    fn begin(&self, how: &'static str) -> Step<'_, Box<dyn Transact>> {
        Box::pin(
            async move { begun(self.pool.begin_with(how).await.map_err(|e| Error::at(&self.place, e))?) },
        )
    }
}

impl Driver for PostgresServer {
    fn engine(&self) -> Engine {
        Engine::Postgres
    }

    fn read(&self) -> Step<'_, Box<dyn Transact>> {
        self.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    }

    fn write(&self, durable: bool) -> Step<'_, Box<dyn Transact>> {
        self.begin(if durable { "BEGIN" } else { "BEGIN; SET LOCAL synchronous_commit TO OFF" })
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.pool.close())
    }
}

impl Database {
    pub(crate) fn engine(&self) -> Engine {
        self.driver.engine()
    }

    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    fn transaction(&self, inner: Box<dyn Transact>) -> Tx {
        Tx { inner, engine: self.engine(), place: Arc::clone(&self.place) }
    }

    /// Begins to write. In PostgreSQL at READ COMMITTED: what must not change is locked by updating it first.
    pub(crate) async fn write(&self) -> Result<Tx> {
        Ok(self.transaction(self.driver.write(true).await?))
    }

    /// Begins to write what may be undone where the database's machine fails at once after it: PostgreSQL does not wait for the disk,
    /// and loses what was committed in the last 0.6 s at most, in order (its manual, "Asynchronous Commit"). SQLite waits all the same.
    pub(crate) async fn write_fleetingly(&self) -> Result<Tx> {
        Ok(self.transaction(self.driver.write(false).await?))
    }

    /// Begins to read one unchanging state.
    pub(crate) async fn read(&self) -> Result<Tx> {
        Ok(self.transaction(self.driver.read().await?))
    }

    pub(crate) async fn close(&self) {
        self.driver.close().await;
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

/// Runs statements on the connection of a transaction; `$row` converts the driver's rows.
macro_rules! statements {
    ($tx:ident, $connection:expr, $row:path) => {
        fn run(&mut $tx, sql: SqlStr, values: Vec<Value>) -> Step<'_, u64, sqlx::Error> {
            Box::pin(async move { Ok(bound!(sql, values).execute($connection).await?.rows_affected()) })
        }

        fn rows(&mut $tx, sql: SqlStr, values: Vec<Value>, place: Arc<str>) -> Step<'_, Vec<Row>, sqlx::Error> {
            Box::pin(async move {
                let rows = bound!(sql, values).fetch_all($connection).await?;
                Ok(rows.into_iter().map(|row| $row(row, &place)).collect())
            })
        }

        fn script(&mut $tx, sql: SqlStr) -> Step<'_, (), sqlx::Error> {
            Box::pin(async move { sqlx::raw_sql(sql).execute($connection).await.map(drop) })
        }
    };
}

fn committed<D: sqlx::Database>(transaction: Transaction<'static, D>, place: Arc<str>) -> Step<'static, ()> {
    Box::pin(async move { transaction.commit().await.map_err(|e| Error::at(&place, e)) })
}

/// A transaction that only reads.
impl Transact for Transaction<'static, Sqlite> {
    statements!(self, &mut **self, Row::sqlite);

    fn commit(self: Box<Self>, place: Arc<str>) -> Step<'static, ()> {
        committed(*self, place)
    }
}

/// A transaction that writes.
impl Transact for Member {
    statements!(self, self.connection()?, Row::sqlite);

    fn failed(&mut self, error: &Error) {
        Member::failed(self, error);
    }

    fn commit(self: Box<Self>, _: Arc<str>) -> Step<'static, ()> {
        Box::pin((*self).commit())
    }
}

impl Transact for Transaction<'static, Postgres> {
    statements!(self, &mut **self, Row::postgres);

    fn commit(self: Box<Self>, place: Arc<str>) -> Step<'static, ()> {
        committed(*self, place)
    }
}

impl Tx {
    fn fails(&mut self, error: sqlx::Error) -> Error {
        let error = Error::at(&self.place, error);
        self.inner.failed(&error);
        error
    }

    pub(crate) fn place(&self) -> &Arc<str> {
        &self.place
    }

    /// Ends a SELECT whose rows are not to change before this transaction has ended. In SQLite nobody else writes meanwhile.
    pub(crate) const fn for_share(&self) -> &'static str {
        match self.engine {
            Engine::Sqlite => "",
            Engine::Postgres => " FOR SHARE",
        }
    }

    /// Runs a statement; the number of rows it concerned.
    pub(crate) async fn run(&mut self, sql: impl SqlSafeStr, values: impl Into<Vec<Value>>) -> Result<u64> {
        let done = self.inner.run(sql.into_sql_str(), values.into()).await;
        done.map_err(|e| self.fails(e))
    }

    /// All rows.
    pub(crate) async fn rows(
        &mut self,
        sql: impl SqlSafeStr,
        values: impl Into<Vec<Value>>,
    ) -> Result<Vec<Row>> {
        let rows = self.inner.rows(sql.into_sql_str(), values.into(), Arc::clone(&self.place)).await;
        rows.map_err(|e| self.fails(e))
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
    pub(crate) async fn script(&mut self, sql: impl SqlSafeStr) -> Result<()> {
        let done = self.inner.script(sql.into_sql_str()).await;
        done.map_err(|e| self.fails(e))
    }

    /// Makes it durable: on disk when this returns.
    pub(crate) async fn commit(self) -> Result<()> {
        self.inner.commit(self.place).await
    }
}
