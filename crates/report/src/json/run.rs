//! `tauto run --json`.

use model::{Bytes, Cause, Evidence, Exit, Ledger, Limits, Nanos, Observation, Reading, Status, Times};
use serde::Serialize;

/// A run of a program.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Run))]
pub struct RunDocument {
    /// How the run ended.
    pub status: Status,
    /// Exit code, 0 to 255. Null if a signal ended the program.
    pub exit_code: Option<i32>,
    /// Number of the signal that ended the program. Null if it exited.
    pub signal: Option<i32>,
    /// Times.
    pub time: Times,
    /// Number of instructions in user space.
    pub instructions: Reading<u64>,
    /// Number of CPU cycles in user space.
    pub cycles: Reading<u64>,
    /// For counting clocks: what counted, with its version. Omitted for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted_by: Option<String>,
    /// Time on the reference machine.
    pub reference_ns: Reading<Nanos>,
    /// Peak memory usage.
    pub memory_peak_bytes: Reading<Bytes>,
    /// Size of the output: standard output, standard error and files left in the work directory.
    pub output_bytes: Reading<Bytes>,
    /// Evidence: what could have disturbed the run.
    pub evidence: Evidence,
    /// Disturbances that make its time doubtful. Empty if there were none.
    pub disturbed: Vec<String>,
    /// Parts of the elapsed time. Omitted unless requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerDocument>,
}

/// Parts of the elapsed time of a run, and causes that can have cost it CPU time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = RunLedger))]
pub struct LedgerDocument {
    /// Parts of the elapsed time.
    #[serde(flatten)]
    pub parts: Ledger,
    /// Disturbances of the run, with bounds.
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
