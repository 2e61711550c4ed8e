//! Any package as one of the format 2025-09: the files to write, from the model alone. What that format cannot say is refused or told.

mod data;
mod lost;
mod programs;
mod submissions;

use super::{FileTree, HandedIn, Package, PackageError, SecondPass, TimeLimit, Validator, Warning};
use crate::compare::BuiltIn;
use model::{Bytes, Nanos};

/// A file of the converted package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its path.
    pub path: String,
    /// It has an execute permission.
    pub executable: bool,
    /// What is in it.
    pub content: Content,
}

/// Where the bytes of a file come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// This text.
    Text(String),
    /// The file of this path in the package that is converted, made ones included.
    Of(String),
    /// Nothing.
    Empty,
}

/// What is written so far.
struct Writer<'a> {
    package: &'a Package,
    tree: &'a FileTree,
    files: Vec<Written>,
    warnings: Vec<Warning>,
}

impl Writer<'_> {
    fn text(&mut self, path: impl Into<String>, text: impl Into<String>) {
        let content = Content::Text(text.into());
        self.files.push(Written { path: path.into(), executable: false, content });
    }

    fn script(&mut self, path: impl Into<String>, text: impl Into<String>) {
        let content = Content::Text(text.into());
        self.files.push(Written { path: path.into(), executable: true, content });
    }

    fn copy(&mut self, path: impl Into<String>, of: &str) {
        let content = if of.is_empty() { Content::Empty } else { Content::Of(of.to_string()) };
        let executable = self.tree.files.get(of).is_some_and(|entry| entry.executable);
        self.files.push(Written { path: path.into(), executable, content });
    }

    fn warn(&mut self, place: &str, message: impl Into<String>) {
        self.warnings.push(Warning::new(place, message));
    }
}

/// The files of the package in 2025-09, and what could not be kept.
///
/// # Errors
/// Something that decides verdicts or scores has no form there.
pub fn to_2025_09(package: &Package, tree: &FileTree) -> Result<(Vec<Written>, Vec<Warning>), PackageError> {
    possible(package)?;
    let mut writer = Writer { package, tree, files: Vec::new(), warnings: Vec::new() };
    problem(&mut writer);
    statements(&mut writer);
    data::write(&mut writer)?;
    programs::write(&mut writer)?;
    submissions::write(&mut writer);
    for include in &package.include {
        let directory = include.language.as_deref().unwrap_or("default");
        for file in &include.files {
            writer.copy(format!("include/{directory}/{}", file.name), &file.path);
        }
    }
    Ok((writer.files, writer.warnings))
}

/// Refuses what 2025-09 has no form for.
fn possible(package: &Package) -> Result<(), PackageError> {
    let features = &package.features;
    // It is the package as a whole, whose path the caller knows.
    let refuse = |why: &str| Err(PackageError::new("", inexpressible(why)));
    if features.file_io.input.is_some() || features.file_io.output.is_some() {
        return refuse("its programs read and write files in place of the standard streams");
    }
    if features.processes.is_some() {
        return refuse("its programs talk to a manager through FIFOs");
    }
    if features.second_pass == SecondPass::Written {
        return refuse("its programs run twice, first with an interactor and then without");
    }
    if package.include.iter().any(|include| !include.before_sources.is_empty()) {
        return refuse("text goes before the source of each submission");
    }
    if package.data.all_cases().iter().any(|case| case.handed_in != HandedIn::No) {
        return refuse("outputs may be submitted beside a program");
    }
    if package.grader.is_some() {
        return refuse("it has a grader of its own");
    }
    Ok(())
}

/// What the format has no form for, with the remedy.
fn inexpressible(what: &str) -> String {
    format!(
        "{what}, which the format 2025-09 cannot express\nhint: judge the package in its own format; `tauto verify` reads it"
    )
}

/// Text as YAML takes it whatever is in it: JSON's strings are YAML's.
fn quoted(text: &str) -> String {
    let escaped = text.chars().flat_map(|c| match c {
        '"' => vec!['\\', '"'],
        '\\' => vec!['\\', '\\'],
        c if c.is_control() => vec![' '],
        c => vec![c],
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// A list of words.
fn list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    format!("[{}]", words.into_iter().map(quoted).collect::<Vec<_>>().join(", "))
}

fn problem(writer: &mut Writer) {
    let package = writer.package;
    let mut kinds = vec![if package.scoring { "scoring" } else { "pass-fail" }];
    let more = [
        (package.interactive, "interactive"),
        (package.multi_pass, "multi-pass"),
        (package.submit_answer, "submit-answer"),
    ];
    kinds.extend(more.into_iter().filter(|(is, _)| *is).map(|(_, kind)| kind));
    let mut text = format!(
        "problem_format_version: 2025-09\nname: {}\nuuid: {}\ntype: {}\n",
        quoted(&package.title),
        uuid(package, writer.tree),
        list(kinds)
    );
    if let Some(languages) = &package.languages {
        text.push_str(&format!("languages: {}\n", list(languages.iter().map(String::as_str))));
    }
    let named = package.constants.iter().filter(|(name, _)| !name.contains('.'));
    let constants: String = named.map(|(name, value)| format!("  {name}: {}\n", quoted(value))).collect();
    if !constants.is_empty() {
        text.push_str(&format!("constants:\n{constants}"));
    }
    let limits = &package.limits;
    let mut stated: Vec<(&str, String)> = Vec::new();
    match &limits.time {
        TimeLimit::Stated { limit, .. } => {
            stated.push(("time_limit", format!("{}", limit.as_secs_f64())));
            stated.push(("time_resolution", resolution(*limit).to_string()));
        }
        TimeLimit::Inferred(_) => {
            let why = "states none; that of 2025-09 is inferred by another rule, so it can be another limit";
            writer.warn("time limit", why);
        }
    }
    let mib = |bytes: Bytes| bytes.0.div_ceil(1 << 20).to_string();
    let seconds = |time: Nanos| format!("{}", time.as_secs_f64());
    let sizes = [
        ("memory", limits.memory.map(mib)),
        ("output", limits.output.map(mib)),
        ("code", limits.code.map(|bytes| bytes.0.div_ceil(1 << 10).to_string())),
        ("compilation_time", limits.compilation_time.map(seconds)),
        ("compilation_memory", limits.compilation_memory.map(mib)),
        ("validation_time", limits.validation_time.map(seconds)),
        ("validation_memory", limits.validation_memory.map(mib)),
        ("validation_output", limits.validation_output.map(mib)),
        ("validation_passes", package.multi_pass.then(|| limits.passes.to_string())),
    ];
    stated.extend(sizes.into_iter().filter_map(|(key, value)| Some((key, value?))));
    if !stated.is_empty() {
        let lines: String = stated.iter().map(|(key, value)| format!("  {key}: {value}\n")).collect();
        text.push_str(&format!("limits:\n{lines}"));
    }
    writer.text("problem.yaml", text);
}

/// The largest usual step that a limit is a multiple of, in seconds.
fn resolution(limit: Nanos) -> f64 {
    let steps = [1.0, 0.5, 0.1, 0.01, 0.001];
    let fits = |step: &f64| limit.0.is_multiple_of((step * 1e9) as u64);
    steps.into_iter().find(fits).unwrap_or(1e-9)
}

/// The same for the same package: by its name and the names and sizes of its files (FNV-1a of 64 bits, twice).
fn uuid(package: &Package, tree: &FileTree) -> String {
    let hash = |seed: u64| {
        let bytes = tree
            .files
            .iter()
            .flat_map(|(path, entry)| path.bytes().chain(entry.size.to_le_bytes()).collect::<Vec<u8>>());
        let all = package.short_name.bytes().chain(bytes);
        all.fold(0xcbf2_9ce4_8422_2325 ^ seed, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        })
    };
    let (one, other) = (hash(0), hash(1));
    // Version 8, which leaves what it is made of to whoever makes it (RFC 9562, 5.8).
    format!(
        "{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}",
        one >> 32,
        one >> 16 & 0xffff,
        one & 0xfff,
        0x8000 | other >> 48 & 0x3fff,
        other & 0xffff_ffff_ffff
    )
}

/// Statements in a form that 2025-09 takes: TeX, Markdown and PDF, of each language the last found.
fn statements(writer: &mut Writer) {
    const CODES: [(&str, &str); 5] =
        [("english", "en"), ("russian", "ru"), ("chinese", "zh"), ("ukrainian", "uk"), ("vietnamese", "vi")];
    let kattis = |path: &str| {
        let name = path.strip_prefix("problem_statement/").or_else(|| path.strip_prefix("statement/"))?;
        (name.starts_with("problem") || name.contains('/') || !name.contains("statement"))
            .then(|| name.to_string())
    };
    let of_kattis = writer.tree.files.contains_key("problem.yaml");
    let mut found: Vec<(String, String)> = Vec::new();
    for path in writer.tree.files.keys() {
        let parts: Vec<&str> = path.split('/').collect();
        let name = match parts[..] {
            _ if of_kattis => kattis(path).map(|name| match name.as_str() {
                "problem.tex" => "problem.en.tex".to_string(),
                _ => name,
            }),
            ["statements", ".pdf", language, "problem.pdf"] => {
                let code = CODES.iter().find(|(long, _)| *long == language).map(|(_, code)| *code);
                code.map(|code| format!("problem.{code}.pdf"))
            }
            ["statement", "statement.pdf"] | ["testo", "testo.pdf"] => Some("problem.en.pdf".to_string()),
            ["statement", "index.md"] | ["prob.md"] => Some("problem.en.md".to_string()),
            ["statements", name] if name.len() >= 6 && name.ends_with(".pdf") => {
                Some(format!("problem.{}.pdf", name[..2].to_ascii_lowercase()))
            }
            _ => None,
        };
        found.extend(name.map(|name| (name, path.clone())));
    }
    if found.is_empty() {
        writer.warn("statement", "there is none in a form that 2025-09 takes (TeX, Markdown, PDF)");
    }
    found.sort();
    found.dedup_by(|one, other| one.0 == other.0);
    found.into_iter().for_each(|(name, path)| writer.copy(format!("statement/{name}"), &path));
}

/// The words by which `compare.py` knows a comparison; `None`: the default validator does it.
fn comparison(comparison: &BuiltIn) -> Option<Vec<String>> {
    use crate::compare::FloatError;
    let words: Vec<String> = match comparison {
        BuiltIn::Kattis => return None,
        BuiltIn::Lines => vec!["lines".into()],
        BuiltIn::WhiteDiff => vec!["whitediff".into()],
        BuiltIn::Characters => vec!["characters".into()],
        BuiltIn::Floats { tolerance, error } => {
            let error = match error {
                FloatError::Either => "either",
                FloatError::Absolute => "absolute",
                FloatError::Relative => "relative",
            };
            vec!["floats".into(), error.into(), tolerance.to_string()]
        }
        BuiltIn::Identical => vec!["identical".into()],
        BuiltIn::LineCount => vec!["linecount".into()],
        BuiltIn::LineMatches { weights, same_count } => {
            let count = if *same_count { "same" } else { "any" };
            let weights = weights.iter().map(f64::to_string);
            ["linematches".to_string(), count.to_string()].into_iter().chain(weights).collect()
        }
        BuiltIn::EndsStripped { without_empty: true } => vec!["rstripped-full".into()],
        BuiltIn::EndsStripped { without_empty: false } => vec!["rstripped".into()],
        BuiltIn::SortedLines => vec!["sorted-lines".into()],
        BuiltIn::SortedTokens => vec!["sorted-tokens".into()],
    };
    Some(words)
}

/// Whether some test is compared by what only `compare.py` does.
fn compares(package: &Package) -> bool {
    package.validator == Validator::Default
        && package.data.all_cases().iter().any(|case| case.comparison != BuiltIn::Kattis)
}

#[cfg(test)]
mod tests;
