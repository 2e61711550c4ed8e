//! How much waits, where, and how much is done.

use crate::errors::Refusal;
use crate::timestamp::to_rfc3339;
use serde::Serialize;
use std::collections::BTreeMap;
use store::{Store, Throughput, Timestamp, Urgency};
use utoipa::ToSchema;

/// The lines, and what is done.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Lines {
    /// Where something waits, anywhere first, then by pool; the most urgent first.
    pub lines: Vec<LineView>,
    /// What each pool is at.
    pub pools: Vec<PoolWork>,
    /// What was done in the last 1, 5 and 60 minutes.
    pub done: Vec<Done>,
}

/// A line of jobs.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Line)]
pub struct LineView {
    /// The pool they wait for; null: any.
    pub pool: Option<String>,
    /// `contest`, `rejudge`, `live` or `background`.
    pub urgency: &'static str,
    /// How many.
    pub waiting: u64,
    /// When the first of them was asked for.
    #[schema(format = DateTime)]
    pub oldest: String,
    /// How long that is ago.
    pub oldest_age_ns: u64,
}

/// What a pool is at.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PoolWork {
    /// Its name.
    pub pool: String,
    /// Jobs that were handed out to it and that nobody has begun.
    pub tickets: u64,
    /// Jobs that were begun, by node.
    pub running: BTreeMap<String, u64>,
}

/// What was done in the last minutes.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = WorkDone)]
pub struct Done {
    /// How many minutes.
    pub minutes: u32,
    /// Jobs that were done.
    pub finished: u64,
    /// How many of them confirmed on strict hardware.
    pub confirmed: u64,
    /// How many of them were other checks of a judgement.
    pub checked: u64,
    /// Which part of what was judged was confirmed on strict hardware; null where nothing was.
    pub confirmed_share: Option<f64>,
    /// Jobs that were done, by pool.
    pub by_pool: BTreeMap<String, u64>,
}

pub(crate) fn urgency(urgency: Urgency) -> &'static str {
    match urgency {
        Urgency::Contest => "contest",
        Urgency::Rejudge => "rejudge",
        Urgency::Live => "live",
        Urgency::Background => "background",
    }
}

impl Done {
    fn new(minutes: u32, by_pool: &[Throughput]) -> Done {
        let sum = |of: fn(&Throughput) -> u64| by_pool.iter().map(of).sum::<u64>();
        let (finished, confirmed, checked) =
            (sum(|pool| pool.finished), sum(|pool| pool.confirmed), sum(|pool| pool.checked));
        let rounds = finished.saturating_sub(confirmed + checked);
        let named = |pool: &Throughput| Some((pool.pool.clone()?, pool.finished));
        Done {
            minutes,
            finished,
            confirmed,
            checked,
            confirmed_share: (rounds > 0).then(|| confirmed as f64 / rounds as f64),
            by_pool: by_pool.iter().filter_map(named).collect(),
        }
    }
}

/// How much waits, where, and how much is done.
///
/// # Errors
/// Those of the store.
pub async fn queue(store: &Store, now: Timestamp) -> Result<Lines, Refusal> {
    let line = |line: store::LineCount| LineView {
        pool: line.place,
        urgency: urgency(line.urgency),
        waiting: line.waiting,
        oldest: to_rfc3339(line.oldest),
        oldest_age_ns: u64::try_from(now.0.saturating_sub(line.oldest.0)).unwrap_or(0).saturating_mul(1000),
    };
    let lines = store.lines().await?.into_iter().map(line).collect();
    let mut pools = Vec::new();
    for pool in store.pools().await? {
        let work = store.in_pool(&pool.name).await?;
        pools.push(PoolWork { pool: pool.name, tickets: work.tickets, running: work.running });
    }
    let mut done = Vec::new();
    for minutes in [1, 5, 60] {
        let since = now.plus_micros(-i64::from(minutes) * 60_000_000);
        done.push(Done::new(minutes, &store.throughput(since).await?));
    }
    Ok(Lines { lines, pools, done })
}
