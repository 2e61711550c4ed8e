//! Changes of the machine that hold as long as an experiment does: made through the journal of `tauto tune`, and put back at
//! its end. Whoever is killed leaves a note of them, by which the next `tauto` puts them back.

use crate::config::Config;
use crate::terminal::{Failure, print_error, tell_error};
use crate::tune::{data_directory, open};
use host::machine::Machine;
use host::tune::{self, Change, Journal, Outcome, Standing, TuneConfig, Writer};
use model::{Isolation, Slot, SlotPlan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The note, in the directory of the journal.
const NOTE: &str = "lab.loan";
/// For what stands in the way of undoing to be gone.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is borrowed, and by whom.
#[derive(Debug, Serialize, Deserialize)]
struct ChangeNote {
    pid: u32,
    /// When that process started, in clock ticks since the start of the system: ids are used again.
    started: u64,
    /// Which start of the system it ran under.
    boot: String,
    /// The audit's ids of what is changed.
    ids: Vec<String>,
}

/// What would be changed for a slot, by these ids: only what is not in force yet, by whomever.
///
/// # Errors
/// Why nothing can be, in words.
pub(crate) fn wanted(machine: &Machine, slot: &Slot, ids: &[&str]) -> Result<Vec<Change>, String> {
    let config = Config::read().map_err(|e| e.to_string())?;
    let records = Journal::read(&data_directory()).map_err(|e| e.to_string())?;
    let boot = tune::boot_id(machine).map_err(|e| e.to_string())?;
    let in_force: BTreeSet<&str> = records
        .iter()
        .filter(|record| record.is_live(&boot))
        .map(|record| record.change.id.as_str())
        .collect();
    let only: Vec<String> =
        ids.iter().filter(|id| !in_force.contains(**id)).map(ToString::to_string).collect();
    if only.is_empty() {
        return Err(format!("{} in force already, by `tauto tune apply`", ids.join(", ")));
    }
    // Of all slots this one alone: the load has the CPUs of the others.
    let slot = Slot { isolation: Isolation::Partition, ..slot.clone() };
    let slots = SlotPlan { housekeeping: others(machine, &slot), slots: vec![slot] };
    let changes = tune::plan(machine, &slots, &TuneConfig { only, boot: false, ..config.tune });
    match changes.is_empty() {
        true => Err("nothing to change".into()),
        false if !rustix::process::geteuid().is_root() => Err("changing the machine needs root".into()),
        false => Ok(changes),
    }
}

fn others(machine: &Machine, slot: &Slot) -> Vec<u32> {
    let topology = host::facts::Topology::read(machine).unwrap_or_default();
    let taken: BTreeSet<u32> = slot.all_cpus().into_iter().collect();
    topology.online().difference(&taken).copied().collect()
}

/// The right to change these ids, as long as this lives.
pub(crate) struct TemporaryChanges {
    /// Where the journal is.
    directory: PathBuf,
    /// `/`, but in tests.
    root: PathBuf,
    machine: Machine,
    ids: BTreeSet<String>,
}

impl TemporaryChanges {
    /// Nothing is changed yet.
    pub(crate) fn new() -> Result<TemporaryChanges, Failure> {
        let machine = Machine::this().map_err(Failure::system)?;
        Ok(TemporaryChanges { directory: data_directory(), root: "/".into(), machine, ids: BTreeSet::new() })
    }

    /// Makes changes, until `stop`. What was refused stands in the outcome's records.
    pub(crate) fn make(&mut self, changes: &[Change], stop: &dyn Fn() -> bool) -> Result<Outcome, Failure> {
        self.ids.extend(changes.iter().map(|change| change.id.clone()));
        let mut journal = open(&self.machine, &self.directory)?;
        // The directory is there once the journal was open, and nothing is changed before the note is on disk.
        self.note().map_err(|e| Failure::system(format!("{}: {e}", self.directory.join(NOTE).display())))?;
        let mut knobs = Writer::at(&self.root).map_err(Failure::system)?;
        let mut between = |_: usize, _: &Change| match stop() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        tune::apply(changes, &mut journal, &mut knobs, &mut between).map_err(Failure::system)
    }

    /// Puts back what was found; more can be borrowed after.
    pub(crate) fn put_back(&mut self) -> Result<(), Failure> {
        if self.ids.is_empty() {
            return Ok(());
        }
        let left = undone(&self.machine, &self.root, &self.directory, self.ids.iter().cloned().collect())?;
        let removed = std::fs::remove_file(self.directory.join(NOTE));
        self.ids.clear();
        match removed {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Failure::system(e)),
            _ if left.is_empty() => Ok(()),
            _ => Err(Failure::system(format!("not everything could be restored: {}", left.join("; ")))),
        }
    }

    fn note(&self) -> io::Result<()> {
        let pid = std::process::id();
        let note = ChangeNote {
            pid,
            started: started(&self.machine, pid).unwrap_or_default(),
            boot: tune::boot_id(&self.machine)?,
            ids: self.ids.iter().cloned().collect(),
        };
        // Whoever reads it meanwhile sees the old one or the new one.
        let fresh = self.directory.join(format!("{NOTE}.new"));
        std::fs::write(&fresh, serde_json::to_string(&note)? + "\n")?;
        std::fs::rename(&fresh, self.directory.join(NOTE))
    }
}

impl Drop for TemporaryChanges {
    fn drop(&mut self) {
        if let Err(e) = self.put_back() {
            tell_error(e.hint("`sudo tauto tune undo` restores the previous values"));
        }
    }
}

/// Undoes the changes of these ids. Gives what could not be, in words.
fn undone(
    machine: &Machine,
    root: &Path,
    directory: &Path,
    ids: Vec<String>,
) -> Result<Vec<String>, Failure> {
    let mut journal = open(machine, directory)?;
    let mut knobs = Writer::at(root).map_err(Failure::system)?;
    let tune_config = TuneConfig { only: ids, ..TuneConfig::default() };
    let start = Instant::now();
    loop {
        let outcome =
            tune::undo(&mut journal, &tune_config, &mut knobs, &mut |_, _| ControlFlow::Continue(()))
                .map_err(Failure::system)?;
        let left = outcome.records.iter().filter(|record| !matches!(record.standing, Standing::Undone(_)));
        let left: Vec<String> =
            left.map(|record| format!("{} ({})", record.change.target, record.change.id)).collect();
        // Groups of a launcher that was killed stand in a partition's way until its keeper has removed them.
        if left.is_empty() || start.elapsed() > PATIENCE {
            return Ok(left);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Field 22 of proc_pid_stat(5).
fn started(machine: &Machine, pid: u32) -> Option<u64> {
    let stat = machine.read(&format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Puts back what an experiment that was killed has left changed, and tells so. One look where there is nothing.
pub(crate) fn recover() {
    let directory = data_directory();
    let path = directory.join(NOTE);
    let note = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(_) => return,
    };
    match Machine::this()
        .map_err(Failure::system)
        .and_then(|machine| recovered(&machine, Path::new("/"), &directory, &note))
    {
        Ok(None) => {}
        Ok(Some(told)) => {
            print_error(&format!("tauto: {told}\n"));
            let _ = std::fs::remove_file(&path);
        }
        Err(e) => tell_error(format!(
            "an interrupted experiment left this machine changed, see {}: {e}\n\
             hint: `sudo tauto tune undo` restores it",
            path.display()
        )),
    }
}

/// `None`: its owner is still at work.
fn recovered(
    machine: &Machine,
    root: &Path,
    directory: &Path,
    note: &str,
) -> Result<Option<String>, Failure> {
    let note: ChangeNote = serde_json::from_str(note).map_err(Failure::system)?;
    let boot = tune::boot_id(machine).map_err(Failure::system)?;
    if note.boot == boot && started(machine, note.pid) == Some(note.started) {
        return Ok(None);
    }
    let left = undone(machine, root, directory, note.ids.clone())?;
    let ids = note.ids.join(", ");
    match left.is_empty() {
        true => Ok(Some(format!("restored what an interrupted experiment had changed: {ids}"))),
        false => Err(Failure::system(format!("cannot restore {}", left.join("; ")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::tune::{Form, Target};
    use std::fs;
    use tempfile::TempDir;

    const MOST: &str = "/sys/devices/system/cpu/cpu1/cpufreq/scaling_max_freq";

    /// A directory that looks like a machine with a frequency, on which this very process runs.
    fn fake() -> TempDir {
        let root = tempfile::tempdir().unwrap();
        let own = fs::read_to_string("/proc/self/stat").unwrap();
        let pid = std::process::id();
        for (path, text) in [
            (MOST.to_string(), "3000000\n".to_string()),
            ("/proc/sys/kernel/random/boot_id".into(), "this-boot\n".into()),
            (format!("/proc/{pid}/stat"), own),
        ] {
            let path = root.path().join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn temporary(root: &Path) -> TemporaryChanges {
        let machine = Machine::at(root).unwrap();
        TemporaryChanges { directory: root.join("data"), root: root.into(), machine, ids: BTreeSet::new() }
    }

    fn lowered() -> Change {
        Change {
            id: "frequency_range".into(),
            target: Target::File { path: MOST.into(), form: Form::Text },
            found: "3000000".into(),
            want: "800000".into(),
        }
    }

    fn now(root: &Path) -> (String, bool) {
        let value = fs::read_to_string(root.join(MOST.trim_start_matches('/'))).unwrap();
        (value.trim().to_string(), root.join("data").join(NOTE).exists())
    }

    #[test]
    fn what_is_borrowed_is_put_back() {
        let root = fake();
        let mut temporary = temporary(root.path());
        for _ in 0..2 {
            let outcome = temporary.make(&[lowered()], &|| false).unwrap();
            assert_eq!(outcome.records[0].standing, Standing::Verified);
            assert_eq!(now(root.path()), ("800000".into(), true));
            temporary.put_back().unwrap();
            assert_eq!(now(root.path()), ("3000000".into(), false));
        }
        temporary.make(&[lowered()], &|| false).unwrap();
        drop(temporary);
        assert_eq!(now(root.path()), ("3000000".into(), false));
        assert!(!Journal::path_in(&root.path().join("data")).exists());
    }

    #[test]
    fn what_a_killed_owner_has_borrowed_is_put_back_and_what_a_living_one_has_is_left() {
        let root = fake();
        let mut owner = temporary(root.path());
        owner.make(&[lowered()], &|| false).unwrap();
        let note = fs::read_to_string(root.path().join("data").join(NOTE)).unwrap();
        let recovered = |note: &str| {
            let machine = Machine::at(root.path()).unwrap();
            super::recovered(&machine, root.path(), &root.path().join("data"), note)
        };
        assert!(recovered(&note).unwrap().is_none());
        assert_eq!(now(root.path()).0, "800000");
        // Its number belongs to another process now.
        let mut other: ChangeNote = serde_json::from_str(&note).unwrap();
        other.started += 1;
        let told = recovered(&serde_json::to_string(&other).unwrap()).unwrap();
        assert!(told.is_some_and(|told| told.ends_with(": frequency_range")));
        assert_eq!(now(root.path()).0, "3000000");
        assert!(recovered("no note").is_err());
    }
}
