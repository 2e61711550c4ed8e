//! What a service needs besides: outputs, callbacks, nodes, rejudgings of many, giving up, deleting.

use crate::Body;
use crate::common::samples::{
    AGAIN, SOURCE, at, claim, facts, judge_all, judgement, lease, submission, submit,
};
use crate::common::{Database, run};
use model::Verdict;
use serde_json::json;
use store::{
    CallbackState, Claim, Conclusion, Error, Finished, Forgotten, Hash, Job, JudgementId, NewSubmission,
    NewUser, NodeChange, NodeState, Output, Purpose, Rejudge, RejudgingId, Role, Sample, State, Store,
    SubmissionId, Urgency, UserId,
};

pub(crate) const TESTS: &[(&str, Body)] = &[
    ("several are handed in, or none", several),
    ("outputs are kept byte by byte", outputs),
    ("a callback is due with the first verdict", callbacks),
    ("a callback is tried until it is done or given up", tries),
    ("a node keeps its state", nodes),
    ("a node is forgotten when it is at nothing", removed_nodes),
    ("samples come by kind and time", samples),
    ("a rejudging tells before from after", rejudgings),
    ("a rejudging is asked for whole or not at all", refused_rejudgings),
    ("who failed too often is given up", given_up),
    ("what an earlier self had is taken back", taken_back),
    ("how many are ahead", ahead),
    ("a deleted submission leaves nothing", deleted),
];

/// Stores what came of a job.
async fn finish(store: &Store, job: &Job, verdict: Verdict, output: Option<&Output>) -> JudgementId {
    match store.finish(lease(job), &judgement(verdict), output, at(5), Conclusion::stands()).await.unwrap() {
        Finished::Stored(id) => id,
        Finished::Already(id) => panic!("job {} has judgement {id}", job.id),
    }
}

async fn all_is_well(store: &Store) {
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}

fn several(database: &Database) {
    run(async {
        let store = database.open().await;
        let from = |token, origin| NewSubmission { origin, visitor: Some("v"), ..submission(token) };
        let ids = store.submit_many(&[from("1", "jury"), from("2", "judge0")]).await.unwrap();
        for ((id, job), (token, origin)) in ids.iter().zip([("1", "jury"), ("2", "judge0")]) {
            let found = store.submission(*id).await.unwrap();
            assert_eq!((found.token.as_str(), found.origin.as_str()), (token, origin));
            assert_eq!(found.visitor.as_deref(), Some("v"));
            assert_eq!(store.job(*job).await.unwrap().submission, *id);
        }
        let error = store.submit_many(&[submission("3"), submission("1")]).await.unwrap_err();
        assert!(matches!(&error, Error::Conflict(why) if why.contains("submission 1")), "{error}");
        assert!(matches!(store.submission_of_token("3").await, Err(Error::NotFound(_))));
        assert_eq!(store.submit_many(&[]).await.unwrap(), []);
        all_is_well(&store).await;
    });
}

fn outputs(database: &Database) {
    run(async {
        let store = database.open().await;
        let id = submit(&store, "1").await;
        store.rejudge(id, AGAIN).await.unwrap();
        let output = Output {
            stdout: (0..=255).cycle().take(100_000).collect(),
            stderr: b"\0\xff".to_vec(),
            details: json!({"command": "./a\u{0}b", "exit": 3}),
        };
        let job = claim(&store, "w").await.unwrap();
        let first = finish(&store, &job, Verdict::Accepted, Some(&output)).await;
        let again = store
            .finish(lease(&job), &judgement(Verdict::Accepted), None, at(6), Conclusion::stands())
            .await
            .unwrap();
        assert_eq!(again, Finished::Already(first));
        assert_eq!(store.output(first).await.unwrap(), Some(output));
        let job = claim(&store, "w").await.unwrap();
        let second = finish(&store, &job, Verdict::Accepted, None).await;
        assert_eq!(store.output(second).await.unwrap(), None);
        store.forget(at(9), 9, at(9)).await.unwrap();
        assert_eq!(store.output(first).await.unwrap(), None);
        all_is_well(&store).await;
    });
}

fn callbacks(database: &Database) {
    run(async {
        let store = database.open().await;
        let new = NewSubmission { callback: Some("http://a/"), ..submission("1") };
        let (id, _) = store.submit(&new).await.unwrap();
        store.add_callback(id, "http://b/", at(1)).await.unwrap();
        let trial = Rejudge { purpose: Purpose::Trial, urgency: Urgency::Live, ..AGAIN };
        store.rejudge(id, trial).await.unwrap();
        let urls = |now| {
            let store = store.clone();
            let url = |callback: store::Callback| (callback.url, callback.due);
            async move { store.due_callbacks(at(now), 9).await.unwrap().into_iter().map(url).collect::<Vec<_>>() }
        };
        let (verdict, trial) = (claim(&store, "w").await.unwrap(), claim(&store, "w").await.unwrap());
        finish(&store, &trial, Verdict::Accepted, None).await;
        assert_eq!(urls(99).await, []);
        assert!(store.callbacks(id).await.unwrap().iter().all(|c| c.state == CallbackState::Waiting));
        finish(&store, &verdict, Verdict::JudgeError, None).await;
        assert_eq!(urls(4).await, []);
        let both = [("http://a/".to_string(), Some(at(5))), ("http://b/".to_string(), Some(at(5)))];
        assert_eq!(urls(5).await, both);
        // One more verdict is no first one, and who asks late is told at once.
        store.rejudge(id, AGAIN).await.unwrap();
        judge_all(&store, Verdict::Accepted).await;
        assert_eq!(urls(99).await, both);
        store.add_callback(id, "http://c/", at(7)).await.unwrap();
        assert_eq!(urls(7).await[2], ("http://c/".to_string(), Some(at(7))));
        // Of two who deliver one has it, until it is due again.
        let due = store.due_callbacks(at(5), 1).await.unwrap().remove(0);
        assert!(store.take_callback(&due, at(20)).await.unwrap());
        assert!(!store.take_callback(&due, at(30)).await.unwrap());
        assert_eq!(
            urls(19).await.iter().map(|(url, _)| &**url).collect::<Vec<_>>(),
            ["http://b/", "http://c/"]
        );
        assert_eq!(urls(20).await[2], ("http://a/".to_string(), Some(at(20))));
        let nowhere = store.add_callback(SubmissionId(99), "http://d/", at(1)).await.unwrap_err();
        assert_eq!(nowhere.to_string(), "submission 99: not found");
        all_is_well(&store).await;
    });
}

fn tries(database: &Database) {
    run(async {
        let store = database.open().await;
        let id = submit(&store, "1").await;
        let (done, failed, late) = (
            store.add_callback(id, "http://a/", at(1)).await.unwrap(),
            store.add_callback(id, "http://b/", at(1)).await.unwrap(),
            store.add_callback(id, "http://c/", at(1)).await.unwrap(),
        );
        let refused = store.callback_done(done).await.unwrap_err();
        assert!(matches!(refused, Error::Conflict(_)), "{refused}");
        judge_all(&store, Verdict::Accepted).await;
        store.callback_failed(done, "no answer", Some(at(20))).await.unwrap();
        store.callback_failed(failed, "refused", None).await.unwrap();
        let due = |now, limit| {
            let store = store.clone();
            async move {
                let due = store.due_callbacks(at(now), limit).await.unwrap();
                due.into_iter().map(|c| (c.id, c.attempts, c.last_error)).collect::<Vec<_>>()
            }
        };
        assert_eq!(due(19, 9).await, [(late, 0, None)]);
        assert_eq!(due(20, 9).await, [(late, 0, None), (done, 1, Some("no answer".to_string()))]);
        assert_eq!(due(20, 1).await.len(), 1);
        store.callback_done(done).await.unwrap();
        store.callback_done(done).await.unwrap();
        for ended in [done, failed] {
            let error = store.callback_failed(ended, "late", Some(at(30))).await.unwrap_err();
            assert!(matches!(error, Error::Conflict(_)), "{error}");
        }
        let states: Vec<_> = store.callbacks(id).await.unwrap().iter().map(|c| c.state).collect();
        assert_eq!(states, [CallbackState::Done, CallbackState::Failed, CallbackState::Due]);
        store.forget(at(9), 9, at(9)).await.unwrap();
        assert_eq!(due(99, 9).await, [(late, 0, None)]);
        assert_eq!(store.callbacks(id).await.unwrap().len(), 1);
        let nowhere = store.callback_done(done).await.unwrap_err();
        assert_eq!(nowhere.to_string(), format!("callback {done}: not found"));
        all_is_well(&store).await;
    });
}

fn nodes(database: &Database) {
    run(async {
        let store = database.open().await;
        let new = store.note_node("b", "p", &facts("6.1"), at(1)).await.unwrap();
        assert_eq!((new.state, new.first_seen, new.last_seen), (NodeState::Active, at(1), at(1)));
        store.note_node("a", "q", &facts("6.1"), at(1)).await.unwrap();
        store.set_node_state("b", NodeState::Draining, Some("fan is loud")).await.unwrap();
        let known = store.note_node("b", "r", &facts("6.18"), at(7)).await.unwrap();
        assert_eq!((known.state, known.reason.as_deref()), (NodeState::Draining, Some("fan is loud")));
        assert_eq!(known.pool, "r");
        assert_eq!((known.first_seen, known.last_seen), (at(1), at(7)));
        assert_eq!(store.node("b").await.unwrap(), known);
        let whole = (known, facts("6.18"));
        assert_eq!(store.node_with_facts("b").await.unwrap(), whole);
        assert_eq!(store.nodes_with_facts().await.unwrap()[1], whole);
        let names: Vec<_> = store.nodes().await.unwrap().into_iter().map(|node| node.name).collect();
        assert_eq!(names, ["a", "b"]);
        store.set_node_state("b", NodeState::Active, None).await.unwrap();
        assert_eq!(store.node("b").await.unwrap().reason, None);
        for error in [
            store.node("c").await.unwrap_err(),
            store.node_with_facts("c").await.unwrap_err(),
            store.set_node_state("c", NodeState::Drained, None).await.unwrap_err(),
            store.add_sample("c", "index", &Sample { at: at(1), value: json!(1) }).await.unwrap_err(),
        ] {
            assert_eq!(error.to_string(), "node c: not found");
        }
    });
}

fn removed_nodes(database: &Database) {
    run(async {
        let store = database.open().await;
        for name in ["a", "b"] {
            store.note_node(name, "p", &facts("6.1"), at(1)).await.unwrap();
            store.add_sample(name, "index", &Sample { at: at(1), value: json!(1) }).await.unwrap();
            let node = store.node(name).await.unwrap();
            let event = Some(("k".to_string(), "t".to_string(), None));
            store.change_node(&node, &NodeChange { event, ..NodeChange::none(&node) }, at(2)).await.unwrap();
        }
        submit(&store, "1").await;
        let claim = Claim { node: Some("a"), ..Claim::local("a/0", at(60), at(3)) };
        let job = store.claim(claim).await.unwrap().unwrap();
        assert_eq!(store.running_on("a").await.unwrap(), [(job.submission, job.id, at(3))]);
        assert_eq!(store.running_on("b").await.unwrap(), []);
        let busy = store.remove_node("a").await.unwrap_err();
        assert!(matches!(&busy, Error::Conflict(why) if why.contains("it is at job")), "{busy}");
        finish(&store, &job, Verdict::Accepted, None).await;
        store.remove_node("a").await.unwrap();
        let gone = store.remove_node("a").await.unwrap_err();
        assert_eq!(gone.to_string(), "node a: not found");
        assert_eq!(store.node_events("a", 9).await.unwrap(), []);
        assert_eq!(store.samples("a", "index", at(0), 9).await.unwrap(), []);
        assert_eq!(store.samples("b", "index", at(0), 9).await.unwrap().len(), 1);
        assert_eq!(store.job(job.id).await.unwrap().node.as_deref(), Some("a"), "what it judged stays");
        all_is_well(&store).await;
    });
}

fn samples(database: &Database) {
    run(async {
        let store = database.open().await;
        for name in ["a", "b"] {
            store.note_node(name, "p", &facts("6.1"), at(0)).await.unwrap();
            for n in 0..6 {
                let sample = Sample { at: at(n / 2), value: json!({"n": n, "of": name}) };
                store.add_sample(name, ["index", "noise"][n as usize % 2], &sample).await.unwrap();
            }
        }
        let seen = |since, limit| {
            let store = store.clone();
            async move {
                let samples = store.samples("b", "noise", at(since), limit).await.unwrap();
                samples.into_iter().map(|s| (s.at, s.value["n"].as_i64().unwrap())).collect::<Vec<_>>()
            }
        };
        assert_eq!(seen(0, 9).await, [(at(2), 5), (at(1), 3), (at(0), 1)]);
        assert_eq!(seen(1, 9).await, [(at(2), 5), (at(1), 3)]);
        assert_eq!(seen(0, 1).await, [(at(2), 5)]);
        assert_eq!(store.samples("b", "nothing", at(0), 9).await.unwrap(), []);
        let gone = |samples| Forgotten { samples, ..Forgotten::default() };
        assert_eq!(store.forget(at(1), 3, at(9)).await.unwrap(), gone(3));
        assert_eq!(store.forget(at(1), 3, at(9)).await.unwrap(), gone(1));
        assert_eq!(seen(0, 9).await, [(at(2), 5), (at(1), 3)]);
        for (n, word) in ["first", "second", "third"].into_iter().enumerate() {
            let node = store.node("b").await.unwrap();
            let event = Some((word.to_string(), String::new(), None));
            let change = NodeChange { event, ..NodeChange::none(&node) };
            assert!(store.change_node(&node, &change, at(i64::try_from(n).unwrap())).await.unwrap());
        }
        let gone = |samples, events| Forgotten { samples, events, ..Forgotten::default() };
        assert_eq!(store.forget(at(2), 1, at(9)).await.unwrap(), gone(1, 1));
        assert_eq!(store.forget(at(2), 9, at(9)).await.unwrap(), gone(3, 1));
        assert!(store.forget(at(2), 9, at(9)).await.unwrap().is_nothing());
        let left = store.node_events("b", 9).await.unwrap();
        assert_eq!(left.iter().map(|event| event.kind.as_str()).collect::<Vec<_>>(), ["third"]);
    });
}

fn rejudgings(database: &Database) {
    use Verdict::{Accepted as AC, JudgeError as JE, WrongAnswer as WA};
    run(async {
        let store = database.open().await;
        let jury = NewUser { name: "j", display: "J", role: Role::Jury, password: None, created: at(0) };
        let jury = store.add_user(jury).await.unwrap();
        let (one, two) = (submit(&store, "1").await, submit(&store, "2").await);
        judge_all(&store, AC).await;
        let three = submit(&store, "3").await;
        let asked = Rejudge { times: 2, ..AGAIN };
        let id = store.add_rejudging("new data", Some(jury), &[three, one, two, one], asked).await.unwrap();
        let later = store.add_rejudging("again", None, &[one], AGAIN).await.unwrap();
        let seen = || {
            let store = store.clone();
            async move {
                let (whole, submissions) = store.rejudging(id).await.unwrap();
                assert_eq!((whole.reason.as_str(), whole.by, whole.created), ("new data", Some(jury), at(9)));
                assert_eq!((whole.submissions, whole.jobs), (3, 6));
                let after = |one: &store::Rejudged| one.after.iter().map(|j| j.verdict).collect::<Vec<_>>();
                let before = |one: &store::Rejudged| one.before.as_ref().map(|j| (j.verdict, j.current));
                let all = submissions.iter().map(|one| (one.submission, before(one), after(one)));
                (whole.judged, all.collect::<Vec<_>>())
            }
        };
        let unjudged =
            vec![(one, Some((AC, true)), vec![]), (two, Some((AC, true)), vec![]), (three, None, vec![])];
        assert_eq!(seen().await, (0, unjudged));
        while let Some(job) = claim(&store, "w").await {
            if job.rejudging == Some(id) {
                let verdict = if job.submission == two { JE } else { WA };
                finish(&store, &job, verdict, None).await;
            }
        }
        let judged = vec![
            (one, Some((AC, false)), vec![WA, WA]),
            (two, Some((AC, true)), vec![JE, JE]),
            (three, None, vec![WA, WA]),
        ];
        assert_eq!(seen().await, (6, judged));
        let page = |before, limit| {
            let store = store.clone();
            async move {
                let page = store.rejudgings(before, limit).await.unwrap();
                page.into_iter().map(|r| (r.id, r.submissions, r.judged)).collect::<Vec<_>>()
            }
        };
        assert_eq!(page(None, 9).await, [(later, 1, 0), (id, 3, 6)]);
        assert_eq!(page(None, 1).await, [(later, 1, 0)]);
        assert_eq!(page(Some(later), 9).await, [(id, 3, 6)]);
        assert!(matches!(store.rejudging(RejudgingId(99)).await, Err(Error::NotFound(_))));
        all_is_well(&store).await;
    });
}

fn refused_rejudgings(database: &Database) {
    run(async {
        let store = database.open().await;
        let mut ids = Vec::new();
        for n in 0..450 {
            let token = n.to_string();
            let files: Vec<(&str, &[u8])> = vec![("main.c", b"x")];
            ids.push(store.submit(&NewSubmission { files, ..submission(&token) }).await.unwrap().0);
        }
        let nowhere: Vec<_> = ids.iter().copied().chain([SubmissionId(999)]).collect();
        let error = store.add_rejudging("no", None, &nowhere, AGAIN).await.unwrap_err();
        assert_eq!(error.to_string(), "submission 999: not found");
        assert_eq!(store.counts().await.unwrap().background, 0);
        assert_eq!(store.rejudgings(None, 9).await.unwrap(), []);
        // More than go into one statement; the tickets go on from one to the next.
        let id = store.add_rejudging("yes", None, &ids, AGAIN).await.unwrap();
        assert_eq!(store.counts().await.unwrap().background, 450);
        assert_eq!(store.rejudging(id).await.unwrap().0.submissions, 450);
        let mut order = Vec::new();
        while let Some(job) = claim(&store, "w").await {
            order.push(job.submission);
        }
        assert_eq!(order, [ids.clone(), ids].concat());
        all_is_well(&store).await;
    });
}

fn given_up(database: &Database) {
    run(async {
        let store = database.open().await;
        let id = submit(&store, "1").await;
        let counts = |job: &Job| (job.attempt, job.failed, job.returned.clone());
        let job = claim(&store, "w").await.unwrap();
        assert_eq!(counts(&job), (1, 0, None));
        assert_eq!(store.fail(lease(&job), "the launcher died").await.unwrap(), 1);
        assert!(matches!(store.fail(lease(&job), "again").await, Err(Error::Conflict(_))));
        let job = claim(&store, "w").await.unwrap();
        assert_eq!(counts(&job), (2, 1, Some("the launcher died".to_string())));
        store.give_back(lease(&job), "shutting down").await.unwrap();
        let job = claim(&store, "w").await.unwrap();
        assert_eq!(counts(&job), (3, 1, Some("shutting down".to_string())));
        store.reap(at(60)).await.unwrap();
        let late = lease(&job);
        let job = claim(&store, "w").await.unwrap();
        assert_eq!(counts(&job), (4, 2, Some("the lease of w ended".to_string())));
        // It was only cut off: said once or twice, by the one whose lease it was.
        store.pardon(late, "v").await.unwrap();
        assert_eq!(store.job(job.id).await.unwrap().failed, 2);
        store.pardon(late, "w").await.unwrap();
        store.pardon(late, "w").await.unwrap();
        let pardoned = store.job(job.id).await.unwrap();
        assert_eq!(counts(&pardoned), (4, 1, Some("the lease of w ended; it was only cut off".to_string())));
        finish(&store, &job, Verdict::JudgeError, None).await;
        let given_up = store.submission(id).await.unwrap();
        assert_eq!((given_up.state, given_up.current.unwrap().verdict), (State::Judged, Verdict::JudgeError));
        all_is_well(&store).await;
    });
}

fn taken_back(database: &Database) {
    run(async {
        let store = database.open().await;
        for token in ["1", "2", "3", "4"] {
            submit(&store, token).await;
        }
        let mut jobs = Vec::new();
        for worker in ["here/0", "there/0", "here/1", "he%"] {
            jobs.push(claim(&store, worker).await.unwrap());
        }
        assert_eq!(store.take_back("nobody", "why").await.unwrap(), []);
        let mut taken = store.take_back("here/", "the service starts").await.unwrap();
        taken.sort_by_key(|lease| lease.job);
        assert_eq!(taken, [lease(&jobs[0]), lease(&jobs[2])]);
        assert_eq!(store.take_back("he%", "why").await.unwrap(), [lease(&jobs[3])]);
        let again = claim(&store, "here/0").await.unwrap();
        assert_eq!((again.id, again.attempt, again.failed), (jobs[0].id, 2, 0));
        assert_eq!(again.returned.as_deref(), Some("the service starts"));
        assert!(store.extend(lease(&jobs[1]), at(99)).await.is_ok());
        assert!(store.extend(lease(&jobs[0]), at(99)).await.is_err());
    });
}

fn ahead(database: &Database) {
    run(async {
        let store = database.open().await;
        let id = submit(&store, "1").await;
        let again = store.rejudge(id, Rejudge { times: 2, ..AGAIN }).await.unwrap();
        let (_, live) = store.submit(&submission("2")).await.unwrap();
        let first = store.jobs(id).await.unwrap()[0].id;
        for (job, expected) in [(first, 0), (live, 1), (again[0], 2), (again[1], 3)] {
            assert_eq!(store.ahead(job).await.unwrap(), expected, "job {job}");
        }
        // The two live ones of nobody; what is judged again in the background does not count.
        for (author, most, expected) in [(None, 9, 2), (None, 1, 1), (Some(UserId(1)), 9, 0)] {
            assert_eq!(store.waiting_of(author, most).await.unwrap(), expected, "{author:?} {most}");
        }
        claim(&store, "w").await.unwrap();
        assert_eq!(store.waiting_of(None, 9).await.unwrap(), 1);
        for (job, expected) in [(first, 0), (live, 0), (again[1], 2)] {
            assert_eq!(store.ahead(job).await.unwrap(), expected, "job {job}");
        }
    });
}

fn deleted(database: &Database) {
    run(async {
        let store = database.open().await;
        let files: Vec<(&str, &[u8])> = vec![("main.c", b"only here"), ("same.h", SOURCE)];
        let new = NewSubmission { files, callback: Some("http://a/"), ..submission("1") };
        let (id, _) = store.submit(&new).await.unwrap();
        let other = submit(&store, "2").await;
        let job = claim(&store, "w").await.unwrap();
        let error = store.delete_submission(id).await.unwrap_err();
        assert!(matches!(&error, Error::Conflict(why) if why.contains("still to be judged")), "{error}");
        let stored = finish(&store, &job, Verdict::Accepted, Some(&Output::default())).await;
        let rejudging = store.add_rejudging("why", None, &[id, other], AGAIN).await.unwrap();
        assert!(matches!(store.delete_submission(id).await, Err(Error::Conflict(_))));
        judge_all(&store, Verdict::WrongAnswer).await;
        store.delete_submission(id).await.unwrap();
        let again = store.delete_submission(id).await.unwrap_err();
        assert_eq!(again.to_string(), format!("submission {id}: not found"));
        assert!(matches!(store.submission_of_token("1").await, Err(Error::NotFound(_))));
        assert!(matches!(store.judgement(stored).await, Err(Error::NotFound(_))));
        assert_eq!(store.output(stored).await.unwrap(), None);
        assert_eq!(store.due_callbacks(at(99), 9).await.unwrap(), []);
        assert_eq!(store.jobs(id).await.unwrap(), []);
        assert!(matches!(store.blob(&Hash::digest(b"only here")).await, Err(Error::NotFound(_))));
        assert_eq!(store.blob(&Hash::digest(SOURCE)).await.unwrap(), SOURCE);
        let (whole, left) = store.rejudging(rejudging).await.unwrap();
        assert_eq!((whole.submissions, whole.jobs, left.len()), (1, 1, 1));
        assert_eq!(store.counts().await.unwrap().submissions, 1);
        all_is_well(&store).await;
        // The name is free again, the number is not.
        assert!(submit(&store, "1").await > other);
    });
}
