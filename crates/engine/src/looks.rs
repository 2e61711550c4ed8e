//! What the control program of a slot took lately, as a file.

use model::Nanos;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Looks that are older say nothing about the neighbours of now.
const LATELY: Duration = Duration::from_secs(600);
/// More say nothing new.
const MOST: usize = 500;

/// A file with a line for each look: when it was, in seconds since 1970, and what it took, in nanoseconds. One process at a time has the
/// slot, so nobody else writes it meanwhile.
pub struct Looks(pub PathBuf);

impl Looks {
    /// Notes one that took so long, and gives it with those of the last ten minutes.
    pub(crate) fn note(&self, took: Nanos) -> Vec<Nanos> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        let mut looks: Vec<(u64, u64)> = text.lines().filter_map(read).collect();
        // Whoever sets the clock back starts anew.
        looks.retain(|(when, _)| (now.saturating_sub(LATELY.as_secs())..=now).contains(when));
        looks.drain(..looks.len().saturating_sub(MOST - 1));
        looks.push((now, took.0));
        let lines: String = looks.iter().map(|(when, took)| format!("{when} {took}\n")).collect();
        // Where it cannot be written, nothing but this look is known the next time.
        let _ = fs::write(&self.0, lines);
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
    fn those_of_the_last_minutes_are_known() {
        let dir = tempfile::tempdir().unwrap();
        let looks = || Looks(dir.path().join("core-0.looks"));
        assert_eq!(looks().note(Nanos(7)), [Nanos(7)]);
        assert_eq!(looks().note(Nanos(8)), [Nanos(7), Nanos(8)]);
        for old in ["5 5\n", "99999999999 5\n", "damaged\n", "x y\n", "1\n"] {
            fs::write(dir.path().join("core-0.looks"), old).unwrap();
            assert_eq!(looks().note(Nanos(9)), [Nanos(9)], "{old}");
        }
        for n in 0..2 * MOST as u64 {
            looks().note(Nanos(n));
        }
        let known = looks().note(Nanos(1));
        assert_eq!((known.len(), known[MOST - 2]), (MOST, Nanos(2 * MOST as u64 - 1)));
    }

    #[test]
    fn where_nothing_can_be_written_it_goes_on() {
        assert_eq!(Looks("/proc/absent/looks".into()).note(Nanos(3)), [Nanos(3)]);
    }
}
