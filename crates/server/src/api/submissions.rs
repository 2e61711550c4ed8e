//! Submissions: show, list, read the sources.

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

/// Maximum number of submissions on a page.
const PAGE: u32 = 200;
/// Default number of submissions on a page.
const USUAL_PAGE: u32 = 50;

/// The submission with this token, if the caller may see it.
pub(super) async fn found(service: &Service, caller: &Caller, token: &str) -> Result<Submission, Refusal> {
    let missing = || Refusal::missing(format_args!("submission {token}"));
    let submission = match service.store.submission_of_token(token).await {
        Err(store::Error::NotFound(_)) => return Err(missing()),
        other => other?,
    };
    if caller.sees(&submission) { Ok(submission) } else { Err(missing()) }
}

/// Get a submission
#[utoipa::path(get, path = "/submissions/{token}", tag = "submissions", params(("token" = String, Path, description = "Token of the submission")),
    responses((status = 200, description = "The submission, with its current verdict", body = SubmissionView)))]
pub(super) async fn one(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(token): Path<String>,
) -> Result<Json<SubmissionView>, Problem> {
    let submission = found(&service, &caller, &token).await?;
    let names = Names::read(&service, &[submission.author]).await?;
    Ok(Json(SubmissionView::new(&submission, &names)))
}

/// Which submissions to return.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Short name of the problem.
    pub(super) problem: Option<String>,
    /// Name of the author.
    pub(super) author: Option<String>,
    /// Language id.
    pub(super) language: Option<String>,
    /// Current verdict.
    #[param(value_type = Option<VerdictName>)]
    pub(super) verdict: Option<Verdict>,
    /// State of judging.
    pub(super) state: Option<StateName>,
    /// Origin: `participant`, `jury`, `judge0`, `piston` or `run`. Runs with tests of their own are returned only if
    /// this is `run`.
    pub(super) origin: Option<String>,
    /// Only submissions made at this time or later (RFC 3339).
    #[param(format = DateTime)]
    pub(super) since: Option<String>,
    /// Only submissions made before this time (RFC 3339).
    #[param(format = DateTime)]
    pub(super) until: Option<String>,
    /// `next` of the previous page. Only older submissions are returned.
    #[param(minimum = 0)]
    pub(super) before: Option<i64>,
    /// Maximum number of submissions. Default: 50.
    #[param(minimum = 1, maximum = 200)]
    pub(super) limit: Option<u32>,
}

/// A page of submissions.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Submissions {
    /// Submissions, newest first.
    submissions: Vec<SubmissionView>,
    /// Value of `before` for the next page. Null on the last page.
    next: Option<i64>,
}

/// List submissions
///
/// Participants get their own submissions, the jury gets all. A page may have fewer submissions than `limit`; it is
/// the last if `next` is null. An unknown problem or author gives an empty list.
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

/// The page size, checked against its bounds.
pub(super) fn page_size(asked: Option<u32>) -> Result<u32, Refusal> {
    match asked.unwrap_or(USUAL_PAGE) {
        limit if (1..=PAGE).contains(&limit) => Ok(limit),
        _ => Err(Refusal::Bad(format!("limit: must be 1 to {PAGE}"))),
    }
}

/// The position of a page, checked.
pub(super) fn before(asked: Option<i64>) -> Result<Option<i64>, Refusal> {
    match asked {
        Some(number) if number < 0 => Err(Refusal::Bad("before: a number, 0 or more".into())),
        asked => Ok(asked),
    }
}

/// A filter narrowed to submissions that may be the caller's, so that pages are full; `None` if there are none.
/// Whether the caller may see a submission is decided for each one.
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

/// The filter in terms of the store; `None` if it names an unknown problem or author.
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

/// Source files of a submission.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Sources {
    /// Files, in the order of submission. Empty if the sources were deleted.
    files: Vec<SourceFile>,
}

/// A source file. UTF-8 text is in `content`, everything else in `content_base64`.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SourceFile {
    /// Name of the file.
    name: String,
    /// Size of the file.
    bytes: u64,
    /// Content as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    content: Option<String>,
    /// Content in base64 (RFC 4648, section 4).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    content_base64: Option<String>,
}

/// Get the sources of a submission
#[utoipa::path(get, path = "/submissions/{token}/files", tag = "submissions", params(("token" = String, Path, description = "Token of the submission")),
    responses((status = 200, description = "The source files", body = Sources)))]
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
