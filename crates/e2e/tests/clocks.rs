//! The instruction clock: the same count whatever else the machine does, and an end at the limit.

use e2e::leftovers::Snapshot;
use e2e::stage::{self, Pass, Place, Stage};
use e2e::tauto;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(120);
const GONE_WITHIN: Duration = Duration::from_secs(10);

/// What a program does is chosen by its first argument.
const PROGRAM: &str = r#"
#include <immintrin.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile sig_atomic_t seen;
static void handler(int signal) { seen = signal; }
static unsigned long work(unsigned long rounds) {
    unsigned long x = 88172645463325252ul;
    while (rounds--) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; }
    return x;
}
static volatile unsigned long sink;
static void *forever(void *unused) { for (;;) sink = work(1000); return unused; }
static void *some(void *unused) { sink = work(1000000); return unused; }
__attribute__((target("avx2"))) static int sum(void) {
    __m256i x = _mm256_set1_epi32(5), y = _mm256_add_epi32(x, x);
    return _mm256_extract_epi32(y, 7);
}
int main(int argc, char **argv) {
    const char *what = argv[1];
    if (!strcmp(what, "work")) printf("%lu\n", work(3000000));
    if (!strcmp(what, "forever")) forever(0);
    if (!strcmp(what, "threads") || !strcmp(what, "threads-forever")) {
        pthread_t t[4];
        for (int i = 0; i < 4; i++) if (pthread_create(&t[i], 0, what[7] ? forever : some, 0)) return 2;
        for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    }
    if (!strcmp(what, "forks"))
        for (int i = 0; i < 3; i++) if (!fork()) { sink = work(1000000); _exit(0); }
    if (!strcmp(what, "forks-forever")) { fork(); fork(); forever(0); }
    while (wait(0) > 0) {}
    if (!strcmp(what, "signal")) { signal(SIGUSR1, handler); raise(SIGUSR1); return seen == SIGUSR1 ? 0 : 1; }
    if (!strcmp(what, "crash")) *(volatile int *)8 = 1;
    if (!strcmp(what, "avx2")) return __builtin_cpu_supports("avx2") && sum() == 10 ? 0 : 1;
    if (!strcmp(what, "rewrite")) {
        unsigned char code[] = {0xb8, 1, 0, 0, 0, 0xc3};
        unsigned char *at = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int sum = 0;
        for (int i = 1; i <= 3; i++) { code[1] = i; memcpy(at, code, sizeof code); sum += ((int (*)(void))at)(); }
        return sum == 6 ? 0 : 1;
    }
    if (!strcmp(what, "exec")) { execl(argv[0], argv[0], "work", (char *)0); return 1; }
    if (!strcmp(what, "search")) { execlp("no-such-program", "x", (char *)0); return 0; }
    return 0;
}
"#;

fn scratch() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile")
}

/// A body as everybody, alone, with the program.
fn for_everybody(body: impl Fn(&Place<'_>, &str)) {
    let _alone = stage::alone(&scratch()).expect("lock");
    for pass in Pass::possible() {
        let stage = Stage::new(pass).expect("stage");
        let place = stage.place("clocks").expect("place");
        let (source, program) = (place.path("program.c"), place.path("program"));
        std::fs::write(&source, PROGRAM).expect("source");
        let built = Command::new("gcc").args(["-O1", "-pthread", "-o"]).arg(&program).arg(&source).status();
        assert!(built.expect("gcc").success());
        body(&place, program.to_str().expect("UTF-8"));
    }
}

fn run(place: &Place<'_>, options: &[&str], command: &[&str]) -> Value {
    let mut tauto = place.tauto();
    tauto
        .args(["run", "--json", "--clock", "instructions", "--memory", "256M"])
        .args(options)
        .arg("--")
        .args(command);
    let ended = tauto::run(&mut tauto, false, PATIENCE).expect("run");
    assert_eq!(ended.code().expect("code"), 0, "{}{}", ended.stdout, ended.stderr);
    ended.document().expect("document")
}

fn count(run: &Value) -> u64 {
    run["instructions"].as_u64().unwrap_or_else(|| panic!("{run:#}"))
}

#[test]
fn counts_are_equal_to_the_last_digit_idle_and_loaded() {
    for_everybody(|place, program| {
        let python = ["/usr/bin/python3", "-c", "print(sum(i * i for i in range(20000)))"];
        let seed = ["--env", "PYTHONHASHSEED=0"];
        let once = || [count(&run(place, &[], &[program, "work"])), count(&run(place, &seed, &python))];
        let idle = once();
        let mut load = place
            .load()
            .args(["--seconds", "100"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("load");
        std::thread::sleep(Duration::from_millis(200));
        let loaded = [once(), once()];
        let pid = i32::try_from(load.id()).ok().and_then(Pid::from_raw).expect("pid");
        kill_process(pid, Signal::TERM).expect("kill");
        tauto::wait(&mut load, PATIENCE).expect("it ends");
        assert_eq!(loaded, [idle, idle]);
        // Six instructions at least for each round.
        assert!(idle[0] > 18_000_000, "{idle:?}");
    });
}

#[test]
fn the_whole_tree_is_counted() {
    for_everybody(|place, program| {
        let of = |what: &str| count(&run(place, &[], &[program, what]));
        let (nothing, work) = (of("nothing"), of("work"));
        let rounds = work - nothing;
        for (what, part) in [("threads", 4.0 / 3.0), ("forks", 1.0), ("exec", 1.0)] {
            let more = (of(what) - nothing) as f64 / rounds as f64;
            assert!((part - 0.01..part + 0.2).contains(&more), "{what}: {more} of the work");
        }
        assert_eq!(of("forks"), of("forks"));
        // Through a shell that searches for it, and a pipe.
        let seed = ["--env", "PYTHONHASHSEED=0"];
        let python = "print(sum(range(200000)))";
        let alone = count(&run(place, &seed, &["/usr/bin/python3", "-c", python])) as f64;
        let script = format!("python3 -c '{python}' | cat; python3 -c '{python}'");
        let twice = count(&run(place, &seed, &["/bin/sh", "-c", &script])) as f64;
        assert!((2.0..2.1).contains(&(twice / alone)), "{twice} {alone}");
    });
}

#[test]
fn the_run_ends_at_the_limit() {
    for_everybody(|place, program| {
        let before = Snapshot::take();
        for what in ["forever", "threads-forever", "forks-forever"] {
            let run = run(place, &["--cpu-time", "0.2"], &[program, what]);
            assert_eq!(run["status"], "cpu_time_limit", "{what}: {run:#}");
            assert!((200_000_000..=200_200_000).contains(&count(&run)), "{what}: {}", count(&run));
        }
        before.wait_until_clean(GONE_WITHIN, Vec::new).expect("nothing is left");
        assert_eq!(run(place, &["--cpu-time", "0.2"], &[program, "work"])["status"], "ok");
    });
}

#[test]
fn programs_do_what_they_do_elsewhere() {
    for_everybody(|place, program| {
        for what in ["signal", "avx2", "rewrite", "search"] {
            let run = run(place, &[], &[program, what]);
            assert_eq!((&run["status"], &run["exit_code"]), (&"ok".into(), &0.into()), "{what}: {run:#}");
        }
        let crash = run(place, &[], &[program, "crash"]);
        assert_eq!((&crash["status"], &crash["signal"]), (&"signalled".into(), &11.into()), "{crash:#}");
        assert!(crash["emulator"].as_str().is_some_and(|version| version.starts_with("qemu")), "{crash:#}");
    });
}

#[test]
fn what_cannot_be_counted_is_told() {
    for_everybody(|place, _| {
        let script = place.path("script");
        std::fs::write(&script, "#!/bin/sh\n").expect("script");
        let name = script.to_str().expect("UTF-8");
        let mut tauto = place.tauto();
        let ended = tauto::run(tauto.args(["run", "--clock", "instructions", "--", name]), false, PATIENCE)
            .expect("run");
        assert_eq!(ended.code().expect("code"), 2, "{}", ended.stderr);
        assert!(ended.stderr.contains("name the interpreter"), "{}", ended.stderr);
        let mut tauto = place.tauto();
        let clocks = tauto::run(tauto.args(["clocks", "--json"]), false, PATIENCE).expect("clocks");
        let document = clocks.document().expect("document");
        assert!(document["clocks"][1]["by"].is_string(), "{document}");
    });
}
