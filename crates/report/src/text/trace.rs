//! `tauto numa trace` for people.

use super::{Paint, Style, harmless};
use crate::trace::{by_node, first_touch, method, mib, no_counters, numbers, toucher, verdict};
use model::{Reading, TraceReport, TraceVerdict};

/// Threads and mappings that are told; the documents have all of them.
const TOLD: usize = 12;

/// The report of a trace: what it comes to first.
pub fn trace_report(report: &TraceReport, style: Style) -> String {
    let mut text = format!("{}\n", method(report));
    text.extend(
        no_counters(report.no_counters.as_deref()).iter().map(|line| format!("{}\n", harmless(line))),
    );
    let paint = match report.verdict {
        TraceVerdict::WorksRight => Paint::Green,
        TraceVerdict::DoesNot => Paint::Red,
        TraceVerdict::CannotKnow => Paint::Yellow,
    };
    text.push_str(&format!("{}: {}\n", style.paint(paint, verdict(report)), report.because));
    if let Some(ended) = &report.ended {
        text.push_str(&format!("the program {ended} after {:.2} s\n", report.wall.as_secs_f64()));
    }
    text.push_str(" CPU  node  package   CPU time     local    remote  remote\n");
    for cpu in &report.cpus {
        text.push_str(&format!(
            "{:>4}  {:>4}  {:>7}  {:>7.0} ms  {:>8.0}  {:>8.0}  {:>5.1} %\n",
            cpu.cpu,
            cpu.node,
            cpu.package,
            cpu.time.as_millis_f64(),
            cpu.share.local,
            cpu.share.remote,
            cpu.share.remote_pct
        ));
    }
    text.push_str("threads\n");
    for thread in report.threads.iter().take(TOLD) {
        let nodes: Vec<String> = thread
            .node_ns
            .iter()
            .map(|(node, time)| format!("node {node} {:.0} ms", time.as_millis_f64()))
            .collect();
        text.push_str(&format!(
            "  {} {}: bound to {}, ran on CPUs {} ({}); first wrote {}; {:.1} % remote\n",
            thread.thread,
            harmless(&thread.name),
            numbers(&thread.bound),
            numbers(&thread.cpus),
            nodes.join(", "),
            mib(thread.first_touched_bytes),
            thread.share.remote_pct
        ));
    }
    rest(&mut text, report.threads.len(), TOLD, "threads");
    text.push_str(&format!("mappings; {}\n", harmless(&first_touch(&report.first_touch))));
    let whole: u64 = report.mappings.iter().map(|mapping| mapping.bytes.0).sum();
    let large = report.mappings.iter().filter(|mapping| mapping.bytes.0 >= whole / 100).count().min(TOLD);
    for mapping in report.mappings.iter().take(large) {
        let first = mapping.first_touched_by.as_ref();
        let first = first.map_or(String::new(), |t| format!("; first written {}", harmless(&toucher(t))));
        let moved = match mapping.moved_bytes.0 {
            0 => String::new(),
            _ => format!("; {} moved between nodes", mib(mapping.moved_bytes)),
        };
        text.push_str(&format!(
            "  {}: {} ({}), {}{first}; used from nodes {}{moved}; {:.1} % remote at least\n",
            harmless(&mapping.name),
            mib(mapping.bytes),
            by_node(&mapping.node_bytes),
            harmless(&mapping.policy),
            numbers(&mapping.used_from_nodes),
            mapping.remote_pct
        ));
    }
    rest(&mut text, report.mappings.len(), large, "mappings");
    if let Reading::Known(latency) = &report.latency {
        text.push_str(&format!(
            "memory takes {:.0} ns from the own node, {:.0} ns from the farthest other one: {:.2} times as long\n",
            latency.local_ns, latency.remote_ns, latency.ratio
        ));
    }
    text.extend(
        report
            .advice
            .iter()
            .map(|advice| format!("{} {}\n", style.paint(Paint::Yellow, "advice:"), harmless(advice))),
    );
    text
}

fn rest(text: &mut String, all: usize, told: usize, what: &str) {
    if all > told {
        text.push_str(&format!("  … and {} more {what}, in --json\n", all - told));
    }
}
