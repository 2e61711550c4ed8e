//! Control groups of one slot: created once, reused by every run, removed with the launcher.
//!
//! Each controller is taken where this machine has it: in the version 2 tree, or in a version 1 hierarchy of its
//! own (the hybrid layout). In version 2 the program is cloned straight into the leaf. A version 1 membership can
//! only be inherited, so there the launcher itself lives in the slot's groups: no run is ever moved between
//! groups, which would take a global lock. The leaf of the version 2 tree serves both layouts: it counts CPU time and
//! proves that nothing is left, even where it has no controller at all.
//!
//! Deliberately absent: `cgroup.kill`. A run is killed by the init of its pid namespace, which is as complete and as
//! atomic; and on recent kernels (seen on 6.18) a group that was killed once kills whatever is cloned into it with
//! CLONE_INTO_CGROUP from then on, since fork compares its `kill_seq` with that of the parent's group.
//!
//! Sources: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/{memory,pids}.rst of the kernel.

mod file;
mod group;
mod layout;
mod leaf_parent;
mod memory;
mod numa;
mod partition;
mod quota;

pub(crate) use layout::{Layout, Places};
pub(crate) use memory::MemoryUse;

use file::CgroupFile;
use group::Group;
use layout::Rung;
use memory::Memory;
use model::{Bytes, Isolation, Limits, Nanos, NodePages, Slot};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

/// Most processes of a run that names no limit of its own.
const PROCESSES_AT_MOST: u32 = 2048;
/// The launcher and the namespace's init are counted with the run where the launcher lives in its groups.
const OURS_IN_V1: u32 = 2;

/// The groups of one slot.
pub(crate) struct Groups {
    leaf: Option<Leaf>,
    memory: Option<Memory>,
    pids: Option<Pids>,
    cpu_protection: CpuProtection,
    quotas: Throttling,
    /// What could not be had, in words.
    pub(crate) weaker: Vec<String>,
}

/// Quotas of CPU time that can hold a run back.
enum Throttling {
    /// `cpu.stat` of each group that counts it; none: nobody is held back. As long as they count nothing, others may, for this reason.
    By { files: Vec<CgroupFile>, hidden: Option<String> },
    /// It cannot be told, for this reason.
    Unknown(String),
}

/// What keeps others off the slot's CPUs, and the file that says whether it still does.
enum CpuProtection {
    /// Nothing of ours.
    None,
    /// `cpuset.cpus.partition` of the slot's partition.
    Partition(CgroupFile),
    /// The leaf is a cpuset of its own: the slot's CPUs and memory nodes as lists, and `cpuset.cpus.effective`.
    Cpuset { slot: Slot, effective: CgroupFile },
}

struct Leaf {
    group: Group,
    events: CgroupFile,
    cpu_stat: CgroupFile,
    /// `cpu.pressure`, where the kernel accounts for it.
    pressure: Option<CgroupFile>,
    /// `memory.numa_stat`, where the leaf has the memory controller.
    numa_stat: Option<CgroupFile>,
    /// Recreated before each run, because this kernel cannot reset what the leaf has counted.
    renew: bool,
}

struct Pids {
    max: CgroupFile,
    ours: u32,
    current: Option<u32>,
}

impl Groups {
    /// Makes the groups and joins those of version 1. What cannot be made is left out and said in `weaker`.
    pub(crate) fn create(places: &Places) -> Groups {
        let mut groups = Groups {
            leaf: None,
            memory: None,
            pids: None,
            cpu_protection: CpuProtection::None,
            quotas: Throttling::By { files: vec![], hidden: None },
            weaker: vec![],
        };
        let controllers = groups.create_leaf(places).unwrap_or_else(|e| {
            groups.lack(format!(
                "no cgroup of version 2: {e}; CPU time is that of the kernel's task clock where it may be used, else sampled"
            ));
            vec![]
        });
        let has = |c: &str| controllers.iter().any(|have| have == c);
        let memory = if has("memory") { groups.use_v2_memory() } else { groups.join_v1_memory(places) };
        if let Err(e) = memory {
            groups.lack(format!("no memory cgroup: {e}; memory is sampled, and bounded per process; what only socket buffers or unmapped shared pages hold is not seen"));
        }
        let pids = if has("pids") { groups.use_v2_pids() } else { groups.join_v1_pids(places) };
        if let Err(e) = pids {
            groups.lack(format!("no pids cgroup: {e}; processes are limited per user"));
        }
        groups.quotas = Throttling::at(places);
        if let Some(slot) = &places.slot {
            groups.take_ground(places, slot, has("cpuset"));
        }
        if groups.leaf.as_ref().is_some_and(|leaf| leaf.pressure.is_none()) {
            groups.lack("no pressure accounting (kernel parameter psi=1); waits for a CPU are known of main threads only".into());
        }
        groups
    }

    fn lack(&mut self, what: String) {
        self.weaker.push(what);
    }

    /// Takes the best that is to be had of partition and cpuset.
    fn take_ground(&mut self, places: &Places, slot: &Slot, cpuset: bool) {
        if let (Rung::Partition, Some(leaf)) = (&places.rung, &self.leaf) {
            match leaf.group.parents(partition::STATE) {
                Ok(state) => self.cpu_protection = CpuProtection::Partition(state),
                Err(e) => self.lack(format!("the slot's partition cannot be watched: {e}")),
            }
            return;
        }
        if let Rung::Outside(why) = &places.rung {
            self.lack(format!("other processes can run on the slot's CPUs: {why}"));
        }
        if cpuset && let Some(leaf) = &self.leaf {
            match leaf.confine(slot) {
                Ok(effective) => {
                    self.cpu_protection = CpuProtection::Cpuset { slot: slot.clone(), effective }
                }
                Err(e) => self.lack(format!("no cpuset of the slot's own: {e}")),
            }
        }
    }

    /// For how long quotas have held the groups around us back, since those were made.
    pub(crate) fn throttled(&self) -> io::Result<Nanos> {
        match &self.quotas {
            Throttling::Unknown(why) => Err(io::Error::other(why.clone())),
            Throttling::By { files, hidden } => {
                let time = files.iter().try_fold(Nanos::ZERO, |sum, file| {
                    let none = || io::Error::other("cpu.stat does not say for how long a quota held it back");
                    Ok::<_, io::Error>(sum + Nanos(quota::throttled(&file.read()?).ok_or_else(none)?))
                })?;
                match hidden {
                    Some(why) if time == Nanos::ZERO => Err(io::Error::other(why.clone())),
                    _ => Ok(time),
                }
            }
        }
    }

    /// The rung of isolation that is in force now for a run on these CPUs: read, not remembered.
    pub(crate) fn isolation(&self, cpus: &[u32]) -> Isolation {
        let holds = match &self.cpu_protection {
            CpuProtection::Partition(state)
                if state.read().is_ok_and(|s| s.trim() == partition::ISOLATED) =>
            {
                Isolation::Partition
            }
            CpuProtection::Cpuset { slot, effective }
                if cpus.iter().all(|cpu| slot.cpus.contains(cpu))
                    && effective.read().is_ok_and(|list| partition::all_in(cpus, &list)) =>
            {
                Isolation::Cpuset
            }
            _ => Isolation::Affinity,
        };
        if cpus.is_empty() { Isolation::None } else { holds }
    }

    fn use_v2_memory(&mut self) -> io::Result<()> {
        self.memory = self.leaf.as_ref().map(|l| Memory::v2(&l.group)).transpose()?;
        Ok(())
    }

    fn use_v2_pids(&mut self) -> io::Result<()> {
        self.pids = self.leaf.as_ref().map(|l| Pids::open(&l.group, 0)).transpose()?;
        Ok(())
    }

    fn create_leaf(&mut self, places: &Places) -> io::Result<Vec<String>> {
        let group = create(&places.v2, &places.name)?;
        let controllers = group.read_only("cgroup.controllers")?.read()?;
        let controllers: Vec<String> = controllers.split_whitespace().map(str::to_string).collect();
        let renew = controllers.iter().any(|c| c == "memory") && !memory::can_reset_peak(&group);
        self.leaf = Some(Leaf::open(group, renew)?);
        Ok(controllers)
    }

    fn join_v1_memory(&mut self, places: &Places) -> io::Result<()> {
        self.memory = Some(Memory::v1(create(&places.memory, &places.name)?)?);
        Ok(())
    }

    fn join_v1_pids(&mut self, places: &Places) -> io::Result<()> {
        let group = create(&places.pids, &places.name)?;
        self.pids = Some(Pids::open(&group, OURS_IN_V1)?);
        group.join()
    }

    /// Puts the limits of the next run in force and starts counting afresh.
    pub(crate) fn prepare(&mut self, limits: &Limits) -> io::Result<()> {
        if let Some(leaf) = self.leaf.as_mut().filter(|l| l.renew) {
            leaf.recreate()?;
            if let CpuProtection::Cpuset { slot, effective } = &mut self.cpu_protection {
                *effective = leaf.confine(slot)?;
            }
            self.use_v2_memory()?;
            // The pids controller may be a version 1 hierarchy of its own.
            if self.pids.as_ref().is_some_and(|p| p.ours == 0) {
                self.use_v2_pids()?;
            }
        }
        if let Some(pids) = &mut self.pids {
            pids.limit(limits.processes.unwrap_or(PROCESSES_AT_MOST).min(PROCESSES_AT_MOST))?;
        }
        self.memory.as_mut().map_or(Ok(()), |m| m.prepare(limits.memory))
    }

    /// The kernel may choose the launcher where memory runs out.
    pub(crate) fn not_exempt(&mut self, why: &io::Error) {
        self.lack(format!(
            "the launcher is not exempt where memory runs out: /proc/self/oom_score_adj: {why}"
        ));
        if let Some(memory) = &mut self.memory {
            memory.not_exempt();
        }
    }

    /// What the memory controller saw since [`Groups::prepare`]; `None` without one.
    pub(crate) fn memory_use(&self) -> Option<io::Result<MemoryUse>> {
        self.memory.as_ref().map(Memory::since_prepare)
    }

    /// Lifts the memory limit of a run that is over.
    pub(crate) fn lift_memory_limit(&self) {
        if let Some(memory) = &self.memory {
            memory.lift();
        }
    }

    /// Becomes ready to read when the kernel runs out of the run's memory.
    pub(crate) fn out_of_memory_event(&self) -> Option<(BorrowedFd<'_>, rustix::event::PollFlags)> {
        self.memory.as_ref().and_then(Memory::event)
    }

    /// Memory is limited by a group.
    pub(crate) fn limits_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Processes are limited by a group.
    pub(crate) fn limits_processes(&self) -> bool {
        self.pids.is_some()
    }

    /// The group to clone the program into.
    pub(crate) fn clone_into(&self) -> Option<BorrowedFd<'_>> {
        self.leaf.as_ref().map(|l| l.group.fd())
    }

    /// The file whose `usage_usec`, `user_usec` and `system_usec` count the run.
    pub(crate) fn cpu_stat(&self) -> Option<BorrowedFd<'_>> {
        self.leaf.as_ref().map(|l| l.cpu_stat.fd())
    }

    /// The text of the leaf's `cpu.pressure`; `None` without a leaf, or without pressure accounting.
    pub(crate) fn pressure(&self) -> Option<String> {
        self.leaf.as_ref()?.pressure.as_ref()?.read().ok()
    }

    /// Whether [`Groups::pages_by_node`] can say anything.
    pub(crate) fn tells_nodes(&self) -> bool {
        self.leaf.as_ref().is_some_and(|leaf| leaf.numa_stat.is_some())
    }

    /// Where the run's own pages are now; `None` without a memory controller of version 2.
    pub(crate) fn pages_by_node(&self) -> Option<Vec<NodePages>> {
        numa::pages(&self.leaf.as_ref()?.numa_stat.as_ref()?.read().ok()?)
    }

    /// Whether the leaf has no process left; true without a leaf, where the namespace is the proof.
    pub(crate) fn is_empty(&self) -> io::Result<bool> {
        match &self.leaf {
            Some(leaf) => Ok(leaf.events.read()?.lines().any(|l| l == "populated 0")),
            None => Ok(true),
        }
    }
}

impl Throttling {
    fn at(places: &Places) -> Throttling {
        let Some(quotas) = &places.quotas else {
            return Throttling::Unknown("no hierarchy has the cpu controller".into());
        };
        let files: io::Result<Vec<CgroupFile>> =
            quotas.groups.iter().map(|group| CgroupFile::open_in(group, "cpu.stat")).collect();
        match files {
            Err(e) => Throttling::Unknown(e.to_string()),
            Ok(files) => Throttling::By { files, hidden: quotas.hidden.clone() },
        }
    }
}

impl Leaf {
    fn open(group: Group, renew: bool) -> io::Result<Leaf> {
        Ok(Leaf {
            events: group.read_only("cgroup.events")?,
            cpu_stat: group.read_only("cpu.stat").and_then(CgroupFile::read_once)?,
            pressure: pressure(&group),
            numa_stat: group.read_only("memory.numa_stat").ok(),
            group,
            renew,
        })
    }

    /// Makes it a cpuset of the slot's CPUs and memory nodes. Returns `cpuset.cpus.effective`.
    fn confine(&self, slot: &Slot) -> io::Result<CgroupFile> {
        let list = |all: &[u32]| all.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        self.group.write_only("cpuset.cpus")?.write(&list(&slot.cpus))?;
        if !slot.mem_nodes.is_empty() {
            self.group.write_only("cpuset.mems")?.write(&list(&slot.mem_nodes))?;
        }
        self.group.read_only("cpuset.cpus.effective")
    }

    fn recreate(&mut self) -> io::Result<()> {
        self.group.recreate()?;
        self.events = self.group.read_only("cgroup.events")?;
        self.cpu_stat = self.group.read_only("cpu.stat")?;
        self.pressure = pressure(&self.group);
        self.numa_stat = self.group.read_only("memory.numa_stat").ok();
        Ok(())
    }
}

impl Pids {
    fn open(group: &Group, ours: u32) -> io::Result<Pids> {
        Ok(Pids { max: group.write_only("pids.max")?, ours, current: None })
    }

    fn limit(&mut self, n: u32) -> io::Result<()> {
        if self.current != Some(n) {
            self.max.write(&(n + self.ours).to_string())?;
            self.current = Some(n);
        }
        Ok(())
    }
}

/// `None` without pressure accounting: then the file is absent or unreadable.
fn pressure(leaf: &Group) -> Option<CgroupFile> {
    leaf.read_only("cpu.pressure").and_then(CgroupFile::read_once).ok()
}

fn create(parent: &Result<PathBuf, String>, name: &str) -> io::Result<Group> {
    match parent {
        Ok(parent) => Group::create(parent, name),
        Err(why) => Err(io::Error::other(why.clone())),
    }
}

fn named(path: &Path, e: io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("{}: {e}", path.display()))
}

/// Rounds up to whole pages, as the kernel does with limits.
fn pages(b: Bytes) -> u64 {
    b.0.saturating_add(4095) & !4095
}
