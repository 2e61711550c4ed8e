//! The memory controller, of either version.

use super::file::CgroupFile;
use super::group::Group;
use super::pages;
use model::{Bytes, Reading};
use rustix::event::PollFlags;
use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Memory a finished run may leave charged to the group (cached files, for the greater part) before the group is
/// replaced by a fresh one.
const LEFTOVER: u64 = 1 << 20;
/// Memory is charged in batches of this size per CPU (MEMCG_CHARGE_BATCH, 64 pages, include/linux/memcontrol.h).
const BATCH: u64 = 256 << 10;
/// What the launcher may need to start a run where the kernel could kill it for lack of memory.
const ROOM: u64 = 16 << 20;
/// What the launcher needs to start a run.
const ROOM_TO_START: u64 = 4 << 20;
const UNLIMITED: u64 = 0x7fff_ffff_ffff_f000;

/// What was used since the run was prepared.
#[derive(Clone, Debug)]
pub(crate) struct MemoryUse {
    pub(crate) peak: Reading<Bytes>,
    /// The kernel killed for want of memory in this group, or would have, had it been told the run's own limit.
    pub(crate) killed: bool,
    /// The limit was reached (and memory could not be reclaimed), as opposed to the machine's end of memory.
    pub(crate) at_limit: bool,
}

pub(super) struct Memory {
    version: Version,
    /// Charged before the run: ours, and what an earlier run left.
    base: u64,
    before: Kills,
    limit: u64,
    /// The peak when the limit was lifted.
    most: Cell<Option<u64>>,
    /// The least that the kernel is told to hold the run to, where the launcher shares the limit: with less, it would fail, or
    /// the kernel would choose it, being larger than all of the run. A run that passed its own limit is told by its peak.
    least: u64,
}

/// Counts of what the kernel did for want of memory.
#[derive(Clone, Copy, Debug, Default)]
struct Kills {
    /// Processes of the group that were killed, on whoever's account.
    killed: u64,
    /// How often the group's own limit was in the way; version 2 only.
    at_limit: u64,
}

enum Version {
    V1(Box<V1>),
    V2(V2),
}

struct V2 {
    /// Absent before Linux 5.19.
    peak: Option<CgroupFile>,
    max: CgroupFile,
    current: CgroupFile,
    events: CgroupFile,
}

struct V1 {
    group: Group,
    files: V1Files,
    /// Usage of the launcher alone, when the group was new.
    floor: u64,
    limit: Cell<u64>,
}

struct V1Files {
    usage: CgroupFile,
    max_usage: CgroupFile,
    limit: CgroupFile,
    /// Memory plus swap; absent without CONFIG_SWAP accounting.
    memsw: Option<CgroupFile>,
    oom_control: CgroupFile,
    event: OwnedFd,
}

/// Whether a write resets `memory.peak` for the writer's descriptor (since Linux 6.12).
pub(super) fn can_reset_peak(leaf: &Group) -> bool {
    leaf.read_write("memory.peak").is_ok_and(|f| f.write("reset").is_ok())
}

impl Memory {
    pub(super) fn v2(leaf: &Group) -> io::Result<Memory> {
        leaf.write_only("memory.swap.max").and_then(|f| f.write("0")).or_else(absent_is_fine)?;
        // The whole tree goes when one process of it must go.
        leaf.write_only("memory.oom.group")?.write("1")?;
        let peak = leaf.read_write("memory.peak").or_else(|_| leaf.read_only("memory.peak"));
        let version = Version::V2(V2 {
            peak: peak.ok(),
            max: leaf.write_only("memory.max")?,
            current: leaf.read_only("memory.current")?,
            events: leaf.read_only("memory.events")?,
        });
        Ok(Memory::new(version, 0))
    }

    pub(super) fn v1(group: Group) -> io::Result<Memory> {
        let version = Version::V1(Box::new(V1::join(group)?));
        Ok(Memory::new(version, ROOM_TO_START))
    }

    fn new(version: Version, least: u64) -> Memory {
        let (before, most) = (Kills::default(), Cell::new(None));
        Memory { version, base: 0, before, limit: UNLIMITED, most, least }
    }

    /// See [`super::Groups::not_exempt`].
    pub(super) fn not_exempt(&mut self) {
        if let Version::V1(_) = self.version {
            self.least = ROOM;
        }
    }

    pub(super) fn prepare(&mut self, limit: Option<Bytes>) -> io::Result<()> {
        let limit = limit.map(pages);
        match &mut self.version {
            Version::V1(v1) => {
                self.base = v1.files.usage.number()?;
                if self.base > v1.floor + LEFTOVER {
                    v1.renew()?;
                    self.base = v1.files.usage.number()?;
                }
                let held = limit.map(|l| l.max(self.least).saturating_add(self.base));
                let with_ours = held.map_or(UNLIMITED, |l| l.min(UNLIMITED));
                v1.set_limit(with_ours)?;
                v1.files.max_usage.write("0")?;
                // What an earlier run left there would end this one. Without it the read is refused at once.
                let _ = rustix::io::read(&v1.files.event, &mut [0u8; 8]);
            }
            Version::V2(v2) => {
                self.base = v2.current.number()?;
                let with_ours = limit.map(|l| l.saturating_add(self.base));
                v2.max.write(&with_ours.map_or("max".to_string(), |l| l.to_string()))?;
                // Refused by kernels before 6.12, for which the leaf is new instead.
                let _ = v2.peak.as_ref().map(|f| f.write("reset"));
            }
        }
        self.before = self.version.kills()?;
        self.limit = limit.unwrap_or(UNLIMITED);
        self.most.set(None);
        Ok(())
    }

    pub(super) fn since_prepare(&self) -> io::Result<MemoryUse> {
        let peak = match &self.version {
            // A program smaller than one batch may live on what a CPU has charged in advance: at least that is shown.
            Version::V1(v1) => {
                Some(self.most.get().map_or_else(|| v1.files.max_usage.number(), Ok)?.max(self.base + BATCH))
            }
            Version::V2(v2) => v2.peak.as_ref().map(CgroupFile::number).transpose()?,
        };
        let peak = peak.map(|p| p.saturating_sub(self.base));
        let kills = self.version.kills()?;
        let beyond = peak.is_some_and(|p| p > self.limit) && self.held() > self.limit;
        // Batches may keep the peak a little below.
        let near = peak.is_some_and(|p| p >= self.limit - self.limit / 16);
        Ok(MemoryUse {
            peak: peak.map_or_else(
                || Reading::unknown("kernels before 5.19 keep no memory.peak"),
                |p| Reading::Known(Bytes(p)),
            ),
            killed: kills.killed > self.before.killed || beyond,
            at_limit: near || kills.at_limit > self.before.at_limit,
        })
    }

    /// Lifts the limit of a run that is over and records its peak. In version 1 the launcher shares the limit. A run can leave the
    /// group full of data that outlives its processes (extended attributes in tmpfs). Then the launcher's next allocation fails, or
    /// the kernel kills it if it is not exempt (CAP_SYS_RESOURCE).
    pub(super) fn lift(&self) {
        if let Version::V1(v1) = &self.version {
            self.most.set(v1.files.max_usage.number().ok());
            // Refused, nothing is worse than before.
            let _ = v1.set_limit(UNLIMITED);
        }
    }

    /// What the kernel was told to hold the run to.
    fn held(&self) -> u64 {
        self.limit.max(self.least)
    }

    pub(super) fn event(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        match &self.version {
            Version::V1(v1) => Some((v1.files.event.as_fd(), PollFlags::IN)),
            // memory.oom.group has the kernel kill the whole leaf, which the program's end tells us.
            Version::V2(_) => None,
        }
    }
}

impl Version {
    fn kills(&self) -> io::Result<Kills> {
        match self {
            Version::V1(v1) => {
                let [killed] = v1.files.oom_control.keyed(["oom_kill"])?;
                Ok(Kills { killed, at_limit: 0 })
            }
            Version::V2(v2) => {
                let [killed, at_limit] = v2.events.keyed(["oom_kill", "oom"])?;
                Ok(Kills { killed, at_limit })
            }
        }
    }
}

impl V1 {
    fn join(group: Group) -> io::Result<V1> {
        let files = V1Files::open(&group)?;
        let mut v1 = V1 { group, files, floor: 0, limit: Cell::new(UNLIMITED) };
        v1.settle()?;
        Ok(v1)
    }

    fn settle(&mut self) -> io::Result<()> {
        // 0: reclaim never swaps (memory.rst, section 5.3).
        self.group.write_only("memory.swappiness").and_then(|f| f.write("0")).or_else(absent_is_fine)?;
        self.group.join()?;
        self.limit.set(UNLIMITED);
        self.floor = self.files.usage.number()?;
        Ok(())
    }

    /// Takes a fresh group in place of one that still has files of earlier runs charged to it. The launcher moves,
    /// between two runs; what was charged passes to the parent and stays cached.
    fn renew(&mut self) -> io::Result<()> {
        self.group.leave()?;
        self.group.recreate()?;
        self.files = V1Files::open(&self.group)?;
        self.settle()
    }

    /// Sets both limits in the order in which memory never exceeds memory plus swap.
    fn set_limit(&self, limit: u64) -> io::Result<()> {
        if limit == self.limit.get() {
            return Ok(());
        }
        let text = limit.to_string();
        let memsw = |files: &V1Files| files.memsw.as_ref().map_or(Ok(()), |f| f.write(&text));
        if limit > self.limit.get() {
            memsw(&self.files)?;
            self.files.limit.write(&text)?;
        } else {
            self.files.limit.write(&text)?;
            memsw(&self.files)?;
        }
        self.limit.set(limit);
        Ok(())
    }
}

impl V1Files {
    fn open(group: &Group) -> io::Result<V1Files> {
        let oom_control = group.read_write("memory.oom_control")?;
        let event = crate::sys::eventfd()?;
        // memory.rst, section 9: "<event_fd> <fd of memory.oom_control>".
        let registration = format!("{} {}", event.as_raw_fd(), oom_control.fd().as_raw_fd());
        group.write_only("cgroup.event_control")?.write(&registration)?;
        let (usage, max_usage) = ("memory.usage_in_bytes", "memory.max_usage_in_bytes");
        Ok(V1Files {
            usage: group.read_only(usage)?,
            max_usage: group.read_write(max_usage).and_then(CgroupFile::read_once)?,
            limit: group.read_write("memory.limit_in_bytes")?,
            memsw: group.read_write("memory.memsw.limit_in_bytes").ok(),
            oom_control,
            event,
        })
    }
}

fn absent_is_fine(e: io::Error) -> io::Result<()> {
    if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) }
}
