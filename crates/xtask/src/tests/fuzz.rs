//! Builds the fuzz targets of `fuzz/` with the toolchain of everything else, and runs each for a bounded time.

use super::build::cargo;
use super::run::{Outcome, State, Test, behind};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What instruments code for libFuzzer, as `cargo fuzz` passes it, without sanitizers, which need a nightly compiler: safe Rust has
/// little for them to find (SanitizerCoverage, clang's documentation).
const INSTRUMENTED: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";

/// It takes what virtual machines leave.
const NICENESS: &str = "10";

/// For each target. `TAUTO_FUZZ_SECONDS` is another one.
const SECONDS: u64 = 10;

/// Builds and runs all targets. What made one fail stays in `target/fuzz`.
///
/// Nothing is printed of what passes, since other suites print at the same time; all of it yields to them.
///
/// # Errors
/// A tool cannot be started.
pub(super) fn all(root: &Path) -> Result<Outcome, String> {
    let begun = Instant::now();
    let outcome = |tests, good| Outcome {
        suite: "fuzz".into(),
        took: begun.elapsed(),
        cpu: None,
        tests,
        good,
        report: String::new(),
    };
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let place = target.join("fuzz");
    let mut build = cargo(&root.join("fuzz"), &["build", "--quiet", "--release", "--locked"]);
    // With a target named, build scripts and macros are not instrumented.
    build.args(["--target", "x86_64-unknown-linux-gnu", "--target-dir"]).arg(&place);
    let built = run("build", build.env("RUSTFLAGS", INSTRUMENTED))?;
    if built.state == State::Failed {
        return Ok(outcome(vec![built], false));
    }
    let seeds = root.join("fuzz/seeds");
    let entries = std::fs::read_dir(&seeds).map_err(|error| format!("{}: {error}", seeds.display()))?;
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    let mut tests = vec![built];
    for name in names {
        let corpus = place.join("corpus").join(&name);
        std::fs::create_dir_all(&corpus).map_err(|error| format!("{}: {error}", corpus.display()))?;
        let mut fuzz = Command::new(place.join("x86_64-unknown-linux-gnu/release").join(&name));
        let seconds = std::env::var("TAUTO_FUZZ_SECONDS").unwrap_or_else(|_| SECONDS.to_string());
        fuzz.current_dir(&place).arg(format!("-max_total_time={seconds}"));
        fuzz.args(["-timeout=10", "-rss_limit_mb=1024", "-verbosity=0", "-print_final_stats=1"]);
        fuzz.arg(corpus).arg(seeds.join(&name));
        tests.push(run(&name.to_string_lossy(), &fuzz)?);
    }
    let good = tests.iter().all(|test| test.state == State::Passed);
    Ok(outcome(tests, good))
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
