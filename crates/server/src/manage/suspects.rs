//! Suspect submissions of a node, and rejudging them.

use super::node_named;
use crate::errors::Refusal;
use crate::timestamp::{in_words, to_rfc3339};
use model::Verdict;
use serde::Serialize;
use std::collections::BTreeMap;
use store::{Purpose, Rejudge, RejudgingId, Store, SubmissionId, Timestamp, Urgency, UserId};
use utoipa::ToSchema;

/// Maximum number of jobs of a node that are considered, which is the maximum of a rejudging.
const MOST: u32 = 20_000;

/// A submission that a suspect node judged.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Suspect)]
pub struct SuspectView {
    /// Token of the submission.
    pub token: String,
    /// Number of the submission.
    pub submission: i64,
    /// Short name of the problem. Null if there is none.
    pub problem: Option<String>,
    /// When the node first finished it in the suspect period.
    #[schema(format = DateTime)]
    pub judged: String,
    /// Current verdict. Null if there is none.
    #[schema(value_type = Option<String>)]
    pub verdict: Option<Verdict>,
    /// Whether the sources were deleted, so that it cannot be rejudged.
    pub forgotten: bool,
}

/// Suspect submissions of a node.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Suspects {
    /// Name of the node.
    pub node: String,
    /// Start of the suspect period. Null if the node is not suspect.
    #[schema(format = DateTime)]
    pub doubted_since: Option<String>,
    /// Number of submissions that the node judged since then.
    pub count: u64,
    /// The first of these submissions, ordered by number.
    pub submissions: Vec<SuspectView>,
}

/// Suspect submissions of a node, ordered by number, each with the time of its first suspect judgement.
async fn doubted(
    store: &Store,
    node: &store::Node,
    now: Timestamp,
) -> Result<Vec<(SubmissionId, Timestamp)>, Refusal> {
    let Some(since) = node.doubted_since else { return Ok(Vec::new()) };
    let jobs = store.judged_on(&node.name, since, Timestamp(now.0.saturating_add(1)), MOST).await?;
    let mut once = BTreeMap::new();
    for (submission, _, at) in jobs {
        once.entry(submission).or_insert(at);
    }
    Ok(once.into_iter().collect())
}

/// Suspect submissions of a node; at most `shown` of them.
///
/// # Errors
/// [`Refusal::NotFound`].
pub async fn suspects(store: &Store, name: &str, shown: usize, now: Timestamp) -> Result<Suspects, Refusal> {
    let node = node_named(store, name).await?;
    let all = doubted(store, &node, now).await?;
    let mut submissions = Vec::new();
    for (id, judged) in all.iter().take(shown) {
        // One that was deleted since is none.
        let Ok(found) = store.submission(*id).await else { continue };
        submissions.push(SuspectView {
            token: found.token,
            submission: id.0,
            problem: found.problem.map(|problem| problem.name),
            judged: to_rfc3339(*judged),
            verdict: found.current.map(|current| current.verdict),
            forgotten: found.forgotten.is_some(),
        });
    }
    Ok(Suspects {
        node: node.name,
        doubted_since: node.doubted_since.map(to_rfc3339),
        count: all.len() as u64,
        submissions,
    })
}

/// Rejudges all suspect submissions of a node, except those whose sources were deleted. Returns the rejudging and its
/// number of submissions.
///
/// # Errors
/// [`Refusal::NotFound`]; [`Refusal::Conflict`] if there are no suspect submissions or none can be rejudged.
pub async fn rejudge_suspects(
    store: &Store,
    name: &str,
    by: Option<UserId>,
    now: Timestamp,
) -> Result<(RejudgingId, usize), Refusal> {
    let node = node_named(store, name).await?;
    let Some(since) = node.doubted_since else {
        return Err(Refusal::Conflict(format!("node {name} has no suspect submissions")));
    };
    let mut again = Vec::new();
    for (id, _) in doubted(store, &node, now).await? {
        if store.submission(id).await.is_ok_and(|found| found.forgotten.is_none()) {
            again.push(id);
        }
    }
    if again.is_empty() {
        return Err(Refusal::Conflict(format!(
            "node {name} has no submission since {} that can be rejudged",
            in_words(since)
        )));
    }
    let why = node.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    let mut text = format!("judged on {name}, suspect since {}{why}", in_words(since));
    text.truncate(text.floor_char_boundary(super::MOST_REASON));
    let ask = Rejudge {
        version: None,
        purpose: Purpose::Verdict,
        times: 1,
        urgency: Urgency::Background,
        created: now,
    };
    let id = store.add_rejudging(&text, by, &again, ask).await?;
    Ok((id, again.len()))
}
