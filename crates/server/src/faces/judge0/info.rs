//! What the service tells of itself.

use super::auth::Authenticated;
use super::languages::{Edition, Offered, find, offered};
use super::status::of_verdict;
use super::{Fault, ORIGIN};
use crate::errors::Refusal;
use crate::service::Service;
use crate::timestamp::now;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use model::Verdict;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{Filter, Timestamp};
use tokio::sync::Mutex;

/// Release whose interface this is. Its client looks language ids up by exactly this text.
const VERSION: &str = "1.13.1";

/// How long statistics are believed.
const FRESH: Duration = Duration::from_secs(600);
/// Submissions are counted up to so many.
const COUNTED: u32 = 1_000_000;
const DAY: i64 = 24 * 60 * 60 * 1_000_000;

/// The statistics last made.
#[derive(Default)]
pub(crate) struct Statistics(Mutex<Option<(Instant, Value)>>);

async fn all_of(service: &Service, edition: Edition) -> Result<Vec<Offered>, Refusal> {
    Ok(offered(edition, &service.toolchains.get(&service.store).await?))
}

pub(super) async fn languages(
    State(service): State<Arc<Service>>,
    Extension(edition): Extension<Edition>,
    _: Authenticated,
) -> Result<Json<Value>, Fault> {
    let all = all_of(&service, edition).await?;
    Ok(Json(all.iter().map(|one| json!({"id": one.id, "name": one.name})).collect()))
}

pub(super) async fn all_languages(
    State(service): State<Arc<Service>>,
    Extension(edition): Extension<Edition>,
    _: Authenticated,
) -> Result<Json<Value>, Fault> {
    let all = all_of(&service, edition).await?;
    let one = |one: &Offered| json!({"id": one.id, "name": one.name, "is_archived": one.is_archived});
    Ok(Json(all.iter().map(one).collect()))
}

pub(super) async fn language(
    State(service): State<Arc<Service>>,
    Extension(edition): Extension<Edition>,
    _: Authenticated,
    Path(id): Path<String>,
) -> Result<Json<Offered>, Fault> {
    let toolchains = service.toolchains.get(&service.store).await?;
    let found = id.parse().ok().and_then(|id| find(edition, id, &toolchains));
    Ok(Json(found.ok_or_else(|| Refusal::missing(format_args!("language {id}")))?))
}

pub(super) async fn about(Extension(edition): Extension<Edition>, _: Authenticated) -> Json<Value> {
    Json(json!({
        "version": version_of(edition),
        "homepage": "",
        "source_code": "",
        "maintainer": "",
        "served_by": concat!("tautochrone ", env!("CARGO_PKG_VERSION")),
    }))
}

pub(super) async fn version(Extension(edition): Extension<Edition>, _: Authenticated) -> String {
    version_of(edition)
}

fn version_of(edition: Edition) -> String {
    match edition {
        Edition::Ce => VERSION.to_owned(),
        Edition::Extra => format!("{VERSION}-extra"),
    }
}

pub(super) async fn license(_: Authenticated) -> &'static str {
    "tautochrone: MIT OR Apache-2.0\n"
}

pub(super) async fn isolate(_: Authenticated) -> &'static str {
    concat!("tautochrone ", env!("CARGO_PKG_VERSION"), ": programs run in its own sandbox, not in isolate\n")
}

pub(super) async fn system(State(service): State<Arc<Service>>, _: Authenticated) -> Json<Value> {
    let workers = service.workers.connected();
    let cpus: Vec<String> = workers
        .iter()
        .map(|worker| {
            let cpus: Vec<String> = worker.slot.cpus.iter().map(u32::to_string).collect();
            format!("{} slot {}: CPU {}", worker.node, worker.slot.id, cpus.join(","))
        })
        .collect();
    Json(json!({"Slots": workers.len().to_string(), "Slot list": cpus.join("; ")}))
}

pub(super) async fn workers(
    State(service): State<Arc<Service>>,
    _: Authenticated,
) -> Result<Json<Value>, Fault> {
    let workers = service.workers.connected();
    let working = workers.iter().filter(|worker| worker.judging.is_some()).count();
    let waiting = Filter { state: Some(store::State::Waiting), ..Filter::default() };
    Ok(Json(json!([{
        "queue": "default",
        "size": service.store.count_submissions(&waiting, COUNTED).await?,
        "available": workers.len(),
        "idle": workers.len() - working,
        "working": working,
        "paused": 0,
        "failed": 0,
    }])))
}

pub(super) async fn statistics(
    State(service): State<Arc<Service>>,
    _: Authenticated,
) -> Result<Json<Value>, Fault> {
    // Whoever comes while they are made waits for them.
    let mut known = service.statistics.0.lock().await;
    if let Some((made, statistics)) = &*known
        && made.elapsed() < FRESH
    {
        return Ok(Json(statistics.clone()));
    }
    let made = make(&service).await?;
    *known = Some((Instant::now(), made.clone()));
    Ok(Json(made))
}

/// Counts the submissions of this face: in all, by day, by language, by status.
async fn make(service: &Service) -> Result<Value, Refusal> {
    let counted = async |filter: Filter| {
        let filter = Filter { origin: Some(ORIGIN.to_owned()), ..filter };
        service.store.count_submissions(&filter, COUNTED).await
    };
    let now = now();
    let today = now.0 - now.0.rem_euclid(DAY);
    let mut days = Map::new();
    for back in 0..=30 {
        let since = Timestamp(today - back * DAY);
        let until = Timestamp(since.0 + DAY);
        let filter = Filter { since: Some(since), until: Some(until), ..Filter::default() };
        days.insert(crate::timestamp::to_rfc3339(since)[..10].to_owned(), json!(counted(filter).await?));
    }
    let mut languages = Vec::new();
    let mut counted_languages: BTreeMap<&str, u64> = BTreeMap::new();
    for one in all_of(service, Edition::Ce).await? {
        if counted_languages.contains_key(one.short()) {
            continue;
        }
        let count = counted(Filter { language: Some(one.short().to_owned()), ..Filter::default() }).await?;
        counted_languages.insert(one.short(), count);
        if count > 0 {
            languages.push(json!({"language": {"id": one.id, "name": one.name}, "count": count}));
        }
    }
    let mut statuses: BTreeMap<u8, u64> = BTreeMap::new();
    for verdict in Verdict::ALL {
        let count = counted(Filter { verdict: Some(verdict), ..Filter::default() }).await?;
        *statuses.entry(of_verdict(verdict, None).0).or_default() += count;
    }
    let statuses: Vec<Value> = statuses
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(id, count)| {
            let status = super::status::Status(id);
            json!({"status": {"id": id, "name": status.description()}, "count": count})
        })
        .collect();
    let until = Timestamp(now.0 + i64::try_from(FRESH.as_micros()).unwrap_or_default());
    let size = service.store.counts().await?.content_bytes;
    Ok(json!({
        "created_at": crate::timestamp::to_rfc3339(now),
        "cached_until": crate::timestamp::to_rfc3339(until),
        "submissions": {
            "total": counted(Filter::default()).await?,
            "today": days.values().next().cloned(),
            "last_30_days": days,
        },
        "languages": languages,
        "statuses": statuses,
        "database": {"size_pretty": format!("{} kB", size / 1024), "size_in_bytes": size},
    }))
}
