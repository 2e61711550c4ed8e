//! A zip archive as a source. Entries are listed under our own bounds and read one by one into unnamed files;
//! the zip crate's extraction is never used, so no name of an entry ever reaches the file system.

use super::{CONTROLS, SourceError, SourceLimits};
use crate::files;
use judge::package::{Entry, FileTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use zip::ZipArchive;

/// An opened archive.
pub(super) struct Archive {
    path: PathBuf,
    index: BTreeMap<String, usize>,
    reading: Mutex<Reading>,
}

struct Reading {
    zip: ZipArchive<BufReader<File>>,
    /// What was read already: tests are used once for every submission.
    done: BTreeMap<String, File>,
}

/// One accepted entry.
struct Item {
    name: String,
    index: usize,
    directory: bool,
    entry: Entry,
}

impl Archive {
    /// Opens and lists an archive. A single directory that holds everything is stripped.
    pub(super) fn open(path: &Path, limits: SourceLimits) -> Result<(Archive, FileTree), SourceError> {
        let file =
            File::open(path).map_err(|e| SourceError::Open { path: path.to_owned(), why: e.to_string() })?;
        Archive::list(file, path, limits, true)
    }

    /// The same of an open file, which is called `path`; `strip`: a single directory that holds everything is stripped.
    pub(super) fn list(
        file: File,
        path: &Path,
        limits: SourceLimits,
        strip: bool,
    ) -> Result<(Archive, FileTree), SourceError> {
        let refuse = |why: String| SourceError::Archive { path: path.to_owned(), why };
        let own_size = file.metadata().map_err(|e| refuse(e.to_string()))?.len();
        let zip = ZipArchive::new(BufReader::new(file))
            .map_err(|e| refuse(format!("neither a directory nor a zip archive: {e}")))?;
        if zip.has_duplicate_names() {
            return Err(refuse("two entries have the same name\nhint: create the archive again".to_owned()));
        }
        if zip.len() > limits.entries {
            let why = format!("has {} entries, more than {}", zip.len(), limits.entries);
            return Err(SourceError::TooMuch { path: path.to_owned(), why });
        }
        let mut items = (0..zip.len())
            .filter_map(|index| item(&zip, index, path, limits).transpose())
            .collect::<Result<Vec<Item>, SourceError>>()?;
        check_total(&items, own_size, path, limits)?;
        if strip {
            strip_single_directory(&mut items);
        }
        let (tree, index) = arrange(items, path)?;
        let reading = Mutex::new(Reading { zip, done: BTreeMap::new() });
        Ok((Archive { path: path.to_owned(), index, reading }, tree))
    }

    /// The first bytes of an entry, at most `limit`. Nothing is unpacked to disk and nothing stays open.
    pub(super) fn head(&self, name: &str, limit: u64) -> Result<Vec<u8>, SourceError> {
        let why = |why: String| SourceError::Entry { path: self.path.clone(), entry: name.to_owned(), why };
        let index = *self.index.get(name).ok_or_else(|| why("there is no such file".to_owned()))?;
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = reading.zip.by_index(index).map_err(|e| why(e.to_string()))?;
        let (size, mut bytes) = (entry.size(), Vec::new());
        entry
            .take(limit.min(size.saturating_add(1)))
            .read_to_end(&mut bytes)
            .map_err(|e| why(e.to_string()))?;
        if bytes.len() as u64 > size {
            return Err(why(format!("more than the {size} bytes it may have")));
        }
        Ok(bytes)
    }

    /// Opens the content of an entry.
    pub(super) fn file(&self, name: &str) -> Result<File, SourceError> {
        let why = |why: String| SourceError::Entry { path: self.path.clone(), entry: name.to_owned(), why };
        let index = *self.index.get(name).ok_or_else(|| why("there is no such file".to_owned()))?;
        // A thread that panicked while reading left at worst an entry half read, which is then read again.
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if !reading.done.contains_key(name) {
            let mut entry = reading.zip.by_index(index).map_err(|e| why(e.to_string()))?;
            let size = entry.size();
            // The declared size was checked when listing, so what is more than it is refused here.
            let file = files::on_disk(&mut entry, size).map_err(|e| why(e.to_string()))?;
            drop(entry);
            reading.done.insert(name.to_owned(), file);
        }
        files::reopen(&reading.done[name]).map_err(|e| why(e.to_string()))
    }
}

/// Checks one entry; `None` for what is no part of a package.
fn item(
    zip: &ZipArchive<BufReader<File>>,
    index: usize,
    path: &Path,
    limits: SourceLimits,
) -> Result<Option<Item>, SourceError> {
    let broken =
        |e: zip::result::ZipError| SourceError::Archive { path: path.to_owned(), why: e.to_string() };
    let data = zip.by_index_data(index).map_err(broken)?;
    let raw = String::from_utf8_lossy(data.name_raw()).into_owned();
    let refuse =
        |why: &str| SourceError::Entry { path: path.to_owned(), entry: raw.clone(), why: why.to_owned() };
    let name = data.name().map_err(|e| refuse(&e.to_string()))?.into_owned();
    // Resource forks that macOS adds beside every file.
    if name.starts_with("__MACOSX/") {
        return Ok(None);
    }
    if data.encrypted() {
        return Err(refuse("is encrypted\nhint: create the archive without a password"));
    }
    let mode = data.unix_mode().unwrap_or(0);
    if data.is_symlink() || !kind(mode) {
        return Err(refuse("is neither a file nor a directory\nhint: put the file itself into the archive"));
    }
    let name = clean_name(&name).map_err(|why| refuse(&why))?;
    if name.is_empty() {
        return Ok(None);
    }
    if data.size() > limits.file_size {
        return Err(refuse(&format!("has {} bytes, more than {}", data.size(), limits.file_size)));
    }
    if name.split('/').count() > limits.depth {
        return Err(refuse(&format!("is more than {} directories deep", limits.depth)));
    }
    let entry = Entry { size: data.size(), executable: mode & 0o111 != 0, content: None };
    Ok(Some(Item { name, index, directory: data.is_dir(), entry }))
}

/// Whether an entry of this mode is a file or a directory, or does not say.
pub(super) fn kind(mode: u32) -> bool {
    const TYPE: u32 = 0o170_000;
    const REGULAR: u32 = 0o100_000;
    const DIRECTORY: u32 = 0o040_000;
    [0, REGULAR, DIRECTORY].contains(&(mode & TYPE))
}

/// The name as a path of the tree, or why there is none.
pub(super) fn clean_name(name: &str) -> Result<String, String> {
    if name.contains(['\0', '\\']) {
        return Err("its name has a backslash or a zero byte\nhint: use `/` between directories".to_owned());
    }
    if name.starts_with('/') {
        return Err("its name is absolute\nhint: make the archive from inside the package".to_owned());
    }
    if name.contains(char::is_control) {
        return Err(CONTROLS.to_owned());
    }
    let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") {
        return Err(
            "its name leaves the archive by `..`\nhint: make the archive from inside the package".to_owned()
        );
    }
    Ok(parts.join("/"))
}

fn check_total(items: &[Item], own_size: u64, path: &Path, limits: SourceLimits) -> Result<(), SourceError> {
    let total = items.iter().fold(0u64, |sum, item| sum.saturating_add(item.entry.size));
    let shrunk = total > limits.ratio_from && total / limits.ratio > own_size;
    if total > limits.total_size || shrunk {
        let why = format!(
            "unpacks from {own_size} to {total} bytes; allowed are {} bytes, and beyond {} bytes {} times the archive's own size",
            limits.total_size, limits.ratio_from, limits.ratio
        );
        return Err(SourceError::TooMuch { path: path.to_owned(), why });
    }
    Ok(())
}

fn strip_single_directory(items: &mut Vec<Item>) {
    let first = |item: &Item| item.name.split('/').next().unwrap_or_default().to_owned();
    let Some(top) = items.first().map(first) else { return };
    let inside = |item: &Item| first(item) == top && (item.directory || item.name != top);
    if items.iter().all(inside) {
        items.retain(|item| item.name != top);
        items.iter_mut().for_each(|item| item.name.drain(..=top.len()).for_each(drop));
    }
}

fn arrange(items: Vec<Item>, path: &Path) -> Result<(FileTree, BTreeMap<String, usize>), SourceError> {
    let mut files = BTreeMap::new();
    let mut index = BTreeMap::new();
    let mut directories = BTreeSet::new();
    let twice = |entry: &str| SourceError::Entry {
        path: path.to_owned(),
        entry: entry.to_owned(),
        why: "appears twice\nhint: create the archive again".to_owned(),
    };
    for item in items {
        let inner = item.name.match_indices('/').map(|(at, _)| item.name[..at].to_owned());
        directories.extend(inner);
        if item.directory {
            directories.insert(item.name);
        } else if files.insert(item.name.clone(), item.entry).is_some() {
            return Err(twice(&item.name));
        } else {
            index.insert(item.name, item.index);
        }
    }
    match directories.iter().find(|directory| files.contains_key(*directory)) {
        Some(both) => Err(twice(both)),
        None => Ok((
            FileTree { name: String::new(), files, directories: directories.into_iter().collect() },
            index,
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Source, SourceError, SourceLimits};
    use std::fs::File;
    use std::io::Write;
    use std::path::PathBuf;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    struct Made {
        _dir: tempfile::TempDir,
        path: PathBuf,
    }

    fn archive(fill: impl FnOnce(&mut ZipWriter<File>)) -> Made {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hello.zip");
        let mut writer = ZipWriter::new(File::create(&path).unwrap());
        fill(&mut writer);
        writer.finish().unwrap();
        Made { _dir: dir, path }
    }

    #[test]
    fn a_name_cannot_become_a_hint() {
        let made = with_files(&[("data/a\nhint: b", "")]);
        let refused = Source::open(&made.path, SourceLimits::USUAL).err().map(|e| e.to_string()).unwrap();
        assert!(refused.contains(r"entry `data/a\nhint: b`: its name has control characters"), "{refused}");
        assert_eq!(refused.matches("\nhint: ").count(), 1, "{refused}");
    }

    #[test]
    fn files_of_an_archive_in_a_package_and_files_that_were_made() {
        let inner = with_files(&[("deep/1.in", "one\n"), ("2.in", "two\n")]);
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("init.yml"), "archive: tests.zip\n").unwrap();
        std::fs::copy(&inner.path, dir.path().join("tests.zip")).unwrap();
        let source = Source::open(dir.path(), SourceLimits::USUAL).unwrap();
        let names: Vec<&str> = source.tree().files.keys().map(String::as_str).collect();
        assert_eq!(names, ["init.yml", "tests.zip", "tests.zip/2.in", "tests.zip/deep/1.in"]);
        assert_eq!(source.bytes("tests.zip/deep/1.in").unwrap(), b"one\n");
        assert_eq!(source.head("tests.zip/2.in", 2).unwrap(), b"tw");
        let made = crate::files::on_disk(&mut &b"made\n"[..], 9).unwrap();
        assert!(source.made("tests.zip/2.in").is_none());
        source.supply("tests.zip/2.in", made);
        for _ in 0..2 {
            assert_eq!(source.bytes("tests.zip/2.in").unwrap(), b"made\n");
        }
        std::fs::write(dir.path().join("tests.zip"), "no archive").unwrap();
        assert!(Source::open(dir.path(), SourceLimits::USUAL).is_err());
    }

    fn with_files(files: &[(&str, &str)]) -> Made {
        archive(|zip| {
            for (name, content) in files {
                zip.start_file(*name, SimpleFileOptions::default().unix_permissions(0o644)).unwrap();
                zip.write_all(content.as_bytes()).unwrap();
            }
        })
    }

    fn refusal(made: &Made, limits: SourceLimits) -> SourceError {
        Source::open(&made.path, limits).err().expect("the archive was taken")
    }

    #[test]
    fn a_single_directory_is_stripped() {
        let flat = [("problem.yaml", "name: x"), ("data/secret/1.in", "1")];
        let nested = [("p/problem.yaml", "name: x"), ("p/data/secret/1.in", "1"), ("__MACOSX/p/._x", "")];
        for made in [with_files(&flat), with_files(&nested)] {
            let source = Source::open(&made.path, SourceLimits::USUAL).unwrap();
            let names: Vec<&str> = source.tree().files.keys().map(String::as_str).collect();
            assert_eq!(names, ["data/secret/1.in", "problem.yaml"]);
            assert_eq!(source.tree().directories, ["data", "data/secret"]);
            assert_eq!(source.tree().name, "hello");
            assert_eq!(source.tree().files["problem.yaml"].content.as_deref(), Some(&b"name: x"[..]));
            for _ in 0..2 {
                assert_eq!(source.bytes("data/secret/1.in").unwrap(), b"1");
            }
            assert!(source.file("data/secret/2.in").is_err());
        }
    }

    #[test]
    fn names_that_leave_the_archive_are_refused() {
        for name in ["../evil", "data/../../evil", "/etc/passwd", "..", "a\\..\\b"] {
            let made = with_files(&[("problem.yaml", ""), (name, "x")]);
            let message = refusal(&made, SourceLimits::USUAL).to_string();
            assert!(message.contains("hello.zip: entry `"), "{name}: {message}");
        }
    }

    #[test]
    fn links_are_refused() {
        let made = archive(|zip| {
            zip.add_symlink("data/secret/1.in", "/etc/passwd", SimpleFileOptions::default()).unwrap();
        });
        let message = refusal(&made, SourceLimits::USUAL).to_string();
        assert!(message.contains("`data/secret/1.in`: is neither a file"), "{message}");
    }

    #[test]
    fn duplicates_are_refused() {
        let spelled = with_files(&[("data/1.in", "1"), ("data/./1.in", "2"), ("problem.yaml", "")]);
        let both = with_files(&[("data", "1"), ("data/1.in", "2")]);
        let exact = with_files(&[("data/1.in", "1"), ("data/2.in", "2")]);
        let bytes = std::fs::read(&exact.path).unwrap();
        let patched = replace(&bytes, b"data/2.in", b"data/1.in");
        std::fs::write(&exact.path, patched).unwrap();
        for made in [spelled, both, exact] {
            let message = refusal(&made, SourceLimits::USUAL).to_string();
            assert!(message.contains("same name") || message.contains("twice"), "{message}");
        }
    }

    fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
        let mut all = bytes.to_vec();
        for at in 0..=all.len() - from.len() {
            if &all[at..at + from.len()] == from {
                all[at..at + from.len()].copy_from_slice(to);
            }
        }
        all
    }

    #[test]
    fn bombs_are_refused_before_anything_is_unpacked() {
        let zeros = "0".repeat(1 << 20);
        let made = with_files(&[("a/1", &zeros), ("a/2", &zeros), ("b", "")]);
        let small = SourceLimits { ratio_from: 1 << 20, ..SourceLimits::USUAL };
        for limits in [
            small,
            SourceLimits { file_size: 1 << 19, ..SourceLimits::USUAL },
            SourceLimits { total_size: 1 << 20, ..SourceLimits::USUAL },
            SourceLimits { entries: 2, ..SourceLimits::USUAL },
            SourceLimits { depth: 1, ..SourceLimits::USUAL },
        ] {
            refusal(&made, limits);
        }
        assert!(Source::open(&made.path, SourceLimits::USUAL).is_ok());
    }

    #[test]
    fn an_entry_longer_than_it_says_is_refused() {
        let made = with_files(&[("b", &"x".repeat(1000)), ("c", "1")]);
        let bytes = std::fs::read(&made.path).unwrap();
        // Uncompressed sizes in the local and the central header: 1000 becomes 10.
        let lying = replace(&bytes, &1000u32.to_le_bytes(), &10u32.to_le_bytes());
        std::fs::write(&made.path, lying).unwrap();
        let source = Source::open(&made.path, SourceLimits::USUAL).unwrap();
        assert!(source.bytes("b").is_err());
        assert_eq!((source.bytes("c").unwrap(), source.head("c", 0).unwrap()), (b"1".to_vec(), Vec::new()));
    }

    #[test]
    fn what_is_no_archive_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.zip");
        std::fs::write(&path, "not a zip").unwrap();
        let message = Source::open(&path, SourceLimits::USUAL).err().unwrap().to_string();
        assert!(message.contains("x.zip: neither a directory nor a zip archive"), "{message}");
        let message = Source::open(&dir.path().join("none"), SourceLimits::USUAL).err().unwrap().to_string();
        assert!(message.contains("none: No such file"), "{message}");
    }
}
