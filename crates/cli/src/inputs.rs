//! Files that a command is to read as a whole.

use rustix::fs::OFlags;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// More of a device than this, in bytes, is never text for us.
const MOST_OF_A_DEVICE: u64 = 1 << 20;

/// The text of a regular file, or of a device such as `/dev/null`. A pipe could keep its reader waiting for ever.
///
/// # Errors
/// What opening and reading meet; something else than a file; text that is not UTF-8.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    // Opening a pipe waits for its writer.
    let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    let kind = file.metadata()?.file_type();
    match () {
        () if kind.is_file() => io::read_to_string(file),
        () if kind.is_char_device() => io::read_to_string(file.take(MOST_OF_A_DEVICE)),
        () => Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file")),
    }
}
