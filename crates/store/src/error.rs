//! One error type: each kind is something its reader can do another thing about.

use sqlx::error::{DatabaseError, ErrorKind};
use std::io;

/// Why an operation of a [`crate::Store`] was not done.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What was named is not there.
    #[error("{0}: not found")]
    NotFound(String),
    /// It does not fit what is stored: a name that is taken, a lease that is lost.
    #[error("{0}")]
    Conflict(String),
    /// Others held the database for too long. Trying again is right.
    #[error("{place}: busy ({why})")]
    Busy {
        /// Which database.
        place: String,
        /// What was waited for.
        why: String,
    },
    /// No space is left.
    #[error(
        "{place}: the disk is full ({why})\nhint: make room on its file system, nothing has to be restarted"
    )]
    DiskFull {
        /// Which database.
        place: String,
        /// What the database said.
        why: String,
    },
    /// It cannot be written.
    #[error(
        "{place}: read-only ({why})\nhint: let the user who runs this write the database and its directory"
    )]
    ReadOnly {
        /// Which database.
        place: String,
        /// What the database said.
        why: String,
    },
    /// A later version of this program has changed the schema.
    #[error(
        "{place}: its schema is version {found} and this program knows {known}\n\
         hint: install a newer tauto, or restore a backup from before the upgrade"
    )]
    NewerSchema {
        /// Which database.
        place: String,
        /// Version of the schema that is there.
        found: i64,
        /// Newest version this program knows.
        known: i64,
    },
    /// It does not answer, refuses us, or is no database of ours. Of a commit that was going on nobody knows.
    #[error("{place}: {why}\nhint: check the address, and that the database runs and lets this user in")]
    Connection {
        /// Which database.
        place: String,
        /// What was tried, and the answer.
        why: String,
    },
    /// What was read makes no sense.
    #[error("{place}: damaged: {why}\nhint: `tauto database check`, and restore a backup if it finds damage")]
    Damaged {
        /// Which database.
        place: String,
        /// What was read, and where.
        why: String,
    },
    /// The operation is not offered by this database.
    #[error("{0}")]
    Unsupported(String),
    /// None of the above.
    #[error("{place}: {why}")]
    Database {
        /// Which database.
        place: String,
        /// What the driver said.
        why: String,
    },
}

/// Kinds of errors of a database that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Busy,
    DiskFull,
    ReadOnly,
    Connection,
    Damaged,
    Missing,
    Taken,
    Other,
}

impl Error {
    /// Whether the same call can succeed later without anything being changed by a person.
    pub fn is_transient(&self) -> bool {
        matches!(self, Error::Busy { .. })
    }

    pub(crate) fn at(place: &str, source: sqlx::Error) -> Error {
        let (place, why) = (place.to_string(), source.to_string());
        match kind(&source) {
            Kind::Busy => Error::Busy { place, why },
            Kind::DiskFull => Error::DiskFull { place, why },
            Kind::ReadOnly => Error::ReadOnly { place, why },
            Kind::Connection => Error::Connection { place, why },
            Kind::Damaged => Error::Damaged { place, why },
            Kind::Missing => Error::NotFound(format!("{place}: what this refers to ({why})")),
            Kind::Taken => Error::Conflict(format!("{place}: already there ({why})")),
            Kind::Other => Error::Database { place, why },
        }
    }

    /// Of a file that is not reached through a database.
    pub(crate) fn of_file(place: &str, doing: &str, error: &io::Error) -> Error {
        let (place, why) = (place.to_string(), format!("{doing}: {error}"));
        match error.kind() {
            io::ErrorKind::AlreadyExists => {
                Error::Conflict(format!("{place}: a file is there\nhint: name another file"))
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::DiskFull { place, why },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Error::ReadOnly { place, why }
            }
            _ => Error::Connection { place, why },
        }
    }

    /// With these words where the database says that something is already there, or is referred to and missing.
    pub(crate) fn in_words(self, taken: impl FnOnce() -> String, missing: impl FnOnce() -> String) -> Error {
        match self {
            Error::Conflict(_) => Error::Conflict(taken()),
            Error::NotFound(_) => Error::NotFound(missing()),
            other => other,
        }
    }
}

fn kind(error: &sqlx::Error) -> Kind {
    match error {
        sqlx::Error::Database(error) => match error.kind() {
            ErrorKind::UniqueViolation => Kind::Taken,
            ErrorKind::ForeignKeyViolation => Kind::Missing,
            _ => coded(error.as_ref()),
        },
        sqlx::Error::PoolTimedOut => Kind::Busy,
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) => Kind::Connection,
        sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed | sqlx::Error::Configuration(_) => {
            Kind::Connection
        }
        sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. } => Kind::Damaged,
        _ => Kind::Other,
    }
}

fn coded(error: &dyn DatabaseError) -> Kind {
    let code = error.code().unwrap_or_default();
    match code.parse::<u32>() {
        Ok(number) if code.len() < 5 => sqlite(number),
        _ => postgres(&code),
    }
}

/// SQLite's result codes: the low byte is the primary one (<https://www.sqlite.org/rescode.html>).
fn sqlite(code: u32) -> Kind {
    const IOERR_WRITE: u32 = 778;
    const IOERR_TRUNCATE: u32 = 1546;
    match (code & 0xff, code) {
        (5 | 6, _) => Kind::Busy,     // BUSY, LOCKED
        (8 | 3, _) => Kind::ReadOnly, // READONLY, PERM
        (13, _) => Kind::DiskFull,    // FULL
        // A write that fails for another reason than ENOSPC: a quota, the largest size of a file.
        (10, IOERR_WRITE | IOERR_TRUNCATE) => Kind::DiskFull,
        (10 | 14, _) => Kind::Connection, // IOERR, CANTOPEN
        (11 | 26, _) => Kind::Damaged,    // CORRUPT, NOTADB
        _ => Kind::Other,
    }
}

/// PostgreSQL's codes by class and by number (its manual, appendix A).
fn postgres(code: &str) -> Kind {
    match code {
        "53100" => Kind::DiskFull,
        "25006" | "42501" => Kind::ReadOnly,
        "40001" | "40P01" | "55P03" | "57014" | "53200" => Kind::Busy,
        // Its connections are used up, it is shutting down or starting, it ended ours, the database is not there.
        "53300" | "57P01" | "57P02" | "57P03" | "57P05" | "3D000" | "25P03" => Kind::Connection,
        _ if code.starts_with("08") || code.starts_with("28") => Kind::Connection,
        _ if code.starts_with("XX") => Kind::Damaged,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_both_databases_mean_the_same() {
        // SQLite's extended codes carry the primary one: 517 is BUSY_SNAPSHOT, 1032 READONLY_DBMOVED.
        for (sqlite_code, postgres_code, expected) in [
            (5, "55P03", Kind::Busy),
            (517, "40P01", Kind::Busy),
            (13, "53100", Kind::DiskFull),
            (8, "25006", Kind::ReadOnly),
            (1032, "42501", Kind::ReadOnly),
            (14, "57P03", Kind::Connection),
            (14, "28P01", Kind::Connection),
            (267, "XX001", Kind::Damaged),
            (1, "42601", Kind::Other),
        ] {
            assert_eq!(sqlite(sqlite_code), expected, "{sqlite_code}");
            assert_eq!(postgres(postgres_code), expected, "{postgres_code}");
        }
    }

    #[test]
    fn every_text_names_the_place_and_a_remedy() {
        let place = || "judge.db".to_string();
        let why = || "reason".to_string();
        for (error, remedy) in [
            (Error::Busy { place: place(), why: why() }, "busy"),
            (Error::DiskFull { place: place(), why: why() }, "make room"),
            (Error::ReadOnly { place: place(), why: why() }, "let the user"),
            (Error::NewerSchema { place: place(), found: 3, known: 1 }, "install a newer"),
            (Error::Connection { place: place(), why: why() }, "check the address"),
            (Error::Damaged { place: place(), why: why() }, "restore a backup"),
        ] {
            let text = error.to_string();
            assert!(text.starts_with("judge.db: ") && text.contains(remedy), "{text}");
        }
    }
}
