//! The files of the repository.

use crate::code;
use std::io;
use std::path::{Path, PathBuf};

/// A text file.
#[derive(Clone, Debug)]
pub struct File {
    /// Path below the root, `/` between parts.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl File {
    /// The name of the crate it belongs to; empty outside `crates/`.
    pub fn crate_name(&self) -> &str {
        self.path.strip_prefix("crates/").and_then(|rest| rest.split('/').next()).unwrap_or_default()
    }

    /// Its text without comments and the insides of literals, for Rust sources.
    pub fn code(&self) -> String {
        code::without_text(&self.text)
    }
}

/// All text files below the root.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The root, absolute.
    pub root: PathBuf,
    /// The files, ordered by path.
    pub files: Vec<File>,
}

impl Tree {
    /// Reads the repository this crate was built from. Leaves out hidden directories (but for `.ci`), what
    /// builds make, and files that are no text.
    pub fn of_the_repository() -> io::Result<Tree> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        let mut files = Vec::new();
        read(&root, &root, &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Tree { root, files })
    }

    /// Rust sources.
    pub fn sources(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|f| f.path.ends_with(".rs") && f.path.starts_with("crates/"))
    }

    /// The file of that path.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|f| f.path == path)
    }
}

fn read(root: &Path, directory: &Path, files: &mut Vec<File>) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type()?;
        let built = name == "target" || (name.starts_with('.') && name != ".ci");
        if kind.is_dir() && !built {
            read(root, &entry.path(), files)?;
        } else if kind.is_file()
            && let Ok(text) = String::from_utf8(std::fs::read(entry.path())?)
        {
            let path =
                entry.path().strip_prefix(root).unwrap_or(&entry.path()).to_string_lossy().into_owned();
            files.push(File { path, text });
        }
    }
    Ok(())
}
