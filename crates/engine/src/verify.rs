//! Judging every jury submission of a package, and holding it against what the package promises.

use crate::Fault;
use crate::bench::{Bench, spread};
use crate::job::Job;
use crate::slot::Slot;
use crate::submission::{Submission, SubmissionResult, judge_submission};
use crate::timelimit::{Found, TimeLimitInUse, time_limit};
use judge::expect;
use judge::infer::margin_holds;
use judge::package::{Inference, JurySubmission};
use judge::scoring::JudgeMode;
use model::{Event, Nanos, Verdict, WallLimit};

/// What a package's jury submissions earned.
#[derive(Clone, Debug)]
pub struct PackageReport {
    /// The package's short name.
    pub package: String,
    /// The time limit in use.
    pub time: TimeLimitInUse,
    /// Every jury submission, in the package's order.
    pub submissions: Vec<Verified>,
}

/// One jury submission.
#[derive(Clone, Debug)]
pub struct Verified {
    /// Its path in the package.
    pub path: String,
    /// Final verdicts that are right; empty: any.
    pub expected: Vec<Verdict>,
    /// What came of it.
    pub outcome: Checked,
}

/// What came of a jury submission.
#[derive(Clone, Debug)]
pub enum Checked {
    /// It was judged.
    Judged {
        /// What it earned.
        result: Box<SubmissionResult>,
        /// Promises it does not keep, in words; none: all is well.
        broken: Vec<String>,
    },
    /// It cannot be judged here, for this reason.
    Skipped(String),
}

impl PackageReport {
    /// Submissions that do not keep a promise.
    pub fn mismatches(&self) -> usize {
        let broken =
            |v: &&Verified| matches!(&v.outcome, Checked::Judged { broken, .. } if !broken.is_empty());
        self.submissions.iter().filter(broken).count()
    }

    /// Submissions that ended in a judge error.
    pub fn judge_errors(&self) -> usize {
        let failed = |v: &&Verified| matches!(&v.outcome, Checked::Judged { result, .. } if result.verdict == Verdict::JudgeError);
        self.submissions.iter().filter(failed).count()
    }
}

/// Judges every jury submission, all tests of each, as many at a time as there are slots.
pub fn verify_package(job: Job, slots: &[Slot]) -> Result<PackageReport, Fault> {
    let few = &slots[..slots.len().min(job.package.submissions.len().max(1))];
    let benches = Bench::all(job, few)?;
    let Found { time, judged } = time_limit(&job, &benches)?;
    let submissions: Vec<&JurySubmission> = job.package.submissions.iter().collect();
    let submissions = spread(&benches, &submissions, |bench, jury| {
        let known = judged.get(&jury.program.path).and_then(|result| under(result, &time, bench));
        let outcome = match known {
            Some(result) => {
                replay(&job, &result);
                checked(&job, jury, result, &time)
            }
            None => check(bench, jury, &time)?,
        };
        let expected = jury.expectation.verdicts.clone();
        Ok(Verified { path: jury.program.path.clone(), expected, outcome })
    })?;
    Ok(PackageReport { package: job.package.short_name.clone(), time, submissions })
}

/// The result of a submission judged by a generous limit, under the limit in use: the same where no run comes
/// near a time limit. `None`: it must be judged anew.
fn under(generous: &SubmissionResult, time: &TimeLimitInUse, bench: &Bench) -> Option<SubmissionResult> {
    let factor = generous.time_limit.as_secs_f64() / crate::limits::WHILE_INFERRING.as_secs_f64();
    let limit = time.limit.scale(factor);
    let allowance = crate::limits::Allowance::NONE;
    let wall =
        bench.settings.submission(limit, allowance).wall.map_or(Nanos(u64::MAX), |w: WallLimit| w.time);
    let runs = || generous.tests.iter().flat_map(|test| &test.runs);
    let holds = runs().all(|run| run.time.cpu <= limit && run.time.wall <= wall);
    (holds && generous.verdict != Verdict::CompileError)
        .then(|| SubmissionResult { time_limit: limit, ..generous.clone() })
}

/// Tells of a result that was judged silently.
fn replay(job: &Job, result: &SubmissionResult) {
    let submission = || result.submission.clone();
    let tests = u32::try_from(result.tests.len()).unwrap_or(u32::MAX);
    (job.emit)(Event::SubmissionStarted {
        submission: submission(),
        language: result.language.clone(),
        tests,
    });
    for test in &result.tests {
        (job.emit)(Event::TestFinished { submission: submission(), result: Box::new(test.clone()) });
    }
    let (verdict, score) = (result.verdict, result.score);
    (job.emit)(Event::SubmissionFinished { submission: submission(), verdict, score });
}

fn check(bench: &Bench, jury: &JurySubmission, time: &TimeLimitInUse) -> Result<Checked, Fault> {
    let job = &bench.job;
    // How much too slow it is shows only when it may go on for a while (legacy, "limits", time_safety_margin).
    let stop_factor = match time.inferred {
        Some(Inference::Legacy { safety_margin, .. }) if jury.bounds.upper => safety_margin.max(1.0),
        _ => 1.0,
    };
    let time = TimeLimitInUse { stop_factor, ..time.clone() };
    let judged = Submission::of_jury(jury, job)
        .and_then(|submission| judge_submission(bench, &submission, &time, JudgeMode::AllTests));
    match judged {
        Ok(result) => Ok(checked(job, jury, result, &time)),
        Err(fault @ (Fault::NoToolchain { .. } | Fault::Input { .. })) => {
            Ok(Checked::Skipped(fault.to_string()))
        }
        Err(fault) => Err(fault),
    }
}

fn checked(job: &Job, jury: &JurySubmission, result: SubmissionResult, time: &TimeLimitInUse) -> Checked {
    if let Some(rule @ Inference::Legacy { .. }) = time.inferred
        && jury.bounds.upper
        && result.verdict == Verdict::TimeLimit
        && !margin_holds(rule, result.time_limit, result.slowest())
    {
        let why = format!(
            "is too slow, but not by the safety margin: its slowest test takes {} of {}",
            result.slowest(),
            result.time_limit
        );
        job.warn(&jury.program.path, why);
    }
    let broken = expect::holds(&jury.expectation, &result.outcome()).err().unwrap_or_default();
    Checked::Judged { result: Box::new(result), broken }
}
