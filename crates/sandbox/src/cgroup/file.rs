//! One control file, kept open: reading it again costs one system call.

use os::retry::{CONTROLLING, repeat};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a group may take to be rid of what was in it: the last process of a group, and pages being given back, may be
/// gone from our sight before they are gone from the group.
pub(super) const SETTLING: Duration = Duration::from_millis(200);

pub(super) struct CgroupFile {
    path: PathBuf,
    file: File,
}

impl CgroupFile {
    /// Opens `name` in the group `dir`, whose path is for messages.
    pub(super) fn open(
        dir: BorrowedFd<'_>,
        group: &Path,
        name: &str,
        access: OFlags,
    ) -> io::Result<CgroupFile> {
        let path = group.join(name);
        match rustix::fs::openat(dir, name, access | OFlags::CLOEXEC, Mode::empty()) {
            Ok(fd) => Ok(CgroupFile { path, file: File::from(fd) }),
            Err(e) => Err(super::named(&path, e.into())),
        }
    }

    /// Opens `name` for reading in a group that is not ours.
    pub(super) fn open_in(group: &Path, name: &str) -> io::Result<CgroupFile> {
        let path = group.join(name);
        let file = File::open(&path).map_err(|e| super::named(&path, e))?;
        Ok(CgroupFile { path, file })
    }

    /// Reads the file once. The kernel keeps the buffer until the file is closed (seq_read_iter, fs/seq_file.c), so later reads
    /// allocate nothing.
    pub(super) fn read_once(self) -> io::Result<CgroupFile> {
        self.read().map(|_| self)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub(super) fn write(&self, text: &str) -> io::Result<()> {
        repeat(CONTROLLING, SETTLING, || self.file.write_at(text.as_bytes(), 0))
            .map(drop)
            .map_err(|e| super::named(&self.path, e))
    }

    pub(super) fn read(&self) -> io::Result<String> {
        let mut buffer = [0; 1024];
        let n = self.file.read_at(&mut buffer, 0).map_err(|e| super::named(&self.path, e))?;
        Ok(String::from_utf8_lossy(&buffer[..n]).into_owned())
    }

    /// The file as one number; `max` is the greatest.
    pub(super) fn number(&self) -> io::Result<u64> {
        match self.read()?.trim() {
            "max" => Ok(u64::MAX),
            text => text
                .parse()
                .map_err(|_| super::named(&self.path, io::Error::other(format!("`{text}` is not a number")))),
        }
    }

    /// The numbers behind some keys in lines of `key number`, all of one moment.
    pub(super) fn keyed<const N: usize>(&self, keys: [&str; N]) -> io::Result<[u64; N]> {
        let text = self.read()?;
        let mut numbers = [0; N];
        for (key, number) in keys.iter().zip(&mut numbers) {
            *number = text
                .lines()
                .find_map(|l| l.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
                .ok_or_else(|| {
                    super::named(&self.path, io::Error::other(format!("no number behind `{key}`")))
                })?;
        }
        Ok(numbers)
    }
}
