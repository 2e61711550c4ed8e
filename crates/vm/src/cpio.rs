//! A file system image as the kernel unpacks it at start: a cpio archive of the format "newc"
//! (Documentation/driver-api/early-userspace/buffer-format.rst). Not compressed: unpacking would be the slow part.

use std::io::{self, Write};

const DIRECTORY: u32 = 0o040_755;
const REGULAR: u32 = 0o100_000;

/// An archive that is written as it is made.
#[derive(Debug)]
pub struct Image<W: Write> {
    out: W,
    entries: u32,
}

impl<W: Write> Image<W> {
    /// An empty archive.
    pub fn new(out: W) -> Image<W> {
        Image { out, entries: 0 }
    }

    /// Adds a directory; the ones above it must be there.
    ///
    /// # Errors
    /// The writer's.
    pub fn directory(&mut self, path: &str) -> io::Result<()> {
        self.entry(path, DIRECTORY, &[])
    }

    /// Adds a regular file of root's, below 4 GiB.
    ///
    /// # Errors
    /// The writer's, or the file is too large.
    pub fn file(&mut self, path: &str, permissions: u32, content: &[u8]) -> io::Result<()> {
        self.entry(path, REGULAR | permissions & 0o777, content)
    }

    /// Ends the archive.
    ///
    /// # Errors
    /// The writer's.
    pub fn finish(mut self) -> io::Result<W> {
        self.entry("TRAILER!!!", 0, &[])?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) -> io::Result<()> {
        let too_large =
            |_| io::Error::new(io::ErrorKind::FileTooLarge, format!("{path}: too large for an image"));
        self.entries += 1;
        let size = u32::try_from(content.len()).map_err(too_large)?;
        let name = u32::try_from(path.len() + 1).map_err(too_large)?;
        // ino, mode, uid, gid, nlink, mtime, filesize, maj, min, rmaj, rmin, namesize, chksum
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name, 0];
        let mut head = b"070701".to_vec();
        for field in fields {
            head.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        head.extend_from_slice(path.as_bytes());
        head.push(0);
        for part in [head.as_slice(), content] {
            self.out.write_all(part)?;
            self.out.write_all(&[0; 3][..part.len().next_multiple_of(4) - part.len()])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_begins_at_a_multiple_of_four() {
        let mut image = Image::new(Vec::new());
        image.directory("a").expect("memory takes it");
        image.file("a/odd", 0o640, b"abc").expect("memory takes it");
        let bytes = image.finish().expect("memory takes it");
        assert_eq!(bytes.len() % 4, 0);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let starts: Vec<usize> = text.match_indices("070701").map(|(at, _)| at).collect();
        assert_eq!(starts.len(), 3);
        assert!(starts.iter().all(|at| at % 4 == 0), "{starts:?}");
        assert!(text.contains("000081a0"), "a regular file, readable for its group");
    }
}
