//! Rejudging many submissions, and comparing the results.

use super::extract::{Body, Path, Query};
use super::judgements::RejudgeAccepted;
use super::problem::Problem;
use super::submissions::{Which, before, filter, page_size};
use crate::accounts::{Caller, Right};
use crate::errors::Refusal;
use crate::rejudge::{self, Ask, MOST_SUBMISSIONS};
use crate::service::Service;
use crate::timestamp::to_rfc3339;
use crate::view::{Brief, Names, PurposeName, StateName, VerdictName};
use axum::extract::State;
use axum::http::StatusCode;
use model::Verdict;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{Filter, Page, Purpose, Rejudged, Rejudging, RejudgingId, SubmissionId};
use utoipa::{IntoParams, ToSchema};

/// Submissions to rejudge, and how. Omitted filters match everything; at least one filter or `tokens` is required.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewRejudging {
    /// Short name of the problem.
    #[serde(default)]
    problem: Option<String>,
    /// Name of the author.
    #[serde(default)]
    author: Option<String>,
    /// Language id.
    #[serde(default)]
    language: Option<String>,
    /// Current verdict.
    #[serde(default)]
    #[schema(value_type = Option<VerdictName>)]
    verdict: Option<Verdict>,
    /// State of judging.
    #[serde(default)]
    state: Option<StateName>,
    /// Origin of the submissions. Default: `participant`.
    #[serde(default)]
    origin: Option<String>,
    /// Only submissions made at this time or later (RFC 3339).
    #[serde(default)]
    #[schema(format = DateTime)]
    since: Option<String>,
    /// Only submissions made before this time (RFC 3339).
    #[serde(default)]
    #[schema(format = DateTime)]
    until: Option<String>,
    /// Tokens of the submissions. If given, all filters above are ignored.
    #[serde(default)]
    #[schema(max_items = 1000)]
    tokens: Option<Vec<String>>,
    /// Reason, as free text.
    #[serde(default)]
    #[schema(max_length = 1000)]
    reason: String,
    /// Purpose of the judgements. Default: `verdict`.
    #[serde(default)]
    purpose: Option<PurposeName>,
    /// Number of judgements per submission. Default: 1.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 100)]
    times: Option<u32>,
    /// Whether to use the newest version of the problem. Requires `problem`.
    #[serde(default)]
    newest_version: bool,
}

/// Rejudge many submissions
///
/// Queues all matching submissions, or none. Those of contests are judged after contest submissions, all others when
/// nothing else waits.
#[utoipa::path(post, path = "/rejudgings", tag = "judgements", request_body = NewRejudging,
    responses((status = 202, description = "The submissions are queued for rejudging", body = RejudgeAccepted)))]
pub(super) async fn create(
    State(service): State<Arc<Service>>,
    caller: Caller,
    body: Body<NewRejudging>,
) -> Result<(StatusCode, axum::Json<RejudgeAccepted>), Problem> {
    caller.must(Right::Rejudge)?;
    let new = body.json().await?;
    let version = match (&new.problem, new.newest_version) {
        (_, false) => None,
        (Some(name), true) => Some(service.store.problem(name).await?.newest.id),
        (None, true) => return Err(Refusal::Bad("newest_version: needs problem".into()).into()),
    };
    let chosen = chosen(&service, &new).await?;
    let purpose = new.purpose.map_or(Purpose::Verdict, Into::into);
    let ask = Ask { version, ..Ask::new(purpose, new.times.unwrap_or(1), &new.reason, caller.id()) };
    let id = rejudge::again(&service, &chosen, ask).await?;
    let url = format!("/api/v1/rejudgings/{id}");
    Ok((StatusCode::ACCEPTED, axum::Json(RejudgeAccepted { rejudging: id.0, url })))
}

async fn chosen(service: &Service, new: &NewRejudging) -> Result<Vec<SubmissionId>, Refusal> {
    if let Some(tokens) = &new.tokens {
        if tokens.len() > 1000 {
            return Err(Refusal::Bad("tokens: at most 1000".into()));
        }
        let mut chosen = Vec::new();
        for (n, token) in tokens.iter().enumerate() {
            match service.store.submission_of_token(token).await {
                Ok(submission) => chosen.push(submission.id),
                Err(store::Error::NotFound(_)) => {
                    return Err(Refusal::Bad(format!("tokens[{n}]: there is no submission of this token")));
                }
                Err(error) => return Err(error.into()),
            }
        }
        return Ok(chosen);
    }
    let which = Which {
        problem: new.problem.clone(),
        author: new.author.clone(),
        language: new.language.clone(),
        verdict: new.verdict,
        state: new.state,
        origin: Some(new.origin.clone().unwrap_or_else(|| store::PARTICIPANT.into())),
        since: new.since.clone(),
        until: new.until.clone(),
        ..Which::default()
    };
    let Some(filter) = filter(service, &which).await? else { return Ok(Vec::new()) };
    let by_origin_alone = Filter { origin: filter.origin.clone(), ..Filter::default() };
    if new.origin.is_none() && filter == by_origin_alone {
        return Err(Refusal::Bad("problem: choose by something".into()));
    }
    all(service, &filter).await
}

/// All submissions that match a filter and can be rejudged. Ends early above the maximum.
async fn all(service: &Service, filter: &Filter) -> Result<Vec<SubmissionId>, Refusal> {
    let mut chosen = Vec::new();
    let mut page = Page::first(500);
    loop {
        let some = service.store.submissions(filter, page).await?;
        let Some(last) = some.last().map(|submission| submission.id) else { return Ok(chosen) };
        chosen.extend(some.iter().filter(|submission| submission.forgotten.is_none()).map(|s| s.id));
        if chosen.len() > MOST_SUBMISSIONS {
            return Ok(chosen);
        }
        page = Page::after(last, 500);
    }
}

/// A rejudging of submissions.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Rejudging)]
pub(super) struct RejudgingView {
    /// Number of the rejudging.
    id: i64,
    /// Reason, as free text.
    reason: String,
    /// Name of the user who requested it. Null if no user did.
    by: Option<String>,
    /// Purpose of the judgements.
    #[schema(value_type = PurposeName)]
    purpose: Purpose,
    /// When it was requested.
    #[schema(format = DateTime)]
    created: String,
    /// Number of submissions.
    submissions: u64,
    /// Number of requested judgements, without cancelled ones.
    judgements: u64,
    /// Number of finished judgements.
    judged: u64,
}

impl RejudgingView {
    fn new(rejudging: &Rejudging, names: &Names) -> RejudgingView {
        RejudgingView {
            id: rejudging.id.0,
            reason: rejudging.reason.clone(),
            by: rejudging.by.and_then(|id| names.name_of(id)),
            purpose: rejudging.purpose,
            created: to_rfc3339(rejudging.created),
            submissions: rejudging.submissions,
            judgements: rejudging.jobs,
            judged: rejudging.judged,
        }
    }
}

/// Which rejudgings to return.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct WhichRejudgings {
    /// `next` of the previous page. Only older rejudgings are returned.
    #[param(minimum = 0)]
    before: Option<i64>,
    /// Maximum number of rejudgings. Default: 50.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// A page of rejudgings.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Rejudgings {
    /// Rejudgings, newest first.
    rejudgings: Vec<RejudgingView>,
    /// Value of `before` for the next page. Null on the last page.
    next: Option<i64>,
}

/// List rejudgings
#[utoipa::path(get, path = "/rejudgings", tag = "judgements", params(WhichRejudgings),
    responses((status = 200, description = "A page of rejudgings", body = Rejudgings)))]
pub(super) async fn list(
    State(service): State<Arc<Service>>,
    caller: Caller,
    query: Query<WhichRejudgings>,
) -> Result<axum::Json<Rejudgings>, Problem> {
    caller.must(Right::SeeAll)?;
    let which = query.read()?;
    let limit = page_size(which.limit)?;
    let found = service.store.rejudgings(before(which.before)?.map(RejudgingId), limit).await?;
    let names =
        Names::read(&service, &found.iter().map(|rejudging| rejudging.by).collect::<Vec<_>>()).await?;
    let next = found.last().map(|last| last.id.0).filter(|_| found.len() == limit as usize);
    let rejudgings = found.iter().map(|rejudging| RejudgingView::new(rejudging, &names)).collect();
    Ok(axum::Json(Rejudgings { rejudgings, next }))
}

/// Which submissions of a rejudging to return.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct WhichRejudged {
    /// Whether to return only submissions whose verdict or score changed. Default: false.
    changed: Option<bool>,
    /// Number of submissions to skip. Default: 0.
    #[param(minimum = 0, maximum = 20000)]
    skip: Option<u32>,
    /// Maximum number of submissions. Default: 50.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// Results of a rejudging, compared with those before.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Comparison {
    /// The rejudging.
    rejudging: RejudgingView,
    /// Number of submissions for each pair of verdicts before and after, including unchanged ones.
    changes: Vec<Change>,
    /// Number of submissions whose verdict or score changed.
    changed: u64,
    /// Submissions of this page, ordered by number.
    submissions: Vec<RejudgedView>,
}

/// Number of submissions with one pair of verdicts before and after.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Change {
    /// Verdict before. Null if there was none.
    #[schema(value_type = Option<VerdictName>)]
    from: Option<Verdict>,
    /// Verdict after. Null until the submission is rejudged.
    #[schema(value_type = Option<VerdictName>)]
    to: Option<Verdict>,
    /// Number of submissions.
    count: u64,
}

/// A submission before and after a rejudging.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Rejudged)]
pub(super) struct RejudgedView {
    /// Token of the submission.
    token: String,
    /// Judgement that was current when the rejudging was requested. Its `current` tells whether it still is.
    before: Option<Brief>,
    /// Judgements of the rejudging, oldest first.
    after: Vec<Brief>,
    /// Whether the verdict or score changed.
    changed: bool,
}

/// Get a rejudging
///
/// Compares the results before and after.
#[utoipa::path(get, path = "/rejudgings/{id}", tag = "judgements", params(("id" = i64, Path, description = "Number of the rejudging"), WhichRejudged),
    responses((status = 200, description = "The rejudging, with the results before and after", body = Comparison)))]
pub(super) async fn one(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(id): Path<i64>,
    query: Query<WhichRejudged>,
) -> Result<axum::Json<Comparison>, Problem> {
    caller.must(Right::SeeAll)?;
    let which = query.read()?;
    let (limit, skip) = (page_size(which.limit)? as usize, which.skip.unwrap_or(0) as usize);
    if skip > MOST_SUBMISSIONS {
        return Err(Refusal::Bad(format!("skip: must be 0 to {MOST_SUBMISSIONS}")).into());
    }
    let (rejudging, rejudged) = service.store.rejudging(RejudgingId(id)).await?;
    let names = Names::read(&service, &[rejudging.by]).await?;
    let changed = rejudged.iter().filter(|one| is_changed(one)).count() as u64;
    let only = which.changed.unwrap_or(false);
    let asked = rejudged.iter().filter(|one| !only || is_changed(one));
    let mut submissions = Vec::new();
    for one in asked.skip(skip).take(limit) {
        submissions.push(RejudgedView {
            token: service.store.submission(one.submission).await?.token,
            before: one.before.as_ref().map(Brief::new),
            after: one.after.iter().map(Brief::new).collect(),
            changed: is_changed(one),
        });
    }
    let rejudging = RejudgingView::new(&rejudging, &names);
    Ok(axum::Json(Comparison { rejudging, changes: changes(&rejudged), changed, submissions }))
}

/// Whether the verdict or score changed.
pub(crate) fn is_changed(one: &Rejudged) -> bool {
    let came = |summary: &store::JudgementSummary| (summary.verdict, summary.score);
    one.after.last().is_some_and(|after| one.before.as_ref().map(came) != Some(came(after)))
}

fn changes(rejudged: &[Rejudged]) -> Vec<Change> {
    let mut counts: BTreeMap<(Option<Verdict>, Option<Verdict>), u64> = BTreeMap::new();
    for one in rejudged {
        let (from, to) = (one.before.as_ref().map(|b| b.verdict), one.after.last().map(|a| a.verdict));
        *counts.entry((from, to)).or_default() += 1;
    }
    counts.into_iter().map(|((from, to), count)| Change { from, to, count }).collect()
}
