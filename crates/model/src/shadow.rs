//! What a contest in shadow shows: each submission as the contest judged it and as it was judged here, side by side.

use crate::{Bytes, Confidence, Nanos, Reading, Verdict};
use serde::{Deserialize, Serialize};

/// How the contest judged a submission.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Theirs {
    /// Judgement type, such as `AC`, `WTL`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What that is in plain words of ours: AC, WA, TLE, RTE, CE; `None`: none of these.
    pub simplified: Option<String>,
    /// Of its slowest run, where the contest tells.
    #[serde(rename = "time_ns")]
    pub time: Option<Nanos>,
    /// Its score, in scoring contests.
    pub score: Option<f64>,
}

/// How a submission was judged here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ours {
    /// What it earned.
    pub verdict: Verdict,
    /// Of its slowest test.
    #[serde(rename = "time_ns")]
    pub time: Reading<Nanos>,
    /// What a test might take.
    #[serde(rename = "time_limit_ns")]
    pub limit: Nanos,
    /// Most memory of a test.
    #[serde(rename = "memory_peak_bytes")]
    pub memory: Reading<Bytes>,
    /// Its score, in scoring problems.
    pub score: Option<f64>,
    /// How firmly its time stands.
    pub confidence: Confidence,
    /// Runs of it, all tests together.
    pub runs: u32,
}

/// How both stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// They differ.
    Differs,
    /// It cannot be judged here.
    NotJudged,
    /// It is not yet judged here.
    Pending,
    /// The contest has not judged it.
    Waiting,
    /// They agree.
    Agrees,
}

impl Agreement {
    /// In a word or two.
    pub const fn words(self) -> &'static str {
        match self {
            Agreement::Differs => "differs",
            Agreement::NotJudged => "not judged",
            Agreement::Pending => "pending",
            Agreement::Waiting => "waiting",
            Agreement::Agrees => "agrees",
        }
    }
}

/// A submission, both ways.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShadowRow {
    /// Its id in the contest.
    pub submission: String,
    /// Its problem: the label, else the id.
    pub problem: String,
    /// Its language's id in the contest.
    pub language: String,
    /// How they stand to each other.
    pub state: Agreement,
    /// As the contest judged it; `None`: not yet.
    pub theirs: Option<Theirs>,
    /// As it was judged here; `None`: not yet, or it cannot be.
    pub ours: Option<Ours>,
    /// Why it cannot be judged here.
    pub why: Option<String>,
}

/// A contest in shadow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shadow {
    /// Its id.
    pub contest: String,
    /// Where its API is.
    pub url: String,
    /// The contest says that nothing will change any more.
    pub ended: bool,
    /// How many there are.
    pub submissions: usize,
    /// Judged alike.
    pub agree: usize,
    /// Judged differently.
    pub differ: usize,
    /// Not judged here, and why is in their row.
    pub not_judged: usize,
    /// Not yet judged here.
    pub pending: usize,
    /// Not yet judged there.
    pub waiting: usize,
    /// Each of them, in the order in which they came.
    pub results: Vec<ShadowRow>,
}

impl Shadow {
    /// Of these rows.
    pub fn new(contest: &str, url: &str, ended: bool, results: Vec<ShadowRow>) -> Shadow {
        let count = |state| results.iter().filter(|row| row.state == state).count();
        Shadow {
            contest: contest.to_owned(),
            url: url.to_owned(),
            ended,
            submissions: results.len(),
            agree: count(Agreement::Agrees),
            differ: count(Agreement::Differs),
            not_judged: count(Agreement::NotJudged),
            pending: count(Agreement::Pending),
            waiting: count(Agreement::Waiting),
            results,
        }
    }
}
