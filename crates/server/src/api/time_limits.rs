//! Time limits of problems that state none.

use super::extract::{Body, Path, Query};
use super::problem::Problem as Failure;
use super::problems::{WhichVersion, found, version};
use crate::accounts::{Caller, Right};
use crate::errors::Refusal;
use crate::problems::limits::{self, Inferring};
use crate::service::Service;
use crate::timestamp::to_rfc3339;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use model::hint::in_one_line;
use model::{InferredLimit, InferredScales};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::{StoredLimit, StoredScales, Version};
use utoipa::ToSchema;

/// How inferring a time limit stands: it waits for a worker; one is at it; it is done; it came to nothing.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InferenceState)]
#[serde(rename_all = "snake_case")]
enum StateName {
    Waiting,
    Inferring,
    Done,
    Failed,
}

/// A time limit of a problem that states none.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InferredTimeLimit)]
pub(super) struct LimitView {
    /// The pool of the contests that it is for; null: for what is of no contest.
    pool: Option<String>,
    /// How inferring it stands.
    state: StateName,
    /// Why it came to nothing, and what to do.
    fault: Option<String>,
    /// The one in force, and what it was inferred from; null: submissions wait for it.
    limit: Option<InferredLimit>,
    /// When that was stored.
    #[schema(format = DateTime)]
    found: Option<String>,
    /// The node that ran the jury's submissions, all of them.
    node: Option<String>,
    /// The pool of that node.
    node_pool: Option<String>,
    /// Token of the submission that infers it, whose judgements are all that was inferred.
    submission: Option<String>,
}

/// What the time limits of a problem are in reference time, by which results are judged again that CPU time leaves open.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReferenceScales)]
pub(super) struct ScalesView {
    /// The pool of the contests that they are for; null: for what is of no contest.
    pool: Option<String>,
    /// How inferring them stands.
    state: StateName,
    /// Why it came to nothing, and what to do. Results stay open then.
    fault: Option<String>,
    /// Those in force, by language, and what they were inferred from; null: there are none yet.
    scales: Option<InferredScales>,
    /// When they were stored.
    #[schema(format = DateTime)]
    found: Option<String>,
    /// The node that ran the jury's submissions.
    node: Option<String>,
    /// The pool of that node.
    node_pool: Option<String>,
    /// Token of the submission that infers them.
    submission: Option<String>,
}

/// The time limits of a version.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InferredTimeLimits)]
pub(super) struct Limits {
    /// Short name of the problem.
    problem: String,
    /// Number of the version.
    version: u32,
    /// Jobs that wait for one.
    waiting: u64,
    /// By pool; none where the package states its time limit.
    time_limits: Vec<LimitView>,
    /// By pool; none where the reference clock is not asked.
    reference_scales: Vec<ScalesView>,
}

fn state(stands: Inferring, remedy: &str) -> (StateName, Option<String>) {
    match stands {
        Inferring::UnderWay(store::State::Judging) => (StateName::Inferring, None),
        Inferring::UnderWay(_) => (StateName::Waiting, None),
        Inferring::Done => (StateName::Done, None),
        Inferring::Failed(why) => (StateName::Failed, Some(format!("{}\nhint: {remedy}", in_one_line(&why)))),
    }
}

async fn scales_view(service: &Service, stored: StoredScales) -> Result<ScalesView, Refusal> {
    let (stands, submission) = limits::inferring(service, stored.submission).await?;
    let (state, fault) = state(stands, limits::SCALES_REMEDY);
    let found = stored.found;
    Ok(ScalesView {
        pool: stored.of.pool,
        state,
        fault,
        found: found.as_ref().map(|found| to_rfc3339(found.found)),
        node: found.as_ref().and_then(|found| found.node.clone()),
        node_pool: found.as_ref().and_then(|found| found.node_pool.clone()),
        scales: found.map(|found| found.inferred),
        submission,
    })
}

async fn view(service: &Service, stored: StoredLimit) -> Result<LimitView, Refusal> {
    let (stands, submission) = limits::inferring(service, stored.submission).await?;
    let (state, fault) = state(stands, limits::REMEDY);
    let found = stored.limit;
    Ok(LimitView {
        pool: stored.of.pool,
        state,
        fault,
        found: found.as_ref().map(|found| to_rfc3339(found.found)),
        node: found.as_ref().and_then(|found| found.node.clone()),
        node_pool: found.as_ref().and_then(|found| found.node_pool.clone()),
        limit: found.map(|found| found.inferred),
        submission,
    })
}

async fn all(service: &Service, name: &str, version: &Version) -> Result<Limits, Refusal> {
    let mut time_limits = Vec::new();
    for stored in service.store.time_limits(version.id).await? {
        time_limits.push(view(service, stored).await?);
    }
    let mut reference_scales = Vec::new();
    for stored in service.store.all_scales(version.id).await? {
        reference_scales.push(scales_view(service, stored).await?);
    }
    let waiting = service.store.awaiting(version.id).await?;
    Ok(Limits { problem: name.into(), version: version.number, waiting, time_limits, reference_scales })
}

/// Inferred time limits
///
/// Of a package that states none. Each pool that contests are bound to has its own, and so has what is of no contest: one job runs the jury's submissions
/// there once, and everything is judged by what it found. What limits are in reference time, of packages that state theirs too, is found by another job,
/// for which nobody waits.
#[utoipa::path(get, path = "/problems/{name}/time-limits", tag = "problems", params(("name" = String, Path, description = "Short name of the problem", example = "fence"), WhichVersion),
    responses((status = 200, description = "By pool, with the figures they were inferred from", body = Limits)))]
pub(super) async fn list(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
    query: Query<WhichVersion>,
) -> Result<Json<Limits>, Failure> {
    caller.must(Right::Problems)?;
    let which = query.read()?;
    let problem = found(&service, &name).await?;
    let version = version(&service, &problem, &which).await?;
    Ok(Json(all(&service, &problem.name, &version).await?))
}

/// Which time limit.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"pool": "metal"}))]
pub(super) struct InferAgain {
    /// The pool of the contests that it is for; left out or null: for what is of no contest.
    #[serde(default)]
    pool: Option<String>,
    /// Number of the version; the newest where nothing is said.
    #[serde(default)]
    #[schema(minimum = 1)]
    version: Option<u32>,
}

/// Infer a time limit again
///
/// The one in force stays until there is another; what was judged by it keeps it until it is judged again. Where one is being inferred, nothing is added.
#[utoipa::path(post, path = "/problems/{name}/time-limits", tag = "problems", params(("name" = String, Path, description = "Short name of the problem", example = "fence")),
    request_body = InferAgain,
    responses((status = 202, description = "It will be inferred", body = Limits)))]
pub(super) async fn again(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
    body: Body<InferAgain>,
) -> Result<(StatusCode, Json<Limits>), Failure> {
    caller.must(Right::Problems)?;
    let asked = body.json().await?;
    let problem = found(&service, &name).await?;
    let version = version(&service, &problem, &WhichVersion::new(asked.version)).await?;
    limits::again(&service, &version, &problem.name, asked.pool).await?;
    Ok((StatusCode::ACCEPTED, Json(all(&service, &problem.name, &version).await?)))
}
