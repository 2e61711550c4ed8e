//! `tauto tune` on this very machine: only with knobs that cannot hurt it, and they are put back whatever happens. All
//! others are turned in virtual machines (`vm`).

use e2e::stage::{self, Pass, Stage, Workspace};
use e2e::tauto::{self, Ended};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
const HARMLESS: &str = "thp,perf_sample_rate,vmstat_interval,compaction";
/// Files that are changed unless they hold one of these words.
const FILES: [(&str, &[&str]); 6] = [
    ("/proc/sys/vm/stat_interval", &["120"]),
    ("/proc/sys/kernel/perf_event_max_sample_rate", &["1"]),
    ("/sys/kernel/mm/transparent_hugepage/enabled", &["[madvise]", "[never]"]),
    ("/sys/kernel/mm/transparent_hugepage/defrag", &["[never]"]),
    ("/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", &["0"]),
    ("/proc/sys/vm/compaction_proactiveness", &["0"]),
];

/// The content of each file that is there.
fn snapshot() -> BTreeMap<&'static str, String> {
    FILES.iter().filter_map(|(path, _)| Some((*path, fs::read_to_string(path).ok()?))).collect()
}

/// Files that are to be changed.
fn differing(found: &BTreeMap<&'static str, String>) -> Vec<&'static str> {
    let quiet = |path: &str, quiet: &[&str]| found[path].split_whitespace().any(|word| quiet.contains(&word));
    let there = FILES.iter().filter(|(path, _)| found.contains_key(path));
    let mut differing: Vec<&str> =
        there.filter(|(path, words)| !quiet(path, words)).map(|(path, _)| *path).collect();
    differing.sort_unstable();
    differing
}

/// Puts everything back when a test ends, however it ends.
struct PutBack<'a>(&'a Workspace<'a>, BTreeMap<&'static str, String>);

impl Drop for PutBack<'_> {
    fn drop(&mut self) {
        drop(tauto::run(self.0.tauto().args(["tune", "undo"]), false, PATIENCE));
        for (path, text) in &self.1 {
            if fs::read_to_string(path).is_ok_and(|now| now != *text) {
                let word =
                    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word);
                drop(fs::write(path, word.unwrap_or(text)));
            }
        }
    }
}

fn tune(place: &Workspace<'_>, args: &[&str]) -> Ended {
    tauto::run(place.tauto().arg("tune").args(args), false, PATIENCE).expect("tauto")
}

fn document(place: &Workspace<'_>, args: &[&str], code: i32) -> Value {
    let ended = tune(place, &[args, &["--json"]].concat());
    assert_eq!(ended.code(), Ok(code), "{}{}", ended.stdout, ended.stderr);
    ended.document().expect("a document")
}

fn changes(document: &Value) -> Vec<(&str, &str)> {
    let all = document["changes"].as_array().expect("changes");
    let mut all: Vec<(&str, &str)> = all
        .iter()
        .map(|change| {
            (change["target"].as_str().expect("a target"), change["state"].as_str().expect("a state"))
        })
        .collect();
    all.sort_unstable();
    all
}

fn in_state<'a>(targets: &[&'a str], state: &'a str) -> Vec<(&'a str, &'a str)> {
    targets.iter().map(|target| (*target, state)).collect()
}

fn scratch() -> std::path::PathBuf {
    e2e::scratch!()
}

/// As in a container: root in name only.
fn read_only() -> bool {
    fs::OpenOptions::new().write(true).open(FILES[0].0).is_err()
}

#[test]
fn applied_and_put_back() {
    if !stage::is_root() || read_only() {
        return refused_without_rights();
    }
    let _alone = stage::alone(&scratch()).expect("the lock");
    let stage = Stage::new(Pass::Root).expect("a stage");
    let place = stage.place("tune").expect("a place");
    let before = snapshot();
    let _put_back = PutBack(&place, before.clone());
    let targets = differing(&before);

    let plan = document(&place, &["plan", "--only", HARMLESS], 0);
    assert_eq!(changes(&plan), in_state(&targets, "planned"));
    assert_eq!((&plan["in_force"], snapshot()), (&Value::Bool(false), before.clone()));

    let applied = document(&place, &["apply", "--only", HARMLESS], 0);
    assert_eq!(changes(&applied), in_state(&targets, "verified"));
    assert_eq!(applied["in_force"], Value::Bool(!targets.is_empty()));
    for when in ["before", "after"] {
        assert_eq!(applied["noise"][when].as_array().map(Vec::is_empty), Some(false), "{applied:#}");
    }
    assert_eq!(differing(&snapshot()), Vec::<&str>::new());
    assert_eq!(changes(&document(&place, &["apply", "--only", HARMLESS], 0)), []);

    // Somebody else turns one of them.
    fs::write(FILES[0].0, "77").expect("written");
    let status = document(&place, &["status"], 0);
    let foreign = changes(&status).into_iter().filter(|(_, state)| *state == "foreign").collect::<Vec<_>>();
    assert_eq!(foreign, if targets.contains(&FILES[0].0) { vec![(FILES[0].0, "foreign")] } else { vec![] });

    let undone = document(&place, &["undo"], 0);
    assert_eq!(changes(&undone), in_state(&targets, "undone"));
    assert_eq!((&undone["in_force"], snapshot()), (&Value::Bool(false), before.clone()));
    assert!(!place.path("data/tune.journal").exists());
    assert_eq!(changes(&document(&place, &["status"], 0)), []);
}

#[test]
fn killed_at_each_half_of_each_change() {
    if !stage::is_root() || read_only() {
        return refused_without_rights();
    }
    let _alone = stage::alone(&scratch()).expect("the lock");
    let stage = Stage::new(Pass::Root).expect("a stage");
    let place = stage.place("tune-kill").expect("a place");
    let before = snapshot();
    let _put_back = PutBack(&place, before.clone());
    for half in 1..=2 * differing(&before).len() {
        kill_at(&place, half);
        let undone = document(&place, &["undo"], 0);
        assert_eq!(undone["changes"].as_array().map(Vec::len), Some(half.div_ceil(2)), "{undone:#}");
        assert_eq!(snapshot(), before, "killed at half {half}");
        assert!(!place.path("data/tune.journal").exists());
    }
}

#[test]
fn an_interrupt_lets_the_change_at_hand_be_finished() {
    if !stage::is_root() || read_only() {
        return refused_without_rights();
    }
    let _alone = stage::alone(&scratch()).expect("the lock");
    let stage = Stage::new(Pass::Root).expect("a stage");
    let place = stage.place("tune-interrupt").expect("a place");
    let before = snapshot();
    let _put_back = PutBack(&place, before.clone());
    if differing(&before).len() < 2 {
        return;
    }
    let (mut child, pid) = stopped_at(&place, 1);
    kill_process(pid, Signal::INT).expect("interrupted");
    kill_process(pid, Signal::CONT).expect("continued");
    let status = tauto::wait(&mut child, PATIENCE).expect("its end");
    assert_eq!(status.code(), Some(130));
    assert_eq!(differing(&snapshot()).len() + 1, differing(&before).len());
    let undone = document(&place, &["undo"], 0);
    assert_eq!((undone["changes"].as_array().map(Vec::len), snapshot()), (Some(1), before.clone()));
}

/// Starts to apply and kills it where it stops itself.
fn kill_at(place: &Workspace<'_>, half: usize) {
    let (mut child, pid) = stopped_at(place, half);
    kill_process(pid, Signal::KILL).expect("killed");
    child.wait().expect("its end");
}

/// Starts to apply and waits until it has stopped itself.
fn stopped_at(place: &Workspace<'_>, half: usize) -> (Child, Pid) {
    let mut command = place.tauto();
    command.args(["tune", "apply", "--no-measure", "--only", HARMLESS, "--pause-at", &half.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("started");
    let start = Instant::now();
    let stat = format!("/proc/{}/stat", child.id());
    let stopped = || fs::read_to_string(&stat).is_ok_and(|text| text.contains(") T "));
    while !stopped() {
        assert!(start.elapsed() < PATIENCE, "it never stopped at half {half}");
        assert!(child.try_wait().expect("a child").is_none(), "it ended before half {half}");
        std::thread::sleep(Duration::from_millis(2));
    }
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a pid");
    (child, pid)
}

#[test]
fn without_rights_nothing_is_half_done() {
    refused_without_rights();
}

/// As an ordinary user, or where the kernel's files are read-only.
fn refused_without_rights() {
    let stage = Stage::new(Pass::User).expect("a stage");
    let place = stage.place("tune-user").expect("a place");
    let plan = document(&place, &["plan"], 0);
    assert!(plan["changes"].is_array() && plan["in_force"] == Value::Bool(false), "{plan:#}");
    for verb in ["apply", "undo"] {
        let ended = tune(&place, &[verb, "--json"]);
        assert_eq!((ended.code(), ended.stdout.as_str()), (Ok(3), ""));
        let remedy = format!("needs root, nothing was changed\nhint: `sudo tauto tune {verb}`");
        assert!(ended.stderr.contains(&remedy), "{}", ended.stderr);
    }
    assert_eq!(changes(&document(&place, &["status"], 0)), []);
    assert!(!place.path("data/tune.journal").exists());
}

#[test]
fn wrong_usage_names_what_is_known() {
    let stage = Stage::new(Pass::User).expect("a stage");
    let place = stage.place("tune-usage").expect("a place");
    let profile = place.path("profile.toml");
    fs::write(&profile, "[tune]\nonly = ['thp', 'hyperthreads']\n").expect("a profile");
    let profile = profile.to_str().expect("a path");
    for (args, says) in [
        (&["plan", "--only", "hyperthreads"][..], "smt"),
        (&["apply", "--skip", "thp,x"], "numa_balancing"),
        (&["plan", "--profile", profile], "unknown id `hyperthreads`\nhint: known are smt"),
        (&["plan", "--profile", "/nowhere.toml"], "/nowhere.toml"),
        (&["plan", "--root", "/nowhere"], "/nowhere"),
    ] {
        let ended = tune(&place, args);
        assert_eq!(ended.code(), Ok(2), "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(says), "{args:?}: {}", ended.stderr);
    }
}
