//! Processes that tools and tests start.

use std::ffi::OsStr;
use std::process::Command;

/// A command whose process ends with the thread that starts it, however that ends: no load outlives the tool it was for. (Where starting a plain
/// process is what is timed, it is started plainly.)
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    sandbox::processes::tie(&mut command);
    command
}
