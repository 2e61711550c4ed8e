//! What the runs came to. Pure.

use super::{SEED, charge};
use model::{
    BenchComparison, BenchOutlier, BenchRun, BenchWarning, Benched, Clock, CpuLoad, Exit, Figures, HostLoad,
    Limits, Nanos, Observation, Reading, Status,
};
use settle::{Cause, NoiseFloor, disturbances};
use stats::Summary;

/// Fewer runs do not say how far runs vary.
const LEAST_OTHERS: usize = 4;
/// Robust deviations above the median of the others at which a run is beyond their band, as for outliers.
const FAR: f64 = 3.5;
/// A difference below this part of the median is never looked into.
const TRIFLE: f64 = 0.001;
/// Values of a series whose shape is looked at: the tests take the square of their number.
const MOST_OF_SHAPE: usize = 1000;
/// Runs that vary by less than this, in percent (their coefficient of variation), may be as alike as they like.
const VARIES: f64 = 1.0;
/// A CPU is called busy from here on, in percent of the time.
const BUSY: f64 = 25.0;
/// Runs that waited longer than this, in percent of their wall time, had no CPU to themselves.
const WAITED: f64 = 5.0;
/// Runs below this are mostly start-up and clock.
const SHORT: Nanos = Nanos::from_millis(2);
/// Chance of a false difference among all comparisons of a bench. Below 5 %, which is promised, since neighbouring runs on a
/// busy machine are not independent, as the test supposes (tests/against_itself.rs).
const LEVEL: f64 = 0.02;

/// A program as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The same as one line.
    pub shown: String,
    /// Name and value of each parameter filled in.
    pub parameters: Vec<(String, String)>,
}

/// What was asked for, and is warned of where it was not reached.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BenchTargets {
    /// Runs that count.
    pub runs: Option<usize>,
    /// Half the interval of the median, in percent of it.
    pub ci: Option<f64>,
    /// How often the interval was looked at, at most, to decide whether to go on: [`super::Plan::looks`].
    pub looks: usize,
}

/// What the runs of each program came to.
pub fn benched(
    programs: &[Program],
    kept: Vec<Vec<BenchRun>>,
    clock: Clock,
    limits: &Limits,
    floor: &NoiseFloor,
    asked: BenchTargets,
) -> Vec<Benched> {
    let samples: Vec<Vec<f64>> = kept.iter().map(|runs| counted(runs, clock)).collect();
    let comparisons = programs.len().saturating_sub(1);
    let one = |(n, (program, runs)): (usize, (&Program, Vec<BenchRun>))| {
        let mut of = one(program, runs, clock, limits, floor, asked);
        if n > 0 {
            of.comparison = comparison(&samples[0], &samples[n], comparisons);
        }
        of
    };
    programs.iter().zip(kept).enumerate().map(one).collect()
}

fn one(
    program: &Program,
    runs: Vec<BenchRun>,
    clock: Clock,
    limits: &Limits,
    floor: &NoiseFloor,
    asked: BenchTargets,
) -> Benched {
    let valid: Vec<&Observation> = runs.iter().filter(|run| !run.void).map(|run| &run.observation).collect();
    let figures =
        |sample: &[f64]| Reading::from_option(figures(sample, asked.looks), || "no run finished".into());
    let charged = figures(&counted(&runs, clock));
    let wall = figures(&valid.iter().map(|run| run.time.wall.0 as f64).collect::<Vec<_>>());
    let mut warnings = shape(&runs, clock);
    warnings.extend(waiting(&valid));
    warnings.extend(
        charged.known().filter(|f| f.median < SHORT).map(|f| BenchWarning::Short { median: f.median }),
    );
    warnings.extend(failing(&valid, limits));
    warnings.extend(asked.ci.and_then(|asked| too_wide(&charged, asked)));
    let (void_runs, valid) = (runs.len() - valid.len(), valid.len());
    let missing = asked.runs.is_some_and(|asked| valid < asked);
    warnings.extend(missing.then_some(BenchWarning::TooManyVoid { void: void_runs, counted: valid }));
    let outliers = outliers(&runs, clock, floor);
    Benched {
        command: program.shown.clone(),
        parameters: program.parameters.clone(),
        runs,
        charged,
        wall,
        outliers,
        warnings,
        comparison: None,
    }
}

/// Charges of the runs that count.
pub(super) fn counted(runs: &[BenchRun], clock: Clock) -> Vec<f64> {
    runs.iter().filter(|run| !run.void).filter_map(|run| charge(run, clock)).collect()
}

/// The charge from which on a disturbed run is discarded: the end of the band of the undisturbed runs, or of all where too few
/// are undisturbed. So a disturbed run among its like counts, since what it lost cannot be seen; and no undisturbed one
/// is ever discarded, since that is how the program is. `None` while there are too few runs of any kind.
pub(super) fn void_from(runs: &[BenchRun], clock: Clock) -> Option<f64> {
    let time = |run: &BenchRun| charge(run, clock);
    let quiet: Vec<f64> = runs.iter().filter(|run| run.disturbed.is_empty()).filter_map(time).collect();
    let all = || runs.iter().filter_map(time).collect::<Vec<f64>>();
    match quiet.len() >= LEAST_OTHERS {
        true => Some(upper_end(&quiet)),
        false => (runs.len() > LEAST_OTHERS).then(|| upper_end(&all())),
    }
}

/// Where the band of a sample ends: its deviation above the median is what counts, since times are skewed.
fn upper_end(sample: &[f64]) -> f64 {
    let median = stats::median(sample).unwrap_or(0.0);
    let above: Vec<f64> = sample.iter().filter(|time| **time >= median).map(|time| time - median).collect();
    let deviation = 1.4826 * stats::median(&above).unwrap_or(0.0);
    median + (FAR * deviation).max(TRIFLE * median)
}

/// Figures of times in nanoseconds, whose interval was looked at so often; `None` without times.
pub fn figures(sample: &[f64], looks: usize) -> Option<Figures> {
    let summary = Summary::from_sample(sample)?;
    let nanos = |ns: f64| Nanos(ns.round().max(0.0) as u64);
    let interval = stats::median_interval(sample, looks).map(|i| [nanos(i.low), nanos(i.high)]);
    Some(Figures {
        min: nanos(summary.min),
        median: nanos(summary.median),
        max: nanos(summary.max),
        spread: nanos(summary.spread),
        spread_pct: summary.spread_pct,
        cv_pct: summary.cv_pct,
        mad_pct: summary.mad_pct,
        median_ci95: Reading::from_option(interval, || "too few runs".into()),
    })
}

/// Runs that stand apart from those that count, each with its causes.
fn outliers(runs: &[BenchRun], clock: Clock, floor: &NoiseFloor) -> Vec<BenchOutlier> {
    let sample = counted(runs, clock);
    let Some(median) = stats::median(&sample) else { return Vec::new() };
    let valid: Vec<usize> = (0..runs.len()).filter(|n| !runs[*n].void).collect();
    let mut apart: Vec<usize> =
        stats::outliers(&sample, TRIFLE * median).iter().map(|outlier| valid[outlier.index]).collect();
    apart.extend((0..runs.len()).filter(|n| runs[*n].void));
    apart.sort_unstable();
    let ledger = |n: usize| {
        let excess_ns = charge(&runs[n], clock)? as i64 - median.round() as i64;
        let causes = disturbances(&runs[n].observation, floor);
        // What disturbs a run adds time, and no counts.
        let causes = if clock.varies() { &causes[..] } else { &[] };
        let explained_by = shares(causes, Nanos(excess_ns.max(0) as u64));
        let explained: u64 = explained_by.iter().map(|(_, time)| time.0).sum();
        let unexplained_ns = excess_ns - explained as i64;
        Some(BenchOutlier { run: n + 1, excess_ns, explained_by, unexplained_ns })
    };
    apart.into_iter().filter_map(ledger).collect()
}

/// What each cause can explain of an excess. The evidence bounds each cause; where the bounds come to more than there is,
/// each explains its share.
fn shares(causes: &[Cause], excess: Nanos) -> Vec<(String, Nanos)> {
    let shared = causes.iter().filter(|c| c.name.is_by_switches()).max_by_key(|c| c.bound);
    let own = causes.iter().filter(|c| !c.name.is_by_switches());
    let mut counted: Vec<&Cause> = own.chain(shared).filter(|c| c.bound > Nanos::ZERO).collect();
    counted.sort_by_key(|cause| std::cmp::Reverse(cause.bound));
    let sum = counted.iter().fold(Nanos::ZERO, |sum, cause| sum + cause.bound);
    let part = (excess.0 as f64 / sum.0.max(1) as f64).min(1.0);
    let share = |cause: &Cause| Nanos((cause.bound.0 as f64 * part).floor() as u64);
    let shares = counted.iter().map(|cause| (cause.name.to_string(), share(cause)));
    shares.filter(|(_, time)| *time > Nanos::ZERO).collect()
}

/// What the series looks like in the order in which it was measured. Discarded runs are left out; of very many, every n-th tells
/// as much.
fn shape(runs: &[BenchRun], clock: Clock) -> Vec<BenchWarning> {
    let valid: Vec<usize> = (0..runs.len()).filter(|n| !runs[*n].void).collect();
    let valid: Vec<usize> =
        valid.iter().copied().step_by(valid.len().div_ceil(MOST_OF_SHAPE).max(1)).collect();
    let series: Vec<f64> = valid.iter().filter_map(|n| charge(&runs[*n], clock)).collect();
    let nanos = |ns: f64| Nanos(ns.round() as u64);
    let warning = |warning: &stats::Warning| match *warning {
        stats::Warning::SlowStart { ratio } => BenchWarning::SlowStart { ratio },
        stats::Warning::Trend { percent } => BenchWarning::Trend { percent },
        stats::Warning::TwoModes { low, high } => {
            BenchWarning::TwoModes { low: nanos(low), high: nanos(high) }
        }
        stats::Warning::Shift { at, ratio } => BenchWarning::Shift { run: valid[at] + 1, ratio },
    };
    // The kernel counts CPU time in steps of a nanosecond or so: far finer than any noise.
    let mut warnings: Vec<BenchWarning> = stats::shape(&series, SEED).warnings.iter().map(warning).collect();
    // A trend or a new level correlates neighbours too, and says more.
    let drifts = |w: &BenchWarning| matches!(w, BenchWarning::Trend { .. } | BenchWarning::Shift { .. });
    let cv_pct = Summary::from_sample(&series).map_or(0.0, |summary| summary.cv_pct);
    if cv_pct >= VARIES && !warnings.iter().any(drifts) {
        let correlation = stats::correlated(&series, SEED);
        warnings.extend(correlation.map(|correlation| BenchWarning::Correlated { correlation }));
    }
    warnings
}

fn waiting(runs: &[&Observation]) -> Option<BenchWarning> {
    let known = runs.iter().filter_map(|run| Some((run.evidence.run_queue_wait.known()?.0, run.time.wall.0)));
    let (waited, wall) = known.fold((0, 0), |sum, (wait, wall)| (sum.0 + wait, sum.1 + wall));
    let percent = (100.0 * waited as f64 / wall.max(1) as f64).min(100.0);
    (percent > WAITED).then_some(BenchWarning::Waiting { percent })
}

fn failing(runs: &[&Observation], limits: &Limits) -> Option<BenchWarning> {
    let bad: Vec<&&Observation> = runs.iter().filter(|run| run.status(limits) != Status::Ok).collect();
    let how = how_it_ended(bad.first()?, limits);
    Some(BenchWarning::Failing { runs: bad.len(), how })
}

/// How a run ended that did not end well, in words.
pub fn how_it_ended(run: &Observation, limits: &Limits) -> String {
    match (run.status(limits), run.exit) {
        (Status::CpuTimeLimit, _) => "CPU time limit exceeded".into(),
        (Status::WallTimeLimit, _) => "wall time limit exceeded".into(),
        (Status::MemoryLimit, _) => "memory limit exceeded".into(),
        (Status::OutputLimit, _) => "output limit exceeded".into(),
        (_, Exit::Code(code)) => format!("exited with code {code}"),
        (_, Exit::Signal(signal)) => format!("ended by signal {signal}"),
    }
}

fn too_wide(charged: &Reading<Figures>, asked_pct: f64) -> Option<BenchWarning> {
    let reached = |f: &Figures| {
        let [low, high] = f.median_ci95.known()?;
        Some(100.0 * (*high - *low).0 as f64 / 2.0 / f.median.0.max(1) as f64)
    };
    let reached_pct = charged.known().and_then(reached);
    let wide = reached_pct.is_none_or(|percent| percent > asked_pct);
    let reached_pct = Reading::from_option(reached_pct, || "too few runs".into());
    wide.then_some(BenchWarning::IntervalTooWide { asked_pct, reached_pct })
}

fn comparison(first: &[f64], other: &[f64], comparisons: usize) -> Option<BenchComparison> {
    let seen = stats::compare(first, other, SEED)?;
    let interval = seen.ratio_interval;
    // Bonferroni: many comparisons together are wrong no more often than one.
    let different = seen.p < LEVEL / comparisons.max(1) as f64;
    Some(BenchComparison {
        ratio: seen.ratio,
        ratio_ci95: [interval.low, interval.high],
        p: seen.p,
        different,
    })
}

/// What to say of a machine that was so busy with other work, when runs took place on these of its CPUs.
pub fn machine_warnings(load: &Reading<HostLoad>, ours: &[u32]) -> Vec<BenchWarning> {
    let load = match load {
        Reading::Known(load) => load,
        Reading::Unknown(why) => return vec![BenchWarning::UnknownLoad { why: why.to_string() }],
    };
    let busy: Vec<CpuLoad> = load.cpus.iter().filter(|cpu| cpu.busy_pct >= BUSY).copied().collect();
    if busy.is_empty() {
        return Vec::new();
    }
    let ours = busy.iter().any(|cpu| ours.contains(&cpu.cpu));
    let load_average = load.load_average.clone();
    vec![BenchWarning::SaturatedCores { busy, of: load.cpus.len(), ours, load_average }]
}
