//! The stored forms of what judging leaves behind: JSON with the number of its form beside it, so that a later program
//! knows what it reads.

use crate::Result;
use crate::db::Row;
use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use model::{Judgement, Observation, TestResult};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{Read, Write};

/// The form that is written. All forms from 1 to this are read for ever: what one did not have is a reading that is unknown, since it
/// was not recorded then. `tests/forms` has a judgement in each of them.
///
/// 1: [`Judgement`] without tests, [`TestResult`] without runs, and the runs of all tests as a list of lists of [`Observation`],
/// compressed by zlib; each as JSON. 2: judgements have their thresholds, and tests what disturbed each run.
pub(crate) const FORM: i64 = 2;

/// A judgement, ready to be stored.
pub(crate) struct Packed {
    /// Without tests.
    pub(crate) body: String,
    /// By test, without runs.
    pub(crate) tests: Vec<String>,
    /// Of all tests.
    pub(crate) runs: Vec<u8>,
}

/// Takes a judgement apart. `Err` says what cannot be written as JSON.
pub(crate) fn pack(judgement: &Judgement) -> std::result::Result<Packed, String> {
    let body = Judgement { tests: Vec::new(), ..judgement.clone() };
    let tests = judgement.tests.iter().map(|test| json(&TestResult { runs: Vec::new(), ..test.clone() }));
    let runs: Vec<&[Observation]> = judgement.tests.iter().map(|test| test.runs.as_slice()).collect();
    Ok(Packed {
        body: json(&body)?,
        tests: tests.collect::<std::result::Result<_, _>>()?,
        runs: deflate(&runs)?,
    })
}

fn json(value: &impl Serialize) -> std::result::Result<String, String> {
    serde_json::to_string(value).map_err(|e| e.to_string())
}

fn deflate(value: &impl Serialize) -> std::result::Result<Vec<u8>, String> {
    deflate_bytes(json(value)?.as_bytes())
}

/// Compresses by zlib.
pub(crate) fn deflate_bytes(bytes: &[u8]) -> std::result::Result<Vec<u8>, String> {
    let mut compressor = ZlibEncoder::new(Vec::new(), Compression::fast());
    let written = compressor.write_all(bytes);
    written.and_then(|()| compressor.finish()).map_err(|e| e.to_string())
}

/// The inverse of [`deflate_bytes`].
pub(crate) fn inflate_bytes(bytes: &[u8]) -> std::result::Result<Vec<u8>, String> {
    let mut inflated = Vec::new();
    ZlibDecoder::new(bytes).read_to_end(&mut inflated).map_err(|e| e.to_string())?;
    Ok(inflated)
}

/// The JSON in column `body`.
pub(crate) fn body<T: DeserializeOwned>(row: &Row) -> Result<T> {
    known(row)?;
    row.json("body")
}

/// The runs by test in column `bytes`.
pub(crate) fn runs(row: &Row) -> Result<Vec<Vec<Observation>>> {
    known(row)?;
    let bytes: Vec<u8> = row.get("bytes")?;
    inflate(&bytes).map_err(|why| row.damaged(format!("runs: {why}")))
}

fn inflate<T: DeserializeOwned>(bytes: &[u8]) -> std::result::Result<T, String> {
    serde_json::from_slice(&inflate_bytes(bytes)?).map_err(|e| e.to_string())
}

/// That the row is of a form this program can read.
pub(crate) fn known(row: &Row) -> Result<()> {
    match row.get("form")? {
        1..=FORM => Ok(()),
        other => Err(row.damaged(format!("form {other} of a judgement, and this program knows 1 to {FORM}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{
        Bytes, Cause, Clock, Compilation, Confidence, Disturbance, Exit, Floor, Limits, Nanos, Policy,
        Reading, Settled, Thresholds, Verdict,
    };
    use serde_json::{Value, json};
    use std::path::Path;

    /// With something in every part.
    fn sample() -> Judgement {
        let mut run = Observation::unread(Exit::Code(0), Nanos::from_millis(900), "no machine");
        run.evidence.steal = Reading::Known(Nanos::from_millis(50));
        let floor = Floor { assumed: false, ..Floor::assumed() };
        let stray = floor.stray();
        let thresholds = Thresholds {
            policy: Policy::PUBLISHED,
            floor,
            stray,
            band_pct: 12.5,
            slow_from: floor.slow_from(),
        };
        let settled = Settled { confidence: Confidence::Settled, runs: 1, void_runs: 0 };
        let test = TestResult {
            name: "secret/1".into(),
            verdict: Verdict::WrongAnswer,
            cpu: Nanos::from_millis(900),
            wall: Nanos::from_millis(901),
            memory_peak: Reading::Known(Bytes(1 << 20)),
            score: Some(1.5),
            settled,
            runs: vec![run],
            causes: Reading::Known(vec![vec![Cause {
                name: Disturbance::Steal,
                bound: Nanos::from_millis(50),
            }]]),
            message: "expected 8".into(),
        };
        Judgement {
            submission: "a.py".into(),
            language: "python3".into(),
            verdict: Verdict::WrongAnswer,
            score: Some(1.5),
            max_score: Some(2.0),
            clock: Clock::Cpu,
            counted_by: None,
            time_limit: Nanos::from_secs(1),
            limits: Limits { cpu: Some(Nanos::from_secs(1)), ..Limits::default() },
            compile: Compilation { ok: true, output: "a warning".into() },
            settled,
            thresholds: Reading::Known(thresholds),
            tests: vec![test],
            fault: None,
        }
    }

    /// A judgement as it is stored, without compression.
    fn written(judgement: &Judgement) -> Value {
        let packed = pack(judgement).unwrap();
        let read = |text: &String| serde_json::from_str::<Value>(text).unwrap();
        let runs: Value = inflate(&packed.runs).unwrap();
        json!({"judgement": read(&packed.body), "tests": packed.tests.iter().map(read).collect::<Vec<_>>(), "runs": runs})
    }

    /// The same, read.
    fn read(form: &Value) -> Judgement {
        let mut judgement: Judgement = serde_json::from_value(form["judgement"].clone()).unwrap();
        judgement.tests = serde_json::from_value(form["tests"].clone()).unwrap();
        let runs: Vec<Vec<Observation>> = serde_json::from_value(form["runs"].clone()).unwrap();
        judgement.tests.iter_mut().zip(runs).for_each(|(test, runs)| test.runs = runs);
        judgement
    }

    fn kept(form: i64) -> Value {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/forms/{form}.json"));
        let text = std::fs::read_to_string(&path);
        let why = || format!("{}: is missing; write this there:\n{:#}", path.display(), written(&sample()));
        serde_json::from_str(&text.unwrap_or_else(|_| panic!("{}", why()))).unwrap()
    }

    #[test]
    fn what_is_written_changes_only_with_the_number_of_its_form() {
        assert_eq!(
            written(&sample()),
            kept(FORM),
            "raise FORM, say what changed, and add a file to tests/forms"
        );
    }

    #[test]
    fn every_form_there_was_is_read() {
        for form in 1..=FORM {
            let judgement = read(&kept(form));
            let mut expected = sample();
            if form < 2 {
                expected.thresholds = Reading::unknown("not recorded then");
                expected.tests[0].causes = Reading::unknown("not recorded then");
            }
            assert_eq!(judgement, expected, "form {form}");
        }
    }
}
