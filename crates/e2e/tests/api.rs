//! The native API of a running service: what docs/api.md shows works, and nothing that is sent to it brings up a fault or an answer
//! that its document does not name.

use e2e::http::{Client, Response};
use e2e::package::zipped;
use e2e::service::{Service, submission};
use e2e::{python, stage};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// For a judgement, that of the first one included, which finds the time limit.
const JUDGED_WITHIN: Duration = Duration::from_secs(300);
/// The fuzzer, and the version of it that was tried.
const FUZZER: &str = "schemathesis==4.32.5";
/// Makes a client for Python from the document.
const GENERATOR: &str = "openapi-python-client==0.29.1";
/// Seconds it has.
const FUZZING: &str = "30";
/// What must hold of every answer. That a request of the right form is accepted is not among it: whether there is a problem of some name no
/// form can say.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
    response_schema_conformance,negative_data_rejection,unsupported_method,allow_header_conformance,use_after_free";

/// Right for `fence`.
const RIGHT: &str = include_str!("../../../examples/fence/submissions/accepted/tuples.py");

struct Api {
    client: Client,
    bearer: String,
}

impl Api {
    fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Response, String> {
        let headers = [headers, &[("authorization", self.bearer.as_str())]].concat();
        let path = format!("/api/v1{path}");
        self.client.ask(method, &path, &headers, body).map_err(|error| format!("{method} {path}: {error}"))
    }

    /// The document at a path.
    fn get(&mut self, path: &str) -> Result<Value, String> {
        let answer = self.send("GET", path, &[], b"")?;
        expect(path, answer, 200)
    }

    /// What is answered to a document.
    fn post(&mut self, path: &str, document: &Value, status: u16) -> Result<Value, String> {
        let json = [("content-type", "application/json")];
        let answer = self.send("POST", path, &json, document.to_string().as_bytes())?;
        expect(path, answer, status)
    }

    /// Asks again until what comes fits.
    fn wait(&mut self, path: &str, fits: impl Fn(&Value) -> bool) -> Result<Value, String> {
        let begun = Instant::now();
        loop {
            let found = self.get(path)?;
            if fits(&found) {
                return Ok(found);
            }
            if begun.elapsed() > JUDGED_WITHIN {
                return Err(format!("{path}: not within {JUDGED_WITHIN:?}: {found}"));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn expect(path: &str, answer: Response, status: u16) -> Result<Value, String> {
    match answer.status == status {
        true => Ok(answer.json()),
        false => Err(format!("{path}: {} in place of {status}: {}", answer.status, answer.text())),
    }
}

fn equal(what: &str, found: &Value, wanted: Value) -> Result<(), String> {
    if *found == wanted { Ok(()) } else { Err(format!("{what}: {found} in place of {wanted}")) }
}

/// Steps of a test at one service, in order.
type Step = (&'static str, fn(&mut Stand<'_>) -> Result<(), String>);

/// A service, and who asks it.
struct Stand<'a> {
    service: &'a Service,
    token: &'a str,
    scratch: &'a Path,
    api: Api,
}

fn at_a_service(steps: &[Step]) {
    let scratch = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let _alone = stage::alone(&scratch.join("hostile")).expect("lock");
    // Not in the clone, which may lie where the service's user may not go.
    let data = tempfile::tempdir().expect("a directory");
    let service = Service::start(data.path(), ([127, 0, 0, 1], 0).into(), &[]).expect("a service");
    let token = service.admin_token().expect("an admin");
    let api = Api { client: service.client(), bearer: format!("Bearer {token}") };
    let mut stand = Stand { service: &service, token: &token, scratch: &scratch, api };
    for (step, take) in steps {
        let done = take(&mut stand);
        let log = service.log();
        let troubles: Vec<_> = log.lines().filter(|line| line.contains("ERROR")).collect();
        done.unwrap_or_else(|why| panic!("{}\n{step}: {why}", troubles.join("\n")));
    }
}

#[test]
fn a_submission_is_judged_by_the_service() {
    at_a_service(&[("examples", |at| examples(&mut at.api)), ("judging", |at| judging(&mut at.api))]);
}

#[test]
fn the_service_does_what_its_document_says() {
    at_a_service(&[
        ("second opinions", |at| second_opinions(&mut at.api)),
        ("tests of its own", |at| with_tests(&mut at.api)),
        ("several processes", |at| several_processes(&mut at.api)),
        ("packages", |at| packages(&mut at.api)),
        ("a generated client", |at| generated(at.service, at.token, at.scratch)),
        ("fuzzing", |at| fuzzing(at.service, at.token, at.scratch)),
    ]);
}

fn examples(api: &mut Api) -> Result<(), String> {
    let problems = api.get("/problems")?;
    if problems["problems"].as_array().map_or(0, Vec::len) < 8 {
        return Err(format!("the examples are missing: {problems}"));
    }
    let fence = api.get("/problems/fence")?;
    equal("a sample", &fence["samples"][0], json!({"name": "sample/1", "input": "2\n", "answer": "8\n"}))?;
    let languages = api.wait("/languages", |all| all["languages"][0]["available"] == true)?;
    let known = languages["languages"].as_array().into_iter().flatten().any(|one| one["id"] == "python3");
    if known { Ok(()) } else { Err(format!("no Python: {languages}")) }
}

/// Hands in, listens, looks at what came of it, and judges again.
fn judging(api: &mut Api) -> Result<(), String> {
    let taken = api.post("/submissions", &submission("fence", "", "tuples.py", RIGHT, true), 201)?;
    let at = format!("/submissions/{}", taken["token"].as_str().unwrap_or_default());
    let events = api.send("GET", &format!("{at}/events"), &[], b"")?.text();
    for event in ["submission", "started", "test", "judged", "end"] {
        if !events.contains(&format!("event: {event}\n")) {
            return Err(format!("no event `{event}` in {events}"));
        }
    }
    equal("the verdict", &api.get(&at)?["judgement"]["verdict"], json!("AC"))?;
    let whole = api.get(&format!("{at}/judgement"))?;
    if !whole["tests"][0]["runs"][0]["evidence"].is_object() {
        return Err(format!("no evidence: {whole}"));
    }
    equal("the source", &api.get(&format!("{at}/files"))?["files"][0]["content"], json!(RIGHT))?;
    let trials = api.post(&format!("{at}/trials"), &json!({"times": 3}), 202)?;
    let url =
        trials["url"].as_str().and_then(|url| url.strip_prefix("/api/v1")).unwrap_or_default().to_string();
    let series = api.wait(&url, |series| series["waiting"] == 0)?;
    equal("the series", &series["verdicts"], json!([{"verdict": "AC", "count": 3}]))?;
    let asked = api.post(&format!("{at}/rejudge"), &json!({"reason": "a test"}), 202)?;
    let done =
        api.wait(&format!("/rejudgings/{}", asked["rejudging"]), |one| one["rejudging"]["judged"] == 1)?;
    equal("what changed", &done["changed"], json!(0))?;
    equal("the number of the verdict", &api.get(&at)?["judgement"]["number"], json!(5))
}

/// A program so near its limit that one run does not decide is judged by the reference clock too, in a contest that says so.
fn second_opinions(api: &mut Api) -> Result<(), String> {
    let contest = json!({"pool": "default", "strictness": "relaxed", "second_opinion": "grey"}).to_string();
    let json = [("content-type", "application/json")];
    let set = expect("set", api.send("PUT", "/contests/near", &json, contest.as_bytes())?, 200)?;
    equal("what the contest says", &set["second_opinion"], json!("grey"))?;
    let limits = "/problems/fence/time-limits";
    api.post(limits, &json!({"pool": "default"}), 202)?;
    let of = |all: &Value, what: &str| {
        let all = all[what].as_array().cloned().unwrap_or_default();
        all.into_iter().find(|one| one["pool"] == "default").unwrap_or_default()
    };
    let over = |one: &Value| one["state"] == "done" || one["state"] == "failed";
    let found =
        api.wait(limits, |all| over(&of(all, "time_limits")) && over(&of(all, "reference_scales")))?;
    let scales = of(&found, "reference_scales");
    let limit = of(&found, "time_limits")["limit"]["limit_ns"].as_u64().unwrap_or_default();
    // Uses up most of its limit at the first sample, by the very clock it is judged by.
    let source = format!(
        "import builtins, time\ntext = builtins.input()\ninput = lambda: text\n\
         while text == '2' and time.process_time() < {}:\n    pass\n{RIGHT}",
        limit as f64 / 1e9 * 0.93
    );
    let mut document = submission("fence", "python3", "near.py", &source, true);
    document["contest"] = json!("near");
    let taken = api.post("/submissions", &document, 201)?;
    let at = format!("/submissions/{}", taken["token"].as_str().unwrap_or_default());
    api.wait(&at, |submission| !submission["judgement"].is_null())?;
    let judged = api.get(&format!("{at}/judgement"))?;
    let test = &judged["tests"][0];
    equal("the verdict", &test["verdict"], json!("AC"))?;
    if scales["state"] == "failed" {
        // No emulator here: it stays as the settle rule left it.
        let told = scales["fault"].as_str().is_some_and(|fault| fault.contains("qemu"));
        return match told && test["second_opinion"].is_null() && test["confidence"] != "confirmed" {
            true => Ok(()),
            false => Err(format!("{scales}: {test}")),
        };
    }
    let scale =
        scales["scales"]["scales"].as_array().into_iter().flatten().find(|one| one["language"] == "python3");
    let of_scale = |field: &str| scale.and_then(|scale| scale[field].as_u64()).unwrap_or_default();
    let opinion = &test["second_opinion"];
    let expected =
        u128::from(limit) * u128::from(of_scale("reference_ns")) / u128::from(of_scale("cpu_ns").max(1));
    let allowed = judged["time_limit_ns"].as_u64().unwrap_or(limit) as f64 / limit as f64;
    let told = opinion["limit_ns"].as_f64().unwrap_or_default();
    if (told / (expected as f64 * allowed) - 1.0).abs() > 1e-6 || opinion["passes"] != true {
        return Err(format!("{scales}, limit {limit}: {test}"));
    }
    equal("the confidence", &test["confidence"], json!("confirmed"))
}

/// Hands in a program with tests of its own, by tokens, by tolerance and by a checker.
fn with_tests(api: &mut Api) -> Result<(), String> {
    let run = |judged: &str, value: Value, tests: Value| {
        let source = "n = float(input())\nassert n < 100\nprint(n * 2 + 0.001)\n";
        let mut run = json!({"files": [{"name": "a.py", "content": source}], "tests": tests, "limits": {"time_ns": 5_000_000_000_u64}});
        if !judged.is_empty() {
            run[judged] = value;
        }
        run
    };
    let tests = json!([{"input": "1\n", "answer": "2\n"}, {"input": "100\n", "answer": "200\n"}]);
    let checker = "import sys\nn = float(open(sys.argv[1]).read())\nright = abs(float(sys.stdin.read()) - 2 * n) < 0.1\nsys.exit(42 if right else 43)\n";
    let checker = json!([{"name": "check.py", "content": checker}]);
    for (judged, value, first) in
        [("", Value::Null, "WA"), ("tolerance", json!(0.01), "AC"), ("checker", checker, "AC")]
    {
        let taken = api.post("/submissions", &run(judged, value, tests.clone()), 201)?;
        let at = format!("/submissions/{}", taken["token"].as_str().unwrap_or_default());
        api.wait(&at, |one| one["state"] == "judged")?;
        let whole = api.get(&format!("{at}/judgement"))?;
        let verdicts: Vec<&Value> =
            whole["tests"].as_array().into_iter().flatten().map(|test| &test["verdict"]).collect();
        equal(&format!("verdicts with `{judged}`"), &json!(verdicts), json!([first, "RTE"]))?;
        equal("the limit", &whole["time_limit_ns"], json!(5_000_000_000_u64))?;
        let files = api.get(&format!("{at}/files"))?;
        equal("the files", &json!(files["files"].as_array().map(Vec::len)), json!(1))?;
    }
    // It is no submission.
    let listed = api.get("/submissions")?;
    let runs = listed["submissions"].as_array().into_iter().flatten().filter(|one| one["origin"] == "run");
    equal("runs among submissions", &json!(runs.count()), json!(0))
}

/// Sends a package as a new problem and verifies it.
/// A submission that runs as two processes, which talk to a manager.
fn several_processes(api: &mut Api) -> Result<(), String> {
    let of_relay = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("packages/formats/cms-relay").join(name);
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let names = [
        "task.yaml",
        "check/manager.py",
        "input/input0.txt",
        "input/input1.txt",
        "output/output0.txt",
        "output/output1.txt",
    ];
    let texts = names.map(&of_relay).into_iter().collect::<Result<Vec<_>, _>>()?;
    let files: Vec<(&str, &str)> = names.into_iter().zip(texts.iter().map(String::as_str)).collect();
    let zip = [("content-type", "application/zip")];
    expect("add", api.send("POST", "/problems?name=relay", &zip, &zipped(&files)?)?, 201)?;
    for (program, verdict) in [("sol/solution.py", "AC"), ("sol/alone.py", "WA")] {
        let taken =
            api.post("/submissions", &submission("relay", "", "a.py", &of_relay(program)?, true), 201)?;
        let at = format!("/submissions/{}", taken["token"].as_str().unwrap_or_default());
        let judged = api.wait(&at, |one| one["state"] == "judged")?;
        equal(program, &judged["judgement"]["verdict"], json!(verdict))
            .map_err(|why| format!("{why}: {judged}"))?;
    }
    Ok(())
}

fn packages(api: &mut Api) -> Result<(), String> {
    let package = api.send("GET", "/problems/garland/package", &[], b"")?.body;
    let zip = [("content-type", "application/zip")];
    let added = expect("add", api.send("POST", "/problems?name=other", &zip, &package)?, 201)?;
    equal("the version", &added["version"], json!(1))?;
    expect("add again", api.send("POST", "/problems?name=other", &zip, &package)?, 200)?;
    expect("verify", api.send("POST", "/problems/other/verify", &[], b"")?, 202)?;
    let verified = api.wait("/problems/other/verification", |standing| !standing["ok"].is_null())?;
    equal("the verification", &verified["ok"], json!(true)).map_err(|why| format!("{why}: {verified}"))
}

/// A client is made from the document that is served, and reads with it what the service has.
fn generated(service: &Service, token: &str, scratch: &Path) -> Result<(), String> {
    let python = python::environment(scratch, "generated", &[GENERATOR])?;
    let base = format!("http://{}", service.address());
    let place = tempfile::tempdir_in(scratch).map_err(|error| error.to_string())?;
    let mut generator = Command::new(python.with_file_name("openapi-python-client"));
    generator.args([
        "generate",
        "--meta",
        "none",
        "--url",
        &format!("{base}/api/v1/openapi.json"),
        "--output-path",
    ]);
    python::run(generator.arg(place.path().join("client")))?;
    let user = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/native.py");
    python::run(Command::new(&python).arg(user).arg(format!("{base}/api/v1")).arg(place.path()).arg(token))?;
    Ok(())
}

fn fuzzing(service: &Service, token: &str, scratch: &Path) -> Result<(), String> {
    let python = python::environment(scratch, "schemathesis", &[FUZZER])?;
    let mut command = Command::new(python.with_file_name("schemathesis"));
    command.args(["run", &format!("http://{}/api/v1/openapi.json", service.address())]);
    command.args([
        "-H",
        &format!("Authorization: Bearer {token}"),
        "--max-time",
        FUZZING,
        "--checks",
        CHECKS,
    ]);
    // What it would watch may go on for ever; passwords and tokens are another test's, which it would take from this one.
    command.args(["--exclude-path", "/submissions/{token}/events"]);
    command.args(["--exclude-path-regex", "^/(me|users|tokens|session)"]);
    // The same requests each time, as far as they depend on chance: what one change breaks is not to show at another.
    let seed = std::env::var("TAUTO_FUZZ_SEED").unwrap_or_else(|_| "7".into());
    command.args(["--seed", &seed]);
    command.args(["--continue-on-failure", "--no-color"]).current_dir(scratch);
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let failures = said.find("= FAILURES =").or(said.find("= ERRORS =")).unwrap_or_default();
    if output.status.success() { Ok(()) } else { Err(format!("{}: {}", output.status, &said[failures..])) }
}
