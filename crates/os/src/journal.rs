//! A file of lines that outlives whoever writes it: held by one process, written with one call a line, and cut back to its last whole line.

use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A journal, ours alone.
#[derive(Debug)]
pub struct Journal {
    file: File,
}

impl Journal {
    /// Opens a journal, or begins it. `each` takes every whole line there is, without its end; from the first that it refuses on, the rest
    /// is removed: whoever was cut off while writing had not begun to act on it.
    ///
    /// # Errors
    /// It cannot be opened or read, or another process holds it ([`io::ErrorKind::WouldBlock`]).
    pub fn open(path: &Path, mut each: impl FnMut(&[u8]) -> bool) -> io::Result<Journal> {
        let mut file =
            OpenOptions::new().create(true).truncate(false).read(true).append(true).mode(0o600).open(path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let mut reader = BufReader::new(&mut file);
        let (mut line, mut whole) = (Vec::new(), 0);
        while reader.read_until(b'\n', &mut line)? > 0 {
            let Some((b'\n', text)) = line.split_last() else { break };
            if !each(text) {
                break;
            }
            whole += line.len() as u64;
            line.clear();
        }
        file.set_len(whole)?;
        Ok(Journal { file })
    }

    /// Writes a line. It is in the file when this returns, whatever becomes of this process; it is not forced to disk.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn append(&mut self, mut line: Vec<u8>) -> io::Result<()> {
        line.push(b'\n');
        self.file.write_all(&line)
    }

    /// Forgets all lines.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn clear(&mut self) -> io::Result<()> {
        // What is written goes to the end, wherever that is.
        self.file.set_len(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_line_is_removed_and_one_process_writes() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("journal");
        let read = || {
            let mut lines = Vec::new();
            let journal = Journal::open(&path, |line| {
                lines.push(String::from_utf8_lossy(line).into_owned());
                line != b"bad"
            });
            journal.map(|journal| (journal, lines))
        };
        let (mut journal, lines) = read().unwrap();
        assert!(lines.is_empty());
        journal.append(b"one".to_vec()).unwrap();
        assert_eq!(read().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(journal);
        std::fs::write(&path, "one\ntwo\nhal").unwrap();
        let (mut journal, lines) = read().unwrap();
        assert_eq!(lines, ["one", "two"]);
        journal.append(b"three".to_vec()).unwrap();
        drop(journal);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\nthree\n");
        std::fs::write(&path, "one\nbad\ntwo\n").unwrap();
        let (mut journal, _) = read().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n");
        journal.clear().unwrap();
        journal.append(b"x".to_vec()).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "x\n");
    }
}
