//! What a result was judged by, to be kept with it.

use crate::{Floor, Policy, Stray, band};
use serde::Serialize;

/// All numbers that went into a decision besides the runs themselves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Thresholds {
    /// The numbers of the rule.
    pub policy: Policy,
    /// The noise floor of the slot, or of the noisiest of several.
    pub floor: Floor,
    /// How far submissions are taken to stray by it.
    pub stray: Stray,
    /// The grey band: how far above the limit one undisturbed run must be to decide, in percent of the limit.
    pub band_pct: f64,
    /// The slowdown of the control program from which on the machine counts as slow.
    pub slow_from: f64,
}

impl Thresholds {
    /// The published rule on a slot with this floor.
    pub fn of(floor: &Floor) -> Thresholds {
        let (policy, stray) = (Policy::PUBLISHED, floor.stray());
        let band_pct = 100.0 * band(stray, &policy);
        Thresholds { policy, floor: *floor, stray, band_pct, slow_from: floor.slow_from() }
    }
}
