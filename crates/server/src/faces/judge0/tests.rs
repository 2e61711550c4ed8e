//! The face through the router, as clients meet it, with results as a worker sends them.

use crate::test_service::{TestResponse, TestService, facts, language};
use crate::timestamp::now;
use crate::work::conclude;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fleet::Outcome;
use model::{
    Bytes, CapturedStream, Confidence, Executed, ExecutedCompile, ExecutedRun, Exit, HostLanguage, Limits,
    Nanos, Observation, Reading, Settled, Status, Verdict,
};
use serde_json::{Value, json};
use store::{Claim, Lease, Role, Timestamp};

const JSON: &str = "content-type: application/json";

/// A service with a node that has C and Python.
async fn kit(anonymous: bool) -> TestService {
    let kit = TestService::new(anonymous).await;
    note_node(&kit).await;
    kit
}

async fn note_node(kit: &TestService) {
    let c = HostLanguage { compile: Some(vec!["{cc}".into()]), ..language("c", "gcc 12.2.0") };
    let facts = facts([c, language("cpython3", "Python 3.11.7")]);
    kit.service.store.note_node("n", "default", &facts, now()).await.unwrap();
}

async fn post(kit: &TestService, path: &str, headers: &[&str], body: &Value) -> TestResponse {
    let headers = [&[JSON], headers].concat();
    kit.send(&format!("POST /judge0{path}"), &headers, body.to_string()).await
}

async fn get(kit: &TestService, path: &str, headers: &[&str]) -> TestResponse {
    kit.send(&format!("GET /judge0{path}"), headers, "").await
}

fn hello() -> Value {
    json!({"source_code": "print('hello')", "language_id": 71, "stdin": "in"})
}

async fn handed_in(kit: &TestService, body: &Value) -> String {
    let answer = post(kit, "/submissions", &[], body).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.json()["token"].as_str().unwrap().to_owned()
}

/// What a worker makes of a program that prints `hello` and a byte that is no text.
fn executed(verdict: Verdict, exit: Exit) -> Executed {
    let run = ExecutedRun {
        verdict,
        status: Status::Ok,
        exit,
        cpu: Nanos(152_000_000),
        wall: Nanos(170_000_000),
        memory_peak: Reading::Known(Bytes(2048 * 1024)),
        settled: Settled { confidence: Confidence::Settled, runs: 2, void_runs: 1 },
        runs: vec![Observation::unread(exit, Nanos(152_000_000), "no machine"); 2],
        causes: Reading::unknown("made up"),
    };
    Executed {
        language: "cpython3".into(),
        stands_in: None,
        verdict,
        message: if verdict == Verdict::Accepted { String::new() } else { "signal 11".into() },
        compile: Some(ExecutedCompile {
            ok: true,
            stdout: CapturedStream::default(),
            stderr: CapturedStream { content: "a warning".into(), total: Bytes(9) },
            message: String::new(),
            steps: Vec::new(),
        }),
        limits: Limits::default(),
        runs: vec![run],
        thresholds: Reading::unknown("made up"),
        stdout: CapturedStream { content: b"hello\n\xff".to_vec().into(), total: Bytes(7) },
        stderr: CapturedStream::default(),
    }
}

/// Does the next job as a worker would.
async fn work(kit: &TestService, outcome: Outcome) {
    let job = kit
        .service
        .store
        .claim(Claim::local("n/0", Timestamp(now().0 + 60_000_000), now()))
        .await
        .unwrap()
        .expect("no job");
    let lease = Lease { job: job.id, attempt: job.attempt };
    conclude(&kit.service, lease, &outcome).await.unwrap();
}

async fn run(kit: &TestService, verdict: Verdict, exit: Exit) {
    work(kit, Outcome::Executed { executed: Box::new(executed(verdict, exit)) }).await;
}

/// A judged submission whose callback is due.
pub(crate) async fn judged_with_callback(
    kit: &TestService,
    url: &str,
    verdict: Verdict,
) -> store::SubmissionId {
    note_node(kit).await;
    let mut body = hello();
    body["callback_url"] = json!(url);
    let token = handed_in(kit, &body).await;
    run(kit, verdict, Exit::Code(0)).await;
    kit.service.store.submission_of_token(&token).await.unwrap().id
}

#[tokio::test]
async fn a_submission_is_followed_from_queue_to_result() {
    let kit = kit(true).await;
    let token = handed_in(&kit, &hello()).await;
    let path = format!("/submissions/{token}");
    let waiting = get(&kit, &path, &[]).await.json();
    assert_eq!(waiting["status"], json!({"id": 1, "description": "In Queue"}));
    assert_eq!((&waiting["stdout"], waiting.as_object().unwrap().len()), (&Value::Null, 8));
    run(&kit, Verdict::Accepted, Exit::Code(0)).await;
    let done = get(&kit, &format!("{path}?base64_encoded=true&fields=*"), &[]).await.json();
    for (field, value) in [
        ("status", json!({"id": 3, "description": "Accepted"})),
        ("stdout", json!(STANDARD.encode(b"hello\n\xff"))),
        ("stderr", Value::Null),
        ("compile_output", json!(STANDARD.encode("a warning"))),
        ("message", Value::Null),
        ("time", json!("0.152")),
        ("wall_time", json!("0.17")),
        ("memory", json!(2048)),
        ("exit_code", json!(0)),
        ("exit_signal", Value::Null),
        ("source_code", json!(STANDARD.encode("print('hello')"))),
        ("stdin", json!(STANDARD.encode("in"))),
        ("expected_output", Value::Null),
        ("cpu_time_limit", json!("5.0")),
        ("language", json!({"id": 71, "name": "Python (3.11.7)"})),
    ] {
        assert_eq!(done[field], value, "{field}");
    }
    assert!(done.get("tauto").is_none() && done.get("started_at").is_none(), "strict clients fail at them");
    let evidence = get(&kit, &format!("{path}?fields=tauto"), &[]).await.json();
    assert_eq!(evidence["tauto"]["tests"][0]["runs"].as_array().map(Vec::len), Some(2), "{evidence}");
    let plain = get(&kit, &path, &[]).await;
    assert_eq!(plain.status, 400, "{}", plain.text);
    assert!(plain.json()["error"].as_str().unwrap().contains("base64_encoded=true"));
}

#[tokio::test]
async fn how_a_program_ends_is_told_in_judge0s_words() {
    let kit = kit(true).await;
    for (verdict, exit, status, signal) in [
        (Verdict::RunTimeError, Exit::Signal(11), 7, json!(11)),
        (Verdict::TimeLimit, Exit::Signal(9), 5, json!(9)),
        (Verdict::RunTimeError, Exit::Code(3), 11, Value::Null),
    ] {
        let token = handed_in(&kit, &hello()).await;
        run(&kit, verdict, exit).await;
        let fields = "fields=status_id,exit_signal,message";
        let answer = get(&kit, &format!("/submissions/{token}?{fields}"), &[]).await.json();
        assert_eq!(answer, json!({"status_id": status, "exit_signal": signal, "message": "signal 11"}));
    }
    let token = handed_in(&kit, &hello()).await;
    work(&kit, Outcome::Refused { why: "the language is gone".into() }).await;
    let answer = get(&kit, &format!("/submissions/{token}?fields=status_id,message,time"), &[]).await.json();
    assert_eq!(answer, json!({"status_id": 13, "message": "the language is gone", "time": null}));
}

#[tokio::test]
async fn what_is_wrong_is_told_by_field_and_nothing_is_kept_of_it() {
    let kit = kit(true).await;
    let answer = post(&kit, "/submissions", &[], &json!({"language_id": 60, "enable_network": true})).await;
    assert_eq!(answer.status, 422);
    let faults = answer.json();
    for field in ["language_id", "source_code", "enable_network"] {
        assert!(faults[field][0].is_string(), "{field}: {faults}");
    }
    for (path, status, says) in [
        ("/submissions?fields=nonsense", 400, "invalid fields: [nonsense]"),
        ("/submissions/batch", 400, "at least one"),
    ] {
        let answer = post(&kit, path, &[], &hello()).await;
        assert_eq!(
            (answer.status.as_u16(), answer.text.contains(says)),
            (status, true),
            "{path}: {}",
            answer.text
        );
    }
    let text = kit.send("POST /judge0/submissions", &[JSON], "[1]").await;
    assert_eq!(text.status, 400, "{}", text.text);
    assert_eq!(kit.service.store.counts().await.unwrap().submissions, 0);
    let form = "content-type: application/x-www-form-urlencoded";
    let form = kit.send("POST /judge0/submissions", &[form], "language_id=71&source_code=print(1)").await;
    assert_eq!(form.status, 201, "{}", form.text);
}

#[tokio::test]
async fn batches_are_taken_one_by_one() {
    let kit = kit(true).await;
    let batch = json!({"submissions": [hello(), {"language_id": 71}, hello()]});
    let answer = post(&kit, "/submissions/batch", &[], &batch).await;
    let answers = answer.json();
    assert_eq!(
        (answer.status.as_u16(), answers[1]["source_code"][0].as_str()),
        (201, Some("can't be blank"))
    );
    let (one, other) = (answers[0]["token"].as_str().unwrap(), answers[2]["token"].as_str().unwrap());
    let shown =
        get(&kit, &format!("/submissions/batch?tokens={other},none,{one}&fields=token"), &[]).await.json();
    assert_eq!(shown, json!({"submissions": [{"token": other}, null, {"token": one}]}));
    let none = post(&kit, "/submissions/batch", &[], &json!({"submissions": [{}]})).await;
    assert_eq!(none.status, 422);
    let many = json!({"submissions": vec![hello(); 21]});
    let many = post(&kit, "/submissions/batch", &[], &many).await;
    assert_eq!(many.status, 400);
    let tokens = vec!["x"; 21].join(",");
    assert_eq!(get(&kit, &format!("/submissions/batch?tokens={tokens}"), &[]).await.status, 400);
}

#[tokio::test]
async fn who_waits_hears_of_the_result() {
    let kit = kit(true).await;
    let working = async {
        while kit.service.store.counts().await.unwrap().live == 0 {
            tokio::task::yield_now().await;
        }
        run(&kit, Verdict::Accepted, Exit::Code(0)).await;
    };
    let path = "/submissions?wait=true&base64_encoded=false&fields=status_id,exit_code";
    let body = hello();
    let (answer, ()) = tokio::join!(post(&kit, path, &[], &body), working);
    assert_eq!((answer.status.as_u16(), answer.json()), (201, json!({"status_id": 3, "exit_code": 0})));
}

#[tokio::test]
async fn tokens_decide_what_may_be_done() {
    let kit = kit(false).await;
    let (ann, bob, admin) = (
        kit.user("ann", Role::Participant).await,
        kit.user("bob", Role::Participant).await,
        kit.user("root", Role::Admin).await,
    );
    let ann = format!("x-auth-token: {}", kit.token(ann, &["submit"]).await);
    let bob = format!("x-auth-token: {}", kit.token(bob, &["submit", "read"]).await);
    let admin = kit.token(admin, &["submit", "read", "admin"]).await;
    let as_admin = format!("x-auth-user: {admin}");
    let status = async |what: &str, headers: &[&str]| kit.send(what, headers, "").await.status.as_u16();
    for (what, headers, expected) in [
        ("POST /judge0/authenticate", &[][..], 401),
        ("POST /judge0/authenticate", &["x-auth-token: nonsense"], 401),
        ("POST /judge0/authenticate", &[&ann], 200),
        ("POST /judge0/authorize", &[], 401),
        ("POST /judge0/authorize", &[&ann], 403),
        ("POST /judge0/authorize", &[&ann, &as_admin], 200),
        ("GET /judge0/languages", &[], 401),
        ("GET /judge0/config_info", &[], 401),
        ("GET /judge0/submissions", &[], 401),
        ("GET /judge0/submissions", &[&ann], 403),
        ("GET /judge0/submissions", &[&as_admin], 200),
    ] {
        assert_eq!(status(what, headers).await, expected, "{what} {headers:?}");
    }
    assert_eq!(post(&kit, "/submissions", &[], &hello()).await.status, 401);
    let token =
        post(&kit, "/submissions", &[&ann], &hello()).await.json()["token"].as_str().unwrap().to_owned();
    let (look, delete) =
        (format!("GET /judge0/submissions/{token}"), format!("DELETE /judge0/submissions/{token}"));
    for (what, headers, expected) in [
        (&look, &[ann.as_str()][..], 200),
        (&look, &[&bob], 404),
        (&look, &[], 401),
        (&look, &[&as_admin], 200),
        (&delete, &[&ann], 403),
        (&delete, &[&ann, &as_admin], 400),
    ] {
        assert_eq!(status(what, headers).await, expected, "{what} {headers:?}");
    }
    run(&kit, Verdict::Accepted, Exit::Code(0)).await;
    assert_eq!(status(&delete, &[&ann, &as_admin]).await, 200);
    assert_eq!(status(&look, &[&as_admin]).await, 404);
}

#[tokio::test]
async fn lists_come_in_pages() {
    let kit = kit(false).await;
    let admin = kit.user("root", Role::Admin).await;
    let admin = format!("x-auth-user: {}", kit.token(admin, &["submit", "read"]).await);
    for _ in 0..3 {
        assert_eq!(post(&kit, "/submissions", &[&admin], &hello()).await.status, 201);
    }
    let first = get(&kit, "/submissions?page=1&per_page=2&fields=status_id", &[&admin]).await.json();
    let meta =
        json!({"current_page": 1, "next_page": 2, "prev_page": null, "total_pages": 2, "total_count": 3});
    assert_eq!(first, json!({"submissions": [{"status_id": 1}, {"status_id": 1}], "meta": meta}));
    let last = get(&kit, "/submissions?page=2&per_page=2&fields=status_id", &[&admin]).await.json();
    assert_eq!(
        (last["submissions"].as_array().map(Vec::len), &last["meta"]["next_page"]),
        (Some(1), &Value::Null)
    );
    for bad in ["page=0", "page=-1", "per_page=x"] {
        assert_eq!(get(&kit, &format!("/submissions?{bad}"), &[&admin]).await.status, 400, "{bad}");
    }
    let far = get(&kit, "/submissions?page=4294967295&per_page=100", &[&admin]).await;
    assert_eq!((far.status.as_u16(), far.json()["submissions"].as_array().map(Vec::len)), (200, Some(0)));
}

#[tokio::test]
async fn the_service_tells_what_clients_ask_for() {
    let kit = kit(true).await;
    let names: Value = get(&kit, "/languages", &[]).await.json();
    let ids: Vec<u64> = names.as_array().unwrap().iter().filter_map(|one| one["id"].as_u64()).collect();
    assert!([43, 44, 50, 71, 89].iter().all(|id| ids.contains(id)) && !ids.contains(&60), "{names}");
    assert_eq!(get(&kit, "/languages/71", &[]).await.json()["source_file"], "script.py");
    assert_eq!(get(&kit, "/languages/60", &[]).await.status, 404);
    assert_eq!(get(&kit, "/extra/languages/10", &[]).await.json()["name"], "Python (3.11.7)");
    assert_eq!(get(&kit, "/about", &[]).await.json()["version"], "1.13.1");
    assert_eq!(get(&kit, "/extra/version", &[]).await.text, "1.13.1-extra");
    assert_eq!(get(&kit, "/statuses", &[]).await.json().as_array().map(Vec::len), Some(14));
    handed_in(&kit, &hello()).await;
    run(&kit, Verdict::RunTimeError, Exit::Signal(11)).await;
    let statistics = get(&kit, "/statistics", &[]).await.json();
    assert_eq!(
        (&statistics["submissions"]["total"], &statistics["submissions"]["today"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(statistics["languages"][0]["count"], 1, "{statistics}");
    for path in ["/workers", "/system_info", "/license", "/isolate", "/languages/all", "/config_info"] {
        assert_eq!(get(&kit, path, &[]).await.status, 200, "{path}");
    }
    assert_eq!(get(&kit, "/nonsense", &[]).await.status, 404);
    assert_eq!(post(&kit, "/statuses", &[], &json!({})).await.status, 405);
}

#[tokio::test]
async fn submissions_of_other_faces_are_not_found_here() {
    let kit = kit(true).await;
    let answer = kit.send("GET /judge0/submissions/00000000-0000-4000-8000-000000000000", &[], "").await;
    assert_eq!(answer.status, 404);
    let token = handed_in(&kit, &hello()).await;
    let native = kit.send(&format!("GET /api/v1/submissions/{token}"), &[], "").await;
    assert_eq!(
        (native.status.as_u16(), &native.json()["origin"]),
        (200, &json!("judge0")),
        "{}",
        native.text
    );
}
