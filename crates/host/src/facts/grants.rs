//! What this process is allowed: what a container withholds unless it is told not to.
//!
//! Sources: capabilities(7) and linux/capability.h, user_namespaces(7), Documentation/filesystems/proc.rst (status),
//! Documentation/admin-guide/LSM/apparmor.rst.

use super::text;
use crate::machine::Machine;
use model::Reading;

/// Capabilities by their numbers (linux/capability.h).
const SYS_ADMIN: u32 = 21;
const SYS_RESOURCE: u32 = 24;

/// What this process is allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Grants {
    /// It is root, at least of its user namespace.
    pub root: Reading<bool>,
    /// Its user namespace is the machine's own.
    pub own_users: Reading<bool>,
    /// The effective capabilities, a bit each.
    pub capabilities: Reading<u64>,
    /// The profile of AppArmor that confines it, if one does.
    pub apparmor: Option<String>,
    /// Control groups are mounted so that they can be written to.
    pub groups_writable: Reading<bool>,
    /// Parts of /proc that are hidden or read-only. A kernel refuses a new /proc in a user namespace while there are any.
    pub masked: Vec<String>,
}

impl Grants {
    /// Reads it.
    pub fn read(machine: &Machine) -> Grants {
        let status = text(machine, "/proc/self/status");
        let field = |name: &'static str| {
            let value = |text: String| {
                let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
                Reading::from_option(line.map(|line| line.trim().to_string()), || {
                    format!("/proc/self/status has no {name}")
                })
            };
            status.clone().and_then(value)
        };
        let mounts: Vec<Mount> = match machine.read("/proc/self/mountinfo") {
            Ok(text) => text.lines().filter_map(mount).collect(),
            Err(_) => vec![],
        };
        Grants {
            // Real, effective, saved, file system.
            root: field("Uid").map(|ids| ids.split_whitespace().nth(1) == Some("0")),
            own_users: text(machine, "/proc/self/uid_map")
                .map(|map| map.split_whitespace().eq(["0", "0", "4294967295"])),
            capabilities: field("CapEff").and_then(|bits| match u64::from_str_radix(&bits, 16) {
                Ok(bits) => Reading::Known(bits),
                Err(_) => Reading::unknown(format!("`{bits}` is not a set of capabilities")),
            }),
            apparmor: machine
                .read("/proc/self/attr/current")
                .ok()
                .map(|profile| profile.trim_end_matches('\0').trim().to_string())
                .filter(|profile| profile.ends_with("(enforce)")),
            groups_writable: groups_writable(&mounts),
            masked: masked(&mounts),
        }
    }

    /// Whether it has CAP_SYS_ADMIN, by which namespaces and mounts are made.
    pub fn administers(&self) -> Reading<bool> {
        self.capabilities.clone().map(|bits| bits & (1 << SYS_ADMIN) != 0)
    }

    /// Whether it has every capability that a privileged container has. The one to exceed quotas is not asked for: some
    /// hosts keep it, and nothing here needs it.
    pub fn privileged(&self, last: u32) -> Reading<bool> {
        let all = (2_u64 << last.min(62)) - 1;
        self.capabilities.clone().map(|bits| bits | (1 << SYS_RESOURCE) == all)
    }
}

struct Mount {
    at: String,
    read_only: bool,
    kind: String,
}

fn mount(line: &str) -> Option<Mount> {
    let (mount, system) = line.split_once(" - ")?;
    let fields: Vec<&str> = mount.split(' ').collect();
    Some(Mount {
        at: fields.get(4)?.to_string(),
        read_only: fields.get(5)?.split(',').any(|option| option == "ro"),
        kind: system.split(' ').next()?.to_string(),
    })
}

fn groups_writable(mounts: &[Mount]) -> Reading<bool> {
    let mut groups = mounts.iter().filter(|mount| matches!(&*mount.kind, "cgroup" | "cgroup2")).peekable();
    match groups.peek() {
        None => Reading::unknown("no control groups are mounted"),
        Some(_) => Reading::Known(groups.all(|mount| !mount.read_only)),
    }
}

fn masked(mounts: &[Mount]) -> Vec<String> {
    let within = |mount: &&Mount| mount.at.starts_with("/proc/") && mount.kind != "binfmt_misc";
    // What lxcfs lends is neither hidden nor read-only.
    let hides = |mount: &&Mount| mount.read_only || matches!(&*mount.kind, "tmpfs" | "devtmpfs");
    let mut masked: Vec<String> =
        mounts.iter().filter(within).filter(hides).map(|mount| mount.at.clone()).collect();
    masked.sort();
    masked.dedup();
    masked
}
