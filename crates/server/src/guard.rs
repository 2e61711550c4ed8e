//! What every request passes before a handler sees it: where it may come from, who sent it, how much of it there may be, and how long it may take.

use crate::accounts::{Caller, Right, identity};
use crate::errors::Refusal;
use crate::headers::harden;
use crate::limits::{Class, Rates};
use crate::pages;
use crate::service::Service;
use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, DefaultBodyLimit, FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::middleware::{Next, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use http_body_util::Limited;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tower_http::catch_panic::CatchPanicLayer;

/// Puts the guard before all routes.
pub(crate) fn guarded(routes: Router<Arc<Service>>, service: &Arc<Service>) -> Router<Arc<Service>> {
    routes
        // The guard bounds bodies, by class.
        .layer(DefaultBodyLimit::disable())
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(service.clone(), guard))
        .layer(map_response(harden))
}

/// A handler's panic is a fault like others, and ends nothing but its own request.
fn panicked(_: Box<dyn std::any::Any + Send + 'static>) -> Response {
    refused_by_api(Refusal::Fault("a handler panicked".into()))
}

fn refused_by_api(refusal: Refusal) -> Response {
    crate::api::Problem(refusal).into_response()
}

async fn guard(State(service): State<Arc<Service>>, mut request: Request, next: Next) -> Response {
    let cookie = match admit(&service, &mut request).await {
        Ok(cookie) => cookie,
        Err(refusal) => return refused(&service, request, refusal).await,
    };
    let class = class(&request);
    // The answer's head; an answer that goes on (events) may take longer.
    let answer = tokio::time::timeout(class.time(), next.run(request)).await;
    let mut answer = answer.unwrap_or_else(|_| {
        refused_by_api(Refusal::Unavailable(format!("not done within {} s", class.time().as_secs())))
    });
    if let Some(cookie) = cookie {
        // A cookie that the handler sets comes after this one, and so counts: a session that begins where another was over.
        let headers = answer.headers_mut();
        let later: Vec<_> = headers.get_all(header::SET_COOKIE).iter().cloned().collect();
        headers.insert(header::SET_COOKIE, cookie);
        headers.extend(later.into_iter().map(|cookie| (header::SET_COOKIE, cookie)));
    }
    answer
}

/// Lets a request in: its caller is left with it, and its body is bounded.
async fn admit(
    service: &Arc<Service>,
    request: &mut Request,
) -> Result<Option<axum::http::HeaderValue>, Refusal> {
    let access = &service.settings.access;
    let (headers, uri, method) = (request.headers(), request.uri(), request.method());
    identity::is_for_us(headers, uri, service.settings.anonymous, access)?;
    let class = class(request);
    let origin = identity::origin(headers, peer(request), access);
    // Files of the pages are the same for all.
    let known = match class {
        Class::Asset => identity::Identity { caller: Caller::nobody(false), cookie: None },
        _ => {
            identity::is_same_site(method, headers, uri, access)?;
            identity::identify(service, headers, origin).await?
        }
    };
    bounded(service, &known.caller, class).await?;
    if class == Class::Upload {
        // Before its body is read: only few may send so much.
        known.caller.must(Right::Problems)?;
    }
    if length(headers).is_some_and(|length| length > class.body() as u64) {
        return Err(Refusal::TooLarge(format!("the request is larger than {} bytes", class.body())));
    }
    request.extensions_mut().insert(known.caller);
    request.extensions_mut().insert(origin);
    let body = std::mem::take(request.body_mut());
    *request.body_mut() = Body::new(Limited::new(body, class.body()));
    Ok(known.cookie)
}

/// Refuses what is more than this caller may ask for.
async fn bounded(service: &Service, caller: &Caller, class: Class) -> Result<(), Refusal> {
    service.accounts.rates.request(caller, class)?;
    if matches!(class, Class::Submission | Class::Execution) && caller.may(Right::Submit) {
        Rates::queue(service, caller).await?;
    }
    Ok(())
}

/// The same for a caller who became known after the guard.
pub(crate) async fn within_rates(service: &Service, caller: &Caller, parts: &Parts) -> Result<(), Refusal> {
    let route = parts.extensions.get::<MatchedPath>().map(MatchedPath::as_str);
    bounded(service, caller, Class::for_route(&parts.method, route.unwrap_or_default())).await
}

fn class(request: &Request) -> Class {
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    Class::for_route(request.method(), route.unwrap_or_default())
}

fn peer(request: &Request) -> Option<IpAddr> {
    let info = request.extensions().get::<ConnectInfo<SocketAddr>>();
    info.map(|ConnectInfo(peer)| peer.ip().to_canonical())
}

fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// As a page for who wants a page.
async fn refused(service: &Arc<Service>, request: Request, refusal: Refusal) -> Response {
    let api = request.uri().path().starts_with("/api/") || !identity::wants_page(request.headers());
    if api {
        return refused_by_api(refusal);
    }
    let (mut parts, _) = request.into_parts();
    let Ok(frame) = pages::Frame::from_request_parts(&mut parts, service).await;
    pages::refused(frame, &parts.method, refusal)
}

impl FromRequestParts<Arc<Service>> for identity::Origin {
    type Rejection = std::convert::Infallible;

    /// Where the guard found that the request came from.
    async fn from_request_parts(
        parts: &mut axum::http::request::Parts,
        _: &Arc<Service>,
    ) -> Result<identity::Origin, Self::Rejection> {
        let found = parts.extensions.get().copied();
        Ok(found.unwrap_or(identity::Origin { address: None, secure: false }))
    }
}
