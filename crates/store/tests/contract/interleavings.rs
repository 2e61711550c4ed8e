//! Whatever workers, leases and rejudges do in whatever order: nothing accepted is lost, nothing is judged twice, and in the end
//! every submission has exactly one current verdict.

use crate::Body;
use crate::common::samples::{AGAIN, at, judge_all, judgement, lease, submission};
use crate::common::{Database, Engine, run};
use model::Verdict;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use store::{
    Claim, Conclusion, Error, Finished, JobId, JobState, Lease, NewSubmission, Purpose, Rejudge, Store,
    SubmissionId,
};

pub(crate) const TESTS: &[(&str, Body)] = &[
    ("any order of events", any_order),
    ("everyone at once", at_once),
    ("who fails is rolled back alone", fails_alone),
    ("who goes away leaves nothing by half", goes_away),
];

/// What can happen. Numbers choose among what there is.
#[derive(Clone, Copy, Debug)]
enum Event {
    Submit,
    Claim { seconds: i64 },
    Finish { lease: usize, verdict: Verdict },
    GiveBack { lease: usize },
    Extend { lease: usize, seconds: i64 },
    Reap { seconds: i64 },
    Rejudge { submission: usize, purpose: Purpose },
    Forget,
}

fn event() -> impl Strategy<Value = Event> {
    let verdict = prop_oneof![Just(Verdict::Accepted), Just(Verdict::WrongAnswer), Just(Verdict::JudgeError)];
    let purpose = prop_oneof![3 => Just(Purpose::Verdict), 1 => Just(Purpose::Trial)];
    prop_oneof![
        3 => Just(Event::Submit),
        6 => (1i64..40).prop_map(|seconds| Event::Claim { seconds }),
        6 => (0usize..64, verdict).prop_map(|(lease, verdict)| Event::Finish { lease, verdict }),
        1 => (0usize..64).prop_map(|lease| Event::GiveBack { lease }),
        2 => (0usize..64, 1i64..40).prop_map(|(lease, seconds)| Event::Extend { lease, seconds }),
        3 => (1i64..30).prop_map(|seconds| Event::Reap { seconds }),
        2 => (0usize..64, purpose).prop_map(|(submission, purpose)| Event::Rejudge { submission, purpose }),
        1 => Just(Event::Forget),
    ]
}

/// What a job should be: how often it was claimed, until when it is leased, and whether it was judged.
#[derive(Debug, Default)]
struct Expected {
    submission: Option<SubmissionId>,
    attempt: u64,
    until: Option<i64>,
    judged: bool,
}

/// What should be stored, in the plainest way.
#[derive(Debug, Default)]
struct Model {
    now: i64,
    jobs: BTreeMap<JobId, Expected>,
    submissions: Vec<SubmissionId>,
    leases: Vec<Lease>,
}

impl Model {
    fn nth_lease(&self, n: usize) -> Option<Lease> {
        let recent = self.leases.len().min(8);
        (recent > 0).then(|| self.leases[self.leases.len() - 1 - n % recent])
    }

    fn holds(&self, lease: Lease) -> bool {
        let job = &self.jobs[&lease.job];
        job.until.is_some() && job.attempt == lease.attempt
    }

    fn add(&mut self, submission: SubmissionId, jobs: impl IntoIterator<Item = JobId>) {
        for job in jobs {
            let new = Expected { submission: Some(submission), ..Expected::default() };
            assert!(self.jobs.insert(job, new).is_none(), "job {job} came twice");
        }
    }

    fn open(&self, submission: SubmissionId) -> bool {
        self.jobs.values().any(|job| job.submission == Some(submission) && !job.judged)
    }

    async fn play(&mut self, store: &Store, event: Event, token: &str) {
        match event {
            Event::Submit => {
                let (id, job) = store.submit(&submission(token)).await.unwrap();
                self.submissions.push(id);
                self.add(id, [job]);
            }
            Event::Claim { seconds } => self.claim(store, seconds).await,
            Event::Finish { lease, verdict } => {
                if let Some(lease) = self.nth_lease(lease) {
                    self.finish(store, lease, verdict).await;
                }
            }
            Event::GiveBack { lease } => {
                let Some(lease) = self.nth_lease(lease) else { return };
                assert_eq!(store.give_back(lease, "why not").await.is_ok(), self.holds(lease));
                if self.holds(lease) {
                    self.job(lease).until = None;
                }
            }
            Event::Extend { lease, seconds } => {
                let Some(lease) = self.nth_lease(lease) else { return };
                let until = self.now + seconds;
                assert_eq!(store.extend(lease, at(until)).await.is_ok(), self.holds(lease));
                if self.holds(lease) {
                    self.job(lease).until = Some(until);
                }
            }
            Event::Reap { seconds } => self.reap(store, seconds).await,
            Event::Rejudge { submission, purpose } => self.rejudge(store, submission, purpose).await,
            Event::Forget => {
                let judged = |id: &&SubmissionId| !self.open(**id);
                let expected = self.submissions.iter().filter(judged).count() as u64;
                assert_eq!(store.forget(at(1), 1000, at(self.now)).await.unwrap().submissions, expected);
                let open = self.submissions.iter().copied().filter(|id| self.open(*id)).collect();
                self.submissions = open;
            }
        }
    }

    fn job(&mut self, lease: Lease) -> &mut Expected {
        self.jobs.get_mut(&lease.job).expect("a known job")
    }

    async fn claim(&mut self, store: &Store, seconds: i64) {
        let waiting = self.jobs.values().filter(|job| job.until.is_none() && !job.judged).count();
        let until = self.now + seconds;
        let claimed = store.claim(Claim::local("w", at(until), at(self.now))).await.unwrap();
        assert_eq!(claimed.is_some(), waiting > 0);
        let Some(claimed) = claimed else { return };
        let job = self.job(lease(&claimed));
        assert!(job.until.is_none() && !job.judged, "{claimed:?} was not to be had");
        job.attempt += 1;
        job.until = Some(until);
        assert_eq!(job.attempt, claimed.attempt);
        self.leases.push(lease(&claimed));
    }

    async fn finish(&mut self, store: &Store, lease: Lease, verdict: Verdict) {
        let finished =
            store.finish(lease, &judgement(verdict), None, at(self.now), Conclusion::stands()).await;
        let holds = self.holds(lease);
        let job = self.job(lease);
        match finished {
            Ok(Finished::Stored(_)) => assert!(holds),
            Ok(Finished::Already(_)) => assert!(job.judged && job.attempt == lease.attempt),
            Err(Error::Conflict(_)) => assert!(!(holds || job.judged && job.attempt == lease.attempt)),
            Err(other) => panic!("{other}"),
        }
        if holds {
            (job.judged, job.until) = (true, None);
        }
    }

    async fn reap(&mut self, store: &Store, seconds: i64) {
        self.now += seconds;
        let now = self.now;
        let due = self.jobs.iter_mut().filter(|(_, job)| job.until.is_some_and(|until| until <= now));
        let mut expected = Vec::new();
        for (id, job) in due {
            job.until = None;
            expected.push((*id, job.attempt));
        }
        let mut taken: Vec<_> =
            store.reap(at(now)).await.unwrap().into_iter().map(|l| (l.job, l.attempt)).collect();
        taken.sort();
        assert_eq!(taken, expected);
    }

    async fn rejudge(&mut self, store: &Store, submission: usize, purpose: Purpose) {
        if self.submissions.is_empty() {
            return;
        }
        let id = self.submissions[submission % self.submissions.len()];
        let jobs = store.rejudge(id, Rejudge { purpose, times: 2, ..AGAIN }).await.unwrap();
        self.add(id, jobs);
    }
}

/// Every job of these submissions was judged once, and each submission has exactly one current verdict.
async fn all_judged_once(store: &Store, jobs: &BTreeMap<JobId, Expected>) {
    let mut submissions: Vec<_> = jobs.values().filter_map(|job| job.submission).collect();
    submissions.sort();
    submissions.dedup();
    for id in submissions {
        let history = store.history(id).await.unwrap();
        assert_eq!(history.iter().filter(|j| j.current).count(), 1, "submission {id}");
        let mut judged: Vec<_> = history.iter().map(|j| j.job).collect();
        judged.sort();
        let asked: Vec<_> =
            jobs.iter().filter(|(_, job)| job.submission == Some(id)).map(|(job, _)| *job).collect();
        assert_eq!(judged, asked, "submission {id}");
    }
}

fn any_order(database: &Database) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store = runtime.block_on(database.open());
    let cases = if database.engine == Engine::Sqlite { 60 } else { 40 };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut case = 0;
    let events = proptest::collection::vec(event(), 1..60);
    let played = std::cell::RefCell::new(&mut case);
    let ran = TestRunner::new(config).run(&events, |events| {
        **played.borrow_mut() += 1;
        let case = **played.borrow();
        runtime.block_on(async {
            // What an earlier case left would only be in the way.
            store.forget(at(1), 1000, at(0)).await.unwrap();
            let mut model = Model::default();
            for (n, event) in events.into_iter().enumerate() {
                model.play(&store, event, &format!("{case}-{n}")).await;
            }
            store.reap(at(1000)).await.unwrap();
            judge_all(&store, Verdict::Accepted).await;
            all_judged_once(&store, &model.jobs).await;
        });
        Ok(())
    });
    if let Err(error) = ran {
        panic!("{error}");
    }
    assert_eq!(runtime.block_on(store.check()).unwrap(), Vec::<String>::new());
}

/// Does it again while others are in the way, as the error says, a few times.
macro_rules! patiently {
    ($work:expr) => {{
        let mut attempts = 0;
        loop {
            match $work.await {
                Err(error) if error.is_transient() && attempts < 20 => attempts += 1,
                done => break done.unwrap(),
            }
            tokio::task::yield_now().await;
        }
    }};
}

fn at_once(database: &Database) {
    run(async {
        let store = database.open().await;
        let now = Arc::new(AtomicI64::new(10));
        let submitters = (0..3).map(|n| tokio::spawn(submit_many(store.clone(), n))).collect::<Vec<_>>();
        let workers =
            (0..4).map(|n| tokio::spawn(work_badly(store.clone(), n, Arc::clone(&now)))).collect::<Vec<_>>();
        let mut jobs = BTreeMap::new();
        for submitter in submitters {
            jobs.extend(submitter.await.unwrap());
        }
        for worker in workers {
            worker.await.unwrap();
        }
        store.reap(at(10_000)).await.unwrap();
        judge_all(&store, Verdict::WrongAnswer).await;
        all_judged_once(&store, &jobs).await;
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    });
}

/// Hands in, has some judged again, and deletes what is old.
async fn submit_many(store: Store, n: usize) -> BTreeMap<JobId, Expected> {
    let mut jobs = BTreeMap::new();
    for i in 0..12 {
        let (id, job) = patiently!(store.submit(&submission(&format!("{n}-{i}"))));
        let expected = || Expected { submission: Some(id), ..Expected::default() };
        jobs.insert(job, expected());
        match store.rejudge(id, AGAIN).await {
            Ok(again) => jobs.extend(again.into_iter().map(|job| (job, expected()))),
            Err(error) => assert!(error.to_string().contains("sources were deleted"), "{error}"),
        }
        patiently!(store.forget(at(1), 2, at(1)));
    }
    jobs
}

/// Judges, forgets, comes late, and takes back from others.
async fn work_badly(store: Store, n: usize, now: Arc<AtomicI64>) {
    for i in 0..25 {
        let second = now.fetch_add(1, Ordering::Relaxed);
        patiently!(store.reap(at(second)));
        let Some(job) =
            store.claim(Claim::local(&format!("w{n}"), at(second + 5), at(second))).await.unwrap()
        else {
            tokio::task::yield_now().await;
            continue;
        };
        assert!(matches!(&job.state, JobState::Claimed { worker, .. } if *worker == format!("w{n}")));
        match i % 5 {
            0 => drop(store.give_back(lease(&job), "no time").await),
            1 => {}
            _ => match store
                .finish(lease(&job), &judgement(Verdict::Accepted), None, at(second), Conclusion::stands())
                .await
            {
                Ok(Finished::Stored(_)) | Err(Error::Conflict(_)) => {}
                other => panic!("{other:?}"),
            },
        }
    }
}

/// Two files of one name: refused when half of it is written.
fn refused(token: &str) -> NewSubmission<'_> {
    NewSubmission { files: vec![("main.c", b"1"), ("main.c", b"2")], ..submission(token) }
}

fn fails_alone(database: &Database) {
    run(async {
        let store = database.open().await;
        let hand_in = |n: usize| {
            let store = store.clone();
            async move {
                let token = n.to_string();
                let new = if n % 3 == 1 { refused(&token) } else { submission(&token) };
                store.submit(&new).await
            }
        };
        let all: Vec<_> = (0..60).map(|n| tokio::spawn(hand_in(n))).collect();
        for (n, handed_in) in all.into_iter().enumerate() {
            let token = n.to_string();
            let found = store.submission_of_token(&token);
            match handed_in.await.unwrap() {
                Ok((id, _)) => assert_eq!(found.await.unwrap().id, id),
                Err(error) => {
                    assert!(n % 3 == 1 && error.to_string().contains("main.c"), "{n}: {error}");
                    assert!(matches!(found.await, Err(Error::NotFound(_))));
                }
            }
        }
        assert_eq!(store.counts().await.unwrap().submissions, 40);
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    });
}

fn goes_away(database: &Database) {
    run(async {
        let store = database.open().await;
        let mut stayed = 0;
        for round in 0..40u64 {
            let hand_in = |n: u64| {
                let store = store.clone();
                tokio::spawn(async move { store.submit(&submission(&format!("{round}-{n}"))).await })
            };
            let all: Vec<_> = (0..6).map(hand_in).collect();
            // Further into it each time.
            tokio::time::sleep(Duration::from_micros(round * 40)).await;
            all.iter().step_by(2).for_each(tokio::task::JoinHandle::abort);
            for (n, one) in all.into_iter().enumerate() {
                let handed_in = one.await;
                stayed += u64::from(handed_in.is_ok());
                match handed_in {
                    Ok(done) => {
                        let id = done.unwrap().0;
                        let found = store.submission_of_token(&format!("{round}-{n}")).await;
                        assert_eq!(found.unwrap().id, id);
                    }
                    Err(gone) => assert!(gone.is_cancelled() && n % 2 == 0),
                }
            }
        }
        // Nobody knows of those who went away, and all others are there.
        let there = store.counts().await.unwrap().submissions;
        assert!((stayed..=240).contains(&there) && stayed >= 120, "{stayed} of {there}");
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    });
}
