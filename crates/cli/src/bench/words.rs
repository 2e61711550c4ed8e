//! Commands that are typed as one argument.

/// The words of a command, split as a POSIX shell does (Shell Command Language, 2.2): at blanks, but not within quotes.
/// Nothing is expanded; what only a shell can do stays as it is typed.
pub(crate) fn split(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next().ok_or("a single quote is not closed")? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next().ok_or("a double quote is not closed")? {
                        '"' => break,
                        '\\' => match rest.next().ok_or("a double quote is not closed")? {
                            c @ ('"' | '\\' | '$' | '`') => word.push(c),
                            c => word.extend(['\\', c]),
                        },
                        c => word.push(c),
                    }
                }
            }
            '\\' => {
                word.get_or_insert_default().push(rest.next().ok_or("nothing follows the last backslash")?)
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// The same words as one line, quoted where they must be.
pub(crate) fn join(words: &[String]) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%^{}".contains(c);
    let quoted = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let words = split(text).expect(text);
        assert_eq!(words, expected, "{text}");
        assert_eq!(split(&join(&words)).expect(text), expected, "joined: {text}");
    }

    #[test]
    fn words_as_a_shell_splits_them() {
        check("  ./a  1 ", &["./a", "1"]);
        check(r#"sh -c 'a "b" $c' "d'\"\\\e" f\ g """#, &["sh", "-c", "a \"b\" $c", "d'\"\\\\e", "f g", ""]);
        check("a'b'\"c\"d ä|x", &["abcd", "ä|x"]);
        check("", &[]);
        for (bad, why) in [("a 'b", "single"), ("a \"b", "double"), ("\"\\", "double"), ("a\\", "backslash")]
        {
            assert!(split(bad).expect_err(bad).contains(why), "{bad}");
        }
        assert_eq!(
            join(&["./a".into(), "n=1".into(), "x y".into(), "it's".into()]),
            r"./a n=1 'x y' 'it'\''s'"
        );
    }
}
