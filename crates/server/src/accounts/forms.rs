//! Forms come from our own pages: each carries a secret that belongs to the cookie of the browser it was made for.
//!
//! A form whose session ended while it was filled in is kept ([`PendingForm`]): the answer is the sign-in form with all of it inside, and signing in
//! sends it on to where it was going. No handler knows of this, and nothing that was typed is lost, with scripts or without.

use super::caller::{By, Caller};
use super::cookie;
use super::identity::{Origin, form_secret, wants_page};
use super::pages::again;
use super::sign_in;
use super::sign_in_page::SignInPage;
use crate::errors::Refusal;
use crate::guard::within_rates;
use crate::pages::{Frame, Refused, show};
use crate::service::Service;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Multipart, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http_body_util::{BodyExt, LengthLimitError};
use serde::Deserialize;
use std::sync::Arc;

/// The field of a form that holds the secret.
const FIELD: &str = "csrf";
/// Fields of passwords: a form with one is not kept, since what is kept stands in a page.
const SECRETS: [&str; 2] = ["password", "old"];
/// Larger forms are not kept: a program and its files are, a package is not. In base64 it has to fit into the largest body of any form
/// ([`crate::limits::Class`]).
const LARGEST: usize = 700 << 10;
/// More than this of a field is not shown.
const SHOWN: usize = 16 << 10;
/// Fields that are shown of a form that is kept.
const MOST: usize = 60;

/// A form that waits for somebody to sign in.
#[derive(Clone, Debug)]
pub(super) struct PendingForm {
    /// Its content type.
    pub(super) form: String,
    /// Its body in base64.
    pub(super) body: String,
    /// Its text, by the names of its fields.
    pub(super) shown: Vec<(String, String)>,
}

/// The form that sends a kept one on.
#[derive(Deserialize)]
struct Resumed {
    #[serde(default)]
    csrf: String,
    kept: String,
    kept_form: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    password: String,
}

/// A request that was read.
struct Posted {
    parts: Parts,
    body: Bytes,
}

/// Lets a form through that is ours: a layer for all pages, so that no handler can forget it. Requests that other sites' pages send are refused before
/// this by what browsers say about them ([`super::identity::is_same_site`]); this holds where a browser says nothing, or lies.
pub(crate) async fn are_own(
    State(service): State<Arc<Service>>,
    caller: Caller,
    origin: Origin,
    request: Request,
    next: Next,
) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    match checked(&service, caller, origin, request, next).await {
        Ok(response) => response,
        Err(refused) => refused.into_response(),
    }
}

async fn checked(
    service: &Arc<Service>,
    caller: Caller,
    origin: Origin,
    request: Request,
    next: Next,
) -> Result<Response, Refused> {
    let posted = Posted::read(request).await?;
    if let Some(resumed) = posted.urlencoded::<Resumed>() {
        return resume(service, caller, origin, (posted, resumed), next).await;
    }
    let fields = posted.fields(service).await;
    let secret = fields.iter().find(|(name, _)| name == FIELD).map_or("", |(_, value)| value);
    let keeps = posted.may_be_kept(&caller, &fields);
    match caller.must_own_form(secret) {
        Err(refusal) if !keeps => Err(refusal.into()),
        Err(_) => {
            let status = if caller.signs_in() { StatusCode::UNAUTHORIZED } else { StatusCode::FORBIDDEN };
            let kept = posted.kept(&fields);
            Ok(ask(service, &mut posted.parts.clone(), (kept, status)).await)
        }
        Ok(()) => {
            let response = next.run(posted.request()).await;
            // Who has to sign in first has not been answered by a page.
            let answered = response.headers().contains_key(header::CONTENT_TYPE);
            if response.status() != StatusCode::UNAUTHORIZED || answered || !keeps {
                return Ok(response);
            }
            let kept = posted.kept(&fields);
            Ok(ask(service, &mut posted.parts.clone(), (kept, StatusCode::UNAUTHORIZED)).await)
        }
    }
}

/// The page that asks to sign in, or to go on, with a form inside.
async fn ask(
    service: &Arc<Service>,
    parts: &mut Parts,
    (kept, status): (PendingForm, StatusCode),
) -> Response {
    let Ok(frame) = Frame::from_request_parts(parts, service).await;
    let page = SignInPage::resuming(frame, kept);
    (status, show(&page)).into_response()
}

/// Signs in where nobody is, and sends the kept form on.
async fn resume(
    service: &Arc<Service>,
    caller: Caller,
    origin: Origin,
    (posted, resumed): (Posted, Resumed),
    next: Next,
) -> Result<Response, Refused> {
    let bad =
        || Refusal::Bad("the form that was kept cannot be read\nhint: go back and send it again".into());
    let body = URL_SAFE_NO_PAD.decode(&resumed.kept).map_err(|_| bad())?;
    let mut inner = Posted { parts: posted.parts.clone(), body: body.into() };
    let form = HeaderValue::from_str(&resumed.kept_form).map_err(|_| bad())?;
    inner.parts.headers.insert(header::CONTENT_TYPE, form);
    inner.parts.headers.insert(header::CONTENT_LENGTH, inner.body.len().into());
    let fields = inner.fields(service).await;
    let kept = inner.kept(&fields);
    if caller.must_own_form(&resumed.csrf).is_err() {
        let status = if caller.signs_in() { StatusCode::UNAUTHORIZED } else { StatusCode::FORBIDDEN };
        return Ok(ask(service, &mut posted.parts.clone(), (kept, status)).await);
    }
    if !caller.signs_in() {
        return Ok(next.run(inner.request()).await);
    }
    let before = cookie::value(&posted.parts.headers, cookie::SESSION, origin.secure);
    let name = resumed.name.trim();
    match sign_in::sign_in(service, name, &resumed.password, origin, before).await {
        Ok((secret, user)) => {
            let csrf = form_secret(&secret);
            let known = Caller { user: Some(user), visitor: None, by: By::Session, csrf, ..caller };
            inner.parts.extensions.insert(known.clone());
            // The guard has bounded a request of nobody.
            let mut response = match within_rates(service, &known, &inner.parts).await {
                Ok(()) => next.run(inner.request()).await,
                Err(refusal) => {
                    let Ok(frame) = Frame::from_request_parts(&mut inner.parts, service).await;
                    let page = SignInPage::resuming(frame, kept);
                    again(refusal, |wrong| show(&page.again(name, wrong)))?
                }
            };
            let cookie = cookie::begin_session(&secret, origin.secure);
            response.headers_mut().append(header::SET_COOKIE, cookie);
            Ok(response)
        }
        Err(refusal) => {
            let Ok(frame) = Frame::from_request_parts(&mut posted.parts.clone(), service).await;
            let page = SignInPage::resuming(frame, kept);
            again(refusal, |wrong| show(&page.again(name, wrong)))
        }
    }
}

impl Posted {
    /// Reads the request; the guard has bounded its size.
    async fn read(request: Request) -> Result<Posted, Refusal> {
        let (parts, body) = request.into_parts();
        let bytes = body.collect().await.map_err(|error| match is_too_long(&error) {
            true => Refusal::TooLarge("the form is too large".into()),
            false => Refusal::Bad("the form is incomplete".into()),
        })?;
        Ok(Posted { parts, body: bytes.to_bytes() })
    }

    /// The request again, to be read once more.
    fn request(&self) -> Request {
        Request::from_parts(self.parts.clone(), Body::from(self.body.clone()))
    }

    fn form(&self) -> &str {
        text_of(&self.parts.headers, header::CONTENT_TYPE)
    }

    fn is_multipart(&self) -> bool {
        self.form().starts_with("multipart/form-data")
    }

    fn urlencoded<T: for<'a> Deserialize<'a>>(&self) -> Option<T> {
        let form = self.form().starts_with("application/x-www-form-urlencoded");
        form.then(|| serde_urlencoded::from_bytes(&self.body).ok())?
    }

    /// Names and texts of its fields. Of a form that is too large to be kept only the first is read, where the secret is.
    async fn fields(&self, service: &Arc<Service>) -> Vec<(String, String)> {
        if !self.is_multipart() {
            return self.urlencoded().unwrap_or_default();
        }
        let mut fields = Vec::new();
        let Ok(mut form) = Multipart::from_request(self.request(), service).await else { return fields };
        let most = if self.body.len() > LARGEST { 1 } else { MOST };
        while fields.len() < most
            && let Ok(Some(field)) = form.next_field().await
        {
            let name = field.name().unwrap_or_default().to_string();
            let name = field.file_name().map_or(name, |file| format!("file {file}"));
            let Ok(bytes) = field.bytes().await else { break };
            fields.push((name, String::from_utf8(bytes.into()).unwrap_or_else(|_| "(not text)".into())));
        }
        // It comes first in forms with files; elsewhere it is not ours.
        if fields.first().is_some_and(|(name, _)| name != FIELD) {
            fields.retain(|(name, _)| name != FIELD);
        }
        fields
    }

    /// Whether it may be given back in a page: to a browser that says the form came from a page of ours, and without passwords.
    fn may_be_kept(&self, caller: &Caller, fields: &[(String, String)]) -> bool {
        let headers = &self.parts.headers;
        let ours = text_of(headers, header::HeaderName::from_static("sec-fetch-site")) == "same-origin"
            || headers.contains_key(header::ORIGIN);
        let secret = fields.iter().any(|(name, _)| SECRETS.contains(&name.as_str()));
        let token = matches!(caller.by, By::Token(_));
        ours && !secret && !token && wants_page(headers) && self.body.len() <= LARGEST
    }

    fn kept(&self, fields: &[(String, String)]) -> PendingForm {
        let clip = |text: &str| match text.char_indices().nth(SHOWN) {
            Some((at, _)) => format!("{}…", &text[..at]),
            None => text.to_string(),
        };
        let told = fields.iter().filter(|(name, text)| name != FIELD && !text.trim().is_empty());
        PendingForm {
            form: self.form().to_string(),
            body: URL_SAFE_NO_PAD.encode(&self.body),
            shown: told.map(|(name, text)| (name.clone(), clip(text))).collect(),
        }
    }
}

fn text_of(headers: &HeaderMap, name: header::HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
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
