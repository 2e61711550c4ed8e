//! The order of work in simulations of a fleet is this one: the same events there and here, and everybody gets the same job.

use crate::Body;
use crate::common::samples::{AGAIN, asks, at, contest, judgement, submission};
use crate::common::{Database, Engine};
use fleet::{Pool, PoolKind};
use model::Verdict;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sim::{Asker, Queue, Taken};
use store::{
    Anywhere, Claim, Conclusion, ContestId, Job, JobId, NewContest, NewSubmission, NewUser, Rejudge, Role,
    RoundJob, RoundStep, Store, SubmissionId, Urgency, UserId,
};

pub(crate) const TESTS: &[(&str, Body)] = &[("simulations play this order", same_order)];

/// Of the pools, and of their nodes.
const NAMES: [&str; 3] = ["metal", "iron", "cloud"];
/// How long the second pool waits before it helps.
const HELPS: i64 = 30;

/// What can happen. Numbers choose among what there is.
#[derive(Clone, Copy, Debug)]
enum Event {
    Submit {
        contest: usize,
        author: usize,
    },
    Again {
        submission: usize,
        urgency: usize,
        times: u32,
    },
    /// By a node of a pool, or for a ticket where there is none.
    Claim {
        pool: usize,
        node: Option<usize>,
    },
    Finish {
        lease: usize,
    },
    /// It asks for another judgement in a pool or anywhere, elsewhere than here or not.
    Ask {
        lease: usize,
        place: usize,
        elsewhere: bool,
    },
    GiveBack {
        lease: usize,
    },
    Bound {
        contest: usize,
        at_once: Option<u32>,
    },
    Later {
        seconds: i64,
    },
}

fn event() -> impl Strategy<Value = Event> {
    let lease = || 0usize..64;
    prop_oneof![
        8 => (0usize..4, 0usize..4).prop_map(|(contest, author)| Event::Submit { contest, author }),
        2 => (0usize..64, 0usize..4, 1u32..4)
            .prop_map(|(submission, urgency, times)| Event::Again { submission, urgency, times }),
        10 => (0usize..3, proptest::option::weighted(0.7, 0usize..2)).prop_map(|(pool, node)| Event::Claim { pool, node }),
        2 => lease().prop_map(|lease| Event::Finish { lease }),
        5 => (lease(), 0usize..3, any::<bool>())
            .prop_map(|(lease, place, elsewhere)| Event::Ask { lease, place, elsewhere }),
        2 => lease().prop_map(|lease| Event::GiveBack { lease }),
        1 => (0usize..3, proptest::option::of(1u32..3)).prop_map(|(contest, at_once)| Event::Bound { contest, at_once }),
        1 => (1i64..40).prop_map(|seconds| Event::Later { seconds }),
    ]
}

struct Both {
    store: Store,
    queue: Queue,
    pools: [Pool; 3],
    contests: Vec<ContestId>,
    authors: Vec<UserId>,
    submissions: Vec<(SubmissionId, Option<UserId>)>,
    /// What is claimed, in both.
    claimed: Vec<(Job, Taken)>,
    now: i64,
}

/// Of a contest: its name, its pool, and where its usual jobs wait.
const CONTESTS: [(&str, &str, Option<&str>); 3] =
    [("a", "metal", Some("metal")), ("b", "iron", None), ("c", "metal", Some("metal"))];

impl Both {
    async fn new(store: Store) -> Both {
        let pool = |name, kind| Pool::new(name, kind).expect("a name");
        let pools = [
            pool(NAMES[0], PoolKind::Strict),
            Pool { helps_after_secs: u32::try_from(HELPS).ok(), ..pool(NAMES[1], PoolKind::Strict) },
            pool(NAMES[2], PoolKind::Relaxed),
        ];
        let (mut contests, mut authors) = (Vec::new(), Vec::new());
        for (name, pool, usual) in CONTESTS {
            contests.push(contest(&store, name, pool, usual).await);
            let user =
                NewUser { name, display: name, role: Role::Participant, password: None, created: at(0) };
            authors.push(store.add_user(user).await.unwrap());
        }
        for pool in NAMES {
            for node in nodes(pool) {
                store
                    .note_node(&node, pool, &model::NodeFacts::unknown("not reported"), at(0))
                    .await
                    .unwrap();
            }
        }
        let (submissions, claimed) = (Vec::new(), Vec::new());
        Both { store, queue: Queue::default(), pools, contests, authors, submissions, claimed, now: 0 }
    }

    /// New jobs of a submission wait in the simulation, too.
    async fn push(&mut self, (submission, author): (SubmissionId, Option<UserId>), new: &[JobId]) {
        for job in self.store.jobs(submission).await.unwrap() {
            if new.contains(&job.id) {
                self.queue.push(sim::Job {
                    of: u64::try_from(job.id.0).unwrap(),
                    fresh: job.round == job.id,
                    urgency: sim::Urgency::ALL
                        [Urgency::ALL.iter().position(|one| *one == job.urgency).unwrap()],
                    contest: job.contest.map_or(0, |contest| u64::try_from(contest.0).unwrap()),
                    author: author.map_or(0, |author| u64::try_from(author.0).unwrap()),
                    since: fleet::Timestamp(job.created.0),
                    place: job.place,
                    not_on: job.not_on,
                });
            }
        }
    }

    /// Asks both for the next job, which must be the same; whether there is one.
    async fn claim(&mut self, pool: usize, node: Option<usize>) -> bool {
        let all = nodes(NAMES[pool]);
        let node = node.map(|node| all[node].as_str());
        let nodes: Vec<&str> =
            node.map_or_else(|| all.iter().map(String::as_str).collect(), |node| vec![node]);
        let anywhere = match pool {
            0 => Anywhere::Never,
            1 => Anywhere::After(at(self.now - HELPS)),
            _ => Anywhere::Equally,
        };
        let asks =
            Claim { node, now: at(self.now), until: at(self.now + 20), ..asks("w", NAMES[pool], anywhere) };
        let job = self.store.claim(asks).await.unwrap();
        let asker = Asker { nodes: &nodes, pool: &self.pools[pool] };
        let taken = self.queue.take(asker, fleet::Timestamp(at(self.now).0));
        let got = |job: &Job| u64::try_from(job.id.0).unwrap();
        assert_eq!(job.as_ref().map(got), taken.as_ref().map(|taken| taken.job.of), "{asks:?}");
        let some = job.is_some();
        self.claimed.extend(job.zip(taken));
        some
    }

    async fn play(&mut self, event: Event, token: &str) {
        match event {
            Event::Submit { contest, author } => {
                let (contest, author) = (self.contests.get(contest), self.authors.get(author).copied());
                let new = NewSubmission {
                    contest: contest.copied(),
                    author,
                    created: at(self.now),
                    ..submission(token)
                };
                let (id, job) = self.store.submit(&new).await.unwrap();
                self.submissions.push((id, author));
                self.push((id, author), &[job]).await;
            }
            Event::Again { submission, urgency, times } => {
                let Some(at_random) = submission.checked_rem(self.submissions.len()) else { return };
                let (urgency, created) = (Urgency::ALL[urgency], at(self.now));
                let (id, author) = self.submissions[at_random];
                let again = Rejudge { urgency, times, created, ..AGAIN };
                let jobs = self.store.rejudge(id, again).await.unwrap();
                self.push((id, author), &jobs).await;
            }
            Event::Claim { pool, node } => drop(self.claim(pool, node).await),
            Event::Finish { lease } => self.finish(lease, RoundStep::Stand { counts: None }).await,
            Event::Ask { lease, place, elsewhere } => {
                let here = [NAMES[place].to_string() + "-0"];
                let not_on = if elsewhere { here.as_slice() } else { &[] };
                let place = (place < 2).then_some(NAMES[place]);
                let ask = RoundJob { place, confirm: false, not_on, why: "drawn" };
                self.finish(lease, RoundStep::Continue(ask)).await;
            }
            Event::GiveBack { lease } => {
                let Some(at_random) = lease.checked_rem(self.claimed.len()) else { return };
                let (job, taken) = self.claimed.swap_remove(at_random);
                self.store.give_back(job.lease(), "it stops").await.unwrap();
                self.queue.put_back(taken);
            }
            Event::Bound { contest, at_once } => {
                let (name, pool, usual) = CONTESTS[contest];
                let new = NewContest { name, pool, usual, at_once, policy: &serde_json::json!({}) };
                let id = self.store.set_contest(&new, at(0)).await.unwrap();
                self.queue.bound(u64::try_from(id.0).unwrap(), at_once);
            }
            Event::Later { seconds } => {
                self.now += seconds;
                for lost in self.store.reap(at(self.now)).await.unwrap() {
                    let at = self.claimed.iter().position(|(job, _)| job.lease() == lost).unwrap();
                    self.queue.put_back(self.claimed.swap_remove(at).1);
                }
            }
        }
    }

    /// A job that was claimed ends, and another may go on with its round.
    async fn finish(&mut self, lease: usize, then: RoundStep<'_>) {
        let Some(at_random) = lease.checked_rem(self.claimed.len()) else { return };
        let (job, taken) = self.claimed.swap_remove(at_random);
        let before: Vec<JobId> =
            self.store.jobs(job.submission).await.unwrap().iter().map(|job| job.id).collect();
        let conclusion = Conclusion { answer: None, then };
        let judged = judgement(Verdict::Accepted);
        self.store.finish(job.lease(), &judged, None, at(self.now), conclusion).await.unwrap();
        self.queue.done(taken.job.contest);
        let author = self.submissions.iter().find(|(id, _)| *id == job.submission).unwrap().1;
        let all = self.store.jobs(job.submission).await.unwrap();
        let new: Vec<JobId> = all.iter().map(|job| job.id).filter(|id| !before.contains(id)).collect();
        self.push((job.submission, author), &new).await;
    }

    /// Whoever is there takes what there is, until nothing waits for anybody.
    async fn drain(&mut self) {
        self.now += HELPS;
        let mut idle = 0;
        while idle < 6 {
            for (pool, node) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)] {
                while !self.claimed.is_empty() {
                    self.finish(0, RoundStep::Stand { counts: None }).await;
                }
                idle = if self.claim(pool, Some(node)).await { 0 } else { idle + 1 };
            }
        }
        assert!(self.queue.waiting() == 0, "{} wait", self.queue.waiting());
    }
}

fn nodes(pool: &str) -> [String; 2] {
    [0, 1].map(|n| format!("{pool}-{n}"))
}

fn same_order(database: &Database) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let both = runtime.block_on(async { Both::new(database.open().await).await });
    let cases = if database.engine == Engine::Sqlite { 12 } else { 8 };
    // One history goes on through all cases: what came before a case that fails cannot be left out.
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 0, ..Config::default() };
    let played = std::cell::RefCell::new((both, 0));
    let ran = TestRunner::new(config).run(&proptest::collection::vec(event(), 40..120), |events| {
        let (both, case) = &mut *played.borrow_mut();
        *case += 1;
        runtime.block_on(async {
            for (n, event) in events.into_iter().enumerate() {
                both.play(event, &format!("{case}-{n}")).await;
            }
            both.drain().await;
        });
        Ok(())
    });
    if let Err(error) = ran {
        panic!("{error}");
    }
}
