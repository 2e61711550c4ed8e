//! What a measurement was protected by, and what it lacked, from facts and from what the kernel allowed.

use crate::Protection;
use host::facts::Facts;
use model::{MeasurementConditions, Reading};

/// The conditions of a measurement on a CPU, in a slot or (with the reason) in none; the facts before and after it.
pub fn conditions(
    cpu: Option<u32>,
    slot: Reading<u32>,
    protection: &Protection,
    before: &Facts,
    after: &Facts,
) -> MeasurementConditions {
    let mut lacks = Vec::new();
    let mut had = |what: &str, done: &Result<(), std::io::Error>| match done {
        Ok(()) => true,
        Err(e) => {
            lacks.push(format!("{what}: {e}"));
            false
        }
    };
    let bound = had("bound to a CPU", &protection.bound);
    let fifo = had("real-time class SCHED_FIFO", &protection.fifo);
    let small_pages = had("huge pages off", &protection.huge_pages_off);
    let bound_to = Reading::from_option(cpu.filter(|_| bound), || {
        lacks.first().cloned().unwrap_or_else(|| "bound to no CPU".into())
    });
    let mem_node = bound_to.clone().and_then(|cpu| {
        let node = before.topology.cpus.get(&cpu).and_then(|cpu| cpu.node);
        Reading::from_option(node, || format!("the kernel names no memory node of CPU {cpu}"))
    });
    let held = bound_to.clone().and_then(|cpu| frequency_held(before, cpu));
    if let Reading::Unknown(why) = &slot {
        lacks.push(format!("slot: {why}"));
    }
    match &held {
        Reading::Known(true) => {}
        Reading::Known(false) => {
            lacks.push("frequency held: the clock may change; `tauto tune` holds it".into())
        }
        Reading::Unknown(why) => lacks.push(format!("frequency held: unknown, {why}")),
    }
    MeasurementConditions {
        sched: if fifo { "fifo" } else { "other" }.into(),
        slot,
        frequency: bound_to.clone().and_then(|cpu| frequency(before, cpu)),
        steal_ns: bound_to.clone().and_then(|cpu| stolen(before, after, cpu)),
        cpu: bound_to,
        frequency_held: held,
        mem_node,
        huge_pages_off: match (small_pages, &protection.huge_pages_off) {
            (false, Err(e)) => Reading::unknown(e.to_string()),
            _ => Reading::Known(true),
        },
        lacks,
    }
}

/// Whether a CPU has but one frequency: turbo off, and a governor that always chooses the highest, or a range of one.
fn frequency_held(facts: &Facts, cpu: u32) -> Reading<bool> {
    let frequency = &facts.frequency;
    let Some(range) = frequency.cpus.get(&cpu) else { return Reading::unknown("no cpufreq") };
    let turbo_on = frequency.turbo.iter().any(|s| s.value.known().is_some_and(|value| value != s.off));
    let (min, max) = (range.min.known(), range.max.known());
    let one = min.is_some() && min == max;
    let highest = range.governor.known().is_some_and(|governor| governor == "performance");
    // Below what it can always hold there is no turbo.
    let below_turbo = max.zip(range.base.as_ref()).is_some_and(|(max, base)| max <= base);
    if turbo_on && !below_turbo || !one && !highest {
        return Reading::Known(false);
    }
    match below_turbo || frequency.turbo.iter().any(|s| s.value.known().is_some()) {
        true => Reading::Known(true),
        false => Reading::unknown("no file shows whether turbo is on"),
    }
}

fn frequency(facts: &Facts, cpu: u32) -> Reading<String> {
    let Some(range) = facts.frequency.cpus.get(&cpu) else { return Reading::unknown("no cpufreq") };
    let or = |text: Option<String>| text.unwrap_or_else(|| "unknown".into());
    let mhz = |khz: &Reading<u64>| or(khz.known().map(|khz| (khz / 1000).to_string()));
    let turbo = facts.frequency.turbo.iter().find_map(|s| Some((s.value.known()?, s.off)));
    let turbo = match turbo {
        Some((value, off)) if value == off => "off",
        Some(_) => "on",
        None => "unknown",
    };
    let governor = or(range.governor.known().cloned());
    Reading::Known(format!(
        "governor {governor}, {} to {} MHz, turbo {turbo}",
        mhz(&range.min),
        mhz(&range.max)
    ))
}

/// In ns, from ticks of USER_HZ, 1/100 s.
fn stolen(before: &Facts, after: &Facts, cpu: u32) -> Reading<u64> {
    let of = |facts: &Facts| {
        facts.clock.stolen.as_ref().and_then(|all| {
            Reading::from_option(all.get(&cpu).map(|stolen| stolen.steal), || {
                format!("/proc/stat has no row for CPU {cpu}")
            })
        })
    };
    of(before).and_then(|before| of(after).map(|after| after.saturating_sub(before) * 10_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::machine::Machine;
    use std::io;

    fn facts(files: &str) -> Facts {
        let base = "tauto recording 1\n/sys/devices/system/cpu/online\n\t0-1\n/sys/devices/system/node/online\n\t0\n\
                    /sys/devices/system/node/node0/cpulist\n\t0-1\n";
        Facts::gather(&Machine::parse(&format!("{base}{files}")).unwrap()).unwrap()
    }

    fn cpufreq(governor: &str, min: u32, max: u32, no_turbo: &str) -> Facts {
        let file = |name: &str| format!("/sys/devices/system/cpu/cpu1/cpufreq/{name}");
        let mut files = format!(
            "{}\n\t{governor}\n{}\n\t{min}\n{}\n\t{max}\n{}\n\t2600000\n",
            file("scaling_governor"),
            file("scaling_min_freq"),
            file("scaling_max_freq"),
            file("base_frequency")
        );
        if !no_turbo.is_empty() {
            files += &format!("/sys/devices/system/cpu/intel_pstate/no_turbo\n\t{no_turbo}\n");
        }
        facts(&files)
    }

    #[test]
    fn a_clock_that_may_move_is_not_held() {
        for (governor, min, max, no_turbo, held) in [
            ("performance", 800_000, 3_900_000, "1", Some(true)),
            ("performance", 800_000, 3_900_000, "0", Some(false)),
            ("powersave", 800_000, 3_900_000, "1", Some(false)),
            ("powersave", 2_600_000, 2_600_000, "0", Some(true)),
            ("performance", 3_900_000, 3_900_000, "", None),
        ] {
            let found = frequency_held(&cpufreq(governor, min, max, no_turbo), 1);
            assert_eq!(found.known().copied(), held, "{governor} {min} {max} {no_turbo}: {found:?}");
        }
        assert_eq!(frequency_held(&facts(""), 1), Reading::unknown("no cpufreq"));
        let words = frequency(&cpufreq("performance", 800_000, 3_900_000, "0"), 1);
        assert_eq!(words, Reading::Known("governor performance, 800 to 3900 MHz, turbo on".into()));
    }

    #[test]
    fn what_lacks_is_named() {
        let denied = || Err(io::Error::from_raw_os_error(1));
        let stat = |steal: u32| facts(&format!("/proc/stat\n\tcpu1 1 1 1 1 1 1 1 {steal} 0 0\n"));
        let all = Protection { bound: Ok(()), fifo: Ok(()), huge_pages_off: Ok(()) };
        let had = conditions(Some(1), Reading::Known(0), &all, &stat(3), &stat(5));
        assert_eq!(
            (had.sched.as_str(), &had.cpu, &had.mem_node),
            ("fifo", &Reading::Known(1), &Reading::Known(0))
        );
        assert_eq!(had.steal_ns, Reading::Known(20_000_000));
        assert_eq!(had.lacks, ["frequency held: unknown, no cpufreq"]);
        let none = Protection { bound: denied(), fifo: denied(), huge_pages_off: denied() };
        let had = conditions(Some(1), Reading::unknown("none was asked for"), &none, &stat(3), &facts(""));
        assert_eq!(had.sched.as_str(), "other");
        let unknown =
            [had.cpu.known().is_none(), had.mem_node.known().is_none(), had.steal_ns.known().is_none()];
        assert_eq!((unknown, had.huge_pages_off.known()), ([true; 3], None));
        let lacks = had.lacks.join("\n");
        for what in
            ["bound to a CPU: ", "SCHED_FIFO: ", "huge pages off: ", "slot: none was asked for", "frequency"]
        {
            assert!(lacks.contains(what), "{lacks}");
        }
    }
}
