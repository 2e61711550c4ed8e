//! Whether a node gets work: what its workers say of it, looked at by the rules of admission.

use super::TRIES;
use super::clocks::Clock;
use super::roster::{health, policy, statement};
use crate::errors::Refusal;
use crate::service::Service;
use crate::timestamp::{now, to_rfc3339};
use crate::work::worker_messages;
use ::fleet::nats::{Greeting, Reply, Standing, WorkerId};
use ::fleet::{
    Admission, Condition, Definition, Health, Pool, PoolKind, Reason, STATEMENTS, Statement, admit, rechecks,
};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use store::{Error, Node, NodeChange, NodeState, Store};

/// A node that another pool had is taken over by the one it comes for when it was not heard of there for so long, in microseconds. Who may
/// speak for a pool could take nodes from others with their names otherwise.
const LEFT_US: i64 = 60_000_000;
/// As many as can be judged again at once.
const MOST_SUSPECTS: u32 = 20_000;

/// Sees to it that there is the pool of this machine's own workers.
pub(crate) async fn local_pool(service: &Service) -> Result<(), Refusal> {
    match service.store.pool(store::DEFAULT_POOL).await {
        Err(Error::NotFound(_)) => {}
        other => return Ok(other.map(drop)?),
    }
    let pool = Pool::new(store::DEFAULT_POOL, PoolKind::Relaxed).map_err(fault)?;
    let form = serde_json::to_value(&pool).map_err(fault)?;
    Ok(service.store.set_pool(store::DEFAULT_POOL, &form, now()).await?)
}

fn fault(error: impl ToString) -> Refusal {
    Refusal::Fault(error.to_string())
}

/// A worker says who it is and how it is: whether it gets work. The greeting arrived at `came`: a database that is away delays the answer,
/// and says nothing about the worker's clock.
pub(crate) async fn standing(
    service: &Service,
    from: &WorkerId,
    greeting: &Greeting,
    came: store::Timestamp,
) -> Result<Reply, Refusal> {
    let protocol = match fit(greeting) {
        Ok(protocol) => protocol,
        Err(why) => return refuse(service, from, &why).await,
    };
    if let Some(why) = taken(service, from).await? {
        return Ok(waits(vec![why]));
    }
    let boot = greeting.statement.as_ref().and_then(|stated| stated.boot_id.known());
    let twin = service.fleet.twin(&from.node, boot.map(String::as_str));
    let clock = service.fleet.clocks.look(&from.node, greeting.at, came);
    let Some(mut node) = heard_of(service, from, greeting).await? else {
        return Ok(waits(vec!["its machine has not stated yet what it is".into()]));
    };
    for _ in 0..TRIES {
        let pools = service.store.pools().await?;
        let kept = pools.iter().find(|pool| pool.name == from.pool);
        let pool = kept.map(|kept| serde_json::from_value(kept.form.clone())).transpose().map_err(fault)?;
        let names: Vec<&str> = pools.iter().map(|pool| pool.name.as_str()).collect();
        let look = NodeCheck {
            node: &node,
            pool: pool.as_ref(),
            pools: &names,
            twin: twin.as_deref(),
            from,
            greeting,
            clock,
            slots: service.workers.slots_of(&from.node),
            settled: settled(&service.store, &node).await?,
        };
        let Some((change, definition)) = look.look(now()) else {
            return Ok(stands(&node, pool.as_ref(), protocol));
        };
        if let (Some(definition), Some(kept), Some(pool)) = (definition, kept, pool.clone()) {
            let founded = Pool { definition: Some(definition), ..pool };
            let form = serde_json::to_value(&founded).map_err(fault)?;
            if !service.store.change_pool(kept, &form).await? {
                // Somebody else founded it, and this one is looked at by that.
                continue;
            }
        }
        let changed = service.store.change_node(&node, &change, now()).await?;
        service.fleet.changed();
        node = service.store.node(&from.node).await?;
        if changed {
            if let Some((kind, words, _)) = &change.event {
                tracing::info!(node = node.name, pool = node.pool, kind, words, "a node was looked at");
            }
            return Ok(stands(&node, pool.as_ref(), protocol));
        }
    }
    Err(Refusal::Unavailable(format!("node {}: it changes all the time", from.node)))
}

fn waits(reasons: Vec<String>) -> Reply {
    Reply::Standing(Standing::Waits { reasons })
}

fn stands(node: &Node, pool: Option<&Pool>, protocol: u32) -> Reply {
    let reasons = why_not(node);
    if !reasons.is_empty() {
        return waits(reasons);
    }
    let policy = policy(pool.map_or(PoolKind::Relaxed, |pool| pool.kind));
    let probe_every_secs = health(node).map(|health| health.next_probe_secs(policy));
    Reply::Standing(Standing::Works { probe_every_secs, protocol })
}

/// The protocol that is spoken with a worker, or why it cannot be used, with the remedy.
fn fit(greeting: &Greeting) -> Result<u32, String> {
    let spoken = worker_messages::spoken(&greeting.hello)?;
    let stated = greeting.statement.as_ref().map(|stated| STATEMENTS.read(stated.form));
    stated.transpose().map(|_| spoken)
}

/// Why a pool takes nobody in under that name: another one has the node.
async fn taken(service: &Service, from: &WorkerId) -> Result<Option<String>, Refusal> {
    let node = match service.store.node(&from.node).await {
        Ok(node) if node.pool != from.pool && now().0 - node.last_seen.0 < LEFT_US => node,
        Ok(_) | Err(Error::NotFound(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let pools = service.store.pools().await?;
    let names: Vec<&str> = pools.iter().map(|pool| pool.name.as_str()).collect();
    if !names.contains(&&*from.pool) {
        return Ok(Some(no_pool(&from.pool, &names)));
    }
    Ok(Some(format!(
        "a node {} belongs to pool {} and was heard of there just now: give this one another name, or end that one's workers first",
        from.node, node.pool
    )))
}

fn no_pool(name: &str, there: &[&str]) -> String {
    format!(
        "pool: no pool {name} (there are: {}): `tauto pool add {name} --kind strict` makes it",
        there.join(", ")
    )
}

/// Notes what was stated; the node as it is known. `None`: nobody has stated yet what it is.
async fn heard_of(service: &Service, from: &WorkerId, greeting: &Greeting) -> Result<Option<Node>, Refusal> {
    match &greeting.statement {
        Some(statement) => {
            let statement = serde_json::to_value(statement).map_err(fault)?;
            Ok(Some(service.store.state_node(&from.node, &from.pool, &statement, now()).await?))
        }
        None => match service.store.node(&from.node).await {
            Ok(node) => Ok(Some(node).filter(|node| node.pool == from.pool && statement(node).is_some())),
            Err(Error::NotFound(_)) => Ok(None),
            Err(error) => Err(error.into()),
        },
    }
}

/// Whether no verdict rests on what a drained node judged while it is doubted.
async fn settled(store: &Store, node: &Node) -> Result<bool, Error> {
    let (Some(since), NodeState::Drained) = (node.doubted_since, node.state) else { return Ok(true) };
    let end = store::Timestamp(i64::MAX);
    for (submission, job, _) in store.judged_on(&node.name, since, end, MOST_SUSPECTS).await? {
        match store.submission(submission).await {
            Ok(found) if found.current.as_ref().is_some_and(|current| current.job == job) => {
                return Ok(false);
            }
            Ok(_) | Err(Error::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Why a node waits, as it is noted.
fn noted(node: &Node) -> Vec<String> {
    let list = node.waits.clone().and_then(|list| serde_json::from_value(list).ok());
    list.unwrap_or_default()
}

/// What one look at a node is by.
struct NodeCheck<'a> {
    node: &'a Node,
    /// The pool it comes for.
    pool: Option<&'a Pool>,
    /// Names of all.
    pools: &'a [&'a str],
    twin: Option<&'a str>,
    from: &'a WorkerId,
    greeting: &'a Greeting,
    clock: Clock,
    /// Slots of it whose workers are connected, as far as is known.
    slots: Option<BTreeSet<u32>>,
    /// No verdict rests on what it judged while it was doubted.
    settled: bool,
}

/// What there is to say of a node that is as its pool is.
struct Found<'a> {
    /// What it had stated when it was admitted; `None`: it is no member.
    admitted: Option<&'a Statement>,
    stated: &'a Statement,
    /// Why it was looked at.
    why: &'a [String],
    /// It was drained by its tests, and has been looked after.
    restored: bool,
}

/// Reasons that are looked at again with each greeting, whatever admission says.
const CLOCK: &str = "its clock is ";
const SLOT: &str = "slot ";

impl NodeCheck<'_> {
    /// What is to be changed, and what the pool is like from now on where it is founded; `None`: all stays as it is.
    fn look(&self, now: store::Timestamp) -> Option<(NodeChange, Option<Definition>)> {
        let before = noted(self.node);
        let troubles = self.troubles(&before, now);
        let Some(stated) = statement(self.node) else {
            return self.waiting("statement: it cannot be read", troubles);
        };
        let Some(pool) = self.pool else {
            return self.waiting(&no_pool(&self.from.pool, self.pools), troubles);
        };
        if let Some(why) = self.twin {
            return self.waiting(&format!("node: {why}"), troubles);
        }
        let admitted: Option<Statement> =
            self.node.admitted.clone().and_then(|admitted| serde_json::from_value(admitted).ok());
        let why = rechecks(admitted.as_ref(), &stated, now);
        let restored = self.looked_after(pool, &stated);
        if admitted.is_some() && why.is_empty() && !restored {
            return self.changed(NodeChange { waits: listed(&troubles), ..NodeChange::none(self.node) });
        }
        let found = Found { admitted: admitted.as_ref(), stated: &stated, why: &why, restored };
        match admit(pool, &[], &stated) {
            Admission::Waits { reasons } => self.fails(&reasons, troubles),
            Admission::Admitted { notes } => {
                let change = self.passes(&found, &notes, now);
                Some((NodeChange { waits: listed(&troubles), ..change }, None))
            }
            Admission::Founds { definition, notes } => {
                let mut change = self.passes(&found, &notes, now);
                if let Some((_, words, _)) = &mut change.event {
                    *words = format!("{words}; pool {} is like it from now on", pool.name);
                }
                Some((NodeChange { waits: listed(&troubles), ..change }, Some(*definition)))
            }
        }
    }

    /// A change, if it is one.
    fn changed(&self, change: NodeChange) -> Option<(NodeChange, Option<Definition>)> {
        if change == NodeChange::none(self.node) {
            return None;
        }
        let event = match &change.waits {
            Some(_) => {
                ("waits", noted(&Node { waits: change.waits.clone(), ..self.node.clone() }).join("; "))
            }
            None => ("goes_on", "what kept it from working is over".to_string()),
        };
        Some((NodeChange { event: Some((event.0.into(), event.1, None)), ..change }, None))
    }

    fn waiting(&self, why: &str, troubles: Vec<String>) -> Option<(NodeChange, Option<Definition>)> {
        let reasons: Vec<String> = std::iter::once(why.to_string()).chain(troubles).collect();
        self.changed(NodeChange { waits: Some(json!(reasons)), ..NodeChange::none(self.node) })
    }

    /// It is no member any more, or not yet. Where its power is not as it was, what it judged since its tests last had nothing against it
    /// is doubted: it may have been so already.
    fn fails(&self, reasons: &[Reason], troubles: Vec<String>) -> Option<(NodeChange, Option<Definition>)> {
        let words = reasons.iter().map(|reason| format!("{}: {}", reason.about, reason.why));
        let waits = Some(json!(words.chain(troubles).collect::<Vec<_>>()));
        let slow = reasons.iter().any(|reason| reason.measure_again);
        let quiet = health(self.node).filter(|_| slow).map(|health| health.quiet_until());
        let doubted_since = match (self.node.doubted_since, quiet) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let none = NodeChange::none(self.node);
        self.changed(NodeChange { waits, admitted: None, health: None, doubted_since, ..none })
    }

    /// It is a member, again or still.
    fn passes(&self, found: &Found<'_>, notes: &[String], now: store::Timestamp) -> NodeChange {
        let Found { admitted, stated, why, restored } = *found;
        let mut change =
            NodeChange { admitted: serde_json::to_value(stated).ok(), ..NodeChange::none(self.node) };
        let mut words: Vec<String> = notes.to_vec();
        let (kind, own) = match (admitted, health(self.node)) {
            (Some(before), Some(own)) if !restored => {
                words.splice(0..0, why.iter().cloned());
                ("rechecked", if before.boot_id == stated.boot_id { own } else { own.again(now) })
            }
            _ => {
                if let Some(since) = self.node.doubted_since {
                    words.push(format!("what it judged from {} on was doubted", to_rfc3339(since)));
                }
                change.doubted_since = None;
                ("admitted", Health::new(now))
            }
        };
        if restored {
            (change.state, change.reason) = (NodeState::Active, None);
            words.insert(0, "it was measured again and meets its pool's requirements".into());
        }
        change.health = serde_json::to_value(own).ok();
        let words = if words.is_empty() { "it is as its pool is".into() } else { words.join("; ") };
        change.event = Some((kind.into(), words, None));
        change
    }

    /// It was drained by its tests, what it judged was judged again, and its index was taken in full after that, which a pool's definition can be
    /// set against. A node that a person drained is given back by one.
    fn looked_after(&self, pool: &Pool, stated: &Statement) -> bool {
        let measured = pool.definition.as_ref().is_some_and(|definition| !definition.index.is_empty());
        let fit = measured && self.settled && self.node.state == NodeState::Drained;
        let Some(health) = health(self.node).filter(|_| fit) else {
            return false;
        };
        let Condition::Suspected { findings } = health.condition(policy(pool.kind)) else { return false };
        let found = findings.iter().map(|finding| finding.found).max();
        stated.index.as_ref().map(|index| index.taken_at) > found
    }

    /// What keeps its slots from working: what others of them said that are there still, and what this one says.
    fn troubles(&self, before: &[String], now: store::Timestamp) -> Vec<String> {
        let own = format!("{SLOT}{}: ", self.from.slot);
        let of_another = |why: &&String| {
            let slot = why.strip_prefix(SLOT).and_then(|rest| rest.split_once(": ")?.0.parse::<u32>().ok());
            let there = |slot| self.slots.as_ref().is_none_or(|slots| slots.contains(&slot));
            slot.is_some_and(|slot| slot != self.from.slot && there(slot))
        };
        let others = before.iter().filter(of_another).cloned();
        let clock = match self.clock {
            Clock::Right => None,
            Clock::Wrong(away) => Some(wrong_clock(away, before, now)),
            // As it was.
            Clock::Unclear => before.iter().find(|why| why.starts_with(CLOCK)).cloned(),
        };
        let troubles = self.greeting.troubles.iter().map(|trouble| format!("{own}{trouble}"));
        clock.into_iter().chain(others).chain(troubles).collect()
    }
}

/// What is told of a clock that is away by so many microseconds. It is no news as long as it is as wrong as it was.
fn wrong_clock(away: i64, before: &[String], now: store::Timestamp) -> String {
    let (by, way) = (away.abs() / 1_000_000, if away > 0 { "ahead of" } else { "behind" });
    let wrong = |by| format!("{CLOCK}{by} s {way} the service's");
    let known = before.iter().find(|why| (by - 1..=by + 1).any(|by| why.starts_with(&wrong(by))));
    known.cloned().unwrap_or_else(|| {
        let (wrong, told) = (wrong(by), to_rfc3339(now));
        format!("{wrong}, which said {told}: set the clocks, by NTP or the like")
    })
}

fn listed(troubles: &[String]) -> Option<Json> {
    (!troubles.is_empty()).then(|| json!(troubles))
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
        let why = &model::hint::in_one_line(why);
        let waits = Some(json!([format!("{SLOT}{}: {why}", from.slot)]));
        // A node of another pool is not for this one to stop.
        if node.pool != from.pool || node.waits == waits {
            break;
        }
        let event = Some(("refused".to_string(), why.to_string(), None));
        let change = NodeChange { waits, event, ..NodeChange::none(&node) };
        if service.store.change_node(&node, &change, now()).await? {
            tracing::warn!(node = from.node, pool = from.pool, why, "a worker was refused");
            service.fleet.changed();
            break;
        }
    }
    Ok(reply)
}

/// Why a node gets no work; empty: it does.
fn why_not(node: &Node) -> Vec<String> {
    let word = match node.state {
        NodeState::Active => None,
        NodeState::Draining => Some("it is being drained"),
        NodeState::Drained => Some("it is out of service"),
    };
    let state = word.map(|word| match &node.reason {
        Some(reason) => format!("{word}: {reason}"),
        None => word.to_string(),
    });
    let unseen = (node.waits.is_some() && noted(node).is_empty())
        .then(|| "it waits for the admission check".to_string());
    state.into_iter().chain(unseen).chain(noted(node)).collect()
}

/// Why a worker may not begin anything now; empty: it may.
pub(crate) async fn stopped(service: &Service, from: &WorkerId) -> Result<Vec<String>, Refusal> {
    match service.store.node(&from.node).await {
        Ok(node) if node.pool != from.pool => Ok(vec![format!("its machine belongs to pool {}", node.pool)]),
        Ok(node) => Ok(why_not(&node)),
        Err(Error::NotFound(_)) => Ok(vec!["nothing is known of its machine: it has to say hello".into()]),
        Err(error) => Err(error.into()),
    }
}
