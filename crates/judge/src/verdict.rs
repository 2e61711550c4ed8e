//! The verdict of one test case, from how the submission's run ended and what the validator says.
//!
//! The precedence in words a participant understands: docs/verdicts.md.

use model::{Exit, Limits, Observation, Status, Verdict};

/// Exit code of a validator that accepts (specification, "Reporting a judgement").
pub const VALIDATOR_ACCEPTS: i32 = 42;
/// Exit code of a validator that rejects.
pub const VALIDATOR_REJECTS: i32 = 43;

/// What a validator left in its feedback directory; `None`: no such file. Bytes that are no UTF-8 may be
/// replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedbackFiles {
    /// `judgemessage.txt`.
    pub judge_message: Option<String>,
    /// `teammessage.txt`.
    pub team_message: Option<String>,
    /// `score.txt`.
    pub score: Option<String>,
    /// `score_multiplier.txt`.
    pub multiplier: Option<String>,
    /// `nextpass.in` is there. Set in multi-pass problems only.
    pub next_pass: bool,
    /// What it left that cannot be used, in words.
    pub unusable: Option<String>,
}

/// What a validator decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValidationOutcome {
    /// The output is right.
    Accepted,
    /// The output is wrong.
    Rejected,
    /// The validator did not work, for this reason: a judge error.
    Error(String),
}

/// The result of one validator run, or of the default validator.
#[derive(Clone, Debug, PartialEq)]
pub struct Validation {
    /// The decision.
    pub outcome: ValidationOutcome,
    /// `score.txt`: finite.
    pub score: Option<f64>,
    /// `score_multiplier.txt`: finite.
    pub multiplier: Option<f64>,
    /// For the jury; empty when there is none.
    pub judge_message: String,
    /// For the participant; empty when there is none.
    pub team_message: String,
    /// Run the submission again with `nextpass.in`. Only ever with [`ValidationOutcome::Accepted`].
    pub next_pass: bool,
}

impl Validation {
    /// A decision without score and with a message for the jury.
    pub fn plain(outcome: ValidationOutcome, judge_message: String) -> Validation {
        Validation {
            outcome,
            score: None,
            multiplier: None,
            judge_message,
            team_message: String::new(),
            next_pass: false,
        }
    }
}

/// Reads the result of a custom validator from its run and its feedback directory.
///
/// Exit code 42 accepts, 43 rejects; anything else, a passed limit included, is an error of the validator.
/// So are `nextpass.in` beside another code than 42, one that cannot be used, and, where it accepted, scores that are no finite number
/// and both kinds of score at once (2025-09, "Reporting additional feedback", "Multi-pass validation"). A
/// rejected run keeps the score it left: whether a score was allowed at all is for [`crate::scoring`].
pub fn validation(observation: &Observation, limits: &Limits, files: FeedbackFiles) -> Validation {
    let score = read_score("score.txt", files.score);
    let multiplier = read_score("score_multiplier.txt", files.multiplier);
    let outcome = match validator_outcome(observation, limits) {
        ValidationOutcome::Accepted | ValidationOutcome::Rejected if files.unusable.is_some() => {
            ValidationOutcome::Error(files.unusable.unwrap_or_default())
        }
        ValidationOutcome::Accepted => match (&score, &multiplier) {
            (Err(why), _) | (_, Err(why)) => ValidationOutcome::Error(why.clone()),
            (Ok(Some(_)), Ok(Some(_))) => {
                ValidationOutcome::Error("the validator left both score.txt and score_multiplier.txt".into())
            }
            (Ok(_), Ok(_)) => ValidationOutcome::Accepted,
        },
        ValidationOutcome::Rejected if files.next_pass => {
            ValidationOutcome::Error("the validator rejected and left nextpass.in".into())
        }
        other => other,
    };
    let works = !matches!(outcome, ValidationOutcome::Error(_));
    Validation {
        score: score.ok().flatten().filter(|_| works),
        multiplier: multiplier.ok().flatten().filter(|_| works),
        judge_message: files.judge_message.unwrap_or_default(),
        team_message: files.team_message.unwrap_or_default(),
        next_pass: files.next_pass && works,
        outcome,
    }
}

fn validator_outcome(observation: &Observation, limits: &Limits) -> ValidationOutcome {
    let why = match (observation.status(limits), observation.exit) {
        (Status::NonzeroExit, Exit::Code(VALIDATOR_ACCEPTS)) => return ValidationOutcome::Accepted,
        (Status::NonzeroExit, Exit::Code(VALIDATOR_REJECTS)) => return ValidationOutcome::Rejected,
        (Status::CpuTimeLimit, _) => "the validator exceeded its CPU time limit".to_string(),
        (Status::WallTimeLimit, _) => "the validator exceeded its wall time limit".to_string(),
        (Status::MemoryLimit, _) => "the validator exceeded its memory limit".to_string(),
        (Status::OutputLimit, _) => "the validator exceeded its output limit".to_string(),
        (Status::SystemError, _) => "the validator could not be run".to_string(),
        (Status::Ok | Status::NonzeroExit | Status::Signalled, Exit::Code(code)) => {
            format!("the validator exited with code {code}, which is neither 42 nor 43")
        }
        (Status::Ok | Status::NonzeroExit | Status::Signalled, Exit::Signal(signal)) => {
            format!("the validator was killed by signal {signal}")
        }
    };
    ValidationOutcome::Error(why)
}

fn read_score(file: &str, text: Option<String>) -> Result<Option<f64>, String> {
    let Some(text) = text else { return Ok(None) };
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Some(value)),
        _ => {
            let shown: String = text.trim().chars().take(40).collect();
            Err(format!("the validator left `{shown}` in {file}, which is not a finite number"))
        }
    }
}

/// The verdict of a test case whose validator ran after the submission, or did not run.
///
/// The first line that holds:
///
/// | the run | the validator | verdict |
/// |---|---|---|
/// | could not be done | – | JE |
/// | memory limit exceeded | – | MLE |
/// | CPU time limit exceeded | – | TLE |
/// | output limit exceeded | – | OLE |
/// | wall time limit exceeded | – | TLE |
/// | was ended by a signal, or exited with a code other than 0 | – | RTE |
/// | ended well | failed, or did not run | JE |
/// | ended well | rejected | WA |
/// | ended well | accepted | AC |
pub fn test_verdict(status: Status, validation: Option<&Validation>) -> Verdict {
    match (status, validation.map(|v| &v.outcome)) {
        (Status::SystemError, _) => Verdict::JudgeError,
        (Status::MemoryLimit, _) => Verdict::MemoryLimit,
        (Status::CpuTimeLimit, _) => Verdict::TimeLimit,
        (Status::OutputLimit, _) => Verdict::OutputLimit,
        (Status::WallTimeLimit, _) => Verdict::TimeLimit,
        (Status::Signalled | Status::NonzeroExit, _) => Verdict::RunTimeError,
        (Status::Ok, None | Some(ValidationOutcome::Error(_))) => Verdict::JudgeError,
        (Status::Ok, Some(ValidationOutcome::Rejected)) => Verdict::WrongAnswer,
        (Status::Ok, Some(ValidationOutcome::Accepted)) => Verdict::Accepted,
    }
}

/// Which of the two programs of an interactive run ended first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedFirst {
    /// The validator (interactor).
    Validator,
    /// The submission.
    Submission,
}

/// The verdict of an interactive test case. The first line that holds:
///
/// | ended first | the validator | the submission | verdict |
/// |---|---|---|---|
/// | either | any | could not be run | JE |
/// | either | failed | any | JE |
/// | validator | rejected | any | WA |
/// | otherwise | rejected or accepted | failed by itself | as in [`test_verdict`] |
/// | otherwise | rejected | ended well | WA |
/// | otherwise | accepted | ended well | AC |
///
/// A validator that rejects stops listening, and what the submission does then (a broken pipe, an endless
/// wait) says nothing about it. This is the rule of the reference implementation, problemtools. It takes for
/// granted that the validator can always write (someone keeps the reading end of its pipe open) and that the
/// submission can write until the validator has ended with anything but acceptance.
pub fn interactive(status: Status, validation: &Validation, first: EndedFirst) -> Verdict {
    match (status, &validation.outcome, first) {
        (Status::SystemError, _, _) | (_, ValidationOutcome::Error(_), _) => Verdict::JudgeError,
        (_, ValidationOutcome::Rejected, EndedFirst::Validator) => Verdict::WrongAnswer,
        (status, _, _) => test_verdict(status, Some(validation)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Bytes, Nanos, Reading};

    const STATUSES: [Status; 8] = [
        Status::Ok,
        Status::NonzeroExit,
        Status::Signalled,
        Status::CpuTimeLimit,
        Status::WallTimeLimit,
        Status::MemoryLimit,
        Status::OutputLimit,
        Status::SystemError,
    ];

    fn outcomes() -> [ValidationOutcome; 3] {
        [ValidationOutcome::Accepted, ValidationOutcome::Rejected, ValidationOutcome::Error("why".into())]
    }

    fn plain(outcome: &ValidationOutcome) -> Validation {
        Validation::plain(outcome.clone(), String::new())
    }

    fn ended(exit: Exit) -> Observation {
        let read = Observation::unread(exit, Nanos::from_millis(5), "not read");
        Observation { memory_peak: Reading::Known(Bytes(100)), output: Reading::Known(Bytes(0)), ..read }
    }

    fn files(score: Option<&str>, multiplier: Option<&str>, next_pass: bool) -> FeedbackFiles {
        let text = |t: Option<&str>| t.map(String::from);
        FeedbackFiles {
            score: text(score),
            multiplier: text(multiplier),
            next_pass,
            unusable: None,
            ..FeedbackFiles::default()
        }
    }

    #[test]
    fn acceptance_needs_a_good_end_and_an_accepting_validator() {
        for status in STATUSES {
            for outcome in outcomes() {
                let good = status == Status::Ok && outcome == ValidationOutcome::Accepted;
                let verdict = test_verdict(status, Some(&plain(&outcome)));
                assert_eq!(verdict == Verdict::Accepted, good, "{status:?} {outcome:?}");
                for first in [EndedFirst::Validator, EndedFirst::Submission] {
                    let verdict = interactive(status, &plain(&outcome), first);
                    assert_eq!(verdict == Verdict::Accepted, good, "{status:?} {outcome:?} {first:?}");
                }
            }
            assert_ne!(test_verdict(status, None), Verdict::Accepted);
        }
    }

    #[test]
    fn a_fault_of_the_submission_needs_no_validator() {
        for (status, verdict) in [
            (Status::NonzeroExit, Verdict::RunTimeError),
            (Status::Signalled, Verdict::RunTimeError),
            (Status::CpuTimeLimit, Verdict::TimeLimit),
            (Status::WallTimeLimit, Verdict::TimeLimit),
            (Status::MemoryLimit, Verdict::MemoryLimit),
            (Status::OutputLimit, Verdict::OutputLimit),
            (Status::SystemError, Verdict::JudgeError),
            (Status::Ok, Verdict::JudgeError),
        ] {
            assert_eq!(test_verdict(status, None), verdict, "{status:?}");
        }
    }

    #[test]
    fn who_ends_first_matters_only_to_a_rejection() {
        let [accepted, rejected, failed] = outcomes().map(|o| plain(&o));
        use EndedFirst::{Submission, Validator};
        for (status, validation, first, verdict) in [
            (Status::Signalled, &rejected, Validator, Verdict::WrongAnswer),
            (Status::WallTimeLimit, &rejected, Validator, Verdict::WrongAnswer),
            (Status::Signalled, &rejected, Submission, Verdict::RunTimeError),
            (Status::CpuTimeLimit, &rejected, Submission, Verdict::TimeLimit),
            (Status::Signalled, &accepted, Validator, Verdict::RunTimeError),
            (Status::MemoryLimit, &accepted, Submission, Verdict::MemoryLimit),
            (Status::Ok, &rejected, Submission, Verdict::WrongAnswer),
            (Status::Signalled, &failed, Submission, Verdict::JudgeError),
            (Status::SystemError, &rejected, Validator, Verdict::JudgeError),
        ] {
            assert_eq!(interactive(status, validation, first), verdict, "{status:?} {first:?}");
        }
    }

    #[test]
    fn validators_speak_by_exit_code() {
        let run = |exit| validation(&ended(exit), &Limits::default(), FeedbackFiles::default()).outcome;
        assert_eq!(run(Exit::Code(42)), ValidationOutcome::Accepted);
        assert_eq!(run(Exit::Code(43)), ValidationOutcome::Rejected);
        for (exit, part) in [
            (Exit::Code(0), "code 0, which is neither 42 nor 43"),
            (Exit::Code(1), "code 1"),
            (Exit::Signal(11), "signal 11"),
        ] {
            let ValidationOutcome::Error(why) = run(exit) else { panic!("{exit:?} is not an error") };
            assert!(why.contains(part), "{why}");
        }
        let limits = Limits { cpu: Some(Nanos::from_millis(1)), ..Limits::default() };
        let slow = validation(&ended(Exit::Code(42)), &limits, FeedbackFiles::default()).outcome;
        assert_eq!(slow, ValidationOutcome::Error("the validator exceeded its CPU time limit".into()));
    }

    #[test]
    fn feedback_must_not_contradict() {
        let run = |code, files| validation(&ended(Exit::Code(code)), &Limits::default(), files);
        assert_eq!(run(42, files(Some(" 37.5\n"), None, false)).score, Some(37.5));
        assert_eq!(run(42, files(None, Some("0.5"), true)).multiplier, Some(0.5));
        assert!(run(42, files(None, None, true)).next_pass);
        for (code, files, part) in [
            (42, files(Some("1"), Some("1"), false), "both score.txt and score_multiplier.txt"),
            (42, files(Some("ten"), None, false), "left `ten` in score.txt"),
            (42, files(Some("nan"), None, false), "not a finite number"),
            (42, files(None, Some(""), false), "left `` in score_multiplier.txt"),
            (43, files(None, None, true), "rejected and left nextpass.in"),
        ] {
            let result = run(code, files);
            let ValidationOutcome::Error(why) = result.outcome else { panic!("no error: {part}") };
            assert!(why.contains(part), "{why}");
            assert!(!result.next_pass && result.score.is_none());
        }
        for code in [42, 43] {
            let unusable = FeedbackFiles { unusable: Some("a pipe".into()), ..FeedbackFiles::default() };
            assert_eq!(run(code, unusable).outcome, ValidationOutcome::Error("a pipe".into()));
        }
        let rejected = run(43, files(Some("ten"), None, false));
        assert_eq!((rejected.outcome, rejected.score), (ValidationOutcome::Rejected, None));
        assert_eq!(run(43, files(Some("3"), None, false)).score, Some(3.0));
    }
}
