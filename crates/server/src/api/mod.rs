//! The native API, version 1, and its OpenAPI document. Each handler documents its address; docs/openapi.json is the
//! committed document.

use crate::errors::Refusal;
use crate::limits::Class;
use crate::service::Service;
use axum::Router;
use axum::extract::{DefaultBodyLimit, OriginalUri};
use axum::http::{Method, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::sync::{Arc, LazyLock};
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt};
use utoipa_axum::routes;

mod contests;
mod create;
mod document;
mod events;
pub(crate) mod extract;
pub(crate) mod fleet;
pub(crate) mod judgements;
mod nodes;
pub(crate) mod operation;
mod problem;
mod problems;
pub(crate) mod rejudgings;
mod submissions;
#[cfg(test)]
mod tests;
mod time_limits;

pub(crate) use problem::Problem;

/// Maximum size of an ordinary request, in bytes.
const REQUEST_LIMIT: usize = 256 << 10;

/// The routes with their documentation. Collected once: tests create hundreds of services, each with a router of its own.
static DOCUMENTED: LazyLock<(Router<Arc<Service>>, OpenApi)> =
    LazyLock::new(|| documented().split_for_parts());

/// All routes below `/api/v1`.
pub(crate) fn router() -> Router<Arc<Service>> {
    static DOCUMENT: LazyLock<String> = LazyLock::new(openapi);
    let serve = async || ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.as_str());
    DOCUMENTED
        .0
        .clone()
        .route("/openapi.json", get(serve))
        .method_not_allowed_fallback(wrong_method)
        .fallback(unknown)
        .layer(CatchPanicLayer::custom(panicked))
}

/// The routes with their documentation.
fn documented() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::with_openapi(document::Head::openapi())
        .routes(
            routes!(submissions::list, create::create).layer(DefaultBodyLimit::max(create::REQUEST_LIMIT)),
        )
        .routes(routes!(submissions::one))
        .routes(routes!(submissions::files))
        .routes(routes!(events::watch))
        .routes(routes!(judgements::history))
        .routes(routes!(judgements::current))
        .routes(routes!(judgements::one))
        .routes(routes!(judgements::rejudge).layer(DefaultBodyLimit::max(REQUEST_LIMIT)))
        .routes(routes!(judgements::trials).layer(DefaultBodyLimit::max(REQUEST_LIMIT)))
        .routes(routes!(judgements::series_of))
        .routes(routes!(rejudgings::list, rejudgings::create).layer(DefaultBodyLimit::max(REQUEST_LIMIT)))
        .routes(routes!(rejudgings::one))
        .routes(routes!(problems::list, problems::add).layer(DefaultBodyLimit::max(Class::Upload.body())))
        .routes(routes!(problems::one))
        .routes(routes!(problems::statement))
        .routes(routes!(problems::versions))
        .routes(routes!(problems::package))
        .routes(routes!(problems::verify))
        .routes(routes!(problems::verification))
        .routes(routes!(time_limits::list, time_limits::again).layer(DefaultBodyLimit::max(REQUEST_LIMIT)))
        .routes(routes!(contests::list))
        .routes(
            routes!(contests::one, contests::set, contests::remove)
                .layer(DefaultBodyLimit::max(REQUEST_LIMIT)),
        )
        .routes(routes!(nodes::languages))
        .routes(routes!(nodes::list))
        .routes(routes!(nodes::one, fleet::remove_node))
        .routes(routes!(nodes::index))
        .routes(routes!(fleet::events))
        .routes(routes!(fleet::suspects))
        .routes(routes!(fleet::rejudge))
        .routes(routes!(fleet::drain).layer(DefaultBodyLimit::max(REQUEST_LIMIT)))
        .routes(routes!(fleet::give_back).layer(DefaultBodyLimit::max(REQUEST_LIMIT)))
        .routes(routes!(fleet::pools))
        .routes(
            routes!(fleet::pool, fleet::put_pool, fleet::remove_pool)
                .layer(DefaultBodyLimit::max(REQUEST_LIMIT)),
        )
        .routes(routes!(operation::queue))
        .routes(routes!(operation::live))
        .routes(routes!(operation::ready))
        .routes(routes!(operation::version))
        .routes(routes!(problem::explain))
        .merge(crate::accounts::api().layer(DefaultBodyLimit::max(REQUEST_LIMIT)))
}

async fn unknown(OriginalUri(address): OriginalUri) -> Problem {
    let Problem(refusal) = problem::no_address(address.path());
    Problem(Refusal::NotFound(format!(
        "{refusal}\nhint: GET /api/v1/openapi.json lists the addresses of the API"
    )))
}

async fn wrong_method(method: Method, OriginalUri(address): OriginalUri) -> Response {
    let address = extract::in_short(address.path());
    let detail = format!(
        "{address} does not support the method {method}\nhint: the header `Allow` of this response lists the methods it supports"
    );
    problem::problem(&problem::METHOD, detail)
}

fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    Problem(Refusal::Fault("a handler panicked".into())).into_response()
}

/// The OpenAPI document as it is served.
pub fn openapi() -> String {
    let mut api = DOCUMENTED.1.clone();
    document::complete(&mut api);
    document::text(&api)
}
