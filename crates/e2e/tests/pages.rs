//! The pages in a real browser: from the first visit over live verdicts and their evidence to an admin who uploads a package and judges
//! again. Every page is looked at wide and narrow: nothing on the console (the security policy speaks there), no serious fault by axe, nothing wider
//! than the window. Pictures are left in `target/screenshots`.

#[path = "pages/fleet.rs"]
mod fleet;
#[path = "pages/participant.rs"]
mod participant;

use e2e::browser::{Browser, axe};
use e2e::http::Client;
use e2e::package::DOUBLE;
use e2e::service::Service;
use serde_json::Value;
use std::fs::Permissions;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use tempfile::TempDir;
use zip::write::SimpleFileOptions;

const WIDE: u64 = 1280;
const NARROW: u64 = 390;

/// The button of a problem's page that submits; those beside it run the program and submit nothing.
const SUBMIT: &str = "#hand-in > .actions > button:not(.plain)";
const PASSWORD: &str = "correct horse battery";

/// Accepted for `snowwall`.
const RIGHT: &str = include_str!("../../../examples/snowwall/submissions/accepted/integer_root.py");
const WRONG: &str = "q = int(input())\nfor _ in range(q):\n    n = int(input())\n    print(n, 0)\n";
const SLOW: &str =
    "#include <iostream>\nint main() {\n    volatile long n = 0;\n    while (true) n = n + 1;\n}\n";
const BROKEN: &str = "#include <iostream>\nint main() { return not_there; }\n";

/// A browser before a service, and what is asked of every page.
struct Visit {
    browser: Browser,
    service: Service,
    /// The name it is called by.
    host: &'static str,
    axe: String,
    pictures: PathBuf,
    faults: Vec<String>,
    data: TempDir,
}

/// The directory that cargo builds into.
fn target() -> PathBuf {
    let own = std::env::current_exe().expect("own path");
    // target/PROFILE/deps/test-binary
    own.ancestors().nth(3).expect("target directory").to_path_buf()
}

impl Visit {
    fn begin(options: &[&str]) -> Visit {
        let data = TempDir::new().expect("data directory");
        // The web process is another user, who must be able to reach what is below it.
        std::fs::set_permissions(data.path(), Permissions::from_mode(0o755)).expect("mode");
        let service = Service::start(data.path(), SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), options)
            .expect("a service");
        let axe = axe(&target().join("axe")).expect("axe-core");
        let pictures = target().join("screenshots");
        std::fs::create_dir_all(&pictures).expect("screenshots");
        let browser = Browser::start().expect("a browser");
        Visit { browser, service, host: "127.0.0.1", axe, pictures, faults: Vec::new(), data }
    }

    fn open(&mut self, path: &str) {
        let address = format!("http://{}:{}{path}", self.host, self.service.address().port());
        self.browser.open(&address).expect(path);
    }

    fn script(&mut self, text: &str) -> Value {
        self.browser.script(text).expect(text)
    }

    fn wait_for(&mut self, condition: &str) {
        self.browser.wait_for(condition).expect(condition);
    }

    fn click(&mut self, css: &str) {
        self.browser.click(css).expect(css);
    }

    fn type_into(&mut self, css: &str, text: &str) {
        self.browser.type_into(css, text).expect(css);
    }

    /// Looks at the page that is open, wide and narrow; with TAUTO_LOOK_DARK set, in dark colours too.
    fn look(&mut self, name: &str) {
        self.look_as_it_is(name);
        let dark = std::env::var_os("TAUTO_LOOK_DARK").filter(|_| !name.contains("-dark"));
        dark.into_iter().for_each(|_| self.look_dark(name));
    }

    fn look_as_it_is(&mut self, name: &str) {
        for width in [WIDE, NARROW] {
            let picture = self.pictures.join(format!("{name}-{width}.png"));
            self.browser.picture(width, &picture).expect("picture");
            let found = self.script("return document.documentElement.scrollWidth").as_u64().unwrap_or(0);
            if found > width {
                self.faults.push(format!("{name}: {found} px wide in a window of {width}"));
            }
            // On a small screen tables may be scrolled, on a usual one everything is to be seen.
            let cut = self.script("return [...document.querySelectorAll('.wide')].filter((box) => box.scrollWidth > box.clientWidth)\
                .map((box) => `${box.getAttribute('aria-label')}: ${box.scrollWidth} px in ${box.clientWidth}`).join(', ')");
            if width == WIDE && cut != "" {
                self.faults.push(format!("{name}: tables overflow: {cut}"));
            }
            self.accessible(&format!("{name} at {width}"));
        }
        self.browser.resize(WIDE, 900).expect("size");
        self.heard(name, |_| false);
    }

    /// Looks at it in the other colours.
    fn look_dark(&mut self, name: &str) {
        self.script("document.documentElement.dataset.theme = 'dark'");
        self.look_as_it_is(&format!("{name}-dark"));
        self.script("document.documentElement.dataset.theme = 'light'");
    }

    /// Nothing is on the console but what is expected.
    fn heard(&mut self, name: &str, expected: impl Fn(&str) -> bool) {
        let said = self.browser.console().expect("console");
        // Browsers say that of every page over plain http.
        let http = |text: &str| text.contains("Cross-Origin-Opener-Policy header has been ignored");
        let odd = said.iter().filter(|text| !expected(text) && !http(text));
        self.faults.extend(odd.map(|text| format!("{name}: console: {text}")));
    }

    fn accessible(&mut self, name: &str) {
        let load = "const done = arguments[1]; AXE; \
            axe.run(document, {resultTypes: ['violations']}).then((found) => done(found.violations.map((fault) => \
            [fault.impact, fault.id, fault.nodes.slice(0, 3).map((node) => node.html + ' ' + node.failureSummary).join(' | ')])), (error) => done([['critical', 'axe', String(error)]]));";
        let text = load.replace("AXE", &self.axe);
        let found = self.browser.script_waiting(&text, "").expect("axe");
        for fault in found.as_array().cloned().unwrap_or_default() {
            if fault[0] == "serious" || fault[0] == "critical" {
                self.faults.push(format!("{name}: {}: {} {}", fault[0], fault[1], fault[2]));
            }
        }
    }

    /// Hands in a program through the form and waits for its verdict.
    fn hand_in(&mut self, problem: &str, language: &str, source: &str, verdict: &str) {
        self.send(SUBMIT, problem, language, source, verdict);
    }

    fn send(&mut self, button: &str, problem: &str, language: &str, source: &str, verdict: &str) {
        self.open(&format!("/problems/{problem}"));
        let text = serde_json::to_string(source).expect("text");
        self.script(&format!(
            "const choice = document.getElementById('language'); \
             choice.value = '{language}'; choice.dispatchEvent(new Event('change')); const field = document.getElementById('source'); \
             field.value = {text}; field.dispatchEvent(new Event('input'));"
        ));
        self.click(button);
        self.wait_for("location.pathname.startsWith('/submissions/')");
        self.wait_for("document.querySelector('#live dl') && !document.querySelector('#live .verdict.big.waiting, #live .verdict.big.judging')");
        let shown = self.script("return document.querySelector('#live .verdict.big').textContent");
        assert_eq!(shown, verdict, "{problem}, {language}");
    }
}

#[test]
fn from_the_first_visit_to_a_rejudging() {
    let mut visit = Visit::begin(&[]);
    first_visit(&mut visit);
    verdicts(&mut visit);
    without_scripts(&mut visit);
    admin(&mut visit);
    jury(&mut visit);
    fleet::look_at(&mut visit);
    assert!(visit.faults.is_empty(), "{}", visit.faults.join("\n"));
}

/// What a contestant meets who edits a file, is signed out meanwhile, chooses a language and a contest, or has no scripts.
#[test]
fn nothing_that_was_entered_is_lost() {
    let mut visit = Visit::begin(&["--accounts"]);
    visit.host = "judge.test";
    let token = visit.become_admin();
    let contest = serde_json::json!({"pool": "default", "strictness": "relaxed"});
    let set = visit
        .admin(&token)
        .ask(
            "PUT",
            "/api/v1/contests/finals",
            &[("content-type", "application/json")],
            contest.to_string().as_bytes(),
        )
        .expect("a contest");
    assert!(set.status < 300, "{}", set.text());
    visit.file_then_edit();
    visit.session_over();
    visit.explicit_language();
    visit.contest();
    visit.send("#hand-in > .actions > button.plain", "snowwall", "python3", RIGHT, "Accepted");
    assert_eq!(
        visit.script("return document.querySelector('.head .actions a').getAttribute('href')"),
        "/problems/snowwall",
        "a run leads back to its problem"
    );
    visit.look_at("run-samples");
    visit.without_scripts();
    visit.long_names(&token);
    participant::look_at(&mut visit, &token);
    assert!(visit.faults.is_empty(), "{}", visit.faults.join("\n"));
}

impl Visit {
    /// Becomes the first admin, in the browser; a token of theirs.
    fn become_admin(&mut self) -> String {
        let log = self.service.log();
        let link = log.split("/setup/").nth(1).expect("the link for the first admin");
        let secret: String =
            link.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
        self.open(&format!("/setup/{secret}"));
        self.script("document.getElementById('name').value = 'ada'");
        self.type_into("#password", PASSWORD);
        self.type_into("#again", PASSWORD);
        self.click("main form button");
        self.wait_for("document.querySelector('.who .me')?.textContent.includes('ada')");
        self.open("/account");
        self.type_into("#token-name", "tests");
        self.script("document.querySelectorAll('main input[type=checkbox]').forEach((box) => { box.checked = true; })");
        self.click("form[action$=tokens] button");
        self.wait_for("document.querySelector('.notice.good code')");
        let token = self.script("return document.querySelector('.notice.good code').textContent");
        token.as_str().expect("a token").to_string()
    }

    /// A client of its own each time: the service ends connections that are idle for long.
    fn admin(&self, token: &str) -> Client {
        self.service.client().with("authorization", &format!("Bearer {token}"))
    }

    /// Ends every session of the admin, as time or another device does.
    fn end_sessions(&mut self) {
        let mut client = self.service.client();
        let known = serde_json::json!({"name": "ada", "password": PASSWORD});
        let signed = client.post("/api/v1/session", &[], &known).expect("a session");
        let cookie =
            signed.header("set-cookie").expect("a cookie").split(';').next().expect("a pair").to_string();
        let mut client = self.service.client().with("cookie", &cookie).with("sec-fetch-site", "same-origin");
        let ended = client.delete("/api/v1/session?everywhere=true").expect("the end");
        assert_eq!(ended.status, 204, "{}", ended.text());
    }

    fn value(&mut self, id: &str) -> String {
        let value = self.script(&format!("return document.getElementById('{id}').value"));
        value.as_str().unwrap_or_default().to_string()
    }

    /// Waits until a field has this value: a page's script may run after the page is there.
    fn waits_for_value(&mut self, id: &str, value: &str) {
        self.wait_for(&format!("document.getElementById('{id}').value === '{value}'"));
    }

    /// Chooses a file in the form.
    fn choose(&mut self, name: &str, content: &str) {
        let path = self.write(name, content);
        self.type_into("#files", &path);
    }

    fn write(&self, name: &str, content: &str) -> String {
        let path = self.data.path().join(name);
        std::fs::write(&path, content).expect(name);
        path.to_str().expect("a path in UTF-8").to_string()
    }

    /// What a submission that is shown consists of: names and texts of its files.
    fn submitted(&mut self) -> Vec<String> {
        self.wait_for(
            "location.pathname.startsWith('/submissions/') && document.querySelector('code[id^=source]')",
        );
        let files = self.script(
            "return [...document.querySelectorAll('.source')].flatMap((box) => [box.getAttribute('aria-label'), box.querySelector('code').textContent])",
        );
        let files = files.as_array().cloned().unwrap_or_default();
        files.iter().map(|text| text.as_str().unwrap_or_default().to_string()).collect()
    }

    fn file_then_edit(&mut self) {
        self.open("/problems/snowwall");
        self.choose("wall.py", "print('from the file')\n");
        self.wait_for("document.getElementById('source').value.includes('from the file')");
        assert_eq!(self.value("language"), "python3");
        assert!(
            self.script("return document.getElementById('guess').textContent")
                .as_str()
                .is_some_and(|said| said.contains("wall.py is open"))
        );
        self.script(
            "const field = document.getElementById('source'); field.focus(); field.setSelectionRange(0, 0)",
        );
        self.type_into("#source", "# edited");
        let entered = self.value("source");
        assert_ne!(entered, "print('from the file')\n");
        self.look("submit-edited-file");
        self.click(SUBMIT);
        assert_eq!(self.submitted(), ["wall.py", entered.as_str()]);
        assert_eq!(self.script("return location.hash"), "");
        self.open("/problems/snowwall");
        assert_eq!(self.value("source"), "", "the draft was let go when it was taken in");

        // Several files are submitted as they are; what was written before waits.
        let two = [self.write("one.py", "import two\n"), self.write("two.py", "print(1)\n")].join("\n");
        self.type_into("#source", "a draft");
        self.type_into("#files", &two);
        self.wait_for("!document.getElementById('attached').hidden");
        self.look("submit-attached");
        self.click("#attached button");
        assert_eq!(self.value("files"), "");
        assert_eq!(self.value("source"), "a draft");
        self.type_into("#files", &two);
        self.wait_for("!document.getElementById('attached').hidden");
        self.click(SUBMIT);
        let files = self.submitted();
        assert_eq!(files, ["one.py", "import two\n", "two.py", "print(1)\n"]);
        self.open("/problems/snowwall");
        self.waits_for_value("source", "a draft");
        self.script("document.getElementById('source').select(); document.execCommand('delete')");
    }

    fn session_over(&mut self) {
        self.open("/problems/snowwall");
        self.script(&format!("const field = document.getElementById('source'); field.focus(); document.execCommand('insertText', false, {})", serde_json::to_string(RIGHT).expect("text")));
        let entered = self.value("source");
        self.end_sessions();
        self.click(SUBMIT);
        self.wait_for("document.querySelector('#sign-in #password')");
        self.heard("session over", |text| text.contains("401"));
        self.look("submit-session-over");
        self.look_dark("submit-session-over");
        // Whoever goes away and comes back finds it in the form.
        let kept = self.script("return document.querySelector('.kept').textContent");
        assert!(
            kept.as_str().is_some_and(|kept| kept.contains(entered.lines().next().unwrap_or("?"))),
            "{kept}"
        );
        self.type_into("#name", "ada");
        self.type_into("#password", "not the password");
        self.click("#sign-in button");
        self.wait_for("document.querySelector('.notice.bad')");
        self.heard("wrong password", |text| text.contains("401"));
        self.type_into("#password", PASSWORD);
        self.click("#sign-in button");
        assert_eq!(self.submitted(), ["main.py", entered.as_str()]);
        self.open("/problems/snowwall");
        assert_eq!(self.value("source"), "");
        // At the front door, too.
        self.end_sessions();
        self.open("/status?verdict=AC");
        self.heard("signed out", |text| text.contains("401"));
        self.type_into("#name", "ada");
        self.type_into("#password", PASSWORD);
        self.click("#sign-in button");
        self.wait_for("document.querySelector('.who .me').textContent.includes('ada')");
        assert_eq!(self.script("return location.pathname + location.search"), "/status?verdict=AC");
    }

    fn explicit_language(&mut self) {
        let choose = "const choice = document.getElementById('language'); choice.value = 'cpp17'; choice.dispatchEvent(new Event('change'))";
        self.open("/problems/snowwall");
        self.script(choose);
        self.choose("wall.py", "#include <iostream>\nint main() {}\n");
        self.wait_for("document.getElementById('source').value.includes('iostream')");
        assert_eq!(self.value("language"), "cpp17", "a name does not override what was chosen");
        assert!(
            self.script("return document.getElementById('guess').textContent")
                .as_str()
                .is_some_and(|said| said.contains("looks like Python 3"))
        );
        self.type_into("#source", "int x; using namespace std;");
        assert_eq!(self.value("language"), "cpp17", "nor does a text");
        self.click(SUBMIT);
        assert_eq!(self.submitted()[0], "main.cc");
        // It is remembered, and neither a text nor a name of its own kind changes it.
        self.open("/problems/snowwall");
        self.waits_for_value("language", "cpp17");
        self.type_into("#source", "#include <stdio.h>\nint main(void) { return 0; }");
        assert_eq!(self.value("language"), "cpp17");
        self.choose("wall.cpp", "int main() {}\n");
        self.wait_for("document.getElementById('named').value === 'wall.cpp'");
        assert_eq!(self.value("language"), "cpp17");
        // A name of another kind tells more than what was chosen some day; that stays remembered.
        self.choose("wall.java", "class A {}\n");
        self.wait_for("document.getElementById('named').value === 'wall.java'");
        assert_eq!(self.value("language"), "java");
        self.click(SUBMIT);
        assert_eq!(self.submitted()[0], "wall.java");
        self.open("/problems/snowwall");
        self.waits_for_value("language", "cpp17");
    }

    fn contest(&mut self) {
        self.open("/problems/snowwall");
        self.script("document.getElementById('contest').value = 'finals'");
        self.look("submit-contest");
        self.type_into("#source", "int main() {}");
        self.click(SUBMIT);
        self.submitted();
        assert!(
            self.script("return document.querySelector('main').innerText")
                .as_str()
                .is_some_and(|text| text.contains("in the contest finals"))
        );
        self.open("/problems/snowwall");
        self.waits_for_value("contest", "finals");
    }

    fn without_scripts(&mut self) {
        self.browser.scripts(false).expect("no scripts");
        self.open("/problems/snowwall");
        assert_eq!(self.script("return document.querySelectorAll('.editor').length"), 0, "no script has run");
        self.script(&format!(
            "document.getElementById('language').value = 'python3'; document.getElementById('source').value = {}",
            serde_json::to_string(RIGHT).expect("text")
        ));
        self.click(SUBMIT);
        self.wait_for("location.pathname.startsWith('/submissions/')");
        self.wait_for("document.querySelector('#live .verdict.big.AC')");
        self.look_at("verdict-without-scripts");
        self.browser.scripts(true).expect("scripts");
    }

    /// Tables of the jury, where everything is called as long as may be.
    fn long_names(&mut self, token: &str) {
        let word = |n: usize| "Wolkenkratzer".repeat(10)[..n].to_string();
        let user = serde_json::json!({"name": word(64), "display": word(128), "role": "jury"});
        let made = self.admin(token).post("/api/v1/users", &[], &user).expect("a user");
        assert!(made.status < 300, "{}", made.text());
        let title =
            DOUBLE[0].1.replace("Double", &format!("{0} {0} {0}", word(60))).replace("uuid: 5", "uuid: 6");
        let path = format!("submissions/accepted/{}.c", word(90));
        let files = [&[("problem.yaml", title.as_str()), (path.as_str(), e2e::package::RIGHT)], &DOUBLE[1..]]
            .concat();
        let package = std::fs::read(zip(self, "long.zip", &files)).expect("a package");
        let to = format!("/api/v1/problems?name={}", word(64));
        let added = self
            .admin(token)
            .ask("POST", &to, &[("content-type", "application/zip")], &package)
            .expect("a problem");
        assert!(added.status < 300, "{}", added.text());
        let problem = format!("/problems/{}", word(64));
        self.open(&format!("{problem}/verification"));
        self.click("form[action$=verification] button");
        self.wait_for("document.querySelector('.notice.good, .notice.bad')");
        self.look("long-verification");
        self.open("/rejudge");
        self.script(&format!("document.getElementById('problem').value = '{}'", word(64)));
        self.click("form[method=get] button");
        self.wait_for("document.querySelector('#reason')");
        self.type_into("#reason", &word(128));
        self.click("form[method=post].card button");
        self.wait_for("document.querySelector('#live .notice.good')");
        self.look("long-rejudging");
        for (place, name) in [
            ("/", "problems"),
            ("/users", "users"),
            ("/status", "status"),
            ("/rejudge", "rejudge"),
            (problem.as_str(), "problem"),
        ] {
            self.open(place);
            self.look(&format!("long-{name}"));
        }
    }

    /// A picture of the page alone.
    fn look_at(&mut self, name: &str) {
        let picture = self.pictures.join(format!("{name}-{WIDE}.png"));
        self.browser.picture(WIDE, &picture).expect("picture");
    }
}

fn first_visit(visit: &mut Visit) {
    visit.browser.prefer("dark").expect("dark");
    visit.open("/");
    visit.look("problems-wished-dark");
    visit.browser.prefer("light").expect("light");
    visit.look("problems");
    visit.open("/submissions");
    visit.look("submissions-empty");
    visit.open("/problems/snowwall");
    visit.look("problem");
    visit.open("/problems/fence");
    visit.look("problem-latex");
    visit.open("/problems/pebbles");
    visit.look("problem-interaction");
    visit.open("/docs");
    visit.look("documents");
    visit.open("/docs/settling");
    visit.look("document");
    visit.open("/docs/why-times-vary");
    visit.look("document-pictures");
    visit.open("/hosts");
    visit.look("hosts");
    visit.open("/nowhere/at/all");
    let status = visit.script("return document.querySelector('.error .status').textContent");
    assert_eq!(status, "404");
    visit.heard("404", |text| text.contains("404"));
    visit.look("not-found");
    visit.open("/");
    visit.click("form.theme button");
    assert_eq!(visit.script("return document.documentElement.dataset.theme"), "dark");
    visit.open("/status");
    assert_eq!(visit.script("return document.documentElement.dataset.theme"), "dark", "it is remembered");
    visit.look("status-empty-dark");
    visit.click("form.theme button");
}

fn verdicts(visit: &mut Visit) {
    visit.open("/problems/snowwall");
    // The language is told by the text, and Tab indents.
    visit.type_into("#source", "for i in range(3):\n");
    visit.type_into("#source", "print(i)");
    assert_eq!(visit.script("return document.getElementById('language').value"), "python3");
    assert_eq!(
        visit.script("return document.getElementById('source').value"),
        "for i in range(3):\n    print(i)"
    );
    visit.hand_in("snowwall", "python3", RIGHT, "Accepted");
    visit.script(
        "document.querySelectorAll('#evidence, #all-runs, #runs-1').forEach((part) => { part.open = true; })",
    );
    visit.look("submission-right");
    visit.look_dark("submission-right");
    visit.hand_in("snowwall", "python3", WRONG, "Wrong answer");
    visit.look("submission-wrong");
    visit.hand_in("snowwall", "cpp", SLOW, "Time limit exceeded");
    assert_eq!(
        visit.script("return document.querySelectorAll('.chart svg .zone').length"),
        1,
        "the grey zone"
    );
    visit.look("submission-slow");
    visit.hand_in("snowwall", "cpp", BROKEN, "Compile error");
    visit.look("submission-compile");
    visit.open("/submissions");
    visit.look("submissions");
    visit.click("th:nth-child(3) button.sort");
    assert_eq!(
        visit.script("return document.querySelector('#submissions tbody .verdict').textContent"),
        "Accepted"
    );
    visit.open("/status?verdict=TLE");
    visit.look("status");
    visit.open("/");
    assert_eq!(visit.script("return document.querySelectorAll('#problems .verdict.AC').length"), 1);
    visit.look("problems-tried");
}

/// The same forms work where no script runs.
fn without_scripts(visit: &mut Visit) {
    let mut client = visit.service.client();
    let page = client.get("/problems/snowwall").expect("page");
    let text = String::from_utf8_lossy(&page.body).into_owned();
    assert!(text.contains("<textarea") && text.contains("method=\"post\""), "{text}");
    assert!(!text.contains("<style") && !text.contains(" style=") && !text.contains(" onclick="), "{text}");
}

fn admin(visit: &mut Visit) {
    let log = visit.service.log();
    let link = log.split("/setup/").nth(1).expect("the link for the first admin");
    let secret: String =
        link.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
    visit.open(&format!("/setup/{secret}"));
    visit.look("setup");
    visit.script("document.getElementById('name').value = 'ada'");
    visit.type_into("#password", "correct horse battery");
    visit.type_into("#again", "correct horse battery");
    visit.click("main form button");
    visit.wait_for("document.querySelector('.who .me')?.textContent.includes('ada')");
    visit.open("/account");
    visit.look("account");
    visit.open("/users");
    visit.look("users");
    visit.open("/rejudge");
    visit.look("rejudge-empty");
    visit.open("/hosts");
    visit.look("hosts-admin");
}

fn jury(visit: &mut Visit) {
    visit.open("/problems/new");
    visit.look("upload");
    let broken = zip(visit, "broken.zip", &[("problem.yaml", "name: [\n")]);
    visit.type_into("#package", &broken);
    visit.click("main form button");
    visit.wait_for("document.querySelector('.notice.bad')");
    visit.heard("upload of a broken package", |text| text.contains("422"));
    visit.look("upload-refused");
    let same = ("submissions/wrong_answer/same.py", "print(input())\n");
    let double = zip(
        visit,
        "a-problem-with-a-rather-long-name-for-a-small-window.zip",
        &[&DOUBLE[..], &[same]].concat(),
    );
    visit.open("/problems/new");
    visit.type_into("#package", &double);
    visit.click("main form button");
    visit.wait_for("location.pathname.endsWith('/verification')");
    visit.wait_for("document.querySelector('.notice.good, .notice.bad')");
    assert_eq!(visit.script("return document.querySelector('#live .notice').className"), "notice good");
    visit.look("verification");
    visit.open("/rejudge?problem=snowwall");
    visit.look("rejudge");
    visit.type_into("#reason", "a look at the tests");
    visit.click("form[method=post].card button");
    visit.wait_for("location.pathname.startsWith('/rejudge/')");
    visit.wait_for("document.querySelector('#live .notice.good')");
    visit.look("rejudging");
    visit.open("/status");
    visit.look("status-jury");
    visit.click("#submissions tbody tr:last-child a.verdict");
    visit.wait_for("document.querySelector('#live dl')");
    visit.click("a[href$=consistency]");
    visit.wait_for("document.querySelector('#times')");
    visit.look("consistency-empty");
    visit.script("document.getElementById('times').value = 5");
    visit.click("main form button");
    visit.wait_for("document.querySelector('.chart svg') && !document.querySelector('#live progress')");
    visit.look("consistency");
    visit.look_dark("consistency");
}

/// A package as an archive; its path.
fn zip(visit: &Visit, name: &str, files: &[(&str, &str)]) -> String {
    let path = visit.data.path().join(name);
    let mut archive = zip::ZipWriter::new(std::fs::File::create(&path).expect(name));
    for (file, content) in files {
        archive.start_file(*file, SimpleFileOptions::default()).expect(file);
        archive.write_all(content.as_bytes()).expect(file);
    }
    archive.finish().expect(name);
    path.to_str().expect("a path in UTF-8").to_string()
}
