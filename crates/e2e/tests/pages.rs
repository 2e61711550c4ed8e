//! The pages in a real browser: from the first visit over live verdicts and their evidence to an admin who uploads a package and judges
//! again. Every page is looked at wide and narrow: nothing on the console (the security policy speaks there), no serious fault by axe, nothing wider
//! than the window. Pictures are left in `target/screenshots`.

use e2e::browser::{Browser, axe};
use e2e::package::DOUBLE;
use e2e::service::Service;
use serde_json::Value;
use std::fs::Permissions;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;
use zip::write::SimpleFileOptions;

const WIDE: u64 = 1280;
const NARROW: u64 = 390;

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
    fn begin() -> Visit {
        let data = TempDir::new().expect("data directory");
        // The web process is another user, who must be able to reach what is below it.
        std::fs::set_permissions(data.path(), Permissions::from_mode(0o755)).expect("mode");
        let service =
            Service::start(data.path(), SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), &[]).expect("a service");
        let axe = axe(&target().join("axe")).expect("axe-core");
        let pictures = target().join("screenshots");
        std::fs::create_dir_all(&pictures).expect("screenshots");
        let browser = Browser::start().expect("a browser");
        Visit { browser, service, axe, pictures, faults: Vec::new(), data }
    }

    fn open(&mut self, path: &str) {
        let address = format!("http://{}{path}", self.service.address());
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

    /// Looks at the page that is open, wide and narrow.
    fn look(&mut self, name: &str) {
        for width in [WIDE, NARROW] {
            let picture = self.pictures.join(format!("{name}-{width}.png"));
            self.browser.picture(width, &picture).expect("picture");
            let found = self.script("return document.documentElement.scrollWidth").as_u64().unwrap_or(0);
            if found > width {
                self.faults.push(format!("{name}: {found} px wide in a window of {width}"));
            }
            self.accessible(&format!("{name} at {width}"));
        }
        self.browser.resize(WIDE, 900).expect("size");
        self.heard(name, |_| false);
    }

    /// Looks at it in the other colours.
    fn look_dark(&mut self, name: &str) {
        self.script("document.documentElement.dataset.theme = 'dark'");
        self.look(&format!("{name}-dark"));
        self.script("document.documentElement.dataset.theme = 'light'");
    }

    /// Nothing is on the console but what is expected.
    fn heard(&mut self, name: &str, expected: impl Fn(&str) -> bool) {
        let said = self.browser.console().expect("console");
        let odd = said.iter().filter(|text| !expected(text));
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
        self.open(&format!("/problems/{problem}"));
        let text = serde_json::to_string(source).expect("text");
        self.script(&format!(
            "document.getElementById('language').value = '{language}'; const field = document.getElementById('source'); \
             field.value = {text}; field.dispatchEvent(new Event('input'));"
        ));
        self.click("#hand-in button");
        self.wait_for("location.pathname.startsWith('/submissions/')");
        self.wait_for("document.querySelector('#live dl') && !document.querySelector('#live .verdict.big.waiting, #live .verdict.big.judging')");
        let shown = self.script("return document.querySelector('#live .verdict.big').textContent");
        assert_eq!(shown, verdict, "{problem}, {language}");
    }
}

#[test]
fn from_the_first_visit_to_a_rejudging() {
    let mut visit = Visit::begin();
    first_visit(&mut visit);
    verdicts(&mut visit);
    without_scripts(&mut visit);
    admin(&mut visit);
    jury(&mut visit);
    fleet(&mut visit);
    assert!(visit.faults.is_empty(), "{}", visit.faults.join("\n"));
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
    visit.open("/about");
    visit.look("about");
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
    visit.script("document.querySelectorAll('#all-runs, #runs-1').forEach((part) => { part.open = true; })");
    visit.look("submission-right");
    visit.look_dark("submission-right");
    visit.hand_in("snowwall", "python3", WRONG, "Wrong answer");
    visit.look("submission-wrong");
    visit.hand_in("snowwall", "cpp", SLOW, "Time limit exceeded");
    assert_eq!(
        visit.script("return document.querySelectorAll('.chart svg .zone').length"),
        1,
        "the grey band"
    );
    visit.look("submission-slow");
    visit.hand_in("snowwall", "cpp", BROKEN, "Does not compile");
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

/// A strict pool and its nodes: their pages, a node that is drained and returned, and what a suspected one judged, again.
fn fleet(visit: &mut Visit) {
    let database = visit.data.path().join("service/tautochrone.db").display().to_string();
    let file = visit.data.path().join("metal.toml");
    let definition = "name = \"metal\"\nkind = \"strict\"\nhelps_after_secs = 60\n[definition.equal]\nkernel = [\"6.12.48\"]\n\
        cpu_model = [\"Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz\"]\n[definition.index.dram_ns]\nvalue = 90.0\ntolerance_pct = 2.0\n";
    std::fs::write(&file, definition).expect("a pool's file");
    let file = file.display().to_string();
    let said = |words: &[&str]| {
        let mut command = Command::new(e2e::tauto::binary().expect("tauto"));
        command.args(words).args(["--database", &database, "--json"]);
        e2e::tauto::run(&mut command, true, Duration::from_secs(30))
            .expect("tauto")
            .document()
            .expect("a document")
    };
    assert_eq!(said(&["pool", "add", "metal", "--file", &file])["kind"], "strict");
    let contest = [
        "contest",
        "set",
        "finals",
        "--pool",
        "metal",
        "--strictness",
        "relaxed-then-strict",
        "--at-once",
        "9",
    ];
    assert_eq!(said(&contest)["strictness"], "relaxed_then_strict");
    let rows = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fleet_rows.py");
    let made = Command::new("python3").arg(rows).arg(&database).output().expect("python3");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let told = said(&["node", "list"]);
    let standing = |name: &str| {
        let nodes = told["nodes"].as_array().expect("nodes");
        nodes.iter().find(|node| node["name"] == name).map_or(Value::Null, |node| node["standing"].clone())
    };
    assert_eq!((standing("judge7"), standing("judge8")), ("drained".into(), "active".into()));
    visit.open("/pools");
    visit.look("pools");
    visit.look_dark("pools");
    visit.open("/queue");
    visit.look("queue");
    visit.open("/hosts");
    visit.look("hosts-fleet");
    visit.open("/nodes/judge9-with-a-rather-long-name-as-clouds-give-them-to-machines");
    assert_eq!(
        visit.script("return document.querySelectorAll('td .tag.bad').length"),
        2,
        "kernel and dram_ns"
    );
    visit.look("node-waits");
    visit.open("/nodes/judge8");
    visit.type_into("#why", "new memory");
    visit.click("form[action$=drain] button");
    visit.wait_for("document.querySelector('form[action$=return]')");
    visit.look("node-drained");
    visit.click("form[action$=return] button");
    visit.wait_for("document.querySelector('form[action$=drain]')");
    visit.open("/nodes/judge7");
    assert_eq!(visit.script("return document.querySelectorAll('meter').length"), 8, "tests");
    assert_eq!(visit.script("return document.querySelectorAll('.chart svg').length"), 2, "core and memory");
    visit.script("document.getElementById('measurements').open = true");
    visit.look("node-suspected");
    visit.look_dark("node-suspected");
    visit.click("form[action$=rejudge] button");
    visit.wait_for("location.pathname.startsWith('/rejudge/')");
    visit.look("rejudging-suspects");
    visit.open("/queue");
    visit.look("queue-at-work");
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
