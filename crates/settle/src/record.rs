//! What a judgement stores about how its times were judged, and the defaults for judgements that stored none of it.

use crate::disturbances;
use model::{Cause, Judgement, NoiseFloor, Observation, Reading, TestResult};

/// The disturbances of each run, by this noise floor.
pub fn causes(runs: &[Observation], floor: &NoiseFloor) -> Vec<Vec<Cause>> {
    runs.iter().map(|run| disturbances(run, floor)).collect()
}

/// The noise floor by which a judgement was made; the assumed one if the judgement did not store it.
pub fn floor_of(judgement: &Judgement) -> NoiseFloor {
    judgement.thresholds.known().map_or_else(NoiseFloor::assumed, |thresholds| thresholds.floor)
}

/// Each run of a test with its disturbances as stored; derived from the assumed noise floor if none were stored.
pub fn judged_runs(test: &TestResult) -> Vec<(&Observation, Vec<Cause>)> {
    let causes = match &test.causes {
        Reading::Known(causes) => causes.clone(),
        Reading::Unknown(_) => causes(&test.runs, &NoiseFloor::assumed()),
    };
    test.runs.iter().zip(causes).collect()
}
