//! A small zip archive from a stranger, unpacked in memory: names and contents, nothing on disk.

use super::archive::{clean_name, kind};
use std::collections::BTreeSet;
use std::io::{Cursor, Read};
use zip::ZipArchive;

/// A file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnpackedFile {
    /// Relative path, `/` between parts, without `.` and `..`.
    pub name: String,
    /// Its bytes.
    pub content: Vec<u8>,
    /// The archive says that it may be executed.
    pub executable: bool,
}

/// What of an archive is taken.
#[derive(Clone, Copy, Debug)]
pub struct UnpackLimits {
    /// Files and directories.
    pub entries: usize,
    /// Bytes of all files together.
    pub total_size: u64,
    /// Directories within directories.
    pub depth: usize,
}

/// Why an archive is not taken: in words, lower case, naming the entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotUnpacked(pub String);

/// Unpacks an archive. Directories without files are left out.
///
/// # Errors
/// No archive, larger than the limits, or with an entry that is neither a file nor a directory, is encrypted, leaves the
/// archive by its name or is there twice.
pub fn unpack(bytes: &[u8], limits: UnpackLimits) -> Result<Vec<UnpackedFile>, NotUnpacked> {
    let mut zip =
        ZipArchive::new(Cursor::new(bytes)).map_err(|e| NotUnpacked(format!("not a zip archive: {e}")))?;
    if zip.has_duplicate_names() {
        return Err(NotUnpacked("two entries have the same name".to_owned()));
    }
    if zip.len() > limits.entries {
        return Err(NotUnpacked(format!("{} entries, more than {}", zip.len(), limits.entries)));
    }
    let (mut files, mut names, mut left) = (Vec::new(), BTreeSet::new(), limits.total_size);
    for index in 0..zip.len() {
        let Some(file) = file(&mut zip, index, limits, left)? else { continue };
        left -= file.content.len() as u64;
        if !names.insert(file.name.clone()) {
            return Err(NotUnpacked(format!("`{}` appears twice", file.name)));
        }
        files.push(file);
    }
    Ok(files)
}

/// One entry; `None` for a directory. At most `left` bytes of it are ever held, whatever it says of its size.
fn file(
    zip: &mut ZipArchive<Cursor<&[u8]>>,
    index: usize,
    limits: UnpackLimits,
    left: u64,
) -> Result<Option<UnpackedFile>, NotUnpacked> {
    let mut entry = zip.by_index(index).map_err(|e| NotUnpacked(e.to_string()))?;
    let raw = String::from_utf8_lossy(entry.name_raw()).into_owned();
    let refuse = |why: &str| NotUnpacked(format!("`{raw}` {why}"));
    let mode = entry.unix_mode().unwrap_or(0);
    if entry.is_symlink() || !kind(mode) {
        return Err(refuse("is neither a file nor a directory\nhint: put the file itself into the archive"));
    }
    let name = entry.name().map_err(|e| refuse(&e.to_string()))?.into_owned();
    let name = clean_name(&name).map_err(|why| refuse(&why))?;
    if name.split('/').count() > limits.depth {
        return Err(refuse(&format!("is more than {} directories deep", limits.depth)));
    }
    if entry.is_dir() || name.is_empty() {
        return Ok(None);
    }
    let mut content = Vec::new();
    let read = (&mut entry).take(left.saturating_add(1)).read_to_end(&mut content);
    read.map_err(|e| refuse(&format!("cannot be read: {e}")))?;
    if content.len() as u64 > left {
        return Err(NotUnpacked(format!("more than {} bytes when unpacked", limits.total_size)));
    }
    Ok(Some(UnpackedFile { name, content, executable: mode & 0o111 != 0 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    const LIMITS: UnpackLimits = UnpackLimits { entries: 4, total_size: 1000, depth: 3 };

    fn made(fill: impl FnOnce(&mut ZipWriter<Cursor<Vec<u8>>>)) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        fill(&mut zip);
        zip.finish().unwrap().into_inner()
    }

    fn with(files: &[(&str, &[u8])]) -> Vec<u8> {
        made(|zip| {
            for (name, content) in files {
                zip.start_file(*name, SimpleFileOptions::default().unix_permissions(0o644)).unwrap();
                zip.write_all(content).unwrap();
            }
        })
    }

    #[test]
    fn files_come_out_with_their_rights() {
        let bytes = made(|zip| {
            zip.add_directory("d", SimpleFileOptions::default()).unwrap();
            zip.start_file("d/run", SimpleFileOptions::default().unix_permissions(0o755)).unwrap();
            zip.write_all(b"x").unwrap();
            zip.start_file("./a", SimpleFileOptions::default()).unwrap();
        });
        let file = |name: &str, content: &[u8], executable| UnpackedFile {
            name: name.into(),
            content: content.to_vec(),
            executable,
        };
        assert_eq!(unpack(&bytes, LIMITS).unwrap(), [file("d/run", b"x", true), file("a", b"", false)]);
        assert_eq!(unpack(&made(|_| {}), LIMITS).unwrap(), []);
    }

    #[test]
    fn what_could_harm_is_refused_with_its_name() {
        let link = |name: &str| {
            made(|zip| zip.add_symlink(name, "/etc/passwd", SimpleFileOptions::default()).unwrap())
        };
        let large = [0; 600];
        for (bytes, says) in [
            (b"no archive".to_vec(), "not a zip archive"),
            (link("run"), "`run` is neither"),
            (with(&[("../a", b"")]), "`../a` its name leaves"),
            (with(&[("/etc/passwd", b"")]), "absolute"),
            (with(&[("a", b""), ("./a", b"")]), "`a` appears twice"),
            (with(&[("a/b/c/d", b"")]), "more than 3 directories"),
            (with(&[("1", b""), ("2", b""), ("3", b""), ("4", b""), ("5", b"")]), "5 entries"),
            (with(&[("1", &large), ("2", &large)]), "more than 1000 bytes"),
        ] {
            let why = unpack(&bytes, LIMITS).unwrap_err().to_string();
            assert!(why.contains(says), "{says}: {why}");
        }
    }

    #[test]
    fn exactly_as_much_as_is_allowed_is_taken() {
        assert_eq!(unpack(&with(&[("1", &[7; 1000])]), LIMITS).unwrap()[0].content.len(), 1000);
        assert!(unpack(&with(&[("1", &[7; 1000]), ("2", b"")]), LIMITS).is_ok());
    }
}
