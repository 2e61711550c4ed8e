//! Looks at a program, one after another, folded into what each thread and each mapping did. Pure.

use super::look::{Look, Mapping, Process, Thread};
use model::{Bytes, Nanos};
use std::collections::{BTreeMap, BTreeSet};

/// Pages that come and go at the edge of a mapping are no move.
const MOVED: u64 = 64 << 10;

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
    /// Bytes of mappings that it touched first, as far as can be told.
    pub touched: Bytes,
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
    /// Bytes by the thread that wrote them first, and by the CPU it did so on.
    pub touched_by: BTreeMap<(u32, u32), u64>,
    /// CPU time that each CPU's threads of this process had while it was there and did not grow.
    pub used_by: BTreeMap<u32, Nanos>,
    /// The same while it grew.
    pub used_growing: BTreeMap<u32, Nanos>,
    /// Bytes that went from one node to another.
    pub moved: u64,
    now: BTreeMap<u32, Bytes>,
}

impl MappingTrace {
    fn total(&self) -> u64 {
        total(&self.by_node)
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
}

impl Trace {
    /// Adds a look; later ones last.
    pub fn add(&mut self, look: &Look) {
        self.looks += 1;
        for process in &look.processes {
            // What a process had when it was first seen was before the trace, unless that began with it.
            let known = self.seen_processes.contains(&process.pid) || look.at > Nanos::ZERO;
            for thread in &process.threads {
                self.add_thread(process, thread, known);
            }
            if let Some(mappings) = &process.mappings {
                self.add_mappings(process.pid, look.at, mappings);
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

    fn add_mappings(&mut self, pid: u32, at: Nanos, mappings: &[Mapping]) {
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
            let trace = self.watched.mappings.entry(key).or_insert_with(|| MappingTrace {
                pid,
                start: mapping.start,
                name: mapping.name.clone(),
                written: false,
                policy: mapping.policy.clone(),
                by_node: BTreeMap::new(),
                first: (at, at_first && at == Nanos::ZERO),
                touched_by: BTreeMap::new(),
                used_by: BTreeMap::new(),
                used_growing: BTreeMap::new(),
                moved: 0,
                now: BTreeMap::new(),
            });
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
                    *trace.touched_by.entry((*tid, *cpu)).or_default() += part;
                    if let Some(thread) = self.watched.threads.get_mut(tid) {
                        thread.touched = thread.touched + Bytes(part);
                    }
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
