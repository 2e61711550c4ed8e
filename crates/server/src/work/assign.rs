//! From a job of the store to a task for a worker.

use super::worker_messages;
use crate::errors::Refusal;
use crate::problems::limits::{self, Needs};
use crate::service::Service;
use crate::submit::Details;
use crate::submit::own_tests::{OwnTests, PACKAGE};
use fleet::{Opinions, Task, TimeLimit, Work};
use model::{Blob, ProgramFile};
use store::{Error, Job, LimitOf, Store, Submission, SubmissionId, Version};
use tokio::try_join;

/// What comes of a job that is to be begun.
#[derive(Debug)]
pub(crate) enum Assignment {
    /// This is to be done.
    Task(Box<Task>),
    /// It needs a time limit that is not there.
    Awaits(LimitOf),
}

/// The task that a job is.
pub(crate) async fn task(service: &Service, job: &Job) -> Result<Assignment, Refusal> {
    let store = &service.store;
    // At the same time: a slot waits for it.
    let (submission, files, version) =
        try_join!(store.submission(job.submission), files(store, job.submission), version(store, job))?;
    let details = details(&submission)?;
    let problem = submission.problem.as_ref().map(|p| p.name.clone()).unwrap_or_default();
    let work = match version {
        Some(version) if let Some(infers) = &details.infers => {
            Work::Infer { package: version.package.as_str().to_string(), problem, scales: infers.scales }
        }
        Some(version) => {
            let opinions = limits::opinions(service, version.id, job.contest).await?;
            let time_limit = match limits::needs(service, &version, &problem, job.contest).await? {
                Needs::Nothing => None,
                Needs::Limit(limit) => Some(limit),
                Needs::Missing(of) => return Ok(Assignment::Awaits(of)),
            };
            let package = version.package.as_str().to_string();
            judging(&submission, problem, (package, time_limit, Some(opinions)), details, files)
        }
        None => match details.loose.clone() {
            Some(OwnTests { package, name, time_limit }) => {
                let own = files.into_iter().filter(|file| file.name != PACKAGE).collect();
                judging(&submission, name, (package, time_limit, None), details, own)
            }
            None => execution(files)?,
        },
    };
    let name = format!("s{}", submission.id);
    // Others wait for what is inferred.
    let may_be_postponed = matches!(work, Work::Judge { .. }) && worker_messages::may_be_postponed(job);
    Ok(Assignment::Task(Box::new(Task { lease: job.lease(), name, work, may_be_postponed })))
}

/// What was noted with a submission.
pub(crate) fn details(submission: &Submission) -> Result<Details, Refusal> {
    serde_json::from_value(submission.details.clone())
        .map_err(|e| Refusal::Fault(format!("submission {}: its details: {e}", submission.id)))
}

async fn files(store: &Store, submission: SubmissionId) -> Result<Vec<ProgramFile>, Error> {
    let mut files = Vec::new();
    for file in store.files(submission).await? {
        let content = store.blob(&file.hash).await?;
        files.push(ProgramFile { name: file.name, content: Blob(content), executable: false });
    }
    Ok(files)
}

async fn version(store: &Store, job: &Job) -> Result<Option<Version>, Error> {
    match job.version {
        Some(version) => store.version(version).await.map(Some),
        None => Ok(None),
    }
}

fn judging(
    submission: &Submission,
    problem: String,
    (package, time_limit, opinions): (String, Option<TimeLimit>, Option<Opinions>),
    details: Details,
    files: Vec<ProgramFile>,
) -> Work {
    Work::Judge {
        package,
        problem,
        language: Some(submission.language.clone()).filter(|language| !language.is_empty()),
        // Those of a jury submission are in the package; they are kept with the submission to be looked at.
        files: if details.jury.is_some() { Vec::new() } else { files },
        jury: details.jury.map(|jury| jury.path),
        mode: details.mode,
        clock: details.clock,
        time_limit,
        opinions,
    }
}

fn execution(files: Vec<ProgramFile>) -> Result<Work, Refusal> {
    let missing = || Refusal::Fault(format!("an execution without {}", crate::execution::FILE));
    let file = files.iter().find(|file| file.name == crate::execution::FILE).ok_or_else(missing)?;
    serde_json::from_slice(&file.content.0)
        .map(|execution| Work::Execute(Box::new(execution)))
        .map_err(|e| Refusal::Fault(format!("an execution: {e}")))
}
