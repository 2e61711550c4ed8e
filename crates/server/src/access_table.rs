//! Who may ask for what: every route of the service by every kind of caller. A route that is not in the table makes the test fail.

mod rows;

use crate::accounts::identity::{form_secret, visitor_of};
use crate::faces;
use crate::limits::CLASSES;
use crate::problems::install_examples;
use crate::test_service::{TestService, facts, language};
use crate::timestamp::now;
use model::{Clock, Compilation, Confidence, Judgement, Limits, Nanos, Settled, Verdict};
use serde_json::json;
use std::path::PathBuf;
use store::{
    Claim, Conclusion, Hash, Lease, NewSubmission, NewToken, Purpose, Rejudge, Role, SubmissionId, Urgency,
    UserId,
};

/// The kinds of callers, in the order of the table's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    /// A browser that nobody is signed in with, where accounts are needed.
    Nobody,
    /// Signed in: the one whose submission it is, another participant, jury, admin.
    Owner,
    Other,
    Jury,
    Admin,
    /// API tokens of the owner, by scope.
    OwnerSubmit,
    OwnerRead,
    /// Of the owner, with every scope there is.
    OwnerAll,
    /// API tokens of the admin, by scope.
    AdminSubmit,
    AdminRead,
    AdminProblems,
    AdminRejudge,
    AdminAdmin,
    /// Without accounts: the browser whose submission it is, another one, a program that keeps no cookies.
    Visitor,
    OtherVisitor,
    CommandLine,
}

use Who::*;

const ALL: [Who; 16] = [
    Nobody,
    Owner,
    Other,
    Jury,
    Admin,
    OwnerSubmit,
    OwnerRead,
    OwnerAll,
    AdminSubmit,
    AdminRead,
    AdminProblems,
    AdminRejudge,
    AdminAdmin,
    Visitor,
    OtherVisitor,
    CommandLine,
];

/// What every request could find: one submission, judged, of the owner; in a database that is copied for each request.
struct World {
    directory: tempfile::TempDir,
    /// Secrets of the links.
    links: (String, String),
    /// The token of the owner's submission to the face of Judge0.
    execution: String,
}

const TOKEN: &str = "00000000-0000-4000-8000-000000000001";

/// A secret that is as good as random ones, by a letter.
fn secret(letter: char) -> String {
    letter.to_string().repeat(43)
}

fn letter(who: Who) -> char {
    char::from(b'a' + ALL.iter().position(|other| *other == who).unwrap_or_default() as u8)
}

fn judgement() -> Judgement {
    Judgement {
        submission: "main.c".into(),
        language: "c".into(),
        verdict: Verdict::Accepted,
        score: None,
        max_score: None,
        groups: Vec::new(),
        clock: Clock::Cpu,
        counted_by: None,
        time_limit: Nanos::from_secs(1),
        limits: Limits::default(),
        compile: Compilation { ok: true, output: String::new() },
        settled: Settled { confidence: Confidence::Clear, runs: 0, void_runs: 0 },
        tests: Vec::new(),
        thresholds: model::Reading::unknown("made up"),
        fault: None,
    }
}

async fn world(anonymous: bool) -> World {
    let directory = tempfile::tempdir().unwrap();
    let kit = TestService::new(anonymous).await;
    let (service, store) = (&kit.service, &kit.service.store);
    for (name, role) in [
        ("owner", Role::Participant),
        ("other", Role::Participant),
        ("jury", Role::Jury),
        ("admin", Role::Admin),
    ] {
        kit.user(name, role).await;
    }
    let tokens: [(Who, i64, &[&str]); 8] = [
        (OwnerSubmit, 1, &["submit"]),
        (OwnerRead, 1, &["read"]),
        (OwnerAll, 1, &["submit", "read", "problems", "rejudge", "admin"]),
        (AdminSubmit, 4, &["submit"]),
        (AdminRead, 4, &["read"]),
        (AdminProblems, 4, &["problems"]),
        (AdminRejudge, 4, &["rejudge"]),
        (AdminAdmin, 4, &["admin"]),
    ];
    for (who, owner, scopes) in tokens {
        let secret = secret(letter(who));
        let token = NewToken {
            owner: UserId(owner),
            name: "t",
            secret: &secret,
            scopes,
            created: now(),
            expires: None,
        };
        store.add_token(token).await.unwrap();
    }
    let later = now().plus_micros(3_600_000_000);
    for (who, user) in [(Owner, 1), (Other, 2), (Jury, 3), (Admin, 4)] {
        store
            .begin_session(&secret(letter(who)), UserId(user), &json!({"began": now().0}), now(), later)
            .await
            .unwrap();
    }
    install_examples(service).await.unwrap();
    let problem = store.problem("fence").await.unwrap();
    let contest = json!({"name": "fence", "pool": "default", "strictness": "relaxed"});
    crate::manage::set_contest(store, &serde_json::from_value(contest).unwrap(), now()).await.unwrap();
    let visitor = visitor_of(&secret(letter(Visitor)));
    let new = NewSubmission {
        token: TOKEN,
        version: Some(problem.newest.id),
        author: (!anonymous).then_some(UserId(1)),
        origin: store::PARTICIPANT,
        visitor: anonymous.then_some(visitor.as_str()),
        language: "c",
        files: vec![("main.c", b"int main() { return 0; }")],
        details: json!({}),
        created: now(),
        urgency: Urgency::Live,
        contest: None,
        callback: None,
    };
    store.submit(&new).await.unwrap();
    let job = store.claim(Claim::local("w", later, now())).await.unwrap().unwrap();
    let lease = Lease { job: job.id, attempt: job.attempt };
    store.finish(lease, &judgement(), None, now(), Conclusion::stands()).await.unwrap();
    let again = Rejudge {
        version: None,
        purpose: Purpose::Verdict,
        times: 1,
        urgency: Urgency::Background,
        created: now(),
    };
    store.add_rejudging("why", Some(UserId(3)), &[SubmissionId(1)], again).await.unwrap();
    store.note_node("here", "default", &facts([language("c", "gcc 12.2.0")]), now()).await.unwrap();
    store.set_pool("metal", &json!({"name": "metal", "kind": "strict"}), now()).await.unwrap();
    let (form, body) = body_of("POST /judge0/submissions", "");
    let form = format!("content-type: {form}");
    let cookie = format!("cookie: tauto-visitor={}", secret(letter(Visitor)));
    let bearer = format!("authorization: Bearer {}", secret(letter(OwnerSubmit)));
    let whose = if anonymous { cookie } else { bearer };
    let accepted =
        kit.send("POST /judge0/submissions", &[&form, &whose, "sec-fetch-site: same-origin"], body).await;
    let execution = accepted.json()["token"].as_str().unwrap().to_string();
    let links = (secret('y'), secret('z'));
    for (setting, link) in [("link:admin", &links.0), ("link:user:1", &links.1)] {
        let value = json!({"hash": Hash::digest(link.as_bytes()).as_str(), "expires": later.0});
        store.set_setting(setting, &value).await.unwrap();
    }
    store.backup(&directory.path().join("a.db")).await.unwrap();
    World { directory, links, execution }
}

impl World {
    async fn kit(&self, anonymous: bool) -> TestService {
        let directory = tempfile::tempdir().unwrap();
        let to: PathBuf = directory.path().join("a.db");
        std::fs::copy(self.directory.path().join("a.db"), to).unwrap();
        TestService::over(directory, anonymous, |_| {}).await
    }

    /// The route with something that is there for each parameter.
    fn path_of(&self, route: &str) -> String {
        let name = match route {
            route if route.contains("/nodes/") => "here",
            route if route.contains("/pools/") => "metal",
            _ => "fence",
        };
        let id = match route {
            route if route.contains("/languages/") => "43",
            route if ["/tokens/", "rejudg"].iter().any(|part| route.contains(part)) => "1",
            _ => "2",
        };
        let path = match route.contains("/setup/") {
            true => route.replace("{secret}", &self.links.0),
            false => route.replace("{secret}", &self.links.1),
        };
        let path = if route.contains("/errors/") { path.replace("{name}", "not-found") } else { path };
        path.replace("{name}", name)
            .replace("{token}", if route.starts_with("/judge0") { &self.execution } else { TOKEN })
            .replace("{number}", "1")
            .replace("{id}", id)
            .replace("{user}", "1")
    }
}

/// A body that makes sense to a route, as it is sent with `csrf`.
fn body_of(route: &str, csrf: &str) -> (&'static str, String) {
    let json = |value: serde_json::Value| ("application/json", value.to_string());
    match route {
        "POST /api/v1/submissions" => json(
            json!({"problem": "fence", "language": "c", "files": [{"name": "a.c", "content": "int main;"}]}),
        ),
        "PUT /api/v1/contests/{name}" => json(json!({"pool": "default", "strictness": "relaxed"})),
        "POST /api/v1/problems" => ("application/zip", "no zip".into()),
        "POST /api/v1/users/import" => ("text/csv", "team".into()),
        "POST /api/v1/users" => json(json!({"name": "new", "role": "jury"})),
        "PATCH /api/v1/users/{id}" => json(json!({"role": "jury"})),
        "POST /api/v1/tokens" => json(json!({"name": "t", "scopes": ["read"]})),
        "PUT /api/v1/me/password" => json(json!({"old": "x", "new": "long enough"})),
        "POST /api/v1/rejudgings" => json(json!({"reason": "why"})),
        "PUT /api/v1/pools/{name}" => json(json!({"kind": "strict"})),
        "POST /api/v1/nodes/{name}/drain" => json(json!({"reason": "why"})),
        "POST /api/v1/submissions/{token}/trials" => json(json!({"times": 2})),
        "POST /judge0/submissions" | "POST /judge0/extra/submissions" => {
            json(json!({"language_id": 43, "source_code": "int main;"}))
        }
        api if api.contains("/batch") => {
            json(json!({"submissions": [{"language_id": 43, "source_code": "int main;"}]}))
        }
        api if api.ends_with("/execute") => {
            json(json!({"language": "none", "version": "*", "files": [{"content": "int main;"}]}))
        }
        "POST /problems/{name}/submit" | "POST /problems/{name}/run" | "POST /problems/new" => (
            "multipart/form-data; boundary=x",
            format!(
                "--x\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\n{csrf}\r\n--x\r\n\
                 Content-Disposition: form-data; name=\"source\"\r\n\r\n\r\n--x--\r\n"
            ),
        ),
        api if api.contains(" /api/") || api.contains(" /judge0/") => json(json!({})),
        _ => (
            "application/x-www-form-urlencoded",
            format!(
                "csrf={csrf}&reason=why&name=new&display=&role=jury&table=team&old=x&password=short&again=short&scopes=read&times=2&source=x&language=c"
            ),
        ),
    }
}

/// How one caller fares with a body that makes sense.
async fn asks(kit: &TestService, world: &World, who: Who, route: &str) -> char {
    let body = |key: &str| body_of(route, &form_secret(key));
    asks_with(kit, world, who, route, "", body).await
}

/// How one caller fares who sends what no route can read, in the query and in the body.
async fn asks_amiss(kit: &TestService, world: &World, who: Who, route: &str) -> char {
    let body = |_: &str| (body_of(route, "").0, "{".into());
    let query = if route.contains(" /api/v1/") { "?no-such-parameter=1" } else { "" };
    asks_with(kit, world, who, route, query, body).await
}

async fn asks_with(
    kit: &TestService,
    world: &World,
    who: Who,
    route: &str,
    query: &str,
    body: impl Fn(&str) -> (&'static str, String),
) -> char {
    let key = secret(letter(who));
    let line = match who {
        Nobody | Visitor | OtherVisitor => format!("cookie: tauto-visitor={key}"),
        Owner | Other | Jury | Admin => format!("cookie: tauto-session={key}"),
        CommandLine => "accept: */*".into(),
        _ => format!("authorization: Bearer {key}"),
    };
    let (form, body) = body(&key);
    let (method, pattern) = route.split_once(' ').unwrap();
    let path = world.path_of(pattern) + query;
    let form = format!("content-type: {form}");
    let mut headers = vec![line.as_str(), form.as_str()];
    if line.starts_with("cookie") {
        headers.push("sec-fetch-site: same-origin");
    }
    let asked = format!("{method} {path}");
    // Who may wait for a verdict would, and no worker is there.
    let answer = tokio::time::timeout(std::time::Duration::from_secs(20), kit.begin(&asked, &headers, body));
    match answer.await.map_or(200, |status| status.as_u16()) {
        401 => '1',
        403 => '3',
        404 => '4',
        500 => panic!("{route} by {who:?} fails"),
        _ => '+',
    }
}

/// The row of a route.
async fn row(with: &World, without: &World, unchanged: &[TestService; 2], route: &str) -> String {
    let mut row = String::new();
    let mut fresh: [Option<TestService>; 2] = [None, None];
    for who in ALL {
        let anonymous = matches!(who, Visitor | OtherVisitor | CommandLine);
        let (world, slot) = if anonymous { (without, 1) } else { (with, 0) };
        let answer = if route.starts_with("GET ") {
            asks(&unchanged[slot], world, who, route).await
        } else {
            let kit = match fresh[slot].take() {
                Some(kit) => kit,
                None => world.kit(anonymous).await,
            };
            let answer = asks(&kit, world, who, route).await;
            // Who was refused has changed nothing.
            fresh[slot] = (answer != '+').then_some(kit);
            answer
        };
        if [Owner, OwnerSubmit, AdminSubmit, Visitor].contains(&who) {
            row.push(' ');
        }
        // Who may not ask a program's interface is told so, whatever they send.
        if answer != '+' && [" /api/", " /judge0/"].iter().any(|face| route.contains(face)) {
            let kit = if route.starts_with("GET ") { Some(&unchanged[slot]) } else { fresh[slot].as_ref() };
            let amiss = asks_amiss(kit.expect("nothing was changed"), world, who, route).await;
            assert_eq!(amiss, answer, "{route} by {who:?} with what cannot be read");
        }
        row.push(answer);
    }
    row
}

#[tokio::test]
async fn every_route_lets_through_whom_it_should() {
    let (with, without) = (world(false).await, world(true).await);
    let unchanged = [with.kit(false).await, without.kit(true).await];
    let routes = unchanged[0].routes();
    let mut wrong = Vec::new();
    for route in &routes {
        let expected = rows::TABLE.iter().find(|(named, _)| named == route).map(|(_, row)| *row);
        let found = row(&with, &without, &unchanged, route).await;
        if expected != Some(found.as_str()) {
            wrong.push(format!(
                "    (\"{route}\", \"{found}\"), // {}",
                expected.unwrap_or("not in the table")
            ));
        }
    }
    let known = |route: &str| routes.iter().any(|known| known == route);
    wrong.extend(
        rows::TABLE.iter().filter(|(route, _)| !known(route)).map(|row| format!("no such route: {row:?}")),
    );
    let executing = faces::executing().map(|route| format!("POST {route}"));
    let classes = CLASSES.iter().map(|(method, route, _)| format!("{method} {route}")).chain(executing);
    wrong.extend(classes.filter(|route| !known(route)).map(|route| format!("no such route: {route}")));
    assert!(
        wrong.is_empty(),
        "think about who may do this, then put it into the table:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn pages_and_the_api_let_the_same_people_do_the_same() {
    let row = |route: &'static str| -> &'static str {
        rows::TABLE.iter().find(|(named, _)| *named == route).map_or(route, |(_, row)| *row)
    };
    let mut differ = Vec::new();
    for (page, api) in rows::SAME {
        // Pages take no tokens where they post, and no form of a program that keeps no cookies.
        let people = |row: &str| {
            let of: Vec<&str> = row.split(' ').collect();
            assert_eq!(of.len(), 5, "no row: {row}");
            let visitors = if page.starts_with("GET") { of[4] } else { &of[4][..2] };
            [of[0], of[1], visitors].map(str::to_string)
        };
        if people(row(page)) != people(row(api)) {
            differ.push(format!("{page} {:?} is {api} {:?}", row(page), row(api)));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
