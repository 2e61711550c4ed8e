//! Pools, and taking nodes out of service and back. What each does is in [`crate::manage`].

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

/// The pools.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Pools {
    /// By name.
    pools: Vec<PoolView>,
}

/// How equal the members of a pool are: equal hardware and equal measured power; whatever there is.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = PoolKind)]
#[serde(rename_all = "snake_case")]
enum PoolKindName {
    Strict,
    Relaxed,
}

/// What a pool is to be like.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WantedPool {
    /// How equal its members are.
    kind: PoolKindName,
    /// Seconds after which a strict pool's idle nodes take relaxed work that nobody else has taken; null: never.
    #[serde(default)]
    helps_after_secs: Option<u32>,
    /// What its members must be like, as docs/fleet.md has it; null: as the first one that is admitted.
    #[serde(default)]
    definition: Option<Definition>,
}

/// List pools
#[utoipa::path(get, path = "/pools", tag = "nodes", responses((status = 200, description = "Every pool, with its members and contests", body = Pools)))]
pub(super) async fn pools(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<axum::Json<Pools>, Problem> {
    caller.must(Right::Watch)?;
    Ok(axum::Json(Pools { pools: manage::pools(&service.store).await? }))
}

/// A pool
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

/// Make or change a pool
///
/// Its member nodes are checked again by its requirements when they are next heard of.
#[utoipa::path(put, path = "/pools/{name}", tag = "nodes", params(("name" = String, Path, description = "Name of the pool: 1 to 32 of a-z, 0-9 and -")),
    request_body = WantedPool, responses((status = 200, description = "The pool as it is now", body = PoolView)))]
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

/// Remove a pool
#[utoipa::path(delete, path = "/pools/{name}", tag = "nodes", params(("name" = String, Path, description = "Name of the pool")),
    responses((status = 204, description = "It is removed")))]
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

/// How many.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct HowMany {
    /// How many, 100 where nothing is said.
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

/// What happened to a node.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct NodeEvents {
    /// Newest first.
    events: Vec<EventView>,
}

/// What happened to a node
#[utoipa::path(get, path = "/nodes/{name}/events", tag = "nodes", params(("name" = String, Path, description = "Name of the node"), HowMany),
    responses((status = 200, description = "Its events, newest first", body = NodeEvents)))]
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

/// What a node judged while it is doubted
#[utoipa::path(get, path = "/nodes/{name}/suspects", tag = "nodes", params(("name" = String, Path, description = "Name of the node"), HowMany),
    responses((status = 200, description = "The submissions, those that were judged first first", body = Suspects)))]
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

/// Judge again what a node judged while it is doubted
#[utoipa::path(post, path = "/nodes/{name}/suspects/rejudge", tag = "nodes", params(("name" = String, Path, description = "Name of the node")),
    responses((status = 202, description = "They will be judged again", body = RejudgeAccepted)))]
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

/// The same, for all faces.
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

/// Why.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Why {
    /// Reason, for others who find it drained.
    #[schema(min_length = 1, max_length = 1000)]
    reason: String,
}

/// What was done.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WhyPerhaps {
    /// What was done about it.
    #[serde(default)]
    #[schema(max_length = 1000)]
    reason: String,
}

/// Take a node out of service
///
/// What it is at it ends, and it gets no more.
#[utoipa::path(post, path = "/nodes/{name}/drain", tag = "nodes", params(("name" = String, Path, description = "Name of the node")),
    request_body = Why, responses((status = 200, description = "The node as it is now", body = NodeView)))]
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

/// Put a node back into service
///
/// It has to pass admission first. What it judged is not doubted any more.
#[utoipa::path(post, path = "/nodes/{name}/return", tag = "nodes", params(("name" = String, Path, description = "Name of the node")),
    request_body = WhyPerhaps, responses((status = 200, description = "The node as it is now", body = NodeView)))]
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

/// Forget a node
///
/// One that is out of service or was never admitted. When it comes again it is new.
#[utoipa::path(delete, path = "/nodes/{name}", tag = "nodes", params(("name" = String, Path, description = "Name of the node")),
    responses((status = 204, description = "It is forgotten")))]
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

/// Who does it, for the events of a node.
pub(crate) fn who(caller: &Caller) -> String {
    caller.user.as_ref().map_or_else(|| "somebody at the service's machine".into(), |user| user.name.clone())
}
