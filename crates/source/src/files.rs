//! Unnamed files: they vanish with the process, whichever way it ends.

use std::fs::{File, Permissions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;

/// Copies `content` (at most `limit` bytes of it) into an unnamed file on disk that everyone may read and that
/// can be mounted, which a file in memory cannot.
pub fn on_disk(content: &mut dyn Read, limit: u64) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    let copied = io::copy(&mut content.take(limit.saturating_add(1)), &mut file)?;
    if copied > limit {
        return Err(io::Error::other(format!("more than the {limit} bytes it may have")));
    }
    file.set_permissions(Permissions::from_mode(0o444))?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

/// The same file opened again for reading: with an offset of its own, and without the permission to write.
pub fn reopen(file: &File) -> io::Result<File> {
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}
