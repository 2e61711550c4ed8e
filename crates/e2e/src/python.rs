//! Python environments of the tests' own, below the target directory, for clients that others wrote.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Told of what a command said that failed.
const LINES: usize = 40;

/// A virtual environment with these packages from the package index, made once. `packages` are lines of a requirements file.
///
/// # Errors
/// There is no Python with `venv`, or a package cannot be had.
pub fn environment(directory: &Path, name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let place = directory.join("python").join(name);
    fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    // Of two tests that come at one time one makes it.
    let lock = File::create(place.join("lock")).and_then(|file| file.lock().map(|()| file));
    let _lock = lock.map_err(|error| format!("{}: {error}", place.display()))?;
    let (python, wanted, made) = (place.join("venv/bin/python"), packages.join("\n"), place.join("made"));
    if fs::read_to_string(&made).is_ok_and(|made| made == wanted) {
        return Ok(python);
    }
    let file = place.join("requirements.txt");
    fs::write(&file, &wanted).map_err(|error| format!("{}: {error}", file.display()))?;
    run(crate::child::command("python3").args(["-m", "venv", "--clear"]).arg(place.join("venv")))?;
    // Python compiles the few modules that it loads; pip would compile all.
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"];
    run(crate::child::command(&python).args(install).arg("--requirement").arg(&file))?;
    fs::write(&made, &wanted).map_err(|error| format!("{}: {error}", made.display()))?;
    Ok(python)
}

/// The source distribution of a package, whose SHA-256 must be this, unpacked again into a directory of its name and version
/// below `directory`.
///
/// # Errors
/// It cannot be had, or is another.
pub fn source_distribution(
    python: &Path,
    directory: &Path,
    package: &str,
    version: &str,
    sha256: &str,
) -> Result<PathBuf, String> {
    let name = format!("{package}-{version}");
    let file = directory.join("sdist.txt");
    let line = format!("{package}=={version} --hash=sha256:{sha256}\n");
    fs::write(&file, line).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut download = crate::child::command(python);
    download.args(["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", package, "--dest"]);
    run(download.arg(directory).arg("--requirement").arg(&file))?;
    let archive = directory.join(format!("{name}.tar.gz"));
    drop(fs::remove_dir_all(directory.join(&name)));
    run(crate::child::command("tar").arg("-xzf").arg(archive).arg("-C").arg(directory))?;
    Ok(directory.join(name))
}

/// Runs a command to its end; what it printed.
///
/// # Errors
/// It fails; what it said is told.
pub fn run(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    let said = [output.stdout.as_slice(), output.stderr.as_slice()].map(String::from_utf8_lossy).concat();
    if output.status.success() {
        return Ok(said);
    }
    let lines: Vec<&str> = said.lines().collect();
    let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
    Err(format!("{command:?}: {}: {last}", output.status))
}
