//! Submissions with what they promise, as DMOJ's own test suite has them: `tests/NAME/test.yml`, which `test.posix.yml` and
//! `test.linux.yml` beside it add to (judge-server, dmoj/testsuite.py).

use super::super::super::field::{self, Range, Section};
use super::super::super::{
    Expectation, FileTree, JurySubmission, OwnLimits, Package, PackageError, Program, TestCase, TimeBounds,
    TimeLimit, Warning,
};
use super::super::source_file;
use super::{clean, language, names};
use crate::compare::BuiltIn;
use crate::yaml::{Node, Value};
use model::{Bytes, Nanos, Verdict};
use std::collections::{BTreeMap, BTreeSet};

/// The files of one test, each of which wins over those before it. Those of other systems are not for us.
const FILES: [&str; 3] = ["test.yml", "test.posix.yml", "test.linux.yml"];

/// Whether a file belongs to a test.
pub(super) fn wanted(path: &str) -> bool {
    let rest = path.strip_prefix("tests/").and_then(|rest| rest.rsplit_once('/'));
    rest.is_some_and(|(_, name)| FILES.contains(&name))
}

/// What DMOJ calls this machine's architecture.
fn here() -> &'static str {
    match cfg!(target_arch = "x86_64") {
        true => "amd64",
        false => "arm64",
    }
}

/// What the files of the test in a directory say together, and the last of them.
fn merged(
    tree: &FileTree,
    directory: &str,
    warnings: &mut Vec<Warning>,
) -> Result<Option<(String, Node)>, PackageError> {
    let mut found = None::<(String, Node)>;
    for path in FILES.map(|name| format!("{directory}{name}")) {
        let Some(mut root) = field::document(tree, &path, warnings)? else { continue };
        // The first of two equal keys is read.
        if let (Value::Map(own), Some((_, Node { value: Value::Map(before), .. }))) = (&mut root.value, found)
        {
            own.extend(before);
        }
        found = Some((path, root));
    }
    Ok(found)
}

/// Reads them, and the limits that they state. `cases` are the names of the package's cases in DMOJ's order.
pub(super) fn read(
    tree: &FileTree,
    cases: &[String],
    package: &mut Package,
    warnings: &mut Vec<Warning>,
) -> Result<(), PackageError> {
    let (mut time, mut memory) = (None::<(Nanos, String)>, None::<Bytes>);
    let files = tree.files.keys().filter(|path| wanted(path));
    let directories: BTreeSet<&str> = files.filter_map(|path| Some(&path[..=path.rfind('/')?])).collect();
    for directory in directories {
        let Some((path, root)) = merged(tree, directory, warnings)? else { continue };
        let section = Section::root(&path, &root)?;
        let elsewhere = section.words("arch")?.is_some_and(|all| !all.iter().any(|arch| arch == here()));
        if elsewhere || section.flag("skip")?.unwrap_or(false) {
            continue;
        }
        let seconds = section.number("time", Range::above_zero(86_400.0))?;
        let limits = OwnLimits {
            time: seconds.and_then(Nanos::from_secs_f64),
            memory: section.number("memory", Range::above_zero(1e12))?.map(|kib| Bytes::from_kib(kib as u64)),
        };
        if let Some(own) = limits.time
            && time.as_ref().is_none_or(|(known, _)| own > *known)
        {
            time = Some((own, section.place("time")));
        }
        memory = memory.max(limits.memory);
        let expectation = expectation(&section, cases, warnings)?;
        let sources = names(&section, "source")?;
        if sources.is_empty() {
            return Err(section.error("source", "is missing"));
        }
        for name in sources {
            let source = clean(&name).map(|name| format!("{directory}{name}"));
            let source = source.filter(|path| tree.files.contains_key(path));
            let source =
                source.ok_or_else(|| section.error("source", format!("`{name}` is not in {directory}")))?;
            let language = section.text("language")?.and_then(language).map(str::to_string);
            let files = vec![source_file(tree, &source)];
            package.submissions.push(JurySubmission {
                program: Program { path: source, files, ..Program::default() },
                expectation: expectation.clone(),
                language,
                limits,
                entry_point: None,
                bounds: TimeBounds { lower: expectation.verdicts == [Verdict::Accepted], upper: false },
            });
        }
    }
    let wrong = |inner: &Expectation| inner.permitted == Some([Verdict::WrongAnswer].into());
    let points: BTreeMap<String, f64> =
        package.data.all_cases().iter().filter_map(|case| partly_wrong(case)).collect();
    for jury in &mut package.submissions {
        for (name, inner) in jury.expectation.within.iter_mut().filter(|(_, inner)| wrong(inner)) {
            inner.full = points.get(name).copied();
        }
    }
    package.submissions.sort_by(|a, b| a.program.path.cmp(&b.program.path));
    if let Some((limit, source)) = time {
        package.limits.time = TimeLimit::Stated { limit, source };
    }
    package.limits.memory = memory;
    Ok(())
}

/// The points of a case whose output DMOJ calls wrong where it earns some of them.
fn partly_wrong(case: &TestCase) -> Option<(String, f64)> {
    let points = case.points.filter(|_| case.comparison == BuiltIn::LineCount)?;
    Some((case.name.clone(), points))
}

/// What all cases may earn, and what some must.
fn expectation(
    section: &Section,
    cases: &[String],
    warnings: &mut Vec<Warning>,
) -> Result<Expectation, PackageError> {
    let all = codes(section, "expect", &section.words("expect")?.unwrap_or_else(|| vec!["AC".into()]))?;
    let mut each: Vec<(usize, Vec<String>)> = Vec::new();
    let words = |text: &str| text.split_whitespace().map(str::to_string).collect::<Vec<_>>();
    match section.get("cases").map(|node| &node.value) {
        Some(Value::List(items)) => {
            let text = |(n, item): (usize, &crate::yaml::Node)| Some((n + 1, words(item.text()?)));
            each = items.iter().enumerate().filter_map(text).collect();
        }
        Some(Value::Map(_)) => {
            let inner = section.section("cases")?;
            for (key, _) in inner.entries() {
                let number = key.parse().map_err(|_| inner.error(key, "must be the number of a case"))?;
                each.push((number, inner.words(key)?.unwrap_or_default()));
            }
        }
        _ => {}
    }
    let mut expectation = Expectation::default();
    if each.is_empty() {
        let alone = |verdict| all == BTreeSet::from([verdict]);
        if alone(Verdict::Accepted) || alone(Verdict::CompileError) || alone(Verdict::JudgeError) {
            expectation.verdicts = all.iter().copied().collect();
            expectation.permitted = all.contains(&Verdict::Accepted).then_some(all);
        } else {
            // Cases that DMOJ skips after the first failure are all judged here.
            expectation.required = all;
        }
        return Ok(expectation);
    }
    for (number, words) in each {
        let Some(name) = number.checked_sub(1).and_then(|n| cases.get(n)) else {
            let message = format!("there is no case {number}; there are {}", cases.len());
            warnings.push(section.warning("cases", message));
            continue;
        };
        // Skipped there, judged here.
        if words.iter().any(|word| word == "SC" || word == "*") {
            continue;
        }
        let codes = codes(section, "cases", &words)?;
        let inner = Expectation { permitted: Some(codes), ..Expectation::default() };
        expectation.within.push((name.clone(), inner));
    }
    Ok(expectation)
}

/// The verdicts of DMOJ's codes. IE is a fault of the judge or of the package's programs.
fn codes(section: &Section, key: &str, words: &[String]) -> Result<BTreeSet<Verdict>, PackageError> {
    let mut verdicts = BTreeSet::new();
    for word in words {
        verdicts.insert(match word.as_str() {
            "AC" => Verdict::Accepted,
            "WA" => Verdict::WrongAnswer,
            "TLE" => Verdict::TimeLimit,
            "MLE" => Verdict::MemoryLimit,
            "RTE" | "IR" => Verdict::RunTimeError,
            "OLE" => Verdict::OutputLimit,
            "CE" => Verdict::CompileError,
            "IE" => Verdict::JudgeError,
            other => return Err(section.error(key, format!("`{other}` is not a verdict of DMOJ"))),
        });
    }
    Ok(verdicts)
}
