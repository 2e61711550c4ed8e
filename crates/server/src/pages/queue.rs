//! What waits where, what is being done, and how much was.

use super::filters;
use super::{Frame, Refused, show};
use crate::accounts::Right;
use crate::manage::{Done, LineView, Lines};
use crate::service::Service;
use askama::Template;
use axum::extract::State;
use axum::response::Response;
use std::sync::Arc;

/// What a node is at.
struct Running {
    pool: String,
    node: String,
    jobs: u64,
}

#[derive(Template)]
#[template(path = "queue.html")]
struct QueuePage {
    frame: Frame,
    lines: Lines,
    running: Vec<Running>,
}

impl QueuePage {
    fn waiting(&self) -> u64 {
        self.lines.lines.iter().map(|line| line.waiting).sum()
    }

    fn tickets(&self) -> u64 {
        self.lines.pools.iter().map(|pool| pool.tickets).sum()
    }

    fn at_work(&self) -> u64 {
        self.running.iter().map(|running| running.jobs).sum()
    }

    fn age(&self, line: &LineView) -> String {
        age(line.oldest_age_ns)
    }

    fn share(&self, done: &Done) -> String {
        done.confirmed_share.map_or("–".into(), |share| format!("{:.1} %", share * 100.0))
    }

    fn per_minute(&self, done: &Done) -> String {
        format!("{:.1}", done.finished as f64 / f64::from(done.minutes))
    }
}

/// A time for which something waits, in words.
fn age(ns: u64) -> String {
    match ns / 1_000_000_000 {
        secs @ 0..120 => format!("{secs} s"),
        secs @ 120..7200 => format!("{} min", secs / 60),
        secs => format!("{} h", secs / 3600),
    }
}

/// `GET /queue`.
pub(super) async fn page(State(service): State<Arc<Service>>, frame: Frame) -> Result<Response, Refused> {
    frame.caller.must(Right::Watch)?;
    let lines = service.metrics.fleet.lines(&service.store).await?;
    let running = lines.pools.iter().flat_map(|pool| {
        let of = |(node, jobs): (&String, &u64)| Running {
            pool: pool.pool.clone(),
            node: node.clone(),
            jobs: *jobs,
        };
        pool.running.iter().map(of).collect::<Vec<_>>()
    });
    let running = running.collect();
    Ok(show(&QueuePage { frame, lines, running }))
}

#[cfg(test)]
mod tests {
    use super::age;

    #[test]
    fn ages_are_short() {
        let of = |secs: u64| age(secs * 1_000_000_000);
        assert_eq!([of(0), of(119), of(120), of(7300)], ["0 s", "119 s", "2 min", "2 h"]);
    }
}
