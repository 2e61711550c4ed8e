//! The machines that judge: their slots, what an audit found, how powerful they were over time.

use super::filters;
use super::{Frame, Refused, show, words};
use crate::accounts::Right;
use crate::errors::Refusal;
use crate::service::Service;
use crate::work::{Worker, indices};
use askama::Template;
use axum::extract::State;
use axum::response::Response;
use model::{Audit, Finding, FindingState, HostLanguage, Index, Isolation, NodeFacts, NoiseFloor, Reading};
use std::sync::Arc;
use store::{Node, NodeState, SubmissionId, Timestamp};

/// Measurements of a node that are shown.
const HISTORY: u32 = 20;

/// A slot.
struct SlotShown {
    id: u32,
    cpus: String,
    isolation: &'static str,
    good: bool,
    mem_nodes: String,
    idle: String,
    floor: String,
    measured: bool,
    judging: Option<SubmissionId>,
    finished: u64,
    since: Timestamp,
    version: String,
}

/// An index that was taken.
struct Taken {
    at: Timestamp,
    value: String,
    interval: String,
}

/// A machine.
struct Host {
    name: String,
    node: Option<Node>,
    slots: Vec<SlotShown>,
    audit: Reading<Audit>,
    index: Vec<Taken>,
    languages: Vec<(String, String)>,
}

impl Host {
    fn state(&self) -> (&'static str, &'static str) {
        match self.node.as_ref().map(|node| node.state) {
            _ if self.slots.is_empty() => ("bad", "not connected"),
            Some(NodeState::Draining) => ("mark", "draining"),
            Some(NodeState::Drained) => ("bad", "out of service"),
            Some(NodeState::Active) if self.node.as_ref().is_some_and(|node| node.waits.is_some()) => {
                ("mark", "waiting for admission")
            }
            Some(NodeState::Active) | None => ("good", "in service"),
        }
    }

    /// It is connected, or has reported something.
    fn is_known(&self) -> bool {
        !self.slots.is_empty() || self.audit.known().is_some() || !self.index.is_empty()
    }

    fn in_state(&self, state: FindingState) -> Vec<&Finding> {
        let findings = self.audit.known().into_iter().flat_map(|audit| &audit.findings);
        findings.filter(|finding| finding.state == state).collect()
    }

    fn bad(&self) -> Vec<&Finding> {
        self.in_state(FindingState::Bad)
    }

    fn unknown(&self) -> Vec<&Finding> {
        self.in_state(FindingState::Unknown)
    }

    fn well(&self) -> usize {
        self.in_state(FindingState::Ok).len()
    }

    fn cpu(&self) -> String {
        let model = self.audit.known().and_then(|audit| audit.machine.cpu_model.known());
        model.cloned().unwrap_or_default()
    }

    fn severity(&self, finding: &Finding) -> String {
        serde_json::to_value(finding.severity)
            .ok()
            .and_then(|word| Some(word.as_str()?.to_string()))
            .unwrap_or_default()
    }
}

#[derive(Template)]
#[template(path = "hosts.html")]
struct HostsPage {
    frame: Frame,
    hosts: Vec<Host>,
    waiting: u64,
    sees_audit: bool,
}

/// `GET /hosts`.
pub(super) async fn page(State(service): State<Arc<Service>>, frame: Frame) -> Result<Response, Refused> {
    frame.caller.must(Right::View)?;
    // What is wrong with a machine is for those who run it; without accounts that is whoever is at it.
    let sees_audit = frame.caller.may(Right::Watch);
    let mut nodes = service.store.nodes_with_facts().await?;
    let workers = service.workers.connected();
    let mut names: Vec<String> = nodes.iter().map(|(node, _)| node.name.clone()).collect();
    names.extend(workers.iter().map(|worker| worker.node.clone()));
    names.sort();
    names.dedup();
    let mut hosts = Vec::new();
    for name in names {
        let at = nodes.iter().position(|(node, _)| node.name == name);
        let node = at.map(|at| nodes.swap_remove(at));
        hosts.push(host(&service, name, node, &workers, sees_audit).await?);
    }
    let counts = service.store.counts().await?;
    let waiting = counts.live + counts.background;
    Ok(show(&HostsPage { frame, hosts, waiting, sees_audit }))
}

async fn host(
    service: &Service,
    name: String,
    node: Option<(Node, NodeFacts)>,
    workers: &[Worker],
    sees_audit: bool,
) -> Result<Host, Refusal> {
    let (node, facts) =
        node.map_or_else(|| (None, NodeFacts::unknown("not reported")), |(node, facts)| (Some(node), facts));
    let languages = languages(&facts);
    let audit = if sees_audit { facts.audit } else { Reading::unknown("visible to the jury only") };
    let indices = indices(&service.store, &name, Timestamp(0), HISTORY).await?;
    let index = indices.into_iter().filter_map(|(at, index)| {
        let (value, interval) = rounds(index.known()?)?;
        Some(Taken { at, value, interval })
    });
    let slots = workers.iter().filter(|worker| worker.node == name).map(slot).collect();
    Ok(Host { index: index.collect(), slots, audit, languages, node, name })
}

fn slot(worker: &Worker) -> SlotShown {
    let (plan, floor) = (worker.slot.plan.known(), worker.slot.floor.known());
    let (isolation, good) = match plan.map(|plan| plan.isolation) {
        Some(Isolation::Vm) => ("virtual machine", true),
        Some(Isolation::Partition) => ("partition", true),
        Some(Isolation::Cpuset) => ("cpuset", true),
        Some(Isolation::Affinity) => ("affinity", false),
        Some(Isolation::None) | None => ("none", false),
    };
    let list = |numbers: Option<&Vec<u32>>| numbers.map(|numbers| words::list(numbers)).unwrap_or_default();
    let percent = |part: f64| format!("{:.1} %", part * 100.0);
    let spread = floor.map(NoiseFloor::spread);
    SlotShown {
        id: worker.slot.id,
        cpus: words::list(&worker.slot.cpus),
        isolation,
        good,
        mem_nodes: list(plan.map(|plan| &plan.mem_nodes)),
        idle: list(plan.map(|plan| &plan.idle_siblings)),
        floor: spread.map_or("unknown".into(), |spread| {
            format!("{} + {}", percent(spread.median_excess), percent(spread.tail_scale))
        }),
        measured: floor.is_some_and(|floor| !floor.assumed),
        judging: worker.judging,
        finished: worker.finished,
        since: worker.since,
        version: worker.version.clone(),
    }
}

/// Languages that can be judged there, with the versions of their tools.
fn languages(facts: &NodeFacts) -> Vec<(String, String)> {
    let usable = facts.languages().iter().filter(|language| language.available);
    let tools = |language: &HostLanguage| {
        let versions = language.tools.iter().filter_map(|tool| tool.version.known());
        versions.map(String::as_str).collect::<Vec<_>>().join("; ")
    };
    usable.map(|language| (language.name.clone(), tools(language))).collect()
}

/// The rounds per second of an index, and their interval.
fn rounds(index: &Index) -> Option<(String, String)> {
    let rounds = index.rounds_per_second.known()?;
    let [low, high] = rounds.ci95.known()?;
    Some((format!("{:.2}", rounds.value), format!("{low:.2} … {high:.2}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nodes_tell_is_read() {
        let facts = include_str!("../../../store/tests/forms/facts-1.json");
        let mut facts: NodeFacts = serde_json::from_str(facts).unwrap();
        let told = languages(&facts);
        let of = |name: &str| told.iter().find(|(known, _)| known == name).map(|(_, tools)| tools.as_str());
        assert_eq!(of("C++20"), Some("g++ (Debian 12.2.0-14+deb12u1) 12.2.0"));
        assert_eq!((of("Bash"), of("Prolog")), (Some(""), None));
        let Reading::Known(index) = &mut facts.index else { panic!("{:?}", facts.index) };
        let Reading::Known(figure) = &mut index.rounds_per_second else { panic!("{index:?}") };
        (figure.value, figure.ci95) = (373.971, Reading::Known([373.0, 374.5]));
        assert_eq!(rounds(index), Some(("373.97".into(), "373.00 … 374.50".into())));
        index.rounds_per_second = Reading::unknown("no slot");
        assert_eq!(rounds(index), None);
    }
}
