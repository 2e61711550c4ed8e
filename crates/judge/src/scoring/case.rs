//! The score of one test case.

use super::{CaseResult, legacy_grading};
use crate::package::{Grading, Package, TestCase, TestGroup};
use crate::verdict::{Validation, ValidationOutcome};
use model::Verdict;

/// Scores are sums and quotients of decimals: so much over a bound is an error of representation.
pub(super) const SLACK: f64 = 1e-6;

pub(super) fn result(
    package: &Package,
    group: &TestGroup,
    case: &TestCase,
    verdict: Verdict,
    validation: Option<&Validation>,
) -> CaseResult {
    let score = if !package.scoring || verdict == Verdict::JudgeError {
        Ok(None)
    } else if legacy_grading(package) {
        Ok(Some(legacy_score(group, verdict, validation)))
    } else if case.name.starts_with("sample/") {
        Ok(None)
    } else {
        recent_score(group, case, verdict, validation)
    };
    match score {
        Ok(score) => CaseResult { verdict, score, fault: None },
        Err(why) => CaseResult { verdict: Verdict::JudgeError, score: None, fault: Some(why) },
    }
}

/// Legacy, "Graders", "Input": the validator's score, else `accept_score`; `reject_score` when rejected.
fn legacy_score(group: &TestGroup, verdict: Verdict, validation: Option<&Validation>) -> f64 {
    match verdict {
        Verdict::Accepted => validation.and_then(|v| v.score).unwrap_or(group.settings.accept_score),
        _ => group.settings.reject_score,
    }
}

/// 2025-09, "Scoring test cases".
fn recent_score(
    group: &TestGroup,
    case: &TestCase,
    verdict: Verdict,
    validation: Option<&Validation>,
) -> Result<Option<f64>, String> {
    let (score, multiplier) = validation.map_or((None, None), |v| (v.score, v.multiplier));
    let left = if score.is_some() { "score.txt" } else { "score_multiplier.txt" };
    let has_score = score.is_some() || multiplier.is_some();
    if has_score && validation.is_some_and(|v| v.outcome == ValidationOutcome::Rejected) {
        return Err(format!("the validator rejected and left {left}"));
    }
    let max = match group.settings.grading {
        Grading::Sum => {
            case.points.or_else(|| group.settings.max_score.map(|max| max / group.all_cases().len() as f64))
        }
        Grading::Min | Grading::Product | Grading::Threshold(_) => group.settings.max_score,
        _ if has_score => return Err(format!("the validator left {left} in a group that is pass-fail")),
        _ => return Ok(None),
    };
    if verdict != Verdict::Accepted {
        return Ok(Some(0.0));
    }
    if let (Grading::Threshold(most), Some(max)) = (&group.settings.grading, max) {
        let share = multiplier.unwrap_or(1.0);
        return Ok(Some(if share > 0.0 && share <= *most { max } else { 0.0 }));
    }
    match (max, score, multiplier) {
        // A checker may give points where a test gives none; they do not count.
        (Some(max), Some(_), None) if max == 0.0 && case.points.is_some() => Ok(Some(0.0)),
        (_, Some(score), None) if score < 0.0 => Err(format!("score.txt holds {score}, which is negative")),
        (Some(max), Some(score), None) if score > max + SLACK => {
            Err(format!("score.txt holds {score}, more than the most this test case can give, {max}"))
        }
        (_, Some(score), None) => Ok(Some(score)),
        (Some(max), None, Some(share)) if (0.0..=1.0).contains(&share) => Ok(Some(max * share)),
        (Some(_), None, Some(share)) => {
            Err(format!("score_multiplier.txt holds {share}, which is not between 0 and 1"))
        }
        (Some(max), None, None) => Ok(Some(max)),
        (None, None, Some(_)) => Err("score_multiplier.txt where the maximum score is unbounded".into()),
        (None, None, None) => Err("score.txt is missing where the maximum score is unbounded".into()),
        (_, Some(_), Some(_)) => Err("the validator left both score.txt and score_multiplier.txt".into()),
    }
}
