//! Programs that belong to no problem, as the faces of other judges hand them in: submissions whose one program file is the
//! [`Execution`] as JSON.

use crate::accounts::Caller;
use crate::errors::Refusal;
use crate::service::{Service, ended};
use crate::submit::{Accepted, Details, Incoming, check_program, submit};
use crate::view;
use model::{Executed, Execution};
use serde_json::Value as Json;
use std::time::Duration;
use store::{JudgementSummary, Submission, SubmissionId, Urgency};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

/// Name of the file that holds the [`Execution`].
pub(crate) const FILE: &str = "execution.json";

/// Who waits for a result looks into the store this often, even when nobody tells: another service may have stored it.
const LOOK: Duration = Duration::from_secs(2);

/// A program that is submitted.
pub(crate) struct Program<'a> {
    /// Which face it came through.
    pub(crate) origin: &'a str,
    /// Our language id, or the kind of program.
    pub(crate) language: &'a str,
    /// What is to be done.
    pub(crate) execution: &'a Execution,
    /// Further files that the face wants to show again.
    pub(crate) kept: Vec<(&'a str, &'a [u8])>,
    /// The problem on whose page it is run.
    pub(crate) problem: Option<String>,
    /// What the face wants to know later.
    pub(crate) face: Json,
    /// An address to be told of the result.
    pub(crate) callback: Option<&'a str>,
}

/// Takes a program in: when this returns it is on disk and will be run.
pub(crate) async fn submit_program(
    service: &Service,
    caller: &Caller,
    program: Program<'_>,
) -> Result<Accepted, Refusal> {
    check_program(program.execution)?;
    let json = serde_json::to_vec(program.execution).map_err(|e| Refusal::Fault(e.to_string()))?;
    let mut files: Vec<(&str, &[u8])> = vec![(FILE, &json)];
    files.extend(program.kept);
    let incoming = Incoming {
        token: None,
        version: None,
        author: caller.id(),
        origin: program.origin,
        visitor: caller.visitor.as_deref(),
        language: program.language,
        files,
        details: Details {
            execution: true,
            problem: program.problem,
            face: program.face,
            ..Details::default()
        },
        urgency: Urgency::Live,
        contest: None,
        callback: program.callback,
    };
    submit(service, incoming).await
}

/// What came of a program.
pub(crate) struct Ran {
    /// In short.
    pub(crate) summary: JudgementSummary,
    /// What was executed, without the observations of its runs; `None` where that was deleted, or nothing was executed.
    pub(crate) executed: Option<Executed>,
    /// Why nothing was executed, where that is our fault or the configuration's.
    pub(crate) fault: Option<String>,
}

/// What came of a program; `None` while it waits or runs.
pub(crate) async fn ran(service: &Service, submission: &Submission) -> Result<Option<Ran>, Refusal> {
    let Some(summary) = submission.current.clone() else { return Ok(None) };
    let executed = match service.store.output(summary.id).await? {
        Some(output) => {
            let mut executed: Executed = serde_json::from_value(output.details)
                .map_err(|e| Refusal::Fault(format!("submission {}: what came of it: {e}", submission.id)))?;
            executed.stdout.content.0 = output.stdout;
            executed.stderr.content.0 = output.stderr;
            Some(executed)
        }
        None => None,
    };
    let fault = match executed {
        None if summary.verdict == model::Verdict::JudgeError => {
            service.store.judgement(summary.id).await?.judgement.fault
        }
        _ => None,
    };
    Ok(Some(Ran { summary, executed, fault }))
}

/// What was submitted.
pub(crate) async fn asked(service: &Service, submission: &Submission) -> Result<Option<Execution>, Refusal> {
    let Some(json) = kept(service, submission, FILE).await? else { return Ok(None) };
    serde_json::from_slice(&json)
        .map(Some)
        .map_err(|e| Refusal::Fault(format!("submission {}: {FILE}: {e}", submission.id)))
}

/// A file that was kept with it; `None` where there is none (any more).
pub(crate) async fn kept(
    service: &Service,
    submission: &Submission,
    name: &str,
) -> Result<Option<Vec<u8>>, Refusal> {
    let files = service.store.files(submission.id).await?;
    match files.into_iter().find(|file| file.name == name) {
        Some(file) => Ok(Some(service.store.blob(&file.hash).await?)),
        None => Ok(None),
    }
}

/// Waits until there is a result, the service ends, or `patience` is over; then the submission as it is.
pub(crate) async fn wait(
    service: &Service,
    id: SubmissionId,
    patience: Duration,
) -> Result<Submission, Refusal> {
    let until = Instant::now() + patience;
    let mut ending = std::pin::pin!(ended(service.ending.subscribe()));
    let (_, mut coming) = service.live.watch(id);
    loop {
        let submission = service.store.submission(id).await?;
        if submission.current.is_some() || Instant::now() >= until {
            return Ok(submission);
        }
        let look = tokio::time::sleep_until(until.min(Instant::now() + LOOK));
        tokio::pin!(look);
        loop {
            tokio::select! {
                () = &mut ending => return Ok(submission),
                () = &mut look => break,
                heard = coming.recv() => match heard {
                    Ok(crate::live::LiveEvent::Judged { .. }) | Err(RecvError::Lagged(_)) => break,
                    Ok(_) => {}
                    // The submission's watchers were forgotten: only the store knows now.
                    Err(RecvError::Closed) => (_, coming) = service.live.watch(id),
                }
            }
        }
    }
}

/// Why the times of a program can be believed: its judgement with every run, as the native API shows it.
pub(crate) async fn evidence(service: &Service, ran: &Ran) -> Result<Json, Refusal> {
    let stored = service.store.judgement(ran.summary.id).await?;
    // It is the caller's own from end to end: there are no secret tests.
    let shown = view::whole(service, &stored, true).await?;
    serde_json::to_value(shown).map_err(|e| Refusal::Fault(e.to_string()))
}
