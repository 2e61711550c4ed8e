//! Cache partitions: each slot that shares its last cache gets ways of its own, by a group of resctrl.
//!
//! Source: Documentation/filesystems/resctrl.rst, "Resource alloc and monitor groups", "Cache Bit Masks (CBM)" and the
//! files of `info`.

use super::plan::{View, change};
use super::target::{ABSENT, PRESENT, ways};
use super::{Change, Form, Target};
use crate::cpulist::{self, Set};
use crate::facts::{CACHE_GROUP, CacheLimits, Memory, RESCTRL, Topology};
use crate::slots;

const ID: &str = "cache_partition";

/// Bit masks of a last cache's ways, of which none has a bit of another.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    /// For all programs outside of slots.
    others: u64,
    /// One for each slot at the same cache.
    slots: Vec<u64>,
}

/// The first slot of each last cache is in the first group, the second one in the second, and so on: they share no cache, and
/// processors know few groups.
pub(super) fn changes(view: &View<'_>) -> Vec<Change> {
    let memory = Memory::read(view.machine);
    let schemata = format!("{RESCTRL}/schemata");
    let found = view.value(&schemata, Form::Cache).unwrap_or_default();
    let groups = cpus_of_groups(view);
    let (Some(caches), Some(shares)) = (ways(&found), shares(&memory, groups.len())) else {
        return Vec::new();
    };
    let everywhere = |mask: u64| {
        let each = caches.iter().map(|(cache, _)| format!("{cache}={mask:x}"));
        format!("L3:{}", each.collect::<Vec<_>>().join(";"))
    };
    let mut changes: Vec<Change> =
        view.file(ID, &schemata, Form::Cache, &everywhere(shares.others)).into_iter().collect();
    for (n, (mask, cpus)) in shares.slots.iter().zip(&groups).enumerate() {
        let group = format!("{RESCTRL}/{CACHE_GROUP}{n}");
        if view.machine.list(&group).is_err() {
            changes.push(change(ID, Target::Directory(group.clone()), ABSENT, PRESENT));
        }
        // The second value is that of a new group, as far as it matters: it goes with the group.
        let files = [
            ("schemata", Form::Cache, found.clone(), everywhere(*mask)),
            ("cpus_list", Form::Cpus, String::new(), cpulist::to_list(cpus)),
            ("mode", Form::Text, "shareable".into(), "exclusive".into()),
        ];
        for (name, form, new, want) in files {
            let path = format!("{group}/{name}");
            let now = view.value(&path, form).unwrap_or(new);
            let target = Target::File { path, form };
            changes.extend((!form.same(&now, &want)).then(|| change(ID, target, &now, &want)));
        }
    }
    changes
}

/// Of each group the CPUs that programs are judged on. Not their siblings, since a CPU that goes offline leaves its group.
fn cpus_of_groups(view: &View<'_>) -> Vec<Set> {
    let topology = Topology::read(view.machine).unwrap_or_default();
    let mut groups: Vec<Set> = Vec::new();
    for at_cache in slots::by_last_cache(&topology, view.slots.iter().copied()).into_iter().flatten() {
        for (n, slot) in at_cache.into_iter().enumerate() {
            if n == groups.len() {
                groups.push(Set::new());
            }
            groups[n].extend(&slot.cpus);
        }
    }
    groups
}

/// Shares of the last caches for at most so many slots at one. `None` where it has no second slot, resctrl is not mounted or
/// cannot do it, or an administrator has made groups.
pub(crate) fn shares(memory: &Memory, slots: usize) -> Option<Shares> {
    let groups = memory.cache_groups.as_ref()?;
    let ours = groups.iter().all(|group| group.path.starts_with(&format!("{RESCTRL}/{CACHE_GROUP}")));
    divided(memory.cache_limits.filter(|_| ours)?, slots)
}

/// Equal shares for so many slots, from the lowest bit up. All other programs get the rest, which is at least as large and
/// has the ways of devices.
fn divided(limits: CacheLimits, slots: usize) -> Option<Shares> {
    let ways = limits.all.count_ones();
    let slots = u32::try_from(slots).ok().filter(|slots| *slots > 1)?;
    let others = (ways / (slots + 1)).max(limits.fewest);
    let devices = if limits.devices == 0 { ways } else { limits.devices.trailing_zeros() };
    let each = (ways.checked_sub(others)?.min(devices) / slots).min(others);
    let fits = each >= limits.fewest.max(1) && limits.all.trailing_ones() == ways && slots < limits.groups;
    fits.then(|| {
        let slots: Vec<u64> = (0..slots).map(|n| ((1 << each) - 1) << (n * each)).collect();
        Shares { others: limits.all & !slots.iter().fold(0, |all, mask| all | mask), slots }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_divided_evenly_and_devices_keep_theirs() {
        let limits = |all: u64, devices| CacheLimits { all, fewest: 1, devices, groups: 4 };
        let masks = |limits, slots| divided(limits, slots).map(|shares| (shares.slots, shares.others));
        for (limits, slots, expected) in [
            (limits(0xfff, 0), 2, Some((vec![0xf, 0xf0], 0xf00))),
            (limits(0x7ff, 0), 3, Some((vec![0x3, 0xc, 0x30], 0x7c0))),
            (limits(0xfff, 0xc00), 3, Some((vec![0x7, 0x38, 0x1c0], 0xe00))),
            // Ways of devices from the fifth on: two each.
            (limits(0xfff, 0xff0), 2, Some((vec![0x3, 0xc], 0xff0))),
            (limits(0xfff, 0x003), 2, None),
            (CacheLimits { fewest: 2, ..limits(0x3f, 0) }, 2, Some((vec![0x3, 0xc], 0x30))),
            (CacheLimits { fewest: 2, ..limits(0x1f, 0) }, 2, None),
            (limits(0x3, 0), 2, None),
            // Four groups are everybody's and three.
            (limits(0xffff, 0), 4, None),
        ] {
            assert_eq!(masks(limits, slots), expected, "{limits:?} {slots}");
        }
    }
}
