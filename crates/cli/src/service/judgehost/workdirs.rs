//! Work directories of judgings, laid out as DOMjudge's own judgehost has them, for a jury that asks for more than a report holds.

use judgehost::task::{Dialect, Task};
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Most judgings kept; the oldest goes first.
const JUDGINGS: usize = 200;
/// Most bytes of all of them.
const BYTES: u64 = 1 << 30;

/// Files by their path in a directory.
pub(super) type Texts<'a> = [(&'a str, &'a [u8])];

pub(super) struct Workdirs {
    directory: PathBuf,
    /// Name and bytes of each judging, the oldest first.
    kept: VecDeque<(String, u64)>,
}

impl Workdirs {
    /// Those below a directory, which must exist.
    pub(super) fn new(directory: PathBuf) -> io::Result<Workdirs> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().into_string() {
                found.push((entry.metadata()?.modified()?, name, size(&entry.path())?));
            }
        }
        found.sort();
        let kept = found.into_iter().map(|(_, name, bytes)| (name, bytes)).collect();
        // The site's scripts read it under another user.
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755))?;
        Ok(Workdirs { directory, kept })
    }

    /// Where they are.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The name of a judging's directory, where there is one.
    pub(super) fn name(&self, task: &Task) -> Option<String> {
        name(task).filter(|name| self.kept.iter().any(|(known, _)| known == name))
    }

    /// Begins a judging: what was compiled, and what that said.
    pub(super) fn begin(&mut self, task: &Task, files: &Texts) {
        let Some(name) = name(task) else { return };
        if let Some(at) = self.kept.iter().position(|(known, _)| *known == name) {
            self.kept.remove(at);
        }
        let path = self.directory.join(&name);
        let written = match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => write(&path, files),
        };
        self.kept.push_back((name, 0));
        self.count(task, written);
    }

    /// Keeps what came of a test: an output, whole, and texts.
    pub(super) fn test(&mut self, task: &Task, passes: u32, output: &File, files: &Texts) {
        let (Some(name), Some(test)) = (self.name(task), test(task)) else { return };
        let path = self.directory.join(name).join(test);
        let path = match task.dialect() {
            Dialect::V8 => path,
            Dialect::V9 | Dialect::Main => path.join(passes.to_string()),
        };
        let write = || {
            let written = write(&path, files)?;
            let mut from = engine::files::reopen(output)?;
            Ok(written + io::copy(&mut from, &mut create(&path.join("program.out"))?)?)
        };
        let written = write();
        self.count(task, written);
    }

    /// All that a program printed at a test; in its last pass, unless the task asks for another.
    pub(super) fn output(&self, task: &Task) -> Option<Vec<u8>> {
        let path = self.directory.join(self.name(task)?).join(test(task)?);
        let pass = match task.pass.parse::<u32>() {
            Ok(pass) => path.join(pass.to_string()),
            Err(_) => {
                let numbers = fs::read_dir(&path).ok()?.flatten();
                let last = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).max();
                last.map_or_else(|| path.clone(), |pass| path.join(pass.to_string()))
            }
        };
        fs::read(pass.join("program.out")).ok()
    }

    /// Counts what was written to a judging's directory, and makes room.
    fn count(&mut self, task: &Task, written: io::Result<u64>) {
        match written {
            Ok(bytes) => self.kept.iter_mut().rev().take(1).for_each(|(_, all)| *all += bytes),
            Err(error) => {
                tracing::warn!(%error, task = task.id, "a work directory could not be kept for the jury")
            }
        }
        let total = |kept: &VecDeque<(String, u64)>| kept.iter().map(|(_, bytes)| bytes).sum::<u64>();
        while self.kept.len() > JUDGINGS || (self.kept.len() > 1 && total(&self.kept) > BYTES) {
            let Some((oldest, _)) = self.kept.pop_front() else { return };
            if let Err(error) = fs::remove_dir_all(self.directory.join(&oldest)) {
                tracing::warn!(%error, oldest, "a work directory could not be removed");
            }
        }
    }
}

/// Numbers of judgings begin again where a database is created again; with the UUID they differ.
fn name(task: &Task) -> Option<String> {
    let plain = |part: &str| {
        let plain = part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        plain && !part.is_empty() && part.len() <= 100
    };
    match task.uuid.as_str() {
        "" => plain(&task.job).then(|| task.job.clone()),
        uuid => (plain(&task.job) && plain(uuid)).then(|| format!("{}.{uuid}", task.job)),
    }
}

/// The directory of a test.
fn test(task: &Task) -> Option<String> {
    task.testcase_id.parse::<u64>().ok().map(|id| format!("testcase{id:05}"))
}

/// Writes files below a directory, and gives their bytes.
fn write(directory: &Path, files: &Texts) -> io::Result<u64> {
    let mut bytes = 0;
    make(directory)?;
    for (path, content) in files {
        let path = directory.join(path);
        path.parent().map_or(Ok(()), make)?;
        io::Write::write_all(&mut create(&path)?, content)?;
        bytes += content.len() as u64;
    }
    Ok(bytes)
}

fn make(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o755).create(directory)
}

/// A fresh file: names may be given twice, and then the last one holds.
fn create(path: &Path) -> io::Result<File> {
    let file = File::create(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o644))?;
    Ok(file)
}

fn size(path: &Path) -> io::Result<u64> {
    let facts = path.symlink_metadata()?;
    if !facts.is_dir() {
        return Ok(facts.len());
    }
    fs::read_dir(path)?.map(|entry| size(&entry?.path())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(job: &str, uuid: &str, pass: &str) -> Task {
        let config = json!({ "pass_limit": 2 });
        Task::read(&json!({
            "judgetaskid": 1, "jobid": job, "uuid": uuid, "testcase_id": "7", "pass": pass, "run_config": config,
        }))
        .unwrap()
    }

    #[test]
    fn outputs_are_found_by_judging_test_and_pass() {
        let directory = tempfile::tempdir().unwrap();
        let mut dirs = Workdirs::new(directory.path().to_owned()).unwrap();
        let output = engine::files::in_memory_with("output", b"all of it").unwrap();
        dirs.test(&of("5", "u", ""), 1, &output, &[]);
        assert_eq!(dirs.output(&of("5", "u", "")), None, "nothing was begun");
        dirs.begin(&of("5", "u", ""), &[("compile/a.c", b"int x;"), ("compile.out", b"")]);
        for pass in [2, 10] {
            let output = engine::files::in_memory_with("output", pass.to_string().as_bytes()).unwrap();
            dirs.test(&of("5", "u", ""), pass, &output, &[("feedback/judgemessage.txt", b"no")]);
        }
        let read = |dirs: &Workdirs, task| dirs.output(&task).map(|text| String::from_utf8(text).unwrap());
        // A process that resumes finds them, too.
        let dirs = Workdirs::new(directory.path().to_owned()).unwrap();
        assert_eq!(dirs.kept, [("5.u".to_owned(), 6 + 2 * 2 + 3)]);
        assert_eq!(read(&dirs, of("5", "u", "")).as_deref(), Some("10"));
        assert_eq!(read(&dirs, of("5", "u", "2")).as_deref(), Some("2"));
        assert_eq!(read(&dirs, of("5", "u", "3")), None);
        assert_eq!(read(&dirs, of("5", "other", "")), None, "of another database");
        assert_eq!(read(&dirs, of("../5", "u", "")), None);
    }

    #[test]
    fn the_oldest_judgings_go() {
        let directory = tempfile::tempdir().unwrap();
        let mut dirs = Workdirs::new(directory.path().to_owned()).unwrap();
        for job in 0..JUDGINGS + 5 {
            dirs.begin(&of(&job.to_string(), "", ""), &[("compile.out", b"x")]);
        }
        // Begun again, a judging is the youngest.
        dirs.begin(&of("5", "", ""), &[]);
        dirs.begin(&of("new", "", ""), &[]);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), JUDGINGS);
        assert!(directory.path().join("5").exists() && !directory.path().join("6").exists());
    }
}
