//! In the machine: the first process, and what answers on the port.

mod agent;
mod init;

use rustix::system::{RebootCommand, reboot};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where a guest finds what it is.
pub(crate) const PLAN: &str = "machine.json";
/// Directory of modules in the image.
pub(crate) const MODULES: &str = "modules";
/// Directory of single files in the image.
pub(crate) const FILES: &str = "files";

/// What a guest lays out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// Tags of shared directories and their paths.
    pub(crate) directories: BTreeMap<String, String>,
    /// Names below [`FILES`] and their paths.
    pub(crate) files: BTreeMap<String, String>,
    /// Symbolic links and their targets.
    pub(crate) links: BTreeMap<String, String>,
}

/// The first process of a guest: it does not return while the machine is wanted. Whatever goes wrong is said on the console, which is the
/// kernel's log on the host's side.
pub fn guest_main() -> u8 {
    // Somebody called us so by hand.
    if std::process::id() != 1 {
        return 2;
    }
    let ended = init::begin().and_then(agent::serve);
    if let Err(why) = ended {
        let _ = std::fs::write("/dev/kmsg", format!("<2>tauto: {why}\n"));
    }
    let _ = reboot(RebootCommand::Restart);
    3
}
