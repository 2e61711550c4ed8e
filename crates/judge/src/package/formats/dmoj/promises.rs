//! Submissions with what they promise, as DMOJ's own test suite has them: `tests/NAME/test.yml` (judge-server, dmoj/testsuite.py).

use super::super::super::field::{self, Range, Section};
use super::super::super::{
    Expectation, FileTree, JurySubmission, Package, PackageError, Program, TimeBounds, TimeLimit, Warning,
};
use super::super::source_file;
use super::{clean, language, names};
use crate::yaml::Value;
use model::{Bytes, Nanos, Verdict};
use std::collections::BTreeSet;

/// Reads them, and the limits that they state. `cases` are the names of the package's cases in DMOJ's order.
pub(super) fn read(
    tree: &FileTree,
    cases: &[String],
    package: &mut Package,
    warnings: &mut Vec<Warning>,
) -> Result<(), PackageError> {
    let (mut time, mut memory) = (None::<(f64, String)>, None::<f64>);
    for path in tree.files.keys().filter(|path| path.starts_with("tests/") && path.ends_with("/test.yml")) {
        let Some(root) = field::document(tree, path, warnings)? else { continue };
        let section = Section::root(path, &root)?;
        if section.flag("skip")?.unwrap_or(false) {
            continue;
        }
        let directory = path.strip_suffix("test.yml").unwrap_or(path);
        if let Some(own) = section.number("time", Range::above_zero(86_400.0))?
            && time.as_ref().is_none_or(|(known, _)| own > *known)
        {
            time = Some((own, section.place("time")));
        }
        if let Some(own) = section.number("memory", Range::above_zero(1e12))? {
            memory = Some(memory.map_or(own, |known| known.max(own)));
        }
        let expectation = match expectation(&section, cases, warnings)? {
            Some(expectation) => expectation,
            None => {
                let message =
                    "expects a fault of the judge itself (IE), which no submission can cause; left out";
                warnings.push(section.warning("expect", message));
                continue;
            }
        };
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
                entry_point: None,
                bounds: TimeBounds { lower: expectation.verdicts == [Verdict::Accepted], upper: false },
            });
        }
    }
    package.submissions.sort_by(|a, b| a.program.path.cmp(&b.program.path));
    if let Some((seconds, source)) = time
        && let Some(limit) = Nanos::from_secs_f64(seconds)
    {
        package.limits.time = TimeLimit::Stated { limit, source };
    }
    package.limits.memory = memory.map(|kib| Bytes::from_kib(kib as u64));
    Ok(())
}

/// What all cases may earn, and what some must; `None`: a fault of the judge.
fn expectation(
    section: &Section,
    cases: &[String],
    warnings: &mut Vec<Warning>,
) -> Result<Option<Expectation>, PackageError> {
    let all = codes(section, "expect", &section.words("expect")?.unwrap_or_else(|| vec!["AC".into()]))?;
    let Some(all) = all else { return Ok(None) };
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
        if all == BTreeSet::from([Verdict::Accepted]) || all == BTreeSet::from([Verdict::CompileError]) {
            expectation.verdicts = all.iter().copied().collect();
            expectation.permitted = (!all.contains(&Verdict::CompileError)).then_some(all);
        } else {
            // Cases that DMOJ skips after the first failure are all judged here.
            expectation.required = all;
        }
        return Ok(Some(expectation));
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
        let Some(codes) = codes(section, "cases", &words)? else { return Ok(None) };
        let inner = Expectation { permitted: Some(codes), ..Expectation::default() };
        expectation.within.push((name.clone(), inner));
    }
    Ok(Some(expectation))
}

/// The verdicts of DMOJ's codes; `None` where one is a fault of the judge.
fn codes(section: &Section, key: &str, words: &[String]) -> Result<Option<BTreeSet<Verdict>>, PackageError> {
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
            "IE" => return Ok(None),
            other => return Err(section.error(key, format!("`{other}` is no verdict of DMOJ"))),
        });
    }
    Ok(Some(verdicts))
}
