//! Threads of the kernel and processes on the slots' CPUs.

use super::boot::ONE_CORE;
use super::interrupts::bounded;
use super::{Judged, Seen, at_run_time, finding};
use crate::cpulist;
use crate::facts::Task;
use model::{Finding, MachineKind, Reading, Severity};

/// What a thread that belongs to one CPU does there, by the beginning of its name.
const BOUND: [(&str, &str); 8] = [
    ("ksoftirqd", "deferred interrupt work when there is much of it"),
    ("migration", "moves tasks off and on; idle while no task is moved"),
    ("cpuhp", "switches the CPU off and on"),
    ("kworker", "work queued on this CPU: less with a longer vm.stat_interval and without the watchdog"),
    ("idle_inject", "cools a hot CPU"),
    ("irq/", "the threaded half of an interrupt: moves with it"),
    ("rcuc", "callbacks of this CPU: none with rcu_nocbs"),
    ("watchdog", "the lockup detector"),
];

/// The hole that a core set apart still has: the kernel's own threads.
pub(super) fn kernel_threads(seen: &Seen) -> Finding {
    let f = finding(
        "kernel_threads",
        Severity::Medium,
        "kernel threads are scheduled on isolated cores; one platform patched its kernel to prevent it",
    )
    .read_from("/proc/*/stat, /proc/*/status");
    let quiet = seen.quiet_cpus();
    let tasks = match tasks(seen) {
        _ if quiet.is_empty() => return f.not_applicable(ONE_CORE),
        Err(why) => return f.unknown(why),
        Ok(tasks) => tasks,
    };
    let here = |task: &&&Task| !task.allowed.is_disjoint(&quiet);
    let kernel: Vec<&Task> = tasks.iter().filter(|task| task.kernel).collect();
    if kernel.is_empty() {
        return f.unknown("no kernel thread is visible");
    }
    let movable: Vec<&&Task> = kernel.iter().filter(|task| !task.bound).filter(here).collect();
    let bound = kernel.iter().filter(|task| task.bound).filter(here).collect::<Vec<_>>();
    let list = cpulist::to_list(&quiet);
    let stays = format!("{} belong to a CPU of a slot, or to all, and cannot be moved", bound.len());
    let mut f = match movable.len() {
        0 => f.ok(format!("none that can be moved may use CPUs {list}; {stays}")),
        n => f.bad(
            format!("{n} that can be moved may use CPUs {list}; {stays}"),
            at_run_time("tauto tune apply --only kernel_threads"),
        ),
    };
    let movable = movable.iter().map(|task| format!("{} {} (can be moved)", task.name, task.pid));
    f.who =
        bounded(movable.chain(bound.iter().map(|task| shown_bound(task))).collect::<Vec<_>>().into_iter());
    f
}

fn shown_bound(task: &Task) -> String {
    let what = BOUND.iter().find(|(name, _)| task.name.starts_with(name)).map(|(_, what)| *what);
    let what = what.unwrap_or(if task.allowed.len() == 1 {
        "belongs to this CPU"
    } else {
        "kept in reserve: runs when memory is short"
    });
    format!("{} {} on {}: {what}", task.name, task.pid, cpulist::to_list(&task.allowed))
}

pub(super) fn background_load(seen: &Seen) -> Finding {
    let f = finding(
        "background_load",
        Severity::High,
        "a run bound to a CPU that other processes use varies more than an unbound one: the variation of wall time \
         went from 2.4 % to 19.9 % (measured)",
    )
    .read_from("/proc/*/stat, /proc/*/status, /proc/loadavg");
    let quiet = seen.quiet_cpus();
    let tasks = match tasks(seen) {
        Err(why) => return f.unknown(why),
        Ok(tasks) => tasks,
    };
    let users: Vec<&Task> = tasks
        .iter()
        .filter(|task| !task.kernel && (quiet.is_empty() || !task.allowed.is_disjoint(&quiet)))
        .collect();
    if users.is_empty() {
        return f.ok(format!("no process may use CPUs {}", cpulist::to_list(&quiet)));
    }
    let busy: Vec<&&Task> = users.iter().filter(|task| task.busy).collect();
    let load = seen.facts.tasks.load.known();
    let observed = format!(
        "{} processes may use slot CPUs, {} of them busy now; load {}",
        users.len(),
        busy.len(),
        load.map_or("unknown".into(), |load| format!("{load:.2}"))
    );
    if busy.is_empty() && load.is_some_and(|load| *load < 1.0) {
        return f.ok(observed);
    }
    let mut f = f.bad(observed, None);
    f.remedy =
        at_run_time(match seen.facts.cgroups.controllers.known().is_some_and(|all| all.contains("cpuset")) {
            true => "tauto tune apply --only isolated_cpus".to_string(),
            false => format!(
                "taskset -acp {} PID  # for each process named",
                cpulist::to_list(&seen.slots.housekeeping.iter().copied().collect())
            ),
        });
    // Each of them may take a slot's CPU in the next moment; those that do now come first.
    let (now, idle): (Vec<&&Task>, Vec<&&Task>) = users.iter().partition(|task| task.busy);
    let named = now.iter().map(|task| format!("{} {} (busy now)", task.name, task.pid));
    let others = idle.iter().map(|task| format!("{} {}", task.name, task.pid));
    f.who = bounded(named.chain(others).collect::<Vec<_>>().into_iter());
    f
}

/// All tasks, where they are to be seen.
fn tasks<'a>(seen: &'a Seen) -> Result<&'a [Task], String> {
    match &seen.facts.tasks.all {
        Reading::Unknown(why) => Err(why.to_string()),
        Reading::Known(_) if seen.kind == MachineKind::Container => {
            Err("a container sees its own processes only".into())
        }
        Reading::Known(tasks) if tasks.is_empty() => Err("no process is visible".into()),
        Reading::Known(tasks) => Ok(tasks),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CONTAINER, check, judged};
    use model::FindingState::{Bad, Ok, Unknown};

    fn task(pid: u32, name: &str, state: &str, flags: u32, cpus: &str) -> String {
        format!(
            "/proc/{pid}/stat\n\t{pid} ({name}) {state} 2 0 0 0 -1 {flags} 0 0 0 0\n\
             /proc/{pid}/status\n\tCpus_allowed_list:\t{cpus}\n"
        )
    }

    const KERNEL: u32 = 0x0020_8040;
    const BOUND: u32 = 0x0420_8040;

    #[test]
    fn kernel_threads() {
        let bound = task(20, "ksoftirqd/1", "S", BOUND, "1");
        let movable = task(30, "kswapd0", "S", KERNEL, "0-1");
        let elsewhere = task(30, "kswapd0", "S", KERNEL, "0");
        check(
            "kernel_threads",
            &[
                (&format!("{bound}{movable}"), Bad, "1 that can be moved may use CPUs 1; 1 belong"),
                (&format!("{bound}{elsewhere}"), Ok, "none that can be moved"),
                (&format!("{CONTAINER}{bound}{movable}"), Unknown, "container"),
                (&task(1, "init", "S", 0, "0-1"), Unknown, "no kernel thread"),
            ],
        );
        let who = judged("kernel_threads", &format!("{bound}{movable}")).who;
        assert_eq!(who[0], "kswapd0 30 (can be moved)");
        assert!(who[1].starts_with("ksoftirqd/1 20 on 1: deferred"), "{who:?}");
        // Named also where nothing more can be done.
        assert_eq!(judged("kernel_threads", &format!("{bound}{elsewhere}")).who.len(), 1);
    }

    #[test]
    fn background_load() {
        let load = |load: &str| format!("/proc/loadavg\n\t{load} 0.1 0.1 1/9 99\n");
        let quiet = format!("{}{}", task(5, "sshd", "S", 0, "0-1"), load("0.10"));
        let busy = format!("{}{}", task(5, "make", "R", 0, "0-1"), load("0.10"));
        let elsewhere = format!("{}{}", task(5, "make", "R", 0, "0"), load("9.00"));
        let loaded = format!("{}{}", task(5, "make", "S", 0, "0-1"), load("3.00"));
        check(
            "background_load",
            &[
                (&quiet, Ok, "1 processes may use slot CPUs, 0 of them busy"),
                (&busy, Bad, "1 of them busy"),
                (&elsewhere, Ok, "no process may use CPUs 1"),
                (&loaded, Bad, "load 3.00"),
                (&format!("{CONTAINER}{busy}"), Unknown, "container"),
                ("", Unknown, "no /proc"),
            ],
        );
        let both = format!("{}{busy}", task(4, "sshd", "S", 0, "0-1"));
        assert_eq!(judged("background_load", &both).who, ["make 5 (busy now)", "sshd 4"]);
        // Named also where none is busy at the moment it is looked.
        assert_eq!(judged("background_load", &loaded).who, ["make 5"]);
    }
}
