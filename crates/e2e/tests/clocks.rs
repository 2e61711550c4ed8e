//! Clocks that count: the same count whatever else the machine does, and an end at the limit.

use e2e::leftovers::Snapshot;
use e2e::stage::{self, Pass, Stage, Workspace};
use e2e::tauto;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Duration;
use xtask::vm::{self, Cgroups, Shape, Vm};

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
    if (!strcmp(what, "file")) {
        /* Beyond what 32 bits can address. */
        FILE *file = fopen("large", "w+");
        if (!file || fseeko(file, 5000000000, SEEK_SET) || fputs("end", file) < 0 || fflush(file)) return 1;
        return fseeko(file, 0, SEEK_END) || ftello(file) != 5000000003 ? 1 : 0;
    }
    if (!strcmp(what, "exec")) { execl(argv[0], argv[0], "work", (char *)0); return 1; }
    if (!strcmp(what, "search")) { execlp("no-such-program", "x", (char *)0); return 0; }
    return 0;
}
"#;

/// A body as everybody, alone, with the program.
fn for_everybody(body: impl Fn(&Workspace<'_>, &str)) {
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
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

/// Clocks, and a second of each.
const CLOCKS: [&str; 2] = ["instructions", "reference"];

fn run(place: &Workspace<'_>, clock: &str, options: &[&str], command: &[&str]) -> Value {
    let mut tauto = place.tauto();
    tauto
        .args(["run", "--json", "--counter", "emulator", "--memory", "256M", "--clock", clock])
        .args(options)
        .arg("--")
        .args(command);
    let ended = tauto::run(&mut tauto, false, PATIENCE).expect("run");
    assert_eq!(ended.code().expect("code"), 0, "{}{}", ended.stdout, ended.stderr);
    ended.document().expect("document")
}

/// What the clock counted: instructions, or nanoseconds of the reference machine.
fn count(run: &Value) -> u64 {
    let by = if run["reference_ns"].is_u64() { "reference_ns" } else { "instructions" };
    run[by].as_u64().unwrap_or_else(|| panic!("{run:#}"))
}

#[test]
fn counts_are_equal_to_the_last_digit_idle_and_loaded() {
    for_everybody(|place, program| {
        let python = ["/usr/bin/python3", "-c", "print(sum(i * i for i in range(20000)))"];
        let seed = ["--env", "PYTHONHASHSEED=0"];
        let of = |clock| {
            [count(&run(place, clock, &[], &[program, "work"])), count(&run(place, clock, &seed, &python))]
        };
        let once = || CLOCKS.map(of);
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
        assert!(idle[0][0] > 18_000_000, "{idle:?}");
        // Six cycles of latency for each round, of which one takes a quarter of a nanosecond.
        assert!((4_500_000..6_000_000).contains(&idle[1][0]), "{idle:?}");
    });
}

#[test]
fn the_whole_tree_is_counted() {
    for_everybody(|place, program| {
        for clock in CLOCKS {
            let of = |what: &str| count(&run(place, clock, &[], &[program, what]));
            let (nothing, work) = (of("nothing"), of("work"));
            let rounds = work - nothing;
            for (what, part) in [("threads", 4.0 / 3.0), ("forks", 1.0), ("exec", 1.0)] {
                let more = (of(what) - nothing) as f64 / rounds as f64;
                // Processes and threads cost something too.
                let spare = if clock == "reference" { 0.4 } else { 0.2 };
                assert!((part - 0.01..part + spare).contains(&more), "{clock} {what}: {more} of the work");
            }
            assert_eq!(of("forks"), of("forks"));
        }
        // Through a shell that searches for it, and a pipe.
        let seed = ["--env", "PYTHONHASHSEED=0"];
        let python = "print(sum(range(200000)))";
        let alone = count(&run(place, "instructions", &seed, &["/usr/bin/python3", "-c", python])) as f64;
        let script = format!("python3 -c '{python}' | cat; python3 -c '{python}'");
        let twice = count(&run(place, "instructions", &seed, &["/bin/sh", "-c", &script])) as f64;
        assert!((2.0..2.1).contains(&(twice / alone)), "{twice} {alone}");
    });
}

#[test]
fn the_run_ends_at_the_limit() {
    for_everybody(|place, program| {
        let before = Snapshot::take();
        for (clock, what) in CLOCKS
            .iter()
            .flat_map(|clock| ["forever", "threads-forever", "forks-forever"].map(|what| (clock, what)))
        {
            let run = run(place, clock, &["--cpu-time", "0.05"], &[program, what]);
            assert_eq!(run["status"], "cpu_time_limit", "{clock} {what}: {run:#}");
            assert!((50_000_000..=50_050_000).contains(&count(&run)), "{clock} {what}: {}", count(&run));
        }
        before.wait_until_clean(GONE_WITHIN, Vec::new).expect("nothing is left");
        assert_eq!(run(place, "reference", &["--cpu-time", "0.2"], &[program, "work"])["status"], "ok");
    });
}

#[test]
fn programs_do_what_they_do_elsewhere() {
    for_everybody(|place, program| {
        for clock in CLOCKS {
            for what in ["signal", "avx2", "rewrite", "search", "file"] {
                let run = run(place, clock, &[], &[program, what]);
                assert_eq!((&run["status"], &run["exit_code"]), (&"ok".into(), &0.into()), "{what}: {run:#}");
            }
            let crash = run(place, clock, &[], &[program, "crash"]);
            assert_eq!((&crash["status"], &crash["signal"]), (&"signalled".into(), &11.into()), "{crash:#}");
            assert!(crash["counted_by"].as_str().is_some_and(|by| by.contains("qemu")), "{crash:#}");
        }
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

/// A sieve that takes about 30 ms.
const SIEVE: &str = "#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\n    int n = 6000000;\n    char *a = calloc(n, 1);\n    for (long i = 2; i * i < n; i++)\n        if (!a[i]) for (long j = i * i; j < n; j += i) a[j] = 1;\n    long c = 0;\n    for (int i = 2; i < n; i++) c += !a[i];\n    printf(\"%ld\\n\", c);\n}\n";

#[test]
fn judgements_are_alike_whatever_the_limit() {
    for_everybody(|place, _| {
        let package = place.path("sieve");
        let head = "problem_format_version: 2025-09\nname: Sieve\nuuid: 1f0c8a52-44e6-4e5f-8f53-1f3c9d6a7b22\n\
                    license: cc0\nlimits:\n  time_limit: 2\n";
        let tests = ["01", "02", "03"]
            .map(|n| [(format!("data/secret/{n}.in"), "\n"), (format!("data/secret/{n}.ans"), "412849\n")]);
        let files: Vec<(&str, &str)> = [
            ("problem.yaml", head),
            ("statement/problem.en.md", "Sieve.\n"),
            ("tauto.toml", "clock = \"reference\"\n"),
        ]
        .into_iter()
        .chain(tests.iter().flatten().map(|(name, text)| (name.as_str(), *text)))
        .collect();
        e2e::package::write(&package, &files).expect("package");
        let source = place.path("sieve.c");
        std::fs::write(&source, SIEVE).expect("source");
        let judge = |options: &[&str]| {
            let mut tauto = place.tauto();
            tauto
                .arg("judge")
                .arg(&package)
                .arg(&source)
                .args(["--all-tests", "--json", "--slot", "none"])
                .args(options);
            let ended = tauto::run(&mut tauto, false, PATIENCE).expect("judge");
            ended.document().unwrap_or_else(|e| panic!("{e}: {}{}", ended.stdout, ended.stderr))
        };
        let times = |judged: &Value| -> Vec<u64> {
            judged["tests"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|test| test["cpu_ns"].as_u64())
                .collect()
        };
        // The package's own clock, and another that is asked for.
        for (clock, options) in [("reference", vec![]), ("instructions", vec!["--clock", "instructions"])] {
            let judged = judge(&options);
            assert_eq!((&judged["verdict"], &judged["clock"]), (&"AC".into(), &clock.into()), "{judged:#}");
            let all = times(&judged);
            assert!(all.len() == 3 && all.iter().all(|time| *time == all[0]), "{clock}: {all:?}");
            assert_eq!(judged["tests"][0]["settled"]["runs"], 1);
            // A limit of just that holds; a nanosecond less does not.
            for (limit, verdict) in [(all[0], "AC"), (all[0] - 1, "TLE")] {
                let limit = format!("{}.{:09}", limit / 1_000_000_000, limit % 1_000_000_000);
                let judged = judge(&[&options[..], &["--cpu-time", &limit]].concat());
                assert_eq!(judged["verdict"], verdict, "{clock} {limit}: {judged:#}");
            }
        }
    });
}

#[test]
fn benches_are_by_the_clock() {
    for_everybody(|place, program| {
        for (clock, key) in [("instructions", "min"), ("reference", "min_ns")] {
            let mut tauto = place.tauto();
            tauto.args([
                "bench", "--json", "-n", "3", "--slot", "none", "--clock", clock, "--", program, "work",
            ]);
            let ended = tauto::run(&mut tauto, false, PATIENCE).expect("bench");
            let bench = ended.document().unwrap_or_else(|e| panic!("{e}: {}", ended.stderr));
            assert!(bench[clock][key].as_u64().is_some_and(|least| least > 1_000_000), "{bench:#}");
            assert_eq!(bench[clock][key.replace("min", "spread")], 0, "{bench:#}");
            assert!(bench["cpu"].is_null() && bench["counted_by"].is_string(), "{bench:#}");
        }
    });
}

#[test]
fn a_virtual_server_counts_the_same() {
    if let Some(lacks) = vm::lacks() {
        assert!(std::env::var_os("CI").is_none(), "{lacks}");
        return;
    }
    let _machine = stage::machine(&e2e::scratch!()).expect("lock");
    let stage = Stage::new(Pass::Root).expect("stage");
    let place = stage.place("server").expect("place");
    let (source, program) = (place.path("program.c"), place.path("program"));
    std::fs::write(&source, PROGRAM).expect("source");
    // The server has no libraries but those of tauto.
    let built =
        Command::new("gcc").args(["-O1", "-static", "-pthread", "-o"]).arg(&program).arg(&source).status();
    assert!(built.expect("gcc").success());
    let name = program.to_str().expect("UTF-8");
    let here = CLOCKS.map(|clock| count(&run(&place, clock, &[], &[name, "work"])));
    let script = "mkdir -p /usr/bin && cp /vm/qemu-x86_64 /usr/bin && for clock in instructions reference; do \
                  tauto run --json --counter emulator --memory 256M --clock $clock --stdout /run/out -- /vm/program work; done";
    let mut output = Vec::new();
    let server = Vm {
        tauto: tauto::binary().expect("tauto"),
        files: vec!["/usr/bin/qemu-x86_64".into(), program.clone()],
        cgroups: Cgroups::V2,
        shape: Shape::default(),
        disk: 0,
        append: String::new(),
        command: ["sh", "-c", script].map(String::from).to_vec(),
        patience: PATIENCE,
    };
    let code = vm::boot(&server, &mut output);
    let output = String::from_utf8_lossy(&output);
    assert_eq!(code, Ok(0), "{output}");
    let documents = serde_json::Deserializer::from_str(&output).into_iter::<Value>();
    let there: Vec<u64> =
        documents.map(|run| count(&run.unwrap_or_else(|e| panic!("{e}: {output}")))).collect();
    assert_eq!(there, here);
}
