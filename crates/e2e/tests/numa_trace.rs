//! `tauto numa trace`: on this machine how it goes with programs of all kinds, as each possible user; and on a virtual server
//! with two memory nodes what it says of placements that are known. Emulation is slow and uneven, so nothing is about time.

use e2e::stage::{self, Pass, Stage, Workspace};
use e2e::tauto::{self, Ended};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;
use xtask::vm::{self, Cgroups, Vm};

/// For one trace on this machine, and for the virtual server from its start to its end.
const PATIENCE: Duration = Duration::from_secs(60);
const PATIENCE_WITH_SERVER: Duration = Duration::from_secs(600);
/// Of the array that is summed up there.
const ARRAY: u64 = 32 << 20;

/// The example of the walk-through.
fn sum() -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/numa/sum.c");
    let (directory, target) = (e2e::scratch!(), e2e::scratch!().join("sum"));
    std::fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let draft = directory.join(format!("sum.{}", std::process::id()));
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-w", "-static", "-fopenmp", "-o"]).args([&draft, &source]);
    let output = cc.output().map_err(|e| format!("cc: {e}; install a C compiler with a static C library"))?;
    if !output.status.success() {
        return Err(format!("{}: {}", source.display(), String::from_utf8_lossy(&output.stderr)));
    }
    std::fs::rename(&draft, &target).map_err(|e| format!("{}: {e}", target.display()))?;
    Ok(target)
}

fn trace(place: &Workspace, arguments: &[&str]) -> Result<Ended, String> {
    let mut command = place.tauto();
    command.args(["numa", "trace", "--no-latency"]).args(arguments);
    tauto::run(&mut command, false, PATIENCE)
}

fn expect(what: &str, seen: bool, of: &dyn std::fmt::Display) -> Result<(), Failed> {
    if seen { Ok(()) } else { Err(format!("{what}: {of}").into()) }
}

/// Processes whose threads were seen.
fn processes(report: &Value) -> BTreeSet<u64> {
    let threads = report["threads"].as_array().map_or(&[][..], Vec::as_slice);
    threads.iter().filter_map(|thread| thread["pid"].as_u64()).collect()
}

/// However a program ends, there is a report, and it says how.
fn every_end(pass: Pass) -> Result<(), Failed> {
    let _alone = stage::alone(&e2e::scratch!())?;
    let stage = Stage::new(pass)?;
    let place = stage.place("trace")?;
    // Long enough to be looked at, each.
    let work = "dd if=/dev/zero of=/dev/null bs=8M count=200 2>/dev/null";
    let forks = format!("({work}) & ({work}) & wait; exit 7");
    for (script, told, processes_at_least) in [
        (format!("{work}; exit 3"), "exited with code 3", 1),
        (format!("{work}; kill -SEGV $$"), "ended by signal 11", 1),
        (format!("{work}; kill -KILL $$"), "ended by signal 9", 1),
        (forks, "exited with code 7", 3),
    ] {
        let ended = trace(&place, &["--json", "--", "/bin/sh", "-c", &script])?;
        let report = ended.document().map_err(|e| format!("{script}: {e}"))?;
        expect(&script, report["ended"] == told, &report["ended"])?;
        expect(&script, processes(&report).len() >= processes_at_least, &report["threads"])?;
        let nodes = report["nodes"].as_array().map_or(0, Vec::len);
        if nodes < 2 {
            let because = report["because"].as_str().unwrap_or_default();
            expect("one node", because.ends_with("there is nothing to diagnose"), &because)?;
            expect("exit code", ended.code()? == 0, &ended.stderr)?;
        }
        // Seen without privilege too, or it is said why not.
        let (seen, why) = (&report["first_touch"]["faults"], &report["first_touch"]["unknown"]);
        let why = why.as_str().is_some_and(|why| why.contains("perf_event"));
        expect("first touch", seen.as_u64() > Some(100) || why, &report["first_touch"])?;
    }
    Ok(())
}

/// For people, and as a page.
fn told_in_words(pass: Pass) -> Result<(), Failed> {
    let _alone = stage::alone(&e2e::scratch!())?;
    let stage = Stage::new(pass)?;
    let place = stage.place("trace")?;
    let program = place.install(&sum()?, false)?;
    let page = place.path("out/page.html");
    let page = page.to_string_lossy();
    let program = program.to_string_lossy();
    let ended = trace(&place, &["--html", &page, "--", &program, "serial", "2", "64", "100"])?;
    let html = std::fs::read_to_string(&*page).map_err(|e| format!("{page}: {e}"))?;
    let seen = ended.stdout.contains("first touch: observed fault by fault");
    for (what, text) in [("text", &ended.stdout), ("page", &html)] {
        let named = text.contains("first written in main+") || text.contains(">in main+");
        expect(what, !seen || named && text.contains("(sum) by thread"), text)?;
        expect(what, seen || text.contains("first touch: estimated from counts"), text)?;
    }
    expect("its own output", ended.stdout.contains("2 threads, serial"), &ended.stdout)?;
    let wrong = trace(&place, &["--pid", "999999999"])?;
    expect("no such process", wrong.code()? == 2, &wrong.stderr)?;
    let wrong = trace(&place, &["--", "no-such-program"])?;
    expect("no such program", wrong.code()? == 2, &wrong.stderr)
}

/// What the server said, by name: exit code and text.
type Parts = BTreeMap<String, (i32, String)>;

fn parts(output: &str) -> Parts {
    let part = |text: &str| {
        let (head, body) = text.split_once('\n')?;
        let (name, code) = head.trim().split_once(' ')?;
        Some((name.to_string(), (code.parse().ok()?, body.trim().to_string())))
    };
    output.split("@part ").skip(1).filter_map(part).collect()
}

/// A report, and the mapping of the array in it.
struct Told {
    name: &'static str,
    code: i32,
    report: Value,
    array: Value,
}

impl Told {
    fn of(parts: &Parts, name: &'static str) -> Result<Told, Failed> {
        let (code, text) = parts.get(name).ok_or_else(|| format!("{name}: was never reached"))?;
        let errors = parts.get(&format!("{name}.errors")).map_or("", |(_, text)| text);
        let report: Value =
            serde_json::from_str(text).map_err(|e| format!("{name}: {e}: {text} {errors}"))?;
        let array = report["mappings"][0].clone();
        Ok(Told { name, code: *code, report, array })
    }

    fn expect(&self, what: &str, seen: bool) -> Result<(), Failed> {
        let Told { name, code, report, array } = self;
        let short = serde_json::json!([
            code,
            report["verdict"],
            report["because"],
            report["ended"],
            report["total"],
            report["first_touch"],
            array
        ]);
        expect(&format!("{name}: {what}"), seen, &short)
    }

    /// Its verdict, the exit code that goes with it, and what part is remote, in percent.
    fn comes_to(&self, verdict: &str, remote: std::ops::RangeInclusive<f64>) -> Result<(), Failed> {
        self.expect(verdict, self.report["verdict"] == verdict)?;
        self.expect("exit code", self.code == i32::from(verdict == "does_not"))?;
        let pct = self.report["total"]["remote_pct"].as_f64().unwrap_or(f64::NAN);
        self.expect("remote", remote.contains(&pct))
    }

    /// Percent of the array on each node.
    fn lies(&self, wanted: [std::ops::RangeInclusive<u64>; 2]) -> Result<(), Failed> {
        let bytes = |node: &str| self.array["node_bytes"][node].as_u64().unwrap_or(0);
        let placed = [bytes("0"), bytes("1")].map(|bytes| 100 * bytes / ARRAY);
        self.expect("by node", wanted.iter().zip(placed).all(|(wanted, placed)| wanted.contains(&placed)))
    }

    /// The array was written by the main thread, on node 0, at this place in the code.
    fn written_by_main(&self, code: &str) -> Result<(), Failed> {
        let first = &self.array["first_touched_by"];
        let main = first["thread"] == self.array["pid"] && first["node"] == 0 && first["seen"] == true;
        self.expect("main thread", main && first["share_pct"].as_f64() > Some(95.0))?;
        self.expect("code", first["at_code"].as_str().is_some_and(|at| at.starts_with(code)))?;
        let advice = self.report["advice"][0].as_str().unwrap_or_default();
        self.expect("advice", advice.contains("was first written by thread"))
    }
}

const ALL: std::ops::RangeInclusive<u64> = 95..=101;
const HALF: std::ops::RangeInclusive<u64> = 44..=56;
const NONE: std::ops::RangeInclusive<u64> = 0..=2;
/// Half of everything is remote, threads having had unequal time by so much.
const ABOUT_HALF: std::ops::RangeInclusive<f64> = 35.0..=65.0;

fn judge(parts: &Parts) -> Result<(), Failed> {
    let told = |name| Told::of(parts, name);
    let serial = told("serial")?;
    serial.comes_to("does_not", ABOUT_HALF)?;
    serial.lies([ALL, NONE])?;
    serial.written_by_main("main+")?;
    serial.expect("used", serial.array["used_from_nodes"] == serde_json::json!([0, 1]))?;
    let parallel = told("parallel")?;
    // A thread may write before it is on its own CPU; on a busy host that takes longer.
    parallel.comes_to("works_right", 0.0..=5.0)?;
    parallel.lies([HALF, HALF])?;
    let recycled = told("recycled")?;
    recycled.comes_to("does_not", ABOUT_HALF)?;
    recycled.lies([ALL, NONE])?;
    recycled.written_by_main("__memset")?;
    let interleaved = told("interleave")?;
    interleaved.lies([HALF, HALF])?;
    interleaved.expect("policy", interleaved.array["policy"] == "interleave:0-1")?;
    let bound = told("bind")?;
    bound.lies([NONE, ALL])?;
    bound.expect("policy", bound.array["policy"] == "bind:1")?;
    let moved = told("move")?;
    moved.lies([HALF, HALF])?;
    let first = &moved.array["first_touched_by"];
    moved.expect("first touch", first["node"] == 0 && first["share_pct"].as_f64() > Some(95.0))?;
    for (name, how) in [("killed", "ended by signal 9"), ("user", "exited with code 0")] {
        let told = told(name)?;
        told.expect("end", told.report["ended"] == how)?;
        told.expect("first touch", told.report["first_touch"]["faults"].as_u64() > Some(0))?;
        told.comes_to("does_not", ABOUT_HALF)?;
    }
    let barred = told("barred")?;
    let why = barred.report["first_touch"]["unknown"].as_str().unwrap_or_default();
    barred.expect("why", why.contains("kernel.perf_event_paranoid is 3"))?;
    barred.comes_to("does_not", ABOUT_HALF)?;
    let running = told("running")?;
    running.expect("it goes on", running.report["ended"].is_null())?;
    running.lies([ALL, NONE])?;
    running.expect("it was there before", running.array["first_touched_by"].is_null())?;
    running.comes_to("does_not", ABOUT_HALF)
}

fn two_nodes() -> Result<(), Failed> {
    let _machine = stage::machine(&e2e::scratch!())?;
    let functions = concat!(include_str!("../guest/server.sh"), "\n", include_str!("../guest/trace.sh"));
    let machine = Vm {
        tauto: tauto::binary()?,
        files: vec![sum()?],
        cgroups: Cgroups::V2,
        shape: "2x2x2x2".parse()?,
        disk: 0,
        append: String::new(),
        command: ["sh", "-c", &format!("{functions}\nall_placements\n")].map(String::from).to_vec(),
        patience: PATIENCE_WITH_SERVER,
    };
    let mut output = Vec::new();
    let ended = vm::boot(&machine, &mut output);
    let output = String::from_utf8_lossy(&output).into_owned();
    ended.map_err(|error| format!("{error}\noutput: {output}"))?;
    judge(&parts(&output))
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let mut trials = Vec::new();
    for pass in Pass::possible() {
        trials.push(Trial::test(format!("every_end_as_{}", pass.name()), move || every_end(pass)));
        trials.push(Trial::test(format!("told_in_words_as_{}", pass.name()), move || told_in_words(pass)));
    }
    let trial = Trial::test("two_nodes", two_nodes);
    trials.push(match vm::lacks() {
        Some(reason) => trial.with_kind(format!("skipped: {reason}")).with_ignored_flag(true),
        None => trial,
    });
    libtest_mimic::run(&arguments, trials).exit_code()
}
