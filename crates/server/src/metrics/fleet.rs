//! What a monitor is told of a fleet: how its nodes stand, what waits where, how soon work begins, what speaks against nodes.

use crate::manage::{self, Lines, NodeView};
use crate::service::Service;
use crate::timestamp::now;
use crate::work::Worker;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::{Store, Timestamp};

/// What is counted in the store is not counted again before this has passed.
const FRESH: Duration = Duration::from_secs(2);
/// In a pool's place where any will do.
const ANYWHERE: &str = "any";

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct InState {
    pool: String,
    state: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfNode {
    pool: String,
    node: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Charged {
    node: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct InLine {
    pool: String,
    urgency: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct InPool {
    pool: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CameTo {
    outcome: &'static str,
}

/// What is measured of a fleet.
pub(crate) struct FleetMetrics {
    nodes: Family<InState, Gauge>,
    reasons: Family<OfNode, Gauge>,
    away: Family<OfNode, Gauge>,
    doubted: Family<OfNode, Gauge>,
    waiting: Family<InLine, Gauge>,
    oldest: Family<InLine, Gauge<f64, AtomicU64>>,
    tickets: Family<InPool, Gauge>,
    running: Family<OfNode, Gauge>,
    brokers: Gauge,
    dispatch: Histogram,
    checks: Family<CameTo, Counter>,
    charges: Family<Charged, Counter>,
    lapsed: Counter,
    confirmed: Counter,
    known: Mutex<Option<(Instant, Lines)>>,
}

impl Default for FleetMetrics {
    fn default() -> FleetMetrics {
        FleetMetrics {
            nodes: Family::default(),
            reasons: Family::default(),
            away: Family::default(),
            doubted: Family::default(),
            waiting: Family::default(),
            oldest: Family::default(),
            tickets: Family::default(),
            running: Family::default(),
            brokers: Gauge::default(),
            dispatch: Histogram::new(exponential_buckets(0.001, 2.0, 18)),
            checks: Family::default(),
            charges: Family::default(),
            lapsed: Counter::default(),
            confirmed: Counter::default(),
            known: Mutex::default(),
        }
    }
}

impl FleetMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        let s = || Unit::Seconds;
        registry.register("nodes", "Nodes by state", self.nodes.clone());
        registry.register(
            "node_waiting_reasons",
            "Why a node is not admitted: how many reasons",
            self.reasons.clone(),
        );
        registry.register(
            "node_away",
            "1 for a node that should get work and has no worker here",
            self.away.clone(),
        );
        registry.register(
            "node_doubted",
            "1 for a node of which what it judged is doubted",
            self.doubted.clone(),
        );
        registry.register("queue_waiting", "Judgements that wait, by line", self.waiting.clone());
        registry.register_with_unit(
            "queue_oldest",
            "How long the oldest of a line has waited",
            s(),
            self.oldest.clone(),
        );
        registry.register("tickets_out", "Tickets that no worker has started", self.tickets.clone());
        registry.register("node_running", "Judgements that a node is at", self.running.clone());
        registry.register("brokers_away", "1 while no broker of the fleet is reached", self.brokers.clone());
        registry.register_with_unit(
            "dispatch",
            "From being asked for to a worker's start",
            s(),
            self.dispatch.clone(),
        );
        registry.register(
            "cross_checks",
            "Answers that were compared, by what came of it",
            self.checks.clone(),
        );
        registry.register("charges", "Times a node was the odd one out", self.charges.clone());
        registry.register(
            "leases_lapsed",
            "Jobs that were requeued because their worker stopped reporting",
            self.lapsed.clone(),
        );
        registry.register(
            "strict_confirmations",
            "Judgements that strict hardware had to confirm",
            self.confirmed.clone(),
        );
    }

    /// A worker begins what was asked for then.
    pub(crate) fn begun(&self, asked: Timestamp) {
        self.dispatch.observe(now().0.saturating_sub(asked.0).max(0) as f64 / 1e6);
    }

    /// A job was taken back from a worker that was not heard of.
    pub(crate) fn lapsed(&self) {
        self.lapsed.inc();
    }

    /// The lines, as they were a moment ago at the earliest.
    pub(crate) async fn lines(&self, store: &Store) -> Result<Lines, crate::errors::Refusal> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, lines)) = known.filter(|(at, _)| at.elapsed() < FRESH) {
            return Ok(lines);
        }
        let lines = manage::queue(store, now()).await?;
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), lines.clone()));
        Ok(lines)
    }

    /// Looks how the fleet stands.
    pub(super) async fn look(&self, service: &Service) -> Result<(), crate::errors::Refusal> {
        let brokers = service.brokers.as_ref();
        self.brokers.set(i64::from(brokers.is_some_and(|brokers| brokers.trouble().is_some())));
        let lines = self.lines(&service.store).await?;
        self.note_lines(&lines);
        let nodes = manage::nodes(&service.store).await?;
        self.note_nodes(&nodes, &service.workers.connected());
        Ok(())
    }

    fn note_lines(&self, lines: &Lines) {
        let whole = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        self.waiting.clear();
        self.oldest.clear();
        for line in &lines.lines {
            let pool = line.pool.clone().unwrap_or_else(|| ANYWHERE.into());
            let label = InLine { pool, urgency: line.urgency };
            self.waiting.get_or_create(&label).set(whole(line.waiting));
            self.oldest.get_or_create(&label).set(line.oldest_age_ns as f64 / 1e9);
        }
        self.tickets.clear();
        self.running.clear();
        for pool in &lines.pools {
            self.tickets.get_or_create(&InPool { pool: pool.pool.clone() }).set(whole(pool.tickets));
            for (node, running) in &pool.running {
                let label = OfNode { pool: pool.pool.clone(), node: node.clone() };
                self.running.get_or_create(&label).set(whole(*running));
            }
        }
    }

    fn note_nodes(&self, nodes: &[NodeView], connected: &[Worker]) {
        self.nodes.clear();
        self.reasons.clear();
        self.away.clear();
        self.doubted.clear();
        for node in nodes {
            let label = InState { pool: node.pool.clone(), state: node.standing };
            self.nodes.get_or_create(&label).inc();
            let label = OfNode { pool: node.pool.clone(), node: node.name.clone() };
            let waits = node.waits.as_ref().map_or(0, |waits| waits.len().max(1));
            self.reasons.get_or_create(&label).set(waits as i64);
            let there = connected.iter().any(|worker| worker.node == node.name);
            self.away.get_or_create(&label).set(i64::from(node.standing == "active" && !there));
            self.doubted.get_or_create(&label).set(i64::from(node.doubted_since.is_some()));
            // From 0 on: a monitor sees no growth in a line that begins with 1.
            drop(self.charges.get_or_create(&Charged { node: node.name.clone() }));
        }
    }
}

/// What came of looking at a judgement's round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round<'a> {
    /// Strict hardware has to confirm it.
    Confirms,
    /// One more node is asked.
    Asks,
    /// Answers agreed.
    Agrees,
    /// They did not, and the rule decided.
    Open,
    /// A node was the odd one out.
    Charges(&'a str),
}

impl FleetMetrics {
    /// What came of a round of answers.
    pub(crate) fn round(&self, round: Round<'_>) {
        let outcome = match round {
            Round::Confirms => {
                self.confirmed.inc();
                return;
            }
            Round::Asks => "asked",
            Round::Agrees => "agreed",
            Round::Open => "open",
            Round::Charges(node) => {
                self.charges.get_or_create(&Charged { node: node.to_string() }).inc();
                "charged"
            }
        };
        self.checks.get_or_create(&CameTo { outcome }).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_service::TestService;
    use std::collections::BTreeSet;

    const ALERTS: &str = include_str!("../../../../packaging/alerts/tautochrone.rules.yml");

    /// Names of our metrics in a text.
    fn names(text: &str) -> BTreeSet<&str> {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        words.filter(|word| word.starts_with("tauto_")).collect()
    }

    #[tokio::test]
    async fn every_metric_of_the_alerts_is_told() {
        let kit = TestService::new(true).await;
        let service = &kit.service;
        let node = service.store.state_node("a", "metal", &serde_json::json!({}), now()).await.unwrap();
        assert!(node.waits.is_some());
        service
            .store
            .set_pool("metal", &serde_json::json!({"name": "metal", "kind": "strict"}), now())
            .await
            .unwrap();
        let submission =
            r#"{"language": "c", "problem": "fence", "files": [{"name": "a.c", "content": "int main;"}]}"#;
        crate::problems::install_examples(service).await.unwrap();
        let taken =
            kit.send("POST /api/v1/submissions", &["content-type: application/json"], submission).await;
        assert_eq!(taken.status, 201, "{}", taken.text);
        let claim = store::Claim {
            node: Some("a"),
            pool: "metal",
            ..store::Claim::local("a/0", Timestamp(now().0 + 9_000_000), now())
        };
        service.store.claim(claim).await.unwrap().unwrap();
        kit.send("POST /api/v1/submissions", &["content-type: application/json"], submission).await;
        let metrics = &service.metrics;
        for begins in ["tauto_charges_total{node=\"a\"} 0", "tauto_judge_errors_total 0"] {
            let text = metrics.text(service).await;
            assert!(text.contains(begins), "{begins} in {text}");
        }
        metrics.fleet.begun(now());
        metrics.fleet.lapsed();
        for round in [Round::Confirms, Round::Asks, Round::Agrees, Round::Open, Round::Charges("a")] {
            metrics.fleet.round(round);
        }
        let text = metrics.text(service).await;
        let told: BTreeSet<&str> = names(&text);
        let missing: Vec<_> = names(ALERTS).into_iter().filter(|name| !told.contains(name)).collect();
        assert!(missing.is_empty() && names(ALERTS).len() > 10, "{missing:?} of {told:?}");
        for line in [
            "tauto_nodes{pool=\"metal\",state=\"waiting\"} 1",
            "tauto_node_running{pool=\"metal\",node=\"a\"} 1",
            "tauto_queue_waiting{pool=\"any\",urgency=\"live\"} 1",
            "tauto_charges_total{node=\"a\"} 1",
            "tauto_cross_checks_total{outcome=\"open\"} 1",
            "tauto_leases_lapsed_total 1",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
