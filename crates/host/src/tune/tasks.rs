//! Kernel threads off the slots' CPUs, as far as the kernel lets them be moved.
//!
//! Sources: proc_pid_stat(5), and PF_KTHREAD and PF_NO_SETAFFINITY of include/linux/sched.h.

use super::Change;
use super::plan::{View, change};
use super::target::Target;
use crate::cpulist;
use crate::machine::Machine;

const PF_KTHREAD: u32 = 0x0020_0000;
const PF_NO_SETAFFINITY: u32 = 0x0400_0000;

pub(super) fn changes(view: &View<'_>) -> Vec<Change> {
    if view.quiet.is_empty() || !view.wishes.chosen("kernel_threads") {
        return Vec::new();
    }
    let movable = |pid: u32| {
        let stat = stat(view.machine, pid)?;
        let found = allowed(view.machine, pid)?;
        let free = stat.flags & (PF_KTHREAD | PF_NO_SETAFFINITY) == PF_KTHREAD;
        let want = free.then(|| view.elsewhere(&cpulist::parse(&found)?))??;
        let target = Target::Task { pid, started: stat.started, comm: stat.comm };
        Some(change("kernel_threads", target, &found, &cpulist::to_list(&want)))
    };
    pids(view.machine).filter_map(movable).collect()
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
