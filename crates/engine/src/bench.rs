//! A slot made ready for a package: its validators and grader compiled, once for all submissions.

use crate::case::CaseContext;
use crate::clocks::Meter;
use crate::job::{Job, Options};
use crate::limits::{Overrides, Settings};
use crate::make;
use crate::program::{Built, Compiled, Place, compile};
use crate::recipe::package_recipe;
use crate::slot::{Control, Slot, Station, needs_auxiliary, processes_beside};
use crate::{Fault, SystemError};
use judge::package::{Calls, OwnLimits, Program, Validator};
use model::{Event, JudgePhase, Layout};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::scope;

/// A slot made ready.
pub struct Bench<'a> {
    pub(crate) job: Job<'a>,
    pub(crate) settings: Settings,
    slot: &'a Slot,
    programs: Arc<Programs<'a>>,
}

/// A package's programs, compiled on a slot: its validators and its grader. Whoever judges many packages by turns keeps them.
pub struct Programs<'a> {
    validators: Vec<Built<'a>>,
    grader: Option<Built<'a>>,
    after: Option<(Built<'a>, Calls)>,
}

impl<'a> Bench<'a> {
    /// Compiles what the package brings on a slot.
    pub fn new(job: Job<'a>, slot: &'a Slot) -> Result<Bench<'a>, Fault> {
        let programs = Programs::compile(&job, slot, job.cancel)?;
        Ok(Bench::with(job, slot, Arc::new(programs)))
    }

    /// A bench on a slot where the package's programs have been compiled before, by the same limits.
    pub fn with(job: Job<'a>, slot: &'a Slot, programs: Arc<Programs<'a>>) -> Bench<'a> {
        Bench { job, settings: job.settings(), slot, programs }
    }

    /// One bench on each slot, made at the same time. At least one slot.
    pub fn all(job: Job<'a>, slots: &'a [Slot]) -> Result<Vec<Bench<'a>>, Fault> {
        let nowhere = || SystemError::new("judging", "there is no slot");
        let (first, others) = slots.split_first().ok_or_else(nowhere)?;
        scope(|threads| {
            let others: Vec<_> =
                others.iter().map(|slot| threads.spawn(move || Bench::new(job, slot))).collect();
            let first = Bench::new(job, first);
            let others = others.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(panicked())));
            [first].into_iter().chain(others).collect()
        })
    }

    /// The same bench, telling its events to someone else.
    pub(crate) fn with_emit<'b>(&'b self, emit: &'b (dyn Fn(Event) + Sync)) -> Bench<'b> {
        let job = Job { emit, ..self.job };
        Bench { job, settings: self.settings, slot: self.slot, programs: self.programs.clone() }
    }

    /// The same bench, for a submission with limits of its own. Those that the user typed win.
    pub(crate) fn with_limits(&self, own: OwnLimits) -> Bench<'a> {
        let typed = self.job.options.overrides;
        let overrides = Overrides { memory: typed.memory.or(own.memory), ..typed };
        let job = Job { options: Options { overrides, ..self.job.options }, ..self.job };
        Bench { job, settings: job.settings(), slot: self.slot, programs: self.programs.clone() }
    }

    /// The same bench by another clock.
    pub(crate) fn with_means(&self, means: Meter) -> Bench<'a> {
        let job = Job { options: Options { means, ..self.job.options }, ..self.job };
        Bench { job, settings: self.settings, slot: self.slot, programs: self.programs.clone() }
    }

    pub(crate) fn grader(&self) -> Option<&Built<'a>> {
        self.programs.grader.as_ref()
    }

    pub(crate) fn control(&self) -> Option<&Control> {
        self.slot.control.as_ref()
    }

    pub(crate) fn place(&self) -> Place<'_> {
        place(&self.slot.main, self.job.options.layout, self.job.cancel)
    }

    /// Where the package's programs run.
    pub(crate) fn beside(&self) -> Result<Place<'_>, SystemError> {
        let missing = || SystemError::new("preparing validators", "the slot has no auxiliary runner");
        Ok(place(self.slot.auxiliary.as_ref().ok_or_else(missing)?, Layout::default(), self.job.cancel))
    }

    /// Where a submission's further processes run, as many as the package asks for.
    pub(crate) fn crew(&self) -> Result<Vec<Place<'_>>, Fault> {
        let (wanted, there) = (processes_beside(self.job.package), &self.slot.beside);
        if wanted > there.len() {
            let why = format!(
                "its submissions run as {} processes at a time, and this slot has sandboxes for {}\n\
                 hint: judge it with `tauto judge` or `tauto verify`",
                wanted + 1,
                there.len() + 1
            );
            return Err(Fault::Package { place: self.job.package.short_name.clone(), why });
        }
        let layout = self.job.options.layout;
        Ok(there[..wanted].iter().map(|station| place(station, layout, self.job.cancel)).collect())
    }

    pub(crate) fn context(&self) -> CaseContext<'_> {
        CaseContext {
            package: self.job.package,
            means: self.job.options.means,
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
        let place = place(station, Layout::default(), cancel);
        let settings = job.settings();
        make::files(job, Some(place), &settings)?;
        let built = |program: &Program| prepare(job, place, program, &settings);
        if let Validator::Custom(validators) = &job.package.validator {
            programs.validators = validators.iter().map(built).collect::<Result<_, _>>()?;
        }
        programs.grader = job.package.grader.as_ref().map(built).transpose()?;
        let after = job.package.manner.after.as_ref();
        let after = after.map(|after| Ok::<_, Fault>((built(&after.program)?, after.calls.clone())));
        programs.after = after.transpose()?;
        Ok(programs)
    }
}

fn place<'a>(station: &'a Station, layout: Layout, cancel: &'a AtomicBool) -> Place<'a> {
    let (placement, caches) = (&station.placement, &station.caches);
    Place { runner: &*station.runner, placement, caches, layout, cancel }
}

pub(crate) fn prepare<'a>(
    job: &Job,
    place: Place<'a>,
    program: &Program,
    settings: &Settings,
) -> Result<Built<'a>, Fault> {
    let memory = settings.validation_memory;
    let recipe = package_recipe(program, job.source, job.package, memory, job.languages)?;
    if let Some(why) = &recipe.stands_in {
        job.warn(&program.path, why.clone());
    }
    match compile(place, &recipe, settings)? {
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
    benches: &[Bench],
    items: &[T],
    work: impl Fn(&Bench, &T) -> Result<R, Fault> + Sync,
) -> Result<Vec<R>, Fault> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<R>>> = Mutex::new(items.iter().map(|_| None).collect());
    let fault: Mutex<Option<Fault>> = Mutex::new(None);
    let serve = |bench: &Bench| {
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
