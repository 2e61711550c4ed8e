//! Where the files of a package or a submission come from: a directory or a zip archive. Nothing is extracted;
//! nothing is left behind.

mod archive;
mod directory;
pub mod files;
mod unpacked;

pub use unpacked::{NotUnpacked, UnpackLimits, UnpackedFile, unpack};

use archive::Archive;
use directory::Directory;
use judge::filenames::escaped;
use judge::package::FileTree;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Why a source cannot be read: bad input, not a fault of ours.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The path cannot be opened.
    #[error("{}: {why}", shown(path))]
    Open {
        /// As the user named it.
        path: PathBuf,
        /// The system's reason.
        why: String,
    },
    /// A file inside cannot be read.
    #[error("{}: {why}", escaped(file))]
    Read {
        /// Path below the source.
        file: String,
        /// Why.
        why: String,
    },
    /// The archive as a whole is refused.
    #[error("{}: {why}", shown(path))]
    Archive {
        /// As the user named it.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// An entry for which the archive is refused.
    #[error("{}: entry `{}`: {why}", shown(path), escaped(entry))]
    Entry {
        /// As the user named the archive.
        path: PathBuf,
        /// Name of the entry.
        entry: String,
        /// Why.
        why: String,
    },
    /// More than a package may hold.
    #[error("{}: {why}", shown(path))]
    TooMuch {
        /// As the user named it.
        path: PathBuf,
        /// Which bound, and what was found.
        why: String,
    },
}

/// Why no file of a package has such a name: errors and warnings quote names, and tables show them.
const CONTROLS: &str = "its name has control characters\nhint: rename it";

fn shown(path: &Path) -> String {
    escaped(&path.display().to_string())
}

/// Something left out of the tree: its path, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Path below the source, with control characters escaped.
    pub path: String,
    /// Why, with the remedy.
    pub why: String,
}

/// The bounds of a source. They are far above real packages (the largest public ones have some ten thousand
/// files and a few GiB) and low enough that no archive exhausts the machine.
#[derive(Clone, Copy, Debug)]
pub struct SourceLimits {
    /// Files and directories.
    pub entries: usize,
    /// Bytes of one file.
    pub file_size: u64,
    /// Bytes of all files.
    pub total_size: u64,
    /// Total over the archive's own size, once `total_size` passes `ratio_from`. Deflate shrinks a file of one
    /// repeated byte by about 1000, which real test data contain, so the ratio alone says little.
    pub ratio: u64,
    /// Bytes of all files from which on `ratio` holds.
    pub ratio_from: u64,
    /// Directories within directories.
    pub depth: usize,
}

impl SourceLimits {
    /// The bounds in use.
    pub const USUAL: SourceLimits = SourceLimits {
        entries: 200_000,
        file_size: 2 << 30,
        total_size: 16 << 30,
        ratio: 200,
        ratio_from: 512 << 20,
        depth: 32,
    };
}

/// An opened package or submission.
pub struct Source {
    tree: FileTree,
    left_out: Vec<LeftOut>,
    backing: Backing,
    /// Archives in the package whose files belong to it, by their path and `/`.
    inner: Vec<(String, Archive)>,
    /// Files that were made, in place of or besides those that are there.
    made: Mutex<BTreeMap<String, Arc<File>>>,
}

enum Backing {
    Directory(Directory),
    Archive(Archive),
}

impl Source {
    /// Opens a directory or a zip archive and lists it. The files the package reader wants are read too.
    pub fn open(path: &Path, limits: SourceLimits) -> Result<Source, SourceError> {
        let metadata = std::fs::metadata(path)
            .map_err(|e| SourceError::Open { path: path.to_owned(), why: e.to_string() })?;
        let (backing, mut tree, left_out) = if metadata.is_dir() {
            let (directory, tree, left_out) = Directory::open(path, limits)?;
            (Backing::Directory(directory), tree, left_out)
        } else if metadata.is_file() {
            let (archive, tree) = Archive::open(path, limits)?;
            (Backing::Archive(archive), tree, Vec::new())
        } else {
            let why = "neither a directory nor a zip archive".to_owned();
            return Err(SourceError::Open { path: path.to_owned(), why });
        };
        tree.name = short_name(path);
        let mut source = Source { tree, left_out, backing, inner: Vec::new(), made: Mutex::default() };
        source.read_wanted()?;
        source.open_archives(path, limits)?;
        Ok(source)
    }

    /// The files.
    pub fn tree(&self) -> &FileTree {
        &self.tree
    }

    /// Calls the package so, where its file's name says nothing.
    pub fn rename(&mut self, name: &str) {
        self.tree.name = name.to_string();
    }

    /// What was left out of the tree.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Opens a file of the tree for reading, at its start.
    pub fn file(&self, path: &str) -> Result<File, SourceError> {
        if let Some(made) = self.made(path) {
            let why = |e: std::io::Error| SourceError::Read { file: path.to_owned(), why: e.to_string() };
            return files::reopen(&made).map_err(why);
        }
        if let Some((archive, inside)) = self.within(path) {
            return archive.file(inside);
        }
        match &self.backing {
            Backing::Directory(directory) => directory.file(path),
            Backing::Archive(archive) => archive.file(path),
        }
    }

    /// The bytes of a file of the tree.
    pub fn bytes(&self, path: &str) -> Result<Vec<u8>, SourceError> {
        self.head(path, u64::MAX)
    }

    /// The first bytes of a file of the tree, at most `limit`.
    pub fn head(&self, path: &str, limit: u64) -> Result<Vec<u8>, SourceError> {
        match (&self.backing, self.within(path)) {
            _ if self.made(path).is_some() => {}
            (_, Some((archive, inside))) => return archive.head(inside, limit),
            (Backing::Archive(archive), None) => return archive.head(path, limit),
            (Backing::Directory(_), None) => {}
        }
        let mut bytes = Vec::new();
        let read = self.file(path)?.take(limit).read_to_end(&mut bytes);
        read.map_err(|e| SourceError::Read { file: path.to_owned(), why: e.to_string() })?;
        Ok(bytes)
    }

    /// Takes in a file that was made for the package; from now on it is what lies at its path.
    pub fn supply(&self, path: &str, file: File) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.insert(path.to_owned(), Arc::new(file));
    }

    /// The file that was made for a path, if one was.
    pub fn made(&self, path: &str) -> Option<Arc<File>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }

    /// The archive in the package that a path lies in, and the path there.
    fn within<'a>(&self, path: &'a str) -> Option<(&Archive, &'a str)> {
        self.inner.iter().find_map(|(prefix, archive)| Some((archive, path.strip_prefix(prefix.as_str())?)))
    }

    /// Adds the files of the archives that belong to the package.
    fn open_archives(&mut self, path: &Path, limits: SourceLimits) -> Result<(), SourceError> {
        for name in judge::package::archives(&self.tree) {
            let (archive, files) = Archive::list(self.file(&name)?, &path.join(&name), limits, false)?;
            let prefix = format!("{name}/");
            self.tree.directories.push(name);
            self.tree
                .files
                .extend(files.files.into_iter().map(|(path, entry)| (format!("{prefix}{path}"), entry)));
            self.inner.push((prefix, archive));
        }
        if self.inner.is_empty() { Ok(()) } else { self.read_wanted() }
    }

    fn read_wanted(&mut self) -> Result<(), SourceError> {
        let wanted: Vec<String> = (self.tree.files.iter())
            .filter(|(path, entry)| entry.content.is_none() && FileTree::wants_content(path, entry.size))
            .map(|(path, _)| path.clone())
            .collect();
        for path in wanted {
            let content = self.bytes(&path)?;
            if let Some(entry) = self.tree.files.get_mut(&path) {
                entry.content = Some(content);
            }
        }
        Ok(())
    }
}

/// The name of the directory, or of the archive without `.zip`.
fn short_name(path: &Path) -> String {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let name = real.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    name.strip_suffix(".zip").or_else(|| name.strip_suffix(".kpp")).unwrap_or(&name).to_owned()
}
