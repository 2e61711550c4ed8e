//! `tauto lab ladder --json`.

use super::{BenchRunDocument, bench_run_document};
use crate::lab::ladder_findings;
use model::{
    BenchComparison, BenchEnd, Figures, Isolation, LadderLoad, LadderReport, LadderStage, LadderStep, Limits,
    PUBLISHED_LADDER, PublishedStage, Reading, Rung,
};
use serde::Serialize;

/// A climb of the ladder.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LadderDocument {
    /// The program as it was typed.
    pub command: String,
    /// Each rung idle and loaded, from the lowest.
    pub stages: Vec<StageDocument>,
    /// What each rung bought against the nearest below it.
    pub steps: Vec<LadderStep>,
    /// What all of them bought together.
    pub whole: Vec<LadderStep>,
    /// What was published of the same experiment elsewhere.
    pub published: Vec<PublishedStage>,
    /// What was found, a sentence each.
    pub found: Vec<String>,
    /// How it was done on this machine, a sentence each.
    pub notes: Vec<String>,
    /// The machine: name and value.
    pub machine: Vec<(String, String)>,
    /// `complete`, `interrupted` or `{"failed": why}`.
    pub end: BenchEnd,
}

/// A rung with or without load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageDocument {
    /// The rung.
    pub name: Rung,
    /// `idle` or `cpu`.
    pub load: LadderLoad,
    /// This machine can do it.
    pub available: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it is here, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made: Option<String>,
    /// All runs; all count.
    pub n: usize,
    /// CPU time of all runs.
    pub cpu: Reading<Figures>,
    /// Wall time of all runs.
    pub wall: Reading<Figures>,
    /// CPU time of the runs that are not discarded.
    pub valid: Reading<Figures>,
    /// The weakest isolation of any run.
    pub isolation: Reading<Isolation>,
    /// Those of the runs whose evidence would have a judge repeat them.
    pub void_runs: usize,
    /// CPU time under load against the same rung idle.
    pub under_load: Option<BenchComparison>,
    /// Every run, as in `tauto bench --json`.
    pub runs: Vec<BenchRunDocument>,
}

impl LadderDocument {
    /// Of a report.
    pub fn new(report: &LadderReport) -> LadderDocument {
        LadderDocument {
            command: report.command.clone(),
            stages: report.stages.iter().map(|of| stage(of, &report.limits)).collect(),
            steps: report.steps.clone(),
            whole: report.whole.clone(),
            published: PUBLISHED_LADDER.to_vec(),
            found: ladder_findings(report),
            notes: report.notes.clone(),
            machine: report.machine.clone(),
            end: report.end.clone(),
        }
    }
}

fn stage(of: &LadderStage, limits: &Limits) -> StageDocument {
    StageDocument {
        name: of.rung,
        load: of.load,
        available: of.made.is_ok(),
        reason: of.made.clone().err(),
        made: of.made.clone().ok(),
        n: of.runs.len(),
        cpu: of.cpu.clone(),
        wall: of.wall.clone(),
        valid: of.valid.clone(),
        isolation: of.isolation.clone(),
        void_runs: of.void_runs(),
        under_load: of.under_load,
        runs: of.runs.iter().map(|run| bench_run_document(run, limits)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::to_text;
    use crate::samples::disturbed;

    #[test]
    fn a_climb() {
        let mut report = disturbed::ladder();
        report.stages.iter_mut().for_each(|stage| stage.runs.truncate(1));
        report.stages[1].runs.clear();
        insta::assert_snapshot!("ladder", to_text(&LadderDocument::new(&report)));
    }
}
