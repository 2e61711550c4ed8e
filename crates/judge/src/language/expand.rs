//! Templates: `{name}` in commands, environments and paths.

use super::{CACHE_DIR, EntryRule, Language, PROGRAM_DIR, Paths, Plan, Root, Stage};
use crate::nearest::did_you_mean;
use model::Bytes;

/// A command ready to be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program, an absolute path inside, followed by its arguments.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: Vec<(String, String)>,
}

/// A source that is compiled once for all programs of a language; see [`Language::warm_up`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarmUp {
    /// Its file name.
    pub name: String,
    /// What it says.
    pub text: String,
    /// The commands that compile it, in order.
    pub commands: Vec<Command>,
}

/// A path that the table names and nobody gave.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("language `{language}`: no path is known for `{name}`")]
pub struct MissingPath {
    /// Id of the language.
    pub language: String,
    /// The placeholder.
    pub name: String,
}

/// The least that `{memory_mib}` and `{memory_kib}` say. Runtimes do not start with a heap of 1 MiB, and take 0 for no bound;
/// what a program may really use is held by the sandbox.
const LEAST_MEMORY: Bytes = Bytes::from_mib(8);

const IN_COMPILE: &[&str] = &["dir", "entry", "sources", "others", "options", "cache"];
const IN_RUN: &[&str] = &["dir", "entry", "memory_mib", "memory_kib"];

impl Language {
    /// The commands that compile a program, in order, to be run in [`PROGRAM_DIR`]. The program is good when all
    /// exit with 0. `{sources}`, `{others}` (all but the entry file) and `{options}` must be arguments of their own.
    pub fn compile_commands(&self, plan: &Plan, paths: &Paths) -> Result<Vec<Command>, MissingPath> {
        let values = |name: &str| match name {
            "cache" => Some(CACHE_DIR.to_owned()),
            _ => plan_value(plan, name),
        };
        self.commands(&self.compile, plan, paths, &values)
    }

    /// What is compiled once for all programs, if anything, and how.
    pub fn warm_up_plan(&self, paths: &Paths) -> Result<Option<WarmUp>, MissingPath> {
        let Some(text) = &self.warm_up else { return Ok(None) };
        let name = format!("warm_up.{}", self.sources.first().map_or("", String::as_str));
        let plan = Plan {
            placed: vec![(name.clone(), name.clone())],
            sources: vec![name.clone()],
            entry: name.clone(),
            options: Vec::new(),
        };
        let commands = self.compile_commands(&plan, paths)?;
        Ok(Some(WarmUp { name, text: text.clone(), commands }))
    }

    /// The command that runs a program; test case arguments come after it. `memory` is the limit of the program,
    /// without [`Language::memory_allowance`]; `counted`: under a clock that counts.
    pub fn run_command(
        &self,
        plan: &Plan,
        paths: &Paths,
        memory: Bytes,
        counted: bool,
    ) -> Result<Command, MissingPath> {
        let memory = memory.max(LEAST_MEMORY);
        let values = |name: &str| match name {
            "memory_mib" => Some(memory.mib().to_string()),
            "memory_kib" => Some((memory.0 >> 10).to_string()),
            _ => plan_value(plan, name),
        };
        let stage = if counted { &self.counted } else { &self.run };
        let mut commands = self.commands(stage, plan, paths, &values)?;
        Ok(commands.swap_remove(0))
    }

    /// The command that tells the version, if there is one.
    pub fn version_command(&self, paths: &Paths) -> Result<Option<Vec<String>>, MissingPath> {
        let argv =
            self.version.iter().map(|t| self.expand(t, paths, &|_| None)).collect::<Result<Vec<_>, _>>()?;
        Ok((!argv.is_empty()).then_some(argv))
    }

    /// Expands a template that may name tools and roots only, such as a mount's path.
    pub fn expand_path(&self, template: &str, paths: &Paths) -> Result<String, MissingPath> {
        self.expand(template, paths, &|_| None)
    }

    fn commands(
        &self,
        stage: &Stage,
        plan: &Plan,
        paths: &Paths,
        values: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<Command>, MissingPath> {
        let env = stage
            .env
            .iter()
            .map(|(name, value)| Ok((name.clone(), self.expand(value, paths, values)?)))
            .collect::<Result<Vec<_>, _>>()?;
        let argument = |template: &String| match template.as_str() {
            "{sources}" => Ok(plan.sources.iter().map(|s| as_argument(s)).collect()),
            "{others}" => {
                Ok(plan.sources.iter().filter(|s| **s != plan.entry).map(|s| as_argument(s)).collect())
            }
            "{options}" => Ok(plan.options.clone()),
            "{entry}" if self.entry == EntryRule::File => Ok(vec![as_argument(&plan.entry)]),
            _ => Ok(vec![self.expand(template, paths, values)?]),
        };
        stage
            .steps
            .iter()
            .map(|step| {
                let argv = step.iter().map(argument).collect::<Result<Vec<Vec<String>>, _>>()?.concat();
                Ok(Command { argv, env: env.clone() })
            })
            .collect()
    }

    fn expand(
        &self,
        template: &str,
        paths: &Paths,
        values: &dyn Fn(&str) -> Option<String>,
    ) -> Result<String, MissingPath> {
        let mut out = String::new();
        for part in parts(template) {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Name(name) => out.push_str(
                    &values(name)
                        .or_else(|| paths.get(name).cloned())
                        .ok_or_else(|| MissingPath { language: self.id.clone(), name: name.to_owned() })?,
                ),
            }
        }
        Ok(out)
    }
}

fn plan_value(plan: &Plan, name: &str) -> Option<String> {
    match name {
        "dir" => Some(PROGRAM_DIR.to_owned()),
        "entry" => Some(plan.entry.clone()),
        _ => None,
    }
}

/// A file name that no compiler takes for an option or an argument file.
fn as_argument(name: &str) -> String {
    if name.starts_with(['-', '@', '+']) { format!("./{name}") } else { name.to_owned() }
}

enum Part<'a> {
    Text(&'a str),
    Name(&'a str),
}

/// Text and `{name}`s in order. A brace that encloses no name is text.
fn parts(template: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut text = 0;
    let mut at = 0;
    while let Some(open) = template[at..].find('{').map(|i| at + i) {
        let name_end =
            template[open + 1..].find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'));
        match name_end.map(|n| open + 1 + n) {
            Some(close) if close > open + 1 && template[close..].starts_with('}') => {
                parts.push(Part::Text(&template[text..open]));
                parts.push(Part::Name(&template[open + 1..close]));
                at = close + 1;
                text = at;
            }
            _ => at = open + 1,
        }
    }
    parts.push(Part::Text(&template[text..]));
    parts
}

/// Placeholders that stand for any number of arguments.
const LISTS: &[&str] = &["{sources}", "{others}", "{options}"];

/// Every placeholder of a language must mean something where it stands.
pub(super) fn check(language: &Language) -> Result<(), String> {
    let tools = || language.tools.keys().map(String::as_str);
    let paths = || tools().chain(language.roots.keys().map(String::as_str));
    let check = |key: &str, template: &str, known: Vec<&str>| {
        parts(template).into_iter().try_for_each(|part| match part {
            Part::Name(name) if !known.contains(&name) => {
                let hint = did_you_mean(name, known.iter().copied());
                Err(format!("{key}: nothing is called `{{{name}}}` here{hint}"))
            }
            _ => Ok(()),
        })
    };
    let stages = [("compile", &language.compile, IN_COMPILE), ("run", &language.run, IN_RUN)];
    for (key, stage, values) in stages {
        let known: Vec<&str> = paths().chain(values.iter().copied()).collect();
        for step in &stage.steps {
            if step.is_empty() {
                return Err(format!("{key}: a command is empty"));
            }
            let joined = |t: &&String| LISTS.iter().any(|list| t.contains(list) && t != list);
            if let Some(argument) = step.iter().find(joined) {
                return Err(format!("{key}: in `{argument}`, a list must be an argument of its own"));
            }
            step.iter().try_for_each(|t| check(key, t, known.clone()))?;
        }
        let single: Vec<&str> =
            known.iter().copied().filter(|n| !matches!(*n, "sources" | "others" | "options")).collect();
        stage.env.iter().try_for_each(|(_, t)| check(&format!("{key}_env"), t, single.clone()))?;
        for mount in &stage.mounts {
            let key = format!("{key}_mounts");
            check(&key, &mount.path, paths().collect())?;
            if !mount.path.starts_with(['/', '{']) {
                return Err(format!("{key}: `{}` is not an absolute path", mount.path));
            }
        }
    }
    language.version.iter().try_for_each(|t| check("version", t, paths().collect()))?;
    language.roots.values().try_for_each(|root| match root {
        Root::Path(path) => check("roots", path, tools().collect()),
        Root::Probe(argv) => argv.iter().try_for_each(|t| check("roots", t, tools().collect())),
    })
}
