//! `tauto judge --json`.

use super::RunDocument;
use model::{
    Bytes, Charge, Clock, Compilation, GroupScore, Judgement, Limits, Nanos, Observation, Reading,
    SecondOpinion, Settled, TestResult, Transcript, Verdict,
};
use serde::Serialize;

/// A submission, judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgeDocument {
    /// What it earned.
    pub verdict: Verdict,
    /// Its score, in scoring problems.
    pub score: Option<f64>,
    /// The best score there is, where known.
    pub max_score: Option<f64>,
    /// What its test groups earned, in scoring problems.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupScore>,
    /// Language id.
    pub language: String,
    /// What tests are charged by.
    pub clock: Clock,
    /// What counted, and in which version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted_by: Option<String>,
    /// Time of a test case.
    pub time_limit_ns: Nanos,
    /// The charge of the slowest test case, settled, as a time: under `instructions` a nanosecond stands for one.
    pub cpu_ns: Reading<Nanos>,
    /// Most memory of any test case.
    pub memory_peak_bytes: Reading<Bytes>,
    /// The compilation.
    pub compile: Compilation,
    /// How firmly its time stands.
    pub settled: Settled,
    /// What the reference clock said of the test that decides, where it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_opinion: Option<SecondOpinion>,
    /// Why the verdict is JE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Every test case that was run.
    pub tests: Vec<TestDocument>,
}

/// A test case of a submission.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestDocument {
    /// Path below `data/` without extension.
    pub name: String,
    /// What it earned.
    pub verdict: Verdict,
    /// What counts, as a time: under `instructions` a nanosecond stands for one.
    pub cpu_ns: Nanos,
    /// What counts, with its clock and unit.
    pub charge: Charge,
    /// Elapsed time of the same run.
    pub wall_ns: Nanos,
    /// Most memory of any run.
    pub memory_peak_bytes: Reading<Bytes>,
    /// Points, in scoring problems.
    pub score: Option<f64>,
    /// How firmly its time stands.
    pub settled: Settled,
    /// What the reference clock said of it, where it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_opinion: Option<SecondOpinion>,
    /// Every run, in order.
    pub runs: Vec<RunDocument>,
    /// What the validator or the judge says.
    pub message: String,
    /// What program and interactor wrote to each other, where it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<Transcript>,
}

impl JudgeDocument {
    /// From a judgement; `disturbed` names what disturbed a run.
    pub fn new(judgement: &Judgement, disturbed: &dyn Fn(&Observation) -> Vec<String>) -> JudgeDocument {
        JudgeDocument {
            verdict: judgement.verdict,
            score: judgement.score,
            max_score: judgement.max_score,
            groups: judgement.groups.clone(),
            language: judgement.language.clone(),
            clock: judgement.clock,
            counted_by: judgement.counted_by.clone(),
            time_limit_ns: judgement.time_limit,
            cpu_ns: judgement.slowest().map(Charge::as_time),
            memory_peak_bytes: judgement.memory_peak(),
            compile: judgement.compile.clone(),
            settled: judgement.settled,
            second_opinion: judgement.second_opinion(),
            fault: judgement.fault.clone(),
            tests: judgement
                .tests
                .iter()
                .map(|t| TestDocument::new(t, &judgement.limits, disturbed))
                .collect(),
        }
    }
}

impl TestDocument {
    fn new(
        test: &TestResult,
        limits: &Limits,
        disturbed: &dyn Fn(&Observation) -> Vec<String>,
    ) -> TestDocument {
        TestDocument {
            name: test.name.clone(),
            verdict: test.verdict,
            cpu_ns: test.charge.as_time(),
            charge: test.charge,
            wall_ns: test.wall,
            memory_peak_bytes: test.memory_peak.clone(),
            score: test.score,
            settled: test.settled,
            second_opinion: test.second_opinion,
            runs: test.runs.iter().map(|run| RunDocument::new(run, limits, disturbed(run))).collect(),
            message: test.message.clone(),
            transcript: test.transcript.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::to_text;
    use crate::samples;

    #[test]
    fn a_judgement() {
        let judgement = samples::judgement(Verdict::WrongAnswer);
        let mut document = JudgeDocument::new(&judgement, &|_| vec![]);
        assert_eq!(document.tests[0].runs.len(), 1);
        // Runs have a snapshot of their own.
        document.tests.iter_mut().for_each(|t| t.runs.clear());
        insta::assert_snapshot!("judge", to_text(&document));
    }

    #[test]
    fn a_transcript_is_part_of_its_test() {
        let mut judgement = samples::judgement(Verdict::WrongAnswer);
        judgement.tests[1].transcript = Some(samples::transcript());
        let json = to_text(&JudgeDocument::new(&judgement, &|_| vec![]));
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["tests"][0].get("transcript"), None);
        let turn = serde_json::json!({"from": "program", "at_ns": 1_500_000, "text": "\u{1b}4\n"});
        let expected = serde_json::json!({"turns": [turn], "left_out_bytes": 7});
        assert_eq!(json["tests"][1]["transcript"], expected);
    }

    #[test]
    fn nothing_run_is_unknown_and_never_zero() {
        let document = JudgeDocument::new(&samples::compile_error(), &|_| vec![]);
        let json: serde_json::Value = serde_json::from_str(&to_text(&document)).unwrap();
        let unknown = serde_json::json!({"unknown": "no test case was run"});
        assert_eq!((&json["cpu_ns"], &json["memory_peak_bytes"]), (&unknown, &unknown));
        assert_eq!(json["verdict"], "CE");
        assert_eq!(json["compile"]["ok"], false);
        assert_eq!(json["score"], serde_json::Value::Null);
    }
}
