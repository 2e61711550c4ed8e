//! How fast the cores run: turbo, governor, range, what is outside the cores, power, heat.

use super::{Judged, Seen, at_run_time, by_value, finding, on_each, unless_hidden};
use crate::cpulist::Set;
use crate::facts::Range;
use model::{Finding, Reading, Remedy, Scope, Severity};
use std::collections::{BTreeMap, BTreeSet};

const CPUS: &str = "/sys/devices/system/cpu";

pub(super) fn turbo(seen: &Seen) -> Finding {
    let f = finding(
        "turbo",
        Severity::High,
        "the clock frequency depends on temperature and on other cores: under load 13.5 % of a run's time, 2.5 % with turbo off \
         (Yandex.Contest)",
    );
    let switches = &seen.facts.frequency.turbo;
    let Some(first) = switches.first() else {
        return unless_hidden(
            seen,
            no_turbo_switch(seen, f.read_from(format!("{CPUS}/intel_pstate, {CPUS}/cpufreq"))),
        );
    };
    // The one for all CPUs comes first and is enough; a policy's own counts too, since each can be set apart.
    let f = f.read_from(first.file.clone());
    let on: Vec<_> = switches.iter().filter(|s| s.value.known().is_some_and(|v| v != s.off)).collect();
    if let Some(switch) = on.first() {
        let each = |file: &str| file.contains("/cpufreq/boost") && file != format!("{CPUS}/cpufreq/boost");
        let command = if each(&switch.file) {
            on.iter().map(|s| format!("echo {} > {}", s.off, s.file)).collect::<Vec<_>>().join("; ")
        } else {
            format!("echo {} > {}", switch.off, switch.file)
        };
        let value = switch.value.known().map_or("", String::as_str);
        return f.bad(format!("{} is {value}: turbo is on", switch.file), at_run_time(command));
    }
    match switches.iter().find_map(|s| if let Reading::Unknown(why) = &s.value { Some(why) } else { None }) {
        Some(why) => f.unknown(why.clone()),
        None => unless_hidden(seen, f.ok(format!("{} is {}: turbo is off", first.file, first.off))),
    }
}

fn no_turbo_switch(seen: &Seen, f: Finding) -> Finding {
    let driver = seen.facts.frequency.cpus.values().find_map(|range| range.driver.known());
    match driver.map(String::as_str) {
        None => f.unknown(
            "no driver of frequencies is loaded: whether the hardware raises its clock is not reported",
        ),
        // amd-pstate has a switch from Linux 6.11 on.
        Some(driver) if driver.starts_with("amd-pstate") => {
            f.unknown(format!("driver `{driver}` of this kernel has no switch for boost"))
        }
        Some(driver) => f.not_applicable(format!("driver `{driver}` supports no turbo on this processor")),
    }
}

pub(super) fn governor(seen: &Seen) -> Finding {
    let f = finding(
        "governor",
        Severity::High,
        "a governor changes the clock with the load; one sibling left untuned made 59 % spread between CPUs, 0.6 % after \
         (benchmarkoor #326)",
    )
    .read_from(format!("{CPUS}/cpu*/cpufreq/scaling_governor"));
    let ranges = match of_slots(seen) {
        Ok(ranges) => ranges,
        Err(why) => return unless_hidden(seen, f.unknown(why)),
    };
    let fixed = |range: &Range| range.min.known().is_some() && range.min.known() == range.max.known();
    let governor = |range: &Range| range.governor.known().map_or("?", String::as_str).to_string();
    let shown = by_value(ranges.iter().map(|(cpu, range)| (*cpu, governor(range))));
    let varying: Set = ranges
        .iter()
        .filter(|(_, r)| r.governor.known().is_some_and(|g| g != "performance") && !fixed(r))
        .map(|(cpu, _)| *cpu)
        .collect();
    if !varying.is_empty() {
        let write = format!("echo performance > {CPUS}/cpu$cpu/cpufreq/scaling_governor");
        return f.bad(shown, at_run_time(on_each(&varying, &write)));
    }
    match ranges.values().find_map(|r| if let Reading::Unknown(why) = &r.governor { Some(why) } else { None })
    {
        Some(why) => f.unknown(why.clone()),
        None if ranges.values().all(|r| governor(r) == "performance") => unless_hidden(seen, f.ok(shown)),
        None => unless_hidden(seen, f.ok(format!("{shown}, with equal minimum and maximum"))),
    }
}

/// The ranges of the slots' CPUs and their siblings, or why there are none.
fn of_slots<'a>(seen: &Seen<'a>) -> Result<BTreeMap<u32, &'a Range>, String> {
    let cpus = seen.slot_cpus();
    let ranges = &seen.facts.frequency.cpus;
    match cpus.iter().find(|cpu| !ranges.contains_key(cpu)) {
        Some(cpu) => {
            Err(format!("CPU {cpu} has no {CPUS}/cpu{cpu}/cpufreq: no file shows how its clock is chosen"))
        }
        None => Ok(cpus.iter().filter_map(|cpu| Some((*cpu, ranges.get(cpu)?))).collect()),
    }
}

pub(super) fn frequency_range(seen: &Seen) -> Finding {
    let f = finding(
        "frequency_range",
        Severity::High,
        "if minimum and maximum differ, the clock moves between them; CPUs at unequal clocks differ by as much: 59 % spread, 0.6 % once all were equal (benchmarkoor #326)",
    )
    .read_from(format!("{CPUS}/cpu*/cpufreq/scaling_min_freq, scaling_max_freq"));
    let ranges = match of_slots(seen) {
        Ok(ranges) => ranges,
        Err(why) => return unless_hidden(seen, f.unknown(why)),
    };
    let mut bounds: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (cpu, range) in &ranges {
        match (&range.min, &range.max) {
            (Reading::Known(min), Reading::Known(max)) => drop(bounds.insert(*cpu, (*min, *max))),
            (Reading::Unknown(why), _) | (_, Reading::Unknown(why)) => return f.unknown(why.clone()),
        }
    }
    let mhz = |(min, max): &(u64, u64)| match min == max {
        true => format!("{} MHz", min / 1000),
        false => format!("{} to {} MHz", min / 1000, max / 1000),
    };
    let shown = by_value(bounds.iter().map(|(cpu, range)| (*cpu, mhz(range))));
    // Cores of unequal kinds may be held at unequal clocks.
    let kind = |cpu: &u32| seen.facts.topology.cpus.get(cpu).and_then(|cpu| cpu.capacity);
    let kinds: BTreeSet<Option<u32>> = bounds.keys().map(kind).collect();
    let clocks: BTreeSet<(Option<u32>, (u64, u64))> =
        bounds.iter().map(|(c, range)| (kind(c), *range)).collect();
    if bounds.values().all(|(min, max)| min == max) && clocks.len() == kinds.len() {
        return unless_hidden(seen, f.ok(shown));
    }
    f.bad(shown, at_run_time(hold(&ranges, &bounds)))
}

/// Holds each CPU at what it can always hold: its base frequency where told, else the most it is allowed now.
fn hold(ranges: &BTreeMap<u32, &Range>, bounds: &BTreeMap<u32, (u64, u64)>) -> String {
    let mut targets: BTreeMap<u64, Set> = BTreeMap::new();
    for (cpu, (_, max)) in bounds {
        let base = ranges.get(cpu).and_then(|range| range.base);
        targets.entry(base.unwrap_or(*max)).or_default().insert(*cpu);
    }
    let write = |(khz, cpus): (&u64, &Set)| {
        let to = format!("{CPUS}/cpu$cpu/cpufreq/scaling");
        // The kernel takes no least above the most: the bound that is in the way is moved first.
        let falls = cpus.iter().any(|cpu| bounds.get(cpu).is_some_and(|(min, _)| min > khz));
        let [one, two] = if falls { ["min", "max"] } else { ["max", "min"] };
        on_each(cpus, &format!("echo {khz} > {to}_{one}_freq; echo {khz} > {to}_{two}_freq"))
    };
    targets.iter().map(write).collect::<Vec<_>>().join("; ")
}

pub(super) fn uncore(seen: &Seen) -> Finding {
    let f = finding(
        "uncore",
        Severity::Medium,
        "the clock of caches and memory controller moves too, and even counting core cycles does not cancel it \
         (sightglass #138)",
    )
    .read_from(format!("{CPUS}/intel_uncore_frequency/*/min_freq_khz, max_freq_khz"));
    let domains = &seen.facts.frequency.uncore;
    if domains.is_empty() {
        let intel = seen.facts.platform.vendor.known().is_some_and(|vendor| vendor == "GenuineIntel");
        let why = match intel {
            true => "the driver is not loaded (modprobe intel-uncore-frequency), or this processor has none",
            false => {
                "the kernel has no file that shows this processor's memory clock; the firmware set-up may fix it"
            }
        };
        return unless_hidden(seen, f.unknown(why));
    }
    let mut moving = Vec::new();
    for domain in domains {
        match (&domain.min, &domain.max) {
            (Reading::Known(min), Reading::Known(max)) if min < max => moving.push((&domain.path, min, max)),
            (Reading::Known(_), Reading::Known(_)) => {}
            (Reading::Unknown(why), _) | (_, Reading::Unknown(why)) => return f.unknown(why.clone()),
        }
    }
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_string();
    let Some((path, min, max)) = moving.first() else {
        return unless_hidden(
            seen,
            f.ok(format!("{} domains, minimum and maximum equal in each", domains.len())),
        );
    };
    let observed = format!(
        "{}: {} to {} MHz; {} of {} domains move",
        name(path),
        *min / 1000,
        *max / 1000,
        moving.len(),
        domains.len()
    );
    let hold = moving.iter().map(|(path, _, max)| format!("echo {max} > {path}/min_freq_khz"));
    f.bad(observed, at_run_time(hold.collect::<Vec<_>>().join("; ")))
}

pub(super) fn power_cap(seen: &Seen) -> Finding {
    let f = finding(
        "power_cap",
        Severity::Medium,
        "below its rated power a processor lowers its clock when all cores work: \"identical\" capped processors then \
         differ (2386 CPUs, Rountree)",
    )
    .read_from("/sys/class/powercap/intel-rapl:*/constraint_*_power_limit_uw");
    let limits = &seen.facts.frequency.power;
    if limits.is_empty() {
        return unless_hidden(seen, f.unknown("no power limit is reported (/sys/class/powercap)"));
    }
    let watt = |uw: u64| uw as f64 / 1e6;
    let below = |limit: &&crate::facts::PowerLimit| {
        limit.limit.known().zip(limit.rated).is_some_and(|(limit, rated)| *limit < rated)
    };
    let low: Vec<_> = limits.iter().filter(below).collect();
    if let Some(first) = low.first()
        && let (Some(limit), Some(rated)) = (first.limit.known(), first.rated)
    {
        let raise = low.iter().filter_map(|l| Some(format!("echo {} > {}", l.rated?, l.file)));
        let observed = format!("{}: {} W, made for {} W", first.name, watt(*limit), watt(rated));
        return f.bad(observed, at_run_time(raise.collect::<Vec<_>>().join("; ")));
    }
    let told: Vec<String> =
        limits.iter().filter_map(|l| Some(format!("{}: {} W", l.name, watt(*l.limit.known()?)))).collect();
    let rated = limits.iter().any(|limit| limit.rated.is_some() && limit.limit.known().is_some());
    let told = told.join(", ");
    unless_hidden(
        seen,
        match (rated, told.is_empty()) {
            (true, _) => f.ok(told),
            (false, true) => f.unknown("the power limits may not be read by this user"),
            (false, false) => f.unknown(format!("{told}; the processor's base frequency is not reported")),
        },
    )
}

pub(super) fn thermal_throttle(seen: &Seen) -> Finding {
    let f = finding(
        "thermal_throttle",
        Severity::High,
        "an overheated processor slows down for seconds, whatever caused the heat (BenchExec #926)",
    )
    .read_from(format!("{CPUS}/cpu*/thermal_throttle/core_throttle_count, package_throttle_count"));
    let counts = &seen.facts.frequency.throttled;
    let throttled = counts.iter().filter(|(_, (core, package))| core + package > 0);
    let shown =
        throttled.map(|(cpu, (core, package))| (*cpu, format!("core {core}, package {package} times")));
    let shown = by_value(shown);
    if counts.is_empty() {
        return unless_hidden(seen, f.unknown("this processor's throttling is not counted by the kernel"));
    }
    if shown.is_empty() {
        return unless_hidden(seen, f.ok("never since boot"));
    }
    let remedy = Remedy {
        command: "cool it better, run fewer slots, or hold a lower frequency (see frequency_range)".into(),
        scope: Scope::Firmware,
        root: true,
        reboot: false,
        reversible: true,
    };
    f.bad(format!("since boot: {shown}"), Some(remedy))
}

#[cfg(test)]
mod tests {
    use crate::audit::testing::{GUEST, check, command, judged_with};
    use crate::slots::SlotsConfig;
    use model::FindingState::{Bad, NotApplicable, Ok, Unknown};

    const CPUS: &str = "/sys/devices/system/cpu";

    /// CPUs 0 and 1 are one core, CPUs 2 and 3 the other, on which the slot is.
    fn smt() -> String {
        let siblings =
            |cpu: u32, list: &str| format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list\n\t{list}\n");
        format!(
            "{CPUS}/online\n\t0-3\n{}{}{}{}",
            siblings(0, "0-1"),
            siblings(1, "0-1"),
            siblings(2, "2-3"),
            siblings(3, "2-3")
        )
    }

    /// A CPU's driver, governor, least and most kHz.
    fn cpu(cpu: u32, driver: &str, governor: &str, min: u32, max: u32) -> String {
        let at = format!("{CPUS}/cpu{cpu}/cpufreq");
        format!(
            "{at}/scaling_driver\n\t{driver}\n{at}/scaling_governor\n\t{governor}\n\
             {at}/scaling_min_freq\n\t{min}\n{at}/scaling_max_freq\n\t{max}\n"
        )
    }

    #[test]
    fn turbo() {
        let intel = |value: &str| format!("{CPUS}/intel_pstate/no_turbo\n\t{value}\n");
        let boost = |value: &str| format!("{CPUS}/cpufreq/boost\n\t{value}\n");
        let each = |value: &str| format!("{CPUS}/cpu1/cpufreq/boost\n\t{value}\n");
        let driver = |name: &str| cpu(1, name, "performance", 1, 2);
        check(
            "turbo",
            &[
                (&intel("0"), Bad, "no_turbo is 0: turbo is on"),
                (&intel("1"), Ok, "turbo is off"),
                (&format!("{GUEST}{}", intel("1")), Unknown, "hypervisor"),
                (&format!("{GUEST}{}", intel("0")), Bad, "on"),
                (&boost("1"), Bad, "boost is 1"),
                (&boost("0"), Ok, "boost is 0"),
                (&format!("{}{}", boost("0"), each("1")), Bad, "cpu1/cpufreq/boost is 1"),
                (&format!("{}{}", boost("0"), each("0")), Ok, ""),
                (&format!("{CPUS}/cpufreq/boost ! 13 Permission denied\n"), Unknown, "may not be read"),
                (&driver("acpi-cpufreq"), NotApplicable, "`acpi-cpufreq` supports no turbo"),
                (&driver("amd-pstate-epp"), Unknown, "no switch"),
                ("", Unknown, "no driver"),
                (GUEST, Unknown, "hypervisor"),
            ],
        );
        assert_eq!(command("turbo", &intel("0")), format!("echo 1 > {CPUS}/intel_pstate/no_turbo"));
        assert_eq!(command("turbo", &boost("1")), format!("echo 0 > {CPUS}/cpufreq/boost"));
        assert_eq!(command("turbo", &each("1")), format!("echo 0 > {CPUS}/cpu1/cpufreq/boost"));
    }

    #[test]
    fn governor() {
        let core = |a: &str, b: &str| {
            format!(
                "{}{}{}",
                smt(),
                cpu(2, "intel_pstate", a, 800_000, 3_000_000),
                cpu(3, "intel_pstate", b, 800_000, 3_000_000)
            )
        };
        let fixed = format!("{}{}", smt(), cpu(2, "acpi-cpufreq", "userspace", 2_000_000, 2_000_000))
            + &cpu(3, "acpi-cpufreq", "performance", 2_000_000, 2_000_000);
        let denied = format!(
            "{CPUS}/cpu1/cpufreq/scaling_driver\n\tx\n{CPUS}/cpu1/cpufreq/scaling_governor ! 13 Permission denied\n"
        );
        check(
            "governor",
            &[
                (&core("performance", "performance"), Ok, "performance on 2-3"),
                // The sibling left untuned.
                (&core("performance", "powersave"), Bad, "performance on 2, powersave on 3"),
                (&core("schedutil", "schedutil"), Bad, "schedutil on 2-3"),
                (&fixed, Ok, "with equal minimum and maximum"),
                (&format!("{GUEST}{}", core("performance", "performance")), Unknown, "hypervisor"),
                (&format!("{}{}", smt(), cpu(2, "x", "performance", 1, 1)), Unknown, "CPU 3 has no"),
                (&denied, Unknown, "may not be read"),
                ("", Unknown, "CPU 1 has no"),
            ],
        );
        assert_eq!(
            command("governor", &core("schedutil", "powersave")),
            format!("for cpu in 2 3; do echo performance > {CPUS}/cpu$cpu/cpufreq/scaling_governor; done")
        );
    }

    #[test]
    fn frequency_range() {
        let held = |a: u32, b: u32| format!("{}{}{}", smt(), cpu(2, "x", "y", a, a), cpu(3, "x", "y", b, b));
        let moving = cpu(1, "x", "y", 800_000, 3_500_000);
        let base = format!("{moving}{CPUS}/cpu1/cpufreq/base_frequency\n\t2400000\n");
        let nominal = format!("{moving}{CPUS}/cpu1/acpi_cppc/nominal_freq\n\t2100\n");
        let listed =
            format!("{moving}{CPUS}/cpu1/cpufreq/scaling_available_frequencies\n\t2901000 2900000 800000\n");
        let above =
            format!("{}{CPUS}/cpu1/acpi_cppc/nominal_freq\n\t2100\n", cpu(1, "x", "y", 3_000_000, 3_500_000));
        check(
            "frequency_range",
            &[
                (&held(2_000_000, 2_000_000), Ok, "2000 MHz on 2-3"),
                (&held(2_000_000, 2_400_000), Bad, "2000 MHz on 2, 2400 MHz on 3"),
                (&moving, Bad, "800 to 3500 MHz on 1"),
                (&format!("{GUEST}{}", held(1000, 1000)), Unknown, "hypervisor"),
                ("", Unknown, "CPU 1 has no"),
                (&format!("{CPUS}/cpu1/cpufreq/scaling_driver\n\tx\n"), Unknown, "scaling_min_freq"),
            ],
        );
        let at = format!("{CPUS}/cpu1/cpufreq/scaling");
        for (files, khz, first, second) in [
            (&moving, 3_500_000, "max", "min"),
            (&base, 2_400_000, "max", "min"),
            (&nominal, 2_100_000, "max", "min"),
            (&above, 2_100_000, "min", "max"),
            (&listed, 2_900_000, "max", "min"),
        ] {
            let expected = format!("echo {khz} > {at}_{first}_freq; echo {khz} > {at}_{second}_freq");
            assert_eq!(command("frequency_range", files), expected);
        }
    }

    #[test]
    fn cores_of_unequal_kinds_may_be_held_at_unequal_clocks() {
        let machine = |capacity: u32| {
            let slow = cpu(1, "x", "y", 2_000_000, 2_000_000) + &cpu(2, "x", "y", 3_000_000, 3_000_000);
            format!(
                "{slow}{CPUS}/online\n\t0-2\n{CPUS}/cpu0/cpu_capacity\n\t1024\n\
                 {CPUS}/cpu1/cpu_capacity\n\t{capacity}\n{CPUS}/cpu2/cpu_capacity\n\t1024\n"
            )
        };
        let config = SlotsConfig { housekeeping: "0".into(), ..SlotsConfig::default() };
        assert_eq!(judged_with("frequency_range", &machine(512), &config).state, Ok);
        assert_eq!(judged_with("frequency_range", &machine(1024), &config).state, Bad);
    }

    #[test]
    fn uncore() {
        let domain = |min: u32, max: u32| {
            let at = format!("{CPUS}/intel_uncore_frequency/package_00_die_00");
            format!("{at}/min_freq_khz\n\t{min}\n{at}/max_freq_khz\n\t{max}\n")
        };
        let vendor = |vendor: &str| format!("/proc/cpuinfo\n\tvendor_id : {vendor}\n");
        let at = format!("{CPUS}/intel_uncore_frequency/package_00_die_00");
        check(
            "uncore",
            &[
                (&domain(2_400_000, 2_400_000), Ok, "1 domains"),
                (&domain(800_000, 2_400_000), Bad, "package_00_die_00: 800 to 2400 MHz"),
                (&vendor("GenuineIntel"), Unknown, "driver is not loaded"),
                (&vendor("AuthenticAMD"), Unknown, "no file"),
                (GUEST, Unknown, "hypervisor"),
                (&format!("{at}/min_freq_khz\n\tx\n"), Unknown, "not a number"),
            ],
        );
        assert_eq!(command("uncore", &domain(1, 2_400_000)), format!("echo 2400000 > {at}/min_freq_khz"));
    }

    #[test]
    fn power_cap() {
        let at = "/sys/class/powercap/intel-rapl:0";
        let zone = |limit: u64, rated: &str| {
            format!(
                "{at}/name\n\tpackage-0\n{at}/constraint_0_name\n\tlong_term\n{at}/constraint_0_power_limit_uw\n\t{limit}\n{rated}"
            )
        };
        let rated = format!("{at}/constraint_0_max_power_uw\n\t150000000\n");
        check(
            "power_cap",
            &[
                (&zone(150_000_000, &rated), Ok, "package-0 long_term: 150 W"),
                (&zone(100_500_000, &rated), Bad, "100.5 W, made for 150 W"),
                (&zone(100_000_000, ""), Unknown, "is not reported"),
                ("", Unknown, "no power limit"),
                (GUEST, Unknown, "hypervisor"),
            ],
        );
        let raise = format!("echo 150000000 > {at}/constraint_0_power_limit_uw");
        assert_eq!(command("power_cap", &zone(1, &rated)), raise);
    }

    #[test]
    fn thermal_throttle() {
        let counts = |core: u32, package: u32| {
            let at = format!("{CPUS}/cpu0/thermal_throttle");
            format!("{at}/core_throttle_count\n\t{core}\n{at}/package_throttle_count\n\t{package}\n")
        };
        check(
            "thermal_throttle",
            &[
                (&counts(0, 0), Ok, "never"),
                (&counts(3, 5), Bad, "core 3, package 5 times on 0"),
                (&format!("{GUEST}{}", counts(0, 0)), Unknown, "hypervisor"),
                ("", Unknown, "not counted"),
            ],
        );
    }
}
