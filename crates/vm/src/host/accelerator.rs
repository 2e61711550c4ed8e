//! Whether the processor's own way works here: that a device opens says little where machines are nested.

use crate::Parts;
use model::Accelerator;
use std::fs;
use std::path::{Path, PathBuf};

const DEVICE: &str = "/dev/kvm";
/// The file of the cache that keeps what was found.
pub const KEPT: &str = "vm-accelerator";

/// Of which emulator and kernel it is known what works.
pub(super) fn found_with(parts: &Parts) -> String {
    format!("{} {}", parts.qemu.display(), parts.kernel.display())
}

/// What runs machines of these parts where nobody chose; `cache` is where it was kept. `None`: only a boot can tell.
pub fn expected(parts: &Parts, cache: Option<&PathBuf>) -> Option<Accelerator> {
    known(cache, &found_with(parts)).or_else(|| (!may_work()).then_some(Accelerator::Tcg))
}

/// Whether the device can be opened at all.
fn may_work() -> bool {
    fs::OpenOptions::new().read(true).write(true).open(DEVICE).is_ok()
}

/// What was found since this machine was started, with this kernel and this emulator.
fn known(cache: Option<&PathBuf>, of: &str) -> Option<Accelerator> {
    let text = fs::read_to_string(cache?.join(KEPT)).ok()?;
    let (name, rest) = text.trim_end().split_once(' ')?;
    (rest == key(of)).then(|| name.parse().ok()).flatten()
}

/// Remembers it. Not remembered, it is found again.
pub(super) fn remember(cache: Option<&PathBuf>, of: &str, found: Accelerator) {
    let Some(directory) = cache else { return };
    let _ = fs::create_dir_all(directory);
    let temporary = directory.join(format!("{KEPT}.{}", std::process::id()));
    if fs::write(&temporary, format!("{found} {}\n", key(of))).is_ok() {
        let _ = fs::rename(temporary, directory.join(KEPT));
    }
}

fn key(of: &str) -> String {
    let boot = fs::read_to_string(Path::new("/proc/sys/kernel/random/boot_id")).unwrap_or_default();
    format!("{} {of}", boot.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_holds_for_the_same_parts() {
        let directory = std::env::temp_dir().join(format!("tauto-vm-test-{}", std::process::id()));
        let cache = Some(&directory);
        assert_eq!(known(cache, "a"), None);
        remember(cache, "a", Accelerator::Tcg);
        assert_eq!(
            (known(cache, "a"), known(cache, "b"), known(None, "a")),
            (Some(Accelerator::Tcg), None, None)
        );
        fs::remove_dir_all(&directory).expect("it was made");
    }
}
