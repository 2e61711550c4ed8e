//! Unnamed files: they vanish with the process, whichever way it ends.

use crate::SystemError;
use rustix::fs::{MemfdFlags, memfd_create};
pub use source::files::{on_disk, reopen};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;

/// Bytes of the label of a file in memory: the kernel takes 249 (memfd_create(2)).
const LABEL: usize = 200;

/// An empty file in memory: for what a run writes, which its output limit bounds. `name` is its label in /proc, shortened; any text is one.
pub fn in_memory(name: &str) -> Result<File, SystemError> {
    let end = name.find('\0').unwrap_or(name.len()).min(name.floor_char_boundary(LABEL));
    memfd_create(&name[..end], MemfdFlags::CLOEXEC)
        .map(File::from)
        .map_err(|e| SystemError::new("making a file in memory", e.to_string()))
}

/// A file in memory with this content, ready to be read from its start.
pub fn in_memory_with(name: &str, content: &[u8]) -> Result<File, SystemError> {
    let mut file = in_memory(name)?;
    file.write_all(content)
        .and_then(|()| file.seek(SeekFrom::Start(0)))
        .map_err(|e| SystemError::new("writing a file in memory", e.to_string()))?;
    Ok(file)
}

/// The same file that the user of a run may read, for a [`model::FileMount`]: itself, or a copy when its
/// permissions forbid it to others.
pub fn readable_for_everyone(mut file: File) -> io::Result<File> {
    let metadata = file.metadata()?;
    if metadata.mode() & 0o004 != 0 {
        return Ok(file);
    }
    on_disk(&mut file, metadata.len())
}

/// At most `limit` bytes from the start of a file, as text; says so when there was more.
pub fn head(file: &File, limit: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    reopen(file)?.take(limit).read_to_end(&mut bytes)?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    let size = file.metadata()?.len();
    if size > limit {
        text.push_str(&format!("\n[{} more bytes]", size - limit));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_in_memory_may_have_any_name() {
        for name in [String::new(), "x".repeat(249), "x".repeat(250), "é".repeat(4000)] {
            in_memory(&name).unwrap();
        }
    }

    #[test]
    fn reopened_files_have_their_own_offset_and_cannot_be_written() {
        let file = in_memory_with("t", b"abc").unwrap();
        let mut one = reopen(&file).unwrap();
        let mut two = reopen(&file).unwrap();
        for f in [&mut one, &mut two] {
            let mut s = String::new();
            f.read_to_string(&mut s).unwrap();
            assert_eq!(s, "abc");
            assert!(f.write_all(b"x").is_err());
        }
    }

    #[test]
    fn any_text_labels_a_file() {
        for name in [String::new(), "a\0b".into(), "x".repeat(300), "ä".repeat(4000), "/../a".into()] {
            assert!(in_memory(&name).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn copies_are_bounded_and_readable_for_everyone() {
        let mut file = on_disk(&mut &b"abcd"[..], 4).unwrap();
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o444);
        assert!(on_disk(&mut &b"abcd"[..], 3).is_err());
        file.set_permissions(Permissions::from_mode(0o600)).unwrap();
        file = readable_for_everyone(file).unwrap();
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o444);
        assert_eq!(head(&file, 2).unwrap(), "ab\n[2 more bytes]");
        assert_eq!(head(&file, 4).unwrap(), "abcd");
    }
}
