//! A task, and what comes of it.

use model::{
    Clock, Executed, Execution, InferredLimit, InferredScales, Judgement, Lease, Nanos, ProgramFile,
    ReferenceScale, SecondOpinions,
};
use serde::{Deserialize, Serialize};

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The right to do it.
    pub lease: Lease,
    /// How the submission is called in events and judgements.
    pub name: String,
    /// What is to be done.
    pub work: Work,
    /// The service may take it back while the worker waits for a calm machine, and wants to hear of that
    /// ([`crate::FromWorker::Waits`], [`crate::nats::Ask::Waits`]). Older services do not state it.
    #[serde(default)]
    pub may_be_postponed: bool,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Work {
    /// Judge a submission to a problem.
    Judge {
        /// SHA-256 of the package, a zip archive, in lower-case hexadecimal.
        package: String,
        /// The problem's short name, for messages and as the package's name.
        problem: String,
        /// Language id; `None`: by the names of the files.
        language: Option<String>,
        /// The sources. Empty where `jury` names a submission of the package.
        files: Vec<ProgramFile>,
        /// Path of a jury submission in the package.
        jury: Option<String>,
        /// How far to go.
        mode: Mode,
        /// What times are measured by; `None`: as the package or the node's configuration says.
        clock: Option<Clock>,
        /// The time limit, where the package states none.
        time_limit: Option<TimeLimit>,
        /// Second opinions; `None`: a service of before, which asks for none.
        #[serde(default)]
        opinions: Option<Opinions>,
    },
    /// Infer the time limit of a problem that states none. Only for workers that say they can ([`crate::Hello::infers`]).
    Infer {
        /// As in [`Work::Judge`].
        package: String,
        /// As in [`Work::Judge`].
        problem: String,
        /// Not the time limit, which may be stated, but what limits of CPU time are in reference time ([`Outcome::Scaled`]).
        #[serde(default)]
        scales: bool,
    },
    /// Run a program that belongs to no problem.
    Execute(Box<Execution>),
}

/// How far judging goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Until the verdict is known.
    #[default]
    StopEarly,
    /// Through all tests.
    AllTests,
}

/// A time limit that all submissions to a version of a problem are judged by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeLimit {
    /// CPU time of a test, without language factors.
    #[serde(rename = "limit_ns")]
    pub limit: Nanos,
    /// Where it comes from, in words.
    pub source: String,
}

/// When the reference clock judges a test, and by which limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opinions {
    /// When.
    pub when: SecondOpinions,
    /// The contest says so, whatever the package says.
    pub firm: bool,
    /// What limits of the problem's version are in reference time. Empty where that is not known yet.
    pub scales: Vec<ReferenceScale>,
}

/// The outcome of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The submission was judged.
    Judged {
        /// The judgement.
        judgement: Box<Judgement>,
    },
    /// The program was run.
    Executed {
        /// What came of it.
        executed: Box<Executed>,
    },
    /// The time limit was inferred.
    Inferred {
        /// The limit.
        limit: Box<InferredLimit>,
    },
    /// Scales were inferred.
    Scaled {
        /// The scales.
        found: Box<InferredScales>,
    },
    /// The input cannot be judged on any node: a language that is not accepted, a package whose programs fail.
    Refused {
        /// Why, with the remedy.
        why: String,
    },
    /// This worker failed. Another attempt may do better.
    Failed {
        /// Why.
        why: String,
    },
    /// It was not done: the worker is ending, or the service withdrew the task.
    Returned {
        /// Why.
        why: String,
    },
}
