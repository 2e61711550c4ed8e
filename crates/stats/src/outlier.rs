//! Values that stand apart.

use crate::summary::{deviation_of, median};

/// A value this many robust deviations from the median is an outlier (Iglewicz and Hoaglin, 1993, use 3.5).
const FAR: f64 = 3.5;

/// A value that stands apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    /// Its place in the sample.
    pub index: usize,
    /// By how much it lies above the median; negative below.
    pub excess: f64,
}

/// Outliers by two deviations, one for each side of the median, since times are skewed (double MAD; Rosenmai, 2013). A side
/// of which more than half of the values are equal to the median has no deviation; there the whole sample's counts, and
/// at least `least`, the smallest excess that matters. Values that are not finite are left out.
pub fn outliers(sample: &[f64], least: f64) -> Vec<Outlier> {
    let finite: Vec<f64> = sample.iter().copied().filter(|x| x.is_finite()).collect();
    let Some(centre) = median(&finite) else { return Vec::new() };
    let whole = deviation_of(&finite, centre);
    let side = |keep: &dyn Fn(f64) -> bool| {
        let values: Vec<f64> = finite.iter().copied().filter(|x| keep(*x)).collect();
        Some(deviation_of(&values, centre)).filter(|d| *d > 0.0).unwrap_or(whole)
    };
    let (below, above) = (side(&|x| x <= centre), side(&|x| x >= centre));
    let far = |x: f64| {
        let deviation = if x < centre { below } else { above };
        x.is_finite() && (x - centre).abs() > (FAR * 1.4826 * deviation).max(least)
    };
    let found = sample.iter().enumerate().filter(|(_, x)| far(**x));
    found.map(|(index, x)| Outlier { index, excess: x - centre }).collect()
}

/// How many robust deviations each value lies from the median of all; `None` where more than half of them are equal, or
/// there are fewer than three, or one is not finite.
pub fn robust_z(sample: &[f64]) -> Option<Vec<f64>> {
    let centre = median(sample)?;
    let deviation = 1.4826 * deviation_of(sample, centre);
    (sample.len() >= 3 && deviation > 0.0).then(|| sample.iter().map(|x| (x - centre) / deviation).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn what_stands_apart_is_found_on_a_skewed_sample() {
        let mut random = Random::new(5);
        let mut sample: Vec<f64> = (0..40).map(|_| 100.0 + random.exponential()).collect();
        sample[7] = 140.0;
        let found = outliers(&sample, 0.0);
        assert!(found.iter().any(|o| o.index == 7 && o.excess > 38.0), "{found:?}");
        assert!(found.len() <= 6, "{found:?}");
        assert!(outliers(&[5.0; 9], 1.0).is_empty() && outliers(&[], 1.0).is_empty());
        let mut equal = [5.0; 9];
        equal[2] = 9.0;
        assert_eq!(outliers(&equal, 1.0), [Outlier { index: 2, excess: 4.0 }]);
    }

    #[test]
    fn strays_have_a_large_z() {
        let mut random = Random::new(9);
        let mut sample: Vec<f64> = (0..300).map(|_| 1.0 + 0.01 * random.normal()).collect();
        sample[42] = 1.3;
        let z = robust_z(&sample).unwrap();
        assert!(z[42] > 20.0 && z.iter().filter(|z| z.abs() > 5.0).count() == 1);
        assert_eq!(robust_z(&[1.0; 5]), None);
    }
}
