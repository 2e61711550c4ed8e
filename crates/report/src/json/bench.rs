//! `tauto bench --json`.

use super::RunDocument;
use crate::bench::words;
use model::hint::in_one_line;
use model::{
    BenchComparison, BenchEnd, BenchReport, BenchRun, BenchWarning, Benched, Clock, Figures, Limits, Nanos,
    Reading,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// A bench. The fields of the first program stand at the top, so that one program and several are read alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchDocument {
    /// What times were measured by.
    pub clock: Clock,
    /// What counted, and in which version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted_by: Option<String>,
    /// The first program; its warnings are preceded by those about the machine.
    #[serde(flatten)]
    pub first: BenchedDocument,
    /// `complete`, `interrupted` or `{"failed": why}`.
    pub end: BenchEnd,
    /// The other programs, each compared with the first.
    pub others: Vec<BenchedDocument>,
}

/// A program and what its runs came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchedDocument {
    /// As it was typed, parameters filled in.
    pub command: String,
    /// Each parameter's value.
    pub parameters: BTreeMap<String, String>,
    /// Runs that count.
    pub n: usize,
    /// What those that count were charged, under the name of the clock.
    #[serde(flatten)]
    pub charged: BTreeMap<&'static str, Reading<ChargedDocument>>,
    /// Wall time of those that count.
    pub wall: Reading<Figures>,
    /// Runs that do not count.
    pub void_runs: usize,
    /// All runs, in order.
    pub runs: Vec<BenchRunDocument>,
    /// Runs that stand apart.
    pub outliers: Vec<OutlierDocument>,
    /// What to know before believing the figures.
    pub warnings: Vec<WarningDocument>,
    /// Against the first program; null for that one itself.
    pub comparison: Option<BenchComparison>,
}

/// Figures of charges: as times, or as the whole numbers they are.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ChargedDocument {
    /// By a clock whose charges are times.
    Times(Figures),
    /// By one that counts.
    Counts(Counts),
}

/// Figures of what is counted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Counts {
    /// The least.
    pub min: u64,
    /// The middle one.
    pub median: u64,
    /// The greatest.
    pub max: u64,
    /// Greatest minus least.
    pub spread: u64,
    /// The spread over the median, in percent.
    pub spread_pct: f64,
    /// Standard deviation over mean, in percent.
    pub cv_pct: f64,
    /// 1.4826 times the median absolute deviation, over the median, in percent.
    pub mad_pct: f64,
    /// 95 % interval of the median.
    pub median_ci95: Reading<[u64; 2]>,
}

impl Counts {
    fn from_figures(figures: &Figures) -> Counts {
        Counts {
            min: figures.min.0,
            median: figures.median.0,
            max: figures.max.0,
            spread: figures.spread.0,
            spread_pct: figures.spread_pct,
            cv_pct: figures.cv_pct,
            mad_pct: figures.mad_pct,
            median_ci95: figures.median_ci95.clone().map(|ends| ends.map(|end| end.0)),
        }
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchRunDocument {
    /// As of `tauto run --json`.
    #[serde(flatten)]
    pub run: RunDocument,
    /// It does not count.
    pub void: bool,
}

/// A run that stands apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutlierDocument {
    /// Which one, from 1.
    pub run: usize,
    /// Its charge above the median, as a time; negative below.
    pub excess_ns: i64,
    /// What of it each disturbance can explain.
    pub explained_by: BTreeMap<String, Nanos>,
    /// What nothing explains.
    pub unexplained_ns: i64,
}

/// A warning.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WarningDocument {
    /// Its kind and numbers.
    #[serde(flatten)]
    pub warning: BenchWarning,
    /// In words.
    pub message: String,
}

impl BenchDocument {
    /// `None` for a report of no program.
    pub fn new(report: &BenchReport) -> Option<BenchDocument> {
        let mut programs =
            report.programs.iter().map(|program| benched(program, report.clock, &report.limits));
        let mut first = programs.next()?;
        first.warnings =
            report.warnings.iter().map(|of| warning(of, report.clock)).chain(first.warnings).collect();
        let (clock, counted_by) = (report.clock, report.counted_by.clone());
        Some(BenchDocument { clock, counted_by, first, end: report.end.clone(), others: programs.collect() })
    }
}

fn benched(program: &Benched, clock: Clock, limits: &Limits) -> BenchedDocument {
    let figures = |figures: Figures| match clock.is_time() {
        true => ChargedDocument::Times(figures),
        false => ChargedDocument::Counts(Counts::from_figures(&figures)),
    };
    let outliers = program.outliers.iter().map(|outlier| OutlierDocument {
        run: outlier.run,
        excess_ns: outlier.excess_ns,
        explained_by: outlier.explained_by.iter().cloned().collect(),
        unexplained_ns: outlier.unexplained_ns,
    });
    BenchedDocument {
        command: program.command.clone(),
        parameters: program.parameters.iter().cloned().collect(),
        n: program.counted(),
        charged: BTreeMap::from([(clock.name(), program.charged.clone().map(figures))]),
        wall: program.wall.clone(),
        void_runs: program.void_runs(),
        runs: program.runs.iter().map(|run| run_document(run, limits)).collect(),
        outliers: outliers.collect(),
        warnings: program.warnings.iter().map(|of| warning(of, clock)).collect(),
        comparison: program.comparison,
    }
}

pub(crate) fn run_document(run: &BenchRun, limits: &Limits) -> BenchRunDocument {
    let document = RunDocument::new(&run.observation, limits, run.disturbed.clone());
    BenchRunDocument { run: document, void: run.void }
}

fn warning(warning: &BenchWarning, clock: Clock) -> WarningDocument {
    WarningDocument { warning: warning.clone(), message: in_one_line(&words(warning, clock)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::to_text;
    use crate::samples::bench;

    #[test]
    fn a_bench() {
        let mut report = bench::one_program();
        report.programs[0].runs.truncate(1);
        insta::assert_snapshot!("bench", to_text(&BenchDocument::new(&report)));
    }

    #[test]
    fn several_programs() {
        let report = bench::two_programs();
        let document = serde_json::to_value(BenchDocument::new(&report)).unwrap();
        assert_eq!(document["comparison"], serde_json::Value::Null);
        assert_eq!(document["others"][0]["parameters"]["n"], "2");
        assert_eq!(document["others"][0]["comparison"]["p"], 0.0002);
        assert_eq!(document["others"][0]["runs"].as_array().unwrap().len(), 12);
        let none = BenchReport { programs: vec![], ..report };
        assert_eq!(BenchDocument::new(&none), None);
    }

    #[test]
    fn nothing_was_measured() {
        let mut report = bench::one_program();
        report.end = BenchEnd::Failed("no cgroup".into());
        let program = &mut report.programs[0];
        program.runs.clear();
        program.charged = Reading::unknown("no run finished");
        let document = serde_json::to_value(BenchDocument::new(&report)).unwrap();
        assert_eq!(document["cpu"]["unknown"], "no run finished");
        assert_eq!((&document["n"], &document["end"]["failed"]), (&0.into(), &"no cgroup".into()));
    }
}
