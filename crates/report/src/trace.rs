//! What the forms of a trace have in common: words and numbers for people.

use model::{Bytes, TraceReport, TraceVerdict};

/// The verdict in words.
pub(crate) fn verdict(report: &TraceReport) -> &'static str {
    match report.verdict {
        TraceVerdict::WorksRight => "works right",
        TraceVerdict::DoesNot => "does not work on its own node's memory",
        TraceVerdict::CannotKnow => "cannot know",
    }
}

/// What the trace is made of, in a line.
pub(crate) fn method(report: &TraceReport) -> String {
    match (&report.method, &report.no_counters) {
        (model::TraceMethod::Counters, _) => {
            "by the processors' counters of requests answered by their own and by other nodes' memory".into()
        }
        (model::TraceMethod::Placement, why) => format!(
            "by where pages lie and where threads run{}; which thread used which page is not known, so this is the least that can be remote",
            why.as_ref().map_or(String::new(), |why| format!(", as there are no counters: {why}"))
        ),
    }
}

pub(crate) fn mib(bytes: Bytes) -> String {
    format!("{:.1} MiB", bytes.0 as f64 / (1 << 20) as f64)
}

/// Bytes by node, such as `0: 12.0 MiB, 1: 3.0 MiB`.
pub(crate) fn by_node(nodes: &std::collections::BTreeMap<u32, Bytes>) -> String {
    nodes.iter().map(|(node, bytes)| format!("{node}: {}", mib(*bytes))).collect::<Vec<_>>().join(", ")
}

pub(crate) fn numbers(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}
