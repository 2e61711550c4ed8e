//! Scales that were found, kept by what they depend on.

use crate::artifact_cache::ours;
use crate::prepared_slot::PreparedSlot;
use crate::{Fault, SystemError};
use model::ReferenceScale;
use rustix::fs::{CWD, Mode, OFlags, openat};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Largest file that is read.
const LARGEST: u64 = 64 << 10;

/// A name that is another one where the package, the language, this program, the reference machine or the emulator is another. Tools of
/// the language are not in it: what they change is the program, and both its times change with it.
pub(super) fn key(second: &PreparedSlot, language: &str) -> Result<String, Fault> {
    let job = &second.job;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    for text in [env!("CARGO_PKG_VERSION"), language, &job.options.meter.versions().unwrap_or_default()] {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    }
    for (path, entry) in &job.source.tree().files {
        hasher.update((path.len() as u64).to_le_bytes());
        hasher.update(path);
        hasher.update(entry.size.to_le_bytes());
        let mut file = job.source.file(path)?;
        loop {
            match file.read(&mut buffer).map_err(|e| SystemError::new(path.clone(), e.to_string()))? {
                0 => break,
                n => hasher.update(buffer.get(..n).unwrap_or_default()),
            }
        }
    }
    Ok(hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect())
}

/// What is kept under this name, where nobody else can have written it.
pub(super) fn read(directory: &Path, key: &str) -> Option<ReferenceScale> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let directory = openat(CWD, directory, flags | OFlags::DIRECTORY, Mode::empty()).ok()?;
    ours(&directory).ok()?;
    let file = openat(&directory, key, flags, Mode::empty()).ok()?;
    ours(&file).ok()?;
    let mut text = String::new();
    File::from(file).take(LARGEST).read_to_string(&mut text).ok()?;
    toml::from_str(&text).ok()
}

pub(super) fn write(directory: &Path, key: &str, scale: &ReferenceScale) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let mut fresh = tempfile::NamedTempFile::new_in(directory)?;
    fresh.write_all(toml::to_string(scale).map_err(io::Error::other)?.as_bytes())?;
    fresh.persist(directory.join(key))?;
    Ok(())
}
