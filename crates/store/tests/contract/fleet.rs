//! Pools, contests, nodes that are admitted and doubted, and what is counted of them.

use crate::Body;
use crate::common::samples::{asks, at, contest, facts, finish, submission};
use crate::common::{Database, run};
use model::Verdict;
use serde_json::json;
use store::{
    Anywhere, Conclusion, Error, NewContest, NewSubmission, NodeChange, NodeState, RoundJob, RoundStep,
    Throughput,
};

pub(crate) const TESTS: &[(&str, Body)] = &[
    ("pools are kept while somebody uses them", pools),
    ("contests are bound to pools", contests),
    ("a node waits until it is admitted", nodes),
    ("of two who change a node one reads again", change),
    ("what was done where", figures),
];

fn pools(database: &Database) {
    run(async {
        let store = database.open().await;
        store.set_pool("metal", &json!({"kind": "strict"}), at(1)).await.unwrap();
        store.set_pool("cloud", &json!({}), at(2)).await.unwrap();
        store.set_pool("metal", &json!({"kind": "relaxed"}), at(3)).await.unwrap();
        let metal = store.pool("metal").await.unwrap();
        assert_eq!((metal.form, metal.created), (json!({"kind": "relaxed"}), at(1)));
        let names: Vec<_> = store.pools().await.unwrap().into_iter().map(|pool| pool.name).collect();
        assert_eq!(names, ["cloud", "metal"]);
        assert!(matches!(store.pool("iron").await, Err(Error::NotFound(_))));
        assert!(matches!(store.remove_pool("iron").await, Err(Error::NotFound(_))));
        contest(&store, "finals", "metal", Some("metal")).await;
        let in_use = store.remove_pool("metal").await.unwrap_err();
        assert_eq!(in_use.to_string(), "pool metal: contest finals uses it; move that to another pool first");
        store.note_node("n", "cloud", &facts("6.1"), at(1)).await.unwrap();
        assert!(matches!(store.remove_pool("cloud").await, Err(Error::Conflict(_))));
        store.note_node("n", "metal", &facts("6.1"), at(1)).await.unwrap();
        store.remove_pool("cloud").await.unwrap();
        assert_eq!(store.pools().await.unwrap().len(), 1);
    });
}

fn contests(database: &Database) {
    run(async {
        let store = database.open().await;
        let policy = json!({"strictness": "strict"});
        let new = NewContest {
            name: "finals",
            pool: "metal",
            usual: Some("metal"),
            at_once: Some(5),
            policy: &policy,
        };
        let error = store.set_contest(&new, at(1)).await.unwrap_err();
        assert_eq!(error.to_string(), "pool metal: not found");
        store.set_pool("metal", &json!({}), at(0)).await.unwrap();
        let id = store.set_contest(&new, at(1)).await.unwrap();
        let relaxed = NewContest { usual: None, at_once: None, ..new };
        assert_eq!(store.set_contest(&relaxed, at(2)).await.unwrap(), id);
        let found = store.contest("finals").await.unwrap();
        assert_eq!(
            (found.usual, found.at_once, found.policy, found.created),
            (None, None, policy.clone(), at(1))
        );
        store.set_contest(&NewContest { name: "trial", ..new }, at(2)).await.unwrap();
        let names: Vec<_> = store.contests().await.unwrap().into_iter().map(|contest| contest.name).collect();
        assert_eq!(names, ["trial", "finals"]);
        assert_eq!(store.contest_by_id(id).await.unwrap().name, "finals");
        assert!(matches!(store.contest("x").await, Err(Error::NotFound(_))));
        let nowhere = Some(store::ContestId(99));
        let refused = store.submit(&NewSubmission { contest: nowhere, ..submission("1") }).await;
        assert_eq!(refused.unwrap_err().to_string(), "contest 99: not found");
        let (id, _) = store.submit(&NewSubmission { contest: Some(id), ..submission("1") }).await.unwrap();
        let filter = |contest| store::Filter { contest: Some(contest), ..store::Filter::default() };
        let of = store.contest("finals").await.unwrap().id;
        let page = store::Page::first(9);
        assert_eq!(store.submissions(&filter(of), page).await.unwrap()[0].id, id);
        assert!(store.submissions(&filter(store::ContestId(99)), page).await.unwrap().is_empty());
    });
}

fn nodes(database: &Database) {
    run(async {
        let store = database.open().await;
        let known = store.note_node("old", "default", &facts("6.1"), at(1)).await.unwrap();
        assert!(known.gets_work());
        let new = store.state_node("n", "metal", &json!({"cpu": "a"}), at(1)).await.unwrap();
        assert_eq!((new.waits.clone(), new.statement.clone()), (Some(json!([])), Some(json!({"cpu": "a"}))));
        assert!(!new.gets_work() && new.admitted.is_none());
        let admit = NodeChange { waits: None, admitted: new.statement.clone(), ..NodeChange::none(&new) };
        assert!(store.change_node(&new, &admit, at(2)).await.unwrap());
        let same = store.state_node("n", "metal", &json!({"cpu": "a"}), at(3)).await.unwrap();
        assert_eq!((same.gets_work(), same.revision, same.last_seen), (true, 1, at(3)));
        let other = store.state_node("n", "metal", &json!({"cpu": "b"}), at(4)).await.unwrap();
        assert_eq!((other.gets_work(), other.revision), (true, 2));
        assert_eq!(other.admitted, Some(json!({"cpu": "a"})));
        let elsewhere = store.state_node("n", "cloud", &json!({"cpu": "b"}), at(5)).await.unwrap();
        assert_eq!((elsewhere.waits, elsewhere.admitted), (Some(json!([])), None));
        assert_eq!(store.node("n").await.unwrap().pool, "cloud");
    });
}

fn change(database: &Database) {
    run(async {
        let store = database.open().await;
        let read = store.state_node("n", "metal", &json!({}), at(1)).await.unwrap();
        let event = |text: &str| Some(("drained".to_string(), text.to_string(), Some("ann".to_string())));
        let drain = NodeChange {
            state: NodeState::Draining,
            reason: Some("core: 3.1 % slower".into()),
            health: Some(json!({"core": 12})),
            doubted_since: Some(at(0)),
            event: event("slower"),
            ..NodeChange::none(&read)
        };
        let changes = (0..4).map(|_| {
            let (store, read, drain) = (store.clone(), read.clone(), drain.clone());
            tokio::spawn(async move { store.change_node(&read, &drain, at(2)).await.unwrap() })
        });
        let mut changed = 0;
        for one in changes.collect::<Vec<_>>() {
            changed += usize::from(one.await.unwrap());
        }
        assert_eq!(changed, 1);
        let found = store.node("n").await.unwrap();
        assert_eq!((found.state, found.revision, found.doubted_since), (NodeState::Draining, 1, Some(at(0))));
        assert_eq!((found.health, found.reason.as_deref()), (drain.health, Some("core: 3.1 % slower")));
        let events = store.node_events("n", 9).await.unwrap();
        assert_eq!(
            (events.len(), events[0].text.as_str(), events[0].by.as_deref()),
            (1, "slower", Some("ann"))
        );
        assert_eq!((events[0].at, events[0].kind.as_str()), (at(2), "drained"));
        store.set_node_state("n", NodeState::Active, None).await.unwrap();
        assert!(!store.change_node(&read, &NodeChange::none(&read), at(3)).await.unwrap());
    });
}

fn figures(database: &Database) {
    run(async {
        let store = database.open().await;
        for token in ["1", "2", "3"] {
            store.submit(&submission(token)).await.unwrap();
        }
        let ask = RoundJob { place: Some("p"), confirm: true, not_on: &[], why: "near" };
        let mut ids = Vec::new();
        for then in [
            RoundStep::Continue(ask),
            Conclusion::stands().then,
            RoundStep::Continue(RoundJob { confirm: false, ..ask }),
        ] {
            let job = store.claim(asks("c", "cloud", Anywhere::Equally)).await.unwrap().unwrap();
            finish(&store, &job, Verdict::Accepted, Conclusion { answer: None, then }).await;
            ids.push((job.submission, job.id, at(20)));
        }
        for _ in 0..2 {
            let job = store.claim(asks("n", "p", Anywhere::Never)).await.unwrap().unwrap();
            finish(&store, &job, Verdict::Accepted, Conclusion::stands()).await;
        }
        let done = |pool: &str, finished, confirmed, checked| Throughput {
            pool: Some(pool.into()),
            finished,
            confirmed,
            checked,
        };
        assert_eq!(store.throughput(at(20)).await.unwrap(), [done("cloud", 3, 0, 0), done("p", 2, 1, 1)]);
        assert_eq!(store.throughput(at(21)).await.unwrap(), []);
        assert_eq!(store.judged_on("c", at(20), at(21), 9).await.unwrap(), ids);
        assert_eq!(store.judged_on("c", at(20), at(21), 2).await.unwrap(), ids[..2]);
        assert_eq!(store.judged_on("c", at(0), at(20), 9).await.unwrap(), []);
    });
}
