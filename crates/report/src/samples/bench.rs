//! Benches the tests of this crate show.

use model::{
    BenchComparison, BenchEnd, BenchOutlier, BenchReport, BenchRun, BenchWarning, Benched, Clock, CpuLoad,
    Exit, Figures, Limits, Nanos, Reading,
};

/// CPU times in microseconds of the runs that count; one discarded run comes after the sixth.
const TIMES: [u64; 11] =
    [102_310, 102_040, 101_900, 102_350, 102_600, 102_120, 102_280, 104_000, 102_330, 102_190, 102_460];
const VOID: u64 = 131_000;

pub(super) fn run(cpu: u64, void: bool) -> BenchRun {
    let mut observation = super::observation(Exit::Code(0));
    observation.time.cpu = Nanos::from_micros(cpu);
    observation.time.user = Nanos::from_micros(cpu - 2_000);
    observation.time.system = Nanos::from_micros(2_000);
    observation.time.wall = Nanos::from_micros(cpu + 800);
    let mut disturbed = vec![];
    if void {
        observation.evidence.steal = Reading::Known(Nanos::from_millis(30));
        disturbed = vec!["steal".to_string()];
    }
    BenchRun { observation, disturbed, void }
}

pub(super) fn figures(micros: impl Iterator<Item = u64>) -> Reading<Figures> {
    let mut sorted: Vec<u64> = micros.collect();
    sorted.sort_unstable();
    let at = |n: usize| Nanos::from_micros(sorted[n]);
    let (min, median, max) = (at(0), at(sorted.len() / 2), at(sorted.len() - 1));
    Reading::Known(Figures {
        min,
        median,
        max,
        spread: max - min,
        spread_pct: 100.0 * (max - min).0 as f64 / median.0 as f64,
        cv_pct: 0.5391,
        mad_pct: 0.2176,
        median_ci95: Reading::Known([at(2), at(sorted.len() - 3)]),
    })
}

fn program(factor: u64, parameters: &[(&str, &str)]) -> Benched {
    let mut runs: Vec<BenchRun> = TIMES.iter().map(|time| run(time * factor, false)).collect();
    runs.insert(6, run(VOID * factor, true));
    let own = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
    Benched {
        command: format!("./sieve {}", 20 * factor),
        parameters: parameters.iter().map(own).collect(),
        charged: figures(TIMES.iter().map(|time| time * factor)),
        wall: figures(TIMES.iter().map(|time| time * factor + 800)),
        outliers: vec![
            BenchOutlier {
                run: 7,
                excess_ns: 28_690_000 * factor as i64,
                explained_by: vec![("steal".into(), Nanos(28_690_000 * factor))],
                unexplained_ns: 0,
            },
            BenchOutlier { run: 9, excess_ns: 1_690_000, explained_by: vec![], unexplained_ns: 1_690_000 },
        ],
        warnings: vec![BenchWarning::Trend { percent: 1.25 }],
        comparison: None,
        runs,
    }
}

pub(crate) fn one_program() -> BenchReport {
    let busy = vec![CpuLoad { cpu: 0, busy_pct: 99.4 }, CpuLoad { cpu: 1, busy_pct: 48.2 }];
    let load_average = Reading::Known(2.31);
    BenchReport {
        clock: Clock::Cpu,
        counted_by: None,
        programs: vec![program(1, &[])],
        limits: Limits::default(),
        warnings: vec![BenchWarning::SaturatedCores { busy, of: 2, ours: true, load_average }],
        end: BenchEnd::Complete,
    }
}

pub(crate) fn two_programs() -> BenchReport {
    let mut second = program(2, &[("n", "2")]);
    second.warnings.clear();
    second.comparison =
        Some(BenchComparison { ratio: 2.0, ratio_ci95: [1.98, 2.03], p: 0.0002, different: true });
    BenchReport {
        clock: Clock::Cpu,
        counted_by: None,
        programs: vec![program(1, &[("n", "1")]), second],
        warnings: vec![],
        end: BenchEnd::Interrupted,
        ..one_program()
    }
}

pub(crate) fn sweep() -> BenchReport {
    let of = |n: u64| {
        let mut program = program(n, &[("n", &n.to_string())]);
        program.warnings.clear();
        let (ratio, p) = (n as f64, 0.0002);
        program.comparison = (n > 1).then_some(BenchComparison {
            ratio,
            ratio_ci95: [ratio - 0.01, ratio + 0.02],
            p,
            different: true,
        });
        program
    };
    let mut report = BenchReport { programs: (1..=5).map(of).collect(), ..two_programs() };
    report.end = BenchEnd::Complete;
    let comparison = BenchComparison { ratio: 1.003, ratio_ci95: [0.99, 1.01], p: 0.41, different: false };
    report.programs[2].comparison = Some(comparison);
    report
}
