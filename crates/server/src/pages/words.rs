//! Values as pages show them.

use crate::timestamp::to_rfc3339;
use model::{Bytes, Confidence, Verdict};
use std::borrow::Borrow;
use store::{State, Timestamp};

/// A verdict in words.
pub(crate) fn verdict(verdict: impl Borrow<Verdict>) -> &'static str {
    match *verdict.borrow() {
        Verdict::Accepted => "Accepted",
        Verdict::PartiallyAccepted => "Partial score",
        Verdict::WrongAnswer => "Wrong answer",
        Verdict::TimeLimit => "Time limit exceeded",
        Verdict::RunTimeError => "Run-time error",
        Verdict::MemoryLimit => "Memory limit exceeded",
        Verdict::OutputLimit => "Output limit exceeded",
        Verdict::CompileError => "Compile error",
        Verdict::JudgeError => "Judge error",
    }
}

/// How far judging is, in words.
pub(crate) fn state(state: impl Borrow<State>) -> &'static str {
    match *state.borrow() {
        State::Waiting => "Waiting",
        State::Judging => "Judging",
        State::Judged => "Judged",
        State::Cancelled => "Cancelled",
    }
}

/// How firmly a verdict stands, in a word.
pub(crate) fn confidence(confidence: impl Borrow<Confidence>) -> &'static str {
    match *confidence.borrow() {
        Confidence::Clear => "clear",
        Confidence::Settled => "settled",
        Confidence::Confirmed => "confirmed",
        Confidence::Open => "open",
    }
}

/// How firmly a verdict stands, in a sentence.
pub(crate) fn confidence_words(confidence: impl Borrow<Confidence>) -> &'static str {
    match *confidence.borrow() {
        Confidence::Clear => "One run of each test decides: all are clear of the limit.",
        Confidence::Settled => {
            "Repeated runs decide. Another judgement gives the same verdict with a probability above 99.9 %."
        }
        Confidence::Confirmed => {
            "A test was too close to the limit for CPU time. The reference clock, which is equal on every machine, decided. This is final."
        }
        Confidence::Open => {
            "A test is too close to the limit to be certain. The published rule decides; another judgement may decide otherwise."
        }
    }
}

/// A score without needless digits.
pub(crate) fn score(score: impl Borrow<f64>) -> String {
    let text = format!("{:.2}", score.borrow());
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// An amount of memory.
pub(crate) fn memory(bytes: impl Borrow<Bytes>) -> String {
    bytes.borrow().to_string()
}

/// A moment for the attribute `datetime`.
pub(crate) fn exact(moment: impl Borrow<Timestamp>) -> String {
    to_rfc3339(*moment.borrow())
}

/// A moment for readers without scripts: UTC, to the second.
pub(crate) fn utc(moment: impl Borrow<Timestamp>) -> String {
    let text = to_rfc3339(*moment.borrow());
    let whole = text.get(..19).unwrap_or_default().replace('T', " ");
    format!("{whole} UTC")
}

/// How many of something.
pub(crate) fn counted(n: impl Borrow<u64>, one: &str, many: &str) -> String {
    let n = n.borrow();
    if *n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

/// CPUs as ranges.
pub(crate) fn list(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// The name of a language for people; its id where the table has none.
pub(crate) fn language(id: &str) -> &str {
    table().get(id).map_or(id, |language| &language.name)
}

/// The languages there are.
pub(crate) fn table() -> &'static judge::language::Table {
    static TABLE: std::sync::LazyLock<judge::language::Table> =
        std::sync::LazyLock::new(judge::language::Table::shipped);
    &TABLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        for (n, text) in [(100.0, "100"), (37.5, "37.5"), (33.333, "33.33"), (0.0, "0")] {
            assert_eq!(score(n), text);
        }
        assert_eq!(utc(Timestamp(0)), "1970-01-01 00:00:00 UTC");
        assert_eq!((language("cpp"), language("befunge")), ("C++20", "befunge"));
        assert_eq!((counted(1, "run", "runs"), counted(0, "run", "runs")), ("1 run".into(), "0 runs".into()));
    }
}
