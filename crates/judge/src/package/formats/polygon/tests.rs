use super::super::super::testing::tree;
use super::super::super::{Entry, Expectation, read as read_package};
use super::*;
use model::Verdict;

const CHECKER: &str = "<checker type=\"testlib\"><source path=\"check.cpp\" type=\"cpp.g++17\"/></checker>";

/// A package with these tests, groups, further assets and attributes of `judging`.
fn xml(judging: &str, tests: &str, groups: &str, assets: &str, more: &str) -> String {
    format!(
        "<problem><names><name language=\"russian\" value=\"R\"/><name language=\"english\" value=\"T &amp; U\"/></names>\n\
         <judging {judging}><testset name=\"tests\">\n<time-limit>1500</time-limit>\n<memory-limit>268435456</memory-limit>\n\
         <input-path-pattern>tests/%02d</input-path-pattern><answer-path-pattern>tests/%02d.a</answer-path-pattern>\n\
         <tests>{tests}</tests>\n<groups>{groups}</groups></testset></judging>\n<assets>{assets}\n<solutions>\
         <solution tag=\"main\"><source path=\"solutions/m.cpp\" type=\"cpp.g++17\"/></solution></solutions></assets>\n{more}</problem>"
    )
}

fn plain(tests: &str, groups: &str) -> String {
    xml("", tests, groups, CHECKER, "")
}

const FILES: [(&str, &str); 8] = [
    ("check.cpp", "#include \"testlib.h\"\n"),
    ("files/testlib.h", ""),
    ("solutions/m.cpp", ""),
    ("tests/01", ""),
    ("tests/01.a", ""),
    ("tests/02", ""),
    ("tests/02.a", ""),
    ("files/gen.cpp", ""),
];

fn package_with(xml: &str, warned: &[&str]) -> Package {
    let all: Vec<_> = [(FILE, xml)].into_iter().chain(FILES).collect();
    let (package, warnings) = read_package(&tree(&all)).unwrap_or_else(|e| panic!("{e}\n{xml}"));
    let warnings: Vec<String> = warnings.iter().map(Warning::to_string).collect();
    assert!(
        warnings.len() == warned.len() && warnings.iter().zip(warned).all(|(w, e)| w.contains(e)),
        "{warnings:?}"
    );
    package
}

fn names(package: &Package) -> Vec<&str> {
    package.data.all_cases().iter().map(|case| case.name.as_str()).collect()
}

#[test]
fn a_problem_without_points() {
    let package = package_with(&plain("<test method=\"manual\" sample=\"true\"/><test/>", ""), &[]);
    assert_eq!((package.title.as_str(), package.scoring), ("T & U", false));
    assert_eq!(names(&package), ["sample/1", "secret/2"]);
    assert_eq!(package.limits.memory, Some(Bytes::from_mib(256)));
    assert!(
        matches!(&package.limits.time, TimeLimit::Stated { limit, .. } if *limit == Nanos::from_millis(1500))
    );
    let Validator::Custom(programs) = &package.validator else { panic!("no checker") };
    let files: Vec<_> = programs[0].files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!((files, programs[0].language.as_deref()), (vec!["check.cpp", "testlib.h"], Some("cpp")));
    assert_eq!(package.features.calls.protocol, Protocol::Testlib { percent: false });
    assert_eq!(package.submissions[0].expectation.verdicts, [Verdict::Accepted]);
    assert!(package.features.made.files.is_empty());
}

#[test]
fn tests_that_are_not_there_are_made() {
    let tests = "<test/><test/><test method=\"generated\" cmd=\"gen -n 3  x\"/>";
    let more = "<files><executables><executable><source path=\"files/gen.cpp\" type=\"cpp.g++17\"/></executable></executables></files>";
    let package = package_with(&xml("", tests, "", CHECKER, more), &[]);
    let made =
        |path: &str| package.features.made.files.iter().find(|made| made.path == path).map(|made| &made.by);
    let args = ["-n", "3", "x"].map(str::to_string).into();
    assert_eq!(made("tests/03"), Some(&Maker::Program { program: 0, args, stdin: None, from_errors: false }));
    let main = "solutions/m.cpp".to_string();
    assert_eq!(made("tests/03.a"), Some(&Maker::Submission { path: main, input: "tests/03".into() }));
    // Written on Windows, as far as is known.
    assert!(matches!(made("tests/01"), Some(Maker::Lines { ended: false, .. })));
}

#[test]
fn groups_with_points_policies_and_dependencies() {
    let tests = "<test group=\"b\" points=\"2\"/><test group=\"a\" points=\"3.5\"/>";
    let groups = "<group name=\"a\" points-policy=\"each-test\"><dependencies><dependency group=\"b\"/></dependencies></group>\
                  <group name=\"b\" points=\"10\" points-policy=\"complete-group\"/>";
    let package = package_with(&plain(tests, groups), &[]);
    assert!(package.scoring);
    assert_eq!(names(&package), ["secret/1-b/1", "secret/2-a/2"]);
    let [b, a] = &package.data.groups[0].groups[..] else { panic!("groups") };
    assert_eq!(
        (&b.settings.grading, b.settings.max_score, b.cases[0].points),
        (&Grading::Min, Some(10.0), None)
    );
    assert_eq!(
        (&a.settings.grading, a.settings.max_score, a.cases[0].points),
        (&Grading::Sum, Some(3.5), Some(3.5))
    );
    assert_eq!(a.settings.require_pass, ["secret/1-b"]);
    assert_eq!(package.data.groups[0].settings.max_score, Some(13.5));
    // Without any points the groups mean nothing.
    assert!(!package_with(&plain("<test group=\"a\"/><test/>", "<group name=\"a\"/>"), &[]).scoring);
}

#[test]
fn interactors_files_and_second_runs() {
    let interactor =
        format!("{CHECKER}<interactor><source path=\"files/gen.cpp\" type=\"cpp.g++17\"/></interactor>");
    let interactive = package_with(&xml("", "<test/>", "", &interactor, ""), &[]);
    assert!(interactive.interactive && interactive.features.after.is_some());
    let named = package_with(&xml("input-file=\"in.txt\" output-file=\"\"", "<test/>", "", CHECKER, ""), &[]);
    assert_eq!(named.features.file_io, FileIo { input: Some("in.txt".into()), ..FileIo::default() });
    let twice = package_with(&xml("run-count=\"2\"", "<test/>", "", CHECKER, ""), &[]);
    assert_eq!((twice.features.second_pass, twice.limits.passes), (SecondPass::Printed, 2));
    let written = package_with(&xml("run-count=\"2\"", "<test/>", "", &interactor, ""), &[]);
    assert_eq!(written.features.second_pass, SecondPass::Written);
    let percent = "treat-points-from-checker-as-percent=\"true\"";
    let percent = package_with(&xml(percent, "<test points=\"1\"/>", "", CHECKER, ""), &[]);
    assert_eq!(percent.features.calls.protocol, Protocol::Testlib { percent: true });
}

#[test]
fn tags_promise() {
    use Verdict::{Accepted as AC, TimeLimit as TLE, WrongAnswer as WA};
    for (tag, permitted, required) in [
        ("wrong-answer", Some(vec![AC, WA]), vec![WA]),
        ("presentation-error", Some(vec![AC, WA]), vec![WA]),
        ("time-limit-exceeded-or-accepted", Some(vec![AC, TLE]), vec![]),
    ] {
        let tagged = plain("<test/>", "").replace("tag=\"main\"", &format!("tag=\"{tag}\""));
        let package = package_with(&tagged, &[]);
        let promised = Expectation {
            permitted: permitted.map(|all| all.into_iter().collect()),
            required: required.into_iter().collect(),
            ..Expectation::default()
        };
        assert_eq!(package.submissions[0].expectation, promised, "{tag}");
    }
    let skipped = plain("<test/>", "").replace("tag=\"main\"", "tag=\"do-not-run\"");
    assert!(package_with(&skipped, &[]).submissions.is_empty());
    let odd = plain("<test/>", "").replace("tag=\"main\"", "tag=\"odd\"");
    package_with(&odd, &["the tag `odd`"]);
}

#[test]
fn tests_of_windows_packages_get_other_ends_of_lines() {
    let text = plain("<test/>", "");
    let with = |name: &str| {
        let all: Vec<_> = [(FILE, text.as_str()), (name, "")].into_iter().chain(FILES).collect();
        read_package(&tree(&all)).unwrap().0.features.made.files.len()
    };
    assert_eq!((with("check.exe"), with("files/runexe.exe")), (2, 0));
}

#[test]
fn malformed_packages_name_file_and_element() {
    let whole = plain("<test/>", "");
    let scored = |groups: &str| plain("<test group=\"a\" points=\"1\"/>", groups);
    let without = |what: &str| whole.replace(what, "");
    let table = [
        (String::new(), "problem.xml:1: has no element"),
        ("<problem>\n<judging>".into(), "problem.xml:2: ends inside"),
        ("<contest/>".into(), "problem.xml:1: contest: is not the root"),
        ("<problem/>".into(), "problem.xml:1: judging: is missing"),
        ("<problem><judging/></problem>".into(), "problem.xml:1: testset: is missing"),
        (without("<time-limit>1500</time-limit>"), "problem.xml:2: time-limit: is missing"),
        (
            whole.replace("1500", "soon"),
            "problem.xml:3: time-limit: must be a whole number above 0, not `soon`",
        ),
        (whole.replace("268435456", "-1"), "problem.xml:4: memory-limit: must be a whole number"),
        (
            whole.replace("tests/%02d.a", "../%02d"),
            "problem.xml:5: answer-path-pattern: `../%02d` is not a pattern",
        ),
        (
            whole.replace("tests/%02d<", "tests<"),
            "problem.xml:5: input-path-pattern: `tests` is not a pattern",
        ),
        (plain("", ""), "problem.xml:2: testset.tests: has no test"),
        (
            plain("<test/><test/><test method=\"manual\"/>", ""),
            "problem.xml:6: test: `tests/03` is not in the package",
        ),
        (
            plain("<test/><test/><test cmd=\"none 1\"/>", ""),
            "problem.xml:6: test.cmd: `none` is not one of the package's programs",
        ),
        (
            plain("<test/><test/><test cmd=\"gen > x\"/>", ""),
            "problem.xml:6: test.cmd: `gen > x` writes files",
        ),
        (whole.replace(CHECKER, ""), "problem.xml:8: assets.checker: is missing"),
        (
            whole.replace("type=\"testlib\"", "type=\"odd\""),
            "problem.xml:8: assets.checker: is of type `odd`",
        ),
        (
            whole.replace("path=\"check.cpp\"", "path=\"none.cpp\""),
            "problem.xml:8: assets.checker: `none.cpp` is not in the package",
        ),
        (
            whole.replace("path=\"check.cpp\"", ""),
            "problem.xml:8: assets.checker: has a source without `path`",
        ),
        (
            whole.replace("solutions/m.cpp", "solutions/n.cpp"),
            "problem.xml:9: solution: `solutions/n.cpp` is not in the package",
        ),
        (
            whole.replace(CHECKER, &format!("{CHECKER}<scorer/>")),
            "problem.xml:8: assets.scorer: a program that adds up",
        ),
        (
            xml("run-count=\"3\"", "<test/>", "", CHECKER, ""),
            "problem.xml:2: judging.run-count: must be 1 or 2",
        ),
        (
            xml("input-file=\"a/b\"", "<test/>", "", CHECKER, ""),
            "problem.xml:2: judging: `a/b` is not a name",
        ),
        (plain("<test points=\"much\"/>", ""), "problem.xml:6: test.points: `much` is not a number"),
        (scored("<group name=\"b\"/>"), "problem.xml:6: test.group: `a` is not one of the groups"),
        (
            scored("<group name=\"a\" points-policy=\"odd\"/>"),
            "problem.xml:7: group.points-policy: `odd` is neither",
        ),
        (
            scored("<group name=\"a\"><dependencies><dependency group=\"z\"/></dependencies></group>"),
            "problem.xml:7: group.dependencies: `z` is not one of the groups",
        ),
        (
            scored("<group name=\"a\"><dependencies><dependency group=\"a\"/></dependencies></group>"),
            "problem.xml:7: group.dependencies: groups depend on each other",
        ),
    ];
    for (xml, start) in table {
        let all: Vec<_> = [(FILE, xml.as_str())].into_iter().chain(FILES).collect();
        let error = match read_package(&tree(&all)) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("was read: {start}"),
        };
        assert!(error.starts_with(start), "{error}\nexpected {start}");
    }
}

#[test]
fn what_this_system_cannot_compile_is_told_in_a_sentence() {
    let text = plain("<test/>", "");
    let mut files = tree(&[(FILE, text.as_str())].into_iter().chain(FILES).collect::<Vec<_>>());
    let mut put = |path: &str, content: &str| {
        let entry = Entry { size: 0, executable: false, content: Some(content.into()) };
        files.files.insert(path.to_string(), entry);
        let removed = if path == "check.cpp" { None } else { files.files.remove("check.cpp") };
        let told = read_package(&files).map(|_| String::new()).unwrap_or_else(|e| e.to_string());
        if let Some(entry) = removed {
            files.files.insert("check.cpp".into(), entry);
        }
        told
    };
    assert!(put("check.cpp", "#include <Windows.h>\n").contains("can only be compiled on Windows"));
    assert!(put("check.exe", "").contains("only the Windows program check.exe"));
    put("check.cpp", "#include \"testlib.h\"\n");
    files.files.remove("files/testlib.h");
    let told = read_package(&files).unwrap_err().to_string();
    assert!(told.contains("includes testlib.h, which is not in the package"), "{told}");
    let contest = tree(&[("contest.xml", "<contest/>"), ("problems/a/problem.xml", "")]);
    let told = read_package(&contest).unwrap_err().to_string();
    assert!(told.starts_with("contest.xml: is a contest") && told.contains("problems/a"), "{told}");
}
