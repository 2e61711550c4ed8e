//! `make service-load`: a service whose queue is full. Ten thousand submissions are handed in over eight connections while a slot judges;
//! then it judges in turn with `tauto verify` on the same programs and tests; it is ended and killed with the queue full and
//! must have lost nothing. `queue N`: so many submissions.

#![allow(clippy::print_stdout)]

use e2e::service::{Part, Service, most_memory, submission};
use e2e::traffic::{self, Posted, percentile};
use e2e::{package, tauto};
use serde_json::Value;
use std::error::Error;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

const SUBMISSIONS: usize = 10_000;
const CONNECTIONS: usize = 8;
/// Bytes of a source, about.
const SIZE: usize = 1024;
/// Blocks of the service, and as many of `tauto verify` between them.
const BLOCKS: usize = 4;
/// Submissions judged in a block.
const OF_A_BLOCK: usize = 60;
/// For a block to be judged.
const PATIENCE: Duration = Duration::from_secs(300);
/// The problem: shipped with the service.
const PROBLEM: &str = "snowwall";

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1).map_or(Ok(SUBMISSIONS), |number| number.parse());
    let done = match wanted {
        Ok(wanted) => measure(wanted),
        Err(error) => Err(format!("a number of submissions: {error}").into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("queue: {error}");
            ExitCode::from(3)
        }
    }
}

fn measure(wanted: usize) -> Outcome<()> {
    let house = housekeeping()?;
    let data = tempfile::Builder::new().prefix("tauto-queue-").tempdir()?;
    let sources = sources()?;
    let all: Vec<Value> = (0..wanted).map(|n| sources.submission(n)).collect();
    println!("{}", machine());

    let free = SocketAddr::from(([127, 0, 0, 1], 0));
    let service = Service::start(data.path(), free, &[])?;
    let mut client = service.client();
    let (_, first) = traffic::post(&mut client, &sources.submission(0))?;
    traffic::wait_judged(&mut client, &first, PATIENCE)?;
    let begun = Instant::now();
    let posted = traffic::post_all(service.address(), &all, CONNECTIONS, &house)?;
    let (took, memory) = (begun.elapsed(), web_memory(&service));
    let judged = traffic::judged(&mut client, &posted.tokens)?;
    row(
        &format!("POST of {wanted} submissions over {CONNECTIONS} connections while the slot judges"),
        &format!(
            "median {:.1} ms, 99 % within {:.1} ms, most {:.1} ms; {:.0} a second; {judged} judged meanwhile, {:.2} a second",
            millis(percentile(&posted.waits, 50)),
            millis(percentile(&posted.waits, 99)),
            millis(percentile(&posted.waits, 100)),
            wanted as f64 / took.as_secs_f64(),
            judged as f64 / took.as_secs_f64(),
        ),
        "99 % within 25 ms",
    );
    service.stop()?;
    let memory = memory.max(turns(data.path(), &sources, &posted)?);
    row("most memory of the web process", &format!("{:.1} MiB", memory as f64 / 1048576.0), "bounded");
    restarts(data.path(), &posted)
}

/// Verify, service, verify, service …: how fast each judges the same programs.
fn turns(data: &Path, sources: &Sources, posted: &Posted) -> Outcome<u64> {
    let (few, many) = (sources.package(2)?, sources.package(OF_A_BLOCK + 2)?);
    let (mut alone, mut served, mut ratios, mut memory) = (vec![], vec![], vec![], 0);
    for _ in 0..BLOCKS {
        // What starting costs cancels out.
        let verified = verify(few.path())?;
        let verified = (verify(many.path())? - verified) / OF_A_BLOCK as f64;
        let service = Service::start(data, SocketAddr::from(([127, 0, 0, 1], 0)), &[])?;
        let mut client = service.client();
        let from = traffic::judged(&mut client, &posted.tokens)?;
        let [Some(first), Some(last)] = [from, from + OF_A_BLOCK].map(|n| posted.tokens.get(n)) else {
            return Err("the queue is too short for all blocks; hand in more".into());
        };
        let first = traffic::wait_judged(&mut client, first, PATIENCE)?;
        // Nobody asks meanwhile: what is measured is the service.
        std::thread::sleep(Duration::from_secs_f64(verified * OF_A_BLOCK as f64 * 0.8));
        let last = traffic::wait_judged(&mut client, last, PATIENCE)?;
        let time = traffic::finished(&last).zip(traffic::finished(&first)).map(|(last, first)| last - first);
        let each = time.ok_or("no moment of a judgement")? / OF_A_BLOCK as f64;
        memory = memory.max(web_memory(&service));
        service.stop()?;
        alone.push(1.0 / verified);
        served.push(1.0 / each);
        ratios.push(100.0 * verified / each);
    }
    let written = |all: &[f64]| all.iter().map(|one| format!("{one:.1}")).collect::<Vec<_>>().join(", ");
    row("`tauto verify`, submissions a second, by block", &written(&alone), "");
    row("the service with its queue full, by block", &written(&served), "");
    let both = format!("{:.1} % (median of {})", median(&ratios), written(&ratios));
    row("throughput of the service ÷ that of `tauto verify`", &both, "≥ 95 %");
    Ok(memory)
}

/// Ends the service politely and not, with its queue full, and counts.
fn restarts(data: &Path, posted: &Posted) -> Outcome<()> {
    for (name, kill) in [("SIGTERM", false), ("kill -9", true)] {
        let mut service = Service::start(data, SocketAddr::from(([127, 0, 0, 1], 0)), &[])?;
        let before = count(&service, posted)?;
        match kill {
            true => drop(service.kill(Part::Supervisor)),
            false => drop(service.stop()?),
        }
        let service = Service::start(data, SocketAddr::from(([127, 0, 0, 1], 0)), &[])?;
        let after = count(&service, posted)?;
        service.stop()?;
        let lost = before.0 + before.1 - after.0 - after.1;
        row(
            &format!("{name} with the queue full"),
            &format!(
                "{} judged and {} waiting, then {} and {}: {lost} lost",
                before.0, before.1, after.0, after.1
            ),
            "0 lost",
        );
        if lost > 0 || after.0 < before.0 {
            return Err(format!("{name} lost something").into());
        }
    }
    Ok(())
}

/// How many are judged, and how many are to be.
fn count(service: &Service, posted: &Posted) -> Outcome<(usize, usize)> {
    let (mut client, mut judged) = (service.client(), 0);
    for token in &posted.tokens {
        judged += usize::from(traffic::verdict(&traffic::state(&mut client, token)?).is_some());
    }
    Ok((judged, posted.tokens.len() - judged))
}

/// Two right programs, half and half: one in C, one in Python.
struct Sources {
    c: String,
    python: String,
    root: PathBuf,
}

fn sources() -> Outcome<Sources> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(PROBLEM);
    let read = |name: &str| {
        let path = root.join("submissions/accepted").join(name);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    Ok(Sources { c: read("newton.c")?, python: read("integer_root.py")?, root })
}

impl Sources {
    /// Language, name and text of submission number `n`; no two are the same.
    fn file(&self, n: usize) -> (&'static str, String, String) {
        let (language, ending, comment, text) =
            if n % 2 == 0 { ("c", "c", "//", &self.c) } else { ("python3", "py", "#", &self.python) };
        let filling = "-".repeat(SIZE.saturating_sub(text.len() + 16));
        (language, format!("s{n:05}.{ending}"), format!("{comment} {n} {filling}\n{text}"))
    }

    fn submission(&self, n: usize) -> Value {
        let (language, name, text) = self.file(n);
        submission(PROBLEM, language, &name, &text, true)
    }

    /// The problem with so many of these as its jury's submissions.
    fn package(&self, count: usize) -> Outcome<tempfile::TempDir> {
        let package = tempfile::Builder::new().prefix("tauto-queue-").tempdir()?;
        for part in ["problem.yaml", "data", "statement"] {
            let copied =
                Command::new("cp").arg("-r").arg(self.root.join(part)).arg(package.path()).status()?;
            if !copied.success() {
                return Err(format!("{part} of the problem cannot be copied").into());
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

/// Seconds that verifying a package takes.
fn verify(package: &Path) -> Outcome<f64> {
    let begun = Instant::now();
    let done = Command::new(tauto::binary()?).arg("verify").arg("--json").arg(package).output()?;
    if !done.status.success() {
        return Err(format!("tauto verify: {}", String::from_utf8_lossy(&done.stderr)).into());
    }
    Ok(begun.elapsed().as_secs_f64())
}

/// The CPUs that are in no slot: the clients are no part of what is measured.
fn housekeeping() -> Outcome<Vec<usize>> {
    let slots = Command::new(tauto::binary()?).args(["slots", "--json"]).output()?;
    let slots: Value = serde_json::from_slice(&slots.stdout)?;
    let numbers = slots["housekeeping"].as_array().into_iter().flatten().filter_map(Value::as_u64);
    Ok(numbers.filter_map(|cpu| usize::try_from(cpu).ok()).collect())
}

fn web_memory(service: &Service) -> u64 {
    service.process(Part::Web).and_then(most_memory).unwrap_or_default()
}

fn row(what: &str, measured: &str, bar: &str) {
    println!("| {what} | {measured} | {bar} |");
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown");
    let cpus = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let load = read("/proc/loadavg");
    format!(
        "{} × {cpus}, Linux {}, load {}\n\n| figure | measured | bar |\n|---|---|---|",
        model.trim_start_matches(['\t', ' ', ':']),
        read("/proc/sys/kernel/osrelease").trim(),
        load.split(' ').next().unwrap_or_default()
    )
}
