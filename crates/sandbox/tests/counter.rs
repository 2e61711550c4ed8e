//! Runs whose events are counted, in a real sandbox. The kernel's task clock stands in for instructions: it is opened, inherited,
//! read and held to a limit in the same way, and every machine has it. What no test can do to a processor is done by scripts.

use libtest_mimic::{Arguments, Failed, Trial};
use model::{Bytes, Limits, Nanos, Observation, Reading, RunSpec, Status, View, ViewMount, WallLimit};
use rustix::time::{ClockId, clock_gettime};
use sandbox::{Count, Counted, ErrorKind, Events, Launcher, LauncherOptions, SandboxError};
use std::fs::{File, Permissions};
use std::hint::black_box;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

type Test = fn() -> Result<(), Failed>;

const MS: u64 = 1_000_000;
/// Longer than any of these runs lasts if it is ended as it should be.
const ENDLESS: &str = "20000";

fn main() -> ExitCode {
    let mut words = std::env::args();
    if words.next().is_some_and(|name| name == sandbox::ARGV0) {
        return ExitCode::from(sandbox::launcher_main());
    }
    if words.next().is_some_and(|first| first == "work") {
        let words: Vec<String> = words.collect();
        work(&words.iter().map(String::as_str).collect::<Vec<_>>());
        return ExitCode::SUCCESS;
    }
    let tests: [(&'static str, Test); 10] = [
        ("threads_and_forks_are_counted", threads_and_forks_are_counted),
        ("the_program_cannot_leave_its_counter", the_program_cannot_leave_its_counter),
        ("a_run_is_ended_at_its_limit", a_run_is_ended_at_its_limit),
        ("a_run_within_its_limit_is_left_alone", a_run_within_its_limit_is_left_alone),
        ("a_counter_that_is_shared_is_refused", a_counter_that_is_shared_is_refused),
        ("a_counter_stolen_half_way_ends_the_run", a_counter_stolen_half_way_ends_the_run),
        ("a_counter_that_cannot_be_opened_is_told", a_counter_that_cannot_be_opened_is_told),
        ("nothing_is_counted_unless_asked_for", nothing_is_counted_unless_asked_for),
        ("each_counter_counts_without_the_other", each_counter_counts_without_the_other),
        ("cycles_are_those_of_the_clock", cycles_are_those_of_the_clock),
    ];
    // One after the other: they look at time.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    libtest_mimic::run(&arguments, tests.map(|(name, test)| Trial::test(name, test)).into()).exit_code()
}

/// What the program under test does: `burn MS`, `threads MS`, `tree MS`, `off MS`, `hide MS`.
fn work(words: &[&str]) {
    let [what, ms] = words else { return };
    let itself = || {
        let mut command = Command::new("/proc/self/exe");
        command.env_clear().arg("work");
        command
    };
    match *what {
        "burn" => burn(ms),
        "threads" => std::thread::scope(|scope| {
            scope.spawn(|| burn(ms));
            scope.spawn(|| burn(ms));
        }),
        // Itself, a thread, a child, and a child of that.
        "tree" => {
            std::thread::scope(|scope| drop(scope.spawn(|| burn(ms))));
            burn(ms);
            let child = itself().args(["child", ms]).status();
            assert!(child.is_ok_and(|status| status.success()));
        }
        "child" => {
            burn(ms);
            let child = itself().args(["burn", ms]).status();
            assert!(child.is_ok_and(|status| status.success()));
        }
        // Switches off the counters that it has opened.
        "off" => {
            rustix::process::configure_performance_counters(false).expect("allowed to everyone");
            burn(ms);
        }
        // Executes a copy of itself that may be executed, but not read.
        "hide" => {
            let copied = std::fs::copy("/proc/self/exe", "/w/hidden");
            let hidden =
                copied.and_then(|_| std::fs::set_permissions("/w/hidden", Permissions::from_mode(0o111)));
            assert!(hidden.is_ok() && File::open("/w/hidden").is_err());
            let failed = Command::new("/w/hidden").env_clear().args(["work", "burn", ms]).exec();
            panic!("{failed}");
        }
        other => panic!("no work is called {other}"),
    }
}

/// Uses so much CPU time of this thread, most of it in user space.
fn burn(ms: &str) {
    let used = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / MS
    };
    let end = used() + ms.parse::<u64>().expect("milliseconds");
    while used() < end {
        (0..100_000).for_each(|n| {
            black_box(n);
        });
    }
}

/// Runs this executable in a sandbox that counts these events.
fn run(events: Events, spec: RunSpec, words: [&str; 2]) -> Result<Observation, SandboxError> {
    run_counted(Counted { instructions: events, ..Counted::default() }, spec, words)
}

fn run_counted(counted: Counted, spec: RunSpec, words: [&str; 2]) -> Result<Observation, SandboxError> {
    let launcher = Launcher::start(&LauncherOptions { counted, ..LauncherOptions::default() })?;
    let program = launcher.create_box(Bytes::from_mib(256))?;
    let own = File::open("/proc/self/exe").expect("this executable");
    launcher.put(program, "main", true, &own)?;
    let mount = |host: &str| ViewMount { host: host.into(), inside: host.into(), optional: true };
    let mounts = ["/usr", "/lib", "/lib64", "/etc/ld.so.cache"].map(mount).into();
    let spec = RunSpec {
        argv: ["/program/main", "work"].into_iter().chain(words).map(String::from).collect(),
        view: View { mounts, ..View::default() },
        boxes: vec![model::BoxMount { id: program, at: "/program".into(), writable: false }],
        ..spec
    };
    launcher.run(&spec, vec![])
}

/// A run that is counted, held to so many events. The wall limit only ends tests that fail.
fn held_to(instructions: Option<u64>) -> RunSpec {
    let wall = Some(WallLimit { time: Nanos::from_secs(10), excuse_waiting: false });
    let limits = Limits { instructions, wall, memory: Some(Bytes::from_mib(512)), ..Limits::default() };
    RunSpec { count_instructions: true, limits, ..RunSpec::bare() }
}

fn script(counts: &[[u64; 3]]) -> Events {
    let count = |[value, enabled, running]: [u64; 3]| Count {
        value,
        enabled: Nanos(enabled),
        running: Nanos(running),
    };
    Events::Script(counts.iter().copied().map(count).collect())
}

fn ensure(holds: bool, what: impl std::fmt::Debug) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(format!("{what:#?}").into()) }
}

/// The reason why a run's instructions are not known.
fn unknown(o: &Observation) -> &str {
    why(&o.instructions)
}

fn why(reading: &Reading<u64>) -> &str {
    match reading {
        Reading::Unknown(why) => why,
        Reading::Known(_) => "",
    }
}

fn threads_and_forks_are_counted() -> Result<(), Failed> {
    let seen = run(Events::TaskClock, held_to(None), ["tree", "100"])?;
    let counted = seen.instructions.known().copied().unwrap_or_default();
    ensure(seen.status(&held_to(None).limits) == Status::Ok, &seen)?;
    ensure((400 * MS..10_000 * MS).contains(&counted), &seen)?;
    // All of the tree and nothing else: what differs is starting and ending processes.
    ensure(counted.abs_diff(seen.time.cpu.0) < 40 * MS, &seen)
}

fn the_program_cannot_leave_its_counter() -> Result<(), Failed> {
    let seen = run(Events::TaskClock, held_to(None), ["off", "200"])?;
    ensure(seen.instructions.known() >= Some(&(200 * MS)), &seen)?;
    let seen = run(Events::TaskClock, held_to(None), ["hide", "400"])?;
    ensure(seen.exit == model::Exit::Code(0) && unknown(&seen).contains("left its counter"), &seen)?;
    let limited = run(Events::TaskClock, held_to(Some(10_000 * MS)), ["hide", "400"]);
    ensure(limited.as_ref().is_err_and(|e| e.why.contains("left its counter")), &limited)
}

/// By how much this machine's timers were late at worst while this was done: sleeps of a millisecond, one after the other.
fn late_timers<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let control = scope.spawn(|| {
            let mut worst = 0;
            while !done.load(Ordering::Relaxed) {
                let begun = Instant::now();
                std::thread::sleep(Duration::from_nanos(MS));
                worst = worst.max(begun.elapsed().as_nanos() as u64 - MS);
            }
            worst
        });
        let value = work();
        done.store(true, Ordering::Relaxed);
        (value, control.join().unwrap_or_default())
    })
}

fn a_run_is_ended_at_its_limit() -> Result<(), Failed> {
    for (limit, work, at_once) in [(1_000 * MS, "burn", 1), (1_000 * MS, "threads", 2)] {
        let spec = held_to(Some(limit));
        let over = || -> Result<u64, Failed> {
            let seen = run(Events::TaskClock, spec.clone(), [work, ENDLESS])?;
            let counted = seen.instructions.known().copied().unwrap_or_default();
            ensure(seen.status(&spec.limits) == Status::CpuTimeLimit && counted > limit, &seen)?;
            ensure(seen.exit == model::Exit::Signal(9) && !seen.wall_exceeded, &seen)?;
            Ok(counted - limit)
        };
        // A busy machine wakes the launcher late, as it wakes the control.
        let mut tries = Vec::new();
        let in_time = |(over, late): &(u64, u64)| *over <= limit / 1000 + at_once * late;
        while tries.len() < 6 && !tries.last().is_some_and(in_time) {
            let (over, late) = late_timers(over);
            tries.push((over?, late));
        }
        ensure(
            tries.last().is_some_and(in_time),
            format!("{work}: ns too much, and ns that timers were late: {tries:?}"),
        )?;
    }
    Ok(())
}

fn a_run_within_its_limit_is_left_alone() -> Result<(), Failed> {
    let spec = held_to(Some(1_000 * MS));
    let seen = run(Events::TaskClock, spec.clone(), ["burn", "300"])?;
    let counted = seen.instructions.known().copied().unwrap_or_default();
    ensure(seen.status(&spec.limits) == Status::Ok && (300 * MS..1_000 * MS).contains(&counted), &seen)
}

fn a_counter_that_is_shared_is_refused() -> Result<(), Failed> {
    // Only at the end of a run without a limit; it is seen as it is.
    let shared = || script(&[[900, 1000 * MS, 300 * MS]]);
    let seen = run(shared(), held_to(None), ["burn", "1"])?;
    ensure(
        seen.status(&held_to(None).limits) == Status::Ok && unknown(&seen).contains("30.0 % of the time"),
        &seen,
    )?;
    // Between two looks.
    let limited = run(script(&[[900, MS, MS], [1900, 3 * MS, 2 * MS]]), held_to(Some(1000)), ["burn", "1"]);
    let told = |e: &SandboxError| e.kind == ErrorKind::System && e.why.contains("66.6 % of the time");
    ensure(limited.as_ref().is_err_and(told), &limited)
}

fn a_counter_stolen_half_way_ends_the_run() -> Result<(), Failed> {
    let begun = Instant::now();
    let stolen =
        script(&[[100, MS, MS], [200, 2 * MS, 2 * MS], [200, 3 * MS, 2 * MS], [200, 4 * MS, 2 * MS]]);
    // Asleep or not: nobody would end it otherwise.
    let limited = run(stolen, held_to(Some(1_000 * MS)), ["burn", ENDLESS]);
    ensure(limited.as_ref().is_err_and(|e| e.why.contains("66.6 % of the time")), &limited)?;
    ensure(begun.elapsed().as_secs() < 5, begun.elapsed())?;
    let never = run(script(&[[0, MS, 0]]), held_to(Some(1_000 * MS)), ["burn", ENDLESS]);
    ensure(never.as_ref().is_err_and(|e| e.why.contains("another user holds the counter")), &never)
}

fn a_counter_that_cannot_be_opened_is_told() -> Result<(), Failed> {
    const ENOENT: i32 = 2;
    let seen = run(Events::Refused(ENOENT), held_to(None), ["burn", "1"])?;
    ensure(seen.exit == model::Exit::Code(0) && unknown(&seen).contains("no such counter"), &seen)?;
    let limited = run(Events::Refused(ENOENT), held_to(Some(1)), ["burn", ENDLESS]);
    ensure(limited.as_ref().is_err_and(|e| e.to_string().contains("no such counter")), &limited)?;
    // What this machine says of the real counter, a run is told too.
    let seen = run(Events::Instructions, held_to(None), ["burn", "1"])?;
    match sandbox::counters() {
        Ok(()) => ensure(seen.instructions.known() > Some(&100_000), &seen),
        Err(why) => ensure(seen.instructions.known().is_none() && !why.is_empty(), (&seen, why)),
    }
}

fn nothing_is_counted_unless_asked_for() -> Result<(), Failed> {
    // Nor is such a run held to anything: an emulator may do that.
    let spec = RunSpec { count_instructions: false, ..held_to(Some(1)) };
    let seen = run(Events::TaskClock, spec.clone(), ["burn", "50"])?;
    ensure(seen.status(&spec.limits) == Status::Ok && unknown(&seen).contains("not counted"), &seen)?;
    ensure(why(&seen.cycles).contains("not asked for"), &seen)
}

fn each_counter_counts_without_the_other() -> Result<(), Failed> {
    const ENOENT: i32 = 2;
    let both =
        || Counted { instructions: Events::TaskClock, cycles: Events::TaskClock, ..Counted::default() };
    // The two clocks of the kernel differ by microseconds.
    let counted = |reading: &Reading<u64>| reading.known() >= Some(&(49 * MS));
    let seen = run_counted(both(), held_to(None), ["tree", "50"])?;
    ensure(counted(&seen.instructions) && counted(&seen.cycles), &seen)?;
    // The same clock, of the same tree.
    let [one, other] = [&seen.instructions, &seen.cycles].map(|reading| *reading.known().unwrap_or(&0));
    ensure(one.abs_diff(other) < one / 100, &seen)?;
    for refused in [Events::Refused(ENOENT), script(&[[900, 1000 * MS, 300 * MS]])] {
        let seen = run_counted(
            Counted { cycles: refused.clone(), ..both() },
            held_to(Some(10_000 * MS)),
            ["burn", "50"],
        )?;
        ensure(counted(&seen.instructions) && !why(&seen.cycles).is_empty(), &seen)?;
        let seen = run_counted(Counted { instructions: refused, ..both() }, held_to(None), ["burn", "50"])?;
        ensure(counted(&seen.cycles) && !unknown(&seen).is_empty(), &seen)?;
    }
    Ok(())
}

fn cycles_are_those_of_the_clock() -> Result<(), Failed> {
    let seen = run_counted(Counted::default(), held_to(None), ["burn", "300"])?;
    match (sandbox::cycle_counter(), &seen.cycles) {
        // No processor's clock is below 0.1 or above 10 GHz; the time of the kernel is in neither.
        (Ok(()), Reading::Known(cycles)) => {
            ensure((seen.time.user.0 / 10..10 * seen.time.user.0).contains(cycles), &seen)
        }
        (Err(why), Reading::Unknown(_)) if !why.is_empty() => Ok(()),
        (tried, _) => ensure(false, (tried, &seen)),
    }
}
