//! Errors of the API: problem details (RFC 9457).

use crate::errors::Refusal;
use axum::Json;
use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The media type of problem details.
pub(crate) const PROBLEM_JSON: &str = "application/problem+json";

/// A type of error: its status, the last part of `type`, its title and its meaning.
#[derive(Debug)]
pub(super) struct Kind(StatusCode, &'static str, &'static str, &'static str);

impl Kind {
    /// Whether texts of this type begin with the part of the request that they are about.
    fn names_a_field(&self) -> bool {
        matches!(self.0, StatusCode::UNPROCESSABLE_ENTITY | StatusCode::UNSUPPORTED_MEDIA_TYPE)
    }
}

/// An error, as problem details (RFC 9457).
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct ProblemDetails {
    /// Type of the error: a stable address below this API that explains it.
    pub(crate) r#type: String,
    /// Title of this type of error.
    pub(crate) title: String,
    /// HTTP status code.
    pub(crate) status: u16,
    /// Description of this error. If there is a remedy, the last line is `hint: …`.
    pub(crate) detail: String,
    /// Part of the request that the error is about: a field, a parameter or a header.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub(crate) field: Option<String>,
}

static MALFORMED: Kind = Kind(
    StatusCode::BAD_REQUEST,
    "malformed",
    "Malformed request",
    "The content does not have the form that it claims.",
);
pub(super) static METHOD: Kind = Kind(
    StatusCode::METHOD_NOT_ALLOWED,
    "method",
    "Method not allowed",
    "The address supports other methods: see `Allow`.",
);
static MEDIA_TYPE: Kind = Kind(
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
    "media-type",
    "Media type not supported",
    "Send a supported `Content-Type`.",
);
static BAD: Kind = Kind(
    StatusCode::UNPROCESSABLE_ENTITY,
    "bad-input",
    "Bad input",
    "The form is valid, a value is not; `field` names it.",
);
static NOT_FOUND: Kind =
    Kind(StatusCode::NOT_FOUND, "not-found", "Not found", "It does not exist, or you may not see it.");
static UNAUTHENTICATED: Kind = Kind(
    StatusCode::UNAUTHORIZED,
    "sign-in",
    "Not signed in",
    "Send an API token: `Authorization: Bearer TOKEN`.",
);
static FORBIDDEN: Kind =
    Kind(StatusCode::FORBIDDEN, "not-allowed", "Not allowed", "The user or token lacks the permission.");
static CONFLICT: Kind =
    Kind(StatusCode::CONFLICT, "conflict", "Conflict", "The request conflicts with existing data.");
static TOO_LARGE: Kind =
    Kind(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "Too large", "The request is too large.");
static TOO_MANY: Kind = Kind(
    StatusCode::TOO_MANY_REQUESTS,
    "too-many",
    "Too many requests",
    "Wait for the time that `Retry-After` gives.",
);
static UNAVAILABLE: Kind = Kind(
    StatusCode::SERVICE_UNAVAILABLE,
    "unavailable",
    "Service unavailable",
    "The database is busy, full, read-only or unreachable. Nothing was changed; try again.",
);
static FAULT: Kind = Kind(
    StatusCode::INTERNAL_SERVER_ERROR,
    "fault",
    "Internal error",
    "The service failed; its log has the cause.",
);

/// All types.
static KINDS: [&Kind; 12] = [
    &MALFORMED,
    &UNAUTHENTICATED,
    &FORBIDDEN,
    &NOT_FOUND,
    &METHOD,
    &CONFLICT,
    &TOO_LARGE,
    &MEDIA_TYPE,
    &BAD,
    &TOO_MANY,
    &FAULT,
    &UNAVAILABLE,
];

/// An error of the API.
#[derive(Debug)]
pub(crate) struct Problem(pub(crate) Refusal);

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        Problem(refusal)
    }
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Problem {
        Problem(error.into())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let kind = match &self.0 {
            Refusal::NotFound(_) => &NOT_FOUND,
            Refusal::Malformed(_) => &MALFORMED,
            Refusal::MediaType(_) => &MEDIA_TYPE,
            Refusal::Bad(_) => &BAD,
            Refusal::Unauthenticated(_) => &UNAUTHENTICATED,
            Refusal::Forbidden(_) => &FORBIDDEN,
            Refusal::Conflict(_) => &CONFLICT,
            Refusal::TooLarge(_) => &TOO_LARGE,
            Refusal::TooMany(_) => &TOO_MANY,
            Refusal::Unavailable(_) => &UNAVAILABLE,
            Refusal::Fault(_) => &FAULT,
        };
        let mut detail = self.0.to_string();
        match &self.0 {
            Refusal::Fault(error) => {
                tracing::error!(error, "fault");
                // What failed inside is for the log alone.
                detail = "the service failed\nhint: see the log of the service".into();
            }
            Refusal::Unavailable(error) => tracing::warn!(error, "refused for now"),
            _ => {}
        }
        let mut response = problem(kind, detail);
        let header = |value: &str| HeaderValue::from_str(value).unwrap_or(HeaderValue::from_static("1"));
        match self.0 {
            Refusal::TooMany(seconds) => {
                response.headers_mut().insert(header::RETRY_AFTER, header(&seconds.to_string()));
            }
            Refusal::Unavailable(_) => {
                response.headers_mut().insert(header::RETRY_AFTER, header("5"));
            }
            Refusal::Unauthenticated(_) => {
                response.headers_mut().insert(header::WWW_AUTHENTICATE, header("Bearer"));
            }
            _ => {}
        }
        response
    }
}

/// Nothing has this address.
pub(super) fn no_address(path: &str) -> Problem {
    Problem(Refusal::missing(format_args!("the address {path}")))
}

/// The response for an error of this type.
pub(super) fn problem(kind: &Kind, detail: String) -> Response {
    let Kind(status, name, title, _) = kind;
    let details = ProblemDetails {
        r#type: address(name),
        title: title.to_string(),
        status: status.as_u16(),
        field: kind.names_a_field().then(|| field_of(&detail)).flatten(),
        detail,
    };
    let mut response = (*status, Json(details)).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
    response
}

fn address(name: &str) -> String {
    format!("/api/v1/errors/{name}")
}

/// The field that an error is about: the text before the first colon, if it looks like a field.
fn field_of(detail: &str) -> Option<String> {
    let (field, _) = detail.split_once(": ")?;
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-.[]".contains(c);
    (!field.is_empty() && field.len() <= 100 && field.chars().all(fits)).then(|| field.to_string())
}

/// Explanation of a type of error.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ErrorKind {
    /// Type of the error.
    r#type: String,
    /// Title of this type of error.
    title: &'static str,
    /// HTTP status code.
    status: u16,
    /// Meaning of the error, with the remedy.
    description: &'static str,
}

/// Explain a type of error
///
/// The `type` of every error is an address of this operation.
#[utoipa::path(get, path = "/errors/{name}", tag = "service", params(("name" = String, Path, description = "Last part of a `type`", example = "not-found")),
    responses((status = 200, description = "Explanation of the error", body = ErrorKind)))]
pub(super) async fn explain(Path(name): Path<String>) -> Result<Json<ErrorKind>, Problem> {
    let found = KINDS.iter().find(|kind| kind.1 == name);
    let Kind(status, name, title, description) =
        found.ok_or_else(|| Refusal::missing(format_args!("the type of error {name}")))?;
    Ok(Json(ErrorKind { r#type: address(name), title, status: status.as_u16(), description }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_is_what_an_error_begins_with() {
        for (detail, field) in [
            ("times: 1 to 100 may be", Some("times")),
            ("files[0].name: missing", Some("files[0].name")),
            ("problem x was not found", None),
            ("no colon", None),
            (": empty", None),
        ] {
            assert_eq!(field_of(detail).as_deref(), field, "{detail}");
        }
    }

    #[test]
    fn kinds_are_distinct() {
        let mut names: Vec<_> = KINDS.iter().map(|kind| kind.1).collect();
        let mut statuses: Vec<_> = KINDS.iter().map(|kind| kind.0).collect();
        names.sort();
        names.dedup();
        statuses.sort();
        statuses.dedup();
        assert_eq!((names.len(), statuses.len()), (KINDS.len(), KINDS.len()));
    }
}
