//! Nodes: their state, and draining and returning them.

use super::{TRIES, node_named, reason};
use crate::errors::Refusal;
use crate::timestamp::{in_words, to_rfc3339};
use ::fleet::{Condition, Health, HealthPolicy, Pool, PoolKind, Probe, Reason, Statement, compare};
use model::IndexPart;
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use store::{Node, NodeChange, NodeEvent, NodeState, Sample, Store, Timestamp};
use utoipa::ToSchema;

/// Maximum number of measurements and events in the details of a node.
const SHOWN: u32 = 200;

/// A node.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = NodeInShort)]
pub struct NodeView {
    /// Name of the node.
    pub name: String,
    /// Pool of the node.
    pub pool: String,
    /// Whether the node gets work, once it is admitted.
    #[schema(value_type = crate::view::NodeStateName)]
    pub state: NodeState,
    /// Why the node is in this state. Null if no reason was given.
    pub reason: Option<String>,
    /// State and admission in one word: `active` (gets work), `waiting` (for admission), `draining` or `drained`.
    pub standing: &'static str,
    /// Why the node is not admitted. Null if it is admitted.
    pub waits: Option<Vec<String>>,
    /// Start of the suspect period: judgements since then are suspect. Null if none are.
    #[schema(format = DateTime)]
    pub doubted_since: Option<String>,
    /// Results of the health tests. Null if they have not begun.
    pub health: Option<HealthView>,
    /// When the node was first heard of.
    #[schema(format = DateTime)]
    pub first_seen: String,
    /// When the node last reported.
    #[schema(format = DateTime)]
    pub last_seen: String,
}

/// Health of a node, as its tests show it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = NodeHealth)]
pub struct HealthView {
    /// Condition: `learning`, `healthy`, `watched` or `suspected`.
    pub condition: &'static str,
    /// Number of probes that the baseline still needs. Null unless the condition is `learning`.
    pub left: Option<u32>,
    /// Alarms of the tests.
    pub findings: Vec<FindingView>,
    /// State of each test.
    pub tests: Vec<TestView>,
}

/// An alarm of a health test.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = NodeFinding)]
pub struct FindingView {
    /// Reason, in words.
    pub reason: String,
    /// When the node was last free of suspicion.
    #[schema(format = DateTime)]
    pub since: String,
    /// When the alarm was raised.
    #[schema(format = DateTime)]
    pub found: String,
}

/// A health test of a node.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = NodeTest)]
pub struct TestView {
    /// Name of the test, such as `core slower` or `charges`.
    pub name: String,
    /// Sum of the test as a fraction of its alarm threshold. From 0.5 on the node is watched, above 1 it is suspect.
    pub share: f64,
    /// When the sum was last 0.
    #[schema(format = DateTime)]
    pub since: String,
    /// Probes, cross-checks or jobs since then.
    pub seen: u32,
}

/// An event of a node.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = NodeEvent)]
pub struct EventView {
    /// When it happened.
    #[schema(format = DateTime)]
    pub at: String,
    /// Kind of event, such as `admitted`, `waits`, `drained` or `returned`.
    pub kind: String,
    /// Description, in words.
    pub text: String,
    /// Who caused it. Null if the service did.
    pub by: Option<String>,
}

/// A measurement of a node's power.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = IndexTaken)]
pub struct TakenView {
    /// When it was measured.
    #[schema(format = DateTime)]
    pub at: String,
    /// The same, as a number for charts.
    #[serde(skip)]
    pub moment: Timestamp,
    /// Whether this is a short probe between jobs instead of a whole index.
    pub probe: bool,
    /// Value of each part, in its unit.
    pub parts: BTreeMap<IndexPart, f64>,
}

/// A job that a node is running.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = RunningJob)]
pub struct RunningView {
    /// Number of the submission.
    pub submission: i64,
    /// Number of the job.
    pub job: i64,
    /// When the node began the job.
    #[schema(format = DateTime)]
    pub since: String,
}

/// Everything that is known about a node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeDetails {
    /// State of the node.
    #[serde(flatten)]
    pub node: NodeView,
    /// Reported features, compared with the requirements of the pool. Empty if none were reported.
    pub points: Vec<::fleet::Point>,
    /// Measurements of the power index, newest first.
    pub index: Vec<TakenView>,
    /// Events, newest first.
    pub events: Vec<EventView>,
    /// Running jobs.
    pub running: Vec<RunningView>,
}

/// The thresholds of the health tests in a pool.
pub(super) fn policy_of(kind: PoolKind) -> HealthPolicy {
    HealthPolicy::published(kind)
}

/// Why a node waits, from texts or from reasons of the admission rules.
fn reasons(waits: &Json) -> Vec<String> {
    let one = |reason: &Json| match serde_json::from_value::<Reason>(reason.clone()) {
        Ok(Reason { about, why, .. }) => format!("{about}: {why}"),
        Err(_) => reason.as_str().map_or_else(|| reason.to_string(), str::to_string),
    };
    waits.as_array().into_iter().flatten().map(one).collect()
}

/// State and admission of a node in one word.
pub(crate) fn standing(node: &Node) -> &'static str {
    match node.state {
        NodeState::Draining => "draining",
        NodeState::Drained => "drained",
        NodeState::Active if node.waits.is_some() => "waiting",
        NodeState::Active => "active",
    }
}

impl NodeView {
    pub(crate) fn new(node: &Node, policy: &HealthPolicy) -> NodeView {
        NodeView {
            name: node.name.clone(),
            pool: node.pool.clone(),
            state: node.state,
            reason: node.reason.clone(),
            standing: standing(node),
            waits: node.waits.as_ref().map(reasons),
            doubted_since: node.doubted_since.map(to_rfc3339),
            health: node.health.as_ref().and_then(|health| HealthView::new(health, policy)),
            first_seen: to_rfc3339(node.first_seen),
            last_seen: to_rfc3339(node.last_seen),
        }
    }

    /// Why the node gets no work; empty if it does.
    pub fn reasons(&self) -> Vec<String> {
        let out = matches!(self.state, NodeState::Draining | NodeState::Drained);
        let own = self.reason.iter().filter(|_| out).cloned();
        let waits = self.waits.iter().map(|waits| match waits.is_empty() {
            true => vec!["it waits for the admission check".to_string()],
            false => waits.clone(),
        });
        own.chain(waits.flatten()).collect()
    }
}

impl HealthView {
    fn new(stored: &Json, policy: &HealthPolicy) -> Option<HealthView> {
        let health: Health = serde_json::from_value(stored.clone()).ok()?;
        let (condition, left, findings) = match health.condition(policy) {
            Condition::Learning { left } => ("learning", Some(left), Vec::new()),
            Condition::Healthy => ("healthy", None, Vec::new()),
            Condition::Watched => ("watched", None, Vec::new()),
            Condition::Suspected { findings } => ("suspected", None, findings),
        };
        let finding = |found: ::fleet::Finding| FindingView {
            reason: found.reason,
            since: to_rfc3339(found.since),
            found: to_rfc3339(found.found),
        };
        let test = |chart: ::fleet::ChartState| TestView {
            name: chart.name(),
            share: chart.share,
            since: to_rfc3339(chart.since),
            seen: chart.seen,
        };
        let tests = health.charts(policy).into_iter().map(test).collect();
        Some(HealthView { condition, left, findings: findings.into_iter().map(finding).collect(), tests })
    }
}

impl EventView {
    fn new(event: NodeEvent) -> EventView {
        EventView { at: to_rfc3339(event.at), kind: event.kind, text: event.text, by: event.by }
    }
}

impl TakenView {
    /// From a sample: an index as `tauto index --json` prints it, or a probe.
    fn new(sample: &Sample, probe: bool) -> Option<TakenView> {
        let parts: BTreeMap<IndexPart, f64> = match probe {
            true => serde_json::from_value::<Probe>(sample.value.clone()).ok()?.parts.into_iter().collect(),
            false => {
                let value = |part: IndexPart| match part {
                    IndexPart::Rounds => sample.value["rounds_per_second"]["value"].as_f64(),
                    part => sample.value["parts"][part.name()]["value"].as_f64(),
                };
                IndexPart::ALL.into_iter().filter_map(|part| Some((part, value(part)?))).collect()
            }
        };
        let taken = TakenView { at: to_rfc3339(sample.at), moment: sample.at, probe, parts };
        (!taken.parts.is_empty()).then_some(taken)
    }
}

async fn policies(store: &Store) -> Result<BTreeMap<String, (Pool, HealthPolicy)>, Refusal> {
    let known = |pool: &store::Pool| {
        let form = super::pools::form(pool)?;
        let policy = policy_of(form.kind);
        Ok((pool.name.clone(), (form, policy)))
    };
    store.pools().await?.iter().map(known).collect()
}

/// All nodes, by pool and name.
///
/// # Errors
/// Those of the store.
pub async fn nodes(store: &Store) -> Result<Vec<NodeView>, Refusal> {
    let policies = policies(store).await?;
    let usual = policy_of(PoolKind::Relaxed);
    let view =
        |node: &Node| NodeView::new(node, policies.get(&node.pool).map_or(&usual, |(_, policy)| policy));
    Ok(store.nodes().await?.iter().map(view).collect())
}

/// A node, in short.
///
/// # Errors
/// [`Refusal::NotFound`], with the names of the existing nodes.
pub async fn show_node(store: &Store, name: &str) -> Result<NodeView, Refusal> {
    let node = node_named(store, name).await?;
    let policies = policies(store).await?;
    let usual = policy_of(PoolKind::Relaxed);
    Ok(NodeView::new(&node, policies.get(&node.pool).map_or(&usual, |(_, policy)| policy)))
}

/// A node with all details.
///
/// # Errors
/// [`Refusal::NotFound`], with the names of the existing nodes.
pub async fn details(store: &Store, name: &str) -> Result<NodeDetails, Refusal> {
    let stored = node_named(store, name).await?;
    let policies = policies(store).await?;
    let pool = policies.get(&stored.pool).map(|(pool, _)| pool);
    let statement: Option<Statement> =
        stored.statement.clone().and_then(|statement| serde_json::from_value(statement).ok());
    let definition = pool.and_then(|pool| pool.definition.as_ref());
    let points = statement.map_or(Vec::new(), |statement| compare(definition, &statement));
    let mut index = Vec::new();
    for (kind, probe) in [("index", false), ("probe", true)] {
        let samples = store.samples(name, kind, Timestamp(0), SHOWN).await?;
        index.extend(samples.iter().filter_map(|sample| TakenView::new(sample, probe)));
    }
    index.sort_by_key(|taken| std::cmp::Reverse(taken.moment));
    index.truncate(SHOWN as usize);
    let running = store.running_on(name).await?.into_iter();
    let running = running.map(|(submission, job, since)| RunningView {
        submission: submission.0,
        job: job.0,
        since: to_rfc3339(since),
    });
    Ok(NodeDetails {
        node: show_node(store, name).await?,
        points,
        index,
        events: events(store, name, SHOWN).await?,
        running: running.collect(),
    })
}

/// Events of a node, newest first; at most `limit`.
///
/// # Errors
/// [`Refusal::NotFound`].
pub async fn events(store: &Store, name: &str, limit: u32) -> Result<Vec<EventView>, Refusal> {
    node_named(store, name).await?;
    Ok(store.node_events(name, limit).await?.into_iter().map(EventView::new).collect())
}

/// Drains a node: it finishes its running jobs and gets no new ones.
///
/// # Errors
/// [`Refusal::NotFound`]; [`Refusal::Conflict`] if it is already out of service, with the time and reason;
/// [`Refusal::Bad`] without a reason.
pub async fn drain(
    store: &Store,
    name: &str,
    why: &str,
    by: &str,
    now: Timestamp,
) -> Result<NodeView, Refusal> {
    let why = reason(why)?;
    if why.is_empty() {
        return Err(Refusal::Bad("reason: is required, for others who find the node drained".into()));
    }
    for _ in 0..TRIES {
        let node = node_named(store, name).await?;
        if node.state != NodeState::Active {
            return Err(already_out(store, &node).await?);
        }
        let idle = store.running_on(name).await?.is_empty();
        let change = NodeChange {
            state: if idle { NodeState::Drained } else { NodeState::Draining },
            reason: Some(why.clone()),
            event: Some(("drained".into(), why.clone(), Some(by.into()))),
            ..NodeChange::none(&node)
        };
        if store.change_node(&node, &change, now).await? {
            return show_node(store, name).await;
        }
    }
    Err(changes(name))
}

fn changes(name: &str) -> Refusal {
    Refusal::Unavailable(format!("node {name} keeps changing"))
}

async fn already_out(store: &Store, node: &Node) -> Result<Refusal, Refusal> {
    let events = store.node_events(&node.name, SHOWN).await?;
    let event = events.iter().find(|event| ["drained", "suspected"].contains(&&*event.kind));
    let since = event.map_or(String::new(), |event| {
        let by = event.by.as_ref().map_or(String::new(), |by| format!(" by {by}"));
        format!(" since {}{by}", to_rfc3339(event.at))
    });
    let why = node.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    Ok(Refusal::Conflict(format!("node {}: {}{since}{why}", node.name, standing(node))))
}

/// Returns a node to service. A node that reports its features must pass admission first, and its tests learn a new
/// baseline. Its judgements are no longer suspect, so they should be rejudged before; an event records the suspicion.
///
/// # Errors
/// [`Refusal::NotFound`]; [`Refusal::Conflict`] if it is in service.
pub async fn return_node(
    store: &Store,
    name: &str,
    why: &str,
    by: &str,
    now: Timestamp,
) -> Result<NodeView, Refusal> {
    let why = reason(why)?;
    for _ in 0..TRIES {
        let node = node_named(store, name).await?;
        if node.state == NodeState::Active {
            let waits = node.waits.as_ref().map(reasons).filter(|waits| !waits.is_empty());
            let waits = waits
                .map_or(String::new(), |waits| format!("; it waits for admission: {}", waits.join("; ")));
            return Err(Refusal::Conflict(format!("node {name}: is not drained{waits}")));
        }
        let doubts =
            node.doubted_since.map(|since| format!("judgements since {} were suspect", in_words(since)));
        let words: Vec<String> =
            [Some(why.clone()).filter(|why| !why.is_empty()), doubts].into_iter().flatten().collect();
        let change = NodeChange {
            state: NodeState::Active,
            reason: None,
            waits: node.statement.as_ref().map(|_| json!([])),
            admitted: None,
            health: None,
            doubted_since: None,
            event: Some(("returned".into(), words.join("; "), Some(by.into()))),
        };
        if store.change_node(&node, &change, now).await? {
            return show_node(store, name).await;
        }
    }
    Err(changes(name))
}

/// Deletes a node that is out of service or waits for admission. If it connects again, it is a new node.
///
/// # Errors
/// [`Refusal::NotFound`]; [`Refusal::Conflict`] if it is in service or runs a job.
pub async fn remove_node(store: &Store, name: &str) -> Result<(), Refusal> {
    let node = node_named(store, name).await?;
    if node.gets_work() {
        return Err(Refusal::Conflict(format!(
            "node {name}: is in service\nhint: drain it first: tauto node drain {name} --reason TEXT"
        )));
    }
    Ok(store.remove_node(name).await?)
}
