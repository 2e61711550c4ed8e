//! Full disks, what cannot be written, what is held or gone: each says what it is, and all is well again afterwards.

mod common;

use common::cluster::Cluster;
use common::samples::{SOURCE, judge_all, submission, submit};
use common::{Database, run};
use libtest_mimic::{Arguments, Failed, Trial};
use model::Verdict;
use rustix::process::geteuid;
use sqlx::{Connection, PgConnection, SqliteConnection};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, ExitCode};
use store::{Error, Hash, NewSubmission, Store};
use tempfile::TempDir;

/// Names what a process of its own is to do, and where.
const DO: &str = "STORE_TEST_DO";
const DIRECTORY: &str = "STORE_TEST_DIRECTORY";

const NOBODY: u32 = 65534;

fn main() -> ExitCode {
    if let Ok(what) = std::env::var(DO) {
        let directory = std::env::var(DIRECTORY).expect("a directory");
        let directory = Path::new(&directory);
        match what.as_str() {
            "fill" => run(fill(directory)),
            "refused" => run(refused(directory)),
            "written" => run(written(directory)),
            other => panic!("{other} is nothing to do"),
        }
        return ExitCode::SUCCESS;
    }
    let trials = vec![
        Trial::test("the disk is full (Sqlite)", disk_full),
        Trial::test("read-only (Sqlite)", read_only),
        Trial::test("read-only (Postgres)", read_only_server),
        Trial::test("held by somebody else (Sqlite)", held),
        Trial::test("held by somebody else (Postgres)", held_server),
        Trial::test("the server ends and comes back (Postgres)", server_restarts),
        Trial::test("nobody answers", nobody_answers),
        Trial::test("no database at all (Sqlite)", no_database),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Runs this binary again, after these words of a command line.
fn apart(words: &[&str], what: &str, directory: &Path) -> Result<(), Failed> {
    let own = std::env::current_exe()?;
    let mut command = words.iter().map(|word| word.into()).chain([own.into_os_string()]);
    let program = command.next().ok_or("no program")?;
    let ended = Command::new(program).args(command).env(DO, what).env(DIRECTORY, directory).output()?;
    if ended.status.success() {
        return Ok(());
    }
    Err(format!("{what}: {}: {}", ended.status, String::from_utf8_lossy(&ended.stderr)).into())
}

fn disk_full() -> Result<(), Failed> {
    let directory = TempDir::with_prefix("full-")?;
    let mount = "mount -t tmpfs -o size=16m tmpfs \"$STORE_TEST_DIRECTORY\" && exec \"$0\"";
    let root: &[&str] = if geteuid().is_root() { &[] } else { &["--user", "--map-root-user"] };
    apart(&[&["unshare", "--mount"], root, &["sh", "-c", mount]].concat(), "fill", directory.path())
}

/// Content of so many bytes, each time another.
fn content(seed: u64, size: usize) -> Vec<u8> {
    Hash::digest(&seed.to_le_bytes()).as_str().bytes().cycle().take(size).collect()
}

/// Hands in, four at a time, until one is refused; the error, and how many were taken.
async fn until_refused(store: &Store, prefix: &str) -> (Error, u64) {
    let mut taken = 0;
    for n in 0..2_500 {
        let four: Vec<_> = (0..4)
            .map(|i| tokio::spawn(hand_in(store.clone(), n * 4 + i, format!("{prefix}{n}-{i}"))))
            .collect();
        let mut refused = None;
        for one in four {
            match one.await.unwrap() {
                Ok(()) => taken += 1,
                Err(error) => refused = Some(error),
            }
        }
        if let Some(error) = refused {
            return (error, taken);
        }
    }
    panic!("the disk takes everything")
}

async fn hand_in(store: Store, seed: u64, token: String) -> Result<(), Error> {
    let source = content(seed, 60_000);
    let new = NewSubmission { files: vec![("main.c", &source)], ..submission(&token) };
    store.submit(&new).await.map(drop)
}

async fn fill(directory: &Path) {
    let place = directory.join("judge.db").display().to_string();
    let ballast = directory.join("ballast");
    fs::write(&ballast, vec![1u8; 8 << 20]).unwrap();
    let store = Store::open(&place).await.unwrap();
    let (error, taken) = until_refused(&store, "a").await;
    assert!(matches!(error, Error::DiskFull { .. }), "{error}");
    let text = error.to_string();
    assert!(text.starts_with(&place) && text.contains("make room"), "{text}");
    assert!(taken > 2, "nothing was taken");
    // Nothing by half, reading goes on, and the same again is the same error.
    assert_eq!(store.counts().await.unwrap().submissions, taken);
    let (again, more) = until_refused(&store, "b").await;
    assert_eq!(store.counts().await.unwrap().submissions, taken + more);
    assert!(matches!(again, Error::DiskFull { .. }), "{again:?}");
    let copy = directory.join("copy.db");
    let error = store.backup(&copy).await.unwrap_err();
    assert!(matches!(error, Error::DiskFull { .. }), "{error}");
    let left: Vec<_> = fs::read_dir(directory).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("copy")), "{left:?}");
    let other = directory.join("other.db").display().to_string();
    let error = Store::open(&other).await.unwrap_err();
    assert!(matches!(error, Error::DiskFull { .. }), "{error}");

    fs::remove_file(&ballast).unwrap();
    let before = store.counts().await.unwrap().submissions;
    submit(&store, "after").await;
    judge_all(&store, Verdict::Accepted).await;
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    assert_eq!(store.counts().await.unwrap().verdicts, [(Verdict::Accepted, before + 1)]);
    drop(store);
    assert_eq!(Store::open(&place).await.unwrap().counts().await.unwrap().submissions, before + 1);
}

/// A directory and a database of somebody whom permissions hold, and a change of what they may do.
fn read_only() -> Result<(), Failed> {
    let directory = TempDir::with_prefix("ro-")?;
    let path = directory.path();
    let id = NOBODY.to_string();
    let words: &[&str] = &["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups", "--"];
    let words = if geteuid().is_root() { words } else { &[] };
    if geteuid().is_root() {
        chown(path, Some(NOBODY), Some(NOBODY))?;
    }
    let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
    let file = path.join("judge.db");
    let mut ended = Vec::new();
    mode(path, 0o555)?;
    ended.push(apart(words, "refused", path)); // no file, and none can be made
    mode(path, 0o755)?;
    ended.push(apart(words, "written", path));
    mode(path, 0o555)?;
    ended.push(apart(words, "refused", path)); // a file, and none can be made beside it
    mode(path, 0o755)?;
    mode(&file, 0o444)?;
    ended.push(apart(words, "refused", path)); // a file that cannot be written
    mode(&file, 0o600)?;
    ended.push(apart(words, "written", path));
    ended.into_iter().collect()
}

async fn refused(directory: &Path) {
    let place = directory.join("judge.db").display().to_string();
    let error = Store::open(&place).await.unwrap_err();
    assert!(matches!(error, Error::ReadOnly { .. }), "{error:?}");
    assert!(error.to_string().starts_with(&place), "{error}");
}

async fn written(directory: &Path) {
    let store = Store::open(&directory.join("judge.db").display().to_string()).await.unwrap();
    let n = store.counts().await.unwrap().submissions;
    submit(&store, &n.to_string()).await;
    store.close().await;
}

fn read_only_server() -> Result<(), Failed> {
    let cluster = Cluster::start()?;
    let database = Database::postgres(&cluster);
    run(async {
        submit(&database.open().await, "1").await;
        let name = database.url.rsplit('/').next().unwrap();
        let set = format!("ALTER DATABASE {name} SET default_transaction_read_only = on");
        common::execute(&cluster.url("postgres"), &set).await;
        let store = database.open().await;
        assert_eq!(store.counts().await.unwrap().submissions, 1);
        let error = store.submit(&submission("2")).await.unwrap_err();
        assert!(matches!(error, Error::ReadOnly { .. }), "{error:?}");
        let reset = format!("ALTER DATABASE {name} RESET default_transaction_read_only");
        common::execute(&cluster.url("postgres"), &reset).await;
        submit(&database.open().await, "2").await;
    });
    Ok(())
}

/// While this is held by a transaction, writing is [`Error::Busy`]; then not any more.
async fn busy_then_not(store: &Store, release: impl Future<Output = ()>) {
    let error = store.set_setting("a", &1.into()).await.unwrap_err();
    assert!(matches!(error, Error::Busy { .. }) && error.is_transient(), "{error:?}");
    assert_eq!(store.setting("a").await.unwrap(), None);
    release.await;
    store.set_setting("a", &2.into()).await.unwrap();
}

fn held() -> Result<(), Failed> {
    let database = Database::sqlite();
    run(async {
        let store = database.open().await;
        let mut other = SqliteConnection::connect(&format!("sqlite:{}", database.url)).await.unwrap();
        sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
        busy_then_not(&store, async move { other.close().await.unwrap() }).await;
    });
    Ok(())
}

fn held_server() -> Result<(), Failed> {
    let cluster = Cluster::start()?;
    let database = Database::postgres(&cluster);
    run(async {
        let store = database.open().await;
        let mut other = PgConnection::connect(&database.url).await.unwrap();
        sqlx::raw_sql("BEGIN; LOCK TABLE settings IN SHARE MODE").execute(&mut other).await.unwrap();
        busy_then_not(&store, async move { other.close().await.unwrap() }).await;
    });
    Ok(())
}

fn server_restarts() -> Result<(), Failed> {
    let mut cluster = Cluster::start()?;
    let database = Database::postgres(&cluster);
    run(async {
        let store = database.open().await;
        submit(&store, "1").await;
        cluster.stop();
        let error = store.submit(&submission("2")).await.unwrap_err();
        assert!(matches!(error, Error::Connection { .. }), "{error:?}");
        cluster.start_again().unwrap();
        submit(&store, "2").await;
        assert_eq!(store.counts().await.unwrap().submissions, 2);
    });
    Ok(())
}

fn nobody_answers() -> Result<(), Failed> {
    let directory = TempDir::new()?;
    let socket = directory.path().display().to_string().replace('/', "%2F");
    run(async {
        for url in [
            format!("postgres://me:s3cret@{socket}/judge"),
            "postgres://me:s3cret@[".into(),
            "mysql://x".into(),
        ] {
            let error = Store::open(&url).await.unwrap_err();
            assert!(matches!(error, Error::Connection { .. }), "{url}: {error:?}");
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
        }
    });
    Ok(())
}

fn no_database() -> Result<(), Failed> {
    let database = Database::sqlite();
    run(async {
        let missing = database.directory.path().join("nowhere/judge.db").display().to_string();
        let error = Store::open(&missing).await.unwrap_err();
        assert!(matches!(&error, Error::Connection { place, .. } if *place == missing), "{error:?}");
        fs::write(&database.url, SOURCE.repeat(100)).unwrap();
        let error = Store::open(&database.url).await.unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{error:?}");

        fs::remove_file(&database.url).unwrap();
        let store = database.open().await;
        for n in 0..200 {
            submit(&store, &n.to_string()).await;
        }
        store.close().await;
        let mut bytes = fs::read(&database.url).unwrap();
        let len = bytes.len();
        bytes[len / 2..len / 2 + 20_000].fill(0x5a);
        fs::write(&database.url, bytes).unwrap();
        let found = match Store::open(&database.url).await {
            Ok(store) => store.check().await,
            Err(error) => Err(error),
        };
        match found {
            Ok(wrong) => assert!(!wrong.is_empty()),
            Err(error) => assert!(matches!(error, Error::Damaged { .. }), "{error:?}"),
        }
    });
    Ok(())
}
