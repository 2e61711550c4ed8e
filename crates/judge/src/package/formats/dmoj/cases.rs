//! Test cases, batches and checkers (judge-server, dmoj/problem.py).

use super::super::super::field::{Range, Section};
use super::super::super::{
    Calls, Grading, GroupSettings, MadeFile, Maker, Package, PackageError, Program, Protocol, TestCase,
    TestGroup, Validator,
};
use super::super::{data, group, numbered};
use super::python::{self, Facts};
use super::{FILE, Files, calls, limits};
use crate::compare::{BuiltIn, FloatError};
use crate::yaml::{Node, Value};
use regex::{Regex, RegexBuilder};
use std::collections::{BTreeMap, BTreeSet};

/// Most points of a case or batch.
const MOST_POINTS: f64 = 1e9;
/// What stands for a file that a case does without.
const EMPTY: &str = "(empty)";

/// One level of the file, with those around it: the nearest that has a key says it.
struct Scope<'a> {
    levels: Vec<Section<'a>>,
}

impl<'a> Scope<'a> {
    fn having(&self, key: &str) -> &Section<'a> {
        let found = self.levels.iter().rev().find(|level| level.has(key));
        found.unwrap_or(&self.levels[self.levels.len() - 1])
    }

    fn text(&self, key: &str) -> Result<Option<&'a str>, PackageError> {
        self.having(key).text(key)
    }

    fn points(&self) -> Result<f64, PackageError> {
        Ok(self.having("points").number("points", Range::at_least(0.0, MOST_POINTS))?.unwrap_or(1.0))
    }

    fn inside(&self, prefix: String, node: &'a Node) -> Result<Scope<'a>, PackageError> {
        let mut levels: Vec<Section<'a>> = self.levels.iter().map(Section::again).collect();
        levels.push(Section::new(FILE, prefix, node)?);
        Ok(Scope { levels })
    }
}

/// A batch, or a case of its own.
struct Entry {
    points: f64,
    dependencies: Vec<usize>,
    batched: bool,
    cases: Vec<TestCase>,
}

/// Reads all cases into the package; their names in DMOJ's order.
pub(super) fn read(
    section: &Section,
    files: &Files,
    package: &mut Package,
) -> Result<Vec<String>, PackageError> {
    let grader = section.has("custom_judge").then(|| python::file(package)).flatten();
    let (checker, made) = (None, BTreeSet::new());
    let mut reader = Reader { files, package, checker, grader, made, position: 0, batch: 0 };
    let root = Scope { levels: vec![section.again()] };
    let mut entries = Vec::new();
    if let Some(node) = section.get("pretest_test_cases") {
        entries = reader.entries(&root, "pretest_test_cases", node)?;
        entries.iter_mut().for_each(|entry| entry.points = 0.0);
    }
    entries.extend(match section.get("test_cases") {
        Some(node) if matches!(node.value, Value::List(_)) => reader.entries(&root, "test_cases", node)?,
        _ => reader.matched(&root, section)?,
    });
    if entries.is_empty() {
        return Err(section.error("test_cases", "has no test case"));
    }
    let mut cases = entries.iter().flat_map(|entry| &entry.cases);
    if reader.checker.is_some() && cases.any(|case| case.comparison != BuiltIn::Kattis) {
        let message = "some cases have a checker of their own and others not, which is not supported";
        return Err(section.error("checker", message));
    }
    Ok(arrange(entries, package))
}

struct Reader<'a> {
    files: &'a Files<'a>,
    package: &'a mut Package,
    /// The checker of the package's own, of which all cases have the same.
    checker: Option<(Calls, Program)>,
    /// Name of the file of the grader in Python, if there is one.
    grader: Option<String>,
    /// What is made already.
    made: BTreeSet<String>,
    /// Number of the last case, from 1.
    position: usize,
    /// Number of the batch that is being read, from 1; 0 outside of batches.
    batch: usize,
}

impl Reader<'_> {
    fn entries(&mut self, root: &Scope, key: &str, node: &Node) -> Result<Vec<Entry>, PackageError> {
        let Value::List(items) = &node.value else {
            return Err(root.levels[0].error(key, format!("must be a list, not {}", node.kind())));
        };
        let mut entries: Vec<Entry> = Vec::new();
        let mut batches = Vec::new();
        for (n, item) in items.iter().enumerate() {
            let scope = root.inside(format!("{key}.{n}."), item)?;
            let own = &scope.levels[scope.levels.len() - 1];
            let points = scope.points()?;
            let Some(batched) = own.get("batched") else {
                let cases = vec![self.case(&scope, points)?];
                entries.push(Entry { points, dependencies: Vec::new(), batched: false, cases });
                continue;
            };
            let Value::List(inner) = &batched.value else {
                return Err(own.error("batched", format!("must be a list, not {}", batched.kind())));
            };
            if inner.is_empty() {
                return Err(own.error("batched", "has no test case"));
            }
            let mut cases = Vec::new();
            self.batch = batches.len() + 1;
            for (m, item) in inner.iter().enumerate() {
                let scope = scope.inside(format!("{key}.{n}.batched.{m}."), item)?;
                let own = &scope.levels[scope.levels.len() - 1];
                if own.has("batched") {
                    return Err(own.error("batched", "a batch cannot contain a batch"));
                }
                cases.push(self.case(&scope, points)?);
            }
            self.batch = 0;
            let dependencies = dependencies(&scope, &batches)?;
            batches.push(entries.len());
            entries.push(Entry { points, dependencies, batched: true, cases });
        }
        Ok(entries)
    }

    /// Cases found by their names in the archive.
    fn matched(&mut self, root: &Scope, section: &Section) -> Result<Vec<Entry>, PackageError> {
        let Some(archive) = &self.files.archive else {
            let message = "must be a list of cases; without one, the cases are looked for in an `archive`";
            return Err(section.error("test_cases", message));
        };
        let formats = section.section("test_cases")?;
        let [input, output] = [("input_format", Side::Input), ("output_format", Side::Output)]
            .map(|(key, side)| Pattern::new(&formats, key, side));
        let (input, output) = (input?, output?);
        let prefix = format!("{archive}/");
        let mut found: BTreeMap<Part, BTreeMap<Part, [Option<String>; 2]>> = BTreeMap::new();
        let mut batches = BTreeSet::new();
        for path in self.files.tree.files.keys().filter(|path| path.starts_with(&prefix)) {
            for (side, pattern) in [&input, &output].into_iter().enumerate() {
                let Some((batch, case)) = pattern.place(&path[prefix.len()..]) else { continue };
                if let Some(batch) = &batch {
                    batches.insert(batch.clone());
                }
                let in_batch = found.entry(batch.unwrap_or(case.clone())).or_default();
                in_batch.entry(case).or_default()[side] = Some(path.clone());
            }
        }
        let given = formats.words("case_points")?;
        let mut given = given.map(Vec::into_iter);
        let mut points = || -> Result<f64, PackageError> {
            let Some(given) = &mut given else { return root.points() };
            let word = given.next().ok_or_else(|| formats.error("case_points", "has too few numbers"))?;
            let number = word.parse::<f64>().ok().filter(|p| (0.0..=MOST_POINTS).contains(p));
            number.ok_or_else(|| formats.error("case_points", format!("`{word}` is not a number of points")))
        };
        let mut entries = Vec::new();
        for (name, cases) in found {
            let points = points()?;
            let batched = batches.contains(&name);
            if !batched && cases.len() > 1 {
                let message = format!("the names in {archive} give case {} more than once", name.text());
                return Err(section.error("test_cases", message));
            }
            self.batch =
                if batched { batches.iter().position(|batch| *batch == name).unwrap_or(0) + 1 } else { 0 };
            let cases =
                cases.into_values().map(|[input, output]| self.with_files(root, points, input, output));
            let cases = cases.collect::<Result<Vec<_>, _>>()?;
            entries.push(Entry { points, dependencies: Vec::new(), batched, cases });
        }
        Ok(entries)
    }

    fn case(&mut self, scope: &Scope, points: f64) -> Result<TestCase, PackageError> {
        let find = |key: &str| {
            let Some(name) = scope.text(key)? else { return Ok(None) };
            self.files.find(scope.having(key), key, name).map(Some)
        };
        let (input, output) = (find("in")?, find("out")?);
        self.with_files(scope, points, input, output)
    }

    fn with_files(
        &mut self,
        scope: &Scope,
        points: f64,
        input: Option<String>,
        output: Option<String>,
    ) -> Result<TestCase, PackageError> {
        let binary = scope.having("binary_data").flag("binary_data")?.unwrap_or(false);
        let (mut given, mut expected) = (input.clone(), output);
        let generator = scope.having("generator").get("generator").map(|_| scope.having("generator"));
        for path in [&given, &expected].into_iter().flatten().filter(|_| !binary) {
            // As judge-server does with all that is not binary.
            self.make(path, Maker::Lines { of: path.clone(), ended: true });
        }
        match generator {
            Some(generator) if given.is_none() => {
                let (input, answer) = self.generated(scope, generator, binary, expected.is_none())?;
                given = Some(input);
                expected = expected.or(answer);
            }
            Some(_) if scope.having("generator_args").has("generator_args") => {
                let message = "and `in` are both there, so that it is not clear which is the input";
                return Err(scope.having("generator_args").error("generator_args", message));
            }
            _ => {}
        }
        let mut or_empty = |path: Option<String>| {
            path.unwrap_or_else(|| {
                self.make(EMPTY, Maker::Empty);
                EMPTY.to_string()
            })
        };
        let (input, answer) = (or_empty(given), or_empty(expected));
        self.position += 1;
        let facts = Facts {
            interactive: false,
            points,
            position: self.position,
            batch: self.batch,
            binary,
            ..Facts::default()
        };
        let (comparison, facts) = self.decision(scope, facts)?;
        let validator_flags = facts.map(|facts| facts.flag()).into_iter().collect();
        Ok(TestCase {
            input,
            answer,
            comparison,
            validator_flags,
            points: Some(points),
            ..TestCase::default()
        })
    }

    fn make(&mut self, path: &str, by: Maker) {
        let files = &mut self.package.features.made.files;
        let made = MadeFile { path: path.to_string(), by };
        if self.made.insert(format!("{made:?}")) {
            files.push(made);
        }
    }

    /// The input, and the answer where the generator is to give it.
    fn generated(
        &mut self,
        scope: &Scope,
        at: &Section,
        binary: bool,
        wants_answer: bool,
    ) -> Result<(String, Option<String>), PackageError> {
        let spec = match at.get("generator").map(|node| &node.value) {
            Some(Value::Map(_)) => Some(at.section("generator")?),
            _ => None,
        };
        let generator = match &spec {
            Some(spec) => {
                #[rustfmt::skip]
                let known = [
                    "source", "flags", "args", "language", "compiler_time_limit", "time_limit", "memory_limit", "cached",
                ];
                spec.unknown(&known, &[], &mut Vec::new());
                limits(spec, self.package)?;
                self.files.program(spec, "source")?
            }
            None => Program { language: None, options: Vec::new(), ..self.files.program(at, "generator")? },
        };
        let own = scope.having("generator_args").words("generator_args")?.filter(|args| !args.is_empty());
        let args = match (own, &spec) {
            (Some(args), _) => args,
            (None, Some(spec)) => spec.words("args")?.unwrap_or_default(),
            (None, None) => Vec::new(),
        };
        let stdin = match scope.text("generator_in")? {
            Some(name) => Some(self.files.find(scope.having("generator_in"), "generator_in", name)?),
            None => None,
        };
        let programs = &mut self.package.features.made.programs;
        let program = programs.iter().position(|known| *known == generator).unwrap_or_else(|| {
            programs.push(generator.clone());
            programs.len() - 1
        });
        let words: Vec<&str> = args.iter().map(String::as_str).chain(stdin.as_deref()).collect();
        let name = format!("{} {}", generator.path, words.join(" "));
        let mut made = |what: &str, from_errors: bool| {
            let path = format!("({name}: {what})");
            let by = Maker::Program { program, args: args.clone(), stdin: stdin.clone(), from_errors };
            self.make(&path, by);
            // What it prints as the input is taken as it is.
            if from_errors && !binary {
                self.make(&path, Maker::Lines { of: path.clone(), ended: true });
            }
            path
        };
        Ok((made("input", false), wants_answer.then(|| made("answer", true))))
    }

    /// What decides at a case, and what Python that does is told; `facts` are those of the case.
    fn decision(&mut self, scope: &Scope, facts: Facts) -> Result<(BuiltIn, Option<Facts>), PackageError> {
        if let Some(file) = self.grader.clone() {
            return Ok((BuiltIn::Kattis, Some(Facts { file, interactive: true, ..facts })));
        }
        let at = scope.having("checker");
        let Some(node) = at.get("checker").filter(|_| !self.package.interactive) else {
            return Ok((BuiltIn::Lines, None));
        };
        let spec = match &node.value {
            Value::Map(_) => at.section("checker")?,
            _ => at.again(),
        };
        let key = if matches!(node.value, Value::Map(_)) { "name" } else { "checker" };
        let name = spec.text(key)?.ok_or_else(|| spec.error(key, "is missing"))?;
        let none = Node { line: node.line, value: Value::Null };
        let args = match key {
            "name" => spec.section("args")?,
            _ => Section::new(FILE, "checker.args.".into(), &none)?,
        };
        let mut told = None;
        let comparison = match name {
            "standard" => BuiltIn::Lines,
            "easy" => BuiltIn::Characters,
            "floats" => floats(&args, None)?,
            "floatsabs" => floats(&args, Some(FloatError::Absolute))?,
            "floatsrel" => floats(&args, Some(FloatError::Relative))?,
            "identical" => BuiltIn::Identical,
            "linecount" => BuiltIn::LineCount,
            "linematches" => line_matches(&args)?,
            "rstripped" => {
                BuiltIn::EndsStripped { without_empty: args.flag("filter_new_line")?.unwrap_or(false) }
            }
            "sorted" => match args.text("split_on")?.unwrap_or("lines") {
                "lines" => BuiltIn::SortedLines,
                "whitespace" => BuiltIn::SortedTokens,
                other => {
                    return Err(args.error("split_on", format!("`{other}` is neither lines nor whitespace")));
                }
            },
            "unordered" => BuiltIn::SortedTokens,
            "bridged" => {
                self.bridged(&args)?;
                BuiltIn::Kattis
            }
            _ if name.contains('.') => {
                let program = python::checker(&spec, key, self.files, self.package)?;
                let calls = Calls::new(Protocol::Kattis, &[Calls::CPU, Calls::MEMORY]);
                self.decided_by(&spec, key, (calls, program))?;
                let file = python::file(self.package).unwrap_or_default();
                told = Some(Facts { file, args: python::arguments(args.entries()), ..facts });
                BuiltIn::Kattis
            }
            _ => {
                let known = "standard, easy, floats, floatsabs, floatsrel, identical, linecount, linematches, rstripped, \
                             sorted, unordered, bridged";
                return Err(spec.error(key, format!("`{name}` is not one of {known}")));
            }
        };
        Ok((comparison, told))
    }

    fn bridged(&mut self, args: &Section) -> Result<(), PackageError> {
        let calls = calls(args, Calls::TESTLIB_CHECKER)?;
        let program = self.files.program(args, "files")?;
        limits(args, self.package)?;
        self.decided_by(args, "files", (calls, program))
    }

    /// Takes a program as the checker of all cases.
    fn decided_by(&mut self, at: &Section, key: &str, own: (Calls, Program)) -> Result<(), PackageError> {
        if self.checker.as_ref().is_some_and(|known| *known != own) {
            return Err(at.error(key, "cases have different checkers of their own, which is not supported"));
        }
        self.package.features.calls = own.0.clone();
        self.package.validator = Validator::Custom(vec![own.1.clone()]);
        self.checker = Some(own);
        Ok(())
    }
}

fn floats(args: &Section, error: Option<FloatError>) -> Result<BuiltIn, PackageError> {
    let precision = args.number("precision", Range::at_least(-300.0, 300.0))?.unwrap_or(6.0);
    let mode = match args.text("error_mode")? {
        None | Some("default") => FloatError::Either,
        Some("absolute") => FloatError::Absolute,
        Some("relative") => FloatError::Relative,
        Some(other) => {
            return Err(
                args.error("error_mode", format!("`{other}` is not one of default, absolute, relative"))
            );
        }
    };
    Ok(BuiltIn::Floats { tolerance: 10f64.powi(-(precision as i32)), error: error.unwrap_or(mode) })
}

fn line_matches(args: &Section) -> Result<BuiltIn, PackageError> {
    let words = args.words("point_distribution")?.unwrap_or_else(|| vec!["1".into()]);
    let weights = words.iter().map(|word| word.parse::<f64>().ok().filter(|w| w.is_finite() && *w >= 0.0));
    let weights: Option<Vec<f64>> = weights.collect();
    let weights = weights.ok_or_else(|| args.error("point_distribution", "must be a list of points"))?;
    Ok(BuiltIn::LineMatches { weights, same_count: args.flag("filler_lines_required")?.unwrap_or(true) })
}

/// Numbers of batches, from 1, as places among the entries.
fn dependencies(scope: &Scope, batches: &[usize]) -> Result<Vec<usize>, PackageError> {
    let at = scope.having("dependencies");
    let words = at.words("dependencies")?.unwrap_or_default();
    let place = |word: &String| {
        let number = word.parse::<usize>().ok().filter(|n| *n >= 1);
        number.and_then(|n| batches.get(n - 1)).copied().ok_or_else(|| {
            let there = batches.len();
            at.error(
                "dependencies",
                format!("`{word}` is not the number of an earlier batch; there are {there}"),
            )
        })
    };
    words.iter().map(place).collect()
}

/// Puts the entries into the package; the names of the cases in DMOJ's order.
fn arrange(entries: Vec<Entry>, package: &mut Package) -> Vec<String> {
    let total: f64 = entries.iter().map(|entry| entry.points).sum();
    package.scoring = total > 0.0;
    // What gives no points, and fails, ends the judging: all that comes later asks for it.
    let gates = package.scoring && entries.iter().any(|entry| entry.points == 0.0);
    let many = entries.len();
    let mut names = Vec::new();
    let (mut groups, mut cases) = (Vec::<TestGroup>::new(), Vec::new());
    let group_name = |n: usize| format!("secret/{}", numbered(n + 1, many));
    let mut before: Vec<usize> = Vec::new();
    for (n, entry) in entries.into_iter().enumerate() {
        let name = group_name(n);
        if !entry.batched && !gates {
            let case = entry.cases.into_iter().map(|case| TestCase { name: name.clone(), ..case });
            cases.extend(case);
            names.push(name);
            continue;
        }
        let inside = entry.cases.len();
        let named = |(m, case): (usize, TestCase)| TestCase {
            name: format!("{name}/{}", numbered(m + 1, inside)),
            points: None,
            ..case
        };
        let members: Vec<TestCase> = entry.cases.into_iter().enumerate().map(named).collect();
        names.extend(members.iter().map(|case| case.name.clone()));
        let mut needed: Vec<usize> = entry.dependencies.iter().chain(&before).copied().collect();
        needed.sort_unstable();
        needed.dedup();
        let require_pass = needed.into_iter().map(group_name).collect();
        let grading = if package.scoring { Grading::Min } else { Grading::PassFail };
        let empty = group(&name, grading, Some(entry.points));
        let settings = GroupSettings { require_pass, ..empty.settings.clone() };
        groups.push(TestGroup { settings, cases: members, ..empty });
        if gates && entry.points == 0.0 {
            before.push(n);
        }
    }
    package.data = data(package.scoring, groups, cases);
    names
}

/// The name of a batch or case: numbers come after words, by their value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Word(String),
    Number(u64),
}

impl Part {
    fn new(text: &str) -> Part {
        text.parse().map_or_else(|_| Part::Word(text.to_string()), Part::Number)
    }

    fn text(&self) -> String {
        match self {
            Part::Word(word) => word.clone(),
            Part::Number(number) => number.to_string(),
        }
    }
}

#[derive(Clone, Copy)]
enum Side {
    Input,
    Output,
}

/// How cases are known by their names. The usual pattern looks ahead, which the library cannot; the words looked for are kept apart.
struct Pattern {
    regex: Regex,
    usual: Option<[&'static str; 2]>,
}

impl Pattern {
    fn new(formats: &Section, key: &str, side: Side) -> Result<Pattern, PackageError> {
        const USUAL: &str = r"^.*?(?:(?:^|\W)(?P<batch>\d+)[^\d\s]+)?(?P<case>\d+)[^\d\s]*$";
        let given = formats.text(key)?;
        let text = given.map_or_else(|| USUAL.to_string(), |given| format!("^(?:{given})"));
        let built = RegexBuilder::new(&text).case_insensitive(true).size_limit(1 << 20).build();
        let regex = built.map_err(|e| {
            let why = e.to_string().lines().last().unwrap_or_default().to_string();
            formats.error(key, format!("cannot be read as a pattern: {why}"))
        })?;
        if !regex.capture_names().flatten().any(|name| name == "case") {
            return Err(formats.error(key, "has no group `(?P<case>…)`"));
        }
        let words = match side {
            Side::Input => [".in", "in"],
            Side::Output => [".out", "out"],
        };
        Ok(Pattern { regex, usual: given.is_none().then_some(words) })
    }

    /// Batch and case of a name.
    fn place(&self, name: &str) -> Option<(Option<Part>, Part)> {
        if let Some([inside, first]) = self.usual {
            let lower = name.to_lowercase();
            if !lower.contains(inside) && !lower.starts_with(first) {
                return None;
            }
        }
        let found = self.regex.captures(name)?;
        let part = |group: &str| found.name(group).map(|text| Part::new(text.as_str()));
        Some((part("batch"), part("case")?))
    }
}
