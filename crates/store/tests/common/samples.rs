//! Things to put into a store.

use model::{
    Bytes, Charge, Clock, Compilation, Confidence, Exit, Judgement, Limits, Nanos, NodeFacts, Observation,
    Reading, Settled, TestResult, Verdict,
};
use serde_json::json;
use store::{
    Anywhere, Claim, Conclusion, ContestId, Finished, Job, JudgementId, Lease, NewContest, NewSubmission,
    NewVersion, PARTICIPANT, Purpose, Rejudge, Store, SubmissionId, Timestamp, Urgency,
};

/// A program.
pub const SOURCE: &[u8] = b"int main() {}\n";

/// A point in time so many seconds after some begin.
pub const fn at(second: i64) -> Timestamp {
    Timestamp(1_800_000_000_000_000 + second * 1_000_000)
}

/// A submission of a program to nothing in particular.
pub fn submission(token: &str) -> NewSubmission<'_> {
    NewSubmission {
        token,
        version: None,
        author: None,
        origin: PARTICIPANT,
        visitor: None,
        language: "c",
        files: vec![("main.c", SOURCE)],
        details: json!({}),
        created: at(0),
        urgency: Urgency::Live,
        contest: None,
        callback: None,
    }
}

/// A version of the problem `sieve`, by its package.
pub const fn version(package: &[u8]) -> NewVersion<'_> {
    NewVersion { name: "sieve", title: "Sieve", package, author: None, created: at(0) }
}

/// One more judgement, to be the verdict.
pub const AGAIN: Rejudge = Rejudge {
    version: None,
    purpose: Purpose::Verdict,
    times: 1,
    urgency: Urgency::Background,
    created: at(9),
};

/// Hands in a program.
pub async fn submit(store: &Store, token: &str) -> SubmissionId {
    store.submit(&submission(token)).await.expect("it is taken").0
}

/// Gives the next job to a worker, for a minute.
pub async fn claim(store: &Store, worker: &str) -> Option<Job> {
    store.claim(Claim::local(worker, at(60), at(0))).await.expect("claiming works")
}

/// What a node tells that runs this kernel.
pub fn facts(kernel: &str) -> NodeFacts {
    NodeFacts { kernel: Reading::Known(kernel.into()), ..NodeFacts::unknown("not reported") }
}

/// How a node of a pool asks for work; its slot's name is that of the node.
pub fn asks<'a>(node: &'a str, pool: &'a str, anywhere: Anywhere) -> Claim<'a> {
    Claim {
        worker: node,
        node: Some(node),
        pool,
        anywhere,
        until: at(60),
        now: at(10),
        infers: true,
        slots: None,
    }
}

/// How a ticket for a pool is asked for.
pub fn ticket(pool: &str) -> Claim<'_> {
    Claim { worker: "ticket", node: None, ..asks("", pool, Anywhere::Equally) }
}

/// Sets a contest that is bound to a pool, which is there then.
pub async fn contest(store: &Store, name: &str, pool: &str, usual: Option<&str>) -> ContestId {
    for pool in [Some(pool), usual].into_iter().flatten() {
        store.set_pool(pool, &json!({}), at(0)).await.expect("it is set");
    }
    let new = NewContest { name, pool, usual, at_once: None, policy: &json!({}) };
    store.set_contest(&new, at(0)).await.expect("it is set")
}

/// Finishes a job: its judgement.
pub async fn finish(store: &Store, job: &Job, verdict: Verdict, conclusion: Conclusion<'_>) -> JudgementId {
    let finished = store.finish(job.lease(), &judgement(verdict), None, at(20), conclusion).await;
    match finished.expect("it is stored") {
        Finished::Stored(id) => id,
        Finished::Already(id) => panic!("judgement {id} was there"),
    }
}

/// The right to this job.
pub fn lease(job: &Job) -> Lease {
    Lease { job: job.id, attempt: job.attempt }
}

/// Judges everything that waits.
pub async fn judge_all(store: &Store, verdict: Verdict) {
    while let Some(job) = claim(store, "w").await {
        store
            .finish(lease(&job), &judgement(verdict), None, at(3), Conclusion::stands())
            .await
            .expect("it is stored");
    }
}

/// A test with one run.
fn test(name: &str, verdict: Verdict, cpu: Nanos) -> TestResult {
    TestResult {
        name: name.into(),
        verdict,
        charge: Charge::cpu(cpu),
        wall: cpu,
        memory_peak: Reading::Known(Bytes(4096)),
        score: None,
        settled: Settled { confidence: Confidence::Clear, runs: 1, void_runs: 0 },
        runs: vec![Observation::unread(Exit::Code(0), cpu, "a sample")],
        causes: Reading::unknown("not recorded then"),
        second_opinion: None,
        transcript: None,
        message: String::new(),
    }
}

/// A judgement of two tests.
pub fn judgement(verdict: Verdict) -> Judgement {
    let tests = vec![
        test("secret/01", Verdict::Accepted, Nanos::from_millis(100)),
        test("secret/02", verdict, Nanos::from_millis(250)),
    ];
    Judgement {
        submission: "main.c".into(),
        language: "c".into(),
        verdict,
        score: None,
        max_score: None,
        groups: Vec::new(),
        clock: Clock::Cpu,
        counted_by: None,
        time_limit: Nanos::from_secs(1),
        limits: Limits { cpu: Some(Nanos::from_secs(1)), ..Limits::default() },
        compile: Compilation { ok: true, output: "warning: nothing\n".into() },
        settled: Settled::combined(&tests),
        tests,
        thresholds: Reading::unknown("not recorded then"),
        fault: (verdict == Verdict::JudgeError).then(|| "the slot vanished".into()),
    }
}
