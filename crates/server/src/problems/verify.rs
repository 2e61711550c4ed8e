//! Verifying a package on the service: its jury's submissions are submitted and must earn what they promise.

use crate::errors::Refusal;
use crate::problems::Opened;
use crate::rejudge;
use crate::service::Service;
use crate::submit::{Details, Incoming, Jury, submit};
use crate::work::details;
use fleet::Mode;
use judge::expect::{SubmissionOutcome, TestOutcome, holds};
use judge::package::JurySubmission;
use model::Verdict;
use std::collections::HashMap;
use std::sync::Arc;
use store::{Filter, Page, Problem, Purpose, State, Submission, SubmissionId, Urgency, UserId, Version};

/// The origin of jury submissions.
pub(crate) const JURY: &str = "jury";

/// Jury submissions of one version at most.
const MOST: usize = 1000;

/// How the verification of a version stands.
#[derive(Debug)]
pub(crate) struct JuryVerification {
    pub(crate) version: Version,
    /// By path.
    pub(crate) checks: Vec<JuryCheck>,
}

/// A jury submission, its promise, and what came of it.
#[derive(Debug)]
pub(crate) struct JuryCheck {
    /// Its path in the package.
    pub(crate) path: String,
    /// Final verdicts it may have; empty: any.
    pub(crate) expected: Vec<Verdict>,
    /// Where it was submitted.
    pub(crate) submission: Option<Submission>,
    /// What it promised and did not keep, in words; `None` while that is not known.
    pub(crate) broken: Option<Vec<String>>,
}

impl JuryVerification {
    /// Submissions of which the outcome is known.
    pub(crate) fn done(&self) -> usize {
        self.checks.iter().filter(|check| check.broken.is_some()).count()
    }

    /// All is as promised; `None` while that is not known.
    pub(crate) fn ok(&self) -> Option<bool> {
        let broken = |check: &JuryCheck| check.broken.as_ref().is_some_and(|broken| !broken.is_empty());
        if self.checks.iter().any(broken) {
            return Some(false);
        }
        (self.done() == self.checks.len()).then_some(true)
    }
}

/// Hands in the jury submissions of a problem's newest version, each through all tests; those that were submitted before are
/// judged again. What came of it: [`verification`].
pub(crate) async fn verify(service: &Service, problem: &str, by: Option<UserId>) -> Result<Version, Refusal> {
    let problem = service.store.problem(problem).await?;
    let opened = service.packages.get(&service.store, &problem.newest.package, &problem.name).await?;
    let jury = &opened.package.submissions;
    if jury.len() > MOST {
        return Err(Refusal::Bad(format!("package: {} jury submissions; the limit is {MOST}", jury.len())));
    }
    let known = handed_in(service, &problem, &problem.newest).await?;
    let (mut again, mut waiting) = (Vec::new(), 0);
    for submission in jury {
        match known.get(&submission.program.path) {
            Some(known) if known.state == State::Judged && known.forgotten.is_none() => again.push(known.id),
            Some(known) if known.state != State::Judged => waiting += 1,
            _ => submit_jury(service, &problem, &opened, submission, by).await?,
        }
    }
    tracing::info!(problem = problem.name, again = again.len(), waiting, "verifying a package");
    if !again.is_empty() {
        let reason = format!("verification of {}, version {}", problem.name, problem.newest.number);
        rejudge::again(service, &again, rejudge::Ask::new(Purpose::Verdict, 1, &reason, by)).await?;
    }
    Ok(problem.newest)
}

async fn submit_jury(
    service: &Service,
    problem: &Problem,
    opened: &Arc<Opened>,
    submission: &JurySubmission,
    by: Option<UserId>,
) -> Result<(), Refusal> {
    let mut files = Vec::new();
    for file in &submission.program.files {
        let (opened, path) = (opened.clone(), file.path.clone());
        let read = tokio::task::spawn_blocking(move || opened.source.bytes(&path)).await;
        let bytes = read.map_err(|e| Refusal::Fault(format!("reading a package: {e}")))?;
        files.push((file.name.as_str(), bytes.map_err(|e| Refusal::Bad(e.to_string()))?));
    }
    let path = submission.program.path.clone();
    let jury = Jury { path, expected: submission.expectation.verdicts.clone() };
    let incoming = Incoming {
        token: None,
        version: Some(problem.newest.id),
        author: by,
        origin: JURY,
        visitor: None,
        language: submission.language.as_deref().unwrap_or_default(),
        files: files.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect(),
        details: Details { mode: Mode::AllTests, jury: Some(jury), ..Details::default() },
        urgency: Urgency::Background,
        contest: None,
        callback: None,
    };
    submit(service, incoming).await.map(drop)
}

/// The newest submission of each jury submission of a version, by path.
async fn handed_in(
    service: &Service,
    problem: &Problem,
    version: &Version,
) -> Result<HashMap<String, Submission>, Refusal> {
    let filter = Filter {
        problem: Some(problem.id),
        origin: Some(JURY.into()),
        since: Some(version.created),
        ..Filter::default()
    };
    let mut found = HashMap::new();
    let mut page = Page::first(200);
    loop {
        let some = service.store.submissions(&filter, page).await?;
        let Some(last) = some.last().map(|submission| submission.id) else { return Ok(found) };
        for submission in some {
            let of_it = submission.problem.as_ref().is_some_and(|of| of.version == version.id);
            if let Some(jury) = details(&submission)?.jury.filter(|_| of_it) {
                found.entry(jury.path).or_insert(submission);
            }
        }
        page = Page::after(last, 200);
    }
}

/// What the jury submissions of a version promise, and how far they keep it. Empty of submissions where it was never verified.
pub(crate) async fn verification(
    service: &Service,
    problem: &Problem,
    version: &Version,
) -> Result<JuryVerification, Refusal> {
    let opened = service.packages.get(&service.store, &version.package, &problem.name).await?;
    let mut known = handed_in(service, problem, version).await?;
    let mut checks = Vec::new();
    for jury in &opened.package.submissions {
        let submission = known.remove(&jury.program.path);
        let current = submission.as_ref().filter(|s| s.state == State::Judged).map(|s| s.id);
        let broken = match current {
            Some(id) => Some(broken(service, jury, id).await?),
            None => None,
        };
        let (path, expected) = (jury.program.path.clone(), jury.expectation.verdicts.clone());
        checks.push(JuryCheck { path, expected, submission, broken });
    }
    Ok(JuryVerification { version: version.clone(), checks })
}

/// What a jury submission promised and did not keep. Scores of groups are not stored with judgements, so that promises of these
/// alone are left to `tauto verify`.
async fn broken(service: &Service, jury: &JurySubmission, id: SubmissionId) -> Result<Vec<String>, Refusal> {
    let judgement = service.store.current_judgement(id).await?.judgement;
    let test = |test: &model::TestResult| TestOutcome {
        name: test.name.clone(),
        verdict: test.verdict,
        score: test.score,
        messages: vec![test.message.clone()],
    };
    let outcome = SubmissionOutcome {
        verdict: judgement.verdict,
        score: judgement.score,
        max_score: judgement.max_score,
        tests: judgement.tests.iter().map(test).collect(),
        groups: Vec::new(),
    };
    let mut broken = holds(&jury.expectation, &outcome).err().unwrap_or_default();
    broken.extend(judgement.fault);
    Ok(broken)
}
