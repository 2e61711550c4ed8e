//! Forms come from our own pages: each carries a secret that belongs to the cookie of the browser it was made for.

use super::Caller;
use crate::errors::Refusal;
use crate::pages::Refused;
use crate::service::Service;
use axum::body::Body;
use axum::extract::{Form, FromRequest, Multipart, Request, State};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError};
use serde::Deserialize;
use std::sync::Arc;

/// The field of a form that holds it.
const FIELD: &str = "csrf";

#[derive(Deserialize)]
struct Secret {
    #[serde(default)]
    csrf: String,
}

/// Lets a form through that is ours: a layer for all pages, so that no handler can forget it. Requests that other sites' pages send are refused before
/// this by what browsers say about them ([`super::identity::is_same_site`]); this holds where a browser says nothing, or lies.
pub(crate) async fn are_own(
    State(service): State<Arc<Service>>,
    caller: Caller,
    request: Request,
    next: Next,
) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    match checked(&service, &caller, request).await {
        Ok(request) => next.run(request).await,
        Err(refusal) => Refused(refusal).into_response(),
    }
}

/// The request again, which had to be read for it; the guard has bounded its size.
async fn checked(service: &Arc<Service>, caller: &Caller, request: Request) -> Result<Request, Refusal> {
    let (parts, body) = request.into_parts();
    let bytes = body.collect().await.map_err(|error| match is_too_long(&error) {
        true => Refusal::TooLarge("the form is larger than may be".into()),
        false => Refusal::Bad("the form broke off".into()),
    })?;
    let bytes = bytes.to_bytes();
    let copy = || Request::from_parts(parts.clone(), Body::from(bytes.clone()));
    let form =
        parts.headers.get(header::CONTENT_TYPE).and_then(|form| form.to_str().ok()).unwrap_or_default();
    let secret = match form.starts_with("multipart/form-data") {
        true => in_parts(service, copy()).await,
        false => Form::<Secret>::from_request(copy(), service).await.ok().map(|Form(found)| found.csrf),
    };
    caller.must_own_form(&secret.unwrap_or_default())?;
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

fn is_too_long(error: &axum::Error) -> bool {
    let mut error: Option<&dyn std::error::Error> = Some(error);
    while let Some(this) = error {
        if this.is::<LengthLimitError>() {
            return true;
        }
        error = this.source();
    }
    false
}

/// It comes first in forms with files, which so need not be searched.
async fn in_parts(service: &Arc<Service>, request: Request) -> Option<String> {
    let mut parts = Multipart::from_request(request, service).await.ok()?;
    let first = parts.next_field().await.ok()??;
    if first.name() == Some(FIELD) { first.text().await.ok() } else { None }
}
