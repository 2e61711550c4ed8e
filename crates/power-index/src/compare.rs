//! Which machines vary from their like. Pure: saved indices in, a comparison out.
//!
//! Machines with the same processor are compared with each other. A machine's level is the median of its readings, its
//! trend the slope over its readings; both as logarithms of costs (of rates the inverse), so that above 0 is weaker
//! whatever the unit. Each part by itself, and each group of parts by the mean of their z, is set against the robust
//! deviation of all machines; too far is what chance does to one comparison in a hundred, all its tests together.

use model::{
    ComparedMachine, ComparedModel, ComparedPart, ComparedValue, IndexComparison, IndexGroup, IndexPart,
    IndexStray, IndexSubject, IndexVariance, Reading, SavedIndex, StrayKind,
};
use stats::{Drift, Fleet, NestedVariance, drift, median, nested_variance};

/// Fewer machines are not tested.
pub const LEAST_MACHINES: usize = 5;
/// Of a hundred comparisons of healthy fleets one names a machine.
const CHANCE: f64 = 0.01;
/// Differences below this share are named nowhere: no participant notices, and no remedy is known.
const LEAST: f64 = 0.005;
/// What agrees to this share agrees: finer deviations are taken for this one.
const FINEST: f64 = 0.0005;
/// The same for mean z of groups.
const FINEST_Z: f64 = 0.1;

/// A machine with its readings, in order of time where it is known.
struct Machine<'a> {
    name: &'a str,
    readings: Vec<&'a SavedIndex>,
}

/// One test's results over the machines of a model: for each its difference and its z, where it has any.
struct Tested {
    fleet: Option<Fleet>,
    /// Difference as a logarithm: of the level from the median's, or over the time of its readings.
    differences: Vec<Option<f64>>,
    z: Vec<Option<f64>>,
}

/// Compares saved indices.
pub fn compare(saved: &[SavedIndex]) -> IndexComparison {
    let machines = machines(saved);
    let mut models: Vec<(&str, Vec<&Machine>)> = Vec::new();
    for machine in &machines {
        let model = machine.readings.last().map_or("", |index| &index.model);
        match models.iter_mut().find(|(name, _)| *name == model) {
            Some((_, of)) => of.push(machine),
            None => models.push((model, vec![machine])),
        }
    }
    models.sort_by_key(|(_, of)| std::cmp::Reverse(of.len()));
    // Levels and trends of every part and group.
    let tests = 2 * (IndexPart::ALL.len() + IndexGroup::ALL.len()) * machines.len();
    let mut strays = Vec::new();
    let models: Vec<ComparedModel> = models
        .into_iter()
        .map(|(name, machines)| {
            let (model, mut of_model) = compare_model(name, &machines, tests);
            strays.append(&mut of_model);
            model
        })
        .collect();
    strays.sort_by(|a, b| b.robust_z.abs().total_cmp(&a.robust_z.abs()));
    let mut notes = Vec::new();
    if models.len() > 1 {
        notes.push(format!(
            "these are {} different processors; each machine is compared with those of its own only",
            models.len()
        ));
    }
    let versions: std::collections::BTreeSet<&str> =
        saved.iter().filter_map(|index| index.version.as_deref()).collect();
    if versions.len() > 1 {
        let versions: Vec<&str> = versions.into_iter().collect();
        notes.push(format!(
            "taken by different versions of tauto ({}), whose loops may differ",
            versions.join(", ")
        ));
    }
    IndexComparison { readings: saved.len(), models, strays, notes }
}

fn machines(saved: &[SavedIndex]) -> Vec<Machine<'_>> {
    let mut machines: Vec<Machine> = Vec::new();
    for index in saved {
        match machines.iter_mut().find(|machine| machine.name == index.machine) {
            Some(machine) => machine.readings.push(index),
            None => machines.push(Machine { name: &index.machine, readings: vec![index] }),
        }
    }
    for machine in &mut machines {
        machine.readings.sort_by_key(|index| index.taken_at);
    }
    machines
}

fn compare_model(name: &str, machines: &[&Machine], tests: usize) -> (ComparedModel, Vec<IndexStray>) {
    let tested = machines.len() >= LEAST_MACHINES;
    let mut notes = Vec::new();
    if !tested {
        notes.push(format!(
            "{} of this processor: ratios only; outliers are not tested with fewer than {LEAST_MACHINES}",
            if machines.len() == 1 { "1 machine".into() } else { format!("{} machines", machines.len()) }
        ));
    }
    let levels = IndexPart::ALL.map(|part| (part, level(part, machines, tested)));
    let trends = IndexPart::ALL.map(|part| (part, trend(part, machines, tested)));
    let (level_z, mut strays) = far_ones(StrayKind::Level, &levels, machines, tests);
    let (trend_z, drifting) = far_ones(StrayKind::Trend, &trends, machines, tests);
    strays.extend(drifting);
    if tested && trend_z.is_none() {
        notes.push(format!(
            "trends are not tested: that takes {LEAST_MACHINES} machines with readings at 4 different times each"
        ));
    }
    let compared = |((part, level), (_, trend)): (&(IndexPart, Tested), &(IndexPart, Tested))| {
        compared_part(*part, level, trend, machines, &strays)
    };
    let parts = levels.iter().zip(&trends).filter_map(compared).collect();
    let machine = |machine: &&Machine| ComparedMachine {
        name: machine.name.into(),
        files: machine.readings.iter().map(|index| index.file.clone()).collect(),
    };
    let machines = machines.iter().map(machine).collect();
    (ComparedModel { model: name.into(), machines, level_z, trend_z, parts, notes }, strays)
}

/// The value of a part as the logarithm of what it costs.
fn cost(index: &SavedIndex, part: IndexPart) -> Option<f64> {
    let (_, value) = index.values.iter().find(|(one, _)| *one == part)?;
    Some(if part.more_is_better() { -value.ln() } else { value.ln() })
}

fn costs(machine: &Machine, part: IndexPart) -> Vec<f64> {
    machine.readings.iter().filter_map(|index| cost(index, part)).collect()
}

fn level(part: IndexPart, machines: &[&Machine], tested: bool) -> Tested {
    let levels: Vec<Option<f64>> = machines.iter().map(|machine| median(&costs(machine, part))).collect();
    let known: Vec<f64> = levels.iter().flatten().copied().collect();
    let centre = median(&known).unwrap_or_default();
    let fleet = Fleet::from_values(&known, FINEST).filter(|_| tested);
    let z = levels.iter().map(|level| Some(fleet.as_ref()?.z((*level)?))).collect();
    Tested { fleet, differences: levels.iter().map(|level| level.map(|level| level - centre)).collect(), z }
}

fn trend(part: IndexPart, machines: &[&Machine], tested: bool) -> Tested {
    let of = |machine: &&Machine| -> Option<Drift> {
        let first = machine.readings.iter().find_map(|index| index.taken_at)?;
        let reading =
            |index: &&SavedIndex| Some((index.taken_at?.saturating_sub(first) as f64, cost(index, part)?));
        drift(&machine.readings.iter().filter_map(reading).collect::<Vec<_>>())
    };
    let drifts: Vec<Option<Drift>> = machines.iter().map(of).collect();
    let known: Vec<f64> = drifts.iter().flatten().map(|drift| drift.score).collect();
    let fleet = Fleet::from_values(&known, FINEST).filter(|_| tested);
    let z = drifts.iter().map(|drift| Some(fleet.as_ref()?.z(drift.as_ref()?.score))).collect();
    Tested { fleet, differences: drifts.iter().map(|drift| drift.map(|drift| drift.change)).collect(), z }
}

/// The parts of a group together: the mean of their z, against that of the other machines.
fn together(group: IndexGroup, parts: &[(IndexPart, Tested)]) -> Tested {
    let parts: Vec<&Tested> =
        parts.iter().filter(|(part, _)| part.group() == group).map(|(_, tested)| tested).collect();
    let machines = parts.first().map_or(0, |tested| tested.z.len());
    let mean = |of: fn(&Tested) -> &Vec<Option<f64>>, machine: usize| {
        let known: Vec<f64> = parts.iter().filter_map(|tested| of(tested)[machine]).collect();
        (known.len() > 1).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let scores: Vec<Option<f64>> = (0..machines).map(|machine| mean(|tested| &tested.z, machine)).collect();
    let known: Vec<f64> = scores.iter().flatten().copied().collect();
    let fleet = Fleet::from_values(&known, FINEST_Z);
    Tested {
        z: scores.iter().map(|score| Some(fleet.as_ref()?.z((*score)?))).collect(),
        differences: (0..machines).map(|machine| mean(|tested| &tested.differences, machine)).collect(),
        fleet,
    }
}

/// How far is too far (that of most machines), and who is.
fn far_ones(
    kind: StrayKind,
    parts: &[(IndexPart, Tested)],
    machines: &[&Machine],
    tests: usize,
) -> (Option<f64>, Vec<IndexStray>) {
    let groups = IndexGroup::ALL.map(|group| (IndexSubject::Group(group), together(group, parts)));
    let groups = groups.iter().map(|(subject, tested)| (*subject, tested));
    let all = parts.iter().map(|(part, tested)| (IndexSubject::Part(*part), tested)).chain(groups);
    let (mut most, mut strays) = (None, Vec::new());
    for (subject, tested) in all {
        let Some(fleet) = &tested.fleet else { continue };
        let far = fleet.threshold(CHANCE, tests);
        most = Some(most.map_or(far, |most: f64| most.min(far)));
        for ((machine, z), difference) in machines.iter().zip(&tested.z).zip(&tested.differences) {
            let (Some(z), Some(difference)) = (*z, *difference) else { continue };
            if z.abs() > far && difference.abs() > LEAST {
                strays.push(stray(kind, subject, machine, z, difference));
            }
        }
    }
    (most, strays)
}

fn stray(kind: StrayKind, subject: IndexSubject, machine: &Machine, z: f64, difference: f64) -> IndexStray {
    let rate = matches!(subject, IndexSubject::Part(part) if part.more_is_better());
    let latest = machine.readings.last();
    IndexStray {
        machine: machine.name.into(),
        file: latest.map_or(String::new(), |index| index.file.clone()),
        model: latest.map_or(String::new(), |index| index.model.clone()),
        subject,
        kind,
        robust_z: z,
        ratio: if rate { (-difference).exp() } else { difference.exp() },
        weaker: difference > 0.0,
        readings: machine.readings.len(),
    }
}

fn compared_part(
    part: IndexPart,
    level: &Tested,
    trend: &Tested,
    machines: &[&Machine],
    strays: &[IndexStray],
) -> Option<ComparedPart> {
    let value = |machine: &&Machine| {
        let cost = median(&costs(machine, part))?;
        Some(if part.more_is_better() { (-cost).exp() } else { cost.exp() })
    };
    let values: Vec<Option<f64>> = machines.iter().map(value).collect();
    let centre = median(&values.iter().flatten().copied().collect::<Vec<_>>())?;
    let compared = |(machine, value): (usize, &Option<f64>)| {
        let change =
            trend.differences[machine].map(|change| if part.more_is_better() { -change } else { change });
        Some(ComparedValue {
            machine,
            value: (*value)?,
            ratio: (*value)? / centre,
            robust_z: level.z[machine],
            change_pct: change.map(|change| 100.0 * change.exp_m1()),
        })
    };
    let deviation = level.fleet.map(|fleet| 100.0 * (fleet.above + fleet.below) / 2.0);
    Some(ComparedPart {
        part,
        median: centre,
        deviation_pct: Reading::from_option(deviation, || format!("fewer than {LEAST_MACHINES} machines")),
        variance: variance(part, machines, strays),
        machines: values.iter().enumerate().filter_map(compared).collect(),
    })
}

/// By machine, boot and run, of machines that do not vary: a single one that does would be all of it.
fn variance(part: IndexPart, machines: &[&Machine], strays: &[IndexStray]) -> IndexVariance {
    let healthy = machines.iter().filter(|machine| strays.iter().all(|stray| stray.machine != machine.name));
    let by_boot = |machine: &&Machine| {
        let mut boots: Vec<(Option<&str>, Vec<f64>)> = Vec::new();
        for index in &machine.readings {
            let Some(cost) = cost(index, part) else { continue };
            match boots.iter_mut().find(|(boot, _)| *boot == index.boot.as_deref()) {
                Some((_, runs)) => runs.push(cost),
                None => boots.push((index.boot.as_deref(), vec![cost])),
            }
        }
        boots.into_iter().map(|(_, runs)| runs).collect::<Vec<_>>()
    };
    let NestedVariance { machine, boot, run, total } =
        nested_variance(&healthy.map(by_boot).collect::<Vec<_>>());
    let share = |of: Option<f64>, why: &'static str| {
        let share = of.zip(total).map(|(of, total)| if total > 0.0 { 100.0 * of / total } else { 0.0 });
        Reading::from_option(share, || why.into())
    };
    IndexVariance {
        machine_pct: share(machine, "too few machines or readings"),
        boot_pct: share(boot, "no machine was read in several boots and several times in one"),
        run_pct: share(run, "no machine was read several times in one boot"),
        total_pct: Reading::from_option(total.map(|total| 100.0 * total.sqrt()), || {
            "too few machines or readings".into()
        }),
    }
}
