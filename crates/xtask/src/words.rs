//! Words of user-facing texts: manual pages (which are the help), messages in the sources, pages, documents. Each rule
//! refuses what one reading of docs/style.md refuses, and nothing that needs judgement.

use crate::code;
use crate::markdown::{self, Block};
use crate::tree::{File, Tree};
use std::io;

/// Words that newcomers stumbled on or nobody searches for, each with the term to write (docs/glossary.md).
const REFUSED: [(&str, &str); 39] = [
    ("wander", "vary"),
    ("wanders", "varies"),
    ("stray", "vary, outlier"),
    ("strays", "varies, outlier"),
    ("strayed", "varied"),
    ("straying", "varying"),
    ("void", "discarded"),
    ("voided", "discarded"),
    ("armour", "measurement conditions"),
    ("anew", "again, restart from scratch"),
    ("gone on with", "resumed"),
    ("go on with", "resume"),
    ("again and again", "repeatedly, N times"),
    ("so many", "N, a number of"),
    ("everybody", "everyone, or who it is"),
    ("hand in", "submit"),
    ("hands in", "submits, reports"),
    ("handed in", "submitted, reported"),
    ("handing in", "submitting, reporting"),
    ("look whether", "check"),
    ("looks whether", "checks"),
    ("whose word is taken", "trusted"),
    ("is at anything", "runs a job"),
    ("as promised", "as expected"),
    ("promise", "expected verdict, guarantee"),
    ("promises", "expects, guarantees"),
    ("promised", "expected"),
    ("first to go", "killed first"),
    ("passed its memory limit", "exceeded its memory limit"),
    ("passed its limit", "exceeded its limit"),
    ("color", "colour"),
    ("behavior", "behaviour"),
    ("center", "centre"),
    ("favor", "favour"),
    ("analyze", "analyse"),
    ("normalize", "normalise"),
    ("randomized", "randomised"),
    ("synchronized", "synchronised"),
    ("canceled", "cancelled"),
];

/// What begins a remedy behind a semicolon.
const REMEDIES: [&str; 24] = [
    "add", "ask", "check", "choose", "create", "drain", "drop", "give", "install", "leave", "make", "name",
    "put", "raise", "remove", "rename", "run", "see", "set", "start", "try", "upgrade", "use", "write",
];

/// Words a sentence of a document may have (docs/style.md).
const MOST_WORDS: usize = 25;

/// Columns of a line of running text in documents.
const COLUMNS: usize = 100;

/// Texts for users have words that users know, in British spelling.
pub fn texts_use_known_words(tree: &Tree) -> Vec<String> {
    let told = |(place, text): (String, String)| {
        let text = text.to_lowercase();
        let found: Vec<_> = REFUSED.iter().filter(|(word, _)| has_words(&text, word)).collect();
        found.into_iter().map(|(word, term)| format!("{place}: `{word}`; write {term}")).collect::<Vec<_>>()
    };
    tree.files.iter().flat_map(texts).flat_map(told).collect()
}

/// What mends an error stands on its line `hint: `. Errors begin small and end without a dot, other than sentences; what
/// the crate `report` writes is no error.
pub fn remedies_are_hints(tree: &Tree) -> Vec<String> {
    let is_error = |text: &str| !text.starts_with(char::is_uppercase) && !text.ends_with(['.', '!']);
    let told = |file: &File| {
        let errors = literals(file).into_iter().filter(|(_, text)| is_error(text) && !text.ends_with("\\n"));
        let hidden = errors.filter_map(|(line, text)| {
            // Without line ends that are escaped.
            let text: String = text.split("\\\n").map(str::trim_start).collect();
            let fact = text.split("\\nhint: ").next().unwrap_or_default();
            let verb = REMEDIES.iter().find(|verb| fact.contains(&format!("; {verb} ")))?;
            Some((line, *verb))
        });
        let told = |(line, verb)| format!("{}:{line}: `; {verb} …`; write `\\nhint: {verb} …`", file.path);
        hidden.map(told).collect::<Vec<_>>()
    };
    let speaks = |file: &&File| speaks(file) && file.crate_name() != "report";
    tree.files.iter().filter(speaks).flat_map(told).collect()
}

/// Sentences of documents can be read at once.
pub fn sentences_are_short(tree: &Tree) -> Vec<String> {
    let long = |file: &File| {
        let paragraphs = markdown::blocks(&file.text).into_iter().filter_map(Block::prose);
        let long = paragraphs.flat_map(|(line, text)| {
            let bare = markdown::bare(&text);
            let long = markdown::sentences(&bare).into_iter().filter(|words| words.len() > MOST_WORDS);
            long.map(|words| (line, words.len(), words[..6].join(" "))).collect::<Vec<_>>()
        });
        let told = |(line, count, begin)| {
            format!("{}:{line}: a sentence of {count} words, at most {MOST_WORDS}: {begin} …", file.path)
        };
        long.map(told).collect::<Vec<_>>()
    };
    documents(tree).filter(|file| file.path != "CHANGELOG.md").flat_map(long).collect()
}

/// Running text of documents is wrapped, so that changes of it can be read. `scripts/xtask wrap` does that.
pub fn documents_are_wrapped(tree: &Tree) -> Vec<String> {
    let stale = documents(tree).filter(|file| markdown::wrapped(&file.text, COLUMNS) != file.text);
    let told = |file: &File| {
        format!("{}: running text beyond {COLUMNS} columns; run `scripts/xtask wrap`", file.path)
    };
    stale.map(told).collect()
}

/// Wraps the documents below the repository's root.
///
/// # Errors
/// A document cannot be written.
pub fn wrap(tree: &Tree) -> io::Result<()> {
    documents(tree).try_for_each(|file| {
        std::fs::write(tree.root.join(&file.path), markdown::wrapped(&file.text, COLUMNS))
    })
}

/// A help text of one sentence has no dot at its end.
pub fn one_line_help_has_no_dot(tree: &Tree) -> Vec<String> {
    let pages = tree.files.iter().filter(|file| file.path.starts_with("docs/man/"));
    let broken = |file: &File| {
        let options = file.text.split(".SH \"EXIT STATUS\"").next().unwrap_or_default();
        let help = options.lines().filter(|line| !line.starts_with('.') && !line.starts_with('\\'));
        help.filter(|line| line.ends_with('.') && !line.trim_end_matches('.').contains(". "))
            .map(|line| format!("{}: a dot after one sentence: {line}", file.path))
            .collect::<Vec<_>>()
    };
    pages.flat_map(broken).collect()
}

/// Pages that people read on the repository's site and in the book.
fn documents(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.files.iter().filter(|file| {
        let depth = file.path.matches('/').count();
        file.path.ends_with(".md") && (depth == 0 || file.path.starts_with("docs/"))
    })
}

/// The texts of a file that users see, each with its place.
fn texts(file: &File) -> Vec<(String, String)> {
    let path = &file.path;
    let each = |of: Vec<(usize, String)>| {
        of.into_iter().map(|(line, text)| (format!("{path}:{line}"), text)).collect::<Vec<_>>()
    };
    let lines = |bare: fn(&str) -> String| {
        each(file.text.lines().enumerate().map(|(n, line)| (n + 1, bare(line))).collect())
    };
    if path.starts_with("docs/man/") {
        lines(str::to_string)
    } else if path == "docs/openapi.json" {
        let told = |line: &str| ["\"description\": ", "\"summary\": "].iter().any(|key| line.contains(key));
        let lines = file.text.lines().enumerate().filter(|(_, line)| told(line));
        each(lines.map(|(n, line)| (n + 1, markdown::bare(line))).collect())
    } else if documents_path(path) {
        let parts = markdown::numbered(&file.text);
        each(parts.into_iter().map(|(line, text)| (line, markdown::bare(&text))).collect())
    } else if path.starts_with("crates/server/templates/") {
        lines(without_marks)
    } else if speaks(file) {
        // What is no sentence is a name: of a field, an element, a keyword.
        let sentences = literals(file).into_iter().filter(|(_, text)| text.contains(' '));
        each(sentences.map(|(line, text)| (line, without_marks(&text))).collect())
    } else {
        Vec::new()
    }
}

/// Whether texts of a source file reach users.
fn speaks(file: &File) -> bool {
    let path = &file.path;
    let is_test = path.contains("/tests") || path.contains("_tests") || path.ends_with("tests.rs");
    let of_the_house = ["xtask", "e2e", "sim"].contains(&file.crate_name());
    path.ends_with(".rs") && path.starts_with("crates/") && !is_test && !of_the_house
}

/// What stands in string literals of a source file, without its tests.
fn literals(file: &File) -> Vec<(usize, String)> {
    code::literals(file.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default())
}

fn documents_path(path: &str) -> bool {
    path.ends_with(".md") && (!path.contains('/') || path.starts_with("docs/")) && path != "docs/style.md"
}

/// Text without what it is filled with (`{…}`), and without classes of elements.
fn without_marks(text: &str) -> String {
    let text = text.replace("\\\"", "\"").replace("\\n", " ");
    let text = cut(&text, "class=\"", '"');
    cut(&text, "{", '}')
}

/// The text without the parts from an opening to the next closing.
fn cut(text: &str, opening: &str, closing: char) -> String {
    let mut parts = text.split(opening);
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |kept, part| kept + " " + part.split_once(closing).map_or("", |(_, rest)| rest))
}

/// Whether words occur, bounded by what is no part of a word, a name or a path.
fn has_words(text: &str, words: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || "_-/".contains(c);
    text.match_indices(words).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + words.len()..].chars().next();
        !before.is_some_and(|c| part(c) || c == '.') && !after.is_some_and(|c| part(c) || c == '(')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: fn(&Tree) -> Vec<String>, path: &str, text: &str, broken: bool) {
        let files = vec![File { path: path.into(), text: text.into() }];
        let found = rule(&Tree { root: "/r".into(), files });
        assert_eq!(!found.is_empty(), broken, "{path}: {text}: {found:?}");
    }

    #[test]
    fn words_are_found_where_users_read_them() {
        for (path, text) in [
            ("docs/man/tauto-a.1", "how far times wander"),
            ("docs/a.md", "A run is void."),
            ("docs/a.md", "```console\n3 void\n```"),
            ("docs/openapi.json", "  \"description\": \"Not void.\""),
            ("README.md", "Begin\nanew"),
            ("crates/cli/src/a.rs", "fn f() { g(\"{n} runs are void\") }"),
            ("crates/report/src/a.rs", "let a = r#\"a void run\"#;"),
            ("crates/server/templates/a.html", "<th class=\"void\">No node is at anything</th>"),
        ] {
            check(texts_use_known_words, path, text, true);
        }
    }

    #[test]
    fn names_are_no_words() {
        for (path, text) in [
            ("docs/a.md", "`void` and `static void main`, `void_runs`; avoid; tauto-void-runs"),
            ("docs/a.md", "    {\"void\": 3, \"armour\": {}}"),
            ("docs/openapi.json", "  \"void\": {\n  \"enum\": [\"void\"]"),
            (
                "crates/cli/src/a.rs",
                "// void\nconst A: &str = \"void\"; let b = \"{void} runs\"; let void = \"--void: red\";",
            ),
            ("crates/cli/src/a.rs", "#[cfg(test)]\nmod tests { const A: &str = \"a void run\"; }"),
            ("crates/server/templates/a.html", "<td class=\"void small\">{{ test.void }} {% if void %}</td>"),
        ] {
            check(texts_use_known_words, path, text, false);
        }
    }

    #[test]
    fn a_remedy_in_the_fact_is_found() {
        for (text, broken) in [
            (r#"e("{path}: is locked; wait for it; use another")"#, true),
            ("e(\"{path}: is locked; \\\n    use another\")", true),
            (r#"e("{path}: is locked\nhint: wait; use another")"#, false),
            ("e(\"{path}: is locked\\n\\\n    hint: wait; use another\")", false),
            (r#"p("3 files; see tauto verify\n")"#, false),
            (r#"p("The service is away; try again.")"#, false),
            (r#"f("cpu: 3; used by others")"#, false),
            (r#"f("see {}; {user}")"#, false),
        ] {
            check(remedies_are_hints, "crates/cli/src/a.rs", text, broken);
            check(remedies_are_hints, "crates/report/src/a.rs", text, false);
            check(remedies_are_hints, "crates/cli/src/a_tests.rs", text, false);
        }
    }

    #[test]
    fn long_sentences_and_dots() {
        let long = "word ".repeat(MOST_WORDS + 1);
        check(sentences_are_short, "docs/a.md", &format!("{long}."), true);
        check(sentences_are_short, "docs/a.md", &format!("{}; {long}.", "word"), true);
        check(
            sentences_are_short,
            "docs/a.md",
            &format!("{}. {}.", "word ".repeat(MOST_WORDS - 1), "word ".repeat(MOST_WORDS - 1)),
            false,
        );
        check(sentences_are_short, "docs/a.md", &format!("`{long}` (also: {long})"), false);
        check(sentences_are_short, "docs/a.md", &format!("    {long}\n\n| {long} |\n"), false);
        check(one_line_help_has_no_dot, "docs/man/a.1", ".TP\nPrint help.\n", true);
        check(one_line_help_has_no_dot, "docs/man/a.1", ".TP\nPrint help\nSay this. Say that.\n", false);
    }
}
