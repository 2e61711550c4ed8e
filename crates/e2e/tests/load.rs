//! The load generator keeps busy what it was told to, and ends.

use e2e::stage::{self, Pass, Stage};
use e2e::tauto;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::sched_getaffinity;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Long for what takes a second at most.
const PATIENCE: Duration = Duration::from_secs(30);
/// Where a test ends a load that would go on.
const LONG: &str = "600";

fn scratch() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile")
}

/// The highest CPU of this process: tests must not need more than one.
fn last_cpu() -> u32 {
    let mask = sched_getaffinity(None).expect("own CPUs");
    (0..1024).rev().find(|cpu| mask.is_set(*cpu)).and_then(|cpu| cpu.try_into().ok()).expect("some CPU")
}

/// Runs `tauto load` as each possible user to its end; exit code, document or error.
fn loads(options: &str) -> Vec<(Pass, i32, tauto::Ended)> {
    let _alone = stage::alone(&scratch()).expect("lock");
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

#[test]
fn every_kind_keeps_its_cpu_busy_and_ends_by_itself() {
    let cpu = last_cpu();
    for (kind, unit) in [("cpu", "multiplications"), ("cache", "accesses"), ("memory", "bytes")] {
        for (pass, code, ended) in loads(&format!("--json --kind {kind} --cpus {cpu} --seconds 0.2")) {
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
fn real_time_is_for_root() {
    for (pass, code, ended) in loads(&format!("--json --kind rt --cpus {} --seconds 0.1", last_cpu())) {
        match pass {
            Pass::Root => {
                assert_eq!(code, 0, "{}", ended.stderr);
                assert_eq!(ended.document().expect("document")["kind"], "rt");
            }
            Pass::User => {
                assert_eq!(code, 3, "{}", ended.stderr);
                assert!(ended.stderr.contains("SCHED_FIFO is denied"), "{}", ended.stderr);
            }
        }
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    for (options, says) in [
        ("--cpus 1000", "CPU 1000 cannot be used"),
        ("--cpus 1-", "is not a CPU"),
        ("--seconds 3601", "at most 3600"),
        ("--seconds 0", "positive"),
        ("--kind rt --priority 99", "99"),
        ("--kind disk", "disk"),
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

#[test]
fn its_threads_are_bound_and_an_interrupt_ends_it() {
    let _alone = stage::alone(&scratch()).expect("lock");
    let cpu = last_cpu();
    let kinds: &[&str] = if stage::is_root() { &["cpu", "rt"] } else { &["cpu"] };
    for (kind, signal) in kinds.iter().flat_map(|kind| [(kind, Signal::INT), (kind, Signal::TERM)]) {
        let stage = Stage::new(Pass::possible()[0]).expect("stage");
        let place = stage.place("load").expect("place");
        let mut command = place.tauto();
        command.args(["load", "--kind", kind, "--seconds", LONG, "--cpus", &cpu.to_string()]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("start");
        let wanted = (format!("load-{cpu}"), cpu.to_string());
        let start = Instant::now();
        // A new thread has its creator's name and CPUs for a moment.
        while !threads(&child).contains(&wanted) && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(2));
        }
        let seen = threads(&child);
        let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("pid");
        kill_process(id, signal).expect("kill");
        let status = tauto::wait(&mut child, PATIENCE).expect("it ends");
        assert_eq!(seen.iter().filter(|(name, _)| name.starts_with("load-")).count(), 1, "{seen:?}");
        assert_eq!(status.code(), Some(130), "{kind} {signal:?}");
    }
}
