//! The native API, version 1.

use crate::errors::Refusal;
use crate::service::Service;
use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Serialize;
use std::sync::Arc;

mod submissions;

/// All routes below `/api/v1`.
pub(crate) fn router() -> Router<Arc<Service>> {
    Router::new()
        .route("/submissions", get(submissions::list).post(submissions::create))
        .route("/submissions/{token}", get(submissions::one))
        .route("/health", get(|| async { axum::Json(serde_json::json!({"status": "ok"})) }))
}

/// An error of the API: problem details (RFC 9457).
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

#[derive(Serialize)]
struct Details {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    detail: String,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, title) = match &self.0 {
            Refusal::NotFound(_) => (StatusCode::NOT_FOUND, "Not found"),
            Refusal::Bad(_) => (StatusCode::UNPROCESSABLE_ENTITY, "Bad input"),
            Refusal::Unauthenticated(_) => (StatusCode::UNAUTHORIZED, "Not signed in"),
            Refusal::Forbidden(_) => (StatusCode::FORBIDDEN, "Not allowed"),
            Refusal::Conflict(_) => (StatusCode::CONFLICT, "Conflict"),
            Refusal::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "Too large"),
            Refusal::TooMany(_) => (StatusCode::TOO_MANY_REQUESTS, "Too many requests"),
            Refusal::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "Not now"),
            Refusal::Fault(_) => (StatusCode::INTERNAL_SERVER_ERROR, "Fault of the service"),
        };
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            tracing::error!(error = %self.0, "fault");
        }
        let details =
            Details { r#type: "about:blank", title, status: status.as_u16(), detail: self.0.to_string() };
        let mut response = (status, axum::Json(details)).into_response();
        let form = header::HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, form);
        response
    }
}
