//! The files of a machine, this one or a recorded one: the only way by which facts are read.

mod recording;

use os::beneath::{self, Leaving};
use recording::{Entry, Recording};
use rustix::fs::{CWD, Mode, OFlags};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Most of a file that is read: the largest of those we look at, /proc/interrupts of a large server, has a few hundred
/// KiB.
const MOST_BYTES: u64 = 2 << 20;

/// The files of a machine.
pub struct Machine {
    files: Files,
    /// Everything that was asked, when it is to be recorded.
    asked: Option<Mutex<Recording>>,
}

enum Files {
    /// Below this directory; links are followed as if it were `/`.
    Below(OwnedFd),
    /// As they were on another machine.
    Recorded(Recording),
}

impl Machine {
    /// This machine.
    ///
    /// # Errors
    /// `/` cannot be opened.
    pub fn this() -> io::Result<Machine> {
        Machine::at(Path::new("/"))
    }

    /// A machine as recorded in a file, or whose /proc, /sys and so on lie in a directory.
    ///
    /// # Errors
    /// There is no such file or directory, or the file is no recording (`InvalidData`, with the line).
    pub fn at(root: &Path) -> io::Result<Machine> {
        let files = if root.is_file() {
            let text = std::fs::read_to_string(root)?;
            let recording =
                Recording::parse(&text).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?;
            Files::Recorded(recording)
        } else {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            Files::Below(rustix::fs::openat(CWD, root, flags, Mode::empty())?)
        };
        Ok(Machine { files, asked: None })
    }

    /// A machine from the text of a recording.
    ///
    /// # Errors
    /// The line that is not understood.
    pub fn parse(recording: &str) -> Result<Machine, String> {
        Ok(Machine { files: Files::Recorded(Recording::parse(recording)?), asked: None })
    }

    /// The same machine, remembering every answer from now on for [`Machine::recording`].
    pub fn remembering(self) -> Machine {
        Machine { asked: Some(Mutex::default()), ..self }
    }

    /// Everything that was asked since [`Machine::remembering`], as text that [`Machine::parse`] reads. It holds nothing
    /// that was not read, and of the kernel's parameters only those that concern time.
    pub fn recording(&self) -> String {
        let asked = self.asked.as_ref().map(|asked| asked.lock().unwrap_or_else(PoisonError::into_inner));
        asked.map_or_else(String::new, |asked| asked.to_text())
    }

    /// A file's text without trailing white space, at most 2 MiB; `path` is absolute. What is not UTF-8 is replaced, and so
    /// are control characters: threads choose their names, and recordings are looked at on terminals.
    ///
    /// # Errors
    /// As the system says, or as it said on the recorded machine.
    pub fn read(&self, path: &str) -> io::Result<String> {
        let read = match &self.files {
            Files::Below(root) => read_below(root, path),
            Files::Recorded(recording) => recording.read(path),
        };
        self.remember(path, read.as_ref().map(|text| Entry::Text(text.clone())));
        read
    }

    /// Names in a directory, sorted; with numbers in the order of numbers.
    ///
    /// # Errors
    /// As [`Machine::read`].
    pub fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let listed = match &self.files {
            Files::Below(root) => list_below(root, path),
            Files::Recorded(recording) => recording.list(path),
        };
        let listed = listed.map(|mut names| {
            names.sort_by_key(|a| natural(a));
            names
        });
        self.remember(path, listed.as_ref().map(|names| Entry::Directory(names.iter().cloned().collect())));
        listed
    }

    /// What a symbolic link says.
    ///
    /// # Errors
    /// As [`Machine::read`].
    pub fn link(&self, path: &str) -> io::Result<String> {
        let read = match &self.files {
            Files::Below(root) => link_below(root, path),
            Files::Recorded(recording) => recording.link(path),
        };
        self.remember(path, read.as_ref().map(|to| Entry::Link(to.clone())));
        read
    }

    /// A number in a file.
    ///
    /// # Errors
    /// As [`Machine::read`]; `InvalidData` where it holds none.
    pub fn number<T: std::str::FromStr>(&self, path: &str) -> io::Result<T> {
        let text = self.read(path)?;
        let why = || {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{path} holds `{}`, not a number", text.trim()),
            )
        };
        text.trim().parse().map_err(|_| why())
    }

    fn remember(&self, path: &str, answer: Result<Entry, &io::Error>) {
        if let Some(asked) = &self.asked {
            let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
            match answer {
                Ok(entry) => asked.note(path, entry),
                // What is not there needs no line.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => asked.note(path, Entry::error(e)),
            }
        }
    }
}

/// Of the kernel's parameters those that concern time, as a recording keeps them.
pub fn timing_parameters(cmdline: &str) -> String {
    recording::without_secrets(cmdline)
}

/// Opens a path of the machine, whose root is `root`.
pub(crate) fn open_below(root: &OwnedFd, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
    beneath::open(root, path, flags, Leaving::StaysAtRoot)
}

fn read_below(root: &OwnedFd, path: &str) -> io::Result<String> {
    let file = File::from(open_below(root, path, OFlags::RDONLY | OFlags::NONBLOCK)?);
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    let steers = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.trim_end().replace(steers, "\u{fffd}"))
}

fn list_below(root: &OwnedFd, path: &str) -> io::Result<Vec<String>> {
    let directory = open_below(root, path, OFlags::RDONLY | OFlags::DIRECTORY)?;
    let entries = rustix::fs::Dir::read_from(&directory)?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let names: BTreeSet<String> = names.collect::<io::Result<_>>()?;
    Ok(names.into_iter().filter(|name| name != "." && name != "..").collect())
}

fn link_below(root: &OwnedFd, path: &str) -> io::Result<String> {
    let link = open_below(root, path, OFlags::PATH | OFlags::NOFOLLOW)?;
    let to = rustix::fs::readlinkat(&link, "", Vec::new())?;
    Ok(to.to_string_lossy().into_owned())
}

/// `cpu10` after `cpu9`: text and numbers in turn.
fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, number) = rest.split_at(digits);
        let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        let (number, after) = number.split_at(end);
        parts.push((text.to_string(), number.parse().unwrap_or(0)));
        rest = after;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_and_its_recording_answer_alike() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        std::fs::create_dir_all(at("sys/cpu/cpu10")).unwrap();
        std::fs::create_dir_all(at("sys/cpu/cpu9")).unwrap();
        std::fs::write(at("sys/cpu/cpu9/n"), "7\n").unwrap();
        std::fs::write(at("sys/cpu/text"), "two\n\tlines\n").unwrap();
        std::fs::write(at("sys/cpu/name"), b"\x1b[2J\r\xff\0x\n").unwrap();
        std::os::unix::fs::symlink("../cpu/cpu9", at("sys/cpu/to")).unwrap();
        std::os::unix::fs::symlink("/etc", at("sys/out")).unwrap();
        let machine = Machine::at(dir.path()).unwrap().remembering();
        let ask = |m: &Machine| {
            (
                m.list("/sys/cpu").unwrap(),
                m.number::<u32>("/sys/cpu/cpu9/n").unwrap(),
                m.read("/sys/cpu/text").unwrap(),
                m.read("/sys/cpu/to/n").unwrap(),
                m.read("/sys/cpu/name").unwrap(),
                m.link("/sys/cpu/to").unwrap(),
                m.read("/sys/none").unwrap_err().kind(),
                m.read("/sys/out/hostname").unwrap_err().kind(),
                m.list("/sys/cpu/cpu10").unwrap(),
            )
        };
        let seen = ask(&machine);
        assert_eq!(seen.0, ["cpu9", "cpu10", "name", "text", "to"]);
        assert_eq!((seen.1, &*seen.2, &*seen.3, &*seen.5), (7, "two\n\tlines", "7", "../cpu/cpu9"));
        assert_eq!(seen.4, "\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}x");
        assert_eq!((seen.6, seen.7), (io::ErrorKind::NotFound, io::ErrorKind::NotFound));
        let again = Machine::parse(&machine.recording()).unwrap();
        assert_eq!(ask(&again), seen);
    }
}
