//! Parts of the last cache for slots that share one: groups of resctrl whose part no other program fills.
//!
//! Source: Documentation/filesystems/resctrl.rst, "Resource alloc and monitor groups", "Cache Bit Masks (CBM)" and the
//! files of `info`.

use super::plan::{View, change};
use super::target::{ABSENT, PRESENT, ways};
use super::{Change, Form, Target};
use crate::cpulist::{self, Set};
use crate::facts::{RESCTRL, Topology};
use std::collections::BTreeMap;

const ID: &str = "cache_partition";

/// How the ways of a last cache are parted: bit masks, of which none has a bit of another.
#[derive(Debug, PartialEq, Eq)]
struct Parts {
    /// The part of everybody else.
    others: u64,
    /// One for each slot at the same cache.
    slots: Vec<u64>,
}

/// What the processor can do with masks.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// All ways.
    all: u64,
    /// Fewest bits of a mask.
    fewest: u32,
    /// Ways that devices use, too: no group has them to itself.
    devices: u64,
    /// Most groups, the first of which is everybody's.
    groups: u32,
}

/// A group for the first slot of each last cache, one for the second, and so on: slots of different caches are not in each
/// other's way, and processors know few groups.
pub(super) fn changes(view: &View<'_>) -> Vec<Change> {
    let schemata = format!("{RESCTRL}/schemata");
    let found = view.value(&schemata, Form::Cache).unwrap_or_default();
    let Some(caches) = ways(&found) else { return Vec::new() };
    let sharing = sharing(view);
    let parts = limits(view).and_then(|limits| parts(limits, sharing.len()));
    let Some(parts) = parts.filter(|_| !others_part(view)) else { return Vec::new() };
    let everywhere = |mask: u64| {
        let each = caches.iter().map(|(cache, _)| format!("{cache}={mask:x}"));
        format!("L3:{}", each.collect::<Vec<_>>().join(";"))
    };
    let mut changes: Vec<Change> =
        view.file(ID, &schemata, Form::Cache, &everywhere(parts.others)).into_iter().collect();
    for (rank, (mask, cpus)) in parts.slots.iter().zip(&sharing).enumerate() {
        let group = format!("{RESCTRL}/{GROUP}{rank}");
        // A new group's part is what the kernel finds unused; it goes with the group.
        let new = view.machine.list(&group).is_err();
        if new {
            changes.push(change(ID, Target::Directory(group.clone()), ABSENT, PRESENT));
        }
        let files = [
            ("schemata", Form::Cache, found.clone(), everywhere(*mask)),
            ("cpus_list", Form::Cpus, String::new(), cpulist::to_list(cpus)),
            ("mode", Form::Text, "shareable".into(), "exclusive".into()),
        ];
        for (name, form, at_first, want) in files {
            let path = format!("{group}/{name}");
            let now = view.value(&path, form).unwrap_or(at_first);
            let target = Target::File { path, form };
            changes.extend((!form.same(&now, &want)).then(|| change(ID, target, &now, &want)));
        }
    }
    changes
}

/// Names of our groups begin with this.
const GROUP: &str = "tauto-slot-";

/// The CPUs of the first slot of each last cache, of the second, and so on. Not their siblings: nothing is judged there, and a CPU
/// that goes offline leaves its group.
fn sharing(view: &View<'_>) -> Vec<Set> {
    let topology = Topology::read(view.machine).unwrap_or_default();
    let mut at_cache: BTreeMap<Set, usize> = BTreeMap::new();
    let mut ranks: Vec<Set> = Vec::new();
    for slot in &view.slots {
        let caches = slot.cpus.first().and_then(|cpu| topology.cpus.get(cpu)).map(|cpu| &cpu.caches);
        let Some(last) = caches.and_then(|caches| caches.last()).filter(|cache| cache.level == 3) else {
            return Vec::new();
        };
        let rank = at_cache.entry(last.shared.clone()).or_default();
        if *rank == ranks.len() {
            ranks.push(Set::new());
        }
        ranks[*rank].extend(&slot.cpus);
        *rank += 1;
    }
    ranks
}

/// Whether somebody else has made groups: then the parts are theirs to choose.
fn others_part(view: &View<'_>) -> bool {
    let groups = view.machine.list(RESCTRL).unwrap_or_default();
    let mut others = groups.iter().filter(|name| !name.starts_with(GROUP));
    others.any(|name| view.machine.read(&format!("{RESCTRL}/{name}/cpus_list")).is_ok())
}

fn limits(view: &View<'_>) -> Option<Limits> {
    let text = |name: &str| view.value(&format!("{RESCTRL}/info/L3/{name}"), Form::Text);
    let mask = |name: &str| u64::from_str_radix(&text(name)?, 16).ok();
    Some(Limits {
        all: mask("cbm_mask")?,
        fewest: text("min_cbm_bits")?.parse().ok()?,
        devices: mask("shareable_bits").unwrap_or(0),
        groups: text("num_closids")?.parse().ok()?,
    })
}

/// Equal parts for so many slots, from the lowest way up; the rest, at least as much, for everybody else. `None` where no two
/// share a cache, there are too few ways or groups, or devices use ways at the bottom.
fn parts(limits: Limits, slots: usize) -> Option<Parts> {
    let ways = limits.all.count_ones();
    let slots = u32::try_from(slots).ok().filter(|slots| *slots > 1)?;
    let others = (ways / (slots + 1)).max(limits.fewest);
    let devices = if limits.devices == 0 { ways } else { limits.devices.trailing_zeros() };
    let each = (ways.checked_sub(others)?.min(devices) / slots).min(others);
    let fits = each >= limits.fewest.max(1) && limits.all.trailing_ones() == ways && slots < limits.groups;
    let part = |n: u32| ((1 << each) - 1) << (n * each);
    let slots: Vec<u64> = (0..slots).map(part).collect();
    fits.then(|| Parts { others: limits.all & !slots.iter().fold(0, |all, part| all | part), slots })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_parted_evenly_and_devices_keep_theirs() {
        let limits = |all: u64, devices| Limits { all, fewest: 1, devices, groups: 4 };
        let parted = |limits, slots| parts(limits, slots).map(|parts| (parts.slots, parts.others));
        for (limits, slots, expected) in [
            (limits(0xfff, 0), 2, Some((vec![0xf, 0xf0], 0xf00))),
            (limits(0x7ff, 0), 3, Some((vec![0x3, 0xc, 0x30], 0x7c0))),
            (limits(0xfff, 0xc00), 3, Some((vec![0x7, 0x38, 0x1c0], 0xe00))),
            // Ways of devices from the fifth on: two each.
            (limits(0xfff, 0xff0), 2, Some((vec![0x3, 0xc], 0xff0))),
            (limits(0xfff, 0x003), 2, None),
            (Limits { fewest: 2, ..limits(0x3f, 0) }, 2, Some((vec![0x3, 0xc], 0x30))),
            (Limits { fewest: 2, ..limits(0x1f, 0) }, 2, None),
            (limits(0x3, 0), 2, None),
            // Four groups are everybody's and three.
            (limits(0xffff, 0), 4, None),
        ] {
            assert_eq!(parted(limits, slots), expected, "{limits:?} {slots}");
        }
    }
}
