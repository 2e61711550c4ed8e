//! Sinol, the format of SIO2 (sio2project/sinol-make, README.md): `config.yml`, `in/abc1a.in`, `out/abc1a.out`, `prog/abc.cpp`.
//!
//! Tasks with tests and answers are read, and compared by tokens. Checkers, interactors and output-only tasks are refused.

use super::super::field::{self, Range, Section};
use super::super::{
    Expectation, FileTree, Grading, JurySubmission, OwnLimits, Package, PackageError, Program, TestCase,
    TimeBounds, TimeLimit, Warning,
};
use super::{Importer, LANGUAGES, blank, data, group, source_file};
use model::{Bytes, Nanos, Verdict};
use std::collections::BTreeMap;

const FILE: &str = "config.yml";

pub(super) const IMPORTER: Importer =
    Importer { name: "sinol", mark: FILE, wants: |_| false, archives: |_| Vec::new(), read };

fn read(tree: &FileTree, warnings: &mut Vec<Warning>) -> Result<Package, PackageError> {
    let root = field::document(tree, FILE, warnings)?.ok_or_else(|| PackageError::new(FILE, "is missing"))?;
    let task = Section::root(FILE, &root)?;
    let mut package = blank(tree, IMPORTER.name);
    if let Some(title) = task.text("title")? {
        package.title = title.to_string();
    }
    if let Some(ms) = task.number("time_limit", Range::above_zero(86_400_000.0))? {
        let limit = Nanos::from_millis(ms as u64);
        package.limits.time = TimeLimit::Stated { limit, source: format!("{FILE}: time_limit") };
    }
    let memory = task.number("memory_limit", Range::above_zero(1_073_741_824.0))?;
    package.limits.memory = memory.map(|kib| Bytes::from_kib(kib as u64));
    let groups = cases(tree)?;
    let code = code(tree)?;
    refuse_programs(tree, code)?;
    let scored = groups.keys().filter(|number| **number > 0).count();
    let given = task.section("scores")?;
    let mut parts = Vec::new();
    for (number, cases) in groups {
        let stated = given.number(&number.to_string(), Range::at_least(0.0, 1e9))?;
        let points = match number {
            0 => 0.0,
            _ => stated.unwrap_or(100.0 / scored as f64),
        };
        let name = format!("secret/{number:03}");
        let cases = cases
            .into_iter()
            .map(|case| TestCase { name: format!("{name}/{}", case.name), ..case })
            .collect();
        parts.push(model_group(&name, points, cases));
    }
    package.scoring = true;
    package.data = data(true, parts, Vec::new());
    solutions(tree, code, &mut package);
    Ok(package)
}

fn model_group(name: &str, points: f64, cases: Vec<TestCase>) -> super::TestGroup {
    super::TestGroup { cases, ..group(name, Grading::Min, Some(points)) }
}

/// The short name of the task: what comes before the number in the name of a test.
fn code(tree: &FileTree) -> Result<&str, PackageError> {
    let first = tree.files.keys().find_map(|path| path.strip_prefix("in/")?.strip_suffix(".in"));
    let first = first.ok_or_else(|| PackageError::new("in", "has no tests"))?;
    Ok(first
        .trim_end_matches(|c: char| c.is_ascii_lowercase())
        .trim_end_matches(|c: char| c.is_ascii_digit()))
}

/// The tests by the number of their group.
fn cases(tree: &FileTree) -> Result<BTreeMap<u32, Vec<TestCase>>, PackageError> {
    let code = code(tree)?;
    let mut groups: BTreeMap<u32, Vec<TestCase>> = BTreeMap::new();
    for path in tree.files.keys() {
        let Some(stem) = path.strip_prefix("in/").and_then(|name| name.strip_suffix(".in")) else { continue };
        let number =
            stem.strip_prefix(code).map(|rest| rest.trim_end_matches(|c: char| c.is_ascii_lowercase()));
        let Some(number) = number.and_then(|digits| digits.parse().ok()) else {
            return Err(PackageError::new(
                path.as_str(),
                format!("must be named {code}, a number and letters"),
            ));
        };
        let answer = format!("out/{stem}.out");
        if !tree.files.contains_key(&answer) {
            return Err(PackageError::new(answer, format!("is missing, the answer to {path}")));
        }
        let case = TestCase { name: stem.to_string(), input: path.clone(), answer, ..TestCase::default() };
        groups.entry(number).or_default().push(case);
    }
    Ok(groups)
}

fn refuse_programs(tree: &FileTree, code: &str) -> Result<(), PackageError> {
    for (role, word) in [("chk", "a checker"), ("soc", "an interactor")] {
        let program = tree.files.keys().find(|path| path.starts_with(&format!("prog/{code}{role}.")));
        if let Some(path) = program {
            return Err(PackageError::new(path.as_str(), format!("is {word}, which is not supported")));
        }
    }
    Ok(())
}

/// `abc.cpp` and `abc2.cpp` must pass; `abcs1.cpp` is slow, and `abcb1.cpp` wrong.
fn solutions(tree: &FileTree, code: &str, package: &mut Package) {
    for path in tree.files.keys() {
        let Some(name) = path.strip_prefix("prog/").filter(|name| !name.contains('/')) else { continue };
        let Some((stem, ending)) = name.rsplit_once('.') else { continue };
        let Some(kind) = stem.strip_prefix(code) else { continue };
        if !LANGUAGES.iter().any(|(known, _)| *known == ending) {
            continue;
        }
        let kind = kind.trim_end_matches(|c: char| c.is_ascii_digit());
        let (verdicts, required) = match kind {
            "" => (vec![Verdict::Accepted], None),
            "s" => (Vec::new(), Some(Verdict::TimeLimit)),
            "b" => (Vec::new(), Some(Verdict::WrongAnswer)),
            _ => continue,
        };
        package.submissions.push(JurySubmission {
            program: Program {
                path: path.clone(),
                files: vec![source_file(tree, path)],
                ..Program::default()
            },
            expectation: Expectation {
                verdicts,
                required: required.into_iter().collect(),
                ..Expectation::default()
            },
            language: None,
            entry_point: None,
            limits: OwnLimits::default(),
            bounds: TimeBounds { lower: kind.is_empty(), upper: kind == "s" },
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::read as read_package;
    use super::super::super::testing::tree;

    #[test]
    fn tests_groups_and_solutions_are_read() {
        let files = [
            ("config.yml", "title: Sums\ntime_limit: 1500\nmemory_limit: 65536\nscores:\n  1: 40\n  2: 60\n"),
            ("in/abc0.in", ""),
            ("out/abc0.out", ""),
            ("in/abc1a.in", ""),
            ("out/abc1a.out", ""),
            ("in/abc1b.in", ""),
            ("out/abc1b.out", ""),
            ("in/abc2a.in", ""),
            ("out/abc2a.out", ""),
            ("prog/abc.cpp", ""),
            ("prog/abcs1.py", ""),
            ("prog/abcb2.cpp", ""),
            ("prog/abcingen.cpp", ""),
        ];
        let (package, warnings) = read_package(&tree(&files)).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        let groups = &package.data.groups[0].groups;
        let points: Vec<_> = groups.iter().map(|one| (one.cases.len(), one.settings.max_score)).collect();
        assert_eq!(points, [(1, Some(0.0)), (2, Some(40.0)), (1, Some(60.0))]);
        let programs: Vec<&str> = package.submissions.iter().map(|one| one.program.path.as_str()).collect();
        assert_eq!(programs, ["prog/abc.cpp", "prog/abcb2.cpp", "prog/abcs1.py"]);
        let refused = |more: (&str, &str)| {
            read_package(&tree(&[&files[..], &[more]].concat())).unwrap_err().to_string()
        };
        assert_eq!(refused(("prog/abcchk.cpp", "")), "prog/abcchk.cpp: is a checker, which is not supported");
        assert_eq!(refused(("in/abc3a.in", "")), "out/abc3a.out: is missing, the answer to in/abc3a.in");
    }
}
