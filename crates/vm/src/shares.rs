//! The directories and files of the host that a machine sees: those that runs are shown, and no others.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What every run sees; links among them are kept as such (`sandbox`, `launcher/view.rs`).
const SYSTEM: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/etc/alternatives"];
/// QEMU's usual machine has room for no more devices.
const MOST: usize = 24;

/// The parts of the host that are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shares {
    /// Path in the guest, and the directory it shows.
    pub(crate) directories: BTreeMap<String, PathBuf>,
    /// Path in the guest, and the file of which it is a copy.
    pub(crate) files: BTreeMap<String, PathBuf>,
    /// Symbolic links: path and target.
    pub(crate) links: BTreeMap<String, PathBuf>,
}

impl Shares {
    /// What all runs see, and these paths besides. One that does not exist is left out: runs that need it are told by their launcher.
    ///
    /// # Errors
    /// A path is not absolute, cannot be told to QEMU, or there are too many.
    pub fn with_paths(more: impl IntoIterator<Item = String>) -> Result<Shares, String> {
        let mut shares = Shares::default();
        let mut paths: Vec<String> = SYSTEM.iter().map(ToString::to_string).chain(more).collect();
        // A directory before what is below it.
        paths.sort();
        for path in paths {
            shares.add(&path)?;
        }
        if shares.directories.len() > MOST {
            return Err(format!(
                "{} directories are shown to programs, and a machine has room for {MOST}",
                shares.directories.len()
            ));
        }
        Ok(shares)
    }

    fn add(&mut self, path: &str) -> Result<(), String> {
        let plain = |path: &str| {
            path.starts_with('/') && !path.contains(',') && !path.split('/').any(|part| part == "..")
        };
        if !plain(path) {
            return Err(format!(
                "{path}: cannot be shown to a virtual machine\nhint: use an absolute path without commas"
            ));
        }
        let real = |path: &str| Path::new(path).canonicalize();
        let (Ok(found), Ok(target)) = (std::fs::symlink_metadata(path), real(path)) else { return Ok(()) };
        if SYSTEM.contains(&path) && found.is_symlink() {
            let target = std::fs::read_link(path).map_err(|e| format!("{path}: {e}"))?;
            self.links.insert(path.to_string(), target);
        } else if self.shows(path, &target) {
        } else if target.is_dir() {
            self.directories.insert(path.to_string(), target);
        } else if target.is_file() {
            self.files.insert(path.to_string(), target);
        }
        Ok(())
    }

    /// Whether the path is there already, in a directory above it.
    fn shows(&self, path: &str, real: &Path) -> bool {
        self.directories
            .iter()
            .any(|(at, host)| Path::new(path).strip_prefix(at).is_ok_and(|rest| host.join(rest) == real))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_another_is_shown_once() {
        let shares =
            Shares::with_paths(["/usr/bin".to_string(), "/usr".to_string(), "/nowhere/at/all".to_string()])
                .expect("they exist");
        assert!(shares.directories.contains_key("/usr"), "{shares:?}");
        assert!(!shares.directories.contains_key("/usr/bin"), "{shares:?}");
        assert!(!shares.directories.keys().any(|path| path.starts_with("/nowhere")), "{shares:?}");
    }

    #[test]
    fn what_qemu_would_misread_is_refused() {
        for bad in ["usr", "/a,readonly=off", "/usr/../etc"] {
            assert!(Shares::with_paths([bad.to_string()]).is_err(), "{bad}");
        }
    }
}
