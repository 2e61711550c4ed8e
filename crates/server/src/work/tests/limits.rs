//! Time limits that are inferred: who infers, who waits, and by what everybody judges.

use super::{End, QUIET, TransportFixture, hello, judged, until};
use crate::pages::tests::zip;
use crate::secret;
use crate::timestamp::now;
use fleet::{Hello, Opinions, Outcome, Task, TimeLimit, Work};
use model::{
    Clock, Confidence, Inference, InferredLimit, InferredScales, LimitSide, Nanos, Reading, ReferenceScale,
    SecondOpinions, TimedProgram, Verdict,
};
use serde_json::json;
use store::{NewContest, NewSubmission, PARTICIPANT, SubmissionId, Urgency};

/// Uploads a version of a problem that states no time limit.
async fn upload(fixture: &TransportFixture, input: &str) {
    let files = [
        ("problem.yaml", "name: Open\n"),
        ("data/secret/1.in", input),
        ("data/secret/1.ans", input),
        ("submissions/accepted/a.py", "print(input())\n"),
    ];
    crate::problems::add(&fixture.kit.service, None, "open", zip(&files)).await.unwrap();
}

async fn submit(fixture: &TransportFixture, contest: Option<&str>) -> SubmissionId {
    let store = &fixture.kit.service.store;
    let contest = match contest {
        Some(name) => Some(store.contest(name).await.unwrap().id),
        None => None,
    };
    let new = NewSubmission {
        token: &secret::uuid().unwrap(),
        version: Some(store.problem("open").await.unwrap().newest.id),
        author: None,
        origin: PARTICIPANT,
        visitor: None,
        language: "python3",
        files: vec![("a.py", b"print(8)\n")],
        details: json!({}),
        created: now(),
        urgency: Urgency::Live,
        contest,
        callback: None,
    };
    let (id, _) = store.submit(&new).await.unwrap();
    fixture.kit.service.work_came.one();
    id
}

pub(super) fn inferred(seconds: u64) -> Outcome {
    let program = TimedProgram {
        path: "submissions/accepted/a.py".into(),
        language: "python3".into(),
        side: LimitSide::Passes,
        time: Nanos::from_millis(200 * seconds),
        ended: false,
    };
    let limit = InferredLimit {
        rule: Reading::Known(Inference::Legacy { multiplier: 5.0, safety_margin: 2.0 }),
        clock: Reading::Known(Clock::Cpu),
        programs: vec![program],
        ..InferredLimit::bare(Nanos::from_secs(seconds), "inferred")
    };
    Outcome::Inferred { limit: Box::new(limit) }
}

#[track_caller]
fn infers(task: &Task) {
    let Work::Infer { problem, .. } = &task.work else { panic!("{task:?}") };
    assert_eq!(problem, "open");
}

/// The submission that is judged, and its limit in seconds.
#[track_caller]
fn judges(task: &Task) -> (String, Option<u64>) {
    let Work::Judge { time_limit, .. } = &task.work else { panic!("{task:?}") };
    (task.name.clone(), time_limit.as_ref().map(|limit| limit.limit.0 / 1_000_000_000))
}

/// The next task, and which of two workers got it.
async fn either(one: &mut End, two: &mut End) -> (Task, usize) {
    tokio::select! { task = one.task() => (task, 0), task = two.task() => (task, 1) }
}

async fn awaits(fixture: &TransportFixture, id: SubmissionId) -> bool {
    fixture.kit.service.store.submission(id).await.unwrap().awaits_limit
}

pub(super) async fn who_needs_a_time_limit_waits_for_the_job_that_infers_it(fixture: &TransportFixture) {
    upload(fixture, "8\n").await;
    let first = submit(fixture, None).await;
    let mut one = fixture.worker("n", 0).await;
    let task = one.task().await;
    infers(&task);
    let mut two = fixture.worker("m", 0).await;
    two.nothing(QUIET).await;
    assert!(awaits(fixture, first).await);
    one.done(task.lease, &inferred(3)).await;
    let (judging, by) = either(&mut one, &mut two).await;
    assert_eq!(judges(&judging), (format!("s{first}"), Some(3)));
    let second = submit(fixture, None).await;
    let (busy, free) = if by == 0 { (&mut one, &mut two) } else { (&mut two, &mut one) };
    let other = free.task().await;
    assert_eq!(judges(&other), (format!("s{second}"), Some(3)), "on another node by the same limit");
    busy.done(judging.lease, &judged(Verdict::Accepted)).await;
    // A version that comes again has its own.
    upload(fixture, "9\n").await;
    let task = busy.task().await;
    infers(&task);
    busy.done(task.lease, &inferred(7)).await;
    let third = submit(fixture, None).await;
    let task = busy.task().await;
    assert_eq!(judges(&task), (format!("s{third}"), Some(7)));
    free.done(other.lease, &judged(Verdict::Accepted)).await;
    let store = &fixture.kit.service.store;
    let versions = store.versions(store.problem("open").await.unwrap().id).await.unwrap();
    let mut limits = Vec::new();
    for version in versions {
        let limit = store.time_limits(version.id).await.unwrap().remove(0).limit.unwrap();
        assert!(["n", "m"].contains(&limit.node.unwrap().as_str()));
        limits.push(limit.inferred.limit.0 / 1_000_000_000);
    }
    assert_eq!(limits, [7, 3]);
}

pub(super) async fn what_cannot_be_inferred_is_told_and_asked_for_again(fixture: &TransportFixture) {
    upload(fixture, "8\n").await;
    let id = submit(fixture, None).await;
    let mut worker = fixture.worker("n", 0).await;
    let task = worker.task().await;
    infers(&task);
    worker.done(task.lease, &Outcome::Refused { why: "no accepted submission".into() }).await;
    worker.nothing(QUIET).await;
    assert!(awaits(fixture, id).await);
    assert_eq!(fixture.verdicts(id).await, [], "never by another limit");
    let store = &fixture.kit.service.store;
    let version = store.problem("open").await.unwrap().newest;
    let why = crate::problems::limits::awaited(&fixture.kit.service, version.id, None, true).await.unwrap();
    assert!(why.contains("no accepted submission") && why.contains("upload a package"), "{why}");
    let why = crate::problems::limits::awaited(&fixture.kit.service, version.id, None, false).await.unwrap();
    assert!(!why.contains("no accepted submission"), "{why}");
    crate::problems::limits::again(&fixture.kit.service, &version, "open", None).await.unwrap();
    let task = worker.task().await;
    infers(&task);
    worker.done(task.lease, &inferred(2)).await;
    assert_eq!(judges(&worker.task().await), (format!("s{id}"), Some(2)));
}

pub(super) async fn workers_of_the_version_before_infer_nothing_and_judge_by_the_stored_limit(
    fixture: &TransportFixture,
) {
    upload(fixture, "8\n").await;
    let id = submit(fixture, None).await;
    let mut old = fixture.worker_that(Hello { infers: false, ..hello("old", 0) }).await;
    old.nothing(QUIET).await;
    until("it does not wait", async || awaits(fixture, id).await).await;
    let mut new = fixture.worker("new", 0).await;
    let task = new.task().await;
    infers(&task);
    new.done(task.lease, &inferred(4)).await;
    // What it then finds by itself is nobody's.
    let mut both = [old, new];
    let [old, new] = &mut both;
    let (task, worker) =
        tokio::select! { task = old.task() => (task, old), task = new.task() => (task, new) };
    assert_eq!(judges(&task), (format!("s{id}"), Some(4)));
    let own = TimeLimit { limit: Nanos(5), source: "own".into() };
    let in_force = worker.limit(task.lease, own).await.unwrap();
    assert_eq!(in_force, TimeLimit { limit: Nanos::from_secs(4), source: "inferred".into() });
}

/// Uploads a version of a problem that states its time limit.
async fn upload_stated(fixture: &TransportFixture, input: &str) {
    let files = [
        (
            "problem.yaml",
            "problem_format_version: 2023-07-draft\nname: Open\nuuid: 6b0d3e1e-3f3a-4f7e-9d2b-111111111111\nlimits:\n  time_limit: 1\n",
        ),
        ("data/secret/1.in", input),
        ("data/secret/1.ans", input),
        ("submissions/accepted/a.py", "print(input())\n"),
    ];
    crate::problems::add(&fixture.kit.service, None, "open", zip(&files)).await.unwrap();
}

/// A contest in the pool of the workers that asks the reference clock.
async fn a_contest_that_asks(fixture: &TransportFixture) {
    let policy =
        json!({"name": "asks", "pool": fixture.pool, "strictness": "relaxed", "second_opinion": "grey"});
    let contest =
        NewContest { name: "asks", pool: fixture.pool, usual: None, at_once: None, policy: &policy };
    fixture.kit.service.store.set_contest(&contest, now()).await.unwrap();
}

fn scaled() -> InferredScales {
    let scale = ReferenceScale {
        language: "python3".into(),
        submission: "submissions/accepted/a.py".into(),
        test: "secret/1".into(),
        cpu: Nanos::from_millis(400),
        reference: Nanos::from_millis(300),
        counted_by: "reference machine 1".into(),
    };
    InferredScales { scales: vec![scale], warnings: vec!["java: not accepted".into()] }
}

#[track_caller]
fn opinions(task: &Task) -> Opinions {
    let Work::Judge { opinions, .. } = &task.work else { panic!("{task:?}") };
    opinions.clone().expect("this service tells")
}

#[track_caller]
fn infers_scales(task: &Task) {
    assert!(matches!(task.work, Work::Infer { scales: true, .. }), "{task:?}");
}

async fn stored_scales(fixture: &TransportFixture) -> Vec<(Option<String>, Option<InferredScales>)> {
    let store = &fixture.kit.service.store;
    let version = store.problem("open").await.unwrap().newest.id;
    let all = store.all_scales(version).await.unwrap();
    all.into_iter().map(|stored| (stored.of.pool, stored.found.map(|found| found.inferred))).collect()
}

pub(super) async fn what_limits_are_in_reference_time_is_found_where_a_contest_asks(
    fixture: &TransportFixture,
) {
    a_contest_that_asks(fixture).await;
    upload_stated(fixture, "8\n").await;
    let pool = Some(fixture.pool.to_string());
    assert_eq!(stored_scales(fixture).await, [(pool.clone(), None)], "and not where nobody asks");
    let mut worker = fixture.worker("n", 0).await;
    let task = worker.task().await;
    infers_scales(&task);
    // Nobody waits for it.
    let early = submit(fixture, Some("asks")).await;
    let mut other = fixture.worker("m", 0).await;
    let judging = other.task().await;
    assert_eq!(judging.name, format!("s{early}"));
    let unknown = Opinions { when: SecondOpinions::Grey, firm: true, scales: Vec::new() };
    assert_eq!(opinions(&judging), unknown);
    other.done(judging.lease, &judged(Verdict::Accepted)).await;
    worker.done(task.lease, &Outcome::Scaled { found: Box::new(scaled()) }).await;
    until("the scales are not stored", async || {
        stored_scales(fixture).await == [(pool.clone(), Some(scaled()))]
    })
    .await;
    for (contest, told) in [
        (Some("asks"), Opinions { scales: scaled().scales, ..unknown }),
        (None, Opinions { when: SecondOpinions::Never, firm: false, scales: Vec::new() }),
    ] {
        submit(fixture, contest).await;
        let (task, by) = either(&mut worker, &mut other).await;
        assert_eq!(opinions(&task), told);
        [&mut worker, &mut other][by].done(task.lease, &judged(Verdict::Accepted)).await;
    }
}

pub(super) async fn scales_that_cannot_be_found_leave_results_open_and_are_asked_for_again(
    fixture: &TransportFixture,
) {
    // From before anybody asked.
    upload_stated(fixture, "8\n").await;
    a_contest_that_asks(fixture).await;
    let mut worker = fixture.worker("n", 0).await;
    submit(fixture, Some("asks")).await;
    let task = worker.task().await;
    let Outcome::Judged { mut judgement } = judged(Verdict::TimeLimit) else { panic!("a judgement") };
    judgement.settled.confidence = Confidence::Open;
    let open = Outcome::Judged { judgement };
    worker.done(task.lease, &open).await;
    let task = worker.task().await;
    infers_scales(&task);
    let why = "no qemu-x86_64 in /usr/bin".to_string();
    worker.done(task.lease, &Outcome::Refused { why }).await;
    submit(fixture, Some("asks")).await;
    let task = worker.task().await;
    assert_eq!(opinions(&task).scales, []);
    worker.done(task.lease, &open).await;
    worker.nothing(QUIET).await;
    let service = &fixture.kit.service;
    let version = service.store.problem("open").await.unwrap().newest;
    let stored = service.store.all_scales(version.id).await.unwrap().remove(0);
    let (stands, _) = crate::problems::limits::inferring(service, stored.submission).await.unwrap();
    assert!(
        matches!(&stands, crate::problems::limits::Inferring::Failed(why) if why.contains("qemu")),
        "{stands:?}"
    );
    let pool = Some(fixture.pool.to_string());
    crate::problems::limits::again(service, &version, "open", pool.clone()).await.unwrap();
    let nowhere = crate::problems::limits::again(service, &version, "open", None).await.unwrap_err();
    assert!(nowhere.to_string().contains("states its time limit"), "{nowhere}");
    let task = worker.task().await;
    infers_scales(&task);
    // As a worker of the version before would.
    worker.done(task.lease, &inferred(3)).await;
    until("it did not fail", async || {
        let stored = service.store.all_scales(version.id).await.unwrap().remove(0);
        let (stands, _) = crate::problems::limits::inferring(service, stored.submission).await.unwrap();
        matches!(stands, crate::problems::limits::Inferring::Failed(why) if why.contains("upgrade"))
    })
    .await;
    assert_eq!(stored_scales(fixture).await, [(pool, None)]);
}
