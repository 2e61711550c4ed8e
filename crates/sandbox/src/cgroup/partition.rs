//! A slot's isolated partition, made by `tauto tune apply`.
//!
//! Runs never make one: on kernels such as 6.1 that rewrites the affinity of every task outside, and removing the
//! partition does not put it back. Tuning journals those affinities; a run must leave the machine as it was.
//!
//! Source: Documentation/admin-guide/cgroup-v2.rst, "Cpuset Interface Files".

use model::Slot;
use std::fs;
use std::path::{Path, PathBuf};

/// Followed by the first CPU of the slot. The same in `host::tune`, which makes them.
const PREFIX: &str = "tauto-slot-";
/// Says whether a group is an isolated partition; kernels add the reason where it has become invalid.
pub(super) const STATE: &str = "cpuset.cpus.partition";
/// What that file holds when it is.
pub(super) const ISOLATED: &str = "isolated";

/// The slot's partition: it is isolated now and holds every CPU of the slot. Otherwise why there is none.
pub(super) fn find(root: &Path, slot: &Slot) -> Result<PathBuf, String> {
    let controllers = fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
    if !controllers.split_whitespace().any(|c| c == "cpuset") {
        let root = root.display();
        return Err(format!("no partitions: the cpuset controller is not in the version 2 tree {root}"));
    }
    let first = slot.cpus.first().ok_or("the slot has no CPU")?;
    let partition = root.join(format!("{PREFIX}{first}"));
    let read = |name: &str| fs::read_to_string(partition.join(name)).map(|text| text.trim().to_string());
    let remedy = "`tauto tune apply --only isolated_cpus` makes one";
    let none = |_| format!("no isolated partition {}; {remedy}", partition.display());
    let state = read(STATE).map_err(none)?;
    if state != ISOLATED {
        return Err(format!("the partition {} is `{state}`; {remedy}", partition.display()));
    }
    let cpus = read("cpuset.cpus").map_err(none)?;
    match all_in(&slot.all_cpus(), &cpus) {
        true => Ok(partition),
        false => {
            Err(format!("the partition {} holds CPUs {cpus}, not all of the slot's", partition.display()))
        }
    }
}

/// Every directory that has the name of a partition.
pub(super) fn all(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    named.map(|entry| entry.path()).collect()
}

/// Whether a list of the kernel, such as `0-3,8`, holds all of these CPUs.
pub(super) fn all_in(cpus: &[u32], list: &str) -> bool {
    let listed = model::cpulist::parse(list).unwrap_or_default();
    !cpus.is_empty() && cpus.iter().all(|cpu| listed.contains(cpu))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Isolation;

    fn slot(cpus: &[u32], idle_siblings: &[u32]) -> Slot {
        Slot {
            id: 0,
            cpus: cpus.into(),
            idle_siblings: idle_siblings.into(),
            mem_nodes: vec![],
            package: 0,
            isolation: Isolation::Partition,
        }
    }

    #[test]
    fn only_an_isolated_partition_of_all_its_cpus_counts() {
        let root = tempfile::tempdir().unwrap();
        let partition = root.path().join("tauto-slot-4");
        assert!(find(root.path(), &slot(&[4], &[5])).unwrap_err().contains("cpuset controller"));
        fs::write(root.path().join("cgroup.controllers"), "cpu cpuset memory\n").unwrap();
        let found = |slot: &Slot| {
            find(root.path(), slot).map_err(|why| why.split(' ').next().unwrap_or("").to_string())
        };
        assert!(find(root.path(), &slot(&[4], &[5])).unwrap_err().contains("tauto tune apply"));
        fs::create_dir(&partition).unwrap();
        for (state, cpus, good) in [
            ("isolated\n", "4-5\n", true),
            ("isolated\n", "4\n", false),
            ("isolated invalid (Cpu list in cpuset.cpus not exclusive)\n", "4-5\n", false),
            ("member\n", "4-5\n", false),
        ] {
            fs::write(partition.join(STATE), state).unwrap();
            fs::write(partition.join("cpuset.cpus"), cpus).unwrap();
            assert_eq!(found(&slot(&[4], &[5])).is_ok(), good, "{state} {cpus}");
        }
        assert!(found(&slot(&[6], &[])).is_err() && found(&slot(&[], &[])).is_err());
        assert_eq!(all(root.path()), [partition]);
    }
}
