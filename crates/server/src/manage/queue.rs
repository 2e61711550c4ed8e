//! Waiting jobs by queue, jobs in progress, and completed work.

use crate::errors::Refusal;
use crate::timestamp::to_rfc3339;
use serde::Serialize;
use std::collections::BTreeMap;
use store::{Store, Throughput, Timestamp, Urgency};
use utoipa::ToSchema;

/// Queues, jobs in progress and completed work.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Lines {
    /// Queues with waiting jobs: first those for any pool, then by pool; the most urgent first.
    pub lines: Vec<LineView>,
    /// Jobs in progress in each pool.
    pub pools: Vec<PoolWork>,
    /// Work completed in the last 1, 5 and 60 minutes.
    pub done: Vec<Done>,
}

/// A queue of jobs.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Line)]
pub struct LineView {
    /// Pool that the jobs wait for. Null: any pool.
    pub pool: Option<String>,
    /// Urgency of the jobs: `contest`, `rejudge`, `live` or `background`.
    pub urgency: &'static str,
    /// Number of waiting jobs.
    pub waiting: u64,
    /// When the oldest of these jobs was requested.
    #[schema(format = DateTime)]
    pub oldest: String,
    /// Time since then.
    pub oldest_age_ns: u64,
}

/// Jobs in progress in a pool.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PoolWork {
    /// Name of the pool.
    pub pool: String,
    /// Number of tickets that no worker has started.
    pub tickets: u64,
    /// Number of running jobs, by node.
    pub running: BTreeMap<String, u64>,
}

/// Work completed in a period.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = WorkDone)]
pub struct Done {
    /// Length of the period in minutes.
    pub minutes: u32,
    /// Number of completed jobs.
    pub finished: u64,
    /// Number of these jobs that confirmed a result on strict hardware.
    pub confirmed: u64,
    /// Number of these jobs that checked a judgement for another reason.
    pub checked: u64,
    /// Confirmations on strict hardware as a fraction of first judgements. Null if there were no first judgements.
    pub confirmed_share: Option<f64>,
    /// Number of completed jobs, by pool.
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

/// Waiting jobs by queue, jobs in progress, and completed work.
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
