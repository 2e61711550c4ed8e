//! A judgement with its tests, runs and disturbances.

use super::Brief;
use crate::errors::Refusal;
use crate::service::Service;
use model::{Bytes, Cause, Charge, Clock, Limits, Reading, TestResult};
use report::json::RunDocument;
use serde::Serialize;
use settle::NoiseFloor;
use store::{JobState, StoredJudgement};
use utoipa::ToSchema;

/// A judgement with all data.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Judgement)]
pub(crate) struct JudgementView {
    /// Summary of the judgement.
    #[serde(flatten)]
    pub(crate) brief: Brief,
    /// Language id.
    pub(crate) language: String,
    /// Clock that charges the tests: `cpu`, `instructions` or `reference`.
    pub(crate) clock: Clock,
    /// For counting clocks: what counted, with its version. Null for others.
    pub(crate) counted_by: Option<String>,
    /// Maximum score, if known.
    pub(crate) max_score: Option<f64>,
    /// Results of the test groups, in scoring problems.
    pub(crate) groups: Vec<GroupView>,
    /// Time limit of a test, with the language's factor. Under `instructions`, one nanosecond stands for one
    /// instruction.
    pub(crate) time_limit_ns: u64,
    /// Limits of a run.
    pub(crate) limits: LimitsView,
    /// Result of the compilation.
    pub(crate) compile: CompileView,
    /// Why the verdict is JE. Null for other verdicts.
    pub(crate) fault: Option<String>,
    /// Worker that judged: node and slot.
    pub(crate) worker: Option<String>,
    /// Noise floor that the judgement used. It is `assumed` if it was not measured on the slot, or not stored by an
    /// older version.
    pub(crate) floor: NoiseFloor,
    /// Whether the runs were deleted.
    pub(crate) forgotten: bool,
    /// Tests that were run, in order.
    pub(crate) tests: Vec<TestView>,
}

/// Limits of a run. Null: no limit.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Limits)]
pub(crate) struct LimitsView {
    /// CPU time, user and system. Under other clocks, it only bounds work that they do not count.
    pub(crate) cpu_ns: Option<u64>,
    /// Number of instructions, under the instruction clock.
    pub(crate) instructions: Option<u64>,
    /// Time on the reference machine, under the reference clock.
    pub(crate) reference_ns: Option<u64>,
    /// Wall time. It is never scored; it ends programs that sleep.
    pub(crate) wall_ns: Option<u64>,
    /// Memory.
    pub(crate) memory_bytes: Option<u64>,
    /// Stack of the main thread. Null: the memory limit applies.
    pub(crate) stack_bytes: Option<u64>,
    /// Output of the program.
    pub(crate) output_bytes: Option<u64>,
    /// Processes and threads at the same time, including those of the language's runtime.
    pub(crate) processes: Option<u32>,
}

impl LimitsView {
    fn new(limits: &Limits) -> LimitsView {
        LimitsView {
            cpu_ns: limits.cpu.map(|limit| limit.0),
            instructions: limits.instructions,
            reference_ns: limits.reference.map(|limit| limit.0),
            wall_ns: limits.wall.map(|limit| limit.time.0),
            memory_bytes: limits.memory.map(|limit| limit.0),
            stack_bytes: limits.stack.map(|limit| limit.0),
            output_bytes: limits.output.map(|limit| limit.0),
            processes: limits.processes,
        }
    }
}

/// Result of a compilation.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Compilation)]
pub(crate) struct CompileView {
    /// Whether the compilation succeeded.
    pub(crate) ok: bool,
    /// Output of the compiler, truncated.
    pub(crate) output: String,
}

/// Result of a test group.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = GroupScore)]
pub(crate) struct GroupView {
    /// Path below `data/`.
    pub(crate) name: String,
    /// Verdict of the group.
    #[schema(value_type = super::VerdictName)]
    pub(crate) verdict: model::Verdict,
    /// Points of the group.
    pub(crate) score: f64,
    /// Maximum score of the group, if known.
    pub(crate) max_score: Option<f64>,
}

/// Result of a test.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Test)]
pub(crate) struct TestView {
    /// Path below `data/`, without extension.
    pub(crate) name: String,
    /// Verdict of the test.
    #[schema(value_type = super::VerdictName)]
    pub(crate) verdict: model::Verdict,
    /// Charge of the test as a time. Under `instructions`, one nanosecond stands for one instruction.
    pub(crate) cpu_ns: u64,
    /// Charge of the test, with its clock and unit.
    pub(crate) charge: Charge,
    /// Wall time of the run that counts.
    pub(crate) wall_ns: u64,
    /// Maximum memory of all runs.
    pub(crate) memory_peak_bytes: Reading<Bytes>,
    /// Points, in scoring problems.
    pub(crate) score: Option<f64>,
    /// How the verdict on time was decided.
    #[schema(value_type = super::ConfidenceName)]
    pub(crate) confidence: model::Confidence,
    /// Second opinion by the reference clock, which then decides. Null if there is none.
    pub(crate) second_opinion: Option<model::SecondOpinion>,
    /// All runs with their evidence, in the form of `tauto run --json`. `disturbed` lists the disturbances of a run.
    pub(crate) runs: Vec<RunDocument>,
    /// Message of the checker. For secret tests, only the jury sees it.
    pub(crate) message: Option<String>,
    /// Transcript of an interactive run, for the first test that was not accepted. Null if there is none. For secret
    /// tests, only the jury sees it.
    pub(crate) transcript: Option<model::Transcript>,
}

/// Whether callers who do not see everything may read the checker's message and a transcript: for samples, whose answers are public.
pub(crate) fn may_read_message(test: &str, sees_all: bool) -> bool {
    sees_all || test.starts_with("sample/") || test.starts_with("run/")
}

/// The worker that made a judgement.
pub(crate) async fn worker_of(
    service: &Service,
    judgement: &StoredJudgement,
) -> Result<Option<String>, Refusal> {
    Ok(match service.store.job(judgement.summary.job).await?.state {
        JobState::Judged { worker } => Some(worker).filter(|worker| !worker.is_empty()),
        _ => None,
    })
}

/// A judgement for callers who see everything, or only what belongs to them.
pub(crate) async fn whole(
    service: &Service,
    stored: &StoredJudgement,
    sees_all: bool,
) -> Result<JudgementView, Refusal> {
    let worker = worker_of(service, stored).await?;
    let judgement = &stored.judgement;
    let fault = judgement.fault.as_ref().map(|fault| match sees_all {
        true => fault.clone(),
        // What failed may be a validator, and what it said may tell of secret data.
        false => "a fault of the judge or of the problem's package; the organisers can see which".into(),
    });
    Ok(JudgementView {
        brief: Brief::new(&stored.summary),
        language: judgement.language.clone(),
        clock: judgement.clock,
        counted_by: judgement.counted_by.clone(),
        max_score: judgement.max_score,
        groups: judgement.groups.iter().map(group_view).collect(),
        time_limit_ns: judgement.time_limit.0,
        limits: LimitsView::new(&judgement.limits),
        compile: CompileView { ok: judgement.compile.ok, output: judgement.compile.output.clone() },
        fault,
        worker,
        floor: settle::floor_of(judgement),
        forgotten: stored.forgotten,
        tests: judgement.tests.iter().map(|test| test_view(test, &judgement.limits, sees_all)).collect(),
    })
}

fn group_view(group: &model::GroupScore) -> GroupView {
    let model::GroupScore { name, verdict, score, max_score } = group.clone();
    GroupView { name, verdict, score, max_score }
}

/// A test as it is shown.
fn test_view(test: &TestResult, limits: &Limits, sees_all: bool) -> TestView {
    TestView {
        name: test.name.clone(),
        verdict: test.verdict,
        cpu_ns: test.charge.amount,
        charge: test.charge,
        wall_ns: test.wall.0,
        memory_peak_bytes: test.memory_peak.clone(),
        score: test.score,
        confidence: test.settled.confidence,
        second_opinion: test.second_opinion,
        runs: settle::judged_runs(test)
            .into_iter()
            .map(|(run, causes)| RunDocument::new(run, limits, names(&causes)))
            .collect(),
        message: may_read_message(&test.name, sees_all).then(|| test.message.clone()),
        transcript: test.transcript.clone().filter(|_| may_read_message(&test.name, sees_all)),
    }
}

/// Names of the disturbances of a run.
pub(crate) fn names(causes: &[Cause]) -> Vec<String> {
    causes.iter().map(|cause| cause.name.to_string()).collect()
}
