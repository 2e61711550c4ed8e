//! `tauto index` on this machine, and comparisons of saved indices.

use e2e::leftovers::{self, Snapshot};
use e2e::stage::{self, Pass, Stage, Workspace};
use e2e::tauto::{self, Ended};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::sched_getaffinity;
use serde_json::{Value, json};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Long for an index of some seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// For an interrupted index to end: a slice, and the debug build's own end.
const ENDS_WITHIN: Duration = Duration::from_secs(3);
/// For everything of it to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(5);
const PARTS: [&str; 10] = [
    "clock_ghz",
    "l1_ns",
    "l2_ns",
    "l3_ns",
    "dram_ns",
    "bandwidth_gb_s",
    "mispredict_ns",
    "page_fault_ns",
    "syscall_ns",
    "fork_exec_ns",
];

fn index(place: &Workspace, arguments: &[&str]) -> Ended {
    let mut command = place.tauto();
    command.arg("index").args(arguments);
    tauto::run(&mut command, false, PATIENCE).expect("index")
}

/// The same as each possible user.
fn for_everybody(test: impl Fn(Pass, &Workspace)) {
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    for pass in Pass::possible() {
        let stage = Stage::new(pass).expect("stage");
        let place = stage.place("index").expect("place");
        test(pass, &place);
    }
}

fn last_cpu() -> u32 {
    let mask = sched_getaffinity(None).expect("own CPUs");
    (0..1024).rev().find(|cpu| mask.is_set(*cpu)).and_then(|cpu| cpu.try_into().ok()).expect("some CPU")
}

fn is_unknown(value: &Value) -> bool {
    value["unknown"].as_str().is_some_and(|why| !why.is_empty())
}

/// A part: known in full, or unknown with the reason.
fn check_part(name: &str, part: &Value) {
    if is_unknown(part) {
        return;
    }
    let number = |field: &str| part[field].as_f64().unwrap_or_else(|| panic!("{name} {field}: {part}"));
    let value = number("value");
    assert!(value > 0.0 && number("min") <= value && value <= number("max"), "{name}: {part}");
    let ends: Vec<f64> = part["ci95"].as_array().expect(name).iter().filter_map(Value::as_f64).collect();
    assert!(ends.len() == 2 && ends[0] <= value && value <= ends[1], "{name}: {part}");
    let turns = part["turns"].as_array().expect(name).len();
    assert!((6..=20).contains(&turns) && number("n") >= turns as f64, "{name}: {part}");
    assert!(
        number("voided") >= 0.0 && number("repeatability_pct") >= 0.0 && part["unit"].is_string(),
        "{part}"
    );
}

#[test]
fn the_document_has_every_field_for_root_and_for_others() {
    for_everybody(|pass, place| {
        let html = place.path("out/page.html");
        let ended = index(place, &["--json", "--seconds", "2", "--html", html.to_str().expect("UTF-8")]);
        assert_eq!(ended.code().expect("no signal"), 0, "{pass:?}: {}", ended.stderr);
        let document = ended.document().expect("document");
        assert_eq!(document["fingerprint"].as_str().map(str::len), Some(16), "{document}");
        for field in
            ["tauto", "taken_at", "seconds", "machine", "cpu_model", "kernel", "memory_bytes", "boot_id"]
        {
            assert!(!document[field].is_null(), "{field}: {document}");
        }
        let armour = &document["armour"];
        for field in ["slot", "cpu", "frequency_held", "mem_node", "huge_pages_off", "steal_ns"] {
            assert!(!armour[field].is_null(), "{field}: {armour}");
        }
        let lacks = armour["lacks"].as_array().expect("lacks");
        let denied = lacks.iter().any(|lack| lack.as_str().is_some_and(|lack| lack.contains("SCHED_FIFO")));
        assert_eq!(armour["sched"] == "other", denied, "{armour}");
        assert!(pass == Pass::Root || denied, "{armour}");
        check_part("rounds_per_second", &document["rounds_per_second"]);
        let parts = document["parts"].as_object().expect("parts");
        assert_eq!(parts.keys().map(String::as_str).collect::<Vec<_>>(), PARTS);
        parts.iter().for_each(|(name, part)| check_part(name, part));
        let html = std::fs::read_to_string(html).expect("page");
        if let Some(value) = document["parts"]["syscall_ns"]["value"].as_f64() {
            // As the page shows figures: four or five digits that say something.
            let decimals = (3 - value.log10().floor() as i32).clamp(0, 6) as usize;
            assert!(html.contains(&format!("<td>system call</td><td>{value:.decimals$} ns</td>")), "{value}");
        }
    });
}

#[test]
fn without_slot_and_by_name() {
    for_everybody(|pass, place| {
        let cpu = last_cpu();
        let ended =
            index(place, &["--json", "--seconds", "1", "--cpu", &cpu.to_string(), "--name", "judge 7"]);
        assert_eq!(ended.code().expect("no signal"), 0, "{pass:?}: {}", ended.stderr);
        let document = ended.document().expect("document");
        assert_eq!((&document["machine"], &document["armour"]["cpu"]), (&"judge 7".into(), &cpu.into()));
        assert!(is_unknown(&document["armour"]["slot"]), "{document}");
        let table = index(place, &["--seconds", "1", "--slot", "none"]);
        assert_eq!(table.code().expect("no signal"), 0, "{}", table.stderr);
        assert!(table.stdout.contains("missing: slot: --slot none"), "{}", table.stdout);
        for line in ["core clock", "read from memory", "fork and exec"] {
            assert!(table.stdout.contains(line), "{line}: {}", table.stdout);
        }
    });
}

/// A load on every CPU of this process.
fn load(place: &Workspace) -> Child {
    let mut command = place.load();
    command.args(["--seconds", "60"]).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().expect("load");
    std::thread::sleep(Duration::from_millis(300));
    child
}

fn end(child: &mut Child, signal: Signal) -> Option<i32> {
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("pid");
    kill_process(id, signal).expect("kill");
    tauto::wait(child, PATIENCE).expect("it ends").code()
}

/// Greatest over least, less one.
fn apart(values: &[f64]) -> f64 {
    let (least, most) =
        values.iter().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
    most / least - 1.0
}

/// The bar for the clock: the same idle and loaded. Where processors change their clock with load, as boosting ones do, it
/// is not the same within an index either, and then what counts is the control, a chain of other instructions in the very
/// slices: both chains tell the change, and their ratio stays. What neighbours add to single values falls out of medians.
#[test]
fn the_clock_is_told_alike_idle_and_loaded() {
    const BAR: f64 = 0.003;
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    let stage = Stage::new(Pass::possible()[0]).expect("stage");
    let place = stage.place("index").expect("place");
    let (mut seen, mut of_all) = (Vec::new(), [Vec::new(), Vec::new()]);
    // Others may use the machine: the block is repeated, the bar is not moved. If no block is quiet, the medians of all blocks count.
    for _ in 0..4 {
        let (mut clocks, mut controls, mut held) = (Vec::new(), [Vec::new(), Vec::new()], true);
        for loaded in [false, true, false, true] {
            let mut load = loaded.then(|| load(&place));
            let ended = index(&place, &["--json", "--seconds", "2"]);
            load.as_mut().map(|load| end(load, Signal::TERM));
            let document = ended.document().expect("document");
            let part = &document["parts"]["clock_ghz"];
            let interval = part["ci95"].as_array().into_iter().flatten();
            let interval: Vec<f64> = interval.filter_map(Value::as_f64).collect();
            held &= interval.len() == 2 && apart(&interval) <= BAR;
            clocks.extend(part["value"].as_f64());
            controls[usize::from(loaded)].extend(part["control_ratio"].as_f64());
        }
        let every = controls.concat();
        let all = clocks.len() == 4 && every.len() == 4;
        if all && (apart(&clocks) <= BAR || !held && apart(&every) <= BAR) {
            return;
        }
        seen.push(format!("clocks {clocks:?} controls idle and loaded {controls:?} held {held}"));
        if !held {
            of_all.iter_mut().zip(controls).for_each(|(all, block)| all.extend(block));
        }
    }
    let enough = of_all.iter().all(|controls| controls.len() >= 6);
    let medians = of_all.map(|controls| stats::median(&controls).unwrap_or_default());
    assert!(enough && apart(&medians) <= BAR, "medians of controls idle and loaded {medians:?}: {seen:#?}");
}

#[test]
fn an_interrupted_index_ends_at_once_and_leaves_nothing() {
    leftovers::adopt_orphans().expect("subreaper");
    for_everybody(|pass, place| {
        let before = Snapshot::take();
        let mut command = place.tauto();
        command.args(["index", "--json", "--seconds", "60"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("start");
        std::thread::sleep(Duration::from_secs(2));
        let start = Instant::now();
        assert_eq!(end(&mut child, Signal::INT), Some(130), "{pass:?}");
        assert!(start.elapsed() < ENDS_WITHIN, "{pass:?}: {:?}", start.elapsed());
        before.wait_until_clean(GONE_WITHIN, Vec::new).unwrap_or_else(|left| panic!("{pass:?}: {left}"));
    });
}

/// A saved index as the contract has it; `cost` tells how much more a part costs.
fn saved(machine: usize, cost: impl Fn(&str) -> f64) -> String {
    // Scatter of half a percent that is the same in every run of this test.
    let noise = |n: usize| 1.0 + 0.001 * ((machine * 7919 + n * 104_729) % 11) as f64;
    let value = |n: usize, name: &str| {
        let rate = ["rounds_per_second", "clock_ghz", "bandwidth_gb_s"].contains(&name);
        let factor = cost(name) * noise(n);
        json!({"value": if rate { 100.0 / factor } else { 100.0 * factor }, "ci95": [1.0, 2.0]})
    };
    let parts: serde_json::Map<String, Value> =
        PARTS.iter().enumerate().map(|(n, name)| (name.to_string(), value(n, name))).collect();
    let rounds = value(99, "rounds_per_second");
    json!({"fingerprint": "0123456789abcdef", "armour": {}, "rounds_per_second": rounds, "parts": parts})
        .to_string()
}

#[test]
fn a_planted_stray_is_named_and_bad_files_are_told() {
    for_everybody(|_, place| {
        let files: Vec<String> = (0..12)
            .map(|n| {
                let path = place.path(&format!("out/node{n}.json"));
                let slow = |name: &str| if n == 5 && name == "dram_ns" { 1.25 } else { 1.0 };
                std::fs::write(&path, saved(n, slow)).expect("write");
                path.to_str().expect("UTF-8").to_string()
            })
            .collect();
        let compare = |files: &[&str], more: &[&str]| {
            let mut arguments = vec!["--compare"];
            arguments.extend(files);
            arguments.extend(more);
            index(place, &arguments)
        };
        let all: Vec<&str> = files.iter().map(String::as_str).collect();
        let page = place.path("out/fleet.html");
        let ended = compare(&all, &["--json", "--html", page.to_str().expect("UTF-8")]);
        assert_eq!(ended.code().expect("no signal"), 1, "{}", ended.stderr);
        let document = ended.document().expect("document");
        assert_eq!(document["machines"], 12);
        let strays = document["strays"].as_array().expect("strays");
        assert!(!strays.is_empty() && strays.iter().all(|stray| stray["file"] == *files[5]), "{strays:#?}");
        let dram = strays.iter().find(|stray| stray["part"] == "dram_ns").expect("dram_ns");
        let ratio = dram["ratio"].as_f64().expect("ratio");
        assert!((1.23..1.27).contains(&ratio) && dram["robust_z"].as_f64() > Some(10.0), "{dram}");
        assert_eq!((&dram["direction"], &dram["kind"]), (&"weaker".into(), &"level".into()));
        assert!(document["parts"]["dram_ns"]["machines"].as_array().is_some_and(|all| all.len() == 12));
        assert!(std::fs::read_to_string(page).expect("page").contains("class=\"cross\""));

        let healthy: Vec<&str> =
            all.iter().enumerate().filter(|(n, _)| *n != 5).map(|(_, file)| *file).collect();
        let ended = compare(&healthy, &[]);
        assert_eq!(ended.code().expect("no signal"), 0, "{}", ended.stdout);
        assert!(ended.stdout.contains("11 machines, 11 readings: no outlier"), "{}", ended.stdout);
        let few = compare(&healthy[..2], &[]);
        assert!(few.code() == Ok(0) && few.stdout.contains("ratios only"), "{}", few.stdout);

        let bad = place.path("out/bad.json");
        let bad_name = bad.to_str().expect("UTF-8");
        let good = saved(1, |_| 1.0);
        for (text, says) in [
            ("{", "no JSON document"),
            (&*good.replace("l3_ns", "l9_ns"), "parts.l9_ns: no such part"),
            (&*good.replace("0123456789abcdef", ""), "fingerprint: must be text"),
            (&*good.replacen("\"value\":", "\"value\":-", 1), "value: must be a number above 0"),
        ] {
            std::fs::write(&bad, text).expect("write");
            let ended = compare(&[all[0], bad_name], &[]);
            assert_eq!(ended.code().expect("no signal"), 2, "{says}: {}", ended.stderr);
            let named = ended.stderr.contains(bad_name) && ended.stderr.contains(says);
            assert!(named && ended.stdout.is_empty(), "{says}: {}", ended.stderr);
        }
    });
}

#[test]
fn wrong_usage_is_said() {
    for_everybody(|_, place| {
        for (arguments, says) in [
            (&["--seconds", "0.5"][..], "from 1 to 3600"),
            (&["--cpu", "1000"], "CPU 1000 is not on this machine"),
            (&["--cpu", "0-1"], "one CPU"),
            (&["--slot", "77"], "--slot 77"),
            (&["--compare"], "--compare"),
            (&["--compare", "/nowhere/at/all.json"], "/nowhere/at/all.json: No such file"),
            (&["--html", "/nowhere/at/all.html"], "/nowhere/at/all.html"),
        ] {
            let ended = index(place, arguments);
            assert_eq!(ended.code().expect("no signal"), 2, "{arguments:?}: {}", ended.stderr);
            assert!(ended.stderr.contains(says), "{arguments:?}: {}", ended.stderr);
        }
    });
}
