//! Judging every jury submission of a package, and holding it against what the package promises.

use crate::Fault;
use crate::checks::complaints;
use crate::job::Job;
use crate::limits::{Allowance, WHILE_INFERRING};
use crate::prepared_slot::{PreparedSlot, spread};
use crate::slot::Slot;
use crate::submission::{JudgedSubmission, Submission, judge_submission, language_of};
use crate::timelimit::{Found, TimeLimitInUse, time_limit};
use judge::expect;
use judge::infer::margin_holds;
use judge::package::{Inference, JurySubmission};
use judge::scoring::JudgeMode;
use model::{
    Charge, CheckOutcome, Checked, Event, Judgement, Limits, Nanos, Observation, Reading, Verdict,
    Verification,
};

/// Judges these jury submissions of the package, all tests of each, as many at a time as there are slots. The time limit is inferred from all
/// of the package's, whichever are judged.
///
/// A package whose time limit cannot be is told in the result. Any other fault ends the verification.
/// `tell` hears of each submission when it is done.
pub fn verify_package(
    job: Job,
    slots: &[Slot],
    submissions: &[&JurySubmission],
    tell: &(dyn Fn(&Checked) + Sync),
) -> Result<Verification, Fault> {
    let few = &slots[..slots.len().min(submissions.len().max(1))];
    let benches = PreparedSlot::all(job, few)?;
    let (package, format) = (job.package.short_name.clone(), job.package.format.name().to_owned());
    let Found { time, judged, .. } = match time_limit(&job, &benches) {
        Ok(found) => found,
        Err(fault @ Fault::Input { .. }) => {
            let (why, submissions) = (fault.to_string(), Vec::new());
            let time_limit = Reading::unknown(why.clone());
            return Ok(Verification {
                package,
                format,
                time_limit,
                time_limit_source: None,
                submissions,
                fault: Some(why),
                warnings: Vec::new(),
            });
        }
        Err(fault) => return Err(fault),
    };
    submissions.iter().for_each(|jury| warn_of_language(&job, jury));
    let features = &job.package.features;
    let first =
        benches.first().filter(|_| !(features.checks.is_empty() && features.validator_tests.is_empty()));
    let complaints = first.map(complaints).transpose()?.flatten();
    let submissions = spread(&benches, submissions, |bench, jury| {
        let known = judged.get(&jury.program.path).and_then(|result| under(result, &time, bench));
        let outcome = match known {
            Some(result) => {
                replay(&job, &result.judgement);
                checked(&job, jury, result, &time)
            }
            None => check(bench, jury, &time)?,
        };
        let expected = jury.expectation.verdicts.clone();
        let checked = Checked { path: jury.program.path.clone(), expected, outcome };
        tell(&checked);
        Ok(checked)
    })?;
    // Nothing was promised, so nothing was kept.
    let none = "has no jury submission in submissions/, so nothing was verified";
    Ok(Verification {
        package,
        format,
        time_limit: Reading::Known(time.limit),
        time_limit_source: Some(time.source),
        fault: complaints.or_else(|| submissions.is_empty().then(|| none.to_owned())),
        submissions,
        warnings: Vec::new(),
    })
}

/// Says where the jury uses a language that contestants may not: then no limit is shown to be right for those who may.
fn warn_of_language(job: &Job, jury: &JurySubmission) {
    let Some(allowed) =
        job.package.languages.as_ref().filter(|allowed| !job.package.submit_answer && !allowed.is_empty())
    else {
        return;
    };
    // One that cannot be read, or whose language is not known, is told of where it is judged.
    let Ok(language) = Submission::of_jury(jury, job).and_then(|submission| language_of(job, &submission))
    else {
        return;
    };
    if !language.codes.iter().any(|code| allowed.contains(code)) {
        let allowed = allowed.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let why = format!(
            "is {}, which the package does not take; it takes {allowed} (problem.yaml: languages)",
            language.name
        );
        job.warn(&jury.program.path, why);
    }
}

/// The result of a submission judged by a generous limit, under the limit in use: the same where no run comes
/// near a time limit. `None`: it must be judged again.
fn under(
    generous: &JudgedSubmission,
    time: &TimeLimitInUse,
    bench: &PreparedSlot,
) -> Option<JudgedSubmission> {
    let judged = &generous.judgement;
    let factor = judged.time_limit.as_secs_f64() / WHILE_INFERRING.as_secs_f64();
    let time_limit = time.limit.scale(factor);
    let stated = bench.job.options.meter.judged_by(bench.settings.submission(time_limit, Allowance::NONE));
    let Limits { cpu, instructions, reference, wall, .. } = stated;
    let limits = Limits { cpu, instructions, reference, wall, ..judged.limits };
    let limit = Charge::for_time(judged.clock, time_limit);
    let wall = limits.wall.map_or(Nanos(u64::MAX), |wall| wall.time);
    let kept = |run: &Observation| {
        Charge::measured(judged.clock, run).known().is_some_and(|charge| *charge <= limit)
    };
    let mut runs = judged.tests.iter().flat_map(|test| &test.runs);
    let holds = runs.all(|run| kept(run) && run.time.wall <= wall);
    let judgement = Judgement { time_limit, limits, ..judged.clone() };
    holds.then(|| JudgedSubmission { judgement, ..generous.clone() })
}

/// Tells of a result that was judged silently.
fn replay(job: &Job, judgement: &Judgement) {
    let submission = || judgement.submission.clone();
    let tests = u32::try_from(judgement.tests.len()).unwrap_or(u32::MAX);
    (job.emit)(Event::SubmissionStarted {
        submission: submission(),
        language: judgement.language.clone(),
        tests,
    });
    for test in &judgement.tests {
        (job.emit)(Event::TestFinished { submission: submission(), result: Box::new(test.clone()) });
    }
    let (verdict, score) = (judgement.verdict, judgement.score);
    (job.emit)(Event::SubmissionFinished { submission: submission(), verdict, score });
}

fn check(bench: &PreparedSlot, jury: &JurySubmission, time: &TimeLimitInUse) -> Result<CheckOutcome, Fault> {
    let bench = &bench.with_limits(jury.limits);
    let job = &bench.job;
    // How much too slow it is shows only when it may go on for a while (legacy, "limits", time_safety_margin).
    let stop_factor = match time.inferred {
        Some(Inference::Legacy { safety_margin, .. }) if jury.bounds.upper => safety_margin.max(1.0),
        _ => 1.0,
    };
    let own = jury.limits.time.filter(|_| job.options.overrides.cpu.is_none());
    let time = TimeLimitInUse { limit: own.unwrap_or(time.limit), stop_factor, ..time.clone() };
    let judged = Submission::of_jury(jury, job)
        .and_then(|submission| judge_submission(bench, &submission, &time, JudgeMode::AllTests));
    match judged {
        Ok(result) => {
            let outcome = checked(job, jury, result, &time);
            Ok(with_extra_time(bench, jury, &time, &outcome)?.unwrap_or(outcome))
        }
        Err(fault @ (Fault::NoToolchain { .. } | Fault::Input { .. })) => {
            Ok(CheckOutcome::Skipped(fault.to_string()))
        }
        Err(fault) => Err(fault),
    }
}

/// A submission that would keep its promise if only it were not too slow is given time up to the safety margin:
/// legacy packages promise a verdict within that, as problemtools verifies them. `None`: the outcome stands.
fn with_extra_time(
    bench: &PreparedSlot,
    jury: &JurySubmission,
    time: &TimeLimitInUse,
    outcome: &CheckOutcome,
) -> Result<Option<CheckOutcome>, Fault> {
    let Some(Inference::Legacy { safety_margin, .. }) = time.inferred else { return Ok(None) };
    let CheckOutcome::Judged { judgement, broken } = outcome else { return Ok(None) };
    let slow = judgement.tests.iter().any(|test| test.verdict == Verdict::TimeLimit);
    if broken.is_empty() || !slow || jury.bounds.upper || safety_margin <= 1.0 {
        return Ok(None);
    }
    let longer = TimeLimitInUse { limit: time.limit.scale(safety_margin), stop_factor: 1.0, ..time.clone() };
    let submission = Submission::of_jury(jury, &bench.job)?;
    let result = judge_submission(bench, &submission, &longer, JudgeMode::AllTests)?;
    if expect::holds(&jury.expectation, &result.outcome()).is_err() {
        return Ok(None);
    }
    let why =
        format!("has the expected verdict only with extra time, {} in place of {}", longer.limit, time.limit);
    bench.job.warn(&jury.program.path, why);
    Ok(Some(checked(&bench.job, jury, result, &longer)))
}

fn checked(
    job: &Job,
    jury: &JurySubmission,
    result: JudgedSubmission,
    time: &TimeLimitInUse,
) -> CheckOutcome {
    if let Some(rule @ Inference::Legacy { .. }) = time.inferred
        && jury.bounds.upper
        && result.judgement.verdict == Verdict::TimeLimit
        && !margin_holds(rule, result.judgement.time_limit, result.slowest())
    {
        let why = format!(
            "is too slow, but not by the safety margin: its slowest test takes {} of {}",
            Charge::for_time(result.judgement.clock, result.slowest()),
            result.judgement.limit()
        );
        job.warn(&jury.program.path, why);
    }
    if result.judgement.verdict == Verdict::PartiallyAccepted
        && jury.expectation.verdicts.contains(&Verdict::Accepted)
    {
        let why = "is accepted with less than the full score; move it to partially_accepted/".to_owned();
        job.warn(&jury.program.path, why);
    }
    let broken = expect::holds(&jury.expectation, &result.outcome()).err().unwrap_or_default();
    CheckOutcome::Judged { judgement: Box::new(result.judgement), broken }
}
