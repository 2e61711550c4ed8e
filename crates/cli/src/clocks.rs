//! Runs by another clock than the kernel's.

use crate::options::Clock;
use crate::run::command;
use crate::terminal::Failure;
use engine::clocks::{self, Counted};
use model::{Observation, RunSpec};
use std::fs::File;
use std::os::fd::OwnedFd;

/// Prepares a run of this program by a clock.
pub(crate) fn on(
    clock: Clock,
    program: &str,
    spec: &mut RunSpec,
    fds: &mut Vec<OwnedFd>,
) -> Result<Option<Counted>, Failure> {
    if clock == Clock::Cpu {
        return Ok(None);
    }
    let emulator = clocks::emulator().map_err(Failure::system)?;
    let path = command::find_program(program)?;
    let file = File::open(&path).map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?;
    if !clocks::is_program(&file) {
        let why = format!(
            "{}: under --clock instructions name the interpreter of a script before it",
            path.display()
        );
        return Err(Failure::usage(why));
    }
    Ok(Some(clocks::count(spec, fds, &emulator).map_err(Failure::system)?))
}

/// The run with what its clock told.
pub(crate) fn told(counted: Option<Counted>, observation: Observation) -> Result<Observation, Failure> {
    match counted {
        Some(counted) => counted.told(observation).map_err(Failure::system),
        None => Ok(observation),
    }
}
