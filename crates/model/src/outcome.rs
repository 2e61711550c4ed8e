//! What judging leaves behind: judgements of submissions and of whole packages. Plain data that reports,
//! stores and the engine share.

use crate::{Bytes, Clock, Confidence, Limits, Nanos, Reading, TestResult, Verdict};
use serde::{Deserialize, Serialize};

/// How a compilation ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compilation {
    /// A program came of it.
    pub ok: bool,
    /// What the compiler said, clipped.
    pub output: String,
}

/// How the time verdict of a submission was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// The least firm of its test cases.
    pub confidence: Confidence,
    /// Runs of the submission, all test cases together.
    pub runs: u32,
    /// Runs that their evidence condemned.
    pub void_runs: u32,
}

impl Settled {
    /// Of all test cases together: the least firm confidence, and all runs.
    pub fn of(tests: &[TestResult]) -> Settled {
        let none = Settled { confidence: Confidence::Clear, runs: 0, void_runs: 0 };
        tests.iter().fold(none, |all, test| all.and(test.settled))
    }

    /// Of both together.
    pub fn and(self, other: Settled) -> Settled {
        Settled {
            confidence: self.confidence.max(other.confidence),
            runs: self.runs.saturating_add(other.runs),
            void_runs: self.void_runs.saturating_add(other.void_runs),
        }
    }
}

/// A submission, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// As the user or the package names it.
    pub submission: String,
    /// Language id.
    pub language: String,
    /// What it earned.
    pub verdict: Verdict,
    /// Its score, in scoring problems.
    pub score: Option<f64>,
    /// The best score there is, where known.
    pub max_score: Option<f64>,
    /// What its times were measured by. Under instructions, a nanosecond stands for one.
    pub clock: Clock,
    /// What counted, and in which version, under clocks that count.
    pub counted_by: Option<String>,
    /// Time of a test case, with the language's factor.
    #[serde(rename = "time_limit_ns")]
    pub time_limit: Nanos,
    /// The limits of a run.
    pub limits: Limits,
    /// Its compilation.
    pub compile: Compilation,
    /// Every test case that was run, in order.
    pub tests: Vec<TestResult>,
    /// How its time was settled.
    pub settled: Settled,
    /// Why the verdict is JE; `None` otherwise.
    pub fault: Option<String>,
}

impl Judgement {
    /// One that could not be: our fault or the package's, never the program's. `why` says so to people.
    pub fn fault(submission: impl Into<String>, why: impl Into<String>) -> Judgement {
        Judgement {
            submission: submission.into(),
            language: String::new(),
            clock: Clock::Cpu,
            counted_by: None,
            verdict: Verdict::JudgeError,
            score: None,
            max_score: None,
            time_limit: Nanos::ZERO,
            limits: Limits::default(),
            compile: Compilation::default(),
            tests: Vec::new(),
            settled: Settled::of(&[]),
            fault: Some(why.into()),
        }
    }

    /// CPU time of the slowest test case.
    pub fn slowest(&self) -> Reading<Nanos> {
        let slowest = self.tests.iter().map(|t| t.cpu).max();
        slowest.map_or_else(|| Reading::unknown("no test case was run"), Reading::Known)
    }

    /// Most memory of any test case; unknown as soon as that of one is.
    pub fn memory_peak(&self) -> Reading<Bytes> {
        let most = |a: Reading<Bytes>, b: &Reading<Bytes>| match (a, b) {
            (Reading::Known(a), Reading::Known(b)) => Reading::Known(a.max(*b)),
            (unknown @ Reading::Unknown(_), _) => unknown,
            (Reading::Known(_), unknown) => unknown.clone(),
        };
        let peaks: Vec<_> = self.tests.iter().map(|t| &t.memory_peak).collect();
        match peaks.split_first() {
            Some((first, rest)) => rest.iter().fold((*first).clone(), |a, b| most(a, b)),
            None => Reading::unknown("no test case was run"),
        }
    }
}

/// A jury submission beside its promise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// Its path in the package.
    pub path: String,
    /// Final verdicts it may have; empty: any.
    pub expected: Vec<Verdict>,
    /// What came of it.
    pub outcome: CheckOutcome,
}

/// What came of checking a jury submission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// It was judged.
    Judged {
        /// What it earned.
        judgement: Box<Judgement>,
        /// Everything it promised and did not keep, in words; empty when all is well.
        broken: Vec<String>,
    },
    /// It could not be judged here, for this reason: no toolchain for its language.
    Skipped(String),
}

/// A package, verified.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// Short name.
    pub package: String,
    /// CPU time of a test case, without language factors; unknown where it could not be found.
    #[serde(rename = "time_limit_ns")]
    pub time_limit: Reading<Nanos>,
    /// Its jury submissions, ordered by path.
    pub submissions: Vec<Checked>,
    /// Why the package as a whole is wrong, such as a time limit that cannot be; `None` otherwise.
    pub fault: Option<String>,
}

impl Verification {
    /// Nothing is wrong with the package, skipped submissions aside.
    pub fn ok(&self) -> bool {
        self.fault.is_none() && self.mismatches() == 0
    }

    /// Submissions that did not keep a promise.
    pub fn mismatches(&self) -> usize {
        let broken =
            |c: &&Checked| matches!(&c.outcome, CheckOutcome::Judged { broken, .. } if !broken.is_empty());
        self.submissions.iter().filter(broken).count()
    }

    /// Submissions that could not be judged here.
    pub fn skipped(&self) -> usize {
        self.submissions.iter().filter(|c| matches!(c.outcome, CheckOutcome::Skipped(_))).count()
    }
}
