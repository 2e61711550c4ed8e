//! Quotas of CPU time that hold our runs back: of our own group and of those around it.
//!
//! Sources: Documentation/scheduler/sched-bwc.rst for version 1, Documentation/admin-guide/cgroup-v2.rst ("CPU Interface
//! Files") for version 2.

use std::fs;
use std::path::{Path, PathBuf};

/// Where quotas were looked for and what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Quotas {
    /// Groups that count for how long a quota has held them back. One that has none now may be given one later.
    pub(super) groups: Vec<PathBuf>,
    /// None of them has one now, and there may be others that cannot be seen: why.
    pub(super) hidden: Option<String>,
}

/// Looks in a group and all around it up to the root of what is mounted, in the hierarchy of the cpu controller.
pub(super) fn find(own: &Path, root: &Path) -> Quotas {
    let around = own.ancestors().take_while(|dir| dir.starts_with(root));
    let groups: Vec<PathBuf> = around.filter(|dir| counts(dir)).map(Path::to_path_buf).collect();
    // Only the root of the whole tree has no such files: where it has, we see a part of the tree.
    let part = ["cpu.max", "cpu.cfs_quota_us"].iter().any(|name| root.join(name).exists());
    let inside = part && root.join("cpu.max").exists();
    let hidden = (inside && !groups.iter().any(|dir| has_quota(dir)))
        .then(|| format!("groups around {} cannot be seen and may have a CPU quota", root.display()));
    Quotas { groups, hidden }
}

fn counts(group: &Path) -> bool {
    fs::read_to_string(group.join("cpu.stat")).is_ok_and(|text| throttled(&text).is_some())
}

fn has_quota(group: &Path) -> bool {
    let read = |name: &str| fs::read_to_string(group.join(name)).ok();
    let v1 =
        read("cpu.cfs_quota_us").and_then(|text| text.trim().parse::<i64>().ok()).is_some_and(|us| us > 0);
    v1 || read("cpu.max").is_some_and(|text| !text.starts_with("max"))
}

/// Nanoseconds for which a group was held back, from its `cpu.stat`: `throttled_time` in nanoseconds (version 1) or
/// `throttled_usec` (version 2).
pub(super) fn throttled(cpu_stat: &str) -> Option<u64> {
    let field =
        |name: &str| cpu_stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    field("throttled_time ").or_else(|| Some(field("throttled_usec ")?.saturating_mul(1000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_can_hold_us_back_is_looked_at() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        assert_eq!(find(&inner, root.path()), Quotas::default());
        // Without the controller.
        fs::write(inner.join("cpu.stat"), "usage_usec 1\n").unwrap();
        assert_eq!(find(&inner, root.path()), Quotas::default());
        // With it, and without a quota: there may be one later.
        fs::write(root.path().join("a/cpu.stat"), "usage_usec 1\nthrottled_usec 0\n").unwrap();
        fs::write(root.path().join("a/cpu.max"), "max 100000\n").unwrap();
        assert_eq!(find(&inner, root.path()).groups, [root.path().join("a")]);
        fs::write(inner.join("cpu.stat"), "nr_throttled 0\nthrottled_time 0\n").unwrap();
        assert_eq!(find(&inner, root.path()).groups, [inner.clone(), root.path().join("a")]);
        // A part of the tree: what is around it may have one, unless we see one.
        fs::write(root.path().join("cpu.max"), "max 100000\n").unwrap();
        assert!(find(&inner, root.path()).hidden.is_some());
        fs::write(inner.join("cpu.cfs_quota_us"), "20000\n").unwrap();
        assert!(find(&inner, root.path()).hidden.is_none());
    }

    #[test]
    fn both_versions_count_the_time() {
        assert_eq!(throttled("nr_periods 5\nnr_throttled 2\nthrottled_time 1500\n"), Some(1500));
        assert_eq!(throttled("usage_usec 9\nthrottled_usec 3\n"), Some(3000));
        assert_eq!(throttled("usage_usec 9\n"), None);
    }
}
