//! What CPU time is in reference time, by the jury's programs.

use super::{excused, slowest};
use crate::Fault;
use crate::case::CaseLimits;
use crate::limits::WHILE_INFERRING;
use crate::prepared_slot::PreparedSlot;
use crate::program::Built;
use crate::submission::{Ready, Submission, case_limits, language_of, prepare};
use crate::timelimit::TimeLimitInUse;
use judge::package::TestCase;
use model::{Nanos, Policy, ReferenceScale, Verdict};
use std::cell::Cell;
use std::collections::BTreeSet;

/// A program that takes less says nothing: its start counts as much as its work, and the emulator's start is another.
const LEAST: Nanos = Nanos::from_millis(10);

/// A jury program at its slowest test.
struct Slow<'a> {
    submission: Submission,
    case: &'a TestCase,
    cpu: Nanos,
}

/// By the slowest program of the language that must pass; of all languages where there is none. `benches`: by CPU time and by reference
/// time. `looks` counts the looks for a calm machine.
pub(super) fn infer(
    [bench, second]: [&PreparedSlot; 2],
    language: &str,
    looks: &Cell<u32>,
) -> Result<Result<ReferenceScale, String>, Fault> {
    let jury = jury(bench)?;
    let same = jury.iter().filter(|(_, of)| of == language).map(|(submission, _)| submission);
    let same: Vec<&Submission> = same.collect();
    let all = if same.is_empty() { jury.iter().map(|(submission, _)| submission).collect() } else { same };
    let mut slow: Option<Slow> = None;
    for submission in all {
        let found = slow_test(bench, submission)?;
        if let Some((case, cpu)) = found.filter(|(_, cpu)| slow.as_ref().is_none_or(|slow| slow.cpu < *cpu)) {
            slow = Some(Slow { submission: submission.clone(), case, cpu });
        }
    }
    let Some(slow) = slow.filter(|slow| slow.cpu >= LEAST) else {
        return Ok(Err(format!(
            "no jury program that must pass takes {LEAST} on a test, so that no limit in reference time is known"
        )));
    };
    let cpu = calm_time(bench, &slow, looks)?;
    let reference = excused(time(second, &slow).map(|time| {
        time.ok_or_else(|| format!("{} is not accepted in the emulator", slow.submission.name))
    }))?;
    Ok(reference.map(|reference| ReferenceScale {
        language: language.to_owned(),
        submission: slow.submission.name.clone(),
        test: slow.case.name.clone(),
        cpu,
        reference,
        counted_by: second.job.options.meter.versions().unwrap_or_default(),
    }))
}

/// The languages of the jury's programs that must pass and can be run here.
pub(super) fn languages(bench: &PreparedSlot) -> Result<BTreeSet<String>, Fault> {
    Ok(jury(bench)?.into_iter().map(|(_, language)| language).collect())
}

/// The jury's programs that must pass and can be run here, with their languages.
fn jury(bench: &PreparedSlot) -> Result<Vec<(Submission, String)>, Fault> {
    let job = &bench.job;
    let mut all = Vec::new();
    for jury in job.package.submissions.iter().filter(|jury| jury.bounds.lower) {
        let submission = Submission::of_jury(jury, job)?;
        if let Ok(language) = language_of(job, &submission) {
            let language = language.id.clone();
            all.push((submission, language));
        }
    }
    Ok(all)
}

/// The slowest test of a program, each run once. `None`: it cannot be run here, or is not accepted.
fn slow_test<'a>(
    bench: &'a PreparedSlot,
    submission: &Submission,
) -> Result<Option<(&'a TestCase, Nanos)>, Fault> {
    let Some((built, limits)) = ready(bench, submission)? else { return Ok(None) };
    let mut slowest_test: Option<(&TestCase, Nanos)> = None;
    for case in bench.job.package.data.all_cases() {
        let judged = bench.context().judge(&built, &limits, case)?;
        if judged.verdict != Verdict::Accepted {
            return Ok(None);
        }
        let time = slowest(bench, &judged)?.as_time();
        if slowest_test.is_none_or(|(_, known)| known < time) {
            slowest_test = Some((case, time));
        }
    }
    Ok(slowest_test)
}

/// The least CPU time of a program at its slowest test, in as many runs on a calm machine as settle a pass. A scale outlasts
/// the period in which it was measured: from a slow machine it would fail programs that keep their limit on a calm one. So the bound for
/// a calm machine is the floor's own here.
fn calm_time(bench: &PreparedSlot, slow: &Slow, looks: &Cell<u32>) -> Result<Nanos, Fault> {
    let (context, slow_from) = (bench.main_context(), bench.job.options.floor.slow_from());
    let phase = |phase| bench.job.phase(Some(&slow.submission.name), phase);
    let mut cpu = slow.cpu;
    for _ in 0..Policy::CALM_RUNS {
        if let Some(control) = bench.control() {
            let look = control.look(&context, slow_from)?;
            control.wait_for_calm(&context, slow_from, look, (looks, Policy::CALM_LOOKS), &phase)?;
        }
        cpu = cpu.min(time(bench, slow)?.unwrap_or(cpu));
    }
    Ok(cpu)
}

/// The time of a program at its slowest test by the clock of a bench.
fn time(bench: &PreparedSlot, slow: &Slow) -> Result<Option<Nanos>, Fault> {
    let Some((built, limits)) = ready(bench, &slow.submission)? else { return Ok(None) };
    let judged = bench.context().judge(&built, &limits, slow.case)?;
    let accepted = judged.verdict == Verdict::Accepted;
    Ok(accepted.then_some(slowest(bench, &judged)?.as_time()))
}

fn ready<'a>(
    bench: &'a PreparedSlot,
    submission: &Submission,
) -> Result<Option<(Built<'a>, CaseLimits)>, Fault> {
    let generous =
        TimeLimitInUse { limit: WHILE_INFERRING, source: String::new(), stop_factor: 1.0, inferred: None };
    match prepare(bench, submission) {
        Ok(Ready::Runs { built, .. }) => {
            let limits = case_limits(bench, &generous, built.allowance);
            Ok(Some((built, limits)))
        }
        Ok(_) | Err(Fault::NoToolchain { .. } | Fault::Input { .. }) => Ok(None),
        Err(fault) => Err(fault),
    }
}
