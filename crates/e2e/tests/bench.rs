//! `tauto bench` on this machine.

use e2e::leftovers::{self, Snapshot};
use e2e::stage::{self, Pass, Stage, Workspace};
use e2e::tauto::{self, Ended};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::sched_getaffinity;
use serde_json::Value;
use std::io::Read;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Long for a bench of a second.
const PATIENCE: Duration = Duration::from_secs(120);
/// For a load to show that it runs.
const STARTED_WITHIN: Duration = Duration::from_secs(10);
/// For everything of an interrupted bench to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(5);
/// Some ten milliseconds of work.
const WORK: &str = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";

fn bench(place: &Workspace, arguments: &[&str]) -> Ended {
    let mut command = place.tauto();
    command.arg("bench").args(arguments);
    tauto::run(&mut command, false, PATIENCE).expect("bench")
}

/// The same as each possible user.
fn for_everybody(test: impl Fn(Pass, &Workspace)) {
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    for pass in Pass::possible() {
        let stage = Stage::new(pass).expect("stage");
        let place = stage.place("bench").expect("place");
        test(pass, &place);
    }
}

fn list<'a>(value: &'a Value, field: &str) -> &'a Vec<Value> {
    value[field].as_array().unwrap_or_else(|| panic!("{field} of {value}"))
}

#[test]
fn the_document_has_every_field_and_the_exports_agree_with_it() {
    for_everybody(|pass, place| {
        let (csv, html) = (place.path("out/runs.csv"), place.path("out/page.html"));
        let [csv_name, html_name] = [&csv, &html].map(|path| path.to_str().expect("UTF-8"));
        let ended = bench(
            place,
            &[
                "-n", "8", "--warmup", "1", "--json", "--csv", csv_name, "--html", html_name, "--", "sh",
                "-c", WORK,
            ],
        );
        assert_eq!(ended.code().expect("no signal"), 0, "{pass:?}: {}", ended.stderr);
        let document = ended.document().expect("document");
        for clock in ["cpu", "wall"] {
            let block = &document[clock];
            for field in ["min_ns", "median_ns", "max_ns", "spread_ns"] {
                assert!(block[field].is_u64(), "{clock} {field}: {block}");
            }
            for field in ["spread_pct", "cv_pct", "mad_pct"] {
                assert!(block[field].is_f64(), "{clock} {field}: {block}");
            }
            let ends: Vec<u64> = list(block, "median_ci95_ns").iter().filter_map(Value::as_u64).collect();
            let [min, median, max] =
                ["min_ns", "median_ns", "max_ns"].map(|f| block[f].as_u64().unwrap_or(0));
            assert!(min <= ends[0] && ends[0] <= median && median <= ends[1] && ends[1] <= max, "{block}");
        }
        let (n, void) = (document["n"].as_u64(), document["void_runs"].as_u64());
        let runs = list(&document, "runs");
        assert_eq!(n.zip(void).map(|(n, void)| n + void), Some(runs.len() as u64));
        // Discarded runs are made again, but not without end.
        assert!((8..=16).contains(&runs.len()) && (n == Some(8) || runs.len() == 16), "{n:?} {void:?}");
        for run in runs {
            assert_eq!(run["status"], "ok");
            assert!(run["evidence"].is_object() && run["disturbed"].is_array() && run["void"].is_boolean());
        }
        assert!(document["outliers"].is_array() && document["warnings"].is_array());
        assert_eq!((&document["end"], &document["comparison"]), (&"complete".into(), &Value::Null));
        let csv = std::fs::read_to_string(csv).expect("csv");
        assert_eq!(csv.lines().count(), 1 + runs.len());
        let thresholds = &document["thresholds"];
        assert_eq!(thresholds["policy"]["runs"], 10, "{thresholds}");
        assert!(thresholds["band_pct"].as_f64() > Some(0.0), "{thresholds}");
        let html = std::fs::read_to_string(html).expect("html");
        let median = document["cpu"]["median_ns"].as_u64().expect("median");
        let micros = (median + 500) / 1000;
        assert!(html.contains(&format!("<td>{}.{:03}</td>", micros / 1000, micros % 1000)));
        assert_eq!(html.matches("<circle").count() + html.matches("class=\"cross\"").count(), runs.len());
    });
}

#[test]
fn a_spread_above_what_is_asked_is_bad() {
    for_everybody(|_, place| {
        let ended = bench(place, &["-n", "5", "--max-spread", "0.0001", "--", "sh", "-c", WORK]);
        assert_eq!(ended.code().expect("no signal"), 1, "{}", ended.stderr);
        assert!(ended.stdout.contains("spread"), "{}", ended.stdout);
        let ended = bench(place, &["-n", "5", "--max-spread", "100000", "--", "sh", "-c", WORK]);
        assert_eq!(ended.code().expect("no signal"), 0, "{}", ended.stderr);
    });
}

#[test]
fn wrong_usage_is_said_with_the_remedy() {
    for_everybody(|_, place| {
        for (arguments, says) in [
            (&["true", "1"][..], "`--` stands before a single one"),
            (&[], "no command"),
            (&["-p", "n=1..3", "--", "true"], "no command has {n} in it"),
            (&["-p", "n=3..1", "--", "true", "{n}"], "must run upwards"),
            (&["-n", "0", "--", "true"], "0"),
            (&["sh -c 'true"], "a single quote is not closed"),
            (&["--csv", "/nowhere/at/all.csv", "--", "true"], "/nowhere/at/all.csv"),
            (
                &["--", "sh", "-c", "exit 3"],
                "run 1 of `sh -c 'exit 3'`: exited with code 3\nhint: --ignore-failure",
            ),
        ] {
            let ended = bench(place, arguments);
            assert_eq!(ended.code().expect("no signal"), 2, "{arguments:?}: {}", ended.stderr);
            assert!(ended.stderr.contains(says), "{arguments:?}: {}", ended.stderr);
            assert_eq!(ended.stdout, "", "{arguments:?}");
        }
        let ended = bench(place, &["-n", "3", "-i", "--", "sh", "-c", "exit 3"]);
        assert_eq!(ended.code().expect("no signal"), 0, "{}", ended.stderr);
        assert!(ended.stdout.contains("3 runs that count failed: exited with code 3"), "{}", ended.stdout);
    });
}

#[test]
fn parameters_are_swept_in_turn() {
    for_everybody(|_, place| {
        let ended = bench(place, &["--json", "-n", "6", "-p", "n=1,2", "sh -c 'exit 0' {n}", "true {n}"]);
        assert_eq!(ended.code().expect("no signal"), 0, "{}", ended.stderr);
        let document = ended.document().expect("document");
        let others = list(&document, "others");
        let commands: Vec<&str> =
            [&document].into_iter().chain(others).filter_map(|one| one["command"].as_str()).collect();
        assert_eq!(commands, ["sh -c 'exit 0' 1", "sh -c 'exit 0' 2", "true 1", "true 2"]);
        assert_eq!((&document["parameters"]["n"], &others[2]["parameters"]["n"]), (&"1".into(), &"2".into()));
        assert!(others.iter().all(|other| other["comparison"]["p"].is_f64()), "{others:?}");
    });
}

#[test]
fn a_program_is_compared_with_itself() {
    for_everybody(|_, place| {
        let command = format!("sh -c '{WORK}'");
        let ended = bench(place, &["--json", "-n", "20", &command, &command]);
        assert_eq!(ended.code().expect("no signal"), 0, "{}", ended.stderr);
        let document = ended.document().expect("document");
        let comparison = &document["others"][0]["comparison"];
        // Whether a difference is found is chance, one time in fifty; tests/against_itself.rs of crate lab counts how often.
        assert!(comparison["p"].as_f64().is_some_and(|p| 0.0 < p && p <= 1.0), "{comparison}");
        assert!(comparison["ratio"].as_f64().is_some_and(|r| (0.8..1.25).contains(&r)), "{comparison}");
    });
}

/// The CPUs of this process.
fn cpus() -> Vec<u32> {
    let mask = sched_getaffinity(None).expect("own CPUs");
    (0..1024u32).filter(|cpu| mask.is_set(*cpu as usize)).collect()
}

/// A load on every CPU of this process, which has begun.
fn load(place: &Workspace, seconds: u32) -> Child {
    let list = cpus().iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let mut command = place.load();
    command.args(["--cpus", &list, "--seconds", &seconds.to_string()]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("load");
    // It says what it does just before it begins.
    let mut first = [0];
    child.stderr.as_mut().expect("stderr").read_exact(&mut first).expect("a first byte");
    let start = Instant::now();
    let threads = || std::fs::read_dir(format!("/proc/{}/task", child.id())).map_or(0, Iterator::count);
    while threads() <= cpus().len() && start.elapsed() < STARTED_WITHIN {
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

fn end(mut child: Child, signal: Signal) -> Option<i32> {
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("pid");
    kill_process(id, signal).expect("kill");
    tauto::wait(&mut child, PATIENCE).expect("it ends").code()
}

#[test]
fn busy_cores_are_told_in_words() {
    for_everybody(|pass, place| {
        let load = load(place, 100);
        let plain = bench(place, &["-n", "10", "--", "sh", "-c", WORK]);
        let json = bench(place, &["-n", "10", "--json", "--", "sh", "-c", WORK]);
        end(load, Signal::TERM);
        assert_eq!(plain.code().expect("no signal"), 0, "{}", plain.stderr);
        let words = "busy with other work during the benchmark";
        assert!(plain.stdout.contains(words), "{pass:?}: {}", plain.stdout);
        let document = json.document().expect("document");
        let told =
            list(&document, "warnings").iter().find(|w| w["kind"] == "saturated_cores").expect("warned");
        assert!(told["message"].as_str().is_some_and(|message| message.contains(words)), "{told}");
        assert_eq!(told["ours"], true, "{told}");
    });
}

#[test]
fn an_interrupted_bench_tells_what_it_has_and_leaves_nothing() {
    leftovers::adopt_orphans().expect("subreaper");
    for_everybody(|pass, place| {
        let before = Snapshot::take();
        let csv = place.path("out/runs.csv");
        let mut command = place.tauto();
        command.args(["bench", "--json", "-n", "10000", "--csv"]).arg(&csv).args(["--", "sh", "-c", WORK]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("start");
        // The moment does not matter: whatever it has by then, it tells.
        std::thread::sleep(Duration::from_secs(3));
        let mut stdout = child.stdout.take().expect("stdout");
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).map(|_| text)
        });
        assert_eq!(end(child, Signal::INT), Some(130), "{pass:?}");
        let text = reader.join().expect("reader").expect("text");
        let document: Value = serde_json::from_str(&text).expect("one document");
        assert_eq!(document["end"], "interrupted");
        let runs = list(&document, "runs").len();
        assert!(runs > 0, "{pass:?}");
        assert_eq!(std::fs::read_to_string(&csv).expect("csv").lines().count(), 1 + runs);
        before.wait_until_clean(GONE_WITHIN, Vec::new).expect("nothing is left");
    });
}
