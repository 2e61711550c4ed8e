//! The memory controller, of either version.

use super::file::CgroupFile;
use super::{join, make_dir, pages};
use model::Bytes;
use rustix::event::PollFlags;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Memory a finished run may leave charged to the group (cached files, for the greater part) before the group is
/// replaced by a fresh one.
const LEFTOVER: u64 = 1 << 20;
const UNLIMITED: u64 = 0x7fff_ffff_ffff_f000;

/// What was used since the run was prepared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryUse {
    pub(crate) peak: Bytes,
    /// The kernel killed for want of memory in this group.
    pub(crate) killed: bool,
    /// The limit was reached (and memory could not be reclaimed), as opposed to the machine's end of memory.
    pub(crate) at_limit: bool,
}

pub(super) struct Memory {
    version: Version,
    /// Charged before the run: ours, and what an earlier run left.
    base: u64,
    kills_before: u64,
    limit: u64,
}

enum Version {
    V1(Box<V1>),
    V2 { peak: CgroupFile, max: CgroupFile, current: CgroupFile, events: CgroupFile },
}

struct V1 {
    parent: PathBuf,
    path: PathBuf,
    name: String,
    files: V1Files,
    /// Usage of the launcher alone, when the group was new.
    floor: u64,
    limit: u64,
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
pub(super) fn can_reset_peak(leaf: &Path) -> bool {
    CgroupFile::read_write(leaf, "memory.peak").is_ok_and(|f| f.write("reset").is_ok())
}

impl Memory {
    pub(super) fn v2(leaf: &Path) -> io::Result<Memory> {
        fs::write(leaf.join("memory.swap.max"), "0").or_else(absent_is_fine)?;
        // The whole tree goes when one process of it must go.
        CgroupFile::write_only(leaf, "memory.oom.group")?.write("1")?;
        let peak = CgroupFile::read_write(leaf, "memory.peak").or_else(|_| CgroupFile::read_only(leaf, "memory.peak"))?;
        let version = Version::V2 {
            peak,
            max: CgroupFile::write_only(leaf, "memory.max")?,
            current: CgroupFile::read_only(leaf, "memory.current")?,
            events: CgroupFile::read_only(leaf, "memory.events")?,
        };
        Ok(Memory { version, base: 0, kills_before: 0, limit: UNLIMITED })
    }

    pub(super) fn v1(parent: &Path, name: &str) -> io::Result<Memory> {
        let v1 = V1::create(parent, name)?;
        Ok(Memory { version: Version::V1(Box::new(v1)), base: 0, kills_before: 0, limit: UNLIMITED })
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
                let with_ours = limit.map_or(UNLIMITED, |l| l.saturating_add(self.base).min(UNLIMITED));
                v1.set_limit(with_ours)?;
                v1.files.max_usage.write("0")?;
                self.kills_before = v1.files.oom_control.keyed("oom_kill")?;
            }
            Version::V2 { peak, max, current, events } => {
                self.base = current.number()?;
                let with_ours = limit.map(|l| l.saturating_add(self.base));
                max.write(&with_ours.map_or("max".to_string(), |l| l.to_string()))?;
                // Refused by kernels before 6.12, for which the leaf is new instead.
                let _ = peak.write("reset");
                self.kills_before = events.keyed("oom_kill")?;
            }
        }
        self.limit = limit.unwrap_or(UNLIMITED);
        Ok(())
    }

    pub(super) fn since_prepare(&self) -> io::Result<MemoryUse> {
        let (peak, kills) = match &self.version {
            Version::V1(v1) => (v1.files.max_usage.number()?, v1.files.oom_control.keyed("oom_kill")?),
            Version::V2 { peak, events, .. } => (peak.number()?, events.keyed("oom_kill")?),
        };
        let peak = peak.saturating_sub(self.base);
        Ok(MemoryUse {
            peak: Bytes(peak),
            killed: kills > self.kills_before,
            // Charges are taken in batches of 64 pages per CPU, so the peak may stay a little below.
            at_limit: peak >= self.limit - self.limit / 16,
        })
    }

    pub(super) fn event(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        match &self.version {
            Version::V1(v1) => Some((v1.files.event.as_fd(), PollFlags::IN)),
            // memory.oom.group has the kernel kill the whole leaf, which the program's end tells us.
            Version::V2 { .. } => None,
        }
    }
}

impl V1 {
    fn create(parent: &Path, name: &str) -> io::Result<V1> {
        let path = parent.join(name);
        make_dir(&path)?;
        let files = V1Files::open(&path)?;
        // 0: reclaim never swaps (memory.rst, section 5.3).
        fs::write(path.join("memory.swappiness"), "0").or_else(absent_is_fine)?;
        join(&path)?;
        let floor = files.usage.number()?;
        Ok(V1 { parent: parent.to_path_buf(), name: name.to_string(), path, files, floor, limit: UNLIMITED })
    }

    /// Takes a fresh group in place of one that still has files of earlier runs charged to it. The launcher moves,
    /// between two runs; what was charged passes to the parent and stays cached.
    fn renew(&mut self) -> io::Result<()> {
        join(&self.parent)?;
        if fs::remove_dir(&self.path).is_err() {
            return join(&self.path);
        }
        *self = V1::create(&self.parent.clone(), &self.name.clone())?;
        Ok(())
    }

    /// Sets both limits in the order in which memory never exceeds memory plus swap.
    fn set_limit(&mut self, limit: u64) -> io::Result<()> {
        if limit == self.limit {
            return Ok(());
        }
        let text = limit.to_string();
        let memsw = |files: &V1Files| files.memsw.as_ref().map_or(Ok(()), |f| f.write(&text));
        if limit > self.limit {
            memsw(&self.files)?;
            self.files.limit.write(&text)?;
        } else {
            self.files.limit.write(&text)?;
            memsw(&self.files)?;
        }
        self.limit = limit;
        Ok(())
    }
}

impl V1Files {
    fn open(path: &Path) -> io::Result<V1Files> {
        let oom_control = CgroupFile::read_write(path, "memory.oom_control")?;
        let event = crate::sys::eventfd()?;
        // memory.rst, section 9: "<event_fd> <fd of memory.oom_control>".
        let registration = format!("{} {}", event.as_raw_fd(), oom_control.fd().as_raw_fd());
        CgroupFile::write_only(path, "cgroup.event_control")?.write(&registration)?;
        Ok(V1Files {
            usage: CgroupFile::read_only(path, "memory.usage_in_bytes")?,
            max_usage: CgroupFile::read_write(path, "memory.max_usage_in_bytes")?,
            limit: CgroupFile::read_write(path, "memory.limit_in_bytes")?,
            memsw: CgroupFile::read_write(path, "memory.memsw.limit_in_bytes").ok(),
            oom_control,
            event,
        })
    }
}

fn absent_is_fine(e: io::Error) -> io::Result<()> {
    if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) }
}
