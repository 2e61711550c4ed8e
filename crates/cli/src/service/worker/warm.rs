//! Compiling once what languages have in common, beside the slots, while workers begin already: the first submission of such a language is then as
//! quick as the next. What comes of it stays in the cache directory.

use super::WorkerArgs;
use crate::Done;
use crate::judging::{artifacts, languages};
use crate::reservation::{planned, slots_config};
use crate::service::log::LogForm;
use crate::terminal::Failure;
use engine::slot::Station;
use engine::warm::PendingWarmUps;
use host::machine::Machine;
use model::Placement;
use sandbox::{Launcher, LauncherOptions};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// `off`: the first program of each language waits for that.
const PREPARE: &str = "TAUTO_PREPARE";

/// Starts a process that does it, and ends with this thread's process at the latest. Launchers have been forked by now.
pub(super) fn begin(languages: Option<&Path>, log: LogForm) {
    if std::env::var_os(PREPARE).is_some_and(|prepare| prepare == "off") {
        return;
    }
    let mut args: Vec<OsString> =
        ["worker", "--warm", "--log", log.name(), "--parent"].map(OsString::from).into();
    args.push(std::process::id().to_string().into());
    if let Some(languages) = languages {
        args.extend(["--languages".into(), languages.into()]);
    }
    // The thread lives as long as the child, which ends with it.
    std::thread::spawn(move || {
        let mut command = Command::new("/proc/self/exe");
        match command.args(args).stdin(Stdio::null()).status() {
            Ok(status) if status.success() => {}
            Ok(status) => {
                tracing::warn!(%status, "languages were not prepared; the first submission in each waits for it")
            }
            Err(error) => {
                tracing::warn!(%error, "languages were not prepared; the first submission in each waits for it")
            }
        }
    });
}

/// Does it.
pub(super) fn main(args: &WorkerArgs) -> Result<Done, Failure> {
    args.process.die_with_parent()?;
    let (languages, artifacts) = (languages(args.languages.as_ref())?, Arc::new(artifacts()?));
    let pending = PendingWarmUps::find(&languages, &artifacts);
    if pending.is_empty() {
        return Ok(Done::Good);
    }
    let machine = Machine::this().map_err(Failure::system)?;
    let housekeeping = planned(&machine, &slots_config(None)?)?.housekeeping;
    let options = LauncherOptions { housekeeping: housekeeping.clone(), ..LauncherOptions::default() };
    let placement = Placement { cpus: housekeeping, ..Placement::default() };
    let station = Station::new(Box::new(Launcher::start(&options)?), placement).with_artifacts(artifacts);
    let failed = pending.warm(&station, &AtomicBool::new(false)).map_err(crate::judging::failure)?;
    match failed.is_empty() {
        true => tracing::info!("languages are prepared"),
        false => {
            let languages = failed.join(", ");
            tracing::warn!(languages, "the warm-up does not compile; each program compiles what it needs");
        }
    }
    Ok(Done::Good)
}
