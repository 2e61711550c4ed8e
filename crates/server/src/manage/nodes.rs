//! Nodes: how each stands and why, and taking it out of service and back.

use super::{TRIES, node_named, reason};
use crate::errors::Refusal;
use crate::timestamp::to_rfc3339;
use ::fleet::{Condition, Health, HealthPolicy, Pool, PoolKind, Probe, Reason, Statement, compare};
use model::IndexPart;
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use store::{Node, NodeChange, NodeEvent, NodeState, Sample, Store, Timestamp};
use utoipa::ToSchema;

/// Measurements and events that are shown of a node.
const SHOWN: u32 = 200;

/// A machine that judges.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = NodeInShort)]
pub struct NodeView {
    /// Its name.
    pub name: String,
    /// The pool it belongs to.
    pub pool: String,
    /// Whether it gets work, once it is admitted.
    #[schema(value_type = crate::view::NodeStateName)]
    pub state: NodeState,
    /// Why it is in this state, where somebody said so.
    pub reason: Option<String>,
    /// Both in a word: `active` (it gets work), `waiting` (to be admitted), `draining` or `drained`.
    pub standing: &'static str,
    /// Why it is not admitted; null: it is.
    pub waits: Option<Vec<String>>,
    /// Since when what it judged is doubted.
    #[schema(format = DateTime)]
    pub doubted_since: Option<String>,
    /// How it is by its tests; null: they have not begun.
    pub health: Option<HealthView>,
    /// When it was first heard of.
    #[schema(format = DateTime)]
    pub first_seen: String,
    /// When it last told of itself.
    #[schema(format = DateTime)]
    pub last_seen: String,
}

/// How a node is by its tests.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = NodeHealth)]
pub struct HealthView {
    /// `learning`, `healthy`, `watched` or `suspected`.
    pub condition: &'static str,
    /// Probes that are missing until its power can be tested.
    pub left: Option<u32>,
    /// What speaks against it.
    pub findings: Vec<FindingView>,
    /// Its tests.
    pub tests: Vec<TestView>,
}

/// What speaks against a node.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = NodeFinding)]
pub struct FindingView {
    /// In words.
    pub reason: String,
    /// The last moment at which nothing spoke against it.
    #[schema(format = DateTime)]
    pub since: String,
    /// When it was found.
    #[schema(format = DateTime)]
    pub found: String,
}

/// A test of a node.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = NodeTest)]
pub struct TestView {
    /// What it looks at, such as `core slower`, `charges`.
    pub name: String,
    /// Its sum, as a part of what alarms: watched from 0.5 on, suspected beyond 1.
    pub share: f64,
    /// When the sum was last 0.
    #[schema(format = DateTime)]
    pub since: String,
    /// Probes, cross-checks or jobs since then.
    pub seen: u32,
}

/// Something that happened to a node.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = NodeEvent)]
pub struct EventView {
    /// When.
    #[schema(format = DateTime)]
    pub at: String,
    /// A short name, such as `admitted`, `waits`, `draining`, `returned`.
    pub kind: String,
    /// In words.
    pub text: String,
    /// Who did it, where somebody did.
    pub by: Option<String>,
}

/// A measurement of a node's power.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = IndexTaken)]
pub struct TakenView {
    /// When.
    #[schema(format = DateTime)]
    pub at: String,
    /// The moment, for who draws it.
    #[serde(skip)]
    pub moment: Timestamp,
    /// A short probe between jobs; else the whole index.
    pub probe: bool,
    /// By part, in its unit.
    pub parts: BTreeMap<IndexPart, f64>,
}

/// A job that a node is at.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = RunningJob)]
pub struct RunningView {
    /// Number of the submission.
    pub submission: i64,
    /// Number of the job.
    pub job: i64,
    /// Since when.
    #[schema(format = DateTime)]
    pub since: String,
}

/// Everything that is known of a node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeDetails {
    /// In short.
    #[serde(flatten)]
    pub node: NodeView,
    /// What it states beside what its pool asks for; empty: it has stated nothing.
    pub points: Vec<::fleet::Point>,
    /// Its power over time, newest first.
    pub index: Vec<TakenView>,
    /// What happened to it, newest first.
    pub events: Vec<EventView>,
    /// What it is at.
    pub running: Vec<RunningView>,
}

/// The numbers by which nodes of a pool are tested.
pub(super) fn policy_of(kind: PoolKind) -> HealthPolicy {
    HealthPolicy::published(kind)
}

/// Why a node waits: texts, or reasons as the rules of admission give them.
fn reasons(waits: &Json) -> Vec<String> {
    let one = |reason: &Json| match serde_json::from_value::<Reason>(reason.clone()) {
        Ok(Reason { about, why, .. }) => format!("{about}: {why}"),
        Err(_) => reason.as_str().map_or_else(|| reason.to_string(), str::to_string),
    };
    waits.as_array().into_iter().flatten().map(one).collect()
}

/// How a node stands, in a word.
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

    /// Why it gets no work; empty: it does.
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

/// One node, in short.
///
/// # Errors
/// [`Refusal::NotFound`], with the names of those there are.
pub async fn show_node(store: &Store, name: &str) -> Result<NodeView, Refusal> {
    let node = node_named(store, name).await?;
    let policies = policies(store).await?;
    let usual = policy_of(PoolKind::Relaxed);
    Ok(NodeView::new(&node, policies.get(&node.pool).map_or(&usual, |(_, policy)| policy)))
}

/// One node, whole.
///
/// # Errors
/// [`Refusal::NotFound`], with the names of those there are.
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

/// What happened to a node, newest first; at most so many.
///
/// # Errors
/// [`Refusal::NotFound`].
pub async fn events(store: &Store, name: &str, limit: u32) -> Result<Vec<EventView>, Refusal> {
    node_named(store, name).await?;
    Ok(store.node_events(name, limit).await?.into_iter().map(EventView::new).collect())
}

/// Takes a node out of service: what it is at it ends, and it gets no more.
///
/// # Errors
/// [`Refusal::NotFound`]; [`Refusal::Conflict`] where it is out of service, with since when and why; [`Refusal::Bad`] without a reason.
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

/// Puts a node back into service. One that states what it is has to pass admission first, and its tests learn its level again. Doubts about what
/// it judged end with that, so that it should have been judged again before; an event keeps them.
///
/// # Errors
/// [`Refusal::NotFound`]; [`Refusal::Conflict`] where it is in service.
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
            node.doubted_since.map(|since| format!("judgements since {} were suspect", to_rfc3339(since)));
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

/// Forgets a node that is out of service or was never admitted. When it comes again it is new.
///
/// # Errors
/// [`Refusal::NotFound`]; [`Refusal::Conflict`] where it may get work, or is at some.
pub async fn remove_node(store: &Store, name: &str) -> Result<(), Refusal> {
    let node = node_named(store, name).await?;
    if node.gets_work() {
        return Err(Refusal::Conflict(format!(
            "node {name}: is in service\nhint: drain it first: tauto node drain {name} --reason TEXT"
        )));
    }
    Ok(store.remove_node(name).await?)
}
