//! One look at a program: its processes, their threads and mappings, from /proc.
//!
//! Sources: proc(5), numa(7), Documentation/filesystems/proc.rst (numa_maps), Documentation/admin-guide/numastat.rst.

use host::cpulist;
use host::machine::Machine;
use model::{Bytes, Nanos, NodeAllocations, Reading};
use std::collections::{BTreeMap, BTreeSet};

/// CPU time in /proc/PID/stat is counted in hundredths of a second (USER_HZ, proc(5)).
const TICK: u64 = 10_000_000;

/// A thread, as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its number.
    pub tid: u32,
    /// Its process's parent.
    pub parent: u32,
    /// Its name.
    pub name: String,
    /// The CPU it last ran on.
    pub cpu: u32,
    /// CPUs it is allowed on.
    pub bound: Vec<u32>,
    /// CPU time so far.
    pub time: Nanos,
    /// Page faults without I/O so far.
    pub faults: u64,
}

/// A mapping, as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its first address.
    pub start: u64,
    /// The address behind its last one.
    pub end: u64,
    /// Its file, `heap`, `stack` or `anonymous`.
    pub name: String,
    /// Its memory policy.
    pub policy: String,
    /// Some of it was written, and more may be: it is more than a file's pages that others share.
    pub written: bool,
    /// What of it is in memory, by node.
    pub by_node: BTreeMap<u32, Bytes>,
}

/// A part of a file that is mapped to be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Its first address.
    pub start: u64,
    /// The address behind its last one.
    pub end: u64,
    /// Where in the file it begins.
    pub offset: u64,
    /// The file's inode, by which it is known that the file at this path is still the same.
    pub inode: u64,
    /// The file, as the process sees it.
    pub path: String,
}

/// What a process has mapped, and from where it executes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Maps {
    /// Mappings of which something is in memory.
    pub mappings: Vec<Mapping>,
    /// Its code.
    pub code: Vec<Code>,
}

/// A process, as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its threads.
    pub threads: Vec<Thread>,
    /// Its mappings; `None`: they were not looked at this time.
    pub maps: Option<Maps>,
}

/// What was seen at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessSnapshot {
    /// After the start of the trace.
    pub at: Nanos,
    /// Processes that were there.
    pub processes: Vec<Process>,
}

/// Looks at these processes. One that has ended, or ends meanwhile, is left out. `mappings`: at their mappings too, which costs
/// more the more memory they have.
pub fn snapshot(machine: &Machine, pids: &BTreeSet<u32>, at: Nanos, mappings: bool) -> ProcessSnapshot {
    let process = |pid: &u32| {
        let threads = threads(machine, *pid);
        let read = |name: &str| machine.read(&format!("/proc/{pid}/{name}")).ok();
        let maps = match mappings {
            true => Some(parse_maps(&read("numa_maps")?, &read("maps")?)),
            false => None,
        };
        (!threads.is_empty()).then_some(Process { pid: *pid, threads, maps })
    };
    ProcessSnapshot { at, processes: pids.iter().filter_map(process).collect() }
}

/// A process and all that come from it.
pub fn tree(machine: &Machine, root: u32) -> BTreeSet<u32> {
    let (mut found, mut open) = (BTreeSet::new(), vec![root]);
    while let Some(pid) = open.pop() {
        if !found.insert(pid) {
            continue;
        }
        for tid in machine.list(&format!("/proc/{pid}/task")).unwrap_or_default() {
            let children = machine.read(&format!("/proc/{pid}/task/{tid}/children")).unwrap_or_default();
            open.extend(children.split_ascii_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
    }
    found
}

fn threads(machine: &Machine, pid: u32) -> Vec<Thread> {
    let of = |tid: String| {
        let read = |name: &str| machine.read(&format!("/proc/{pid}/task/{tid}/{name}")).ok();
        let mut thread = parse_thread(&read("stat")?)?;
        let status = read("status")?;
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        thread.bound = cpulist::parse(allowed.trim())?.into_iter().collect();
        // The scheduler's own account is finer than the ticks; it may be missing (CONFIG_SCHED_INFO).
        let run = read("schedstat").and_then(|text| text.split(' ').next()?.parse().ok());
        thread.time = run.map_or(thread.time, Nanos);
        Some(thread)
    };
    machine.list(&format!("/proc/{pid}/task")).unwrap_or_default().into_iter().filter_map(of).collect()
}

/// A thread by its `stat`; its binding stands elsewhere. `None` for a zombie or text that is none.
pub fn parse_thread(stat: &str) -> Option<Thread> {
    // The name may hold anything, brackets and blanks included.
    let (head, rest) = stat.rsplit_once(')')?;
    let (tid, name) = head.split_once('(')?;
    // Numbered from 3 on, as in proc(5).
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |n: usize| fields.get(n - 3)?.parse::<u64>().ok();
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    Some(Thread {
        tid: tid.trim().parse().ok()?,
        parent: field(4)?.try_into().ok()?,
        name: name.to_string(),
        cpu: field(39)?.try_into().ok()?,
        bound: Vec::new(),
        time: Nanos((field(14)? + field(15)?) * TICK),
        faults: field(10)?,
    })
}

/// What is mapped, by the texts of `numa_maps` and `maps`. They are two looks, so that a mapping of the first may not be in the
/// second: it then ends where what is in memory would.
pub fn parse_maps(numa_maps: &str, maps: &str) -> Maps {
    let areas: Vec<(Code, &str)> = maps.lines().filter_map(area).collect();
    let known: BTreeMap<u64, (u64, bool)> =
        areas.iter().map(|(area, may)| (area.start, (area.end, may.contains('w')))).collect();
    let mappings = numa_maps.lines().filter_map(mapping).filter(|mapping| !mapping.by_node.is_empty());
    let mappings = mappings.map(|mapping| {
        let held: u64 = mapping.by_node.values().map(|bytes| bytes.0).sum();
        let (end, writable) =
            known.get(&mapping.start).copied().unwrap_or((mapping.start.saturating_add(held), true));
        // Pages of a file that lies in memory itself are dirty even where they are only executed.
        Mapping { end, written: mapping.written && writable, ..mapping }
    });
    Maps {
        mappings: mappings.collect(),
        code: areas
            .into_iter()
            .filter(|(area, may)| may.contains('x') && area.path.starts_with('/'))
            .map(|(area, _)| area)
            .collect(),
    }
}

/// A line of `maps`, `START-END PERMISSIONS OFFSET DEVICE INODE   PATH`, and its permissions.
fn area(line: &str) -> Option<(Code, &str)> {
    let mut words = line.splitn(6, ' ');
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = words.next()?.split_once('-')?;
    let (permissions, offset) = (words.next()?, words.next()?);
    let inode = words.nth(1)?.parse().ok()?;
    let path = words.next().unwrap_or_default().trim_start().to_string();
    Some((Code { start: hex(start)?, end: hex(end)?, offset: hex(offset)?, inode, path }, permissions))
}

fn mapping(line: &str) -> Option<Mapping> {
    let (start, rest) = line.split_once(' ')?;
    let start = u64::from_str_radix(start, 16).ok()?;
    // The name of a file stands escaped, so that blanks end words; a policy may have blanks in brackets.
    let (policy, rest) = match rest.strip_prefix("prefer (many)") {
        Some(rest) => {
            let (nodes, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            (format!("prefer (many){nodes}"), rest)
        }
        None => {
            let (policy, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            (policy.to_string(), rest)
        }
    };
    let (mut name, mut pages, mut size) = ("anonymous".to_string(), BTreeMap::new(), 4096);
    let mut written = false;
    for word in rest.split_ascii_whitespace() {
        match word.split_once('=') {
            Some(("file", file)) => name = file.to_string(),
            Some(("kernelpagesize_kB", kib)) => size = kib.parse::<u64>().ok()?.checked_mul(1024)?,
            Some((node, count)) => {
                written |= matches!(node, "anon" | "dirty");
                if let Some(node) = node.strip_prefix('N').and_then(|n| n.parse::<u32>().ok()) {
                    pages.insert(node, count.parse::<u64>().ok()?);
                }
            }
            None if word == "heap" || word == "stack" => name = word.to_string(),
            None => {}
        }
    }
    let by_node = pages.into_iter().map(|(node, count)| (node, Bytes(count.saturating_mul(size)))).collect();
    Some(Mapping { start, end: start, name, policy, written, by_node })
}

/// What the allocator of each node has counted so far.
pub fn allocations(machine: &Machine, nodes: &[u32]) -> BTreeMap<u32, Reading<NodeAllocations>> {
    let of = |node: &u32| {
        let path = format!("/sys/devices/system/node/node{node}/numastat");
        let counts = machine.read(&path).map_err(|e| format!("{path}: {e}")).and_then(|text| {
            let count = |name: &str| {
                let mut lines = text.lines().filter_map(|line| line.split_once(' '));
                let value = lines.find(|(own, _)| *own == name)?.1.trim().parse::<u64>().ok()?;
                Some(value)
            };
            let counts = || {
                Some(NodeAllocations {
                    hit: count("numa_hit")?,
                    miss: count("numa_miss")?,
                    foreign: count("numa_foreign")?,
                    other: count("other_node")?,
                })
            };
            counts().ok_or_else(|| format!("{path}: not as documented"))
        });
        (*node, counts.map_or_else(Reading::unknown, Reading::Known))
    };
    nodes.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_read_as_the_kernel_writes_them() {
        let text = "55d0 default file=/usr/bin/a\\040b dirty=12 mapmax=3 N0=12 kernelpagesize_kB=4\n\
                    7f00 interleave:0-1 anon=600 dirty=600 active=0 N0=300 N1=300 kernelpagesize_kB=4\n\
                    7f80 prefer (many):0-1 heap anon=2 N1=2 kernelpagesize_kB=4\n\
                    8000 bind:1 huge anon=3 dirty=3 N1=3 kernelpagesize_kB=2048\n\
                    9000 default stack anon=5 dirty=5 N0=5 kernelpagesize_kB=4\n\
                    a000 default\nno line\n";
        let maps = "55d0-55e0 r--p 00000000 fe:00 1234                       /usr/bin/a b\n\
                    55e0-55f0 r-xp 00010000 fe:00 1234                       /usr/bin/a b\n\
                    7f00-7f70 rw-p 00000000 00:00 0 \n\
                    8000-9000 rwxp 00000000 00:00 0                          [heap]\n\
                    ffff-10000 --xp 00000000 00:00 0                  [vsyscall]\nno line\n";
        let found = parse_maps(text, maps);
        let ends: Vec<u64> = found.mappings.iter().map(|mapping| mapping.end).collect();
        assert_eq!(ends, [0x55e0, 0x7f70, 0x7f80 + 8192, 0x9000, 0x9000 + 20480]);
        let written: Vec<bool> = found.mappings.iter().map(|mapping| mapping.written).collect();
        assert_eq!(written, [false, true, true, true, true]);
        let path = "/usr/bin/a b".to_string();
        assert_eq!(found.code, [Code { start: 0x55e0, end: 0x55f0, offset: 0x10000, inode: 1234, path }]);
        let seen: Vec<String> = found
            .mappings
            .iter()
            .map(|m| {
                let nodes: Vec<String> = m.by_node.iter().map(|(n, b)| format!("{n}:{}", b.0)).collect();
                format!("{:x} {} {} {}", m.start, m.name, m.policy, nodes.join(","))
            })
            .collect();
        assert_eq!(
            seen,
            [
                "55d0 /usr/bin/a\\040b default 0:49152",
                "7f00 anonymous interleave:0-1 0:1228800,1:1228800",
                "7f80 heap prefer (many):0-1 1:8192",
                "8000 anonymous bind:1 1:6291456",
                "9000 stack default 0:20480",
            ]
        );
    }

    #[test]
    fn threads_are_read_whatever_their_name_is() {
        let stat = |name: &str, state: &str| {
            let middle =
                "1 2 3 4 5 6 77 8 9 10 12 34 0 0 20 0 1 0 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 6 0 0";
            format!("4711 ({name}) {state} {middle}\n")
        };
        for name in ["a", "b) R (c", "x y"] {
            let thread = parse_thread(&stat(name, "R")).unwrap();
            assert_eq!((thread.tid, &*thread.name, thread.faults, thread.parent), (4711, name, 77, 1));
            assert_eq!((thread.time, thread.cpu), (Nanos(460_000_000), 6));
        }
        assert_eq!(parse_thread(&stat("a", "Z")), None);
        assert_eq!(parse_thread("no stat"), None);
    }

    #[test]
    fn this_process_is_seen() {
        let machine = Machine::this().unwrap();
        let own = std::process::id();
        let pids = tree(&machine, own);
        assert!(pids.contains(&own));
        let seen = snapshot(&machine, &[own].into(), Nanos(5), true);
        let process = &seen.processes[0];
        assert!(process.threads.iter().any(|thread| thread.tid == own && !thread.bound.is_empty()));
        // Without CONFIG_NUMA there is no such file.
        if machine.read("/proc/self/numa_maps").is_ok() {
            assert!(process.maps.as_ref().unwrap().mappings.iter().any(|mapping| mapping.name == "stack"));
        }
        assert_eq!(snapshot(&machine, &[u32::MAX].into(), Nanos(5), true).processes, []);
    }
}
