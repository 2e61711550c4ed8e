//! What follows from what was seen. Pure.
//!
//! Which thread used which page is not known without counters. What is known is where the pages lie, who wrote them first and
//! where the threads ran. Where those who ran are those who wrote first, each is thought to use what it wrote: what lies on
//! another node is remote. It is so where on every node that ran the threads wrote at least half as much as would be their part by CPU
//! time: work may be unequal by so much, and CPU time is no exact measure of it (threads wait by spinning, one is busy with other things
//! too); and what is told is the least that can be remote. Where threads of some node wrote less, somebody else wrote for them: then all
//! are thought to use all of it alike, and a node that holds more than its threads' part of the CPU time has pages that are used from
//! elsewhere, however well the rest may be placed: so much is remote at least. Pages of a mapping that is interleaved lie on all nodes in
//! turn, whoever uses them: there the expectation is told.

use super::advice::advice;
use super::counters::ALL;
use super::fold::{MappingTrace, ThreadTrace, Touched, Trace};
use host::facts::Topology;
use model::{
    Bytes, KindShare, LatencyRatio, Nanos, NodeAllocations, Reading, SeenFaults, Share, Toucher, TraceMethod,
    TraceReport, TraceVerdict, TracedCpu, TracedMapping, TracedThread,
};
use std::collections::BTreeMap;

/// Remote up to here, in percent, is as it should be, on every CPU: the healthy program of the platform that published these
/// figures had at most so much, and one CPU with 4.5 %.
const HEALTHY: f64 = 0.5;
/// Remote from here on, in percent of everything, is wrong.
pub(super) const SICK: f64 = 5.0;
/// Parts of the CPU time below this are somebody passing by.
pub(super) const SLIGHT: f64 = 0.01;
/// Mappings smaller than this part of all memory change nothing.
pub(super) const SMALL: f64 = 0.01;
/// A program has to be seen so often, and to have used so much CPU time, before anything is said.
const LOOKS: usize = 3;
pub(super) const LEAST_TIME: Nanos = Nanos(20_000_000);
/// A node's threads own what they use if they wrote at least this much of what would be theirs by CPU time.
const OWN: f64 = 0.5;

/// What is known besides the looks.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// The program, or what was watched.
    pub command: String,
    /// The machine's CPUs and nodes.
    pub topology: &'a Topology,
    /// What the processors counted, by CPU and kind of request; why they did not.
    pub counted: Result<BTreeMap<u32, Vec<KindShare>>, String>,
    /// How page faults were seen, or why they were not.
    pub first_touch: Reading<SeenFaults>,
    /// Names of places in the code, by process and address.
    pub code: BTreeMap<(u32, u64), String>,
    /// What each node's allocator did meanwhile.
    pub allocations: BTreeMap<u32, Reading<NodeAllocations>>,
    /// How long memory of another node takes.
    pub latency: Reading<LatencyRatio>,
    /// The kernel moves pages to those who use them by itself (kernel.numa_balancing).
    pub balancing: bool,
    /// How the program ended.
    pub ended: Option<String>,
    /// From start to end.
    pub wall: Nanos,
    /// CPU time looking took.
    pub cost: Nanos,
}

/// Parts of a whole, by node; they sum to 1.
pub(super) type Parts = BTreeMap<u32, f64>;

fn parts(amounts: impl Iterator<Item = (u32, f64)>) -> Parts {
    let mut parts = Parts::new();
    for (node, amount) in amounts {
        *parts.entry(node).or_default() += amount;
    }
    let sum: f64 = parts.values().sum();
    if sum > 0.0 {
        parts.values_mut().for_each(|part| *part /= sum);
    }
    parts
}

/// A mapping, and how it lies to those who use it.
pub(super) struct Placed<'a> {
    pub(super) mapping: &'a MappingTrace,
    /// As it is told.
    pub(super) told: TracedMapping,
    touched: Touched,
    pub(super) bytes: f64,
    pub(super) pages: Parts,
    /// Of each node's users, the part of what they use that is not on their node.
    remote_of: Parts,
    /// Of all of it.
    pub(super) remote: f64,
}

fn node_of(topology: &Topology, cpu: u32) -> u32 {
    topology.cpus.get(&cpu).and_then(|cpu| cpu.node).unwrap_or(0)
}

/// CPU time by CPU while it was used: after it grew, if there was such a time.
fn used(mapping: &MappingTrace) -> &BTreeMap<u32, Nanos> {
    let grown = mapping.used_by.values().any(|time| time.0 > 0);
    if grown { &mapping.used_by } else { &mapping.used_growing }
}

fn part(parts: &Parts, node: u32) -> f64 {
    parts.get(&node).copied().unwrap_or(0.0)
}

/// Whether those who use a mapping are those who wrote it.
fn owned(bytes: f64, touched: &Touched, users: &Parts, writers: &Parts) -> bool {
    let known: f64 = touched.by.values().map(|bytes| *bytes as f64).sum();
    let wrote = |(node, user): (&u32, &f64)| *user < SLIGHT || part(writers, *node) >= OWN * user;
    known >= OWN * bytes && users.iter().all(wrote)
}

fn placed<'a>(trace: &Trace, mapping: &'a MappingTrace, facts: &Facts<'_>) -> Placed<'a> {
    let node = |cpu: &u32| node_of(facts.topology, *cpu);
    let touched = trace.touched(mapping);
    let bytes = mapping.by_node.values().map(|bytes| bytes.0 as f64).sum();
    let pages = parts(mapping.by_node.iter().map(|(node, bytes)| (*node, bytes.0 as f64)));
    let users = parts(used(mapping).iter().map(|(cpu, time)| (node(cpu), time.0 as f64)));
    let writers = parts(touched.by.iter().map(|((_, cpu), bytes)| (node(cpu), *bytes as f64)));
    let wanted = if owned(bytes, &touched, &users, &writers) { &writers } else { &users };
    let interleaved = mapping.policy.contains("interleave");
    let away = |node: u32| {
        let (here, wanted) = (part(&pages, node), part(wanted, node));
        let at_home = if interleaved || wanted <= 0.0 { here } else { (here / wanted).min(1.0) };
        1.0 - at_home
    };
    let remote_of: Parts =
        users.iter().filter(|(_, user)| **user > 0.0).map(|(node, _)| (*node, away(*node))).collect();
    let remote = users.iter().map(|(node, user)| user * part(&remote_of, *node)).sum();
    let told = TracedMapping {
        pid: mapping.pid,
        name: match &*mapping.name {
            "anonymous" => format!("anonymous at {:#x}", mapping.start),
            other => other.to_string(),
        },
        policy: mapping.policy.clone(),
        bytes: Bytes(bytes as u64),
        node_bytes: mapping.by_node.clone(),
        first_touched_by: toucher(mapping.pid, &touched, facts),
        used_from_nodes: users.iter().filter(|(_, part)| **part >= SLIGHT).map(|(node, _)| *node).collect(),
        moved_bytes: Bytes(mapping.moved),
        remote_pct: 100.0 * remote,
    };
    Placed { mapping, told, touched, bytes, pages, remote_of, remote }
}

/// What a trace comes to.
pub fn traced(trace: &Trace, facts: Facts<'_>) -> TraceReport {
    let topology = facts.topology;
    let watched = trace.watched();
    let mut all: Vec<Placed<'_>> = watched.mappings.values().map(|m| placed(trace, m, &facts)).collect();
    all.sort_by(|a, b| b.bytes.total_cmp(&a.bytes));
    // Pages of files that nobody writes are shared by all who run them.
    let own = || all.iter().filter(|placed| placed.mapping.written);
    let whole: f64 = own().map(|placed| placed.bytes).sum();
    let large: Vec<&Placed<'_>> = own().filter(|placed| placed.bytes >= SMALL * whole).collect();
    let cpus = match &facts.counted {
        Ok(counted) => counted_cpus(trace, counted, topology),
        Err(_) => cpus(trace, &large, topology),
    };
    let method = if facts.counted.is_ok() { TraceMethod::Counters } else { TraceMethod::Placement };
    let total = Share::new(
        cpus.iter().map(|cpu| cpu.share.local).sum(),
        cpus.iter().map(|cpu| cpu.share.remote).sum(),
    );
    let nodes: Vec<u32> = topology.nodes.keys().copied().collect();
    let time = cpus.iter().fold(Nanos::ZERO, |sum, cpu| sum + cpu.time);
    let (verdict, because) = judged(&nodes, method, trace.looks(), time, total, &cpus);
    let wrote = first_written(&all);
    let thread = |(tid, thread): (&u32, &ThreadTrace)| {
        let wrote = wrote.get(tid).copied().unwrap_or_default();
        traced_thread(*tid, thread, wrote, &large, topology)
    };
    let mut threads: Vec<TracedThread> = watched.threads.iter().map(thread).collect();
    threads.sort_by_key(|thread| std::cmp::Reverse(thread.node_ns.values().map(|time| time.0).sum::<u64>()));
    let advice = if nodes.len() < 2 { Vec::new() } else { advice(verdict, &large, &threads, total, &facts) };
    TraceReport {
        command: facts.command,
        verdict,
        because,
        method,
        no_counters: facts.counted.err(),
        first_touch: facts.first_touch,
        nodes,
        total,
        cpus,
        threads,
        mappings: all.into_iter().map(|placed| placed.told).collect(),
        allocations: facts.allocations,
        latency: facts.latency,
        advice,
        ended: facts.ended,
        wall: facts.wall,
        looks: trace.looks(),
        cost: facts.cost,
    }
}

fn judged(
    nodes: &[u32],
    method: TraceMethod,
    looks: usize,
    time: Nanos,
    total: Share,
    cpus: &[TracedCpu],
) -> (TraceVerdict, String) {
    if nodes.len() < 2 {
        let why = "this machine has one memory node: there is nothing to diagnose";
        return (TraceVerdict::WorksRight, why.into());
    }
    let counters = method == TraceMethod::Counters;
    if (looks < LOOKS && !counters) || time < LEAST_TIME {
        let why = format!(
            "the program was seen {looks} times and used {} ms of CPU time, too little for a diagnosis",
            time.0 / 1_000_000
        );
        return (TraceVerdict::CannotKnow, why);
    }
    let worst = cpus.iter().filter(|cpu| cpu.time.0 as f64 >= SLIGHT * time.0 as f64);
    let worst = worst.max_by(|a, b| a.share.remote_pct.total_cmp(&b.share.remote_pct));
    let worst_pct = worst.map_or(0.0, |cpu| cpu.share.remote_pct);
    let of_cpu = worst.map_or(String::new(), |cpu| format!(", {:.1} % of CPU {}'s", worst_pct, cpu.cpu));
    let what = match counters {
        true => "of the requests to memory were answered by another node",
        false => "of what the program used was on another node",
    };
    if total.remote_pct >= SICK {
        let least = if counters { "" } else { "at least " };
        (TraceVerdict::DoesNot, format!("{least}{:.1} % {what}{of_cpu}", total.remote_pct))
    } else if worst_pct <= HEALTHY {
        let why = match counters {
            true => format!("no CPU had more than {worst_pct:.1} % of its requests answered by another node"),
            false => format!("no CPU has to use more than {worst_pct:.1} % of its memory from another node"),
        };
        (TraceVerdict::WorksRight, why)
    } else {
        let why = format!("{:.1} % {what}{of_cpu}, which is little", total.remote_pct);
        (TraceVerdict::WorksRight, why)
    }
}

/// CPU time by the CPU it was had on.
fn times(trace: &Trace) -> BTreeMap<u32, Nanos> {
    let mut times: BTreeMap<u32, Nanos> = BTreeMap::new();
    for thread in trace.watched().threads.values() {
        for (cpu, time) in &thread.by_cpu {
            let sum = times.entry(*cpu).or_default();
            *sum = *sum + *time;
        }
    }
    times
}

/// CPUs as the processor has counted. Those on which nothing of the program ran are left out.
fn counted_cpus(
    trace: &Trace,
    counted: &BTreeMap<u32, Vec<KindShare>>,
    topology: &Topology,
) -> Vec<TracedCpu> {
    let times = times(trace);
    let of = |(cpu, kinds): (&u32, &Vec<KindShare>)| {
        let share = kinds.iter().find(|kind| kind.kind == ALL)?.share;
        let time = times.get(cpu).copied().unwrap_or(Nanos::ZERO);
        let package = topology.cpus.get(cpu).map_or(0, |cpu| cpu.package);
        let ran = time > Nanos::ZERO || share.local + share.remote > 0.0;
        let kinds = kinds.clone();
        ran.then_some(TracedCpu { cpu: *cpu, node: node_of(topology, *cpu), package, time, share, kinds })
    };
    counted.iter().filter_map(of).collect()
}

fn cpus(trace: &Trace, placed: &[&Placed<'_>], topology: &Topology) -> Vec<TracedCpu> {
    let of = |(cpu, time): (u32, Nanos)| {
        let node = node_of(topology, cpu);
        let share = share_of(placed, &BTreeMap::from([(cpu, time)]), topology);
        let package = topology.cpus.get(&cpu).map_or(0, |cpu| cpu.package);
        TracedCpu { cpu, node, package, time, share, kinds: Vec::new() }
    };
    times(trace).into_iter().filter(|(_, time)| time.0 > 0).map(of).collect()
}

/// Pages of 4096 bytes that somebody who ran so long on these CPUs has used: its part of each mapping, by its part of the time.
fn share_of(placed: &[&Placed<'_>], by_cpu: &BTreeMap<u32, Nanos>, topology: &Topology) -> Share {
    let (mut local, mut remote) = (0.0, 0.0);
    for mapping in placed {
        let used = used(mapping.mapping);
        let whole: f64 = used.values().map(|time| time.0 as f64).sum();
        for (cpu, time) in by_cpu {
            // No more than all threads together had on this CPU while the mapping was there.
            let there = used.get(cpu).map_or(0.0, |all| (time.0 as f64).min(all.0 as f64));
            if whole > 0.0 && there > 0.0 {
                let pages = mapping.bytes / 4096.0 * there / whole;
                let away = mapping.remote_of.get(&node_of(topology, *cpu)).copied().unwrap_or(0.0);
                local += pages * (1.0 - away);
                remote += pages * away;
            }
        }
    }
    Share::new(local, remote)
}

/// Bytes by the thread that wrote them first. What a fork has from its parent counts once.
fn first_written(placed: &[Placed<'_>]) -> BTreeMap<u32, Bytes> {
    let mut of: BTreeMap<(u32, u64), u64> = BTreeMap::new();
    for placed in placed {
        for ((tid, _), bytes) in &placed.touched.by {
            *of.entry((*tid, placed.mapping.start)).or_default() += bytes;
        }
    }
    let mut sums: BTreeMap<u32, Bytes> = BTreeMap::new();
    for ((tid, _), bytes) in of {
        let sum = sums.entry(tid).or_default();
        *sum = *sum + Bytes(bytes);
    }
    sums
}

fn traced_thread(
    tid: u32,
    thread: &ThreadTrace,
    wrote: Bytes,
    placed: &[&Placed<'_>],
    topology: &Topology,
) -> TracedThread {
    let mut node_ns: BTreeMap<u32, Nanos> = BTreeMap::new();
    for (cpu, time) in thread.by_cpu.iter().filter(|(_, time)| time.0 > 0) {
        let sum = node_ns.entry(node_of(topology, *cpu)).or_default();
        *sum = *sum + *time;
    }
    let own: Vec<&Placed<'_>> = placed.iter().copied().filter(|p| p.mapping.pid == thread.pid).collect();
    TracedThread {
        pid: thread.pid,
        thread: tid,
        name: thread.name.clone(),
        bound: thread.bound.clone(),
        cpus: thread.by_cpu.keys().copied().collect(),
        node_ns,
        first_touched_bytes: wrote,
        share: share_of(&own, &thread.by_cpu, topology),
    }
}

fn toucher(pid: u32, touched: &Touched, facts: &Facts<'_>) -> Option<Toucher> {
    let all: u64 = touched.by.values().sum();
    let mut by_thread: BTreeMap<u32, (u64, Parts)> = BTreeMap::new();
    for ((tid, cpu), bytes) in &touched.by {
        let (sum, nodes) = by_thread.entry(*tid).or_default();
        *sum += bytes;
        *nodes.entry(node_of(facts.topology, *cpu)).or_default() += *bytes as f64;
    }
    let (thread, (bytes, nodes)) = by_thread.into_iter().max_by_key(|(_, (bytes, _))| *bytes)?;
    let node = nodes.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?.0;
    let at_code = touched.code.map(|code| match facts.code.get(&(pid, code)) {
        Some(name) => name.clone(),
        None => format!("{code:#x}"),
    });
    (all > 0).then_some(Toucher {
        thread,
        node,
        share_pct: 100.0 * bytes as f64 / all as f64,
        at: touched.first,
        seen: touched.code.is_some(),
        at_code,
    })
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::{Mapping, Maps, Process, ProcessSnapshot, Thread};
    use super::*;
    use host::facts::Cpu;

    /// Two nodes of four CPUs, numbered in turn.
    fn topology() -> Topology {
        let cpu = |id: u32| Cpu {
            id,
            siblings: [id].into(),
            package: id % 2,
            node: Some(id % 2),
            capacity: None,
            caches: vec![],
        };
        Topology {
            cpus: (0..8).map(|id| (id, cpu(id))).collect(),
            nodes: [(0, vec![10, 20]), (1, vec![20, 10])].into(),
            ..Topology::default()
        }
    }

    /// A program of four threads on CPUs 0 to 3. Each moment says how much CPU time every thread used, how many faults each
    /// had, and what lies on nodes 0 and 1, in MiB.
    fn report(policy: &str, moments: &[(u64, [u64; 4], [u64; 2])]) -> TraceReport {
        let mut trace = Trace::default();
        let (mut time, mut faults) = (0, [0; 4]);
        let looks = [(0, [0; 4], [0, 0])].into_iter().chain(moments.iter().copied());
        for (n, (ran, faulted, mib)) in looks.enumerate() {
            time += ran * 1_000_000;
            let threads = (0..4u32).map(|n| {
                faults[n as usize] += faulted[n as usize];
                Thread {
                    tid: 100 + n,
                    parent: 1,
                    name: format!("worker {n}"),
                    cpu: n,
                    bound: vec![n],
                    time: Nanos(time),
                    faults: faults[n as usize],
                }
            });
            let by_node = [0, 1].map(|node| (node, Bytes(mib[node as usize] << 20)));
            let mapping = Mapping {
                start: 0x7f00,
                end: 0x7f00 + (200 << 20),
                name: "anonymous".into(),
                policy: policy.into(),
                written: true,
                by_node: by_node.into_iter().filter(|(_, bytes)| bytes.0 > 0).collect(),
            };
            let mappings = vec![mapping].into_iter().filter(|m| !m.by_node.is_empty()).collect();
            let maps = Some(Maps { mappings, code: vec![] });
            let process = Process { pid: 100, threads: threads.collect(), maps };
            trace.add(&ProcessSnapshot { at: Nanos(n as u64 * 50_000_000), processes: vec![process] });
        }
        let latency = LatencyRatio { local_ns: 90.0, remote_ns: 180.0, ratio: 2.0 };
        let facts = Facts {
            command: "made up".into(),
            topology: &topology(),
            counted: Err("none here".into()),
            first_touch: Reading::unknown("made up"),
            code: BTreeMap::new(),
            allocations: BTreeMap::new(),
            latency: Reading::Known(latency),
            balancing: false,
            ended: None,
            wall: Nanos(1),
            cost: Nanos(1),
        };
        traced(&trace, facts)
    }

    const USE: (u64, [u64; 4]) = (50, [0; 4]);

    #[test]
    fn serial_initialisation_is_found_with_its_thread() {
        let all = [200, 0];
        let moments =
            [(1, [50_000, 0, 0, 0], all), (USE.0, USE.1, all), (USE.0, USE.1, all), (USE.0, USE.1, all)];
        let report = report("default", &moments);
        assert_eq!(report.verdict, TraceVerdict::DoesNot, "{}", report.because);
        // Half of it is remote, to half of the threads.
        assert!((report.total.remote_pct - 50.0).abs() < 1.0, "{:?}", report.total);
        let of: Vec<f64> = report.cpus.iter().map(|cpu| cpu.share.remote_pct.round()).collect();
        assert_eq!(of, [0.0, 100.0, 0.0, 100.0]);
        let mapping = &report.mappings[0];
        let toucher = mapping.first_touched_by.as_ref().unwrap();
        assert_eq!((toucher.thread, toucher.node, toucher.share_pct), (100, 0, 100.0));
        assert_eq!(mapping.used_from_nodes, [0, 1]);
        assert!(report.advice[0].contains("first written by thread 100 on node 0"), "{:?}", report.advice);
        // With half remote at twice the time, a third of the waiting goes.
        assert!(report.advice.iter().any(|text| text.contains("about 33 % less")), "{:?}", report.advice);
    }

    #[test]
    fn parallel_initialisation_works_right() {
        let all = [100, 100];
        let moments = [(5, [10_000; 4], all), (USE.0, USE.1, all), (USE.0, USE.1, all), (USE.0, USE.1, all)];
        let report = report("default", &moments);
        assert_eq!(report.verdict, TraceVerdict::WorksRight, "{}", report.because);
        assert!(report.total.remote_pct <= 0.5, "{:?}", report.total);
        assert_eq!(report.advice, Vec::<String>::new());
        assert!(report.threads.iter().all(|thread| thread.share.remote_pct <= 0.5));
    }

    /// Threads that run longer on one node than on the other still use what they wrote.
    #[test]
    fn unequal_work_is_not_blamed() {
        // What node 0 and node 1 wrote, in MiB, while all threads ran alike; and whether each is thought to use its own.
        for (wrote, own) in [([104, 96], true), ([130, 70], true), ([149, 51], true), ([151, 49], false)] {
            let faults = wrote.map(|mib| mib * 128);
            let first = (5, [faults[0], faults[1], faults[0], faults[1]], wrote);
            let report = report("default", &[first, (USE.0, USE.1, wrote), (USE.0, USE.1, wrote)]);
            match own {
                true => assert!(report.total.remote_pct <= 0.5, "{wrote:?}: {:?}", report.total),
                false => assert!(report.total.remote_pct > 20.0, "{wrote:?}: {:?}", report.total),
            }
        }
    }

    #[test]
    fn a_page_across_the_border_blames_nobody() {
        // Of 200 MiB one page lies on the wrong side: less than the tenth of a percent.
        let all = [100, 100];
        let moments = [
            (5, [10_000, 10_000, 10_000, 10_001], all),
            (52, USE.1, all),
            (49, USE.1, all),
            (50, USE.1, all),
        ];
        let report = report("default", &moments);
        assert_eq!(report.verdict, TraceVerdict::WorksRight, "{}", report.because);
    }

    #[test]
    fn policies_and_moves_are_shown_as_they_are() {
        let all = [100, 100];
        let spread = [(5, [10_000; 4], all), (USE.0, USE.1, all), (USE.0, USE.1, all)];
        let interleaved = report("interleave:0-1", &spread);
        assert_eq!(interleaved.mappings[0].policy, "interleave:0-1");
        assert!((interleaved.total.remote_pct - 50.0).abs() < 1.0, "{:?}", interleaved.total);
        assert!(interleaved.advice[0].contains("is interleaved"), "{:?}", interleaved.advice);
        let bound = report(
            "bind:1",
            &[(5, [50_000, 0, 0, 0], [0, 200]), (USE.0, USE.1, [0, 200]), (50, USE.1, [0, 200])],
        );
        assert_eq!(bound.mappings[0].node_bytes.keys().collect::<Vec<_>>(), [&1]);
        let moved = report(
            "default",
            &[(5, [50_000, 0, 0, 0], [200, 0]), (50, USE.1, [120, 80]), (50, USE.1, [100, 100])],
        );
        assert_eq!(moved.mappings[0].moved_bytes, Bytes(100 << 20));
        assert_eq!(moved.mappings[0].node_bytes[&1], Bytes(100 << 20));
    }

    #[test]
    fn too_little_is_said_to_be_too_little() {
        let short = report("default", &[(1, [50, 0, 0, 0], [1, 0])]);
        assert_eq!(short.verdict, TraceVerdict::CannotKnow, "{}", short.because);
    }
}
