//! Tasks and the CPUs they may use.
//!
//! Sources: proc_pid_stat(5), proc_pid_status(5); PF_KTHREAD and PF_NO_SETAFFINITY of include/linux/sched.h.

use super::text;
use crate::cpulist::{self, Set};
use crate::machine::Machine;
use model::Reading;

const PF_KTHREAD: u32 = 0x0020_0000;
const PF_NO_SETAFFINITY: u32 = 0x0400_0000;
/// A bound on what is read: servers have a few thousand.
const MOST: usize = 8192;

/// Tasks of the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Tasks {
    /// Processes and kernel threads, without ourselves; those that ended meanwhile are left out.
    pub all: Reading<Vec<Task>>,
    /// Tasks that wanted to run, on average over the last minute (/proc/loadavg).
    pub load: Reading<f64>,
}

/// A process or kernel thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its number.
    pub pid: u32,
    /// Its name, which it may have chosen itself.
    pub name: String,
    /// It is part of the kernel.
    pub kernel: bool,
    /// Its CPUs cannot be changed from user space.
    pub bound: bool,
    /// It runs or waits for a CPU now.
    pub busy: bool,
    /// CPUs it may use.
    pub allowed: Set,
}

impl Tasks {
    /// Reads them.
    pub fn read(machine: &Machine) -> Tasks {
        // Not by the link itself: a recording that followed it would not find what it has below /proc/self.
        let stat = machine.read("/proc/self/stat").unwrap_or_default();
        let ours = stat.split(' ').next().and_then(|pid| pid.parse::<u32>().ok());
        let tasks = |names: Vec<String>| {
            let pids = names.iter().filter_map(|name| name.parse::<u32>().ok());
            pids.filter(|pid| Some(*pid) != ours).take(MOST).filter_map(|pid| task(machine, pid)).collect()
        };
        let load = |text: String| {
            let first = text.split_whitespace().next().and_then(|load| load.parse().ok());
            Reading::from_option(first, || format!("/proc/loadavg holds `{text}`"))
        };
        Tasks {
            all: Reading::from_result(machine.list("/proc").map_err(|e| super::why("/proc", &e))).map(tasks),
            load: text(machine, "/proc/loadavg").and_then(load),
        }
    }
}

fn task(machine: &Machine, pid: u32) -> Option<Task> {
    let status = machine.read(&format!("/proc/{pid}/status")).ok()?;
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let stat = machine.read(&format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold any character, so the last one ends it.
    let (head, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    // Fields 3, state, and 9, flags.
    let (state, flags) = (fields.next()?, fields.nth(5)?.parse::<u32>().ok()?);
    Some(Task {
        pid,
        name: head.split_once('(')?.1.to_string(),
        kernel: flags & PF_KTHREAD != 0,
        bound: flags & PF_NO_SETAFFINITY != 0,
        busy: state == "R",
        allowed: cpulist::parse(allowed)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_told_apart() {
        let entry = |pid: u32, name: &str, state: &str, flags: u32, cpus: &str| {
            format!(
                "/proc/{pid}/stat\n\t{pid} ({name}) {state} 2 0 0 0 -1 {flags} 0 0 0 0\n/proc/{pid}/status\n\tName:\t{name}\n\
                 \tCpus_allowed_list:\t{cpus}\n"
            )
        };
        let text = format!(
            "tauto recording 1\n/proc/self/stat\n\t4 (tauto) R\n{}{}{}{}/proc/loadavg\n\t1.50 1.00 0.50 2/99 1234\n",
            entry(1, "a) (b", "S", 0x40_0100, "0-1"),
            entry(2, "kthreadd", "S", 0x0020_8040, "0-1"),
            entry(3, "ksoftirqd/1", "R", 0x0420_8040, "1"),
            entry(4, "tauto", "R", 0, "0-1"),
        );
        let tasks = Tasks::read(&Machine::parse(&text).unwrap());
        let all = tasks.all.known().unwrap();
        let kinds: Vec<_> = all.iter().map(|t| (&*t.name, t.kernel, t.bound, t.busy)).collect();
        assert_eq!(
            kinds,
            [
                ("a) (b", false, false, false),
                ("kthreadd", true, false, false),
                ("ksoftirqd/1", true, true, true)
            ]
        );
        assert_eq!(tasks.load, Reading::Known(1.5));
    }
}
