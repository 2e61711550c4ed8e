//! Jobs: who gets which, for how long, and what of a lost lease.

use crate::Body;
use crate::common::samples::{AGAIN, at, claim, judgement, lease, submission, submit};
use crate::common::{Database, run};
use model::Verdict;
use store::{
    Conclusion, Error, Finished, JobId, JobState, Lease, NewSubmission, NewUser, Rejudge, Role, State, Store,
    SubmissionId, Urgency, UserId,
};

pub(crate) const TESTS: &[(&str, Body)] = &[
    ("authors take turns", turns),
    ("the background waits", background),
    ("a job that comes back is next", comes_back),
    ("a lease ends when it is taken back", leases),
    ("a lost lease is good for nothing", lost),
    ("finishing can be repeated", repeated),
    ("many workers never get the same job", many_workers),
];

async fn author(store: &Store, name: &str) -> UserId {
    let user = NewUser { name, display: name, role: Role::Participant, password: None, created: at(0) };
    store.add_user(user).await.unwrap()
}

async fn submit_by(store: &Store, author: UserId, token: &str) {
    store.submit(&NewSubmission { author: Some(author), ..submission(token) }).await.unwrap();
}

/// The tokens of the next jobs, by claiming them.
async fn next(store: &Store, most: usize) -> Vec<String> {
    let mut tokens = Vec::new();
    while let Some(job) = if tokens.len() < most { claim(store, "w").await } else { None } {
        tokens.push(store.submission(job.submission).await.unwrap().token);
    }
    tokens
}

fn turns(database: &Database) {
    run(async {
        let store = database.open().await;
        let (ann, bob, eve) =
            (author(&store, "ann").await, author(&store, "bob").await, author(&store, "eve").await);
        for token in ["a1", "a2", "a3", "a4"] {
            submit_by(&store, ann, token).await;
        }
        submit_by(&store, bob, "b1").await;
        submit_by(&store, bob, "b2").await;
        assert_eq!(next(&store, 3).await, ["a1", "b1", "a2"]);
        // Who comes late is not owed the turns that were taken before.
        for token in ["e1", "e2", "e3"] {
            submit_by(&store, eve, token).await;
        }
        assert_eq!(next(&store, 9).await, ["b2", "a3", "e1", "a4", "e2", "e3"]);
    });
}

fn background(database: &Database) {
    run(async {
        let store = database.open().await;
        let first = submit(&store, "first").await;
        assert_eq!(next(&store, 1).await, ["first"]);
        store.rejudge(first, Rejudge { times: 2, ..AGAIN }).await.unwrap();
        submit(&store, "late").await;
        store.rejudge(first, Rejudge { urgency: Urgency::Live, ..AGAIN }).await.unwrap();
        let counts = store.counts().await.unwrap();
        assert_eq!((counts.live, counts.background, counts.claimed, counts.oldest), (2, 2, 1, Some(at(0))));
        assert_eq!(next(&store, 9).await, ["late", "first", "first", "first"]);
    });
}

fn comes_back(database: &Database) {
    run(async {
        let store = database.open().await;
        for token in ["1", "2", "3"] {
            submit(&store, token).await;
        }
        let (one, two) = (claim(&store, "w").await.unwrap(), claim(&store, "v").await.unwrap());
        assert_eq!(store.submission(one.submission).await.unwrap().state, State::Judging);
        store.give_back(lease(&one), "w shuts down").await.unwrap();
        assert_eq!(store.submission(one.submission).await.unwrap().state, State::Waiting);
        let again = claim(&store, "u").await.unwrap();
        assert_eq!((again.id, again.attempt, again.returned.as_deref()), (one.id, 2, Some("w shuts down")));
        assert_eq!(again.state, JobState::Claimed { worker: "u".into(), until: at(60) });
        assert_eq!(store.job(again.id).await.unwrap(), again);
        assert_ne!(claim(&store, "w").await.unwrap().id, two.id);
        assert_eq!(claim(&store, "w").await, None);
    });
}

fn leases(database: &Database) {
    run(async {
        let store = database.open().await;
        submit(&store, "1").await;
        submit(&store, "2").await;
        let (one, two) = (claim(&store, "w").await.unwrap(), claim(&store, "v").await.unwrap());
        assert_eq!(store.reap(at(59)).await.unwrap(), []);
        store.extend(lease(&two), at(90)).await.unwrap();
        assert_eq!(store.reap(at(60)).await.unwrap(), [lease(&one)]);
        assert_eq!(store.reap(at(60)).await.unwrap(), []);
        let again = claim(&store, "u").await.unwrap();
        assert_eq!(
            (again.id, again.attempt, again.returned.as_deref()),
            (one.id, 2, Some("the lease of w ended"))
        );
        // Time alone takes nothing away.
        assert!(matches!(
            store
                .finish(lease(&two), &judgement(Verdict::Accepted), None, at(500), Conclusion::stands())
                .await,
            Ok(Finished::Stored(_))
        ));
        assert_eq!(store.reap(at(500)).await.unwrap(), [lease(&again)]);
    });
}

fn lost(database: &Database) {
    run(async {
        let store = database.open().await;
        submit(&store, "1").await;
        let one = claim(&store, "w").await.unwrap();
        store.reap(at(60)).await.unwrap();
        refuse(&store, lease(&one), "it waits to be claimed again").await;
        let two = claim(&store, "v").await.unwrap();
        refuse(&store, lease(&one), "v has it, attempt 2").await;
        store
            .finish(lease(&two), &judgement(Verdict::WrongAnswer), None, at(70), Conclusion::stands())
            .await
            .unwrap();
        refuse(&store, lease(&one), "v has finished it, attempt 2").await;
        assert_eq!(store.history(one.submission).await.unwrap().len(), 1);
        let nowhere = Lease { job: JobId(99), attempt: 1 };
        let error = store.extend(nowhere, at(99)).await.unwrap_err();
        assert_eq!(error.to_string(), "job 99: not found");
    });
}

/// Nothing can be done with this lease, for this reason.
async fn refuse(store: &Store, lease: Lease, why: &str) {
    for error in [
        store.extend(lease, at(99)).await.unwrap_err(),
        store.give_back(lease, "no reason").await.unwrap_err(),
        store
            .finish(lease, &judgement(Verdict::Accepted), None, at(99), Conclusion::stands())
            .await
            .unwrap_err(),
    ] {
        let lost = format!(
            "job {}: the lease of attempt {} is lost: {why}, so what came of it is dropped",
            lease.job, lease.attempt
        );
        assert!(matches!(error, Error::Conflict(_)) && error.to_string().starts_with(&lost), "{error}");
    }
}

fn repeated(database: &Database) {
    run(async {
        let store = database.open().await;
        let id = submit(&store, "1").await;
        let job = claim(&store, "w").await.unwrap();
        let first = store
            .finish(lease(&job), &judgement(Verdict::WrongAnswer), None, at(1), Conclusion::stands())
            .await
            .unwrap();
        let second = store
            .finish(lease(&job), &judgement(Verdict::Accepted), None, at(2), Conclusion::stands())
            .await
            .unwrap();
        let Finished::Stored(stored) = first else { panic!("{first:?}") };
        assert_eq!(second, Finished::Already(stored));
        let history = store.history(id).await.unwrap();
        assert_eq!(
            history.iter().map(|j| (j.verdict, j.finished)).collect::<Vec<_>>(),
            [(Verdict::WrongAnswer, at(1))]
        );
        assert!(store.extend(lease(&job), at(99)).await.is_err());
    });
}

fn many_workers(database: &Database) {
    const JOBS: usize = 60;
    run(async {
        let store = database.open().await;
        let mut expected = Vec::new();
        for n in 0..JOBS {
            expected.push(submit(&store, &n.to_string()).await);
        }
        let workers = (0..8).map(|n| tokio::spawn(work(store.clone(), format!("w{n}")))).collect::<Vec<_>>();
        let mut judged = Vec::new();
        for worker in workers {
            judged.extend(worker.await.unwrap());
        }
        judged.sort();
        assert_eq!(judged, expected);
        assert_eq!(store.counts().await.unwrap().verdicts, [(Verdict::Accepted, JOBS as u64)]);
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    });
}

/// Judges until nothing waits; what it has judged.
async fn work(store: Store, name: String) -> Vec<SubmissionId> {
    let mut judged = Vec::new();
    while let Some(job) = claim(&store, &name).await {
        store
            .finish(lease(&job), &judgement(Verdict::Accepted), None, at(1), Conclusion::stands())
            .await
            .unwrap();
        judged.push(job.submission);
    }
    judged
}
