//! Finding programs: output validators, graders, include files, and what of a directory belongs to one
//! (legacy and 2025-09, "Programs").

use super::problem::Problem;
use super::tree::Child;
use super::{
    Calls, FileTree, Grading, Include, PackageError, Program, SourceFile, TestCase, TestCheck, TestCheckRun,
    TestGroup, Validator, ValidatorTest, Warning,
};
use crate::verdict::VALIDATOR_ACCEPTS;

/// Endings of files that begin a program, from the specification's table of languages.
#[rustfmt::skip]
const SOURCES: [&str; 56] = [
    "ada", "adb", "a68", "apl", "sh", "bash", "c", "cob", "cc", "cpp", "cxx", "c++", "C", "cr", "cs", "d", "dart", "ex",
    "erl", "fth", "f90", "fs", "ss", "go", "hs", "java", "js", "mjs", "jl", "kt", "lisp", "cl", "lua", "mod", "nim", "m",
    "ml", "odin", "pas", "pm", "pl", "php", "py", "py2", "py3", "rkt", "rb", "rs", "scala", "sim", "st", "sno", "swift",
    "ts", "vb", "zig",
];

/// Endings of what compilers and editors leave behind.
#[rustfmt::skip]
const LEFTOVERS: [&str; 28] = [
    "bak", "orig", "rej", "swp", "swo", "tmp", "class", "o", "obj", "exe", "bin", "out", "pyc", "pyo", "hi", "cmi", "cmx",
    "cmo", "ppu", "beam", "pdb", "ilk", "dll", "so", "rlib", "log", "iml", "dSYM",
];

/// The ending of a name, without its dot.
pub(super) fn ending(name: &str) -> Option<&str> {
    name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, ending)| ending)
}

/// Left behind by a compiler, an editor or an archiver, and no part of a program.
pub(super) fn is_leftover(name: &str) -> bool {
    name.ends_with('~')
        || name.starts_with('#')
        || matches!(name, "__pycache__" | "__MACOSX" | "Thumbs.db" | "desktop.ini")
        || ending(name).is_some_and(|ending| LEFTOVERS.contains(&ending))
}

fn is_source(name: &str) -> bool {
    ending(name).is_some_and(|ending| SOURCES.contains(&ending))
}

/// The program that is this file or directory; `None` when nothing of it is left without the leftovers.
pub(super) fn program(tree: &FileTree, child: &Child) -> Option<Program> {
    let files = if child.directory {
        files_below(tree, &child.path)
    } else {
        vec![source_file(tree, &child.path, &child.name)]
    };
    (!files.is_empty()).then(|| Program { path: child.path.clone(), files, ..Program::default() })
}

fn source_file(tree: &FileTree, path: &str, name: &str) -> SourceFile {
    let executable = tree.files.get(path).is_some_and(|entry| entry.executable);
    SourceFile { path: path.to_string(), name: name.to_string(), executable }
}

/// All files below a directory that are not hidden, with names relative to it.
pub(super) fn all_files(tree: &FileTree, directory: &str) -> Vec<SourceFile> {
    let prefix = format!("{directory}/");
    let visible = |path: &&str| path[prefix.len()..].split('/').all(|part| !part.starts_with(['.', '-']));
    let kept = tree.below(&prefix).filter(visible);
    kept.map(|path| source_file(tree, path, &path[prefix.len()..])).collect()
}

/// The same without leftovers.
fn files_below(tree: &FileTree, directory: &str) -> Vec<SourceFile> {
    let files = all_files(tree, directory).into_iter();
    files.filter(|file| !file.name.split('/').any(is_leftover)).collect()
}

/// How output is judged. `output_validators/` holds one program per entry, `output_validator/` is one program;
/// each is accepted in every format.
pub(super) fn validator(
    tree: &FileTree,
    problem: &Problem,
    warnings: &mut Vec<Warning>,
) -> Result<Validator, PackageError> {
    const MANY: &str = "output_validators";
    const ONE: &str = "output_validator";
    let (own, other) = if problem.is_new() { (ONE, MANY) } else { (MANY, ONE) };
    let in_directory = |name: &str| if name == ONE { single(tree, name) } else { several(tree, name) };
    let mut found = in_directory(own);
    let foreign = in_directory(other);
    if found.is_empty() && !foreign.is_empty() {
        warnings.push(Warning::new(other, format!("is named `{own}` in this format; used all the same")));
        found = foreign;
    }
    let needed = [(problem.interactive, "an interactive"), (problem.multi_pass, "a multi-pass")];
    let needed = needed.into_iter().find(|(needed, _)| *needed).map(|(_, kind)| kind);
    // 2025-09 has no key for it: a validator that is there is used. In legacy `validation` decides.
    let custom =
        problem.custom_validator.unwrap_or(problem.is_new() && !found.is_empty()) || needed.is_some();
    if !custom {
        if !found.is_empty() {
            let message = "is not used, since problem.yaml does not say `validation: custom`";
            warnings.push(Warning::new(parent(&found[0].path), message));
        }
        return Ok(Validator::Default);
    }
    if found.is_empty() {
        let why = match needed {
            Some(kind) => format!("has no program, which {kind} problem needs"),
            None => "has no program, but problem.yaml says `validation: custom`".to_string(),
        };
        return Err(PackageError::new(own, why));
    }
    if problem.is_new() && found.len() > 1 {
        warnings.push(Warning::new(parent(&found[0].path), "2025-09 allows one validator; each must accept"));
    }
    Ok(Validator::Custom(found))
}

/// Input validators, and the answer validators that many packages have besides, with what each reads: it accepts as an output validator
/// does (legacy and 2025-09, "Input validators"). The test case's own arguments follow the validator's, and its files lie in the work
/// directory (2025-09, "Input validators", "Working directory").
pub(super) fn checks(
    tree: &FileTree,
    data: &TestGroup,
    validator_tests: &[ValidatorTest],
    warnings: &mut Vec<Warning>,
) -> Vec<TestCheck> {
    let judged = data.all_cases().into_iter().map(|case| (case, true));
    let tried = validator_tests.iter().map(|test| (&test.case, test.good || test.output.is_some()));
    let cases: Vec<(&TestCase, bool)> = judged.chain(tried).collect();
    let mut found = Vec::new();
    for directory in ["input_validators", "input_format_validators", "answer_validators"] {
        let of_answers = directory == "answer_validators";
        for program in several(tree, directory) {
            let run = |&(case, good): &(&TestCase, bool)| {
                let own = case.input_validator_args.iter().filter(|(name, _)| is_called(&program, name));
                let words = own.flat_map(|(_, words)| words).chain(&case.args).cloned();
                let run = match of_answers {
                    true => TestCheckRun {
                        file: case.answer.clone(),
                        input: Some(case.input.clone()),
                        files: Vec::new(),
                        args: vec![Calls::INPUT.to_string()],
                        good,
                    },
                    false => TestCheckRun {
                        file: case.input.clone(),
                        input: None,
                        files: case.files.clone(),
                        args: words.collect(),
                        good,
                    },
                };
                (!run.file.is_empty()).then_some(run)
            };
            let runs = cases.iter().filter_map(run).collect();
            found.push(TestCheck { accepts: VALIDATOR_ACCEPTS, program: program.clone(), runs });
        }
        let unknown = |child: &Child| matches!(ending(&child.name), Some("ctd" | "viva"));
        if let Some(child) = entries(tree, directory).into_iter().find(unknown) {
            warnings.push(Warning::new(child.path, "is not run: its language is not known"));
        }
    }
    found
}

/// Whether a map of arguments means this program by a name; none means every one.
fn is_called(program: &Program, name: &str) -> bool {
    let last = program.path.rsplit('/').next().unwrap_or(&program.path);
    name.is_empty() || last == name || last.rsplit_once('.').is_some_and(|(stem, _)| stem == name)
}

fn parent(path: &str) -> &str {
    path.split('/').next().unwrap_or(path)
}

/// The one program of a directory: all of it, or its only subdirectory if no source lies beside that.
fn single(tree: &FileTree, directory: &str) -> Vec<Program> {
    let children = entries(tree, directory);
    if !children.iter().any(|child| !child.directory && begins_program(tree, child)) {
        return several(tree, directory);
    }
    let files = files_below(tree, directory);
    let path = match files.as_slice() {
        [only] => only.path.clone(),
        _ => directory.to_string(),
    };
    vec![Program { path, files, ..Program::default() }]
}

/// One program for each entry of a directory. Files that begin no program, such as headers, belong to each
/// program that is a single file; with a `build` or `run` script, all of the directory is one program.
fn several(tree: &FileTree, directory: &str) -> Vec<Program> {
    let children = entries(tree, directory);
    if children.iter().any(|child| !child.directory && is_script(child)) {
        let (path, files) = (directory.to_string(), files_below(tree, directory));
        return vec![Program { path, files, ..Program::default() }];
    }
    let beside: Vec<SourceFile> = children
        .iter()
        .filter(|child| !child.directory && !begins_program(tree, child))
        .map(|child| source_file(tree, &child.path, &child.name))
        .collect();
    let programs = children.iter().filter_map(|child| {
        let mut program = program(tree, child)?;
        let begins = match child.directory {
            true => {
                program.files.iter().any(|f| f.executable || is_source(&f.name) || is_script_name(&f.name))
            }
            false => begins_program(tree, child),
        };
        if !child.directory {
            program.files.extend(beside.iter().cloned());
        }
        begins.then_some(program)
    });
    programs.collect()
}

fn entries(tree: &FileTree, directory: &str) -> Vec<Child> {
    tree.children(directory).into_iter().filter(|child| !is_leftover(&child.name)).collect()
}

fn is_script_name(name: &str) -> bool {
    matches!(name, "build" | "run")
}

fn is_script(child: &Child) -> bool {
    is_script_name(&child.name)
}

fn begins_program(tree: &FileTree, child: &Child) -> bool {
    let executable = tree.files.get(&child.path).is_some_and(|entry| entry.executable);
    is_source(&child.name) || is_script(child) || (executable && ending(&child.name).is_none())
}

/// The grader in `graders/`, if a group asks for one (legacy, "Graders").
pub(super) fn grader(
    tree: &FileTree,
    data: &TestGroup,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Program>, PackageError> {
    let Some(group) = asks_for_grader(data) else { return Ok(None) };
    let mut found = several(tree, "graders").into_iter();
    let Some(grader) = found.next() else {
        let place = format!("data/{}", group.name);
        return Err(PackageError::new(
            place.trim_end_matches('/'),
            "asks for `grading: custom`, but graders/ has no program",
        ));
    };
    if found.next().is_some() {
        warnings
            .push(Warning::new("graders", format!("has more than one program; `{}` is used", grader.path)));
    }
    Ok(Some(grader))
}

fn asks_for_grader(group: &TestGroup) -> Option<&TestGroup> {
    match group.settings.grading {
        Grading::Custom { .. } => Some(group),
        _ => group.groups.iter().find_map(asks_for_grader),
    }
}

/// `include/<language>/` and `include/default/`.
pub(super) fn includes(tree: &FileTree, warnings: &mut Vec<Warning>) -> Vec<Include> {
    let mut includes = Vec::new();
    for child in tree.children("include") {
        if !child.directory {
            let message = "is in no language's directory and not included\nhint: move it to include/default/";
            warnings.push(Warning::new(child.path, message));
            continue;
        }
        let files = all_files(tree, &child.path);
        if !files.is_empty() {
            let language = (child.name != "default").then_some(child.name);
            includes.push(Include { language, files, ..Include::default() });
        }
    }
    includes
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    const NEW: &str = "problem_format_version: 2025-09\n";
    const CUSTOM: &str = "validation: custom\n";

    fn names(program: &Program) -> (&str, Vec<&str>) {
        (program.path.as_str(), program.files.iter().map(|file| file.name.as_str()).collect())
    }

    fn check(files: &[(&str, &str)], warned: &[&str], expected: &[(&str, &[&str])]) {
        let package = read_warned(files, warned);
        let Validator::Custom(programs) = package.validator else { panic!("default validator: {files:?}") };
        let found: Vec<_> = programs.iter().map(names).collect();
        let expected: Vec<_> = expected.iter().map(|(path, names)| (*path, names.to_vec())).collect();
        assert_eq!(found, expected, "{files:?}");
    }

    #[test]
    fn validators_of_legacy() {
        let yaml = ("problem.yaml", CUSTOM);
        check(&[yaml, ("output_validators/v.cpp", "")], &[], &[("output_validators/v.cpp", &["v.cpp"])]);
        check(
            &[
                yaml,
                ("output_validators/a/v.cpp", ""),
                ("output_validators/a/v.h", ""),
                ("output_validators/a/v.o", ""),
                ("output_validators/b.py", ""),
                ("output_validators/.gitkeep", ""),
            ],
            &[],
            &[("output_validators/a", &["v.cpp", "v.h"]), ("output_validators/b.py", &["b.py"])],
        );
        check(
            &[yaml, ("output_validators/v.cpp", ""), ("output_validators/testlib.h", "")],
            &[],
            &[("output_validators/v.cpp", &["v.cpp", "testlib.h"])],
        );
        check(
            &[yaml, ("output_validators/build", ""), ("output_validators/v.cpp", "")],
            &[],
            &[("output_validators", &["build", "v.cpp"])],
        );
        check(
            &[yaml, ("output_validator/v.py", "")],
            &["output_validator: is named `output_validators`"],
            &[("output_validator/v.py", &["v.py"])],
        );
    }

    #[test]
    fn validators_of_2025_09() {
        let yaml = ("problem.yaml", NEW);
        check(&[yaml, ("output_validator/v.py", "")], &[], &[("output_validator/v.py", &["v.py"])]);
        check(
            &[yaml, ("output_validator/v.cc", ""), ("output_validator/lib/v.h", "")],
            &[],
            &[("output_validator", &["lib/v.h", "v.cc"])],
        );
        check(
            &[yaml, ("output_validator/guess/v.cc", ""), ("output_validator/README.md", "")],
            &[],
            &[("output_validator/guess", &["v.cc"])],
        );
        check(
            &[yaml, ("output_validators/a.py", ""), ("output_validators/b.py", "")],
            &["output_validators: is named `output_validator`", "output_validators: 2025-09 allows one"],
            &[("output_validators/a.py", &["a.py"]), ("output_validators/b.py", &["b.py"])],
        );
    }

    #[test]
    fn a_validator_nobody_asks_for_and_one_that_is_missing() {
        let package = read_warned(&[("output_validators/v.py", "")], &["output_validators: is not used"]);
        assert_eq!(package.validator, Validator::Default);
        assert!(refusal(&[("problem.yaml", CUSTOM)]).starts_with("output_validators: has no program, but"));
        let interactive = format!("{NEW}type: interactive\n");
        let error = refusal(&[("problem.yaml", &interactive)]);
        assert_eq!(error, "output_validator: has no program, which an interactive problem needs");
    }

    #[test]
    fn input_and_answer_validators_with_their_arguments() {
        let files = [
            ("input_validators/v.py", ""),
            ("input_validators/w/w.cpp", ""),
            ("answer_validators/a.py", ""),
            ("data/secret/testdata.yaml", "input_validator_flags: {w: n 5}\n"),
        ];
        let checks = read_clean(&files).features.checks;
        let told: Vec<_> = checks
            .iter()
            .map(|check| {
                (check.program.path.as_str(), check.runs[0].file.as_str(), check.runs[0].args.join(" "))
            })
            .collect();
        let input = "data/secret/1.in";
        assert_eq!(
            told,
            [
                ("input_validators/v.py", input, String::new()),
                ("input_validators/w", input, "n 5".into()),
                ("answer_validators/a.py", "data/secret/1.ans", Calls::INPUT.into())
            ]
        );
        read_warned(&[("input_validators/v.ctd", "")], &["input_validators/v.ctd: is not run"]);
        let files = [
            ("problem.yaml", NEW),
            ("input_validators/v.py", ""),
            ("data/secret/1.yaml", "args: [a]\ninput_validator_args: [n]\n"),
            ("data/secret/1.files/map.txt", ""),
        ];
        let run = &read_clean(&files).features.checks[0].runs[0];
        let beside: Vec<&str> = run.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!((&run.args[..], &beside[..]), (&["n".to_string(), "a".into()][..], &["map.txt"][..]));
    }

    #[test]
    fn graders_are_there_when_a_group_asks() {
        let asks = ("data/secret/testdata.yaml", "grading: custom\ngrader_flags: a b\n");
        let yaml = ("problem.yaml", "type: scoring\n");
        let grader = ("graders/g.py", "");
        let package = read_clean(&[yaml, asks, grader]);
        assert_eq!(package.grader.as_ref().map(names), Some(("graders/g.py", vec!["g.py"])));
        assert_eq!(read_clean(&[yaml, grader]).grader, None);
        assert!(refusal(&[yaml, asks]).starts_with("data/secret: asks for `grading: custom`"));
        read_warned(&[yaml, asks, grader, ("graders/h.py", "")], &["graders: has more than one"]);
    }

    #[test]
    fn include_files_by_language() {
        let files = [
            ("include/cpp/g.h", ""),
            ("include/cpp/x/y.h", ""),
            ("include/default/d.txt", ""),
            ("include/a.h", ""),
        ];
        let package = read_warned(&files, &["include/a.h: is in no language's directory"]);
        let found: Vec<_> = package
            .include
            .iter()
            .map(|i| (i.language.as_deref(), i.files.iter().map(|f| f.name.as_str()).collect::<Vec<_>>()))
            .collect();
        assert_eq!(found, [(Some("cpp"), vec!["g.h", "x/y.h"]), (None, vec!["d.txt"])]);
    }
}
