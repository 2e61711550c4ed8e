//! Faces of other judges: each translates between their HTTP interface and the few functions of the service. One lies in a module of its own, and is
//! named in [`FACES`] alone.

pub(crate) mod judge0;
mod piston;

use crate::service::Service;
use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, Method};
use std::sync::Arc;

/// The interface of another judge.
struct Face {
    /// The paths below which it is found.
    places: &'static [&'static str],
    /// Its routes.
    router: fn() -> Router<Arc<Service>>,
    /// Those of them, below each place, to which programs are posted, and the answer may be what comes of them.
    executes: &'static [&'static str],
    /// Puts the token that its clients send where tokens are looked for; by method and path below the place.
    token: fn(&Method, &str, &mut HeaderMap),
}

/// All of them.
const FACES: [Face; 2] = [judge0::FACE, piston::FACE];

fn places() -> impl Iterator<Item = (&'static Face, &'static str)> {
    FACES.iter().flat_map(|face| face.places.iter().map(move |place| (face, *place)))
}

/// Adds the routes of all faces.
pub(crate) fn mounted(routes: Router<Arc<Service>>) -> Router<Arc<Service>> {
    places().fold(routes, |routes, (face, place)| routes.nest(place, (face.router)()))
}

/// Puts tokens where they are looked for: clients of other judges have their own places for them.
pub(crate) async fn with_token(mut request: Request) -> Request {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let below = |place: &str| path.strip_prefix(place).filter(|rest| rest.starts_with('/'));
    if let Some((face, path)) = places().find_map(|(face, place)| Some((face, below(place)?))) {
        (face.token)(&method, path, request.headers_mut());
    }
    request
}

/// The routes to which programs are posted.
pub(crate) fn executing() -> impl Iterator<Item = String> {
    places().flat_map(|(face, place)| face.executes.iter().map(move |route| format!("{place}{route}")))
}
