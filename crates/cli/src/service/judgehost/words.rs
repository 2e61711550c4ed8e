//! What the jury reads about a test: DOMjudge's own two lines first, then what its time stands on.

use engine::bundle::Tested;
use judge::domjudge::RunResult;
use judgehost::report::{confidence, seconds};
use model::{Disturbance, Exit, Isolation};
use std::collections::BTreeSet;

/// The report that the server keeps as `output_system`.
pub(super) fn system(tested: &Tested, node: &str) -> String {
    let run = &tested.last.run;
    let first = match (tested.result, run.exit) {
        (RunResult::Correct, _) => "Correct!".to_owned(),
        (RunResult::WrongAnswer, _) => "Wrong answer!".to_owned(),
        (RunResult::NoOutput, _) => "Program produced no output.".to_owned(),
        (RunResult::TimeLimit, _) => "Timelimit exceeded.".to_owned(),
        (RunResult::OutputLimit, _) => "Output limit exceeded.".to_owned(),
        (RunResult::MemoryLimit, _) => "Memory limit exceeded.".to_owned(),
        (RunResult::CompareError, _) => format!("Compare error: {}", tested.why),
        (RunResult::RunError, Exit::Code(code)) => format!("Non-zero exitcode {code}"),
        (RunResult::RunError, Exit::Signal(signal)) => {
            format!("Non-zero exitcode {} (signal {signal})", 128 + signal)
        }
    };
    let memory = run.memory_peak.known().map_or_else(|| "unknown".to_owned(), |peak| peak.0.to_string());
    let mut text = format!(
        "{first}\nruntime: {}s cpu, {}s wall\nmemory used: {memory} bytes\n",
        seconds(tested.time),
        seconds(tested.wall),
    );
    let settled = &tested.settled;
    text.push_str(&format!(
        "tauto: {} run(s), {} discarded; confidence {}; on {node}\n",
        settled.runs,
        settled.void_runs,
        confidence(settled.confidence)
    ));
    if tested.runs.len() > 1 {
        let times: Vec<String> = tested.runs.iter().map(|run| seconds(run.time.cpu)).collect();
        text.push_str(&format!("cpu of each run: {} s\n", times.join(", ")));
    }
    for cause in causes(tested) {
        text.push_str(&format!("disturbed by {}: {}\n", cause.name(), cause.words()));
    }
    let evidence = &run.evidence;
    let isolation = match evidence.isolation {
        Isolation::None => "bound to nothing",
        Isolation::Affinity => "bound to CPUs that others may use",
        Isolation::Cpuset => "a cpuset of its own",
        Isolation::Partition => "an isolated partition",
        Isolation::Vm => "a virtual machine",
    };
    text.push_str(&format!(
        "isolation: {isolation}, CPUs {}\n",
        model::cpulist::to_list(&evidence.cpus.iter().copied().collect())
    ));
    for weaker in &evidence.weaker {
        text.push_str(&format!("weaker: {weaker}\n"));
    }
    text
}

/// What disturbed its runs.
pub(super) fn causes(tested: &Tested) -> BTreeSet<Disturbance> {
    tested.causes.iter().flatten().map(|cause| cause.name).collect()
}
