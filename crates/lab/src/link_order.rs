//! How much a program's time depends on the order in which its objects are linked (Mytkowicz et al., ASPLOS 2009, section 4.2):
//! the orders, and what their runs came to.

mod build;

pub use build::{BuildError, Inputs, LinkPlan, prepare};

use crate::bench::figures;
use crate::halves::agree;
use model::{LayoutClock, LinkOrder, Observation, OrderComparison, Reading};
use stats::{Random, chance, range};

/// Chance of calling any order different when none is.
const LEVEL: f64 = 0.05;
const SEED: u64 = 20_261_121;

/// At most `wanted` different orders of so many objects, each with its seed: first the one in which they were given, of seed
/// 0, then shuffled ones. Fewer where there are not as many.
pub fn orders(objects: usize, wanted: usize, seed: u64) -> Vec<(u64, Vec<usize>)> {
    let given: Vec<usize> = (0..objects).collect();
    let mut orders = vec![(0, given.clone())];
    let possible = (1..=objects).try_fold(1usize, |all, n| all.checked_mul(n)).unwrap_or(usize::MAX);
    // Shuffles repeat each other where there are few orders; all are met in time.
    for own in seed..seed.saturating_add(100 * wanted as u64) {
        if orders.len() >= wanted.min(possible) {
            break;
        }
        let mut order = given.clone();
        Random::new(own).shuffle(&mut order);
        if orders.iter().all(|(_, other)| *other != order) {
            orders.push((own, order));
        }
    }
    orders
}

/// What the runs of all orders came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Each order.
    pub orders: Vec<LinkOrder>,
    /// What they are compared by: cycles where those of every run were counted, since the frequency does not change them.
    pub clock: LayoutClock,
    /// How much the order moves the program: greatest less least median, in percent of their mean.
    pub sensitivity_pct: Reading<f64>,
    /// What chance makes of that.
    pub chance_pct: Reading<f64>,
}

/// Compares the orders by their runs.
pub fn compared(orders: &[(u64, Vec<usize>)], runs: Vec<Vec<(Observation, bool)>>) -> Compared {
    let counted_cycles = runs.iter().flatten().all(|(run, _)| run.cycles.known().is_some());
    let clock = if counted_cycles { LayoutClock::Cycles } else { LayoutClock::CpuNs };
    let cpu = |run: &Observation| run.time.cpu.0 as f64;
    let by_clock = |run: &Observation| match (clock, run.cycles.known()) {
        (LayoutClock::Cycles, Some(cycles)) => *cycles as f64,
        _ => cpu(run),
    };
    let samples: Vec<Vec<f64>> = runs.iter().map(|runs| counted(runs, by_clock)).collect();
    let level = LEVEL / orders.len().saturating_sub(1).max(1) as f64;
    let one = |n: usize, (seed, order): &(u64, Vec<usize>), runs: Vec<(Observation, bool)>| LinkOrder {
        seed: *seed,
        order: order.clone(),
        cpu: Reading::from_option(figures(&counted(&runs, cpu), 1), || "no run finished".into()),
        cycles: cycles(&runs),
        n: samples[n].len(),
        against_given: (n > 0).then(|| against(&samples[0], &samples[n], level)).flatten(),
        runs,
    };
    let of: Vec<LinkOrder> =
        orders.iter().zip(runs).enumerate().map(|(n, (order, runs))| one(n, order, runs)).collect();
    let slices: Vec<&[f64]> = samples.iter().map(|sample| &**sample).collect();
    let medians: Vec<f64> = samples.iter().filter_map(|sample| stats::median(sample)).collect();
    let mean = medians.iter().sum::<f64>() / medians.len().max(1) as f64;
    let percent = |range: Option<f64>| {
        let known = range.filter(|_| mean > 0.0).map(|range| 100.0 * range / mean);
        Reading::from_option(known, || "too few runs".into())
    };
    let (sensitivity_pct, chance_pct) = (percent(range(&slices)), percent(chance(&slices)));
    Compared { orders: of, clock, sensitivity_pct, chance_pct }
}

/// Values of the runs that count; of all where fewer than half do, since what disturbed those disturbs always.
fn counted(runs: &[(Observation, bool)], value: impl Fn(&Observation) -> f64) -> Vec<f64> {
    let enough = 2 * runs.iter().filter(|run| run.1).count() >= runs.len();
    runs.iter().filter(|run| run.1 || !enough).map(|run| value(&run.0)).collect()
}

fn cycles(runs: &[(Observation, bool)]) -> Reading<u64> {
    let mut known = Vec::new();
    for (run, _) in runs {
        match &run.cycles {
            Reading::Known(cycles) => known.push(*cycles as f64),
            Reading::Unknown(why) => return Reading::Unknown(why.clone()),
        }
    }
    Reading::from_option(stats::median(&known).map(|median| median.round() as u64), || {
        "no run finished".into()
    })
}

fn against(given: &[f64], other: &[f64], level: f64) -> Option<OrderComparison> {
    let seen = stats::compare(given, other, SEED)?;
    let ratio_ci95 = [seen.ratio_interval.low, seen.ratio_interval.high];
    let half =
        |given: &[f64], other: &[f64]| stats::compare(given, other, SEED).map(|c| (c.p, c.ratio > 1.0));
    let different = seen.p < level && agree(given, other, half);
    Some(OrderComparison { ratio: seen.ratio, ratio_ci95, different })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Exit, Nanos};

    #[test]
    fn orders_differ_and_begin_with_the_given_one() {
        for (objects, wanted, expected) in [(1, 5, 1), (2, 5, 2), (3, 5, 5), (3, 16, 6), (40, 16, 16)] {
            let all = orders(objects, wanted, 1);
            assert_eq!(all.len(), expected, "{objects} objects");
            assert_eq!(all[0], (0, (0..objects).collect()));
            for (n, (_, order)) in all.iter().enumerate() {
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, all[0].1);
                assert!(all[..n].iter().all(|(_, other)| other != order));
            }
        }
        assert_eq!(orders(9, 4, 1), orders(9, 4, 1));
        assert_ne!(orders(9, 4, 1), orders(9, 4, 5));
    }

    /// Twenty runs of each of four orders. `base`: of an order, in a round.
    fn compared_to(base: impl Fn(usize, usize) -> f64) -> Compared {
        let mut random = Random::new(1);
        let mut run = |base: f64| {
            let cpu = Nanos((base * (1.0 + 0.01 * random.exponential())) as u64);
            (Observation::unread(Exit::Code(0), cpu, "made up"), true)
        };
        let runs = (0..4).map(|order| (0..20).map(|round| run(base(order, round))).collect()).collect();
        compared(&orders(5, 4, 1), runs)
    }

    fn different(found: &Compared) -> Vec<bool> {
        found.orders.iter().map(|order| order.against_given.is_some_and(|a| a.different)).collect()
    }

    #[test]
    fn an_order_that_is_slow_in_half_of_its_runs_is_not_named() {
        for half in [0..10, 10..20] {
            let found =
                compared_to(|order, round| if order == 2 && half.contains(&round) { 1.3e8 } else { 1e8 });
            let ratio = found.orders[2].against_given.unwrap().ratio;
            assert!(ratio > 1.02, "all runs together show it: {ratio}");
            assert_eq!(different(&found), [false; 4]);
        }
    }

    #[test]
    fn the_slow_order_is_named() {
        let found = compared_to(|order, _| if order == 2 { 1.07e8 } else { 1e8 });
        assert_eq!(found.clock, LayoutClock::CpuNs);
        assert_eq!(different(&found), [false, false, true, false]);
        let (seen, by_chance) = (*found.sensitivity_pct.known().unwrap(), *found.chance_pct.known().unwrap());
        assert!((6.0..8.0).contains(&seen) && by_chance < 1.5, "{seen} {by_chance}");
    }
}
