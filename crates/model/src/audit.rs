//! What an audit says of a machine.

use crate::{Reading, Severity};
use serde::{Deserialize, Serialize};

/// Kind of a machine. Each kind has rules of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MachineKind {
    /// The kernel runs directly on the hardware.
    BareMetal,
    /// A virtual machine. What the hypervisor hides is unknown, not absent.
    Vm,
    /// A container: only a part of the system is visible, and little of it can be changed.
    Container,
}

/// Identity of the audited machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MachineId {
    /// Kind of the machine.
    pub kind: MachineKind,
    /// Model name of the processor. In a guest, as reported by the hypervisor.
    pub cpu_model: Reading<String>,
    /// Hash of processor, microcode, kernel and its parameters, topology, mitigations and firmware: 16 hexadecimal digits.
    /// Equal machines have equal fingerprints. It does not identify a machine.
    pub fingerprint: String,
}

/// State of a source of timing noise. `bad`: it can make times vary. `unknown`: it could not be checked, and does not count as
/// passed. `ok`: it was checked and is quiet. `not_applicable`: this machine does not have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FindingState {
    /// It can make times vary.
    Bad,
    /// It could not be checked. Never shown as passed.
    Unknown,
    /// It was checked and is quiet.
    Ok,
    /// This machine does not have it.
    NotApplicable,
}

/// What a remedy changes, and for how long. `process`: the measured process. `runtime`: the running system, until it is undone
/// or restarted. `boot`: the system from the next boot. `firmware`: the firmware settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = RemedyScope))]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The measured process only.
    Process,
    /// The running system, until it is undone or restarted.
    Runtime,
    /// The system from the next boot.
    Boot,
    /// The firmware settings.
    Firmware,
}

/// Remedy for a source of noise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Remedy {
    /// Command for this machine, ready to copy. Text, if no command can do it.
    pub command: String,
    /// What the remedy changes.
    pub scope: Scope,
    /// Whether it needs root.
    pub root: bool,
    /// Whether it takes effect at the next boot only.
    pub reboot: bool,
    /// Whether it can be undone.
    pub reversible: bool,
}

/// Result of the audit for one source of timing noise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = AuditFinding))]
pub struct Finding {
    /// Stable id in lower case, explained in docs/noise.md.
    pub id: String,
    /// State of the source of noise.
    pub state: FindingState,
    /// Severity, if it is bad.
    pub severity: Severity,
    /// What was read. If the state is unknown: why it could not be read.
    pub observed: String,
    /// Files that it was read from.
    pub source: String,
    /// Why it matters, with the published or measured effect. One line.
    pub why: String,
    /// Threads, interrupts or processes concerned. Often empty. If the list was shortened, the last entry states how many are left out.
    pub who: Vec<String>,
    /// The remedy. Null if the source is quiet or nothing can be done.
    pub remedy: Option<Remedy>,
}

/// Audit of a machine, as printed by `tauto audit --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Audit {
    /// The machine.
    pub machine: MachineId,
    /// Findings, one for each source of noise, in a fixed order.
    pub findings: Vec<Finding>,
}

impl Audit {
    /// Whether something is bad.
    pub fn is_bad(&self) -> bool {
        self.findings.iter().any(|f| f.state == FindingState::Bad)
    }
}
