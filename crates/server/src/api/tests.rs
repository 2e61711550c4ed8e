//! The native API through the router, without workers: what is judged is stored by the test.

use crate::live::LiveEvent;
use crate::test_service::{TestResponse, TestService};
use crate::timestamp::now;
use crate::work::conclude;
use fleet::Outcome;
use model::{
    Bytes, Charge, Clock, Compilation, Confidence, Exit, Judgement, Limits, Nanos, Observation, Reading,
    Settled, TestResult, Verdict,
};
use serde_json::{Value, json};
use store::{Claim, Lease, Role};

const JSON: &str = "content-type: application/json";

fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}")
}

fn body() -> Value {
    json!({"problem": "fence", "language": "", "files": [{"name": "a.py", "content": "print(8)\n"}]})
}

/// Hands in; the token.
async fn hand_in(kit: &TestService, headers: &[&str]) -> String {
    let headers = [headers, &[JSON]].concat();
    let answer = kit.send("POST /api/v1/submissions", &headers, body().to_string()).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.json()["token"].as_str().unwrap().to_string()
}

fn judgement(verdict: Verdict, cpu: u64) -> Judgement {
    let settled = Settled { confidence: Confidence::Clear, runs: 1, void_runs: 0 };
    let mut run = Observation::unread(Exit::Code(0), Nanos(cpu), "no machine");
    run.evidence.steal = Reading::Known(Nanos(50_000_000));
    let test = |name: &str| TestResult {
        name: name.into(),
        verdict,
        charge: Charge::cpu(Nanos(cpu)),
        wall: Nanos(cpu),
        memory_peak: Reading::Known(Bytes(1 << 20)),
        score: None,
        settled,
        runs: vec![run.clone()],
        causes: Reading::unknown("made up"),
        second_opinion: None,
        transcript: Some(model::Transcript { turns: Vec::new(), left_out_bytes: 7 }),
        message: "expected 8".into(),
    };
    Judgement {
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
        tests: vec![test("sample/1"), test("secret/1")],
        settled,
        thresholds: Reading::unknown("made up"),
        fault: None,
    }
}

/// Judges whatever waits, one after the other, with these verdicts.
async fn judge(kit: &TestService, verdicts: &[(Verdict, u64)]) {
    for (verdict, cpu) in verdicts {
        conclude_next(kit, judgement(*verdict, *cpu)).await;
    }
}

/// The next job comes to this judgement.
async fn conclude_next(kit: &TestService, judgement: Judgement) {
    let claim = Claim::local("node/0", now().plus_micros(1_000_000), now());
    let job = kit.service.store.claim(claim).await.unwrap().expect("something waits");
    let lease = Lease { job: job.id, attempt: job.attempt };
    let outcome = Outcome::Judged { judgement: Box::new(judgement) };
    conclude(&kit.service, lease, &outcome).await.unwrap();
}

async fn get(kit: &TestService, path: &str, headers: &[&str]) -> TestResponse {
    kit.send(&format!("GET /api/v1{path}"), headers, "").await
}

#[tokio::test]
async fn errors_are_problem_details_whoever_finds_them() {
    let kit = TestService::new(true).await;
    let nothing = "";
    for (what, headers, body, status, kind, field) in [
        ("GET /api/v1/nowhere", &[][..], nothing, 404, "not-found", None),
        ("GET /api/v1/submissions/none", &[], nothing, 404, "not-found", None),
        ("GET /api/v1/rejudgings/x", &[], nothing, 404, "not-found", None),
        ("DELETE /api/v1/problems", &[], nothing, 405, "method", None),
        ("POST /api/v1/submissions", &[], "{}", 415, "media-type", Some("Content-Type")),
        ("POST /api/v1/submissions", &[JSON], "{", 400, "malformed", None),
        ("POST /api/v1/submissions", &[JSON], "{}", 422, "bad-input", Some("files")),
        (
            "POST /api/v1/submissions",
            &[JSON, "idempotency-key: "],
            "{}",
            422,
            "bad-input",
            Some("Idempotency-Key"),
        ),
        (
            "POST /api/v1/submissions",
            &[JSON],
            r#"{"problem":"fence","files":[{"name":1}]}"#,
            422,
            "bad-input",
            Some("files[0].name"),
        ),
        (
            "POST /api/v1/submissions",
            &[JSON],
            r#"{"problem":"none","files":[{"name":"a.c","content":""}]}"#,
            422,
            "bad-input",
            Some("problem"),
        ),
        (
            "POST /api/v1/submissions",
            &[JSON],
            r#"{"problem":"fence","files":[]}"#,
            422,
            "bad-input",
            Some("files"),
        ),
        (
            "POST /api/v1/submissions",
            &[JSON],
            r#"{"problem":"fence","files":[{"name":"../a.c","content":""}]}"#,
            422,
            "bad-input",
            Some("files[0].name"),
        ),
        (
            "POST /api/v1/submissions",
            &[JSON],
            r#"{"problem":"fence","files":[{"name":"a.c","content_base64":"a"}]}"#,
            422,
            "bad-input",
            Some("files[0].content_base64"),
        ),
        (
            "POST /api/v1/submissions",
            &[JSON],
            r#"{"problem":"fence","files":[{"name":"a.xyz","content":""}]}"#,
            422,
            "bad-input",
            Some("language"),
        ),
        ("GET /api/v1/submissions?limit=0", &[], nothing, 422, "bad-input", Some("limit")),
        ("GET /api/v1/submissions?limit=x", &[], nothing, 422, "bad-input", Some("limit")),
        ("GET /api/v1/submissions?nothing=1", &[], nothing, 422, "bad-input", Some("nothing")),
        ("GET /api/v1/submissions?since=now", &[], nothing, 422, "bad-input", Some("since")),
        ("GET /api/v1/rejudgings", &[], nothing, 401, "sign-in", None),
    ] {
        let answer = kit.send(what, headers, body).await;
        let details = answer.json();
        assert_eq!(answer.status, status, "{what} {body}: {}", answer.text);
        assert_eq!(answer.headers["content-type"], "application/problem+json", "{what}");
        assert_eq!(details["type"], format!("/api/v1/errors/{kind}"), "{what} {body}");
        assert_eq!(details["status"], status);
        assert_eq!(details["field"].as_str(), field, "{what} {body}: {}", answer.text);
        let explained = kit.send(&format!("GET {}", details["type"].as_str().unwrap()), &[], "").await;
        assert_eq!(explained.json()["status"], status);
    }
}

#[tokio::test]
async fn errors_name_what_was_asked_for_and_what_there_is() {
    let kit = TestService::new(true).await;
    for (what, body, detail) in [
        (
            "GET /api/v1/nothing",
            "",
            "the address /api/v1/nothing was not found\nhint: GET /api/v1/openapi.json lists the addresses of the API",
        ),
        ("GET /api/v1/submissions/none", "", "submission none was not found"),
        ("GET /api/v1/submissions/a%0Ahint:%20b", "", r"submission a\nhint: b was not found"),
        (
            "DELETE /api/v1/problems",
            "",
            "/api/v1/problems does not support the method DELETE\nhint: the header `Allow` of this response lists the methods it supports",
        ),
        (
            "POST /api/v1/submissions",
            "{",
            "the body is not valid JSON: EOF while parsing an object at line 1 column 1",
        ),
        (
            "POST /api/v1/submissions",
            "7",
            "the body: must be a JSON object, not integer `7` (line 1, column 1)",
        ),
    ] {
        let answer = kit.send(what, &[JSON], body).await;
        assert_eq!(answer.json()["detail"], detail, "{what}");
        assert_eq!(answer.status == 405, answer.headers.contains_key("allow"), "{what}");
    }
}

#[tokio::test]
async fn too_large_is_refused_before_it_is_kept() {
    let kit = TestService::new(true).await;
    let file =
        |bytes: usize| json!({"problem": "fence", "files": [{"name": "a.c", "content": "x".repeat(bytes)}]});
    for bytes in [300 << 10, 9 << 20] {
        let answer = kit.send("POST /api/v1/submissions", &[JSON], file(bytes).to_string()).await;
        assert_eq!(answer.status, 413, "{}", answer.text);
        assert_eq!(answer.json()["type"], "/api/v1/errors/too-large");
    }
    assert_eq!(kit.service.store.counts().await.unwrap().submissions, 0);
}

#[tokio::test]
async fn a_key_makes_handing_in_repeatable() {
    let kit = TestService::new(false).await;
    let (ann, bob) = (kit.user("ann", Role::Participant).await, kit.user("bob", Role::Participant).await);
    let (ann, bob) = (kit.token(ann, &["submit"]).await, kit.token(bob, &["submit"]).await);
    let send = async |token: &str, body: Value| {
        let headers = [JSON, "idempotency-key: one", &bearer(token)];
        kit.send("POST /api/v1/submissions", &headers, body.to_string()).await
    };
    let (first, again) = (send(&ann, body()).await, send(&ann, body()).await);
    assert_eq!((first.status.as_u16(), again.status.as_u16()), (201, 200));
    assert_eq!(first.json(), again.json());
    let mut other = body();
    other["files"][0]["content"] = "print(9)".into();
    assert_eq!(send(&ann, other).await.status, 409);
    let foreign = send(&bob, body()).await;
    assert_eq!(foreign.status, 201);
    assert_ne!(foreign.json()["token"], first.json()["token"]);
    assert_eq!(kit.service.store.counts().await.unwrap().submissions, 2);
}

#[tokio::test]
async fn participants_see_their_own_and_no_secrets() {
    let kit = TestService::new(false).await;
    let ann = kit.token(kit.user("ann", Role::Participant).await, &["submit", "read"]).await;
    let bob = kit.token(kit.user("bob", Role::Participant).await, &["submit", "read"]).await;
    let jury = kit.token(kit.user("jury", Role::Jury).await, &["read"]).await;
    let token = hand_in(&kit, &[&bearer(&ann)]).await;
    judge(&kit, &[(Verdict::WrongAnswer, 5_000_000)]).await;
    for part in ["", "/files", "/judgements", "/judgement", "/judgements/1", "/series", "/events"] {
        let path = format!("/submissions/{token}{part}");
        assert_eq!(get(&kit, &path, &[&bearer(&ann)]).await.status, 200, "{part}");
        assert_eq!(get(&kit, &path, &[&bearer(&bob)]).await.status, 404, "{part}");
    }
    let whole = format!("/submissions/{token}/judgement");
    let said = |answer: TestResponse| {
        let tests = answer.json()["tests"].as_array().unwrap().clone();
        tests.iter().map(|test| [test["message"].clone(), test["transcript"].clone()]).collect::<Vec<_>>()
    };
    let shown = [json!("expected 8"), json!({"turns": [], "left_out_bytes": 7})];
    let hidden = [Value::Null, Value::Null];
    assert_eq!(said(get(&kit, &whole, &[&bearer(&ann)]).await), [shown.clone(), hidden]);
    assert_eq!(said(get(&kit, &whole, &[&bearer(&jury)]).await), [shown.clone(), shown]);
    let listed = |answer: TestResponse| answer.json()["submissions"].as_array().unwrap().len();
    assert_eq!(listed(get(&kit, "/submissions", &[&bearer(&ann)]).await), 1);
    assert_eq!(listed(get(&kit, "/submissions", &[&bearer(&bob)]).await), 0);
    assert_eq!(listed(get(&kit, "/submissions?author=ann", &[&bearer(&bob)]).await), 0);
    assert_eq!(
        listed(get(&kit, "/submissions?author=ann&verdict=WA&language=python3", &[&bearer(&jury)]).await),
        1
    );
    assert_eq!(listed(get(&kit, "/submissions?problem=fence&state=waiting", &[&bearer(&jury)]).await), 0);
}

#[tokio::test]
async fn pages_of_a_list_do_not_shift() {
    let kit = TestService::new(true).await;
    for _ in 0..5 {
        hand_in(&kit, &[]).await;
    }
    let first = get(&kit, "/submissions?limit=2", &[]).await.json();
    hand_in(&kit, &[]).await;
    let second = get(&kit, &format!("/submissions?limit=3&before={}", first["next"]), &[]).await.json();
    let ids = |page: &Value| {
        page["submissions"].as_array().unwrap().iter().map(|s| s["id"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((ids(&first), ids(&second)), (vec![6, 5], vec![4, 3, 2]));
    let last = get(&kit, &format!("/submissions?before={}", second["next"]), &[]).await.json();
    assert_eq!(last, json!({"submissions": [], "next": null}));
}

#[tokio::test]
async fn what_disturbed_a_run_is_told_as_it_was_judged() {
    let kit = TestService::new(true).await;
    let token = hand_in(&kit, &[]).await;
    let told = async |token: &str| {
        let whole = get(&kit, &format!("/submissions/{token}/judgement"), &[]).await.json();
        let run = &whole["tests"][0]["runs"][0];
        (whole["worker"].clone(), whole["floor"]["assumed"].clone(), run["disturbed"].clone())
    };
    // Of a version that did not keep it: as on a machine that was never measured.
    let forgetful = judgement(Verdict::Accepted, 5_000_000);
    conclude_next(&kit, forgetful.clone()).await;
    assert_eq!(told(&token).await, (json!("node/0"), json!(true), json!(["steal"])));
    // On a machine where as much stolen time is nothing unusual.
    let floor = settle::NoiseFloor { assumed: false, ..settle::NoiseFloor::assumed() };
    let mut kept = forgetful;
    kept.thresholds = Reading::Known(settle::thresholds(&floor));
    kept.tests.iter_mut().for_each(|test| test.causes = Reading::Known(vec![Vec::new()]));
    let another = hand_in(&kit, &[]).await;
    conclude_next(&kit, kept).await;
    assert_eq!(told(&another).await, (json!("node/0"), json!(false), json!([])));
    // Whatever is set, and whatever happens to the node.
    let loud = json!({"assumed": false, "quiet": {"steal_per_second": 0}});
    kit.service.store.set_setting("floor/node/0", &loud).await.unwrap();
    assert_eq!(told(&another).await, (json!("node/0"), json!(false), json!([])));
}

#[tokio::test]
async fn trials_make_a_series_and_no_verdict() {
    let kit = TestService::new(true).await;
    let token = hand_in(&kit, &[]).await;
    judge(&kit, &[(Verdict::Accepted, 5_000_000)]).await;
    let trials = format!("POST /api/v1/submissions/{token}/trials");
    let answer = kit.send(&trials, &[JSON], r#"{"times": 3}"#).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    assert_eq!(kit.send(&trials, &[JSON], r#"{"times": 28}"#).await.status, 422, "too many wait");
    judge(&kit, &[(Verdict::Accepted, 5_000_000), (Verdict::TimeLimit, 7_000_000)]).await;
    let url = answer.json()["url"].as_str().unwrap().to_string();
    let series = kit.send(&format!("GET {url}"), &[], "").await.json();
    assert_eq!((&series["waiting"], &series["slowest"]["spread_ns"]), (&json!(1), &json!(2_000_000)));
    assert_eq!(series["verdicts"], json!([{"verdict": "AC", "count": 1}, {"verdict": "TLE", "count": 1}]));
    assert_eq!(series["tests"][1]["runs"]["median_ns"], 6_000_000);
    let submission = get(&kit, &format!("/submissions/{token}"), &[]).await.json();
    assert_eq!((&submission["state"], &submission["judgement"]["number"]), (&json!("judged"), &json!(1)));
}

#[tokio::test]
async fn a_rejudging_compares_before_and_after() {
    let kit = TestService::new(false).await;
    let ann = kit.token(kit.user("ann", Role::Participant).await, &["submit"]).await;
    let jury = bearer(&kit.token(kit.user("jury", Role::Jury).await, &["read", "rejudge"]).await);
    for _ in 0..3 {
        hand_in(&kit, &[&bearer(&ann)]).await;
    }
    judge(&kit, &[(Verdict::Accepted, 1), (Verdict::TimeLimit, 1), (Verdict::WrongAnswer, 1)]).await;
    let ask = async |who: &str, what: Value| {
        kit.send("POST /api/v1/rejudgings", &[JSON, who], what.to_string()).await
    };
    assert_eq!(ask(&bearer(&ann), json!({"problem": "fence"})).await.status, 403);
    assert_eq!(ask(&jury, json!({})).await.status, 422, "choose by something");
    assert_eq!(
        ask(&jury, json!({"problem": "fence", "verdict": "CE"})).await.status,
        422,
        "nothing is chosen"
    );
    let asked = ask(&jury, json!({"problem": "fence", "reason": "a test was wrong"})).await;
    assert_eq!(asked.status, 202, "{}", asked.text);
    judge(&kit, &[(Verdict::Accepted, 1), (Verdict::Accepted, 1)]).await;
    let url = asked.json()["url"].as_str().unwrap().to_string();
    let comparison = kit.send(&format!("GET {url}"), &[&jury], "").await.json();
    assert_eq!(comparison["changed"], 1);
    assert_eq!(
        comparison["changes"],
        json!([{"from": "AC", "to": "AC", "count": 1}, {"from": "WA", "to": null, "count": 1}, {"from": "TLE", "to": "AC", "count": 1}])
    );
    assert_eq!(
        (&comparison["rejudging"]["judged"], &comparison["rejudging"]["by"]),
        (&json!(2), &json!("jury"))
    );
    let changed = kit.send(&format!("GET {url}?changed=true"), &[&jury], "").await.json();
    let changed = changed["submissions"].as_array().unwrap();
    assert_eq!(changed.len(), 1);
    assert_eq!(kit.send(&format!("GET {url}?skip=20001"), &[&jury], "").await.status, 422);
    assert_eq!(
        (&changed[0]["before"]["current"], &changed[0]["after"][0]["current"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(
        kit.send("GET /api/v1/rejudgings", &[&jury], "").await.json()["rejudgings"][0]["reason"],
        "a test was wrong"
    );
}

#[tokio::test]
async fn a_package_is_verified_by_its_jury_submissions() {
    let kit = TestService::new(false).await;
    let jury = bearer(&kit.token(kit.user("jury", Role::Jury).await, &["read", "problems"]).await);
    let verify = async || kit.send("POST /api/v1/problems/garland/verify", &[&jury], "").await;
    let standing = async || get(&kit, "/problems/garland/verification", &[&jury]).await.json();
    let before = standing().await;
    let all = before["submissions"].as_array().unwrap().len();
    assert_eq!(
        (&before["ok"], &before["done"], &before["submissions"][0]["submission"]),
        (&Value::Null, &json!(0), &Value::Null)
    );
    assert_eq!(verify().await.status, 202);
    assert_eq!(verify().await.status, 202, "those that wait are not handed in twice");
    assert_eq!(kit.service.store.counts().await.unwrap().background, all as u64);
    judge(&kit, &vec![(Verdict::WrongAnswer, 1); all]).await;
    let after = standing().await;
    assert_eq!((&after["ok"], &after["done"]), (&json!(false), &json!(all)));
    let (good, bad): (Vec<&Value>, Vec<&Value>) =
        after["submissions"].as_array().unwrap().iter().partition(|check| check["ok"] == true);
    assert!(good.iter().all(|check| check["broken"] == json!([])) && !bad.is_empty());
    assert!(bad.iter().all(|check| !check["broken"].as_array().unwrap().is_empty()));
    assert_eq!(verify().await.status, 202);
    let counts = kit.service.store.counts().await.unwrap();
    assert_eq!(
        (counts.submissions, counts.background),
        (all as u64, all as u64),
        "judged again, not handed in again"
    );
}

#[tokio::test]
async fn a_package_comes_back_as_it_was_sent() {
    let kit = TestService::new(false).await;
    let jury = bearer(&kit.token(kit.user("jury", Role::Jury).await, &["problems"]).await);
    let version = kit.service.store.problem("garland").await.unwrap().newest;
    let zip = kit.service.store.blob(&version.package).await.unwrap();
    let send = async |to: &str, bytes: Vec<u8>| {
        kit.send(&format!("POST /api/v1/problems{to}"), &[&jury, "content-type: application/zip"], bytes)
            .await
    };
    let (new, same) = (send("?name=other", zip.clone()).await, send("?name=other", zip.clone()).await);
    assert_eq!((new.status.as_u16(), same.status.as_u16()), (201, 200), "{}", new.text);
    assert_eq!((&new.json()["fresh"], &same.json()["version"]), (&json!(true), &json!(1)));
    assert_eq!(send("", zip.clone()).await.status, 422, "without a name");
    assert_eq!(send("?name=a/b", zip.clone()).await.status, 422);
    let broken = send("?name=broken", b"PK no zip".to_vec()).await;
    assert_eq!(broken.status, 422);
    assert!(!broken.text.contains("/packages/"), "it names a path of the service: {}", broken.text);
    assert_eq!(get(&kit, "/problems/broken", &[]).await.status, 401);
    let package = get(&kit, "/problems/other/package?version=1", &[&jury]).await;
    assert_eq!(
        (package.status.as_u16(), &package.headers["content-type"]),
        (200, &"application/zip".parse().unwrap())
    );
    let bytes = get(&kit, "/problems/other/package", &[&jury, "accept: application/octet-stream"]).await;
    assert_eq!(
        bytes.headers["content-type"], "application/octet-stream",
        "as clients that were generated ask"
    );
    let again = [&jury, "content-type: application/octet-stream"];
    assert_eq!(kit.send("POST /api/v1/problems?name=other", &again, zip.clone()).await.status, 200);
    assert_eq!(get(&kit, "/problems/other/package?version=2", &[&jury]).await.status, 404);
    let versions = get(&kit, "/problems/other/versions", &[&jury]).await.json();
    assert_eq!(versions["versions"][0]["package"], version.package.as_str());
}

#[tokio::test]
async fn a_problem_tells_its_statement_and_how_large_a_submission_may_be() {
    let kit = TestService::new(true).await;
    let statement = get(&kit, "/problems/fence/statement", &[]).await.json();
    assert_eq!(
        (&statement["language"], &statement["languages"]),
        (&json!("en"), &json!(["en"])),
        "{statement}"
    );
    assert!(statement["html"].as_str().unwrap().contains("<p>") && statement["pdf"].is_null(), "{statement}");
    let other = get(&kit, "/problems/fence/statement?language=sv", &[]).await.json();
    assert_eq!(other["language"], "en", "in English where there is none");
    assert_eq!(get(&kit, "/problems/none/statement", &[]).await.status, 404);

    let limit = get(&kit, "/problems/fence", &[]).await.json()["code_limit_bytes"].as_u64().unwrap() as usize;
    for (bytes, status) in [(limit, 201), (limit + 1, 413)] {
        let file = json!({"name": "a.c", "content": "x".repeat(bytes)});
        let new = json!({"problem": "fence", "files": [file]}).to_string();
        assert_eq!(
            kit.send("POST /api/v1/submissions", &[JSON], new).await.status,
            status,
            "{bytes} of {limit}"
        );
    }
}

#[tokio::test]
async fn a_program_comes_with_tests_of_its_own() {
    let kit = TestService::new(true).await;
    let run = json!({
        "files": [{"name": "a.py", "content": "print(8)\n"}],
        "tests": [{"input": "1", "answer": "8"}, {"input_base64": "Mg==", "answer": ""}],
        "tolerance": 0.5, "limits": {"time_ns": 1_500_000_000}
    });
    let send = async |change: Value| {
        let mut run = run.clone();
        for (name, value) in change.as_object().into_iter().flatten() {
            run[name] = value.clone();
        }
        kit.send("POST /api/v1/submissions", &[JSON, "idempotency-key: k"], run.to_string()).await
    };
    for (change, field) in [
        (json!({"problem": "fence"}), "tests"),
        (json!({"tests": []}), "tests"),
        (json!({"tests": [{"input": "1", "input_base64": ""}]}), "tests[0].input"),
        (json!({"checker": [{"name": "c.py", "content": ""}]}), "tolerance"),
        (json!({"contest": "finals"}), "contest"),
        (json!({"limits": {"time_ns": 0}}), "limits.time_ns"),
        (json!({"files": [{"name": "//package.zip", "content": ""}]}), "files[0].name"),
        (json!({"tests": null, "problem": "fence"}), "tolerance"),
        (json!({"tests": null, "tolerance": null, "limits": null}), "problem"),
    ] {
        let answer = send(change.clone()).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["field"]), (422, &json!(field)), "{change}");
    }
    let taken = send(json!({})).await;
    assert_eq!((taken.status.as_u16(), send(json!({})).await.status.as_u16()), (201, 200), "{}", taken.text);
    assert_eq!(send(json!({"tolerance": 0.25})).await.status, 409);
    let token = taken.json()["token"].as_str().unwrap().to_string();
    // A worker gets the tests as a package, and the program without it.
    let submission = kit.service.store.submission_of_token(&token).await.unwrap();
    let job = kit.service.store.jobs(submission.id).await.unwrap().remove(0);
    let given = crate::work::task(&kit.service, &job).await.unwrap();
    let crate::work::Assignment::Task(task) = given else { panic!("{given:?}") };
    let fleet::Work::Judge { package, files, mode, time_limit, .. } = task.work else {
        panic!("{:?}", task.work)
    };
    assert_eq!((files.len(), mode, time_limit), (1, fleet::Mode::AllTests, None));
    let package =
        kit.service.packages.get(&kit.service.store, &package.parse().unwrap(), "tests").await.unwrap();
    assert_eq!(package.package.data.all_cases().len(), 2);
    judge(&kit, &[(Verdict::WrongAnswer, 1)]).await;
    // Its owner reads what is said of it, and nobody finds it among submissions.
    let whole = get(&kit, &format!("/submissions/{token}/judgement"), &[]).await;
    assert_eq!(whole.json()["tests"][0]["message"], "expected 8");
    let files = get(&kit, &format!("/submissions/{token}/files"), &[]).await.json();
    assert_eq!(files["files"].as_array().unwrap().len(), 1);
    assert_eq!(get(&kit, "/submissions", &[]).await.json()["submissions"], json!([]));
    let runs = get(&kit, "/submissions?origin=run", &[]).await.json();
    assert_eq!(runs["submissions"][0]["token"], json!(token));
}

#[tokio::test]
async fn a_table_of_users_comes_as_a_form_too() {
    let kit = TestService::new(false).await;
    let admin = bearer(&kit.token(kit.user("admin", Role::Admin).await, &["admin"]).await);
    let form = "content-type: multipart/form-data; boundary=x";
    let part = |name: &str| {
        format!(
            "--x\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"a.csv\"\r\n\r\nann\r\nbob,Bob\r\n--x--\r\n"
        )
    };
    let added = kit.send("POST /api/v1/users/import", &[&admin, form], part("table")).await;
    assert_eq!((added.status.as_u16(), added.json().as_array().unwrap().len()), (201, 2), "{}", added.text);
    let other = kit.send("POST /api/v1/users/import", &[&admin, form], part("file")).await;
    assert_eq!((other.status.as_u16(), &other.json()["field"]), (422, &json!("form")));
    let plain = kit.send("POST /api/v1/users/import", &[&admin, "content-type: text/csv"], "eve\n").await;
    assert_eq!(plain.status, 201);
}

#[tokio::test]
async fn who_watches_hears_the_rest_and_then_the_end() {
    let kit = TestService::new(true).await;
    let token = hand_in(&kit, &[]).await;
    let id = kit.service.store.submission_of_token(&token).await.unwrap().id;
    let job = kit.service.store.jobs(id).await.unwrap()[0].id;
    let live = &kit.service.live;
    live.tell(id, LiveEvent::Started { job, worker: "node/0".into(), attempt: 1 });
    let test = judgement(Verdict::Accepted, 1).tests.remove(1);
    let progress = model::Event::TestFinished { submission: "s".into(), result: Box::new(test) };
    live.tell(id, LiveEvent::Progress { progress: Box::new(progress) });
    let judged = async {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        judge(&kit, &[(Verdict::Accepted, 1)]).await;
    };
    let path = format!("/submissions/{token}/events");
    // One from the start, one who had heard the first event already.
    let again = format!("last-event-id: {job}.1.0");
    let again = [again.as_str()];
    let (all, rest, ()) = tokio::join!(get(&kit, &path, &[]), get(&kit, &path, &again), judged);
    let names = |answer: &TestResponse| {
        answer
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("event: "))
            .map(String::from)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&all), ["submission", "started", "test", "judged", "submission", "end"], "{}", all.text);
    assert_eq!(names(&rest), ["submission", "test", "judged", "submission", "end"], "{}", rest.text);
    assert!(!all.text.contains("expected 8"), "what the validator says of a secret test");
    let late = get(&kit, &path, &[]).await;
    assert_eq!(names(&late), ["submission", "end"]);
    let end = late.text.lines().rev().find_map(|line| line.strip_prefix("id: ")).unwrap().to_string();
    assert_eq!(get(&kit, &path, &[&format!("last-event-id: {end}")]).await.status, 204);
}

#[tokio::test]
async fn the_monitor_is_told_what_happened() {
    let kit = TestService::new(true).await;
    let token = hand_in(&kit, &[]).await;
    get(&kit, &format!("/submissions/{token}"), &[]).await;
    let alone = get(&kit, "/health/ready", &[]).await;
    assert!(alone.status == 503 && alone.text.contains("no worker is connected"), "{}", alone.text);
    kit.service.workers.set_fleet([("n/0".to_string(), crate::work::tests::worker("n", 0))].into());
    assert_eq!(get(&kit, "/health/ready", &[]).await.status, 200);
    judge(&kit, &[(Verdict::WrongAnswer, 1)]).await;
    hand_in(&kit, &[]).await;
    let text = kit.send("GET /metrics", &[], "").await.text;
    for line in [
        r#"tauto_submissions_total{origin="participant"} 2"#,
        r#"tauto_judgements_total{verdict="WA",origin="participant"} 1"#,
        r#"tauto_queue_length{urgency="live"} 1"#,
        r#"tauto_http_requests_total{method="POST",route="/api/v1/submissions",status="201"} 2"#,
        r#"tauto_http_requests_total{method="GET",route="/api/v1/submissions/{token}",status="200"} 1"#,
        r#"tauto_http_requests_total{method="GET",route="/api/v1/health/ready",status="200"} 1"#,
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    assert!(!text.contains(&token), "no name of anything is in it");
}
