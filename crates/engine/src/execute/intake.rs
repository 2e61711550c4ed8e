//! What was submitted to be executed: whether it can be, and its build plan.

use crate::Fault;
use crate::build_plan::{BuildPlan, LoadedFile, Sources, build_plan, detect};
use crate::languages::{Languages, SCRIPT_LIMITS, script_env};
use crate::limits::{Allowance, MEMORY};
use crate::program::message_length;
use judge::filenames;
use judge::language::{Command, PROGRAM_DIR};
use model::{Execution, ProgramFile, ProgramKind, View};

/// Most bytes of all arguments, each with what it costs to hand it over. The kernel grants 128 KiB however small the stack
/// is (execve(2)).
const ARGUMENTS: usize = 64 << 10;
/// What an argument costs besides its text: a pointer, its end, quotes.
const PER_ARGUMENT: usize = 16;

/// What is wrong with it is told, not a fault.
pub(super) enum Intake {
    BuildPlan(Box<BuildPlan>),
    Refused { language: String, why: String },
}

/// How a program is compiled and run.
pub(super) fn intake(asked: &Execution, languages: &Languages) -> Result<Intake, Fault> {
    let parts: Vec<LoadedFile> = asked.files.iter().map(part).collect();
    let language = match &asked.program {
        ProgramKind::Language(name) => detect("language", &parts, languages, Some(name))?.id.clone(),
        ProgramKind::Scripts => "scripts".to_owned(),
        ProgramKind::Executable => "executable".to_owned(),
        ProgramKind::Text => "text".to_owned(),
    };
    if let Err(why) = check(asked) {
        return Ok(Intake::Refused { language, why });
    }
    let build_plan = match &asked.program {
        ProgramKind::Language(name) => of_language(asked, name, parts, languages),
        ProgramKind::Scripts => scripts(parts),
        ProgramKind::Executable => Ok(executable(parts)),
        ProgramKind::Text => Ok(text(parts)),
    };
    match build_plan {
        Ok(build_plan) => Ok(Intake::BuildPlan(Box::new(build_plan))),
        Err(Fault::Input { why, .. }) => Ok(Intake::Refused { language, why }),
        Err(fault) => Err(fault),
    }
}

fn part(file: &ProgramFile) -> LoadedFile {
    LoadedFile { name: file.name.clone(), executable: file.executable, content: file.content.0.clone() }
}

fn of_language(
    asked: &Execution,
    name: &str,
    own: Vec<LoadedFile>,
    languages: &Languages,
) -> Result<BuildPlan, Fault> {
    let language = detect("language", &own, languages, Some(name))?;
    let (entry, options) = (asked.entry.as_deref(), asked.compiler_options.as_slice());
    let sources = Sources { own, added: Vec::new(), entry, options };
    build_plan("the program", sources, language, asked.limits.memory.unwrap_or(MEMORY), languages, false)
}

/// Whether files, arguments and options are such that a program can be made of them and started.
fn check(asked: &Execution) -> Result<(), String> {
    filenames::check(asked.files.iter().map(|file| file.name.as_str())).map_err(|bad| bad.to_string())?;
    if asked.files.is_empty() {
        return Err("there is no file".to_owned());
    }
    check_words("argument", &asked.args)?;
    check_words("compiler option", &asked.compiler_options)?;
    match asked.program {
        ProgramKind::Language(_) => Ok(()),
        _ if asked.compiler_options.is_empty() => Ok(()),
        _ => Err("a program of this kind takes no compiler options".to_owned()),
    }
}

fn check_words(what: &str, words: &[String]) -> Result<(), String> {
    if words.iter().any(|word| word.contains('\0')) {
        return Err(format!("the {what}s hold a zero byte"));
    }
    let length = words.iter().map(|word| message_length(word) + PER_ARGUMENT).sum::<usize>();
    if length > ARGUMENTS {
        return Err(format!("the {what}s are too long: {length} bytes of {ARGUMENTS}"));
    }
    Ok(())
}

/// A program that brings its own scripts; everything installed is shown to it.
fn scripts(parts: Vec<LoadedFile>) -> Result<BuildPlan, Fault> {
    let script = |names: [&str; 2]| {
        let name = names.into_iter().find(|name| parts.iter().any(|part| part.name == *name))?;
        Some(command(&["/bin/bash", &in_program(name)]))
    };
    let missing = || Fault::Input {
        place: "the program".to_owned(),
        why: "there is no `run` and no `run.sh` at the root of its files".to_owned(),
    };
    let run = script(["run", "run.sh"]).ok_or_else(missing)?;
    let compile = script(["compile", "compile.sh"]).into_iter().collect();
    Ok(BuildPlan { compile, ..simple("scripts", parts, run) })
}

fn executable(mut parts: Vec<LoadedFile>) -> BuildPlan {
    let run = command(&[&in_program(&first(&parts))]);
    parts.iter_mut().take(1).for_each(|part| part.executable = true);
    simple("executable", parts, run)
}

fn text(parts: Vec<LoadedFile>) -> BuildPlan {
    let run = command(&["/bin/cat", &in_program(&first(&parts))]);
    simple("text", parts, run)
}

fn first(parts: &[LoadedFile]) -> String {
    parts.first().map(|part| part.name.clone()).unwrap_or_default()
}

fn in_program(name: &str) -> String {
    format!("{PROGRAM_DIR}/{name}")
}

fn command(argv: &[&str]) -> Command {
    Command { argv: argv.iter().map(|word| word.to_string()).collect(), env: script_env() }
}

/// What is run as it is.
fn simple(language: &str, parts: Vec<LoadedFile>, run: Command) -> BuildPlan {
    BuildPlan {
        language: language.to_owned(),
        stands_in: None,
        refused: None,
        parts,
        compile: Vec::new(),
        warm_up: None,
        compile_view: View::default(),
        compile_limits: SCRIPT_LIMITS,
        run,
        run_view: View::default(),
        allowance: Allowance::NONE,
    }
}
