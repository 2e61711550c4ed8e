//! Every message as it is sent. A fleet is upgraded while it works, so that what one version says is read by the next and the other way round.

use crate::nats::{Ask, Body, Greeting, News, NotBegun, Presence, Reply, Standing};
use crate::{
    FromWorker, Hello, JobId, Lease, Mode, OLDEST, Opinions, Outcome, PROTOCOL, Probe, SPOKEN, SlotFacts,
    Statement, Task, TimeLimit, Timestamp, ToWorker, Work, samples, says,
};
use model::{
    Bytes, CapturedStream, Clock, Event, Executed, Execution, IndexPart, Inference, InferredLimit,
    InferredScales, Judgement, LimitSide, Limits, Nanos, NodeFacts, NoiseFloor, ProgramFile, ProgramKind,
    Reading, ReferenceScale, SecondOpinions, TimedProgram, Verdict,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::fmt::Debug;

/// The messages of a group, and how another program's are read.
struct Group {
    name: &'static str,
    sent: Value,
    reads: fn(&Value) -> Result<(), String>,
}

fn group<T: Serialize + DeserializeOwned + PartialEq + Debug>(name: &'static str, samples: &[T]) -> Group {
    let reads = |list: &Value| {
        serde_json::from_value::<Vec<T>>(list.clone()).map(drop).map_err(|error| error.to_string())
    };
    let sent = serde_json::to_value(samples).expect("it can be sent");
    let back: Vec<T> = serde_json::from_value(sent.clone()).expect("it can be read");
    assert_eq!(back, samples, "{name}");
    Group { name, sent, reads }
}

fn lease() -> Lease {
    Lease { job: JobId(7), attempt: 2 }
}

fn hello() -> Hello {
    let plan = Reading::Known(samples::statement("judge1").slots[0].clone());
    let slot = SlotFacts { id: 3, cpus: vec![4, 5], plan, floor: Reading::Known(NoiseFloor::assumed()) };
    Hello {
        protocol: PROTOCOL,
        oldest: None,
        version: "1.0.0".into(),
        node: "judge1".into(),
        slot,
        holding: Some(lease()),
        infers: true,
    }
}

/// What is known of a machine where most is not.
fn facts() -> Box<NodeFacts> {
    Box::new(NodeFacts {
        version: Reading::Known("1.0.0".into()),
        fingerprint: Reading::Known("0123456789abcdef".into()),
        kernel: Reading::Known("6.12.48".into()),
        memory_bytes: Reading::Known(274_877_906_944),
        ..NodeFacts::unknown("not reported")
    })
}

fn limit() -> TimeLimit {
    TimeLimit { limit: Nanos(2_000_000_000), source: "jury submissions".into() }
}

fn file() -> ProgramFile {
    ProgramFile { name: "a.py".into(), content: "print(8)\n".into(), executable: false }
}

fn judge() -> Work {
    Work::Judge {
        package: "ab".repeat(32),
        problem: "fence".into(),
        language: Some("python3".into()),
        files: vec![file()],
        jury: None,
        mode: Mode::StopEarly,
        clock: Some(Clock::Cpu),
        time_limit: Some(limit()),
        opinions: Some(Opinions { when: SecondOpinions::Grey, firm: true, scales: vec![scale()] }),
    }
}

fn jury() -> Work {
    Work::Judge {
        package: "cd".repeat(32),
        problem: "fence".into(),
        language: None,
        files: Vec::new(),
        jury: Some("submissions/accepted/a.py".into()),
        mode: Mode::AllTests,
        clock: None,
        time_limit: None,
        opinions: None,
    }
}

fn execute() -> Work {
    Work::Execute(Box::new(Execution {
        program: ProgramKind::Language("bash".into()),
        files: vec![file()],
        entry: None,
        compiler_options: Vec::new(),
        args: vec!["-x".into()],
        stdin: "in".into(),
        expected: Some("out".into()),
        limits: Limits { cpu: Some(Nanos(1)), ..Limits::default() },
        compile_limits: Limits::default(),
        runs: 1,
        redirect_stderr: false,
        keep_output: Bytes(1024),
    }))
}

fn infer() -> Work {
    Work::Infer { package: "ab".repeat(32), problem: "fence".into(), scales: false }
}

fn scales() -> Work {
    Work::Infer { package: "ab".repeat(32), problem: "fence".into(), scales: true }
}

fn scale() -> ReferenceScale {
    ReferenceScale {
        language: "python3".into(),
        submission: "submissions/accepted/a.py".into(),
        test: "secret/1".into(),
        cpu: Nanos(400_000_000),
        reference: Nanos(300_000_000),
        counted_by: "reference machine 1".into(),
    }
}

fn task(work: Work) -> Task {
    Task { lease: lease(), name: "s9".into(), work, may_be_postponed: true }
}

fn outcomes() -> [Outcome; 7] {
    let why = || "the launcher is gone".to_string();
    let kept = CapturedStream { content: "out".into(), total: Bytes(3) };
    let executed = Executed {
        language: "bash".into(),
        stands_in: None,
        verdict: Verdict::Accepted,
        message: String::new(),
        compile: None,
        limits: Limits::default(),
        runs: Vec::new(),
        thresholds: Reading::unknown("made up"),
        stdout: kept.clone(),
        stderr: kept,
    };
    [
        Outcome::Judged { judgement: Box::new(Judgement::fault("s9", "made up")) },
        Outcome::Executed { executed: Box::new(executed) },
        Outcome::Refused { why: why() },
        Outcome::Failed { why: why() },
        Outcome::Returned { why: why() },
        Outcome::Inferred { limit: Box::new(inferred()) },
        Outcome::Scaled { found: Box::new(InferredScales { scales: vec![scale()], warnings: vec![why()] }) },
    ]
}

fn inferred() -> InferredLimit {
    let program = TimedProgram {
        path: "submissions/accepted/a.py".into(),
        language: "python3".into(),
        side: LimitSide::Passes,
        time: Nanos(400_000_000),
        ended: false,
    };
    InferredLimit {
        limit: Nanos(2_000_000_000),
        source: "jury submissions".into(),
        rule: Reading::Known(Inference::Legacy { multiplier: 5.0, safety_margin: 2.0 }),
        clock: Reading::Known(Clock::Cpu),
        programs: vec![program],
        warnings: vec!["b.py does not compile".into()],
    }
}

fn event() -> Box<Event> {
    Box::new(Event::Warning { place: "here".into(), message: "seen".into() })
}

fn from_workers() -> Vec<FromWorker> {
    let done = outcomes().map(|outcome| FromWorker::Done { lease: lease(), outcome });
    let rest = [
        FromWorker::Hello(Box::new(hello())),
        FromWorker::Hello(Box::new(Hello { holding: None, ..hello() })),
        FromWorker::Node { facts: facts() },
        FromWorker::Ready,
        FromWorker::NeedPackage { hash: "ab".into() },
        FromWorker::Event { lease: lease(), event: event() },
        FromWorker::TimeLimit { lease: lease(), found: limit() },
    ];
    rest.into_iter().chain(done).chain([FromWorker::Waits { lease: lease() }]).collect()
}

fn to_workers() -> Vec<ToWorker> {
    let tasks =
        [judge(), jury(), execute(), infer(), scales()].map(|work| ToWorker::Task(Box::new(task(work))));
    let rest = [
        ToWorker::Welcome { protocol: PROTOCOL },
        ToWorker::Refused { why: "another version".into() },
        ToWorker::Package { hash: "ab".into(), bytes: Some(8) },
        ToWorker::Package { hash: "ab".into(), bytes: None },
        ToWorker::TimeLimit { lease: lease(), limit: limit() },
        ToWorker::Heard { lease: lease() },
        ToWorker::Cancel { lease: lease() },
    ];
    rest.into_iter().chain(tasks).collect()
}

fn asks() -> Vec<Ask> {
    let greeting = |statement: Option<Statement>| {
        let (hello, troubles) = (hello(), vec!["the disk is full".into()]);
        Ask::Hello(Box::new(Greeting { hello, statement, at: Timestamp(5), troubles, fresh: true }))
    };
    let done =
        outcomes().map(|outcome| Ask::Done { lease: lease(), outcome: Body::Inline(Box::new(outcome)) });
    let rest = [
        greeting(Some(samples::statement("judge1"))),
        greeting(None),
        Ask::Node { facts: facts() },
        Ask::Probe { probe: Probe { at: Timestamp(5), parts: vec![(IndexPart::Dram, 90.0)] } },
        Ask::Begin { ticket: lease(), infers: true },
        Ask::Keep { lease: lease() },
        Ask::Package { hash: "ab".into(), damaged: true },
        Ask::TimeLimit { lease: lease(), found: limit() },
        Ask::Done { lease: lease(), outcome: Body::Stored { hash: "ab".into() } },
    ];
    rest.into_iter().chain(done).chain([Ask::Waits { lease: lease() }]).collect()
}

fn replies() -> Vec<Reply> {
    let why = || vec!["it is being drained".to_string()];
    let begun = |task: Body<Task>| Reply::Begun { task, submission: 9 };
    let tasks =
        [judge(), jury(), execute(), infer(), scales()].map(|work| begun(Body::Inline(Box::new(task(work)))));
    let rest = [
        Reply::Standing(Standing::Works { probe_every_secs: Some(300), protocol: PROTOCOL }),
        Reply::Standing(Standing::Works { probe_every_secs: None, protocol: PROTOCOL }),
        Reply::Standing(Standing::Waits { reasons: why() }),
        Reply::Refused { why: "another version".into() },
        Reply::Heard,
        begun(Body::Stored { hash: "ab".into() }),
        Reply::NotBegun(NotBegun::Over),
        Reply::NotBegun(NotBegun::Later { millis: 500 }),
        Reply::NotBegun(NotBegun::Stopped { reasons: why() }),
        Reply::Cancel,
        Reply::Package { there: true },
        Reply::TimeLimit { limit: limit() },
        Reply::Unavailable { why: "the database is away".into() },
    ];
    rest.into_iter().chain(tasks).collect()
}

fn groups() -> Vec<Group> {
    let present = |judging| Presence { hello: hello(), since: Timestamp(5), judging, finished: 4 };
    vec![
        group("socket, worker", &from_workers()),
        group("socket, service", &to_workers()),
        group("NATS, worker", &asks()),
        group("NATS, service", &replies()),
        group("NATS, present", &[present(Some(9)), present(None)]),
        group("NATS, news", &[News::Event(event()), News::Live(json!({ "by": "a" }))]),
        group("NATS, ticket", &[lease()]),
    ]
}

/// The messages of all versions that are spoken, the oldest first.
fn files() -> [Value; (PROTOCOL - OLDEST + 1) as usize] {
    [include_str!("../tests/messages/2.json")].map(|text| serde_json::from_str(text).unwrap())
}

#[test]
fn messages_say_what_they_always_said_under_this_number() {
    let sent: Map<String, Value> =
        groups().into_iter().map(|group| (group.name.to_string(), group.sent)).collect();
    SPOKEN.hold(&Value::Object(sent), &files(), says);
}

#[test]
fn messages_of_all_versions_that_are_spoken_are_read() {
    for (protocol, file) in (OLDEST..).zip(files()) {
        for (name, sent) in file.as_object().unwrap() {
            let group = groups().into_iter().find(|group| group.name == name).expect("a group of today");
            (group.reads)(sent).unwrap_or_else(|why| panic!("{protocol}, {name}: {why}"));
        }
    }
}

#[test]
fn workers_that_do_not_say_so_infer_no_limits() {
    let [frozen, ..] = files();
    let hellos: Vec<FromWorker> = serde_json::from_value(frozen["socket, worker"].clone()).unwrap();
    let hello = hellos.iter().find_map(|said| match said {
        FromWorker::Hello(hello) => Some(hello.infers),
        _ => None,
    });
    let asks: Vec<Ask> = serde_json::from_value(frozen["NATS, worker"].clone()).unwrap();
    let begin = asks.iter().find_map(|ask| match ask {
        Ask::Begin { infers, .. } => Some(*infers),
        _ => None,
    });
    assert_eq!((hello, begin), (Some(false), Some(false)));
}
