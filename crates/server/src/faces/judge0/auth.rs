//! Who asks. Judge0 knows two secrets, one to use it (`X-Auth-Token`) and one to administer it (`X-Auth-User`); here both are
//! API tokens, and what they may do is what their owners let them.

use super::Fault;
use crate::accounts::{Caller, Right};
use crate::errors::Refusal;
use crate::service::Service;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Somebody who may submit.
pub(super) struct Authenticated(pub(super) Caller);

/// Somebody who may see everybody's submissions.
pub(super) struct Authorized(pub(super) Caller);

impl FromRequestParts<Arc<Service>> for Authenticated {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self, Response> {
        let Ok(caller) = Caller::from_request_parts(parts, service).await;
        caller.must(Right::Submit).map_err(refused)?;
        Ok(Authenticated(caller))
    }
}

impl FromRequestParts<Arc<Service>> for Authorized {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self, Response> {
        let Ok(caller) = Caller::from_request_parts(parts, service).await;
        // Who is nobody is told so, but who may use the service without signing in has nothing to sign in for.
        match caller.must(Right::SeeAll) {
            Ok(()) => Ok(Authorized(caller)),
            Err(_) if caller.may(Right::Submit) => {
                Err(refused(Refusal::Forbidden("this needs a token that can read everything".to_owned())))
            }
            Err(refusal) => Err(refused(refusal)),
        }
    }
}

fn refused(refusal: Refusal) -> Response {
    Fault::from(refusal).into_response()
}

/// Puts the token that is to count for a request of this face where tokens are looked for, unless there is one: for what is
/// administered, `X-Auth-User` comes first.
pub(super) fn as_bearer(method: &Method, path: &str, headers: &mut HeaderMap) {
    let path = path.strip_prefix("/extra").unwrap_or(path);
    let administered = matches!(
        (method, path),
        (&Method::GET | &Method::HEAD, "/submissions") | (&Method::DELETE, _) | (_, "/authorize")
    );
    let names = ["x-auth-user", "x-auth-token"];
    let named = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let token = if administered {
        names.into_iter().find_map(named)
    } else {
        names.into_iter().rev().find_map(named)
    };
    let bearer = token.map(|token| HeaderValue::try_from(format!("Bearer {token}")));
    if let Some(Ok(mut value)) = bearer
        && !headers.contains_key(header::AUTHORIZATION)
    {
        value.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_in_judge0s_headers() {
        let both = [("x-auth-token", "a"), ("x-auth-user", "b")];
        for (method, path, given, bearer) in [
            (Method::POST, "/submissions", &both[..], Some("Bearer a")),
            (Method::GET, "/submissions/x", &both, Some("Bearer a")),
            (Method::GET, "/submissions", &both, Some("Bearer b")),
            (Method::GET, "/extra/submissions", &both, Some("Bearer b")),
            (Method::DELETE, "/submissions/x", &both, Some("Bearer b")),
            (Method::POST, "/authorize", &both, Some("Bearer b")),
            (Method::POST, "/authorize", &both[..1], Some("Bearer a")),
            (Method::POST, "/authenticate", &both[1..], Some("Bearer b")),
            (Method::POST, "/authenticate", &[("authorization", "Bearer c"), both[0]], Some("Bearer c")),
            (Method::GET, "/about", &[], None),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in given {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            as_bearer(&method, path, &mut headers);
            let found = headers.get("authorization").map(|value| value.to_str().unwrap());
            assert_eq!(found, bearer, "{method} {path} {given:?}");
        }
    }
}
