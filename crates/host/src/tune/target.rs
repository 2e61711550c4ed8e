//! What can be changed, and the forms in which values are written and read back.

use crate::cpulist::{self, Set};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Something whose value is a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A file of the kernel.
    File {
        /// Its absolute path.
        path: String,
        /// How its values are written.
        form: Form,
    },
    /// A controller that a control group hands down to its children: `on` or `off`.
    Controller {
        /// The file, `cgroup.subtree_control`.
        path: String,
        /// The controller.
        name: String,
    },
    /// A directory, most often a control group: `present` or `absent`.
    Directory(String),
    /// A file of the system's configuration, with all its content; or `absent`.
    Whole(String),
    /// The CPUs a task may use, as a list.
    Task {
        /// Its id.
        pid: u32,
        /// When it started, in clock ticks since the start of the system: ids are used again.
        started: u64,
        /// Its name.
        comm: String,
    },
    /// A service: `active` or `inactive`.
    Service(String),
}

/// Value of a controller that is handed down.
pub(super) const ON: &str = "on";
/// Value of a controller that is not handed down.
pub(super) const OFF: &str = "off";
/// Value of a directory that is there.
pub(super) const PRESENT: &str = "present";
/// Value of a directory or file that is not there.
pub(super) const ABSENT: &str = "absent";
/// Value of a service that runs.
pub(super) const ACTIVE: &str = "active";
/// Value of a service that does not run.
pub(super) const INACTIVE: &str = "inactive";

impl Target {
    /// A file with a plain value.
    pub(super) fn file(path: impl Into<String>) -> Target {
        Target::File { path: path.into(), form: Form::Text }
    }

    /// Whether two values mean the same.
    pub(super) fn same(&self, a: &str, b: &str) -> bool {
        match self {
            Target::File { form, .. } => form.same(a, b),
            Target::Task { .. } => Form::Cpus.same(a, b),
            _ => a == b,
        }
    }

    /// Whether it outlives a restart of the system.
    pub(super) fn persists(&self) -> bool {
        matches!(self, Target::Whole(_))
            || matches!(self, Target::Directory(path) if path.starts_with("/etc/"))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::File { path, .. } | Target::Directory(path) | Target::Whole(path) => f.write_str(path),
            Target::Controller { path, name } => write!(f, "{path} ({name})"),
            Target::Task { pid, comm, .. } => write!(f, "CPUs of {pid} ({comm})"),
            Target::Service(name) => write!(f, "service {name}"),
        }
    }
}

/// How the values of a file are written and read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Read back as written.
    Text,
    /// One of several words; read back as all of them, the one in force in brackets: `always [madvise] never`.
    Choice,
    /// A list of CPUs: `0-3,8`.
    Cpus,
    /// A mask of CPUs: `ff`, read back with the kernel's own width.
    Mask,
    /// The ways of each last cache: `L3:0=ff;1=ff`, read back among lines of other resources and with the kernel's own width
    /// (Documentation/filesystems/resctrl.rst, "Schemata files").
    Cache,
}

impl Form {
    /// The value in a file's text.
    pub(super) fn value(self, text: &str) -> String {
        let chosen = |text: &str| Some(text.split_once('[')?.1.split_once(']')?.0.to_string());
        let line =
            |text: &str| text.lines().map(str::trim).find(|line| line.starts_with("L3:")).map(String::from);
        match self {
            Form::Choice => chosen(text).unwrap_or_else(|| text.trim().to_string()),
            Form::Cache => line(text).unwrap_or_default(),
            _ => text.trim().to_string(),
        }
    }

    /// Whether two values mean the same.
    pub(super) fn same(self, a: &str, b: &str) -> bool {
        let ways = |value| if self == Form::Cache { ways(value) } else { None };
        a == b
            || matches!((self.cpus(a), self.cpus(b)), (Some(a), Some(b)) if a == b)
            || matches!((ways(a), ways(b)), (Some(a), Some(b)) if a == b)
    }

    /// The CPUs a value names, in a form that names CPUs.
    pub(super) fn cpus(self, value: &str) -> Option<Set> {
        match self {
            Form::Text | Form::Choice | Form::Cache => None,
            Form::Cpus => cpulist::parse(value),
            Form::Mask => cpulist::parse_mask(value),
        }
    }

    /// The value that names these CPUs.
    pub(super) fn of_cpus(self, cpus: &Set) -> String {
        if self == Form::Mask { cpulist::to_mask(cpus) } else { cpulist::to_list(cpus) }
    }
}

/// Number and mask of each cache in a value of [`Form::Cache`].
pub(super) fn ways(value: &str) -> Option<Vec<(u32, u64)>> {
    let one = |cache: &str| {
        let (number, mask) = cache.split_once('=')?;
        Some((number.trim().parse().ok()?, u64::from_str_radix(mask.trim(), 16).ok()?))
    };
    value.strip_prefix("L3:")?.split(';').map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_values() {
        for (form, text, value, same, other) in [
            (Form::Text, "performance\n", "performance", "performance", "powersave"),
            (Form::Choice, "always [madvise] never\n", "madvise", "madvise", "never"),
            (Form::Choice, "never\n", "never", "never", "always"),
            (Form::Cpus, "0-1,4\n", "0-1,4", "0,1,4", "0-4"),
            (Form::Cpus, "\n", "", "", "0"),
            (Form::Mask, "00000003\n", "00000003", "3", "7"),
            (
                Form::Cache,
                "    MB:0=100\n    L3:0=00f;1=fff\n",
                "L3:0=00f;1=fff",
                "L3:0=f;1=fff",
                "L3:0=f;1=f",
            ),
            (Form::Cache, "L2:0=f\n", "", "", "L3:0=f"),
        ] {
            assert_eq!(form.value(text), value, "{form:?} {text}");
            assert!(form.same(value, same), "{form:?} {value} {same}");
            assert!(!form.same(value, other), "{form:?} {value} {other}");
        }
    }

    #[test]
    fn a_partition_that_is_not_in_force_is_not_isolated() {
        assert!(!Form::Text.same("isolated invalid (Parent is not a partition root)", "isolated"));
    }
}
