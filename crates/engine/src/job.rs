//! What is to be judged, and how.

use crate::clocks::Meter;
use crate::languages::Languages;
use crate::limit_cache::LimitCache;
use crate::limits::{Overrides, Settings};
use crate::opinion::Opinions;
use judge::package::Package;
use judge::scoring::JudgeMode;
use model::{Event, JudgePhase, Layout};
use settle::NoiseFloor;
use source::Source;
use std::sync::atomic::AtomicBool;

/// What the user asked for.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Limits that win over the package's.
    pub overrides: Overrides,
    /// Stop as soon as the verdict is known, or run everything.
    pub mode: JudgeMode,
    /// Memory layout of submissions' runs.
    pub layout: Layout,
    /// What times are measured by, and how here.
    pub meter: Meter,
    /// How far times vary on the slots: what settles times near their limit.
    pub floor: NoiseFloor,
}

/// A package with everything that judging needs besides slots.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The package.
    pub package: &'a Package,
    /// Its files.
    pub source: &'a Source,
    /// The languages of this host.
    pub languages: &'a Languages,
    /// What the user asked for.
    pub options: Options,
    /// When the reference clock gives a second opinion.
    pub opinions: &'a Opinions,
    /// Where inferred time limits are kept.
    pub limit_cache: LimitCache<'a>,
    /// Set it to stop; the caller also ends the runs of the slots.
    pub cancel: &'a AtomicBool,
    /// Takes the events, in order for each submission.
    pub emit: &'a (dyn Fn(Event) + Sync),
}

impl Job<'_> {
    /// The limits in force.
    pub fn settings(&self) -> Settings {
        Settings::new(self.package, self.options.overrides)
    }

    pub(crate) fn phase(&self, submission: Option<&str>, phase: JudgePhase) {
        (self.emit)(Event::Phase { submission: submission.map(str::to_owned), phase });
    }

    pub(crate) fn warn(&self, place: &str, message: String) {
        (self.emit)(Event::Warning { place: place.to_owned(), message });
    }
}
