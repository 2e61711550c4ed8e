//! A database with something in every table, by what a service asks of a store, and its rows as statements: `tests/schemas` has what the program
//! of each schema wrote so.

use crate::common::samples::{
    AGAIN, asks, at, claim, contest, facts, finish, judgement, lease, submission, ticket, version,
};
use model::{InferredLimit, InferredScales, Nanos, ReferenceScale, Verdict};
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};
use store::{
    Anywhere, AskLimit, Conclusion, ContestId, Inferred, LimitOf, NewSubmission, NewToken, NewUser,
    NodeChange, NodeState, Output, Role, RoundJob, RoundStep, Sample, Store, UserId, VersionId,
};

/// Fills an empty database.
pub(crate) async fn fill(store: &Store) {
    let ann = people(store).await;
    let problem = store.add_version(version(b"package")).await.unwrap().id;
    limit(store, problem).await;
    scales(store, problem).await;
    judged_again(store, problem, ann).await;
    nodes(store).await;
    let finals = contest(store, "finals", "metal", None).await;
    rounds(store, finals).await;
    awaiting(store, problem, finals).await;
    let second = NewSubmission { callback: Some("http://x"), ..submission("second") };
    store.submit(&second).await.unwrap();
}

async fn people(store: &Store) -> UserId {
    let (name, display, password) = ("ann", "Ann", Some("$argon2id$x"));
    let new = NewUser { name, display, role: Role::Jury, password, created: at(0) };
    let ann = store.add_user(new).await.unwrap();
    let (secret, scopes) = ("token", &["submit"][..]);
    let new = NewToken { owner: ann, name: "ci", secret, scopes, created: at(0), expires: None };
    store.add_token(new).await.unwrap();
    store.begin_session("session", ann, &json!({"csrf": "x"}), at(0), at(60)).await.unwrap();
    store.set_setting("site", &json!("A")).await.unwrap();
    ann
}

/// `first` is judged, and is being judged again by a third attempt.
async fn judged_again(store: &Store, problem: VersionId, ann: UserId) {
    let details = json!({"from": "api"});
    let new = NewSubmission { version: Some(problem), author: Some(ann), details, ..submission("first") };
    let first = store.submit(&new).await.unwrap().0;
    let job = claim(store, "n/0").await.unwrap();
    let output = Output { stdout: b"out".into(), stderr: b"err".into(), details: json!({"exit": 0}) };
    let wrong = judgement(Verdict::WrongAnswer);
    store.finish(lease(&job), &wrong, Some(&output), at(3), Conclusion::stands()).await.unwrap();
    store.add_rejudging("why", Some(ann), &[first], AGAIN).await.unwrap();
    for _ in 0..2 {
        let job = claim(store, "n/0").await.unwrap();
        store.fail(lease(&job), "the launcher died").await.unwrap();
    }
    claim(store, "n/0").await.unwrap();
}

async fn nodes(store: &Store) {
    store.note_node("n", "default", &facts("6.12"), at(1)).await.unwrap();
    store.state_node("n", "default", &json!({"kernel": "6.12"}), at(2)).await.unwrap();
    let node = store.node("n").await.unwrap();
    let change = NodeChange {
        state: NodeState::Draining,
        reason: Some("hot".into()),
        health: Some(json!({"probes": 64})),
        doubted_since: Some(at(1)),
        event: Some(("drained".into(), "it is hot".into(), Some("ann".into()))),
        ..NodeChange::none(&node)
    };
    assert!(store.change_node(&node, &change, at(2)).await.unwrap());
    store.add_sample("n", "index", &Sample { at: at(1), value: json!({"dram_ns": 90.5}) }).await.unwrap();
}

/// `third` is to be confirmed, `fourth` is a ticket that nobody has begun, `gone` was cancelled.
async fn rounds(store: &Store, finals: ContestId) {
    store.submit(&NewSubmission { contest: Some(finals), ..submission("third") }).await.unwrap();
    let job = store.claim(asks("c1", "cloud", Anywhere::Equally)).await.unwrap().unwrap();
    let confirm =
        RoundJob { place: Some("metal"), confirm: true, not_on: &["c1".into()], why: "near the limit" };
    let answer = json!({"cpu_ns": 7});
    let asking = Conclusion { answer: Some(&answer), then: RoundStep::Continue(confirm) };
    finish(store, &job, Verdict::Accepted, asking).await;
    store.submit(&submission("fourth")).await.unwrap();
    store.claim(ticket("cloud")).await.unwrap().unwrap();
    let gone = store.submit(&submission("gone")).await.unwrap().0;
    store.cancel(gone, "not wanted", at(4)).await.unwrap();
}

/// A time limit that is there.
async fn limit(store: &Store, problem: VersionId) {
    store.set_states_limit(problem, false).await.unwrap();
    ask(store, problem, None).await;
    let job = claim(store, "n/0").await.unwrap();
    let limit = InferredLimit::bare(Nanos::from_secs(2), "inferred");
    store.finish_limit(lease(&job), &judgement(Verdict::Accepted), &limit, at(2)).await.unwrap();
}

/// Scales that are there.
async fn scales(store: &Store, problem: VersionId) {
    let of = LimitOf { version: problem, pool: None };
    let details = json!({});
    let asked = AskLimit {
        what: Inferred::Scales,
        of: &of,
        again: false,
        token: "scales",
        details: &details,
        now: at(1),
    };
    store.ask_limit(asked).await.unwrap();
    let job = claim(store, "n/0").await.unwrap();
    let scale = ReferenceScale {
        language: "c".into(),
        submission: "submissions/accepted/a.c".into(),
        test: "secret/1".into(),
        cpu: Nanos::from_millis(400),
        reference: Nanos::from_millis(300),
        counted_by: "reference machine 1".into(),
    };
    let found = InferredScales { scales: vec![scale], warnings: Vec::new() };
    store.finish_scales(lease(&job), &judgement(Verdict::Accepted), &found, at(2)).await.unwrap();
}

/// `fifth` waits for one that is not.
async fn awaiting(store: &Store, problem: VersionId, finals: ContestId) {
    let new = NewSubmission { version: Some(problem), contest: Some(finals), ..submission("fifth") };
    store.submit(&new).await.unwrap();
    let job = store.claim(asks("c1", "cloud", Anywhere::Equally)).await.unwrap().unwrap();
    let of = LimitOf { version: problem, pool: Some("metal".into()) };
    ask(store, problem, of.pool.clone()).await;
    store.await_limit(lease(&job), &of).await.unwrap();
}

async fn ask(store: &Store, version: VersionId, pool: Option<String>) {
    let of = LimitOf { version, pool };
    let (token, details) = (format!("limit {}", of.pool.as_deref().unwrap_or("anywhere")), json!({}));
    let asked = AskLimit {
        what: Inferred::TimeLimit,
        of: &of,
        again: false,
        token: &token,
        details: &details,
        now: at(1),
    };
    store.ask_limit(asked).await.unwrap();
}

/// The rows of an SQLite file as statements for both databases, tables that others refer to first. Numbers of rows are left to the database. Of
/// tables in which the migrations put rows, these are replaced.
pub(crate) async fn dump(file: &str, migrations: &str) -> String {
    let mut from = SqliteConnection::connect(&format!("sqlite:{file}")).await.unwrap();
    let names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'
         AND name <> 'schema_versions' ORDER BY rowid";
    let mut left = texts(&mut from, names.into()).await;
    let mut done: Vec<String> = Vec::new();
    let mut rows = String::new();
    while !left.is_empty() {
        let mut later = Vec::new();
        for table in left {
            let parents = format!("SELECT DISTINCT \"table\" FROM pragma_foreign_key_list('{table}')");
            let parents = texts(&mut from, parents).await;
            if parents.iter().any(|parent| *parent != table && !done.contains(parent)) {
                later.push(table);
                continue;
            }
            if migrations.contains(&format!("INSERT INTO {table} ")) {
                rows += &format!("DELETE FROM {table};\n");
            }
            let columns = format!("SELECT name FROM pragma_table_info('{table}') WHERE name <> 'id'");
            let columns = texts(&mut from, columns).await;
            let quoted =
                columns.iter().map(|name| format!("quote({name})")).collect::<Vec<_>>().join(" || ', ' || ");
            for values in texts(&mut from, format!("SELECT {quoted} FROM {table} ORDER BY rowid")).await {
                let values = bytes_for_both(&values);
                rows += &format!("INSERT INTO {table} ({}) VALUES ({values});\n", columns.join(", "));
            }
            done.push(table);
        }
        left = later;
    }
    rows
}

/// `{hex:…:hex}` is a constant of bytes.
fn bytes_for_both(values: &str) -> String {
    let mut parts = values.split("X'");
    let mut all = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (hex, rest) = part.split_once('\'').unwrap();
        all += &format!("{{hex:{}:hex}}{rest}", hex.to_lowercase());
    }
    all
}

async fn texts(from: &mut SqliteConnection, sql: String) -> Vec<String> {
    sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(from).await.unwrap()
}
