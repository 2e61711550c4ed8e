//! `tauto lab perturb --json`.

use super::{BenchRunDocument, bench_run_document};
use crate::lab::perturb_findings;
use model::{BenchEnd, Effect, Limits, PerturbReport, PerturbTrial, Perturbation, Reading};
use serde::Serialize;

/// What disturbs a program, and by how much.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PerturbDocument {
    /// The program as it was typed.
    pub command: String,
    /// Each perturbation.
    pub trials: Vec<TrialDocument>,
    /// What was found, a sentence each.
    pub found: Vec<String>,
    /// How it was done on this machine, a sentence each.
    pub notes: Vec<String>,
    /// The machine: name and value.
    pub machine: Vec<(String, String)>,
    /// `complete`, `interrupted` or `{"failed": why}`.
    pub end: BenchEnd,
}

/// Something of each clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Clocks<T> {
    /// CPU time.
    pub cpu: T,
    /// Wall time.
    pub wall: T,
    /// Instructions in user space.
    pub instructions: T,
}

/// A perturbation and what it did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrialDocument {
    /// Which.
    pub name: Perturbation,
    /// This machine can do it.
    pub available: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it is here, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made: Option<String>,
    /// Pairs of control and disturbed run.
    pub pairs: usize,
    /// Disturbed over control, less one, in percent.
    pub effect_pct: Clocks<Reading<f64>>,
    /// Its 95 % interval.
    pub ci95: Clocks<Reading<[f64; 2]>>,
    /// 0 lies outside of it.
    pub found: Clocks<Reading<bool>>,
    /// The smallest effect on CPU time that would have been found in 80 % of such experiments.
    pub detectable_pct: Reading<f64>,
    /// The same of each clock.
    pub detectable: Clocks<Reading<f64>>,
    /// What was published of it, on CPU time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<&'static str>,
    /// Every run.
    pub runs: Vec<PerturbRunDocument>,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PerturbRunDocument {
    /// Which pair it is of, from 1.
    pub pair: usize,
    /// It is the control of its pair.
    pub control: bool,
    /// As in `tauto bench --json`.
    #[serde(flatten)]
    pub run: BenchRunDocument,
}

impl PerturbDocument {
    /// Of a report.
    pub fn new(report: &PerturbReport) -> PerturbDocument {
        PerturbDocument {
            command: report.command.clone(),
            trials: report.trials.iter().map(|of| trial(of, &report.limits)).collect(),
            found: perturb_findings(report),
            notes: report.notes.clone(),
            machine: report.machine.clone(),
            end: report.end.clone(),
        }
    }
}

fn trial(of: &PerturbTrial, limits: &Limits) -> TrialDocument {
    let detectable = clocks(of, |effect| effect.detectable_pct.clone());
    let runs = of.runs.iter().map(|run| PerturbRunDocument {
        pair: run.pair,
        control: !run.disturbed,
        run: bench_run_document(&run.run, limits),
    });
    TrialDocument {
        name: of.perturbation,
        available: of.made.is_ok(),
        reason: of.made.clone().err(),
        made: of.made.clone().ok(),
        pairs: of.pairs,
        effect_pct: clocks(of, |effect| Reading::Known(effect.pct)),
        ci95: clocks(of, |effect| effect.ci95.clone()),
        found: clocks(of, |effect| effect.found.clone()),
        detectable_pct: detectable.cpu.clone(),
        detectable,
        published: of.perturbation.published(),
        runs: runs.collect(),
    }
}

fn clocks<T>(of: &PerturbTrial, part: impl Fn(Effect) -> Reading<T>) -> Clocks<Reading<T>> {
    let each = |effect: &Reading<Effect>| effect.clone().and_then(&part);
    Clocks { cpu: each(&of.cpu), wall: each(&of.wall), instructions: each(&of.instructions) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::to_text;
    use crate::samples::disturbed;

    #[test]
    fn perturbations() {
        let mut report = disturbed::perturb();
        report.trials.iter_mut().for_each(|trial| trial.runs.clear());
        insta::assert_snapshot!("perturb", to_text(&PerturbDocument::new(&report)));
        let document = serde_json::to_value(PerturbDocument::new(&disturbed::perturb())).unwrap();
        let run = &document["trials"][0]["runs"][1];
        assert_eq!(
            (&run["pair"], &run["control"], &run["disturbed"]),
            (&1.into(), &false.into(), &serde_json::json!([]))
        );
    }
}
