//! Test data: the tree of groups and cases below `data/` (legacy and 2025-09, "Test data").

mod validator_tests;

pub(super) use validator_tests::validator_tests;

use super::field::{self, Section, some_of};
use super::problem::Problem;
use super::program::all_files;
use super::settings::{self, Inherited, Style};
use super::{FileTree, GroupSettings, PackageError, TestCase, TestGroup, Warning};
use crate::yaml::{Node, Value};
use std::collections::BTreeMap;

/// Deepest nesting of directories below `data/`. Real packages need two.
const DEPTH_LIMIT: usize = 16;

/// Directories of `data/` that test the validators and are not judged.
#[rustfmt::skip]
const NOT_JUDGED: [&str; 9] = [
    "invalid_input", "invalid_inputs", "invalid_output", "invalid_outputs", "invalid_answer", "invalid_answers",
    "valid_output", "valid_outputs", "valid_inputs",
];

struct Context<'a> {
    tree: &'a FileTree,
    problem: &'a Problem,
    style: Style,
    /// Settings files by directory: their path and what they say.
    files: BTreeMap<String, (String, Node)>,
}

/// The test data, with settings in force at every group and arguments at every case.
pub(super) fn read(
    tree: &FileTree,
    problem: &Problem,
    warnings: &mut Vec<Warning>,
) -> Result<TestGroup, PackageError> {
    let mut files = BTreeMap::new();
    for directory in group_directories(tree)? {
        if let Some(file) = settings::file(tree, &directory, problem.is_new(), warnings)? {
            files.insert(directory, file);
        }
    }
    let style = style(problem, &files, warnings)?;
    let context = Context { tree, problem, style, files };
    let mut data = group(&context, "data", &Inherited::default(), warnings)?;
    data.groups.retain(|group| !group.all_cases().is_empty());
    if data.all_cases().is_empty() {
        let message = "has no test case\nhint: each is a pair of files such as 1.in and 1.ans";
        return Err(PackageError::new("data/secret", message));
    }
    if !data.groups.iter().any(|group| group.name == "secret") {
        warnings.push(Warning::new("data/secret", "has no test case; only the others are judged"));
    }
    Ok(data)
}

/// `data` and every directory below `data/sample` and `data/secret` that can be a group.
fn group_directories(tree: &FileTree) -> Result<Vec<String>, PackageError> {
    let mut found = vec!["data".to_string()];
    let mut open = vec!["data/sample".to_string(), "data/secret".to_string()];
    while let Some(directory) = open.pop() {
        if directory.matches('/').count() > DEPTH_LIMIT {
            return Err(PackageError::new(directory, format!("is more than {DEPTH_LIMIT} directories deep")));
        }
        open.extend(subdirectories(tree, &directory));
        found.push(directory);
    }
    Ok(found)
}

fn subdirectories(tree: &FileTree, directory: &str) -> Vec<String> {
    let children = tree.children(directory).into_iter();
    children
        .filter(|child| child.directory && !child.name.ends_with(".files"))
        .map(|child| child.path)
        .collect()
}

/// Packages of the drafts often kept the settings of legacy; these are then graded as legacy does.
fn style(
    problem: &Problem,
    files: &BTreeMap<String, (String, Node)>,
    warnings: &mut Vec<Warning>,
) -> Result<Style, PackageError> {
    if !problem.is_new() {
        return Ok(Style::Legacy);
    }
    for (path, root) in files.values() {
        if settings::is_legacy(&Section::root(path, root)?) {
            if problem.scoring {
                let message = "has settings of legacy; all groups are graded as in legacy";
                warnings.push(Warning::new(path, message));
            }
            return Ok(Style::Legacy);
        }
    }
    Ok(Style::New { scoring: problem.scoring })
}

/// The group of a directory, with everything inside.
fn group(
    context: &Context,
    directory: &str,
    above: &Inherited,
    warnings: &mut Vec<Warning>,
) -> Result<TestGroup, PackageError> {
    let silent = Node { line: 1, value: Value::Null };
    let (path, root) = match context.files.get(directory) {
        Some((path, root)) => (path.as_str(), root),
        None => (directory, &silent),
    };
    let section = Section::root(path, root)?;
    let own = settings::inherit(&section, above, warnings)?;
    let name = directory.strip_prefix("data").unwrap_or(directory).trim_start_matches('/');
    let settings = match context.style {
        Style::Legacy => settings::legacy(name, &section, &own, &context.problem.old_grading, warnings),
        Style::New { scoring } => settings::new(context.tree, name, &section, scoring, warnings)?,
    };
    let mut group = TestGroup { name: name.to_string(), settings, groups: Vec::new(), cases: Vec::new() };
    fill(context, directory, &own, &mut group, warnings)?;
    group.cases.sort_by(|a, b| a.name.cmp(&b.name));
    group.groups.sort_by(|a, b| a.name.cmp(&b.name));
    share_out(context, &mut group)?;
    if matches!(context.style, Style::New { scoring: true })
        && name == "secret"
        && !group.cases.is_empty()
        && !group.groups.is_empty()
    {
        let message = "has test cases next to test groups, which 2025-09 forbids; all are judged";
        warnings.push(Warning::new(directory, message));
    }
    Ok(group)
}

/// Adds the cases and groups of a directory to a group. In 2025-09 a directory without a settings file is no
/// group: its cases belong to the group around it.
fn fill(
    context: &Context,
    directory: &str,
    own: &Inherited,
    group: &mut TestGroup,
    warnings: &mut Vec<Warning>,
) -> Result<(), PackageError> {
    let found = cases(context, directory, own, warnings)?;
    if directory == "data" && !found.is_empty() {
        let message = "holds test cases outside of sample/ and secret/; they are judged as well";
        warnings.push(Warning::new(directory, message));
    }
    group.cases.extend(found);
    let inside =
        if directory == "data" { top(context, warnings) } else { subdirectories(context.tree, directory) };
    for path in inside {
        let is_group =
            directory == "data" || context.style == Style::Legacy || context.files.contains_key(&path);
        if is_group {
            let inner = self::group(context, &path, own, warnings)?;
            if directory == "data" || !inner.all_cases().is_empty() {
                group.groups.push(inner);
            }
        } else {
            fill(context, &path, own, group, warnings)?;
        }
    }
    Ok(())
}

/// `data/sample` and `data/secret`, with a warning about anything else that looks like test data.
fn top(context: &Context, warnings: &mut Vec<Warning>) -> Vec<String> {
    let mut found = Vec::new();
    for child in context.tree.children("data").into_iter().filter(|child| child.directory) {
        if matches!(child.name.as_str(), "sample" | "secret") {
            found.push(child.path);
        } else if !NOT_JUDGED.contains(&child.name.as_str())
            && context.tree.below(&format!("{}/", child.path)).any(|path| path.ends_with(".in"))
        {
            warnings.push(Warning::new(child.path, "is neither sample nor secret, and not judged"));
        }
    }
    found
}

fn share_out(context: &Context, group: &mut TestGroup) -> Result<(), PackageError> {
    if !matches!(context.style, Style::New { scoring: true }) || group.name.is_empty() {
        return Ok(());
    }
    let mut parts: Vec<(GroupSettings, bool)> = Vec::new();
    for inner in &group.groups {
        let open = match context.files.get(&format!("data/{}", inner.name)) {
            Some((path, root)) => settings::leaves_score_open(&Section::root(path, root)?),
            None => false,
        };
        parts.push((inner.settings.clone(), open));
    }
    settings::share_out(&group.settings, &mut parts);
    group.groups.iter_mut().zip(parts).for_each(|(inner, (settings, _))| inner.settings = settings);
    Ok(())
}

/// The cases directly in a directory.
fn cases(
    context: &Context,
    directory: &str,
    own: &Inherited,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<TestCase>, PackageError> {
    let mut cases = Vec::new();
    let (mut unanswered, mut unasked) = (Vec::new(), Vec::new());
    for child in context.tree.children(directory).into_iter().filter(|child| !child.directory) {
        let has = |ending: &str, stem: &str| {
            context.tree.files.contains_key(&format!("{directory}/{stem}.{ending}"))
        };
        if let Some(stem) = child.name.strip_suffix(".in") {
            let answered = has("ans", stem);
            if !answered {
                unanswered.push(stem.to_string());
            }
            if answered || needs_no_answer(context) {
                cases.push(case(context, directory, stem, own, warnings)?);
            }
        } else if let Some(stem) = child.name.strip_suffix(".ans").filter(|stem| !has("in", stem)) {
            unasked.push(stem.to_string());
        }
    }
    if !unanswered.is_empty() {
        let consequence = match needs_no_answer(context) {
            true => "the validator is given an empty one",
            false => "these cases are not judged",
        };
        let message = format!("has inputs without an answer file ({}); {consequence}", some_of(&unanswered));
        warnings.push(Warning::new(directory, message));
    }
    if !unasked.is_empty() {
        let message = format!("has answer files without an input ({}); ignored", some_of(&unasked));
        warnings.push(Warning::new(directory, message));
    }
    Ok(cases)
}

/// A custom validator may do without an answer; a comparison cannot.
fn needs_no_answer(context: &Context) -> bool {
    let problem = context.problem;
    let there = |directory: &str| context.tree.below(directory).next().is_some();
    let implied = problem.is_new() && (there("output_validator/") || there("output_validators/"));
    problem.interactive || problem.multi_pass || problem.custom_validator.unwrap_or(implied)
}

fn case(
    context: &Context,
    directory: &str,
    stem: &str,
    own: &Inherited,
    warnings: &mut Vec<Warning>,
) -> Result<TestCase, PackageError> {
    let tree = context.tree;
    let base = format!("{directory}/{stem}");
    let mut args = own.args.clone();
    let mut validator_args = own.validator_args.clone();
    let mut input_validator_args = own.input_validator_args.clone();
    // A file of the 2023 drafts: words for the command line.
    if let Some(text) = field::text(tree, &format!("{base}.args"), warnings)? {
        args = text.split_whitespace().map(str::to_string).collect();
    }
    let yaml = format!("{base}.yaml");
    let is_settings = matches!(stem, "testdata" | "test_group");
    if let Some(root) = if is_settings { None } else { field::document(tree, &yaml, warnings)? } {
        let section = Section::root(&yaml, &root)?;
        #[rustfmt::skip]
        let known = [
            "args", "output_validator_args", "output_validator_flags", "input_validator_args", "input_validator_flags",
            "input_visualizer_args", "output_visualizer_args", "full_feedback", "hint", "description",
        ];
        section.unknown(&known, &[], warnings);
        args = section.words("args")?.unwrap_or(args);
        validator_args = settings::validator_args(&section)?.unwrap_or(validator_args);
        input_validator_args = settings::input_validator_args(&section)?.unwrap_or(input_validator_args);
    }
    let answer = Some(format!("{base}.ans")).filter(|path| tree.files.contains_key(path));
    let validator_flags = context.problem.validator_flags.iter().cloned().chain(validator_args).collect();
    Ok(TestCase {
        name: base.strip_prefix("data/").unwrap_or(&base).to_string(),
        input: format!("{base}.in"),
        answer: answer.unwrap_or_default(),
        args,
        validator_flags,
        input_validator_args,
        files: all_files(tree, &format!("{base}.files")),
        ..TestCase::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::*;

    const NEW: &str = "problem_format_version: 2025-09\n";
    const NEW_SCORING: &str = "problem_format_version: 2025-09\ntype: scoring\n";

    fn names(group: &TestGroup) -> Vec<&str> {
        group.all_cases().iter().map(|case| case.name.as_str()).collect()
    }

    #[test]
    fn cases_are_ordered_by_name_and_grouped_by_directory() {
        let cases = ["secret/b/1", "secret/a/2", "secret/a/10", "sample/1-x", "sample/1"];
        let legacy = data("", &cases, &[], &[]);
        assert_eq!(names(&legacy), ["sample/1", "sample/1-x", "secret/a/10", "secret/a/2", "secret/b/1"]);
        assert_eq!(find(&legacy, "secret").groups.len(), 2);
        let new = data(NEW, &cases, &[], &[]);
        assert_eq!(names(&new), names(&legacy));
        assert_eq!(find(&new, "secret").groups.len(), 0);
        let grouped = data(
            NEW_SCORING,
            &cases,
            &[("data/secret/a/test_group.yaml", "max_score: 5\n")],
            &["data/secret: has test cases next to"],
        );
        assert_eq!(find(&grouped, "secret").groups.len(), 1);
        assert_eq!(find(&grouped, "secret/a").cases.len(), 2);
    }

    #[test]
    fn only_pairs_outside_of_hidden_and_foreign_directories_are_cases() {
        let files = [
            ("data/secret/2.in", ""),
            ("data/secret/3.ans", ""),
            ("data/secret/.4.in", ""),
            ("data/secret/x.desc", ""),
            ("data/secret/5.in.statement", ""),
            ("data/secret/1.files/9.in", ""),
            ("data/invalid_input/6.in", ""),
            ("data/other/7.in", ""),
            ("data/sample/8.interaction", ""),
        ];
        let warned = [
            "data/other: is neither sample nor secret",
            "data/secret: has inputs without an answer file (2); these cases are not judged",
            "data/secret: has answer files without an input (3); ignored",
        ];
        assert_eq!(names(&data("", &["secret/1"], &files, &warned)), ["secret/1"]);
    }

    #[test]
    fn a_custom_validator_does_without_answers() {
        let files = [("output_validators/v.py", ""), ("data/secret/1.in", "")];
        let warned =
            ["data/secret: has inputs without an answer file (1); the validator is given an empty one"];
        let found = data("validation: custom interactive\n", &[], &files, &warned);
        assert_eq!(found.all_cases()[0].answer, "");
        assert_eq!(found.all_cases()[0].input, "data/secret/1.in");
    }

    #[test]
    fn no_cases_at_all_is_an_error_but_samples_alone_are_judged() {
        let error = read(&tree(&[("problem.yaml", ""), ("data/secret/", "")])).unwrap_err().to_string();
        assert!(error.starts_with("data/secret: has no test case"), "{error}");
        data("", &["sample/1"], &[], &["data/secret: has no test case"]);
        data("", &["1", "secret/1"], &[], &["data: holds test cases outside"]);
    }

    #[test]
    fn arguments_come_from_the_nearest_level() {
        let files = [
            ("data/testdata.yaml", "output_validator_flags: group 1\n"),
            ("data/secret/a/testdata.yaml", "output_validator_flags: {name: v, flags: inner}\n"),
        ];
        let found = data("validator_flags: float_tolerance 1e-6\n", &["secret/1", "secret/a/1"], &files, &[]);
        let flags: Vec<_> = found.all_cases().iter().map(|case| case.validator_flags.join(" ")).collect();
        assert_eq!(flags, ["float_tolerance 1e-6 group 1", "float_tolerance 1e-6 inner"]);
        let files = [
            ("data/secret/test_group.yaml", "args: [x]\noutput_validator_args: [case_sensitive]\n"),
            ("data/secret/2.yaml", "args: [y, 'z z']\nhint: no\n"),
            ("data/secret/2.files/deep/a.bin", ""),
            ("data/secret/3.args", "p\nq\n"),
        ];
        let found = data(NEW, &["secret/1", "secret/2", "secret/3"], &files, &[]);
        let args: Vec<_> = found.all_cases().iter().map(|case| case.args.join("|")).collect();
        assert_eq!(args, ["x", "y|z z", "p|q"]);
        assert!(found.all_cases().iter().all(|case| case.validator_flags == ["case_sensitive"]));
        assert_eq!(found.all_cases()[1].files[0].name, "deep/a.bin");
    }
}
