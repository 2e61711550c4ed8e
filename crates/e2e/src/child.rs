//! Processes that tools and tests start.

use std::ffi::OsStr;
use std::process::Command;

/// The suites also run in containers that withhold control groups: what is tested there is weaker, and not refused.
pub const WEAK_ISOLATION: (&str, &str) = ("TAUTO_WEAK_ISOLATION", "1");

/// A command whose process ends with the thread that starts it, however that ends: no load outlives the tool it was for. (Where starting a plain
/// process is what is timed, it is started plainly.)
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env(WEAK_ISOLATION.0, WEAK_ISOLATION.1);
    sandbox::processes::tie(&mut command);
    command
}
