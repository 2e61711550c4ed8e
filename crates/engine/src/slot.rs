//! Where runs take place.

use crate::Runner;
use judge::package::{Package, Validator};
use model::{BoxId, Placement};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// A runner and where its runs are placed.
pub struct Station {
    /// Runs programs.
    pub runner: Box<dyn Runner>,
    /// Where.
    pub placement: Placement,
    pub(crate) caches: Caches,
}

/// What compilations of a language have in common, by language; `None` where it could not be made.
pub(crate) type Caches = Mutex<BTreeMap<String, Option<BoxId>>>;

impl Station {
    /// A station at which nothing has been compiled yet.
    pub fn new(runner: Box<dyn Runner>, placement: Placement) -> Station {
        Station { runner, placement, caches: Caches::default() }
    }
}

/// One place where a submission can be judged; nothing else happens on it meanwhile.
pub struct Slot {
    /// Compiles and runs submissions.
    pub main: Station,
    /// Runs validators, interactors and graders, beside the submission where they talk to each other. Only
    /// packages that bring such programs need it: see [`needs_auxiliary`].
    pub auxiliary: Option<Station>,
}

impl Slot {
    /// Ends whatever runs on it, from another thread.
    pub fn end_runs(&self) {
        self.main.runner.end_run(false);
        self.auxiliary.iter().for_each(|station| station.runner.end_run(false));
    }
}

/// Whether the package brings programs of its own.
pub fn needs_auxiliary(package: &Package) -> bool {
    matches!(package.validator, Validator::Custom(_)) || package.grader.is_some()
}
