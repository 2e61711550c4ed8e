//! `make bench`: the figures of docs/benchmarks.md, each against a control in the same interleaved block.

#![allow(clippy::print_stdout)]

use model::{
    Aslr, Bytes, FileMount, Isolation, Layout, Limits, Nanos, Observation, Placement, RunSpec, Slot, Stdio,
    View,
};
use sandbox::{Launcher, LauncherOptions};
use std::error::Error;
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

const SPAWNS: usize = 200;
const REPEATS: usize = 20;

fn main() -> ExitCode {
    if std::env::args_os().next().is_some_and(|name| name == sandbox::ARGV0) {
        return ExitCode::from(sandbox::launcher_main());
    }
    match bars() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            println!("bars: {e}");
            ExitCode::from(3)
        }
    }
}

fn bars() -> Outcome<()> {
    let programs = Programs::build()?;
    let launcher = Launcher::start(&LauncherOptions::default())?;
    println!("machine: {}", machine());
    for (name, program) in [("static no-op", &programs.noop), ("/bin/true", &PathBuf::from("/bin/true"))] {
        spawns(&launcher, name, program)?;
    }
    start_up(&launcher, &programs)?;
    overshoot(&launcher, &programs)?;
    own_clock(&launcher, &programs)?;
    memory(&launcher, &programs)?;
    drop(launcher);
    evidence(&programs)?;
    tiny_tests(&programs)
}

struct Programs {
    dir: PathBuf,
    noop: PathBuf,
    endless: PathBuf,
    own_clock: PathBuf,
    touch: PathBuf,
}

impl Programs {
    fn build() -> Outcome<Programs> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench");
        let dir = std::env::temp_dir().join(format!("tauto-bars-{}", std::process::id()));
        fs::create_dir_all(&dir)?;
        let build = |name: &str| -> Outcome<PathBuf> {
            let to = dir.join(name);
            let from = source.join(format!("{name}.c"));
            let done =
                e2e::child::command("gcc").args(["-O2", "-static", "-o"]).arg(&to).arg(&from).status()?;
            if done.success() { Ok(to) } else { Err(format!("gcc failed on {}", from.display()).into()) }
        };
        Ok(Programs {
            noop: build("noop")?,
            endless: build("endless")?,
            own_clock: build("own_clock")?,
            touch: build("touch")?,
            dir,
        })
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        // A directory left in /tmp is no reason to fail a benchmark.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Runs a program of ours with its output in `out`.
fn run(
    launcher: &Launcher,
    program: &Path,
    args: &[&str],
    limits: Limits,
    out: Option<File>,
) -> Outcome<Observation> {
    run_at(launcher, program, args, limits, out, &Placement::default())
}

fn run_at(
    launcher: &Launcher,
    program: &Path,
    args: &[&str],
    limits: Limits,
    out: Option<File>,
    placement: &Placement,
) -> Outcome<Observation> {
    let ours = !program.starts_with("/bin");
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let at = if ours { format!("/program/{name}") } else { program.to_string_lossy().into_owned() };
    let mut fds: Vec<OwnedFd> = Vec::new();
    let mut files = Vec::new();
    if ours {
        files.push(FileMount { fd: 0, at: at.clone() });
        fds.push(File::open(program)?.into());
    }
    let mut stdio = [Stdio::Null; 3];
    if let Some(out) = out {
        stdio[1] = Stdio::Fd(fds.len() as u8);
        fds.push(out.into());
    }
    let spec = RunSpec {
        tally: None,
        count_instructions: false,
        argv: std::iter::once(at).chain(args.iter().map(|a| a.to_string())).collect(),
        env: vec![],
        view: View::default(),
        boxes: vec![],
        files,
        cwd: "/w".into(),
        links: vec![],
        stdio,
        limits,
        placement: placement.clone(),
        layout: Layout { aslr: Aslr::Off, ..Layout::default() },
    };
    Ok(launcher.run(&spec, fds)?)
}

fn spawns(launcher: &Launcher, name: &str, program: &Path) -> Outcome<()> {
    let (mut plain, mut sandboxed) = (Vec::new(), Vec::new());
    for i in 0..SPAWNS + 20 {
        let begun = Instant::now();
        Command::new(program).env_clear().status()?;
        let between = Instant::now();
        run(launcher, program, &[], limits(None), None)?;
        if i >= 20 {
            plain.push((between - begun).as_secs_f64());
            sandboxed.push(between.elapsed().as_secs_f64());
        }
    }
    let (p, s) = (median(&mut plain), median(&mut sandboxed));
    println!(
        "{name} through a warm launcher ÷ plain posix_spawn, median of {SPAWNS}: {:.2} ({:.3} ms ÷ {:.3} ms; bar 2.0)",
        s / p,
        s * 1e3,
        p * 1e3
    );
    Ok(())
}

/// CPU time of a process from exec to zombie when it is run plainly: the first field of its schedstat.
fn plain_cpu(program: &Path) -> Outcome<f64> {
    let mut child = Command::new(program).env_clear().spawn()?;
    let proc = PathBuf::from(format!("/proc/{}", child.id()));
    loop {
        let stat = fs::read_to_string(proc.join("stat"))?;
        if stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')) {
            break;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    let text = fs::read_to_string(proc.join("schedstat"))?;
    child.wait()?;
    Ok(text.split(' ').next().unwrap_or_default().parse::<f64>()? / 1e6)
}

fn start_up(launcher: &Launcher, programs: &Programs) -> Outcome<()> {
    let (mut plain, mut charged) = (Vec::new(), Vec::new());
    for _ in 0..SPAWNS {
        plain.push(plain_cpu(&programs.noop)?);
        charged.push(run(launcher, &programs.noop, &[], limits(None), None)?.time.cpu.as_millis_f64());
    }
    let (p, c) = (median(&mut plain), median(&mut charged));
    println!(
        "CPU charged to a static no-op beyond its plain cost, median of {SPAWNS}: {:+.3} ms ({c:.3} − {p:.3}; bar 0.1)",
        c - p
    );
    Ok(())
}

fn overshoot(launcher: &Launcher, programs: &Programs) -> Outcome<()> {
    let mut over = Vec::new();
    for _ in 0..REPEATS {
        let o = run(launcher, &programs.endless, &[], limits(Some(Nanos::from_secs(1))), None)?;
        over.push(o.time.cpu.as_millis_f64() - 1000.0);
    }
    let worst = over.iter().copied().fold(f64::MIN, f64::max);
    println!(
        "endless loop, 1 s limit: CPU over the limit when killed, median of {REPEATS}: {:.2} ms (worst {worst:.2}; bar 5)",
        median(&mut over)
    );
    Ok(())
}

fn own_clock(launcher: &Launcher, programs: &Programs) -> Outcome<()> {
    let mut differences = Vec::new();
    for _ in 0..REPEATS {
        let mut out = tempfile()?;
        let o = run(launcher, &programs.own_clock, &[], limits(None), Some(out.try_clone()?))?;
        let mut said = String::new();
        out.rewind()?;
        out.read_to_string(&mut said)?;
        differences.push((o.time.cpu.as_millis_f64() - said.trim().parse::<f64>()? / 1e6).abs());
    }
    println!(
        "reported CPU against the program's own clock, 0.5 s loop, median of {REPEATS}: {:.3} ms (bar 0.5)",
        median(&mut differences)
    );
    Ok(())
}

fn memory(launcher: &Launcher, programs: &Programs) -> Outcome<()> {
    let limits = Limits { memory: Some(Bytes::from_mib(256)), ..limits(Some(Nanos::from_secs(10))) };
    for split in ["1", "20"] {
        let o = run(launcher, &programs.touch, &[split], limits, None)?;
        let peak = o.memory_peak.known().map_or(f64::NAN, |b| b.0 as f64 / 1048576.0);
        println!(
            "256 MiB limit, 1 GiB touched by {split} processes: {:?}, peak {peak:.1} MiB (bar 250–256.5)",
            o.status(&limits)
        );
    }
    Ok(())
}

/// What evidence costs in a slot, where clocks are probed too: in short runs, and as a share of a run of a second.
fn evidence(programs: &Programs) -> Outcome<()> {
    let cpu = std::thread::available_parallelism()?.get() as u32 - 1;
    let isolation = Isolation::Affinity;
    let slot =
        Slot { id: 0, cpus: vec![cpu], idle_siblings: vec![], mem_nodes: vec![], package: 0, isolation };
    let launcher = Launcher::start(&LauncherOptions { slot: Some(slot), ..LauncherOptions::default() })?;
    let placement = Placement { cpus: vec![cpu], ..Placement::default() };
    let free = Launcher::start(&LauncherOptions::default())?;
    let (mut costs, mut control, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..SPAWNS {
        let o = run(&free, &programs.noop, &[], limits(None), None)?;
        control.push(o.evidence.cost.as_millis_f64());
        let o = run_at(&launcher, &programs.noop, &[], limits(None), None, &placement)?;
        costs.push(o.evidence.cost.as_millis_f64());
        ratios.extend(o.evidence.frequency_ratio.known().map(|ratio| (ratio - 1.0).abs() * 100.0));
    }
    let second = limits(Some(Nanos::from_secs(1)));
    let mut shares = Vec::new();
    for _ in 0..REPEATS / 4 {
        let o = run_at(&launcher, &programs.endless, &[], second, None, &placement)?;
        shares.push(100.0 * o.evidence.cost.as_secs_f64() / o.time.cpu.as_secs_f64());
    }
    let known = ratios.len();
    println!(
        "evidence of a run in a slot, median of {SPAWNS}: {:.3} ms (bar 0.3; without a slot {:.3}); of a run of 1 s: {:.3} % of its CPU time (bar 0.1)",
        median(&mut costs),
        median(&mut control),
        median(&mut shares)
    );
    if known > 0 {
        ratios.sort_by(f64::total_cmp);
        let most = ratios[(known - 1) * 95 / 100];
        println!(
            "clock around a run against the usual one, known in {known} of {SPAWNS}: 95 % within {most:.2} %"
        );
    }
    Ok(())
}

/// Whole judging per test beyond a plain spawn: the difference between a package of 101 tests and one of a single test,
/// which leaves starting and compiling out.
fn tiny_tests(programs: &Programs) -> Outcome<()> {
    let tauto = e2e::tauto::binary()?;
    let source = programs.dir.join("echo.c");
    fs::write(
        &source,
        "#include <stdio.h>\nint main(void) { int x; scanf(\"%d\", &x); printf(\"%d\\n\", x); }\n",
    )?;
    let packages = [package(&programs.dir, 1)?, package(&programs.dir, 101)?];
    let (mut one, mut many, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..9 {
        for (package, times) in packages.iter().zip([&mut one, &mut many]) {
            let begun = Instant::now();
            let done =
                e2e::child::command(&tauto).arg("judge").arg("--json").arg(package).arg(&source).output()?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
            if !String::from_utf8_lossy(&done.stdout).contains("\"verdict\": \"AC\"") {
                return Err(format!("judging failed: {}", String::from_utf8_lossy(&done.stderr)).into());
            }
        }
        for _ in 0..20 {
            let begun = Instant::now();
            Command::new(&programs.noop).env_clear().status()?;
            plain.push(begun.elapsed().as_secs_f64() * 1e3);
        }
    }
    let per_test = (median(&mut many) - median(&mut one)) / 100.0;
    let spawn = median(&mut plain);
    println!(
        "100 tiny tests, default validator: per test beyond a plain spawn: {:.2} ms ({per_test:.2} − {spawn:.2}; bar 2)",
        per_test - spawn
    );
    Ok(())
}

fn package(dir: &Path, tests: usize) -> Outcome<PathBuf> {
    let package = dir.join(format!("tiny{tests}"));
    fs::create_dir_all(package.join("data/secret"))?;
    fs::create_dir_all(package.join("data/sample"))?;
    fs::write(
        package.join("problem.yaml"),
        "problem_format_version: 2025-09\nname: Echo\nuuid: 3f0d3a5c-6b1f-4a57-9d8d-000000000000\nlimits:\n  time_limit: 1\n",
    )?;
    for n in 0..tests {
        for kind in ["in", "ans"] {
            fs::write(package.join(format!("data/secret/{n:03}.{kind}")), format!("{n}\n"))?;
        }
    }
    Ok(package)
}

fn limits(cpu: Option<Nanos>) -> Limits {
    Limits { cpu, processes: Some(64), memory: Some(Bytes::from_mib(512)), ..Limits::default() }
}

fn tempfile() -> Outcome<File> {
    let path = std::env::temp_dir().join(format!("tauto-bars-out-{}", std::process::id()));
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
    fs::remove_file(path)?;
    Ok(file)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|l| l.strip_prefix("model name")).unwrap_or(": unknown");
    let cpus = cpuinfo.lines().filter(|l| l.starts_with("processor")).count();
    format!(
        "{} × {cpus}, Linux {}",
        model.trim_start_matches(['\t', ' ', ':']),
        read("/proc/sys/kernel/osrelease").trim()
    )
}
