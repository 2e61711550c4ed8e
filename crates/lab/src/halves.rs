//! A finding needs a second, independent sample: both halves of the runs must show it.

/// Chance that a half shows a difference where there is none.
const LEVEL: f64 = 0.05;

/// What a test says of two samples: the chance of such a difference, and whether the second sample is above the first.
pub(crate) type Verdict = (f64, bool);

/// Whether the first half of both samples and the second half differ, and in the same direction. Values are in the order in which they were
/// measured. `test` gives `None` for too few values.
pub(crate) fn agree(a: &[f64], b: &[f64], test: impl Fn(&[f64], &[f64]) -> Option<Verdict>) -> bool {
    let ((a, later_a), (b, later_b)) = (a.split_at(a.len() / 2), b.split_at(b.len() / 2));
    let direction = |a, b| test(a, b).filter(|(p, _)| *p < LEVEL).map(|(_, above)| above);
    let first = direction(a, b);
    first.is_some() && first == direction(later_a, later_b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_halves_must_differ_in_the_same_direction() {
        let means = |a: &[f64], b: &[f64]| {
            let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
            (!a.is_empty()).then(|| (if mean(a) == mean(b) { 1.0 } else { 0.0 }, mean(b) > mean(a)))
        };
        let agree = |a: &[f64], b: &[f64]| agree(a, b, means);
        assert!(agree(&[1.0, 1.0, 1.0, 1.0], &[2.0, 2.0, 2.0, 2.0]));
        assert!(!agree(&[1.0, 1.0, 1.0, 1.0], &[9.0, 9.0, 1.0, 1.0]), "the first half alone");
        assert!(!agree(&[1.0, 1.0, 1.0, 1.0], &[1.0, 1.0, 9.0, 9.0]), "the second half alone");
        assert!(!agree(&[1.0, 1.0, 1.0, 1.0], &[9.0, 9.0, 0.5, 0.5]), "opposite directions");
        assert!(!agree(&[1.0], &[2.0]) && !agree(&[], &[]), "too few");
    }
}
