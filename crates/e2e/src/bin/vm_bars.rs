//! `make vm-bench`: what a slot costs that is a virtual machine, each figure beside the same in the sandbox of this host, in one block. On hosts with
//! KVM it shows the figures of KVM. `vm_bars [ROUNDS [PART]]`; with a part, only figures whose name holds it.

#![allow(clippy::print_stdout)]

use e2e::{child, machine, package, tauto};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 3;
/// For one command.
const PATIENCE: Duration = Duration::from_secs(900);
/// Numbers of tests, and of submissions, whose difference shows what each costs.
const MORE: [usize; 2] = [1, 21];
const QUEUE: [usize; 2] = [1, 5];
/// Runs of the loop in a block.
const RUNS: &str = "10";
const INSIDE: [&str; 4] = ["--isolation", "vm", "--vm-memory", "3G"];
const LOOP: &str = "#include <stdio.h>\nint main(void) { unsigned long x = 88172645463325252ul; for (int i = 0; i < 50000000; i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; } printf(\"%lu\\n\", x); return 0; }\n";
const TOUCH: &str = "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\nint main(void) { size_t n = 256ul << 20; char *p = malloc(n); if (!p) return 1; memset(p, 1, n); sleep(5); return p[n / 2] - 1; }\n";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("vm-bench: {error}");
            ExitCode::from(3)
        }
    }
}

struct Bench {
    kernel: PathBuf,
    directory: tempfile::TempDir,
}

/// The same inside and outside.
type Both = [f64; 2];

fn run() -> Result<(), String> {
    let rounds = std::env::args()
        .nth(1)
        .map_or(Ok(ROUNDS), |word| word.parse())
        .map_err(|e| format!("ROUNDS: {e}"))?;
    let part = std::env::args().nth(2).unwrap_or_default();
    let directory = tempfile::tempdir().map_err(|e| e.to_string())?;
    let bench = Bench { kernel: machine::kernel()?, directory };
    let data = bench.path("data");
    fs::create_dir_all(&data).map_err(|e| e.to_string())?;
    let settings = format!("isolation = \"vm\"\n[vm]\nkernel = {:?}\n", bench.kernel.display().to_string());
    fs::write(data.join("config.toml"), settings).map_err(|e| e.to_string())?;
    for (name, text) in [("loop", LOOP), ("touch", TOUCH)] {
        bench.compile(name, text)?;
    }
    println!("| figure, median (least to most) of {rounds} | machine ({}) | sandbox |", bench.accelerator()?);
    println!("|---|---|---|");
    for (name, unit, figure) in FIGURES.iter().filter(|(name, _, _)| name.contains(&part)) {
        let mut all: [Vec<f64>; 2] = Default::default();
        for _ in 0..rounds {
            for (values, value) in all.iter_mut().zip(figure(&bench)?) {
                values.push(value);
            }
        }
        let [inside, outside] = all.map(|values| summary(values, unit));
        println!("| {name} | {inside} | {outside} |");
    }
    Ok(())
}

/// Name, unit, and how it is measured.
type Figure = (&'static str, &'static str, fn(&Bench) -> Result<Both, String>);

const FIGURES: [Figure; 8] = [
    ("from the order to a machine that is ready", "s", |bench| Ok([bench.boot()?, f64::NAN])),
    ("`tauto run -- /bin/true`, machine included", "s", |bench| bench.both(|words| bench.command(words))),
    ("each further submission of `tauto verify`", "s", |bench| bench.both(|words| bench.submission(words))),
    ("each further test of a submission", "ms", |bench| bench.both(|words| bench.test(words))),
    ("CPU time of a loop, median of 10 runs", "ms", |bench| {
        bench.both(|words| bench.spread(words, "median_ns").map(|ns| ns / 1e6))
    }),
    ("spread of the CPU time of a loop, 10 runs", "%", |bench| {
        bench.both(|words| bench.spread(words, "spread_pct"))
    }),
    ("memory of the slot, a program that sleeps", "MiB", |bench| {
        Ok([bench.memory("/bin/sleep", &["5"])?, f64::NAN])
    }),
    ("memory of the slot, a program that touches 256 MiB", "MiB", |bench| {
        Ok([bench.memory(&bench.path("touch").display().to_string(), &[])?, f64::NAN])
    }),
];

fn summary(mut values: Vec<f64>, unit: &str) -> String {
    values.retain(|value| !value.is_nan());
    values.sort_by(f64::total_cmp);
    match (values.first(), stats::median(&values), values.last()) {
        (Some(least), Some(median), Some(most)) => format!("{median:.1} {unit} ({least:.1} to {most:.1})"),
        _ => "–".into(),
    }
}

impl Bench {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn compile(&self, name: &str, text: &str) -> Result<(), String> {
        let source = self.path(&format!("{name}.c"));
        fs::write(&source, text).map_err(|e| e.to_string())?;
        let mut gcc = child::command("gcc");
        let done = gcc.args(["-O1", "-static", "-o"]).arg(self.path(name)).arg(source).status();
        if done.is_ok_and(|status| status.success()) { Ok(()) } else { Err(format!("gcc: {name}.c")) }
    }

    fn tauto(&self, words: &[&str]) -> Result<Command, String> {
        let mut command = child::command(tauto::binary()?);
        command.env("TAUTO_DATA_DIR", self.path("data")).env("TAUTO_CONFIG", self.path("data/config.toml"));
        command.env(machine::KERNEL, &self.kernel).args(words);
        Ok(command)
    }

    fn document(&self, words: &[&str]) -> Result<(Value, f64), String> {
        let begun = Instant::now();
        let ended = tauto::run(&mut self.tauto(words)?, false, PATIENCE)?;
        let elapsed = begun.elapsed().as_secs_f64();
        let document = ended.document().map_err(|why| format!("{words:?}: {why}"))?;
        Ok((document, elapsed))
    }

    /// What is measured with these options: inside, then outside.
    fn both(&self, figure: impl Fn(&[&str]) -> Result<f64, String>) -> Result<Both, String> {
        Ok([figure(&INSIDE)?, figure(&["--isolation", "sandbox"])?])
    }

    fn accelerator(&self) -> Result<String, String> {
        let (run, _) = self.document(&[&["run", "--json"], &INSIDE[..], &["--", "/bin/true"]].concat())?;
        let accelerator = run["evidence"]["machine"]["accelerator"].as_str();
        accelerator.map(str::to_string).ok_or_else(|| format!("no machine: {run:#}"))
    }

    /// Seconds, as `tauto doctor` says.
    fn boot(&self) -> Result<f64, String> {
        let (doctor, _) = self.document(&["doctor", "--json"])?;
        let found = doctor["checks"].as_array().into_iter().flatten().find(|check| check["id"] == "vm");
        let text = found.and_then(|check| check["found"].as_str()).unwrap_or_default();
        let after = text.split("after ").nth(1).and_then(|rest| rest.split(' ').next());
        after.and_then(|seconds| seconds.parse().ok()).ok_or_else(|| format!("doctor: {doctor:#}"))
    }

    fn command(&self, words: &[&str]) -> Result<f64, String> {
        let (run, elapsed) = self.document(&[&["run", "--json"], words, &["--", "/bin/true"]].concat())?;
        if run["status"] == "ok" { Ok(elapsed) } else { Err(format!("{run:#}")) }
    }

    /// Writes a package with this number of tests and of submissions, and returns its path.
    fn package(&self, tests: usize, submissions: usize) -> Result<String, String> {
        let directory = self.path(&format!("double-{tests}-{submissions}"));
        let kept = package::DOUBLE.iter().filter(|(name, _)| !name.starts_with("data/secret"));
        let kept =
            kept.map(|(name, text)| (name.to_string(), text.replace("time_limit: 0.5", "time_limit: 30")));
        let mut files: Vec<(String, String)> =
            kept.filter(|(name, _)| !name.starts_with("submissions/")).collect();
        for test in 1..tests {
            files.push((format!("data/secret/{test}.in"), format!("{test}\n")));
            files.push((format!("data/secret/{test}.ans"), format!("{}\n", 2 * test)));
        }
        for number in 0..submissions {
            let text = format!("print(2 * int(input()))  # {number}\n");
            files.push((format!("submissions/accepted/right{number}.py"), text));
        }
        let files: Vec<(&str, &str)> =
            files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        package::write(&directory, &files)?;
        Ok(directory.display().to_string())
    }

    /// Seconds that each further test or submission takes: all else is the same.
    fn each(counts: [usize; 2], elapsed: impl Fn(usize) -> Result<f64, String>) -> Result<f64, String> {
        let [few, many] = counts;
        Ok((elapsed(many)? - elapsed(few)?) / (many - few) as f64)
    }

    fn submission(&self, words: &[&str]) -> Result<f64, String> {
        Bench::each(QUEUE, |count| {
            let package = self.package(1, count)?;
            let asked =
                [&["verify", "--json", "--slot", "none", "--second-opinion", "never"], words, &[&package]];
            let (verified, elapsed) = self.document(&asked.concat())?;
            if verified["mismatches"] == 0 { Ok(elapsed) } else { Err(format!("{verified:#}")) }
        })
    }

    /// Milliseconds.
    fn test(&self, words: &[&str]) -> Result<f64, String> {
        let each = Bench::each(MORE, |count| {
            let package = self.package(count, 1)?;
            let submission = format!("{package}/submissions/accepted/right0.py");
            let asked = [
                &["judge", "--json", "--slot", "none", "--second-opinion", "never"],
                words,
                &[&package, &submission],
            ];
            let (judged, elapsed) = self.document(&asked.concat())?;
            if judged["verdict"] == "AC" { Ok(elapsed) } else { Err(format!("{judged:#}")) }
        });
        each.map(|seconds| 1e3 * seconds)
    }

    /// A figure of the CPU time of ten runs.
    fn spread(&self, words: &[&str], figure: &str) -> Result<f64, String> {
        let program = self.path("loop").display().to_string();
        let asked = [&["bench", "--json", "-n", RUNS, "--cpu-time", "60"], words, &["--", &program]];
        let (bench, _) = self.document(&asked.concat())?;
        bench["cpu"][figure].as_f64().ok_or_else(|| format!("{bench:#}"))
    }

    /// MiB that the emulator has resident at most while this program runs.
    fn memory(&self, program: &str, arguments: &[&str]) -> Result<f64, String> {
        let mut words = vec!["run", "--json", "--cpu-time", "60", "--wall-time", "60", "--memory", "1G"];
        words.extend(INSIDE);
        words.extend(["--", program]);
        words.extend(arguments);
        let mut command = self.tauto(&words)?;
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
        let (mut most, begun) = (0.0_f64, Instant::now());
        while child.try_wait().map_err(|e| e.to_string())?.is_none() {
            most = most.max(resident());
            if begun.elapsed() > PATIENCE {
                return Err("the program does not end".into());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let ended = child.wait_with_output().map_err(|e| e.to_string())?;
        let run: Value = serde_json::from_slice(&ended.stdout).map_err(|e| e.to_string())?;
        if run["status"] == "ok" { Ok(most) } else { Err(format!("{run:#}")) }
    }
}

/// MiB of the emulators that run, at their peak.
fn resident() -> f64 {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let peak = |process: &Path| {
        let words = fs::read(process.join("cmdline")).ok()?;
        if !String::from_utf8_lossy(&words).contains("tauto,debug-threads=on") {
            return None;
        }
        let status = fs::read_to_string(process.join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.split_whitespace().next()?.parse::<f64>().ok()
    };
    entries.filter_map(|process| peak(&process)).fold(0.0, f64::max) / 1024.0
}
