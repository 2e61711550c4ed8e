//! Identifiers, timestamps and leases as distinct types. On the wire identifiers and timestamps are numbers.

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
    /// A judgement: the result of a job.
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
    /// This time plus `micros` microseconds; saturates.
    pub const fn plus_micros(self, micros: i64) -> Timestamp {
        Timestamp(self.0.saturating_add(micros))
    }

    /// This time plus `secs` seconds; saturates.
    pub const fn plus_secs(self, secs: i64) -> Timestamp {
        self.plus_micros(secs.saturating_mul(1_000_000))
    }

    /// Seconds from `earlier` to this time; negative if `earlier` is later.
    pub fn secs_since(self, earlier: Timestamp) -> f64 {
        self.0.saturating_sub(earlier.0) as f64 / 1e6
    }
}

/// A worker's right to a job, for one attempt. Only the service creates leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lease {
    /// The job.
    pub job: JobId,
    /// Which attempt at it.
    pub attempt: u64,
}

/// The queue that a job waits in, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    /// A submission that counts and that its author waits for.
    Contest,
    /// A rejudge of what counts.
    Rejudge,
    /// Practice: its author waits for it.
    Live,
    /// Judged when nothing else waits.
    Background,
}

impl Urgency {
    /// All of them, the most urgent first.
    pub const ALL: [Urgency; 4] = [Urgency::Contest, Urgency::Rejudge, Urgency::Live, Urgency::Background];
}
