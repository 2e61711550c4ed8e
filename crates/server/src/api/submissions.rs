//! Submissions: look at, list, read the sources.

use super::extract::{Path, Query};
use super::problem::Problem;
use crate::accounts::{Caller, Right};
use crate::errors::Refusal;
use crate::service::Service;
use crate::submit::handed_in;
use crate::timestamp;
use crate::view::{Names, StateName, SubmissionView, VerdictName};
use axum::Json;
use axum::extract::State;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::Verdict;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::{Filter, Page, Submission, SubmissionId};
use utoipa::{IntoParams, ToSchema};

/// Submissions on a page, at most.
const PAGE: u32 = 200;
/// And where nothing else is asked for.
const USUAL_PAGE: u32 = 50;

/// The submission of this token, where the caller may see it.
pub(super) async fn found(service: &Service, caller: &Caller, token: &str) -> Result<Submission, Refusal> {
    let missing = || Refusal::NotFound("a submission of this token".into());
    let submission = match service.store.submission_of_token(token).await {
        Err(store::Error::NotFound(_)) => return Err(missing()),
        other => other?,
    };
    if caller.sees(&submission) { Ok(submission) } else { Err(missing()) }
}

/// A submission
#[utoipa::path(get, path = "/submissions/{token}", tag = "submissions", params(("token" = String, Path, description = "Token of the submission")),
    responses((status = 200, description = "The submission and the verdict that counts", body = SubmissionView)))]
pub(super) async fn one(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(token): Path<String>,
) -> Result<Json<SubmissionView>, Problem> {
    let submission = found(&service, &caller, &token).await?;
    let names = Names::read(&service, &[submission.author]).await?;
    Ok(Json(SubmissionView::new(&submission, &names)))
}

/// Which submissions.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Short name of a problem.
    pub(super) problem: Option<String>,
    /// Name of a user.
    pub(super) author: Option<String>,
    /// Language id.
    pub(super) language: Option<String>,
    /// The verdict that counts.
    #[param(value_type = Option<VerdictName>)]
    pub(super) verdict: Option<Verdict>,
    /// How far judging has come.
    pub(super) state: Option<StateName>,
    /// Where it came from: `participant`, `jury`, `judge0`, `piston`, `run`; runs with tests of their own are listed only where they are asked for.
    pub(super) origin: Option<String>,
    /// Submitted then or later (RFC 3339).
    #[param(format = DateTime)]
    pub(super) since: Option<String>,
    /// Submitted before (RFC 3339).
    #[param(format = DateTime)]
    pub(super) until: Option<String>,
    /// `next` of the page before: the submissions older than it.
    #[param(minimum = 0)]
    pub(super) before: Option<i64>,
    /// How many, 50 where nothing is said.
    #[param(minimum = 1, maximum = 200)]
    pub(super) limit: Option<u32>,
}

/// A page of submissions.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Submissions {
    /// Newest first.
    submissions: Vec<SubmissionView>,
    /// What to give as `before` to get the next page; null on the last.
    next: Option<i64>,
}

/// List submissions
///
/// Newest first: one's own; the jury sees all. A page may have fewer than was asked for; it is the last when `next` is null. A problem or author that is not there has none.
#[utoipa::path(get, path = "/submissions", tag = "submissions", params(Which),
    responses((status = 200, description = "A page of submissions", body = Submissions)))]
pub(super) async fn list(
    State(service): State<Arc<Service>>,
    caller: Caller,
    query: Query<Which>,
) -> Result<Json<Submissions>, Problem> {
    caller.must(Right::View)?;
    let which = query.read()?;
    let (limit, before) = (page_size(which.limit)?, before(which.before)?);
    let filter = filter(&service, &which).await?.and_then(|filter| own(filter, &caller));
    let Some(filter) = filter else {
        return Ok(Json(Submissions { submissions: Vec::new(), next: None }));
    };
    let page = Page { before: before.map(SubmissionId), skip: 0, limit };
    let mut found = service.store.submissions(&filter, page).await?;
    let next = found.last().map(|last| last.id.0).filter(|_| found.len() == limit as usize);
    found.retain(|submission| caller.sees(submission));
    let names = Names::of_authors(&service, &found).await?;
    let submissions = found.iter().map(|submission| SubmissionView::new(submission, &names)).collect();
    Ok(Json(Submissions { submissions, next }))
}

/// How many are asked for, within bounds.
pub(super) fn page_size(asked: Option<u32>) -> Result<u32, Refusal> {
    match asked.unwrap_or(USUAL_PAGE) {
        limit if (1..=PAGE).contains(&limit) => Ok(limit),
        _ => Err(Refusal::Bad(format!("limit: must be 1 to {PAGE}"))),
    }
}

/// From where a page is asked for.
pub(super) fn before(asked: Option<i64>) -> Result<Option<i64>, Refusal> {
    match asked {
        Some(number) if number < 0 => Err(Refusal::Bad("before: a number, 0 or more".into())),
        asked => Ok(asked),
    }
}

/// A filter narrowed to what may be the caller's, so that their pages are full; `None` where that is nothing. What they may see is
/// decided for each submission.
fn own(filter: Filter, caller: &Caller) -> Option<Filter> {
    match caller.id() {
        _ if caller.may(Right::SeeAll) => Some(filter),
        Some(id) if filter.author.is_none_or(|asked| asked == id) => {
            Some(Filter { author: Some(id), ..filter })
        }
        None if filter.author.is_none() => Some(filter),
        _ => None,
    }
}

/// What is asked for, in the store's words; `None` where a name in it is of nothing.
pub(super) async fn filter(service: &Service, which: &Which) -> Result<Option<Filter>, Refusal> {
    let mut filter = Filter {
        language: which.language.clone(),
        verdict: which.verdict,
        state: which.state.map(Into::into),
        origin: which.origin.clone(),
        since: which.since.as_deref().map(|text| timestamp::from_rfc3339("since", text)).transpose()?,
        until: which.until.as_deref().map(|text| timestamp::from_rfc3339("until", text)).transpose()?,
        ..Filter::default()
    };
    if let Some(name) = &which.problem {
        match service.store.problem(name).await {
            Ok(problem) => filter.problem = Some(problem.id),
            Err(store::Error::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(name) = &which.author {
        match service.store.user_of_name(name).await {
            Ok(user) => filter.author = Some(user.id),
            Err(store::Error::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(filter))
}

/// The sources of a submission.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Sources {
    /// In the order they were given; none where they were deleted.
    files: Vec<SourceFile>,
}

/// A file of a submission. Text is in `content`; what is not text in UTF-8 is in `content_base64`.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SourceFile {
    /// Its name.
    name: String,
    /// Its size.
    bytes: u64,
    /// Its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    content: Option<String>,
    /// Its bytes in base64 (RFC 4648, section 4).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    content_base64: Option<String>,
}

/// The sources of a submission
#[utoipa::path(get, path = "/submissions/{token}/files", tag = "submissions", params(("token" = String, Path, description = "Token of the submission")),
    responses((status = 200, description = "Its files", body = Sources)))]
pub(super) async fn files(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(token): Path<String>,
) -> Result<Json<Sources>, Problem> {
    let submission = found(&service, &caller, &token).await?;
    let mut files = Vec::new();
    for file in handed_in(&service, submission.id).await? {
        let bytes = service.store.blob(&file.hash).await?;
        let (content, content_base64) = match String::from_utf8(bytes) {
            Ok(text) => (Some(text), None),
            Err(error) => (None, Some(STANDARD.encode(error.as_bytes()))),
        };
        files.push(SourceFile { name: file.name, bytes: file.size, content, content_base64 });
    }
    Ok(Json(Sources { files }))
}
