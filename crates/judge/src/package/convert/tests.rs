use super::super::read;
use super::super::testing::tree;
use super::*;

/// Paths, and what is in them.
type Texts = Vec<(String, String)>;

/// The converted package as text by path; of files of the package their paths after `=`.
fn converted(files: &[(&str, &str)]) -> Result<(Texts, Vec<String>), String> {
    let tree = tree(files);
    let (package, _) = read(&tree).map_err(|e| e.to_string())?;
    let (written, warnings) = to_2025_09(&package, &tree).map_err(|e| e.to_string())?;
    let text = |content: Content| match content {
        Content::Text(text) => text,
        Content::Of(path) => format!("={path}"),
        Content::Empty => String::new(),
    };
    let warnings = warnings.iter().map(ToString::to_string).collect();
    Ok((written.into_iter().map(|file| (file.path, text(file.content))).collect(), warnings))
}

fn of<'a>(files: &'a [(String, String)], path: &str) -> &'a str {
    let found = files.iter().find(|(name, _)| name == path);
    let names: Vec<_> = files.iter().map(|(name, _)| name).collect();
    found.map(|(_, text)| text.as_str()).unwrap_or_else(|| panic!("no {path} in {names:?}"))
}

const CMS: [(&str, &str); 6] = [
    (
        "task.yaml",
        "name: a\ntitle: 'A \"b\"'\ntime_limit: 1.5\nmemory_limit: 64\ninfile: ''\noutfile: ''\nscore_type: Sum\nscore_type_parameters: 50\nn_input: 2\n",
    ),
    ("input/input0.txt", ""),
    ("output/output0.txt", ""),
    ("input/input1.txt", ""),
    ("output/output1.txt", ""),
    ("sol/solution.cpp", ""),
];

#[test]
fn limits_tests_comparisons_and_solutions_of_cms() {
    let (files, warnings) = converted(&CMS).unwrap();
    let problem = of(&files, "problem.yaml");
    for line in [
        "name: \"A \\\"b\\\"\"",
        "type: [\"scoring\"]",
        "  time_limit: 1.5",
        "  time_resolution: 0.5",
        "  memory: 64",
    ] {
        assert!(problem.contains(line), "{line} in {problem}");
    }
    assert_eq!(of(&files, "data/secret/test_group.yaml"), "max_score: 100\nscore_aggregation: sum\n");
    assert_eq!(of(&files, "data/secret/output_000.in"), "=input/input0.txt");
    assert_eq!(of(&files, "data/secret/output_000.yaml"), "output_validator_args: [\"whitediff\"]\n");
    assert!(of(&files, "output_validator/compare.py").contains("white_diff"));
    assert_eq!(of(&files, "submissions/accepted/solution.cpp"), "=sol/solution.cpp");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

#[test]
fn what_is_written_is_read_as_the_same_package() {
    let source = tree(&CMS);
    let package = read(&source).unwrap().0;
    let (files, _) = converted(&CMS).unwrap();
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let (again, warnings) = read(&tree(&files)).unwrap();
    assert_eq!(warnings, []);
    assert_eq!((again.format, again.title), (crate::package::Format::V2025_09, package.title));
    assert_eq!(again.limits.memory, package.limits.memory);
    assert_eq!(again.data.all_cases().len(), 2);
    assert_eq!(again.submissions[0].expectation.permitted, Some([model::Verdict::Accepted].into()));
}

#[test]
fn tests_with_points_of_their_own_are_groups() {
    let init = "test_cases:\n- {in: a.in, out: a.out, points: 10}\n- {in: b.in, out: b.out, points: 30}\nchecker: standard\n";
    let files = [("init.yml", init), ("a.in", ""), ("a.out", ""), ("b.in", ""), ("b.out", "")];
    let (files, warnings) = converted(&files).unwrap();
    let groups: Vec<_> = files.iter().filter(|(path, _)| path.ends_with("test_group.yaml")).collect();
    let [all, one, other] = &groups[..] else { panic!("{groups:?}") };
    assert!(all.1.starts_with("max_score: 40\n"), "{all:?}");
    assert!(one.1.starts_with("max_score: 10\n") && other.1.starts_with("max_score: 30\n"), "{groups:?}");
    assert!(warnings.iter().any(|warning| warning.contains("states none")), "{warnings:?}");
}

#[test]
fn checkers_of_testlib_and_validators_are_wrapped() {
    let xml = "<problem><names/><judging><testset name=\"tests\"><time-limit>1000</time-limit><memory-limit>268435456</memory-limit>\
        <input-path-pattern>tests/%02d</input-path-pattern><answer-path-pattern>tests/%02d.a</answer-path-pattern>\
        <tests><test group=\"x\"/></tests></testset></judging><assets><checker type=\"testlib\"><source path=\"check.cpp\" type=\"cpp.g++17\"/></checker>\
        <validators><validator><source path=\"files/val.cpp\" type=\"cpp.g++17\"/></validator></validators>\
        <solutions><solution tag=\"wrong-answer\"><source path=\"solutions/w.py\" type=\"python.3\"/></solution></solutions></assets></problem>";
    let files = [
        ("problem.xml", xml),
        ("check.cpp", ""),
        ("files/val.cpp", ""),
        ("solutions/w.py", ""),
        ("tests/01", ""),
        ("tests/01.a", ""),
        ("statements/.pdf/english/problem.pdf", ""),
    ];
    let (files, warnings) = converted(&files).unwrap();
    assert!(of(&files, "output_validator/build").contains("-o checker 'checker-source/check.cpp'"));
    let run = of(&files, "output_validator/run");
    assert!(run.contains("\"$here/checker\" \"$input\" \"$output\" \"$answer\""), "{run}");
    assert!(run.contains("7) score"), "{run}");
    assert_eq!(of(&files, "input_validators/v0-val/source/val.cpp"), "=files/val.cpp");
    let words =
        "input_validator_args:\n  v0-val: [\"check\", \"--testset\", \"tests\", \"--group\", \"x\"]\n";
    assert_eq!(of(&files, "data/secret/1.yaml"), words);
    assert_eq!(of(&files, "submissions/wrong_answer/w.py"), "=solutions/w.py");
    assert_eq!(of(&files, "submissions/submissions.yaml"), "\"wrong_answer/w.py\":\n  language: python3\n");
    assert_eq!(of(&files, "statement/problem.en.pdf"), "=statements/.pdf/english/problem.pdf");
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn all_sources_of_a_program_are_compiled() {
    let yaml = "interactive: {files: [talk.cpp, more.cpp, talk.h], lang: CPP17}\ntest_cases: [{in: a.in}]\n";
    let files = [("init.yml", yaml), ("a.in", ""), ("talk.cpp", ""), ("more.cpp", ""), ("talk.h", "")];
    let (files, _) = converted(&files).unwrap();
    let build = of(&files, "output_validator/build");
    let sources =
        ["talk.cpp", "more.cpp", "unbuffered_stdout.cpp"].map(|name| format!("'interactor-source/{name}'"));
    assert!(build.contains(&format!("-o interactor {}", sources.join(" "))), "{build}");
    assert_eq!(
        of(&files, "output_validator/interactor-source/unbuffered_stdout.cpp"),
        "=(unbuffered stdout)"
    );
}

#[test]
fn what_2025_09_cannot_say_is_refused_by_name() {
    let with = |yaml: &str, more: &[(&str, &str)]| {
        let kept = CMS[1..].iter().chain(more).copied();
        let all: Vec<_> = [("task.yaml", yaml)].into_iter().chain(kept).collect();
        converted(&all).unwrap_err()
    };
    let streams = "time_limit: 1\ninfile: ''\noutfile: ''\n";
    let multiplied = format!("{streams}score_type: GroupMul\nscore_type_parameters: [[100, 2]]\n");
    let handed = format!("{streams}output_only_testcases: 1\n");
    for (error, part) in [
        // Who converts a package knows its path, and names it.
        (with("time_limit: 1\n", &[]), "its programs read and write files in place"),
        (with(streams, &[("check/manager.cpp", "")]), "its programs talk to a manager through FIFOs"),
        (with(&multiplied, &[]), "data/secret/0: multiplies the shares"),
        (with(&handed, &[]), "outputs may be submitted"),
        (with(streams, &[("check/checker.java", "")]), "check/checker.java: is in `java`"),
    ] {
        assert!(error.starts_with(part), "{error}\nexpected {part}");
        let last = error.lines().last().unwrap_or_default();
        assert!(last.starts_with("hint: "), "{error}");
    }
}

const TESTS_OF_DMOJ: [(&str, &str); 4] = [
    ("init.yml", "test_cases:\n- {in: a.in, out: a.out, points: 10}\n- {in: b.in, out: b.out, points: 10}\n"),
    ("a.in", ""),
    ("b.in", ""),
    ("a.out", ""),
];

/// The warnings about submissions.
fn lost(files: &[(&str, &str)]) -> Vec<String> {
    let (_, warnings) = converted(files).unwrap();
    warnings.into_iter().filter(|warning| warning.contains("convert does not write")).collect()
}

#[test]
fn limits_and_promises_of_single_submissions_that_have_no_form_are_named() {
    let tests = [
        ("b.out", ""),
        ("statement/problem.en.md", ""),
        ("tests/good/test.yml", "source: a.py\nlanguage: PY3\ntime: 2\nmemory: 65536\nexpect: AC\n"),
        ("tests/good/a.py", ""),
        ("tests/slow/test.yml", "source: s.py\nlanguage: PY3\ntime: 0.5\nmemory: 16384\nexpect: TLE\n"),
        ("tests/slow/s.py", ""),
        ("tests/large/test.yml", "source: l.py\nlanguage: PY3\ntime: 2\nmemory: 65536\nexpect: MLE\n"),
        ("tests/large/l.py", ""),
        (
            "tests/broken/test.yml",
            "source: b.py\nlanguage: PY3\ntime: 2\nmemory: 65536\nexpect: IE\ncases: {1: IE, 2: AC}\n",
        ),
        ("tests/broken/b.py", ""),
    ];
    let files = [&TESTS_OF_DMOJ[..], &tests].concat();
    assert_eq!(
        lost(&files),
        [
            "tests/broken/b.py: convert does not write: the verdict JE of `secret/1` (2025-09 does not have it)",
            "tests/large/l.py: convert does not write: the verdict MLE (2025-09 has only RTE)",
            "tests/slow/s.py: convert does not write: its time limit of 0.5 s; its memory limit of 16 MiB",
        ]
    );
    let (written, _) = converted(&files).unwrap();
    let rules = of(&written, "submissions/submissions.yaml");
    // A promise of no verdict at all would be broken by every test.
    assert!(!rules.contains("[]"), "{rules}");
    assert!(rules.contains("\"secret/2\":\n    permitted: [\"AC\"]"), "{rules}");
}

#[test]
fn final_verdicts_that_tests_do_not_imply_are_named() {
    let package = |directory: &'static str| {
        let path: &'static str = match directory {
            "accepted" => "submissions/accepted/a.py",
            "rejected" => "submissions/rejected/a.py",
            "slow_accepted" => "submissions/slow_accepted/a.py",
            "wrong_answer" => "submissions/wrong_answer/a.py",
            "compile_error" => "submissions/compile_error/a.py",
            other => panic!("{other}"),
        };
        [("problem.yaml", "name: x\n"), ("data/secret/1.in", ""), ("data/secret/1.ans", ""), (path, "")]
    };
    for directory in ["accepted", "rejected", "slow_accepted", "compile_error"] {
        assert_eq!(lost(&package(directory)), Vec::<String>::new(), "{directory}");
    }
    let (files, _) = converted(&package("slow_accepted")).unwrap();
    let rule = "\"mixed/a.py\":\n  permitted: [\"AC\", \"TLE\"]\n";
    assert_eq!(of(&files, "submissions/submissions.yaml"), rule);
    let final_one = "submissions/wrong_answer/a.py: convert does not write: that the submission's verdict is WA (2025-09 states verdicts of tests only)";
    assert_eq!(lost(&package("wrong_answer")), [final_one]);
}

#[test]
fn uses_for_an_inferred_time_limit_are_kept() {
    let rules = "slow:\n  permitted: [AC]\n  use_for_time_limit: false\n";
    let files = [
        ("problem.yaml", "problem_format_version: 2025-09\nname: x\n"),
        ("data/secret/1.in", ""),
        ("data/secret/1.ans", ""),
        ("submissions/accepted/a.py", ""),
        ("submissions/slow/b.py", ""),
        ("submissions/submissions.yaml", rules),
    ];
    let (written, _) = converted(&files).unwrap();
    let rule = "\"mixed/b.py\":\n  permitted: [\"AC\"]\n  use_for_time_limit: false\n";
    assert_eq!(of(&written, "submissions/submissions.yaml"), rule);
    let written: Vec<_> = written.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let again = read(&tree(&written)).unwrap().0;
    let used: Vec<_> = again.submissions.iter().map(|jury| jury.bounds.lower).collect();
    assert_eq!(used, [true, false]);
    assert_eq!(lost(&files), Vec::<String>::new());
}
