//! What may befall a running service. The disk under the database is full, or cannot be written: errors that say what to do, nothing accepted is
//! lost, and the service goes on by itself when it can. Strangers send whatever they like, through every face: no worker ends by it, and what
//! others submit is judged as quickly as before. Its directory cannot be reached by the user who is to serve: it says so and ends.

#![allow(clippy::print_stdout)]

use e2e::chaos::Dice;
use e2e::faces::{Face, Faces};
use e2e::http::{Client, Response};
use e2e::service::{Part, Service, submission};
use e2e::tauto;
use e2e::traffic::{post, verdict, wait_judged};
use libtest_mimic::{Arguments, Failed, Trial};
use rustix::process::geteuid;
use std::fs::{self, File};
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// For a submission to be judged; other suites may hold the slot.
const JUDGED_WITHIN: Duration = Duration::from_secs(120);
/// For the service to notice that something is as it should be again.
const RECOVERED_WITHIN: Duration = Duration::from_secs(60);

type Done = Result<(), Failed>;

/// A service whose directory is a small file system of its own, in a mount namespace of its own.
struct Stage {
    data: TempDir,
    service: Service,
}

impl Stage {
    fn new() -> Result<Stage, String> {
        let data = TempDir::with_prefix("faults-").map_err(|e| e.to_string())?;
        fs::set_permissions(data.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .map_err(|e| e.to_string())?;
        let place = data.path().join("service");
        fs::create_dir(&place).map_err(|e| e.to_string())?;
        let mount = format!("mount -t tmpfs -o size=24m,mode=700 tmpfs {} && exec \"$@\"", place.display());
        let by = ["unshare", "--mount", "sh", "-c", &mount, "sh"];
        let service = Service::start_by(&by, data.path(), SocketAddr::from(([127, 0, 0, 1], 0)), &[])?;
        Ok(Stage { data, service })
    }

    fn supervisor(&self) -> Result<i32, String> {
        self.service
            .process(Part::Supervisor)
            .map(|pid| pid.as_raw_nonzero().get())
            .ok_or_else(|| "no supervisor".into())
    }

    /// The service's directory as the service sees it.
    fn directory(&self) -> Result<PathBuf, String> {
        let inside = self.data.path().join("service");
        let inside = inside.strip_prefix("/").map_err(|e| e.to_string())?;
        Ok(Path::new("/proc").join(self.supervisor()?.to_string()).join("root").join(inside))
    }

    /// Runs something in the service's mount namespace.
    fn inside(&self, words: &[&str]) -> Result<(), String> {
        let pid = self.supervisor()?.to_string();
        let ended = Command::new("nsenter").args(["--mount", "--target", &pid, "--"]).args(words).output();
        let ended = ended.map_err(|e| format!("nsenter: {e}"))?;
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        if ended.status.success() { Ok(()) } else { Err(format!("{words:?}: {said}")) }
    }

    /// What the store holds together is looked at by `tauto` itself.
    fn check(&self) -> Result<(), String> {
        let tauto = tauto::binary()?;
        let data = format!("TAUTO_DATA_DIR={}", self.data.path().display());
        self.inside(&["env", &data, &tauto.display().to_string(), "database", "check"])
    }
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

/// 503, problem details, and the remedy.
fn is_refused(answer: &Response, remedy: &str) -> bool {
    let details = answer.json();
    answer.status == 503 && details["detail"].as_str().is_some_and(|detail| detail.contains(remedy))
}

fn said(answer: &Response) -> String {
    format!("{}: {}", answer.status, String::from_utf8_lossy(&answer.body))
}

fn until_ready(client: &mut Client) -> Result<(), String> {
    let begun = Instant::now();
    while begun.elapsed() < RECOVERED_WITHIN {
        if client.get("/api/v1/health/ready").is_ok_and(|answer| answer.status == 200) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err("the service did not recover".into())
}

fn until_judging(client: &mut Client, token: &str) -> Result<(), String> {
    let begun = Instant::now();
    while begun.elapsed() < JUDGED_WITHIN {
        if e2e::traffic::state(client, token)?["state"] != "queued" {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(format!("{token}: nobody judges it"))
}

/// Every accepted submission has its one verdict.
fn all_judged(client: &mut Client, tokens: &[String]) -> Result<(), String> {
    for token in tokens {
        let state = wait_judged(client, token, JUDGED_WITHIN)?;
        if verdict(&state) != Some("AC") {
            return Err(format!("{token}: {state}"));
        }
        let path = format!("/api/v1/submissions/{token}/judgements");
        let history = client.get(&path).map_err(|e| e.to_string())?.json();
        let all = history.as_array().or_else(|| history["judgements"].as_array());
        if all.map(Vec::len) != Some(1) {
            return Err(format!("{token}: not one judgement: {history}"));
        }
    }
    Ok(())
}

/// Writes until nothing more goes in.
fn fill(file: &Path) -> Result<(), String> {
    let mut file = File::create(file).map_err(|e| e.to_string())?;
    for size in [1 << 20, 4096, 1] {
        while file.write_all(&vec![b'x'; size]).is_ok() {}
    }
    Ok(())
}

fn disk_full() -> Done {
    let stage = Stage::new()?;
    let mut client = stage.service.client();
    // The worker is there and has the package; the next it is at when the disk becomes full.
    let mut accepted = vec![post(&mut client, &right())?.1];
    all_judged(&mut client, &accepted)?;
    for _ in 0..4 {
        accepted.push(post(&mut client, &right())?.1);
    }
    until_judging(&mut client, &accepted[1])?;
    let ballast = stage.directory()?.join("ballast");
    fill(&ballast)?;
    let refused = until_refused(&mut client, &mut accepted)?;
    assert!(is_refused(&refused, "make room"), "{}", said(&refused));
    let begun = Instant::now();
    let ready = loop {
        let ready = client.get("/api/v1/health/ready")?;
        if ready.status != 200 || begun.elapsed() > Duration::from_secs(5) {
            break ready;
        }
    };
    assert!(is_refused(&ready, "make room"), "{}", said(&ready));
    assert_eq!(client.get("/api/v1/health")?.status, 200, "it lives");
    assert_eq!(client.get(&format!("/api/v1/submissions/{}", accepted[0]))?.status, 200, "it can be read");
    // Long enough for a result that cannot be stored.
    std::thread::sleep(Duration::from_secs(4));
    fs::remove_file(&ballast)?;
    until_ready(&mut client)?;
    accepted.push(post(&mut client, &right())?.1);
    all_judged(&mut client, &accepted).map_err(|why| format!("{why}\n{}", stage.service.log()))?;
    stage.check()?;
    stage.service.stop()?;
    Ok(())
}

/// Hands in until that is refused: in what is left of the last pages some may still fit.
fn until_refused(client: &mut Client, accepted: &mut Vec<String>) -> Result<Response, String> {
    for _ in 0..200 {
        let answer = client.post("/api/v1/submissions", &[], &right()).map_err(|e| e.to_string())?;
        match (answer.status, answer.json()["token"].as_str()) {
            (201, Some(token)) => accepted.push(token.into()),
            _ => return Ok(answer),
        }
    }
    Err("the disk takes everything".into())
}

/// A file system cannot be made read-only while files in it are open to be written: the web process is killed, and its successor finds it so.
fn read_only() -> Done {
    let mut stage = Stage::new()?;
    let mut client = stage.service.client();
    let mut accepted = vec![post(&mut client, &right())?.1, post(&mut client, &right())?.1];
    let place = stage.data.path().join("service").display().to_string();
    let begun = Instant::now();
    loop {
        stage.service.kill(Part::Web);
        match stage.inside(&["mount", "-o", "remount,ro", &place]) {
            Ok(()) => break,
            // Its successor was quicker.
            Err(why) if begun.elapsed() > RECOVERED_WITHIN => return Err(why.into()),
            Err(_) => {}
        }
    }
    let begun = Instant::now();
    let refused = loop {
        // The one that was killed has closed the connection.
        let answer = stage.service.client().post("/api/v1/submissions", &[], &right());
        match answer {
            Ok(answer) => break answer,
            Err(e) if begun.elapsed() > RECOVERED_WITHIN => return Err(e.into()),
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    };
    assert!(is_refused(&refused, "let the user who runs this write"), "{}", said(&refused));
    assert!(stage.service.log().contains("Read-only file system"), "{}", stage.service.log());
    stage.inside(&["mount", "-o", "remount,rw", &place])?;
    let mut client = stage.service.client();
    until_ready(&mut client)?;
    accepted.push(post(&mut client, &right())?.1);
    all_judged(&mut client, &accepted).map_err(|why| format!("{why}\n{}", stage.service.log()))?;
    stage.check()?;
    stage.service.stop()?;
    Ok(())
}

/// A service on the machine's own file system, and the process that judges.
fn plain() -> Result<(TempDir, Service, i32), String> {
    let data = TempDir::with_prefix("faces-").map_err(|e| e.to_string())?;
    fs::set_permissions(data.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .map_err(|e| e.to_string())?;
    let service = Service::start(data.path(), SocketAddr::from(([127, 0, 0, 1], 0)), &[])?;
    until_ready(&mut service.client())?;
    let begun = Instant::now();
    // Until the node has told its languages, for which interfaces of others wait.
    while service.client().get("/judge0/languages").map_err(|e| e.to_string())?.status != 200 {
        if begun.elapsed() > RECOVERED_WITHIN {
            return Err("no languages".into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let worker = worker(&service)?;
    Ok((data, service, worker))
}

fn worker(service: &Service) -> Result<i32, String> {
    let pid = service.process(Part::Worker).ok_or("no worker")?;
    Ok(pid.as_raw_nonzero().get())
}

/// No worker ended, whatever was said of it since.
fn same_worker(service: &Service, before: i32) -> Result<(), String> {
    let said = service.log();
    if worker(service) != Ok(before) || said.contains("starting it again") {
        return Err(format!("a worker ended: {said}"));
    }
    Ok(())
}

/// How long an ordinary submission takes, the best of some.
fn ordinary(service: &Service, times: usize) -> Result<Duration, String> {
    let mut best = Duration::MAX;
    for _ in 0..times {
        let (begun, mut client) = (Instant::now(), service.client());
        let (_, token) = post(&mut client, &right())?;
        let state = wait_judged(&mut client, &token, JUDGED_WITHIN)?;
        if verdict(&state) != Some("AC") {
            return Err(format!("{token}: {state}"));
        }
        best = best.min(begun.elapsed());
    }
    Ok(best)
}

/// Names that are none, through every face: each is refused at once, in words, and nobody is kept waiting.
fn names() -> Done {
    let (_data, service, before) = plain()?;
    ordinary(&service, 1)?;
    let usual = ordinary(&service, 3)?;
    let (long, longer, longest) = ("x".repeat(247) + ".py", "x".repeat(252) + ".py", "x".repeat(297) + ".py");
    let deep = "a/".repeat(120) + "a.py";
    let names = [
        "../a.py",
        "/tmp/a.py",
        "a/../../a.py",
        "a//b.py",
        "./a.py",
        &long,
        &longer,
        &longest,
        "main.py/b.py",
        &deep,
    ];
    let mut faces = Faces::open(&service)?;
    let mut refused = 0;
    for face in Face::ALL {
        for name in names {
            let main = ("main.py", &b"print(1)\n"[..]);
            // Judge0's source has a name of its own, in which a file cannot lie.
            let files = match (face, name) {
                (Face::Judge0, "main.py/b.py") => {
                    vec![main, ("script.py/b.py", b""), ("script.py", b""), ("x", b""), ("x/y", b"")]
                }
                _ => vec![main, (name, b"print(2)\n")],
            };
            let answer = faces.submit(face, &files)?;
            let (status, text) = (answer.status, answer.text());
            // Archives are read as everybody's tools read them: `./` and `//` say nothing.
            let cleaned = face == Face::Judge0 && ["a//b.py", "./a.py"].contains(&name);
            let expected = if cleaned { 201..202 } else { 400..500 };
            assert!(expected.contains(&status), "{face:?}, {name}: {status}: {text}");
            refused += usize::from(!cleaned);
        }
    }
    assert_eq!(refused, 38);
    same_worker(&service, before)?;
    let after = ordinary(&service, 3)?;
    assert!(after < usual * 3, "{usual:?} became {after:?}");
    println!(
        "{refused} refused, 0 workers restarted; an ordinary submission: {usual:.2?} before, {after:.2?} after"
    );
    service.stop()?;
    Ok(())
}

/// For so many seconds.
const BODIES_SECONDS: &str = "TAUTO_BODIES_SECONDS";

/// Any body at every face, in rounds; after each round everybody lives and an ordinary submission is judged.
fn bodies() -> Done {
    let seconds = std::env::var(BODIES_SECONDS).ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let (_data, service, before) = plain()?;
    ordinary(&service, 1)?;
    let seed = std::env::var("TAUTO_BODIES_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let (mut dice, begun) = (Dice(seed), Instant::now());
    let (mut sent, mut accepted, mut slowest) = (0_u32, 0_u32, Duration::ZERO);
    while begun.elapsed() < Duration::from_secs(seconds) {
        let mut faces = Faces::open(&service)?;
        for _ in 0..20 {
            sent += 1;
            // The connection may be closed on who sends no request, and is made again.
            let Ok((face, body, answer)) = faces.send_any(&mut dice) else { continue };
            accepted += u32::from(answer.status < 400);
            if answer.status >= 500 {
                let body = String::from_utf8_lossy(&body).chars().take(3000).collect::<String>();
                return Err(
                    format!("seed {seed}, {face:?}: {}: {}\n{body}", answer.status, answer.text()).into()
                );
            }
        }
        same_worker(&service, before).map_err(|why| format!("seed {seed}, {sent} bodies: {why}"))?;
        slowest = slowest.max(ordinary(&service, 1).map_err(|why| format!("seed {seed}: {why}"))?);
        same_worker(&service, before).map_err(|why| format!("seed {seed}, {sent} bodies: {why}"))?;
    }
    println!(
        "{sent} bodies, {accepted} accepted, 0 workers restarted; an ordinary submission behind 20 of them: {slowest:.2?} at most"
    );
    service.stop()?;
    Ok(())
}

const GO: &str = "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(1) }\n";
/// For Go's standard library to be compiled beside everything else.
const PREPARED_WITHIN: Duration = Duration::from_secs(300);

/// What Go compiles once is there before its first program, in a service's first life and in the next ones.
fn first_of_go() -> Done {
    let data = TempDir::with_prefix("prepared-")?;
    fs::set_permissions(data.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let cache = format!("TAUTO_CACHE_DIR={}", data.path().join("cache").display());
    let start = || {
        Service::start_by(
            &["env", "-u", "TAUTO_PREPARE", &cache],
            data.path(),
            SocketAddr::from(([127, 0, 0, 1], 0)),
            &[],
        )
    };
    let mut service = start()?;
    let (begun, kept) = (Instant::now(), data.path().join("cache/compiled"));
    let names = || fs::read_dir(&kept).into_iter().flatten().flatten().map(|entry| entry.file_name());
    while !names().any(|name| name.to_string_lossy().starts_with("go-")) {
        if begun.elapsed() > PREPARED_WITHIN {
            return Err(format!("nothing is prepared: {}", service.log()).into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let judged = |service: &Service| {
        let (begun, mut client) = (Instant::now(), service.client());
        let (_, token) = post(&mut client, &submission("snowwall", "go", "main.go", GO, false))?;
        let state = wait_judged(&mut client, &token, JUDGED_WITHIN)?;
        match verdict(&state) {
            Some("WA") => Ok(begun.elapsed()),
            _ => Err(format!("{state}")),
        }
    };
    let mut times = Vec::new();
    for life in 0..2 {
        if life > 0 {
            service.stop()?;
            service = start()?;
        }
        // The package is opened and its time limit found by then.
        ordinary(&service, 1)?;
        let (first, next) = (judged(&service)?, judged(&service)?.min(judged(&service)?));
        times.push((first, next));
    }
    service.stop()?;
    println!("first and next in Go, of the first life and the second: {times:.2?}");
    // Without it the first waits for more than twenty times as long. What is kept is read and proved once.
    assert!(times.iter().all(|(first, next)| *first < *next * 6), "{times:?}");
    Ok(())
}

/// Root's directory below one that others may not pass: the web process, which is another user, would answer 503 to everybody.
fn out_of_reach() -> Done {
    let closed = TempDir::with_prefix("closed-")?;
    fs::set_permissions(closed.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    let mut command = Command::new(tauto::binary()?);
    command.args(["serve", "--listen", "127.0.0.1:0"]).env("TAUTO_DATA_DIR", closed.path().join("data"));
    let ended = tauto::run(&mut command, false, RECOVERED_WITHIN)?;
    let said = &ended.stderr;
    let named = said.contains(&format!("{}: user 60780:60780", closed.path().display()));
    assert!(
        ended.status.code() == Some(2) && named && said.contains("TAUTO_DATA_DIR"),
        "{}: {said}",
        ended.status
    );
    Ok(())
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    // Mounts take root.
    let lacking = !geteuid().is_root();
    let trials = vec![
        Trial::test("the disk is full (needs root)", disk_full).with_ignored_flag(lacking),
        Trial::test("the file system is read-only (needs root)", read_only).with_ignored_flag(lacking),
        Trial::test("names of files that are none end no worker", names),
        Trial::test("the first program in Go is as quick as the next (needs go)", first_of_go)
            .with_ignored_flag(
                !Path::new("/usr/local/go/bin/go").exists() && !Path::new("/usr/bin/go").exists(),
            ),
        Trial::test("any body at every face ends no worker", bodies),
        Trial::test("a directory that the web user cannot reach is told (needs root)", out_of_reach)
            .with_ignored_flag(lacking),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}
