//! Contests: create, update, delete and list them.

use super::extract::{Body, Path};
use super::problem::Problem;
use crate::accounts::{Caller, Right};
use crate::errors::Refusal;
use crate::manage::{remove_contest, set_contest};
use crate::service::Service;
use crate::timestamp::{now, to_rfc3339};
use ::fleet::{Contest, Strictness};
use axum::extract::State;
use axum::http::StatusCode;
use model::SecondOpinions;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// Where the submissions of a contest are judged. `strict`: only in the contest's pool. `relaxed`: on any node.
/// `relaxed_then_strict`: on any node first; the contest's pool judges uncertain results again, and its judgement
/// counts.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = Strictness)]
#[serde(rename_all = "snake_case")]
enum StrictnessName {
    #[default]
    Strict,
    Relaxed,
    RelaxedThenStrict,
}

/// A contest.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Contest)]
pub(super) struct ContestView {
    /// Name of the contest.
    name: String,
    /// Pool that the contest is bound to.
    pool: String,
    /// Where its submissions are judged.
    strictness: StrictnessName,
    /// Maximum number of jobs that are judged at the same time. Null: unlimited.
    at_once: Option<u32>,
    /// Results that the reference clock also judges. Null: as the problem or the service is configured.
    second_opinion: Option<SecondOpinions>,
    /// When the contest was created.
    #[schema(format = DateTime)]
    created: String,
}

/// A list of contests.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Contests {
    /// Contests, newest first.
    contests: Vec<ContestView>,
}

/// Settings of a contest.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"pool": "metal", "strictness": "relaxed_then_strict", "at_once": 20}))]
pub(super) struct SetContest {
    /// Pool that the contest is bound to. It must be strict unless `strictness` is `relaxed`.
    #[schema(min_length = 1, max_length = 32, pattern = "^[a-z0-9-]{1,32}$")]
    pool: String,
    /// Where its submissions are judged. Default: `strict`.
    #[serde(default)]
    strictness: StrictnessName,
    /// Maximum number of jobs that are judged at the same time. Default: unlimited.
    #[serde(default)]
    #[schema(minimum = 1)]
    at_once: Option<u32>,
    /// Results that the reference clock also judges. `open`: those that CPU time leaves open, and narrow passes.
    /// `grey`: all that one run did not decide. `never`: none. Default: as the problem or the service is configured.
    #[serde(default)]
    second_opinion: Option<SecondOpinions>,
}

impl ContestView {
    fn from_contest(contest: store::Contest) -> Result<ContestView, Refusal> {
        let policy: Contest = serde_json::from_value(contest.policy)
            .map_err(|e| Refusal::Fault(format!("contest {}: {e}", contest.name)))?;
        Ok(ContestView {
            name: contest.name,
            pool: contest.pool,
            strictness: match policy.strictness {
                Strictness::Strict => StrictnessName::Strict,
                Strictness::Relaxed => StrictnessName::Relaxed,
                Strictness::RelaxedThenStrict => StrictnessName::RelaxedThenStrict,
            },
            at_once: policy.at_once,
            second_opinion: policy.second_opinion,
            created: to_rfc3339(contest.created),
        })
    }
}

/// List contests
#[utoipa::path(get, path = "/contests", tag = "contests", responses((status = 200, description = "All contests, newest first", body = Contests)))]
pub(super) async fn list(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<axum::Json<Contests>, Problem> {
    caller.must(Right::View)?;
    let contests = service.store.contests().await.map_err(Refusal::from)?;
    let contests = contests.into_iter().map(ContestView::from_contest).collect::<Result<_, _>>()?;
    Ok(axum::Json(Contests { contests }))
}

/// Get a contest
#[utoipa::path(get, path = "/contests/{name}", tag = "contests", params(("name" = String, Path, description = "Name of the contest")),
    responses((status = 200, description = "The contest", body = ContestView)))]
pub(super) async fn one(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<axum::Json<ContestView>, Problem> {
    caller.must(Right::View)?;
    let contest = service.store.contest(&name).await.map_err(Refusal::from)?;
    Ok(axum::Json(ContestView::from_contest(contest)?))
}

/// Create or update a contest
///
/// Replaces all settings. If the pool or the strictness changes, jobs that have not started move to the matching
/// queue.
#[utoipa::path(put, path = "/contests/{name}", tag = "contests", params(("name" = String, Path, description = "Name of the contest")),
    request_body = SetContest, responses((status = 200, description = "The contest was created or updated", body = ContestView)))]
pub(super) async fn set(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
    body: Body<SetContest>,
) -> Result<axum::Json<ContestView>, Problem> {
    caller.must(Right::Administer)?;
    let new = body.json().await?;
    let strictness = match new.strictness {
        StrictnessName::Strict => Strictness::Strict,
        StrictnessName::Relaxed => Strictness::Relaxed,
        StrictnessName::RelaxedThenStrict => Strictness::RelaxedThenStrict,
    };
    let SetContest { pool, at_once, second_opinion, .. } = new;
    let contest = Contest { name, pool, strictness, at_once, second_opinion };
    set_contest(&service.store, &contest, now()).await?;
    // What moved may be wanted elsewhere.
    service.work_came.many();
    let contest = service.store.contest(&contest.name).await.map_err(Refusal::from)?;
    Ok(axum::Json(ContestView::from_contest(contest)?))
}

/// Delete a contest
///
/// Fails if the contest has submissions.
#[utoipa::path(delete, path = "/contests/{name}", tag = "contests", params(("name" = String, Path, description = "Name of the contest")),
    responses((status = 204, description = "The contest was deleted")))]
pub(super) async fn remove(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    caller.must(Right::Administer)?;
    remove_contest(&service.store, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
