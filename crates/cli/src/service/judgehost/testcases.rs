//! Tests that were fetched: files by their hash, which all slots share.

use crate::terminal::Failure;
use judgehost::files;
use judgehost::report::{Disabled, InternalError};
use judgehost::server::Server;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::batch::Stop;

/// Bytes of tests kept as files.
const KEPT: u64 = 8 << 30;

pub(super) struct Tests {
    directory: PathBuf,
    /// What this process has seen to be what its hash says.
    proved: BTreeSet<String>,
}

impl Tests {
    pub(super) fn new(directory: PathBuf) -> Result<Tests, Failure> {
        fs::create_dir_all(&directory)
            .map_err(|e| Failure::system(format!("{}: {e}", directory.display())))?;
        Ok(Tests { directory, proved: BTreeSet::new() })
    }

    /// Input and answer of a test, fetched where they are not here.
    pub(super) fn get(&mut self, server: &Server, id: &str, hash: &str) -> Result<[File; 2], Stop> {
        let wrong = |why: String| {
            let description = format!("test {id}: {why}");
            Stop::told(InternalError {
                log: String::new(),
                description,
                disabled: Disabled::Testcase(id.to_owned()),
            })
        };
        let parts: Vec<&str> = hash.split('_').collect();
        let digits = |part: &&str| part.len() == 32 && part.bytes().all(|b| b.is_ascii_hexdigit());
        if parts.len() != 2 || !parts.iter().all(digits) {
            return Err(wrong(format!("`{hash}` is not a hash of a test")));
        }
        let paths = ["in", "ans"].map(|end| self.directory.join(format!("{hash}.{end}")));
        let proved =
            self.proved.contains(hash) || paths.iter().zip(&parts).all(|(path, part)| is(path, part));
        if proved && let [Ok(input), Ok(answer)] = [File::open(&paths[0]), File::open(&paths[1])] {
            self.proved.insert(hash.to_owned());
            return Ok([input, answer]);
        }
        self.make_room();
        let test = super::whole(|| Ok(files::testcase(server.files("testcase", id)?, hash)))?;
        let test = test.map_err(wrong)?;
        for (path, content) in paths.iter().zip([&test.input, &test.answer]) {
            self.keep(path, content).map_err(|e| Stop::Machine(format!("keeping a test: {e}")))?;
        }
        self.proved.insert(hash.to_owned());
        let open =
            |path: &Path| File::open(path).map_err(|e| Stop::Machine(format!("{}: {e}", path.display())));
        Ok([open(&paths[0])?, open(&paths[1])?])
    }

    fn keep(&self, path: &Path, content: &[u8]) -> std::io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let mut fresh = tempfile::NamedTempFile::new_in(&self.directory)?;
        fresh.write_all(content)?;
        // Shown to scripts as it is, where everyone may read it.
        fresh.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
        fresh.persist(path)?;
        Ok(())
    }

    /// Removes the files that were not used for longest.
    fn make_room(&mut self) {
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        let facts = |entry: std::io::Result<fs::DirEntry>| {
            let entry = entry.ok()?;
            let facts = entry.metadata().ok()?;
            Some((facts.accessed().ok()?, facts.len(), entry.path()))
        };
        let mut found: Vec<_> = entries.filter_map(facts).collect();
        found.sort();
        let mut total: u64 = found.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in found {
            if total <= KEPT {
                return;
            }
            // Another slot's process may have been quicker.
            drop(fs::remove_file(path));
            total -= size;
            self.proved.clear();
        }
    }
}

fn is(path: &Path, hash: &str) -> bool {
    fs::read(path).is_ok_and(|content| files::md5_hex(&content).eq_ignore_ascii_case(hash))
}
