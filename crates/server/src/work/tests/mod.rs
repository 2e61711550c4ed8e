//! What the service promises workers, over each transport by the same tests: by the Unix socket, and over NATS with a real broker.

mod broker;
mod end;
mod fleet_tests;
mod limits;

use crate::live::LiveEvent;
use crate::secret;
use crate::test_service::TestService;
use crate::timestamp::now;
use broker::Broker;
use end::End;
use fleet::{Hello, Outcome, PROTOCOL, SlotFacts, Work};
use model::{
    Clock, Compilation, Confidence, Event, Isolation, Judgement, Limits, Nanos, Settled, Slot, Verdict,
};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use store::{Hash, NewContest, NewSubmission, NewUser, PARTICIPANT, Role, SubmissionId, Urgency, UserId};
use tokio::net::UnixListener;

/// How long nothing is to come where nothing may: some looks of the service.
const QUIET: Duration = Duration::from_millis(900);

/// Who a worker is.
pub(crate) fn hello(node: &str, slot: u32) -> Hello {
    let (plan, floor) = (model::not_told(), model::not_told());
    let facts = SlotFacts { id: slot, cpus: vec![slot], plan, floor };
    Hello {
        protocol: PROTOCOL,
        oldest: None,
        version: "1.0.0".into(),
        node: node.into(),
        slot: facts,
        holding: None,
        infers: true,
    }
}

/// A worker that is connected.
pub(crate) fn worker(node: &str, slot: u32) -> super::Worker {
    let Hello { slot, version, node, .. } = hello(node, slot);
    super::Worker { node, slot, version, since: now(), judging: None, finished: 0 }
}

fn slot(id: u32) -> Slot {
    let (isolation, none) = (Isolation::None, Vec::new());
    Slot { id, cpus: vec![id], idle_siblings: none, mem_nodes: vec![0], package: 0, isolation }
}

fn judged(verdict: Verdict) -> Outcome {
    let judgement = Judgement {
        submission: "s".into(),
        language: "python3".into(),
        verdict,
        score: None,
        max_score: None,
        groups: Vec::new(),
        clock: Clock::Cpu,
        counted_by: None,
        time_limit: Nanos(1_000_000_000),
        limits: Limits::default(),
        compile: Compilation { ok: true, output: String::new() },
        tests: Vec::new(),
        settled: Settled { confidence: Confidence::Clear, runs: 1, void_runs: 0 },
        thresholds: model::Reading::unknown("made up"),
        fault: None,
    };
    Outcome::Judged { judgement: Box::new(judgement) }
}

/// A service that serves workers by one of the transports.
struct TransportFixture {
    kit: TestService,
    broker: Option<Broker>,
    /// The pool of workers that take what may be judged anywhere.
    pool: &'static str,
    tasks: tokio::task::JoinSet<()>,
}

impl Drop for TransportFixture {
    fn drop(&mut self) {
        self.tasks.abort_all();
    }
}

impl TransportFixture {
    async fn socket() -> TransportFixture {
        let kit = TestService::new(true).await;
        let listener = UnixListener::bind(kit.service.settings.directory.join("w")).unwrap();
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(super::serve(kit.service.clone(), listener));
        tasks.spawn(super::take_back_lost(kit.service.clone()));
        TransportFixture { kit, broker: None, pool: super::LOCAL_POOL, tasks }.with_metal().await
    }

    /// `None`: there is no broker on this machine.
    async fn nats() -> Option<TransportFixture> {
        let broker = Broker::start()?;
        let options = broker.options();
        let kit = TestService::with(true, |settings| settings.nats = Some(options.clone())).await;
        let mut tasks = tokio::task::JoinSet::new();
        let service = kit.service.clone();
        tasks.spawn(async move { panic!("{}", super::nats::serve(service, options).await) });
        tasks.spawn(super::take_back_lost(kit.service.clone()));
        let relaxed = json!(fleet::Pool::new("cloud", fleet::PoolKind::Relaxed).unwrap());
        kit.service.store.set_pool("cloud", &relaxed, now()).await.unwrap();
        Some(TransportFixture { kit, broker: Some(broker), pool: "cloud", tasks }.with_metal().await)
    }

    async fn with_metal(self) -> TransportFixture {
        let strict = json!(fleet::Pool::new("metal", fleet::PoolKind::Strict).unwrap());
        self.kit.service.store.set_pool("metal", &strict, now()).await.unwrap();
        self
    }

    /// A worker, ready for work.
    async fn worker(&self, node: &str, slot: u32) -> End {
        self.worker_that(hello(node, slot)).await
    }

    /// One that says this of itself.
    async fn worker_that(&self, hello: Hello) -> End {
        match &self.broker {
            None => End::socket(&self.kit.service.settings.directory.join("w"), hello).await,
            Some(broker) => End::nats(broker.connect().await, self.pool, hello).await,
        }
    }

    async fn user(&self, name: &str) -> UserId {
        let new = NewUser { name, display: name, role: Role::Participant, password: None, created: now() };
        self.kit.service.store.add_user(new).await.unwrap()
    }

    /// Hands in; contest by its name.
    async fn submit(&self, author: Option<UserId>, urgency: Urgency, contest: Option<&str>) -> SubmissionId {
        let store = &self.kit.service.store;
        let version = store.problem("fence").await.unwrap().newest.id;
        let contest = match contest {
            Some(name) => Some(store.contest(name).await.unwrap().id),
            None => None,
        };
        let new = NewSubmission {
            token: &secret::uuid().unwrap(),
            version: Some(version),
            author,
            origin: PARTICIPANT,
            visitor: None,
            language: "python3",
            files: vec![("a.py", b"print(8)\n")],
            details: json!({}),
            created: now(),
            urgency,
            contest,
            callback: None,
        };
        let (id, _) = store.submit(&new).await.unwrap();
        self.kit.service.work_came.one();
        id
    }

    async fn practice(&self) -> SubmissionId {
        self.submit(None, Urgency::Live, None).await
    }

    /// A worker is gone as when its machine lost power, and so long that its leases are over.
    async fn lose(&self, end: End) {
        drop(end);
        if self.broker.is_some() {
            let later = now().plus_micros(3_600_000_000);
            self.kit.service.store.reap(later).await.unwrap();
            self.kit.service.work_came.one();
        }
    }

    /// A worker died, and another one takes its place.
    async fn reborn(&self, end: End) -> End {
        drop(end);
        let reborn = self.worker("n", 0).await;
        reborn.greet_first().await;
        reborn
    }

    async fn verdicts(&self, id: SubmissionId) -> Vec<Verdict> {
        let history = self.kit.service.store.history(id).await.unwrap();
        history.into_iter().map(|judgement| judgement.verdict).collect()
    }
}

/// Runs a test over each transport.
macro_rules! over_both {
    ($($name:ident)*) => {
        mod by_socket { $(#[tokio::test] async fn $name() { super::$name(&super::TransportFixture::socket().await).await })* }
        mod over_nats {
            $(#[tokio::test] async fn $name() {
                if let Some(fixture) = super::TransportFixture::nats().await {
                    super::$name(&fixture).await;
                }
            })*
        }
    };
}

over_both! {
    a_task_is_taken_watched_and_stored_once
    what_a_worker_had_when_it_was_lost_comes_back
    a_job_that_ended_two_workers_is_set_aside_and_others_go_first
    a_task_that_is_given_back_goes_to_the_next_worker
    who_judges_what_was_cancelled_is_told_to_leave_it
    what_another_worker_tells_of_a_job_is_dropped
    others_go_first_while_a_machine_is_slow
    what_waits_for_a_pool_goes_to_no_other
    the_urgent_come_first_and_authors_by_turns
    a_contest_has_no_more_at_once_than_it_may
}

mod inferring {
    use super::limits::*;
    use super::*;
    over_both! {
        who_needs_a_time_limit_waits_for_the_job_that_infers_it
        what_cannot_be_inferred_is_told_and_asked_for_again
        workers_of_the_version_before_infer_nothing_and_judge_by_the_stored_limit
        what_limits_are_in_reference_time_is_found_where_a_contest_asks
        scales_that_cannot_be_found_leave_results_open_and_are_asked_for_again
    }
}

#[tokio::test]
async fn a_worker_of_another_protocol_hears_what_to_upgrade() {
    let fixture = TransportFixture::socket().await;
    let path = fixture.kit.service.settings.directory.join("w");
    for (protocol, remedy) in [(PROTOCOL - 1, "upgrade the node"), (PROTOCOL + 1, "upgrade the service")] {
        let why = End::spoken(&path, None, protocol).await.unwrap_err();
        assert!(why.starts_with(&format!("the node speaks protocol {protocol} ")), "{why}");
        assert!(why.ends_with(remedy), "{why}");
    }
    let next = End::spoken(&path, Some(PROTOCOL), PROTOCOL + 1).await;
    assert_eq!(next, Ok(PROTOCOL), "one of the next version speaks this one, too");
}

async fn a_task_is_taken_watched_and_stored_once(fixture: &TransportFixture) {
    let service = &fixture.kit.service;
    let id = fixture.practice().await;
    let (_, mut watching) = service.live.watch(id);
    let mut worker = fixture.worker("n", 0).await;
    let task = worker.task().await;
    let Work::Judge { package, problem, files, time_limit, .. } = &task.work else { panic!("{task:?}") };
    let known = time_limit.as_ref().map(|limit| limit.limit);
    assert_eq!((&**problem, files.len(), known), ("fence", 1, Some(Nanos::from_secs(1))));
    let bytes = worker.package(package).await;
    assert_eq!(Hash::digest(&bytes).as_str(), package);
    worker.event(task.lease, Event::Warning { place: "here".into(), message: "seen".into() }).await;
    let mut heard = Vec::new();
    let mut hear = async || {
        let event = tokio::time::timeout(Duration::from_secs(20), watching.recv()).await.expect("no event");
        let name = match event.unwrap() {
            LiveEvent::Started { worker, attempt, .. } => format!("started {worker} {attempt}"),
            LiveEvent::Progress { progress } => format!("{progress:?}"),
            LiveEvent::Returned { why } => why,
            LiveEvent::Judged { verdict, current } => format!("{verdict:?} {current}"),
        };
        heard.push(name);
    };
    hear().await;
    hear().await;
    worker.tell_done(task.lease, &judged(Verdict::Accepted)).await;
    hear().await;
    assert_eq!(heard[0], "started n/0 1");
    assert!(heard[1].contains("seen"), "{heard:?}");
    assert_eq!(heard[2], "Accepted true");
    // Told again, as by a worker that did not hear the answer; whatever it says now.
    worker.done(task.lease, &judged(Verdict::WrongAnswer)).await;
    assert_eq!(fixture.verdicts(id).await, [Verdict::Accepted]);
    // And on with the next.
    let next = fixture.practice().await;
    let task = worker.task().await;
    worker.done(task.lease, &judged(Verdict::WrongAnswer)).await;
    assert_eq!(fixture.verdicts(next).await, [Verdict::WrongAnswer]);
}

async fn what_a_worker_had_when_it_was_lost_comes_back(fixture: &TransportFixture) {
    let id = fixture.practice().await;
    let mut lost = fixture.worker("n", 0).await;
    let first = lost.task().await;
    fixture.lose(lost).await;
    let mut other = fixture.worker("m", 0).await;
    let second = other.task().await;
    assert_eq!((second.lease.job, second.lease.attempt), (first.lease.job, first.lease.attempt + 1));
    let job = fixture.kit.service.store.job(first.lease.job).await.unwrap();
    assert_eq!(job.failed, 1);
    // It was only cut off, and comes back with what it had.
    let mut back = fixture.worker("n", 0).await;
    back.tell_done(first.lease, &judged(Verdict::WrongAnswer)).await;
    assert_eq!(fixture.verdicts(id).await, []);
    other.done(second.lease, &judged(Verdict::Accepted)).await;
    assert_eq!(fixture.verdicts(id).await, [Verdict::Accepted]);
}

async fn a_job_that_ended_two_workers_is_set_aside_and_others_go_first(fixture: &TransportFixture) {
    let deadly = fixture.practice().await;
    let mut worker = fixture.worker("n", 0).await;
    assert_eq!(worker.task().await.name, format!("s{deadly}"));
    let others = [fixture.practice().await, fixture.practice().await];
    for other in others {
        worker = if other == others[0] { fixture.reborn(worker).await } else { worker };
        let task = worker.task().await;
        assert_eq!(task.name, format!("s{other}"));
        worker.done(task.lease, &judged(Verdict::Accepted)).await;
    }
    assert_eq!(worker.task().await.name, format!("s{deadly}"));
    let mut worker = fixture.reborn(worker).await;
    let last = fixture.practice().await;
    let task = worker.task().await;
    assert_eq!(task.name, format!("s{last}"));
    worker.done(task.lease, &judged(Verdict::Accepted)).await;
    let judged = async || fixture.verdicts(deadly).await;
    // Nobody is given it again; whoever asks for work is what sets it aside.
    let next = fixture.practice().await;
    assert_eq!(worker.task().await.name, format!("s{next}"));
    until("it is not set aside", async || judged().await == [Verdict::JudgeError]).await;
    let history = fixture.kit.service.store.history(deadly).await.unwrap();
    let stored = fixture.kit.service.store.judgement(history[0].id).await.unwrap();
    let why = stored.judgement.fault.unwrap();
    assert!(why.starts_with("set aside: 2 workers failed or died while they judged it; the last: "), "{why}");
}

async fn a_task_that_is_given_back_goes_to_the_next_worker(fixture: &TransportFixture) {
    let id = fixture.practice().await;
    let mut ending = fixture.worker("n", 0).await;
    let first = ending.task().await;
    ending.tell_done(first.lease, &Outcome::Returned { why: "it ends".into() }).await;
    drop(ending);
    let mut other = fixture.worker("m", 0).await;
    let second = other.task().await;
    assert_eq!((second.lease.job, second.lease.attempt), (first.lease.job, 2));
    let job = fixture.kit.service.store.job(first.lease.job).await.unwrap();
    assert_eq!((job.failed, job.returned.as_deref()), (0, Some("it ends")));
    other.done(second.lease, &judged(Verdict::Accepted)).await;
    assert_eq!(fixture.verdicts(id).await, [Verdict::Accepted]);
}

async fn who_judges_what_was_cancelled_is_told_to_leave_it(fixture: &TransportFixture) {
    let id = fixture.practice().await;
    let mut worker = fixture.worker("n", 0).await;
    let task = worker.task().await;
    assert_eq!(fixture.kit.service.store.cancel(id, "withdrawn", now()).await.unwrap(), 1);
    worker.cancelled(task.lease).await;
    worker.done(task.lease, &judged(Verdict::Accepted)).await;
    assert_eq!(fixture.verdicts(id).await, []);
    // It is good for more.
    let next = fixture.practice().await;
    let task = worker.task().await;
    worker.done(task.lease, &judged(Verdict::Accepted)).await;
    assert_eq!(fixture.verdicts(next).await, [Verdict::Accepted]);
}

async fn others_go_first_while_a_machine_is_slow(fixture: &TransportFixture) {
    let id = fixture.practice().await;
    let mut worker = fixture.worker("n", 0).await;
    for attempt in 1..=2 {
        let task = worker.task().await;
        assert_eq!((&task.name, task.lease.attempt), (&format!("s{id}"), attempt));
        assert!(task.may_be_postponed);
        assert!(!worker.waits(task.lease).await, "no other job waits");
        let other = fixture.practice().await;
        assert!(worker.waits(task.lease).await);
        worker.done(task.lease, &Outcome::Returned { why: "it was left".into() }).await;
        let next = worker.task().await;
        assert_eq!(next.name, format!("s{other}"));
        worker.done(next.lease, &judged(Verdict::Accepted)).await;
    }
    let job = fixture.kit.service.store.jobs(id).await.unwrap().remove(0);
    assert_eq!((job.failed, job.returned.as_deref()), (0, Some("others go first while its machine is slow")));
    // And then it is judged.
    let task = worker.task().await;
    assert_eq!((&task.name, task.may_be_postponed), (&format!("s{id}"), false));
    let other = fixture.practice().await;
    assert!(!worker.waits(task.lease).await);
    worker.done(task.lease, &judged(Verdict::WrongAnswer)).await;
    assert_eq!(fixture.verdicts(id).await, [Verdict::WrongAnswer]);
    assert_eq!(worker.task().await.name, format!("s{other}"));
}

async fn what_another_worker_tells_of_a_job_is_dropped(fixture: &TransportFixture) {
    let id = fixture.practice().await;
    let mut own = fixture.worker("n", 0).await;
    let task = own.task().await;
    let mut other = fixture.worker("n", 1).await;
    for outcome in [judged(Verdict::WrongAnswer), Outcome::Failed { why: "false".into() }] {
        other.tell_done(task.lease, &outcome).await;
    }
    own.done(task.lease, &judged(Verdict::Accepted)).await;
    assert_eq!(fixture.verdicts(id).await, [Verdict::Accepted]);
}

async fn what_waits_for_a_pool_goes_to_no_other(fixture: &TransportFixture) {
    let contest =
        NewContest { name: "finals", pool: "metal", usual: Some("metal"), at_once: None, policy: &json!({}) };
    fixture.kit.service.store.set_contest(&contest, now()).await.unwrap();
    fixture.submit(None, Urgency::Contest, Some("finals")).await;
    let mut worker = fixture.worker("n", 0).await;
    worker.nothing(QUIET).await;
    // Somebody else's turn comes, although the other is more urgent.
    let practice = fixture.practice().await;
    let task = worker.task().await;
    assert_eq!(task.name, format!("s{practice}"));
}

async fn the_urgent_come_first_and_authors_by_turns(fixture: &TransportFixture) {
    let (a, b) = (Some(fixture.user("a").await), Some(fixture.user("b").await));
    let later = fixture.submit(a, Urgency::Background, None).await;
    let a1 = fixture.submit(a, Urgency::Live, None).await;
    let a2 = fixture.submit(a, Urgency::Live, None).await;
    let a3 = fixture.submit(a, Urgency::Live, None).await;
    let b1 = fixture.submit(b, Urgency::Live, None).await;
    let urgent = fixture.submit(b, Urgency::Contest, None).await;
    let mut worker = fixture.worker("n", 0).await;
    let mut taken = Vec::new();
    for _ in 0..6 {
        let task = worker.task().await;
        taken.push(task.name.clone());
        worker.done(task.lease, &judged(Verdict::Accepted)).await;
    }
    assert_eq!(taken, [urgent, a1, b1, a2, a3, later].map(|id| format!("s{id}")));
}

async fn a_contest_has_no_more_at_once_than_it_may(fixture: &TransportFixture) {
    let contest =
        NewContest { name: "small", pool: fixture.pool, usual: None, at_once: Some(1), policy: &json!({}) };
    fixture.kit.service.store.set_contest(&contest, now()).await.unwrap();
    for _ in 0..2 {
        fixture.submit(None, Urgency::Contest, Some("small")).await;
    }
    // The contest's pool has its own time limit.
    let mut one = fixture.worker("n", 0).await;
    let task = one.task().await;
    assert!(matches!(task.work, Work::Infer { .. }), "{task:?}");
    one.done(task.lease, &limits::inferred(1)).await;
    let mut two = fixture.worker("n", 1).await;
    let first = tokio::select! {
        task = one.task() => (0, task),
        task = two.task() => (1, task),
    };
    let (mut busy, mut idle) = if first.0 == 0 { (one, two) } else { (two, one) };
    idle.nothing(QUIET).await;
    busy.done(first.1.lease, &judged(Verdict::Accepted)).await;
    let second = tokio::select! {
        task = busy.task() => task,
        task = idle.task() => task,
    };
    assert_ne!(second.lease.job, first.1.lease.job);
}

/// Waits until something holds.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..1000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{what}");
}

/// Another server on the same database.
async fn second_server(fixture: &TransportFixture) -> Arc<crate::service::Service> {
    let settings = fixture.kit.service.settings.clone();
    crate::service::open(settings).await.unwrap().service
}
