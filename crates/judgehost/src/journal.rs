//! What a host has in hand, on disk: tasks as they came, results before they are sent. Whatever ends the process, the next one goes on
//! from here, sends what was not acknowledged, as it was, and judges what has no result. DOMjudge's server does not by itself hand out again
//! what a host lost (DOMjudge, issue 2461).

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// Tasks came.
    Batch {
        /// From this server.
        server: String,
        /// As they came.
        tasks: Vec<Value>,
    },
    /// The server knows what came of compiling for a judging.
    Compiled {
        /// Its number.
        job: String,
    },
    /// A task is about to be judged.
    Begun {
        /// The task.
        task: u64,
    },
    /// A task has a result: the body of its report.
    Result {
        /// The task.
        task: u64,
        /// The body.
        body: String,
    },
    /// The server has the result of a task, or wants none.
    Done {
        /// The task.
        task: u64,
    },
}

/// What is in hand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The server it came from.
    pub server: String,
    /// Tasks that are not done, in order.
    pub tasks: Vec<Value>,
    /// The judging of which was told what came of compiling; empty: none.
    pub compiled: String,
    /// Results that were not acknowledged, by task.
    pub results: BTreeMap<u64, String>,
    /// The task that was begun last, and how often in a row.
    pub begun: (u64, u32),
}

impl State {
    /// The state after one more entry.
    pub fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Batch { server, tasks } => {
                let compiled = std::mem::take(&mut self.compiled);
                let same = tasks.iter().all(|task| job(task) == compiled);
                let compiled = if same { compiled } else { String::new() };
                *self = State { server, tasks, compiled, ..State::default() };
            }
            Entry::Compiled { job } => self.compiled = job,
            Entry::Begun { task } => {
                let times = if self.begun.0 == task { self.begun.1 } else { 0 };
                self.begun = (task, times.saturating_add(1));
            }
            Entry::Result { task, body } => drop(self.results.insert(task, body)),
            Entry::Done { task } => {
                self.results.remove(&task);
                self.tasks.retain(|value| value["judgetaskid"] != task);
            }
        }
    }
}

/// The judging that a task belongs to.
fn job(task: &Value) -> String {
    match &task["jobid"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A journal, held by this process alone.
#[derive(Debug)]
pub struct Journal {
    lines: os::journal::Journal,
    state: State,
}

impl Journal {
    /// Opens a journal, or begins it. The last line may be half written: whoever wrote it had not begun to act on it.
    ///
    /// # Errors
    /// It cannot be opened or read, or another process holds it ([`io::ErrorKind::WouldBlock`]).
    pub fn open(path: &Path) -> io::Result<Journal> {
        let mut state = State::default();
        let lines = os::journal::Journal::open(path, |line| {
            serde_json::from_slice(line).map(|entry| state.apply(entry)).is_ok()
        })?;
        Ok(Journal { lines, state })
    }

    /// What is in hand.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Writes an entry down. What came before is forgotten with a new batch.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn note(&mut self, entry: Entry) -> io::Result<()> {
        let begins = matches!(entry, Entry::Batch { .. });
        if begins {
            self.lines.clear()?;
        }
        self.write(&entry)?;
        self.state.apply(entry);
        // More tests of a judging that was compiled before.
        if begins && !self.state.compiled.is_empty() {
            self.write(&Entry::Compiled { job: self.state.compiled.clone() })?;
        }
        Ok(())
    }

    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.lines.append(serde_json::to_vec(entry)?)
    }

    /// Nothing is in hand any more.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn clear(&mut self) -> io::Result<()> {
        self.lines.clear()?;
        let compiled = std::mem::take(&mut self.state.compiled);
        self.state = State { compiled, ..State::default() };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn batch() -> Entry {
        Entry::Batch {
            server: "s".into(),
            tasks: vec![json!({"judgetaskid": 1, "jobid": "7"}), json!({"judgetaskid": 2, "jobid": "7"})],
        }
    }

    #[test]
    fn another_process_goes_on_where_one_was_killed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let result = |task| Entry::Result { task, body: format!("result of {task}") };
        let state = {
            let mut journal = Journal::open(&path).unwrap();
            assert_eq!(Journal::open(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
            for entry in
                [batch(), Entry::Compiled { job: "7".into() }, result(1), Entry::Done { task: 1 }, result(2)]
            {
                journal.note(entry).unwrap();
            }
            journal.state().clone()
        };
        assert_eq!((state.tasks.len(), state.results[&2].as_str()), (1, "result of 2"));
        let before = std::fs::read(&path).unwrap();
        // However far the last line got.
        for missing in 1..20 {
            std::fs::write(&path, &before[..before.len() - missing]).unwrap();
            let journal = Journal::open(&path).unwrap();
            assert_eq!((journal.state().tasks.len(), journal.state().results.len()), (1, 0), "{missing}");
            assert_eq!(journal.state().compiled, "7");
        }
        std::fs::write(&path, &before).unwrap();
        let mut journal = Journal::open(&path).unwrap();
        assert_eq!(*journal.state(), state);
        journal.note(batch()).unwrap();
        journal.note(result(1)).unwrap();
        drop(journal);
        let mut journal = Journal::open(&path).unwrap();
        journal.note(Entry::Begun { task: 2 }).unwrap();
        journal.note(Entry::Begun { task: 2 }).unwrap();
        assert_eq!((journal.state().tasks.len(), journal.state().compiled.as_str()), (2, "7"));
        assert_eq!(journal.state().begun, (2, 2));
        assert_eq!(journal.state().results.len(), 1);
        journal
            .note(Entry::Batch { server: "s".into(), tasks: vec![json!({"judgetaskid": 3, "jobid": 8})] })
            .unwrap();
        assert_eq!(journal.state().compiled, "", "of another judging");
        journal.clear().unwrap();
        drop(journal);
        assert_eq!(*Journal::open(&path).unwrap().state(), State::default());
    }
}
