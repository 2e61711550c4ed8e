//! `make verdicts`: forty judgements each of one program with limits near and off its time, idle and loaded, beside single
//! unmanaged runs in the same block: the figures of docs/benchmarks.md on consistency. Arguments choose among programs (`sieve`, `loop`),
//! limits in percent over the median (`0 -2`) and states (`idle`, `loaded`).

#![allow(clippy::print_stdout)]

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, Stdio};
use std::time::Duration;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Judgements of each limit: so many blocks of so many tests, single runs between the blocks.
const BLOCKS: usize = 8;
const TESTS: usize = 5;
/// Blocks of which the median is taken.
const FIRST: usize = 4;
/// Limits over the median, in percent.
const LIMITS: [f64; 4] = [0.0, 2.0, 5.0, 20.0];

/// A sieve over 80 MB.
const SIEVE: &str = "#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\n    int n = 20000000, *a = malloc(4L * n);\n    for (int i = 0; i < n; i++) a[i] = 1;\n    for (long i = 2; i * i < n; i++)\n        if (a[i]) for (long j = i * i; j < n; j += i) a[j] = 0;\n    long c = 0;\n    for (int i = 2; i < n; i++) c += a[i];\n    printf(\"%ld\\n\", c);\n}\n";
/// A loop that touches no memory.
const LOOP: &str = "#include <stdio.h>\nint main(void) {\n    unsigned long x = 88172645463325252ul;\n    for (long i = 0; i < 75000000; i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; }\n    printf(\"%lu\\n\", x);\n}\n";

fn main() -> ExitCode {
    match verdicts() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            println!("verdicts: {e}");
            ExitCode::from(3)
        }
    }
}

/// What is asked for; all where nothing is.
struct Asked {
    words: Vec<String>,
    limits: Vec<f64>,
}

impl Asked {
    fn read() -> Asked {
        let (mut words, mut limits) = (Vec::new(), Vec::new());
        for word in std::env::args().skip(1) {
            match word.parse() {
                Ok(limit) => limits.push(limit),
                Err(_) => words.push(word),
            }
        }
        Asked { words, limits: if limits.is_empty() { LIMITS.to_vec() } else { limits } }
    }

    /// Whether this is to be done: none of its kind is named, or it is.
    fn wants(&self, word: &str, kind: [&str; 2]) -> bool {
        let named = |name: &&str| self.words.iter().any(|word| word == name);
        named(&word) || !kind.iter().any(named)
    }
}

fn verdicts() -> Outcome<()> {
    let asked = Asked::read();
    let bench = Bench::new()?;
    bench.tauto(&["slots", "--measure"])?;
    let programs = [("sieve", "sieve over 80 MB", SIEVE), ("loop", "compute-bound loop", LOOP)];
    for (_, name, source) in programs.iter().filter(|(word, ..)| asked.wants(word, ["sieve", "loop"])) {
        let program = bench.program(name, source)?;
        for loaded in [false, true] {
            if !asked.wants(if loaded { "loaded" } else { "idle" }, ["idle", "loaded"]) {
                continue;
            }
            let load = if loaded { Some(bench.load()?) } else { None };
            let result = bench.program_in(name, &program, loaded, &asked.limits);
            if let Some(mut load) = load {
                load.kill()?;
                load.wait()?;
            }
            result?;
        }
    }
    Ok(())
}

/// A program built once, and a package of which every test is one judgement of it.
struct Program {
    binary: PathBuf,
    source: PathBuf,
    package: PathBuf,
}

struct Bench {
    tauto: PathBuf,
    scratch: tempfile::TempDir,
}

impl Bench {
    fn new() -> Outcome<Bench> {
        let tauto = e2e::tauto::binary()?;
        Ok(Bench { tauto, scratch: tempfile::tempdir()? })
    }

    fn tauto(&self, arguments: &[&str]) -> Outcome<Value> {
        let mut command = e2e::child::command(&self.tauto);
        command.env("TAUTO_DATA_DIR", self.scratch.path().join("data")).args(arguments).stderr(Stdio::null());
        let output = command.output()?;
        Ok(serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
    }

    fn load(&self) -> Outcome<Child> {
        // In a session of its own, as any neighbour is.
        let mut command = e2e::child::command("setsid");
        command
            .arg(&self.tauto)
            .args(["load", "--kind", "cpu", "--seconds", "3600"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn()?;
        std::thread::sleep(Duration::from_millis(300));
        Ok(child)
    }

    fn program(&self, name: &str, source: &str) -> Outcome<Program> {
        let package = self.scratch.path().join(name.replace(' ', "-"));
        let data = package.join("data/secret");
        fs::create_dir_all(&data)?;
        fs::create_dir_all(package.join("submissions/accepted"))?;
        let (file, binary) = (package.join("submissions/accepted/program.c"), package.join("program"));
        fs::write(&file, source)?;
        let built =
            e2e::child::command("gcc").args(["-O2", "-static", "-o"]).arg(&binary).arg(&file).status()?;
        if !built.success() {
            return Err("gcc failed".into());
        }
        let answer = e2e::child::command(&binary).output()?.stdout;
        for test in 0..TESTS {
            fs::write(data.join(format!("{test}.in")), "")?;
            fs::write(data.join(format!("{test}.ans")), &answer)?;
        }
        let yaml = "problem_format_version: 2025-09\nname: One program\nuuid: 7a4a26a5-6e4f-4f39-8a2e-0d6c2f7c4a11\nlimits:\n  time_limit: 10\n";
        fs::write(package.join("problem.yaml"), yaml)?;
        Ok(Program { binary, source: file, package })
    }

    /// Judgements by several limits, which are set by the median of what is judged: single runs in the sandbox, far below
    /// any limit. Plain processes are slower or faster by some percent.
    fn program_in(&self, name: &str, program: &Program, loaded: bool, limits: &[f64]) -> Outcome<()> {
        let mut first = Vec::new();
        for _ in 0..FIRST {
            let judged = self.judge(program, "10")?;
            let tests = judged["tests"].as_array().into_iter().flatten();
            first.extend(tests.filter_map(|test| test["cpu_ns"].as_f64()));
        }
        let median = stats::median(&first).ok_or("no runs")?;
        let state = if loaded { "every core loaded" } else { "idle" };
        println!("{name}, {state}: median {:.1} ms of {} single runs", median / 1e6, first.len());
        for over in limits {
            let (mut single, mut settled) = (Vec::new(), Vec::new());
            let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
            let mut runs = 0;
            for _ in 0..BLOCKS {
                let limit = format!("{:.6}", median * (1.0 + over / 100.0) / 1e9);
                let judged = self.judge(program, &limit)?;
                for test in judged["tests"].as_array().into_iter().flatten() {
                    settled.push(test["cpu_ns"].as_f64().ok_or("no time")?);
                    let how = test["settled"]["confidence"].as_str().unwrap_or("none");
                    let how =
                        if how == "open" || how == "confirmed" { format!(" {how}") } else { String::new() };
                    *verdicts
                        .entry(format!("{}{how}", test["verdict"].as_str().unwrap_or("none")))
                        .or_default() += 1;
                    runs += test["settled"]["runs"].as_u64().unwrap_or(0);
                }
                for _ in 0..TESTS {
                    single.push(plain(&program.binary)?);
                }
            }
            let spread = |times: &[f64]| stats::Summary::from_sample(times).map_or(0.0, |s| s.spread_pct);
            let firm = verdicts.keys().filter(|verdict| !verdict.ends_with("open"));
            let firm: BTreeSet<&str> = firm.filter_map(|verdict| verdict.split(' ').next()).collect();
            println!(
                "  limit {over:>2} % above: {verdicts:?}, {:.2} runs each; spread {:.1} % settled, {:.1} % single{}",
                runs as f64 / settled.len().max(1) as f64,
                spread(&settled),
                spread(&single),
                if firm.len() > 1 { "; FLIPPED" } else { "" }
            );
        }
        Ok(())
    }

    fn judge(&self, program: &Program, limit: &str) -> Outcome<Value> {
        let (package, source) = (program.package.display().to_string(), program.source.display().to_string());
        self.tauto(&["judge", &package, &source, "--all-tests", "--json", "--cpu-time", limit])
    }
}

/// CPU time of a plain process, in nanoseconds, from its own children's account.
fn plain(binary: &Path) -> Outcome<f64> {
    let script = "import resource,subprocess,sys\nsubprocess.run([sys.argv[1]],stdout=subprocess.DEVNULL)\nr=resource.getrusage(resource.RUSAGE_CHILDREN)\nprint(r.ru_utime+r.ru_stime)";
    let output = e2e::child::command("python3").args(["-c", script]).arg(binary).output()?;
    let seconds: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
    Ok(seconds * 1e9)
}
