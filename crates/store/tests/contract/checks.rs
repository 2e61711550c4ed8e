//! Rounds whose next job nobody can do; pools that two change at once; contests that are removed.

use crate::Body;
use crate::common::samples::{at, claim, facts, judgement, lease, submission, submit};
use crate::common::{Database, run};
use model::Verdict;
use serde_json::json;
use store::{
    Begun, Claim, Conclusion, Error, JobId, JobState, JudgementId, NewContest, NewSubmission, RoundJob,
    RoundStep, Store,
};

pub(crate) const TESTS: &[(&str, Body)] = &[
    ("a check that nobody can make ends with what there is", settled),
    ("of two who change a pool one does", pools),
    ("a contest that is used stays", contests),
];

/// A submission that was judged on node `w`, and waits for another one; the job that waits, and the judgement.
async fn checked(store: &Store, token: &str) -> (JobId, JudgementId) {
    let id = submit(store, token).await;
    let first = claim(store, "w/0").await.unwrap();
    let ask = RoundJob { place: None, confirm: false, not_on: &["w".to_string()], why: "grey" };
    let conclusion = Conclusion { answer: None, then: RoundStep::Continue(ask) };
    store.finish(lease(&first), &judgement(Verdict::Accepted), None, at(1), conclusion).await.unwrap();
    assert_eq!(store.submission(id).await.unwrap().current, None);
    let waiting = store.continuing(first.id, 9).await.unwrap();
    assert_eq!(waiting.iter().map(|job| job.round).collect::<Vec<_>>(), [first.id]);
    (waiting[0].id, store.answers(first.id).await.unwrap()[0].judgement)
}

fn settled(database: &Database) {
    run(async {
        let store = database.open().await;
        let (open, counts) = checked(&store, "a").await;
        assert!(claim(&store, "w/0").await.is_none(), "not on that node");
        assert!(store.settle(open, counts, "no other node", at(2)).await.unwrap());
        assert!(!store.settle(open, counts, "no other node", at(3)).await.unwrap());
        let job = store.job(open).await.unwrap();
        assert_eq!(job.state, JobState::Cancelled { why: "no other node".into() });
        let current = store.submission(job.submission).await.unwrap().current.unwrap();
        assert_eq!((current.id, current.verdict), (counts, Verdict::Accepted));
        assert_eq!(store.continuing(JobId(0), 9).await.unwrap(), []);
        // A ticket that nobody has begun is good for nothing then; what was begun is waited for.
        let (open, counts) = checked(&store, "b").await;
        store.note_node("v", "default", &facts("6.1"), at(2)).await.unwrap();
        let ticket = Claim { node: None, slots: Some(8), ..Claim::local("ticket", at(60), at(2)) };
        let ticket = store.claim(ticket).await.unwrap().unwrap();
        assert!(store.settle(open, counts, "no other node", at(3)).await.unwrap());
        let begun = store.begin(lease(&ticket), "v/0", "v", "default", at(60), at(4)).await.unwrap();
        assert!(matches!(begun, Begun::Over(_)), "{begun:?}");
        let (open, counts) = checked(&store, "c").await;
        let other = claim(&store, "v/0").await.unwrap();
        assert!(!store.settle(open, counts, "no other node", at(3)).await.unwrap());
        let (third, _) = checked(&store, "d").await;
        let wrong = store.settle(third, counts, "no other node", at(3)).await;
        assert!(matches!(wrong, Err(Error::Conflict(_))), "{wrong:?}");
        let found = judgement(Verdict::Accepted);
        store.finish(lease(&other), &found, None, at(5), Conclusion::stands()).await.unwrap();
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    });
}

fn pools(database: &Database) {
    run(async {
        let store = database.open().await;
        store.set_pool("metal", &json!({"kind": "strict", "n": 1}), at(0)).await.unwrap();
        let read = store.pool("metal").await.unwrap();
        assert!(store.change_pool(&read, &json!({"founder": "a"})).await.unwrap());
        assert!(!store.change_pool(&read, &json!({"founder": "b"})).await.unwrap());
        assert_eq!(store.pool("metal").await.unwrap().form, json!({"founder": "a"}));
        store.remove_pool("metal").await.unwrap();
        assert!(!store.change_pool(&read, &json!({"founder": "c"})).await.unwrap());
    });
}

fn contests(database: &Database) {
    run(async {
        let store = database.open().await;
        store.set_pool("metal", &json!({}), at(0)).await.unwrap();
        let policy = json!({});
        let new = |name| NewContest { name, pool: "metal", usual: None, at_once: None, policy: &policy };
        let id = store.set_contest(&new("finals"), at(0)).await.unwrap();
        store.set_contest(&new("trial"), at(0)).await.unwrap();
        store.submit(&NewSubmission { contest: Some(id), ..submission("a") }).await.unwrap();
        let kept = store.remove_contest("finals").await;
        assert!(matches!(&kept, Err(Error::Conflict(why)) if why.contains("contest finals")), "{kept:?}");
        store.remove_contest("trial").await.unwrap();
        assert!(matches!(store.remove_contest("trial").await, Err(Error::NotFound(_))));
        assert_eq!(store.contests().await.unwrap().len(), 1);
    });
}
