//! Which hierarchy owns which controller, and where we are in it.

use super::file::SETTLING;
use super::quota::{self, Quotas};
use super::{leaf_parent, partition};
use model::Slot;
use os::retry::{CONTROLLING, repeat};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Prefix of every group we make; the keeper's pid and its pid namespace follow.
const PREFIX: &str = "tauto-";
/// Suffix of the name of every second group that one slot makes.
const OTHER: &str = "-b";

const REMEDY: &str = "start tauto in a delegated group: systemd-run --user --scope -p Delegate=yes tauto …";

/// Our own group in each hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Version 1: directory of our own group, by controller.
    v1: BTreeMap<String, PathBuf>,
    /// Version 2: directory of our own group, and of the tree's root.
    v2: Option<(PathBuf, PathBuf)>,
    /// Where the hierarchy of the version 1 cpu controller is mounted.
    cpu: Option<PathBuf>,
}

impl Layout {
    /// Reads the layout of this process.
    pub(crate) fn of_self(proc: &Path) -> io::Result<Layout> {
        let read = |name: &str| fs::read_to_string(proc.join("self").join(name));
        Ok(Layout::parse(&read("cgroup")?, &read("mountinfo")?))
    }

    /// From the texts of /proc/self/cgroup (cgroups(7)) and /proc/self/mountinfo (proc(5)).
    pub(crate) fn parse(cgroup: &str, mountinfo: &str) -> Layout {
        let mut mounts: BTreeMap<String, (PathBuf, String)> = BTreeMap::new();
        for line in mountinfo.lines() {
            let Some((left, right)) = line.split_once(" - ") else { continue };
            let fields: Vec<&str> = left.split(' ').collect();
            let kind: Vec<&str> = right.split(' ').collect();
            let (Some(root), Some(point)) = (fields.get(3), fields.get(4)) else { continue };
            let place = (PathBuf::from(point), root.to_string());
            match kind.as_slice() {
                ["cgroup2", ..] => {
                    mounts.entry(String::new()).or_insert(place);
                }
                ["cgroup", _, options, ..] => options.split(',').for_each(|o| {
                    mounts.entry(o.to_string()).or_insert(place.clone());
                }),
                _ => {}
            }
        }
        let cpu = mounts.get("cpu").map(|(point, _)| point.clone());
        let mut layout = Layout { v1: BTreeMap::new(), v2: None, cpu };
        for line in cgroup.lines() {
            let mut parts = line.splitn(3, ':');
            let (_, Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            for controller in controllers.split(',') {
                let Some((point, root)) = mounts.get(controller) else { continue };
                let Some(below) = strip_root(path, root) else { continue };
                let own = if below.is_empty() { point.clone() } else { point.join(below) };
                if controller.is_empty() {
                    layout.v2 = Some((own, point.clone()));
                } else {
                    layout.v1.insert(controller.to_string(), own);
                }
            }
        }
        layout
    }

    /// Directory of our own group in the hierarchy of a version 1 controller.
    fn v1(&self, controller: &str) -> Result<PathBuf, String> {
        let missing = || match &self.v2 {
            Some((own, _)) => format!("{} cannot hand on the {controller} controller", own.display()),
            None => format!("the {controller} controller is not mounted"),
        };
        self.v1.get(controller).cloned().ok_or_else(missing)
    }

    /// Makes the version 2 leaf and returns its parent: the slot's isolated partition where there is one.
    fn v2_leaf(&self, name: &str, slot: Option<&Slot>) -> Result<(PathBuf, Rung), String> {
        let (own, root) = self.v2.as_ref().ok_or("no version 2 tree is mounted")?;
        let wanted = ["memory", "pids"].into_iter().chain(slot.map(|_| "cpuset"));
        let needed: Vec<&str> = wanted.filter(|c| !self.v1.contains_key(*c)).collect();
        let partition = slot.map(|slot| partition::find(root, slot));
        let outside = match partition {
            Some(Ok(partition)) => match leaf_parent::make_inside(&partition, root, &needed, name) {
                Ok(()) => return Ok((partition, Rung::Partition)),
                Err(e) => Some(format!("{} takes no group of ours: {e}", partition.display())),
            },
            Some(Err(why)) => Some(why),
            None => None,
        };
        let home = leaf_parent::home(own, root);
        let parent =
            leaf_parent::make_leaf(&home, root, &needed, name).map_err(|e| format!("{e}; {REMEDY}"))?;
        Ok((parent, outside.map_or(Rung::NoSlot, Rung::Outside)))
    }

    /// Where the keeper `keeper` finds its groups. Makes the version 2 leaf, and removes what keepers that were killed
    /// have left.
    pub(crate) fn places(&self, keeper: u32, slot: Option<&Slot>) -> Places {
        let namespace = pid_namespace();
        sweep(&self.parents(), namespace);
        let name = group_name(keeper, namespace);
        let (v2, rung) = match self.v2_leaf(&name, slot) {
            Ok((parent, rung)) => (Ok(parent), rung),
            Err(why) => (Err(why.clone()), slot.map_or(Rung::NoSlot, |_| Rung::Outside(why))),
        };
        let (memory, pids) = (self.v1("memory"), self.v1("pids"));
        Places { v2, rung, slot: slot.cloned(), memory, pids, quotas: self.quotas(), name }
    }

    /// Quotas of CPU time above us; `None`: no hierarchy has the controller.
    fn quotas(&self) -> Option<Quotas> {
        match (self.v1.get("cpu"), &self.cpu, &self.v2) {
            (Some(own), Some(root), _) => Some(quota::find(own, root)),
            (_, _, Some((own, root))) => Some(quota::find(own, root)),
            _ => None,
        }
    }

    /// Removes what a keeper that was killed, and has been waited for, has left.
    pub(crate) fn remove_groups_of(&self, keeper: u32) {
        let name = group_name(keeper, pid_namespace());
        self.parents().iter().for_each(|parent| remove(parent, &name));
        if let Some((own, root)) = &self.v2 {
            leaf_parent::tidy(&leaf_parent::home(own, root));
        }
    }

    fn parents(&self) -> Vec<PathBuf> {
        let v2 = self.v2.iter().flat_map(|(own, root)| {
            [leaf_parent::home(own, root), root.clone()].into_iter().chain(partition::all(root))
        });
        self.v1.values().cloned().chain(v2).collect()
    }
}

/// Containers may share a tree of groups, and a pid says who it is in one pid namespace only.
fn group_name(keeper: u32, namespace: u64) -> String {
    format!("{PREFIX}{keeper}.{namespace}")
}

/// The number of this process's pid namespace (namespaces(7)), 0 where it cannot be read.
fn pid_namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
}

/// Removes what keepers of this pid namespace that were killed have left. Whether those of another one live cannot be seen here.
fn sweep(parents: &[PathBuf], namespace: u64) {
    let entries = parents.iter().filter_map(|parent| fs::read_dir(parent).ok()).flatten().flatten();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let numbers = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()?.split_once('.'));
        let Some((pid, of)) = numbers else { continue };
        let dead = pid.parse::<u32>().is_ok_and(|pid| !Path::new("/proc").join(pid.to_string()).exists());
        if dead && of.parse() == Ok(namespace) {
            // Fails while anything lives in it, which is then not ours to remove.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Where the version 2 leaf stands.
#[derive(Clone, Debug)]
pub(super) enum Rung {
    /// No slot was asked for.
    NoSlot,
    /// In the slot's isolated partition.
    Partition,
    /// In no partition, for this reason.
    Outside(String),
}

/// Parents of a slot's groups, and the name of the groups.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(super) name: String,
    pub(crate) slot: Option<Slot>,
    pub(super) rung: Rung,
    pub(super) quotas: Option<Quotas>,
    pub(super) v2: Result<PathBuf, String>,
    pub(super) memory: Result<PathBuf, String>,
    pub(super) pids: Result<PathBuf, String>,
}

impl Places {
    /// Removes the groups, once nothing lives in them.
    pub(crate) fn remove(&self) {
        let parents = [&self.v2, &self.memory, &self.pids].into_iter().flatten();
        parents.for_each(|parent| remove(parent, &self.name));
        if let Ok(parent) = &self.v2 {
            leaf_parent::tidy(parent);
        }
    }
}

/// Removes both groups a slot may have.
fn remove(parent: &Path, name: &str) {
    for group in [parent.join(name), parent.join(other_name(name))] {
        let _ = repeat(CONTROLLING, SETTLING, || fs::remove_dir(&group));
    }
}

/// The name of the group that takes turns with the one of this name.
pub(super) fn other_name(name: &str) -> String {
    match name.strip_suffix(OTHER) {
        Some(first) => first.into(),
        None => format!("{name}{OTHER}"),
    }
}

fn strip_root<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    if root == "/" {
        return Some(path.trim_start_matches('/'));
    }
    let rest = path.strip_prefix(root)?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

    #[test]
    fn hybrid_layout_finds_our_own_groups() {
        let l = Layout::parse("4:memory:/a/b\n2:cpu,cpuacct:/\n0::/\n", HYBRID);
        assert_eq!(l.v1("memory").unwrap(), PathBuf::from("/sys/fs/cgroup/memory/a/b"));
        assert_eq!(l.v1("cpuacct").unwrap(), PathBuf::from("/sys/fs/cgroup/cpu,cpuacct"));
        assert!(l.v1("pids").is_err());
        assert_eq!(l.v2.unwrap().0, Path::new("/sys/fs/cgroup/unified"));
    }

    #[test]
    fn a_container_sees_its_part_of_the_tree_as_mounted() {
        let mounts = "30 29 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw";
        let l = Layout::parse("0::/docker/abc/inner\n", mounts);
        assert_eq!(l.v2.unwrap().0, Path::new("/sys/fs/cgroup/inner"));
    }

    #[test]
    fn without_any_hierarchy_there_is_none() {
        let l = Layout::parse("", "");
        assert!(l.v2.is_none() && l.v1("memory").is_err() && l.v2_leaf("tauto-1", None).is_err());
    }

    #[test]
    fn a_slot_has_two_names_in_turn() {
        assert_eq!(other_name("tauto-7"), "tauto-7-b");
        assert_eq!(other_name(&other_name("tauto-7")), "tauto-7");
    }

    #[test]
    fn where_a_slot_cannot_be_is_told_with_the_remedy() {
        let l = Layout::parse("0::/a\n", "30 29 0:26 / /nowhere/cgroup rw - cgroup2 cgroup rw");
        let why = l.v2_leaf("tauto-1", None).unwrap_err();
        assert!(why.contains("/nowhere/cgroup/a") && why.contains("Delegate=yes"), "{why}");
        assert!(l.v1("memory").unwrap_err().contains("cannot hand on the memory controller"));
    }

    #[test]
    fn only_groups_of_dead_keepers_of_this_namespace_are_swept() {
        let parent = tempfile::tempdir().unwrap();
        // No pid is that great (proc(5), pid_max).
        let (own, dead) = (pid_namespace(), u32::MAX);
        let [swept, second] = [group_name(dead, own), other_name(&group_name(dead, own))];
        let kept = [group_name(1, own), group_name(dead, own + 1), format!("{PREFIX}slot-4")];
        for name in kept.iter().chain([&swept, &second]) {
            fs::create_dir(parent.path().join(name)).unwrap();
        }
        sweep(&[parent.path().into(), "/nowhere".into()], own);
        let stays = |name: &String| parent.path().join(name).exists();
        assert!(kept.iter().all(stays) && !stays(&swept) && !stays(&second));
    }
}
