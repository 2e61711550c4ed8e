//! The disk under the database is full, or cannot be written: errors that say what to do, nothing accepted is lost, and the service goes on
//! by itself when it can.

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

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    // Mounts take root.
    let lacking = !geteuid().is_root();
    let trials = vec![
        Trial::test("the disk is full (needs root)", disk_full).with_ignored_flag(lacking),
        Trial::test("the file system is read-only (needs root)", read_only).with_ignored_flag(lacking),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}
