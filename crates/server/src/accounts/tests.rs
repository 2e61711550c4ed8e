//! Accounts through the router, as browsers and programs meet them.

use crate::limits::{Limits, Rate};
use crate::test_service::{PASSWORD, TestResponse, TestService};
use serde_json::json;
use store::Role;

const JSON: &str = "content-type: application/json";
const FORM: &str = "content-type: application/x-www-form-urlencoded";
const HTML: &str = "accept: text/html";
const SAME: &str = "sec-fetch-site: same-origin";

/// Follows a browser: keeps its cookies from answer to answer.
struct Browser<'a> {
    kit: &'a TestService,
    cookies: Vec<(String, String)>,
}

impl Browser<'_> {
    fn new(kit: &TestService) -> Browser<'_> {
        Browser { kit, cookies: Vec::new() }
    }

    fn line(&self) -> String {
        let pairs: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("cookie: {}", pairs.join("; "))
    }

    fn keep(&mut self, answer: TestResponse) -> TestResponse {
        for name in ["tauto-session", "tauto-visitor"] {
            let Some(value) = answer.cookie(name).map(String::from) else { continue };
            self.cookies.retain(|(kept, _)| kept != name);
            if !value.is_empty() {
                self.cookies.push((name.into(), value));
            }
        }
        answer
    }

    async fn get(&mut self, path: &str) -> TestResponse {
        let answer = self.kit.send(&format!("GET {path}"), &[HTML, &self.line()], "").await;
        self.keep(answer)
    }

    async fn post(&mut self, path: &str, form: String) -> TestResponse {
        let answer = self.kit.send(&format!("POST {path}"), &[HTML, FORM, SAME, &self.line()], form).await;
        self.keep(answer)
    }

    /// Loads a page and posts a form of it.
    async fn fill(&mut self, page: &str, to: &str, fields: &str) -> TestResponse {
        let csrf = self.get(page).await.csrf();
        self.post(to, format!("csrf={csrf}&{fields}")).await
    }
}

#[tokio::test]
async fn the_first_admin_comes_by_a_link_that_is_good_once() {
    let kit = TestService::new(true).await;
    let startup = crate::Startup { service: kit.service.clone() };
    let stale = startup.admin_link().await.unwrap().unwrap();
    let link = startup.admin_link().await.unwrap().unwrap();
    let mut browser = Browser::new(&kit);
    assert_eq!(browser.get(&stale).await.status, 404);
    // What is wrong with the form leaves the link good.
    for fields in [
        "name=root&password=short&again=short",
        "name=a+b&password=long+enough&again=long+enough",
        "name=root&password=long+enough&again=another+one",
    ] {
        let answer = browser.fill(&link, &link, fields).await;
        assert_eq!(answer.status, 422, "{fields} {}", answer.text);
    }
    let answer = browser.fill(&link, &link, "name=root&password=long+enough&again=long+enough").await;
    assert_eq!(answer.status, 303, "{}", answer.text);
    assert_eq!(browser.get("/users").await.status, 200);
    assert_eq!(browser.get(&link).await.status, 404);
    assert_eq!(startup.admin_link().await.unwrap(), None);
    // Reissued for an admin who has forgotten the password.
    let link = startup.new_admin_link().await.unwrap();
    let mut other = Browser::new(&kit);
    let answer = other.fill(&link, &link, "name=root&password=another+one&again=another+one").await;
    assert_eq!(answer.status, 303);
    assert_eq!(browser.get("/users").await.status, 401, "the sessions of before have ended");
    assert!(!format!("{:?}", kit.service.store.setting("link:admin").await).contains(&link[7..]));
}

#[tokio::test]
async fn one_signs_in_and_out() {
    let kit = TestService::new(false).await;
    kit.user("ann", Role::Participant).await;
    let mut browser = Browser::new(&kit);
    let wrong = browser.fill("/sign-in", "/sign-in", "name=ann&password=wrong+horse").await;
    let unknown = browser.fill("/sign-in", "/sign-in", "name=bob&password=wrong+horse").await;
    assert_eq!((wrong.status.as_u16(), unknown.status.as_u16()), (401, 401));
    let plain = |answer: &TestResponse| answer.text.replace("ann", "X").replace("bob", "X");
    assert_eq!(plain(&wrong), plain(&unknown), "they tell which users there are");
    let answer =
        browser.fill("/sign-in", "/sign-in", "name=ann&password=correct+horse&back=//evil.example").await;
    assert_eq!((answer.status.as_u16(), &answer.headers["location"]), (303, &"/".parse().unwrap()));
    let first = browser.line();
    assert_eq!(browser.get("/account").await.status, 200);
    // Signing in again makes a new session and ends the one of before.
    let csrf = browser.get("/account").await.csrf();
    browser.post("/sign-in", format!("csrf={csrf}&name=ann&password=correct+horse")).await;
    assert_ne!(first, browser.line());
    assert_eq!(kit.send("GET /account", &[HTML, &first], "").await.status, 401);
    let second = browser.line();
    assert_eq!(browser.fill("/account", "/sign-out", "").await.status, 303);
    assert_eq!(kit.send("GET /account", &[HTML, &second], "").await.status, 401);
    assert_eq!(browser.get("/account").await.status, 401);
}

#[tokio::test]
async fn one_signs_out_everywhere() {
    let kit = TestService::new(false).await;
    kit.user("ann", Role::Participant).await;
    let (one, two) = (kit.sign_in("ann").await, kit.sign_in("ann").await);
    let answer = kit.send("DELETE /api/v1/session?everywhere=true", &[&one, SAME], "").await;
    assert_eq!(answer.status, 204, "{}", answer.text);
    for line in [one, two] {
        assert!(kit.send("GET /api/v1/me", &[&line], "").await.json()["user"].is_null());
    }
}

#[tokio::test]
async fn forms_of_others_are_refused() {
    let kit = TestService::new(false).await;
    kit.user("ann", Role::Participant).await;
    let line = kit.sign_in("ann").await;
    let csrf = kit.send("GET /account", &[HTML, &line], "").await.csrf();
    let body = |csrf: &str| format!("csrf={csrf}&name=t&read=true");
    let check = async |headers: &[&str], body: String, status: u16| {
        let all = [&[HTML, FORM, line.as_str()], headers].concat();
        let answer = kit.send("POST /account/tokens", &all, body).await;
        assert_eq!(answer.status, status, "{headers:?} {}", answer.text);
    };
    check(&["sec-fetch-site: cross-site"], body(&csrf), 403).await;
    check(&["sec-fetch-site: same-site"], body(&csrf), 403).await;
    check(&["origin: https://evil.example"], body(&csrf), 403).await;
    check(&["origin: null"], body(&csrf), 403).await;
    check(&[], body(&csrf), 403).await;
    check(&[SAME], body("0"), 403).await;
    check(&[SAME], body(""), 403).await;
    check(&["origin: http://127.0.0.1:8080"], body(&csrf), 200).await;
    check(&[SAME], body(&csrf), 200).await;
    // A form for another browser is good for that one alone.
    let other = Browser::new(&kit).get("/sign-in").await.csrf();
    check(&[SAME], body(&other), 403).await;
}

#[tokio::test]
async fn tokens_do_what_their_scopes_say() {
    let kit = TestService::new(false).await;
    let ann = kit.user("ann", Role::Participant).await;
    let line = kit.sign_in("ann").await;
    let body = json!({"name": "ci", "scopes": ["submit"], "days": 1}).to_string();
    let made = kit.send("POST /api/v1/tokens", &[JSON, SAME, &line], body.clone()).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let token = made.json()["token"].as_str().unwrap().to_string();
    assert!(token.starts_with("tauto_"), "{token}");
    for line in [format!("authorization: Bearer {token}"), format!("Authorization: bearer {token}")] {
        let me = kit.send("GET /api/v1/me", &[&line], "").await.json();
        assert_eq!(
            (&me["user"]["name"], &me["may_submit"], &me["may_administer"]),
            (&json!("ann"), &json!(true), &json!(false))
        );
        // No token makes tokens, or changes the password.
        assert_eq!(kit.send("POST /api/v1/tokens", &[JSON, &line], body.clone()).await.status, 403);
    }
    // Only what its owner may do, whatever is written in the store.
    let all = kit.token(ann, &["submit", "read", "problems", "rejudge", "admin"]).await;
    let line_of_all = format!("authorization: Bearer {all}");
    assert_eq!(kit.send("GET /api/v1/users", &[&line_of_all], "").await.status, 403);
    let too_much = json!({"name": "ci", "scopes": ["admin"]}).to_string();
    assert_eq!(kit.send("POST /api/v1/tokens", &[JSON, SAME, &line], too_much).await.status, 422);
    assert_eq!(kit.send("GET /api/v1/me", &["authorization: Bearer no"], "").await.status, 401);
    let id = &made.json()["id"];
    let revoked = kit.send(&format!("DELETE /api/v1/tokens/{id}"), &[SAME, &line], "").await;
    assert_eq!(revoked.status, 204);
    assert_eq!(
        kit.send("GET /api/v1/me", &[&format!("authorization: Bearer {token}")], "").await.status,
        401
    );
    // Nobody revokes what is another's.
    kit.user("bob", Role::Participant).await;
    let bob = kit.sign_in("bob").await;
    assert_eq!(kit.send("DELETE /api/v1/tokens/2", &[SAME, &bob], "").await.status, 404);
    kit.service.store.set_disabled(ann, Some(crate::timestamp::now())).await.unwrap();
    assert_eq!(kit.send("GET /api/v1/me", &[&line_of_all], "").await.status, 401);
    assert!(kit.send("GET /api/v1/me", &[&line], "").await.json()["user"].is_null());
}

#[tokio::test]
async fn users_are_added_changed_and_taken_from_lists() {
    let kit = TestService::new(false).await;
    kit.user("root", Role::Admin).await;
    let line = kit.sign_in("root").await;
    let send = async |what: &str, body: String| kit.send(what, &[JSON, SAME, &line], body).await;
    let added = send("POST /api/v1/users", json!({"name": "ann", "role": "jury"}).to_string()).await;
    assert_eq!(added.status, 201, "{}", added.text);
    let link = added.json()["link"].as_str().unwrap().to_string();
    let mut ann = Browser::new(&kit);
    let set = ann.fill(&link, &link, "password=correct+horse&again=correct+horse").await;
    assert_eq!((set.status.as_u16(), &set.headers["location"]), (303, &"/sign-in".parse().unwrap()));
    assert_eq!(ann.get(&link).await.status, 404);
    kit.sign_in("ann").await;
    assert_eq!(
        send("POST /api/v1/users", json!({"name": "ann", "role": "jury"}).to_string()).await.status,
        409
    );
    // The only admin stays one.
    for change in [json!({"role": "jury"}), json!({"disabled": true})] {
        assert_eq!(send("PATCH /api/v1/users/1", change.to_string()).await.status, 409);
    }
    let changed = send("PATCH /api/v1/users/2", json!({"disabled": true}).to_string()).await;
    assert!(changed.status == 200 && changed.json()["disabled"].is_string(), "{}", changed.text);
    let body = json!({"name": "ann", "password": PASSWORD}).to_string();
    assert_eq!(kit.send("POST /api/v1/session", &[JSON], body).await.status, 401);
    let csv = "name,display,role\nt1,Team 1\nt2,\"Team, 2\",jury\n";
    let all = kit.send("POST /api/v1/users/import", &["content-type: text/csv", SAME, &line], csv).await;
    assert_eq!(all.status, 201, "{}", all.text);
    assert_eq!(all.json()[1]["display"], "Team, 2");
    let body = json!({"name": "t1", "password": all.json()[0]["password"]}).to_string();
    assert_eq!(kit.send("POST /api/v1/session", &[JSON], body).await.status, 200);
    // All or none.
    let again = kit.send("POST /api/v1/users/import", &[SAME, &line], "t3\nt2\n").await;
    assert_eq!(again.status, 422);
    assert!(again.text.contains("user 2 of the list: the name t2 is taken"), "{}", again.text);
    assert!(kit.service.store.user_of_name("t3").await.is_err());
}

#[tokio::test]
async fn guessing_is_slowed_down() {
    let limits = Limits { failed_sign_ins: Rate { burst: 3, per_minute: 1 }, ..Limits::USUAL };
    let kit = TestService::with(false, |settings| settings.access.limits = limits).await;
    kit.user("ann", Role::Participant).await;
    // Those that succeed do not count.
    for _ in 0..5 {
        kit.sign_in("ann").await;
    }
    let guess = async |name: &str| {
        let body = json!({"name": name, "password": "x"}).to_string();
        kit.send("POST /api/v1/session", &[JSON], body).await
    };
    for name in ["ann", "nobody"] {
        for _ in 0..3 {
            assert_eq!(guess(name).await.status, 401);
        }
        let slowed = guess(name).await;
        assert_eq!(slowed.status, 429);
        let wait: u64 = slowed.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
    }
    // With the right password too, else it would tell.
    let body = json!({"name": "ann", "password": PASSWORD}).to_string();
    assert_eq!(kit.send("POST /api/v1/session", &[JSON], body).await.status, 429);
}

#[tokio::test]
async fn without_accounts_only_this_machine_is_served() {
    let kit = TestService::new(true).await;
    let check = async |headers: &[&str], status: u16| {
        let answer = kit.send("GET /api/v1/me", headers, "").await;
        assert_eq!(answer.status, status, "{headers:?} {}", answer.text);
    };
    check(&[], 200).await;
    check(&["host: localhost"], 200).await;
    check(&["host: rebound.example:8080"], 403).await;
    check(&["x-forwarded-for: 1.2.3.4"], 403).await;
    let answer = kit.send("POST /api/v1/submissions", &[JSON, "origin: https://evil.example"], "{}").await;
    assert_eq!(answer.status, 403);
    assert!(kit.send("GET /api/v1/me", &[], "").await.cookie("tauto-visitor").is_none());
    let page = kit.send("GET /sign-in", &[HTML], "").await;
    let line = page.headers["set-cookie"].to_str().unwrap();
    assert!(line.contains("HttpOnly; SameSite=Lax"), "{line}");
}

#[tokio::test]
async fn answers_are_hardened() {
    let kit = TestService::new(false).await;
    kit.user("ann", Role::Participant).await;
    for what in ["GET /sign-in", "GET /nowhere", "GET /api/v1/users", "GET /api/nowhere", "POST /sign-in"] {
        let answer = kit.send(what, &[HTML], "").await;
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"), "{what}: {policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(answer.headers[name], value, "{what} {name}");
        }
    }
    let page = kit.send("GET /sign-in", &[HTML], "").await.text;
    let style = page.split("href=\"").find(|part| part.contains(".css")).unwrap().split('"').next().unwrap();
    let asset = kit.send(&format!("GET {style}"), &[], "").await;
    assert!(asset.headers["cache-control"].to_str().unwrap().contains("immutable"));
    // Over https cookies are bound to it.
    let kit = TestService::with(false, |s| s.access.public_url = Some("https://judge.example".into())).await;
    kit.user("ann", Role::Participant).await;
    let body = json!({"name": "ann", "password": PASSWORD}).to_string();
    let answer = kit.send("POST /api/v1/session", &[JSON], body).await;
    let line = answer.headers["set-cookie"].to_str().unwrap();
    assert!(line.starts_with("__Host-tauto-session=") && line.ends_with("; Secure"), "{line}");
}

#[tokio::test]
async fn sizes_are_bounded() {
    let kit = TestService::new(true).await;
    let big = "x".repeat((1 << 20) + 1);
    let answer = kit.send("POST /sign-in", &[FORM, HTML], big.clone()).await;
    assert_eq!(answer.status, 413);
    let length = format!("content-length: {}", big.len());
    assert_eq!(kit.send("POST /sign-in", &[FORM, HTML, &length], "").await.status, 413);
    // A package is not even read from who may not add one.
    let answer = kit.send("POST /api/v1/problems", &["content-type: application/zip"], big).await;
    assert!([401, 405].contains(&answer.status.as_u16()), "{}", answer.status);
}

const BOUNDARY: &str = "content-type: multipart/form-data; boundary=x";

/// A form with files, as browsers post it.
fn parts(fields: &[(&str, &str)]) -> String {
    let part = |(name, value): &(&str, &str)| {
        format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    fields.iter().map(part).collect::<String>() + "--x--\r\n"
}

impl Browser<'_> {
    async fn post_parts(&mut self, path: &str, fields: &[(&str, &str)]) -> TestResponse {
        let headers = [HTML, BOUNDARY, SAME, &self.line()];
        let answer = self.kit.send(&format!("POST {path}"), &headers, parts(fields)).await;
        self.keep(answer)
    }

    async fn sign_in(&mut self, name: &str) {
        let answer =
            self.fill("/sign-in", "/sign-in", &format!("name={name}&password={}", encoded(PASSWORD))).await;
        assert_eq!(answer.status, 303, "{}", answer.text);
    }
}

fn encoded(text: &str) -> String {
    serde_urlencoded::to_string([("", text)]).unwrap()[1..].to_string()
}

/// The form of a page that sends a kept one on, with these fields.
fn resumed(page: &TestResponse, fields: &str) -> String {
    let value = |name: &str| {
        let after = page.text.split(&format!("name=\"{name}\" value=\"")).nth(1);
        encoded(after.unwrap_or_else(|| panic!("no {name}: {}", page.text)).split('"').next().unwrap())
    };
    let csrf = page.text.split("id=\"sign-in\"").nth(1).unwrap().split("value=\"").nth(1).unwrap();
    let csrf = csrf.split('"').next().unwrap();
    format!("csrf={csrf}&kept_form={}&kept={}&{fields}", value("kept_form"), value("kept"))
}

#[tokio::test]
async fn a_form_outlives_its_session() {
    let kit = TestService::new(false).await;
    crate::problems::install_examples(&kit.service).await.unwrap();
    let id = kit.user("ada", Role::Participant).await;
    let mut browser = Browser::new(&kit);
    browser.sign_in("ada").await;
    let csrf = browser.get("/problems/fence").await.csrf();
    let program = "print('<b> ä')\n# a program that nobody wants to write twice";
    let form = [("csrf", csrf.as_str()), ("language", "python3"), ("source", program)];
    let to = "/problems/fence/submit";
    kit.service.store.end_sessions(id).await.unwrap();
    let page = browser.post_parts(to, &form).await;
    assert_eq!(page.status, 401);
    assert!(
        page.text.contains("Your session has expired") && page.text.contains("write twice"),
        "{}",
        page.text
    );
    assert!(
        !page.text.contains("Fence") && !page.text.contains("<b> ä"),
        "nothing of the problem: {}",
        page.text
    );
    let page = browser.post(to, resumed(&page, "name=ada&password=wrong")).await;
    assert_eq!(page.status, 401);
    assert!(page.text.contains("is wrong"), "{}", page.text);
    let done = browser.post(to, resumed(&page, &format!("name=ada&password={}", encoded(PASSWORD)))).await;
    assert_eq!(done.status, 303, "{}", done.text);
    let place = done.headers["location"].to_str().unwrap();
    let token = place.strip_prefix("/submissions/").and_then(|rest| rest.strip_suffix("#sent")).unwrap();
    let store = &kit.service.store;
    let taken = store.submission_of_token(token).await.unwrap();
    assert_eq!(taken.author, Some(id));
    let file = &store.files(taken.id).await.unwrap()[0];
    assert_eq!(store.blob(&file.hash).await.unwrap(), program.as_bytes());
    assert_eq!(browser.get(place.split('#').next().unwrap()).await.status, 200, "signed in from then on");

    // Signed in again in another tab: the form is of the session before.
    kit.service.store.end_sessions(id).await.unwrap();
    browser.sign_in("ada").await;
    let page = browser.post_parts(to, &form).await;
    assert_eq!(page.status, 403);
    assert!(
        page.text.contains("belongs to an earlier session") && page.text.contains("<bdi>ada</bdi>"),
        "{}",
        page.text
    );
    let done = browser.post(to, resumed(&page, "")).await;
    assert_eq!(done.status, 303, "{}", done.text);
}

#[tokio::test]
async fn only_what_a_browser_of_ours_sent_is_kept() {
    let kit = TestService::new(false).await;
    kit.user("ada", Role::Participant).await;
    let mut browser = Browser::new(&kit);
    browser.get("/sign-in").await;
    let line = browser.line();
    // Passwords are not written into pages.
    let stale = "csrf=no&old=secret-1&password=secret-2&again=secret-2";
    for path in ["/account/password", "/sign-in"] {
        let answer = browser.post(path, stale.into()).await;
        assert_eq!(answer.status, 403, "{path}");
        assert!(!answer.text.contains("kept"), "{}", answer.text);
    }
    // What does not say where it comes from, and a kept form that was not made for this browser.
    let form = parts(&[("csrf", "no"), ("source", "x")]);
    let answer = kit.send("POST /problems/fence/submit", &[HTML, BOUNDARY], form).await;
    assert_eq!(answer.status, 403);
    let forged = format!("csrf=no&kept=eA&kept_form=text/plain&name=ada&password={}", encoded(PASSWORD));
    let answer = kit.send("POST /theme", &[HTML, FORM, SAME, &line], forged).await;
    assert_eq!(answer.status, 401);
    assert_eq!(answer.cookie("tauto-session"), None);
}

#[tokio::test]
async fn pages_that_need_it_are_the_sign_in_form() {
    let kit = TestService::new(false).await;
    let mut browser = Browser::new(&kit);
    for path in ["/", "/submissions?problem=fence", "/account"] {
        let answer = browser.get(path).await;
        assert_eq!(answer.status, 401);
        let back = format!("name=\"back\" value=\"{path}\"");
        assert!(answer.text.contains(&back) && answer.text.contains("name=\"password\""), "{}", answer.text);
    }
}

#[tokio::test]
async fn who_signs_in_over_a_session_that_has_ended_is_signed_in() {
    let kit = TestService::new(false).await;
    let id = kit.user("ada", Role::Participant).await;
    let mut browser = Browser::new(&kit);
    let csrf = browser.get("/sign-in").await.csrf();
    browser.sign_in("ada").await;
    kit.service.store.end_sessions(id).await.unwrap();
    // With the cookie of the session that has ended, which the same answer removes.
    let fields = format!("csrf={csrf}&name=ada&password={}", encoded(PASSWORD));
    let answer = browser.post("/sign-in", fields).await;
    assert_eq!(answer.status, 303, "{}", answer.text);
    let cookies: Vec<_> =
        answer.headers.get_all("set-cookie").iter().map(|line| line.to_str().unwrap()).collect();
    let last = cookies.iter().rfind(|line| line.starts_with("tauto-session=")).unwrap();
    assert!(!last.contains("Max-Age=0"), "{cookies:?}");
}
