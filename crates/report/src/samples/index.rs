//! Indices and a comparison.

use model::{
    ComparedMachine, ComparedModel, ComparedPart, ComparedValue, Index, IndexComparison, IndexFigure,
    IndexGroup, IndexPart, IndexStray, IndexSubject, IndexVariance, MeasurementConditions, Reading,
    StrayKind,
};

fn figure(part: IndexPart, value: f64) -> Reading<IndexFigure> {
    let turns: Vec<f64> = (0..8).map(|n| value * (1.0 + 0.001 * f64::from(n - 4))).collect();
    Reading::Known(IndexFigure {
        value,
        ci95: Reading::Known([value * 0.997, value * 1.002]),
        unit: part.unit().into(),
        n: 1234,
        voided: 5,
        min: value * 0.9,
        max: value * 1.4,
        repeatability_pct: 0.1234,
        turns,
        control: Some(1.0001).filter(|_| value == 3.5926),
        how: "as <it> is done".into(),
    })
}

pub(crate) fn index() -> Index {
    let value = |part: IndexPart| match part {
        IndexPart::Rounds => figure(part, 373.97),
        IndexPart::Clock => figure(part, 3.5926),
        IndexPart::L3 => Reading::unknown("the kernel names no cache of level 3"),
        IndexPart::Bandwidth => figure(part, 41.33),
        IndexPart::ForkExec => figure(part, 526_612.0),
        _ => figure(part, 11.75),
    };
    Index {
        version: "1.0.0".into(),
        taken_at: 1_795_271_405,
        seconds: 15.2,
        machine: Reading::Known("5f1e".into()),
        fingerprint: "dfee".into(),
        cpu_model: Reading::Known("AMD EPYC".into()),
        microcode: Reading::unknown("/proc/cpuinfo names none"),
        kernel: Reading::Known("6.18.44".into()),
        memory_bytes: Reading::Known(24 << 30),
        caches: vec!["L1 48K".into(), "L2 1024K".into()],
        boot_id: Reading::Known("b00t".into()),
        conditions: MeasurementConditions {
            sched: "fifo".into(),
            slot: Reading::Known(0),
            cpu: Reading::Known(1),
            frequency_held: Reading::unknown("no cpufreq"),
            frequency: Reading::unknown("no cpufreq"),
            mem_node: Reading::Known(0),
            huge_pages_off: Reading::Known(true),
            steal_ns: Reading::Known(30_000_000),
            lacks: vec!["frequency held: unknown, no cpufreq".into()],
        },
        rounds_per_second: value(IndexPart::Rounds),
        parts: IndexPart::ALL[1..].iter().map(|part| (*part, value(*part))).collect(),
    }
}

pub(crate) fn comparison() -> IndexComparison {
    let name = |n: usize| format!("node{n}");
    let machine = |n: usize| ComparedMachine { name: name(n), files: vec![format!("{n}.json")] };
    let part = |part: IndexPart, odd: f64| ComparedPart {
        part,
        median: 120.0,
        deviation_pct: Reading::Known(0.8),
        variance: IndexVariance {
            machine_pct: Reading::Known(64.0),
            boot_pct: Reading::unknown("no machine was read in several boots and several times in one"),
            run_pct: Reading::Known(36.0),
            total_pct: Reading::Known(1.0),
        },
        machines: (0..6)
            .map(|n| {
                let ratio = if n == 3 { odd } else { 1.0 + 0.002 * n as f64 };
                ComparedValue {
                    machine: n,
                    value: 120.0 * ratio,
                    ratio,
                    robust_z: Some((ratio - 1.0) / 0.008),
                    change_pct: (n % 2 == 0).then_some(0.1),
                }
            })
            .collect(),
    };
    let stray = |subject, kind, z: f64, ratio: f64, n: usize| IndexStray {
        machine: name(n),
        file: format!("{n}.json"),
        model: "AMD EPYC".into(),
        subject,
        kind,
        robust_z: z,
        ratio,
        weaker: z > 0.0,
        readings: 1,
    };
    let pair = ComparedModel {
        model: "Other <CPU>".into(),
        machines: vec![machine(7)],
        level_z: None,
        trend_z: None,
        parts: vec![],
        notes: vec!["1 machine of this processor: ratios only".into()],
    };
    IndexComparison {
        readings: 7,
        models: vec![
            ComparedModel {
                model: "AMD EPYC".into(),
                machines: (0..6).map(machine).collect(),
                level_z: Some(8.25),
                trend_z: None,
                parts: vec![part(IndexPart::Clock, 1.0), part(IndexPart::Dram, 1.08)],
                notes: vec!["trends are not tested".into()],
            },
            pair,
        ],
        strays: vec![
            stray(IndexSubject::Part(IndexPart::Dram), StrayKind::Level, 10.0, 1.08, 3),
            stray(IndexSubject::Group(IndexGroup::Memory), StrayKind::Level, 9.5, 1.07, 3),
            stray(IndexSubject::Group(IndexGroup::Memory), StrayKind::Trend, 9.0, 1.06, 3),
            stray(IndexSubject::Part(IndexPart::Clock), StrayKind::Level, -9.0, 1.07, 5),
        ],
        notes: vec!["these are 2 different processors".into()],
    }
}
