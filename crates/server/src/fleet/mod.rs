//! Nodes of a fleet: whether each gets work.

use crate::errors::Refusal;
use crate::moment::{self, now};
use crate::service::Service;
use ::fleet::nats::{Greeting, Reply, Standing, WorkerId};
use ::fleet::{PROTOCOL, Pool, PoolKind, Probe};
use serde_json::{Value as Json, json};
use store::{Error, Node, NodeChange, NodeState, Sample};

/// How far a node's clock may be from the service's, in microseconds: samples and probes are put in order by it.
const CLOCKS_US: i64 = 5_000_000;
/// A node that another pool had is taken over by the one it comes for when it was not heard of there for so long, in microseconds. Who may
/// speak for a pool could take nodes from others with their names otherwise.
const LEFT_US: i64 = 60_000_000;
/// A node changes while it is looked at; it is looked at again so often.
const TRIES: u32 = 5;

/// Sees to it that there is the pool of this machine's own workers.
pub(crate) async fn local_pool(service: &Service) -> Result<(), Refusal> {
    let name = crate::work::LOCAL_POOL;
    match service.store.pool(name).await {
        Err(Error::NotFound(_)) => {}
        other => return Ok(other.map(drop)?),
    }
    let pool = Pool::new(name, PoolKind::Relaxed).map_err(|e| Refusal::Fault(e.to_string()))?;
    let form = serde_json::to_value(&pool).map_err(|e| Refusal::Fault(e.to_string()))?;
    Ok(service.store.set_pool(name, &form, now()).await?)
}

/// A worker says who it is and how it is: whether it gets work.
pub(crate) async fn standing(
    service: &Service,
    from: &WorkerId,
    greeting: &Greeting,
) -> Result<Reply, Refusal> {
    if greeting.hello.protocol != PROTOCOL {
        let why = format!(
            "this service speaks version {PROTOCOL} with workers, and the worker of {} (tauto {}) version {}; install the same tauto on both",
            from.node, greeting.hello.version, greeting.hello.protocol
        );
        return refuse(service, from, &why).await;
    }
    if let Err(why) = known_pool(service, from).await? {
        return waits(vec![why]);
    }
    for _ in 0..TRIES {
        let Some(node) = heard_of(service, from, greeting).await? else {
            return waits(vec!["its machine has not stated yet what it is".into()]);
        };
        let before = reasons(&node);
        let there = |slot: &str| service.workers.is_connected(&format!("{}/{slot}", from.node));
        let now_waits = still(&before, from, greeting, there);
        let waits_for = (!now_waits.is_empty()).then(|| json!(now_waits));
        if waits_for == node.waits || change(service, &node, waits_for).await? {
            return stands(&node, now_waits);
        }
    }
    Err(Refusal::Unavailable(format!("node {} changes all the time", from.node)))
}

fn waits(reasons: Vec<String>) -> Result<Reply, Refusal> {
    Ok(Reply::Standing(Standing::Waits { reasons }))
}

fn stands(node: &Node, mut reasons: Vec<String>) -> Result<Reply, Refusal> {
    reasons.extend(out_of_service(node));
    match reasons.is_empty() {
        true => Ok(Reply::Standing(Standing::Works { probe_every_secs: None })),
        false => waits(reasons),
    }
}

/// Why a pool takes nobody in under that name, if so: it is not there, or another pool has the node.
async fn known_pool(service: &Service, from: &WorkerId) -> Result<Result<(), String>, Refusal> {
    if let Err(error) = service.store.pool(&from.pool).await {
        return match error {
            Error::NotFound(_) => Ok(Err(format!("there is no pool {}; see `tauto pool --help`", from.pool))),
            error => Err(error.into()),
        };
    }
    match service.store.node(&from.node).await {
        Ok(node) if node.pool != from.pool && now().0 - node.last_seen.0 < LEFT_US => Ok(Err(format!(
            "a node {} belongs to pool {} and was heard of there just now; give this one another name, or end that one's workers first",
            from.node, node.pool
        ))),
        Ok(_) | Err(Error::NotFound(_)) => Ok(Ok(())),
        Err(error) => Err(error.into()),
    }
}

/// Notes what was stated; the node as it is known. `None`: nobody has stated yet what it is.
async fn heard_of(service: &Service, from: &WorkerId, greeting: &Greeting) -> Result<Option<Node>, Refusal> {
    let stated = match &greeting.statement {
        Some(statement) => {
            let statement = serde_json::to_value(statement).map_err(|e| Refusal::Fault(e.to_string()))?;
            Some(service.store.state_node(&from.node, &from.pool, &statement, now()).await?)
        }
        None => match service.store.node(&from.node).await {
            Ok(node) => Some(node).filter(|node| node.pool == from.pool && node.statement.is_some()),
            Err(Error::NotFound(_)) => None,
            Err(error) => return Err(error.into()),
        },
    };
    Ok(stated)
}

/// Why a node waits, as it is noted.
fn reasons(node: &Node) -> Vec<String> {
    let list = node.waits.clone().and_then(|list| serde_json::from_value(list).ok());
    list.unwrap_or_default()
}

/// Why a node waits from now on: what others of its slots that are `there` said, and what this one says.
fn still(
    before: &[String],
    from: &WorkerId,
    greeting: &Greeting,
    there: impl Fn(&str) -> bool,
) -> Vec<String> {
    let own = format!("slot {}: ", from.slot);
    let slot = |why: &str| Some(why.strip_prefix("slot ")?.split_once(": ")?.0.to_string());
    let others = before.iter().filter(|why| !why.starts_with(&own));
    let others = others.filter(|why| slot(why).is_some_and(|slot| there(&slot))).cloned();
    let away = greeting.at.0.saturating_sub(now().0);
    let clock = (away.abs() > CLOCKS_US).then(|| {
        let (by, now) = (away.abs() / 1_000_000, moment::written(now()));
        let way = if away > 0 { "ahead of" } else { "behind" };
        format!(
            "its clock is {by} s {way} the service's, which says {now}: set the clocks, by NTP or the like"
        )
    });
    let troubles = greeting.troubles.iter().map(|trouble| format!("{own}{trouble}"));
    others.chain(clock).chain(troubles).collect()
}

/// Notes why a node waits, or that it does not; false: somebody else changed it.
async fn change(service: &Service, node: &Node, waits: Option<Json>) -> Result<bool, Refusal> {
    let event = match &waits {
        Some(list) => {
            let list: Vec<String> = serde_json::from_value(list.clone()).unwrap_or_default();
            ("waits".to_string(), list.join("; "), None)
        }
        None => ("admitted".to_string(), "it gets work".to_string(), None),
    };
    tracing::info!(node = node.name, stands = event.1, "a node was looked at");
    let admitted = if waits.is_none() { node.statement.clone() } else { node.admitted.clone() };
    let change = NodeChange { waits, admitted, event: Some(event), ..NodeChange::none(node) };
    Ok(service.store.change_node(node, &change, now()).await?)
}

/// A worker cannot be used; that is noted where its node is shown.
pub(crate) async fn refuse(service: &Service, from: &WorkerId, why: &str) -> Result<Reply, Refusal> {
    let reply = Reply::Refused { why: why.to_string() };
    for _ in 0..TRIES {
        let node = match service.store.node(&from.node).await {
            Ok(node) => node,
            Err(Error::NotFound(_)) => {
                service.store.state_node(&from.node, &from.pool, &Json::Null, now()).await?
            }
            Err(error) => return Err(error.into()),
        };
        let said = format!("slot {}: {why}", from.slot);
        let waits = Some(json!([said]));
        // A node of another pool is not for this one to stop.
        if node.pool != from.pool || node.waits == waits || change(service, &node, waits).await? {
            break;
        }
    }
    Ok(reply)
}

/// Why a node that is admitted gets no work, if so.
fn out_of_service(node: &Node) -> Option<String> {
    let word = match node.state {
        NodeState::Active => return None,
        NodeState::Draining => "it is being drained",
        NodeState::Drained => "it is out of service",
    };
    Some(node.reason.as_ref().map_or(word.to_string(), |reason| format!("{word}: {reason}")))
}

/// Why a worker may not begin anything now; empty: it may.
pub(crate) async fn stopped(service: &Service, from: &WorkerId) -> Result<Vec<String>, Refusal> {
    let node = match service.store.node(&from.node).await {
        Ok(node) => node,
        Err(Error::NotFound(_)) => {
            return Ok(vec!["nothing is known of its machine; it has to say hello".into()]);
        }
        Err(error) => return Err(error.into()),
    };
    if node.pool != from.pool {
        return Ok(vec![format!("its machine belongs to pool {}", node.pool)]);
    }
    let mut why: Vec<String> = out_of_service(&node).into_iter().collect();
    match node.waits.is_some() {
        true if reasons(&node).is_empty() => why.push("it waits to be looked at".into()),
        true => why.extend(reasons(&node)),
        false => {}
    }
    Ok(why)
}

/// A node's index was probed.
pub(crate) async fn probed(service: &Service, from: &WorkerId, probe: &Probe) -> Result<(), Refusal> {
    let value = serde_json::to_value(probe).map_err(|e| Refusal::Fault(e.to_string()))?;
    match service.store.add_sample(&from.node, "probe", &Sample { at: now(), value }).await {
        // It has to say hello first.
        Err(Error::NotFound(_)) => Ok(()),
        other => Ok(other?),
    }
}
