//! What is found, planned and changed on a host.

use crate::{Isolation, Nanos, NoiseFloor, Reading};
use serde::{Deserialize, Serialize};

/// Severity of a source of noise. `high`: percents of a program's time. `medium`: tenths of a percent, or rare bursts.
/// `low`: microseconds, or differences between machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Percents of a program's time.
    High,
    /// Tenths of a percent, or rare bursts.
    Medium,
    /// Microseconds, or differences between machines.
    Low,
}

/// A slot: the CPUs, memory nodes and cgroup that one run has to itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Slot {
    /// Number of the slot, from 0.
    pub id: u32,
    /// CPUs that runs use.
    pub cpus: Vec<u32>,
    /// Hyper-threads of the same cores, which stay idle.
    pub idle_siblings: Vec<u32>,
    /// Memory nodes of the CPUs. Empty if the machine reports none.
    pub mem_nodes: Vec<u32>,
    /// Processor package of the CPUs.
    pub package: u32,
    /// Strongest isolation that is available.
    pub isolation: Isolation,
}

impl Slot {
    /// Its CPUs and the idle siblings, ascending: other work must not run on any of them.
    pub fn all_cpus(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.cpus.iter().chain(&self.idle_siblings).copied().collect();
        all.sort_unstable();
        all
    }
}

/// How a host's CPUs are divided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotPlan {
    /// CPUs that are in no slot.
    pub housekeeping: Vec<u32>,
    /// The slots, in the order of use.
    pub slots: Vec<Slot>,
}

/// A slot with its noise floor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MeasuredSlot {
    /// The slot.
    #[serde(flatten)]
    pub slot: Slot,
    /// Noise floor. Omitted if it was not measured since the system booted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_floor: Option<NoiseFloor>,
}

/// Slots of a host with their noise floors, as printed by `tauto slots --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Slots))]
pub struct MeasuredSlots {
    /// CPUs that are in no slot.
    pub housekeeping: Vec<u32>,
    /// The slots.
    pub slots: Vec<MeasuredSlot>,
}

/// State of a change. `planned`: not applied yet. `applied`: written, but not read back. `verified`: written and read back as
/// wanted. `refused`: the kernel refused it, the file is absent, or another value was read back. `undone`: the previous value
/// is restored. `foreign`: somebody else has changed it since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = TuneState))]
#[serde(rename_all = "snake_case")]
pub enum ChangeState {
    /// Not applied yet.
    Planned,
    /// Written, but not read back.
    Applied,
    /// Written and read back as wanted.
    Verified,
    /// The kernel refused it, the file is absent, or another value was read back.
    Refused,
    /// The previous value is restored.
    Undone,
    /// Somebody else has changed it since.
    Foreign,
}

/// One change of a host's settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = TuneChange))]
pub struct Change {
    /// Id of the audit finding that it remedies.
    pub id: String,
    /// The file, or the name of the setting if it has no file.
    pub target: String,
    /// Value before the change.
    pub found: String,
    /// Wanted value.
    pub want: String,
    /// State of the change.
    pub state: ChangeState,
    /// Why it is refused or foreign. Null otherwise.
    pub reason: Option<String>,
}

/// Changes that are planned, applied or undone, as printed by `tauto tune --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Tuning {
    /// Changes, in the order in which they are applied.
    pub changes: Vec<Change>,
    /// Path of the journal.
    pub journal: String,
    /// Whether any change is in force.
    pub in_force: bool,
    /// Noise of the slots before and after. Only for `apply`, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseComparison>,
    /// Settings for the next boot. Only if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<BootPlan>,
}

/// Settings for the next boot of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct BootPlan {
    /// Parameters for the kernel's command line.
    pub parameters: String,
    /// Drop-in file for the boot loader. Null if the loader is not known.
    pub drop_in: Option<String>,
    /// What to do, as text.
    pub advice: Vec<String>,
}

/// Noise of a CPU, as seen by a program that only reads the clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CpuNoise {
    /// The CPU.
    pub cpu: u32,
    /// Number of interruptions over 10 µs per second.
    pub gaps_per_second: Reading<f64>,
    /// Percentage of time lost in these interruptions.
    pub lost_pct: Reading<f64>,
    /// Longest interruption.
    pub longest_ns: Reading<Nanos>,
}

/// Noise of the slots before and after tuning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct NoiseComparison {
    /// Before tuning.
    pub before: Vec<CpuNoise>,
    /// After tuning.
    pub after: Vec<CpuNoise>,
}

/// A compiler or runtime that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Tool))]
pub struct HostTool {
    /// Name in the language table.
    pub name: String,
    /// Path of the tool.
    pub path: String,
    /// Version that the tool reports.
    pub version: Reading<String>,
}

/// A configured language and its tools on a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = NodeLanguage))]
pub struct HostLanguage {
    /// Language id.
    pub id: String,
    /// Display name.
    pub name: String,
    /// File name extensions, without the dot.
    pub extensions: Vec<String>,
    /// Whether it can be used on this host.
    pub available: bool,
    /// Why it cannot be used. Omitted if it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Tools that were found.
    pub tools: Vec<HostTool>,
    /// Compile command, as configured. Null if the language is not compiled.
    pub compile: Option<Vec<String>>,
    /// Run command, as configured.
    pub run: Vec<String>,
}

/// Configured languages, as printed by `tauto languages --json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = NodeLanguages))]
pub struct HostLanguages {
    /// Languages, in the order of the table.
    pub languages: Vec<HostLanguage>,
}
