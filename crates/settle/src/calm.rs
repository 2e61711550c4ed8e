//! When the machine is calm enough to repeat a test, and which programs need that.

use model::{Nanos, Policy};

/// Whether the machine is calm enough to repeat a test. `time` is the CPU time of the control program now, `best` its best, and `recent`
/// its recent times in the slot, this one included.
///
/// The machine is calm if the control program takes at most `calm_until` times its best. If neighbours stay, that never happens. Then the
/// fastest fifth of the recent times counts as calm.
pub fn is_calm(time: Nanos, best: Nanos, calm_until: f64, recent: &[Nanos]) -> bool {
    time.0 as f64 <= calm_until * best.0 as f64 || time <= fastest_part(recent)
}

/// The slowest time of the fastest fifth, or zero if too few are known.
fn fastest_part(recent: &[Nanos]) -> Nanos {
    if recent.len() < Policy::CALM_KNOWN {
        return Nanos::ZERO;
    }
    let mut times = recent.to_vec();
    *times.select_nth_unstable(recent.len() / Policy::CALM_PART - 1).1
}

/// Whether a slow machine does not slow this program. `runs` has the time of each run in any unit, and the slowdown of the control program
/// after it.
///
/// Neighbours slow programs that need memory beyond their core's own caches. If the machine's speed varied and the program's times did not,
/// it is none of these. The constants separate a loop from a sieve in recordings of a machine that was slow throughout (docs/settling.md).
pub fn is_unaffected(runs: impl IntoIterator<Item = (f64, f64)>) -> bool {
    let (times, slowdowns): (Vec<f64>, Vec<f64>) = runs.into_iter().unzip();
    let varied = |values: &[f64]| {
        let least = values.iter().copied().fold(f64::MAX, f64::min);
        values.iter().copied().fold(0.0, f64::max) / least.max(f64::MIN_POSITIVE) - 1.0
    };
    let machine = varied(&slowdowns);
    times.len() >= Policy::UNAFFECTED_RUNS
        && machine >= Policy::UNAFFECTED_FROM
        && varied(&times) <= Policy::UNAFFECTED_PART * machine
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_whose_times_stay_while_the_machine_varies_is_unaffected() {
        let seen = |times: [f64; 4], slowdowns: [f64; 4]| is_unaffected(times.into_iter().zip(slowdowns));
        let slow = [1.4, 1.5, 1.3, 1.6];
        assert!(seen([100.0, 101.0, 103.0, 102.0], slow));
        assert!(!seen([100.0, 101.0, 106.0, 102.0], slow), "a quarter of 23 % is less than 6 %");
        assert!(!seen([100.0; 4], [1.4, 1.45, 1.42, 1.5]), "the machine was as slow all the time");
        assert!(!is_unaffected([(100.0, 1.2), (100.0, 1.6), (100.0, 1.3)]), "three runs may be luck");
        assert!(!is_unaffected([]) && !seen([0.0; 4], [0.0; 4]));
    }

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
