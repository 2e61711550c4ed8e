//! Isolated partitions: control groups of version 2 that take a slot's CPUs from everybody else.
//!
//! Source: Documentation/admin-guide/cgroup-v2.rst, "Cpuset Interface Files".

use super::plan::{View, change};
use super::target::{ABSENT, OFF, ON, PRESENT};
use super::tasks;
use super::{Change, Form, Target};
use crate::cpulist::{self, Set};
use crate::facts::{Cgroups, PARTITION};
use crate::machine::Machine;
use model::Slot;

const ID: &str = "isolated_cpus";

/// The control group that holds a slot's CPUs below the root of version 2, whether it is there or not; `None` where no
/// partition can be made: no version 2, or version 1 has the cpuset controller.
pub fn group_of(machine: &Machine, slot: &Slot) -> Option<String> {
    let first = slot.cpus.first()?;
    Some(format!("{}/{PARTITION}{first}", root(machine)?))
}

/// The root of version 2, if partitions can be made below it.
fn root(machine: &Machine) -> Option<String> {
    let cgroups = Cgroups::read(machine);
    let tree = cgroups.mounts.known().and_then(|mounts| mounts.v2.clone());
    let root = tree.map_or("/sys/fs/cgroup".to_string(), |tree| tree.at);
    // What shows itself as a group is a container's part of the tree: only a partition's own children can be partitions.
    let partition = machine.read(&format!("{root}/cpuset.cpus.partition"));
    let whole = partition.map_or(true, |state| state == "root" || state == "isolated");
    let cpusets = cgroups.controllers.known().is_some_and(|all| all.contains("cpuset"));
    (whole && cpusets).then_some(root)
}

pub(super) fn changes(view: &View<'_>) -> Vec<Change> {
    if !view.config.chosen(ID) {
        return Vec::new();
    }
    let groups: Vec<(String, Set)> = view
        .slots
        .iter()
        .filter_map(|slot| Some((group_of(view.machine, slot)?, slot.all_cpus().into_iter().collect())))
        .collect();
    let mut changes: Vec<Change> =
        groups.iter().flat_map(|(group, cpus)| partition(view, group, cpus)).collect();
    if !changes.is_empty() {
        changes.splice(0..0, tasks::kept(view, ID).into_iter().chain(controller(view)));
    }
    changes
}

/// The controller is handed down from the root.
fn controller(view: &View<'_>) -> Option<Change> {
    let path = format!("{}/cgroup.subtree_control", root(view.machine)?);
    let handed_down = view.value(&path, Form::Text)?;
    let off = handed_down.split_whitespace().all(|name| name != "cpuset");
    off.then(|| change(ID, Target::Controller { path, name: "cpuset".into() }, OFF, ON))
}

fn partition(view: &View<'_>, group: &str, cpus: &Set) -> Vec<Change> {
    let missing = view.machine.list(group).is_err();
    // What the kernel gives a new group.
    let value = |name: &str, new: &str| {
        view.value(&format!("{group}/{name}"), Form::Text).unwrap_or_else(|| new.to_string())
    };
    let (held, state) = (value("cpuset.cpus", ""), value("cpuset.cpus.partition", "member"));
    let list = Target::File { path: format!("{group}/cpuset.cpus"), form: Form::Cpus };
    let partition = Target::file(format!("{group}/cpuset.cpus.partition"));
    let mut changes = Vec::new();
    if missing {
        changes.push(change(ID, Target::Directory(group.into()), ABSENT, PRESENT));
    }
    // Siblings that are offline are no part of the slot, and may be of the group.
    if !cpulist::parse(&held).unwrap_or_default().is_superset(cpus) {
        changes.push(change(ID, list, &held, &cpulist::to_list(cpus)));
    }
    if state != "isolated" {
        changes.push(change(ID, partition, &state, "isolated"));
    }
    changes
}
