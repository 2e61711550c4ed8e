//! What an experiment has measured so far, on disk.
//!
//! A record is a text file: one line of JSON that says what was asked for, then one line for each run, written with a single
//! call before the next run begins. Whoever is ended, by whatever, loses at most the run that was going on; a line that was
//! cut off by that is no run and is removed. The same experiment, started again, goes on behind the last line.

use model::Forms;
use rustix::fs::{FlockOperation, flock};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The forms of a record, of its first line and of the runs of every experiment alike. A run is read by what its own
/// line has, so that readings may be added without another number; `tests/forms` has a record of each experiment in each of them.
pub const FORMS: Forms = Forms::kept("a record", 1);
/// The longest line there is, in bytes: a run with all its evidence has a few thousand.
const LONGEST: usize = 1 << 20;

/// The first line.
#[derive(Serialize, Deserialize)]
struct Head {
    /// Which experiment: `ladder`, `perturb`, `layout` or `link-order`.
    experiment: String,
    version: u32,
    /// All that decides which runs are made, and of what, on which machine. Equal heads are one experiment.
    asked: Value,
}

/// An open record, ours alone.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    file: File,
}

/// Why a record cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which one.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Another process writes it.
    #[error(
        "{0}: another tauto is measuring this very experiment\n\
         hint: wait for it, or name another file with --record"
    )]
    Busy(String),
    /// It holds something else.
    #[error("{path}: line {line}: {why}\nhint: --fresh restarts from scratch")]
    Line {
        /// Which file.
        path: String,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// It is the record of something else.
    #[error(
        "{path}: this is the record of another experiment ({differs})\n\
         hint: name another file with --record, or give --fresh to restart from scratch"
    )]
    Other {
        /// Which file.
        path: String,
        /// The first thing that differs: name, value there, value asked for.
        differs: String,
    },
}

impl Record {
    /// Opens the record of an experiment, made where there is none, and gives the runs it holds. `fresh`: what it holds,
    /// whatever that is, is thrown away.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn open<R: DeserializeOwned>(
        path: &Path,
        experiment: &str,
        asked: &Value,
        fresh: bool,
    ) -> Result<(Record, Vec<R>), RecordError> {
        let shown = path.display().to_string();
        let failed = |source: io::Error| RecordError::File { path: shown.clone(), source };
        let file = File::options().read(true).append(true).create(true).open(path).map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(RecordError::Busy(shown)),
            locked => locked.map_err(|e| failed(e.into()))?,
        }
        let mut record = Record { path: path.into(), file };
        if fresh {
            record.file.set_len(0).map_err(failed)?;
        }
        let (runs, end) = record.read(experiment, asked)?;
        record.file.set_len(end).map_err(failed)?;
        if end == 0 {
            let head = Head { experiment: experiment.into(), version: FORMS.newest, asked: asked.clone() };
            record.append(&head)?;
        }
        Ok((record, runs))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a run behind the others. It is in the file when this returns, whatever becomes of this process.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&mut self, run: &impl Serialize) -> Result<(), RecordError> {
        let failed = |source: io::Error| RecordError::File { path: self.path.display().to_string(), source };
        let mut line = serde_json::to_vec(run).map_err(|e| failed(e.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(failed)
    }

    /// Throws away all runs: what follows is another experiment of the same kind.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn clear(&mut self, experiment: &str, asked: &Value) -> Result<(), RecordError> {
        let failed = |source: io::Error| RecordError::File { path: self.path.display().to_string(), source };
        self.file.set_len(0).map_err(failed)?;
        self.append(&Head { experiment: experiment.into(), version: FORMS.newest, asked: asked.clone() })
    }

    /// The runs, and where the last whole line ends.
    fn read<R: DeserializeOwned>(
        &mut self,
        experiment: &str,
        asked: &Value,
    ) -> Result<(Vec<R>, u64), RecordError> {
        let shown = self.path.display().to_string();
        let failed = |source: io::Error| RecordError::File { path: shown.clone(), source };
        self.file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut lines = BufReader::new(&self.file);
        let (mut runs, mut end, mut number, mut line) = (Vec::new(), 0, 0, Vec::new());
        loop {
            line.clear();
            let read = lines.read_until(b'\n', &mut line).map_err(failed)?;
            if line.last() != Some(&b'\n') {
                return Ok((runs, end));
            }
            number += 1;
            let wrong = |why: String| RecordError::Line { path: shown.clone(), line: number, why };
            if read > LONGEST {
                return Err(wrong("this is not a record: the line is too long".into()));
            }
            if number == 1 {
                let head: Head = serde_json::from_slice(&line)
                    .map_err(|e| wrong(format!("this is not a record of an experiment: {e}")))?;
                let differs = difference(&head, experiment, asked);
                if let Some(differs) = differs {
                    return Err(RecordError::Other { path: shown, differs });
                }
            } else {
                runs.push(serde_json::from_slice(&line).map_err(|e| wrong(e.to_string()))?);
            }
            end += read as u64;
        }
    }
}

/// The first thing in which a head differs from what is asked for.
fn difference(head: &Head, experiment: &str, asked: &Value) -> Option<String> {
    if let Err(why) = FORMS.read(head.version) {
        return Some(why);
    }
    if head.experiment != experiment {
        return Some(format!("of `lab {}`, not of `lab {experiment}`", head.experiment));
    }
    let (there, here) = (head.asked.as_object()?, asked.as_object()?);
    let names = there.keys().chain(here.keys());
    let differs = |name: &&String| there.get(*name) != here.get(*name);
    let shown = |value: Option<&Value>| value.map_or("nothing".into(), Value::to_string);
    names
        .clone()
        .find(differs)
        .map(|name| format!("{name} is {} there and {} here", shown(there.get(name)), shown(here.get(name))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::io::Read;

    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Place {
            Place(tempfile::tempdir().unwrap())
        }
        fn path(&self) -> PathBuf {
            self.0.path().join("record")
        }
        fn open(&self, asked: &Value, fresh: bool) -> Result<(Record, Vec<u32>), RecordError> {
            Record::open(&self.path(), "layout", asked, fresh)
        }
        fn text(&self) -> String {
            let mut text = String::new();
            File::open(self.path()).unwrap().read_to_string(&mut text).unwrap();
            text
        }
    }

    #[test]
    fn runs_are_found_again_wherever_writing_was_cut_off() {
        let place = Place::new();
        let asked = json!({"runs": 3});
        let (mut record, runs) = place.open(&asked, false).unwrap();
        assert!(runs.is_empty());
        [10, 200, 3000].iter().for_each(|n| record.append(n).unwrap());
        drop(record);
        let whole = place.text();
        let lines: Vec<usize> = whole.match_indices('\n').map(|(at, _)| at + 1).collect();
        for cut in 0..=whole.len() {
            std::fs::write(place.path(), &whole[..cut]).unwrap();
            let (mut record, runs) = place.open(&asked, false).unwrap();
            let kept = lines.iter().filter(|end| **end <= cut).count().saturating_sub(1);
            assert_eq!(runs, [10, 200, 3000][..kept], "cut at {cut}");
            [10, 200, 3000][kept..].iter().for_each(|n| record.append(n).unwrap());
            assert_eq!(place.text(), whole, "cut at {cut}");
        }
    }

    #[test]
    fn another_experiment_is_not_continued() {
        let place = Place::new();
        place.open(&json!({"runs": 3, "to": 8}), false).unwrap().0.append(&1).unwrap();
        let why = place.open(&json!({"runs": 4, "to": 8}), false).unwrap_err().to_string();
        assert!(why.contains("runs is 3 there and 4 here"), "{why}");
        let (_, runs) = place.open(&json!({"runs": 4, "to": 8}), true).unwrap();
        assert!(runs.is_empty());
        std::fs::write(place.path(), "x\n").unwrap();
        let why = place.open(&json!({}), false).unwrap_err().to_string();
        assert!(why.contains("line 1: this is not a record"), "{why}");
        let head = r#"{"experiment":"ladder","version":1,"asked":{}}"#;
        std::fs::write(place.path(), format!("{head}\n")).unwrap();
        let why = place.open(&json!({}), false).unwrap_err().to_string();
        assert!(why.contains("of `lab ladder`"), "{why}");
        let head = head.replace("ladder", "layout");
        std::fs::write(place.path(), format!("{}\n", head.replace("\"version\":1", "\"version\":9")))
            .unwrap();
        let why = place.open(&json!({}), false).unwrap_err().to_string();
        assert!(why.contains("form 9 of a record") && why.contains("upgrade"), "{why}");
        std::fs::write(place.path(), format!("{head}\nno number\n")).unwrap();
        let why = place.open(&json!({}), false).unwrap_err().to_string();
        assert!(why.contains("line 2"), "{why}");
    }

    #[test]
    fn one_process_writes() {
        let place = Place::new();
        let held = place.open(&json!({}), false).unwrap();
        let why = place.open(&json!({}), false).unwrap_err().to_string();
        assert!(why.contains("another tauto"), "{why}");
        drop(held);
        place.open(&json!({}), false).unwrap();
    }
}
