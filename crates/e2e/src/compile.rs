//! Compiling the hostile programs, once.

use crate::program::Program;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::SystemTime;

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|facts| facts.modified()).ok()
}

/// The executable of a program below `directory`: the script itself, or what the C compiler makes of the source,
/// statically linked. Made again only when the source is newer.
///
/// # Errors
/// What the compiler says.
pub fn executable(program: &Program, directory: &Path) -> Result<PathBuf, String> {
    if program.source.extension().is_none_or(|ending| ending != "c") {
        return Ok(program.source.clone());
    }
    let target = directory.join(program.name.replace('/', "-"));
    let headers = ["hostile.h", "many.h"].map(|name| changed(&crate::program::directory().join(name)));
    let newest = headers.into_iter().fold(changed(&program.source), Ord::max);
    if changed(&target) > newest {
        return Ok(target);
    }
    let fail = |what: &Path, error: std::io::Error| format!("{}: {error}", what.display());
    fs::create_dir_all(directory).map_err(|error| fail(directory, error))?;
    let draft = directory.join(format!("{}.{}", program.name.replace('/', "-"), std::process::id()));
    let output = Command::new("cc")
        .args(["-std=gnu17", "-D_GNU_SOURCE", "-O2", "-w", "-static", "-pthread", "-s", "-o"])
        .arg(&draft)
        .arg(&program.source)
        .output()
        .map_err(|error| format!("cc: {error}; install a C compiler with a static C library"))?;
    if !output.status.success() {
        return Err(format!("{}: {}", program.source.display(), String::from_utf8_lossy(&output.stderr)));
    }
    fs::rename(&draft, &target).map_err(|error| fail(&target, error))?;
    Ok(target)
}

/// Compiles what is not compiled yet, on all CPUs. Faults are found again, and told, when the program's turn comes.
pub fn compile_all(programs: &[Program], directory: &Path) {
    let queue = Mutex::new(programs.iter());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let Some(program) = queue.lock().ok().and_then(|mut list| list.next()) else { return };
                    drop(executable(program, directory));
                }
            });
        }
    });
}
