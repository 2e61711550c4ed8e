//! The suites of `e2e`, in an order that wastes little of a small machine's time: those in virtual machines are all computing, and go on beside
//! those that mostly wait. Those that compute or measure come after them, alone.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Suites in virtual machines.
const MACHINES: [&str; 2] = ["vm", "server"];

/// Suites that mostly wait: for services, brokers, databases, browsers.
const BESIDE: [&str; 9] = [
    "api",
    "fleet_chaos",
    "fleet_faults",
    "fleet_stage",
    "judge0",
    "pages",
    "service_chaos",
    "service_faults",
    "service_operation",
];

/// Runs all suites, whatever becomes of each; whether all passed. `TAUTO_BIN` names the binary, as for one suite.
///
/// # Errors
/// They cannot be built or started, or a list names a suite that is not there.
pub fn run(root: &Path) -> Result<bool, String> {
    let all = all(root)?;
    let known = MACHINES.iter().chain(&BESIDE);
    if let Some(gone) = known.clone().find(|name| !all.iter().any(|there| there == *name)) {
        return Err(format!("there is no suite {gone} in crates/e2e/tests; mend the lists in {}", file!()));
    }
    let alone: Vec<&str> =
        all.iter().map(String::as_str).filter(|name| !known.clone().any(|k| k == name)).collect();
    if !ended(cargo(root, &["--no-run"]))? {
        return Ok(false);
    }
    let begun = Instant::now();
    let machines = Lane::begin(root, &MACHINES)?;
    let beside = ended(cargo(root, &[&["--lib"][..], &named(&BESIDE)].concat()))?;
    let machines = machines.end()?;
    let alone = ended(cargo(root, &named(&alone)))?;
    say(&format!("suites of e2e: {} s", begun.elapsed().as_secs()));
    Ok(beside && machines && alone)
}

/// Names of the suites there are, in order.
fn all(root: &Path) -> Result<Vec<String>, String> {
    let directory = root.join("crates/e2e/tests");
    let fail = |error: io::Error| format!("{}: {error}", directory.display());
    let mut all = Vec::new();
    for entry in fs::read_dir(&directory).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let name = path.file_stem().and_then(|name| name.to_str());
        if let (Some(name), true) = (name, path.extension().is_some_and(|end| end == "rs")) {
            all.push(name.to_string());
        }
    }
    all.sort();
    Ok(all)
}

fn named<'a>(suites: &[&'a str]) -> Vec<&'a str> {
    suites.iter().flat_map(|name| ["--test", *name]).collect()
}

fn cargo(root: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).args(["test", "--package", "e2e", "--no-fail-fast"]).args(words);
    command
}

fn ended(mut command: Command) -> Result<bool, String> {
    command.status().map(|status| status.success()).map_err(|error| format!("{command:?}: {error}"))
}

fn say(text: &str) {
    // Nobody may be there to read it.
    let _ = writeln!(io::stdout(), "{text}");
}

/// Suites that run beside others, in a session of their own: where sessions are scheduling groups (sched_autogroup, sched(7)), a low priority
/// counts within the session only, and with them in ours every process of ours would have to wait for its group's turn. The session's own
/// priority is a third of the usual share: with much less, beside suites that compute, a machine with eight processors failed its checks. What
/// they say is kept until they have ended. Their whole process group ends with this value, or with this process however it ends.
struct Lane {
    process: Child,
    said: PathBuf,
    _directory: tempfile::TempDir,
}

/// Waits for the end of its standard input, which is this process's end at the latest, and ends its process group.
const LANE: &str = r#"echo 5 2>/dev/null >/proc/self/autogroup; exec 3<&0
{ read -r _ <&3; kill -KILL 0; } & exec nice -n 5 "$@" </dev/null 3<&-"#;

impl Lane {
    fn begin(root: &Path, suites: &[&str]) -> Result<Lane, String> {
        let directory = tempfile::tempdir().map_err(|error| format!("scratch: {error}"))?;
        let said = directory.path().join("said");
        let fail = |error: io::Error| format!("{}: {error}", said.display());
        let file = File::create(&said).map_err(fail)?;
        let own = cargo(root, &named(suites));
        let mut command = Command::new("setsid");
        command
            .args(["sh", "-c", LANE, "lane"])
            .arg(own.get_program())
            .args(own.get_args())
            .current_dir(root);
        command.stdin(Stdio::piped()).stderr(file.try_clone().map_err(fail)?).stdout(file);
        let process = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        Ok(Lane { process, said, _directory: directory })
    }

    /// Waits until they have ended, and passes on what they said; whether all passed.
    fn end(mut self) -> Result<bool, String> {
        // Not by `wait`, which closes its standard input first.
        let status = loop {
            match self.process.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(100)),
                Ok(Some(status)) => break status,
                Err(error) => return Err(format!("suites in virtual machines: {error}")),
            }
        };
        say(&fs::read_to_string(&self.said).map_err(|error| format!("{}: {error}", self.said.display()))?);
        Ok(status.success())
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};

    #[test]
    fn a_lane_ends_with_its_starter_and_all_it_started() {
        let mut lane = Command::new("setsid");
        lane.args(["sh", "-c", LANE, "lane", "sh", "-c", "sleep 600 & echo $!; wait"]);
        let mut lane = lane.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(lane.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let sleeper = format!("/proc/{}/stat", line.trim());
        let group = fs::read_to_string(format!("/proc/{}/autogroup", line.trim())).unwrap_or_default();
        assert!(group.is_empty() || group.trim_end().ends_with("nice 5"), "{group}");
        drop(lane.stdin.take());
        lane.wait().unwrap();
        let there = || fs::read_to_string(&sleeper).is_ok_and(|text| !text.contains(") Z "));
        let begun = Instant::now();
        while there() && begun.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!there(), "{sleeper} is still there");
    }
}
