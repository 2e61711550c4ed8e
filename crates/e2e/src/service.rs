//! A service of a test's own: started with its own data directory, watched, killed in parts, and ended.

use crate::http::{Client, Response};
use crate::network::{Namespace, Site};
use crate::tauto;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// For the service to answer.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// For it to end when it was asked to, besides what it may finish.
const ENDED_WITHIN: Duration = Duration::from_secs(40);

/// The configuration of a service, where it lies in its data directory.
const CONFIG: &str = "config.toml";

/// Has services over this data directory take blows that workers are dealt for what they are: no doing of the jobs they were at, which would be set
/// aside after the second.
///
/// # Errors
/// It cannot be written.
pub fn blame_no_job(data: &Path) -> Result<(), String> {
    let file = data.join(CONFIG);
    fs::write(&file, "[serve]\nattempts = 1000\n").map_err(|e| format!("{}: {e}", file.display()))
}

/// A running service. Ended, with all its processes, when it is dropped.
#[derive(Debug)]
pub struct Service {
    supervisor: Child,
    address: SocketAddr,
    log: PathBuf,
    /// Where it listens.
    place: Option<Namespace>,
}

/// A process of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The one that was started; it starts the others.
    Supervisor,
    /// The one that has the database and speaks HTTP.
    Web,
    /// The one that judges.
    Worker,
    /// The worker's helper that cleans up behind the launcher of judged programs.
    Keeper,
    /// The launcher of judged programs.
    Launcher,
    /// The launcher of compilers and validators.
    Helper,
}

impl Part {
    /// All of them.
    pub const ALL: [Part; 6] =
        [Part::Supervisor, Part::Web, Part::Worker, Part::Keeper, Part::Launcher, Part::Helper];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Part::Supervisor => "supervisor",
            Part::Web => "web process",
            Part::Worker => "worker",
            Part::Keeper => "keeper",
            Part::Launcher => "main launcher",
            Part::Helper => "auxiliary launcher",
        }
    }

    /// The process that is this part, if it is there now, of a service or of a `tauto worker` with this process at its head.
    pub(crate) fn below(self, supervisor: i32) -> Option<Pid> {
        let named =
            |name: &str| children(supervisor).into_iter().find(|pid| first_word(*pid).starts_with(name));
        let keeper = |n: usize| children(named("tauto: worker")?).get(n).copied();
        let pid = match self {
            Part::Supervisor => Some(supervisor),
            Part::Web => named("tauto: web"),
            Part::Worker => named("tauto: worker"),
            Part::Keeper => keeper(0),
            Part::Launcher => children(keeper(0)?).first().copied(),
            Part::Helper => children(keeper(1)?).first().copied(),
        };
        pid.and_then(Pid::from_raw)
    }
}

impl Service {
    /// Starts a service over a data directory, at an address (port 0: a free one), and waits until it answers. What it says is
    /// added to `service.log` in that directory.
    ///
    /// # Errors
    /// It cannot be started, or does not answer.
    pub fn start(data: &Path, address: SocketAddr, options: &[&str]) -> Result<Service, String> {
        Service::start_by(&[], data, address, options)
    }

    /// The same, by another program that becomes `tauto`, such as `unshare` with its options.
    ///
    /// # Errors
    /// It cannot be started, or does not answer.
    pub fn start_by(
        by: &[&str],
        data: &Path,
        address: SocketAddr,
        options: &[&str],
    ) -> Result<Service, String> {
        Service::start_of(&tauto::binary()?, None, by, data, address, options)
    }

    /// The same, of another version, at a site of its own.
    ///
    /// # Errors
    /// It cannot be started, or does not answer.
    pub fn start_of(
        binary: &Path,
        site: Option<&Site>,
        by: &[&str],
        data: &Path,
        address: SocketAddr,
        options: &[&str],
    ) -> Result<Service, String> {
        let log = data.join("service.log");
        let begin = fs::metadata(&log).map_or(0, |facts| facts.len());
        let file = OpenOptions::new().create(true).append(true).open(&log);
        let file = file.map_err(|error| format!("{}: {error}", log.display()))?;
        let there = site.map(Site::by).unwrap_or_default();
        let by = by.iter().map(std::ffi::OsString::from);
        let mut words = there.into_iter().chain(by).chain([binary.into()]);
        let mut command = crate::child::command(words.next().unwrap_or_default());
        command.args(words).arg("serve").arg("--listen").arg(address.to_string()).args(options);
        // Seconds of a CPU for every new data directory: who tests it switches it on.
        command.env("TAUTO_PREPARE", "off");
        let config = data.join(CONFIG);
        if config.exists() {
            command.env("TAUTO_CONFIG", config);
        }
        command.env("TAUTO_DATA_DIR", data).stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        let supervisor = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let mut service = Service { supervisor, address, log, place: site.map(Site::namespace) };
        service.address = service.said_address(usize::try_from(begin).unwrap_or_default())?;
        service.wait_until_ready()?;
        Ok(service)
    }

    fn said_address(&mut self, begin: usize) -> Result<SocketAddr, String> {
        let start = Instant::now();
        while start.elapsed() < READY_WITHIN {
            let said = self.log();
            let mut after = said.get(begin..).unwrap_or_default().split("serving at http://").skip(1);
            let address = after.next().and_then(|rest| rest.split_once('/')?.0.parse().ok());
            if let Some(address) = address {
                return Ok(address);
            }
            self.still_there()?;
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(format!("the service never said where it is: {}", self.log()))
    }

    fn still_there(&mut self) -> Result<(), String> {
        match self.supervisor.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(format!("the service ended: {status}: {}", self.log())),
            Err(error) => Err(format!("wait: {error}")),
        }
    }

    /// Waits until the web process answers.
    ///
    /// # Errors
    /// It does not.
    pub fn wait_until_ready(&mut self) -> Result<(), String> {
        let (start, mut client) = (Instant::now(), self.client());
        while start.elapsed() < READY_WITHIN {
            if client.get("/api/v1/health").is_ok_and(|response| response.status == 200) {
                return Ok(());
            }
            self.still_there()?;
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(format!("the service does not answer: {}", self.log()))
    }

    /// Where it serves.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A client of it.
    pub fn client(&self) -> Client {
        Client::new(self.address).from(self.place.clone())
    }

    /// Makes the first admin by the link the service has said; a token of theirs that may do everything.
    ///
    /// # Errors
    /// The service said no link, or does not take it.
    pub fn admin_token(&self) -> Result<String, String> {
        let said = self.log();
        let link = said.rsplit_once("/setup/").ok_or("the service said no link for an admin")?.1;
        let secret: String =
            link.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
        let (link, mut client) = (format!("/setup/{secret}"), self.client());
        let fail = |error: std::io::Error| format!("making an admin: {error}");
        let page = client.ask("GET", &link, &[("accept", "text/html")], b"").map_err(fail)?;
        let csrf = page.text().split("name=\"csrf\" value=\"").nth(1).map(str::to_string);
        let csrf = csrf.ok_or_else(|| format!("{link}: no form: {}", page.text()))?;
        let csrf = csrf.split('"').next().unwrap_or_default();
        let form = format!("csrf={csrf}&name=root&password=correct+horse&again=correct+horse");
        let cookies = cookies(&page);
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("sec-fetch-site", "same-origin"),
            ("cookie", cookies.as_str()),
        ];
        let made = client.ask("POST", &link, &headers, form.as_bytes()).map_err(fail)?;
        let session = format!("{}; {cookies}", self::cookies(&made));
        let scopes = ["submit", "read", "problems", "rejudge", "admin"];
        let asked = serde_json::json!({ "name": "test", "scopes": scopes });
        let headers = [("sec-fetch-site", "same-origin"), ("cookie", session.as_str())];
        let token = client.post("/api/v1/tokens", &headers, &asked).map_err(fail)?;
        let token = token.json()["token"].as_str().map(str::to_string);
        token.ok_or_else(|| format!("no token: {} {}", made.status, made.text()))
    }

    /// What it has said so far.
    pub fn log(&self) -> String {
        fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// The process that is this part, if it is there now.
    pub fn process(&self, part: Part) -> Option<Pid> {
        part.below(i32::try_from(self.supervisor.id()).ok()?)
    }

    /// Kills a part; whether it was there.
    pub fn kill(&mut self, part: Part) -> bool {
        let killed = self.process(part).is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok());
        if part == Part::Supervisor {
            drop(self.supervisor.wait());
        }
        killed
    }

    /// Tells it to end and waits for that.
    ///
    /// # Errors
    /// It does not end; it is killed.
    pub fn stop(mut self) -> Result<ExitStatus, String> {
        self.end()
    }

    fn end(&mut self) -> Result<ExitStatus, String> {
        if let Some(pid) = self.process(Part::Supervisor) {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::TERM);
        }
        tauto::wait(&mut self.supervisor, ENDED_WITHIN)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if matches!(self.supervisor.try_wait(), Ok(None)) {
            drop(self.end());
        }
    }
}

/// The cookies that an answer sets, as they are sent back.
pub(crate) fn cookies(answer: &Response) -> String {
    let set = answer.headers.iter().filter(|(name, _)| name == "set-cookie");
    let pairs: Vec<_> = set.filter_map(|(_, line)| line.split(';').next()).collect();
    pairs.join("; ")
}

/// Children of a process, oldest first, whichever of its threads has them.
fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let mut all: Vec<i32> = lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect();
    all.sort_unstable();
    all
}

fn first_word(pid: i32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(line.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

/// The most memory that a process ever had resident, in bytes.
pub fn most_memory(pid: Pid) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// A submission of one file, as the service takes it.
pub fn submission(problem: &str, language: &str, file: &str, source: &str, all_tests: bool) -> Value {
    let mode = if all_tests { "all_tests" } else { "stop_early" };
    let files = [serde_json::json!({ "name": file, "content": source })];
    serde_json::json!({ "problem": problem, "language": language, "files": files, "mode": mode })
}
