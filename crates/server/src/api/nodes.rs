//! The machines that judge: who is connected, what each told of itself, and its measurements over time.

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

/// The languages.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Languages {
    /// In the order of the table.
    languages: Vec<Language>,
}

/// A language.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Language {
    /// Its id.
    id: String,
    /// Its name for people.
    name: String,
    /// File name extensions, without the dot.
    extensions: Vec<String>,
    /// Some node can judge it.
    available: bool,
    /// What each node says of it, by name: tools, versions and commands, as `tauto languages --json` prints them.
    nodes: BTreeMap<String, HostLanguage>,
}

/// List languages
#[utoipa::path(get, path = "/languages", tag = "nodes", responses((status = 200, description = "Languages, and where they can be judged", body = Languages)))]
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

/// A machine that judges.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Node)]
pub(super) struct NodeView {
    /// How it stands.
    #[serde(flatten)]
    node: manage::NodeView,
    /// Its slots that are connected now.
    workers: Vec<WorkerView>,
}

/// A slot that is connected.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Worker)]
pub(super) struct WorkerView {
    /// Number of the slot on its node.
    slot: u32,
    /// Its CPUs.
    cpus: Vec<u32>,
    /// How it is kept from other work, and its memory nodes, as `tauto slots --json` prints it; unknown where there is no slot.
    plan: Reading<Slot>,
    /// The noise floor in use there.
    floor: Reading<NoiseFloor>,
    /// Version of its program.
    version: String,
    /// Since when it is connected.
    #[schema(format = DateTime)]
    since: String,
    /// It is judging now.
    busy: bool,
    /// Tasks it has finished since then.
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

/// The nodes.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Nodes {
    /// By pool and name.
    nodes: Vec<NodeView>,
}

/// List nodes
#[utoipa::path(get, path = "/nodes", tag = "nodes", responses((status = 200, description = "Every node that was ever heard of, with its slots that are connected", body = Nodes)))]
pub(super) async fn list(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<Json<Nodes>, Problem> {
    caller.must(Right::Watch)?;
    let connected = service.workers.connected();
    let nodes = manage::nodes(&service.store).await?.into_iter();
    Ok(Json(Nodes { nodes: nodes.map(|node| NodeView::new(node, &connected)).collect() }))
}

/// A node whole.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct NodeWhole {
    /// In short.
    #[serde(flatten)]
    node: NodeView,
    /// What it told of itself the last time.
    facts: NodeFacts,
}

/// A node
///
/// With what it told of itself, audit findings among it.
#[utoipa::path(get, path = "/nodes/{name}", tag = "nodes", params(("name" = String, Path, description = "Name of the node")),
    responses((status = 200, description = "The node", body = NodeWhole)))]
pub(super) async fn one(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<NodeWhole>, Problem> {
    caller.must(Right::Watch)?;
    let (_, facts) = found(service.store.node_with_facts(&name).await)?;
    let shown = manage::show_node(&service.store, &name).await?;
    let view = NodeView::new(shown, &service.workers.connected());
    Ok(Json(NodeWhole { node: view, facts }))
}

fn found<T>(node: store::Result<T>) -> Result<T, Refusal> {
    match node {
        Err(store::Error::NotFound(_)) => Err(Refusal::NotFound("a node of this name".into())),
        other => Ok(other?),
    }
}

/// Which measurements.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct WhichSamples {
    /// Made then or later (RFC 3339).
    #[param(format = DateTime)]
    since: Option<String>,
    /// How many, 100 where nothing is said.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// Measurements of a node.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Samples {
    /// Newest first.
    samples: Vec<SampleView>,
}

/// A measurement.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Measurement)]
pub(super) struct SampleView {
    /// When.
    #[schema(format = DateTime)]
    at: String,
    /// What, as `tauto index --json` prints it.
    value: Reading<Index>,
}

/// The power index of a node over time
#[utoipa::path(get, path = "/nodes/{name}/index", tag = "nodes", params(("name" = String, Path, description = "Name of the node"), WhichSamples),
    responses((status = 200, description = "Its index, newest first", body = Samples)))]
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
    let node = found(service.store.node(&name).await)?;
    let indices = work::indices(&service.store, &node.name, since.unwrap_or(Timestamp(0)), limit).await?;
    let view = |(at, value)| SampleView { at: to_rfc3339(at), value };
    Ok(Json(Samples { samples: indices.into_iter().map(view).collect() }))
}
