//! Doing one task.

use super::Worker;
use super::link::{Broken, Service};
use super::packages::{Missing, Ready};
use crate::clocks;
use crate::options::ClockArgs;
use engine::bench::{Bench, Programs};
use engine::execute::{Conditions, execute};
use engine::job::{Job, Options};
use engine::limits::Overrides;
use engine::opinion::Opinions;
use engine::submission::{Submission, judge_submission};
use engine::timelimit::{TimeLimitInUse, time_limit};
use engine::{Blame, Fault, Part};
use fleet::{Mode, Outcome, Task, TimeLimit, Work};
use judge::package::TimeLimit as PackageLimit;
use judge::scoring::JudgeMode;
use model::{Clock, Event, Execution, Layout, ProgramFile};
use std::sync::Arc;

/// Does a task. What goes wrong is part of the outcome.
pub(super) fn perform(worker: &mut Worker, service: &dyn Service, task: &Task) -> Outcome {
    tracing::debug!(job = task.lease.job.0, attempt = task.lease.attempt, "a task begins");
    let done = match &task.work {
        Work::Judge { package, problem, language, files, jury, mode, clock, time_limit } => {
            let asked = Asked { language, files, jury, mode: *mode, clock: *clock, limit: time_limit };
            judge(worker, service, task, (package, problem), &asked)
        }
        Work::Execute(execution) => run(worker, service, task, execution),
    };
    tracing::debug!(job = task.lease.job.0, attempt = task.lease.attempt, "a task ends");
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
            Fault::Cancelled => NotDone::Returned("the worker was told to end".into()),
            // The worker is as good as before, and another one would do no better.
            Fault::System(error) if error.blame == Blame::Content => NotDone::Refused(error.to_string()),
            Fault::System(error) => NotDone::Failed(error.to_string()),
            other => NotDone::Refused(other.to_string()),
        }
    }
}

impl From<Broken> for NotDone {
    fn from(broken: Broken) -> NotDone {
        match broken {
            Broken::Worker(why) => NotDone::Failed(why),
            other => NotDone::Returned(other.why()),
        }
    }
}

impl From<Missing> for NotDone {
    fn from(missing: Missing) -> NotDone {
        match missing {
            Missing::Broken(broken) => broken.into(),
            Missing::Bad(why) => NotDone::Refused(why),
        }
    }
}

/// What is asked of judging a submission.
struct Asked<'a> {
    language: &'a Option<String>,
    files: &'a [ProgramFile],
    jury: &'a Option<String>,
    mode: Mode,
    clock: Option<Clock>,
    limit: &'a Option<TimeLimit>,
}

fn judge(
    worker: &mut Worker,
    service: &dyn Service,
    task: &Task,
    (hash, problem): (&str, &str),
    asked: &Asked,
) -> Result<Outcome, NotDone> {
    let ready = worker.packages.get(service, hash, problem)?;
    let clock = ClockArgs { clock: asked.clock, counter: None };
    let means = clocks::means(clock, ready.opened.clock).map_err(|e| NotDone::Refused(e.to_string()))?;
    let mode = match asked.mode {
        Mode::StopEarly => JudgeMode::StopEarly,
        Mode::AllTests => JudgeMode::AllTests,
    };
    let options = Options {
        overrides: Overrides::default(),
        mode,
        layout: Layout::default(),
        means,
        floor: worker.floor,
    };
    let emit = |event: Event| {
        service.event(task.lease, event);
    };
    let opinions = Opinions::none();
    let job = Job {
        package: &ready.opened.package,
        source: &ready.opened.source,
        languages: &worker.languages,
        options,
        // Until a service tells the scales of a problem's version.
        opinions: &opinions,
        cancel: worker.cancel,
        emit: &emit,
    };
    let bench = Bench::with(job, worker.slot, programs(worker, &ready, &job)?);
    let limit = limit(service, task, &job, &bench, asked)?;
    let submission = submission(task, asked, &job)?;
    let judgement = judge_submission(&bench, &submission, &limit, mode)?.judgement;
    Ok(Outcome::Judged { judgement: Box::new(judgement) })
}

/// Runs a program that belongs to no problem.
fn run(
    worker: &Worker,
    service: &dyn Service,
    task: &Task,
    execution: &Execution,
) -> Result<Outcome, NotDone> {
    let emit = |event: Event| {
        service.event(task.lease, event);
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

fn submission(task: &Task, asked: &Asked, job: &Job) -> Result<Submission, NotDone> {
    if let Some(path) = asked.jury {
        let jury = job.package.submissions.iter().find(|jury| jury.program.path == *path);
        let jury =
            jury.ok_or_else(|| NotDone::Refused(format!("{path}: the package has no such submission")))?;
        return Ok(Submission::of_jury(jury, job)?);
    }
    let part = |file: &ProgramFile| Part {
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

/// The time limit: told, stated by the package, or found here and made everybody's by the service.
fn limit(
    service: &dyn Service,
    task: &Task,
    job: &Job,
    bench: &Bench,
    asked: &Asked,
) -> Result<TimeLimitInUse, NotDone> {
    let in_use = |known: TimeLimit| TimeLimitInUse {
        limit: known.limit,
        source: known.source,
        stop_factor: 1.0,
        inferred: None,
    };
    if let Some(known) = asked.limit {
        return Ok(in_use(known.clone()));
    }
    let found = time_limit(job, std::slice::from_ref(bench))?.time;
    if matches!(job.package.limits.time, PackageLimit::Stated { .. }) {
        return Ok(found);
    }
    let told = TimeLimit { limit: found.limit, source: found.source.clone() };
    Ok(in_use(service.time_limit(task.lease, told)?))
}
