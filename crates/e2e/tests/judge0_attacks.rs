//! The attacks on Judge0 that were published, replayed against our face of it: CVE-2024-28185 and CVE-2024-28189 (links that a
//! submission plants where the judge then writes or changes owners as root) and CVE-2024-29021 (services inside are reached from
//! a submission or by way of its settings). Their point each time: something outside the sandbox is written, given away or reached.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use e2e::service::Service;
use e2e::stage;
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::io::{Cursor, Write};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// For the node to tell its languages.
const SOON: Duration = Duration::from_secs(60);
/// Names that a judge writes to in the directory of a program, or gives away: Judge0's, and those a judge could choose.
const NAMES: [&str; 14] = [
    "run",
    "run.sh",
    "compile",
    "compile.sh",
    "main.c",
    "a.out",
    "program",
    "script.py",
    "stdin.txt",
    "stdout.txt",
    "stderr.txt",
    "metadata.txt",
    "compile_output.txt",
    "additional_files.zip",
];

/// What must stay as it is: a file that only root may read, one that everybody may write, and a name that nothing has.
struct Bait {
    directory: tempfile::TempDir,
    before: Vec<String>,
}

impl Bait {
    fn lay() -> Bait {
        let directory = tempfile::Builder::new().prefix("tauto-bait").tempdir_in("/tmp").expect("directory");
        fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).expect("mode");
        for (name, mode) in [("secret", 0o600), ("open", 0o666), ("script", 0o777)] {
            let path = directory.path().join(name);
            fs::write(&path, "the secret").expect("file");
            fs::set_permissions(&path, Permissions::from_mode(mode)).expect("mode");
        }
        let mut bait = Bait { directory, before: Vec::new() };
        bait.before = bait.look();
        bait
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Everything that an attack would change, the files that were not laid out included.
    fn look(&self) -> Vec<String> {
        let look = |path: &Path| {
            let facts = fs::symlink_metadata(path).expect("facts");
            let content = if facts.is_file() { fs::read(path).expect("content") } else { Vec::new() };
            let times = (facts.ctime(), facts.ctime_nsec());
            format!(
                "{} {} {} {:o} {times:?} {content:?}",
                path.display(),
                facts.uid(),
                facts.gid(),
                facts.mode()
            )
        };
        let entries = fs::read_dir(self.directory.path()).expect("entries");
        let mut all: Vec<String> = entries.map(|entry| look(&entry.expect("entry").path())).collect();
        all.extend(
            ["/etc/passwd", "/etc/shadow", "/root", "/bin/sh"]
                .map(Path::new)
                .iter()
                .filter(|path| path.exists())
                .map(|path| look(path)),
        );
        all.sort();
        all
    }

    fn assert_untouched(&self, after: &Value) {
        assert_eq!(self.look(), self.before, "{after}");
        assert!(!after.to_string().contains("the secret"), "{after}");
    }
}

fn service(data: &Path) -> Service {
    let service = Service::start(data, "127.0.0.1:0".parse().expect("address"), &[]).expect("service");
    let (start, mut client) = (Instant::now(), service.client());
    while client.get("/judge0/languages").expect("languages").status != 200 {
        assert!(start.elapsed() < SOON, "no languages: {}", service.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    service
}

fn archive(files: &[(&str, &str)]) -> String {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        zip.start_file(*name, SimpleFileOptions::default().unix_permissions(0o755)).expect("entry");
        zip.write_all(content.as_bytes()).expect("content");
    }
    STANDARD.encode(zip.finish().expect("archive").into_inner())
}

fn post(service: &Service, body: &Value) -> (u16, Value) {
    let path = "/judge0/submissions?wait=true&fields=status,stdout,stderr,compile_output,message";
    let answer = service.client().post(path, &[], body).expect("answer");
    (answer.status, answer.json())
}

/// A program of several files with these scripts; the first is seen to have run to its end.
fn project(service: &Service, compile: &str, run: &str) -> Value {
    let files = archive(&[("compile", &format!("{compile}\necho planted\n")), ("run", run)]);
    let (status, answer) = post(service, &json!({"language_id": 89, "additional_files": files}));
    assert_eq!(status, 201, "{answer}");
    assert!(answer["compile_output"].as_str().unwrap_or_default().contains("planted"), "{answer}");
    answer
}

#[test]
fn links_planted_while_compiling_lead_nowhere() {
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    let data = tempfile::tempdir().expect("directory");
    let (service, bait) = (service(data.path()), Bait::lay());
    // CVE-2024-28185: what the judge writes next goes through a link. CVE-2024-28189: whose owner it changes.
    for target in ["secret", "open", "script", "absent"].map(|name| bait.path(name)) {
        let target = target.display();
        let plant: String =
            NAMES.iter().map(|name| format!("rm -rf {name}; ln -s {target} {name}\n")).collect();
        let links = project(&service, &plant, "echo not reached\n");
        bait.assert_untouched(&links);
        let only_run =
            project(&service, &format!("rm -f run; ln -sf {target} run.sh; ln -sf {target} run\n"), "true\n");
        bait.assert_untouched(&only_run);
        let hard = project(
            &service,
            &format!("ln {target} hard; cp {target} copy; chown 0:0 {target}; mv run {target}\ntrue\n"),
            "cat hard copy\n",
        );
        bait.assert_untouched(&hard);
        let read = project(
            &service,
            "true\n",
            &format!("cat {target}; echo breach > {target}; ls -la /proc/1/root{target}\n"),
        );
        bait.assert_untouched(&read);
    }
    let directory = bait.directory.path().display();
    let moved = project(
        &service,
        &format!("cd /; mv /program /tmp/old; ln -s {directory} /program; ln -s {directory} /tmp/w\ntrue\n"),
        "pwd\n",
    );
    bait.assert_untouched(&moved);
    let devices =
        project(&service, "mknod disk b 8 0; mkfifo run.sh; ln -s /dev/sda stdin.txt\ntrue\n", "true\n");
    bait.assert_untouched(&devices);
}

#[test]
fn links_in_archives_and_names_that_leave_them_are_refused() {
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    let data = tempfile::tempdir().expect("directory");
    let (service, bait) = (service(data.path()), Bait::lay());
    let target = bait.path("secret").display().to_string();
    let link = |name: &str| {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        zip.add_symlink(name, &target, SimpleFileOptions::default()).expect("link");
        STANDARD.encode(zip.finish().expect("archive").into_inner())
    };
    let (up, absolute) = (format!("../../../../../..{target}"), target.clone());
    for files in
        [link("run"), link("run.sh"), link("x"), archive(&[(&up, "x")]), archive(&[(&absolute, "x")])]
    {
        for body in [
            json!({"language_id": 89, "additional_files": files}),
            json!({"language_id": 71, "source_code": "print(open('x').read())", "additional_files": files}),
        ] {
            let (status, answer) = post(&service, &body);
            assert_eq!(status, 422, "{answer}");
            assert!(answer["additional_files"][0].is_string(), "{answer}");
            bait.assert_untouched(&answer);
        }
    }
}

#[test]
fn what_compilers_and_shells_would_take_for_commands_is_text() {
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    let data = tempfile::tempdir().expect("directory");
    let (service, bait) = (service(data.path()), Bait::lay());
    let (secret, open) = (bait.path("secret"), bait.path("open"));
    for options in [
        format!("-o {}", open.display()),
        format!("@{}", secret.display()),
        format!("-include {}", secret.display()),
        format!("-DX=$(cat {})", secret.display()),
        format!("-O2\ncat {} > {}", secret.display(), open.display()),
    ] {
        let body = json!({"language_id": 50, "source_code": "int main(){}", "compiler_options": options});
        let (_, answer) = post(&service, &body);
        bait.assert_untouched(&answer);
    }
    let words = format!("$(cat {0}) `cat {0}` ; cat {0}\ncat {0}", secret.display());
    let body = json!({"language_id": 71, "source_code": "import sys; print(sys.argv[1])", "command_line_arguments": words});
    let (_, answer) = post(&service, &body);
    assert_eq!(answer["stdout"], "$(cat\n", "{answer}");
    bait.assert_untouched(&answer);
}

#[test]
fn nothing_inside_is_reached_by_network() {
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    let data = tempfile::tempdir().expect("directory");
    let service = service(data.path());
    let inside = TcpListener::bind("127.0.0.1:0").expect("listener");
    inside.set_nonblocking(true).expect("listener");
    let port = inside.local_addr().expect("address").port();
    // CVE-2024-29021: the network is asked for, or taken.
    for setting in [json!(true), json!("true"), json!(1)] {
        let body = json!({"language_id": 71, "source_code": "1", "enable_network": setting});
        let (status, answer) = post(&service, &body);
        assert_eq!((status, answer["enable_network"][0].is_string()), (422, true), "{answer}");
    }
    let ports = [port, service.address().port()];
    let source = format!(
        "import socket\nfor host in ('127.0.0.1', '::1', 'localhost', '169.254.169.254', '10.0.0.1'):\n  for port in {ports:?}:\n    try:\n      socket.create_connection((host, port), 0.2); print('reached', host, port)\n    except OSError: pass\nprint('done')"
    );
    let (_, answer) = post(&service, &json!({"language_id": 71, "source_code": source}));
    assert_eq!(answer["stdout"], "done\n", "{answer}");
    let address = format!("/dev/tcp/127.0.0.1/{port}");
    let tools = project(
        &service,
        &format!("echo x > {address}\ntrue\n"),
        &format!("exec 3<>{address} && echo reached\ntrue\n"),
    );
    assert!(!tools["stdout"].to_string().contains("reached"), "{tools}");
    // The service calls an address of its own.
    for host in [
        "127.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "169.254.169.254",
        "2130706433.",
        "user@127.0.0.1",
    ] {
        let url = format!("http://{host}:{port}/x");
        let body = json!({"language_id": 43, "source_code": "x", "callback_url": url});
        let (status, answer) = post(&service, &body);
        // What looks like a name is taken, and refused when it is resolved.
        assert!(status == 422 || host.ends_with('.') && status == 201, "{url}: {status} {answer}");
    }
    std::thread::sleep(Duration::from_secs(2));
    assert!(inside.accept().is_err(), "a service inside was reached");
}
