//! One build for lints and tests.

use super::Suite;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Cargo in the repository, with nothing in its environment that the cargo around us has put there.
pub fn cargo(root: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).args(words);
    // `cargo run` and `cargo test` set these for us; build scripts that look at them would be run again, and what they made compiled again.
    let ours = ["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| ours.iter().any(|prefix| name.starts_with(prefix))) {
            command.env_remove(name);
        }
    }
    command
}

/// What a build made.
pub(super) struct Built {
    /// In order of their names.
    pub(super) suites: Vec<Suite>,
    /// The binary that black-box tests drive.
    pub(super) tauto: PathBuf,
}

/// Whether the sources are formatted.
pub(super) fn format(root: &Path) -> Result<bool, String> {
    let mut command = cargo(root, &["fmt", "--all", "--check"]);
    command.status().map(|status| status.success()).map_err(|error| format!("{command:?}: {error}"))
}

/// Where rustup or the distribution puts clippy's compiler.
fn clippy_driver() -> Result<PathBuf, String> {
    let mut command = Command::new("rustc");
    let output = command.args(["--print", "sysroot"]).output();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    let driver = Path::new(String::from_utf8_lossy(&output.stdout).trim()).join("bin/clippy-driver");
    if driver.is_file() { Ok(driver) } else { Err(format!("{}: install clippy", driver.display())) }
}

/// Cargo, with the workspace's crates compiled by clippy's compiler, which is rustc with lints: `cargo clippy` would check the same code, and
/// every dependency, once more.
fn linting(root: &Path, words: &[&str]) -> Result<Command, String> {
    let mut command = cargo(root, words);
    // As `cargo clippy` hands its own arguments on.
    command.env("RUSTC_WORKSPACE_WRAPPER", clippy_driver()?);
    command.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    Ok(command)
}

/// Builds the binary of `make demo`, without the service; whether there are no warnings. [`build`] replaces it with the complete binary.
pub(super) fn without_service(root: &Path) -> Result<bool, String> {
    let words = ["build", "--quiet", "--workspace", "--no-default-features", "--bin", "tauto"];
    let mut command = linting(root, &words)?;
    command.status().map(|status| status.success()).map_err(|error| format!("{command:?}: {error}"))
}

/// Builds all tests and the binary they drive. `None` where something does not compile or is warned of.
pub(super) fn build(root: &Path) -> Result<Option<Built>, String> {
    let words = ["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"];
    let mut command = linting(root, &words)?;
    let Some(messages) = messages(&mut command)? else { return Ok(None) };
    let own = without_libtest(root)?;
    let mut suites: Vec<Suite> = messages.iter().filter_map(|message| suite(message, &own)).collect();
    suites.sort_by(|a, b| a.name.cmp(&b.name));
    let shipped =
        |message: &&Value| message["target"]["name"] == "tauto" && message["profile"]["test"] == false;
    let tauto = messages.iter().filter(shipped).find_map(executable);
    let tauto = tauto.ok_or("cargo did not build the binary tauto")?;
    Ok(Some(Built { suites, tauto }))
}

/// What a build tells of what it made, `--message-format=json…` among its words. `None`: something does not compile.
///
/// # Errors
/// Cargo cannot be started.
pub(super) fn messages(command: &mut Command) -> Result<Option<Vec<Value>>, String> {
    let mut build =
        command.stdout(Stdio::piped()).spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let out = build.stdout.take().ok_or("cargo has no standard output")?;
    // What runs behind others ends when this is closed.
    let held = build.stdin.take();
    let lines: Result<Vec<String>, _> = BufReader::new(out).lines().collect();
    let fail = |error: std::io::Error| format!("{command:?}: {error}");
    let good = build.wait().map_err(fail)?.success();
    drop(held);
    let read = |line: &String| serde_json::from_str(line).unwrap_or_default();
    let messages = lines.map_err(fail)?.iter().map(read).collect();
    Ok(good.then_some(messages))
}

/// The program that a message says was made.
pub(super) fn executable(message: &Value) -> Option<PathBuf> {
    message["executable"].as_str().map(PathBuf::from)
}

/// The binary that a message of cargo's says was made, if it holds tests.
fn suite(message: &Value, without_libtest: &BTreeSet<String>) -> Option<Suite> {
    let executable = executable(message)?;
    if message["profile"]["test"] != true {
        return None;
    }
    let directory = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
    let package = directory.file_name()?.to_str()?.to_string();
    let target = message["target"]["name"].as_str()?;
    let library = message["target"]["kind"].as_array()?.iter().any(|kind| kind == "lib");
    let name = match message["target"]["kind"][0].as_str()? {
        _ if library => package,
        "bin" => format!("{package}::bin::{target}"),
        _ => format!("{package}::{target}"),
    };
    let libtest = !without_libtest.contains(&name);
    Some(Suite { name, executable, directory, libtest })
}

/// Names of the suites with a main function of their own.
fn without_libtest(root: &Path) -> Result<BTreeSet<String>, String> {
    let mut names = BTreeSet::new();
    let crates = root.join("crates");
    let entries = fs::read_dir(&crates).map_err(|error| format!("{}: {error}", crates.display()))?;
    for entry in entries.flatten() {
        let path = entry.path().join("Cargo.toml");
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let manifest: toml::Table = text.parse().map_err(|error| format!("{}: {error}", path.display()))?;
        let tests = manifest.get("test").and_then(toml::Value::as_array).cloned().unwrap_or_default();
        let own = |test: &&toml::Value| test.get("harness").and_then(toml::Value::as_bool) == Some(false);
        let package = entry.file_name().to_string_lossy().into_owned();
        let named = |test: &toml::Value| Some(format!("{package}::{}", test.get("name")?.as_str()?));
        names.extend(tests.iter().filter(own).filter_map(named));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn suites_are_named_by_crate_and_target() {
        let message = |kind: &str, name: &str, test: bool| {
            json!({"reason": "compiler-artifact", "manifest_path": "/r/crates/store/Cargo.toml", "executable": "/t/x",
                "profile": {"test": test}, "target": {"kind": [kind], "name": name}})
        };
        let own = BTreeSet::from(["store::hostile".to_string()]);
        let named =
            |kind, name| suite(&message(kind, name, true), &own).map(|suite| (suite.name, suite.libtest));
        assert_eq!(named("lib", "store"), Some(("store".into(), true)));
        assert_eq!(named("test", "contract"), Some(("store::contract".into(), true)));
        assert_eq!(named("bin", "bars"), Some(("store::bin::bars".into(), true)));
        assert_eq!(named("test", "hostile"), Some(("store::hostile".into(), false)));
        assert!(suite(&message("bin", "tauto", false), &own).is_none());
    }
}
