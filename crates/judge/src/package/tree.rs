//! The files of a package as a value, so that reading a package needs no file system.

use super::formats;
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
        let configuration = name.ends_with(".yaml")
            || name.ends_with(".ini")
            || name.ends_with(".args")
            || name == ".timelimit";
        size <= Self::CONTENT_LIMIT
            && (configuration || path.starts_with("submissions/") || formats::wants_content(path, size))
    }

    /// What lies directly in a directory, ordered by name; empty for `""` means the package itself. Names that
    /// begin with a dot or a dash are left out: the specifications have judges behave as if they were not
    /// there (legacy and 2025-09, "General requirements").
    pub(super) fn children(&self, directory: &str) -> Vec<Child> {
        let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let mut found: BTreeMap<String, bool> = BTreeMap::new();
        for path in self.below(&prefix) {
            let rest = &path[prefix.len()..];
            match rest.split_once('/') {
                Some((first, _)) => found.insert(first.to_string(), true),
                None => found.insert(rest.to_string(), false),
            };
        }
        for path in self.directories.iter().filter_map(|path| path.strip_prefix(&prefix)) {
            found.insert(path.split('/').next().unwrap_or(path).to_string(), true);
        }
        found
            .into_iter()
            .filter(|(name, _)| !name.is_empty() && !name.starts_with(['.', '-']))
            .map(|(name, directory)| Child { path: format!("{prefix}{name}"), name, directory })
            .collect()
    }

    /// Paths of the files that begin with `prefix`.
    pub(super) fn below<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        self.files
            .range(prefix.to_string()..)
            .map(|(path, _)| path.as_str())
            .take_while(move |p| p.starts_with(prefix))
    }

    /// Whether the path is a directory.
    pub(super) fn is_directory(&self, path: &str) -> bool {
        self.directories.iter().any(|directory| directory == path)
            || self.below(&format!("{path}/")).next().is_some()
    }
}

/// Something that lies in a directory.
pub(super) struct Child {
    /// Path in the package.
    pub(super) path: String,
    /// Last part of the path.
    pub(super) name: String,
    /// It is a directory.
    pub(super) directory: bool,
}
