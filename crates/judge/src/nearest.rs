//! Suggestions for mistyped names.

/// The known name nearest to `name`, when it is near enough to be what was meant: at most a third of the
/// letters differ, and at least one does not.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|k| (distance(name, k), k))
        .filter(|(d, k)| *d <= (k.chars().count().max(3) / 3))
        .min_by_key(|(d, _)| *d)
        .map(|(_, k)| k)
}

/// A line `hint: did you mean …?` for the end of a message, or nothing.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |k| format!("\nhint: did you mean `{k}`?"))
}

/// Levenshtein distance in characters; words too long to be names are far from everything.
fn distance(a: &str, b: &str) -> usize {
    if a.len() > 64 {
        return usize::MAX;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_what_is_near() {
        for (typed, expected) in [
            ("extension", Some("extensions")),
            ("compil", Some("compile")),
            ("rnu", None),
            ("xyzzy", None),
            ("ru", Some("run")),
        ] {
            assert_eq!(nearest(typed, ["extensions", "compile", "run"]), expected, "{typed}");
        }
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
