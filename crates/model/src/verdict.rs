//! Verdicts and the result of one test. Named here, derived in `judge`.

use crate::{Bytes, Cause, Charge, Nanos, Observation, Reading, SecondOpinion, Settled, Transcript};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What a submission earned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Verdict {
    /// Accepted.
    #[serde(rename = "AC")]
    Accepted,
    /// Accepted with less than the full score.
    #[serde(rename = "PA")]
    PartiallyAccepted,
    /// Wrong answer.
    #[serde(rename = "WA")]
    WrongAnswer,
    /// Time limit exceeded.
    #[serde(rename = "TLE")]
    TimeLimit,
    /// Run-time error.
    #[serde(rename = "RTE")]
    RunTimeError,
    /// Memory limit exceeded.
    #[serde(rename = "MLE")]
    MemoryLimit,
    /// Output limit exceeded.
    #[serde(rename = "OLE")]
    OutputLimit,
    /// Does not compile.
    #[serde(rename = "CE")]
    CompileError,
    /// Our fault or the package's; never scored.
    #[serde(rename = "JE")]
    JudgeError,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Verdict; 9] = [
        Verdict::Accepted,
        Verdict::PartiallyAccepted,
        Verdict::WrongAnswer,
        Verdict::TimeLimit,
        Verdict::RunTimeError,
        Verdict::MemoryLimit,
        Verdict::OutputLimit,
        Verdict::CompileError,
        Verdict::JudgeError,
    ];

    /// The abbreviation used everywhere: `AC`, `WA`, …
    pub const fn code(self) -> &'static str {
        match self {
            Verdict::Accepted => "AC",
            Verdict::PartiallyAccepted => "PA",
            Verdict::WrongAnswer => "WA",
            Verdict::TimeLimit => "TLE",
            Verdict::RunTimeError => "RTE",
            Verdict::MemoryLimit => "MLE",
            Verdict::OutputLimit => "OLE",
            Verdict::CompileError => "CE",
            Verdict::JudgeError => "JE",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

/// The text names no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseVerdictError(pub String);

impl fmt::Display for ParseVerdictError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a verdict (AC PA WA TLE RTE MLE OLE CE JE)", self.0)
    }
}

impl std::error::Error for ParseVerdictError {}

impl FromStr for Verdict {
    type Err = ParseVerdictError;
    fn from_str(s: &str) -> Result<Verdict, ParseVerdictError> {
        Verdict::ALL.into_iter().find(|v| v.code() == s).ok_or_else(|| ParseVerdictError(s.to_string()))
    }
}

/// How certain a time verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// One run far enough from the limit.
    Clear,
    /// Decided by repeated runs.
    Settled,
    /// Too near the limit for the kernel's clock, and decided by the reference clock.
    Confirmed,
    /// Still too near the limit after the bound of repeats; decided by the rule.
    Open,
}

/// A charge as messages and stored tests have it. Versions before 0.1 know its amount only, as `cpu_ns`, so both are written and either is
/// read; of which clock such an amount is, the judgement says ([`crate::Judgement::by_its_clock`]).
mod charged {
    use crate::{Charge, Nanos};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Told {
        charge: Option<Charge>,
        cpu_ns: Option<Nanos>,
    }

    pub(super) fn serialize<S: Serializer>(charge: &Charge, to: S) -> Result<S::Ok, S::Error> {
        Told { charge: Some(*charge), cpu_ns: Some(charge.as_time()) }.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Charge, D::Error> {
        let told = Told::deserialize(from)?;
        told.charge.or(told.cpu_ns.map(Charge::cpu)).ok_or_else(|| D::Error::missing_field("charge"))
    }
}

/// The result of one test case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestResult {
    /// Path below `data/` without extension, such as `secret/01`.
    pub name: String,
    /// What it earned.
    pub verdict: Verdict,
    /// What counts by the clock of the judgement: of the settled run, or of the slowest pass of it. Nothing where nothing was run.
    #[serde(flatten, with = "charged")]
    pub charge: Charge,
    /// Elapsed time of the same run.
    #[serde(rename = "wall_ns")]
    pub wall: Nanos,
    /// Most memory of any run.
    #[serde(rename = "memory_peak_bytes")]
    pub memory_peak: Reading<Bytes>,
    /// Points, in scoring problems.
    pub score: Option<f64>,
    /// How its time was settled.
    pub settled: Settled,
    /// Every run, in order.
    pub runs: Vec<Observation>,
    /// The disturbances of each run, by the thresholds of the judgement.
    #[serde(default = "crate::outcome::not_recorded")]
    pub causes: Reading<Vec<Vec<Cause>>>,
    /// The second opinion of the reference clock, if there is one: it decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_opinion: Option<SecondOpinion>,
    /// What the validator or the judge says about it.
    pub message: String,
    /// What program and interactor wrote to each other, where it was recorded. The end of the message tells the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<Transcript>,
}
