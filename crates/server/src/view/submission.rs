//! A submission as it is shown.

use super::{ConfidenceName, PurposeName, StateName, VerdictName};
use crate::errors::Refusal;
use crate::service::Service;
use crate::timestamp::to_rfc3339;
use model::{Charge, Confidence, Verdict};
use serde::Serialize;
use std::collections::HashMap;
use store::{JudgementSummary, Purpose, State, Submission, UserId};
use utoipa::ToSchema;

/// A submission with its current verdict.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Submission)]
pub(crate) struct SubmissionView {
    /// Token of the submission, used in addresses. It cannot be guessed.
    pub(crate) token: String,
    /// Number of the submission. Later submissions have higher numbers.
    pub(crate) id: i64,
    /// Problem of the submission. Null for a program that was run without one.
    pub(crate) problem: Option<SubmittedFor>,
    /// Name of the author. Null if the author was not signed in.
    pub(crate) author: Option<String>,
    /// Origin: `participant`, `jury` (from a package), `limits` (infers a time limit), `judge0`, `piston`, or `run`
    /// (with tests of its own).
    pub(crate) origin: String,
    /// Language id. Empty if it is detected from the files during judging.
    pub(crate) language: String,
    /// When it was submitted.
    #[schema(format = DateTime)]
    pub(crate) created: String,
    /// State of judging. Trials do not count.
    #[schema(value_type = StateName)]
    pub(crate) state: State,
    /// Whether the submission waits for the time limit of its problem, which is inferred from jury submissions.
    pub(crate) awaits_time_limit: bool,
    /// When its sources and runs were deleted. It cannot be rejudged after that.
    #[schema(format = DateTime)]
    pub(crate) forgotten: Option<String>,
    /// Current judgement. Null if there is none yet.
    pub(crate) judgement: Option<Brief>,
}

/// Problem and version of a submission.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct SubmittedFor {
    /// Short name of the problem.
    pub(crate) name: String,
    /// Number of the version, the newest one when the submission was made.
    pub(crate) version: u64,
}

/// Summary of a judgement.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = JudgementInShort)]
pub(crate) struct Brief {
    /// Number of the judgement within the submission, from 1.
    pub(crate) number: u64,
    /// Purpose of the judgement.
    #[schema(value_type = PurposeName)]
    pub(crate) purpose: Purpose,
    /// Whether it is the submission's current judgement.
    pub(crate) current: bool,
    /// When the judgement was stored.
    #[schema(format = DateTime)]
    pub(crate) finished: String,
    /// Verdict of the judgement.
    #[schema(value_type = VerdictName)]
    pub(crate) verdict: Verdict,
    /// Points, in scoring problems.
    pub(crate) score: Option<f64>,
    /// Settled charge of the slowest test, as a time. Under `instructions`, one nanosecond stands for one
    /// instruction. Null if no test was run.
    pub(crate) cpu_ns: Option<u64>,
    /// The same charge, with its clock and unit.
    pub(crate) charge: Option<Charge>,
    /// Maximum memory of all tests. Null if it is unknown for any of them.
    pub(crate) memory_peak_bytes: Option<u64>,
    /// How the verdict on time was decided.
    #[schema(value_type = ConfidenceName)]
    pub(crate) confidence: Confidence,
    /// Number of runs.
    pub(crate) runs: u64,
    /// Number of discarded runs.
    pub(crate) void_runs: u64,
    /// Whether this judgement counts in its round. A round has several judgements if several nodes judged.
    pub(crate) stands: bool,
    /// Node that judged. Null if it is unknown.
    pub(crate) node: Option<String>,
    /// Pool of that node.
    pub(crate) pool: Option<String>,
    /// Why the round needed this judgement. `missed`: a time limit was exceeded, or nearly, on hardware outside the
    /// contest's pool. `grey`: the time was close to the limit. `drawn`: sampled. `doubted`: the node before was
    /// watched or suspect. `failed`: the judge failed on the node before. `verdicts`, `times`: they differed. Null for
    /// the first judgement.
    pub(crate) why: Option<String>,
}

impl Brief {
    pub(crate) fn new(summary: &JudgementSummary) -> Brief {
        Brief {
            number: summary.number,
            purpose: summary.purpose,
            current: summary.current,
            finished: to_rfc3339(summary.finished),
            verdict: summary.verdict,
            score: summary.score,
            cpu_ns: summary.charge.map(|charge| charge.amount),
            charge: summary.charge,
            memory_peak_bytes: summary.memory.map(|memory| memory.0),
            confidence: summary.confidence,
            runs: summary.runs,
            void_runs: summary.void_runs,
            stands: summary.stands,
            node: summary.node.clone(),
            pool: summary.pool.clone(),
            why: summary.why.clone(),
        }
    }
}

impl SubmissionView {
    pub(crate) fn new(submission: &Submission, names: &Names) -> SubmissionView {
        let problem = submission.problem.as_ref();
        SubmissionView {
            token: submission.token.clone(),
            id: submission.id.0,
            problem: problem.map(|of| SubmittedFor { name: of.name.clone(), version: of.number }),
            author: submission.author.and_then(|id| names.name_of(id)),
            origin: submission.origin.clone(),
            language: submission.language.clone(),
            created: to_rfc3339(submission.created),
            state: submission.state,
            awaits_time_limit: submission.awaits_limit,
            forgotten: submission.forgotten.map(to_rfc3339),
            judgement: submission.current.as_ref().map(Brief::new),
        }
    }
}

/// Names of users.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<UserId, String>);

impl Names {
    /// The names of these users.
    pub(crate) async fn read(service: &Service, users: &[Option<UserId>]) -> Result<Names, Refusal> {
        let mut names = HashMap::new();
        for id in users.iter().flatten().copied() {
            if let std::collections::hash_map::Entry::Vacant(free) = names.entry(id) {
                free.insert(service.store.user(id).await?.name);
            }
        }
        Ok(Names(names))
    }

    /// The names of the authors of these submissions.
    pub(crate) async fn of_authors(service: &Service, submissions: &[Submission]) -> Result<Names, Refusal> {
        let authors: Vec<_> = submissions.iter().map(|submission| submission.author).collect();
        Names::read(service, &authors).await
    }

    /// The name of a user.
    pub(crate) fn name_of(&self, id: UserId) -> Option<String> {
        self.0.get(&id).cloned()
    }
}
