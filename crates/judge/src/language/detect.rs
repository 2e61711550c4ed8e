//! Which language a program is written in.

use super::{Language, Table, extension, file_name};
use crate::nearest::did_you_mean;

/// Why no single language was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DetectError {
    /// The language asked for is not configured.
    #[error("unknown language `{name}`{suggestion}")]
    UnknownName {
        /// As asked for.
        name: String,
        /// A line `hint: did you mean …?`, or nothing.
        suggestion: String,
    },
    /// No file has an extension or a `#!` line that any language claims.
    #[error(
        "no file of a known language among {files}\nhint: name the language, or use a known extension: {extensions}"
    )]
    NothingKnown {
        /// The files' names.
        files: String,
        /// All known extensions.
        extensions: String,
    },
    /// Files of languages that do not go together.
    #[error("files of several languages ({claims})\nhint: name the language")]
    Conflict {
        /// Each claimed file with its language.
        claims: String,
    },
}

/// A file and who claims it.
struct Claim<'a> {
    file: &'a str,
    language: &'a Language,
    by_shebang: bool,
}

impl Table {
    /// The language with this id, else the first that answers to this package language code.
    pub fn named(&self, name: &str) -> Result<&Language, DetectError> {
        let languages = self.languages();
        self.get(name).or_else(|| languages.iter().find(|l| l.has_code(name))).ok_or_else(|| {
            let known = languages.iter().flat_map(|l| l.codes.iter().chain([&l.id])).map(String::as_str);
            DetectError::UnknownName { name: name.to_owned(), suggestion: did_you_mean(name, known) }
        })
    }

    /// The language of a program: what `hint` names (an id or a package language code), else what the files say.
    ///
    /// A file belongs to the language whose interpreter its `#!` line names, else to the first that claims its extension
    /// and, where it demands a text (`extension_markers`), finds it (legacy specification, section "Programs"); other files do not matter. If files belong to several languages, one
    /// that can compile them all is chosen (C++ takes C files along), preferring those named by a `#!` line.
    pub fn detect(&self, files: &[(&str, &[u8])], hint: Option<&str>) -> Result<&Language, DetectError> {
        if let Some(name) = hint {
            return self.named(name);
        }
        let claims: Vec<Claim<'_>> = files.iter().filter_map(|(name, head)| self.claim(name, head)).collect();
        let by_shebang = claims.iter().any(|c| c.by_shebang);
        let takes_all = |language: &Language| {
            claims.iter().all(|c| c.language.id == language.id || language.is_source(c.file))
        };
        let fit = self.languages().iter().find(|l| {
            claims.iter().any(|c| c.language.id == l.id && c.by_shebang == by_shebang) && takes_all(l)
        });
        fit.ok_or_else(|| self.undetected(files, &claims))
    }

    fn claim<'a>(&'a self, file: &'a str, head: &[u8]) -> Option<Claim<'a>> {
        let find = |wanted: &dyn Fn(&Language) -> bool| self.languages().iter().find(|l| wanted(l));
        let shebang = interpreter(head).and_then(|name| find(&|l| l.shebangs.contains(&name)));
        let language = shebang.or_else(|| {
            let extension = extension(file)?;
            let takes = |l: &Language| l.extensions.iter().any(|e| e == extension);
            // The text tells only between languages that share the extension.
            let shared = self.languages().iter().filter(|l| takes(l)).count() > 1;
            find(&|l| takes(l) && (!shared || l.marks_extension(head)))
        })?;
        Some(Claim { file, language, by_shebang: shebang.is_some() })
    }

    fn undetected(&self, files: &[(&str, &[u8])], claims: &[Claim<'_>]) -> DetectError {
        let joined =
            |parts: Vec<String>| if parts.is_empty() { "no files".to_owned() } else { parts.join(", ") };
        if claims.is_empty() {
            DetectError::NothingKnown {
                files: joined(files.iter().take(5).map(|(name, _)| format!("`{name}`")).collect()),
                extensions: self
                    .languages()
                    .iter()
                    .flat_map(|l| &l.extensions)
                    .map(|e| format!(".{e}"))
                    .collect::<Vec<_>>()
                    .join(" "),
            }
        } else {
            let claims =
                claims.iter().take(5).map(|c| format!("`{}` is {}", c.file, c.language.name)).collect();
            DetectError::Conflict { claims: joined(claims) }
        }
    }
}

impl Language {
    fn marks_extension(&self, content: &[u8]) -> bool {
        let holds = |marker: &String| content.windows(marker.len()).any(|part| part == marker.as_bytes());
        self.extension_markers.is_empty() || self.extension_markers.iter().any(holds)
    }
}

/// The interpreter's name in a `#!` line, through `env` too: `#!/usr/bin/env -S python3 -O` gives `python3`.
fn interpreter(head: &[u8]) -> Option<String> {
    let line = head.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace().map(file_name);
    match words.next()? {
        "env" => words.find(|w| !w.starts_with('-') && !w.contains('=')).map(str::to_owned),
        name => Some(name.to_owned()),
    }
}
