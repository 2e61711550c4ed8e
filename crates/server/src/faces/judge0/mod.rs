//! Judge0's HTTP interface, releases 1.13.1 and 1.14: what its clients send is understood and answered as they expect, and
//! executed by our rules. docs/judge0.md says what is different and why.
//!
//! A submission of this face is an execution ([`crate::execution`]) with origin [`ORIGIN`]; how it was asked for is noted with
//! it. Nothing is kept here.

mod answer;
mod auth;
mod config;
mod info;
mod languages;
mod request;
mod status;
mod submissions;

pub(crate) use info::Statistics;
pub(crate) use submissions::{Waiting, callback_body};

use super::Face;
use crate::errors::Refusal;
use crate::service::Service;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use languages::Edition;
use serde_json::{Value, json};
use std::sync::Arc;

/// Where submissions of this face come from.
const ORIGIN: &str = "judge0";

/// Most bytes of a request: twenty programs, or one with many files.
const BODY: usize = 32 << 20;

pub(super) const FACE: Face = Face {
    places: &["/judge0"],
    router,
    executes: &["/submissions", "/submissions/batch", "/extra/submissions", "/extra/submissions/batch"],
    token: auth::as_bearer,
};

/// The interface of the Community Edition, and below `/extra` that of the edition with further languages.
fn router() -> Router<Arc<Service>> {
    edition(Edition::Ce).nest("/extra", edition(Edition::Extra))
}

fn edition(edition: Edition) -> Router<Arc<Service>> {
    Router::new()
        .route("/submissions", get(submissions::list).post(submissions::create))
        .route("/submissions/batch", get(submissions::show_many).post(submissions::create_many))
        .route("/submissions/{token}", get(submissions::show).delete(submissions::delete))
        .route("/languages", get(info::languages))
        .route("/languages/all", get(info::all_languages))
        .route("/languages/{id}", get(info::language))
        .route("/statuses", get(|_: auth::Authenticated| async { Json(status::all()) }))
        .route("/about", get(info::about))
        .route("/version", get(info::version))
        .route("/license", get(info::license))
        .route("/isolate", get(info::isolate))
        .route("/system_info", get(info::system))
        .route("/config_info", get(|_: auth::Authenticated| async { Json(config::info()) }))
        .route("/statistics", get(info::statistics))
        .route("/workers", get(info::workers))
        .route("/authenticate", post(|_: auth::Authenticated| async {}))
        .route("/authorize", post(|_: auth::Authorized| async {}))
        .fallback(|| async { Fault::new(StatusCode::NOT_FOUND, "there is nothing here") })
        .method_not_allowed_fallback(|| async {
            Fault::new(StatusCode::METHOD_NOT_ALLOWED, "this can be asked for in another way only")
        })
        .layer(Extension(edition))
        .layer(DefaultBodyLimit::max(BODY))
}

/// What is answered where something is not done.
pub(super) struct Fault {
    status: StatusCode,
    body: Value,
}

impl Fault {
    fn new(status: StatusCode, why: impl Into<String>) -> Fault {
        Fault { status, body: json!({"error": why.into()}) }
    }

    /// What is wrong, by field.
    fn fields(faults: request::Faults) -> Fault {
        Fault { status: StatusCode::UNPROCESSABLE_ENTITY, body: Value::Object(faults) }
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Fault {
        Fault::new(refusal.status_elsewhere(), refusal.to_string())
    }
}

impl From<store::Error> for Fault {
    fn from(error: store::Error) -> Fault {
        Fault::from(Refusal::from(error))
    }
}

impl From<answer::NotText> for Fault {
    fn from(_: answer::NotText) -> Fault {
        Fault::new(
            StatusCode::BAD_REQUEST,
            "something here is not UTF-8\nhint: ask again with base64_encoded=true",
        )
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        (self.status, Json(self.body)).into_response()
    }
}

#[cfg(test)]
pub(crate) mod tests;
