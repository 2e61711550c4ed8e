//! Contests: which pool they are bound to and what their verdicts are based on.

use crate::errors::Refusal;
use crate::moment::now;
use ::fleet::{Contest, Place, Pool, Stage, is_name};
use store::{ContestId, NewContest, Store};

/// The most bytes of a contest's name.
const MOST_NAME: usize = 64;

/// Sets a contest, new or not. What of it waits and was not begun moves to where it is to be judged now.
///
/// # Errors
/// [`Refusal::Bad`] where it cannot be judged so, with what is wrong.
pub async fn set_contest(store: &Store, contest: &Contest) -> Result<ContestId, Refusal> {
    let fine = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    if !(1..=MOST_NAME).contains(&contest.name.len()) || !contest.name.bytes().all(fine) {
        return Err(Refusal::Bad(format!("name: 1 to {MOST_NAME} of letters, digits, `-`, `_` and `.`")));
    }
    if !is_name(&contest.pool) {
        return Err(Refusal::Bad("pool: 1 to 32 of a-z, 0-9 and -".into()));
    }
    let pools: Vec<Pool> =
        store.pools().await?.into_iter().filter_map(|pool| serde_json::from_value(pool.form).ok()).collect();
    if let Some(fault) = contest.fault(&pools.iter().collect::<Vec<_>>()) {
        return Err(Refusal::Bad(fault));
    }
    let policy = serde_json::to_value(contest).map_err(|e| Refusal::Fault(e.to_string()))?;
    let usual = match contest.place(Stage::Usual) {
        Place::Pool(pool) => Some(pool),
        Place::Anywhere => None,
    };
    let new = NewContest {
        name: &contest.name,
        pool: &contest.pool,
        usual: usual.as_deref(),
        at_once: contest.at_once,
        policy: &policy,
    };
    let id = store.set_contest(&new, now()).await?;
    tracing::info!(contest = contest.name, pool = contest.pool, strictness = ?contest.strictness, "a contest was set");
    Ok(id)
}

/// Removes a contest that nothing was handed in for.
///
/// # Errors
/// [`Refusal::NotFound`]; [`Refusal::Conflict`] where something was.
pub async fn remove_contest(store: &Store, name: &str) -> Result<(), Refusal> {
    store.remove_contest(name).await?;
    tracing::info!(contest = name, "a contest was removed");
    Ok(())
}
