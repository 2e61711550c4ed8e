//! Runs parts of suites, lanes beside each other, and reads from what they print what came of each test and how long it took.

use super::Suite;
use super::fuzz;
use super::plan::{self, Part, Stage, Work};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{iter, slice, thread};

/// What came of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Passed,
    /// Failed, then passed when it was run again with nothing beside it.
    Flaky,
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
    /// CPU time of its processes, those excepted that nobody waited for; `None`: not known.
    pub(super) cpu: Option<Duration>,
    pub(super) tests: Vec<Test>,
    /// It exited with 0: without that, something failed even if no test says so.
    pub(super) good: bool,
    /// What it said of its failed tests; empty where none failed.
    pub(super) report: String,
}

/// Work of a lane that has not started.
type Queue<'a> = Mutex<slice::Iter<'a, Work<'a>>>;

/// Runs a stage. What the first thread runs is printed at once; what the others print is kept until they end.
pub(super) fn stage(stage: &Stage<'_>, root: &Path, tauto: &Path) -> Result<Vec<Outcome>, String> {
    let queues: Vec<(Queue<'_>, usize)> =
        stage.lanes.iter().map(|lane| (Mutex::new(lane.work.iter()), lane.at_once)).collect();
    let mut threads = queues.iter().flat_map(|(queue, at_once)| iter::repeat_n(queue, *at_once));
    let Some(first) = threads.next() else { return Ok(vec![]) };
    thread::scope(|scope| {
        let beside: Vec<_> = threads
            .map(|queue| {
                scope.spawn(move || {
                    let mut kept = Vec::new();
                    let outcomes = run_all(queue, root, tauto, true, &mut kept);
                    outcomes.map(|outcomes| (outcomes, kept))
                })
            })
            .collect();
        let mut outcomes = run_all(first, root, tauto, false, &mut io::stdout())?;
        for lane in beside {
            let (others, kept) = lane.join().map_err(|_| "a lane of tests panicked")??;
            // Nobody may be there to read it.
            let _ = io::stdout().write_all(&kept);
            outcomes.extend(others);
        }
        Ok(outcomes)
    })
}

fn run_all(
    queue: &Queue<'_>,
    root: &Path,
    tauto: &Path,
    yields: bool,
    out: &mut dyn Write,
) -> Result<Vec<Outcome>, String> {
    let one = |work: &Work<'_>| match work {
        Work::Suite(part) => run(part, tauto, yields, out),
        Work::Fuzzing => fuzz::all(root),
    };
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    iter::from_fn(next).map(one).collect()
}

/// What runs a command behind others: in a session of its own, since a low priority counts only within a session where sessions are
/// scheduling groups (sched_autogroup, sched(7)). A watcher, which holds none of its outputs, waits for the end of its standard input, which is
/// this process's end at the latest, and ends its process group.
const BEHIND: &str = r#"echo "$0" 2>/dev/null >/proc/self/autogroup; exec 3<&0
{ read -r _ <&3; kill -KILL 0; } >/dev/null 2>&1 & exec nice -n "$0" "$@" </dev/null 3<&-"#;

/// The niceness of a suite that runs behind others. With much less than a third of the usual share, a virtual machine with eight processors
/// fails its checks.
const SUITE: &str = "4";

/// The same command behind others, with this niceness. It lives as long as its standard input is open.
pub(super) fn behind(command: &Command, niceness: &str) -> Command {
    let mut wrapped = Command::new("setsid");
    wrapped.args(["sh", "-c", BEHIND, niceness]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        wrapped.current_dir(directory);
    }
    wrapped.stdin(Stdio::piped());
    wrapped
}

fn command(part: &Part<'_>) -> Command {
    let mut command = Command::new(&part.suite.executable);
    command.stdin(Stdio::null());
    command.args(&part.only).args(part.skip.iter().flat_map(|name| ["--skip", *name]));
    if part.exact {
        command.arg("--exact");
    }
    if part.suite.libtest {
        // libtest tells times only to those who ask for what is not stable.
        command.args(["-Z", "unstable-options", "--report-time"]).env("RUSTC_BOOTSTRAP", "1");
    }
    command.current_dir(&part.suite.directory).env("CARGO_MANIFEST_DIR", &part.suite.directory);
    command
}

fn run(part: &Part<'_>, tauto: &Path, yields: bool, out: &mut dyn Write) -> Result<Outcome, String> {
    let suite = part.suite.name.clone();
    let fail = |error: io::Error| format!("{}: {error}", part.suite.name);
    let (reader, writer) = io::pipe().map_err(fail)?;
    let mut command = command(part);
    command.env("TAUTO_BIN", tauto);
    if yields {
        command = behind(&command, SUITE);
    }
    command.stdout(writer.try_clone().map_err(fail)?).stderr(writer);
    let begun = Instant::now();
    let mut process = Running(command.spawn().map_err(fail)?);
    // Its ends of the pipe, of which one would keep the reader waiting.
    drop(command);
    let _ = writeln!(out, "\n{suite}");
    let (tests, report) = read(reader, out).map_err(fail)?;
    let (good, cpu) = process.wait().map_err(fail)?;
    Ok(Outcome { suite, took: begun.elapsed(), cpu: Some(cpu), tests, good, report })
}

/// Beyond this number something is broken, and nothing is run again.
const RUN_AGAIN: usize = 3;

/// Runs failed tests that start other processes once more, one at a time: others use the machine, too. What passes then is flaky,
/// which the summary tells with the report of the failure. What fails twice, more than [`RUN_AGAIN`] failures, a crash and a failed
/// unit test stay as they are.
///
/// # Errors
/// A suite cannot be started.
pub(super) fn again(
    outcomes: &mut [Outcome],
    suites: &[Suite],
    tauto: &Path,
    out: &mut dyn Write,
) -> Result<(), String> {
    let all = outcomes.iter().flat_map(|one| &one.tests);
    if all.filter(|test| test.state == State::Failed).count() > RUN_AGAIN {
        return Ok(());
    }
    for outcome in outcomes {
        let Some(suite) = suites.iter().find(|suite| suite.name == outcome.suite) else { continue };
        // Who crashes never comes to its report, and leaves tests that did not run.
        if !plan::starts_others(suite) || outcome.report.is_empty() {
            continue;
        }
        for test in outcome.tests.iter_mut().filter(|test| test.state == State::Failed) {
            let part = Part { suite, only: vec![test.name.as_str()], skip: vec![], exact: true };
            let second = run(&part, tauto, false, out)?;
            let passed = second.tests.iter().filter(|test| test.state == State::Passed).count();
            if second.good && passed == 1 {
                test.state = State::Flaky;
            }
        }
    }
    Ok(())
}

/// Ends with this value, and what it started with it.
struct Running(Child);

impl Running {
    /// Whether it was good, and its CPU time. Not `Child::wait`, which closes its standard input first.
    fn wait(&mut self) -> io::Result<(bool, Duration)> {
        loop {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap_or_default();
            // The times are whole once it has ended; when it has been waited for, they are gone.
            let ended = stat.is_empty() || stat.contains(") Z ");
            match if ended { self.0.try_wait()? } else { None } {
                Some(status) => return Ok((status.success(), cpu(&stat))),
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

/// CPU time of a process and of the children it waited for: utime, stime, cutime and cstime of its `stat`, in hundredths of a second
/// (proc(5), `USER_HZ`).
fn cpu(stat: &str) -> Duration {
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields).split(' ').skip(11).take(4);
    Duration::from_millis(10 * fields.filter_map(|field| field.parse::<u64>().ok()).sum::<u64>())
}

/// Passes on what a suite prints, and takes its tests from it, and what it says of those that failed: from the line
/// `failures:` on, to the result.
fn read(from: impl Read, out: &mut dyn Write) -> io::Result<(Vec<Test>, String)> {
    let mut from = BufReader::new(from);
    let (mut tests, mut line, mut since) = (Vec::new(), Vec::new(), Instant::now());
    let (mut report, mut failures, mut begun) = (String::new(), false, None);
    while from.read_until(b'\n', &mut line)? > 0 {
        let _ = out.write_all(&line);
        let text = String::from_utf8_lossy(&line);
        failures = (failures || text.trim_end() == "failures:") && !text.starts_with("test result:");
        if failures {
            report += &text;
        }
        // After a test's own output, its result stands on a line of its own.
        let interrupted = || result(begun.clone()?, text.trim_end());
        if let Some(mut test) = test(&text).or_else(interrupted) {
            begun = None;
            test.took = test.took.max(if test.took.is_zero() { since.elapsed() } else { Duration::ZERO });
            since = Instant::now();
            tests.push(test);
        } else if let Some((name, _)) = text.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) {
            begun = Some(name.trim_end().to_string());
        }
        line.clear();
    }
    let _ = out.flush();
    Ok((tests, report))
}

/// A line `test NAME ... ok <0.005s>`, zero where no time is told; or `skipped: WHY`, by which a test says that it did nothing.
fn test(line: &str) -> Option<Test> {
    if let Some(why) = line.trim_end().strip_prefix("skipped: ") {
        return Some(Test { name: why.into(), state: State::Skipped, took: Duration::ZERO });
    }
    let (name, rest) = line.trim_end().strip_prefix("test ")?.rsplit_once(" ... ")?;
    result(name.trim_end().into(), rest)
}

/// What follows its name: `ok <0.005s>`, `FAILED` or `ignored, WHY`.
fn result(name: String, text: &str) -> Option<Test> {
    let (word, rest) = text.split_once([' ', ',']).unwrap_or((text, ""));
    let state = match word {
        "ok" => State::Passed,
        "FAILED" => State::Failed,
        "ignored" => State::Skipped,
        _ => return None,
    };
    let took = rest.trim().strip_prefix('<').and_then(|rest| rest.strip_suffix("s>")?.parse().ok());
    Some(Test { name, state, took: Duration::from_secs_f64(took.unwrap_or_default()) })
}

#[cfg(test)]
mod tests {
    use super::super::plan::Lane;
    use super::*;
    use std::path::PathBuf;

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

    #[test]
    fn cpu_time_is_that_of_all_processes_of_a_suite() {
        let stat = "7 (a b) c) Z 1 7 7 0 -1 4 1 2 3 4 100 20 3000 4 20 0 1 0 99 0 0";
        assert_eq!(cpu(stat), Duration::from_millis(31_240));
        let script = "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done";
        let mut busy = Command::new("sh");
        busy.args(["-c", &format!("sh -c '{script}'; true")]).stdin(Stdio::null());
        let (good, took) = Running(busy.spawn().unwrap()).wait().unwrap();
        assert!(good && took >= Duration::from_millis(10), "{took:?}");
    }

    #[test]
    fn what_is_said_of_failures_is_kept() {
        let said = "test a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b ----\nit is 1\n\nfailures:\n    b\n\n\
                    test result: FAILED. 1 passed\nmore\n";
        let (tests, report) = read(said.as_bytes(), &mut io::sink()).unwrap();
        assert_eq!(tests.iter().map(|test| test.state).collect::<Vec<_>>(), [State::Passed, State::Failed]);
        assert_eq!(report, "failures:\n\n---- b ----\nit is 1\n\nfailures:\n    b\n\n");
    }

    #[test]
    fn a_test_that_prints_is_read() {
        let said =
            "test a ... ok\ntest b  ... 80 attempts refused\nmore\nok\ntest c ... \nFAILED\ntest d ... \n";
        let (tests, _) = read(said.as_bytes(), &mut io::sink()).unwrap();
        let told: Vec<_> = tests.iter().map(|test| (test.name.as_str(), test.state)).collect();
        assert_eq!(told, [("a", State::Passed), ("b", State::Passed), ("c", State::Failed)]);
    }

    /// A suite that is a shell script.
    fn scripted(name: &str, directory: &Path, text: &str) -> Suite {
        let executable = directory.join(name.replace(':', "-"));
        std::fs::write(&executable, format!("#!/bin/sh\n{text}")).unwrap();
        std::fs::set_permissions(&executable, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        Suite { name: name.into(), executable, directory: directory.into(), libtest: false }
    }

    /// A suite that fails the first time.
    fn fails_once(name: &str, report: &str, second: &str) -> (Suite, PathBuf) {
        let directory = std::env::temp_dir().join(format!(
            "tauto-xtask-{}-{}",
            std::process::id(),
            name.replace(':', "-")
        ));
        std::fs::create_dir_all(&directory).unwrap();
        let text = format!(
            "if [ -e again ]; then echo \"$@\" >again; echo 'test a ... {second}'; [ {second} = ok ]; exit; fi\n\
             : >again; echo 'test a ... FAILED'; echo 'test b ... ok'; {report} exit 101\n"
        );
        let suite = scripted(name, &directory, &text);
        (suite, directory)
    }

    #[test]
    fn a_failed_test_of_the_binary_is_run_again_alone() {
        let reports = "echo failures:;";
        for (name, report, second, state, arguments) in [
            ("e2e::x", reports, "ok", State::Flaky, "a --exact\n"),
            ("e2e::y", reports, "FAILED", State::Failed, "a --exact\n"),
            ("cli::fleet_worker", reports, "ok", State::Flaky, "a --exact\n"),
            ("e2e::crashes", "", "ok", State::Failed, ""),
            ("units", reports, "ok", State::Failed, ""),
        ] {
            let (suite, directory) = fails_once(name, report, second);
            let part = Part { suite: &suite, only: vec![], skip: vec![], exact: false };
            let mut outcomes = [run(&part, Path::new("tauto"), false, &mut io::sink()).unwrap()];
            again(&mut outcomes, std::slice::from_ref(&suite), Path::new("tauto"), &mut io::sink()).unwrap();
            let states: Vec<_> = outcomes[0].tests.iter().map(|test| test.state).collect();
            assert_eq!(states, [state, State::Passed], "{name}");
            assert_eq!(std::fs::read_to_string(directory.join("again")).unwrap(), arguments, "{name}");
            std::fs::remove_dir_all(directory).unwrap();
        }
    }

    /// Of three suites, the first two pass only if they run at the same time.
    #[test]
    fn a_lane_runs_as_many_suites_at_once_as_it_says_and_each_once() {
        let directory = tempfile::tempdir().unwrap();
        let suite = |name: &str, other: &str| {
            let text = format!(
                ": >{name}.begun; n=0; until [ -e {other}.begun ]; do [ $((n += 1)) -lt 100 ] || exit 101; sleep 0.1; done\n\
                 echo 'test {name} ... ok'\n"
            );
            scripted(name, directory.path(), &text)
        };
        let suites = [suite("a", "b"), suite("b", "a"), suite("c", "a")];
        let work = |suite| Work::Suite(Part { suite, only: vec![], skip: vec![], exact: false });
        let lane = |at_once, work| Lane { work, at_once };
        let lanes = vec![lane(1, vec![]), lane(2, suites.iter().map(work).collect())];
        let outcomes =
            stage(&Stage { name: "a stage", lanes }, directory.path(), Path::new("tauto")).unwrap();
        let mut passed: Vec<_> =
            outcomes.iter().filter(|one| one.good).map(|one| one.suite.as_str()).collect();
        passed.sort_unstable();
        assert_eq!(passed, ["a", "b", "c"]);
    }

    fn stat_of(pid: &str) -> String {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default()
    }

    #[test]
    fn what_runs_behind_lets_go_of_its_output_when_it_ends() {
        let mut echo = Command::new("echo");
        let mut lane = behind(echo.arg("done"), SUITE).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        lane.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said, "done\n");
        drop(lane.stdin.take());
        lane.wait().unwrap();
    }

    #[test]
    fn what_runs_behind_ends_with_its_starter_and_all_it_started() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 600 & echo $!; wait"]);
        let mut lane = behind(&shell, SUITE).stdout(Stdio::piped()).spawn().unwrap();
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
