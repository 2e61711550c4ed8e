//! `tauto index --compare --json`.

use model::{ComparedModel, ComparedPart, IndexComparison, IndexStray, IndexVariance, Reading, StrayKind};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A comparison. The parts of the processor that most machines have stand at the top; `models` has those of all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonDocument {
    /// Machines in all.
    pub machines: usize,
    /// Readings in all.
    pub readings: usize,
    /// Machines that vary, by part; the farthest first.
    pub strays: Vec<StrayDocument>,
    /// Parts of the first model, by name.
    pub parts: Map<String, Value>,
    /// One for each processor.
    pub models: Vec<ModelDocument>,
    /// What to know of the whole.
    pub notes: Vec<String>,
}

/// A machine that varies, in one part or group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StrayDocument {
    /// The file of its latest reading.
    pub file: String,
    /// Which machine.
    pub machine: String,
    /// Its processor.
    pub cpu_model: String,
    /// The part, or the group of parts: `core`, `memory` or `kernel`.
    pub part: &'static str,
    /// Whether it is away from the others, or moves away.
    pub kind: StrayKind,
    /// How far, in robust deviations; above 0 is weaker.
    pub robust_z: f64,
    /// Of its value to the median; of a trend, of its last value to its first; of a group, of what it costs.
    pub ratio: f64,
    /// `weaker` or `stronger`.
    pub direction: &'static str,
    /// Its readings.
    pub readings: usize,
}

/// Machines with one processor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelDocument {
    /// Its name.
    pub cpu_model: String,
    /// Each machine and the files of its readings.
    pub machines: Vec<MachineDocument>,
    /// |z| beyond which a machine varies.
    pub threshold_z: Reading<f64>,
    /// |z| beyond which its trend does.
    pub trend_threshold_z: Reading<f64>,
    /// Parts by name.
    pub parts: Map<String, Value>,
    /// What to know before believing it.
    pub notes: Vec<String>,
}

/// A machine of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MachineDocument {
    /// Its name.
    pub machine: String,
    /// In order of time.
    pub files: Vec<String>,
}

/// A part over machines.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct ComparedPartDocument {
    unit: &'static str,
    median: f64,
    deviation_pct: Reading<f64>,
    variance: IndexVariance,
    machines: Vec<ValueDocument>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ValueDocument {
    machine: String,
    value: f64,
    ratio: f64,
    robust_z: Reading<f64>,
    change_pct: Reading<f64>,
}

impl ComparisonDocument {
    /// The document of a comparison.
    pub fn new(comparison: &IndexComparison) -> ComparisonDocument {
        let models: Vec<ModelDocument> = comparison.models.iter().map(model).collect();
        ComparisonDocument {
            machines: models.iter().map(|model| model.machines.len()).sum(),
            readings: comparison.readings,
            strays: comparison.strays.iter().map(stray).collect(),
            parts: models.first().map(|model| model.parts.clone()).unwrap_or_default(),
            models,
            notes: comparison.notes.clone(),
        }
    }
}

fn stray(stray: &IndexStray) -> StrayDocument {
    StrayDocument {
        file: stray.file.clone(),
        machine: stray.machine.clone(),
        cpu_model: stray.model.clone(),
        part: stray.subject.name(),
        kind: stray.kind,
        robust_z: stray.robust_z,
        ratio: stray.ratio,
        direction: if stray.weaker { "weaker" } else { "stronger" },
        readings: stray.readings,
    }
}

fn model(model: &ComparedModel) -> ModelDocument {
    let machine = |machine: &model::ComparedMachine| MachineDocument {
        machine: machine.name.clone(),
        files: machine.files.clone(),
    };
    let untested = || "not tested: see notes".to_string();
    let part = |part: &ComparedPart| (part.part.name().to_string(), json!(compared(part, model)));
    ModelDocument {
        cpu_model: model.model.clone(),
        machines: model.machines.iter().map(machine).collect(),
        threshold_z: Reading::from_option(model.level_z, untested),
        trend_threshold_z: Reading::from_option(model.trend_z, untested),
        parts: model.parts.iter().map(part).collect(),
        notes: model.notes.clone(),
    }
}

fn compared(part: &ComparedPart, model: &ComparedModel) -> ComparedPartDocument {
    let value = |value: &model::ComparedValue| ValueDocument {
        machine: model.machines[value.machine].name.clone(),
        value: value.value,
        ratio: value.ratio,
        robust_z: Reading::from_option(value.robust_z, || "too few machines".into()),
        change_pct: Reading::from_option(value.change_pct, || "too few readings at different times".into()),
    };
    ComparedPartDocument {
        unit: part.part.unit(),
        median: part.median,
        deviation_pct: part.deviation_pct.clone(),
        variance: part.variance.clone(),
        machines: part.machines.iter().map(value).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::to_text;
    use crate::samples;

    #[test]
    fn comparisons() {
        insta::assert_snapshot!(to_text(&ComparisonDocument::new(&samples::index::comparison())));
    }
}
