//! `tauto verify --json`.

use model::{
    Bound, Bytes, Charge, CheckOutcome, Checked, GroupScore, Judgement, Nanos, Reading, Transcript, Verdict,
    Verification,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// Packages, verified.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VerifyDocument {
    /// Each package.
    pub packages: Vec<PackageDocument>,
    /// Submissions judged, all packages together.
    pub submissions: usize,
    /// Those that did not keep a promise.
    pub mismatches: usize,
    /// Submissions that could not be judged here, counted nowhere else.
    pub skipped: usize,
}

/// A package.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PackageDocument {
    /// Short name.
    pub package: String,
    /// Its format.
    pub format: String,
    /// CPU time of a test case, without language factors.
    pub time_limit_ns: Reading<Nanos>,
    /// The same, with where it comes from.
    pub time_limit: Reading<LimitDocument>,
    /// CPU time of the slowest test of the accepted submission that comes nearest to its limit.
    pub slowest_accepted_ns: Reading<Nanos>,
    /// The same of the submission that passes its limit by least; one that was stopped would have taken longer.
    pub fastest_too_slow_ns: Reading<Nanos>,
    /// Nothing is wrong with it.
    pub ok: bool,
    /// Why the package as a whole is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// What is untidy about it, each with its place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Its jury submissions.
    pub submissions: Vec<SubmissionDocument>,
}

/// A time limit and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitDocument {
    /// CPU time of a test case, without language factors.
    pub ns: Nanos,
    /// In words.
    pub source: String,
}

/// A jury submission.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SubmissionDocument {
    /// Path in the package.
    pub path: String,
    /// Final verdicts it may have; empty: any.
    pub expected: Vec<Verdict>,
    /// The final verdict; `None` when skipped.
    pub verdict: Option<Verdict>,
    /// Its score, in scoring problems.
    pub score: Option<f64>,
    /// The best score there is, where known.
    pub max_score: Option<f64>,
    /// What its test groups earned, in scoring problems.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupScore>,
    /// It kept what it promised; `None` when skipped.
    pub ok: Option<bool>,
    /// CPU time of its slowest test; `None` when skipped.
    pub slowest_ns: Option<Reading<Nanos>>,
    /// Most memory of any test; `None` when skipped.
    pub memory_peak_bytes: Option<Reading<Bytes>>,
    /// Number of test cases with each verdict.
    pub tests: BTreeMap<&'static str, usize>,
    /// What program and interactor wrote to each other in one test, where it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<TranscriptDocument>,
    /// How its verdict differs from the expected one, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<String>,
    /// Why it was not judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

/// A transcript, and the test that it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TranscriptDocument {
    /// Path below `data/` without extension.
    pub test: String,
    /// What was written.
    #[serde(flatten)]
    pub transcript: Transcript,
}

impl VerifyDocument {
    /// From verified packages.
    pub fn new(verifications: &[Verification]) -> VerifyDocument {
        let all: usize = verifications.iter().map(|v| v.submissions.len()).sum();
        let skipped: usize = verifications.iter().map(Verification::skipped).sum();
        VerifyDocument {
            packages: verifications.iter().map(PackageDocument::new).collect(),
            submissions: all - skipped,
            mismatches: verifications.iter().map(Verification::mismatches).sum(),
            skipped,
        }
    }
}

impl PackageDocument {
    fn new(verification: &Verification) -> PackageDocument {
        let time = |bound: Option<Bound>, none: &'static str| {
            bound.map_or_else(|| Reading::unknown(none), |bound| Reading::Known(bound.charge.as_time()))
        };
        let limit = |ns: Nanos| LimitDocument {
            ns,
            source: verification.time_limit_source.clone().unwrap_or_default(),
        };
        PackageDocument {
            package: verification.package.clone(),
            format: verification.format.clone(),
            time_limit_ns: verification.time_limit.clone(),
            time_limit: verification.time_limit.clone().map(limit),
            slowest_accepted_ns: time(verification.slowest_accepted(), "no submission is accepted"),
            fastest_too_slow_ns: time(verification.fastest_too_slow(), "no submission is too slow"),
            warnings: verification.warnings.clone(),
            ok: verification.ok(),
            fault: verification.fault.clone(),
            submissions: verification.submissions.iter().map(SubmissionDocument::new).collect(),
        }
    }
}

impl SubmissionDocument {
    fn new(checked: &Checked) -> SubmissionDocument {
        let mut document = SubmissionDocument {
            path: checked.path.clone(),
            expected: checked.expected.clone(),
            verdict: None,
            score: None,
            max_score: None,
            groups: Vec::new(),
            ok: None,
            slowest_ns: checked.judgement().map(|judgement| judgement.slowest().map(Charge::as_time)),
            memory_peak_bytes: checked.judgement().map(Judgement::memory_peak),
            tests: BTreeMap::new(),
            transcript: None,
            broken: Vec::new(),
            skipped: None,
        };
        match &checked.outcome {
            CheckOutcome::Skipped(why) => document.skipped = Some(why.clone()),
            CheckOutcome::Judged { judgement, broken } => {
                document.verdict = Some(judgement.verdict);
                document.score = judgement.score;
                document.max_score = judgement.max_score;
                document.groups.clone_from(&judgement.groups);
                document.ok = Some(broken.is_empty());
                document.broken.clone_from(broken);
                for test in &judgement.tests {
                    *document.tests.entry(test.verdict.code()).or_default() += 1;
                    if let Some(transcript) = test.transcript.clone() {
                        document.transcript =
                            Some(TranscriptDocument { test: test.name.clone(), transcript });
                    }
                }
            }
        }
        document
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::to_text;
    use crate::samples;

    #[test]
    fn a_transcript_names_its_test() {
        let mut judgement = samples::judgement(Verdict::WrongAnswer);
        judgement.tests[1].transcript = Some(samples::transcript());
        let outcome = CheckOutcome::Judged { judgement: Box::new(judgement), broken: Vec::new() };
        let checked = Checked { path: "a.py".into(), expected: Vec::new(), outcome };
        let document = serde_json::to_value(SubmissionDocument::new(&checked)).unwrap();
        let turn = serde_json::json!({"from": "program", "at_ns": 1_500_000, "text": "\u{1b}4\n"});
        let expected = serde_json::json!({"test": "secret/01", "turns": [turn], "left_out_bytes": 7});
        assert_eq!(document["transcript"], expected);
    }

    #[test]
    fn packages() {
        insta::assert_snapshot!("verify", to_text(&VerifyDocument::new(&samples::verifications())));
    }
}
