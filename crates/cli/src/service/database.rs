//! `tauto database`: what an operator does with the service's database, while the service runs or not.

use crate::Done;
use crate::config::{Config, data_directory};
use crate::service::serve::{DATABASE, SERVICE, user};
use crate::terminal::{self, Failure, Stream, print};
use clap::{Args, Subcommand};
use report::json::to_text;
use rustix::fs::Mode;
use serde::Serialize;
use std::fs::{self, File};
use std::future::Future;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};
use store::{SCHEMA, Store, Timestamp};

#[derive(Args, Debug)]
pub(crate) struct DatabaseArgs {
    #[command(subcommand)]
    action: Action,
    /// Database: a file or postgres://… [default: from the configuration, else the file in the data directory]
    #[arg(long, value_name = "URL", global = true)]
    database: Option<String>,
    /// Print one JSON document
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Copy the database to a new file; the service may keep running
    Backup {
        /// File to create, or - for standard output
        file: PathBuf,
    },
    /// Check the integrity of the database
    Check,
    /// Delete sources, runs and outputs of old submissions; their verdicts stay
    Forget {
        /// Delete the data of submissions older than DAYS days
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..))]
        older_than: u32,
    },
}

/// Submissions forgotten at a time: whoever hands in meanwhile waits no longer than for these.
const AT_A_TIME: u32 = 50;

/// The service's database: that of the configuration, else the file in the data directory.
pub(crate) fn service_database(config: &Config) -> Result<String, Failure> {
    let usual = || Ok(data_directory()?.join(SERVICE).join(DATABASE).display().to_string());
    config.serve.database.clone().map_or_else(usual, Ok)
}

pub(crate) fn main(args: &DatabaseArgs) -> Result<Done, Failure> {
    let address = address(args.database.as_deref())?;
    match &args.action {
        Action::Backup { file } => backup(&address, file, args.json),
        Action::Check => {
            become_keeper(&address)?;
            check(&address, args.json)
        }
        Action::Forget { older_than } => {
            become_keeper(&address)?;
            forget(&address, *older_than, args.json)
        }
    }
}

/// Which database is meant: the one that is named, else the service's.
pub(crate) fn address(named: Option<&str>) -> Result<String, Failure> {
    named.map_or_else(|| service_database(&Config::read()?), |named| Ok(named.to_string()))
}

/// What to do where no database is.
const NO_SERVICE: &str = "name the service's database with --database; `tauto serve` creates one";

/// The error as the operator's or the system's.
pub(crate) fn failure(error: store::Error) -> Failure {
    match error {
        store::Error::NotFound(_) | store::Error::Conflict(_) | store::Error::Unsupported(_) => {
            Failure::usage(error)
        }
        error => Failure::system(error),
    }
}

/// Root leaves nothing of its own in a directory of somebody else's and follows no link of theirs: it becomes them.
pub(crate) fn become_keeper(address: &str) -> Result<(), Failure> {
    rustix::process::umask(Mode::from_raw_mode(0o077));
    match keeper(address)? {
        Some(user) => user.take_over(),
        None => Ok(()),
    }
}

/// Whom root becomes before it opens the database.
fn keeper(address: &str) -> Result<Option<user::User>, Failure> {
    let file = Store::file_of(address).map_err(Failure::usage)?;
    let Some(file) = file.filter(|_| rustix::process::geteuid().is_root()) else { return Ok(None) };
    user::keeper(file).map_err(|e| Failure::usage(format!("{}: {e}", file.display())).hint(NO_SERVICE))
}

fn wait<T>(work: impl Future<Output = Result<T, store::Error>>) -> Result<T, Failure> {
    wait_for(work)?.map_err(failure)
}

/// Does it to its end.
pub(crate) fn wait_for<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::system)?;
    Ok(runtime.block_on(work))
}

/// Opens a database whose schema is ours.
pub(crate) async fn open(address: &str) -> Result<Store, store::Error> {
    let opened = Store::open_as_is(address).await.map_err(|error| match error {
        store::Error::NotFound(place) => {
            store::Error::Unsupported(format!("{place}: not found\nhint: {NO_SERVICE}"))
        }
        error => error,
    });
    match opened? {
        (store, SCHEMA) => Ok(store),
        // Says that it is too new, without touching it.
        (_, found) if found > SCHEMA => Store::open(address).await,
        (store, found) => Err(store::Error::Unsupported(format!(
            "{}: its schema is version {found} and this program works with {SCHEMA}\n\
             hint: `tauto database backup FILE`, then start the service: it upgrades the schema",
            store.place()
        ))),
    }
}

#[derive(Serialize)]
struct BackupDocument {
    file: PathBuf,
    bytes: u64,
}

fn backup(address: &str, file: &Path, json: bool) -> Result<Done, Failure> {
    if file == Path::new("-") {
        if json {
            return Err(Failure::usage(
                "backup - --json: the backup itself goes to standard output\nhint: leave out --json, or name a file",
            ));
        }
        become_keeper(address)?;
        to_stdout(address)?;
        return Ok(Done::Good);
    }
    match keeper(address)? {
        None => wait(async {
            let (store, _) = Store::open_as_is(address).await?;
            store.backup(file).await?;
            store.close().await;
            Ok(())
        })?,
        Some(_) => by_another(address, file)?,
    }
    let bytes = fs::metadata(file).map_err(Failure::system)?.len();
    match json {
        true => print(&to_text(&BackupDocument { file: file.to_path_buf(), bytes })),
        false => print(&format!("{}: {bytes} bytes\n", file.display())),
    }
    Ok(Done::Good)
}

/// Copies the database to standard output, over a file beside it.
fn to_stdout(address: &str) -> Result<(), Failure> {
    let file = Store::file_of(address).map_err(Failure::usage)?;
    let beside = file.and_then(Path::parent).filter(|parent| !parent.as_os_str().is_empty());
    let aside = tempfile::tempdir_in(beside.unwrap_or(Path::new("."))).map_err(Failure::system)?;
    let copy = aside.path().join("copy.db");
    wait(async {
        let (store, _) = Store::open_as_is(address).await?;
        store.backup(&copy).await?;
        store.close().await;
        Ok(())
    })?;
    let mut copy = File::open(&copy).map_err(Failure::system)?;
    let mut block = vec![0; 64 << 10];
    loop {
        match copy.read(&mut block).map_err(Failure::system)? {
            0 => return Ok(()),
            n => terminal::output(Stream::Output, &block[..n]),
        }
    }
}

/// Root's backup of somebody else's database: this program again, as them, copies it into a file that root has opened. So they
/// never learn where it goes, and root never opens what is theirs.
fn by_another(address: &str, file: &Path) -> Result<(), Failure> {
    let fail = |e: io::Error| Failure::system(format!("{}: {e}", file.display()));
    if fs::exists(file).map_err(fail)? {
        return Err(Failure::usage(format!("{}: a file is there\nhint: name another file", file.display())));
    }
    let partial = PathBuf::from(format!("{}.partial", file.display()));
    match fs::remove_file(&partial) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(fail(e)),
        _ => {}
    }
    let to = File::options().write(true).create_new(true).mode(0o600).open(&partial).map_err(fail)?;
    let kept = copied_into(&to, address).and_then(|()| {
        to.sync_all().map_err(fail)?;
        fs::hard_link(&partial, file).map_err(fail)
    });
    // Under its name it is whole; under this one it is of no use either way.
    fs::remove_file(&partial).map_err(fail)?;
    kept?;
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(fail)
}

fn copied_into(to: &File, address: &str) -> Result<(), Failure> {
    let mut copying = Command::new("/proc/self/exe");
    copying.args(["database", "backup", "--database", address, "-"]).stdin(Stdio::null());
    copying.stdout(to.try_clone().map_err(Failure::system)?);
    let status = copying.status().map_err(Failure::system)?;
    match status.code() {
        Some(0) => Ok(()),
        // It has said why.
        Some(2) => Err(Failure::usage("no backup was made\nhint: see the messages above")),
        _ => Err(Failure::system(format!("no backup was made ({status})\nhint: see the messages above"))),
    }
}

#[derive(Serialize)]
struct CheckDocument<'a> {
    database: &'a str,
    schema: i64,
    wrong: &'a [String],
}

fn check(address: &str, json: bool) -> Result<Done, Failure> {
    let (place, wrong) = wait(async {
        let store = open(address).await?;
        let wrong = store.check().await?;
        store.close().await;
        Ok((store.place().to_string(), wrong))
    })?;
    match json {
        true => print(&to_text(&CheckDocument { database: &place, schema: SCHEMA, wrong: &wrong })),
        false if wrong.is_empty() => print(&format!("{place}: ok\n")),
        false => wrong.iter().for_each(|line| print(&format!("{place}: {line}\n"))),
    }
    Ok(if wrong.is_empty() { Done::Good } else { Done::Bad })
}

#[derive(Default, Serialize)]
struct ForgetDocument {
    submissions: u64,
    contents: u64,
    samples: u64,
    events: u64,
    sessions: u64,
}

fn forget(address: &str, days: u32, json: bool) -> Result<Done, Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(Failure::system)?;
    let now = Timestamp(i64::try_from(now.as_micros()).map_err(Failure::system)?);
    let before = now.plus_micros(-i64::from(days) * 86_400_000_000);
    let gone = wait(async {
        let store = open(address).await?;
        let mut gone =
            ForgetDocument { sessions: store.drop_old_sessions(now).await?, ..ForgetDocument::default() };
        loop {
            let some = store.forget(before, AT_A_TIME, now).await?;
            gone.submissions += some.submissions;
            gone.contents += some.contents;
            gone.samples += some.samples;
            gone.events += some.events;
            if some.is_nothing() {
                store.close().await;
                return Ok(gone);
            }
        }
    })?;
    match json {
        true => print(&to_text(&gone)),
        false => print(&format!(
            "deleted: sources and runs of {} submissions, {} contents, {} samples of nodes and {} events, {} expired sessions\n",
            gone.submissions, gone.contents, gone.samples, gone.events, gone.sessions
        )),
    }
    Ok(Done::Good)
}
