//! From a job of the store to a task for a worker.

use crate::errors::Refusal;
use crate::service::Service;
use crate::submit::Details;
use fleet::{Task, TimeLimit, Work};
use model::{Blob, ProgramFile};
use store::{Error, Hash, Job, Store, Submission, SubmissionId, VersionId};
use tokio::try_join;

/// Where the time limit of a version of a problem is noted that had to be found by running jury submissions.
pub(crate) fn limit_setting(version: VersionId) -> String {
    format!("time_limit/{version}")
}

/// The task that a job is.
pub(crate) async fn task(service: &Service, job: &Job) -> Result<Task, Refusal> {
    let store = &service.store;
    // At the same time: a slot waits for it.
    let (submission, files, by) =
        try_join!(store.submission(job.submission), files(store, job.submission), by(store, job.version))?;
    let details = details(&submission)?;
    let work = match by {
        Some(by) => judging(&submission, by, details, files),
        None => execution(files)?,
    };
    let name = format!("s{}", submission.id);
    Ok(Task { lease: job.lease(), name, work })
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

/// What a job is judged by: a package, and the time limit where that had to be found.
async fn by(store: &Store, version: Option<VersionId>) -> Result<Option<(Hash, Option<TimeLimit>)>, Error> {
    let Some(version) = version else { return Ok(None) };
    let name = limit_setting(version);
    let (stored, known) = try_join!(store.version(version), store.setting(&name))?;
    Ok(Some((stored.package, known.and_then(|json| serde_json::from_value(json).ok()))))
}

fn judging(
    submission: &Submission,
    (package, time_limit): (Hash, Option<TimeLimit>),
    details: Details,
    files: Vec<ProgramFile>,
) -> Work {
    let problem = submission.problem.as_ref().map(|p| p.name.clone()).unwrap_or_default();
    Work::Judge {
        package: package.as_str().to_string(),
        problem,
        language: Some(submission.language.clone()).filter(|language| !language.is_empty()),
        // Those of a jury submission are in the package; they are kept with the submission to be looked at.
        files: if details.jury.is_some() { Vec::new() } else { files },
        jury: details.jury.map(|jury| jury.path),
        mode: details.mode,
        clock: details.clock,
        time_limit,
    }
}

fn execution(files: Vec<ProgramFile>) -> Result<Work, Refusal> {
    let missing = || Refusal::Fault(format!("an execution without {}", crate::execution::FILE));
    let file = files.iter().find(|file| file.name == crate::execution::FILE).ok_or_else(missing)?;
    serde_json::from_slice(&file.content.0)
        .map(|execution| Work::Execute(Box::new(execution)))
        .map_err(|e| Refusal::Fault(format!("an execution: {e}")))
}
