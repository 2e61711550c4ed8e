//! The rules over a real store, with made-up workers: no broker, no programs.

mod admission;
mod rounds;
mod suspicion;

use crate::test_service::{TestService, facts, language};
use crate::timestamp::now;
use crate::work::conclude;
use ::fleet::nats::{Greeting, Reply, Standing, WorkerId};
use ::fleet::{
    Contest, Hello, Outcome, PROTOCOL, Pool, PoolKind, STATEMENT_FORM, SlotFacts, StatedIndex, StatedPart,
    Statement, Strictness,
};
use model::{
    Charge, Clock, Compilation, Confidence, IndexPart, Isolation, Judgement, Limits, Nanos, Reading, Settled,
    Slot, TestResult, Verdict,
};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use store::{
    Anywhere, Claim, ContestId, Job, JobId, NewSubmission, Node, Submission, SubmissionId, Timestamp, Urgency,
};

/// The limit of every made-up judgement.
const LIMIT: Nanos = Nanos::from_secs(1);

fn hello(node: &str) -> Hello {
    let (plan, floor) = (Reading::unknown("there is no slot"), Reading::Known(floor()));
    let slot = SlotFacts { id: 0, cpus: vec![1], plan, floor };
    Hello {
        protocol: PROTOCOL,
        oldest: None,
        version: "1.0.0".into(),
        node: node.into(),
        slot,
        holding: None,
        infers: true,
    }
}

/// Measured, and as quiet as can be.
fn floor() -> settle::NoiseFloor {
    settle::NoiseFloor { assumed: false, ..settle::NoiseFloor::assumed() }
}

fn from(node: &str, pool: &str) -> WorkerId {
    WorkerId { pool: pool.into(), node: node.into(), slot: 0 }
}

/// As every node of a made-up pool is.
fn statement(node: &str, pool: &str) -> Statement {
    let known = |text: &str| Reading::Known(text.to_string());
    let part = |part, value| StatedPart { part, value, repeatability_pct: 0.1 };
    let parts = vec![part(IndexPart::Rounds, 374.0), part(IndexPart::Dram, 90.0)];
    let slot = Slot {
        id: 0,
        cpus: vec![1],
        idle_siblings: vec![],
        mem_nodes: vec![0],
        package: 0,
        isolation: Isolation::Cpuset,
    };
    Statement {
        form: STATEMENT_FORM,
        node: node.into(),
        pool: pool.into(),
        version: "1.0.0".into(),
        protocol: PROTOCOL,
        at: now(),
        boot_id: known(&format!("boot of {node}")),
        fingerprint: "0123456789abcdef".into(),
        kind: known("bare_metal"),
        cpu_model: known("Xeon"),
        cpu_version: known("6/85/7"),
        microcode: known("0x1"),
        topology: known("1 × 2 cores"),
        memory_bytes: Reading::Known(64 << 30),
        kernel: known("6.12"),
        mitigations: BTreeMap::new(),
        tuning: BTreeMap::new(),
        isolation: known("sandbox"),
        slots: vec![slot],
        index: Some(StatedIndex { taken_at: now(), parts }),
    }
}

fn slower(mut statement: Statement, factor: f64) -> Statement {
    let parts = statement.index.as_mut().map(|index| &mut index.parts);
    parts.into_iter().flatten().filter(|part| part.part == IndexPart::Dram).for_each(|p| p.value *= factor);
    statement
}

fn greeting(statement: Option<Statement>, node: &str) -> Greeting {
    Greeting { hello: hello(node), statement, at: now(), troubles: Vec::new(), fresh: false }
}

/// A judgement whose slowest test took so many milliseconds.
fn judged(verdict: Verdict, millis: u64, confidence: Confidence) -> Judgement {
    let settled = Settled { confidence, runs: 1, void_runs: 0 };
    let cpu = Nanos::from_millis(millis);
    let test = TestResult {
        name: "secret/1".into(),
        verdict,
        charge: Charge::cpu(cpu),
        wall: cpu,
        memory_peak: Reading::unknown("made up"),
        score: None,
        message: String::new(),
        settled,
        runs: Vec::new(),
        causes: Reading::unknown("made up"),
        second_opinion: None,
        transcript: None,
    };
    Judgement {
        submission: "main.c".into(),
        language: "c".into(),
        clock: Clock::Cpu,
        counted_by: None,
        verdict,
        score: None,
        max_score: None,
        groups: Vec::new(),
        time_limit: LIMIT,
        limits: Limits::default(),
        compile: Compilation { ok: true, output: String::new() },
        tests: vec![test],
        settled,
        thresholds: Reading::Known(settle::thresholds(&floor())),
        fault: None,
    }
}

fn clear(verdict: Verdict, millis: u64) -> Judgement {
    judged(verdict, millis, Confidence::Clear)
}

/// A service with pools and nodes.
struct World {
    kit: TestService,
    tokens: u32,
}

impl World {
    async fn new() -> World {
        World { kit: TestService::new(true).await, tokens: 0 }
    }

    /// Two strict nodes `m1`, `m2`, `m3` in `metal` and `c1`, `c2`, `c3` in `cloud`.
    async fn with_fleet() -> World {
        let mut world = World::new().await;
        world.pool("metal", PoolKind::Strict).await;
        world.pool("cloud", PoolKind::Relaxed).await;
        for n in 1..=3 {
            for (pool, node) in [("metal", format!("m{n}")), ("cloud", format!("c{n}"))] {
                assert_eq!(world.says_hello(&node, pool).await, Vec::<String>::new());
            }
        }
        world
    }

    async fn pool(&mut self, name: &str, kind: PoolKind) {
        let form = serde_json::to_value(Pool::new(name, kind).unwrap()).unwrap();
        self.kit.service.store.set_pool(name, &form, now()).await.unwrap();
    }

    async fn contest(&mut self, strictness: Strictness) -> ContestId {
        let name = format!("{strictness:?}");
        let contest = Contest { name, pool: "metal".into(), strictness, at_once: None, second_opinion: None };
        let store = &self.kit.service.store;
        crate::manage::set_contest(store, &contest, now()).await.unwrap();
        store.contest(&contest.name).await.unwrap().id
    }

    /// Why a node waits after a greeting; nothing: it works.
    async fn greets(&self, from: &WorkerId, greeting: &Greeting) -> Vec<String> {
        self.greeting_came(from, greeting, now()).await
    }

    /// As `greets`, of a greeting that arrived at `came`.
    async fn greeting_came(&self, from: &WorkerId, greeting: &Greeting, came: Timestamp) -> Vec<String> {
        match super::standing(&self.kit.service, from, greeting, came).await.unwrap() {
            Reply::Standing(Standing::Works { .. }) => Vec::new(),
            Reply::Standing(Standing::Waits { reasons }) => reasons,
            Reply::Refused { why } => vec![format!("refused: {why}")],
            other => panic!("{other:?}"),
        }
    }

    async fn states(&self, pool: &str, statement: Statement) -> Vec<String> {
        let node = statement.node.clone();
        self.greets(&from(&node, pool), &greeting(Some(statement), &node)).await
    }

    async fn says_hello(&self, node: &str, pool: &str) -> Vec<String> {
        self.states(pool, statement(node, pool)).await
    }

    async fn node(&self, name: &str) -> Node {
        self.kit.service.store.node(name).await.unwrap()
    }

    /// Kinds of what happened to a node, oldest first.
    async fn events(&self, node: &str) -> Vec<String> {
        let events = self.kit.service.store.node_events(node, 100).await.unwrap();
        events.into_iter().rev().map(|event| event.kind).collect()
    }

    async fn submit(&mut self, contest: Option<ContestId>) -> SubmissionId {
        self.tokens += 1;
        let token = self.tokens.to_string();
        let problem = self.kit.service.store.problem("fence").await.unwrap();
        let new = NewSubmission {
            token: &token,
            version: Some(problem.newest.id),
            author: None,
            origin: store::PARTICIPANT,
            visitor: None,
            language: "c",
            files: vec![("main.c", b"int main(void) {}")],
            details: json!({}),
            created: now(),
            urgency: Urgency::Live,
            contest,
            callback: None,
        };
        self.kit.service.store.submit(&new).await.unwrap().0
    }

    /// The job that a node gets next.
    async fn takes(&self, node: &str) -> Option<Job> {
        let pool = if node.starts_with('m') { "metal" } else { "cloud" };
        let anywhere = if pool == "metal" { Anywhere::Never } else { Anywhere::Equally };
        let worker = format!("{node}/0");
        let service = &self.kit.service;
        let until = now().plus_micros(60_000_000);
        let claim = Claim {
            worker: &worker,
            node: Some(node),
            pool,
            anywhere,
            until,
            now: now(),
            infers: true,
            slots: None,
        };
        service.store.claim(claim).await.unwrap()
    }

    /// A node takes the next job, which must be there, and says this.
    async fn says(&self, node: &str, judgement: Judgement) -> Job {
        let job = self.takes(node).await.unwrap_or_else(|| panic!("{node} gets nothing"));
        let outcome = Outcome::Judged { judgement: Box::new(judgement) };
        conclude(&self.kit.service, job.lease(), &outcome).await.unwrap();
        self.kit.service.store.job(job.id).await.unwrap()
    }

    async fn submission(&self, id: SubmissionId) -> Submission {
        self.kit.service.store.submission(id).await.unwrap()
    }

    /// Rounds of a submission that ended without a majority or a check that was due, and why another node should have spoken.
    async fn open(&self, id: SubmissionId) -> Vec<(JobId, String)> {
        let service = &self.kit.service;
        let jobs = service.store.jobs(id).await.unwrap();
        super::open_rounds(service, &jobs).await.unwrap().into_iter().collect()
    }

    /// The workers that are connected, from now on.
    fn connected(&self, workers: &[WorkerId]) {
        let shown = |from: &WorkerId| crate::work::Worker {
            node: from.node.clone(),
            slot: SlotFacts { id: from.slot, ..hello(&from.node).slot },
            version: "1.0.0".into(),
            since: now(),
            judging: None,
            finished: 0,
        };
        let named = workers.iter().map(|from| (format!("{}/{}", from.node, from.slot), shown(from)));
        self.kit.service.workers.set_fleet(named.collect());
    }

    /// The verdict and the job it is of.
    async fn verdict(&self, id: SubmissionId) -> Option<(Verdict, JobId)> {
        self.submission(id).await.current.map(|current| (current.verdict, current.job))
    }

    /// The job of a submission that waits.
    async fn waiting(&self, id: SubmissionId) -> Option<Job> {
        self.kit.service.store.jobs(id).await.unwrap().into_iter().find(Job::is_open)
    }

    /// Hands in until a job comes that is not drawn for a check, so that what follows is by what is said.
    async fn undrawn(&mut self, contest: Option<ContestId>) -> SubmissionId {
        loop {
            let id = self.submit(contest).await;
            let job = self.waiting(id).await.unwrap();
            if !::fleet::drawn(&job.id.to_string(), ::fleet::CrossPolicy::PUBLISHED.share) {
                return id;
            }
            self.kit.service.store.cancel(id, "drawn", now()).await.unwrap();
        }
    }
}
