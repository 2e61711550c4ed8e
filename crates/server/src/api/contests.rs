//! Contests: where their submissions are judged, and what verdicts on time are based on.

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

/// What a contest's verdicts on time are based on: judged in its own pool and never elsewhere; judged anywhere; judged anywhere, and again in
/// its own pool where that missed a limit or came near one, which then counts.
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
    /// Its name.
    name: String,
    /// The pool it is bound to.
    pool: String,
    /// What its verdicts are based on.
    strictness: StrictnessName,
    /// The number of its jobs at a time; null: no bound.
    at_once: Option<u32>,
    /// Which results the reference clock judges too; null: as problem and service say.
    second_opinion: Option<SecondOpinions>,
    /// When it was first set.
    #[schema(format = DateTime)]
    created: String,
}

/// The contests.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Contests {
    /// The newest first.
    contests: Vec<ContestView>,
}

/// What a contest is to be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"pool": "metal", "strictness": "relaxed_then_strict", "at_once": 20}))]
pub(super) struct SetContest {
    /// The pool it is bound to. Strict judging needs a strict one.
    #[schema(min_length = 1, max_length = 32, pattern = "^[a-z0-9-]{1,32}$")]
    pool: String,
    /// What its verdicts are based on; strict where nothing is said.
    #[serde(default)]
    strictness: StrictnessName,
    /// The number of its jobs at a time; left out or null: no bound.
    #[serde(default)]
    #[schema(minimum = 1)]
    at_once: Option<u32>,
    /// Which results the reference clock judges too: those left open, all that one run did not decide, or none. Left out or null: as problem
    /// and service say.
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
#[utoipa::path(get, path = "/contests", tag = "contests", responses((status = 200, description = "Contests", body = Contests)))]
pub(super) async fn list(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<axum::Json<Contests>, Problem> {
    caller.must(Right::View)?;
    let contests = service.store.contests().await.map_err(Refusal::from)?;
    let contests = contests.into_iter().map(ContestView::from_contest).collect::<Result<_, _>>()?;
    Ok(axum::Json(Contests { contests }))
}

/// Show a contest
#[utoipa::path(get, path = "/contests/{name}", tag = "contests", params(("name" = String, Path, description = "Its name")),
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

/// Set a contest
///
/// New or not. Where it is bound to another pool than before, what waits and was not begun moves there.
#[utoipa::path(put, path = "/contests/{name}", tag = "contests", params(("name" = String, Path, description = "Its name")),
    request_body = SetContest, responses((status = 200, description = "It is so now", body = ContestView)))]
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

/// Remove a contest
///
/// Only one that nothing was submitted for.
#[utoipa::path(delete, path = "/contests/{name}", tag = "contests", params(("name" = String, Path, description = "Its name")),
    responses((status = 204, description = "It is there no more")))]
pub(super) async fn remove(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    caller.must(Right::Administer)?;
    remove_contest(&service.store, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
