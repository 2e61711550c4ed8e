//! `submissions/`, by what each promises: in the directory of that promise where there is one, else in `mixed/` with its own words in
//! `submissions.yaml`.

use super::super::{Expectation, JurySubmission};
use super::lost::{lost, use_for_time_limit};
use super::{Writer, list, quoted};
use model::Verdict;
use std::collections::BTreeSet;
use std::fmt::Write;

pub(super) fn write(writer: &mut Writer) {
    let mut rules = String::new();
    let mut taken = BTreeSet::new();
    for jury in &writer.package.submissions {
        let use_word = use_for_time_limit(writer, jury).ok().flatten();
        // An entry for one file adds to the rule of its directory, and only `mixed` has none that a time limit follows from.
        let directory = if use_word.is_some() { "mixed" } else { directory(&jury.expectation) };
        let path = place(writer, jury, directory, &mut taken);
        let mut rule = String::new();
        if let Some(language) = &jury.language {
            let _ = writeln!(rule, "  language: {language}");
        }
        if let Some(entry) = &jury.entry_point {
            let _ = writeln!(rule, "  entrypoint: {}", quoted(entry));
        }
        rule.push_str(&promise(&jury.expectation, directory == "mixed", "  "));
        if let Some(word) = use_word {
            let _ = writeln!(rule, "  use_for_time_limit: {word}");
        }
        let mut patterns = BTreeSet::new();
        for (pattern, inner) in &jury.expectation.within {
            let inner = promise(inner, true, "    ");
            if !inner.is_empty() && patterns.insert(pattern) {
                let _ = write!(rule, "  {}:\n{inner}", quoted(pattern));
            }
        }
        if !rule.is_empty() {
            let _ = write!(rules, "{}:\n{rule}", quoted(&path));
        }
        let lost = lost(writer, jury, directory);
        if !lost.is_empty() {
            writer.warn(&jury.program.path, format!("convert does not write: {}", lost.join("; ")));
        }
    }
    if !rules.is_empty() {
        writer.text("submissions/submissions.yaml", rules);
    }
}

/// The verdicts that 2025-09 knows, in which finer ones are a kind of others.
pub(super) fn coarse<'a>(verdicts: impl IntoIterator<Item = &'a Verdict>) -> BTreeSet<&'static str> {
    let word = |verdict: &Verdict| match verdict {
        Verdict::Accepted | Verdict::PartiallyAccepted => Some("AC"),
        Verdict::WrongAnswer => Some("WA"),
        Verdict::TimeLimit => Some("TLE"),
        Verdict::RunTimeError | Verdict::MemoryLimit | Verdict::OutputLimit => Some("RTE"),
        Verdict::CompileError | Verdict::JudgeError => None,
    };
    verdicts.into_iter().filter_map(word).collect()
}

/// The directory whose name says all of a promise for all tests; `mixed`: none does.
fn directory(expectation: &Expectation) -> &'static str {
    let permitted = expectation.permitted.as_ref().map(coarse);
    let required = coarse(&expectation.required);
    let (permitted, required) =
        (permitted.map(|set| set.into_iter().collect::<Vec<_>>()), required.into_iter().collect::<Vec<_>>());
    match (&expectation.verdicts[..], permitted.as_deref(), &required[..]) {
        ([Verdict::Accepted], None | Some(["AC"]), []) => "accepted",
        ([Verdict::PartiallyAccepted], ..) if expectation.partial => "partially_accepted",
        ([Verdict::CompileError], ..) => "compile_error",
        ([], Some(["AC", "WA"]), ["WA"]) => "wrong_answer",
        ([], Some(["AC", "TLE"]), ["TLE"]) => "time_limit_exceeded",
        ([], Some(["AC", "RTE"]), ["RTE"]) => "run_time_error",
        ([], None, ["RTE", "TLE", "WA"]) => "rejected",
        _ => "mixed",
    }
}

/// The verdicts to permit; `None`: any. Final verdicts with AC among them permit the same ones of tests, as the directories of 2025-09
/// do. A list of which no verdict has a form is left out, since an empty one would permit nothing.
pub(super) fn permitted(expectation: &Expectation) -> Option<BTreeSet<&'static str>> {
    let set = match &expectation.permitted {
        // Accepted with less than the full score counts as wrong, and is accepted in 2025-09.
        Some(permitted) if expectation.full.is_some() => coarse(permitted.iter().chain(&[Verdict::Accepted])),
        Some(permitted) => coarse(permitted),
        None if expectation.partial || !expectation.verdicts.contains(&Verdict::Accepted) => return None,
        None => coarse(expectation.verdicts.iter().chain(&expectation.tolerated)),
    };
    Some(set).filter(|set| !set.is_empty())
}

/// The verdicts of which some test is to have one: as stated, else the final ones where AC is none of them.
pub(super) fn required(expectation: &Expectation) -> BTreeSet<&'static str> {
    let final_ones = coarse(&expectation.verdicts);
    match coarse(&expectation.required) {
        set if set.is_empty() && !final_ones.contains("AC") => final_ones,
        set => set,
    }
}

/// Lines for `submissions.yaml`. `whole`: verdicts, too, which a directory does not say already.
fn promise(expectation: &Expectation, whole: bool, indent: &str) -> String {
    let mut text = String::new();
    if whole {
        if let Some(permitted) = permitted(expectation) {
            let _ = writeln!(text, "{indent}permitted: {}", list(permitted));
        }
        let required = required(expectation);
        if !required.is_empty() {
            let _ = writeln!(text, "{indent}required: {}", list(required));
        }
    }
    if let Some((low, high)) = expectation.score {
        let _ = writeln!(text, "{indent}score: [{low}, {high}]");
    }
    if let Some(message) = &expectation.message {
        let _ = writeln!(text, "{indent}message: {}", quoted(message));
    }
    text
}

/// Writes the files of a submission; its path below `submissions/`.
fn place(
    writer: &mut Writer,
    jury: &JurySubmission,
    directory: &str,
    taken: &mut BTreeSet<String>,
) -> String {
    let clean = |name: &str| -> String {
        let letter = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
        name.trim_start_matches(['.', '-']).chars().map(letter).collect()
    };
    let last = clean(jury.program.path.rsplit('/').next().unwrap_or(&jury.program.path));
    let (stem, ending) = last.rsplit_once('.').map_or((last.as_str(), ""), |(stem, ending)| (stem, ending));
    let mut name = last.clone();
    let mut n = 1;
    while !taken.insert(format!("{directory}/{name}")) {
        n += 1;
        name = if ending.is_empty() { format!("{stem}-{n}") } else { format!("{stem}-{n}.{ending}") };
    }
    let path = format!("{directory}/{name}");
    match &jury.program.files[..] {
        // Units and classes are called as their files are.
        [one] if !ending.is_empty() && (one.name == last || !["pas", "java"].contains(&ending)) => {
            writer.copy(format!("submissions/{path}"), &one.path);
            path
        }
        files => {
            let path = path.replace('.', "_");
            for file in files {
                writer.copy(format!("submissions/{path}/{}", file.name), &file.path);
            }
            path
        }
    }
}
