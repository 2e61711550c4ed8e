//! The languages under Piston's names.

use super::selector::{Selector, Version};
use crate::toolchains::Toolchain;
use serde::Serialize;

/// A language in a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Runtime {
    /// Its name.
    pub(super) language: &'static str,
    /// Its version, of three numbers.
    pub(super) version: String,
    /// Other names of it.
    pub(super) aliases: &'static [&'static str],
    /// What runs it, where there could be others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) runtime: Option<&'static str>,
    /// Our id.
    #[serde(skip)]
    pub(super) id: &'static str,
    /// The program begins in its first file.
    #[serde(skip)]
    pub(super) begins: bool,
    /// Name of a file that has none.
    #[serde(skip)]
    pub(super) file: &'static str,
}

/// Our id, Piston's name (metadata.json of its packages), aliases, runtime, name of a file without one, whether the program
/// begins in its first file.
type Form = (&'static str, &'static str, &'static [&'static str], Option<&'static str>, &'static str, bool);

const FORMS: &[Form] = &[
    ("bash", "bash", &["sh"], None, "main.sh", true),
    ("brainfuck", "brainfuck", &["bf"], None, "main.bf", true),
    ("c", "c", &["gcc"], Some("gcc"), "main.c", false),
    ("cpp", "c++", &["cpp", "g++"], Some("gcc"), "main.cpp", false),
    (
        "csharp",
        "csharp",
        &["mono", "mono-csharp", "mono-c#", "mono-cs", "c#", "cs"],
        Some("mono"),
        "main.cs",
        false,
    ),
    ("cpython3", "python", &["py", "py3", "python3"], None, "main.py", true),
    ("python3", "pypy", &["pypy3"], None, "main.py", true),
    ("python2", "python2", &["py2"], None, "main.py", true),
    ("go", "go", &["golang"], None, "main.go", false),
    ("haskell", "haskell", &["hs"], None, "main.hs", true),
    ("java", "java", &[], None, "Main.java", false),
    ("javascript", "javascript", &["node-javascript", "node-js", "js"], Some("node"), "main.js", true),
    ("kotlin", "kotlin", &["kt"], None, "main.kt", false),
    ("lua", "lua", &[], None, "main.lua", true),
    ("nasm", "nasm", &["nasm64"], None, "main.asm", true),
    ("ocaml", "ocaml", &["ml"], None, "main.ml", true),
    ("pascal", "pascal", &["freepascal", "pp", "pas"], None, "main.pas", true),
    ("perl", "perl", &["pl"], None, "main.pl", true),
    ("php", "php", &[], None, "main.php", true),
    ("prolog", "prolog", &["plg"], None, "main.pro", false),
    ("ruby", "ruby", &["ruby3", "rb"], None, "main.rb", true),
    ("rust", "rust", &["rs"], None, "main.rs", true),
];

/// What the nodes have, by name.
pub(super) fn all(toolchains: &[Toolchain]) -> Vec<Runtime> {
    let runtime = |(id, language, aliases, runtime, file, begins): &Form| {
        let toolchain = toolchains.iter().find(|toolchain| toolchain.id == *id)?;
        let clang = toolchain.tool.starts_with("clang");
        Some(Runtime {
            language,
            version: Version::parse(toolchain.version.as_deref().unwrap_or_default()).to_string(),
            aliases,
            runtime: if clang { Some("clang") } else { *runtime },
            id,
            begins: *begins,
            file,
        })
    };
    let mut all: Vec<Runtime> = FORMS.iter().filter_map(runtime).collect();
    all.sort_by_key(|runtime| runtime.language);
    all
}

/// The one of this name whose version fits.
pub(super) fn find<'a>(runtimes: &'a [Runtime], language: &str, version: &str) -> Option<&'a Runtime> {
    let selector = Selector::parse(version)?;
    runtimes.iter().find(|runtime| {
        (runtime.language == language || runtime.aliases.contains(&language))
            && selector.takes(Version::parse(&runtime.version))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::language::Table;

    #[test]
    fn every_name_is_of_a_language_there_is_and_means_one() {
        let shipped = Table::shipped();
        let mut names: Vec<&str> = Vec::new();
        for (id, language, aliases, _, file, _) in FORMS {
            let known = shipped.get(id).unwrap_or_else(|| panic!("{id}"));
            assert!(known.is_source(file), "{id}: {file}");
            names.extend([*language].into_iter().chain(aliases.iter().copied()));
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn languages_are_found_by_name_alias_and_version() {
        let here = [("cpython3", "3.11.7"), ("c", "12.2.0")].map(|(id, version)| Toolchain {
            id: id.into(),
            tool: "x".into(),
            version: Some(version.into()),
            compile: Vec::new(),
            run: Vec::new(),
        });
        let runtimes = all(&here);
        for (language, version, found) in [
            ("python", "3.11.7", Some("cpython3")),
            ("py", "*", Some("cpython3")),
            ("python3", "3.x", Some("cpython3")),
            ("gcc", ">=12", Some("c")),
            ("python", "3.10.0", None),
            ("python", "nonsense", None),
            ("cpython3", "*", None),
            ("ruby", "*", None),
        ] {
            assert_eq!(
                find(&runtimes, language, version).map(|runtime| runtime.id),
                found,
                "{language} {version}"
            );
        }
    }
}
