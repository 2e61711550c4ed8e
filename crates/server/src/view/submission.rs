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

/// A submission, and the verdict that counts.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Submission)]
pub(crate) struct SubmissionView {
    /// Its name in addresses. Nobody can guess it.
    pub(crate) token: String,
    /// Its number: later ones have higher numbers.
    pub(crate) id: i64,
    /// What it is for; null for a program that was run by itself.
    pub(crate) problem: Option<SubmittedFor>,
    /// Who handed it in, where somebody had signed in.
    pub(crate) author: Option<String>,
    /// Where it came from: `participant`, `jury` (of a package), `limits` (what infers a time limit), `judge0`, `piston`,
    /// `run` (with tests of its own).
    pub(crate) origin: String,
    /// Language id; empty where it is told by the files.
    pub(crate) language: String,
    /// When it was submitted.
    #[schema(format = DateTime)]
    pub(crate) created: String,
    /// How far judging has come. Trials do not count.
    #[schema(value_type = StateName)]
    pub(crate) state: State,
    /// It waits for the time limit of its problem, which is inferred from the jury's submissions.
    pub(crate) awaits_time_limit: bool,
    /// When its sources and runs were deleted; it cannot be judged again then.
    #[schema(format = DateTime)]
    pub(crate) forgotten: Option<String>,
    /// The judgement that counts, where there is one yet.
    pub(crate) judgement: Option<Brief>,
}

/// What a submission is for.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct SubmittedFor {
    /// Short name of the problem.
    pub(crate) name: String,
    /// Its version that was the newest then.
    pub(crate) version: u64,
}

/// A judgement in short.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = JudgementInShort)]
pub(crate) struct Brief {
    /// 1 for the first judgement of the submission.
    pub(crate) number: u64,
    /// What it was made for.
    #[schema(value_type = PurposeName)]
    pub(crate) purpose: Purpose,
    /// It is the submission's verdict.
    pub(crate) current: bool,
    /// When it was stored.
    #[schema(format = DateTime)]
    pub(crate) finished: String,
    /// What was earned.
    #[schema(value_type = VerdictName)]
    pub(crate) verdict: Verdict,
    /// Points, in scoring problems.
    pub(crate) score: Option<f64>,
    /// The charge of the slowest test that was run, settled, as a time: under `instructions` a nanosecond stands for one. Null where none was run.
    pub(crate) cpu_ns: Option<u64>,
    /// The same with its clock and unit.
    pub(crate) charge: Option<Charge>,
    /// Most memory of any test; null where it is not known of all.
    pub(crate) memory_peak_bytes: Option<u64>,
    /// How firmly it stands.
    #[schema(value_type = ConfidenceName)]
    pub(crate) confidence: Confidence,
    /// Runs that were made.
    pub(crate) runs: u64,
    /// Runs of these that their evidence condemned.
    pub(crate) void_runs: u64,
    /// Judgements on several nodes come to one verdict together: it is the one that counts of those.
    pub(crate) stands: bool,
    /// The node that judged; null where that is not known any more.
    pub(crate) node: Option<String>,
    /// The pool of that node.
    pub(crate) pool: Option<String>,
    /// Where judging did not end before it, why: `missed` (a limit, or nearly, on other hardware than the contest's), `grey` (near the limit),
    /// `drawn` (by lot), `doubted` (the node before was), `failed` (there), `verdicts` or `times` (that differed); null: it was the first.
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
    /// Those of these users.
    pub(crate) async fn read(service: &Service, users: &[Option<UserId>]) -> Result<Names, Refusal> {
        let mut names = HashMap::new();
        for id in users.iter().flatten().copied() {
            if let std::collections::hash_map::Entry::Vacant(free) = names.entry(id) {
                free.insert(service.store.user(id).await?.name);
            }
        }
        Ok(Names(names))
    }

    /// Those of the authors of these submissions.
    pub(crate) async fn of_authors(service: &Service, submissions: &[Submission]) -> Result<Names, Refusal> {
        let authors: Vec<_> = submissions.iter().map(|submission| submission.author).collect();
        Names::read(service, &authors).await
    }

    /// One of them.
    pub(crate) fn name_of(&self, id: UserId) -> Option<String> {
        self.0.get(&id).cloned()
    }
}
