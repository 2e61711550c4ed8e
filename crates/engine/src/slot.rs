//! Where runs take place.

use crate::Runner;
use model::Placement;

/// One place where a submission can be judged; nothing else happens on it meanwhile.
pub struct Slot {
    /// Its number.
    pub id: u32,
    /// Compiles and runs submissions.
    pub main: Box<dyn Runner>,
    /// Where submissions run.
    pub placement: Placement,
    /// Runs validators, interactors and graders: beside the submission where they talk to each other.
    pub auxiliary: Box<dyn Runner>,
    /// Where those run.
    pub auxiliary_placement: Placement,
}

impl Slot {
    /// Ends whatever runs on it, from another thread.
    pub fn end_runs(&self) {
        self.main.end_run(false);
        self.auxiliary.end_run(false);
    }
}
