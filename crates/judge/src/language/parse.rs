//! From TOML to [`Table`], strictly.

use super::{CompileLimits, EntryRule, Language, Mount, Root, Stage, Table, expand};
use crate::nearest::did_you_mean;
use model::{Bytes, Nanos};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::DeTable;

/// What is wrong with a language table, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct TableError {
    /// The file as it was named.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong, naming language and key, with the remedy.
    pub message: String,
}

/// A table as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    env: Option<BTreeMap<String, String>>,
    #[serde(default, rename = "language")]
    languages: Vec<RawLanguage>,
}

/// Declares the keys once: the struct, the list of names for suggestions, and how one entry is laid over another.
macro_rules! raw_language {
    ($($key:ident: $type:ty,)*) => {
        #[derive(Clone, Debug, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct RawLanguage {
            id: Spanned<String>,
            like: Option<String>,
            $($key: Option<$type>,)*
        }

        pub(super) const LANGUAGE_KEYS: &[&str] = &["id", "like", $(stringify!($key),)*];

        impl RawLanguage {
            /// Keys of `self` where given, else those of `base`.
            fn over(self, base: &RawLanguage) -> RawLanguage {
                RawLanguage {
                    id: self.id,
                    like: self.like.or_else(|| base.like.clone()),
                    $($key: self.$key.or_else(|| base.$key.clone()),)*
                }
            }
        }
    };
}

raw_language! {
    name: String,
    codes: Vec<String>,
    extensions: Vec<String>,
    extension_markers: Vec<String>,
    sources: Vec<String>,
    shebangs: Vec<String>,
    entry: String,
    entry_names: Vec<String>,
    entry_markers: Vec<String>,
    fallback: String,
    tools: BTreeMap<String, Vec<String>>,
    roots: BTreeMap<String, RawRoot>,
    version: Vec<String>,
    compile: Vec<Vec<String>>,
    options: Vec<String>,
    warm_up: String,
    compile_env: BTreeMap<String, String>,
    compile_mounts: Vec<String>,
    compile_seconds: f64,
    compile_memory_mib: u64,
    compile_output_mib: u64,
    compile_processes: u32,
    run: Vec<String>,
    run_env: BTreeMap<String, String>,
    counted_run: Vec<String>,
    counted_env: BTreeMap<String, String>,
    run_mounts: Vec<String>,
    memory_allowance_mib: u64,
    process_allowance: u32,
    time_factor: f64,
}

const TABLE_KEYS: &[&str] = &["env", "language"];

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum RawRoot {
    Path(String),
    Probe(Vec<String>),
}

/// A language as written, and where.
#[derive(Clone, Debug, PartialEq)]
struct Written {
    raw: RawLanguage,
    file: String,
    line: usize,
}

/// Everything written, after inheritance: what a further table is laid over.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sources {
    env: BTreeMap<String, String>,
    languages: Vec<Written>,
}

impl Table {
    /// Reads a table that stands alone. `file` is how messages name it.
    pub fn parse(toml: &str, file: &str) -> Result<Table, TableError> {
        build(Sources::default().overlaid(toml, file)?)
    }

    /// This table with a user's table over it: an `id` that exists has only the given keys changed; a new one comes
    /// before all existing languages, so that it wins where both claim an extension.
    pub fn with(&self, toml: &str, file: &str) -> Result<Table, TableError> {
        build(self.written.clone().overlaid(toml, file)?)
    }
}

impl Sources {
    fn overlaid(mut self, toml: &str, file: &str) -> Result<Sources, TableError> {
        let at = |span: usize, message: String| TableError {
            file: file.to_owned(),
            line: toml[..span.min(toml.len())].matches('\n').count() + 1,
            message,
        };
        let from_toml =
            |e: toml::de::Error| at(e.span().map_or(0, |s| s.start), e.message().trim().replace('\n', "; "));
        let tree = DeTable::parse(toml).map_err(from_toml)?;
        check_keys(tree.get_ref()).map_err(|(span, message)| at(span, message))?;
        let table: RawTable = toml::from_str(toml).map_err(from_toml)?;

        self.env = table.env.unwrap_or(self.env);
        let mut new = Vec::new();
        for raw in table.languages {
            let span = raw.id.span().start;
            let id = raw.id.get_ref().clone();
            let known = |wanted: &str| {
                new.iter().chain(&self.languages).find(|w: &&Written| w.raw.id.get_ref() == wanted)
            };
            if new.iter().any(|w: &Written| *w.raw.id.get_ref() == id) {
                return Err(at(span, format!("language `{id}` is defined twice")));
            }
            let base = match &raw.like {
                Some(like) => Some(known(like).map(|w| w.raw.as_base()).ok_or_else(|| {
                    let ids = new.iter().chain(&self.languages).map(|w| w.raw.id.get_ref().as_str());
                    let hint = did_you_mean(like, ids);
                    at(span, format!("language `{id}`: like: no language `{like}` before this one{hint}"))
                })?),
                None => known(&id).map(|w| w.raw.clone()),
            };
            let raw = match base {
                Some(base) => raw.over(&base),
                None => raw,
            };
            let written = Written { raw, file: file.to_owned(), line: at(span, String::new()).line };
            match self.languages.iter_mut().find(|w| *w.raw.id.get_ref() == id) {
                Some(old) => *old = written,
                None => new.push(written),
            }
        }
        self.languages.splice(0..0, new);
        Ok(self)
    }
}

impl RawLanguage {
    /// What `like` takes over: all but the keys that say when a language is chosen by itself.
    fn as_base(&self) -> RawLanguage {
        let sources = self.sources.clone().or_else(|| self.extensions.clone());
        RawLanguage { sources, extensions: None, shebangs: None, fallback: None, like: None, ..self.clone() }
    }
}

/// Unknown keys, with the offset of the first.
fn check_keys(table: &DeTable<'_>) -> Result<(), (usize, String)> {
    let check = |table: &DeTable<'_>, known: &[&str], what: &str| {
        table.iter().map(|(key, _)| key).find(|key| !known.contains(&key.get_ref().as_ref())).map_or(
            Ok(()),
            |key| {
                let name = key.get_ref().as_ref();
                let hint = did_you_mean(name, known.iter().copied());
                Err((key.span().start, format!("unknown key `{name}` of {what}{hint}")))
            },
        )
    };
    check(table, TABLE_KEYS, "a language table")?;
    let languages = table.get("language").and_then(|l| l.get_ref().as_array());
    for language in languages.into_iter().flatten().filter_map(|l| l.get_ref().as_table()) {
        check(language, LANGUAGE_KEYS, "a language")?;
    }
    Ok(())
}

fn build(written: Sources) -> Result<Table, TableError> {
    let mut languages = Vec::new();
    for one in &written.languages {
        let id = one.raw.id.get_ref();
        let language = language(&one.raw, &written).and_then(|l| expand::check(&l).map(|()| l));
        languages.push(language.map_err(|message| TableError {
            file: one.file.clone(),
            line: one.line,
            message: format!("language `{id}`: {message}"),
        })?);
    }
    Ok(Table { languages, written })
}

/// One language from its keys; the error names the key.
fn language(raw: &RawLanguage, all: &Sources) -> Result<Language, String> {
    let id = raw.id.get_ref().clone();
    if id.is_empty() || !id.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_')) {
        return Err("id: must have only lower-case letters, digits and `_`".to_owned());
    }
    let ids = || all.languages.iter().map(|w| w.raw.id.get_ref().as_str());
    if let Some(other) = raw.fallback.as_deref().filter(|f| *f == id || !ids().any(|i| i == *f)) {
        return Err(format!("fallback: no other language `{other}`{}", did_you_mean(other, ids())));
    }
    let extensions = raw.extensions.clone().unwrap_or_default();
    if let Some(dotted) = extensions.iter().chain(raw.sources.iter().flatten()).find(|e| e.starts_with('.')) {
        return Err(format!("extensions: write `{dotted}` without its dot"));
    }
    let stage = |steps, env: &Option<BTreeMap<String, String>>, mounts: &Option<Vec<String>>| Stage {
        steps,
        env: {
            let mut merged = all.env.clone();
            merged.extend(env.clone().unwrap_or_default());
            merged.into_iter().collect()
        },
        mounts: mounts.iter().flatten().map(|m| mount(m)).collect(),
    };
    let run = raw.run.clone().filter(|r| !r.is_empty()).ok_or("run: the command is missing")?;
    Ok(Language {
        name: raw.name.clone().ok_or("name: is missing")?,
        codes: raw.codes.clone().unwrap_or_else(|| vec![id.clone()]),
        sources: raw.sources.clone().unwrap_or_else(|| extensions.clone()),
        extensions,
        extension_markers: raw.extension_markers.clone().unwrap_or_default(),
        shebangs: raw.shebangs.clone().unwrap_or_default(),
        entry: entry_rule(raw.entry.as_deref().unwrap_or("file"))?,
        entry_names: raw.entry_names.clone().unwrap_or_default(),
        entry_markers: raw.entry_markers.clone().unwrap_or_default(),
        fallback: raw.fallback.clone(),
        tools: raw.tools.clone().unwrap_or_default(),
        roots: raw.roots.clone().unwrap_or_default().into_iter().map(|(k, v)| (k, v.into())).collect(),
        version: raw.version.clone().unwrap_or_default(),
        compile: stage(raw.compile.clone().unwrap_or_default(), &raw.compile_env, &raw.compile_mounts),
        options: raw.options.clone().unwrap_or_default(),
        warm_up: raw.warm_up.clone(),
        counted: {
            let steps = raw.counted_run.clone().filter(|run| !run.is_empty()).unwrap_or_else(|| run.clone());
            let mut env = raw.run_env.clone().unwrap_or_default();
            env.extend(raw.counted_env.clone().unwrap_or_default());
            stage(vec![steps], &Some(env), &raw.run_mounts)
        },
        run: stage(vec![run], &raw.run_env, &raw.run_mounts),
        compile_limits: compile_limits(raw)?,
        memory_allowance: Bytes::from_mib(raw.memory_allowance_mib.unwrap_or(0)),
        process_allowance: raw.process_allowance.unwrap_or(1).max(1),
        time_factor: match raw.time_factor.unwrap_or(1.0) {
            factor if factor.is_finite() && factor > 0.0 => factor,
            factor => return Err(format!("time_factor: {factor} is not a positive number")),
        },
        id,
    })
}

/// Bounds of a compilation; defaults are the typical ones of the legacy format specification, section "Limits"
/// (60 s, 2048 MiB).
fn compile_limits(raw: &RawLanguage) -> Result<CompileLimits, String> {
    let seconds = raw.compile_seconds.unwrap_or(60.0);
    Ok(CompileLimits {
        cpu: Nanos::from_secs_f64(seconds)
            .filter(|n| *n > Nanos::ZERO)
            .ok_or_else(|| format!("compile_seconds: {seconds} is not a positive number of seconds"))?,
        memory: Bytes::from_mib(raw.compile_memory_mib.unwrap_or(2048)),
        output: Bytes::from_mib(raw.compile_output_mib.unwrap_or(256)),
        processes: raw.compile_processes.unwrap_or(64),
    })
}

fn entry_rule(name: &str) -> Result<EntryRule, String> {
    Ok(match name {
        "linked" => EntryRule::Linked,
        "file" => EntryRule::File,
        "java" => EntryRule::Java,
        "kotlin" => EntryRule::Kotlin,
        _ => return Err(format!("entry: `{name}` is not one of linked, file, java, kotlin")),
    })
}

fn mount(written: &str) -> Mount {
    let path = written.strip_suffix('?');
    Mount { path: path.unwrap_or(written).to_owned(), optional: path.is_some() }
}

impl From<RawRoot> for Root {
    fn from(raw: RawRoot) -> Root {
        match raw {
            RawRoot::Path(path) => Root::Path(path),
            RawRoot::Probe(argv) => Root::Probe(argv),
        }
    }
}
