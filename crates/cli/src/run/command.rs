//! What the command names on the host, and how it is shown to the run.

use crate::terminal::Failure;
use model::{FileMount, RunSpec};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where programs are looked for inside.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
/// Parts of the host every run sees at the same place.
const SYSTEM: [&str; 6] = ["/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/lib32/"];
/// Programs whose first argument is the script they run.
const INTERPRETERS: [&str; 11] =
    ["bash", "dash", "lua", "node", "nodejs", "perl", "php", "pypy3", "python", "ruby", "sh"];

/// The environment of a run: the same for everybody, and what was asked for.
pub(crate) fn environment(asked: &[(String, String)]) -> Vec<(String, String)> {
    let usual = [("PATH".to_string(), PATH.to_string()), ("LANG".to_string(), "C.UTF-8".to_string())];
    usual.into_iter().chain(asked.iter().cloned()).collect()
}

/// Resolves the program. It, and the script an interpreter is given, are shown in /program when they lie outside the
/// system directories; nothing else that the arguments name is.
pub(crate) fn show(command: &[String], spec: &mut RunSpec, fds: &mut Vec<OwnedFd>) -> Result<(), Failure> {
    let program = find_program(&command[0])?;
    check_executable(&command[0], &program)?;
    let interpreter = program.file_name().is_some_and(|name| {
        let name = name.to_string_lossy();
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        INTERPRETERS.iter().any(|i| *i == stem || *i == name)
    });
    let script = command.iter().enumerate().skip(1).find(|(_, word)| !word.starts_with('-')).map(|(n, _)| n);
    for (n, word) in command.iter().enumerate() {
        let path = if n == 0 { program.clone() } else { PathBuf::from(word) };
        let named = n == 0 || (interpreter && script == Some(n) && path.is_file());
        let absolute = std::path::absolute(&path).map_err(Failure::usage)?;
        let word = match named {
            false => word.clone(),
            true if visible(&absolute, spec) => absolute.to_string_lossy().into_owned(),
            true => show_file(&absolute, spec, fds)?,
        };
        spec.argv.push(word);
    }
    Ok(())
}

/// Refuses a program that nobody may execute: the error of its run would name the place inside.
fn check_executable(name: &str, program: &Path) -> Result<(), Failure> {
    let mode = std::fs::metadata(program).map_err(|e| Failure::usage(format!("{name}: {e}")))?.mode();
    match mode & 0o111 {
        0 => Err(Failure::usage(format!("{name}: not executable")).hint(format!("chmod +x {name}"))),
        _ => Ok(()),
    }
}

fn show_file(path: &Path, spec: &mut RunSpec, fds: &mut Vec<OwnedFd>) -> Result<String, Failure> {
    let file = File::open(path).map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?;
    let name = path.file_name().map(|f| f.to_string_lossy().into_owned()).unwrap_or_default();
    // A program and a script of the same name lie apart.
    let at = if fds.is_empty() { format!("/program/{name}") } else { format!("/script/{name}") };
    spec.files.push(FileMount { fd: fds.len() as u8, at: at.clone() });
    fds.push(file.into());
    Ok(at)
}

fn visible(path: &Path, spec: &RunSpec) -> bool {
    let inside = |dir: &str| path.starts_with(dir);
    SYSTEM.iter().any(|dir| inside(dir))
        || spec.view.mounts.iter().any(|m| m.host == m.inside && inside(&m.host))
}

pub(crate) fn find_program(name: &str) -> Result<PathBuf, Failure> {
    if name.is_empty() {
        return Err(Failure::usage("the command is empty"));
    }
    if name.contains('/') {
        let path = PathBuf::from(name);
        return match std::fs::metadata(&path) {
            Err(e) => Err(Failure::usage(format!("{name}: {e}"))),
            Ok(m) if !m.is_file() => Err(Failure::usage(format!("{name}: not a file"))),
            Ok(_) => Ok(path),
        };
    }
    let callers = std::env::var("PATH").unwrap_or_default();
    let candidates = PATH.split(':').chain(callers.split(':')).filter(|d| !d.is_empty());
    candidates.map(|dir| Path::new(dir).join(name)).find(|p| p.is_file()).ok_or_else(|| {
        let failure = Failure::usage(format!("{name}: no such program in {PATH} or $PATH"));
        match Path::new(name).is_file() {
            true => failure.hint(format!("./{name} is the file of this name here")),
            false => failure,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_nobody_may_execute_is_named_as_it_was_given() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let name = file.path().display().to_string();
        let refused = check_executable(&name, file.path()).unwrap_err().to_string();
        assert_eq!(refused, format!("{name}: not executable\nhint: chmod +x {name}"));
        assert!(check_executable("true", Path::new("/bin/true")).is_ok());
    }
}
