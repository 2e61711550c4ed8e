//! What a judgement keeps of how its times were judged, and what is told of those that were made before it was kept.

use crate::disturbances;
use model::{Cause, Judgement, NoiseFloor, Observation, Reading, TestResult};

/// For each run what disturbed it, by this floor.
pub fn causes(runs: &[Observation], floor: &NoiseFloor) -> Vec<Vec<Cause>> {
    runs.iter().map(|run| disturbances(run, floor)).collect()
}

/// The noise floor that a judgement was made by. Judgements that did not keep theirs have the assumed one.
pub fn floor_of(judgement: &Judgement) -> NoiseFloor {
    judgement.thresholds.known().map_or_else(NoiseFloor::assumed, |thresholds| thresholds.floor)
}

/// Each run of a test with what disturbed it, as it was judged; by the assumed floor where that was not kept.
pub fn judged_runs(test: &TestResult) -> Vec<(&Observation, Vec<Cause>)> {
    let causes = match &test.causes {
        Reading::Known(causes) => causes.clone(),
        Reading::Unknown(_) => causes(&test.runs, &NoiseFloor::assumed()),
    };
    test.runs.iter().zip(causes).collect()
}
