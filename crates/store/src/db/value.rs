//! What goes into a statement and comes out of it.

use crate::{Error, Result};
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Postgres, Row as _, Sqlite, Type};
use std::sync::Arc;

/// An argument of a statement, typed also where it is absent: PostgreSQL asks for the type of NULL.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Int(Option<i64>),
    Real(Option<f64>),
    Text(Option<String>),
    Bytes(Option<Vec<u8>>),
}

/// PostgreSQL takes no NUL in text and SQLite is in two minds about it, so that neither sees one.
fn text(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

macro_rules! value {
    ($($from:ty, $variant:ident, $v:ident => $into:expr;)*) => {$(
        impl From<$from> for Value {
            fn from($v: $from) -> Value {
                Value::$variant(Some($into))
            }
        }
        impl From<Option<$from>> for Value {
            fn from(v: Option<$from>) -> Value {
                Value::$variant(v.map(|$v| $into))
            }
        }
    )*};
}

value! {
    i64, Int, v => v;
    u32, Int, v => i64::from(v);
    // What is larger than 292 years, or 8 EiB, is the most the column holds. The JSON beside it has it exactly.
    u64, Int, v => i64::try_from(v).unwrap_or(i64::MAX);
    f64, Real, v => v;
    &str, Text, v => text(v);
    String, Text, v => text(&v);
    Vec<u8>, Bytes, v => v;
}

impl From<bool> for Value {
    fn from(v: bool) -> Value {
        Value::Int(Some(i64::from(v)))
    }
}

/// `values![a, b]`: arguments of a statement.
macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$($crate::db::Value::from($value)),*] };
}
pub(crate) use values;

/// `($3, $4)`: places for so many arguments, counted from `first` on.
pub(crate) fn numbered(first: usize, count: usize) -> String {
    let places: Vec<_> = (first..first + count).map(|n| format!("${n}")).collect();
    format!("({})", places.join(", "))
}

/// What a column can be read as.
pub(crate) trait Column:
    for<'r> Decode<'r, Sqlite> + Type<Sqlite> + for<'r> Decode<'r, Postgres> + Type<Postgres>
{
}

impl<T> Column for T where
    T: for<'r> Decode<'r, Sqlite> + Type<Sqlite> + for<'r> Decode<'r, Postgres> + Type<Postgres>
{
}

/// A row of an answer.
#[derive(Debug)]
pub(crate) struct Row {
    inner: Inner,
    place: Arc<str>,
}

#[derive(Debug)]
enum Inner {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    pub(super) fn sqlite(row: SqliteRow, place: &Arc<str>) -> Row {
        Row { inner: Inner::Sqlite(row), place: Arc::clone(place) }
    }

    pub(super) fn postgres(row: PgRow, place: &Arc<str>) -> Row {
        Row { inner: Inner::Postgres(row), place: Arc::clone(place) }
    }

    /// The column of this name.
    pub(crate) fn get<T: Column>(&self, name: &str) -> Result<T> {
        let value = match &self.inner {
            Inner::Sqlite(row) => row.try_get(name),
            Inner::Postgres(row) => row.try_get(name),
        };
        value.map_err(|e| Error::at(&self.place, e))
    }

    /// The column of this name, as what a function makes of its text.
    pub(crate) fn parse<T, E: std::fmt::Display>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> std::result::Result<T, E>,
    ) -> Result<T> {
        let text: String = self.get(name)?;
        parse(&text).map_err(|e| self.damaged(format!("column {name}: {e}")))
    }

    /// The column of this name, as what its JSON says.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T> {
        self.parse(name, |text| serde_json::from_str(text))
    }

    /// The column of this name, a count.
    pub(crate) fn count(&self, name: &str) -> Result<u64> {
        let count: i64 = self.get(name)?;
        u64::try_from(count).map_err(|_| self.damaged(format!("column {name}: {count} is not a count")))
    }

    pub(crate) fn damaged(&self, why: String) -> Error {
        Error::Damaged { place: self.place.to_string(), why }
    }
}
