//! Whether two programs differ.

use crate::summary::{all_finite, median};
use crate::{Interval, Random};

/// Rearrangements of a permutation test at most: a p-value of 5 % is exact to half a percent, the least is 0.05 %.
const ROUNDS: usize = 1999;
/// Differences are called real below this p-value, and intervals hold with one minus it.
const LEVEL: f64 = 0.05;
/// So many rearrangements as far apart as what was seen put p at [`LEVEL`] or above, and end the search (Besag and
/// Clifford, "Sequential Monte Carlo p-values", 1991).
const COMMON: usize = 100;
/// Fewer values on a side cannot be told apart by the midmean, however far apart they are.
const LEAST: usize = 6;
/// Fewer pairs cannot be told apart by exchanging within pairs: there are too few ways to do so.
const LEAST_PAIRS: usize = 10;

/// B against A. Ratio, interval and p are of one statistic and one test: 1 is outside the interval just where p is
/// below 5 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Midmean of B over midmean of A. Meter of the middle half (Tukey, 1977) tell more finely than medians of few
    /// values, and mind outliers as little.
    pub ratio: f64,
    /// 95 % interval of that ratio: every ratio r that the test does not reject for B against r times A.
    pub ratio_interval: Interval,
    /// How often chance alone makes midmeans differ as much (permutation test, both sides).
    pub p: f64,
    /// Values were exchanged within pairs only, so what varied slowly over the whole measurement fell out.
    pub paired: bool,
}

/// Compares two samples measured in turn, A B A B …
///
/// Of equal lengths from ten on, the values at the same place are a pair and are exchanged only with each other. Other
/// samples are mixed freely. Either is exact where order does not matter, so B may also be measured after A; but then
/// drift between the two counts as a difference.
///
/// `None` where one has fewer than six values, a value that is not finite, or a midmean that is not above 0; and where
/// the values vary so far that no ratio can be excluded.
pub fn compare(a: &[f64], b: &[f64], seed: u64) -> Option<Comparison> {
    if a.len() < LEAST || b.len() < LEAST || !all_finite(a) || !all_finite(b) {
        return None;
    }
    let test = Test::new(a, b, seed);
    let ratio = midmean(&test.b) / midmean(&test.a);
    if !(ratio > 0.0 && ratio.is_finite()) {
        return None;
    }
    let p = test.chance(1.0);
    // Where 1 is held, the ends are sought beyond it, otherwise between it and the ratio: so they cannot contradict p.
    let one_is_held = p >= LEVEL;
    let low = match (one_is_held, ratio > 1.0) {
        (false, true) => test.edge(ratio, 1.0),
        (held, _) => test.edge_beyond(if held { ratio.min(1.0) } else { ratio }, |r, step| r / step)?,
    };
    let high = match (one_is_held, ratio < 1.0) {
        (false, true) => test.edge(ratio, 1.0),
        (held, _) => test.edge_beyond(if held { ratio.max(1.0) } else { ratio }, |r, step| r * step)?,
    };
    Some(Comparison { ratio, ratio_interval: Interval { low, high }, p, paired: test.paired })
}

/// A permutation test of ratios: at each ratio the same rearrangements are tried.
struct Test {
    a: Vec<f64>,
    b: Vec<f64>,
    paired: bool,
    seed: u64,
}

impl Test {
    /// Sorted, so that the order in which values (or pairs) come changes nothing.
    fn new(a: &[f64], b: &[f64], seed: u64) -> Test {
        let paired = a.len() == b.len() && a.len() >= LEAST_PAIRS;
        let (mut a, mut b) = (a.to_vec(), b.to_vec());
        if paired {
            let mut pairs: Vec<(f64, f64)> = a.into_iter().zip(b).collect();
            pairs.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.total_cmp(&y.1)));
            (a, b) = pairs.into_iter().unzip();
        } else {
            a.sort_by(f64::total_cmp);
            b.sort_by(f64::total_cmp);
        }
        Test { a, b, paired, seed }
    }

    /// How often chance alone makes the midmeans of B and of `ratio` times A differ as much.
    fn chance(&self, ratio: f64) -> f64 {
        let n = self.a.len();
        let mut pool: Vec<(f64, usize)> =
            self.a.iter().map(|x| x * ratio).chain(self.b.iter().copied()).zip(0..).collect();
        pool.sort_by(|x, y| x.0.total_cmp(&y.0));
        let mut of_b: Vec<bool> = (0..pool.len()).map(|i| i >= n).collect();
        // Rounding is no difference.
        let small = 1e-12 * pool.iter().map(|(x, _)| x.abs()).fold(0.0, f64::max);
        let seen = difference(&pool, &of_b, n);
        if seen.midmeans <= small {
            return 1.0;
        }
        // Of few values that are much the same, many rearrangements have the same midmeans; their means tell them apart.
        let far = |d: Difference| {
            d.midmeans > seen.midmeans + small
                || d.midmeans >= seen.midmeans - small && d.means >= seen.means - small
        };
        let mut random = Random::new(self.seed);
        let mut as_far = 0;
        for round in 1..=ROUNDS {
            self.rearrange(&mut of_b, &mut random);
            as_far += usize::from(far(difference(&pool, &of_b, n)));
            if as_far == COMMON {
                return COMMON as f64 / round as f64;
            }
        }
        // The arrangement that was seen is one of them (Phipson and Smyth, 2010).
        (as_far + 1) as f64 / (ROUNDS + 1) as f64
    }

    fn rearrange(&self, of_b: &mut [bool], random: &mut Random) {
        if self.paired {
            let (first, second) = of_b.split_at_mut(self.a.len());
            let mut bits = 0;
            for (i, (first, second)) in first.iter_mut().zip(second).enumerate() {
                if i % 64 == 0 {
                    bits = random.bits();
                }
                (*first, *second) = if bits & 1 == 0 { (false, true) } else { (true, false) };
                bits >>= 1;
            }
        } else {
            random.shuffle(of_b);
        }
    }

    /// The last ratio that is held on the way from one that is to one that is not.
    fn edge(&self, mut held: f64, mut out: f64) -> f64 {
        let near = 0.002 * (out - held).abs();
        while (out - held).abs() > near.max(f64::EPSILON * held) {
            let middle = (held + out) / 2.0;
            if self.chance(middle) < LEVEL { out = middle } else { held = middle }
        }
        held
    }

    /// The same in the direction of `go`, in steps that grow; `None` where nothing up to a factor of 2¹⁶ is excluded.
    fn edge_beyond(&self, from: f64, go: impl Fn(f64, f64) -> f64) -> Option<f64> {
        let steps = (-20..=4).map(|power| 2f64.powi(power).exp2());
        let mut held = from;
        for step in steps {
            let next = go(from, step);
            if self.chance(next) < LEVEL {
                return Some(self.edge(held, next));
            }
            held = next;
        }
        None
    }
}

/// How far A and B are apart.
struct Difference {
    midmeans: f64,
    means: f64,
}

/// The difference of those values of a sorted pool, with their places, that are of B from the n others.
fn difference(pool: &[(f64, usize)], of_b: &[bool], n: usize) -> Difference {
    let sizes = [n, pool.len() - n];
    let (mut passed, mut middles, mut sums) = ([0, 0], [0.0, 0.0], [0.0, 0.0]);
    for (x, place) in pool {
        let side = usize::from(of_b[*place]);
        let cut = sizes[side] / 4;
        if (cut..sizes[side] - cut).contains(&passed[side]) {
            middles[side] += x;
        }
        sums[side] += x;
        passed[side] += 1;
    }
    let apart =
        |sums: [f64; 2], sizes: [usize; 2]| (sums[1] / sizes[1] as f64 - sums[0] / sizes[0] as f64).abs();
    Difference { midmeans: apart(middles, sizes.map(|n| n - 2 * (n / 4))), means: apart(sums, sizes) }
}

/// The mean of the middle half.
fn midmean(sample: &[f64]) -> f64 {
    let sorted = crate::summary::sorted(sample);
    let cut = sorted.len() / 4;
    let middle = &sorted[cut..sorted.len() - cut];
    middle.iter().sum::<f64>() / middle.len() as f64
}

/// The median of the differences of pairs, b − a, with its 95 % interval; `None` below six pairs, or where one is not
/// finite.
pub fn paired_difference(pairs: &[(f64, f64)]) -> Option<(f64, Interval)> {
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
    Some((median(&differences)?, crate::median_interval(&differences, 1)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOISES: [fn(&mut Random) -> f64; 4] = [
        |random| random.unit(),
        |random| random.normal(),
        |random| random.exponential(),
        |random| random.normal().exp(),
    ];

    fn skewed(random: &mut Random, n: usize, shift: f64) -> Vec<f64> {
        (0..n).map(|_| shift + random.exponential()).collect()
    }

    #[test]
    fn equal_programs_are_told_apart_no_more_often_than_stated() {
        let mut random = Random::new(11);
        let sizes = [(6, 6), (8, 8), (10, 10), (20, 20), (9, 14)];
        let mut wrong = 0;
        for round in 0..2000 {
            let ((n, m), noise) = (sizes[round % 5], NOISES[round / 5 % 4]);
            // Both vary together, as programs do that are measured in turn.
            let drift = (round / 20 % 2) as f64;
            let mut sample = |n: usize| -> Vec<f64> {
                (0..n).map(|i| 100.0 + drift * i as f64 + noise(&mut random)).collect()
            };
            let (a, b) = (sample(n), sample(if drift > 0.0 { n } else { m }));
            wrong += usize::from(Test::new(&a, &b, round as u64).chance(1.0) < LEVEL);
        }
        // 100 at most are expected; 30 more are three deviations.
        assert!(wrong <= 130, "{wrong} of 2000");
    }

    #[test]
    fn different_programs_are_told_apart() {
        let mut random = Random::new(13);
        for n in [6, 8, 10, 20] {
            let found = (0..40)
                .filter(|seed| {
                    let (a, b) = (skewed(&mut random, n, 100.0), skewed(&mut random, n, 103.0));
                    Test::new(&a, &b, *seed).chance(1.0) < LEVEL
                })
                .count();
            assert!(found >= 36, "n = {n}: {found} of 40");
        }
        let (a, b) = (skewed(&mut random, 20, 100.0), skewed(&mut random, 20, 103.0));
        let c = compare(&a, &b, 1).unwrap();
        assert!(c.p < 0.001 && c.ratio > 1.02 && c.ratio_interval.low > 1.01 && c.paired, "{c:?}");
        assert!(compare(&a[..5], &b, 1).is_none() && !compare(&a[..9], &b, 1).unwrap().paired);
        let pairs: Vec<(f64, f64)> = a.iter().copied().zip(b).collect();
        let (difference, interval) = paired_difference(&pairs).unwrap();
        assert!(interval.low <= difference && difference <= interval.high && interval.low > 1.0);
    }

    #[test]
    fn what_varies_slowly_falls_out_of_pairs() {
        let mut random = Random::new(17);
        let mut drifting = |from: f64| -> Vec<f64> {
            (0..20).map(|i| from + f64::from(i) + 0.2 * random.normal()).collect()
        };
        let (a, b) = (drifting(100.0), drifting(101.0));
        assert!(compare(&a, &b, 1).unwrap().p < 0.01);
        assert!(compare(&a, &b[1..], 1).unwrap().p > 0.2);
    }

    #[test]
    fn the_ends_of_the_interval_are_where_the_test_turns() {
        let mut random = Random::new(19);
        let (a, b) = (skewed(&mut random, 12, 100.0), skewed(&mut random, 12, 101.0));
        let (c, test) = (compare(&a, &b, 3).unwrap(), Test::new(&a, &b, 3));
        let Interval { low, high } = c.ratio_interval;
        let width = high - low;
        assert!(test.chance(low) >= LEVEL && test.chance(high) >= LEVEL, "{c:?}");
        assert!(test.chance(low - 0.05 * width) < LEVEL && test.chance(high + 0.05 * width) < LEVEL, "{c:?}");
        for n in [6, 8, 10, 12, 20] {
            // Readings without any noise, by a coarse clock.
            let equal = compare(&vec![5.0; n], &vec![5.0; n], 1).unwrap();
            assert!(equal.p == 1.0 && equal.ratio == 1.0 && equal.ratio_interval.high < 1.0001, "{equal:?}");
            let other = compare(&vec![5.0; n], &vec![6.0; n], 1).unwrap();
            assert!(other.p < 0.05 && other.ratio_interval.low > 1.1999, "n = {n}: {other:?}");
        }
        assert!(compare(&[0.0; 8], &[5.0; 8], 1).is_none() && compare(&[5.0; 8], &[0.0; 8], 1).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn neither_order_nor_scale_matters(
            (a, b) in (6usize..14, 6usize..14).prop_flat_map(|(n, m)| {
                let sample = |n| proptest::collection::vec(1.0f64..2.0, n);
                (sample(n), sample(m))
            }),
            by in 1usize..6,
            power in -3i32..4,
        ) {
            // A power of two, so that rounding is the same.
            let moved = |s: &[f64]| -> Vec<f64> {
                let mut s: Vec<f64> = s.iter().map(|x| x * 2f64.powi(power)).collect();
                s.rotate_left(by);
                s
            };
            prop_assert_eq!(compare(&moved(&a), &moved(&b), 5), compare(&a, &b, 5));
        }
    }
}
