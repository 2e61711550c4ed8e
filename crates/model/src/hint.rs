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
}
