//! What DOMjudge's own judgehost decides: how far above its limit a program is stopped, and the result of a test. Read from
//! DOMjudge 8.3, 9.0 and its main branch (`judge/testcase_run.sh`, `lib/lib.misc.php`).

use crate::verdict::{EndedFirst, ValidationOutcome};
use model::{Bytes, Exit, Nanos, Observation, Verdict};

/// The result of a test, as it is told to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunResult {
    /// The output is right.
    Correct,
    /// The output is wrong.
    WrongAnswer,
    /// It is wrong, and there is none.
    NoOutput,
    /// Too slow.
    TimeLimit,
    /// It crashed, or exited with a code other than 0.
    RunError,
    /// It printed too much.
    OutputLimit,
    /// The kernel killed it for its memory. Only where the site wants that told apart.
    MemoryLimit,
    /// The compare script failed. No result the server takes: an internal error.
    CompareError,
}

impl RunResult {
    /// Its name at the server, a key of `results_prio`; [`RunResult::CompareError`] is none.
    pub fn name(self) -> &'static str {
        match self {
            RunResult::Correct => "correct",
            RunResult::WrongAnswer => "wrong-answer",
            RunResult::NoOutput => "no-output",
            RunResult::TimeLimit => "timelimit",
            RunResult::RunError => "run-error",
            RunResult::OutputLimit => "output-limit",
            RunResult::MemoryLimit => "memory-limit",
            RunResult::CompareError => "compare-error",
        }
    }

    /// The same in our words.
    pub fn verdict(self) -> Verdict {
        match self {
            RunResult::Correct => Verdict::Accepted,
            RunResult::WrongAnswer | RunResult::NoOutput => Verdict::WrongAnswer,
            RunResult::TimeLimit => Verdict::TimeLimit,
            RunResult::RunError => Verdict::RunTimeError,
            RunResult::OutputLimit => Verdict::OutputLimit,
            RunResult::MemoryLimit => Verdict::MemoryLimit,
            RunResult::CompareError => Verdict::JudgeError,
        }
    }
}

/// How a program killed for its memory is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryVerdict {
    /// As any crash: what DOMjudge's own judgehost does.
    #[default]
    RunError,
    /// As a memory limit.
    MemoryLimit,
}

/// How a run ended, as far as the result goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Used more CPU time than its limit, or passed a limit that ends it.
    pub too_slow: bool,
    /// Ended by a signal, or with a code other than 0, and not for its output.
    pub failed: bool,
    /// The kernel killed it for its memory.
    pub out_of_memory: bool,
    /// Printed more than it may.
    pub cut: bool,
    /// Printed nothing.
    pub silent: bool,
}

/// The bounds a run is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// CPU time that it may use.
    pub limit: Nanos,
    /// Elapsed time after which DOMjudge ends it. Waiting for a busy machine does not count.
    pub wall: Nanos,
    /// What it may write.
    pub output: Option<Bytes>,
}

impl Ended {
    /// What was observed of a run, and how much of its output there is.
    pub fn from_run(run: &Observation, bounds: &Bounds, printed: Bytes) -> Ended {
        const SIGXFSZ: i32 = 25;
        let waited = run.evidence.run_queue_wait.known().copied().unwrap_or(Nanos::ZERO);
        let ended_by_output = bounds.output.is_some() && run.exit == Exit::Signal(SIGXFSZ);
        let over = bounds.output.is_some_and(|limit| run.output.known().is_some_and(|used| *used > limit));
        Ended {
            too_slow: run.time.cpu > bounds.limit
                || run.wall_exceeded
                || run.time.wall - waited > bounds.wall,
            failed: run.exit != Exit::Code(0) && !ended_by_output,
            out_of_memory: run.out_of_memory,
            cut: run.output_cut || ended_by_output || over,
            silent: printed.0 == 0,
        }
    }
}

/// The result of a test, the first line that holds:
///
/// | | |
/// |---|---|
/// | the compare script failed | compare-error |
/// | interactive, the interactor ended first and rejected | wrong-answer |
/// | too slow | timelimit |
/// | failed by itself | run-error (or memory-limit) |
/// | printed too much | output-limit |
/// | accepted | correct |
/// | rejected, nothing was printed, not interactive | no-output |
/// | rejected | wrong-answer |
///
/// `compared` is `None` where nobody was asked, since the run did not end well; `interactive` is who ended first.
pub fn run_result(
    ended: Ended,
    compared: Option<&ValidationOutcome>,
    interactive: Option<EndedFirst>,
    memory: MemoryVerdict,
) -> RunResult {
    let rejected = compared == Some(&ValidationOutcome::Rejected);
    match compared {
        Some(ValidationOutcome::Error(_)) => RunResult::CompareError,
        _ if rejected && interactive == Some(EndedFirst::Validator) => RunResult::WrongAnswer,
        _ if ended.too_slow => RunResult::TimeLimit,
        _ if ended.failed && ended.out_of_memory && memory == MemoryVerdict::MemoryLimit => {
            RunResult::MemoryLimit
        }
        _ if ended.failed => RunResult::RunError,
        _ if ended.cut => RunResult::OutputLimit,
        Some(ValidationOutcome::Accepted) => RunResult::Correct,
        Some(ValidationOutcome::Rejected) if ended.silent && interactive.is_none() => RunResult::NoOutput,
        Some(ValidationOutcome::Rejected) => RunResult::WrongAnswer,
        None => RunResult::CompareError,
    }
}

/// The time beyond a limit after which a program is ended, from the setting `timelimit_overshoot`: `A` or `A op B`, each `Ns` or `N%`
/// of the limit, with `+` for the sum, `|` for the greater and `&` for the lesser.
///
/// # Errors
/// It is not of this form.
pub fn overshoot(limit: Nanos, setting: &str) -> Result<Nanos, String> {
    let part = |text: &str| {
        let text = text.trim();
        let seconds = |n: f64| Nanos((n * 1e9) as u64);
        let number = |digits: &str| digits.parse::<u32>().ok().map(f64::from);
        let value = match (text.strip_suffix('s'), text.strip_suffix('%')) {
            (Some(digits), _) => number(digits).map(seconds),
            (_, Some(digits)) => number(digits).map(|n| limit.scale(n / 100.0)),
            (None, None) => None,
        };
        value.ok_or_else(|| {
            format!("timelimit_overshoot `{setting}`: `{text}` is neither seconds (1s) nor percent (10%)")
        })
    };
    match setting.split_once(['+', '|', '&']) {
        None => part(setting),
        Some((a, b)) => {
            let (x, y) = (part(a)?, part(b)?);
            Ok(match setting.as_bytes()[a.len()] {
                b'+' => x + y,
                b'|' => x.max(y),
                _ => x.min(y),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Ended =
        Ended { too_slow: false, failed: false, out_of_memory: false, cut: false, silent: false };

    /// Each row of the order, each with everything true that comes after it.
    #[test]
    fn the_first_that_holds() {
        use RunResult::*;
        use ValidationOutcome::{Accepted, Rejected};
        let error = || ValidationOutcome::Error("exit code 1".into());
        let all = Ended { too_slow: true, failed: true, out_of_memory: false, cut: true, silent: true };
        let (validator, submission) = (Some(EndedFirst::Validator), Some(EndedFirst::Submission));
        let not_slow = Ended { too_slow: false, ..all };
        let works = Ended { failed: false, ..not_slow };
        let short = Ended { cut: false, ..works };
        for (ended, compared, interactive, result) in [
            (all, Some(error()), None, CompareError),
            (all, Some(error()), validator, CompareError),
            (GOOD, Some(error()), None, CompareError),
            (all, Some(Rejected), validator, WrongAnswer),
            (all, Some(Accepted), validator, TimeLimit),
            (all, Some(Rejected), submission, TimeLimit),
            (all, Some(Rejected), None, TimeLimit),
            (all, None, None, TimeLimit),
            (not_slow, Some(Accepted), submission, RunError),
            (not_slow, Some(Rejected), submission, RunError),
            (not_slow, None, None, RunError),
            (works, Some(Accepted), None, OutputLimit),
            (works, None, None, OutputLimit),
            (short, Some(Accepted), None, Correct),
            (short, Some(Rejected), None, NoOutput),
            (short, Some(Rejected), submission, WrongAnswer),
            (GOOD, Some(Accepted), None, Correct),
            (GOOD, Some(Accepted), validator, Correct),
            (GOOD, Some(Rejected), None, WrongAnswer),
            (GOOD, None, None, CompareError),
        ] {
            let found = run_result(ended, compared.as_ref(), interactive, MemoryVerdict::RunError);
            assert_eq!(found, result, "{ended:?} {compared:?} {interactive:?}");
        }
    }

    #[test]
    fn memory_is_told_as_the_site_wishes() {
        let killed = Ended { failed: true, out_of_memory: true, ..GOOD };
        let told = |memory| run_result(killed, None, None, memory);
        assert_eq!(told(MemoryVerdict::RunError), RunResult::RunError);
        assert_eq!(told(MemoryVerdict::MemoryLimit), RunResult::MemoryLimit);
        let slow = Ended { too_slow: true, ..killed };
        assert_eq!(run_result(slow, None, None, MemoryVerdict::MemoryLimit), RunResult::TimeLimit);
    }

    #[test]
    fn what_was_seen_of_a_run() {
        let bounds =
            Bounds { limit: Nanos::from_secs(1), wall: Nanos::from_secs(2), output: Some(Bytes(100)) };
        let run = |exit, cpu| Observation::unread(exit, Nanos::from_millis(cpu), "not read");
        let of = |run: &Observation| Ended::from_run(run, &bounds, Bytes(7));
        assert_eq!(of(&run(Exit::Code(0), 1000)), GOOD);
        assert_eq!(of(&run(Exit::Code(0), 1001)), Ended { too_slow: true, ..GOOD });
        assert_eq!(of(&run(Exit::Signal(11), 10)), Ended { failed: true, ..GOOD });
        assert_eq!(of(&run(Exit::Code(3), 10)), Ended { failed: true, ..GOOD });
        assert_eq!(of(&run(Exit::Signal(25), 10)), Ended { cut: true, ..GOOD });
        assert!(Ended::from_run(&run(Exit::Code(0), 1), &bounds, Bytes(0)).silent);
        let mut slept = run(Exit::Code(0), 10);
        slept.time.wall = Nanos::from_millis(2001);
        assert!(of(&slept).too_slow);
        slept.evidence.run_queue_wait = model::Reading::Known(Nanos::from_millis(5));
        assert!(!of(&slept).too_slow, "the machine was busy");
    }

    #[test]
    fn every_form_of_overshoot() {
        let ms = |limit: u64, setting: &str| {
            overshoot(Nanos::from_millis(limit), setting).map(|o| o.0 / 1_000_000)
        };
        assert_eq!(ms(2000, "1s|10%"), Ok(1000));
        assert_eq!(ms(20_000, "1s|10%"), Ok(2000));
        assert_eq!(ms(2000, "1s&10%"), Ok(200));
        assert_eq!(ms(2000, "1s + 10%"), Ok(1200));
        assert_eq!(ms(2000, "3s"), Ok(3000));
        assert_eq!(ms(2000, "50%"), Ok(1000));
        for wrong in ["", "1", "s", "1s|", "1m", "-1s", "1s|2s|3s"] {
            assert!(ms(2000, wrong).is_err(), "{wrong}");
        }
    }
}
