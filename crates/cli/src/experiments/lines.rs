//! The lines of the records of all experiments, behind the first: what is kept of each run, and read again when an experiment goes on. Their form
//! has the number of [`lab::record::FORMS`].

use lab::ladder::Stage;
use model::{Clock, Nanos, Observation, Perturbation};
use serde::{Deserialize, Serialize};

/// Of `tauto lab ladder`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LadderLine {
    /// A run.
    Run { stage: Stage, observation: Box<Observation> },
    /// What else the machine did while the runs before it were made.
    Warned(Vec<String>),
    /// The machine refused what a rung needs.
    Refused { rung: usize, why: String },
}

/// Of `tauto lab perturb`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PerturbLine {
    /// A run.
    Run { trial: Perturbation, pair: usize, disturbed: bool, observation: Box<Observation> },
    /// What else the machine did while the runs before it were made.
    Warned(Vec<String>),
}

/// Of `tauto lab consistency`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ConsistencyLine {
    /// A run.
    Run {
        program: String,
        load: String,
        clock: Clock,
        /// In the clock's unit.
        amount: u64,
        /// Something disturbed it.
        disturbed: bool,
        /// What that can have cost at most.
        #[serde(rename = "explained_ns")]
        explained: Nanos,
    },
    /// A clock cannot count a program here.
    Refused { program: String, clock: Clock, why: String },
    /// What else the machine did while the runs before it were made.
    Warned(Vec<String>),
}

/// Of `tauto lab layout`.
#[derive(Serialize, Deserialize)]
pub(super) struct LayoutRun {
    /// The layout.
    pub(super) at: u32,
    /// User-space cycles where they are counted, else CPU time in nanoseconds.
    pub(super) value: u64,
    /// What disturbed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) disturbed: Vec<String>,
}

/// Of `tauto lab link-order`.
#[derive(Serialize, Deserialize)]
pub(super) struct LinkOrderRun {
    /// Seed of the order.
    pub(super) seed: u64,
    /// It needs no repeating.
    pub(super) counts: bool,
    pub(super) observation: Observation,
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::record::{FORMS, Record};
    use model::Exit;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    const KEPT: [&str; 1] = [include_str!("../../tests/forms/records-1.json")];

    fn run() -> Observation {
        let mut run = Observation::unread(Exit::Code(0), Nanos::from_millis(900), "no machine");
        run.evidence.weaker = vec!["no slot".into()];
        run
    }

    /// The lines of a record of each experiment, with something in every part.
    fn written() -> Value {
        let head = |experiment: &str| json!({"experiment": experiment, "version": FORMS.newest, "asked": {"runs": 1}});
        let (boxed, disturbed) = (|| Box::new(run()), vec!["steal".to_string()]);
        let warned = vec!["a busy machine".to_string()];
        let trial = Perturbation::CacheLoad;
        json!({
            "ladder": [
                head("ladder"),
                LadderLine::Run { stage: 3, observation: boxed() },
                LadderLine::Warned(warned.clone()),
                LadderLine::Refused { rung: 2, why: "no root".into() },
            ],
            "perturb": [
                head("perturb"),
                PerturbLine::Run { trial, pair: 1, disturbed: true, observation: boxed() },
                PerturbLine::Warned(warned.clone()),
            ],
            "consistency": [
                head("consistency"),
                ConsistencyLine::Run {
                    program: "compute".into(),
                    load: "idle".into(),
                    clock: Clock::Cpu,
                    amount: 7,
                    disturbed: true,
                    explained: Nanos(2),
                },
                ConsistencyLine::Refused {
                    program: "java".into(),
                    clock: Clock::Reference,
                    why: "it ended with code 1".into(),
                },
                ConsistencyLine::Warned(warned),
            ],
            "layout": [
                head("layout"),
                LayoutRun { at: 16, value: 7, disturbed },
                LayoutRun { at: 32, value: 8, disturbed: Vec::new() },
            ],
            "link-order": [head("link-order"), LinkOrderRun { seed: 5, counts: true, observation: run() }],
        })
    }

    fn kept() -> [Value; KEPT.len()] {
        KEPT.map(|text| serde_json::from_str(text).unwrap())
    }

    #[test]
    fn what_is_written_changes_only_with_the_number_of_its_form() {
        FORMS.hold(&written(), &kept(), fleet::says);
    }

    fn read<R: DeserializeOwned + Serialize>(experiment: &str, lines: &Value) -> Vec<Value> {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("record");
        let lines: Vec<String> = lines.as_array().unwrap().iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&path, lines.concat()).unwrap();
        let (_, runs) = Record::open::<R>(&path, experiment, &json!({"runs": 1}), false).unwrap();
        runs.iter().map(|run| serde_json::to_value(run).unwrap()).collect()
    }

    #[test]
    fn every_form_there_was_is_read() {
        for kept in kept() {
            for (experiment, lines) in kept.as_object().unwrap() {
                let runs = match experiment.as_str() {
                    "ladder" => read::<LadderLine>(experiment, lines),
                    "perturb" => read::<PerturbLine>(experiment, lines),
                    "consistency" => read::<ConsistencyLine>(experiment, lines),
                    "layout" => read::<LayoutRun>(experiment, lines),
                    _ => read::<LinkOrderRun>(experiment, lines),
                };
                let all = lines.as_array().unwrap()[1..].to_vec();
                assert!(fleet::says(&json!(runs), &json!(all)), "{experiment}: {runs:?}");
            }
        }
    }
}
