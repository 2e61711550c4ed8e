//! Types of judgements: what those of a contest are in the five that every contest knows (Contest API, "Known judgement types").

use model::Verdict;

/// A type of the specification in the five: AC, WA, TLE, RTE, CE. `None`: none of these, or one that is nowhere listed. `RE`, which says
/// only that a submission was rejected, is none of them.
pub fn simplified(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "AC" | "APE" => "AC",
        "WA" | "OLE" | "PE" | "EO" | "IO" | "NO" => "WA",
        "TLE" | "WTL" | "ILE" | "TCO" | "TWA" | "TPE" | "TEO" | "TIO" | "TNO" => "TLE",
        "RTE" | "MLE" | "SV" | "IF" | "RCO" | "RWA" | "RPE" | "REO" | "RIO" | "RNO" => "RTE",
        "CE" | "CTL" => "CE",
        _ => return None,
    })
}

/// Whether a verdict of ours is what a contest's judgement says. `kind` and `solved` are of its type.
pub fn agree(ours: Verdict, kind: &str, solved: Option<bool>) -> bool {
    let accepted = matches!(ours, Verdict::Accepted | Verdict::PartiallyAccepted);
    let rejected = !accepted && ours != Verdict::JudgeError;
    match (simplified(ours.code()), simplified(kind)) {
        _ if ours == Verdict::PartiallyAccepted => solved.unwrap_or(kind == "AC"),
        (Some(ours), Some(theirs)) => ours == theirs,
        // A type that says no more than whether it was accepted.
        (_, None) => match (kind, solved) {
            ("RE", _) | (_, Some(false)) => rejected,
            (_, Some(true)) => accepted,
            (_, None) => false,
        },
        (None, Some(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_of_ours_agrees_with_itself() {
        for verdict in Verdict::ALL {
            let solved = Some(matches!(verdict, Verdict::Accepted | Verdict::PartiallyAccepted));
            assert_eq!(agree(verdict, verdict.code(), solved), verdict != Verdict::JudgeError, "{verdict}");
        }
    }

    #[test]
    fn types_that_are_finer_or_coarser_than_ours() {
        for (ours, kind, solved, expected) in [
            (Verdict::TimeLimit, "WTL", None, true),
            (Verdict::TimeLimit, "TWA", None, true),
            (Verdict::MemoryLimit, "RTE", None, true),
            (Verdict::OutputLimit, "WA", None, true),
            (Verdict::WrongAnswer, "NO", None, true),
            (Verdict::WrongAnswer, "RTE", None, false),
            (Verdict::Accepted, "TLE", Some(false), false),
            (Verdict::TimeLimit, "RE", Some(false), true),
            (Verdict::Accepted, "RE", Some(false), false),
            (Verdict::Accepted, "Y", Some(true), true),
            (Verdict::WrongAnswer, "Y", Some(true), false),
            (Verdict::WrongAnswer, "Z", None, false),
            (Verdict::JudgeError, "RE", Some(false), false),
            (Verdict::PartiallyAccepted, "AC", Some(true), true),
        ] {
            assert_eq!(agree(ours, kind, solved), expected, "{ours} {kind}");
        }
    }
}
