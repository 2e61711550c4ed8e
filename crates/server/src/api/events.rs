//! Live events of a submission: server-sent events (WHATWG HTML, "Server-sent events").

use super::extract::Path;
use super::problem::Problem;
use super::submissions::found;
use crate::accounts::{Caller, Right};
use crate::errors::Refusal;
use crate::live::LiveEvent;
use crate::service::{Service, ended};
use crate::view::{Names, SubmissionView, may_read_message, names};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use model::{Cause, Charge, Event as Judging, Observation, TestResult};
use serde_json::{Value as Json, json};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use store::SubmissionId;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// Interval at which a comment is sent, so that no proxy closes the connection as idle. The store is read at the same
/// interval, since another service on the same database may be the one that judges.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Time that clients wait before they reconnect.
const RETRY: Duration = Duration::from_secs(2);

/// Watch a submission
///
/// Returns server-sent events. `submission` has the form of `GET /submissions/{token}`; it comes first and after
/// every stored judgement. `started`: a worker began the job. `phase`: judging entered a phase. `time_limit`: the
/// time limit is known. `test`: a test was judged; contains its runs. `returned`: the job waits again; contains the
/// reason. `judged`: a judgement was stored; contains the verdict. `end`: no more events follow.
///
/// A client that connects late, or reconnects with `Last-Event-ID`, receives the events of the current judgement that
/// it missed. If a client reconnects after `end`, the response is 204, and browsers stop reconnecting.
#[utoipa::path(get, path = "/submissions/{token}/events", tag = "submissions",
    params(("token" = String, Path, description = "Token of the submission"), ("Last-Event-ID" = Option<String>, Header, description = "Id of the last received event")),
    responses((status = 200, description = "Stream of events", body = String, content_type = "text/event-stream"),
              (status = 204, description = "No more events follow")))]
pub(super) async fn watch(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(token): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let submission = found(&service, &caller, &token).await?;
    let heard = headers.get("last-event-id").and_then(|id| id.to_str().ok()).unwrap_or_default().to_string();
    // Watched first and looked at then, so that nothing falls between.
    let (so_far, coming) = service.live.watch(submission.id);
    let open = is_open(&service, submission.id).await?;
    if !open && heard == end_id(&service, submission.id).await? {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let mut watcher = Watcher {
        sees_all: caller.may(Right::SeeAll),
        id: submission.id,
        place: EventId::default(),
        heard: EventId::parse(&heard),
        waiting: VecDeque::new(),
        coming,
        done: false,
        service,
    };
    watcher.snapshot().await?;
    so_far.into_iter().for_each(|event| watcher.hear(event));
    if !open {
        watcher.end().await?;
    }
    let events = stream::unfold(watcher, |mut watcher| async move {
        let event = watcher.next().await?;
        Some((Ok::<_, Infallible>(event), watcher))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT)).into_response())
}

/// Whether judgements are outstanding, trials included.
async fn is_open(service: &Service, id: SubmissionId) -> Result<bool, Refusal> {
    let jobs = service.store.jobs(id).await?;
    Ok(jobs.iter().any(|job| job.is_open()))
}

/// The id of the last event, once all requested judgements are stored.
async fn end_id(service: &Service, id: SubmissionId) -> Result<String, Refusal> {
    let last = service.store.history(id).await?.last().map_or(0, |judgement| judgement.number);
    Ok(format!("end.{last}"))
}

/// Position of an event: the job, its attempt, and the number within the attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct EventId {
    job: i64,
    attempt: u64,
    n: u64,
}

impl EventId {
    /// From the id of an event; before all others if it is not a valid id.
    fn parse(id: &str) -> EventId {
        let mut parts = id.split('.').map(|part| part.parse::<u64>().ok());
        match (parts.next().flatten(), parts.next().flatten(), parts.next().flatten()) {
            (Some(job), Some(attempt), Some(n)) => {
                EventId { job: i64::try_from(job).unwrap_or(0), attempt, n }
            }
            _ => EventId::default(),
        }
    }

    fn id(self) -> String {
        format!("{}.{}.{}", self.job, self.attempt, self.n)
    }

    /// The position of the next event.
    fn then(self, event: &LiveEvent) -> EventId {
        match event {
            LiveEvent::Started { job, attempt, .. } => EventId { job: job.0, attempt: *attempt, n: 0 },
            _ => EventId { n: self.n + 1, ..self },
        }
    }
}

struct Watcher {
    service: Arc<Service>,
    id: SubmissionId,
    sees_all: bool,
    place: EventId,
    /// Position up to which the client had received events before it reconnected.
    heard: EventId,
    waiting: VecDeque<Event>,
    coming: Receiver<LiveEvent>,
    done: bool,
}

impl Watcher {
    /// The next event; `None` after the last.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.done {
                return None;
            }
            let ending = self.service.ending.subscribe();
            let mut stops = pin!(ended(ending));
            tokio::select! {
                event = self.coming.recv() => self.came(event).await,
                () = tokio::time::sleep(HEARTBEAT) => self.look().await,
                // The client connects to whatever comes after this service.
                () = &mut stops => return None,
            }
        }
    }

    async fn came(&mut self, event: Result<LiveEvent, RecvError>) {
        match event {
            Ok(event) => {
                let judged = matches!(event, LiveEvent::Judged { .. });
                self.hear(event);
                if judged {
                    self.look().await;
                }
            }
            Err(RecvError::Closed | RecvError::Lagged(_)) => {
                let (so_far, coming) = self.service.live.watch(self.id);
                self.coming = coming;
                self.heard = self.place;
                so_far.into_iter().for_each(|event| self.hear(event));
                self.look().await;
            }
        }
    }

    /// Reads the store, and ends the stream if no more events follow.
    async fn look(&mut self) {
        let looked = async {
            self.snapshot().await?;
            if !is_open(&self.service, self.id).await? {
                self.end().await?;
            }
            Ok::<_, Refusal>(())
        };
        if let Err(error) = looked.await {
            tracing::warn!(%error, submission = self.id.0, "watching a submission");
            self.done = true;
        }
    }

    /// The submission in its current state.
    async fn snapshot(&mut self) -> Result<(), Refusal> {
        let submission = self.service.store.submission(self.id).await?;
        let names = Names::read(&self.service, &[submission.author]).await?;
        let view = SubmissionView::new(&submission, &names);
        let data = serde_json::to_value(view).map_err(|e| Refusal::Fault(e.to_string()))?;
        self.waiting.push_back(named("submission", &data).retry(RETRY));
        Ok(())
    }

    async fn end(&mut self) -> Result<(), Refusal> {
        let id = end_id(&self.service, self.id).await?;
        self.waiting.push_back(named("end", &json!({})).id(id));
        self.done = true;
        Ok(())
    }

    fn hear(&mut self, event: LiveEvent) {
        self.place = self.place.then(&event);
        if self.place <= self.heard {
            return;
        }
        if let Some((name, data)) = shown(&event, self.sees_all) {
            self.waiting.push_back(named(name, &data).id(self.place.id()));
        }
    }
}

fn named(name: &str, data: &Json) -> Event {
    Event::default().event(name).data(data.to_string())
}

/// An event as it is sent: its name and data; `None` if this watcher may not see it.
fn shown(event: &LiveEvent, sees_all: bool) -> Option<(&'static str, Json)> {
    Some(match event {
        LiveEvent::Started { worker, attempt, .. } => {
            ("started", json!({"worker": worker, "attempt": attempt}))
        }
        LiveEvent::Returned { why } => ("returned", json!({"why": why})),
        LiveEvent::Judged { verdict, current } => ("judged", json!({"verdict": verdict, "current": current})),
        LiveEvent::Progress { progress } => match progress.as_ref() {
            Judging::Phase { phase, .. } => ("phase", json!({"phase": phase})),
            Judging::SubmissionStarted { language, tests, .. } => {
                ("phase", json!({"phase": "judging", "language": language, "tests": tests}))
            }
            Judging::TestFinished { result, .. } => ("test", test(result, sees_all)),
            Judging::TimeLimit { limit, source } => {
                ("time_limit", json!({"limit_ns": limit, "source": source}))
            }
            Judging::Warning { .. } | Judging::SubmissionFinished { .. } => return None,
        },
    })
}

/// A test as it is sent: a summary without limits, which are in the judgement.
fn test(result: &TestResult, sees_all: bool) -> Json {
    let run = |(run, causes): (&Observation, Vec<Cause>)| {
        json!({"cpu_ns": run.time.cpu, "charge": Charge::measured(result.charge.clock, run), "wall_ns": run.time.wall, "memory_peak_bytes": run.memory_peak,
            "disturbed": names(&causes)})
    };
    json!({
        "name": result.name,
        "verdict": result.verdict,
        "cpu_ns": result.charge.as_time(),
        "charge": result.charge,
        "wall_ns": result.wall,
        "memory_peak_bytes": result.memory_peak,
        "score": result.score,
        "confidence": result.settled.confidence,
        "message": may_read_message(&result.name, sees_all).then_some(&result.message),
        "runs": settle::judged_runs(result).into_iter().map(run).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::JobId;

    #[test]
    fn places_are_ordered_and_survive_the_way() {
        let started = LiveEvent::Started { job: JobId(7), worker: "a/0".into(), attempt: 2 };
        let first = EventId::default().then(&started);
        let second = first.then(&LiveEvent::Returned { why: String::new() });
        assert!(EventId::default() < first && first < second);
        assert_eq!(EventId::parse(&second.id()), second);
        for other in ["", "end.3", "x.y.z", "1.2"] {
            assert_eq!(EventId::parse(other), EventId::default(), "{other}");
        }
    }
}
