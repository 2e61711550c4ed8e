//! The normal distribution.

/// How many deviations above the mean a normal value lies with this chance, 0 < `chance` < 0.5, so that the tail beyond it
/// holds so much; right to 1e-8 relatively (by halving the tail's continued fraction; Abramowitz and Stegun, 1964, 26.2.14).
/// `None` outside that range.
pub fn normal_beyond(chance: f64) -> Option<f64> {
    if !(chance > 0.0 && chance < 0.5) {
        return None;
    }
    let (mut low, mut high) = (0.0, 39.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if tail(middle) > chance { low = middle } else { high = middle }
    }
    Some((low + high) / 2.0)
}

/// The chance of a normal value of at most x.
pub fn normal_below(x: f64) -> f64 {
    if x < 0.0 { tail(-x) } else { 1.0 - tail(x) }
}

/// The chance of a normal value above z, z at least 0.
fn tail(z: f64) -> f64 {
    let density = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
    if z > 3.0 {
        // The fraction z + 1/(z + 2/(z + 3/(z + …))).
        return density / (1..=60).rev().fold(z, |below, n| z + f64::from(n) / below);
    }
    // The series z + z³/3 + z⁵/(3·5) + … (26.2.11).
    let (mut term, mut sum) = (z, z);
    for n in 1..120 {
        term *= z * z / f64::from(2 * n + 1);
        sum += term;
    }
    0.5 - density * sum
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
