//! A judgement as it is shown: every test, every run, what disturbed it.

use super::Brief;
use crate::errors::Refusal;
use crate::service::Service;
use model::{Bytes, Cause, Charge, Clock, Limits, Reading, TestResult};
use report::json::RunDocument;
use serde::Serialize;
use settle::NoiseFloor;
use store::{JobState, StoredJudgement};
use utoipa::ToSchema;

/// A judgement whole.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Judgement)]
pub(crate) struct JudgementView {
    /// In short.
    #[serde(flatten)]
    pub(crate) brief: Brief,
    /// Language id.
    pub(crate) language: String,
    /// What tests were charged by: `cpu`, `instructions` or `reference`.
    pub(crate) clock: Clock,
    /// What counted, and in which version, under clocks that count.
    pub(crate) counted_by: Option<String>,
    /// The best score there is, where known.
    pub(crate) max_score: Option<f64>,
    /// What its test groups earned, in scoring problems.
    pub(crate) groups: Vec<GroupView>,
    /// Time a test may take, with the language's factor; under `instructions` a nanosecond stands for one.
    pub(crate) time_limit_ns: u64,
    /// The limits of a run.
    pub(crate) limits: LimitsView,
    /// Its compilation.
    pub(crate) compile: CompileView,
    /// Why the verdict is JE.
    pub(crate) fault: Option<String>,
    /// The worker that judged: node and slot.
    pub(crate) worker: Option<String>,
    /// The noise floor it was judged by; `assumed` in it: nothing was measured on that slot, or the judgement is of a version that did not keep it.
    pub(crate) floor: NoiseFloor,
    /// Its runs were deleted.
    pub(crate) forgotten: bool,
    /// Every test that was run, in order.
    pub(crate) tests: Vec<TestView>,
}

/// The limits of a run; null where there is none.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Limits)]
pub(crate) struct LimitsView {
    /// CPU time, user and system. Under another clock it only bounds what that does not count.
    pub(crate) cpu_ns: Option<u64>,
    /// Instructions, under the clock that counts them.
    pub(crate) instructions: Option<u64>,
    /// Time on the reference machine, under that clock.
    pub(crate) reference_ns: Option<u64>,
    /// Elapsed time. Never scored; it ends what sleeps.
    pub(crate) wall_ns: Option<u64>,
    /// Memory.
    pub(crate) memory_bytes: Option<u64>,
    /// Stack of the main thread; null: as memory.
    pub(crate) stack_bytes: Option<u64>,
    /// What it may write.
    pub(crate) output_bytes: Option<u64>,
    /// Processes and threads at one time, those of the language's runtime included.
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

/// A compilation.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Compilation)]
pub(crate) struct CompileView {
    /// A program came of it.
    pub(crate) ok: bool,
    /// What the compiler said, clipped.
    pub(crate) output: String,
}

/// A test group of a judgement: a part of its score.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = GroupScore)]
pub(crate) struct GroupView {
    /// Path below `data/`.
    pub(crate) name: String,
    /// What it earned.
    #[schema(value_type = super::VerdictName)]
    pub(crate) verdict: model::Verdict,
    /// Its points.
    pub(crate) score: f64,
    /// The best score it can have, where known.
    pub(crate) max_score: Option<f64>,
}

/// A test of a judgement.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Test)]
pub(crate) struct TestView {
    /// Path below `data/` without extension.
    pub(crate) name: String,
    /// What it earned.
    #[schema(value_type = super::VerdictName)]
    pub(crate) verdict: model::Verdict,
    /// What counts, as a time: under `instructions` a nanosecond stands for one.
    pub(crate) cpu_ns: u64,
    /// What counts, with its clock and unit.
    pub(crate) charge: Charge,
    /// Elapsed time of the same run.
    pub(crate) wall_ns: u64,
    /// Most memory of any run.
    pub(crate) memory_peak_bytes: Reading<Bytes>,
    /// Points, in scoring problems.
    pub(crate) score: Option<f64>,
    /// How firmly its time stands.
    #[schema(value_type = super::ConfidenceName)]
    pub(crate) confidence: model::Confidence,
    /// What the reference clock says, where the kernel's left it open: that decides. Null where it was not asked.
    pub(crate) second_opinion: Option<model::SecondOpinion>,
    /// Every run with its evidence, each as `tauto run --json` prints it; `disturbed` in it names what condemns its time.
    pub(crate) runs: Vec<RunDocument>,
    /// What the validator says. Of secret tests only the jury sees it.
    pub(crate) message: Option<String>,
}

/// Whether what a validator says of a test may be read by those who do not see all: of samples, whose answers are no secret.
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

/// A judgement for one who sees all, or only what is theirs.
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
    }
}

/// What disturbed a run, by name.
pub(crate) fn names(causes: &[Cause]) -> Vec<String> {
    causes.iter().map(|cause| cause.name.to_string()).collect()
}
