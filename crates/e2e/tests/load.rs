//! The load generator keeps busy what it was told to, and ends.

use e2e::leftovers::{self, Snapshot};
use e2e::stage::{self, Pass, Stage, Workspace};
use e2e::tauto;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::sched_getaffinity;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

/// Long for what takes a second at most.
const PATIENCE: Duration = Duration::from_secs(30);
/// Where a test ends a load that would go on.
const LONG: &str = "600";

/// The highest CPU of this process: tests must not need more than one.
fn last_cpu() -> u32 {
    let mask = sched_getaffinity(None).expect("own CPUs");
    (0..1024).rev().find(|cpu| mask.is_set(*cpu)).and_then(|cpu| cpu.try_into().ok()).expect("some CPU")
}

/// Runs `tauto load` as each possible user to its end; exit code, document or error.
fn loads(options: &str) -> Vec<(Pass, i32, tauto::Ended)> {
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    let load = |pass| {
        let stage = Stage::new(pass).expect("stage");
        let place = stage.place("load").expect("place");
        let mut command = place.tauto();
        command.arg("load").args(options.split_whitespace());
        let ended = tauto::run(&mut command, false, PATIENCE).expect(options);
        (pass, ended.code().expect("no signal"), ended)
    };
    Pass::possible().into_iter().map(load).collect()
}

/// Every kind and what its work is counted in.
const KINDS: [(&str, &str); 8] = [
    ("cpu", "multiplications"),
    ("cache", "accesses"),
    ("memory", "bytes"),
    ("rt", "multiplications"),
    ("compress", "bytes"),
    ("fork", "processes"),
    ("io", "bytes"),
    ("irq", "interrupts"),
];

/// What a user is told who may not make this kind of load.
fn denied(pass: Pass, kind: &str) -> Option<&'static str> {
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    match (pass, kind) {
        (Pass::User, "rt") => Some("SCHED_RR is denied"),
        (Pass::User, "irq") if paranoid.trim().parse().unwrap_or(2) > 0 => Some("CAP_PERFMON"),
        _ => None,
    }
}

#[test]
fn every_kind_keeps_its_cpu_busy_and_ends_by_itself() {
    let cpu = last_cpu();
    for (kind, unit) in KINDS {
        for (pass, code, ended) in loads(&format!("--json --kind {kind} --cpus {cpu} --seconds 0.2")) {
            if let Some(why) = denied(pass, kind) {
                assert!(code == 3 && ended.stderr.contains(why), "{kind}: {code}: {}", ended.stderr);
                continue;
            }
            assert_eq!(code, 0, "{kind} {pass:?}: {}", ended.stderr);
            assert_eq!(ended.stderr, format!("load: {kind} on CPUs {cpu} for 0.2 s\n"));
            let document = ended.document().expect(kind);
            assert_eq!((&document["kind"], &document["unit"]), (&kind.into(), &unit.into()));
            let workers = document["workers"].as_array().expect("workers");
            assert_eq!(workers.len(), 1);
            assert_eq!(workers[0]["cpu"], cpu);
            let [used, work] = ["cpu_ns", "work"].map(|field| workers[0][field].as_u64().expect(field));
            let wall = document["wall_ns"].as_u64().expect("wall_ns");
            assert!(work > 0 && used > 0, "{document}");
            assert!((200_000_000..PATIENCE.as_nanos() as u64).contains(&wall) && used <= wall, "{document}");
        }
    }
}

#[test]
fn every_kind_ends_when_it_should() {
    const ASKED: u64 = 500_000_000;
    let cpu = last_cpu();
    for (kind, _) in KINDS.into_iter().filter(|(kind, _)| denied(Pass::possible()[0], kind).is_none()) {
        let wall = |seconds: &str| {
            let words = format!("--json --kind {kind} --cpus {cpu} --seconds {seconds}");
            let ended = loads(&words).swap_remove(0).2;
            ended.document().expect(kind)["wall_ns"].as_u64().expect("wall_ns")
        };
        // Making buffers ready is in it, which takes seconds where the cache is large: as long as for the shortest load. Now and
        // then the machine is late for other reasons, but not each time.
        let in_time = || {
            let ready = wall("0.001");
            (ASKED..ASKED * 3 / 2 + 2 * ready).contains(&wall("0.5"))
        };
        assert!((0..5).any(|_| in_time()), "{kind}: always late");
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    for (options, says) in [
        ("--cpus 1000", "CPU 1000 cannot be used"),
        ("--cpus 1-", "is not a list of CPUs"),
        ("--seconds 3601", "at most 3600"),
        ("--seconds 0", "positive"),
        ("--kind rt --priority 99", "99"),
        ("--kind disk", "disk"),
        ("--kind io --directory /nonexistent", "/nonexistent: no temporary file can be made"),
        ("--of 1", "--of 1: that process is not the parent"),
        ("--tell --json", "--json"),
    ] {
        for (_, code, ended) in loads(options) {
            assert_eq!(code, 2, "{options}: {}", ended.stderr);
            assert!(ended.stderr.contains(says), "{options}: {}", ended.stderr);
            assert_eq!(ended.stdout, "");
        }
    }
}

/// Name and allowed CPUs of every thread of a process.
fn threads(child: &Child) -> Vec<(String, String)> {
    let directory = format!("/proc/{}/task", child.id());
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let of = |path: PathBuf| {
        let name = std::fs::read_to_string(path.join("comm")).ok()?;
        let status = std::fs::read_to_string(path.join("status")).ok()?;
        let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t"))?.to_string();
        Some((name.trim().to_string(), cpus))
    };
    entries.filter_map(|entry| of(entry.path())).collect()
}

/// A load of this kind that is at work.
fn begin(place: &Workspace<'_>, kind: &str, cpu: u32) -> Child {
    let mut command = place.tauto();
    command.args(["load", "--tell", "--seconds", LONG, "--kind", kind, "--cpus", &cpu.to_string()]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("start");
    assert_eq!(first_line(&mut child), "ready\n", "{kind}");
    child
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("stdout")).read_line(&mut line).expect("a line");
    line
}

fn signal(child: &Child, signal: Signal) {
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("pid");
    kill_process(id, signal).expect("kill");
}

/// Files without a name that a process has open.
fn nameless(child: &Child) -> usize {
    let entries = std::fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten().flatten();
    let targets = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    targets.filter(|target| target.to_string_lossy().ends_with(" (deleted)")).count()
}

#[test]
fn whatever_ends_it_nothing_is_left() {
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    leftovers::adopt_orphans().expect("heir");
    let (cpu, pass) = (last_cpu(), Pass::possible()[0]);
    let stage = Stage::new(pass).expect("stage");
    let place = stage.place("load").expect("place");
    let before = Snapshot::take();
    for (kind, _) in KINDS.into_iter().filter(|(kind, _)| denied(pass, kind).is_none()) {
        for (by, code) in [(Signal::INT, Some(130)), (Signal::TERM, Some(130)), (Signal::KILL, None)] {
            let mut child = begin(&place, kind, cpu);
            let seen = threads(&child);
            assert_eq!(place.temporaries(), Vec::<String>::new(), "{kind}");
            assert_eq!(nameless(&child), usize::from(kind == "io"), "{kind}");
            signal(&child, by);
            let status = tauto::wait(&mut child, PATIENCE).expect("it ends");
            let name = format!("load-{cpu}");
            let working: Vec<_> = seen.iter().filter(|(thread, _)| thread.starts_with("load-")).collect();
            // Interrupts are made from elsewhere, where there is an elsewhere.
            let bound = kind != "irq" || last_cpu() == 0;
            assert!(working.len() == 1 && working[0].0 == name, "{kind}: {seen:?}");
            assert_eq!(working[0].1 == cpu.to_string(), bound, "{kind}: {seen:?}");
            assert_eq!(status.code(), code, "{kind} {by:?}");
            before.wait_until_clean(PATIENCE, || place.temporaries()).expect(kind);
        }
    }
}

#[test]
fn a_load_ends_with_its_parent() {
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    leftovers::adopt_orphans().expect("heir");
    let pass = Pass::possible()[0];
    let stage = Stage::new(pass).expect("stage");
    let place = stage.place("load").expect("place");
    let before = Snapshot::take();
    for (kind, _) in KINDS.into_iter().filter(|(kind, _)| denied(pass, kind).is_none()) {
        let options = format!("--tell --seconds {LONG} --kind {kind} --cpus {}", last_cpu());
        let script = format!("{}/tauto load --of $$ {options} & wait", stage.path().display());
        let mut parent = place
            .command(Path::new("/bin/sh"))
            .args(["-c", &script])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("start");
        assert_eq!(first_line(&mut parent), "ready\n", "{kind}");
        signal(&parent, Signal::KILL);
        parent.wait().expect("it ends");
        before.wait_until_clean(PATIENCE, || place.temporaries()).expect(kind);
    }
}

/// Interrupts of a CPU's own timer so far.
fn timer_interrupts(cpu: u32) -> u64 {
    let text = std::fs::read_to_string("/proc/interrupts").expect("interrupts");
    let column = text
        .lines()
        .next()
        .and_then(|head| head.split_whitespace().position(|name| name == format!("CPU{cpu}")));
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("LOC:"));
    let cell = line.and_then(|line| line.split_whitespace().nth(column?));
    cell.and_then(|cell| cell.parse().ok()).expect("a line for the timer")
}

#[test]
fn interrupts_hit_the_cpu_that_they_are_meant_for() {
    let (cpu, pass) = (last_cpu(), Pass::possible()[0]);
    if let Some(why) = denied(pass, "irq") {
        // CI has root.
        assert!(!stage::is_root(), "{why}");
        return;
    }
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    let stage = Stage::new(pass).expect("stage");
    let place = stage.place("load").expect("place");
    let rise = || {
        let before = timer_interrupts(cpu);
        std::thread::sleep(Duration::from_millis(200));
        timer_interrupts(cpu) - before
    };
    let quiet = rise();
    let mut child = begin(&place, "irq", cpu);
    let loaded = rise();
    signal(&child, Signal::KILL);
    tauto::wait(&mut child, PATIENCE).expect("it ends");
    let after = rise();
    assert!(loaded > 5 * quiet.max(after).max(100), "{quiet} {loaded} {after}");
}

#[test]
fn tasks_of_equal_priority_share_a_cpu_with_it() {
    if !stage::is_root() {
        return;
    }
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    let stage = Stage::new(Pass::Root).expect("stage");
    let place = stage.place("load").expect("place");
    let cpu = last_cpu();
    let mut child = begin(&place, "rt", cpu);
    let mut run = place.tauto();
    run.args(["run", "--json", "--cpu", &cpu.to_string(), "--sched", "rr:1", "--"]);
    let ended =
        tauto::run(run.arg(tauto::binary().expect("tauto")).args(["probe", "compute"]), false, PATIENCE);
    signal(&child, Signal::TERM);
    tauto::wait(&mut child, PATIENCE).expect("it ends");
    // It would not have ended beside a load that shares with nobody.
    let run = ended.expect("run").document().expect("document");
    assert_eq!(run["status"], "ok", "{run:#}");
}
