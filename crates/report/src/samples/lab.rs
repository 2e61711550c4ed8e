//! Experiments for tests.

use model::{
    BenchEnd, Clock, ConsistencyCell, ConsistencyReport, ConsistencyVerdicts, Exit, LayoutClock, LayoutPeak,
    LayoutPoint, LayoutReport, LinkOrder, LinkOrderReport, Nanos, Observation, OrderComparison, Reading,
    Vary,
};

fn machine() -> Vec<(String, String)> {
    vec![("processor".into(), "Example <CPU> 9".into()), ("kernel".into(), "6.1.0".into())]
}

/// One program, idle and loaded, by two clocks.
pub(crate) fn consistency(name: &str) -> ConsistencyReport {
    let cell = |load: &str, clock: Clock, runs: [u64; 4], cv: f64, flips: [f64; 2]| ConsistencyCell {
        program: "compute".into(),
        load: load.into(),
        clock,
        runs: runs.to_vec(),
        median: 100_000_000,
        usual: 100_000_000,
        spread_pct: (runs[3] - runs[0]) as f64 / 1e6,
        cv_pct: Reading::Known(cv),
        verdicts: [5.0, 20.0]
            .map(|above_pct| ConsistencyVerdicts {
                above_pct,
                single_pct: if above_pct < 20.0 { flips[0] } else { 0.0 },
                settled_pct: if above_pct < 20.0 { flips[1] } else { 0.0 },
            })
            .to_vec(),
    };
    let same = [100_000_000; 4];
    ConsistencyReport {
        name: name.into(),
        cells: vec![
            cell("idle", Clock::Cpu, [99_000_000, 100_000_000, 100_000_000, 101_000_000], 0.5, [0.0, 0.0]),
            cell("cpu", Clock::Cpu, [99_000_000, 100_000_000, 100_000_000, 108_000_000], 4.0, [20.0, 5.0]),
            cell("idle", Clock::Reference, same, 0.0, [0.0, 0.0]),
            cell("cpu", Clock::Reference, same, 0.0, [0.0, 0.0]),
        ],
        notes: vec!["Warning: somebody else was busy.".into(), "java: not here".into()],
        machine: machine(),
        end: BenchEnd::Complete,
    }
}

/// A sweep with one peak.
pub(crate) fn layout() -> LayoutReport {
    let point = |n: u32| {
        let median = if (3..=4).contains(&n) { 1_250_003 } else { 1_000_001 + u64::from(n) };
        LayoutPoint { at: 16 * n, median, min: median - 900, max: median + 70_000, n: 25 }
    };
    LayoutReport {
        command: "./loop '<&>'".into(),
        vary: Vary::Environment,
        clock: LayoutClock::Cycles,
        why_clock: None,
        aslr: false,
        quick: true,
        points: (0..8).map(point).collect(),
        mean: Reading::Known(1_000_004.5),
        peaks: vec![LayoutPeak { from: 48, to: 64, width_bytes: 32, height_pct: 24.999_7, p: 2e-30 }],
        unconfirmed: vec![],
        distances: vec![],
        sensitivity_pct: Reading::Known(25.0),
        chance_pct: Reading::Known(1.25),
        runs: 203,
        void_runs: 3,
        warnings: vec!["Warning: 1 of 2 cores was <busy>.".into()],
        end: BenchEnd::Complete,
        machine: machine(),
    }
}

/// Two orders, one slower.
pub(crate) fn link_orders() -> LinkOrderReport {
    let order = |seed: u64, cpu: u64| {
        let run = |n: u64| (Observation::unread(Exit::Code(0), Nanos(cpu + n), "made up"), true);
        LinkOrder {
            seed,
            order: if seed == 0 { vec![0, 1] } else { vec![1, 0] },
            cpu: Reading::unknown("made up"),
            cycles: Reading::unknown("made up"),
            n: 20,
            against_given: (seed > 0).then_some(OrderComparison {
                ratio: 1.07,
                ratio_ci95: [1.06, 1.081],
                different: true,
            }),
            runs: (0..3).map(run).collect(),
        }
    };
    LinkOrderReport {
        command: "a.o b.o".into(),
        objects: vec!["a.o".into(), "<b>.o".into()],
        orders: vec![order(0, 5_000_000), order(7, 5_350_000)],
        clock: LayoutClock::CpuNs,
        outputs_agree: true,
        sensitivity_pct: Reading::Known(7.0),
        chance_pct: Reading::Known(0.5),
        warnings: vec!["Warning: 1 of 2 cores was <busy>.".into()],
        end: BenchEnd::Failed("run 7 (order 7): exited with code 1".into()),
        machine: machine(),
    }
}
