//! Time limits of versions that state none: who needs which, and having them inferred.
//!
//! Each version has one for each pool that contests are bound to, and one for what is of no contest. A submission is judged by that of its
//! contest's pool, wherever it is judged.

use super::Opened;
use crate::errors::Refusal;
use crate::moment::now;
use crate::secret;
use crate::service::Service;
use crate::submit::{Details, InfersLimit};
use fleet::TimeLimit;
use judge::package;
use std::collections::BTreeSet;
use store::{AskLimit, ContestId, LimitOf, State, StoredLimit, Version, VersionId};

/// What a job needs of time limits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Needs {
    /// Nothing: the package states one.
    Nothing,
    /// This one.
    Limit(TimeLimit),
    /// This one, which is not there.
    Missing(LimitOf),
}

/// How inferring a time limit stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Inferring {
    /// It waits for a worker, or one is at it.
    UnderWay(State),
    /// It is over.
    Done,
    /// It came to nothing, for this reason.
    Failed(String),
}

/// What a job of a version and a contest needs. `name` is the problem's.
pub(crate) async fn needs(
    service: &Service,
    version: &Version,
    name: &str,
    contest: Option<ContestId>,
) -> Result<Needs, Refusal> {
    if states(service, version, name).await? {
        return Ok(Needs::Nothing);
    }
    let pool = match contest {
        Some(contest) => Some(service.store.contest_by_id(contest).await?.pool),
        None => None,
    };
    let of = LimitOf { version: version.id, pool };
    let stored = service.store.time_limit(&of).await?.and_then(|stored| stored.limit);
    Ok(stored.map_or(Needs::Missing(of), |found| {
        Needs::Limit(TimeLimit { limit: found.inferred.limit, source: found.inferred.source })
    }))
}

/// Whether a version states its time limit, which is noted when it is asked for the first time.
async fn states(service: &Service, version: &Version, name: &str) -> Result<bool, Refusal> {
    if let Some(known) = version.states_limit {
        return Ok(known);
    }
    let opened = service.packages.get(&service.store, &version.package, name).await?;
    note(service, version, &opened).await
}

async fn note(service: &Service, version: &Version, opened: &Opened) -> Result<bool, Refusal> {
    let stated = matches!(opened.package.limits.time, package::TimeLimit::Stated { .. });
    service.store.set_states_limit(version.id, stated).await?;
    Ok(stated)
}

/// A version came: has its time limits inferred where it states none, those of all pools that contests are bound to now.
pub(super) async fn came(service: &Service, version: &Version, opened: &Opened) -> Result<(), Refusal> {
    if note(service, version, opened).await? {
        return Ok(());
    }
    let contests = service.store.contests().await?;
    let pools: BTreeSet<String> = contests.into_iter().map(|contest| contest.pool).collect();
    for pool in std::iter::once(None).chain(pools.into_iter().map(Some)) {
        ask(service, &LimitOf { version: version.id, pool }, false).await?;
    }
    Ok(())
}

/// Has a time limit inferred, if nobody has asked before or it is asked for `again`; whether there is something new to do.
pub(crate) async fn ask(service: &Service, of: &LimitOf, again: bool) -> Result<bool, Refusal> {
    let infers = InfersLimit { pool: of.pool.clone() };
    let details = Details { infers: Some(infers), ..Details::default() };
    let details = serde_json::to_value(&details).map_err(|e| Refusal::Fault(e.to_string()))?;
    let token = secret::uuid()?;
    let ask = AskLimit { of, again, token: &token, details: &details, now: now() };
    let (_, fresh) = service.store.ask_limit(ask).await?;
    if fresh {
        tracing::info!(version = of.version.0, pool = of.pool, "inferring a time limit");
        service.work_came.one();
    }
    Ok(fresh)
}

/// How inferring a time limit stands, and the token of the submission that does it.
pub(crate) async fn inferring(
    service: &Service,
    stored: &StoredLimit,
) -> Result<(Inferring, Option<String>), Refusal> {
    let Some(submission) = stored.submission else { return Ok((Inferring::Done, None)) };
    let submission = service.store.submission(submission).await?;
    let current = submission.current.as_ref();
    let stands = match submission.state {
        state @ (State::Waiting | State::Judging) => Inferring::UnderWay(state),
        State::Cancelled => Inferring::Failed("it was cancelled".into()),
        State::Judged => {
            let judged = match current {
                Some(current) => Some(service.store.judgement(current.id).await?.judgement),
                None => None,
            };
            judged.and_then(|judged| judged.fault).map_or(Inferring::Done, Inferring::Failed)
        }
    };
    Ok((stands, Some(submission.token)))
}

/// What a jury does where a limit cannot be inferred.
pub(crate) const REMEDY: &str = "upload a package that states its time limit or whose accepted submissions pass, or have it inferred again";

/// Has a time limit inferred again, of contests bound to that pool or of what is of no contest.
///
/// # Errors
/// [`Refusal::Bad`] where the package states its time limit, or there is no such pool.
pub(crate) async fn again(
    service: &Service,
    version: &Version,
    name: &str,
    pool: Option<String>,
) -> Result<(), Refusal> {
    if states(service, version, name).await? {
        return Err(Refusal::Bad("name: the package states its time limit, so none is inferred".into()));
    }
    if let Some(pool) = &pool {
        service.store.pool(pool).await.map_err(|error| match error {
            store::Error::NotFound(_) => Refusal::Bad("pool: there is none of this name".into()),
            other => other.into(),
        })?;
    }
    ask(service, &LimitOf { version: version.id, pool }, true).await.map(drop)
}

/// What a submission waits for whose time limit is not there; why it was not inferred only whom that may concern is told.
pub(crate) async fn awaited(
    service: &Service,
    version: VersionId,
    contest: Option<ContestId>,
    sees_all: bool,
) -> Result<String, Refusal> {
    let pool = match contest {
        Some(contest) => Some(service.store.contest_by_id(contest).await?.pool),
        None => None,
    };
    let stored = service.store.time_limit(&LimitOf { version, pool }).await?;
    let stands = match &stored {
        Some(stored) => inferring(service, stored).await?.0,
        None => Inferring::UnderWay(State::Waiting),
    };
    Ok(match (stands, sees_all) {
        (Inferring::UnderWay(_) | Inferring::Done, _) => {
            "Waiting for the time limit: the jury's submissions are run first.".into()
        }
        (Inferring::Failed(why), true) => format!("Waiting for the time limit, which could not be inferred: {why}; {REMEDY}."),
        (Inferring::Failed(_), false) => {
            "Waiting for the time limit, which could not be inferred. It does not count against you; the jury can see why.".into()
        }
    })
}
