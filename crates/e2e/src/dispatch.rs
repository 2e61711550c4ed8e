//! How long a job waits for a slot that is idle, and how long a slot waits for a job where the queue is full: over the brokers of a fleet beside the
//! Unix socket. Two services on one PostgreSQL server, each with one worker without a slot, take turns.

use crate::brokers::{Brokers, Host, SERVERS, Setup, user_of};
use crate::http::Client;
use crate::postgres::Cluster;
use crate::queue::ANYWHERE;
use crate::service::{Service, submission};
use crate::tauto;
use crate::traffic::{post, wait_judged};
use jiff::Timestamp;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// For a worker to come, on a busy machine, and for a submission to be judged.
const PATIENCE: Duration = Duration::from_secs(120);
/// For a worker to end.
const ENDED_WITHIN: Duration = Duration::from_secs(30);
/// Between a verdict and the next submission: the worker is idle by then.
const PAUSE: Duration = Duration::from_millis(120);
/// Turns of a loop that take about a quarter of a second, so that a task takes 0.3 to 0.5 s.
const TURNS: u64 = 1_000_000_000;
/// The pool whose nodes take practice.
const POOL: &str = "default";

/// By which way a worker gets its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The Unix socket of a service on the same machine.
    Socket,
    /// Three brokers.
    Brokers,
}

impl Way {
    /// Both.
    pub const BOTH: [Way; 2] = [Way::Socket, Way::Brokers];

    fn name(self) -> &'static str {
        match self {
            Way::Socket => "socket",
            Way::Brokers => "brokers",
        }
    }
}

/// A service and its worker. Both are ended when this is dropped.
#[derive(Debug)]
struct Side {
    worker: Child,
    log: PathBuf,
    service: Service,
}

impl Drop for Side {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = kill_process(Pid::from_child(&self.worker), Signal::TERM);
        drop(tauto::wait(&mut self.worker, ENDED_WITHIN));
    }
}

/// A full queue worked off.
#[derive(Clone, Copy, Debug)]
pub struct Full {
    /// Of the time from the first task's beginning to the last one's end, the share in which the worker had none.
    pub idle: f64,
    /// Seconds of a task, in the mean.
    pub task: f64,
}

/// When a task was begun and ended, in seconds since 1970, by the worker's log.
type Tasks = BTreeMap<i64, (f64, Option<f64>)>;

/// The services.
#[derive(Debug)]
pub struct Both {
    sides: [Side; 2],
    _brokers: Brokers,
    _database: Cluster,
    _directory: TempDir,
}

fn seconds(text: &str) -> Option<f64> {
    Some(text.parse::<Timestamp>().ok()?.as_microsecond() as f64 / 1e6)
}

impl Both {
    /// Starts them, and waits until each has judged something: packages are where they are needed, and programs of theirs are compiled.
    ///
    /// # Errors
    /// PostgreSQL, `nats-server` or something of ours cannot be started.
    pub fn start() -> Result<Both, String> {
        let made = tempfile::Builder::new().prefix("tauto-dispatch-").tempdir();
        let directory = made.map_err(|error| format!("temporary directory: {error}"))?;
        let database = Cluster::start_with(true)?;
        let hosts = vec![Host::here(); 3];
        let brokers = Brokers::start(Setup { hosts, ..Setup::default() })?;
        let side = |way| side(directory.path(), way, &database, &brokers);
        let both = [side(Way::Socket)?, side(Way::Brokers)?];
        let own = Both { sides: both, _brokers: brokers, _database: database, _directory: directory };
        for way in Way::BOTH {
            own.alone(way, 3)?;
        }
        Ok(own)
    }

    fn side(&self, way: Way) -> &Side {
        &self.sides[usize::from(way == Way::Brokers)]
    }

    /// Hands in so many submissions one after another, each when the worker is idle. Seconds from taking each in to its worker's beginning.
    ///
    /// # Errors
    /// One is not judged.
    pub fn alone(&self, way: Way, count: usize) -> Result<Vec<f64>, String> {
        let side = self.side(way);
        let mut client = side.service.client();
        let before = tasks(&side.log)?.len();
        let mut taken = Vec::new();
        for n in 0..count {
            let (_, token) = post(&mut client, &program(n, 0))?;
            taken.push(created(&wait_judged(&mut client, &token, PATIENCE)?)?);
            std::thread::sleep(PAUSE);
        }
        let begun = begun(&side.log, before, count)?;
        Ok(taken.iter().zip(begun).map(|(taken, (begun, _))| begun - taken).collect())
    }

    /// Hands in so many at once.
    ///
    /// # Errors
    /// One is not judged.
    pub fn full(&self, way: Way, count: usize) -> Result<Full, String> {
        let side = self.side(way);
        let mut client = side.service.client();
        let before = tasks(&side.log)?.len();
        let tokens: Vec<String> = (0..count)
            .map(|n| Ok(post(&mut client, &program(n, TURNS))?.1))
            .collect::<Result<_, String>>()?;
        for token in &tokens {
            wait_judged(&mut client, token, PATIENCE)?;
        }
        let all = begun(&side.log, before, count)?;
        let busy: f64 = all.iter().map(|(begun, ended)| ended - begun).sum();
        let (Some(first), Some(last)) = (all.first(), all.last()) else { return Err("no task".into()) };
        let whole = last.1 - first.0;
        Ok(Full { idle: 1.0 - busy / whole, task: busy / count as f64 })
    }
}

/// A program that computes for so many turns of a loop, and has no answer; no two are the same.
fn program(n: usize, turns: u64) -> Value {
    let text =
        format!("// {n}\nint main(void) {{ for (volatile long i = 0; i < {turns}; i++) {{}} return 0; }}\n");
    submission("snowwall", "c", "short.c", &text, false)
}

fn created(state: &Value) -> Result<f64, String> {
    state["created"].as_str().and_then(seconds).ok_or_else(|| format!("no moment in {state}"))
}

fn side(directory: &Path, way: Way, database: &Cluster, brokers: &Brokers) -> Result<Side, String> {
    let data = directory.join(way.name());
    fs::create_dir(&data).map_err(|error| format!("{}: {error}", data.display()))?;
    let url = database.make(way.name())?;
    let nats = brokers.url(SERVERS);
    let mut options = vec!["--no-worker", "--database", &url];
    if way == Way::Brokers {
        options.extend(["--nats", &nats]);
    }
    let service = Service::start(&data, ANYWHERE, &options)?;
    let log = data.join("worker.log");
    let file = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let mut command = crate::child::command(tauto::binary()?);
    command.args(["worker", "--slots", "none", "--log", "json", "--node", way.name()]);
    match way {
        Way::Socket => command.arg("--connect").arg(data.join("service/work.sock")),
        Way::Brokers => command.args(["--nats", &brokers.url(&user_of(POOL)), "--pool", POOL]),
    };
    command.env("TAUTO_DATA_DIR", &data).env("TAUTO_LOG", "info,tauto::service::worker::task=debug");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
    let worker = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let side = Side { worker, log, service };
    wait_for_worker(&mut side.service.client())?;
    Ok(side)
}

fn wait_for_worker(client: &mut Client) -> Result<(), String> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        let queue = client.get("/api/v1/queue").map_err(|error| format!("the queue: {error}"))?.json();
        if queue["workers"].as_u64() == Some(1) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err("the worker does not come".into())
}

/// What a worker has begun so far, by job.
fn tasks(log: &Path) -> Result<Tasks, String> {
    let text = fs::read_to_string(log).map_err(|error| format!("{}: {error}", log.display()))?;
    let mut tasks = Tasks::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_default();
        let (at, job) = (line["timestamp"].as_str().and_then(seconds), line["fields"]["job"].as_i64());
        let (Some(at), Some(job)) = (at, job) else { continue };
        match line["fields"]["message"].as_str() {
            Some("task started") => drop(tasks.insert(job, (at, None))),
            Some("task finished") => {
                tasks.entry(job).and_modify(|task| task.1 = Some(at));
            }
            _ => {}
        }
    }
    Ok(tasks)
}

/// Beginning and end of the tasks after the first `before`, of which there are so many.
fn begun(log: &Path, before: usize, count: usize) -> Result<Vec<(f64, f64)>, String> {
    let all = tasks(log)?;
    let done: Vec<(f64, f64)> =
        all.into_values().skip(before).filter_map(|(begun, ended)| Some((begun, ended?))).collect();
    if done.len() == count {
        Ok(done)
    } else {
        Err(format!("{} tasks where {count} were handed in", done.len()))
    }
}

/// This machine, in a line.
pub fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown");
    let cpus = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let (kernel, load) = (read("/proc/sys/kernel/osrelease"), read("/proc/loadavg"));
    let load = load.split(' ').next().unwrap_or_default();
    format!("{} × {cpus}, Linux {}, load {load}", model.trim_start_matches(['\t', ' ', ':']), kernel.trim())
}
