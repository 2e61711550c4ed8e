//! The kernel's periodic and deferred work on the slots' CPUs.

use super::boot::ONE_CORE;
use super::{Judged, Seen, at_run_time, finding, setting};
use crate::cpulist::{self, Set};
use model::{Finding, Reading, Severity};

/// Seconds between two collections of statistics that no run of usual length meets: what tuning sets.
const RARELY: u64 = 120;
/// Since this version ordinary tasks are kept from starving by a server of their own.
const FAIR_SERVER: (u32, u32) = (6, 12);

pub(super) fn workqueues(seen: &Seen) -> Finding {
    let f = finding(
        "workqueues",
        Severity::Low,
        "the kernel runs deferred work, such as writing back files, on any CPU that the mask allows",
    )
    .read_from("/sys/devices/virtual/workqueue/cpumask, /sys/devices/virtual/workqueue/*/cpumask");
    let (quiet, queues) = (seen.quiet_cpus(), &seen.facts.kernel.workqueues);
    let open = |cpus: &Reading<Set>| cpus.known().is_some_and(|cpus| !cpus.is_disjoint(&quiet));
    let masks: Vec<&String> = queues.iter().filter(|(_, cpus)| open(cpus)).map(|(file, _)| file).collect();
    let unread =
        queues.iter().find_map(|(_, cpus)| if let Reading::Unknown(why) = cpus { Some(why) } else { None });
    if quiet.is_empty() {
        f.not_applicable(ONE_CORE)
    } else if !masks.is_empty() {
        let observed = format!("{} masks allow CPUs {}", masks.len(), cpulist::to_list(&quiet));
        let mut f = f.bad(observed, at_run_time("tauto tune apply --only workqueues"));
        f.who = masks.into_iter().cloned().collect();
        f
    } else {
        match (unread, queues.is_empty()) {
            (Some(why), _) => f.unknown(why.clone()),
            (None, true) => f.unknown("this kernel shows no masks"),
            (None, false) => {
                f.ok(format!("{} masks exclude CPUs {}", queues.len(), cpulist::to_list(&quiet)))
            }
        }
    }
}

pub(super) fn watchdog(seen: &Seen) -> Finding {
    let f = finding(
        "watchdog",
        Severity::Low,
        "the lockup detectors wake a thread on each CPU every few seconds, and take a hardware counter",
    )
    .read_from("/proc/sys/kernel/{nmi_watchdog,soft_watchdog,watchdog_cpumask}");
    let (kernel, quiet) = (&seen.facts.kernel, seen.quiet_cpus());
    let detectors = [("nmi_watchdog", &kernel.nmi_watchdog), ("soft_watchdog", &kernel.soft_watchdog)];
    let on: Vec<&str> = detectors
        .iter()
        .filter(|(_, value)| value.as_ref().and_then(Reading::known).is_some_and(|value| value != "0"))
        .map(|(name, _)| *name)
        .collect();
    let unread = detectors.iter().find_map(|(_, value)| match value {
        Some(Reading::Unknown(why)) => Some(why.clone()),
        _ => None,
    });
    if detectors.iter().all(|(_, value)| value.is_none()) {
        return f.not_applicable("this kernel has no lockup detector");
    }
    match (&on[..], &kernel.watchdog_cpus, unread) {
        ([], _, Some(why)) => f.unknown(why),
        ([], ..) => f.ok("both detectors are off"),
        (["soft_watchdog"], Reading::Known(cpus), _) if cpus.is_disjoint(&quiet) && !quiet.is_empty() => {
            f.ok(format!("it watches CPUs {} only", cpulist::to_list(cpus)))
        }
        (["soft_watchdog"], Reading::Unknown(why), _) => f.unknown(why.clone()),
        (on, ..) => {
            // Tuning moves it off the slots; where all is on one core it can only be switched off.
            let off = if quiet.is_empty() {
                "sysctl -w kernel.watchdog=0"
            } else {
                "tauto tune apply --only watchdog"
            };
            f.bad(format!("on: {}", on.join(", ")), at_run_time(off))
        }
    }
}

pub(super) fn vmstat_interval(seen: &Seen) -> Finding {
    let f = finding(
        "vmstat_interval",
        Severity::Low,
        "each CPU adds up its memory statistics, by default every second: microseconds",
    )
    .read_from("/proc/sys/vm/stat_interval");
    match &seen.facts.kernel.stat_interval {
        Reading::Unknown(why) => f.unknown(why.clone()),
        Reading::Known(seconds) if *seconds >= RARELY => f.ok(format!("every {seconds} s")),
        Reading::Known(seconds) => {
            f.bad(format!("every {seconds} s"), at_run_time(format!("sysctl -w vm.stat_interval={RARELY}")))
        }
    }
}

pub(super) fn perf_sample_rate(seen: &Seen) -> Finding {
    let f = finding(
        "perf_sample_rate",
        Severity::Low,
        "a profiler may interrupt programs this many times a second; pyperf and krun set it to 1 while they measure",
    )
    .read_from("/proc/sys/kernel/perf_event_max_sample_rate");
    let remedy = at_run_time("sysctl -w kernel.perf_event_max_sample_rate=1");
    setting(f, &seen.facts.kernel.sample_rate, |rate| rate == "1", remedy)
}

/// Matters to real-time runs only; ordinary ones, tauto's default, are never held back by it.
pub(super) fn rt_starvation_guard(seen: &Seen) -> Finding {
    let f = finding(
        "rt_starvation_guard",
        Severity::Low,
        "a real-time run loses its CPU for 50 ms of each second if an ordinary task waits for it: 5.3 % of wall time \
         (measured)",
    )
    .read_from("/sys/kernel/debug/sched/fair_server/cpu*/runtime, /proc/sys/kernel/sched_rt_runtime_us");
    let kernel = &seen.facts.kernel;
    let cpus = seen.slot_cpus();
    match &kernel.fair_server {
        Some(Reading::Unknown(why)) => return f.unknown(why.clone()),
        Some(Reading::Known(runtimes)) => {
            let held: Vec<u32> = runtimes
                .iter()
                .filter(|(cpu, ns)| cpus.contains(cpu) && *ns > 0)
                .map(|(cpu, _)| *cpu)
                .collect();
            if held.is_empty() {
                return f.ok("the fair servers of slot CPUs have no time");
            }
            let command = "echo 0 > /sys/kernel/debug/sched/fair_server/cpu$cpu/runtime";
            let held: Set = held.into_iter().collect();
            let observed = format!("fair servers are active on CPUs {}", cpulist::to_list(&held));
            return f.bad(observed, at_run_time(super::on_each(&held, command)));
        }
        None => {}
    }
    if seen
        .facts
        .platform
        .kernel
        .known()
        .and_then(|release| version(release))
        .is_none_or(|v| v >= FAIR_SERVER)
    {
        return f
            .unknown("fair servers limit real-time tasks since Linux 6.12, and their files are not visible");
    }
    match &kernel.rt_runtime {
        None => f.not_applicable("this kernel does not limit real-time tasks"),
        Some(Reading::Unknown(why)) => f.unknown(why.clone()),
        Some(Reading::Known(-1)) => f.ok("sched_rt_runtime_us is -1"),
        Some(Reading::Known(us)) => f.bad(
            format!("sched_rt_runtime_us is {us}"),
            at_run_time("sysctl -w kernel.sched_rt_runtime_us=-1"),
        ),
    }
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use model::FindingState::{Bad, NotApplicable, Ok, Unknown};

    #[test]
    fn workqueues() {
        let mask = |all: &str, writeback: &str| {
            let at = "/sys/devices/virtual/workqueue";
            format!("{at}/cpumask\n\t{all}\n{at}/writeback/cpumask\n\t{writeback}\n")
        };
        check(
            "workqueues",
            &[
                (&mask("3", "3"), Bad, "2 masks allow CPUs 1"),
                (&mask("1", "3"), Bad, "1 masks"),
                (&mask("1", "1"), Ok, "exclude CPUs 1"),
                ("", Unknown, "no masks"),
                (
                    "/sys/devices/virtual/workqueue/cpumask ! 13 Permission denied\n",
                    Unknown,
                    "may not be read",
                ),
            ],
        );
    }

    #[test]
    fn watchdog() {
        let set = |nmi: &str, soft: &str, cpus: &str| {
            let at = "/proc/sys/kernel";
            format!(
                "{at}/nmi_watchdog\n\t{nmi}\n{at}/soft_watchdog\n\t{soft}\n{at}/watchdog_cpumask\n\t{cpus}\n"
            )
        };
        check(
            "watchdog",
            &[
                (&set("1", "1", "0-1"), Bad, "nmi_watchdog, soft_watchdog"),
                (&set("0", "1", "0-1"), Bad, "soft_watchdog"),
                (&set("0", "1", "0"), Ok, "watches CPUs 0 only"),
                (&set("1", "1", "0"), Bad, "nmi_watchdog"),
                (&set("0", "0", "0-1"), Ok, "off"),
                ("/proc/sys/kernel/nmi_watchdog ! 13 Permission denied\n", Unknown, "may not be read"),
                ("", NotApplicable, "no lockup detector"),
            ],
        );
    }

    #[test]
    fn intervals() {
        let interval = |s: &str| format!("/proc/sys/vm/stat_interval\n\t{s}\n");
        check(
            "vmstat_interval",
            &[(&interval("1"), Bad, "every 1 s"), (&interval("120"), Ok, ""), ("", Unknown, "no /proc")],
        );
        let rate = |n: &str| format!("/proc/sys/kernel/perf_event_max_sample_rate\n\t{n}\n");
        check(
            "perf_sample_rate",
            &[(&rate("100000"), Bad, "100000"), (&rate("1"), Ok, ""), ("", NotApplicable, "")],
        );
    }

    #[test]
    fn rt_starvation_guard() {
        let old = "/proc/sys/kernel/osrelease\n\t6.1.0-40-amd64\n";
        let new = "/proc/sys/kernel/osrelease\n\t6.12.9\n";
        let runtime = |us: &str| format!("/proc/sys/kernel/sched_rt_runtime_us\n\t{us}\n");
        let at = "/sys/kernel/debug/sched/fair_server";
        let server = |one: &str| format!("{new}{at}/cpu0/runtime\n\t50000000\n{at}/cpu1/runtime\n\t{one}\n");
        check(
            "rt_starvation_guard",
            &[
                (&format!("{old}{}", runtime("950000")), Bad, "950000"),
                (&format!("{old}{}", runtime("-1")), Ok, "-1"),
                (&format!("{new}{}", runtime("-1")), Unknown, "not visible"),
                (&server("50000000"), Bad, "CPUs 1"),
                (&server("0"), Ok, "no time"),
                (&format!("{new}{at}/cpu0/runtime ! 13 Permission denied\n"), Unknown, "may not be read"),
                ("", Unknown, ""),
            ],
        );
    }
}
