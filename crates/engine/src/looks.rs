//! A file with the recent times of a slot's control program.

use model::Nanos;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Neighbours come and go within minutes, so older times say nothing about the present ones.
const RECENT: Duration = Duration::from_secs(600);
/// More than fit into ten minutes, so that a damaged file does not grow.
const MOST: usize = 2000;

/// The path of the file. Each line has the time of a look in seconds since 1970, and the CPU time of the control program in nanoseconds.
/// Only the process that holds the slot writes it.
pub struct Looks(pub PathBuf);

impl Looks {
    /// Adds the look of now. Returns the CPU times of all looks in the last ten minutes, this one included, oldest first.
    pub(crate) fn note(&self, took: Nanos) -> Vec<Nanos> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        let mut looks: Vec<(u64, u64)> = text.lines().filter_map(read).collect();
        // Times in the future were written before the clock was set back.
        looks.retain(|(when, _)| (now.saturating_sub(RECENT.as_secs())..=now).contains(when));
        looks.drain(..looks.len().saturating_sub(MOST - 1));
        looks.push((now, took.0));
        let lines: String = looks.iter().map(|(when, took)| format!("{when} {took}\n")).collect();
        // A process that is killed here must not leave half a number. If the write fails, the next look knows fewer times.
        let fresh = self.0.with_extension("looks.new");
        let _ = fs::write(&fresh, lines).and_then(|()| fs::rename(&fresh, &self.0));
        looks.into_iter().map(|(_, took)| Nanos(took)).collect()
    }
}

fn read(line: &str) -> Option<(u64, u64)> {
    let (when, took) = line.split_once(' ')?;
    Some((when.parse().ok()?, took.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_looks_are_known() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("core-0.looks");
        let looks = || Looks(path.clone());
        assert_eq!(looks().note(Nanos(7)), [Nanos(7)]);
        assert_eq!(looks().note(Nanos(8)), [Nanos(7), Nanos(8)]);
        for ignored in ["5 5\n", "99999999999 5\n", "damaged\n", "x y\n", "1\n"] {
            fs::write(&path, ignored).unwrap();
            assert_eq!(looks().note(Nanos(9)), [Nanos(9)], "{ignored}");
        }
        let line = fs::read_to_string(&path).unwrap();
        fs::write(&path, line.repeat(2 * MOST)).unwrap();
        assert_eq!(looks().note(Nanos(1)).len(), MOST);
    }

    #[test]
    fn a_file_that_cannot_be_written_stops_nothing() {
        assert_eq!(Looks("/proc/absent/looks".into()).note(Nanos(3)), [Nanos(3)]);
    }
}
