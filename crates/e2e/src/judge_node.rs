//! A machine of a fleet, as a process of a test's own: `tauto worker --nats` without a slot, with a directory and a log of its own.

use crate::tauto;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

/// For it to end, with what it is at.
const ENDED_WITHIN: Duration = Duration::from_secs(30);

/// A running worker. Ended when dropped.
#[derive(Debug)]
pub struct JudgeNode {
    process: Child,
    log: PathBuf,
}

impl JudgeNode {
    /// Starts one that comes for a pool, with what it keeps in `data`; `by`: words that, put before a command, run it where it is to be.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start<S: AsRef<OsStr>>(
        by: &[S],
        data: &Path,
        (node, pool): (&str, &str),
        url: &str,
    ) -> Result<JudgeNode, String> {
        let told = |error: std::io::Error| format!("{}: {error}", data.display());
        fs::create_dir_all(data).map_err(told)?;
        let log = data.with_extension("log");
        let file = File::create(&log).map_err(told)?;
        let binary = tauto::binary()?;
        let mut words = by.iter().map(AsRef::as_ref).chain([binary.as_os_str()]);
        let mut command = crate::child::command(words.next().unwrap_or_default());
        command.args(words).args(["worker", "--slots", "none", "--node", node, "--pool", pool]);
        command.env("TAUTO_DATA_DIR", data).env("TAUTO_NATS", url);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        let process = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        Ok(JudgeNode { process, log })
    }

    /// What it has said so far.
    pub fn log(&self) -> String {
        fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// The process that was started.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    /// Waits until it ends by itself.
    ///
    /// # Errors
    /// It does not within that time.
    pub fn ends(&mut self, within: Duration) -> Result<ExitStatus, String> {
        tauto::wait(&mut self.process, within)
    }
}

impl Drop for JudgeNode {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            // It may end by itself just now.
            let _ = kill_process(self.pid(), Signal::TERM);
            drop(tauto::wait(&mut self.process, ENDED_WITHIN));
        }
    }
}
