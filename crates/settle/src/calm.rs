//! When the machine is calm enough to repeat a test.

use model::{Nanos, Policy};

/// Whether the machine is calm enough to repeat a test. `time` is the CPU time of the control program now, `best` its best, and `recent`
/// its recent times in the slot, this one included.
///
/// The machine is calm if the control program takes at most `slow_from` times its best. If neighbours stay, that never happens. Then the
/// fastest fifth of the recent times counts as calm.
pub fn is_calm(time: Nanos, best: Nanos, slow_from: f64, recent: &[Nanos]) -> bool {
    time.0 as f64 <= slow_from * best.0 as f64 || time <= fastest_part(recent)
}

/// The slowest time of the fastest fifth, or zero if too few are known.
fn fastest_part(recent: &[Nanos]) -> Nanos {
    if recent.len() < Policy::CALM_KNOWN {
        return Nanos::ZERO;
    }
    let mut times = recent.to_vec();
    *times.select_nth_unstable(recent.len() / Policy::CALM_PART - 1).1
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
    fn if_neighbours_stay_the_fastest_fifth_is_calm() {
        let calm = |time, recent: &[Nanos]| is_calm(Nanos(time), Nanos(100), 1.05, recent);
        let recent = looks((1..=50).map(|n| 200 + n));
        assert!(calm(201, &recent) && calm(210, &recent) && !calm(211, &recent));
        assert!(!calm(201, &recent[..49]), "too few are known");
        assert!(calm(300, &looks([300; 50])), "it never changes");
    }
}
