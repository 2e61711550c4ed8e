//! Problem packages as values: what a package in any of the supported formats means.
//!
//! [`read`] turns the files of a package into a [`Package`], or says which file, line and field stops it. What
//! is untidy but still has one clear meaning becomes a [`Warning`]. `docs/packages.md` says for users what is
//! read, what comes first and what the defaults are. Deliberately absent: statements, attachments,
//! visualisers and static validators, which judging does not need.

pub mod convert;
mod data;
mod expectations;
mod field;
mod format_features;
mod formats;
mod glob;
mod limits;
mod loose;
mod problem;
mod program;
mod rules;
mod settings;
mod submission;
#[cfg(test)]
mod testing;
mod tree;
mod types;

pub use format_features::*;
pub use formats::archives;
pub use glob::{Glob, GlobError};
pub use loose::{LOOSE_TIME_LIMIT, loose_group, loose_problem};
pub use tree::{Entry, FileTree};
pub use types::*;

use model::hint::{escaped, tamed};
use std::fmt;

/// Something to tell that does not prevent judging.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Where: `file[:line][: field]`.
    pub place: String,
    /// What, with the remedy.
    pub message: String,
}

impl Warning {
    pub(crate) fn new(place: impl Into<String>, message: impl Into<String>) -> Warning {
        Warning { place: escaped(&place.into()), message: tamed(&message.into()) }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Why a package cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", if place.is_empty() { String::new() } else { format!("{place}: ") })]
pub struct PackageError {
    /// Where: `file[:line][: field]`. Empty: the package as a whole.
    pub place: String,
    /// What, with the remedy.
    pub message: String,
}

impl PackageError {
    pub(crate) fn new(place: impl Into<String>, message: impl Into<String>) -> PackageError {
        PackageError { place: escaped(&place.into()), message: tamed(&message.into()) }
    }

    /// Several in one; `None`: there is none.
    pub(crate) fn all(several: Vec<PackageError>) -> Option<PackageError> {
        several.into_iter().reduce(|all, next| PackageError {
            message: model::hint::with_detail(&all.message, &format!("; and {next}")),
            ..all
        })
    }
}

/// Reads a package of any format: `legacy`, `legacy-icpc` and `2025-09` (and its draft, `2023-07-draft`) where there is a
/// `problem.yaml`, else the one whose importer knows its mark.
///
/// The tree needs the bytes of those files that [`FileTree::wants_content`] names.
pub fn read(tree: &FileTree) -> Result<(Package, Vec<Warning>), PackageError> {
    let mut warnings = Vec::new();
    formats::refuse_pointers(tree)?;
    if let Some(importer) = formats::importer_for(tree) {
        let package = (importer.read)(tree, &mut warnings)?;
        return Ok((package, warnings));
    }
    let problem = problem::read(tree, &mut warnings)?;
    let validator = program::validator(tree, &problem, &mut warnings)?;
    let data = data::read(tree, &problem, &mut warnings)?;
    let validator_tests = data::validator_tests(tree, &problem, &mut warnings)?;
    let checks = program::checks(tree, &data, &validator_tests, &mut warnings);
    let package = Package {
        short_name: tree.name.clone(),
        title: problem.title.clone().unwrap_or_else(|| tree.name.clone()),
        format: problem.format,
        scoring: problem.scoring,
        interactive: problem.interactive,
        multi_pass: problem.multi_pass,
        submit_answer: problem.submit_answer,
        limits: problem.limits.clone(),
        validator,
        grader: program::grader(tree, &data, &mut warnings)?,
        features: FormatFeatures { checks, validator_tests, ..FormatFeatures::default() },
        data,
        include: program::includes(tree, &mut warnings),
        submissions: submission::read(tree, &problem, &mut warnings)?,
        languages: problem.languages,
        constants: problem.constants,
        maximise: problem.maximise,
    };
    Ok((package, warnings))
}

#[cfg(test)]
mod tests {
    use super::testing::*;
    use super::*;

    #[test]
    fn a_minimal_package_of_each_format_is_read_without_a_word() {
        let legacy = [("problem.yaml", "name: A\n"), ("data/secret/1.in", ""), ("data/secret/1.ans", "")];
        let new = [
            ("problem.yaml", "problem_format_version: 2025-09\nname: A\nuuid: 0\n"),
            ("data/secret/1.in", ""),
            ("data/secret/1.ans", ""),
        ];
        for (files, format) in [(legacy, Format::Legacy), (new, Format::V2025_09)] {
            let (package, warnings) = read(&tree(&files)).unwrap();
            assert_eq!((package.format, package.title.as_str()), (format, "A"));
            assert_eq!(package.data.all_cases().len(), 1);
            assert_eq!(warnings, []);
        }
    }

    #[test]
    fn what_prevents_judging_names_its_place() {
        let table: [(&[(&str, &str)], &str); 6] = [
            (&[], "problem.yaml: is missing"),
            (&[("a/problem.yaml", "")], "problem.yaml: is missing\nhint: there is one in a/"),
            (&[("problem.yaml", "limits: {memory: -1}\n")], "problem.yaml:1: limits.memory: must be above 0"),
            (&[("problem.yaml", "a: [\n")], "problem.yaml:1: not readable as yaml"),
            (&[("problem.yaml", "- a\n")], "problem.yaml:1: must be a map, not a list"),
            (&[("problem.yaml", "name: x\n")], "data/secret: has no test case"),
        ];
        for (files, start) in table {
            let error = read(&tree(files)).unwrap_err().to_string();
            assert!(error.starts_with(start), "{error}");
        }
    }
}
