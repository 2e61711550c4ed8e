//! From a job of the store to a task for a worker.

use crate::errors::Refusal;
use crate::service::Service;
use crate::submit::Details;
use fleet::{Lease, Task, TimeLimit, Work};
use model::{Blob, ProgramFile};
use store::{Job, Submission, VersionId};

/// Where the time limit of a version of a problem is noted that had to be found by running jury submissions.
pub(crate) fn limit_setting(version: VersionId) -> String {
    format!("time_limit/{version}")
}

/// The task that a job is.
pub(crate) async fn task(service: &Service, job: &Job) -> Result<Task, Refusal> {
    let submission = service.store.submission(job.submission).await?;
    let details = details(&submission)?;
    let mut files = Vec::new();
    for file in service.store.files(submission.id).await? {
        let content = service.store.blob(&file.hash).await?;
        files.push(ProgramFile { name: file.name, content: Blob(content), executable: false });
    }
    let work = match job.version {
        Some(version) => judging(service, &submission, version, details, files).await?,
        None => execution(files)?,
    };
    let lease = Lease { job: job.id.0, attempt: job.attempt };
    let name = format!("s{}", submission.id);
    Ok(Task { lease, name, work })
}

/// What was noted with a submission.
pub(crate) fn details(submission: &Submission) -> Result<Details, Refusal> {
    serde_json::from_value(submission.details.clone())
        .map_err(|e| Refusal::Fault(format!("submission {}: its details: {e}", submission.id)))
}

async fn judging(
    service: &Service,
    submission: &Submission,
    version: VersionId,
    details: Details,
    files: Vec<ProgramFile>,
) -> Result<Work, Refusal> {
    let stored = service.store.version(version).await?;
    let known = service.store.setting(&limit_setting(version)).await?;
    let time_limit: Option<TimeLimit> = known.and_then(|json| serde_json::from_value(json).ok());
    let problem = submission.problem.as_ref().map(|p| p.name.clone()).unwrap_or_default();
    Ok(Work::Judge {
        package: stored.package.as_str().to_string(),
        problem,
        language: Some(submission.language.clone()).filter(|language| !language.is_empty()),
        // Those of a jury submission are in the package; they are kept with the submission to be looked at.
        files: if details.jury.is_some() { Vec::new() } else { files },
        jury: details.jury.map(|jury| jury.path),
        mode: details.mode,
        clock: details.clock,
        time_limit,
    })
}

fn execution(files: Vec<ProgramFile>) -> Result<Work, Refusal> {
    let missing = || Refusal::Fault(format!("an execution without {}", crate::execution::FILE));
    let file = files.iter().find(|file| file.name == crate::execution::FILE).ok_or_else(missing)?;
    serde_json::from_slice(&file.content.0)
        .map(|execution| Work::Execute(Box::new(execution)))
        .map_err(|e| Refusal::Fault(format!("an execution: {e}")))
}
