//! Judge0's and Piston's interfaces, as clients that others wrote use them.

use e2e::service::Service;
use e2e::{npm, python, stage};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// For the node to tell its languages, and for callbacks.
const SOON: Duration = Duration::from_secs(60);
/// Judge0's official client for Python, whose source distribution brings tests.
const CLIENT: (&str, &str, &str) =
    ("judge0", "0.0.8", "f438b42f6cb85405f9c1d93758c73d55c3bd57dd41010ff8d3e2cf1e1647c875");
/// Tests it has; all are to be run.
const TESTS: u64 = 102;
/// Examples in its README that ask nothing of others; all are to be run.
const EXAMPLES: u64 = 10;

fn scratch() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients")
}

/// A service that has told its languages.
fn service(data: &Path, options: &[&str]) -> Service {
    let service = Service::start(data, "127.0.0.1:0".parse().expect("address"), options).expect("service");
    let (start, mut client) = (Instant::now(), service.client());
    while client.get("/judge0/languages").expect("languages").status != 200 {
        assert!(start.elapsed() < SOON, "no languages: {}", service.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    service
}

fn below(service: &Service, path: &str) -> String {
    format!("http://{}{path}", service.address())
}

/// Hands a program in and waits for the result.
fn ran(service: &Service, body: &Value) -> Value {
    let path = "/judge0/submissions?wait=true&fields=status,stdout,stderr,compile_output,message,token";
    let answer = service.client().post(path, &[], body).expect("answer");
    assert_eq!(answer.status, 201, "{body}: {}", answer.json());
    answer.json()
}

#[test]
fn the_tests_of_judge0_s_own_client_pass_whole() {
    let _alone = stage::alone(&scratch().join("hostile")).expect("lock");
    let packages = ["judge0==0.0.8", "pytest==8.3.3", "python-dotenv==1.0.1"];
    let python = python::environment(&scratch(), "judge0", &packages).expect("environment");
    let (package, version, sha256) = CLIENT;
    let place = scratch().join("python/judge0");
    let client =
        python::source_distribution(&python, &place, package, version, sha256).expect("source distribution");
    let fixtures = client.join("tests/conftest.py");
    assert!(!fixtures.exists(), "the source distribution has a fixture file now: use that");
    fs::copy(clients().join("judge0_conftest.py"), &fixtures).expect("fixture file");

    let data = tempfile::tempdir().expect("directory");
    let service = service(data.path(), &[]);
    let results = place.join("results.xml");
    let mut tests = Command::new(&python);
    tests
        .args(["-m", "pytest", "-p", "no:cacheprovider", "--tb=line", "--junit-xml"])
        .arg(&results)
        .arg("tests");
    tests
        .current_dir(&client)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("JUDGE0_CE_ENDPOINT", below(&service, "/judge0"));
    tests
        .env("JUDGE0_CE_AUTH_HEADERS", "{}")
        .env("JUDGE0_EXTRA_CE_ENDPOINT", below(&service, "/judge0/extra"));
    tests.env("JUDGE0_EXTRA_CE_AUTH_HEADERS", "{}");
    let said = python::run(&mut tests).expect("the client's tests");
    let results = fs::read_to_string(&results).expect("results");
    let count = |name: &str| {
        let after = results.split_once(&format!(" {name}=\"")).expect(name).1;
        after.split('"').next().and_then(|number| number.parse::<u64>().ok()).expect(name)
    };
    let counts = ["tests", "failures", "errors", "skipped"].map(count);
    assert_eq!(counts, [TESTS, 0, 0, 0], "{said}");

    let mut readme = Command::new(&python);
    readme.arg(clients().join("judge0_readme.py")).arg(EXAMPLES.to_string());
    readme.env("JUDGE0_CE_ENDPOINT", below(&service, "/judge0")).env("JUDGE0_CE_AUTH_HEADERS", "{}");
    readme
        .env("JUDGE0_EXTRA_CE_ENDPOINT", below(&service, "/judge0/extra"))
        .env("JUDGE0_EXTRA_CE_AUTH_HEADERS", "{}");
    python::run(&mut readme).expect("the examples of the client's README");
}

#[test]
fn a_client_of_piston_is_served() {
    let _alone = stage::alone(&scratch().join("hostile")).expect("lock");
    let python = python::environment(&scratch(), "piston", &["ultra-piston==1.0.1"]).expect("environment");
    let data = tempfile::tempdir().expect("directory");
    let service = service(data.path(), &[]);
    // Where Piston itself has it, and where its public service had it.
    for place in ["/api/v2/", "/api/v2/piston/"] {
        let mut client = Command::new(&python);
        client.arg(clients().join("piston.py")).arg(below(&service, place));
        python::run(&mut client).expect("the client");
    }
    let client = npm::package(&scratch(), "piston-client", "1.0.2").expect("piston-client");
    let mut node = Command::new("node");
    node.arg(clients().join("piston.mjs")).arg(client.join("index.js")).arg(below(&service, ""));
    python::run(&mut node).expect("piston-client");
    let several = json!({"language": "python", "version": "3.x", "args": ["a b"], "files": [
        {"name": "main.py", "content": "import other, sys; print(other.x, sys.argv[1:], open('data', 'rb').read())"},
        {"name": "other.py", "content": "x = 7"},
        {"name": "data", "content": "00ff", "encoding": "hex"},
    ]});
    let answer = service.client().post("/api/v2/execute", &[], &several).expect("answer").json();
    assert_eq!(answer["run"]["stdout"], "7 ['a b'] b'\\x00\\xff'\n", "{answer}");
}

#[test]
fn programs_of_all_kinds_come_out_as_judge0_says() {
    let _alone = stage::alone(&scratch().join("hostile")).expect("lock");
    let data = tempfile::tempdir().expect("directory");
    let service = service(data.path(), &[]);
    let c = |source: &str| json!({"language_id": 50, "source_code": source});
    let python = |source: &str, more: Value| {
        let mut body = json!({"language_id": 71, "source_code": source});
        body.as_object_mut().expect("object").extend(more.as_object().cloned().expect("object"));
        body
    };
    for (body, status, field, says) in [
        (python("print(input())", json!({"stdin": "a\n", "expected_output": "a"})), 3, "stdout", "a\n"),
        (python("print(1)", json!({"expected_output": "2"})), 4, "stdout", "1\n"),
        (c("int main(){for(;;);}"), 5, "message", "time limit"),
        (python("import time; time.sleep(9)", json!({"wall_time_limit": 1})), 5, "message", "wall"),
        (c("int main(){"), 6, "compile_output", "error"),
        (c("int main(){return *(volatile int*)0;}"), 7, "message", "11"),
        (python("print('x' * 3000000)", json!({})), 8, "message", "output"),
        (c("int main(int n, char**v){volatile int z = n - 1; return n / z;}"), 9, "message", "8"),
        (c("#include <stdlib.h>\nint main(){abort();}"), 10, "message", "6"),
        (c("int main(){return 3;}"), 11, "message", "3"),
        (python("x = bytearray(400 << 20)\nprint(len(x))", json!({})), 12, "message", "memory"),
        (json!({"language_id": 43, "source_code": "just text"}), 3, "stdout", "just text"),
        (json!({"language_id": 44, "source_code": "no program"}), 11, "stderr", "cannot execute"),
        (
            json!({"language_id": 46, "source_code": "echo $1 >&2", "command_line_arguments": "'a b'"}),
            3,
            "stderr",
            "a b\n",
        ),
    ] {
        let mut body = body;
        // What the third one uses up.
        body["cpu_time_limit"] = json!(1);
        let answer = ran(&service, &body);
        assert_eq!(answer["status"]["id"], status, "{body}: {answer}");
        let said = answer[field].as_str().unwrap_or_default();
        assert!(said.contains(says), "{body}: {answer}");
    }
}

/// Answers PUT requests at an address, one after the other, and gives what they brought.
fn puts(listener: &TcpListener, patience: Duration) -> Option<String> {
    listener.set_nonblocking(true).expect("listener");
    let start = Instant::now();
    while start.elapsed() < patience {
        let Ok((mut stream, _)) = listener.accept() else {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        stream.set_nonblocking(false).expect("stream");
        stream.set_read_timeout(Some(SOON)).expect("stream");
        let (mut said, mut block) = (Vec::new(), [0; 4096]);
        while !said.ends_with(b"}}") {
            let count = stream.read(&mut block).expect("request");
            assert!(count > 0, "{}", String::from_utf8_lossy(&said));
            said.extend_from_slice(&block[..count]);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").expect("answer");
        return Some(String::from_utf8_lossy(&said).into_owned());
    }
    None
}

#[test]
fn callbacks_go_where_the_operator_lets_them_and_nowhere_else() {
    let _alone = stage::alone(&scratch().join("hostile")).expect("lock");
    let data = tempfile::tempdir().expect("directory");
    let service = service(data.path(), &["--callback-network", "127.0.0.2"]);
    let [open, closed] =
        ["127.0.0.2:0", "127.0.0.1:0"].map(|address| TcpListener::bind(address).expect("listener"));
    let url = |listener: &TcpListener, host: &str| {
        format!("http://{host}:{}/done", listener.local_addr().expect("address").port())
    };
    let hello = |url: &str| json!({"language_id": 43, "source_code": "hello", "callback_url": url});
    let told = ran(&service, &hello(&url(&open, "127.0.0.2")));
    let put = puts(&open, SOON).expect("no callback");
    let body: Value = serde_json::from_str(put.split_once("\r\n\r\n").expect("body").1).expect("JSON");
    assert!(put.starts_with("PUT /done HTTP/1.1\r\n"), "{put}");
    assert_eq!(
        (&body["token"], &body["stdout"], &body["status"]["id"]),
        (&told["token"], &json!("aGVsbG8="), &json!(3))
    );

    // An address that is closed is refused at once, however it is written.
    for host in
        ["127.0.0.1", "localhost", "127.1", "0x7f000001", "2130706433", "127.0.0.1.", "[::ffff:127.0.0.1]"]
    {
        let asked = hello(&url(&closed, host));
        let refused = service.client().post("/judge0/submissions", &[], &asked).expect("answer");
        assert_eq!(refused.status, 422, "{host}: {}", refused.json());
        assert!(refused.json()["callback_url"][0].as_str().is_some_and(|why| why.contains("is not public")));
    }
    assert_eq!(puts(&closed, Duration::from_millis(200)), None);
}
