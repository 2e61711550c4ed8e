//! Whether the service is well, and how much it has to do.

use super::problem::Problem;
use crate::accounts::{Caller, Right};
use crate::errors::Refusal;
use crate::manage::Lines;
use crate::service::Service;
use crate::timestamp::{now, to_rfc3339};
use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// The service lives.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    /// Always `ok`.
    status: &'static str,
}

/// Whether the service lives
///
/// Answered without looking at anything.
#[utoipa::path(get, path = "/health", tag = "service", responses((status = 200, description = "It lives", body = Health)))]
pub(super) async fn live() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// The service can judge submissions.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Ready {
    /// Always `ok`.
    status: &'static str,
    /// `connected`, or why no work goes to the fleet: submissions wait then. Null without a fleet.
    brokers: Option<String>,
}

/// Whether the service can judge submissions
///
/// Something is written to the database to see, and a worker must be connected; 503 says what is missing. Submissions that come while no worker
/// is there wait for one.
#[utoipa::path(get, path = "/health/ready", tag = "service", responses((status = 200, description = "It can", body = Ready)))]
pub(super) async fn ready(State(service): State<Arc<Service>>) -> Result<Json<Ready>, Problem> {
    service.readiness.check(&service.store).await?;
    let told = |trouble: Option<String>| trouble.unwrap_or_else(|| "connected".into());
    let brokers = service.brokers.as_ref().map(|brokers| told(brokers.trouble()));
    if service.workers.connected().is_empty() {
        let brokers = brokers.map_or(String::new(), |brokers| format!("; brokers: {brokers}"));
        return Err(Refusal::Unavailable(format!(
            "no worker is connected: submissions are accepted and wait{brokers}\n\
             hint: start one with `tauto worker`; the service's log tells why none stays"
        ))
        .into());
    }
    Ok(Json(Ready { status: "ok", brokers }))
}

/// The program that serves.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProgramVersion)]
pub(super) struct Version {
    /// Its name.
    name: &'static str,
    /// Its version.
    version: &'static str,
}

/// Which version serves
#[utoipa::path(get, path = "/version", tag = "service", responses((status = 200, description = "Name and version", body = Version)))]
pub(super) async fn version() -> Json<Version> {
    Json(Version { name: "tautochrone", version: env!("CARGO_PKG_VERSION") })
}

/// How much there is to do.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Queue {
    /// Judgements that somebody waits for.
    live: u64,
    /// Judgements that wait until nothing else does.
    background: u64,
    /// Judgements that workers are at.
    judging: u64,
    /// Workers that are connected.
    workers: u64,
    /// When the judgement was asked for that has waited longest.
    #[schema(format = DateTime)]
    oldest: Option<String>,
    /// How long it has waited.
    oldest_age_ns: Option<u64>,
    /// Where it waits, and how much is done.
    #[serde(flatten)]
    lines: Lines,
}

/// How long the queue is
///
/// As it was some seconds ago at the earliest.
#[utoipa::path(get, path = "/queue", tag = "service", responses((status = 200, description = "How much waits and where, and how much is done", body = Queue)))]
pub(super) async fn queue(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<Json<Queue>, Problem> {
    caller.must(Right::Watch)?;
    let counts = service.metrics.counts(&service.store).await?;
    let lines = service.metrics.fleet.lines(&service.store).await?;
    let age = counts.oldest.map(|oldest| now().0.saturating_sub(oldest.0).max(0) as u64);
    Ok(Json(Queue {
        live: counts.live,
        background: counts.background,
        judging: counts.claimed,
        workers: service.workers.connected().len() as u64,
        oldest: counts.oldest.map(to_rfc3339),
        oldest_age_ns: age.map(|micros| micros.saturating_mul(1000)),
        lines,
    }))
}

/// Metrics in the text format of Prometheus (OpenMetrics 1.0), at `/metrics`. For the jury, and everybody on a service without accounts.
pub(crate) async fn metrics(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<Response, Problem> {
    caller.must(Right::Watch)?;
    let text = service.metrics.text(&service).await;
    Ok(([(header::CONTENT_TYPE, crate::metrics::CONTENT_TYPE)], text).into_response())
}
