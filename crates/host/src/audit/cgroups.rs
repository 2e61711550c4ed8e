//! Control groups: quotas, layout, locks.

use super::{Judged, Seen, at_boot, at_boot_by, at_run_time, finding};
use model::{Finding, MachineKind, Reading, Severity};

/// What a slot needs of version 2: partitions, a limit and the peak of memory, a limit of processes.
const NEEDED: [&str; 3] = ["cpuset", "memory", "pids"];

/// How a container gets CPUs without a quota (docker-run(1); Kubernetes, "Control CPU Management Policies on the Node").
const WHOLE: &str = "give whole CPUs: --cpuset-cpus in place of --cpus; Kubernetes: requests equal to limits in whole CPUs, and \
    the kubelet's CPU manager policy `static`";

pub(super) fn quota_throttling(seen: &Seen) -> Finding {
    let f = finding(
        "quota_throttling",
        Severity::High,
        "a group that has used up its quota is stopped until the period ends: gaps of up to 100 ms",
    )
    .read_from("/proc/self/cgroup, cpu.max or cpu.cfs_quota_us of our group and those above");
    let quotas = match &seen.facts.cgroups.quotas {
        Reading::Known(quotas) => quotas,
        Reading::Unknown(why) => return f.unknown(why.clone()),
    };
    if quotas.is_empty() {
        return match seen.kind {
            MachineKind::Container => {
                f.unknown("no quota in the groups visible here; those above belong to the host")
            }
            _ => f.ok("no quota on this group or above"),
        };
    }
    let shown = quotas.iter().map(|quota| match &quota.throttled {
        Reading::Known(times) => format!("{}: {} µs, stopped {times} times", quota.file, quota.limit),
        Reading::Unknown(_) => format!("{}: {} µs", quota.file, quota.limit),
    });
    let lift = quotas.iter().map(|quota| {
        let none = if quota.file.ends_with("cpu.max") { "max" } else { "-1" };
        format!("echo {none} > {}", quota.file)
    });
    let lift = at_run_time(match seen.kind {
        MachineKind::Container => WHOLE.into(),
        _ => lift.collect::<Vec<_>>().join("; "),
    });
    f.bad(shown.collect::<Vec<_>>().join("; "), lift)
}

pub(super) fn cgroup_layout(seen: &Seen) -> Finding {
    let f = finding(
        "cgroup_layout",
        Severity::High,
        "only version 2 has isolated partitions, which keep other work off a slot without a reboot: 229 ms became 372 ms on a \
         busy CPU, 230 ms on an isolated one (Stinner 2017)",
    )
    .read_from("/proc/self/mountinfo, cgroup.controllers");
    let cgroups = &seen.facts.cgroups;
    let mounts = match &cgroups.mounts {
        Reading::Known(mounts) => mounts,
        Reading::Unknown(why) => return f.unknown(why.clone()),
    };
    let list = |names: &[&str]| names.join(", ");
    let v1: Vec<&str> = mounts.v1.keys().map(String::as_str).collect();
    let Some(tree) = &mounts.v2 else {
        return match v1.is_empty() {
            true => {
                f.bad("no control groups are mounted", at_run_time("mount -t cgroup2 cgroup2 /sys/fs/cgroup"))
            }
            false => f.bad(format!("version 1 only: {}", list(&v1)), at_boot_by("cgroup", UNIFIED)),
        };
    };
    let controllers = match &cgroups.controllers {
        Reading::Known(controllers) => controllers,
        Reading::Unknown(why) => return f.unknown(why.clone()),
    };
    let have: Vec<&str> = controllers.iter().map(String::as_str).collect();
    let missing: Vec<&str> = NEEDED.into_iter().filter(|name| !controllers.contains(*name)).collect();
    if missing.is_empty() {
        return f.ok(format!("version 2 at {} with {}", tree.at, list(&have)));
    }
    let lacks = |names: &[&str]| format!("version 2 at {} lacks {}", tree.at, list(names));
    let taken: Vec<&str> = missing.iter().copied().filter(|name| mounts.v1.contains_key(*name)).collect();
    if taken.is_empty() {
        let remedy = match missing[..] {
            _ if seen.kind == MachineKind::Container => {
                at_run_time(format!("delegate {} to this container's group", list(&missing)))
            }
            ["memory"] => at_boot_by("cgroup", "cgroup_enable=memory"),
            _ => at_boot(
                "install a kernel with CONFIG_CPUSETS, CONFIG_MEMCG and CONFIG_CGROUP_PIDS and restart",
            ),
        };
        return f.bad(lacks(&missing), remedy);
    }
    f.bad(
        format!("hybrid: {}, which are of version 1: {}", lacks(&missing), list(&v1)),
        at_boot_by("cgroup", UNIFIED),
    )
}

const UNIFIED: &str = "systemd.unified_cgroup_hierarchy=1 cgroup_no_v1=all";

/// From Linux 6.3 on.
pub(super) fn cgroup_locks(seen: &Seen) -> Finding {
    let f = finding(
        "cgroup_locks",
        Severity::Low,
        "before Linux 6.3, creating and removing sandboxes waits for machine-wide locks: seconds with 21 to 30 judges \
         on one host (DOMjudge #2277)",
    )
    .read_from("/proc/sys/kernel/osrelease");
    let release = match &seen.facts.platform.kernel {
        Reading::Known(release) => release,
        Reading::Unknown(why) => return f.unknown(why.clone()),
    };
    let mut numbers = release.split(['.', '-', '+']).map(|n| n.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) if (major, minor) >= (6, 3) => f.ok(format!("Linux {release}")),
        (Some(_), Some(_)) => {
            f.bad(format!("Linux {release}"), at_boot("install Linux 6.3 or later and restart"))
        }
        _ => f.unknown(format!("`{release}` is not a version of Linux")),
    }
}

#[cfg(test)]
mod tests {
    use crate::audit::testing::{CONTAINER, check, command};
    use model::FindingState::{Bad, Ok, Unknown};

    const V2: &str = "/proc/self/mountinfo\n\t30 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    const HYBRID: &str = "/proc/self/mountinfo\n\t30 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
        \t31 23 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
        \t32 23 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        \t33 23 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn quota_throttling() {
        let mine = format!("{V2}/proc/self/cgroup\n\t0::/a/b\n");
        let above = format!(
            "{mine}/sys/fs/cgroup/a/b/cpu.max\n\tmax 100000\n/sys/fs/cgroup/a/cpu.max\n\t50000 100000\n"
        );
        let counted = format!("{above}/sys/fs/cgroup/a/cpu.stat\n\tusage_usec 1\n\tnr_throttled 7\n");
        let v1 = format!(
            "{HYBRID}/proc/self/cgroup\n\t3:cpu,cpuacct:/x\n\t0::/\n/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us\n\t20000\n\
             /sys/fs/cgroup/cpu/x/cpu.cfs_period_us\n\t100000\n"
        );
        check(
            "quota_throttling",
            &[
                (&mine, Ok, "no quota"),
                (&format!("{mine}/sys/fs/cgroup/a/b/cpu.max\n\tmax 100000\n"), Ok, "no quota"),
                (&format!("{CONTAINER}{mine}"), Unknown, "belong to the host"),
                (&above, Bad, "/sys/fs/cgroup/a/cpu.max: 50000 of 100000 µs"),
                (&counted, Bad, "stopped 7 times"),
                (&v1, Bad, "/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us: 20000 of 100000 µs"),
                (&v1.replace("\t20000\n", "\t-1\n"), Ok, "no quota"),
                (V2, Unknown, "no /proc/self/cgroup"),
                ("", Unknown, "no /proc/self/mountinfo"),
            ],
        );
        assert_eq!(command("quota_throttling", &above), "echo max > /sys/fs/cgroup/a/cpu.max");
        assert_eq!(command("quota_throttling", &v1), "echo -1 > /sys/fs/cgroup/cpu/x/cpu.cfs_quota_us");
    }

    #[test]
    fn cgroup_layout() {
        let with = |at: &str, names: &str| format!("{at}/cgroup.controllers\n\t{names}\n");
        let full = format!("{V2}{}", with("/sys/fs/cgroup", "cpuset cpu io memory pids"));
        let hybrid = format!("{HYBRID}{}", with("/sys/fs/cgroup/unified", "hugetlb"));
        let lacking = format!("{V2}{}", with("/sys/fs/cgroup", "cpuset pids"));
        check(
            "cgroup_layout",
            &[
                (&full, Ok, "version 2 at /sys/fs/cgroup with cpu, cpuset"),
                (&hybrid, Bad, "hybrid: version 2 at /sys/fs/cgroup/unified lacks cpuset, memory, pids"),
                (HYBRID, Unknown, "no /sys/fs/cgroup/unified/cgroup.controllers"),
                (&HYBRID.replace("cgroup2", "tmpfs"), Bad, "version 1 only: cpu, cpuacct, cpuset, memory"),
                (&lacking, Bad, "lacks memory"),
                ("/proc/self/mountinfo\n\t30 23 0:27 / / rw - ext4 /dev/x rw\n", Bad, "no control groups"),
                ("", Unknown, "no /proc/self/mountinfo"),
            ],
        );
        assert!(command("cgroup_layout", &hybrid).contains("systemd.unified_cgroup_hierarchy=1"));
        assert!(command("cgroup_layout", &lacking).contains("cgroup_enable=memory"));
        assert!(command("cgroup_layout", &format!("{CONTAINER}{lacking}")).starts_with("delegate memory"));
    }

    #[test]
    fn cgroup_locks() {
        let release = |release: &str| format!("/proc/sys/kernel/osrelease\n\t{release}\n");
        check(
            "cgroup_locks",
            &[
                (&release("6.18.44-fc-v595"), Ok, "6.18"),
                (&release("6.3-rc1"), Ok, ""),
                (&release("6.1.0-18-amd64"), Bad, "6.1.0"),
                (&release("5.15.0"), Bad, ""),
                (&release("next"), Unknown, "not a version"),
                ("", Unknown, "osrelease"),
            ],
        );
    }
}
