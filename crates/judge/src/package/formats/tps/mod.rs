//! TPS, the task preparation system of the International Olympiad in Informatics (ioi-2017/tps, docs/README.md): `problem.json`, `gen/data`,
//! `subtasks.json`, `solutions.json`; and what it exports for CMS: `tests/`, `subtasks/`, `graders/` (cms-dev/cms, cmscontrib/loaders/tps.py).
//!
//! Batch, Communication and OutputOnly are read. No script of a package runs: generators, validators, checkers and managers do, in the sandbox.

mod expectations;
mod testsets;

use super::super::field::{self, Range, Section};
use super::super::{
    Calls, FileTree, FollowUpChecker, Include, Package, PackageError, Processes, Program, Protocol,
    TimeLimit, Validator, Warning,
};
use super::{Importer, LANGUAGES, blank, source_file};
use crate::yaml;
use model::{Bytes, Nanos};
use std::collections::BTreeSet;

const FILE: &str = "problem.json";
const DATA: &str = "gen/data";
const SUBTASKS: &str = "subtasks.json";
const SOLUTIONS: &str = "solutions.json";
/// The testlib of a checker: that for CMS answers otherwise than the plain one.
const TESTLIB: &str = "checker/testlib.h";

pub(super) const IMPORTER: Importer =
    Importer { name: "tps", mark: FILE, wants: wanted, archives: |_| Vec::new(), read };

fn wanted(path: &str) -> bool {
    [DATA, SUBTASKS, SOLUTIONS, TESTLIB].contains(&path)
        || path.strip_prefix("subtasks/").is_some_and(|name| name.ends_with(".json"))
}

/// What a solution does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Batch,
    Communication,
    OutputOnly,
}

impl Kind {
    fn read(task: &Section) -> Result<Kind, PackageError> {
        let key = if task.has("type") { "type" } else { "task_type" };
        let word = task.text(key)?.ok_or_else(|| task.error("type", "is missing"))?;
        // Exported packages write the first letter small.
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        match first.into_iter().chain(letters).collect::<String>().as_str() {
            "Batch" => Ok(Kind::Batch),
            "Communication" => Ok(Kind::Communication),
            "OutputOnly" => Ok(Kind::OutputOnly),
            _ => Err(task
                .error(key, format!("`{word}` is not supported; Batch, Communication and OutputOnly are"))),
        }
    }
}

/// What all parts of the reader need.
struct Reader<'a> {
    tree: &'a FileTree,
    task: Section<'a>,
    kind: Kind,
    /// Name of the task, under which submissions are compiled.
    code: Option<String>,
    /// Without its sources: as it is exported for CMS.
    exported: bool,
}

fn read(tree: &FileTree, warnings: &mut Vec<Warning>) -> Result<Package, PackageError> {
    let root = field::json(tree, FILE, warnings)?.ok_or_else(|| PackageError::new(FILE, "is missing"))?;
    let task = Section::root(FILE, &root)?;
    let exported = !tree.files.contains_key(DATA);
    if exported && tree.below("tests/").next().is_none() {
        return Err(PackageError::new(
            DATA,
            format!("is missing, and so is tests/; {FILE} alone has no test"),
        ));
    }
    let kind = Kind::read(&task)?;
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let code = task.text(if task.has("code") { "code" } else { "name" })?.map(str::to_string);
    let code = code.filter(|code| !code.is_empty() && code.chars().all(word));
    let reader = Reader { tree, kind, code, exported, task };
    let task = &reader.task;
    let mut package = blank(tree, IMPORTER.name);
    let title = task.text("title")?.or(task.text("name")?).map(str::trim).filter(|title| !title.is_empty());
    package.title = title.map_or(package.title, str::to_string);
    if let Some(limit) = task.number("time_limit", Range::above_zero(86_400.0))? {
        let limit = Nanos::from_secs_f64(limit).unwrap_or_default();
        package.limits.time = TimeLimit::Stated { limit, source: format!("{FILE}: time_limit") };
    } else if kind == Kind::OutputOnly {
        // Nothing that is submitted runs.
        let source = format!("{FILE}: OutputOnly");
        package.limits.time = TimeLimit::Stated { limit: Nanos::from_secs(1), source };
    }
    // Sources state MiB; the export multiplies.
    let unit = if exported { 1.0 } else { 1_048_576.0 };
    let memory = task.number("memory_limit", Range::above_zero(1e15))?;
    package.limits.memory = memory.map(|memory| Bytes((memory * unit) as u64));
    package.limits.output = Some(Bytes::from_mib(256));
    reader.programs(&mut package)?;
    reader.graders(&mut package)?;
    let solutions = expectations::Solutions::read(&reader, warnings)?;
    let groups = testsets::read(&reader, solutions.model.as_deref(), &mut package, warnings)?;
    solutions.promise(&reader, &groups, &mut package)?;
    if kind == Kind::OutputOnly {
        // Programs are the jury's alone.
        package.languages = Some(BTreeSet::new());
    }
    Ok(package)
}

impl Reader<'_> {
    /// Whether a part that is there is used: `has_checker` and the like.
    fn has(&self, key: &str) -> Result<bool, PackageError> {
        Ok(self.task.flag(key)?.unwrap_or(true))
    }

    /// The source of a program of this name, in any language.
    fn source(&self, stem: &str) -> Option<String> {
        let mut all = LANGUAGES.iter().map(|(ending, _)| format!("{stem}.{ending}"));
        all.find(|path| self.tree.files.contains_key(path))
    }

    /// A source with the headers beside it.
    fn program(&self, path: String) -> Program {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let beside = |other: &&str| {
            let name = other.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/'));
            name.is_some_and(|name| !name.contains('/') && (name.ends_with(".h") || name.ends_with(".hpp")))
        };
        let headers = self.tree.below(directory).filter(beside).map(|path| source_file(self.tree, path));
        let files = std::iter::once(source_file(self.tree, &path)).chain(headers).collect();
        Program { path, files, ..Program::default() }
    }

    fn programs(&self, package: &mut Package) -> Result<(), PackageError> {
        let checker = self.source("checker/checker").filter(|_| self.has("has_checker") != Ok(false));
        self.has("has_checker")?;
        let checker =
            checker.map(|path| FollowUpChecker { program: self.program(path), calls: self.checker_calls() });
        if self.kind != Kind::Communication {
            if let Some(FollowUpChecker { program, calls }) = checker {
                package.validator = Validator::Custom(vec![program]);
                package.features.calls = calls;
            }
            return Ok(());
        }
        let stems = ["manager/manager", "grader/manager", "graders/manager"];
        let manager = stems.iter().find_map(|stem| self.source(stem)).ok_or_else(|| {
            self.task.error("type", "is Communication, but there is neither manager/ nor grader/manager.cpp")
        })?;
        package.interactive = true;
        package.features.processes = Some(Processes { count: self.processes()?, streams: self.exported });
        // CMS asks the manager alone. TPS gives it a file for its notes, and what it prints to the checker.
        let (arguments, checker): (&[&str], _) =
            if self.exported { (&[Calls::FIFOS], None) } else { (&[Calls::FIFOS, Calls::OUTPUT], checker) };
        let protocol = if checker.is_some() { Protocol::ZeroOne } else { Protocol::Cms };
        package.features.calls = Calls::new(protocol, arguments);
        package.features.after = checker;
        package.validator = Validator::Custom(vec![self.program(manager)]);
        Ok(())
    }

    /// How the checker is called: as one of CMS, unless its testlib is the plain one.
    fn checker_calls(&self) -> Calls {
        let text = self.tree.files.get(TESTLIB).and_then(|entry| entry.content.as_deref());
        let plain = text.is_some_and(|text| {
            let text = String::from_utf8_lossy(text);
            !text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == "CMS")
        });
        match plain {
            true => Calls::new(Protocol::Testlib { percent: false }, &Calls::TESTLIB_CHECKER),
            false => Calls::new(Protocol::Cms, &[Calls::INPUT, Calls::ANSWER, Calls::OUTPUT]),
        }
    }

    fn processes(&self) -> Result<u32, PackageError> {
        let most = f64::from(Processes::MOST);
        let count = match self.task.text("task_type_params")?.filter(|text| !text.trim().is_empty()) {
            Some(text) if self.exported => {
                let wrong = |_| self.task.error("task_type_params", "must be JSON in text");
                let document = yaml::parse(text).map_err(wrong)?;
                let inner = Section::new(FILE, "task_type_params.".to_string(), &document.root)?;
                inner
                    .number("task_type_parameters_Communication_num_processes", Range::at_least(1.0, most))?
            }
            _ => self.task.number("num_processes", Range::at_least(1.0, most))?,
        };
        Ok(count.unwrap_or(1.0) as u32)
    }

    /// Files that are compiled with submissions: a directory for each language, or, exported, one for all.
    fn graders(&self, package: &mut Package) -> Result<(), PackageError> {
        if !self.has("has_grader")? {
            return Ok(());
        }
        let mut include = |language: &str, path: &str| {
            let files = vec![source_file(self.tree, path)];
            let language = Some(language.to_string());
            package.include.push(Include {
                language,
                files,
                own_name: self.code.clone(),
                ..Include::default()
            });
        };
        for path in self.tree.below("grader") {
            let parts: Vec<&str> = path.split('/').collect();
            match parts[..] {
                ["graders", name] if !name.starts_with("manager") => {
                    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
                    match LANGUAGES.iter().find(|(known, _)| *known == ending) {
                        Some((_, language)) => include(language, path),
                        None if ending == "h" => ["c", "cpp"].iter().for_each(|one| include(one, path)),
                        None => {}
                    }
                }
                ["grader", directory, name] if name != "Makefile" => {
                    let known = LANGUAGES.iter().find(|(ending, _)| *ending == directory);
                    known.into_iter().for_each(|(_, language)| include(language, path));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
