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
    let offers = |policy: &&String| {
        view.value(&format!("{policy}/scaling_available_governors"), Form::Text)
            .is_some_and(|all| all.split_whitespace().any(|governor| governor == want))
    };
    let file =
        |policy: &String| view.file("governor", &format!("{policy}/scaling_governor"), Form::Text, want);
    policies(view).iter().filter(offers).filter_map(file).collect()
}

/// Least and most frequency made equal.
pub(super) fn frequency(view: &View<'_>) -> Vec<Change> {
    policies(view).iter().flat_map(|policy| hold(view, policy).unwrap_or_default()).collect()
}

/// At the frequency wished, else the highest without turbo, else the most that is allowed now: two writes in an order in
/// which the least never exceeds the most; their reverse has that property too.
fn hold(view: &View<'_>, policy: &str) -> Option<Vec<Change>> {
    let number = |name: &str| -> Option<u64> { view.machine.number(&format!("{policy}/{name}")).ok() };
    let (least, most) = (number("cpuinfo_min_freq")?, number("cpuinfo_max_freq")?);
    let base = || members(view, policy).iter().find_map(|cpu| view.frequency.cpus.get(cpu)?.base);
    let want = view.wishes.frequency_khz.or_else(base).or_else(|| number("scaling_max_freq"))?;
    let want = want.min(most).max(least);
    let file =
        |name: &str| view.file("frequency_range", &format!("{policy}/{name}"), Form::Text, &want.to_string());
    let (min, max) = (file("scaling_min_freq"), file("scaling_max_freq"));
    let falls = number("scaling_min_freq")? > want;
    let order = if falls { [min, max] } else { [max, min] };
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

/// The frequency policies of CPUs whose speed matters. CPUs may share one.
fn policies(view: &View<'_>) -> Vec<String> {
    let names = view.machine.list(&format!("{CPUS}/cpufreq")).unwrap_or_default();
    let policies = names.iter().filter(|name| name.starts_with("policy"));
    let paths = policies.map(|name| format!("{CPUS}/cpufreq/{name}"));
    paths.filter(|policy| !members(view, policy).is_disjoint(&view.timed)).collect()
}

fn members(view: &View<'_>, policy: &str) -> Set {
    let text = view.value(&format!("{policy}/related_cpus"), Form::Text).unwrap_or_default();
    text.split_whitespace().filter_map(|cpu| cpu.parse().ok()).collect()
}
