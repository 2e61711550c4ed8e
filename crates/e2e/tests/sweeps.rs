//! `tauto lab layout` and `tauto lab link-order` on this machine.

use e2e::leftovers::Snapshot;
use e2e::package;
use e2e::stage::{self, Pass, Stage, Workspace};
use e2e::tauto::{self, Ended};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(120);
const STARTED_WITHIN: Duration = Duration::from_secs(30);
const GONE_WITHIN: Duration = Duration::from_secs(5);

fn lab(place: &Workspace, arguments: &[&str]) -> Ended {
    let mut command = place.tauto();
    command.arg("lab").args(arguments);
    tauto::run(&mut command, false, PATIENCE).expect("lab")
}

/// The same as each possible user.
fn for_everybody(test: impl Fn(Pass, &Workspace)) {
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    for pass in Pass::possible() {
        let stage = Stage::new(pass).expect("stage");
        let place = stage.place("lab").expect("place");
        test(pass, &place);
    }
}

fn list<'a>(value: &'a Value, field: &str) -> &'a Vec<Value> {
    value[field].as_array().unwrap_or_else(|| panic!("{field} of {value}"))
}

/// Runs a record holds.
fn kept(record: &Path) -> Vec<Value> {
    let text = fs::read_to_string(record).unwrap_or_default();
    text.lines().skip(1).filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn a_sweep_ends_with_documents_that_agree() {
    for_everybody(|pass, place| {
        let [csv, html, json] = ["out/a.csv", "out/a.html", "out/a.json"].map(|name| place.path(name));
        let sweep = ["layout", "--to", "64", "--step", "16", "-n", "6", "--json"];
        let ended = lab(place, &[&sweep[..], &["--csv", text(&csv), "--html", text(&html)]].concat());
        assert_eq!(ended.code().expect("no signal"), 0, "{pass:?}: {}", ended.stderr);
        let document = ended.document().expect("document");
        let points = list(&document, "points");
        let places: Vec<u64> = points.iter().filter_map(|point| point["env_bytes"].as_u64()).collect();
        assert_eq!(places, [0, 16, 32, 48, 64]);
        assert!(["cycles", "cpu_ns"].contains(&document["clock"].as_str().unwrap_or("")), "{document}");
        assert_eq!((&document["aslr"], &document["end"]), (&Value::from(false), &Value::from("complete")));
        assert!(document["sensitivity_pct"].is_f64() && document["peaks"].is_array(), "{document}");
        let (rows, page) = (fs::read_to_string(&csv).expect("csv"), fs::read_to_string(&html).expect("html"));
        for point in points {
            let [at, median, least, most, n] = ["env_bytes", "median", "min", "max", "n"]
                .map(|field| point[field].as_u64().expect("number"));
            assert!(least <= median && median <= most && (6..=12).contains(&n), "{point}");
            assert!(rows.contains(&format!("{at},{median},{least},{most},{n}\r\n")), "{rows}");
            let row =
                format!("<tr><td>{at}</td><td>{median}</td><td>{least}</td><td>{most}</td><td>{n}</td></tr>");
            assert!(page.contains(&row), "the page lacks {row}");
        }
        // Another machine's curve.
        fs::write(&json, ended.stdout).expect("write");
        let over = ["--environments", text(&json), "--html", text(&html)];
        let again = lab(place, &[&sweep[..], &over].concat());
        assert_eq!(again.code().expect("no signal"), 0, "{}", again.stderr);
        assert!(fs::read_to_string(&html).expect("html").contains("Several machines"));
    });
}

#[test]
fn every_part_that_is_varied_is_varied() {
    for_everybody(|_, place| {
        for vary in ["argv0", "stack"] {
            let sweep =
                ["layout", "--vary", vary, "--to", "32", "--step", "16", "-n", "2", "--aslr", "on", "--json"];
            let ended = lab(place, &sweep);
            assert_eq!(ended.code().expect("no signal"), 0, "{vary}: {}", ended.stderr);
            let document = ended.document().expect("document");
            assert_eq!((&document["vary"], &document["aslr"]), (&Value::from(vary), &Value::from(true)));
            assert_eq!(list(&document, "points").len(), 3, "{document}");
        }
    });
}

/// Killed again and again, whenever that happens to be, it comes to the runs that were to be made, each once.
#[test]
fn a_killed_sweep_loses_no_run_and_doubles_none() {
    for_everybody(|pass, place| {
        let record = place.path("out/record");
        let sweep =
            ["layout", "--to", "480", "--step", "16", "-n", "12", "--json", "--record", text(&record)];
        let mut before = 0;
        for kill in 0..4 {
            let snapshot = Snapshot::take();
            let mut command = place.tauto();
            command.arg("lab").args(sweep).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().expect("start");
            let start = Instant::now();
            while kept(&record).len() < before + 3 + 17 * kill {
                assert!(start.elapsed() < STARTED_WITHIN, "{pass:?}: no run was made");
                std::thread::sleep(Duration::from_millis(1));
            }
            child.kill().expect("kill");
            child.wait().expect("wait");
            snapshot.wait_until_no_processes(GONE_WITHIN).expect("nothing is left");
            let now = kept(&record).len();
            assert!(now > before && now < 31 * 12, "{pass:?}: {now} after {before}");
            before = now;
        }
        let begun = kept(&record);
        let ended = lab(place, &sweep);
        assert_eq!(ended.code().expect("no signal"), 0, "{pass:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(&format!("resuming after {before} runs")), "{}", ended.stderr);
        let document = ended.document().expect("document");
        let all = kept(&record);
        assert_eq!(all[..before], begun, "what was kept is not touched");
        assert_eq!(document["runs"].as_u64(), Some(all.len() as u64));
        for point in list(&document, "points") {
            let own = all.iter().filter(|run| run["at"] == point["env_bytes"]);
            let quiet = own.clone().filter(|run| run.get("disturbed").is_none()).count();
            let made = own.count();
            assert!(quiet == 12 || made == 24, "{pass:?}: {point}: {quiet} of {made}");
        }
        // The record is complete: it is told of, and nothing is run.
        let told = lab(place, &sweep).document().expect("document");
        assert_eq!(told["points"], document["points"]);
        assert_eq!(kept(&record).len(), all.len());
    });
}

#[test]
fn what_cannot_be_measured_is_told_and_earlier_runs_are_kept() {
    for_everybody(|pass, place| {
        let missing = lab(place, &["layout", "--", "no-such-program"]);
        assert_eq!(missing.code().expect("no signal"), 2, "{pass:?}");
        assert!(missing.stderr.contains("no-such-program: no such program"), "{}", missing.stderr);
        // Ends badly once its environment is large.
        let script = place.path("out/script.sh");
        fs::write(&script, "test $(env | wc -c) -lt 300\n").expect("write");
        let record = place.path("out/crash");
        let sweep = [
            "layout",
            "--from",
            "1",
            "--to",
            "401",
            "--step",
            "100",
            "-n",
            "3",
            "--json",
            "--record",
            text(&record),
        ];
        let ended = lab(place, &[&sweep[..], &["--", "sh", text(&script)]].concat());
        assert_eq!(ended.code().expect("no signal"), 2, "{pass:?}: {}", ended.stderr);
        let runs = kept(&record).len();
        let expected = format!("run {} (at ", runs + 1);
        assert!(
            ended.stderr.contains(&expected) && ended.stderr.contains("exited with code 1"),
            "{}",
            ended.stderr
        );
        if runs > 0 {
            let document = ended.document().expect("document");
            assert_eq!(document["runs"].as_u64(), Some(runs as u64));
            assert!(document["end"]["failed"].is_string(), "{document}");
            assert!(ended.stderr.contains("are saved in"), "{}", ended.stderr);
        }
        // The record of another experiment is not gone on with.
        let other = lab(place, &["layout", "--to", "64", "-n", "2", "--record", text(&record)]);
        assert_eq!(other.code().expect("no signal"), 2, "{pass:?}");
        assert!(other.stderr.contains("the record of another experiment"), "{}", other.stderr);
        for (bad, part) in [
            (&["--from", "9", "--to", "8"][..], "--from 9"),
            (&["--vary", "stack", "--step", "8"], "multiples of 16"),
            (&["--environments", "/no/such/file"], "/no/such/file"),
        ] {
            let ended = lab(place, &[&["layout"], bad].concat());
            assert_eq!(ended.code().expect("no signal"), 2, "{bad:?}");
            assert!(ended.stderr.contains(part), "{bad:?}: {}", ended.stderr);
        }
    });
}

/// A project whose parts say in which order they were linked, or do not.
fn project(place: &Workspace, says: bool) -> PathBuf {
    let directory = place.path(if says { "out/saying" } else { "out/quiet" });
    let part = |name: &str| {
        let hello = if says { format!("std::printf(\"{name}\");") } else { String::new() };
        format!(
            "#include <cstdio>\nstruct S {{ S() {{ {hello} }} }} {name}_made;\nint {name}(int n) {{ volatile int s = 0; for (int i = 0; i < n; i++) s += i; return s; }}\n"
        )
    };
    let main = "int a(int), b(int), c(int);\n#include <cstdio>\nint main() { std::printf(\"%d\\n\", a(100000) + b(200000) + c(300000)); }\n";
    let [a, b, c] = ["a", "b", "c"].map(part);
    package::write(&directory, &[("a.cpp", &a), ("b.cpp", &b), ("c.cpp", &c), ("main.cpp", main)])
        .expect("write");
    directory
}

#[test]
fn link_orders_are_built_compared_and_gone_on_with() {
    for_everybody(|pass, place| {
        let directory = project(place, false);
        let [csv, html, record] = ["out/l.csv", "out/l.html", "out/l.record"].map(|name| place.path(name));
        let orders =
            ["link-order", "--orders", "5", "-n", "3", "--json", "--record", text(&record), text(&directory)];
        let ended = lab(place, &[&orders[..], &["--csv", text(&csv), "--html", text(&html)]].concat());
        assert_eq!(ended.code().expect("no signal"), 0, "{pass:?}: {}", ended.stderr);
        let document = ended.document().expect("document");
        assert_eq!(document["outputs_agree"], true);
        let all = list(&document, "orders");
        assert_eq!(all.len(), 5, "{document}");
        let page = fs::read_to_string(&html).expect("html");
        for order in all {
            let median = order["median_ns"].as_u64().expect("median");
            let micros = (median + 500) / 1000;
            let shown = format!("<td>{}.{:03}</td>", micros / 1000, micros % 1000);
            assert!(page.contains(&shown), "the page lacks {shown}");
            assert!((3..=6).contains(&list(order, "runs_ns").len()), "{order}");
        }
        let rows = fs::read_to_string(&csv).expect("csv").lines().count();
        assert_eq!(rows, 1 + kept(&record).len());
        // From the middle of the record it goes on, and comes to as many.
        let lines: Vec<String> =
            fs::read_to_string(&record).expect("record").lines().map(|line| format!("{line}\n")).collect();
        fs::write(&record, lines[..8].concat() + &lines[8][..20]).expect("write");
        let ended = lab(place, &orders);
        assert_eq!(ended.code().expect("no signal"), 0, "{pass:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("resuming after 7 runs"), "{}", ended.stderr);
        assert!(kept(&record).len() >= 15);
    });
}

#[test]
fn objects_that_do_not_make_one_program_are_told() {
    for_everybody(|pass, place| {
        let directory = project(place, true);
        let differ = lab(place, &["link-order", "--orders", "5", "-n", "2", "--json", text(&directory)]);
        assert_eq!(differ.code().expect("no signal"), 2, "{pass:?}: {}", differ.stderr);
        assert!(
            differ.stderr.contains("its output differs from that of the order as given from byte "),
            "{}",
            differ.stderr
        );
        if !differ.stdout.is_empty() {
            assert_eq!(differ.document().expect("document")["outputs_agree"], false);
        }
        let broken = place.path("out/broken");
        let files =
            [("main.c", "int f(void); int main(void) { return f(); }"), ("g.c", "int g(void) { return 1; }")];
        package::write(&broken, &files).expect("write");
        let one = place.path("out/one");
        package::write(&one, &[("main.c", "int main(void) { return 0; }")]).expect("write");
        for (arguments, part) in [
            (&[text(&broken)][..], "linking "),
            (&[text(&one)], "one object has one order"),
            (&[text(&one), "--link", "cc -o {out}"], "{objects}"),
            (&["/no/such.o", "/no/other.o"], "/no/such.o: no such file"),
        ] {
            let ended = lab(place, &[&["link-order"], arguments].concat());
            assert_eq!(ended.code().expect("no signal"), 2, "{arguments:?}: {}", ended.stderr);
            assert!(ended.stderr.contains(part), "{arguments:?}: {}", ended.stderr);
        }
    });
}

/// Objects that were compiled before, by a command of the user's.
#[test]
fn objects_are_linked_by_a_command() {
    for_everybody(|_, place| {
        let directory = project(place, false);
        let mut objects = Vec::new();
        for part in ["a", "b", "c", "main"] {
            let object = place.path(&format!("out/{part}.o"));
            let source = directory.join(format!("{part}.cpp"));
            let done = Command::new("c++").args(["-O2", "-c"]).arg(source).arg("-o").arg(&object).status();
            assert!(done.expect("c++").success());
            objects.push(object);
        }
        let objects: Vec<&str> = objects.iter().map(|path| text(path)).collect();
        let own = ["--link", "c++ -static-libgcc -o {out} {objects} -lm"];
        let words = ["link-order", "--orders", "3", "-n", "2", "--json"];
        let ended = lab(place, &[&words[..], &objects, &own].concat());
        assert_eq!(ended.code().expect("no signal"), 0, "{}", ended.stderr);
        let document = ended.document().expect("document");
        assert_eq!((&document["outputs_agree"], list(&document, "orders").len()), (&Value::from(true), 3));
    });
}
