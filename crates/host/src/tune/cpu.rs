//! Processors: hyper-threads, turbo, governor, frequency, uncore, idle states.
//!
//! Sources: Documentation/admin-guide/pm/{cpufreq,intel_pstate,amd-pstate,cpuidle,intel_uncore_frequency_scaling}.rst,
//! Documentation/ABI/testing/sysfs-devices-system-cpu.

use super::plan::View;
use super::{Change, Form};
use crate::cpulist::Set;
use crate::facts::Uncore;

const CPUS: &str = "/sys/devices/system/cpu";

/// Idle states that take longer than this to leave are switched off: C1 and C1E take 1 to 10 µs, all deeper ones more.
const SHALLOW_US: u64 = 10;

/// Siblings of slots' CPUs go offline.
pub(super) fn smt(view: &View<'_>) -> Vec<Change> {
    let siblings: Set = view.slots.iter().flat_map(|slot| slot.idle_siblings.iter().copied()).collect();
    let siblings = siblings.intersection(&view.quiet);
    siblings.filter_map(|cpu| view.file("smt", &format!("{CPUS}/cpu{cpu}/online"), Form::Text, "0")).collect()
}

/// Turbo and boost off: single policies first, since none can be set any more once the whole machine is.
pub(super) fn turbo(view: &View<'_>) -> Vec<Change> {
    let switches = view.frequency.turbo.iter().rev();
    switches.filter_map(|switch| view.file("turbo", &switch.file, Form::Text, switch.off)).collect()
}

/// The governor that stays at the highest frequency allowed.
pub(super) fn governor(view: &View<'_>) -> Vec<Change> {
    let want = "performance";
    let offers = |cpu: &&u32| {
        view.value(&cpufreq(**cpu, "scaling_available_governors"), Form::Text)
            .is_none_or(|all| all.split_whitespace().any(|governor| governor == want))
    };
    let file = |cpu: &u32| view.file("governor", &cpufreq(*cpu, "scaling_governor"), Form::Text, want);
    leaders(view).iter().filter(offers).filter_map(file).collect()
}

/// Least and most frequency made equal.
pub(super) fn frequency(view: &View<'_>) -> Vec<Change> {
    leaders(view).iter().flat_map(|cpu| hold(view, *cpu).unwrap_or_default()).collect()
}

/// At the frequency wished, else the highest without turbo, else the most that is allowed now: two writes in an order in
/// which the least never exceeds the most; their reverse has that property too.
fn hold(view: &View<'_>, cpu: u32) -> Option<Vec<Change>> {
    let range = view.frequency.cpus.get(&cpu)?;
    let (min, max) = (*range.min.known()?, *range.max.known()?);
    let bound = |name: &str| -> Option<u64> { view.machine.number(&cpufreq(cpu, name)).ok() };
    let want = view.config.frequency_khz.or(range.base).unwrap_or(max);
    let want = bound("cpuinfo_max_freq").map_or(want, |most| want.min(most));
    let want = bound("cpuinfo_min_freq").map_or(want, |least| want.max(least));
    let file = |name: &str| view.file("frequency_range", &cpufreq(cpu, name), Form::Text, &want.to_string());
    let [least, most] = [file("scaling_min_freq"), file("scaling_max_freq")];
    let order = if min > want { [least, most] } else { [most, least] };
    Some(order.into_iter().flatten().collect())
}

/// The clock of caches and memory controller held at its highest.
pub(super) fn uncore(view: &View<'_>) -> Vec<Change> {
    let held = |domain: &Uncore| {
        let most = domain.max.known()?.to_string();
        view.file("uncore", &format!("{}/min_freq_khz", domain.path), Form::Text, &most)
    };
    view.frequency.uncore.iter().filter_map(held).collect()
}

/// Deep idle states off on slots' CPUs.
pub(super) fn c_states(view: &View<'_>) -> Vec<Change> {
    let of_cpu = |cpu: &u32| {
        let directory = format!("{CPUS}/cpu{cpu}/cpuidle");
        let states = view.machine.list(&directory).unwrap_or_default();
        let state = |name: &String| {
            let latency: u64 = view.machine.number(&format!("{directory}/{name}/latency")).ok()?;
            let deep = latency > SHALLOW_US;
            deep.then(|| view.file("c_states", &format!("{directory}/{name}/disable"), Form::Text, "1"))?
        };
        states.iter().filter_map(state).collect::<Vec<_>>()
    };
    view.judging.iter().flat_map(of_cpu).collect()
}

/// Of CPUs whose speed matters, one of each frequency policy: what is written for one holds for all of its policy.
fn leaders(view: &View<'_>) -> Vec<u32> {
    let policy = |cpu: u32| -> Set {
        let related = view.value(&cpufreq(cpu, "related_cpus"), Form::Text).unwrap_or_default();
        related.split_whitespace().filter_map(|cpu| cpu.parse().ok()).collect()
    };
    let leads = |cpu: &u32| policy(*cpu).intersection(&view.timed).next().is_none_or(|first| first == cpu);
    view.timed.iter().copied().filter(leads).collect()
}

fn cpufreq(cpu: u32, name: &str) -> String {
    format!("{CPUS}/cpu{cpu}/cpufreq/{name}")
}
