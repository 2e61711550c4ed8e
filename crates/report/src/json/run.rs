//! `tauto run --json`.

use model::{Bytes, Cause, Evidence, Exit, Ledger, Limits, Nanos, Observation, Reading, Status, Times};
use serde::Serialize;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Run))]
pub struct RunDocument {
    /// How it ended, in one word.
    pub status: Status,
    /// Where it exited by itself.
    pub exit_code: Option<i32>,
    /// Where a signal ended it.
    pub signal: Option<i32>,
    /// Time used.
    pub time: Times,
    /// Instructions in user space.
    pub instructions: Reading<u64>,
    /// Cycles of the processor in user space.
    pub cycles: Reading<u64>,
    /// What counted, and in which version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted_by: Option<String>,
    /// Time on the reference machine.
    pub reference_ns: Reading<Nanos>,
    /// Most memory at one time.
    pub memory_peak_bytes: Reading<Bytes>,
    /// What it wrote.
    pub output_bytes: Reading<Bytes>,
    /// What says whether the time can be believed.
    pub evidence: Evidence,
    /// Causes that condemn its time.
    pub disturbed: Vec<String>,
    /// Where its elapsed time went, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerDocument>,
}

/// Where the elapsed time of a run went, and what can have cost it CPU time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = RunLedger))]
pub struct LedgerDocument {
    /// The parts.
    #[serde(flatten)]
    pub parts: Ledger,
    /// What disturbed the run, with bounds.
    pub causes: Vec<Cause>,
}

impl RunDocument {
    /// From what was observed under these limits, and what is known to have disturbed it.
    pub fn new(observation: &Observation, limits: &Limits, disturbed: Vec<String>) -> RunDocument {
        let (exit_code, signal) = match observation.exit {
            Exit::Code(code) => (Some(code), None),
            Exit::Signal(signal) => (None, Some(signal)),
        };
        RunDocument {
            status: observation.status(limits),
            exit_code,
            signal,
            time: observation.time,
            instructions: observation.instructions.clone(),
            cycles: observation.cycles.clone(),
            counted_by: None,
            reference_ns: observation.reference.clone(),
            memory_peak_bytes: observation.memory_peak.clone(),
            output_bytes: observation.output.clone(),
            evidence: observation.evidence.clone(),
            disturbed,
            ledger: None,
        }
    }

    /// With the ledger of the same run.
    pub fn explained(self, observation: &Observation, causes: &[Cause]) -> RunDocument {
        let ledger = LedgerDocument { parts: Ledger::for_run(observation), causes: causes.to_vec() };
        RunDocument { ledger: Some(ledger), ..self }
    }
}

/// In place of a run that could not be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FaultDocument {
    /// Always [`Status::SystemError`].
    pub status: Status,
    /// Why.
    pub message: String,
}

impl FaultDocument {
    /// For this reason.
    pub fn new(message: impl Into<String>) -> FaultDocument {
        FaultDocument { status: Status::SystemError, message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::to_text;
    use crate::samples;

    #[test]
    fn a_run() {
        let limits = Limits::default();
        let ok = RunDocument::new(&samples::observation(Exit::Code(0)), &limits, vec![]);
        let observation = samples::observation(Exit::Code(0));
        assert!(!to_text(&ok).contains("ledger"));
        let ok = ok.explained(&observation, &samples::causes());
        insta::assert_snapshot!("run_ok", to_text(&ok));
        let crashed =
            RunDocument::new(&samples::observation(Exit::Signal(11)), &limits, vec!["steal".into()]);
        assert_eq!((crashed.status, crashed.exit_code, crashed.signal), (Status::Signalled, None, Some(11)));
        assert!(to_text(&crashed).contains("\"disturbed\": [\n    \"steal\"\n  ]"));
        assert_eq!(
            to_text(&FaultDocument::new("no cgroup")),
            "{\n  \"status\": \"system_error\",\n  \"message\": \"no cgroup\"\n}\n"
        );
    }
}
