//! Errors as pages.

use super::Frame;
use super::filters;
use crate::accounts::SignInPage;
use crate::errors::Refusal;
use crate::secret;
use crate::service::Service;
use askama::Template;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use std::sync::Arc;

/// How the handler of a page fails. [`as_page`] makes a page of it, in the frame of who asked.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) Refusal);

impl<E: Into<Refusal>> From<E> for Refused {
    fn from(error: E) -> Refused {
        Refused(error.into())
    }
}

/// What is said to those who cannot do anything about the service: paths and addresses are not for them.
pub(super) const LATER: &str =
    "The service is temporarily unavailable. Nothing is lost; try again in a minute.";

/// What a page of an error says.
#[derive(Clone, Debug)]
struct ErrorText {
    text: String,
    /// Names the fault in the log.
    id: Option<String>,
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = match &self.0 {
            Refusal::NotFound(_) => StatusCode::NOT_FOUND,
            Refusal::Malformed(_) => StatusCode::BAD_REQUEST,
            Refusal::MediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Refusal::Bad(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Refusal::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
            Refusal::Forbidden(_) => StatusCode::FORBIDDEN,
            Refusal::Conflict(_) => StatusCode::CONFLICT,
            Refusal::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
            Refusal::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Refusal::Fault(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let said = match &self.0 {
            Refusal::Fault(why) => {
                let id = secret::uuid().unwrap_or_default();
                tracing::error!(id, error = why, "a page failed");
                // What went wrong inside is for the log alone.
                ErrorText { text: String::new(), id: Some(id) }
            }
            other => ErrorText { text: other.to_string(), id: None },
        };
        let mut response = status.into_response();
        if let Refusal::TooMany(seconds) = self.0 {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response.extensions_mut().insert(said);
        response
    }
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    frame: Frame,
    status: StatusCode,
    said: ErrorText,
}

impl ErrorPage {
    fn heading(&self) -> &'static str {
        match self.status {
            StatusCode::NOT_FOUND => "Page not found",
            StatusCode::UNAUTHORIZED => "Sign in with your password",
            StatusCode::FORBIDDEN => "Permission denied",
            StatusCode::METHOD_NOT_ALLOWED => "Method not allowed",
            StatusCode::CONFLICT => "Conflict",
            StatusCode::PAYLOAD_TOO_LARGE => "Too large",
            StatusCode::TOO_MANY_REQUESTS => "Too many requests",
            StatusCode::SERVICE_UNAVAILABLE => "Service unavailable",
            status if status.is_client_error() => "Bad request",
            _ => "Internal error",
        }
    }
}

/// Turns what failed without a page of its own into a page.
pub(super) async fn as_page(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let Ok(frame) = Frame::from_request_parts(&mut parts, &service).await;
    let looks = parts.method == Method::GET;
    let response = next.run(Request::from_parts(parts, body)).await;
    dressed(frame, looks, response)
}

/// A refusal as a page, for what is refused before a page is asked for.
pub(crate) fn refused(frame: Frame, method: &Method, refusal: Refusal) -> Response {
    dressed(frame, method == Method::GET, Refused(refusal).into_response())
}

/// `looks`: the address is that of a page, where one comes back to.
fn dressed(frame: Frame, looks: bool, response: Response) -> Response {
    let status = response.status();
    let said = response.extensions().get::<ErrorText>().cloned();
    let is_page = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|form| form.as_bytes().starts_with(b"text/html"));
    if is_page || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    if status == StatusCode::UNAUTHORIZED && frame.caller.user.is_none() {
        let back = if looks { frame.path.clone() } else { "/".into() };
        return (status, super::show(&SignInPage::new(frame, super::local(&back)))).into_response();
    }
    let mut said = said.unwrap_or(ErrorText { text: String::new(), id: None });
    if status == StatusCode::SERVICE_UNAVAILABLE && !frame.caller.is_trusted() {
        said.text = LATER.into();
    }
    let page = ErrorPage { frame, status, said };
    let headers: Vec<_> = response
        .headers()
        .get(header::RETRY_AFTER)
        .map(|after| (header::RETRY_AFTER, after.clone()))
        .into_iter()
        .collect();
    let mut made = (status, super::show(&page)).into_response();
    made.headers_mut().extend(headers);
    made
}

impl From<askama::Error> for Refusal {
    fn from(error: askama::Error) -> Refusal {
        Refusal::Fault(format!("rendering a page: {error}"))
    }
}

/// A page, or what is shown where even that fails.
pub(crate) fn show(page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => Html(text).into_response(),
        Err(error) => Refused::from(error).into_response(),
    }
}
