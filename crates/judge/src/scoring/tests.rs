use super::*;
use crate::package::{
    Format, Grading, GroupSettings, Inference, PackageLimits, ScoreMode, TimeLimit, Validator, VerdictMode,
};
use crate::verdict::ValidationOutcome;
use model::Verdict::{self, Accepted as AC, JudgeError as JE, TimeLimit as TLE, WrongAnswer as WA};
use proptest::prelude::*;

fn package(format: Format, scoring: bool, groups: Vec<TestGroup>) -> Package {
    let rule = Inference::Legacy { multiplier: 5.0, safety_margin: 2.0 };
    let root = match format {
        Format::V2025_09 if scoring => recent(Grading::Sum, None, &[]),
        Format::V2025_09 | Format::Foreign(_) => recent(Grading::PassFail, None, &[]),
        Format::Legacy | Format::LegacyIcpc => legacy(""),
    };
    Package {
        short_name: "p".into(),
        title: "P".into(),
        format,
        scoring,
        interactive: false,
        multi_pass: false,
        submit_answer: false,
        limits: PackageLimits {
            time: TimeLimit::Inferred(rule),
            rule,
            memory: None,
            output: None,
            code: None,
            compilation_time: None,
            compilation_memory: None,
            validation_time: None,
            validation_memory: None,
            validation_output: None,
            passes: 1,
        },
        validator: Validator::Default,
        data: group("", root, groups, &[]),
        grader: None,
        include: vec![],
        submissions: vec![],
        languages: None,
        constants: vec![],
        maximise: true,
        features: crate::package::FormatFeatures::default(),
    }
}

fn legacy(flags: &str) -> GroupSettings {
    let has = |flag| flags.split(' ').any(|f| f == flag);
    let grading = Grading::LegacyDefault {
        verdict: match () {
            _ if has("always_accept") => VerdictMode::AlwaysAccept,
            _ if has("first_error") => VerdictMode::FirstError,
            _ => VerdictMode::WorstError,
        },
        score: match () {
            _ if has("avg") => ScoreMode::Average,
            _ if has("min") => ScoreMode::Min,
            _ if has("max") => ScoreMode::Max,
            _ => ScoreMode::Sum,
        },
        ignore_sample: has("ignore_sample"),
        accept_if_any_accepted: has("accept_if_any_accepted"),
    };
    GroupSettings {
        break_on_reject: !has("continue"),
        grading,
        accept_score: 1.0,
        reject_score: 0.0,
        range: None,
        max_score: None,
        require_pass: vec![],
    }
}

fn recent(grading: Grading, max_score: Option<f64>, require_pass: &[&str]) -> GroupSettings {
    let require_pass = require_pass.iter().map(|s| s.to_string()).collect();
    GroupSettings { grading, max_score, require_pass, ..legacy("") }
}

fn group(name: &str, settings: GroupSettings, groups: Vec<TestGroup>, cases: &[&str]) -> TestGroup {
    let path = |case: &str| if name.is_empty() { case.to_string() } else { format!("{name}/{case}") };
    let case = |case: &&str| TestCase {
        name: path(case),
        input: path(case) + ".in",
        answer: path(case) + ".ans",
        args: vec![],
        validator_flags: vec![],
        files: vec![],
        ..TestCase::default()
    };
    TestGroup { name: name.into(), settings, groups, cases: cases.iter().map(case).collect() }
}

fn accepts(score: Option<f64>, multiplier: Option<f64>) -> Validation {
    Validation { score, multiplier, ..Validation::plain(ValidationOutcome::Accepted, String::new()) }
}

/// Judges with verdicts (and validators' results) by name, AC where none is given; returns the names run.
fn judge(
    package: &Package,
    mode: JudgeMode,
    results: &[(&str, Verdict, Option<Validation>)],
    mut grader: impl FnMut(&str, &[String], &str) -> Result<GroupResult, String>,
) -> (GroupResult, Vec<String>) {
    let mut judging = Judging::new(package, mode);
    let mut run = Vec::new();
    loop {
        match judging.next() {
            Step::Run(case) => {
                run.push(case.name.clone());
                let given = results.iter().find(|(name, ..)| *name == case.name);
                let (verdict, validation) = given.map_or((AC, None), |(_, v, s)| (*v, s.as_ref()));
                judging.record(&case.name, verdict, validation);
            }
            Step::Grade { group, flags, input } => {
                let result = grader(group, flags, &input);
                judging.graded(result);
            }
            Step::Done(result) => return (result, run),
        }
    }
}

/// Checks verdict and score in both modes, and the number of tests run by the one that stops early.
#[track_caller]
fn check(package: &Package, results: &[(&str, Verdict)], expected: (Verdict, Option<f64>), tests_run: usize) {
    let results: Vec<_> = results.iter().map(|(name, verdict)| (*name, *verdict, None)).collect();
    check_scored(package, &results, expected, tests_run);
}

#[track_caller]
fn check_scored(
    package: &Package,
    results: &[(&str, Verdict, Option<Validation>)],
    expected: (Verdict, Option<f64>),
    tests_run: usize,
) -> Option<String> {
    let no_grader = |_: &str, _: &[String], _: &str| Err("no grader".to_string());
    let (early, run) = judge(package, JudgeMode::StopEarly, results, no_grader);
    let (all, run_all) = judge(package, JudgeMode::AllTests, results, no_grader);
    assert_eq!(early, all, "the modes differ");
    assert_eq!((early.verdict, early.score), expected, "{:?}", early.fault);
    assert_eq!(run.len(), tests_run, "run: {run:?}");
    assert_eq!(run_all.len(), package.data.all_cases().len());
    early.fault
}

fn plain(format: Format) -> Package {
    let sample = group("sample", legacy(""), vec![], &["1"]);
    let secret = group("secret", legacy(""), vec![], &["1", "2", "3"]);
    package(format, false, vec![sample, secret])
}

#[test]
fn pass_fail_takes_the_first_rejection() {
    for format in [Format::Legacy, Format::LegacyIcpc, Format::V2025_09] {
        let package = plain(format);
        check(&package, &[], (AC, None), 4);
        check(&package, &[("secret/2", TLE), ("secret/3", WA)], (TLE, None), 3);
        check(&package, &[("sample/1", WA), ("secret/1", TLE)], (WA, None), 1);
        check(&package, &[("secret/1", JE)], (JE, None), 2);
        check(&package, &[("secret/1", WA), ("secret/2", JE)], (WA, None), 2);
    }
}

#[test]
fn a_package_without_tests_is_a_judge_error() {
    for format in [Format::Legacy, Format::V2025_09] {
        check(&package(format, false, vec![group("sample", legacy(""), vec![], &[])]), &[], (JE, None), 0);
    }
}

/// Two groups of secret data of `case` points each, one sample, and the settings of all three.
fn olympiad(root: &str, secret: &str, inner: &str) -> Package {
    let scored = |flags: &str, points: f64| GroupSettings { accept_score: points, ..legacy(flags) };
    let groups = vec![
        group("secret/a", scored(inner, 10.0), vec![], &["1", "2"]),
        group("secret/b", scored(inner, 20.0), vec![], &["1", "2"]),
    ];
    let sample = group("sample", scored("", 0.0), vec![], &["1"]);
    let secret = group("secret", legacy(secret), groups, &[]);
    let mut package = package(Format::Legacy, true, vec![sample, secret]);
    package.data.settings = legacy(root);
    package
}

#[test]
fn legacy_groups_are_graded_from_the_inside_out() {
    let package = olympiad("ignore_sample", "always_accept continue", "min");
    assert_eq!(max_score(&package, false), Some(30.0));
    check(&package, &[], (AC, Some(30.0)), 5);
    check(&package, &[("secret/a/1", WA)], (Verdict::PartiallyAccepted, Some(20.0)), 4);
    check(&package, &[("secret/a/1", WA), ("secret/b/2", TLE)], (Verdict::PartiallyAccepted, Some(0.0)), 4);
    // The rejected sample ends the judging although it is ignored otherwise.
    check(&package, &[("sample/1", TLE)], (TLE, None), 1);
    let package = olympiad("ignore_sample continue", "always_accept continue", "sum continue");
    check(&package, &[("sample/1", TLE)], (AC, Some(60.0)), 5);
    check(&package, &[("secret/b/1", WA)], (Verdict::PartiallyAccepted, Some(40.0)), 5);
}

#[test]
fn legacy_verdict_and_score_modes() {
    let one = |flags: &str| {
        let secret = group("secret", legacy(flags), vec![], &["1", "2", "3", "4"]);
        let mut package = package(Format::Legacy, true, vec![secret]);
        package.data.settings = legacy("continue");
        package
    };
    let mixed = [("secret/1", WA), ("secret/3", TLE)];
    check(&one(""), &mixed, (WA, None), 1);
    check(&one("continue"), &mixed, (TLE, None), 4);
    check(&one("continue first_error"), &mixed, (WA, None), 4);
    check(&one("continue accept_if_any_accepted"), &mixed, (Verdict::PartiallyAccepted, Some(2.0)), 4);
    check(&one("continue always_accept avg"), &mixed, (Verdict::PartiallyAccepted, Some(0.5)), 4);
    check(&one("continue always_accept min"), &mixed, (Verdict::PartiallyAccepted, Some(0.0)), 4);
    check(&one("continue always_accept max"), &mixed, (AC, Some(1.0)), 4);
    let worst = [("secret/1", WA), ("secret/2", Verdict::OutputLimit), ("secret/3", Verdict::MemoryLimit)];
    check(&one("continue"), &worst, (Verdict::MemoryLimit, None), 4);
}

#[test]
fn legacy_scores_come_from_the_validator_where_it_gives_one() {
    let mut package = package(Format::Legacy, true, vec![group("secret", legacy(""), vec![], &["1", "2"])]);
    let scored = [("secret/1", AC, Some(accepts(Some(7.5), None)))];
    check_scored(&package, &scored, (AC, Some(8.5)), 2);
    package.data.settings.range = Some((0.0, 10.0));
    check_scored(&package, &scored, (Verdict::PartiallyAccepted, Some(8.5)), 2);
    package.data.settings.range = Some((0.0, 8.0));
    let fault = check_scored(&package, &scored, (JE, None), 2);
    assert_eq!(fault.unwrap(), "the test data: score 8.5 is outside its range 0 to 8");
    // Low scores are good: the best is the low end.
    package.maximise = false;
    package.data.settings.range = Some((2.0, 10.0));
    check_scored(&package, &scored, (Verdict::PartiallyAccepted, Some(8.5)), 2);
    check_scored(&package, &[], (AC, Some(2.0)), 2);
}

#[test]
fn a_rejected_test_has_the_reject_score_of_its_group() {
    let settings = GroupSettings { reject_score: -2.0, ..legacy("continue always_accept") };
    let secret = group("secret", settings, vec![], &["1", "2", "3"]);
    let package = package(Format::Legacy, true, vec![secret]);
    check(&package, &[("secret/2", WA)], (Verdict::PartiallyAccepted, Some(0.0)), 3);
}

#[test]
fn a_threshold_is_the_greatest_share_that_counts() {
    let points = group("secret", recent(Grading::Threshold(20.0), Some(50.0), &[]), vec![], &["1", "2"]);
    let package = package(Format::V2025_09, true, vec![points]);
    for (share, score) in [(0.0, 0.0), (0.5, 50.0), (20.0, 50.0), (20.5, 0.0)] {
        let shares = [("secret/1", 1.0), ("secret/2", share)];
        let results = shares.map(|(name, share)| (name, AC, Some(accepts(None, Some(share)))));
        let (result, _) = judge(&package, JudgeMode::AllTests, &results, |_, _, _| Err("none".into()));
        assert_eq!(result.score, Some(score), "{share}");
    }
}

#[test]
fn ignored_samples_may_score_outside_the_range() {
    let mut package = olympiad("ignore_sample", "always_accept continue", "min");
    for part in &mut package.data.groups {
        part.settings.range = Some((0.0, 30.0));
    }
    package.data.groups[0].settings.accept_score = 100.0;
    check(&package, &[], (AC, Some(30.0)), 5);
}

#[test]
fn custom_graders_are_asked_once_per_group() {
    let mut package = olympiad("ignore_sample", "always_accept continue", "min continue");
    let flags = vec!["best".to_string()];
    package.data.groups[1].groups[0].settings.grading = Grading::Custom { flags: flags.clone() };
    let results = [("secret/a/1", Verdict::MemoryLimit, None)];
    for mode in [JudgeMode::StopEarly, JudgeMode::AllTests] {
        let mut asked = 0;
        let (result, _) = judge(&package, mode, &results, |name, given, input| {
            asked += 1;
            assert_eq!((name, given, input), ("secret/a", &flags[..], "RTE 0\nAC 10\n"));
            parse_grade(b"AC 4.5\n")
        });
        assert_eq!((result.verdict, result.score, asked), (AC, Some(24.5), 1));
        let (result, _) = judge(&package, mode, &results, |_, _, _| parse_grade(b"42"));
        assert_eq!(result.verdict, JE);
        let fault = result.fault.unwrap();
        assert!(fault.starts_with("grader on test group secret/a: its output must be a verdict"), "{fault}");
    }
}

#[test]
fn graders_answer_with_a_verdict_and_a_score() {
    assert_eq!(parse_grade(b" WA\t-1.5 \n"), Ok(GroupResult::new(WA, Some(-1.5))));
    for output in
        [&b""[..], b"AC", b"AC ten", b"10 AC", b"AC 1 2", b"AC nan", b"PA 3", b"CE 0", b"JE 0", b"\xff 1"]
    {
        assert!(parse_grade(output).is_err(), "{:?}", output.escape_ascii());
    }
}

/// 2025-09: a pass-fail group a (30), a min group b (20) that needs a, a sum group c (50) that needs the sample.
fn modern() -> Package {
    let groups = vec![
        group("secret/a", recent(Grading::PassFail, Some(30.0), &[]), vec![], &["1", "2"]),
        group("secret/b", recent(Grading::Min, Some(20.0), &["secret/a"]), vec![], &["1", "2"]),
        group("secret/c", recent(Grading::Sum, Some(50.0), &["sample"]), vec![], &["1", "2"]),
    ];
    let sample = group("sample", recent(Grading::PassFail, None, &[]), vec![], &["1"]);
    let secret = group("secret", recent(Grading::Sum, Some(100.0), &[]), groups, &[]);
    package(Format::V2025_09, true, vec![sample, secret])
}

#[test]
fn recent_groups_score_and_depend_on_each_other() {
    let package = modern();
    let partly = |score| (Verdict::PartiallyAccepted, Some(score));
    assert_eq!(max_score(&package, false), Some(100.0));
    check(&package, &[], (AC, Some(100.0)), 7);
    check(&package, &[("secret/a/1", WA)], partly(50.0), 4);
    check(&package, &[("sample/1", WA)], partly(50.0), 5);
    check(&package, &[("secret/b/1", TLE)], partly(80.0), 6);
    check(&package, &[("secret/c/1", TLE)], partly(75.0), 7);
    let none = [("sample/1", TLE), ("secret/a/2", WA)];
    check(&package, &none, (WA, Some(0.0)), 3);
    check(&package, &[("secret/b/2", JE)], (JE, None), 5);
}

/// Subtotals of a submission with these rejected tests, all others accepted: name, score, maximum.
fn subtotals(package: &Package, rejected: &[&str]) -> Vec<(String, f64, Option<f64>)> {
    let mut judging = Judging::new(package, JudgeMode::AllTests);
    while let Step::Run(case) = judging.next() {
        let verdict = if rejected.contains(&case.name.as_str()) { WA } else { AC };
        judging.record(&case.name, verdict, None);
    }
    judging.subtotals().into_iter().map(|group| (group.name, group.score, group.max_score)).collect()
}

#[test]
fn groups_tell_their_part_of_the_score() {
    let named = |parts: [(&str, f64, f64); 3]| {
        parts.map(|(name, score, max)| (format!("secret/{name}"), score, Some(max))).to_vec()
    };
    let recent = modern();
    let parts = subtotals(&recent, &["secret/c/1"]);
    assert_eq!(parts, named([("a", 30.0, 30.0), ("b", 20.0, 20.0), ("c", 25.0, 50.0)]));
    let parts = subtotals(&recent, &["secret/a/2"]);
    assert_eq!(parts, named([("a", 0.0, 30.0), ("b", 0.0, 20.0), ("c", 50.0, 50.0)]));
    let legacy = olympiad("ignore_sample", "always_accept continue", "sum continue");
    let parts = subtotals(&legacy, &["secret/b/1"]);
    assert_eq!(parts, named([("a", 20.0, 20.0), ("b", 20.0, 40.0), ("", 0.0, 0.0)])[..2]);
    // Where samples count, they and the secret data are parts, too.
    let all = olympiad("continue", "always_accept continue", "min");
    let names: Vec<String> = subtotals(&all, &[]).into_iter().map(|part| part.0).collect();
    assert_eq!(names, ["sample", "secret", "secret/a", "secret/b"]);
    let pass_fail = Package { scoring: false, ..modern() };
    assert_eq!(subtotals(&pass_fail, &[]), []);
}

#[test]
fn recent_scores_of_test_cases() {
    let package = modern();
    let case = |name: &'static str, score, multiplier| [(name, AC, Some(accepts(score, multiplier)))];
    let partly = |score| (Verdict::PartiallyAccepted, Some(score));
    check_scored(&package, &case("secret/b/1", Some(5.0), None), partly(85.0), 7);
    check_scored(&package, &case("secret/c/1", None, Some(0.5)), partly(87.5), 7);
    check_scored(&package, &case("sample/1", Some(5.0), None), (AC, Some(100.0)), 7);
    for (results, part) in [
        (
            case("secret/a/1", Some(5.0), None),
            "secret/a/1: the validator left score.txt in a group that is pass-fail",
        ),
        (case("secret/b/1", Some(21.0), None), "more than the most this test case can give, 20"),
        (case("secret/b/1", Some(-1.0), None), "negative"),
        (case("secret/c/1", None, Some(1.5)), "not between 0 and 1"),
    ] {
        let run = if part.contains("secret/a") {
            2
        } else if part.contains("0 and 1") {
            6
        } else {
            4
        };
        let fault = check_scored(&package, &results, (JE, None), run).unwrap();
        assert!(fault.contains(part), "{fault}");
    }
    let rejected = Validation { outcome: ValidationOutcome::Rejected, ..accepts(Some(1.0), None) };
    let fault = check_scored(&package, &[("secret/b/1", WA, Some(rejected))], (JE, None), 4);
    assert!(fault.unwrap().contains("rejected and left score.txt"));
}

#[test]
fn unbounded_groups_need_scores() {
    let sample = group("sample", recent(Grading::PassFail, None, &[]), vec![], &[]);
    let secret = group("secret", recent(Grading::Sum, None, &[]), vec![], &["1", "2"]);
    let package = package(Format::V2025_09, true, vec![sample, secret]);
    let score = |s| Some(accepts(Some(s), None));
    check_scored(&package, &[("secret/1", AC, score(3e3)), ("secret/2", AC, score(0.0))], (AC, Some(3e3)), 2);
    let fault = check_scored(&package, &[("secret/1", AC, score(1.0))], (JE, None), 2);
    assert!(fault.unwrap().contains("score.txt is missing"));
    let fault = check_scored(&package, &[("secret/1", AC, Some(accepts(None, Some(0.5))))], (JE, None), 1);
    assert!(fault.unwrap().contains("unbounded"));
}

#[test]
fn drafts_may_be_graded_as_in_legacy() {
    let mut package = olympiad("ignore_sample", "always_accept continue", "min");
    package.format = Format::V2025_09;
    check(&package, &[("secret/a/1", WA)], (Verdict::PartiallyAccepted, Some(20.0)), 4);
}

#[test]
fn a_required_sample_may_be_missing() {
    let mut package = modern();
    package.data.groups.remove(0);
    check(&package, &[], (AC, Some(100.0)), 6);
}

#[test]
fn a_group_can_only_require_an_earlier_one() {
    for required in ["secret/c", "secret/b", "secret", "secret/z"] {
        let mut package = modern();
        package.data.groups[1].groups[1].settings.require_pass = vec![required.into()];
        let fault = check_scored(&package, &[], (JE, None), 3).unwrap();
        assert!(fault.contains(&format!("require_pass names `{required}`")), "{fault}");
    }
}

#[test]
fn groups_can_be_looked_at() {
    let (modern, olympiad) = (modern(), olympiad("ignore_sample", "always_accept continue", "min"));
    for (package, names) in [(&modern, 5), (&olympiad, 4)] {
        let mut judging = Judging::new(package, JudgeMode::StopEarly);
        assert_eq!(judging.groups(), []);
        while let Step::Run(case) = judging.next() {
            judging.record(&case.name, AC, None);
        }
        let groups = judging.groups();
        assert_eq!(groups.len(), names);
        assert!(groups.iter().any(|(name, result)| name == "secret/b" && result.score == Some(20.0)));
    }
}

fn verdicts() -> impl Strategy<Value = Vec<Verdict>> {
    let one = prop_oneof![6 => Just(AC), 1 => Just(WA), 1 => Just(TLE), 1 => Just(Verdict::RunTimeError)];
    prop::collection::vec(one, 7)
}

proptest! {
    #[test]
    fn modes_agree_and_scores_stay_in_bounds(verdicts in verdicts(), which in 0usize..5) {
        let package = match which {
            0 => plain(Format::Legacy),
            1 => plain(Format::V2025_09),
            2 => modern(),
            3 => olympiad("ignore_sample continue", "always_accept continue", "min"),
            _ => olympiad("", "continue", "sum"),
        };
        let names: Vec<String> = package.data.all_cases().iter().map(|c| c.name.clone()).collect();
        let results: Vec<_> = names.iter().map(String::as_str).zip(verdicts.clone()).map(|(n, v)| (n, v, None)).collect();
        let no_grader = |_: &str, _: &[String], _: &str| Err(String::new());
        let (early, run) = judge(&package, JudgeMode::StopEarly, &results, no_grader);
        let (all, _) = judge(&package, JudgeMode::AllTests, &results, no_grader);
        prop_assert_eq!(&early, &all);
        // Nothing is run twice or out of order.
        prop_assert!(run.windows(2).all(|w| w[0] < w[1]), "{:?}", run);
        let clean = verdicts[..names.len()].iter().all(|v| *v == AC);
        if clean {
            prop_assert_eq!(early.verdict, AC);
        }
        if let (Some(score), Some(best)) = (early.score, max_score(&package, false)) {
            prop_assert!((0.0..=best).contains(&score));
            prop_assert_eq!(early.verdict == AC, score == best);
        }
        // The final verdict is one that was earned, or what accepted parts add up to.
        prop_assert!(matches!(early.verdict, AC | Verdict::PartiallyAccepted) || verdicts.contains(&early.verdict));
    }
}
