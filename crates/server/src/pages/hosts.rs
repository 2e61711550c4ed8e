//! The machines that judge: their slots, what an audit found, how powerful they were over time.

use super::filters;
use super::{Frame, Refused, show, words};
use crate::accounts::Right;
use crate::errors::Refusal;
use crate::service::Service;
use crate::work::Worker;
use askama::Template;
use axum::extract::State;
use axum::response::Response;
use model::{Audit, Finding, FindingState, Isolation, Slot};
use serde_json::Value as Json;
use settle::Floor;
use std::sync::Arc;
use store::{Moment, Node, NodeState, SubmissionId};

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
    since: Moment,
    version: String,
}

/// An index that was taken.
struct Taken {
    at: Moment,
    value: String,
    interval: String,
}

/// A machine.
struct Host {
    name: String,
    node: Option<Node>,
    slots: Vec<SlotShown>,
    audit: Option<Audit>,
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
                ("mark", "waits to be admitted")
            }
            Some(NodeState::Active) | None => ("good", "in service"),
        }
    }

    fn of(&self, state: FindingState) -> Vec<&Finding> {
        let findings = self.audit.iter().flat_map(|audit| &audit.findings);
        findings.filter(|finding| finding.state == state).collect()
    }

    fn bad(&self) -> Vec<&Finding> {
        self.of(FindingState::Bad)
    }

    fn unknown(&self) -> Vec<&Finding> {
        self.of(FindingState::Unknown)
    }

    fn well(&self) -> usize {
        self.of(FindingState::Ok).len()
    }

    fn cpu(&self) -> String {
        let model = self.audit.as_ref().and_then(|audit| audit.machine.cpu_model.known());
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
    frame.caller.must(Right::Look)?;
    // What is wrong with a machine is for those who run it; without accounts that is whoever is at it.
    let sees_audit = frame.caller.may(Right::Watch);
    let nodes = service.store.nodes().await?;
    let workers = service.workers.connected();
    let mut names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    names.extend(workers.iter().map(|worker| worker.node.clone()));
    names.sort();
    names.dedup();
    let mut hosts = Vec::new();
    for name in names {
        let node = nodes.iter().find(|node| node.name == name).cloned();
        hosts.push(host(&service, name, node, &workers, sees_audit).await?);
    }
    let counts = service.store.counts().await?;
    let waiting = counts.live + counts.background;
    Ok(show(&HostsPage { frame, hosts, waiting, sees_audit }))
}

async fn host(
    service: &Service,
    name: String,
    node: Option<Node>,
    workers: &[Worker],
    sees_audit: bool,
) -> Result<Host, Refusal> {
    let facts = node.as_ref().map_or(&Json::Null, |node| &node.facts);
    let audit = serde_json::from_value(facts["audit"].clone()).ok().filter(|_| sees_audit);
    let languages = languages(facts);
    let samples = service.store.samples(&name, "index", Moment(0), HISTORY).await?;
    let index = samples.into_iter().filter_map(|sample| {
        let (value, interval) = rounds(&sample.value)?;
        Some(Taken { at: sample.at, value, interval })
    });
    let slots = workers.iter().filter(|worker| worker.node == name).map(slot).collect();
    Ok(Host { index: index.collect(), slots, audit, languages, node, name })
}

fn slot(worker: &Worker) -> SlotShown {
    let plan: Option<Slot> = serde_json::from_value(worker.slot.plan.clone()).ok();
    let floor: Option<Floor> = serde_json::from_value(worker.slot.floor.clone()).ok();
    let (isolation, good) = match plan.as_ref().map(|plan| plan.isolation) {
        Some(Isolation::Partition) => ("a partition where the kernel schedules nothing else", true),
        Some(Isolation::Cpuset) => ("a cpuset of its own", true),
        Some(Isolation::Affinity) => ("bound to its CPUs, others may run there", false),
        Some(Isolation::None) | None => ("none", false),
    };
    let list = |numbers: Option<&Vec<u32>>| numbers.map(|numbers| words::list(numbers)).unwrap_or_default();
    let percent = |part: f64| format!("{:.1} %", part * 100.0);
    let stray = floor.as_ref().map(Floor::stray);
    SlotShown {
        id: worker.slot.id,
        cpus: words::list(&worker.slot.cpus),
        isolation,
        good,
        mem_nodes: list(plan.as_ref().map(|plan| &plan.mem_nodes)),
        idle: list(plan.as_ref().map(|plan| &plan.idle_siblings)),
        floor: stray
            .map_or("unknown".into(), |stray| format!("{} + {}", percent(stray.reach), percent(stray.tail))),
        measured: floor.is_some_and(|floor| !floor.assumed),
        judging: worker.judging,
        finished: worker.finished,
        since: worker.since,
        version: worker.version.clone(),
    }
}

/// Languages that can be judged there, with the versions of their tools.
fn languages(facts: &Json) -> Vec<(String, String)> {
    let told = &facts["languages"];
    let told = told.get("languages").unwrap_or(told).as_array();
    let usable = told.into_iter().flatten().filter(|language| language["available"] == true);
    let text = |json: &Json| json.as_str().unwrap_or_default().to_string();
    let tools = |language: &Json| {
        let tools = language["tools"].as_array().into_iter().flatten();
        tools
            .map(|tool| text(&tool["version"]))
            .filter(|version| !version.is_empty())
            .collect::<Vec<_>>()
            .join("; ")
    };
    usable.map(|language| (text(&language["name"]), tools(language))).collect()
}

/// The rounds per second of an index, and their interval.
fn rounds(index: &Json) -> Option<(String, String)> {
    let rounds = &index["rounds_per_second"];
    let ends = rounds["ci95"].as_array()?;
    let end = |n: usize| Some(format!("{:.2}", ends.get(n)?.as_f64()?));
    Some((format!("{:.2}", rounds["value"].as_f64()?), format!("{} … {}", end(0)?, end(1)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_nodes_tell_is_read() {
        let tool = json!({"name": "g++", "path": "/usr/bin/g++", "version": "g++ 12.2"});
        let facts = json!({"languages": {"languages": [
            {"name": "C++", "available": true, "tools": [tool]}, {"name": "Go", "available": false, "tools": []}]}});
        assert_eq!(languages(&facts), [("C++".to_string(), "g++ 12.2".to_string())]);
        let index = json!({"rounds_per_second": {"value": 373.971, "ci95": [373.0, 374.5]}});
        assert_eq!(rounds(&index), Some(("373.97".into(), "373.00 … 374.50".into())));
        assert_eq!(rounds(&json!({"rounds_per_second": {"unknown": "no slot"}})), None);
    }
}
