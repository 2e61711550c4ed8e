//! Doing one task.

use super::Worker;
use super::packages::{Missing, Ready};
use super::transport::{TaskService, TransportError};
use crate::clocks;
use crate::options::ClockArgs;
use engine::execute::{Conditions, execute};
use engine::job::{Job, Options};
use engine::limit_cache::LimitCache;
use engine::limits::Overrides;
use engine::opinion::{Opinions, scales};
use engine::prepared_slot::{PreparedSlot, Programs};
use engine::submission::{Submission, judge_submission};
use engine::timelimit::{TimeLimitInUse, time_limit};
use engine::{Blame, Fault, LoadedFile};
use fleet::{Mode, Opinions as Told, Outcome, Task, TimeLimit, Work};
use judge::package::TimeLimit as PackageLimit;
use judge::scoring::JudgeMode;
use model::{Clock, Event, Execution, InferredLimit, JudgePhase, Layout, ProgramFile, SecondOpinions};
use std::sync::{Arc, Mutex, PoisonError};

/// Does a task. What goes wrong is part of the outcome.
pub(super) fn perform(worker: &mut Worker, service: &dyn TaskService, task: &Task) -> Outcome {
    tracing::debug!(job = task.lease.job.0, attempt = task.lease.attempt, "task started");
    let done = match &task.work {
        Work::Judge { package, problem, language, files, jury, mode, clock, time_limit, opinions } => {
            let (mode, clock) = (*mode, *clock);
            let asked = JudgeRequest { language, files, jury, mode, clock, limit: time_limit, opinions };
            judge(worker, service, task, (package, problem), &asked)
        }
        Work::Infer { package, problem, scales } => infer(worker, service, task, (package, problem), *scales),
        Work::Execute(execution) => run(worker, service, task, execution),
    };
    tracing::debug!(job = task.lease.job.0, attempt = task.lease.attempt, "task finished");
    match done {
        Ok(outcome) => outcome,
        Err(NotDone::Refused(why)) => Outcome::Refused { why },
        Err(NotDone::Failed(why)) => Outcome::Failed { why },
        Err(NotDone::Returned(why)) => Outcome::Returned { why },
    }
}

/// Why nothing came of a task.
enum NotDone {
    Refused(String),
    Failed(String),
    Returned(String),
}

impl From<Fault> for NotDone {
    fn from(fault: Fault) -> NotDone {
        match fault {
            Fault::Cancelled => NotDone::Returned("the worker was asked to stop".into()),
            // The worker is as good as before, and another one would do no better.
            Fault::System(error) if error.blame == Blame::Content => NotDone::Refused(error.to_string()),
            Fault::System(error) => NotDone::Failed(error.to_string()),
            other => NotDone::Refused(other.to_string()),
        }
    }
}

impl From<TransportError> for NotDone {
    fn from(broken: TransportError) -> NotDone {
        match broken {
            TransportError::Worker(why) => NotDone::Failed(why),
            other => NotDone::Returned(other.why()),
        }
    }
}

impl From<Missing> for NotDone {
    fn from(missing: Missing) -> NotDone {
        match missing {
            Missing::Transport(broken) => broken.into(),
            Missing::Bad(why) => NotDone::Refused(why),
        }
    }
}

/// What is asked of judging a submission.
struct JudgeRequest<'a> {
    language: &'a Option<String>,
    files: &'a [ProgramFile],
    jury: &'a Option<String>,
    mode: Mode,
    clock: Option<Clock>,
    limit: &'a Option<TimeLimit>,
    opinions: &'a Option<Told>,
}

fn judge(
    worker: &mut Worker,
    service: &dyn TaskService,
    task: &Task,
    (hash, problem): (&str, &str),
    asked: &JudgeRequest,
) -> Result<Outcome, NotDone> {
    let ready = worker.packages.get(service, hash, problem)?;
    let mode = match asked.mode {
        Mode::StopEarly => JudgeMode::StopEarly,
        Mode::AllTests => JudgeMode::AllTests,
    };
    let emit = |event: Event| {
        tell(service, task, event);
    };
    let scales = asked.opinions.as_ref().map(|told| told.scales.clone()).unwrap_or_default();
    let opinions = Opinions::told(when(asked.opinions.as_ref(), ready.opened.second_opinion), scales);
    let job = job(worker, &ready, &emit, (asked.clock, mode), &opinions)?;
    let bench = PreparedSlot::with(job, worker.slot, programs(worker, &ready, &job)?);
    let limit = limit(&job, asked)?;
    let submission = submission(task, asked, &job)?;
    let judgement = judge_submission(&bench, &submission, &limit, mode)?.judgement;
    Ok(Outcome::Judged { judgement: Box::new(judgement) })
}

/// As the contest says, else the package, else the service; where the latter asks for none, there are none.
fn when(told: Option<&Told>, wished: Option<SecondOpinions>) -> SecondOpinions {
    match (told, wished) {
        (Some(told), Some(wished)) if !told.firm && told.when != SecondOpinions::Never => wished,
        (Some(told), _) => told.when,
        // A service of before.
        (None, _) => SecondOpinions::Never,
    }
}

/// What is done with a package here.
fn job<'a>(
    worker: &'a Worker,
    ready: &'a Ready,
    emit: &'a (dyn Fn(Event) + Sync),
    (clock, mode): (Option<Clock>, JudgeMode),
    opinions: &'a Opinions,
) -> Result<Job<'a>, NotDone> {
    let clock = ClockArgs { clock, counter: None };
    let meter = clocks::meter(clock, ready.opened.clock).map_err(|e| NotDone::Refused(e.to_string()))?;
    let options = Options {
        overrides: Overrides::default(),
        mode,
        layout: Layout::default(),
        meter,
        floor: worker.floor,
    };
    Ok(Job {
        package: &ready.opened.package,
        source: &ready.opened.source,
        languages: &worker.languages,
        options,
        opinions,
        // The service keeps them.
        limit_cache: LimitCache::NOWHERE,
        cancel: worker.cancel,
        emit,
    })
}

/// Runs a program that belongs to no problem.
fn run(
    worker: &Worker,
    service: &dyn TaskService,
    task: &Task,
    execution: &Execution,
) -> Result<Outcome, NotDone> {
    let emit = |event: Event| {
        tell(service, task, event);
    };
    let conditions = Conditions {
        languages: &worker.languages,
        floor: &worker.floor,
        layout: Layout::default(),
        cancel: worker.cancel,
        emit: &emit,
    };
    Ok(Outcome::Executed { executed: Box::new(execute(worker.slot, execution, conditions)?) })
}

/// The package's programs, compiled the first time.
fn programs(worker: &Worker, ready: &Ready, job: &Job) -> Result<Arc<Programs<'static>>, NotDone> {
    if let Some(known) = ready.programs.get() {
        return Ok(known.clone());
    }
    let compiled = Arc::new(Programs::compile(job, worker.slot, worker.cancel)?);
    Ok(ready.programs.get_or_init(|| compiled).clone())
}

fn submission(task: &Task, asked: &JudgeRequest, job: &Job) -> Result<Submission, NotDone> {
    if let Some(path) = asked.jury {
        let jury = job.package.submissions.iter().find(|jury| jury.program.path == *path);
        let jury =
            jury.ok_or_else(|| NotDone::Refused(format!("{path}: the package has no such submission")))?;
        return Ok(Submission::of_jury(jury, job)?);
    }
    let part = |file: &ProgramFile| LoadedFile {
        name: file.name.clone(),
        executable: file.executable,
        content: file.content.0.clone(),
    };
    Ok(Submission {
        name: task.name.clone(),
        parts: asked.files.iter().map(part).collect(),
        language: asked.language.clone(),
        entry: None,
        of_jury: false,
    })
}

/// The time limit: told, or stated by the package.
fn limit(job: &Job, asked: &JudgeRequest) -> Result<TimeLimitInUse, NotDone> {
    let (limit, source) = match (asked.limit, &job.package.limits.time) {
        (Some(told), _) => (told.limit, told.source.clone()),
        (None, PackageLimit::Stated { limit, source }) => (*limit, source.clone()),
        (None, PackageLimit::Inferred(_)) => {
            let why = "the service sent no time limit: its version is older than this worker's\n\
                       hint: upgrade the servers before their workers, and rejudge";
            return Err(NotDone::Refused(why.into()));
        }
    };
    (job.emit)(Event::TimeLimit { limit, source: source.clone() });
    Ok(TimeLimitInUse { limit, source, stop_factor: 1.0, inferred: None })
}

/// Tells the service what happens. A wait for a calm machine is no event to it: a service of the previous version cannot read that.
fn tell(service: &dyn TaskService, task: &Task, event: Event) {
    match event {
        Event::Phase { phase: JudgePhase::WaitingForCalm, .. } if task.may_be_postponed => {
            service.waits(task.lease);
        }
        Event::Phase { phase: JudgePhase::WaitingForCalm, .. } => {}
        event => service.event(task.lease, event),
    }
}

/// Infers the time limit of a package that states none, or what its limits are in reference time.
fn infer(
    worker: &mut Worker,
    service: &dyn TaskService,
    task: &Task,
    package: (&str, &str),
    in_reference_time: bool,
) -> Result<Outcome, NotDone> {
    let warnings = Mutex::new(Vec::new());
    let emit = |event: Event| {
        if let Event::Warning { place, message } = &event {
            warnings.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{place}: {message}"));
        }
        tell(service, task, event);
    };
    let ready = worker.packages.get(service, package.0, package.1)?;
    let opinions = match in_reference_time {
        true => Opinions::told(SecondOpinions::Open, Vec::new()),
        false => Opinions::none(),
    };
    let job = job(worker, &ready, &emit, (None, JudgeMode::AllTests), &opinions)?;
    let bench = PreparedSlot::with(job, worker.slot, programs(worker, &ready, &job)?);
    if in_reference_time {
        let found = scales(&bench)?;
        return Ok(Outcome::Scaled { found: Box::new(found) });
    }
    let found = time_limit(&job, std::slice::from_ref(&bench))?.inferred;
    let warnings = std::mem::take(&mut *warnings.lock().unwrap_or_else(PoisonError::into_inner));
    let limit = found.map(|limit| InferredLimit { warnings, ..limit });
    let limit = limit.ok_or_else(|| NotDone::Refused("the package states its time limit".into()))?;
    Ok(Outcome::Inferred { limit: Box::new(limit) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contest_says_when_else_the_package_else_the_service() {
        use SecondOpinions::{Grey, Never, Open};
        let told = |when, firm| Some(Told { when, firm, scales: Vec::new() });
        for (told, wished, expected) in [
            (None, Some(Grey), Never),
            (told(Open, false), None, Open),
            (told(Open, false), Some(Grey), Grey),
            (told(Open, false), Some(Never), Never),
            (told(Open, true), Some(Never), Open),
            (told(Never, false), Some(Grey), Never),
            (told(Never, true), Some(Grey), Never),
        ] {
            assert_eq!(when(told.as_ref(), wished), expected, "{told:?} {wished:?}");
        }
    }

    /// What it is told.
    #[derive(Default)]
    struct Heard(Mutex<Vec<String>>);

    impl TaskService for Heard {
        fn event(&self, _: fleet::Lease, event: Event) {
            self.0.lock().unwrap().push(format!("{event:?}"));
        }
        fn waits(&self, lease: fleet::Lease) {
            self.0.lock().unwrap().push(format!("{} waits", lease.job.0));
        }
        fn package(&self, _: &str, _: &mut std::fs::File) -> Result<bool, TransportError> {
            unreachable!()
        }
        fn damaged(&self, _: &str, _: &str) -> Result<(), TransportError> {
            unreachable!()
        }
    }

    #[test]
    fn a_service_that_postpones_hears_of_waits_and_others_do_not() {
        let told = |may_be_postponed, phase| {
            let lease = fleet::Lease { job: fleet::JobId(7), attempt: 1 };
            let work = Work::Infer { package: String::new(), problem: String::new(), scales: false };
            let heard = Heard::default();
            let task = Task { lease, name: "s7".into(), work, may_be_postponed };
            tell(&heard, &task, Event::Phase { submission: None, phase });
            heard.0.into_inner().unwrap().join(", ")
        };
        assert_eq!(told(true, JudgePhase::WaitingForCalm), "7 waits");
        assert_eq!(told(false, JudgePhase::WaitingForCalm), "");
        for may_be_postponed in [true, false] {
            assert!(told(may_be_postponed, JudgePhase::Judging).contains("Judging"));
        }
    }
}
