//! Puts the commit into the version of optimised builds, so that a strict pool tells two builds of one release apart. Other builds are `dev`:
//! they are made between commits.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=TAUTO_COMMIT");
    let optimised = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let build = match (optimised, env::var("TAUTO_COMMIT")) {
        (_, Ok(commit)) if !commit.is_empty() => format!("+{commit}"),
        (true, _) => commit().map_or_else(String::new, |commit| format!("+{commit}")),
        (false, _) => "+dev".into(),
    };
    println!("cargo::rustc-env=TAUTO_BUILD={build}");
    if !optimised {
        // Tests start it some thousand times, emulated ones too. Nearly 300 000 relocations were a third of each start.
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}

/// The commit that is checked out, and whether files differ from it; `None` outside a repository.
fn commit() -> Option<String> {
    for path in ["HEAD", "index"] {
        let path = git(&["rev-parse", "--git-path", path])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let commit = git(&["rev-parse", "--short=9", "HEAD"])?;
    // Else it writes the index, and the next build would begin again.
    let status = ["--no-optional-locks", "status", "--porcelain", "--untracked-files=no"];
    let clean = git(&status)?.is_empty();
    Some(if clean { commit } else { format!("{commit}.dirty") })
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}
