//! Identifiers and moments as values of statements.

use crate::db::Value;
use model::{
    CallbackId, ContestId, JobId, JudgementId, ProblemId, RejudgingId, SubmissionId, Timestamp, TokenId,
    UserId, VersionId,
};

macro_rules! values {
    ($($name:ident)*) => {$(
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

values! {
    UserId TokenId ProblemId VersionId SubmissionId JobId JudgementId RejudgingId CallbackId ContestId Timestamp
}
