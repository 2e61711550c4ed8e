//! A file system image as the kernel unpacks it at start: a cpio archive of the format "newc"
//! (Documentation/driver-api/early-userspace/buffer-format.rst). Not compressed: unpacking would be the slow part.

const DIRECTORY: u32 = 0o040_755;
const REGULAR: u32 = 0o100_000;

/// The archive so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Image {
    bytes: Vec<u8>,
    entries: u32,
}

impl Image {
    /// Adds a directory; the ones above it must be there.
    pub(super) fn directory(&mut self, path: &str) {
        self.entry(path, DIRECTORY, &[]);
    }

    /// Adds a regular file of root's.
    pub(super) fn file(&mut self, path: &str, permissions: u32, content: Vec<u8>) {
        self.entry(path, REGULAR | permissions, &content);
    }

    /// The finished archive.
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.entries += 1;
        let size = u32::try_from(content.len()).expect("files of an image are small");
        let name = u32::try_from(path.len() + 1).expect("so are their names");
        // ino, mode, uid, gid, nlink, mtime, filesize, maj, min, rmaj, rmin, namesize, chksum
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn another_reader_finds_what_was_put_in() {
        let mut image = Image::default();
        image.directory("a");
        image.file("a/odd", 0o640, b"abc".to_vec());
        image.file("a/empty", 0o755, vec![]);
        let bytes = image.into_bytes();
        assert_eq!(bytes.len() % 4, 0);
        let Some(busybox) = super::super::BUSYBOX.into_iter().find(|p| std::path::Path::new(p).exists())
        else {
            return;
        };
        let mut cpio = Command::new(busybox)
            .args(["cpio", "-tv"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("busybox starts");
        cpio.stdin.take().expect("piped").write_all(&bytes).expect("it reads");
        let output = cpio.wait_with_output().expect("it ends");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let found: Vec<(&str, &str, &str)> = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
            .map(|words| (words[0], words[2], words[words.len() - 1]))
            .collect();
        let wanted = [("drwxr-xr-x", "0", "a"), ("-rw-r-----", "3", "a/odd"), ("-rwxr-xr-x", "0", "a/empty")];
        assert_eq!(found, wanted, "{text}");
    }
}
