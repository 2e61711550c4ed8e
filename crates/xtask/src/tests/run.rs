//! Runs parts of suites, lanes beside each other, and reads from what they print what came of each test and how long it took.

use super::plan::{Part, Stage};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What came of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Passed,
    Failed,
    Skipped,
}

/// One test, once run.
#[derive(Clone, Debug)]
pub(super) struct Test {
    pub(super) name: String,
    pub(super) state: State,
    pub(super) took: Duration,
}

/// One part of a suite, once run.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) suite: String,
    pub(super) took: Duration,
    pub(super) tests: Vec<Test>,
    /// It exited with 0: without that, something failed even if no test says so.
    pub(super) good: bool,
}

/// Runs a stage. The first lane prints as it goes; what the others print is kept until they end.
pub(super) fn stage(stage: &Stage<'_>, tauto: &Path) -> Result<Vec<Outcome>, String> {
    let Some((first, beside)) = stage.lanes.split_first() else { return Ok(vec![]) };
    thread::scope(|scope| {
        let beside: Vec<_> = beside
            .iter()
            .map(|lane| {
                scope.spawn(move || {
                    let mut kept = Vec::new();
                    let outcomes = run_lane(lane, tauto, true, &mut kept);
                    outcomes.map(|outcomes| (outcomes, kept))
                })
            })
            .collect();
        let mut outcomes = run_lane(first, tauto, false, &mut io::stdout())?;
        for lane in beside {
            let (others, kept) = lane.join().map_err(|_| "a lane of tests panicked")??;
            // Nobody may be there to read it.
            let _ = io::stdout().write_all(&kept);
            outcomes.extend(others);
        }
        Ok(outcomes)
    })
}

fn run_lane(
    parts: &[Part<'_>],
    tauto: &Path,
    behind: bool,
    out: &mut dyn Write,
) -> Result<Vec<Outcome>, String> {
    parts.iter().map(|part| run(part, tauto, behind, out)).collect()
}

/// What runs a suite behind others: in a session of its own, since a low priority counts only within a session where sessions are scheduling
/// groups (sched_autogroup, sched(7)). With much less than a third of the usual share, a machine with eight virtual processors fails its checks.
/// A watcher, which holds none of its outputs, waits for the end of its standard input, which is this process's end at the latest, and ends its process group.
const BEHIND: &str = r#"echo 5 2>/dev/null >/proc/self/autogroup; exec 3<&0
{ read -r _ <&3; kill -KILL 0; } >/dev/null 2>&1 & exec nice -n 5 "$@" </dev/null 3<&-"#;

fn command(part: &Part<'_>, behind: bool) -> Command {
    let own = &part.suite.executable;
    let mut command = match behind {
        true => {
            let mut command = Command::new("setsid");
            command.args(["sh", "-c", BEHIND, "behind"]).arg(own);
            command
        }
        false => Command::new(own),
    };
    command.stdin(if behind { Stdio::piped() } else { Stdio::null() });
    command.args(&part.only).args(part.skip.iter().flat_map(|name| ["--skip", *name]));
    if part.suite.libtest {
        // libtest tells times only to those who ask for what is not stable.
        command.args(["-Z", "unstable-options", "--report-time"]).env("RUSTC_BOOTSTRAP", "1");
    }
    command.current_dir(&part.suite.directory).env("CARGO_MANIFEST_DIR", &part.suite.directory);
    command
}

fn run(part: &Part<'_>, tauto: &Path, behind: bool, out: &mut dyn Write) -> Result<Outcome, String> {
    let suite = part.suite.name.clone();
    let fail = |error: io::Error| format!("{}: {error}", part.suite.name);
    let (reader, writer) = io::pipe().map_err(fail)?;
    let mut command = command(part, behind);
    command.env("TAUTO_BIN", tauto);
    command.stdout(writer.try_clone().map_err(fail)?).stderr(writer);
    let begun = Instant::now();
    let mut process = Running(command.spawn().map_err(fail)?);
    // Its ends of the pipe, of which one would keep the reader waiting.
    drop(command);
    let _ = writeln!(out, "\n{suite}");
    let tests = read(reader, out).map_err(fail)?;
    let good = process.wait().map_err(fail)?;
    Ok(Outcome { suite, took: begun.elapsed(), tests, good })
}

/// Ends with this value, and what it started with it.
struct Running(Child);

impl Running {
    /// Not `Child::wait`, which closes its standard input first.
    fn wait(&mut self) -> io::Result<bool> {
        loop {
            match self.0.try_wait()? {
                Some(status) => return Ok(status.success()),
                None => thread::sleep(Duration::from_millis(10)),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Passes on what a suite prints, and takes its tests from it.
fn read(from: impl Read, out: &mut dyn Write) -> io::Result<Vec<Test>> {
    let mut from = BufReader::new(from);
    let (mut tests, mut line, mut since) = (Vec::new(), Vec::new(), Instant::now());
    while from.read_until(b'\n', &mut line)? > 0 {
        let _ = out.write_all(&line);
        if let Some(mut test) = test(&String::from_utf8_lossy(&line)) {
            test.took = test.took.max(if test.took.is_zero() { since.elapsed() } else { Duration::ZERO });
            since = Instant::now();
            tests.push(test);
        }
        line.clear();
    }
    let _ = out.flush();
    Ok(tests)
}

/// A line `test NAME ... ok <0.005s>`, zero where no time is told; or `skipped: WHY`, by which a test says that it did nothing.
fn test(line: &str) -> Option<Test> {
    if let Some(why) = line.trim_end().strip_prefix("skipped: ") {
        return Some(Test { name: why.into(), state: State::Skipped, took: Duration::ZERO });
    }
    let (name, rest) = line.trim_end().strip_prefix("test ")?.rsplit_once(" ... ")?;
    let (word, rest) = rest.split_once([' ', ',']).unwrap_or((rest, ""));
    let state = match word {
        "ok" => State::Passed,
        "FAILED" => State::Failed,
        "ignored" => State::Skipped,
        _ => return None,
    };
    let took = rest.trim().strip_prefix('<').and_then(|rest| rest.strip_suffix("s>")?.parse().ok());
    Some(Test {
        name: name.trim_end().into(),
        state,
        took: Duration::from_secs_f64(took.unwrap_or_default()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_harnesses_are_read() {
        let told = |line: &str| test(line).map(|test| (test.name, test.state, test.took.as_millis()));
        assert_eq!(told("test a::b ... ok <1.250s>\n"), Some(("a::b".into(), State::Passed, 1250)));
        assert_eq!(
            told("test root::cpu/loop      ... ok\n"),
            Some(("root::cpu/loop".into(), State::Passed, 0))
        );
        assert_eq!(told("test a ... FAILED <0.001s>"), Some(("a".into(), State::Failed, 1)));
        let skipped = "test [skipped: needs root] user::a ... ignored";
        assert_eq!(told(skipped).map(|(name, state, _)| (name, state)), {
            Some(("[skipped: needs root] user::a".into(), State::Skipped))
        });
        assert_eq!(told("skipped: no nats-server\n").map(|(name, state, _)| (name, state)), {
            Some(("no nats-server".into(), State::Skipped))
        });
        for other in ["running 3 tests", "test result: ok. 3 passed; 0 failed", "test a ...", "---- a ----"] {
            assert!(told(other).is_none(), "{other}");
        }
    }

    fn stat_of(pid: &str) -> String {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default()
    }

    #[test]
    fn what_runs_behind_lets_go_of_its_output_when_it_ends() {
        let mut lane = Command::new("setsid");
        lane.args(["sh", "-c", BEHIND, "behind", "echo", "done"]);
        let mut lane = lane.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        lane.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said, "done\n");
        drop(lane.stdin.take());
        lane.wait().unwrap();
    }

    #[test]
    fn what_runs_behind_ends_with_its_starter_and_all_it_started() {
        let mut lane = Command::new("setsid");
        lane.args(["sh", "-c", BEHIND, "behind", "sh", "-c", "sleep 600 & echo $!; wait"]);
        let mut lane = lane.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(lane.stdout.take().unwrap()).read_line(&mut line).unwrap();
        // A zombie has ended, whoever is to reap it.
        let lives = || !matches!(stat_of(line.trim()), stat if stat.is_empty() || stat.contains(") Z "));
        assert!(lives());
        drop(lane.stdin.take());
        let patience = Instant::now() + Duration::from_secs(10);
        while lives() && Instant::now() < patience {
            thread::sleep(Duration::from_millis(10));
        }
        assert!(!lives());
        lane.wait().unwrap();
    }
}
