//! Time limits of problems whose package states none.

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

/// State of an inference. `waiting`: for a worker. `inferring`: a worker runs it. `done`: it succeeded. `failed`: it
/// did not.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InferenceState)]
#[serde(rename_all = "snake_case")]
enum StateName {
    Waiting,
    Inferring,
    Done,
    Failed,
}

/// An inferred time limit of a problem.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InferredTimeLimit)]
pub(super) struct LimitView {
    /// Pool of the contests that use the limit. Null: submissions outside contests use it.
    pool: Option<String>,
    /// State of the inference.
    state: StateName,
    /// Why the inference failed, with a hint. Null if it did not.
    fault: Option<String>,
    /// Limit in force, and the data that it was inferred from. Null: submissions wait for it.
    limit: Option<InferredLimit>,
    /// When the limit was stored.
    #[schema(format = DateTime)]
    found: Option<String>,
    /// Node that ran the jury submissions.
    node: Option<String>,
    /// The pool of that node.
    node_pool: Option<String>,
    /// Token of the submission that infers the limit. Its judgements contain all inferred limits.
    submission: Option<String>,
}

/// Scales that convert the time limits of a problem to reference time, for second opinions on results that CPU time
/// leaves uncertain.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReferenceScales)]
pub(super) struct ScalesView {
    /// Pool of the contests that use the scales. Null: submissions outside contests use them.
    pool: Option<String>,
    /// State of the inference.
    state: StateName,
    /// Why the inference failed, with a hint. Without scales, uncertain results stay open.
    fault: Option<String>,
    /// Scales in force, by language, and the data that they were inferred from. Null: there are none yet.
    scales: Option<InferredScales>,
    /// When the scales were stored.
    #[schema(format = DateTime)]
    found: Option<String>,
    /// Node that ran the jury submissions.
    node: Option<String>,
    /// The pool of that node.
    node_pool: Option<String>,
    /// Token of the submission that infers the scales.
    submission: Option<String>,
}

/// Inferred time limits and scales of a version.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InferredTimeLimits)]
pub(super) struct Limits {
    /// Short name of the problem.
    problem: String,
    /// Version number.
    version: u32,
    /// Number of jobs that wait for a time limit.
    waiting: u64,
    /// Time limits, by pool. Empty if the package states its time limit.
    time_limits: Vec<LimitView>,
    /// Scales, by pool. Empty if no second opinions are used.
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

/// List inferred time limits
///
/// If a package states no time limit, the service infers one for each pool with contests, and one for submissions
/// outside contests. For each limit, one job runs the jury submissions once, and all submissions use its result.
/// Further jobs infer scales for the reference clock, also for packages that state their limit. Submissions do not
/// wait for scales.
#[utoipa::path(get, path = "/problems/{name}/time-limits", tag = "problems", params(("name" = String, Path, description = "Short name of the problem", example = "fence"), WhichVersion),
    responses((status = 200, description = "Time limits and scales by pool, with the data they were inferred from", body = Limits)))]
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

/// Which time limit to infer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"pool": "metal"}))]
pub(super) struct InferAgain {
    /// Pool of the contests that use the limit. Null or omitted: submissions outside contests use it.
    #[serde(default)]
    pool: Option<String>,
    /// Version number. Default: the newest version.
    #[serde(default)]
    #[schema(minimum = 1)]
    version: Option<u32>,
}

/// Infer a time limit again
///
/// The current limit applies until the new one is stored. Judgements keep the limit that they used; rejudging uses
/// the new one. If the inference is already waiting or running, no job is added.
#[utoipa::path(post, path = "/problems/{name}/time-limits", tag = "problems", params(("name" = String, Path, description = "Short name of the problem", example = "fence")),
    request_body = InferAgain,
    responses((status = 202, description = "The inference is queued", body = Limits)))]
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
