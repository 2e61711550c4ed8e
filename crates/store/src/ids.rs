//! Identifiers and points in time, as distinct types.

use crate::db::Value;
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta] $name:ident)*) => {$(
        #[$doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<$name> for Value {
            fn from(id: $name) -> Value {
                Value::Int(Some(id.0))
            }
        }

        impl From<Option<$name>> for Value {
            fn from(id: Option<$name>) -> Value {
                Value::Int(id.map(|id| id.0))
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
    Moment
}

impl Moment {
    /// So many microseconds later.
    pub const fn plus_micros(self, micros: i64) -> Moment {
        Moment(self.0.saturating_add(micros))
    }
}
