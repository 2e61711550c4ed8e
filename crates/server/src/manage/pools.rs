//! Pools: show, create, update and delete them.

use super::nodes::{NodeView, policy_of};
use super::pool_named;
use crate::errors::Refusal;
use crate::timestamp::to_rfc3339;
use ::fleet::{Contest, Feature, Pool, PoolKind};
use serde::Serialize;
use serde_json::Value as Json;
use store::{Error, Store, Timestamp};
use utoipa::ToSchema;

/// A pool.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Pool)]
pub struct PoolView {
    /// Name of the pool.
    pub name: String,
    /// `strict`: equal hardware and equal measured power. `relaxed`: any machine.
    #[schema(value_type = String)]
    pub kind: PoolKind,
    /// Seconds that relaxed work must wait before idle nodes of the pool take it. Null: never.
    pub helps_after_secs: Option<u32>,
    /// Requirements for members, as in the pool's file. Null: the first admitted node of a strict pool defines them,
    /// and a relaxed pool has none.
    #[schema(value_type = Option<::fleet::Definition>)]
    pub definition: Option<Json>,
    /// When the pool was created.
    #[schema(format = DateTime)]
    pub created: String,
    /// Nodes of the pool, including those that wait for admission.
    pub members: Vec<MemberView>,
    /// Contests that are bound to the pool.
    pub contests: Vec<String>,
    /// Number of waiting jobs that only this pool may judge.
    pub waiting: u64,
}

/// A node of a pool.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Member)]
pub struct MemberView {
    /// Name of the node.
    pub name: String,
    /// State and admission: `active`, `waiting`, `draining` or `drained`.
    pub standing: &'static str,
    /// Why the node gets no work. Empty if it does.
    pub reasons: Vec<String>,
    /// Condition by the health tests: `learning`, `healthy`, `watched` or `suspected`. Null if they have not begun.
    pub health: Option<&'static str>,
}

/// The pool in the form of its file.
pub(crate) fn form(pool: &store::Pool) -> Result<Pool, Refusal> {
    serde_json::from_value(pool.form.clone())
        .map_err(|e| Refusal::Fault(format!("pool {}: stored data: {e}", pool.name)))
}

/// All pools, by name.
///
/// # Errors
/// Those of the store.
pub async fn pools(store: &Store) -> Result<Vec<PoolView>, Refusal> {
    let (nodes, contests, lines) = (store.nodes().await?, store.contests().await?, store.lines().await?);
    let view = |pool: store::Pool| {
        let Pool { kind, helps_after_secs, .. } = form(&pool)?;
        let policy = policy_of(kind);
        let members = nodes.iter().filter(|node| node.pool == pool.name).map(|node| {
            let view = NodeView::new(node, &policy);
            let health = view.health.as_ref().map(|health| health.condition);
            MemberView { name: view.name.clone(), standing: view.standing, reasons: view.reasons(), health }
        });
        let bound = contests.iter().filter(|contest| contest.pool == pool.name);
        let waiting = lines.iter().filter(|line| line.place.as_ref() == Some(&pool.name));
        Ok(PoolView {
            members: members.collect(),
            contests: bound.map(|contest| contest.name.clone()).collect(),
            waiting: waiting.map(|line| line.waiting).sum(),
            kind,
            helps_after_secs,
            definition: pool.form.get("definition").filter(|definition| !definition.is_null()).cloned(),
            created: to_rfc3339(pool.created),
            name: pool.name,
        })
    };
    store.pools().await?.into_iter().map(view).collect()
}

/// A pool.
///
/// # Errors
/// [`Refusal::NotFound`], with the names of the existing pools.
pub async fn show_pool(store: &Store, name: &str) -> Result<PoolView, Refusal> {
    pool_named(store, name).await?;
    let found = pools(store).await?.into_iter().find(|pool| pool.name == name);
    found.ok_or_else(|| Refusal::missing(format_args!("pool {name}")))
}

/// Creates a pool.
///
/// # Errors
/// [`Refusal::Conflict`] if a pool of that name exists.
pub async fn add_pool(store: &Store, pool: &Pool, now: Timestamp) -> Result<(), Refusal> {
    match store.pool(&pool.name).await {
        Ok(there) => Err(Refusal::Conflict(format!(
            "pool {}: exists since {}\nhint: change it with `tauto pool set`",
            pool.name,
            to_rfc3339(there.created)
        ))),
        Err(Error::NotFound(_)) => keep(store, pool, now).await,
        Err(error) => Err(error.into()),
    }
}

/// Creates a pool or replaces the one of that name.
///
/// # Errors
/// [`Refusal::Conflict`] if a contest that is bound to it could no longer be judged.
pub async fn put_pool(store: &Store, pool: &Pool, now: Timestamp) -> Result<(), Refusal> {
    for contest in store.contests().await?.iter().filter(|contest| contest.pool == pool.name) {
        let bound: Option<Contest> = serde_json::from_value(contest.policy.clone()).ok();
        if let Some(why) = bound.and_then(|contest| contest.fault(&[pool])) {
            return Err(Refusal::Conflict(why));
        }
    }
    keep(store, pool, now).await
}

async fn keep(store: &Store, pool: &Pool, now: Timestamp) -> Result<(), Refusal> {
    // A file that was written by hand went through this, and what comes as JSON has not.
    let pool = Pool::parse(&pool.to_text()).map_err(|e| Refusal::Bad(e.to_string()))?;
    let form = serde_json::to_value(&pool).map_err(|e| Refusal::Fault(e.to_string()))?;
    Ok(store.set_pool(&pool.name, &form, now).await?)
}

/// Adds a value of a feature to those that a pool accepts, before an upgrade. Returns whether it is new.
///
/// # Errors
/// [`Refusal::NotFound`]; [`Refusal::Conflict`] if the pool does not require that feature and so accepts any value.
pub async fn accept(
    store: &Store,
    name: &str,
    feature: Feature,
    value: &str,
    now: Timestamp,
) -> Result<bool, Refusal> {
    let value = value.trim();
    if value.is_empty() || value.len() > super::MOST_REASON {
        return Err(Refusal::Bad(format!("value: 1 to {} bytes", super::MOST_REASON)));
    }
    let mut pool = form(&pool_named(store, name).await?)?;
    let not_asked =
        || Refusal::Conflict(format!("pool {name}: does not require {feature}, so any value is accepted"));
    let definition = pool.definition.as_mut().ok_or_else(not_asked)?;
    let accepted = definition.equal.get_mut(&feature).ok_or_else(not_asked)?;
    if accepted.iter().any(|known| known == value) {
        return Ok(false);
    }
    accepted.push(value.to_string());
    keep(store, &pool, now).await?;
    Ok(true)
}

/// Deletes a pool that nothing uses.
///
/// # Errors
/// [`Refusal::NotFound`]; [`Refusal::Conflict`], which names the user of the pool.
pub async fn remove_pool(store: &Store, name: &str) -> Result<(), Refusal> {
    pool_named(store, name).await?;
    Ok(store.remove_pool(name).await?)
}
