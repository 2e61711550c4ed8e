//! When a repeat may run.

use model::{Nanos, Policy};

/// Whether the machine is calm enough for a repeat. The control program took `time` for it now, `best` at best, and `recent` in the last
/// looks of the slot, this one included. It is calm where the control program is as fast as ever. Where neighbours stay, that never
/// comes, and the fastest fifth of the recent looks must do: the machine will hardly be faster soon.
pub fn is_calm(time: Nanos, best: Nanos, slow_from: f64, recent: &[Nanos]) -> bool {
    time.0 as f64 <= slow_from * best.0 as f64 || time <= usual(recent)
}

/// The slowest of the fastest looks. Zero, as long as too few are known.
fn usual(recent: &[Nanos]) -> Nanos {
    if recent.len() < Policy::CALM_KNOWN {
        return Nanos::ZERO;
    }
    let mut sorted = recent.to_vec();
    sorted.sort_unstable();
    sorted[recent.len() / Policy::CALM_PART - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(times: impl IntoIterator<Item = u64>) -> Vec<Nanos> {
        times.into_iter().map(Nanos).collect()
    }

    #[test]
    fn as_fast_as_ever_is_calm() {
        let calm = |time| is_calm(Nanos(time), Nanos(100), 1.05, &[]);
        assert!(calm(90) && calm(105) && !calm(106));
    }

    #[test]
    fn where_neighbours_stay_the_fastest_fifth_is_calm() {
        let calm = |time, recent: &[Nanos]| is_calm(Nanos(time), Nanos(100), 1.05, recent);
        let recent = looks((1..=50).map(|n| 200 + n));
        assert!(calm(201, &recent) && calm(210, &recent) && !calm(211, &recent));
        assert!(!calm(201, &recent[..49]), "too few are known");
        assert!(calm(300, &looks([300; 50])), "it never changes");
    }
}
