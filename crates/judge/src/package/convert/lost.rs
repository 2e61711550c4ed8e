//! What 2025-09 cannot state about a jury submission: its `submissions.yaml` holds verdicts, scores and messages of tests, but no
//! limits (2025-09, "Submissions").

use super::super::{Expectation, Glob, JurySubmission, TimeLimit};
use super::Writer;
use super::submissions::coarse;
use model::{Bytes, Verdict};
use std::collections::BTreeSet;

/// What conversion loses of a submission in this directory, in words.
pub(super) fn lost(writer: &Writer, jury: &JurySubmission, directory: &str) -> Vec<String> {
    let promise = &jury.expectation;
    let mut lost = limits(writer, jury);
    lost.extend(use_for_time_limit(writer, jury).err().map(str::to_string));
    if directory != "compile_error" {
        let whole = verdicts(promise);
        // Reported only if all its verdicts can be written: otherwise those are reported.
        lost.extend(if whole.is_empty() { final_verdict(promise) } else { None });
        lost.extend(whole.into_iter().map(|(verdict, why)| format!("the verdict {verdict} ({why})")));
    }
    if promise.partial && directory != "partially_accepted" && promise.score.is_none() {
        lost.push("that the score is less than the full one".to_string());
    }
    let mut patterns = BTreeSet::new();
    for (pattern, inner) in &promise.within {
        if !patterns.insert(pattern) {
            lost.push(format!("a second expectation for `{pattern}` (2025-09 has one for each pattern)"));
        } else if !is_matched(writer, pattern) {
            lost.push(format!("the expectation for `{pattern}` (its tests get other names)"));
        }
        if inner.full.is_some() {
            lost.push(format!("that the score of `{pattern}` is less than the full one"));
        }
        let inner = verdicts(inner).into_iter();
        lost.extend(inner.map(|(verdict, why)| format!("the verdict {verdict} of `{pattern}` ({why})")));
    }
    lost
}

/// Limits of its own that differ from those of the package.
fn limits(writer: &Writer, jury: &JurySubmission) -> Vec<String> {
    let common = &writer.package.limits;
    let stated = match &common.time {
        TimeLimit::Stated { limit, .. } => Some(*limit),
        TimeLimit::Inferred(_) => None,
    };
    let time = jury.limits.time.filter(|own| Some(*own) != stated);
    let memory = jury.limits.memory.filter(|own| Some(*own) != common.memory);
    let size = |Bytes(bytes)| match bytes {
        n if n % (1 << 20) == 0 => format!("{} MiB", n >> 20),
        n if n % (1 << 10) == 0 => format!("{} KiB", n >> 10),
        n => format!("{n} bytes"),
    };
    let time = time.map(|time| format!("its time limit of {} s", time.as_secs_f64()));
    let memory = memory.map(|memory| format!("its memory limit of {}", size(memory)));
    time.into_iter().chain(memory).collect()
}

/// The value of `use_for_time_limit` that preserves how the time limit is inferred; `Ok(None)`: none is needed.
///
/// # Errors
/// No value does: `lower` and `upper` would promise more than the submission does.
pub(super) fn use_for_time_limit(
    writer: &Writer,
    jury: &JurySubmission,
) -> Result<Option<&'static str>, &'static str> {
    if matches!(writer.package.limits.time, TimeLimit::Stated { .. }) {
        return Ok(None);
    }
    let promise = &jury.expectation;
    let is_slow = |promise: &Expectation| coarse(&promise.required).iter().eq(&["TLE"]);
    let upper = is_slow(promise) || promise.within.iter().any(|(_, inner)| is_slow(inner));
    let permitted = coarse(promise.permitted.iter().flatten());
    // The directory `accepted` is written for this promise.
    let lower = match &promise.permitted {
        Some(_) => !permitted.contains("TLE"),
        None => promise.verdicts == [Verdict::Accepted],
    };
    match jury.bounds {
        bounds if (bounds.lower, bounds.upper) == (lower, upper) => Ok(None),
        bounds if !bounds.lower && !bounds.upper => Ok(Some("false")),
        _ => Err("its use for the inferred time limit"),
    }
}

/// The promised verdicts that get lost, and why.
fn verdicts(promise: &Expectation) -> BTreeSet<(Verdict, &'static str)> {
    let finals: BTreeSet<Verdict> = promise.verdicts.iter().chain(&promise.tolerated).copied().collect();
    let sets = [promise.permitted.as_ref(), Some(&promise.required), Some(&finals)];
    let mut lost = BTreeSet::new();
    for set in sets.into_iter().flatten() {
        for verdict in set {
            let why = match verdict {
                Verdict::CompileError | Verdict::JudgeError => "2025-09 does not have it",
                Verdict::MemoryLimit | Verdict::OutputLimit if !set.contains(&Verdict::RunTimeError) => {
                    "2025-09 has only RTE"
                }
                _ => continue,
            };
            lost.insert((*verdict, why));
        }
    }
    lost
}

/// A final verdict that does not follow from what is written of the tests.
fn final_verdict(promise: &Expectation) -> Option<String> {
    let good = coarse(promise.verdicts.iter().chain(&promise.tolerated));
    let mut possible = match super::submissions::permitted(promise) {
        Some(permitted) => permitted,
        None => BTreeSet::from(["AC", "RTE", "TLE", "WA"]),
    };
    let required = super::submissions::required(promise);
    if !required.is_empty() && !required.contains("AC") {
        possible.remove("AC");
    }
    if promise.verdicts.is_empty() || promise.partial || possible.is_subset(&good) {
        return None;
    }
    let verdicts: Vec<&str> = promise.verdicts.iter().map(|verdict| verdict.code()).collect();
    let verdicts = verdicts.join(" or ");
    Some(format!("that the submission's verdict is {verdicts} (2025-09 states verdicts of tests only)"))
}

/// Whether a pattern matches a test that is written, if it matches one of the package.
fn is_matched(writer: &Writer, pattern: &str) -> bool {
    let Ok(glob) = Glob::parse(pattern) else { return false };
    let written = |path: &str| {
        let name = path.strip_prefix("data/").and_then(|path| path.strip_suffix(".in"));
        name.is_some_and(|name| glob.matches(name))
    };
    writer.files.iter().any(|file| written(&file.path))
        || !writer.package.data.all_cases().iter().any(|case| glob.matches(&case.name))
}
