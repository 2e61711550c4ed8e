//! The JSON documents of the command line. Times are whole nanoseconds, memory is whole bytes, and a reading
//! that could not be taken is `{"unknown": "why"}`.

mod audit;
mod bench;
mod clocks;
mod fleet;
mod index;
mod judge;
mod ladder;
mod languages;
mod link_order;
mod load;
mod numa;
mod perturb;
mod run;
mod tune;
mod verify;

pub use audit::{AuditDocument, FindingDocument};
pub(crate) use bench::run_document as bench_run_document;
pub use bench::{BenchDocument, BenchRunDocument, BenchedDocument, OutlierDocument, WarningDocument};
pub use clocks::ClocksDocument;
pub use fleet::{ComparisonDocument, MachineDocument, ModelDocument, StrayDocument};
pub use index::{ArmourDocument, IndexDocument, PartDocument, read_index};
pub use judge::{JudgeDocument, TestDocument};
pub use ladder::{LadderDocument, StageDocument};
pub use languages::{LanguageDocument, LanguagesDocument, ToolDocument};
pub use link_order::{LinkOrderDocument, OrderDocument};
pub use load::{LoadDocument, WorkerDocument};
pub use numa::{NodeDocument, OffcoreDocument, TopologyDocument};
pub use perturb::{PerturbDocument, TrialDocument};
pub use run::{FaultDocument, RunDocument};
pub use tune::TuneDocument;
pub use verify::{PackageDocument, SubmissionDocument, VerifyDocument};

use serde::Serialize;

/// A document, and what its times were judged by.
#[derive(Serialize)]
pub struct Judged<D, T> {
    /// The document itself.
    #[serde(flatten)]
    pub document: D,
    /// Policy and noise floor.
    pub thresholds: T,
}

/// One document as text, with a line end.
pub fn to_text(document: &impl Serialize) -> String {
    // Fails for maps whose keys are no text, and for nothing the documents hold.
    let mut text = serde_json::to_string_pretty(document).expect("documents have text keys only");
    text.push('\n');
    text
}
