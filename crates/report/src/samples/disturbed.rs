//! Experiments the tests of this crate show.

use super::bench::{figures, run};
use model::{
    BenchComparison, BenchEnd, BenchRun, Effect, Isolation, LadderLoad, LadderReport, LadderStage,
    LadderStep, Limits, PerturbReport, PerturbRun, PerturbTrial, Perturbation, Reading, Rung,
};

const TIMES: [u64; 6] = [1_230_000, 1_212_000, 1_251_000, 1_228_000, 1_232_000, 1_419_000];

fn stage(rung: Rung, load: LadderLoad, made: Result<&str, &str>) -> LadderStage {
    let made = made.map(String::from).map_err(String::from);
    let part = if load == LadderLoad::Cpu { 1 } else { 4 } * (rung as u64 + 1);
    let times = TIMES.map(|time| 1_230_000 + (time - 1_212_000) / part);
    let runs: Vec<BenchRun> = times.iter().map(|time| run(*time, *time > 1_420_000)).collect();
    let there = |of: Reading<model::Figures>| match &made {
        Ok(_) => of,
        Err(why) => Reading::unknown(why.clone()),
    };
    let under_load = BenchComparison { ratio: 1.031, ratio_ci95: [1.012, 1.052], p: 0.0005, different: true };
    LadderStage {
        rung,
        load,
        isolation: there(figures(times.into_iter())).map(|_| Isolation::Affinity),
        runs: if made.is_ok() { runs } else { vec![] },
        cpu: there(figures(times.into_iter())),
        wall: there(figures(times.into_iter().map(|time| time + 800))),
        valid: there(figures(times.into_iter().filter(|time| *time <= 1_420_000))),
        under_load: (load == LadderLoad::Cpu && made.is_ok()).then_some(under_load),
        made,
    }
}

pub(crate) fn ladder() -> LadderReport {
    let none = Err("one memory node: all memory is equally near");
    let stages = [
        (Rung::Untouched, Ok("on any CPU")),
        (Rung::Slot, Ok("in slot 0: CPU 1, others kept off")),
        (Rung::Node, none),
    ];
    let step = |load, from_spread_pct, to_spread_pct, p, differs| LadderStep {
        from: Rung::Untouched,
        to: Rung::Slot,
        load,
        from_spread_pct,
        to_spread_pct,
        median_ratio: 1.013,
        p,
        differs,
    };
    LadderReport {
        command: "built-in sieve over 67108864 numbers (256 MiB)".into(),
        stages: stages
            .iter()
            .flat_map(|(rung, made)| LadderLoad::ALL.map(|load| stage(*rung, load, *made)))
            .collect(),
        whole: vec![step(LadderLoad::Idle, 4.2, 1.4, Reading::unknown("fewer than six runs"), false)],
        steps: vec![
            step(LadderLoad::Idle, 4.2, 1.4, Reading::Known(0.21), false),
            step(LadderLoad::Cpu, 16.8, 5.6, Reading::Known(0.0005), true),
        ],
        notes: vec!["Under load every CPU has a busy thread.".into()],
        limits: Limits::default(),
        end: BenchEnd::Complete,
        machine: vec![("processor".into(), "made up".into())],
    }
}

fn effect(pct: f64, reach: f64) -> Reading<Effect> {
    Reading::Known(Effect {
        pct,
        ci95: Reading::Known([pct - reach, pct + reach]),
        found: Reading::Known(pct.abs() > reach),
        detectable_pct: Reading::Known(1.43 * reach),
    })
}

fn trial(perturbation: Perturbation, cpu: f64, wall: f64) -> PerturbTrial {
    let runs = (0..16).map(|n| {
        let (disturbed, time) = (n % 4 == 1 || n % 4 == 2, TIMES[n / 2 % 5]);
        let factor = if disturbed { 1.0 + cpu / 100.0 } else { 1.0 };
        PerturbRun { pair: n / 2 + 1, disturbed, run: run((time as f64 * factor) as u64, false) }
    });
    PerturbTrial {
        perturbation,
        made: Ok("a busy thread on CPU 1".into()),
        pairs: 8,
        cpu: effect(cpu, 0.4),
        wall: effect(wall, 2.5),
        instructions: Reading::unknown("no counter here"),
        runs: runs.collect(),
    }
}

pub(crate) fn perturb() -> PerturbReport {
    let why = "no cpufreq here";
    let unknown = || Reading::unknown(why);
    let frequency = PerturbTrial {
        perturbation: Perturbation::Frequency,
        made: Err(why.into()),
        pairs: 0,
        cpu: unknown(),
        wall: unknown(),
        instructions: unknown(),
        runs: vec![],
    };
    PerturbReport {
        command: "built-in sieve over 67108864 numbers (256 MiB)".into(),
        trials: vec![
            trial(Perturbation::SameCpuLoad, 1.25, 104.0),
            trial(Perturbation::RtLoad, 0.1, 98.0),
            frequency,
        ],
        notes: vec!["The program is bound to CPU 1.".into()],
        limits: Limits::default(),
        end: BenchEnd::Interrupted,
        machine: vec![("processor".into(), "made up".into())],
    }
}
