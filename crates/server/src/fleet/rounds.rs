//! Rounds: on how many nodes a job is judged, and what it comes to. Derived from what is stored each time, so that any server can go on with
//! what another one began. Trials and executions that belong to no problem are judged once, and so is everything where there is one node.

use super::health;
use super::roster::Roster;
use crate::metrics::Round;
use crate::service::Service;
use ::fleet::{
    Agreed, CheckReason, CheckedJob, Contest, CrossPolicy, Destination, Next, NodeAnswer, PoolKind, Stage,
    Strictness, next, noise,
};
use model::{Disturbance, Judgement, Nanos, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use settle::NoiseFloor;
use std::collections::{BTreeMap, BTreeSet};
use store::{Conclusion, Error, Job, JobId, JobState, JudgementId, Purpose, RoundJob, RoundStep, Timestamp};

/// What is kept of a job, for the next ones of its round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct RecordedAnswer {
    #[serde(flatten)]
    answer: NodeAnswer,
    /// The time limit that its times are set against.
    #[serde(rename = "limit_ns")]
    limit: Nanos,
    /// When the node began it.
    began: Timestamp,
    /// The round ended with it without a majority, or without a check that was due: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open: Option<CheckReason>,
}

/// An answer of the round.
struct RoundAnswer {
    kept: RecordedAnswer,
    /// `None`: it is being stored.
    judgement: Option<JudgementId>,
}

/// What follows from a judgement.
#[derive(Debug, Default)]
pub(crate) struct Concluded {
    answer: Option<Json>,
    next: Step,
    /// Nodes of the round, and when they began.
    began: Vec<(String, Timestamp)>,
    /// What the evidence of the slowest test names as a disturbance; `None`: nobody can tell.
    disturbed: Option<Vec<&'static str>>,
}

/// The next step of a round.
#[derive(Debug, PartialEq)]
enum Step {
    Stand { counts: Option<JudgementId>, agreed: Option<Agreed> },
    Ask { place: Option<String>, confirm: bool, not_on: Vec<String>, why: &'static str },
}

impl Default for Step {
    fn default() -> Step {
        Step::Stand { counts: None, agreed: None }
    }
}

impl Concluded {
    /// As the store takes it.
    pub(crate) fn conclusion(&self) -> Conclusion<'_> {
        let then = match &self.next {
            Step::Stand { counts, .. } => RoundStep::Stand { counts: *counts },
            Step::Ask { place, confirm, not_on, why } => {
                RoundStep::Continue(RoundJob { place: place.as_deref(), confirm: *confirm, not_on, why })
            }
        };
        Conclusion { answer: self.answer.as_ref(), then }
    }

    /// Why another node is asked, if one is, as metrics name it.
    pub(crate) fn asks(&self) -> Option<&'static str> {
        match &self.next {
            Step::Ask { why, .. } => Some(why),
            Step::Stand { .. } => None,
        }
    }
}

/// What follows from this judgement of a job, which is not stored yet.
///
/// # Errors
/// Those of the store.
pub(crate) async fn concluded(
    service: &Service,
    job: &Job,
    judgement: &Judgement,
) -> Result<Concluded, Error> {
    let judged_once =
        job.purpose == Purpose::Trial || job.version.is_none() || job.failed >= service.settings.attempts;
    let (Some(node), Some(pool), false) = (&job.node, &job.pool, judged_once) else {
        return Ok(Concluded::default());
    };
    let roster = service.fleet.roster(&service.store).await?;
    let floor = settle::floor_of(judgement);
    let contest = job.contest.and_then(|contest| roster.contests.get(&contest));
    let began = job.started.unwrap_or(job.created);
    let answer = answer(&roster, contest, (node, pool), judgement, &floor);
    let mut kept = RecordedAnswer { answer, limit: judgement.time_limit, began, open: None };
    let mut given = match job.round == job.id {
        true => Vec::new(),
        false => given(service, job.round).await?,
    };
    given.push(RoundAnswer { kept: kept.clone(), judgement: None });
    let step = step(&roster, &connected(service), contest, job.round, &mut given);
    if let Step::Stand { agreed: Some(agreed), .. } = &step {
        // Where nobody else could have been asked nothing is missing.
        kept.open = agreed.open.filter(|_| given.len() > 1);
    }
    Ok(Concluded {
        answer: serde_json::to_value(&kept).ok(),
        next: step,
        began: given.iter().map(|one| (one.kept.answer.node.clone(), one.kept.began)).collect(),
        disturbed: disturbed(judgement, &floor),
    })
}

/// What a judgement means for the health of nodes, after it was stored.
pub(crate) async fn after(service: &Service, job: &Job, concluded: &Concluded) -> Result<(), Error> {
    if let Some(node) = &job.node {
        health::judged(service, node, job.started.unwrap_or(job.created), concluded.disturbed.as_deref())
            .await?;
    }
    match &concluded.next {
        Step::Stand { agreed: Some(agreed), .. } => {
            compared(service, job.round, agreed, &concluded.began).await?;
        }
        Step::Stand { agreed: None, .. } => {}
        Step::Ask { confirm: true, .. } => service.metrics.fleet.round(Round::Confirms),
        Step::Ask { confirm: false, .. } => service.metrics.fleet.round(Round::Asks),
    }
    Ok(())
}

/// Nodes of a comparison are charged, or not.
async fn compared(
    service: &Service,
    round: JobId,
    agreed: &Agreed,
    began: &[(String, Timestamp)],
) -> Result<(), Error> {
    let charged = agreed.charged.iter().map(|charge| Round::Charges(&charge.node));
    charged.for_each(|charged| service.metrics.fleet.round(charged));
    match agreed.open {
        _ if agreed.compared.is_empty() => {}
        Some(_) => service.metrics.fleet.round(Round::Open),
        None => service.metrics.fleet.round(Round::Agrees),
    }
    for node in &agreed.compared {
        let charge = agreed.charged.iter().find(|charge| charge.node == *node);
        let words = charge.map(|charge| format!("job {round}: {}", charge.why));
        let began = began.iter().find(|(name, _)| name == node).map_or(Timestamp(0), |(_, began)| *began);
        health::checked(service, node, began, words.as_deref()).await?;
    }
    Ok(())
}

/// Ends rounds whose next job nobody can do: each node that is there has spoken already. How many there were.
pub(super) async fn settle_alone(service: &Service) -> Result<u64, Error> {
    const AT_ONCE: u32 = 500;
    let mut after = JobId(0);
    let mut settled = 0;
    loop {
        let jobs = service.store.continuing(after, AT_ONCE).await?;
        for job in &jobs {
            settled += u64::from(settle(service, job).await?);
        }
        match jobs.last() {
            Some(last) if jobs.len() == AT_ONCE as usize => after = last.id,
            _ => return Ok(settled),
        }
    }
}

async fn settle(service: &Service, job: &Job) -> Result<bool, Error> {
    let roster = service.fleet.roster(&service.store).await?;
    let mut given = given(service, job.round).await?;
    if given.is_empty() {
        return Ok(false);
    }
    let contest = job.contest.and_then(|contest| roster.contests.get(&contest));
    let step = step(&roster, &connected(service), contest, job.round, &mut given);
    let Step::Stand { counts, agreed: Some(agreed) } = step else { return Ok(false) };
    let last = given.last().and_then(|given| given.judgement);
    let Some(counts) = counts.or(last) else { return Ok(false) };
    let why = "no other node can judge it";
    let settled = service.store.settle(job.id, counts, why, crate::timestamp::now()).await?;
    if settled {
        let began: Vec<_> = given.into_iter().map(|one| (one.kept.answer.node, one.kept.began)).collect();
        compared(service, job.round, &agreed, &began).await?;
        tracing::info!(job = job.id.0, round = job.round.0, why, "a round ended with what there is");
        let told = crate::live::LiveEvent::Judged { verdict: agreed.verdict, current: true };
        service.live.tell(job.submission, told);
    }
    Ok(settled)
}

/// Answers of the round that are stored.
async fn given(service: &Service, round: JobId) -> Result<Vec<RoundAnswer>, Error> {
    let answered = service.store.answers(round).await?;
    let given = answered.into_iter().filter_map(|one| {
        let kept = serde_json::from_value(one.answer?).ok()?;
        Some(RoundAnswer { kept, judgement: Some(one.judgement) })
    });
    Ok(given.collect())
}

/// Which rounds of a submission's jobs ended without a majority, or without a check that was due: why another node should have spoken, by the
/// first job of the round.
///
/// # Errors
/// Those of the store.
pub(crate) async fn open_rounds(service: &Service, jobs: &[Job]) -> Result<BTreeMap<JobId, String>, Error> {
    let mut open = BTreeMap::new();
    let later: Vec<&Job> = jobs.iter().filter(|job| job.id != job.round).collect();
    let rounds: BTreeSet<JobId> = later.iter().map(|job| job.round).collect();
    for round in rounds {
        let given = given(service, round).await?;
        if let Some(why) = given.iter().find_map(|given| given.kept.open) {
            open.insert(round, why.name().to_string());
        }
    }
    let left = later.iter().filter(|job| matches!(job.state, JobState::Cancelled { .. }));
    open.extend(left.filter_map(|job| Some((job.round, job.why.clone()?))));
    Ok(open)
}

fn connected(service: &Service) -> BTreeSet<String> {
    service.workers.connected().into_iter().map(|worker| worker.node).collect()
}

/// The next step by the answers so far. Answers of nodes that are doubted by now are doubted.
fn step(
    roster: &Roster,
    connected: &BTreeSet<String>,
    contest: Option<&Contest>,
    round: JobId,
    given: &mut [RoundAnswer],
) -> Step {
    for one in given.iter_mut() {
        one.kept.answer.doubted |= roster.doubts(&one.kept.answer.node);
    }
    let answers: Vec<NodeAnswer> = given.iter().map(|one| one.kept.answer.clone()).collect();
    let strictness = contest.map_or(Strictness::Relaxed, |contest| contest.strictness);
    let job = round.to_string();
    // A fault of ours has none.
    let limit = given.iter().map(|one| one.kept.limit).max().unwrap_or_default();
    let others = others(roster, connected, contest, &answers);
    let asked = CheckedJob { job: &job, strictness, limit, others };
    let place = |stage| match contest.map(|contest| contest.place(stage)) {
        Some(Destination::Pool(pool)) => Some(pool),
        Some(Destination::Anywhere) | None => None,
    };
    match next(&CrossPolicy::PUBLISHED, &asked, &answers) {
        // Where all failed the last one is it.
        Next::Final(agreed) if agreed.verdict == Verdict::JudgeError => {
            Step::Stand { counts: given.last().and_then(|one| one.judgement), agreed: Some(agreed) }
        }
        Next::Final(agreed) => Step::Stand {
            counts: given.get(agreed.counts).and_then(|one| one.judgement),
            agreed: Some(agreed),
        },
        Next::NeedSecond { not_on, stage, why } | Next::NeedThird { not_on, stage, why } => {
            Step::Ask { place: place(stage), confirm: stage == Stage::Confirm, not_on, why: why.name() }
        }
        Next::ConfirmStrict { why } => {
            Step::Ask { place: place(Stage::Confirm), confirm: true, not_on: Vec::new(), why: why.name() }
        }
    }
}

/// How many nodes could still be asked.
fn others(
    roster: &Roster,
    connected: &BTreeSet<String>,
    contest: Option<&Contest>,
    answers: &[NodeAnswer],
) -> usize {
    let spoken = answers.iter().any(|answer| answer.strict);
    let own = contest.filter(|contest| match contest.strictness {
        Strictness::Strict => true,
        Strictness::RelaxedThenStrict => spoken,
        Strictness::Relaxed => false,
    });
    let could = |pool: &str| own.map_or_else(|| roster.takes_any(pool), |contest| contest.pool == pool);
    let asked = |name: &str| answers.iter().any(|answer| answer.node == name);
    roster.at_work(connected).filter(|one| could(&one.node.pool) && !asked(&one.node.name)).count()
}

/// What a node said.
fn answer(
    roster: &Roster,
    contest: Option<&Contest>,
    (node, pool): (&str, &str),
    judgement: &Judgement,
    floor: &NoiseFloor,
) -> NodeAnswer {
    // Of another pool than the contest's a strict node is as foreign as any.
    let own = contest.is_some_and(|contest| contest.pool == pool);
    let definition = contest.and_then(|contest| roster.pools.get(&contest.pool)?.definition.as_ref());
    let index = roster.nodes.get(node).and_then(|known| known.statement.as_ref()?.index.as_ref());
    let slower = || definition?.slower_at_most(&index?.parts);
    NodeAnswer {
        node: node.to_string(),
        strict: own && roster.kind(pool) == PoolKind::Strict,
        verdict: judgement.verdict,
        time: judgement.slowest().known().map_or(Nanos::ZERO, |charge| charge.as_time()),
        confidence: judgement.settled.confidence,
        noise: noise(floor.spread()),
        doubted: roster.doubts(node),
        slower_at_most: if own { None } else { slower() },
    }
}

/// What disturbed the runs of the slowest test: the one that is judged for time, and one for each job, as the rates of the tests have it.
/// Where the noise of the slot was never measured, what is noise nowhere. `None`: nothing was run, or nobody can tell.
fn disturbed(judgement: &Judgement, floor: &NoiseFloor) -> Option<Vec<&'static str>> {
    const NO_NOISE: [Disturbance; 1] = [Disturbance::Throttled];
    let slowest =
        judgement.tests.iter().max_by_key(|test| test.charge).filter(|test| !test.runs.is_empty())?;
    let tells = !floor.assumed || slowest.runs.iter().any(|run| run.evidence.throttled.known().is_some());
    let causes = settle::judged_runs(slowest).into_iter().flat_map(|(_, causes)| causes);
    let names = causes.map(|cause| cause.name).filter(|name| !floor.assumed || NO_NOISE.contains(name));
    let names: BTreeSet<&str> = names.map(Disturbance::name).collect();
    tells.then(|| names.into_iter().collect())
}
