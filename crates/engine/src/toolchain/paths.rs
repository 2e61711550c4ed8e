//! Paths below a given root directory, with symbolic links read as that root's.

use model::View;
use std::cmp::Ordering;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// As many symbolic links as the kernel follows (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// `.` and `..` taken away by their text alone.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => out.push(name),
            Component::ParentDir => {
                out.pop();
            }
            _ => {}
        }
    }
    out
}

fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// The first symbolic link on the way along `path`, and the path when that one link is followed.
fn follow_first(root: &Path, path: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut so_far = PathBuf::from("/");
    let mut parts = path.components().filter(|c| matches!(c, Component::Normal(_)));
    while let Some(part) = parts.next() {
        let link = so_far.join(part);
        if let Ok(target) = fs::read_link(below(root, &link)) {
            let rest: PathBuf = parts.collect();
            return Some((link, normal(&so_far.join(target).join(rest))));
        }
        so_far = link;
    }
    None
}

/// The path without any symbolic link; `None` when it does not exist or goes in a circle.
pub(super) fn resolve(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut path = normal(path);
    for _ in 0..MOST_LINKS {
        match follow_first(root, &path) {
            Some((_, followed)) => path = followed,
            None => return fs::symlink_metadata(below(root, &path)).is_ok().then_some(path),
        }
    }
    None
}

/// Whether the path ends at a regular file with an execute permission.
pub(super) fn is_executable(root: &Path, path: &Path) -> bool {
    resolve(root, path)
        .and_then(|real| fs::metadata(below(root, &real)).ok())
        .is_some_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// Existing paths that match a pattern in which `*` stands for any part of a name; sorted by name.
pub(super) fn expand_pattern(root: &Path, pattern: &Path) -> Vec<PathBuf> {
    let mut matches = vec![PathBuf::from("/")];
    for part in
        pattern.components().filter_map(|c| if let Component::Normal(n) = c { n.to_str() } else { None })
    {
        matches = match part.split_once('*') {
            None => matches.into_iter().map(|m| m.join(part)).collect(),
            Some((before, after)) => {
                let names = |m: &PathBuf| names_between(&below(root, m), before, after);
                matches.iter().flat_map(|m| names(m).into_iter().map(|n| m.join(n))).collect()
            }
        };
    }
    matches.retain(|m| resolve(root, m).is_some());
    matches.sort_unstable();
    matches
}

/// Names in a directory that begin and end so.
fn names_between(directory: &Path, before: &str, after: &str) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let fits = |name: &String| {
        name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
    };
    entries.filter_map(|e| e.file_name().into_string().ok()).filter(fits).collect()
}

/// Order of paths in which numbers count by value: `3.9` before `3.10`.
pub(super) fn version_order(a: &Path, b: &Path) -> Ordering {
    let key = |path: &Path| -> Vec<(u64, String)> {
        let text = path.to_string_lossy().into_owned();
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let word = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
            let digits = rest[word..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |i| word + i);
            let number = rest[word..digits].parse().unwrap_or(0);
            parts.push((0, rest[..word].to_owned()));
            parts.push((number, String::new()));
            rest = &rest[digits..];
        }
        parts
    };
    key(a).cmp(&key(b))
}

/// Whether a view shows this path (not asking whether links on the way lead out of it).
pub(super) fn shown(view: &View, path: &Path) -> bool {
    view.mounts.iter().any(|m| m.host == m.inside && path.starts_with(&m.inside))
}

/// A name for an executable that works in all views: `path` itself if every link on its way is visible, else the path
/// after as many links as needed. Its own name matters, since some tools do what they are called.
pub(super) fn visible(root: &Path, path: &Path, views: &[&View]) -> Option<PathBuf> {
    let shown = |path: &Path| views.iter().all(|view| shown(view, path));
    let mut start = normal(path);
    let mut at = start.clone();
    for _ in 0..MOST_LINKS {
        match follow_first(root, &at) {
            None => return shown(&at).then_some(start),
            Some((link, followed)) => {
                // /bin and its like are mounted where the host has a link: their files are the same ones.
                if !shown(&link)
                    && !views.iter().all(|v| v.mounts.iter().any(|m| link == Path::new(&m.inside)))
                {
                    start = followed.clone();
                }
                at = followed;
            }
        }
    }
    None
}
