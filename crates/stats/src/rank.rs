//! Tests by ranks.

use crate::summary::all_finite;

/// How two samples lie to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// How often a value of B is above one of A, ties counting half: 0 to 1, one half where neither is greater.
    pub share: f64,
    /// How often chance alone makes that share differ as much from one half (both sides).
    pub p: f64,
}

/// The rank test of Mann and Whitney (1947) by the normal approximation, with corrections for ties and continuity; from
/// six values a side p is right to about a percent. It tells whether one tends to be slower, not by how much; it does not
/// know of pairs. `None` where one has fewer than six values or a value that is not finite.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<MannWhitney> {
    if a.len() < 6 || b.len() < 6 || !all_finite(a) || !all_finite(b) {
        return None;
    }
    let pool: Vec<f64> = a.iter().chain(b).copied().collect();
    let ranks = ranks(&pool);
    let (n, m) = (a.len() as f64, b.len() as f64);
    let above = ranks[a.len()..].iter().sum::<f64>() - m * (m + 1.0) / 2.0;
    // The variance of the ranks that there are, ties included.
    let mean = (n + m + 1.0) / 2.0;
    let squares: f64 = ranks.iter().map(|rank| (rank - mean).powi(2)).sum();
    let deviation = (n * m * squares / ((n + m) * (n + m - 1.0))).sqrt();
    let distance = ((above - n * m / 2.0).abs() - 0.5).max(0.0);
    let p = if deviation > 0.0 { two_tails(distance / deviation) } else { 1.0 };
    Some(MannWhitney { share: above / (n * m), p })
}

/// The chance of a normal value at least z deviations from the mean, z at least 0; right to 1.5e-7 (Abramowitz and
/// Stegun, 1964, 7.1.26).
fn two_tails(z: f64) -> f64 {
    let x = z / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let terms = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    (terms.iter().fold(0.0, |sum, term| (sum + term) * t) * (-x * x).exp()).clamp(0.0, 1.0)
}

/// The place of each value among all, from 1; equal ones share the mean of theirs.
pub(crate) fn ranks(series: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..series.len()).collect();
    order.sort_by(|a, b| series[*a].total_cmp(&series[*b]));
    let mut ranks = vec![0.0; series.len()];
    let mut i = 0;
    while i < order.len() {
        let tied = order[i..].iter().take_while(|at| series[**at] == series[order[i]]).count();
        for at in &order[i..i + tied] {
            ranks[*at] = i as f64 + (tied as f64 + 1.0) / 2.0;
        }
        i += tied;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use proptest::prelude::*;

    #[test]
    fn p_is_that_of_others() {
        for (z, p) in [(0.0, 1.0), (1.0, 0.317_310_5), (1.959_964, 0.05), (3.0, 0.002_699_8)] {
            assert!((two_tails(z) - p).abs() < 2e-7, "{z}: {}", two_tails(z));
        }
        // U = 36 of 36: deviation √(6·6·13/12) = 6.245, z = 17.5/6.245 = 2.802.
        let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [7.0, 8.0, 9.0, 10.0, 11.0, 12.0]);
        let apart = mann_whitney(&a, &b).unwrap();
        assert!(apart.share == 1.0 && (apart.p - 0.005_075).abs() < 1e-5, "{apart:?}");
        // Two ties of six: each rank 3.5 or 9.5 varies by 3 from 6.5; deviation √(36·108/(12·11)) = 5.427.
        let (low, high) = ([1.0; 6], [2.0; 6]);
        let tied = mann_whitney(&low, &high).unwrap();
        assert!((tied.p - two_tails(17.5 / 5.427_204)).abs() < 1e-6, "{tied:?}");
        assert_eq!(mann_whitney(&low, &low), Some(MannWhitney { share: 0.5, p: 1.0 }));
        assert_eq!(mann_whitney(&a[..5], &b), None);
    }

    #[test]
    fn equal_programs_are_told_apart_no_more_often_than_stated() {
        let mut random = Random::new(31);
        let mut sample = |n: usize| -> Vec<f64> { (0..n).map(|_| random.exponential().round()).collect() };
        let wrong = (0..2000)
            .filter(|i| mann_whitney(&sample(6 + i % 15), &sample(6 + i % 7)).unwrap().p < 0.05)
            .count();
        // 100 at most are expected; 30 more are three deviations.
        assert!(wrong <= 130, "{wrong} of 2000");
    }

    proptest! {
        #[test]
        fn only_order_among_values_matters(
            a in proptest::collection::vec(0i32..20, 6..20), b in proptest::collection::vec(0i32..20, 6..20),
            by in -50i32..50, turn in 0usize..6,
        ) {
            let of = |s: &[i32]| -> Vec<f64> { s.iter().map(|x| f64::from(*x)).collect() };
            let moved = |s: &[i32]| -> Vec<f64> {
                let mut s: Vec<f64> = s.iter().map(|x| f64::from(x + by)).collect();
                s.rotate_left(turn);
                s
            };
            let found = mann_whitney(&of(&a), &of(&b)).unwrap();
            prop_assert_eq!(mann_whitney(&moved(&a), &moved(&b)).unwrap(), found);
            let other = mann_whitney(&of(&b), &of(&a)).unwrap();
            prop_assert!((other.share + found.share - 1.0).abs() < 1e-12 && (other.p - found.p).abs() < 1e-12);
        }
    }
}
