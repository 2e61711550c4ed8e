//! The sandbox on another kernel (Linux 6.1) with other cgroup layouts than this host's, in virtual machines: version 2
//! as root, none at all, and version 2 as an ordinary user without and with a group delegated to it. One boot for
//! each; the checks are functions of `guest/checks.sh`. Emulation is slow and uneven, so nothing here is about time.

use e2e::{compile, program, stage, tauto};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use xtask::vm::{self, Cgroups, Vm};

/// For one machine from its start to its end.
const PATIENCE: Duration = Duration::from_secs(900);
/// Hostile programs the machines take along; inside, `/vm/GROUP-NAME`.
const PROGRAMS: [&str; 8] = [
    "basics/empty",
    "cpu/loop",
    "kernel/refused",
    "memory/touch",
    "memory/split_over_20",
    "processes/bounded",
    "processes/storm",
    "wall/sleep",
];
/// What must be measured where a limit of 64 MiB holds for a whole tree.
const PEAK: std::ops::RangeInclusive<u64> = 58 << 20..=66 << 20;

/// What `weaker` must say, in words that stand there. Nothing else may.
const NO_GROUPS: [&str; 3] = ["no cgroup of version 2", "no memory cgroup", "no pids cgroup"];
const NO_LANDLOCK: &str = "no Landlock";
const NO_PRESSURE: &str = "no pressure accounting";
const UNSEEN_TIME: &str = "CPU time may be less than was used";
const SAME_UID: &str = "runs have the caller's uid";
const NOT_EXEMPT: &str = "the launcher is not exempt where memory runs out";

/// One check: its command, how often that says a document, and what must be in each.
struct Check {
    command: String,
    documents: usize,
    status: Option<&'static str>,
    /// Memory is limited and measured for the tree.
    peak: bool,
    weaker: Vec<&'static str>,
}

/// One machine.
struct Shape {
    name: &'static str,
    cgroups: Cgroups,
    append: &'static str,
    before: &'static str,
    checks: Vec<Check>,
}

fn check(command: &str, status: &'static str, weaker: &[&'static str]) -> Check {
    Check {
        command: command.into(),
        documents: 1,
        status: Some(status),
        peak: status == "memory_limit",
        weaker: weaker.to_vec(),
    }
}

/// The caller of a run is killed: there is no document.
fn killed(whom: &str) -> Check {
    let command = format!("killed caller {whom} --wall-time 60 -- /vm/wall-sleep");
    Check { command, documents: 0, status: None, peak: false, weaker: vec![] }
}

/// The same set for everybody; `whom` is a function of the guest's script.
fn set(whom: &str, weaker: &[&'static str]) -> Vec<Check> {
    let runs = [
        ("-- /vm/basics-empty", "ok"),
        ("--cpu-time 0.5 -- /vm/cpu-loop", "cpu_time_limit"),
        ("-- /vm/kernel-refused", "ok"),
        ("--memory 64M -- /vm/memory-touch", "memory_limit"),
        ("--memory 64M -- /vm/memory-split_over_20", "memory_limit"),
        ("--processes 8 -- /vm/processes-bounded", "ok"),
        ("--processes 8 --cpu-time 0.5 -- /vm/processes-storm", "cpu_time_limit"),
        ("--wall-time 0.5 -- /vm/wall-sleep", "wall_time_limit"),
    ];
    let mut checks: Vec<Check> =
        runs.iter().map(|(run, status)| check(&format!("{whom} {run}"), status, weaker)).collect();
    checks.push(killed(whom));
    checks
}

/// Without a memory group the peak is a sample.
fn sampled(checks: Vec<Check>) -> Vec<Check> {
    checks.into_iter().map(|check| Check { peak: false, ..check }).collect()
}

fn root_v2() -> Shape {
    let mut checks = set("root", &[]);
    checks.push(check("killed_then root", "ok", &[]));
    Shape { name: "root_with_version_2", cgroups: Cgroups::V2, append: "", before: "", checks }
}

fn root_without() -> Shape {
    let weaker = [&NO_GROUPS[..], &[NO_LANDLOCK]].concat();
    let checks = sampled(set("root", &weaker));
    // Without Landlock, to see that this is said.
    Shape { name: "root_without_cgroups", cgroups: Cgroups::None, append: "lsm=yama", before: "", checks }
}

fn user_v2() -> Shape {
    let mut checks = sampled(set("user", &[&NO_GROUPS[..], &[SAME_UID, NOT_EXEMPT]].concat()));
    // Limits are kept as for root without groups, where the whole set is run; here a run takes a second.
    let known = ["cpu-loop", "memory-touch"];
    checks.retain(|check| !known.iter().any(|program| check.command.ends_with(program)));
    // Where the counters are root's alone, as by default on Debian, what other processes of a run used may go unseen.
    let several = ["kernel-refused", "memory-split_over_20", "processes-bounded", "processes-storm"];
    for check in checks.iter_mut().filter(|check| several.iter().any(|name| check.command.ends_with(name))) {
        check.weaker.push(UNSEEN_TIME);
    }
    Shape { name: "user_without_delegation", cgroups: Cgroups::V2, append: "", before: "", checks }
}

fn user_delegated() -> Shape {
    // Without pressure accounting, to see that this is said.
    let weaker = [NO_PRESSURE, SAME_UID, NOT_EXEMPT];
    let mut checks = set("delegated", &weaker);
    let touch = "--memory 64M -- /vm/memory-touch";
    checks.push(check(&format!("beside {touch}"), "memory_limit", &weaker));
    checks.push(check("killed_then beside", "ok", &weaker));
    checks.push(Check { documents: 2, ..check(&format!("pair {touch}"), "memory_limit", &weaker) });
    checks.push(check(&format!("root_beside {touch}"), "memory_limit", &[NO_PRESSURE]));
    let before = "delegate";
    Shape { name: "user_with_a_delegated_group", cgroups: Cgroups::V2, append: "psi=0", before, checks }
}

fn programs() -> Result<Vec<PathBuf>, String> {
    let all = program::discover()?;
    let find = |name: &&str| {
        all.iter().find(|p| p.name == *name).ok_or_else(|| format!("there is no program {name}"))
    };
    PROGRAMS.iter().map(|name| compile::executable(find(name)?, &e2e::scratch!())).collect()
}

fn script(shape: &Shape) -> String {
    let mut script = format!("{}\n{}\n", include_str!("../guest/checks.sh"), shape.before);
    for (number, check) in shape.checks.iter().enumerate() {
        script += &format!("check {number} {}\n", check.command);
    }
    script
}

fn attempt(shape: &Shape) -> Result<(), Failed> {
    let _machine = stage::machine(&e2e::scratch!())?;
    let machine = Vm {
        tauto: tauto::binary()?,
        files: programs()?,
        cgroups: shape.cgroups,
        shape: vm::Shape::default(),
        disk: 0,
        append: shape.append.into(),
        command: ["sh", "-c", &script(shape)].map(String::from).to_vec(),
        patience: PATIENCE,
    };
    let mut output = Vec::new();
    let ended = vm::boot(&machine, &mut output);
    let output = String::from_utf8_lossy(&output).into_owned();
    let code = ended.map_err(|error| format!("{error}\nlast of the output: {}", tail(&output)))?;
    let parts: Vec<&str> = output.split("@check ").skip(1).collect();
    if code != 0 || parts.len() != shape.checks.len() {
        return Err(
            format!("{} checks of {}, exit code {code}: {output}", parts.len(), shape.checks.len()).into()
        );
    }
    let broken: Vec<String> = parts
        .iter()
        .zip(&shape.checks)
        .filter_map(|(part, check)| {
            judge(part, check).err().map(|error| format!("{}: {error}\n{part}", check.command))
        })
        .collect();
    if broken.is_empty() { Ok(()) } else { Err(broken.join("\n").into()) }
}

fn tail(text: &str) -> &str {
    let at = text.char_indices().rev().nth(2000).map_or(0, |(at, _)| at);
    &text[at..]
}

/// A part of the guest's output: number, documents, `@code N`, `@errors`, text, `@left`, text.
fn judge(part: &str, check: &Check) -> Result<(), String> {
    let (told, rest) = part.split_once("@code ").ok_or("no @code")?;
    let documents = told.split_once('\n').map_or("", |(_, documents)| documents);
    let (_, left) = rest.split_once("@left").ok_or("no @left")?;
    if !left.trim().is_empty() {
        return Err(format!("left behind: {}", left.trim()));
    }
    let documents: Vec<Value> = serde_json::Deserializer::from_str(documents)
        .into_iter()
        .collect::<Result<_, _>>()
        .map_err(|error| format!("not JSON: {error}"))?;
    if documents.len() != check.documents {
        return Err(format!("{} documents, expected {}", documents.len(), check.documents));
    }
    documents.iter().try_for_each(|document| judge_document(document, check))
}

fn judge_document(document: &Value, check: &Check) -> Result<(), String> {
    let status = document["status"].as_str();
    if status != check.status {
        return Err(format!("status {status:?}, expected {:?}", check.status));
    }
    let peak = document["memory_peak_bytes"].as_u64();
    if check.peak && !peak.is_some_and(|peak| PEAK.contains(&peak)) {
        return Err(format!("memory peak {peak:?}, expected {PEAK:?}"));
    }
    let weaker: Vec<&str> = document["evidence"]["weaker"]
        .as_array()
        .map_or(vec![], |list| list.iter().filter_map(Value::as_str).collect());
    let said = |words: &&str| weaker.iter().any(|line| line.contains(words));
    if weaker.len() != check.weaker.len() || !check.weaker.iter().all(said) {
        return Err(format!("weaker says {weaker:?}, expected {:?}", check.weaker));
    }
    Ok(())
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let lacks = vm::lacks();
    let shapes = [root_v2(), root_without(), user_v2(), user_delegated()];
    let trials = shapes.into_iter().map(|shape| {
        let trial = Trial::test(shape.name, move || attempt(&shape));
        match &lacks {
            Some(reason) => trial.with_kind(format!("skipped: {reason}")).with_ignored_flag(true),
            None => trial,
        }
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}
