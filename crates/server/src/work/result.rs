//! From what a worker says came of a task to what is stored.

use super::assign;
use crate::fleet;
use crate::live::LiveEvent;
use crate::problems::limits;
use crate::service::Service;
use crate::timestamp::now;
use ::fleet::Outcome;
use model::{
    Charge, Clock, Compilation, Executed, InferredLimit, InferredScales, Judgement, Nanos, Reading,
    TestResult, Verdict,
};
use store::{Error, Finished, LIMITS, Lease, Output};

/// Stores a judgement, or puts the job back where there is none.
///
/// # Errors
/// [`Error::Conflict`] where the job is somebody else's by now.
pub(crate) async fn conclude(service: &Service, lease: Lease, outcome: &Outcome) -> Result<(), Error> {
    match outcome {
        Outcome::Judged { judgement } => {
            store(service, lease, &(**judgement).clone().by_its_clock(), None).await
        }
        Outcome::Executed { executed } => {
            store(service, lease, &of_execution(executed), Some(&output(executed))).await
        }
        Outcome::Inferred { limit } => inferred(service, lease, Inferred::Limit(limit)).await,
        Outcome::Scaled { found } => inferred(service, lease, Inferred::Scales(found)).await,
        Outcome::Refused { why } => store(service, lease, &Judgement::fault("", why), None).await,
        Outcome::Failed { why } | Outcome::Returned { why } => {
            let job = service.store.job(lease.job).await?;
            match outcome {
                Outcome::Failed { .. } => drop(service.store.fail(lease, why).await?),
                _ => service.store.give_back(lease, why).await?,
            }
            service.live.tell(job.submission, LiveEvent::Returned { why: why.clone() });
            service.work_came.one();
            Ok(())
        }
    }
}

/// What a worker inferred.
#[derive(Clone, Copy)]
enum Inferred<'a> {
    Limit(&'a InferredLimit),
    Scales(&'a InferredScales),
}

/// Stores a time limit, for which others wait, or scales.
async fn inferred(service: &Service, lease: Lease, inferred: Inferred<'_>) -> Result<(), Error> {
    let job = service.store.job(lease.job).await?;
    let submission = service.store.submission(job.submission).await?;
    let asked = assign::details(&submission).ok().and_then(|details| details.infers);
    let asked = asked.filter(|_| submission.origin == LIMITS).map(|asked| asked.scales);
    if asked != Some(matches!(inferred, Inferred::Scales(_))) {
        let why = match asked {
            Some(true) => {
                "the worker's version knows no reference scales: upgrade it, and have them inferred again"
            }
            _ => "the worker inferred what it was not asked for",
        };
        return store(service, lease, &Judgement::fault("", why), None).await;
    }
    let judgement = of_inference(inferred);
    let finished = match inferred {
        Inferred::Limit(limit) => service.store.finish_limit(lease, &judgement, limit, now()).await?,
        Inferred::Scales(scales) => service.store.finish_scales(lease, &judgement, scales, now()).await?,
    };
    if let Finished::Stored(_) = finished {
        service.metrics.judged(LIMITS, &judgement);
    }
    service.live.tell(job.submission, LiveEvent::Judged { verdict: judgement.verdict, current: true });
    service.work_came.many();
    Ok(())
}

async fn store(
    service: &Service,
    lease: Lease,
    judgement: &Judgement,
    output: Option<&Output>,
) -> Result<(), Error> {
    let job = service.store.job(lease.job).await?;
    // Nodes are compared by programs that they judged.
    let judged = judgement.verdict != Verdict::JudgeError
        || service.store.submission(job.submission).await?.origin != LIMITS;
    let concluded = match judged {
        true => fleet::concluded(service, &job, judgement).await?,
        false => fleet::Concluded::default(),
    };
    let finished = service.store.finish(lease, judgement, output, now(), concluded.conclusion()).await?;
    let (Finished::Stored(id) | Finished::Already(id)) = finished;
    let submission = service.store.submission(job.submission).await?;
    let current = submission.current.is_some_and(|current| current.id == id);
    if matches!(finished, Finished::Stored(_)) {
        service.metrics.judged(&submission.origin, judgement);
        // What was stored stands, whatever comes of this.
        if let Err(error) = fleet::after(service, &job, &concluded).await {
            tracing::error!(%error, job = job.id.0, "noting what a job says of its node");
        }
    }
    if let Some(version) = job.version
        && let Err(error) = limits::left_open(service, version, job.contest, judgement).await
    {
        tracing::error!(%error, job = job.id.0, "asking what time limits are in reference time");
    }
    if concluded.asks().is_some() {
        service.work_came.one();
    }
    service.live.tell(job.submission, LiveEvent::Judged { verdict: judgement.verdict, current });
    Ok(())
}

/// What an execution wrote, and the whole of it without that and without runs.
fn output(executed: &Executed) -> Output {
    let mut rest = executed.clone();
    let stdout = std::mem::take(&mut rest.stdout.content).0;
    let stderr = std::mem::take(&mut rest.stderr.content).0;
    for run in &mut rest.runs {
        run.runs.clear();
        run.causes = Reading::unknown("kept with the judgement");
    }
    Output { stdout, stderr, details: serde_json::to_value(&rest).unwrap_or_default() }
}

/// An inference as a judgement. What it came from is kept with what was inferred.
fn of_inference(inferred: Inferred<'_>) -> Judgement {
    let (clock, time_limit) = match inferred {
        Inferred::Limit(limit) => (limit.clock.known().copied().unwrap_or(Clock::Cpu), limit.limit),
        Inferred::Scales(_) => (Clock::Cpu, Nanos::ZERO),
    };
    Judgement {
        verdict: Verdict::Accepted,
        fault: None,
        clock,
        time_limit,
        compile: Compilation { ok: true, output: String::new() },
        ..Judgement::fault("", "")
    }
}

/// An execution as a judgement: each run that was asked for is a test.
fn of_execution(executed: &Executed) -> Judgement {
    let test = |(n, run): (usize, &model::ExecutedRun)| TestResult {
        name: format!("run/{}", n + 1),
        verdict: run.verdict,
        charge: Charge::cpu(run.cpu),
        wall: run.wall,
        memory_peak: run.memory_peak.clone(),
        score: None,
        message: String::new(),
        settled: run.settled,
        runs: run.runs.clone(),
        causes: run.causes.clone(),
        second_opinion: None,
        transcript: None,
    };
    let compile = executed.compile.as_ref().map_or_else(
        || Compilation { ok: true, output: String::new() },
        |compile| Compilation {
            ok: compile.ok,
            output: compile.stdout.content.text() + &compile.stderr.content.text(),
        },
    );
    Judgement {
        submission: String::new(),
        language: executed.language.clone(),
        clock: Clock::Cpu,
        counted_by: None,
        verdict: executed.verdict,
        score: None,
        max_score: None,
        groups: Vec::new(),
        time_limit: executed.limits.cpu.unwrap_or_default(),
        limits: executed.limits,
        compile,
        tests: executed.runs.iter().enumerate().map(test).collect(),
        settled: executed.settled(),
        thresholds: executed.thresholds.clone(),
        fault: Some(executed.message.clone()).filter(|_| executed.verdict == Verdict::JudgeError),
    }
}
