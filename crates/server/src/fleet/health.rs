//! What is seen of a node, told to its tests; and what follows when one of them alarms.

use super::TRIES;
use super::roster::{Quiet, Roster, health, policy};
use crate::errors::Refusal;
use crate::service::Service;
use crate::timestamp::now;
use ::fleet::nats::WorkerId;
use ::fleet::{Health, HealthPolicy, Probe};
use store::{Error, Node, NodeChange, NodeState, Sample, Timestamp};

/// A node's index was probed between two jobs. It is timed by the service's clock, which puts it in order with jobs.
pub(crate) async fn probed(service: &Service, from: &WorkerId, probe: &Probe) -> Result<(), Refusal> {
    let probe = Probe { at: now(), ..probe.clone() };
    let value = serde_json::to_value(&probe).map_err(|e| Refusal::Fault(e.to_string()))?;
    match service.store.add_sample(&from.node, "probe", &Sample { at: now(), value }).await {
        // It has to say hello first.
        Err(Error::NotFound(_)) => return Ok(()),
        other => other?,
    }
    Ok(tell(service, &from.node, HealthNote::default(), |health, policy| health.probe(policy, probe.clone()))
        .await?)
}

/// It ended a job that it began then. `disturbed`: what the evidence of its slowest test names as a disturbance; `None`: nobody can tell.
pub(super) async fn judged(
    service: &Service,
    node: &str,
    began: Timestamp,
    disturbed: Option<&[&str]>,
) -> Result<(), Error> {
    match disturbed {
        None => Ok(()),
        Some([]) => {
            service.fleet.count_quiet(node, |quiet| quiet.judged += 1);
            Ok(())
        }
        Some(by) => {
            let by = format!("the last job by: {}", by.join(", ").replace('_', " "));
            let told = HealthNote { by: Some(&by), ..HealthNote::default() };
            tell(service, node, told, |health, policy| {
                health.quiet_jobs_until(began);
                health.judged(policy, now(), true);
            })
            .await
        }
    }
}

/// A job of it was cross-checked; `charge`: why it was charged, if it was.
pub(super) async fn checked(
    service: &Service,
    node: &str,
    began: Timestamp,
    charge: Option<&str>,
) -> Result<(), Error> {
    let Some(charge) = charge else {
        service.fleet.count_quiet(node, |quiet| quiet.checked += 1);
        return Ok(());
    };
    let told = HealthNote { event: Some(("charged", charge)), by: None };
    tell(service, node, told, |health, policy| {
        health.quiet_jobs_until(began);
        health.checked(policy, now(), true);
    })
    .await
}

/// Tells the tests of nodes that are watched what had nothing against them, so that they end being watched.
pub(super) async fn tell_quiet(service: &Service) -> Result<(), Error> {
    let roster = service.fleet.roster(&service.store).await?;
    for known in roster.nodes.values() {
        let name = &known.node.name;
        let watched = || {
            let policy = policy(roster.kind(&known.node.pool));
            known.health.as_ref().is_some_and(|health| health.is_watched(policy))
        };
        if service.fleet.quiet(name) != Quiet::default() && watched() {
            tell(service, name, HealthNote::default(), |_, _| {}).await?;
        }
    }
    Ok(())
}

/// What is written down beside what tests come to.
#[derive(Clone, Copy, Default)]
struct HealthNote<'a> {
    /// What happened, whatever comes of it: kind and words.
    event: Option<(&'a str, &'a str)>,
    /// What an alarm came by, in words.
    by: Option<&'a str>,
}

/// Tells a node's tests something, and what had nothing against it since. Nodes that are not admitted by what they stated are not tested, such
/// as the only machine of a service.
async fn tell(
    service: &Service,
    name: &str,
    told: HealthNote<'_>,
    what: impl Fn(&mut Health, &HealthPolicy),
) -> Result<(), Error> {
    for _ in 0..TRIES {
        let node = match service.store.node(name).await {
            Err(Error::NotFound(_)) => return Ok(()),
            other => other?,
        };
        let Some(mut health) = health(&node) else { return Ok(()) };
        let roster = service.fleet.roster(&service.store).await?;
        let policy = policy(roster.kind(&node.pool));
        let (quiet, at) = (service.fleet.quiet(name), now());
        (0..quiet.judged).for_each(|_| health.judged(policy, at, false));
        (0..quiet.checked).for_each(|_| health.checked(policy, at, false));
        what(&mut health, policy);
        let change = changed(&roster, &node, &health, policy, told);
        if service.store.change_node(&node, &change, now()).await? {
            service.fleet.told(name, quiet);
            service.fleet.changed();
            if let Some((kind, words, _)) = &change.event {
                tracing::warn!(node = name, kind, words, "findings against a node");
            }
            return Ok(());
        }
    }
    // Others tell it all the time: this one is lost among many.
    tracing::warn!(node = name, "its tests did not get a job");
    Ok(())
}

/// What becomes of a node by what its tests have come to.
fn changed(
    roster: &Roster,
    node: &Node,
    found: &Health,
    policy: &HealthPolicy,
    told: HealthNote<'_>,
) -> NodeChange {
    let mut change = NodeChange::none(node);
    let by = told.by;
    let mut told = told.event.map(|(kind, words)| (kind.to_string(), words.to_string(), None));
    if let ::fleet::Condition::Suspected { findings } = found.condition(policy) {
        let words: Vec<&str> = findings.iter().map(|finding| finding.reason.as_str()).chain(by).collect();
        let words = words.join("; ");
        change.doubted_since = found.doubted_since();
        let news = health(node).is_none_or(|before| !before.is_suspected());
        if node.state == NodeState::Active && roster.may_go(node) {
            change.state = NodeState::Draining;
            change.reason = Some(words.clone());
            told = Some(("suspected".into(), words, None));
        } else if news {
            let left = "not drained, since less than half of the pool would be left: look at the pool";
            let words = if node.state == NodeState::Active { format!("{words}; {left}") } else { words };
            told = Some(("suspected".into(), words, None));
        }
    }
    change.health = serde_json::to_value(found).ok();
    change.event = told;
    change
}
