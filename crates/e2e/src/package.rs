//! Small problem packages made for a test.

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Name and contents of a file.
pub type Named = (&'static str, &'static str);

/// A problem in the 2025-09 format: twice the number that is read. Limits are small, so that every verdict is quick.
pub const DOUBLE: [Named; 9] = [
    (
        "problem.yaml",
        "problem_format_version: 2025-09\nname: Double\nuuid: 5e6f3c2a-1d7b-4c0e-9a52-0b7c5d3e1f42\n\
         license: cc0\nlimits:\n  time_limit: 0.5\n  memory: 64\n  output: 1\n",
    ),
    ("statement/problem.en.md", "Print twice the number.\n"),
    ("data/sample/1.in", "1\n"),
    ("data/sample/1.ans", "2\n"),
    ("data/secret/1.in", "21\n"),
    ("data/secret/1.ans", "42\n"),
    ("data/secret/2.in", "50\n"),
    ("data/secret/2.ans", "100\n"),
    ("submissions/accepted/right.c", RIGHT),
];

/// An accepted submission to it.
pub const RIGHT: &str = "#include <stdio.h>\nint main(void) { int n; return scanf(\"%d\", &n) != 1 || printf(\"%d\\n\", 2 * n) < 0; }\n";

/// Writes files below a directory, making the directories they need.
///
/// # Errors
/// A file that cannot be written, with its name.
pub fn write(directory: &Path, files: &[(&str, &str)]) -> Result<(), String> {
    for (name, content) in files {
        let path = directory.join(name);
        let parent = path.parent().ok_or("a file without a directory")?;
        let made = fs::create_dir_all(parent).and_then(|()| fs::write(&path, content));
        made.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// Files as an archive, as a service takes it.
///
/// # Errors
/// A name that an archive cannot have.
pub fn zipped(files: &[(&str, &str)]) -> Result<Vec<u8>, String> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        archive
            .start_file(*name, SimpleFileOptions::default())
            .map_err(|error| format!("{name}: {error}"))?;
        archive.write_all(content.as_bytes()).map_err(|error| format!("{name}: {error}"))?;
    }
    let archive = archive.finish().map_err(|error| format!("archive: {error}"))?;
    Ok(archive.into_inner())
}
