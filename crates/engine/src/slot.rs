//! Where runs take place.

use crate::artifact_cache::ArtifactCache;
use crate::looks::Looks;
use crate::program::RunContext;
use crate::{Fault, Runner, SystemError};
use judge::package::{Package, Processes, Validator};
use model::{BoxId, Exit, JudgePhase, Nanos, Placement, Policy, RunSpec};
use settle::is_calm;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// A runner and where its runs are placed.
pub struct Station {
    /// Runs programs.
    pub runner: Box<dyn Runner>,
    /// Where.
    pub placement: Placement,
    pub(crate) caches: Caches,
}

/// What compilations of a language have in common.
#[derive(Default)]
pub(crate) struct Caches {
    /// By language; `None` where it could not be made.
    pub(crate) made: Mutex<BTreeMap<String, Option<BoxId>>>,
    /// Where it is kept beyond this process.
    pub(crate) artifacts: Option<Arc<ArtifactCache>>,
}

impl Station {
    /// A station at which nothing has been compiled yet.
    pub fn new(runner: Box<dyn Runner>, placement: Placement) -> Station {
        Station { runner, placement, caches: Caches::default() }
    }

    /// The same station with an artifact cache, which holds what any station compiled for all programs of a language.
    pub fn with_artifacts(mut self, artifacts: Arc<ArtifactCache>) -> Station {
        self.caches.artifacts = Some(artifacts);
        self
    }
}

/// One place where a submission can be judged; nothing else happens on it meanwhile.
pub struct Slot {
    /// Compiles and runs submissions.
    pub main: Station,
    /// Runs validators, interactors and graders, beside the submission where they talk to each other. Only
    /// packages that bring such programs need it: see [`needs_auxiliary`].
    pub auxiliary: Option<Station>,
    /// Runs the further processes of a submission.
    pub crew: Crew,
    /// Shows whether the slot has become slower; `None` if its noise floor was not measured.
    pub control: Option<Control>,
}

/// The memory-bound program of the slot's noise floor, to see whether the machine is as fast as it was then.
pub struct Control {
    /// How it is run on the slot.
    pub spec: RunSpec,
    /// What the spec's descriptors refer to.
    pub files: Vec<OwnedFd>,
    /// The CPU time of its fastest run that is known, in nanoseconds.
    pub best: AtomicU64,
    /// Told of a faster one.
    pub keep: Box<dyn Fn(Nanos) + Send + Sync>,
    /// How long to wait between two looks while the machine is slow.
    pub pause: Duration,
    /// Its recent times, which all processes that judge in the slot share.
    pub looks: Looks,
}

/// A wait is reported again every 20 checks (about five to ten seconds), because a service may have new work for the slot by then.
const AGAIN: u32 = 20;

/// What the last run of the control program showed.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    /// Its CPU time, as a multiple of its fastest run.
    pub(crate) slowdown: f64,
    /// The machine is calm enough to repeat a test.
    pub(crate) calm: bool,
}

impl Control {
    /// Its fastest run, this one included: the floor may have been measured while the machine was slow.
    fn best(&self, time: Nanos) -> Nanos {
        let known = self.best.fetch_min(time.0, Ordering::Relaxed);
        if time.0 < known {
            (self.keep)(time);
        }
        Nanos(known.min(time.0))
    }

    /// Repeats the control program until the machine is calm: at most `most` times, and as long as fewer than [`Policy::CALM_LOOKS`] looks
    /// for calm were made. `look` is its last run, and `looks` counts those made here. `phase` is called when a wait begins, every [`AGAIN`] looks, and when
    /// it ends.
    pub(crate) fn wait_for_calm(
        &self,
        context: &RunContext<'_>,
        calm_until: f64,
        mut look: Look,
        (looks, most): (&Cell<u32>, u32),
        phase: &dyn Fn(JudgePhase),
    ) -> Result<(), Fault> {
        let end = looks.get().saturating_add(most).min(Policy::CALM_LOOKS);
        let waits = |look: &Look| !look.calm && looks.get() < end;
        if !waits(&look) {
            return Ok(());
        }
        let begun = looks.get();
        while waits(&look) {
            if (looks.get() - begun).is_multiple_of(AGAIN) {
                phase(JudgePhase::WaitingForCalm);
            }
            std::thread::sleep(self.pause);
            looks.set(looks.get() + 1);
            look = self.look(context, calm_until)?;
        }
        phase(JudgePhase::Judging);
        Ok(())
    }

    /// Runs it once. The machine is calm if it takes at most `calm_until` times its fastest run.
    pub(crate) fn look(&self, context: &RunContext<'_>, calm_until: f64) -> Result<Look, Fault> {
        let fault = |why: String| SystemError::new("running the control program", why);
        let files: Result<Vec<OwnedFd>, _> = self.files.iter().map(OwnedFd::try_clone).collect();
        let run = context.run(&self.spec, files.map_err(|e| fault(e.to_string()))?)?;
        match run.exit {
            Exit::Code(0) => {
                let (time, best) = (run.time.cpu, self.best(run.time.cpu));
                let calm = is_calm(time, best, calm_until, &self.looks.note(time));
                Ok(Look { slowdown: time.0 as f64 / best.0.max(1) as f64, calm })
            }
            other => Err(fault(format!("it ended with {other:?}")).into()),
        }
    }
}

type Start = dyn Fn() -> Result<Station, SystemError> + Send + Sync;

/// Where the further processes of a submission run ([`judge::package::Processes`]): a station for each, which is started when a package
/// first asks for it.
#[derive(Default)]
pub struct Crew {
    start: Option<Box<Start>>,
    stations: [OnceLock<Station>; MOST_BESIDE],
}

const MOST_BESIDE: usize = Processes::MOST as usize - 1;

impl Crew {
    /// A crew of which each station is started so. The default has none, and submissions have one process.
    pub fn new(start: impl Fn() -> Result<Station, SystemError> + Send + Sync + 'static) -> Crew {
        Crew { start: Some(Box::new(start)), ..Crew::default() }
    }

    /// As many stations as a package asks for.
    pub(crate) fn stations(&self, package: &Package) -> Result<Vec<&Station>, Fault> {
        let wanted = package.features.processes.map_or(0, |processes| processes.count.saturating_sub(1));
        let places = self.stations.iter().take(wanted as usize);
        match &self.start {
            None if wanted > 0 => Err(alone(package, wanted)),
            None => Ok(Vec::new()),
            Some(start) => places.map(|place| station(place, start)).collect(),
        }
    }

    fn started(&self) -> impl Iterator<Item = &Station> {
        self.stations.iter().filter_map(OnceLock::get)
    }
}

fn station<'a>(place: &'a OnceLock<Station>, start: &Start) -> Result<&'a Station, Fault> {
    if let Some(station) = place.get() {
        return Ok(station);
    }
    let started = start()?;
    Ok(place.get_or_init(|| started))
}

fn alone(package: &Package, beside: u32) -> Fault {
    let why = format!(
        "its submissions run as {} processes at a time, and a virtual machine runs one\n\
         hint: judge it with `--isolation sandbox`",
        beside + 1
    );
    Fault::Package { place: package.short_name.clone(), why }
}

impl Slot {
    /// Ends whatever runs on it, from another thread.
    pub fn end_runs(&self) {
        self.main.runner.end_run(false);
        self.auxiliary.iter().chain(self.crew.started()).for_each(|station| station.runner.end_run(false));
    }
}

/// Whether the package brings programs of its own.
pub fn needs_auxiliary(package: &Package) -> bool {
    matches!(package.validator, Validator::Custom(_))
        || package.grader.is_some()
        || package.features.after.is_some()
        || package.features.made.runs_programs()
}
