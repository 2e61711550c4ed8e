//! Who gets which job next, in a fleet.

use crate::Body;
use crate::common::samples::{
    AGAIN, asks, at, claim, contest, facts, finish, judgement, lease, submission, ticket,
};
use crate::common::{Database, Engine, run};
use model::Verdict;
use serde_json::json;
use std::time::{Duration, Instant};
use store::{
    Anywhere, Claim, Conclusion, ContestId, NewContest, NewSubmission, NewUser, Purpose, Rejudge, Role,
    RoundJob, RoundStep, Store, SubmissionId, Urgency, UserId,
};

pub(crate) const TESTS: &[(&str, Body)] = &[
    ("contests take turns, and authors within them", contests),
    ("who comes back to the line has saved up nothing", nothing_saved),
    ("a job that comes back has its contest's turn again", refunded),
    ("a job that ended a worker goes behind all others", demoted),
    ("a job that is postponed lets one of each author go first", postponed),
    ("a job is postponed only for one as urgent", not_postponed),
    ("what is of no contest takes turns as one", practice),
    ("contests go before rejudging before practice", urgencies),
    ("jobs wait for a pool or for any", places),
    ("no more of a contest at a time than it may have", bounds),
    ("a node is not asked again for what it has done", not_on),
    ("as many tickets as there are free slots, and one more", tickets),
    ("two claim at once", together),
    ("how many are before", ahead),
    ("a long line is no slower", long_line),
];

struct Line {
    store: Store,
    contests: Vec<ContestId>,
    authors: Vec<UserId>,
}

impl Line {
    /// Contests a, b, c, bound to pool p, and three authors.
    async fn new(database: &Database) -> Line {
        let store = database.open().await;
        let mut line = Line { contests: Vec::new(), authors: Vec::new(), store };
        for name in ["a", "b", "c"] {
            line.contests.push(contest(&line.store, name, "p", Some("p")).await);
            let user =
                NewUser { name, display: name, role: Role::Participant, password: None, created: at(0) };
            line.authors.push(line.store.add_user(user).await.unwrap());
        }
        line
    }

    /// Hands in by names such as `a1-x`: for contest a, by author number 1; of no contest where it begins with `-`.
    async fn submit(&self, tokens: &[&str]) -> Vec<SubmissionId> {
        let mut ids = Vec::new();
        for token in tokens {
            let bytes = token.as_bytes();
            let contest = bytes[0].checked_sub(b'a').map(|n| self.contests[usize::from(n)]);
            let author = Some(self.authors[usize::from(bytes[1] - b'1')]);
            let new = NewSubmission { contest, author, ..submission(token) };
            ids.push(self.store.submit(&new).await.unwrap().0);
        }
        ids
    }

    /// The tokens of the next jobs that this one gets, to the last or until there are so many.
    async fn next(&self, claim: Claim<'_>, most: usize) -> Vec<String> {
        let mut tokens = Vec::new();
        while tokens.len() < most
            && let Some(job) = self.store.claim(claim).await.unwrap()
        {
            tokens.push(self.store.submission(job.submission).await.unwrap().token);
        }
        tokens
    }

    async fn bound(&self, name: &str, at_once: Option<u32>) {
        let new = NewContest { name, pool: "p", usual: Some("p"), at_once, policy: &json!({}) };
        self.store.set_contest(&new, at(0)).await.unwrap();
    }
}

const NEVER: Anywhere = Anywhere::Never;

fn contests(database: &Database) {
    run(async {
        let line = Line::new(database).await;
        line.submit(&["a1-1", "a1-2", "a1-3", "a1-4", "a1-5", "a2-1", "a2-2"]).await;
        let asks = asks("n", "p", NEVER);
        assert_eq!(line.next(asks, 3).await, ["a1-1", "a2-1", "a1-2"]);
        line.submit(&["b1-1", "b1-2", "b2-1"]).await;
        assert_eq!(line.next(asks, 6).await, ["b1-1", "a2-2", "b2-1", "a1-3", "b1-2", "a1-4"]);
        line.submit(&["a3-1", "c1-1"]).await;
        assert_eq!(line.next(asks, 9).await, ["c1-1", "a1-5", "a3-1"]);
    });
}

fn nothing_saved(database: &Database) {
    run(async {
        let line = Line::new(database).await;
        let asks = asks("n", "p", NEVER);
        line.submit(&["a1-1", "b1-1"]).await;
        line.submit(&["c1-1", "c1-2", "c1-3", "c1-4", "c1-5", "c1-6", "c1-7", "c1-8"]).await;
        assert_eq!(line.next(asks, 7).await, ["a1-1", "b1-1", "c1-1", "c1-2", "c1-3", "c1-4", "c1-5"]);
        line.submit(&["a1-2", "a1-3", "a1-4", "b1-2", "b1-3"]).await;
        let rest = line.next(asks, 9).await;
        assert_eq!(rest, ["a1-2", "b1-2", "a1-3", "b1-3", "c1-6", "a1-4", "c1-7", "c1-8"]);
    });
}

fn refunded(database: &Database) {
    run(async {
        let line = Line::new(database).await;
        let asks = asks("n", "p", NEVER);
        line.submit(&["a1-1", "a1-2", "b1-1", "b1-2", "b1-3"]).await;
        let first = line.store.claim(asks).await.unwrap().unwrap();
        assert_eq!(line.next(asks, 1).await, ["b1-1"]);
        line.store.give_back(first.lease(), "it stops").await.unwrap();
        assert_eq!(line.next(asks, 3).await, ["a1-1", "a1-2", "b1-2"]);
        line.store.reap(at(60)).await.unwrap();
        assert_eq!(line.next(asks, 9).await, ["a1-1", "b1-1", "a1-2", "b1-2", "b1-3"]);
    });
}

fn demoted(database: &Database) {
    run(async {
        let line = Line::new(database).await;
        let asks = asks("n", "p", NEVER);
        line.submit(&["a1-1", "a1-2", "a2-1", "b1-1", "b1-2"]).await;
        let first = line.store.claim(asks).await.unwrap().unwrap();
        assert_eq!(line.store.fail(first.lease(), "it died").await.unwrap(), 1);
        // Its contest's turn was used, too.
        assert_eq!(line.next(asks, 9).await, ["b1-1", "a2-1", "b1-2", "a1-2", "a1-1"]);
    });
}

fn postponed(database: &Database) {
    run(async {
        let line = Line::new(database).await;
        let asks = asks("n", "p", NEVER);
        line.submit(&["a1-1"]).await;
        let first = line.store.claim(asks).await.unwrap().unwrap();
        assert!(!line.store.postpone(first.lease(), "slow").await.unwrap(), "no other job waits");
        line.store.extend(first.lease(), at(90)).await.unwrap();
        line.submit(&["a1-2", "a2-1", "a2-2", "b1-1", "b1-2"]).await;
        assert!(line.store.postpone(first.lease(), "slow").await.unwrap());
        assert!(
            !line.store.postpone(first.lease(), "slow").await.unwrap(),
            "it is not this worker's any more"
        );
        let job = line.store.job(first.id).await.unwrap();
        assert_eq!((job.failed, job.returned.as_deref()), (0, Some("slow")));
        assert_eq!(line.next(asks, 9).await, ["b1-1", "a1-2", "b1-2", "a2-1", "a1-1", "a2-2"]);
    });
}

fn not_postponed(database: &Database) {
    run(async {
        let store = database.open().await;
        store.submit(&submission("live")).await.unwrap();
        let live = claim(&store, "w").await.unwrap();
        store.rejudge(live.submission, AGAIN).await.unwrap();
        assert!(!store.postpone(live.lease(), "slow").await.unwrap(), "less urgent jobs do not go first");
        let urgent = NewSubmission { urgency: Urgency::Contest, ..submission("urgent") };
        store.submit(&urgent).await.unwrap();
        // Its ticket is under way.
        let ticketed = store.claim(ticket("default")).await.unwrap().unwrap();
        assert_eq!(ticketed.started, None);
        assert!(store.postpone(live.lease(), "slow").await.unwrap());
        assert_eq!(claim(&store, "w").await.unwrap().id, live.id);
    });
}

fn practice(database: &Database) {
    run(async {
        let line = Line::new(database).await;
        let live = Rejudge { urgency: Urgency::Live, purpose: Purpose::Trial, times: 2, ..AGAIN };
        contest(&line.store, "a", "p", None).await;
        let of_contest = line.submit(&["a1-1"]).await[0];
        assert_eq!(line.next(asks("n", "p", Anywhere::Equally), 9).await, ["a1-1"]);
        line.submit(&["-1-1", "-1-2", "-2-1", "-3-1"]).await;
        line.store.rejudge(of_contest, live).await.unwrap();
        // Trials are of their contest, but no more urgent for it.
        let all = line.next(asks("n", "p", Anywhere::Equally), 9).await;
        assert_eq!(all, ["-1-1", "a1-1", "-2-1", "a1-1", "-3-1", "-1-2"]);
    });
}

fn urgencies(database: &Database) {
    run(async {
        let line = Line::new(database).await;
        let ids = line.submit(&["a1-1", "-1-1"]).await;
        assert_eq!(line.next(asks("n", "p", Anywhere::Equally), 9).await, ["a1-1", "-1-1"]);
        for id in &ids {
            line.store.rejudge(*id, AGAIN).await.unwrap();
        }
        line.submit(&["-2-2", "a2-2"]).await;
        let counts = line.store.counts().await.unwrap();
        assert_eq!((counts.contest, counts.rejudge, counts.live, counts.background), (1, 1, 1, 1));
        assert_eq!(line.store.waiting_of(Some(line.authors[1]), 9).await.unwrap(), 2);
        let all = line.next(asks("n", "p", Anywhere::Equally), 9).await;
        assert_eq!(all, ["a2-2", "a1-1", "-2-2", "-1-1"]);
        let jobs = line.store.jobs(ids[0]).await.unwrap();
        let found: Vec<_> = jobs.iter().map(|job| (job.urgency, job.place.as_deref(), job.contest)).collect();
        let a = Some(line.contests[0]);
        assert_eq!(found, [(Urgency::Contest, Some("p"), a), (Urgency::Rejudge, Some("p"), a)]);
        let handed_in = line.store.submission(ids[0]).await.unwrap();
        assert_eq!(handed_in.contest, a);
    });
}

fn places(database: &Database) {
    run(async {
        let line = Line::new(database).await;
        contest(&line.store, "b", "p", None).await;
        contest(&line.store, "c", "q", Some("q")).await;
        line.submit(&["-1-1", "c1-1", "b1-1", "a1-1", "a1-2"]).await;
        assert!(line.next(asks("n", "cloud", NEVER), 9).await.is_empty());
        // Its own first where both are equally urgent.
        let equally = asks("n", "p", Anywhere::Equally);
        assert_eq!(line.next(equally, 9).await, ["a1-1", "a1-2", "b1-1", "-1-1"]);
        for token in ["b1-2", "-1-2"] {
            line.submit(&[token]).await;
        }
        let young = NewSubmission { created: at(5), ..submission("young") };
        line.store.submit(&young).await.unwrap();
        assert_eq!(line.next(asks("n", "q", Anywhere::After(at(4))), 9).await, ["c1-1", "b1-2", "-1-2"]);
        assert_eq!(line.next(asks("n", "q", Anywhere::After(at(5))), 9).await, ["young"]);
        let job = line.store.jobs(line.submit(&["c1-2"]).await[0]).await.unwrap().remove(0);
        let lines = line.store.lines().await.unwrap();
        assert_eq!((lines.len(), lines[0].place.as_deref(), lines[0].waiting), (1, Some("q"), 1));
        assert_eq!((lines[0].urgency, lines[0].oldest), (Urgency::Contest, job.created));
    });
}

fn bounds(database: &Database) {
    run(async {
        let line = Line::new(database).await;
        line.bound("a", Some(2)).await;
        line.submit(&["a1-1", "a1-2", "a1-3", "a1-4", "b1-1", "b1-2"]).await;
        let first = line.store.claim(ticket("p")).await.unwrap().unwrap();
        // Tickets count, too.
        assert_eq!(line.next(asks("n", "p", NEVER), 9).await, ["b1-1", "a1-2", "b1-2"]);
        line.store.give_back(first.lease(), "nobody there").await.unwrap();
        let second = line.store.claim(asks("n", "p", NEVER)).await.unwrap().unwrap();
        assert_eq!((second.id, second.attempt), (first.id, 2));
        finish(&line.store, &second, Verdict::Accepted, Conclusion::stands()).await;
        assert_eq!(line.next(asks("n", "p", NEVER), 9).await, ["a1-3"]);
        line.store.cancel(second.submission, "unwanted", at(11)).await.unwrap();
        assert!(line.next(asks("n", "p", NEVER), 9).await.is_empty());
        line.bound("a", None).await;
        assert_eq!(line.next(asks("n", "p", NEVER), 9).await, ["a1-4"]);
    });
}

/// Finishes the next job by asking for another, not on these nodes.
async fn ask_another(store: &Store, claim: Claim<'_>, not_on: &[&str]) {
    let job = store.claim(claim).await.unwrap().expect("something waits");
    let not_on: Vec<String> = not_on.iter().map(|node| node.to_string()).collect();
    let ask = RoundJob { place: Some("p"), confirm: false, not_on: &not_on, why: "drawn" };
    finish(store, &job, Verdict::Accepted, Conclusion { answer: None, then: RoundStep::Continue(ask) }).await;
}

fn not_on(database: &Database) {
    run(async {
        let line = Line::new(database).await;
        let store = &line.store;
        let (n1, n) = (asks("n1", "p", NEVER), asks("n", "p", NEVER));
        line.submit(&["a1-1", "a1-2", "a1-3", "a2-1"]).await;
        for _ in 0..3 {
            ask_another(store, n1, &["n1", "x"]).await;
        }
        // Those that go on with a round come first, in the order of their turns, and are in nobody's way who must not do them.
        assert_eq!(line.next(n, 2).await, ["a1-1", "a2-1"]);
        assert_eq!(line.next(n1, 9).await, ["a1-3"]);
        // A ticket is for whoever of the pool may do it and gets work.
        assert_eq!(store.claim(ticket("p")).await.unwrap(), None);
        for name in ["n1", "n"] {
            store.note_node(name, "p", &facts("6.1"), at(1)).await.unwrap();
        }
        store.set_node_state("n", store::NodeState::Draining, None).await.unwrap();
        assert_eq!(store.claim(ticket("p")).await.unwrap(), None);
        store.set_node_state("n", store::NodeState::Active, None).await.unwrap();
        assert_eq!(line.next(ticket("p"), 9).await, ["a1-2"]);
    });
}

fn tickets(database: &Database) {
    run(async {
        let line = Line::new(database).await;
        line.submit(&["a1-1", "a1-2", "a1-3", "a1-4"]).await;
        let of = |slots| Claim { slots: Some(slots), ..ticket("p") };
        let first = line.store.claim(of(1)).await.unwrap().unwrap();
        assert_eq!((first.node.as_deref(), first.pool.as_deref(), first.started), (None, Some("p"), None));
        assert_eq!(line.next(of(1), 9).await, ["a1-2"]);
        assert_eq!(line.store.in_pool("p").await.unwrap().tickets, 2);
        let begun = line.store.begin(first.lease(), "w", "n", "p", at(90), at(11)).await.unwrap();
        assert!(matches!(begun, store::Begun::Go(_)), "{begun:?}");
        // The slot is taken now: there is the one more.
        assert_eq!(line.next(of(1), 9).await, Vec::<String>::new());
        assert_eq!(line.next(of(2), 9).await, ["a1-3"]);
        // Another pool has slots of its own, and a node that asks for itself is not asked how many it has.
        assert_eq!(line.next(Claim { pool: "q", ..of(2) }, 9).await, Vec::<String>::new());
        assert_eq!(line.next(asks("n", "p", NEVER), 9).await, ["a1-4"]);
        let found = line.store.in_pool("p").await.unwrap();
        assert_eq!(
            (found.tickets, found.running.into_iter().collect::<Vec<_>>()),
            (2, vec![("n".into(), 2)])
        );
    });
}

fn together(database: &Database) {
    run(async {
        let line = Line::new(database).await;
        line.bound("a", Some(3)).await;
        let tokens: Vec<String> = (0..30).map(|n| format!("{}1-{n}", ["a", "b", "c"][n % 3])).collect();
        line.submit(&tokens.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let workers: Vec<_> = (0..6)
            .map(|n| {
                let store = line.store.clone();
                tokio::spawn(async move {
                    let mut got = Vec::new();
                    let name = format!("n{n}");
                    while let Some(job) = store.claim(asks(&name, "p", NEVER)).await.unwrap() {
                        got.push(job.id);
                    }
                    got
                })
            })
            .collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.await.unwrap());
        }
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 23, "ten of b, ten of c, and no more than three of a");
    });
}

fn ahead(database: &Database) {
    run(async {
        let line = Line::new(database).await;
        let tokens = ["a1-1", "a1-2", "a1-3", "a2-1", "b1-1", "b1-2", "c3-1", "a2-2", "b2-1"];
        line.submit(&tokens).await;
        line.next(asks("n", "p", NEVER), 2).await;
        for _ in 0..2 {
            let mut told = Vec::new();
            for token in tokens {
                let id = line.store.submission_of_token(token).await.unwrap().id;
                let job = line.store.jobs(id).await.unwrap().remove(0);
                told.push((line.store.ahead(job.id).await.unwrap(), token));
            }
            told.sort();
            let waits = |(_, token): &(u64, &str)| !["a1-1", "b1-1", "c3-1"].contains(token);
            let order: Vec<_> = told.into_iter().filter(waits).collect();
            let claimed = line.next(asks("n", "p", NEVER), 1).await;
            if claimed == ["c3-1"] {
                continue;
            }
            let rest = line.next(asks("n", "p", NEVER), 9).await;
            let given: Vec<_> = claimed.iter().chain(&rest).map(String::as_str).enumerate().collect();
            let told: Vec<_> = order.iter().map(|(before, token)| (*before as usize, *token)).collect();
            assert_eq!(given, told);
        }
    });
}

/// How long one does this, in the middle of many times.
/// Takes the next job and reports that it was judged; how long the first took.
async fn taken(store: &Store) -> Option<Duration> {
    let since = Instant::now();
    let job = claim(store, "w").await?;
    let took = since.elapsed();
    let done = judgement(Verdict::Accepted);
    store.finish(lease(&job), &done, None, at(20), Conclusion::stands()).await.unwrap();
    Some(took)
}

/// Two databases, since lines of one are in the same indexes. Each claim is measured beside one in the other.
fn long_line(database: &Database) {
    run(async {
        let control = database.another().await;
        let (short, long) = (Line::new(&control).await, Line::new(database).await);
        let many = |times| Rejudge { times, purpose: Purpose::Trial, ..AGAIN };
        let mut firsts = Vec::new();
        for line in [&short, &long] {
            for contest in ["a", "b", "c"] {
                contest_of_default(&line.store, contest).await;
            }
            let first = line.submit(&["-1-1"]).await[0];
            line.store.rejudge(first, many(40)).await.unwrap();
            firsts.push(first);
            while taken(&line.store).await.is_some() {}
        }
        // As autovacuum does in a quiet hour: by its statistics no job ever waits.
        if database.engine == Engine::Postgres {
            database.execute("ANALYZE jobs").await;
        }
        short.store.rejudge(firsts[0], many(60)).await.unwrap();
        long.store.rejudge(firsts[1], many(20_000)).await.unwrap();
        for id in long.submit(&["a1-1", "b1-1", "c1-1"]).await {
            long.store.rejudge(id, Rejudge { times: 2_000, ..AGAIN }).await.unwrap();
        }
        let mut took = [Vec::new(), Vec::new()];
        for _ in 0..41 {
            for (line, times) in [&short, &long].into_iter().zip(&mut took) {
                times.push(taken(&line.store).await.expect("something waits"));
            }
        }
        let [short, long] = took.map(|mut times| {
            times.sort();
            times[times.len() / 2]
        });
        assert!(
            long < short * 3 + Duration::from_millis(3),
            "{short:?} in a short line, {long:?} in a long one"
        );
    });
}

async fn contest_of_default(store: &Store, name: &str) {
    contest(store, name, store::DEFAULT_POOL, Some(store::DEFAULT_POOL)).await;
}
