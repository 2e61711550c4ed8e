//! A fleet that is upgraded while it works: servers and workers of this version and of the one before judge together. `make fleet-versions
//! BEFORE=/path/to/tauto`; without `TAUTO_BEFORE` there is nothing to be held against.

#![allow(clippy::print_stdout)]

use e2e::fleet::{Fleet, PoolSetup, Setup, soon};
use e2e::http::Client;
use e2e::service::{Service, submission};
use e2e::{child, leftovers, stage, tauto, traffic};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// Submissions to each pair of server and workers.
const SUBMISSIONS: usize = 60;
const PATIENCE: Duration = Duration::from_secs(300);
/// The problem: shipped with the service.
const PROBLEM: &str = "snowwall";
const RIGHT: &str = include_str!("../../../examples/snowwall/submissions/accepted/integer_root.py");

/// The version before, and this one.
fn versions() -> Option<[PathBuf; 2]> {
    let before = env::var_os("TAUTO_BEFORE")?;
    Some([before.into(), tauto::binary().expect("the binary")])
}

/// Hands all in, and waits for them: each has one judgement, the right one, and the workers of both versions judged.
fn judge_all(client: &mut Client, who: &str) {
    let all: Vec<(String, &str)> = (0..SUBMISSIONS)
        .map(|n| {
            let (source, verdict) = if n % 3 == 0 { ("print(1)\n", "WA") } else { (RIGHT, "AC") };
            let document = submission(PROBLEM, "python3", "a.py", source, false);
            (traffic::post(client, &document).expect("accepted").1, verdict)
        })
        .collect();
    let (mut workers, mut lost, mut doubled) = (BTreeMap::<String, usize>::new(), Vec::new(), Vec::new());
    for (token, verdict) in &all {
        let state = match traffic::wait_judged(client, token, PATIENCE) {
            Ok(state) => state,
            Err(why) => {
                lost.push(why);
                continue;
            }
        };
        let path = format!("/api/v1/submissions/{token}/judgements");
        let history = client.get(&path).expect("an answer").json();
        let judgements = history["judgements"].as_array().map_or(&[][..], Vec::as_slice);
        // A cross-check is another job of the same round.
        let jobs: BTreeSet<_> = judgements.iter().filter_map(|judgement| judgement["job"].as_i64()).collect();
        let current: Vec<_> = judgements.iter().filter(|judgement| judgement["current"] == true).collect();
        if jobs.len() != judgements.len() || current.len() != 1 || traffic::verdict(&state) != Some(verdict) {
            doubled.push(format!("{verdict} was to come: {history}"));
        }
        let worker = current.first().and_then(|judgement| judgement["node"].as_str()).unwrap_or("?");
        *workers.entry(worker.to_string()).or_default() += 1;
    }
    println!(
        "{who}: {SUBMISSIONS} submissions, {workers:?}, {} lost, {} doubled or wrong",
        lost.len(),
        doubled.len()
    );
    assert!(lost.is_empty() && doubled.is_empty(), "{lost:#?} {doubled:#?}");
    assert_eq!(workers.len(), 2, "both judge: {workers:?}");
}

/// A worker on this machine, over the socket.
struct Local(std::process::Child);

impl Local {
    fn start(binary: &Path, node: &str, service: &Path, data: &Path) -> Local {
        std::fs::create_dir_all(data).expect("a directory");
        let log = File::create(data.join("log")).expect("a file");
        let mut command = child::command(binary);
        command
            .args(["worker", "--slots", "none", "--node", node, "--connect"])
            .arg(service.join("service/work.sock"));
        command.env("TAUTO_DATA_DIR", data).env("TAUTO_PREPARE", "off");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        Local(command.spawn().expect("a worker"))
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        drop(tauto::wait(&mut self.0, Duration::from_secs(60)));
    }
}

fn by_socket(service: &Path, workers: &[PathBuf; 2], who: &str) {
    let data = tempfile::Builder::new().prefix("tauto-versions-").tempdir().expect("a directory");
    let own = data.path().join("service");
    std::fs::create_dir(&own).expect("a directory");
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let service = Service::start_of(service, None, &[], &own, anywhere, &["--no-worker"]).expect("a service");
    let names = ["before", "now"];
    let started: Vec<Local> = (names.iter().zip(workers))
        .map(|(name, binary)| Local::start(binary, name, &own, &data.path().join(name)))
        .collect();
    let mut client = service.client();
    let there = |client: &mut Client| {
        let queue = client.get("/api/v1/queue").map(|answer| answer.json()).unwrap_or(Value::Null);
        Ok(queue["workers"] == 2)
    };
    let connected = soon("both workers connect", || there(&mut client));
    connected.unwrap_or_else(|why| {
        let logs = names.map(|name| std::fs::read_to_string(data.path().join(name).join("log")));
        panic!("{why}: {logs:?}")
    });
    judge_all(&mut client, who);
    drop(started);
    service.stop().expect("an end");
}

fn over_brokers(service: &Path, [before, now]: &[PathBuf; 2], who: &str) {
    let fleet = Fleet::start(&Setup {
        brokers: 1,
        servers: 1,
        pools: vec![PoolSetup { name: "cloud", strict: false, workers: 2 }],
        apart: false,
        slots: "none",
        binaries: vec![service.into(), before.clone(), now.clone()],
    });
    let fleet = fleet.expect("a fleet");
    judge_all(&mut fleet.client(0), who);
    fleet.stop().expect("an end");
}

#[test]
fn versions_judge_together_without_loss() {
    let Some(versions) = versions() else {
        println!("TAUTO_BEFORE names no binary of the version before");
        return;
    };
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    leftovers::adopt_orphans().expect("ours");
    for (service, of) in versions.iter().zip(["before", "today"]) {
        by_socket(service, &versions, &format!("socket, service of {of}"));
        over_brokers(service, &versions, &format!("NATS, server of {of}"));
    }
}
