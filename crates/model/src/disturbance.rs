//! What can disturb a run: the closed set of causes, with their names and words.

use crate::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Cause that can disturb a run, such as `run_queue_wait`. docs/measurement.md explains each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum Disturbance {
    /// Steal time.
    Steal,
    /// Interrupts.
    Irq,
    /// Waiting for a CPU.
    RunQueueWait,
    /// Other work on the CPUs of the slot.
    Foreign,
    /// A CPU quota.
    Throttled,
    /// Preemption.
    InvoluntarySwitches,
    /// Moves between CPUs.
    Migrations,
    /// Page faults that were served from a disk.
    MajorFaults,
    /// A CPU frequency below the usual one.
    Frequency,
    /// A control program was slow as well.
    SlowMachine,
    /// Swapping on the machine.
    Swap,
    /// Memory on another NUMA node.
    RemoteMemory,
    /// A cause that this version of tauto does not know.
    #[serde(other)]
    Unknown,
}

impl Disturbance {
    /// All causes.
    pub const ALL: [Disturbance; 13] = [
        Disturbance::Steal,
        Disturbance::Irq,
        Disturbance::RunQueueWait,
        Disturbance::Foreign,
        Disturbance::Throttled,
        Disturbance::InvoluntarySwitches,
        Disturbance::Migrations,
        Disturbance::MajorFaults,
        Disturbance::Frequency,
        Disturbance::SlowMachine,
        Disturbance::Swap,
        Disturbance::RemoteMemory,
        Disturbance::Unknown,
    ];

    /// Its name, as in `disturbed`.
    pub fn name(self) -> &'static str {
        match self {
            Disturbance::Steal => "steal",
            Disturbance::Irq => "irq",
            Disturbance::RunQueueWait => "run_queue_wait",
            Disturbance::Foreign => "foreign",
            Disturbance::Throttled => "throttled",
            Disturbance::InvoluntarySwitches => "involuntary_switches",
            Disturbance::Migrations => "migrations",
            Disturbance::MajorFaults => "major_faults",
            Disturbance::Frequency => "frequency",
            Disturbance::SlowMachine => "slow_machine",
            Disturbance::Swap => "swap",
            Disturbance::RemoteMemory => "remote_memory",
            Disturbance::Unknown => "unknown",
        }
    }

    /// What happened, in words.
    pub fn words(self) -> &'static str {
        match self {
            Disturbance::Steal => "steal time: the hypervisor ran something else on these CPUs",
            Disturbance::Irq => "interrupts were served on these CPUs",
            Disturbance::RunQueueWait => "it waited for a CPU (run queue)",
            Disturbance::Foreign => "other processes ran on these CPUs",
            Disturbance::Throttled => "a CPU quota throttled it",
            Disturbance::InvoluntarySwitches => "it was preempted, and its caches were cold afterwards",
            Disturbance::Migrations => "it moved between CPUs, to cold caches",
            Disturbance::MajorFaults => "it waited for its pages to be read from a disk",
            Disturbance::Frequency => "the CPU was slower than usual",
            Disturbance::SlowMachine => {
                "the machine was slower than at its best, as a control program showed"
            }
            Disturbance::Swap => "the machine read memory back from swap",
            Disturbance::RemoteMemory => "some of its memory was on another NUMA node",
            Disturbance::Unknown => "a cause that this version of tauto does not know",
        }
    }

    /// Whether it stems from context switches: of several such causes only the greatest counts.
    pub fn is_by_switches(self) -> bool {
        use Disturbance::{Foreign, InvoluntarySwitches, RunQueueWait, Throttled};
        matches!(self, RunQueueWait | Foreign | Throttled | InvoluntarySwitches)
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A disturbance of a run, with a bound of its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = RunCause))]
pub struct Cause {
    /// Cause, as in `disturbed`.
    pub name: Disturbance,
    /// Maximum CPU time that it can have cost.
    #[serde(rename = "bound_ns")]
    pub bound: Nanos,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_wire() {
        for cause in Disturbance::ALL {
            assert_eq!(serde_json::to_value(cause).unwrap(), cause.name());
            assert!(!cause.words().is_empty());
        }
    }

    #[test]
    fn a_cause_of_a_later_version_is_an_unknown_one() {
        let read: Vec<Cause> = serde_json::from_str(
            r#"[{"name": "steal", "bound_ns": 7}, {"name": "of_a_later_version", "bound_ns": 9}]"#,
        )
        .unwrap();
        assert_eq!(read[1].bound, Nanos(9));
        assert_eq!(read.iter().map(|cause| cause.name.name()).collect::<Vec<_>>(), ["steal", "unknown"]);
    }
}
