//! What a running service does for its own order: what is older than the site keeps is deleted, in small steps, so that nobody
//! waits long for the database.

use crate::service::Service;
use crate::timestamp::now;
use std::sync::Arc;
use std::time::Duration;
use store::{Store, Timestamp};

/// How often.
const EVERY: Duration = Duration::from_secs(3600);
/// The first time: not while the service starts.
const FIRST: Duration = Duration::from_secs(60);
/// Submissions in a step.
const STEP: u32 = 20;
/// Between steps others write.
const PAUSE: Duration = Duration::from_millis(100);

/// Keeps order for as long as the service runs.
pub(crate) async fn serve(service: Arc<Service>) {
    let mut every = tokio::time::interval_at(tokio::time::Instant::now() + FIRST, EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        match tidy(&service.store, service.settings.retention, now()).await {
            Ok(0) => {}
            Ok(submissions) => {
                tracing::info!(submissions, "sources and runs of old submissions were deleted")
            }
            // A full or busy database is tidied the next time.
            Err(error) => tracing::error!(%error, "retention"),
        }
    }
}

/// Deletes what is older than `keep`, and sessions that are over; of how many submissions.
async fn tidy(store: &Store, keep: Option<Duration>, now: Timestamp) -> Result<u64, store::Error> {
    store.drop_old_sessions(now).await?;
    let Some(keep) = keep else { return Ok(0) };
    let keep = i64::try_from(keep.as_micros()).unwrap_or(i64::MAX);
    let before = Timestamp(now.0.saturating_sub(keep));
    let mut submissions = 0;
    loop {
        let some = store.forget(before, STEP, now).await?;
        submissions += some.submissions;
        if some.is_nothing() {
            return Ok(submissions);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_service::{accepted, facts};
    use store::{Claim, Conclusion, NewSubmission, Sample, Urgency};

    const DAY: i64 = 86_400_000_000;

    #[tokio::test]
    async fn what_is_old_and_judged_is_forgotten_in_steps() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("a.db").display().to_string()).await.unwrap();
        store.note_node("n", "p", &facts([]), Timestamp(0)).await.unwrap();
        store
            .add_sample("n", "index", &Sample { at: Timestamp(0), value: serde_json::json!(1) })
            .await
            .unwrap();
        let mut ids = Vec::new();
        for day in 0..30 {
            let token = day.to_string();
            ids.push(hand_in(&store, &token, Timestamp(day * DAY)).await);
        }
        for _ in 0..30 {
            let job = store
                .claim(Claim::local("w", Timestamp(40 * DAY), Timestamp(31 * DAY)))
                .await
                .unwrap()
                .unwrap();
            // One is still being judged.
            if job.submission == ids[3] {
                continue;
            }
            let lease = store::Lease { job: job.id, attempt: job.attempt };
            store.finish(lease, &accepted(), None, Timestamp(31 * DAY), Conclusion::stands()).await.unwrap();
        }
        let now = Timestamp(35 * DAY);
        assert_eq!(tidy(&store, None, now).await.unwrap(), 0, "kept for good");
        let keep = Some(Duration::from_secs(86_400 * 10));
        assert_eq!(tidy(&store, keep, now).await.unwrap(), 24);
        assert_eq!(tidy(&store, keep, now).await.unwrap(), 0);
        assert!(store.samples("n", "index", Timestamp(0), 9).await.unwrap().is_empty());
        for (id, day) in ids.into_iter().zip(0..) {
            let submission = store.submission(id).await.unwrap();
            assert_eq!(submission.forgotten.is_some(), day < 25 && day != 3, "day {day}");
        }
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    }

    async fn hand_in(store: &Store, token: &str, created: Timestamp) -> store::SubmissionId {
        let new = NewSubmission {
            token,
            version: None,
            author: None,
            language: "c",
            files: vec![("main.c", b"int main() {}")],
            details: serde_json::json!({}),
            created,
            urgency: Urgency::Live,
            contest: None,
            origin: store::PARTICIPANT,
            visitor: None,
            callback: None,
        };
        store.submit(&new).await.unwrap().0
    }
}
