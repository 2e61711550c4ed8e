//! The files of a package as a value, so that reading a package needs no file system.

use std::collections::BTreeMap;

/// One file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Size in bytes.
    pub size: u64,
    /// Has an execute permission.
    pub executable: bool,
    /// Its bytes, where [`FileTree::wants_content`] asked for them.
    pub content: Option<Vec<u8>>,
}

/// All regular files of a package by path: relative, `/` between parts, never `..`. Directories without
/// files are listed too, since an empty `secret/` says something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileTree {
    /// Short name of the package.
    pub name: String,
    /// The files.
    pub files: BTreeMap<String, Entry>,
    /// Directories.
    pub directories: Vec<String>,
}

impl FileTree {
    /// Largest file whose bytes are ever wanted.
    pub const CONTENT_LIMIT: u64 = 1 << 20;

    /// Whether the reader needs the bytes of this file: configuration, and sources of jury submissions.
    pub fn wants_content(path: &str, size: u64) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let configuration = name.ends_with(".yaml") || name.ends_with(".ini") || name == ".timelimit";
        size <= Self::CONTENT_LIMIT && (configuration || path.starts_with("submissions/"))
    }
}
