//! What mends an error: the last line of its text, where that begins with `hint: `. Libraries write it so; what embeds an
//! error in a text of its own takes it apart or puts it on one line.

/// Between what failed and what mends it.
const MARK: &str = "\nhint: ";

/// What failed, and the hints. A text that passed through several hands can have several.
pub fn split(error: &str) -> (String, Vec<&str>) {
    let hints = error.split('\n').skip(1).filter_map(|line| line.strip_prefix("hint: ")).collect();
    let fact = error.split('\n').enumerate().filter(|(n, line)| *n == 0 || !line.starts_with("hint: "));
    (fact.map(|(_, line)| line).collect::<Vec<_>>().join("\n"), hints)
}

/// The error with more said of what failed: before its hint.
pub fn with_detail(error: &str, detail: &str) -> String {
    match error.split_once(MARK) {
        Some((fact, hint)) => format!("{fact}{detail}{MARK}{hint}"),
        None => format!("{error}{detail}"),
    }
}

/// A name or a value from elsewhere as part of an error. Control characters are escaped, so that it cannot end the line and
/// begin a hint.
pub fn escaped(text: &str) -> String {
    text.chars()
        .flat_map(|c| match c.is_control() {
            true => c.escape_default().collect::<Vec<_>>(),
            false => vec![c],
        })
        .collect()
}

/// The error with control characters escaped, except for the line end before its last hint.
pub fn tamed(error: &str) -> String {
    match error.rsplit_once(MARK) {
        Some((fact, hint)) => format!("{}{MARK}{}", escaped(fact), escaped(hint)),
        None => escaped(error),
    }
}

/// Text from elsewhere in which no line is a hint: a line that begins like one gets a space before it.
pub fn disarmed(text: String) -> String {
    if text.contains(MARK) { text.replace(MARK, "\n hint: ") } else { text }
}

/// The error on one line, for sentences, cells and logs.
pub fn in_one_line(error: &str) -> String {
    error.replace(MARK, "; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_stays_the_last_line() {
        let error = "a.txt: is locked\nhint: stop the other one";
        assert_eq!(split(error), ("a.txt: is locked".into(), vec!["stop the other one"]));
        assert_eq!(split("two\nlines\nhint: a\nhint: b"), ("two\nlines".into(), vec!["a", "b"]));
        assert_eq!(split("hint: no fact"), ("hint: no fact".into(), vec![]));
        assert_eq!(with_detail(error, ", left out"), "a.txt: is locked, left out\nhint: stop the other one");
        assert_eq!(with_detail("a", ", b"), "a, b");
        assert_eq!(in_one_line(error), "a.txt: is locked; stop the other one");
        assert_eq!(in_one_line("a\nb"), "a\nb");
    }

    #[test]
    fn no_text_from_elsewhere_becomes_a_hint() {
        let name = "x\nhint: run it\u{1b}";
        assert_eq!(escaped(name), r"x\nhint: run it\u{1b}");
        assert_eq!(
            tamed(&format!("{name}: no\nhint: rename it")),
            "x\\nhint: run it\\u{1b}: no\nhint: rename it"
        );
        assert_eq!(
            tamed(&disarmed(format!("`{name}` is no number"))),
            r"`x\n hint: run it\u{1b}` is no number"
        );
        assert_eq!(disarmed("a\nb hint: c".into()), "a\nb hint: c");
    }
}
