//! Options for compilers from strangers: split into words, and held against what a language takes.
//!
//! What protects the host is the sandbox, in which every compiler runs. This rule keeps options from changing what a result
//! means: what is compiled and what comes of it, and which code the compiler itself executes.

use super::Language;

/// Why a text cannot be split into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WordsError {
    /// A quote that nothing closes.
    #[error("a quote ({0}) is not closed")]
    OpenQuote(char),
    /// A backslash at the very end.
    #[error("it ends with a backslash")]
    LastBackslash,
}

/// An option that a language does not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{language} does not take the compiler option `{option}`\nhint: it takes {taken}")]
pub struct OptionRefused {
    /// Name of the language.
    pub language: String,
    /// The option.
    pub option: String,
    /// What it takes, in words.
    pub taken: String,
}

/// Splits a text into words as a POSIX shell does (2.2 "Quoting", 2.3 "Token Recognition"), with quotes and backslashes, but
/// without expanding anything and without operators: every other character is part of a word.
pub fn words(text: &str) -> Result<Vec<String>, WordsError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' | '\n' | '\r' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next().ok_or(WordsError::OpenQuote('\''))? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => quoted(&mut rest, word.get_or_insert_default())?,
            '\\' => match rest.next().ok_or(WordsError::LastBackslash)? {
                '\n' => {}
                c => word.get_or_insert_default().push(c),
            },
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// The rest of a double-quoted part: a backslash quotes only what would mean something there.
fn quoted(rest: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), WordsError> {
    loop {
        match rest.next().ok_or(WordsError::OpenQuote('"'))? {
            '"' => return Ok(()),
            '\\' => match rest.next().ok_or(WordsError::OpenQuote('"'))? {
                '\n' => {}
                c @ ('"' | '\\' | '$' | '`') => word.push(c),
                c => word.extend(['\\', c]),
            },
            c => word.push(c),
        }
    }
}

impl Language {
    /// Whether it takes options for its compiler.
    pub fn takes_options(&self) -> bool {
        !self.options.is_empty()
            && self.compile.steps.iter().flatten().any(|argument| argument == "{options}")
    }

    /// Whether it takes all of these options. Of the patterns in [`Language::options`] that a word fits the longest decides; a
    /// word that fits none is refused, and so is one that begins with `@`, behind which compilers look for more options.
    pub fn check_options(&self, options: &[String]) -> Result<(), OptionRefused> {
        let refused = options.iter().find(|option| !self.takes_options() || !takes(&self.options, option));
        refused.map_or(Ok(()), |option| {
            Err(OptionRefused {
                language: self.name.clone(),
                option: option.clone(),
                taken: if self.takes_options() { self.options.join(" ") } else { "none".to_owned() },
            })
        })
    }
}

/// How well a word fits a pattern: by how many characters; exact ones fit better than those that end with `*`.
fn fit(pattern: &str, word: &str) -> Option<usize> {
    match pattern.strip_suffix('*') {
        Some(beginning) => word.starts_with(beginning).then_some(2 * beginning.len()),
        None => (word == pattern).then_some(2 * pattern.len() + 1),
    }
}

fn takes(patterns: &[String], word: &str) -> bool {
    let fits = patterns.iter().filter_map(|pattern| {
        let refused = pattern.strip_prefix('!');
        fit(refused.unwrap_or(pattern), word).map(|fit| (fit, refused.is_none()))
    });
    // Of two that fit equally well the one that refuses decides.
    let best = fits.max_by_key(|(fit, taken)| (*fit, !taken));
    !word.starts_with('@') && !word.contains('\0') && best.is_some_and(|(_, taken)| taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Table;
    use proptest::prelude::*;

    #[test]
    fn texts_are_split_as_a_shell_splits_them() {
        for (text, expected) in [
            ("", Ok(&[][..])),
            (" \t\n ", Ok(&[])),
            ("-O3  -Wall\n", Ok(&["-O3", "-Wall"])),
            ("-DA='a b' \"c  d\"e", Ok(&["-DA=a b", "c  de"])),
            ("'' \"\"", Ok(&["", ""])),
            (r#"a\ b \"c 'd\e' "f\g\"\\""#, Ok(&["a b", "\"c", r"d\e", r#"f\g"\"#])),
            ("a\\\nb", Ok(&["ab"])),
            (
                "$HOME `id` $(id) * ~ a;b | c > d & #e",
                Ok(&["$HOME", "`id`", "$(id)", "*", "~", "a;b", "|", "c", ">", "d", "&", "#e"]),
            ),
            ("'a", Err(WordsError::OpenQuote('\''))),
            ("\"a", Err(WordsError::OpenQuote('"'))),
            ("\"a\\", Err(WordsError::OpenQuote('"'))),
            ("a\\", Err(WordsError::LastBackslash)),
        ] {
            let expected = expected.map(|words| words.iter().map(|w| w.to_string()).collect::<Vec<_>>());
            assert_eq!(words(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn quoted_words_come_back(given in proptest::collection::vec(".*", 0..6)) {
            let quoted: Vec<String> = given.iter().map(|w| format!("'{}'", w.replace('\'', r"'\''"))).collect();
            prop_assert_eq!(words(&quoted.join(" ")), Ok(given));
        }
    }

    #[test]
    fn the_longest_pattern_decides() {
        let patterns = ["-f*", "!-fplugin*", "-fplugin-ok", "-w", "-C", "!-a*", "-a*"].map(String::from);
        for (word, taken) in [
            ("-fwrapv", true),
            ("-f", true),
            ("-fplugin=x", false),
            ("-fplugin-ok", true),
            ("-fplugin-okay", false),
            ("-w", true),
            ("-wrapper", false),
            ("-C", true),
            ("-ax", false),
            ("x.c", false),
            ("@x", false),
            ("-f\0", false),
            ("", false),
        ] {
            assert_eq!(takes(&patterns, word), taken, "{word}");
        }
        assert!(!takes(&["*".to_owned()], "@x"));
    }

    #[test]
    fn shipped_languages_take_what_is_usual_and_refuse_what_loads_code() {
        let table = Table::shipped();
        let check = |id: &str, text: &str| table.get(id).unwrap().check_options(&words(text).unwrap());
        for (id, text) in [
            (
                "cpp",
                "-O3 --std=c++17 -Wall -Wextra -Wno-unused -march=native -g -DX='a b' -UY -pthread -lm -funroll-loops",
            ),
            ("c", "-std=c99 -O0 -w -fsanitize=address -ansi -pedantic-errors -static"),
            ("cpp23", "-fconcepts -fno-exceptions"),
            ("java", "-Xlint:all -g -parameters"),
            ("rust", "-O -C debug-assertions -C opt-level=2 -Ctarget-cpu=native --cfg=x"),
            ("haskell", "-O2 -Wall -XBangPatterns"),
            ("pascal", "-O3 -Sd -dX"),
            ("csharp", "-unsafe -define:X -langversion:7"),
            ("ocaml", "-O3 -unsafe -g"),
            ("python3", ""),
        ] {
            assert_eq!(check(id, text), Ok(()), "{id}");
        }
        for (id, text) in [
            ("cpp", "-fplugin=./x.so"),
            ("cpp", "-fplugin-arg-x-y"),
            ("cpp", "-fpass-plugin=./x.so"),
            ("cpp", "-fmodule-mapper=|id"),
            ("cpp", "-fuse-ld=x"),
            ("cpp", "-wrapper id"),
            ("cpp", "-specs=x"),
            ("cpp", "-B."),
            ("cpp", "-Wl,-plugin,./x.so"),
            ("cpp", "-Wa,-x"),
            ("cpp", "-Xclang -load"),
            ("cpp", "-o x"),
            ("cpp", "-c"),
            ("cpp", "-x assembler"),
            ("cpp", "other.cc"),
            ("cpp", "@more"),
            ("java", "-J-Xmx9g"),
            ("java", "-processorpath x"),
            ("java", "-Xplugin:x"),
            ("rust", "-Clinker=./x"),
            ("rust", "-C linker=./x"),
            ("rust", "-Zcodegen-backend=x"),
            ("haskell", "-fplugin=X"),
            ("haskell", "-pgmF ./x"),
            ("pascal", "-FD."),
            ("ocaml", "-pp ./x"),
            ("python3", "-O"),
            ("bash", "-x"),
        ] {
            let refused = check(id, text).unwrap_err();
            assert!(refused.to_string().contains("does not take the compiler option"), "{refused}");
        }
        let java = check("java", "-x").unwrap_err().to_string();
        assert!(java.starts_with("Java does not take the compiler option `-x`\nhint: it takes -"), "{java}");
        assert!(check("lua", "-x").unwrap_err().to_string().ends_with("it takes none"));
    }
}
