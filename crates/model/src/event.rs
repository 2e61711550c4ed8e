//! What happens while a package is judged, as it happens. Printing is one consumer of this stream.

use crate::{Nanos, TestResult, Verdict};
use serde::{Deserialize, Serialize};

/// A phase of judging that takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgePhase {
    /// Reading the package.
    Reading,
    /// Compiling a validator, grader or interactor of the package.
    PreparingValidators,
    /// Compiling the submission.
    Compiling,
    /// Running jury submissions to find the time limit.
    InferringTimeLimit,
    /// Running tests.
    Judging,
    /// Waiting until the machine is calm enough to repeat a test near its limit.
    WaitingForCalm,
}

/// One event. `submission` is the path as the user or the package names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A problem with the package that does not prevent judging.
    Warning {
        /// Where: file, and line and field where they are known.
        place: String,
        /// What, with the remedy.
        message: String,
    },
    /// A phase began.
    Phase {
        /// The submission it is for, if any.
        submission: Option<String>,
        /// Which.
        phase: JudgePhase,
    },
    /// The package's time limit is known.
    TimeLimit {
        /// CPU time of a test, without language factors.
        limit: Nanos,
        /// Where it comes from, in words.
        source: String,
    },
    /// A submission was begun.
    SubmissionStarted {
        /// Which.
        submission: String,
        /// Language id.
        language: String,
        /// Test cases to come, at most.
        tests: u32,
    },
    /// A test case was judged.
    TestFinished {
        /// The submission.
        submission: String,
        /// Its result.
        result: Box<TestResult>,
    },
    /// A submission was judged.
    SubmissionFinished {
        /// Which.
        submission: String,
        /// What it earned.
        verdict: Verdict,
        /// Its score, in scoring problems.
        score: Option<f64>,
    },
}
