//! How fast the processors run, and what may change that.
//!
//! Sources: Documentation/admin-guide/pm/cpufreq.rst, intel_pstate.rst, amd-pstate.rst, intel_uncore_frequency_scaling.rst,
//! Documentation/ABI/testing/sysfs-devices-system-cpu (boost, thermal_throttle), Documentation/power/powercap/powercap.rst.

use super::{Topology, text, text_if_any};
use crate::machine::Machine;
use model::Reading;
use std::collections::BTreeMap;

const CPUS: &str = "/sys/devices/system/cpu";
const UNCORE: &str = "/sys/devices/system/cpu/intel_uncore_frequency";
const POWER: &str = "/sys/class/powercap";

/// How fast the processors run, and what may change that.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frequency {
    /// The range of each online CPU that has one.
    pub cpus: BTreeMap<u32, Range>,
    /// Files that switch turbo or boost, with their values: those that are there.
    pub turbo: Vec<TurboSwitch>,
    /// Clocks outside the cores.
    pub uncore: Vec<Uncore>,
    /// How often each CPU was throttled for heat since the start, its core's and its package's count; CPUs that count
    /// (Intel's only).
    pub throttled: BTreeMap<u32, (u64, u64)>,
    /// Limits of power.
    pub power: Vec<PowerLimit>,
}

/// How fast one CPU may run, in kHz.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The driver, such as `intel_pstate` or `amd-pstate-epp`.
    pub driver: Reading<String>,
    /// What chooses within the range.
    pub governor: Reading<String>,
    /// Least it may run at.
    pub min: Reading<u64>,
    /// Most it may run at.
    pub max: Reading<u64>,
    /// What it can always hold, where the driver or the firmware (ACPI CPPC) tells it.
    pub base: Option<u64>,
}

/// A file that switches turbo or boost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurboSwitch {
    /// The file.
    pub file: String,
    /// What it holds.
    pub value: Reading<String>,
    /// What it holds when turbo is off.
    pub off: &'static str,
}

/// The clock of caches, memory controller and their interconnect, in kHz.
#[derive(Clone, Debug, PartialEq)]
pub struct Uncore {
    /// Its directory.
    pub path: String,
    /// Least.
    pub min: Reading<u64>,
    /// Most.
    pub max: Reading<u64>,
}

/// A limit of power over a time window, in microwatt.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerLimit {
    /// Its file.
    pub file: String,
    /// Zone and window, such as `package-0 long_term`.
    pub name: String,
    /// The limit in force.
    pub limit: Reading<u64>,
    /// What the processor is made for, where told and not zero.
    pub rated: Option<u64>,
}

impl Frequency {
    /// Reads it.
    pub fn read(machine: &Machine, topology: &Topology) -> Frequency {
        let online = || topology.cpus.keys().copied();
        Frequency {
            cpus: online().filter_map(|cpu| Some((cpu, range(machine, cpu)?))).collect(),
            turbo: turbo(machine, topology),
            uncore: uncore(machine),
            throttled: online().filter_map(|cpu| Some((cpu, throttled(machine, cpu)?))).collect(),
            power: power(machine),
        }
    }
}

fn range(machine: &Machine, cpu: u32) -> Option<Range> {
    let file = |name: &str| format!("{CPUS}/cpu{cpu}/cpufreq/{name}");
    let driver = text_if_any(machine, &file("scaling_driver"));
    let governor = text_if_any(machine, &file("scaling_governor"));
    // One of them is enough to know that the kernel rules this CPU's clock.
    driver.as_ref().or(governor.as_ref())?;
    Some(Range {
        driver: driver.unwrap_or_else(|| text(machine, &file("scaling_driver"))),
        governor: governor.unwrap_or_else(|| text(machine, &file("scaling_governor"))),
        min: super::number(machine, &file("scaling_min_freq")),
        max: super::number(machine, &file("scaling_max_freq")),
        base: base(machine, cpu),
    })
}

/// As the driver says; as the firmware says (ACPI CPPC, in MHz); or the highest that is not marked as turbo, which
/// acpi-cpufreq lists as 1 MHz above it.
fn base(machine: &Machine, cpu: u32) -> Option<u64> {
    let file = |name: &str| format!("{CPUS}/cpu{cpu}/{name}");
    let told = |name: &str| machine.number::<u64>(&file(name)).ok().filter(|frequency| *frequency > 0);
    let listed = || {
        let list = machine.read(&file("cpufreq/scaling_available_frequencies")).ok()?;
        let mut all: Vec<u64> = list.split_whitespace().filter_map(|khz| khz.parse().ok()).collect();
        all.sort_unstable();
        match all[..] {
            [.., below, turbo] if turbo == below + 1000 => Some(below),
            _ => all.last().copied(),
        }
    };
    told("cpufreq/base_frequency").or_else(|| Some(told("acpi_cppc/nominal_freq")? * 1000)).or_else(listed)
}

/// Of Intel's driver, of all others, and (Linux 6.11 and later) of single policies.
fn turbo(machine: &Machine, topology: &Topology) -> Vec<TurboSwitch> {
    let whole = [(format!("{CPUS}/intel_pstate/no_turbo"), "1"), (format!("{CPUS}/cpufreq/boost"), "0")];
    let each = topology.cpus.keys().map(|cpu| (format!("{CPUS}/cpu{cpu}/cpufreq/boost"), "0"));
    let switch = |(file, off): (String, &'static str)| {
        Some(TurboSwitch { value: text_if_any(machine, &file)?, file, off })
    };
    whole.into_iter().chain(each).filter_map(switch).collect()
}

fn uncore(machine: &Machine) -> Vec<Uncore> {
    let names = machine.list(UNCORE).unwrap_or_default();
    let domain = |name: String| {
        let path = format!("{UNCORE}/{name}");
        let file = |name: &str| super::number(machine, &format!("{path}/{name}"));
        Uncore { min: file("min_freq_khz"), max: file("max_freq_khz"), path }
    };
    names.into_iter().map(domain).collect()
}

fn throttled(machine: &Machine, cpu: u32) -> Option<(u64, u64)> {
    let count =
        |of: &str| machine.number(&format!("{CPUS}/cpu{cpu}/thermal_throttle/{of}_throttle_count")).ok();
    Some((count("core")?, count("package").unwrap_or(0)))
}

/// Of whole packages: limits of their parts lie below them.
fn power(machine: &Machine) -> Vec<PowerLimit> {
    let zones = machine.list(POWER).unwrap_or_default();
    let package = |zone: &String| zone.starts_with("intel-rapl:") && zone.matches(':').count() == 1;
    let limits = |zone: String| {
        let name = machine.read(&format!("{POWER}/{zone}/name")).unwrap_or_else(|_| zone.clone());
        let limit = move |n: u32| {
            let file = |what: &str| format!("{POWER}/{zone}/constraint_{n}_{what}");
            let window = machine.read(&file("name")).ok()?;
            Some(PowerLimit {
                name: format!("{name} {window}"),
                limit: super::number(machine, &file("power_limit_uw")),
                rated: machine.number(&file("max_power_uw")).ok().filter(|rated| *rated > 0),
                file: file("power_limit_uw"),
            })
        };
        (0..4).map_while(limit).collect::<Vec<_>>()
    };
    zones.into_iter().filter(package).flat_map(limits).collect()
}
