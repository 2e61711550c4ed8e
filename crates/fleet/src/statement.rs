//! What a node states about itself when it asks to be admitted to a pool, and at intervals afterwards.

use crate::{SPOKEN, Timestamp};
use model::{Forms, IndexPart, Reading, Slot};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The version of a statement's form. It goes up when a field changes its meaning; fields may be added without.
pub const STATEMENT_FORM: u32 = 1;
/// Those that are understood.
pub const STATEMENTS: Forms = Forms::kept("a statement", STATEMENT_FORM);

/// What a node states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// [`STATEMENT_FORM`] of its program.
    pub form: u32,
    /// Its name.
    pub node: String,
    /// The pool it asks for.
    pub pool: String,
    /// Version of its program.
    pub version: String,
    /// [`crate::PROTOCOL`] of its program.
    pub protocol: u32,
    /// When it was stated, by its own clock.
    pub at: Timestamp,
    /// The start of the system.
    pub boot_id: Reading<String>,
    /// 16 digits over all that makes machines unequal, as in the audit: the same as last time means nothing to look at.
    pub fingerprint: String,
    /// Bare metal, virtual machine or container, as in the audit.
    pub kind: Reading<String>,
    /// The processor's name.
    pub cpu_model: Reading<String>,
    /// Family, model and stepping, such as `6/85/7`.
    pub cpu_version: Reading<String>,
    /// Its microcode; all of them where processors differ.
    pub microcode: Reading<String>,
    /// Packages, cores, hyper-threads and caches in words, such as `2 × 20 cores × 2, L1 32K L2 1024K L3 28160K`.
    pub topology: Reading<String>,
    /// All memory, in bytes.
    pub memory_bytes: Reading<u64>,
    /// The kernel's release.
    pub kernel: Reading<String>,
    /// What the kernel does against processors' weaknesses, by name (/sys/devices/system/cpu/vulnerabilities).
    pub mitigations: BTreeMap<String, String>,
    /// What was found in force when it was looked at, by the audit's ids, such as `turbo` → `off`.
    pub tuning: BTreeMap<String, String>,
    /// What holds programs, such as `sandbox` or `vm: kvm, Linux 6.1.0-56-amd64, 3072 MiB`.
    #[serde(default = "not_stated")]
    pub isolation: Reading<String>,
    /// Its slots, with the isolation in force.
    pub slots: Vec<Slot>,
    /// Its power index; `None`: not measured yet.
    pub index: Option<StatedIndex>,
}

/// Nodes of versions before did not state it.
fn not_stated() -> Reading<String> {
    Reading::unknown("the node did not state it")
}

/// A power index, as far as it is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatedIndex {
    /// When it was taken.
    pub taken_at: Timestamp,
    /// The parts that are known.
    pub parts: Vec<StatedPart>,
}

/// A part of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatedPart {
    /// Which.
    pub part: IndexPart,
    /// Its value, in its unit.
    pub value: f64,
    /// How far its turns vary from each other: one robust standard deviation, in percent of the value.
    pub repeatability_pct: f64,
}

/// Why a statement cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    /// Of another form.
    #[error("{0}")]
    Form(String),
    /// Of another protocol.
    #[error("the node speaks protocol {} (tauto {version}), and tauto {} speaks {} here\nhint: upgrade the {}",
        span(*oldest, *found), env!("CARGO_PKG_VERSION"), span(here.oldest, here.newest), late(*found < here.oldest))]
    Protocol {
        /// The oldest that it speaks.
        oldest: u32,
        /// Its protocol.
        found: u32,
        /// Its version.
        version: String,
        /// What is spoken here.
        here: Forms,
    },
    /// No statement at all.
    #[error("not a node statement: {0}")]
    Text(String),
}

fn span(oldest: u32, newest: u32) -> String {
    if oldest == newest { newest.to_string() } else { format!("{oldest} to {newest}") }
}

fn late(node: bool) -> &'static str {
    if node { "node" } else { "service" }
}

impl Statement {
    /// From its JSON. Form and protocol are looked at first, so that a node of another version is told so, and not which
    /// field is missing.
    pub fn read(text: &str) -> Result<Statement, StatementError> {
        #[derive(Deserialize)]
        struct Head {
            form: u32,
            protocol: u32,
            #[serde(default)]
            version: String,
        }
        let wrong = |e: serde_json::Error| StatementError::Text(e.to_string());
        let head: Head = serde_json::from_str(text).map_err(wrong)?;
        STATEMENTS.read(head.form).map_err(StatementError::Form)?;
        let found = head.protocol;
        if SPOKEN.read(found).is_err() {
            let unlike =
                StatementError::Protocol { oldest: found, found, version: head.version, here: SPOKEN };
            return Err(unlike);
        }
        serde_json::from_str(text).map_err(wrong)
    }

    /// What it states of a feature, as text that is compared.
    pub fn feature(&self, feature: Feature) -> Reading<String> {
        let listed = |entries: &BTreeMap<String, String>, why: &'static str| match entries.is_empty() {
            true => Reading::unknown(why),
            false => Reading::Known(
                entries.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join("; "),
            ),
        };
        match feature {
            Feature::Kind => self.kind.clone(),
            Feature::CpuModel => self.cpu_model.clone(),
            Feature::CpuVersion => self.cpu_version.clone(),
            Feature::Microcode => self.microcode.clone(),
            Feature::Topology => self.topology.clone(),
            Feature::Kernel => self.kernel.clone(),
            Feature::Mitigations => {
                let lasting = |text: &String| text.split("; SMT").next().unwrap_or_default().to_string();
                let lasting = self.mitigations.iter().map(|(name, text)| (name.clone(), lasting(text)));
                listed(&lasting.collect(), "the kernel reports no vulnerabilities")
            }
            Feature::Tuning => listed(&self.tuning, "the node did not look at its tuning"),
            Feature::Isolation => self.isolation.clone(),
            Feature::Slots => slots(&self.slots),
            Feature::Version => Reading::Known(self.version.clone()),
        }
    }
}

fn slots(slots: &[Slot]) -> Reading<String> {
    let shape = |slot: &Slot| {
        let rung = format!("{:?}", slot.isolation).to_lowercase();
        format!("{} CPU + {} idle siblings, {rung}", slot.cpus.len(), slot.idle_siblings.len())
    };
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    slots.iter().for_each(|slot| *kinds.entry(shape(slot)).or_default() += 1);
    let kinds: Vec<String> = kinds.into_iter().map(|(shape, n)| format!("{n} of {shape}")).collect();
    Reading::from_option((!kinds.is_empty()).then(|| kinds.join("; ")), || "the node has no slots".into())
}

/// Feature that must be equal in a strict pool. Memory is compared separately, because equal machines report slightly different sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// Bare metal, virtual machine, container.
    Kind,
    /// The processor's name.
    CpuModel,
    /// Family, model, stepping.
    CpuVersion,
    /// Microcode.
    Microcode,
    /// Packages, cores, caches.
    Topology,
    /// The kernel's release.
    Kernel,
    /// Mitigations of the kernel. Whether hyper-threads are on does not count, as in the fingerprint.
    Mitigations,
    /// Tuning in force.
    Tuning,
    /// What isolates programs: the sandbox, or the virtual machine around it.
    Isolation,
    /// Number and shape of the slots.
    Slots,
    /// Version of tauto.
    Version,
}

impl Feature {
    /// All of them.
    pub const ALL: [Feature; 11] = [
        Feature::Kind,
        Feature::CpuModel,
        Feature::CpuVersion,
        Feature::Microcode,
        Feature::Topology,
        Feature::Kernel,
        Feature::Mitigations,
        Feature::Tuning,
        Feature::Isolation,
        Feature::Slots,
        Feature::Version,
    ];

    /// Its name in documents and pool files.
    pub fn name(self) -> &'static str {
        match self {
            Feature::Kind => "kind",
            Feature::CpuModel => "cpu_model",
            Feature::CpuVersion => "cpu_version",
            Feature::Microcode => "microcode",
            Feature::Topology => "topology",
            Feature::Kernel => "kernel",
            Feature::Mitigations => "mitigations",
            Feature::Tuning => "tuning",
            Feature::Isolation => "isolation",
            Feature::Slots => "slots",
            Feature::Version => "version",
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::statement;

    #[test]
    fn statements_travel_as_text() {
        let text = serde_json::to_string(&statement("a")).unwrap();
        assert_eq!(Statement::read(&text), Ok(statement("a")));
        let mut strange: serde_json::Value = serde_json::from_str(&text).unwrap();
        strange["news"] = 1.into();
        assert!(Statement::read(&strange.to_string()).is_ok(), "fields may be added");
        strange["form"] = 9.into();
        let told = Statement::read(&strange.to_string()).unwrap_err().to_string();
        assert!(told.starts_with("form 9 of a statement") && told.ends_with("upgrade tauto here"), "{told}");
        let old = text.replacen(&format!("\"protocol\":{}", crate::PROTOCOL), "\"protocol\":0", 1);
        let told = Statement::read(&old).unwrap_err().to_string();
        assert!(told.contains("protocol 0 (tauto 1.0.0)") && told.ends_with("upgrade the node"), "{told}");
        assert!(matches!(Statement::read("{}"), Err(StatementError::Text(_))));
    }

    #[test]
    fn features_are_told_as_text() {
        let stated = statement("a");
        let of = |feature| stated.feature(feature).known().cloned().unwrap();
        assert_eq!(of(Feature::Slots), "2 of 1 CPU + 1 idle siblings, partition");
        assert_eq!(of(Feature::Mitigations), "mds: Mitigation: Clear CPU buffers");
        assert_eq!(of(Feature::Tuning), "governor: performance; turbo: off");
        let bare = Statement { slots: Vec::new(), tuning: BTreeMap::new(), ..statement("a") };
        assert_eq!(bare.feature(Feature::Slots), Reading::unknown("the node has no slots"));
        assert_eq!(bare.feature(Feature::Tuning), Reading::unknown("the node did not look at its tuning"));
        for feature in Feature::ALL {
            assert_eq!(serde_json::to_string(&feature).unwrap(), format!("\"{feature}\""));
        }
    }
}
