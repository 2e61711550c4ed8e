//! Health, version and queue of the service.

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

/// Health of the service.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    /// Always `ok`.
    status: &'static str,
}

/// Check that the service is running
///
/// Succeeds while the service runs. Does not check the database or the workers.
#[utoipa::path(get, path = "/health", tag = "service", responses((status = 200, description = "The service is running", body = Health)))]
pub(super) async fn live() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Readiness of the service.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Ready {
    /// Always `ok`.
    status: &'static str,
    /// `connected`, or why the fleet gets no work; submissions then wait. Null without a fleet.
    brokers: Option<String>,
}

/// Check that the service can judge submissions
///
/// Writes to the database and checks that a worker is connected; otherwise 503 gives the reason. Submissions that
/// arrive without a worker wait for one.
#[utoipa::path(get, path = "/health/ready", tag = "service", responses((status = 200, description = "The service can judge submissions", body = Ready)))]
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

/// Name and version of the program.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProgramVersion)]
pub(super) struct Version {
    /// Name of the program.
    name: &'static str,
    /// Version of the program.
    version: &'static str,
}

/// Get the version of the program
#[utoipa::path(get, path = "/version", tag = "service", responses((status = 200, description = "Name and version of the program", body = Version)))]
pub(super) async fn version() -> Json<Version> {
    Json(Version { name: "tautochrone", version: env!("CARGO_PKG_VERSION") })
}

/// Length of the queue.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Queue {
    /// Waiting jobs of urgency `live`: submissions outside contests.
    live: u64,
    /// Waiting jobs of urgency `background`, which are judged when nothing else waits.
    background: u64,
    /// Jobs that workers have, including tickets that no worker has started.
    judging: u64,
    /// Number of connected workers.
    workers: u64,
    /// When the job that has waited longest was requested. Null if no job waits.
    #[schema(format = DateTime)]
    oldest: Option<String>,
    /// Waiting time of that job. Null if no job waits.
    oldest_age_ns: Option<u64>,
    /// Queues, running work and completed work.
    #[serde(flatten)]
    lines: Lines,
}

/// Get the length of the queue
///
/// The figures are up to two seconds old.
#[utoipa::path(get, path = "/queue", tag = "service", responses((status = 200, description = "Waiting jobs by queue, jobs in progress by pool, and completed work", body = Queue)))]
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

/// Metrics in the text format of Prometheus (OpenMetrics 1.0), at `/metrics`. On a service with accounts, only the
/// jury may read them.
pub(crate) async fn metrics(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<Response, Problem> {
    caller.must(Right::Watch)?;
    let text = service.metrics.text(&service).await;
    Ok(([(header::CONTENT_TYPE, crate::metrics::CONTENT_TYPE)], text).into_response())
}
