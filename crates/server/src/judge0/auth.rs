//! Who asks. Judge0 knows two secrets, one to use it (`X-Auth-Token`) and one to administer it (`X-Auth-User`); here both are
//! API tokens, and what they may do is what their owners let them.

use super::Fault;
use crate::accounts::{Caller, Right};
use crate::errors::Refusal;
use crate::service::Service;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Somebody who may hand in.
pub(super) struct Authenticated(pub(super) Caller);

/// Somebody who may see everybody's submissions.
pub(super) struct Authorized(pub(super) Caller);

impl FromRequestParts<Arc<Service>> for Authenticated {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self, Response> {
        let caller = caller(parts, service, ["x-auth-token", "x-auth-user"]).await?;
        caller.must(Right::Submit).map_err(refused)?;
        Ok(Authenticated(caller))
    }
}

impl FromRequestParts<Arc<Service>> for Authorized {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self, Response> {
        let caller = caller(parts, service, ["x-auth-user", "x-auth-token"]).await?;
        // Who is nobody is told so, but who may use the service without signing in has nothing to sign in for.
        match caller.must(Right::SeeAll) {
            Ok(()) => Ok(Authorized(caller)),
            Err(_) if caller.may(Right::Submit) => {
                Err(refused(Refusal::Forbidden("this needs a token that may see everything".to_owned())))
            }
            Err(refusal) => Err(refused(refusal)),
        }
    }
}

fn refused(refusal: Refusal) -> Response {
    Fault::from(refusal).into_response()
}

async fn caller(parts: &mut Parts, service: &Arc<Service>, names: [&str; 2]) -> Result<Caller, Response> {
    as_bearer(&mut parts.headers, names);
    Caller::from_request_parts(parts, service).await.map_err(IntoResponse::into_response)
}

/// Puts a token from the first of these headers where tokens are looked for, unless there is one.
fn as_bearer(headers: &mut HeaderMap, names: [&str; 2]) {
    if headers.contains_key(header::AUTHORIZATION) {
        return;
    }
    let token = names.iter().find_map(|name| headers.get(*name)).and_then(|value| value.to_str().ok());
    if let Some(Ok(mut value)) = token.map(|token| HeaderValue::try_from(format!("Bearer {token}"))) {
        value.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_in_judge0s_headers() {
        let of = |given: &[(&'static str, &'static str)], names| {
            let mut headers = HeaderMap::new();
            given
                .iter()
                .for_each(|(name, value)| drop(headers.insert(*name, HeaderValue::from_static(value))));
            as_bearer(&mut headers, names);
            headers.get("authorization").map(|value| value.to_str().unwrap().to_owned())
        };
        let (use_it, run_it) = (["x-auth-token", "x-auth-user"], ["x-auth-user", "x-auth-token"]);
        let both = [("x-auth-token", "a"), ("x-auth-user", "b")];
        assert_eq!(of(&both, use_it).as_deref(), Some("Bearer a"));
        assert_eq!(of(&both, run_it).as_deref(), Some("Bearer b"));
        assert_eq!(of(&both[..1], run_it).as_deref(), Some("Bearer a"));
        assert_eq!(of(&[("authorization", "Bearer c"), both[0]], use_it).as_deref(), Some("Bearer c"));
        assert_eq!(of(&[], use_it), None);
    }
}
