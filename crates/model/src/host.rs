//! What is found, planned and changed on a host.

use crate::{Isolation, Nanos, NoiseFloor, Reading};
use serde::{Deserialize, Serialize};

/// How much something matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Percents of a program's time.
    High,
    /// Tenths of a percent, or rare bursts.
    Medium,
    /// Microseconds, or a matter of comparing machines.
    Low,
}

/// The CPUs, memory node and cgroup that one run has to itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Slot {
    /// Its number, from 0.
    pub id: u32,
    /// CPUs runs use.
    pub cpus: Vec<u32>,
    /// Hyper-threads of the same cores, left empty.
    pub idle_siblings: Vec<u32>,
    /// Memory nodes of the CPUs; empty where the machine names none.
    pub mem_nodes: Vec<u32>,
    /// The processor package.
    pub package: u32,
    /// The best rung of isolation that can be had here.
    pub isolation: Isolation,
}

impl Slot {
    /// Its CPUs and the siblings left empty, ascending: everything that others must keep off.
    pub fn all_cpus(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.cpus.iter().chain(&self.idle_siblings).copied().collect();
        all.sort_unstable();
        all
    }
}

/// How a host's CPUs are divided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotPlan {
    /// Everything that is in no slot.
    pub housekeeping: Vec<u32>,
    /// The slots; those to be used first come first.
    pub slots: Vec<Slot>,
}

/// A slot, and its noise floor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MeasuredSlot {
    /// The slot.
    #[serde(flatten)]
    pub slot: Slot,
    /// Absent: nothing was measured since the system started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_floor: Option<NoiseFloor>,
}

/// How a host's CPUs are divided, and what was measured in each slot, as `tauto slots --json` prints it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Slots))]
pub struct MeasuredSlots {
    /// CPUs that are in no slot.
    pub housekeeping: Vec<u32>,
    /// Its slots.
    pub slots: Vec<MeasuredSlot>,
}

/// How far a change has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = TuneState))]
#[serde(rename_all = "snake_case")]
pub enum ChangeState {
    /// To be made.
    Planned,
    /// Written; it has not been read back, or could not be.
    Applied,
    /// Written and read back as wanted.
    Verified,
    /// The kernel refused it, the file was gone, or another value was read back.
    Refused,
    /// Put back to what was found.
    Undone,
    /// Somebody else has changed it since.
    Foreign,
}

/// One change of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = TuneChange))]
pub struct Change {
    /// The audit's id of what it quietens.
    pub id: String,
    /// The file, or what stands for one.
    pub target: String,
    /// The value found.
    pub found: String,
    /// The value wanted.
    pub want: String,
    /// How far it has come.
    pub state: ChangeState,
    /// Why it is refused or foreign.
    pub reason: Option<String>,
}

/// What is planned, changed or undone, as `tauto tune --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Tuning {
    /// In the order in which they are made.
    pub changes: Vec<Change>,
    /// The journal's path.
    pub journal: String,
    /// Something is changed now.
    pub in_force: bool,
    /// How quiet the slots were before and after; only for `apply`, when measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseComparison>,
    /// What to do for the next start; only when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<BootPlan>,
}

/// What to do for the next start of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct BootPlan {
    /// Parameters for the kernel's command line.
    pub parameters: String,
    /// The boot loader's drop-in with all its lines; none where no such loader is known here.
    pub drop_in: Option<String>,
    /// What to do, in sentences.
    pub advice: Vec<String>,
}

/// How quiet a CPU is to a program that does nothing but read the clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CpuNoise {
    /// The CPU.
    pub cpu: u32,
    /// How often in a second the program was away for more than 10 µs.
    pub gaps_per_second: Reading<f64>,
    /// Percent of the time lost in them.
    pub lost_pct: Reading<f64>,
    /// The longest.
    pub longest_ns: Reading<Nanos>,
}

/// How quiet slots were before and after they were tuned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct NoiseComparison {
    /// Before.
    pub before: Vec<CpuNoise>,
    /// After.
    pub after: Vec<CpuNoise>,
}

/// A tool that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Tool))]
pub struct HostTool {
    /// Name by which the table calls it.
    pub name: String,
    /// Where it is.
    pub path: String,
    /// What it says of itself.
    pub version: Reading<String>,
}

/// A language of the table and what was found for it on a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = NodeLanguage))]
pub struct HostLanguage {
    /// Its id.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// File name extensions, without the dot.
    pub extensions: Vec<String>,
    /// It can be used here.
    pub available: bool,
    /// Why it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Its tools as found.
    pub tools: Vec<HostTool>,
    /// The compile command as configured; null where nothing is compiled.
    pub compile: Option<Vec<String>>,
    /// The run command as configured.
    pub run: Vec<String>,
}

/// The configured languages, as `tauto languages --json` prints them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = NodeLanguages))]
pub struct HostLanguages {
    /// Each language, in the table's order.
    pub languages: Vec<HostLanguage>,
}
