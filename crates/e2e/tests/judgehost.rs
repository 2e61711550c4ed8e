//! `tauto judgehost` against a DOMjudge server written from its protocol, in each dialect: verdicts and reports, and nothing lost or told twice
//! whatever is killed. TAUTO_JUDGEHOST_SUBMISSIONS=500 makes the long form of the last.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use e2e::domserver::{Dialect, DomServer, Faults, Files, PASSWORD, Problem, Submission, USER, file};
use e2e::tauto;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Only reached by what hangs.
const PATIENCE: Duration = Duration::from_secs(120);

const GCC: &str = "#!/bin/sh\nDEST=\"$1\"; shift; shift\nexec gcc -O1 -o \"$DEST\" \"$@\" -lm\n";
const SHELL: &str = "#!/bin/sh\nDEST=\"$1\"; shift; shift\n{ echo '#!/bin/sh'; cat \"$1\"; } >\"$DEST\" && chmod +x \"$DEST\"\n";
const COMPARE: &str =
    "#!/bin/sh\nif cmp -s \"$2\" -; then exit 42; fi\necho 'it differs' >\"$3/judgemessage.txt\"\nexit 43\n";

const SUM: &str = "#include <stdio.h>\nint main(void) { long a, b; if (scanf(\"%ld %ld\", &a, &b) != 2) return 1; printf(\"%ld\\n\", a + b); return 0; }\n";

/// Compiler, name and text of a program, and its result.
const PROGRAMS: [(&str, &str, &str, &str); 10] = [
    (GCC, "sum.c", SUM, "correct"),
    (SHELL, "sum.sh", "read a b\necho $((a + b))\n", "correct"),
    (SHELL, "wrong.sh", "read a b\necho $((a - b))\n", "wrong-answer"),
    (GCC, "crash.c", "#include <stdlib.h>\nint main(void) { abort(); }\n", "run-error"),
    (SHELL, "code.sh", "read a b\necho $((a + b))\nexit 3\n", "run-error"),
    (SHELL, "silent.sh", "exit 0\n", "no-output"),
    (GCC, "none.c", "int main(void) { return nothing; }\n", "compiler-error"),
    (GCC, "slow.c", "int main(void) { for (;;) ; }\n", "timelimit"),
    (SHELL, "sleeper.sh", "sleep 20\n", "timelimit"),
    (GCC, "flood.c", "#include <stdio.h>\nint main(void) { for (;;) puts(\"flood\"); }\n", "output-limit"),
];

fn sums() -> Problem {
    let test = |(a, b): (i32, i32)| (format!("{a} {b}\n").into_bytes(), format!("{}\n", a + b).into_bytes());
    Problem {
        tests: [(1, 2), (30, 4), (-5, 1)].map(test).into(),
        time_limit: 0.5,
        output_limit: 64,
        memory_limit: 256 << 10,
        jury: file("run", COMPARE),
        interactive: false,
        passes: 1,
    }
}

fn submission(program: (&str, &str, &str, &str), problem: usize) -> Submission {
    let (compiler, name, text, _) = program;
    let sources = vec![(name.to_owned(), text.as_bytes().to_vec(), false)];
    Submission { problem, compiler: file("run", compiler), sources, entry: None }
}

/// A judgehost that is ended when it is dropped.
struct Host {
    child: Child,
}

impl Host {
    fn start(server: &DomServer, data: &Path, name: &str, more: &[&str]) -> Host {
        let password = data.join("password");
        fs::write(&password, format!("{PASSWORD}\n")).expect("a password file");
        let log = File::options().create(true).append(true).open(data.join("log")).expect("a log");
        let mut command = e2e::child::command(tauto::binary().expect("tauto"));
        command.env("TAUTO_DATA_DIR", data).env("RUST_LOG", "info");
        command.args(["judgehost", "--url", &server.url(), "--user", USER, "--password-file"]).arg(&password);
        command.args(["--name", name, "--slots", "none"]).args(more);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        Host { child: child.expect("the judgehost starts") }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn kill(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// Its only child: the process of its slot.
    fn worker(&self) -> Option<Pid> {
        let id = self.child.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
        Pid::from_raw(children.split_whitespace().next()?.parse().ok()?)
    }

    fn end(mut self) {
        kill_process(self.pid(), Signal::TERM).expect("it is there");
        let status = tauto::wait(&mut self.child, PATIENCE).expect("it ends");
        assert!(status.success(), "{status}");
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.kill();
    }
}

fn until(what: &str, patience: Duration, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < patience, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn log(data: &Path) -> String {
    let text = fs::read_to_string(data.join("log")).unwrap_or_default();
    text.lines().rev().take(40).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n")
}

/// Judges all there is.
fn once(server: &DomServer, more: &[&str]) -> tempfile::TempDir {
    let data = tempfile::tempdir().expect("a directory");
    let more: Vec<&str> = ["--once"].iter().chain(more).copied().collect();
    let mut host = Host::start(server, data.path(), "box", &more);
    let ended = tauto::wait(&mut host.child, PATIENCE).expect("it ends");
    assert!(ended.success(), "{ended}: {}", log(data.path()));
    assert_eq!(server.state().violations, [""; 0]);
    data
}

fn decoded(form: &BTreeMap<String, String>, key: &str) -> String {
    let bytes = STANDARD.decode(&form[key]).expect("base64");
    String::from_utf8_lossy(&bytes).into_owned()
}

fn in_each_dialect(body: impl Fn(Dialect)) {
    for dialect in [Dialect::V8, Dialect::V9, Dialect::Main] {
        body(dialect);
    }
}

#[test]
fn every_result_is_given_and_told_as_the_protocol_has_it() {
    in_each_dialect(|dialect| {
        let submissions = PROGRAMS.iter().map(|program| submission(*program, 0)).collect();
        let server = DomServer::start(dialect, vec![sums()], submissions, Faults::default()).unwrap();
        let data = once(&server, &[]);
        let state = server.state();
        assert_eq!(state.errors, [], "{}", log(data.path()));
        for (judging, (_, name, _, expected)) in state.judgings.iter().zip(PROGRAMS) {
            assert_eq!(judging.result.as_deref(), Some(expected), "{name}: {:?}", judging.runs.first());
            let compiled = &judging.compiled["box-0"];
            assert!(decoded(compiled, "output_compile").contains("Compiled by box-0"), "{compiled:?}");
        }
        let run = state.judgings[0].runs[1].as_ref().expect("a run");
        assert_eq!(decoded(run, "output_run"), "34\n");
        assert!(run["runtime"].parse::<f64>().is_ok_and(|time| time < 0.5), "{run:?}");
        let system = decoded(run, "output_system");
        assert!(
            system.starts_with("Correct!\nruntime: 0.") && system.contains("confidence clear"),
            "{system}"
        );
        let metadata = decoded(run, "metadata");
        for key in [
            "memory-bytes: ",
            "exitcode: 0\n",
            "time-used: cpu-time\n",
            "stdout-bytes: 3\n",
            "tauto-confidence: ",
        ] {
            assert!(metadata.contains(key), "{key}: {metadata}");
        }
        assert_eq!(run.contains_key("pass"), dialect == Dialect::Main);
        let wrong = state.judgings[2].runs[0].as_ref().expect("a run");
        assert!(decoded(wrong, "output_diff").starts_with("it differs"), "{wrong:?}");
        assert!(decoded(wrong, "compare_metadata").contains("exitcode: 43\n"));
        let slow = state.judgings[7].runs[0].as_ref().expect("a run");
        assert!(
            decoded(slow, "metadata").contains("time-result: hard-timelimit\n"),
            "{}",
            decoded(slow, "metadata")
        );
        // A judging that is decided is left.
        assert!(state.judgings[2].runs[1].is_none());
    });
}

/// The default compare and interactors are built of sources.
const GUESS: &str = "#include <stdio.h>\nint main(int c, char **v) { FILE *in = fopen(v[1], \"r\"); int secret, guess, n; if (!in || fscanf(in, \"%d\", &secret) != 1) return 1;\n\
    for (n = 0; n < 20 && scanf(\"%d\", &guess) == 1; n++) { puts(guess < secret ? \"more\" : guess > secret ? \"less\" : \"yes\"); fflush(stdout); if (guess == secret) return 42; }\n\
    return 43; }\n";
const BISECT: &str = "#include <stdio.h>\n#include <string.h>\nint main(void) { int a = 0, b = 1000; char s[9]; for (;;) { int m = (a + b) / 2; printf(\"%d\\n\", m); fflush(stdout);\n\
    if (scanf(\"%8s\", s) != 1 || !strcmp(s, \"yes\")) return 0; if (*s == 'm') a = m + 1; else b = m - 1; } }\n";
/// Passes the number on until it is 0.
const DOWN: &str = "#!/bin/sh\nread n\ncase $n in 0) exit 42;; [1-9]*) echo $n >\"$3/nextpass.in\"; exit 42;; *) exit 43;; esac\n";

#[test]
fn interactive_and_multi_pass_problems() {
    let source = |text: &str| vec![("jury.c".to_owned(), text.as_bytes().to_vec(), false)];
    let interactive = Problem {
        tests: vec![(b"777\n".to_vec(), Vec::new()), (b"3\n".to_vec(), Vec::new())],
        jury: source(GUESS),
        interactive: true,
        ..sums()
    };
    let passes =
        Problem { tests: vec![(b"3\n".to_vec(), Vec::new())], jury: file("run", DOWN), passes: 4, ..sums() };
    let too_many = Problem { passes: 2, ..passes.clone() };
    let c = |name: &'static str, text: &'static str| (GCC, name, text, "");
    let less = (SHELL, "less.sh", "read n\necho $((n - 1))\n", "");
    let submissions: Vec<Submission> = vec![
        submission(c("a.c", BISECT), 0),
        submission(
            c("b.c", "#include <stdio.h>\nint main(void) { for (;;) { puts(\"5\"); fflush(stdout); } }\n"),
            0,
        ),
        submission(c("c.c", "int main(void) { return 7; }\n"), 0),
        submission(less, 1),
        submission((SHELL, "x.sh", "echo no\n", ""), 1),
        submission(less, 2),
    ];
    for dialect in [Dialect::V9, Dialect::Main] {
        let problems = vec![interactive.clone(), passes.clone(), too_many.clone()];
        let server = DomServer::start(dialect, problems, submissions.clone(), Faults::default()).unwrap();
        let data = once(&server, &[]);
        let state = server.state();
        let results: Vec<Option<&str>> =
            state.judgings.iter().map(|judging| judging.result.as_deref()).collect();
        let expected = [
            Some("correct"),
            Some("wrong-answer"),
            Some("run-error"),
            Some("correct"),
            Some("wrong-answer"),
            None,
        ];
        assert_eq!(results, expected, "{}", log(data.path()));
        // Asking for too many passes is the compare script's doing.
        assert_eq!(state.errors.len(), 1, "{:?}", state.errors);
        assert_eq!(state.errors[0].0["kind"], "compare_script");
        let run = state.judgings[3].runs[0].as_ref().expect("a run");
        assert_eq!(run.get("pass").map(String::as_str), (dialect == Dialect::Main).then_some("3"));
    }
}

#[test]
fn what_fails_disables_the_least() {
    let jury = |text: &str| Problem { jury: file("run", text), ..sums() };
    let no_way: Files = vec![("readme.txt".into(), Vec::new(), false)];
    let cases: Vec<(Problem, Files, &str, &str)> = vec![
        (jury("#!/bin/sh\nexit 1\n"), file("run", SHELL), "compare_script", "code 1"),
        (Problem { jury: no_way, ..sums() }, file("run", SHELL), "compare_script", "neither"),
        (
            sums(),
            file("build", "#!/bin/sh\necho words of a compiler\nexit 1\n"),
            "compile_script",
            "does not build",
        ),
        (
            sums(),
            file("run", "#!/bin/sh\necho internal-error: broken\nexit 1\n"),
            "compile_script",
            "internal error",
        ),
    ];
    for (problem, compiler, kind, words) in cases {
        let submission = Submission { compiler, ..submission(PROGRAMS[1], 0) };
        let server =
            DomServer::start(Dialect::V9, vec![problem], vec![submission], Faults::default()).unwrap();
        let data = once(&server, &[]);
        let state = server.state();
        assert_eq!(state.errors.len(), 1, "{kind}: {:?}: {}", state.errors, log(data.path()));
        assert_eq!(state.errors[0].0["kind"], kind);
        assert!(state.errors[0].1.contains(words), "{:?}", state.errors);
        assert!(state.hosts["box-0"]);
    }
}

/// A run script of the site's own gets input, output and the program, and does with them what it likes.
#[test]
fn run_scripts_of_the_site_are_run() {
    let own = "#!/bin/sh\nTESTIN=\"$1\"; PROGOUT=\"$2\"; shift 2\nsed 's/^/1/' \"$TESTIN\" | \"$@\" >\"$PROGOUT\"\n";
    // What the program reads begins with another digit than what the test has.
    let problem = Problem { tests: vec![(b"1 2\n".to_vec(), b"13\n".to_vec())], ..sums() };
    let broken = (SHELL, "broken.sh", "kill -SEGV $$\n", "run-error");
    let programs = [PROGRAMS[0], PROGRAMS[2], PROGRAMS[7], broken];
    let submissions = programs.iter().map(|program| submission(*program, 0)).collect();
    let server = DomServer::start(Dialect::V9, vec![problem], submissions, Faults::default()).unwrap();
    server.state().run = Some(file("run", own));
    let data = once(&server, &[]);
    let state = server.state();
    assert_eq!(state.errors, [], "{}", log(data.path()));
    for (judging, (_, name, _, expected)) in state.judgings.iter().zip(programs) {
        assert_eq!(judging.result.as_deref(), Some(expected), "{name}: {:?}", judging.runs.first());
    }
    let run = state.judgings[0].runs[0].as_ref().expect("a run");
    assert_eq!(decoded(run, "output_run"), "13\n");
}

/// A tree with a shell, and a file by which a program knows it.
fn site_root() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a directory");
    for name in ["bin", "usr/share"] {
        fs::create_dir_all(root.path().join(name)).expect("a directory");
    }
    fs::copy("/bin/busybox", root.path().join("bin/busybox")).expect("the package busybox-static");
    for name in ["sh", "cat", "cmp", "chmod"] {
        std::os::unix::fs::symlink("busybox", root.path().join("bin").join(name)).expect("a link");
    }
    fs::write(root.path().join("usr/share/mark"), "").expect("a file");
    // Of tempfile's, only its owner may enter.
    fs::set_permissions(root.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    root
}

#[test]
fn a_chroot_of_the_site_is_what_scripts_and_programs_see() {
    let root = site_root();
    let text = "[ -e /usr/share/mark ] && [ ! -e /usr/bin ] || exit 0\nread a b\necho $((a + b))\n";
    let given = root.path().to_str().expect("UTF-8");
    for (more, result) in [(vec![], "no-output"), (vec!["--root", given], "correct")] {
        let all = vec![submission((SHELL, "mark.sh", text, ""), 0)];
        let server = DomServer::start(Dialect::V9, vec![sums()], all, Faults::default()).expect("a server");
        drop(once(&server, &more));
        assert_eq!(server.state().judgings[0].result.as_deref(), Some(result), "{more:?}");
    }
    for (wrong, why) in [("/nowhere", "No such file"), ("/proc/self/fd", "it has no directory usr")] {
        let mut command = e2e::child::command(tauto::binary().expect("tauto"));
        command.args(["judgehost", "--url", "http://127.0.0.1:9/api/v4", "--root", wrong]);
        command.env("JUDGEDAEMON_PASSWORD", PASSWORD);
        let ended = tauto::run(&mut command, false, PATIENCE).expect("it ends");
        assert_eq!(ended.code(), Ok(2), "{ended:?}");
        assert!(ended.stderr.contains(why) && ended.stderr.contains("hint:"), "{}", ended.stderr);
    }
}

/// Packs in plain text: a line for each file, with all of it.
const PACK: &str = "#!/bin/sh\ncd \"$1\" && find . -type f | sort | while read -r f; do printf '%s: ' \"$f\"; tr '\\n' ' ' <\"$f\"; echo; done >\"$2\"\n";

#[test]
fn prefetch_debug_and_versions() {
    let long = "i=0\nwhile [ $i -lt 400 ]; do echo \"line $i\"; i=$((i + 1)); done\n";
    let submissions = vec![submission((SHELL, "long.sh", long, ""), 0)];
    let server = DomServer::start(Dialect::V9, vec![sums()], submissions, Faults::default()).unwrap();
    {
        let mut state = server.state();
        state.settings.insert("output_storage_limit".into(), json!(100));
        state.version_commands =
            json!({ "compiler_version_command": "echo version 7", "runner_version_command": null });
        let mut task = state.task(0, 1, Dialect::V9);
        for (key, value) in [("type", json!("prefetch")), ("submitid", json!(null)), ("jobid", json!(null))] {
            task[key] = value;
        }
        state.extra = vec![task];
    }
    let data = once(&server, &[]);
    {
        let mut state = server.state();
        let run = state.judgings[0].runs[0].clone().expect("a run");
        let cut = decoded(&run, "output_run");
        assert!(
            cut.starts_with("line 0\n") && cut.ends_with("[output storage truncated after 100 B]\n"),
            "{cut}"
        );
        assert_eq!(decoded(&state.versions[0], "compiler"), "version 7\n");
        assert!(!state.versions[0].contains_key("runner"));
        let fetched = |what: &str| state.requests.iter().filter(|request| request.contains(what)).count();
        assert_eq!(fetched("get_files/testcase/1"), 1, "{:?}", state.requests);
        assert_eq!((fetched("get_files/compile"), fetched("get_files/compare")), (1, 1));
        // As the server makes them: tasks of their own, which name the judging, and a test or what packs.
        let of = state.task(0, 0, Dialect::V9);
        let mut debug = |id: u64, test: Option<&str>, pack: Option<&str>| {
            let pack = pack.map(|script| state.task_executable(&file("run", script)));
            let (script, hash) =
                pack.map_or((json!(null), json!(null)), |(id, hash)| (json!(id), json!(hash)));
            json!({
                "judgetaskid": id, "type": "debug_info", "jobid": of["jobid"], "uuid": of["uuid"],
                "submitid": of["submitid"], "testcase_id": test, "run_script_id": script,
                "run_config": json!({ "hash": hash }).to_string(),
            })
        };
        let test = of["testcase_id"].as_str().map(str::to_owned);
        let mut other = debug(904, None, Some(PACK));
        other["jobid"] = json!("77");
        let extra = vec![
            debug(900, test.as_deref(), None),
            debug(901, Some("4711"), None),
            debug(902, None, Some(PACK)),
            debug(903, None, Some("#!/bin/sh\necho full disk\nexit 1\n")),
            other,
        ];
        state.extra = extra;
    }
    let mut host = Host::start(&server, data.path(), "box", &["--once"]);
    assert!(tauto::wait(&mut host.child, PATIENCE).unwrap().success());
    let state = server.state();
    let text = |task: u64, key: &str| {
        let told = state.debug.get(&task).unwrap_or_else(|| panic!("{task}: {}", log(data.path())));
        decoded(told, key)
    };
    assert!(text(900, "output_run").ends_with("line 399\n"));
    assert!(text(901, "output_run").contains("no longer kept"));
    let listed = text(902, "full_debug");
    for (name, content) in [
        ("compile/long.sh", "while"),
        ("compile.out", "Compiled by"),
        ("program.out", "line 399"),
        ("program.meta", "exitcode: 0"),
        ("system.out", "runtime"),
        ("feedback/judgemessage.txt", ""),
    ] {
        let found = listed.lines().find(|line| line.contains(name));
        assert!(found.is_some_and(|line| line.contains(content)), "{name}: {listed}");
    }
    let script = text(903, "full_debug");
    assert!(script.contains("made no package") && script.contains("full disk"), "{script}");
    assert!(text(904, "full_debug").contains("no longer kept"));
    assert_eq!(state.errors, [], "no judging is taken back");
}

#[test]
fn wrong_credentials_and_addresses_are_said_at_once() {
    let server = DomServer::start(Dialect::V9, vec![], vec![], Faults::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    fs::write(data.path().join("wrong"), "wrong\n").unwrap();
    fs::write(data.path().join("secret"), format!("default {} {USER} wrong\n", server.url())).unwrap();
    let run = |words: &[&str]| {
        let mut command = e2e::child::command(tauto::binary().unwrap());
        command.env("TAUTO_DATA_DIR", data.path()).current_dir(data.path());
        command.args(["judgehost", "--once", "--slots", "none"]).args(words);
        tauto::run(&mut command, false, PATIENCE).unwrap()
    };
    let url = server.url();
    for (words, said) in [
        (&["--url", url.as_str(), "--password-file", "wrong"][..], "401"),
        (&["--secret-file", "secret"], "401"),
        (&["--url", "judge.example.org", "--password-file", "wrong"], "--url"),
        (&["--url", url.as_str()], "--password-file"),
        (&["--password-file", "wrong"], "--url"),
        (&["--url", url.as_str(), "--password-file", "absent"], "absent"),
        (&["--url", url.as_str(), "--password-file", "wrong", "--name", "a b"], "--name"),
    ] {
        let ended = run(words);
        assert!(ended.code() == Ok(2) && ended.stderr.contains(said), "{words:?}: {ended:?}");
    }
}

/// Whether the server has handed tasks to a host, and the host has not yet written them down. Nobody can know of them then.
fn is_between(state: &e2e::domserver::State, data: &Path, name: &str) -> bool {
    let journal = data.join(format!("judgehost/{name}-0/journal"));
    state.has_open_task(&format!("{name}-0")) && fs::metadata(journal).map_or(0, |facts| facts.len()) == 0
}

/// Kills hosts at random moments until every judging has ended, and holds that each did so once and rightly.
#[expect(clippy::print_stdout, reason = "what a run of the long form came to")]
fn chaos(dialect: Dialect, submissions: usize, faults: Faults, gives_back: bool) {
    let programs: Vec<_> = (0..submissions).map(|n| PROGRAMS[n % PROGRAMS.len()]).collect();
    let all = programs.iter().map(|program| submission(*program, 0)).collect();
    let server = DomServer::start(dialect, vec![sums()], all, faults).unwrap();
    server.state().gives_back = gives_back;
    let data = tempfile::tempdir().unwrap();
    let start = |name: &str| Host::start(&server, data.path(), name, &[]);
    let mut hosts = [("a", start("a")), ("b", start("b"))];
    let patience = PATIENCE / 2 + Duration::from_secs(2) * u32::try_from(submissions).unwrap();
    let begun = Instant::now();
    let (mut kills, mut next) = (0_usize, Duration::from_millis(1500));
    let mut reported = 0;
    let hung = |state: &e2e::domserver::State| {
        let open =
            state.judgings.iter().filter(|judging| judging.result.is_none() && judging.failed.is_none());
        let open: Vec<_> = open.take(3).collect();
        format!("a judging hangs: {open:?} {:?} {:?}: {}", state.errors, state.hosts, log(data.path()))
    };
    loop {
        if begun.elapsed() > patience {
            panic!("{}", hung(&server.state()));
        }
        std::thread::sleep(Duration::from_millis(20));
        // Only after something was reported: on a busy machine nothing would ever be done.
        let done = server.state().reports();
        if begun.elapsed() > next && done > reported {
            let (name, host) = &mut hosts[(kills + 1) % 2];
            // The server waits meanwhile.
            let state = server.state();
            if !gives_back && is_between(&state, data.path(), name) {
                continue;
            }
            kills += 1;
            reported = done;
            // Unequal gaps, so that every moment of a judging is met.
            next = begun.elapsed() + Duration::from_millis(900 + (kills as u64 * 377) % 1700);
            match (kills % 3, host.worker()) {
                (0, Some(worker)) => kill_process(worker, Signal::KILL).unwrap_or_default(),
                _ => {
                    host.kill();
                    drop(state);
                    *host = start(name);
                }
            }
        }
        if server.is_done() {
            break;
        }
    }
    let took = begun.elapsed();
    // One may have been started just now, without ears for a wish to end.
    drop(hosts);
    let state = server.state();
    assert_eq!(state.violations, [""; 0]);
    assert_eq!(state.errors, [], "{}", log(data.path()));
    for (judging, (_, name, _, expected)) in state.judgings.iter().zip(&programs) {
        assert_eq!(judging.result.as_deref(), Some(*expected), "{name}");
    }
    println!(
        "{dialect:?}: {submissions} submissions in {:.0} s, {} requests, {kills} kills, {} reports sent again as they were, by {:?}",
        took.as_secs_f64(),
        state.requests.len(),
        state.repeated,
        state.reporters(),
    );
}

fn submissions() -> usize {
    std::env::var("TAUTO_JUDGEHOST_SUBMISSIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(40)
}

const FAULTS: Faults =
    Faults { drop_before: 20, drop_after: 20, error_before: 20, error_after: 20, damaged: 5 };

#[test]
fn chaos_with_a_server_of_8_3() {
    chaos(Dialect::V8, submissions(), FAULTS, true);
}

#[test]
fn chaos_with_a_server_of_9_0() {
    chaos(Dialect::V9, submissions(), FAULTS, true);
}

#[test]
fn chaos_with_a_server_of_the_main_branch() {
    chaos(Dialect::Main, submissions(), FAULTS, true);
}

/// What a judgehost that was killed had in hand nobody else gets from DOMjudge's server (its issue 2461).
#[test]
fn nothing_hangs_where_the_server_gives_nothing_back() {
    let faults = Faults { drop_before: 20, error_before: 20, ..Faults::default() };
    chaos(Dialect::V9, 20, faults, false);
}

/// A wish to end lets what is in hand be finished.
#[test]
fn a_polite_end_leaves_nothing_in_hand() {
    let slow = (SHELL, "slow.sh", "read a b\nsleep 0.3\necho $((a + b))\n", "correct");
    let problem = Problem { time_limit: 5.0, ..sums() };
    let all = vec![submission(slow, 0), submission(slow, 0), submission(slow, 0)];
    let server = DomServer::start(Dialect::V9, vec![problem], all, Faults::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let host = Host::start(&server, data.path(), "box", &[]);
    until("nothing is reported", PATIENCE, || server.state().judgings[0].runs[0].is_some());
    host.end();
    let state = server.state();
    assert_eq!(state.judgings[0].result.as_deref(), Some("correct"));
    assert!(state.judgings[2].result.is_none(), "it ended only after all");
    let half = state.judgings.iter().any(|judging| {
        let runs = judging.runs.iter().flatten().count();
        runs > 0 && runs < judging.runs.len()
    });
    assert!(!half, "a judging was left");
}

/// A validator in C, which both ways compile and run for each test.
const SAME: &str = "#include <stdio.h>\nint main(int c, char **v) { FILE *answer = fopen(v[2], \"r\"); long a, b; return c > 2 && answer && fscanf(answer, \"%ld\", &a) == 1 && scanf(\"%ld\", &b) == 1 && a == b ? 42 : 43; }\n";

/// The protocol may not cost more than judging: a hundred tiny tests by it, and by `tauto judge`, each from its start to its end.
#[test]
#[expect(clippy::print_stdout, reason = "the figures are what it is about")]
fn tiny_tests_go_through_the_protocol_quickly() {
    let tests: Vec<(Vec<u8>, Vec<u8>)> =
        (0..100).map(|n| (format!("{n} 1\n").into_bytes(), format!("{}\n", n + 1).into_bytes())).collect();
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| {
        let path = place.path().join("tiny").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    write("problem.yaml", b"name: tiny\nvalidation: custom\nlimits:\n  time_limit: 1\n");
    write("output_validators/same/same.c", SAME.as_bytes());
    write("submissions/accepted/sum.c", SUM.as_bytes());
    for (n, (input, answer)) in tests.iter().enumerate() {
        write(&format!("data/secret/{n:03}.in"), input);
        write(&format!("data/secret/{n:03}.ans"), answer);
    }
    let problem = Problem { tests, jury: vec![("same.c".into(), SAME.into(), false)], ..sums() };
    let mut best = [Duration::MAX; 2];
    for _ in 0..3 {
        let begun = Instant::now();
        let mut command = e2e::child::command(tauto::binary().unwrap());
        command.env("TAUTO_DATA_DIR", place.path()).current_dir(place.path());
        command.args(["judge", "--slot", "none", "tiny", "tiny/submissions/accepted/sum.c"]);
        let ended = tauto::run(&mut command, false, PATIENCE).unwrap();
        assert_eq!(ended.code(), Ok(0), "{ended:?}");
        best[0] = best[0].min(begun.elapsed());
        let all = vec![submission(PROGRAMS[0], 0)];
        let server = DomServer::start(Dialect::V9, vec![problem.clone()], all, Faults::default()).unwrap();
        let begun = Instant::now();
        drop(once(&server, &["--batch", "25"]));
        best[1] = best[1].min(begun.elapsed());
        assert_eq!(server.state().judgings[0].result.as_deref(), Some("correct"));
    }
    let share = best[0].as_secs_f64() / best[1].as_secs_f64();
    println!(
        "100 tiny tests: tauto judge {:.2?}, tauto judgehost {:.2?}: {share:.2} of its rate",
        best[0], best[1]
    );
    // The aim is 0.6. What is held here is that nothing waits for seconds, also in an unoptimised binary beside other tests.
    assert!(share > 0.2, "{share:.2}");
}
