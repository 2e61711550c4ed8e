//! Which hierarchy owns which controller, and where we are in it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Prefix of every group we make; the keeper's pid follows.
const PREFIX: &str = "tauto-";

/// Our own group in each hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Version 1: directory of our own group, by controller.
    v1: BTreeMap<String, PathBuf>,
    /// Version 2: directory of our own group, and of the tree's root.
    v2: Option<(PathBuf, PathBuf)>,
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
        let mut layout = Layout { v1: BTreeMap::new(), v2: None };
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
        self.v1.get(controller).cloned().ok_or_else(|| format!("the {controller} controller is not mounted"))
    }

    /// Where a version 2 leaf can be made so that it has the memory and pids controllers, if any place can.
    fn v2_parent(&self) -> io::Result<PathBuf> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "no version 2 tree is mounted");
        let (own, root) = self.v2.as_ref().ok_or_else(missing)?;
        let wanted = self.wanted(own)?;
        if wanted.is_empty() || enable(own, &wanted).is_ok() {
            return Ok(own.clone());
        }
        // "No internal processes" (cgroup-v2.rst): a group with processes cannot hand controllers on. When it
        // holds ours alone, they step aside.
        if step_aside(own).and_then(|()| enable(own, &wanted)).is_ok() {
            return Ok(own.clone());
        }
        // The root of the tree is exempt from that rule; only root may write there.
        if own != root && enable(root, &wanted).is_ok() {
            return Ok(root.clone());
        }
        Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!(
                "{} cannot hand on {}; start tauto in a delegated group: systemd-run --user --scope -p Delegate=yes tauto …",
                own.display(),
                wanted.join(" and ")
            ),
        ))
    }

    /// The controllers we use that the tree has but our group does not hand on yet.
    fn wanted(&self, own: &Path) -> io::Result<Vec<String>> {
        let available = fs::read_to_string(own.join("cgroup.controllers"))?;
        let handed_on = fs::read_to_string(own.join("cgroup.subtree_control")).unwrap_or_default();
        let has = |text: &str, c: &str| text.split_whitespace().any(|w| w == c);
        Ok(["memory", "pids"]
            .into_iter()
            .filter(|c| !self.v1.contains_key(*c) && has(&available, c) && !has(&handed_on, c))
            .map(str::to_string)
            .collect())
    }

    /// Where the keeper `keeper` finds its groups. Steps aside where version 2 asks for it, and removes what keepers that
    /// were killed have left.
    pub(crate) fn places(&self, keeper: u32) -> Places {
        self.sweep();
        Places {
            name: format!("{PREFIX}{keeper}"),
            v2: self.v2_parent().map_err(|e| e.to_string()),
            memory: self.v1("memory"),
            pids: self.v1("pids"),
        }
    }

    /// Removes what a keeper that was killed, and has been waited for, has left.
    pub(crate) fn remove_groups_of(&self, keeper: u32) {
        self.parents().for_each(|parent| remove(&parent.join(format!("{PREFIX}{keeper}"))));
    }

    fn parents(&self) -> impl Iterator<Item = &PathBuf> {
        self.v1.values().chain(self.v2.iter().flat_map(|(own, root)| [own, root]))
    }

    fn sweep(&self) {
        for parent in self.parents() {
            let Ok(entries) = fs::read_dir(parent) else { continue };
            for entry in entries.flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let Some(pid) = name.strip_prefix(PREFIX).and_then(|p| p.parse::<u32>().ok()) else {
                    continue;
                };
                if !Path::new("/proc").join(pid.to_string()).exists() {
                    // Fails while anything lives in it, which is then not ours to remove.
                    let _ = fs::remove_dir(entry.path());
                }
            }
        }
    }
}

/// Parents of a slot's groups, and the name of the groups.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(super) name: String,
    pub(super) v2: Result<PathBuf, String>,
    pub(super) memory: Result<PathBuf, String>,
    pub(super) pids: Result<PathBuf, String>,
}

impl Places {
    /// Removes the groups, once nothing lives in them.
    pub(crate) fn remove(&self) {
        [&self.v2, &self.memory, &self.pids]
            .into_iter()
            .flatten()
            .for_each(|parent| remove(&parent.join(&self.name)));
    }
}

/// The last process of a group may be gone from our sight before it is gone from the group.
fn remove(group: &Path) {
    for _ in 0..100 {
        match fs::remove_dir(group) {
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) => {
                std::thread::sleep(std::time::Duration::from_millis(2))
            }
            _ => return,
        }
    }
}

fn strip_root<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    if root == "/" {
        return Some(path.trim_start_matches('/'));
    }
    let rest = path.strip_prefix(root)?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
}

fn enable(group: &Path, controllers: &[String]) -> io::Result<()> {
    let text: Vec<String> = controllers.iter().map(|c| format!("+{c}")).collect();
    fs::write(group.join("cgroup.subtree_control"), text.join(" "))
}

/// Moves this process and its parent into a child group, if the group holds nobody else.
fn step_aside(group: &Path) -> io::Result<()> {
    let ours = [std::process::id(), std::os::unix::process::parent_id()];
    let procs = fs::read_to_string(group.join("cgroup.procs"))?;
    if procs.lines().any(|l| !l.parse().is_ok_and(|pid| ours.contains(&pid))) {
        return Err(io::Error::other("other processes live in this group"));
    }
    let aside = group.join("tauto");
    if let Err(e) = fs::create_dir(&aside)
        && e.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(e);
    }
    ours.iter().try_for_each(|pid| fs::write(aside.join("cgroup.procs"), pid.to_string()))
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
        assert!(l.v2.is_none() && l.v1("memory").is_err() && l.v2_parent().is_err());
    }
}
