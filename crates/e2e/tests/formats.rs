//! Packages of other formats, whole: `tauto verify` holds what their solutions promise.

use e2e::stage::{Pass, Stage};
use e2e::tauto;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Only reached by a `tauto` that hangs: a slow machine compiles for a while.
const PATIENCE: Duration = Duration::from_secs(300);

#[test]
fn packages_of_each_format_are_judged_as_they_promise() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("packages/formats");
    let mut packages: Vec<PathBuf> =
        fs::read_dir(&directory).expect("packages/formats").flatten().map(|entry| entry.path()).collect();
    packages.sort();
    assert!(packages.len() >= 6, "{packages:?}");
    let stage = Stage::new(Pass::possible()[0]).expect("a stage");
    let place = stage.place("formats").expect("a place");
    for package in packages {
        let mut command = place.tauto();
        for name in ["PATH", "HOME"] {
            command.env(name, std::env::var_os(name).unwrap_or_default());
        }
        command.arg("verify").arg(&package).args(["--json", "--slot", "none"]);
        let ended = tauto::run(&mut command, false, PATIENCE).expect("it ends");
        let document = ended.document().expect("a document");
        assert_eq!(ended.code(), Ok(0), "{}: {document:#}", package.display());
        let submissions = document["packages"][0]["submissions"].as_array().map_or(0, Vec::len);
        assert!(submissions > 0, "{}", package.display());
    }
}
