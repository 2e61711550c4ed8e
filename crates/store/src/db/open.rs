//! Opening: where a database is, and how its connections are set up.

use super::group::Line;
use super::{Database, PostgresServer, SqliteFile};
use crate::{Error, Result};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// How long a statement waits for others before it is [`Error::Busy`].
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Connections that read, of SQLite; all connections, of PostgreSQL.
const CONNECTIONS: u32 = 8;

impl Database {
    /// See [`crate::Store::open`].
    pub(crate) async fn open(url: &str) -> Result<Database> {
        match file_of(url)? {
            Some(path) => sqlite(path).await,
            None => postgres(url).await,
        }
    }

    /// See [`crate::Store::open_as_is`].
    pub(crate) async fn open_there(url: &str) -> Result<Database> {
        if let Some(path) = file_of(url)? {
            let place = path.display().to_string();
            match std::fs::metadata(path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return Err(Error::NotFound(place));
                }
                Err(error) => return Err(Error::of_file(&place, "opening the file", &error)),
                Ok(_) => {}
            }
        }
        Database::open(url).await
    }
}

/// The path in an address; `None`: it is one of PostgreSQL.
pub(crate) fn file_of(url: &str) -> Result<Option<&Path>> {
    if url.starts_with("postgres:") || url.starts_with("postgresql:") {
        return Ok(None);
    }
    let path = url.strip_prefix("sqlite:").unwrap_or(url);
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path.contains("://") {
        let why = "neither a path nor postgres://…".to_string();
        return Err(Error::Connection { place: url.to_string(), why });
    }
    Ok(Some(Path::new(path)))
}

async fn sqlite(path: &Path) -> Result<Database> {
    let place = path.display().to_string();
    make(path).map_err(|error| Error::of_file(&place, "opening the file", &error))?;
    // FULL: a commit is on disk when it returns; NORMAL could lose the last ones when the power fails.
    let options = SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        // What a savepoint undoes is kept beside the database otherwise, in a directory we may not write to.
        .pragma("temp_store", "memory")
        .foreign_keys(true)
        .busy_timeout(PATIENCE);
    let place = Arc::from(place);
    let pool = SqlitePoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(PATIENCE);
    // Kept for good, and not asked whether they are alive: a file does not hang up.
    let pool = pool.idle_timeout(None).max_lifetime(None).test_before_acquire(false);
    // SQLite ends a transaction by itself when there is no room for a large sort, which the driver does not learn of: it would
    // refuse to begin again.
    let pool = pool.after_release(|connection, _| {
        Box::pin(async move {
            connection.ping().await?;
            Ok(!connection.is_in_transaction())
        })
    });
    let writers = Line::open(&options, &place).await?;
    let readers = pool.connect_lazy_with(options.clone().pragma("query_only", "on"));
    let driver = SqliteFile { writers, readers, options, place: Arc::clone(&place) };
    Ok(Database { driver: Arc::new(driver), place })
}

impl Database {
    /// Copies an SQLite database into an empty file.
    pub(crate) async fn copy_to(&self, to: &Path) -> Result<()> {
        let Some(options) = self.driver.file() else {
            return Err(Error::Unsupported(format!("{}: only a file can be copied", self.place)));
        };
        let place = to.display().to_string();
        let fails = |error| Error::at(&place, error);
        let mut connection = options.connect().await.map_err(|e| Error::at(&self.place, e))?;
        let copied = sqlx::query("VACUUM INTO $1").bind(place.as_str()).execute(&mut connection).await;
        copied.map_err(fails)?;
        connection.close().await.map_err(fails)
    }
}

/// Makes the file where there is none, for its owner alone; SQLite gives the files beside it the same mode. Fails where
/// SQLite could not write later, since it would not say why.
fn make(path: &Path) -> std::io::Result<()> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let access = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    Ok(accessat(CWD, directory.unwrap_or(Path::new(".")), access, AtFlags::EACCESS)?)
}

async fn postgres(url: &str) -> Result<Database> {
    // The address as it was typed may hold a password, so it is in no text before it is understood.
    let options = PgConnectOptions::from_str(url).map_err(|error| Error::at("postgres", error))?;
    let host =
        options.get_socket().map_or_else(|| options.get_host().into(), |socket| socket.to_string_lossy());
    let name = options.get_database().unwrap_or_else(|| options.get_username());
    let place = format!("postgres {name} at {host}:{}", options.get_port());
    let patience = PATIENCE.as_millis().to_string();
    let options = options.application_name("tauto").options([
        ("synchronous_commit", "on"),
        ("client_min_messages", "warning"),
        ("lock_timeout", patience.as_str()),
        // What a machine that vanished has locked is free again after this.
        ("idle_in_transaction_session_timeout", "60000"),
    ]);
    let pool = PgPoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(PATIENCE);
    let pool = pool.connect_with(options).await.map_err(|error| Error::at(&place, error))?;
    let place = Arc::from(place);
    Ok(Database { driver: Arc::new(PostgresServer { pool, place: Arc::clone(&place) }), place })
}
