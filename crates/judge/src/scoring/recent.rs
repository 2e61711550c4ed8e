//! Result aggregation of the 2025-09 format.

use super::case::SLACK;
use super::{GroupResult, Judging, Member, Need, members, title};
use crate::package::{Grading, TestGroup};
use model::Verdict;

impl<'p> Judging<'p> {
    pub(super) fn recent_result(&self) -> Result<GroupResult, Need<'p>> {
        if self.order.is_empty() {
            return Ok(GroupResult::fault("the package has no test cases".into()));
        }
        match self.package.data.groups.iter().find(|g| g.name == "secret") {
            Some(secret) if self.package.scoring => self.scored_result(secret),
            _ => self.first_rejection(&self.package.data),
        }
    }

    /// "Pass-fail problems": accepted if and only if every test case is; else the first rejection.
    fn first_rejection(&self, group: &'p TestGroup) -> Result<GroupResult, Need<'p>> {
        for (case, _) in self.order.iter().filter(|(case, _)| inside(&case.name, &group.name)) {
            let result = self.case(case)?;
            if result.verdict != Verdict::Accepted {
                return Ok(GroupResult { score: None, ..result });
            }
        }
        Ok(GroupResult::new(Verdict::Accepted, None))
    }

    /// "Scoring problems": the score is that of `secret`. The format has no verdict for it; here it is AC for
    /// the full score, PA for less, and the first rejection for none at all.
    fn scored_result(&self, secret: &'p TestGroup) -> Result<GroupResult, Need<'p>> {
        // Every submission is run on every sample.
        for (case, _) in self.order.iter().filter(|(case, _)| inside(&case.name, "sample")) {
            let result = self.case(case)?;
            if result.verdict == Verdict::JudgeError {
                return Ok(result);
            }
        }
        let result = self.recent_group(secret)?;
        if result.verdict == Verdict::JudgeError {
            return Ok(result);
        }
        let score = result.score.unwrap_or(0.0);
        let clean = result.verdict == Verdict::Accepted;
        let full = match secret.settings.max_score {
            Some(max) => score >= max - SLACK && (clean || score > 0.0),
            None => clean,
        };
        let verdict = match (full, clean || score > 0.0) {
            (true, _) => Verdict::Accepted,
            (false, true) => Verdict::PartiallyAccepted,
            (false, false) => result.verdict,
        };
        Ok(GroupResult::new(verdict, Some(score)))
    }

    /// A group's score, and as its verdict the first rejection in it. `sample` has no score.
    pub(super) fn recent_group(&self, group: &'p TestGroup) -> Result<GroupResult, Need<'p>> {
        if group.name == "sample" {
            return self.first_rejection(group);
        }
        for required in &group.settings.require_pass {
            let result = self.requirement(group, required)?;
            match result.verdict {
                Verdict::Accepted => {}
                Verdict::JudgeError => return Ok(result),
                verdict => return Ok(GroupResult::new(verdict, Some(0.0))),
            }
        }
        let mut verdict = Verdict::Accepted;
        let mut scores = Vec::new();
        for member in parts(group) {
            let result = match member {
                Member::Case(case) => self.case(case)?,
                Member::Group(inner) => self.recent_group(inner)?,
            };
            match (verdict, result.verdict) {
                (_, Verdict::JudgeError) => return Ok(result),
                (Verdict::Accepted, other) => verdict = other,
                _ => {}
            }
            let score = result.score.unwrap_or(0.0);
            scores.push(score);
            let decided = match group.settings.grading {
                Grading::PassFail => verdict != Verdict::Accepted,
                // Where there is nothing to earn, the verdict still counts: later groups may ask for it.
                Grading::Min | Grading::Product | Grading::Threshold(_) => {
                    score == 0.0 && group.settings.max_score != Some(0.0)
                }
                _ => false,
            };
            if decided {
                break;
            }
        }
        Ok(bounded(group, verdict, &scores))
    }

    /// The verdict of a group named by `require_pass`: accepted if every test case of it is ("Group
    /// dependencies").
    fn requirement(&self, group: &'p TestGroup, required: &str) -> Result<GroupResult, Need<'p>> {
        let unknown = || {
            let place = title(group);
            GroupResult::fault(format!(
                "{place}: require_pass names `{required}`, which is not an earlier test group"
            ))
        };
        let data = &self.package.data;
        let mut groups = data.groups.iter().chain(data.groups.iter().flat_map(|g| &g.groups));
        match groups.find(|g| g.name == required) {
            // Only earlier ones, hence no circle.
            Some(found) if found.name < group.name && !inside(&group.name, &found.name) => {
                self.recent_group(found)
            }
            // A package without samples has none that could fail.
            None if required == "sample" => Ok(GroupResult::new(Verdict::Accepted, None)),
            _ => Ok(unknown()),
        }
    }
}

/// What the score of a group is made of: test groups of `secret` where it has any, else test cases, those in
/// plain directories below included.
fn parts(group: &TestGroup) -> Vec<Member<'_>> {
    match group.name.as_str() {
        "secret" if !group.groups.is_empty() => members(group),
        _ => group.all_cases().into_iter().map(Member::Case).collect(),
    }
}

/// "Scoring test data groups".
fn bounded(group: &TestGroup, verdict: Verdict, scores: &[f64]) -> GroupResult {
    let max = group.settings.max_score;
    let score = match (&group.settings.grading, max) {
        (Grading::PassFail, Some(max)) if verdict == Verdict::Accepted => max,
        (Grading::PassFail, Some(_)) => 0.0,
        (Grading::PassFail, None) => {
            return GroupResult::fault(format!("{}: a pass-fail group needs a max_score", title(group)));
        }
        (Grading::Min, _) => scores.iter().copied().reduce(f64::min).unwrap_or(0.0),
        (Grading::Sum, _) => scores.iter().sum(),
        (Grading::Product, Some(max)) if max > 0.0 => {
            max * scores.iter().map(|score| score / max).product::<f64>()
        }
        (Grading::Product, _) => 0.0,
        // Members have all of it or nothing.
        (Grading::Threshold(_), Some(max)) if scores.iter().all(|score| *score >= max) => max,
        (Grading::Threshold(_), _) => 0.0,
        (Grading::LegacyDefault { .. } | Grading::Custom { .. }, _) => {
            return GroupResult::fault(format!("{}: its grading belongs to the legacy format", title(group)));
        }
    };
    match max {
        Some(max) if score > max + SLACK => {
            GroupResult::fault(format!("{}: score {score} is more than its max_score {max}", title(group)))
        }
        _ => GroupResult::new(verdict, Some(score)),
    }
}

/// Whether a name lies in the group of that name; the group without name holds all.
fn inside(name: &str, group: &str) -> bool {
    group.is_empty() || name.strip_prefix(group).is_some_and(|rest| rest.starts_with('/'))
}
