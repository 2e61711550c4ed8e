//! Running the service: its two roles as separate processes, as the systemd units start them; what an operator does with its database; and
//! a database of the first released schema.

use e2e::package::{self, DOUBLE, RIGHT};
use e2e::postgres::Cluster;
use e2e::service::{Service, submission};
use e2e::stage::copy_program;
use e2e::traffic::{post, state, verdict, wait_judged};
use e2e::{certificates, http::Client, tauto};
use libtest_mimic::{Arguments, Failed, Trial};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// For a submission to be judged; other suites may hold the slot.
const JUDGED_WITHIN: Duration = Duration::from_secs(120);
/// For a command of `tauto database`.
const COMMAND_WITHIN: Duration = Duration::from_secs(60);
/// The user of a database server that root starts.
const NOBODY: u32 = 65_534;
/// The web process's user, where none is called `tautochrone`.
const WEB: u32 = 60_780;

type Done = Result<(), Failed>;

/// A process of the service that is ended with the test.
struct Role(Child);

impl Role {
    fn stop(&mut self, signal: Signal) -> Result<(), String> {
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw).ok_or("no pid")?;
        kill_process(pid, signal).map_err(|e| format!("kill: {e}"))?;
        tauto::wait(&mut self.0, Duration::from_secs(40)).map(drop)
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            drop(self.stop(Signal::TERM));
        }
    }
}

/// A data directory as tmpfiles.d makes it, and the program beside it: the web process's user may not pass through a clone below /root.
fn data() -> Result<TempDir, String> {
    let fail = |e: std::io::Error| format!("data directory: {e}");
    let data = TempDir::with_prefix("apart-").map_err(fail)?;
    fs::set_permissions(data.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).map_err(fail)?;
    let service = data.path().join("service");
    fs::DirBuilder::new().mode(0o700).create(&service).map_err(fail)?;
    if geteuid().is_root() {
        chown(&service, Some(WEB), Some(WEB)).map_err(fail)?;
    }
    copy_program(&tauto::binary()?, &data.path().join("tauto"))?;
    Ok(data)
}

/// As tautochrone-web.service starts it.
fn web(data: &Path, http: &TcpListener) -> Result<Role, String> {
    let http = http.try_clone().map_err(|e| format!("socket: {e}"))?;
    let mut command = Command::new(data.join("tauto"));
    command.args(["serve", "--web", "--directory"]).arg(data.join("service"));
    command.stdin(Stdio::from(OwnedFd::from(http)));
    if geteuid().is_root() {
        command.uid(WEB).gid(WEB);
    }
    start(command, data)
}

/// As tautochrone-worker.service starts it.
fn worker(data: &Path) -> Result<Role, String> {
    let mut command = Command::new(tauto::binary()?);
    command.args(["worker", "--connect"]).arg(data.join("service/work.sock")).stdin(Stdio::null());
    start(command, data)
}

fn start(mut command: Command, data: &Path) -> Result<Role, String> {
    let log = fs::OpenOptions::new().create(true).append(true).open(data.join("log"));
    command.env("TAUTO_DATA_DIR", data).stdout(Stdio::null()).stderr(log.map_err(|e| format!("log: {e}"))?);
    command.spawn().map(Role).map_err(|e| format!("{command:?}: {e}"))
}

fn ready(client: &mut Client) -> Result<(), String> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        if client.get("/api/v1/health/ready").is_ok_and(|answer| answer.status == 200) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err("the web process is not ready".into())
}

fn right() -> serde_json::Value {
    submission(
        "snowwall",
        "c",
        "newton.c",
        include_str!("../../../examples/snowwall/submissions/accepted/newton.c"),
        false,
    )
}

fn judged_right(client: &mut Client, token: &str) -> Result<(), String> {
    let state = wait_judged(client, token, JUDGED_WITHIN)?;
    if verdict(&state) == Some("AC") { Ok(()) } else { Err(format!("not AC: {state}")) }
}

/// A line of a process's status file.
fn status_of(pid: u32, name: &str) -> Result<String, String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).map_err(|e| format!("status: {e}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.map(|value| value.trim().to_string()).ok_or_else(|| format!("{name}: no such line"))
}

fn apart() -> Done {
    let data = data()?;
    let log = || fs::read_to_string(data.path().join("log")).unwrap_or_default();
    let work = || -> Result<(), String> {
        let http = TcpListener::bind("127.0.0.1:0").map_err(|e| format!("socket: {e}"))?;
        let address = http.local_addr().map_err(|e| format!("socket: {e}"))?;
        let mut client = Client::new(address);
        // The worker first: it waits for the web process.
        let mut working = worker(data.path())?;
        let mut serving = web(data.path(), &http)?;
        ready(&mut client)?;
        for name in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
            let set = status_of(serving.0.id(), name)?;
            if !set.trim_start_matches('0').is_empty() {
                return Err(format!("the web process has {name} {set}"));
            }
        }
        if status_of(serving.0.id(), "NoNewPrivs")? != "1" {
            return Err("the web process may gain privileges".into());
        }
        let first = post(&mut client, &right())?.1;
        judged_right(&mut client, &first)?;
        // The workers end; what comes in meanwhile waits for others.
        working.stop(Signal::TERM)?;
        let second = post(&mut client, &right())?.1;
        let _working = worker(data.path())?;
        judged_right(&mut client, &second)?;
        // The web process ends in the middle of something, and another one takes the socket over.
        let third = post(&mut client, &right())?.1;
        serving.stop(Signal::KILL)?;
        let _serving = web(data.path(), &http)?;
        let mut client = Client::new(address);
        ready(&mut client)?;
        for token in [first, second, third] {
            judged_right(&mut client, &token)?;
            once(&mut client, &token)?;
        }
        Ok(())
    };
    work().map_err(|why| format!("{why}\n{}", log()).into())
}

/// It has exactly one judgement, and that is the current one.
fn once(client: &mut Client, token: &str) -> Result<(), String> {
    let answer = client.get(&format!("/api/v1/submissions/{token}/judgements")).map_err(|e| e.to_string())?;
    let history = answer.json();
    let all = history.as_array().or_else(|| history["judgements"].as_array());
    match all.map(Vec::len) {
        Some(1) => Ok(()),
        _ => Err(format!("{token}: not one judgement: {history}")),
    }
}

/// The web process has put a link to a socket of root's in the place of its own: nothing is said there.
fn lured() -> Done {
    if !geteuid().is_root() {
        return Ok(());
    }
    let data = data()?;
    let (place, other) = (data.path().join("service/work.sock"), data.path().join("other.sock"));
    let listening = std::os::unix::net::UnixListener::bind(&other)?;
    listening.set_nonblocking(true)?;
    symlink(&other, &place)?;
    std::os::unix::fs::lchown(&place, Some(WEB), Some(WEB))?;
    let mut working = worker(data.path())?;
    let begun = Instant::now();
    let mut heard = String::new();
    let mut connected = 0;
    let said = loop {
        if let Ok((stream, _)) = listening.accept() {
            connected += 1;
            stream.set_nonblocking(false)?;
            stream.set_read_timeout(Some(Duration::from_secs(2)))?;
            std::io::Read::read_to_string(&mut &stream, &mut heard)?;
        }
        let said = fs::read_to_string(data.path().join("log"))?;
        if said.contains("nothing was said") && connected > 0 || begun.elapsed() > Duration::from_secs(60) {
            break said;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    working.stop(Signal::TERM)?;
    assert!(said.contains("user 0 listens there"), "{said}");
    assert_eq!((connected > 0, heard.as_str()), (true, ""));
    Ok(())
}

/// Runs `tauto database`: exit code and what it printed.
fn database(data: &Path, words: &[&str]) -> Result<(i32, String, String), String> {
    let mut command = Command::new(tauto::binary()?);
    command.arg("database").args(words).env("TAUTO_DATA_DIR", data);
    let ended = tauto::run(&mut command, false, COMMAND_WITHIN)?;
    Ok((ended.code()?, ended.stdout.clone(), ended.stderr.clone()))
}

fn expect(data: &Path, words: &[&str], code: i32, part: &str) -> Result<String, String> {
    let (found, out, err) = database(data, words)?;
    match (found == code, format!("{out}{err}").contains(part)) {
        (true, true) => Ok(out),
        _ => Err(format!("database {words:?}: exit code {found}, wanted {code} and `{part}`: {out}{err}")),
    }
}

/// The node has told of itself what pages and comparisons need.
fn told_of_node(client: &mut Client) -> Result<(), String> {
    let mut get = |path: &str| client.get(path).map(|answer| answer.json()).map_err(|e| e.to_string());
    let name =
        get("/api/v1/nodes")?.pointer("/nodes/0/name").and_then(|name| name.as_str().map(String::from));
    let name = name.ok_or("no node is known")?;
    let facts = get(&format!("/api/v1/nodes/{name}"))?["facts"].clone();
    let filled = |path: &str| {
        facts.pointer(path).and_then(|list| list.as_array()).is_some_and(|list| !list.is_empty())
    };
    for path in ["/audit/findings", "/languages/languages"] {
        if !filled(path) {
            return Err(format!("the node did not tell {path}: {facts}"));
        }
    }
    for path in ["/slots/slots", "/tuning/changes", "/fingerprint", "/kernel", "/memory_bytes"] {
        if facts.pointer(path).is_none_or(|value| value.is_null()) {
            return Err(format!("the node did not tell {path}: {facts}"));
        }
    }
    Ok(())
}

fn operated() -> Done {
    let data = TempDir::with_prefix("operated-")?;
    fs::set_permissions(data.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let path = data.path();
    expect(path, &["check"], 2, "No such file")?;
    let service = Service::start(path, SocketAddr::from(([127, 0, 0, 1], 0)), &[])?;
    let mut client = service.client();
    let token = post(&mut client, &right())?.1;
    judged_right(&mut client, &token)?;
    told_of_node(&mut client)?;
    // All of it while the service runs.
    expect(path, &["check"], 0, ": ok")?;
    let copy = path.join("copy.db");
    let copy_name = copy.display().to_string();
    expect(path, &["backup", &copy_name], 0, &copy_name)?;
    expect(path, &["backup", &copy_name], 2, "name another file")?;
    expect(path, &["backup", "-", "--json"], 2, "standard output")?;
    let found = expect(path, &["check", "--json", "--database", &copy_name], 0, "\"wrong\": []")?;
    let document: serde_json::Value = serde_json::from_str(&found)?;
    assert!(document["schema"].as_i64() > Some(1), "{document}");
    let about = fs::metadata(&copy)?;
    assert_eq!((about.mode() & 0o777, about.uid()), (0o600, geteuid().as_raw()));
    expect(path, &["forget", "--older-than", "1"], 0, "runs of 0 submissions")?;
    expect(path, &["forget", "--older-than", "0"], 2, "0")?;
    assert_eq!(verdict(&state(&mut client, &token)?), Some("AC"));
    // Nothing of ours is left in the directory of the web process.
    let owner = fs::metadata(path.join("service"))?.uid();
    for entry in fs::read_dir(path.join("service"))? {
        let entry = entry?;
        assert_eq!(entry.metadata()?.uid(), owner, "{:?}", entry.path());
        assert!(!entry.file_name().to_string_lossy().starts_with(".tmp"), "{:?}", entry.path());
    }
    service.stop()?;
    restored(path, &copy)?;
    if geteuid().is_root() {
        planted(path)?;
    }
    Ok(())
}

/// A backup takes the place of the database; what was judged is there.
fn restored(data: &Path, copy: &Path) -> Done {
    let place = data.join("service/tautochrone.db");
    let about = fs::metadata(&place)?;
    for end in ["", "-wal", "-shm"] {
        match fs::remove_file(format!("{}{end}", place.display())) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e.into()),
            _ => {}
        }
    }
    fs::copy(copy, &place)?;
    chown(&place, Some(about.uid()), Some(about.gid()))?;
    let service = Service::start(data, SocketAddr::from(([127, 0, 0, 1], 0)), &["--no-worker"])?;
    let list = service.client().get("/api/v1/submissions")?.json();
    assert!(list.to_string().contains("\"AC\"") || list.to_string().contains("[]"), "{list}");
    service.stop()?;
    expect(data, &["check"], 0, ": ok")?;
    Ok(())
}

/// The web process has put a link to a file of root's in the place of its database: root does not follow it as root.
fn planted(data: &Path) -> Done {
    let roots = data.join("roots");
    fs::DirBuilder::new().mode(0o700).create(&roots)?;
    let theirs = data.join("service/tautochrone.db");
    fs::rename(&theirs, roots.join("a.db"))?;
    chown(roots.join("a.db"), Some(0), Some(0))?;
    symlink(roots.join("a.db"), &theirs)?;
    expect(data, &["check"], 3, "ermission denied")?;
    expect(data, &["backup", &data.join("stolen.db").display().to_string()], 3, "ermission denied")?;
    assert!(!data.join("stolen.db").exists());
    assert!(!data.join("stolen.db.partial").exists());
    Ok(())
}

/// A file near this crate.
fn near(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// How many schemas there are.
fn schemas() -> usize {
    fs::read_dir(near("../store/migrations")).map_or(0, |steps| steps.flatten().count())
}

/// A database as an earlier schema had it, with submissions in every state.
fn earlier(schema: usize, file: &Path) -> Result<(), String> {
    let directory = TempDir::with_prefix("earlier-").map_err(|e| e.to_string())?;
    let (package, program) = (directory.path().join("double"), directory.path().join("main.c"));
    package::write(&package, &DOUBLE)?;
    fs::write(&program, RIGHT).map_err(|e| e.to_string())?;
    let mut python = Command::new("python3");
    python.arg(near("tests/earlier_schema.py")).arg(file).arg(near("../store")).arg(schema.to_string());
    let made = python.args([package, program]).output().map_err(|e| format!("python3: {e}"))?;
    match made.status.success() {
        true => Ok(()),
        false => Err(format!("earlier_schema.py: {}", String::from_utf8_lossy(&made.stderr))),
    }
}

fn upgraded(schema: usize) -> Done {
    let data = data()?;
    let file = data.path().join("service/tautochrone.db");
    earlier(schema, &file)?;
    if geteuid().is_root() {
        chown(&file, Some(WEB), Some(WEB))?;
    }
    // The copy from before the upgrade is of the old schema, and the old database is left alone.
    let before = data.path().join("before.db").display().to_string();
    expect(data.path(), &["backup", &before], 0, &before)?;
    let old = format!("its schema is version {schema}");
    expect(data.path(), &["check"], 2, &old)?;
    expect(data.path(), &["check", "--database", &before], 2, &old)?;
    let service = Service::start(data.path(), SocketAddr::from(([127, 0, 0, 1], 0)), &["--accounts"])?;
    let mut client = service.client().with("authorization", "Bearer jury-token");
    // What was judged then is shown; what waited then is judged now.
    let first = state(&mut client, "first")?;
    assert_eq!(first["judgement"]["verdict"], "WA", "{first}");
    judged_right(&mut client, "waiting")?;
    // And judged again.
    let reason = serde_json::json!({ "reason": "after the upgrade" });
    let asked = client.post("/api/v1/submissions/waiting/rejudge", &[], &reason)?;
    assert_eq!(asked.status, 202, "{}", String::from_utf8_lossy(&asked.body));
    let begun = Instant::now();
    while once(&mut client, "waiting").is_ok() {
        assert!(begun.elapsed() < JUDGED_WITHIN, "not judged again: {}", service.log());
        std::thread::sleep(Duration::from_millis(100));
    }
    judged_right(&mut client, "waiting")?;
    service.stop()?;
    expect(data.path(), &["check"], 0, ": ok")?;
    Ok(())
}

/// A database that takes connections over TLS alone: one whose certificate is known is believed, another is not.
fn encrypted() -> Done {
    let data = data()?;
    let own = TempDir::with_prefix("encrypted-")?;
    fs::set_permissions(own.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let other = own.path().join("other");
    fs::create_dir(&other)?;
    let here = std::net::IpAddr::from([127, 0, 0, 1]);
    let names = [format!("IP:{here}")];
    let known = certificates::make(own.path(), &names)?;
    let unknown = certificates::make(&other, &names)?;
    let rules = own.path().join("pg_hba.conf");
    fs::write(&rules, "local all all trust\nhostssl all all 127.0.0.1/32 trust\n")?;
    if geteuid().is_root() {
        chown(&known.key, Some(NOBODY), Some(NOBODY))?;
    }
    let port = TcpListener::bind((here, 0))?.local_addr()?.port();
    let settings = [
        ("fsync", "off".into()),
        ("listen_addresses", here.to_string()),
        ("port", port.to_string()),
        ("hba_file", rules.display().to_string()),
        ("ssl", "on".into()),
        ("ssl_cert_file", known.certificate.display().to_string()),
        ("ssl_key_file", known.key.display().to_string()),
    ];
    let cluster = Cluster::start_set(settings.map(|(name, value)| format!("{name}={value}")).into())?;
    cluster.make("judge")?;
    let address = |mode: &str, authority: &Path| {
        format!("postgres://tauto@{here}:{port}/judge?sslmode={mode}&sslrootcert={}", authority.display())
    };
    // Where the web process may read it.
    let authority = data.path().join("service/authority.pem");
    fs::copy(&known.authority, &authority)?;
    fs::set_permissions(&authority, std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    let verified = address("verify-full", &authority);
    let options = ["--database", &verified, "--no-worker"];
    let service = Service::start(data.path(), SocketAddr::from(([127, 0, 0, 1], 0)), &options)?;
    post(&mut service.client(), &right())?;
    // Its client looks for a password file in a home that is the web process's own.
    assert!(!service.log().contains("pgpass"), "{}", service.log());
    service.stop()?;
    expect(data.path(), &["check", "--database", &verified], 0, ": ok")?;
    expect(
        data.path(),
        &["check", "--database", &address("verify-full", &unknown.authority)],
        3,
        "certificate",
    )?;
    expect(data.path(), &["check", "--database", &address("disable", &authority)], 3, "no encryption")?;
    Ok(())
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let mut trials = vec![
        Trial::test("web and workers as separate processes", apart),
        Trial::test("a socket of somebody else's", lured),
        Trial::test("the database while the service runs", operated),
        Trial::test("a database over TLS", encrypted),
    ];
    let of = |schema| Trial::test(format!("a database of schema {schema}"), move || upgraded(schema));
    trials.extend((1..schemas()).map(of));
    libtest_mimic::run(&arguments, trials).exit_code()
}
