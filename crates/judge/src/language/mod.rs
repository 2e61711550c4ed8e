//! Programming languages as data: which files are whose, how a program is compiled and run, and what a
//! runtime needs beyond what the program uses.
//!
//! The table is strict: an unknown key is an error that names file, line and the nearest known key. Which
//! tools a host has is not known here; paths come in as values (see [`Paths`]).

mod detect;
mod entry;
mod expand;
mod options;
mod parse;
mod source_text;

pub use detect::DetectError;
pub use entry::{Plan, PlanError};
pub use expand::{Command, MissingPath, WarmUp};
pub use options::{OptionRefused, WordsError, words};
pub use parse::TableError;

use model::{Bytes, Nanos};
use std::collections::BTreeMap;

/// Absolute paths of a language's tools and roots on a host, by the names the table gives them.
pub type Paths = BTreeMap<String, String>;

/// Where the box with the program is mounted while it is compiled and while it runs.
pub const PROGRAM_DIR: &str = "/program";

/// Where a box with what compilations of a language have in common is mounted; see [`Language::warm_up`].
pub const CACHE_DIR: &str = "/cache";

/// One language as configured.
#[derive(Clone, Debug, PartialEq)]
pub struct Language {
    /// Unique: lower-case letters, digits, `_`.
    pub id: String,
    /// For people, such as `C++20`.
    pub name: String,
    /// Codes of packages (specification appendix "languages") and of directories below `include/`.
    pub codes: Vec<String>,
    /// File name extensions, without the dot, that make a file one of this language. Case matters.
    /// Empty: chosen only by its id or by a shebang.
    pub extensions: Vec<String>,
    /// Where languages share an extension: only files that hold one of these texts are of this one.
    pub extension_markers: Vec<String>,
    /// Extensions of the files handed to the compiler.
    pub sources: Vec<String>,
    /// Interpreter names which, after `#!`, make a file one of this language whatever its extension.
    pub shebangs: Vec<String>,
    /// How the entry point is found.
    pub entry: EntryRule,
    /// File names or classes that are the entry point when nothing else is asked for, best first.
    pub entry_names: Vec<String>,
    /// Text that marks the entry file among several.
    pub entry_markers: Vec<String>,
    /// Language to use in place of this one on a host that lacks its tools.
    pub fallback: Option<String>,
    /// Tools by name, each with the executables that can serve, best first: names to look for or absolute paths.
    pub tools: BTreeMap<String, Vec<String>>,
    /// Directories that belong to tools, by name.
    pub roots: BTreeMap<String, Root>,
    /// Command whose first line of output is the version; a template like all commands.
    pub version: Vec<String>,
    /// Compilation: steps in order, all in the program's directory. May be none.
    pub compile: Stage,
    /// Options for the compiler that whoever hands in a program may add, as patterns; see [`Language::check_options`]. A `*` at
    /// the end is any text; a `!` before it refuses what fits.
    pub options: Vec<String>,
    /// A source text that is compiled once, with `{cache}` writable, so that later compilations find there,
    /// read-only, what they all need. Trusted, so no submission can change what another is compiled with.
    pub warm_up: Option<String>,
    /// Running: exactly one step.
    pub run: Stage,
    /// Running under clocks that count, with what makes a runtime do the same every time.
    pub counted: Stage,
    /// Bounds of the whole compilation, where the package does not state its own.
    pub compile_limits: CompileLimits,
    /// What the runtime itself needs beyond the program's memory limit.
    pub memory_allowance: Bytes,
    /// Processes and threads that the runtime starts on its own, the first included.
    pub process_allowance: u32,
    /// Time limits are multiplied by this.
    pub time_factor: f64,
}

/// How the entry point of a program is found; see [`Language::plan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryRule {
    /// Everything is linked into one program; the entry point has no name.
    Linked,
    /// A file.
    File,
    /// A Java class with a `main` method.
    Java,
    /// A Kotlin class: a file's `main` function or an object's `main` method.
    Kotlin,
}

/// How the directory of a toolchain is found on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// The first line that this command prints.
    Probe(Vec<String>),
    /// A path relative to a tool whose symbolic links have been followed, such as `{javac}/../..`.
    Path(String),
}

/// A part of the host that a stage needs, as a template of an absolute path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Absolute, or beginning with `{root}`.
    pub path: String,
    /// It is no fault when the host has no such path. Written as `?` after the path.
    pub optional: bool,
}

/// Compiling or running.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// Commands as templates.
    pub steps: Vec<Vec<String>>,
    /// The whole environment, as templates, ordered by name.
    pub env: Vec<(String, String)>,
    /// What must be visible, read-only, besides the system directories that every run sees.
    pub mounts: Vec<Mount>,
}

/// Bounds of a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileLimits {
    /// User plus system time of all steps.
    pub cpu: Nanos,
    /// Memory of each step.
    pub memory: Bytes,
    /// Processes and threads at one time.
    pub processes: u32,
    /// Files written.
    pub output: Bytes,
}

/// All configured languages, in order: where several could serve, the first does.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    languages: Vec<Language>,
    written: parse::Sources,
}

impl Table {
    /// The languages that come with this program.
    pub fn shipped() -> Table {
        const FILE: &str = "languages.toml";
        Table::parse(include_str!("../../languages.toml"), FILE).unwrap_or_else(|e| unreachable!("{e}"))
    }

    /// All languages, in order.
    pub fn languages(&self) -> &[Language] {
        &self.languages
    }

    /// The language with this id.
    pub fn get(&self, id: &str) -> Option<&Language> {
        self.languages.iter().find(|l| l.id == id)
    }
}

impl Language {
    /// Whether it answers to this package language code.
    pub fn has_code(&self, code: &str) -> bool {
        self.codes.iter().any(|c| c == code)
    }

    /// Whether files of this name are handed to its compiler.
    pub fn is_source(&self, file: &str) -> bool {
        extension(file).is_some_and(|e| self.sources.iter().any(|s| s == e))
    }
}

/// The extension of a path's last part: what follows its last dot, unless the dot comes first.
fn extension(path: &str) -> Option<&str> {
    let (stem, extension) = file_name(path).rsplit_once('.')?;
    (!stem.is_empty()).then_some(extension)
}

/// A path's last part.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A path's last part without its extension.
fn file_stem(path: &str) -> &str {
    let name = file_name(path);
    match extension(path) {
        Some(extension) => &name[..name.len() - extension.len() - 1],
        None => name,
    }
}

#[cfg(test)]
mod tests;
