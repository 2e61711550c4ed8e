//! `tauto audit --json`.

use model::{Audit, Finding, FindingState, MachineId, Remedy, Severity};
use serde::Serialize;

/// A whole audit.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Audit))]
pub struct AuditDocument {
    /// Which machine was looked at.
    pub machine: MachineId,
    /// One for each source of noise, in a fixed order.
    pub findings: Vec<FindingDocument>,
}

/// How it stands with one source of noise.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = AuditFinding))]
pub struct FindingDocument {
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
    /// Why it matters.
    pub why: String,
    /// Threads, interrupts or processes concerned; often empty.
    pub who: Vec<String>,
    /// What would make it quiet; null where it is quiet, or nothing can be done.
    pub remedy: Option<Remedy>,
}

impl AuditDocument {
    /// From an audit.
    pub fn new(audit: &Audit) -> AuditDocument {
        AuditDocument {
            machine: audit.machine.clone(),
            findings: audit.findings.iter().cloned().map(FindingDocument::new).collect(),
        }
    }
}

impl FindingDocument {
    fn new(finding: Finding) -> FindingDocument {
        let Finding { id, state, severity, observed, source, why, who, remedy } = finding;
        FindingDocument { id, state, severity, observed, source, why, who, remedy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::to_text;
    use crate::samples;
    use model::Reading;

    #[test]
    fn audit() {
        insta::assert_snapshot!("audit", to_text(&AuditDocument::new(&samples::audit())));
    }

    #[test]
    fn a_processor_without_a_name() {
        let mut audit = samples::quiet_audit();
        audit.machine.cpu_model = Reading::unknown("no /proc/cpuinfo");
        let document = serde_json::to_value(AuditDocument::new(&audit)).unwrap();
        assert_eq!(document["machine"]["cpu_model"], serde_json::json!({"unknown": "no /proc/cpuinfo"}));
    }

    #[test]
    fn the_document_holds_the_whole_audit() {
        for audit in [samples::audit(), samples::quiet_audit()] {
            let document = to_text(&AuditDocument::new(&audit));
            assert_eq!(serde_json::from_str::<Audit>(&document).unwrap(), audit);
        }
    }
}
