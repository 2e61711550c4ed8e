//! Disturbances made on purpose are named by the evidence of the run they hit, and a quiet run's evidence names none of
//! them.

use e2e::stage::{self, Pass, Stage, Workspace};
use e2e::tauto;
use rustix::process::Pid;
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(120);

/// Runs a body as the most powerful user there is, alone.
fn alone(body: impl Fn(&Workspace<'_>)) {
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    let stage = Stage::new(Pass::possible()[0]).expect("stage");
    body(&stage.place("disturbance").expect("place"));
}

fn tauto_with(place: &Workspace<'_>, arguments: &[&str]) -> std::process::Command {
    let mut command = place.tauto();
    command.env("TAUTO_DATA_DIR", place.path("data")).args(arguments);
    command
}

/// The CPU of the first slot: runs are bound to it, and loads with them.
fn slot_cpu(place: &Workspace<'_>) -> String {
    let ended = tauto::run(&mut tauto_with(place, &["slots", "--json"]), false, PATIENCE).expect("slots");
    ended.document().expect("slots")["slots"][0]["cpus"][0].to_string()
}

/// A run of the fixed computing program, about a tenth of a second; or of another command.
fn run(place: &Workspace<'_>, options: &[&str], command: &[&str]) -> Value {
    let arguments = [&["run", "--json"], options, &["--"], command].concat();
    let ended = tauto::run(&mut tauto_with(place, &arguments), false, PATIENCE).expect("run");
    assert_eq!(ended.code().expect("code"), 0, "{}", ended.stderr);
    ended.document().expect("document")
}

fn names(run: &Value) -> Vec<&str> {
    run["disturbed"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn number(run: &Value, field: &str) -> u64 {
    run["evidence"][field].as_u64().unwrap_or_else(|| panic!("{field}: {}", run["evidence"]))
}

fn load(place: &Workspace<'_>, options: &[&str]) -> Child {
    let child = place
        .load()
        .args(["--seconds", "100"])
        .args(options)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("load");
    // Until its thread is at work.
    std::thread::sleep(Duration::from_millis(300));
    child
}

fn end(mut child: Child) {
    child.kill().and_then(|()| child.wait()).expect("the load ends");
}

#[test]
fn foreign_load_on_the_slots_cpu_is_named() {
    alone(|place| {
        let (cpu, tauto) = (slot_cpu(place), tauto::binary().expect("tauto"));
        let program = [tauto.to_str().expect("a path"), "probe", "compute"];
        let load = load(place, &["--kind", "cpu", "--cpus", &cpu]);
        // The scheduler may let one run of a tenth of a second through undisturbed.
        let runs: Vec<Value> = (0..5).map(|_| run(place, &["--slot", "0"], &program)).collect();
        end(load);
        let both = |run: &&Value| ["run_queue_wait", "foreign"].iter().all(|name| names(run).contains(name));
        let hit = runs.iter().filter(both).count();
        assert!(hit >= 2, "{runs:#?}");
        for run in &runs {
            let wall = run["time"]["wall_ns"].as_u64().expect("wall");
            assert!(number(run, "run_queue_wait_ns") <= wall, "waited longer than it took: {run:#}");
            assert!(
                number(run, "foreign_ns") <= wall + 20_000_000,
                "others took longer than it ran: {run:#}"
            );
        }
    });
}

/// The parts of a ledger that make up the elapsed time, which they must.
fn ledger(run: &Value) -> [u64; 5] {
    let ledger = &run["ledger"];
    let part = |name: &str| ledger[name].as_u64().unwrap_or_else(|| panic!("{name}: {ledger:#}"));
    let names = ["cpu_ns", "run_queue_wait_ns", "blocked_ns", "steal_ns", "unexplained_ns"];
    let parts = names.map(part);
    assert_eq!(parts.iter().sum::<u64>(), part("wall_ns"), "{ledger:#}");
    assert_eq!(ledger["wall_ns"], run["time"]["wall_ns"]);
    parts
}

#[test]
fn the_ledger_says_where_the_time_went() {
    alone(|place| {
        let (cpu, tauto) = (slot_cpu(place), tauto::binary().expect("tauto"));
        let program = [tauto.to_str().expect("a path"), "probe", "compute"];
        let explain = ["--slot", "0", "--explain"];
        let [ran, _, blocked, _, _] = ledger(&run(place, &explain, &program));
        assert!(ran > 0 && blocked == 0, "a program that only computes was blocked for {blocked} ns");
        let slept = run(place, &explain, &["/bin/sleep", "0.2"]);
        let [ran, _, blocked, _, _] = ledger(&slept);
        assert!(blocked > 100_000_000 && blocked > ran, "{slept:#}");
        let several = run(place, &explain, &["/bin/sh", "-c", "for i in 1 2 3; do /bin/true; done; exit 0"]);
        ledger(&several);
        assert!(several["ledger"]["others_cpu_ns"].as_u64() > Some(0), "{several:#}");
        let load = load(place, &["--kind", "cpu", "--cpus", &cpu]);
        let runs: Vec<Value> = (0..5).map(|_| run(place, &explain, &program)).collect();
        end(load);
        let waits = runs.iter().map(|run| ledger(run)[1]).max();
        assert!(waits > Some(10_000_000), "{runs:#?}");
        for run in &runs {
            let causes: Vec<&Value> = run["ledger"]["causes"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|cause| &cause["name"])
                .collect();
            assert_eq!(causes, run["disturbed"].as_array().expect("names").iter().collect::<Vec<_>>());
        }
        assert!(run(place, &["--slot", "0"], &program).get("ledger").is_none());
    });
}

/// Where sessions are scheduling groups, the run's began with the weight of the launcher, which is favoured; it then got a
/// tenth of a busy CPU instead of half.
#[test]
fn a_run_gets_its_share_of_a_busy_cpu() {
    alone(|place| {
        let cpu = slot_cpu(place);
        let work = ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"];
        let load = load(place, &["--kind", "cpu", "--cpus", &cpu]);
        let pairs: Vec<(Duration, Duration)> = (0..9)
            .map(|_| {
                let start = Instant::now();
                let mut plain = place.command(Path::new("setsid"));
                let status = plain.args(["--wait", "taskset", "-c", &cpu]).args(work).status();
                assert!(status.expect("taskset").success());
                let plain = start.elapsed();
                let ours = run(place, &["--slot", "0"], &work);
                (plain, Duration::from_nanos(ours["time"]["wall_ns"].as_u64().expect("a time")))
            })
            .collect();
        end(load);
        let median = |mut of: Vec<Duration>| {
            of.sort();
            of[of.len() / 2]
        };
        let plain = median(pairs.iter().map(|pair| pair.0).collect());
        let ours = median(pairs.iter().map(|pair| pair.1).collect());
        assert!(ours < 2 * plain, "{ours:?} against {plain:?} of a plain process");
    });
}

#[test]
fn a_real_time_neighbour_is_named() {
    if !stage::is_root() {
        return;
    }
    alone(|place| {
        let (cpu, tauto) = (slot_cpu(place), tauto::binary().expect("tauto"));
        let program = [tauto.to_str().expect("a path"), "probe", "compute"];
        let mut command = place.load();
        command.args(["--kind", "rt", "--cpus", &cpu, "--seconds", "20"]);
        let load = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("load");
        std::thread::sleep(Duration::from_millis(200));
        let hit = run(place, &["--slot", "0"], &program);
        end(load);
        assert!(names(&hit).contains(&"run_queue_wait") && names(&hit).contains(&"foreign"), "{hit:#}");
    });
}

/// Sends datagrams to its own host as fast as it can for so many seconds.
const FLOOD: &str = r#"
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
int main(int argc, char **argv) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int in = socket(AF_INET, SOCK_DGRAM, 0), out = socket(AF_INET, SOCK_DGRAM, 0);
    bind(in, (struct sockaddr *)&to, sizeof to);
    connect(out, (struct sockaddr *)&to, sizeof to);
    time_t end = time(0) + atoi(argv[1]);
    do
        for (int n = 0; n < 10000; n++)
            send(out, "x", 1, MSG_DONTWAIT);
    while (time(0) < end);
}
"#;

/// Packets are received on the slot's CPU, of a network of its own (Documentation/networking/scaling.rst, "RPS"), while
/// they are sent on another.
#[test]
fn an_interrupt_storm_is_named() {
    if !stage::is_root() {
        return;
    }
    alone(|place| {
        let (source, flood) = (place.path("flood.c"), place.path("flood"));
        fs::write(&source, FLOOD).expect("source");
        let built = std::process::Command::new("gcc").args(["-O2", "-o"]).arg(&flood).arg(&source).status();
        assert!(built.expect("gcc").success());
        let cpu: u32 = slot_cpu(place).parse().expect("a CPU");
        let Some(other) = cpus().into_iter().find(|other| *other != cpu) else { return };
        let script = format!(
            "ip link set lo up && mount -t sysfs none /sys && echo {:x} > /sys/class/net/lo/queues/rx-0/rps_cpus \
             && echo ready && exec taskset -c {other} {} 8",
            1 << cpu,
            flood.display()
        );
        let mut command = place.command(Path::new("unshare"));
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").args(["-n", "-m", "sh", "-c", &script]);
        let mut storm = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("unshare");
        let mut ready = [0; 6];
        if storm.stdout.take().expect("stdout").read_exact(&mut ready).is_err() {
            drop(storm.wait());
            // A kernel without RPS, or no right to a network of one's own.
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
        let work = ["sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"];
        let hit = run(place, &["--slot", "0"], &work);
        end(storm);
        let quiet = run(place, &["--slot", "0"], &work);
        assert!(names(&hit).contains(&"irq"), "{hit:#}");
        assert!(number(&hit, "irq_ns") > 10 * number(&quiet, "irq_ns"), "{hit:#}\n{quiet:#}");
        assert!(!names(&quiet).contains(&"irq"), "{quiet:#}");
    });
}

/// The CPUs of this process.
fn cpus() -> Vec<u32> {
    let mask = rustix::thread::sched_getaffinity(None).expect("own CPUs");
    (0..1024u32).filter(|cpu| mask.is_set(*cpu as usize)).collect()
}

/// A shell whose script ends so; its name on the host.
fn shell(ending: &str) -> Option<Pid> {
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_it = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let program = line.split(|byte| *byte == 0).next().unwrap_or_default();
        program.ends_with(b"/sh") && line.ends_with(ending.as_bytes())
    };
    Pid::from_raw(pids.find(is_it)?)
}

#[test]
fn moves_between_cpus_are_named() {
    let cpus = cpus();
    if !stage::is_root() || cpus.len() < 2 {
        return;
    }
    alone(|place| {
        let list = format!("{},{}", cpus[0], cpus[1]);
        let options = ["run", "--json", "--slot", "none", "--cpu", &list, "--", "sh", "-c"];
        let mut command = tauto_with(place, &options);
        command.arg("i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; : moved");
        let child = command.stdout(Stdio::piped()).spawn().expect("run");
        let mut moves = 0;
        let start = Instant::now();
        let mut program = None;
        while program.is_none() && start.elapsed() < PATIENCE {
            program = shell("; : moved\0");
        }
        while program == shell("; : moved\0") && moves < 100 {
            let mut mask = rustix::thread::CpuSet::new();
            mask.set(cpus[moves % 2] as usize);
            moves += usize::from(rustix::thread::sched_setaffinity(program, &mask).is_ok());
            std::thread::sleep(Duration::from_millis(5));
        }
        let output = child.wait_with_output().expect("output");
        let run: Value = serde_json::from_slice(&output.stdout).expect("document");
        assert!(moves > 4 && number(&run, "migrations") > 2, "{moves} moves: {run:#}");
        assert!(names(&run).contains(&"migrations"), "{run:#}");
    });
}

#[test]
fn a_cold_program_is_named() {
    alone(|place| {
        let copy = place.path("cold");
        fs::copy(tauto::binary().expect("tauto"), &copy).expect("copy");
        let file = fs::File::open(&copy).expect("copy");
        file.sync_all().expect("sync");
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("fadvise");
        let path = copy.to_str().expect("a path");
        let cold = run(place, &["--slot", "0"], &[path, "--version"]);
        let warm = run(place, &["--slot", "0"], &[path, "--version"]);
        // A file system in memory has no cold files.
        if number(&cold, "major_faults") > 0 {
            assert!(names(&cold).contains(&"major_faults"), "{cold:#}");
        }
        assert_eq!(number(&warm, "major_faults"), 0, "{warm:#}");
        assert!(!names(&warm).contains(&"major_faults"), "{warm:#}");
    });
}

/// A group below our own of the version 1 cpu controller; `None` where there is none to be made.
fn group_with_quota() -> Option<PathBuf> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let controllers = parts.next()?;
        controllers.split(',').any(|c| c == "cpu").then(|| parts.next().map(str::to_string))?
    })?;
    let group = Path::new("/sys/fs/cgroup/cpu").join(path.trim_start_matches('/')).join("e2e-quota");
    fs::create_dir(&group).ok()?;
    let quota = fs::write(group.join("cpu.cfs_quota_us"), "20000");
    if quota.is_err() {
        drop(fs::remove_dir(&group));
    }
    quota.ok().map(|()| group)
}

#[test]
fn a_quota_that_holds_a_run_back_is_named() {
    let Some(group) = group_with_quota() else { return };
    alone(|place| {
        let tauto = tauto::binary().expect("tauto");
        let (tauto, data) = (tauto.to_str().expect("a path"), place.path("data"));
        let script = format!(
            "echo $$ > {}/cgroup.procs && exec {tauto} run --slot 0 --json -- {tauto} probe compute",
            group.display()
        );
        let mut command = place.command(Path::new("/bin/sh"));
        let ended = tauto::run(command.args(["-c", &script]).env("TAUTO_DATA_DIR", data), false, PATIENCE);
        let run = ended.expect("run").document().expect("document");
        assert!(number(&run, "throttled_ns") > 0 && names(&run).contains(&"throttled"), "{run:#}");
        let free = self::run(place, &["--slot", "0"], &[tauto, "probe", "compute"]);
        assert_eq!(number(&free, "throttled_ns"), 0, "{free:#}");
    });
    for _ in 0..100 {
        if fs::remove_dir(&group).is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{} stays behind", group.display());
}
