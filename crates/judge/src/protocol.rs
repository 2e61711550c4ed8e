//! What checkers, interactors and managers of other formats decided, read from how they ended and what they printed.

use crate::package::Protocol;
use crate::verdict::{Validation, ValidationOutcome};
use model::{Exit, Limits, Observation, Status};

/// Exit codes of testlib (testlib.h, `resultExitCode`).
const OK: i32 = 0;
const WRONG: i32 = 1;
const PRESENTATION: i32 = 2;
const FAIL: i32 = 3;
const DIRT: i32 = 4;
const POINTS: i32 = 7;
const UNEXPECTED_EOF: i32 = 8;

impl Protocol {
    /// Exit code of a program that accepts.
    pub fn accepts(self) -> i32 {
        match self {
            Protocol::Kattis => crate::verdict::VALIDATOR_ACCEPTS,
            _ => OK,
        }
    }

    /// What a program that speaks this protocol decided. Of [`Protocol::Kattis`] the files of the feedback directory
    /// say it, which [`crate::verdict::validation`] reads.
    pub fn decided(
        self,
        observation: &Observation,
        limits: &Limits,
        printed: &str,
        errors: &str,
    ) -> Validation {
        let code = match (observation.status(limits), observation.exit) {
            (Status::Ok | Status::NonzeroExit, Exit::Code(code)) => Ok(code),
            (Status::Ok | Status::NonzeroExit | Status::Signalled, Exit::Signal(signal)) => {
                Err(format!("the checker was killed by signal {signal}"))
            }
            (Status::Signalled, Exit::Code(code)) => Err(format!("the checker was ended, exit code {code}")),
            (Status::CpuTimeLimit, _) => Err("the checker exceeded its CPU time limit".to_string()),
            (Status::WallTimeLimit, _) => Err("the checker exceeded its wall time limit".to_string()),
            (Status::MemoryLimit, _) => Err("the checker exceeded its memory limit".to_string()),
            (Status::OutputLimit, _) => Err("the checker exceeded its output limit".to_string()),
            (Status::SystemError, _) => Err("the checker could not be run".to_string()),
        };
        let decided = code.and_then(|code| match self {
            Protocol::Testlib { percent } => testlib(code, errors, |text| testlib_points(text, percent)),
            Protocol::Coci => testlib(code, errors, coci_points),
            Protocol::ZeroOne => zero_one(code),
            Protocol::Peg => peg(code, printed),
            Protocol::Kattis | Protocol::Cms => cms(code, printed),
        });
        let message = match self {
            Protocol::Testlib { .. } | Protocol::Coci => first_of([errors, printed]),
            Protocol::Cms => first_line(errors),
            _ => first_of([printed, errors]),
        };
        match decided {
            Ok(decided) => {
                let (score, multiplier) = match decided {
                    Decided::Points(points) => (Some(points), None),
                    Decided::Share(share) => (None, Some(share)),
                    _ => (None, None),
                };
                let outcome = match decided {
                    Decided::Rejected => ValidationOutcome::Rejected,
                    _ => ValidationOutcome::Accepted,
                };
                Validation { score, multiplier, ..Validation::plain(outcome, message) }
            }
            Err(why) => Validation::plain(ValidationOutcome::Error(why), message),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Decided {
    Accepted,
    Rejected,
    /// So many points.
    Points(f64),
    /// This share of the points.
    Share(f64),
}

/// A share of nothing is a rejection, of all an acceptance.
fn share(share: f64) -> Result<Decided, String> {
    match share {
        0.0 => Ok(Decided::Rejected),
        1.0 => Ok(Decided::Accepted),
        share if (0.0..=1.0).contains(&share) => Ok(Decided::Share(share)),
        share => Err(format!("the checker gives the share {share}, which is not between 0 and 1")),
    }
}

fn points(points: f64) -> Result<Decided, String> {
    match points {
        0.0 => Ok(Decided::Rejected),
        points if points.is_finite() && points > 0.0 => Ok(Decided::Points(points)),
        points => Err(format!("the checker gives {points} points")),
    }
}

fn testlib(
    code: i32,
    errors: &str,
    partial: impl FnOnce(&str) -> Option<Result<Decided, String>>,
) -> Result<Decided, String> {
    match code {
        OK => Ok(Decided::Accepted),
        WRONG | PRESENTATION | DIRT | UNEXPECTED_EOF => Ok(Decided::Rejected),
        FAIL => Err("the checker failed (exit code 3): a fault of the package".to_string()),
        POINTS => partial(errors).unwrap_or_else(|| {
            Err("the checker ended with exit code 7, but its standard error states no points".to_string())
        }),
        code => Err(format!("the checker exited with code {code}, which testlib does not know")),
    }
}

/// `points X message`, on any line.
fn testlib_points(text: &str, percent: bool) -> Option<Result<Decided, String>> {
    let words = |line: &str| {
        let mut words = line.split_whitespace();
        (words.next() == Some("points")).then(|| words.next()?.parse::<f64>().ok()).flatten()
    };
    let found = text.lines().find_map(words)?;
    Some(if percent { share(found / 100.0) } else { points(found) })
}

/// A line `partial X/Y`.
fn coci_points(text: &str) -> Option<Result<Decided, String>> {
    let fraction = |line: &str| {
        let (part, whole) = line.strip_prefix("partial ")?.split_once('/')?;
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let (part, whole) =
            (digits(part) && digits(whole)).then_some((part.parse::<f64>(), whole.parse::<f64>()))?;
        Some(part.ok()? / whole.ok().filter(|whole| *whole > 0.0)?)
    };
    // DMOJ calls any fraction accepted, that of nothing too.
    text.lines()
        .find_map(fraction)
        .map(|part| if part == 0.0 { Ok(Decided::Share(part)) } else { share(part) })
}

fn zero_one(code: i32) -> Result<Decided, String> {
    match code {
        OK => Ok(Decided::Accepted),
        WRONG => Ok(Decided::Rejected),
        code => Err(format!("the checker exited with code {code}, which is neither 0 nor 1")),
    }
}

fn peg(code: i32, printed: &str) -> Result<Decided, String> {
    let decided = zero_one(code)?;
    let lines: Vec<&str> = printed.lines().collect();
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let found = lines.windows(2).find_map(|pair| {
        let found = number(pair[0])? / number(pair[1])?;
        (found.is_finite() && found > 0.0).then_some(found)
    });
    found.map_or(Ok(decided), share)
}

/// One number on the first line (cms/grading/steps/trusted.py, `extract_outcome_and_text`).
fn cms(code: i32, printed: &str) -> Result<Decided, String> {
    if code != OK {
        return Err(format!("the checker exited with code {code}, not 0"));
    }
    let line = first_line(printed);
    match line.trim().parse::<f64>() {
        // Scores by threshold take more than 1, too (CMS, `GroupThreshold`); others say that it is too much.
        Ok(outcome) if outcome.is_finite() && outcome > 1.0 => Ok(Decided::Share(outcome)),
        Ok(outcome) if outcome.is_finite() => share(outcome),
        _ => {
            let shown: String = line.chars().take(40).collect();
            Err(format!("the checker printed `{shown}` instead of a share of the points"))
        }
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_string()
}

fn first_of(texts: [&str; 2]) -> String {
    texts.into_iter().map(str::trim).find(|text| !text.is_empty()).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Nanos;

    fn told(protocol: Protocol, code: i32, printed: &str, errors: &str) -> String {
        let observation = Observation::unread(Exit::Code(code), Nanos::ZERO, "simulated");
        let decided = protocol.decided(&observation, &Limits::default(), printed, errors);
        match (decided.outcome, decided.score, decided.multiplier) {
            (ValidationOutcome::Accepted, None, None) => "AC".into(),
            (ValidationOutcome::Accepted, Some(points), _) => format!("{points}"),
            (ValidationOutcome::Accepted, None, Some(share)) => format!("×{share}"),
            (ValidationOutcome::Rejected, ..) => "WA".into(),
            (ValidationOutcome::Error(_), ..) => "JE".into(),
        }
    }

    #[test]
    fn each_protocol_is_read_by_its_rules() {
        let (plain, percent) = (Protocol::Testlib { percent: false }, Protocol::Testlib { percent: true });
        for (protocol, code, printed, errors, expected) in [
            (plain, 0, "", "ok 3 numbers", "AC"),
            (plain, 1, "", "wrong answer", "WA"),
            (plain, 2, "", "wrong output format", "WA"),
            (plain, 3, "", "FAIL", "JE"),
            (plain, 4, "", "", "WA"),
            (plain, 5, "", "", "JE"),
            (plain, 7, "", "points 12.5 good", "12.5"),
            (plain, 7, "", "points 0 bad", "WA"),
            (plain, 7, "", "points -1", "JE"),
            (plain, 7, "", "points nan", "JE"),
            (plain, 7, "", "", "JE"),
            (plain, 8, "", "", "WA"),
            (plain, 139, "", "", "JE"),
            (percent, 7, "", "points 50", "×0.5"),
            (percent, 7, "", "points 150", "JE"),
            (Protocol::ZeroOne, 0, "1\n2\n", "", "AC"),
            (Protocol::ZeroOne, 1, "", "", "WA"),
            (Protocol::ZeroOne, 2, "", "", "JE"),
            (Protocol::Coci, 7, "", "note\npartial 3/4\n", "×0.75"),
            (Protocol::Coci, 7, "", "partial 0/4\n", "×0"),
            (Protocol::Coci, 7, "", "partial 5/4\n", "JE"),
            (Protocol::Coci, 7, "", "partial -1/4\n", "JE"),
            (Protocol::Coci, 7, "", "partial 1/0\n", "JE"),
            (Protocol::Peg, 0, "said\n1\n4\n", "", "×0.25"),
            (Protocol::Peg, 1, "1\n2\n", "", "×0.5"),
            (Protocol::Peg, 1, "0\n2\n", "", "WA"),
            (Protocol::Cms, 0, "1.0\n", "fine", "AC"),
            (Protocol::Cms, 0, "0.4\n", "", "×0.4"),
            (Protocol::Cms, 0, "0\n", "", "WA"),
            (Protocol::Cms, 0, "1.5\n", "", "×1.5"),
            (Protocol::Cms, 0, "-0.5\n", "", "JE"),
            (Protocol::Cms, 0, "good", "", "JE"),
            (Protocol::Cms, 1, "1.0\n", "", "JE"),
        ] {
            assert_eq!(
                told(protocol, code, printed, errors),
                expected,
                "{protocol:?} {code} {printed} {errors}"
            );
        }
    }

    #[test]
    fn a_signal_is_an_error_of_the_checker() {
        let observation = Observation::unread(Exit::Signal(11), Nanos::ZERO, "simulated");
        let decided = Protocol::ZeroOne.decided(&observation, &Limits::default(), "", "");
        assert!(matches!(decided.outcome, ValidationOutcome::Error(why) if why.contains("signal 11")));
    }
}
