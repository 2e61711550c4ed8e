//! The thresholds of a judgement.

use crate::band;
use model::{NoiseFloor, Policy, Thresholds};

/// The thresholds of the published rule on a slot with this noise floor.
pub fn thresholds(floor: &NoiseFloor) -> Thresholds {
    let (policy, spread) = (Policy::PUBLISHED, floor.spread());
    let band_pct = 100.0 * band(spread, &policy);
    Thresholds { policy, floor: *floor, spread, band_pct, slow_from: floor.slow_from() }
}
