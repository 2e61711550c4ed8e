//! Programs run by themselves, on a simulated sandbox.

mod kit;

use engine::simulated::{Stage, observation};
use engine::{Fault, SystemError};
use kit::{Kit, echo, exit, kit, ms, ok};
use model::*;
use std::sync::Mutex;

/// A program that plays `name`, with the input `1 2`.
fn asked(name: &str) -> Execution {
    Execution {
        program: ProgramKind::Language("sim".into()),
        files: vec![file("main.sim", name)],
        entry: None,
        compiler_options: Vec::new(),
        args: Vec::new(),
        stdin: "1 2\n".into(),
        expected: None,
        limits: Limits { cpu: Some(ms(2000)), ..Limits::default() },
        compile_limits: Limits::default(),
        runs: 1,
        redirect_stderr: false,
        keep_output: Bytes(100),
    }
}

fn file(name: &str, content: &str) -> ProgramFile {
    ProgramFile { name: name.into(), content: content.into(), executable: false }
}

fn expecting(name: &str, expected: &str) -> Execution {
    Execution { expected: Some(expected.into()), ..asked(name) }
}

/// Verdict, status, both streams and message.
fn seen(executed: &Executed) -> String {
    let last = executed.last().map_or("not run".to_owned(), |run| format!("{:?}", run.status));
    let (out, errors) = (executed.stdout.content.text(), executed.stderr.content.text());
    format!("{} {last} {out:?} {errors:?} {}", executed.verdict, executed.message).trim_end().to_owned()
}

fn execute(kit: &mut Kit, asked: &Execution) -> Executed {
    let executed = kit.execute(asked).unwrap();
    kit.assert_clean();
    executed
}

fn noisy(stage: &mut Stage) -> Result<Observation, SystemError> {
    stage.write("out").unwrap();
    stage.write_error("a\nlast words\n").unwrap();
    exit(3, 10)
}

fn too_much(name: &str) -> Observation {
    let mut observation = observation(Exit::Signal(9), ms(10));
    match name {
        "memory" => observation.out_of_memory = true,
        "output" => observation.output_cut = true,
        _ => observation.wall_exceeded = true,
    }
    observation
}

#[test]
fn what_a_run_shows_is_the_verdict() {
    let mut kit = kit();
    kit.programs.insert("noisy", noisy);
    kit.programs.insert("memory", |_| Ok(too_much("memory")));
    kit.programs.insert("output", |_| Ok(too_much("output")));
    kit.programs.insert("sleeps", |_| Ok(too_much("wall")));
    for (asked, expected) in [
        (asked("echo"), r#"AC Ok "1 2\n" """#),
        (expecting("echo", "1 2 \n\n"), r#"AC Ok "1 2\n" """#),
        (
            expecting("echo", "1  2"),
            r#"WA Ok "1 2\n" "" line 1, column 3 of the output (line 1 of the answer): expected `1  2`, found `1 2`"#,
        ),
        (expecting("wrong", ""), r#"AC Ok "" """#),
        (asked("crash"), r#"RTE Signalled "" "" signal 11"#),
        (expecting("noisy", "out"), r#"RTE NonzeroExit "out" "a\nlast words\n" exit code 3: last words"#),
        (asked("slow"), r#"TLE CpuTimeLimit "1 2\n" "" CPU time limit"#),
        (asked("memory"), r#"MLE MemoryLimit "" "" memory limit"#),
        (asked("output"), r#"OLE OutputLimit "" "" output limit"#),
        (asked("sleeps"), r#"TLE WallTimeLimit "" "" wall time limit: it waited or slept"#),
    ] {
        assert_eq!(seen(&execute(&mut kit, &asked)), expected, "{asked:?}");
    }
}

#[test]
fn compilations_are_told() {
    let mut kit = kit();
    let good = execute(&mut kit, &Execution { compiler_options: vec!["-O3".into()], ..asked("echo") });
    let compile = good.compile.unwrap();
    assert!(compile.ok && compile.message.is_empty() && compile.steps.len() == 1);
    assert_eq!(good.language, "sim");
    assert_eq!(kit.runners[0].0.specs()[0].argv, ["/compiler", "main.sim", "-O3"]);

    let bounds = Limits {
        cpu: Some(ms(7)),
        wall: Some(WallLimit { time: ms(9), excuse_waiting: false }),
        processes: Some(3),
        ..Limits::default()
    };
    let bad = Execution { compile_limits: bounds, ..asked("syntax error") };
    let executed = execute(&mut kit, &bad);
    assert_eq!(seen(&executed), r#"CE not run "" "" exit code 1"#);
    let compile = executed.compile.unwrap();
    assert!(!compile.ok && compile.stderr.content.text() == "main.sim:1: error");
    assert_eq!((compile.stdout, compile.steps.len()), (CapturedStream::default(), 1));
    let used = kit.runners[0].0.specs()[0].limits;
    assert_eq!((used.cpu, used.wall, used.processes), (bounds.cpu, bounds.wall, bounds.processes));
    assert!(used.memory.is_some() && used.output.is_some());

    let none = Execution {
        program: ProgramKind::Language("slow".into()),
        files: vec![file("a.slow", "echo")],
        ..asked("")
    };
    assert_eq!(execute(&mut kit, &none).compile, None);
}

#[test]
fn what_cannot_be_compiled_is_told_and_nothing_is_run() {
    let mut kit = kit();
    let with = |change: fn(&mut Execution)| {
        let mut asked = asked("echo");
        change(&mut asked);
        asked
    };
    for (asked, why) in [
        (with(|a| a.files.clear()), "there is no file"),
        (with(|a| a.files[0].name = "../x".into()), "`../x` is not a name of a file here"),
        (with(|a| a.files[0].name = "/x".into()), "`/x` is not a name of a file here"),
        (with(|a| a.files[0].name = "a//x".into()), "`a//x` is not a name"),
        (with(|a| a.files[0].name = String::new()), "`` is not a name"),
        (with(|a| a.files[0].name = "a\0".into()), "is not a name of a file here"),
        (with(|a| a.files[0].name = "x".repeat(250)), "is not a name of a file here"),
        (with(|a| a.files[0].name = "x/".repeat(32) + "x"), "is not a name of a file here"),
        (with(|a| a.files.push(file("main.sim", ""))), "two files are called `main.sim`"),
        (with(|a| a.files.push(file("main.sim/x", ""))), "`main.sim/x` is inside a file"),
        (with(|a| a.args = vec!["\0".into()]), "the arguments hold a zero byte"),
        (with(|a| a.args = vec!["x".repeat(1 << 16)]), "the arguments are too long"),
        (with(|a| a.args = vec![String::new(); 1 << 13]), "the arguments are too long"),
        (
            with(|a| a.compiler_options = vec!["-x".into()]),
            "does not take the compiler option `-x`\nhint: it takes -O*",
        ),
        (with(|a| a.files[0].content = Blob(vec![0])), "`main.sim` is binary, not source text"),
        (with(|a| a.files.push(file("b.sim", ""))).with_entry("c.sim"), "no entry point `c.sim`"),
        (with(|a| a.program = ProgramKind::Scripts), "there is no `run` and no `run.sh`"),
        (
            with(|a| {
                a.program = ProgramKind::Text;
                a.compiler_options = vec!["-O".into()];
            }),
            "a program of this kind takes no compiler options",
        ),
    ] {
        let executed = execute(&mut kit, &asked);
        assert!(executed.message.contains(why), "{} | {why}", executed.message);
        assert_eq!((executed.verdict, executed.runs.len()), (Verdict::CompileError, 0), "{why}");
        let compile = executed.compile.unwrap();
        assert_eq!((compile.ok, compile.message), (false, executed.message));
        assert!(kit.runners[0].0.specs().is_empty(), "{why}");
    }
}

trait WithEntry {
    fn with_entry(self, entry: &str) -> Execution;
}

impl WithEntry for Execution {
    fn with_entry(self, entry: &str) -> Execution {
        Execution { entry: Some(entry.into()), ..self }
    }
}

#[test]
fn what_is_no_fault_of_the_program_is_no_verdict() {
    let mut kit = kit();
    kit.programs.insert("broken", |_| Err(SystemError::new("running", "the machine is broken")));
    let named =
        |language: &str| Execution { program: ProgramKind::Language(language.into()), ..asked("echo") };
    assert!(
        matches!(kit.execute(&named("sum")), Err(Fault::Input { why, .. }) if why.contains("did you mean `sim`"))
    );
    assert!(matches!(kit.execute(&named("absent")), Err(Fault::NoToolchain { .. })));
    assert!(matches!(kit.execute(&asked("broken")), Err(Fault::System(_))));
    kit.assert_clean();
    kit.cancel.store(true, std::sync::atomic::Ordering::SeqCst);
    assert!(matches!(kit.execute(&asked("echo")), Err(Fault::Cancelled)));
}

fn cannot_exec(_: &mut Stage) -> Result<Observation, SystemError> {
    Err(SystemError { blame: engine::Blame::CannotExec, ..SystemError::new("executing /x", "no such file") })
}

#[test]
fn only_the_programs_own_executable_may_be_missing() {
    let mut kit = kit();
    kit.programs.insert("none", cannot_exec);
    let executed = execute(&mut kit, &asked("none"));
    assert_eq!(
        seen(&executed),
        r#"RTE NonzeroExit "" "cannot execute /x: no such file\n" exit code 126: cannot execute /x: no such file"#
    );
    kit.programs.insert("/bin/cat", cannot_exec);
    let text = Execution { program: ProgramKind::Text, ..asked("echo") };
    assert!(matches!(kit.execute(&text), Err(Fault::System(_))));
}

#[test]
fn what_the_sandbox_refuses_of_a_program_is_a_compilation_that_failed() {
    let mut kit = kit();
    assert_eq!(seen(&execute(&mut kit, &asked("refused"))), r#"CE not run "" "" request: it is too long"#);
    let mut large = asked("echo");
    // More than a program's box takes.
    large.files.push(ProgramFile { content: Blob(vec![b'x'; 513 << 20]), ..file("b.txt", "") });
    let executed = execute(&mut kit, &large);
    assert!(executed.verdict == Verdict::CompileError && executed.message.ends_with("the box is full"));
    kit.assert_clean();
}

#[test]
fn streams_are_kept_up_to_their_bound() {
    let mut kit = kit();
    kit.programs.insert("noisy", noisy);
    let executed = execute(&mut kit, &Execution { keep_output: Bytes(2), ..asked("noisy") });
    assert_eq!(seen(&executed), r#"RTE NonzeroExit "ou" "a\n" exit code 3: last words"#);
    assert_eq!((executed.stdout.total, executed.stderr.total), (Bytes(3), Bytes(13)));
    assert!(executed.stdout.is_truncated() && executed.stderr.is_truncated());
    let together = execute(&mut kit, &Execution { redirect_stderr: true, ..asked("noisy") });
    assert_eq!(seen(&together), r#"RTE NonzeroExit "outa\nlast words\n" "" exit code 3: last words"#);
    // The whole output is compared, not what is kept of it.
    let wrong = Execution { keep_output: Bytes(1), ..expecting("echo", "1 3") };
    assert_eq!(execute(&mut kit, &wrong).verdict, Verdict::WrongAnswer);
}

#[test]
fn limits_are_the_callers_and_the_runtimes_needs_come_on_top() {
    let mut kit = kit();
    let limits = Limits {
        memory: Some(Bytes::from_mib(64)),
        processes: Some(5),
        output: Some(Bytes(9)),
        stack: Some(Bytes(8)),
        ..asked("").limits
    };
    let program = ProgramKind::Language("heavy".into());
    let heavy = Execution { program, files: vec![file("a.heavy", "echo")], limits, ..asked("") };
    let executed = execute(&mut kit, &heavy);
    let in_force = Limits { memory: Some(Bytes::from_mib(164)), processes: Some(12), ..limits };
    assert_eq!(executed.limits, in_force, "the time limit is not scaled");
    let spec = &kit.runners[0].0.specs()[0];
    assert_eq!(spec.argv[1], "64");
    assert!(spec.limits.cpu > limits.cpu, "it is stopped where it is clear");
    assert_eq!(Limits { cpu: limits.cpu, ..spec.limits }, in_force);
    let free = execute(&mut kit, &Execution { limits: Limits::default(), ..heavy });
    assert_eq!((free.verdict, free.limits), (Verdict::Accepted, Limits::default()));
}

/// What the next runs do: output and CPU time in milliseconds. The last one stays.
static NEXT: Mutex<Vec<(&str, u64)>> = Mutex::new(Vec::new());

fn next(stage: &mut Stage) -> Result<Observation, SystemError> {
    let mut next = NEXT.lock().unwrap();
    let (output, time) = if next.len() > 1 { next.remove(0) } else { next[0] };
    stage.write(output).unwrap();
    ok(time)
}

#[test]
fn every_run_that_was_asked_for_is_settled_and_the_first_that_fails_is_the_last() {
    let mut kit = kit();
    kit.programs.insert("next", next);
    let mut check = |next: &[(&'static str, u64)], verdict: Verdict, cpu: &[u64], runs: &[u32]| {
        *NEXT.lock().unwrap() = next.to_vec();
        let executed = execute(&mut kit, &Execution { runs: 3, ..expecting("next", "y") });
        assert_eq!(executed.verdict, verdict, "{next:?}");
        assert_eq!(
            executed.runs.iter().map(|run| run.cpu.0 / 1_000_000).collect::<Vec<_>>(),
            cpu,
            "{next:?}"
        );
        assert_eq!(executed.runs.iter().map(|run| run.settled.runs).collect::<Vec<_>>(), runs, "{next:?}");
        assert_eq!(executed.last().unwrap().verdict, verdict);
        let counted = executed.runs.iter().map(|run| run.runs.len() as u32).collect::<Vec<_>>();
        assert_eq!(counted, runs, "every run is kept");
        executed
    };
    let (ac, wa, tle) = (Verdict::Accepted, Verdict::WrongAnswer, Verdict::TimeLimit);
    check(&[("y", 100), ("y", 300), ("y", 200)], ac, &[100, 300, 200], &[1, 1, 1]);
    check(&[("y", 100), ("n", 300), ("y", 200)], wa, &[100, 300], &[1, 1]);
    check(&[("y", 100), ("y", 5000)], tle, &[100, 5000], &[1, 1]);
    // Near the limit of 2 s each is repeated by itself.
    check(&[("y", 1990), ("y", 1810), ("y", 100)], ac, &[1810, 100, 100], &[2, 1, 1]);
    let wrong = check(&[("y", 2010), ("n", 1990)], wa, &[1990], &[2]);
    assert_eq!(wrong.stdout.content.text(), "n", "the output of the run that decides");
    let open = check(&[("y", 2010)], tle, &[2010], &[10]);
    assert_eq!(open.settled(), Settled { confidence: Confidence::Open, runs: 10, void_runs: 0 });
    assert_eq!(open.last().unwrap().status, Status::CpuTimeLimit);
}

#[test]
fn kinds_that_are_no_language_are_run_as_they_are() {
    let mut kit = kit();
    for tool in ["/bin/cat", "/bin/bash"] {
        kit.programs.insert(tool, echo);
    }
    let mut argv = |program: ProgramKind, names: &[&str]| {
        let files = names.iter().map(|name| file(name, "echo")).collect();
        let executed = execute(&mut kit, &Execution { program, files, args: vec!["x".into()], ..asked("") });
        assert_eq!(executed.verdict, Verdict::Accepted);
        let argv = kit.runners[0].0.specs().iter().map(|spec| spec.argv.join(" ")).collect::<Vec<_>>();
        format!("{}: {}", executed.language, argv.join("; "))
    };
    assert_eq!(argv(ProgramKind::Text, &["a b"]), "text: /bin/cat /program/a b");
    assert_eq!(argv(ProgramKind::Executable, &["a", "b"]), "executable: /program/a x");
    assert_eq!(argv(ProgramKind::Scripts, &["run"]), "scripts: /bin/bash /program/run x");
    assert_eq!(
        argv(ProgramKind::Scripts, &["run.sh", "compile.sh", "d/run"]),
        "scripts: /bin/bash /program/compile.sh; /bin/bash /program/run.sh x"
    );
    assert_eq!(
        argv(ProgramKind::Scripts, &["run.sh", "run", "compile"]),
        "scripts: /bin/bash /program/compile; /bin/bash /program/run x"
    );
}

#[test]
fn a_program_with_countless_files_does_not_compile() {
    let mut kit = kit();
    kit.programs.insert("/bin/bash", |stage: &mut Stage| {
        (0..4000).for_each(|n| assert!(stage.put(&format!("/program/a file of some length {n}"), b"")));
        ok(1)
    });
    let files = vec![file("compile", ""), file("run", "")];
    let executed = execute(&mut kit, &Execution { program: ProgramKind::Scripts, files, ..asked("") });
    assert_eq!(seen(&executed), r#"CE not run "" "" it has too many files at its root: 4002"#);
}
