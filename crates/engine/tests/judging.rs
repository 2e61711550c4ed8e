//! From a package and a submission to verdicts, on a simulated sandbox.

mod kit;

use engine::Fault;
use engine::simulated::{Stage, observation};
use judge::package::*;
use judge::scoring::JudgeMode::{self, AllTests, StopEarly};
use kit::*;
use model::*;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

#[track_caller]
fn check(kit: &mut Kit, program: &str, mode: JudgeMode, verdict: Verdict, tests: &str) -> Judgement {
    let judged = kit.judge(program, mode).unwrap().judgement;
    assert_eq!(
        (judged.verdict, verdicts(&judged).as_str()),
        (verdict, tests),
        "{program}: {:?}",
        judged.tests.iter().map(|t| &t.message).collect::<Vec<_>>()
    );
    kit.assert_clean();
    judged
}

#[test]
fn verdicts_follow_the_run_and_the_comparison() {
    let mut kit = kit();
    kit.programs
        .insert("mle", |_| Ok(Observation { out_of_memory: true, ..observation(Exit::Signal(9), ms(5000)) }));
    kit.programs.insert("ole", |_| Ok(Observation { output: Reading::Known(Bytes::from_mib(9)), ..ok(1)? }));
    kit.programs.insert("sleeper", |_| {
        Ok(Observation { wall_exceeded: true, ..observation(Exit::Signal(9), ms(1)) })
    });
    kit.programs.insert("exit", |s| {
        s.write_error("Traceback\nValueError: x\n").unwrap();
        echo(s)?;
        exit(3, 1)
    });
    for (program, verdict, message) in [
        ("echo", Verdict::Accepted, ""),
        ("wrong", Verdict::WrongAnswer, ""),
        ("crash", Verdict::RunTimeError, "signal 11"),
        ("exit", Verdict::RunTimeError, "exit code 3: ValueError: x"),
        ("slow", Verdict::TimeLimit, "CPU time limit"),
        ("sleeper", Verdict::TimeLimit, "wall time limit: it waited or slept"),
        ("mle", Verdict::MemoryLimit, "memory limit"),
        ("ole", Verdict::OutputLimit, "output limit"),
    ] {
        let tests = [verdict.code(); 3].join(" ");
        let judged = check(&mut kit, program, AllTests, verdict, &tests);
        if verdict != Verdict::WrongAnswer {
            assert_eq!(judged.tests[0].message, message, "{program}");
        } else {
            assert!(!judged.tests[0].message.is_empty());
        }
    }
}

#[test]
fn judging_stops_at_the_first_failure_unless_all_tests_are_asked_for() {
    let mut kit = kit();
    kit.programs.insert("fails on two", |s| {
        let input = s.read_all();
        if input != b"2\n" {
            s.write(&String::from_utf8(input).unwrap()).unwrap();
        }
        ok(1)
    });
    check(&mut kit, "fails on two", StopEarly, Verdict::WrongAnswer, "AC WA");
    check(&mut kit, "fails on two", AllTests, Verdict::WrongAnswer, "AC WA AC");
    check(&mut kit, "crash", StopEarly, Verdict::RunTimeError, "RTE");
}

#[test]
fn compile_errors_run_nothing() {
    let mut kit = kit();
    let judged = check(&mut kit, "syntax error", StopEarly, Verdict::CompileError, "");
    assert_eq!(
        (judged.compile.ok, judged.compile.output.as_str()),
        (false, "main.sim:1: error\nexit code 1")
    );
    assert_eq!(kit.runners[0].0.specs().len(), 1);
    kit.package.limits.code = Some(Bytes(3));
    let judged = check(&mut kit, "echo", StopEarly, Verdict::CompileError, "");
    assert!(judged.compile.output.contains("code limit"), "{}", judged.compile.output);
}

#[test]
fn binary_source_is_a_compile_error_that_no_compiler_sees() {
    let mut kit = kit();
    let judged = check(&mut kit, "\0\0", StopEarly, Verdict::CompileError, "");
    assert_eq!(judged.compile.output, "`main.sim` is binary, not source text");
    assert!(kit.runners[0].0.specs().is_empty());
}

#[test]
fn bad_submissions_are_named_and_never_judged() {
    let mut kit = kit();
    for (extension, content, part) in [
        ("xyz", "echo", "main.xyz: no file of a known language"),
        ("absent", "echo", "main.absent: no toolchain for Absent: no `no-such-tool-anywhere`"),
    ] {
        let fault = kit.judge_as(content, extension, StopEarly).unwrap_err();
        assert!(fault.is_bad_input() && fault.to_string().starts_with(part), "{fault}");
    }
    kit.package.languages = Some(BTreeSet::from(["java".to_owned()]));
    let fault = kit.judge("echo", StopEarly).unwrap_err();
    assert!(fault.to_string().contains("takes java"), "{fault}");
}

#[test]
fn limits_and_factors_reach_the_run() {
    let mut kit = kit();
    kit.package.limits.memory = Some(Bytes::from_mib(100));
    kit.overrides.processes = Some(7);
    kit.overrides.wall = Some(ms(500));
    let judged = kit.judge_as("slow", "slow", StopEarly).unwrap().judgement;
    // 3 s within 2 × 2 s.
    assert_eq!((judged.verdict, judged.time_limit), (Verdict::Accepted, ms(4000)));
    let limits = kit.runners[0].0.specs().last().unwrap().limits;
    // It is stopped where one run decides, and judged by its limit.
    let stop = settle::stop_at(ms(4000), settle::NoiseFloor::assumed().spread(), &settle::Policy::PUBLISHED);
    assert_eq!(limits, Limits { cpu: Some(stop), ..judged.limits });
    assert_eq!(limits.memory, Some(Bytes::from_mib(100)));
    assert_eq!(limits.processes, Some(8));
    assert_eq!(limits.wall, Some(WallLimit { time: ms(500), excuse_waiting: false }));
}

#[test]
fn faults_are_no_verdicts() {
    let mut kit = kit();
    kit.programs.insert("fault", |_| Err(engine::SystemError::new("starting", "no memory")));
    let fault = kit.judge("fault", AllTests).unwrap_err();
    assert!(matches!(fault, Fault::System(_)), "{fault}");
    // What the sandbox refuses of the submission's own is the submission's.
    let refused = kit.judge("refused", AllTests).unwrap().judgement;
    assert_eq!(
        (refused.verdict, refused.compile.output.as_str()),
        (Verdict::CompileError, "request: it is too long")
    );
    kit.assert_clean();
}

#[test]
fn a_cancelled_judging_has_no_verdict() {
    let mut kit = kit();
    kit.cancel.store(true, Ordering::SeqCst);
    assert!(matches!(kit.judge("echo", AllTests), Err(Fault::Cancelled)));
    assert!(matches!(kit.verify(2).map(|v| v.submissions.len()), Ok(0)));
    kit.jury("submissions/accepted/a.sim", "echo", Verdict::Accepted, NEITHER);
    assert!(matches!(kit.verify(2), Err(Fault::Cancelled)));
    kit.assert_clean();
}

#[test]
fn files_and_arguments_of_a_test_reach_the_submission() {
    let mut kit = kit();
    let file = kit.file("data/secret/1.files/extra.txt", "hello");
    let shadow = kit.file("data/secret/1.files/main.sim", "shadow");
    let case = &mut kit.package.data.groups[0].cases[0];
    case.files = vec![file, shadow];
    case.args = vec!["--fast".into()];
    kit.package.data.groups[0].cases.truncate(1);
    kit.programs.insert("reader", |s| {
        assert_eq!(s.spec().argv, ["/program/main.sim", "--fast"]);
        assert_eq!(s.file("/files/extra.txt").as_deref(), Some(&b"hello"[..]));
        let links: Vec<(&str, &str)> = s.spec().links.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
        assert_eq!(links, [("extra.txt", "/files/extra.txt"), ("main.sim", "/files/main.sim")]);
        assert!(!s.put("/program/main.sim", b"x") && !s.put("/files/extra.txt", b"x"));
        echo(s)
    });
    check(&mut kit, "reader", AllTests, Verdict::Accepted, "AC");
}

#[test]
fn included_files_and_constants_are_put_in() {
    let mut kit = kit();
    kit.package.constants = vec![("limit".into(), "5".into())];
    let helper = kit.file("include/default/helper.txt", "at most {{limit}}");
    let other = kit.file("include/java/other.txt", "");
    kit.package.include = vec![
        Include { language: None, files: vec![helper], ..Include::default() },
        Include { language: Some("java".into()), files: vec![other], ..Include::default() },
    ];
    kit.programs.insert("includes", |s| {
        assert_eq!(s.file("/program/helper.txt").as_deref(), Some(&b"at most 5"[..]));
        assert_eq!(s.file("/program/other.txt"), None);
        echo(s)
    });
    check(&mut kit, "includes", AllTests, Verdict::Accepted, "AC AC AC");
}

#[test]
fn what_is_included_names_the_submission() {
    let mut kit = kit();
    let grader = kit.file("sol/grader.sim", "");
    let own_name = Some("task".to_string());
    kit.package.include = vec![Include { files: vec![grader], own_name, ..Include::default() }];
    kit.programs.insert("unit", |s| {
        assert!(s.file("/program/task.sim").is_some() && s.file("/program/main.sim").is_none());
        echo(s)
    });
    check(&mut kit, "unit", AllTests, Verdict::Accepted, "AC AC AC");
}

/// A validator that accepts an output equal to the answer.
fn equal(s: &mut Stage) -> Result<Observation, engine::SystemError> {
    assert_eq!(s.spec().argv[1..4], ["/data/input", "/data/answer", "/feedback/"]);
    let answer = s.file("/data/answer").unwrap();
    let right = s.read_all() == answer && s.file("/data/input") == Some(answer);
    s.put("/feedback/judgemessage.txt", if right { b"fine\n" } else { b"not equal\n" });
    exit(if right { 42 } else { 43 }, 1)
}

#[test]
fn custom_validators_decide() {
    let mut kit = kit();
    kit.validator(equal);
    kit.package.data.groups[0].cases[0].validator_flags = vec!["strict".into()];
    check(&mut kit, "echo", AllTests, Verdict::Accepted, "AC AC AC");
    let specs = kit.runners[0].1.specs();
    // Compiled once.
    assert_eq!(specs.iter().filter(|spec| spec.argv[0] == "/compiler").count(), 1);
    assert_eq!(specs[1].argv[4..], ["strict"]);
    let judged = check(&mut kit, "wrong", StopEarly, Verdict::WrongAnswer, "WA");
    assert_eq!(judged.tests[0].message, "not equal");
    // The submission's own failure comes first, and the validator is not asked.
    check(&mut kit, "crash", StopEarly, Verdict::RunTimeError, "RTE");
    assert_eq!(kit.runners[0].1.specs().len(), 1);
}

#[test]
fn every_validator_must_accept() {
    let mut kit = kit();
    let first = kit.program("output_validators/a.sim", "a", |_| exit(42, 1));
    let second = kit.program("output_validators/b.sim", "b", |_| exit(43, 1));
    kit.package.validator = Validator::Custom(vec![first.clone(), second]);
    check(&mut kit, "echo", StopEarly, Verdict::WrongAnswer, "WA");
    kit.package.validator = Validator::Custom(vec![first]);
    check(&mut kit, "echo", StopEarly, Verdict::Accepted, "AC AC AC");
}

#[test]
fn failing_validators_are_judge_errors() {
    let mut kit = kit();
    kit.validator(|s| {
        s.write_error("assertion failed").unwrap();
        exit(1, 1)
    });
    let judged = check(&mut kit, "echo", StopEarly, Verdict::JudgeError, "JE");
    assert!(judged.tests[0].message.ends_with("assertion failed"), "{}", judged.tests[0].message);
    kit.validator(|_| exit(42, 61_000));
    check(&mut kit, "echo", StopEarly, Verdict::JudgeError, "JE");
    let broken = kit.program("output_validator/v.sim", "syntax error", |_| ok(1));
    kit.package.validator = Validator::Custom(vec![broken]);
    let fault = kit.judge("echo", StopEarly).unwrap_err();
    assert!(
        fault.to_string().starts_with("output_validator/v.sim: does not compile:\nmain.sim:1"),
        "{fault}"
    );
}

#[test]
fn multi_pass_hands_on_inputs_and_keeps_the_feedback_directory() {
    let mut kit = kit();
    kit.package.multi_pass = true;
    kit.package.limits.passes = 3;
    kit.package.data.groups[0].cases.truncate(1);
    // Asks for another pass until the number has reached 3.
    kit.validator(|s| {
        let n: u32 = String::from_utf8(s.read_all()).unwrap().trim().parse().unwrap();
        assert_eq!(s.file("/data/input").unwrap(), format!("{n}\n").into_bytes());
        assert_eq!(s.file("/feedback/nextpass.in"), None);
        let mut seen = s.file("/feedback/judgemessage.txt").unwrap_or_default();
        seen.extend(format!("{n} ").into_bytes());
        s.put("/feedback/judgemessage.txt", &seen);
        if n < 3 {
            s.put("/feedback/nextpass.in", format!("{}\n", n + 1).as_bytes());
        }
        exit(42, 1)
    });
    let judged = check(&mut kit, "echo", AllTests, Verdict::Accepted, "AC");
    assert_eq!((judged.tests[0].runs.len(), judged.tests[0].message.as_str()), (3, "1 2 3"));
    kit.package.limits.passes = 2;
    let judged = check(&mut kit, "echo", AllTests, Verdict::JudgeError, "JE");
    assert!(judged.tests[0].message.contains("more than 2 passes"));
    kit.package.limits.passes = 3;
    kit.programs.insert("tires", |s| match s.read_all().as_slice() {
        b"1\n" => {
            s.write("1").unwrap();
            ok(1500)
        }
        _ => exit(1, 3),
    });
    let judged = check(&mut kit, "tires", AllTests, Verdict::RunTimeError, "RTE");
    assert_eq!((judged.tests[0].runs.len(), judged.tests[0].charge), (2, model::Charge::cpu(ms(1500))));
}

/// A game in which the submission must double what it is told, twice.
fn doubling(s: &mut Stage) -> Result<Observation, engine::SystemError> {
    for n in [3, 5] {
        if s.write(&format!("{n}\n")).is_err() {
            return exit(99, 1);
        }
        if s.read_line() != Some((2 * n).to_string()) {
            s.put("/feedback/judgemessage.txt", b"not doubled");
            return exit(43, 1);
        }
    }
    exit(42, 1)
}

fn interactive() -> Kit {
    let mut kit = kit();
    kit.package.interactive = true;
    kit.package.data.groups[0].cases.truncate(1);
    kit.validator(doubling);
    kit
}

#[test]
fn interactive_runs_talk_and_end() {
    let mut kit = interactive();
    kit.programs.insert("doubles", |s| {
        while let Some(line) = s.read_line() {
            s.write(&format!("{}\n", 2 * line.parse::<u32>().unwrap())).unwrap();
        }
        ok(1)
    });
    kit.programs.insert("triples, then crashes", |s| {
        s.read_line();
        s.write("9\n").unwrap();
        // The validator has ended when there is nothing more to read.
        assert_eq!(s.read_line(), None);
        Ok(observation(Exit::Signal(6), ms(1)))
    });
    kit.programs.insert("triples, then waits for ever", |s| {
        s.read_line();
        s.write("9\n").unwrap();
        s.wait_for_end();
        Ok(observation(Exit::Signal(9), ms(1)))
    });
    kit.programs.insert("floods", |s| {
        s.read_line();
        for _ in 0..100_000 {
            s.write("9\n").unwrap();
        }
        ok(1)
    });
    kit.programs.insert("too slow", |s| {
        while let Some(line) = s.read_line() {
            s.write(&format!("{}\n", 2 * line.parse::<u32>().unwrap())).unwrap();
        }
        ok(3000)
    });
    check(&mut kit, "doubles", AllTests, Verdict::Accepted, "AC");
    check(&mut kit, "triples, then crashes", AllTests, Verdict::WrongAnswer, "WA");
    check(&mut kit, "triples, then waits for ever", AllTests, Verdict::WrongAnswer, "WA");
    check(&mut kit, "floods", AllTests, Verdict::WrongAnswer, "WA");
    let message = |kit: &mut Kit, program: &str| {
        kit.judge(program, AllTests).unwrap().judgement.tests[0].message.clone()
    };
    let said = message(&mut kit, "triples, then waits for ever");
    let order =
        ["conversation, of one more run", " interactor | ", " program    | 9\n"].map(|part| said.find(part));
    assert!(order.is_sorted() && order[0].is_some(), "{said}");
    let judged = kit.judge("triples, then waits for ever", AllTests).unwrap().judgement;
    let transcript = judged.tests[0].transcript.as_ref().expect("it is recorded");
    let mut turns = transcript.turns.iter().map(|turn| (turn.from, turn.text.as_str()));
    assert!(turns.clone().is_sorted_by_key(|(from, _)| from == Speaker::Program), "{transcript:?}");
    assert_eq!(turns.next_back(), Some((Speaker::Program, "9\n")), "{transcript:?}");
    let flood = message(&mut kit, "floods");
    assert!(flood.contains(" more bytes\n") && flood.len() < 100_000, "{flood}");
    assert_eq!(message(&mut kit, "doubles"), "", "nobody asks what was said where all is well");
    check(&mut kit, "too slow", AllTests, Verdict::TimeLimit, "TLE");
    // Ends first, by itself, so its own failure counts although the validator then rejects.
    check(&mut kit, "crash", AllTests, Verdict::RunTimeError, "RTE");
    check(&mut kit, "wrong", AllTests, Verdict::WrongAnswer, "WA");
}

#[test]
fn a_validator_that_talks_to_nobody_is_not_ended_by_a_broken_pipe() {
    let mut kit = interactive();
    kit.validator(|s| {
        for _ in 0..100_000 {
            if s.write("a lot to tell\n").is_err() {
                return exit(99, 1);
            }
        }
        exit(43, 1)
    });
    check(&mut kit, "wrong", AllTests, Verdict::WrongAnswer, "WA");
}

#[test]
fn faults_and_judge_errors_end_interactions() {
    let mut kit = interactive();
    kit.programs.insert("waits", |s| {
        s.wait_for_end();
        Ok(observation(Exit::Signal(9), ms(1)))
    });
    kit.validator(|_| exit(1, 1));
    check(&mut kit, "waits", AllTests, Verdict::JudgeError, "JE");
    kit.validator(|_| Err(engine::SystemError::new("starting", "no memory")));
    assert!(matches!(kit.judge("waits", AllTests), Err(Fault::System(_))));
    kit.programs.insert("fault", |_| Err(engine::SystemError::new("starting", "no memory")));
    kit.validator(|s| {
        s.wait_for_end();
        exit(43, 1)
    });
    assert!(matches!(kit.judge("fault", AllTests), Err(Fault::System(_))));
    kit.assert_clean();
}

#[test]
fn handed_in_answers_are_judged_without_a_run() {
    let mut kit = kit();
    kit.package.submit_answer = true;
    // The only file answers every test.
    check(&mut kit, "2", AllTests, Verdict::WrongAnswer, "WA AC WA");
    let answers = [("1.out", "1"), ("secret/2.ans", "2"), ("4", "3")];
    let judged = kit.judge_parts(&answers, AllTests).unwrap().judgement;
    assert_eq!((judged.verdict, verdicts(&judged).as_str()), (Verdict::WrongAnswer, "AC AC WA"));
    assert_eq!(judged.tests[2].message, "nothing was submitted for this test case");
    kit.validator(equal);
    let judged = kit.judge_parts(&[("1", "1\n"), ("2", "2\n"), ("3", "3\n")], AllTests).unwrap().judgement;
    assert_eq!(judged.verdict, Verdict::Accepted);
    assert_eq!(kit.runners[0].0.specs().len(), 0);
    kit.assert_clean();
}

#[test]
fn scores_come_from_groups_and_graders() {
    let mut kit = kit();
    kit.package.scoring = true;
    let mut secret = group("secret");
    for (name, max, case) in [("secret/a", 30.0, "1"), ("secret/b", 70.0, "2")] {
        let mut inner = group(name);
        inner.settings.grading = Grading::PassFail;
        inner.settings.max_score = Some(max);
        inner.cases.push(kit.case(&format!("{name}/{case}"), case, case));
        secret.groups.push(inner);
    }
    secret.settings.max_score = Some(100.0);
    kit.package.data.groups = vec![secret];
    kit.programs.insert("half", |s| {
        let one = s.read_all() == b"1";
        s.write(if one { "1" } else { "?" }).unwrap();
        ok(1)
    });
    let judged = kit.judge("half", StopEarly).unwrap().judgement;
    assert_eq!(
        (judged.verdict, judged.score, judged.max_score),
        (Verdict::PartiallyAccepted, Some(30.0), Some(100.0))
    );
    let judged = kit.judge("echo", StopEarly).unwrap().judgement;
    assert_eq!((judged.verdict, judged.score), (Verdict::Accepted, Some(100.0)));
}

#[test]
fn graders_see_results_and_give_scores() {
    let mut kit = kit();
    kit.legacy();
    kit.package.scoring = true;
    let grader = kit.program("graders/g.sim", "grader", |s| {
        assert_eq!(s.spec().argv[1..], ["sum"]);
        let input = String::from_utf8(s.read_all()).unwrap();
        s.write(&format!("AC {}", 10 * input.matches("AC").count())).unwrap();
        ok(1)
    });
    kit.package.grader = Some(grader);
    kit.package.data.groups[0].settings.break_on_reject = false;
    kit.package.data.groups[0].settings.grading = Grading::Custom { flags: vec!["sum".into()] };
    let judged = kit.judge("echo", StopEarly).unwrap().judgement;
    assert_eq!((judged.verdict, judged.score), (Verdict::Accepted, Some(30.0)));
    kit.programs.insert("grader", |_| exit(1, 1));
    let judged = kit.judge("echo", StopEarly).unwrap().judgement;
    assert_eq!(judged.verdict, Verdict::JudgeError);
    assert!(judged.fault.unwrap().contains("the grader failed: exit code 1"));
}

const NEITHER: TimeBounds = TimeBounds { lower: false, upper: false };
const LOWER: TimeBounds = TimeBounds { lower: true, upper: false };
const UPPER: TimeBounds = TimeBounds { lower: false, upper: true };

#[test]
fn jury_submissions_are_held_against_their_promises() {
    let mut kit = kit();
    kit.jury("submissions/accepted/a.sim", "echo", Verdict::Accepted, NEITHER);
    kit.jury("submissions/accepted/b.sim", "wrong", Verdict::Accepted, NEITHER);
    kit.jury("submissions/accepted/c.absent", "echo", Verdict::Accepted, NEITHER);
    kit.jury("submissions/wrong_answer/d.sim", "wrong", Verdict::WrongAnswer, NEITHER);
    for jobs in [1, 3] {
        let verification = kit.verify(jobs).unwrap();
        let told: Vec<String> = (verification.submissions.iter())
            .map(|checked| match &checked.outcome {
                CheckOutcome::Judged { judgement, broken } => {
                    format!("{} {} {}", checked.path, verdicts(judgement), broken.is_empty())
                }
                CheckOutcome::Skipped(_) => format!("{} skipped", checked.path),
            })
            .collect();
        assert_eq!(
            told,
            [
                "submissions/accepted/a.sim AC AC AC true",
                "submissions/accepted/b.sim WA WA WA false",
                "submissions/accepted/c.absent skipped",
                "submissions/wrong_answer/d.sim WA WA WA true"
            ]
        );
        kit.assert_clean();
    }
}

#[test]
fn limits_of_one_jury_submission_hold_for_it_alone() {
    let mut kit = kit();
    kit.programs.insert("half", |s| echo(s).and_then(|_| ok(500)));
    kit.jury("submissions/accepted/a.sim", "half", Verdict::Accepted, NEITHER);
    kit.jury("submissions/time_limit_exceeded/b.sim", "half", Verdict::TimeLimit, NEITHER);
    let memory = Some(Bytes::from_mib(7));
    kit.package.submissions[1].limits = OwnLimits { time: Some(ms(200)), memory };
    let verification = kit.verify(1).unwrap();
    assert!(verification.ok(), "{verification:?}");
    let specs: Vec<_> = kit.runners.iter().flat_map(|(main, _)| main.specs()).collect();
    assert_eq!(specs.iter().filter(|spec| spec.limits.memory == memory).count(), 3);
    // What the user types wins.
    kit.overrides.cpu = Some(ms(900));
    assert!(!kit.verify(1).unwrap().ok());
}

#[test]
fn time_limits_are_inferred_from_the_jury() {
    let mut kit = kit();
    let rule = Inference::V2025_09 { ac_to_time_limit: 2.0, time_limit_to_tle: 1.5, resolution: 1.0 };
    kit.package.limits.time = TimeLimit::Inferred(rule);
    kit.jury("submissions/accepted/a.sim", "slow", Verdict::Accepted, LOWER);
    kit.programs.insert("very slow", |_| ok(40_000));
    kit.jury("submissions/time_limit_exceeded/b.sim", "very slow", Verdict::TimeLimit, UPPER);
    let verification = kit.verify(2).unwrap();
    assert_eq!(verification.time_limit, Reading::Known(ms(6000)));
    assert_eq!((verification.ok(), verification.skipped()), (true, 0));
    let runs: usize = kit.runners.iter().map(|(main, _)| main.specs().len()).sum();
    // a: compiled, 3 tests, not judged again; b: compiled, stopped after 1 test; compiled, 3 tests.
    assert_eq!(runs, 4 + 2 + 4);
    // Judging one submission infers the same limit; typed limits need no inference.
    assert_eq!(kit.judge("slow", StopEarly).unwrap().judgement.time_limit, ms(6000));
    kit.overrides.cpu = Some(ms(100));
    assert_eq!(kit.judge("slow", StopEarly).unwrap().judgement.verdict, Verdict::TimeLimit);
    kit.overrides.cpu = None;
    // Too close above: said, and judged by the limit from below; not too slow at all: a broken promise.
    for kept in [true, false] {
        kit.programs.insert("very slow", if kept { |_| ok(8_000) } else { |_| ok(1) });
        let verification = kit.verify(1).unwrap();
        assert_eq!((verification.time_limit.clone(), verification.ok()), (Reading::Known(ms(6000)), kept));
        let clash =
            |e: &Event| matches!(e, Event::Warning { message, .. } if message.contains("no time limit fits"));
        assert!(kit.events.lock().unwrap().drain(..).any(|e| clash(&e)));
    }
}

#[test]
fn legacy_margins_are_warned_of() {
    let mut kit = kit();
    kit.legacy();
    kit.package.limits.time = TimeLimit::Inferred(Inference::Legacy { multiplier: 2.0, safety_margin: 2.0 });
    kit.jury("submissions/accepted/a.sim", "echo", Verdict::Accepted, LOWER);
    kit.jury("submissions/time_limit_exceeded/b.sim", "narrow", Verdict::TimeLimit, UPPER);
    for (play, warned) in [((|_| ok(1500)) as Play, true), (|_| ok(2500), false)] {
        kit.programs.insert("narrow", play);
        kit.events.lock().unwrap().clear();
        let verification = kit.verify(1).unwrap();
        assert_eq!((verification.time_limit.clone(), verification.ok()), (Reading::Known(ms(1000)), true));
        let events = kit.events.lock().unwrap();
        let margin =
            |e: &Event| matches!(e, Event::Warning { message, .. } if message.contains("safety margin"));
        assert_eq!(events.iter().any(margin), warned);
    }
}

#[test]
fn events_tell_the_course_of_judging() {
    let mut kit = kit();
    kit.judge("echo", StopEarly).unwrap();
    let told: Vec<String> = (kit.events.lock().unwrap().iter())
        .map(|event| match event {
            Event::Warning { place, .. } => format!("warning {place}"),
            Event::Phase { phase, .. } => format!("{phase:?}"),
            Event::TimeLimit { limit, source } => format!("{limit} {source}"),
            Event::SubmissionStarted { language, tests, .. } => format!("started {language} {tests}"),
            Event::TestFinished { result, .. } => format!("{} {}", result.name, result.verdict),
            Event::SubmissionFinished { verdict, .. } => format!("finished {verdict}"),
        })
        .collect();
    assert_eq!(
        told,
        [
            "2.000 s problem.yaml: limits.time_limit",
            "Compiling",
            "started sim 3",
            "Judging",
            "secret/1 AC",
            "secret/2 AC",
            "secret/3 AC",
            "finished AC"
        ]
    );
}

#[test]
fn a_slot_without_a_crew_runs_no_submission_of_several_processes() {
    // As beside a virtual machine, which runs one.
    let mut kit = kit();
    kit.package.features.processes = Some(Processes { count: 3, streams: true });
    let fault = kit.judge("right", JudgeMode::AllTests).unwrap_err();
    assert!(fault.to_string().contains("run as 3 processes at a time"), "{fault}");
}
