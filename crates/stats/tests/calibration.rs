//! What the tests and intervals promise, counted on made-up samples. Bounds are the promised share with three deviations
//! of the count above it (below it, for coverage), so that a right rule passes whatever the seed.

use stats::{Interval, Random, Warning, compare, correlated, median_interval, more_runs, shape, shape_of};

type Noise = fn(&mut Random) -> f64;

/// Single-moded shapes of noise, from short tails to long ones.
const NOISES: [Noise; 5] = [
    |random| random.unit(),
    |random| random.normal(),
    |random| random.exponential(),
    |random| (0.5 * random.normal()).exp(),
    |random| random.normal().exp(),
];

fn series(n: usize, random: &mut Random, noise: Noise) -> Vec<f64> {
    (0..n).map(|_| 100.0 + noise(random)).collect()
}

/// At most so many of `rounds` when each happens with this probability, but for one test in a thousand.
fn at_most(share: f64, rounds: usize) -> usize {
    let rounds = rounds as f64;
    (share * rounds + 3.0 * (rounds * share * (1.0 - share)).sqrt()).ceil() as usize
}

fn holds(interval: Interval, value: f64) -> bool {
    interval.low <= value && value <= interval.high
}

fn name(warning: &Warning) -> &'static str {
    match warning {
        Warning::SlowStart { .. } => "slow start",
        Warning::Trend { .. } => "trend",
        Warning::TwoModes { .. } => "two modes",
        Warning::Shift { .. } => "shift",
    }
}

#[test]
fn a_coarse_clock_makes_no_two_modes() {
    let mut random = Random::new(101);
    let mut wrong = 0;
    let sizes = [10, 20, 40, 80];
    for seed in 0..600 {
        let n = sizes[seed % sizes.len()];
        let rounded: Vec<f64> = (0..n).map(|_| 100.0 + random.exponential().round()).collect();
        let found = shape_of(&rounded, 1.0, seed as u64).warnings;
        wrong += usize::from(found.iter().any(|w| matches!(w, Warning::TwoModes { .. })));
    }
    assert!(wrong <= at_most(0.01, 600), "{wrong} of 600");
    // Two groups with two units of nothing between them are two groups all the same.
    let two: Vec<f64> = (0..30).map(|_| if random.unit() < 0.5 { 100.0 } else { 103.0 }).collect();
    let found = shape_of(&two, 1.0, 1).warnings;
    assert!(matches!(found[..], [Warning::TwoModes { low: 100.0, high: 103.0 }]), "{found:?}");
}

#[test]
fn the_median_is_held_as_often_as_promised() {
    let mut random = Random::new(102);
    let truth = std::f64::consts::LN_2;
    for n in 6..=20 {
        let rounds = 1500;
        let missed = (0..rounds)
            .filter(|_| {
                let sample: Vec<f64> = (0..n).map(|_| random.exponential()).collect();
                !median_interval(&sample, 1).is_some_and(|i| holds(i, truth))
            })
            .count();
        // Never below 94 %, and the rounds tell 94 from 95 %.
        assert!(missed <= 90, "n = {n}: missed {missed} of {rounds}");
    }
}

#[test]
fn stopping_when_it_is_narrow_costs_no_coverage() {
    let mut random = Random::new(103);
    let (most, rounds, truth) = (60, 500, 10.0 + std::f64::consts::LN_2);
    let (mut stopped, mut held) = (0, 0);
    for _ in 0..rounds {
        let mut sample: Vec<f64> = Vec::new();
        while sample.len() < most {
            sample.push(10.0 + random.exponential());
            if more_runs(&sample, 5.0, most) == Some(0) {
                stopped += 1;
                held += usize::from(median_interval(&sample, most).is_some_and(|i| holds(i, truth)));
                break;
            }
        }
    }
    assert!(stopped > 400, "stopped early {stopped} times of {rounds}");
    assert!(held as f64 >= 0.93 * stopped as f64, "{held} of {stopped}");
}

#[test]
fn chance_and_interval_agree() {
    let mut random = Random::new(105);
    let sizes = [(6, 6), (7, 9), (12, 12)];
    let mut differ = 0;
    for round in 0..120 {
        let (n, m) = sizes[round % sizes.len()];
        let noise = NOISES[round % NOISES.len()];
        let a = series(n, &mut random, noise);
        let by = 1.0 + 0.01 * (round % 4) as f64;
        let b: Vec<f64> = series(m, &mut random, noise).iter().map(|x| x * by).collect();
        let c = compare(&a, &b, round as u64).unwrap();
        assert_eq!(c.p < 0.05, !holds(c.ratio_interval, 1.0), "{c:?}");
        assert!(holds(c.ratio_interval, c.ratio), "{c:?}");
        differ += usize::from(c.p < 0.05);
    }
    assert!((30..=110).contains(&differ), "{differ}");
}

#[test]
fn noise_is_warned_of_in_three_samples_of_a_hundred_at_most() {
    let mut random = Random::new(106);
    let sizes = [8, 10, 15, 20, 40];
    let rounds = 1500;
    let mut counts = std::collections::BTreeMap::new();
    let mut any = 0;
    for round in 0..rounds {
        let (noise, n) = (NOISES[round % NOISES.len()], sizes[round / NOISES.len() % sizes.len()]);
        let sample = series(n, &mut random, noise);
        let mut found: Vec<&str> = shape(&sample, round as u64).warnings.iter().map(name).collect();
        found.extend(correlated(&sample, round as u64).map(|_| "correlated"));
        any += usize::from(!found.is_empty());
        for name in found {
            *counts.entry(name).or_insert(0) += 1;
        }
    }
    assert!(any <= at_most(0.03, rounds), "{any} of {rounds}: {counts:?}");
    for (name, count) in &counts {
        assert!(*count <= at_most(0.01, rounds), "{name}: {count} of {rounds}");
    }
}

#[test]
fn what_cannot_be_said_is_not_said() {
    let even = [7.0; 12];
    let spread: Vec<f64> = (0..12).map(f64::from).collect();
    assert_eq!(more_runs(&spread, 0.0, 1), None);
    assert_eq!(more_runs(&spread, -1.0, 1), None);
    assert_eq!(more_runs(&spread, f64::NAN, 1), None);
    assert_eq!(more_runs(&spread, 1e-9, 1), None);
    assert_eq!(more_runs(&[0.0; 12], 1.0, 1), None);
    assert_eq!(more_runs(&even, 1.0, 1), Some(0));
    assert!(compare(&even[..5], &even, 0).is_none() && compare(&even, &even[..5], 0).is_none());
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut sample = spread.clone();
        sample[3] = odd;
        assert_eq!(median_interval(&sample, 1), None);
        assert_eq!(stats::median(&sample), None);
        assert_eq!(stats::Summary::from_sample(&sample), None);
        assert_eq!(stats::robust_z(&sample), None);
        assert!(compare(&sample, &even, 0).is_none() && compare(&even, &sample, 0).is_none());
        assert_eq!(shape(&[odd; 20], 0).warnings, []);
        assert!(stats::outliers(&[7.0, 7.0, odd, 7.0], 1.0).is_empty());
    }
}
