//! `scripts/xtask test`: builds every test once, with lints, and runs a tier of them in an order that wastes little of a
//! small machine's time. [`plan`] says what runs when, [`run`] runs it, [`fuzz`] what is fuzzed, [`summary`] tells what it took.

mod build;
mod fuzz;
mod plan;
mod run;
mod summary;

use std::path::Path;
use std::time::{Duration, Instant};

pub use build::cargo;
pub use plan::Tier;

/// A binary of tests.
#[derive(Clone, Debug)]
pub struct Suite {
    /// `store` for unit tests of a library, `store::contract` for any other target of the crate.
    pub name: String,
    executable: std::path::PathBuf,
    /// The crate's directory, where `cargo test` runs it.
    directory: std::path::PathBuf,
    /// Made with libtest, whose times per test can be asked for; the others (`harness = false`) run one test at a time.
    libtest: bool,
}

/// A step before the tests, and how long it took.
struct Step {
    name: &'static str,
    took: Duration,
}

/// Checks format and lints, builds, and runs a tier's tests; whether all is well.
///
/// With `strict` a test that is skipped counts as failed.
///
/// # Errors
/// A tool or a suite cannot be started, or the plan names a suite that does not exist.
pub fn all(root: &Path, tier: Tier, strict: bool) -> Result<bool, String> {
    let mut steps = Vec::new();
    let mut step = |name: &'static str, begun: Instant| steps.push(Step { name, took: begun.elapsed() });
    if matches!(tier, Tier::Short | Tier::All) {
        let begun = Instant::now();
        if !build::format(root)? {
            return Ok(false);
        }
        step("format", begun);
    }
    if matches!(tier, Tier::Demo | Tier::All) {
        let begun = Instant::now();
        if !build::without_service(root)? {
            return Ok(false);
        }
        step("build without the service", begun);
    }
    if tier == Tier::Demo {
        return Ok(summary::tell(&steps, &[], strict));
    }
    let begun = Instant::now();
    let Some(build::Built { suites, tauto }) = build::build(root)? else { return Ok(false) };
    step("build and lints", begun);
    let mut results = Vec::new();
    for stage in plan::stages(&suites, tier)? {
        let begun = Instant::now();
        results.extend(run::stage(&stage, root, &tauto)?);
        step(stage.name, begun);
    }
    run::again(&mut results, &suites, &tauto, &mut std::io::stdout())?;
    Ok(summary::tell(&steps, &results, strict))
}
