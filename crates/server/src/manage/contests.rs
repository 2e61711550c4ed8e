//! Contests: to which pool each is bound, and how strictly it is judged.

use super::with_names;
use crate::errors::Refusal;
use crate::timestamp::to_rfc3339;
use ::fleet::{Contest, Destination, Stage, Strictness};
use model::SecondOpinions;
use serde::Serialize;
use store::{NewContest, Store, Timestamp};

/// A contest.
#[derive(Clone, Debug, Serialize)]
pub struct ContestView {
    /// Name of the contest.
    pub name: String,
    /// Pool that the contest is bound to.
    pub pool: String,
    /// `strict`: judged in that pool only. `relaxed`: on any node. `relaxed_then_strict`: on any node, and again in
    /// that pool if the result is uncertain.
    pub strictness: Strictness,
    /// Maximum number of jobs that are judged at the same time. Null: unlimited.
    pub at_once: Option<u64>,
    /// Results that the reference clock also judges. Null: as the problem or the service is configured.
    pub second_opinion: Option<SecondOpinions>,
    /// When the contest was created.
    pub created: String,
}

/// Names of contests: 1 to 64 of a-z, A-Z, 0-9, `-`, `_` and `.`, as those of problems.
fn is_name(name: &str) -> bool {
    let fine = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    (1..=64).contains(&name.len()) && name.bytes().all(fine)
}

fn view(contest: store::Contest) -> Result<ContestView, Refusal> {
    let policy: Contest = serde_json::from_value(contest.policy)
        .map_err(|e| Refusal::Fault(format!("contest {}: stored data: {e}", contest.name)))?;
    Ok(ContestView {
        name: contest.name,
        pool: contest.pool,
        strictness: policy.strictness,
        at_once: contest.at_once,
        second_opinion: policy.second_opinion,
        created: to_rfc3339(contest.created),
    })
}

/// All contests, newest first.
///
/// # Errors
/// Those of the store.
pub async fn contests(store: &Store) -> Result<Vec<ContestView>, Refusal> {
    store.contests().await?.into_iter().map(view).collect()
}

/// One contest.
///
/// # Errors
/// [`Refusal::NotFound`], with the names of those there are.
pub async fn show_contest(store: &Store, name: &str) -> Result<ContestView, Refusal> {
    view(named(store, name).await?)
}

async fn named(store: &Store, name: &str) -> Result<store::Contest, Refusal> {
    match store.contest(name).await {
        Ok(contest) => Ok(contest),
        Err(error) => {
            let names: Vec<String> = store.contests().await?.into_iter().map(|known| known.name).collect();
            Err(with_names(error, "contest", name, &names))
        }
    }
}

/// Creates a contest or updates the one of that name. Jobs that have not started move to the matching queue.
///
/// # Errors
/// [`Refusal::Bad`] if the existing pools cannot judge it.
pub async fn set_contest(store: &Store, contest: &Contest, now: Timestamp) -> Result<(), Refusal> {
    if !is_name(&contest.name) {
        return Err(Refusal::Bad("name: 1 to 64 of a-z, A-Z, 0-9, -, _ and .".into()));
    }
    let pools = store.pools().await?;
    let pools = pools.iter().map(super::pools::form).collect::<Result<Vec<_>, _>>()?;
    if let Some(why) = contest.fault(&pools.iter().collect::<Vec<_>>()) {
        return Err(Refusal::Bad(why));
    }
    let policy = serde_json::to_value(contest).map_err(|e| Refusal::Fault(e.to_string()))?;
    let place = contest.place(Stage::Usual);
    let usual = match &place {
        Destination::Pool(pool) => Some(pool.as_str()),
        Destination::Anywhere => None,
    };
    let Contest { name, pool, at_once, .. } = contest;
    let new = NewContest { name, pool, usual, at_once: *at_once, policy: &policy };
    Ok(store.set_contest(&new, now).await.map(drop)?)
}

/// Deletes a contest without submissions.
///
/// # Errors
/// [`Refusal::NotFound`], [`Refusal::Conflict`].
pub async fn remove_contest(store: &Store, name: &str) -> Result<(), Refusal> {
    named(store, name).await?;
    Ok(store.remove_contest(name).await?)
}
