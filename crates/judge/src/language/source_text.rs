//! Source text of Java and Kotlin, read just far enough to find where a program begins.

/// A word of source text; comments, spaces and numbers are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// An identifier or keyword.
    Word(&'a str),
    /// What stands between quotes, unescaped.
    Text(&'a str),
    /// Any other character.
    Sign(char),
}

/// The tokens of a source file. Both languages share comments and quotes closely enough for one reader.
pub(super) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let (token, length) = match c {
            _ if rest.starts_with("//") => (None, rest.find('\n').unwrap_or(rest.len())),
            _ if rest.starts_with("/*") => (None, rest[2..].find("*/").map_or(rest.len(), |i| i + 4)),
            _ if rest.starts_with("\"\"\"") => {
                let end = rest[3..].find("\"\"\"").map_or(rest.len(), |i| i + 3);
                (Some(Token::Text(&rest[3..end])), (end + 3).min(rest.len()))
            }
            '"' | '\'' => {
                let end = quoted(rest, c);
                (Some(Token::Text(&rest[1..end])), (end + 1).min(rest.len()))
            }
            _ if is_word(c) => {
                let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                ((!c.is_ascii_digit()).then_some(Token::Word(&rest[..end])), end)
            }
            _ => ((!c.is_whitespace()).then_some(Token::Sign(c)), c.len_utf8()),
        };
        tokens.extend(token);
        rest = &rest[length..];
    }
    tokens
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Where the quote that opens `text` closes: at its like, at the end of the line, or at the end.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return i,
            _ if c == quote => return i,
            _ => {}
        }
    }
    text.len()
}

/// A class that can be started, as found in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Class {
    /// Name with its package.
    pub(super) full: String,
    /// Name alone.
    pub(super) simple: String,
    /// Declared `public` (Java).
    pub(super) public: bool,
    /// How well it can be started: 2 has a `static main` (or Kotlin's `main`), 1 a `main` that is not static, 0 none.
    pub(super) main: u8,
}

/// Top-level types of a Java file, in order.
pub(super) fn java_classes(source: &str) -> Vec<Class> {
    let tokens = tokens(source);
    let package = package(&tokens);
    let mut classes: Vec<Class> = Vec::new();
    let mut depth = 0u32;
    let mut modifiers: Vec<&str> = Vec::new();
    let mut inside = false;
    for (i, token) in tokens.iter().enumerate() {
        match *token {
            Token::Sign('{') => depth += 1,
            Token::Sign('}') => {
                depth = depth.saturating_sub(1);
                inside &= depth > 0;
            }
            Token::Word(word @ ("class" | "interface" | "enum" | "record")) if depth == 0 => {
                if let Some(Token::Word(name)) = tokens.get(i + 1) {
                    let full = qualified(&package, name);
                    let public = modifiers.contains(&"public");
                    classes.push(Class { full, simple: (*name).to_owned(), public, main: 0 });
                    inside = true;
                }
                modifiers.push(word);
            }
            Token::Word("main") if depth == 1 && inside && tokens.get(i + 1) == Some(&Token::Sign('(')) => {
                if let (Some(class), true) = (classes.last_mut(), modifiers.last() == Some(&"void")) {
                    class.main = class.main.max(if modifiers.contains(&"static") { 2 } else { 1 });
                }
            }
            Token::Word(word) => modifiers.push(word),
            _ => {}
        }
        if matches!(token, Token::Sign('{' | '}' | ';')) {
            modifiers.clear();
        }
    }
    classes
}

/// Classes of a Kotlin file that can be started, in order. `stem` is the file's name without extension: top-level
/// functions belong to the class `StemKt`, unless `@file:JvmName` says otherwise.
pub(super) fn kotlin_classes(source: &str, stem: &str) -> Vec<Class> {
    let tokens = tokens(source);
    let package = package(&tokens);
    let start = |simple: String| Class { full: qualified(&package, &simple), simple, public: true, main: 2 };
    let mut classes = Vec::new();
    let mut depth = 0u32;
    let mut outer = "";
    let mut jvm_static = false;
    for (i, token) in tokens.iter().enumerate() {
        let next = tokens.get(i + 1);
        match *token {
            Token::Sign('{') => depth += 1,
            Token::Sign('}') => depth = depth.saturating_sub(1),
            Token::Word("class" | "object") if depth == 0 => {
                if let Some(Token::Word(name)) = next {
                    outer = name;
                }
            }
            Token::Word("JvmStatic") => jvm_static = true,
            Token::Word("fun") => {
                let main = next == Some(&Token::Word("main")) && tokens.get(i + 2) == Some(&Token::Sign('('));
                match (main, depth) {
                    (true, 0) => classes.push(start(jvm_name(&tokens).unwrap_or_else(|| facade(stem)))),
                    (true, _) if jvm_static && !outer.is_empty() => classes.push(start(outer.to_owned())),
                    _ => {}
                }
                jvm_static = false;
            }
            _ => {}
        }
    }
    classes
}

/// The class that holds a Kotlin file's top-level functions: the stem as an identifier, first letter upper case, and `Kt`.
fn facade(stem: &str) -> String {
    let mut name: String = stem.chars().map(|c| if is_word(c) { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    let mut letters = name.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}Kt", letters.as_str())
}

/// The name in `@file:JvmName("…")`.
fn jvm_name(tokens: &[Token<'_>]) -> Option<String> {
    let at = tokens
        .windows(3)
        .position(|w| w == [Token::Word("file"), Token::Sign(':'), Token::Word("JvmName")])?;
    match tokens.get(at + 4) {
        Some(Token::Text(name)) => Some((*name).to_owned()),
        _ => None,
    }
}

/// The package a file declares, or nothing.
fn package(tokens: &[Token<'_>]) -> String {
    let Some(at) = tokens.iter().position(|t| *t == Token::Word("package")) else { return String::new() };
    let mut name = String::new();
    let mut dot = true;
    for token in &tokens[at + 1..] {
        match token {
            Token::Word(word) if dot => name.push_str(word),
            Token::Sign('.') if !dot => name.push('.'),
            _ => break,
        }
        dot = !dot;
    }
    name
}

fn qualified(package: &str, name: &str) -> String {
    if package.is_empty() { name.to_owned() } else { format!("{package}.{name}") }
}
