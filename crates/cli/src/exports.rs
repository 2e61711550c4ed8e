//! Files a report is written to.

use crate::terminal::Failure;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// One of them. Opened before anything is measured, so that one that cannot be written costs no hour, and emptied only when
/// there is a report.
pub(crate) struct Export(Option<(PathBuf, File)>);

impl Export {
    pub(crate) fn open(path: Option<&PathBuf>) -> Result<Export, Failure> {
        let open = |path: &PathBuf| {
            let file = File::options().write(true).create(true).truncate(false).open(path);
            file.map(|file| (path.clone(), file)).map_err(|e| unwritable(path, &e))
        };
        path.map(open).transpose().map(Export)
    }

    /// Writes what `text` says, where a file was named.
    pub(crate) fn write(self, text: impl FnOnce() -> String) -> Result<(), Failure> {
        let Some((path, mut file)) = self.0 else { return Ok(()) };
        // A device or pipe has no length to set.
        let regular = file.metadata().is_ok_and(|facts| facts.is_file());
        let emptied = if regular { file.set_len(0) } else { Ok(()) };
        emptied.and_then(|()| file.write_all(text().as_bytes())).map_err(|e| unwritable(&path, &e))
    }
}

fn unwritable(path: &Path, e: &io::Error) -> Failure {
    Failure::usage(format!("{}: {e}", path.display()))
}
