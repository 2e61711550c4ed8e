//! The clock, and time that a hypervisor takes.

use super::{Judged, Seen, at_boot_by, at_run_time, finding};
use model::{Finding, Reading, Severity};

/// Read without leaving the program; those of hypervisors keep a page that says how to correct the processor's counter.
const QUICK: [&str; 7] = [
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "xen",
    "arch_sys_counter",
    "timebase",
    "riscv_clocksource",
];

/// Read over a bus, by an exit to the hypervisor, or only as exact as the tick.
const SLOW: [&str; 6] = ["hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies", "hyperv_clocksource_msr"];

const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

pub(super) fn clocksource(seen: &Seen) -> Finding {
    let f = finding(
        "clocksource",
        Severity::High,
        "reading hpet or acpi_pm takes a microsecond or more, reading the processor's counter some nanoseconds",
    )
    .read_from(FILE);
    let clock = &seen.facts.clock;
    match &clock.source {
        Reading::Unknown(why) => f.unknown(why.clone()),
        Reading::Known(source) if QUICK.contains(&&**source) => f.ok(source.clone()),
        Reading::Known(source) if SLOW.contains(&&**source) => {
            let better = QUICK.iter().find(|quick| clock.available.iter().any(|a| a == *quick));
            match better {
                Some(better) => f.bad(source.clone(), at_run_time(format!("echo {better} > {FILE}"))),
                None => f.bad(
                    format!("{source}; no fast one is available (journalctl -k -g tsc shows why)"),
                    at_boot_by("clocksource", "tsc=reliable"),
                ),
            }
        }
        Reading::Known(source) => f.unknown(format!("`{source}`: its speed is unknown")),
    }
}

pub(super) fn steal(seen: &Seen) -> Finding {
    let f = finding(
        "steal",
        Severity::High,
        "while the hypervisor runs another machine, wall time passes and caches become cold: 1.59 s over 15 loaded runs of 1 s \
         (measured); such runs are discarded and repeated",
    )
    .read_from("/proc/stat");
    let stolen = match &seen.facts.clock.stolen {
        Reading::Known(stolen) => stolen,
        Reading::Unknown(why) => return f.unknown(why.clone()),
    };
    let of = |cpus: &mut dyn Iterator<Item = &u32>| {
        let cpus = cpus.filter_map(|cpu| stolen.get(cpu));
        cpus.fold((0, 0), |(steal, total), cpu| (steal + cpu.steal, total + cpu.total))
    };
    let share = |(steal, total): (u64, u64)| 100.0 * steal as f64 / total.max(1) as f64;
    let all = of(&mut stolen.keys());
    let slots = of(&mut seen.slot_cpus().iter());
    match (all.0, seen.is_guest()) {
        (0, false) => f.not_applicable("no hypervisor is detected and there was no steal time since boot"),
        (0, true) => f.unknown("none since boot, or the hypervisor does not report it"),
        (ticks, _) => f.bad(
            format!(
                "{:.2} s since boot, {:.3} % of the time of all CPUs, {:.3} % of the slots'",
                ticks as f64 / 100.0,
                share(all),
                share(slots)
            ),
            None,
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::audit::testing::{CONTAINER, GUEST, check, command, judged};
    use model::FindingState::{Bad, NotApplicable, Ok, Unknown};

    const AT: &str = "/sys/devices/system/clocksource/clocksource0";

    #[test]
    fn clocksource() {
        let files = |current: &str, available: &str| {
            format!("{AT}/current_clocksource\n\t{current}\n{AT}/available_clocksource\n\t{available}\n")
        };
        let hpet = files("hpet", "hpet acpi_pm");
        let tsc = files("acpi_pm", "tsc hpet acpi_pm");
        check(
            "clocksource",
            &[
                (&files("tsc", "tsc hpet acpi_pm"), Ok, "tsc"),
                (&files("kvm-clock", "kvm-clock tsc"), Ok, "kvm-clock"),
                (&hpet, Bad, "no fast one is available"),
                (&tsc, Bad, "acpi_pm"),
                (&files("tsc-early", "tsc-early"), Unknown, "its speed is unknown"),
                ("", Unknown, "no /sys"),
            ],
        );
        assert_eq!(command("clocksource", &tsc), format!("echo tsc > {AT}/current_clocksource"));
        assert!(judged("clocksource", &hpet).remedy.unwrap().reboot);
    }

    #[test]
    fn steal() {
        let stat = |steal: u32| {
            format!(
                "/proc/stat\n\tcpu  0 0 0 0 0 0 0 0 0 0\n\tcpu0 90 0 0 900 0 0 0 10 0 0\n\tcpu1 0 0 {} 0 0 0 0 {steal} 5 0\n\tintr 5\n",
                1000 - steal
            )
        };
        let none = stat(0).replace(" 10 0 0\n", " 0 0 0\n");
        check(
            "steal",
            &[
                (&none, NotApplicable, "no hypervisor is detected"),
                (&format!("{CONTAINER}{none}"), NotApplicable, ""),
                (&format!("{GUEST}{none}"), Unknown, "does not report it"),
                (
                    &format!("{GUEST}{}", stat(20)),
                    Bad,
                    "0.30 s since boot, 1.500 % of the time of all CPUs, 2.000 % of the slots'",
                ),
                (&format!("{CONTAINER}{GUEST}{}", stat(0)), Bad, "0.10 s since boot, 0.500 %"),
                // Whoever hides the hypervisor still takes the time.
                (&stat(1), Bad, "0.11 s"),
                ("", Unknown, "no /proc/stat"),
            ],
        );
        assert!(judged("steal", &stat(1)).remedy.is_none());
    }
}
