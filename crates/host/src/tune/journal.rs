//! What was changed, on disk before it is changed.
//!
//! One JSON object in each line. `start` says under which start of the system the following changes were made; `found`
//! is what all changes of an `apply` found before the first was made, since some knobs move others; `intent` is written
//! and flushed before a change, `outcome` after it and when it was put back. A change whose outcome is missing may have
//! been made. A line that was torn by a crash is the last one, and what it would have said had not begun, or is only an
//! outcome: it is cut off.

use super::{Change, Target};
use model::{Forms, hint};
use rustix::fs::{CWD, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const NAME: &str = "tune.journal";
const LOCK: &str = "tune.lock";
/// The forms of a journal; `tests/forms` has one in each of them, and each start of the system tells its own. Fields are not added without another
/// number: a journal that is not understood as a whole is not acted on.
const FORMS: Forms = Forms::kept("a journal of tuning", 2);
/// A journal of the largest machines has thousands of lines of some 200 bytes.
const MOST_BYTES: u64 = 64 << 20;

/// How far a change has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It is about to be made; without an outcome it may have been.
    Intended,
    /// Written; why it could not be read back.
    Applied(String),
    /// Written and read back as wanted.
    Verified,
    /// The system refused it, so that nothing was changed.
    Refused(String),
    /// Another value was read back: something may be changed.
    Otherwise(String),
    /// Put back, or gone by itself and why.
    Undone(Option<String>),
}

/// A change and how far it has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The change; `found` is from before the very first.
    pub change: Change,
    /// Its last state.
    pub standing: Standing,
    /// The start of the system under which it was made.
    pub boot: String,
}

impl Record {
    /// Whether it may be in force under this start of the system.
    pub fn is_live(&self, boot: &str) -> bool {
        let made = !matches!(self.standing, Standing::Refused(_) | Standing::Undone(_));
        made && (self.boot == boot || self.change.target.persists())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    Start { version: u32, boot: String },
    Found { target: Target, found: String },
    Intent { n: usize, change: Change },
    Outcome { n: usize, standing: Standing },
}

/// Why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The system's error.
    #[error("{path}: {error}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Somebody else could have written it.
    #[error("{0} belongs to another user or can be written by others\nhint: chown root {0}; chmod 755 {0}")]
    NotOurs(PathBuf),
    /// Another process is at work.
    #[error("{0} is locked: another `tauto tune` is running\nhint: wait until it has ended")]
    Busy(PathBuf),
    /// It says what cannot be understood.
    #[error("{}", hint::with_detail(&format!("{}:{line}: {why}", path.display()), "; nothing was changed"))]
    Malformed {
        /// The journal.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
}

/// What a journal says.
#[derive(Debug, Default)]
struct JournalContents {
    /// The start of the system that was noted last.
    boot: Option<String>,
    records: Vec<Record>,
    /// What was found, and under which start, by targets that are not put back.
    found: Vec<(Target, String, String)>,
}

impl JournalContents {
    fn found(&self, target: &Target, boot: &str) -> Option<&str> {
        let valid = |of: &str| of == boot || target.persists();
        let noted = self.found.iter().find(|(noted, _, of)| noted == target && valid(of));
        noted.map(|(_, found, _)| found.as_str())
    }

    fn settle(&mut self, n: usize, standing: Standing) {
        let Some(record) = self.records.get_mut(n) else { return };
        if matches!(standing, Standing::Refused(_) | Standing::Undone(_)) {
            self.found.retain(|(target, ..)| *target != record.change.target);
        }
        record.standing = standing;
    }
}

/// The journal, and the right to change the machine: nobody else holds it meanwhile.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    directory: OwnedFd,
    /// None as long as there is nothing to note.
    file: Option<File>,
    boot: String,
    said: JournalContents,
    _lock: File,
}

impl Journal {
    /// The journal's path in a data directory.
    pub fn path_in(directory: &Path) -> PathBuf {
        directory.join(NAME)
    }

    /// Takes the lock and reads what is there; makes the directory where it is missing, and no journal yet. `boot` is
    /// the present start of the system (/proc/sys/kernel/random/boot_id).
    ///
    /// # Errors
    /// See [`JournalError`].
    pub fn open(directory: &Path, boot: &str) -> Result<Journal, JournalError> {
        let path = Journal::path_in(directory);
        let fail = |error: Errno| JournalError::Io { path: directory.to_path_buf(), error: error.into() };
        std::fs::create_dir_all(directory)
            .map_err(|error| JournalError::Io { path: directory.to_path_buf(), error })?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = rustix::fs::openat(CWD, directory, flags, Mode::empty()).map_err(fail)?;
        let directory_file = File::from(open.try_clone().map_err(|error| io_error(directory, error))?);
        ours(&directory_file, directory)?;
        let lock = lock(&open, &directory.join(LOCK))?;
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&open, NAME, flags, Mode::empty()) {
            Ok(file) => Some(File::from(file)),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(JournalError::Io { path, error: error.into() }),
        };
        let mut journal = Journal {
            path,
            directory: open,
            file,
            boot: boot.to_string(),
            said: JournalContents::default(),
            _lock: lock,
        };
        if let Some(mut file) = journal.file.as_ref() {
            ours(file, &journal.path)?;
            let text = text(&mut file, &journal.path)?;
            let (said, whole) = parse(&text, &journal.path)?;
            journal.said = said;
            file.set_len(whole as u64).map_err(|error| io_error(&journal.path, error))?;
        }
        Ok(journal)
    }

    /// What a journal says, without the lock; nothing where there is none.
    ///
    /// # Errors
    /// It cannot be read or understood.
    pub fn read(directory: &Path) -> Result<Vec<Record>, JournalError> {
        let path = Journal::path_in(directory);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(CWD, &path, flags, Mode::empty()) {
            Ok(file) => Ok(parse(&text(&mut &File::from(file), &path)?, &path)?.0.records),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(Vec::new()),
            Err(error) => Err(JournalError::Io { path, error: error.into() }),
        }
    }

    /// Everything noted, in the order of the changes.
    pub fn records(&self) -> &[Record] {
        &self.said.records
    }

    /// The present start of the system.
    pub fn boot(&self) -> &str {
        &self.boot
    }

    /// Whether something may be in force.
    pub fn in_force(&self) -> bool {
        self.said.records.iter().any(|record| record.is_live(&self.boot))
    }

    /// Notes what is found before any of these changes is made; what was noted before stays.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn find(&mut self, changes: &[Change]) -> Result<(), JournalError> {
        let new: Vec<&Change> =
            changes.iter().filter(|change| self.said.found(&change.target, &self.boot).is_none()).collect();
        if new.is_empty() {
            return Ok(());
        }
        self.begin()?;
        let line = |c: &&Change| Line::Found { target: c.target.clone(), found: c.found.clone() };
        self.append(&new.iter().map(line).collect::<Vec<_>>())?;
        let noted = new.iter().map(|c| (c.target.clone(), c.found.clone(), self.boot.clone()));
        self.said.found.extend(noted);
        Ok(())
    }

    /// Notes a change that is about to be made; on disk when this returns. Returns its number, and whether it was made
    /// before. Its `found` becomes what was noted first.
    ///
    /// # Errors
    /// It cannot be written: then nothing must be changed.
    pub(super) fn intend(&mut self, change: &Change) -> Result<(usize, bool), JournalError> {
        let known = |record: &Record| {
            let refused = record.boot == self.boot && matches!(record.standing, Standing::Refused(_));
            record.change.target == change.target && (refused || record.is_live(&self.boot))
        };
        let records = &self.said.records;
        let n = records.iter().position(known).unwrap_or(records.len());
        let again = records.get(n).is_some_and(|record| record.is_live(&self.boot));
        let found = self.said.found(&change.target, &self.boot).unwrap_or(&change.found).to_string();
        let change = Change { found, ..change.clone() };
        self.begin()?;
        self.append(&[Line::Intent { n, change: change.clone() }])?;
        let record = Record { change, standing: Standing::Intended, boot: self.boot.clone() };
        match self.said.records.get_mut(n) {
            Some(known) => *known = record,
            None => self.said.records.push(record),
        }
        Ok((n, again))
    }

    /// Notes what came of it.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn settle(&mut self, n: usize, standing: Standing) -> Result<(), JournalError> {
        self.append(&[Line::Outcome { n, standing: standing.clone() }])?;
        self.said.settle(n, standing);
        Ok(())
    }

    /// Takes the journal away when nothing of it is in force.
    ///
    /// # Errors
    /// It cannot be removed.
    pub(super) fn close_if_done(&mut self) -> Result<(), JournalError> {
        if self.file.is_some() && !self.in_force() {
            let removed = rustix::fs::unlinkat(&self.directory, NAME, rustix::fs::AtFlags::empty());
            removed.and_then(|()| rustix::fs::fsync(&self.directory)).map_err(|e| self.error(e))?;
            self.file = None;
            self.said = JournalContents::default();
        }
        Ok(())
    }

    /// Makes the file, and notes this start of the system, where that is yet to be done.
    fn begin(&mut self) -> Result<(), JournalError> {
        if self.file.is_none() {
            let flags = OFlags::RDWR
                | OFlags::APPEND
                | OFlags::CREATE
                | OFlags::EXCL
                | OFlags::NOFOLLOW
                | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&self.directory, NAME, flags, Mode::from_raw_mode(0o600));
            self.file = Some(File::from(file.map_err(|e| self.error(e))?));
        }
        if self.said.boot.as_ref() != Some(&self.boot) {
            self.append(&[Line::Start { version: FORMS.newest, boot: self.boot.clone() }])?;
            rustix::fs::fsync(&self.directory).map_err(|e| self.error(e))?;
            self.said.boot = Some(self.boot.clone());
        }
        Ok(())
    }

    fn append(&mut self, lines: &[Line]) -> Result<(), JournalError> {
        let mut text = String::new();
        for line in lines {
            text += &serde_json::to_string(line).map_err(|e| self.error(e))?;
            text.push('\n');
        }
        let written = match self.file.as_mut() {
            Some(file) => file.write_all(text.as_bytes()).and_then(|()| file.sync_data()),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        written.map_err(|e| self.error(e))
    }

    fn error(&self, error: impl Into<io::Error>) -> JournalError {
        JournalError::Io { path: self.path.clone(), error: error.into() }
    }
}

fn io_error(path: &Path, error: impl Into<io::Error>) -> JournalError {
    JournalError::Io { path: path.to_path_buf(), error: error.into() }
}

/// Only we can have written it.
fn ours(file: &File, path: &Path) -> Result<(), JournalError> {
    let facts = file.metadata().map_err(|error| io_error(path, error))?;
    let ours = facts.uid() == rustix::process::geteuid().as_raw() && facts.mode() & 0o022 == 0;
    if ours { Ok(()) } else { Err(JournalError::NotOurs(path.to_path_buf())) }
}

fn lock(directory: &OwnedFd, path: &Path) -> Result<File, JournalError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, LOCK, flags, Mode::from_raw_mode(0o600));
    let file = File::from(file.map_err(|error| io_error(path, error))?);
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(Errno::WOULDBLOCK) => Err(JournalError::Busy(path.to_path_buf())),
        Err(error) => Err(io_error(path, error)),
    }
}

fn text(file: &mut impl Read, path: &Path) -> Result<String, JournalError> {
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(|error| io_error(path, error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What the whole lines say, and how many bytes they are.
fn parse(text: &str, path: &Path) -> Result<(JournalContents, usize), JournalError> {
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    let mut said = JournalContents::default();
    for (number, line) in text[..whole].lines().enumerate() {
        let bad = |why: &str| JournalError::Malformed {
            path: path.to_path_buf(),
            line: number + 1,
            why: why.to_string(),
        };
        let boot = || said.boot.clone().ok_or_else(|| bad("a change before the first start"));
        match serde_json::from_str(line).map_err(|e| bad(&e.to_string()))? {
            Line::Start { version, boot } => {
                FORMS.read(version).map_err(|why| bad(&why))?;
                said.boot = Some(boot);
            }
            Line::Intent { n, change } => {
                let record = Record { change, standing: Standing::Intended, boot: boot()? };
                match said.records.len() {
                    len if n == len => said.records.push(record),
                    len if n < len => said.records[n] = record,
                    _ => return Err(bad(&format!("change {n} comes too early"))),
                }
            }
            Line::Found { target, found } => said.found.push((target, found, boot()?)),
            Line::Outcome { n, standing } if n < said.records.len() => said.settle(n, standing),
            Line::Outcome { n, .. } => return Err(bad(&format!("no change {n}"))),
        }
    }
    Ok((said, whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::Form;

    const KEPT: [&str; 2] = [
        include_str!("../../tests/forms/journal-1.jsonl"),
        include_str!("../../tests/forms/journal-2.jsonl"),
    ];

    /// With every kind of line, target and standing.
    fn written() -> String {
        let targets = [
            Target::File { path: "/sys/a".into(), form: Form::Text },
            Target::Controller {
                path: "/sys/fs/cgroup/cgroup.subtree_control".into(),
                name: "cpuset".into(),
            },
            Target::Directory("/sys/fs/cgroup/tauto".into()),
            Target::Whole("/etc/tauto.conf".into()),
            Target::Task { pid: 7, started: 8, comm: "kswapd0".into() },
            Target::Service("irqbalance".into()),
            Target::File { path: "/sys/fs/resctrl/schemata".into(), form: Form::Cache },
        ];
        let standings = [
            Standing::Intended,
            Standing::Applied("it cannot be read".into()),
            Standing::Verified,
            Standing::Refused("EBUSY".into()),
            Standing::Otherwise("3".into()),
            Standing::Undone(Some("gone".into())),
            Standing::Verified,
        ];
        let mut lines = vec![Line::Start { version: FORMS.newest, boot: "a boot".into() }];
        for (n, (target, standing)) in targets.into_iter().zip(standings).enumerate() {
            lines.push(Line::Found { target: target.clone(), found: "1".into() });
            let change = Change { id: "governor".into(), target, found: "1".into(), want: "2".into() };
            lines.extend([Line::Intent { n, change }, Line::Outcome { n, standing }]);
        }
        lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect()
    }

    #[test]
    fn what_is_written_changes_only_with_the_number_of_its_form() {
        FORMS.hold(&written(), &KEPT.map(String::from), String::eq);
    }

    #[test]
    fn every_form_there_was_is_read() {
        for (text, records) in KEPT.into_iter().zip([6, 7]) {
            let (said, whole) = parse(text, Path::new("journal")).unwrap();
            assert_eq!(
                (whole, said.records.len(), said.boot.as_deref()),
                (text.len(), records, Some("a boot"))
            );
        }
        let later = KEPT[0].replace("\"version\":1", "\"version\":3");
        let error = parse(&later, Path::new("journal")).unwrap_err().to_string();
        assert!(
            error
                .contains("form 3 of a journal of tuning, and this version knows 1 to 2; nothing was changed\nhint: upgrade tauto here"),
            "{error}"
        );
    }
}
