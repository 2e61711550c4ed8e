//! What the kernel does with memory by itself.
//!
//! Sources: Documentation/admin-guide/mm/{transhuge,ksm}.rst, mm/damon/usage.rst, sysctl/{kernel,vm}.rst,
//! virt/kvm/halt-polling.rst, admin-guide/hw-vuln/multihit.rst,
//! Documentation/filesystems/resctrl.rst (arch/x86/resctrl.rst before Linux 6.16); for balloons section 5.5 of the virtio
//! specification.

use super::{text, text_if_any};
use crate::cpulist::{self, Set};
use crate::machine::Machine;
use model::Reading;

const HUGE: &str = "/sys/kernel/mm/transparent_hugepage";
const BALLOONS: &str = "/sys/bus/virtio/drivers/virtio_balloon";
/// See [`Memory::guest_pages_recovery`].
pub(crate) const GUEST_PAGES_RECOVERY: &str = "/sys/module/kvm/parameters/nx_huge_pages_recovery_ratio";
/// Where resctrl is mounted.
pub(crate) const RESCTRL: &str = "/sys/fs/resctrl";
/// Names of our groups below it begin with this.
pub(crate) const CACHE_GROUP: &str = "tauto-slot-";
const DAMON_ADMIN: &str = "/sys/kernel/mm/damon/admin/kdamonds";
const DAMON_MODULES: [&str; 3] = ["damon_reclaim", "damon_lru_sort", "damon_stat"];

/// VIRTIO_BALLOON_F_REPORTING: pages that become free are given back to the host at once.
const REPORTING: usize = 5;

/// What the kernel does with memory by itself. `None` where the kernel has no such file.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Transparent huge pages: file and the word chosen in it, the file for all sizes first.
    pub huge_pages: Vec<(String, Reading<String>)>,
    /// Whether huge pages are made by waiting for compaction: the word chosen.
    pub huge_pages_defrag: Option<Reading<String>>,
    /// 1: equal pages are looked for and merged.
    pub ksm: Option<Reading<String>>,
    /// How eagerly memory is compacted ahead of need, 0 to 100.
    pub compaction: Option<Reading<String>>,
    /// Names of the kernel's threads that watch accesses (DAMON).
    pub damon: Reading<Vec<String>>,
    /// Numbers of those an administrator has switched on.
    pub damon_switched_on: Vec<String>,
    /// Swap areas.
    pub swaps: Reading<Vec<String>>,
    /// 0: pages are not moved after the CPUs that use them.
    pub numa_balancing: Option<Reading<String>>,
    /// 0: addresses are the same in every run.
    pub randomize: Reading<String>,
    /// The filter of system calls this process runs under: 0 none.
    pub seccomp: Reading<String>,
    /// Balloons by which a host takes memory back, and whether each gives free pages back at once.
    pub balloons: Vec<(String, Reading<bool>)>,
    /// Longest time that a CPU polls after its guest becomes idle, in ns; 0: it sleeps at once. Only hosts with KVM have it.
    pub guest_polling: Option<Reading<String>>,
    /// Y: guests execute code from small pages only, so KVM splits a huge page when code in it runs.
    pub guest_pages_split: Option<Reading<String>>,
    /// In each period KVM frees one in this number of the split pages, to rebuild huge pages; 0: none.
    pub guest_pages_recovery: Option<Reading<String>>,
    /// Groups that have a part of the last cache to themselves; `None` where that file system is not mounted.
    pub cache_groups: Option<Vec<CacheGroup>>,
    /// How the last caches can be partitioned; `None` where they cannot.
    pub cache_limits: Option<CacheLimits>,
}

/// What the processor can do with masks of a last cache's ways (Documentation/filesystems/resctrl.rst, "Info directory").
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheLimits {
    /// All ways.
    pub all: u64,
    /// Fewest bits of a mask.
    pub fewest: u32,
    /// Ways that devices use, too: no group can have them alone.
    pub devices: u64,
    /// Most groups, of which one is for all that is in no other.
    pub groups: u32,
}

/// A group of CPUs with a part of a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheGroup {
    /// Its directory.
    pub path: String,
    /// Its CPUs.
    pub cpus: Set,
    /// No other group may use its part.
    pub exclusive: bool,
}

impl Memory {
    /// Reads it.
    pub fn read(machine: &Machine) -> Memory {
        let at = |path: &str| text_if_any(machine, path);
        let seccomp = |status: String| {
            let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:"));
            let mode = mode.map(|mode| mode.trim().to_string());
            Reading::from_option(mode, || "/proc/self/status has no field Seccomp".into())
        };
        Memory {
            huge_pages: huge_pages(machine),
            huge_pages_defrag: at(&format!("{HUGE}/defrag")).map(|r| r.map(|words| chosen(&words))),
            ksm: at("/sys/kernel/mm/ksm/run"),
            compaction: at("/proc/sys/vm/compaction_proactiveness"),
            damon: damon(machine),
            damon_switched_on: damon_switched_on(machine),
            swaps: text(machine, "/proc/swaps").map(|table| {
                table.lines().skip(1).filter_map(|l| l.split_whitespace().next()).map(String::from).collect()
            }),
            numa_balancing: at("/proc/sys/kernel/numa_balancing"),
            randomize: text(machine, "/proc/sys/kernel/randomize_va_space"),
            seccomp: text(machine, "/proc/self/status").and_then(seccomp),
            balloons: balloons(machine),
            guest_polling: at("/sys/module/kvm/parameters/halt_poll_ns"),
            guest_pages_split: at("/sys/module/kvm/parameters/nx_huge_pages"),
            guest_pages_recovery: at(GUEST_PAGES_RECOVERY),
            cache_groups: cache_groups(machine),
            cache_limits: cache_limits(machine),
        }
    }
}

/// The word in brackets of `always [madvise] never`; all of it where none is.
fn chosen(words: &str) -> String {
    let inner = words.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inner.map_or(words, |(word, _)| word).to_string()
}

fn huge_pages(machine: &Machine) -> Vec<(String, Reading<String>)> {
    let sizes = machine.list(HUGE).unwrap_or_default().into_iter().filter(|n| n.starts_with("hugepages-"));
    let files =
        std::iter::once(format!("{HUGE}/enabled")).chain(sizes.map(|s| format!("{HUGE}/{s}/enabled")));
    let word = |file: String| Some((text_if_any(machine, &file)?.map(|words| chosen(&words)), file));
    files.filter_map(word).map(|(word, file)| (file, word)).collect()
}

/// Its threads, since it has users within the kernel that no file tells of; and those of its modules that are switched on.
fn damon(machine: &Machine) -> Reading<Vec<String>> {
    // Process 2 is kthreadd, the parent of all threads of the kernel.
    let children = "/proc/2/task/2/children";
    let enabled = |module: &&&str| {
        let switch = machine.read(&format!("/sys/module/{module}/parameters/enabled"));
        switch.is_ok_and(|on| on.starts_with('Y'))
    };
    let modules = DAMON_MODULES.iter().filter(enabled).map(|module| module.to_string());
    text(machine, children).map(|pids| {
        let name = |pid: &str| machine.read(&format!("/proc/{pid}/comm")).ok();
        let threads = pids.split_whitespace().filter_map(name).filter(|name| name.starts_with("kdamond"));
        threads.chain(modules).collect()
    })
}

fn damon_switched_on(machine: &Machine) -> Vec<String> {
    let numbers = machine.list(DAMON_ADMIN).unwrap_or_default().into_iter();
    let on = |n: &String| machine.read(&format!("{DAMON_ADMIN}/{n}/state")).is_ok_and(|state| state == "on");
    numbers.filter(on).collect()
}

fn balloons(machine: &Machine) -> Vec<(String, Reading<bool>)> {
    let devices = machine.list(BALLOONS).unwrap_or_default().into_iter();
    let devices = devices.filter(|name| name.starts_with("virtio"));
    let reporting = |bits: String| bits.as_bytes().get(REPORTING) == Some(&b'1');
    devices.map(|n| (n.clone(), text(machine, &format!("{BALLOONS}/{n}/features")).map(reporting))).collect()
}

fn cache_limits(machine: &Machine) -> Option<CacheLimits> {
    let text = |name: &str| machine.read(&format!("{RESCTRL}/info/L3/{name}")).ok();
    let mask = |name: &str| u64::from_str_radix(text(name)?.trim(), 16).ok();
    Some(CacheLimits {
        all: mask("cbm_mask")?,
        fewest: text("min_cbm_bits")?.trim().parse().ok()?,
        devices: mask("shareable_bits").unwrap_or(0),
        groups: text("num_closids")?.trim().parse().ok()?,
    })
}

fn cache_groups(machine: &Machine) -> Option<Vec<CacheGroup>> {
    machine.read(&format!("{RESCTRL}/schemata")).ok()?;
    let group = |name: String| {
        let path = format!("{RESCTRL}/{name}");
        let cpus = cpulist::parse(&machine.read(&format!("{path}/cpus_list")).ok()?)?;
        let exclusive = machine.read(&format!("{path}/mode")).is_ok_and(|mode| mode == "exclusive");
        Some(CacheGroup { cpus, exclusive, path })
    };
    Some(machine.list(RESCTRL).unwrap_or_default().into_iter().filter_map(group).collect())
}
