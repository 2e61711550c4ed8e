//! Requests answered by the own node's memory and by that of others, counted by the processor.
//!
//! Each kind of request has two events, near and far memory, on every CPU. There are more of them than registers, and each one
//! that is open costs the program time whenever it is scheduled; so one kind is counted at a time, all requests together every other
//! time. The kernel tells for how long each was counted, and what is told is scaled by that, with the part of the time beside
//! it. A kind that was never counted is not told.

use crate::offcore::{Generation, Rule, of_processor};
use host::facts::Topology;
use host::machine::Machine;
use model::{KindShare, Nanos, Share};
use sandbox::{RawCounter, RawEvent};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The name of all requests together.
pub const ALL: &str = "ANY_REQUEST";
/// Unit mask of the events that take an offcore mask (Intel SDM volume 3B, off-core response performance monitoring).
const OFFCORE: u64 = 0x01;

/// One of the two events of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The kind of request, as of the bit in the mask; [`ALL`].
    pub kind: String,
    /// Answered by another node's memory.
    pub far: bool,
    /// The event.
    pub event: RawEvent,
}

/// The events of a generation: all requests first, then each kind.
///
/// # Errors
/// It cannot tell near from far memory.
pub fn wanted(generation: &Generation) -> Result<Vec<Wanted>, String> {
    let numa = &generation.numa;
    let Some(remote) = numa.remote_dram else {
        return Err(format!("{} processors do not tell own from foreign memory", generation.name));
    };
    // Bits the tables have no meaning for are no kinds, nor is what stands for all of them.
    let named = |(name, bits): &(&str, u64)| !name.starts_with("REQUEST_BIT") && *bits != numa.any_request;
    let kinds = generation.request_bits().into_iter().filter(named);
    let kinds = [(ALL, numa.any_request)].into_iter().chain(kinds);
    let event = |request: u64, response: u64, far: bool| match generation.rule {
        // Codes of twelve bits stand apart (AMD APM volume 2, 13.2.1).
        Rule::UnitMask => {
            RawEvent { config: request & 0xff | (request & 0xf00) << 24 | response, config1: 0 }
        }
        Rule::RequestAndResponse | Rule::SupplierAndSnoop => {
            // Where there are two registers near and far are counted at the same time.
            let code = generation.codes[if far { generation.codes.len() - 1 } else { 0 }];
            RawEvent { config: code | OFFCORE << 8, config1: request | response }
        }
    };
    let pair = |(kind, request): (&str, u64)| {
        [(numa.local_dram, false), (remote, true)].map(|(response, far)| Wanted {
            kind: kind.to_string(),
            far,
            event: event(request, response, far),
        })
    };
    Ok(kinds.flat_map(pair).collect())
}

/// The processor's generation.
///
/// # Errors
/// It is not known, and how it calls itself.
pub fn this_generation(machine: &Machine) -> Result<&'static Generation, String> {
    let text = machine.read("/proc/cpuinfo").map_err(|e| format!("/proc/cpuinfo: {e}"))?;
    let field = |name: &str| {
        let line = text.lines().find(|line| line.split('\t').next().map(str::trim) == Some(name))?;
        Some(line.split_once(':')?.1.trim())
    };
    let number = |name: &str| field(name)?.parse::<u32>().ok();
    let known = || {
        of_processor(
            field("vendor_id")?,
            number("cpu family")?,
            number("model")?,
            number("stepping").unwrap_or(0),
        )
    };
    known().ok_or_else(|| {
        format!(
            "there is no table of events for this processor ({})",
            field("model name").unwrap_or("unnamed")
        )
    })
}

/// Where counts come from: the processor, or a recording.
pub trait Source {
    /// Opens an event on a CPU; it is counted from the program's exec on, or (`at_once` false) from when it is switched on.
    ///
    /// # Errors
    /// Why not.
    fn open(&mut self, event: RawEvent, cpu: u32, at_once: bool) -> Result<(), String>;

    /// Counts it from now on, or not.
    fn switch(&self, event: RawEvent, cpu: u32, on: bool);

    /// What was counted of it, and for how long; `None`: nothing can be said.
    fn read(&self, event: RawEvent, cpu: u32) -> Option<(u64, Nanos)>;

    /// How long the program ran on a CPU while counting went on.
    fn ran(&self, cpu: u32) -> Option<Nanos>;
}

/// The counters of this machine, for one process.
#[derive(Debug)]
pub struct Processor {
    pid: u32,
    open: BTreeMap<(RawEvent, u32), RawCounter>,
    clocks: BTreeMap<u32, RawCounter>,
}

impl Processor {
    /// For a process that is stopped before its exec.
    pub fn for_process(pid: u32) -> Processor {
        Processor { pid, open: BTreeMap::new(), clocks: BTreeMap::new() }
    }
}

impl Source for Processor {
    fn open(&mut self, event: RawEvent, cpu: u32, at_once: bool) -> Result<(), String> {
        self.open.insert((event, cpu), RawCounter::of_process(event, self.pid, cpu, at_once)?);
        if let Entry::Vacant(clock) = self.clocks.entry(cpu) {
            clock.insert(RawCounter::time_of_process(self.pid, cpu)?);
        }
        Ok(())
    }

    fn switch(&self, event: RawEvent, cpu: u32, on: bool) {
        // Where it fails the counts tell: it was counted for longer or less long.
        self.open.get(&(event, cpu)).map(|counter| counter.switch(on));
    }

    fn read(&self, event: RawEvent, cpu: u32) -> Option<(u64, Nanos)> {
        let count = self.open.get(&(event, cpu))?.read().ok()?;
        Some((count.value, count.running))
    }

    fn ran(&self, cpu: u32) -> Option<Nanos> {
        Some(self.clocks.get(&cpu)?.read().ok()?.running)
    }
}

/// Counts that were recorded elsewhere: for trying this without such a processor.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// The generation of the processor they come from.
    pub generation: String,
    /// How long the program ran on each CPU, in nanoseconds.
    pub ran_ns: BTreeMap<u32, u64>,
    /// What each event came to on each CPU.
    pub counts: Vec<Recorded>,
}

/// One of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// Which CPU.
    pub cpu: u32,
    /// Event code and unit mask.
    pub config: u64,
    /// The offcore mask.
    #[serde(default)]
    pub config1: u64,
    /// Events.
    pub value: u64,
    /// For how long they were counted, in nanoseconds.
    pub running_ns: u64,
}

impl Source for Recording {
    fn open(&mut self, event: RawEvent, cpu: u32, _: bool) -> Result<(), String> {
        self.read(event, cpu).map(drop).ok_or_else(|| {
            format!("the recording has no event {:#x}, {:#x} of CPU {cpu}", event.config, event.config1)
        })
    }

    fn switch(&self, _: RawEvent, _: u32, _: bool) {}

    fn read(&self, event: RawEvent, cpu: u32) -> Option<(u64, Nanos)> {
        let found = self
            .counts
            .iter()
            .find(|count| (count.cpu, count.config, count.config1) == (cpu, event.config, event.config1))?;
        Some((found.value, Nanos(found.running_ns)))
    }

    fn ran(&self, cpu: u32) -> Option<Nanos> {
        self.ran_ns.get(&cpu).copied().map(Nanos)
    }
}

/// Counting under way.
pub struct Counting {
    source: Box<dyn Source>,
    wanted: Vec<Wanted>,
    cpus: Vec<u32>,
    /// The kind that is counted now, and the one that was before all requests together.
    now: usize,
    kind: usize,
}

impl Counting {
    /// Begins to count on all CPUs. Kinds that the processor refuses are left out; all requests together are needed.
    ///
    /// # Errors
    /// Why there is no counting.
    pub fn begin(
        mut source: Box<dyn Source>,
        generation: &Generation,
        topology: &Topology,
    ) -> Result<Counting, String> {
        let cpus: Vec<u32> = topology.cpus.keys().copied().collect();
        let (mut open, mut refused): (Vec<Wanted>, Vec<String>) = (Vec::new(), Vec::new());
        for wanted in wanted(generation)? {
            let opened = cpus.iter().try_for_each(|cpu| source.open(wanted.event, *cpu, wanted.kind == ALL));
            match opened {
                Ok(()) => open.push(wanted),
                Err(why) if wanted.kind == ALL => return Err(why),
                Err(_) => refused.push(wanted.kind),
            }
        }
        // A kind of which only one side can be counted says nothing.
        open.retain(|wanted| !refused.contains(&wanted.kind));
        Ok(Counting { source, wanted: open, cpus, now: 0, kind: 0 })
    }

    /// Goes on to the next kind.
    pub fn turn(&mut self) {
        let kinds = self.wanted.len() / 2;
        if kinds < 2 {
            return;
        }
        self.switch(self.now, false);
        self.now = match self.now {
            0 => {
                self.kind = self.kind % (kinds - 1) + 1;
                self.kind
            }
            _ => 0,
        };
        self.switch(self.now, true);
    }

    fn switch(&self, kind: usize, on: bool) {
        for wanted in &self.wanted[2 * kind..2 * kind + 2] {
            self.cpus.iter().for_each(|cpu| self.source.switch(wanted.event, *cpu, on));
        }
    }

    /// What each CPU came to, by kind, all requests first. CPUs on which nothing was counted are left out.
    ///
    /// # Errors
    /// The counters never ran: somebody else has them.
    pub fn end(&self) -> Result<BTreeMap<u32, Vec<KindShare>>, String> {
        let counted: BTreeMap<u32, Vec<KindShare>> = self
            .cpus
            .iter()
            .map(|cpu| (*cpu, self.of_cpu(*cpu)))
            .filter(|(_, kinds)| kinds.iter().any(|kind| kind.kind == ALL))
            .collect();
        match counted.is_empty() {
            true => Err("the counters never counted: another process holds them, or a hypervisor shows some without having them".into()),
            false => Ok(counted),
        }
    }

    fn of_cpu(&self, cpu: u32) -> Vec<KindShare> {
        let kinds = self.wanted.chunk_by(|a, b| a.kind == b.kind);
        kinds.filter_map(|pair| self.kind(pair, cpu)).collect()
    }

    fn kind(&self, pair: &[Wanted], cpu: u32) -> Option<KindShare> {
        let [near, far] = pair else { return None };
        let ran = self.source.ran(cpu)?.0 as f64;
        let [near, far] = [near, far].map(|wanted| {
            let (value, counted) = self.source.read(wanted.event, cpu)?;
            let counted = counted.0 as f64;
            (counted > 0.0).then_some((value as f64 * ran.max(counted) / counted, 100.0 * counted / ran))
        });
        let ((near, near_pct), (far, far_pct)) = (near?, far?);
        let counted_pct = near_pct.min(far_pct).min(100.0);
        Some(KindShare { kind: pair[0].kind.clone(), share: Share::new(near, far), counted_pct })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offcore::{decode, generations};
    use host::facts::Cpu;

    fn topology(cpus: u32) -> Topology {
        let cpu = |id: u32| Cpu {
            id,
            siblings: [id].into(),
            package: 0,
            node: Some(id % 2),
            capacity: None,
            caches: vec![],
        };
        Topology {
            cpus: (0..cpus).map(|id| (id, cpu(id))).collect(),
            nodes: [(0, vec![10, 20]), (1, vec![20, 10])].into(),
            ..Topology::default()
        }
    }

    /// What a processor of this generation has counted: near and far of each kind on each CPU, for half of the time.
    fn recording(generation: &Generation, near: u64, far: u64) -> Recording {
        let of = |cpu: u32| {
            wanted(generation).unwrap().into_iter().map(move |wanted| Recorded {
                cpu,
                config: wanted.event.config,
                config1: wanted.event.config1,
                value: if wanted.far { far } else { near },
                running_ns: 1_000_000,
            })
        };
        let ran_ns = [(0, 2_000_000), (1, 2_000_000)].into();
        Recording { generation: generation.id.clone(), ran_ns, counts: (0..2).flat_map(of).collect() }
    }

    #[test]
    fn every_generation_that_can_tell_is_counted() {
        let mut able = 0;
        for generation in generations() {
            let Ok(all) = wanted(generation) else {
                assert!(generation.numa.remote_dram.is_none(), "{}", generation.id);
                continue;
            };
            able += 1;
            assert_eq!((&*all[0].kind, all[0].far, all[1].far), (ALL, false, true));
            for wanted in &all {
                // What the processor would be asked for counts something.
                let mask = match generation.rule {
                    Rule::UnitMask => wanted.event.config,
                    _ => wanted.event.config1,
                };
                let decoded = decode(generation, mask);
                assert!(decoded.is_valid(), "{} {}: {decoded:?}", generation.id, wanted.kind);
            }
            let source = Box::new(recording(generation, 4_000, 1_000));
            let counting = Counting::begin(source, generation, &topology(2)).unwrap();
            let counted = counting.end().unwrap();
            assert_eq!(counted.keys().copied().collect::<Vec<_>>(), [0, 1], "{}", generation.id);
            for kind in counted.values().flatten() {
                // Scaled to all of the time, and said so.
                assert_eq!((kind.share.local, kind.share.remote), (8_000.0, 2_000.0), "{}", generation.id);
                assert_eq!((kind.share.remote_pct, kind.counted_pct), (20.0, 50.0));
            }
            assert_eq!(counted[&0].len(), all.len() / 2, "{}", generation.id);
        }
        assert!(able >= 8, "{able}");
    }

    /// The eight base kinds of the oldest generation, by the published masks.
    #[test]
    fn kinds_are_those_of_the_published_masks() {
        let nehalem = crate::offcore::generation("nehalem").unwrap();
        let all = wanted(nehalem).unwrap();
        assert_eq!(all.len(), 2 * 9);
        let far: Vec<u64> = all.iter().filter(|w| w.far).map(|w| w.event.config1).collect();
        assert_eq!(far, [0x20ff, 0x2001, 0x2002, 0x2004, 0x2008, 0x2010, 0x2020, 0x2040, 0x2080]);
        assert!(all.iter().all(|wanted| wanted.event.config == 0x1b7));
        let zen = crate::offcore::generation("zen4").unwrap();
        assert_eq!(
            (wanted(zen).unwrap()[0].event.config, wanted(zen).unwrap()[1].event.config),
            (0x844, 0x4044)
        );
    }

    #[test]
    fn what_was_not_counted_is_not_told() {
        let nehalem = crate::offcore::generation("nehalem").unwrap();
        let mut never = recording(nehalem, 4_000, 1_000);
        never.counts.iter_mut().filter(|c| c.config1 & 0xff == 0x10).for_each(|c| c.running_ns = 0);
        let counting = Counting::begin(Box::new(never.clone()), nehalem, &topology(2)).unwrap();
        let counted = counting.end().unwrap();
        assert!(counted[&0].iter().all(|kind| kind.kind != "PF_DATA_RD"));
        assert_eq!(counted[&0].len(), 8);
        never.counts.iter_mut().for_each(|c| c.running_ns = 0);
        let counting = Counting::begin(Box::new(never.clone()), nehalem, &topology(2)).unwrap();
        assert!(counting.end().unwrap_err().contains("never counted"));
        never.counts.clear();
        assert!(Counting::begin(Box::new(never), nehalem, &topology(2)).is_err());
    }

    #[test]
    fn processors_are_known_by_what_the_kernel_says_of_them() {
        let of = |text: &str| {
            let file = format!("tauto recording 1\n/proc/cpuinfo\n{text}");
            let machine = Machine::parse(&file).unwrap();
            this_generation(&machine).map(|generation| generation.id.clone())
        };
        let cpuinfo = "\tprocessor\t: 0\n\tvendor_id\t: GenuineIntel\n\tcpu family\t: 6\n\tmodel\t\t: 85\n\tmodel name\t: X\n\tstepping\t: 4\n";
        assert_eq!(of(cpuinfo), Ok("skylakex".into()));
        let why = of(&cpuinfo.replace("85", "250")).unwrap_err();
        assert!(why.contains("no table of events for this processor (X)"), "{why}");
    }
}
