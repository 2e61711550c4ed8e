//! The normal distribution.

use statrs::distribution::{ContinuousCDF, Normal};

/// How many deviations above the mean a normal value lies with this chance, 0 < `chance` < 0.5, so that the tail beyond it
/// holds so much. `None` outside that range.
pub fn normal_beyond(chance: f64) -> Option<f64> {
    (chance > 0.0 && chance < 0.5).then(|| -Normal::standard().inverse_cdf(chance))
}

/// The chance of a normal value of at most x.
pub fn normal_below(x: f64) -> f64 {
    Normal::standard().cdf(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of the same book, 26.1 and 26.2.
    #[test]
    fn tails_are_those_of_the_tables() {
        for (chance, z) in [
            (0.4, 0.253_347_103),
            (0.025, 1.959_963_985),
            (0.001, 3.090_232_306),
            (0.001_4, 2.988_881_79),
            (1e-6, 4.753_424_309),
            (1e-9, 5.997_807_015),
        ] {
            let found = normal_beyond(chance).unwrap();
            assert!((found - z).abs() < 1e-5, "{chance}: {found} {z}");
        }
        assert!((normal_below(1.959_963_985) - 0.975).abs() < 1e-9);
        assert!((normal_below(-3.090_232_306) - 0.001).abs() < 1e-9);
        for outside in [0.0, 0.5, 1.0, -1.0, f64::NAN] {
            assert_eq!(normal_beyond(outside), None, "{outside}");
        }
    }
}
