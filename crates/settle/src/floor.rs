//! The noise floor of a slot, from runs of fixed programs there.

use crate::disturbances;
use model::{Evidence, Nanos, Noise, NoiseFloor, Observation, Quiet, Reading, Spread};

/// Bounds of both figures of a [`Spread`]: below, no measurement of few runs can be believed; above, the slot is not fit
/// to judge, and the grey zone would be as wide as the limit.
const BOUNDS: [f64; 2] = [0.002, 0.07];

/// A quiet run shows no more than this share of any disturbance, whatever was measured: a floor that was taken on a busy
/// machine must not pass disturbance off as quiet.
const LOUD: f64 = 0.05;
/// The same of switches, per second.
const LOUD_SWITCHES: f64 = 50.0;

/// The noise floor from runs of both control programs on the slot, in the order in which they were made. Disturbed runs are
/// left out if at least five others remain. `None` if a program has fewer than five runs.
pub fn floor_from_runs(compute: &[Observation], memory: &[Observation]) -> Option<NoiseFloor> {
    let (compute, memory) = (&undisturbed(compute)[..], &undisturbed(memory)[..]);
    let all: Vec<&Observation> = compute.iter().chain(memory).collect();
    Some(NoiseFloor { compute: noise(compute)?, memory: noise(memory)?, quiet: quiet(&all), assumed: false })
}

/// At least this many runs make a floor.
const FEWEST: usize = 5;

fn undisturbed(runs: &[Observation]) -> Vec<Observation> {
    let usual = NoiseFloor::assumed();
    let quiet: Vec<Observation> =
        runs.iter().filter(|run| disturbances(run, &usual).is_empty()).cloned().collect();
    if quiet.len() >= FEWEST { quiet } else { runs.to_vec() }
}

fn noise(runs: &[Observation]) -> Option<Noise> {
    let mut times: Vec<f64> = runs.iter().map(|run| run.time.cpu.0 as f64).collect();
    times.sort_by(f64::total_cmp);
    let least = *times.first().filter(|least| **least > 0.0 && times.len() >= FEWEST)?;
    let median = stats::median(&times)?;
    let above: Vec<f64> =
        times.iter().filter(|time| **time > median).map(|time| time / median - 1.0).collect();
    let n = above.len().max(1) as f64;
    // The mean of n exponential values is below the true one by up to two deviations, 2/√n of it.
    let tail = above.iter().sum::<f64>() / n * (1.0 + 2.0 / n.sqrt());
    let bounded = |x: f64| x.clamp(BOUNDS[0], BOUNDS[1]);
    Some(Noise {
        n: runs.len() as u32,
        least: Nanos(least as u64),
        median: Nanos(median as u64),
        spread: Spread { median_excess: bounded(median / least - 1.0), tail_scale: bounded(tail) },
    })
}

/// The 95th percentile of each reading among the runs, per second. Unknown readings say nothing.
fn quiet(runs: &[&Observation]) -> Quiet {
    let per_second = |read: &dyn Fn(&Evidence) -> Option<f64>| {
        let shares: Vec<f64> = runs
            .iter()
            .filter_map(|run| Some(read(&run.evidence)? / (run.time.wall.0.max(1) as f64 / 1e9)))
            .collect();
        stats::quantile(&shares, 0.95).unwrap_or(0.0)
    };
    let time = |read: fn(&Evidence) -> &Reading<Nanos>| {
        per_second(&|evidence: &Evidence| Some(read(evidence).known()?.0 as f64 / 1e9)).min(LOUD)
    };
    Quiet {
        wait_per_second: time(|e| &e.run_queue_wait),
        steal_per_second: time(|e| &e.steal),
        irq_per_second: time(|e| &e.irq),
        foreign_per_second: time(|e| &e.foreign),
        switches_per_second: per_second(&|e| Some(*e.involuntary_switches.known()? as f64))
            .min(LOUD_SWITCHES),
    }
}
