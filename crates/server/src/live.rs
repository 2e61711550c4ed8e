//! What is going on in judgements right now, for whoever watches. Nothing here is kept: what counts is in the store.

use model::Event;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use store::{JobId, SubmissionId};
use tokio::sync::{broadcast, mpsc};

/// What watchers of a submission hear.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum LiveEvent {
    /// A worker has taken it.
    Started {
        /// The request for this judgement.
        job: JobId,
        /// Which worker: node and slot.
        worker: String,
        /// How often this judgement was begun, this time included.
        attempt: u64,
    },
    /// Something happened in judging.
    Progress {
        /// What: phases, results of tests with their runs.
        progress: Box<Event>,
    },
    /// It came back to the queue.
    Returned {
        /// Why.
        why: String,
    },
    /// A judgement is stored.
    Judged {
        /// Its verdict.
        verdict: model::Verdict,
        /// Whether it is the submission's verdict now.
        current: bool,
    },
}

/// Watchers that fall behind by more than this miss events; they then read the store.
const BEHIND: usize = 1024;
/// Events of the judgement that is going on, kept for watchers who come late. More are not kept.
const KEPT: usize = 20_000;
/// A judgement of which nothing was heard for so long ended elsewhere, and the news of that was lost.
const LOST: Duration = Duration::from_secs(3600);
/// News that wait to be told to other servers; more are not told there.
const WAITING: usize = 4096;

/// The submissions being judged or watched.
#[derive(Debug, Default)]
pub(crate) struct Live {
    all: Mutex<HashMap<SubmissionId, Going>>,
    /// Where what is told here goes on to other servers.
    elsewhere: OnceLock<mpsc::Sender<(SubmissionId, LiveEvent)>>,
}

#[derive(Debug)]
struct Going {
    so_far: Vec<LiveEvent>,
    judging: bool,
    heard: Instant,
    tell: broadcast::Sender<LiveEvent>,
}

impl Live {
    fn all(&self) -> MutexGuard<'_, HashMap<SubmissionId, Going>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is told here from now on, for other servers. For one listener.
    pub(crate) fn outlet(&self) -> Option<mpsc::Receiver<(SubmissionId, LiveEvent)>> {
        let (to, from) = mpsc::channel(WAITING);
        self.elsewhere.set(to).ok().map(|()| from)
    }

    /// Tells the watchers of a submission, here and at other servers.
    pub(crate) fn tell(&self, submission: SubmissionId, event: LiveEvent) {
        if let Some(elsewhere) = self.elsewhere.get() {
            // Watchers there who miss something read the store.
            drop(elsewhere.try_send((submission, event.clone())));
        }
        self.hear(submission, event);
    }

    /// Tells the watchers here what another server or a worker told everybody.
    pub(crate) fn hear(&self, submission: SubmissionId, event: LiveEvent) {
        let mut all = self.all();
        if matches!(event, LiveEvent::Started { .. }) {
            all.retain(|_, going| going.heard.elapsed() < LOST || going.tell.receiver_count() > 0);
        }
        let going = all.entry(submission).or_insert_with(Going::new);
        going.heard = Instant::now();
        let ends = match &event {
            LiveEvent::Started { .. } => {
                going.so_far.clear();
                going.judging = true;
                false
            }
            LiveEvent::Returned { .. } | LiveEvent::Judged { .. } => true,
            LiveEvent::Progress { .. } => false,
        };
        if going.so_far.len() < KEPT {
            going.so_far.push(event.clone());
        }
        // Nobody may be listening.
        let watched = going.tell.send(event).is_ok();
        if ends {
            going.judging = false;
            going.so_far.clear();
        }
        if !watched && !going.judging {
            all.remove(&submission);
        }
    }

    /// What has happened in the judgement that is going on, and what will.
    pub(crate) fn watch(&self, submission: SubmissionId) -> (Vec<LiveEvent>, broadcast::Receiver<LiveEvent>) {
        let mut all = self.all();
        // Those whose watchers have gone.
        all.retain(|_, going| going.judging || going.tell.receiver_count() > 0);
        let going = all.entry(submission).or_insert_with(Going::new);
        (going.so_far.clone(), going.tell.subscribe())
    }
}

impl Going {
    fn new() -> Going {
        Going {
            so_far: Vec::new(),
            judging: false,
            heard: Instant::now(),
            tell: broadcast::channel(BEHIND).0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(attempt: u64) -> LiveEvent {
        LiveEvent::Started { job: JobId(1), worker: "here/0".into(), attempt }
    }

    #[test]
    fn who_comes_late_hears_what_was_and_then_what_is() {
        let (live, one) = (Live::default(), SubmissionId(1));
        live.tell(one, started(1));
        let (so_far, mut coming) = live.watch(one);
        assert_eq!(so_far.len(), 1);
        live.tell(one, LiveEvent::Returned { why: "gone".into() });
        live.tell(one, started(2));
        assert!(matches!(coming.try_recv(), Ok(LiveEvent::Returned { .. })));
        assert!(matches!(coming.try_recv(), Ok(LiveEvent::Started { attempt: 2, .. })));
        let (so_far, _) = live.watch(one);
        assert!(matches!(so_far[..], [LiveEvent::Started { attempt: 2, .. }]), "of this attempt alone");
    }

    #[test]
    fn what_is_told_here_goes_on_and_what_is_heard_does_not() {
        let live = Live::default();
        let mut elsewhere = live.outlet().unwrap();
        assert!(live.outlet().is_none(), "for one listener");
        live.hear(SubmissionId(1), started(1));
        live.tell(SubmissionId(2), started(2));
        assert_eq!(live.watch(SubmissionId(1)).0.len(), 1);
        let (submission, event) = elsewhere.try_recv().unwrap();
        assert!(elsewhere.try_recv().is_err());
        let json = serde_json::to_value(&event).unwrap();
        let back: LiveEvent = serde_json::from_value(json).unwrap();
        assert!(matches!((submission, back), (SubmissionId(2), LiveEvent::Started { attempt: 2, .. })));
    }

    #[test]
    fn nothing_stays_of_what_is_neither_judged_nor_watched() {
        let live = Live::default();
        live.tell(SubmissionId(1), started(1));
        live.tell(SubmissionId(1), LiveEvent::Judged { verdict: model::Verdict::Accepted, current: true });
        drop(live.watch(SubmissionId(2)));
        live.watch(SubmissionId(3));
        assert_eq!(live.all().len(), 1);
    }
}
