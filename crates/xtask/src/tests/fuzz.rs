//! Builds the fuzz targets of `crates/fuzz` with the toolchain of everything else, and runs each for a bounded time.

use super::build::{cargo, executable, messages};
use super::run::{Outcome, State, Test, behind};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// It takes what virtual machines leave.
const NICENESS: &str = "10";

/// For each target. `TAUTO_FUZZ_SECONDS` is another one.
const SECONDS: u64 = 20;

/// Builds and runs all targets. What made one fail stays in `target/fuzz`.
///
/// Nothing is printed of what passes, since other suites print at the same time; all of it yields to them.
///
/// # Errors
/// A tool cannot be started.
pub(super) fn all(root: &Path) -> Result<Outcome, String> {
    let begun = Instant::now();
    let place = target(root).join("fuzz");
    let seeds = root.join("crates/fuzz/seeds");
    let mut names = entries(&seeds)?;
    names.sort();
    let built = build(root, &names)?;
    let state = if built.is_some() { State::Passed } else { State::Failed };
    let mut tests = vec![Test { name: "build".into(), state, took: begun.elapsed() }];
    for (name, program) in names.iter().zip(built.unwrap_or_default()) {
        let corpus = place.join("corpus").join(name);
        std::fs::create_dir_all(&corpus).map_err(|error| format!("{}: {error}", corpus.display()))?;
        let mut fuzz = Command::new(program);
        let seconds = std::env::var("TAUTO_FUZZ_SECONDS").unwrap_or_else(|_| SECONDS.to_string());
        fuzz.current_dir(&place).arg(format!("-max_total_time={seconds}"));
        fuzz.args(["-timeout=10", "-rss_limit_mb=1024", "-verbosity=0", "-print_final_stats=1"]);
        fuzz.arg(corpus).arg(seeds.join(name));
        tests.push(run(name, &fuzz)?);
    }
    let good = tests.iter().all(|test| test.state == State::Passed);
    let (suite, took) = ("fuzz".into(), begun.elapsed());
    Ok(Outcome { suite, took, cpu: None, tests, good, report: String::new() })
}

fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into)
}

fn entries(directory: &Path) -> Result<Vec<String>, String> {
    let entries =
        std::fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    Ok(entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

/// Builds these targets; their programs, in the same order, or `None` if something does not compile. Only the workspace's crates are instrumented.
/// `--workspace` selects the features of dependencies that the tests were built with, so Cargo does not compile dependencies again.
fn build(root: &Path, names: &[String]) -> Result<Option<Vec<PathBuf>>, String> {
    let mut command =
        cargo(root, &["build", "--workspace", "--quiet", "--message-format=json-render-diagnostics"]);
    let targets: Vec<String> = names.iter().map(|name| format!("fuzz-{name}")).collect();
    command.args(targets.iter().flat_map(|target| ["--test", target.as_str()]));
    command.env("RUSTC_WORKSPACE_WRAPPER", root.join("crates/fuzz/instrumented"));
    let Some(messages) = messages(&mut behind(&command, NICENESS))? else { return Ok(None) };
    let program = |target: &String| {
        let built = messages.iter().filter(|message| message["target"]["name"] == **target);
        built.filter_map(executable).next().ok_or_else(|| format!("cargo did not build {target}"))
    };
    targets.iter().map(program).collect::<Result<_, _>>().map(Some)
}

/// Runs one of them.
fn run(name: &str, command: &Command) -> Result<Test, String> {
    let since = Instant::now();
    let fail = |error: io::Error| format!("{command:?}: {error}");
    let mut yielding = behind(command, NICENESS);
    let mut process = yielding.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(fail)?;
    let held = process.stdin.take();
    let output = process.wait_with_output().map_err(fail)?;
    drop(held);
    let state = if output.status.success() { State::Passed } else { State::Failed };
    if state == State::Failed {
        // Nobody may be there to read it.
        let _ = io::stdout().write_all(&[output.stdout, output.stderr].concat());
    }
    Ok(Test { name: name.into(), state, took: since.elapsed().max(Duration::from_millis(1)) })
}
