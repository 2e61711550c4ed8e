//! `make vm-examples JOBS=2`: every jury submission of the example packages, once in the sandbox of this host and once in a virtual machine. Are the
//! verdicts equal? `vm_examples [JOBS] [PART…]`; with parts, only submissions whose path holds one of them.

#![allow(clippy::print_stdout)]

use e2e::{child, machine, tauto};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const JOBS: usize = 2;
/// For a submission: emulation is slow, and some wait for ever on each of many tests.
const PATIENCE: Duration = Duration::from_secs(1200);
/// In a machine, the time limit of a program that keeps it in the sandbox is multiplied by this: emulation is slow.
const SLOWER: f64 = 30.0;
/// The same for a program that exceeds it in the sandbox; it must exceed the larger limit, too.
const EXCEEDS: f64 = 10.0;
/// And compilers, in seconds: Go and Kotlin compile their libraries in each machine.
const COMPILATION: u32 = 900;
/// What is judged of a submission.
const JUDGE: [&str; 6] = ["judge", "--json", "--slot", "none", "--second-opinion", "never"];

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("vm-examples: {error}");
            ExitCode::from(3)
        }
    }
}

fn run() -> Result<bool, String> {
    let mut words = std::env::args().skip(1);
    let jobs = words.next().map_or(Ok(JOBS), |word| word.parse()).map_err(|e| format!("JOBS: {e}"))?;
    let parts: Vec<String> = words.collect();
    let chosen = |path: &PathBuf| {
        let name = path.display().to_string();
        parts.is_empty() || parts.iter().any(|part| name.contains(part))
    };
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    patient_copies(scratch.path())?;
    let submissions: Vec<PathBuf> = submissions()?.into_iter().filter(chosen).collect();
    let (kernel, begun, next) = (machine::kernel()?, Instant::now(), AtomicUsize::new(0));
    let faults = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(submission) = submissions.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let since = Instant::now();
                    let line = match compare(scratch.path(), &kernel, submission) {
                        Ok(verdict) => verdict,
                        Err(why) => {
                            let fault = format!("{}: {why}", shown(submission));
                            faults.lock().map(|mut faults| faults.push(fault)).ok();
                            format!("FAILED: {why}")
                        }
                    };
                    println!("{} {line} ({:.0} s)", shown(submission), since.elapsed().as_secs_f64());
                }
            });
        }
    });
    let faults = faults.into_inner().map_err(|e| e.to_string())?;
    println!("| submissions | {} |", submissions.len());
    println!("| equal verdicts | {} |", submissions.len() - faults.len());
    println!("| minutes | {:.0} |", begun.elapsed().as_secs_f64() / 60.0);
    faults.iter().for_each(|fault| println!("{fault}"));
    Ok(faults.is_empty() && !submissions.is_empty())
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn shown(submission: &Path) -> String {
    submission.strip_prefix(examples()).unwrap_or(submission).display().to_string()
}

/// Copies of the packages, with more time for compilers.
fn patient_copies(scratch: &Path) -> Result<(), String> {
    let copied = Command::new("cp").arg("-a").arg(examples()).arg(scratch).status();
    if !copied.is_ok_and(|status| status.success()) {
        return Err("the examples cannot be copied".into());
    }
    for package in entries(&scratch.join("examples")) {
        let file = package.join("problem.yaml");
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let more = format!("limits:\n  compilation_time: {COMPILATION}\n");
        let text =
            if text.contains("\nlimits:\n") { text.replacen("limits:\n", &more, 1) } else { text + &more };
        fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
    }
    Ok(())
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// A submission is a file or a directory in one of the directories below `submissions/`.
fn submissions() -> Result<Vec<PathBuf>, String> {
    let packages = entries(&examples()).into_iter().filter(|path| path.join("problem.yaml").is_file());
    let groups = packages.flat_map(|package| entries(&package.join("submissions")));
    let found: Vec<PathBuf> = groups.filter(|path| path.is_dir()).flat_map(|group| entries(&group)).collect();
    if found.is_empty() { Err("no examples".into()) } else { Ok(found) }
}

fn judged(scratch: &Path, words: &[&str], kernel: Option<&Path>, submission: &Path) -> Result<Value, String> {
    let submission = scratch.join("examples").join(shown(submission));
    let package = submission.ancestors().nth(3).ok_or("it is in no package")?;
    let mut command: Command = child::command(tauto::binary()?);
    command.env("TAUTO_DATA_DIR", scratch.join("data")).args(JUDGE).args(words);
    if let Some(kernel) = kernel {
        command.env(machine::KERNEL, kernel);
    }
    let ended = tauto::run(command.arg(package).arg(&submission), false, PATIENCE)?;
    ended.document().map_err(|why| format!("{why}: {}", ended.stderr))
}

/// Verdict and score, equal on both sides.
fn compare(scratch: &Path, kernel: &Path, submission: &Path) -> Result<String, String> {
    let outside = judged(scratch, &[], None, submission)?;
    let limit = outside["time_limit_ns"].as_f64().ok_or("it has no time limit")? / 1e9;
    let exceeded = outside["verdict"] == "TLE"
        || outside["tests"].as_array().is_some_and(|tests| tests.iter().any(|test| test["verdict"] == "TLE"));
    let told = (limit * if exceeded { EXCEEDS } else { SLOWER }).to_string();
    let inside = judged(scratch, &["--isolation", "vm", "--cpu-time", &told], Some(kernel), submission)?;
    let result = |judgement: &Value| format!("{} {}", judgement["verdict"], judgement["score"]);
    let where_it_ran = |run: &Value| run["evidence"]["isolation"] == "vm";
    let runs =
        inside["tests"].as_array().into_iter().flatten().filter_map(|test| test["runs"].as_array()).flatten();
    if !runs.clone().all(where_it_ran) {
        return Err("a run was not in the machine".into());
    }
    if result(&outside) != result(&inside) {
        let tests = inside["tests"].as_array().into_iter().flatten();
        let wrong: Vec<&Value> = tests.filter(|test| test["verdict"] != "AC").take(1).collect();
        return Err(format!(
            "{} outside, {} inside: {}, {wrong:?}",
            result(&outside),
            result(&inside),
            inside["compile"]
        ));
    }
    Ok(result(&outside))
}
