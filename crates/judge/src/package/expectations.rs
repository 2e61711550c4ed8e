//! What a directory of submissions promises by its name, and a source by its tag (legacy and 2025-09, "Example
//! submissions").

use super::problem::Problem;
use super::rules::{self, Rule};
use super::{Expectation, FileTree, Program, Warning};
use model::Verdict;
use std::collections::BTreeSet;

/// What DOMjudge looks for in sources, followed by a list such as `WRONG-ANSWER, TIMELIMIT`.
const TAG: &str = "@EXPECTED_RESULTS@:";

/// What a directory promises, before any tag or rule.
#[derive(Clone)]
pub(super) enum DirectoryExpectation {
    /// A rule about tests, from which the final verdict follows.
    Tests(Rule),
    /// A final verdict.
    Verdict { expectation: Expectation, bounds_from_below: bool },
}

/// Directories that promise something, as their names are usually written.
#[rustfmt::skip]
pub(super) const DIRECTORIES: [&str; 12] = [
    "accepted", "slow_accepted", "partially_accepted", "wrong_answer", "time_limit_exceeded", "run_time_error",
    "memory_limit_exceeded", "output_limit_exceeded", "compile_error", "rejected", "brute_force", "mixed",
];

/// The promise of a directory by its name, upper case and dashes allowed; `None` for names that say nothing.
pub(super) fn promise(name: &str, problem: &Problem) -> Option<DirectoryExpectation> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    if problem.is_new()
        && let Some(rule) = rules::of_directory(&name)
    {
        return Some(DirectoryExpectation::Tests(rule));
    }
    let verdict =
        |expectation| DirectoryExpectation::Verdict { expectation, bounds_from_below: name == "accepted" };
    if matches!(name.as_str(), "mixed" | "mixed_verdicts" | "multiple" | "check_manually") {
        return Some(verdict(Expectation::default()));
    }
    let words: Option<Vec<Verdict>> = match name.as_str() {
        // Right, but perhaps too slow: no format specifies it, and problem tools leave it alone.
        "slow_accepted" => Some(vec![Verdict::Accepted, Verdict::TimeLimit]),
        "partially_accepted" => Some(vec![Verdict::PartiallyAccepted]),
        "rejected" => Some(vec![Verdict::WrongAnswer, Verdict::TimeLimit, Verdict::RunTimeError]),
        "brute_force" => Some(vec![Verdict::TimeLimit, Verdict::RunTimeError]),
        other => other.split("_or_").map(verdict_of_word).collect(),
    };
    words.map(|verdicts| verdict(earns(verdicts)))
}

/// The expectation to end with one of these verdicts.
///
/// Legacy says of `time_limit_exceeded` that wrong answers may come too, and of `run_time_error` only that some
/// test crashes; so an earlier test may decide the final verdict, as long as some test shows the promised one.
/// Of tests after the first rejected one legacy demands nothing here, since judges do not run them.
fn earns(verdicts: Vec<Verdict>) -> Expectation {
    use Verdict::{MemoryLimit, OutputLimit, PartiallyAccepted, RunTimeError, TimeLimit, WrongAnswer};
    let (tolerated, required): (&[Verdict], &[Verdict]) = match verdicts.as_slice() {
        [TimeLimit] => (&[WrongAnswer], &[TimeLimit]),
        [RunTimeError] => {
            (&[MemoryLimit, OutputLimit, WrongAnswer, TimeLimit], &[RunTimeError, MemoryLimit, OutputLimit])
        }
        [MemoryLimit] => (&[RunTimeError, WrongAnswer, TimeLimit], &[MemoryLimit, RunTimeError]),
        [OutputLimit] => (&[RunTimeError, WrongAnswer, TimeLimit], &[OutputLimit, RunTimeError]),
        several if several.contains(&RunTimeError) => (&[MemoryLimit, OutputLimit], &[]),
        _ => (&[], &[]),
    };
    Expectation {
        partial: verdicts == [PartiallyAccepted],
        tolerated: tolerated.to_vec(),
        required: required.iter().copied().collect(),
        verdicts,
        ..Expectation::default()
    }
}

/// The verdict that a directory or a tag names, in any of the usual spellings.
fn verdict_of_word(word: &str) -> Option<Verdict> {
    let word: String =
        word.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    Some(match word.as_str() {
        "accepted" | "correct" | "ac" => Verdict::Accepted,
        "partiallyaccepted" | "pa" => Verdict::PartiallyAccepted,
        "wronganswer" | "wa" | "nooutput" | "presentationerror" => Verdict::WrongAnswer,
        "timelimitexceeded" | "timelimit" | "tle" => Verdict::TimeLimit,
        "runtimeerror" | "runerror" | "rte" => Verdict::RunTimeError,
        "memorylimitexceeded" | "memorylimit" | "mle" => Verdict::MemoryLimit,
        "outputlimitexceeded" | "outputlimit" | "ole" => Verdict::OutputLimit,
        "compileerror" | "compilererror" | "compilationerror" | "ce" => Verdict::CompileError,
        _ => return None,
    })
}

/// The verdicts a source says it earns; `Some` and empty for `CHECK-MANUALLY`.
pub(super) fn tag(tree: &FileTree, program: &Program, warnings: &mut Vec<Warning>) -> Option<Vec<Verdict>> {
    for file in &program.files {
        let Some(content) = tree.files.get(&file.path).and_then(|entry| entry.content.as_deref()) else {
            continue;
        };
        let text = String::from_utf8_lossy(content);
        let Some(line) = text.lines().find(|line| line.contains(TAG)) else { continue };
        let list = line.split_once(TAG).map_or("", |(_, list)| list);
        let mut verdicts = Vec::new();
        for word in list.split(',').map(|word| word.trim_matches(|c: char| !c.is_ascii_alphanumeric())) {
            match verdict_of_word(word) {
                Some(verdict) if !verdicts.contains(&verdict) => verdicts.push(verdict),
                Some(_) => {}
                None if word.to_ascii_uppercase().replace('_', "-") == "CHECK-MANUALLY" => {
                    return Some(Vec::new());
                }
                None => {
                    let message = format!("{TAG} names `{word}`, which is not a result; the tag is ignored");
                    warnings.push(Warning::new(file.path.as_str(), message));
                    return None;
                }
            }
        }
        return Some(verdicts);
    }
    None
}

pub(super) fn of_tag(verdicts: Vec<Verdict>) -> DirectoryExpectation {
    DirectoryExpectation::Verdict { expectation: earns(verdicts), bounds_from_below: false }
}

/// The promise, replaced by the tag if that says something else.
pub(super) fn tagged(promise: DirectoryExpectation, tag: Option<&[Verdict]>) -> DirectoryExpectation {
    let Some(tag) = tag else { return promise };
    match &promise {
        DirectoryExpectation::Verdict { expectation, .. } if expectation.verdicts == tag => promise,
        DirectoryExpectation::Tests(rule) if shown(&rule.permitted, &rule.demanded()) == tag => promise,
        _ => of_tag(tag.to_vec()),
    }
}

/// Final verdicts that a rule about tests means.
pub(super) fn shown(permitted: &Option<BTreeSet<Verdict>>, required: &BTreeSet<Verdict>) -> Vec<Verdict> {
    let set = match permitted {
        _ if !required.is_empty() => required,
        Some(permitted) => permitted,
        None => return Vec::new(),
    };
    let has_crash = set.contains(&Verdict::RunTimeError);
    let kind_of_crash = |verdict: &Verdict| matches!(verdict, Verdict::MemoryLimit | Verdict::OutputLimit);
    set.iter().copied().filter(|verdict| !(has_crash && kind_of_crash(verdict))).collect()
}
