//! What files of a submission may be called: one rule for every way in, no wider than what the sandbox and compilers take.

pub use model::hint::escaped;
use std::collections::BTreeSet;
use std::fmt;

/// Most bytes of a name. Compilers append to it, and a file system takes 255 bytes between two slashes (NAME_MAX).
pub const LONGEST: usize = 249;
/// Most parts of a name, the file's own included: the sandbox walks no deeper.
pub const DEEPEST: usize = 32;

/// A name that files of a submission may not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct BadName {
    /// Which file has it, counted from 0.
    pub file: usize,
    /// What is wrong with it, with the rule.
    pub why: Why,
}

/// What is wrong with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is not plain.
    NotPlain(String),
    /// Another file has it.
    Twice(String),
    /// A part of it is another file.
    InFile(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |name: &str| name.chars().take(60).flat_map(char::escape_debug).collect::<String>();
        match self {
            Why::NotPlain(name) => write!(
                f,
                "`{}` is not a name of a file here: it must be relative, `/` between at most {DEEPEST} parts, without `.`, `..`, \
                 backslashes and control characters, at most {LONGEST} bytes",
                shown(name)
            ),
            Why::Twice(name) => write!(f, "two files are called `{}`", shown(name)),
            Why::InFile(name) => {
                write!(f, "`{}` is inside a file, as if that were a directory", shown(name))
            }
        }
    }
}

/// Whether files may have these names together.
///
/// # Errors
/// The first that must not be.
pub fn check<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<(), BadName> {
    let (mut files, mut in_order) = (BTreeSet::new(), Vec::new());
    for (file, name) in names.into_iter().enumerate() {
        if !is_plain(name) {
            return Err(BadName { file, why: Why::NotPlain(name.to_owned()) });
        }
        if !files.insert(name) {
            return Err(BadName { file, why: Why::Twice(name.to_owned()) });
        }
        in_order.push(name);
    }
    let inside = |name: &str| name.match_indices('/').any(|(at, _)| files.contains(&name[..at]));
    match in_order.iter().position(|name| inside(name)) {
        Some(file) => Err(BadName { file, why: Why::InFile(in_order[file].to_owned()) }),
        None => Ok(()),
    }
}

fn is_plain(name: &str) -> bool {
    let plain = |part: &str| !matches!(part, "" | "." | "..");
    name.len() <= LONGEST
        && !name.contains(|c: char| c == '\\' || c.is_control())
        && name.split('/').count() <= DEEPEST
        && name.split('/').all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_stay_where_they_belong() {
        let (long, deep) = ("x".repeat(249), "x/".repeat(31) + "x");
        for good in
            [&["a.c"][..], &["src/Main.java", "src/A.java"], &["..."], &["ä b.py"], &[&long], &[&deep]]
        {
            assert_eq!(check(good.iter().copied()), Ok(()), "{good:?}");
        }
        let (long, wide, deep) = ("x".repeat(250), "ä".repeat(125), "x/".repeat(32) + "x");
        for bad in [
            "",
            "/a",
            "a/",
            "a//b",
            ".",
            "..",
            "./a",
            "a/../b",
            "a/../../b",
            "a\0",
            "a\\b",
            "a\nb",
            "a\u{7f}",
            &long,
            &wide,
            &deep,
        ] {
            let refused = check(["main.py", bad]);
            assert_eq!(refused, Err(BadName { file: 1, why: Why::NotPlain(bad.to_owned()) }), "{bad}");
        }
        let why = |names: &[&str]| check(names.iter().copied()).map_err(|bad| (bad.file, bad.to_string()));
        assert_eq!(why(&["a", "b", "a"]), Err((2, "two files are called `a`".into())));
        let inside = "`a/b` is inside a file, as if that were a directory".to_string();
        assert_eq!(why(&["a", "a/b"]), Err((1, inside.clone())));
        assert_eq!(why(&["a/b", "a"]), Err((0, inside)));
        assert_eq!(why(&["a.py", "a/b"]), Ok(()));
    }
}
