//! A thin layer over both drivers, so that everything above it is written once: `$1` parameters, rows read by name, and
//! transactions. What the databases do differently is in this module and in [`crate::schema`]'s few words.

mod open;
mod value;

pub(crate) use value::{Row, Value, numbered, values};

use crate::{Error, Result};
use sqlx::{PgPool, Postgres, SqlSafeStr, Sqlite, SqlitePool, Transaction};
use std::sync::Arc;

/// An open database.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    pools: Pools,
    place: Arc<str>,
}

#[derive(Clone, Debug)]
enum Pools {
    /// One connection writes, so that writers wait in line, first come first served, instead of each polling SQLite's lock.
    Sqlite {
        writer: SqlitePool,
        readers: SqlitePool,
    },
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
    Sqlite(Transaction<'static, Sqlite>),
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
        Error::of(&self.place, error)
    }

    /// Begins to write. In PostgreSQL at READ COMMITTED: what must not change is locked by updating it first.
    pub(crate) async fn write(&self) -> Result<Tx> {
        let inner = match &self.pools {
            Pools::Sqlite { writer, .. } => writer.begin_with("BEGIN IMMEDIATE").await.map(Inner::Sqlite),
            Pools::Postgres(pool) => pool.begin().await.map(Inner::Postgres),
        };
        Ok(Tx { inner: inner.map_err(|e| self.fails(e))?, place: Arc::clone(&self.place) })
    }

    /// Begins to write much.
    pub(crate) async fn write_alone(&self) -> Result<Tx> {
        self.write().await
    }

    /// Begins to read one unchanging state.
    pub(crate) async fn read(&self) -> Result<Tx> {
        let inner = match &self.pools {
            Pools::Sqlite { readers, .. } => readers.begin().await.map(Inner::Sqlite),
            Pools::Postgres(pool) => {
                pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await.map(Inner::Postgres)
            }
        };
        Ok(Tx { inner: inner.map_err(|e| self.fails(e))?, place: Arc::clone(&self.place) })
    }

    pub(crate) async fn close(&self) {
        match &self.pools {
            Pools::Sqlite { writer, readers } => {
                readers.close().await;
                writer.close().await;
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

impl Tx {
    fn fails(&self, error: sqlx::Error) -> Error {
        Error::of(&self.place, error)
    }

    pub(crate) fn place(&self) -> &Arc<str> {
        &self.place
    }

    /// Runs a statement; the number of rows it concerned.
    pub(crate) async fn run(&mut self, sql: impl SqlSafeStr, values: impl Into<Vec<Value>>) -> Result<u64> {
        let values = values.into();
        let done = match &mut self.inner {
            Inner::Sqlite(tx) => bound!(sql, values).execute(&mut **tx).await.map(|d| d.rows_affected()),
            Inner::Postgres(tx) => bound!(sql, values).execute(&mut **tx).await.map(|d| d.rows_affected()),
        };
        done.map_err(|e| self.fails(e))
    }

    /// All rows.
    pub(crate) async fn rows(
        &mut self,
        sql: impl SqlSafeStr,
        values: impl Into<Vec<Value>>,
    ) -> Result<Vec<Row>> {
        let values = values.into();
        let place = Arc::clone(&self.place);
        let rows = match &mut self.inner {
            Inner::Sqlite(tx) => {
                let rows = bound!(sql, values).fetch_all(&mut **tx).await;
                rows.map(|rows| rows.into_iter().map(|row| Row::sqlite(row, &place)).collect())
            }
            Inner::Postgres(tx) => {
                let rows = bound!(sql, values).fetch_all(&mut **tx).await;
                rows.map(|rows| rows.into_iter().map(|row| Row::postgres(row, &place)).collect())
            }
        };
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
        let done = match &mut self.inner {
            Inner::Sqlite(tx) => sqlx::raw_sql(sql).execute(&mut **tx).await.map(drop),
            Inner::Postgres(tx) => sqlx::raw_sql(sql).execute(&mut **tx).await.map(drop),
        };
        done.map_err(|e| self.fails(e))
    }

    /// Makes it durable: on disk when this returns.
    pub(crate) async fn commit(self) -> Result<()> {
        let done = match self.inner {
            Inner::Sqlite(tx) => tx.commit().await,
            Inner::Postgres(tx) => tx.commit().await,
        };
        done.map_err(|e| Error::of(&self.place, e))
    }
}
