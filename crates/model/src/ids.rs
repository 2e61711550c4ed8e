//! What a service numbers, moments, and the right to a job, as distinct types. On the wire the first two are numbers.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($($(#[$meta:meta])+ $name:ident)*) => {$(
        $(#[$meta])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

id! {
    /// A user.
    UserId
    /// An API token.
    TokenId
    /// A problem.
    ProblemId
    /// One version of a problem: one package.
    VersionId
    /// A submission. Later ones have higher numbers.
    SubmissionId
    /// A request to judge a submission once. Later ones have higher numbers.
    JobId
    /// What came of a job.
    JudgementId
    /// A request to judge many submissions again. Later ones have higher numbers.
    RejudgingId
    /// A callback.
    CallbackId
    /// A contest.
    ContestId
    /// Microseconds since 1970-01-01 UTC.
    #[derive(Default)]
    Timestamp
}

impl Timestamp {
    /// So many microseconds later; saturates.
    pub const fn plus_micros(self, micros: i64) -> Timestamp {
        Timestamp(self.0.saturating_add(micros))
    }

    /// So many seconds later; saturates.
    pub const fn plus_secs(self, secs: i64) -> Timestamp {
        self.plus_micros(secs.saturating_mul(1_000_000))
    }

    /// Seconds from an earlier moment to this one; negative from a later one.
    pub fn secs_since(self, earlier: Timestamp) -> f64 {
        self.0.saturating_sub(earlier.0) as f64 / 1e6
    }
}

/// A worker's right to a job, good for one attempt. The service's own; a worker only gives it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lease {
    /// The job.
    pub job: JobId,
    /// Which attempt at it.
    pub attempt: u64,
}

/// Which line a job waits in; the first goes before the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    /// Somebody waits for it, and it counts.
    Contest,
    /// What counts is judged again.
    Rejudge,
    /// Somebody waits for it: practice.
    Live,
    /// When nothing else is waiting.
    Background,
}

impl Urgency {
    /// All of them, the most urgent first.
    pub const ALL: [Urgency; 4] = [Urgency::Contest, Urgency::Rejudge, Urgency::Live, Urgency::Background];
}
