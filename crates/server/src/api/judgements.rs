//! Judgements: show them, and request more.

use super::extract::{Body, Path, Query};
use super::problem::Problem;
use super::submissions::found;
use crate::accounts::{Caller, Right};
use crate::errors::Refusal;
use crate::rejudge::{self, Ask, MOST_TIMES};
use crate::service::Service;
use crate::timestamp::to_rfc3339;
use crate::view::{Brief, JudgementView, Series, series, whole};
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::{Job, JudgementSummary, Purpose, RejudgingId, Submission, Urgency};
use utoipa::{IntoParams, ToSchema};

/// Maximum number of waiting judgements of an author's submission, on a service without accounts.
const OWN_TRIALS: u32 = 30;

/// All judgements of a submission.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct History {
    /// Judgements, oldest first. None is ever overwritten.
    judgements: Vec<Judged>,
    /// Number of judgements that were requested and are not finished.
    waiting: u64,
}

/// Summary of a judgement, with its job and node.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = JudgementInHistory)]
struct Judged {
    #[serde(flatten)]
    brief: Brief,
    /// Number of the job. A job has at most one judgement.
    job: i64,
    /// Number of the first job of the round. The jobs of a round lead to one verdict.
    round: i64,
    /// Whether this is an ordinary judgement or a confirmation on strict hardware.
    stage: Stage,
    /// Why another node judged, such as `grey` or `drawn`. Null for the first job of a round.
    why: Option<String>,
    /// Set if the round ended without a majority or without a due check: why another node was needed, such as
    /// `verdicts`. Null otherwise.
    open: Option<String>,
    /// Node that judged. Null if it was not recorded.
    node: Option<String>,
    /// Pool of the node at that time.
    pool: Option<String>,
    /// When the job was requested.
    #[schema(format = DateTime)]
    queued: String,
    /// When the node began the job.
    #[schema(format = DateTime)]
    started: Option<String>,
}

/// Stage of a round. `usual`: a judgement or a check of it. `confirm`: a confirmation on strict hardware.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(as = Stage)]
#[serde(rename_all = "snake_case")]
enum Stage {
    Usual,
    Confirm,
}

impl Judged {
    fn new(summary: &JudgementSummary, job: &Job, open: Option<&String>) -> Judged {
        Judged {
            brief: Brief::new(summary),
            job: job.id.0,
            round: job.round.0,
            stage: if job.confirm { Stage::Confirm } else { Stage::Usual },
            why: job.why.clone(),
            open: open.cloned(),
            node: job.node.clone(),
            pool: job.pool.clone(),
            queued: to_rfc3339(job.created),
            started: job.started.map(to_rfc3339),
        }
    }
}

/// List the judgements of a submission
#[utoipa::path(get, path = "/submissions/{token}/judgements", tag = "judgements", params(("token" = String, Path, description = "Token of the submission")),
    responses((status = 200, description = "Judgements, oldest first", body = History)))]
pub(super) async fn history(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(token): Path<String>,
) -> Result<axum::Json<History>, Problem> {
    let submission = found(&service, &caller, &token).await?;
    let history = service.store.history(submission.id).await?;
    // Read after the judgements, so that the job of each is there.
    let jobs = service.store.jobs(submission.id).await?;
    let open = crate::fleet::open_rounds(&service, &jobs).await?;
    let judged = |summary: &JudgementSummary| {
        let job = jobs.iter().find(|job| job.id == summary.job)?;
        Some(Judged::new(summary, job, open.get(&job.round)))
    };
    let judgements = history.iter().filter_map(judged).collect();
    let waiting = jobs.iter().filter(|job| job.is_open()).count() as u64;
    Ok(axum::Json(History { judgements, waiting }))
}

async fn waiting(service: &Service, submission: &Submission) -> Result<u64, Refusal> {
    let jobs = service.store.jobs(submission.id).await?;
    let open = jobs.iter().filter(|job| job.is_open()).count();
    Ok(open as u64)
}

/// Get the current judgement
///
/// Includes every run with its evidence.
#[utoipa::path(get, path = "/submissions/{token}/judgement", tag = "judgements", params(("token" = String, Path, description = "Token of the submission")),
    responses((status = 200, description = "The judgement", body = JudgementView)))]
pub(super) async fn current(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(token): Path<String>,
) -> Result<axum::Json<JudgementView>, Problem> {
    let submission = found(&service, &caller, &token).await?;
    let current = submission
        .current
        .ok_or_else(|| Refusal::NotFound(format!("submission {} has no judgement yet", submission.token)))?;
    let judgement = service.store.judgement(current.id).await?;
    Ok(axum::Json(whole(&service, &judgement, caller.may(Right::SeeAll)).await?))
}

/// Get a judgement
///
/// Includes every run with its evidence.
#[utoipa::path(get, path = "/submissions/{token}/judgements/{number}", tag = "judgements",
    params(("token" = String, Path, description = "Token of the submission"), ("number" = u64, Path, description = "Number of the judgement, from 1", minimum = 1)),
    responses((status = 200, description = "The judgement", body = JudgementView)))]
pub(super) async fn one(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path((token, number)): Path<(String, u64)>,
) -> Result<axum::Json<JudgementView>, Problem> {
    let submission = found(&service, &caller, &token).await?;
    let history = service.store.history(submission.id).await?;
    let asked = history.iter().find(|judgement| judgement.number == number);
    let asked = asked.ok_or_else(|| {
        Refusal::missing(format_args!("judgement {number} of submission {}", submission.token))
    })?;
    let judgement = service.store.judgement(asked.id).await?;
    Ok(axum::Json(whole(&service, &judgement, caller.may(Right::SeeAll)).await?))
}

/// How to rejudge a submission.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = Again)]
pub(super) struct RejudgeAsk {
    /// Reason, as free text.
    #[schema(max_length = 1000)]
    reason: String,
    /// Whether to use the newest version of the problem instead of the version of the submission.
    newest_version: bool,
}

/// An accepted request for judgements.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Asked)]
pub(super) struct RejudgeAccepted {
    /// Number of the rejudging.
    pub(super) rejudging: i64,
    /// Address of the results.
    pub(super) url: String,
}

/// Rejudge a submission
///
/// The new verdict replaces the current one, unless it is JE. Earlier judgements are kept.
#[utoipa::path(post, path = "/submissions/{token}/rejudge", tag = "judgements", params(("token" = String, Path, description = "Token of the submission")),
    request_body = RejudgeAsk, responses((status = 202, description = "The submission is queued for rejudging", body = RejudgeAccepted)))]
pub(super) async fn rejudge(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(token): Path<String>,
    body: Body<RejudgeAsk>,
) -> Result<(StatusCode, axum::Json<RejudgeAccepted>), Problem> {
    let submission = found(&service, &caller, &token).await?;
    caller.must(Right::Rejudge)?;
    let ask = body.json().await?;
    let version = match (&submission.problem, ask.newest_version) {
        (Some(of), true) => Some(service.store.problem(&of.name).await?.newest.id),
        _ => None,
    };
    let ask =
        Ask { version, urgency: Urgency::Live, ..Ask::new(Purpose::Verdict, 1, &ask.reason, caller.id()) };
    let id = rejudge::again(&service, &[submission.id], ask).await?;
    let url = format!("/api/v1/rejudgings/{id}");
    Ok((StatusCode::ACCEPTED, axum::Json(RejudgeAccepted { rejudging: id.0, url })))
}

/// Trials to run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Trials {
    /// Number of trials.
    #[schema(minimum = 1, maximum = 100)]
    times: u32,
    /// Reason, as free text.
    #[serde(default)]
    #[schema(max_length = 1000)]
    reason: String,
}

/// Run trials of a submission
///
/// Judges the submission repeatedly to show how much its times vary. Trials never change the verdict. Only the jury
/// may run them. On a service without accounts, authors may as well, with at most 30 judgements waiting.
#[utoipa::path(post, path = "/submissions/{token}/trials", tag = "judgements", params(("token" = String, Path, description = "Token of the submission")),
    request_body = Trials, responses((status = 202, description = "The trials are queued", body = RejudgeAccepted)))]
pub(super) async fn trials(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(token): Path<String>,
    body: Body<Trials>,
) -> Result<(StatusCode, axum::Json<RejudgeAccepted>), Problem> {
    let submission = found(&service, &caller, &token).await?;
    has_right_to_try(&caller)?;
    let Trials { times, reason } = body.json().await?;
    if !(1..=MOST_TIMES).contains(&times) {
        return Err(Refusal::Bad(format!("times: must be 1 to {MOST_TIMES}")).into());
    }
    may_try(&service, &caller, &submission, times).await?;
    let ask = Ask::new(Purpose::Trial, times, &reason, caller.id());
    let id = rejudge::again(&service, &[submission.id], ask).await?;
    let url = format!("/api/v1/submissions/{token}/series?rejudging={id}");
    Ok((StatusCode::ACCEPTED, axum::Json(RejudgeAccepted { rejudging: id.0, url })))
}

/// Checks that the caller may run trials.
fn has_right_to_try(caller: &Caller) -> Result<(), Refusal> {
    match caller.may(Right::Rejudge) || !caller.anonymous_allowed {
        true => caller.must(Right::Rejudge),
        false => caller.must(Right::Submit),
    }
}

/// Checks that the caller may run this number of trials; see [`trials`].
pub(crate) async fn may_try(
    service: &Service,
    caller: &Caller,
    submission: &Submission,
    times: u32,
) -> Result<(), Refusal> {
    has_right_to_try(caller)?;
    if caller.may(Right::Rejudge) {
        return Ok(());
    }
    let open = waiting(service, submission).await?;
    if open + u64::from(times) > u64::from(OWN_TRIALS) {
        let why = format!("times: at most {OWN_TRIALS} judgements may wait at a time, and {open} do");
        return Err(Refusal::Bad(why));
    }
    Ok(())
}

/// Which trials to return.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SeriesOf {
    /// Number of a rejudging. Only its trials are included. Default: all trials.
    rejudging: Option<i64>,
}

/// Get the time variation of a submission
///
/// Returns minimum, median, maximum and spread for each test, and every run. Includes all trials, or those of one
/// rejudging.
#[utoipa::path(get, path = "/submissions/{token}/series", tag = "judgements", params(("token" = String, Path, description = "Token of the submission"), SeriesOf),
    responses((status = 200, description = "Statistics and runs", body = Series)))]
pub(super) async fn series_of(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(token): Path<String>,
    query: Query<SeriesOf>,
) -> Result<axum::Json<Series>, Problem> {
    let submission = found(&service, &caller, &token).await?;
    let of = query.read()?;
    Ok(axum::Json(series(&service, &submission, of.rejudging.map(RejudgingId)).await?))
}
