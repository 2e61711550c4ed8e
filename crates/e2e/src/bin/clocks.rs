//! `make clocks`: the tables of docs/clocks.md and docs/reference-clock.md. `clocks languages` judges a program of each language twenty
//! times under each clock; `clocks judgements` judges a sieve forty times under each, idle and loaded; `clocks programs` holds the reference machine against the CPU time of the programs of `clocks/programs.txt`.
//! Names after either choose some of them.

#![allow(clippy::print_stdout)]

use serde_json::Value;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Programs of the language table, and their languages.
const LANGUAGES: [(&str, &str); 17] = [
    ("c.c", "c"),
    ("cpp.cpp", "cpp"),
    ("rust.rs", "rust"),
    ("pascal.pas", "pascal"),
    ("main.ml", "ocaml"),
    ("main.hs", "haskell"),
    ("go.go", "go"),
    ("Main.java", "java"),
    ("main.kt", "kotlin"),
    ("mono.cs", "csharp"),
    ("node.js", "javascript"),
    ("python.py", "python3"),
    ("python.py", "cpython3"),
    ("perl.pl", "perl"),
    ("lua.lua", "lua"),
    ("ruby.rb", "ruby"),
    ("php.php", "php"),
];
/// Runs of each language under each clock.
const RUNS: usize = 20;
/// Runs of each program by the kernel's account.
const TIMED: usize = 7;
/// Languages that are compiled to machine code before they run, and those that are interpreted throughout.
const COMPILED: [&str; 11] =
    ["c", "c0", "cpp", "cpp17", "cpp23", "rust", "go", "pascal", "ocaml", "haskell", "nasm"];
const INTERPRETED: [&str; 8] = ["cpython3", "python2", "perl", "lua", "ruby", "php", "bash", "sqlite"];
/// C without optimisation is no language of the table.
const UNOPTIMISED: &str = "[[language]]\nid = \"c0\"\nlike = \"c\"\nname = \"C, -O0\"\nextensions = []\ncompile = [[\"{cc}\", \"-x\", \"c\", \"-std=gnu17\", \"-O0\", \"-static\", \"-o\", \"program\", \"{sources}\", \"-lm\"]]\n";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.split_first() {
        Some((what, names)) if what == "languages" => languages(names),
        Some((what, names)) if what == "programs" => programs(names),
        Some((what, [])) if what == "judgements" => judgements(),
        _ => Err("name `languages`, `programs` or `judgements`".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            println!("clocks: {e}");
            ExitCode::from(3)
        }
    }
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clocks")
}

/// A package whose tests all are one run of the same program.
struct Bench {
    directory: tempfile::TempDir,
    languages: PathBuf,
}

/// What was measured of one run.
struct Run {
    /// By the clock, in nanoseconds.
    time: f64,
    /// By the kernel.
    cpu: f64,
}

impl Bench {
    fn new(tests: usize) -> Outcome<Bench> {
        let directory = tempfile::tempdir()?;
        let head = "problem_format_version: 2025-09\nname: Clocks\nuuid: 7d0c8a52-44e6-4e5f-8f53-1f3c9d6a7b21\n\
                    license: cc0\nlimits:\n  time_limit: 60\n  memory: 2048\n";
        let mut files =
            vec![("problem.yaml".to_string(), head), ("statement/problem.en.md".into(), "Run.\n")];
        for n in 0..tests {
            files.push((format!("data/secret/{n:02}.in"), "\n"));
            files.push((format!("data/secret/{n:02}.ans"), "\n"));
        }
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
        e2e::package::write(&directory.path().join("clocks"), &files)?;
        let languages = directory.path().join("languages.toml");
        fs::write(&languages, UNOPTIMISED)?;
        Ok(Bench { directory, languages })
    }

    /// Judges a program: its runs, one for each test.
    fn runs(&self, source: &Path, language: &str, clock: &str) -> Outcome<Vec<Run>> {
        // Java wants the file to be called like its class.
        let name = if language == "java" { Path::new("Main.java") } else { source };
        let copy = self.directory.path().join(name.file_name().ok_or("a file without a name")?);
        fs::copy(source, &copy)?;
        let mut tauto = e2e::child::command(e2e::tauto::binary()?);
        tauto
            .arg("judge")
            .arg(self.directory.path().join("clocks"))
            .arg(&copy)
            .arg("--languages")
            .arg(&self.languages);
        tauto.args(["--language", language, "--clock", clock, "--all-tests", "--json"]);
        if clock == "instructions" {
            tauto.args(["--counter", "emulator"]);
        }
        if clock != "cpu" {
            // Counts are the same beside other work.
            tauto.args(["--slot", "none"]);
        }
        let judged = e2e::tauto::run(&mut tauto, false, Duration::from_secs(1800))?.document()?;
        let tests = judged["tests"].as_array().cloned().unwrap_or_default();
        let runs = tests.iter().flat_map(|test| test["runs"].as_array().into_iter().flatten());
        let runs: Vec<Run> = runs.map(|one| run(one, clock)).collect();
        match runs.iter().all(|run| run.time > 0.0) && !runs.is_empty() {
            true => Ok(runs),
            false => Err(format!("{}: {judged}", source.display()).into()),
        }
    }
}

fn run(run: &Value, clock: &str) -> Run {
    let cpu = run["time"]["cpu_ns"].as_f64().unwrap_or(0.0);
    let time = match clock {
        "instructions" => run["instructions"].as_f64().unwrap_or(0.0),
        "reference" => run["reference_ns"].as_f64().unwrap_or(0.0),
        _ => cpu,
    };
    Run { time: if run["status"] == "ok" { time } else { 0.0 }, cpu }
}

fn median(of: &[Run], what: impl Fn(&Run) -> f64) -> f64 {
    stats::median(&of.iter().map(what).collect::<Vec<_>>()).unwrap_or(0.0)
}

fn languages(names: &[String]) -> Outcome<()> {
    let bench = Bench::new(RUNS)?;
    println!(
        "| language | CPU time, spread | instructions | spread | reference time | spread | cost: instructions, reference |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (file, language) in LANGUAGES {
        if !names.is_empty() && !names.iter().any(|name| name == language) {
            continue;
        }
        let source = sources().join("languages").join(file);
        let row = (|| -> Outcome<String> {
            let [cpu, counted, followed] =
                ["cpu", "instructions", "reference"].map(|clock| bench.runs(&source, language, clock));
            let (cpu, counted, followed) = (cpu?, counted?, followed?);
            let native = median(&cpu, |run| run.cpu);
            Ok(format!(
                "| {language} | {:.1} ms, {} | {:.0} | {} | {:.3} ms | {} | {:.1}, {:.1} |",
                median(&cpu, |run| run.time) / 1e6,
                spread(&cpu),
                median(&counted, |run| run.time),
                spread(&counted),
                median(&followed, |run| run.time) / 1e6,
                spread(&followed),
                median(&counted, |run| run.cpu) / native,
                median(&followed, |run| run.cpu) / native,
            ))
        })();
        println!("{}", row.unwrap_or_else(|e| format!("| {language} | {} |", first(&e.to_string()))));
    }
    Ok(())
}

/// As much of an error as fits into a row.
fn first(error: &str) -> String {
    error.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect()
}

/// Greatest minus least over the median.
fn spread(runs: &[Run]) -> String {
    let times: Vec<f64> = runs.iter().map(|run| run.time).collect();
    let (least, most) =
        (times.iter().copied().fold(f64::MAX, f64::min), times.iter().copied().fold(0.0, f64::max));
    match most - least {
        0.0 => "equal".into(),
        wide => format!("{:.2} %", wide / stats::median(&times).unwrap_or(1.0) * 100.0)
            .replace("0.00 %", "< 0.01 %"),
    }
}

/// Judgements of a sieve over 80 MB, idle and with every core loaded.
fn judgements() -> Outcome<()> {
    let bench = Bench::new(RUNS)?;
    let source = sources().join("c_sieve80m.c");
    for clock in ["instructions", "reference"] {
        let idle = bench.runs(&source, "c", clock)?;
        let mut load = e2e::child::command(e2e::tauto::binary()?)
            .args(["load", "--seconds", "1800"])
            .stdout(std::process::Stdio::null())
            .spawn()?;
        let loaded = bench.runs(&source, "c", clock);
        load.kill()?;
        load.wait()?;
        let all: Vec<Run> = idle.into_iter().chain(loaded?).collect();
        println!(
            "{clock}: {} judgements, {RUNS} of them with every core loaded: {:.0} ns each, spread {}",
            all.len(),
            median(&all, |run| run.time),
            spread(&all)
        );
    }
    Ok(())
}

/// A program held against its CPU time.
struct Held {
    language: String,
    kind: String,
    set: String,
    /// Reference time over CPU time.
    ratio: f64,
    /// CPU time of the emulated run over that of the plain one: counting instructions, and the reference machine.
    costs: [f64; 2],
}

fn programs(names: &[String]) -> Outcome<()> {
    let (timed, once) = (Bench::new(TIMED)?, Bench::new(1)?);
    let list = fs::read_to_string(sources().join("programs.txt"))?;
    println!(
        "| program | kind | | CPU time | reference | ratio | instructions per ns | cost: instructions, reference |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut all = Vec::new();
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let [file, language, kind, set] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Err(line.into());
        };
        if !names.is_empty() && !names.iter().any(|name| file.starts_with(name.as_str())) {
            continue;
        }
        match program(&timed, &once, &sources().join(file), language) {
            Ok((ratio, costs, row)) => {
                println!("| {file} ({language}) | {kind} | {set} | {row} |");
                all.push(Held {
                    language: language.into(),
                    kind: kind.into(),
                    set: set.into(),
                    ratio,
                    costs,
                });
            }
            // The others still tell something.
            Err(e) => println!("| {file} ({language}) | {kind} | {set} | {} |", first(&e.to_string())),
        }
    }
    if all.is_empty() {
        return Err(
            format!("no program was measured; names begin like those in programs.txt: {names:?}").into()
        );
    }
    let among = |wanted: &dyn Fn(&Held) -> bool| all.iter().filter(|held| wanted(held)).collect::<Vec<_>>();
    summary("all", &among(&|_| true));
    for set in ["fit", "held", "unseen"] {
        summary(set, &among(&|held| held.set == set));
    }
    summary(
        "integer, compiled",
        &among(&|held| held.kind == "integer" && COMPILED.contains(&held.language.as_str())),
    );
    summary("interpreted", &among(&|held| INTERPRETED.contains(&held.language.as_str())));
    summary("not float", &among(&|held| held.kind != "float"));
    Ok(())
}

/// Reference time over CPU time, what the clocks cost, and the rest of the row.
fn program(timed: &Bench, once: &Bench, source: &Path, language: &str) -> Outcome<(f64, [f64; 2], String)> {
    let cpu = timed.runs(source, language, "cpu")?;
    let [counted, followed] = ["instructions", "reference"].map(|clock| once.runs(source, language, clock));
    let (counted, followed) = (counted?, followed?);
    let native = median(&cpu, |run| run.time);
    let ratio = followed[0].time / native;
    let costs = [counted[0].cpu / native, followed[0].cpu / native];
    let row = format!(
        "{:.0} ms | {:.0} ms | {ratio:.2} | {:.1} | {:.1}, {:.1}",
        native / 1e6,
        followed[0].time / 1e6,
        counted[0].time / native,
        costs[0],
        costs[1]
    );
    Ok((ratio, costs, row))
}

fn summary(set: &str, held: &[&Held]) {
    let middle = |of: &dyn Fn(&Held) -> f64| {
        stats::median(&held.iter().map(|held| of(held)).collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let within = |scale: f64, factor: f64| {
        held.iter().filter(|held| (1.0 / factor..=factor).contains(&(held.ratio / scale))).count()
    };
    // A limit in reference time is inferred from programs that ran on the same machine, so a factor that all programs share
    // has no effect on a verdict.
    let scale = middle(&|held| held.ratio);
    if held.is_empty() {
        return;
    }
    for (name, scale) in [("as they are", 1.0), ("over their median ratio", scale)] {
        println!(
            "{set}: {} programs {name} ({scale:.2}): median error {:.0} %, {} within 1.5 x, {} within 2 x",
            held.len(),
            middle(&|held| (held.ratio / scale - 1.0).abs()) * 100.0,
            within(scale, 1.5),
            within(scale, 2.0),
        );
    }
    let cost = [0, 1].map(|clock| middle(&|held: &Held| held.costs[clock]));
    println!("{set}: median cost {:.1} (instructions) {:.1} (reference)", cost[0], cost[1]);
}
