//! Judge0's language ids and what stands behind each here.
//!
//! An id is a promise of a language, not of a compiler's version: the name that is listed says which compiler and version
//! really serve. Ids for which the nodes have no toolchain are not listed and not taken.

use crate::toolchains::Toolchain;
use model::ProgramKind;
use serde::Serialize;

/// Which of Judge0's two editions a client believes to talk to: they number languages differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edition {
    /// The Community Edition, releases 1.13 and 1.14: their ids are disjoint, so both are taken.
    Ce,
    /// Its edition with further languages.
    Extra,
}

/// What an id means here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LanguageKind {
    /// Running it prints the source.
    Text,
    /// The source is an executable.
    Executable,
    /// A program of several files with its own scripts.
    Scripts,
    /// This language of ours.
    Language(&'static str),
}

/// The ids, with what they mean. Source: Judge0's table of languages (`db/languages/active.rb`, 1.13.1), the answers of its
/// hosted service (1.14), and the table of its Python client (`data.py`, 0.0.8).
const CE: &[(u32, LanguageKind)] = &[
    (43, LanguageKind::Text),
    (44, LanguageKind::Executable),
    (45, LanguageKind::Language("nasm")),
    (46, LanguageKind::Language("bash")),
    (48, LanguageKind::Language("c")),
    (49, LanguageKind::Language("c")),
    (50, LanguageKind::Language("c")),
    (51, LanguageKind::Language("csharp")),
    (52, LanguageKind::Language("cpp")),
    (53, LanguageKind::Language("cpp")),
    (54, LanguageKind::Language("cpp")),
    (60, LanguageKind::Language("go")),
    (61, LanguageKind::Language("haskell")),
    (62, LanguageKind::Language("java")),
    (63, LanguageKind::Language("javascript")),
    (64, LanguageKind::Language("lua")),
    (65, LanguageKind::Language("ocaml")),
    (67, LanguageKind::Language("pascal")),
    (68, LanguageKind::Language("php")),
    (69, LanguageKind::Language("prolog")),
    (70, LanguageKind::Language("python2")),
    (71, LanguageKind::Language("cpython3")),
    (72, LanguageKind::Language("ruby")),
    (73, LanguageKind::Language("rust")),
    (75, LanguageKind::Language("c")),
    (76, LanguageKind::Language("cpp")),
    (78, LanguageKind::Language("kotlin")),
    (85, LanguageKind::Language("perl")),
    (89, LanguageKind::Scripts),
    (91, LanguageKind::Language("java")),
    (92, LanguageKind::Language("cpython3")),
    (93, LanguageKind::Language("javascript")),
    (95, LanguageKind::Language("go")),
    (97, LanguageKind::Language("javascript")),
    (98, LanguageKind::Language("php")),
    (100, LanguageKind::Language("cpython3")),
    (102, LanguageKind::Language("javascript")),
    (103, LanguageKind::Language("c")),
    (104, LanguageKind::Language("c")),
    (105, LanguageKind::Language("cpp")),
    (106, LanguageKind::Language("go")),
    (107, LanguageKind::Language("go")),
    (108, LanguageKind::Language("rust")),
    (109, LanguageKind::Language("cpython3")),
    (110, LanguageKind::Language("c")),
    (111, LanguageKind::Language("kotlin")),
    (113, LanguageKind::Language("cpython3")),
];

const EXTRA: &[(u32, LanguageKind)] = &[
    (1, LanguageKind::Language("c")),
    (2, LanguageKind::Language("cpp")),
    (4, LanguageKind::Language("java")),
    (10, LanguageKind::Language("cpython3")),
    (22, LanguageKind::Language("csharp")),
    (25, LanguageKind::Language("cpython3")),
    (26, LanguageKind::Language("python2")),
    (27, LanguageKind::Language("python3")),
    (28, LanguageKind::Language("python3")),
    (33, LanguageKind::Language("cpython3")),
    (43, LanguageKind::Text),
    (44, LanguageKind::Executable),
    (89, LanguageKind::Scripts),
];

/// How a language of ours is called and which file Judge0 puts its source into.
const FORMS: &[(&str, &str, &str, bool)] = &[
    // id, name, source file, whether the program begins in that file (else the compiler or runtime finds the beginning)
    ("bash", "Bash", "script.sh", true),
    ("c", "C", "main.c", false),
    ("cpp", "C++", "main.cpp", false),
    ("csharp", "C#", "Main.cs", false),
    ("cpython3", "Python", "script.py", true),
    ("go", "Go", "main.go", false),
    ("haskell", "Haskell", "main.hs", true),
    ("java", "Java", "Main.java", false),
    ("javascript", "JavaScript", "script.js", true),
    ("kotlin", "Kotlin", "Main.kt", false),
    ("lua", "Lua", "script.lua", true),
    ("nasm", "Assembly", "main.asm", true),
    ("ocaml", "OCaml", "main.ml", true),
    ("pascal", "Pascal", "main.pas", true),
    ("perl", "Perl", "script.pl", true),
    ("php", "PHP", "script.php", true),
    ("prolog", "Prolog", "main.pro", false),
    ("python2", "Python", "script.py", true),
    ("python3", "Python", "script.py", true),
    ("ruby", "Ruby", "script.rb", true),
    ("rust", "Rust", "main.rs", true),
];

/// A language as clients see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Offered {
    /// Judge0's id.
    pub(crate) id: u32,
    /// Its name, with what really serves.
    pub(crate) name: String,
    /// Never: what cannot be used is not listed.
    pub(crate) is_archived: bool,
    /// The file its source is put into; `None` for programs of several files.
    pub(crate) source_file: Option<String>,
    /// How it is compiled: our template.
    pub(crate) compile_cmd: Option<String>,
    /// How it is run: our template.
    pub(crate) run_cmd: Option<String>,
    #[serde(skip)]
    means: Option<LanguageKind>,
    #[serde(skip)]
    begins: bool,
}

impl Offered {
    /// It consists of additional files alone.
    pub(crate) fn is_project(&self) -> bool {
        self.means == Some(LanguageKind::Scripts)
    }

    /// What its files are.
    pub(crate) fn kind(&self) -> ProgramKind {
        match self.means {
            Some(LanguageKind::Language(id)) => ProgramKind::Language(id.to_owned()),
            Some(LanguageKind::Scripts) => ProgramKind::Scripts,
            Some(LanguageKind::Executable) => ProgramKind::Executable,
            Some(LanguageKind::Text) | None => ProgramKind::Text,
        }
    }

    /// Short name of what its files are, as submissions are listed by.
    pub(crate) fn short(&self) -> &'static str {
        match self.means {
            Some(LanguageKind::Language(id)) => id,
            Some(LanguageKind::Scripts) => "scripts",
            Some(LanguageKind::Executable) => "executable",
            Some(LanguageKind::Text) | None => "text",
        }
    }

    /// The file the program begins in, where that is always the source file.
    pub(crate) fn entry(&self) -> Option<String> {
        self.source_file.clone().filter(|_| self.begins)
    }
}

/// Everything that can be used, by name.
pub(crate) fn offered(edition: Edition, toolchains: &[Toolchain]) -> Vec<Offered> {
    let mut all: Vec<Offered> =
        table(edition).iter().filter_map(|(id, means)| offer(*id, *means, toolchains)).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name).then(a.id.cmp(&b.id)));
    all
}

/// What an id means, if it can be used.
pub(crate) fn find(edition: Edition, id: u32, toolchains: &[Toolchain]) -> Option<Offered> {
    let (_, means) = table(edition).iter().find(|(known, _)| *known == id)?;
    offer(id, *means, toolchains)
}

fn table(edition: Edition) -> &'static [(u32, LanguageKind)] {
    match edition {
        Edition::Ce => CE,
        Edition::Extra => EXTRA,
    }
}

fn offer(id: u32, means: LanguageKind, toolchains: &[Toolchain]) -> Option<Offered> {
    let plain = |name: &str, source: Option<&str>, run: Option<&str>| Offered {
        id,
        name: name.to_owned(),
        is_archived: false,
        source_file: source.map(str::to_owned),
        compile_cmd: None,
        run_cmd: run.map(str::to_owned),
        means: Some(means),
        begins: false,
    };
    let language = match means {
        LanguageKind::Text => {
            return Some(plain("Plain Text", Some("text.txt"), Some("/bin/cat {dir}/text.txt")));
        }
        LanguageKind::Executable => return Some(plain("Executable", Some("a.out"), Some("{dir}/a.out"))),
        // Clients know programs of several files by this name.
        LanguageKind::Scripts => return Some(plain("Multi-file program", None, None)),
        LanguageKind::Language(language) => language,
    };
    let toolchain = toolchains.iter().find(|toolchain| toolchain.id == language)?;
    let (_, name, source, begins) = FORMS.iter().find(|(known, ..)| *known == language)?;
    let line = |words: &[String]| (!words.is_empty()).then(|| words.join(" "));
    Some(Offered {
        name: name_of(name, toolchain),
        compile_cmd: line(&toolchain.compile),
        run_cmd: line(&toolchain.run),
        begins: *begins,
        ..plain("", Some(source), None)
    })
}

/// Such as `C++ (GCC 12.2.0)`.
fn name_of(name: &str, toolchain: &Toolchain) -> String {
    let tool = match (toolchain.id.as_str(), toolchain.tool.as_str()) {
        (_, tool) if tool.starts_with("clang") => "Clang",
        ("c" | "cpp", _) => "GCC",
        ("csharp", _) => "Mono",
        ("haskell", _) => "GHC",
        ("java", _) => "JDK",
        ("javascript", _) => "Node.js",
        ("pascal", _) => "FPC",
        ("prolog", _) => "SWI-Prolog",
        ("python3", _) => "PyPy, language",
        _ => "",
    };
    let words = [tool, toolchain.version.as_deref().unwrap_or_default()];
    let inside: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    if inside.is_empty() { name.to_owned() } else { format!("{name} ({})", inside.join(" ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::language::Table;
    use std::collections::BTreeSet;

    fn toolchain(id: &str, tool: &str, version: Option<&str>) -> Toolchain {
        Toolchain {
            id: id.into(),
            tool: tool.into(),
            version: version.map(str::to_owned),
            compile: vec!["x".into(), "y".into()],
            run: vec!["z".into()],
        }
    }

    #[test]
    fn every_id_is_of_a_language_there_is_and_stands_once() {
        let shipped = Table::shipped();
        for edition in [Edition::Ce, Edition::Extra] {
            let ids: BTreeSet<u32> = table(edition).iter().map(|(id, _)| *id).collect();
            assert_eq!(ids.len(), table(edition).len());
            for (id, means) in table(edition) {
                let LanguageKind::Language(language) = means else { continue };
                let known = shipped.get(language).unwrap_or_else(|| panic!("{id}: {language}"));
                let (_, _, source, _) =
                    FORMS.iter().find(|(form, ..)| form == language).unwrap_or_else(|| panic!("{language}"));
                assert!(known.is_source(source), "{language}: {source}");
            }
        }
    }

    #[test]
    fn only_what_can_be_used_is_offered_under_its_true_name() {
        let here = [
            toolchain("cpp", "clang++", Some("14.0.6")),
            toolchain("c", "gcc", Some("12.2.0")),
            toolchain("cpython3", "python3", Some("3.11.7")),
            toolchain("kotlin", "kotlinc", None),
        ];
        let names: BTreeSet<String> =
            offered(Edition::Ce, &here).into_iter().map(|offered| offered.name).collect();
        let expected = [
            "C (GCC 12.2.0)",
            "C++ (Clang 14.0.6)",
            "Executable",
            "Kotlin",
            "Multi-file program",
            "Plain Text",
            "Python (3.11.7)",
        ];
        assert!(names.iter().map(String::as_str).eq(expected), "{names:?}");
        assert_eq!(find(Edition::Ce, 60, &here), None);
        assert_eq!(find(Edition::Ce, 10, &here), None);
        let python = find(Edition::Extra, 10, &here).unwrap();
        assert_eq!((python.name.as_str(), python.entry().as_deref()), ("Python (3.11.7)", Some("script.py")));
        assert_eq!(python.compile_cmd.as_deref(), Some("x y"));
    }
}
