//! Checkers and interactive graders in Python, which DMOJ's judge loads into itself (docs.dmoj.ca, "Custom checkers", "Custom graders").
//! Here a program of ours, `python.py`, runs them in the sandbox and stands for the parts of that judge which they import.

use super::super::super::field::Section;
use super::super::super::{Calls, Package, PackageError, Program, Validator};
use super::super::source_file;
use super::{Files, our_file};
use crate::yaml::{Node, Value};
use regex::bytes::Regex;
use serde::Serialize;
use serde_json::Map;

/// What runs them.
const RUNS: &str = include_str!("python.py");
/// Its comparisons, for those of DMOJ's checkers that a package's checker calls.
const COMPARES: &str = include_str!("../../convert/compare.py");
/// Names of the two.
const OURS: [&str; 2] = ["__main__.py", "tauto_compare.py"];
/// Methods of DMOJ's graders, besides `interact`. What they do with a submission's process cannot be done from a sandbox.
const OVERRIDDEN: &str = r"(?m)^[ \t]+def[ \t]+(grade|check_result|populate_result|_launch_process|_interact_with_process|_generate_binary)\b";
const INTERACTS: &str = r"(?m)^[ \t]+def[ \t]+interact\b";

/// What such Python is told of a case: the JSON object of `python.py`.
#[derive(Default, Serialize)]
pub(super) struct Facts {
    /// Name of the package's file.
    pub(super) file: String,
    /// It is a grader.
    pub(super) interactive: bool,
    /// The points of the case.
    pub(super) points: f64,
    /// Its number, from 1.
    pub(super) position: usize,
    /// Number of its batch, from 1; 0 outside of batches.
    pub(super) batch: usize,
    /// `binary_data` is set.
    pub(super) binary: bool,
    /// Further arguments of a checker.
    pub(super) args: Map<String, serde_json::Value>,
}

impl Facts {
    /// As an argument.
    pub(super) fn flag(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Whether a file may be such Python: its text says what it needs of DMOJ's judge.
pub(super) fn wanted(path: &str) -> bool {
    path.ends_with(".py") && !path.starts_with("tests/")
}

/// The checker that is named at `key`.
pub(super) fn checker(
    section: &Section,
    key: &str,
    files: &Files,
    package: &mut Package,
) -> Result<Program, PackageError> {
    let name = section.text(key)?.unwrap_or_default();
    let path = files.find(section, key, name)?;
    if !path.ends_with(".py") {
        return Err(
            section.error(key, format!("`{name}` is not Python, in which DMOJ's checkers are written"))
        );
    }
    program(section, key, files, path, package)
}

/// Reads `custom_judge`. Only graders that talk to the submission, and do nothing else, can run outside of DMOJ's judge.
pub(super) fn grader(section: &Section, files: &Files, package: &mut Package) -> Result<(), PackageError> {
    const KEY: &str = "custom_judge";
    const HINT: &str = "hint: give the problem an interactor (`interactive`) or a `bridged` checker";
    let name = section.text(KEY)?.ok_or_else(|| section.error(KEY, "is missing"))?;
    let path = files.find(section, KEY, name)?;
    let text = files.tree.files.get(&path).and_then(|entry| entry.content.clone()).unwrap_or_default();
    let found = |pattern: &str| {
        let found = Regex::new(pattern).ok()?.captures(&text)?.iter().last()??;
        Some(String::from_utf8_lossy(found.as_bytes()).into_owned())
    };
    if let Some(method) = found(OVERRIDDEN) {
        let message = format!("`{name}` overrides `{method}`, which only DMOJ's own judge calls\n{HINT}");
        return Err(section.error(KEY, message));
    }
    if found(INTERACTS).is_none() {
        let message =
            format!("`{name}` has no method `interact`; only interactive graders are supported\n{HINT}");
        return Err(section.error(KEY, message));
    }
    let program = program(section, KEY, files, path, package)?;
    package.interactive = true;
    package.features.calls = Calls::default();
    package.validator = Validator::Custom(vec![program]);
    Ok(())
}

/// A file of the package with what runs it.
fn program(
    section: &Section,
    key: &str,
    files: &Files,
    path: String,
    package: &mut Package,
) -> Result<Program, PackageError> {
    let own = source_file(files.tree, &path);
    if OURS.contains(&own.name.as_str()) {
        return Err(
            section.error(key, format!("`{}` is the name of a file of ours\nhint: rename it", own.name))
        );
    }
    let [runs, compares] = OURS.map(str::to_string);
    let files = vec![
        our_file(package, "(runs Python of DMOJ)", RUNS, runs),
        our_file(package, "(compares)", COMPARES, compares),
        own,
    ];
    Ok(Program { path, files, language: Some("python3".into()), options: Vec::new() })
}

/// Name of the package's file in the program that decides.
pub(super) fn file(package: &Package) -> Option<String> {
    let Validator::Custom(programs) = &package.validator else { return None };
    programs.first()?.files.last().map(|file| file.name.clone())
}

/// The arguments of a checker, as JSON.
pub(super) fn arguments(entries: &[(String, Node)]) -> Map<String, serde_json::Value> {
    entries.iter().map(|(name, node)| (name.clone(), json(node))).collect()
}

fn json(node: &Node) -> serde_json::Value {
    match &node.value {
        Value::Null => serde_json::Value::Null,
        // Quotes are not kept, so that a number in quotes is a number.
        Value::Scalar(text) => serde_json::from_str(text).unwrap_or_else(|_| text.clone().into()),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Map(entries) => arguments(entries).into(),
    }
}
