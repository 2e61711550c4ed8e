//! What to do about memory that is used from another node, in words. Pure.

use super::verdict::{Facts, LEAST_TIME, Parts, Placed, SICK, SLIGHT};
use model::{Reading, Share, TraceVerdict, TracedThread};
use std::collections::BTreeSet;

/// Memory of another node that takes no longer than this, over that of the own, is no reason for anything.
const SLOWER: f64 = 1.05;

/// Mappings that advice is given for.
const ADVISED: usize = 3;
/// A mapping's first toucher is named as the culprit if it wrote at least this part.
const ALONE: f64 = 90.0;

/// What to do, in words.
pub(super) fn advice(
    verdict: TraceVerdict,
    large: &[&Placed<'_>],
    threads: &[TracedThread],
    total: Share,
    facts: &Facts<'_>,
) -> Vec<String> {
    let mut advice = Vec::new();
    if verdict == TraceVerdict::CannotKnow {
        advice.push("let it run longer, or give it more work".to_string());
        return advice;
    }
    let mut serial = false;
    for placed in large.iter().filter(|placed| 100.0 * placed.remote >= SICK).take(ADVISED) {
        let mapping = &placed.told;
        let size = format!("{:.1} MiB", placed.bytes / (1 << 20) as f64);
        let users: Vec<String> = mapping.used_from_nodes.iter().map(u32::to_string).collect();
        let users = users.join(", ");
        if placed.mapping.policy.contains("interleave") {
            advice.push(format!(
                "{} ({size}) is interleaved: this spreads the load over all nodes, but most of what a thread reads is then on another one; if each thread has a part of its own, bind the parts instead",
                mapping.name
            ));
            continue;
        }
        match &mapping.first_touched_by {
            Some(toucher)
                if toucher.share_pct >= ALONE
                    && mapping.used_from_nodes.len() > 1
                    && !mapping.policy.starts_with("bind") =>
            {
                advice.push(format!(
                    "{} ({size}) was first written by thread {} on node {}, so its pages lie there, and it is used from nodes {users}: write it first in parallel, with the same schedule as the loops that use it (pages come to the node of the thread that first writes them; memory that calloc takes from the heap again was written before)",
                    mapping.name, toucher.thread, toucher.node
                ));
                serial = true;
            }
            _ => advice.push(format!(
                "{} ({size}) lies on node{} and is used from nodes {users}: keep the threads where it is (numactl --cpunodebind and --membind), or place it again (policy now: {})",
                mapping.name,
                list(&placed.pages),
                mapping.policy
            )),
        }
    }
    if serial {
        advice.push(
            "if that is impossible: interleave it (numactl --interleave=all), give each node's threads a copy, or use a NUMA-aware allocator (libnuma, jemalloc with arenas for each node)".into(),
        );
    }
    if facts.balancing && verdict != TraceVerdict::CannotKnow {
        advice.push(
            "the kernel moves pages to the nodes that use them (kernel.numa_balancing): these figures include that, and its page faults count among those that show first writers; to see what the program does alone, disable it".into(),
        );
    }
    let varying: Vec<String> = threads
        .iter()
        .filter(|thread| {
            let all: u64 = thread.node_ns.values().map(|time| time.0).sum();
            let most = thread.node_ns.values().map(|time| time.0).max().unwrap_or(0);
            all >= LEAST_TIME.0 && ((all - most) as f64) > 0.05 * all as f64
        })
        .map(|thread| thread.thread.to_string())
        .collect();
    if !varying.is_empty() {
        let who = match &varying[..] {
            [one] => format!("thread {one}"),
            several => format!("each of the threads {}", several.join(", ")),
        };
        advice.push(format!(
            "{who} ran on several nodes, and its memory stayed on the node that it left: bind each thread to one node (OpenMP: OMP_PROC_BIND=spread and OMP_PLACES=cores; others: numactl or pthread_setaffinity_np)"
        ));
    }
    if verdict == TraceVerdict::DoesNot
        && let Reading::Known(latency) = &facts.latency
        && latency.ratio > SLOWER
    {
        let part = total.remote_pct / 100.0;
        let gain = part * (latency.ratio - 1.0) / (1.0 + part * (latency.ratio - 1.0));
        advice.push(format!(
            "memory of another node takes {:.2} times as long here: with all memory local, time spent waiting for memory would be about {:.0} % less",
            latency.ratio,
            100.0 * gain.max(0.0)
        ));
    }
    advice
}

fn list(parts: &Parts) -> String {
    let held: BTreeSet<u32> =
        parts.iter().filter(|(_, part)| **part >= SLIGHT).map(|(node, _)| *node).collect();
    let names: Vec<String> = held.iter().map(u32::to_string).collect();
    format!("{} {}", if names.len() > 1 { "s" } else { "" }, names.join(", "))
}
