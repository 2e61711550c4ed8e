//! Files a report is written to, whole or not at all; `-` is standard output.

use crate::terminal::{self, Failure, Stream};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// One form of a report, and where it goes.
struct Export {
    path: PathBuf,
    target: Target,
}

enum Target {
    Output,
    /// A device, a pipe, or a file in a directory where no other can be made.
    There(File),
    /// A file that is made beside it first, and renamed when it is whole.
    Beside,
}

/// The files a command was asked for. They are looked at before anything is measured, so that one that cannot be written costs
/// no hour, and left as they are until there is a report.
pub(crate) struct Exports<const N: usize>([Option<Export>; N]);

impl<const N: usize> Exports<N> {
    /// Each with the option that names it; `json`: a document goes to standard output.
    pub(crate) fn open(json: bool, asked: [(&str, Option<&PathBuf>); N]) -> Result<Exports<N>, Failure> {
        let mut opened: Vec<(&str, Export)> = Vec::new();
        for (option, path) in asked {
            let Some(path) = path else { continue };
            let export = open(path).map_err(|e| {
                Failure::usage(format!("{option} {}: cannot be written: {e}", path.display()))
            })?;
            if json && matches!(export.target, Target::Output) {
                return Err(Failure::usage(format!(
                    "{option} {} and --json: both go to standard output\n\
                     hint: name a file for {option}, or leave out --json",
                    path.display()
                )));
            }
            if let Some((other, _)) = opened.iter().find(|(_, other)| same(other, &export)) {
                return Err(Failure::usage(format!(
                    "{other} and {option}: both name {}\nhint: name two different files",
                    path.display()
                )));
            }
            opened.push((option, export));
        }
        let mut opened = opened.into_iter().peekable();
        Ok(Exports(
            asked.map(|(option, _)| opened.next_if(|(of, _)| *of == option).map(|(_, export)| export)),
        ))
    }

    /// Tells what is for people: on standard output, unless a file's text goes there.
    pub(crate) fn print(&self, text: &str) {
        let taken = self.0.iter().flatten().any(|export| matches!(export.target, Target::Output));
        terminal::output(if taken { Stream::Error } else { Stream::Output }, text.as_bytes());
    }

    /// Writes the forms that were asked for. What cannot be written makes the command fail in the end, and leaves no half of it.
    pub(crate) fn write(self, forms: [&dyn Fn() -> String; N]) {
        for (export, form) in self.0.into_iter().zip(forms) {
            let Some(Export { path, target }) = export else { continue };
            let text = form();
            let written = match target {
                Target::Output => {
                    terminal::output(Stream::Output, text.as_bytes());
                    continue;
                }
                Target::There(file) => rewrite(file, &text),
                Target::Beside => replace(&path, text.as_bytes()),
            };
            written.unwrap_or_else(|e| terminal::lose(path.display(), e));
        }
    }
}

fn open(path: &Path) -> io::Result<Export> {
    // Under these names lie descriptors that are open already; a new file beside them would be another.
    let held = ["/dev", "/proc"].iter().any(|top| path.starts_with(top));
    let facts = match fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        facts => Some(facts?),
    };
    let target = match facts {
        _ if path == Path::new("-") || path == Path::new("/dev/stdout") => Target::Output,
        Some(facts) if held || !facts.is_file() => Target::There(File::options().write(true).open(path)?),
        Some(_) => {
            let file = File::options().write(true).open(path)?;
            if beside(path).is_ok() { Target::Beside } else { Target::There(file) }
        }
        None => beside(path).map(|_| Target::Beside)?,
    };
    Ok(Export { path: path.to_path_buf(), target })
}

/// Whether they are one file.
fn same(a: &Export, b: &Export) -> bool {
    let place = |path: &Path| {
        let directory = fs::canonicalize(directory(path)).ok()?;
        Some(directory.join(path.file_name()?))
    };
    match (&a.target, &b.target) {
        (Target::Output, Target::Output) => true,
        (Target::Output, _) | (_, Target::Output) => false,
        _ => match (fs::metadata(&a.path), fs::metadata(&b.path)) {
            (Ok(a), Ok(b)) => a.is_file() && (a.dev(), a.ino()) == (b.dev(), b.ino()),
            _ => place(&a.path).is_some_and(|place_a| Some(place_a) == place(&b.path)),
        },
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file that vanishes unless it is renamed to this one.
fn beside(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    // The mode of any new file; the caller's umask holds.
    let mode = fs::Permissions::from_mode(0o666);
    tempfile::Builder::new().prefix(".tauto-").permissions(mode).tempfile_in(directory(path))
}

/// Puts a file in place of another, or where there is none, once it is whole.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // What a link points to is replaced, not the link.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let mut file = beside(&path)?;
    file.write_all(bytes)?;
    if let Ok(facts) = fs::metadata(&path) {
        // Only root can give a file away.
        let _ = fchown(&file, Some(facts.uid()), Some(facts.gid()));
        file.as_file().set_permissions(facts.permissions())?;
    }
    file.persist(path).map(drop).map_err(|e| e.error)
}

/// Puts a new file where there is none, once it is whole.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = beside(path)?;
    file.write_all(bytes)?;
    file.persist_noclobber(path).map(drop).map_err(|e| e.error)
}

fn rewrite(mut file: File, text: &str) -> io::Result<()> {
    // A device or pipe has no length to set.
    let empty = |file: &File| match file.metadata().is_ok_and(|facts| facts.is_file()) {
        true => file.set_len(0),
        false => Ok(()),
    };
    empty(&file)?;
    file.write_all(text.as_bytes()).inspect_err(|_| drop(empty(&file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_two(json: bool, csv: &Path, html: &Path) -> Result<Exports<2>, String> {
        let (csv, html) = (csv.to_path_buf(), html.to_path_buf());
        Exports::open(json, [("--csv", Some(&csv)), ("--html", Some(&html))]).map_err(|e| e.to_string())
    }

    #[test]
    fn a_report_is_written_whole_or_not_at_all() {
        let scratch = tempfile::tempdir().expect("a directory");
        let at = |name: &str| scratch.path().join(name);
        fs::write(at("old.csv"), "old\n").expect("a file");
        fs::set_permissions(at("old.csv"), fs::Permissions::from_mode(0o640)).expect("a mode");
        std::os::unix::fs::symlink("old.csv", at("link.csv")).expect("a link");
        let exports = open_two(true, &at("link.csv"), &at("new.html")).expect("two files");
        assert_eq!(fs::read_dir(scratch.path()).expect("a directory").count(), 2, "nothing is made before");
        exports.write([&|| "a,b\n".into(), &|| "<p>\n".into()]);
        assert_eq!(fs::read_to_string(at("old.csv")).expect("the file"), "a,b\n");
        assert_eq!(fs::metadata(at("old.csv")).expect("facts").mode() & 0o777, 0o640);
        assert!(at("link.csv").is_symlink(), "the link stays");
        assert_eq!(fs::read_to_string(at("new.html")).expect("the file"), "<p>\n");
        assert_eq!(fs::read_dir(scratch.path()).expect("a directory").count(), 3, "nothing else stays");
    }

    #[test]
    fn one_file_cannot_have_two_forms() {
        let scratch = tempfile::tempdir().expect("a directory");
        let at = |name: &str| scratch.path().join(name);
        let refused = |json, a: &Path, b: &Path| match open_two(json, a, b) {
            Err(why) => why,
            Ok(_) => panic!("{} and {} are opened", a.display(), b.display()),
        };
        assert!(refused(false, &at("x"), &at("x")).contains("--csv and --html"));
        assert!(refused(false, &at("x"), &scratch.path().join(".").join("x")).contains("--csv and --html"));
        fs::write(at("y"), "").expect("a file");
        fs::hard_link(at("y"), at("z")).expect("a link");
        assert!(refused(false, &at("y"), &at("z")).contains("two different files"));
        let dash = Path::new("-");
        assert!(refused(false, dash, Path::new("/dev/stdout")).contains("--csv and --html"));
        assert!(refused(true, dash, &at("x")).contains("--json"));
        assert!(refused(false, &at("none/x"), &at("x")).contains("--csv"));
        assert!(open_two(false, dash, &at("x")).is_ok() && open_two(true, &at("x"), &at("y")).is_ok());
    }
}
