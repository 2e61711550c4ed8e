//! A machine's power index: what it can do, in parts with physical units; and the comparison of many of them.

use crate::{Reading, not_recorded};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// A part of the power index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum IndexPart {
    /// Executions of a fixed loop per second of CPU time.
    #[serde(rename = "rounds_per_second")]
    Rounds,
    /// Clock frequency of the core.
    #[serde(rename = "clock_ghz")]
    Clock,
    /// Latency of a dependent read from the L1 cache.
    #[serde(rename = "l1_ns")]
    L1,
    /// Latency of a dependent read from the L2 cache.
    #[serde(rename = "l2_ns")]
    L2,
    /// Latency of a dependent read from the L3 cache.
    #[serde(rename = "l3_ns")]
    L3,
    /// Latency of a dependent read from memory.
    #[serde(rename = "dram_ns")]
    Dram,
    /// Bandwidth of sequential reads from memory.
    #[serde(rename = "bandwidth_gb_s")]
    Bandwidth,
    /// Cost of a mispredicted branch.
    #[serde(rename = "mispredict_ns")]
    Mispredict,
    /// Cost of the first touch of a 4 KiB page.
    #[serde(rename = "page_fault_ns")]
    PageFault,
    /// Cost of a minimal system call.
    #[serde(rename = "syscall_ns")]
    Syscall,
    /// Cost of starting this program and waiting for its end.
    #[serde(rename = "fork_exec_ns")]
    ForkExec,
}

/// Parts that degrade together: a bad memory module shows in all parts of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndexGroup {
    /// The core and its own caches.
    Core,
    /// Shared caches and memory.
    Memory,
    /// Work of the kernel.
    Kernel,
}

impl IndexPart {
    /// All parts, in the order of the report.
    pub const ALL: [IndexPart; 11] = [
        IndexPart::Rounds,
        IndexPart::Clock,
        IndexPart::L1,
        IndexPart::L2,
        IndexPart::L3,
        IndexPart::Dram,
        IndexPart::Bandwidth,
        IndexPart::Mispredict,
        IndexPart::PageFault,
        IndexPart::Syscall,
        IndexPart::ForkExec,
    ];

    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            IndexPart::Rounds => "rounds_per_second",
            IndexPart::Clock => "clock_ghz",
            IndexPart::L1 => "l1_ns",
            IndexPart::L2 => "l2_ns",
            IndexPart::L3 => "l3_ns",
            IndexPart::Dram => "dram_ns",
            IndexPart::Bandwidth => "bandwidth_gb_s",
            IndexPart::Mispredict => "mispredict_ns",
            IndexPart::PageFault => "page_fault_ns",
            IndexPart::Syscall => "syscall_ns",
            IndexPart::ForkExec => "fork_exec_ns",
        }
    }

    /// Its unit.
    pub fn unit(self) -> &'static str {
        match self {
            IndexPart::Rounds => "1/s",
            IndexPart::Clock => "GHz",
            IndexPart::Bandwidth => "GB/s",
            _ => "ns",
        }
    }

    /// Whether a higher value is better. Of times, a lower one is.
    pub fn more_is_better(self) -> bool {
        matches!(self, IndexPart::Rounds | IndexPart::Clock | IndexPart::Bandwidth)
    }

    /// The group that it belongs to.
    pub fn group(self) -> IndexGroup {
        match self {
            IndexPart::Rounds | IndexPart::Clock | IndexPart::L1 | IndexPart::L2 | IndexPart::Mispredict => {
                IndexGroup::Core
            }
            IndexPart::L3 | IndexPart::Dram | IndexPart::Bandwidth => IndexGroup::Memory,
            IndexPart::PageFault | IndexPart::Syscall | IndexPart::ForkExec => IndexGroup::Kernel,
        }
    }
}

impl IndexGroup {
    /// All of them.
    pub const ALL: [IndexGroup; 3] = [IndexGroup::Core, IndexGroup::Memory, IndexGroup::Kernel];

    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            IndexGroup::Core => "core",
            IndexGroup::Memory => "memory",
            IndexGroup::Kernel => "kernel",
        }
    }
}

/// Measured value of a part of the power index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct IndexFigure {
    /// Median of the turns, in the part's unit. For the clock: the upper quartile, which is what the core reaches.
    pub value: f64,
    /// 95 % confidence interval of the value over turns.
    #[cfg_attr(feature = "schema", schema(value_type = Reading<Vec<f64>>))]
    pub ci95: Reading<[f64; 2]>,
    /// Unit: `1/s`, `GHz`, `GB/s` or `ns`.
    pub unit: String,
    /// Number of slices that count.
    pub n: usize,
    /// Number of discarded slices: other work had the CPU.
    pub voided: usize,
    /// Minimum of the slices that count.
    pub min: f64,
    /// Maximum of the slices that count.
    pub max: f64,
    /// Variation of the turns: 1.4826 × median absolute deviation, in percent of their median.
    pub repeatability_pct: f64,
    /// Clock only: its value relative to that of another chain of instructions in the same slices. Near 1, a change of
    /// the value is a change of the clock itself.
    #[serde(rename = "control_ratio", skip_serializing_if = "Option::is_none")]
    pub control: Option<f64>,
    /// What was measured, such as `walk of 24 KiB`.
    pub how: String,
    /// Value of each turn that has slices, in order: the median of its slices; for the clock, the 95th percentile.
    pub turns: Vec<f64>,
}

/// Conditions of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MeasurementConditions {
    /// Scheduling class: `fifo` or `other`.
    pub sched: String,
    /// Slot that was locked.
    pub slot: Reading<u32>,
    /// CPU that the measurement was pinned to.
    pub cpu: Reading<u32>,
    /// Whether the CPU's frequency was fixed before the measurement.
    pub frequency_held: Reading<bool>,
    /// Governor, range and turbo, in words.
    pub frequency: Reading<String>,
    /// Memory node of that CPU, whose memory was used.
    pub mem_node: Reading<u32>,
    /// Whether huge pages were disabled for the process.
    pub huge_pages_off: Reading<bool>,
    /// Steal time of the CPU during the measurement, in ns.
    pub steal_ns: Reading<u64>,
    /// Conditions that were not met, as text.
    pub lacks: Vec<String>,
}

/// Power index of a machine, as printed by `tauto index --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Index {
    /// Version of tauto that measured it.
    #[serde(rename = "tauto")]
    pub version: String,
    /// When it was measured, in seconds since 1970.
    pub taken_at: u64,
    /// Duration of the measurement in seconds.
    pub seconds: f64,
    /// Machine: the name that was given, or a hash of its identity.
    pub machine: Reading<String>,
    /// Fingerprint: 16 hexadecimal digits, as in the audit. Equal machines have equal fingerprints.
    pub fingerprint: String,
    /// Model name of the processor.
    pub cpu_model: Reading<String>,
    /// Microcode version.
    pub microcode: Reading<String>,
    /// Release of the kernel.
    pub kernel: Reading<String>,
    /// Memory size in bytes.
    pub memory_bytes: Reading<u64>,
    /// Data caches of the CPU, such as `L1 48K`.
    pub caches: Vec<String>,
    /// Id of the boot that it was measured in.
    pub boot_id: Reading<String>,
    /// Conditions of the measurement.
    #[serde(rename = "armour")]
    pub conditions: MeasurementConditions,
    /// Executions of the fixed loop per second of CPU time.
    pub rounds_per_second: Reading<IndexFigure>,
    /// The other parts, by name.
    #[serde(deserialize_with = "known_parts")]
    #[cfg_attr(feature = "schema", schema(value_type = BTreeMap<String, Reading<IndexFigure>>))]
    pub parts: BTreeMap<IndexPart, Reading<IndexFigure>>,
}

impl Index {
    /// The value of each part, in the order of [`IndexPart::ALL`].
    pub fn figures(&self) -> impl Iterator<Item = (IndexPart, &Reading<IndexFigure>)> {
        let rounds = (IndexPart::Rounds, &self.rounds_per_second);
        std::iter::once(rounds).chain(self.parts.iter().map(|(part, figure)| (*part, figure)))
    }
}

/// Leaves out parts that only another version of tauto knows. Parts that the other version did not know become unknown.
fn known_parts<'de, D: Deserializer<'de>>(
    d: D,
) -> Result<BTreeMap<IndexPart, Reading<IndexFigure>>, D::Error> {
    let mut told = BTreeMap::<String, Reading<IndexFigure>>::deserialize(d)?;
    let figure = |part: IndexPart| (part, told.remove(part.name()).unwrap_or_else(not_recorded));
    Ok(IndexPart::ALL.into_iter().filter(|part| *part != IndexPart::Rounds).map(figure).collect())
}

/// What a comparison knows of one saved index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SavedIndex {
    /// The file it was read from.
    pub file: String,
    /// Which machine; the file where none is named.
    pub machine: String,
    /// The processor's name, or what else tells equal machines apart from others.
    pub model: String,
    /// The start of the system.
    pub boot: Option<String>,
    /// In seconds since 1970.
    pub taken_at: Option<u64>,
    /// Version of tauto that measured it.
    pub version: Option<String>,
    /// The parts that are known.
    pub values: Vec<(IndexPart, f64)>,
}

/// What varies: a part, or a whole group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IndexSubject {
    /// One part.
    Part(IndexPart),
    /// All parts of a group together.
    Group(IndexGroup),
}

impl IndexSubject {
    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            IndexSubject::Part(part) => part.name(),
            IndexSubject::Group(group) => group.name(),
        }
    }
}

/// In which way a machine varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StrayKind {
    /// It is weaker or stronger than the others.
    Level,
    /// It becomes weaker or stronger, as the others do not.
    Trend,
}

/// A machine that varies from its like.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexStray {
    /// Which one.
    pub machine: String,
    /// The file of its latest reading.
    pub file: String,
    /// Model name of the processor.
    pub model: String,
    /// In what.
    pub subject: IndexSubject,
    /// In which way.
    pub kind: StrayKind,
    /// How many robust deviations of the other machines it is away; above 0 is weaker.
    pub robust_z: f64,
    /// Level: its value over the median of all machines; trend: its last value over its first, by its slope. Of a group, the
    /// geometric mean, with rates turned into times.
    pub ratio: f64,
    /// Whether it is weaker than the others, or becomes so.
    pub weaker: bool,
    /// Its readings.
    pub readings: usize,
}

/// From where a part's variance comes, in percent of all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IndexVariance {
    /// From machine to machine.
    pub machine_pct: Reading<f64>,
    /// From boot to boot of one machine.
    pub boot_pct: Reading<f64>,
    /// From run to run within a boot.
    pub run_pct: Reading<f64>,
    /// The whole as a standard deviation, in percent of the value.
    pub total_pct: Reading<f64>,
}

/// A part over all machines of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedPart {
    /// Which one.
    pub part: IndexPart,
    /// The median over machines.
    pub median: f64,
    /// One robust deviation over machines, in percent; `None` where it is not known.
    pub deviation_pct: Reading<f64>,
    /// Where the variance comes from, without outliers.
    pub variance: IndexVariance,
    /// Each machine that has it: its place in [`ComparedModel::machines`], value, ratio to the median, and robust z
    /// where there is one, above 0 for weaker.
    pub machines: Vec<ComparedValue>,
}

/// One machine's value of a part.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedValue {
    /// Its place in [`ComparedModel::machines`].
    pub machine: usize,
    /// The median of its readings.
    pub value: f64,
    /// That over the median of all machines.
    pub ratio: f64,
    /// Robust z, above 0 for weaker.
    pub robust_z: Option<f64>,
    /// Change over its readings in percent of its value, by its slope, where there are enough of them.
    pub change_pct: Option<f64>,
}

/// One machine of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedMachine {
    /// Its name.
    pub name: String,
    /// The files of its readings, in order of time.
    pub files: Vec<String>,
}

/// Machines with the same processor, compared with each other.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedModel {
    /// Model name of the processor.
    pub model: String,
    /// In the order in which they were first named.
    pub machines: Vec<ComparedMachine>,
    /// How far away is too far: the threshold for z of levels, and that of trends; `None` where nothing is tested.
    pub level_z: Option<f64>,
    /// See above.
    pub trend_z: Option<f64>,
    /// Parts that some machine has.
    pub parts: Vec<ComparedPart>,
    /// What to know before believing it.
    pub notes: Vec<String>,
}

/// Many indices, compared.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexComparison {
    /// Readings in all.
    pub readings: usize,
    /// One for each processor; the one with most machines first.
    pub models: Vec<ComparedModel>,
    /// Outlying machines; the farthest first.
    pub strays: Vec<IndexStray>,
    /// What to know of the whole.
    pub notes: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_documents() {
        for part in IndexPart::ALL {
            assert_eq!(serde_json::to_string(&part).unwrap(), format!("\"{}\"", part.name()));
        }
        for group in IndexGroup::ALL {
            assert_eq!(serde_json::to_string(&group).unwrap(), format!("\"{}\"", group.name()));
            assert!(IndexPart::ALL.iter().any(|part| part.group() == group));
        }
    }
}
