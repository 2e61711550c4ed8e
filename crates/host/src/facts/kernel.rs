//! The kernel's own periodic and deferred work.
//!
//! Sources: Documentation/admin-guide/sysctl/{kernel,vm}.rst, Documentation/core-api/workqueue.rst,
//! Documentation/admin-guide/lockup-watchdogs.rst, Documentation/scheduler/sched-rt-group.rst.

use super::{number, text, text_if_any};
use crate::cpulist::{self, Set};
use crate::machine::Machine;
use model::Reading;

/// The kernel's own work.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// `kernel.nmi_watchdog`: the detector of hard lockups; `None`: this kernel has none.
    pub nmi_watchdog: Option<Reading<String>>,
    /// `kernel.soft_watchdog`: the detector of soft lockups.
    pub soft_watchdog: Option<Reading<String>>,
    /// CPUs the detectors watch.
    pub watchdog_cpus: Reading<Set>,
    /// `vm.stat_interval`, in seconds.
    pub stat_interval: Reading<u64>,
    /// `kernel.perf_event_max_sample_rate`, per second.
    pub sample_rate: Option<Reading<String>>,
    /// Where work that is bound to no CPU may be done, by file; none: this kernel does not say.
    pub workqueues: Vec<(String, Reading<Set>)>,
    /// `kernel.sched_rt_runtime_us`; -1: real-time tasks are never held back by it. `None`: not there.
    pub rt_runtime: Option<Reading<i64>>,
    /// Time of each second that real-time tasks leave to ordinary ones, in nanoseconds, by CPU; a reason where it cannot
    /// be read; `None`: there is no such file, which a closed debugfs and an older kernel have in common.
    pub fair_server: Option<Reading<Vec<(u32, u64)>>>,
}

impl Kernel {
    /// Reads it.
    pub fn read(machine: &Machine, online: &Set) -> Kernel {
        let kernel = |name: &str| format!("/proc/sys/kernel/{name}");
        let watched = kernel("watchdog_cpumask");
        let set = |list: String| {
            Reading::from_option(cpulist::parse(&list), || format!("{watched}: `{list}` is not a list"))
        };
        let rt = kernel("sched_rt_runtime_us");
        Kernel {
            nmi_watchdog: text_if_any(machine, &kernel("nmi_watchdog")),
            soft_watchdog: text_if_any(machine, &kernel("soft_watchdog")),
            watchdog_cpus: text(machine, &watched).and_then(set),
            stat_interval: number(machine, "/proc/sys/vm/stat_interval"),
            sample_rate: text_if_any(machine, &kernel("perf_event_max_sample_rate")),
            workqueues: workqueues(machine),
            rt_runtime: text_if_any(machine, &rt).map(|_| number(machine, &rt)),
            fair_server: fair_server(machine, online),
        }
    }
}

fn workqueues(machine: &Machine) -> Vec<(String, Reading<Set>)> {
    let directory = "/sys/devices/virtual/workqueue";
    let mut names = machine.list(directory).unwrap_or_default();
    // Beside the queues there are files.
    names.retain(|name| machine.list(&format!("{directory}/{name}")).is_ok());
    let files = [format!("{directory}/cpumask")]
        .into_iter()
        .chain(names.iter().map(|name| format!("{directory}/{name}/cpumask")));
    let mask = |file: String| {
        let parse = |mask: String| {
            Reading::from_option(cpulist::parse_mask(&mask), || format!("{file}: `{mask}` is not a mask"))
        };
        let cpus = text_if_any(machine, &file)?.and_then(parse);
        Some((file, cpus))
    };
    files.filter_map(mask).collect()
}

fn fair_server(machine: &Machine, online: &Set) -> Option<Reading<Vec<(u32, u64)>>> {
    let directory = "/sys/kernel/debug/sched/fair_server";
    let mut runtimes = Vec::new();
    for cpu in online {
        match text_if_any(machine, &format!("{directory}/cpu{cpu}/runtime"))? {
            Reading::Known(runtime) => runtimes.push((*cpu, runtime.parse().unwrap_or(0))),
            Reading::Unknown(why) => return Some(Reading::Unknown(why)),
        }
    }
    Some(Reading::Known(runtimes))
}
