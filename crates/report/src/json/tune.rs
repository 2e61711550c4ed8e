//! `tauto tune --json`.

use model::{BootPlan, Change, NoiseComparison, Tuning};
use serde::Serialize;

/// What is planned, changed or undone.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Tuning))]
pub struct TuneDocument {
    /// In the order in which they are made.
    pub changes: Vec<Change>,
    /// The journal's path.
    pub journal: String,
    /// Something is changed now.
    pub in_force: bool,
    /// How quiet the slots were before and after; only for `apply`, when measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseComparison>,
    /// What to do for the next start; only when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<BootPlan>,
}

impl TuneDocument {
    /// The document.
    pub fn new(tuning: Tuning, noise: Option<NoiseComparison>, boot: Option<BootPlan>) -> TuneDocument {
        let Tuning { changes, journal, in_force } = tuning;
        TuneDocument { changes, journal, in_force, noise, boot }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::to_text;
    use crate::samples;

    #[test]
    fn documents() {
        let (noise, boot) = samples::noise_and_boot();
        let whole = TuneDocument::new(samples::tuning(), Some(noise), Some(boot));
        insta::assert_snapshot!("tune", to_text(&whole));
        let bare = TuneDocument::new(Tuning { changes: vec![], ..samples::tuning() }, None, None);
        assert_eq!(to_text(&bare).lines().count(), 5);
    }
}
