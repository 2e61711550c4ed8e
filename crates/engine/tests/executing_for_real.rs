//! Programs run by themselves, in a real sandbox with this machine's languages.

use engine::execute::{Conditions, execute};
use engine::languages::Languages;
use engine::slot::{Crew, Slot, Station};
use engine::toolchain::Host;
use judge::language::Table;
use libtest_mimic::{Arguments, Failed, Trial};
use model::*;
use sandbox::{Launcher, LauncherOptions};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

/// Files of a program, what it is asked, and what is to be seen.
type Case = (&'static str, fn() -> Execution, &'static [&'static str]);

const CASES: [Case; 21] = [
    ("cpp_with_options", cpp_with_options, &["AC", "out 7 a b|$HOME 5"]),
    (
        "cpp_that_does_not_compile",
        || cpp("int main() { return x; }"),
        &["CE", "exit code 1", "was not declared in this scope"],
    ),
    (
        "cpp_that_makes_no_program",
        || with_options("int main() {}", &["-fsyntax-only"]),
        &["CE", "it takes -O*"],
    ),
    ("a_compiler_that_never_ends", endless_compilation, &["CE", "time limit"]),
    (
        "python_with_a_wrong_output",
        || expecting("cpython3", "main.py", "print(1)\nprint(3)", "1\n2"),
        &["WA", "line 2"],
    ),
    (
        "python_that_raises",
        || of("cpython3", "main.py", "raise ValueError('so')"),
        &["RTE", "exit code 1: ValueError: so"],
    ),
    ("java_in_little_memory", java, &["AC", "out 1024"]),
    ("bash_in_its_directory", bash, &["AC", "out x\ny"]),
    ("sqlite", sqlite, &["AC", "out 3|hello"]),
    (
        "sqlite_that_is_wrong",
        || of("sqlite", "main.sql", "select 1;\nselect x;"),
        &["RTE", "no such column: x"],
    ),
    ("errors_beside_the_output", || both(false), &["AC", "out 1", "err 2"]),
    ("errors_in_the_output", || both(true), &["AC", "out 12"]),
    ("a_text", || kind(ProgramKind::Text, &[("a text", b"as it is\n")]), &["AC", "out as it is"]),
    ("an_executable", an_executable, &["AC", "out hello world"]),
    (
        "no_executable",
        || kind(ProgramKind::Executable, &[("a.out", b"\x7fELF")]),
        &["RTE", "cannot execute /program/a.out", "ormat"],
    ),
    ("scripts", scripts, &["AC", "out made 42"]),
    ("scripts_without_compile", scripts_without_compile, &["AC", "out run.sh"]),
    ("a_script_that_fails_to_compile", failing_script, &["CE", "exit code 4", "why"]),
    ("a_loop", || bash_script("while :; do :; done"), &["TLE", "CPU time limit"]),
    ("a_sleeper", || bash_script("sleep 100"), &["TLE", "wall time limit"]),
    (
        "a_flood",
        || bash_script("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done"),
        &["OLE", "output limit"],
    ),
];

fn main() -> ExitCode {
    if std::env::args().next().is_some_and(|name| name == sandbox::ARGV0) {
        return ExitCode::from(sandbox::launcher_main());
    }
    let trials = CASES.map(|(name, asked, seen)| {
        let trial = Trial::test(name, move || check(&asked(), seen));
        match absent(&asked()) {
            Some(why) => trial.with_kind(format!("skipped: {why}")).with_ignored_flag(true),
            None => trial,
        }
    });
    // One after the other: each starts a process, which nothing must do that has other threads of ours.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    libtest_mimic::run(&arguments, trials.into()).exit_code()
}

/// What this machine lacks for a program, if so.
fn absent(asked: &Execution) -> Option<String> {
    let ProgramKind::Language(id) = &asked.program else { return None };
    let languages = Languages::new(Table::shipped(), Host::current());
    languages.usable(languages.table().get(id)?).err().map(|absent| format!("no {}", absent.language))
}

fn check(asked: &Execution, expected: &[&str]) -> Result<(), Failed> {
    let launcher = Launcher::start(&LauncherOptions::default())?;
    let main = Station::new(Box::new(launcher), Placement::default());
    let slot = Slot { main, auxiliary: None, crew: Crew::default(), control: None };
    let conditions = Conditions {
        languages: &Languages::new(Table::shipped(), Host::current()),
        floor: &settle::NoiseFloor::assumed(),
        layout: Layout::default(),
        cancel: &AtomicBool::new(false),
        emit: &|_| {},
    };
    let executed = execute(&slot, asked, conditions)?;
    let compile = executed.compile.as_ref();
    let seen = format!(
        "{}: {}\nout {}\nerr {}\ncompiler {}",
        executed.verdict,
        executed.message,
        executed.stdout.content.text(),
        executed.stderr.content.text(),
        compile.map_or(String::new(), |c| c.stdout.content.text() + &c.stderr.content.text()),
    );
    match expected.iter().find(|part| !seen.contains(**part)) {
        Some(part) => Err(format!("`{part}` is missing in\n{seen}\n{executed:#?}").into()),
        None => Ok(()),
    }
}

fn kind(program: ProgramKind, files: &[(&str, &[u8])]) -> Execution {
    let file = |(name, content): &(&str, &[u8])| ProgramFile {
        name: name.to_string(),
        content: Blob(content.to_vec()),
        executable: false,
    };
    Execution {
        program,
        files: files.iter().map(file).collect(),
        entry: None,
        compiler_options: Vec::new(),
        args: Vec::new(),
        stdin: Blob::default(),
        expected: None,
        limits: Limits {
            cpu: Some(Nanos::from_millis(1000)),
            wall: Some(WallLimit { time: Nanos::from_secs(3), excuse_waiting: true }),
            memory: Some(Bytes::from_mib(128)),
            stack: Some(Bytes::from_mib(64)),
            output: Some(Bytes::from_mib(1)),
            processes: Some(60),
            ..Limits::default()
        },
        compile_limits: Limits::default(),
        runs: 1,
        redirect_stderr: false,
        keep_output: Bytes::from_kib(4),
    }
}

fn of(language: &str, name: &str, source: &str) -> Execution {
    kind(ProgramKind::Language(language.into()), &[(name, source.as_bytes())])
}

fn expecting(language: &str, name: &str, source: &str, expected: &str) -> Execution {
    Execution { expected: Some(expected.into()), ..of(language, name, source) }
}

fn cpp(source: &str) -> Execution {
    of("cpp", "main.cpp", source)
}

fn with_options(source: &str, options: &[&str]) -> Execution {
    Execution { compiler_options: options.iter().map(|o| o.to_string()).collect(), ..cpp(source) }
}

fn bash_script(text: &str) -> Execution {
    of("bash", "script.sh", text)
}

fn cpp_with_options() -> Execution {
    let source = r#"
        #include <iostream>
        int main(int argc, char **argv) {
            int n;
            std::cin >> n;
            std::cout << X + n << " " << argv[1] << "|" << argv[2] << " " << __cplusplus / 100 % 100 / 3 << "\n";
        }"#;
    Execution {
        args: vec!["a b".into(), "$HOME".into()],
        stdin: "3".into(),
        ..with_options(source, &["-DX=4", "-O0", "-std=c++17", "-Wall"])
    }
}

fn endless_compilation() -> Execution {
    let compile_limits = Limits { cpu: Some(Nanos::from_millis(300)), ..Limits::default() };
    let files: &[(&str, &[u8])] = &[("compile", b"while :; do :; done"), ("run", b"")];
    Execution { compile_limits, ..kind(ProgramKind::Scripts, files) }
}

fn java() -> Execution {
    let source = r#"
        class Sum {
            public static void main(String[] args) {
                System.out.println(new int[1 << 10].length);
            }
        }"#;
    let asked = of("java", "Main.java", source);
    // As little as Judge0 takes as a rule, which is less than a JVM needs for itself.
    Execution { limits: Limits { memory: Some(Bytes::from_mib(32)), ..asked.limits }, ..asked }
}

fn bash() -> Execution {
    let asked = bash_script("cat > new; echo y >> new; cat new other/data; pwd >&2");
    let other = ProgramFile { name: "other/data".into(), content: "".into(), executable: false };
    Execution {
        files: asked.files.into_iter().chain([other]).collect(),
        stdin: "x\n".into(),
        ..bash_script("")
    }
}

fn sqlite() -> Execution {
    of(
        "sqlite",
        "script.sql",
        "create table t (n, text);\ninsert into t values (3, 'hello');\nselect * from t;",
    )
}

fn both(redirect_stderr: bool) -> Execution {
    Execution { redirect_stderr, ..bash_script("printf 1; printf 2 >&2") }
}

fn an_executable() -> Execution {
    let echo = std::fs::read("/bin/echo").expect("an executable of this machine");
    Execution {
        args: vec!["hello".into(), "world".into()],
        ..kind(ProgramKind::Executable, &[("a.out", &echo)])
    }
}

fn scripts() -> Execution {
    kind(
        ProgramKind::Scripts,
        &[
            ("compile", b"mkdir made && gcc -static -o made/main src/main.c"),
            ("run", b"echo made $(./made/main)"),
            (
                "src/main.c",
                b"#include <stdio.h>\n#include \"value.h\"\nint main(void) { printf(\"%d\", VALUE); }",
            ),
            ("src/value.h", b"#define VALUE 42\n"),
        ],
    )
}

fn scripts_without_compile() -> Execution {
    kind(ProgramKind::Scripts, &[("run.sh", b"ls")])
}

fn failing_script() -> Execution {
    kind(ProgramKind::Scripts, &[("compile.sh", b"echo why >&2; exit 4"), ("run", b"")])
}
