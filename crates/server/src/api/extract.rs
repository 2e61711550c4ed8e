//! Extractors whose refusals are problem details.

use super::problem::{MALFORMED, MEDIA_TYPE, Problem, TOO_LARGE, problem};
use crate::errors::Refusal;
use axum::extract::rejection::{BytesRejection, JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;

/// A JSON body.
pub(crate) struct Json<T>(pub(crate) T);

/// The query of an address.
pub(crate) struct Query<T>(pub(crate) T);

/// Parts of the path.
pub(crate) struct Path<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Json<T>, Response> {
        match axum::Json::from_request(request, state).await {
            Ok(axum::Json(value)) => Ok(Json(value)),
            Err(rejection) => Err(of_json(rejection)),
        }
    }
}

fn of_json(rejection: JsonRejection) -> Response {
    match rejection {
        JsonRejection::JsonDataError(error) => {
            Problem(Refusal::Bad(in_short(&cause(&error)))).into_response()
        }
        JsonRejection::JsonSyntaxError(error) => problem(&MALFORMED, in_short(&cause(&error))),
        JsonRejection::MissingJsonContentType(_) => {
            problem(&MEDIA_TYPE, "Content-Type: it must be application/json".into())
        }
        JsonRejection::BytesRejection(rejection) => of_bytes(&rejection),
        other => of_status(other.status(), other.body_text()),
    }
}

/// Why the body of a request could not be had.
pub(super) fn of_bytes(rejection: &BytesRejection) -> Response {
    of_status(rejection.status(), rejection.body_text())
}

/// Why a form could not be had: too large, or not of the form.
pub(super) fn of_status(status: StatusCode, text: String) -> Response {
    match status {
        StatusCode::PAYLOAD_TOO_LARGE => problem(&TOO_LARGE, "the request is larger than may be".into()),
        _ => problem(&MALFORMED, in_short(&text)),
    }
}

/// The innermost reason: what axum puts before it says nothing more.
fn cause(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source().filter(|source| !source.to_string().is_empty()) {
        // The error that names the path in the document has its own source, which does not.
        if error.to_string().contains(&format!(": {source}")) && !error.to_string().starts_with("Failed") {
            break;
        }
        error = source;
    }
    error.to_string()
}

/// Errors may quote what was sent.
fn in_short(text: &str) -> String {
    text.chars().take(500).collect()
}

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Query<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Query<T>, Response> {
        match axum::extract::Query::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(value)) => Ok(Query(value)),
            Err(QueryRejection::FailedToDeserializeQueryString(error)) => {
                Err(Problem(Refusal::Bad(in_short(&cause(&error)))).into_response())
            }
            Err(other) => Err(of_status(other.status(), other.body_text())),
        }
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Path<T>, Response> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(value)) => Ok(Path(value)),
            // What has another form than names of this kind is the name of nothing.
            Err(PathRejection::FailedToDeserializePathParams(_)) => {
                Err(Problem(Refusal::NotFound("a thing of this name".into())).into_response())
            }
            Err(other) => Err(of_status(other.status(), other.body_text())),
        }
    }
}
