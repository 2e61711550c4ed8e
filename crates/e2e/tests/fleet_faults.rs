//! What a fleet must bear: brokers that do not know us or belong to somebody else, machines with a wrong clock or of another version, packages
//! that were damaged on their way, full disks. Each is named where somebody looks, stops work where it must, loses nothing, and passes
//! by itself when its cause has.

use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, Engine};
use e2e::brokers::{Brokers, Host, SERVERS, Setup, user_of};
use e2e::judge_node::JudgeNode;
use e2e::nats::Connection;
use e2e::queue::ANYWHERE;
use e2e::service::{Service, submission};
use e2e::stage;
use e2e::traffic::{post, state, verdict, wait_judged};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// For what must come about, on a busy machine.
const SOON: Duration = Duration::from_secs(90);
/// What must not happen is waited for so long.
const QUIET: Duration = Duration::from_secs(2);
/// The pool that is there by itself.
const POOL: &str = "default";
/// The version of the messages, as a worker of this program greets.
const PROTOCOL: u32 = 2;
/// The stream of packages.
const PACKAGES: &str = "OBJ_tauto_packages";

type Done = Result<(), Failed>;
type Test = fn(&Fleet) -> Done;

static FLEET: Mutex<Option<Result<Fleet, String>>> = Mutex::new(None);

/// One broker and one service, which all tests use.
struct Fleet {
    // Ended first.
    service: Service,
    brokers: Brokers,
    data: TempDir,
}

impl Fleet {
    fn start() -> Result<Fleet, String> {
        let data = TempDir::with_prefix("fleet-faults-").map_err(|e| e.to_string())?;
        open_to_all(data.path())?;
        let setup = Setup { hosts: vec![Host::here()], pools: vec![POOL.into()], ..Setup::default() };
        let brokers = Brokers::start(setup)?;
        let service =
            Service::start(data.path(), ANYWHERE, &["--no-worker", "--nats", &brokers.url(SERVERS)])?;
        let fleet = Fleet { service, brokers, data };
        soon("the service reaches the brokers", || Ok(fleet.brokers_are()?.ends_with("connected")))?;
        // Everything is as it is where a fleet has worked for a while.
        let first = fleet.node("first")?;
        let token = fleet.post()?;
        wait_judged(&mut fleet.service.client(), &token, SOON)?;
        drop(first);
        Ok(fleet)
    }

    fn url(&self) -> String {
        self.brokers.url(&user_of(POOL))
    }

    fn node(&self, name: &str) -> Result<JudgeNode, String> {
        JudgeNode::start::<&str>(&[], &self.data.path().join(name), (name, POOL), &self.url())
    }

    fn get(&self, path: &str) -> Result<Value, String> {
        let answer = self.service.client().get(path).map_err(|e| format!("GET {path}: {e}"))?;
        Ok(answer.json())
    }

    fn brokers_are(&self) -> Result<String, String> {
        brokers_of(&self.service)
    }

    /// What the service shows of a node: why it gets no work, in one text; empty: it does. `None`: it is not known.
    fn waits(&self, node: &str) -> Result<Option<String>, String> {
        let shown = self.get(&format!("/api/v1/nodes/{node}"))?;
        let words = |list: &Vec<Value>| list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("; ");
        Ok((shown["name"] == node).then(|| shown["waits"].as_array().map(words).unwrap_or_default()))
    }

    fn waits_for(&self, node: &str, why: &str) -> Result<String, String> {
        let mut found = String::new();
        let waited = soon(&format!("node {node} waits, by `{why}`"), || {
            found = self.waits(node)?.unwrap_or_default();
            Ok(found.contains(why))
        });
        waited.map_err(|error| format!("{error}: it says `{found}`"))?;
        Ok(found)
    }

    fn works(&self, node: &str) -> Result<(), String> {
        soon(&format!("node {node} gets work"), || Ok(self.waits(node)?.is_some_and(|why| why.is_empty())))
    }

    fn post(&self) -> Result<String, String> {
        Ok(post(&mut self.service.client(), &right())?.1)
    }

    fn judged(&self, token: &str) -> Done {
        let state = wait_judged(&mut self.service.client(), token, SOON)?;
        assert_eq!(verdict(&state), Some("AC"), "{state}");
        Ok(())
    }

    /// Nobody has judged it, and nobody is at it, for a while.
    fn stays(&self, token: &str) -> Done {
        let begun = Instant::now();
        while begun.elapsed() < QUIET {
            let state = state(&mut self.service.client(), token)?;
            assert_eq!(state["state"], "waiting", "{state}");
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

/// What a service says of its brokers, whether workers are there or not.
fn brokers_of(service: &Service) -> Result<String, String> {
    let path = "/api/v1/health/ready";
    let answer = service.client().get(path).map_err(|e| format!("GET {path}: {e}"))?.json();
    let said = if answer["brokers"].is_null() { &answer["detail"] } else { &answer["brokers"] };
    let (fact, _) = model::hint::split(said.as_str().unwrap_or_default());
    Ok(fact)
}

fn open_to_all(path: &Path) -> Result<(), String> {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path, mode).map_err(|e| format!("{}: {e}", path.display()))
}

fn soon(what: &str, mut holds: impl FnMut() -> Result<bool, String>) -> Result<(), String> {
    let begun = Instant::now();
    while !holds()? {
        if begun.elapsed() > SOON {
            return Err(format!("{what}: not within {} s", SOON.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// A right program; no two are the same.
fn right() -> Value {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let text = include_str!("../../../examples/snowwall/submissions/accepted/newton.c");
    submission("snowwall", "c", "newton.c", &format!("// {n}\n{text}"), true)
}

fn wrong_credentials(fleet: &Fleet) -> Done {
    let wrong = fleet.url().replace("word-of-", "no-word-of-");
    let mut node =
        JudgeNode::start::<&str>(&[], &fleet.data.path().join("stranger"), ("stranger", POOL), &wrong)?;
    let ended = node.ends(SOON)?;
    assert_eq!(ended.code(), Some(2), "{}", node.log());
    assert!(
        node.log().contains("refuses the credentials\nhint: check user and password in TAUTO_NATS"),
        "{}",
        node.log()
    );
    assert!(!node.log().contains("word-of-"), "no password in the log: {}", node.log());

    // A service that cannot reach them takes in what comes, and says why it waits.
    let data = fleet.data.path().join("outsider");
    std::fs::create_dir(&data)?;
    open_to_all(&data)?;
    let options = ["--no-worker", "--nats", &fleet.brokers.url(SERVERS).replace("word-of-", "no-word-of-")];
    let service = Service::start(&data, ANYWHERE, &options)?;
    soon("the service says why", || Ok(brokers_of(&service)?.contains("refuses the credentials")))?;
    post(&mut service.client(), &right())?;
    assert!(service.log().contains("refuses the credentials") && !service.log().contains("word-of-"));
    service.stop()?;
    Ok(())
}

fn brokers_of_another_service(fleet: &Fleet) -> Done {
    let data = fleet.data.path().join("other");
    std::fs::create_dir(&data)?;
    open_to_all(&data)?;
    let options = ["--no-worker", "--nats", &fleet.brokers.url(SERVERS)];
    // It may answer before it has seen whose they are.
    let said = match Service::start(&data, ANYWHERE, &options) {
        Err(said) => said,
        Ok(service) => {
            soon("it ends", || Ok(service.client().get("/api/v1/health").is_err()))?;
            // It answers no more before it says why.
            soon("it says why", || Ok(service.log().contains("of its own")))?;
            service.log()
        }
    };
    assert!(said.contains("the cluster belongs to another service"), "{said}");
    assert!(said.contains("give this service brokers or an account of its own"), "{said}");
    let brokers = fleet.brokers_are()?;
    assert!(brokers.ends_with("connected"), "{brokers}");
    Ok(())
}

fn brokers_without_a_service_or_memory(fleet: &Fleet) -> Done {
    let forgetful =
        Brokers::start(Setup { hosts: vec![Host::here()], no_jetstream: true, ..Setup::default() })?;
    let url = forgetful.url(SERVERS);
    let node = JudgeNode::start::<&str>(&[], &fleet.data.path().join("lonely"), ("lonely", POOL), &url)?;
    soon("the node says that nobody is there", || {
        Ok(node.log().contains("no service answers at this cluster"))
    })?;
    let data = fleet.data.path().join("forgetful");
    std::fs::create_dir(&data)?;
    open_to_all(&data)?;
    let service = Service::start(&data, ANYWHERE, &["--no-worker", "--nats", &url])?;
    soon("the service says that they keep nothing", || {
        Ok(service.log().contains("has no JetStream; give the brokers"))
    })?;
    service.stop()?;
    Ok(())
}

/// A worker that speaks the protocol, and nothing else.
struct Fake {
    connection: Connection,
    node: &'static str,
}

impl Fake {
    fn new(fleet: &Fleet, node: &'static str) -> Result<Fake, String> {
        Ok(Fake { connection: fleet.brokers.connect(0, &user_of(POOL))?, node })
    }

    fn ask(&mut self, ask: &Value) -> Result<Value, String> {
        let subject = format!("tauto.ask.{POOL}.{}.0", self.node);
        Ok(self.connection.request(&subject, ask.to_string().as_bytes())?.json())
    }

    /// Greets by a clock that is so many seconds ahead.
    fn hello(&mut self, protocol: u32, ahead: i64) -> Result<Value, String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|e| e.to_string())?;
        let at = i64::try_from(now.as_micros()).map_err(|e| e.to_string())? + ahead * 1_000_000;
        let unknown = json!({ "unknown": "nobody looked" });
        let statement = json!({ "form": 1, "node": self.node, "pool": POOL, "version": "9.9.9", "protocol": protocol, "at": at,
            "boot_id": "9d3f6b34", "fingerprint": "0123456789abcdef", "kind": unknown, "cpu_model": unknown, "cpu_version": unknown,
            "microcode": unknown, "topology": unknown, "memory_bytes": unknown, "kernel": unknown, "mitigations": {}, "tuning": {},
            "slots": [], "index": null });
        let slot = json!({ "id": 0, "cpus": [], "plan": null, "floor": null });
        let hello = json!({ "protocol": protocol, "version": "9.9.9", "node": self.node, "slot": slot, "holding": null });
        self.ask(&json!({ "ask": "hello", "hello": hello, "statement": statement, "at": at, "troubles": [] }))
    }

    /// A ticket, if there is one within a moment.
    fn ticket(&mut self) -> Result<Option<Value>, String> {
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.TAUTO_JOBS.pool_{POOL}");
        let asked = json!({ "batch": 1, "expires": 1_000_000_000 });
        let answer = self.connection.request(&subject, asked.to_string().as_bytes())?;
        Ok(answer.status.is_none().then(|| answer.json()))
    }
}

fn a_clock_that_is_wrong(fleet: &Fleet) -> Done {
    let mut fake = Fake::new(fleet, "skewed")?;
    let told = fake.hello(PROTOCOL, 3600)?;
    let why = told["reasons"][0].as_str().unwrap_or_default();
    assert!(told["standing"] == "waits" && why.contains("s ahead of the service's"), "{told}");
    assert!(why.contains("set the clocks, by NTP or the like"), "{told}");
    fleet.waits_for("skewed", "its clock is 3")?;
    let token = fleet.post()?;
    fleet.stays(&token)?;
    // Who was there a moment ago may have made one go out.
    let mut ticket = fake.ticket()?;
    let begin = |ticket: &Option<Value>| json!({ "ask": "begin", "ticket": ticket.clone().unwrap_or(json!({ "job": 1, "attempt": 1 })) });
    let begun = fake.ask(&begin(&ticket))?;
    assert!(begun["reply"] == "not_begun" && begun["not"] == "stopped", "{begun}");

    // The clock is set.
    let told = fake.hello(PROTOCOL, 0)?;
    assert_eq!(told["standing"], "works", "{told}");
    fleet.works("skewed")?;
    soon("a ticket", || {
        ticket = ticket.take().map_or_else(|| fake.ticket(), |had| Ok(Some(had)))?;
        Ok(ticket.is_some())
    })?;
    let begun = fake.ask(&begin(&ticket))?;
    assert_eq!(begun["reply"], "begun", "{begun}");
    // It is not judged here after all, and nobody else is there: the next test's node has it.
    let back = json!({ "outcome": "returned", "why": "it was only a test" });
    let done = fake.ask(&json!({ "ask": "done", "lease": ticket, "outcome": { "inline": back } }))?;
    assert_eq!(done["reply"], "heard", "{done}");
    fake.hello(PROTOCOL, 3600)?;
    let node = fleet.node("punctual")?;
    fleet.judged(&token)?;
    drop(node);
    Ok(())
}

fn another_version(fleet: &Fleet) -> Done {
    let mut fake = Fake::new(fleet, "newer")?;
    let told = fake.hello(PROTOCOL + 7, 0)?;
    let why = told["why"].as_str().unwrap_or_default();
    assert!(told["reply"] == "refused" && why.contains("upgrade the service"), "{told}");
    // Reasons stand on one line.
    fleet.waits_for("newer", &model::hint::in_one_line(why))?;
    // What is said in a form that nobody here understands.
    let told = fake.ask(&json!({ "ask": "sing" }))?;
    let why = told["why"].as_str().unwrap_or_default();
    assert!(told["reply"] == "refused" && why.contains("install the same tauto on both"), "{told}");
    // The right one is installed.
    let told = fake.hello(PROTOCOL, 0)?;
    assert_eq!(told["standing"], "works", "{told}");
    fleet.works("newer")?;
    fake.hello(PROTOCOL, 3600)?;
    Ok(())
}

/// Has other bytes come where a package was put.
fn damage(servers: &mut Connection, chunks: &str) -> Result<(), String> {
    servers.jetstream(&format!("STREAM.PURGE.{PACKAGES}"), &json!({ "filter": chunks }))?;
    servers.store(chunks, b"no package").map(drop)
}

/// Where the parts of the newest package lie.
fn chunks(servers: &mut Connection) -> Result<String, String> {
    let all = servers.jetstream(&format!("STREAM.INFO.{PACKAGES}"), &json!({ "subjects_filter": ">" }))?;
    let subjects = all["state"]["subjects"].as_object().cloned().unwrap_or_default();
    let metas: Vec<&String> = subjects.keys().filter(|subject| subject.contains(".M.")).collect();
    let [meta] = metas[..] else { return Err(format!("{} packages where one was put", metas.len())) };
    let name = meta.rsplit('.').next().unwrap_or_default();
    assert!(BASE64_URL_SAFE.decode(name).is_ok_and(|hash| hash.len() == 64), "named by its hash: {meta}");
    let found = servers.jetstream(&format!("STREAM.MSG.GET.{PACKAGES}"), &json!({ "last_by_subj": meta }))?;
    let data = BASE64_STANDARD.decode(found["message"]["data"].as_str().unwrap_or_default());
    let info: Value = serde_json::from_slice(&data.unwrap_or_default()).unwrap_or_default();
    let nuid = info["nuid"].as_str().ok_or_else(|| format!("no place in {info}"))?;
    Ok(format!("$O.tauto_packages.C.{nuid}"))
}

fn a_package_that_was_damaged(fleet: &Fleet) -> Done {
    let mut servers = fleet.brokers.connect(0, SERVERS)?;
    let subject = chunks(&mut servers)?;
    damage(&mut servers, &subject)?;
    let node = fleet.node("fresh")?;
    fleet.judged(&fleet.post()?)?;
    assert!(
        fleet.service.log().contains("a package came damaged from the object store"),
        "{}",
        fleet.service.log()
    );
    assert!(node.log().contains("a fetched package has another hash"), "{}", node.log());
    Ok(())
}

fn a_package_that_is_damaged_again_and_again(fleet: &Fleet) -> Done {
    let mut servers = fleet.brokers.connect(0, SERVERS)?;
    let subject = chunks(&mut servers)?;
    damage(&mut servers, &subject)?;
    let on = AtomicBool::new(true);
    let mut listening = fleet.brokers.connect(0, SERVERS)?;
    listening.subscribe("$O.tauto_packages.C.>")?;
    listening.flush()?;
    std::thread::scope(|scope| {
        let spoiler = scope.spawn(|| {
            while on.load(Ordering::SeqCst) {
                let put = listening.next(Duration::from_millis(20))?;
                if let Some(put) = put.filter(|put| put.payload != b"no package") {
                    damage(&mut servers, &put.subject)?;
                }
            }
            Ok::<_, String>(())
        });
        let spoiled = (|| {
            let node = fleet.node("unlucky")?;
            fleet.works("unlucky")?;
            let token = fleet.post()?;
            let why = fleet.waits_for("unlucky", "twice")?;
            assert!(why.contains("package ") && why.contains(" came as "), "{why}");
            fleet.stays(&token)?;
            Ok::<_, Failed>((node, token))
        })();
        on.store(false, Ordering::SeqCst);
        spoiler.join().map_err(|_| "the spoiler panicked")??;
        let (node, token) = spoiled?;
        fleet.judged(&token)?;
        fleet.works("unlucky")?;
        assert!(node.log().contains("packages can be taken again"), "{}", node.log());
        Ok(())
    })
}

fn a_full_disk(fleet: &Fleet) -> Done {
    let data = fleet.data.path().join("crammed");
    std::fs::create_dir(&data)?;
    let mount = format!("mount -t tmpfs -o size=2m,mode=755 tmpfs {} && exec \"$@\"", data.display());
    let by = ["unshare", "--mount", "sh", "-c", &mount, "sh"];
    let node = JudgeNode::start(&by, &data, ("crammed", POOL), &fleet.url())?;
    fleet.works("crammed")?;
    let inside = |script: &str| -> Result<(), String> {
        let pid = node.pid().as_raw_nonzero().to_string();
        let mut command = Command::new("nsenter");
        command.args(["--mount", "--target", &pid, "--", "sh", "-c", script, "sh"]).arg(data.join("filler"));
        let ended = command.output().map_err(|e| format!("nsenter: {e}"))?;
        ended
            .status
            .success()
            .then_some(())
            .ok_or_else(|| String::from_utf8_lossy(&ended.stderr).into_owned())
    };
    inside("dd if=/dev/zero of=\"$1\" bs=4k status=none; [ -s \"$1\" ]")?;
    let token = fleet.post()?;
    let why = fleet.waits_for("crammed", "No space left on device")?;
    assert!(why.contains(&data.join("worker-packages").display().to_string()), "{why}");
    fleet.stays(&token)?;
    inside("rm \"$1\"")?;
    fleet.judged(&token)?;
    fleet.works("crammed")?;
    assert!(node.log().contains("no task is taken until this has passed"), "{}", node.log());
    Ok(())
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let lacking = !stage::is_root() || Command::new("nats-server").arg("--version").output().is_err();
    let needs = if lacking { " (needs root and nats-server)" } else { "" };
    let _lock = stage::alone(&e2e::scratch!());
    let all: [(&str, Test); 8] = [
        ("wrong credentials", wrong_credentials),
        ("brokers of another service", brokers_of_another_service),
        ("brokers without a service, or that keep nothing", brokers_without_a_service_or_memory),
        ("a clock that is wrong", a_clock_that_is_wrong),
        ("another version", another_version),
        ("a package that was damaged", a_package_that_was_damaged),
        ("a package that is damaged again and again", a_package_that_is_damaged_again_and_again),
        ("a full disk", a_full_disk),
    ];
    let trial = |(name, run): (&str, Test)| {
        let test = move || {
            let mut fleet = FLEET.lock().unwrap_or_else(PoisonError::into_inner);
            run(fleet.get_or_insert_with(Fleet::start).as_ref().map_err(|why| why.clone())?)
        };
        Trial::test(format!("{name}{needs}"), test).with_ignored_flag(lacking)
    };
    let code = libtest_mimic::run(&arguments, all.into_iter().map(trial).collect()).exit_code();
    // What is static is never dropped, and its processes would stay.
    drop(FLEET.lock().unwrap_or_else(PoisonError::into_inner).take());
    code
}
