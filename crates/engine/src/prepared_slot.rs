//! A slot made ready for a package: its validators and grader compiled, once for all submissions.

use crate::build_plan::package_build_plan;
use crate::case::CaseContext;
use crate::clocks::Meter;
use crate::job::{Job, Options};
use crate::limits::{Overrides, Settings};
use crate::make;
use crate::program::{Built, Compiled, RunContext, compile};
use crate::slot::{Control, Slot, Station, needs_auxiliary};
use crate::{Fault, SystemError};
use judge::package::{Calls, OwnLimits, Program, Validator};
use model::{Event, JudgePhase, Layout};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::scope;

/// A slot that is ready to judge submissions of a package.
pub struct PreparedSlot<'a> {
    pub(crate) job: Job<'a>,
    pub(crate) settings: Settings,
    slot: &'a Slot,
    programs: Arc<Programs<'a>>,
}

/// The compiled validators and grader of a package on a slot. Keep them to judge many packages in turn.
pub struct Programs<'a> {
    validators: Vec<Built<'a>>,
    grader: Option<Built<'a>>,
    after: Option<(Built<'a>, Calls)>,
}

impl<'a> PreparedSlot<'a> {
    /// Compiles what the package brings on a slot.
    pub fn new(job: Job<'a>, slot: &'a Slot) -> Result<PreparedSlot<'a>, Fault> {
        let programs = Programs::compile(&job, slot, job.cancel)?;
        Ok(PreparedSlot::with(job, slot, Arc::new(programs)))
    }

    /// A slot on which the package's programs were compiled before, with the same limits.
    pub fn with(job: Job<'a>, slot: &'a Slot, programs: Arc<Programs<'a>>) -> PreparedSlot<'a> {
        PreparedSlot { job, settings: job.settings(), slot, programs }
    }

    /// Prepares all slots at the same time. There must be at least one.
    pub fn all(job: Job<'a>, slots: &'a [Slot]) -> Result<Vec<PreparedSlot<'a>>, Fault> {
        let nowhere = || SystemError::new("judging", "there is no slot");
        let (first, others) = slots.split_first().ok_or_else(nowhere)?;
        scope(|threads| {
            let others: Vec<_> =
                others.iter().map(|slot| threads.spawn(move || PreparedSlot::new(job, slot))).collect();
            let first = PreparedSlot::new(job, first);
            let others = others.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(panicked())));
            [first].into_iter().chain(others).collect()
        })
    }

    /// The same slot, with another receiver of events.
    pub(crate) fn with_emit<'b>(&'b self, emit: &'b (dyn Fn(Event) + Sync)) -> PreparedSlot<'b> {
        let job = Job { emit, ..self.job };
        PreparedSlot { job, settings: self.settings, slot: self.slot, programs: self.programs.clone() }
    }

    /// The same slot for a submission with its own limits. Limits on the command line take precedence.
    pub(crate) fn with_limits(&self, own: OwnLimits) -> PreparedSlot<'a> {
        let typed = self.job.options.overrides;
        let overrides = Overrides { memory: typed.memory.or(own.memory), ..typed };
        let job = Job { options: Options { overrides, ..self.job.options }, ..self.job };
        PreparedSlot { job, settings: job.settings(), slot: self.slot, programs: self.programs.clone() }
    }

    /// The same slot under another clock.
    pub(crate) fn with_meter(&self, meter: Meter) -> PreparedSlot<'a> {
        let job = Job { options: Options { meter, ..self.job.options }, ..self.job };
        PreparedSlot { job, settings: self.settings, slot: self.slot, programs: self.programs.clone() }
    }

    pub(crate) fn grader(&self) -> Option<&Built<'a>> {
        self.programs.grader.as_ref()
    }

    pub(crate) fn control(&self) -> Option<&Control> {
        self.slot.control.as_ref()
    }

    pub(crate) fn main_context(&self) -> RunContext<'_> {
        run_context(&self.slot.main, self.job.options.layout, self.job.cancel)
    }

    /// Where the package's programs run.
    pub(crate) fn beside(&self) -> Result<RunContext<'_>, SystemError> {
        let missing = || SystemError::new("preparing validators", "the slot has no auxiliary runner");
        Ok(run_context(self.slot.auxiliary.as_ref().ok_or_else(missing)?, Layout::default(), self.job.cancel))
    }

    /// Where a submission's further processes run, as many as the package asks for.
    pub(crate) fn crew(&self) -> Result<Vec<RunContext<'_>>, Fault> {
        let stations = self.slot.crew.stations(self.job.package)?;
        let layout = self.job.options.layout;
        Ok(stations.into_iter().map(|station| run_context(station, layout, self.job.cancel)).collect())
    }

    pub(crate) fn context(&self) -> CaseContext<'_> {
        CaseContext {
            package: self.job.package,
            meter: self.job.options.meter,
            source: self.job.source,
            settings: &self.settings,
            validators: &self.programs.validators,
            after: self.programs.after.as_ref(),
        }
    }
}

impl<'a> Programs<'a> {
    /// Compiles what the package of a job brings.
    pub fn compile(job: &Job, slot: &'a Slot, cancel: &'a AtomicBool) -> Result<Programs<'a>, Fault> {
        let mut programs = Programs { validators: Vec::new(), grader: None, after: None };
        if !needs_auxiliary(job.package) {
            make::files(job, None, &job.settings())?;
            return Ok(programs);
        }
        job.phase(None, JudgePhase::PreparingValidators);
        let missing = || SystemError::new("preparing validators", "the slot has no auxiliary runner");
        let station = slot.auxiliary.as_ref().ok_or_else(missing)?;
        let context = run_context(station, Layout::default(), cancel);
        let settings = job.settings();
        make::files(job, Some(context), &settings)?;
        let built = |program: &Program| prepare(job, context, program, &settings);
        if let Validator::Custom(validators) = &job.package.validator {
            programs.validators = validators.iter().map(built).collect::<Result<_, _>>()?;
        }
        programs.grader = job.package.grader.as_ref().map(built).transpose()?;
        let after = job.package.features.after.as_ref();
        let after = after.map(|after| Ok::<_, Fault>((built(&after.program)?, after.calls.clone())));
        programs.after = after.transpose()?;
        Ok(programs)
    }
}

fn run_context<'a>(station: &'a Station, layout: Layout, cancel: &'a AtomicBool) -> RunContext<'a> {
    let (placement, caches) = (&station.placement, &station.caches);
    RunContext { runner: &*station.runner, placement, caches, layout, cancel }
}

pub(crate) fn prepare<'a>(
    job: &Job,
    context: RunContext<'a>,
    program: &Program,
    settings: &Settings,
) -> Result<Built<'a>, Fault> {
    let memory = settings.validation_memory;
    let build_plan = package_build_plan(program, job.source, job.package, memory, job.languages)?;
    if let Some(why) = &build_plan.stands_in {
        job.warn(&program.path, why.clone());
    }
    match compile(context, &build_plan, settings)? {
        Compiled::Built { program, .. } => Ok(program),
        Compiled::Failed { output } => Err(Fault::Package {
            place: program.path.clone(),
            why: format!("does not compile:\n{}", output.trim_end()),
        }),
    }
}

fn panicked() -> Fault {
    SystemError::new("judging", "a thread of ours ended unexpectedly").into()
}

/// Does every item on some bench, as many at a time as there are benches. The first fault ends it; items that
/// are being done then are finished.
pub(crate) fn spread<T: Sync, R: Send>(
    benches: &[PreparedSlot],
    items: &[T],
    work: impl Fn(&PreparedSlot, &T) -> Result<R, Fault> + Sync,
) -> Result<Vec<R>, Fault> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<R>>> = Mutex::new(items.iter().map(|_| None).collect());
    let fault: Mutex<Option<Fault>> = Mutex::new(None);
    let serve = |bench: &PreparedSlot| {
        loop {
            let n = next.fetch_add(1, Ordering::SeqCst);
            let Some(item) = items.get(n) else { return };
            match work(bench, item) {
                Ok(result) => done.lock().unwrap_or_else(PoisonError::into_inner)[n] = Some(result),
                Err(why) => {
                    next.store(items.len(), Ordering::SeqCst);
                    fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
                }
            }
        }
    };
    scope(|threads| benches.iter().for_each(|bench| drop(threads.spawn(|| serve(bench)))));
    match fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(why) => Err(why),
        None => {
            let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
            done.into_iter().collect::<Option<Vec<R>>>().ok_or_else(panicked)
        }
    }
}
