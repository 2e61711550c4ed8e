//! Pages through the router: names that others chose, and what contests and old packages bring to them.

use crate::live::LiveEvent;
use crate::test_service::{TestResponse, TestService, facts};
use crate::timestamp::now;
use model::{Charge, Clock, Judgement, Nanos, Reading, TestResult, Verdict};
use serde_json::json;
use std::io::Write;
use store::{
    Claim, Conclusion, Lease, NewSubmission, NewUser, Purpose, Rejudge, Role, SubmissionId, Urgency,
};
use zip::write::SimpleFileOptions;

/// Written from right to left, and then turning the rest of its line around.
const HOSTILE: &str = "\u{5e9}\u{5dc}\u{202e}<i>";

pub(crate) fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (file, content) in files {
        archive.start_file(*file, SimpleFileOptions::default()).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

async fn look(kit: &TestService, line: &str, path: &str) -> TestResponse {
    let answer = kit.send(&format!("GET {path}"), &["accept: text/html", line], "").await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer
}

/// Elements whose content is data, each line by itself.
const DATA: [&str; 3] = ["pre", "textarea", "code"];

/// Where a page shows the hostile name so that it changes what stands beside it.
fn leaks(html: &str) -> Vec<String> {
    let (mut open, mut found): (Vec<&str>, Vec<String>) = (Vec::new(), Vec::new());
    for part in html.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or((part, ""));
        let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap();
        match tag.starts_with('/') {
            true => open.retain(|other| *other != name),
            false => open.push(name),
        }
        let in_one = |names: &[&str]| names.iter().any(|name| open.contains(name));
        if tag.contains('\u{202e}') && !tag.contains("value=") {
            found.push(tag.to_string());
        }
        let alone = in_one(&DATA) || in_one(&["bdi", "title", "option", "text"]);
        if (text.contains('\u{202e}') && !in_one(&DATA)) || (text.contains('\u{5e9}') && !alone) {
            found.push(format!("{open:?} {text}"));
        }
    }
    found
}

fn judged() -> Judgement {
    let run = model::Observation::unread(model::Exit::Code(0), Nanos::from_millis(900), "no machine");
    let test = TestResult {
        name: format!("secret/{HOSTILE}"),
        verdict: Verdict::WrongAnswer,
        charge: Charge::cpu(Nanos::from_millis(900)),
        wall: Nanos::from_millis(900),
        memory_peak: Reading::Unknown("no machine".into()),
        score: None,
        settled: model::Settled { confidence: model::Confidence::Clear, runs: 1, void_runs: 0 },
        runs: vec![run],
        causes: Reading::unknown("made up"),
        second_opinion: None,
        transcript: None,
        message: format!("expected {HOSTILE}"),
    };
    Judgement {
        clock: Clock::Cpu,
        verdict: Verdict::WrongAnswer,
        time_limit: Nanos::from_secs(1),
        groups: vec![model::GroupScore {
            name: format!("secret/{HOSTILE}"),
            verdict: Verdict::WrongAnswer,
            score: 12.5,
            max_score: Some(40.0),
        }],
        tests: vec![test],
        fault: Some(HOSTILE.into()),
        ..crate::test_service::accepted()
    }
}

#[tokio::test]
async fn names_that_others_chose_turn_nothing_around() {
    let kit = TestService::new(false).await;
    let (service, store) = (&kit.service, &kit.service.store);
    let admin = kit.user("admin", Role::Admin).await;
    let line = kit.sign_in("admin").await;
    let eve =
        NewUser { name: "eve", display: HOSTILE, role: Role::Participant, password: None, created: now() };
    let eve = store.add_user(eve).await.unwrap();
    let plain = HOSTILE.replace("<i>", "");
    let [input, answer] = ["in", "ans"].map(|end| format!("data/sample/{plain}.{end}"));
    let yaml = format!("name: \"{HOSTILE}\"\n");
    let path = format!("submissions/accepted/{plain}.py");
    let files: [(&str, &str); 7] = [
        (".timelimit", "1"),
        ("problem.yaml", &yaml),
        (&input, "1"),
        (&answer, "1"),
        (&path, "print(1)"),
        ("data/secret/1.in", "1"),
        ("data/secret/1.ans", "1"),
    ];
    crate::problems::add(service, Some(admin), "odd", zip(&files)).await.unwrap();
    let problem = store.problem("odd").await.unwrap();
    let file = format!("{HOSTILE}.c");
    let new = NewSubmission {
        token: "t",
        version: Some(problem.newest.id),
        author: Some(eve),
        origin: store::PARTICIPANT,
        visitor: None,
        language: "c",
        files: vec![(&file, b"int main(void) { return 0; } // \xe2\x80\xae")],
        details: json!({}),
        created: now(),
        urgency: Urgency::Live,
        contest: None,
        callback: None,
    };
    store.submit(&new).await.unwrap();
    let later = now().plus_micros(3_600_000_000);
    let job = store.claim(Claim::local(&format!("{HOSTILE}/0"), later, now())).await.unwrap().unwrap();
    let lease = Lease { job: job.id, attempt: job.attempt };
    store.finish(lease, &judged(), None, now(), Conclusion::stands()).await.unwrap();
    let again = Rejudge {
        version: None,
        purpose: Purpose::Verdict,
        times: 1,
        urgency: Urgency::Background,
        created: now(),
    };
    store.add_rejudging(HOSTILE, Some(eve), &[SubmissionId(1)], again).await.unwrap();
    store.note_node(HOSTILE, "default", &facts([]), now()).await.unwrap();
    crate::manage::drain(store, HOSTILE, HOSTILE, "admin", now()).await.unwrap();
    let node = format!("/nodes/{}", super::lists::encoded(HOSTILE));
    for path in [
        "/",
        "/problems/odd",
        "/problems/odd/verification",
        "/submissions/t",
        "/submissions/t/part",
        "/submissions/t/consistency",
        "/status",
        "/users",
        "/hosts",
        &node,
        "/rejudge",
        "/rejudge/1",
    ] {
        let answer = look(&kit, &line, path).await;
        assert!(answer.text.contains('\u{fffd}'), "{path} does not show it: {}", answer.text);
        assert!(!answer.text.contains("<i>"), "{path}");
        assert_eq!(leaks(&answer.text), Vec::<String>::new(), "{path}");
    }
    let shown = look(&kit, &line, "/submissions/t").await.text;
    assert!(shown.contains("change the order in which text is displayed"), "{shown}");
}

/// A test that was charged so many instructions.
fn counted(amount: u64) -> TestResult {
    let mut run = model::Observation::unread(model::Exit::Code(0), Nanos::from_millis(77), "no machine");
    run.instructions = Reading::Known(amount);
    let charge = Charge { clock: Clock::Instructions, amount };
    TestResult {
        name: "secret/1".into(),
        verdict: Verdict::Accepted,
        charge,
        runs: vec![run],
        ..judged().tests.remove(0)
    }
}

#[tokio::test]
async fn what_was_counted_is_shown_as_such() {
    let kit = TestService::new(true).await;
    let store = &kit.service.store;
    kit.user("admin", Role::Admin).await;
    let line = kit.sign_in("admin").await;
    let new = NewSubmission {
        token: "t",
        version: None,
        author: None,
        origin: store::PARTICIPANT,
        visitor: None,
        language: "c",
        files: vec![("a.c", b"int main(void) { return 0; }")],
        details: json!({}),
        created: now(),
        urgency: Urgency::Live,
        contest: None,
        callback: None,
    };
    let (submission, _) = store.submit(&new).await.unwrap();
    let later = now().plus_micros(3_600_000_000);
    let job = store.claim(Claim::local("n/0", later, now())).await.unwrap().unwrap();
    let result = Box::new(counted(118_604_422));
    let progress = Box::new(model::Event::TestFinished { submission: "a.c".into(), result });
    let started = LiveEvent::Started { job: job.id, worker: "n/0".into(), attempt: job.attempt };
    for event in [started, LiveEvent::Progress { progress }] {
        kit.service.live.tell(submission, event);
    }
    let live = look(&kit, &line, "/submissions/t/part").await.text;
    assert!(live.contains("Accepted, 118.60 M instr."), "{live}");

    let judgement = Judgement {
        clock: Clock::Instructions,
        time_limit: Nanos::from_secs(1),
        tests: vec![counted(118_604_422)],
        ..crate::test_service::accepted()
    };
    let lease = Lease { job: job.id, attempt: job.attempt };
    store.finish(lease, &judgement, None, now(), Conclusion::stands()).await.unwrap();
    let shown = look(&kit, &line, "/submissions/t").await.text;
    assert!(shown.contains("118.60 M instr.</strong> with 77.0 ms of CPU time"), "{shown}");
    assert!(!shown.contains("118.6 ms"), "{shown}");
}

#[tokio::test]
async fn old_packages_are_called_as_their_statement_says() {
    let kit = TestService::new(true).await;
    let statement = "\\problemname{Old \\& Gold}\n\\illustration{0.4}{cat.png}{}\nText.";
    let files = |yaml: &'static str| {
        let files = [
            ("problem.yaml", yaml),
            ("problem_statement/problem.tex", statement),
            ("problem_statement/cat.png", "png"),
            ("data/secret/1.in", "1"),
            ("data/secret/1.ans", "1"),
            ("submissions/accepted/a.py", "print(1)"),
        ];
        zip(&files)
    };
    crate::problems::add(&kit.service, None, "old", files("author: Ada\n")).await.unwrap();
    crate::problems::add(&kit.service, None, "named", files("name: New\n")).await.unwrap();
    let list = look(&kit, "x: y", "/").await.text;
    assert!(list.contains("<bdi>Old &amp; Gold</bdi>") && list.contains("<bdi>New</bdi>"), "{list}");
    for name in ["old", "named"] {
        let page = look(&kit, "x: y", &format!("/problems/{name}")).await.text;
        assert!(page.contains("<h1><bdi>Old &amp; Gold</bdi></h1>"), "{page}");
        assert!(page.contains("cat.png\" alt=\"\" width=\"40%\">"), "{page}");
    }
}

#[tokio::test]
async fn a_contest_is_chosen_and_stays_chosen() {
    let kit = TestService::new(true).await;
    crate::problems::install_examples(&kit.service).await.unwrap();
    let store = &kit.service.store;
    let visitor = format!("cookie: tauto-visitor={}", "a".repeat(43));
    assert!(!look(&kit, &visitor, "/problems/fence").await.text.contains("id=\"contest\""));
    let contest = json!({"name": "finals", "pool": "default", "strictness": "relaxed"});
    crate::manage::set_contest(store, &serde_json::from_value(contest).unwrap(), now()).await.unwrap();
    let page = look(&kit, &visitor, "/problems/fence").await;
    assert!(page.text.contains("<option value=\"finals\">finals</option>"), "{}", page.text);
    let send = async |contest: &str| {
        let field = |(name, value): (&str, &str)| {
            format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let csrf = page.csrf();
        let fields =
            [("csrf", csrf.as_str()), ("language", "c"), ("contest", contest), ("source", "int main;")];
        let body = fields.map(field).concat() + "--x--\r\n";
        let form = "content-type: multipart/form-data; boundary=x";
        let headers = [form, &visitor, "sec-fetch-site: same-origin", "accept: text/html"];
        kit.send("POST /problems/fence/submit", &headers, body).await
    };
    let refused = send("final").await;
    assert_eq!(refused.status, 422);
    assert!(refused.text.contains("contest: no contest of this name") && refused.text.contains("int main;"));
    let taken = send("finals").await;
    assert_eq!(taken.status, 303, "{}", taken.text);
    let place = taken.headers["location"].to_str().unwrap().trim_end_matches("#sent").to_string();
    let token = place.trim_start_matches("/submissions/");
    let submission = store.submission_of_token(token).await.unwrap();
    assert_eq!(submission.contest, Some(store.contest("finals").await.unwrap().id));
    assert!(look(&kit, &visitor, &place).await.text.contains("in the contest <bdi>finals</bdi>"));
    let page = look(&kit, &visitor, "/problems/fence").await;
    assert!(page.text.contains("<option value=\"finals\" selected>"), "{}", page.text);
    let page = look(&kit, &visitor, "/problems/fence?contest=").await;
    assert!(!page.text.contains("<option value=\"finals\" selected>"), "{}", page.text);
}

#[tokio::test]
async fn pages_that_wait_load_themselves_without_the_fragment() {
    let kit = TestService::new(true).await;
    crate::problems::install_examples(&kit.service).await.unwrap();
    let body = json!({"problem": "fence", "files": [{"name": "a.py", "content": "print(1)"}]}).to_string();
    let taken = kit.send("POST /api/v1/submissions", &["content-type: application/json"], body).await.json();
    let path = format!("/submissions/{}", taken["token"].as_str().unwrap());
    let page = look(&kit, "x: y", &path).await.text;
    let refresh = format!("<noscript><meta http-equiv=\"refresh\" content=\"2; url={path}\"></noscript>");
    assert!(page.contains(&refresh), "{page}");
}

#[tokio::test]
async fn a_run_leads_back_to_its_problem() {
    let kit = TestService::new(true).await;
    crate::problems::install_examples(&kit.service).await.unwrap();
    let visitor = format!("cookie: tauto-visitor={}", "a".repeat(43));
    let page = look(&kit, &visitor, "/problems/snowwall").await;
    let csrf = page.csrf();
    for (on, heading) in [("samples", "Run on the samples"), ("input", "Run on custom input")] {
        let field = |(name, value): (&str, &str)| {
            format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let fields = [("csrf", csrf.as_str()), ("language", "c"), ("on", on), ("source", "int main;")];
        let body = fields.map(field).concat() + "--x--\r\n";
        let form = "content-type: multipart/form-data; boundary=x";
        let headers = [form, &visitor, "sec-fetch-site: same-origin", "accept: text/html"];
        let taken = kit.send("POST /problems/snowwall/run", &headers, body).await;
        assert_eq!(taken.status, 303, "{}", taken.text);
        let place = taken.headers["location"].to_str().unwrap();
        let shown = look(&kit, &visitor, place).await.text;
        let title = format!("<h1>{heading} <span class=\"dim\">of <bdi>Snow Wall</bdi></span></h1>");
        assert!(shown.contains(&title), "{shown}");
        assert!(shown.contains("href=\"/problems/snowwall\">Back to the problem</a>"), "{shown}");
        assert!(shown.contains("by <bdi>visitor</bdi>"), "{shown}");
        assert!(shown.contains(">int main;</code>"), "{shown}");
    }
}
