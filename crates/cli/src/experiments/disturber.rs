//! Loads beside runs: `tauto load` as a child that ends with us, however we end.

use crate::terminal::Failure;
use host::cpulist::to_list;
use loads::LONGEST;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// A load as it is to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Disturbance {
    /// As in `tauto load --kind`.
    pub(crate) kind: &'static str,
    /// On which CPUs, a thread on each.
    pub(crate) cpus: Vec<u32>,
    /// Of the real-time kind.
    pub(crate) priority: Option<u8>,
}

/// A load under way. It ends when this is dropped.
pub(crate) struct Disturber(Child);

impl Disturber {
    /// Starts a load, and waits until it keeps all its CPUs busy. To be called by the thread that lives longest: the kernel
    /// ends the load with it.
    pub(crate) fn start(of: &Disturbance) -> Result<Disturber, Failure> {
        let own = std::env::current_exe().map_err(Failure::system)?;
        let cpus = to_list(&of.cpus.iter().copied().collect());
        let mut command = Command::new(own);
        command.args(["load", "--kind", of.kind, "--cpus", &cpus, "--tell"]);
        command.args(["--seconds", &LONGEST.as_secs().to_string(), "--of", &std::process::id().to_string()]);
        command.args(of.priority.iter().flat_map(|n| ["--priority".to_string(), n.to_string()]));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut load = Disturber(command.spawn().map_err(Failure::system)?);
        let mut told = String::new();
        let stdout = load.0.stdout.take().map(BufReader::new);
        let read = stdout.map(|mut lines| lines.read_line(&mut told)).transpose().map_err(Failure::system)?;
        match read {
            Some(1..) => Ok(load),
            _ => Err(Failure::system(format!("load {} on CPUs {cpus}: {}", of.kind, load.why_not()))),
        }
    }

    /// Its last words.
    fn why_not(&mut self) -> String {
        let mut said = String::new();
        if let Some(stderr) = &mut self.0.stderr {
            // What can be read of it is all there is to tell.
            let _ = stderr.read_to_string(&mut said);
        }
        match said.rsplit_once("error: ") {
            Some((_, why)) => why.trim_end().to_string(),
            None => said.lines().last().unwrap_or("it ended without a message").to_string(),
        }
    }
}

impl Drop for Disturber {
    fn drop(&mut self) {
        // Both fail only where it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
