//! Zip archives of packages that the service creates.

use crate::errors::Refusal;
use std::io::{Cursor, Write};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A zip archive of files, each with its path, its content, and whether it may be executed. The same files give the same bytes: a package is
/// known by its hash.
///
/// # Errors
/// A path occurs twice, or there are more files than an archive holds.
pub(crate) fn archive<B: AsRef<[u8]>>(
    files: impl IntoIterator<Item = (String, B, bool)>,
) -> Result<Vec<u8>, Refusal> {
    let fault = |e: &dyn std::fmt::Display| Refusal::Fault(format!("making a package: {e}"));
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes, executable) in files {
        let mode = if executable { 0o755 } else { 0o644 };
        let options = SimpleFileOptions::default().unix_permissions(mode);
        zip.start_file(name, options).map_err(|e| fault(&e))?;
        zip.write_all(bytes.as_ref()).map_err(|e| fault(&e))?;
    }
    Ok(zip.finish().map_err(|e| fault(&e))?.into_inner())
}
