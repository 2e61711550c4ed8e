//! Many machines: how far each lies from its like, how far is too far, which drift, and from where variance comes.

use crate::summary::{all_finite, deviation_of, median, sorted};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// For normal values, Qn times this estimates the standard deviation (Rousseeuw and Croux, "Alternatives to the median
/// absolute deviation", 1993).
const CONSISTENT: f64 = 2.2219;
/// What small samples need on top of it, from 2 to 9 values (Croux and Rousseeuw, "Time-efficient algorithms for two
/// highly robust estimators of scale", 1992); beyond, see [`small_sample`].
const SMALL: [f64; 8] = [0.399, 0.994, 0.512, 0.844, 0.611, 0.857, 0.669, 0.872];
/// A side of a skewed sample has a deviation of its own from so many values on.
const SIDES: usize = 20;
/// But no larger than so many times that of all: of varies on one side, a quarter of all machines would be enough to hide
/// themselves.
const MOST_SKEWED: f64 = 2.0;
/// Degrees of freedom that Qn is worth, as a share of those of the standard deviation. Its efficiency is 0.82 in large
/// samples (Rousseeuw and Croux, 1993), and lower in small ones: found by simulation.
const WORTH: f64 = 0.6;

/// Centre and deviation of machines, which up to half of them being odd does not move much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fleet {
    /// The median.
    pub centre: f64,
    /// One deviation below it.
    pub below: f64,
    /// One deviation above it.
    pub above: f64,
    /// How many machines.
    pub n: usize,
}

impl Fleet {
    /// Of one value from each machine. The deviation is Qn; on a side that reaches farther, that side's median absolute
    /// deviation; and at least `least`. `None` below five values, or where one is not finite.
    pub fn from_values(values: &[f64], least: f64) -> Option<Fleet> {
        if values.len() < 5 || !all_finite(values) {
            return None;
        }
        let (centre, whole) = (median(values)?, qn(values));
        let side = |keep: &dyn Fn(f64) -> bool| {
            let side: Vec<f64> = values.iter().copied().filter(|x| keep(*x)).collect();
            let own = if values.len() < SIDES { 0.0 } else { 1.4826 * deviation_of(&side, centre) };
            own.clamp(whole, MOST_SKEWED * whole).max(least)
        };
        Some(Fleet { centre, below: side(&|x| x <= centre), above: side(&|x| x >= centre), n: values.len() })
    }

    /// How many deviations a value lies above the centre; negative below.
    pub fn z(&self, value: f64) -> f64 {
        let deviation = if value < self.centre { self.below } else { self.above };
        (value - self.centre) / deviation
    }

    /// How far |z| of normal values goes at most in all but a share `chance` of cases in which so many are looked at: the
    /// bound of Bonferroni (Dunn, 1961) on Student's distribution, since the deviation is itself an estimate.
    pub fn threshold(&self, chance: f64, looks: usize) -> f64 {
        student_threshold(chance / looks.max(1) as f64, WORTH * (self.n as f64 - 1.0))
    }
}

/// The scale Qn: about a quarter of all pairs of values lie closer to each other.
fn qn(values: &[f64]) -> f64 {
    let (sorted, n) = (sorted(values), values.len());
    let mut distances: Vec<f64> =
        (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).map(|(i, j)| sorted[j] - sorted[i]).collect();
    let half = n / 2 + 1;
    let rank = half * (half - 1) / 2 - 1;
    let (_, quarter, _) = distances.select_nth_unstable_by(rank, f64::total_cmp);
    CONSISTENT * small_sample(n) * *quarter
}

fn small_sample(n: usize) -> f64 {
    let large = n as f64 / (n as f64 + if n.is_multiple_of(2) { 3.8 } else { 1.4 });
    n.checked_sub(2).and_then(|at| SMALL.get(at)).copied().unwrap_or(large)
}

/// The value that |t| of Student's distribution with so many degrees of freedom exceeds with probability `p`.
fn student_threshold(p: f64, degrees: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees).map_or(f64::INFINITY, |student| -student.inverse_cdf(p / 2.0))
}

/// A trend in readings of one machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Change over the whole time, by the slope.
    pub change: f64,
    /// The slope in units of its own uncertainty were the readings' noise 1, so that machines with unequal times can be
    /// compared: slope times √Σ(t − mean)².
    pub score: f64,
}

/// The trend of readings (time, value): the median of the slopes of all pairs (Theil, 1950; Sen, 1968). `None` below four
/// different times, or where a value is not finite.
pub fn drift(readings: &[(f64, f64)]) -> Option<Drift> {
    let times = sorted(&readings.iter().map(|(time, _)| *time).collect::<Vec<_>>());
    let different = 1 + times.windows(2).filter(|pair| pair[0] < pair[1]).count();
    if readings.len() < 4 || different < 4 || !readings.iter().all(|(t, x)| t.is_finite() && x.is_finite()) {
        return None;
    }
    let pairs = readings.iter().enumerate().flat_map(|(i, a)| readings[..i].iter().map(move |b| (a, b)));
    let slopes: Vec<f64> =
        pairs.filter(|(a, b)| a.0 != b.0).map(|(a, b)| (a.1 - b.1) / (a.0 - b.0)).collect();
    let slope = median(&slopes)?;
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let squares: f64 = times.iter().map(|t| (t - mean).powi(2)).sum();
    Some(Drift { change: slope * (times[times.len() - 1] - times[0]), score: slope * squares.sqrt() })
}

/// From where the variance of readings comes, as variances. What cannot be told apart is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NestedVariance {
    /// From machine to machine.
    pub machine: Option<f64>,
    /// From boot to boot of one machine.
    pub boot: Option<f64>,
    /// From run to run of one boot.
    pub run: Option<f64>,
    /// All together.
    pub total: Option<f64>,
}

/// The variance of readings by machine, boot and run: the analysis of variance of a nested design with random effects and
/// unequal numbers (Searle, Casella and McCulloch, "Variance Components", 1992, chapter 5 and appendix F). An estimate
/// below 0 is 0.
pub fn nested_variance(machines: &[Vec<Vec<f64>>]) -> NestedVariance {
    let machines: Vec<Vec<&[f64]>> = machines
        .iter()
        .map(|boots| boots.iter().map(Vec::as_slice).filter(|runs| !runs.is_empty()).collect::<Vec<_>>())
        .filter(|boots| !boots.is_empty())
        .collect();
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    let (mut readings, mut boots) = (0.0, 0.0);
    let (mut squares_n, mut squares_m, mut ratio) = (0.0, 0.0, 0.0);
    let (mut within, mut between_boots, mut total) = (0.0, 0.0, 0.0);
    for machine in &machines {
        let n = machine.iter().map(|runs| runs.len()).sum::<usize>() as f64;
        let mean = machine.iter().map(|runs| sum(runs)).sum::<f64>() / n;
        for runs in machine {
            let (m, own) = (runs.len() as f64, sum(runs) / runs.len() as f64);
            within += runs.iter().map(|x| (x - own).powi(2)).sum::<f64>();
            between_boots += m * (own - mean).powi(2);
            squares_n += m * m;
            ratio += m * m / n;
        }
        (readings, boots) = (readings + n, boots + machine.len() as f64);
        squares_m += n * n;
        total += mean * n;
    }
    let count = machines.len() as f64;
    let mean = total / f64::max(readings, 1.0);
    let between: f64 = machines
        .iter()
        .map(|machine| {
            let n = machine.iter().map(|runs| runs.len()).sum::<usize>() as f64;
            n * (machine.iter().map(|runs| sum(runs)).sum::<f64>() / n - mean).powi(2)
        })
        .sum();
    let (of_runs, of_boots, of_machines) = (readings - boots, boots - count, count - 1.0);
    if of_machines < 1.0 || of_runs < 1.0 && of_boots < 1.0 {
        return NestedVariance::default();
    }
    let run = if of_runs < 1.0 { 0.0 } else { within / of_runs };
    let boot = match of_boots < 1.0 {
        true => 0.0,
        false => ((between_boots / of_boots - run) / ((readings - ratio) / of_boots)).max(0.0),
    };
    let of_boot = (ratio - squares_n / readings) / of_machines;
    let of_machine = (readings - squares_m / readings) / of_machines;
    let machine = ((between / of_machines - run - of_boot * boot) / of_machine).max(0.0);
    NestedVariance {
        machine: Some(machine),
        boot: Some(boot).filter(|_| of_boots >= 1.0 && of_runs >= 1.0),
        run: Some(run).filter(|_| of_runs >= 1.0),
        total: Some(machine + boot + run),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn thresholds_are_those_of_tables() {
        // Two-sided critical values of Student's distribution, as printed in tables.
        for (p, degrees, t) in [
            (0.05, 1.0, 12.706),
            (0.05, 5.0, 2.571),
            (0.01, 10.0, 3.169),
            (0.001, 30.0, 3.646),
            (0.05, 1e4, 1.960),
            (0.001, 2.0, 31.599),
            (0.317_310_5, 1e4, 1.0),
        ] {
            let found = student_threshold(p, degrees);
            assert!((found - t).abs() < 1e-3 * t, "{p} {degrees}: {found}");
        }
        // Normal: 4.8916 at 1e-6.
        assert!((student_threshold(1e-6, 1e5) - 4.8916).abs() < 1e-3);
    }

    #[test]
    fn normal_machines_pass_the_threshold_as_rarely_as_stated() {
        let mut random = Random::new(7);
        for n in [5, 6, 8, 12, 30, 100] {
            let alarms = (0..1000)
                .filter(|_| {
                    let values: Vec<f64> = (0..n).map(|_| random.normal()).collect();
                    let fleet = Fleet::from_values(&values, 0.0).unwrap();
                    let far = fleet.threshold(0.05, n);
                    values.iter().any(|x| fleet.z(*x).abs() > far)
                })
                .count();
            // 50 are stated at most; 20 more are three deviations.
            assert!(alarms <= 70, "{n}: {alarms} of 1000");
        }
    }

    #[test]
    fn a_deviation_is_estimated_rightly_and_minds_no_strays() {
        let mut random = Random::new(3);
        for n in [6, 9, 40, 300] {
            let mean = (0..300)
                .map(|_| qn(&(0..n).map(|_| 5.0 + 2.0 * random.normal()).collect::<Vec<_>>()))
                .sum::<f64>()
                / 300.0;
            assert!((mean - 2.0).abs() < 0.12, "{n}: {mean}");
        }
        let mut values: Vec<f64> = (0..30).map(|_| random.normal()).collect();
        values[..10].iter_mut().for_each(|x| *x = 1e6);
        let fleet = Fleet::from_values(&values, 0.0).unwrap();
        assert!(fleet.above < 6.0 && fleet.z(1e6) > 1e4, "{fleet:?}");
        let skewed: Vec<f64> = (0..300).map(|_| random.exponential()).collect();
        let fleet = Fleet::from_values(&skewed, 0.0).unwrap();
        assert!(fleet.above > 1.15 * fleet.below, "{fleet:?}");
        assert_eq!(Fleet::from_values(&[1.0; 4], 0.0), None);
        let equal = Fleet::from_values(&[1.0; 5], 0.25).unwrap();
        assert_eq!((equal.z(2.0), equal.z(0.5)), (4.0, -2.0));
    }

    #[test]
    fn a_drift_is_the_usual_slope() {
        let line: Vec<(f64, f64)> = (0..6).map(|t| (f64::from(t) * 10.0, 2.0 + 0.3 * f64::from(t))).collect();
        let found = drift(&line).unwrap();
        assert!((found.change - 1.5).abs() < 1e-12, "{found:?}");
        // Σ(t − mean)² of 0, 10 … 50 is 1750.
        assert!((found.score - 0.03 * 1750f64.sqrt()).abs() < 1e-12, "{found:?}");
        let mut odd = line.clone();
        odd[2].1 = 99.0;
        assert!((drift(&odd).unwrap().change - 1.5).abs() < 0.2);
        assert_eq!(drift(&line[..3]), None);
        assert_eq!(drift(&[(1.0, 1.0), (1.0, 2.0), (2.0, 3.0), (3.0, 4.0)]), None);
    }

    #[test]
    fn variance_comes_from_where_it_was_put() {
        let mut random = Random::new(5);
        let machines: Vec<Vec<Vec<f64>>> = (0..400)
            .map(|n| {
                let machine = 3.0 * random.normal();
                let boots = (0..2 + n % 3).map(|b| (machine + 2.0 * random.normal(), 2 + (n + b) % 3));
                let boots: Vec<(f64, usize)> = boots.collect();
                boots
                    .iter()
                    .map(|(boot, runs)| (0..*runs).map(|_| boot + random.normal()).collect())
                    .collect()
            })
            .collect();
        let found = nested_variance(&machines);
        for (found, put) in [(found.machine, 9.0), (found.boot, 4.0), (found.run, 1.0), (found.total, 14.0)] {
            let found = found.unwrap();
            assert!((found / put - 1.0).abs() < 0.2, "{found} {put}");
        }
        let one_boot: Vec<_> = machines.iter().map(|boots| boots[..1].to_vec()).collect();
        let found = nested_variance(&one_boot);
        assert!(found.boot.is_none() && (found.machine.unwrap() / 13.0 - 1.0).abs() < 0.2, "{found:?}");
        let one_run: Vec<Vec<Vec<f64>>> =
            machines.iter().map(|boots| boots.iter().map(|runs| runs[..1].to_vec()).collect()).collect();
        let found = nested_variance(&one_run);
        assert!(
            found.run.is_none() && found.boot.is_none() && (found.machine.unwrap() / 9.0 - 1.0).abs() < 0.25
        );
        assert_eq!(nested_variance(&machines[..1]), NestedVariance::default());
        assert_eq!(nested_variance(&[vec![vec![1.0]], vec![vec![2.0]]]), NestedVariance::default());
    }
}
