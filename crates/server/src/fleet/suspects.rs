//! What a node judged while it is doubted; and nodes that are taken out of service and given back, by people.

use super::TRIES;
use crate::errors::Refusal;
use crate::moment::{now, written};
use crate::rejudge;
use crate::service::Service;
use serde::Serialize;
use std::collections::BTreeMap;
use store::{JobId, Moment, Node, NodeChange, NodeState, Purpose, RejudgingId, Store, SubmissionId, UserId};

/// At most so many are listed.
const MOST: u32 = 20_000;

/// Something that a doubted node judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Suspect {
    /// The submission.
    pub submission: SubmissionId,
    /// The job.
    pub job: JobId,
    /// When it ended.
    pub at: Moment,
}

/// What a node judged since it is doubted, in the order it ended; a submission once. Nothing where it is not doubted.
///
/// # Errors
/// [`Refusal::NotFound`], and those of the store.
pub async fn suspects(store: &Store, node: &str) -> Result<Vec<Suspect>, Refusal> {
    let Some(since) = store.node(node).await?.doubted_since else { return Ok(Vec::new()) };
    let judged = store.judged_on(node, since, Moment(i64::MAX), MOST).await?;
    let last: BTreeMap<SubmissionId, (Moment, JobId)> =
        judged.into_iter().map(|(submission, job, at)| (submission, (at, job))).collect();
    let mut suspects: Vec<Suspect> =
        last.into_iter().map(|(submission, (at, job))| Suspect { submission, job, at }).collect();
    suspects.sort_by_key(|suspect| (suspect.at, suspect.job));
    Ok(suspects)
}

/// Has everything judged again that a doubted node judged. What is judged again for this already is not asked for twice.
///
/// # Errors
/// [`Refusal::Bad`] where there is nothing to judge again.
pub(crate) async fn rejudge_suspects(
    service: &Service,
    node: &str,
    by: Option<UserId>,
) -> Result<RejudgingId, Refusal> {
    let known = service.store.node(node).await?;
    let (submissions, since) = (suspects(&service.store, node).await?, known.doubted_since);
    let mut again = Vec::with_capacity(submissions.len());
    for suspect in submissions {
        // Sources of old ones may have been deleted, and a trial is nobody's verdict.
        let job = service.store.job(suspect.job).await?;
        let submission = service.store.submission(suspect.submission).await?;
        if job.purpose == Purpose::Verdict && submission.forgotten.is_none() {
            again.push(suspect.submission);
        }
    }
    let (Some(since), false) = (since, again.is_empty()) else {
        return Err(Refusal::Bad(format!(
            "node {node}: nothing of what it judged is doubted and can be judged again"
        )));
    };
    let why = known.reason.unwrap_or_else(|| "it is doubted".into());
    let mut reason = format!("judged on node {node} since {}: {why}", written(since));
    reason.truncate(reason.floor_char_boundary(1000));
    let id = rejudge::again(service, &again, rejudge::Ask::new(Purpose::Verdict, 1, &reason, by)).await?;
    let words = format!("{} submissions are judged again (rejudging {id})", again.len());
    note(&service.store, node, None, |node| NodeChange {
        event: Some(("rejudged".into(), words.clone(), None)),
        ..NodeChange::none(node)
    })
    .await?;
    Ok(id)
}

/// Takes a node out of service for this reason: it ends what it has and gets no more.
///
/// # Errors
/// [`Refusal::NotFound`]; [`Refusal::Conflict`] where it is out of service already.
pub async fn drain(store: &Store, node: &str, reason: &str, by: Option<&str>) -> Result<Node, Refusal> {
    let known = store.node(node).await?;
    if known.state != NodeState::Active {
        let why = known.reason.unwrap_or_else(|| "no reason is known".into());
        return Err(Refusal::Conflict(format!("node {node}: it is out of service already: {why}")));
    }
    note(store, node, by, |node| NodeChange {
        state: NodeState::Draining,
        reason: Some(reason.into()),
        event: Some(("drained".into(), reason.into(), by.map(Into::into))),
        ..NodeChange::none(node)
    })
    .await
}

/// Gives a node back that was out of service. One that states what it is has to be admitted anew, and learns its level anew; what it judged is not
/// doubted any more, so that it should have been judged again before.
///
/// # Errors
/// [`Refusal::NotFound`]; [`Refusal::Conflict`] where it is in service.
pub async fn give_back(store: &Store, node: &str, reason: &str, by: Option<&str>) -> Result<Node, Refusal> {
    if store.node(node).await?.state == NodeState::Active {
        return Err(Refusal::Conflict(format!("node {node}: it is in service")));
    }
    note(store, node, by, |node| {
        let doubted = node.doubted_since.map_or(String::new(), |since| {
            format!("; what it judged from {} on was doubted", written(since))
        });
        NodeChange {
            state: NodeState::Active,
            reason: None,
            waits: node.statement.as_ref().map(|_| serde_json::json!([])),
            admitted: None,
            health: None,
            doubted_since: None,
            event: Some(("returned".into(), format!("{reason}{doubted}"), by.map(Into::into))),
        }
    })
    .await
}

async fn note(
    store: &Store,
    name: &str,
    by: Option<&str>,
    change: impl Fn(&Node) -> NodeChange,
) -> Result<Node, Refusal> {
    for _ in 0..TRIES {
        let node = store.node(name).await?;
        if store.change_node(&node, &change(&node), now()).await? {
            tracing::info!(node = name, by, "a node was changed");
            return Ok(store.node(name).await?);
        }
    }
    Err(Refusal::Unavailable(format!("node {name}: it changes all the time; try again")))
}
