use super::super::super::testing::tree;
use super::super::super::{HandedIn, Maker, TestCheckRun, read as read_package};
use super::*;
use model::Verdict;

const PROBLEM: &str = "{\n\t\"name\": \"cup\", \"title\": \"Cup\", \"type\": \"Batch\",\n\t\"time_limit\": 1.5, \"memory_limit\": 64\n}\n";
const TESTS: &str = "# sums\n@subtask samples\nmanual 1.in\n@testset big\ngen 5 'a b'\n@subtask full\n@include samples big\ngen 9\ncopy ../public/2.in\n";
const SUBTASKS_JSON: &str = "{\"global_validators\": [\"v.cpp\"], \"subtask_sensitive_validators\": [\"w.cpp {subtask}\"], \"subtasks\": {\n\"samples\": {\"index\": 0, \"score\": 0},\n\"full\": {\"index\": 1, \"score\": 100, \"validators\": [\"v.cpp 7\"]}}}\n";
const SOLUTIONS_JSON: &str = "{\"a.cpp\": {\"verdict\": \"model_solution\"},\n\"b.pas\": {\"verdict\": \"correct\", \"except\": {\"full\": \"time_limit\"}}}\n";

const FILES: [(&str, &str); 14] = [
    (FILE, PROBLEM),
    (DATA, TESTS),
    (SUBTASKS, SUBTASKS_JSON),
    (SOLUTIONS, SOLUTIONS_JSON),
    ("gen/gen.cpp", ""),
    ("gen/testlib.h", ""),
    ("gen/manual/1.in", ""),
    ("public/2.in", ""),
    ("validator/v.cpp", ""),
    ("validator/w.cpp", ""),
    ("solution/a.cpp", ""),
    ("solution/b.pas", ""),
    ("grader/cpp/cup.h", ""),
    ("grader/cpp/grader.cpp", ""),
];

/// The package with these files added or in place of its own.
fn reading(more: &[(&str, &str)]) -> Result<Package, String> {
    let kept = FILES.iter().filter(|(path, _)| !more.iter().any(|(other, _)| other == path));
    let all: Vec<_> = kept.chain(more).copied().collect();
    read_package(&tree(&all)).map(|(package, _)| package).map_err(|e| e.to_string())
}

#[test]
fn subtasks_include_tests_and_generators_make_them() {
    let package = reading(&[]).unwrap();
    assert_eq!((package.title.as_str(), package.format.name(), package.scoring), ("Cup", "tps", true));
    assert_eq!(package.limits.memory, Some(Bytes::from_mib(64)));
    let cases = package.data.all_cases();
    let names: Vec<_> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "secret/0-samples/0-01",
            "secret/1-full/0-01",
            "secret/1-full/big-01",
            "secret/1-full/1-01",
            "secret/1-full/1-02"
        ]
    );
    assert_eq!(cases[0].input, "gen/manual/1.in");
    assert_eq!(cases[4].input, "public/2.in");
    let by =
        |path: &str| package.features.made.files.iter().find(|made| made.path == path).map(|made| &made.by);
    let args = ["5", "a b"].map(String::from).to_vec();
    let made = Maker::Program { program: 0, args, stdin: None, from_errors: false };
    assert_eq!(by("tests/big-01.in"), Some(&made));
    let model = Maker::Submission { path: "solution/a.cpp".into(), input: "tests/1-01.in".into() };
    assert_eq!(by("tests/1-01.out"), Some(&model));
    assert_eq!(package.features.made.programs[0].files.len(), 2);
    assert_eq!((package.include.len(), package.data.groups[0].settings.max_score), (2, Some(100.0)));
    assert!(package.include.iter().all(|include| include.own_name.as_deref() == Some("cup")));
}

#[test]
fn each_input_has_its_validators_once() {
    let package = reading(&[]).unwrap();
    let [v, w] = &package.features.checks[..] else { panic!("{:?}", package.features.checks) };
    let runs = |check: &crate::package::TestCheck, input: &str| -> Vec<Vec<String>> {
        let of = check.runs.iter().filter(|run: &&TestCheckRun| run.file == input);
        of.map(|run| run.args.clone()).collect()
    };
    assert_eq!((v.accepts, v.program.path.as_str()), (0, "validator/v.cpp"));
    assert_eq!(runs(v, "gen/manual/1.in"), [vec![], vec!["7".to_string()]]);
    assert_eq!(runs(w, "gen/manual/1.in"), [["full"], ["samples"]]);
    assert_eq!(runs(w, "tests/1-01.in"), [["full"]]);
}

#[test]
fn solutions_promise_for_all_and_for_subtasks() {
    let package = reading(&[]).unwrap();
    let [model, slow] = &package.submissions[..] else { panic!("solutions") };
    assert_eq!(model.program.files[0].name, "cup.cpp");
    assert_eq!(model.expectation.verdicts, [Verdict::Accepted]);
    assert_eq!(model.expectation.score, Some((100.0, 100.0)));
    let parts: Vec<_> = slow.expectation.within.iter().map(|(group, _)| group.as_str()).collect();
    assert_eq!(parts, ["secret/1-full", "secret/0-samples"]);
    assert_eq!(slow.expectation.within[0].1.required, [Verdict::TimeLimit].into());
    assert!(slow.bounds.upper && !slow.bounds.lower && slow.expectation.verdicts.is_empty());
}

#[test]
fn managers_checkers_and_outputs() {
    let communication = PROBLEM.replace("Batch\"", "Communication\", \"num_processes\": 2");
    let manager = [(FILE, communication.as_str()), ("grader/manager.cpp", "")];
    let package = reading(&manager).unwrap();
    assert_eq!(package.features.processes, Some(Processes { count: 2, streams: false }));
    assert_eq!((package.features.calls.protocol, package.features.after.is_none()), (Protocol::Cms, true));
    let checked = reading(&[manager[0], manager[1], ("checker/checker.cpp", "")]).unwrap();
    assert_eq!(
        (checked.features.calls.protocol, checked.features.after.is_some()),
        (Protocol::ZeroOne, true)
    );
    for (testlib, protocol) in
        [("// for CMS", Protocol::Cms), ("// PCMS2", Protocol::Testlib { percent: false })]
    {
        let package = reading(&[("checker/checker.cpp", ""), (TESTLIB, testlib)]).unwrap();
        assert_eq!(package.features.calls.protocol, protocol);
    }
    let outputs = PROBLEM.replace("Batch", "OutputOnly");
    let package = reading(&[(FILE, outputs.as_str())]).unwrap();
    let cases = package.data.all_cases();
    assert_eq!(cases[3].handed_in, HandedIn::May("output_03.txt".into()));
    assert_eq!(package.languages, Some(BTreeSet::new()));
}

#[test]
fn exported_packages() {
    let problem = "{\"code\": \"cup\", \"name\": \"Cup\", \"task_type\": \"batch\", \"time_limit\": 1, \"memory_limit\": 1048576, \"task_type_params\": \"\"}";
    let files = [
        (FILE, problem),
        ("tests/0-01.in", ""),
        ("tests/0-01.out", ""),
        ("subtasks/00-a.json", "{\"score\": 40, \"testcases\": [\"0-01\"]}"),
        ("graders/grader.cpp", ""),
        ("graders/manager.cpp", ""),
        ("graders/cup.h", ""),
    ];
    let (package, _) = read_package(&tree(&files)).unwrap();
    assert_eq!(package.limits.memory, Some(Bytes::from_mib(1)));
    assert_eq!(package.data.all_cases()[0].name, "secret/0-00-a/0-01");
    assert_eq!((package.include.len(), package.data.groups[0].settings.max_score), (3, Some(40.0)));
    let alike = read_package(&tree(&files[..3])).unwrap().0;
    assert_eq!(alike.data.groups[0].settings.max_score, Some(100.0));
}

#[test]
fn malformed_packages_name_file_and_element() {
    let problem = |from: &str, to: &str| vec![(FILE, PROBLEM.replace(from, to))];
    let tests = |text: &str| vec![(DATA, text.to_string())];
    let subtasks = |from: &str, to: &str| vec![(SUBTASKS, SUBTASKS_JSON.replace(from, to))];
    let solutions = |from: &str, to: &str| vec![(SOLUTIONS, SOLUTIONS_JSON.replace(from, to))];
    for (files, start) in [
        (vec![(FILE, "{\"a\": [".to_string())], "problem.json:1: not readable as json"),
        (vec![(FILE, "[1]".to_string())], "problem.json:1: must be a map"),
        (problem("Batch", "TwoSteps"), "problem.json:2: type: `TwoSteps` is not supported"),
        (problem("\"type\": \"Batch\",", ""), "problem.json:1: type: is missing"),
        (problem("1.5", "\"soon\""), "problem.json:3: time_limit: must be a number"),
        (problem("64", "-1"), "problem.json:3: memory_limit: must be above 0"),
        (problem("Batch", "Communication"), "problem.json:2: type: is Communication, but there is neither"),
        (tests("gen 1\n"), "gen/data:1: comes before any subtask"),
        (tests("@include x\n"), "gen/data:1: `x` is not a testset so far"),
        (tests("@subtask samples\n@subtask samples\n"), "gen/data:2: `samples` is there already"),
        (tests("@subtask\n"), "gen/data:1: `@subtask` needs one name"),
        (tests("@order x\n"), "gen/data:1: `@order` is not one of"),
        (tests("@subtask samples\ngen 'a\n"), "gen/data:2: has a quotation without its end"),
        (tests("@subtask samples\nmanual 9.in\n@subtask full\n"), "gen/data:2: `9.in` is not in gen/manual/"),
        (
            tests("@subtask samples\nother 9\n@subtask full\n"),
            "gen/data:2: there is no generator gen/other.cpp",
        ),
        (tests("@subtask samples\ncopy ../../x\n@subtask full\n"), "gen/data:2: `../../x` is not in gen/"),
        (tests("@subtask samples\n@subtask full\n"), "gen/data: has no test in any subtask"),
        (
            tests("@subtask other\ngen 1\n"),
            "subtasks.json:1: subtasks.other: is missing, a subtask of gen/data",
        ),
        (subtasks("100", "\"many\""), "subtasks.json:3: subtasks.full.score: must be a number"),
        (subtasks("[\"v.cpp 7\"]", "7"), "subtasks.json:3: subtasks.full.validators: must be a list of text"),
        (subtasks("v.cpp 7", "x.cpp"), "subtasks.json: validators: `x.cpp` is not in validator/"),
        (solutions("a.cpp", "c.cpp"), "solutions.json:1: c.cpp: is not in solution/"),
        (
            solutions("correct", "right"),
            "solutions.json:2: b.pas.verdict: `right` is not one of model_solution",
        ),
        (solutions("\"full\":", "\"most\":"), "solutions.json:2: b.pas.except.most: is not a subtask"),
        (solutions("model_solution", "correct"), "solutions.json: has no `model_solution`, which would make"),
    ] {
        let files: Vec<_> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let error = reading(&files).err().unwrap_or_else(|| panic!("was read: {start}"));
        assert!(error.starts_with(start), "{error}\nexpected {start}");
    }
    let alone = read_package(&tree(&FILES[..1])).unwrap_err().to_string();
    assert!(alone.starts_with("gen/data: is missing, and so is tests/"), "{alone}");
}
