//! Builds the fuzz targets of `fuzz/` with the toolchain of everything else, and runs each for a bounded time.

use super::build::cargo;
use super::run::{Outcome, State, Test};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// What instruments code for libFuzzer, as `cargo fuzz` passes it, without sanitizers, which need a nightly compiler: safe Rust has
/// little for them to find (SanitizerCoverage, clang's documentation).
const INSTRUMENTED: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";

/// For each target. `TAUTO_FUZZ_SECONDS` is another one.
const SECONDS: u64 = 10;

/// Builds and runs all targets; `None` where they do not compile. What made one fail stays in `target/fuzz`.
///
/// # Errors
/// A tool cannot be started.
pub(super) fn all(root: &Path) -> Result<Option<Outcome>, String> {
    let begun = Instant::now();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let place = target.join("fuzz");
    let mut build = cargo(&root.join("fuzz"), &["build", "--release", "--locked"]);
    // With a target named, build scripts and macros are not instrumented.
    build
        .args(["--target", "x86_64-unknown-linux-gnu", "--target-dir"])
        .arg(&place)
        .env("RUSTFLAGS", INSTRUMENTED);
    if !build.status().map_err(|error| format!("{build:?}: {error}"))?.success() {
        return Ok(None);
    }
    let seeds = root.join("fuzz/seeds");
    let entries = std::fs::read_dir(&seeds).map_err(|error| format!("{}: {error}", seeds.display()))?;
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    let mut tests = Vec::new();
    for name in names {
        let corpus = place.join("corpus").join(&name);
        std::fs::create_dir_all(&corpus).map_err(|error| format!("{}: {error}", corpus.display()))?;
        let mut fuzz = Command::new(place.join("x86_64-unknown-linux-gnu/release").join(&name));
        let seconds = std::env::var("TAUTO_FUZZ_SECONDS").unwrap_or_else(|_| SECONDS.to_string());
        fuzz.current_dir(&place).arg(format!("-max_total_time={seconds}"));
        fuzz.args(["-timeout=10", "-rss_limit_mb=1024", "-verbosity=0", "-print_final_stats=1"]);
        fuzz.arg(corpus).arg(seeds.join(&name));
        let (name, since) = (name.to_string_lossy().into_owned(), Instant::now());
        let good = fuzz.status().map_err(|error| format!("{fuzz:?}: {error}"))?.success();
        let state = if good { State::Passed } else { State::Failed };
        tests.push(Test { name, state, took: since.elapsed().max(Duration::from_millis(1)) });
    }
    let good = tests.iter().all(|test| test.state == State::Passed);
    Ok(Some(Outcome { suite: "fuzz".into(), took: begun.elapsed(), tests, good }))
}
