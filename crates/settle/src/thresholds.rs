//! What a result is judged by.

use crate::band;
use model::{Floor, Policy, Thresholds};

/// The published rule on a slot with this floor.
pub fn thresholds(floor: &Floor) -> Thresholds {
    let (policy, stray) = (Policy::PUBLISHED, floor.stray());
    let band_pct = 100.0 * band(stray, &policy);
    Thresholds { policy, floor: *floor, stray, band_pct, slow_from: floor.slow_from() }
}
