//! Polygon's packages: `problem.xml` is the only authority (the standard package, `$linux` and `$windows`).
//!
//! Nothing of `doall.sh` is run: tests that are not in the package are made by its generators, answers by its main solution, in the
//! sandbox. What its checkers answer is testlib's to say (testlib.h).

mod solutions;
mod xml;

use super::super::field::place;
use super::super::{
    Calls, FileIo, FileTree, FollowUpChecker, Grading, GroupSettings, MadeFile, Maker, Package, PackageError,
    Program, Protocol, SecondPass, SourceFile, TestCase, TestCheck, TestCheckRun, TestGroup, TimeLimit,
    Validator, Warning,
};
use super::{Importer, blank, data, group, numbered, source_file};
use model::{Bytes, Nanos};
use std::collections::{BTreeMap, BTreeSet};
use xml::Element;

const FILE: &str = "problem.xml";
const CONTEST_FILE: &str = "contest.xml";
/// Far more than packages have.
const MOST_TESTS: usize = 20_000;
/// Far more than packages have.
const MOST_GROUPS: usize = 300;

pub(super) const IMPORTER: Importer =
    Importer { name: "polygon", mark: FILE, wants: wanted, archives: |_| Vec::new(), read };

/// A contest holds problems; none of them is meant by its directory.
pub(super) const CONTEST: Importer = Importer {
    name: "polygon",
    mark: CONTEST_FILE,
    wants: |_| false,
    archives: |_| Vec::new(),
    read: |tree, _| {
        let inside =
            tree.files.keys().filter_map(|path| path.strip_suffix("/problem.xml")).collect::<Vec<_>>();
        let message =
            format!("is a contest of Polygon\nhint: name one of its problems: {}", inside.join(", "));
        Err(PackageError::new(CONTEST_FILE, message))
    },
};

/// Sources: whether they need testlib.h, or Windows.
fn wanted(path: &str) -> bool {
    let directory = ["files/", "solutions/"].iter().any(|directory| path.starts_with(directory));
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    (directory || !path.contains('/')) && ["cpp", "cc", "c", "h", "hpp", "pas", "dpr"].contains(&ending)
}

fn error(element: &Element, what: &str, message: impl Into<String>) -> PackageError {
    PackageError::new(place(FILE, Some(element.line), what), message)
}

fn warning(element: &Element, what: &str, message: impl Into<String>) -> Warning {
    Warning::new(place(FILE, Some(element.line), what), message)
}

fn read(tree: &FileTree, warnings: &mut Vec<Warning>) -> Result<Package, PackageError> {
    let text = super::super::field::text(tree, FILE, warnings)?.unwrap_or_default();
    let root =
        xml::parse(&text).map_err(|(line, why)| PackageError::new(place(FILE, Some(line), ""), why))?;
    if root.name != "problem" {
        return Err(error(&root, &root.name, "is not the root of a problem of Polygon, `problem`"));
    }
    let judging = root.child("judging").ok_or_else(|| error(&root, "judging", "is missing"))?;
    let reader = Reader { tree, root: &root, judging };
    let mut package = blank(tree, IMPORTER.name);
    package.title = title(&root).unwrap_or(package.title);
    let file = |name: &str| judging.attribute(name).filter(|name| !name.is_empty()).map(str::to_string);
    package.features.file_io = FileIo { input: file("input-file"), output: file("output-file"), both: false };
    let names = [&package.features.file_io.input, &package.features.file_io.output];
    if let Some(name) = names.into_iter().flatten().find(|name| name.contains('/') || name.starts_with('.')) {
        return Err(error(
            judging,
            "judging",
            format!("`{name}` is not a name of a file in the working directory"),
        ));
    }
    let testset = reader.testset(warnings)?;
    let number = |name: &str| {
        let found = testset.child(name).ok_or_else(|| error(testset, name, "is missing"))?;
        let number = found.text().parse::<u64>().ok().filter(|number| (1..=1 << 42).contains(number));
        number.ok_or_else(|| {
            error(found, name, format!("must be a whole number above 0, not `{}`", found.text()))
        })
    };
    let limit = Nanos::from_secs_f64(number("time-limit")? as f64 / 1000.0).unwrap_or_default();
    package.limits.time = TimeLimit::Stated { limit, source: format!("{FILE}: time-limit") };
    package.limits.memory = Some(Bytes(number("memory-limit")?));
    // Polygon takes outputs of any size; this is far more than real ones have.
    package.limits.output = Some(Bytes::from_mib(256));
    solutions::read(&reader, &mut package, warnings)?;
    reader.programs(&mut package)?;
    reader.tests(testset, &mut package, warnings)?;
    package.features.checks = reader.checks(testset, &package)?;
    Ok(package)
}

/// The English title, else the first.
fn title(root: &Element) -> Option<String> {
    let mut names = root
        .all("names", "name")
        .filter_map(|name| Some((name.attribute("language")?, name.attribute("value")?)));
    let first = names.next()?;
    let english = [first].into_iter().chain(names).find(|(language, _)| *language == "english");
    Some(english.unwrap_or(first).1.trim().to_string()).filter(|title| !title.is_empty())
}

/// The package language code of a source's type; `None`: its name tells.
fn language(kind: &str) -> Option<&'static str> {
    let family = kind.split('.').next().unwrap_or_default();
    Some(match family {
        "cpp" => "cpp",
        "c" => "c",
        "python" if kind.starts_with("python.2") => "python2",
        "python" => "python3",
        "pas" => "pascal",
        "csharp" => "csharp",
        "kotlin" => "kotlin",
        "rust" => "rust",
        "go" => "go",
        _ if family.starts_with("java") && family != "javascript" => "java",
        _ => return None,
    })
}

struct Reader<'a> {
    tree: &'a FileTree,
    root: &'a Element,
    judging: &'a Element,
}

impl Reader<'_> {
    /// The file of a `source`, which must be in the package and be one that this system can compile.
    fn source(&self, source: &Element, owner: &str) -> Result<SourceFile, PackageError> {
        let path =
            source.attribute("path").ok_or_else(|| error(source, owner, "has a source without `path`"))?;
        if !self.tree.files.contains_key(path) {
            let other = format!("{}.exe", path.rsplit_once('.').map_or(path, |(stem, _)| stem));
            let message = match self.tree.files.contains_key(&other) {
                true => format!(
                    "`{path}` is not in the package, only the Windows program {other}\nhint: export it with sources"
                ),
                false => format!("`{path}` is not in the package"),
            };
            return Err(error(source, owner, message));
        }
        Ok(source_file(self.tree, path))
    }

    fn content(&self, path: &str) -> String {
        let content = self.tree.files.get(path).and_then(|entry| entry.content.as_deref());
        String::from_utf8_lossy(content.unwrap_or_default()).into_owned()
    }

    /// Whether a source can only be compiled on Windows.
    fn windows_only(&self, path: &str) -> bool {
        let text = self.content(path).to_lowercase();
        text.lines().any(|line| {
            let line = line.replace(' ', "");
            line.starts_with("#include<windows.h>") || line.starts_with("#include\"windows.h\"")
        })
    }

    /// Headers that programs of the package may include.
    fn headers(&self) -> impl Iterator<Item = SourceFile> {
        let header = |path: &&String| {
            let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
            let place = path.starts_with("files/") || !path.contains('/');
            place && ["h", "hpp", "inc"].contains(&ending)
        };
        self.tree.files.keys().filter(header).map(|path| source_file(self.tree, path))
    }

    /// A program of the package: checker, interactor, generator.
    fn program(&self, element: &Element, owner: &str) -> Result<Program, PackageError> {
        let source = element.child("source").ok_or_else(|| error(element, owner, "has no `source`"))?;
        let file = self.source(source, owner)?;
        if self.windows_only(&file.path) {
            return Err(error(
                source,
                owner,
                format!("`{}` includes windows.h, so it can only be compiled on Windows", file.path),
            ));
        }
        let mut files = vec![file.clone()];
        for header in self.headers() {
            if !files.iter().any(|known| known.name == header.name) {
                files.push(header);
            }
        }
        let needs = self.content(&file.path).lines().any(|line| {
            let line = line.replace([' ', '\t'], "");
            line.starts_with("#include\"testlib.h\"") || line.starts_with("#include<testlib.h>")
        });
        if needs && !files.iter().any(|file| file.name == "testlib.h") {
            let message = format!(
                "`{}` includes testlib.h, which is not in the package\nhint: put it into files/",
                file.path
            );
            return Err(error(source, owner, message));
        }
        let language = source.attribute("type").and_then(language).map(str::to_string);
        Ok(Program { path: file.path, files, language, options: Vec::new() })
    }

    fn testset(&self, warnings: &mut Vec<Warning>) -> Result<&Element, PackageError> {
        let sets: Vec<&Element> =
            self.judging.children.iter().filter(|child| child.name == "testset").collect();
        let named = sets.iter().find(|set| set.attribute("name") == Some("tests"));
        let found = match (named, &sets[..]) {
            (Some(set), _) => *set,
            (None, [only]) => *only,
            (None, []) => return Err(error(self.judging, "testset", "is missing")),
            (None, _) => {
                return Err(error(self.judging, "testset", "there are several, and none is called `tests`"));
            }
        };
        for other in sets.into_iter().filter(|set| set.attribute("name") != found.attribute("name")) {
            let name = other.attribute("name").unwrap_or_default();
            warnings.push(warning(
                other,
                "testset",
                format!("`{name}` is not judged, only that called `tests`"),
            ));
        }
        Ok(found)
    }

    fn programs(&self, package: &mut Package) -> Result<(), PackageError> {
        if let Some(scorer) = self.root.at("assets/scorer") {
            return Err(error(scorer, "assets.scorer", "a program that adds up the points is not supported"));
        }
        let assets = self.root.child("assets").ok_or_else(|| error(self.root, "assets", "is missing"))?;
        let checker = assets.child("checker").ok_or_else(|| error(assets, "assets.checker", "is missing"))?;
        if let Some(other) = checker.attribute("type").filter(|kind| *kind != "testlib") {
            return Err(error(
                checker,
                "assets.checker",
                format!("is of type `{other}`; only testlib is known"),
            ));
        }
        let percent = self.judging.attribute("treat-points-from-checker-as-percent").is_some_and(truth);
        package.features.calls = Calls::new(Protocol::Testlib { percent }, &Calls::TESTLIB_CHECKER);
        let checker = self.program(checker, "assets.checker")?;
        let interactor =
            assets.child("interactor").map(|found| self.program(found, "assets.interactor")).transpose()?;
        let runs = self.judging.attribute("run-count").unwrap_or("1");
        let again = match (runs, &interactor) {
            ("1", _) => None,
            ("2", Some(_)) if self.judging.child("runs").is_some() => {
                return Err(error(
                    self.judging,
                    "judging.runs",
                    "two runs with an interactor each are not supported",
                ));
            }
            ("2", Some(_)) => Some(SecondPass::Written),
            ("2", None) => Some(SecondPass::Printed),
            (other, _) => {
                return Err(error(
                    self.judging,
                    "judging.run-count",
                    format!("must be 1 or 2, not `{other}`"),
                ));
            }
        };
        if let Some(second_pass) = again {
            package.features.second_pass = second_pass;
            (package.multi_pass, package.limits.passes) = (true, 2);
        }
        package.interactive = interactor.is_some();
        (package.validator, package.features.after) = match interactor {
            Some(interactor) => {
                let after = FollowUpChecker { program: checker, calls: package.features.calls.clone() };
                (Validator::Custom(vec![interactor]), Some(after))
            }
            None => (Validator::Custom(vec![checker]), None),
        };
        Ok(())
    }

    /// Adds the program that a test's `cmd` begins with; its number.
    fn generator(&self, test: &Element, name: &str, package: &mut Package) -> Result<usize, PackageError> {
        let stem = |element: &Element| {
            let path = element.child("source")?.attribute("path")?;
            let file = path.rsplit('/').next().unwrap_or(path);
            Some(file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_string())
        };
        let wanted = name.strip_suffix(".exe").unwrap_or(name);
        let mut all = self.root.all("files/executables", "executable");
        let found = all.find(|element| stem(element).as_deref() == Some(wanted));
        let found = found.ok_or_else(|| {
            error(
                test,
                "test.cmd",
                format!("`{name}` is not one of the package's programs (files/executables)"),
            )
        })?;
        let program = self.program(found, "files.executables")?;
        let programs = &mut package.features.made.programs;
        Ok(programs.iter().position(|known| *known == program).unwrap_or_else(|| {
            programs.push(program);
            programs.len() - 1
        }))
    }

    fn tests(
        &self,
        testset: &Element,
        package: &mut Package,
        warnings: &mut Vec<Warning>,
    ) -> Result<(), PackageError> {
        let tests: Vec<&Element> = testset.all("tests", "test").collect();
        if tests.is_empty() || tests.len() > MOST_TESTS {
            let message = if tests.is_empty() {
                "has no test".into()
            } else {
                format!("has more than {MOST_TESTS} tests")
            };
            return Err(error(testset, "testset.tests", message));
        }
        let pattern = |name: &str| {
            let found = testset.child(name).ok_or_else(|| error(testset, name, "is missing"))?;
            Pattern::new(found.text()).ok_or_else(|| {
                error(found, name, format!("`{}` is not a pattern such as `tests/%02d`", found.text()))
            })
        };
        let (inputs, answers) = (pattern("input-path-pattern")?, pattern("answer-path-pattern")?);
        // One that comes with every package runs Polygon's own scripts.
        let windows =
            self.tree.files.keys().any(|path| path.ends_with(".exe") && !path.ends_with("runexe.exe"));
        let complete = (1..=tests.len()).all(|n| self.tree.files.contains_key(&inputs.path(n)));
        let main = self.main();
        let (mut made, mut cases, mut generators) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (n, test) in (1..).zip(&tests) {
            let (input, answer) = (inputs.path(n), answers.path(n));
            let mut there = |path: &str| {
                let there = self.tree.files.contains_key(path);
                // Tests that were written on Windows; Polygon runs programs there, where nobody sees it.
                if there && (windows || !complete) {
                    let by = Maker::Lines { of: path.to_string(), ended: false };
                    made.push(MadeFile { path: path.to_string(), by });
                }
                there
            };
            let (has_input, has_answer) = (there(&input), there(&answer));
            if !has_input {
                made.push(MadeFile {
                    path: input.clone(),
                    by: self.maker(test, &input, package, &mut generators)?,
                });
            }
            if !has_answer {
                let Some(path) = main.clone() else {
                    let message =
                        format!("there is no {answer}, and no solution is tagged `main` that could make it");
                    return Err(error(test, "test", message));
                };
                made.push(MadeFile {
                    path: answer.clone(),
                    by: Maker::Submission { path, input: input.clone() },
                });
            }
            let points = test.attribute("points").map(|text| points(test, text)).transpose()?;
            let name = numbered(n, tests.len());
            cases.push((*test, TestCase { name, input, answer, points, ..TestCase::default() }));
        }
        package.features.made.files = made;
        self.arrange(testset, cases, package, warnings)
    }

    fn maker(
        &self,
        test: &Element,
        input: &str,
        package: &mut Package,
        generators: &mut BTreeMap<String, usize>,
    ) -> Result<Maker, PackageError> {
        let Some(cmd) = test.attribute("cmd").filter(|_| test.attribute("method") != Some("manual")) else {
            return Err(error(
                test,
                "test",
                format!("`{input}` is not in the package, and no `cmd` makes it"),
            ));
        };
        if test.attribute("from-file").is_some() || cmd.contains(['>', '<', '|']) {
            return Err(error(
                test,
                "test.cmd",
                format!("`{cmd}` writes files of its own\nhint: export the package with its tests (Linux)"),
            ));
        }
        let mut words = cmd.split_whitespace().map(str::to_string);
        let name = words.next().ok_or_else(|| error(test, "test.cmd", "is empty"))?;
        let program = match generators.get(&name) {
            Some(known) => *known,
            None => self.generator(test, &name, package)?,
        };
        generators.insert(name, program);
        Ok(Maker::Program { program, args: words.collect(), stdin: None, from_errors: false })
    }

    /// Validators look at every test; those of Polygon know its testset and group.
    fn checks(&self, testset: &Element, package: &Package) -> Result<Vec<TestCheck>, PackageError> {
        let groups: Vec<_> = testset.all("tests", "test").map(|test| test.attribute("group")).collect();
        let name = testset.attribute("name").unwrap_or("tests");
        let run = |case: &TestCase| {
            let n = case.name.rsplit('/').next().and_then(|name| name.parse::<usize>().ok())?;
            let group = groups.get(n.checked_sub(1)?)?.map(|group| ["--group", group]);
            let words = ["--testset", name].into_iter().chain(group.into_iter().flatten());
            let args = words.map(str::to_string).collect();
            Some(TestCheckRun { file: case.input.clone(), input: None, files: Vec::new(), args, good: true })
        };
        let runs: Vec<TestCheckRun> = package.data.all_cases().into_iter().filter_map(run).collect();
        let mut checks = Vec::new();
        for validator in self.root.all("assets/validators", "validator") {
            let program = self.program(validator, "assets.validators")?;
            checks.push(TestCheck { program, accepts: 0, runs: runs.clone() });
        }
        Ok(checks)
    }

    /// Path of the solution that makes answers.
    fn main(&self) -> Option<String> {
        let mut all = self.root.all("assets/solutions", "solution");
        let main = all.find(|solution| solution.attribute("tag") == Some("main"))?;
        main.child("source")?.attribute("path").map(str::to_string)
    }

    fn arrange(
        &self,
        testset: &Element,
        cases: Vec<(&Element, TestCase)>,
        package: &mut Package,
        warnings: &mut Vec<Warning>,
    ) -> Result<(), PackageError> {
        let groups: Vec<&Element> = testset.all("groups", "group").collect();
        let mut total = cases.iter().filter_map(|(_, case)| case.points).sum::<f64>();
        for group in &groups {
            total += group.attribute("points").map(|text| points(group, text)).transpose()?.unwrap_or(0.0);
        }
        package.scoring = total > 0.0;
        if !package.scoring {
            let (mut sample, mut secret) = (Vec::new(), Vec::new());
            for (test, case) in cases {
                let is_sample = test.attribute("sample").is_some_and(truth);
                let (directory, members) =
                    if is_sample { ("sample", &mut sample) } else { ("secret", &mut secret) };
                members.push(TestCase { name: format!("{directory}/{}", case.name), points: None, ..case });
            }
            package.data = data(false, Vec::new(), secret);
            let samples = TestGroup { cases: sample, ..group("sample", Grading::PassFail, None) };
            package.data.groups.insert(0, samples);
            return Ok(());
        }
        if groups.len() > MOST_GROUPS {
            return Err(error(testset, "testset.groups", format!("has more than {MOST_GROUPS} groups")));
        }
        let order = ordered(&groups)?;
        let names = group_names(&order);
        let mut found: Vec<TestGroup> = Vec::new();
        for (element, name) in order.iter().zip(&names) {
            let own = element.attribute("name").unwrap_or_default();
            let of_group = |case: &&(&Element, TestCase)| case.0.attribute("group") == Some(own);
            let members: Vec<TestCase> = (cases.iter().filter(of_group))
                .map(|(_, case)| TestCase {
                    name: format!("{name}/{}", case.name),
                    points: Some(case.points.unwrap_or(0.0)),
                    ..case.clone()
                })
                .collect();
            if members.is_empty() {
                warnings.push(warning(element, "group", format!("`{own}` has no test; left out")));
                continue;
            }
            let of_tests: f64 = members.iter().filter_map(|case| case.points).sum();
            let of_group = element.attribute("points").map(|text| points(element, text)).transpose()?;
            let empty = match element.attribute("points-policy").unwrap_or("each-test") {
                "complete-group" => group(name, Grading::Min, Some(of_group.unwrap_or(of_tests))),
                "each-test" => group(name, Grading::Sum, Some(of_tests)),
                other => {
                    return Err(error(
                        element,
                        "group.points-policy",
                        format!("`{other}` is neither complete-group nor each-test"),
                    ));
                }
            };
            let whole = matches!(empty.settings.grading, Grading::Min);
            let cases = members
                .into_iter()
                .map(|case| TestCase { points: case.points.filter(|_| !whole), ..case })
                .collect();
            let require_pass = dependencies(element).filter_map(|dependency| {
                let at = order.iter().position(|group| group.attribute("name") == Some(dependency))?;
                Some(names[at].clone())
            });
            let settings = GroupSettings { require_pass: require_pass.collect(), ..empty.settings.clone() };
            found.push(TestGroup { settings, cases, ..empty });
        }
        let known: BTreeSet<&str> = groups.iter().filter_map(|group| group.attribute("name")).collect();
        let mut others = Vec::new();
        for (test, case) in cases {
            match test.attribute("group") {
                Some(name) if known.contains(name) => continue,
                Some(name) if !groups.is_empty() => {
                    return Err(error(test, "test.group", format!("`{name}` is not one of the groups")));
                }
                _ => {}
            }
            others.push(TestCase {
                name: format!("secret/{}", case.name),
                points: Some(case.points.unwrap_or(0.0)),
                ..case
            });
        }
        package.data = data(true, found, others);
        Ok(())
    }
}

fn truth(text: &str) -> bool {
    ["true", "yes", "on", "1"].contains(&text)
}

fn points(element: &Element, text: &str) -> Result<f64, PackageError> {
    let number = text.trim().parse::<f64>().ok().filter(|points| (0.0..=1e9).contains(points));
    number.ok_or_else(|| {
        error(
            element,
            &format!("{}.points", element.name),
            format!("`{text}` is not a number of points from 0"),
        )
    })
}

fn dependencies(group: &Element) -> impl Iterator<Item = &str> {
    group.all("dependencies", "dependency").filter_map(|dependency| dependency.attribute("group"))
}

/// The groups, each after those it depends on, else as in the file.
fn ordered<'a>(groups: &[&'a Element]) -> Result<Vec<&'a Element>, PackageError> {
    let mut left: Vec<&Element> = groups.to_vec();
    let mut order: Vec<&Element> = Vec::new();
    for group in groups {
        let names = |name: &str| groups.iter().any(|other| other.attribute("name") == Some(name));
        if let Some(unknown) = dependencies(group).find(|name| !names(name)) {
            return Err(error(group, "group.dependencies", format!("`{unknown}` is not one of the groups")));
        }
    }
    while !left.is_empty() {
        let done = |name: &str| order.iter().any(|group| group.attribute("name") == Some(name));
        let Some(next) = left.iter().position(|group| dependencies(group).all(done)) else {
            return Err(error(left[0], "group.dependencies", "groups depend on each other in a circle"));
        };
        order.push(left.remove(next));
    }
    Ok(order)
}

/// Names below `secret/` in whose order the groups are judged: their own where those do.
fn group_names(groups: &[&Element]) -> Vec<String> {
    let clean = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let own: Vec<String> = groups
        .iter()
        .map(|group| group.attribute("name").unwrap_or_default().chars().map(clean).collect())
        .collect();
    let in_order = own.windows(2).all(|pair| pair[0] < pair[1]) && own.iter().all(|name| !name.is_empty());
    let name = |(n, name): (usize, &String)| match in_order {
        true => format!("secret/{name}"),
        false => format!("secret/{}-{name}", numbered(n + 1, groups.len())),
    };
    own.iter().enumerate().map(name).collect()
}

/// A path with one number in it: `tests/%02d.a`.
struct Pattern {
    before: String,
    digits: usize,
    after: String,
}

impl Pattern {
    fn new(text: &str) -> Option<Pattern> {
        let (before, rest) = text.split_once('%')?;
        let (width, after) = rest.split_once('d')?;
        let digits = if width.is_empty() {
            1
        } else {
            width.strip_prefix('0')?.parse().ok().filter(|n| (1..=9).contains(n))?
        };
        let whole = format!("{before}{after}");
        let leaves =
            whole.starts_with('/') || whole.split('/').any(|part| part == "..") || whole.contains('%');
        (!leaves).then(|| Pattern { before: before.into(), digits, after: after.into() })
    }

    fn path(&self, n: usize) -> String {
        format!("{}{n:0digits$}{}", self.before, self.after, digits = self.digits)
    }
}

#[cfg(test)]
mod tests;
