//! Tickets: jobs that somebody carries to a worker, which begins them.

use crate::Body;
use crate::common::samples::{asks, at, contest, facts, finish, judgement, submission, submit, ticket};
use crate::common::{Database, run};
use model::Verdict;
use store::{
    Anywhere, Begun, Claim, Conclusion, Error, Job, JobState, NewSubmission, RoundJob, RoundStep, State,
    Store, SubmissionId,
};

pub(crate) const TESTS: &[(&str, Body)] = &[
    ("a ticket is begun once", begun),
    ("a ticket is for a pool and not for every node", not_here),
    ("a ticket is not begun by a node that has done the job before", not_again),
    ("a ticket that gets lost comes back", comes_back),
    ("a worker that is lost within its attempt", worker_lost),
    ("cancelled wherever it is", cancelled),
    ("beginning against taking back", begin_or_reap),
    ("finishing against cancelling", finish_or_cancel),
    ("handing in against binding to another pool", submit_or_bind),
];

async fn out(store: &Store) -> Job {
    store.claim(ticket("p")).await.unwrap().expect("a ticket")
}

async fn begin(store: &Store, job: &Job, worker: &str, second: i64) -> Begun {
    store.begin(job.lease(), worker, worker, "p", at(second + 15), at(second)).await.unwrap()
}

fn over(begun: &Begun) -> &str {
    match begun {
        Begun::Over(why) => why,
        other => panic!("{other:?}"),
    }
}

fn begun(database: &Database) {
    run(async {
        let store = database.open().await;
        let id = submit(&store, "1").await;
        let job = out(&store).await;
        assert_eq!((job.started, job.pool.as_deref()), (None, Some("p")));
        assert_eq!(store.submission(id).await.unwrap().state, State::Waiting);
        let Begun::Go(going) = begin(&store, &job, "w", 11).await else { panic!("not begun") };
        assert_eq!(going.state, JobState::Claimed { worker: "w".into(), until: at(26) });
        assert_eq!((going.started, going.node.as_deref(), going.attempt), (Some(at(11)), Some("w"), 1));
        assert_eq!(store.submission(id).await.unwrap().state, State::Judging);
        // Whoever did not hear the answer asks again.
        let Begun::Go(again) = begin(&store, &job, "w", 12).await else { panic!("not begun") };
        assert_eq!((again.started, again.lease()), (Some(at(11)), job.lease()));
        assert_eq!(begin(&store, &job, "v", 13).await, Begun::Held);
        store.extend(job.lease(), at(40)).await.unwrap();
        assert_eq!(begin(&store, &job, "v", 39).await, Begun::Held);
        finish(&store, &going, Verdict::Accepted, Conclusion::stands()).await;
        assert_eq!(over(&begin(&store, &job, "w", 14).await), "w has finished it, attempt 1");
        store.delete_submission(id).await.unwrap();
        assert_eq!(over(&begin(&store, &job, "w", 14).await), "the job was deleted");
    });
}

fn not_here(database: &Database) {
    run(async {
        let store = database.open().await;
        let strict = contest(&store, "a", "p", Some("p")).await;
        store.submit(&NewSubmission { contest: Some(strict), ..submission("1") }).await.unwrap();
        let job = out(&store).await;
        let elsewhere = store.begin(job.lease(), "w", "n", "q", at(30), at(11)).await.unwrap();
        assert_eq!(elsewhere, Begun::NotHere);
        assert!(matches!(begin(&store, &job, "w", 11).await, Begun::Go(_)));
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
        // Bound to another pool meanwhile: the ticket is good for nothing, and the job waits there.
        store.submit(&NewSubmission { contest: Some(strict), ..submission("2") }).await.unwrap();
        let second = out(&store).await;
        contest(&store, "a", "q", Some("q")).await;
        assert_eq!(over(&begin(&store, &second, "w", 12).await), "it waits to be claimed again");
        // What was begun stays, and goes there when it comes back.
        store.give_back(job.lease(), "it stops").await.unwrap();
        for expected in [job.id, second.id] {
            let moved = store.claim(asks("n", "q", Anywhere::Never)).await.unwrap().unwrap();
            assert_eq!((moved.id, moved.place.as_deref()), (expected, Some("q")));
        }
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    });
}

fn not_again(database: &Database) {
    run(async {
        let store = database.open().await;
        for name in ["n1", "n2"] {
            store.note_node(name, "p", &facts("6.1"), at(1)).await.unwrap();
        }
        let strict = contest(&store, "a", "p", Some("p")).await;
        store.submit(&NewSubmission { contest: Some(strict), ..submission("1") }).await.unwrap();
        let first = store.claim(asks("n1", "p", Anywhere::Never)).await.unwrap().unwrap();
        let not_on = ["n1".to_string()];
        let ask = RoundJob { place: Some("p"), confirm: false, not_on: &not_on, why: "drawn" };
        let then = RoundStep::Continue(ask);
        finish(&store, &first, Verdict::Accepted, Conclusion { answer: None, then }).await;
        let job = out(&store).await;
        assert_eq!(begin(&store, &job, "n1", 11).await, Begun::NotHere);
        assert!(matches!(begin(&store, &job, "n2", 12).await, Begun::Go(_)));
    });
}

fn comes_back(database: &Database) {
    run(async {
        let store = database.open().await;
        submit(&store, "1").await;
        let job = out(&store).await;
        assert_eq!(store.reap(at(60)).await.unwrap(), [job.lease()]);
        let waits = store.job(job.id).await.unwrap();
        assert_eq!((waits.failed, waits.pool, waits.state), (0, None, JobState::Queued));
        assert_eq!(waits.returned.as_deref(), Some("nobody of pool p took it up"));
        assert_eq!(over(&begin(&store, &job, "w", 61).await), "it waits to be claimed again");
        let next = out(&store).await;
        assert_eq!(next.attempt, 2);
        assert_eq!(over(&begin(&store, &job, "w", 61).await), "ticket has it, attempt 2");
        store.give_back(next.lease(), "not delivered").await.unwrap();
        assert_eq!(store.job(job.id).await.unwrap().failed, 0);
        let third = out(&store).await;
        assert!(matches!(begin(&store, &third, "w", 61).await, Begun::Go(_)));
        store.reap(at(76)).await.unwrap();
        let waits = store.job(job.id).await.unwrap();
        assert_eq!((waits.failed, waits.started, waits.node), (1, None, None));
    });
}

fn worker_lost(database: &Database) {
    run(async {
        let store = database.open().await;
        submit(&store, "1").await;
        let job = out(&store).await;
        begin(&store, &job, "w", 11).await;
        // Nobody takes over within the attempt: it ends, and counts.
        let told = begin(&store, &job, "v", 26).await;
        assert_eq!(over(&told), "the worker that had it was lost; it waits to be claimed again");
        let late = store
            .finish(job.lease(), &judgement(Verdict::Accepted), None, at(27), Conclusion::stands())
            .await;
        assert!(matches!(late, Err(Error::Conflict(_))), "{late:?}");
        let next = out(&store).await;
        assert_eq!(
            (next.attempt, next.failed, next.returned.as_deref()),
            (2, 1, Some("the lease of w ended"))
        );
    });
}

/// A submission is cancelled, and nothing comes of its job.
async fn nothing_comes(store: &Store, id: SubmissionId, job: Option<&Job>) {
    assert_eq!(store.cancel(id, "handed in anew", at(12)).await.unwrap(), 1);
    assert_eq!(store.cancel(id, "again", at(13)).await.unwrap(), 0);
    let found = store.submission(id).await.unwrap();
    assert_eq!((found.state, found.current), (State::Cancelled, None));
    if let Some(job) = job {
        assert_eq!(over(&begin(store, job, "w", 14).await), "it was cancelled: handed in anew");
        let error = store.extend(job.lease(), at(90)).await.unwrap_err().to_string();
        assert!(error.contains("it was cancelled: handed in anew"), "{error}");
        let late = store
            .finish(job.lease(), &judgement(Verdict::Accepted), None, at(14), Conclusion::stands())
            .await;
        assert!(matches!(late, Err(Error::Conflict(_))));
    }
    let job = store.jobs(id).await.unwrap().remove(0);
    assert_eq!((job.is_open(), job.finished), (false, Some(at(12))));
    assert_eq!(store.history(id).await.unwrap(), []);
}

fn cancelled(database: &Database) {
    run(async {
        let store = database.open().await;
        let waiting = submit(&store, "waiting").await;
        nothing_comes(&store, waiting, None).await;
        let carried = submit(&store, "carried").await;
        let job = out(&store).await;
        nothing_comes(&store, carried, Some(&job)).await;
        let running = submit(&store, "running").await;
        let job = out(&store).await;
        begin(&store, &job, "w", 11).await;
        nothing_comes(&store, running, Some(&job)).await;
        assert!(matches!(store.cancel(SubmissionId(99), "?", at(0)).await, Err(Error::NotFound(_))));
        let filter = store::Filter { state: Some(State::Cancelled), ..store::Filter::default() };
        let of = |found: Vec<store::Submission>| found.into_iter().map(|s| s.id).collect::<Vec<_>>();
        let page = store::Page::first(9);
        assert_eq!(of(store.submissions(&filter, page).await.unwrap()), [running, carried, waiting]);
        assert_eq!(store.claim(ticket("p")).await.unwrap(), None);
        // It can be wanted again.
        store.rejudge(carried, crate::common::samples::AGAIN).await.unwrap();
        let job = out(&store).await;
        finish(&store, &job, Verdict::WrongAnswer, Conclusion::stands()).await;
        assert_eq!(store.submission(carried).await.unwrap().state, State::Judged);
        assert_eq!(of(store.submissions(&filter, page).await.unwrap()), [running, waiting]);
        let judged = store::Filter { state: Some(State::Judged), ..store::Filter::default() };
        assert_eq!(of(store.submissions(&judged, page).await.unwrap()), [carried]);
        // A verdict that is there stays.
        store.rejudge(carried, crate::common::samples::AGAIN).await.unwrap();
        assert_eq!(store.cancel(carried, "enough", at(15)).await.unwrap(), 1);
        assert_eq!(store.submission(carried).await.unwrap().state, State::Judged);
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
        store.forget(at(1), 9, at(16)).await.unwrap();
        store.delete_submission(waiting).await.unwrap();
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    });
}

fn begin_or_reap(database: &Database) {
    run(async {
        let store = database.open().await;
        for round in 0..30 {
            submit(&store, &round.to_string()).await;
            let short = Claim { until: at(20), ..ticket("p") };
            let job = store.claim(short).await.unwrap().expect("a ticket");
            let (one, other) = (store.clone(), store.clone());
            let begun = tokio::spawn(async move { begin(&one, &job, "w", 20).await });
            let taken = tokio::spawn(async move { other.reap(at(20)).await.unwrap() });
            let (begun, taken) = (begun.await.unwrap(), taken.await.unwrap());
            match begun {
                Begun::Go(job) => {
                    assert_eq!(taken, [], "it was begun and taken back");
                    finish(&store, &job, Verdict::Accepted, Conclusion::stands()).await;
                }
                Begun::Over(_) => {
                    assert_eq!(taken.len(), 1);
                    let job = out(&store).await;
                    finish(&store, &job, Verdict::Accepted, Conclusion::stands()).await;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    });
}

fn finish_or_cancel(database: &Database) {
    run(async {
        let store = database.open().await;
        let asks = RoundJob { place: None, confirm: false, not_on: &[], why: "drawn" };
        for round in 0..30 {
            let id = submit(&store, &round.to_string()).await;
            let job = out(&store).await;
            let (one, other) = (store.clone(), store.clone());
            let then =
                if round % 2 == 0 { Conclusion::stands().then } else { store::RoundStep::Continue(asks) };
            let finished = tokio::spawn(async move {
                let conclusion = Conclusion { answer: None, then };
                one.finish(job.lease(), &judgement(Verdict::Accepted), None, at(20), conclusion).await
            });
            let cancelled = tokio::spawn(async move { other.cancel(id, "unwanted", at(20)).await.unwrap() });
            let (finished, cancelled) = (finished.await.unwrap(), cancelled.await.unwrap());
            // Whatever came first: nothing of it is left to be done.
            let found = store.submission(id).await.unwrap();
            match (finished, round % 2) {
                (Ok(_), 0) => assert_eq!((found.state, cancelled), (State::Judged, 0)),
                (Ok(_), _) | (Err(Error::Conflict(_)), _) => {
                    assert_eq!((found.state, cancelled), (State::Cancelled, 1));
                }
                (other, _) => panic!("{other:?}"),
            }
        }
        assert_eq!(store.claim(ticket("p")).await.unwrap(), None);
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    });
}

fn submit_or_bind(database: &Database) {
    run(async {
        let store = database.open().await;
        for round in 0..20 {
            let (from, to) = if round % 2 == 0 { ("p", "q") } else { ("q", "p") };
            let id = contest(&store, "a", from, Some(from)).await;
            let hand_in = |n: usize| {
                let store = store.clone();
                tokio::spawn(async move {
                    let token = format!("{round}-{n}");
                    let new = NewSubmission { contest: Some(id), ..submission(&token) };
                    store.submit(&new).await.unwrap()
                })
            };
            let handed_in: Vec<_> = (0..4).map(hand_in).collect();
            contest(&store, "a", to, Some(to)).await;
            for one in handed_in {
                let job = store.job(one.await.unwrap().1).await.unwrap();
                assert_eq!(job.place.as_deref(), Some(to), "round {round}: left behind");
            }
        }
    });
}
