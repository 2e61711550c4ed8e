//! Groups and graders of the legacy format ("Test data groups", "Graders").

use super::case::SLACK;
use super::{GroupResult, Judging, Member, Need, members, title};
use crate::package::{Grading, GroupSettings, ScoreMode, TestGroup, VerdictMode};
use model::Verdict;
use std::fmt::Write;

/// The order of `worst_error`, worst first (legacy, "Default grader specification").
const WORST_FIRST: [Verdict; 6] = [
    Verdict::JudgeError,
    Verdict::RunTimeError,
    Verdict::MemoryLimit,
    Verdict::TimeLimit,
    Verdict::OutputLimit,
    Verdict::WrongAnswer,
];

impl<'p> Judging<'p> {
    pub(super) fn legacy_result(&self) -> Result<GroupResult, Need<'p>> {
        let Some(root) = self.legacy_group(&self.package.data)? else {
            return Ok(GroupResult::fault("the package has no test cases".into()));
        };
        Ok(match root.verdict {
            Verdict::Accepted if self.below_best(root.score) => {
                GroupResult { verdict: Verdict::PartiallyAccepted, ..root }
            }
            Verdict::Accepted => root,
            // "For non-Accepted verdicts, the score provided by the grader will always be ignored."
            _ => GroupResult { score: None, ..root },
        })
    }

    fn below_best(&self, score: Option<f64>) -> bool {
        match (score, self.max_score()) {
            (Some(score), Some(best)) if self.package.maximise => score < best - SLACK,
            (Some(score), Some(best)) => score > best + SLACK,
            _ => false,
        }
    }

    /// `None` for a group without test cases, which counts as absent.
    pub(super) fn legacy_group(&self, group: &'p TestGroup) -> Result<Option<GroupResult>, Need<'p>> {
        let mut results = Vec::new();
        for member in members(group) {
            let result = match member {
                Member::Case(case) => self.case(case)?,
                Member::Group(inner) => match self.legacy_group(inner)? {
                    Some(result) => result,
                    None => continue,
                },
            };
            if result.verdict == Verdict::JudgeError {
                return Ok(Some(result));
            }
            let rejected = result.verdict != Verdict::Accepted;
            results.push(result);
            if rejected && group.settings.break_on_reject {
                break;
            }
        }
        if results.is_empty() {
            return Ok(None);
        }
        self.grade(group, &results).map(|result| Some(self.in_range(group, result)))
    }

    fn grade(&self, group: &'p TestGroup, results: &[GroupResult]) -> Result<GroupResult, Need<'p>> {
        match &group.settings.grading {
            Grading::Custom { flags } => match self.grades.get(group.name.as_str()) {
                Some(result) => Ok(result.clone()),
                None => Err(Need::Grade { group, flags, input: grader_input(results) }),
            },
            Grading::LegacyDefault { verdict, score, ignore_sample, accept_if_any_accepted } => {
                // The last member is `secret`, or `sample` where its rejection ended the judging.
                let sample_only = *ignore_sample && group.name.is_empty();
                let counted = if sample_only { &results[results.len() - 1..] } else { results };
                let any = *accept_if_any_accepted && counted.iter().any(|r| r.verdict == Verdict::Accepted);
                let verdict = if any { Verdict::Accepted } else { aggregate_verdict(*verdict, counted) };
                Ok(GroupResult::new(verdict, Some(aggregate_score(*score, counted))))
            }
            Grading::PassFail | Grading::Sum | Grading::Min | Grading::Product | Grading::Threshold(_) => {
                Ok(GroupResult::fault(format!("{}: its grading belongs to the 2025-09 format", title(group))))
            }
        }
    }

    /// An accepted group whose score lies outside its range is an error of the package.
    fn in_range(&self, group: &TestGroup, result: GroupResult) -> GroupResult {
        match (group.settings.range, result.score) {
            (Some((low, high)), Some(score))
                if self.package.scoring
                    && result.verdict == Verdict::Accepted
                    && !(group.name == "sample" && ignores_sample(&self.package.data.settings))
                    && !(low - SLACK..=high + SLACK).contains(&score) =>
            {
                let place = title(group);
                GroupResult::fault(format!("{place}: score {score} is outside its range {low} to {high}"))
            }
            _ => result,
        }
    }
}

pub(super) fn ignores_sample(root: &GroupSettings) -> bool {
    matches!(root.grading, Grading::LegacyDefault { ignore_sample: true, .. })
}

fn aggregate_verdict(mode: VerdictMode, results: &[GroupResult]) -> Verdict {
    let mut errors = results.iter().map(|r| r.verdict).filter(|v| *v != Verdict::Accepted);
    let rank = |v: &Verdict| WORST_FIRST.iter().position(|w| w == v).unwrap_or(WORST_FIRST.len());
    let error = match mode {
        VerdictMode::AlwaysAccept => None,
        VerdictMode::FirstError => errors.next(),
        VerdictMode::WorstError => errors.min_by_key(rank),
    };
    error.unwrap_or(Verdict::Accepted)
}

pub(super) fn aggregate_score(mode: ScoreMode, results: &[GroupResult]) -> f64 {
    let scores = results.iter().map(|r| r.score.unwrap_or(0.0));
    match mode {
        ScoreMode::Sum => scores.sum(),
        ScoreMode::Average => scores.sum::<f64>() / results.len().max(1) as f64,
        ScoreMode::Min => scores.reduce(f64::min).unwrap_or(0.0),
        ScoreMode::Max => scores.reduce(f64::max).unwrap_or(0.0),
    }
}

/// Graders know the four verdicts of the specification; finer ones are told as what they are a kind of.
fn grader_input(results: &[GroupResult]) -> String {
    results.iter().fold(String::new(), |mut input, result| {
        let verdict = match result.verdict {
            Verdict::MemoryLimit => Verdict::RunTimeError,
            Verdict::OutputLimit => Verdict::WrongAnswer,
            other => other,
        };
        // Writing to a string cannot fail.
        let _ = writeln!(input, "{verdict} {}", result.score.unwrap_or(0.0));
        input
    })
}
