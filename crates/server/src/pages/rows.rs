//! Submissions as lists show them.

use super::{Frame, words};
use crate::errors::Refusal;
use crate::service::Service;
use model::Verdict;
use std::collections::{HashMap, hash_map::Entry};
use store::{JudgementSummary, State, Submission, Timestamp, UserId};

/// A submission in a list.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) submission: Submission,
    /// Who handed it in, for people.
    pub(crate) author: String,
    /// The title of its problem.
    pub(crate) title: String,
    /// The reader may open it.
    pub(crate) open: bool,
}

impl Row {
    pub(crate) fn created(&self) -> Timestamp {
        self.submission.created
    }

    /// The judgement that counts, of a submission that is not being judged for the first time.
    pub(crate) fn current(&self) -> Option<&JudgementSummary> {
        self.submission.current.as_ref()
    }

    /// The class of its verdict's box.
    pub(crate) fn class(&self) -> &'static str {
        class(&self.submission)
    }

    /// What its verdict's box says.
    pub(crate) fn label(&self) -> &'static str {
        label(&self.submission)
    }

    /// What its slowest test was charged.
    pub(crate) fn charge(&self) -> String {
        self.current().and_then(|judgement| judgement.charge).map(|of| of.to_string()).unwrap_or_default()
    }

    pub(crate) fn memory(&self) -> String {
        let memory = self.current().and_then(|judgement| judgement.memory);
        memory.map(words::memory).unwrap_or_default()
    }

    pub(crate) fn score(&self) -> String {
        self.current().and_then(|judgement| judgement.score).map(words::score).unwrap_or_default()
    }

    pub(crate) fn language(&self) -> &str {
        words::language(&self.submission.language)
    }
}

/// The class of a submission's verdict.
pub(crate) fn class(submission: &Submission) -> &'static str {
    match (submission.state, &submission.current) {
        (State::Waiting, _) => "waiting",
        (State::Judging, _) => "judging",
        (State::Judged, Some(current)) => current.verdict.code(),
        (State::Judged | State::Cancelled, _) => "waiting",
    }
}

/// A submission's verdict in words.
pub(crate) fn label(submission: &Submission) -> &'static str {
    match (submission.state, &submission.current) {
        (State::Judged, Some(current)) => words::verdict(current.verdict),
        (State::Waiting, _) if submission.awaits_limit => "Waiting for the time limit",
        (state, _) => words::state(state),
    }
}

/// The names of users, for people.
pub(crate) async fn names(
    service: &Service,
    users: Vec<Option<UserId>>,
) -> Result<HashMap<UserId, String>, Refusal> {
    let mut names = HashMap::new();
    for id in users.into_iter().flatten() {
        if let Entry::Vacant(free) = names.entry(id) {
            let user = service.store.user(id).await?;
            free.insert(if user.display.is_empty() { user.name } else { user.display });
        }
    }
    Ok(names)
}

/// The titles of problems by their names.
pub(crate) async fn titles(service: &Service) -> Result<HashMap<String, String>, Refusal> {
    Ok(service.store.problems().await?.into_iter().map(|problem| (problem.name, problem.title)).collect())
}

/// Submissions with what lists say of them.
pub(crate) async fn rows(
    service: &Service,
    frame: &Frame,
    submissions: Vec<Submission>,
) -> Result<Vec<Row>, Refusal> {
    let names = names(service, submissions.iter().map(|submission| submission.author).collect()).await?;
    let titles = titles(service).await?;
    let row = |submission: Submission| Row {
        author: author(&submission, &names),
        title: title(&submission, &titles),
        open: frame.caller.sees(&submission),
        submission,
    };
    Ok(submissions.into_iter().map(row).collect())
}

/// Who handed a submission in.
pub(crate) fn author(submission: &Submission, names: &HashMap<UserId, String>) -> String {
    match (submission.author.and_then(|id| names.get(&id)), submission.origin.as_str()) {
        (Some(name), "jury") => format!("{name} (jury)"),
        (None, "jury") => "jury".into(),
        (Some(name), _) => name.clone(),
        (None, store::PARTICIPANT | store::RUN) => "visitor".into(),
        (None, store::LIMITS) => "limit inference".into(),
        (None, origin) => origin.to_string(),
    }
}

fn title(submission: &Submission, titles: &HashMap<String, String>) -> String {
    match &submission.problem {
        Some(of) => titles.get(&of.name).cloned().unwrap_or_else(|| of.name.clone()),
        None => "program without a problem".into(),
    }
}

/// Verdicts to choose from.
pub(crate) fn verdicts() -> impl Iterator<Item = (&'static str, &'static str)> {
    Verdict::ALL.into_iter().map(|verdict| (verdict.code(), words::verdict(verdict)))
}
