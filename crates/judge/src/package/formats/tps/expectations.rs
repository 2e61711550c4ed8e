//! `solutions.json`: what each solution promises, and for single subtasks what it promises instead.

use super::super::super::field::{self, Section};
use super::super::super::{
    Expectation, JurySubmission, OwnLimits, Package, PackageError, Program, SourceFile, TimeBounds, Warning,
};
use super::super::source_file;
use super::testsets::Subtask;
use super::{Reader, SOLUTIONS};
use crate::yaml::Node;
use model::Verdict::{
    self, Accepted as AC, MemoryLimit as MLE, OutputLimit as OLE, RunTimeError as RTE, TimeLimit as TLE,
    WrongAnswer as WA,
};

/// So far a score must be from the full one, and from none, to be neither.
const NOTICEABLE: f64 = 1e-5;
const WORDS: [&str; 9] = [
    "model_solution",
    "correct",
    "time_limit",
    "memory_limit",
    "incorrect",
    "runtime_error",
    "failed",
    "time_limit_and_runtime_error",
    "partially_correct",
];

/// The solutions of the package.
pub(super) struct Solutions {
    /// Path of the one that makes answers.
    pub(super) model: Option<String>,
    root: Option<Node>,
}

impl Solutions {
    pub(super) fn read(reader: &Reader, warnings: &mut Vec<Warning>) -> Result<Solutions, PackageError> {
        let root = field::json(reader.tree, SOLUTIONS, warnings)?;
        let mut model = None;
        if let Some(root) = &root {
            let file = Section::root(SOLUTIONS, root)?;
            for (name, node) in file.entries() {
                let one = Section::new(SOLUTIONS, format!("{name}."), node)?;
                if one.text("verdict")? == Some("model_solution") {
                    if model.is_some() {
                        return Err(one.error("verdict", "there are two with the verdict `model_solution`"));
                    }
                    model = Some(source(reader, &file, name)?.path);
                }
            }
        }
        Ok(Solutions { model, root })
    }

    /// Adds them to the package.
    pub(super) fn promise(
        &self,
        reader: &Reader,
        subtasks: &[Subtask],
        package: &mut Package,
    ) -> Result<(), PackageError> {
        let Some(root) = &self.root else { return Ok(()) };
        let file = Section::root(SOLUTIONS, root)?;
        let full = |score: f64| Some(score).filter(|_| package.scoring);
        let total: f64 = subtasks.iter().map(|subtask| subtask.score).sum();
        for (name, node) in file.entries() {
            let one = Section::new(SOLUTIONS, format!("{name}."), node)?;
            let word = known(&one, "verdict")?;
            let except = one.section("except")?;
            let mut within = Vec::new();
            for (subtask, _) in except.entries() {
                let Some(found) = subtasks.iter().find(|known| known.name == *subtask) else {
                    return Err(except.error(subtask, "is not a subtask with tests"));
                };
                let promised = promised(known(&except, subtask)?, full(found.score));
                within.push((found.group.clone(), promised));
            }
            let everywhere = ["model_solution", "correct"].contains(&word);
            let mut expectation = match everywhere && !within.is_empty() {
                false => promised(word, full(total)),
                true => {
                    let others = subtasks.iter().filter(|one| !except.has(&one.name));
                    within.extend(others.map(|one| (one.group.clone(), promised(word, full(one.score)))));
                    Expectation::default()
                }
            };
            if everywhere && except.entries().is_empty() {
                expectation.verdicts = vec![AC];
            }
            let bounds = TimeBounds {
                lower: everywhere && within.is_empty(),
                upper: word == "time_limit" || within.iter().any(|(_, part)| part.required.iter().eq([&TLE])),
            };
            let file = source(reader, &file, name)?;
            let program =
                Program { path: file.path.clone(), files: vec![renamed(reader, file)], ..Program::default() };
            package.submissions.push(JurySubmission {
                program,
                expectation: Expectation { within, ..expectation },
                language: None,
                entry_point: None,
                limits: OwnLimits::default(),
                bounds,
            });
        }
        package.submissions.sort_by(|a, b| a.program.path.cmp(&b.program.path));
        Ok(())
    }
}

fn known<'a>(section: &Section<'a>, key: &str) -> Result<&'a str, PackageError> {
    let word = section.text(key)?.ok_or_else(|| section.error(key, "is missing"))?;
    match WORDS.contains(&word) {
        true => Ok(word),
        false => Err(section.error(key, format!("`{word}` is not one of {}", WORDS.join(", ")))),
    }
}

fn source(reader: &Reader, file: &Section, name: &str) -> Result<SourceFile, PackageError> {
    let paths = ["solution", "solutions"].map(|directory| format!("{directory}/{name}"));
    let found = paths.iter().find(|path| reader.tree.files.contains_key(*path));
    let missing = || file.error(name, "is not in solution/");
    Ok(source_file(reader.tree, found.ok_or_else(missing)?))
}

/// Solutions are compiled under the name of the task: units and classes are called so.
fn renamed(reader: &Reader, file: SourceFile) -> SourceFile {
    let ending = file.name.rsplit_once('.').map(|(_, ending)| ending.to_string());
    match (&reader.code, ending) {
        (Some(code), Some(ending)) => SourceFile { name: format!("{code}.{ending}"), ..file },
        _ => file,
    }
}

/// What a word promises of a subtask, or of all, that gives `full` points at most; `None`: there are no points
/// (ioi-2017/tps, scripts/internal/invoke.py, `is_verdict_expected`).
fn promised(word: &str, full: Option<f64>) -> Expectation {
    let some = |required: &[Verdict]| Expectation {
        required: required.iter().copied().collect(),
        ..Expectation::default()
    };
    let scored = |low: f64, high: f64| Expectation { score: Some((low, high)), ..Expectation::default() };
    match (word, full.filter(|full| *full > 0.0)) {
        ("model_solution" | "correct", full) => Expectation {
            permitted: Some([AC].into()),
            score: full.map(|full| (full, full)),
            ..Expectation::default()
        },
        ("time_limit", _) => some(&[TLE]),
        ("memory_limit" | "runtime_error", _) => some(&[RTE, MLE, OLE]),
        ("time_limit_and_runtime_error", _) => some(&[TLE, RTE, MLE, OLE]),
        ("incorrect", _) => some(&[WA]),
        ("partially_correct", Some(full)) => scored(NOTICEABLE, full - NOTICEABLE),
        ("partially_correct", None) => Expectation::default(),
        (_, Some(full)) => scored(0.0, full - NOTICEABLE),
        (_, None) => some(&[WA, TLE, RTE, MLE, OLE]),
    }
}
