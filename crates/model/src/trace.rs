//! Where a program's memory lay, and from where it was used. Plain data of `tauto numa trace`.

use crate::{Bytes, Nanos, Reading};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a trace comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceVerdict {
    /// The program works on its own node's memory.
    WorksRight,
    /// It does not.
    DoesNot,
    /// Too little was seen.
    CannotKnow,
}

/// What a trace is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceMethod {
    /// The processors' counters of requests that were answered by their own and by other nodes' memory.
    Counters,
    /// Pages of each mapping by node, against the nodes of the CPUs that the threads ran on.
    Placement,
}

/// Requests or pages that were at home, and that were not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// On the node of the CPU: requests, or pages.
    pub local: f64,
    /// On another node.
    pub remote: f64,
    /// The latter, in percent of both; 0 where there are none.
    pub remote_pct: f64,
}

impl Share {
    /// Of so many at home and so many elsewhere.
    pub fn new(local: f64, remote: f64) -> Share {
        let all = local + remote;
        Share { local, remote, remote_pct: if all > 0.0 { 100.0 * remote / all } else { 0.0 } }
    }
}

/// A CPU the program ran on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracedCpu {
    /// Which one.
    pub cpu: u32,
    /// Its memory node.
    pub node: u32,
    /// Its package.
    pub package: u32,
    /// CPU time of the program on it.
    #[serde(rename = "cpu_ns")]
    pub time: Nanos,
    /// Where what it asked for lay.
    #[serde(flatten)]
    pub share: Share,
    /// Of each kind of request, where kinds were counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<KindShare>,
}

/// Requests of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KindShare {
    /// Its name, as of the bit in the mask.
    pub kind: String,
    /// Requests.
    #[serde(flatten)]
    pub share: Share,
    /// Percent of the time in which they were counted; below 100 where counters took turns.
    pub counted_pct: f64,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracedThread {
    /// Its process.
    pub pid: u32,
    /// Its own number.
    pub thread: u32,
    /// Its name.
    pub name: String,
    /// CPUs it was allowed on.
    pub bound: Vec<u32>,
    /// CPUs it was seen on.
    pub cpus: Vec<u32>,
    /// Its CPU time by the node it was seen on, in nanoseconds.
    pub node_ns: BTreeMap<u32, Nanos>,
    /// Pages of the mappings it was first in.
    pub first_touched_bytes: Bytes,
    /// Where the pages lie that it can be thought to use.
    #[serde(flatten)]
    pub share: Share,
}

/// How a program's page faults were seen, one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeenFaults {
    /// So many were seen.
    pub faults: u64,
    /// So many were not, because they came too fast.
    pub lost: u64,
    /// Percent of the time in which none were looked at, so that a program that has very many is not slowed down.
    pub unwatched_pct: f64,
    /// Those that the kernel has in the program's system calls were seen too, as when it reads from a file to new memory.
    pub in_system_calls: bool,
}

/// Who first wrote a mapping's pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Toucher {
    /// The thread that did so most.
    pub thread: u32,
    /// The node it was on.
    pub node: u32,
    /// Its part of the pages, in percent.
    pub share_pct: f64,
    /// When the first pages were there, after the start of the trace.
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    /// The pages were seen being written; otherwise who had page faults meanwhile is thought to have done it.
    pub seen: bool,
    /// Where in the code most of them were written, such as `fill+0x1c (sum)`; `None`: not seen.
    pub at_code: Option<String>,
}

/// A mapping of memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracedMapping {
    /// Its process.
    pub pid: u32,
    /// Its file, `heap`, `stack`, or `anonymous`, with its address.
    pub name: String,
    /// Memory policy, as the kernel words it (numa(7)): `default`, `bind:0`, `interleave:0-1` …
    pub policy: String,
    /// What of it was in memory, at most.
    pub bytes: Bytes,
    /// The same by node.
    pub node_bytes: BTreeMap<u32, Bytes>,
    /// Who first wrote it; `None`: it was there before the trace.
    pub first_touched_by: Option<Toucher>,
    /// Nodes of the threads that ran while it was there, those of at least one percent of the time.
    pub used_from_nodes: Vec<u32>,
    /// Bytes that moved from one node to another while it was watched.
    pub moved_bytes: Bytes,
    /// What cannot have been used from its own node, in percent: pages a node holds beyond what its threads can use.
    pub remote_pct: f64,
}

/// Counts of a node's allocator over the time of the trace, of the whole machine (Documentation/admin-guide/numastat.rst).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeAllocations {
    /// Pages wanted here and had here.
    pub hit: u64,
    /// Pages had here that were wanted elsewhere.
    pub miss: u64,
    /// Pages wanted here and had elsewhere.
    pub foreign: u64,
    /// Pages had here by tasks that ran elsewhere.
    pub other: u64,
}

/// How long memory of another node takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyRatio {
    /// Nanoseconds of a dependent read from the CPU's own node.
    pub local_ns: f64,
    /// The same from the farthest other node.
    pub remote_ns: f64,
    /// The latter over the former.
    pub ratio: f64,
}

/// A trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceReport {
    /// The program, or the process that was watched.
    pub command: String,
    /// What it comes to.
    pub verdict: TraceVerdict,
    /// Why, in a sentence.
    pub because: String,
    /// What it was made of.
    pub method: TraceMethod,
    /// Why the processors' counters were not used.
    pub no_counters: Option<String>,
    /// How first writers are known; unknown: they are guessed from the counts of threads' page faults, and why.
    pub first_touch: Reading<SeenFaults>,
    /// Memory nodes of the machine.
    pub nodes: Vec<u32>,
    /// All CPUs together.
    pub total: Share,
    /// CPUs it ran on.
    pub cpus: Vec<TracedCpu>,
    /// Its threads, those with most CPU time first.
    pub threads: Vec<TracedThread>,
    /// Its mappings, the largest first.
    pub mappings: Vec<TracedMapping>,
    /// What each node's allocator did meanwhile.
    pub allocations: BTreeMap<u32, Reading<NodeAllocations>>,
    /// How long memory of another node takes.
    pub latency: Reading<LatencyRatio>,
    /// What to do.
    pub advice: Vec<String>,
    /// How the program ended, in words; `None`: it goes on.
    pub ended: Option<String>,
    /// From start to end.
    #[serde(rename = "wall_ns")]
    pub wall: Nanos,
    /// Times it was looked at.
    pub looks: usize,
    /// CPU time looking took.
    #[serde(rename = "cost_ns")]
    pub cost: Nanos,
}
