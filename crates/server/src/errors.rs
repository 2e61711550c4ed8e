//! Why something that was asked for is not done.

use axum::http::StatusCode;
use model::hint::escaped;
use std::fmt;
use store::Error;

/// Why not, by what the one who asked can do about it. Each face has its own form for these.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// What was named is not there, or not for this caller to see; a sentence that names it.
    #[error("{0}")]
    NotFound(String),
    /// What was sent is not of the form it claims to have.
    #[error("{0}")]
    Malformed(String),
    /// It is of a form that is not taken here; the text names those that are.
    #[error("Content-Type: {0}")]
    MediaType(String),
    /// What was sent makes no sense; the text names the field.
    #[error("{0}")]
    Bad(String),
    /// Nobody is signed in, and somebody must be.
    #[error("{0}")]
    Unauthenticated(String),
    /// The signed-in user may not do this.
    #[error("{0}")]
    Forbidden(String),
    /// It does not fit what is there.
    #[error("{0}")]
    Conflict(String),
    /// It is larger than may be.
    #[error("{0}")]
    TooLarge(String),
    /// Asked too often; again after so many seconds.
    #[error("too many requests\nhint: try again in {0} s")]
    TooMany(u64),
    /// It cannot be done now: the database is busy, full, read-only or away.
    #[error("{0}")]
    Unavailable(String),
    /// A fault of ours.
    #[error("{0}")]
    Fault(String),
}

impl Refusal {
    /// This was not found; `what` may quote the request.
    pub(crate) fn missing(what: impl fmt::Display) -> Refusal {
        let what = escaped(&what.to_string());
        let (short, cut) = (what.chars().take(200).collect::<String>(), what.chars().nth(200).is_some());
        Refusal::NotFound(format!("{short}{} was not found", if cut { "…" } else { "" }))
    }

    /// The status that Judge0 and Piston would answer with. A fault of ours is noted in the log.
    pub(crate) fn status_elsewhere(&self) -> StatusCode {
        match self {
            Refusal::NotFound(_) => StatusCode::NOT_FOUND,
            Refusal::Malformed(_) | Refusal::Bad(_) | Refusal::Conflict(_) => StatusCode::BAD_REQUEST,
            Refusal::MediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Refusal::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
            Refusal::Forbidden(_) => StatusCode::FORBIDDEN,
            Refusal::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
            Refusal::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Refusal::Fault(_) => {
                tracing::error!(error = %self, "fault");
                StatusCode::INTERNAL_SERVER_ERROR
            }
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        match error {
            Error::NotFound(what) => Refusal::missing(what),
            Error::Conflict(why) => Refusal::Conflict(why),
            error @ (Error::Busy { .. }
            | Error::DiskFull { .. }
            | Error::ReadOnly { .. }
            | Error::Connection { .. }) => Refusal::Unavailable(error.to_string()),
            error => Refusal::Fault(error.to_string()),
        }
    }
}

impl From<getrandom::Error> for Refusal {
    fn from(error: getrandom::Error) -> Refusal {
        Refusal::Fault(format!("no randomness: {error}"))
    }
}
