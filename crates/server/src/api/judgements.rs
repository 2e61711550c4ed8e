//! Judgements: what was found, and asking for more.

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

/// Trials that whoever submitted may have at a time, on a service without accounts.
const OWN_TRIALS: u32 = 30;

/// Every judgement of a submission.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct History {
    /// In the order they came. None is ever overwritten.
    judgements: Vec<Judged>,
    /// Judgements that were asked for and are not there yet.
    waiting: u64,
}

/// A judgement in short, and where it was made.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = JudgementInHistory)]
struct Judged {
    #[serde(flatten)]
    brief: Brief,
    /// Number of the job that it came of; each has one judgement at most.
    job: i64,
    /// Number of the first job of its round: jobs of one round come to one verdict together.
    round: i64,
    /// Whether it was judged as usual, or to confirm on strict hardware what was found elsewhere.
    stage: Stage,
    /// Why another node was asked, such as `grey` or `drawn`; null for the first job of a round.
    why: Option<String>,
    /// The round ended without a majority, or without a check that was due: why another node should have spoken, such as `verdicts`; null: it did
    /// not end so.
    open: Option<String>,
    /// The node that judged; null where it was judged before nodes were noted.
    node: Option<String>,
    /// The pool that the node belonged to then.
    pool: Option<String>,
    /// When the job was asked for.
    #[schema(format = DateTime)]
    queued: String,
    /// When the node began with it.
    #[schema(format = DateTime)]
    started: Option<String>,
}

/// The stage of a round.
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

/// The judgements of a submission
#[utoipa::path(get, path = "/submissions/{token}/judgements", tag = "judgements", params(("token" = String, Path, description = "Token of the submission")),
    responses((status = 200, description = "In the order they came", body = History)))]
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

/// The judgement that counts, whole
///
/// With every run and its evidence.
#[utoipa::path(get, path = "/submissions/{token}/judgement", tag = "judgements", params(("token" = String, Path, description = "Token of the submission")),
    responses((status = 200, description = "The judgement", body = JudgementView)))]
pub(super) async fn current(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(token): Path<String>,
) -> Result<axum::Json<JudgementView>, Problem> {
    let submission = found(&service, &caller, &token).await?;
    let current = submission.current.ok_or_else(|| Refusal::NotFound("a judgement of it yet".into()))?;
    let judgement = service.store.judgement(current.id).await?;
    Ok(axum::Json(whole(&service, &judgement, caller.may(Right::SeeAll)).await?))
}

/// One of the judgements, whole
#[utoipa::path(get, path = "/submissions/{token}/judgements/{number}", tag = "judgements",
    params(("token" = String, Path, description = "Token of the submission"), ("number" = u64, Path, description = "1 for the first", minimum = 1)),
    responses((status = 200, description = "The judgement", body = JudgementView)))]
pub(super) async fn one(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path((token, number)): Path<(String, u64)>,
) -> Result<axum::Json<JudgementView>, Problem> {
    let submission = found(&service, &caller, &token).await?;
    let history = service.store.history(submission.id).await?;
    let asked = history.iter().find(|judgement| judgement.number == number);
    let asked = asked.ok_or_else(|| Refusal::NotFound("a judgement of this number".into()))?;
    let judgement = service.store.judgement(asked.id).await?;
    Ok(axum::Json(whole(&service, &judgement, caller.may(Right::SeeAll)).await?))
}

/// How one submission is to be judged again.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = Again)]
pub(super) struct RejudgeAsk {
    /// Why, for people.
    #[schema(max_length = 1000)]
    reason: String,
    /// By the newest version of the problem, in place of the one it was submitted to.
    newest_version: bool,
}

/// What was asked for.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Asked)]
pub(super) struct RejudgeAccepted {
    /// Its number.
    pub(super) rejudging: i64,
    /// Where what comes of it is to be seen.
    pub(super) url: String,
}

/// Judge a submission again
///
/// The new verdict counts, unless it is a fault of the judge; what was judged before stays.
#[utoipa::path(post, path = "/submissions/{token}/rejudge", tag = "judgements", params(("token" = String, Path, description = "Token of the submission")),
    request_body = RejudgeAsk, responses((status = 202, description = "It will be judged again", body = RejudgeAccepted)))]
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

/// How often a submission is to be judged.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Trials {
    /// How often.
    #[schema(minimum = 1, maximum = 100)]
    times: u32,
    /// Why, for people.
    #[serde(default)]
    #[schema(max_length = 1000)]
    reason: String,
}

/// Judge a submission many times
///
/// To see how far its times vary. None of these judgements is ever its verdict. For the jury; on a service without accounts also
/// for its author, up to 30 at a time.
#[utoipa::path(post, path = "/submissions/{token}/trials", tag = "judgements", params(("token" = String, Path, description = "Token of the submission")),
    request_body = Trials, responses((status = 202, description = "It will be judged so often", body = RejudgeAccepted)))]
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

/// Whether the caller may have submissions judged again to see how far their times vary.
fn has_right_to_try(caller: &Caller) -> Result<(), Refusal> {
    match caller.may(Right::Rejudge) || !caller.anonymous_allowed {
        true => caller.must(Right::Rejudge),
        false => caller.must(Right::Submit),
    }
}

/// Whether the caller may have a submission judged so often; see [`trials`].
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

/// Of which series.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SeriesOf {
    /// Only the trials that were asked for at once under this number.
    rejudging: Option<i64>,
}

/// How far the times of a submission vary
///
/// All its trials, or those of one series: least, median, greatest and spread of each test, and every run.
#[utoipa::path(get, path = "/submissions/{token}/series", tag = "judgements", params(("token" = String, Path, description = "Token of the submission"), SeriesOf),
    responses((status = 200, description = "Figures and runs", body = Series)))]
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
