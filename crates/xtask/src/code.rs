//! Just enough of Rust's grammar to tell code from text.

/// The source without comments and without the insides of string and character literals; lines stay lines.
pub(crate) fn without_text(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = text_length(rest, code.chars().next_back());
        if length > 0 {
            code.push(' ');
            code.extend(rest[..length].matches('\n'));
            rest = &rest[length..];
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    code
}

/// What stands in string literals, each with the line it begins in. Escapes stay as they are.
pub(crate) fn literals(source: &str) -> Vec<(usize, String)> {
    let mut literals = Vec::new();
    let (mut rest, mut line, mut before) = (source, 1, None);
    while let Some(first) = rest.chars().next() {
        let length = text_length(rest, before);
        let (part, next) = rest.split_at(if length > 0 { length } else { first.len_utf8() });
        if length > 0 && (first == '"' || first == 'r') {
            let inside = part.trim_start_matches('r').trim_matches('#');
            literals.push((line, inside.trim_matches('"').to_string()));
        }
        before = if length > 0 { None } else { Some(first) };
        line += part.matches('\n').count();
        rest = next;
    }
    literals
}

/// Bytes of the comment or literal the source begins with; 0 where it begins with code.
fn text_length(source: &str, before: Option<char>) -> usize {
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if source.starts_with("//") {
        source.find('\n').unwrap_or(source.len())
    } else if source.starts_with("/*") {
        source.find("*/").map_or(source.len(), |end| end + 2)
    } else if source.starts_with('"') {
        quoted(source, '"')
    } else if source.starts_with('\'') {
        character(source)
    } else if !in_word && source.starts_with('r') {
        raw(source)
    } else {
        0
    }
}

fn quoted(source: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in source.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    source.len()
}

/// A character literal, as against a lifetime.
fn character(source: &str) -> usize {
    let mut chars = source.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), _) | (Some(_), Some('\'')) => quoted(source, '\''),
        _ => 0,
    }
}

fn raw(source: &str) -> usize {
    let hashes = source[1..].chars().take_while(|c| *c == '#').count();
    let opening = 1 + hashes;
    if !source[opening..].starts_with('"') {
        return 0;
    }
    let closing = format!("\"{}", "#".repeat(hashes));
    let body = &source[opening + 1..];
    opening + 1 + body.find(&closing).map_or(body.len(), |end| end + closing.len())
}

/// Whether a word occurs in code, bounded by what is no part of a word.
pub(crate) fn has_word(code: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        !code[..at].chars().next_back().is_some_and(part)
            && !code[at + word.len()..].chars().next().is_some_and(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_no_code() {
        for (source, code) in [
            ("a // unsafe\nb", "a  \nb"),
            ("a /* x\ny */ b", "a  \n b"),
            (r#"f("un\"safe", b"x")"#, "f( , b )"),
            ("r#\"a \"quote\" b\"# + r\"c\"", "  +  "),
            ("'\"' x '\\'' <'a>", "  x   <'a>"),
            ("over\"x\"", "over "),
        ] {
            assert_eq!(without_text(source), code, "{source}");
        }
    }

    #[test]
    fn text_of_literals() {
        let source = "f('\"', \"one\"); // \"no\"\ng(r#\"two \"2\" \"#, over\"three\\n\")";
        let expected = [(1, "one".to_string()), (2, "two \"2\" ".to_string()), (2, "three\\n".to_string())];
        assert_eq!(literals(source), expected);
    }

    #[test]
    fn words_have_bounds() {
        assert!(has_word("x = unsafe { }", "unsafe") && has_word("unsafe", "unsafe"));
        assert!(!has_word("forbid(unsafe_code) unsafely", "unsafe"));
    }
}
