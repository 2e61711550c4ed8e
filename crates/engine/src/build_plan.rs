//! How a program is compiled and run on this host: the language table applied to its files.

use crate::Fault;
use crate::languages::{Languages, SCRIPT_LIMITS, script_env};
use crate::limits::Allowance;
use judge::language::{Command, CompileLimits, DetectError, Language, PROGRAM_DIR, Plan, WarmUp};
use judge::package::{Include, Package, Program, SourceFile};
use model::{Bytes, View};
use source::Source;

/// As many bytes as a file's name may have (NAME_MAX).
const LONGEST_NAME: usize = 255;

/// One file of a program, with its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedFile {
    /// Path within the program's directory.
    pub name: String,
    /// Has an execute permission.
    pub executable: bool,
    /// Its bytes.
    pub content: Vec<u8>,
}

/// How a program is compiled and run.
#[derive(Clone, Debug)]
pub(crate) struct BuildPlan {
    /// Id of the language.
    pub(crate) language: String,
    /// Why another language stands in for the one that was meant, if it does.
    pub stands_in: Option<String>,
    /// Why its files are no program of this language, where that is known without a compiler.
    pub refused: Option<String>,
    /// The files, under the names they are placed.
    pub parts: Vec<LoadedFile>,
    /// Commands that compile, in order.
    pub compile: Vec<Command>,
    /// What the language compiles once for all its programs, and how.
    pub warm_up: Option<WarmUp>,
    /// What they see of the host.
    pub compile_view: View,
    /// What they may use together, where the package states nothing else.
    pub compile_limits: CompileLimits,
    /// The command that runs the program; arguments come after it.
    pub run: Command,
    /// What it sees of the host.
    pub run_view: View,
    /// What its runtime needs.
    pub allowance: Allowance,
}

/// Reads the files of a program, with the package's constants put in.
pub(crate) fn load_files(
    files: &[SourceFile],
    source: &Source,
    constants: &[(String, String)],
) -> Result<Vec<LoadedFile>, Fault> {
    let read = |file: &SourceFile| {
        let content = with_constants(source.bytes(&file.path)?, constants);
        Ok(LoadedFile { name: file.name.clone(), executable: file.executable, content })
    };
    files.iter().map(read).collect()
}

/// Replaces every `{{name}}` whose name is known (2025-09, "Constants").
fn with_constants(content: Vec<u8>, constants: &[(String, String)]) -> Vec<u8> {
    if constants.is_empty() {
        return content;
    }
    match String::from_utf8(content) {
        Ok(text) => constants
            .iter()
            .fold(text, |text, (name, value)| text.replace(&format!("{{{{{name}}}}}"), value))
            .into_bytes(),
        Err(binary) => binary.into_bytes(),
    }
}

/// The language of a program. `hint` is an id or a package language code.
pub(crate) fn detect<'t>(
    place: &str,
    parts: &[LoadedFile],
    languages: &'t Languages,
    hint: Option<&str>,
) -> Result<&'t Language, Fault> {
    languages
        .table()
        .detect(&contents(parts), hint)
        .map_err(|e: DetectError| Fault::Input { place: place.to_owned(), why: e.to_string() })
}

/// The files added to a submission of this language, those for the language after those for all, so that they
/// take the place of files of the same name (2025-09, "Included files").
pub(crate) fn included(package: &Package, language: &Language) -> Vec<SourceFile> {
    includes(package, language).flat_map(|include| include.files.clone()).collect()
}

fn includes<'p>(package: &'p Package, language: &'p Language) -> impl Iterator<Item = &'p Include> {
    let of_all = package.include.iter().filter(|include| include.language.is_none());
    let of_this = (package.include.iter())
        .filter(|include| include.language.as_deref().is_some_and(|code| language.has_code(code)));
    of_all.chain(of_this)
}

/// A submission's files as the package's includes require: with their text before each source, and a single source under their `own_name`.
pub(crate) fn as_included(
    mut parts: Vec<LoadedFile>,
    package: &Package,
    language: &Language,
) -> Vec<LoadedFile> {
    let text: String = includes(package, language).map(|include| include.before_sources.as_str()).collect();
    let own_name = includes(package, language).find_map(|include| include.own_name.as_deref());
    if let (Some(own_name), [only]) = (own_name, &mut parts[..])
        && let Some((_, ending)) = only.name.rsplit_once('.').filter(|_| language.is_source(&only.name))
    {
        only.name = format!("{own_name}.{ending}");
    }
    let put = |part: LoadedFile| match language.is_source(&part.name) && !text.is_empty() {
        true => LoadedFile { content: [text.as_bytes(), &part.content].concat(), ..part },
        false => part,
    };
    parts.into_iter().map(put).collect()
}

/// The files of `over` laid over `base`.
fn overlay(base: Vec<LoadedFile>, over: Vec<LoadedFile>) -> Vec<LoadedFile> {
    let mut all = base;
    for part in over {
        all.retain(|other| other.name != part.name);
        all.push(part);
    }
    all
}

/// What a program is made of.
pub(crate) struct Sources<'a> {
    /// Its own files.
    pub(crate) own: Vec<LoadedFile>,
    /// The package's files, laid over them.
    pub(crate) added: Vec<LoadedFile>,
    /// The file or class to begin in, where it is named.
    pub(crate) entry: Option<&'a str>,
    /// Options for the compiler.
    pub(crate) options: &'a [String],
}

/// The build plan of a program of this language. `memory` is the limit of its runs without the allowance.
pub(crate) fn build_plan(
    place: &str,
    sources: Sources<'_>,
    language: &Language,
    memory: Bytes,
    languages: &Languages,
    counted: bool,
) -> Result<BuildPlan, Fault> {
    let Sources { own, added, entry, options } = sources;
    let input = |why: String| Fault::Input { place: place.to_owned(), why };
    let found = languages.usable(language).map_err(|absent| Fault::NoToolchain {
        place: place.to_owned(),
        language: language.name.clone(),
        why: absent.why,
    })?;
    let (language, toolchain) = (found.language, found.toolchain);
    let included: Vec<String> = added.iter().map(|part| part.name.clone()).collect();
    let included: Vec<&str> = included.iter().map(String::as_str).collect();
    let parts = overlay(own, added);
    language.check_options(options).map_err(|e| input(e.to_string()))?;
    let plan = language.plan(&contents(&parts), &included, entry).map_err(|e| input(e.to_string()))?;
    let plan = Plan { options: options.to_vec(), ..plan };
    let refused = refused(language, &parts, &plan);
    // A path that the table names and the toolchain lacks is a fault in how they were put together.
    let fault = |why: String| crate::SystemError::new(format!("putting together commands for {place}"), why);
    let compile = language.compile_commands(&plan, &toolchain.paths).map_err(|e| fault(e.to_string()))?;
    let run =
        language.run_command(&plan, &toolchain.paths, memory, counted).map_err(|e| fault(e.to_string()))?;
    let warm_up = language.warm_up_plan(&toolchain.paths).map_err(|e| fault(e.to_string()))?;
    let placed = |part: LoadedFile| {
        let name = plan.placed.iter().find(|(given, _)| *given == part.name);
        LoadedFile { name: name.map_or_else(|| part.name.clone(), |(_, placed)| placed.clone()), ..part }
    };
    Ok(BuildPlan {
        language: language.id.clone(),
        stands_in: found.stands_in,
        refused,
        parts: parts.into_iter().map(placed).collect(),
        compile,
        warm_up,
        compile_view: toolchain.compile_view,
        compile_limits: language.compile_limits,
        run,
        run_view: toolchain.run_view,
        allowance: Allowance {
            memory: language.memory_allowance,
            processes: language.process_allowance,
            time_factor: language.time_factor,
        },
    })
}

/// The build plan of a package's program. A directory with an executable `build` brings its own way of compiling
/// and is run by the `run` that comes of it (legacy and 2025-09, "Programs"); everything installed is shown to it.
pub(crate) fn package_build_plan(
    program: &Program,
    source: &Source,
    package: &Package,
    memory: Bytes,
    languages: &Languages,
) -> Result<BuildPlan, Fault> {
    let parts = load_files(&program.files, source, &package.constants)?;
    if !parts.iter().any(|part| part.name == "build" && part.executable) {
        let language = detect(&program.path, &parts, languages, program.language.as_deref())?;
        let sources = Sources { own: parts, added: Vec::new(), entry: None, options: &program.options };
        // Programs of the package are never what is timed.
        return build_plan(&program.path, sources, language, memory, languages, false);
    }
    let command = |name: &str| Command { argv: vec![format!("{PROGRAM_DIR}/{name}")], env: script_env() };
    Ok(BuildPlan {
        language: "build script".to_owned(),
        stands_in: None,
        refused: None,
        parts,
        compile: vec![command("build")],
        warm_up: None,
        compile_view: View::default(),
        compile_limits: SCRIPT_LIMITS,
        run: command("run"),
        run_view: View::default(),
        allowance: Allowance::NONE,
    })
}

/// What no compiler is asked about, since its answer would not be understood or the files cannot be laid out for it.
fn refused(language: &Language, parts: &[LoadedFile], plan: &Plan) -> Option<String> {
    let binary = |part: &&LoadedFile| language.is_source(&part.name) && part.content.contains(&0);
    if let Some(part) = parts.iter().find(binary) {
        return Some(format!("`{}` is binary, not source text", part.name));
    }
    let long = |name: &str| name.split('/').find(|part| part.len() > LONGEST_NAME).map(str::to_owned);
    let (given, name) = plan.placed.iter().find_map(|(given, placed)| Some((given, long(placed)?)))?;
    let (start, bytes) = (name.chars().take(40).collect::<String>(), name.len());
    Some(format!(
        "`{given}` would be placed as `{start}…`, a file name of {bytes} bytes, more than {LONGEST_NAME}\n\
         hint: shorten its class's name"
    ))
}

fn contents(parts: &[LoadedFile]) -> Vec<(&str, &[u8])> {
    parts.iter().map(|part| (part.name.as_str(), part.content.as_slice())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_laid_out_is_refused() {
        let table = judge::language::Table::shipped();
        let refused = |language: &str, name: &str, text: &str| {
            let language = table.get(language).unwrap();
            let parts = [LoadedFile { name: name.into(), executable: false, content: text.into() }];
            let plan = language.plan(&contents(&parts), &[], None).unwrap();
            refused(language, &parts, &plan)
        };
        let class = |length| format!("public class {} {{ }}", "A".repeat(length));
        assert_eq!(refused("java", "a.java", &class(250)), None);
        let why = refused("java", "a.java", &class(251)).unwrap();
        assert!(why.starts_with("`a.java` would be placed as `AAAA") && why.contains("256 bytes"), "{why}");
        assert_eq!(refused("c", "a.c", "int main(void) { }"), None);
        assert_eq!(refused("c", "a.c", "\0").unwrap(), "`a.c` is binary, not source text");
    }

    #[test]
    fn known_constants_are_put_in() {
        let constants = [("n".to_owned(), "5".to_owned()), ("n.tex".to_owned(), "five".to_owned())];
        for (text, expected) in [("a {{n}} {{n.tex}} {{m}} {n}", "a 5 five {{m}} {n}"), ("", "")] {
            assert_eq!(with_constants(text.into(), &constants), expected.as_bytes());
        }
        assert_eq!(with_constants(vec![0xff, b'x'], &constants), [0xff, b'x']);
    }
}
