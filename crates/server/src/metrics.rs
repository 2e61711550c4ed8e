//! What a monitor is told: counters and histograms of this process, and how the store stands.

mod fleet;

pub(crate) use fleet::{FleetMetrics, Round};

use crate::service::Service;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use model::{Judgement, Verdict};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::{Counts, Store};

/// Of OpenMetrics 1.0 as text.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Counts of the store are not read again before this has passed: they walk over tables.
const FRESH: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    /// The address as a pattern, so that there are few.
    route: String,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Route {
    route: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Came {
    verdict: &'static str,
    origin: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Line {
    urgency: &'static str,
}

/// What is measured.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    latency: Family<Route, Histogram>,
    submitted: Family<Origin, Counter>,
    judged: Family<Came, Counter>,
    /// Beside `judged`, whose lines begin with the first of their kind: a monitor sees no growth in those.
    judge_errors: Counter,
    judging: Histogram,
    runs: Counter,
    void_runs: Counter,
    store_errors: Counter,
    waiting: Family<Line, Gauge>,
    oldest: Gauge<f64, AtomicU64>,
    claimed: Gauge,
    workers: Gauge,
    /// What is measured of a fleet.
    pub(crate) fleet: FleetMetrics,
    counts: Mutex<Option<(Instant, Counts)>>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Origin {
    origin: String,
}

impl Default for Metrics {
    fn default() -> Metrics {
        let seconds = || Histogram::new(exponential_buckets(0.001, 2.0, 15));
        let mut registry = Registry::with_prefix("tauto");
        let metrics = Metrics {
            requests: Family::default(),
            latency: Family::new_with_constructor(seconds),
            submitted: Family::default(),
            judged: Family::default(),
            judge_errors: Counter::default(),
            judging: Histogram::new(exponential_buckets(0.01, 2.0, 18)),
            runs: Counter::default(),
            void_runs: Counter::default(),
            store_errors: Counter::default(),
            waiting: Family::default(),
            oldest: Gauge::default(),
            claimed: Gauge::default(),
            workers: Gauge::default(),
            fleet: FleetMetrics::default(),
            counts: Mutex::default(),
            registry: Registry::default(),
        };
        let s = || Unit::Seconds;
        registry.register("http_requests", "Requests answered", metrics.requests.clone());
        registry.register_with_unit(
            "http_request_duration",
            "From request to answer",
            s(),
            metrics.latency.clone(),
        );
        registry.register("submissions", "Submissions accepted", metrics.submitted.clone());
        registry.register("judgements", "Judgements stored", metrics.judged.clone());
        let errors = metrics.judge_errors.clone();
        registry.register("judge_errors", "Judgements stored that are a judge error, JE", errors);
        registry.register_with_unit(
            "judging",
            "From a worker's start to the stored judgement",
            s(),
            metrics.judging.clone(),
        );
        registry.register("runs", "Runs of programs, in judgements stored", metrics.runs.clone());
        registry.register("void_runs", "Runs that their evidence condemned", metrics.void_runs.clone());
        registry.register("store_errors", "Requests that the database failed", metrics.store_errors.clone());
        registry.register("queue_length", "Judgements that wait", metrics.waiting.clone());
        registry.register_with_unit(
            "queue_oldest_age",
            "How long the oldest has waited",
            s(),
            metrics.oldest.clone(),
        );
        registry.register("judging_now", "Judgements that workers are at", metrics.claimed.clone());
        registry.register("workers", "Workers connected", metrics.workers.clone());
        metrics.fleet.register(&mut registry);
        Metrics { registry, ..metrics }
    }
}

impl Metrics {
    /// A submission was taken in.
    pub(crate) fn submitted(&self, origin: &str) {
        self.submitted.get_or_create(&Origin { origin: origin.to_string() }).inc();
    }

    /// A judgement was stored.
    pub(crate) fn judged(&self, origin: &str, judgement: &Judgement) {
        let verdict: Verdict = judgement.verdict;
        self.judged.get_or_create(&Came { verdict: verdict.code(), origin: origin.to_string() }).inc();
        self.judge_errors.inc_by(u64::from(verdict == Verdict::JudgeError));
        self.runs.inc_by(judgement.settled.runs.into());
        self.void_runs.inc_by(judgement.settled.void_runs.into());
    }

    /// A task took so long.
    pub(crate) fn judging_took(&self, time: Duration) {
        self.judging.observe(time.as_secs_f64());
    }

    /// How the store stands, as it did a moment ago at the earliest.
    pub(crate) async fn counts(&self, store: &Store) -> Result<Counts, store::Error> {
        let known = self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, counts)) = known.filter(|(at, _)| at.elapsed() < FRESH) {
            return Ok(counts);
        }
        let counts = store.counts().await?;
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), counts.clone()));
        Ok(counts)
    }

    /// Everything, as monitors read it.
    pub(crate) async fn text(&self, service: &Service) -> String {
        let workers = service.workers.connected().len();
        self.workers.set(i64::try_from(workers).unwrap_or(i64::MAX));
        match self.counts(&service.store).await {
            Ok(counts) => self.note(&counts),
            Err(error) => {
                tracing::error!(%error, "counting for the monitor");
                self.store_errors.inc();
            }
        }
        if let Err(error) = self.fleet.look(service).await {
            tracing::error!(%error, "looking at the fleet for the monitor");
            self.store_errors.inc();
        }
        let mut text = String::new();
        if encode(&mut text, &self.registry).is_err() {
            tracing::error!("writing to a string failed");
        }
        text
    }

    fn note(&self, counts: &Counts) {
        let whole = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        self.waiting.get_or_create(&Line { urgency: "live" }).set(whole(counts.live));
        self.waiting.get_or_create(&Line { urgency: "background" }).set(whole(counts.background));
        self.claimed.set(whole(counts.claimed));
        let age = counts.oldest.map_or(0, |oldest| crate::timestamp::now().0.saturating_sub(oldest.0));
        self.oldest.set(age.max(0) as f64 / 1e6);
    }
}

/// Counts every request and how long its answer took.
pub(crate) async fn count(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or("unknown", |path| path.as_str()).to_string();
    let method = match request.method().as_str() {
        known @ ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS") => known.to_string(),
        _ => "other".to_string(),
    };
    let begun = Instant::now();
    let response = next.run(request).await;
    let metrics = &service.metrics;
    let status = response.status().as_u16();
    metrics.latency.get_or_create(&Route { route: route.clone() }).observe(begun.elapsed().as_secs_f64());
    metrics.requests.get_or_create(&RequestLabels { method, route, status }).inc();
    if status == 503 {
        metrics.store_errors.inc();
    }
    response
}

/// Whether the database takes what is written.
#[derive(Debug, Default)]
pub(crate) struct Readiness(Mutex<Option<Instant>>);

impl Readiness {
    /// Looks, unless it was found well less than a second ago.
    pub(crate) async fn check(&self, store: &Store) -> Result<(), store::Error> {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|at| at.elapsed() < Duration::from_secs(1)) {
            return Ok(());
        }
        store.set_setting("health/checked", &crate::timestamp::now().0.into()).await?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        Ok(())
    }
}
