//! Judge0's statuses, and which of them says what of ours.

use crate::execution::Ran;
use model::{Exit, Verdict};
use serde_json::{Value as Json, json};
use store::{State, Submission};

/// Ids and descriptions (Judge0 1.13.1, `GET /statuses`).
const ALL: [(u8, &str); 14] = [
    (1, "In Queue"),
    (2, "Processing"),
    (3, "Accepted"),
    (4, "Wrong Answer"),
    (5, "Time Limit Exceeded"),
    (6, "Compilation Error"),
    (7, "Runtime Error (SIGSEGV)"),
    (8, "Runtime Error (SIGXFSZ)"),
    (9, "Runtime Error (SIGFPE)"),
    (10, "Runtime Error (SIGABRT)"),
    (11, "Runtime Error (NZEC)"),
    (12, "Runtime Error (Other)"),
    (13, "Internal Error"),
    (14, "Exec Format Error"),
];

/// A status by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status(pub(crate) u8);

impl Status {
    /// What it is called.
    pub(crate) fn description(self) -> &'static str {
        ALL.iter().find(|(id, _)| *id == self.0).map_or("", |(_, description)| description)
    }

    /// As clients see it.
    pub(crate) fn json(self) -> Json {
        json!({"id": self.0, "description": self.description()})
    }
}

/// All of them.
pub(crate) fn all() -> Json {
    ALL.iter().map(|(id, _)| Status(*id).json()).collect()
}

/// How a submission stands.
pub(crate) fn status_of(submission: &Submission, ran: Option<&Ran>) -> Status {
    match (ran, submission.state) {
        (Some(ran), _) => of_verdict(ran.summary.verdict, exit(ran)),
        (None, State::Waiting | State::Judged) => Status(1),
        (None, State::Judging) => Status(2),
        (None, State::Cancelled) => Status(13),
    }
}

/// How the deciding run ended.
pub(crate) fn exit(ran: &Ran) -> Option<Exit> {
    ran.executed.as_ref()?.last().map(|run| run.exit)
}

/// Judge0 has no status for memory and output: too much output is what the kernel says of it (SIGXFSZ), too much memory is
/// another error.
pub(crate) fn of_verdict(verdict: Verdict, exit: Option<Exit>) -> Status {
    Status(match (verdict, exit) {
        (Verdict::Accepted | Verdict::PartiallyAccepted, _) => 3,
        (Verdict::WrongAnswer, _) => 4,
        (Verdict::TimeLimit, _) => 5,
        (Verdict::CompileError, _) => 6,
        (Verdict::OutputLimit, _) => 8,
        (Verdict::MemoryLimit, _) => 12,
        (Verdict::JudgeError, _) => 13,
        (Verdict::RunTimeError, Some(Exit::Signal(11))) => 7,
        (Verdict::RunTimeError, Some(Exit::Signal(25))) => 8,
        (Verdict::RunTimeError, Some(Exit::Signal(8))) => 9,
        (Verdict::RunTimeError, Some(Exit::Signal(6))) => 10,
        (Verdict::RunTimeError, Some(Exit::Code(_))) => 11,
        (Verdict::RunTimeError, Some(Exit::Signal(_)) | None) => 12,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_has_its_status() {
        let (code, signal) = (|code| Some(Exit::Code(code)), |signal| Some(Exit::Signal(signal)));
        for (verdict, exit, id) in [
            (Verdict::Accepted, code(0), 3),
            (Verdict::WrongAnswer, code(0), 4),
            (Verdict::TimeLimit, signal(9), 5),
            (Verdict::CompileError, None, 6),
            (Verdict::RunTimeError, signal(11), 7),
            (Verdict::RunTimeError, signal(25), 8),
            (Verdict::RunTimeError, signal(8), 9),
            (Verdict::RunTimeError, signal(6), 10),
            (Verdict::RunTimeError, code(1), 11),
            (Verdict::RunTimeError, signal(15), 12),
            (Verdict::MemoryLimit, signal(9), 12),
            (Verdict::OutputLimit, signal(9), 8),
            (Verdict::JudgeError, None, 13),
        ] {
            assert_eq!(of_verdict(verdict, exit), Status(id), "{verdict} {exit:?}");
        }
        assert!((1..=14).all(|id| !Status(id).description().is_empty()));
    }
}
