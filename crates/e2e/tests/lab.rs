//! `tauto lab ladder` and `tauto lab perturb` on this machine: reports whose forms agree, experiments that go on where they
//! were, and nothing left. What needs partitions and hyper-threads is in `server`.

use e2e::leftovers::{self, Snapshot};
use e2e::stage::{self, Pass, Stage, Workspace};
use e2e::tauto::{self, Ended};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Long for experiments of seconds.
const PATIENCE: Duration = Duration::from_secs(120);
/// For everything of an ended experiment to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(10);
/// Some milliseconds of work.
const WORK: &str = "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done";
/// Perturbations that need nothing a machine may lack.
const PLAIN: &str = "same_cpu_load,cache_load";

/// The same as each possible user.
fn for_everybody(test: impl Fn(Pass, &Workspace)) {
    let scratch = e2e::scratch!();
    let _alone = stage::alone(&scratch).expect("lock");
    leftovers::adopt_orphans().expect("subreaper");
    for pass in Pass::possible() {
        let stage = Stage::new(pass).expect("stage");
        let place = stage.place("lab").expect("place");
        let before = Snapshot::take();
        test(pass, &place);
        before.wait_until_clean(GONE_WITHIN, || place.temporaries()).expect("nothing is left");
    }
}

fn lab(place: &Workspace, arguments: &[&str]) -> Ended {
    tauto::run(place.tauto().arg("lab").args(arguments), false, PATIENCE).expect("lab")
}

fn list<'a>(value: &'a Value, field: &str) -> &'a Vec<Value> {
    value[field].as_array().unwrap_or_else(|| panic!("{field} of {value}"))
}

/// As the page shows effects: three digits that say something.
fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        size if size < 1e-4 => 6,
        size => (2 - size.log10().floor() as i32).clamp(0, 6),
    };
    format!("{value:.*}", decimals as usize)
}

/// As the page shows times: milliseconds to the microsecond.
fn ms(value: &Value) -> String {
    let ns = value.as_u64().expect("nanoseconds");
    let micros = (ns + 500) / 1000;
    format!("{}.{:03}", micros / 1000, micros % 1000)
}

/// Runs an experiment with all its exports; the document, the CSV's rows after the head, and the page.
fn exported(place: &Workspace, arguments: &[&str]) -> (Value, Vec<String>, String) {
    let (csv, html) = (place.path("out/runs.csv"), place.path("out/page.html"));
    let [csv_name, html_name] = [&csv, &html].map(|path| path.to_str().expect("UTF-8"));
    let experiment = arguments[0];
    let exports = [experiment, "--json", "--csv", csv_name, "--html", html_name];
    let ended = lab(place, &[&exports, &arguments[1..]].concat());
    assert_eq!(ended.code(), Ok(0), "{arguments:?}: {}", ended.stderr);
    let rows = fs::read_to_string(csv).expect("csv").lines().skip(1).map(String::from).collect();
    let page = fs::read_to_string(html).expect("html").replace("&#39;", "'");
    (ended.document().expect("document"), rows, page)
}

#[test]
fn a_climb_ends_with_reports_that_agree() {
    for_everybody(|pass, place| {
        let (document, rows, page) = exported(place, &["ladder", "-n", "3", "--", "sh", "-c", WORK]);
        let stages = list(&document, "stages");
        let names: Vec<String> =
            stages.iter().map(|stage| format!("{} {}", stage["name"], stage["load"])).collect();
        let expected = ["untouched", "bound", "slot", "frequency", "node"];
        let expected =
            expected.iter().flat_map(|name| ["idle", "cpu"].map(|load| format!("\"{name}\" \"{load}\"")));
        assert_eq!(names, expected.collect::<Vec<_>>());
        let mut runs = 0;
        for stage in stages {
            let there = stage["available"].as_bool().expect("available");
            assert_eq!(stage["reason"].is_string(), !there, "{stage}");
            assert_eq!(stage["n"], if there { 3 } else { 0 }, "{pass:?}");
            runs += list(stage, "runs").len();
            if there {
                assert_eq!(list(stage, "runs").len(), 3);
                let figures =
                    ["median_ns", "min_ns", "max_ns", "spread_ns"].map(|field| ms(&stage["cpu"][field]));
                assert!(figures.iter().all(|ms| page.contains(&format!("<td>{ms}</td>"))), "{figures:?}");
            } else {
                assert!(page.contains(stage["reason"].as_str().expect("text")), "{stage}");
                assert!(stage["cpu"]["unknown"].is_string() && stage["isolation"]["unknown"].is_string());
            }
        }
        assert!(stages[..4].iter().all(|stage| stage["available"] == true), "{document:#}");
        assert_eq!((&stages[0]["isolation"], &stages[2]["isolation"]), (&"none".into(), &"affinity".into()));
        assert_eq!(rows.len(), runs);
        assert!(rows[0].starts_with("untouched,idle,1,ok,0,"), "{}", rows[0]);
        let found = list(&document, "found");
        assert!(
            found.len() >= 4 && found.iter().all(|text| page.contains(text.as_str().expect("text"))),
            "{found:?}"
        );
        assert_eq!(list(&document, "published").len(), 5);
        assert_eq!(document["end"], "complete");
    });
}

#[test]
fn perturbations_end_with_reports_that_agree() {
    for_everybody(|pass, place| {
        let small = ["perturb", "-n", "6", "--numbers", "100000", "--skip", "frequency,memory_load"];
        let (document, rows, page) = exported(place, &small);
        let mut runs = 0;
        for trial in list(&document, "trials") {
            let name = trial["name"].as_str().expect("name");
            let there = trial["available"].as_bool().expect("available");
            let is_plain = PLAIN.split(',').any(|plain| plain == name);
            let needs_root = ["rt_load", "page_cache_drop"].contains(&name);
            assert!(there || !is_plain, "{trial}");
            assert!(!there || !needs_root || pass == Pass::Root, "{trial}");
            assert_eq!(trial["pairs"], if there { 6 } else { 0 });
            runs += list(trial, "runs").len();
            let effect = &trial["effect_pct"]["cpu"];
            if there {
                let shown = digits(effect.as_f64().expect("a number"));
                assert!(page.contains(&format!("<td>{shown}</td>")), "{effect}");
                let [low, high] = [0, 1].map(|end| trial["ci95"]["cpu"][end].as_f64().expect("an end"));
                let pct = effect.as_f64().expect("an effect");
                assert!(low <= pct && pct <= high, "{trial}");
                assert_eq!(trial["found"]["cpu"]["unknown"], "fewer than twelve pairs", "{trial}");
                assert_eq!(trial["detectable_pct"]["unknown"], "fewer than twenty pairs");
                let controls = list(trial, "runs").iter().filter(|run| run["control"] == true).count();
                assert_eq!(controls, 6);
            } else {
                assert!(
                    effect["unknown"].is_string() && page.contains(trial["reason"].as_str().expect("text"))
                );
            }
        }
        assert_eq!((rows.len(), list(&document, "trials").len()), (runs, 6));
        let found = list(&document, "found");
        assert!(found.iter().all(|text| page.contains(text.as_str().expect("text"))), "{found:?}");
    });
}

/// The two experiments, small, with a record.
fn small(record: &str, more: &[&str]) -> [Vec<String>; 2] {
    let ladder = ["ladder", "-n", "4", "--record", record];
    let perturb = ["perturb", "-n", "8", "--only", PLAIN, "--record", record];
    [&ladder[..], &perturb[..]].map(|words| words.iter().chain(more).map(ToString::to_string).collect())
}

#[test]
fn a_machine_is_held_against_another_judge() {
    for_everybody(|_, place| {
        let (json, html, csv) =
            (place.path("out/here.json"), place.path("out/page.html"), place.path("out/other.csv"));
        let [json_name, html_name, csv_name] = [&json, &html, &csv].map(|path| path.to_str().expect("UTF-8"));
        let few = ["--only", "syscalls", "--loads", "idle,cpu", "--clocks", "cpu,reference", "-n", "3"];
        let ended = lab(place, &[&["consistency", "--json", "--html", html_name], &few[..]].concat());
        assert_eq!(ended.code(), Ok(0), "{}", ended.stderr);
        let document = ended.document().expect("document");
        let cells = list(&document, "cells");
        let by = |clock: &str| cells.iter().filter(|cell| cell["clock"] == clock).collect::<Vec<_>>();
        assert_eq!(by("cpu").len(), 2, "{document:#}");
        for cell in cells {
            let runs: Vec<u64> = list(cell, "runs").iter().filter_map(Value::as_u64).collect();
            let verdicts = list(cell, "verdicts");
            let above: Vec<f64> = verdicts.iter().filter_map(|of| of["above_pct"].as_f64()).collect();
            assert!(runs.len() == 3 && above == [5.0, 10.0, 20.0] && cell["cv_pct"].is_number(), "{cell}");
            // The very definition.
            let limit = cell["usual"].as_u64().expect("median") as f64 * 1.05;
            let over = runs.iter().filter(|run| **run as f64 > limit.round()).count();
            let told = verdicts[0]["single_pct"].as_f64().expect("share");
            assert!((told - 100.0 * over as f64 / 3.0).abs() < 1e-9, "{cell}");
        }
        let counted = by("reference");
        assert!(!counted.is_empty() || document["notes"].to_string().contains("qemu"), "{document:#}");
        assert!(counted.iter().all(|cell| cell["spread_pct"] == 0.0), "{counted:?}");
        let page = fs::read_to_string(&html).expect("page");
        assert!(page.matches("<svg").count() == 2 && page.contains("limit +20 %"), "two loads");
        fs::write(&json, &ended.stdout).expect("file");
        fs::write(&csv, "program,load,time\nsyscalls,idle,0.1\nsyscalls,idle,0.1\nsyscalls,cpu,0.109\n")
            .expect("file");
        let both = ["consistency", "--csv", csv_name, "--compare", json_name, "--html", html_name];
        let ended = lab(place, &both);
        assert_eq!(ended.code(), Ok(0), "{}", ended.stderr);
        assert!(ended.stdout.contains("100 / 100") && ended.stdout.contains("other.csv"), "{}", ended.stdout);
        let page = fs::read_to_string(&html).expect("page");
        assert!(page.contains("Consistency of other.csv and ") && page.matches("<svg").count() == 2);
        for (text, says) in
            [("program,time\n", "line 1: no column load"), ("program,load,time\na,b,c\n", "line 2: time")]
        {
            fs::write(&csv, text).expect("file");
            let ended = lab(place, &both);
            assert_eq!(ended.code(), Ok(2), "{}", ended.stderr);
            assert!(ended.stderr.contains(says) && ended.stderr.contains("hint:"), "{}", ended.stderr);
        }
        fs::write(&json, "{\"form\": 9}").expect("file");
        let ended = lab(place, &["consistency", "--compare", json_name]);
        assert!(ended.code() == Ok(2) && ended.stderr.contains("form 9"), "{}", ended.stderr);
    });
}

/// Runs a record holds; of a line that is being written, nothing.
fn runs(path: &Path) -> usize {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_inclusive('\n').filter(|line| line.starts_with("{\"run\":") && line.ends_with('\n')).count()
}

/// Starts an experiment and waits until its record has so many runs.
fn begun(place: &Workspace, arguments: &[String], record: &Path, count: usize) -> Child {
    let mut command = place.tauto();
    command.arg("lab").args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("start");
    let start = Instant::now();
    while runs(record) < count {
        assert!(start.elapsed() < PATIENCE && child.try_wait().expect("wait").is_none(), "{arguments:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

fn strike(child: &mut Child, signal: Signal) -> Option<i32> {
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("pid");
    kill_process(id, signal).expect("kill");
    tauto::wait(child, GONE_WITHIN).expect("it ends").code()
}

#[test]
fn killed_at_any_point_they_go_on_without_a_run_lost_or_doubled() {
    for_everybody(|pass, place| {
        let record = place.path("data/record");
        let name = record.to_str().expect("UTF-8");
        for (arguments, all) in small(name, &["--json", "--", "sh", "-c", WORK]).iter().zip([24, 32]) {
            let mut kept = String::new();
            // With and without a load beside the run, whatever is going on then.
            for count in [1, 4, 8, 13] {
                let before = Snapshot::take();
                let mut child = begun(place, arguments, &record, count);
                strike(&mut child, Signal::KILL);
                before.wait_until_no_processes(GONE_WITHIN).expect("loads end with it");
                let now = fs::read_to_string(&record).expect("record");
                assert!(now.starts_with(&kept), "{pass:?}: {count}");
                kept = now[..now.rfind('\n').map_or(0, |at| at + 1)].to_string();
            }
            let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let ended = lab(place, &words);
            assert_eq!(ended.code(), Ok(0), "{}", ended.stderr);
            assert!(ended.stderr.contains("resuming after"), "{}", ended.stderr);
            let whole = fs::read_to_string(&record).expect("record");
            assert!(whole.starts_with(&kept) && runs(&record) == all, "{}", runs(&record));
            // A record that was named and is complete is told as it is.
            let again = lab(place, &words);
            assert_eq!((again.document(), runs(&record)), (ended.document(), all));
            fs::remove_file(&record).expect("removed");
        }
    });
}

#[test]
fn an_interrupt_ends_them_with_what_they_have() {
    for_everybody(|pass, place| {
        let record = place.path("data/record");
        let name = record.to_str().expect("UTF-8");
        for arguments in small(name, &["--", "sh", "-c", WORK]) {
            let mut child = begun(place, &arguments, &record, 4);
            assert_eq!(strike(&mut child, Signal::INT), Some(130), "{pass:?} {arguments:?}");
            assert!(runs(&record) >= 4);
            let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
            assert_eq!(lab(place, &words).code(), Ok(0));
            fs::remove_file(&record).expect("removed");
        }
    });
}

#[test]
fn a_run_that_fails_is_named_and_those_before_it_are_told() {
    for_everybody(|_, place| {
        let (record, flags) = (place.path("data/record"), place.path("out/flags"));
        fs::create_dir(&flags).expect("directory");
        let [record_name, flags_name] = [&record, &flags].map(|path| path.to_str().expect("UTF-8"));
        let show = format!("{flags_name}:/flags");
        let program = format!("test ! -e /flags/stop || exit 7; {WORK}");
        for arguments in small(record_name, &["--json", "--show", &show, "--", "sh", "-c", &program]) {
            let mut command = place.tauto();
            command
                .arg("lab")
                .args(&arguments)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            let child = command.spawn().expect("start");
            let start = Instant::now();
            while runs(&record) < 4 {
                assert!(start.elapsed() < PATIENCE, "{arguments:?}");
                std::thread::sleep(Duration::from_millis(1));
            }
            fs::write(flags.join("stop"), "").expect("flag");
            let output = child.wait_with_output().expect("it ends");
            let stderr = String::from_utf8_lossy(&output.stderr);
            let kept = runs(&record);
            assert_eq!(output.status.code(), Some(2), "{stderr}");
            let named = format!("run {} (", kept + 1);
            assert!(stderr.contains(&named) && stderr.contains("exited with code 7"), "{stderr}");
            let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
            assert!(document["end"]["failed"].as_str().is_some_and(|why| why.contains(&named)), "{document}");
            fs::remove_file(flags.join("stop")).expect("flag");
            let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let ended = lab(place, &words);
            assert_eq!(ended.code(), Ok(0), "{}", ended.stderr);
            fs::remove_file(&record).expect("removed");
        }
    });
}

#[test]
fn what_cannot_be_done_is_said_before_anything_begins() {
    for_everybody(|_, place| {
        for (arguments, says) in [
            (&["ladder", "--", "no-such-program"][..], "no-such-program"),
            (&["perturb", "--", "no-such-program"], "no-such-program"),
            (&["ladder", "--cpu", "0", "--", "true"], "places the program itself"),
            (&["perturb", "--slot", "none", "--", "true"], "places the program itself"),
            (&["ladder", "--slot", "99", "--", "true"], "has no such slot"),
            (&["perturb", "--only", "noise", "--", "true"], "noise"),
            (&["ladder", "-n", "0"], "0"),
        ] {
            let ended = lab(place, arguments);
            assert_eq!(ended.code(), Ok(2), "{arguments:?}: {}", ended.stderr);
            assert!(
                ended.stderr.contains(says) && ended.stdout.is_empty(),
                "{arguments:?}: {}",
                ended.stderr
            );
            let records = fs::read_dir(place.path("data/lab")).map_or(0, Iterator::count);
            assert_eq!(records, 0, "{arguments:?}");
        }
    });
}

/// A knob that hurts nobody.
const KNOB: &str = "/proc/sys/vm/stat_interval";

/// The note of an experiment that changed it. Field 22 of proc_pid_stat(5) is when a process started.
fn note(pid: u32, place: &Workspace) {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("boot");
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let started = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(19)).unwrap_or("0");
    let text = format!(
        "{{\"pid\":{pid},\"started\":{started},\"boot\":\"{}\",\"ids\":[\"vmstat_interval\"]}}\n",
        boot.trim()
    );
    fs::write(place.path("data/lab.loan"), text).expect("note");
}

#[test]
fn what_a_killed_experiment_had_changed_is_put_back_by_the_next_call() {
    for_everybody(|pass, place| {
        let found = fs::read_to_string(KNOB).unwrap_or_default();
        let can = pass == Pass::Root
            && fs::OpenOptions::new().write(true).open(KNOB).is_ok()
            && found.trim() != "120";
        if !can {
            return;
        }
        let tauto = |words: &[&str]| tauto::run(place.tauto().args(words), false, PATIENCE).expect("tauto");
        let apply = tauto(&["tune", "apply", "--no-measure", "--only", "vmstat_interval"]);
        let changed = fs::read_to_string(KNOB).expect("knob");
        // It is still at work: this very process.
        note(std::process::id(), place);
        let meanwhile = tauto(&["slots"]);
        let kept = fs::read_to_string(KNOB).expect("knob");
        note(u32::MAX >> 1, place);
        let next = tauto(&["slots"]);
        let back = fs::read_to_string(KNOB).expect("knob");
        let quiet = tauto(&["slots"]);
        fs::write(KNOB, found.trim()).expect("put back");
        assert_eq!(apply.code(), Ok(0), "{}", apply.stderr);
        assert!(changed != found && kept == changed && meanwhile.stderr.is_empty(), "{}", meanwhile.stderr);
        assert!(
            next.stderr.contains("restored what an interrupted experiment had changed: vmstat_interval"),
            "{}",
            next.stderr
        );
        assert_eq!((back, quiet.stderr), (found, String::new()));
    });
}
