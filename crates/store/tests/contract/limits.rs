//! Time limits that are inferred, and who waits for them.

use crate::Body;
use crate::common::samples::{asks, at, claim, contest, judgement, lease, submission, ticket, version};
use crate::common::{Database, run};
use model::{InferredLimit, InferredScales, Judgement, Nanos, ReferenceScale, Verdict};
use serde_json::json;
use store::{
    Anywhere, AskLimit, Claim, Conclusion, ContestId, Error, Inferred, Job, LIMITS, LimitOf, NewContest,
    NewSubmission, Purpose, Rejudge, State, Store, SubmissionId, Urgency, VersionId,
};

pub(crate) const TESTS: &[(&str, Body)] = &[
    ("a time limit is asked for once", asked_once),
    ("who needs a time limit waits until it is there", waits),
    ("a time limit that was there in time is not waited for", in_time),
    ("each pool has its time limit", pools),
    ("a contest that moves waits for another pool's time limit", moved),
    ("a time limit is inferred again when that is asked for", again),
    ("a trial changes no time limit", trial),
    ("workers that infer no limits get no such job", incapable),
    ("scales are found when nothing else waits, and nobody waits for them", scales),
    ("whether a version states its limit is noted", stated),
];

fn limit(ms: u64) -> InferredLimit {
    InferredLimit::bare(Nanos::from_millis(ms), "made up")
}

fn of(version: VersionId, pool: Option<&str>) -> LimitOf {
    LimitOf { version, pool: pool.map(str::to_owned) }
}

async fn ask(store: &Store, of: &LimitOf, again: bool) -> (Option<SubmissionId>, bool) {
    let details = json!({"limit": of.pool});
    let token = format!("limit {} {:?}", of.version, of.pool);
    store
        .ask_limit(AskLimit {
            what: Inferred::TimeLimit,
            of,
            again,
            token: &token,
            details: &details,
            now: at(1),
        })
        .await
        .unwrap()
}

async fn a_version(store: &Store) -> VersionId {
    store.add_version(version(b"package")).await.unwrap().id
}

async fn submitted(
    store: &Store,
    token: &str,
    version: VersionId,
    contest: Option<ContestId>,
) -> SubmissionId {
    let new = NewSubmission { version: Some(version), contest, ..submission(token) };
    store.submit(&new).await.unwrap().0
}

async fn infers(store: &Store, job: &Job, ms: u64) {
    let judged = Judgement { time_limit: Nanos::from_millis(ms), ..judgement(Verdict::Accepted) };
    store.finish_limit(lease(job), &judged, &limit(ms), at(5)).await.unwrap();
}

async fn in_force(store: &Store, of: &LimitOf) -> Option<u64> {
    let stored = store.time_limit(of).await.unwrap()?;
    stored.limit.map(|found| found.inferred.limit.0 / 1_000_000)
}

async fn all_is_well(store: &Store) {
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}

fn asked_once(database: &Database) {
    run(async {
        let store = database.open().await;
        let of = of(a_version(&store).await, None);
        assert_eq!(store.time_limit(&of).await.unwrap(), None);
        let asking: Vec<_> = (0..4)
            .map(|_| {
                let (store, of) = (store.clone(), of.clone());
                tokio::spawn(async move { ask(&store, &of, false).await })
            })
            .collect();
        let mut fresh = 0;
        for one in asking {
            let (submission, new) = one.await.unwrap();
            assert!(submission.is_some());
            fresh += u32::from(new);
        }
        assert_eq!(fresh, 1);
        let job = claim(&store, "a/0").await.unwrap();
        let submission = store.submission(job.submission).await.unwrap();
        assert_eq!((submission.origin.as_str(), job.urgency), (LIMITS, Urgency::Contest));
        assert!(!ask(&store, &of, true).await.1, "it is under way");
        infers(&store, &job, 300).await;
        assert_eq!(in_force(&store, &of).await, Some(300));
        let stored = store.time_limits(of.version).await.unwrap();
        let found = stored[0].limit.as_ref().unwrap();
        assert_eq!(
            (stored.len(), found.node.as_deref(), found.node_pool.as_deref()),
            (1, Some("a"), Some("default"))
        );
        assert!(!ask(&store, &of, false).await.1, "it is there");
        assert!(claim(&store, "a/0").await.is_none());
        let nowhere = LimitOf { version: VersionId(77), pool: None };
        let asks = AskLimit {
            what: Inferred::TimeLimit,
            of: &nowhere,
            again: false,
            token: "t",
            details: &json!({}),
            now: at(1),
        };
        assert!(matches!(store.ask_limit(asks).await, Err(Error::NotFound(_))));
        all_is_well(&store).await;
    });
}

fn waits(database: &Database) {
    run(async {
        let store = database.open().await;
        let of = of(a_version(&store).await, None);
        let first = submitted(&store, "1", of.version, None).await;
        let job = claim(&store, "a/0").await.unwrap();
        assert_eq!(job.submission, first);
        ask(&store, &of, false).await;
        store.await_limit(lease(&job), &of).await.unwrap();
        assert!(store.submission(first).await.unwrap().awaits_limit);
        assert_eq!(store.submission(first).await.unwrap().state, State::Waiting);
        assert!(matches!(store.await_limit(lease(&job), &of).await, Err(Error::Conflict(_))));
        // Another one is no worse off, and what infers the limit is given out.
        let other = store.submit(&submission("2")).await.unwrap().0;
        let infer = claim(&store, "a/0").await.unwrap();
        assert_ne!(infer.submission, other);
        let job = claim(&store, "b/0").await.unwrap();
        assert_eq!(job.submission, other);
        store
            .finish(lease(&job), &judgement(Verdict::Accepted), None, at(4), Conclusion::stands())
            .await
            .unwrap();
        assert!(claim(&store, "b/0").await.is_none());
        infers(&store, &infer, 300).await;
        assert!(!store.submission(first).await.unwrap().awaits_limit);
        let job = claim(&store, "b/0").await.unwrap();
        assert_eq!((job.submission, job.failed), (first, 0));
        all_is_well(&store).await;
    });
}

fn in_time(database: &Database) {
    run(async {
        let store = database.open().await;
        let of = of(a_version(&store).await, None);
        submitted(&store, "1", of.version, None).await;
        let job = claim(&store, "a/0").await.unwrap();
        ask(&store, &of, false).await;
        infers(&store, &claim(&store, "b/0").await.unwrap(), 300).await;
        store.await_limit(lease(&job), &of).await.unwrap();
        assert_eq!(claim(&store, "a/0").await.map(|again| again.id), Some(job.id));
    });
}

fn pools(database: &Database) {
    run(async {
        let store = database.open().await;
        let version = a_version(&store).await;
        let metal = contest(&store, "ioi", "metal", Some("metal")).await;
        let (own, none) = (of(version, Some("metal")), of(version, None));
        let inside = submitted(&store, "in", version, Some(metal)).await;
        let outside = submitted(&store, "out", version, None).await;
        for limit in [&own, &none] {
            ask(&store, limit, false).await;
        }
        let (mut of_metal, mut of_none) = (None, None);
        for _ in 0..4 {
            let job = store.claim(asks("m", "metal", Anywhere::Equally)).await.unwrap().unwrap();
            if job.submission == inside {
                store.await_limit(lease(&job), &own).await.unwrap();
            } else if job.submission == outside {
                store.await_limit(lease(&job), &none).await.unwrap();
            } else if job.place.as_deref() == Some("metal") {
                of_metal = Some(job);
            } else {
                of_none = Some(job);
            }
        }
        infers(&store, &of_metal.unwrap(), 100).await;
        assert!(!store.submission(inside).await.unwrap().awaits_limit);
        assert!(store.submission(outside).await.unwrap().awaits_limit);
        infers(&store, &of_none.unwrap(), 200).await;
        assert!(!store.submission(outside).await.unwrap().awaits_limit);
        assert_eq!((in_force(&store, &own).await, in_force(&store, &none).await), (Some(100), Some(200)));
        let all = store.time_limits(version).await.unwrap();
        assert_eq!(all.iter().map(|limit| limit.of.clone()).collect::<Vec<_>>(), [none, own]);
        all_is_well(&store).await;
    });
}

fn moved(database: &Database) {
    run(async {
        let store = database.open().await;
        let version = a_version(&store).await;
        let id = contest(&store, "ioi", "metal", Some("metal")).await;
        store.set_pool("cloud", &json!({}), at(0)).await.unwrap();
        let inside = submitted(&store, "in", version, Some(id)).await;
        let job = store.claim(asks("m", "metal", Anywhere::Equally)).await.unwrap().unwrap();
        store.await_limit(lease(&job), &of(version, Some("metal"))).await.unwrap();
        assert_eq!(store.awaiting(version).await.unwrap(), 1);
        let now = NewContest {
            name: "ioi",
            pool: "cloud",
            usual: Some("cloud"),
            at_once: None,
            policy: &json!({}),
        };
        store.set_contest(&now, at(3)).await.unwrap();
        let job = store.claim(asks("c", "cloud", Anywhere::Equally)).await.unwrap();
        assert_eq!(job.map(|job| job.submission), Some(inside), "so that its new limit is asked for");
    });
}

fn again(database: &Database) {
    run(async {
        let store = database.open().await;
        let of = of(a_version(&store).await, None);
        let (submission, _) = ask(&store, &of, false).await;
        let job = claim(&store, "a/0").await.unwrap();
        let fault = Judgement::fault("", "no accepted submission");
        store.finish(lease(&job), &fault, None, at(4), Conclusion::stands()).await.unwrap();
        assert_eq!(in_force(&store, &of).await, None);
        assert!(!ask(&store, &of, false).await.1, "nobody mended anything");
        assert_eq!(ask(&store, &of, true).await, (submission, true));
        assert_eq!(ask(&store, &of, true).await, (submission, false));
        infers(&store, &claim(&store, "a/0").await.unwrap(), 300).await;
        assert_eq!(ask(&store, &of, true).await, (submission, true));
        assert_eq!(in_force(&store, &of).await, Some(300), "until there is another");
        infers(&store, &claim(&store, "a/0").await.unwrap(), 400).await;
        assert_eq!(in_force(&store, &of).await, Some(400));
        all_is_well(&store).await;
    });
}

fn trial(database: &Database) {
    run(async {
        let store = database.open().await;
        let of = of(a_version(&store).await, None);
        let submission = ask(&store, &of, false).await.0.unwrap();
        infers(&store, &claim(&store, "a/0").await.unwrap(), 300).await;
        let trial = Rejudge {
            version: None,
            purpose: Purpose::Trial,
            times: 1,
            urgency: Urgency::Background,
            created: at(9),
        };
        store.add_rejudging("how far it varies", None, &[submission], trial).await.unwrap();
        infers(&store, &claim(&store, "a/0").await.unwrap(), 900).await;
        assert_eq!(in_force(&store, &of).await, Some(300));
    });
}

fn incapable(database: &Database) {
    run(async {
        let store = database.open().await;
        let of = of(a_version(&store).await, None);
        let (submission, _) = ask(&store, &of, false).await;
        let old = Claim { infers: false, ..asks("old", "default", Anywhere::Equally) };
        assert_eq!(store.claim(old).await.unwrap(), None);
        let other = submitted(&store, "1", of.version, None).await;
        assert_eq!(store.claim(old).await.unwrap().map(|job| job.submission), Some(other));
        assert_eq!(store.claim(ticket("default")).await.unwrap().map(|job| job.submission), submission);
    });
}

fn scales(database: &Database) {
    run(async {
        let store = database.open().await;
        let of = of(a_version(&store).await, None);
        assert_eq!(store.scales(&of).await.unwrap(), None);
        let details = json!({});
        let asks = |again| AskLimit {
            what: Inferred::Scales,
            of: &of,
            again,
            token: "scales",
            details: &details,
            now: at(1),
        };
        let (found_by, fresh) = store.ask_limit(asks(false)).await.unwrap();
        assert!(fresh && !store.ask_limit(asks(false)).await.unwrap().1);
        assert_eq!(store.scales(&of).await.unwrap().unwrap().found, None);
        assert_eq!(store.time_limit(&of).await.unwrap(), None, "they have a table of their own");
        let first = submitted(&store, "1", of.version, None).await;
        assert_eq!(
            claim(&store, "a/0").await.unwrap().submission,
            first,
            "what somebody waits for goes first"
        );
        let job = claim(&store, "a/0").await.unwrap();
        assert_eq!((Some(job.submission), job.urgency), (found_by, Urgency::Background));
        let scale = ReferenceScale {
            language: "c".into(),
            submission: "a.c".into(),
            test: "secret/1".into(),
            cpu: Nanos(4),
            reference: Nanos(3),
            counted_by: "x".into(),
        };
        let found = InferredScales { scales: vec![scale], warnings: vec!["y".into()] };
        store.finish_scales(lease(&job), &judgement(Verdict::Accepted), &found, at(5)).await.unwrap();
        let stored = store.all_scales(of.version).await.unwrap().remove(0).found.unwrap();
        assert_eq!((stored.inferred, stored.node.as_deref()), (found, Some("a")));
        assert!(store.ask_limit(asks(true)).await.unwrap().1, "again");
        all_is_well(&store).await;
    });
}

fn stated(database: &Database) {
    run(async {
        let store = database.open().await;
        let version = a_version(&store).await;
        for stated in [None, Some(true), Some(false)] {
            if let Some(stated) = stated {
                store.set_states_limit(version, stated).await.unwrap();
            }
            assert_eq!(store.version(version).await.unwrap().states_limit, stated);
            assert_eq!(store.problem("sieve").await.unwrap().newest.states_limit, stated);
        }
    });
}
