//! Tasks and the CPUs they may use: kernel threads off the slots' CPUs, as far as the kernel lets them be moved, and
//! everybody's choice kept over what partitions do to it.
//!
//! Sources: proc_pid_stat(5), and PF_KTHREAD and PF_NO_SETAFFINITY of include/linux/sched.h.

use super::Change;
use super::plan::{View, change};
use super::target::Target;
use crate::cpulist;
use crate::machine::Machine;

const PF_KTHREAD: u32 = 0x0020_0000;
const PF_NO_SETAFFINITY: u32 = 0x0400_0000;
const MOVED: &str = "kernel_threads";

/// Kernel threads that may use slots' CPUs and can be moved.
pub(super) fn changes(view: &View<'_>) -> Vec<Change> {
    if view.quiet.is_empty() || !view.config.chosen(MOVED) {
        return Vec::new();
    }
    let moved = |pid: u32| {
        let task = task(view, pid).filter(|task| task.kernel)?;
        let want = cpulist::to_list(&view.elsewhere(&cpulist::parse(&task.allowed)?)?);
        Some(change(MOVED, task.target, &task.allowed, &want))
    };
    pids(view.machine).filter_map(moved).collect()
}

/// Threads that may not use every CPU. When partitions come and go, the kernel lets everybody use all that are left
/// (`update_tasks_cpumask` of kernel/cgroup/cpuset.c; since Linux 6.2 it spares what a program itself has asked for): so
/// what they had is noted, also where it stays, and put back after the partitions have gone.
pub(super) fn kept(view: &View<'_>, id: &str) -> Vec<Change> {
    let cpus = |name: &str| view.machine.read(&format!("/sys/devices/system/cpu/{name}")).ok();
    let all = cpus("possible").or_else(|| cpus("online")).and_then(|list| cpulist::parse(&list));
    let own = view.machine.link("/proc/self").unwrap_or_default();
    let threads = pids(view.machine).filter(|pid| pid.to_string() != own).flat_map(|pid| {
        let threads = view.machine.list(&format!("/proc/{pid}/task")).unwrap_or_default();
        threads.into_iter().filter_map(|name| name.parse().ok()).collect::<Vec<u32>>()
    });
    let kept = |thread: u32| {
        let task = task(view, thread)?;
        let found = cpulist::parse(&task.allowed)?;
        let elsewhere = view.elsewhere(&found);
        let moved = task.kernel && elsewhere.is_some() && view.config.chosen(MOVED);
        let want = elsewhere.map_or_else(|| task.allowed.clone(), |cpus| cpulist::to_list(&cpus));
        (!moved && Some(&found) != all.as_ref()).then(|| change(id, task.target, &task.allowed, &want))
    };
    let mut changes: Vec<Change> = threads.filter_map(kept).collect();
    // Alike ones stand together.
    changes.sort_by(|a, b| (&a.found, &a.want).cmp(&(&b.found, &b.want)));
    changes
}

/// A task that can be moved.
struct Task {
    target: Target,
    kernel: bool,
    allowed: String,
}

fn task(view: &View<'_>, pid: u32) -> Option<Task> {
    let stat = stat(view.machine, pid).filter(|stat| stat.flags & PF_NO_SETAFFINITY == 0)?;
    let allowed = allowed(view.machine, pid)?;
    let kernel = stat.flags & PF_KTHREAD != 0;
    Some(Task { target: Target::Task { pid, started: stat.started, comm: stat.comm }, kernel, allowed })
}

/// Whether some process has this name.
pub(super) fn is_running(machine: &Machine, comm: &str) -> bool {
    pids(machine).any(|pid| machine.read(&format!("/proc/{pid}/comm")).is_ok_and(|name| name == comm))
}

/// What is used of /proc/PID/stat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) comm: String,
    pub(super) flags: u32,
    pub(super) started: u64,
}

pub(super) fn stat(machine: &Machine, pid: u32) -> Option<Stat> {
    parse_stat(&machine.read(&format!("/proc/{pid}/stat")).ok()?)
}

/// The name stands in parentheses and may hold any character, so the last one ends it.
fn parse_stat(text: &str) -> Option<Stat> {
    let (head, rest) = text.rsplit_once(')')?;
    let comm = head.split_once('(')?.1.to_string();
    // The state is field 3.
    let field = |number: usize| rest.split_whitespace().nth(number - 3);
    Some(Stat { comm, flags: field(9)?.parse().ok()?, started: field(22)?.parse().ok()? })
}

/// The CPUs a task may use, as a list.
pub(super) fn allowed(machine: &Machine, pid: u32) -> Option<String> {
    let status = machine.read(&format!("/proc/{pid}/status")).ok()?;
    Some(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim().to_string())
}

fn pids(machine: &Machine) -> impl Iterator<Item = u32> {
    machine.list("/proc").unwrap_or_default().into_iter().filter_map(|name| name.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_parentheses() {
        let text = "17 (a) (b) S 2 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 20 0 1 0 19 0 0 18446744073709551615";
        let stat = parse_stat(text).unwrap();
        assert_eq!((stat.comm.as_str(), stat.flags, stat.started), ("a) (b", 69_238_880, 19));
        assert_eq!(parse_stat("17 (x) S 2"), None);
    }
}
