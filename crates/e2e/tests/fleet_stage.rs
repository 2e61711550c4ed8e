//! What the tests of a fleet stand on: networks whose links can be cut, brokers that can be killed, a database that servers share, and
//! workers that judge side by side on one machine.

use e2e::brokers::{Brokers, Host, SERVERS, Setup, user_of};
use e2e::certificates::Certificates;
use e2e::fleet::soon;
use e2e::leftovers::{self, Snapshot};
use e2e::network::{HUB, Network, Site};
use e2e::postgres::Cluster;
use e2e::service::{Service, submission};
use e2e::traffic::{post, verdict, wait_judged};
use e2e::{stage, tauto};
use libtest_mimic::{Arguments, Failed, Trial};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// For what must come about, on a busy machine.
const SOON: Duration = Duration::from_secs(60);
/// For a connection over a link that is cut.
const LOST_AFTER: Duration = Duration::from_millis(300);
/// Machines that judge.
const WORKERS: usize = 6;

type Done = Result<(), Failed>;
type Test = fn() -> Done;

/// A command at a site.
fn at(site: &Site, program: &Path) -> Command {
    let mut words = site.by().into_iter();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).arg(program).stdin(Stdio::null());
    command
}

/// Whether somebody at the site can connect to this address.
fn reaches(site: &Site, address: SocketAddr) -> Result<bool, String> {
    let script = "import socket, sys\nsocket.create_connection((sys.argv[1], int(sys.argv[2])), 0.3)";
    let mut python = at(site, Path::new("python3"));
    python.args(["-c", script, &address.ip().to_string(), &address.port().to_string()]);
    Ok(python.stderr(Stdio::null()).status().map_err(|e| format!("python3: {e}"))?.success())
}

fn links_are_cut_and_mended() -> Done {
    let before = Snapshot::take();
    let mut network = Network::new()?;
    let (first, second) = (network.site()?, network.site()?);
    let inside = network.enter()?;
    let listening = TcpListener::bind((HUB, 0))?;
    let address = listening.local_addr()?;
    soon("the first site reaches the hub", || reaches(&first, address))?;
    soon("the second site reaches the hub", || reaches(&second, address))?;
    first.cut()?;
    assert!(!reaches(&first, address)? && reaches(&second, address)?);
    first.mend()?;
    soon("the first site reaches the hub again", || reaches(&first, address))?;
    // Nobody listens there: a site that is reached refuses.
    let closed = SocketAddr::from((second.address(), 9));
    let refused = TcpStream::connect_timeout(&closed, LOST_AFTER).err().map(|error| error.kind());
    assert_eq!(refused, Some(ErrorKind::ConnectionRefused));
    drop(inside);
    assert!(TcpStream::connect_timeout(&address, LOST_AFTER).is_err(), "the host knows nothing of it");
    drop((listening, first, second, network));
    Ok(before.wait_until_clean(SOON, Vec::new)?)
}

fn hosts(sites: &[Site]) -> Vec<Host> {
    sites.iter().map(Host::from).collect()
}

/// A stream of tickets as the service keeps it, with one consumer for each of two pools.
fn make_stream(brokers: &Brokers, replicas: usize) -> Result<(), String> {
    let mut servers = brokers.connect(0, SERVERS)?;
    let stream = json!({ "name": "TAUTO_JOBS", "subjects": ["tauto.jobs.*"], "retention": "workqueue",
        "storage": "file", "num_replicas": replicas });
    servers.jetstream("STREAM.CREATE.TAUTO_JOBS", &stream)?;
    for pool in ["one", "two"] {
        let config = json!({ "durable_name": format!("pool_{pool}"), "ack_policy": "explicit",
            "filter_subject": format!("tauto.jobs.{pool}") });
        let asked = json!({ "stream_name": "TAUTO_JOBS", "config": config });
        servers.jetstream(&format!("CONSUMER.DURABLE.CREATE.TAUTO_JOBS.pool_{pool}"), &asked)?;
    }
    Ok(())
}

fn kept(brokers: &Brokers, n: usize) -> Result<Option<u64>, String> {
    let mut servers = brokers.connect(n, SERVERS)?;
    let state = servers.jetstream("STREAM.INFO.TAUTO_JOBS", &Value::Null);
    Ok(state.ok().and_then(|state| state["state"]["messages"].as_u64()))
}

fn brokers_are_killed_and_come_back() -> Done {
    let before = Snapshot::take();
    let mut network = Network::new()?;
    let sites = (0..3).map(|_| network.site()).collect::<Result<Vec<_>, _>>()?;
    let inside = network.enter()?;
    let mut brokers = Brokers::start(Setup { hosts: hosts(&sites), ..Setup::default() })?;
    make_stream(&brokers, 3)?;
    let mut leader = None;
    soon("a leader", || {
        leader = brokers.leader("TAUTO_JOBS");
        Ok(leader.is_some())
    })?;
    let first = leader.ok_or("no leader")?;
    for n in 0..10 {
        brokers.connect(first, SERVERS)?.store("tauto.jobs.one", format!("{n}").as_bytes())?;
    }
    assert!(brokers.kill(first) && !brokers.is_up(first) && !brokers.kill(first));
    let another = (first + 1) % 3;
    soon("another leader, who has everything", || {
        Ok(brokers.leader("TAUTO_JOBS").is_some_and(|now| now != first)
            && kept(&brokers, another)? == Some(10))
    })?;
    brokers.connect(another, SERVERS)?.store("tauto.jobs.two", b"11")?;
    brokers.start_one(first)?;
    brokers.wait_until_whole()?;

    // One that is cut off is as good as dead for the others, and alone it is nobody's leader.
    let cut = brokers.leader("TAUTO_JOBS").ok_or("no leader")?;
    sites[cut].cut()?;
    let others = (cut + 1) % 3;
    soon("a leader beyond the cut", || Ok(kept(&brokers, others).is_ok_and(|count| count == Some(11))))?;
    sites[cut].mend()?;
    soon("the one that was cut off knows what happened", || {
        Ok(kept(&brokers, cut).is_ok_and(|count| count == Some(11)))
    })?;
    drop((brokers, inside, sites, network));
    Ok(before.wait_until_clean(SOON, Vec::new)?)
}

fn workers_may_no_more_than_their_pool_needs() -> Done {
    let pools = vec!["one".to_string(), "two".to_string()];
    let brokers = Brokers::start(Setup { hosts: vec![Host::here()], pools, ..Setup::default() })?;
    make_stream(&brokers, 1)?;
    brokers.connect(0, SERVERS)?.store("tauto.jobs.one", b"ticket")?;
    let worker = user_of("one");
    let next = |pool: &str| {
        let asked = br#"{"batch":1,"no_wait":true}"#;
        brokers
            .connect(0, &worker)?
            .request(&format!("$JS.API.CONSUMER.MSG.NEXT.TAUTO_JOBS.pool_{pool}"), asked)
    };
    let ticket = next("one")?;
    assert_eq!((ticket.subject.as_str(), &ticket.payload[..]), ("tauto.jobs.one", &b"ticket"[..]));
    let refused = next("two").expect_err("another pool's tickets");
    assert!(refused.contains("Permissions Violation"), "{refused}");

    let mut allowed = brokers.connect(0, &worker)?;
    for subject in [ticket.reply.as_str(), "tauto.ask.one.n1.0", "tauto.live.7", "$KV.tauto_workers.one.n1.0"]
    {
        allowed.publish(subject, "", b"+ACK")?;
        allowed.flush().map_err(|why| format!("{subject}: {why}"))?;
    }
    assert_eq!(kept(&brokers, 0)?, Some(0), "the ticket was acknowledged");
    for subject in [
        "tauto.ask.two.n1.0",
        "tauto.jobs.one",
        "$KV.tauto_workers.two.n1.0",
        "$KV.tauto_service.id",
        "$O.tauto_packages.C.x",
        "$JS.API.STREAM.DELETE.TAUTO_JOBS",
        "$JS.API.STREAM.PURGE.TAUTO_JOBS",
        "$JS.API.CONSUMER.CREATE.TAUTO_JOBS",
        "$JS.API.CONSUMER.DELETE.TAUTO_JOBS.pool_one",
    ] {
        let mut tried = brokers.connect(0, &worker)?;
        tried.publish(subject, "", b"")?;
        let refused = tried.flush().expect_err(subject);
        assert!(refused.contains("Permissions Violation"), "{subject}: {refused}");
    }
    for subject in [">", "_INBOX.>", "_INBOX.servers.>", "_INBOX.pool_two.>", "tauto.ask.>", "tauto.jobs.one"]
    {
        let mut tried = brokers.connect(0, &worker)?;
        tried.subscribe(subject)?;
        let refused = tried.flush().expect_err(subject);
        assert!(refused.contains("Permissions Violation"), "{subject}: {refused}");
    }
    let nobody = brokers.connect(0, "nobody").expect_err("a user that is not known");
    assert!(nobody.contains("Authorization Violation"), "{nobody}");
    Ok(())
}

/// Brokers, server and worker know each other by certificates; who has none gets nowhere, and is told why.
fn all_show_their_certificates() -> Done {
    let secured = Brokers::start(Setup { hosts: vec![Host::here()], tls: true, ..Setup::default() })?;
    assert!(secured.connect(0, SERVERS).is_err(), "whoever does not speak TLS is refused");
    let Certificates { authority, certificate, key } = secured.certificates().ok_or("no certificates")?;
    let words = |path: &Path| path.display().to_string();
    let (authority, certificate, key) = (words(authority), words(certificate), words(key));
    let known = ["--nats-ca", &authority, "--nats-cert", &certificate, "--nats-key", &key];
    let (data, url) = (directory("fleet-")?, secured.url(SERVERS));
    let node = |options: &[&str], log: &str| -> Result<Child, String> {
        let mut worker = Command::new(tauto::binary()?);
        worker
            .args(["worker", "--slots", "none", "--node", "a", "--pool", "default", "--nats", &url])
            .args(options);
        let (own, log) = (data.path().join("node"), data.path().join(log));
        let log = std::fs::File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        worker.env("TAUTO_DATA_DIR", own).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        worker.spawn().map_err(|error| format!("{worker:?}: {error}"))
    };
    let options = [&["--no-worker", "--nats", &url], &known[..]].concat();
    let service = Service::start(data.path(), SocketAddr::from(([127, 0, 0, 1], 0)), &options)?;
    let mut stranger = node(&known[..2], "stranger.log")?;
    let said = || std::fs::read_to_string(data.path().join("stranger.log")).unwrap_or_default();
    let refused = soon("a worker without a certificate is refused", || Ok(said().contains("ertificate")));
    end(&mut stranger)?;
    refused.map_err(|error| format!("{error}: {}", said()))?;
    let mut friend = node(&known, "friend.log")?;
    let judged = (|| {
        let mut client = service.client();
        let (_, token) = post(&mut client, &untouched())?;
        wait_judged(&mut client, &token, SOON)
    })();
    end(&mut friend)?;
    assert_eq!(verdict(&judged?), Some("AC"));
    service.stop()?;
    Ok(())
}

fn brokers_may_keep_nothing() -> Done {
    let forgetful =
        Brokers::start(Setup { hosts: vec![Host::here()], no_jetstream: true, ..Setup::default() })?;
    assert!(make_stream(&forgetful, 1).is_err());
    Ok(())
}

fn a_service_keeps_its_things_in_postgresql() -> Done {
    let cluster = Cluster::start()?;
    let url = cluster.make("judge")?;
    let data = directory("fleet-")?;
    let options = ["--no-worker", "--database", &url];
    let service = Service::start(data.path(), SocketAddr::from(([127, 0, 0, 1], 0)), &options)?;
    post(&mut service.client(), &untouched())?;
    service.stop()?;
    let service = Service::start(data.path(), SocketAddr::from(([127, 0, 0, 1], 0)), &options)?;
    assert_eq!(service.client().get("/api/v1/queue")?.json()["live"], 1);
    service.stop()?;
    Ok(())
}

fn directory(prefix: &str) -> Result<TempDir, String> {
    let permissions = std::fs::Permissions::from_mode(0o755);
    let made = tempfile::Builder::new().prefix(prefix).permissions(permissions).tempdir();
    made.map_err(|error| format!("temporary directory: {error}"))
}

/// A program that is right where nothing of other runs, before it or beside it, is in its sight.
fn untouched() -> Value {
    submission("snowwall", "c", "leftovers.c", include_str!("../chaos/leftovers.c"), true)
}

/// One that takes its time, and none of the CPU.
fn slow() -> Value {
    submission("snowwall", "c", "slow.c", "#include <unistd.h>\nint main(void) { sleep(1); }\n", true)
}

/// A worker without a slot, at a site of its own, with a directory of its own.
fn worker(site: &Site, data: &Path, socket: &Path, node: &str) -> Result<Child, String> {
    let mut worker = at(site, &tauto::binary()?);
    worker.args(["worker", "--slots", "none", "--node", node, "--connect"]).arg(socket);
    let log = std::fs::File::create(data.join("log")).map_err(|e| format!("{}: {e}", data.display()))?;
    worker.env("TAUTO_DATA_DIR", data).stdout(Stdio::null()).stderr(log);
    worker.spawn().map_err(|error| format!("{worker:?}: {error}"))
}

fn workers_without_a_slot_judge_side_by_side() -> Done {
    let before = Snapshot::take();
    let data = directory("fleet-")?;
    let service = Service::start(data.path(), SocketAddr::from(([127, 0, 0, 1], 0)), &["--no-worker"])?;
    let socket = data.path().join("service/work.sock");
    let mut network = Network::new()?;
    let (mut workers, mut sites) = (Vec::new(), Vec::new());
    for n in 0..WORKERS {
        let own = data.path().join(format!("node{n}"));
        std::fs::create_dir(&own)?;
        let site = network.site()?;
        workers.push(worker(&site, &own, &socket, &format!("node{n}"))?);
        sites.push(site);
    }
    let mut client = service.client();
    soon("all workers", || {
        let queue = client.get("/api/v1/queue").map_err(|e| e.to_string())?.json();
        Ok(queue["workers"].as_u64() == u64::try_from(WORKERS).ok())
    })?;
    let slow: Vec<String> =
        (0..WORKERS).map(|_| Ok(post(&mut client, &slow())?.1)).collect::<Result<_, String>>()?;
    // No work is left waiting while a worker is free.
    soon("all are at work at the same time", || {
        let queue = client.get("/api/v1/queue").map_err(|e| e.to_string())?.json();
        Ok(queue["judging"].as_u64() == u64::try_from(WORKERS).ok())
    })?;
    let tokens: Vec<String> =
        (0..WORKERS * 2).map(|_| Ok(post(&mut client, &untouched())?.1)).collect::<Result<_, String>>()?;
    for token in &slow {
        assert_eq!(verdict(&wait_judged(&mut client, token, SOON)?), Some("WA"));
    }
    for token in &tokens {
        let state = wait_judged(&mut client, token, SOON * 2)?;
        assert_eq!(verdict(&state), Some("AC"), "{state}");
    }
    workers.iter_mut().try_for_each(end)?;
    service.stop()?;
    drop((sites, network));
    Ok(before.wait_until_clean(SOON, Vec::new)?)
}

fn end(worker: &mut Child) -> Result<(), String> {
    kill_process(Pid::from_child(worker), Signal::TERM).map_err(|error| format!("kill: {error}"))?;
    tauto::wait(worker, SOON).map(drop)
}

/// What is not on this machine; `root` because namespaces take it.
fn lacking() -> Vec<&'static str> {
    let there = |program: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|directory| directory.join(program).exists())
    };
    let programs: BTreeSet<&str> = ["nats-server", "ip", "nsenter", "openssl", "python3"].into();
    let root = (!stage::is_root()).then_some("root");
    programs.into_iter().filter(|program| !there(program)).chain(root).collect()
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    if let Err(why) = leftovers::adopt_orphans() {
        return libtest_mimic::run(&arguments, vec![Trial::test("stage", move || Err(why.into()))])
            .exit_code();
    }
    let lock = stage::alone(&e2e::scratch!());
    let lacking = lacking();
    let needs = if lacking.is_empty() { String::new() } else { format!(" (needs {})", lacking.join(", ")) };
    let all: [(&str, Test); 7] = [
        ("links are cut and mended", links_are_cut_and_mended),
        ("brokers are killed and come back", brokers_are_killed_and_come_back),
        ("workers may no more than their pool needs", workers_may_no_more_than_their_pool_needs),
        ("all show their certificates", all_show_their_certificates),
        ("brokers may keep nothing", brokers_may_keep_nothing),
        ("a service keeps its things in PostgreSQL", a_service_keeps_its_things_in_postgresql),
        ("workers without a slot judge side by side", workers_without_a_slot_judge_side_by_side),
    ];
    let trial = |(name, run): (&str, Test)| {
        Trial::test(format!("{name}{needs}"), run).with_ignored_flag(!lacking.is_empty())
    };
    let code = libtest_mimic::run(&arguments, all.into_iter().map(trial).collect()).exit_code();
    drop(lock);
    code
}
