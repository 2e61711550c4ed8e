//! What an audit says of a machine.

use crate::{Reading, Severity};
use serde::{Deserialize, Serialize};

/// What kind of machine it is; each has rules of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MachineKind {
    /// The kernel runs on the hardware.
    BareMetal,
    /// A hypervisor lies between: what it hides is unknown, not absent.
    Vm,
    /// We see a part of somebody's system and may change little of it.
    Container,
}

/// Which machine was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MachineId {
    /// Its kind.
    pub kind: MachineKind,
    /// The processor's name; in a guest it is what the hypervisor says.
    pub cpu_model: Reading<String>,
    /// 16 hexadecimal digits over everything that makes two machines unequal: processor, microcode, kernel and its
    /// parameters, topology, mitigations, firmware. Equal machines have equal fingerprints; it names nobody.
    pub fingerprint: String,
}

/// How it stands with one source of noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FindingState {
    /// It makes time vary, or can.
    Bad,
    /// It could not be found out. Never shown as passed.
    Unknown,
    /// It was looked at and is quiet.
    Ok,
    /// This machine has no such thing.
    NotApplicable,
}

/// What a remedy changes, and how long that lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = RemedyScope))]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The measured process only.
    Process,
    /// The running system, until it is put back or restarted.
    Runtime,
    /// The next start of the system.
    Boot,
    /// The machine's firmware set-up.
    Firmware,
}

/// What would make it quiet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Remedy {
    /// A command to copy, exact for this machine; or, where no command can do it, what to do.
    pub command: String,
    /// What it changes.
    pub scope: Scope,
    /// Only root can.
    pub root: bool,
    /// It takes effect at the next start.
    pub reboot: bool,
    /// It can be put back.
    pub reversible: bool,
}

/// How it stands with one source of noise, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = AuditFinding))]
pub struct Finding {
    /// Stable, lower case; docs/noise.md has a row for each.
    pub id: String,
    /// How it stands.
    pub state: FindingState,
    /// How much it matters where it is bad.
    pub severity: Severity,
    /// What was read; for unknown, why it could not be.
    pub observed: String,
    /// The file or files it was read from.
    pub source: String,
    /// Why it matters, in one line, with the published or measured effect.
    pub why: String,
    /// Names: the threads, interrupts or processes concerned. Often none; bounded; the last may say how many more.
    pub who: Vec<String>,
    /// What would make it quiet; null where it is quiet, or nothing can be done.
    pub remedy: Option<Remedy>,
}

/// A whole audit, as `tauto audit --json` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Audit {
    /// Which machine.
    pub machine: MachineId,
    /// One for each source of noise, in a fixed order.
    pub findings: Vec<Finding>,
}

impl Audit {
    /// Whether something is bad.
    pub fn is_bad(&self) -> bool {
        self.findings.iter().any(|f| f.state == FindingState::Bad)
    }
}
