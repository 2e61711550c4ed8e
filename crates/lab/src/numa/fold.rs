//! Looks at a program, one after another, folded into what each thread and each mapping did. Pure.

use super::snapshot::{Code, Mapping, Maps, Process, ProcessSnapshot, Thread};
use super::touch::{Counts, Touches};
use model::{Bytes, Nanos};
use sandbox::Fault;
use std::collections::{BTreeMap, BTreeSet};

/// Pages that come and go at the edge of a mapping are no move.
const MOVED: u64 = 64 << 10;
/// Processes that are forked from each other, one after another, of which this is not the end are nobody's design.
const FORKS: usize = 64;

/// A thread over the time it was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadTrace {
    /// Its process.
    pub pid: u32,
    /// Its name when it was last seen.
    pub name: String,
    /// CPUs it was allowed on then.
    pub bound: Vec<u32>,
    /// CPU time by the CPU it was seen on.
    pub by_cpu: BTreeMap<u32, Nanos>,
    time: Nanos,
    faults: u64,
}

/// A mapping over the time it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingTrace {
    /// Its process.
    pub pid: u32,
    /// Its first address.
    pub start: u64,
    /// The address behind its last one, when that was farthest.
    pub end: u64,
    /// Its name.
    pub name: String,
    /// Some of it was written.
    pub written: bool,
    /// Its policy when it was largest.
    pub policy: String,
    /// Its bytes by node when it was largest.
    pub by_node: BTreeMap<u32, Bytes>,
    /// When its first bytes were seen, and whether that was in the first look.
    pub first: (Nanos, bool),
    /// Bytes that were there before the trace.
    pub before: u64,
    /// Bytes by the thread that had page faults while they came, and by the CPU it was on.
    pub guessed_by: BTreeMap<(u32, u32), u64>,
    /// CPU time that each CPU's threads of this process had while it was there and did not grow.
    pub used_by: BTreeMap<u32, Nanos>,
    /// The same while it grew.
    pub used_growing: BTreeMap<u32, Nanos>,
    /// Bytes that went from one node to another.
    pub moved: u64,
    now: BTreeMap<u32, Bytes>,
}

/// Who first wrote a mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Bytes by thread and CPU.
    pub by: BTreeMap<(u32, u32), u64>,
    /// When the first of them were there, after the start of the trace.
    pub first: Nanos,
    /// The instruction that wrote most of them, [`super::SYSTEM_CALL`] for any of the kernel; `None`: they were not seen being written, and
    /// those who had page faults meanwhile are thought to have done it.
    pub code: Option<u64>,
}

impl MappingTrace {
    fn total(&self) -> u64 {
        total(&self.by_node)
    }

    fn new(pid: u32, mapping: &Mapping, at: Nanos, before_trace: bool) -> MappingTrace {
        MappingTrace {
            pid,
            start: mapping.start,
            end: mapping.end,
            name: mapping.name.clone(),
            written: false,
            policy: mapping.policy.clone(),
            by_node: BTreeMap::new(),
            first: (at, before_trace),
            before: if before_trace { total(&mapping.by_node) } else { 0 },
            guessed_by: BTreeMap::new(),
            used_by: BTreeMap::new(),
            used_growing: BTreeMap::new(),
            moved: 0,
            now: BTreeMap::new(),
        }
    }
}

fn total(by_node: &BTreeMap<u32, Bytes>) -> u64 {
    by_node.values().map(|bytes| bytes.0).sum()
}

/// All that was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// Threads by their number.
    pub threads: BTreeMap<u32, ThreadTrace>,
    /// Mappings by process, address and name.
    pub mappings: BTreeMap<(u32, u64, String), MappingTrace>,
}

/// Folds looks.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    watched: Watched,
    /// Since the last look at mappings: CPU time by process and CPU, faults by process, thread and CPU.
    ran: BTreeMap<(u32, u32), Nanos>,
    faulted: BTreeMap<(u32, u32, u32), u64>,
    looks: usize,
    seen_processes: BTreeSet<u32>,
    touches: Touches,
    /// Times of faults are told by a clock that said so when the trace began.
    began: Nanos,
    /// By process.
    code: BTreeMap<u32, Vec<Code>>,
    parents: BTreeMap<u32, u32>,
}

impl Trace {
    /// A trace that begins at this time of CLOCK_MONOTONIC.
    pub fn new(began: Nanos, counts: Counts) -> Trace {
        Trace { touches: Touches::new(counts), began, ..Trace::default() }
    }

    /// Adds page faults, in any order.
    pub fn add_faults(&mut self, faults: &[Fault]) {
        faults.iter().for_each(|fault| self.touches.add(fault));
    }

    /// Who first wrote a mapping, if it was written: by the faults of its process, or of the nearest from which it was forked that had any there; if none were
    /// seen, by guess. What was there before the trace is nobody's.
    pub fn touched(&self, mapping: &MappingTrace) -> Touched {
        if !mapping.written {
            return Touched { first: mapping.first.0, ..Touched::default() };
        }
        let came = mapping.total().saturating_sub(mapping.before);
        let forked_from = |pid: &u32| self.parents.get(pid).copied();
        let mut line = std::iter::successors(Some(mapping.pid), forked_from).take(FORKS);
        let seen = line.find_map(|pid| {
            let seen = self.touches.range_of(pid, mapping.start..mapping.end, came);
            Some((seen.first?, seen))
        });
        let Some((first, seen)) = seen.filter(|_| came > 0) else {
            return Touched { by: mapping.guessed_by.clone(), first: mapping.first.0, code: None };
        };
        Touched {
            by: seen.by,
            first: Nanos(first.0.saturating_sub(self.began.0)),
            code: seen.code.into_iter().max_by_key(|(_, bytes)| *bytes).map(|(code, _)| code),
        }
    }

    /// The code of a process that was mapped around this address.
    pub fn code_at(&self, pid: u32, address: u64) -> Option<&Code> {
        self.code.get(&pid)?.iter().find(|code| (code.start..code.end).contains(&address))
    }

    /// Adds a look; later ones last.
    pub fn add(&mut self, snapshot: &ProcessSnapshot) {
        self.looks += 1;
        for process in &snapshot.processes {
            // Whose parent has ended has another one later.
            if let Some(thread) = process.threads.first() {
                self.parents.entry(process.pid).or_insert(thread.parent);
            }
            // What a process had when it was first seen was before the trace, unless that began with it.
            let known = self.seen_processes.contains(&process.pid) || snapshot.at > Nanos::ZERO;
            for thread in &process.threads {
                self.add_thread(process, thread, known);
            }
            if let Some(maps) = &process.maps {
                self.add_mappings(process.pid, snapshot.at, maps);
                self.seen_processes.insert(process.pid);
            }
        }
    }

    /// Looks that were added.
    pub fn looks(&self) -> usize {
        self.looks
    }

    /// What was seen.
    pub fn watched(&self) -> &Watched {
        &self.watched
    }

    fn add_thread(&mut self, process: &Process, thread: &Thread, known: bool) {
        let own = self.watched.threads.entry(thread.tid).or_insert_with(|| ThreadTrace {
            time: if known { Nanos::ZERO } else { thread.time },
            faults: if known { 0 } else { thread.faults },
            ..ThreadTrace::default()
        });
        own.pid = process.pid;
        own.name.clone_from(&thread.name);
        own.bound.clone_from(&thread.bound);
        let ran = Nanos(thread.time.0.saturating_sub(own.time.0));
        let faults = thread.faults.saturating_sub(own.faults);
        (own.time, own.faults) = (thread.time, thread.faults);
        let add = |to: &mut Nanos| *to = *to + ran;
        add(own.by_cpu.entry(thread.cpu).or_default());
        add(self.ran.entry((process.pid, thread.cpu)).or_default());
        *self.faulted.entry((process.pid, thread.tid, thread.cpu)).or_default() += faults;
    }

    /// A mapping that has another beginning than before goes on: it was joined with one below it, or has grown there.
    fn carry_on(&mut self, pid: u32, mappings: &[Mapping]) {
        let there: BTreeSet<(u64, &str)> = mappings.iter().map(|m| (m.start, &*m.name)).collect();
        for mapping in mappings {
            let key = (pid, mapping.start, mapping.name.clone());
            if self.watched.mappings.contains_key(&key) {
                continue;
            }
            let gone = self
                .watched
                .mappings
                .range((pid, mapping.start, String::new())..(pid, mapping.end, String::new()));
            let gone = gone
                .filter(|((_, start, name), _)| *name == mapping.name && !there.contains(&(*start, &**name)));
            let Some(old) = gone.max_by_key(|(_, trace)| trace.total()).map(|(key, _)| key.clone()) else {
                continue;
            };
            if let Some(trace) = self.watched.mappings.remove(&old) {
                self.watched.mappings.insert(key, MappingTrace { start: mapping.start, ..trace });
            }
        }
    }

    fn add_code(&mut self, pid: u32, code: &[Code]) {
        let known = self.code.entry(pid).or_default();
        for code in code.iter().filter(|code| !known.contains(code)).cloned().collect::<Vec<_>>() {
            // What another file's mapping has replaced, as by exec, is of no use any more.
            known.retain(|old| old.end <= code.start || old.start >= code.end);
            known.push(code);
        }
    }

    fn add_mappings(&mut self, pid: u32, at: Nanos, maps: &Maps) {
        let mappings = &maps.mappings;
        self.add_code(pid, &maps.code);
        self.carry_on(pid, mappings);
        let own = |key: &u32| *key == pid;
        let ran: Vec<(u32, Nanos)> =
            self.ran.iter().filter(|((p, _), _)| own(p)).map(|((_, cpu), time)| (*cpu, *time)).collect();
        let faulted: Vec<((u32, u32), u64)> = self
            .faulted
            .iter()
            .filter(|((p, _, _), faults)| own(p) && **faults > 0)
            .map(|((_, tid, cpu), faults)| ((*tid, *cpu), *faults))
            .collect();
        self.ran.retain(|(p, _), _| !own(p));
        self.faulted.retain(|(p, _, _), _| !own(p));
        let faults: u64 = faulted.iter().map(|(_, faults)| faults).sum();
        let at_first = !self.seen_processes.contains(&pid);
        for mapping in mappings {
            let key = (pid, mapping.start, mapping.name.clone());
            let before_trace = at_first && at == Nanos::ZERO;
            let new = || MappingTrace::new(pid, mapping, at, before_trace);
            let trace = self.watched.mappings.entry(key).or_insert_with(new);
            trace.end = trace.end.max(mapping.end);
            trace.written |= mapping.written;
            let before = total(&trace.now);
            let now = total(&mapping.by_node);
            let grew = now.saturating_sub(before);
            let growing = grew > MOVED.min(now / 100);
            let used = if growing { &mut trace.used_growing } else { &mut trace.used_by };
            for (cpu, time) in &ran {
                let sum = used.entry(*cpu).or_default();
                *sum = *sum + *time;
            }
            if grew > 0 && faults > 0 && !trace.first.1 {
                // Whoever had page faults meanwhile was the one to touch, each by its part of them.
                for ((tid, cpu), own) in &faulted {
                    let part = (u128::from(grew) * u128::from(*own) / u128::from(faults)) as u64;
                    *trace.guessed_by.entry((*tid, *cpu)).or_default() += part;
                }
            }
            // What one node lost and others gained while the whole stayed as it was has moved.
            let lost: u64 = trace
                .now
                .iter()
                .map(|(node, bytes)| bytes.0.saturating_sub(mapping.by_node.get(node).map_or(0, |b| b.0)))
                .sum();
            if now >= before && lost > MOVED {
                trace.moved += lost;
            }
            trace.now.clone_from(&mapping.by_node);
            if now >= trace.total() {
                trace.by_node.clone_from(&mapping.by_node);
                trace.policy.clone_from(&mapping.policy);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: u64 = 0x7000_0000;
    const PAGE: u64 = 4096;

    fn mapping(start: u64, pages: u64, held: u64) -> Mapping {
        Mapping {
            start,
            end: start + pages * PAGE,
            name: "anonymous".into(),
            policy: "default".into(),
            written: true,
            by_node: [(0, Bytes(held * PAGE))].into(),
        }
    }

    /// A process of one thread, which has had so many faults.
    fn process(pid: u32, parent: u32, faults: u64, mappings: &[Mapping]) -> Process {
        let thread =
            Thread { tid: pid, parent, name: "a".into(), cpu: 1, bound: vec![1], time: Nanos(1), faults };
        let maps = Some(Maps { mappings: mappings.to_vec(), code: vec![] });
        Process { pid, threads: vec![thread], maps }
    }

    fn snapshot(at: u64, processes: Vec<Process>) -> ProcessSnapshot {
        ProcessSnapshot { at: Nanos(at), processes }
    }

    fn faults(pid: u32, tid: u32, start: u64, pages: u64) -> Vec<Fault> {
        let fault =
            |n| Fault { pid, tid, cpu: 2, address: start + n * PAGE, code: 0x40, time: Nanos(1000 + n) };
        (0..pages).map(fault).collect()
    }

    /// A mapping's process, its pages by the thread that wrote them, whether that was seen, and when it began.
    type Told = (u32, Vec<(u32, u64)>, bool, u64);

    fn told(trace: &Trace) -> Vec<Told> {
        let of = |mapping: &MappingTrace| {
            let touched = trace.touched(mapping);
            let by = touched.by.iter().map(|((tid, _), bytes)| (*tid, bytes / PAGE)).collect();
            (mapping.pid, by, touched.code.is_some(), touched.first.0)
        };
        trace.watched().mappings.values().map(of).collect()
    }

    #[test]
    fn what_was_seen_comes_before_what_can_be_guessed() {
        let mut trace = Trace::new(Nanos(900), Counts::Last);
        trace.add(&snapshot(5, vec![process(10, 1, 100, &[mapping(BEGIN, 100, 100)])]));
        assert_eq!(told(&trace), [(10, vec![(10, 100)], false, 5)]);
        trace.add_faults(&faults(10, 11, BEGIN, 50));
        // Of faults elsewhere nothing is said; those that were seen stand for all.
        trace.add_faults(&faults(10, 12, BEGIN + 100 * PAGE, 50));
        assert_eq!(told(&trace), [(10, vec![(11, 100)], true, 100)]);
    }

    #[test]
    fn what_was_there_before_is_nobodys() {
        let mut trace = Trace::new(Nanos(900), Counts::Last);
        trace.add(&snapshot(0, vec![process(10, 1, 100, &[mapping(BEGIN, 400, 100)])]));
        assert_eq!(told(&trace), [(10, vec![], false, 0)]);
        trace.add(&snapshot(5, vec![process(10, 1, 400, &[mapping(BEGIN, 400, 300)])]));
        trace.add_faults(&faults(10, 11, BEGIN + 100 * PAGE, 200));
        assert_eq!(told(&trace), [(10, vec![(11, 200)], true, 100)]);
    }

    #[test]
    fn a_fork_has_what_its_parent_wrote() {
        let mut trace = Trace::new(Nanos(900), Counts::Last);
        trace.add_faults(&faults(10, 11, BEGIN, 100));
        let mappings = [mapping(BEGIN, 100, 100)];
        trace.add(&snapshot(5, vec![process(10, 1, 100, &mappings), process(20, 10, 3, &mappings)]));
        // Its parent has ended since, and the fork of the fork has another one.
        trace.add(&snapshot(6, vec![process(20, 1, 3, &mappings), process(30, 20, 3, &mappings)]));
        let by = vec![(11, 100)];
        assert_eq!(told(&trace), [10, 20, 30].map(|pid| (pid, by.clone(), true, 100)));
        trace.add_faults(&faults(20, 21, BEGIN, 100));
        assert_eq!(told(&trace)[2], (30, vec![(21, 100)], true, 100));
    }

    #[test]
    fn a_mapping_that_grew_downwards_is_the_same() {
        let mut trace = Trace::new(Nanos(900), Counts::Last);
        trace.add(&snapshot(5, vec![process(10, 1, 0, &[mapping(BEGIN, 100, 100)])]));
        let joined = mapping(BEGIN - 50 * PAGE, 150, 150);
        trace.add(&snapshot(6, vec![process(10, 1, 0, &[joined])]));
        let mappings: Vec<_> = trace.watched().mappings.values().collect();
        let seen = mappings.iter().map(|m| (m.start, m.end, m.first.0.0, m.total())).collect::<Vec<_>>();
        assert_eq!(seen, [(BEGIN - 50 * PAGE, BEGIN + 100 * PAGE, 5, 150 * PAGE)]);
        // One that is still there is another one.
        let both = [mapping(BEGIN - 100 * PAGE, 20, 20), mapping(BEGIN - 50 * PAGE, 150, 150)];
        trace.add(&snapshot(7, vec![process(10, 1, 0, &both)]));
        assert_eq!(trace.watched().mappings.len(), 2);
    }

    #[test]
    fn code_is_found_by_address() {
        let code =
            |start, path: &str| Code { start, end: start + 0x100, offset: 0, inode: 1, path: path.into() };
        let mut trace = Trace::default();
        trace.add_code(10, &[code(0x1000, "a"), code(0x3000, "b")]);
        // After an exec there is something else.
        trace.add_code(10, &[code(0x1080, "c")]);
        let path = |pid, address| trace.code_at(pid, address).map(|code| code.path.clone());
        let found =
            [(10, 0x1000), (10, 0x1080), (10, 0x30ff), (10, 0x3100), (11, 0x3000)].map(|(p, a)| path(p, a));
        assert_eq!(found, [None, Some("c".into()), Some("b".into()), None, None]);
    }
}
