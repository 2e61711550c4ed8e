//! Packages of other formats, whole: `tauto verify` holds what their solutions promise.

use e2e::package::{DOUBLE, write};
use e2e::stage::{Pass, Stage, Workspace};
use e2e::tauto;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Only reached by a `tauto` that hangs: a slow machine compiles for a while.
const PATIENCE: Duration = Duration::from_secs(300);

#[test]
fn packages_of_each_format_are_judged_as_they_promise() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("packages/formats");
    let mut packages: Vec<PathBuf> =
        fs::read_dir(&directory).expect("packages/formats").flatten().map(|entry| entry.path()).collect();
    packages.sort();
    assert!(packages.len() >= 12, "{packages:?}");
    let stage = Stage::new(Pass::possible()[0]).expect("a stage");
    let place = stage.place("formats").expect("a place");
    for package in packages {
        let document = verified(&place, &package, 0);
        let format =
            package.file_name().and_then(|name| name.to_str()?.split_once('-')).map(|(format, _)| format);
        assert_eq!(document["packages"][0]["format"].as_str(), format, "{}", package.display());
        let submissions = document["packages"][0]["submissions"].as_array().map_or(0, Vec::len);
        assert!(submissions > 0, "{}", package.display());
    }
}

/// What `tauto verify` says of a package, with the exit code it is to have.
fn verified(place: &Workspace, package: &Path, code: i32) -> Value {
    let mut command = tauto_with_tools(place);
    command.arg("verify").arg(package).args(["--json", "--slot", "none"]);
    let ended = tauto::run(&mut command, false, PATIENCE).expect("it ends");
    let document = ended.document().expect("a document");
    assert_eq!(ended.code(), Ok(code), "{}: {document:#}", package.display());
    document
}

fn tauto_with_tools(place: &Workspace) -> Command {
    let mut command = place.tauto();
    for name in ["PATH", "HOME"] {
        command.env(name, std::env::var_os(name).unwrap_or_default());
    }
    command
}

/// Verdict and score of each submission by the last part of its path.
fn earned(document: &Value) -> BTreeMap<String, (Value, Value)> {
    let all = document["packages"][0]["submissions"].as_array().cloned().unwrap_or_default();
    let one = |of: Value| {
        let name = of["path"].as_str()?.rsplit('/').next()?.to_string();
        Some((name, (of["verdict"].clone(), of["score"].clone())))
    };
    all.into_iter().filter_map(one).collect()
}

#[test]
fn converted_packages_give_the_same_verdicts() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("packages/formats");
    let stage = Stage::new(Pass::possible()[0]).expect("a stage");
    let place = stage.place("converted").expect("a place");
    for name in
        ["cms-lines", "dmoj-guess", "dmoj-sums", "dmoj-talk", "polygon-steps", "polygon-twice", "tps-lights"]
    {
        let (source, target) = (directory.join(name), place.path(name));
        let mut command = tauto_with_tools(&place);
        command.arg("convert").arg(&source).arg(&target).args(["--slot", "none"]);
        let ended = tauto::run(&mut command, false, PATIENCE).expect("it ends");
        assert_eq!(ended.code(), Ok(0), "{name}: {}", ended.stderr);
        let (before, after) = (verified(&place, &source, 0), verified(&place, &target, 0));
        assert_eq!(after["packages"][0]["format"], "2025-09", "{name}");
        assert_eq!(earned(&before), earned(&after), "{name}");
    }
    let mut command = tauto_with_tools(&place);
    command.arg("convert").arg(directory.join("cms-relay")).arg(place.path("cms-relay"));
    let ended = tauto::run(&mut command, false, PATIENCE).expect("it ends");
    assert_eq!(ended.code(), Ok(2));
    let named = ended.stderr.matches("cms-relay").count();
    assert!(
        named == 1 && ended.stderr.contains("cms-relay: its programs talk to a manager"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_test_that_a_validator_rejects_makes_the_package_bad() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("packages/formats/polygon-steps");
    let stage = Stage::new(Pass::possible()[0]).expect("a stage");
    let place = stage.place("rejected").expect("a place");
    let target = place.path("steps");
    for path in ["problem.xml", "files/gen.py", "files/val.py", "files/check.py", "solutions/sum.py"] {
        let text = fs::read_to_string(directory.join(path)).expect("a file");
        // The group `small` then has a test of the size that only `large` may have.
        let text = text.replace("cmd=\"gen 9\"", "cmd=\"gen 11\"");
        let without = text.replace("<solution tag=\"wrong-answer\"><source path=\"solutions/first.py\" type=\"python.3\"/></solution>", "");
        fs::create_dir_all(target.join(path).parent().expect("a directory")).expect("directories");
        fs::write(target.join(path), without).expect("a file");
    }
    let document = verified(&place, &target, 1);
    let fault = document["packages"][0]["fault"].as_str().unwrap_or_default();
    assert!(
        fault.starts_with("files/val.py rejects tests/02: FAIL 11 is not in the range of small"),
        "{fault}"
    );
}

/// Accepts numbers up to 100.
const UP_TO_100: &str = "import sys\nsys.exit(42 if int(sys.stdin.read()) <= 100 else 43)\n";

/// Data that validators are tried with, in a package that is good without.
const TRIED: [(&str, &str); 8] = [
    ("input_validators/size.py", UP_TO_100),
    ("data/invalid_input/large.in", "101\n"),
    ("data/invalid_output/once.in", "5\n"),
    ("data/invalid_output/once.ans", "10\n"),
    ("data/invalid_output/once.out", "5\n"),
    ("data/valid_output/spaces.in", "6\n"),
    ("data/valid_output/spaces.ans", "12\n"),
    ("data/valid_output/spaces.out", "  12 \n"),
];

#[test]
fn validators_accept_and_reject_what_the_package_says() {
    let stage = Stage::new(Pass::possible()[0]).expect("a stage");
    let place = stage.place("validators").expect("a place");
    let package = place.path("tried");
    write(&package, &[&DOUBLE[..], &TRIED].concat()).expect("a package");
    assert_eq!(verified(&place, &package, 0)["packages"][0]["fault"], Value::Null);
    for (path, text, fault) in [
        ("data/invalid_input/large.in", "99\n", "no input validator rejects data/invalid_input/large.in"),
        ("data/invalid_output/once.out", "10\n", "the output validator accepts data/invalid_output/once.out"),
        ("data/valid_output/spaces.out", "13\n", "the output validator rejects data/valid_output/spaces.out"),
        (
            "data/valid_output/spaces.in",
            "600\n",
            "input_validators/size.py rejects data/valid_output/spaces.in",
        ),
    ] {
        let package = place.path(&path.replace('/', "-"));
        write(&package, &[&DOUBLE[..], &TRIED, &[(path, text)]].concat()).expect("a package");
        let document = verified(&place, &package, 1);
        let said = document["packages"][0]["fault"].as_str().unwrap_or_default();
        assert!(said.starts_with(fault), "{path}: {said}");
    }
}
