//! A PostgreSQL server of Debian's package, for one test binary: its own cluster in a directory of its own, run by an
//! ordinary user, reached by a Unix socket unless it is told otherwise, and ended with the tests however they end.

use rustix::process::{Pid, Signal, geteuid, kill_process};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The user that `nobody` is on Debian; PostgreSQL refuses to run as root.
const NOBODY: u32 = 65534;

/// Far more than a start takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server.
#[derive(Debug)]
pub struct Cluster {
    programs: PathBuf,
    server: Child,
    directory: TempDir,
    settings: Vec<String>,
    /// Where it is reached by TCP, and words that, put before a command, run it there.
    site: Option<(Ipv4Addr, Vec<OsString>)>,
}

#[allow(dead_code, reason = "each of the test binaries that share this uses some of it")]
impl Cluster {
    /// Makes a cluster and starts its server, which ends with the thread that calls this. `Err` names what is missing.
    pub fn start() -> Result<Cluster, String> {
        Cluster::start_with(false)
    }

    /// The same; `durable`: what is committed is on disk, as where people depend on it, which takes its time.
    pub fn start_with(durable: bool) -> Result<Cluster, String> {
        let durable = if durable { "on" } else { "off" };
        Cluster::start_set(vec![format!("fsync={durable}"), "listen_addresses=".into()])
    }

    /// The same, with these settings of postgresql.conf.
    pub fn start_set(settings: Vec<String>) -> Result<Cluster, String> {
        Cluster::start_all(settings, None)
    }

    /// The same, reached by TCP at this address by whoever reaches it there; `by`: words that, put before a command, run it there.
    pub fn start_at(address: Ipv4Addr, by: Vec<OsString>) -> Result<Cluster, String> {
        Cluster::start_all(
            vec!["fsync=off".into(), format!("listen_addresses={address}")],
            Some((address, by)),
        )
    }

    fn start_all(settings: Vec<String>, site: Option<(Ipv4Addr, Vec<OsString>)>) -> Result<Cluster, String> {
        let programs = programs()?;
        let directory = TempDir::with_prefix("pg-").map_err(|e| e.to_string())?;
        let path = directory.path();
        if geteuid().is_root() {
            chown(path, Some(NOBODY), Some(NOBODY)).map_err(|e| e.to_string())?;
            // Other users reach the socket in it; what the server keeps is its own.
            std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).map_err(|e| e.to_string())?;
        }
        let log = File::create(path.join("log")).map_err(|e| e.to_string())?;
        // Ends with this thread, as the server does.
        let made = as_nobody(&["--pdeathsig", "KILL"], programs.join("initdb"))
            .args(["--auth=trust", "--username=tauto", "--encoding=UTF8", "--locale=C", "--no-sync", "-D"])
            .arg(path.join("data"))
            .current_dir(path)
            .stdout(Stdio::null())
            .stderr(log)
            .status();
        if !made.as_ref().is_ok_and(|status| status.success()) {
            return Err(format!("initdb: {made:?}: {}", written(path)));
        }
        if let Some((address, _)) = &site {
            let rules = File::options().append(true).open(path.join("data/pg_hba.conf"));
            rules
                .and_then(|mut rules| writeln!(rules, "host all all {address}/24 trust"))
                .map_err(|e| e.to_string())?;
        }
        let server = serve(&programs, path, &settings, &site)?;
        let mut cluster = Cluster { programs, server, directory, settings, site };
        cluster.wait_until_ready()?;
        Ok(cluster)
    }

    /// Shuts the server down at once: what is going on in it ends with an error.
    pub fn stop(&mut self) {
        // A fast shutdown, which leaves nothing behind in shared memory.
        if kill_process(Pid::from_child(&self.server), Signal::INT).is_ok() {
            drop(self.server.wait());
        }
    }

    /// Kills it without a word, by SIGKILL. What was going on in it ends a moment later.
    pub fn kill(&mut self) {
        if self.server.kill().is_ok() {
            drop(self.server.wait());
        }
    }

    /// Starts the server again. After [`Cluster::kill`] it starts once the last of its processes has gone.
    pub fn start_again(&mut self) -> Result<(), String> {
        let begin = Instant::now();
        loop {
            self.server = serve(&self.programs, self.directory.path(), &self.settings, &self.site)?;
            match self.wait_until_ready() {
                Err(_) if begin.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(50)),
                started => return started,
            }
        }
    }

    fn wait_until_ready(&mut self) -> Result<(), String> {
        let begin = Instant::now();
        loop {
            let mut ask = Command::new(self.programs.join("pg_isready"));
            ask.arg("--quiet").arg("--host").arg(self.directory.path()).args(["--port", self.port()]);
            if ask.status().is_ok_and(|status| status.success()) {
                return Ok(());
            }
            if begin.elapsed() > PATIENCE || self.server.try_wait().map_err(|e| e.to_string())?.is_some() {
                return Err(format!("postgres did not start: {}", written(self.directory.path())));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn port(&self) -> &str {
        self.settings.iter().find_map(|setting| setting.strip_prefix("port=")).unwrap_or("5432")
    }

    /// Makes an empty database: its address.
    pub fn make(&self, database: &str) -> Result<String, String> {
        let mut make = Command::new(self.programs.join("createdb"));
        make.args(["--username=tauto", "--port", self.port(), "--host"]);
        make.arg(self.directory.path()).arg(database);
        let made = make.output().map_err(|e| format!("createdb: {e}"))?;
        if !made.status.success() {
            return Err(format!("createdb: {}", String::from_utf8_lossy(&made.stderr)));
        }
        Ok(self.url(database))
    }

    /// The address of one of its databases.
    pub fn url(&self, database: &str) -> String {
        let socket = || self.directory.path().display().to_string().replace('/', "%2F");
        let host = self.site.as_ref().map_or_else(socket, |(address, _)| address.to_string());
        format!("postgres://tauto@{host}/{database}")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if matches!(self.server.try_wait(), Ok(None)) {
            self.stop();
        }
    }
}

/// Starts the server of the cluster in this directory.
fn serve(
    programs: &Path,
    directory: &Path,
    settings: &[String],
    site: &Option<(Ipv4Addr, Vec<OsString>)>,
) -> Result<Child, String> {
    let log = File::options().append(true).open(directory.join("log")).map_err(|e| e.to_string())?;
    // Ends with this thread, so that it ends also when the process is killed.
    let server = as_nobody(&["--pdeathsig", "INT"], programs.join("postgres"));
    let mut command = match site {
        Some((_, by)) => {
            let mut there = Command::new(&by[0]);
            there.args(&by[1..]).arg(server.get_program()).args(server.get_args());
            there
        }
        None => server,
    };
    command
        .arg("-D")
        .arg(directory.join("data"))
        .arg("-k")
        .arg(directory)
        .args(["-c", "max_connections=100"])
        .args(settings.iter().flat_map(|setting| ["-c", setting]))
        .current_dir(directory)
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .map_err(|e| format!("postgres: {e}"))
}

/// A command as an ordinary user, with more options of `setpriv`.
fn as_nobody(options: &[&str], program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(options);
    if geteuid().is_root() {
        let id = NOBODY.to_string();
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]);
    }
    command.arg("--").arg(program);
    command
}

/// Where the programs of the newest installed version lie.
fn programs() -> Result<PathBuf, String> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let found = versions.map(|version| version.path().join("bin")).filter(|bin| bin.join("initdb").exists());
    let newest = found.max_by_key(|bin| {
        let version = bin.parent().and_then(Path::file_name).and_then(OsStr::to_str);
        version.and_then(|version| version.parse::<u32>().ok())
    });
    newest.ok_or_else(|| {
        "there is no PostgreSQL in /usr/lib/postgresql: install the Debian package `postgresql` (scripts/setup does)"
            .to_string()
    })
}

fn written(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("log")).unwrap_or_else(|e| format!("no log: {e}"))
}
