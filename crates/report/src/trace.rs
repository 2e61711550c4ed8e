//! What the forms of a trace have in common: words and numbers for people.

use model::{Bytes, Reading, Toucher, TraceReport, TraceVerdict};

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

/// How first writers are known, in a line.
pub(crate) fn first_touch(report: &TraceReport) -> String {
    let seen = match &report.first_touch {
        Reading::Known(seen) => seen,
        Reading::Unknown(why) => {
            return format!("first touch: guessed from counts of page faults, because {why}");
        }
    };
    let mut text = format!("first touch: seen fault by fault ({}", seen.faults);
    if seen.lost > 0 {
        text.push_str(&format!("; {} more were lost", seen.lost));
    }
    if seen.unwatched_pct > 0.0 {
        let away = seen.unwatched_pct;
        text.push_str(&format!(
            "; {away:.0} % of the time was left out, so that the program is not slowed down"
        ));
    }
    if !seen.in_system_calls {
        text.push_str("; those in system calls are shown to root only, or with kernel.perf_event_paranoid 1");
    }
    text + ")"
}

/// Who first wrote a mapping.
pub(crate) fn toucher(toucher: &Toucher) -> String {
    let code = toucher.at_code.as_ref().map_or(String::new(), |code| format!("in {code} "));
    let Toucher { thread, node, share_pct, .. } = toucher;
    let guessed = if toucher.seen { "" } else { ", a guess" };
    let at = toucher.at.as_millis_f64();
    format!("{code}by thread {thread} on node {node} ({share_pct:.0} %) from {at:.0} ms on{guessed}")
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
