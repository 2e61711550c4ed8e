//! Rules about sources and files.

use crate::code::has_word;
use crate::tree::{File, Tree};

/// Crates without I/O, clock, randomness and async (DESIGN, invariant 1).
pub(crate) const PURE: [&str; 7] = ["model", "stats", "settle", "layouts", "judge", "report", "sim"];

/// Parts of other crates that are held to the same.
const PURE_PARTS: [&str; 8] = [
    "crates/fleet/src/admission.rs",
    "crates/fleet/src/cross_check.rs",
    "crates/fleet/src/health.rs",
    "crates/fleet/src/health/",
    "crates/fleet/src/moment.rs",
    "crates/fleet/src/policy.rs",
    "crates/fleet/src/pool.rs",
    "crates/fleet/src/statement.rs",
];

/// Lines a source file may have.
const MOST_LINES: usize = 700;

/// Pure crates name nothing of the operating system.
pub fn pure_crates_are_pure(tree: &Tree) -> Vec<String> {
    const MODULES: [&str; 6] = ["fs", "process", "net", "env", "thread", "os"];
    const WORDS: [&str; 5] = ["Instant", "SystemTime", "tokio", "async", "rand"];
    let broken = |file: &File| {
        let code = file.code();
        let module = MODULES.into_iter().find(|m| names_std(&code, m)).map(|m| format!("std::{m}"));
        let word = || WORDS.into_iter().find(|w| has_word(&code, w)).map(String::from);
        Some(format!("{}: `{}` in a pure crate", file.path, module.or_else(word)?))
    };
    let pure =
        |f: &&File| PURE.contains(&f.crate_name()) || PURE_PARTS.iter().any(|part| f.path.starts_with(part));
    tree.sources().filter(pure).filter_map(broken).collect()
}

/// Whether `std::module` is named, alone or in a list of imports.
fn names_std(code: &str, module: &str) -> bool {
    let packed: String = code.split_whitespace().collect::<Vec<_>>().join(" ");
    has_word(&packed, &format!("std::{module}"))
        || packed.match_indices("std::{").any(|(at, opening)| {
            let list = &packed[at + opening.len()..];
            let list = list.split(';').next().unwrap_or(list);
            list.split(['{', '}', ',']).any(|item| has_word(item.split("::").next().unwrap_or(item), module))
        })
}

/// `unsafe` stands only where system calls are wrapped (DESIGN, invariant 2).
pub fn unsafe_in_its_place(tree: &Tree) -> Vec<String> {
    const PLACES: [&str; 2] = ["crates/sandbox/src/sys/", "crates/reference-machine/src/plugin/"];
    let elsewhere = tree.sources().filter(|f| !PLACES.iter().any(|place| f.path.starts_with(place)));
    let broken = elsewhere.filter(|f| f.path != "crates/sandbox/src/sys.rs" && has_word(&f.code(), "unsafe"));
    broken
        .map(|f| format!("{}: `unsafe` outside crates/sandbox/src/sys and the emulator's plugin", f.path))
        .collect()
}

/// Only `cli` writes to standard output and error (DESIGN, invariant 8); tools of the house may too.
pub fn only_the_binary_prints(tree: &Tree) -> Vec<String> {
    const PRINTS: [&str; 4] = ["println!", "eprintln!", "print!", "eprint!"];
    let others = tree.sources().filter(|f| !["cli", "xtask", "e2e", "sim"].contains(&f.crate_name()));
    // Build scripts speak to cargo so.
    let others = others.filter(|f| !f.path.ends_with("/build.rs"));
    let broken = |f: &File| {
        let code = f.code();
        let print = PRINTS.into_iter().find(|p| has_word(&code, p))?;
        Some(format!("{}: `{print}` outside crates/cli", f.path))
    };
    others.filter_map(broken).collect()
}

/// Of the binary, one file writes to standard output and error, so that no output is lost without a word.
pub fn one_file_prints(tree: &Tree) -> Vec<String> {
    const WRITES: [&str; 6] = ["println!", "eprintln!", "print!", "eprint!", "stdout()", "stderr()"];
    let others = tree.sources().filter(|f| f.path.starts_with("crates/cli/src/"));
    let broken = |f: &File| {
        let code: String = f.code().split_whitespace().collect();
        // Descriptors that are handed on, not written to.
        let code = ["dup(std::io::stdout())", "dup(std::io::stderr())"]
            .iter()
            .fold(code, |code, d| code.replace(d, ""));
        let write = WRITES.into_iter().find(|write| code.contains(write))?;
        Some(format!("{}: `{write}` outside crates/cli/src/terminal.rs", f.path))
    };
    others.filter(|f| f.path != "crates/cli/src/terminal.rs").filter_map(broken).collect()
}

/// Source files can be read in one sitting.
pub fn short_files(tree: &Tree) -> Vec<String> {
    let lines = |f: &File| f.text.lines().count();
    let long = tree.sources().filter(|f| lines(f) > MOST_LINES);
    long.map(|f| format!("{}: {} lines, at most {MOST_LINES}: split it", f.path, lines(f))).collect()
}

/// Nothing is left half done, and no test is switched off.
pub fn no_leftovers(tree: &Tree) -> Vec<String> {
    let marks = ["todo!", "unimplemented!", "#[ignore"];
    let mut broken = Vec::new();
    for file in tree.sources() {
        let code = file.code();
        broken.extend(marks.iter().filter(|m| code.contains(**m)).map(|m| format!("{}: `{m}`", file.path)));
        let fix = concat!("FIX", "ME");
        if has_word(&file.text, fix) {
            broken.push(format!("{}: {fix}", file.path));
        }
    }
    broken
}

/// No file names the directory it was written in, or a person's home.
pub fn no_paths_of_this_machine(tree: &Tree) -> Vec<String> {
    // A checkout directly below one of these says nothing about the machine.
    const COMMON: [&str; 7] = ["", "/", "/tmp", "/root", "/home", "/src", "/build"];
    let root = tree.root.to_string_lossy().into_owned();
    let parent = tree.root.parent().map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
    let mut marks = vec![root, concat!("/Us", "ers/").to_string()];
    if !COMMON.contains(&parent.as_str()) {
        marks.push(parent + "/");
    }
    let broken = |f: &File| {
        let mark = marks.iter().find(|m| f.text.contains(m.as_str()))?;
        Some(format!("{}: `{mark}` is a path of somebody's machine", f.path))
    };
    tree.files.iter().filter_map(broken).collect()
}

/// The files a newcomer and an operator look for.
pub fn named_files_exist(tree: &Tree) -> Vec<String> {
    let named = [
        "README.md",
        "ARCHITECTURE.md",
        "SECURITY.md",
        "CHANGELOG.md",
        "Makefile",
        "docs/cli.md",
        "docs/languages.md",
        "docs/measurement.md",
        "docs/noise.md",
        "docs/packages.md",
        "docs/tuning.md",
        "docs/slots.md",
        "docs/verdicts.md",
        ".ci/run",
    ];
    let missing = named.into_iter().filter(|path| tree.file(path).is_none());
    missing.map(|path| format!("{path} is missing")).collect()
}

/// The document of one run, with every field.
const RUN_SNAPSHOT: &str = "crates/report/src/json/snapshots/report__json__run__tests__run_ok.snap";

/// docs/measurement.md explains every field of the document of a run.
pub fn measured_fields_are_documented(tree: &Tree) -> Vec<String> {
    let text = |path: &str| tree.file(path).map(|f| f.text.as_str()).unwrap_or_default();
    let page = text("docs/measurement.md");
    let field = |line: &'_ str| Some(line.trim().strip_prefix('"')?.split_once("\":")?.0.to_string());
    // A reading that is unknown, and groups that have a heading.
    let fields: Vec<String> =
        text(RUN_SNAPSHOT).lines().filter_map(field).filter(|name| name != "unknown").collect();
    if fields.is_empty() {
        return vec![format!("{RUN_SNAPSHOT}: no fields found")];
    }
    let silent = fields.into_iter().filter(|name| !page.contains(&format!("`{name}`")));
    silent.map(|name| format!("docs/measurement.md: nothing on `{name}`")).collect()
}

/// Links between pages lead to files of the repository.
pub fn links_lead_somewhere(tree: &Tree) -> Vec<String> {
    let pages = tree.files.iter().filter(|f| f.path.ends_with(".md") && !f.path.contains("/statement/"));
    pages.flat_map(|page| broken_links(tree, page)).collect()
}

fn broken_links(tree: &Tree, page: &File) -> Vec<String> {
    let directory = page.path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let targets =
        page.text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    let local = targets.filter(|t| !t.starts_with('#') && !t.contains("://") && !t.contains(' '));
    let leads = |target: &str| {
        let mut parts: Vec<&str> = directory.split('/').filter(|p| !p.is_empty()).collect();
        for part in target.split('#').next().unwrap_or(target).split('/') {
            match part {
                ".." => drop(parts.pop()),
                "." | "" => {}
                name => parts.push(name),
            }
        }
        let path = parts.join("/");
        let is_text = tree.files.iter().any(|f| f.path == path || f.path.starts_with(&format!("{path}/")));
        // Pictures are no text.
        is_text || tree.root.join(path).is_file()
    };
    local.filter(|t| !leads(t)).map(|t| format!("{}: link to {t}, which is not there", page.path)).collect()
}

/// Names of types in the API's document are distinct: of two with one name it would describe one for both.
pub fn schema_names_are_distinct(tree: &Tree) -> Vec<String> {
    let mut first = std::collections::BTreeMap::new();
    let all =
        tree.sources().flat_map(|file| schema_names(&file.code()).into_iter().map(move |name| (name, file)));
    let again = |(name, file): (String, &File)| {
        let before = first.insert(name.clone(), file.path.clone())?;
        Some(format!(
            "{}: the schema `{name}` is also defined in {before}: give it another name, `schema(as = …)`",
            file.path
        ))
    };
    all.filter_map(again).collect()
}

fn schema_names(code: &str) -> Vec<String> {
    let name_after = |text: &str, word: &str| {
        let rest = &text[text.find(word)? + word.len()..];
        Some(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>())
    };
    let named = |(at, derived): (usize, &str)| {
        let rest = &code[at + derived.len()..];
        let item = rest.find("struct ").into_iter().chain(rest.find("enum ")).min()?;
        let attributes = &rest[..item];
        name_after(attributes, "schema(as = ")
            .or_else(|| name_after(&rest[item..], "struct ").filter(|_| rest[item..].starts_with("struct")))
            .or_else(|| name_after(&rest[item..], "enum "))
    };
    // A derivation, not an import.
    let derived = code.match_indices("ToSchema").filter(|(at, _)| code[at + 8..].starts_with([')', ',']));
    derived
        .filter(|(at, _)| {
            code[..*at].rsplit(['[', '{', ';']).next().is_some_and(|text| text.contains("derive("))
        })
        .filter_map(named)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rule = fn(&Tree) -> Vec<String>;

    #[track_caller]
    fn check(rule: Rule, path: &str, text: &str, broken: bool) {
        let files = vec![File { path: path.into(), text: text.into() }];
        let found = rule(&Tree { root: "/some/where/house".into(), files });
        assert_eq!(!found.is_empty(), broken, "{path}: {text}: {found:?}");
    }

    #[test]
    fn purity() {
        for text in [
            "use std::fs;",
            "use std::{fmt, fs::File};",
            "use std::{\n    fmt,\n    net,\n};",
            "std::process::exit(1)",
            "use std::time::Instant;",
            "async fn f() {}",
        ] {
            check(pure_crates_are_pure, "crates/judge/src/a.rs", text, true);
            check(pure_crates_are_pure, "crates/engine/src/a.rs", text, false);
            check(pure_crates_are_pure, "crates/sim/src/node.rs", text, true);
            check(pure_crates_are_pure, "crates/fleet/src/wire.rs", text, false);
        }
        for text in
            ["// std::fs\nuse std::{fmt, io};", "let s = \"std::fs\";", "use std::time::Duration; operand"]
        {
            check(pure_crates_are_pure, "crates/judge/src/a.rs", text, false);
        }
    }

    #[test]
    fn places() {
        check(unsafe_in_its_place, "crates/engine/src/a.rs", "unsafe { f() }", true);
        check(unsafe_in_its_place, "crates/sandbox/src/plan.rs", "unsafe fn f();", true);
        check(unsafe_in_its_place, "crates/sandbox/src/sys/a.rs", "unsafe { f() }", false);
        check(only_the_binary_prints, "crates/engine/src/a.rs", "eprintln!(\"x\")", true);
        check(only_the_binary_prints, "crates/cli/src/a.rs", "eprintln!(\"x\")", false);
        check(one_file_prints, "crates/cli/src/a.rs", "std::io::stdout()\n    .lock()", true);
        check(one_file_prints, "crates/cli/src/a.rs", "let to = dup(std::io::stderr())?;", false);
        check(one_file_prints, "crates/cli/src/terminal.rs", "io::stdout()", false);
        check(short_files, "crates/a/src/a.rs", &"\n".repeat(MOST_LINES), false);
        check(short_files, "crates/a/src/a.rs", &"\n".repeat(MOST_LINES + 1), true);
    }

    #[test]
    fn traces() {
        check(no_leftovers, "crates/a/src/a.rs", concat!("fn f() { to", "do!() }"), true);
        check(no_leftovers, "crates/a/src/a.rs", concat!("#[ign", "ore]\nfn f() {}"), true);
        check(no_leftovers, "crates/a/src/a.rs", concat!("// FIX", "ME later"), true);
        check(no_paths_of_this_machine, "docs/a.md", "see /some/where/house/b", true);
        check(no_paths_of_this_machine, "docs/a.md", "see /some/where/else", true);
        check(no_paths_of_this_machine, "docs/a.md", "see /usr/local/go", false);
        check(named_files_exist, "CHANGELOG.md", "", true);
    }

    #[test]
    fn pages() {
        check(measured_fields_are_documented, RUN_SNAPSHOT, "  \"cpu_ns\": 1,", true);
        check(measured_fields_are_documented, RUN_SNAPSHOT, "", true);
        check(links_lead_somewhere, "docs/a.md", "[b](b.md)", true);
        let two = "#[derive(Debug, ToSchema)]\nstruct A;\n#[derive(utoipa::ToSchema)]\npub(crate) enum A {}";
        check(schema_names_are_distinct, "crates/a/src/a.rs", two, true);
        let other = two.replace("pub(crate)", "#[schema(as = B)]\npub(crate)");
        check(schema_names_are_distinct, "crates/a/src/a.rs", &other, false);
        check(links_lead_somewhere, "docs/a.md", "[a](a.md#x) [b](../docs) [c](https://x.y/z)", false);
    }
}
