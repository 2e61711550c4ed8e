//! Patterns of `submissions.yaml` (2025-09, "Glob patterns"): `*` within a name and `{a,b}`; nothing else.

use globset::{GlobBuilder, GlobMatcher};

/// A pattern for paths below `submissions/` or `data/`.
#[derive(Clone, Debug)]
pub struct Glob(GlobMatcher);

/// A pattern that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a pattern of names, `*` and `{{a,b}}`: {why}")]
pub struct GlobError {
    pattern: String,
    why: String,
}

impl Glob {
    /// Longest pattern that is read, in bytes.
    const LENGTH_LIMIT: usize = 1_000;

    /// Reads a pattern. `?`, `[` and `]` stand for themselves and `**` is `*`, as the specification supports
    /// neither classes nor `**`. Blanks in braces do not count: no name of a package holds one.
    pub fn parse(pattern: &str) -> Result<Glob, GlobError> {
        let error = |why: String| GlobError { pattern: pattern.chars().take(60).collect(), why };
        if pattern.len() > Self::LENGTH_LIMIT {
            return Err(error("too long".to_string()));
        }
        let mut plain = String::new();
        let mut braces = 0_i32;
        for c in pattern.trim_matches('/').chars() {
            match c {
                '*' if plain.ends_with('*') => {}
                ' ' if braces > 0 => {}
                '{' | '}' => {
                    braces += if c == '{' { 1 } else { -1 };
                    plain.push(c);
                }
                '?' | '[' | ']' | '\\' => plain.extend(['\\', c]),
                _ => plain.push(c),
            }
        }
        GlobBuilder::new(&plain)
            .literal_separator(true)
            .backslash_escape(true)
            .empty_alternates(true)
            .build()
            .map(|glob| Glob(glob.compile_matcher()))
            .map_err(|e| error(e.kind().to_string()))
    }

    /// Whether it matches the path itself.
    pub fn is(&self, path: &str) -> bool {
        self.0.is_match(path)
    }

    /// Whether it matches the path or a directory around it.
    pub fn matches(&self, path: &str) -> bool {
        self.is(path) || path.match_indices('/').any(|(end, _)| self.0.is_match(&path[..end]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let table = [
            ("accepted", "accepted/a.py", true),
            ("accepted/", "accepted/a.py", true),
            ("accepted/*", "accepted/a.py", true),
            ("accepted/*", "accepted/dir/a.py", true),
            ("*", "accepted/a.py", true),
            ("*.py", "accepted/a.py", false),
            ("*/a.py", "accepted/a.py", true),
            ("**/a.py", "x/y/a.py", false),
            ("accepted/{a,b}.{py,cpp}", "accepted/b.cpp", true),
            ("accepted/{a,b}.{py,cpp}", "accepted/c.cpp", false),
            ("secret/*-easy", "secret/03-easy", true),
            ("secret/[ab]", "secret/a", false),
            ("secret/[ab]", "secret/[ab]", true),
            ("secret/?", "secret/1", false),
            ("{sample,secret}", "secret/g/1", true),
            ("secret/*{ 4, 5 }{ 2 }", "secret/42", true),
            ("secret/*{,1}2", "secret/42", true),
            ("accepte", "accepted/a.py", false),
        ];
        for (pattern, path, expected) in table {
            assert_eq!(Glob::parse(pattern).unwrap().matches(path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for pattern in ["{a", "a}", &"*".repeat(2_000)] {
            assert!(Glob::parse(pattern).is_err(), "{pattern}");
        }
    }
}
