//! Pools, and draining and returning nodes. [`crate::manage`] does the work.

use super::extract::{Body, Path, Query};
use super::judgements::RejudgeAccepted;
use super::problem::Problem;
use crate::accounts::{Caller, Right};
use crate::errors::Refusal;
use crate::manage::{self, EventView, NodeView, PoolView, Suspects};
use crate::service::Service;
use crate::timestamp::now;
use ::fleet::{Definition, Pool, PoolKind};
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// A list of pools.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Pools {
    /// Pools, ordered by name.
    pools: Vec<PoolView>,
}

/// How similar the members of a pool are. `strict`: equal hardware and equal measured power. `relaxed`: any machine.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = PoolKind)]
#[serde(rename_all = "snake_case")]
enum PoolKindName {
    Strict,
    Relaxed,
}

/// Settings of a pool.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WantedPool {
    /// How similar the members must be.
    kind: PoolKindName,
    /// Seconds that relaxed work must wait before idle nodes of a strict pool take it. Null: never.
    #[serde(default)]
    helps_after_secs: Option<u32>,
    /// Requirements for members (see docs/fleet.md). Null: the first admitted node of a strict pool defines them.
    #[serde(default)]
    definition: Option<Definition>,
}

/// List pools
#[utoipa::path(get, path = "/pools", tag = "nodes", responses((status = 200, description = "All pools, with their members and contests", body = Pools)))]
pub(super) async fn pools(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<axum::Json<Pools>, Problem> {
    caller.must(Right::Watch)?;
    Ok(axum::Json(Pools { pools: manage::pools(&service.store).await? }))
}

/// Get a pool
#[utoipa::path(get, path = "/pools/{name}", tag = "nodes", params(("name" = String, Path, description = "Name of the pool")),
    responses((status = 200, description = "The pool, with its members and contests", body = PoolView)))]
pub(super) async fn pool(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<axum::Json<PoolView>, Problem> {
    caller.must(Right::Watch)?;
    Ok(axum::Json(manage::show_pool(&service.store, &name).await?))
}

/// Create or update a pool
///
/// Replaces all settings. Member nodes are checked against the requirements when they next report.
#[utoipa::path(put, path = "/pools/{name}", tag = "nodes", params(("name" = String, Path, description = "Name of the pool: 1 to 32 of a-z, 0-9 and -")),
    request_body = WantedPool, responses((status = 200, description = "The pool was created or updated", body = PoolView)))]
pub(super) async fn put_pool(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
    body: Body<WantedPool>,
) -> Result<axum::Json<PoolView>, Problem> {
    caller.must(Right::Administer)?;
    let wanted = body.json().await?;
    let kind = match wanted.kind {
        PoolKindName::Strict => PoolKind::Strict,
        PoolKindName::Relaxed => PoolKind::Relaxed,
    };
    let WantedPool { helps_after_secs, definition, .. } = wanted;
    let pool = Pool { name, kind, helps_after_secs, definition };
    manage::put_pool(&service.store, &pool, now()).await?;
    tracing::info!(pool = pool.name, "a pool was set");
    Ok(axum::Json(manage::show_pool(&service.store, &pool.name).await?))
}

/// Delete a pool
///
/// Fails if a contest, a node or an open job uses the pool.
#[utoipa::path(delete, path = "/pools/{name}", tag = "nodes", params(("name" = String, Path, description = "Name of the pool")),
    responses((status = 204, description = "The pool was deleted")))]
pub(super) async fn remove_pool(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    caller.must(Right::Administer)?;
    manage::remove_pool(&service.store, &name).await?;
    tracing::info!(pool = name, "a pool was removed");
    Ok(StatusCode::NO_CONTENT)
}

/// Page size.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct HowMany {
    /// Maximum number of entries. Default: 100.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

impl HowMany {
    fn get(&self) -> Result<u32, Refusal> {
        match self.limit.unwrap_or(100) {
            limit @ 1..=1000 => Ok(limit),
            _ => Err(Refusal::Bad("limit: must be 1 to 1000".into())),
        }
    }
}

/// Events of a node.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct NodeEvents {
    /// Events, newest first.
    events: Vec<EventView>,
}

/// List the events of a node
#[utoipa::path(get, path = "/nodes/{name}/events", tag = "nodes", params(("name" = String, Path, description = "Name of the node"), HowMany),
    responses((status = 200, description = "Events, newest first", body = NodeEvents)))]
pub(super) async fn events(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
    query: Query<HowMany>,
) -> Result<axum::Json<NodeEvents>, Problem> {
    caller.must(Right::Watch)?;
    let many = query.read()?;
    let events = manage::events(&service.store, &name, many.get()?).await?;
    Ok(axum::Json(NodeEvents { events }))
}

/// List the suspect submissions of a node
///
/// Returns what the node judged since it became suspect.
#[utoipa::path(get, path = "/nodes/{name}/suspects", tag = "nodes", params(("name" = String, Path, description = "Name of the node"), HowMany),
    responses((status = 200, description = "The suspect submissions, ordered by number", body = Suspects)))]
pub(super) async fn suspects(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
    query: Query<HowMany>,
) -> Result<axum::Json<Suspects>, Problem> {
    caller.must(Right::Watch)?;
    let many = query.read()?;
    let shown = many.get()? as usize;
    Ok(axum::Json(manage::suspects(&service.store, &name, shown, now()).await?))
}

/// Rejudge the suspect submissions of a node
///
/// Skips submissions whose sources were deleted. Fails if no suspect submission can be rejudged.
#[utoipa::path(post, path = "/nodes/{name}/suspects/rejudge", tag = "nodes", params(("name" = String, Path, description = "Name of the node")),
    responses((status = 202, description = "The submissions are queued for rejudging", body = RejudgeAccepted)))]
pub(super) async fn rejudge(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<(StatusCode, axum::Json<RejudgeAccepted>), Problem> {
    caller.must(Right::Rejudge)?;
    let id = again(&service, &caller, &name).await?;
    Ok((
        StatusCode::ACCEPTED,
        axum::Json(RejudgeAccepted { rejudging: id.0, url: format!("/api/v1/rejudgings/{id}") }),
    ))
}

/// Rejudges the suspect submissions, for pages and the API.
pub(crate) async fn again(
    service: &Service,
    caller: &Caller,
    name: &str,
) -> Result<store::RejudgingId, Refusal> {
    let (id, count) = manage::rejudge_suspects(&service.store, name, caller.id(), now()).await?;
    service.work_came.many();
    tracing::info!(rejudging = id.0, node = name, submissions = count, "suspects are judged again");
    Ok(id)
}

/// Reason for draining a node.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Why {
    /// Reason, for others who find the node drained.
    #[schema(min_length = 1, max_length = 1000)]
    reason: String,
}

/// Reason for returning a node to service.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WhyPerhaps {
    /// What was done about the problem.
    #[serde(default)]
    #[schema(max_length = 1000)]
    reason: String,
}

/// Drain a node
///
/// The node finishes its running jobs and gets no new ones.
#[utoipa::path(post, path = "/nodes/{name}/drain", tag = "nodes", params(("name" = String, Path, description = "Name of the node")),
    request_body = Why, responses((status = 200, description = "The node with its new state", body = NodeView)))]
pub(super) async fn drain(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
    body: Body<Why>,
) -> Result<axum::Json<NodeView>, Problem> {
    caller.must(Right::Administer)?;
    let why = body.json().await?;
    Ok(axum::Json(manage::drain(&service.store, &name, &why.reason, &who(&caller), now()).await?))
}

/// Return a node to service
///
/// A node that reports its features must pass admission first. Its judgements are no longer suspect, so rejudge them
/// before.
#[utoipa::path(post, path = "/nodes/{name}/return", tag = "nodes", params(("name" = String, Path, description = "Name of the node")),
    request_body = WhyPerhaps, responses((status = 200, description = "The node with its new state", body = NodeView)))]
pub(super) async fn give_back(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
    body: Body<WhyPerhaps>,
) -> Result<axum::Json<NodeView>, Problem> {
    caller.must(Right::Administer)?;
    let why = body.json().await?;
    Ok(axum::Json(manage::return_node(&service.store, &name, &why.reason, &who(&caller), now()).await?))
}

/// Delete a node
///
/// Fails if the node is in service or runs a job. If it connects again, it is a new node.
#[utoipa::path(delete, path = "/nodes/{name}", tag = "nodes", params(("name" = String, Path, description = "Name of the node")),
    responses((status = 204, description = "The node was deleted")))]
pub(super) async fn remove_node(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    caller.must(Right::Administer)?;
    manage::remove_node(&service.store, &name).await?;
    tracing::info!(node = name, "a node was removed");
    Ok(StatusCode::NO_CONTENT)
}

/// Name of the caller, for the events of a node.
pub(crate) fn who(caller: &Caller) -> String {
    caller
        .user
        .as_ref()
        .map_or_else(|| "an operator at the service's machine".into(), |user| user.name.clone())
}
