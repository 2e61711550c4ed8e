//! A moment.

use serde::{Deserialize, Serialize};

/// A moment, in microseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(pub i64);

impl Moment {
    /// So many seconds later; saturates.
    pub const fn plus_secs(self, secs: i64) -> Moment {
        Moment(self.0.saturating_add(secs.saturating_mul(1_000_000)))
    }

    /// Seconds from an earlier moment to this one; negative from a later one.
    pub fn secs_since(self, earlier: Moment) -> f64 {
        self.0.saturating_sub(earlier.0) as f64 / 1e6
    }
}
