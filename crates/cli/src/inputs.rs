//! Files that a command is to read as a whole.

use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The text of a regular file. A pipe or device could keep its reader waiting for ever.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    // Opening a pipe waits for its writer.
    let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is no regular file"));
    }
    io::read_to_string(file)
}
