//! Simulated fleets: those that vary are named, and nobody else.

use model::{IndexComparison, IndexGroup, IndexPart, IndexSubject, SavedIndex, StrayKind};
use power_index::compare::compare;
use stats::Random;
use std::collections::BTreeSet;

const MACHINES: usize = 300;
const READINGS: usize = 8;
/// Scatter of 1 % together.
const BETWEEN_MACHINES: f64 = 0.008;
const BETWEEN_RUNS: f64 = 0.006;

/// A healthy fleet of one processor, each machine in two boots; `cost` tells by how much a reading of a machine costs more.
fn fleet(seed: u64, machines: usize, cost: impl Fn(usize, usize, IndexPart) -> f64) -> Vec<SavedIndex> {
    let mut random = Random::new(seed);
    let mut saved = Vec::new();
    for machine in 0..machines {
        let own = IndexPart::ALL.map(|_| BETWEEN_MACHINES * random.normal());
        for reading in 0..READINGS {
            let value = |(part, own): (IndexPart, &f64)| {
                let factor = (own + BETWEEN_RUNS * random.normal()).exp() * cost(machine, reading, part);
                (part, if part.more_is_better() { 100.0 / factor } else { 100.0 * factor })
            };
            saved.push(SavedIndex {
                file: format!("{machine}-{reading}.json"),
                machine: format!("node{machine}"),
                model: "AMD EPYC".into(),
                boot: Some(format!("{machine}-{}", reading / 4)),
                taken_at: Some(1_700_000_000 + 86_400 * (reading * 7 + machine % 3) as u64),
                version: Some("1".into()),
                values: IndexPart::ALL.into_iter().zip(&own).map(value).collect(),
            });
        }
    }
    saved
}

const SLOW_MEMORY: usize = 41;
const SLOW: usize = 142;
const DRIFTING: usize = 243;

fn planted(machine: usize, reading: usize, part: IndexPart) -> f64 {
    match machine {
        SLOW_MEMORY if part.group() == IndexGroup::Memory => 1.04,
        SLOW => 1.30,
        DRIFTING => 1.0 + 0.06 * reading as f64 / (READINGS - 1) as f64,
        _ => 1.0,
    }
}

fn named(comparison: &IndexComparison) -> BTreeSet<&str> {
    comparison.strays.iter().map(|stray| &*stray.machine).collect()
}

#[test]
fn three_planted_strays_of_300_are_named_and_no_other() {
    for seed in 0..20 {
        let comparison = compare(&fleet(seed, MACHINES, planted));
        let expected = [SLOW_MEMORY, SLOW, DRIFTING].map(|n| format!("node{n}"));
        assert_eq!(named(&comparison), expected.iter().map(|name| &**name).collect(), "seed {seed}");
        let of = |machine: usize| {
            let name = format!("node{machine}");
            comparison.strays.iter().filter(move |stray| stray.machine == name)
        };
        let group = |stray: &model::IndexStray| match stray.subject {
            IndexSubject::Part(part) => part.group(),
            IndexSubject::Group(group) => group,
        };
        assert!(of(SLOW_MEMORY).all(|stray| group(stray) == IndexGroup::Memory), "seed {seed}");
        let memory = of(SLOW_MEMORY).find(|stray| stray.subject == IndexSubject::Group(IndexGroup::Memory));
        let memory = memory.unwrap_or_else(|| panic!("seed {seed}: memory is not named"));
        assert!(memory.weaker && (memory.ratio - 1.04).abs() < 0.02, "seed {seed}: {memory:?}");
        let slow = of(SLOW).filter(|stray| stray.kind == StrayKind::Level).count();
        assert_eq!(slow, IndexPart::ALL.len() + IndexGroup::ALL.len(), "seed {seed}");
        assert!(of(DRIFTING).any(|stray| stray.kind == StrayKind::Trend && stray.weaker), "seed {seed}");
        assert!(of(SLOW).all(|stray| stray.file == format!("{SLOW}-{}.json", READINGS - 1)));
    }
}

#[test]
fn a_quiet_fleet_names_nobody() {
    let quiet = |seed: &u64| compare(&fleet(1000 + seed, MACHINES, |_, _, _| 1.0)).strays.is_empty();
    let silent = (0..40).filter(quiet).count();
    assert!(silent >= 38, "{silent} of 40");
}

#[test]
fn variance_is_split_and_strays_are_left_out_of_it() {
    let comparison = compare(&fleet(7, MACHINES, planted));
    for part in &comparison.models[0].parts {
        let variance = &part.variance;
        let share = |of: &model::Reading<f64>| *of.known().unwrap();
        let [machine, boot, run] = [&variance.machine_pct, &variance.boot_pct, &variance.run_pct].map(share);
        assert!((machine + boot + run - 100.0).abs() < 1e-6);
        // 0.8² and 0.6² of 1.
        assert!((machine - 64.0).abs() < 8.0 && boot < 6.0 && (run - 36.0).abs() < 8.0, "{part:?}");
        assert!((share(&variance.total_pct) - 1.0).abs() < 0.1);
    }
}

#[test]
fn small_fleets() {
    // One in eight that is far away, and nobody among four.
    let far = |machine, _, _| if machine == 2 { 1.3 } else { 1.0 };
    for seed in 0..20 {
        assert_eq!(named(&compare(&fleet(seed, 8, far))), BTreeSet::from(["node2"]), "seed {seed}");
    }
    let four = compare(&fleet(1, 4, far));
    assert!(
        four.strays.is_empty()
            && four.models[0].notes[0].contains("4 machines of this processor: ratios only")
    );
    let ratio = four.models[0].parts[0].machines[2].ratio;
    assert!((ratio * 1.3 - 1.0).abs() < 0.03, "{ratio}");
    assert!(
        four.models[0].parts.iter().flat_map(|part| &part.machines).all(|value| value.robust_z.is_none())
    );
    // Equal to the last digit, but for one.
    let mut equal = fleet(1, 6, far);
    equal.iter_mut().for_each(|index| index.values = vec![(IndexPart::Dram, 100.0)]);
    equal[0..READINGS].iter_mut().for_each(|index| index.values = vec![(IndexPart::Dram, 110.0)]);
    assert_eq!(named(&compare(&equal)), BTreeSet::from(["node0"]));
    assert_eq!(compare(&[]).models, []);
}

#[test]
fn unlike_machines_are_not_compared() {
    let mut mixed = fleet(3, 24, |_, _, _| 1.0);
    for index in mixed.iter_mut().filter(|index| index.machine.ends_with(['1', '3', '5', '7'])) {
        index.model = "other".into();
        index.values.iter_mut().for_each(|(_, value)| *value *= 2.0);
    }
    mixed[0].version = Some("2".into());
    let comparison = compare(&mixed);
    assert_eq!(named(&comparison), BTreeSet::new());
    let sizes: Vec<(&str, usize)> =
        comparison.models.iter().map(|model| (&*model.model, model.machines.len())).collect();
    assert_eq!(sizes, [("AMD EPYC", 14), ("other", 10)]);
    assert!(comparison.notes[0].starts_with("these are 2 different processors"), "{:?}", comparison.notes);
    assert!(comparison.notes[1].contains("different versions"), "{:?}", comparison.notes);
}
