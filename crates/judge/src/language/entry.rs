//! Where a program begins, and under which names its files are placed.

use super::source_text::{Class, java_classes, kotlin_classes};
use super::{EntryRule, Language, file_name, file_stem};

/// How the files of a program are laid out for compiling and running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Every file: its name as given, and its path below the program's directory.
    pub placed: Vec<(String, String)>,
    /// Paths handed to the compiler.
    pub sources: Vec<String>,
    /// The entry point: a path below the program's directory, or a class. Empty for linked programs.
    pub entry: String,
    /// Options for the compiler beyond the language's own: [`Language::check_options`] holds.
    pub options: Vec<String>,
}

/// Why a program cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// None of the files can be compiled.
    #[error("no {language} source file\nhint: its extensions are {extensions}")]
    NoSource {
        /// Name of the language.
        language: String,
        /// What it looks for.
        extensions: String,
    },
    /// The entry point asked for is not there.
    #[error("no entry point `{wanted}`\nhint: there is {found}")]
    NoEntry {
        /// As asked for.
        wanted: String,
        /// What could have been.
        found: String,
    },
}

impl Language {
    /// Lays out a program of this language. `files` are the submission's and all that is compiled with it, with their
    /// whole content; `added` names those of them that the package includes; `wanted` is the entry point asked for: a
    /// file or a class.
    ///
    /// Without one, a file program begins in the first of: a file called as `entry_names` says; an added file that imports
    /// one of the submission's; and, of the submission's own sources if it has any: the only one; the only one that holds a
    /// text of `entry_markers`; the first by name. Classes are found by reading the sources; where several can be
    /// started, the order is: called as `entry_names` says, public, called like its file, first.
    /// A Java file is placed under the name of its public class, which is what the compiler insists on.
    pub fn plan(
        &self,
        files: &[(&str, &[u8])],
        added: &[&str],
        wanted: Option<&str>,
    ) -> Result<Plan, PlanError> {
        let mut files = files.to_vec();
        files.sort_unstable_by_key(|(name, _)| *name);
        // A single file whose extension says nothing was chosen by hint or `#!`: it is the source.
        let only = if let [(name, _)] = files[..] { Some(name) } else { None };
        let sources: Vec<(&str, &[u8])> =
            files.iter().copied().filter(|(name, _)| self.is_source(name) || only == Some(*name)).collect();
        if sources.is_empty() {
            let extensions = self.sources.iter().map(|e| format!(".{e}")).collect::<Vec<_>>().join(" ");
            return Err(PlanError::NoSource { language: self.name.clone(), extensions });
        }
        let taken: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        let place = |name: &str, content: &[u8]| match self.entry {
            EntryRule::Java if self.is_source(name) => java_place(name, content, &taken),
            _ => name.to_owned(),
        };
        let entry = match self.entry {
            EntryRule::Linked => String::new(),
            EntryRule::File => self.entry_file(&sources, added, wanted)?,
            EntryRule::Java | EntryRule::Kotlin => self.entry_class(&sources, wanted),
        };
        Ok(Plan {
            sources: sources.iter().map(|(name, content)| place(name, content)).collect(),
            placed: files.iter().map(|(name, content)| ((*name).to_owned(), place(name, content))).collect(),
            entry,
            options: Vec::new(),
        })
    }

    fn entry_file(
        &self,
        sources: &[(&str, &[u8])],
        added: &[&str],
        wanted: Option<&str>,
    ) -> Result<String, PlanError> {
        let called =
            |wanted: &str| sources.iter().find(|(name, _)| *name == wanted || file_stem(name) == wanted);
        if let Some(wanted) = wanted {
            return called(wanted).map(|(name, _)| (*name).to_owned()).ok_or_else(|| PlanError::NoEntry {
                wanted: wanted.to_owned(),
                found: sources.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", "),
            });
        }
        let named = self.entry_names.iter().find_map(|n| sources.iter().find(|(name, _)| name == n));
        // A grader, which calls what the submission defines (legacy, "Included files").
        let stems: Vec<&str> = sources
            .iter()
            .filter(|(name, _)| !added.contains(name))
            .map(|(name, _)| file_stem(name))
            .collect();
        let calls = |(name, content): &&(&str, &[u8])| added.contains(name) && brings_in(content, &stems);
        // Where it has parts of its own, the one called so begins.
        let called_so = |(name, _): &&(&str, &[u8])| {
            added.contains(name) && ["grader", "stub"].contains(&file_stem(name))
        };
        let grader = sources.iter().find(calls);
        let grader = grader.map(|part| sources.iter().find(called_so).unwrap_or(part));
        let named = named.or(grader);
        let own: Vec<_> = sources.iter().filter(|(name, _)| !added.contains(name)).collect();
        let candidates = if own.is_empty() { sources.iter().collect() } else { own };
        let marked: Vec<_> =
            candidates.iter().copied().filter(|(_, content)| self.is_marked(content)).collect();
        let chosen = named.or(if let [one] = marked[..] { Some(one) } else { None }).unwrap_or(candidates[0]);
        Ok(chosen.0.to_owned())
    }

    fn is_marked(&self, content: &[u8]) -> bool {
        let text = String::from_utf8_lossy(content).to_lowercase();
        self.entry_markers.iter().any(|m| text.contains(m.as_str()))
    }

    fn entry_class(&self, sources: &[(&str, &[u8])], wanted: Option<&str>) -> String {
        let mut classes: Vec<(&str, Class)> = Vec::new();
        for (name, content) in sources {
            let text = String::from_utf8_lossy(content);
            let found = match self.entry {
                EntryRule::Kotlin => kotlin_classes(&text, file_stem(name)),
                _ => java_classes(&text),
            };
            classes.extend(found.into_iter().map(|c| (*name, c)));
        }
        if let Some(wanted) = wanted {
            // A file may be named in place of its class.
            let of_file = |(name, class): &&(&str, Class)| file_name(name) == wanted && class.main > 0;
            let called = |(_, class): &&(&str, Class)| class.full == wanted || class.simple == wanted;
            let found = classes.iter().find(called).or_else(|| classes.iter().find(of_file));
            return found.map_or_else(|| wanted.to_owned(), |(_, class)| class.full.clone());
        }
        let rank = |(name, class): &(&str, Class)| {
            let conventional = self.entry_names.contains(&class.simple);
            (class.main, conventional, class.public, file_stem(name) == class.simple)
        };
        // `rev`, since the last of equals would win and the first should.
        let best = classes.iter().rev().max_by_key(|c| rank(c));
        best.map_or_else(|| file_stem(sources[0].0).to_owned(), |(_, class)| class.full.clone())
    }
}

/// Whether a line brings in one of these modules, in the words of any language that has modules.
fn brings_in(content: &[u8], modules: &[&str]) -> bool {
    const WORDS: [&str; 7] = ["import", "from", "require", "require_relative", "include", "use", "uses"];
    String::from_utf8_lossy(content).lines().any(|line| {
        let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        words.any(|word| WORDS.contains(&word.to_ascii_lowercase().as_str()))
            && words.any(|word| modules.contains(&word))
    })
}

/// Where a Java file goes: `Public.java` in its directory for a file that declares the public class `Public`, unless
/// another file has that name.
fn java_place(name: &str, content: &[u8], taken: &[&str]) -> String {
    let classes = java_classes(&String::from_utf8_lossy(content));
    let stem = classes.iter().find(|c| c.public).map_or_else(|| file_stem(name), |c| &c.simple);
    let directory = &name[..name.len() - file_name(name).len()];
    let wanted = format!("{directory}{stem}.java");
    if taken.contains(&wanted.as_str()) { name.to_owned() } else { wanted }
}
