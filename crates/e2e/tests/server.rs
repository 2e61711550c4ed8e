//! Audit, slots, tuning and its undoing on virtual servers: two sockets with hyper-threads and two memory nodes, and what
//! there is less of elsewhere. One boot for each; `guest/server.sh` is what happens inside, and here is what must come
//! of it. Emulation is slow and uneven, so nothing is about time.

use e2e::{compile, program, stage, tauto};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use xtask::vm::{self, Cgroups, Vm};

/// For one machine from its start to its end.
const PATIENCE: Duration = Duration::from_secs(900);
/// Programs the machines take along; inside, `/vm/GROUP-NAME`.
const PROGRAMS: [&str; 2] = ["cpu/loop", "placement/pages"];
/// Lines of the first snapshot, so that an empty one proves nothing.
const FILES: u64 = 200;

/// What the ladder says of a machine whose frequency is the hypervisor's.
const NO_CPUFREQ: &str =
    "no cpufreq, no switch of turbo and no limit of the uncore here, as in most virtual machines";

/// CPU, siblings, memory nodes and package of a slot.
type Slot = (u32, &'static [u32], &'static [u32], u32);

/// One machine and what must be seen on it.
struct Machine {
    name: &'static str,
    shape: &'static str,
    /// Size of its disk in MiB, for swap. Interrupts of such a disk cannot be moved from slots.
    disk: u64,
    append: &'static str,
    /// What happens on it before the usual round, and in it while it is tuned.
    first: &'static str,
    tuned: &'static str,
    housekeeping: &'static [u32],
    slots: &'static [Slot],
    /// Rungs of isolation, untuned and tuned.
    rungs: [&'static str; 2],
    /// States of rows of the audit, untuned.
    before: &'static [(&'static str, &'static str)],
    /// And tuned; a word that `observed` must hold.
    after: &'static [(&'static str, &'static str, &'static str)],
    /// Ids that the plan must hold, and may not.
    planned: &'static [&'static str],
    unplanned: &'static [&'static str],
    /// Id and target of what the kernel refuses to change, which must be said.
    refused: &'static [(&'static str, &'static str)],
    /// The partitions, and what is left to others.
    partitions: &'static str,
    /// Parts that only this machine has.
    more: fn(&Parts) -> Vec<String>,
}

/// What every guest has: knobs of the kernel that can be turned anywhere.
const EVERYWHERE: [&str; 4] = ["vmstat_interval", "perf_sample_rate", "thp", "compaction"];

const TWO_SOCKETS: Machine = Machine {
    name: "two_sockets",
    shape: "2x2x2x2",
    disk: 0,
    append: "",
    first: "part remote tauto run --json --slot none --cpu 2 --mem-node 1 --stdout /run/pages_remote --memory 256M \
            -- /vm/placement-pages; part watch_untuned watch none 4 0.5; laboratory",
    tuned: "part watch watch tauto-slot-4 4 1; part neighbours neighbours",
    housekeeping: &[0, 1],
    slots: &[(4, &[5], &[1], 1), (6, &[7], &[1], 1), (2, &[3], &[0], 0)],
    rungs: ["cpuset", "partition"],
    before: &[("smt", "bad"), ("numa_balancing", "bad"), ("kernel_threads", "bad"), ("isolated_cpus", "bad")],
    after: &[
        ("smt", "ok", "siblings of slot CPUs are offline"),
        ("numa_balancing", "ok", "0"),
        ("kernel_threads", "ok", ""),
        ("isolated_cpus", "ok", ""),
    ],
    planned: &[
        "smt",
        "numa_balancing",
        "kernel_threads",
        "isolated_cpus",
        "irq_affinity",
        "workqueues",
        "watchdog",
    ],
    unplanned: &["governor", "turbo", "uncore"],
    refused: &[],
    partitions: "tauto-slot-2: 2-3, isolated\ntauto-slot-4: 4-5, isolated\ntauto-slot-6: 6-7, isolated\n\
                 rest: 0-1\nonline: 0-2,4,6",
    more: two_sockets,
};

const WITHOUT_THREADS: Machine = Machine {
    name: "without_hyper_threads",
    shape: "2x2x1x2",
    append: "",
    first: ":",
    tuned: ":",
    housekeeping: &[0, 1],
    slots: &[(2, &[], &[1], 1), (3, &[], &[1], 1)],
    // A guest that is shown no hyper-threads does not know.
    before: &[("smt", "unknown"), ("numa_balancing", "bad"), ("kernel_threads", "bad")],
    after: &[("smt", "unknown", "hypervisor"), ("numa_balancing", "ok", "0"), ("kernel_threads", "ok", "")],
    planned: &["numa_balancing", "kernel_threads", "isolated_cpus"],
    unplanned: &["smt"],
    partitions: "tauto-slot-2: 2, isolated\ntauto-slot-3: 3, isolated\nrest: 0-1\nonline: 0-3",
    more: nothing_more,
    ..TWO_SOCKETS
};

/// With one node; and an apply is killed.
const ONE_NODE: Machine = Machine {
    name: "one_node",
    shape: "1x2x2x1",
    append: "",
    first: "part cut_plan tauto tune plan --json; part cut_off cut_off $(grep -o '\"target\":' /run/out | wc -l)",
    tuned: ":",
    housekeeping: &[0, 1],
    slots: &[(2, &[3], &[0], 0)],
    before: &[("smt", "bad"), ("numa_balancing", "ok"), ("kernel_threads", "bad")],
    after: &[("smt", "ok", "offline"), ("numa_balancing", "ok", "0"), ("kernel_threads", "ok", "")],
    planned: &["smt", "kernel_threads", "isolated_cpus", "watchdog"],
    unplanned: &["numa_balancing"],
    partitions: "tauto-slot-2: 2-3, isolated\nrest: 0-1\nonline: 0-2",
    more: one_node,
    ..TWO_SOCKETS
};

const QUIET_FROM_BOOT: Machine = Machine {
    name: "isolated_at_boot",
    append: "isolcpus=managed_irq,domain,2-7 nohz_full=2-7",
    first: ":",
    tuned: ":",
    // What belongs to a node still runs on its CPUs.
    before: &[
        ("smt", "bad"),
        ("numa_balancing", "bad"),
        ("kernel_threads", "bad"),
        ("isolated_cpus", "ok"),
        ("nohz_full", "ok"),
        ("rcu_nocbs", "ok"),
    ],
    // The kernel itself keeps its watchdog off such CPUs.
    planned: &["smt", "numa_balancing", "kernel_threads", "isolated_cpus", "irq_affinity"],
    unplanned: &["governor", "watchdog"],
    more: nothing_more,
    ..TWO_SOCKETS
};

/// With a knob that cannot be written.
const ONE_CPU: Machine = Machine {
    name: "one_cpu",
    shape: "1x1x1x1",
    disk: 256,
    append: "",
    first: "seal /proc/sys/vm/compaction_proactiveness; part swap swap",
    tuned: ":",
    housekeeping: &[0],
    slots: &[(0, &[], &[0], 0)],
    rungs: ["none", "none"],
    before: &[("smt", "unknown"), ("numa_balancing", "ok")],
    after: &[("smt", "unknown", "hypervisor"), ("numa_balancing", "ok", "0")],
    planned: &[],
    unplanned: &["smt", "isolated_cpus", "kernel_threads", "irq_affinity", "workqueues", "numa_balancing"],
    refused: &[("compaction", "/proc/sys/vm/compaction_proactiveness")],
    partitions: "rest: 0\nonline: 0",
    more: swapped,
};

fn two_sockets(parts: &Parts) -> Vec<String> {
    let mut broken = only_its_own(&parts.text("watch"), 3);
    // The same without tuning, to see that it would be seen.
    let untuned = only_its_own(&parts.text("watch_untuned"), 1);
    if untuned.len() != 1 || !untuned[0].contains("load-4") {
        broken.push(format!("untuned: {untuned:?}"));
    }
    let cpus: BTreeSet<String> =
        parts.documents("neighbours").iter().map(|run| run["evidence"]["cpus"].to_string()).collect();
    if cpus.len() != 2 {
        broken.push(format!("two runs at once were on the CPUs {cpus:?}"));
    }
    broken.extend(laboratory(parts));
    // On a CPU of node 0 with memory of node 1.
    let remote = parts.document("remote");
    let evidence = &remote["evidence"];
    let seen = json!([evidence["cpu_nodes"], evidence["mem_nodes"], evidence["pages_by_node"][0]["node"]]);
    let named = remote["disturbed"].as_array().is_some_and(|names| names.contains(&json!("remote_memory")));
    if seen != json!([[0], [1], 1]) || !named {
        broken.push(format!("remote memory: {evidence}, disturbed by {}", remote["disturbed"]));
    }
    broken
}

/// Ladder and perturbations end with a page, do what only such a machine can, and leave nothing changed.
fn laboratory(parts: &Parts) -> Vec<String> {
    let mut broken = Vec::new();
    for name in ["ladder", "perturb", "ladder_page", "perturb_page"] {
        broken.extend(parts.ended(name, &[0]));
    }
    for name in ["ladder_changed", "perturb_changed", "cut_put_back"] {
        broken.extend(parts.text_is(name, ""));
    }
    let stages = parts.document("ladder")["stages"].as_array().cloned().unwrap_or_default();
    let seen =
        stages.iter().map(|stage| json!([stage["name"], stage["load"], stage["n"], stage["isolation"]]));
    let stage = |name: &str, n: u32, isolation: &str| {
        ["idle", "cpu"].map(|load| match isolation {
            "" => json!([name, load, n, { "unknown": NO_CPUFREQ }]),
            _ => json!([name, load, n, isolation]),
        })
    };
    let wanted = [
        stage("untouched", 1, "none"),
        stage("bound", 1, "affinity"),
        stage("slot", 1, "partition"),
        stage("frequency", 0, ""),
        stage("node", 1, "partition"),
    ];
    if !seen.clone().eq(wanted.into_iter().flatten()) {
        broken.push(format!("ladder: {:?}", seen.collect::<Vec<_>>()));
    }
    let trials = parts.document("perturb")["trials"].as_array().cloned().unwrap_or_default();
    for name in ["same_cpu_load", "cache_load", "rt_load", "memory_load", "sibling_load", "page_cache_drop"] {
        let trial = trials.iter().find(|trial| trial["name"] == name).cloned().unwrap_or_default();
        if trial["available"] != true || trial["pairs"] != 1 {
            broken.push(format!("perturb: {name}: {}", trial["reason"]));
        }
    }
    let cut = "killed 137\ntauto-slot-4 isolated\nloads 0\n\
               tauto: restored what an interrupted experiment had changed: isolated_cpus\nnext 0";
    broken.extend(parts.text_is("cut_in_partition", cut));
    broken
}

/// Who else was scheduled on the slot's CPU, of lines `COUNT KIND NAME`, while so many loads filled the others.
fn only_its_own(watch: &str, loads: usize) -> Vec<String> {
    let lines: Vec<Vec<&str>> = watch.lines().map(|line| line.split_whitespace().collect()).collect();
    let of = |kind: &str| -> Vec<&Vec<&str>> {
        lines.iter().filter(|words| words.get(1) == Some(&kind)).collect()
    };
    let mut broken = Vec::new();
    if !of("foreign").is_empty() {
        broken.push(format!("on the slot's CPU: {:?}", of("foreign")));
    }
    // The loads ended by an interrupt, so they ran to the end.
    if of("own").is_empty() || of("lost") != [&["0", "lost"]] || of("load") != vec![&["130", "load"]; loads] {
        broken.push(format!("nothing can be concluded from {watch}"));
    }
    broken
}

/// Of two runs the first took place while others' memory came back from swap.
fn swapped(parts: &Parts) -> Vec<String> {
    let runs = parts.documents("swap");
    let seen = runs.iter().map(|run| {
        let named = run["disturbed"].as_array().is_some_and(|names| names.contains(&json!("swap")));
        (run["evidence"]["swapped_pages"].as_u64() > Some(0), named)
    });
    let wanted = [(true, true), (false, false)];
    if seen.eq(wanted) { vec![] } else { vec![format!("swap: {}", parts.text("swap"))] }
}

fn nothing_more(_: &Parts) -> Vec<String> {
    vec![]
}

/// Killed at three halves of a change: `HALF 137 0`, and nothing that differs.
fn one_node(parts: &Parts) -> Vec<String> {
    let changes = parts.changes("cut_plan").len();
    let halves = [1, changes, 2 * changes].map(|half| format!("{half} 137 0")).join("\n");
    if changes > 1 { parts.text_is("cut_off", &halves) } else { vec![format!("{changes} changes")] }
}

/// Of long texts.
fn head(text: &str) -> &str {
    text.char_indices().nth(500).map_or(text, |(at, _)| &text[..at])
}

/// What a guest said, by name.
struct Parts(BTreeMap<String, (i32, String)>);

impl Parts {
    fn read(output: &str) -> Parts {
        let part = |text: &str| {
            let (head, body) = text.split_once('\n')?;
            let (name, code) = head.trim().split_once(' ')?;
            Some((name.to_string(), (code.parse().ok()?, body.trim().to_string())))
        };
        Parts(output.split("@part ").skip(1).filter_map(part).collect())
    }

    fn text(&self, name: &str) -> String {
        self.0.get(name).map(|(_, text)| text.clone()).unwrap_or_default()
    }

    fn documents(&self, name: &str) -> Vec<Value> {
        serde_json::Deserializer::from_str(&self.text(name)).into_iter().map_while(Result::ok).collect()
    }

    /// Null where it is none.
    fn document(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).unwrap_or_default()
    }

    fn ended(&self, name: &str, codes: &[i32]) -> Vec<String> {
        match self.0.get(name) {
            Some((code, _)) if codes.contains(code) => vec![],
            Some((code, text)) => {
                let errors = self.text(&format!("{name}.errors"));
                vec![format!("{name}: exit code {code}: {errors} {}", head(text))]
            }
            None => vec![format!("{name}: was never reached")],
        }
    }

    fn text_is(&self, name: &str, wanted: &str) -> Vec<String> {
        let text = self.text(name);
        if text == wanted { vec![] } else { vec![format!("{name}:\n{text}\nwanted:\n{wanted}")] }
    }

    /// State and observation of a row of an audit.
    fn row(&self, audit: &str, id: &str) -> (String, String) {
        let document = self.document(audit);
        let rows = document["findings"].as_array().cloned().unwrap_or_default();
        let row = rows.into_iter().find(|row| row["id"] == id).unwrap_or_default();
        let text = |field: &str| row[field].as_str().unwrap_or("none").to_string();
        (text("state"), text("observed"))
    }

    fn changes(&self, name: &str) -> Vec<Change> {
        let document = self.document(name);
        let changes = document["changes"].as_array().cloned().unwrap_or_default();
        let told = |change: &Value| {
            let text = |field: &str| change[field].as_str().unwrap_or_default().to_string();
            Change { id: text("id"), target: text("target"), state: text("state") }
        };
        changes.iter().map(told).collect()
    }
}

/// A change in a document of `tauto tune`.
#[derive(Debug)]
struct Change {
    id: String,
    target: String,
    state: String,
}

fn judge(machine: &Machine, parts: &Parts) -> Vec<String> {
    let mut broken = Vec::new();
    let lines = parts.text("files").split(' ').next().and_then(|n| n.parse::<u64>().ok());
    if lines < Some(FILES) {
        broken.push(format!("the snapshot has {lines:?} lines"));
    }
    broken.extend(judge_slots(machine, parts));
    broken.extend(judge_audits(machine, parts));
    broken.extend(judge_tuning(machine, parts));
    for (when, rung) in ["before", "after"].iter().zip(machine.rungs) {
        broken.extend(judge_run(machine, parts, when, rung));
    }
    broken.extend(parts.text_is("partitions", machine.partitions));
    broken.extend((machine.more)(parts));
    broken
}

fn judge_slots(machine: &Machine, parts: &Parts) -> Vec<String> {
    let mut broken = Vec::new();
    for (when, rung) in ["before", "after"].iter().zip(machine.rungs) {
        let name = format!("slots_{when}");
        broken.extend(parts.ended(&name, &[0]));
        let slot = |(id, (cpu, siblings, nodes, package)): (usize, &Slot)| {
            // Once tuned, they are offline.
            let siblings: &[u32] = if *when == "after" { &[] } else { siblings };
            json!({ "id": id, "cpus": [cpu], "idle_siblings": siblings, "mem_nodes": nodes, "package": package, "isolation": rung })
        };
        let slots: Vec<Value> = machine.slots.iter().enumerate().map(slot).collect();
        let wanted = json!({ "housekeeping": machine.housekeeping, "slots": slots });
        let seen = parts.document(&name);
        if seen != wanted {
            broken.push(format!("{name}: {seen}, wanted {wanted}"));
        }
    }
    broken
}

fn judge_audits(machine: &Machine, parts: &Parts) -> Vec<String> {
    let mut broken = parts.ended("audit_before", &[1]);
    broken.extend(parts.ended("audit_after", &[0, 1]));
    for (id, state) in machine.before {
        let (seen, observed) = parts.row("audit_before", id);
        if seen != *state {
            broken.push(format!("audit before: {id} is {seen}, wanted {state}: {observed}"));
        }
    }
    for (id, state, word) in machine.after {
        let (seen, observed) = parts.row("audit_after", id);
        if seen != *state || !observed.contains(word) {
            broken.push(format!("audit after: {id} is {seen}, wanted {state} ({word}): {observed}"));
        }
    }
    let tuned = parts.changes("apply").into_iter().filter(|change| change.state == "verified");
    let refused = |id: &str| machine.refused.iter().any(|(of, _)| *of == id);
    let tuned: BTreeSet<String> = tuned.map(|change| change.id).filter(|id| !refused(id)).collect();
    for id in tuned {
        let (seen, observed) = parts.row("audit_after", &id);
        if seen == "bad" {
            broken.push(format!("audit after: {id} was tuned and is bad: {observed}"));
        }
    }
    broken
}

fn judge_tuning(machine: &Machine, parts: &Parts) -> Vec<String> {
    let refuses = !machine.refused.is_empty();
    let mut broken = Vec::new();
    for (name, code, state, in_force) in [
        ("plan", 0, "planned", false),
        ("apply", refuses.into(), "verified", true),
        ("status_after", 0, "verified", true),
        ("undo", 0, "undone", false),
    ] {
        broken.extend(parts.ended(name, &[code]));
        let changes = parts.changes(name);
        let ids: BTreeSet<&str> = changes.iter().map(|change| change.id.as_str()).collect();
        let needless = |id: &&&str| name != "undo" || machine.refused.iter().all(|(of, _)| of != *id);
        let wanted = EVERYWHERE.iter().chain(machine.planned).filter(needless);
        broken.extend(wanted.filter(|id| !ids.contains(*id)).map(|id| format!("{name}: no {id}")));
        let unwanted = machine.unplanned.iter().filter(|id| ids.contains(*id));
        broken.extend(unwanted.map(|id| format!("{name}: has {id}")));
        if parts.document(name)["in_force"] != in_force {
            broken.push(format!("{name}: in_force is not {in_force}"));
        }
        let (refused, made): (Vec<&Change>, Vec<&Change>) =
            changes.iter().partition(|change| change.state == "refused");
        let other = made.iter().filter(|change| change.state != state);
        broken.extend(other.map(|change| format!("{name}: wanted {state}: {change:?}")));
        let refused: Vec<(&str, &str)> =
            refused.iter().map(|change| (change.id.as_str(), change.target.as_str())).collect();
        // What is refused is planned, and needs no undoing.
        let expected = if ["apply", "status_after"].contains(&name) { machine.refused } else { &[] };
        if refused != expected {
            broken.push(format!("{name}: refused are {refused:?}"));
        }
    }
    broken.extend(parts.ended("status_end", &[0]));
    if parts.document("status_end")["in_force"] != false {
        broken.push("something is in force at the end".into());
    }
    for name in ["plan_changed", "undone", "left"] {
        broken.extend(parts.ended(name, &[0]));
        broken.extend(parts.text_is(name, ""));
    }
    broken
}

/// The run in slot 0, and where its pages lay.
fn judge_run(machine: &Machine, parts: &Parts, when: &str, rung: &str) -> Vec<String> {
    let (cpu, _, nodes, _) = machine.slots[0];
    let name = format!("run_{when}");
    let mut broken = parts.ended(&name, &[0]);
    let run = parts.document(&name);
    let evidence = &run["evidence"];
    let seen = json!([run["status"], evidence["isolation"], evidence["cpus"], evidence["mem_nodes"]]);
    let wanted = json!(["ok", rung, [cpu], nodes]);
    if seen != wanted {
        broken.push(format!("{name}: {seen}, wanted {wanted}: {}", evidence["weaker"]));
    }
    // One line for each node that has any.
    let pages = parts.text(&format!("pages_{when}"));
    let kib = pages.strip_prefix(&format!("node {}: ", nodes[0])).and_then(|rest| rest.strip_suffix(" KiB"));
    if kib.and_then(|kib| kib.parse::<u64>().ok()) < Some(64 << 10) {
        broken.push(format!("{name}: anonymous pages: {pages}"));
    }
    broken
}

fn programs() -> Result<Vec<PathBuf>, String> {
    let all = program::discover()?;
    let find = |name: &&str| {
        all.iter().find(|p| p.name == *name).ok_or_else(|| format!("there is no program {name}"))
    };
    PROGRAMS.iter().map(|name| compile::executable(find(name)?, &e2e::scratch!())).collect()
}

fn attempt(machine: &Machine) -> Result<(), Failed> {
    let _machine = stage::machine(&e2e::scratch!())?;
    let script = include_str!("../guest/server.sh");
    let script =
        format!("{script}\ntuned() {{\n{}\n}}\nbystanders\n{}\nround tuned\n", machine.tuned, machine.first);
    let vm = Vm {
        tauto: tauto::binary()?,
        files: programs()?,
        cgroups: Cgroups::V2,
        shape: machine.shape.parse()?,
        disk: machine.disk,
        append: machine.append.into(),
        command: ["sh", "-c", &script].map(String::from).to_vec(),
        patience: PATIENCE,
    };
    let mut output = Vec::new();
    let ended = vm::boot(&vm, &mut output);
    let output = String::from_utf8_lossy(&output).into_owned();
    ended.map_err(|error| format!("{error}\noutput: {output}"))?;
    let broken = judge(machine, &Parts::read(&output));
    if broken.is_empty() { Ok(()) } else { Err(broken.join("\n").into()) }
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let lacks = vm::lacks();
    let machines = [TWO_SOCKETS, WITHOUT_THREADS, ONE_NODE, QUIET_FROM_BOOT, ONE_CPU];
    let trials = machines.into_iter().map(|machine| {
        let trial = Trial::test(machine.name, move || attempt(&machine));
        match &lacks {
            Some(reason) => trial.with_kind(format!("skipped: {reason}")).with_ignored_flag(true),
            None => trial,
        }
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}
