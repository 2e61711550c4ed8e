//! One program, judged again and again near its limit while all CPUs are busy: `spread [JUDGINGS]`. Each round judges it by `tauto judgehost`
//! and by a plain judgehost, which runs it once, through the same protocol. How far do the reported times spread, and do verdicts flip?

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use e2e::domserver::{Dialect, DomServer, Faults, PASSWORD, Problem, Submission, USER, file};
use e2e::{child, tauto};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// For one judging.
const PATIENCE: Duration = Duration::from_secs(300);
/// Judgings that find out how long the program takes.
const FIRST: usize = 7;
/// Where the limit lies, in units of the program's time: the program is 2 % below it, or 2 % above.
const LIMITS: [(&str, f64); 2] = [("2 % below the limit", 1.0 / 0.98), ("2 % above the limit", 1.0 / 1.02)];

const GCC: &str = "#!/bin/sh\nDEST=\"$1\"; shift; shift\nexec gcc -O1 -o \"$DEST\" \"$@\"\n";
const ANY: &str = "#!/bin/sh\nexit 42\n";
/// Computes in registers.
const COMPUTE: &str = "#include <stdio.h>\nint main(void) { unsigned long x = 88172645463325252ul; for (int i = 0; i < 200000000; i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; } printf(\"%lu\\n\", x); return 0; }\n";
/// Sorts and looks up, in two megabytes.
const CACHE: &str = "#include <stdio.h>\n#include <stdlib.h>\nstatic unsigned a[1 << 19];\nstatic int by(const void *p, const void *q) { unsigned x = *(const unsigned *)p, y = *(const unsigned *)q; return (x > y) - (x < y); }\nint main(void) { unsigned long s = 0, x = 1; for (int r = 0; r < 5; r++) { for (int i = 0; i < 1 << 19; i++) { x = x * 6364136223846793005ul + 1442695040888963407ul; a[i] = x >> 32; } qsort(a, 1 << 19, sizeof *a, by); for (int i = 0; i < 1 << 20; i++) { x = x * 6364136223846793005ul + 1; s += a[x >> 45]; } } printf(\"%lu\\n\", s); return 0; }\n";

/// One report: result, seconds, confidence.
type Report = (String, f64, String);

#[derive(Clone, Copy, Debug)]
enum Judgehost {
    Tauto,
    Plain,
}

const BOTH: [Judgehost; 2] = [Judgehost::Tauto, Judgehost::Plain];

/// What keeps the CPUs busy until it is dropped.
struct Load(Vec<Child>);

impl Load {
    fn start() -> Result<Load, String> {
        let cpus = available_parallelism().map_err(|e| e.to_string())?.get();
        let busy = |_| child::command("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn();
        (0..cpus).map(busy).collect::<Result<_, _>>().map(Load).map_err(|e| e.to_string())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for process in &mut self.0 {
            drop(process.kill());
            drop(process.wait());
        }
    }
}

fn main() -> ExitCode {
    let judgings = std::env::args().nth(1).map_or(Ok(20), |text| text.parse());
    let measured = judgings.map_err(|e| format!("spread [JUDGINGS]: {e}")).and_then(all);
    match measured {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            say(&why);
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stdout, reason = "what it is for")]
fn say(line: &str) {
    println!("{line}");
}

fn all(judgings: usize) -> Result<bool, String> {
    let data = tempfile::tempdir().map_err(|e| e.to_string())?;
    fs::write(data.path().join("password"), PASSWORD).map_err(|e| e.to_string())?;
    fs::write(data.path().join("plain.py"), include_str!("../plain_judgehost.py"))
        .map_err(|e| e.to_string())?;
    // On a quiet machine, as one does before a contest.
    let mut measure = child::command(tauto::binary()?);
    measure.env("TAUTO_DATA_DIR", data.path()).args(["slots", "--measure"]).stdout(Stdio::null());
    let measured = measure.status().map_err(|e| e.to_string())?;
    if !measured.success() {
        return Err(format!("tauto slots --measure ended with {measured}"));
    }
    let _load = Load::start()?;
    let mut good = true;
    for (program, source) in [("computes", COMPUTE), ("sorts", CACHE)] {
        // Each is judged at its own distance: what a limit was measured by is what judges by it.
        let mut usual = [0.0; 2];
        for (judgehost, usual) in BOTH.into_iter().zip(&mut usual) {
            let far = times(data.path(), judgehost, source, 60.0, FIRST)?;
            *usual = median(&times(data.path(), judgehost, source, median(&far), FIRST)?);
        }
        for (place, factor) in LIMITS {
            let mut reports: [Vec<Report>; 2] = Default::default();
            for n in 1..=judgings {
                for ((judgehost, usual), reports) in BOTH.into_iter().zip(usual).zip(&mut reports) {
                    let start = Instant::now();
                    let report = judge(data.path(), judgehost, source, usual * factor)?;
                    let (result, time, confidence) = &report;
                    say(&format!(
                        "  {n} of {judgings}, {judgehost:?}: {result} {confidence}, {time:.3} s, after {:.0} s",
                        start.elapsed().as_secs_f64()
                    ));
                    reports.push(report);
                }
            }
            let widths: Vec<f64> = BOTH
                .into_iter()
                .zip(usual)
                .zip(&reports)
                .map(|((judgehost, usual), reports)| told(program, place, judgehost, usual * factor, reports))
                .collect();
            let flips = unmarked_flips(&reports[0]);
            let share = widths[0] / widths[1];
            say(&format!("{program}, {place}: {share:.2} of the plain spread, {flips} flips without a mark"));
            good &= share <= 0.5 && flips == 0;
        }
    }
    Ok(good)
}

/// Prints what was reported, and gives the spread: largest less smallest time, as a part of the median.
fn told(program: &str, place: &str, judgehost: Judgehost, limit: f64, reports: &[Report]) -> f64 {
    let times: Vec<f64> = reports.iter().map(|(_, time, _)| *time).collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (result, _, confidence) in reports {
        *counts.entry(format!("{result} {confidence}").trim().to_owned()).or_default() += 1;
    }
    let (least, most) =
        times.iter().fold((f64::MAX, 0.0_f64), |(least, most), time| (least.min(*time), most.max(*time)));
    let middle = median(&times);
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let deviation = (times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / times.len() as f64).sqrt();
    say(&format!(
        "{program}, {place} of {limit:.3} s, {judgehost:?}: median {middle:.3} s, spread {:.1} %, standard deviation {:.1} %, {counts:?}",
        100.0 * (most - least) / middle,
        100.0 * deviation / mean,
    ));
    (most - least) / middle
}

/// Results other than the most frequent one that are not told as open.
fn unmarked_flips(reports: &[Report]) -> usize {
    let count = |result: &str| reports.iter().filter(|report| report.0 == result).count();
    let usual = reports.iter().map(|report| report.0.as_str()).max_by_key(|result| count(result));
    let flipped = |report: &&Report| Some(report.0.as_str()) != usual && report.2 != "open";
    reports.iter().filter(flipped).count()
}

fn median(times: &[f64]) -> f64 {
    stats::median(times).unwrap_or_default()
}

fn times(
    data: &Path,
    judgehost: Judgehost,
    source: &str,
    limit: f64,
    judgings: usize,
) -> Result<Vec<f64>, String> {
    (0..judgings).map(|_| judge(data, judgehost, source, limit).map(|report| report.1)).collect()
}

/// Has the program judged once.
fn judge(data: &Path, judgehost: Judgehost, source: &str, limit: f64) -> Result<Report, String> {
    let problem = Problem {
        tests: vec![(b"\n".to_vec(), b"\n".to_vec())],
        time_limit: limit,
        output_limit: 64,
        memory_limit: 256 << 10,
        jury: file("run", ANY),
        interactive: false,
        passes: 1,
    };
    let sources = vec![("program.c".to_owned(), source.as_bytes().to_vec(), false)];
    let submission = Submission { problem: 0, compiler: file("run", GCC), sources, entry: None };
    let server = DomServer::start(Dialect::V9, vec![problem], vec![submission], Faults::default())?;
    let log = fs::File::create(data.join("log")).map_err(|e| e.to_string())?;
    let mut command = match judgehost {
        Judgehost::Tauto => ours(&server, data)?,
        Judgehost::Plain => {
            let mut command = child::command("python3");
            command.arg(data.join("plain.py")).args([&server.url(), USER, PASSWORD, "plain"]);
            command
        }
    };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let mut process = command.spawn().map_err(|e| e.to_string())?;
    let status = tauto::wait(&mut process, PATIENCE)?;
    let state = server.state();
    let run = state.judgings[0].runs[0].clone();
    let run = run.filter(|_| status.success() && state.violations.is_empty()).ok_or_else(|| {
        let log = fs::read_to_string(data.join("log")).unwrap_or_default();
        format!("{judgehost:?} ended with {status}: {:?} {log}", state.violations)
    })?;
    let metadata = STANDARD.decode(&run["metadata"]).map_err(|e| e.to_string())?;
    let metadata = String::from_utf8_lossy(&metadata).into_owned();
    let confidence = metadata.lines().find_map(|line| line.strip_prefix("tauto-confidence: "));
    let time = run["runtime"].parse().map_err(|e| format!("{}: {e}", run["runtime"]))?;
    Ok((run["runresult"].clone(), time, confidence.unwrap_or_default().to_owned()))
}

fn ours(server: &DomServer, data: &Path) -> Result<Command, String> {
    let mut command = child::command(tauto::binary()?);
    command.env("TAUTO_DATA_DIR", data);
    command.args(["judgehost", "--url", &server.url(), "--user", USER, "--password-file"]);
    command.arg(data.join("password")).args(["--name", "box", "--slots", "0", "--once"]);
    Ok(command)
}
