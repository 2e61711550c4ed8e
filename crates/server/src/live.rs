//! What is going on in judgements right now, for whoever watches. Nothing here is kept: what counts is in the store.

use model::Event;
use serde::Serialize;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::{JobId, SubmissionId};
use tokio::sync::broadcast;

/// What watchers of a submission hear.
#[derive(Clone, Debug, Serialize)]
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

/// The submissions being judged or watched.
#[derive(Debug, Default)]
pub(crate) struct Live {
    all: Mutex<HashMap<SubmissionId, Going>>,
}

#[derive(Debug)]
struct Going {
    so_far: Vec<LiveEvent>,
    judging: bool,
    tell: broadcast::Sender<LiveEvent>,
}

impl Live {
    fn all(&self) -> MutexGuard<'_, HashMap<SubmissionId, Going>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the watchers of a submission.
    pub(crate) fn tell(&self, submission: SubmissionId, event: LiveEvent) {
        let mut all = self.all();
        let going = all.entry(submission).or_insert_with(Going::new);
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
        Going { so_far: Vec::new(), judging: false, tell: broadcast::channel(BEHIND).0 }
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
    fn nothing_stays_of_what_is_neither_judged_nor_watched() {
        let live = Live::default();
        live.tell(SubmissionId(1), started(1));
        live.tell(SubmissionId(1), LiveEvent::Judged { verdict: model::Verdict::Accepted, current: true });
        drop(live.watch(SubmissionId(2)));
        live.watch(SubmissionId(3));
        assert_eq!(live.all().len(), 1);
    }
}
