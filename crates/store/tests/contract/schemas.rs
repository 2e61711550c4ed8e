//! Databases of earlier schemas: each is upgraded with everything that was in it.
//!
//! `tests/schemas` has, for every schema there was, the rows of a database as a program of that schema wrote them, something in every
//! table. `TAUTO_WRITE_SCHEMA=1 cargo test -p store --test contract 'written down'` writes that of the newest; say in `filled.rs` what its tables get.

use crate::Body;
use crate::common::samples::{SOURCE, asks, at, claim, finish, judgement, lease, submission};
use crate::common::{Database, Engine, run};
use crate::filled::{dump, fill};
use model::{Charge, Clock, InferredLimit, Nanos, NodeFacts, Verdict};
use serde_json::json;
use std::path::Path;
use store::{
    Anywhere, Begun, CallbackState, Conclusion, Filter, JobState, LIMITS, NodeState, Output, Page,
    RejudgingId, SCHEMA, State, Store, Urgency,
};

pub(crate) const TESTS: &[(&str, Body)] = &[
    ("every earlier schema is upgraded with all that was in it", upgraded),
    ("the newest schema is written down", written_down),
];

/// A file of this crate.
fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!("{}: {error}; TAUTO_WRITE_SCHEMA=1 writes that of the newest schema", path.display())
    })
}

/// The steps up to a schema.
fn steps(schema: i64) -> String {
    (1..=schema).map(|step| file(&format!("migrations/{step}.sql"))).collect()
}

/// The rows of a database of this schema, as its program wrote them. `{hex:…:hex}` is a constant of bytes in hexadecimal.
fn rows(schema: i64) -> String {
    file(&format!("tests/schemas/{schema}.sql"))
}

/// The statements of a database of this schema.
fn statements(engine: Engine, schema: i64) -> String {
    let (id, bytes) = match engine {
        Engine::Sqlite => ("INTEGER PRIMARY KEY AUTOINCREMENT", "x'"),
        Engine::Postgres => ("BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", r"'\x"),
    };
    let steps = steps(schema).replace("{id}", id);
    let rows = rows(schema).replace("{hex:", bytes).replace(":hex}", "'");
    let versions: String = (1..=schema)
        .map(|version| format!("INSERT INTO schema_versions (version) VALUES ({version});\n"))
        .collect();
    format!("{steps}\nCREATE TABLE schema_versions (version BIGINT PRIMARY KEY);\n{versions}{rows}")
}

/// The tables of a schema that have nothing in them, given these rows.
fn empty_tables(schema: i64, rows: &str) -> Vec<String> {
    let steps = steps(schema);
    let named = |line: &str, words: &str| {
        Some(line.strip_prefix(words)?.trim_end_matches([' ', '(', ';']).to_string())
    };
    let dropped: Vec<String> = steps.lines().filter_map(|line| named(line, "DROP TABLE ")).collect();
    let made = steps.lines().filter_map(|line| named(line, "CREATE TABLE "));
    let filled = |table: &String| {
        let insert = format!("INSERT INTO {table} ");
        [rows, &steps].iter().any(|statements| statements.contains(&insert))
    };
    made.filter(|table| !dropped.contains(table) && !filled(table)).collect()
}

fn upgraded(database: &Database) {
    for schema in 1..=SCHEMA {
        assert_eq!(empty_tables(schema, &rows(schema)), Vec::<String>::new(), "tests/schemas/{schema}.sql");
        run(async {
            database.clear().await;
            database.execute(&statements(database.engine, schema)).await;
            copied_as_it_is(database, schema).await;
            let store = database.open().await;
            assert_eq!(store.check().await.unwrap(), Vec::<String>::new(), "schema {schema}");
            all_is_there(&store, schema).await;
            all_is_judged(&store, schema).await;
            store.close().await;
        });
    }
}

/// A backup from before an upgrade is of the schema from before.
async fn copied_as_it_is(database: &Database, schema: i64) {
    let (store, version) = Store::open_as_is(&database.url).await.unwrap();
    assert_eq!(version, schema);
    if database.engine == Engine::Sqlite {
        let copy = database.directory.path().join(format!("before-{schema}.db"));
        store.backup(&copy).await.unwrap();
        let (copy, version) = Store::open_as_is(&copy.display().to_string()).await.unwrap();
        assert_eq!(version, schema);
        copy.close().await;
    }
    store.close().await;
}

/// What was written before an upgrade is read after it.
async fn all_is_there(store: &Store, schema: i64) {
    let first = store.submission_of_token("first").await.unwrap();
    assert_eq!(first.problem.unwrap().name, "sieve");
    assert_eq!((first.origin.as_str(), first.visitor), ("participant", None));
    let files = store.files(first.id).await.unwrap();
    assert_eq!(store.blob(&files[0].hash).await.unwrap(), SOURCE);
    let judged = store.current_judgement(first.id).await.unwrap();
    assert_eq!((judged.summary.verdict, judged.summary.stands), (Verdict::WrongAnswer, true));
    // The second schema's rows are of a judgement by another clock.
    let clock = if schema == 2 { Clock::Instructions } else { Clock::Cpu };
    assert_eq!(judged.summary.charge, Some(Charge { clock, amount: 250_000_000 }));
    if clock == Clock::Cpu {
        assert_eq!(judged.judgement, judgement(Verdict::WrongAnswer), "schema {schema}");
    }
    let job = store.jobs(first.id).await.unwrap().remove(0);
    assert_eq!((job.urgency, job.finished, job.round), (Urgency::Live, Some(at(3)), job.id));
    assert_eq!(store.user_of_name("ann").await.unwrap().password.as_deref(), Some("$argon2id$x"));
    assert_eq!(store.token_of_secret("token", at(1)).await.unwrap().0.scopes, ["submit"]);
    store.session("session", at(1)).await.unwrap();
    assert_eq!(store.setting("site").await.unwrap(), Some(json!("A")));
    limits_stay(store, schema).await;
    let output = Output { stdout: b"out".into(), stderr: b"err".into(), details: json!({"exit": 0}) };
    let written = store.output(judged.summary.id).await.unwrap();
    assert_eq!(written, (schema >= 2).then_some(output));
    if schema >= 2 {
        let (node, facts) = store.node_with_facts("n").await.unwrap();
        assert_eq!((node.state, node.reason.as_deref()), (NodeState::Draining, Some("hot")));
        assert_eq!(facts.kernel.known().map(String::as_str), (schema >= 3).then_some("6.12"));
        assert_eq!(store.samples("n", "index", at(0), 9).await.unwrap()[0].value, json!({"dram_ns": 90.5}));
        assert_eq!(facts == NodeFacts::unknown("not reported"), schema == 2);
    }
    if schema >= 3 {
        let finals = store.contest("finals").await.unwrap();
        assert_eq!((finals.pool.as_str(), finals.usual), ("metal", None));
        assert_eq!(store.pool("metal").await.unwrap().form, json!({}));
        let node = store.node("n").await.unwrap();
        assert_eq!(
            (node.statement, node.health),
            (Some(json!({"kernel": "6.12"})), Some(json!({"probes": 64})))
        );
        assert_eq!((node.waits, node.doubted_since), (None, Some(at(1))));
        let event = store.node_events("n", 9).await.unwrap().remove(0);
        assert_eq!((event.text.as_str(), event.by.as_deref()), ("it is hot", Some("ann")));
        let third = store.submission_of_token("third").await.unwrap();
        let jobs = store.jobs(third.id).await.unwrap();
        let confirms = (jobs[1].confirm, jobs[1].place.as_deref(), jobs[1].not_on.as_slice());
        assert_eq!(confirms, (true, Some("metal"), &["c1".to_string()][..]));
        let answers = store.answers(jobs[0].id).await.unwrap();
        assert_eq!(
            (answers[0].node.as_deref(), &answers[0].answer),
            (Some("c1"), &Some(json!({"cpu_ns": 7})))
        );
        let gone = store.submission_of_token("gone").await.unwrap();
        assert_eq!(gone.state, State::Cancelled);
    }
}

/// What a worker found before schema 5 stays in force, for every pool then that a contest was bound to.
async fn limits_stay(store: &Store, schema: i64) {
    let problem = store.problem("sieve").await.unwrap();
    assert_eq!(problem.newest.states_limit, Some(false));
    let found: Vec<_> = store
        .time_limits(problem.newest.id)
        .await
        .unwrap()
        .into_iter()
        .map(|limit| (limit.of.pool, limit.limit.map(|found| (found.inferred.limit, found.inferred.source))))
        .collect();
    let two_seconds = Some((Nanos::from_secs(2), "inferred".to_string()));
    let of_metal = if schema >= 5 { None } else { two_seconds.clone() };
    let mut expected = vec![(None, two_seconds), (Some("metal".to_string()), of_metal)];
    expected.truncate(if schema >= 3 { 2 } else { 1 });
    assert_eq!(found, expected, "schema {schema}");
    assert_eq!(store.setting("time_limit/1").await.unwrap(), None);
}

/// What waited or was under way before an upgrade is judged, in the order in which it waited.
async fn all_is_judged(store: &Store, schema: i64) {
    let first = store.submission_of_token("first").await.unwrap().id;
    if schema >= 2 {
        let again = store.jobs(first).await.unwrap().remove(1);
        assert_eq!((again.urgency, again.attempt, again.failed), (Urgency::Background, 3, 2));
        store.extend(lease(&again), at(90)).await.unwrap();
        assert_eq!(store.submission(first).await.unwrap().state, State::Judging);
        finish(store, &again, Verdict::Accepted, Conclusion::stands()).await;
        let (rejudging, of) = store.rejudging(RejudgingId(1)).await.unwrap();
        assert_eq!((rejudging.jobs, rejudging.judged, of[0].after.len()), (1, 1, 1));
    }
    if schema >= 3 {
        // A ticket that was out is begun by whoever has it.
        let fourth = store.submission_of_token("fourth").await.unwrap().id;
        let ticket = store.jobs(fourth).await.unwrap().remove(0);
        assert!(matches!(ticket.state, JobState::Claimed { .. }) && ticket.started.is_none(), "{ticket:?}");
        let begun = store.begin(lease(&ticket), "c2/0", "c2", "cloud", at(60), at(10)).await.unwrap();
        let Begun::Go(job) = begun else { panic!("{begun:?}") };
        finish(store, &job, Verdict::Accepted, Conclusion::stands()).await;
        while let Some(job) = store.claim(asks("m1", "metal", Anywhere::Never)).await.unwrap() {
            if store.submission(job.submission).await.unwrap().origin == LIMITS {
                let limit = InferredLimit::bare(Nanos::from_secs(3), "inferred");
                store.finish_limit(lease(&job), &judgement(Verdict::Accepted), &limit, at(20)).await.unwrap();
            } else {
                finish(store, &job, Verdict::Accepted, Conclusion::stands()).await;
            }
        }
    }
    store.submit(&submission("new")).await.unwrap();
    let mut order = Vec::new();
    while let Some(job) = claim(store, "w/0").await {
        order.push(store.submission(job.submission).await.unwrap().token);
        finish(store, &job, Verdict::Accepted, Conclusion::stands()).await;
    }
    order.retain(|token| token != "fifth");
    assert_eq!(order, ["second", "new"]);
    let all = store.submissions(&Filter::default(), Page::first(99)).await.unwrap();
    for submission in all.iter().filter(|submission| submission.token != "gone") {
        let verdict = submission.current.as_ref().map(|current| current.verdict);
        let judged_again = schema >= 2 || submission.token != "first";
        let expected = if judged_again { Verdict::Accepted } else { Verdict::WrongAnswer };
        assert_eq!((submission.state, verdict), (State::Judged, Some(expected)), "{}", submission.token);
    }
    if schema >= 2 {
        let second = store.submission_of_token("second").await.unwrap().id;
        assert_eq!(store.callbacks(second).await.unwrap()[0].state, CallbackState::Due);
    }
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}

/// What is filled in now has something in every table, too; written down where that is asked for.
fn written_down(database: &Database) {
    run(async {
        let store = database.open().await;
        fill(&store).await;
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
        all_is_there(&store, SCHEMA).await;
        store.close().await;
        if database.engine == Engine::Postgres {
            return;
        }
        let rows = dump(&database.url, &steps(SCHEMA)).await;
        assert_eq!(empty_tables(SCHEMA, &rows), Vec::<String>::new(), "filled.rs leaves them empty");
        if std::env::var_os("TAUTO_WRITE_SCHEMA").is_some() {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/schemas/{SCHEMA}.sql"));
            let head = format!("-- What schema {SCHEMA} held, as the program of that time wrote it.\n");
            std::fs::write(file, head + &rows).unwrap();
        }
    });
}
