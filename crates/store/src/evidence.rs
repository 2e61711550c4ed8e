//! The stored forms of what judging leaves behind: JSON with the number of its form beside it, so that a later program
//! knows what it reads.

use crate::Result;
use crate::db::Row;
use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use model::{Charge, Clock, Forms, Judgement, Limits, Observation, TestResult};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::io::{Read, Write};

/// The forms of a judgement; `tests/forms` has one in each of them.
///
/// 1: [`Judgement`] without tests, [`TestResult`] without runs, and the runs of all tests as a list of lists of [`Observation`],
/// compressed by zlib; each as JSON. 2: judgements have their thresholds, and tests what disturbed each run. 3: tests have a charge.
/// Before, their CPU time, that of each run and its limit were those of the judgement's clock. 4: tests have what the reference clock said,
/// where it was asked, and the confidence `confirmed` then. 5: runs may have been in a virtual machine, and say what it was.
/// 6: judgements of scoring problems have the scores of their test groups. 7: tests may have a transcript of their conversation.
const FORMS: Forms = Forms::kept("a judgement", 7);

/// The form that is written.
pub(crate) const FORM: i64 = FORMS.newest as i64;

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
    let tests = judgement.tests.iter().map(|test| written(&TestResult { runs: Vec::new(), ..test.clone() }));
    let runs: Vec<&[Observation]> = judgement.tests.iter().map(|test| test.runs.as_slice()).collect();
    Ok(Packed {
        body: written(&body)?,
        tests: tests.collect::<std::result::Result<_, _>>()?,
        runs: deflate(&runs)?,
    })
}

fn written(value: &impl Serialize) -> std::result::Result<String, String> {
    serde_json::to_string(value).map_err(|e| e.to_string())
}

fn deflate(value: &impl Serialize) -> std::result::Result<Vec<u8>, String> {
    deflate_bytes(written(value)?.as_bytes())
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

/// The judgement in column `body`, without its tests.
pub(crate) fn judgement(row: &Row) -> Result<Judgement> {
    Ok(judgement_of(known(row)?, row.json("body")?))
}

/// The test in column `body`, of a judgement by this clock, without its runs.
pub(crate) fn test(row: &Row, clock: Clock) -> Result<TestResult> {
    let test = test_of(known(row)?, clock, row.json("body")?);
    test.map_err(|why| row.damaged(format!("test: {why}")))
}

/// The runs by test in column `bytes`, of a judgement by this clock.
pub(crate) fn runs(row: &Row, clock: Clock) -> Result<Vec<Vec<Observation>>> {
    let form = known(row)?;
    let bytes: Vec<u8> = row.get("bytes")?;
    let runs = inflate(&bytes).map_err(|why| row.damaged(format!("runs: {why}")))?;
    Ok(runs_of(form, clock, runs))
}

fn judgement_of(form: i64, judgement: Judgement) -> Judgement {
    let (clock, limits) = (judgement.clock, judgement.limits);
    let limits = match limits.cpu {
        Some(time) if form < 3 && clock != Clock::Cpu => {
            Charge::for_time(clock, time).limiting(Limits { cpu: None, ..limits })
        }
        _ => limits,
    };
    Judgement { limits, ..judgement }
}

fn test_of(form: i64, clock: Clock, mut test: Value) -> serde_json::Result<TestResult> {
    if let Some(fields) = test.as_object_mut().filter(|_| form < 3) {
        let amount = fields.remove("cpu_ns");
        fields.insert("charge".into(), json!({"clock": clock, "amount": amount}));
    }
    serde_json::from_value(test)
}

fn runs_of(form: i64, clock: Clock, mut runs: Vec<Vec<Observation>>) -> Vec<Vec<Observation>> {
    for run in runs.iter_mut().flatten().filter(|_| form < 3 && clock != Clock::Cpu) {
        // The two parts were never those of another clock, and CPU time is their sum.
        run.time.cpu = run.time.user + run.time.system;
    }
    runs
}

fn inflate<T: DeserializeOwned>(bytes: &[u8]) -> std::result::Result<T, String> {
    serde_json::from_slice(&inflate_bytes(bytes)?).map_err(|e| e.to_string())
}

/// The form of the row, where this program can read it.
pub(crate) fn known(row: &Row) -> Result<i64> {
    let form: i64 = row.get("form")?;
    FORMS.read(form).map(i64::from).map_err(|why| row.damaged(why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{
        Accelerator, Bytes, Cause, Clock, Compilation, Confidence, Disturbance, Exit, GroupScore, Isolation,
        Limits, MachineEvidence, Nanos, NoiseFloor, Policy, Reading, SecondOpinion, Settled, Speaker,
        Thresholds, Transcript, Turn, Verdict,
    };

    /// With something in every part.
    fn sample() -> Judgement {
        let mut run = Observation::unread(Exit::Code(0), Nanos::from_millis(900), "no machine");
        run.evidence.steal = Reading::Known(Nanos::from_millis(50));
        run.evidence.isolation = Isolation::Vm;
        run.evidence.machine = Some(MachineEvidence {
            accelerator: Accelerator::Tcg,
            host_wait: Reading::Known(Nanos::from_millis(20)),
            guest_steal: Reading::unknown("the guest does not tell"),
        });
        let floor = NoiseFloor { assumed: false, ..NoiseFloor::assumed() };
        let spread = floor.spread();
        let thresholds = Thresholds {
            policy: Policy::PUBLISHED,
            floor,
            spread,
            band_pct: 12.5,
            slow_from: floor.slow_from(),
        };
        let settled = Settled { confidence: Confidence::Confirmed, runs: 1, void_runs: 0 };
        let test = TestResult {
            name: "secret/1".into(),
            verdict: Verdict::WrongAnswer,
            charge: Charge::cpu(Nanos::from_millis(900)),
            wall: Nanos::from_millis(901),
            memory_peak: Reading::Known(Bytes(1 << 20)),
            score: Some(1.5),
            settled,
            runs: vec![run],
            causes: Reading::Known(vec![vec![Cause {
                name: Disturbance::Steal,
                bound: Nanos::from_millis(50),
            }]]),
            second_opinion: Some(SecondOpinion {
                clock: Clock::Reference,
                time: Nanos::from_millis(800),
                limit: Nanos::from_millis(850),
                passes: true,
            }),
            message: "expected 8".into(),
            transcript: Some(Transcript {
                turns: vec![Turn { from: Speaker::Interactor, at: Nanos(1_500_000), text: "4\n".into() }],
                left_out_bytes: 7,
            }),
        };
        Judgement {
            submission: "a.py".into(),
            language: "python3".into(),
            verdict: Verdict::WrongAnswer,
            score: Some(1.5),
            max_score: Some(2.0),
            groups: vec![GroupScore {
                name: "secret/group1".into(),
                verdict: Verdict::WrongAnswer,
                score: 1.5,
                max_score: Some(2.0),
            }],
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
    fn stored(judgement: &Judgement) -> Value {
        let packed = pack(judgement).unwrap();
        let read = |text: &String| serde_json::from_str::<Value>(text).unwrap();
        let runs: Value = inflate(&packed.runs).unwrap();
        json!({"judgement": read(&packed.body), "tests": packed.tests.iter().map(read).collect::<Vec<_>>(), "runs": runs})
    }

    /// The same, read.
    fn read(form: i64, stored: &Value) -> Judgement {
        let judgement: Judgement = serde_json::from_value(stored["judgement"].clone()).unwrap();
        let mut judgement = judgement_of(form, judgement);
        let tests = stored["tests"].as_array().unwrap().iter();
        judgement.tests = tests.map(|test| test_of(form, judgement.clock, test.clone()).unwrap()).collect();
        let runs = runs_of(form, judgement.clock, serde_json::from_value(stored["runs"].clone()).unwrap());
        judgement.tests.iter_mut().zip(runs).for_each(|(test, runs)| test.runs = runs);
        judgement
    }

    fn kept() -> [Value; FORM as usize] {
        let files = [
            include_str!("../tests/forms/1.json"),
            include_str!("../tests/forms/2.json"),
            include_str!("../tests/forms/3.json"),
            include_str!("../tests/forms/4.json"),
            include_str!("../tests/forms/5.json"),
            include_str!("../tests/forms/6.json"),
            include_str!("../tests/forms/7.json"),
        ];
        files.map(|text| serde_json::from_str(text).unwrap())
    }

    #[test]
    fn what_is_written_changes_only_with_the_number_of_its_form() {
        FORMS.hold(&stored(&sample()), &kept(), Value::eq);
    }

    #[test]
    fn every_form_there_was_is_read() {
        for (form, kept) in (1..).zip(kept()) {
            let judgement = read(form, &kept);
            let mut expected = sample();
            if form < 2 {
                expected.thresholds = Reading::unknown("not recorded then");
                expected.tests[0].causes = Reading::unknown("not recorded then");
            }
            if form < 4 {
                let settled = Settled { confidence: Confidence::Settled, ..expected.settled };
                expected.settled = settled;
                expected.tests[0].settled = settled;
                expected.tests[0].second_opinion = None;
            }
            if form < 5 {
                let evidence = &mut expected.tests[0].runs[0].evidence;
                evidence.isolation = Isolation::None;
                evidence.machine = None;
            }
            if form < 6 {
                expected.groups.clear();
            }
            if form < 7 {
                expected.tests[0].transcript = None;
            }
            assert_eq!(judgement, expected, "form {form}");
        }
    }

    #[test]
    fn what_was_counted_before_it_was_called_a_charge_is_one() {
        let judgement =
            read(2, &serde_json::from_str(include_str!("../tests/forms/2-instructions.json")).unwrap());
        let [test] = &judgement.tests[..] else { panic!("{judgement:?}") };
        let charge = Charge { clock: Clock::Instructions, amount: 118_604_422 };
        assert_eq!((test.charge, judgement.limit().amount), (charge, 1_000_000_000));
        assert_eq!(Charge::measured(Clock::Instructions, &test.runs[0]), Reading::Known(charge));
        assert_eq!(test.runs[0].time.cpu, Nanos(52_100_000), "what was seen");
        let limits = judgement.limits;
        assert_eq!((limits.cpu, limits.instructions), (None, Some(1_000_000_000)));
        assert_eq!(test.runs[0].status(&limits), model::Status::Ok);
    }
}
