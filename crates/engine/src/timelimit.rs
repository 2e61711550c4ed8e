//! The time limit of a package: typed, stated, or inferred from jury submissions.

use crate::job::Job;
use crate::limit_cache::{self, LimitCache};
use crate::limits::WHILE_INFERRING;
use crate::prepared_slot::{PreparedSlot, spread};
use crate::submission::{
    JudgedSubmission, Ready, Submission, case_limits, judge_submission, language_of, prepare,
};
use crate::{Fault, SystemError};
use judge::infer::{infer_time_limit, suggest};
use judge::package::{JurySubmission, TimeLimit};
use judge::scoring::JudgeMode;
use model::{
    Event, Forms, Inference, InferredLimit, JudgePhase, LimitSide, Nanos, Reading, TimedProgram, Verdict,
};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The forms of a time limit that is kept; `tests/forms` has a file for each.
pub(crate) const LIMIT: Forms = Forms::kept("a time limit of a package", 1);

/// The time limit that submissions are judged by.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeLimitInUse {
    /// CPU time of a test case, without language factors.
    pub limit: Nanos,
    /// Where it comes from, in words.
    pub source: String,
    /// Runs are stopped only at this multiple of the limit; 1 where nobody wants to know how much too slow a
    /// submission is.
    pub stop_factor: f64,
    /// The rule it was inferred by.
    pub inferred: Option<Inference>,
}

impl TimeLimitInUse {
    /// A limit that is compared with times and not reported.
    pub(crate) fn plain(limit: Nanos) -> TimeLimitInUse {
        TimeLimitInUse { limit, source: String::new(), stop_factor: 1.0, inferred: None }
    }
}

/// The time limit, and the results of submissions that were judged on the way, by name. Those were judged in
/// full, but by a generous limit.
pub struct Found {
    /// The limit.
    pub time: TimeLimitInUse,
    /// Results by the generous limit.
    pub judged: BTreeMap<String, JudgedSubmission>,
    /// What the limit was inferred from, where it was, without the warnings, which are events.
    pub inferred: Option<InferredLimit>,
}

/// Finds the time limit.
pub fn time_limit(job: &Job, benches: &[PreparedSlot]) -> Result<Found, Fault> {
    let known = |limit: Nanos, source: String| Found {
        time: TimeLimitInUse { limit, source, stop_factor: 1.0, inferred: None },
        judged: BTreeMap::new(),
        inferred: None,
    };
    let found = match (job.options.overrides.cpu, &job.package.limits.time) {
        (Some(typed), _) => known(typed, "given on the command line".to_owned()),
        (None, TimeLimit::Stated { limit, source }) => known(*limit, source.clone()),
        (None, TimeLimit::Inferred(rule)) => known_or_inferred(job, benches, *rule)?,
    };
    (job.emit)(Event::TimeLimit { limit: found.time.limit, source: found.time.source.clone() });
    Ok(found)
}

/// The limit that was kept for this package, else a new one.
fn known_or_inferred(job: &Job, benches: &[PreparedSlot], rule: Inference) -> Result<Found, Fault> {
    let limit_cache = job.limit_cache;
    let Some(bench) = benches.first().filter(|_| limit_cache.directory.is_some()) else {
        return infer(job, benches, rule, None);
    };
    let key = limit_cache::key(bench)?;
    let earlier = earlier(limit_cache, &key);
    if let Some(limit) = earlier.clone().filter(|_| !limit_cache.fresh) {
        for told in &limit.warnings {
            let (place, message) = told.split_once(": ").unwrap_or(("", told));
            job.warn(place, message.to_owned());
        }
        let source = format!("{}; measured before (--fresh measures again)", limit.source);
        let time = TimeLimitInUse { limit: limit.limit, source, stop_factor: 1.0, inferred: Some(rule) };
        return Ok(Found { time, judged: BTreeMap::new(), inferred: Some(limit) });
    }
    let warnings = Mutex::new(Vec::new());
    let emit = |event: Event| {
        if let Event::Warning { place, message } = &event {
            warnings.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{place}: {message}"));
        }
        (job.emit)(event);
    };
    let listening: Vec<PreparedSlot> = benches.iter().map(|bench| bench.with_emit(&emit)).collect();
    let first = listening.first().ok_or_else(|| SystemError::new("judging", "there is no slot"))?;
    let found = infer(&first.job, &listening, rule, earlier.map(|limit| limit.limit))?;
    if let Some(limit) = &found.inferred {
        let warnings = std::mem::take(&mut *warnings.lock().unwrap_or_else(PoisonError::into_inner));
        keep_limit(limit_cache, &key, &InferredLimit { warnings, ..limit.clone() });
    }
    Ok(found)
}

/// The limit that is kept under this key.
pub(crate) fn earlier(limit_cache: LimitCache, key: &str) -> Option<InferredLimit> {
    limit_cache::read(limit_cache.directory?, &limit_name(key), &LIMIT)
}

/// Keeps a limit. Where that is not possible it is inferred again.
pub(crate) fn keep_limit(limit_cache: LimitCache, key: &str, limit: &InferredLimit) {
    if let Some(directory) = limit_cache.directory {
        let _ = limit_cache::write(directory, &limit_name(key), &LIMIT, limit);
    }
}

fn limit_name(key: &str) -> String {
    format!("{key}.limit")
}

fn infer(
    job: &Job,
    benches: &[PreparedSlot],
    rule: Inference,
    earlier: Option<Nanos>,
) -> Result<Found, Fault> {
    let generous = TimeLimitInUse {
        limit: WHILE_INFERRING,
        source: "while inferring".to_owned(),
        stop_factor: 1.0,
        inferred: None,
    };
    let lower: Vec<&JurySubmission> = job.package.submissions.iter().filter(|s| s.bounds.lower).collect();
    let timed =
        spread(benches, &lower, |bench, jury| runnable(job, jury, || slow_enough(bench, jury, &generous)))?;
    let timed: Vec<Timed> = timed.into_iter().flatten().collect();
    let slowest = timed.iter().max_by_key(|t| t.time);
    let refuse = |why: String| Fault::Input { place: job.package.short_name.clone(), why };
    let at_least =
        infer_time_limit(rule, slowest.map(|t| t.time), None).map_err(|e| refuse(e.to_string()))?;
    let upper = match rule {
        Inference::Legacy { .. } => Vec::new(),
        Inference::V2025_09 { time_limit_to_tle, .. } => {
            too_slow(job, benches, at_least.scale(time_limit_to_tle))?
        }
    };
    let fastest = upper.iter().map(|program| program.time).min();
    let spread = job.options.floor.spread();
    let varies = job.options.meter.clock().varies();
    let interval = |time: Nanos| match varies {
        true => [
            time.scale(1.0 / ((1.0 + spread.median_excess) * (1.0 + 2.0 * spread.tail_scale))),
            time.scale(1.0 + spread.median_excess),
        ],
        false => [time; 2],
    };
    let found = suggest(rule, slowest.map(|t| (t.time, interval(t.time))), fastest, earlier);
    let found = found.map_err(|e| refuse(e.to_string()))?;
    let limit = found.limit;
    // What must pass can still be judged; what must be too slow and is not shows as a broken promise.
    if let Some(clash) = found.clash {
        job.warn(&job.package.short_name, format!("{clash}; using {limit}"));
    }
    let slowest =
        slowest.map(|t| format!("{} takes {}", t.result.judgement.submission, t.time)).unwrap_or_default();
    let source = format!("inferred: the slowest jury submission that must pass, {slowest}");
    let inferred = InferredLimit {
        limit,
        source: source.clone(),
        rule: Reading::Known(rule),
        clock: Reading::Known(job.options.meter.clock()),
        programs: timed.iter().map(Timed::program).chain(upper).collect(),
        warnings: Vec::new(),
    };
    Ok(Found {
        time: TimeLimitInUse { limit, source, stop_factor: 1.0, inferred: Some(rule) },
        judged: timed.into_iter().map(|t| (t.result.judgement.submission.clone(), t.result)).collect(),
        inferred: Some(inferred),
    })
}

struct Timed {
    result: JudgedSubmission,
    /// Of its slowest test, without the language's factor.
    time: Nanos,
}

impl Timed {
    fn program(&self) -> TimedProgram {
        let judgement = &self.result.judgement;
        TimedProgram {
            path: judgement.submission.clone(),
            language: judgement.language.clone(),
            side: LimitSide::Passes,
            time: self.time,
            ended: false,
        }
    }
}

/// The time of a submission that must pass, by the generous limit. `None`: it says nothing.
fn slow_enough(
    bench: &PreparedSlot,
    jury: &JurySubmission,
    generous: &TimeLimitInUse,
) -> Result<Option<Timed>, Fault> {
    let job = &bench.job;
    job.phase(Some(&jury.program.path), JudgePhase::InferringTimeLimit);
    let silent = |_: Event| {};
    let quiet = bench.with_emit(&silent);
    let result = judge_submission(&quiet, &Submission::of_jury(jury, job)?, generous, JudgeMode::AllTests)?;
    let place = &jury.program.path;
    match result.judgement.verdict {
        Verdict::CompileError => {
            job.warn(place, "does not compile, so it does not count for the time limit".to_owned());
            return Ok(None);
        }
        Verdict::JudgeError => {
            let why = result.judgement.fault.unwrap_or_else(|| "judge error".to_owned());
            return Err(Fault::Package { place: place.clone(), why });
        }
        _ => {}
    }
    if result.judgement.tests.iter().any(|test| test.verdict == Verdict::TimeLimit) {
        let why = format!(
            "must pass, but takes longer than {generous}\nhint: state a time limit in the package, or use --cpu-time",
            generous = generous.limit
        );
        return Err(Fault::Package { place: place.clone(), why });
    }
    let factor = result.judgement.time_limit.as_secs_f64() / generous.limit.as_secs_f64();
    let time = result.slowest().scale(1.0 / factor);
    Ok(Some(Timed { result, time }))
}

/// The submissions that must be too slow. Times beyond `enough` are as good as endless, so runs are stopped there.
fn too_slow(job: &Job, benches: &[PreparedSlot], enough: Nanos) -> Result<Vec<TimedProgram>, Fault> {
    let upper: Vec<&JurySubmission> = job.package.submissions.iter().filter(|s| s.bounds.upper).collect();
    let timed = spread(benches, &upper, |bench, jury| {
        runnable(job, jury, || {
            job.phase(Some(&jury.program.path), JudgePhase::InferringTimeLimit);
            let submission = Submission::of_jury(jury, job)?;
            let language = language_of(job, &submission)?.id.clone();
            let time = slowest_test(bench, &submission, enough)?;
            Ok(time.map(|time| TimedProgram {
                path: jury.program.path.clone(),
                language,
                side: LimitSide::TooSlow,
                time,
                ended: time >= enough,
            }))
        })
    })?;
    Ok(timed.into_iter().flatten().collect())
}

fn slowest_test(
    bench: &PreparedSlot,
    submission: &Submission,
    enough: Nanos,
) -> Result<Option<Nanos>, Fault> {
    let Ready::Runs { built, .. } = prepare(bench, submission)? else { return Ok(None) };
    let time = TimeLimitInUse { limit: enough, source: String::new(), stop_factor: 1.0, inferred: None };
    let limits = case_limits(bench, &time, built.allowance);
    let mut slowest = Nanos::ZERO;
    for case in bench.job.package.data.all_cases() {
        let judged = bench.context().judge(&built, &limits, case)?;
        for run in &judged.runs {
            let time = bench.job.options.meter.charge(run)?.as_time();
            slowest = slowest.max(time.scale(1.0 / built.allowance.time_factor));
        }
        if judged.verdict == Verdict::TimeLimit || slowest >= enough {
            return Ok(Some(slowest.max(enough)));
        }
    }
    Ok(Some(slowest))
}

/// What cannot be run here has no say in the time limit.
pub(crate) fn runnable<R>(
    job: &Job,
    jury: &JurySubmission,
    work: impl FnOnce() -> Result<Option<R>, Fault>,
) -> Result<Option<R>, Fault> {
    match work() {
        Err(fault @ (Fault::NoToolchain { .. } | Fault::Input { .. })) => {
            job.warn(&jury.program.path, format!("does not count for the time limit: {fault}"));
            Ok(None)
        }
        other => other,
    }
}
