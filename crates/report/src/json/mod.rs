//! The JSON documents of the command line. Times are whole nanoseconds, memory is whole bytes, and a reading
//! that could not be taken is `{"unknown": "why"}`. The documents of `audit`, `tune`, `languages`, `slots` and `index` are the types of `model`
//! themselves: nodes tell them, too.

mod bench;
mod clocks;
mod consistency;
mod fleet;
mod index;
mod judge;
mod ladder;
mod limits;
mod link_order;
mod load;
mod numa;
mod perturb;
mod run;
mod verify;

pub(crate) use bench::run_document as bench_run_document;
pub use bench::{BenchDocument, BenchRunDocument, BenchedDocument, OutlierDocument, WarningDocument};
pub use clocks::ClocksDocument;
pub use consistency::{consistency_text, read_consistency};
pub use fleet::{ComparisonDocument, MachineDocument, ModelDocument, StrayDocument};
pub use index::{index_text, read_index, read_kept_index};
pub use judge::{JudgeDocument, TestDocument};
pub use ladder::{LadderDocument, StageDocument};
pub use limits::{BoundTime, LanguageLimits, LimitsDocument, LimitsOfPackage, LoadEffect, Margin};
pub use link_order::{LinkOrderDocument, OrderDocument};
pub use load::{LoadDocument, WorkerDocument};
pub use numa::{NodeDocument, OffcoreDocument, TopologyDocument};
pub use perturb::{PerturbDocument, TrialDocument};
pub use run::{FaultDocument, RunDocument};
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

#[cfg(test)]
mod tests {
    use super::to_text;
    use crate::samples;
    use model::{Reading, Tuning};
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use std::fmt::Debug;

    /// A document as it is printed, which can be read again.
    fn text<T: Serialize + DeserializeOwned + PartialEq + Debug>(document: &T) -> String {
        let text = to_text(document);
        assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), document);
        text
    }

    #[test]
    fn documents_that_are_the_models_own() {
        insta::assert_snapshot!("audit", text(&samples::audit()));
        insta::assert_snapshot!("languages", text(&samples::languages()));
        let (noise, boot) = samples::noise_and_boot();
        insta::assert_snapshot!(
            "tune",
            text(&Tuning { noise: Some(noise), boot: Some(boot), ..samples::tuning() })
        );
        assert_eq!(text(&Tuning { changes: vec![], ..samples::tuning() }).lines().count(), 5);
        insta::assert_snapshot!("index", text(&samples::index::index()));
    }

    #[test]
    fn a_processor_without_a_name() {
        let mut audit = samples::quiet_audit();
        audit.machine.cpu_model = Reading::unknown("no /proc/cpuinfo");
        assert!(text(&audit).contains(
            r#""cpu_model": {
      "unknown": "no /proc/cpuinfo"
    }"#
        ));
    }
}
