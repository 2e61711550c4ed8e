//! Time limits of versions that state none: who needs which, and having them inferred.
//!
//! Each version has one for each pool that contests are bound to, and one for what is of no contest. A submission is judged by that of its
//! contest's pool, wherever it is judged. So is what limits are in reference time ([`opinions`]), which stated limits need too.

use super::Opened;
use crate::errors::Refusal;
use crate::secret;
use crate::service::Service;
use crate::submit::{Details, InfersLimit};
use crate::timestamp::now;
use fleet::{Opinions, TimeLimit};
use judge::package;
use model::hint::in_one_line;
use model::{Confidence, Judgement, SecondOpinions};
use std::collections::BTreeMap;
use store::{AskLimit, ContestId, Inferred, LimitOf, State, StoredScales, SubmissionId, Version, VersionId};

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

/// A version came: has its time limits inferred where it states none, and what they are in reference time where anybody asks for that; those
/// of all pools that contests are bound to now.
pub(super) async fn came(service: &Service, version: &Version, opened: &Opened) -> Result<(), Refusal> {
    let stated = note(service, version, opened).await?;
    for (pool, opinions) in asking(service).await? {
        let of = LimitOf { version: version.id, pool };
        if !stated {
            ask(service, Inferred::TimeLimit, &of, false).await?;
        }
        if opinions {
            ask(service, Inferred::Scales, &of, false).await?;
        }
    }
    Ok(())
}

/// The pools that contests are bound to, and no contest; and whether the reference clock is ever asked there.
async fn asking(service: &Service) -> Result<BTreeMap<Option<String>, bool>, Refusal> {
    let usual = service.settings.second_opinion;
    let asks = |opinions: SecondOpinions| opinions != SecondOpinions::Never;
    let mut pools = BTreeMap::from([(None, asks(usual))]);
    for contest in service.store.contests().await? {
        let said = said(&contest)?.unwrap_or(usual);
        *pools.entry(Some(contest.pool)).or_default() |= asks(said);
    }
    Ok(pools)
}

/// What a contest says of second opinions.
fn said(contest: &store::Contest) -> Result<Option<SecondOpinions>, Refusal> {
    #[derive(serde::Deserialize)]
    struct Policy {
        second_opinion: Option<SecondOpinions>,
    }
    serde_json::from_value::<Policy>(contest.policy.clone())
        .map(|policy| policy.second_opinion)
        .map_err(|e| Refusal::Fault(format!("contest {}: stored data: {e}", contest.name)))
}

/// When a job of a version and a contest asks the reference clock, and by which limits.
pub(crate) async fn opinions(
    service: &Service,
    version: VersionId,
    contest: Option<ContestId>,
) -> Result<Opinions, Refusal> {
    let (opinions, stored) = opinions_of(service, version, contest).await?;
    let found = stored.map(|(_, stored)| stored).unwrap_or_default();
    let scales = found.and_then(|stored| stored.found).map(|found| found.inferred.scales);
    Ok(Opinions { scales: scales.unwrap_or_default(), ..opinions })
}

/// The same without the scales; and how those stand, where anybody asks.
async fn opinions_of(
    service: &Service,
    version: VersionId,
    contest: Option<ContestId>,
) -> Result<(Opinions, Option<(LimitOf, Option<StoredScales>)>), Refusal> {
    let contest = match contest {
        Some(contest) => Some(service.store.contest_by_id(contest).await?),
        None => None,
    };
    let said = contest.as_ref().map(said).transpose()?.flatten();
    let when = said.unwrap_or(service.settings.second_opinion);
    let opinions = Opinions { when, firm: said.is_some(), scales: Vec::new() };
    if when == SecondOpinions::Never {
        return Ok((opinions, None));
    }
    let of = LimitOf { version, pool: contest.map(|contest| contest.pool) };
    let stored = service.store.scales(&of).await?;
    Ok((opinions, Some((of, stored))))
}

/// Where the reference clock was to be asked of a result, and nobody has asked yet what its limits are in reference time, since the version is
/// from before or an example, that is asked now: the next result has its second opinion.
pub(crate) async fn left_open(
    service: &Service,
    version: VersionId,
    contest: Option<ContestId>,
    judgement: &Judgement,
) -> Result<(), Refusal> {
    let confidence = judgement.settled.confidence;
    if confidence == Confidence::Clear || !judgement.clock.varies() {
        return Ok(());
    }
    if let (opinions, Some((of, None))) = opinions_of(service, version, contest).await?
        && settle::asks(opinions.when, confidence, false)
    {
        ask(service, Inferred::Scales, &of, false).await?;
    }
    Ok(())
}

/// Has a time limit or scales inferred, if nobody has asked before or it is asked for `again`; whether there is something new to do.
pub(crate) async fn ask(
    service: &Service,
    what: Inferred,
    of: &LimitOf,
    again: bool,
) -> Result<bool, Refusal> {
    let infers = InfersLimit { pool: of.pool.clone(), scales: what == Inferred::Scales };
    let details = Details { infers: Some(infers), ..Details::default() };
    let details = serde_json::to_value(&details).map_err(|e| Refusal::Fault(e.to_string()))?;
    let token = secret::uuid()?;
    let ask = AskLimit { what, of, again, token: &token, details: &details, now: now() };
    let (_, fresh) = service.store.ask_limit(ask).await?;
    if fresh {
        tracing::info!(version = of.version.0, pool = of.pool, ?what, "inferring");
        service.work_came.one();
    }
    Ok(fresh)
}

/// How inferring a time limit stands, and the token of the submission that does it.
pub(crate) async fn inferring(
    service: &Service,
    submission: Option<SubmissionId>,
) -> Result<(Inferring, Option<String>), Refusal> {
    let Some(submission) = submission else { return Ok((Inferring::Done, None)) };
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
pub(crate) const REMEDY: &str =
    "upload a package that states its time limit or whose accepted submissions pass, or infer it again";

/// What a jury does where scales cannot be inferred.
pub(crate) const SCALES_REMEDY: &str =
    "infer it again once a node can; until then, results that CPU time leaves open stay open";

/// Has a time limit and scales inferred again, of contests bound to that pool or of what is of no contest.
///
/// # Errors
/// [`Refusal::Bad`] where there is nothing to infer: the package states its time limit, and nobody asks for second opinions; or there is no such pool.
pub(crate) async fn again(
    service: &Service,
    version: &Version,
    name: &str,
    pool: Option<String>,
) -> Result<(), Refusal> {
    let stated = states(service, version, name).await?;
    let opinions = asking(service).await?.get(&pool).copied().unwrap_or(false);
    if stated && !opinions {
        return Err(Refusal::Bad("name: the package states its time limit, so none is inferred".into()));
    }
    if let Some(pool) = &pool {
        service.store.pool(pool).await.map_err(|error| match error {
            store::Error::NotFound(_) => Refusal::Bad("pool: no pool of this name".into()),
            other => other.into(),
        })?;
    }
    let of = LimitOf { version: version.id, pool };
    if !stated {
        ask(service, Inferred::TimeLimit, &of, true).await?;
    }
    if opinions {
        ask(service, Inferred::Scales, &of, true).await?;
    }
    Ok(())
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
        Some(stored) => inferring(service, stored.submission).await?.0,
        None => Inferring::UnderWay(State::Waiting),
    };
    Ok(match (stands, sees_all) {
        (Inferring::UnderWay(_) | Inferring::Done, _) => {
            "Waiting for the time limit: the jury's submissions are run first.".into()
        }
        (Inferring::Failed(why), true) => format!("Waiting for the time limit, which could not be inferred: {}\n\
                                                   hint: {REMEDY}", in_one_line(&why)),
        (Inferring::Failed(_), false) => {
            "Waiting for the time limit, which could not be inferred. It does not count against you; the jury can see why.".into()
        }
    })
}
