//! What the forms of a trace have in common: words and numbers for people.

use model::{Bytes, Reading, SeenFaults, Toucher, TraceReport, TraceVerdict};

/// The verdict in words.
pub(crate) fn verdict(report: &TraceReport) -> &'static str {
    match report.verdict {
        TraceVerdict::WorksRight => "works right",
        TraceVerdict::DoesNot => "does not work on its own node's memory",
        TraceVerdict::CannotKnow => "cannot know",
    }
}

/// What the trace is made of, in a line.
pub(crate) fn method(report: &TraceReport) -> &'static str {
    match report.method {
        model::TraceMethod::Counters => {
            "by the processors' counters of requests answered by their own and by other nodes' memory"
        }
        model::TraceMethod::Placement => {
            "by where pages lie and where threads run; which thread used which page is unknown, so the remote share is a lower bound"
        }
    }
}

/// Why the processors did not count, and what mends that, a line each.
pub(crate) fn no_counters(why: Option<&str>) -> Vec<String> {
    let Some(why) = why else { return Vec::new() };
    let (why, hints) = model::hint::split(why);
    let hints = hints.iter().map(|hint| format!("hint: {hint}"));
    std::iter::once(format!("no counters were used: {why}")).chain(hints).collect()
}

/// How first writers are known, in a line.
pub(crate) fn first_touch(seen: &Reading<SeenFaults>) -> String {
    let seen = match seen {
        Reading::Known(seen) => seen,
        Reading::Unknown(why) => {
            return format!("first touch: estimated from counts of page faults, because {why}");
        }
    };
    let mut text = format!("first touch: observed fault by fault ({}", seen.faults);
    if seen.lost > 0 {
        text.push_str(&format!("; {} more were lost", seen.lost));
    }
    if seen.unwatched_pct > 0.0 {
        let away = seen.unwatched_pct;
        text.push_str(&format!(
            "; {away:.0} % of the time was not observed, so that the program is not slowed down"
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::Nanos;

    fn toucher_at(seen: bool, at_code: Option<&str>) -> Toucher {
        let at_code = at_code.map(String::from);
        Toucher { thread: 7, node: 1, share_pct: 99.6, at: Nanos(12_400_000), seen, at_code }
    }

    #[test]
    fn first_writers_in_words() {
        for (told, wanted) in [
            (
                toucher_at(true, Some("fill+0x1c (sum)")),
                "in fill+0x1c (sum) by thread 7 on node 1 (100 %) from 12 ms on",
            ),
            (toucher_at(false, None), "by thread 7 on node 1 (100 %) from 12 ms on, a guess"),
        ] {
            assert_eq!(toucher(&told), wanted);
        }
    }

    #[test]
    fn a_hint_has_a_line_of_its_own() {
        let told = no_counters(Some("no such counter\nhint: pass it on"));
        assert_eq!(told, ["no counters were used: no such counter", "hint: pass it on"]);
    }

    #[test]
    fn how_they_are_known_is_told() {
        let all = SeenFaults { faults: 65_610, lost: 0, unwatched_pct: 0.0, in_system_calls: true };
        for (seen, wanted) in [
            (Reading::Known(all), "observed fault by fault (65610)"),
            (
                Reading::Known(SeenFaults { lost: 5, unwatched_pct: 12.0, in_system_calls: false, ..all }),
                "observed fault by fault (65610; 5 more were lost; 12 % of the time was not observed, so that the program is not slowed down; those in system calls are shown to root only, or with kernel.perf_event_paranoid 1)",
            ),
            (Reading::unknown("of this"), "estimated from counts of page faults, because of this"),
        ] {
            assert_eq!(first_touch(&seen), format!("first touch: {wanted}"));
        }
    }
}
