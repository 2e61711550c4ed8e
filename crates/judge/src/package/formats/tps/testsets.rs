//! Tests, in testsets and subtasks: the lines of `gen/data`, or `tests/` and `subtasks/` of an exported package.

use super::super::super::field::{self, Range, Section, place};
use super::super::super::{
    Grading, HandedIn, MadeFile, Maker, Package, PackageError, Program, TestCase, TestCheck, TestCheckRun,
    TestGroup, Validator, Warning,
};
use super::super::{data, group, numbered};
use super::{DATA, Kind, Reader, SOLUTIONS, SUBTASKS};
use crate::compare::BuiltIn;
use std::collections::{BTreeMap, BTreeSet};

/// Most tests of all subtasks together: each can include others.
const MOST_TESTS: usize = 50_000;

/// A subtask, as the rest of the package names it.
pub(super) struct Subtask {
    /// Its name.
    pub(super) name: String,
    /// The test group that it is.
    pub(super) group: String,
    /// The most it gives.
    pub(super) score: f64,
}

/// A test and the words that make it; none: it is there.
struct Test {
    name: String,
    line: usize,
    words: Vec<String>,
}

struct Testset {
    name: String,
    subtask: bool,
    line: usize,
    /// Numbers of tests.
    tests: BTreeSet<usize>,
}

/// What `subtasks.json`, or a file of `subtasks/`, says of a subtask.
struct Stated {
    score: f64,
    validators: Vec<String>,
}

pub(super) fn read(
    reader: &Reader,
    model: Option<&str>,
    package: &mut Package,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Subtask>, PackageError> {
    let (tests, sets, stated) = match reader.exported {
        true => exported(reader, warnings)?,
        false => {
            let text = field::text(reader.tree, DATA, warnings)?.unwrap_or_default();
            let (tests, sets) = lines(&text, reader.kind)?;
            let stated = stated(reader, &sets, warnings)?;
            (tests, sets, stated)
        }
    };
    let mut making = Making { reader, model, programs: BTreeMap::new(), cases: BTreeMap::new() };
    let (mut groups, mut subtasks) = (Vec::<TestGroup>::new(), Vec::new());
    let mut looks: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let many = sets.iter().filter(|set| set.subtask).count();
    for (n, set) in sets.iter().filter(|set| set.subtask).enumerate() {
        let stated = &stated[&set.name];
        if set.tests.is_empty() {
            let message = format!("the subtask `{}` has no test; left out", set.name);
            warnings.push(Warning::new(place(DATA, Some(set.line), ""), message));
            continue;
        }
        let clean = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        let name: String = set.name.chars().map(clean).collect();
        let name = format!("secret/{}-{name}", numbered(n, many.saturating_sub(1)));
        let mut cases = Vec::new();
        for test in set.tests.iter().map(|n| &tests[*n]) {
            let case = making.case(test, package)?;
            let validators = looks.entry(case.input.clone()).or_default();
            validators.extend(stated.validators.iter().cloned());
            cases.push(TestCase { name: format!("{name}/{}", test.name), ..case });
        }
        groups.push(TestGroup { cases, ..group(&name, Grading::Min, Some(stated.score)) });
        subtasks.push(Subtask { name: set.name.clone(), group: name, score: stated.score });
    }
    if groups.is_empty() {
        let place = if reader.exported { "tests" } else { DATA };
        return Err(PackageError::new(place, "has no test in any subtask"));
    }
    package.scoring = subtasks.iter().map(|subtask| subtask.score).sum::<f64>() > 0.0;
    package.data = data(package.scoring, groups, Vec::new());
    checks(reader, looks, package)?;
    Ok(subtasks)
}

/// The tests and testsets of `gen/data` (ioi-2017/tps, scripts/internal/gen_data_parser.py).
fn lines(text: &str, kind: Kind) -> Result<(Vec<Test>, Vec<Testset>), PackageError> {
    let wrong = |line: usize, why: String| PackageError::new(place(DATA, Some(line), ""), why);
    let (mut tests, mut sets) = (Vec::<Test>::new(), Vec::<Testset>::new());
    let (mut subtasks, mut within, mut total) = (0, 0, 0usize);
    for (line, text) in (1..).zip(text.lines()) {
        let words =
            words(text.trim()).ok_or_else(|| wrong(line, "has a quotation without its end".into()))?;
        let Some(first) = words.first().filter(|_| !text.trim_start().starts_with('#')) else { continue };
        match first.as_str() {
            command @ ("@subtask" | "@testset") => {
                let [_, name] = &words[..] else {
                    return Err(wrong(line, format!("`{command}` needs one name")));
                };
                if sets.iter().any(|set| set.name == *name) {
                    return Err(wrong(line, format!("`{name}` is there already")));
                }
                let subtask = command == "@subtask";
                subtasks += usize::from(subtask);
                within = 0;
                sets.push(Testset { name: name.clone(), subtask, line, tests: BTreeSet::new() });
            }
            "@include" => {
                for name in &words[1..] {
                    let known = sets.iter().find(|set| set.name == *name).map(|set| set.tests.clone());
                    let known =
                        known.ok_or_else(|| wrong(line, format!("`{name}` is not a testset so far")))?;
                    let set =
                        sets.last_mut().ok_or_else(|| wrong(line, "comes before any subtask".into()))?;
                    total += known.len();
                    set.tests.extend(known);
                }
            }
            command if command.starts_with('@') => {
                let message = format!("`{command}` is not one of @subtask, @testset and @include");
                return Err(wrong(line, message));
            }
            _ => {
                let number = tests.len();
                let set = sets.last_mut().ok_or_else(|| wrong(line, "comes before any subtask".into()))?;
                within += 1;
                let of = if set.subtask { (subtasks - 1).to_string() } else { clean(&set.name) };
                let name = match kind {
                    Kind::OutputOnly => format!("{:02}", number + 1),
                    _ => format!("{of}-{within:02}"),
                };
                set.tests.insert(number);
                total += 1;
                tests.push(Test { name, line, words });
            }
        }
        if total > MOST_TESTS {
            return Err(wrong(line, format!("makes more than {MOST_TESTS} tests in all subtasks together")));
        }
    }
    Ok((tests, sets))
}

/// A name that is one part of a path.
fn clean(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
}

/// Words as a shell splits them: quotations, and a backslash before any character. `None`: a quotation does not end.
fn words(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().push(letters.next()?),
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// Scores and validators of the subtasks by name.
fn stated(
    reader: &Reader,
    sets: &[Testset],
    warnings: &mut Vec<Warning>,
) -> Result<BTreeMap<String, Stated>, PackageError> {
    let root = field::json(reader.tree, SUBTASKS, warnings)?;
    let root = root.ok_or_else(|| PackageError::new(SUBTASKS, "is missing"))?;
    let file = Section::root(SUBTASKS, &root)?;
    let inner = file.section("subtasks")?;
    let global = list(&file, "global_validators")?;
    let sensitive = list(&file, "subtask_sensitive_validators")?;
    let mut found = BTreeMap::new();
    for (name, node) in inner.entries() {
        if !sets.iter().any(|set| set.subtask && set.name == *name) {
            warnings.push(inner.warning(name, format!("is not a subtask of {DATA}")));
            continue;
        }
        let one = Section::new(SUBTASKS, format!("subtasks.{name}."), node)?;
        let own = list(&one, "validators")?;
        let sensitive = sensitive.iter().map(|words| words.replace("{subtask}", name));
        let validators = global.iter().cloned().chain(sensitive).chain(own).collect();
        found.insert(name.clone(), Stated { score: score(&one)?, validators });
    }
    if let Some(set) = sets.iter().find(|set| set.subtask && !found.contains_key(&set.name)) {
        return Err(inner.error(&set.name, format!("is missing, a subtask of {DATA}")));
    }
    Ok(found)
}

fn score(section: &Section) -> Result<f64, PackageError> {
    section.number("score", Range::at_least(0.0, 1e9))?.ok_or_else(|| section.error("score", "is missing"))
}

/// A list of texts, which may hold blanks.
fn list(section: &Section, key: &str) -> Result<Vec<String>, PackageError> {
    let Some(node) = section.get(key) else { return Ok(Vec::new()) };
    let texts = match &node.value {
        crate::yaml::Value::List(items) => {
            items.iter().map(|item| item.text().map(str::to_string)).collect::<Option<Vec<_>>>()
        }
        _ => None,
    };
    texts.ok_or_else(|| section.error(key, "must be a list of text"))
}

type Exported = (Vec<Test>, Vec<Testset>, BTreeMap<String, Stated>);

/// What is exported for CMS: each file of `subtasks/` names its tests; without any, all tests count alike.
fn exported(reader: &Reader, warnings: &mut Vec<Warning>) -> Result<Exported, PackageError> {
    let inputs =
        reader.tree.below("tests/").filter_map(|path| path.strip_prefix("tests/")?.strip_suffix(".in"));
    let test = |name: &str| Test { name: name.to_string(), line: 0, words: Vec::new() };
    let tests: Vec<Test> = inputs.map(test).collect();
    let (mut sets, mut stated, mut total) = (Vec::new(), BTreeMap::new(), 0);
    for path in reader.tree.below("subtasks/").filter(|path| path.ends_with(".json")) {
        let root = field::json(reader.tree, path, warnings)?;
        let root = root.ok_or_else(|| PackageError::new(path, "is missing"))?;
        let section = Section::root(path, &root)?;
        let mut members = BTreeSet::new();
        for name in list(&section, "testcases")? {
            let at = tests.iter().position(|test| test.name == name);
            let missing = || section.error("testcases", format!("tests/{name}.in is not there"));
            members.insert(at.ok_or_else(missing)?);
        }
        total += members.len();
        if total > MOST_TESTS {
            let message = format!("makes more than {MOST_TESTS} tests in all subtasks together");
            return Err(section.error("testcases", message));
        }
        let name = path["subtasks/".len()..path.len() - ".json".len()].to_string();
        stated.insert(name.clone(), Stated { score: score(&section)?, validators: Vec::new() });
        sets.push(Testset { name, subtask: true, line: 0, tests: members });
    }
    if sets.is_empty() {
        let share = 100.0 / tests.len().max(1) as f64;
        for (n, test) in tests.iter().enumerate() {
            stated.insert(test.name.clone(), Stated { score: share, validators: Vec::new() });
            let tests = BTreeSet::from([n]);
            sets.push(Testset { name: test.name.clone(), subtask: true, line: 0, tests });
        }
    }
    Ok((tests, sets, stated))
}

/// Finds or makes the files of tests, each once.
struct Making<'a> {
    reader: &'a Reader<'a>,
    /// Path of the solution that makes answers.
    model: Option<&'a str>,
    /// Numbers of generators by name.
    programs: BTreeMap<String, usize>,
    /// Cases by the names of their tests.
    cases: BTreeMap<String, TestCase>,
}

impl Making<'_> {
    fn case(&mut self, test: &Test, package: &mut Package) -> Result<TestCase, PackageError> {
        if let Some(known) = self.cases.get(&test.name) {
            return Ok(known.clone());
        }
        let input = self.input(test, package)?;
        let answer = self.answer(test, &input, package)?;
        let name = format!("output_{}.txt", test.name);
        let handed_in = if self.reader.kind == Kind::OutputOnly { HandedIn::May(name) } else { HandedIn::No };
        let has_checker = matches!(package.validator, Validator::Custom(_));
        let comparison = if has_checker { BuiltIn::Kattis } else { BuiltIn::WhiteDiff };
        let case = TestCase { input, answer, handed_in, comparison, ..TestCase::default() };
        self.cases.insert(test.name.clone(), case.clone());
        Ok(case)
    }

    fn input(&mut self, test: &Test, package: &mut Package) -> Result<String, PackageError> {
        let path = format!("tests/{}.in", test.name);
        let Some((command, args)) = test.words.split_first().filter(|_| !self.there(&path)) else {
            return Ok(path);
        };
        let wrong = |why: String| PackageError::new(place(DATA, Some(test.line), ""), why);
        if ["manual", "copy"].contains(&command.as_str()) {
            let [name] = args else { return Err(wrong(format!("`{command}` needs the name of one file"))) };
            let directory = if command == "manual" { "gen/manual" } else { "gen" };
            let found = beneath(directory, name).filter(|path| self.there(path));
            return found.ok_or_else(|| wrong(format!("`{name}` is not in {directory}/")));
        }
        let program = match self.programs.get(command) {
            Some(known) => *known,
            None => {
                let stem = beneath("gen", command);
                let source = stem.as_ref().and_then(|stem| {
                    self.reader.source(stem).or_else(|| Some(stem.clone()).filter(|stem| self.there(stem)))
                });
                let source =
                    source.ok_or_else(|| wrong(format!("there is no generator gen/{command}.cpp")))?;
                package.features.made.programs.push(self.reader.program(source));
                package.features.made.programs.len() - 1
            }
        };
        self.programs.insert(command.clone(), program);
        let by = Maker::Program { program, args: args.to_vec(), stdin: None, from_errors: false };
        package.features.made.files.push(MadeFile { path: path.clone(), by });
        Ok(path)
    }

    fn answer(&self, test: &Test, input: &str, package: &mut Package) -> Result<String, PackageError> {
        let path = format!("tests/{}.out", test.name);
        if self.there(&path) {
            return Ok(path);
        }
        let by = match (self.reader.kind, self.model) {
            // What a manager printed is for the checker alone.
            (Kind::Communication, _) => Maker::Empty,
            (_, Some(model)) => Maker::Submission { path: model.to_string(), input: input.to_string() },
            (_, None) if self.reader.exported => {
                return Err(PackageError::new(path, format!("is missing, the answer to {input}")));
            }
            (_, None) => {
                let message = format!("has no `model_solution`, which would make {path}");
                return Err(PackageError::new(SOLUTIONS, message));
            }
        };
        package.features.made.files.push(MadeFile { path: path.clone(), by });
        Ok(path)
    }

    fn there(&self, path: &str) -> bool {
        self.reader.tree.files.contains_key(path)
    }
}

/// The path of a file as a directory names it; `None`: it leaves the package.
fn beneath(directory: &str, name: &str) -> Option<String> {
    let mut parts: Vec<&str> = directory.split('/').collect();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!name.starts_with('/')).then(|| parts.join("/"))
}

/// The validators, each with the inputs it is for.
fn checks(
    reader: &Reader,
    looks: BTreeMap<String, BTreeSet<String>>,
    package: &mut Package,
) -> Result<(), PackageError> {
    let mut programs: BTreeMap<String, (Program, Vec<TestCheckRun>)> = BTreeMap::new();
    for (input, validators) in looks {
        for line in validators {
            let mut words = line.split_whitespace().map(str::to_string);
            let name = words.next().unwrap_or_default();
            let stem = beneath("validator", &name).unwrap_or_default();
            let file = Some(stem.clone()).filter(|path| reader.tree.files.contains_key(path));
            let Some(path) = file.or_else(|| reader.source(&stem)) else {
                return Err(PackageError::new(
                    place(SUBTASKS, None, "validators"),
                    format!("`{name}` is not in validator/"),
                ));
            };
            let entry = programs.entry(path.clone()).or_insert_with(|| (reader.program(path), Vec::new()));
            entry.1.push(TestCheckRun {
                file: input.clone(),
                input: None,
                files: Vec::new(),
                args: words.collect(),
                good: true,
            });
        }
    }
    let check = |(program, runs)| TestCheck { program, accepts: 0, runs };
    package.features.checks = programs.into_values().map(check).collect();
    Ok(())
}
