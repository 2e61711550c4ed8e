//! Rounds: several jobs that come to one verdict.

use crate::Body;
use crate::common::samples::{AGAIN, asks, at, contest, facts, finish, submission, submit, ticket};
use crate::common::{Database, Engine, execute, run};
use model::Verdict;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use store::{
    Anywhere, Begun, CallbackState, Claim, Conclusion, Error, Finished, Job, JobId, JudgementId,
    NewSubmission, Purpose, Rejudge, RoundJob, RoundStep, State, Store, SubmissionId,
};

pub(crate) const TESTS: &[(&str, Body)] = &[
    ("a round is asked on, and stands", stands),
    ("an earlier judgement of a round may count", earlier_counts),
    ("the latest round that stands is current", latest),
    ("a fault ends a round and takes no place", faults),
    ("trials in rounds never count", trials),
    ("a rejudging counts rounds", rejudgings),
    ("what breaks the promises on rounds is found", broken),
    ("any order of rounds", any_order),
];

const CONFIRM: RoundJob<'_> =
    RoundJob { place: Some("p"), confirm: true, not_on: &[], why: "near the limit" };

fn asking<'a>(ask: RoundJob<'a>, answer: Option<&'a Json>) -> Conclusion<'a> {
    Conclusion { answer, then: RoundStep::Continue(ask) }
}

fn counting(counts: JudgementId) -> Conclusion<'static> {
    Conclusion { answer: None, then: RoundStep::Stand { counts: Some(counts) } }
}

async fn next(store: &Store, node: &str, pool: &str) -> Job {
    store.claim(asks(node, pool, Anywhere::Equally)).await.unwrap().expect("something waits")
}

/// The verdict that counts, and how far judging has come.
async fn stand(store: &Store, id: SubmissionId) -> (State, Option<Verdict>) {
    let found = store.submission(id).await.unwrap();
    (found.state, found.current.map(|current| current.verdict))
}

fn stands(database: &Database) {
    run(async {
        let store = database.open().await;
        let relaxed = contest(&store, "a", "p", None).await;
        let new = NewSubmission { contest: Some(relaxed), callback: Some("http://x"), ..submission("1") };
        let (id, job) = store.submit(&new).await.unwrap();
        let first = next(&store, "c1", "cloud").await;
        let (answer, other) = (json!({"cpu_ns": 7}), ["c1".to_string()]);
        let on = RoundJob { place: None, not_on: &other, confirm: false, why: "drawn" };
        finish(&store, &first, Verdict::Accepted, asking(on, Some(&answer))).await;
        assert_eq!(stand(&store, id).await, (State::Waiting, None));
        assert_eq!(store.callbacks(id).await.unwrap()[0].state, CallbackState::Waiting);
        assert_eq!(store.forget(at(1), 9, at(1)).await.unwrap().submissions, 0);

        assert_eq!(store.claim(asks("c1", "cloud", Anywhere::Equally)).await.unwrap(), None);
        let second = next(&store, "c2", "cloud").await;
        assert_eq!((second.round, second.why.as_deref(), second.confirm), (job, Some("drawn"), false));
        assert_eq!((second.not_on.as_slice(), second.contest), (&other[..], Some(relaxed)));
        finish(&store, &second, Verdict::TimeLimit, asking(CONFIRM, None)).await;
        assert_eq!(store.claim(asks("c3", "cloud", Anywhere::Equally)).await.unwrap(), None);
        assert_eq!(store.claim(ticket("cloud")).await.unwrap(), None);

        let third = next(&store, "n", "p").await;
        assert_eq!((third.round, third.confirm, third.place.as_deref()), (job, true, Some("p")));
        assert_eq!(stand(&store, id).await, (State::Judging, None));
        let counts = finish(&store, &third, Verdict::WrongAnswer, Conclusion::stands()).await;
        assert_eq!(stand(&store, id).await, (State::Judged, Some(Verdict::WrongAnswer)));
        assert_eq!(store.callbacks(id).await.unwrap()[0].state, CallbackState::Due);

        let answers = store.answers(job).await.unwrap();
        let told: Vec<_> = answers
            .iter()
            .map(|a| (a.node.as_deref().unwrap(), a.pool.as_deref().unwrap(), a.answer.clone(), a.confirm))
            .collect();
        assert_eq!(
            told,
            [("c1", "cloud", Some(answer), false), ("c2", "cloud", None, false), ("n", "p", None, true)]
        );
        assert_eq!(answers.iter().map(|a| a.job).collect::<Vec<_>>(), [job, second.id, third.id]);
        let history = store.history(id).await.unwrap();
        let found: Vec<_> = history.iter().map(|j| (j.id == counts, j.stands, j.current)).collect();
        assert_eq!(found, [(false, false, false), (false, false, false), (true, true, true)]);
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
        store.delete_submission(id).await.unwrap();
        assert_eq!(store.answers(job).await.unwrap(), []);
    });
}

fn earlier_counts(database: &Database) {
    run(async {
        let store = database.open().await;
        let (id, other) = (submit(&store, "1").await, submit(&store, "2").await);
        let elsewhere = next(&store, "c1", "cloud").await;
        let elsewhere = finish(
            &store,
            &elsewhere,
            Verdict::Accepted,
            asking(RoundJob { place: Some("q"), ..CONFIRM }, None),
        )
        .await;
        let first = next(&store, "c1", "cloud").await;
        let anywhere = RoundJob { place: None, ..CONFIRM };
        let first = finish(&store, &first, Verdict::Accepted, asking(anywhere, None)).await;
        let second = next(&store, "c2", "cloud").await;
        let refused = store
            .finish(
                second.lease(),
                &crate::common::samples::judgement(Verdict::TimeLimit),
                None,
                at(1),
                counting(elsewhere),
            )
            .await;
        assert!(
            matches!(&refused, Err(Error::Conflict(why)) if why.contains("not one of the round")),
            "{refused:?}"
        );
        finish(&store, &second, Verdict::TimeLimit, counting(first)).await;
        assert_eq!(stand(&store, other).await, (State::Judged, Some(Verdict::Accepted)));
        assert_eq!(stand(&store, id).await, (State::Waiting, None));
        let history = store.history(other).await.unwrap();
        assert_eq!(
            history.iter().map(|j| (j.stands, j.current)).collect::<Vec<_>>(),
            [(true, true), (false, false)]
        );
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    });
}

fn latest(database: &Database) {
    run(async {
        let store = database.open().await;
        let id = submit(&store, "1").await;
        let first = next(&store, "c1", "cloud").await;
        store.rejudge(id, AGAIN).await.unwrap();
        finish(&store, &first, Verdict::Accepted, asking(CONFIRM, None)).await;
        let again = next(&store, "c1", "cloud").await;
        assert_ne!(again.round, first.round);
        finish(&store, &again, Verdict::WrongAnswer, Conclusion::stands()).await;
        assert_eq!(stand(&store, id).await, (State::Waiting, Some(Verdict::WrongAnswer)));
        // The job is a later one than that of the other round, but its round is the earlier.
        let confirms = next(&store, "n", "p").await;
        assert!(confirms.id > again.id);
        finish(&store, &confirms, Verdict::TimeLimit, Conclusion::stands()).await;
        assert_eq!(stand(&store, id).await, (State::Judged, Some(Verdict::WrongAnswer)));
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    });
}

fn faults(database: &Database) {
    run(async {
        let store = database.open().await;
        let id = submit(&store, "1").await;
        let first = next(&store, "c1", "cloud").await;
        let accepted = finish(&store, &first, Verdict::Accepted, asking(CONFIRM, None)).await;
        let second = next(&store, "n", "p").await;
        finish(&store, &second, Verdict::JudgeError, counting(accepted)).await;
        assert_eq!(stand(&store, id).await, (State::Judged, Some(Verdict::Accepted)));
        store.rejudge(id, AGAIN).await.unwrap();
        let third = next(&store, "c1", "cloud").await;
        finish(&store, &third, Verdict::JudgeError, asking(CONFIRM, None)).await;
        let fourth = next(&store, "n", "p").await;
        finish(&store, &fourth, Verdict::JudgeError, Conclusion::stands()).await;
        assert_eq!(stand(&store, id).await, (State::Judged, Some(Verdict::Accepted)));
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    });
}

fn trials(database: &Database) {
    run(async {
        let store = database.open().await;
        let id = submit(&store, "1").await;
        store.rejudge(id, Rejudge { purpose: Purpose::Trial, ..AGAIN }).await.unwrap();
        store.cancel(id, "no verdict", at(1)).await.unwrap();
        let trial = next(&store, "c1", "cloud").await;
        let stored = finish(&store, &trial, Verdict::Accepted, asking(CONFIRM, None)).await;
        let second = next(&store, "n", "p").await;
        finish(&store, &second, Verdict::Accepted, counting(stored)).await;
        assert_eq!(stand(&store, id).await, (State::Cancelled, None));
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    });
}

fn rejudgings(database: &Database) {
    run(async {
        let store = database.open().await;
        let (one, two) = (submit(&store, "1").await, submit(&store, "2").await);
        crate::common::samples::judge_all(&store, Verdict::Accepted).await;
        let id = store.add_rejudging("new tests", None, &[one, two], AGAIN).await.unwrap();
        let counts = async || {
            let found = store.rejudging(id).await.unwrap();
            let after: Vec<usize> = found.1.iter().map(|one| one.after.len()).collect();
            (found.0.submissions, found.0.jobs, found.0.judged, after)
        };
        assert_eq!(counts().await, (2, 2, 0, vec![0, 0]));
        let first = next(&store, "c1", "cloud").await;
        finish(&store, &first, Verdict::Accepted, asking(CONFIRM, None)).await;
        assert_eq!(counts().await, (2, 2, 0, vec![0, 0]));
        let second = next(&store, "n", "p").await;
        assert_eq!(second.rejudging, Some(id));
        finish(&store, &second, Verdict::WrongAnswer, Conclusion::stands()).await;
        assert_eq!(counts().await, (2, 2, 1, vec![1, 0]));
        let third = next(&store, "c1", "cloud").await;
        finish(&store, &third, Verdict::Accepted, asking(CONFIRM, None)).await;
        store.cancel(two, "unwanted", at(1)).await.unwrap();
        assert_eq!(counts().await, (2, 1, 1, vec![1, 0]));
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    });
}

fn broken(database: &Database) {
    run(async {
        let store = database.open().await;
        submit(&store, "1").await;
        let first = next(&store, "c1", "cloud").await;
        let not_on = ["c1".to_string()];
        finish(&store, &first, Verdict::Accepted, asking(RoundJob { not_on: &not_on, ..CONFIRM }, None))
            .await;
        let second = next(&store, "n", "p").await;
        finish(&store, &second, Verdict::Accepted, Conclusion::stands()).await;
        submit(&store, "2").await;
        store.claim(asks("c1", "cloud", Anywhere::Equally)).await.unwrap().unwrap();
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
        for (damage, found, repair) in [
            (
                "UPDATE jobs SET pool = 'cloud' WHERE id = 2",
                "job 2: judged, or being judged, in another pool than it must be",
                "UPDATE jobs SET pool = 'p' WHERE id = 2",
            ),
            (
                "UPDATE jobs SET node = 'c1' WHERE id = 2",
                "job 2: judged on a node that must not do it",
                "UPDATE jobs SET node = 'n' WHERE id = 2",
            ),
            (
                "UPDATE jobs SET round = 1, submission = 1 WHERE id = 3",
                "job 1: of its round several jobs are open, or one is though the round is at its end",
                "UPDATE jobs SET round = NULL, submission = 2 WHERE id = 3",
            ),
            (
                "UPDATE judgements SET stands = 1 WHERE id = 1",
                "job 1: its round came to several judgements",
                "UPDATE judgements SET stands = 0 WHERE id = 1",
            ),
            (
                "UPDATE judgements SET current = 0; UPDATE judgements SET current = 1 WHERE id = 1",
                "judgement 1: current, and its round came to something else or to nothing",
                "UPDATE judgements SET current = 0; UPDATE judgements SET current = 1 WHERE id = 2",
            ),
            (
                "UPDATE judgements SET stands = 0, current = 0 WHERE id = 2",
                "job 1: its round came to nothing, and nothing of it is open or was cancelled",
                "UPDATE judgements SET stands = 1, current = 1 WHERE id = 2",
            ),
            (
                "UPDATE jobs SET purpose = 'trial' WHERE id = 1",
                "job 2: of another submission or purpose than the first of its round",
                "UPDATE jobs SET purpose = 'verdict' WHERE id = 1",
            ),
        ] {
            execute(&database.url, damage).await;
            let wrong = store.check().await.unwrap();
            assert!(wrong.iter().any(|one| one.starts_with(found)), "{damage}: {wrong:?}");
            execute(&database.url, repair).await;
            assert_eq!(store.check().await.unwrap(), Vec::<String>::new(), "{repair}");
        }
    });
}

/// What can happen. Numbers choose among what there is.
#[derive(Clone, Copy, Debug)]
enum Event {
    Submit { strict: bool },
    Rejudge { submission: usize },
    Ticket { strict: bool },
    Begin { ticket: usize, node: usize },
    Finish { ticket: usize, verdict: Verdict, then: u8 },
    Lose { ticket: usize },
    Reap { seconds: i64 },
    Cancel { submission: usize },
    Bind { relaxed: bool },
}

fn event() -> impl Strategy<Value = Event> {
    let verdict = prop_oneof![3 => Just(Verdict::Accepted), 1 => Just(Verdict::JudgeError)];
    prop_oneof![
        3 => any::<bool>().prop_map(|strict| Event::Submit { strict }),
        1 => (0usize..9).prop_map(|submission| Event::Rejudge { submission }),
        6 => any::<bool>().prop_map(|strict| Event::Ticket { strict }),
        6 => (0usize..4, 0usize..4).prop_map(|(ticket, node)| Event::Begin { ticket, node }),
        6 => (0usize..4, verdict, 0u8..4).prop_map(|(ticket, verdict, then)| Event::Finish { ticket, verdict, then }),
        1 => (0usize..4).prop_map(|ticket| Event::Lose { ticket }),
        1 => (1i64..20).prop_map(|seconds| Event::Reap { seconds }),
        1 => (0usize..9).prop_map(|submission| Event::Cancel { submission }),
        1 => any::<bool>().prop_map(|relaxed| Event::Bind { relaxed }),
    ]
}

/// What somebody outside would know.
#[derive(Default)]
struct Model {
    now: i64,
    submissions: Vec<SubmissionId>,
    cancelled: BTreeSet<SubmissionId>,
    tickets: Vec<Job>,
    begun: BTreeMap<(JobId, u64), Job>,
    strict: BTreeSet<SubmissionId>,
}

const NODES: [(&str, &str); 4] = [("n1", "p"), ("n2", "p"), ("c1", "cloud"), ("c2", "cloud")];

impl Model {
    fn ticket(&self, n: usize) -> Option<Job> {
        self.tickets.iter().rev().nth(n).cloned()
    }

    async fn play(&mut self, store: &Store, event: Event, token: &str) {
        let chosen =
            |n: usize| (!self.submissions.is_empty()).then(|| self.submissions[n % self.submissions.len()]);
        match event {
            Event::Submit { strict } => {
                let name = if strict { "strict" } else { "free" };
                let contest = Some(store.contest(name).await.unwrap().id);
                let new = NewSubmission { contest, ..submission(token) };
                let id = store.submit(&new).await.unwrap().0;
                self.submissions.push(id);
                if strict {
                    self.strict.insert(id);
                }
            }
            Event::Rejudge { submission } => {
                let Some(id) = chosen(submission) else { return };
                store.rejudge(id, AGAIN).await.unwrap();
                self.cancelled.remove(&id);
            }
            Event::Ticket { strict } => {
                let pool = if strict { "p" } else { "cloud" };
                let (until, now) = (at(self.now + 10), at(self.now));
                if let Some(job) = store.claim(Claim { until, now, ..ticket(pool) }).await.unwrap() {
                    assert!(pool == "p" || !self.strict.contains(&job.submission), "{job:?} left its pool");
                    self.tickets.push(job);
                }
            }
            Event::Begin { ticket, node } => self.begin(store, ticket, NODES[node]).await,
            Event::Finish { ticket, verdict, then } => self.finish(store, ticket, verdict, then).await,
            Event::Lose { ticket } => {
                let Some(job) = self.ticket(ticket) else { return };
                drop(store.give_back(job.lease(), "lost").await);
            }
            Event::Reap { seconds } => {
                self.now += seconds;
                store.reap(at(self.now)).await.unwrap();
            }
            Event::Cancel { submission } => {
                let Some(id) = chosen(submission) else { return };
                if store.cancel(id, "unwanted", at(self.now)).await.unwrap() > 0 {
                    self.cancelled.insert(id);
                }
            }
            Event::Bind { relaxed } => drop(contest(store, "free", "p", (!relaxed).then_some("p")).await),
        }
    }

    async fn begin(&mut self, store: &Store, ticket: usize, (node, pool): (&str, &str)) {
        let Some(job) = self.ticket(ticket) else { return };
        let (until, now) = (at(self.now + 10), at(self.now));
        if let Begun::Go(job) = store.begin(job.lease(), node, node, pool, until, now).await.unwrap() {
            assert!(!job.not_on.iter().any(|other| other == node), "{job:?}");
            let before = self.begun.insert((job.id, job.attempt), job.clone());
            assert!(before.is_none_or(|before| before.node == job.node), "two have an attempt of {job:?}");
        }
    }

    async fn finish(&mut self, store: &Store, ticket: usize, verdict: Verdict, then: u8) {
        let Some(job) = self.ticket(ticket) else { return };
        if !self.begun.contains_key(&(job.id, job.attempt)) {
            return;
        }
        let answers = store.answers(job.round).await.unwrap();
        let not_on: Vec<String> = job.node.clone().into_iter().collect();
        let conclusion = match (then, answers.first()) {
            (0, _) => asking(CONFIRM, None),
            (1, _) => asking(
                RoundJob { place: job.place.as_deref(), confirm: false, not_on: &not_on, why: "drawn" },
                None,
            ),
            (2, Some(first)) if first.job != job.id => counting(first.judgement),
            _ => Conclusion::stands(),
        };
        let judgement = crate::common::samples::judgement(verdict);
        match store.finish(job.lease(), &judgement, None, at(self.now), conclusion).await {
            Ok(Finished::Stored(_) | Finished::Already(_)) | Err(Error::Conflict(_)) => {}
            Err(other) => panic!("{other}"),
        }
    }

    /// Whatever happened: in the end each submission has one verdict, but for those that were cancelled.
    async fn end(&mut self, store: &Store) {
        store.reap(at(self.now + 1000)).await.unwrap();
        for (node, pool) in [("last", "p"), ("last", "cloud")] {
            while let Some(job) = store.claim(asks(node, pool, Anywhere::Equally)).await.unwrap() {
                finish(store, &job, Verdict::Accepted, Conclusion::stands()).await;
            }
        }
        for id in &self.submissions {
            let found = store.submission(*id).await.unwrap();
            assert!(matches!(found.state, State::Judged | State::Cancelled), "{found:?}");
            assert!(found.state == State::Judged || self.cancelled.contains(id), "{found:?}");
        }
    }
}

fn any_order(database: &Database) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store = runtime.block_on(database.open());
    runtime.block_on(async {
        contest(&store, "strict", "p", Some("p")).await;
        contest(&store, "free", "p", None).await;
        for (node, pool) in NODES {
            store.note_node(node, pool, &facts("6.1"), at(0)).await.unwrap();
        }
    });
    let cases = if database.engine == Engine::Sqlite { 60 } else { 30 };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let case = std::cell::Cell::new(0);
    let ran = TestRunner::new(config).run(&proptest::collection::vec(event(), 1..60), |events| {
        case.set(case.get() + 1);
        runtime.block_on(async {
            let mut model = Model { now: 10, ..Model::default() };
            for (n, event) in events.into_iter().enumerate() {
                model.play(&store, event, &format!("{}-{n}", case.get())).await;
            }
            model.end(&store).await;
        });
        Ok(())
    });
    if let Err(error) = ran {
        panic!("{error}");
    }
    assert_eq!(runtime.block_on(store.check()).unwrap(), Vec::<String>::new());
}
