//! Packages of npm's, for clients and checks that others wrote.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// A package that another test fetches is there before all of its files are.
static FETCHING: Mutex<()> = Mutex::new(());

/// npm: the one that `scripts/setup` downloaded, if it found none, else the one on PATH.
fn npm() -> Command {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/npm/bin/npm-cli.js");
    if !unpacked.is_file() {
        return crate::child::command("npm");
    }
    let mut npm = crate::child::command("node");
    npm.arg(unpacked);
    npm
}

/// The directory of a package, which is fetched once, below `directory`.
///
/// # Errors
/// There is no npm, or it cannot fetch.
pub fn package(directory: &Path, name: &str, version: &str) -> Result<PathBuf, String> {
    let _one_at_a_time = FETCHING.lock().unwrap_or_else(PoisonError::into_inner);
    let place = directory.join("node_modules").join(name);
    if !place.join("package.json").is_file() {
        let mut npm = npm();
        npm.args(["install", "--no-audit", "--no-fund", "--silent", "--prefix"]).arg(directory);
        let done = npm.arg(format!("{name}@{version}")).output();
        let done = done.map_err(|error| format!("npm: {error}; scripts/setup installs it"))?;
        if !done.status.success() {
            return Err(format!("npm install {name}: {}", String::from_utf8_lossy(&done.stderr)));
        }
    }
    Ok(place)
}
