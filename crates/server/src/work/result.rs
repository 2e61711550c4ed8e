//! From what a worker says came of a task to what is stored.

use crate::live::LiveEvent;
use crate::moment::now;
use crate::service::Service;
use fleet::Outcome;
use model::{Clock, Compilation, Confidence, Judgement, Limits, Nanos, Settled, Verdict};
use store::{Error, Finished, Lease};

/// Stores a judgement, or puts the job back where there is none.
///
/// # Errors
/// [`Error::Conflict`] where the job is somebody else's by now.
pub(super) async fn conclude(service: &Service, lease: Lease, outcome: &Outcome) -> Result<(), Error> {
    match outcome {
        Outcome::Judged { judgement } => store(service, lease, judgement).await,
        Outcome::Executed { executed } => store(service, lease, &executed.judgement()).await,
        Outcome::Refused { why } => store(service, lease, &judge_error(why)).await,
        Outcome::Failed { why } | Outcome::Returned { why } => {
            let job = service.store.job(lease.job).await?;
            service.store.give_back(lease, why).await?;
            service.live.tell(job.submission, LiveEvent::Returned { why: why.clone() });
            service.work_came.notify_one();
            Ok(())
        }
    }
}

async fn store(service: &Service, lease: Lease, judgement: &Judgement) -> Result<(), Error> {
    let job = service.store.job(lease.job).await?;
    let finished = service.store.finish(lease, judgement, now()).await?;
    let (Finished::Stored(id) | Finished::Already(id)) = finished;
    let current = service.store.submission(job.submission).await?.current.is_some_and(|current| current.id == id);
    service.live.tell(job.submission, LiveEvent::Judged { verdict: judgement.verdict, current });
    Ok(())
}

/// A judgement that could not be: our fault or the package's, never the program's.
fn judge_error(why: &str) -> Judgement {
    Judgement {
        submission: String::new(),
        language: String::new(),
        clock: Clock::Cpu,
        counted_by: None,
        verdict: Verdict::JudgeError,
        score: None,
        max_score: None,
        time_limit: Nanos::ZERO,
        limits: Limits::default(),
        compile: Compilation::default(),
        tests: Vec::new(),
        settled: Settled { confidence: Confidence::Clear, runs: 0, void_runs: 0 },
        fault: Some(why.to_string()),
    }
}

/// Keeps what a node tells of itself.
pub(super) async fn note_node(service: &Service, worker: &str, facts: &serde_json::Value) {
    let node = worker.rsplit_once('/').map_or(worker, |(node, _)| node);
    if let Err(error) = service.store.set_setting(&format!("node/{node}"), facts).await {
        tracing::error!(%error, node, "noting a node");
    }
}
