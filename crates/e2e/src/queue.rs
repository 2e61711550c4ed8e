//! A full queue: programs to fill it with, how fast the service works it off, and whether it loses any of it.

use crate::service::{Part, Service, most_memory, submission};
use crate::{package, tauto, traffic};
use serde_json::Value;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes of a source, about.
const SIZE: usize = 1024;
/// For a block to be judged.
const PATIENCE: Duration = Duration::from_secs(300);
/// The problem: shipped with the service.
const PROBLEM: &str = "snowwall";

/// Any free port of this machine.
pub const ANYWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// Two right programs, half and half: one in C, one in Python.
#[derive(Debug)]
pub struct Sources {
    c: String,
    python: String,
    root: PathBuf,
}

impl Sources {
    /// Reads them.
    ///
    /// # Errors
    /// They are not where they were when this was built.
    pub fn read() -> Result<Sources, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(PROBLEM);
        let read = |name: &str| {
            let path = root.join("submissions/accepted").join(name);
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        Ok(Sources { c: read("newton.c")?, python: read("integer_root.py")?, root })
    }

    /// Language, name and text of submission number `n`; no two are the same.
    fn file(&self, n: usize) -> (&'static str, String, String) {
        let (language, ending, comment, text) = if n.is_multiple_of(2) {
            ("c", "c", "//", &self.c)
        } else {
            ("python3", "py", "#", &self.python)
        };
        let filling = "-".repeat(SIZE.saturating_sub(text.len() + 16));
        (language, format!("s{n:05}.{ending}"), format!("{comment} {n} {filling}\n{text}"))
    }

    /// Submission number `n`, to be judged on all tests.
    pub fn submission(&self, n: usize) -> Value {
        let (language, name, text) = self.file(n);
        submission(PROBLEM, language, &name, &text, true)
    }

    /// The problem with the first so many of these as its jury's submissions.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn package(&self, count: usize) -> Result<tempfile::TempDir, String> {
        let package = tempfile::Builder::new().prefix("tauto-queue-").tempdir();
        let package = package.map_err(|error| format!("temporary directory: {error}"))?;
        for part in ["problem.yaml", "data", "statement"] {
            let copied =
                crate::child::command("cp").arg("-r").arg(self.root.join(part)).arg(package.path()).status();
            if !copied.is_ok_and(|status| status.success()) {
                return Err(format!("{part} of the problem cannot be copied"));
            }
        }
        for n in 0..count {
            let (_, name, text) = self.file(n);
            let name = format!("submissions/accepted/{name}");
            package::write(package.path(), &[(name.as_str(), text.as_str())])?;
        }
        Ok(package)
    }
}

/// Seconds that `tauto verify` takes for a package.
fn verify(package: &Path) -> Result<f64, String> {
    let begun = Instant::now();
    let done = crate::child::command(tauto::binary()?).arg("verify").arg("--json").arg(package).output();
    let done = done.map_err(|error| format!("tauto verify: {error}"))?;
    if !done.status.success() {
        return Err(format!("tauto verify: {}", String::from_utf8_lossy(&done.stderr)));
    }
    Ok(begun.elapsed().as_secs_f64())
}

/// One block of `tauto verify` and one of the service.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// Seconds for each submission by `tauto verify`, without what starting costs.
    pub alone: f64,
    /// The same by the service, from one result to another.
    pub served: f64,
    /// The most memory of the web process, in bytes.
    pub memory: u64,
}

/// Lets `tauto verify` and then the service judge so many of the same programs; the service judges those that wait, of which these
/// are the tokens.
///
/// # Errors
/// Too few wait, or something fails.
pub fn turn(data: &Path, sources: &Sources, tokens: &[String], count: usize) -> Result<Turn, String> {
    let (few, many) = (sources.package(2)?, sources.package(count + 2)?);
    // What starting costs cancels out.
    let begun = verify(few.path())?;
    let alone = (verify(many.path())? - begun) / count as f64;
    let service = Service::start(data, ANYWHERE, &[])?;
    let mut client = service.client();
    let from = traffic::judged(&mut client, tokens)?;
    let [Some(first), Some(last)] = [from, from + count].map(|n| tokens.get(n)) else {
        return Err("the queue is too short for all blocks; hand in more".into());
    };
    let first = traffic::wait_judged(&mut client, first, PATIENCE)?;
    // Nobody asks meanwhile: what is measured is the service.
    std::thread::sleep(Duration::from_secs_f64((alone * count as f64 * 0.8).max(0.0)));
    let last = traffic::wait_judged(&mut client, last, PATIENCE)?;
    let time = traffic::finished(&last).zip(traffic::finished(&first)).map(|(last, first)| last - first);
    let memory = web_memory(&service);
    service.stop()?;
    Ok(Turn { alone, served: time.ok_or("no moment of a judgement")? / count as f64, memory })
}

/// What the service had when it was ended with its queue full, and after it was started again.
#[derive(Clone, Copy, Debug)]
pub struct Restart {
    /// Judged and waiting, before.
    pub before: (usize, usize),
    /// Judged and waiting, after.
    pub after: (usize, usize),
}

/// Ends the service, politely or with kill -9, and starts it again.
///
/// # Errors
/// A submission cannot be asked for.
pub fn restart(data: &Path, tokens: &[String], kill: bool) -> Result<Restart, String> {
    let mut service = Service::start(data, ANYWHERE, &[])?;
    let before = count(&service, tokens)?;
    if kill {
        service.kill(Part::Supervisor);
    } else {
        service.stop()?;
    }
    let service = Service::start(data, ANYWHERE, &[])?;
    let after = count(&service, tokens)?;
    service.stop()?;
    Ok(Restart { before, after })
}

/// How many are judged, and how many are to be.
fn count(service: &Service, tokens: &[String]) -> Result<(usize, usize), String> {
    let (mut client, mut judged) = (service.client(), 0);
    for token in tokens {
        judged += usize::from(traffic::verdict(&traffic::state(&mut client, token)?).is_some());
    }
    Ok((judged, tokens.len() - judged))
}

/// The most memory of the web process, in bytes; 0 where it is not there.
pub fn web_memory(service: &Service) -> u64 {
    service.process(Part::Web).and_then(most_memory).unwrap_or_default()
}

/// The CPUs that are in no slot.
///
/// # Errors
/// `tauto slots` does not say.
pub fn housekeeping() -> Result<Vec<usize>, String> {
    let mut command = crate::child::command(tauto::binary()?);
    let slots = tauto::run(command.args(["slots", "--json"]), false, PATIENCE)?.document()?;
    let numbers = slots["housekeeping"].as_array().into_iter().flatten().filter_map(Value::as_u64);
    Ok(numbers.filter_map(|cpu| usize::try_from(cpu).ok()).collect())
}
