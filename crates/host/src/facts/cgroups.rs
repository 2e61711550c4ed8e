//! Control groups: which kind, what they can, what limits us, which slots have a partition.
//!
//! Sources: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/, scheduler/sched-bwc.rst; cgroups(7).

use super::{text, text_if_any};
use crate::cpulist::{self, Set};
use crate::machine::Machine;
use model::Reading;
use std::collections::{BTreeMap, BTreeSet};

const V2: &str = "/sys/fs/cgroup";

/// What a slot's partition is called before the number of its first CPU.
pub const PARTITION: &str = "tauto-slot-";

/// Control groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Cgroups {
    /// What is mounted.
    pub mounts: Reading<Mounts>,
    /// Controllers of the version 2 tree where it is mounted.
    pub controllers: Reading<BTreeSet<String>>,
    /// Groups of ours and above that have a quota of CPU time, ours first; a reason where they cannot be told.
    pub quotas: Reading<Vec<Quota>>,
    /// Partitions made for slots, by the first CPU of the slot.
    pub partitions: BTreeMap<u32, Partition>,
}

/// What is mounted of control groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mounts {
    /// The version 2 tree: where, and which group is its root.
    pub v2: Option<Tree>,
    /// Version 1 controllers and their trees.
    pub v1: BTreeMap<String, Tree>,
}

/// A mounted tree of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Where it is mounted.
    pub at: String,
    /// The group that is seen there.
    pub root: String,
}

/// A limit of CPU time per period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Its file.
    pub file: String,
    /// What it says, such as `50000 100000`.
    pub limit: String,
    /// Periods in which the group was stopped, since it was made.
    pub throttled: Reading<u64>,
}

/// A partition of CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its CPUs.
    pub cpus: Set,
    /// `isolated`, or `isolated invalid (why)`.
    pub state: String,
}

impl Cgroups {
    /// Reads it.
    pub fn read(machine: &Machine) -> Cgroups {
        let mounts = text(machine, "/proc/self/mountinfo").map(|info| mounted(&info));
        let quotas = mounts.clone().and_then(|mounts| {
            text(machine, "/proc/self/cgroup").map(|groups| quotas(machine, &mounts, &groups))
        });
        let v2 = mounts.known().and_then(|m| m.v2.as_ref()).map_or(V2, |tree| &tree.at);
        let words = |list: String| list.split_whitespace().map(String::from).collect();
        Cgroups {
            controllers: text(machine, &format!("{v2}/cgroup.controllers")).map(words),
            quotas,
            partitions: partitions(machine, v2),
            mounts,
        }
    }
}

/// From lines `id parent device root point options … - type source super-options`.
fn mounted(mountinfo: &str) -> Mounts {
    let mut mounts = Mounts::default();
    for line in mountinfo.lines() {
        let Some((mount, system)) = line.split_once(" - ") else { continue };
        let (mount, system): (Vec<&str>, Vec<&str>) =
            (mount.split(' ').collect(), system.split(' ').collect());
        let ([_, _, _, root, at, ..], [kind, _, options, ..]) = (&mount[..], &system[..]) else { continue };
        let tree = Tree { at: at.to_string(), root: root.to_string() };
        match *kind {
            "cgroup2" => drop(mounts.v2.get_or_insert(tree)),
            "cgroup" => {
                let flags = ["rw", "ro", "xattr", "none", "clone_children", "noprefix"];
                let ours = |o: &&str| !flags.contains(o) && !o.contains('=');
                mounts.v1.extend(options.split(',').filter(ours).map(|o| (o.to_string(), tree.clone())));
            }
            _ => {}
        }
    }
    mounts
}

fn quotas(machine: &Machine, mounts: &Mounts, groups: &str) -> Vec<Quota> {
    let group = |wanted: &dyn Fn(&str, &str) -> bool| {
        groups.lines().find_map(|line| {
            let (id, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            wanted(id, controllers).then(|| path.to_string())
        })
    };
    let v1 = mounts.v1.get("cpu").zip(group(&|_, controllers| controllers.split(',').any(|c| c == "cpu")));
    let v2 = mounts.v2.as_ref().zip(group(&|id, controllers| id == "0" && controllers.is_empty()));
    let v1 = v1.into_iter().flat_map(|(tree, path)| upwards(tree, &path)).filter_map(|dir| {
        let quota: i64 = machine.number(&format!("{dir}/cpu.cfs_quota_us")).ok()?;
        let period = machine.read(&format!("{dir}/cpu.cfs_period_us")).unwrap_or_default();
        (quota > 0).then(|| (format!("{dir}/cpu.cfs_quota_us"), format!("{quota} of {period}"), dir))
    });
    let v2 = v2.into_iter().flat_map(|(tree, path)| upwards(tree, &path)).filter_map(|dir| {
        let limit = machine.read(&format!("{dir}/cpu.max")).ok()?;
        (!limit.starts_with("max")).then(|| (format!("{dir}/cpu.max"), limit.replace(' ', " of "), dir))
    });
    let quota = |(file, limit, dir): (String, String, String)| {
        let stat = format!("{dir}/cpu.stat");
        let count = |text: String| {
            let count = text.lines().find_map(|line| line.strip_prefix("nr_throttled ")?.parse().ok());
            Reading::from_option(count, || format!("{stat} does not count it"))
        };
        let throttled = text(machine, &stat).and_then(count);
        Quota { file, limit, throttled }
    };
    v1.chain(v2).map(quota).collect()
}

/// Directories of a group and of all above it, as far as they are seen.
fn upwards(tree: &Tree, path: &str) -> Vec<String> {
    let below = path.strip_prefix(tree.root.trim_end_matches('/')).unwrap_or(path);
    let mut rest = below.trim_matches('/');
    let mut directories = Vec::new();
    while !rest.is_empty() {
        directories.push(format!("{}/{rest}", tree.at));
        rest = rest.rsplit_once('/').map_or("", |(above, _)| above);
    }
    directories.push(tree.at.clone());
    directories
}

fn partitions(machine: &Machine, v2: &str) -> BTreeMap<u32, Partition> {
    let names = machine.list(v2).unwrap_or_default();
    let partition = |name: &String| {
        let first = name.strip_prefix(PARTITION)?.parse().ok()?;
        let cpus = cpulist::parse(&machine.read(&format!("{v2}/{name}/cpuset.cpus")).ok()?)?;
        let state = text_if_any(machine, &format!("{v2}/{name}/cpuset.cpus.partition"))?;
        Some((first, Partition { cpus, state: state.known()?.clone() }))
    };
    names.iter().filter_map(partition).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mounted() {
        let mounts = mounted(
            "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
             32 31 0:29 /docker/1 /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
             40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n\
             41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n",
        );
        let tree = |at: &str, root: &str| Tree { at: at.into(), root: root.into() };
        assert_eq!(mounts.v2, Some(tree("/sys/fs/cgroup/unified", "/")));
        let cpu = tree("/sys/fs/cgroup/cpu,cpuacct", "/docker/1");
        assert_eq!(mounts.v1, [("cpu".into(), cpu.clone()), ("cpuacct".into(), cpu.clone())].into());
        assert_eq!(
            upwards(&cpu, "/docker/1/a/b"),
            ["/sys/fs/cgroup/cpu,cpuacct/a/b", "/sys/fs/cgroup/cpu,cpuacct/a", "/sys/fs/cgroup/cpu,cpuacct"]
        );
    }
}
