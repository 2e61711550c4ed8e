//! `tauto judge` and `tauto verify`: the example packages, every verdict, bad input, and faults that are no verdict.

use e2e::leftovers::{self, Snapshot};
use e2e::package::{self, DOUBLE, RIGHT};
use e2e::stage::{self, Pass, Stage, Workspace};
use e2e::tauto;
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// All examples, with all their languages, on a busy machine.
const EXAMPLES_PATIENCE: Duration = Duration::from_secs(1200);
const GONE_WITHIN: Duration = Duration::from_secs(5);

fn judge(place: &Workspace<'_>, file: &str, text: &str) -> Result<(i32, Value), String> {
    judge_in(place, file, text, "auto")
}

fn judge_in(place: &Workspace<'_>, file: &str, text: &str, slot: &str) -> Result<(i32, Value), String> {
    package::write(&place.path(""), &[(file, text)])?;
    let ended = place.run(&["judge", "double", file, "--json", "--all-tests", "--slot", slot])?;
    Ok((ended.code()?, ended.document().map_err(|error| format!("{file}: {error}"))?))
}

/// Checks all cases, each with the `--slot` to judge it with: one after another in a slot, as users judge. Those that are `slow`, most of which
/// wait until their time is up, run without a slot beside them.
///
/// # Errors
/// All checks that failed, a line each.
fn each<T: Sync>(
    cases: &[T],
    slow: impl Fn(&T) -> bool,
    check: impl Fn(&T, &str) -> Result<(), String> + Sync,
) -> Result<(), String> {
    let (slow, others): (Vec<&T>, Vec<&T>) = cases.iter().partition(|case| slow(case));
    let failed: Vec<String> = std::thread::scope(|scope| {
        let beside: Vec<_> = slow.into_iter().map(|case| scope.spawn(|| check(case, "none").err())).collect();
        let failed: Vec<_> = others.into_iter().map(|case| check(case, "auto").err()).collect();
        let beside = beside.into_iter().map(|one| one.join().expect("no check panics"));
        failed.into_iter().chain(beside).flatten().collect()
    });
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
}

#[test]
fn example_packages_are_judged_as_they_promise() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut packages: Vec<PathBuf> = fs::read_dir(&examples)
        .expect("examples/")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join("problem.yaml").is_file())
        .collect();
    packages.sort();
    assert!(packages.len() >= 6, "{} example packages", packages.len());
    let _alone = stage::alone(&e2e::scratch!()).expect("the lock of the suite");
    leftovers::adopt_orphans().expect("a subreaper");
    let stage = Stage::new(Pass::possible()[0]).expect("a stage");
    let place = stage.place("examples").expect("a place");
    let before = Snapshot::take();
    let all_but_one = |package: &PathBuf| *package != packages[0];
    let kept = each(&packages, all_but_one, |package, slot| keeps_promises(&place, package, slot));
    kept.unwrap_or_else(|why| panic!("{why}"));
    before.wait_until_clean(GONE_WITHIN, || place.temporaries()).expect("nothing stays behind");
}

/// Package, submission and verdict, in languages that every machine with a compiler and Python has.
const THREE_EXAMPLES: [(&str, &str, &str); 8] = [
    ("garland", "accepted/newton.c", "AC"),
    ("garland", "wrong_answer/parabola.py", "WA"),
    ("pebbles", "accepted/bits.cpp", "AC"),
    ("pebbles", "accepted/quarters.py", "AC"),
    ("pebbles", "time_limit_exceeded/counts_up.cpp", "TLE"),
    ("purr", "accepted/halves.cpp", "AC"),
    ("purr", "wrong_answer/garbage.py", "WA"),
    ("purr", "time_limit_exceeded/does_not_flush.c", "TLE"),
];

#[test]
fn three_examples_are_judged_in_c_cpp_and_python() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let _alone = stage::alone(&e2e::scratch!()).expect("the lock of the suite");
    leftovers::adopt_orphans().expect("a subreaper");
    let stage = Stage::new(Pass::possible()[0]).expect("a stage");
    let place = stage.place("three_examples").expect("a place");
    let judged = each(
        &THREE_EXAMPLES,
        |(.., verdict)| *verdict == "TLE",
        |(package, submission, verdict), slot| {
            let package = examples.join(package);
            let submission = package.join("submissions").join(submission);
            let [package, submission] =
                [&package, &submission].map(|path| path.to_str().expect("a plain path"));
            let ended = place.run(&["judge", package, submission, "--json", "--slot", slot])?;
            let document = ended.document()?;
            if document["verdict"] == *verdict { Ok(()) } else { Err(format!("{submission}: {document:#}")) }
        },
    );
    judged.unwrap_or_else(|why| panic!("{why}"));
}

/// `tauto verify` finds nothing to complain of.
fn keeps_promises(place: &Workspace<'_>, package: &Path, slot: &str) -> Result<(), String> {
    let mut command = place.tauto();
    // Toolchains may lie below the caller's home and on the caller's path.
    for name in ["PATH", "HOME"] {
        command.env(name, std::env::var_os(name).unwrap_or_default());
    }
    let ended = tauto::run(
        command.arg("verify").arg(package).args(["--json", "--slot", slot]),
        false,
        EXAMPLES_PATIENCE,
    )?;
    let document = ended.document()?;
    let found = &document["packages"][0];
    let submissions = found["submissions"].as_array().map_or(&[][..], Vec::as_slice);
    let judged = submissions.iter().filter(|submission| submission["ok"] == true).count();
    let good = ended.code()? == 0 && document["mismatches"] == 0 && found["ok"] == true && judged > 0;
    if good { Ok(()) } else { Err(format!("{}: {document:#}", package.display())) }
}

#[test]
fn every_verdict_is_given() {
    let touched = ARRAY.replace("a[n] = 1", "memset((char *)a, 1, sizeof a)");
    let cases = [
        ("right.c", RIGHT, "AC"),
        ("wrong.c", "#include <stdio.h>\nint main(void) { return puts(\"7\") < 0; }\n", "WA"),
        ("silent.c", "int main(void) { return 0; }\n", "WA"),
        ("slow.c", "int main(void) { for (;;) __asm__ volatile(\"\"); }\n", "TLE"),
        ("asleep.c", "#include <unistd.h>\nint main(void) { for (;;) pause(); }\n", "TLE"),
        ("exits.c", "int main(void) { return 1; }\n", "RTE"),
        ("crashes.c", "#include <stdlib.h>\nint main(void) { abort(); }\n", "RTE"),
        (
            "hoards.c",
            "#include <stdlib.h>\n#include <string.h>\nint main(void) { for (;;) { char *p = malloc(1 << 20); \
             if (!p) return 1; memset(p, 1, 1 << 20); } }\n",
            "MLE",
        ),
        (
            "floods.c",
            "#include <stdio.h>\nint main(void) { for (;;) puts(\"42 42 42 42 42 42 42 42 42\"); }\n",
            "OLE",
        ),
        ("unclosed.c", "int main(void) {\n", "CE"),
        ("endless_include.c", "#include \"/dev/zero\"\nint main(void) { return 0; }\n", "CE"),
        ("own_include.c", "#include __FILE__\n", "CE"),
        ("huge_array.c", "char a[1L << 34] = {1};\nint main(void) { return a[5]; }\n", "CE"),
        ("binary.c", "\u{7f}ELF\0\0", "CE"),
        ("binary.py", "\u{7f}ELF\0\0", "CE"),
        // What is not touched is no memory: eight times the limit.
        ("untouched.c", ARRAY, "AC"),
        ("touched.c", &touched, "MLE"),
    ];
    stage::for_each_user(&e2e::scratch!(), "verdicts", |place| {
        package::write(&place.path("double"), &DOUBLE)?;
        each(
            &cases,
            |(.., verdict)| *verdict == "TLE",
            |(file, text, verdict), slot| {
                let (code, document) = judge_in(place, file, text, slot)?;
                // Without a cgroup a refused allocation is the program's own failure.
                let bare = *verdict == "MLE" && !place.has_memory_group() && document["verdict"] == "RTE";
                if document["verdict"] != *verdict && !bare {
                    return Err(format!("{file}: wanted {verdict}: {document:#}"));
                }
                if ![0, 1].contains(&code) {
                    return Err(format!("{file}: exit code {code} beside a verdict"));
                }
                Ok(())
            },
        )
    });
}

/// A static array of 512 MiB.
const ARRAY: &str = "#include <stdio.h>\n#include <string.h>\nstatic volatile char a[512L << 20];\n\
    int main(void) { int n; if (scanf(\"%d\", &n) != 1) return 1; a[n] = 1; return printf(\"%d\\n\", 2 * n * a[n]) < 0; }\n";

#[test]
fn what_is_not_compiled_says_why() {
    let class = "A".repeat(251);
    let java = format!("public class {class} {{ public static void main(String[] a) {{ }} }}\n");
    let values = ARRAY.replace("20]", "20] = {1}");
    let cases = [
        ("binary.c", "int main(void) { }\0", "`binary.c` is binary, not source text"),
        ("long.java", &java, "a file name of 256 bytes, more than 255\nhint: shorten its class's name"),
        (
            "values.c",
            &values,
            "is larger than 256 MiB, which compilations may write\nhint: arrays with initial values",
        ),
        ("no-start.asm", "section .text\nglobal main\nmain: ret\n", "required symbol `_start' not defined"),
    ];
    stage::for_each_user(&e2e::scratch!(), "no-program", |place| {
        package::write(&place.path("double"), &DOUBLE)?;
        for (file, text, why) in cases {
            let (code, document) = judge(place, file, text)?;
            let output = document["compile"]["output"].as_str().unwrap_or_default();
            if (code, document["verdict"].as_str()) != (0, Some("CE")) || !output.contains(why) {
                return Err(format!("{file}: exit code {code}: {document:#}"));
            }
        }
        Ok(())
    });
}

/// Tests that are links into other groups, as packages of olympiads have them, while files are renamed beside. Judgements:
/// `TAUTO_LINK_JUDGEMENTS` (2), each of 120 links.
#[test]
fn renames_on_the_machine_do_not_disturb_tests_that_are_links() {
    let judgements: u32 =
        std::env::var("TAUTO_LINK_JUDGEMENTS").map_or(2, |n| n.parse().expect("a number of judgements"));
    stage::for_each_user(&e2e::scratch!(), "links", |place| {
        package::write(&place.path("double"), &DOUBLE)?;
        let at = |name: &str| place.path("double").join(name);
        for group in ["1", "2"] {
            let directory = at("data/secret").join(group);
            fs::create_dir_all(&directory).map_err(|e| e.to_string())?;
            for (n, extension) in (0..30).flat_map(|n| [(n, "in"), (n, "ans")]) {
                let link = directory.join(format!("{n:02}.{extension}"));
                symlink(format!("../../../data/./secret/{}.{extension}", n % 2 + 1), &link)
                    .map_err(|e| e.to_string())?;
            }
        }
        let (one, two) = (place.path("one"), place.path("two"));
        fs::write(&one, "").map_err(|e| e.to_string())?;
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let _ = fs::rename(&one, &two).and_then(|()| fs::rename(&two, &one));
                }
            });
            let failed = (0..judgements).find_map(|n| {
                let ended = place.run(&["judge", "double", "double/submissions/accepted/right.c", "--json"]);
                let judged = ended.and_then(|ended| Ok((ended.code()?, ended.document()?)));
                match judged {
                    Ok((0, document)) if document["tests"].as_array().is_some_and(|t| t.len() == 63) => None,
                    other => Some(format!("judgement {n}: {other:?}")),
                }
            });
            over.store(true, Ordering::Relaxed);
            failed.map_or(Ok(()), Err)
        })
    });
}

/// A program in every language, and one that goes to the bounds that runtimes have of their own (docs/languages.md, "What is
/// set, and why").
#[test]
fn no_runtime_stands_in_the_way_of_a_right_program() {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("packages");
    let _alone = stage::alone(&e2e::scratch!()).expect("the lock of the suite");
    let stage = Stage::new(Pass::possible()[0]).expect("a stage");
    let place = stage.place("runtimes").expect("a place");
    for package in ["everylanguage", "runtimes"] {
        keeps_promises(&place, &packages.join(package), "auto").expect(package);
    }
}

/// Leaves all it can in one test and looks for it in the next; right answers if it finds nothing.
const SPY: &str = r#"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
int main(void) {
    const char *paths[] = {"/tmp/spy", "/dev/shm/spy", "/var/tmp/spy", "spy", "/dev/mqueue/spy"};
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0spy"};
    int n, found = 0, socket_fd = socket(AF_UNIX, SOCK_STREAM, 0);
    for (int i = 0; i < 5; i++) {
        found |= access(paths[i], F_OK) == 0;
        int fd = open(paths[i], O_WRONLY | O_CREAT, 0666);
        if (fd > 2) close(fd);
    }
    found |= shmget(4711, 0, 0) >= 0 || semget(4711, 0, 0) >= 0 || msgget(4711, 0) >= 0;
    shmget(4711, 4096, IPC_CREAT | 0666);
    semget(4711, 1, IPC_CREAT | 0666);
    msgget(4711, IPC_CREAT | 0666);
    found |= connect(socket_fd, (struct sockaddr *)&name, sizeof name.sun_family + 4) == 0;
    if (fork() == 0) {
        setsid();
        for (int s = 1; s < 65; s++) signal(s, SIG_IGN);
        int server = socket(AF_UNIX, SOCK_STREAM, 0);
        bind(server, (struct sockaddr *)&name, sizeof name.sun_family + 4);
        listen(server, 5);
        for (;;) pause();
    }
    usleep(50000);
    if (scanf("%d", &n) != 1) return 2;
    if (found) return 66;
    printf("%d\n", 2 * n);
    return 0;
}
"#;

#[test]
fn one_test_leaves_nothing_for_the_next() {
    stage::for_each_user(&e2e::scratch!(), "spy", |place| {
        package::write(&place.path("double"), &DOUBLE)?;
        let (_, document) = judge(place, "spy.c", SPY)?;
        if document["verdict"] == "AC" { Ok(()) } else { Err(format!("{document:#}")) }
    });
}

const CRASHING_VALIDATORS: [(&str, &str); 5] = [
    ("exits with 0", "#!/usr/bin/python3\n"),
    ("exits with 1", "#!/usr/bin/python3\nraise SystemExit(1)\n"),
    ("raises", "#!/usr/bin/python3\nraise ValueError('no')\n"),
    ("is killed", "#!/usr/bin/python3\nimport os\nos.kill(os.getpid(), 11)\n"),
    ("does not parse", "#!/usr/bin/python3\ndef (\n"),
];

#[test]
fn a_validator_that_fails_is_no_verdict() {
    stage::for_each_user(&e2e::scratch!(), "validators", |place| {
        for (what, text) in CRASHING_VALIDATORS {
            package::write(&place.path("double"), &DOUBLE)?;
            package::write(&place.path("double"), &[("output_validator/validate.py", text)])?;
            let (code, document) = judge(place, "right.c", RIGHT)?;
            if code != 3 || document["verdict"] != "JE" {
                return Err(format!("a validator that {what}: exit code {code}: {document:#}"));
            }
        }
        Ok(())
    });
}

/// Makes an archive with Python's zipfile; `body` has it as `z`.
fn archive(place: &Workspace<'_>, name: &str, body: &str) -> Result<(), String> {
    let script = format!(
        "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED, compresslevel=1)\n{body}\nz.close()\n"
    );
    let output = Command::new("python3").arg("-c").arg(script).arg(place.path(name)).output();
    let output = output.map_err(|error| format!("python3: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

const ZIPPED: &str = "z.writestr('p/problem.yaml', 'problem_format_version: 2025-09\\nname: P\\nuuid: 5e6f3c2a-1d7b-4c0e-9a52-0b7c5d3e1f42\\nlicense: cc0\\nlimits:\\n  time_limit: 1\\n')
z.writestr('p/data/secret/1.in', '1')
z.writestr('p/data/secret/1.ans', '2')
";

/// Bodies of archives that must be refused, with the name that the message must tell.
const BAD_ARCHIVES: [(&str, &str, &str); 4] = [
    ("upwards.zip", "z.writestr('p/../../escaped.in', 'x')", "escaped.in"),
    ("absolute.zip", "z.writestr('/tmp/escaped.in', 'x')", "escaped.in"),
    (
        "symlink.zip",
        "i = zipfile.ZipInfo('p/data/secret/2.in')\ni.create_system = 3\ni.external_attr = 0o120777 << 16\nz.writestr(i, '/etc/shadow')",
        "2.in",
    ),
    (
        "bomb.zip",
        "with z.open('p/data/secret/2.in', 'w', force_zip64=True) as f:\n    for _ in range(800): f.write(bytes(1 << 20))",
        "bomb.zip",
    ),
];

fn lay_out_bad_input(place: &Workspace<'_>) -> Result<(), String> {
    package::write(&place.path("double"), &DOUBLE)?;
    let yaml = DOUBLE[0].1;
    package::write(
        &place.path(""),
        &[
            ("right.c", RIGHT),
            ("strange.qqq", "print 1\n"),
            ("notes.txt", "not a package\n"),
            ("text.zip", "not an archive\n"),
            ("bare/data/secret/1.in", "1\n"),
            ("colons/problem.yaml", "name: [unclosed\n"),
            ("no_number/problem.yaml", &yaml.replace("0.5", "fast")),
            ("unknown_key/problem.yaml", &format!("{yaml}valdation: default\n")),
            ("other_version/problem.yaml", &yaml.replace("2025-09", "1066-10")),
            ("no_answer/problem.yaml", yaml),
            ("no_answer/data/secret/1.in", "1\n"),
            ("outward/problem.yaml", yaml),
            ("outward/data/secret/1.ans", "2\n"),
        ],
    )?;
    for name in ["colons", "no_number", "unknown_key", "other_version"] {
        package::write(&place.path(name), &[("data/secret/1.in", "1\n"), ("data/secret/1.ans", "2\n")])?;
    }
    let fail = |error: std::io::Error| error.to_string();
    symlink("/etc/passwd", place.path("outward/data/secret/1.in")).map_err(fail)?;
    fs::create_dir(place.path("nothing")).map_err(fail)?;
    fs::write(place.path("garbage"), (0u8..=255).rev().cycle().take(5000).collect::<Vec<_>>())
        .map_err(fail)?;
    fs::write(place.path("locked.c"), RIGHT).map_err(fail)?;
    fs::set_permissions(place.path("locked.c"), Permissions::from_mode(0o000)).map_err(fail)?;
    for (name, body, _) in BAD_ARCHIVES {
        archive(place, name, &format!("{ZIPPED}{body}"))?;
    }
    archive(place, "whole.zip", ZIPPED)?;
    let whole = fs::read(place.path("whole.zip")).map_err(fail)?;
    fs::write(place.path("cut.zip"), &whole[..whole.len() / 2]).map_err(fail)
}

#[test]
fn time_limits_are_measured_and_kept() {
    let _alone = stage::alone(&e2e::scratch!()).expect("the lock of the suite");
    let stage = Stage::new(Pass::possible()[0]).expect("a stage");
    let place = stage.place("limits").expect("a place");
    package::write(&place.path("double"), &DOUBLE).expect("a package");
    let problem = "problem_format_version: 2025-09\nname: Double\nuuid: 5e6f3c2a-1d7b-4c0e-9a52-0b7c5d3e1f42\nlicense: cc0\nlimits:\n  time_resolution: 0.5\n";
    let endless = "int main(void) { for (;;) {} }\n";
    let changed = [("problem.yaml", problem), ("submissions/time_limit_exceeded/endless.c", endless)];
    package::write(&place.path("double"), &changed).expect("a package");
    let limits = |more: &[&str]| -> (Value, Duration) {
        let begun = std::time::Instant::now();
        let page = place.path("limits.html");
        let words =
            ["limits", "--json", "--runs", "2", "--load", "--html", page.to_str().expect("a path"), "double"];
        let ended = place.run(&[&words[..], more].concat()).expect("limits");
        assert_eq!(ended.code(), Ok(0), "{}", ended.stderr);
        (ended.document().expect("a document"), begun.elapsed())
    };
    let (first, measuring) = limits(&[]);
    let found = &first["packages"][0];
    assert_eq!((&found["suggested_ns"], &found["clock"]), (&json!(500_000_000), &json!("cpu")), "{first:#}");
    let c = &found["languages"][0];
    assert_eq!((&c["id"], &c["fastest_too_slow"]["ended"]), (&json!("c"), &json!(true)), "{first:#}");
    assert!(c["slowest_accepted"]["loaded_ns"].is_u64() && found["load"]["slowdown"].is_f64(), "{first:#}");
    assert!(found["margin"]["too_slow"].as_f64().is_some_and(|margin| margin >= 1.5), "{first:#}");
    let page = fs::read_to_string(place.path("limits.html")).expect("the page");
    assert!(page.contains("<svg") && page.contains("limit 500 ms"), "{page}");
    // A second call measures nothing again.
    let (second, reading) = limits(&[]);
    assert_eq!(first, second);
    assert!(reading < measuring / 2, "{reading:?} and {measuring:?} the first time");
    let (third, _) = limits(&["--fresh"]);
    assert_eq!(third["packages"][0]["suggested_ns"], found["suggested_ns"]);
    let verified = place.run(&["verify", "double"]).expect("verify");
    assert!(verified.stdout.contains("measured before (--fresh measures again)"), "{}", verified.stdout);
}

#[test]
fn bad_input_is_named() {
    // Package, submission, and what the message must name.
    let mut cases = vec![
        ("absent", "right.c", "absent"),
        ("notes.txt", "right.c", "notes.txt"),
        ("text.zip", "right.c", "text.zip"),
        ("cut.zip", "right.c", "cut.zip"),
        ("bare", "right.c", "problem.yaml"),
        ("colons", "right.c", "problem.yaml"),
        ("no_number", "right.c", "time_limit"),
        ("other_version", "right.c", "1066-10"),
        ("outward", "right.c", "1."),
        ("double", "absent.c", "absent.c"),
        ("double", "strange.qqq", "strange.qqq"),
        ("double", "garbage", "garbage"),
        ("double", "nothing", "nothing"),
    ];
    cases.extend(BAD_ARCHIVES.map(|(file, _, named)| (file, "right.c", named)));
    stage::for_each_user(&e2e::scratch!(), "bad-input", |place| {
        lay_out_bad_input(place)?;
        let mut cases = cases.clone();
        if !place.is_root() {
            cases.push(("double", "locked.c", "locked.c"));
        }
        for (package, submission, named) in cases {
            let ended = place.run(&["judge", package, submission])?;
            let told = ended.stderr.contains(named);
            if ended.code()? != 2 || !told || ended.stderr.contains("panicked") {
                return Err(format!("judge {package} {submission}: wanted 2 and `{named}`: {ended:?}"));
            }
        }
        let escaped = [place.path("escaped.in"), place.path("../escaped.in"), "/tmp/escaped.in".into()];
        match escaped.iter().find(|path| path.exists()) {
            Some(path) => Err(format!("{} was written", path.display())),
            None => Ok(()),
        }
    });
}

#[test]
fn binary_garbage_with_a_name_of_a_language_does_not_compile() {
    stage::for_each_user(&e2e::scratch!(), "garbage", |place| {
        package::write(&place.path("double"), &DOUBLE)?;
        fs::write(place.path("garbage.c"), (0u8..=255).rev().cycle().take(5000).collect::<Vec<_>>())
            .map_err(|error| error.to_string())?;
        let ended = place.run(&["judge", "double", "garbage.c", "--json"])?;
        if ended.document()?["verdict"] == "CE" { Ok(()) } else { Err(format!("{ended:?}")) }
    });
}
