//! Nodes: their workers, the facts that they report, and their measurements over time.

use super::extract::{Path, Query};
use super::problem::Problem;
use crate::accounts::{Caller, Right};
use crate::errors::Refusal;
use crate::languages;
use crate::manage;
use crate::service::Service;
use crate::timestamp::{self, to_rfc3339};
use crate::work::{self, Worker};
use axum::Json;
use axum::extract::State;
use model::{HostLanguage, Index, NodeFacts, NoiseFloor, Reading, Slot};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::Timestamp;
use utoipa::{IntoParams, ToSchema};

/// A list of languages.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Languages {
    /// Languages, in the order of the language table. Those that only nodes know come last.
    languages: Vec<Language>,
}

/// A language.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Language {
    /// Language id.
    id: String,
    /// Display name.
    name: String,
    /// File name extensions, without the dot.
    extensions: Vec<String>,
    /// Whether at least one node can judge this language.
    available: bool,
    /// What each node reports about the language, by node name: tools, versions and commands, in the form of `tauto
    /// languages --json`.
    nodes: BTreeMap<String, HostLanguage>,
}

/// List languages
#[utoipa::path(get, path = "/languages", tag = "nodes", responses((status = 200, description = "Languages, and the nodes that can judge them", body = Languages)))]
pub(super) async fn languages(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<Json<Languages>, Problem> {
    caller.must(Right::View)?;
    let language = |known: languages::Known| Language {
        available: known.available(),
        id: known.id,
        name: known.name,
        extensions: known.extensions,
        nodes: known.nodes,
    };
    let languages = languages::all(&service).await?.into_iter().map(language).collect();
    Ok(Json(Languages { languages }))
}

/// A node.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Node)]
pub(super) struct NodeView {
    /// State of the node.
    #[serde(flatten)]
    node: manage::NodeView,
    /// Connected workers of the node, one per slot.
    workers: Vec<WorkerView>,
}

/// A connected worker, which judges on one slot.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Worker)]
pub(super) struct WorkerView {
    /// Number of the slot on its node.
    slot: u32,
    /// CPUs of the slot.
    cpus: Vec<u32>,
    /// Isolation and memory nodes of the slot, in the form of `tauto slots --json`. Unknown if the worker has no
    /// slot.
    plan: Reading<Slot>,
    /// Noise floor that the worker uses.
    floor: Reading<NoiseFloor>,
    /// Version of the worker's program.
    version: String,
    /// When the worker connected.
    #[schema(format = DateTime)]
    since: String,
    /// Whether the worker is judging.
    busy: bool,
    /// Number of tasks finished since the worker connected.
    finished: u64,
}

impl WorkerView {
    fn new(worker: &Worker) -> WorkerView {
        WorkerView {
            slot: worker.slot.id,
            cpus: worker.slot.cpus.clone(),
            plan: worker.slot.plan.clone(),
            floor: worker.slot.floor.clone(),
            version: worker.version.clone(),
            since: to_rfc3339(worker.since),
            busy: worker.judging.is_some(),
            finished: worker.finished,
        }
    }
}

impl NodeView {
    fn new(node: manage::NodeView, connected: &[Worker]) -> NodeView {
        let its = connected.iter().filter(|worker| worker.node == node.name);
        NodeView { workers: its.map(WorkerView::new).collect(), node }
    }
}

/// A list of nodes.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Nodes {
    /// Nodes, ordered by pool and name.
    nodes: Vec<NodeView>,
}

/// List nodes
#[utoipa::path(get, path = "/nodes", tag = "nodes", responses((status = 200, description = "All known nodes, with their connected workers", body = Nodes)))]
pub(super) async fn list(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<Json<Nodes>, Problem> {
    caller.must(Right::Watch)?;
    let connected = service.workers.connected();
    let nodes = manage::nodes(&service.store).await?.into_iter();
    Ok(Json(Nodes { nodes: nodes.map(|node| NodeView::new(node, &connected)).collect() }))
}

/// A node with the facts that it reported.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct NodeWhole {
    /// State and workers of the node.
    #[serde(flatten)]
    node: NodeView,
    /// Facts from the latest report of the node.
    facts: NodeFacts,
}

/// Get a node
///
/// Includes the facts that the node reported last, such as audit findings.
#[utoipa::path(get, path = "/nodes/{name}", tag = "nodes", params(("name" = String, Path, description = "Name of the node")),
    responses((status = 200, description = "The node", body = NodeWhole)))]
pub(super) async fn one(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<NodeWhole>, Problem> {
    caller.must(Right::Watch)?;
    let (_, facts) = service.store.node_with_facts(&name).await?;
    let shown = manage::show_node(&service.store, &name).await?;
    let view = NodeView::new(shown, &service.workers.connected());
    Ok(Json(NodeWhole { node: view, facts }))
}

/// Which measurements to return.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct WhichSamples {
    /// Only measurements made at this time or later (RFC 3339).
    #[param(format = DateTime)]
    since: Option<String>,
    /// Maximum number of measurements. Default: 100.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// Measurements of a node.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Samples {
    /// Measurements, newest first.
    samples: Vec<SampleView>,
}

/// A measurement of the power index.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Measurement)]
pub(super) struct SampleView {
    /// When the measurement was made.
    #[schema(format = DateTime)]
    at: String,
    /// Power index, in the form of `tauto index --json`.
    value: Reading<Index>,
}

/// List the power index measurements of a node
#[utoipa::path(get, path = "/nodes/{name}/index", tag = "nodes", params(("name" = String, Path, description = "Name of the node"), WhichSamples),
    responses((status = 200, description = "Measurements, newest first", body = Samples)))]
pub(super) async fn index(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
    query: Query<WhichSamples>,
) -> Result<Json<Samples>, Problem> {
    caller.must(Right::Watch)?;
    let which = query.read()?;
    let limit = which.limit.unwrap_or(100);
    if !(1..=1000).contains(&limit) {
        return Err(Refusal::Bad("limit: must be 1 to 1000".into()).into());
    }
    let since = which.since.as_deref().map(|text| timestamp::from_rfc3339("since", text)).transpose()?;
    let node = service.store.node(&name).await?;
    let indices = work::indices(&service.store, &node.name, since.unwrap_or(Timestamp(0)), limit).await?;
    let view = |(at, value)| SampleView { at: to_rfc3339(at), value };
    Ok(Json(Samples { samples: indices.into_iter().map(view).collect() }))
}
