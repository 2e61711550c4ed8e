//! Whether files of packages change.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

/// How often it is looked. A person who saves a file does not wait for it.
const PERIOD: Duration = Duration::from_millis(300);

/// Files, each with its size and when it was last changed.
pub(super) type Seen = BTreeMap<PathBuf, (u64, Option<SystemTime>)>;

/// What is there now. What cannot be read is not there.
pub(super) fn look(packages: &[PathBuf]) -> Seen {
    let mut seen = Seen::new();
    packages.iter().for_each(|path| add(path, &mut seen));
    seen
}

fn add(path: &Path, seen: &mut Seen) {
    // No link is followed: one may lead back.
    let Ok(facts) = fs::symlink_metadata(path) else { return };
    if facts.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.for_each(|entry| add(&entry.path(), seen));
    } else {
        seen.insert(path.to_path_buf(), (facts.len(), facts.modified().ok()));
    }
}

/// Waits until something differs from what was seen, and then for quiet, since an editor writes a file in several steps. False: the user
/// interrupted.
pub(super) fn wait(packages: &[PathBuf], seen: &Seen, ending: &AtomicBool) -> bool {
    let mut last = look(packages);
    loop {
        if ending.load(Ordering::SeqCst) {
            return false;
        }
        thread::sleep(PERIOD);
        let now = look(packages);
        if now != *seen && now == last {
            return true;
        }
        last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_and_an_interrupt_ends_waiting() {
        let place = tempfile::tempdir().unwrap();
        let packages = [place.path().to_path_buf()];
        fs::create_dir(place.path().join("data")).unwrap();
        fs::write(place.path().join("data/1.in"), "1").unwrap();
        std::os::unix::fs::symlink("..", place.path().join("data/up")).unwrap();
        let seen = look(&packages);
        assert_eq!(seen.len(), 2, "{seen:?}");
        assert!(!wait(&packages, &seen, &AtomicBool::new(true)));
        fs::write(place.path().join("data/1.ans"), "2").unwrap();
        assert!(wait(&packages, &seen, &AtomicBool::new(false)));
    }
}
