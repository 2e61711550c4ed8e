//! CMS' Italian format: `task.yaml`, `input/input0.txt`, `gen/GEN` (cms-dev/cms, cmscontrib/loaders/italy_yaml.py).
//!
//! Batch, BatchAndOutput, OutputOnly and Communication are read. Checkers and managers come with their source beside them: a compiled one
//! alone is refused.

use super::super::field::{self, Range, Section, place};
use super::super::{
    Calls, Expectation, FileIo, FileTree, Grading, HandedIn, Include, JurySubmission, MadeFile, Maker,
    OwnLimits, Package, PackageError, Processes, Program, Protocol, SourceFile, TestCase, TestGroup,
    TimeBounds, TimeLimit, Validator, Warning,
};
use super::{Importer, LANGUAGES, blank, data, group, numbered, source_file};
use crate::compare::BuiltIn;
use crate::yaml::{Node, Value};
use model::{Bytes, Nanos, Verdict};
use regex::Regex;

const FILE: &str = "task.yaml";
const GEN: &str = "gen/GEN";

pub(super) const IMPORTER: Importer =
    Importer { name: "cms", mark: FILE, wants: |path| path == GEN, archives: |_| Vec::new(), read };

/// Most tests of all groups together: one can be in several.
const MOST_TESTS: usize = 50_000;
/// Sources in `sol/` that are no solutions.
const NO_SOLUTIONS: [&str; 4] = ["grader", "stub", "template", "manager"];

fn read(tree: &FileTree, warnings: &mut Vec<Warning>) -> Result<Package, PackageError> {
    let root = field::document(tree, FILE, warnings)?.ok_or_else(|| PackageError::new(FILE, "is missing"))?;
    let task = Section::root(FILE, &root)?;
    let mut package = blank(tree, IMPORTER.name);
    let either = |one: &'static str, other: &'static str| if task.has(one) { one } else { other };
    if let Some(title) = task.text(either("title", "nome"))? {
        package.title = title.to_string();
    }
    refuse_types(&task)?;
    let key = either("time_limit", "timeout");
    if let Some(limit) = task.number(key, Range::above_zero(86_400.0))?.and_then(Nanos::from_secs_f64) {
        package.limits.time = TimeLimit::Stated { limit, source: format!("{FILE}: {key}") };
    }
    let memory = task.number(either("memory_limit", "memlimit"), Range::above_zero(1_048_576.0))?;
    package.limits.memory = memory.map(|mib| Bytes((mib * 1_048_576.0) as u64));
    package.limits.output = Some(Bytes::from_mib(256));
    package.submit_answer = task.flag("output_only")?.unwrap_or(false);
    package.features.file_io = FileIo {
        input: stream(&task, "infile", "input.txt")?,
        output: stream(&task, "outfile", "output.txt")?,
        both: false,
    };
    if package.submit_answer {
        package.features.file_io = FileIo::default();
        // Nothing runs, and nothing is there to infer a limit from.
        let source = format!("{FILE}: output_only");
        package.limits.time = TimeLimit::Stated { limit: Nanos::from_secs(1), source };
    }
    let managed = !package.submit_answer && manager(tree, &task, &mut package)?;
    let has_checker = managed || checker(tree, &mut package)?;
    let word = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let name_of_task = task.text(either("name", "nome_breve"))?.filter(word);
    graders(tree, name_of_task, &mut package);
    let comparison = if has_checker { BuiltIn::Kattis } else { BuiltIn::WhiteDiff };
    let cases = cases(tree, &task, comparison, &mut package)?;
    arrange(tree, &task, cases, &mut package, warnings)?;
    solutions(tree, &mut package);
    Ok(package)
}

/// Task types that are not read, by their names.
fn refuse_types(task: &Section) -> Result<(), PackageError> {
    const KNOWN: [&str; 4] = ["Batch", "BatchAndOutput", "OutputOnly", "Communication"];
    match task.text("task_type")?.filter(|kind| !KNOWN.contains(kind)) {
        Some(kind) => {
            Err(task.error("task_type", format!("`{kind}` is not supported; {} are", KNOWN.join(", "))))
        }
        None => Ok(()),
    }
}

/// The file that takes the place of a standard stream; an empty name is the stream.
fn stream(task: &Section, key: &str, usual: &str) -> Result<Option<String>, PackageError> {
    let name = match task.entries().iter().find(|(name, _)| name == key).map(|(_, node)| &node.value) {
        None => usual,
        Some(Value::Null) => "",
        Some(_) => task.text(key)?.unwrap_or(usual),
    };
    match name.contains('/') || name.starts_with('.') {
        true => Err(task.error(key, format!("`{name}` is not a name of a file in the working directory"))),
        false => Ok(Some(name.to_string()).filter(|name| !name.is_empty())),
    }
}

fn checker(tree: &FileTree, package: &mut Package) -> Result<bool, PackageError> {
    let Some(program) = program(tree, ["check/checker", "cor/correttore"])? else { return Ok(false) };
    package.validator = Validator::Custom(vec![program]);
    package.features.calls = Calls::new(Protocol::Cms, &[Calls::INPUT, Calls::ANSWER, Calls::OUTPUT]);
    Ok(true)
}

/// The first of these programs that is there, by its source, with the headers beside it.
fn program(tree: &FileTree, stems: [&str; 2]) -> Result<Option<Program>, PackageError> {
    for stem in stems {
        let source = LANGUAGES
            .iter()
            .map(|(ending, _)| format!("{stem}.{ending}"))
            .find(|path| tree.files.contains_key(path));
        let Some(path) = source else {
            if tree.files.contains_key(stem) {
                let message = format!("is a compiled program\nhint: put its source ({stem}.cpp) next to it");
                return Err(PackageError::new(stem, message));
            }
            continue;
        };
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory).to_string();
        let header = |other: &&String| other.starts_with(&format!("{directory}/")) && other.ends_with(".h");
        let headers = tree.files.keys().filter(header).map(|path| source_file(tree, path));
        let files = std::iter::once(source_file(tree, &path)).chain(headers).collect();
        return Ok(Some(Program { path, files, ..Program::default() }));
    }
    Ok(None)
}

/// A manager makes it a task of the type Communication: submissions talk to it, with a stub by named FIFOs, without one by their
/// standard streams.
fn manager(tree: &FileTree, task: &Section, package: &mut Package) -> Result<bool, PackageError> {
    let Some(program) = program(tree, ["check/manager", "cor/manager"])? else {
        return match task.text("task_type")? {
            Some("Communication") => {
                Err(task.error("task_type", "is Communication, but there is no check/manager.cpp"))
            }
            _ => Ok(false),
        };
    };
    let stub = LANGUAGES.iter().any(|(ending, _)| tree.files.contains_key(&format!("sol/stub.{ending}")));
    let streams = match task.text("user_io")? {
        None => !stub,
        Some("std_io") => true,
        Some("fifo_io") => false,
        Some(other) => {
            return Err(task.error("user_io", format!("must be std_io or fifo_io, not `{other}`")));
        }
    };
    let most = f64::from(Processes::MOST);
    let count = task.number("num_processes", Range::at_least(1.0, most))?.unwrap_or(1.0) as u32;
    package.interactive = true;
    package.validator = Validator::Custom(vec![program]);
    package.features.calls = Calls::new(Protocol::Cms, &[Calls::FIFOS]);
    package.features.processes = Some(Processes { count, streams });
    package.features.file_io = FileIo::default();
    Ok(true)
}

/// Which tests have their output submitted: numbers, with commas between.
fn numbers(task: &Section, key: &str) -> Result<Vec<usize>, PackageError> {
    let words = task.words(key)?.unwrap_or_default();
    let number = |word: &str| {
        word.parse::<usize>().map_err(|_| task.error(key, format!("`{word}` is not a number of a test")))
    };
    let parts = words.iter().flat_map(|word| word.split(',')).filter(|word| !word.is_empty());
    parts.map(number).collect()
}

/// `sol/grader.EXT` is compiled with each submission of the language, headers with all.
fn graders(tree: &FileTree, name_of_task: Option<&str>, package: &mut Package) {
    let files: Vec<SourceFile> = tree
        .files
        .keys()
        .filter(|path| path.starts_with("sol/"))
        .map(|path| source_file(tree, path))
        .collect();
    let mut include = |language: Option<&str>, file: &SourceFile| {
        // A unit beside a grader is called as the task is.
        let own_name = name_of_task.filter(|_| language == Some("pascal")).map(str::to_string);
        let language = language.map(str::to_string);
        package.include.push(Include { language, files: vec![file.clone()], own_name, ..Include::default() });
    };
    for file in &files {
        let stem = if package.features.processes.is_some() { "stub" } else { "grader" };
        let grader = LANGUAGES.iter().find(|(ending, _)| file.name == format!("{stem}.{ending}"));
        match grader {
            Some((_, language)) => include(Some(language), file),
            None if file.name.ends_with(".h") => {
                ["c", "cpp"].iter().for_each(|language| include(Some(language), file))
            }
            None if file.name.ends_with("lib.pas") => include(Some("pascal"), file),
            None => {}
        }
    }
}

fn cases(
    tree: &FileTree,
    task: &Section,
    comparison: BuiltIn,
    package: &mut Package,
) -> Result<Vec<TestCase>, PackageError> {
    let input = |n: usize| format!("input/input{n}.txt");
    let there = (0..).take_while(|n| tree.files.contains_key(&input(*n))).count();
    let stated = task.number("n_input", Range::at_least(1.0, 1e6))?;
    if let Some(stated) = stated.filter(|stated| *stated != there as f64) {
        return Err(task.error(
            "n_input",
            format!("is {stated}, but there are {there} files input/input0.txt and so on"),
        ));
    }
    if there == 0 {
        return Err(PackageError::new("input/input0.txt", "is missing, so there is no test"));
    }
    let (must, may) = (numbers(task, "output_only_testcases")?, numbers(task, "output_optional_testcases")?);
    let case = |n: usize| {
        let (input, answer) = (input(n), format!("output/output{n}.txt"));
        if !tree.files.contains_key(&answer) {
            return Err(PackageError::new(answer, format!("is missing, the answer to {input}")));
        }
        for path in [&input, &answer] {
            let by = Maker::Lines { of: path.clone(), ended: false };
            package.features.made.files.push(MadeFile { path: path.clone(), by });
        }
        // The submitted file has this name in place of an answer.
        let name = format!("output_{n:03}");
        let file = format!("{name}.txt");
        let handed_in = match (must.contains(&n), may.contains(&n)) {
            (true, _) => HandedIn::Must(file),
            (false, true) => HandedIn::May(file),
            (false, false) => HandedIn::No,
        };
        let comparison = comparison.clone();
        Ok(TestCase { name, input, answer, comparison, handed_in, ..TestCase::default() })
    };
    (0..there).map(case).collect()
}

/// How the points are put together: what `task.yaml` says, else the subtasks of `gen/GEN`, else all tests alike.
fn arrange(
    tree: &FileTree,
    task: &Section,
    cases: Vec<TestCase>,
    package: &mut Package,
    warnings: &mut Vec<Warning>,
) -> Result<(), PackageError> {
    package.scoring = true;
    let kind = task.text("score_type")?;
    let parts: Vec<Part> = match (kind, task.get("score_type_parameters")) {
        (None, _) => match field::text(tree, GEN, warnings)? {
            Some(text) => subtasks(&text, cases.len())?
                .into_iter()
                .map(|(points, tests)| Part { points, tests, grading: Grading::Min })
                .collect(),
            None => Vec::new(),
        },
        (Some("Sum"), Some(_)) => Vec::new(),
        (Some(kind @ ("GroupMin" | "GroupMul" | "GroupThreshold")), Some(node)) => {
            groups(task, kind, node, &cases)?
        }
        (Some(_), None) => return Err(task.error("score_type_parameters", "is missing")),
        (Some(other), _) => {
            let known = "Sum, GroupMin, GroupMul and GroupThreshold";
            return Err(task.error("score_type", format!("`{other}` is not supported; {known} are")));
        }
    };
    if parts.is_empty() {
        let each = match kind {
            Some(_) => task.number("score_type_parameters", Range::at_least(0.0, 1e9))?.unwrap_or(0.0),
            None => {
                task.number("total_value", Range::at_least(0.0, 1e9))?.unwrap_or(100.0) / cases.len() as f64
            }
        };
        let named =
            |case: TestCase| TestCase { name: format!("secret/{}", case.name), points: Some(each), ..case };
        package.data = data(true, Vec::new(), cases.into_iter().map(named).collect());
        return Ok(());
    }
    let many = parts.len();
    let part = |(n, Part { points, tests, grading }): (usize, Part)| {
        let name = format!("secret/{}", numbered(n, many.saturating_sub(1)));
        let named = |member: usize| TestCase {
            name: format!("{name}/{}", cases[member].name),
            ..cases[member].clone()
        };
        let cases = tests.into_iter().map(named).collect();
        TestGroup { cases, ..group(&name, grading, Some(points)) }
    };
    package.data = data(true, parts.into_iter().enumerate().map(part).collect(), Vec::new());
    Ok(())
}

/// A subtask: its points, the numbers of its tests, and how it is graded.
struct Part {
    points: f64,
    tests: Vec<usize>,
    grading: Grading,
}

/// Points and tests of each subtask: `#ST: points`, then a line for each test.
fn subtasks(text: &str, there: usize) -> Result<Vec<(f64, Vec<usize>)>, PackageError> {
    let wrong = |line: usize, why: String| PackageError::new(place(GEN, Some(line), ""), why);
    let (mut parts, mut tests) = (Vec::<(f64, Vec<usize>)>::new(), 0);
    for (line, text) in (1..).zip(text.lines()) {
        let (command, comment) =
            text.split_once('#').map_or((text, ""), |(command, comment)| (command, comment.trim()));
        let copies = comment.starts_with("COPY:");
        let points = comment.strip_prefix("ST:").map(str::trim);
        if [!command.trim().is_empty(), copies, points.is_some()].into_iter().filter(|is| *is).count() > 1 {
            return Err(wrong(line, "is more than one of a test, `#COPY:` and `#ST:`".to_string()));
        }
        if let Some(points) = points {
            if parts.is_empty() && tests > 0 {
                return Err(wrong(line, "the first `#ST:` comes after a test".to_string()));
            }
            let number = points.parse::<f64>().ok().filter(|points| (0.0..=1e9).contains(points));
            parts.push((
                number.ok_or_else(|| wrong(line, format!("`{points}` is not a number of points")))?,
                Vec::new(),
            ));
        } else if copies || !command.trim().is_empty() {
            if let Some((_, members)) = parts.last_mut() {
                members.push(tests);
            }
            tests += 1;
        }
    }
    if tests != there {
        return Err(PackageError::new(
            GEN,
            format!("has {tests} tests, but there are {there} files input/input0.txt and so on"),
        ));
    }
    let total: f64 = parts.iter().map(|(points, _)| points).sum();
    if !parts.is_empty() && total != 100.0 {
        return Err(PackageError::new(GEN, format!("the points of its subtasks make {total}, not 100")));
    }
    Ok(parts)
}

/// `[[points, tests], …]`: the next so many tests, or those whose names match; of `GroupThreshold` each with a threshold.
fn groups(task: &Section, kind: &str, node: &Node, cases: &[TestCase]) -> Result<Vec<Part>, PackageError> {
    const KEY: &str = "score_type_parameters";
    let wrong = |why: &str| task.error(KEY, why);
    let Value::List(items) = &node.value else { return Err(wrong("must be a list of pairs")) };
    let (mut parts, mut next, mut total) = (Vec::new(), 0usize, 0);
    for item in items {
        let Value::List(pair) = &item.value else { return Err(wrong("must be a list of pairs")) };
        let [points, which, more @ ..] = &pair[..] else {
            return Err(wrong("must be a list of pairs of points and tests"));
        };
        let grading = match kind {
            "GroupMul" => Grading::Product,
            "GroupThreshold" => {
                let threshold = more.first().and_then(Node::number).filter(|most| *most > 0.0);
                Grading::Threshold(threshold.ok_or_else(|| wrong("has a group without threshold"))?)
            }
            _ => Grading::Min,
        };
        let points = points
            .number()
            .filter(|points| (0.0..=1e9).contains(points))
            .ok_or_else(|| wrong("has a pair without points"))?;
        let which = which.text().ok_or_else(|| wrong("has a pair without tests"))?;
        let members: Vec<usize> = match which.parse::<usize>() {
            Ok(many) => {
                let from = next;
                next = from.saturating_add(many);
                if next > cases.len() {
                    return Err(wrong(&format!("names {next} tests, but there are {}", cases.len())));
                }
                (from..next).collect()
            }
            Err(_) => {
                let pattern = Regex::new(&format!("^(?:{which})"))
                    .map_err(|_| wrong(&format!("`{which}` is not a pattern")))?;
                let code = |n: &usize| pattern.is_match(&format!("{n:03}"));
                (0..cases.len()).filter(code).collect()
            }
        };
        if members.is_empty() {
            return Err(wrong(&format!("`{which}` is not a test")));
        }
        total += members.len();
        if total > MOST_TESTS {
            return Err(wrong(&format!("has groups of more than {MOST_TESTS} tests together")));
        }
        parts.push(Part { points, tests: members, grading });
    }
    Ok(parts)
}

/// `sol/solution.EXT` must have the full score; of the others nothing is known.
fn solutions(tree: &FileTree, package: &mut Package) {
    let pascal = package.include.iter().find(|include| include.language.as_deref() == Some("pascal"));
    let unit = pascal.and_then(|include| include.own_name.clone());
    for path in tree.files.keys() {
        let Some(name) = path.strip_prefix("sol/").filter(|name| !name.contains('/')) else { continue };
        let Some((stem, ending)) = name.rsplit_once('.') else { continue };
        let source = LANGUAGES.iter().any(|(known, _)| *known == ending);
        if !source || NO_SOLUTIONS.contains(&stem) || name.ends_with("lib.pas") || package.submit_answer {
            continue;
        }
        let full = ["solution", "soluzione"].contains(&stem);
        let file = source_file(tree, path);
        // A package in another format has no other name for it.
        let unit = unit.as_deref().filter(|_| ending == "pas");
        let file = SourceFile { name: unit.map_or(file.name, |unit| format!("{unit}.pas")), ..file };
        let verdicts = if full { vec![Verdict::Accepted] } else { Vec::new() };
        package.submissions.push(JurySubmission {
            program: Program { path: path.clone(), files: vec![file], ..Program::default() },
            expectation: Expectation { verdicts, ..Expectation::default() },
            language: None,
            entry_point: None,
            limits: OwnLimits::default(),
            bounds: TimeBounds { lower: full, upper: false },
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::read as read_package;
    use super::super::super::testing::tree;
    use super::*;

    const FILES: [(&str, &str); 5] = [
        ("input/input0.txt", ""),
        ("output/output0.txt", ""),
        ("input/input1.txt", ""),
        ("output/output1.txt", ""),
        ("sol/solution.cpp", ""),
    ];

    fn reading(yaml: &str, more: &[(&str, &str)]) -> Result<Package, String> {
        let all: Vec<_> = [(FILE, yaml)].into_iter().chain(FILES).chain(more.iter().copied()).collect();
        read_package(&tree(&all)).map(|(package, _)| package).map_err(|e| e.to_string())
    }

    #[test]
    fn a_batch_task_with_files_and_without() {
        let package = reading("name: a\ntitle: A\ntime_limit: 1.5\nmemory_limit: 64\n", &[]).unwrap();
        assert_eq!((package.title.as_str(), package.limits.memory), ("A", Some(Bytes::from_mib(64))));
        assert_eq!(package.features.file_io.input.as_deref(), Some("input.txt"));
        let cases = package.data.all_cases();
        assert_eq!(
            (cases[0].name.as_str(), cases[0].points, &cases[0].comparison),
            ("secret/output_000", Some(50.0), &BuiltIn::WhiteDiff)
        );
        assert_eq!(package.submissions[0].expectation.verdicts, [Verdict::Accepted]);
        let streams = reading("timeout: 1\ninfile: ''\noutfile: ''\n", &[]).unwrap();
        assert_eq!(streams.features.file_io, FileIo::default());
    }

    #[test]
    fn answers_are_handed_in_without_a_limit() {
        let package = reading("output_only: true\n", &[]).unwrap();
        assert!(package.submit_answer && package.submissions.is_empty());
        assert!(matches!(package.limits.time, TimeLimit::Stated { .. }));
    }

    #[test]
    fn subtasks_of_either_source() {
        let generated =
            reading("timeout: 1\n", &[(GEN, "# free\n#ST: 40\n1 2 # small\n#ST: 60\n#COPY: x\n")]).unwrap();
        let stated =
            "timeout: 1\nn_input: 2\nscore_type: GroupMin\nscore_type_parameters: [[40, 1], [60, '001']]\n";
        let stated = reading(stated, &[]).unwrap();
        for package in [generated, stated] {
            let names: Vec<_> = package.data.all_cases().iter().map(|case| case.name.clone()).collect();
            assert_eq!(names, ["secret/0/output_000", "secret/1/output_001"]);
            assert_eq!(package.data.groups[0].groups[1].settings.max_score, Some(60.0));
        }
        let product = "timeout: 1\nscore_type: GroupMul\nscore_type_parameters: [[100, 2]]\n";
        assert_eq!(
            reading(product, &[]).unwrap().data.groups[0].groups[0].settings.grading,
            Grading::Product
        );
    }

    #[test]
    fn managers_stubs_and_outputs() {
        let files =
            [("check/manager.cpp", ""), ("sol/stub.cpp", ""), ("sol/a.h", ""), ("sol/grader.cpp", "")];
        let package = reading("timeout: 1\nnum_processes: 2\n", &files).unwrap();
        assert_eq!(package.features.processes, Some(Processes { count: 2, streams: false }));
        assert_eq!((package.interactive, package.include.len()), (true, 3));
        assert_eq!(package.features.file_io, FileIo::default());
        let alone = reading("timeout: 1\n", &files[..1]).unwrap();
        assert_eq!(alone.features.processes, Some(Processes { count: 1, streams: true }));
        let outputs = "timeout: 1\noutput_only_testcases: '000'\noutput_optional_testcases: '000, 001'\n";
        let outputs = reading(outputs, &[]).unwrap();
        let handed: Vec<_> = outputs.data.all_cases().iter().map(|case| case.handed_in.clone()).collect();
        let [must, may] = ["output_000.txt", "output_001.txt"].map(String::from);
        assert_eq!(handed, [HandedIn::Must(must), HandedIn::May(may)]);
        let threshold = "timeout: 1\nscore_type: GroupThreshold\nscore_type_parameters: [[100, 2, 20]]\n";
        let data = reading(threshold, &[]).unwrap().data;
        assert_eq!(data.groups[0].groups[0].settings.grading, Grading::Threshold(20.0));
    }

    #[test]
    fn checkers_and_graders() {
        let files = [("check/checker.cpp", ""), ("sol/grader.cpp", ""), ("sol/a.h", ""), ("sol/x.py", "")];
        let package = reading("timeout: 1\n", &files).unwrap();
        assert_eq!((package.features.calls.protocol, package.include.len()), (Protocol::Cms, 3));
        assert_eq!(package.submissions.len(), 2);
    }

    #[test]
    fn a_unit_beside_a_grader_is_called_as_the_task_is() {
        let files = [("sol/grader.pas", ""), ("sol/grader.cpp", ""), ("sol/solution.pas", "")];
        let package = reading("name: steps\ntimeout: 1\n", &files).unwrap();
        let names: Vec<_> = package.include.iter().map(|include| include.own_name.as_deref()).collect();
        assert_eq!(names, [None, Some("steps")]);
        let names: Vec<_> =
            package.submissions.iter().map(|one| one.program.files[0].name.as_str()).collect();
        assert_eq!(names, ["solution.cpp", "steps.pas"]);
        let unnamed = reading("name: ../steps\ntimeout: 1\n", &files).unwrap();
        assert!(unnamed.include.iter().all(|include| include.own_name.is_none()));
    }

    #[test]
    fn malformed_packages_name_file_and_element() {
        let gen_file = |text: &'static str| vec![(GEN, text)];
        let score = |kind: &str, parameters: &str| {
            format!("score_type: {kind}\nscore_type_parameters: {parameters}\n")
        };
        for (yaml, files, start) in [
            ("a: [".to_string(), vec![], "task.yaml:1: not readable as yaml"),
            ("- a\n".into(), vec![], "task.yaml:1: must be a map"),
            ("timeout: soon\n".into(), vec![], "task.yaml:1: timeout: must be a number"),
            ("time_limit: 0\n".into(), vec![], "task.yaml:1: time_limit: must be above 0"),
            ("memlimit: -1\n".into(), vec![], "task.yaml:1: memlimit: must be above 0"),
            ("n_input: 3\n".into(), vec![], "task.yaml:1: n_input: is 3, but there are 2"),
            ("infile: a/b\n".into(), vec![], "task.yaml:1: infile: `a/b` is not a name"),
            ("task_type: TwoSteps\n".into(), vec![], "task.yaml:1: task_type: `TwoSteps` is not supported"),
            ("{}".into(), vec![("check/manager", "")], "check/manager: is a compiled program"),
            ("task_type: Communication\n".into(), vec![], "task.yaml:1: task_type: is Communication, but"),
            (
                "num_processes: 99\n".into(),
                vec![("check/manager.cpp", "")],
                "task.yaml:1: num_processes: must be at least 1 and at most 16",
            ),
            (
                "user_io: pipe\n".into(),
                vec![("check/manager.cpp", "")],
                "task.yaml:1: user_io: must be std_io or fifo_io",
            ),
            ("output_only_testcases: x\n".into(), vec![], "task.yaml:1: output_only_testcases: `x` is no"),
            ("{}".into(), vec![("check/checker", "")], "check/checker: is a compiled program"),
            ("{}".into(), vec![("input/input2.txt", "")], "output/output2.txt: is missing"),
            ("{}".into(), gen_file("1\n"), "gen/GEN: has 1 tests, but there are 2"),
            ("{}".into(), gen_file("1\n#ST: 100\n2\n"), "gen/GEN:2: the first `#ST:` comes after"),
            ("{}".into(), gen_file("#ST: x\n1\n2\n"), "gen/GEN:1: `x` is not a number"),
            ("{}".into(), gen_file("#ST: 50\n1\n2\n"), "gen/GEN: the points of its subtasks make 50"),
            ("{}".into(), gen_file("1 #COPY: x\n2\n"), "gen/GEN:1: is more than one of"),
            (
                score("GroupThreshold", "[[1, 2]]"),
                vec![],
                "task.yaml:2: score_type_parameters: has a group without threshold",
            ),
            ("score_type: Sum\n".into(), vec![], "task.yaml:1: score_type_parameters: is missing"),
            (score("GroupMin", "[[50, 3]]"), vec![], "task.yaml:2: score_type_parameters: names 3 tests"),
            (
                score("GroupMin", "[[50, '(']]"),
                vec![],
                "task.yaml:2: score_type_parameters: `(` is not a pattern",
            ),
            (score("GroupMin", "[[50, '9']]"), vec![], "task.yaml:2: score_type_parameters: names 9 tests"),
            (score("GroupMin", "5"), vec![], "task.yaml:2: score_type_parameters: must be a list of pairs"),
        ] {
            let error = reading(&yaml, &files).err().unwrap_or_else(|| panic!("was read: {start}"));
            assert!(error.starts_with(start), "{error}\nexpected {start}");
        }
    }
}
